"""Budgets: exact sums, all or nothing."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from geomdp.core.errors import ArgumentError, BudgetError
from geomdp.privacy.budget import Budget


def test_exact_sum() -> None:
    """Seventy charges of 1/70 fill a budget of 1 exactly, where floats overshoot."""
    budget = Budget(1)
    for _ in range(70):
        budget.spend(Fraction(1, 70))
    assert budget.left == 0
    with pytest.raises(BudgetError):
        budget.spend(Fraction(1, 10**30))
    assert (budget.spent, budget.epsilon) == (1, 1)


def test_all_or_nothing() -> None:
    """A refused charge leaves the budget as it was, and the message names only public amounts."""
    budget = Budget("0.5")
    budget.spend("0.2")
    with pytest.raises(BudgetError) as caught:
        budget.spend(Fraction(2, 5))
    assert str(caught.value) == (
        "A release of epsilon = 2/5 exceeds what is left of the budget: 3/10 of 1/2. Nothing was drawn."
    )
    assert budget.left == Fraction(3, 10)
    assert repr(budget) == "Budget(epsilon=1/2, spent=1/5)"


@pytest.mark.parametrize("charge", [-1, float("nan"), float("inf"), None, True, "x"])
def test_bad_charge(charge: object) -> None:
    """A charge that is negative or no number is refused and nothing is charged."""
    budget = Budget(1)
    with pytest.raises(ArgumentError, match="Argument 'epsilon' must be"):
        budget.spend(charge)  # type: ignore[arg-type]
    assert budget.spent == 0


@pytest.mark.parametrize("total", [0, -1, 101, float("nan"), None])
def test_bad_total(total: object) -> None:
    """A total outside (0, 100] is refused."""
    with pytest.raises(ArgumentError, match="Argument 'epsilon' must be"):
        Budget(total)  # type: ignore[arg-type]


def test_never_above_total() -> None:
    """Whatever is charged in whatever order, the sum of accepted charges is `spent` and at most the total."""
    rng = random.Random(1)  # noqa: S311
    budget, accepted = Budget(2), Fraction(0)
    for _ in range(300):
        charge = Fraction(rng.randrange(0, 30), rng.randrange(1, 400))
        try:
            budget.spend(charge)
            accepted += charge
        except BudgetError:
            assert accepted + charge > 2
        assert budget.spent == accepted <= 2
