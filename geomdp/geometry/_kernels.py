"""Compiled loops of the arrangement code; import this module inside functions only (it loads numba).

All decisions are taken in int64 under bounds that the callers check (:mod:`geomdp.geometry.flats`);
float64 only places witnesses and pre-sorts angles, and every witness is checked again in integers.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")

_fast = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc", "contract"})

#: Hyperplanes that are looked at together when a witness is placed.
BLOCK = 32


@_jit
def turn(a1: int, b1: int, a2: int, b2: int) -> int:
    """Return the exact sign of a1*b2 - a2*b1 for |entries| < 2^52.

    The float value decides unless it is within its error bound; then the true value is below 2^60, so
    the wrapped int64 difference equals it.
    """
    left, right = np.float64(a1) * np.float64(b2), np.float64(a2) * np.float64(b1)
    gap = left - right
    if abs(gap) > 1e-15 * (abs(left) + abs(right)):
        return 1 if gap > 0 else -1
    exact = a1 * b2 - a2 * b1
    return 1 if exact > 0 else (-1 if exact < 0 else 0)


@_jit
def angular_order(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of non-zero plane vectors (b > 0, or b = 0 < a) by increasing a / b, exactly."""
    n = len(a)
    slope = np.empty(n)
    for i in range(n):
        slope[i] = np.inf if b[i] == 0 else a[i] / b[i]
    order = np.argsort(slope)
    for i in range(1, n):  # nearly sorted already: repair what rounding hid
        j, item = i, order[i]
        while j > 0 and turn(b[order[j - 1]], a[order[j - 1]], b[item], a[item]) < 0:
            order[j] = order[j - 1]
            j -= 1
        order[j] = item
    return order


@_jit
def count_rank3(V: NDArray[np.int64], divisor: int, exact_slopes: bool, first: int, last: int) -> int:
    """Return by how many chambers the planes first..last-1 through 0 in R^3 add to those before.

    One plane at a time: the j-th adds as many chambers as the earlier ones cut it into, which is twice
    the number of distinct lines in which they meet it.

    Args:
        V: (m, 3) normals, pairwise independent.
        divisor: positive integer dividing every 2x2 minor of V (the previous pivot of the elimination).
        exact_slopes: True when all minors are below 2^25: then equal float slopes are equal fractions.
        first, last: range of planes; without any plane there is one chamber.
    """
    m = len(V)
    total = 0
    slope = np.empty(m)
    a, b = np.empty(m, np.int64), np.empty(m, np.int64)
    for j in range(first, last):
        v = V[j]
        c = 0
        for k in range(1, 3):
            if abs(v[k]) > abs(v[c]):
                c = k
        k1, k2 = (1 if c == 0 else 0), (1 if c == 2 else 2)
        for i in range(j):
            x = (V[i, k1] * v[c] - V[i, c] * v[k1]) // divisor
            y = (V[i, k2] * v[c] - V[i, c] * v[k2]) // divisor
            if y < 0 or (y == 0 and x < 0):
                x, y = -x, -y
            a[i], b[i] = x, y
        lines = 0
        if exact_slopes:
            for i in range(j):
                slope[i] = np.inf if b[i] == 0 else a[i] / b[i]
            slope[:j].sort()
            for i in range(j):
                if i == 0 or slope[i] != slope[i - 1]:
                    lines += 1
        elif j > 0:
            order = angular_order(a[:j], b[:j])
            lines = 1
            for i in range(1, j):
                p, s = order[i - 1], order[i]
                if turn(b[p], a[p], b[s], a[s]) != 0:
                    lines += 1
        total += 2 * lines if j else 1
    return total


