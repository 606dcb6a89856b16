"""Checks of points, labels and generators that the local learners share, and the public map to the sphere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, describe
from geomdp.local.finite import Dice
from geomdp.privacy.sampler import SecureSampler

Points = NDArray[np.float64]
Signs = NDArray[np.int8]

_LARGEST = 1e100
_SLACK = 1e-9  # rounding of a norm that is one on paper


def check_rng(rng: object, purpose: str, name: str = "rng") -> np.random.Generator:
    """Return a generator of simulated randomness; a missing one is refused, so that nothing is seeded twice.

    An integer or a SeedSequence seeds one stream for each purpose: data drawn with seed 3 and noise drawn
    with seed 3 are independent, where one shared stream would make the noise a function of the data.

    Args:
        rng: a numpy Generator (used as it is), a SeedSequence, or an integer seed >= 0.
        purpose: what is drawn, e.g. "Duchi".
        name: of the argument, for the error.

    Raises:
        ArgumentError: otherwise.

    Example:
        >>> a, b = check_rng(3, "points"), check_rng(3, "noise")
        >>> bool(a.integers(2**60) == check_rng(3, "points").integers(2**60)), bool(a.random() == b.random())
        (True, False)
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, np.random.SeedSequence):
        key = (*rng.spawn_key, *purpose.encode())
        return np.random.default_rng(
            np.random.SeedSequence(rng.entropy, spawn_key=key, pool_size=rng.pool_size)
        )
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(np.random.SeedSequence(int(rng), spawn_key=tuple(purpose.encode())))
    raise ArgumentError(name, "a numpy Generator or an integer seed >= 0", describe(rng))


def check_source(rng: object, sampler: object) -> None:
    """Check that exactly one of a generator and a sampler is given, and that the latter is one.

    Raises:
        ArgumentError: otherwise.
    """
    if (rng is None) == (sampler is None):
        raise ArgumentError("rng", "given exactly when sampler is not", "given for both or neither")
    if sampler is not None:
        check_dice("sampler", sampler)


def check_dice(name: str, dice: object) -> None:
    """Check that dice are a sampler; a numpy Generator is none.

    Raises:
        ArgumentError: otherwise.
    """
    if not (callable(getattr(dice, "uniform", None)) and isinstance(getattr(dice, "simulated", None), bool)):
        raise ArgumentError(name, "a sampler such as SecureSampler()", describe(dice))


def is_simulated(sampler: Dice | None) -> bool:
    """Return whether values drawn with this sampler, or without one, are a simulation and no release."""
    return not isinstance(sampler, SecureSampler) or sampler.simulated


def floats(x: Any, d: int) -> list[float]:
    """Return a private vector of d numbers as floats; integers beyond the largest float become infinite.

    Raises:
        ArgumentError: when x is no vector of d numbers; the message does not show it.

    Example:
        >>> floats((1, -(10**400)), 2)
        [1.0, -inf]
    """
    try:
        values = list(x)
        if len(values) == d:
            return [_float(value) for value in values]
    except (TypeError, ValueError):
        pass
    raise ArgumentError("x", f"a vector of {d} numbers", "something else")


