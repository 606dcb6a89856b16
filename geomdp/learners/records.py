"""From tables of numbers to records on a public grid, and from components to integer weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError, check_integer
from geomdp.learners.domains import Explicit

_REACH = 10**100  # of scales


def snapped(X: Any, scale: Fraction, low: int, high: int, columns: int | None = None) -> NDArray[np.int64]:
    """Return records times a public scale, each coordinate moved to the nearest integer in low..high.

    Each coordinate is moved by itself, so the map keeps neighbours; no range is taken from the data.

    Raises:
        ArgumentError: when X is not a table of finite numbers.

    Example:
        >>> snapped([[0.26, -7], [1e9, 2]], Fraction(10), -50, 50).tolist()
        [[3, -50], [50, 20]]
    """
    if not Fraction(1, _REACH) <= scale <= _REACH:
        raise ArgumentError("scale", "a number > 0, at least 10^-100 and at most 10^100", "another one")
    table = as_numbers(X)
    if table.ndim != 2 or not table.shape[1] or (columns is not None and table.shape[1] != columns):
        wanted = "at least one column" if columns is None else f"{columns} column" + "s" * (columns != 1)
        raise ArgumentError("X", f"a table with {wanted}", f"of shape {table.shape}")
    if not np.isfinite(table).all():
        raise ArgumentError("X", "a table of finite numbers", "one with missing or infinite values")
    with np.errstate(over="ignore"):
        moved = np.clip(np.rint(table * float(scale)), float(low), float(high))
    return moved.astype(np.int64)


def as_numbers(X: Any) -> NDArray[np.float64]:
    """Return an array of doubles of any shape.

    Raises:
        ArgumentError: on ragged rows, and on anything but real numbers.
    """
    try:
        given = np.asarray(
            np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else X
        )
        if given.dtype.kind not in "cmM":  # complex numbers and times would lose a part of themselves
            return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ArgumentError("X", "a table of real numbers", "one with other values or ragged rows")


@lru_cache(maxsize=8)
def compact_domain(radius: int) -> Explicit:
    """Return 0 and all +-(1 + i/256) 2^e, 0 <= i < 256, from e = 1 down to 2^e < 1 / (128 radius).

    A public choice for coefficients of <a, x> >= +-1 on the grid of this radius: relative precision 1/256 at
    every scale. Coefficients below the least one change <a, x> by less than 1/128; lines nearer to the origin
    than 1/4 are left out.

    Raises:
        ArgumentError: unless ``radius`` is an integer >= 1.

    Example:
        >>> compact_domain(512).size
        9729
    """
    lowest = -(check_integer("radius", radius, 1).bit_length() + 7)
    values = [Fraction(256 + i, 256) * Fraction(2) ** e for e in range(lowest, 2) for i in range(256)]
    return Explicit([0, *values, *(-v for v in values)])


def halfspace_of(components: Sequence[Any]) -> Halfspace:
    """Return components w, a_1, ..., a_d (or (w, a_1), a_2, ...) as homogeneous integer weights (a, -w).

    Example:
        >>> halfspace_of(((Fraction(1), Fraction(1, 2)), Fraction(-3, 4))).weights
        (2, -3, -4)
    """
    flat = [Fraction(v) for part in components for v in (part if isinstance(part, tuple) else (part,))]
    scale = math.lcm(*(v.denominator for v in flat))
    w, *a = (int(v * scale) for v in flat)
    divisor = math.gcd(w, *a) or 1
    return Halfspace(tuple(v // divisor for v in (*a, -w)))
