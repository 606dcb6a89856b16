# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""Compiled loops of the plane sweep; imported lazily, because numba is slow to import.

All numbers that decide are int64 within bounds that the caller has checked: quotients num/den of crossings
have |num|, den < 2^62. Floats put the crossings into an approximate order; neighbours that they cannot tell
apart are compared as integers of 128 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_CLEAR = 2e-15  # relative distance at which two rounded quotients are in the true order


@njit(cache=True, nogil=True)
def _product(a: int, b: int) -> tuple[Any, Any]:
    """Return the 128-bit product of 0 <= a, b < 2^63 as (high, low) words."""
    half = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    x, y = np.uint64(a), np.uint64(b)
    x0, x1, y0, y1 = x & half, x >> shift, y & half, y >> shift
    low = x0 * y0
    mid = x1 * y0 + (low >> shift)
    mid2 = x0 * y1 + (mid & half)
    high = x1 * y1 + (mid >> shift) + (mid2 >> shift)
    return high, (mid2 << shift) | (low & half)


@njit(cache=True, nogil=True)
def compare(n1: int, d1: int, n2: int, d2: int) -> int:
    """Return the sign of n1/d1 - n2/d2 for denominators > 0, exactly."""
    if (n1 < 0) != (n2 < 0):
        return -1 if n1 < 0 else 1
    flip = 1
    if n1 < 0:
        n1, n2, flip = -n1, -n2, -1
    h1, l1 = _product(n1, d2)
    h2, l2 = _product(n2, d1)
    if h1 != h2:
        return flip if h1 > h2 else -flip
    if l1 != l2:
        return flip if l1 > l2 else -flip
    return 0


@njit(cache=True, nogil=True)
def near(a: float, b: float) -> bool:
    """Return whether two rounded quotients are so near that they may be in the wrong order."""
    return abs(a - b) <= _CLEAR * (abs(a) + abs(b))


