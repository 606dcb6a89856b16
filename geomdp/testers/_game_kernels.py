# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""The compiled table of the budget game; imported lazily, because numba is slow to import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Steps from the round cost of the cell (A-1, B-1) that are tried.
_NEAR = (-1, 0, 1, 2)
#: More candidates than any double bottom leaves: the run ends there.
_BOUNDLESS = 2**60


@njit(cache=True, nogil=True)
def fill(
    edge: int,
    candidates: int,
    lists: NDArray[Any],
    finish: NDArray[Any],
    fixed: NDArray[Any],
    member: int,
    size: NDArray[Any],
    depth: NDArray[Any],
) -> int:
    """Write S and the depth over both budgets, antidiagonal by antidiagonal; return the start, -1 if none.

    Args:
        edge: largest budget.
        candidates: N.
        lists: (L, 2) ascending (price, largest N whose lists cost that much).
        finish: (F, 2) (n, price) of the counting finish, ascending.
        fixed: (C, 4) (price, numerator and denominator of the swelling, least N) of the cuttings.
        member: price of a member in multiples of bottom's.
        size, depth: (R+1, edge+1, edge+1) zeros, one table for each number of retries left.
    """
    tables = size.shape[0]
    chosen = np.zeros(size.shape, np.int64)
    for s in range(2 * edge + 1):
        for a in range(max(0, s - edge), min(edge, s) + 1):
            for i in range(tables):
                _enter(a, s - a, i, candidates, lists, finish, fixed, member, size, depth, chosen)
        if s % 2 == 0 and size[tables - 1, s // 2, s // 2] >= candidates:
            return s // 2
    return -1


@njit(cache=True, nogil=True)
def _enter(
    a: int,
    b: int,
    i: int,
    candidates: int,
    lists: NDArray[Any],
    finish: NDArray[Any],
    fixed: NDArray[Any],
    member: int,
    size: NDArray[Any],
    depth: NDArray[Any],
    chosen: NDArray[Any],
) -> None:
    """Enter one cell of table i: the best of finish, lists near the last choice, and cuttings."""
    value, rounds = 0, 0
    for f in range(finish.shape[0]):
        if min(a, b) >= finish[f, 1] and value < finish[f, 0]:
            value, rounds = finish[f, 0], 1
    guess = chosen[i, a - 1, b - 1] if a > 0 and b > 0 else 0
    listed, best = -1, guess
    for step in _NEAR:
        at = min(max(guess + step, 0), lists.shape[0] - 1)
        total, deep, most = _split(a, b, lists[at, 0], i, member, size, depth)
        new = min(lists[at, 1], total + 1, most)
        if new > listed:
            listed, best = new, at
        if new > value:
            value, rounds = new, deep
    chosen[i, a, b] = best
    for c in range(fixed.shape[0]):
        total, deep, most = _split(a, b, fixed[c, 0], i, member, size, depth)
        new = min(max(total, 0) * fixed[c, 2] // fixed[c, 1], most, candidates)
        if value >= fixed[c, 3] - 1 and new > value:  # every smaller number must have its own way
            value, rounds = new, deep
    # more budget never hurts, and what can be done from less takes no more rounds
    if a > 0:
        value, rounds = max(value, size[i, a - 1, b]), max(rounds, depth[i, a - 1, b])
    if b > 0:
        value, rounds = max(value, size[i, a, b - 1]), max(rounds, depth[i, a, b - 1])
    size[i, a, b], depth[i, a, b] = value, rounds


@njit(cache=True, nogil=True)
def _split(
    a: int, b: int, q: int, i: int, member: int, size: NDArray[Any], depth: NDArray[Any]
) -> tuple[int, int, int]:
    """Return (S_first + S_second, rounds, S after a double bottom) of the better order at price q.

    The first is -1 where a party cannot pay, the last boundless where a double bottom ends the run.
    """
    cut = member * q
    if min(a, b) < cut:
        return -1, 0, _BOUNDLESS
    alice = size[i, a - cut, b] + size[i, a - q, b - cut]
    bob = size[i, a, b - cut] + size[i, a - cut, b - q]
    if alice >= bob:
        rounds = max(depth[i, a - cut, b], depth[i, a - q, b - cut])
    else:
        rounds = max(depth[i, a, b - cut], depth[i, a - cut, b - q])
    if i == 0:
        return max(alice, bob), 1 + rounds, _BOUNDLESS
    return max(alice, bob), 1 + max(rounds, depth[i - 1, a - q, b - q]), size[i - 1, a - q, b - q]
