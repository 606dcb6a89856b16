"""A small stopping set, quickly, by beam search; it is not claimed to be least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lp_gadgets.graphs.graph import TannerGraph
from lp_gadgets.graphs.peeling import peel

#: Partial sets that are kept at each size, and beams with different tie-breaking.
WIDTH, BEAMS = 1500, 3


def small_stopping_set(
    code: TannerGraph, seed: int = 0, width: int = WIDTH, beams: int = BEAMS
) -> tuple[int, ...]:
    """Return a small non-empty stopping set, in increasing order; empty when the graph has none.

    All variables that no peeling can recover start a partial set. At each size every partial set is
    extended at one check that it touches once, in all ways, and those that leave the fewest checks touched
    once are kept.

    Args:
        code: the graph.
        seed: of the tie-breaking.
        width: number of partial sets that are kept at each size.
        beams: number of searches.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> len(small_stopping_set(TannerCode.geometry("PG(2,4)")))
        6
    """
    best = peel(code, range(code.K)).residual
    if not best:
        return ()
    core = best
    rng = np.random.default_rng(seed)
    for _ in range(beams):
        found = _beam(code, core, len(best) - 1, width, rng)
        if found:
            best = found
    return best


def _beam(
    code: TannerGraph, core: tuple[int, ...], limit: int, width: int, rng: np.random.Generator
) -> tuple[int, ...]:
    """Return a stopping set of at most ``limit`` variables of the core, or the empty one.

    Arrays are (checks or places, partial sets). Every check that meets the core meets it at least twice.
    """
    K, M = code.K, code.M
    degree, size = max(code.variable_degrees), max(code.check_degrees, default=0)
    var, chk = np.full((degree, K), M), np.full((size, M), K)
    for v in core:
        var[: len(code.neighbours[v]), v] = code.neighbours[v]
    inside = set(core)
    for c, check in enumerate(code.checks):
        kept = [v for v in check if v in inside]
        chk[: len(kept), c] = kept
    hash_of = rng.integers(1, 2**63, K + 1)
    column = np.zeros((M + 1, K), np.uint8 if size < 256 else np.uint16)
    column[:M] = code.incidence
    chosen: NDArray[np.int64] = np.array([core])
    touched = column[:, core]
    for _ in range(limit):
        single = touched[:M] == 1
        count = single.sum(axis=0, dtype=np.int64)
        if (count == 0).any():
            return tuple(sorted(chosen[:, int(count.argmin())].tolist()))
        order = rng.permutation(M)
        options = chk[:, order[single[order].argmax(axis=0)]]
        fresh = options < K
        for part in chosen:
            fresh &= options != part
        place, parent = np.nonzero(fresh)
        added = options[place, parent]
        marks = touched[var[:, added], parent]
        marks[var[:, added] == M] = 2
        result = count[parent] + (marks == 0).sum(axis=0) - (marks == 1).sum(axis=0)
        keys = hash_of[added] ^ np.bitwise_xor.reduce(hash_of[chosen], axis=0)[parent]
        _, first = np.unique(keys, return_index=True)
        first = rng.permutation(first)
        kept_ones = first[np.argsort(result[first], kind="stable")[:width]]
        if not len(kept_ones):
            break
        parent, added = parent[kept_ones], added[kept_ones]
        chosen = np.concatenate([chosen[:, parent], added[None]])
        touched = touched[:, parent] + column[:, added]
    return ()
