"""What the robust and the self-training learners have to beat: averages, logistic regression, and one bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_epsilon, check_integer, describe
from geomdp.local.finite import Dice
from geomdp.local.learning.inputs import (
    Points,
    check_labels,
    check_points,
    check_rng,
    check_source,
    decide,
    unit,
)
from geomdp.local.learning.label_dp import respond
from geomdp.local.learning.polynomial import logistic_derivative
from geomdp.local.learning.self_training import self_train


def average(X: Any, y: Any, rates: Any = None) -> Points:
    """Return the direction of the mean of y x, debiased by known flip rates if they are given.

    A label flipped at rate r has mean (1 - 2r) times the truth; dividing by it removes the labels' bias at
    the price of variance. What stays, on skewed points: E[f(x) x] is not along the weights of f.

    Example:
        >>> average([[1.0, 0.0], [0.0, 2.0]], [1, -1]).round(3).tolist()
        [0.447, -0.894]
    """
    points = check_points("X", X)
    labels = check_labels("y", y, len(points)).astype(float)
    if rates is not None:
        labels = labels / (1 - 2 * _check_rates(rates, len(points)))
    return unit((points * labels[:, None]).sum(axis=0))


def _check_rates(rates: Any, n: int) -> Points:
    try:
        values = np.asarray(rates, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (n,) or not ((values >= 0) & (values < 0.5)).all():
        raise ArgumentError("rates", f"numbers in [0, 1/2) of shape ({n},)", "others")
    return values


def corrected_logistic(X: Any, y: Any, rates: Any, *, ridge: float = 1e-6, steps: int = 500) -> Points:
    """Return the direction of a local minimiser of the logistic loss that knows the flip rates.

    A label flipped at rate r_i has P(y | x) = r_i + (1 - 2 r_i) sigma(y <w, x>). Its negative logarithm is
    minimised from the plain logistic fit on, by a quasi-Newton method. The loss is not convex: only a loss
    no larger than at the start is promised, and checked. If the model holds, the estimate is consistent where
    averages and the plain loss are not; it needs each label's rate, and not just a bound.

    Args:
        X: points, shape (n, d).
        y: noisy labels -1/+1.
        rates: flip probabilities in [0, 1/2), shape (n,).
        ridge: weight of |w|^2/2, which keeps separable data finite.
        steps: largest number of iterations.

    Raises:
        ArgumentError: unless ``steps`` is an integer >= 1 and ``ridge`` a finite number >= 0.

    Example:
        >>> X = np.random.default_rng(0).standard_normal((2000, 3)) ** 3
        >>> w, r = corrected_logistic(X, np.sign(X[:, 0]), np.zeros(2000)), np.full(2000, 0.25)
        >>> bool(w[0] > 0.99)
        True
    """
    from scipy.optimize import minimize

    first = logistic_regression(X, y)
    points = check_points("X", X)
    flip = _check_rates(rates, len(points))
    V = points * check_labels("y", y, len(points)).astype(float)[:, None]
    check_integer("steps", steps, 1)
    ridge = _check_ridge(ridge)

    def value(w: Points) -> tuple[float, Points]:
        truth = -logistic_derivative(-(V @ w))  # sigma of the margin
        chance = np.maximum(flip + (1 - 2 * flip) * truth, 1e-300)
        pull = (1 - 2 * flip) * truth * (1 - truth) / chance
        loss = -float(np.log(chance).mean()) + ridge * float(w @ w) / 2
        return loss, np.asarray(ridge * w - pull @ V / len(V))

    found = np.asarray(minimize(value, first, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x)
    better = bool(np.isfinite(found).all()) and value(found)[0] <= value(first)[0]
    return unit(found if better else first)


def logistic_regression(X: Any, y: Any, *, ridge: float = 1e-6, steps: int = 30) -> Points:
    """Return the direction of the minimiser of the mean logistic loss (homogeneous), by Newton's method.

    Steps are halved until the loss falls; the ridge keeps separable data finite. Without one, the shortest
    step is taken where points lie in a plane.

    Raises:
        ArgumentError: on an empty ``X``, or unless ``steps`` is an integer >= 1 and ``ridge`` a finite number
            >= 0.
    """
    points = check_points("X", X)
    labels = check_labels("y", y, len(points)).astype(float)
    if not len(points):
        raise ArgumentError("X", "at least one row", "empty")
    check_integer("steps", steps, 1)
    ridge = _check_ridge(ridge)
    V, w = points * labels[:, None], np.zeros(points.shape[1])

    def value(at: Points) -> float:
        return float(np.logaddexp(0, -(V @ at)).mean() + ridge * at @ at / 2)

    for _ in range(steps):
        pull = -logistic_derivative(V @ w)
        gradient = -(pull @ V) / len(V) + ridge * w
        curve = (V.T * (pull * (1 - pull))) @ V / len(V) + ridge * np.eye(len(w))
        move, now, length = _solved(curve, gradient), value(w), 1.0
        while value(w - length * move) > now and length > 1e-6:
            length /= 2
        w = w - length * move
        if np.abs(move).max() < 1e-10 * max(1.0, float(np.abs(w).max())):
            break
    return unit(w)


def _solved(matrix: Points, vector: Points) -> Points:
    """Return a solution of a symmetric system, the shortest one of a singular system."""
    try:
        return np.asarray(np.linalg.solve(matrix, vector))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, vector, rcond=None)[0])


def _check_ridge(ridge: object) -> float:
    if isinstance(ridge, (int, float, np.integer, np.floating)) and not isinstance(ridge, bool):
        value = float(ridge)
        if 0 <= value < np.inf:
            return value
    raise ArgumentError("ridge", "a finite number >= 0", describe(ridge))


def principal_direction(Q: Any) -> Points:
    """Return the first eigenvector of the public second-moment matrix; its first entry not 0 is positive.

    For a mixture E[x x'] = I + mu mu': the eigenvector is the line of mu, of which only the side is unknown.

    Raises:
        ArgumentError: on an empty ``Q``.
    """
    points = check_points("Q", Q)
    if not len(points):
        raise ArgumentError("Q", "at least one row", "empty")
    w = np.linalg.eigh(points.T @ points)[1][:, -1]
    return np.asarray(w if w[np.flatnonzero(w)[0]] > 0 else -w)


@dataclass(frozen=True, eq=False)
class OneBit:
    """A public direction with a private side.

    Attributes:
        weights: the direction with its side.
        votes: sum of the users' randomised +-1.
        n: users.
        loss: each user's privacy loss, from the kernel's law.
        simulated: True unless the bits came from a sampler whose entropy counts.
    """

    weights: Points
    votes: int
    n: int
    loss: float
    simulated: bool


def one_bit(
    Q: Any,
    X: Any,
    y: Any,
    epsilon: Fraction | int | float | str,
    *,
    rng: np.random.Generator | int | None = None,
    sampler: Dice | None = None,
    refine: bool = False,
) -> OneBit:
    """Return the principal direction of the public points, on the side that private users vote for.

    Each user sends y sign<u, x> by randomised response. For mixtures this needs a number of users that does
    not grow with d: the simplest learner, and the one to beat.

    Args:
        Q: public unlabelled points (m, d).
        X: private points (n, d), of any length: only the side of u enters.
        y: private labels.
        epsilon: privacy loss of each user.
        rng: for a simulation.
        sampler: instead of rng; with SecureSampler the side is a release.
        refine: continue with self-training on Q.

    Raises:
        ArgumentError: on an empty ``X``, or unless 10^-6 <= epsilon <= 100.

    Proof note. u depends on public points only. A user's message is one randomised bit with odds(epsilon).
    Conclusion: epsilon-DP for each user's (x, y), pure, in one round, without any bound on x.

    Example:
        >>> from geomdp.local.learning.distributions import Mixture
        >>> mixture = Mixture.on_axis(8)
        >>> Q, _ = mixture.sample(4000, 0)
        >>> found = one_bit(Q, *mixture.sample(100, 1), 1, rng=2)
        >>> mixture.error(found.weights) < mixture.bayes_error() + 0.01
        True
    """
    u = principal_direction(Q)
    points = check_points("X", X, len(u))
    labels = check_labels("y", y, len(points))
    check_source(rng, sampler)
    if not len(points):
        raise ArgumentError("X", "at least one row", "empty")
    generator = None if rng is None else check_rng(rng, "side")
    sides = respond(labels * decide(points, u), check_epsilon(epsilon), rng=generator, sampler=sampler)
    votes = int(sides.labels.sum(dtype=np.int64))
    w = u if votes >= 0 else -u
    if refine:
        w = self_train(Q, w).weights
    return OneBit(w, votes, len(points), float(sides.losses[0]), sides.simulated)
