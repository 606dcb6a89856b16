"""From weighted points to the lines that matter: merging, netting and reduction to the rank, all exact.

The mistakes of w on points with weights a_x (records labelled +1) and b_x (labelled -1) are

    f(w) = sum_x a_x + sum_{x: <w, x> >= 0} g_x,      g_x = b_x - a_x,

so that an optimum minimises the *gain* G(w), the sum of g_x over the closed side of w. G does not change when
points on one ray are merged, when a point with g_x = 0 is dropped, or when the points are replaced by their
coordinates in as many columns as their rank. The zero vector is always on the closed side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.opt.rows import INT64_ENTRIES, distinct, primitive


@dataclass(frozen=True)
class Lines:
    """Pairwise different lines through the origin with the gains of their two rays, for B fields at once.

    Attributes:
        vectors: (L, r) integers of rank r, one per line, entries of gcd 1 (int64, or object when wide).
        forward, backward: (B, L) int64 gains of the ray of the vector and of the opposite ray.
        constant: (B,) int64 gains of the zero vector.
        columns: the r columns of the original points that the vectors hold.
        dimension: number of columns of the original points.
        pointed: True when a column of the rays is positive throughout, or negative throughout: then some
            optimal w has no point on its hyperplane: w + delta * (that axis) labels alike and has none.
    """

    vectors: NDArray[Any]
    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    constant: NDArray[np.int64]
    columns: tuple[int, ...]
    dimension: int
    pointed: bool

    @property
    def rank(self) -> int:
        """The dimension of the span of the points that matter."""
        return len(self.columns)

    def lift(self, weights: Sequence[int]) -> tuple[int, ...]:
        """Return the weights on the original columns: zero on those that were dropped."""
        full = [0] * self.dimension
        for column, weight in zip(self.columns, weights, strict=True):
            full[column] = int(weight)
        return tuple(full)


def lines_of(points: NDArray[Any], gains: NDArray[np.int64]) -> Lines:
    """Return the lines of (m, d) integer points with (B, m) gains.

    Example:
        >>> L = lines_of(np.array([[2, 4], [-1, -2], [1, 2], [0, 0], [3, 0]]), np.array([[5, 1, 2, 7, 0]]))
        >>> L.vectors.tolist(), L.forward.tolist(), L.backward.tolist(), L.constant.tolist(), L.columns
        ([[1]], [[7]], [[1]], [7], (0,))
    """
    matters = (gains != 0).any(axis=0)
    zero = ~(points != 0).any(axis=1)
    constant = gains[:, zero].sum(axis=1)
    rays, gains = points[matters & ~zero], gains[:, matters & ~zero]
    vectors, forward, backward, _ = merge(rays, gains, np.zeros_like(gains))
    alive = (forward != 0).any(axis=0) | (backward != 0).any(axis=0)
    vectors, forward, backward = vectors[alive], forward[:, alive], backward[:, alive]
    columns = independent_columns(vectors)
    pointed = bool(((rays > 0).all(axis=0) | (rays < 0).all(axis=0)).any())
    kept = primitive(vectors[:, list(columns)])
    return Lines(kept, forward, backward, constant, columns, points.shape[1], pointed)


def merge(
    vectors: NDArray[Any], forward: NDArray[np.int64], backward: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the different lines among (n, d) nonzero vectors, with the (B, n) gains of each ray added up.

    Each line is given by its primitive vector whose first nonzero entry is positive; the lines come in
    lexicographic order. The last result is the line of each of the n vectors.
    """
    unit = primitive(vectors)
    lead = np.zeros(len(unit), dtype=bool)
    open_ = np.ones(len(unit), dtype=bool)
    for column in unit.T:
        lead |= open_ & (column < 0).astype(bool)
        open_ &= (column == 0).astype(bool)
    unit = np.where(lead[:, None], -unit, unit)
    first, where = distinct(unit)
    ahead = np.zeros((forward.shape[0], len(first)), dtype=np.int64)
    behind = np.zeros_like(ahead)
    np.add.at(ahead.T, where, np.where(lead, backward, forward).T)
    np.add.at(behind.T, where, np.where(lead, forward, backward).T)
    return unit[first], ahead, behind, where


def independent_columns(vectors: NDArray[Any]) -> tuple[int, ...]:
    """Return a set of columns, as many as the rank of the rows, on which the span of the rows is injective.

    Independent rows are collected one at a time: each is the first row not orthogonal to the orthogonal
    complement of those already found, so the answer is exact for any size of entries.

    Example:
        >>> independent_columns(np.array([[1, 1, 2], [2, 2, 4], [0, 1, 1]]))
        (0, 1)
    """
    echelon: list[list[Fraction]] = []
    columns: list[int] = []
    d = vectors.shape[1]
    while len(columns) < d and len(vectors):
        normals = _orthogonal(echelon, columns, d)
        outside = np.flatnonzero((products(vectors, normals) != 0).any(axis=1))
        if len(outside) == 0:
            break
        row = [Fraction(int(v)) for v in vectors[outside[0]]]
        for kept, column in zip(echelon, columns, strict=True):
            row = [a - row[column] * b for a, b in zip(row, kept, strict=True)]
        lead = next(c for c in range(d) if row[c] != 0)
        row = [v / row[lead] for v in row]
        echelon = [[a - kept[lead] * b for a, b in zip(kept, row, strict=True)] for kept in echelon]
        echelon.append(row)
        columns.append(lead)
    return tuple(sorted(columns))


def _orthogonal(echelon: list[list[Fraction]], columns: list[int], d: int) -> NDArray[Any]:
    """Return integer columns that span the complement of reduced rows with unit lead columns."""
    normals = []
    for free in (c for c in range(d) if c not in columns):
        normal = [Fraction(0)] * d
        normal[free] = Fraction(1)
        for row, column in zip(echelon, columns, strict=True):
            normal[column] = -row[free]
        scale = np.lcm.reduce([v.denominator for v in normal], dtype=object)
        normals.append([int(v * scale) for v in normal])
    wide = np.array(normals, dtype=object).T
    small = all(abs(v) < INT64_ENTRIES for v in wide.flat)
    return wide.astype(np.int64) if small else wide
