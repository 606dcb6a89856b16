"""How far the cells of each score reach along the first coordinate: hulls of level sets.

For a real z let Q(z) be the best score of a cell of the arrangement in the slice u_1 = z. What a private
choice of the coordinate needs is the hull of {Q >= j} for every j: its two ends.

Recursion. Call a hyperplane vertical if u_1 alone decides on its sides, and let some one not be vertical.
Take a cell with left end c (a number or minus infinity), and a slice u_1 = c' of it, c' so close to c that no
vertical hyperplane lies between. The slice is not all of {u_1 = c'}, which some hyperplane cuts; so it has a
boundary point, on a facet that is not vertical. There are finitely many facets: one of them reaches c. Hence
all left ends of cells are found on the hyperplanes that are not vertical: on each of them the others cut out
an arrangement of one dimension less, and every cell of it, moved a little off the hyperplane to one side or
the other, lies in a cell of the whole. Right ends alike. At last only u_1 is left, and the ends are those of
intervals.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geomdp.learners.blocks import Block, Blocks
from geomdp.learners.classes.base import Progress
from geomdp.learners.domains import OrderedDomain
from geomdp.learners.relabel.plane_sweep import NARROW, PlaneCells, Reach, read_ends
from geomdp.learners.relabel.space import Boundaries, LineCells

_CHUNK = 2**24  # crossings of a piece of work


def reach_of(
    boundaries: Boundaries, progress: Progress = None, *, compiled: bool | None = None
) -> tuple[Reach, Reach]:
    """Return, per score, the left and the right ends of open cells, None for infinity.

    The least left end over all scores >= j is the left end of the union of the cells of score >= j, and the
    greatest right end likewise; single entries need not be attained.

    Example:
        >>> left, right = reach_of(Boundaries.of([(1, 1, 0), (1, -1, 0)], [1, 1], 2))
        >>> left[2], right[2], left[1]
        (Fraction(0, 1), None, None)
    """
    standing = [i for i, plane in enumerate(boundaries.planes) if any(plane[1:-1])]
    if not standing:
        return _intervals(boundaries)
    if boundaries.j == 2:
        return PlaneCells(boundaries, compiled=compiled, progress=progress).reach()
    if boundaries.j == 3 and compiled is not False and _narrow(boundaries):
        return _in_space(boundaries, progress)
    left: Reach = {}
    right: Reach = {}
    for done, i in enumerate(standing):
        part_left, part_right = reach_of(_restricted(boundaries, i), compiled=compiled)
        _merge(left, part_left, larger=False)
        _merge(right, part_right, larger=True)
        if progress is not None:
            progress((done + 1) / len(standing))
    return left, right


def _narrow(boundaries: Boundaries) -> bool:
    """Return whether all numbers of a walk in space fit: lines on a plane have entries of two products."""
    largest = max(abs(v) for plane in boundaries.planes for v in plane[:-1])
    offset = max(abs(plane[-1]) for plane in boundaries.planes)
    return 2 * (2 * largest**2) * (2 * largest * max(largest, offset)) < NARROW


def _in_space(boundaries: Boundaries, progress: Progress) -> tuple[Reach, Reach]:
    """Return the ends in three dimensions by a compiled walk along the lines of each plane, in threads.

    Every thread widens tables of its own; minima and maxima do not depend on the order of planes.
    """
    from geomdp.learners.relabel import _space_kernels

    planes = np.array(boundaries.planes, dtype=np.int64)
    up, down = np.array(boundaries.above, dtype=np.int64), np.array(boundaries.below, dtype=np.int64)
    size = boundaries.base + int(np.maximum(up, down).sum()) + 1
    n = len(planes)
    step = max(1, min(_CHUNK // (n * n), n // 4))

    def walked(first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        tables = np.zeros((size, 2), dtype=np.int64), np.zeros((size, 2), dtype=np.int64)
        _space_kernels.ends(planes, up, down, boundaries.base, first, min(first + step, n), *tables)
        return tables

    left: Reach = {}
    right: Reach = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for first, tables in zip(range(0, n, step), pool.map(walked, range(0, n, step)), strict=True):
            for reach, table, larger in ((left, tables[0], False), (right, tables[1], True)):
                _merge(reach, read_ends(table), larger=larger)
            if progress is not None:
                progress(min(first + step, n) / n)
    return left, right


def _intervals(boundaries: Boundaries) -> tuple[Reach, Reach]:
    """Return the ends of the intervals where all hyperplanes are vertical."""
    table = tuple((plane[0], plane[-1]) for plane in boundaries.planes)
    signs = [1 if p > 0 else -1 for p, _ in table]
    flat = Boundaries(
        1,
        tuple((s * p, s * c) for s, (p, c) in zip(signs, table, strict=True)),
        tuple(a if s > 0 else b for s, a, b in zip(signs, boundaries.above, boundaries.below, strict=True)),
        tuple(b if s > 0 else a for s, a, b in zip(signs, boundaries.above, boundaries.below, strict=True)),
        boundaries.carried, boundaries.base, (), (),
    )  # fmt: skip
    line = LineCells(flat)
    left: Reach = {}
    right: Reach = {}
    for start, end, score in zip([None, *line.places], [*line.places, None], line.scores, strict=True):
        _merge(left, {score: start}, larger=False)
        _merge(right, {score: end}, larger=True)
    return left, right


def _restricted(boundaries: Boundaries, i: int) -> Boundaries:
    """Return the arrangement on hyperplane i, moved to its better side; u_1 is kept, one coordinate goes."""
    plane = boundaries.planes[i]
    drop = next(t for t in range(boundaries.j - 1, 0, -1) if plane[t])
    pivot = plane[drop]
    index: dict[tuple[int, ...], int] = {}
    above: list[int] = []
    below: list[int] = []
    base = boundaries.base + max(boundaries.above[i], boundaries.below[i])
    for k, other in enumerate(boundaries.planes):
        if k == i:
            continue
        sign = 1 if pivot > 0 else -1
        moved = [sign * (pivot * a - other[drop] * b) for a, b in zip(other, plane, strict=True)]
        del moved[drop]
        one = Boundaries.of([tuple(moved)], [1], boundaries.j - 1)
        up, down = boundaries.above[k], boundaries.below[k]
        if not one.planes:  # parallel: hyperplane i lies on one side, off it (they differ)
            base += up if moved[-1] < 0 else down
            continue
        at = index.setdefault(one.planes[0], len(index))
        if at == len(above):
            above.append(0)
            below.append(0)
        same = one.above[0] == 1
        above[at] += up if same else down
        below[at] += down if same else up
    return Boundaries(
        boundaries.j - 1, tuple(index), tuple(above), tuple(below), (False,) * len(index), base, (),
        boundaries.wanted,
    )  # fmt: skip


def _merge(into: Reach, part: Reach, *, larger: bool) -> None:
    for score, x in part.items():
        if score not in into or x is None:
            into[score] = x
            continue
        old = into[score]
        if old is not None and (x > old if larger else x < old):
            into[score] = x


@dataclass(frozen=True)
class Hull:
    """The hulls of the level sets of a coordinate's objective.

    Attributes:
        left, right: ends of open cells per score, None for infinity.
        single: (z, Q(z)) at the abscissas of vertical hyperplanes, which no open cell holds.
    """

    left: Reach
    right: Reach
    single: tuple[tuple[Fraction, int], ...]

    @classmethod
    def of(
        cls,
        boundaries: Boundaries,
        best_at: Callable[[Boundaries, Fraction], int],
        progress: Progress = None,
        *,
        compiled: bool | None = None,
    ) -> Hull:
        """Return the hulls; `best_at` gives Q at single abscissas."""
        left, right = reach_of(boundaries, progress, compiled=compiled)
        upright = {Fraction(p[-1], p[0]) for p in boundaries.planes if not any(p[1:-1])}
        return cls(left, right, tuple((x, best_at(boundaries, x)) for x in sorted(upright)))

    def blocks(self, domain: OrderedDomain, scale: int = 1) -> Blocks:
        """Return Q^ on a domain: at z the largest j such that z lies between reals of score >= j.

        Args:
            domain: the ordered domain.
            scale: what an element is to be multiplied by to give the coordinate u_1 of the arrangement.

        Example:
            >>> from geomdp.learners.domains import Integers
            >>> hull = Hull({1: None, 2: Fraction(0)}, {1: None, 2: Fraction(3)}, ((Fraction(5), 2),))
            >>> [tuple(b) for b in hull.blocks(Integers(-2, 7))]
            [(0, 2, 1), (3, 7, 2), (8, 9, 1)]
        """
        firsts = {s: 0 if x is None else domain.first_above(x / scale) for s, x in self.left.items()}
        lasts = {
            s: domain.size - 1 if x is None else domain.first_at_least(x / scale) - 1
            for s, x in self.right.items()
        }
        for u, score in self.single:
            x = u / scale
            firsts[score] = min(firsts.get(score, domain.size), domain.first_at_least(x))
            lasts[score] = max(lasts.get(score, -1), domain.first_above(x) - 1)
        inner: list[tuple[int, int, int]] = []  # nested, from the top
        first, last = domain.size, -1
        for score in sorted(firsts.keys() | lasts.keys(), reverse=True):
            first = min(first, firsts.get(score, first))
            last = max(last, lasts.get(score, last))
            if first <= last:
                inner.append((first, last, score))
        before: list[Block] = []
        after: list[Block] = []
        low, high = inner[0][0], inner[0][1] + 1  # the ranks covered so far
        blocks = [Block(low, high - 1, inner[0][2])]
        for first, last, score in inner[1:]:
            if first < low:
                before.append(Block(first, low - 1, score))
                low = first
            if last >= high:
                after.append(Block(high, last, score))
                high = last + 1
        return (*reversed(before), *blocks, *after)
