"""Ranks 3 and above: sweeps around every face of codimension 2.

Every open cell of the arrangement of the planes x_i^perp has a facet, and that facet is an open cell of the
arrangement that the other planes induce on x_i^perp. Hence, with C(X) the least gain over the open cells,
P(X) the least over all directions w != 0 on a plane, and X/x_i the lines projected along x_i (parallel ones
merged),

    C(X) = min_i  C(X/x_i) + min(forward_i, backward_i),
    P(X) = min_i  min(C(X/x_i), P(X/x_i)) + forward_i + backward_i.

Rank 3 is the base: X/x_i is a circle, swept in one sort. On a pointed domain C alone decides, and of the
orders in which a chain of faces can be descended one is enough: planes carry labels, a projected line the
largest label merged into it, and only chains of ascending labels are followed. (The facet of least label of a
cell meets each of its own facets in a plane of a larger label; repeat inside the facet.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.parallel import Progress, spread
from geomdp.opt.planes import largest_entry, lift_along, project_along, push_off, shrink
from geomdp.opt.presolve import merge
from geomdp.opt.sweep2 import circle_of, sweep_circle

#: Entries below this keep the projections of rank 3 inside int64.
KERNEL_ENTRIES = 2**30

LARGEST = 2**63 - 1

GOLDEN = (5**0.5 - 1) / 2

#: Fields from which the batched kernel is used.
BATCH = 8

#: Elementary steps per block of compiled work: some tens of milliseconds.
BLOCK = 4_000_000


@dataclass(frozen=True)
class Arrangement:
    """Lines of rank r >= 3 and their gains for B fields.

    Attributes:
        X: (L, r) pairwise different lines, integers.
        forward, backward: (B, L) gains of each vector's ray and of the opposite ray.
        faces: whether directions on a plane may win (False on pointed domains).
        labels: (L,) labels; with ``floor`` they restrict the chains of faces that are followed.
        floor: only planes with a larger label are used when ``faces`` is False.
    """

    X: NDArray[Any]
    forward: NDArray[np.int64]
    backward: NDArray[np.int64]
    faces: bool
    labels: NDArray[np.int64]
    floor: int = -1

    @property
    def chosen(self) -> NDArray[np.int64]:
        """The planes from which cells are entered, in an order that spreads over the arrangement.

        Steps of the golden ratio: a sweep that is cut short, or stops early, has seen planes of every part.
        """
        keep = np.ones(len(self.X), dtype=bool) if self.faces else self.labels > self.floor
        chosen = np.flatnonzero(keep).astype(np.int64)
        return chosen[np.argsort((np.arange(len(chosen)) * GOLDEN) % 1.0, kind="stable")]

    def along(self, i: int) -> Arrangement:
        """Return the arrangement on the plane of row i."""
        forward, backward = np.delete(self.forward, i, axis=1), np.delete(self.backward, i, axis=1)
        labels = np.delete(self.labels, i)
        X, ahead, behind, where = merge(project_along(self.X, i), forward, backward)
        merged = np.full(len(X), -1, dtype=np.int64)
        np.maximum.at(merged, where, labels)
        return Arrangement(X, ahead, behind, self.faces, merged, int(self.labels[i]))


#: Planes to go down to, one inside the other, and whether the result is pushed off each of them.
Descent = tuple[tuple[int, bool], ...]


@dataclass
class Sweep:
    """What the planes of an arrangement give: least gains per plane and field, LARGEST where not reached.

    Attributes:
        chosen: (C,) the planes.
        cells, flats: (C, B) least gains next to, and on, each of them.
        complete: whether every plane was worked on.
        inner: per plane, the descents inside it to a cell, and to the best of all; for ranks above 3.
    """

    chosen: NDArray[np.int64]
    cells: NDArray[np.int64]
    flats: NDArray[np.int64]
    complete: bool = True
    inner: dict[int, tuple[Descent, Descent]] = field(default_factory=dict)

    @classmethod
    def of(cls, A: Arrangement) -> Sweep:
        """Return the empty sweep of an arrangement."""
        shape = (len(A.chosen), len(A.forward))
        cells, flats = np.full(shape, LARGEST, dtype=np.int64), np.full(shape, LARGEST, dtype=np.int64)
        return cls(A.chosen, cells, flats)

    @property
    def least(self) -> NDArray[np.int64]:
        """The least gain over everything reached, per field: (B,)."""
        return np.asarray(np.minimum(self.cells, self.flats).min(axis=0, initial=LARGEST))

    @property
    def least_cells(self) -> NDArray[np.int64]:
        """The least gain over the open cells reached, per field: (B,)."""
        return np.asarray(self.cells.min(axis=0, initial=LARGEST))

    def enter(self, A: Arrangement, t: int, cell: NDArray[np.int64], least: NDArray[np.int64]) -> None:
        """Write the recursion's step at plane chosen[t]: leave it to the better side, or stay on it.

        Args:
            A: the arrangement.
            t: place of the plane in ``chosen``.
            cell, least: (B,) least gains of the other lines over the plane's cells, and over all of it.
        """
        ahead, behind = A.forward[:, self.chosen[t]], A.backward[:, self.chosen[t]]
        self.cells[t] = _plus(cell, np.minimum(ahead, behind))
        if A.faces:
            self.flats[t] = _plus(least, ahead + behind)

    def descent(self, *, cells_only: bool) -> Descent:
        """Return the steps from plane to plane that reach the least gain of field 0: (plane, leave it?)."""
        if len(self.chosen) == 0:
            return ()
        at, on = int(self.cells[:, 0].argmin()), int(self.flats[:, 0].argmin())
        leave = cells_only or bool(self.cells[at, 0] <= self.flats[on, 0])
        t = at if leave else on
        below = self.inner[t][0 if leave else 1] if t in self.inner else ()
        return ((int(self.chosen[t]), leave), *below)


def _plus(values: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values + more, LARGEST staying LARGEST."""
    reached = values < LARGEST
    return np.where(reached, np.where(reached, values, 0) + more, LARGEST)


