"""Exact binomial confidence limits: tails bounded with their rounding errors, limits that they prove."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from geomdp.core.errors import check_integer

#: Limits are multiples of 2^-40, rounded outward.
_STEPS = 2**40
#: Terms of a tail that are summed; the rest is bounded by a geometric series.
_TERMS = 100_000


def clopper_pearson(k: int, n: int, loss: Fraction) -> tuple[float, float]:
    """Return limits for p from k successes in n trials; each end is wrong with probability <= loss / 2.

    Raises:
        ArgumentError: unless 1 <= n and 0 <= k <= n are integers.

    Example:
        >>> low, high = clopper_pearson(9, 10, Fraction(1, 20))
        >>> round(low, 4), round(high, 4)
        (0.555, 0.9975)
    """
    check_integer("k", k, 0, check_integer("n", n, 1))
    return 1 - binomial_upper(n - k, n, loss / 2), binomial_upper(k, n, loss / 2)


def binomial_upper(k: int, n: int, level: Fraction) -> float:
    """Return a p = j/2^40 with P(Bin(n, p) <= k) <= level, the least that bisection proves; 1 for k = n.

    Clopper and Pearson's upper limit. The chance decreases in p, so it is at most `level` for all larger p.

    Args:
        k: successes, 0 <= k <= n.
        n: trials, >= 1.
        level: a probability > 0.

    Example:
        >>> p = binomial_upper(3, 20, Fraction(1, 20))
        >>> sum(math.comb(20, i) * p**i * (1 - p) ** (20 - i) for i in range(4)) <= 0.05
        True
    """
    if k >= n:
        return 1.0
    target = math.log(level.numerator) - math.log(level.denominator) - 1e-12
    low, high = k * _STEPS // n, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        if log_binomial_tail(k, n, middle / _STEPS) <= target:
            high = middle
        else:
            low = middle
    return high / _STEPS


def log_binomial_tail(k: int, n: int, p: float) -> float:
    """Return an upper bound on ln P(Bin(n, p) <= k), 0 <= k < n, 0 < p < 1; 0 where k >= n p.

    The term at k times 1 + r_k + r_k r_{k-1} + ..., r_i = i (1 - p) / ((n - i + 1) p), the first terms summed
    and the rest bounded by a geometric series, as the ratios decrease. Rounding: every logarithm and lgamma
    is taken to be off by at most 10^-14 of its size, the sum by 10^-9; both are added.

    Example:
        >>> from fractions import Fraction as F
        >>> exact = sum(F(math.comb(30, i)) / 4**i * F(3, 4) ** (30 - i) for i in range(3))
        >>> 0 <= log_binomial_tail(2, 30, 0.25) - math.log(exact) <= 1e-8
        True
    """
    if k >= n * p:
        return 0.0
    parts = (math.lgamma(n + 1), -math.lgamma(k + 1), -math.lgamma(n - k + 1))
    logs = (*parts, k * math.log(p), (n - k) * math.log1p(-p))
    i = np.arange(k, max(0, k - _TERMS), -1, dtype=np.float64)
    ratios = i * (1 - p) / ((n - i + 1) * p)
    products = np.cumprod(ratios)
    series = 1.0 + float(products.sum())
    if k > _TERMS:
        series += float(products[-1]) * float(ratios[-1]) / (1 - float(ratios[-1]))
    slack = 1e-9 + 1e-14 * sum(map(abs, logs))
    return min(0.0, math.fsum(logs) + math.log(series) + slack)
