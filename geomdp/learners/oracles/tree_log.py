"""One level of a private interior point whose cost depends on the logarithm of the domain's bit length.

A heavy path is walked down the binary tree over [0, 2^h). Either a node on it has two heavy children, and the
point between them is safe to give; or the data hang together, and the depth at which points leave the path is
what has to be chosen: an interior point among the h + 1 depths. So the problem for h bits becomes one for
log2(h) bits.

The scheme (trimmed ends, heavy path, slices by depth, recursion on the depth, a last choice among border
points) is that of Kaplan, Ligett, Mansour, Naor and Stemmer, "Privately Learning Thresholds: Closing the
Exponential Gap" (COLT 2020), and Cohen, Lyu, Nelson, Sarlos and Stemmer, "Optimal Differentially Private
Learning of Thresholds and Quasi-Concave Optimization" (STOC 2023). It is a reconstruction: their random
slices and their accounting are replaced by slices of fixed size, one test on a capped minimum of weights, and
basic composition. The proof below covers what is written here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.learners.blocks import Blocks, exponential, objective
from geomdp.learners.oracles.noisy_tests import above_threshold, difference_tail, stable_leader
from geomdp.privacy.enclosure import Interval, exp_neg
from geomdp.privacy.sampler import Sampler, noise_scale


@dataclass(frozen=True)
class MedianPlan:
    """The exponential mechanism on the score min(#{x <= z}, #{x >= z}).

    Attributes:
        size: number of elements of the domain 0, ..., size - 1.
        epsilon: its privacy loss.
        n: number of points that its accuracy asks for.
    """

    size: int
    epsilon: Fraction
    n: int

    @property
    def levels(self) -> int:
        """The number of tree levels: none."""
        return 0

    @property
    def delta(self) -> Fraction:
        """The probability outside the guarantee: 0."""
        return Fraction(0)


@dataclass(frozen=True)
class TreePlan:
    """All public numbers of one level; :func:`check_plan` says what the proof asks of them.

    Attributes:
        bits: h; the points lie in [0, 2^h).
        search, stability, choice: privacy losses of the path search, of the node, of the last choice.
        search_delta, stability_delta: the probabilities outside the guarantees of the first two.
        threshold: a query must reach it, but for noise, to end the search.
        heavy: T, a query that ends the search at latest, but for search_delta.
        margin: a node must lead by it, but for noise.
        side: t, the number of points trimmed at either end.
        slice: the number of deepest points set aside to recognise the node, at least 2T + 1.
        inner: the plan for the depths 0, ..., h.
    """

    bits: int
    search: Fraction
    stability: Fraction
    choice: Fraction
    search_delta: Fraction
    stability_delta: Fraction
    threshold: int
    heavy: int
    margin: int
    side: int
    slice: int
    inner: TreePlan | MedianPlan

    @property
    def n(self) -> int:
        """The number of points that the accuracy asks for."""
        return 2 * self.side + self.slice + self.inner.n

    @property
    def levels(self) -> int:
        """The number of tree levels."""
        return 1 + self.inner.levels

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss: the sum over the steps."""
        return self.search + self.stability + self.choice + self.inner.epsilon

    @property
    def delta(self) -> Fraction:
        """The probability outside the guarantee: the sum over the steps."""
        return self.search_delta + self.stability_delta + self.inner.delta

    @property
    def cap(self) -> int:
        """The weight up to which a node's query is 0: T + 1."""
        return self.heavy + 1


def interior(points: Sequence[int], plan: TreePlan | MedianPlan, sampler: Sampler) -> int:
    """Return a point between the least and the largest of the points, by the plan.

    Args:
        points: integers of the plan's domain.
        plan: from :func:`geomdp.learners.oracles.private_ip.plan_levels`.
        sampler: the source of randomness.

    Raises:
        ArgumentError: when a tree level has fewer points than its slices hold.
    """
    if isinstance(plan, TreePlan):
        return tree_log(points, plan, sampler)
    return exponential(middle_blocks(points, plan.size), plan.epsilon, sampler)


def middle_blocks(points: Sequence[int], size: int) -> Blocks:
    """Return the score min(#{x <= z}, #{x >= z}) of the ranks z, of sensitivity 1.

    Its maximum is at least half the number of points, and it is positive between the least and the largest
    point only.

    Example:
        >>> [tuple(block) for block in middle_blocks([2, 2, 7], 10)]
        [(0, 1, 0), (2, 2, 2), (3, 7, 1), (8, 9, 0)]
    """
    counts = sorted(Counter(points).items())
    at_most, at_least, score = 0, len(points), 0
    cuts: list[tuple[int, int]] = []

    def move(place: int) -> None:
        nonlocal score
        cuts.append((place, min(at_most, at_least) - score))
        score = min(at_most, at_least)

    for x, count in counts:
        at_most += count
        move(x)
        at_least -= count
        move(x + 1)
    return objective(size, cuts)


def tree_log(points: Sequence[int], plan: TreePlan, sampler: Sampler) -> int:
    """Return an interior point of integers in [0, 2^h): (epsilon, delta)-DP on all inputs of one size.

    The sorted points are L (the t least), M, and R (the t largest). A node of the path with children weights
    l and r has the query min(l, r, max(0, l + r - cap)), weights in M, cap = T + 1. f(x) is the depth of the
    deepest path node that holds x.

        1. The first query over the threshold, but for noise, ends it all: the last leaf of its left child.
        2. D = the `slice` points of M with largest (f(x), x); f of the others gives depths in 0, ..., h.
        3. lev = an interior point of these depths, by the inner plan.
        4. v = the node of depth lev that holds most of D, if its lead is large; a public leaf otherwise.
        5. One of: the first leaf of v, the last one, and the last one of its left child; by permute-and-flip
           with the score min(#{x in L, x <= z}, #{x in R, x >= z}).

    Privacy. Let one point be replaced. Order statistics move by one place at most, so each of L, M and R
    changes by at most one replaced point. Primes mark the neighbour.

    (a) Both heavy paths are one. All queries change by at most 1 (weights do, and minimum, maximum and
    shift keep that), so step 1 is search-DP; f is one function.

    (b) The paths part at a node v: left child in M, right child in M'. Then l - r is 0 or 1, r' - l' is
    1 or 2. Queries up to v are of the same nodes and change by at most 1.

    (b1) Both queries at v are at least T. Each run ends at v or before, except with probability search_delta:
    it goes on at v only if rho - nu > T - threshold. Up to that event step 1 is search-DP and the answer
    depends on nothing else.

    (b2) One query at v is below T. In its own run either the lighter child has at most T - 1 points or the
    node has at most 2T. From l - r <= 1, r' - l' <= 2 and |l + r - l' - r'| <= 1 it follows in both runs that
    the node has at most 2T + 1 points and the heavier child at most T + 1 = cap. So all later queries are 0
    in both runs: the sequences of queries change by at most 1 throughout. A later end, at a node that the
    two runs do not share, has probability at most search_delta: one of fewer than h noises has
    nu - rho >= threshold. Up to that event step 1 is search-DP.

    (c) No end, in case (a) or (b2). In (b2) the points below v number at most 2T + 1 <= slice, and f is at
    least v's depth on them, less on all others; so D holds all of them in both runs, and f is one function on
    the others. Let the points below v come first and the others by (f, x): in this one order D is the
    beginning and the rest is the end, so each changes by at most one replaced point. Step 3 is private by
    its own proof, step 4 is (stability, stability_delta)-DP (:func:`stable_leader`), step 5 has scores of
    sensitivity 1 and is choice-DP.

    Cases (b1) and (b2) exclude each other, so search_delta is paid once. Conclusion, by basic composition:
    the sum of the four losses and of the deltas.

    Accuracy. An end of step 1 at a query >= 1 leaves points of M on both sides of the answer. Otherwise lev
    lies between depths f(a) <= lev <= f(b) of points of M outside D. All of D has depth f >= lev, so v is the
    path's node, with lead `slice`. If lev = h, b sits on the leaf v. If f(a) < lev, v holds b and not a, and
    its first or last leaf lies between. If f(a) = lev, a is in the lighter child, so both children hold
    points of M, and the last leaf of the left child lies between. A candidate between points of M has the
    full score t; those of score 0 number at most two.

    Args:
        points: integers in [0, 2^h), at least 2 side + slice of them.
        plan: the public numbers.
        sampler: the source of randomness.

    Returns:
        An integer in [0, 2^h).

    Raises:
        ArgumentError: when there are fewer points than the slices hold; the number of points is public.

    Example:
        >>> from geomdp.learners.oracles.private_ip import plan_levels
        >>> from geomdp.privacy.sampler import SimSampler
        >>> plan = plan_levels(2**400, Fraction(1), Fraction(1, 10**6), Fraction(1, 20), levels=1)
        >>> points = [3**k for k in range(252)] * (plan.n // 252 + 1)
        >>> 1 <= tree_log(points, plan, SimSampler(0)) <= 3**251
        True
    """
    least = 2 * plan.side + plan.slice
    if len(points) < least:
        raise ArgumentError("points", f"at least {least} points", f"{len(points)}")
    low, middle, high = _split(points, plan.side)
    path, queries = heavy_path(middle, plan)
    end = above_threshold(queries, plan.threshold, plan.search, sampler)
    if end is not None:
        return _last_of_left(path >> plan.bits - end, end, plan.bits)
    deep, depths = deepest(middle, path, plan)
    level = min(interior(depths, plan.inner, sampler), plan.bits)
    counts = dict(sorted(Counter(x >> plan.bits - level for x in deep).items()))
    node = stable_leader(counts, plan.margin, plan.stability, sampler)
    if node is None:
        return 1 << plan.bits >> 1
    candidates = _candidates(node, level, plan.bits)
    scores = [min(sum(x <= z for x in low), sum(x >= z for x in high)) for z in candidates]
    return candidates[sampler.permute_and_flip(scores, noise_scale(2, plan.choice))]


def _split(points: Sequence[int], side: int) -> tuple[list[int], list[int], list[int]]:
    ordered = sorted(points)
    return ordered[:side], ordered[side : len(ordered) - side], ordered[len(ordered) - side :]


def heavy_path(middle: Sequence[int], plan: TreePlan) -> tuple[int, list[int]]:
    """Return the leaf of the heavy path, and the query of each of its h inner nodes from the root.

    The path goes to the heavier child, to the left one where they are equal.

    Args:
        middle: M, ascending.
        plan: the public numbers.
    """
    node, first, last = 0, 0, len(middle)
    queries: list[int] = []
    for depth in range(plan.bits):
        split = (2 * node + 1) << plan.bits - depth - 1
        cut = bisect_left(middle, split, first, last)
        left, right = cut - first, last - cut
        queries.append(min(left, right, max(0, left + right - plan.cap)))
        if left >= right:
            node, last = 2 * node, cut
        else:
            node, first = 2 * node + 1, cut
    return node, queries


def deepest(middle: Sequence[int], path: int, plan: TreePlan) -> tuple[list[int], list[int]]:
    """Return the `slice` points of M with largest (f(x), x), and f of the others."""
    keyed = sorted(((plan.bits - (x ^ path).bit_length(), x) for x in middle), reverse=True)
    return [x for _, x in keyed[: plan.slice]], [depth for depth, _ in keyed[plan.slice :]]


def _last_of_left(node: int, depth: int, bits: int) -> int:
    return ((2 * node + 1) << bits - depth - 1) - 1


def _candidates(node: int, level: int, bits: int) -> list[int]:
    """Return the first and last leaf of a node, and the last leaf of its left child."""
    below = bits - level
    first, last = node << below, ((node + 1) << below) - 1
    return [first, last, _last_of_left(node, level, bits) if below else first]


def side_points(choice: Fraction, beta: Fraction) -> int:
    """Return the least t for which step 5 of :func:`tree_log` fails with probability at most beta.

    A candidate of score 0 is taken before one of score t with probability exp(-t/s)/2 at most, s the scale
    of permute-and-flip, and there are at most two.

    Example:
        >>> side_points(Fraction(1), Fraction(1, 20)), side_points(Fraction(1), Fraction(1, 2**400))
        (6, 555)
    """
    rate = 1 / noise_scale(2, choice)
    bits = 128 + beta.denominator.bit_length()

    def enough(t: int) -> bool:
        return Interval.exp_neg(rate * t, bits).hi <= beta

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def search_delta(plan: TreePlan) -> Fraction:
    """Return an upper bound on the probability outside step 1's guarantee, from the plan's integers alone.

    The larger of P(rho - nu > T - threshold) and (h - 1) P(nu - rho >= threshold).
    """
    scale = noise_scale(3, plan.search)
    late = _difference_tail(scale, plan.heavy - plan.threshold + 1)
    return max(late, (plan.bits - 1) * _difference_tail(scale, plan.threshold))


def stability_delta(plan: TreePlan) -> Fraction:
    """Return an upper bound on the probability that an unstable node is released: P(2 + Z >= margin)."""
    rate = 1 / noise_scale(2, plan.stability)
    t = plan.margin - 2
    if t < 1:
        return Fraction(1)
    low, _high = exp_neg(*rate.as_integer_ratio(), 256)
    return Interval.exp_neg(rate * t, 256).hi / (1 + Fraction(low, 1 << 256))


def _difference_tail(scale: Fraction, t: int) -> Fraction:
    return difference_tail(scale, t, 256).hi if t >= 1 else Fraction(1)


def check_plan(plan: TreePlan) -> TreePlan:
    """Return the plan if its integers keep the promises of its deltas.

    Raises:
        ArgumentError: otherwise.
    """
    check_integer("bits", plan.bits, 1)
    check_integer("slice", plan.slice, 2 * plan.heavy + 1)
    if search_delta(plan) > plan.search_delta or stability_delta(plan) > plan.stability_delta:
        raise ArgumentError("plan", "a plan whose thresholds keep its deltas", "one with larger deltas")
    return plan