def _float(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def inner(z: Sequence[float], x: Sequence[float]) -> float:
    """Return the inner product of a public direction and a private vector: a number for all floats.

    A sum that overflows, or whose infinite parts cancel, counts as 0: an exception would tell about x.

    Example:
        >>> inner((1.0, 1.0), (0.25, 0.5)), inner((1.0, 1.0), (float("inf"), -float("inf")))
        (0.75, 0.0)
    """
    try:
        return math.fsum(a * b for a, b in zip(z, x, strict=True))
    except (ValueError, OverflowError):
        return 0.0


def check_points(name: str, X: Any, d: int | None = None) -> Points:
    """Return points as a float array of shape (n, d), d >= 1, with entries below 1e100.

    Raises:
        ArgumentError: on another shape, NaN, infinity or numbers whose squares might overflow; the message
            holds no coordinate.
    """
    points = check_table(name, X, d)
    if not (np.abs(points) < _LARGEST).all():
        raise ArgumentError(name, "an array of finite numbers below 1e100", "one with NaN or larger ones")
    return points


def check_table(name: str, X: Any, d: int | None = None) -> Points:
    """Return any floats as an array of shape (n, d), d >= 1: what is refused are public facts, no entries.

    Raises:
        ArgumentError: on another shape, or entries that are no floats.

    Example:
        >>> check_table("V", [[np.nan, np.inf]], 2).shape
        (1, 2)
    """
    try:
        if np.iscomplexobj(X):
            raise TypeError
        points = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(name, "an array of numbers of shape (n, d)", "one with other entries") from None
    if points.ndim != 2 or points.shape[1] < 1 or (d is not None and points.shape[1] != d):
        shape = "(n, d), d >= 1" if d is None else f"(n, {d})"
        raise ArgumentError(name, f"of shape {shape}", f"of shape {points.shape}")
    return points


def check_labels(name: str, y: Any, n: int) -> Signs:
    """Return n labels, each -1 or +1.

    Raises:
        ArgumentError: otherwise.
    """
    try:
        labels = np.asarray(y)
    except ValueError:
        raise ArgumentError(name, f"of shape ({n},)", "ragged") from None
    if labels.shape != (n,):
        raise ArgumentError(name, f"of shape ({n},)", f"of shape {labels.shape}")
    if labels.dtype.kind not in "biuf" or not np.isin(labels, (-1, 1)).all():
        raise ArgumentError(name, "an array of -1 and +1", "one with other entries")
    return labels.astype(np.int8)


def check_vector(name: str, w: Any, d: int | None = None) -> Points:
    """Return a vector of shape (d,) that is not zero.

    Raises:
        ArgumentError: otherwise.
    """
    vector = check_points(name, [w], d)
    if len(vector) != 1 or not vector.any():
        raise ArgumentError(name, "a vector that is not zero", f"of shape {np.shape(w)}")
    return np.asarray(vector[0])


def check_positive(name: str, value: object) -> float:
    """Return a finite number > 0.

    Raises:
        ArgumentError: otherwise.
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)
        if 0 < number < np.inf:
            return number
    raise ArgumentError(name, "a finite number > 0", describe(value))


def unit(w: Points) -> Points:
    """Return w/|w|; the zero vector becomes the first axis, so that every rule stays defined."""
    length = float(np.linalg.norm(w))
    if length > 0:
        return np.asarray(w / length)
    axis = np.zeros_like(w)
    axis[0] = 1.0
    return axis


def unit_rows(X: Points) -> Points:
    """Return each row divided by its norm; a zero row stays zero.

    A homogeneous halfspace gives x and x/|x| the same label, so nothing is lost. For a halfspace with a bias
    append the constant coordinate first.

    Example:
        >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e200, 0.0]])).tolist()
        [[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]]
    """
    top = np.abs(X).max(axis=1, keepdims=True)
    scaled = np.divide(X, top, out=np.zeros_like(X), where=top > 0)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(np.divide(scaled, norms, out=np.zeros_like(X), where=norms > 0))


def bounded(name: str, X: Points, normalise: bool) -> Points:
    """Return rows of norm <= 1: normalised on request, else as they are.

    Every local mechanism here rests on this bound; without it the noise protects nobody.

    Raises:
        ArgumentError: when a row is longer than 1 and normalise is False. The message names no row.
    """
    if normalise:
        return unit_rows(X)
    norms = np.linalg.norm(X, axis=1)
    if (norms > 1 + _SLACK).any():
        raise ArgumentError(
            name,
            "rows of norm <= 1",
            "longer ones",
            "Pass normalise=True: labels of homogeneous halfspaces do not change.",
        )
    return np.asarray(X / np.maximum(norms, 1.0)[:, None])


def decide(X: Points, w: Points) -> Signs:
    """Return the halfspace's labels sign<w, x>, with sign(0) = +1.

    Args:
        X: points, shape (n, d).
        w: the weights, shape (d,).

    Returns:
        (n,) labels -1 and +1, int8.

    Example:
        >>> decide(np.array([[1.0, -1.0], [1.0, -2.0]]), np.array([1.0, 1.0])).tolist()
        [1, -1]
    """
    return np.where(X @ w >= 0, 1, -1).astype(np.int8)
