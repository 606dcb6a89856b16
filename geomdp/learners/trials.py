"""Repeated simulated runs of private learners on drawn data: how the error falls with n.

All runs are simulated (seeded) and all data are drawn; nothing here is a release. Methods without public
points see the same records in a trial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.learners.baselines import majority, noisy_gradient_descent, objective_perturbation
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.domains import Integers
from geomdp.learners.estimators import PrivateHalfspaceLearner, PrivateThresholdTuple
from geomdp.learners.public_carrier import public_carrier
from geomdp.privacy.sampler import SimSampler

#: (n, generator) -> (records, labels): n to learn from and as many to test on.
Source = Callable[[int, np.random.Generator], tuple[NDArray[np.int64], NDArray[np.int64]]]
Progress = Callable[[float], None] | None


@dataclass(frozen=True)
class World:
    """A way to draw records, and the learners' public parameters for it.

    Attributes:
        name: what is drawn.
        draw: the source.
        radius: bound of the coordinates.
        rule: "" for halfspaces, else a rule on k thresholds.
        k: its number of thresholds.
    """

    name: str
    draw: Source
    radius: int
    rule: str = ""
    k: int | None = None


@dataclass(frozen=True)
class Curve:
    """Errors of one method against n.

    Attributes:
        method, world: names.
        sizes: numbers of records.
        errors: for each size the errors of all runs on fresh records.
    """

    method: str
    world: str
    sizes: tuple[int, ...]
    errors: tuple[tuple[float, ...], ...]

    @property
    def medians(self) -> list[float]:
        """The median error at each size."""
        return [median(found) for found in self.errors]

    def quantile(self, share: float) -> list[float]:
        """Return a quantile of the errors at each size."""
        return [float(np.quantile(found, share)) for found in self.errors]


def _balanced(
    make: Callable[[np.random.Generator], tuple[NDArray[np.int64], NDArray[Any]]], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw until each label has at least a quarter of the records."""
    while True:
        X, positive = make(rng)
        if 0.25 <= positive.mean() <= 0.75:
            return X, np.where(positive, 1, -1)


def square(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw uniform records of [-512, 512]^2 and a line in a uniform direction through the square."""

    def make(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[Any]]:
        X = rng.integers(-512, 513, (n, 2))
        angle = rng.uniform(0, 2 * np.pi)
        return X, X @ np.array([np.cos(angle), np.sin(angle)]) >= rng.uniform(-256, 256)

    return _balanced(make, rng)


def multi_scale(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw coordinates +-2^U, U uniform on [0, 16], and a line whose coefficients are drawn so as well."""

    def make(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[Any]]:
        sizes = np.exp2(rng.uniform(0, 16, (n, 2)))
        X = (np.rint(sizes) * rng.choice([-1, 1], (n, 2))).astype(np.int64)
        a = np.exp2(-rng.uniform(0, 16, 2)) * rng.choice([-1, 1], 2)
        return X, X @ a >= rng.choice([-1, 1])

    return _balanced(make, rng)


def cuts(k: int, rule: str) -> Source:
    """Return a source of numbers below 2^40 on a logarithmic scale, under a rule on k thresholds."""

    def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        def make(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[Any]]:
            x = np.exp2(rng.uniform(0, 40, n)).astype(np.int64)
            t = np.sort(np.exp2(rng.uniform(0, 40, k)))
            passed = x[:, None] >= t
            positive = passed[:, 0] & ~passed[:, 1] if rule == "interval" else passed.sum(axis=1) % 2 == 1
            return x[:, None], positive

        return _balanced(make, rng)

    return draw


WORLDS = {
    "square": World("uniform square", square, 512),
    "multi-scale": World("coordinates +-2^U(0, 16)", multi_scale, 2**16),
    "interval": World("intervals, numbers 2^U(0, 40)", cuts(2, "interval"), 2**40, "interval", 2),
    "xor3": World("XOR of 3 thresholds, numbers 2^U(0, 40)", cuts(3, "xor"), 2**40, "xor", 3),
}
PRIVATE = ("carrier-boost", "label-boost", "exponential")
#: The learner that is given public unlabelled points besides: a quarter of n, at least 50, at most 500.
PUBLIC = "public points"
SURROGATES: dict[str, Callable[..., Any]] = {
    "objective perturbation": objective_perturbation,
    "noisy gradient descent": noisy_gradient_descent,
}


def error(world: World, method: str, n: int, seed: int, epsilon: Fraction = Fraction(1)) -> float:
    """Return the error on n fresh records of one run on n records.

    Args:
        world: one of WORLDS, or the user's own.
        method: one of PRIVATE, of SURROGATES, PUBLIC (halfspaces), or "majority".
        n: number of records.
        seed: of the data and of the run.
        epsilon: the privacy loss.

    Raises:
        ArgumentError: unless ``n`` is an integer >= 2 and ``method`` names a private learner or a baseline.

    Example:
        >>> error(WORLDS["square"], "exponential", 500, 0) < 0.1
        True
    """
    check_integer("n", n, 2)
    rng = np.random.default_rng([seed, n])
    extra = min(500, max(50, n // 4)) if method == PUBLIC else 0
    X, y = world.draw(2 * n + extra, rng)
    if method in PRIVATE:
        learner = _learner(world, method, epsilon, seed)
        wrong = learner.fit(X[:n], y[:n]).predict(X[n:]) != y[n:]
    elif method == PUBLIC and not world.rule:
        C = Halfspaces((Integers(0, 0),) * X.shape[1])  # its coordinate domains play no part
        sampler = SimSampler(seed)
        found = public_carrier(C, X[:n], y[:n], X[2 * n :], epsilon=epsilon, sampler=sampler)
        wrong = C.predict(found, X[n : 2 * n]) != y[n : 2 * n]
    elif method in SURROGATES:
        surrogate = SURROGATES[method](X[:n], y[:n], world.radius, epsilon, rng)
        wrong = surrogate.predict(X[n:]) != y[n:]
    elif method == "majority":
        wrong = majority(X[:n], y[:n], epsilon, rng).predict(X[n:]) != y[n:]
    else:
        raise ArgumentError("method", "a private learner or a baseline", repr(method))
    return float(np.mean(wrong))


def _learner(world: World, method: str, epsilon: Fraction, seed: int) -> Any:
    if not world.rule:
        return PrivateHalfspaceLearner(epsilon, method=method, radius=world.radius, random_state=seed)
    return PrivateThresholdTuple(
        epsilon, rule=world.rule, k=world.k, high=world.radius, method=method, random_state=seed
    )


def learning_curve(
    world: World,
    method: str,
    sizes: Sequence[int],
    runs: int,
    *,
    epsilon: Fraction = Fraction(1),
    progress: Progress = None,
) -> Curve:
    """Return the errors of a method at several numbers of records.

    Example:
        >>> curve = learning_curve(WORLDS["square"], "majority", [100, 200], runs=2)
        >>> len(curve.medians), all(0.2 < m < 0.8 for m in curve.medians)
        (2, True)
    """
    found = []
    for i, n in enumerate(sizes):
        found.append(tuple(error(world, method, n, seed, epsilon) for seed in range(runs)))
        if progress is not None:
            progress((i + 1) / len(sizes))
    return Curve(method, world.name, tuple(sizes), tuple(found))
