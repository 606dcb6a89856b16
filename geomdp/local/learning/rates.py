"""Closed forms for how many private users the mixture learners need; normal approximations say so."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from geomdp.core.errors import ArgumentError, CapacityError, check_beta, check_integer, describe
from geomdp.local.finite import odds
from geomdp.local.learning.inputs import check_positive
from geomdp.local.learning.vectors import DuchiBall

Number = Fraction | int | float | str
_MOST = 10**9  # users of one vote; beyond, floats no longer tell neighbouring numbers apart


def sphere_signal(d: int, length: float) -> float:
    """Return s = E[y <mu, x>/(|mu| |x|)] of the Gaussian mixture: what normalising leaves of the mean.

    1/|x| is an integral of Gaussians in x, which gives
    s = |mu| sqrt(2/pi) * integral over 0..1 of (1 - b^2)^((d-1)/2) exp(-b^2 |mu|^2/2) db,
    about |mu|/sqrt(d + |mu|^2).

    Raises:
        ArgumentError: unless ``d`` is an integer >= 1.

    Example:
        >>> abs(sphere_signal(20, 1.0) * 21**0.5 - 1) < 0.03
        True
    """
    check_integer("d", d, 1)
    mu = check_positive("length", length)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    b = (nodes + 1) / 2
    values = (1 - b**2) ** ((d - 1) / 2) * np.exp(-((b * mu) ** 2) / 2)
    return mu * math.sqrt(2 / math.pi) * float(weights @ values) / 2


def right_side_probability(n: int, d: int, epsilon: Number, length: float = 1.0) -> float:
    """Return P[the private mean lies on mu's side], by the central limit theorem.

    One coordinate of a message has mean s and variance B^2/d - s^2 at most, so P = Phi(sqrt(n) s/sd). The
    self-trained halfspace is good if and only if this holds and the public points suffice.

    Raises:
        ArgumentError: unless ``n`` is an integer >= 1.

    Example:
        >>> round(right_side_probability(12 * 21, 20, 1), 2)
        0.9
    """
    check_integer("n", n, 1)
    s, variance = sphere_signal(d, length), DuchiBall(d, epsilon).scale ** 2 / d
    return NormalDist().cdf(math.sqrt(n) * s / math.sqrt(variance - s**2))


def users_for_side(d: int, epsilon: Number, length: float = 1.0, beta: Number = Fraction(1, 10)) -> int:
    """Return the least n with right_side_probability >= 1 - beta: linear in d.

    Raises:
        ArgumentError: unless ``beta`` is a number with 10^-300 <= beta <= 1 - 10^-12.

    Example:
        >>> [users_for_side(d, 1) / (d + 1) for d in (5, 40)] < [13, 13]
        True
    """
    failure = float(check_beta(beta))
    s, variance = sphere_signal(d, length), DuchiBall(d, epsilon).scale ** 2 / d
    z = max(NormalDist().inv_cdf(1 - failure), 0.0)
    return max(1, math.ceil(z**2 * (variance - s**2) / s**2))


def _tangent(length: float, excess: float) -> float:
    """Return the tangent of the angle with Phi(-|mu| cos) = Phi(-|mu|) + excess, the largest error allowed.

    Raises:
        ArgumentError: when excess leaves (0, 1/2 - Bayes error).
    """
    mu = check_positive("length", length)
    target = NormalDist().cdf(-mu) + check_positive("excess", excess)
    if target >= 0.5:
        raise ArgumentError("excess", "below 1/2 minus the Bayes error", excess)
    return math.tan(math.acos(-NormalDist().inv_cdf(target) / mu))


def mean_success_probability(
    n: int, d: int, epsilon: Number, length: float = 1.0, excess: float = 0.05
) -> float:
    """Return P[the private mean alone has an error of at most Bayes + excess], by the central limit theorem.

    Along mu the mean is normal with mean s and variance (B^2/d - s^2)/n; across it, (n d/B^2) times the
    squared length is chi-squared with d - 1 degrees of freedom. The error is small if the angle is.

    Raises:
        ArgumentError: unless ``n`` is an integer >= 1 and ``d`` is an integer >= 2.

    Example:
        >>> mean_success_probability(504, 20, 1) < 0.01 < 0.9 < right_side_probability(504, 20, 1)
        True
    """
    from scipy.special import gammainc

    check_integer("n", n, 1)
    check_integer("d", d, 2)
    s, across = sphere_signal(d, length), DuchiBall(d, epsilon).scale ** 2 / d
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    along = np.maximum(s + math.sqrt((across - s**2) / n) * nodes, 0.0)
    square = n * (along * _tangent(length, excess)) ** 2 / across
    return float(weights @ gammainc((d - 1) / 2, square / 2) / weights.sum())


def users_for_mean(
    d: int, epsilon: Number, length: float = 1.0, excess: float = 0.05, beta: Number = Fraction(1, 10)
) -> int:
    """Return the least n with mean_success_probability >= 1 - beta: quadratic in d.

    The typical case is n = (d - 1) (B^2/d)/(s tan)^2, for which the noise across mu has the critical angle.

    Raises:
        ArgumentError: unless ``beta`` is a number with 10^-300 <= beta <= 1 - 10^-12.

    Example:
        >>> users_for_mean(40, 1) / users_for_mean(20, 1) > 3.4
        True
    """
    goal, high = 1 - float(check_beta(beta)), 2
    while mean_success_probability(high, d, epsilon, length, excess) < goal:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if mean_success_probability(middle, d, epsilon, length, excess) >= goal:
            high = middle
        else:
            low = middle
    return high


def one_bit_probability(n: int, epsilon: Number, length: float = 1.0) -> float:
    """Return P[n randomised votes choose the side of mu], given the exact line of mu: a binomial tail.

    A vote agrees with probability 1/2 + (2 Phi(|mu|) - 1) tanh(epsilon/2)/2; d does not enter. A tie goes to
    a fixed side, right in half the cases, so that an even number of votes is worth one vote less. For n = 2h
    + 1 votes the tail is the incomplete beta function I_p(h + 1, h + 1).

    Raises:
        ArgumentError: unless ``n`` is an integer >= 1.

    Example:
        >>> one_bit_probability(30, 1) > 0.9
        True
    """
    h = (check_integer("n", n, 1) - 1) // 2
    return _tail(h, *_chances(epsilon, length))


def _chances(epsilon: Number, length: float) -> tuple[float, float]:
    """Return the probability that one vote agrees with the side, and its excess over 1/2."""
    gain = odds(epsilon) - 1
    excess = (2 * NormalDist().cdf(check_positive("length", length)) - 1) * float(gain / (gain + 2)) / 2
    return 0.5 + excess, excess


def _tail(h: int, p: float, excess: float) -> float:
    """Return P(Bin(2h + 1, p) > h)."""
    from scipy.special import betainc

    return float(betainc(h + 1, h + 1, p)) if excess > 0 else 0.5


def users_for_one_bit(epsilon: Number, length: float = 1.0, beta: Number = Fraction(1, 10)) -> int:
    """Return the least odd n for which the vote is right with probability 1 - beta.

    The probability grows with odd n, so that n is doubled and then bisected.

    Raises:
        ArgumentError: unless ``beta`` is a number with 10^-300 <= beta <= 1 - 10^-12.
        CapacityError: when 10^9 users do not suffice.

    Example:
        >>> users_for_one_bit(1), one_bit_probability(15, 1) < 0.9 <= one_bit_probability(17, 1)
        (17, True)
    """
    goal, chances = 1 - float(check_beta(beta)), _chances(epsilon, length)
    low, high = -1, 0
    while _tail(high, *chances) < goal:
        low, high = high, 2 * high + 1
        if high > _MOST // 2:
            raise CapacityError("epsilon", f"such that {_MOST} users suffice", describe(epsilon))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _tail(middle, *chances) < goal else (low, middle)
    return 2 * high + 1
