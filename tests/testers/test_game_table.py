"""Laws of the budget game's compiled table: it claims no more than a plain recursion over all strategies."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from geomdp.testers import _game_kernels

EDGE, MANY = 26, 40


def _filled(lists, finish, fixed, member, retries):
    """Return (size, depth, start) of the compiled table."""
    size = np.zeros((retries + 1, EDGE + 1, EDGE + 1), dtype=np.int64)
    depth = np.zeros_like(size)
    cuttings = [(q, swell.numerator, swell.denominator, least) for q, swell, least in fixed]
    tables = [np.array(t, dtype=np.int64).reshape(-1, k) for t, k in ((lists, 2), (finish, 2), (cuttings, 4))]
    return size, depth, _game_kernels.fill(EDGE, MANY, *tables, member, size, depth)


def _plain(lists, finish, fixed, member):
    """Return S(A, B, retries left) by trying every list and every cutting, in rational arithmetic."""

    def after(a, b, r, q):
        """(Candidates of both parts, those after a double bottom) at price q, or None if it is too much."""
        if min(a, b) < member * q:
            return None
        both = (
            best(a - member * q, b, r) + best(a - q, b - member * q, r),
            best(a, b - member * q, r) + best(a - member * q, b - q, r),
        )
        return max(both), best(a - q, b - q, r - 1) if r else math.inf

    @cache
    def best(a, b, r):
        value = max((n for n, price in finish if min(a, b) >= price), default=0)
        value = max(value, best(a - 1, b, r) if a else 0, best(a, b - 1, r) if b else 0)
        for q, reach in lists:
            left = after(a, b, r, q)
            if left is not None:
                value = max(value, min(reach, left[0] + 1, left[1]))
        for q, swell, least in fixed:
            left = after(a, b, r, q)
            if left is not None and value >= least - 1:
                value = max(value, min(math.floor(left[0] / swell), left[1], MANY))
        return value

    return best


CASES = [
    ([(1, 1)], [], [], 2),
    ([(3, MANY)], [(2, 2)], [], 2),
    ([(2, MANY)], [(1, 1), (4, 5)], [(1, Fraction(6, 5), 4)], 1),
    ([(1, 2), (2, 5), (3, 9), (4, 20), (5, MANY)], [(1, 2), (3, 4)], [], 2),
    ([(1, 2), (2, 5), (3, 9)], [(2, 3)], [(2, Fraction(4, 3), 6), (3, Fraction(8, 7), 12)], 2),
    ([(1, 3), (2, 8), (3, MANY)], [(1, 1)], [(2, Fraction(3, 2), 5)], 1),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_no_cell_claims_more_than_the_recursion(case, retries):
    """Every cell is at most what all strategies reach; with one list price it is exactly that."""
    lists, finish, fixed, member = case
    size, depth, start = _filled(*case, retries)
    best = _plain(lists, finish, fixed, member)
    top = EDGE if start < 0 else start
    budgets = [(a, b) for a in range(top + 1) for b in range(top + 1)]
    for left in range(retries + 1):
        found = np.array([size[left, a, b] for a, b in budgets])
        wanted = np.array([best(a, b, left) for a, b in budgets])
        assert (found <= wanted).all()
        if len(lists) == 1:
            assert np.array_equal(found, wanted)
    if start >= 0:
        assert size[retries, start, start] >= MANY
        assert start == 0 or size[retries, start - 1, start - 1] < MANY
    used = size[:, : top + 1, : top + 1]
    assert (np.diff(used, axis=1) >= 0).all()
    assert (np.diff(used, axis=2) >= 0).all()
    assert ((depth[:, : top + 1, : top + 1] > 0) == (used > 0)).all()
