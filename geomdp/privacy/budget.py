"""Exact privacy budgets: sums of Fractions, refused before any noise is drawn."""

from __future__ import annotations

from fractions import Fraction

from geomdp.core.errors import ArgumentError, BudgetError, check_epsilon, check_fraction, describe


class Budget:
    """One party's total privacy loss epsilon, spent release by release.

    Proof note. Precondition: release i is eps_i-DP in the party's data for every fixed history, and
    :meth:`spend` (eps_i) returned before its noise was drawn. The probability of a sequence of releases is
    the product of their conditional probabilities, so replacing one record changes it by a factor of at
    most exp(sum eps_i). Conclusion: as the sum is exact and never exceeds epsilon, all releases together
    are epsilon-DP, however adaptively they were chosen.

    Args:
        epsilon: the total privacy loss, 10^-6 <= epsilon <= 100; text and floats are read as decimals.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Example:
        >>> budget = Budget(Fraction(1))
        >>> for _ in range(3):
        ...     budget.spend(Fraction(1, 3))
        >>> (budget.spent, budget.left)
        (Fraction(1, 1), Fraction(0, 1))
    """

    def __init__(self, epsilon: Fraction | int | float | str) -> None:
        self._epsilon = check_epsilon(epsilon)
        self._spent = Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """The total."""
        return self._epsilon

    @property
    def spent(self) -> Fraction:
        """The exact sum of all charges."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """What may still be spent; never negative."""
        return self._epsilon - self._spent

    def spend(self, epsilon: Fraction | int | float | str) -> None:
        """Charge one release, in full or not at all.

        Args:
            epsilon: the privacy loss of the release, >= 0.

        Raises:
            ArgumentError: when it is negative or not a finite number; nothing is charged.
            BudgetError: when the sum would exceed the total; nothing is charged.
        """
        charge = check_fraction("epsilon", epsilon)
        if charge < 0:
            raise ArgumentError("epsilon", "a number >= 0", describe(charge))
        if self._spent + charge > self._epsilon:
            raise BudgetError(
                f"A release of epsilon = {charge} exceeds what is left of the budget: {self.left} of "
                f"{self._epsilon}. Nothing was drawn."
            )
        self._spent += charge

    def __repr__(self) -> str:
        return f"Budget(epsilon={self._epsilon}, spent={self._spent})"
