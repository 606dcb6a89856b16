r"""Calibration of the prefix-search tester (Algorithm 2): cuts, weights, budgets and block size, certified.

Notation: b digits, T = ceil(log2 b) queries, k members per block, F(l) = k - max_p min(|A_p|, |B_p|) over the
nodes p of level l. One query estimates F(l) by the common frequency of prefixes, from two sparse releases at
epsilon0 = (epsilon - ef)/T. The search ends with adjacent levels L, H, F^(L) < alpha <= F^(H); the cuts alpha
and delta are integers, and the last statistic weighs a node's members by u and other members by v, u > v >=
1.

*One query.* Every noise has scale >= 2/epsilon0. Under the promise at most one node is common. Let no two
occupied prefixes of the level share a bucket (probability >= 1 - 2k^2/R, or 1 where prefixes are not hashed).
Then every bucket but the common node's is empty on one side, and the noise there must reach the cut-off tau =
k - alpha - delta + 1 to matter: probability at most 2k P(Z >= tau) + R P(Z >= tau)^2 ("stray"). Otherwise

    F(l) <= F^(l) + up     except with probability P(Z >= up + 1): the smaller count's noise,
    F(l) >= F^(l) - down   except with probability 2 P(Z >= down + 1): either count's noise.

A message has 16 slots. At most 3 buckets hold tau/2 records or more if tau > k/2, so that 17 survivors take
13 others, whose noise reaches tau/2 (occupied buckets) or tau: "crowd", at most mu^13/13! for each party,
with mu = k P(Z >= tau/2) + R P(Z >= tau).

A level that ends as L needs the first line, one that ends as H both. That only noisy counts >= tau are
released changes no decision: where no bucket is released by both, F^ >= k - tau + 1 = alpha + delta, hence F^
>= alpha, and F^ exceeds any F^(L) < alpha by delta or more.

*Jump, F^(H) - F^(L) >= delta.* Then F(H) - F(L) >= delta - up - down =: D. The common node p of level L has
min(|A_p|, |B_p|) = k - F(L), F(L) <= alpha - 1 + up. Both maxima of V_P = max_q {u|P_q| + v|P_q0|} - max_q
{u|P_q| + v|P_q1|} are attained at p if (2u + v) F(L) <= u k, as another node has at most F(L) members; so V_P
= v(|P_p0| - |P_p1|). In Match, A's members of p lie before B's, so one child at most is common, and counting
gives V_A - V_B >= 2v D; in Far, V_A - V_B <= -2v D.

*Escape, F^(H) - F^(L) < delta.* Then alpha - down <= F(H) <= alpha + delta - 2 + up. Both maxima of V_P =
max_q {u|P_q| + v|P_<q|} - max_q {u|P_q| + v|P_>q|} are attained at the common node p of level H if (2u - v)
F(H) <= (u - v) k; then V_P = v(|P_<p| - |P_>p|). In Match nothing of A lies after p and nothing of B before,
so V_A - V_B >= v F(H); in Far, <= -v F(H).

*The end.* Match is announced iff the noisy V_A >= V_B; with margin X, wrong with probability at most P(Z - Z'
>= X).

The "paper" constants are those of Algorithm 2: u = 6, v = 1, ef = epsilon/2, R = ceil(4k^2/beta0), epsilon0 =
epsilon/(2T), beta0 = beta/(2T), alpha = 20 max((2/epsilon0) log(4 min(2^b, R)/beta0), (28/epsilon)
log(4/beta)), delta = alpha/2, k >= 4 alpha, noise for sensitivities 14. The "calibrated" ones minimise k
under the conditions above, with the true sensitivities 2 (u + v) of the jump and 2 max(u - v, v) of the
escape statistic (see :class:`geomdp.testers.prefix_search.PrefixSearchParty`). For both,
:attr:`PrefixSearchRules.failure` is the proved bound.

Source: Theorem 3.12 and its proof in the paper; the weights' trade-off, one-sided errors and constants are
ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from geomdp.core.errors import check_choice
from geomdp.privacy.law import dlap_sf
from geomdp.privacy.sampler import noise_scale
from geomdp.testers.common_frequency import bucket_count
from geomdp.testers.interior_point_plan import noise_tail

#: Weights (u, v) that are tried.
WEIGHTS = ((3, 2), (2, 1), (5, 2), (3, 1), (7, 2), (4, 1), (5, 1), (6, 1), (8, 1), (12, 1))
#: Shares of beta that the last message may use.
LAST = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
#: Survivors that a message of counts has room for.
SLOTS = 16
_SAFE = 1 + 1e-9  # more than the relative rounding error of every probability here


@dataclass(frozen=True)
class PrefixSearchRules:
    """Everything public that the protocol uses.

    Attributes:
        bits: b.
        size: k.
        buckets: R of every hashed query.
        epsilon_query: epsilon0.
        epsilon_last: ef.
        alpha, delta: the cuts of F^ and of its jump.
        weights: (u, v).
        up, down: tolerated errors of F^, see the module's text.
        sensitivity: by how much the statistics of a jump and of an escape can change, at least.

    Example:
        >>> rules = calibrate(17, Fraction(1), Fraction(1, 10))
        >>> (rules.resolution <= 2261, rules.failure <= 0.1, rules.epsilon <= 1)
        (True, True, True)
    """

    bits: int
    size: int
    buckets: int
    epsilon_query: Fraction
    epsilon_last: Fraction
    alpha: int
    delta: int
    weights: tuple[int, int]
    up: int
    down: int
    sensitivity: tuple[int, int]

    @property
    def queries(self) -> int:
        """T; 0 for b = 1, where the root's children are known to hold one party each."""
        return (self.bits - 1).bit_length()

    @property
    def resolution(self) -> int:
        """The least opt that is found Far, 2k - 1."""
        return 2 * self.size - 1

    @property
    def epsilon(self) -> Fraction:
        """The most that a party may spend."""
        return self.queries * self.epsilon_query + self.epsilon_last

    @property
    def cutoff(self) -> int:
        """The least noisy count that a query releases."""
        return self.size - self.alpha - self.delta + 1

    @cached_property
    def query_scale(self) -> Fraction:
        """Noise scale of a histogram: one replacement moves two counts by one."""
        return noise_scale(2, self.epsilon_query)

    def last_scale(self, jump: bool) -> Fraction:
        """Return the noise scale of the last statistic."""
        return noise_scale(self.sensitivity[0 if jump else 1], self.epsilon_last)

    @property
    def miscount(self) -> float:
        """The bound on one query's errors; certified. 0 where there is no query."""
        if not self.queries:
            return 0.0
        k, scale, cells = self.size, self.query_scale, min(self.buckets, 1 << self.bits - 1)
        stray, near = dlap_sf(self.cutoff, scale), dlap_sf(-(-self.cutoff // 2), scale)
        empty = math.exp(min(math.log(cells) + math.log(stray), 9.0)) if stray else 0.0
        shared = 2 * k * k / self.buckets if 1 << self.bits - 1 > self.buckets else 0.0
        wild = (2 * k + empty) * stray
        crowd = 2 * _poisson(k * near + empty)
        events = dlap_sf(self.up + 1, scale) + 2 * dlap_sf(self.down + 1, scale)
        return (events + wild + shared + crowd) * _SAFE

    @property
    def misjudged(self) -> float:
        """The bound on the last statistic's error; certified. 1 where a condition on k fails."""
        (u, v), k = self.weights, self.size
        jump, least = self.delta - self.up - self.down, self.alpha - self.down
        light = (2 * u + v) * (self.alpha - 1 + self.up) <= u * k
        heavy = (2 * u - v) * (self.alpha + self.delta - 2 + self.up) <= (u - v) * k
        if min(jump, least, self.cutoff) < 1 or not light or not heavy or 2 * self.cutoff <= k:
            return 1.0
        margins = ((2 * v * jump, True), (v * least, False))
        return max(_difference(margin, self.last_scale(case)) for margin, case in margins)

    @property
    def failure(self) -> float:
        """A certified bound on the probability of a wrong verdict under the promise."""
        return (self.queries * self.miscount + self.misjudged) * _SAFE


def _poisson(mean: float) -> float:
    """Return a bound on P(SLOTS - 3 or more of independent events occur), of `mean` in sum: mean^j / j!."""
    return min(1.0, mean ** (SLOTS - 3) / math.factorial(SLOTS - 3))


def _difference(margin: int, scale: Fraction) -> float:
    """Return a bound on P(Z - Z' >= margin) for two noises of one scale."""
    return float(noise_tail(np.array([margin]), float(scale), 2)[0]) * _SAFE


@lru_cache(maxsize=256)
def calibrate(
    bits: int, epsilon: Fraction, beta: Fraction, constants: str = "calibrated"
) -> PrefixSearchRules:
    """Return certified rules: those of the paper, or of least resolution on a grid of weights and shares.

    Args:
        bits: b >= 1.
        epsilon: each party's budget.
        beta: failure probability.
        constants: "paper" or "calibrated".

    Raises:
        ArgumentError: unless ``constants`` is "paper" or "calibrated".

    Example:
        >>> [calibrate(b + 1, Fraction(1), Fraction(1, 10), "paper").resolution for b in (16, 64)]
        [56879, 157727]
    """
    if check_choice("constants", constants, ("paper", "calibrated")) == "paper":
        return _of_the_paper(bits, epsilon, beta)
    queries = (bits - 1).bit_length()
    drafts = sorted(
        (_draft(queries, weights, last, float(beta)), weights, last) for weights in WEIGHTS for last in LAST
    )
    found = [_finished(bits, weights, last, epsilon, beta) for (_, _), weights, last in drafts[:4]]
    return min(found, key=lambda rules: rules.size)


def _of_the_paper(bits: int, epsilon: Fraction, beta: Fraction) -> PrefixSearchRules:
    """Return Algorithm 2's constants, k being the least solution of k >= 4 alpha(k)."""
    queries = max(1, (bits - 1).bit_length())  # T = 0 would divide by zero; nothing is asked then
    epsilon0, beta0 = epsilon / (2 * queries), beta / (2 * queries)
    size, alpha = 1, 0.0
    while True:
        buckets = bucket_count(size, beta0)
        cells = min(bits * math.log(2), math.log(buckets))
        count = float(2 / epsilon0) * (math.log(4) + cells - math.log(beta0))
        alpha = 20 * max(count, float(28 / epsilon) * math.log(4 / beta)) * (1 + 1e-12)
        if size >= 4 * alpha:
            break
        size = math.ceil(4 * alpha)
    error = int(alpha / 20)
    return PrefixSearchRules(
        bits,
        size,
        bucket_count(size, beta0),
        epsilon0,
        epsilon / 2,
        math.ceil(alpha),
        math.ceil(alpha / 2),
        (6, 1),
        error,
        error,
        (14, 14),
    )


def _draft(queries: int, weights: tuple[int, int], last: float, beta: float) -> tuple[float, float]:
    """Return (k, ef) at epsilon = 1, roughly: the split that minimises 4e + 3X/(2v), error e, margin X."""
    u, v = weights
    errors = 8 * queries * math.log(max(3 * queries / (2 * (1 - last) * beta), 1.5))
    margin = (2 * max(u - v, v) + u + v) / v * (math.log(1 / (last * beta)) + 1)
    root = math.sqrt(errors), math.sqrt(margin)
    return (2 * u - v) / (u - v) * sum(root) ** 2, root[1] / sum(root)


def draft_size(bits: int, beta: float) -> float:
    """Return k at epsilon = 1 up to a few percent; k is inversely proportional to epsilon.

    Example:
        >>> 0.9 < draft_size(17, 0.1) / calibrate(17, Fraction(1), Fraction(1, 10)).size < 1.1
        True
    """
    queries = (bits - 1).bit_length()
    return min(_draft(queries, weights, last, beta)[0] for weights in WEIGHTS for last in LAST)


def _finished(
    bits: int, weights: tuple[int, int], last: float, epsilon: Fraction, beta: Fraction
) -> PrefixSearchRules:
    """Return certified rules near a draft: integer errors and margins, then the least k that they allow."""
    queries = (bits - 1).bit_length()
    (u, v), part = weights, _draft(queries, weights, last, float(beta))[1]
    share = epsilon * Fraction(round(part * 2**20), 2**20) if queries else epsilon
    base = PrefixSearchRules(
        bits,
        1,
        1,
        (epsilon - share) / max(queries, 1),
        share,
        1,
        1,
        weights,
        0,
        0,
        (2 * (u + v), 2 * max(u - v, v)),
    )
    spare = float(beta) * (1 - last) * (1 - 1e-6) / max(queries, 1)
    if queries:
        up, down = _quantile(spare / 3, base.query_scale), _quantile(spare / 3, base.query_scale)
    else:
        up = down = 0
    margins = [_margin(float(beta) * last, base.last_scale(jump)) for jump in (True, False)]
    alpha, delta = down - (-margins[1] // v), up + down - (-margins[0] // (2 * v))
    size = max(
        -(-(2 * u + v) * (alpha - 1 + up) // u),
        -(-(2 * u - v) * (alpha + delta - 2 + up) // (u - v)),
        alpha + delta,
    )
    while True:
        buckets = bucket_count(size, beta) << 28
        rules = replace(base, size=size, buckets=buckets, alpha=alpha, delta=delta, up=up, down=down)
        if rules.failure <= beta:
            break
        size += 1 + size // 100
    return rules


def _quantile(level: float, scale: Fraction) -> int:
    """Return about the least z >= 0 with P(Z >= z + 1) <= level."""
    z = max(0, math.floor(-float(scale) * math.log(min(2 * level, 1.0))) - 2)
    while dlap_sf(z + 1, scale) > level:
        z += 1
    return z


def _margin(level: float, scale: Fraction) -> int:
    """Return the least margin with P(Z - Z' >= margin) <= level."""
    low, high = 0, 1
    while _difference(high, scale) > level:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _difference(middle, scale) <= level else (middle, high)
    return high
