"""Compiled sweep along lines of the dual plane; imported on first use."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

#: Limbs of the accumulators: four products, each as a high and a low half.
LIMBS = 8
_HALF = 1 << 30
_MASK = (1 << 32) - 1


@nb.njit(cache=True)
def _add(  # noqa: PLR0917 - numba takes no keyword-only arguments
    out: Any, row: int, sign: int, base: int, slope: int, length: int, shifted: int
) -> None:
    """Add sign * (base * length - slope * shifted) to a row, as four products below 2^62 in halves."""
    low_base, high_base = base & (_HALF - 1), base >> 30
    low, high = shifted & (_HALF - 1), shifted >> 30
    values = (high_base * length, low_base * length, -slope * high, -slope * low)
    for i in range(4):
        v = sign * values[i]
        out[row, 2 * i] += v >> 32
        out[row, 2 * i + 1] += v & _MASK


@nb.njit(cache=True)
def levels(  # noqa: PLR0912, PLR0915, PLR0917 - one compiled loop
    x: Any, y: Any, labels: Any, bits: int, edges: Any, lines: Any, wanted: int, out: Any
) -> None:
    """Add the offsets between neighbouring lines: by score, or for one score by range of slopes.

    At slope number j line i has height y_i 2^bits - j x_i; heights, then indices, order the lines. The score
    just below line i is P - B, with P the positive labels in all and B the sum of the labels of the lines
    below i; just above it is P - B - label_i. Line i adds its height to the former and takes it from the
    latter.

    Args:
        x, y, labels: (n,) int64.
        bits: binary digits of the slopes.
        edges: (parts + 1,) ascending slope numbers; range p is edges[p] <= j < edges[p + 1].
        lines: the pair (a, b): only lines a, ..., b - 1 add their part.
        wanted: a score, or -1 for all of them.
        out: (n + 1, LIMBS) int64 by score over all ranges, or (parts, LIMBS) of the wanted score by range;
            changed in place.
    """
    n, parts = len(x), len(edges) - 1
    first, last = edges[0], edges[parts]
    positive = 0
    for i in range(n):
        if labels[i] > 0:
            positive += 1
    events = np.empty(n, dtype=np.int64)
    for i in range(lines[0], lines[1]):
        below, count = 0, 0
        for k in range(n):
            if k == i:
                continue
            dx, dy = x[k] - x[i], (y[k] - y[i]) << bits
            if dx == 0:
                if dy < 0 or (dy == 0 and k < i):
                    below += labels[k]
                continue
            # the first j at which k is on the other side: after the crossing, or at it, by index
            turn = dy // dx
            exact = turn * dx == dy
            first_tie = k < i if dx > 0 else k > i  # k is below from `at` on, or until `at`
            at = turn if exact and first_tie else turn + 1
            if (at <= first) == (dx > 0):
                below += labels[k]
            if first < at < last:
                gain = labels[k] if dx > 0 else -labels[k]
                events[count] = (at - first) * 2 + (1 if gain > 0 else 0)
                count += 1
        order = np.sort(events[:count])
        here, place, part = first, 0, 0
        while part < parts:
            stop = edges[part + 1]
            until = stop
            if place < count and first + (order[place] >> 1) < stop:
                until = first + (order[place] >> 1)
            if until > here:
                start = edges[part]
                base = (y[i] << bits) - start * x[i]
                length = until - here
                a = here - start
                shifted = a * length + length * (length - 1) // 2
                level = positive - below
                if wanted < 0:
                    _add(out, level, 1, base, x[i], length, shifted)
                    _add(out, level - labels[i], -1, base, x[i], length, shifted)
                elif level == wanted:
                    _add(out, part, 1, base, x[i], length, shifted)
                elif level - labels[i] == wanted:
                    _add(out, part, -1, base, x[i], length, shifted)
                here = until
            if until == stop:
                part += 1
            else:
                below += 1 if order[place] & 1 else -1
                place += 1
