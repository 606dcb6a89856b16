r"""Calibration of the median-depth tester: budgets, scores of the fixed answers, block size, certified.

Notation: D = ceil(bits/digits) levels below the root, T = ceil(log2 D) queries, k members per block, R
buckets; es, er, ef the privacy losses of one question, one answer and the last message. A party is called
*low* at a level if its depth there is below `low`, and *high* if it is at least `high`; `ask` and `reply` are
the scores of the fixed messages "unstable" of the asking and the answering party, low <= ask, reply < high.

*One query.* Let a = exp(-es), c = exp(-er). Permute-and-flip lets one of N candidates that are g or more
below the best one win with probability at most N/2 exp(-g/scale) (see ``pf_tail``). So:

    foreign = R/2 a^ask          the asking party names a bucket that is not its own node's
    named   = 1/2 a^(ask-low+1)  it names its own bucket though it is low
    hidden  = 1/2 a^(high-ask)   it says "unstable" though it is high
    wrong   = 1/2 c^reply        the answering party confuses "same bucket" and "other bucket"
    vouched = 1/2 c^(reply-low+1), refused = 1/2 c^(high-reply)    as `named` and `hidden`
    1/R                          two different nodes share the bucket

A query is *truthful* if "same" means one common node at which neither party is low; "different" means two
nodes, neither party low; "unstable" means that its speaker is not high. If the asking party is low, a false
outcome needs `foreign` or `named`. If it is neither low nor high, it needs `foreign`, `wrong`, or one of
`vouched` and `refused`. If it is high, foreign buckets are further below the best candidate, namely by high
or more, and `hidden` comes in. So, except for "same" said of two different nodes, false outcomes have
probability at most

    eta = max(foreign + named, foreign + other, R/2 a^high + hidden + other),
    other = wrong + max(vouched, refused),

in every state of the data. "Same" is said of different nodes with probability at most

    clash = 1/R + wrong + 1/2 a^ask:

they share a bucket, or the answering party is wrong, or the other node's bucket is named by chance.

*The search.* Let l be the last level at which the lower medians share a node; l < D, as the parties share no
leaf. Levels up to l hold one node, later ones two. If no later level is called "same", the search ends with L
<= l; then H <= l, or H = l + 1. So false reasons at later levels matter in one query only, that of level l +
1. With at most T queries, of which at least one is at a later level if level l + 1 is asked, L and H are as
the proof in :mod:`geomdp.testers.median_depth` needs them except with probability at most

    max(T eta + clash, T clash + eta).

*The end.* The reasons why the last message errs with probability at most

    last = 2^digits/2 exp(-ef min(low, k/2 - high + 1)/2) + 1/2 exp(-ef low)

are in :mod:`geomdp.testers.median_depth`. The calibration keeps the sum of both bounds at most beta, and the
resolution is 2k - 1. A party asks at most ceil(T/2) times and answers in the others, so it spends at most
max(es, er) ceil(T/2) + min(es, er) floor(T/2) + ef <= epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.privacy.law import pf_tail
from geomdp.privacy.sampler import noise_scale

#: Digits per level that are tried: 1 is the binary trie, more is the hybrid with a selection over leaves.
DIGITS = (*range(1, 13), 14, 17, 20, 24, 32)
#: Numbers of buckets that are tried, in units of 1/eta.
RATIOS = (1.0, 1.15, 1.3, 1.6, 2.0, 3.0, 4.0, 6.0, 9.0)
#: Shares of beta that the last message may use.
LAST = tuple(j / 40 for j in range(1, 24, 2))
#: Relative steps by which the drafted losses of a question and of an answer are varied.
STRETCHES = (0.04, 0.012)
_UNIT = 2**24  # shares of the budget are multiples of epsilon / 2^24


@dataclass(frozen=True)
class MedianDepthRules:
    """Everything public that the protocol uses.

    Attributes:
        bits: depth of the binary trie.
        digits: binary digits per level.
        size: k, even.
        buckets: R.
        epsilon_ask, epsilon_reply, epsilon_last: es, er, ef.
        low, high, ask, reply: see the module's text.

    Example:
        >>> rules = calibrate(17, Fraction(1), Fraction(1, 10))
        >>> (rules.size % 2, rules.failure <= 0.1, rules.epsilon <= 1, rules.resolution < 120)
        (0, True, True, True)
    """

    bits: int
    digits: int
    size: int
    buckets: int
    epsilon_ask: Fraction
    epsilon_reply: Fraction
    epsilon_last: Fraction
    low: int
    high: int
    ask: int
    reply: int

    @property
    def levels(self) -> int:
        """D, the level of the leaves; the root has level 0."""
        return -(-self.bits // self.digits)

    @property
    def queries(self) -> int:
        """T, the largest number of queries of a search for adjacent levels among 0..D."""
        return (self.levels - 1).bit_length()

    def shift(self, level: int) -> int:
        """Return how many binary digits a node of this level lacks; level 1 may have fewer than `digits`."""
        return self.digits * (self.levels - level)

    @property
    def resolution(self) -> int:
        """The least opt that is found Far, 2k - 1."""
        return 2 * self.size - 1

    @property
    def epsilon(self) -> Fraction:
        """The most that a party may spend."""
        asked, replied = self.epsilon_ask, self.epsilon_reply
        half = self.queries // 2
        odd = max(asked, replied) if self.queries % 2 else Fraction(0)
        return half * (asked + replied) + odd + self.epsilon_last

    @cached_property
    def ask_scale(self) -> Fraction:
        """Scale of a question's selection: one score changes by at most 1."""
        return noise_scale(1, self.epsilon_ask)

    @cached_property
    def reply_scale(self) -> Fraction:
        """Scale of an answer's selection: one score changes by at most 1."""
        return noise_scale(1, self.epsilon_reply)

    @cached_property
    def place_scale(self) -> Fraction:
        """Scale of the selection of an interior point: many scores change by at most 1, either way."""
        return noise_scale(2, self.epsilon_last)

    @cached_property
    def side_scale(self) -> Fraction:
        """Scale of the selection of a child or side: one score changes by at most 1."""
        return noise_scale(1, self.epsilon_last)

    @property
    def eta(self) -> float:
        """The bound on one query's false outcomes but "same" of different nodes; certified."""
        a, c = self.ask_scale, self.reply_scale
        foreign, remote = (pf_tail(self.buckets, gap, a) for gap in (self.ask, self.high))
        named, hidden = pf_tail(1, self.ask - self.low + 1, a), pf_tail(1, self.high - self.ask, a)
        wrong = pf_tail(1, self.reply, c)
        vouched, refused = pf_tail(1, self.reply - self.low + 1, c), pf_tail(1, self.high - self.reply, c)
        other = wrong + max(vouched, refused)
        return max(foreign + named, foreign + other, remote + hidden + other) * (1 + 1e-12)

    @property
    def clash(self) -> float:
        """The bound on "same" said of two different nodes; certified."""
        wrong, chance = pf_tail(1, self.reply, self.reply_scale), pf_tail(1, self.ask, self.ask_scale)
        return (1 / self.buckets + wrong + chance) * (1 + 1e-9)

    @property
    def last(self) -> float:
        """The bound on the last messages' errors; certified."""
        gap = min(self.low, self.size // 2 - self.high + 1)
        place = pf_tail(2**self.digits, gap, self.place_scale)
        return (place + pf_tail(1, self.low, self.side_scale)) * (1 + 1e-12)

    @property
    def failure(self) -> float:
        """A certified bound on the probability of a wrong verdict under the promise."""
        if not self.queries:
            return self.last
        eta, clash, queries = self.eta, self.clash, self.queries
        return (max(queries * eta + clash, queries * clash + eta) + self.last) * (1 + 1e-12)


@lru_cache(maxsize=256)
def calibrate(
    bits: int, epsilon: Fraction, beta: Fraction, digits: tuple[int, ...] = DIGITS
) -> MedianDepthRules:
    """Return the certified rules of least resolution that a search over digits, buckets and shares finds.

    Args:
        bits: depth of the binary trie, >= 1.
        epsilon: each party's budget.
        beta: failure probability.
        digits: the digits per level to choose from; (1,) is the plain binary trie.

    Raises:
        CapacityError: when ``beta`` is too small to be divided among the queries.

    Example:
        >>> [calibrate(b + 1, Fraction(1), Fraction(1, 10), (1,)).size <= 5 * b + 165 for b in (16, 32)]
        [True, True]
    """
    drafts = sorted(
        (_draft(bits, width, float(beta)) for width in {min(d, bits) for d in digits}),
        key=lambda draft: draft.height,
    )
    found = [_settled(bits, draft, epsilon, beta) for draft in drafts[:2]]
    able = [rules for rules in found if rules is not None]
    if not able:
        raise CapacityError(
            "beta", "so large that its errors can be divided among the queries", "a smaller one"
        )
    return min(able, key=lambda rules: rules.size)


@dataclass(frozen=True)
class _Draft:
    """A proposal at epsilon = 1 in real numbers: k/2, and what the exact search starts from."""

    height: float
    digits: int
    buckets: int
    ask: float
    reply: float
    low: float


def _draft(bits: int, digits: int, beta: float) -> _Draft:
    """Return the best real-valued proposal with this many digits per level, from grids and a bisection.

    The error of each query is divided into two equal parts, one for `refused` and one for the larger of
    `foreign` and `hidden`; R is a multiple of 1/eta. With low = X/ef and H = -log(2 hidden), high >= (log(R)
    + 2H)/es and high >= low + 2H/er; both parties' budgets then decide how small `high` can be.
    """
    queries = (-(-bits // digits) - 1).bit_length()
    share, last, ratio = np.meshgrid(LAST, np.arange(2, 40, 2) / 40, RATIOS, indexing="ij")
    x = 2 * (digits * math.log(2) - np.log(2 * 0.98 * share * beta))
    if not queries:
        return _Draft(2 * float(x.min()), digits, 1, 0.0, 0.0, float(x.min()))
    eta = (1 - share) * beta / (queries + 1 / ratio)
    buckets = np.ceil(1.1 * ratio / eta)
    hidden = np.maximum(-np.log(eta), 0) + 0.01
    asked, replied = np.log(buckets) + 2 * hidden, 2 * hidden
    low = x / last
    below, above = low, low + 1e9
    for _ in range(50):
        middle = (below + above) / 2
        es, er = asked / middle, replied / (middle - low)
        good = queries // 2 * (es + er) + queries % 2 * np.maximum(es, er) <= 1 - last
        below, above = np.where(good, below, middle), np.where(good, middle, above)
    i = np.unravel_index(int(np.argmin(low + above)), low.shape)
    high = float(above[i])
    es, er = asked[i] / high, replied[i] / (high - low[i])
    return _Draft(float(low[i]) + high, digits, int(buckets[i]), float(es), float(er), float(low[i]))


def _settled(bits: int, draft: _Draft, epsilon: Fraction, beta: Fraction) -> MedianDepthRules | None:
    """Return certified rules near a draft, or near drafts with more room where it leaves none.

    A draft neglects terms that rounding to integers adds, so that all its neighbours may be just too small.
    """
    for _ in range(12):
        rules = _finished(bits, draft, epsilon, beta)
        if rules is not None:
            return rules
        draft = replace(draft, buckets=2 * draft.buckets, low=1.03 * draft.low)
    return None


def _finished(bits: int, draft: _Draft, epsilon: Fraction, beta: Fraction) -> MedianDepthRules | None:
    """Return certified rules near a draft: exact shares, then the least block size that is found for them.

    None where no neighbour of the draft is usable.
    """
    queries = (-(-bits // draft.digits) - 1).bit_length()
    centre, best = (draft.ask, draft.reply), None
    for width in STRETCHES if queries else (0.0,):
        factors = [1 + width * i for i in range(-2, 3)] if width else [1.0]
        for parts in [(centre[0] * f, centre[1] * g) for f, g in product(factors, factors)]:
            ask, reply = (epsilon * Fraction(int(part * _UNIT), _UNIT) for part in parts)
            spent = queries // 2 * (ask + reply) + (max(ask, reply) if queries % 2 else 0)
            base = MedianDepthRules(
                bits, draft.digits, 2, draft.buckets, ask, reply, epsilon - spent, 1, 1, 1, 1
            )
            found = _searched(base, draft.low / float(epsilon), float(beta))
            if found is not None and (best is None or found.size < best.size):
                best, centre = found, parts
    if best is None:
        return None
    while best.failure > beta:
        best = replace(best, size=best.size + 2, high=best.high + 1)
    return best


def _searched(base: MedianDepthRules, guess: float, beta: float) -> MedianDepthRules | None:
    """Return the rules of least block size among a grid of `low` and error parts, or None if none is left.

    Only a search: floats, and the simple form of the bounds; the result is certified afterwards.
    """
    low = np.unique(np.maximum(1, np.rint(guess * np.linspace(0.86, 1.2, 18))))
    last = _half(2**base.digits, low / float(base.place_scale)) + _half(1, low / float(base.side_scale))
    low, last = low[last < beta * (1 - 1e-9)], last[last < beta * (1 - 1e-9)]
    if not len(low):
        return None
    if not base.queries:
        return replace(base, size=2 * int(low[0]), low=int(low[0]), high=1)
    a, c, r = float(1 / base.ask_scale), float(1 / base.reply_scale), base.buckets
    fraction = np.linspace(0.1, 0.95, 18)
    rest = ((beta - last) * (1 - 1e-8))[:, None, None]
    eta = (rest - 1 / r) / base.queries
    low = low[:, None, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        ask = np.maximum(np.ceil(np.log(r / 2 / (eta * fraction[:, None])) / a), low)
        reply = low + np.maximum(np.ceil(-np.log(2 * eta * fraction) / c - 1), 0)
    foreign, vouched = _half(r, ask * a), _half(1, (reply - low + 1) * c)
    wrong = _half(1, reply * c)
    clash = 1 / r + wrong + _half(1, ask * a)
    eta = (rest - clash) / base.queries
    spare = eta - wrong
    usable = (
        (rest - base.queries * clash >= eta)
        & (foreign + _half(1, (ask - low + 1) * a) <= eta)
        & (foreign + vouched < spare * (1 - 1e-9))
    )
    if not usable.any():
        return None
    # hidden + remote = hidden (1 + 2 foreign), and foreign, each with max(vouched, refused): <= spare
    half = np.full(usable.shape, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        for portion in (0.4, 0.5, 0.6):
            part = np.minimum(np.maximum(spare * portion, foreign), spare - vouched)
            by_ask = ask + np.maximum(np.ceil(-np.log(2 * part / (1 + 2 * foreign)) / a), 1)
            by_reply = reply + np.maximum(np.ceil(-np.log(2 * (spare - part)) / c), 1)
            half = np.fmin(half, np.where(usable, np.maximum(by_ask, by_reply) - 1 + low, np.inf))
    i, j, k = np.unravel_index(int(np.argmin(half)), half.shape)
    best = int(low[i, 0, 0])
    return replace(
        base,
        size=2 * int(half[i, j, k]),
        low=best,
        high=int(half[i, j, k]) + 1 - best,
        ask=int(ask[i, j, 0]),
        reply=int(reply[i, 0, k]),
    )


def _half(count: int, exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(count / 2 * np.exp(-exponent))


def draft_size(bits: int, beta: float, digits: tuple[int, ...] = DIGITS) -> float:
    """Return k at epsilon = 1 up to a few percent; k is inversely proportional to epsilon.

    Example:
        >>> 0.85 < draft_size(65, 0.1) / calibrate(65, Fraction(1), Fraction(1, 10)).size < 1.15
        True
    """
    return 2 * min(float(_draft(bits, width, beta).height) for width in {min(d, bits) for d in digits})
