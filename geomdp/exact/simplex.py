"""Phase one of the simplex method in integers: is a target in a finitely generated cone, and why.

Every number of the tableau is an integer: a minor of the generators over the common denominator ``det``,
the determinant of the basis, and one pivot updates them by an exact division (Edmonds' rule). Floats only
pick the entering generator: a product whose rounding error could hide its sign is evaluated in integers.
Lexicographic ratios make the method finite on every input, however degenerate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.exact.farkas import integer_vector
from geomdp.exact.linear import primitive


class ConeMembership:
    """Decides whether x >= 0, sum_j x_j g_j = r has a solution.

    It minimises the sum of the artificial variables, from a basis that may hold any generators: where such a
    basis gives a generator a negative weight, the generator's opposite stands in for it as an artificial.

    Args:
        generators: (N, p) integers, one generator g_j a row.
        target: r, p integers.
        start: generators to begin with, best first; dependent ones are passed over.

    Attributes:
        pivots: the number of pivots made so far.

    Example:
        >>> cone = ConeMembership(np.array([[1, 0], [1, 1]]), [3, 1])
        >>> cone.solve() is None, cone.weights()
        (True, {0: Fraction(2, 1), 1: Fraction(1, 1)})
        >>> ConeMembership(np.array([[1, 0], [1, 1]]), [0, 1]).solve()
        (-1, 1)
    """

    def __init__(self, generators: NDArray[Any], target: Sequence[int], start: Sequence[int] = ()) -> None:
        p = generators.shape[1]
        self._generators = generators
        self._floats = unit_rows(generators)
        self._doubt = p * (p + 4) * 2.0**-52  # rounding error of a product of two vectors with entries <= 1
        self._det = 1
        self._basis = [-1] * p  # generator of each row, -1 for an artificial
        self._inverse = slice(1 + p, 1 + 2 * p)
        # Columns of the tableau, all times det: solution | lexicographic order | inverse of the basis.
        self._tableau = np.zeros((p, 1 + 2 * p), dtype=object)
        self._tableau[:, 0] = [int(value) for value in target]
        self._tableau[:, self._inverse] = np.identity(p, dtype=object)
        self.pivots = 0
        for generator in start:
            self._insert(int(generator))
        for k in np.flatnonzero(self._tableau[:, 0] < 0):
            self._tableau[k] = -self._tableau[k]
            self._basis[k] = -1
        self._tableau[:, 1 : 1 + p] = self._det * np.identity(p, dtype=object)

    def solve(self, pause: Callable[[], None] | None = None) -> tuple[int, ...] | None:
        """Return None when the target is in the cone, else a Farkas vector of integers.

        The vector y has <y, g_j> <= 0 for every generator and <y, r> > 0.

        Args:
            pause: called before every pivot; it may raise.
        """
        while True:
            if pause is not None:
                pause()
            artificial = [k for k, generator in enumerate(self._basis) if generator < 0]
            if not any(self._tableau[k, 0] for k in artificial):
                return None
            y = primitive(self._tableau[artificial, self._inverse].sum(axis=0))
            entering = self._entering(y)
            if entering is None:
                return y
            column = self._column(entering)
            self._pivot(self._leaving(column), column, entering)

    def weights(self) -> dict[int, Fraction]:
        """Return the positive x_j after :meth:`solve` gave None; their generators are independent."""
        return {
            generator: Fraction(int(self._tableau[k, 0]), self._det)
            for k, generator in sorted(enumerate(self._basis), key=lambda pair: pair[1])
            if generator >= 0 and self._tableau[k, 0] > 0
        }

    @property
    def basis(self) -> list[int]:
        """Generators in the basis; a Farkas vector is orthogonal to them."""
        return [generator for generator in self._basis if generator >= 0]

    def _column(self, generator: int) -> NDArray[Any]:
        vector = self._generators[generator].astype(object)
        return np.asarray(self._tableau[:, self._inverse] @ vector)

    def _entering(self, y: tuple[int, ...]) -> int | None:
        """Return a generator with <y, g_j> > 0, about the steepest, or None if there is none."""
        top = max(abs(value) for value in y)
        values = self._floats @ np.array([value / top for value in y])
        best = int(values.argmax()) if len(values) else -1
        if best >= 0 and values[best] > self._doubt:
            return best
        doubtful = np.flatnonzero(values >= -self._doubt)
        exact = products(self._generators[doubtful], integer_vector(y))
        hits = np.flatnonzero(exact > 0)
        return int(doubtful[hits[0]]) if len(hits) else None

    def _leaving(self, column: NDArray[Any]) -> int:
        """Return the row whose tableau row over its column entry is lexicographically least."""
        rows = [int(k) for k in np.flatnonzero(column > 0)]
        place = 0
        while len(rows) > 1:
            ratios = [Fraction(int(self._tableau[k, place]), int(column[k])) for k in rows]
            least = min(ratios)
            rows = [k for k, ratio in zip(rows, ratios, strict=True) if ratio == least]
            place += 1
        return rows[0]

    def _insert(self, generator: int) -> None:
        """Put a generator into the basis in the place of an artificial, whatever the signs become."""
        column = self._column(generator)
        rows = [k for k, held in enumerate(self._basis) if held < 0 and column[k] != 0]
        if rows:
            self._pivot(rows[-1], column, generator)

    def _pivot(self, k: int, column: NDArray[Any], generator: int) -> None:
        row, pivot = self._tableau[k].copy(), int(column[k])
        self._tableau = (self._tableau * pivot - np.outer(column, row)) // self._det
        self._tableau[k] = row
        self._det = pivot
        if pivot < 0:
            self._tableau, self._det = -self._tableau, -pivot
        self._basis[k] = generator
        self.pivots += 1


def unit_rows(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return integer rows scaled to largest absolute entry 1, correctly rounded; zero rows stay zero.

    Example:
        >>> unit_rows(np.array([[2, -4], [0, 0]])).tolist()
        [[0.5, -1.0], [0.0, 0.0]]
    """
    if rows.dtype == object:
        try:
            floats = rows.astype(np.float64)
        except OverflowError:
            scaled = np.zeros(rows.shape, dtype=np.float64)
            for i, row in enumerate(rows.tolist()):
                top = max(1, *map(abs, row)) if row else 1
                scaled[i] = [value / top for value in row]
            return scaled
        return np.ascontiguousarray(floats / np.abs(floats).max(axis=1, keepdims=True, initial=1.0))
    top = np.abs(rows).max(axis=1, keepdims=True, initial=1)
    return np.ascontiguousarray(rows / top.astype(np.float64))
