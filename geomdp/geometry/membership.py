"""Is a target in the cone of given generators? Decided in integers, by three routes to the same proof.

* "fast", few coordinates: the simplex method in integers alone, with floats to pick pivots.
* "fast", many coordinates: HiGHS called directly suggests a proof or a basis; integers finish.
* "lp": the CVXPY model solved by HiGHS suggests; integers finish.

A suggestion saves pivots and can do no harm: the answer is always a solution or a Farkas vector that has
been checked in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.farkas import is_farkas, shorten
from geomdp.exact.simplex import ConeMembership, unit_rows

#: With more coordinates than this, the pivots in integers cost more than a call of HiGHS.
FEW = 20
#: A block this many times farther from 0 than it is wide is moved to its centre, lest floats see one point.
FAR = 16
#: Points with larger coordinates than this are handled without any guidance by floats.
HUGE = 10**60
METHODS = ("fast", "lp")


@dataclass(frozen=True)
class ConeQuestion:
    """Generators and a target: is there x >= 0 with sum_j x_j g_j = r?

    Attributes:
        generators: (N, p) integers, one generator a row.
        target: p integers.
        blocks: pairs (slice of generators, offset column): on its block, the column is positive, elsewhere
            zero. The offsets are the last columns. Blocks are not empty and cover all generators, or there
            are none.
    """

    generators: NDArray[Any]
    target: tuple[int, ...]
    blocks: tuple[tuple[slice, int], ...] = ()

    def answer(self, method: str = "fast") -> dict[int, Fraction] | tuple[int, ...]:
        """Return positive weights of at most p independent generators, or a Farkas vector of integers.

        Example:
            >>> G = np.array([[0, 1], [4, 1]])  # the interval from 0 to 4
            >>> ConeQuestion(G, (1, 1)).answer()
            {0: Fraction(3, 4), 1: Fraction(1, 4)}
            >>> ConeQuestion(G, (5, 1), ((slice(0, 2), 1),)).answer()
            (1, -4)
        """
        offsets = self._far_centres()
        if offsets is None:
            return self._decide(method)
        answer = self._moved(offsets)._decide(method)
        if not isinstance(answer, tuple):
            return answer
        y = list(answer)
        for centre, (_, column) in zip(offsets, self.blocks, strict=True):
            y[column] -= sum(answer[i] * c for i, c in zip(self._kept, centre, strict=True))
        return tuple(y)

    def _decide(self, method: str) -> dict[int, Fraction] | tuple[int, ...]:
        start: Sequence[int] = self._extremes()
        if len(self.generators) and (method == "lp" or len(self.target) > FEW):
            from geomdp.lp.highs import as_integers
            from geomdp.lp.separation import FloatProgram, suggest_by_model, suggest_directly

            program = FloatProgram.of(self.generators, self.target, [column for _, column in self.blocks])
            hint = suggest_by_model(program) if method == "lp" else suggest_directly(program)
            if hint.direction.any() and self.blocks:
                short = self._short([int(value) for value in as_integers(hint.direction)])
                if is_farkas(self.generators, self.target, short):
                    return short
            start = hint.start or start
        simplex = ConeMembership(self.generators, self.target, start)
        y = simplex.solve()
        return simplex.weights() if y is None else self._short(y, simplex.basis)

    def _short(self, y: Sequence[int], tight: Sequence[int] = ()) -> tuple[int, ...]:
        return shorten(self.generators, self.target, y, self.blocks, tight)

    @cached_property
    def _kept(self) -> list[int]:
        """The coordinates that are no offsets."""
        offsets = {column for _, column in self.blocks}
        return [i for i in range(len(self.target)) if i not in offsets]

    @cached_property
    def _points(self) -> list[NDArray[np.float64]]:
        """The points of each block about where they are: other coordinates over the offset, in floats."""
        places = []
        for rows, column in self.blocks:
            block = self.generators[rows]
            block = unit_rows(block) if block.dtype == object else block
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                places.append(block[:, self._kept] / block[:, [column]])
        return places

    @cached_property
    def _moderate(self) -> bool:
        """True if there are blocks whose points and target stay far from the limits of floats."""
        if not self.blocks:
            return False
        below = self.target[self.blocks[0][1]]
        near = all(abs(self.target[i]) < HUGE * below for i in self._kept)
        return near and all(bool((np.abs(points) < float(HUGE)).all()) for points in self._points)

    def _far_centres(self) -> list[list[int]] | None:
        """Return a whole centre for each block, if some block is much farther from 0 than it is wide."""
        if not self._moderate:
            return None
        centres, far = [], False
        for points in self._points:
            middle = points.mean(axis=0)
            width = np.abs(points - middle).max(axis=0)
            far = far or bool((np.abs(middle) > FAR * (1 + width)).any())
            centres.append([round(value) for value in middle.tolist()])
        return centres if far else None

    def _moved(self, centres: list[list[int]]) -> ConeQuestion:
        """Return the question with each block moved by its centre; the solutions x are the same."""
        moved = self.generators.astype(object)
        target = list(self.target)
        for centre, (rows, column) in zip(centres, self.blocks, strict=True):
            moved[rows, : len(centre)] -= np.outer(moved[rows, column], np.array(centre, dtype=object))
            for i, c in zip(self._kept, centre, strict=True):
                target[i] -= self.target[column] * c
        small = all(abs(value) < 2**62 for value in moved.flat)
        return ConeQuestion(moved.astype(np.int64) if small else moved, tuple(target), self.blocks)

    def _extremes(self) -> list[int]:
        """Return one generator per block: about the one that reaches farthest towards the target."""
        if not self._moderate:
            return [rows.start for rows, _ in self.blocks]
        below = self.target[self.blocks[0][1]]
        away = np.array([-self.target[i] / below for i in self._kept])
        for points in self._points:
            away = away + points.mean(axis=0)
        return [
            rows.start + int((points @ away).argmin())
            for (rows, _), points in zip(self.blocks, self._points, strict=True)
        ]
