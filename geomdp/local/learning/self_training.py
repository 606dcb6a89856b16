"""Self-training with weight normalisation: a weak halfspace becomes a strong one on unlabelled data.

S. Frei, D. Zou, Z. Chen and Q. Gu, Self-training Converts Weak Learners to Strong Learners in Mixture Models
(AISTATS 2022). Labels are the current halfspace's own, made anew in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_choice, check_integer
from geomdp.local.learning.inputs import Points, check_points, check_positive, check_vector, unit


def loss_slope(loss: str, z: Points) -> Points:
    """Return -l'(z) for z >= 0 of the logistic loss log(1 + e^-z) or the exponential loss e^-z.

    Both are decreasing and 1-Lipschitz with -l'(z) >= e^-z/C, C = 2 and 1: the theory's condition.

    Raises:
        ArgumentError: unless ``loss`` is "logistic" or "exponential".

    Example:
        >>> z = np.linspace(0, 30, 100)
        >>> bool((loss_slope("logistic", z) >= np.exp(-z) / 2).all())
        True
    """
    check_choice("loss", loss, ("logistic", "exponential"))
    shrunk = np.exp(-z)
    return np.asarray(shrunk / (1 + shrunk) if loss == "logistic" else shrunk)


@dataclass(frozen=True, eq=False)
class SelfTrained:
    """The halfspace after the last round.

    Attributes:
        weights: a unit vector.
        path: the unit vectors before each round and after the last, shape (rounds + 1, d).
        mode: "theory" (disjoint batches) or "practical" (all points in every round).
    """

    weights: Points
    path: Points
    mode: str


def self_train(
    X: Any,
    start: Any,
    *,
    rounds: int = 100,
    step: float = 1.0,
    scale: float = 1.0,
    batch: int | None = None,
    loss: str = "logistic",
    progress: Callable[[float], None] | None = None,
) -> SelfTrained:
    """Return the halfspace that self-training reaches from a weak one.

    One round, with y_i = sign<w, x_i>:

        w <- unit(w + step/(B scale) sum_i -l'(|<w, x_i>|/scale) y_i x_i).

    The only information that the start must carry is the side of the mean: from error 0.49 on, the fixed
    point mu/|mu| is reached for a Gaussian mixture with |mu| of 1 or more; from beyond 1/2 its negative is.
    A mean over runs hides this, so report how often the end is good. With skewed noise the fixed point is
    not the direction of mu.

    Args:
        X: public unlabelled points, shape (m, d).
        start: the weak halfspace.
        rounds: T.
        step: eta.
        scale: sigma, at least about max(1, |mu|) in theory.
        batch: B points for each round, none used twice ("theory" mode); left out, all points in each round
            ("practical" mode, several passes over the same points).
        loss: "logistic" or "exponential".
        progress: told the fraction of the rounds done.

    Raises:
        ArgumentError: on other shapes, NaN, no point, or rounds * batch > m.

    Example:
        >>> from geomdp.local.learning.distributions import Mixture
        >>> mixture = Mixture.on_axis(5)
        >>> X, _ = mixture.sample(3000, 0)
        >>> weak = [0.1, 0.5, -0.5, 0.5, 0.5]
        >>> trained = self_train(X, weak)
        >>> round(mixture.error(weak), 2), mixture.error(trained.weights) < mixture.bayes_error() + 0.01
        (0.46, True)
    """
    points = check_points("X", X)
    if not len(points):
        raise ArgumentError("X", "at least one row", "empty")
    check_integer("rounds", rounds, 1)
    eta, sigma = check_positive("step", step), check_positive("scale", scale)
    check_choice("loss", loss, ("logistic", "exponential"))
    if batch is not None and rounds * check_integer("batch", batch, 1) > len(points):
        raise ArgumentError("batch", f"at most m/rounds = {len(points) // rounds}", batch)
    w = unit(check_vector("start", start, points.shape[1]))
    path = [w]
    for t in range(rounds):
        part = points if batch is None else points[t * batch : (t + 1) * batch]
        u = part @ w
        pull = loss_slope(loss, np.abs(u) / sigma) * np.where(u >= 0, 1.0, -1.0)
        w = unit(w + eta / sigma * (pull @ part) / len(part))
        path.append(w)
        if progress is not None:
            progress((t + 1) / rounds)
    return SelfTrained(w, np.array(path), "practical" if batch is None else "theory")
