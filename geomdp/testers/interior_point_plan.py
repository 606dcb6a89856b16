r"""Calibration of the interior-point testers: shares, level, cut and resolution, certified in integers.

Write p for the number of parties that scan (1 with disjoint labels, 2 with mixed ones), E(a) for the bound
m (1-r)/(1 - r rho) rho^(start - a) on a scan stopping at a count <= a, T(z) = P(sum of p count noises >= z),
G and H for geometric variables of the ratios r and rho, and Z for a count noise. The protocol announces Far
iff the noisy total reaches `cut`.

*Match.* Let opt <= t0: some theta* has u scanned mistakes (records that the scans count, at or above theta*)
and c others, u + c <= t0. Unless a scan stops too early, all released places lie at or below theta* and the
total is at most c. If u = a + b is divided between two scans, E(a) + E(b) <= E(u) + E(0) by convexity. So the
failure probability is at most max over u + c = t0 of E(u) + (p - 1) E(0) + T(cut - c), and since E is convex,
and T is convex on integers >= 0 (its steps are the pmf, which decreases), the maximum is at c = 0 or at
c = t0, if cut > t0:

    E(t0) + (p - 1) E(0) + T(cut) <= beta   and   p E(0) + T(cut - t0) <= beta.

*Far.* Let opt >= t. The scanned mistakes that a released place leaves are the count of the last place that
was passed; stochastically they are at most max(0, start - 1 + G - H) per scan (see the scan's text), and the
maximum is needed with probability E(0)/m per scan only, which is added to what follows. The total is at
least t minus these, and the count noises are independent of the scans, so P(Match) is at most
P(sum (G - H) - sum Z >= excess), excess := t - p (start - 1) - cut + 1. The resolution is the t at which this
is <= beta:

    t = p (start - 1) + cut + excess - 1.

A search in floating point proposes shares, cut and excess; both inequalities are then proved in integers with
outward rounding, and the proposal is enlarged until they hold. No budget is divided between Match and Far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.sampler import noise_scale
from geomdp.testers.crossing import Crossing

#: Least privacy budget for which the exact tails are computed; their length grows like 1/epsilon.
LEAST_EPSILON = Fraction(1, 1000)
#: Error bounds are multiples of 2^-192 times m, and float tails guide the search: smaller beta is refused.
LEAST_BETA = Fraction(1, 10**30)
#: Candidate shares of the level's noise, in 1/1024 of the budget: a geometric sequence, largest first.
SHARES = tuple(round(640 * 0.93**j) for j in range(52))
_BITS = 192  # binary digits of the certificate
_ONE = 1 << _BITS


@dataclass(frozen=True)
class Calibration:
    """Everything public that the protocol uses, and its certificate.

    Attributes:
        m: number of places of a scan.
        scans: p, the number of scanning parties: 1 (disjoint labels) or 2 (mixed labels).
        beta, tolerance: the promise: Match at opt <= tolerance, either failure at most beta.
        crossing: the scan's constants.
        count_epsilon: share of the budget that a noisy count is calibrated to.
        cut: Far iff the noisy total is >= cut.
        excess: see the module's text.
    """

    m: int
    scans: int
    beta: Fraction
    tolerance: int
    crossing: Crossing
    count_epsilon: Fraction
    cut: int
    excess: int

    @property
    def resolution(self) -> int:
        """The least t that this calibration guarantees."""
        return self.scans * (self.crossing.start - 1) + self.cut + self.excess - 1

    @cached_property
    def count_scale(self) -> Fraction:
        """Noise scale of a count."""
        return noise_scale(1, self.count_epsilon)

    def early(self, count: int) -> float:
        """Return log E(count), to 10^-9: the scan's failure bound at a tolerated count."""
        rho, r = float(self.crossing.ratio), math.exp(-1 / float(self.crossing.scale))
        factor = math.log1p(-r) - math.log1p(-r * rho)
        return math.log(self.m) + factor + (self.crossing.start - count) * math.log(rho)

    def interval(self, total: int, largest: int) -> tuple[int, int]:
        """Return an interval that holds opt with probability >= 1 - beta, given the noisy total.

        Above: opt <= scans (start - 1) + total + excess - 1, wrong with probability at most beta (the Far
        side). Below: the least o whose hypothesis "opt = o" the total does not reject at level beta -
        delta(o), where delta(o) = T(scans (start - 1) + excess - o) bounds the chance that the upper end
        falls below such a small o. So an o that can be rejected is missed with probability at most (beta -
        delta) + delta, any other o at most beta. A scan may stop anywhere once a few records lie above it, so
        the lower end rarely exceeds tolerance + 1, even where opt is large.

        Args:
            total: the sum of the noisy counts.
            largest: the largest value that opt can have.
        """
        reach = self.scans * (self.crossing.start - 1) + self.excess
        lower = 0
        while lower < min(total, largest, reach) and self._rejects(lower, total, reach - lower):
            lower += 1
        return lower, min(max(total + reach - 1, lower), largest)

    def _rejects(self, opt: int, total: int, spare: int) -> bool:
        """Return True if P(total or more | opt) + T(spare) <= beta, with 10^-9 added for rounding."""
        floor, raised = math.exp(min(0.0, self.early(0))), math.exp(min(0.0, self.early(opt)))
        points = np.array([total, total - opt, spare])
        all_scanned, none_scanned, missed = noise_tail(points, float(self.count_scale), self.scans)
        worst = max(raised + (self.scans - 1) * floor + all_scanned, self.scans * floor + none_scanned)
        return bool((worst + missed) * (1 + 1e-9) <= self.beta)


