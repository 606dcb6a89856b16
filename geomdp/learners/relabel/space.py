"""Cells of few hyperplanes in any dimension, and what records gain on either side of them.

Setting. A record is a row (p, c): at a point u of R^j its label is +1 iff <p, u> >= c. Rows with p = 0 have a
fixed label; all others lie on distinct hyperplanes <q, u> = b, held once each. A *cell* is a connected
component of the complement. Different cells differ in the side of some hyperplane, hence in the label of some
row: cells and labelings correspond one to one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.exact.simplex import ConeMembership
from geomdp.geometry.subsets import halfspace_subsets

Point = tuple[Fraction, ...]
_LARGEST = 60_000  # subsets of hyperplanes that an enumeration in space may visit


@dataclass(frozen=True)
class Boundaries:
    """The distinct hyperplanes of some rows.

    Attributes:
        j: the dimension.
        planes: tuples (q_1, ..., q_j, b) of coprime integers; q_j > 0, or q_j = 0 and the first non-zero
            entry of q is negative.
        above, below: agreements with the labelled rows of each hyperplane where <q, u> > b, and < b.
        carried: whether an unlabelled row lies on it.
        base: agreements of the rows with a fixed label.
        rows: the records (p, c).
        wanted: the labels, 0 for unlabelled rows.
    """

    j: int
    planes: tuple[tuple[int, ...], ...]
    above: tuple[int, ...]
    below: tuple[int, ...]
    carried: tuple[bool, ...]
    base: int
    rows: tuple[tuple[int, ...], ...]
    wanted: tuple[int, ...]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, ...]], wanted: Sequence[int], j: int) -> Boundaries:
        """Return the boundaries of rows (p_1, ..., p_j, c) with labels +1, -1, or 0 for none.

        Example:
            >>> lines = Boundaries.of([(1, 0, 2), (-2, 0, -4), (0, 0, 1)], [1, 1, -1], 2)
            >>> lines.planes, lines.above, lines.below, lines.base
            (((-1, 0, -2),), (1,), (1,), 1)
        """
        index: dict[tuple[int, ...], int] = {}
        above: list[int] = []
        below: list[int] = []
        carried: list[bool] = []
        base = 0
        for row, want in zip(rows, wanted, strict=True):
            if not any(row[:j]):
                base += want == (1 if row[j] <= 0 else -1)
                continue
            divisor = math.gcd(*row)
            lead = row[j - 1] or -next(v for v in row if v)
            side = 1 if lead > 0 else -1
            at = index.setdefault(tuple(side * v // divisor for v in row), len(index))
            if at == len(above):
                above.append(0)
                below.append(0)
                carried.append(False)
            above[at] += want == side
            below[at] += want == -side
            carried[at] = carried[at] or not want
        planes = tuple(index)
        return cls(j, planes, tuple(above), tuple(below), tuple(carried), base, tuple(rows), tuple(wanted))

    def labels(self, point: Point) -> NDArray[np.int8]:
        """Return the labels of all rows at a point, in integers."""
        scale = math.lcm(1, *(v.denominator for v in point))
        u = [*(int(v * scale) for v in point), -scale]
        values = (sum(a * b for a, b in zip(row, u, strict=True)) for row in self.rows)
        return np.fromiter((1 if v >= 0 else -1 for v in values), dtype=np.int8, count=len(self.rows))

    @property
    def labelled(self) -> int:
        """The number of labelled rows: the largest score there could be."""
        return sum(1 for want in self.wanted if want)


class Cells(Protocol):
    """All cells of the boundaries, by score: the agreement of the cell's labels with the labelled rows.

    A *carrier cell* is a cell of the carried hyperplanes only; it has a best and a worst score, over the
    cells inside.
    """

    def counts(self) -> Counter[int]:
        """Return how many cells have each score."""

    def cell(self, score: int, rank: int) -> Point:
        """Return a point inside the cell of a rank among those of a score, in a fixed order."""

    def carrier_counts(self, *, worst: bool = False) -> Counter[int]:
        """Return how many carrier cells have each best (or worst) score."""

    def carrier_cell(self, score: int, rank: int, *, worst: bool = False) -> Point:
        """Return a point of that score in the carrier cell of a rank among those of a best (worst) score."""


class ListedCells:
    """Cells that are listed: scores, and an integer for the carrier cell of each."""

    scores: list[int]
    groups: list[int]

    def point(self, index: int) -> Point:
        """Return a point inside a cell."""
        raise NotImplementedError

    def counts(self) -> Counter[int]:
        """Return how many cells have each score."""
        return Counter(self.scores)

    def cell(self, score: int, rank: int) -> Point:
        """Return a point inside the cell of a rank among those of a score."""
        return self.point([i for i, s in enumerate(self.scores) if s == score][rank])

    @cached_property
    def _extremes(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return, per carrier cell, the first cell of its best score and the first one of its worst."""
        best: dict[int, int] = {}
        worst: dict[int, int] = {}
        for i, (group, score) in enumerate(zip(self.groups, self.scores, strict=True)):
            if score > self.scores[best.setdefault(group, i)]:
                best[group] = i
            if score < self.scores[worst.setdefault(group, i)]:
                worst[group] = i
        return best, worst

    def carrier_counts(self, *, worst: bool = False) -> Counter[int]:
        """Return how many carrier cells have each best (or worst) score."""
        return Counter(self.scores[i] for i in self._extremes[worst].values())

    def carrier_cell(self, score: int, rank: int, *, worst: bool = False) -> Point:
        """Return a point in the carrier cell of a rank among those of a best (or worst) score."""
        return self.point([i for i in self._extremes[worst].values() if self.scores[i] == score][rank])


