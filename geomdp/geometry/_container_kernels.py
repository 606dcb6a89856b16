"""Compiled loops of the container code; import this module inside functions only (it loads numba).

All sums run in a fixed order without fused or reassociated operations, so two parties that build the
containers of the same set on different machines obtain the same members.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")


@_jit
def values(points: NDArray[np.float64], generators: NDArray[np.float64]) -> Any:
    """Return the (N, g) inner products of (N, d) points with (g, d) generators, summed left to right."""
    n, d = points.shape
    out = np.empty((n, len(generators)))
    for a in range(n):
        for i in range(len(generators)):
            total = 0.0
            for j in range(d):
                total += points[a, j] * generators[i, j]
            out[a, i] = total
    return out


@_jit
def edge_changes(X: NDArray[np.float64]) -> Any:
    """Return the (d, d) numbers of points whose values at generators i < j differ in sign."""
    n, d = X.shape
    out = np.zeros((d, d), dtype=np.int64)
    for a in range(n):
        for i in range(d):
            for j in range(i + 1, d):
                if (X[a, i] > 0) != (X[a, j] > 0):
                    out[i, j] += 1
    return out


@_jit
def crossings(X: NDArray[np.float64], i: int, j: int) -> Any:
    """Return where on the edge i..j, as a fraction from i, each point that changes sign there vanishes."""
    out = np.empty(len(X))
    n = 0
    for a in range(len(X)):
        if (X[a, i] > 0) != (X[a, j] > 0):
            out[n] = X[a, i] / (X[a, i] - X[a, j])
            n += 1
    return out[:n]


@_jit
def child(X: NDArray[np.float64], i: int, j: int, s: float, tolerance: float) -> Any:
    """Replace generator i by (1-s) g_i + s g_j; return (points surely positive, values of the crossing rest).

    A point is surely positive if all its values exceed the tolerance, dropped if all lie below minus the
    tolerance, and crossing otherwise.
    """
    n, d = X.shape
    out = np.empty((n, d))
    sure, kept = 0, 0
    for a in range(n):
        new = (1.0 - s) * X[a, i] + s * X[a, j]
        low, high = new, new
        for h in range(d):
            if h != i:
                low = min(low, X[a, h])
                high = max(high, X[a, h])
        if low > tolerance:
            sure += 1
        elif high >= -tolerance:
            for h in range(d):
                out[kept, h] = X[a, h]
            out[kept, i] = new
            kept += 1
    return sure, out[:kept].copy()


@_jit
def cone_bits(points: NDArray[np.float64], cones: NDArray[np.float64], tolerance: float) -> Any:
    """Return the (c, ceil(N/64)) bits of {w : max_i <g_i, w> > -tolerance} for (c, d, d) cones."""
    n, d = points.shape
    out = np.zeros((len(cones), (n + 63) // 64), dtype=np.uint64)
    for c in range(len(cones)):
        for a in range(n):
            for i in range(d):
                total = 0.0
                for j in range(d):
                    total += points[a, j] * cones[c, i, j]
                if total > -tolerance:
                    out[c, a >> 6] |= np.uint64(1) << np.uint64(a & 63)
                    break
    return out


@_jit
def arc_counts(points: NDArray[np.float64], ends: NDArray[np.float64], tolerance: float) -> Any:
    """Return how many (N, 2) points may be positive at one of two directions, how many surely at both."""
    some, both = 0, 0
    for a in range(len(points)):
        one = points[a, 0] * ends[0, 0] + points[a, 1] * ends[0, 1]
        two = points[a, 0] * ends[1, 0] + points[a, 1] * ends[1, 1]
        if max(one, two) > -2.0 * tolerance:
            some += 1
        if min(one, two) > tolerance:
            both += 1
    return some, both


@_jit
def ones(x: Any) -> Any:
    """Return the number of one bits of a word."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@_jit
def popcount(words: NDArray[np.uint64]) -> int:
    """Return the number of one bits."""
    total: Any = 0
    for i in range(len(words)):
        total += ones(words[i])
    return int(total)


@_jit
def union_counts(bits: NDArray[np.uint64], row: int) -> Any:
    """Return |C_row u C_i| for every row i."""
    out = np.empty(len(bits), dtype=np.int64)
    for i in range(len(bits)):
        out[i] = popcount(bits[row] | bits[i])
    return out


@_jit
def union_table(bits: NDArray[np.uint64]) -> Any:
    """Return the (M, M) table of |C_i u C_j|."""
    m = len(bits)
    out = np.empty((m, m), dtype=np.int64)
    for i in range(m):
        for j in range(i, m):
            out[i, j] = popcount(bits[i] | bits[j])
            out[j, i] = out[i, j]
    return out


@_jit
def row_counts(bits: NDArray[np.uint64]) -> Any:
    """Return the number of one bits of every row."""
    out = np.empty(len(bits), dtype=np.int64)
    for i in range(len(bits)):
        out[i] = popcount(bits[i])
    return out


@_jit
def roomiest(
    part: NDArray[np.uint64],
    bits: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    limit: int,
) -> int:
    """Return the allowed row that grows least by the part and to at most `limit`; -1 if there is none.

    With limit -1 only a row that holds the part already is returned.
    """
    best, found = part.size * 64 + 1, -1
    for i in range(len(bits)):
        if not allowed[i]:
            continue
        room = min(best - 1, max(0, limit - sizes[i]))
        growth = 0
        for word in range(len(part)):
            growth += ones(part[word] & ~bits[i, word])
            if growth > room:
                break
        if growth <= room and (limit < 0 or sizes[i] + growth <= limit):
            best, found = growth, i
            if growth == 0:
                break
    return found


@_jit
def outside_minima(bits: NDArray[np.uint64], order: NDArray[np.int64], f: NDArray[np.int64], cap: int) -> Any:
    """Return, per member, min(cap, min of f over the candidates outside it); `order` sorts f ascending."""
    out = np.full(len(bits), cap, dtype=np.int64)
    for c in range(len(bits)):
        for position in range(len(order)):
            a = order[position]
            if f[a] >= cap:
                break
            if (bits[c, a >> 6] >> np.uint64(a & 63)) & np.uint64(1) == 0:
                out[c] = f[a]
                break
    return out


@_jit
def membership_counts(bits: NDArray[np.uint64], n: int) -> Any:
    """Return in how many members each of the n candidates lies."""
    out = np.zeros(n, dtype=np.int64)
    for c in range(len(bits)):
        for a in range(n):
            out[a] += np.int64((bits[c, a >> 6] >> np.uint64(a & 63)) & np.uint64(1))
    return out


@_jit
def maximal_rows(bits: NDArray[np.uint64], sizes: NDArray[np.int64]) -> Any:
    """Return which rows, sorted by size from large to small, lie in no strictly larger kept row."""
    m, words = bits.shape
    keep = np.zeros(m, dtype=np.bool_)
    kept = np.empty(m, dtype=np.int64)
    n = 0
    for a in range(m):
        inside = False
        for position in range(n):
            b = kept[position]
            if sizes[b] == sizes[a]:
                break
            inside = True
            for i in range(words):
                if bits[a, i] & ~bits[b, i]:
                    inside = False
                    break
            if inside:
                break
        if not inside:
            keep[a] = True
            kept[n] = a
            n += 1
    return keep