def match_error(c: Calibration) -> Fraction:
    """Return a proved bound on the probability of Far at opt <= tolerance: integers, rounded upward.

    Example:
        >>> c = calibrate(2**16, Fraction(1), Fraction(1, 10), 0, 1)
        >>> Fraction(1, 20) < match_error(c) <= Fraction(1, 10)
        True
    """
    none, t0 = _early(c, 0), c.tolerance
    first = _early(c, t0) + (c.scans - 1) * none + _count_tail(c.cut, c.count_scale, c.scans)
    second = c.scans * none + _count_tail(c.cut - t0, c.count_scale, c.scans)
    return max(first, second)


def _early(c: Calibration, count: int) -> Fraction:
    """Return E(count), rounded upward."""
    r_low, _ = _ratio(c.crossing.scale)
    rho, gap = c.crossing.ratio, c.crossing.start - count
    if gap < 0:
        return Fraction(c.m)
    return c.m * (1 - r_low) / (1 - r_low * rho) * _power_up(rho, gap, _BITS + c.m.bit_length())


def far_error(c: Calibration) -> Fraction:
    """Return a proved bound on the probability of Match at opt >= resolution: integers, rounded outward.

    sum (G - H) - sum Z = P - N, where P is a sum of 2p geometric variables (levels, and halves of count
    noises) and N of 2p (halves of count noises, and the H). Adding a geometric variable to a law f is
    f'(k) = r f'(k-1) + (1-r) f(k); lower bounds f give upper bounds S(k) = 1 - sum_{j<k} f(j) on P(P >= k);
    taking one away from a tail is S'(k) = r S'(k+1) + (1-r) S(k), started far out with S'(K) <= S(K).

    A count is never negative, but start - 1 + G - H is with probability P(H >= tau) = E(0)/m per scan; there
    0 is the bound, and these probabilities are added.

    Example:
        >>> c = calibrate(2**16, Fraction(1), Fraction(1, 10), 0, 1)
        >>> far_error(c) <= Fraction(1, 10) < far_error(replace(c, excess=c.excess - 1))
        True
    """
    length = c.excess + math.ceil(40 * c.count_scale) + 2
    law = [_ONE] + [0] * (length - 1)
    for scale in [c.crossing.scale, c.count_scale] * c.scans:
        low, high = (int(end * _ONE) for end in _ratio(scale))
        last = 0
        for k in range(length):
            law[k] = last = (low * last + (_ONE - high) * law[k]) >> _BITS
    tail, rest = [], _ONE
    for mass in law:
        tail.append(rest)
        rest -= mass
    rho = int(c.crossing.ratio * _ONE)  # exact: a multiple of 2^-64
    count_low, count_high = (int(end * _ONE) for end in _ratio(c.count_scale))
    for low, high in [(count_low, count_high), (rho, rho)] * c.scans:
        last = tail[-1]
        for k in range(length - 2, c.excess - 1, -1):
            tail[k] = last = -((-high * last - (_ONE - low) * tail[k]) >> _BITS)
    below = c.scans * min(Fraction(1), _early(c, 0) / c.m)
    return Fraction(min(tail[c.excess], _ONE), _ONE) + below


