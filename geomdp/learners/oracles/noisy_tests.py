"""Two noisy comparisons with exact laws: the first query over a threshold, and a stable leader.

Both compare integers with discrete Laplace noise. Their tails are known in closed form and enclosed between
rationals, so that a threshold is the least integer that keeps a stated probability.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, TypeVar

from geomdp.core.errors import check_fraction
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.runs import Runs
from geomdp.privacy.sampler import Sampler, check_scale, noise_scale

Key = TypeVar("Key", bound=Hashable)
_BITS = 256
_FIXED = 160  # binary digits of listed laws


def above_threshold(
    queries: Sequence[int], threshold: int, epsilon: Fraction, sampler: Sampler
) -> int | None:
    """Return the first k with q_k + nu_k >= threshold + rho, or None if there is none.

    rho and all nu_k are discrete Laplace noises of one scale s >= 3/epsilon. One scale for both makes the
    tail of nu - rho, on which the threshold depends, shorter than the usual scales 2/epsilon and 4/epsilon
    do. As many noises are drawn as there are queries, wherever the answer lies.

    Proof note. Precondition: every query changes by at most 1 between neighbouring data, and the number of
    queries does not change. Fix the noises before k and let g = max_{i<k} (q_i + nu_i), which changes by at
    most 1. The answer is k iff g < threshold + rho <= q_k + nu_k. Shift rho by the change of g, and nu_k by
    that change less the change of q_k, at most 2 in size: both comparisons are as before, and the probability
    of the pair (rho, nu_k) changes by at most exp(3/s). For the answer None rho is shifted alone. Conclusion:
    epsilon-DP.

    Args:
        queries: integers, any number.
        threshold: a public integer.
        epsilon: the privacy loss.
        sampler: the source of noise.

    Source: the sparse vector technique (Dwork and Roth, "The Algorithmic Foundations of Differential
    Privacy", Section 3.6), with integer noise.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> above_threshold([0, 0, 500, 0], 250, Fraction(1), SimSampler(0))
        2
        >>> above_threshold([0, 0, 0, 0], 250, Fraction(1), SimSampler(0)) is None
        True
    """
    scale = noise_scale(3, epsilon)
    if isinstance(sampler, Runs):
        return sampler.listed(above_threshold_law(queries, threshold, Interval.of(sampler.decay(1 / scale))))
    rho = int(sampler.discrete_laplace(scale, 1)[0])
    noise = sampler.discrete_laplace(scale, len(queries)).tolist()
    passed = [k for k, (q, nu) in enumerate(zip(queries, noise, strict=True)) if q + nu >= threshold + rho]
    return passed[0] if passed else None


def above_threshold_law(
    queries: Sequence[int], threshold: int, r: Interval
) -> list[tuple[int | None, Interval]]:
    """Return the answers of :func:`above_threshold` with enclosures of their probabilities, r = exp(-1/s).

    The sum over rho is cut off at -K and K; what lies beyond is added to the upper ends.

    Example:
        >>> law = dict(above_threshold_law([5], 5, Interval.exp_neg(Fraction(1))))
        >>> bool(law[0].lo > law[None].hi), bool(law[0].hi - law[0].lo < Fraction(1, 10**15))
        (True, True)
    """
    return list(_search_law(tuple(queries), threshold, r.outward(_FIXED)))


@lru_cache(maxsize=4096)
def _search_law(
    queries: tuple[int, ...], threshold: int, r: Interval
) -> tuple[tuple[int | None, Interval], ...]:
    """The law in fixed point: a pair of integers (low, high) stands for multiples of 2^-_FIXED."""
    one = 1 << _FIXED
    low, high = int(r.lo * one), int(r.hi * one)
    reach = ceil(45 / (1 - r.hi))  # r^reach <= exp(-45)
    powers = [(one, one)]
    for _ in range(reach + max((abs(q - threshold) for q in queries), default=0) + 2):
        powers.append(_times(powers[-1], (low, high)))
    inverse = (one * one // (one + high), -(-one * one // (one + low)))
    tails = [_times(power, inverse) for power in powers]  # P(Z >= t), t >= 1
    unit = _times((one - high, one - low), inverse)
    totals = [[0, 0] for _ in range(len(queries) + 1)]
    for rho in range(-reach, reach + 1):
        still = _times(powers[abs(rho)], unit)
        for k, q in enumerate(queries):
            t = threshold + rho - q
            up = tails[t] if t >= 1 else _complement(tails[1 - t])
            _add(totals[k], _times(still, up))
            still = _times(still, _complement(up))
        _add(totals[-1], still)
    rest = 2 * tails[reach + 1][1]
    answers: list[int | None] = [*range(len(queries)), None]
    return tuple(
        (answer, Interval(Fraction(a, one), Fraction(b + rest, one)))
        for answer, (a, b) in zip(answers, totals, strict=True)
    )


def _times(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
    return x[0] * y[0] >> _FIXED, -(-x[1] * y[1] >> _FIXED)


def _complement(x: tuple[int, int]) -> tuple[int, int]:
    return (1 << _FIXED) - x[1], (1 << _FIXED) - x[0]


def _add(total: list[int], x: tuple[int, int]) -> None:
    total[0] += x[0]
    total[1] += x[1]


def stable_leader(counts: Mapping[Key, int], cutoff: int, epsilon: Fraction, sampler: Sampler) -> Key | None:
    """Return the key of the largest count if it leads by a noisy margin >= cutoff, else None.

    The margin is the difference to the second largest count (0 if there is no other key), plus discrete
    Laplace noise of scale s >= 2/epsilon. Of equal keys the first leads.

    Proof note. Precondition: replacing one record moves at most one unit from one key to another; keys that
    are missing count 0. The margin changes by at most 2, so "released or not" is epsilon-DP. If the leader is
    the same for both data, it adds nothing. If it is not, each leader's count is at least the other's in its
    own data, so both margins are at most 2, and either leader is released with probability at most
    P(2 + Z >= cutoff) = exp(-(cutoff - 2)/s)/(1 + exp(-1/s)) = delta. Conclusion: (epsilon, delta)-DP.

    Source: the distance-to-instability test (Smith and Thakurta, "Differentially Private Feature Selection
    via Stability Arguments", COLT 2013), with integer noise.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> stable_leader({"a": 90, "b": 2}, 40, Fraction(1), SimSampler(0))
        'a'
        >>> stable_leader({"a": 46, "b": 46}, 40, Fraction(1), SimSampler(0)) is None
        True
    """
    leader, margin = leading(counts)
    scale = noise_scale(2, epsilon)
    if isinstance(sampler, Runs):
        r: Any = sampler.decay(1 / scale)
        gap = cutoff - margin
        p = _power(r, gap if gap >= 1 else 1 - gap) * _inverse(1 + r)
        p = p if gap >= 1 else 1 - p
        return sampler.listed([(leader, p), (None, 1 - p)])
    noise = int(sampler.discrete_laplace(scale, 1)[0])
    return leader if margin + noise >= cutoff else None


def leading(counts: Mapping[Key, int]) -> tuple[Key, int]:
    """Return the first key of the largest count, and by how much it leads.

    Example:
        >>> leading({3: 5, 1: 7, 2: 7}), leading({4: 2})
        ((1, 0), (4, 2))
    """
    leader = max(counts, key=lambda key: counts[key])
    return leader, counts[leader] - max((c for key, c in counts.items() if key != leader), default=0)


def least_reach(scale: Fraction, probability: Fraction) -> int:
    """Return the least t >= 1 with P(Z >= t) <= probability, certified; Z is discrete Laplace noise.

    Example:
        >>> from geomdp.privacy.laplace import dlap_sf
        >>> t = least_reach(Fraction(3), Fraction(1, 1000))
        >>> dlap_sf(t, Fraction(3)) <= 0.001 < dlap_sf(t - 1, Fraction(3))
        True
    """
    rate = 1 / check_scale(scale)
    bits = _digits(probability)
    inverse = Interval.of(1) / (1 + Interval.exp_neg(rate, bits))
    return _least(lambda t: (Interval.exp_neg(rate * t, bits) * inverse).hi, probability)


def least_difference(scale: Fraction, probability: Fraction) -> int:
    """Return the least t >= 1 with P(Z - Z' >= t) <= probability, certified; Z, Z' of one scale.

    Example:
        >>> least_difference(Fraction(3), Fraction(1, 10**8))
        61
    """
    bits = _digits(probability)
    return _least(lambda t: difference_tail(scale, t, bits).hi, probability)


def difference_tail(scale: Fraction, t: int, bits: int = 256) -> Interval:
    """Return an enclosure of P(Z - Z' >= t), t >= 1, for two discrete Laplace noises of one scale.

    With r = exp(-1/scale), P(Z - Z' = k) = ((1-r)/(1+r))^2 r^k (k + c) for k >= 0, c = (1+r^2)/(1-r^2): the
    convolution of two two-sided geometric laws. Its tail is ((1-r)/(1+r))^2 r^t ((t+c)/(1-r) + r/(1-r)^2).

    Example:
        >>> from geomdp.privacy.laplace import dlap_pmf, dlap_sf
        >>> direct = sum(dlap_pmf(z, 3) * dlap_sf(5 + z, 3) for z in range(-200, 200))
        >>> abs(float(difference_tail(Fraction(3), 5).hi) - direct) < 1e-12
        True
    """
    rate = 1 / check_scale(scale)
    r = Interval.exp_neg(rate, bits)
    gone = 1 - r
    unit = gone * gone / ((1 + r) * (1 + r))
    c = (1 + r * r) / (1 - r * r)
    return unit * Interval.exp_neg(rate * t, bits) * ((c + t) / gone + r / (gone * gone))


def _digits(probability: Fraction) -> int:
    p = check_fraction("probability", probability)
    return 128 + p.denominator.bit_length()


def _least(tail: Callable[[int], Fraction], probability: Fraction) -> int:
    """Return the least t >= 1 with tail(t) <= probability, for a decreasing tail."""
    low, high = 0, 1
    while tail(high) > probability:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle) <= probability else (middle, high)
    return high


def _power(base: Any, exponent: int) -> Any:
    if isinstance(base, Interval):
        return Interval(base.lo**exponent, base.hi**exponent).outward(_BITS)
    return base**exponent


def _inverse(value: Any) -> Any:
    return Interval.of(1) / value if isinstance(value, Interval) else 1 / value
