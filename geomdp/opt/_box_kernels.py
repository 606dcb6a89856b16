# ruff: noqa: PLR0912, PLR0915, PLR0917 (compiled functions take their arrays by position)
"""Compiled search of the box tree; imported lazily, because numba is slow to import.

Integers decide everything that reaches a certificate; the floats of the small simplex only propose
multipliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Cube coordinates are integers from -ONE to ONE.
ONE_BITS = 20
ONE = 1 << ONE_BITS

#: Multipliers of an infeasible subset are integers up to this.
MULTIPLIER = 1 << 12

#: Tokens of the tree, in preorder.
PRUNE, PACK, PLANE, LEMMA, SPLIT = 0, 1, 2, 3, 4

#: Reasons to return to the caller.
DONE, FULL, FOUND, ASK, STUCK, SLICE = 0, 1, 2, 3, 4, 5

#: Places of the control array.
LEVEL, TARGET, STATUS, NODES, TOKENS, LEAVES, SETS, ENTRIES, SKIP, LEAF, BUDGET, ANSWER = range(12)


@njit(cache=True, nogil=True)
def enter(
    facet: int, sign: int, Z: NDArray[Any], E: NDArray[Any], strict: NDArray[Any], W: NDArray[Any],
    idx: NDArray[Any], mid: NDArray[Any], rad: NDArray[Any], off: NDArray[Any], cnt: NDArray[Any],
    cost: NDArray[Any], stage: NDArray[Any], cen: NDArray[Any], ext: NDArray[Any], ctrl: NDArray[Any],
) -> None:  # fmt: skip
    """Put the facet w_facet = sign of the cube on level 0: its fixed rows are counted, the others listed."""
    m, d = Z.shape
    k, wrong = 0, 0
    for i in range(m):
        reach = E[i]
        for j in range(d):
            if j != facet:
                reach += abs(Z[i, j]) * ONE
        middle = sign * Z[i, facet] * ONE
        if middle + reach < strict[i]:
            wrong += W[i]
        elif middle - reach < strict[i]:
            idx[k], mid[k], rad[k] = i, middle, reach
            k += 1
    off[0], cnt[0], cost[0], stage[0] = 0, k, wrong, 0
    for j in range(d):
        cen[0, j], ext[0, j] = 0, ONE
    cen[0, facet], ext[0, facet] = sign * ONE, 0
    ctrl[LEVEL] = 0
    ctrl[SKIP] = 0


@njit(cache=True, nogil=True)
def descend(
    level: int, axis: int, side: int, Z: NDArray[Any], strict: NDArray[Any], W: NDArray[Any],
    idx: NDArray[Any], mid: NDArray[Any], rad: NDArray[Any], off: NDArray[Any], cnt: NDArray[Any],
    cost: NDArray[Any], stage: NDArray[Any], cen: NDArray[Any], ext: NDArray[Any],
) -> None:  # fmt: skip
    """Put one half of the box of a level on the next level."""
    d = Z.shape[1]
    half = ext[level, axis] // 2
    for j in range(d):
        cen[level + 1, j], ext[level + 1, j] = cen[level, j], ext[level, j]
    cen[level + 1, axis] += side * half
    ext[level + 1, axis] = half
    first, n = off[level], cnt[level]
    out = np.uint64(first + n)
    wrong = cost[level]
    for p in range(first, first + n):
        i = idx[p]
        z = Z[i, axis]
        middle = mid[p] + side * half * z
        reach = rad[p] - half * abs(z)
        above, below = middle + reach - strict[i], middle - reach - strict[i]
        # without branches: the next place is written in any case and kept if the row is open; v >> 63 is all
        # bits for v < 0 and none otherwise
        idx[out], mid[out], rad[out] = i, middle, reach
        out += np.uint64(~above & below) >> np.uint64(63)
        wrong += W[i] & (above >> 63)
    off[level + 1], cnt[level + 1] = first + n, np.int64(out) - first - n
    cost[level + 1] = wrong
    stage[level + 1] = 0


@njit(cache=True, nogil=True)
def rank_of(rows: NDArray[Any], X: NDArray[Any], basis: NDArray[Any], lead: NDArray[Any]) -> int:
    """Return the rank of chosen rows of X as floats see it."""
    d = X.shape[1]
    found = 0
    v = np.empty(d)
    for p in range(rows.shape[0]):
        top = 0.0
        for j in range(d):
            v[j] = X[rows[p], j]
            top = max(top, abs(v[j]))
        for b in range(found):
            f = v[lead[b]]
            if f != 0.0:
                for j in range(d):
                    v[j] -= f * basis[b, j]
        at, best = -1, 1e-9 * top
        for j in range(d):
            if abs(v[j]) > best:
                at, best = j, abs(v[j])
        if at >= 0:
            for j in range(d):
                basis[found, j] = v[j] / v[at]
            lead[found] = at
            found += 1
            if found == d:
                break
    return found


@njit(cache=True, nogil=True)
def plane_value(rows: NDArray[Any], X: NDArray[Any], strict: NDArray[Any], W: NDArray[Any]) -> int:
    """Return the least cost over all w of rows that span at most a plane, or -1 if they span more.

    Exact for entries below 2^19. On the plane's two coordinates the candidates are 0, the directions
    orthogonal to a row, and those turned off it by an infinitesimal angle to either side.
    """
    d, k = X.shape[1], rows.shape[0]
    one, two = rows[0], -1
    a = b = -1
    for p in range(1, k):
        for s in range(d):
            for t in range(s + 1, d):
                if X[one, s] * X[rows[p], t] - X[one, t] * X[rows[p], s] != 0:
                    two, a, b = rows[p], s, t
                    break
            if two >= 0:
                break
        if two >= 0:
            break
    if two < 0:
        for s in range(d):
            if X[one, s] != 0:
                a = s
        b = a
    else:
        minor = X[one, a] * X[two, b] - X[one, b] * X[two, a]
        for p in range(k):
            r = rows[p]
            first = X[r, a] * X[two, b] - X[r, b] * X[two, a]
            second = X[one, a] * X[r, b] - X[one, b] * X[r, a]
            for j in range(d):
                if minor * X[r, j] != first * X[one, j] + second * X[two, j]:
                    return -1
    least = 0
    for p in range(k):
        least += W[rows[p]] if strict[rows[p]] else 0
    for p in range(k):
        x, y = X[rows[p], a], X[rows[p], b] if two >= 0 else 0
        for flip in range(2):
            u, v = (-y, x) if flip == 0 else (y, -x)
            on, left, right = 0, 0, 0
            for q in range(k):
                r = rows[q]
                s, t = X[r, a], X[r, b] if two >= 0 else 0
                value = u * s + v * t
                if value < 0:
                    on += W[r]
                    left += W[r]
                    right += W[r]
                elif value == 0:
                    turn = x * s + y * t  # the row's side of the direction, along row p
                    if strict[r]:
                        on += W[r]
                    if turn < 0 or (turn == 0 and strict[r]):
                        left += W[r]
                    if turn > 0 or (turn == 0 and strict[r]):
                        right += W[r]
            least = min(least, on, left, right)
    return least


@njit(cache=True, nogil=True)
def play(
    n: int, k: int, A: NDArray[Any], c: NDArray[Any], T: NDArray[Any], basis: NDArray[Any], stop: float
) -> float:
    """Return the value of min over the simplex of <lam, c> + sum_j |<lam, A_j>|, or the first below -stop.

    The tableau T holds columns lam (k), p (n), n (n) and the right-hand side, rows 0..n and the reduced
    costs in row n + 1; ``basis`` the basic column of each row. Phase 1 is not needed: all weight on the row
    of least c is a start.
    """
    width = k + 2 * n
    best = 0
    for i in range(1, k):
        if c[i] < c[best]:
            best = i
    for i in range(width + 1):
        T[0, i] = 1.0 if i < k or i == width else 0.0
        T[n + 1, i] = c[i] - c[best] if i < k else (1.0 if i < width else 0.0)
    T[n + 1, width] = -c[best]
    basis[0] = best
    for j in range(n):
        s = -1.0 if A[best, j] > 0 else 1.0
        for i in range(k):
            T[j + 1, i] = s * (A[i, j] - A[best, j])
        for i in range(k, width):
            T[j + 1, i] = 0.0
        T[j + 1, k + j], T[j + 1, k + n + j] = s, -s
        T[j + 1, width] = abs(A[best, j])
        basis[j + 1] = k + j if s > 0 else k + n + j
        for i in range(width + 1):
            T[n + 1, i] -= T[j + 1, i]
    for _ in range(40 + 10 * n):
        if -T[n + 1, width] < -stop:
            break
        enter_, least = -1, -1e-10
        for i in range(width):
            if T[n + 1, i] < least:
                enter_, least = i, T[n + 1, i]
        if enter_ < 0:
            break
        leave, ratio = -1, 1e300
        for r in range(n + 1):
            if T[r, enter_] > 1e-11:
                q = T[r, width] / T[r, enter_]
                if q < ratio - 1e-13 or (
                    q < ratio + 1e-13 and leave >= 0 and T[r, enter_] > T[leave, enter_]
                ):
                    leave, ratio = r, q
        if leave < 0:
            break
        f = 1.0 / T[leave, enter_]
        for i in range(width + 1):
            T[leave, i] *= f
        for r in range(n + 2):
            if r != leave:
                f = T[r, enter_]
                if f != 0.0:
                    for i in range(width + 1):
                        T[r, i] -= f * T[leave, i]
        basis[leave] = enter_
    value: float = -T[n + 1, width]
    return value


@njit(cache=True, nogil=True)
def box_maximum(
    size: int, members: NDArray[Any], lam: NDArray[Any], rows: NDArray[Any], middle: NDArray[Any], facet: int,
    Z: NDArray[Any], E: NDArray[Any], ext: NDArray[Any], strict: NDArray[Any],
) -> int:  # fmt: skip
    """Return an integer upper bound on the box's maximum of <sum lam_i z_i, w>, minus 1 if one is strict.

    A negative result proves that no w in the box makes all members right.
    """
    d = Z.shape[1]
    total, any_strict = 0, 0
    for s in range(size):
        p = members[s]
        total += lam[s] * (middle[p] + E[rows[p]])
        any_strict = max(any_strict, strict[rows[p]])
    for j in range(d):
        if j != facet:
            u = 0
            for s in range(size):
                u += lam[s] * Z[rows[members[s]], j]
            total += abs(u) * ext[j]
    return total - any_strict


@njit(cache=True, nogil=True)
def support(
    a: int, n: int, T: NDArray[Any], basis: NDArray[Any], alive: NDArray[Any], members: NDArray[Any],
    lam: NDArray[Any], facet: int, rows: NDArray[Any], middle: NDArray[Any], reach: NDArray[Any],
    Z: NDArray[Any], E: NDArray[Any], strict: NDArray[Any], ext: NDArray[Any],
) -> tuple[int, bool]:  # fmt: skip
    """Write the basic rows with rounded multipliers; return (how many, whether integers show infeasibility).

    Short multipliers, which make short certificates, are tried first.
    """
    top = 0.0
    for r in range(n + 1):
        if basis[r] < a:
            top = max(top, T[r, a + 2 * n] / reach[alive[basis[r]]])
    size = 0
    for precision in (1 << 6, MULTIPLIER):
        size = 0
        for r in range(n + 1):
            if basis[r] < a:
                p = alive[basis[r]]
                lam[size] = np.int64(np.rint(T[r, a + 2 * n] / reach[p] / top * precision))
                if lam[size] > 0:
                    members[size] = p
                    size += 1
        if box_maximum(size, members, lam, rows, middle, facet, Z, E, ext, strict) < 0:
            return size, True
    return size, False


@njit(cache=True, nogil=True)
def pack(
    need: int, facet: int, rows: NDArray[Any], middle: NDArray[Any], reach: NDArray[Any],
    Z: NDArray[Any], E: NDArray[Any], strict: NDArray[Any], W: NDArray[Any],
    cen: NDArray[Any], ext: NDArray[Any],
    set_mu: NDArray[Any], set_size: NDArray[Any], set_row: NDArray[Any], set_lam: NDArray[Any],
    sets: int, entries: int, look: bool, T: NDArray[Any], A: NDArray[Any], w: NDArray[Any],
) -> tuple[int, int, int, int]:  # fmt: skip
    """Prove by disjoint infeasible subsets that the box costs ``need`` more, if a greedy choice can.

    With ``look`` a point of the box is sought even where the weights rule a proof out.

    Returns:
        (proved, sets, entries, cost of the point w among the rows, or -1 without a point).
    """
    k, d = rows.shape[0], Z.shape[1]
    n = d - 1
    left = np.empty(k, np.int64)
    alive = np.empty(k, np.int64)
    c = np.empty(k)
    basis = np.empty(n + 1, np.int64)
    members, lam = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    axes = np.empty(n, np.int64)
    t = 0
    for j in range(d):
        if j != facet:
            axes[t] = j
            t += 1
    for p in range(k):
        left[p] = W[rows[p]]
    while need > 0:
        a, total = 0, 0
        for p in range(k):
            if left[p] > 0:
                alive[a] = p
                total += left[p]
                a += 1
        if a == 0 or (total < 2 * need and a > 1 and not look):
            return 0, sets, entries, -1
        for q in range(a):
            p = alive[q]
            f = 1.0 / reach[p]
            c[q] = middle[p] * f - (1e-7 if strict[rows[p]] else 0.0)
            for j in range(n):
                A[q, j] = Z[rows[p], axes[j]] * ext[axes[j]] * f
        value = play(n, a, A, c, T, basis, 0.004)
        size, shown = 0, False
        if value < -1e-9:
            size, shown = support(
                a, n, T, basis, alive, members, lam, facet, rows, middle, reach, Z, E, strict, ext
            )
        if not shown:  # if the point that the simplex suggests is right for enough rows, it is worth a count
            for j in range(d):
                w[j] = cen[j]
            for j in range(n):
                w[axes[j]] += ext[axes[j]] * (T[n + 1, a + j] - 1.0)
            spent = 0
            for p in range(k):
                v = 0.0
                for j in range(d):
                    v += Z[rows[p], j] * w[j]
                if v < -1e-9 * reach[p]:
                    spent += W[rows[p]]
            return 0, sets, entries, spent
        mu = left[members[0]]
        for s in range(1, size):
            mu = min(mu, left[members[s]])
        if sets >= set_mu.shape[0] or entries + size > set_row.shape[0]:
            return 0, sets, entries, -1
        for s in range(size):
            left[members[s]] -= mu
            set_row[entries], set_lam[entries] = rows[members[s]], lam[s]
            entries += 1
        set_mu[sets], set_size[sets] = mu, size
        sets += 1
        need -= mu
    return 1, sets, entries, -1


@njit(cache=True, nogil=True)
def grow(
    facet: int, cap: int, Z: NDArray[Any], E: NDArray[Any], strict: NDArray[Any], W: NDArray[Any],
    X: NDArray[Any], small: bool, XF: NDArray[Any],
    idx: NDArray[Any], mid: NDArray[Any], rad: NDArray[Any], off: NDArray[Any], cnt: NDArray[Any],
    cost: NDArray[Any], stage: NDArray[Any], cut: NDArray[Any], cen: NDArray[Any], ext: NDArray[Any],
    ctrl: NDArray[Any], tokens: NDArray[Any], leaf_sets: NDArray[Any],
    set_mu: NDArray[Any], set_size: NDArray[Any], set_row: NDArray[Any], set_lam: NDArray[Any],
    T: NDArray[Any], A: NDArray[Any], w: NDArray[Any],
) -> None:  # fmt: skip
    """Go on with the depth-first search of one facet until it is done or the caller is needed.

    ctrl[STATUS] says why it returned; the position is kept in the arrays, so that calling again goes on.
    """
    d = Z.shape[1]
    basis, lead = np.empty((d, d)), np.empty(d, np.int64)
    level = ctrl[LEVEL]
    spent = 0
    while level >= 0:
        if stage[level] == 0:  # a box that was not yet looked at
            if (
                ctrl[TOKENS] + 2 > tokens.shape[0]
                or ctrl[LEAVES] + 2 > leaf_sets.shape[0]
                or ctrl[SETS] + 1000 > set_mu.shape[0]
                or ctrl[ENTRIES] + 1000 * d > set_row.shape[0]
            ):
                ctrl[LEVEL], ctrl[STATUS] = level, FULL
                return
            if spent >= ctrl[BUDGET]:
                ctrl[LEVEL], ctrl[STATUS] = level, SLICE
                return
            n, need = cnt[level], ctrl[TARGET] - cost[level]
            spent += 32 + n  # a box costs as much as it has rows
            rows = idx[off[level] : off[level] + n]
            token = -1
            if need <= 0:
                token = PRUNE
            elif n == 0:
                for j in range(d):
                    w[j] = cen[level, j]
                ctrl[LEVEL], ctrl[STATUS] = level, FOUND
                return
            else:
                if ctrl[ANSWER] == 1:
                    token = LEMMA
                    ctrl[ANSWER] = 0
                elif not ctrl[SKIP] & 2:
                    rank = rank_of(rows, XF, basis, lead)
                    if rank < min(n, d):
                        if small and rank <= 2 and plane_value(rows, X, strict, W) >= need:
                            token = PLANE
                        else:
                            ctrl[LEVEL], ctrl[STATUS] = level, ASK
                            return
                narrow = True
                for j in range(d):
                    narrow = narrow and ext[level, j] <= cap
                if token < 0 and n <= ctrl[LEAF]:
                    proved, sets, entries, value = pack(
                        need, facet, rows, mid[off[level] : off[level] + n], rad[off[level] : off[level] + n],
                        Z, E, strict, W, cen[level], ext[level], set_mu, set_size, set_row, set_lam,
                        ctrl[SETS], ctrl[ENTRIES], narrow, T, A, w,
                    )  # fmt: skip
                    if proved == 1:
                        token = PACK
                        leaf_sets[ctrl[LEAVES]] = sets - ctrl[SETS]
                        ctrl[LEAVES] += 1
                        ctrl[SETS], ctrl[ENTRIES] = sets, entries
                    elif 0 <= value < need and not ctrl[SKIP] & 1:
                        ctrl[LEVEL], ctrl[STATUS] = level, FOUND
                        return
            ctrl[NODES] += 1
            ctrl[SKIP] = 0
            if token >= 0:
                tokens[ctrl[TOKENS]] = token
                ctrl[TOKENS] += 1
                level -= 1
                continue
            axis, best = -1, -1.0  # cut where the open rows change most
            for j in range(d):
                if ext[level, j] > cap:
                    score = 0.0
                    for p in range(n):
                        score += abs(Z[rows[p], j])
                    score *= ext[level, j]
                    if score > best:
                        axis, best = j, score
            if axis < 0:
                ctrl[LEVEL], ctrl[STATUS] = level, STUCK
                return
            tokens[ctrl[TOKENS]] = SPLIT + axis
            ctrl[TOKENS] += 1
            cut[level] = axis
            stage[level] = 1
            descend(level, axis, -1, Z, strict, W, idx, mid, rad, off, cnt, cost, stage, cen, ext)
            level += 1
        elif stage[level] == 1:
            stage[level] = 2
            descend(level, cut[level], 1, Z, strict, W, idx, mid, rad, off, cnt, cost, stage, cen, ext)
            level += 1
        else:
            level -= 1
    ctrl[LEVEL], ctrl[STATUS] = -1, DONE
