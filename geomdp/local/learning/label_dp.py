"""Personal label privacy: public points, and labels flipped by each user at a rate of its own choice.

Randomised response with user i's epsilon_i flips a label with probability 1/(1 + e^epsilon_i) < 1/2. If the
true labels come from a halfspace, what the server sees is a Massart oracle, exactly: the rate depends on the
point in any way that the users like, and is bounded by that of the least epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_epsilon, describe
from geomdp.local.finite import Dice, odds
from geomdp.local.kernels import RandomisedResponse
from geomdp.local.learning.inputs import Points, Signs, check_labels, check_rng, check_source, is_simulated


@dataclass(frozen=True, eq=False)
class PersonalLabels:
    """Randomised labels and the users' public rates.

    Attributes:
        labels: -1/+1, shape (n,).
        rates: flip probabilities, shape (n,).
        losses: each user's privacy loss, computed from its kernel's law.
        simulated: True unless the bits came from a sampler whose entropy counts.
    """

    labels: Signs
    rates: Points
    losses: Points
    simulated: bool

    @property
    def bound(self) -> float:
        """The Massart bound: the largest flip rate."""
        return float(self.rates.max(initial=0.0))

    @property
    def log_odds(self) -> Points:
        """log((1 - rate)/rate): the weight that a label deserves when the rates are known."""
        return np.log1p(-self.rates) - np.log(self.rates)


def respond(
    y: Any,
    epsilons: Any,
    *,
    rng: np.random.Generator | int | None = None,
    sampler: Dice | None = None,
) -> PersonalLabels:
    """Return every user's label after randomised response with the user's own epsilon.

    Args:
        y: private labels -1/+1, shape (n,).
        epsilons: one for all, or n of them (numbers, Fractions or text); public, and chosen without a look at
            the label (they may depend on the public point).
        rng: for a simulation.
        sampler: instead of rng; with SecureSampler the labels are a release.

    Returns:
        The noisy labels, with the flip rate and log odds of each and the largest rate.

    Raises:
        ArgumentError: on other labels, another number of epsilons, one that is not > 0, or unless exactly one
            of rng and sampler is given.

    Proof note. User i's message is one use of RandomisedResponse with odds(epsilon_i), whose loss is computed
    from its exact law. Conclusion: epsilon_i-DP in the label of user i. The point is public, unprotected.

    Example:
        >>> answer = respond([1, -1, 1], ["0.5", 1, 2], rng=0)
        >>> [round(rate, 3) for rate in answer.rates.tolist()]
        [0.378, 0.269, 0.119]
    """
    try:
        n = len(y)
    except TypeError:
        raise ArgumentError("y", "a sequence of -1 and +1", describe(y)) from None
    labels = check_labels("y", y, n)
    wanted = _budgets(epsilons, n)
    check_source(rng, sampler)
    kernels = {epsilon: RandomisedResponse(odds(epsilon)) for epsilon in set(wanted)}
    rate = {e: float(1 / (1 + k.ratio)) for e, k in kernels.items()}
    loss = {e: k.loss([0, 1]) for e, k in kernels.items()}
    rates = np.array([rate[e] for e in wanted], dtype=float)
    losses = np.array([loss[e] for e in wanted], dtype=float)
    if sampler is None:
        flips = check_rng(rng, "labels").random(n) < rates
        return PersonalLabels(np.where(flips, -labels, labels).astype(np.int8), rates, losses, True)
    bits = [kernels[e].sample(int(v > 0), sampler) for e, v in zip(wanted, labels.tolist(), strict=True)]
    return PersonalLabels(
        (2 * np.array(bits, dtype=np.int8).reshape(n) - 1), rates, losses, is_simulated(sampler)
    )


def _budgets(epsilons: Any, n: int) -> list[Fraction]:
    """Return one budget for each of n users."""
    if isinstance(epsilons, np.ndarray) and epsilons.ndim == 0:
        epsilons = epsilons.item()
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        return [check_epsilon(epsilons)] * n
    if isinstance(epsilons, (Set, Mapping, bytes, bytearray)):  # no order, or no numbers
        raise ArgumentError("epsilons", f"one number, or {n} of them in order", describe(epsilons))
    listed = list(epsilons)
    if any(isinstance(epsilon, Iterable) and not isinstance(epsilon, str) for epsilon in listed):
        raise ArgumentError("epsilons", f"one number, or {n} of them", "others")
    if len(listed) != n:
        raise ArgumentError("epsilons", f"one number, or {n} of them", f"{len(listed)} numbers")
    return [check_epsilon(epsilon) for epsilon in listed]


def flip_rate(epsilon: Fraction | int | float | str) -> float:
    """Return 1/(1 + e^epsilon).

    Example:
        >>> round(flip_rate(1), 4)
        0.2689
    """
    return float(1 / (1 + odds(epsilon)))
