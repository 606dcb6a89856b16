"""Cells of directions held by their extreme rays, in integers: the double description method.

A cell is a pointed cone with integer rays and, for every ray, the walls that it lies on. A hyperplane
<w, z> = 0 splits it: rays on either side go to their child, rays on it to both, and every edge that it
crosses gives a new ray. Two rays span an edge iff no third lies on all their common walls. A wall that is
redundant does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.linear import primitive
from geomdp.geometry.partition import NEVER, OPEN, SURE, guide, mixtures, splitter

Ray = tuple[int, ...]

_FLOAT_BITS = 1_000
_WRAP = 2.0**61


class SignOracle:
    """Exact signs of <z, w> for all w of a finite set, whatever the size of the integers.

    Floats decide values beyond their error bound. A smaller value is smaller than 2^63 unless the bound
    itself is larger, so it equals its residue modulo 2^64, which int64 arithmetic that wraps around gives.
    What remains is done in Python integers.

    Args:
        points: (N, d) integers.
    """

    def __init__(self, points: NDArray[Any]) -> None:
        self.points = points.astype(object)
        self.guide = guide(points)
        self._bits = max((abs(int(v)).bit_length() for v in self.points.ravel()), default=0)
        if self._bits < _FLOAT_BITS:
            self._floats = points.astype(np.float64)
            self._sizes = np.abs(self._floats)
            self._wrapped = points if points.dtype == np.int64 else _wrap(self.points)

    def __call__(self, z: Ray) -> NDArray[np.int8]:
        """Return the (N,) signs +1, 0, -1 of <z, w>.

        Example:
            >>> SignOracle(np.array([[10**30, -1], [1, 1]], dtype=object))((1, 10**30)).tolist()
            [0, 1]
        """
        if self._bits + max(abs(v).bit_length() for v in z) >= _FLOAT_BITS:
            return self._slowly(np.arange(len(self.points)), z)
        direction = np.array([float(v) for v in z])
        value = self._floats @ direction
        bound = (len(z) + 4) * 2.0**-52 * (self._sizes @ np.abs(direction))
        out = np.where(value > 0, 1, -1).astype(np.int8)
        near = np.flatnonzero(np.abs(value) <= bound)
        if not len(near):
            return out
        small = bound[near] < _WRAP
        wrapped = _wrap(np.array(z, dtype=object))
        out[near[small]] = np.sign((self._wrapped[near[small]] * wrapped).sum(axis=1))
        out[near[~small]] = self._slowly(near[~small], z)
        return out

    def _slowly(self, rows: NDArray[np.int64], z: Ray) -> NDArray[np.int8]:
        values = [sum(a * b for a, b in zip(self.points[i].tolist(), z, strict=True)) for i in rows]
        return np.array([(value > 0) - (value < 0) for value in values], dtype=np.int8)


def _wrap(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers modulo 2^64, as int64."""
    residues = [int(v) % 2**64 for v in values.ravel()]
    return np.array(residues, dtype=np.uint64).view(np.int64).reshape(values.shape)


class RayCell:
    """A pointed cone of directions by its extreme rays (see :class:`geomdp.geometry.partition.Cell`).

    Args:
        oracle: signs at rays.
        rays: primitive integer vectors.
        tight: per ray the walls that it lies on, as bits.
        walls: number of walls.
        at: (r, N) signs at the rays.
    """

    def __init__(
        self, oracle: SignOracle, rays: list[Ray], tight: list[int], walls: int, at: NDArray[np.int8]
    ) -> None:
        self._oracle, self._rays, self._tight, self._walls, self._at = oracle, rays, tight, walls, at

    @property
    def key(self) -> frozenset[Ray]:
        """The set of rays."""
        return frozenset(self._rays)

    @cached_property
    def status(self) -> NDArray[np.int8]:
        """(N,) values SURE (never negative, positive at a ray), NEVER (positive at no ray) or OPEN."""
        highest, lowest = self._at.max(axis=0), self._at.min(axis=0)
        return np.where(highest <= 0, NEVER, np.where(lowest >= 0, SURE, OPEN)).astype(np.int8)

    @property
    def floor(self) -> int:
        """The number of points that are positive at all rays."""
        return int((self._at.min(axis=0) > 0).sum())

    def split(self) -> tuple[RayCell, RayCell]:
        """Split by the hyperplane of an OPEN point."""
        open_points = np.flatnonzero(self.status == OPEN)
        samples = mixtures(guide(np.array(self._rays, dtype=object), 16))
        chosen = int(open_points[splitter(self._oracle.guide[open_points], samples)])
        point = [int(v) for v in self._oracle.points[chosen]]
        values = [sum(a * b for a, b in zip(point, ray, strict=True)) for ray in self._rays]
        wall = 1 << self._walls
        rays, tight, at = [], [], []
        ups = [i for i, value in enumerate(values) if value > 0]
        downs = [i for i, value in enumerate(values) if value < 0]
        for i in ups:
            for j in downs:
                common = self._tight[i] & self._tight[j]
                if any(mask & common == common for k, mask in enumerate(self._tight) if k not in (i, j)):
                    continue
                a, b = values[i], -values[j]
                ray = primitive([a * y + b * x for x, y in zip(self._rays[i], self._rays[j], strict=True)])
                rays.append(ray)
                tight.append(common | wall)
                at.append(self._oracle(ray))
        for i, value in enumerate(values):
            if value == 0:
                rays.append(self._rays[i])
                tight.append(self._tight[i] | wall)
                at.append(self._at[i])
        children = []
        for side in (ups, downs):
            members = [*(self._rays[i] for i in side), *rays]
            masks = [*(self._tight[i] for i in side), *tight]
            signs = np.array([*(self._at[i] for i in side), *at], dtype=np.int8)
            children.append(RayCell(self._oracle, members, masks, self._walls + 1, signs))
        return children[0], children[1]

    def faces(self) -> Iterator[RayCell]:
        """Yield the facets: the rays of a wall, where no other wall has more."""
        everything = frozenset(range(len(self._rays)))
        found = {
            frozenset(i for i, mask in enumerate(self._tight) if mask >> wall & 1)
            for wall in range(self._walls)
        }
        proper = [face for face in found if face and face != everything]
        for face in sorted((sorted(f) for f in proper if not any(f < g for g in proper)), key=tuple):
            rays, tight = [self._rays[i] for i in face], [self._tight[i] for i in face]
            yield RayCell(self._oracle, rays, tight, self._walls, self._at[face])


def ray_cells(points: NDArray[Any]) -> list[RayCell]:
    """Return the 2^d orthants as cells: they cover all directions.

    Args:
        points: (N, d) integers, d >= 1; best of full rank.

    Example:
        >>> cells = ray_cells(np.array([[1, 2], [1, -1]]))
        >>> len(cells), cells[0].status.tolist()
        (4, [1, 0])
    """
    d = points.shape[1]
    oracle = SignOracle(points)
    roots = []
    for pattern in range(2**d):
        rays = [tuple((-1 if pattern >> i & 1 else 1) if i == j else 0 for j in range(d)) for i in range(d)]
        tight = [(1 << d) - 1 - (1 << i) for i in range(d)]
        roots.append(RayCell(oracle, rays, tight, d, np.array([oracle(ray) for ray in rays], dtype=np.int8)))
    return roots
