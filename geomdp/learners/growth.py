"""Numbers of labellings, and domains of coordinates that are fine enough: what sample sizes depend on.

All numbers are exact integers, reached in general position unless a bound is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, factorial

from geomdp.core.errors import check_integer
from geomdp.learners.domains import Dyadic

#: Largest determinants of r x r matrices with entries in [-1, 1], r = 0, ..., 6.
_DETERMINANTS = (1, 1, 2, 4, 16, 48, 160)


def choices(points: int, most: int) -> int:
    """Return the number of subsets of at most `most` of the points.

    Example:
        >>> choices(10, 2)
        56
    """
    return sum(comb(points, i) for i in range(min(points, most) + 1))


def halfspaces(d: int, points: int) -> int:
    """Return the number of labellings of points by halfspaces in d features: 2 sum_{i<=d} C(points - 1, i).

    Source: Cover 1965. Degenerate points have fewer.

    Example:
        >>> halfspaces(1, 5), halfspaces(2, 3)
        (10, 8)
    """
    return 2 * choices(points - 1, d) if points else 1


def completions(free: int, points: int) -> int:
    """Return the number of labellings by halfspaces whose offset and all but `free` coefficients are fixed.

    The cells of `points` hyperplanes in dimension `free`; a bound by Sauer's lemma for half-open constraints.

    Example:
        >>> completions(1, 5), completions(2, 5)
        (6, 16)
    """
    return choices(points, free)


def compositions(k: int, points: int, fixed: int = 0) -> int:
    """Return a bound on the labellings by a Boolean function of k thresholds, `fixed` of them given.

    From left to right the label changes at most k times and starts from a known one. With fixed thresholds
    the k - fixed free ones have (points + 1)^(k - fixed) places. The exclusive or of k thresholds reaches the
    first bound, so does an interval.

    Example:
        >>> compositions(2, 4), compositions(2, 4, fixed=1)
        (11, 5)
    """
    return min(choices(points, k), int((points + 1) ** (k - fixed)))


@dataclass(frozen=True)
class Profile:
    """What the sample size of a component-by-component learner depends on.

    Attributes:
        name: the class.
        sizes: for each component an upper bound on the size of its domain.
        growth: (i, M) -> a bound on the labellings of M points once i components are fixed.
        vc: the VC dimension of the class.
        members: an upper bound on the number of different hypotheses on the public domain.

    Example:
        >>> profile = Profile("rectangles", (6,) * 4, lambda i, m: (m + 1) ** (4 - i), 4, 6**4)
        >>> profile.growth(4, 100), profile.members
        (1, 1296)
    """

    name: str
    sizes: tuple[int, ...]
    growth: Callable[[int, int], int]
    vc: int
    members: int

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.sizes)


def halfspace_profile(d: int, radius: int, *, merged: bool = True) -> Profile:
    """Return the profile of halfspaces on the grid [-radius, radius]^d.

    Args:
        d: number of features.
        radius: the grid's radius.
        merged: whether the sign w and the first coefficient are chosen together, as one component.

    Raises:
        ArgumentError: unless ``d`` is an integer >= 1 and ``radius`` is an integer >= 1.

    Example:
        >>> p = halfspace_profile(2, 512)
        >>> p.k, [size.bit_length() for size in p.sizes], p.growth(1, 10)
        (2, [51, 77], 11)
    """
    check_integer("d", d, 1)
    check_integer("radius", radius, 1)
    sizes = [domain.size for domain in coordinate_domains(d, radius)]
    first = (2 * sizes[0],) if merged else (2, sizes[0])

    def growth(i: int, points: int) -> int:
        if i == 0:
            return halfspaces(d, points)
        return completions(d - i if merged else d + 1 - i, points)

    members = halfspaces(d, (2 * radius + 1) ** d)
    return Profile(f"halfspaces in {d} features", (*first, *sizes[1:]), growth, d + 1, members)


def composition_profile(k: int, size: int) -> Profile:
    """Return the profile of Boolean compositions of k thresholds on a domain of `size` values.

    Raises:
        ArgumentError: unless ``k`` is an integer >= 1 and ``size`` is an integer >= 1.

    Example:
        >>> composition_profile(2, 1023).sizes
        (1024, 1024)
    """
    check_integer("k", k, 1)
    check_integer("size", size, 1)
    name = {1: "thresholds", 2: "Boolean compositions of 2 thresholds (intervals)"}.get(
        k, f"Boolean compositions of {k} thresholds"
    )
    return Profile(
        name,
        (size + 1,) * k,
        lambda i, points: compositions(k, points, i),
        k,
        min((size + 1) ** k, choices(size, k)),
    )


def coordinate_domains(d: int, radius: int) -> tuple[Dyadic, ...]:
    """Return dyadic domains for a_1, ..., a_d that hold a consistent value in every realizable state.

    Halfspaces are <a, x> >= w with w = +-1 and integer x, |x_i| <= X. Consider the values of a_j for which
    some a_{j+1}, ..., a_d satisfies all constraints strictly, given a_1, ..., a_{j-1} (multiples of 2^-q).
    An open polyhedron projects to an open interval. A finite end of it is a_j at a minimal face, hence a
    quotient of r x r determinants with r <= d - j + 1, by Cramer's rule: the denominator is an integer of
    size at most H_r X^r, where H_r is the largest determinant with entries in [-1, 1]; the numerator has one
    column w - sum_{l<j} a_l x_l, of size at most B = 1 + X sum_{l<j} |a_l| and a multiple of 2^-q. So

    * ends have size at most B H_r X^(r-1); the domain's radius is larger by 1, for half-bounded intervals;
    * two different ends with denominators p, p' are at least 2^-q/(p p') apart; where p = p' it is 2^-q/p. In
      either case the distance exceeds 2^-q' with 2^q' >= 2^q (H_r X^r)^2 (one more digit where that is 2^q),
      so that a multiple of 2^-q' lies strictly between.

    Raises:
        ArgumentError: unless ``d`` is an integer >= 1 and ``radius`` is an integer >= 1.

    Example:
        >>> [(D.radius, D.bits) for D in coordinate_domains(2, 512)]
        [(1025, 38), (524802, 56)]
    """
    check_integer("d", d, 1)
    check_integer("radius", radius, 1)
    domains: list[Dyadic] = []
    reach, bits = 0, 0
    for j in range(d):
        r = d - j
        bound = 1 + radius * reach
        top = max(bound * _determinant(s) * radius ** (s - 1) for s in range(1, r + 1)) + 1
        largest = _determinant(r) * radius**r
        bits += max(1, (largest**2 - 1).bit_length())
        domains.append(Dyadic(top, bits))
        reach += top
    return tuple(domains)


def _determinant(r: int) -> int:
    return _DETERMINANTS[r] if r < len(_DETERMINANTS) else factorial(r)
