"""Reference: the recursive optimiser for quasi-concave scores, for comparison.

The algorithm is RecConcave of Beimel, Nissim and Stemmer, "Private Learning and Sanitization: Pure vs.
Approximate Differential Privacy" (APPROX-RANDOM 2013). Its steps are theirs. Reconstructed here: the
constants (:func:`plan_rec_concave`, derived in the docstrings), a stability test on the best tile in place of
their choosing mechanism, a free inner slack in place of a quarter of the inner promise, and the arithmetic on
blocks, by which a domain may have any size. The exponential mechanism on the envelope
(:mod:`geomdp.learners.oracles.quasi_concave`) loses less for coordinates of up to a few hundred bits, needs
no delta, and keeps its accuracy without a promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_beta, check_epsilon, check_fraction, check_integer
from geomdp.learners.blocks import Block, Blocks, check_blocks, exponential, exponential_excess
from geomdp.learners.oracles.noisy_tests import least_reach, stable_leader
from geomdp.privacy.sampler import Sampler, noise_scale

#: Domains of at most this size are searched by the exponential mechanism.
SMALL = 32
_TILE = 8  # lengths of a tile, in steps


@dataclass(frozen=True)
class RecPlan:
    """The public numbers of one level.

    Attributes:
        size: number of elements of the domain.
        epsilon: the loss of every single step.
        delta: the probability outside the guarantee of every tile's test.
        margin: a tile must lead by it, but for noise.
        slack: s; from a best score of at least r >= s, the answer has at least r - s.
        inner: the plan for the lengths, None for the exponential mechanism alone.
    """

    size: int
    epsilon: Fraction
    delta: Fraction
    margin: int
    slack: int
    inner: RecPlan | None

    @property
    def levels(self) -> int:
        """The number of levels above the last exponential mechanism."""
        return 0 if self.inner is None else 1 + self.inner.levels

    @property
    def total_epsilon(self) -> Fraction:
        """The loss of all steps: three for each level, one at the end."""
        return (3 * self.levels + 1) * self.epsilon

    @property
    def total_delta(self) -> Fraction:
        """The probability outside the guarantee: two tests for each level."""
        return 2 * self.levels * self.delta


def plan_rec_concave(
    size: int, epsilon: Fraction, delta: Fraction, beta: Fraction, levels: int = 1
) -> RecPlan:
    """Return a plan with at most the given number of levels; its `slack` is the error it promises.

    One level with inner slack s' and h = s/2 needs a lead of h - s' to pass the test but with probability
    beta', and h - s' at least the excess of the exponential mechanism on 16 elements. beta' is beta over
    twice the levels plus one.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 1, ``epsilon`` is a number with 10^-6 <= epsilon <=
            100, ``beta`` is a number with 0 < beta < 1, ``levels`` is an integer with 0 <= levels <= 8 and
            ``delta`` is a number with 0 < delta < 1.

    Example:
        >>> from geomdp.learners.oracles.quasi_concave import quasi_concave_error
        >>> for bits in (66, 5026):
        ...     plan = plan_rec_concave(2**bits, Fraction(1), Fraction(1, 10**6), Fraction(1, 20))
        ...     error = quasi_concave_error(2**bits, Fraction(1), Fraction(1, 20))
        ...     print(plan.total_epsilon, plan.slack < error)
        1 False
        1 True
    """
    check_integer("size", size, 1)
    epsilon, beta = check_epsilon(epsilon), check_beta(beta)
    wanted = check_integer("levels", levels, 0, 8)
    sizes = [size]
    while len(sizes) <= wanted and sizes[-1] > SMALL:
        sizes.append((sizes[-1] - 1).bit_length() + 1)
    R = len(sizes) - 1
    chance = check_fraction("delta", delta)
    if R and not 0 < chance < 1:
        raise ArgumentError("delta", "a number with 0 < delta < 1", "another")
    step, share = epsilon / (3 * R + 1), beta / (2 * R + 1)
    plan = RecPlan(sizes[-1], step, Fraction(0), 0, exponential_excess(sizes[-1], step, share), None)
    for below in reversed(sizes[:-1]):
        test, scale = chance / (2 * R), noise_scale(2, step)
        margin = 2 + least_reach(scale, test)
        lead = max(margin - 1 + least_reach(scale, share), exponential_excess(2 * _TILE, step, share))
        plan = RecPlan(below, step, test, margin, 2 * (plan.slack + lead), plan)
    return plan


def rec_concave(blocks: Sequence[Block], promise: int, plan: RecPlan, sampler: Sampler) -> int:
    """Return an element of score at least promise - slack, if the score is quasi-concave and reaches promise.

    With L(j) = the largest v such that some 2^j neighbours all have score >= v, and s the slack, the lengths
    j get the score q(j) = min(L(j) - (r - s), r - L(j + 1)); the procedure calls itself on q with the promise
    h = s/2 and finds k. The domain is cut into tiles of length 8 2^k, once from 0 and once from
    -4 2^k. In each tiling the tile of largest best score is released if it leads clearly. The multiples of
    2^k in the two tiles are compared by the exponential mechanism.

    Privacy, on all inputs. Precondition: scores change by at most 1. So do L, q and the best score of a
    tile: the inner call is private by induction (the last one is an exponential mechanism), each test is
    (epsilon, delta)-DP (:func:`geomdp.learners.oracles.noisy_tests.stable_leader`), and the last choice is an
    exponential mechanism on a set that the steps before made public. Basic composition gives
    `plan.total_epsilon` and `plan.total_delta`.

    Accuracy. L falls and L(0) >= r, so the largest j with L(j) >= r - s + h has q(j) >= h, and q is
    quasi-concave. The inner answer has q(k) >= h - s', s' the inner slack. So the elements of score > r - (h
    - s') are fewer than 2^(k+1) neighbours, the best p among them. p lies in the middle half of a tile of one
    tiling; that tile holds them all and leads by h - s'. 2^k neighbours around p have scores >= r - s + h -
    s', one of them is a multiple of 2^k in the tile, and the exponential mechanism loses at most h - s'.

    Args:
        blocks: the scores over 0, ..., plan.size - 1.
        promise: r, a public number.
        plan: from :func:`plan_rec_concave`.
        sampler: the source of randomness.

    Returns:
        The element.

    Raises:
        ArgumentError: unless ``blocks`` is an objective over as many elements as the plan is for.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> plan = plan_rec_concave(2**40, Fraction(4), Fraction(1, 10**4), Fraction(1, 20))
        >>> at = 10**9
        >>> peak = [Block(0, at, 0), Block(at + 1, at + 5000, 4000), Block(at + 5001, 2**40 - 1, 7)]
        >>> 0 < rec_concave(peak, 4000, plan, SimSampler(0)) - at <= 5000
        True
    """
    blocks = check_blocks(blocks)
    if blocks[-1].last != plan.size - 1:
        raise ArgumentError("blocks", f"an objective over {plan.size} elements", f"{blocks[-1].last + 1}")
    if plan.inner is None:
        return exponential(blocks, plan.epsilon, sampler)
    scores = length_scores(blocks, promise, plan.slack)
    k = rec_concave(scores, plan.slack // 2, plan.inner, sampler)
    found: set[int] = set()
    for shift in (0, _TILE // 2 << k):
        tile = _tile(blocks, _TILE << k, shift, plan, sampler)
        start = tile * (_TILE << k) - shift
        found |= {start + (i << k) for i in range(_TILE)}
    places = sorted(z for z in found if 0 <= z < plan.size) or [0]
    return places[exponential(_listed(blocks, places), plan.epsilon, sampler)]


def length_scores(blocks: Sequence[Block], promise: int, slack: int) -> Blocks:
    """Return q(j) for j = 0, ..., log2 of the domain's size, rounded up to a power of two.

    Places beyond the domain have the score min(0, the last score); L beyond the last length is
    min(0, the least score).

    Example:
        >>> [b.score for b in length_scores([Block(0, 0, 9), Block(1, 1, 8), Block(2, 3, 1)], 9, 4)]
        [1, 3, -4]
    """
    size = blocks[-1].last + 1
    top = (size - 1).bit_length()
    whole = list(blocks)
    if size < 1 << top:
        whole.append(Block(size, (1 << top) - 1, min(0, blocks[-1].score)))
    levels = sorted({block.score for block in whole}, reverse=True)
    longest = [_longest(whole, level) for level in levels]
    L = []
    at = 0
    for j in range(top + 1):
        while longest[at] < 1 << j:
            at += 1
        L.append(levels[at])
    L.append(min(0, L[-1]))
    return tuple(Block(j, j, min(L[j] - (promise - slack), promise - L[j + 1])) for j in range(top + 1))


def _longest(blocks: Sequence[Block], level: int) -> int:
    """Return the length of the longest run of elements with at least this score."""
    best = run = 0
    for block in blocks:
        run = run + block.size if block.score >= level else 0
        best = max(best, run)
    return best


def _tile(blocks: Blocks, length: int, shift: int, plan: RecPlan, sampler: Sampler) -> int:
    """Return the tile of largest best score if it leads, else tile 0; tile i begins at i length - shift."""
    if plan.size - 1 + shift < length:  # one tile, whatever the data
        return 0
    leader, best, second = best_tile(blocks, length, shift)
    return stable_leader({leader: best, -1: second}, plan.margin, plan.epsilon, sampler) or 0


def best_tile(blocks: Sequence[Block], length: int, shift: int) -> tuple[int, int, int]:
    """Return (tile, its best score, the best score outside it); the first tile of the best score.

    Example:
        >>> best_tile([Block(0, 9, 1), Block(10, 10, 7), Block(11, 40, 3)], 8, 4)
        (1, 7, 3)
    """
    ordered = sorted(blocks, key=lambda block: (-block.score, block.first))
    leader = (ordered[0].first + shift) // length
    for block in ordered:
        if not leader == (block.first + shift) // length == (block.last + shift) // length:
            return leader, ordered[0].score, block.score
    return leader, ordered[0].score, ordered[-1].score


def _listed(blocks: Blocks, places: Sequence[int]) -> Blocks:
    scores = [next(block.score for block in blocks if block.last >= z) for z in places]
    return tuple(Block(i, i, score) for i, score in enumerate(scores))
