"""Private interior point: a point between the least and the largest of private points.

Two methods: the exponential mechanism over all of the domain, whose need of points grows with the domain's
bit length, and one level of :mod:`geomdp.learners.oracles.tree_log` in front of it, which grows with the
logarithm of the bit length but has a large constant. Which one runs follows from public numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from geomdp.core.errors import ArgumentError, check_beta, check_epsilon, check_fraction, check_integer
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.oracles.noisy_tests import least_difference, least_reach
from geomdp.learners.oracles.tree_log import MedianPlan, TreePlan, check_plan, interior, side_points
from geomdp.privacy.sampler import Sampler, noise_scale

_UNIT = 1 << 20  # losses are multiples of epsilon / 2^20
_MOST_LEVELS = 8


def private_ip(
    ranks: Sequence[int],
    size: int,
    sampler: Sampler,
    *,
    epsilon: Fraction,
    delta: Fraction,
    beta: Fraction,
) -> int:
    """Return a rank between the least and the largest of the ranks, with probability >= 1 - beta.

    Proof note. Precondition: one rank is replaced; their number and the domain are public. The method is
    chosen from (number, size, epsilon, delta, beta) alone. The exponential mechanism on
    min(#{x <= z}, #{x >= z}) has sensitivity 1 and is epsilon-DP; the tree level is (epsilon, delta)-DP
    (:func:`geomdp.learners.oracles.tree_log.tree_log`); the move into the domain at the end is
    post-processing. Conclusion: (epsilon, delta)-DP on all inputs.

    With fewer points than :func:`plan_private_ip` asks for, the exponential mechanism runs; its answer is in
    the domain and as private, but need not lie between the points.

    Args:
        ranks: integers in 0, ..., size - 1.
        size: number of elements of the domain.
        sampler: the source of randomness.
        epsilon, delta: the privacy loss; delta = 0 leaves the exponential mechanism alone.
        beta: the failure probability that the choice of the method is made for.

    Returns:
        The rank.

    Raises:
        ArgumentError: unless ``ranks`` are integers in 0..size-1.

    Source: the interface of the paper's Theorem 8.9.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> ranks = [2**65 + k for k in range(300)]
        >>> budget = dict(epsilon=Fraction(1), delta=Fraction(1, 10**6), beta=Fraction(1, 20))
        >>> 0 <= private_ip(ranks, 2**66, SimSampler(0), **budget) - 2**65 < 300
        True
    """
    for rank in ranks:
        if not 0 <= rank < size:  # a programming error of the caller; no value is named
            raise ArgumentError("ranks", f"integers in 0..{size - 1 if size < 10**9 else 'size-1'}", "others")
    plan = plan_private_ip(size, epsilon, delta, beta)
    if len(ranks) < plan.n:
        plan = plan_levels(size, epsilon, delta, beta, levels=0)
    return min(interior(ranks, plan, sampler), size - 1)


def plan_private_ip(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> TreePlan | MedianPlan:
    """Return the plan that asks for fewer points: none or one tree level.

    A second level never pays: it would for bit lengths beyond anything that fits a memory.

    Example:
        >>> budget = Fraction(1), Fraction(1, 10**6), Fraction(1, 20)
        >>> plans = [plan_private_ip(2**h, *budget) for h in (66, 5026)]
        >>> [plan.levels for plan in plans], plans[0].n
        ([0, 1], 195)
    """
    plain = plan_levels(size, epsilon, delta, beta, levels=0)
    if not delta or size < 2:
        return plain
    return min(plain, plan_levels(size, epsilon, delta, beta, levels=1), key=lambda plan: plan.n)


@lru_cache(maxsize=256)
def plan_levels(
    size: int, epsilon: Fraction, delta: Fraction, beta: Fraction, levels: int
) -> TreePlan | MedianPlan:
    """Return the plan with the given number of tree levels; all probabilities in it are certified.

    Each level takes an equal part of delta, 7/8 of it for the search and 1/8 for the node, and beta is shared
    by its ways to fail: noise alone ends the search, the node is not released, the last choice, the inner
    level. epsilon is shared such that the sum of the needs, each a constant over its part, is about least.

    Args:
        size: number of elements of the domain, >= 1; at least 2 for a tree level.
        epsilon, delta: the privacy loss; delta > 0 for a tree level.
        beta: the failure probability.
        levels: 0 for the exponential mechanism alone.

    Raises:
        ArgumentError: on a size, epsilon, delta or beta out of range, on more levels than are supported, and
            on levels > 0 where delta is 0 or the domain has one element.

    Example:
        >>> plan = plan_levels(2**5026, Fraction(1), Fraction(1, 10**8), Fraction(1, 20), 1)
        >>> plan.epsilon == 1, plan.delta == Fraction(1, 10**8), plan.n < 1000
        (True, True, True)
    """
    check_integer("size", size, 1)
    epsilon, beta = check_epsilon(epsilon), check_beta(beta)
    check_integer("levels", levels, 0, _MOST_LEVELS)
    if not levels:
        # the best score is at least ceil(n/2), which must exceed the score 0 by the excess
        return MedianPlan(size, epsilon, 2 * exponential_excess(size, epsilon, beta) - 1)
    delta = check_fraction("delta", delta)
    if not 0 < delta < 1 or size < 2:
        raise ArgumentError("levels", "0 where delta is 0 or the domain has one element", f"{levels}")
    return _plan_tree(size, epsilon, delta, beta, levels)


def _plan_tree(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction, levels: int) -> TreePlan:
    bits = (size - 1).bit_length()
    search_delta, stability_delta = delta * 7 / (8 * levels), delta / (8 * levels)
    inner_delta = delta - search_delta - stability_delta
    stray = min(search_delta, beta / 4)  # noise alone ends the search
    part = (beta - stray) / 3
    search, stability, choice, rest = _shares(
        epsilon,
        3 * (_log_difference(stray / bits) + _log_difference(search_delta)) * 2,
        2 * (_log(1 / (2 * stability_delta)) + _log(1 / (2 * part))),
        4 * _log(1 / part),
        plan_levels(bits + 1, Fraction(1), inner_delta, part, levels - 1).n,
    )
    scale = noise_scale(3, search)
    threshold = least_difference(scale, stray / bits)
    heavy = threshold + least_difference(scale, search_delta) - 1
    calm = noise_scale(2, stability)
    margin = 2 + least_reach(calm, stability_delta)
    plan = TreePlan(
        bits=bits,
        search=search,
        stability=stability,
        choice=choice,
        search_delta=search_delta,
        stability_delta=stability_delta,
        threshold=threshold,
        heavy=heavy,
        margin=margin,
        side=side_points(choice, part),
        slice=max(2 * heavy + 1, margin - 1 + least_reach(calm, part)),
        inner=plan_levels(bits + 1, rest, inner_delta, part, levels - 1),
    )
    return check_plan(plan)


def _shares(
    epsilon: Fraction, search: float, stability: float, choice: float, rest: float
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return the parts of epsilon for the four steps.

    The slice must hold search/e_1 and stability/e_2 points, so the two are made equal; then the sum
    search/e_1 + choice/e_3 + rest/e_4 is least where the parts are as the roots of the constants. Floats
    choose the parts, which are then exact and add up to epsilon.
    """
    tied = 1 + stability / search
    weights = [math.sqrt(search / tied), math.sqrt(choice), math.sqrt(rest)]
    total = tied * weights[0] + weights[1] + weights[2]
    wanted = [(tied - 1) * weights[0], weights[1], weights[2]]
    e2, e3, e4 = (epsilon * max(1, int(_UNIT * w / total)) / _UNIT for w in wanted)
    return epsilon - e2 - e3 - e4, e2, e3, e4


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _log_difference(probability: Fraction) -> float:
    """Return about x with (x/4 + 1/2) exp(-x) = probability: the tail of a difference, in scales."""
    x = target = -_log(probability)
    for _ in range(30):
        x = max(target + math.log(x / 4 + 0.5), 1e-3)
    return x
