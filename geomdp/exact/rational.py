"""Rows of rational numbers as integer rows over one positive denominator each; floats are read exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError

_WORD = 62  # bits of magnitude that an int64 entry may use here


@dataclass(frozen=True)
class RationalRows:
    """Points of Q^d: row i is ``numerators[i] / denominators[i]``.

    Attributes:
        numerators: (N, d) integers, int64 where they fit, else an object array of Python integers.
        denominators: (N,) positive integers of either type.

    Example:
        >>> rational_rows("points", [[0.5, 2.0], [1, 3]]).numerators.tolist()
        [[1, 4], [1, 3]]
    """

    numerators: NDArray[Any]
    denominators: NDArray[Any]

    def __len__(self) -> int:
        return len(self.numerators)

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return int(self.numerators.shape[1])

    def row(self, i: int) -> tuple[Fraction, ...]:
        """Return point number i."""
        below = int(self.denominators[i])
        return tuple(Fraction(int(value), below) for value in self.numerators[i])


def rational_rows(name: str, values: Any, d: int | None = None) -> RationalRows:
    """Return points as exact rationals.

    Args:
        name: argument name for messages.
        values: (N, d) integers, Fractions, Decimals or finite floats; a float is the dyadic rational that it
            is. An empty sequence is N = 0 points of the d given.
        d: required number of coordinates, if known.

    Raises:
        ArgumentError: on a wrong shape, or a value that is not a finite rational number.

    Example:
        >>> rational_rows("points", [[0.1]]).row(0)[0] == Fraction(0.1) != Fraction(1, 10)
        True
    """
    array = _as_array(name, values)
    if array.size == 0 and array.ndim == 1 and d is not None:
        array = np.zeros((0, d), dtype=np.int64)
    wanted = "a 2-D array of rational numbers" + ("" if d is None else f" with {d} columns")
    if array.ndim != 2 or array.shape[1] < 1 or (d is not None and array.shape[1] != d):
        raise ArgumentError(name, wanted, f"an array of shape {array.shape}")
    kind, ones = array.dtype.kind, np.ones(len(array), dtype=np.int64)
    if kind in "biu":
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        small = low > -(2**_WORD) and high < 2**_WORD
        return RationalRows(np.ascontiguousarray(array.astype(np.int64 if small else object)), ones)
    if kind == "f" and array.dtype.itemsize <= 8:
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise ArgumentError(name, wanted, "an array with an infinite or missing value")
        return _from_floats(array)
    return _from_objects(name, wanted, array)


def rational_vector(name: str, values: Any) -> RationalRows:
    """Return one point as a single row.

    Raises:
        ArgumentError: when it is not a sequence of at least one finite rational number.

    Example:
        >>> rational_vector("v", [1, Fraction(1, 3)]).row(0)
        (Fraction(1, 1), Fraction(1, 3))
    """
    if np.ndim(values) != 1 or not len(values):
        raise ArgumentError(name, "a sequence of rational numbers", f"an array of shape {np.shape(values)}")
    return rational_rows(name, np.asarray(values)[None] if hasattr(values, "__array__") else [list(values)])


def _as_array(name: str, values: Any) -> NDArray[Any]:
    """Return an array without rounding: a list of mixed numbers must not pass through float64."""
    try:
        array = np.asarray(values) if hasattr(values, "__array__") else np.array(values, dtype=object)
    except ValueError:
        raise ArgumentError(name, "a 2-D array of rational numbers", "a ragged sequence") from None
    if array.dtype == object and array.ndim == 1 and any(isinstance(row, (list, tuple)) for row in array):
        raise ArgumentError(name, "a 2-D array of rational numbers", "a ragged sequence")
    if array.dtype == object and array.size:
        kinds = {type(value) for value in array.flat}
        if kinds <= {int} and all(-(2**_WORD) < value < 2**_WORD for value in array.flat):
            return array.astype(np.int64)
        if kinds == {float}:
            return array.astype(np.float64)
    return array


def _from_floats(array: NDArray[np.float64]) -> RationalRows:
    """Split floats into odd integers times powers of two; a row's least power is its denominator."""
    fraction, exponent = np.frexp(array)
    odd = np.ldexp(fraction, 53).astype(np.int64)
    zeros = np.frexp((odd & -odd).astype(np.float64))[1] - 1  # trailing zero bits; -1 for the number 0
    zeros = np.maximum(zeros, 0)
    odd >>= zeros
    exponent = np.where(odd == 0, 0, exponent.astype(np.int64) - 53 + zeros)
    floor = np.minimum(exponent.min(axis=1, initial=0), 0)
    shift = exponent - floor[:, None]
    length = np.frexp(np.abs(odd).astype(np.float64))[1] + shift
    if length.max(initial=0) <= _WORD and -floor.min(initial=0) <= _WORD:
        return RationalRows(odd << shift, np.int64(1) << -floor)
    below = [1 << int(-f) for f in floor]
    return RationalRows(odd.astype(object) << shift.astype(object), np.array(below, dtype=object))


def _from_objects(name: str, wanted: str, array: NDArray[Any]) -> RationalRows:
    numerators = np.empty(array.shape, dtype=object)
    denominators = np.empty(len(array), dtype=object)
    for i, row in enumerate(array):
        try:
            ratios = [_ratio(value) for value in row]
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise ArgumentError(
                name, wanted, f"an array with a value in row {i} that is no finite rational number"
            ) from None
        below = int(np.lcm.reduce(np.array([q for _, q in ratios], dtype=object)))
        numerators[i] = [p * (below // q) for p, q in ratios]
        denominators[i] = below
    return RationalRows(numerators, denominators)


def _ratio(value: Any) -> tuple[int, int]:
    if hasattr(value, "as_integer_ratio"):
        top, bottom = value.as_integer_ratio()
        return int(top), int(bottom)
    return int(value.numerator), int(value.denominator)
