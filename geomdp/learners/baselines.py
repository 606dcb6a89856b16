"""Simulated baselines for comparison: convex surrogates under differential privacy, and the majority label.

All of this is floating point with a seeded generator. The losses stated are those of the ideal real-number
mechanisms; a float implementation does not attain them, so nothing here may be released. Every result says
``simulated``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_epsilon, check_fraction, check_integer
from geomdp.learners.exponential import check_records

_SMOOTH = 0.25  # the logistic loss has second derivative at most 1/4


@dataclass(frozen=True)
class SimulatedClassifier:
    """A linear classifier of floats: +1 iff <weights, (x, 1)> >= 0.

    Attributes:
        weights: r + 1 floats, the bias last.
        method: how it was made.
        simulated: always True: comparison only, never a release.

    Example:
        >>> SimulatedClassifier((1.0, -2.0), "example").predict([[2], [1]]).tolist()
        [1, -1]
    """

    weights: tuple[float, ...]
    method: str
    simulated: bool = True

    def predict(self, X: Any) -> NDArray[np.int8]:
        """Return the labels of (n, r) points."""
        points = np.asarray(X, dtype=np.float64)
        score = points @ np.array(self.weights[:-1]) + self.weights[-1]
        return np.where(score >= 0, np.int8(1), np.int8(-1))


def objective_perturbation(
    X: Any, y: Any, radius: int, epsilon: Any, rng: np.random.Generator, *, regulariser: float | None = None
) -> SimulatedClassifier:
    """Return the minimiser of a perturbed logistic objective: ideally epsilon-DP.

        J(f) = (1/n) sum log(1 + exp(-y <f, x>)) + <b, f>/n + (Lambda/2) |f|^2,

    with points scaled by the public radius into the unit ball, and b of density proportional to
    exp(-eps' |b| / 2), eps' = eps - 2 ln(1 + c/(n Lambda)), c = 1/4. Where that is not positive, Lambda grows
    to c/(n (e^(eps/4) - 1)) and eps' = eps/2.

    Args:
        X: (n, r) integers in [-radius, radius], without bias column.
        y: (n,) labels +1 and -1.
        radius: public.
        epsilon: the ideal privacy loss.
        rng: the generator.
        regulariser: Lambda, by default 1/n.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100 and ``regulariser`` is None
            or a number > 0.

    Source: Chaudhuri, Monteleoni and Sarwate, JMLR 2011, Algorithm 2.

    Example:
        >>> X = np.arange(-50, 50)[:, None]
        >>> y = np.where(X[:, 0] >= 0, 1, -1)
        >>> h = objective_perturbation(X, y, 50, 50, np.random.default_rng(0))
        >>> bool((h.predict(X) == y).mean() > 0.9)
        True
    """
    Z, labels = _scaled(X, y, radius)
    n, width = Z.shape
    if not n:
        return SimulatedClassifier((0.0,) * width, "objective perturbation")
    loss = float(check_epsilon(epsilon))
    strength = 1 / n if regulariser is None else regulariser
    if not strength > 0:
        raise ArgumentError("regulariser", "a number > 0", strength)
    left = loss - 2 * math.log1p(_SMOOTH / (n * strength))
    if left <= 0:
        strength, left = max(strength, _SMOOTH / (n * math.expm1(loss / 4))), loss / 2
    direction = rng.normal(size=width)
    noise = direction / np.linalg.norm(direction) * rng.gamma(width, 2 / left)
    f = np.zeros(width)
    for _ in range(100):  # damped Newton steps on a smooth, strongly convex function
        margins = labels * (Z @ f)
        p = _sigmoid(-margins)
        gradient = -(Z.T @ (labels * p)) / n + noise / n + strength * f
        hessian = (Z.T * (p * (1 - p))) @ Z / n + strength * np.eye(width)
        step = np.linalg.solve(hessian, gradient)
        f = f - step / max(1.0, float(np.linalg.norm(step)) / (10 + float(np.linalg.norm(f))))
        if float(np.linalg.norm(gradient)) < 1e-10:
            break
    return _classifier(f, radius, "objective perturbation")


def noisy_gradient_descent(
    X: Any,
    y: Any,
    radius: int,
    epsilon: Any,
    rng: np.random.Generator,
    *,
    delta: Any = 1e-6,
    steps: int = 100,
    rate: float = 4.0,
) -> SimulatedClassifier:
    """Return the mean iterate of gradient descent with Gaussian noise: ideally (epsilon, delta)-DP.

    Points are scaled into the unit ball, so that gradients of the logistic loss have norm at most 1 and their
    mean changes by at most 2/n. The T steps compose to one Gaussian mechanism with mu = sqrt(T) 2/(n sigma),
    whose delta is known exactly (:func:`gaussian_delta`); sigma is the least one that keeps delta.

    Args:
        X, y, radius, epsilon, rng: as for :func:`objective_perturbation`.
        delta: > 0.
        steps: T.
        rate: the step length.

    Raises:
        ArgumentError: unless ``steps`` is an integer >= 1, ``epsilon`` is a number with 10^-6 <= epsilon <=
            100 and ``delta`` is a finite number.

    Source: Bassily, Smith and Thakurta 2014; Balle and Wang 2018 for the Gaussian mechanism.
    """
    Z, labels = _scaled(X, y, radius)
    n, width = Z.shape
    if not n:
        return SimulatedClassifier((0.0,) * width, "noisy gradient descent")
    check_integer("steps", steps, 1)
    mu = gaussian_mu(float(check_epsilon(epsilon)), float(check_fraction("delta", delta)))
    sigma = math.sqrt(steps) * 2 / (n * mu)
    f, mean = np.zeros(width), np.zeros(width)
    for t in range(steps):
        gradient = -(Z.T @ (labels * _sigmoid(-labels * (Z @ f)))) / n
        f = f - rate * (gradient + sigma * rng.normal(size=width))
        if 2 * t >= steps:
            mean += f
    return _classifier(mean, radius, "noisy gradient descent")


def majority(X: Any, y: Any, epsilon: Any, rng: np.random.Generator) -> SimulatedClassifier:
    """Return the constant label with more records, by a count with Laplace noise: ideally epsilon-DP.

    The sum of the labels changes by at most 2.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Example:
        >>> majority([[0], [1], [2]], [1, 1, 1], 50, np.random.default_rng(0)).weights
        (0.0, 1.0)
    """
    points, labels = check_records(X, y)
    total = int(labels.sum()) + rng.laplace(scale=2 / float(check_epsilon(epsilon)))
    return SimulatedClassifier((0.0,) * points.shape[1] + (1.0 if total >= 0 else -1.0,), "majority label")


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta at epsilon of a Gaussian mechanism of sensitivity mu and standard deviation 1.

    delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 4)
        0.1269
    """
    root = math.sqrt(2)
    first = math.erfc((epsilon / mu - mu / 2) / root) / 2
    second = math.erfc((epsilon / mu + mu / 2) / root) / 2
    return max(0.0, first - math.exp(epsilon) * second)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu, up to rounding, with gaussian_delta(mu, epsilon) <= delta.

    Raises:
        ArgumentError: unless ``delta`` is a number with 0 < delta < 1.

    Example:
        >>> mu = gaussian_mu(1.0, 1e-6)
        >>> bool(0.99e-6 < gaussian_delta(mu, 1.0) <= 1e-6)
        True
    """
    if not 0 < delta < 1:
        raise ArgumentError("delta", "a number with 0 < delta < 1", delta)
    low, high = 1e-9, 1e3
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def _scaled(X: Any, y: Any, radius: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points with a bias column inside the unit ball (clipped there), and labels."""
    points, labels = check_records(X, y)
    reach = float(check_integer("radius", radius, 1))
    Z = np.column_stack([points.astype(np.float64) / reach, np.ones(len(points))])
    Z = np.clip(Z, -1, 1) / math.sqrt(Z.shape[1])
    return Z, labels.astype(np.float64)


def _classifier(f: NDArray[np.float64], radius: int, method: str) -> SimulatedClassifier:
    weights = [*(f[:-1] / radius).tolist(), float(f[-1])]
    return SimulatedClassifier(tuple(weights), method)


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))
