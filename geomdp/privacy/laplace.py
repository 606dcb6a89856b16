"""The law of discrete Laplace noise: probabilities, tails, quantiles, moment generating function."""

from __future__ import annotations

import math
from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_fraction, describe

#: Bound on the relative error of one float operation.
UNIT = 2.0**-53


def check_positive(scale: Fraction | int) -> Fraction:
    """Return a noise scale > 0 as a Fraction.

    Raises:
        ArgumentError: unless ``scale`` is a number > 0.
    """
    value = check_fraction("scale", scale)
    if value <= 0:
        raise ArgumentError("scale", "a number > 0", describe(value))
    return value


def ratio(scale: Fraction | int) -> float:
    """Return r = exp(-1/scale)."""
    return math.exp(-1 / float(check_positive(scale)))


def dlap_pmf(z: int, scale: Fraction | int) -> float:
    """Return P(Z = z) = (1-r)/(1+r) r^|z| of discrete Laplace noise, r = exp(-1/scale).

    Example:
        >>> abs(sum(dlap_pmf(z, Fraction(2)) for z in range(-80, 81)) - 1) < 1e-12
        True
    """
    b = float(check_positive(scale))
    return math.tanh(0.5 / b) * math.exp(-abs(z) / b)


def dlap_sf(z: int, scale: Fraction | int) -> float:
    """Return P(Z >= z): r^z/(1+r) for z >= 1, and 1 - r^(1-z)/(1+r) otherwise.

    Example:
        >>> abs(dlap_sf(3, 2) - dlap_sf(4, 2) - dlap_pmf(3, 2)) < 1e-15
        True
    """
    b = float(check_positive(scale))
    tail = math.exp(-(z if z >= 1 else 1 - z) / b) / (1 + math.exp(-1 / b))
    return tail if z >= 1 else 1 - tail


def dlap_quantile(p: Fraction | float, scale: Fraction | int) -> int:
    """Return a certified q >= 1 with P(Z >= q) <= p: the least one, up to one part in 10^12 of p.

    Raises:
        ArgumentError: unless ``p`` is a number with 0 < p < 1.

    Example:
        >>> q = dlap_quantile(Fraction(1, 20), Fraction(2))
        >>> dlap_sf(q, Fraction(2)) <= 0.05 < dlap_sf(q - 1, Fraction(2))
        True
    """
    target = float(p) * (1 - 1e-12)
    if not 0 < target < 1:
        raise ArgumentError("p", "a number with 0 < p < 1", describe(p))
    below, q = 0, max(1, math.ceil(-float(check_positive(scale)) * math.log(target)) + 1)
    while q - below > 1:  # P(Z >= q) <= p holds throughout, and fails at `below` or that is 0
        middle = (below + q) // 2
        below, q = (below, middle) if dlap_sf(middle, scale) <= target else (middle, q)
    return q


def dlap_mgf_log(lam: Fraction | float, scale: Fraction | int) -> float:
    """Return log E exp(lam Z) = 2 log(1-r) - log(1 - r e^lam) - log(1 - r e^-lam), r = exp(-1/scale).

    The three logarithms are taken from exact rational exponents, so the absolute error is below
    10^-15 (4 + the sum of their sizes).

    Args:
        lam: |lam| < 1/scale; the expectation is infinite otherwise, and so is the value returned.
        scale: the noise scale.

    Example:
        >>> direct = math.log(sum(math.exp(0.2 * z) * dlap_pmf(z, 3) for z in range(-400, 400)))
        >>> abs(dlap_mgf_log(0.2, 3) - direct) < 1e-12
        True
    """
    return sum(mgf_terms(Fraction(lam), 1 / check_positive(scale)))


def mgf_terms(lam: Fraction, rate: Fraction) -> tuple[float, float, float]:
    """Return the three logarithms whose sum is log E exp(lam Z), rate = 1/scale."""
    if abs(lam) >= rate:
        return 0.0, 0.0, math.inf
    one, plus, minus = (math.log(-math.expm1(-float(x))) for x in (rate, rate - lam, rate + lam))
    return 2 * one, -plus, -minus
