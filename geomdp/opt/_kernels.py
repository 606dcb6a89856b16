# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""Compiled loops of the exact sweeps; imported lazily, because numba is slow to import.

Every kernel works in int64 on inputs whose bounds the callers have proved, releases the interpreter lock (the
callers spread blocks of work over threads), and is cached on disk after its first compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Fields that one pass advances together: enough for vector instructions to pay.
LANES = 32

#: Below this bound on the coordinates, rounded slopes of different lines differ.
EXACT_KEYS = 2**25

LARGEST = 2**63 - 1


@njit(cache=True, nogil=True)
def grid_schedule(
    rows: int, columns: int, dx: NDArray[Any], dy: NDArray[Any], spans: NDArray[Any], cells: NDArray[Any]
) -> tuple[int, int]:
    """Write the sweep of a rows x columns grid over the given directions; return (#groups, #cells).

    The order of the cells starts lexicographic and, at each critical direction (dx, dy), every maximal chain
    of cells in steps of (dx, dy) is reversed. ``spans[g]`` is (place of the chain's first cell, length - 1)
    and ``cells`` holds the chain in its new order without the last cell, whose prefix does not change.
    Empty outputs count only.
    """
    place = np.empty(rows * columns, np.int32)
    for c in range(rows * columns):
        place[c] = c
    write = spans.shape[0] > 0
    groups, used = 0, 0
    for e in range(dx.shape[0]):
        for r in range(rows):
            for c in range(columns):
                r0, c0, r1, c1 = r - dx[e], c - dy[e], r + dx[e], c + dy[e]
                if 0 <= r0 < rows and 0 <= c0 < columns:
                    continue
                if not (0 <= r1 < rows and 0 <= c1 < columns):
                    continue
                length = 1
                while 0 <= r1 < rows and 0 <= c1 < columns:
                    length += 1
                    r1 += dx[e]
                    c1 += dy[e]
                if write:
                    start = place[r * columns + c]
                    spans[groups, 0], spans[groups, 1] = start, length - 1
                    for j in range(length):
                        cell = (r + j * dx[e]) * columns + c + j * dy[e]
                        place[cell] = start + length - 1 - j
                        if j > 0:
                            cells[used + length - 1 - j] = cell
                groups += 1
                used += length - 1
    return groups, used


@njit(cache=True, nogil=True)
def turn(ax: int, ay: int, bx: int, by: int) -> int:
    """Return the sign of ax * by - ay * bx exactly, for |ax|, |bx| < 2^62 and 0 <= ay, by < 2^62.

    The products are compared through two words of 62 bits, each built from 31-bit halves.
    """
    first = 0 if by == 0 or ax == 0 else (1 if ax > 0 else -1)
    second = 0 if ay == 0 or bx == 0 else (1 if bx > 0 else -1)
    if first != second:
        return 1 if first > second else -1
    if first == 0:
        return 0
    high, low = _multiply(abs(ax), by)
    other_high, other_low = _multiply(ay, abs(bx))
    if high != other_high:
        return first if high > other_high else -first
    if low != other_low:
        return first if low > other_low else -first
    return 0


@njit(cache=True, nogil=True)
def _multiply(a: int, b: int) -> tuple[int, int]:
    mask = (1 << 31) - 1
    a1, a0, b1, b0 = a >> 31, a & mask, b >> 31, b & mask
    middle = a1 * b0 + a0 * b1
    low = a0 * b0 + ((middle & mask) << 31)
    return a1 * b1 + (middle >> 31) + (low >> 62), low & ((1 << 62) - 1)