@_jit
def half_circle(
    A: NDArray[np.int64], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
    """Walk half a circle of directions w in the plane past the zeros of the functionals <A_i, w>.

    Args:
        A: (k, 2) non-zero functionals, k >= 1; parallel ones share their zero.
        keys: (k,) hash keys.

    Returns:
        rays: (g + 1, 2) directions of the g distinct zeros in walking order, then minus the first one.
        codes: (g,) XOR of the keys of the functionals that are positive between rays i and i + 1.
    """
    k = len(A)
    a, b = np.empty(k, np.int64), np.empty(k, np.int64)
    flip = np.empty(k, np.bool_)
    for i in range(k):
        a[i], b[i] = A[i, 0], A[i, 1]
        flip[i] = b[i] < 0 or (b[i] == 0 and a[i] < 0)
        if flip[i]:
            a[i], b[i] = -a[i], -b[i]
    order = angular_order(a, b)
    rays = np.empty((k + 1, 2))
    toggles = np.zeros(k, np.uint64)
    groups = 0
    code = np.uint64(0)
    for position in range(k):
        i = order[position]
        if position > 0:
            p = order[position - 1]
            if turn(b[p], a[p], b[i], a[i]) != 0:
                groups += 1
        if position == 0 or toggles[groups] == 0:
            rays[groups, 0], rays[groups, 1] = b[i], -a[i]
        toggles[groups] ^= keys[i]
        if flip[i] == (groups == 0):
            code ^= keys[i]
    groups += 1
    codes = np.empty(groups, np.uint64)
    for g in range(groups):
        if g > 0:
            code ^= toggles[g]
        codes[g] = code
    rays[groups, 0], rays[groups, 1] = -rays[0, 0], -rays[0, 1]
    return rays[: groups + 1], codes


@_jit
def sectors(Y: NDArray[np.int64], keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return hash codes and interior directions of all sectors of k >= 1 distinct lines in the plane."""
    rays, codes = half_circle(Y, keys)
    g = len(codes)
    total = np.uint64(0)
    for key in keys:
        total ^= key
    out, W = np.empty(2 * g, np.uint64), np.empty((2 * g, 2))
    norms = np.sqrt(rays[:, 0] ** 2 + rays[:, 1] ** 2)
    for i in range(g):
        out[2 * i], out[2 * i + 1] = codes[i], codes[i] ^ total
        if g == 1:  # both ends are opposite: turn by a right angle, clockwise as the walk does
            W[0, 0], W[0, 1] = rays[0, 1], -rays[0, 0]
        else:
            W[2 * i] = rays[i] / norms[i] + rays[i + 1] / norms[i + 1]
        W[2 * i + 1] = -W[2 * i]
    return out, W


@_jit
def orthants(
    Y: NDArray[np.int64], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return hash codes and interior directions of the 2^k chambers of k independent normals in R^k."""
    k = len(Y)
    M = np.zeros((k, 2 * k))
    for i in range(k):
        for j in range(k):
            M[i, j] = Y[i, j]
        M[i, k + i] = 1.0
    for c in range(k):  # Gauss-Jordan with partial pivoting
        p = c
        for i in range(c + 1, k):
            if abs(M[i, c]) > abs(M[p, c]):
                p = i
        row = M[p].copy()
        M[p] = M[c]
        M[c] = row / row[c]
        for i in range(k):
            if i != c:
                M[i] -= M[i, c] * M[c]
    for a in range(k):
        M[:, k + a] /= np.sqrt((M[:, k + a] ** 2).sum())
    codes, W = np.zeros(1 << k, np.uint64), np.zeros((1 << k, k))
    for s in range(1 << k):
        for a in range(k):
            if (s >> a) & 1:
                codes[s] ^= keys[a]
                W[s] += M[:, k + a]
            else:
                W[s] -= M[:, k + a]
    return codes, W


@_fast
def first_crossing(base: NDArray[np.float64], slope: NDArray[np.float64]) -> float:
    """Return the least t in (0, 2) at which some base + t*slope changes its sign, or 2.

    Counts are vectorised, least values are not: only a block in which something is counted is looked through.
    """
    step = 2.0
    for first in range(0, len(base), BLOCK):
        b, s = base[first : first + BLOCK], slope[first : first + BLOCK]
        crossed = 0
        for i in range(len(b)):
            crossed += b[i] * (b[i] + step * s[i]) < 0.0
        if crossed:
            for i in range(len(b)):
                if b[i] * s[i] < 0.0:
                    step = min(step, -b[i] / s[i])
    return step


@_fast
def least_value(base: NDArray[np.float64], slope: NDArray[np.float64], t: float) -> float:
    """Return min(2, min_i |base_i + t*slope_i|), by blocks as in :func:`first_crossing`."""
    least = 2.0
    for first in range(0, len(base), BLOCK):
        b, s = base[first : first + BLOCK], slope[first : first + BLOCK]
        smaller = 0
        for i in range(len(b)):
            smaller += abs(b[i] + t * s[i]) < least
        if smaller:
            for i in range(len(b)):
                least = min(least, abs(b[i] + t * s[i]))
    return least


@_fast
def settle(  # noqa: PLR0917 - a compiled loop: arrays only
    XT: NDArray[np.float64],
    inside: NDArray[np.bool_],
    u: NDArray[np.float64],
    push: NDArray[np.float64],
    out: NDArray[np.float64],
    base: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> float:
    """Place a witness in the cell that holds u + t*push for small t > 0, half-way along that chord.

    Args:
        XT: (r, m) normals as floats, divided by their L1 norms.
        inside: (m,) True where <x, u> = 0 exactly.
        u: point in the relative interior of a face of the cell; push: direction into the cell.
        out: (r,) receives the witness, scaled to largest entry 1.
        base, slope: (m,) scratch.

    Returns:
        The margin min_i |<x_i, out>| / |x_i|_1: any other vector within it (max-norm) is in the cell.
    """
    r, m = XT.shape
    for i in range(m):
        base[i], slope[i] = XT[0, i] * u[0], XT[0, i] * push[0]
    for k in range(1, r):
        for i in range(m):
            base[i] += XT[k, i] * u[k]
            slope[i] += XT[k, i] * push[k]
    for i in range(m):
        base[i] = 0.0 if inside[i] else base[i]
    step = 0.5 * first_crossing(base, slope)
    top = 0.0
    for k in range(r):
        out[k] = u[k] + step * push[k]
        top = max(top, abs(out[k]))
    margin = least_value(base, slope, step)
    for k in range(r):
        out[k] /= top
    return margin / top


@_jit
def insert(table: NDArray[np.uint64], code: np.uint64) -> bool:
    """Insert a non-zero code in an open-addressing table; False if it was there already."""
    mask = np.uint64(len(table) - 1)
    slot = (code >> np.uint64(1)) & mask
    while table[slot] != 0:
        if table[slot] == code:
            return False
        slot = (slot + np.uint64(1)) & mask
    table[slot] = code
    return True


@_jit
def contract(X: NDArray[np.int64], i: int, divisor: int) -> tuple[NDArray[np.int64], int, int]:
    """Eliminate row i: coordinates of all rows as functionals on its orthogonal space.

    Fraction-free: entries stay minors of the input, so the division is exact; signs are kept.

    Returns:
        (m, k - 1) array without the pivot column, the pivot column, and the pivot's absolute value.
    """
    m, k = X.shape
    c = 0
    for j in range(1, k):
        if abs(X[i, j]) > abs(X[i, c]):
            c = j
    p = X[i, c]
    s = 1 if p > 0 else -1
    out = np.empty((m, k - 1), np.int64)
    for row in range(m):
        xc = s * X[row, c]
        for j in range(k - 1):
            column = j if j < c else j + 1
            out[row, j] = (s * p * X[row, column] - xc * X[i, column]) // divisor
    return out, c, s * p


@_jit
def parallel(x: NDArray[np.int64], y: NDArray[np.int64]) -> bool:
    """True if two non-zero rows are proportional."""
    c = 0
    for j in range(1, len(x)):
        if abs(x[j]) > abs(x[c]):
            c = j
    if y[c] == 0:
        return False
    different = 0
    for j in range(len(x)):
        different += y[j] * x[c] != y[c] * x[j]
    return different == 0


@_jit
def classes(X: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every row the first row parallel to it, -1 for zero rows.

    Rows are sorted by a quotient of two integer functionals: it is correctly rounded, so parallel rows
    have equal quotients; rows of equal quotient are compared in integers.
    """
    m, k = X.shape
    key = np.empty(m)
    leader = np.full(m, -1, np.int64)
    for i in range(m):
        top, bottom = 0, 0
        zero = True
        for j in range(k):
            zero = zero and X[i, j] == 0
            top += X[i, j] * (1 + (157 * j) % 64)
            bottom += X[i, j] * (64 - (91 * j) % 61)
        if zero:
            key[i] = np.inf
        elif bottom == 0:
            key[i] = -1e300 if top == 0 else 1e300
        else:
            key[i] = top / bottom
    order = np.argsort(key, kind="mergesort")
    start = 0
    for position in range(m):
        i = order[position]
        if key[i] == np.inf:
            break
        if key[i] != key[order[start]]:
            start = position
        leader[i] = i
        for earlier in range(start, position):
            e = order[earlier]
            if leader[e] == e and parallel(X[e], X[i]):
                leader[i] = e
                break
    return leader


@_jit
def flats(
    X: NDArray[np.int64], rank: int, first: int, last: int, both: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """List every flat of one rank once, by its greedy basis (row numbers, increasing).

    A basis i_1 < ... < i_k is greedy if each i_t is the least member of the flat outside the span of the
    ones before: in the t-th contraction, i_t leads its parallel class. Depth-first, one path at a time.

    Args:
        X: (m, r) non-zero, pairwise independent integer rows.
        rank: 1..r.
        first, last: range of the least member i_1.
        both: empty to list all flats; else (m,) marks, and a flat is listed only if it has more than
            ``rank`` members, or if all its members are marked.

    Returns:
        (K, rank) greedy bases.
    """
    m = len(X)
    found = np.empty((64, rank), np.int64)
    n = 0
    path = np.full(rank, -1, np.int64)
    path[0] = first - 1
    divisors = np.ones(rank + 1, np.int64)
    levels, leaders = [X], [np.arange(m)]
    sizes, marked = np.ones(m, np.int64), both.astype(np.int64)  # of the classes at the last level
    t = 0
    while t >= 0:
        i = path[t] + 1
        while i < m and leaders[t][i] != i:
            i += 1
        if i >= (m if t else last):
            t -= 1
            levels.pop()
            leaders.pop()
            continue
        path[t] = i
        if t + 1 == rank:
            if len(both) and sizes[i] <= rank and marked[i] < sizes[i]:
                continue
            if n == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            found[n] = path
            n += 1
            continue
        deeper, _, divisors[t + 1] = contract(levels[t], i, divisors[t])
        levels.append(deeper)
        leaders.append(classes(deeper))
        t += 1
        path[t] = i
        if t + 1 == rank and len(both):
            sizes[:], marked[:] = 0, 0
            inside, inside_marked = 0, 0
            for row in range(m):
                e = leaders[t][row]
                if e < 0:
                    inside, inside_marked = inside + 1, inside_marked + both[row]
                else:
                    sizes[e] += 1
                    marked[e] += both[row]
            sizes += inside
            marked += inside_marked
    return found[:n].copy()


@_jit
def orthogonal(
    X: NDArray[np.int64], basis: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Restrict the functionals <x, .> to the orthogonal space of the basis rows.

    Returns:
        (m, r - k) exact functionals in some coordinates of that space; (r - k, r) the coordinate
        directions in R^r, as floats; (k,) pivot columns, on which the basis rows have full rank.
    """
    r = X.shape[1]
    k = len(basis)
    rows = np.zeros((k, r))
    pivots = np.zeros(k, np.int64)
    names = np.arange(r)
    level, divisor = X, 1
    for t in range(k):
        row = level[basis[t]]
        for j in range(r - t):
            rows[t, names[j]] = row[j]
        level, c, divisor = contract(level, basis[t], divisor)
        pivots[t] = names[c]
        names = np.concatenate((names[:c], names[c + 1 :]))
    U = np.zeros((r - k, r))
    for e in range(r - k):
        U[e, names[e]] = 1.0
        for t in range(k - 1, -1, -1):
            U[e, pivots[t]] = -(rows[t] * U[e]).sum() / rows[t, pivots[t]]
    return level, U, pivots


@_jit
def circle(  # noqa: PLR0917 - a compiled loop: arrays only
    X: NDArray[np.int64],
    XT: NDArray[np.float64],
    keys: NDArray[np.uint64],
    basis: NDArray[np.int64],
    inner: NDArray[np.uint64],
    pushes: NDArray[np.float64],
    table: NDArray[np.uint64],
    W: NDArray[np.float64],
    margins: NDArray[np.float64],
    n: int,
) -> int:
    """Record the new cells along the circle of one flat of rank r - 2.

    The hyperplanes outside the flat cut the circle into arcs; an arc bounds one cell per chamber of the
    flat's own arrangement. A cell's code is the XOR of the keys of its positive hyperplanes; of each
    antipodal pair the cell positive on row 0 is kept (only keys[0] is odd).

    Args:
        X: (m, r) rows; XT: their transpose divided by their L1 norms; keys: (m,).
        basis: (r - 2,) greedy basis of the flat.
        inner, pushes: codes (q,) and interior directions (q, r - 2), in the coordinates of the pivot
            columns, of the chambers of the flat's own arrangement.
        table: hash set of the codes met so far.
        W, margins: receive witness and margin of each new cell, from position n on.
        n: number of cells known.

    Returns:
        The new n; -1 if there are more cells than W can hold.
    """
    r = X.shape[1]
    A, U, columns = orthogonal(X, basis)
    inside = (A[:, 0] == 0) & (A[:, 1] == 0)
    others = np.flatnonzero(~inside)
    total = np.uint64(0)
    for key in keys:
        total ^= key
    rays, arcs = half_circle(A[others], keys[others])
    ends, u, push = np.zeros((2, r)), np.zeros(r), np.zeros(r)
    base, slope = np.empty(len(X)), np.empty(len(X))
    for g in range(len(arcs)):
        placed = False
        for q in range(len(inner)):
            code = arcs[g] ^ inner[q]
            mirrored = code & np.uint64(1) == 0
            if mirrored:
                code ^= total
            if not insert(table, code):
                continue
            if n >= len(W):
                return -1
            if not placed:
                placed = True
                for e in range(2):
                    ends[e] = rays[g + e, 0] * U[0] + rays[g + e, 1] * U[1]
                    ends[e] /= np.sqrt((ends[e] ** 2).sum())
                u[:] = ends[0] + ends[1]
                if len(arcs) == 1:  # both ends are opposite: turn by a right angle, as the walk does
                    u[:] = rays[0, 1] * U[0] - rays[0, 0] * U[1]
                    u /= np.sqrt((u**2).sum())
            push[:] = 0.0
            norm = np.sqrt((pushes[q] ** 2).sum())
            for s in range(r - 2):
                push[columns[s]] = pushes[q, s] / norm
            margins[n] = settle(XT, inside, u, push, W[n], base, slope)
            if mirrored:
                W[n] = -W[n]
            n += 1
    return n


@_jit
def walk(  # noqa: PLR0917 - a compiled loop: arrays only
    X: NDArray[np.int64],
    XT: NDArray[np.float64],
    keys: NDArray[np.uint64],
    bases: NDArray[np.int64],
    table: NDArray[np.uint64],
    W: NDArray[np.float64],
    margins: NDArray[np.float64],
    n: int,
    hard: NDArray[np.bool_],
) -> int:
    """Walk the circles of many flats; mark as hard those whose own chambers need an enumeration.

    A flat is easy when its members are independent (orthants) or its rank is 2 (sectors of the plane).
    Arguments as for :func:`circle`; bases is (K, r - 2), hard (K,) receives the marks.
    """
    D = X.shape[1] - 2
    for f in range(len(bases)):
        A, _, columns = orthogonal(X, bases[f])
        members = np.flatnonzero((A[:, 0] == 0) & (A[:, 1] == 0))
        hard[f] = len(members) != D and D != 2
        if hard[f] or len(members) == len(X):
            continue
        Y = np.empty((len(members), D), np.int64)
        for s in range(D):
            Y[:, s] = X[members, columns[s]]
        if len(members) == D:
            inner, pushes = orthants(Y, keys[members])
        else:
            inner, pushes = sectors(Y, keys[members])
        n = circle(X, XT, keys, bases[f], inner, pushes, table, W, margins, n)
        if n < 0:
            return n
    return n


@_jit
def any_one_sided(
    X: NDArray[np.int64], bases: NDArray[np.int64], forward: NDArray[np.bool_], backward: NDArray[np.bool_]
) -> bool:
    """True if all vectors outside some flat of rank r - 1 lie strictly on one side of it.

    The vectors are +X_i where forward, -X_i where backward.
    """
    for f in range(len(bases)):
        A, _, _ = orthogonal(X, bases[f])
        up, down = False, False
        for i in range(len(X)):
            if A[i, 0] > 0:
                up, down = up or forward[i], down or backward[i]
            elif A[i, 0] < 0:
                up, down = up or backward[i], down or forward[i]
        if not (up and down):
            return True
    return False
