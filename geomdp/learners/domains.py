"""Finite ordered domains of rationals, far too large to list: counting and access by rank, in integers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Protocol

from geomdp.core.errors import ArgumentError, check_integer


class OrderedDomain(Protocol):
    """A finite multiset of rationals in ascending order, addressed by rank 0, ..., size - 1."""

    @property
    def size(self) -> int:
        """The number of elements, repeated values counted."""

    def value(self, index: int) -> Fraction:
        """Return the element of a rank."""

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements below x: the rank of the first one >= x (size if there is none)."""

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements <= x: the rank of the first one > x (size if there is none)."""


@dataclass(frozen=True)
class Integers:
    """The integers lo, lo + 1, ..., hi.

    Args:
        lo, hi: the ends, integers with lo <= hi.

    Raises:
        ArgumentError: unless lo <= hi are integers.

    Example:
        >>> D = Integers(-2, 5)
        >>> D.size, D.value(0), D.first_at_least(Fraction(1, 2)), D.first_above(Fraction(1))
        (8, Fraction(-2, 1), 3, 4)
    """

    lo: int
    hi: int

    def __post_init__(self) -> None:
        if not all(isinstance(end, int) and not isinstance(end, bool) for end in (self.lo, self.hi)):
            raise ArgumentError("lo, hi", "integers", f"{type(self.lo).__name__}, {type(self.hi).__name__}")
        check_integer("hi", self.hi, self.lo)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.hi - self.lo + 1

    def value(self, index: int) -> Fraction:
        """Return the element of a rank.

        Raises:
            ArgumentError: unless ``index`` is an integer with 0 <= index <= size - 1.
        """
        return Fraction(self.lo + check_integer("index", index, 0, self.size - 1))

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements below x."""
        return _clamp(ceil(x) - self.lo, self.size)

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements <= x."""
        return _clamp(floor(x) + 1 - self.lo, self.size)


@dataclass(frozen=True)
class Dyadic:
    """The multiples of 2^-bits in [-radius, radius].

    Raises:
        ArgumentError: unless ``radius`` is an integer >= 1 and ``bits`` is an integer with 0 <= bits <= 10^6.

    Example:
        >>> D = Dyadic(radius=1, bits=2)
        >>> [str(D.value(i)) for i in range(D.size)]
        ['-1', '-3/4', '-1/2', '-1/4', '0', '1/4', '1/2', '3/4', '1']
    """

    radius: int
    bits: int

    def __post_init__(self) -> None:
        check_integer("radius", self.radius, 1)
        check_integer("bits", self.bits, 0, 10**6)

    @property
    def size(self) -> int:
        """The number of elements, 2 radius 2^bits + 1."""
        return (self.radius << self.bits + 1) + 1

    def value(self, index: int) -> Fraction:
        """Return the element of a rank.

        Raises:
            ArgumentError: unless ``index`` is an integer with 0 <= index <= size - 1.
        """
        check_integer("index", index, 0, self.size - 1)
        return Fraction(index - (self.radius << self.bits), 1 << self.bits)

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements below x."""
        return _clamp(ceil(x * (1 << self.bits)) + (self.radius << self.bits), self.size)

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements <= x."""
        return _clamp(floor(x * (1 << self.bits)) + 1 + (self.radius << self.bits), self.size)


@dataclass(frozen=True)
class Beyond:
    """A domain with one more value after the last: a threshold there is passed by no value of the domain.

    Args:
        inner: the domain; the added value is its largest one plus 1.

    Example:
        >>> D = Beyond(Integers(0, 9))
        >>> D.size, D.value(10), D.first_above(Fraction(9)), D.first_at_least(Fraction(11))
        (11, Fraction(10, 1), 10, 11)
    """

    inner: OrderedDomain

    @property
    def size(self) -> int:
        """The number of elements, one more than the domain has."""
        return self.inner.size + 1

    @property
    def last(self) -> Fraction:
        """The added value."""
        return self.inner.value(self.inner.size - 1) + 1

    def value(self, index: int) -> Fraction:
        """Return the element of a rank.

        Raises:
            ArgumentError: unless ``index`` is an integer with 0 <= index <= inner.size.
        """
        check_integer("index", index, 0, self.inner.size)
        return self.last if index == self.inner.size else self.inner.value(index)

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements below x."""
        return self.inner.first_at_least(x) + (x > self.last)

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements <= x."""
        return self.inner.first_above(x) + (x >= self.last)


class Explicit:
    """A listed domain: a public grid of the user's own.

    Args:
        values: rationals, in any order; repeated ones count once.

    Raises:
        ArgumentError: when ``values`` is empty.

    Example:
        >>> D = Explicit([3, 1, Fraction(1, 2), 1])
        >>> D.size, D.value(0), D.first_above(Fraction(1))
        (3, Fraction(1, 2), 2)
    """

    def __init__(self, values: Iterable[Fraction | int]) -> None:
        self.values = tuple(sorted({Fraction(v) for v in values}))
        if not self.values:
            raise ArgumentError("values", "at least one rational", "none")

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.values)

    def value(self, index: int) -> Fraction:
        """Return the element of a rank.

        Raises:
            ArgumentError: unless ``index`` is an integer with 0 <= index <= size - 1.
        """
        return self.values[check_integer("index", index, 0, self.size - 1)]

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements below x."""
        return bisect_left(self.values, x)

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements <= x."""
        return bisect_right(self.values, x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explicit) and self.values == other.values

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        return f"Explicit({self.size} values)"


@dataclass(frozen=True)
class FractionPairs:
    """All quotients s/t with |s| <= numerators and 1 <= t <= denominators, once for every pair (s, t).

    The distinct quotients in an interval cannot be counted quickly, the pairs can: for each t the numerators
    with s/t < x are those below ceil(x t), and such sums of rounded multiples are evaluated by Euclid's
    algorithm (:func:`floor_sum`) in as many steps as the numbers have digits. Ranks follow the value; pairs
    of equal value are neighbours.

    Raises:
        ArgumentError: unless ``numerators`` is an integer >= 1 and ``denominators`` is an integer >= 1.

    Source: the coordinate domains of "Private Component-by-Component Learning", appendix on halfspaces, with
    pairs in place of distinct quotients; the bounds on size there count pairs as well.

    Example:
        >>> D = FractionPairs(2, 2)
        >>> [str(D.value(i)) for i in range(D.size)]
        ['-2', '-1', '-1', '-1/2', '0', '0', '1/2', '1', '1', '2']
    """

    numerators: int
    denominators: int

    def __post_init__(self) -> None:
        check_integer("numerators", self.numerators, 1)
        check_integer("denominators", self.denominators, 1)

    @property
    def size(self) -> int:
        """The number of pairs, (2 numerators + 1) denominators."""
        return (2 * self.numerators + 1) * self.denominators

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of pairs with s/t < x."""
        return self._below(Fraction(x), inclusive=False)

    def first_above(self, x: Fraction) -> int:
        """Return the number of pairs with s/t <= x."""
        return self._below(Fraction(x), inclusive=True)

    def _below(self, x: Fraction, *, inclusive: bool) -> int:
        if x < 0:  # s/t < x  iff  -s/t > -x: the others of the mirror image
            return self.size - self._below(-x, inclusive=not inclusive)
        S, T = self.numerators, self.denominators
        p, q = x.numerator, x.denominator
        # numerators allowed at t: s <= floor(p t / q), or s <= ceil(p t / q) - 1 = floor((p t - 1) / q)
        shift = 0 if inclusive else -1
        free = T if p == 0 else min(T, (S * q - shift) // p)  # up to here the bound S does not bind
        inside = floor_sum(free, q, p, p + shift) + free * (S + 1)
        return inside + (T - free) * (2 * S + 1)

    def value(self, index: int) -> Fraction:
        """Return the value of the pair of a rank: the one quotient x with as many pairs below it.

        Bisection with dyadic cuts until a single quotient of denominator <= T can lie between them.

        Raises:
            ArgumentError: unless ``index`` is an integer with 0 <= index <= size - 1.
        """
        check_integer("index", index, 0, self.size - 1)
        low, high, shift = -self.numerators - 1, self.numerators, 0  # low/2^shift < x <= high/2^shift
        while high - low > 1 or self.denominators**2 >> shift:
            low, high, shift = 2 * low, 2 * high, shift + 1
            while high - low > 1:
                middle = (low + high) // 2
                if self.first_above(Fraction(middle, 1 << shift)) > index:
                    high = middle
                else:
                    low = middle
        return _simplest_above(Fraction(low, 1 << shift), Fraction(high, 1 << shift))


@dataclass(frozen=True)
class Divided:
    """The elements of a domain, each divided by a positive integer: what a prefix makes of the next domain.

    Args:
        inner: the domain whose elements are divided.
        divisor: >= 1.

    Raises:
        ArgumentError: unless ``divisor`` is an integer >= 1.

    Example:
        >>> D = Divided(Integers(-1, 1)).after([Fraction(1, 2), Fraction(5, 3)])
        >>> [str(D.value(i)) for i in range(D.size)], D.first_above(Fraction(0))
        (['-1/6', '0', '1/6'], 2)
    """

    inner: OrderedDomain
    divisor: int = 1

    def __post_init__(self) -> None:
        check_integer("divisor", self.divisor, 1)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.inner.size

    def after(self, chosen: Iterable[Fraction]) -> Divided:
        """Return the domain for a coordinate that follows these: divided by their common denominator."""
        return Divided(self.inner, lcm(*(value.denominator for value in chosen)))

    def value(self, index: int) -> Fraction:
        """Return the element of a rank."""
        return self.inner.value(index) / self.divisor

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements below x."""
        return self.inner.first_at_least(x * self.divisor)

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements <= x."""
        return self.inner.first_above(x * self.divisor)


def floor_sum(n: int, m: int, a: int, b: int) -> int:
    """Return the sum of floor((a i + b) / m) over 0 <= i < n.

    Euclid's algorithm on lattice points below a line: whole multiples are summed in closed form, then the
    axes are exchanged.

    Args:
        n: number of terms, >= 0.
        m: the divisor, >= 1.
        a, b: any integers.

    Example:
        >>> floor_sum(10, 7, -3, 5) == sum((-3 * i + 5) // 7 for i in range(10))
        True
    """
    total = 0
    while n > 0:
        total += a // m * (n * (n - 1) // 2) + b // m * n
        a, b = a % m, b % m
        top = a * n + b
        if top < m:
            break
        # exchange the axes: count the lattice points column by column from the right
        n, b, m, a = top // m, top % m, a, m
    return total


def _simplest_above(low: Fraction, high: Fraction) -> Fraction:
    """Return the rational of least denominator in (low, high]."""
    whole = floor(low)
    if whole + 1 <= high:
        return Fraction(whole + 1) if high < 0 or whole >= 0 else Fraction(min(0, floor(high)))
    if low == whole:  # (0, r]: the least denominator is ceil(1/r)
        return whole + Fraction(1, ceil(1 / (high - whole)))
    flipped = _simplest_at_least(1 / (high - whole), 1 / (low - whole))
    return whole + 1 / flipped


def _simplest_at_least(low: Fraction, high: Fraction) -> Fraction:
    """Return the rational of least denominator in [low, high), low > 0."""
    first = ceil(low)
    if first < high:
        return Fraction(first)
    whole = floor(low)
    return whole + 1 / _simplest_above(1 / (high - whole), 1 / (low - whole))


def _clamp(index: int, size: int) -> int:
    return min(max(index, 0), size)
