"""Containers by exact partition of the directions: the recursion that needs no general position.

The directions z of all halfspaces {w : <z, w> > 0} are covered by closed cones ("cells"). On a cell C each
point w is *never* positive, *sure* (non-negative on C, and positive off C's proper faces) or *open*.
The set {w : not never} contains every halfspace of C, so a cell with few enough of them is done. If more than
`most` points are sure, only the proper faces of C can hold directions of small halfspaces: recurse on them.
Otherwise some point is open; its hyperplane splits C into two cells in which it is open no more.

Every split uses up an open point and every face has one dimension less, so the recursion ends, for any
finite set: repeated, antipodal, zero and coplanar points cost nothing extra. Cells are held by their rays
(:mod:`geomdp.geometry.raycells`) or by inequalities that linear programs decide
(:mod:`geomdp.geometry.lpcells`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.geometry.subsets import pack

#: Most cells that a partition may have: beyond that the members would be as many.
MAX_CELLS = 60_000
_BATCH = 256
_SAMPLES = 24

SURE, OPEN, NEVER = 1, 0, -1

Progress = Callable[[float], None] | None


class Cell(Protocol):
    """A closed convex cone of directions.

    Attributes:
        key: equal for equal cells.
        status: (N,) values SURE, OPEN or NEVER; a doubtful point is OPEN.
        floor: a number of points that are positive at every z != 0 of the cell.
    """

    @property
    def key(self) -> Hashable:
        """A value that equal cells share, and no others."""

    @property
    def status(self) -> NDArray[np.int8]:
        """(N,) values SURE, OPEN or NEVER, one a point; a doubtful point is OPEN."""

    @property
    def floor(self) -> int:
        """A number of points that are positive at every z != 0 of the cell."""

    def split(self) -> Sequence[Cell]:
        """Return two cells whose union is this one, cut by the hyperplane of one OPEN point."""

    def faces(self) -> Iterable[Cell]:
        """Return cells that cover the directions of this one at which some SURE point is not positive."""


def cover(
    roots: Sequence[Cell],
    most: int,
    limit: int,
    *,
    generic: bool = False,
    progress: Progress = None,
) -> NDArray[np.uint64]:
    """Return sets, as bits, that cover every halfspace of at most `most` points and hold at most `limit`.

    Args:
        roots: cells that cover all directions.
        most: the largest halfspace covered, in points.
        limit: the largest set allowed, >= most.
        generic: leave out directions on a hyperplane of a point other than 0: faces are then not searched.
        progress: told the fraction of the directions that is settled (faces not counted).

    Raises:
        CapacityError: when more than MAX_CELLS cells are met.
    """
    stack: list[tuple[Cell, float]] = [(root, 1.0 / len(roots)) for root in roots]
    seen = {root.key for root in roots}
    rows: list[NDArray[np.bool_]] = []
    packed: list[NDArray[np.uint64]] = []
    met, done = 0, 0.0
    while stack:
        cell, share = stack.pop()
        met += 1
        if met > MAX_CELLS:
            raise CapacityError(
                "W",
                f"a set whose halfspaces {MAX_CELLS} cells can cover at this ratio",
                "one that needs more",
                "Allow larger members: raise ratio=, or lower theta=.",
            )
        status = cell.status
        held = status != NEVER
        if int(held.sum()) <= limit:
            rows.append(held)
        elif cell.floor <= most:
            if int((status == SURE).sum()) <= most:
                stack += [(child, share / 2) for child in cell.split()]
                continue
            for face in () if generic else cell.faces():
                if face.key not in seen:
                    seen.add(face.key)
                    stack.append((face, 0.0))
        done += share
        if progress is not None and share:
            progress(min(1.0, done))
        if len(rows) == _BATCH:
            packed.append(pack(np.array(rows)))
            rows = []
    n = len(roots[0].status)
    return np.concatenate([*packed, pack(np.array(rows, dtype=bool).reshape(len(rows), n))])


def guide(points: NDArray[Any], bits: int = 20) -> NDArray[np.int64]:
    """Return integer points scaled to about `bits` bits each, the same on every machine; (N, d).

    Example:
        >>> guide(np.array([[3, -1], [0, 0]]), 4).tolist()
        [[16, -5], [0, 0]]
    """
    tops = np.abs(points).max(axis=1, initial=1)
    if points.dtype != object:
        scaled = points / tops[:, None].astype(np.float64) * 2.0**bits
        return np.asarray(np.rint(scaled), dtype=np.int64)
    rows = [
        [round(int(v) * 2**bits / int(t)) for v in row] for row, t in zip(points.tolist(), tops, strict=True)
    ]
    return np.array(rows, dtype=np.int64).reshape(points.shape)


def splitter(candidates: NDArray[np.int64], samples: NDArray[np.int64], tries: int = 24) -> int:
    """Return which candidate's hyperplane best separates the others, judged at sample directions.

    A point that changes sign among the samples on one side of the cut stays open there. The cut with the
    smallest sum of squares of open points is taken; only the quality of the cutting depends on it.

    Args:
        candidates: (n, d) open points, n >= 1.
        samples: (k, d) directions within the cell.
        tries: candidates that are looked at, evenly spread.

    Returns:
        An index into the candidates.
    """
    positive = (candidates @ samples.T) > 0
    looked = np.unique(np.linspace(0, len(candidates) - 1, min(tries, len(candidates))).astype(np.int64))
    wide = positive.astype(np.int32)
    ups = positive[looked].sum(axis=1)
    above = wide @ wide[looked].T
    below = wide.sum(axis=1)[:, None] - above
    still_above = ((above > 0) & (above < ups)).sum(axis=0)
    still_below = ((below > 0) & (below < samples.shape[0] - ups)).sum(axis=0)
    cost = still_above.astype(np.float64) ** 2 + still_below.astype(np.float64) ** 2
    one_sided = (ups == 0) | (ups == samples.shape[0])
    return int(looked[int(np.argmin(np.where(one_sided, np.inf, cost)))])


def mixtures(directions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return positive combinations of (r, d) directions by fixed weights without a pattern, (k, d)."""
    k, r = np.arange(_SAMPLES)[:, None], np.arange(len(directions))[None, :]
    weights = (k * k * 37 + r * r * 101 + k * r * 61 + 17 * k + 29 * r) % 127 // 2 + 1
    return np.asarray(weights**2 @ directions)
