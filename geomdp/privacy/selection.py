"""The law of permute-and-flip: exact, in floats, and certified tail bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_fraction, check_integer, describe
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.laplace import UNIT, check_positive

#: Exact numbers of either kind.
Number = TypeVar("Number", Fraction, Interval)


def pf_law(accept: Sequence[Number], sizes: Sequence[int] | None = None) -> list[Number]:
    """Return the exact selection law of permute-and-flip: p_i = a_i int_0^1 prod_{j != i} (1 - u a_j) du.

    In the random order each candidate arrives at a uniform time u; candidate i wins if its coin shows heads
    and every candidate that came before showed tails. The integrand is a polynomial in u.

    Args:
        accept: the coins a_i in [0, 1], Fractions or Intervals; the largest must be 1.
        sizes: how many candidates have each coin; 1 by default.

    Returns:
        The probability that the winner is one of each group, of the type given.

    Example:
        >>> pf_law([Fraction(1), Fraction(1, 2)])
        [Fraction(3, 4), Fraction(1, 4)]
    """
    counts = [1] * len(accept) if sizes is None else list(sizes)
    law: list[Number] = []
    for i, a in enumerate(accept):
        others = [counts[j] - (j == i) for j in range(len(accept))]
        law.append(a * counts[i] * _integral(accept, others) if counts[i] else a * 0)
    return law


def _integral(accept: Sequence[Number], sizes: Sequence[int]) -> Number:
    """Return the integral over [0, 1] of prod_j (1 - u a_j)^sizes[j]."""
    one = accept[0] * 0 + 1
    poly = [one]
    for a, size in zip(accept, sizes, strict=True):
        for _ in range(size):
            poly = _times(poly, a)
    total = one * 0
    for k, c in enumerate(poly):
        total = total + c * Fraction(1, k + 1)
    return total


def _times(poly: list[Number], a: Number) -> list[Number]:
    """Return the coefficients of poly(u) (1 - u a); enclosures are kept short, outward."""
    result = list(poly)
    result.append(a * 0)
    for k, c in enumerate(poly):
        result[k + 1] = _short(result[k + 1] - c * a)
    return result


def _short(value: Number) -> Number:
    # coefficients grow at most like 2^N while the integral is at least 1/(N + 1): 512 bits serve hundreds
    return value.outward(512) if isinstance(value, Interval) else value


def pf_pmf(
    scores: Sequence[int], scale: Fraction | int, sizes: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Return the selection law of permute-and-flip in floats, larger scores better.

    The integral of :func:`pf_law` by Gauss-Legendre quadrature with enough nodes to be exact for the
    polynomial; all terms are positive.

    Args:
        scores: one integer per group.
        scale: a = exp((score - max)/scale).
        sizes: candidates per group, 1 by default; at most 2,000 altogether.

    Raises:
        CapacityError: unless there are between 1 and 2,000 candidates.

    Example:
        >>> law = pf_pmf([0, 3], 2)
        >>> bool(abs(law[0] - math.exp(-1.5) / 2) < 1e-12)
        True
    """
    counts = np.ones(len(scores)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    total = int(counts.sum())
    if not 1 <= total <= 2000:
        raise CapacityError("sizes", "between 1 and 2000 candidates", f"{total}")
    top = max(s for s, c in zip(scores, counts, strict=True) if c)
    accept = np.array(
        [math.exp((s - top) / float(check_positive(scale))) if s < top else 1.0 for s in scores]
    )
    nodes, weights = np.polynomial.legendre.leggauss(total // 2 + 1)
    tails = np.log1p(-np.outer((nodes + 1) / 2, accept))
    others = np.exp((tails * counts).sum(axis=1)[:, None] - tails)
    return np.asarray(counts * accept * ((weights / 2) @ others))


def pf_tail(count: int, gap: int, scale: Fraction | int) -> float:
    """Return a certified bound on P(the winner is one of `count` candidates that are `gap` or more below).

    Claim. Let every candidate of a set B score at least gap below the best one. Then
    P(winner in B) <= 1 - (1 - (1-a)^(count+1))/((count+1) a) <= count a/2, a = exp(-gap/scale), with equality
    in the first when there is one best candidate, all of B is at gap exactly, and no one else takes part.

    Proof. B wins iff the earliest candidate with heads is in B. Couple all arrival times and coins: raising a
    coin inside B can only make B win more often, removing a candidate outside B other than one best one too.
    What remains is the best candidate, at a uniform time u and heads for sure, against `count` coins a: it
    wins with probability int_0^1 (1 - u a)^count du. The second bound is Bernoulli's inequality.

    Rounding. Exponents carry an absolute error of 2^-52 of the sizes of log(count) and gap/scale; eight times
    that is added.

    Args:
        count: number of candidates in B, >= 0; may be astronomically large.
        gap: by how much they fall short, >= 0.
        scale: the noise scale.

    Raises:
        ArgumentError: unless ``count`` is an integer >= 0 and ``gap`` is an integer >= 0.

    Example:
        >>> bool(abs(pf_tail(1, 3, 2) - pf_pmf([0, -3], 2)[1]) < 1e-12)
        True
    """
    check_integer("count", count, 0)
    check_integer("gap", gap, 0)
    b = check_positive(scale)
    if count == 0:
        return 0.0
    if gap == 0:
        return min(1.0, 1.0 - math.exp(-math.log(count + 1)) + 1e-15)
    fall, size = float(gap / b), math.log(count + 1)
    slack = 32 * UNIT * (1 + fall + size)
    half = math.exp(min(math.log(count) - fall, 1.0)) / 2 * (1 + slack)
    if half < 1e-6:
        return half
    mass = math.exp(min(size - fall, 700.0))
    ratio = -math.log1p(-math.exp(-fall)) / math.exp(-fall) if fall < 700 else 1.0
    sharp = 1 + math.expm1(-mass * ratio) / mass
    return min(1.0, half, sharp + slack)


def pf_gap(count: int, scale: Fraction | int, beta: Fraction | float) -> int:
    """Return the least gap with pf_tail(count, gap, scale) <= beta.

    Except with probability beta, the winner among count + 1 candidates is less than this below the best one.

    Raises:
        ArgumentError: unless ``beta`` is a number with 0 < beta < 1.

    Example:
        >>> g = pf_gap(10**6, 2, 0.05)
        >>> pf_tail(10**6, g, 2) <= 0.05 < pf_tail(10**6, g - 1, 2)
        True
    """
    loss = check_fraction("beta", beta)
    if not 0 < loss < 1:
        raise ArgumentError("beta", "a number with 0 < beta < 1", describe(loss))
    target = float(loss) * (1 - 2 * UNIT)
    low, high = -1, 1
    while pf_tail(count, high, scale) > target:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pf_tail(count, middle, scale) <= target else (middle, high)
    return high
