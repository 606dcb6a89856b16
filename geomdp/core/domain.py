"""Public finite domains: integer homogeneous points, grids with a bias coordinate, ordered lines."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array
from geomdp.core.errors import ArgumentError, CapacityError, check_fraction, check_integer, describe

#: A domain with more points than this is never written out as an array.
MAX_POINTS = 2**26


@dataclass(frozen=True)
class Feature:
    """One axis of a grid: a value x lands on level rint((x - lower) / (upper - lower) * (levels - 1)).

    Attributes:
        name: column name.
        lower, upper: public bounds in the column's unit, from domain knowledge and never from the data.
        levels: number of levels, at least 2; values outside the bounds go to the nearest end.

    Raises:
        ArgumentError: on an empty name, bounds that are not numbers between -1e300 and 1e300, lower >= upper,
            or fewer than 2 or more than 2^32 levels.

    Example:
        >>> Feature("delay", 0, 30, 4).level(np.array([-5.0, 10.0, 99.0])).tolist()
        [0, 1, 3]
    """

    name: str
    lower: float
    upper: float
    levels: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError("name", "a non-empty column name", describe(self.name))
        for end in ("lower", "upper"):
            value = getattr(self, end)
            good = isinstance(value, Real) and not isinstance(value, bool)
            if not good or not -1e300 <= value <= 1e300:
                requirement = f"a number between -1e300 and 1e300 for feature '{self.name}'"
                raise ArgumentError(end, requirement, describe(value))
            if not isinstance(value, (int, float)) or isinstance(value, np.floating):
                object.__setattr__(self, end, float(value))
        if not self.lower < self.upper:
            raise ArgumentError(
                "upper", f"greater than lower ({self.lower}) for feature '{self.name}'", self.upper
            )
        check_integer("levels", self.levels, 2, 2**32)

    def level(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the level of each of the values, (k,) in the column's unit, clipped to 0..levels-1."""
        scaled = (np.asarray(values, dtype=np.float64) - self.lower) / (self.upper - self.lower)
        levels = np.rint(scaled * (self.levels - 1))
        return np.clip(levels, 0, self.levels - 1).astype(np.int64)

    def value(self, level: int) -> float:
        """Return the value in the column's unit on which a level is centred."""
        return self.lower + level * (self.upper - self.lower) / (self.levels - 1)


