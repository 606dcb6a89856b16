r"""The (epsilon, delta) variant of halfspace elimination: exponential mechanism, zero-concentrated accounts.

A selection by the exponential mechanism with weights exp(c u), scores u moved by at most 1 by one record, has
log ratios of probabilities within an interval of length 2c over its outcomes. It is (2c)^2/8 = c^2/2-zCDP
(Cesar and Rogers, Bounding, Concentrating, and Truncating, 2021). Permute-and-flip has no such interval, so
this variant does without it. Rho adds up under adaptive composition as long as the sum stays within what was
allotted in advance (a Renyi filter: the order alpha of the conversion below is fixed), so a budget of rho is
kept like one of epsilon, and

    delta = (alpha - 1)^(alpha - 1) / alpha^alpha * exp(-(alpha - 1) (epsilon - alpha rho)),  alpha > 1,

makes rho-zCDP (epsilon, delta)-DP (Canonne, Kamath and Steinke, The Discrete Gaussian for Differential
Privacy, Proposition 12). Here alpha is an integer, so that the inequality is decided in rationals.

The budget game changes in three ways: a selection costs c^2/2 whatever it returns, the exponential mechanism
lacks the factor 1/2 of both tails, and N counts of the finish with noise of scale s cost N / (2 s^2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from geomdp.core.errors import ArgumentError, check_beta, check_epsilon, check_fraction, describe
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.exact import bernoulli_exp
from geomdp.privacy.sampler import Sampler, check_scale
from geomdp.testers.elimination_plan import Calibration, calibrate

#: Orders alpha that are tried, and binary digits of rho.
_ORDERS, _DIGITS = 4_000, 40


def check_delta(delta: object) -> Fraction:
    """Return delta as a Fraction in (0, 1/10].

    Raises:
        ArgumentError: otherwise.
    """
    value = check_fraction("delta", delta)
    if not 0 < value <= Fraction(1, 10):
        raise ArgumentError("delta", "a number in (0, 0.1]", describe(delta), "Take far less than 1/n.")
    return value


def delta_bound(rho: Fraction, epsilon: Fraction, alpha: int) -> Fraction:
    """Return an upper bound on the delta at which rho-zCDP is (epsilon, delta)-DP, by an integer order.

    Example:
        >>> delta_bound(Fraction(1, 100), Fraction(1), 30) < Fraction(1, 10**6)
        True
    """
    gap = (alpha - 1) * (epsilon - alpha * rho)
    front = Fraction((alpha - 1) ** (alpha - 1), alpha**alpha)
    if gap < 0:
        return Fraction(1)
    bits = 64 + math.ceil(2 * gap)
    return front * Fraction(exp_neg(gap.numerator, gap.denominator, bits)[1], 2**bits)


@lru_cache(maxsize=32)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho, to 40 binary digits the largest, such that rho-zCDP implies (epsilon, delta)-DP.

    For a given alpha the condition reads rho <= (epsilon - ln(front / delta) / (alpha - 1)) / alpha, front
    the rational factor of the module's formula. Floats choose alpha; rationals decide the inequality.

    Args:
        epsilon: > 0.
        delta: in (0, 1/10].

    Raises:
        ArgumentError: when ``delta`` is too small for this epsilon.

    Example:
        >>> 0.02 < float(rho_for(Fraction(1), Fraction(1, 10**6))) < 0.03
        True
    """

    def guess(alpha: int) -> float:
        front = (alpha - 1) * math.log(alpha - 1) - alpha * math.log(alpha)
        return (float(epsilon) - (front - math.log(delta)) / (alpha - 1)) / alpha

    alpha = max(range(2, _ORDERS), key=guess)
    steps = math.floor(guess(alpha) * 2**_DIGITS * (1 + 1e-9)) + 1
    if steps <= 0:
        raise ArgumentError("delta", f"large enough for epsilon = {epsilon}", describe(delta))
    while steps and delta_bound(Fraction(steps, 2**_DIGITS), epsilon, alpha) > delta:
        steps -= max(1, steps >> 36)
    return Fraction(steps, 2**_DIGITS)


def elimination_plan(
    candidates: int,
    d: int,
    epsilon: Fraction | int | float | str,
    beta: Fraction | int | float | str = Fraction(1, 10),
    *,
    delta: Fraction | int | float | str | None = None,
    tolerance: int = 0,
) -> Calibration:
    """Return the certified constants of elimination, pure or (epsilon, delta)-private.

    Args:
        candidates: N, the number of dichotomies.
        d: dimension of the candidates.
        epsilon: each party's budget.
        beta: failure probability on each side.
        delta: None for pure privacy.
        tolerance: t0.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100 and ``beta`` is a number
            with 10^-300 <= beta <= 1 - 10^-12.

    Example:
        >>> pure = elimination_plan(174, 3, 1)
        >>> pure.resolution > elimination_plan(174, 3, 1, delta=Fraction(1, 1000)).resolution
        True
    """
    e, b = check_epsilon(epsilon), check_beta(beta)
    if delta is None:
        return calibrate(candidates, d, e, b, tolerance=tolerance)
    rho = rho_for(e, check_delta(delta))
    return calibrate(candidates, d, rho, b, tolerance=tolerance, concentrated=True)


class _Bits:
    """Fair bits from a party's sampler."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def bits(self, count: int) -> int:
        return self._sampler.uniform(1 << count)


def exponential(sampler: Sampler, scores: Sequence[int], scale: Fraction) -> int:
    """Return an index with probability proportional to exp(score / scale), exactly.

    A uniform index is kept with probability exp(-(top - score)/scale), else drawn again: the kept one has the
    law wanted, and top scores are kept always, so at most len(scores) draws are needed on average.

    Proof note. Precondition: one replaced record moves every score by at most Delta. Numerator and
    denominator of a probability then change by factors in [exp(-Delta/scale), exp(Delta/scale)], the
    denominator's the same for all outcomes. Conclusion: all log ratios lie in an interval of length
    2 Delta/scale that holds 0, so the release is (2 Delta/scale)-DP and (2 Delta/scale)^2 / 8-zCDP.

    Raises:
        ArgumentError: unless ``scores`` is at least one score.

    Example:
        >>> from geomdp.privacy.sampler import SecureSampler
        >>> exponential(SecureSampler(), [0, 10**6], Fraction(1))
        1
    """
    b = check_scale(scale)
    if not scores:
        raise ArgumentError("scores", "at least one score", "an empty list")
    top, source = max(scores), _Bits(sampler)
    while True:
        index = sampler.uniform(len(scores))
        if bernoulli_exp(source, (top - scores[index]) * b.denominator, b.numerator):
            return index
