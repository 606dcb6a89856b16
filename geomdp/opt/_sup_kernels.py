# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""The compiled sweep of a grid over many fields at once; imported lazily, because numba is slow to import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def schedule_sup(
    fields: NDArray[Any],
    spans: NDArray[Any],
    cells: NDArray[Any],
    z: NDArray[Any],
    prefix: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write max |2 * prefix - total| over all prefixes of the sweep into out, for each field of (B, m).

    Works on as many fields together as z has columns, in z's own integers: the narrower they are, the more
    of them one instruction adds. The caller has proved that no sum of absolute values exceeds them.

    Args:
        fields: (B, m) integers.
        spans, cells: the schedule of :func:`geomdp.opt.sup.grid_schedule`.
        z: (m, L) zeros of any integer type; the others hold the same type.
        prefix: (m + 1, L) zeros.
        low, high: (L,).
        out: (B,) int64, receives the values.
    """
    batch, m = fields.shape
    lanes = z.shape[1]
    for first in range(0, batch, lanes):
        used = min(lanes, batch - first)
        for i in range(used):
            for k in range(m):
                z[k, i] = fields[first + i, k]
        low[:] = 0
        high[:] = 0
        for k in range(m):
            for i in range(lanes):
                prefix[k + 1, i] = prefix[k, i] + z[k, i]
        _extend(prefix, 1, m + 1, low, high)
        at = 0
        for g in range(spans.shape[0]):
            start, length = spans[g, 0], spans[g, 1]
            for j in range(start, start + length):
                cell = cells[at + j - start]
                for i in range(lanes):
                    prefix[j + 1, i] = prefix[j, i] + z[cell, i]
            at += length
            _extend(prefix, start + 1, start + length + 1, low, high)
        for i in range(used):
            total = np.int64(prefix[m, i])
            out[first + i] = max(2 * np.int64(high[i]) - total, total - 2 * np.int64(low[i]))


@njit(cache=True, nogil=True)
def _extend(prefix: NDArray[Any], first: int, last: int, low: NDArray[Any], high: NDArray[Any]) -> None:
    """Extend the lows and highs by the rows first..last-1."""
    for j in range(first, last):
        for i in range(low.shape[0]):
            low[i] = min(low[i], prefix[j, i])
        for i in range(low.shape[0]):
            high[i] = max(high[i], prefix[j, i])
