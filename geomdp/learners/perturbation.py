"""General position by public noise, as the paper does it: each coordinate of each record moves a little.

    noise s / Delta', |s| <= Delta;   Delta = ceil(d n^(d+1) / (2 beta)),   Delta' = ceil(2 Delta X' sqrt d),
    X' = 2 d^2 (d!)^(d^3) X^(d^6).

Rescaled by Delta', records are integers again, of many digits: the coordinate domains then have hundreds of
bits in one feature and thousands in two. The half-open constraints that the classes here use make the
perturbation unnecessary; this is the faithful version, for comparison
(``PrivateHalfspaceLearner(position="perturbed")``).

Proof note (privacy). Precondition: a learner that is (epsilon, delta)-DP for the replacement of a record, and
noise that is independent from record to record and of a law that depends on n and public numbers only. Given
all noise, perturbed records of neighbours are neighbours: the same noise is added to corresponding records,
and the replaced one is perturbed by itself. So the learner's laws on them are within (epsilon, delta), for
every value of the noise; both runs average over the same noise. Conclusion: (epsilon, delta)-DP, whether the
noise is secret or public. It costs no budget.

Labels. Two sides of a halfspace of the grid can be separated with a margin of 1/X', and each coordinate moves
by at most Delta / Delta' <= 1 / (2 X' sqrt d), a record thus by at most half the margin. So perturbed records
are as realizable as they were, with certainty; general position holds with probability 1 - beta only, and the
learners here need none.

Source: "Private Component-by-Component Learning", Appendix C (Definition C.5 to Corollary C.11); X' is from
Kaplan, Mansour, Stemmer and Tsfadia, "Private Learning of Halfspaces".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError, CapacityError, check_beta, check_integer
from geomdp.learners.classes.base import check_rows
from geomdp.learners.domains import Divided, FractionPairs
from geomdp.learners.growth import Profile, halfspace_profile
from geomdp.learners.records import halfspace_of
from geomdp.privacy.sampler import Sampler

_CHECKED = 200_000  # subsets that a check of general position visits


@dataclass(frozen=True)
class Perturbation:
    """The public numbers of a perturbation of n records in [-radius, radius]^d.

    Args:
        d: number of features, 1 to 3.
        radius: X.
        n: number of records.
        beta: probability that the records are not in general position afterwards; kept as a Fraction.

    Raises:
        ArgumentError: unless ``d`` is an integer with 1 <= d <= 3, ``radius`` is an integer >= 1, ``n`` is an
            integer >= 1 and ``beta`` is a number with 1e-300 <= beta <= 1 - 1e-12.

    Example:
        >>> moved = Perturbation(1, 512, 1000, Fraction(1, 20))
        >>> moved.spread, moved.margin, moved.resolution == 2 * moved.spread * moved.margin
        (10000000, 1024, True)
    """

    d: int
    radius: int
    n: int
    beta: Fraction

    def __post_init__(self) -> None:
        check_integer("d", self.d, 1, 3)
        check_integer("radius", self.radius, 1)
        check_integer("n", self.n, 1)
        object.__setattr__(self, "beta", check_beta(self.beta))

    @property
    def spread(self) -> int:
        """Delta."""
        return math.ceil(Fraction(self.d * self.n ** (self.d + 1)) / (2 * self.beta))

    @property
    def margin(self) -> int:
        """X': a realizable sample has a margin of at least 1/X'."""
        d = self.d
        return int(2 * d**2 * math.factorial(d) ** (d**3) * self.radius ** (d**6))

    @property
    def resolution(self) -> int:
        """Delta', the denominator of the noise."""
        square = 4 * self.spread**2 * self.margin**2 * self.d
        root = math.isqrt(square)
        return root if root * root == square else root + 1

    @property
    def scaled_radius(self) -> int:
        """The radius of the rescaled grid, Delta' (X + Delta), as the paper bounds it."""
        return self.resolution * (self.radius + self.spread)

    def apply(self, X: Any, sampler: Sampler) -> NDArray[Any]:
        """Return the perturbed records, times Delta': an (n, d) array of Python integers.

        Coordinates beyond the radius are clipped to it first, each by itself: neighbours stay neighbours, and
        no message tells of a record. Labels are kept as stated for records within the radius.

        Args:
            X: (n, d) integers; n is the number that the noise was made for.
            sampler: the source of the noise. It need not be secret, but must not depend on records.

        Raises:
            ArgumentError: unless ``X`` is a table of n rows of d integers.
        """
        width, scale = 2 * self.spread + 1, self.resolution
        rows = check_rows(X, self.d)
        if len(rows) != self.n:
            raise ArgumentError("X", f"a table of {self.n} rows", f"of {len(rows)}")
        moved = np.empty((len(rows), self.d), dtype=object)
        for i, row in enumerate(rows):
            for j, x in enumerate(row):
                inside = max(-self.radius, min(self.radius, x))
                moved[i, j] = inside * scale + sampler.uniform(width) - self.spread
        return moved

    def domains(self) -> tuple[Divided, ...]:
        """Return coordinate domains on the rescaled grid: quotients s/t, divided by what was chosen before.

        Coordinate i takes s/(t q), |s| <= 2 S_i and 1 <= t <= 2 T, where S_i = (d d!)^i R^(d i) and
        T = d! R^d are the bounds of Definition C.3, and q is the common denominator of the coordinates
        before it.

        A value that fits is offered in every realizable state, d <= 3. The values of a_i that can be
        completed form an interval; a finite end of it is N/(q P), determinants of order r <= d - i + 1 by
        Cramer's rule, |P| <= r! R^r <= T. One column of N is q (w - sum a_l x_l), of size at most
        B_i = (2 T)^(i-1) + R sum_{l<i} (2 T)^(i-1-l) 2 S_l, so |N| <= r! R^(r-1) B_i: that is at most 2 R for
        d = 2, i = 1, then 12 R^3; for d = 3 at most 6 R^2, 96 R^5 and 1224 R^7; in each case at most S_i.
        Strictly between two ends lies (N + N')/(q (P + P')), which is why the bounds are doubled; beyond a
        single one a multiple of 1/q.

        Example:
            >>> moved = Perturbation(2, 512, 10**9, Fraction(1, 20))
            >>> [domain.size.bit_length() for domain in moved.domains()][-1] > 4000
            True
        """
        d, R = self.d, self.scaled_radius
        top = math.factorial(d) * R**d
        each = (2 * (d * math.factorial(d)) ** i * R ** (d * i) for i in range(1, d + 1))
        return tuple(Divided(FractionPairs(numerators, 2 * top)) for numerators in each)

    def profile(self, *, merged: bool = True) -> Profile:
        """Return what sample sizes depend on: the classes' growth, and the sizes of these domains.

        Example:
            >>> moved = Perturbation(1, 8, 100, Fraction(1, 20))
            >>> moved.profile().sizes == (2 * moved.domains()[0].size,)
            True
        """
        base = halfspace_profile(self.d, self.radius, merged=merged)
        sizes = [domain.size for domain in self.domains()]
        return replace(base, sizes=(2 * sizes[0], *sizes[1:]) if merged else (2, *sizes))

    def classifier(self, components: Sequence[Any]) -> Halfspace:
        """Return a halfspace of perturbed, rescaled records as one of the records as they were.

        Its error there is at most twice the error on perturbed records. For the noise s is as likely as -s,
        and a halfspace and its complement are convex: on whichever side x is, x + s or x - s is there, too.
        So x + s gets the label of x with probability at least 1/2, for every x.

        Args:
            components: w and a, or (w, a_1) and the other coefficients, on the rescaled grid.

        Returns:
            Homogeneous integer weights, the bias last.

        Example:
            >>> moved = Perturbation(1, 8, 100, Fraction(1, 20))
            >>> h = moved.classifier([(Fraction(1), Fraction(1, 3 * moved.resolution))])
            >>> h.weights  # x >= 3
            (1, -3)
        """
        *a, bias = halfspace_of(components).weights
        weights = [self.resolution * v for v in a]
        divisor = math.gcd(*weights, bias) or 1
        return Halfspace(tuple(v // divisor for v in (*weights, bias)))


def in_general_position(X: Any) -> bool:
    """Return whether no d + 1 of the points lie on one hyperplane.

    For at most d points: whether they are affinely independent. Exact, over all subsets.

    Args:
        X: (n, d) integers or Fractions, d >= 1.

    Raises:
        ArgumentError: when X is no such table.
        CapacityError: when there are more than 200,000 subsets.

    Example:
        >>> in_general_position(np.array([[0, 0], [1, 1], [2, 3]]))
        True
        >>> in_general_position(np.array([[0, 0], [1, 1], [2, 2]]))
        False
    """
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:
        raise ArgumentError("X", "an (n, d) table", "rows of different lengths") from None
    if table.ndim != 2 or not table.shape[1]:
        raise ArgumentError("X", "an (n, d) table, d >= 1", f"of shape {table.shape}")
    if not all(isinstance(value, Rational) for value in table.flat):
        raise ArgumentError("X", "a table of integers or Fractions", "one with other values")
    table = np.frompyfunc(Fraction, 1, 1)(table) if table.size else table
    n, d = table.shape
    size = min(n, d + 1)
    if math.comb(n, size) > _CHECKED:
        raise CapacityError("X", f"so few points that subsets number at most {_CHECKED:,}", f"{n} points")
    return all(
        _rank([[*table[i].tolist(), 1] for i in subset]) == size for subset in combinations(range(n), size)
    )


def _rank(rows: list[list[int]]) -> int:
    """Return the rank of an integer matrix by fraction-free elimination."""
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        lead = rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column]
            rows[i] = [lead[column] * v - factor * w for v, w in zip(rows[i], lead, strict=True)]
        rank += 1
    return rank