@lru_cache(maxsize=64)
def calibrate(m: int, epsilon: Fraction, beta: Fraction, tolerance: int, scans: int) -> Calibration | None:
    """Return the certified calibration of least resolution among SHARES.

    None below LEAST_EPSILON or LEAST_BETA.

    Args:
        m: number of ranks.
        epsilon: each party's budget.
        beta: failure probability on either side.
        tolerance: t0 >= 0.
        scans: 1 for disjoint labels, 2 for mixed ones.

    Example:
        >>> [calibrate(2**b, Fraction(1), Fraction(1, 10), 0, 1).resolution for b in (16, 64)]
        [27, 70]
    """
    if epsilon < LEAST_EPSILON or beta < LEAST_BETA:
        return None
    best: Calibration | None = None
    worse = 0
    for candidate in _candidates(m, epsilon, beta, tolerance, scans):
        if best is None or candidate.resolution < best.resolution:
            best, worse = candidate, 0
        else:
            worse += 1
            if worse > 9:
                break
    assert best is not None  # noqa: S101 - SHARES is not empty
    chosen, start, excess = best, best.crossing.start, best.excess

    def started(more: int) -> Calibration:
        return replace(chosen, crossing=replace(chosen.crossing, start=start + more))

    right = started(_least(lambda more: match_error(started(more)) <= beta))
    more = _least(lambda more: far_error(replace(right, excess=excess + more)) <= beta)
    return replace(right, excess=excess + more)


