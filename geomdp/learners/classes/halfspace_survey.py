"""The labelings of records by halfspaces of a prefix, and the change of coordinates behind them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from geomdp.learners.blocks import Block, exponential
from geomdp.learners.classes.base import Component, Labelling, Progress
from geomdp.learners.relabel.plane_sweep import PlaneCells
from geomdp.learners.relabel.space import Boundaries, Cells, LineCells, Point, SpaceCells, inner_point
from geomdp.privacy.sampler import Sampler


class HalfspaceSurvey:
    """The labelings of some rows by the halfspaces of a prefix; see the protocol `Survey`.

    Without a prefix the class is closed under complement. Let x_0 be one of the rows (one to relabel, where
    that matters). The halfspaces that hold x_0 are, on these rows and generically, x -> [<a, x - x_0> >= -1];
    the others are their complements. So the cells of one arrangement in R^d, each with its complement, give
    every labelling once: none is met for both w = +1 and w = -1.

    Args:
        flat: w and the first coordinates, or nothing.
        merged: whether (w, a_1) is one component.
        d: the number of features.
        rows: the records.
        wanted: their labels, 0 for unlabelled ones.
        carried: score labelings of the unlabelled rows by their best completion, not labelings of all rows.
        progress: called with the fraction done by each sweep.
    """

    def __init__(
        self,
        flat: tuple[Fraction, ...],
        rows: list[tuple[int, ...]],
        wanted: list[int],
        *,
        d: int,
        merged: bool,
        carried: bool,
        progress: Progress = None,
    ) -> None:
        self._flat, self._merged, self._rows, self._carried = flat, merged, rows, carried
        pool = [row for row, want in zip(rows, wanted, strict=True) if not want] if carried else rows
        self._origin = min(pool, default=None)
        if flat:
            reduced, self._scale = reduced_rows(rows, flat)
            self._boundaries = Boundaries.of(reduced, wanted, d + 1 - len(flat))
        else:
            origin = self._origin or min(rows, default=(0,) * d)
            self._shift = origin
            self._boundaries = Boundaries.of(moved_rows(rows, origin), wanted, d)
        self._both = not flat and bool(rows)
        self._cells = cells_of(self._boundaries, progress)

    def levels(self) -> list[tuple[int, int]]:
        """Return (score, number of labelings), ascending."""
        upright, turned = self._levels
        return sorted((upright + turned).items())

    @cached_property
    def _levels(self) -> tuple[Counter[int], Counter[int]]:
        """Return the numbers of labelings by score: of the cells, and of their complements."""
        if not self._both or (self._carried and self._origin is None):
            return self._merged_counts(), Counter()
        total = self._boundaries.labelled
        if self._carried:
            turned = self._cells.carrier_counts(worst=True)
            upright = self._cells.carrier_counts()
        else:
            upright = turned = self._cells.counts()
        return upright, Counter({total - score: count for score, count in turned.items()})

    def _merged_counts(self) -> Counter[int]:
        if not self._carried:
            return self._cells.counts()
        if self._both:  # nothing to relabel: one empty labelling, completed by any halfspace
            return Counter({self._lone()[0]: 1})
        return self._cells.carrier_counts()

    def _lone(self) -> tuple[int, int, bool]:
        """Return the best score over all halfspaces, that of its cell, and whether the complement has it."""
        scores = self._cells.counts()
        best, worst = max(scores), min(scores)
        total = self._boundaries.labelled
        return (best, best, False) if best >= total - worst else (total - worst, worst, True)

    def select(self, epsilon: Fraction, sampler: Sampler) -> Labelling:
        """Draw a labelling with probability proportional to exp(epsilon score / 2), exactly.

        The labelings of one score are a block; the rank that the exponential mechanism on blocks draws names
        the score and a uniform rank within it, and a second pass finds the labelling.
        """
        levels = self.levels()
        ends = list(accumulate(count for _, count in levels))
        blocks = [
            Block(end - count, end - 1, score) for end, (score, count) in zip(ends, levels, strict=True)
        ]
        index = exponential(blocks, epsilon, sampler)
        block = next(b for b in blocks if index <= b.last)
        return self.labelling(block.score, index - block.first)

    def candidates(self) -> Iterator[tuple[Labelling, int]]:
        """Yield every labelling once with its score."""
        for score, count in self.levels():
            for rank in range(count):
                yield self.labelling(score, rank), score

    def labelling(self, score: int, rank: int) -> Labelling:
        """Return the labelling of a rank among those of a score, in a fixed order."""
        upright, _ = self._levels
        turned = rank >= upright[score]
        rank -= upright[score] * turned
        total = self._boundaries.labelled
        if self._carried and self._both and self._origin is None:
            _, inner, turned = self._lone()
            point = self._cells.cell(inner, 0)
        elif self._carried:
            inner = total - score if turned else score
            point = self._cells.carrier_cell(inner, rank, worst=turned)
        else:
            point = self._cells.cell(total - score if turned else score, rank)
        labels = self._boundaries.labels(point) * np.int8(-1 if turned else 1)
        agreement = sum(int(a) == b for a, b in zip(labels, self._boundaries.wanted, strict=True))
        if agreement != score:
            raise AssertionError("The labelling found does not have the score that was asked for.")
        if self._flat:
            rest = (v / self._scale for v in point)
            return Labelling(labels, components((*self._flat, *rest), self._merged))
        values = halfspace_at(point, self._rows, self._shift, -1 if turned else 1)
        return Labelling(labels, components(values, self._merged))


def cells_of(boundaries: Boundaries, progress: Progress = None) -> Cells:
    """Return the cells of boundaries by the method that suits the dimension."""
    if boundaries.j <= 1:
        return LineCells(boundaries)
    if boundaries.j == 2:
        return PlaneCells(boundaries, progress=progress)
    return SpaceCells(boundaries)


def flattened(prefix: tuple[Component, ...]) -> tuple[Fraction, ...]:
    """Return (w, a_1, ..., a_i)."""
    return tuple(Fraction(v) for part in prefix for v in (part if isinstance(part, tuple) else (part,)))


def reduced_rows(
    rows: Sequence[tuple[int, ...]], flat: tuple[Fraction, ...]
) -> tuple[list[tuple[int, ...]], int]:
    """Return rows (p, c) in integers and a scale, given w and the first a_i: +1 iff <p, scale rest> >= c."""
    scale = math.lcm(*(v.denominator for v in flat))
    w, *a = (int(v * scale) for v in flat)
    reduced: list[tuple[int, ...]] = [
        (*row[len(a) :], w - sum(p * q for p, q in zip(row, a, strict=False))) for row in rows
    ]
    return reduced, scale


def components(values: tuple[Fraction, ...], merged: bool) -> tuple[Component, ...]:
    """Return w, a_1, ... as components."""
    return ((values[0], values[1]), *values[2:]) if merged else values


def halfspace_at(
    a: Point, rows: Sequence[tuple[int, ...]], origin: tuple[int, ...], flip: int
) -> tuple[Fraction, ...]:
    """Return w, a_1, ..., a_d of x -> flip * [<a, x - origin> >= -1], off all boundaries of the rows."""
    w = _product(origin, a) - 1
    if w == 0:  # any threshold that separates the same rows serves
        w = min((abs(_product(row, a)) for row in rows), default=Fraction(1)) / 2
    return Fraction(flip * (1 if w > 0 else -1)), *(flip * v / abs(w) for v in a)


def _product(row: tuple[int, ...], a: Point) -> Fraction:
    return sum((p * v for p, v in zip(row, a, strict=True)), Fraction(0))


def moved_rows(rows: Sequence[tuple[int, ...]], origin: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the rows (x - origin, -1) of the halfspaces that hold the origin."""
    return [(*(v - o for v, o in zip(row, origin, strict=True)), -1) for row in rows]


def point_inside(rows: Sequence[tuple[int, ...]], wanted: Sequence[int], j: int) -> Point | None:
    """Return a point off all boundaries at which the rows have the wanted labels."""
    planes, side = [], []
    for row, want in zip(rows, wanted, strict=True):
        if any(row[:j]):
            planes.append(row)
            side.append(want)
        elif want != (1 if row[j] <= 0 else -1):
            return None
    return inner_point(planes, side, j)
