"""Sequential protocols for hidden layers that announce no layer: random leaves, and a layer in between.

They complete :mod:`geomdp.local.hidden_baselines`, which says what they are for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from geomdp.core.errors import CapacityError, check_integer
from geomdp.local.finite import check_ratio
from geomdp.local.hidden_layers import ALICE, BOB, Path, level_of
from geomdp.local.hidden_messages import Message, ask_both, ask_coded, bits_of, first_taking, takes_edge
from geomdp.local.hidden_solver import skip
from geomdp.local.kernels import RandomisedResponse
from geomdp.local.models import Pool
from geomdp.local.protocol import Coin, MakeProtocol, Steps
from geomdp.local.signs import KEY, Signs
from geomdp.local.votes import (
    both_success,
    check_target,
    code_rates,
    shared_users,
    stage_success,
    stage_users,
)
from geomdp.protocol.transcript import PARTIES


def random_leaf(arity: int, depth: int, ratio: Fraction, plan: LeafPlan) -> MakeProtocol:
    """Return the sequential protocol of random leaves.

    A trial: `plan.leaves` public random leaves; one cohort names the first of them that takes Alice's edge
    (random signs), a second cohort says whether it takes Bob's (majority against a threshold). The first leaf
    with enough yes is the answer; None if no trial has.

    Proof note. A user answers one randomised response, or with a fair coin: log(ratio)-DP.
    """
    check_ratio(ratio)

    def steps() -> Steps:
        pool = Pool(plan.users)
        signs = Signs((yield Coin(KEY)))
        for trial in range(plan.trials):
            key = yield Coin(2**64)
            leaves = [skip(Path(), depth, arity, key << 32 | i) for i in range(plan.leaves)]
            cohort = pool.take(plan.namers).users
            index = yield from ask_coded(
                signs, trial, cohort, size=plan.leaves, role=ALICE, message=first_taking(leaves), ratio=ratio
            )
            leaf = leaves[index]
            bits = yield pool.take(plan.judges).ask(RandomisedResponse(ratio, _judge(leaf)))
            if sum(bits) >= plan.threshold:
                return leaf
        return None

    return steps


def _judge(leaf: Path) -> Callable[[Any], int | None]:
    return lambda x: int(takes_edge(x, leaf)) if x[0] == BOB else None


@dataclass(frozen=True)
class LeafPlan:
    """Sizes for :func:`random_leaf`.

    Attributes:
        trials: largest number of trials.
        leaves: public leaves per trial.
        namers: users who name a leaf.
        judges: users who judge it.
        threshold: least number of ones that accepts.
        users: trials * (namers + judges).
        success: a lower bound on the probability of a right answer.
    """

    trials: int
    leaves: int
    namers: int
    judges: int
    threshold: int
    users: int
    success: float


@lru_cache(maxsize=64)
def plan_random_leaf(arity: int, ratio: Fraction, target: float = 0.9) -> LeafPlan:
    """Return the cheapest plan of a small search over list lengths, naming errors and thresholds.

    Over random leaves, a list offers Alice's edge with probability c = 1 - (1 - 1/arity)^leaves, and a leaf
    takes Bob's with probability 1/arity. A trial is right with probability r = c (name) (yes | right)/arity
    or more. It accepts a wrong leaf only on a false yes, or on Bob's edge with a leaf that is not Alice's:
    with probability at most w = (false yes) + (1 - c name)/arity. Trials are independent and the first
    accepted one counts: success >= r/(r+w) (1 - (1-r-w)^trials).

    Raises:
        ArgumentError: unless ``arity`` is an integer >= 2.
        CapacityError: on a target above 0.97.

    Example:
        >>> from geomdp.local.finite import odds
        >>> plan_random_leaf(4, odds(1)).success >= 0.9
        True
    """
    check_integer("arity", arity, 2)
    check_target(target)
    grid = itertools.product(
        [arity << extra for extra in (1, 2, 3)],
        (0.9, 0.95, 0.98, 0.99),
        (0.8, 0.9, 0.95, 0.98),
        (0.003, 0.01, 0.03),
    )
    plans = (
        _leaf_plan(arity, ratio, target, leaves=leaves, name=name, yes=yes, false_yes=mistake)
        for leaves, name, yes, mistake in grid
    )
    found = [plan for plan in plans if plan is not None]
    if not found:
        raise CapacityError("target", "at most 0.97", target, "Longer lists would be needed.")
    return min(found, key=lambda plan: plan.users)


def _leaf_plan(
    arity: int, ratio: Fraction, target: float, *, leaves: int, name: float, yes: float, false_yes: float
) -> LeafPlan | None:
    namers = stage_users(leaves, code_rates(ratio), name)
    named = stage_success(namers, leaves, code_rates(ratio)) * (1 - (1 - 1 / arity) ** leaves)
    judges, threshold, accepts, mistakes = _judges(ratio, yes, false_yes / arity)
    right, wrong = named * accepts / arity, mistakes + (1 - named) / arity
    ceiling = right / (right + wrong)
    if ceiling <= target:
        return None
    trials = math.ceil(math.log1p(-target / ceiling) / math.log1p(-right - wrong))
    success = ceiling * -math.expm1(trials * math.log1p(-right - wrong))
    return LeafPlan(trials, leaves, namers, judges, threshold, trials * (namers + judges), success)


@lru_cache(maxsize=1024)
def _judges(ratio: Fraction, true_yes: float, false_yes: float) -> tuple[int, int, float, float]:
    """Return (users, threshold, P(accept | yes), P(accept | no)) with the two demands met."""
    from scipy.special import bdtrc

    right = float(sum(code_rates(ratio)) / 2)

    def split(n: int) -> int:
        """Return the least threshold with few enough false yes."""
        low, high = 0, n + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if bdtrc(middle - 1, n, 1 - right) > false_yes else (low, middle)
        return high

    def accepts(n: int) -> float:
        return float(bdtrc(split(n) - 1, n, right))

    n = 1
    while accepts(n) < true_yes:
        n = n + max(1, n // 50)
    threshold = split(n)
    return n, threshold, accepts(n), float(bdtrc(threshold - 1, n, 1 - right))


@dataclass(frozen=True)
class SplitPlan:
    """Sizes for :func:`separate`.

    Attributes:
        bits: leading bits that each role publishes.
        voters: users who publish them, one cohort for both roles.
        paths: length of a list of public random paths.
        namers: users who name a path.
        users: voters + 2 namers.
        success: a lower bound on the probability of a right answer, for uniform layers.
    """

    bits: int
    voters: int
    paths: int
    namers: int
    users: int
    success: float


def separate(arity: int, depth: int, ratio: Fraction, plan: SplitPlan) -> MakeProtocol:
    """Return the sequential protocol that looks for a layer between the two hidden ones.

    One cohort serves both roles: each publishes the leading bits of its layer's number as one message. If
    they differ, let c be the common bits, a one and zeros: one role's layer is above layer c, the other's is
    c or below. The first role names a public random path to layer c that takes its edge, the other a
    continuation, which depends on the first path, so that each name has a cohort of its own. The answer is
    None if the leading bits are the same.

    Args:
        arity: number of children of a vertex, >= 1.
        depth: layer of the leaves, >= 2.
        ratio: odds of a true sign.
        plan: see :func:`plan_separate`.

    Proof note. A user answers one randomised response, or with a fair coin: log(ratio)-DP, role included.
    """
    check_ratio(ratio)
    width = bits_of(depth)
    known = min(plan.bits, width)

    def steps() -> Steps:
        pool = Pool(plan.users)
        signs = Signs((yield Coin(KEY)))
        leading = _leading(width - known)
        heard = yield from ask_both(
            signs,
            0,
            pool.take(plan.voters).users,
            sizes=dict.fromkeys(PARTIES, 1 << known),
            messages=dict.fromkeys(PARTIES, leading),
            ratio=ratio,
        )
        place = (heard[ALICE] ^ heard[BOB]).bit_length()
        if not place:
            return None
        middle, path = min((heard[ALICE] >> place << 1 | 1) << width - known + place - 1, depth), Path()
        order = sorted(PARTIES, key=heard.__getitem__)
        for stage, (role, end) in enumerate(zip(order, (middle, depth), strict=True), 1):
            key = yield Coin(2**64)
            paths = [skip(path, end, arity, key << 32 | i) for i in range(plan.paths)]
            namers, message = pool.take(plan.namers).users, first_taking(paths)
            chosen = yield from ask_coded(
                signs, stage, namers, size=plan.paths, role=role, message=message, ratio=ratio
            )
            path = paths[chosen]
        return path

    return steps


def _leading(shift: int) -> Message:
    return lambda x: level_of(x) >> shift


@lru_cache(maxsize=256)
def plan_separate(arity: int, ratio: Fraction, target: float = 0.9) -> SplitPlan:
    """Return the cheapest plan for uniform layers on trees whose depth is a large power of two.

    The numbers' t leading bits differ with probability 1 - 2^-t. Both messages of leading bits, both names
    and both lists must be right; cohorts are independent, and the two messages of one cohort are charged by
    their exact joint law. Plans are certified in the order of a lower bound of their users.

    Raises:
        CapacityError: on a target above 0.99.
        ArgumentError: unless ``arity`` is an integer >= 1.

    Example:
        >>> from geomdp.local.finite import odds
        >>> plan_separate(4096, odds(1)).success >= 0.9
        True
    """
    check_integer("arity", arity, 1)
    check_target(target)
    rates, guesses = code_rates(ratio), []
    for bits, paths, share in itertools.product(range(3, 13), (2, 3, 4), (0.2, 0.3, 0.4, 0.5, 0.6)):
        count = max(arity << paths, 2)
        certain = (1 - 0.5**bits) * (1 - (1 - 1 / arity) ** count) ** 2
        if certain <= target:
            continue
        rest = min(target / certain * (1 + 1e-12), 1 - 1e-12)
        each = rest ** (share / 2)
        namers = stage_users(count, rates, rest ** ((1 - share) / 2))
        least = stage_users(1 << bits, rates, each) + 2 * namers
        guesses.append((least, bits, count, certain, each, namers))
    best: SplitPlan | None = None
    for least, bits, count, certain, each, namers in sorted(guesses):
        if best is not None and least >= best.users:
            break
        voters = shared_users(1 << bits, rates, each)
        success = certain * both_success(voters, 1 << bits, rates) * stage_success(namers, count, rates) ** 2
        plan = SplitPlan(bits, voters, count, namers, voters + 2 * namers, success)
        if success >= target and (best is None or plan.users < best.users):
            best = plan
    if best is None:
        raise CapacityError("target", "at most 0.99", target, "Longer lists would be needed.")
    return best
