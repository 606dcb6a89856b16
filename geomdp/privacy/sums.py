"""Sums of discrete Laplace variables: certified tails and quantiles, and their Chernoff bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_fraction, check_integer, describe
from geomdp.privacy.laplace import UNIT, check_positive, mgf_terms, ratio

_DROPPED = 1e-40  # weights below this part of the largest one are dropped, their sum bounded
_ABSOLUTE = 1e-30  # bound on all that was dropped
_MAX_SUPPORT = 2**26


class DlapSum:
    """The law of S = sum of `count` discrete Laplace variables of one scale, plus others; see dlap_sum_sf.

    Attributes:
        margin: the relative error bound that :meth:`sf` adds.
    """

    def __init__(self, count: int, scale: Fraction, extra_scales: Sequence[Fraction]) -> None:
        self.count, self.scale, self.extra_scales = count, scale, tuple(extra_scales)
        side = _negative_binomial(count, scale) if count else np.ones(1)
        for extra in self.extra_scales:
            side = _add_geometric(side, extra)
        self._pmf = side
        self._sf = np.append(np.cumsum(side[::-1])[::-1], 0.0)
        least = min((scale, *self.extra_scales)) if count or self.extra_scales else Fraction(1)
        steps = len(side) * (2 + len(self.extra_scales))
        self.margin = 64 * steps * (1 + 1 / float(least)) * UNIT

    def sf(self, q: int) -> float:
        """Return an upper bound on P(S >= q), certified; above it by at most `margin` relatively + 1e-29."""
        if q <= 0:
            return min(1.0, 1.0 - self._tail(1 - q) * (1 - 2 * self.margin) + 2 * _ABSOLUTE + 4 * UNIT)
        return min(1.0, self._tail(q) * (1 + self.margin) + _ABSOLUTE)

    def _tail(self, q: int) -> float:
        size = len(self._pmf)
        return 0.0 if q >= size else float(np.dot(self._pmf[: size - q], self._sf[q:size]))

    def quantile_upper(self, p: Fraction | float) -> int:
        """Return the least integer q with sf(q) <= p, so that P(S >= q) <= p.

        Raises:
            ArgumentError: unless 10^-20 <= p < 1.
        """
        target = float(p) * (1 - 4 * UNIT)
        if not 1e-20 <= float(p) < 1:
            raise ArgumentError("p", "a number with 1e-20 <= p < 1", describe(p))
        low, high = -len(self._pmf), len(self._pmf)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.sf(middle) <= target else (middle, high)
        return high

    def __repr__(self) -> str:
        return f"DlapSum(count={self.count}, scale={self.scale}, extra_scales={self.extra_scales})"


def dlap_sum_sf(count: int, scale: Fraction | int, extra_scales: Sequence[Fraction | int] = ()) -> DlapSum:
    """Return the law of the sum S of `count` iid discrete Laplace variables and one of each extra scale.

    A discrete Laplace variable is the difference of two iid geometric ones, so S = X - Y with X, Y iid: a
    negative binomial variable plus one geometric variable per extra scale. Its pmf h is built from positive
    terms only, and P(S >= q) = sum_j h(j) P(Y >= j + q).

    Certificate. The negative binomial weights grow outward from the mode by their exact ratio
    r (j + count)/(j + 1) and are divided by the sum of the weights kept. Hence every value is too large by a
    factor, never too small, except for rounding. Each step outward costs at most (5 + 1/scale) units of
    2^-53 (1/scale from the rounding of 1/scale inside r), each filter step of an extra at most 3 + 1/scale,
    each addition 1; with N stored values all of it stays below 64 N (2 + extras) (1 + 1/scale) 2^-53
    relatively, which :meth:`DlapSum.sf` adds. Weights below 10^-40 of the mode are dropped, at geometric
    decay; what they add to any tail, over the at most 2^26 values, is below the 10^-30 that is added too.

    Args:
        count: number of variables of the first scale, >= 0.
        scale: their scale.
        extra_scales: scales of further independent variables.

    Returns:
        An object with .sf(q) and .quantile_upper(p).

    Raises:
        CapacityError: when more than 2^26 values would be stored; the sum then needs chernoff_upper.
        ArgumentError: unless ``count`` is an integer >= 0.

    Example:
        >>> S = dlap_sum_sf(2, Fraction(3))
        >>> from geomdp.privacy.law import dlap_pmf, dlap_sf
        >>> direct = sum(dlap_pmf(a, 3) * dlap_sf(10 - a, 3) for a in range(-300, 300))
        >>> 0 <= S.sf(10) - direct < 1e-12
        True
    """
    check_integer("count", count, 0)
    extras = tuple(check_positive(extra) for extra in extra_scales)
    return _dlap_sum(int(count), check_positive(scale), extras)


@lru_cache(maxsize=16)
def _dlap_sum(count: int, scale: Fraction, extras: tuple[Fraction, ...]) -> DlapSum:
    return DlapSum(count, scale, extras)


def _check_support(size: float) -> None:
    if size > _MAX_SUPPORT:
        raise CapacityError(
            "scale",
            f"such that at most {_MAX_SUPPORT} values are stored",
            f"one that needs about {size:.3g}",
            "Use chernoff_upper, which stores none.",
        )


def _negative_binomial(count: int, scale: Fraction) -> NDArray[np.float64]:
    """Return upper bounds, up to rounding, of the pmf of the sum of `count` geometric variables from 0 on."""
    r = ratio(scale)
    mode = math.floor((count - 1) * r / -math.expm1(-1 / float(scale)))
    spread = 14 * math.sqrt(count * r) / -math.expm1(-1 / float(scale)) + 100 * float(scale) + 100
    _check_support(mode + 2 * spread)
    ahead = mode + np.arange(int(2 * spread), dtype=np.float64)
    up = np.cumprod(r * (ahead + count) / (ahead + 1))
    behind = np.arange(mode, 0, -1, dtype=np.float64)
    down = np.cumprod(behind / (r * (behind + count - 1)))
    weights = np.concatenate([down[::-1], [1.0], up])
    kept = int(np.flatnonzero(weights > _DROPPED)[-1]) + 1
    if kept == len(weights):
        raise RuntimeError("The window of the negative binomial law is too short.")
    weights = weights[:kept]
    return np.asarray(weights / weights.sum())


def _add_geometric(pmf: NDArray[np.float64], scale: Fraction) -> NDArray[np.float64]:
    """Return the pmf of the sum with one geometric variable of ratio r = exp(-1/scale).

    The geometric series 1 + r x + r^2 x^2 + ... is the product of all (1 + r^(2^k) x^(2^k)): one shifted
    addition of positive terms per k.
    """
    tail = math.ceil(-math.log(_DROPPED) * float(scale)) + 1
    _check_support(len(pmf) + tail)
    result = np.concatenate([pmf * -math.expm1(-1 / float(scale)), np.zeros(tail)])
    shift = 1
    while shift < len(result):
        result[shift:] += math.exp(-shift / float(scale)) * result[:-shift].copy()
        shift *= 2
    return result


def chernoff_upper(
    count: int,
    scale: Fraction | int,
    union: int,
    beta: Fraction | float,
    extra: Sequence[Fraction | int] = (),
) -> int:
    """Return the least integer q >= min over lam of (log(union/beta) + log E exp(lam S)) / lam.

    S is the sum of `count` discrete Laplace variables of one scale and one of each extra scale. Markov's
    inequality for exp(lam S) gives union * P(S >= q) <= beta at every lam in (0, 1/largest scale); the
    objective has one valley, and whatever lam the search ends at is a proof. The rounding bound of
    :func:`dlap_mgf_log`, times ten, is added.

    Args:
        count: number of variables of the first scale, >= 0.
        scale: their scale.
        union: number of events that must all be avoided, >= 1; may be astronomically large.
        beta: allowed probability of the union, 0 < beta < 1.
        extra: scales of further independent variables.

    Raises:
        ArgumentError: unless ``count`` is an integer >= 0, ``union`` is an integer >= 1 and ``beta`` is a
            number with 0 < beta < 1.

    Example:
        >>> q = chernoff_upper(10, 2, 1000, Fraction(1, 10))
        >>> 1000 * dlap_sum_sf(10, 2).sf(q) <= 0.1
        True
    """
    check_integer("count", count, 0)
    check_integer("union", union, 1)
    loss = check_fraction("beta", beta)
    if not 0 < loss < 1:
        raise ArgumentError("beta", "a number with 0 < beta < 1", describe(loss))
    rates = [(int(count), 1 / check_positive(scale))] if count else []
    rates += [(1, 1 / check_positive(b)) for b in extra]
    if not rates:
        return 1
    start = math.log(union) + math.log(loss.denominator) - math.log(loss.numerator)
    top = float(min(rate for _, rate in rates))

    def bound(theta: float) -> float:
        lam = theta * top
        total, slack = start, 4e-16 * abs(math.log(union)) + 1e-14
        for times, rate in rates:
            terms = mgf_terms(Fraction(lam), rate)
            total += times * sum(terms)
            slack += times * 1e-14 * (4 + sum(map(abs, terms)))
        return (total + slack) / lam * (1 + 1e-14)

    return max(1, math.ceil(_valley(bound, 1e-9, 1 - 1e-9)))


def _valley(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value met by a golden-section search of a function with one valley."""
    golden = (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = function(a), function(b)
    best = min(at_a, at_b)
    for _ in range(60):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = function(b)
        best = min(best, at_a, at_b)
    return best
