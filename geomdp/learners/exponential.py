"""The generic exponential mechanism over a public finite set of halfspaces: the practical learner.

The set is a grid of parameters, not of labellings: public directions u_1, ..., u_J with public steps s_j, and
one public list of offsets t_1 < ... < t_m. Its members are both labellings of

    x -> [ floor(<u_j, x> / s_j) >= t_i ],      2 J m in all,

repeated labellings counted as often as they occur. Nothing about it depends on the data.

Proof note (privacy). Precondition: y has n records, one of which is replaced. The score of a member is the
number of records that it labels correctly, an integer that changes by at most 1. A member is drawn with
probability proportional to exp(epsilon score / 2), exactly, so that the release is epsilon-DP on all inputs.
The two passes below compute that law: members are grouped by score, the group is drawn with its exact number
of members (:func:`geomdp.learners.blocks.exponential`), and then a member of the group uniformly. Records on
one point are counted once, with the sum of their labels; scores are sums over records, so they are the same.

Proof note (utility). With probability >= 1 - beta the member drawn has more than max - E correct records, E
the least integer with |C| exp(-epsilon E / 2) <= beta; about (2/epsilon) ln(|C|/beta), whatever the data.
The maximum is over the public set: a coarse set may hold no member without mistakes.

Source: McSherry and Talwar, FOCS 2007; Kasiviswanathan et al., "What can we learn privately?", 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import INT64_SAFE, Halfspace, integer_array
from geomdp.core.errors import ArgumentError, CapacityError, check_epsilon, check_integer
from geomdp.learners.grids import HalfspaceGrid, default_grid
from geomdp.learners.groups import draw_from_groups
from geomdp.learners.plane import PlaneGrid, exponential_plane
from geomdp.learners.tuples import exponential_thresholds
from geomdp.privacy.sampler import Sampler

#: The mechanisms, and the sets of halfspaces that they take.
__all__ = ["HalfspaceGrid", "PlaneGrid", "default_grid", "exponential_halfspace", "exponential_thresholds"]

_CELLS = 1_000_000  # numbers held at a time
_LEVELS = 20_000_000  # about as many numbers of members by part of the directions and score are kept
_PIECE = 2**14  # points at a time, as many as a processor keeps near
_TABLE = 2**22  # entries of a table of places, where offsets are near enough to each other
_MOST = 20_000_000  # records, and offsets
Progress = Callable[[float], None] | None


def exponential_halfspace(
    X: Any,
    y: Any,
    grid: HalfspaceGrid | PlaneGrid | int,
    epsilon: Fraction | int | float | str,
    sampler: Sampler,
    *,
    progress: Progress = None,
) -> Halfspace:
    """Draw a halfspace of a public grid by the exponential mechanism: epsilon-DP for every input.

    Cost: for each direction one histogram of the distinct points over the offsets; O(n log n + J (D + m)) for
    D distinct points (with a factor of log m where offsets are far from each other). So the time depends on
    the data, as that of every run does; refusals follow from public sizes.

    Args:
        X: (n, r) integers without bias column; those far beyond the grid are clipped.
        y: (n,) labels +1 and -1.
        grid: the public set, or a radius that stands for :func:`default_grid`. A
            :class:`~geomdp.learners.plane.PlaneGrid` holds every halfplane of its square: O(n^2 log n).
        epsilon: the privacy loss.
        sampler: the source of randomness; the secure one for a release.
        progress: called with the fraction done.

    Returns:
        The halfspace, on homogeneous coordinates: append a column of ones to predict.

    Raises:
        ArgumentError: on shapes or labels that do not fit.
        CapacityError: when there are more than 20 million records and offsets together.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X = np.array([[i, 3 * i % 17] for i in range(-300, 300)])
        >>> y = np.where(X[:, 0] >= 20, 1, -1)
        >>> h = exponential_halfspace(X, y, 512, 4, SimSampler(0))
        >>> int((h.predict(np.column_stack([X, np.ones(len(X), int)])) != y).sum()) <= 12
        True
    """
    points, labels = check_records(X, y)
    loss = check_epsilon(epsilon)
    if isinstance(grid, PlaneGrid):
        if points.shape[1] != 2:
            raise ArgumentError("X", "an array of 2 columns", f"an array of shape {points.shape}")
        return exponential_plane(points, labels, grid, loss, sampler, progress=progress)
    if not isinstance(grid, HalfspaceGrid):
        grid = default_grid(points.shape[1], check_integer("grid", grid, 1))
    if points.shape[1] != grid.features:
        wanted = "1 column" if grid.features == 1 else f"{grid.features} columns"
        raise ArgumentError("X", f"an array of {wanted}", f"an array of shape {points.shape}")
    check_capacity(grid, len(points))
    reach = INT64_SAFE // (int(np.abs(grid.directions).max()) * grid.features)
    points = np.clip(points, -reach, reach).astype(np.int64)  # each record by itself; products fit 64 bits
    n, tally = len(points), _Tally(grid, points, labels)
    counts = tally.counts(progress)
    totals = counts.sum(axis=0)
    groups = (
        ((level, flipped), int(totals[level]), n - level if flipped else level)
        for level in np.flatnonzero(totals).tolist()
        for flipped in (False, True)
    )
    (level, flipped), place = draw_from_groups(groups, loss, sampler)
    ends = np.cumsum(counts[:, level])
    part = int(np.searchsorted(ends, place, side="right"))
    direction, offset = tally.find(part, level, place - int(ends[part] - counts[part, level]))
    if progress is not None:
        progress(1.0)
    return grid.member(direction, offset, flipped=flipped)


def check_records(X: Any, y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return (n, r) integer points and (n,) labels of +1 and -1.

    Raises:
        ArgumentError: when they are not.
    """
    points = integer_array("X", X, 2)
    labels = np.asarray(y)
    if labels.shape != (len(points),):
        raise ArgumentError("y", f"{len(points)} labels, one for each row of X", f"of shape {labels.shape}")
    if not np.isin(labels, (-1, 1)).all():
        raise ArgumentError("y", "labels +1 and -1", "others")
    return points, labels.astype(np.int64)


