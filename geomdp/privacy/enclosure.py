"""Rigorous enclosures in integers: exp on the negative axis, and intervals with rational ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

_SMALL = 6  # the series is summed at arguments below 2^-6
_GUARD = 8  # spare bits that absorb the rounding of the series


def exp_neg(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return integers lo <= 2^bits * exp(-numerator/denominator) <= hi.

    The argument is halved k times until it is at most 2^-6. Then exp of it is summed as a series of positive
    terms (each rounded down for the lower end, up for the upper end, which also gets twice the last term:
    consecutive ones at least halve), inverted, and squared k times with outward rounding. Each squaring at
    most doubles the absolute width, which k + 8 spare bits absorb: hi - lo is at most 3 as a rule.

    Args:
        numerator, denominator: the argument q >= 0 as a quotient, denominator > 0.
        bits: binary digits after the point, >= 0.

    Example:
        >>> lo, hi = exp_neg(1, 1, 40)
        >>> (lo / 2**40 <= 0.36787944117144233 <= hi / 2**40, hi - lo <= 3)
        (True, True)
    """
    if numerator == 0:
        return 1 << bits, 1 << bits
    if numerator > bits * denominator:
        return 0, 1
    halvings = max(0, numerator.bit_length() - denominator.bit_length() + 1 + _SMALL)
    work = bits + halvings + _GUARD
    denominator <<= halvings
    low, high = _exp_series(numerator, denominator, work)
    low, high = (1 << 2 * work) // high, min(-(-(1 << 2 * work) // low), 1 << work)
    for _ in range(halvings):
        low, high = low * low >> work, -(-high * high >> work)
    return low >> work - bits, -(-high >> work - bits)


def _exp_series(numerator: int, denominator: int, work: int) -> tuple[int, int]:
    low = high = term_low = term_high = 1 << work
    k = 0
    while term_high > 1:
        k += 1
        term_low = term_low * numerator // (denominator * k)
        term_high = -(-term_high * numerator // (denominator * k))
        low, high = low + term_low, high + term_high
    return low, high + 2 * term_high


@dataclass(frozen=True)
class Interval:
    """A closed interval of rationals that holds a real number.

    Attributes:
        lo, hi: the ends, lo <= hi.

    Example:
        >>> p = Interval.exp_neg(Fraction(1))
        >>> third = Interval.of(Fraction(1, 3))
        >>> (p * p).lo < Fraction(1353353, 10**7) < (p * p).hi + Fraction(1, 10**6), (p + third).lo > 0
        (True, True)
    """

    lo: Fraction
    hi: Fraction

    @classmethod
    def of(cls, value: Interval | Fraction | int) -> Interval:
        """Return the value itself if it is an interval, else the interval of one point."""
        return value if isinstance(value, Interval) else cls(Fraction(value), Fraction(value))

    @classmethod
    def exp_neg(cls, exponent: Fraction, bits: int = 128) -> Interval:
        """Return an enclosure of exp(-exponent), exponent >= 0, about 2^(1-bits) wide."""
        lo, hi = exp_neg(exponent.numerator, exponent.denominator, bits)
        return cls(Fraction(lo, 1 << bits), Fraction(hi, 1 << bits))

    @classmethod
    def total(cls, values: Iterable[Interval | Fraction | int]) -> Interval:
        """Return an enclosure of the sum."""
        total = cls(Fraction(0), Fraction(0))
        for value in values:
            total = total + value
        return total

    def __add__(self, other: Interval | Fraction | int) -> Interval:
        other = Interval.of(other)
        return Interval(self.lo + other.lo, self.hi + other.hi)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other: Interval | Fraction | int) -> Interval:
        return self + -Interval.of(other)

    def __rsub__(self, other: Interval | Fraction | int) -> Interval:
        return -self + other

    def __mul__(self, other: Interval | Fraction | int) -> Interval:
        other = Interval.of(other)
        if self.lo >= 0 and other.lo >= 0:
            return Interval(self.lo * other.lo, self.hi * other.hi)
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(ends), max(ends))

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | Fraction | int) -> Interval:
        other = Interval.of(other)
        if other.lo <= 0 <= other.hi:
            raise ZeroDivisionError("The divisor's interval holds zero.")
        return self * Interval(1 / other.hi, 1 / other.lo)

    def outward(self, bits: int = 192) -> Interval:
        """Return the interval with its ends rounded outward to multiples of 2^-bits: shorter fractions."""
        unit = 1 << bits
        low = self.lo.numerator * unit // self.lo.denominator
        high = -(-self.hi.numerator * unit // self.hi.denominator)
        return Interval(Fraction(low, unit), Fraction(high, unit))
