"""Private weak learners in one round: a mean of y x, or logistic descent on noisy polynomial gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_choice, check_integer, describe
from geomdp.local.finite import Dice
from geomdp.local.learning.caps import CapBall
from geomdp.local.learning.gaussian import GaussianVector, check_delta
from geomdp.local.learning.gradients import GradientMechanism, Messages
from geomdp.local.learning.inputs import (
    Points,
    bounded,
    check_labels,
    check_points,
    check_positive,
    check_rng,
    check_source,
    is_simulated,
    unit,
)
from geomdp.local.learning.vectors import DuchiBall, public_directions


@dataclass(frozen=True, eq=False)
class Estimate:
    """A halfspace learned from private messages.

    Attributes:
        weights: a unit vector, shape (d,).
        n: users.
        loss: privacy loss of a user at delta, computed from the mechanism's law.
        delta: 0 for pure mechanisms.
        simulated: True unless every private bit came from a sampler whose entropy counts.
        mechanism: name.
    """

    weights: Points
    n: int
    loss: float
    delta: Fraction
    simulated: bool
    mechanism: str

    def __repr__(self) -> str:
        kind = "simulated" if self.simulated else "released"
        return (
            f"Estimate({self.mechanism}, n={self.n}, local (epsilon={self.loss:.6g}, "
            f"delta={float(self.delta):g}) per user, one record replaced, {kind})"
        )


def mean_estimate(
    X: Any,
    y: Any,
    epsilon: Fraction | int | float | str,
    *,
    rng: np.random.Generator | int | None = None,
    sampler: Dice | None = None,
    public_seed: int = 0,
    delta: Fraction | float | str | None = None,
    caps: int | None = None,
    normalise: bool = False,
) -> Estimate:
    """Return the direction of a private mean of y x: the weak learner of both pipelines.

    On the unit ball the hinge loss max(0, 1 - y <w, x>) never reaches its kink, because y <w, x> <= 1: it is
    linear, and its least value over |w| <= 1 is at the normalised mean of y x. One private mean is therefore
    all that hinge-loss minimisation needs here; no polynomial is involved.

    Args:
        X: private points of norm <= 1, shape (n, d).
        y: private labels -1/+1, shape (n,).
        epsilon: privacy loss of each user.
        rng: for a simulation, in floats.
        sampler: instead of rng; with SecureSampler the estimate is a release.
        public_seed: of the users' public directions, used with `sampler`.
        delta: left out: Duchi's mechanism, pure epsilon. Given: Gaussian noise.
        caps: number of public directions for :class:`~geomdp.local.learning.caps.CapBall`, which needs fewer
            users (64 is a good choice, above all for epsilon >= 2); left out, Duchi's mechanism.
        normalise: map x to x/|x| first; the labels of homogeneous halfspaces stay the same.

    Raises:
        ArgumentError: on unbounded rows without normalise, NaN, other labels, no user, a bad budget, or
            unless exactly one of rng and sampler is given.

    Proof note. y x has norm <= 1 for every record, so that each user's message is one use of
    :class:`~geomdp.local.learning.vectors.DuchiBall` or of CapBall (epsilon-DP), or of the Gaussian mechanism
    at sensitivity 2. The mean and its direction are functions of the messages.

    Example:
        >>> from geomdp.local.learning.distributions import Mixture
        >>> X, y = Mixture.on_axis(5).sample(3000, 0)
        >>> estimate = mean_estimate(X, y, 1, rng=1, normalise=True)
        >>> bool(estimate.weights[0] > 0.8), estimate.simulated, abs(estimate.loss - 1) < 1e-9
        (True, True, True)
    """
    points = bounded("X", check_points("X", X), normalise)
    folded = points * check_labels("y", y, len(points))[:, None]
    _some("X", folded)
    check_source(rng, sampler)
    if delta is not None:
        if caps is not None:
            raise ArgumentError("caps", "left out with delta", caps, "Caps are a pure mechanism.")
        noise = GaussianVector.calibrated(epsilon, delta)
        total, simulated = noise.publish(folded, rng, sampler).mean(axis=0), is_simulated(sampler)
        return Estimate(
            unit(total), len(folded), noise.loss(delta), check_delta(delta), simulated, "Gaussian mean"
        )
    if caps is not None:
        ball = CapBall(folded.shape[1], epsilon, caps)
        simulated = is_simulated(sampler)
        if sampler is None:
            messages = ball.sample(folded, check_rng(rng, "caps"))
        else:
            messages = ball.release(folded, public_seed, sampler)
        name = f"caps of {caps} directions"
        return Estimate(unit(messages.mean(axis=0)), len(folded), ball.loss(), Fraction(0), simulated, name)
    duchi = DuchiBall(folded.shape[1], epsilon)
    if sampler is None:
        messages, simulated = duchi.sample(folded, check_rng(rng, "Duchi")), True
    else:
        coins = check_rng(public_seed, "directions", "public_seed")
        axes = public_directions(folded.shape[0], folded.shape[1], coins)
        messages, simulated = duchi.release(folded, axes, sampler), is_simulated(sampler)
    return Estimate(
        unit(messages.mean(axis=0)), len(folded), duchi.loss(), Fraction(0), simulated, "Duchi mean"
    )


def logistic_estimate(
    X: Any,
    y: Any,
    mechanism: GradientMechanism,
    *,
    rng: np.random.Generator | int | None = None,
    sampler: Dice | None = None,
    steps: int = 100,
    rate: float = 1.0,
    batch: int | None = None,
    normalise: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """Return the halfspace found by projected descent on private polynomial gradients of a margin loss.

    w <- Proj(w - rate g(w)) in the ball of the polynomial's radius, from w = 0; the mean of the second half
    of the iterates is returned. All messages were sent before: one round. The noise in the monomials of
    degree >= 1 can make the estimated loss concave; the ball keeps the iterates bounded, and degree 0 (the
    private mean) avoids the matter. At epsilon = 1 it is nearly always the better weak learner.

    Args:
        X: private points of norm <= 1, shape (n, d).
        y: private labels.
        mechanism: carries the polynomial and the budget.
        rng: of noise simulated in floats.
        sampler: instead of rng; with SecureSampler the messages, and hence the halfspace, are a release.
        steps: number of updates.
        rate: step size.
        batch: users per update, each used once; left out, all users in every update.
        normalise: map x to x/|x| first.
        progress: told the fraction of the steps done.

    Raises:
        ArgumentError: as :func:`mean_estimate`, and if steps * batch exceeds the users.
    """
    points = bounded("X", check_points("X", X), normalise)
    labels = check_labels("y", y, len(points))
    _some("X", points)
    check_integer("steps", steps, 1)
    rate = check_positive("rate", rate)
    parts = _parts(len(points), steps, batch)
    if not isinstance(mechanism, GradientMechanism):
        raise ArgumentError(
            "mechanism", "a mechanism of geomdp.local.learning.gradients", describe(mechanism)
        )
    messages = mechanism.privatise(points, labels, rng, sampler=sampler)
    w, total, radius = np.zeros(points.shape[1]), np.zeros(points.shape[1]), mechanism.polynomial.radius
    for t, part in enumerate(parts):
        chosen = Messages(messages.X[part], None if messages.Y is None else messages.Y[part])
        w = w - rate * mechanism.gradient(chosen, w)
        length = float(np.linalg.norm(w))
        w = w if length <= radius else w * (radius / length)
        if 2 * t >= steps - 1:
            total += w
        if progress is not None:
            progress((t + 1) / steps)
    name = f"{type(mechanism).__name__}, {mechanism.polynomial.name} of degree {mechanism.polynomial.degree}"
    loss, simulated = mechanism.loss(), messages.simulated
    return Estimate(unit(total), len(points), loss, mechanism.delta, simulated, name)


def _parts(n: int, steps: int, batch: int | None) -> list[slice]:
    if batch is None:
        return [slice(None)] * steps
    if steps * check_integer("batch", batch, 1) > n:
        raise ArgumentError("batch", f"at most n/steps = {n // steps}", batch, "Each user is used once.")
    return [slice(t * batch, (t + 1) * batch) for t in range(steps)]


def _some(name: str, rows: Points) -> None:
    if not len(rows):
        raise ArgumentError(name, "at least one row", "empty")


def group_estimates(
    X: Any,
    y: Any,
    epsilon: Fraction | int | float | str,
    groups: int,
    *,
    rng: np.random.Generator | int,
    normalise: bool = False,
    mechanism: str = "duchi",
    delta: Fraction | float | str | None = None,
    sampler: Dice | None = None,
    caps: int | None = None,
) -> list[Estimate]:
    """Return one private mean estimate for each of `groups` random disjoint groups of users.

    A user belongs to one group, and sends one message: nothing is composed. With `sampler` the messages are
    drawn by it (a SecureSampler makes them a release), and rng draws the groups and the public directions;
    caps is as for :func:`mean_estimate`.

    Raises:
        ArgumentError: unless 1 <= groups <= n and odd, or as :func:`mean_estimate`.
    """
    check_choice("mechanism", mechanism, ("duchi", "gaussian"))
    points = check_points("X", X)
    labels = check_labels("y", y, len(points))
    check_integer("groups", groups, 1, max(1, len(points)))
    if groups % 2 == 0:
        raise ArgumentError("groups", "odd, so that votes have no tie", groups)
    if (mechanism == "gaussian") != (delta is not None):
        raise ArgumentError("delta", "given exactly with mechanism='gaussian'", delta)
    generator = check_rng(rng, "groups")
    order = generator.permutation(len(points))
    return [
        mean_estimate(
            points[part],
            labels[part],
            epsilon,
            rng=generator if sampler is None else None,
            sampler=sampler,
            public_seed=int(generator.integers(2**62)) if sampler is not None else 0,
            delta=delta,
            caps=caps,
            normalise=normalise,
        )
        for part in np.array_split(order, groups)
    ]