def sweep_planes(
    A: Arrangement,
    *,
    progress: Progress | None = None,
    deadline: float | None = None,
    enough: int | None = None,
    threads: int | None = None,
) -> Sweep:
    """Return the least gains of every plane of an arrangement of rank >= 3.

    Args:
        A: the arrangement.
        progress: told the fraction of planes done.
        deadline: a :func:`time.monotonic` instant after which no further block of planes is begun.
        enough: a gain of field 0 that cannot be improved on: the sweep may stop once it is found.
        threads: at most this many threads; by default one per processor.
    """
    S = Sweep.of(A)
    L, rank = A.X.shape
    if rank > 3:
        work, cost = _nested(A, S, deadline), L ** (rank - 2)
    elif A.X.dtype == object or largest_entry(A.X) >= KERNEL_ENTRIES:
        work, cost = _wide(A, S), 1000 * L
    elif not A.faces and len(A.forward) >= BATCH:
        work, cost = _batch(A, S), L
    else:
        work, cost = _narrow(A, S), L

    def found() -> bool:
        return enough is not None and bool(S.least[0] <= enough)

    size = max(1, BLOCK // (cost * (16 + len(A.forward))))
    ran = spread(
        work, len(S.chosen), size, progress=progress, deadline=deadline, enough=found, threads=threads
    )
    S.complete = S.complete and ran
    return S


Work = Callable[[int, int], None]


def _narrow(A: Arrangement, S: Sweep) -> Work:
    """Rank 3, entries below 2^30: compiled."""
    from geomdp.opt import _kernels

    def work(first: int, last: int) -> None:
        _kernels.pivots(A.X, A.forward, A.backward, S.chosen, first, last, A.faces, S.cells, S.flats)

    return work


def _batch(A: Arrangement, S: Sweep) -> Work:
    """Do the same for many fields, in groups that vector instructions advance together."""
    from geomdp.opt import _kernels

    fields, L = A.forward.shape
    groups = -(-fields // _kernels.LANES)
    shape = (L, groups * _kernels.LANES)
    ahead, behind = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    ahead[:, :fields], behind[:, :fields] = A.forward.T, A.backward.T
    total = (ahead + behind).sum(axis=0).reshape(groups, _kernels.LANES)
    steps, both = (
        np.ascontiguousarray(v.reshape(L, groups, _kernels.LANES).swapaxes(0, 1))
        for v in (ahead - behind, ahead + behind)
    )
    better = np.minimum(A.forward, A.backward).T

    def work(first: int, last: int) -> None:
        arcs = np.empty((last - first, groups, _kernels.LANES), dtype=np.int64)
        chosen = S.chosen[first:last]
        _kernels.pivots_batch(A.X, steps, both, total, chosen, arcs)
        S.cells[first:last] = arcs.reshape(last - first, -1)[:, :fields] + better[chosen]

    return work


def _wide(A: Arrangement, S: Sweep) -> Work:
    """Rank 3, any size of entries: the circles are ordered with Python integers."""
    from geomdp.opt import _kernels

    def work(first: int, last: int) -> None:
        for t in range(first, last):
            i = int(S.chosen[t])
            C = circle_of(project_along(A.X, i))
            forward, backward = np.delete(A.forward, i, axis=1), np.delete(A.backward, i, axis=1)
            found = np.array(
                [
                    _kernels.circle(C.order, C.flip, C.fresh, ahead, behind, A.faces)
                    for ahead, behind in zip(forward, backward, strict=True)
                ]
            )
            S.enter(A, t, found[:, 0], np.minimum(found[:, 0], found[:, 3]))

    return work


def _nested(A: Arrangement, S: Sweep, deadline: float | None) -> Work:
    """Higher ranks: solve the arrangement on each plane in turn, one rank lower."""

    def work(first: int, last: int) -> None:
        for t in range(first, last):
            inner = sweep_planes(A.along(int(S.chosen[t])), deadline=deadline, threads=1)
            if not inner.complete:
                S.complete = False
            S.inner[t] = inner.descent(cells_only=True), inner.descent(cells_only=False)
            S.enter(A, t, inner.least_cells, inner.least)

    return work


def direction(A: Arrangement, descent: Descent) -> list[int]:
    """Return the integer weights of field 0 at the end of a descent.

    The circle at the bottom is swept once more; the direction found on it is lifted back plane by plane and,
    where the descent says so, pushed off the plane to its better side.
    """
    (i, leave), below = descent[0], descent[1:]
    if below:
        inner = direction(A.along(i), below)
    else:
        C = circle_of(project_along(A.X, i))
        best = sweep_circle(C, np.delete(A.forward[0], i), np.delete(A.backward[0], i))
        inner = best.cell_weights if leave or best.cell <= best.flat else best.flat_weights
    weights = shrink(lift_along(A.X[i], inner))
    if not leave:
        return weights
    return push_off(A.X, i, weights, 1 if A.forward[0, i] <= A.backward[0, i] else -1)
