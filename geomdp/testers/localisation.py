"""What coarse noisy counts leave: the candidates, and the pools of cells on which they differ; all public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geomdp.testers import histogram
from geomdp.testers.base import Setting

#: Most candidates times cells that are written out.
_ROOM = 2 * 10**8


@dataclass(frozen=True)
class Localisation:
    """What step 1 left, all of it public.

    Attributes:
        candidates: number of classifiers in C.
        pools: (G, m) entries -1, 0, 1 with disjoint supports that cover all cells; a pool's query is
            sum_x pools[g, x] net(x). None if Alice will release the whole field.
        patterns: (|C|, G) entries -1, 1: the candidates are patterns @ pools. None like the pools.
        resolution: the certified t(C), or None when C is empty.
        cut: Far from this statistic on, in half-records (whole fields: in the field's units).
    """

    candidates: int
    pools: NDArray[np.int8] | None
    patterns: NDArray[np.int8] | None
    resolution: int | None
    cut: int

    @property
    def strip(self) -> int:
        """Number of queries besides the first, which pools all cells on which the candidates agree."""
        return -1 if self.pools is None else len(self.pools) - 1


def pooled(signs: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return (pools, patterns) of (|C|, m) sign vectors: cells whose columns agree up to sign share a pool.

    Example:
        >>> signs = np.array([[1, 1, -1, 1], [1, -1, 1, 1]], dtype=np.int8)
        >>> pools, patterns = pooled(signs)
        >>> pools.tolist(), bool((patterns @ pools == signs).all())
        ([[1, 0, 0, 1], [0, 1, -1, 0]], True)
    """
    lead = signs[0]
    packed = np.packbits(lead[:, None] != signs.T, axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    pools = np.zeros((len(first), signs.shape[1]), dtype=np.int8)
    pools[group.ravel(), np.arange(signs.shape[1])] = lead
    return pools, np.ascontiguousarray(signs[:, first] * lead[first])


def candidates(setting: Setting, y: NDArray[np.int64], least: int) -> NDArray[np.int8] | None:
    """Return (|C|, m) sign vectors of the classifiers with <h, y> >= least; None if they are too many.

    Two-feature grids and ordered domains by a sweep; others from the list of dichotomies.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.core.domain import Domain
        >>> line = Setting(Domain.line(3), 5, 5, Fraction(1), classes="thresholds")
        >>> candidates(line, np.array([-2, 1, 4]), 5).tolist()
        [[-1, 1, 1], [-1, -1, 1]]
    """
    domain = setting.domain
    room = _ROOM // domain.m
    swept = domain.ordered or (domain.features is not None and domain.d == 3)
    if swept and setting.classes in ("thresholds", "halfspaces"):
        from geomdp.opt.sup import grid_schedule
        from geomdp.testers import _tilt_kernels

        spans, cells = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
        if not domain.ordered and domain.features is not None:
            spans, cells = grid_schedule(*(axis.levels for axis in domain.features))
        start, closed = np.arange(domain.m, dtype=np.int64), setting.classes == "halfspaces"
        signs = np.empty((0, domain.m), dtype=np.int8)
        count = _tilt_kernels.sweep_candidates(y, start, spans, cells, least, closed, signs)
        if count > room:
            return None
        signs = np.empty((count, domain.m), dtype=np.int8)
        _tilt_kernels.sweep_candidates(y, start, spans, cells, least, closed, signs)
        return signs
    if histogram._list_size(setting) > histogram.MOST_LISTED:
        return None
    listed = histogram._enumerated(domain)
    scores = histogram._scores(setting, y)
    return np.ascontiguousarray(listed.signs[scores >= least])


def pattern_suprema(patterns: NDArray[np.int8], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (B,) values of max over the patterns of <g, z>, exactly."""
    largest = int(np.abs(noise).sum(axis=1).max(initial=0))
    kind = np.float32 if largest < 2**24 else np.float64  # sums of integers below 2^24, 2^53 are exact
    if largest >= 2**53:
        return np.asarray((noise @ patterns.astype(np.int64).T).max(axis=1))
    table, out = patterns.T.astype(kind), np.empty(len(noise), dtype=np.int64)
    step = max(1, 2**24 // len(patterns))
    for first in range(0, len(noise), step):
        block = np.matmul(noise[first : first + step].astype(kind), table)
        out[first : first + step] = block.max(axis=1).astype(np.int64)
    return out
