"""Learners in one private round that use public unlabelled points: a robust one, and one for mixtures.

Both are from J. Su, J. Xu and D. Wang, On PAC Learning Halfspaces in Non-interactive Local Privacy Model with
Public Unlabeled Data. The private part is one message per user; everything after it is a function of the
messages and of public points, and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, describe
from geomdp.local.finite import Dice
from geomdp.local.learning.estimates import Estimate, group_estimates, mean_estimate
from geomdp.local.learning.inputs import Points, Signs, check_points, check_rng, check_vector, unit
from geomdp.local.learning.massart import MassartFit, learn_massart, vote
from geomdp.local.learning.self_training import SelfTrained, self_train


@dataclass(frozen=True, eq=False)
class VoteThenRelearn:
    """Algorithm 1's run.

    Attributes:
        weights: the final halfspace.
        groups: the private estimate of each group.
        labels: the groups' vote at the public points.
        fit: the learner that was run on these labels.
    """

    weights: Points
    groups: tuple[Estimate, ...]
    labels: Signs
    fit: MassartFit

    @property
    def average(self) -> Points:
        """Direction of the mean of the groups' halfspaces: as good as the final one, no public points."""
        return unit(np.mean([group.weights for group in self.groups], axis=0))

    @property
    def simulated(self) -> bool:
        """Whether the private messages were simulated."""
        return any(group.simulated for group in self.groups)

    @property
    def loss(self) -> float:
        """A user's privacy loss."""
        return max(group.loss for group in self.groups)


def vote_then_relearn(
    X: Any,
    y: Any,
    Q: Any,
    epsilon: Fraction | int | float | str,
    *,
    rng: np.random.Generator | int,
    groups: int = 5,
    sampler: Dice | None = None,
    delta: Fraction | float | str | None = None,
    caps: int | None = None,
    normalise: bool = False,
    updates: int = 1500,
    progress: Callable[[float], None] | None = None,
) -> VoteThenRelearn:
    """Return Algorithm 1: groups of users, one private halfspace each, a vote on public points, a relearner.

    What to expect. The vote labels a public point always in the same way, so the labels carry no independent
    noise: the robust learner can find the vote again, and nothing better. A small average error of the groups
    bounds no point's flip rate either; near the target's boundary the rate passes 3/16. Measured, the final
    error is that of the average of the groups' halfspaces. What is gained over the vote is one proper
    halfspace. For a robust learner on labels that do have bounded noise see
    :mod:`geomdp.local.learning.label_dp`.

    Args:
        X, y: private points (n, d) and their labels (n,), +1 or -1.
        Q: public unlabelled points (m, d).
        epsilon: privacy loss of each user.
        rng: of the groups, the relearner and, without a sampler, the simulated messages.
        sampler: draws the private messages; with SecureSampler the groups' halfspaces are a release.
        caps: number of public directions, see mean_estimate.
        groups: k, odd; of order log(1/beta).
        delta: left out: pure epsilon; given: Gaussian noise.
        normalise: map private points to the sphere first.
        updates: of the robust learner.
        progress: told the fraction of the relearner's updates done.

    Example:
        >>> from geomdp.local.learning.distributions import Massart
        >>> world = Massart([3.0, 4.0, 0.0], lambda X: np.zeros(len(X)), 0.0)
        >>> X, y = world.sample(3000, 0)
        >>> run = vote_then_relearn(X, y, world.sample(3000, 1)[0], 2, rng=2, normalise=True)
        >>> abs(world.error(run.weights) - world.error(run.average)) < 0.02
        True
    """
    generator = check_rng(rng, "vote")
    public = check_points("Q", Q, check_points("X", X).shape[1])
    found = group_estimates(
        X,
        y,
        epsilon,
        groups,
        rng=generator,
        normalise=normalise,
        mechanism="duchi" if delta is None else "gaussian",
        delta=delta,
        sampler=sampler,
        caps=caps,
    )
    labels = vote(np.array([group.weights for group in found]), public)
    start = np.mean([group.weights for group in found], axis=0)
    fit = learn_massart(public, labels, rng=generator, start=unit(start), updates=updates, progress=progress)
    return VoteThenRelearn(fit.weights, tuple(found), labels, fit)


@dataclass(frozen=True, eq=False)
class WeakThenSelfTrain:
    """Algorithm 3's run.

    Attributes:
        weights: the final halfspace.
        weak: the private estimate.
        training: the self-training that followed.
    """

    weights: Points
    weak: Estimate
    training: SelfTrained

    @property
    def simulated(self) -> bool:
        """Whether the private messages were simulated."""
        return self.weak.simulated


def weak_then_self_train(
    X: Any,
    y: Any,
    Q: Any,
    epsilon: Fraction | int | float | str,
    *,
    rng: np.random.Generator | int | None = None,
    sampler: Dice | None = None,
    delta: Fraction | float | str | None = None,
    caps: int | None = None,
    weak: Callable[[], Estimate] | None = None,
    normalise: bool = False,
    rounds: int = 120,
    batch: int | None = None,
    scale: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> WeakThenSelfTrain:
    """Return Algorithm 3: a private weak halfspace, then self-training on public points of the mixture.

    The weak learner is the private mean, at pure epsilon by default. All it has to find is the side of mu:
    about 12 (d+1) users at epsilon = 1 and |mu| = 1 put nine runs in ten on that side, of which some still
    fail for lack of public points; the private mean alone needs
    of the order of d^2. The theorem asks the weak learner for an error of r^2/(144 U), 0.0007 for Gaussian
    noise; no such threshold is used here, for none is needed.

    Args:
        X, y: private points (n, d) and their labels (n,), +1 or -1.
        Q: public unlabelled points (m, d); m of 60 d and more.
        epsilon: privacy loss of each user.
        rng: for a simulation.
        sampler: instead of rng; with SecureSampler the result is a release.
        delta: given: Gaussian noise.
        caps: number of public directions; given: fewer users than Duchi's mechanism, see mean_estimate.
        weak: another private weak learner, called without arguments, e.g. a logistic_estimate; it returns an
            Estimate, whose loss and label "simulated" are taken over. X, y and the budget are not used then.
        normalise: map private points to the sphere first.
        rounds, batch, scale: of self-training.
        progress: told the fraction of the rounds done.

    Returns:
        The final weights, with the private weak halfspace that they started from.

    Raises:
        ArgumentError: unless ``weak`` is None or a function that returns an Estimate.

    Example:
        >>> from geomdp.local.learning.distributions import Mixture
        >>> mixture = Mixture.on_axis(10)
        >>> X, y = mixture.sample(600, 0)
        >>> run = weak_then_self_train(X, y, mixture.sample(2000, 1)[0], 1, rng=2, normalise=True)
        >>> mixture.error(run.weak.weights) > 0.2, mixture.error(run.weights) < mixture.bayes_error() + 0.02
        (True, True)
    """
    if weak is not None:
        if not callable(weak):
            raise ArgumentError("weak", "a function that returns an Estimate", describe(weak))
        public, first = check_points("Q", Q), weak()
        if not isinstance(first, Estimate):
            raise ArgumentError("weak", "a function that returns an Estimate", describe(type(first)))
        check_vector("weak", first.weights, public.shape[1])
    else:
        public = check_points("Q", Q, check_points("X", X).shape[1])
        first = mean_estimate(
            X, y, epsilon, rng=rng, sampler=sampler, delta=delta, caps=caps, normalise=normalise
        )
    training = self_train(public, first.weights, rounds=rounds, batch=batch, scale=scale, progress=progress)
    return WeakThenSelfTrain(training.weights, first, training)
