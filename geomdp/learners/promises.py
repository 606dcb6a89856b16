"""The words of a promise about accuracy; rates are rounded up and probabilities down, to stay true."""

from __future__ import annotations

from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_beta, describe

_DIGITS = 6  # as many as Python's general format shows
_SMALL = Fraction(1, 10**5)  # failure probabilities below it are named, not their complements
#: What moves records to the grid: the parameters of either estimator, or where neither is at work.
HALFSPACES, TUPLES, GRID = "scale and radius", "scale, low and high", "public parameters"


def check_error(alpha: object) -> Fraction:
    """Return an error rate to certify as an exact Fraction of at most 1/2.

    Raises:
        ArgumentError: when it is not a number with 10^-300 <= alpha <= 1/2.

    Example:
        >>> check_error("0.1")
        Fraction(1, 10)
    """
    rate = check_beta(alpha, "alpha")
    if rate > Fraction(1, 2):
        raise ArgumentError("alpha", "at most 1/2, the error of a coin", describe(rate))
    return rate


def shown_rate(rate: Fraction) -> str:
    """Return a positive rate in six digits, rounded up.

    Example:
        >>> shown_rate(Fraction(1, 10)), shown_rate(Fraction(1, 3)), shown_rate(Fraction(2, 3 * 10**9))
        ('0.1', '0.333334', '6.66667e-10')
    """
    return _digits(rate, up=True)


def shown_chance(beta: Fraction) -> str:
    """Return 1 - beta in six digits, rounded down, or as a difference where beta is small.

    Example:
        >>> shown_chance(Fraction(1, 10)), shown_chance(Fraction(1, 3)), shown_chance(Fraction(1, 10**9))
        ('0.9', '0.666666', '1 - 1e-09')
    """
    return f"1 - {_digits(beta, up=True)}" if beta < _SMALL else _digits(1 - beta, up=False)


def if_realizable(moved: str = GRID) -> str:
    """Return the condition of a certificate; the records that it speaks of are those that the learner sees.

    Args:
        moved: the public parameters by which records are moved to the grid first.

    Example:
        >>> if_realizable("scale and radius")[:60]
        'if the records, moved to the grid by scale and radius, are i'
    """
    return (
        f"if the records, moved to the grid by {moved}, are independent draws that some hypothesis labels "
        "without error"
    )


def _digits(value: Fraction, *, up: bool) -> str:
    """Return a number between 0 and 1 in six significant digits, rounded to the side that is asked for."""
    power = 0
    while value * 10**power < 1:
        power += 1
    unit = Fraction(1, 10 ** (power + _DIGITS - 1))
    steps = -(-value // unit) if up else value // unit
    return f"{float(steps * unit):g}"  # at most six digits: the nearest double prints as them
