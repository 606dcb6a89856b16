"""Halfspaces from labels with bounded (Massart) noise: projected descent on a sigmoid of the margin.

I. Diakonikolas, V. Kontonis, C. Tzamos and N. Zarifis, Learning Halfspaces with Massart Noise Under
Structured Distributions (COLT 2020). The surrogate

    L(w) = E[S(-y <w, x>/|w|)],   S(t) = 1/(1 + exp(-t/sigma)),

is not convex, yet every stationary point is close to the target or to its negative, so that both signs of
every iterate are candidates, and a validation set decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_integer, describe
from geomdp.local.learning.inputs import (
    Points,
    Signs,
    check_labels,
    check_points,
    check_positive,
    check_rng,
    check_vector,
    decide,
    unit,
)


def _sigmoid(t: Points) -> Points:
    small = np.exp(-np.abs(t))
    return np.asarray(np.where(t >= 0, 1.0, small) / (1 + small))


def surrogate(w: Points, X: Points, y: Signs, sigma: float) -> float:
    """Return the surrogate loss at w (any length but 0)."""
    return float(_sigmoid(-y * (X @ unit(w)) / sigma).mean())


def surrogate_gradient(w: Points, X: Points, y: Points | Signs, sigma: float) -> Points:
    """Return its gradient at a unit vector: -mean of S(1-S)/sigma y (x - <w, x> w), which is orthogonal to w.

    Example:
        >>> w = np.array([0.6, 0.8])
        >>> g = surrogate_gradient(w, np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1, -1]), 0.5)
        >>> bool(abs(g @ w) < 1e-12)
        True
    """
    return np.asarray(_gradients(w[None, :], X, y, np.array([sigma]), None)[0])


def _gradients(W: Points, X: Points, y: Points | Signs, sigmas: Points, weights: Points | None) -> Points:
    """Return the gradients at the unit rows of W (k, d), each with its own sigma."""
    u = W @ X.T
    S = _sigmoid(-y * u / sigmas[:, None])
    slope = S * (1 - S) * y / sigmas[:, None]
    if weights is not None:
        slope = slope * weights
    return np.asarray(-(slope @ X - (slope * u).sum(axis=1, keepdims=True) * W) / len(X))


@dataclass(frozen=True, eq=False)
class MassartFit:
    """The halfspace with the least validation error.

    Attributes:
        weights: a unit vector.
        validation_error: share of wrong validation labels (weighted, if weights were given).
        sigma, step: the setting that found it; None if the given start, unchanged, is the best.
        candidates: how many halfspaces were compared.
    """

    weights: Points
    validation_error: float
    sigma: float | None
    step: float | None
    candidates: int


def learn_massart(
    X: Any,
    y: Any,
    *,
    rng: np.random.Generator | int,
    start: Any = None,
    weights: Any = None,
    sigmas: Sequence[float] = (0.05, 0.2, 0.6),
    steps: Sequence[float] = (0.02, 0.07),
    updates: int = 1500,
    keep: int = 100,
    validation: float = 0.25,
    progress: Callable[[float], None] | None = None,
) -> MassartFit:
    """Return a halfspace learned from labels whose flip rates stay below 1/2.

    Every pair (sigma, step) runs w <- unit(w - step * gradient) on minibatches; `keep` evenly spaced iterates
    of each, with both signs, are compared on records that no gradient has seen. The theory sets one sigma of
    order sqrt(1 - 2 lambda) alpha and takes (U/r)^12 d/alpha^4 records; here the settings are chosen by
    validation, which costs a logarithm of their number.

    Args:
        X: points, shape (m, d); isotropic ones suit the default settings.
        y: noisy labels -1/+1.
        rng: of the split and the batches.
        start: first iterate, e.g. the average of y x; left out, the first axis.
        weights: public weight of each label, >= 0, for known flip rates (log-odds make the weighted
            validation error the negative log-likelihood up to constants); left out, all equal.
        sigmas, steps: the settings.
        updates: gradient steps of each.
        keep: iterates kept of each.
        validation: share of the records held out, in (0, 1).
        progress: told the fraction of the updates done.

    Returns:
        The halfspace of least validation error, with that error and the setting that found it.

    Raises:
        ArgumentError: on other shapes, NaN, fewer than 4 records, or settings out of range.

    Example:
        >>> from geomdp.local.learning.distributions import Massart
        >>> oracle = Massart([1.0, 1.0], lambda X: np.full(len(X), 0.2), 0.2)
        >>> fit = learn_massart(*oracle.sample(4000, 0), rng=1, updates=300)
        >>> oracle.error(fit.weights) < 0.03
        True
    """
    points = check_points("X", X)
    labels = check_labels("y", y, len(points)).astype(float)
    if len(points) < 4:
        raise ArgumentError("X", "at least 4 rows", len(points))
    share = check_positive("validation", validation)
    if share >= 1:
        raise ArgumentError("validation", "a share with 0 < validation < 1", validation)
    check_integer("updates", updates, 1)
    check_integer("keep", keep, 1)
    mass = None if weights is None else _mass(weights, len(points))
    grid = _settings(sigmas, steps)
    w0 = np.eye(points.shape[1])[0] if start is None else unit(check_vector("start", start, points.shape[1]))
    generator = check_rng(rng, "batches")
    order = generator.permutation(len(points))
    held = min(max(1, round(share * len(points))), len(points) - 1)
    test, train = order[:held], order[held:]
    kept = [w0[None, :]]
    marks = set(np.linspace(updates / keep, updates, keep).round().astype(int).tolist())
    records = points, labels, mass
    walk = _descent(w0, grid, records, train, updates=updates, generator=generator)
    for t, W in enumerate(walk, 1):
        if t in marks:
            kept.append(W)
        if progress is not None:
            progress(t / updates)
    candidates = np.concatenate(kept)
    candidates = np.concatenate([candidates, -candidates])
    errors = validation_errors(candidates, points[test], labels[test], None if mass is None else mass[test])
    best = int(np.argmin(errors))
    place = best % (len(candidates) // 2) - 1
    sigma, step = (None, None) if place < 0 else grid[place % len(grid)].tolist()
    return MassartFit(candidates[best], float(errors[best]), sigma, step, len(candidates))


def _settings(sigmas: Sequence[float], steps: Sequence[float]) -> Points:
    """Return all pairs (sigma, step), checked."""
    if not all(isinstance(setting, Sequence) for setting in (sigmas, steps)):
        raise ArgumentError("sigmas", "a sequence of numbers, like steps", describe(sigmas))
    pairs = [(check_positive("sigmas", s), check_positive("steps", b)) for s in sigmas for b in steps]
    if not pairs:
        raise ArgumentError("sigmas", "at least one setting", "empty")
    return np.array(pairs)


def _descent(
    w: Points,
    grid: Points,
    records: tuple[Points, Points, Points | None],
    train: NDArray[np.int64],
    *,
    updates: int,
    generator: np.random.Generator,
) -> Iterator[Points]:
    """Yield the unit vectors of all settings after each update on a minibatch, shape (settings, d)."""
    points, labels, mass = records
    W, pool = np.tile(w, (len(grid), 1)), train
    size = min(len(train), max(16, len(train) // updates))
    for _ in range(updates):
        if len(pool) < size:
            pool = generator.permutation(train)
        part, pool = pool[:size], pool[size:]
        gradient = _gradients(W, points[part], labels[part], grid[:, 0], None if mass is None else mass[part])
        W = W - grid[:, 1:] * gradient
        W = W / np.linalg.norm(W, axis=1, keepdims=True)
        yield W


def validation_errors(W: Points, X: Points, y: Points, weights: Points | None = None) -> Points:
    """Return the (weighted) share of wrong labels of each row of W; sign(0) = +1."""
    mass = np.ones(len(X)) if weights is None else weights
    total = float(mass.sum())
    errors = np.zeros(len(W))
    for rows in range(0, len(W), 256):
        block = W[rows : rows + 256]
        wrong = (X @ block.T >= 0) != (y > 0)[:, None]
        errors[rows : rows + 256] = mass @ wrong / total if total > 0 else 0.5
    return errors


def _mass(weights: Any, m: int) -> Points:
    try:
        values = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (m,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ArgumentError("weights", f"finite numbers >= 0 of shape ({m},)", "others")
    return values / values.mean() if values.any() else values


def vote(W: Points, X: Points) -> Signs:
    """Return the majority label of the halfspaces in the rows of W at each point; a tie counts as +1."""
    total = np.zeros(len(X), dtype=np.int64)
    for w in W:
        total += decide(X, w)
    return np.where(total >= 0, 1, -1).astype(np.int8)
