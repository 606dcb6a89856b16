"""Numbers of proposals and the bits of their indices: Elias gamma codes of geometric numbers, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_fraction, check_integer, describe
from geomdp.local.finite import check_ratio


def proposals_for(answers: int, ratio: Fraction, failure: Fraction | float | str) -> int:
    """Return a number L of proposals with answers * (1 - 1/ratio)^L <= failure.

    The power is rounded up, far below the failure's size; L is the least number for which this passes.

    Raises:
        ArgumentError: unless ``answers`` is an integer >= 1 and ``failure`` is between 0 and 1.

    Example:
        >>> proposals_for(1, Fraction(2), Fraction(1, 1024))
        10
    """
    count, odds = check_integer("answers", answers, 1), check_ratio(ratio)
    target = check_fraction("failure", failure)
    if not 0 < target < 1:
        raise ArgumentError("failure", "between 0 and 1", describe(target))
    bits = 512 + math.ceil(count / target).bit_length() + odds.numerator.bit_length()
    low, high, miss = 0, 1, 1 - 1 / odds
    while count * _power_up(miss, high, bits) > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count * _power_up(miss, middle, bits) > target else (low, middle)
    return high


def _power_up(base: Fraction, exponent: int, bits: int) -> Fraction:
    """Return base^exponent for 0 <= base <= 1, rounded up to multiples of 2^-bits after each product.

    Example:
        >>> _power_up(Fraction(1, 2), 10, 64), _power_up(Fraction(1, 3), 2, 4)
        (Fraction(1, 1024), Fraction(3, 16))
    """
    unit = 1 << bits
    power, square = unit, -(-base.numerator * unit // base.denominator)
    while exponent:
        if exponent & 1:
            power = -(-power * square >> bits)
        square, exponent = -(-square * square >> bits), exponent >> 1
    return Fraction(power, unit)


def elias(number: int) -> str:
    """Return the Elias gamma code of a number >= 1: as many zeros as it has binary digits but one, then it.

    Raises:
        ArgumentError: unless ``number`` is an integer >= 1.

    Example:
        >>> [elias(j) for j in (1, 2, 5)]
        ['1', '010', '00101']
    """
    digits = f"{check_integer('number', number, 1):b}"
    return "0" * (len(digits) - 1) + digits


def decode_elias(code: str) -> list[int]:
    """Return the numbers of a concatenation of Elias codes.

    Raises:
        ArgumentError: when ``code`` is no text of 0 and 1, or cut off: no concatenation of Elias codes.

    Example:
        >>> decode_elias(elias(5) + elias(1) + elias(1023))
        [5, 1, 1023]
    """
    if not isinstance(code, str) or code.strip("01"):
        raise ArgumentError("code", "a concatenation of Elias codes", "one with other signs than 0 and 1")
    numbers, place = [], 0
    while place < len(code):
        one = code.find("1", place)
        end = 2 * one - place + 1
        if one < 0 or end > len(code):
            raise ArgumentError("code", "a concatenation of Elias codes", "one that is cut off")
        numbers.append(int(code[one:end], 2))
        place = end
    return numbers


def elias_bits(uses: Fraction, proposals: int) -> Fraction:
    """Return the expected length of the Elias code of an index, exactly: at most 1 + 2 log2(uses).

    Args:
        uses: S = sum_y M(y), the mean of J.
        proposals: L >= 1; J = 0 ("none") is spelt as L + 1.

    Raises:
        ArgumentError: unless ``uses`` is a number >= 1 and ``proposals`` an integer >= 1.

    Example:
        >>> elias_bits(Fraction(1), 4), elias_bits(Fraction(2), 1)
        (Fraction(1, 1), Fraction(2, 1))
    """
    accept = 1 / check_ratio(uses, "uses")
    total, left = Fraction(0), Fraction(1)
    for j in range(1, check_integer("proposals", proposals, 1) + 1):
        total += left * accept * len(elias(j))
        left *= 1 - accept
    return total + left * len(elias(proposals + 1))
