"""General position by public noise, as the paper does it: each coordinate of each record moves a little.

    noise s / Delta', |s| <= Delta;   Delta = ceil(d n^(d+1) / (2 beta)),   Delta' = ceil(2 Delta X' sqrt d),
    X' = 2 d^2 (d!)^(d^3) X^(d^6).

Rescaled by Delta', records are integers again, of many digits: the coordinate domains then have hundreds of
bits in one feature and thousands in two. The half-open constraints that the classes here use make the
perturbation unnecessary; this is the faithful version, for comparison.

Proof note (privacy). Each record is mapped by independent noise that no other record influences. With the
same noise on corresponding records, neighbours stay neighbours; so a learner that is (epsilon, delta)-DP on
perturbed records is so on the records.

Source: "Private Component-by-Component Learning", Appendix C (Definition C.5 to Corollary C.11); X' is from
Kaplan, Mansour, Stemmer and Tsfadia, "Private Learning of Halfspaces".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError, check_beta, check_integer
from geomdp.learners.classes.base import check_rows
from geomdp.learners.domains import FractionPairs
from geomdp.privacy.sampler import Sampler

_CHECKED = 200_000  # subsets that a check of general position visits


@dataclass(frozen=True)
class Perturbation:
    """The public numbers of a perturbation of n records in [-radius, radius]^d.

    Args:
        d: number of features, 1 to 3.
        radius: X.
        n: number of records.
        beta: probability that the records are not in general position afterwards.

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
        check_beta(self.beta)

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

        Args:
            X: (n, d) integers.
            sampler: the source of the noise. It need not be secret, but must not depend on records.
        """
        width, scale = 2 * self.spread + 1, self.resolution
        rows = check_rows(X, self.d)
        moved = np.empty((len(rows), self.d), dtype=object)
        for i, row in enumerate(rows):
            for j, x in enumerate(row):
                moved[i, j] = x * scale + sampler.uniform(width) - self.spread
        return moved

    def domains(self) -> tuple[FractionPairs, ...]:
        """Return the paper's coordinate domains on the rescaled grid, of the sizes of Definition C.3.

        Coordinate i has numerators up to (d d!)^i R^(d i) and denominators up to d! R^d. After a coordinate
        with denominator t the paper divides the next domain's elements by t; its size stays.

        Example:
            >>> moved = Perturbation(2, 512, 10**9, Fraction(1, 20))
            >>> [domain.size.bit_length() for domain in moved.domains()][-1] > 4000
            True
        """
        d, R = self.d, self.scaled_radius
        top = math.factorial(d) * R**d
        return tuple(FractionPairs((d * math.factorial(d)) ** i * R ** (d * i), top) for i in range(1, d + 1))


def in_general_position(X: Any) -> bool:
    """Return whether no d + 1 of the points lie on one hyperplane.

    For at most d points: whether they are affinely independent. Exact, over all subsets.

    Raises:
        CapacityError: when there are more than 200,000 subsets.

    Example:
        >>> in_general_position(np.array([[0, 0], [1, 1], [2, 3]]))
        True
        >>> in_general_position(np.array([[0, 0], [1, 1], [2, 2]]))
        False
    """
    table = np.asarray(X, dtype=object)
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
