"""A statistical audit, for mechanisms whose laws cannot be listed: a certified lower bound on their epsilon.

Runs on a dataset and on a neighbour are divided into two folds. The first fold proposes an event; the second,
which the choice has not seen, bounds its two probabilities by the exact intervals of Clopper and Pearson.
What comes out is a lower bound on the true privacy loss that is wrong with probability at most `alpha`: it
can refute a claim and never proves one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from geomdp.core.errors import ArgumentError, check_fraction, check_integer, describe

View = TypeVar("View", bound=Hashable)
Progress = Callable[[float], None] | None


@dataclass(frozen=True)
class Evidence:
    """A lower bound on the privacy loss, and the event that shows it.

    Attributes:
        epsilon: the loss is at least this, except with probability alpha; 0 if nothing was shown.
        alpha: the probability that the bound is wrong.
        event: the views of the event, most telling first; () if nothing was shown.
        swapped: True if the neighbour produces the event more often.
        draws: runs per dataset, both folds together.
    """

    epsilon: float
    alpha: float
    event: tuple[Any, ...]
    swapped: bool
    draws: int

    def refutes(self, epsilon: object) -> bool:
        """Return whether a claim is refuted, wrongly with probability at most alpha.

        Raises:
            ArgumentError: unless ``epsilon`` is a finite number.

        Example:
            >>> Evidence(0.5, 1e-3, ("far",), False, 1000).refutes("0.3")
            True
        """
        return self.epsilon > float(check_fraction("epsilon", epsilon))


def audit_by_runs(
    run: Callable[[Any], View],
    data: Any,
    neighbour: Any,
    *,
    draws: int = 10_000,
    alpha: float = 1e-3,
    progress: Progress = None,
) -> Evidence:
    """Run a mechanism `draws` times on each of two neighbours and return what that shows.

    Args:
        run: data -> what the counterpart sees, hashable and coarse: a few dozen views at most tell much.
        data, neighbour: neighbouring datasets.
        draws: runs per dataset; half of them select the event.
        alpha: the probability that the bound is wrong.
        progress: told the fraction done.

    Raises:
        ArgumentError: unless ``draws`` is an integer >= 2.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.privacy.sampler import SimSampler
        >>> sampler = SimSampler(1)
        >>> def noisy(count):
        ...     return min(max(count + int(sampler.discrete_laplace(Fraction(1), 1)[0]), -1), 2)
        >>> evidence = audit_by_runs(noisy, 0, 1, draws=2000)
        >>> (evidence.refutes(1), evidence.refutes("0.5"))  # the loss is exactly 1
        (False, True)
    """
    check_integer("draws", draws, 2)
    views: tuple[list[View], list[View]] = ([], [])
    for i in range(draws):
        views[0].append(run(data))
        views[1].append(run(neighbour))
        if progress is not None and (i + 1) % 100 == 0:
            progress((i + 1) / draws)
    return evidence(views[0], views[1], alpha=alpha)


def evidence(first: Sequence[View], second: Sequence[View], *, alpha: float = 1e-3) -> Evidence:
    """Return a lower bound on the loss from independent runs on two neighbours.

    Proof note. The event E and the direction are functions of the first fold. Given it, the second fold's
    counts of E are binomial with the true probabilities p and q. Each one-sided Clopper-Pearson bound fails
    with probability at most alpha/2, and epsilon-DP gives p <= exp(epsilon) q as well as
    1 - q <= exp(epsilon) (1 - p). Both follow from the same two bounds, so no further union is needed.
    The larger logarithm exceeds the true loss with probability at most alpha.

    Selection. Views are ordered by the ratio of their smoothed counts in the first fold; the events looked at
    are the beginnings of that order and of the reverse one, since for the true probabilities one of those is
    a most telling event of each size. Among them the one of the largest bound, computed on the first fold at
    the second fold's level, is taken.

    Raises:
        ArgumentError: on fewer than 2 runs of either, or an alpha outside (0, 1).

    Example:
        >>> evidence(["a"] * 500, ["b"] * 500).refutes(3)
        True
        >>> evidence(["a"] * 500, ["a"] * 500).epsilon
        0.0
    """
    if min(len(first), len(second)) < 2:
        raise ArgumentError("first", "at least 2 runs, like second", f"{len(first)} and {len(second)}")
    if not 0 < alpha < 1:
        raise ArgumentError("alpha", "a number with 0 < alpha < 1", describe(alpha))
    halves = len(first) // 2, len(second) // 2
    event, swapped = _select(first[: halves[0]], second[: halves[1]], alpha)
    if not event:
        return Evidence(0.0, alpha, (), False, len(first))
    rest = first[halves[0] :], second[halves[1] :]
    if swapped:
        rest = rest[1], rest[0]
    chosen = frozenset(event)
    hits = [sum(view in chosen for view in views) for views in rest]
    bound = _bound((hits[0], len(rest[0])), (hits[1], len(rest[1])), alpha)
    return Evidence(bound, alpha, tuple(event) if bound else (), swapped and bound > 0, len(first))


def _select(first: Sequence[View], second: Sequence[View], alpha: float) -> tuple[list[View], bool]:
    """Return the event whose bound on this fold is the largest, and whether the two datasets swap."""
    counts = Counter(first), Counter(second)
    total = len(first), len(second)
    views = sorted(set(counts[0]) | set(counts[1]), key=repr)

    def ratio(view: View) -> float:
        return math.log((counts[0][view] + 0.5) / (counts[1][view] + 0.5))

    order = sorted(views, key=ratio, reverse=True)
    best: tuple[float, list[View], bool] = (0.0, [], False)
    for listed, swapped in ((order, False), (order[::-1], True)):
        a, b = (1, 0) if swapped else (0, 1)
        hits = [0, 0]
        for size, view in enumerate(listed[:-1] or listed, 1):
            hits[0] += counts[a][view]
            hits[1] += counts[b][view]
            found = _bound((hits[0], total[a]), (hits[1], total[b]), alpha)
            if found > best[0]:
                best = found, listed[:size], swapped
    return best[1], best[2]


def _bound(inside: tuple[int, int], other: tuple[int, int], alpha: float) -> float:
    """Return the largest loss that both (hits, runs) pairs show at level alpha; at least 0."""
    low = clopper_pearson(*inside, alpha / 2)[0]
    high = clopper_pearson(*other, alpha / 2)[1]
    shown = [0.0]
    if low > 0:
        shown.append(math.log(low / high) if high > 0 else math.inf)
    if high < 1:
        shown.append(math.log((1 - high) / (1 - low)) if low < 1 else math.inf)
    return max(shown)


def clopper_pearson(hits: int, runs: int, level: float) -> tuple[float, float]:
    """Return one-sided bounds on a binomial probability, each failing with probability at most `level`.

    The lower one is the p at which `hits` or more have probability `level`, the upper one that at which
    `hits` or fewer have. Both are moved outward by 10^-9 relatively for the inversion's rounding.

    Example:
        >>> low, high = clopper_pearson(0, 100, 0.05)
        >>> (low, abs((1 - high) ** 100 - 0.05) < 1e-6)
        (0.0, True)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(hits, runs - hits + 1, level)) if hits else 0.0
    high = float(betaincinv(hits + 1, runs - hits, 1 - level)) if hits < runs else 1.0
    return max(0.0, low * (1 - 1e-9)), min(1.0, high * (1 + 1e-9))


def most_telling(findings: Iterable[Evidence]) -> Evidence:
    """Return the finding of the largest bound; for k findings its error is at most k times alpha.

    Example:
        >>> most_telling([Evidence(0.1, 0.01, (), False, 9), Evidence(0.4, 0.01, (), False, 9)]).epsilon
        0.4
    """
    return max(findings, key=lambda found: found.epsilon)
