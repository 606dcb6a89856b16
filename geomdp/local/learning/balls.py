"""Private rows cut to a ball, in rational arithmetic: a total map, so that no row is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.local.learning.inputs import check_table


def rows_in_ball(name: str, V: Any, radius: Fraction, d: int | None = None) -> list[list[Fraction]]:
    """Return the rows of an array as rationals, each cut to a length of at most `radius`.

    NaN counts as 0, and an infinite coordinate as the largest float of its sign, so that every row has a
    place in the ball. A mechanism that refused a row would tell about it.

    Args:
        name: of the argument, for the error.
        V: floats, shape (n, d).
        radius: of the ball, > 0.
        d: the dimension that is wanted, if any.

    Raises:
        ArgumentError: on another shape, or entries that are no floats: public facts.

    Example:
        >>> rows_in_ball("V", [[math.nan, 0.5]], Fraction(1))
        [[Fraction(0, 1), Fraction(1, 2)]]
        >>> sum(v * v for v in rows_in_ball("V", [[math.inf, -math.inf]], Fraction(1))[0]) <= 1
        True
    """
    rows = np.nan_to_num(check_table(name, V, d)).tolist()
    return [in_ball(map(Fraction, row), radius) for row in rows]


def in_ball(row: Iterable[Fraction], radius: Fraction) -> list[Fraction]:
    """Return the vector, scaled to a length of at most `radius` if it is longer, in rational arithmetic.

    Example:
        >>> in_ball([Fraction(3, 10), Fraction(4, 10)], Fraction(1, 2))
        [Fraction(3, 10), Fraction(2, 5)]
        >>> sum(v * v for v in in_ball([Fraction(1), Fraction(1)], Fraction(1))) <= 1
        True
    """
    values = list(row)
    square = sum((v * v for v in values), Fraction(0))
    if square <= radius * radius:
        return values
    bits = max(128, 128 - 2 * (square.numerator.bit_length() - square.denominator.bit_length()))
    length = Fraction(math.isqrt(square.numerator * (1 << 2 * bits) // square.denominator) + 1, 1 << bits)
    return [v * radius / length for v in values]