@njit(cache=True, nogil=True)
def in_order(num: NDArray[Any], den: NDArray[Any], key: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the ascending order of the first n quotients; write their rounded values into ``key``."""
    for s in range(n):
        key[s] = num[s] / den[s]
    order = np.argsort(key[:n])
    # insertion: rounded keys are in order, so an element moves only among those that they cannot separate
    for s in range(1, n):
        e = order[s]
        p = s - 1
        while p >= 0:
            f = order[p]
            if not near(key[f], key[e]) or compare(num[f], den[f], num[e], den[e]) <= 0:
                break
            order[p + 1] = f
            p -= 1
        order[p + 1] = e
    return order


@njit(cache=True, nogil=True)
def _crossings(
    lines: NDArray[Any], i: int, num: NDArray[Any], den: NDArray[Any], who: NDArray[Any], end: NDArray[Any]
) -> int:
    """Write the crossings on line i in ascending order; return their number.

    ``end[t]`` is the end (exclusive) of the group of equal crossings that holds place t, for the first t of
    every group. Along a vertical line the order is that of the ordinate.
    """
    a, b, c = lines[i, 0], lines[i, 1], lines[i, 2]
    n = 0
    key = np.empty(len(lines))
    for k in range(len(lines)):
        d = a * lines[k, 1] - lines[k, 0] * b
        if d == 0:
            continue
        t = c * lines[k, 1] - lines[k, 2] * b if b else a * lines[k, 2] - lines[k, 0] * c
        if d < 0:
            d, t = -d, -t
        num[n], den[n], who[n] = t, d, k
        n += 1
    order = in_order(num, den, key, n)
    num[:n], den[:n], who[:n] = num[order], den[order], who[order]
    first = 0
    for s in range(1, n + 1):
        if s == n or not (
            near(key[order[s]], key[order[first]]) and compare(num[s], den[s], num[first], den[first]) == 0
        ):
            end[first] = s
            first = s
    return n


@njit(cache=True, nogil=True)
def _past(
    i: int, first: int, last: int, who: NDArray[Any], up: NDArray[Any], down: NDArray[Any],
    keys: NDArray[Any], score: int, code: int,
) -> tuple[int, int, bool]:  # fmt: skip
    """Return score and code above line i past a group of crossings, and whether a cell begins there."""
    begins = False
    for t in range(first, last):
        k = who[t]
        code ^= keys[k]
        if k < i:
            score += down[k] - up[k]
            begins = True
        else:
            score += up[k] - down[k]
    return score, code, begins


@njit(cache=True, nogil=True)
def histogram(
    lines: NDArray[Any], up: NDArray[Any], down: NDArray[Any], begin: NDArray[Any], first: int, last: int,
    counts: NDArray[Any],
) -> None:  # fmt: skip
    """Count the cells right of the crossings on lines first..last-1, by score.

    Lines are in the order in which they lie at minus infinity, lowest first. ``begin[i]`` is the score at the
    far left of line i without its own share.
    """
    n = len(lines)
    num, den = np.empty(n, np.int64), np.empty(n, np.int64)
    who, end = np.empty(n, np.int64), np.empty(n, np.int64)
    none = np.zeros(n, np.int64)
    for i in range(first, last):
        crossings = _crossings(lines, i, num, den, who, end)
        score = begin[i] + up[i]
        at = 0
        while at < crossings:
            score, _, begins = _past(i, at, end[at], who, up, down, none, score, 0)
            if begins:
                counts[score] += 1
            at = end[at]


@njit(cache=True, nogil=True)
def locate(
    lines: NDArray[Any], up: NDArray[Any], down: NDArray[Any], begin: NDArray[Any], keys: NDArray[Any],
    codes: NDArray[Any], wanted: int, rank: int, code: int, any_code: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """Return (line, crossing line, next crossing line or -1) of the rank-th cell of a score and code.

    Cells are met in the order of :func:`histogram`; line -1 says that there are too few.
    """
    n = len(lines)
    num, den = np.empty(n, np.int64), np.empty(n, np.int64)
    who, end = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        crossings = _crossings(lines, i, num, den, who, end)
        score = begin[i] + up[i]
        here = codes[i] ^ keys[i]
        at = 0
        while at < crossings:
            score, here, begins = _past(i, at, end[at], who, up, down, keys, score, here)
            if begins and score == wanted and (any_code or here == code):
                if rank == 0:
                    return i, who[at], who[end[at]] if end[at] < crossings else -1
                rank -= 1
            at = end[at]
    return -1, -1, -1


@njit(cache=True, nogil=True)
def _note(table: NDArray[Any], best: NDArray[Any], worst: NDArray[Any], code: int, score: int) -> int:
    """Enter a cell into the open-addressing table; return 1 if its code is new. Code 0 marks free places."""
    mask = len(table) - 1
    at = (code ^ (code >> 29)) & mask
    while table[at] != 0 and table[at] != code:
        at = (at + 1) & mask
    if table[at] == 0:
        table[at] = code
        best[at], worst[at] = score, score
        return 1
    best[at] = max(best[at], score)
    worst[at] = min(worst[at], score)
    return 0


@njit(cache=True, nogil=True)
def note_all(
    table: NDArray[Any], best: NDArray[Any], worst: NDArray[Any], codes: NDArray[Any], scores: NDArray[Any]
) -> int:
    """Enter listed cells; return the number of new codes."""
    fresh = 0
    for t in range(len(codes)):
        fresh += _note(table, best, worst, codes[t], scores[t])
    return fresh


@njit(cache=True, nogil=True)
def carriers(
    lines: NDArray[Any], up: NDArray[Any], down: NDArray[Any], begin: NDArray[Any], keys: NDArray[Any],
    codes: NDArray[Any], first: int, last: int, room: int, table: NDArray[Any], best: NDArray[Any],
    worst: NDArray[Any],
) -> int:  # fmt: skip
    """Enter the cells right of the crossings on some lines; return the number of new codes.

    It stops when more than ``room`` codes were new: the table's limit.
    """
    n = len(lines)
    num, den = np.empty(n, np.int64), np.empty(n, np.int64)
    who, end = np.empty(n, np.int64), np.empty(n, np.int64)
    fresh = 0
    for i in range(first, last):
        crossings = _crossings(lines, i, num, den, who, end)
        score = begin[i] + up[i]
        here = codes[i] ^ keys[i]
        at = 0
        while at < crossings:
            score, here, begins = _past(i, at, end[at], who, up, down, keys, score, here)
            if begins:
                fresh += _note(table, best, worst, here, score)
                if fresh > room:
                    return fresh
            at = end[at]
    return fresh


@njit(cache=True, nogil=True)
def ends(
    lines: NDArray[Any], up: NDArray[Any], down: NDArray[Any], begin: NDArray[Any], first: int, last: int,
    left: NDArray[Any], right: NDArray[Any],
) -> None:  # fmt: skip
    """Widen, per score, the abscissas between which cells of this score reach.

    ``left[s]`` is (num, den) of the least left end so far: den = 1 a number, den = 0 none so far, den = -1
    minus infinity; ``right`` alike. Vertical lines are crossed, never followed.
    """
    n = len(lines)
    num, den = np.empty(n, np.int64), np.empty(n, np.int64)
    who, end = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(first, last):
        if lines[i, 1] == 0:
            continue
        crossings = _crossings(lines, i, num, den, who, end)
        score = begin[i] + max(up[i], down[i])
        left[score, 1] = -1
        at = 0
        while at < crossings:
            x, d = num[at], den[at]
            old = right[score, 1]
            if old == 0 or (old > 0 and compare(x, d, right[score, 0], old) > 0):
                right[score, 0], right[score, 1] = x, d
            for t in range(at, end[at]):
                k = who[t]
                score += down[k] - up[k] if k < i else up[k] - down[k]
            old = left[score, 1]
            if old == 0 or (old > 0 and compare(x, d, left[score, 0], old) < 0):
                left[score, 0], left[score, 1] = x, d
            at = end[at]
        right[score, 1] = -1