@njit(cache=True, nogil=True)
def around(
    qx: NDArray[Any], qy: NDArray[Any], order: NDArray[Any], flip: NDArray[Any], fresh: NDArray[Any]
) -> None:
    """Sort n lines through the origin of the plane by angle in [0, pi), exactly.

    Args:
        qx, qy: (n,) nonzero integer vectors below 2^62; turned in place into the upper half-plane.
        order: (n,) receives the indices by ascending angle.
        flip: (n,) receives, at each place of the order, whether the vector was turned.
        fresh: (n,) receives, at each place of the order, whether its line differs from the one before.

    Below 2^25 two different slopes differ by more than the rounding of a double, so that sorting the rounded
    slopes is exact; above, the nearly sorted order is finished by insertion with exact comparisons.
    """
    n = qx.shape[0]
    key = np.empty(n, np.float64)
    turned = np.zeros(n, np.bool_)
    top = 0
    for j in range(n):
        if qy[j] < 0 or (qy[j] == 0 and qx[j] < 0):
            qx[j], qy[j] = -qx[j], -qy[j]
            turned[j] = True
        top = max(top, abs(qx[j]), qy[j])
        key[j] = -np.inf if qy[j] == 0 else -(qx[j] / qy[j])
    order[:] = np.argsort(key)
    if top < EXACT_KEYS:
        for k in range(n):
            fresh[k] = k == 0 or key[order[k]] != key[order[k - 1]]
    else:
        for k in range(1, n):
            j, p = order[k], k
            while p > 0 and turn(qx[order[p - 1]], qy[order[p - 1]], qx[j], qy[j]) < 0:
                order[p] = order[p - 1]
                p -= 1
            order[p] = j
        for k in range(n):
            i, j = order[k - 1], order[k]
            fresh[k] = k == 0 or turn(qx[i], qy[i], qx[j], qy[j]) != 0
    for k in range(n):
        flip[k] = turned[order[k]]


@njit(cache=True, nogil=True)
def circle(  # noqa: PLR0912 (one pass, kept in one place)
    order: NDArray[Any],
    flip: NDArray[Any],
    fresh: NDArray[Any],
    forward: NDArray[Any],
    backward: NDArray[Any],
    faces: bool,
) -> tuple[int, int, int, int, int, int]:
    """Return the least gain over the arcs and over the vertices of a circle of directions w.

    Line order[k] gains ``forward`` where <w, q> >= 0 and ``backward`` where <w, q> <= 0. As w turns by half a
    circle each line passes zero once, in the order given; the other half follows by symmetry.

    Returns:
        (arc value, place, side, vertex value, place, side): the arc lies before the line at ``place``;
        side -1 means the opposite direction. Without ``faces`` the vertex value is the largest int64.
    """
    n = order.shape[0]
    gain, total = 0, 0
    for k in range(n):
        j = order[k]
        gain += forward[j] if flip[k] else backward[j]
        total += forward[j] + backward[j]
    arc, arc_place, arc_side = gain, 0, 1
    if total - gain < arc:
        arc, arc_side = total - gain, -1
    vertex, vertex_place, vertex_side = LARGEST, 0, 1
    k = 0
    while k < n:
        start, up, down = k, 0, 0
        while True:
            j = order[k]
            if flip[k]:
                up += backward[j]
                down += forward[j]
            else:
                up += forward[j]
                down += backward[j]
            k += 1
            if k == n or fresh[k]:
                break
        if faces:
            if gain + up < vertex:
                vertex, vertex_place, vertex_side = gain + up, start, 1
            if total - gain + down < vertex:
                vertex, vertex_place, vertex_side = total - gain + down, start, -1
        gain += up - down
        if k < n:
            if gain < arc:
                arc, arc_place, arc_side = gain, k, 1
            if total - gain < arc:
                arc, arc_place, arc_side = total - gain, k, -1
    return arc, arc_place, arc_side, vertex, vertex_place, vertex_side


@njit(cache=True, nogil=True)
def project(X: NDArray[Any], i: int, qx: NDArray[Any], qy: NDArray[Any], who: NDArray[Any]) -> None:
    """Write the coordinates of the other lines of X (L, 3) on the plane of row i; exact below 2^30.

    The plane's basis is (x_k e_l - x_l e_k) for the two l != k, where |x_k| is the least nonzero entry.
    """
    k = -1
    for c in range(3):
        if X[i, c] != 0 and (k < 0 or abs(X[i, c]) < abs(X[i, k])):
            k = c
    a, b = (1, 2) if k == 0 else ((0, 2) if k == 1 else (0, 1))
    n = 0
    for j in range(X.shape[0]):
        if j != i:
            qx[n] = X[i, k] * X[j, a] - X[i, a] * X[j, k]
            qy[n] = X[i, k] * X[j, b] - X[i, b] * X[j, k]
            who[n] = j
            n += 1


