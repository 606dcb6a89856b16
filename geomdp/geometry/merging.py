"""Uniting the sets of a cover into fewer, larger ones that still hold at most `limit` points each.

Any union of members is again a cover, so only sizes matter: first pairs are united greedily, then members
are dissolved whose parts fit into others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Most sets for which pairs are united.
MAX_MERGED = 4_000
#: Most rounds of dissolving.
_ROUNDS = 8

Bits = NDArray[np.uint64]


def merge(bits: Bits, limit: int) -> tuple[Bits, list[list[int]]]:
    """Unite pairs of sets greedily, smallest union first, while no union holds more than `limit` points.

    Args:
        bits: (c, words) sets as bits.
        limit: largest union allowed.

    Returns:
        The united sets, and for each the indices of its parts.
    """
    from geomdp.geometry import _container_kernels as kernels

    _, first = np.unique(bits, axis=0, return_index=True)
    keep = np.sort(first)
    groups = [[int(i)] for i in keep]
    bits = bits[keep].copy()
    if not 1 < len(bits) <= MAX_MERGED:
        return bits, groups
    step = max(1, bits.shape[1] // 32)
    scale = bits.shape[1] / len(range(0, bits.shape[1], step))
    guide = np.ascontiguousarray(bits[:, ::step])
    table = kernels.union_table(guide).astype(np.float64) * scale
    table[table > 1.05 * limit] = np.inf
    np.fill_diagonal(table, np.inf)
    alive = np.ones(len(bits), dtype=bool)
    near = np.argmin(table, axis=1)
    best = table[np.arange(len(bits)), near]
    while True:
        i = int(np.argmin(best))
        if not np.isfinite(best[i]):
            break
        j = int(near[i])
        union = bits[i] | bits[j]
        if kernels.popcount(union) > limit:
            table[i, j] = table[j, i] = np.inf
            stale = np.array([i, j])
        else:
            bits[i], guide[i] = union, guide[i] | guide[j]
            groups[i], groups[j] = groups[i] + groups[j], []
            row = kernels.union_counts(guide, i) * scale
            row[(row > 1.05 * limit) | (~np.isfinite(table[i]) & ~np.isfinite(table[j])) | ~alive] = np.inf
            alive[j] = False
            row[[i, j]] = np.inf
            table[i], table[:, i] = row, row
            table[j], table[:, j] = np.inf, np.inf
            stale = np.flatnonzero((near == i) | (near == j) | (row < best))
            stale = np.union1d(stale, [i, j])
        near[stale] = np.argmin(table[stale], axis=1)
        best[stale] = table[stale, near[stale]]
    kept = np.flatnonzero(alive)
    return bits[kept], [groups[i] for i in kept]


def tighten(leaves: Bits, bits: Bits, groups: list[list[int]], limit: int) -> tuple[Bits, list[list[int]]]:
    """Dissolve members whose parts all fit into other members, until none can be dissolved.

    Parts that lie in another member anyway are handed over first, which leaves room. Every part stays in
    the member that it is listed for, so what was covered stays covered.

    Args:
        leaves: (c, words) the parts as bits.
        bits: (M, words) unions of parts, of at most `limit` points.
        groups: for each member the indices of its parts.
        limit: largest member allowed.

    Returns:
        Members and groups as :func:`merge` returns them, at most M.

    Example:
        >>> leaves = np.array([[0b0011], [0b0110], [0b1100]], dtype=np.uint64)
        >>> tighten(leaves, leaves.copy(), [[0], [1], [2]], 3)[1]
        [[1, 0], [2]]
    """
    from geomdp.geometry import _container_kernels as kernels

    bits, groups = bits.copy(), [list(group) for group in groups]
    sizes = np.asarray(kernels.row_counts(bits))
    for _ in range(_ROUNDS):
        for m in range(len(bits)):
            alive = np.arange(len(bits)) != m
            homes = [int(kernels.roomiest(leaves[leaf], bits, sizes, alive, -1)) for leaf in groups[m]]
            for leaf, j in zip(groups[m], homes, strict=True):
                if j >= 0:
                    groups[j].append(leaf)
            groups[m] = [leaf for leaf, j in zip(groups[m], homes, strict=True) if j < 0]
            bits[m] = np.bitwise_or.reduce(leaves[groups[m]], axis=0, initial=0)
            sizes[m] = kernels.popcount(bits[m])
        alive = np.ones(len(bits), dtype=bool)
        for m in np.argsort([len(group) for group in groups], kind="stable").tolist():
            alive[m] = False
            saved: dict[int, tuple[Bits, int]] = {}
            moves: list[int] = []
            for leaf in groups[m]:
                j = int(kernels.roomiest(leaves[leaf], bits, sizes, alive, limit))
                if j < 0:
                    break
                saved.setdefault(j, (bits[j].copy(), int(sizes[j])))
                bits[j] |= leaves[leaf]
                sizes[j] = kernels.popcount(bits[j])
                moves.append(j)
            if len(moves) == len(groups[m]):
                for leaf, j in zip(groups[m], moves, strict=True):
                    groups[j].append(leaf)
                continue
            alive[m] = True
            for j, (row, size) in saved.items():
                bits[j], sizes[j] = row, size
        kept = np.flatnonzero(alive)
        bits, sizes, groups = bits[kept], sizes[kept], [groups[i] for i in kept]
        if len(kept) == len(alive):
            break
    return bits, groups
