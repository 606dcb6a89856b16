"""Reference: a scheduler of private steps on disjoint slices, each the beginning of a new order of the rest.

The interface is Reorder-Slice-Compute of Cohen, Lyu, Nelson, Sarlos and Stemmer, "Optimal Differentially
Private Learning of Thresholds and Quasi-Concave Optimization" (STOC 2023): a record is paid for about once,
however many steps there are, since steps see disjoint slices and slice sizes are random. The constant of its
cost is reconstructed here, with proof (:func:`slicing_cost`). It is so large that basic composition of a few
steps costs less: :mod:`geomdp.learners.oracles.tree_log` uses that instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from geomdp.core.errors import ArgumentError, check_epsilon, check_fraction, check_integer
from geomdp.privacy.runs import Runs
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.privacy.sparse import geometric

Item = TypeVar("Item")
_GRID = 16  # values of kappa tried for each epsilon_0
_FLOAT = 1e-9  # relative room for the rounding of floats


@dataclass(frozen=True)
class Step(Generic[Item]):
    """One step of the schedule.

    Attributes:
        size: the least number of items of the slice.
        order: items -> the same items in an order that does not depend on the others: removing one item
            leaves the order of the rest as it is, e.g. a sort by a fixed key.
        release: (slice, sampler) -> a value, epsilon_0-DP when one item is added or removed.
    """

    size: int
    order: Callable[[Sequence[Item]], list[Item]]
    release: Callable[[list[Item], Sampler], Any]


def reorder_slice(
    items: Sequence[Item],
    steps: Sequence[Step[Item]] | Callable[[list[Any]], Step[Item] | None],
    epsilon: Fraction,
    sampler: Sampler,
) -> list[Any]:
    """Return the values of all steps, each on its own slice.

    For each step: order the items that are left, take the first size + G of them, G geometric with
    P(G >= g) = exp(-epsilon_0 g), release the step's value on them, and drop them.

    Privacy: :func:`slicing_cost` when one item is added or removed, twice its epsilon when one is replaced
    (and 1 + exp(epsilon) times its delta). Steps may be chosen from the values released before.

    Args:
        items: the data.
        steps: the steps in order, or a function from the values so far to the next step (None: the end).
        epsilon: epsilon_0.
        sampler: the source of randomness.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100 and ``size`` is an integer
            >= 0.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> least = Step(2, sorted, lambda part, _: part[:1])
        >>> reorder_slice(list(range(9, -1, -1)), [least, least], Fraction(9), SimSampler(0))
        [[0], [2]]
    """
    scale = noise_scale(1, check_epsilon(epsilon))
    left = list(items)
    values: list[Any] = []
    while True:
        step = steps(values) if callable(steps) else steps[len(values)] if len(values) < len(steps) else None
        if step is None:
            return values
        extra = sampler.geometric(scale) if isinstance(sampler, Runs) else geometric(scale, sampler)
        ordered = step.order(left)
        cut = check_integer("size", step.size, 0) + extra
        values.append(step.release(ordered[:cut], sampler))
        left = ordered[cut:]


def slicing_cost(epsilon: Fraction, delta: Fraction, *, substitution: bool = False) -> Fraction:
    """Return an epsilon for which :func:`reorder_slice` is (epsilon, delta)-DP when one item is added.

    Proof note. D = D' and x; all releases epsilon_0-DP for one item more or less, hence 2 epsilon_0 for a
    replaced one (epsilon_0 if `substitution` says so). While slices end before x, both runs see the same, and
    x remains the difference. Let a slice reach x, i items beyond what that takes at least, P(i) = g_i
    geometric in both runs. Split each run in two with a coin: "stop" with probability t_i in D and
    t'_i = exp(-epsilon_0) t_(i+1) in D', t_0 = 0.

    - Stop: i + 1 in D goes with i in D'. g_(i+1) t_(i+1) = g_i t'_i, so these have equal probability; the
      slices differ by x, and what is left is equal. Loss epsilon_0, and nothing ever after.
    - Go on: i goes with i. The slices have equal size and differ by one replaced item; what is left differs
      by one item again, the larger side being the same. Loss kappa, if
      exp(-kappa) <= (1 - t_i)/(1 - t'_i) <= exp(kappa), and that of the release.

    t_(i+1) = min(t*, exp(epsilon_0)(1 - exp(-kappa)(1 - t_i))) with t* = (e^kappa - 1)/(e^kappa -
    e^(-epsilon_0)) obeys both bounds: the first by its second term; the second because t grows, and 1 -
    e^(-epsilon_0) t <= e^kappa (1 - t) for t <= t*. Both runs stop with the same probability rho = sum g_i
    t_i at each hit. So more than K hits go on with probability at most (1 - rho)^K, which is delta, and
    otherwise the loss is at most epsilon_0 + K (kappa + the release's). A slice that takes all that is left
    only makes slices more alike. kappa is the best of a grid; rho is a float, rounded down.

    Args:
        epsilon: epsilon_0.
        delta: the probability of many hits, > 0.
        substitution: whether releases are epsilon_0-DP for replaced items as well.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100 and ``delta`` is a number
            with 0 < delta < 1.

    Example:
        >>> cost = slicing_cost(Fraction(1, 100), Fraction(1, 10**6))
        >>> 4.5 < float(cost) / (0.01 * math.log(10**6)) < 5.5
        True
    """
    loss, chance = check_epsilon(epsilon), check_fraction("delta", delta)
    if not 0 < chance < 1:
        raise ArgumentError("delta", "a number with 0 < delta < 1", "another")
    release = loss if substitution else 2 * loss
    nats = math.log(chance.denominator) - math.log(chance.numerator)
    best: Fraction | None = None
    for j in range(1, 6 * _GRID):
        kappa = loss * j / _GRID
        rho = stop_probability(loss, kappa)
        if rho <= 0:
            continue
        hits = math.ceil(nats / -math.log1p(-rho) * (1 + _FLOAT)) if rho < 1 else 1
        cost = loss + hits * (kappa + release)
        best = cost if best is None else min(best, cost)
    assert best is not None  # noqa: S101 - kappa = epsilon has rho > 0
    return best


def stop_coins(epsilon: Fraction, kappa: Fraction, count: int) -> list[float]:
    """Return t_0, ..., t_(count-1) of :func:`slicing_cost`.

    Example:
        >>> [round(t, 3) for t in stop_coins(Fraction(1), Fraction(2), 3)]
        [0.0, 0.91, 0.91]
    """
    e, k = float(epsilon), float(kappa)
    most = math.expm1(k) / (math.exp(k) - math.exp(-e))
    coins = [0.0]
    while len(coins) < count:
        coins.append(min(most, math.exp(e) * (1 - math.exp(-k) * (1 - coins[-1]))))
    return coins


def stop_probability(epsilon: Fraction, kappa: Fraction) -> float:
    """Return rho = sum g_i t_i, a little less: the tail beyond 60/epsilon is left out."""
    e = float(epsilon)
    count = min(math.ceil(60 / e), 10**5)
    total = math.fsum(t * math.exp(-e * i) for i, t in enumerate(stop_coins(epsilon, kappa, count)))
    return total * -math.expm1(-e) * (1 - _FLOAT)