@njit(cache=True, nogil=True)
def around_plane(
    X: NDArray[Any],
    i: int,
    qx: NDArray[Any],
    qy: NDArray[Any],
    who: NDArray[Any],
    order: NDArray[Any],
    flip: NDArray[Any],
    fresh: NDArray[Any],
) -> None:
    """Do :func:`around` for the other lines of X (L, 3) on the plane of row i; the order is of rows."""
    project(X, i, qx, qy, who)
    around(qx, qy, order, flip, fresh)
    for k in range(order.shape[0]):
        order[k] = who[order[k]]


@njit(cache=True, nogil=True)
def pivots(
    X: NDArray[Any],
    forward: NDArray[Any],
    backward: NDArray[Any],
    chosen: NDArray[Any],
    first: int,
    last: int,
    faces: bool,
    cells: NDArray[Any],
    flats: NDArray[Any],
) -> None:
    """Write the least gain next to and on the planes chosen[first:last], for each field.

    Args:
        X: (L, 3) pairwise different lines below 2^30.
        forward, backward: (B, L) gains.
        chosen: indices of planes.
        first, last: range of ``chosen`` to work on.
        faces: whether w on a plane counts (it cannot win on a pointed domain).
        cells: (len(chosen), B) receives the least gain over open cells with a facet on the plane.
        flats: (len(chosen), B) receives the least gain over w != 0 on the plane.
    """
    n = X.shape[0] - 1
    qx, qy, who = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    flip, fresh = np.empty(n, np.bool_), np.empty(n, np.bool_)
    for t in range(first, last):
        i = chosen[t]
        around_plane(X, i, qx, qy, who, order, flip, fresh)
        for b in range(forward.shape[0]):
            arc, _, _, vertex, _, _ = circle(order, flip, fresh, forward[b], backward[b], faces)
            ahead, behind = forward[b, i], backward[b, i]
            cells[t, b] = arc + min(ahead, behind)
            if faces:
                flats[t, b] = min(arc, vertex) + ahead + behind


@njit(cache=True, nogil=True)
def pivots_batch(
    X: NDArray[Any],
    steps: NDArray[Any],
    both: NDArray[Any],
    total: NDArray[Any],
    chosen: NDArray[Any],
    arcs: NDArray[Any],
) -> None:
    """Write the least gain over the arcs of the chosen planes for G * LANES fields at once.

    Args:
        X: (L, 3) pairwise different lines below 2^30.
        steps: (G, L, LANES) gains of each vector's ray minus those of the opposite ray.
        both: (G, L, LANES) gains of the two rays together.
        total: (G, LANES) sum of all the gains.
        chosen: indices of planes.
        arcs: (len(chosen), G, LANES) receives the least gain of the other lines, w generic on the plane.

    A half turn takes a direction to its opposite, whose gain is the sum of all gains minus its own: so the
    gain at the start follows from the total change, and one pass is enough.
    """
    n = X.shape[0] - 1
    qx, qy, who = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    flip, fresh = np.empty(n, np.bool_), np.empty(n, np.bool_)
    gain, low, high = np.empty(LANES, np.int64), np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    for t in range(chosen.shape[0]):
        p = chosen[t]
        around_plane(X, p, qx, qy, who, order, flip, fresh)
        for g in range(steps.shape[0]):
            for i in range(LANES):
                gain[i] = low[i] = high[i] = 0
            for k in range(n):
                j = order[k]
                mask = -1 if flip[k] else 0
                for i in range(LANES):
                    gain[i] += (steps[g, j, i] ^ mask) - mask
                if k + 1 == n or fresh[k + 1]:
                    for i in range(LANES):
                        low[i] = min(low[i], gain[i])
                        high[i] = max(high[i], gain[i])
            for i in range(LANES):
                others = total[g, i] - both[g, p, i]
                start = (others - gain[i]) // 2
                arcs[t, g, i] = min(start + low[i], others - start - high[i])
