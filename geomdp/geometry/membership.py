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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.farkas import is_farkas, shorten
from geomdp.exact.simplex import ConeMembership, unit_rows

#: With more coordinates than this, the pivots in integers cost more than a call of HiGHS.
FEW = 16
METHODS = ("fast", "lp")


@dataclass(frozen=True)
class ConeQuestion:
    """Generators and a target: is there x >= 0 with sum_j x_j g_j = r?

    Attributes:
        generators: (N, p) integers, one generator a row.
        target: p integers.
        blocks: pairs (slice of generators, offset column): on its block, the column is positive, elsewhere
            zero. Either there is no block or the blocks cover all generators.
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
        start: Sequence[int] = self._extremes()
        if len(self.generators) and (method == "lp" or len(self.target) > FEW):
            from geomdp.lp.highs import as_integers
            from geomdp.lp.separation import FloatProgram, suggest_by_model, suggest_directly

            program = FloatProgram.of(self.generators, self.target, self.blocks)
            hint = suggest_by_model(program) if method == "lp" else suggest_directly(program)
            if hint.direction.any() and self.blocks:
                short = self._short([int(value) for value in as_integers(hint.direction)])
                if is_farkas(self.generators, self.target, short):
                    return short
            start = hint.start or start
        simplex = ConeMembership(self.generators, self.target, start)
        y = simplex.solve()
        return simplex.weights() if y is None else self._short(y)

    def _short(self, y: Sequence[int]) -> tuple[int, ...]:
        return shorten(self.generators, self.target, y, self.blocks)

    def _extremes(self) -> list[int]:
        """Return one generator per block: about the one that reaches farthest towards the target."""
        if not self.blocks:
            return []
        offsets = [column for _, column in self.blocks]
        kept = [i for i in range(len(self.target)) if i not in offsets]
        below = self.target[offsets[0]]
        away = np.array([-self.target[i] / below for i in kept])
        places = []
        for rows, column in self.blocks:
            block = self.generators[rows]
            if block.dtype == object:
                places.append(unit_rows(block)[:, kept])
            else:
                places.append(block[:, kept] / block[:, [column]])
            away = away + places[-1].mean(axis=0)
        return [
            rows.start + int((points @ away).argmin())
            for (rows, _), points in zip(self.blocks, places, strict=True)
        ]
