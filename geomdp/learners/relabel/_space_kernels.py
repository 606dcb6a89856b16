# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""Compiled walk along the lines in which planes in space meet; imported lazily, as numba is slow to import.

All numbers are int64 within bounds that the caller has checked. Planes are rows (q_1, q_2, q_3, b), pairwise
distinct; ``up`` and ``down`` are what the score gains where <q, u> > b, and where it is less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from geomdp.learners.relabel._kernels import compare, in_order, near


@njit(cache=True, nogil=True)
def _restrict(planes: NDArray[Any], i: int, lines: NDArray[Any]) -> None:
    """Write the others' lines on plane i, in coordinates u_1 and the one of u_2, u_3 that is kept."""
    drop = 2 if planes[i, 2] else 1
    pivot, keep = planes[i, drop], 3 - drop
    side = 1 if pivot > 0 else -1
    for k in range(len(planes)):
        other = planes[k, drop]
        lines[k, 0] = side * (pivot * planes[k, 0] - other * planes[i, 0])
        lines[k, 1] = side * (pivot * planes[k, keep] - other * planes[i, keep])
        lines[k, 2] = side * (pivot * planes[k, 3] - other * planes[i, 3])


@njit(cache=True, nogil=True)
def _meet(
    lines: NDArray[Any], i: int, j: int, up: NDArray[Any], down: NDArray[Any], num: NDArray[Any],
    den: NDArray[Any], step: NDArray[Any],
) -> tuple[int, int]:  # fmt: skip
    """Write the crossings on line j of plane i; return their number and the score at the far left.

    Line j = -1 is any line that is not vertical and belongs to no plane. The number is -1 where this line
    is walked from elsewhere: from the plane of lower index if it lies in two planes, else, in each of its
    planes, under the lowest other index. For two planes have the same four cells around their line from
    either side; of three or more, each sees other ones.
    """
    a, b, c = (lines[j, 0], lines[j, 1], lines[j, 2]) if j >= 0 else (0, 1, 0)
    above, below = (up[j], down[j]) if j >= 0 else (0, 0)
    score, n, alone = 0, 0, True
    for k in range(len(lines)):
        if k in (i, j):
            continue
        d = a * lines[k, 1] - lines[k, 0] * b
        t = c * lines[k, 1] - lines[k, 2] * b
        if d == 0:
            if t == 0:  # the same line again
                if k < j:
                    return -1, 0
                alone = False
                same = (lines[k, 1] > 0) == (b > 0)
                above += up[k] if same else down[k]
                below += down[k] if same else up[k]
            else:
                score += up[k] if (t > 0) == (b > 0) else down[k]
            continue
        rising = (d < 0) == (b > 0)
        score += down[k] if rising else up[k]
        step[n] = up[k] - down[k] if rising else down[k] - up[k]
        num[n], den[n] = (t, d) if d > 0 else (-t, -d)
        n += 1
    if alone and 0 <= j < i:
        return -1, 0
    return n, score + max(above, below)


@njit(cache=True, nogil=True)
def _widen(entry: NDArray[Any], x: int, d: int, side: int) -> None:
    """Move an end (num, den) outward to x/d; den = 0: none so far, den = -1: infinity."""
    if entry[1] == 0 or (entry[1] > 0 and side * compare(x, d, entry[0], entry[1]) > 0):
        entry[0], entry[1] = x, d


@njit(cache=True, nogil=True)
def ends(
    planes: NDArray[Any], up: NDArray[Any], down: NDArray[Any], base: int, first: int, last: int,
    left: NDArray[Any], right: NDArray[Any],
) -> None:  # fmt: skip
    """Widen, per score, the values of u_1 between which cells next to planes first..last-1 reach.

    ``left`` and ``right`` are as for the walk in the plane. Vertical planes and lines are crossed, never
    followed.
    """
    n = len(planes)
    lines = np.empty((n, 3), np.int64)
    num, den, step = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    key = np.empty(n)
    for i in range(first, last):
        if planes[i, 1] == 0 and planes[i, 2] == 0:
            continue
        _restrict(planes, i, lines)
        met = False
        for line in range(n + 1):
            j = line if line < n else -1
            if j == i or (j >= 0 and lines[j, 1] == 0) or (j < 0 and met):
                continue
            met = True
            count, score = _meet(lines, i, j, up, down, num, den, step)
            if count < 0:
                continue
            order = in_order(num, den, key, count)
            score += base + max(up[i], down[i])
            left[score, 1] = -1
            at = 0
            while at < count:
                x, d = num[order[at]], den[order[at]]
                _widen(right[score], x, d, 1)
                while at < count:
                    e = order[at]
                    if not near(key[e], x / d) or compare(num[e], den[e], x, d) != 0:
                        break
                    score += step[e]
                    at += 1
                _widen(left[score], x, d, -1)
            right[score, 1] = -1
