"""The generic exponential mechanism over a public finite set of halfspaces: the practical learner.

The set is a grid of parameters, not of labellings: public directions u_1, ..., u_J with public steps s_j, and
one public list of offsets t_1 < ... < t_m. Its members are both labellings of

    x -> [ floor(<u_j, x> / s_j) >= t_i ],      2 J m in all,

repeated labellings counted as often as they occur. Nothing about it depends on the data.

Proof note (privacy). Precondition: y has n records, one of which is replaced. The score of a member is the
number of records that it labels correctly, an integer that changes by at most 1. A member is drawn with
probability proportional to exp(epsilon score / 2), exactly, so that the release is epsilon-DP on all inputs.
The two passes below compute that law: members are grouped by score, the group is drawn with its exact number
of members (:func:`geomdp.learners.blocks.exponential`), and then a member of the group uniformly.

Proof note (utility). With probability >= 1 - beta the member drawn has more than max - E correct records, E
the least integer with |C| exp(-epsilon E / 2) <= beta; about (2/epsilon) ln(|C|/beta), whatever the data.
The maximum is over the public set: a coarse set may hold no member without mistakes.

Source: McSherry and Talwar, FOCS 2007; Kasiviswanathan et al., "What can we learn privately?", 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

_CELLS = 4_000_000  # numbers held at a time
_LEVELS = 100_000_000  # about as many numbers of members by chunk and score are kept
_MOST = 50_000_000  # numbers held at a time by the largest request
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

    Cost: for each direction one histogram of the records over the offsets; O(J (n log m + m)).

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
        CapacityError: when the grid and the number of records together exceed memory.

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
            raise ArgumentError("X", "an array of 2 columns", f"{points.shape[1]} columns")
        return exponential_plane(points, labels, grid, loss, sampler, progress=progress)
    if not isinstance(grid, HalfspaceGrid):
        grid = default_grid(points.shape[1], check_integer("grid", grid, 1))
    if points.shape[1] != grid.features:
        raise ArgumentError("X", f"an array of {grid.features} columns", f"{points.shape[1]} columns")
    check_capacity(grid, len(points))
    reach = INT64_SAFE // (int(np.abs(grid.directions).max()) * grid.features)
    points = np.clip(points, -reach, reach).astype(np.int64)  # each record by itself; products fit 64 bits
    n = len(points)
    chunks = list(_chunks(grid, n))
    counts = np.zeros((len(chunks), n + 1), dtype=np.int64)
    for number, chunk in enumerate(chunks):
        counts[number] = np.bincount(_scores(grid, chunk, points, labels).ravel(), minlength=n + 1)
        if progress is not None:
            progress((number + 1) / (len(chunks) + 1))
    totals = counts.sum(axis=0)
    groups = (
        ((level, flipped), total, n - level if flipped else level)
        for level, total in enumerate(totals.tolist())
        for flipped in (False, True)
    )
    (level, flipped), place = draw_from_groups(groups, loss, sampler)
    ends = np.cumsum(counts[:, level])
    number = int(np.searchsorted(ends, place, side="right"))
    place -= int(ends[number] - counts[number, level])
    scores = _scores(grid, chunks[number], points, labels)
    direction, offset = np.argwhere(scores == level)[place].tolist()
    if progress is not None:
        progress(1.0)
    return grid.member(chunks[number].start + direction, offset, flipped=flipped)


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
    """Refuse a number of records whose table of scores exceeds memory; a function of public sizes.

    Raises:
        CapacityError: with the number of records and of directions.
    """
    if _width(grid, n) * (len(grid.offsets) + n + 1) > _MOST:
        raise CapacityError(
            "X",
            f"a table of fewer rows for a grid of {len(grid.directions):,} directions",
            f"of {n:,} rows",
            "Take fewer columns, a coarser grid, or a random part of the rows.",
        )


def _width(grid: HalfspaceGrid, n: int) -> int:
    """Return the directions of a chunk: few enough for its own memory, enough to keep few chunks."""
    return max(1, _CELLS // (len(grid.offsets) + n + 1), -(-len(grid.directions) * (n + 1) // _LEVELS))


def _chunks(grid: HalfspaceGrid, n: int) -> Iterator[slice]:
    J, width = len(grid.directions), _width(grid, n)
    return (slice(first, min(J, first + width)) for first in range(0, J, width))


def _scores(
    grid: HalfspaceGrid, chunk: slice, points: NDArray[Any], labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return (J', m) numbers of records that direction j and offset i label correctly, unflipped."""
    u, steps, m = grid.directions[chunk], grid.steps[chunk], len(grid.offsets)
    places = np.searchsorted(grid.offsets, u @ points.T // steps[:, None], side="right")  # offsets <= p
    flat = (places + (m + 1) * np.arange(len(u))[:, None]).ravel()
    weights = np.tile(labels, len(u)).astype(np.float64)  # sums of at most n ones: exact
    steps_at = np.bincount(flat, weights, minlength=len(u) * (m + 1)).astype(np.int64).reshape(len(u), m + 1)
    # record x is labelled +1 by offset i iff its place exceeds i
    above = np.cumsum(steps_at[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return np.asarray(above + int((labels < 0).sum()))