def _least(good: Callable[[int], bool]) -> int:
    """Return the least integer >= 0 that is good, where all larger ones are: by doubling, then halving."""
    low, high = -1, 0
    while not good(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _candidates(
    m: int, epsilon: Fraction, beta: Fraction, tolerance: int, scans: int
) -> Iterator[Calibration]:
    """Yield the best proposal for every share of the level, in floating point."""
    for share in SHARES:
        level = epsilon * share / 1024
        place = epsilon - level
        count = epsilon if scans == 1 else epsilon - max(level, place)
        crossing = Crossing(1, level, place)
        draft = Calibration(m, scans, beta, tolerance, crossing, count, tolerance + 1, 1)
        excess = _first_below(_excess_tail(draft, float(beta)), float(beta))
        start, cut = _start_and_cut(draft)
        yield replace(draft, crossing=replace(crossing, start=start), cut=cut, excess=excess)


def _start_and_cut(draft: Calibration) -> tuple[int, int]:
    """Return the level's start and the cut that minimise scans * start + cut under both Match conditions."""
    beta, p, t0 = float(draft.beta), draft.scans, draft.tolerance
    scale = float(draft.count_scale)
    rate = -math.log(draft.crossing.ratio)
    z = np.arange(1, math.ceil(scale * (math.log(1 / beta) + 12)) + 2)
    near, far = (noise_tail(points, scale, p) for points in (z, z + t0))
    usable = near < beta
    z, near, far = z[usable], near[usable], far[usable]
    # log of the largest E(0) that either condition allows
    second = np.log((beta - near) / p)
    first = np.log(beta - far) - np.logaddexp(rate * t0, math.log(p - 1) if p > 1 else -math.inf)
    needed = draft.early(0) + rate * draft.crossing.start - np.minimum(first, second)
    start = np.maximum(1, np.ceil(needed / rate - 1e-9))
    best = int(np.argmin(p * start + z))
    return int(start[best]), int(z[best]) + t0


def noise_tail(z: NDArray[np.int64], scale: float, count: int) -> NDArray[np.float64]:
    """Return T(z) = P(sum of `count` <= 2 discrete Laplace variables >= z), z >= 1, relative error < 10^-12.

    One: r^z/(1+r). Two: the pmf is ((1-r)/(1+r))^2 r^|k| (|k| + 1 + kappa), kappa = 2r^2/(1-r^2), and its
    tail the sum of an arithmetic-geometric series.
    """
    r = math.exp(-1 / scale)
    gap = -math.expm1(-1 / scale)
    power = np.exp(-z / scale)
    if count == 1:
        return np.asarray(power / (1 + r))
    kappa = 2 * r * r / (gap * (1 + r))
    return np.asarray((gap / (1 + r)) ** 2 * power * ((z + 1 + kappa) / gap + r / gap**2))


def _excess_tail(draft: Calibration, level: float) -> NDArray[np.float64]:
    """Return P(sum (G - H) - sum Z >= w) for w = 0, 1, ..., up to rounding."""
    scales = float(draft.crossing.scale), float(draft.count_scale)
    length = math.ceil(sum(scales) * (math.log(1 / level) + 45)) + 10
    law: NDArray[np.float64] = np.zeros(length)
    law[0] = 1.0
    for scale in scales * draft.scans:
        law = _add_geometric(law, 1 / scale)
    tail = np.cumsum(law[::-1])
    for rate in (1 / scales[1], -math.log(draft.crossing.ratio)) * draft.scans:
        tail = _add_geometric(tail, rate)
    return np.asarray(tail[::-1])


def _add_geometric(x: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return y(k) = (1-r) sum_{j <= k} r^(k-j) x(j), r = exp(-rate), x >= 0; blocks avoid overflow."""
    step = max(1, int(600 / rate))
    weights = np.exp(rate * np.arange(min(step, len(x))))
    y = np.empty_like(x)
    last = 0.0
    for start in range(0, len(x), step):
        block = x[start : start + step]
        scaled = weights[: len(block)]
        y[start : start + step] = (np.cumsum(block * scaled) + last * math.exp(-rate)) / scaled
        last = float(y[start + len(block) - 1])
    return np.asarray(-math.expm1(-rate) * y)


def _first_below(tail: NDArray[np.float64], level: float) -> int:
    return max(1, int(np.argmax(tail <= level)))


def _ratio(scale: Fraction) -> tuple[Fraction, Fraction]:
    """Return an enclosure of exp(-1/scale) by multiples of 2^-192."""
    low, high = exp_neg(scale.denominator, scale.numerator, _BITS)
    return Fraction(low, _ONE), Fraction(high, _ONE)


def _power_up(base: Fraction, exponent: int, bits: int = _BITS) -> Fraction:
    """Return an upper bound of base^exponent, 0 <= base <= 1, a multiple of 2^-bits."""
    one = 1 << bits
    square, result = -(-base.numerator * one // base.denominator), one
    while exponent:
        if exponent & 1:
            result = -(-result * square >> bits)
        square, exponent = -(-square * square >> bits), exponent >> 1
    return Fraction(result, one)


def _count_tail(z: int, scale: Fraction, count: int) -> Fraction:
    """Return an upper bound of T(z), z >= 1: noise_tail's closed forms, every factor rounded upward."""
    low, high = _ratio(scale)
    power = _power_up(high, z)
    if count == 1:
        return power / (1 + low)
    kappa = 2 * high**2 / (1 - high**2)
    head = ((1 - low) / (1 + low)) ** 2
    return head * power * ((z + 1 + kappa) / (1 - high) + high / (1 - high) ** 2)
