"""Laws of the ladder of improvements of halfspace elimination."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from fractions import Fraction

import pytest

from geomdp.core.errors import ArgumentError
from geomdp.geometry.subsets import cover_pairs
from geomdp.testers.elimination_ladder import Gains, ladder, menu, resolution
from geomdp.testers.elimination_plan import calibrate, paper_constants

ONE, TENTH = Fraction(1), Fraction(1, 10)
NAMES = [field.name for field in fields(Gains)]


@pytest.mark.parametrize(
    ("n", "d"),
    [
        (174, 3),
        pytest.param(40_150, 3, marks=pytest.mark.exhaustive),
        pytest.param(68_558, 4, marks=pytest.mark.exhaustive),
    ],
)
def test_every_rung_helps(n: int, d: int) -> None:
    """From the proved menus on no improvement raises the resolution, and the last is what the tester uses."""
    rungs = ladder(n, d, ONE, TENTH)
    assert [name for name, _ in rungs] == ["paper", "proved menus", *NAMES]
    values = [value for _, value in rungs]
    assert values[0] == paper_constants(n, d, ONE, TENTH).resolution
    assert values[1:] == sorted(values[1:], reverse=True)
    assert values[-2] == calibrate(n, d, ONE, TENTH).resolution
    assert values[1] > 3 * values[-1]


def test_exact_halving_by_hand() -> None:
    """With lists only, K is 2 / epsilon times the sum over exact halvings of both logarithms."""
    n, sizes = 68_558, []
    while n:
        sizes.append(n)
        n //= 2
    failure = 0.1 / len(sizes)
    total = sum(
        math.log((2 * cover_pairs(size, 4) + 1) / 2 / failure) + math.log(0.5 / failure) for size in sizes
    )
    gains = replace(Gains(), finish=False, prices=False, retries=False)
    found = resolution(68_558, 4, ONE, TENTH, gains)
    assert abs(found - (5 * (math.ceil(2 * total) - 1) + 1)) <= 5


def test_menus_shrink_every_set() -> None:
    """Every menu's largest member is smaller than the set, and no menu exceeds the exact list."""
    for d in (2, 3, 4):
        for n in (1, 2, 3, 10, 150, 1000, 10**5):
            for share in (Fraction(0), Fraction(1, 5), Fraction(1, 2)):
                members, largest = menu(n, d, share)
                assert 0 <= largest < n
                assert members <= 2 * cover_pairs(n, d) + 1


def test_the_budget_game_needs_all_else() -> None:
    """Prices by outcome come with all other improvements only."""
    with pytest.raises(ArgumentError):
        resolution(174, 3, ONE, TENTH, replace(Gains(), flips=False))
    with pytest.raises(ArgumentError):
        resolution(174, 3, ONE, TENTH, replace(Gains(), prices=False))