class LineCells(ListedCells):
    """The intervals between the distinct boundaries on a line, ascending.

    Args:
        boundaries: of dimension 1, or 0 where all labels are fixed.

    Example:
        >>> cells = LineCells(Boundaries.of([(1, 3), (-1, -5)], [1, 1], 1))
        >>> sorted(cells.counts().items()), cells.cell(2, 0)
        ([(1, 2), (2, 1)], (Fraction(4, 1),))
    """

    def __init__(self, boundaries: Boundaries) -> None:
        self._j = boundaries.j
        order = sorted(range(len(boundaries.planes)), key=lambda i: Fraction(*boundaries.planes[i][::-1]))
        self.places = [Fraction(*boundaries.planes[i][::-1]) for i in order]
        steps = [boundaries.above[i] - boundaries.below[i] for i in order]
        self.scores = list(accumulate(steps, initial=boundaries.base + sum(boundaries.below)))
        self.groups = list(accumulate((int(boundaries.carried[i]) for i in order), initial=0))

    def point(self, index: int) -> Point:
        """Return a point inside an interval."""
        if not self._j:
            return ()
        if not self.places:
            return (Fraction(0),)
        if index == 0:
            return (self.places[0] - 1,)
        if index == len(self.places):
            return (self.places[-1] + 1,)
        return ((self.places[index - 1] + self.places[index]) / 2,)


class SpaceCells(ListedCells):
    """The cells of few hyperplanes in any dimension, listed through their vertices.

    The hyperplanes <q, u> = b become planes through the origin with normals (q, -b), and one more, (0, 1):
    the chambers on its positive side are the cells.

    Args:
        boundaries: at most a few dozen hyperplanes.

    Raises:
        CapacityError: when there are more than 60,000 choices of j hyperplanes out of as many as there are
            rows, a public number.

    Example:
        >>> cells = SpaceCells(Boundaries.of([(1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1)], [1, 1, 1], 3))
        >>> sorted(cells.counts().items())
        [(0, 1), (1, 3), (2, 3), (3, 1)]
    """

    def __init__(self, boundaries: Boundaries) -> None:
        self._boundaries = boundaries
        n, j = len(boundaries.rows) + 1, boundaries.j
        if n - 1 > most_rows(j):
            raise CapacityError(
                "X",
                f"so few rows that choosing {j} of them has at most {_LARGEST:,} ways",
                f"of {n - 1} rows",
            )
        normals = [(*plane[:-1], -plane[-1]) for plane in boundaries.planes]
        table = np.array([*normals, (*[0] * j, 1)], dtype=object).reshape(len(normals) + 1, j + 1)
        sides = halfspace_subsets(table)
        self._sides = sides[sides[:, -1], :-1]
        above = np.array(boundaries.above, dtype=np.int64)
        below = np.array(boundaries.below, dtype=np.int64)
        totals = boundaries.base + self._sides @ above + ~self._sides @ below
        self.scores = [int(v) for v in totals]
        held = self._sides[:, np.array(boundaries.carried, dtype=bool)]
        names: dict[bytes, int] = {}
        self.groups = [names.setdefault(row.tobytes(), len(names)) for row in held]

    def point(self, index: int) -> Point:
        """Return a point inside a cell."""
        side = [1 if above else -1 for above in self._sides[index]]
        found = inner_point(self._boundaries.planes, side, self._boundaries.j)
        assert found is not None  # noqa: S101 - the cell exists
        return found


@lru_cache
def most_rows(j: int) -> int:
    """Return the most rows whose cells in dimension j are listed: C(rows + 1, j) <= 60,000.

    Example:
        >>> most_rows(3), most_rows(4)
        (71, 35)
    """
    rows = j
    while math.comb(rows + 2, j) <= _LARGEST:
        rows += 1
    return rows


def inner_point(planes: Sequence[tuple[int, ...]], side: Sequence[int], j: int) -> Point | None:
    """Return u with side_i (<q_i, u> - b_i) > 0 for all i, or None if there is none.

    With homogeneous u = v/t: the vectors g = side (q, -b) and (0, 1) must all have <g, (v, t)> > 0. Either
    that can be solved, or 0 is a convex combination of them (Gordan); the simplex method in integers decides
    which, and gives (v, t).

    Example:
        >>> inner_point([(1, 0)], [-1], 1), inner_point([(1, 0), (1, 1)], [-1, 1], 1)
        ((Fraction(-1, 1),), None)
    """
    vectors: list[tuple[Any, ...]] = [
        (*(s * v for v in plane[:-1]), -s * plane[-1], 1) for plane, s in zip(planes, side, strict=True)
    ]
    vectors.append((*[0] * j, 1, 1))
    cone = ConeMembership(np.array(vectors, dtype=object).reshape(len(vectors), j + 2), [0] * (j + 1) + [1])
    y = cone.solve()
    if y is None:
        return None
    point = tuple(Fraction(-v, -y[j]) for v in y[:j])
    for plane, s in zip(planes, side, strict=True):
        value = sum(a * b for a, b in zip(plane[:-1], point, strict=True)) - plane[-1]
        if value * s <= 0:
            raise AssertionError("The simplex method returned a point outside the cell.")
    return point
