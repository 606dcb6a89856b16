r"""What a signed bucket sketch can tell: certified errors over all integer vectors of a given mass.

Coins put every coordinate of an integer vector u into one of B buckets, with a sign: D_b is the signed sum
of bucket b. Discrete Laplace noise Z_b is added to every bucket, and the sum of sizes is released once more
with noise: W = sum_b |D_b + Z_b| + L. Two questions, answered here without any data:

* u = 0: the law of W is known exactly, so its upper quantile is (:func:`least_cut`).
* |u|_1 >= N, u arbitrary: how likely is W below the cut? (:meth:`Sketch.miss`.)

Theorem (worst vector). Let g(D) = E exp(-lam |D + Z|) and A(k, r) = E prod_b g(D_b) for the vector with r
entries equal to k. If no entry of u exceeds half of N' = |u|_1 >= N, then

    E exp(-lam sum_b |D_b + Z_b|) <= max over 1 <= k <= N/2 of A(k, 2 floor(N / 2k)).

Proof. exp(-lam |z|) on the integers and the law of Z have positive Fourier transforms, hence so has g: it is
the integral of cos(t D) over a positive measure mu. Coordinates choose bucket and sign independently, so

    E prod_b g(D_b) = integral of prod_i psi(u_i) over mu^B,   psi(k) = (1/B) sum_b cos(t_b k).

Hoelder's inequality with exponents p_i = N'/|u_i| >= 2 bounds it by a weighted geometric mean of the
integrals of |psi(k)|^(N'/k), k = |u_i|. As |psi| <= 1 the exponent may be lowered to the even number
r = 2 floor(N'/2k), and the integral of psi(k)^r is A(k, r). For fixed k it falls with r; for fixed r it falls
with k, because g falls with |D| (g is a convolution of symmetric unimodal laws). So N' may be replaced by
N, and k > N/2, where r = 2, by k = N/2. []

One entry k > N'/2 has an exponent p = N'/k below 2; Jensen's inequality then gives the factor
g(0)^(B (1 - p/2)) A(k, 2)^(p/2), or, for p near 1, its own bucket holds at least 2k - N' whatever the others
do.

Source: Algorithm 4 of the paper has B independent rounds of signs in place of buckets; a record then moves
all of them and the noise grows with their number. Buckets cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.errors import CapacityError
from geomdp.privacy.law import dlap_mgf_log

#: Numbers of buckets (powers of two: coins are then whole bits) and rates lam in units of 1/scale.
BUCKETS = tuple(2**e for e in range(2, 13))
RATES = tuple(
    Fraction(p, 1000) for p in (2, 5, 10, 20, 30, 50, 70, 90, 110, 130, 150, 170, 200, 240, 280, 330, 390)
)
#: Up to so many equal entries their spread over the buckets may be summed exactly.
EXACT_ENTRIES = 2048
#: Bounds are raised by this relative amount, and by _FLUSHED: more than all rounding and underflow.
_ROUNDING, _FLUSHED = 1e-8, 1e-250
#: Levels below this are not certified in floats, nor laws with more values than that.
LEAST_LEVEL, MOST_VALUES = Fraction(1, 10**18), 2**21
#: Larger masses are not looked for: they need more records than a sample can hold.
_MOST_MASS = 2**52
#: Ratios N'/k of one dominant entry k at which its two bounds may be balanced.
_SPLITS = (1.5, 1.7, 1.8, 1.85, 1.9, 1.93, 1.96, 1.98)


def absolute_sum_law(count: int, scale: Fraction) -> NDArray[np.float64]:
    """Return the pmf, on 0, 1, ..., of the sum of |Z_b| over `count` discrete Laplace variables.

    The generating function of |Z| is (1-r)/(1-rx) * (1+rx)/(1+r): a geometric variable plus a coin of
    probability r/(1+r). So the sum is a negative binomial variable plus a binomial one. Weights are built
    outward from the modes by their exact ratios and divided by the sum of those kept.

    Example:
        >>> law = absolute_sum_law(1, Fraction(2))
        >>> r = math.exp(-0.5)
        >>> bool(abs(law[0] - (1 - r) / (1 + r)) < 1e-12 and abs(law[3] - 2 * law[0] * r**3) < 1e-12)
        True
    """
    r = math.exp(-1 / float(scale))
    heads = -math.expm1(-1 / float(scale))
    mode = math.floor((count - 1) * r / heads)
    reach = mode + math.ceil(16 * math.sqrt(count * r) / heads + 120 * float(scale) + 120)
    ahead, behind = np.arange(mode, reach, dtype=np.float64), np.arange(mode, 0, -1, dtype=np.float64)
    waits = _outward(r * (ahead + count) / (ahead + 1), behind / (r * (behind + count - 1)))
    first, coins = _binomial(count, r / (1 + r))
    return np.convolve(waits, np.append(np.zeros(first), coins))


@lru_cache(maxsize=64)
def least_cut(count: int, scale: Fraction, extra: Fraction, level: Fraction) -> int:
    """Return the least integer c with P(sum of `count` |Z_b| + L >= c) <= level; certified.

    Raises:
        CapacityError: at levels below LEAST_LEVEL, which the float tails cannot certify, or when the law has
            more than about MOST_VALUES values.

    Example:
        >>> cut = least_cut(1, Fraction(2), Fraction(1, 2), Fraction(1, 10))
        >>> least_cut(1, Fraction(2), Fraction(1, 2), Fraction(1, 5)) < cut
        True
    """
    if level < LEAST_LEVEL:
        raise CapacityError("beta", f"large enough for errors of at least {float(LEAST_LEVEL):g}", "smaller")
    if count * scale > MOST_VALUES:
        raise CapacityError("epsilon", f"so large that a law has at most {MOST_VALUES} values", "smaller")
    law = absolute_sum_law(count, scale)
    at, target = np.arange(len(law), dtype=np.float64), float(level) * (1 - _ROUNDING)
    rate, half = 1 / float(extra), 1 / (1 + math.exp(-1 / float(extra)))

    def tail(cut: int) -> float:
        short = cut - at
        sizes = np.where(short >= 1, short, 1 - short)
        beyond = np.exp(-rate * sizes) * half
        return float(law @ np.where(short >= 1, beyond, 1 - beyond)) + 1e-25

    low, high = 0, len(law)
    while tail(high) > target:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle) <= target else (middle, high)
    return high


@dataclass(frozen=True)
class Sketch:
    """A sketch of B noisy buckets whose sum of sizes is compared with a cut.

    Attributes:
        buckets: B.
        scale: discrete Laplace scale in every bucket.
        extra: scale of the noise on the sum of sizes.
        rate: lam * scale, the exponent of the Chernoff bound in units of 1/scale; below 1.
        level: P(W >= cut) <= level when u = 0.
    """

    buckets: int
    scale: Fraction
    extra: Fraction
    rate: Fraction
    level: Fraction

    @cached_property
    def cut(self) -> int:
        """W >= cut means: u is not zero."""
        return least_cut(self.buckets, self.scale, self.extra, self.level)

    @cached_property
    def _lam(self) -> float:
        return float(self.rate / self.scale)

    @cached_property
    def _log_factor(self) -> float:
        """Log of exp(lam (cut - 1)) E exp(-lam L)."""
        return self._lam * (self.cut - 1) + dlap_mgf_log(self.rate / self.scale, self.extra)

    def weight(self, offsets: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return g(D)/g(0) for D >= 0, g(D) = E exp(-lam |D + Z|): two geometric series and a finite one."""
        return self._raw(offsets) / self._at_zero

    def _raw(self, D: NDArray[np.floating]) -> NDArray[np.float64]:
        rate, lam = 1 / float(self.scale), self._lam
        outside = np.exp(-rate - lam) / -math.expm1(-rate - lam) * (np.exp(-rate * D) + np.exp(-lam * D))
        inside = np.exp(-lam * D) * np.expm1((lam - rate) * (D + 1)) / math.expm1(lam - rate)
        return np.asarray(math.tanh(rate / 2) * (outside + inside))

    @cached_property
    def _at_zero(self) -> float:
        return float(self._raw(np.zeros(1))[0])

    @cached_property
    def _log_start(self) -> float:
        """Log of the bound for u = 0, by which all weights are relative."""
        return self._log_factor + self.buckets * math.log(self._at_zero)

    @cached_property
    def floor(self) -> float:
        """The bound for two huge equal entries, below which no mass brings :meth:`miss`."""
        return math.exp(min(self._log_start, 50.0)) / (2 * self.buckets)

    @property
    def most_mass(self) -> int:
        """A mass beyond which :meth:`miss` hardly falls: buckets then hold entries far above all noise."""
        entry = 256 * max(Fraction(1), self.scale / self.rate)
        return min(_MOST_MASS, math.ceil(self.buckets * entry**2))

    def equal_entries(self, k: int, r: int) -> float:
        """Return a certified bound on A(k, r)/g(0)^B for an even number r of entries k.

        Given how many entries each bucket holds, buckets are independent, with E g = G(j) = E g(k S_j) for
        j entries, S_j a sum of j signs. For few entries the occupation is summed exactly: with Poisson
        weights a doubling of the number of buckets is a convolution. Beyond, G is replaced by its least
        non-increasing majorant, and as the occupation numbers are negatively associated (Joag-Dev and
        Proschan 1983) the expectation of the product is at most the product of the expectations.

        Example:
            >>> S = Sketch(4, Fraction(2), Fraction(2), Fraction(1, 5), Fraction(1, 10))
            >>> one, far = S.weight(np.array([0.0, 20.0, 40.0]))[1:]
            >>> bool(abs(S.equal_entries(20, 2) - (3 / 4 * one**2 + (1 + far) / 8)) < 1e-7)
            True
        """
        few = r <= EXACT_ENTRIES and (k == 1 or r <= 16 * self.buckets)
        value = self._exactly(k, r) if few else self._associated(k, r)
        return min(1.0, value * (1 + _ROUNDING) + _FLUSHED)

    def _exactly(self, k: int, r: int) -> float:
        mean = r / self.buckets
        j = np.arange(r + 1, dtype=np.float64)
        logs = np.append(0.0, np.cumsum(np.log(j[1:])))
        terms = np.exp(j * math.log(mean) - mean - logs) * self._sign_sums(k, r)
        held = 1
        while held < self.buckets:
            terms = np.convolve(terms, terms)[: r + 1]
            held *= 2
        return float(terms[r]) / math.exp(r * math.log(r) - r - float(logs[r]))

    def _sign_sums(self, k: int, r: int) -> NDArray[np.float64]:
        """Return G(0..r)/g(0): each step averages g over one more sign."""
        known = self._known.get(k)
        if known is None or len(known) <= r:
            size = max(16, 1 << r.bit_length())
            values = self.weight(k * np.arange(size + 2, dtype=np.float64))
            known = np.empty(size + 1)
            for j in range(size + 1):
                known[j] = values[0]
                wider = np.empty(len(values) - 1)
                wider[0], wider[1:] = values[1], 0.5 * (values[2:] + values[:-2])
                values = wider
            self._known[k] = known
        return known[: r + 1]

    @cached_property
    def _known(self) -> dict[int, NDArray[np.float64]]:
        """The sums found so far, by size of entry: a search asks for the same ones again and again."""
        return {}

    def _associated(self, k: int, r: int) -> float:
        first, law = _binomial(r, 1 / self.buckets)
        below = np.append(0.0, np.cumsum(law))
        marks = np.unique(np.linspace(first, first + len(law), 32).astype(np.int64) // 2 * 2)
        ends = np.clip(np.append(marks[1:], first + len(law)) - first, 0, len(law))
        starts = np.clip(marks - first, 0, len(law))
        total = sum(
            (below[end] - below[start]) * self._sign_sum(k, int(mark))
            for mark, start, end in zip(marks, starts, ends, strict=True)
        )
        return math.exp(self.buckets * math.log(float(total) + 1e-30))

    def _sign_sum(self, k: int, j: int) -> float:
        """Return an upper bound on G(j)/g(0) for even j: a window, whose mean weight is the larger one."""
        reach = min(j // 2, math.ceil(20 / self._lam / (2 * k)) + 1)
        step = np.arange(reach, dtype=np.float64)
        chance = np.cumprod(np.append(1.0, (j / 2 - step) / (j / 2 + step + 1)))
        weights = self.weight(2.0 * k * np.arange(reach + 1))
        total = 2 * float(chance @ weights) - float(weights[0])
        return total / (2 * float(chance.sum()) - 1)

    def miss(self, mass: int, *, balanced: bool, level: float = 1.0, ones_only: bool = False) -> float:
        """Return a certified bound on P(W < cut) over all u with |u|_1 >= mass.

        Args:
            mass: N >= 2.
            balanced: True if the entries of u add up to 0, so that none exceeds half of |u|_1.
            level: stop as soon as the bound exceeds this.
            ones_only: bound the error for vectors of single records only.

        Example:
            >>> S = Sketch(32, Fraction(2), Fraction(2), Fraction(15, 100), Fraction(1, 10))
            >>> S.miss(600, balanced=True) < S.miss(300, balanced=True) < 1
            True
        """
        worst = 0.0
        for k, r in extreme_vectors(mass):
            worst = max(worst, self._chance(self.equal_entries(k, r)))
            if worst > level or ones_only:
                return worst
        return worst if balanced else max(worst, self._chance(self._dominant(mass)))

    def _dominant(self, mass: int) -> float:
        pair: float = self.equal_entries(mass // 2 + 1, 2)
        alone = self.weight(np.array([math.floor(mass * (2 / split - 1)) for split in _SPLITS], dtype=float))
        bounds = [max(pair ** (split / 2), float(one)) for split, one in zip(_SPLITS, alone, strict=True)]
        least = float(min(bounds))
        return min(1.0, least * (1 + _ROUNDING))

    def _chance(self, relative: float) -> float:
        return math.exp(min(0.0, self._log_start + math.log(relative) + 1e-9))


def extreme_vectors(mass: int) -> Iterator[tuple[int, int]]:
    """Yield (k, r) such that the largest A(k, r) bounds every A(k, 2 floor(N / 2k)), 1 <= k <= N/2 = mass/2.

    Sizes k of one group share the smallest k and the least r in it, which only raises the bound.

    Example:
        >>> list(extreme_vectors(8))
        [(1, 8), (2, 4), (3, 2)]
    """
    k = 1
    while k <= mass // 2:
        r = 2 * (mass // (2 * k))
        last = min(mass // r, mass // 2) if r <= 16 or k < 8 else min(k * 9 // 8, mass // 2)
        yield k, 2 * (mass // (2 * last))
        k = last + 1


@dataclass(frozen=True)
class Design:
    """The sketch that needs the least mass.

    Attributes:
        sketch: the sketch.
        mass: the least N at which both errors are certified.
    """

    sketch: Sketch
    mass: int


@lru_cache(maxsize=64)
def design(scale: Fraction, extra: Fraction, far: Fraction, match: Fraction, balanced: bool) -> Design | None:
    """Return the best sketch with P(W >= cut) <= far for u = 0 and P(W < cut) <= match for |u|_1 >= mass.

    For each number of buckets the two largest rates at which two huge equal entries are told apart are
    tried, until more buckets no longer help; the search only guides, the bound at its end is the certificate.
    Masses above 1000 are found to one part in 1000.

    Args:
        scale, extra: noise scales in the buckets and on the sum of sizes.
        far, match: allowed errors.
        balanced: whether the entries of u add up to 0.

    Returns:
        The design, or None where no sketch of up to 4096 buckets is good enough: two huge equal entries
        cancel in one bucket with probability 1/(2B), whatever the mass.

    Example:
        >>> design(Fraction(2), Fraction(2), Fraction(1, 10), Fraction(1, 10), True).mass < 500
        True
    """
    names = ("scale", "extra", "far", "match")
    key = {"table": "ray sketch", "balanced": balanced} | {
        name: str(value) for name, value in zip(names, (scale, extra, far, match), strict=True)
    }
    found = cached(key, lambda: _search(scale, extra, far, match, balanced))
    buckets, rate, mass = (int(value) for value in found)
    return Design(Sketch(buckets, scale, extra, Fraction(rate, 1000), far), mass) if buckets else None


def _search(
    scale: Fraction, extra: Fraction, far: Fraction, match: Fraction, balanced: bool
) -> NDArray[np.int64]:
    best: Design | None = None
    if min(far, match) < LEAST_LEVEL:
        return np.zeros(3, dtype=np.int64)
    target, idle = float(match) * (1 - 1e-12), 0
    for buckets in BUCKETS:
        if buckets * scale > MOST_VALUES:
            break
        if best is not None and idle == 4:
            break
        idle += 1
        sketches = [Sketch(buckets, scale, extra, rate, far) for rate in RATES if rate * extra < scale]
        for sketch in [sketch for sketch in sketches if sketch.floor <= target][-2:]:
            mass = _least(sketch, balanced, target, None if best is None else best.mass)
            if mass is not None:
                best, idle = Design(sketch, mass), 0
    if best is None:
        return np.zeros(3, dtype=np.int64)
    return np.array([best.sketch.buckets, int(1000 * best.sketch.rate), best.mass], dtype=np.int64)


def _least(sketch: Sketch, balanced: bool, target: float, bound: int | None) -> int | None:
    """Return the least mass at which the sketch is good enough, or None if it is not below the bound.

    Single records (k = 1) are checked first: they are the worst vector more often than not.
    """

    def ones(mass: int) -> bool:
        return sketch.miss(mass, balanced=True, level=target, ones_only=True) <= target

    def all_vectors(mass: int) -> bool:
        return sketch.miss(mass, balanced=balanced, level=target) <= target

    if bound is not None and not ones(bound - 1):
        return None
    most, mass = sketch.most_mass if bound is None else min(bound, sketch.most_mass), 2
    for good in (ones, all_vectors):
        low, high = mass - 1, mass
        while not good(high):
            low, high = high, high + 2 * (high - low)
            if low >= most:
                return None
        while high - low > max(1, high // 1000):
            middle = (low + high) // 2
            low, high = (low, middle) if good(middle) else (middle, high)
        mass = high
    return mass if mass < most else None


def _outward(up: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities from their ratios outward from the mode."""
    weights = np.concatenate([np.cumprod(down)[::-1], [1.0], np.cumprod(up)])
    return np.asarray(weights / weights.sum())


def _binomial(count: int, p: float) -> tuple[int, NDArray[np.float64]]:
    """Return (first value, pmf) of a binomial law, without tails of total below 10^-35."""
    mode = min(count, math.floor((count + 1) * p))
    reach = math.ceil(16 * math.sqrt(count * p * (1 - p)) + 120)
    top, bottom = min(count, mode + reach), max(0, mode - reach)
    ahead, behind = np.arange(mode, top, dtype=np.float64), np.arange(mode, bottom, -1, dtype=np.float64)
    odds = p / (1 - p)
    law = _outward(odds * (count - ahead) / (ahead + 1), behind / (odds * (count - behind + 1)))
    return bottom, law
