# ruff: noqa: PLR0911, PLR0912, PLR0915, PLR0917 (compiled functions take their arrays by position)
"""Compiled replay of a box tree: int64 throughout, every index and every size checked before it is used.

This file shares no code with the search. It answers 0, or the number of the step that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

ONE = 1 << 20

#: What can fail, by number.
REASONS = (
    "",
    "the tree ends before it covers the cube",
    "the tree goes on after it covers the cube",
    "a box counted as dear enough is not",
    "an infeasible subset is missing",
    "an infeasible subset names a row that is not open in its box",
    "an infeasible subset has a multiplier out of range",
    "a subset is feasible as far as its multipliers show",
    "the subsets of a box use more of a row than its weight",
    "the subsets of a box do not cost enough",
    "the rows open in a box span more than a plane",
    "the rows open in a box cost less than is claimed",
    "a cited lemma is missing",
    "a cited lemma is about a row that does not count in the box",
    "a cited lemma does not prove enough",
    "a box is cut along an axis that it does not have",
    "a box is cut too often",
    "a step of the proof is left over",
)


@njit(cache=True, nogil=True)
def replay(
    target: int, Y: NDArray[Any], E: NDArray[Any], strict: NDArray[Any], W: NDArray[Any],
    X: NDArray[Any], planes_fit: bool, tokens: NDArray[Any], cited: NDArray[Any], leaf_sets: NDArray[Any],
    set_weight: NDArray[Any], set_size: NDArray[Any], set_row: NDArray[Any], set_multiplier: NDArray[Any],
    lemma_bound: NDArray[Any], lemma_start: NDArray[Any], lemma_rows: NDArray[Any],
    idx: NDArray[Any], low: NDArray[Any], high: NDArray[Any],
) -> tuple[int, int]:  # fmt: skip
    """Return (0, 0) if every w != 0 costs at least ``target``, else (reason, place in the tokens).

    An open row of a box has values from low + strict to high + strict: it is wrong everywhere once high < 0,
    and right everywhere once low >= 0.
    """
    m, d = Y.shape
    columns = np.ascontiguousarray(Y.T)
    depth = 20 * d + 2
    off, cnt = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    cost, stage, cut = np.zeros(depth, np.int64), np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    ext = np.zeros((depth, d), np.int64)
    load = np.zeros(m, np.int64)
    where = np.zeros(m, np.int64)
    at_token, at_lemma, at_leaf, at_set, at_entry = 0, 0, 0, 0, 0
    for facet in range(d):
        for sign in (1, -1):
            off[0], stage[0] = 0, 0
            cnt[0], cost[0] = whole_facet(facet, sign, (Y, E, strict, W), idx, low, high)
            for j in range(d):
                ext[0, j] = 0 if j == facet else ONE
            level = 0
            while level >= 0:
                if stage[level] == 0:
                    if at_token >= tokens.shape[0]:
                        return 1, at_token
                    token = tokens[at_token]
                    n, need = cnt[level], target - cost[level]
                    first = off[level]
                    if token == 0:
                        if need > 0:
                            return 3, at_token
                    elif token == 1:
                        if at_leaf >= leaf_sets.shape[0]:
                            return 4, at_token
                        for p in range(first, first + n):
                            load[idx[p]] = 0
                            where[idx[p]] = p + 1
                        reason = 0
                        for _ in range(leaf_sets[at_leaf]):
                            if at_set >= set_size.shape[0] or at_set >= set_weight.shape[0]:
                                reason = 4
                                break
                            size, mu = set_size[at_set], set_weight[at_set]
                            at_set += 1
                            if size < 1 or mu < 1 or at_entry + size > min(len(set_row), len(set_multiplier)):
                                reason = 4
                                break
                            total, tight = 0, 0
                            for e in range(at_entry, at_entry + size):
                                i, lam = set_row[e], set_multiplier[e]
                                if i < 0 or i >= m or where[i] == 0:
                                    reason = 5
                                    break
                                if lam < 1 or lam > 4096 or size > 16:
                                    reason = 6
                                    break
                                if mu > W[i] - load[i]:
                                    reason = 8
                                    break
                                load[i] += mu
                                p = where[i] - 1
                                total += lam * (((low[p] + high[p]) >> 1) + strict[i] + E[i])
                                tight = max(tight, strict[i])
                            if reason:
                                break
                            for j in range(d):
                                if ext[level, j] > 0:
                                    u = 0
                                    for e in range(at_entry, at_entry + size):
                                        u += set_multiplier[e] * Y[set_row[e], j]
                                    total += abs(u) * ext[level, j]
                            at_entry += size
                            if total >= tight:
                                reason = 7
                                break
                            need -= mu
                        at_leaf += 1
                        for p in range(first, first + n):
                            where[idx[p]] = 0
                        if reason == 0 and need > 0:
                            reason = 9
                        if reason:
                            return reason, at_token
                    elif token == 2:
                        if not planes_fit or n == 0:
                            return 10, at_token
                        value = plane(idx[first : first + n], X, strict, W)
                        if value < 0:
                            return 10, at_token
                        if value < need:
                            return 11, at_token
                    elif token == 3:
                        if at_lemma >= cited.shape[0]:
                            return 12, at_token
                        c = cited[at_lemma]
                        at_lemma += 1
                        if c < 0 or c >= lemma_bound.shape[0]:
                            return 12, at_token
                        if lemma_bound[c] < need:
                            return 14, at_token
                        cites = lemma_rows[lemma_start[c] : lemma_start[c + 1]]
                        if not all_open(cites, idx[first : first + n], where):
                            return 13, at_token
                    else:
                        axis = token - 4
                        if axis >= d or axis == facet:
                            return 15, at_token
                        if ext[level, axis] < 2:
                            return 16, at_token
                        cut[level] = axis
                    at_token += 1
                    if token < 4:
                        level -= 1
                        continue
                elif stage[level] == 2:
                    level -= 1
                    continue
                axis = cut[level]
                side = 2 * stage[level] - 1
                stage[level] += 1
                half = ext[level, axis] // 2
                for j in range(d):
                    ext[level + 1, j] = ext[level, j]
                ext[level + 1, axis] = half
                first, n = off[level], cnt[level]
                here = (idx[first : first + n], low[first : first + n], high[first : first + n])
                level += 1
                off[level], cnt[level], stage[level] = first + n, 0, 0
                if at_token < tokens.shape[0] and tokens[at_token] == 0:  # the rows left open do not matter
                    cost[level] = cost[level - 1] + wrong_of(2 * side * half, columns[axis], W, here)
                    continue
                there = (idx[first + n :], low[first + n :], high[first + n :])
                wrong, cnt[level] = halve(2 * side * half, columns[axis], W, here, there)
                cost[level] = cost[level - 1] + wrong
    if at_token != tokens.shape[0]:
        return 2, at_token
    if at_lemma != cited.shape[0] or at_leaf != leaf_sets.shape[0] or at_set != set_size.shape[0]:
        return 17, at_token
    if at_entry != set_row.shape[0] or at_entry != set_multiplier.shape[0] or at_set != set_weight.shape[0]:
        return 17, at_token
    return 0, 0


@njit(cache=True, nogil=True)
def whole_facet(
    facet: int, sign: int, rows: tuple[Any, ...], idx: NDArray[Any], low: NDArray[Any], high: NDArray[Any]
) -> tuple[int, int]:
    """Write the rows that are open on a whole facet; return (how many, weight of the wrong ones)."""
    Y, E, strict, W = rows
    k, wrong = 0, 0
    for i in range(Y.shape[0]):
        reach = E[i]
        for j in range(Y.shape[1]):
            if j != facet:
                reach += abs(Y[i, j]) * ONE
        middle = sign * Y[i, facet] * ONE - strict[i]
        if middle + reach < 0:
            wrong += W[i]
        elif middle - reach < 0:
            idx[k], low[k], high[k] = i, middle - reach, middle + reach
            k += 1
    return k, wrong


@njit(cache=True, nogil=True)
def all_open(cites: NDArray[Any], index: NDArray[Any], where: NDArray[Any]) -> bool:
    """Return whether all cited rows are open in a box; ``where`` is scratch, zero before and after."""
    for p in range(index.shape[0]):
        where[index[p]] = 1
    inside = True
    for e in range(cites.shape[0]):
        if cites[e] < 0 or where[cites[e]] == 0:
            inside = False
    for p in range(index.shape[0]):
        where[index[p]] = 0
    return inside


@njit(cache=True, nogil=True)
def wrong_of(shift: int, column: NDArray[Any], W: NDArray[Any], rows: tuple[Any, Any, Any]) -> int:
    """Return the weight of the open rows of a box that are wrong in one half of it.

    To halve a box moves one end of a row's values inwards: by ``shift`` times the row's entry on the axis.
    A number is negative if its sign bit is set: v >> 63 is -1, all bits, or 0.
    """
    index, _, high = rows
    wrong = 0
    for p in range(index.shape[0]):
        i = index[p]
        wrong += W[i] & ((high[p] + min(shift * column[i], 0)) >> 63)
    return wrong


@njit(cache=True, nogil=True)
def halve(
    shift: int, column: NDArray[Any], W: NDArray[Any], rows: tuple[Any, Any, Any], out: tuple[Any, Any, Any]
) -> tuple[int, Any]:
    """Write the open rows of one half of a box, with their bounds moved by a shift of the centre.

    Returns (weight of the rows that become wrong, how many stay open).
    """
    index, low, high = rows
    index_out, low_out, high_out = out
    wrong, k = 0, np.uint64(0)
    for p in range(index.shape[0]):
        i = index[p]
        move = shift * column[i]
        above, below = high[p] + min(move, 0), low[p] + max(move, 0)
        # without branches: the next place is written in any case and kept if the row is open
        index_out[k], low_out[k], high_out[k] = i, below, above
        k += np.uint64(~above & below) >> np.uint64(63)
        wrong += W[i] & (above >> 63)
    return wrong, np.int64(k)


@njit(cache=True, nogil=True)
def plane(rows: NDArray[Any], X: NDArray[Any], strict: NDArray[Any], W: NDArray[Any]) -> int:
    """Return the least cost over all w of rows of rank at most 2, or -1 if their rank is higher.

    Exact for entries below 2^19. Rows p, q have a minor c != 0 on the columns s, t. When every row r is the
    combination (a p + b q) / c, the entries of r on s and t determine r linearly, so that over all w the
    values <w, r> are those of all pairs (x, y) on the two entries.
    """
    d, k = X.shape[1], rows.shape[0]
    U = np.zeros((k, 2), np.int64)
    p, q, s, t = rows[0], -1, 0, 0
    for r in rows:
        for a in range(d):
            for b in range(a + 1, d):
                if q < 0 and X[p, a] * X[r, b] != X[p, b] * X[r, a]:
                    q, s, t = r, a, b
    if q < 0:
        for a in range(d):
            if X[p, a] != 0:
                s = a
        for e in range(k):
            U[e, 0] = 1 if (X[rows[e], s] > 0) == (X[p, s] > 0) else -1
    else:
        c = X[p, s] * X[q, t] - X[p, t] * X[q, s]
        for e in range(k):
            r = rows[e]
            a = X[r, s] * X[q, t] - X[r, t] * X[q, s]
            b = X[p, s] * X[r, t] - X[p, t] * X[r, s]
            for j in range(d):
                if c * X[r, j] != a * X[p, j] + b * X[q, j]:
                    return -1
            U[e, 0], U[e, 1] = X[r, s], X[r, t]
    least = 0
    for e in range(k):
        if strict[rows[e]]:
            least += W[rows[e]]
    for e in range(k):
        for way in (1, -1):
            x, y = -way * U[e, 1], way * U[e, 0]
            at, ahead, back = 0, 0, 0  # on the ray (x, y), and turned off it towards +U[e] and -U[e]
            for f in range(k):
                value = x * U[f, 0] + y * U[f, 1]
                weight = W[rows[f]]
                if value < 0:
                    at, ahead, back = at + weight, ahead + weight, back + weight
                elif value == 0:
                    along = U[e, 0] * U[f, 0] + U[e, 1] * U[f, 1]
                    at += weight if strict[rows[f]] else 0
                    ahead += weight if along < 0 else 0
                    back += weight if along > 0 else 0
            least = min(least, at, ahead, back)
    return least