def check_capacity(grid: HalfspaceGrid, n: int) -> None:
    """Refuse a number of records that exceeds memory; a function of public sizes.

    Raises:
        CapacityError: with the number of records that the grid leaves room for.
    """
    if n + len(grid.offsets) > _MOST:
        raise CapacityError(
            "X",
            f"a table of at most {max(0, _MOST - len(grid.offsets)):,} rows for this grid",
            f"of {n:,} rows",
            "Take a random part of the rows, or a coarser grid.",
        )


def _distinct(
    points: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the points whose labels do not sum to zero, each once, and the sums of their labels.

    Example:
        >>> X, y = np.array([[2, 1], [0, 5], [2, 1], [0, 5], [0, 4]]), np.array([1, 1, 1, -1, -1])
        >>> [part.tolist() for part in _distinct(X, y)]
        [[[0, 4], [2, 1]], [-1, 2]]
    """
    if not len(points):
        return points, labels
    order = np.lexsort(points.T[::-1])
    rows = points[order]
    starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    sums = np.add.reduceat(labels[order], starts)
    return rows[starts][sums != 0], sums[sums != 0]


class _Tally:
    """Numbers of members by score, over chunks of directions that are put together to few parts."""

    def __init__(self, grid: HalfspaceGrid, points: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
        self.grid, self.n, self.negative = grid, len(points), int((labels < 0).sum())
        self.points, self.sums = _distinct(points, labels)
        J, width = len(grid.directions), max(1, _CELLS // (len(grid.offsets) + len(self.points) + 1))
        self.chunks = [slice(first, min(J, first + width)) for first in range(0, J, width)]
        self.parts = max(1, min(len(self.chunks), _LEVELS // (self.n + 1)))

    def counts(self, progress: Progress) -> NDArray[np.int64]:
        """Return the number of unflipped members of each score, a row for each part."""
        found = np.zeros((self.parts, self.n + 1), dtype=np.int64)
        for number, chunk in enumerate(self.chunks):
            scores, row = self._scores(chunk).ravel(), found[self._part(number)]
            if scores.size > self.n:
                row += np.bincount(scores, minlength=self.n + 1)
            else:
                levels, times = np.unique(scores, return_counts=True)
                row[levels] += times
            if progress is not None:
                progress((number + 1) / (len(self.chunks) + 1))
        return found

    def find(self, part: int, level: int, place: int) -> tuple[int, int]:
        """Return direction and offset of the member of a score with `place` others before it in a part."""
        for number, chunk in enumerate(self.chunks):
            if self._part(number) == part:
                places = np.argwhere(self._scores(chunk) == level)
                if place < len(places):
                    direction, offset = places[place].tolist()
                    return chunk.start + direction, offset
                place -= len(places)
        raise AssertionError("the counts of one part do not add up")

    def _part(self, number: int) -> int:
        return number * self.parts // len(self.chunks)

    def _scores(self, chunk: slice) -> NDArray[np.int64]:
        return _scores(self.grid, chunk, self.points, self.sums, self.negative)


def _scores(
    grid: HalfspaceGrid, chunk: slice, points: NDArray[np.int64], sums: NDArray[np.int64], negative: int
) -> NDArray[np.int64]:
    """Return (J', m) numbers of records that direction j and offset i label correctly, unflipped.

    Args:
        grid: the public set.
        chunk: a range of its directions.
        points: (D, r) points.
        sums: (D,) sums of the labels of the records on each of them.
        negative: the number of records with label -1.
    """
    m, place = len(grid.offsets), _places(grid.offsets)
    pieces = [slice(first, first + _PIECE) for first in range(0, len(points), _PIECE)]
    table = [(np.ascontiguousarray(points[p].T), sums[p].astype(np.float64)) for p in pieces]
    above = np.empty((chunk.stop - chunk.start, m), dtype=np.int64)
    for j, (u, step) in enumerate(
        zip(grid.directions[chunk].tolist(), grid.steps[chunk].tolist(), strict=True)
    ):
        steps_at = np.zeros(m + 1)
        for columns, weights in table:  # sums of at most n ones: exact
            steps_at += np.bincount(place(_heights(u, step, columns)), weights, minlength=m + 1)
        # record x is labelled +1 by offset i iff its place exceeds i
        above[j] = np.cumsum(steps_at[:0:-1].astype(np.int64))[::-1]
    return np.asarray(above + negative)


def _heights(u: list[int], step: int, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return floor(<u, x> / step) of every point, given by columns."""
    heights: NDArray[np.int64] = u[0] * columns[0]
    for weight, column in zip(u[1:], columns[1:], strict=True):
        heights += weight * column
    if step & (step - 1):
        heights //= step
    elif step > 1:  # a shift rounds down, too
        heights >>= step.bit_length() - 1
    return heights


def _places(offsets: NDArray[np.int64]) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the function from heights to the number of offsets at or below each."""
    low, high = int(offsets[0]) - 1, int(offsets[-1])
    if high - low > _TABLE:
        return lambda heights: np.searchsorted(offsets, heights, side="right")
    table = np.searchsorted(offsets, np.arange(low, high + 1), side="right")
    return lambda heights: table[np.clip(heights, low, high) - low]
