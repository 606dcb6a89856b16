"""Rank 2: the exact angular sweep over arcs, vertices and their ties."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.planes import largest_entry
from geomdp.opt.rows import INT64_ENTRIES


@dataclass(frozen=True)
class Circle:
    """Lines of the plane in the order in which a turning direction w crosses them.

    Attributes:
        vectors: (n, 2) integer vectors, one per line; parallel ones are allowed.
        order: (n,) indices by ascending angle in [0, pi) of the vector or its opposite.
        flip: (n,) whether it is the opposite that has that angle, at each place.
        fresh: (n,) whether the line at a place differs from the one before.
    """

    vectors: NDArray[Any]
    order: NDArray[np.int64]
    flip: NDArray[np.bool_]
    fresh: NDArray[np.bool_]

    def at_place(self, place: int) -> tuple[int, int]:
        """Return the first direction w, turning, that is orthogonal to the line at a place."""
        x, y = (int(v) for v in self.vectors[self.order[place]])
        return (-y, x) if self.flip[place] else (y, -x)

    def arc(self, place: int, side: int) -> list[int]:
        """Return a direction strictly inside the arc that ends at a place; side -1 turns it round."""
        above = self.at_place(place)
        below = self.at_place(place - 1) if place > 0 else self.at_place(len(self.order) - 1)
        back = 1 if place > 0 else -1
        return [side * (a + back * b) for a, b in zip(above, below, strict=True)]

    def vertex(self, place: int, side: int) -> list[int]:
        """Return the direction orthogonal to the line at a place."""
        return [side * a for a in self.at_place(place)]


def circle_of(vectors: NDArray[Any]) -> Circle:
    """Return the order of n >= 1 nonzero integer vectors around the circle, exactly at any size.

    Example:
        >>> circle_of(np.array([[0, 1], [1, 0], [-2, 0], [-1, -1]])).order.tolist()
        [1, 2, 3, 0]
    """
    if vectors.dtype == object or largest_entry(vectors) >= INT64_ENTRIES:
        return _circle_of_wide(vectors)
    from geomdp.opt import _kernels

    n = len(vectors)
    order = np.empty(n, dtype=np.int64)
    flip, fresh = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    x, y = vectors[:, 0].astype(np.int64), vectors[:, 1].astype(np.int64)
    _kernels.around(x, y, order, flip, fresh)
    return Circle(vectors, order, flip, fresh)


def _circle_of_wide(vectors: NDArray[Any]) -> Circle:
    """Do the same with Python integers: the key is the exact cotangent, descending."""
    turned, keys = [], []
    for a, b in vectors.tolist():
        below = b < 0 or (b == 0 and a < 0)
        turned.append(below)
        x, y = (-a, -b) if below else (a, b)
        keys.append((1, -Fraction(x, y)) if y else (0, Fraction(0)))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    fresh = [k == 0 or keys[order[k]] != keys[order[k - 1]] for k in range(len(order))]
    return Circle(
        vectors,
        np.array(order, dtype=np.int64),
        np.array([turned[j] for j in order], dtype=np.bool_),
        np.array(fresh, dtype=np.bool_),
    )


@dataclass(frozen=True)
class CircleOptimum:
    """The least gain over the arcs, and over the vertices, of a circle, with directions that attain them."""

    cell: int
    cell_weights: list[int]
    flat: int
    flat_weights: list[int]


def sweep_circle(circle: Circle, forward: NDArray[np.int64], backward: NDArray[np.int64]) -> CircleOptimum:
    """Return the least gains of one field on a circle of at least two different lines.

    Args:
        circle: the order of the lines.
        forward, backward: (n,) gains of each vector and of its opposite.

    Example:
        >>> C = circle_of(np.array([[1, 0], [0, 1]]))
        >>> best = sweep_circle(C, np.array([-3, 2]), np.array([0, 0]))
        >>> best.cell, best.cell_weights, best.flat
        (-3, [1, -1], -3)
    """
    from geomdp.opt import _kernels

    arc, place, side, vertex, at, way = (
        int(v) for v in _kernels.circle(circle.order, circle.flip, circle.fresh, forward, backward, True)
    )
    return CircleOptimum(arc, circle.arc(place, side), vertex, circle.vertex(at, way))
