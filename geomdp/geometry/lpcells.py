"""Cells of directions held by inequalities, every decision by a linear program: the twin of the ray cells.

A cell is {z : s_i <w_i, z> >= 0} for the points w_i on the path of cuts that led to it (s_i = 0: equality).
Whether another point is ever positive on it is a linear program (:mod:`geomdp.lp.crossing`). HiGHS only
suggests: a point counts as NEVER or SURE when multipliers that prove it have been checked in rationals, and
as OPEN otherwise, which can only enlarge a container. Points on the path are decided without a program, so
that even a solver that is always wrong would bring the recursion to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.linear import rank, solve
from geomdp.geometry.partition import NEVER, OPEN, SURE, guide, mixtures, splitter
from geomdp.lp.crossing import SMALL, ReachLoop

#: Float values beyond this show on which side of a hyperplane a solver's direction is.
_CLEAR = 1e-6

#: Directions that are mixed to judge a split.
MOST_MIXED = 64

Path = tuple[tuple[int, int], ...]


class LpCell:
    """A cone of directions by inequalities (see :class:`geomdp.geometry.partition.Cell`).

    Args:
        points: (N, d) integers of rank d, dtype object.
        unit: the same, scaled to largest coordinate 1.
        path: (index of a point, s) for every inequality.
        status: (N,) what is known: OPEN where nothing is.
        firm: (N,) the points known to be positive on the whole cell but 0.
    """

    def __init__(
        self,
        points: NDArray[Any],
        unit: NDArray[np.float64],
        path: Path,
        status: NDArray[np.int8],
        firm: NDArray[np.bool_],
    ) -> None:
        self._points, self._unit, self._path = points, unit, path
        self._known, self._firm = status, firm
        self._witnesses: list[NDArray[np.float64]] = []

    @property
    def key(self) -> frozenset[tuple[int, int]]:
        """The inequalities."""
        return frozenset(self._path)

    @property
    def floor(self) -> int:
        """The number of points that are certainly positive at every z != 0 of the cell."""
        return int((self._firm & (self.status == SURE)).sum())

    @cached_property
    def status(self) -> NDArray[np.int8]:
        """(N,) values: SURE and NEVER as certified, else OPEN."""
        status = self._known.copy()
        for index, side in self._path:
            status[index] = SURE if side > 0 else NEVER
        status[(self._points == 0).all(axis=1)] = NEVER
        ups, downs = (np.zeros(len(status), dtype=bool) for _ in range(2))
        loop = ReachLoop(self._rows, self._equal)
        for index in np.flatnonzero(status == OPEN).tolist():
            for flip, seen in ((1, ups), (-1, downs)):
                if seen[index] or status[index] != OPEN:
                    continue
                found = loop.reach(flip * self._points[index])
                if not found.value <= SMALL:
                    self._witnesses.append(found.direction)
                    values = self._unit @ found.direction
                    ups |= values > _CLEAR
                    downs |= values < -_CLEAR
                    continue
                status[index] = self._certified(-flip * self._points[index], found.multipliers, index, flip)
        return status

    def _certified(
        self, target: NDArray[Any], multipliers: NDArray[np.float64], index: int, flip: int
    ) -> int:
        """Return what target = sum y_i a_i + sum x_j e_j, y >= 0, proves about the point flip * -target.

        The target is then non-negative on the cell, and positive where all inequalities with y_i > 0 are
        strict. If these and the equations span R^d, it is positive at every z != 0.
        """
        support = np.flatnonzero(self._equal | (multipliers > SMALL))
        exact = solve(self._rows[support].T, target.tolist()) if len(support) else None
        if exact is None:
            return OPEN
        used = [int(i) for i, value in zip(support, exact, strict=True) if value and not self._equal[i]]
        if any(value < 0 and not self._equal[i] for i, value in zip(support, exact, strict=True)):
            return OPEN
        if flip > 0 or not used:
            return NEVER
        spanning = np.concatenate([self._rows[used], self._rows[self._equal]])
        self._firm[index] = rank(spanning) == self._points.shape[1]
        return SURE

    @cached_property
    def _rows(self) -> NDArray[Any]:
        rows = [self._points[index] * (side or 1) for index, side in self._path]
        return np.array(rows, dtype=object).reshape(len(rows), self._points.shape[1])

    @cached_property
    def _equal(self) -> NDArray[np.bool_]:
        return np.array([side == 0 for _, side in self._path], dtype=bool)

    def split(self) -> tuple[LpCell, LpCell]:
        """Split by the hyperplane of an OPEN point."""
        open_points = np.flatnonzero(self.status == OPEN)
        found = np.array(self._witnesses).reshape(-1, self._points.shape[1])
        samples = mixtures(np.rint(found[:MOST_MIXED] * 2.0**16).astype(np.int64))
        chosen = int(open_points[splitter(guide(self._points[open_points]), samples)])
        return self._child((*self._path, (chosen, 1))), self._child((*self._path, (chosen, -1)))

    def _child(self, path: Path) -> LpCell:
        return LpCell(self._points, self._unit, path, self.status.copy(), self._firm.copy())

    def faces(self) -> Iterator[LpCell]:
        """Yield the cell with one inequality made an equation, for each; where more than z = 0 is left."""
        kept = np.where((self.status == NEVER) | self._firm, self.status, OPEN).astype(np.int8)
        for i, (index, side) in enumerate(self._path):
            path = (*self._path[:i], *self._path[i + 1 :], (index, 0))
            equations = self._points[[j for j, s in path if s == 0]]
            if side and rank(equations) < self._points.shape[1]:
                yield LpCell(self._points, self._unit, path, kept, self._firm.copy())


def lp_cells(points: NDArray[Any]) -> list[LpCell]:
    """Return the space of all directions, as one cell without inequalities.

    Args:
        points: (N, d) integers of rank d >= 1.

    Example:
        >>> (cell,) = lp_cells(np.array([[1, 2], [1, -1], [0, 0]]))
        >>> cell.status.tolist(), [child.status.tolist()[1] for child in cell.split()]
        ([0, 0, -1], [0, 0])
    """
    exact = np.array([[int(v) for v in row] for row in points.tolist()], dtype=object).reshape(points.shape)
    tops = np.abs(exact).max(axis=1, initial=1)
    unit = np.array([[v / t for v in row] for row, t in zip(exact.tolist(), tops.tolist(), strict=True)])
    n = len(points)
    return [LpCell(exact, unit, (), np.full(n, OPEN, dtype=np.int8), np.zeros(n, dtype=bool))]