class Domain:
    """A public finite domain X of m points in Z^d, homogeneous, used as they are.

    Args:
        points: (m, d) integers, m, d >= 1. Rational rows can be scaled by their denominator.

    Attributes:
        m: number of points.
        d: homogeneous dimension (the bias coordinate counts).
        features: the grid's axes, or None.
        ordered: True for lines and one-feature grids: thresholds on the rank are defined.

    Raises:
        ArgumentError: on an empty array, a wrong shape or values that are not integers.

    Example:
        >>> D = Domain([[0, 1], [1, 1], [2, 1]])
        >>> (D.m, D.d, D.pointed)
        (3, 2, True)
    """

    def __init__(self, points: Any) -> None:
        array = integer_array("points", points, 2)
        if array.shape[0] < 1 or array.shape[1] < 1:
            raise ArgumentError("points", "an array of at least one row and column", f"shape {array.shape}")
        self._set(array.shape[0], array.shape[1], points=array)

    def _set(
        self,
        m: int,
        d: int,
        *,
        points: NDArray[Any] | None = None,
        features: tuple[Feature, ...] | None = None,
        ordered: bool = False,
    ) -> None:
        self.m, self.d, self.features, self.ordered = m, d, features, ordered
        self._points = points
        if points is not None:
            points.setflags(write=False)

    @classmethod
    def from_rationals(cls, points: Any) -> Domain:
        """Return the domain of rational points, each row multiplied by its common denominator.

        A positive multiple of a point has the same label under every halfspace, so nothing changes. Floats
        are read as the binary fractions that they are, text as decimals or fractions.

        Args:
            points: (m, d) ints, Fractions, floats, or text such as "0.1" and "1/3".

        Raises:
            ArgumentError: on a value that is no finite number, or rows of unequal length.

        Example:
            >>> Domain.from_rationals([["0.1", 1], [Fraction(1, 3), 0.5]]).points.tolist()
            [[1, 10], [2, 3]]
        """
        requirement = "rows of numbers (ints, Fractions, finite floats, or text such as '1/3')"
        rows = []
        for row in points if isinstance(points, Iterable) else [points]:
            if isinstance(row, str) or not isinstance(row, Iterable):
                raise ArgumentError("points", requirement, describe(row))
            exact = [
                Fraction(float(v))
                if isinstance(v, float) and math.isfinite(v)
                else check_fraction("points", v)
                for v in row
            ]
            scale = math.lcm(*(v.denominator for v in exact))
            rows.append([int(v * scale) for v in exact])
        return cls(rows)

    @classmethod
    def grid(cls, features: Iterable[Feature | Sequence[Any] | Mapping[str, Any]]) -> Domain:
        """Return the grid of all level combinations, with a bias coordinate 1 appended.

        Points are (level_1, ..., level_r, 1) in row-major order (the last feature varies fastest), d = r + 1.

        Args:
            features: Feature objects, tuples (name, lower, upper, levels), or mappings with those keys.

        Raises:
            ArgumentError: on no feature, repeated names, levels < 2 or lower >= upper.

        Example:
            >>> D = Domain.grid([("x", 0, 10, 16), ("y", 0, 1, 16)])
            >>> (D.m, D.d, D.points[17].tolist())
            (256, 3, [1, 1, 1])
        """
        if not isinstance(features, Iterable):
            raise ArgumentError("features", "a list of features", describe(features))
        axes = tuple(_as_feature(f) for f in features)
        if not axes:
            raise ArgumentError("features", "a list of at least one feature", "an empty list")
        names = [axis.name for axis in axes]
        if len(set(names)) < len(names):
            raise ArgumentError("features", "a list of distinct names", f"{names}")
        domain = cls.__new__(cls)
        m = math.prod(axis.levels for axis in axes)
        domain._set(m, len(axes) + 1, features=axes, ordered=len(axes) == 1)
        return domain

    @classmethod
    def line(cls, m: int) -> Domain:
        """Return an ordered domain of m >= 2 ranks 0..m-1 for thresholds; it is never written out.

        Raises:
            ArgumentError: unless ``m`` is an integer >= 2.

        Example:
            >>> Domain.line(2**64).m == 2**64
            True
        """
        domain = cls.__new__(cls)
        domain._set(check_integer("m", m, 2), 2, ordered=True)
        return domain

    @classmethod
    def from_grid_file(cls, path: str | Path) -> Domain:
        """Return the grid of the JSON file at a path.

        It reads {"features": [{"name": ..., "lower": ..., "upper": ..., "levels": ...}, ...]}.

        Raises:
            ArgumentError: when the file is missing, is not JSON, or describes no valid grid.
        """
        try:
            if not Path(path).is_file():  # a pipe or a device may never end
                raise OSError
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ArgumentError("grid", "a readable JSON file in UTF-8", describe(str(path))) from None
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise ArgumentError("grid", "a file of valid JSON", describe(str(path))) from None
        if not isinstance(document, dict) or not isinstance(document.get("features"), list):
            raise ArgumentError(
                "grid",
                'a JSON object {"features": [...]}',
                describe(str(path)),
                'Each feature is {"name": "...", "lower": 0, "upper": 10, "levels": 16}.',
            )
        return cls.grid(document["features"])

    @cached_property
    def points(self) -> NDArray[Any]:
        """The (m, d) integer points; read-only.

        Raises:
            CapacityError: for a domain of more than 2^26 points.
        """
        if self._points is not None:
            return self._points
        if self.m > MAX_POINTS:
            raise CapacityError(
                "domain",
                f"at most {MAX_POINTS} points to be written out",
                f"about 2^{self.m.bit_length() - 1} of them",
                "Use fewer levels, or the threshold testers, which never write the domain out.",
            )
        points = self.points_at(np.arange(self.m, dtype=np.int64))
        points.setflags(write=False)
        return points

    def points_at(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the (k, d) points of the (k,) cells, as indices, without writing the whole domain out."""
        if not isinstance(cells, np.ndarray):
            cells = integer_array("cells", cells, 1)
        if self._points is not None:
            return self._points[cells.astype(np.int64)]
        if self.features is None:
            return np.stack([cells, np.ones_like(cells)], axis=1)
        shape = tuple(axis.levels for axis in self.features)
        levels = np.unravel_index(cells.astype(np.int64), shape)
        return np.stack([*levels, np.ones(len(cells), dtype=np.int64)], axis=1)

    @cached_property
    def pointed(self) -> bool:
        """True if a coordinate is positive on every point, so X lies in an open halfspace."""
        if self._points is None:
            return True
        return bool(((self._points > 0).all(axis=0) | (self._points < 0).all(axis=0)).any())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the public domain (64 hex digits): equal domains have equal fingerprints."""
        digest = hashlib.sha256()
        if self.features is not None:
            rows = [[f.name, float(f.lower), float(f.upper), f.levels] for f in self.features]
            digest.update(json.dumps(["grid", rows]).encode())
        elif self._points is None:
            digest.update(json.dumps(["line", str(self.m)]).encode())
        else:
            rows_text = json.dumps(["points", [[str(v) for v in row] for row in self._points.tolist()]])
            digest.update(rows_text.encode())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the grid file's JSON object; lines and point sets are described by size."""
        if self.features is not None:
            return {"features": [dict(vars(f)) for f in self.features]}
        return {"line": self.m} if self._points is None else {"points": self.m, "d": self.d}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Domain) and self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        if self.features is not None:
            shape = " x ".join(f"{f.name}:{f.levels}" for f in self.features)
            return f"Domain.grid({shape}, bias; m={self.m}, d={self.d})"
        if self._points is None:
            return f"Domain.line({self.m})"
        return f"Domain(m={self.m}, d={self.d})"


def _as_feature(value: Any) -> Feature:
    if isinstance(value, Feature):
        return value
    if isinstance(value, Mapping):
        if set(value) != {"name", "lower", "upper", "levels"}:
            raise ArgumentError(
                "features", "objects with keys name, lower, upper, levels", f"keys {sorted(map(str, value))}"
            )
        return Feature(value["name"], value["lower"], value["upper"], value["levels"])
    if isinstance(value, (tuple, list)) and len(value) == 4:
        return Feature(*value)
    raise ArgumentError("features", "tuples (name, lower, upper, levels)", describe(value))
