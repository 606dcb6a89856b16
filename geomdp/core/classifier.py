"""Classifiers, and the one place where the sign convention lives: sign(0) = +1.

A halfspace labels x with +1 iff <w, x> >= 0; a threshold labels a rank with +1 iff rank >= theta.
All decisions are made in integers: int64 where the products provably fit, Python integers elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError

#: Largest absolute value that an int64 product sum may reach before Python integers take over.
INT64_SAFE = 2**62


def sign(value: int) -> int:
    """Return +1 if value >= 0 else -1: the convention of every classifier here.

    Example:
        >>> (sign(0), sign(3), sign(-1))
        (1, 1, -1)
    """
    return 1 if value >= 0 else -1


def integer_array(name: str, values: Any, ndim: int) -> NDArray[Any]:
    """Return an exact integer array: int64 where it fits, else an object array of Python ints.

    Args:
        name: argument name for messages.
        values: anything numpy reads; floats are accepted when every one is an integer.
        ndim: the required number of axes.

    Raises:
        ArgumentError: on a wrong shape, or on a value that is not an integer.

    Example:
        >>> integer_array("points", [[1, 2.0]], 2).dtype.name
        'int64'
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ArgumentError(name, f"a {ndim}-D array of integers", "a ragged sequence") from None
    if array.ndim != ndim:
        raise ArgumentError(name, f"a {ndim}-D array of integers", f"an array of shape {array.shape}")
    if array.dtype.kind == "f" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # numpy rounds lists that mix small and wide integers
    if array.dtype.kind in "bi":
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "u" and (array.size == 0 or int(array.max()) < 2**63):
        return np.ascontiguousarray(array.astype(np.int64))
    return _from_wide(name, array, ndim)


def _from_wide(name: str, array: NDArray[Any], ndim: int) -> NDArray[Any]:
    exact = np.empty(array.shape, dtype=object)
    for index, value in np.ndenumerate(array):
        try:
            number = int(value)
            whole = bool(number == value)
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise ArgumentError(
                name,
                f"a {ndim}-D array of integers",
                f"an array of {array.dtype.name} with a value that is not an integer",
                "Use Domain.from_rationals, or multiply each row by its common denominator.",
            )
        exact[index] = number
    small = all(-(2**63) <= v < 2**63 for v in exact.flat)
    return np.ascontiguousarray(exact.astype(np.int64)) if small else exact


def products(points: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Return the exact inner products <x_i, w_j>, shape (m,) or (m, N).

    Args:
        points: (m, d) integers.
        weights: (d,) one weight vector, or (d, N) weight vectors as columns, integers.

    Example:
        >>> products(np.array([[1, 1], [2, 1]]), np.array([1, -2])).tolist()
        [-1, 0]
    """
    if points.dtype != object and weights.dtype != object:
        top = _largest(points) * _largest(weights) * max(points.shape[1], 1)
        if top < INT64_SAFE:
            return np.asarray(points @ weights)
    return np.asarray(points.astype(object) @ weights.astype(object))


def _largest(array: NDArray[Any]) -> int:
    return 0 if array.size == 0 else max(abs(int(array.min())), abs(int(array.max())))


def signs(points: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.int8]:
    """Return the labels +1 / -1 that the weights give the points, exactly, sign(0) = +1.

    Args:
        points: (m, d) integers.
        weights: (d,) or (d, N) integers.

    Returns:
        int8 array of shape (m,) or (m, N).

    Example:
        >>> signs(np.array([[0, 1], [3, 1]]), np.array([1, -2])).tolist()
        [-1, 1]
    """
    positive = np.asarray(products(points, weights) >= 0, dtype=bool)
    return np.where(positive, np.int8(1), np.int8(-1))


class Records(Protocol):
    """What a classifier needs of a sample: occupied cells, their points, and records of either label."""

    @property
    def cells(self) -> NDArray[Any]:
        """(k,) occupied cell indices."""

    @property
    def points(self) -> NDArray[Any]:
        """(k, d) their points."""

    @property
    def positives(self) -> NDArray[np.int64]:
        """(k,) records labelled +1."""

    @property
    def negatives(self) -> NDArray[np.int64]:
        """(k,) records labelled -1."""


@dataclass(frozen=True)
class Halfspace:
    """The classifier x -> +1 iff <w, x> >= 0.

    Attributes:
        weights: d integers (homogeneous: the bias weight is last on a grid domain).

    Example:
        >>> Halfspace((1, -2)).predict(np.array([[2, 1], [1, 1]])).tolist()
        [1, -1]
    """

    weights: tuple[int, ...]

    @classmethod
    def of(cls, weights: Sequence[int] | NDArray[Any]) -> Halfspace:
        """Return the halfspace of any integer sequence of weights, (d,) or of length d."""
        return cls(tuple(int(w) for w in weights))

    def predict(self, points: NDArray[Any]) -> NDArray[np.int8]:
        """Return labels of (m, d) points.

        Raises:
            ArgumentError: unless ``points`` has as many columns as there are weights.
        """
        weights = np.empty(len(self.weights), dtype=object)
        weights[:] = self.weights
        if all(abs(w) < 2**62 for w in self.weights):
            weights = weights.astype(np.int64)
        if points.shape[1] != len(self.weights):
            raise ArgumentError(
                "points", f"an array of {len(self.weights)} columns", f"an array of shape {points.shape}"
            )
        return signs(points, weights)

    def mistakes(self, sample: Records) -> int:
        """Return the number of records of the sample that this classifier labels wrongly."""
        positive = self.predict(sample.points) > 0
        wrong = np.where(positive, sample.negatives, sample.positives)
        return int(wrong.sum())


@dataclass(frozen=True)
class Threshold:
    """The classifier rank -> +1 iff rank >= theta on an ordered domain of m ranks; 0 <= theta <= m.

    Attributes:
        theta: the least rank labelled +1; m means that every rank is labelled -1.

    Example:
        >>> [Threshold(2).predict(rank) for rank in (1, 2, 3)]
        [-1, 1, 1]
    """

    theta: int

    def predict(self, rank: int) -> int:
        """Return the label of one rank."""
        return sign(int(rank) - self.theta)

    def mistakes(self, sample: Records) -> int:
        """Return the number of records of the sample that this classifier labels wrongly."""
        positive = np.asarray(sample.cells >= self.theta, dtype=bool)
        return int(np.where(positive, sample.negatives, sample.positives).sum())
