"""Halfspaces x -> +1 iff <a, x> >= w with w = +1 or -1, fixed coordinate by coordinate.

Components are w, a_1, ..., a_d, or (w, a_1), a_2, ..., a_d where the first two are chosen together. Dividing
by |w| turns every halfspace with w != 0 into one of these; on finitely many points w = 0 gives nothing new.

Generic completions. The labelings of a prefix are those of its completions off all boundaries <a, x> = w of
records on which the free coordinates have a say: the open cells of an arrangement. Records on which they have
none keep the half-open label. Half-open completions of w alone give the same labelings, because scaling a
moves all records on the boundary to its positive side. One more point splits each cell into one or two, as a
class of functions would have it, so the comparisons of weights between neighbours hold. The last coordinate
completes a hypothesis, and its objective counts the half-open labels themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_integer
from geomdp.learners.blocks import Block, Blocks, objective
from geomdp.learners.classes.base import Component, Labels, Progress, check_labels, check_rows
from geomdp.learners.classes.halfspace_survey import (
    HalfspaceSurvey,
    cells_of,
    components,
    flattened,
    halfspace_at,
    moved_rows,
    point_inside,
    reduced_rows,
)
from geomdp.learners.domains import Divided, Explicit, OrderedDomain
from geomdp.learners.grids import MOST_FEATURES
from geomdp.learners.relabel.plane_sweep import MOST_CARRIED, NARROW
from geomdp.learners.relabel.reach import Hull
from geomdp.learners.relabel.space import Boundaries, Cells, most_rows

#: The two values of w, in the order of the first component's domain.
SIGNS = (-1, 1)
_IN_SPACE = 800  # rows of a sample whose objective is swept in space: their cube in time, a minute or two
_IN_WIDE_SPACE = 120  # the same where numbers exceed 64 bits and nothing is compiled
_FREE = 2**53  # where nothing limits a sample


@dataclass(frozen=True)
class Twice:
    """Two copies of an ordered domain, one after the other: w = -1, then w = +1.

    Ranks count through both copies; values are those of the copy, so cuts refer to the first copy.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> pairs = Twice(Integers(0, 2))
        >>> pairs.size, pairs.value(4)
        (6, Fraction(1, 1))
    """

    inner: OrderedDomain

    @property
    def size(self) -> int:
        """The number of elements."""
        return 2 * self.inner.size

    def value(self, index: int) -> Fraction:
        """Return the coordinate of a rank.

        Raises:
            ArgumentError: unless ``index`` is an integer with 0 <= index <= size - 1.
        """
        return self.inner.value(check_integer("index", index, 0, self.size - 1) % self.inner.size)

    def first_at_least(self, x: Fraction) -> int:
        """Return the number of elements of one copy below x."""
        return self.inner.first_at_least(x)

    def first_above(self, x: Fraction) -> int:
        """Return the number of elements of one copy <= x."""
        return self.inner.first_above(x)


@dataclass(frozen=True)
class Halfspaces:
    """The halfspaces of R^d whose first components are fixed.

    Args:
        coordinates: the ordered domains of a_1, ..., a_d; d is their number. One of type :class:`Divided` is
            divided by the common denominator of the coordinates before it.
        merged: whether (w, a_1) is one component.
        prefix: the components chosen so far: Fraction(+-1) and rationals, or (w, a_1) and rationals.
        progress: called with the fraction done by each sweep over the plane.
        radius: a public bound on the records' coordinates; where it is large :meth:`admit` takes fewer rows.

    Raises:
        ArgumentError: unless there is an ordered domain or more, and ``prefix`` holds components of a
            halfspace: the pair (w, a_1) first, w = +1 or -1.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> C = Halfspaces((Integers(-3, 3), Integers(-3, 3)), merged=True)
        >>> C = C.extend((Fraction(1), Fraction(2)))
        >>> X, y = np.array([[1, 2], [2, -1]]), np.array([1, -1])
        >>> [tuple(b) for b in C.objective(X, y)]
        [(0, 2, 0), (3, 6, 1)]
        >>> C.prefix, C.k, C.growth(4)
        (((Fraction(1, 1), Fraction(2, 1)),), 2, 5)
    """

    coordinates: tuple[OrderedDomain, ...]
    merged: bool = False
    prefix: tuple[Component, ...] = ()
    progress: Progress = None
    radius: int = 1

    def __post_init__(self) -> None:
        if not self.coordinates:
            raise ArgumentError("coordinates", "at least one ordered domain", "an empty tuple")
        flat = flattened(self.prefix)
        if len(self.prefix) > self.k or (flat and abs(flat[0]) != 1):
            raise ArgumentError("prefix", "components of a halfspace, w = +1 or -1 first", "other values")
        if self.merged and self.prefix and not isinstance(self.prefix[0], tuple):
            raise ArgumentError("prefix", "a pair (w, a_1) first", "a single number")

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.coordinates)

    @property
    def k(self) -> int:
        """The number of components."""
        return self.d + (not self.merged)

    def extend(self, y: Component) -> Halfspaces:
        """Return the class with one more component fixed.

        Raises:
            ArgumentError: when the hypothesis is complete already.
        """
        if len(self.prefix) == self.k:
            raise ArgumentError("y", "a component of an incomplete hypothesis", "one beyond the last")
        value = tuple(map(Fraction, y)) if isinstance(y, tuple) else Fraction(y)
        prefix = (*self.prefix, value)
        flat = flattened(prefix)
        at = len(flat) - 1  # of the next coordinate
        domains = tuple(
            D.after(flat) if i == at and isinstance(D, Divided) else D for i, D in enumerate(self.coordinates)
        )
        return Halfspaces(domains, self.merged, prefix, self.progress, self.radius)

    def domain(self) -> OrderedDomain:
        """Return the domain of the next component; for (w, a_1), twice that of a_1."""
        if not self.prefix:
            return Twice(self.coordinates[0]) if self.merged else Explicit(SIGNS)
        return self.coordinates[len(flattened(self.prefix)) - 1]

    def component(self, index: int) -> Component:
        """Return the component of a rank."""
        value = self.domain().value(index)
        if not self.prefix and self.merged:
            return Fraction(SIGNS[index >= self.coordinates[0].size]), value
        return value

    def admit(self, m: Sequence[int], method: str, *, initial: bool) -> None:
        """Refuse a run that is too large, from the number of features and the public sizes alone.

        Features up to 2 have sweeps of lines and planes, which take thousands of rows. With 3 features the
        first coordinate is chosen by a walk along the lines in which the rows' planes meet: little memory,
        but time that grows with the cube of the rows. Initial relabellings, and rounds in which w alone is
        known, list the cells of an arrangement in space. More features are refused. How many rows the walk
        takes depends on `radius`, too: beyond 27,000 products of coordinates exceed 64 bits, and nothing is
        compiled.

        Raises:
            CapacityError: with the feature number, the size, and the largest size that is handled.

        Example:
            >>> from geomdp.core.errors import CapacityError
            >>> from geomdp.learners.domains import Integers
            >>> C = Halfspaces((Integers(-3, 3),) * 3, merged=True)
            >>> try:
            ...     C.admit((900, 90, 90), "carrier-boost", initial=False)
            ... except CapacityError as error:
            ...     print(error.requirement)
            of at most 800 rows in sample 1 with 3 features
            >>> C = Halfspaces(C.coordinates, merged=True, radius=2**20)
            >>> try:
            ...     C.admit((200, 90, 90), "carrier-boost", initial=False)
            ... except CapacityError as error:
            ...     print(error.requirement)
            of at most 120 rows in sample 1 with 3 features
        """
        check_features(self.d)
        for i, size in enumerate(m):
            coordinates = i + (1 if self.merged else 0)  # of a_1, ..., the one chosen, w not counted
            free = self.d + 1 - max(1, coordinates)
            if free == 3:
                self._fits(i, size, _in_space(self.radius) if coordinates else most_rows(3))
            if initial and i == 0 and self.d == 3:
                self._fits(i, size, most_rows(3))
            if i + 1 < len(m):  # the relabelling that follows: the component just chosen is fixed
                left = self.d - coordinates
                if left == 3:
                    self._fits(i + 1, size + m[i + 1], most_rows(3), together=True)
                if left == 2 and method == "carrier-boost":
                    self._fits(i + 1, m[i + 1], MOST_CARRIED)

    def largest(self, radius: int, method: str, *, initial: bool) -> tuple[int, ...]:
        """Return sizes of samples that :meth:`admit` lets pass, for records in [-radius, radius]^d, d <= 3.

        Example:
            >>> from geomdp.learners.domains import Integers
            >>> C = Halfspaces((Integers(-3, 3),) * 3, merged=True)
            >>> most = C.largest(512, "carrier-boost", initial=False)
            >>> C.admit(most, "carrier-boost", initial=False)
            >>> most[0], C.largest(2**20, "carrier-boost", initial=False)[0]
            (800, 120)
        """
        most, listed = [_FREE] * self.k, most_rows(3)
        if self.d == 3:
            most[self.k - 3] = _in_space(radius)
            if initial:
                most[0] = min(most[0], listed)
            if not self.merged:  # after w alone, samples 1 and 2 are labelled together
                most[:2] = listed // 2, listed // 2
        if method == "carrier-boost" and self.k > 2:
            most[self.k - 2] = min(most[self.k - 2], MOST_CARRIED)
        return tuple(most)

    def _fits(self, i: int, size: int, most: int, *, together: bool = False) -> None:
        if size > most:
            which = f"samples {i} and {i + 1} together" if together else f"sample {i + 1}"
            raise CapacityError(
                "m",
                f"of at most {most:,} rows in {which} with {self.d} features",
                f"{size:,}",
                "Give smaller samples by m, or use method='exponential'.",
            )

    def predict(self, coords: tuple[Component, ...], X: NDArray[Any]) -> Labels:
        """Return the labels of a complete hypothesis: +1 iff <a, x> >= w, in integers.

        Raises:
            ArgumentError: unless ``coords`` holds all k components.
        """
        values = flattened(coords)
        if len(coords) != self.k or len(values) != self.d + 1:
            raise ArgumentError("coords", f"{self.k} components", len(coords))
        scale = math.lcm(*(v.denominator for v in values))
        w, *a = (int(v * scale) for v in values)
        totals = (sum(p * q for p, q in zip(row, a, strict=True)) for row in check_rows(X, self.d))
        return np.array([1 if total >= w else -1 for total in totals], dtype=np.int8)

    def growth(self, m: int) -> int:
        """Return the largest number of labelings of m points: cells of m hyperplanes in general position.

        Raises:
            ArgumentError: unless ``m`` is an integer >= 0.
        """
        check_integer("m", m, 0)
        if self.prefix:
            free = self.d + 1 - len(flattened(self.prefix))
            return sum(math.comb(m, i) for i in range(free + 1))
        return 2 * sum(math.comb(m - 1, i) for i in range(self.d + 1)) if m else 1

    def objective(self, X: NDArray[Any], y: NDArray[Any]) -> Blocks:
        """Return the score of every choice of the next component.

        For the last coordinate: the agreement of the hypothesis. For w alone: the best agreement of a
        generic completion. For other coordinates z: Q^(z) = max {j : z lies between reals of score >= j},
        where a real's score is the best agreement of a generic completion; for (w, a_1) once for each w, so
        pass the blocks to the exponential mechanism as they are.

        Sensitivity. Each completion's agreement changes by at most one when a record is replaced, the best
        one too. If Q and Q' differ by at most one, the hull of {Q >= j} lies in that of {Q' >= j - 1}; so
        Q^ and Q'^ differ by at most one, on every input. Where a completion agrees with all records, Q^ = Q:
        the completions that meet a set of constraints form a convex set, whose projection is an interval, and
        all these intervals hold the one of the full set.

        Raises:
            ArgumentError: when the hypothesis is complete already: there is no component to choose.
        """
        rows = check_rows(X, self.d)
        wanted = check_labels(y, len(rows), zero=True)
        flat = flattened(self.prefix)
        if len(self.prefix) == self.k:
            raise ArgumentError("C", "a class with a component to choose", "a complete hypothesis")
        if flat:
            return self._coordinate(rows, wanted, flat)
        if not self.merged:
            best = [max(self._cells(rows, wanted, (Fraction(w),)).counts()) for w in SIGNS]
            return objective(2, [(1, best[1] - best[0])], best[0])
        size = self.coordinates[0].size
        first, second = (self._coordinate(rows, wanted, (Fraction(w),)) for w in SIGNS)
        return (*first, *(Block(b.first + size, b.last + size, b.score) for b in second))

    def _coordinate(
        self, rows: Sequence[tuple[int, ...]], wanted: Sequence[int], flat: tuple[Fraction, ...]
    ) -> Blocks:
        domain = self.coordinates[len(flat) - 1]
        (reduced, scale), j = reduced_rows(rows, flat), self.d + 1 - len(flat)
        if j == 1:
            return _last_coordinate(reduced, scale, wanted, domain)
        if j > 3 and len(rows) > most_rows(j - 1):  # now: only some records would need the slices' cells
            raise CapacityError("X", f"of at most {most_rows(j - 1)} rows with {self.d} features", len(rows))
        return Hull.of(Boundaries.of(reduced, wanted, j), _best_at, self.progress).blocks(domain, scale)

    def labelings(self, X: NDArray[Any], y: NDArray[Any] | None = None) -> HalfspaceSurvey:
        """Return all labelings of the rows, scored by agreement with the rows that have y != 0."""
        rows = check_rows(X, self.d)
        wanted = check_labels(y, len(rows), zero=True) if y is not None else [0] * len(rows)
        return self._survey(rows, wanted, carried=False)

    def carrier_labelings(self, X: NDArray[Any], y: NDArray[Any]) -> HalfspaceSurvey:
        """Return all labelings of the rows with y = 0, scored by the best agreement with the others."""
        rows = check_rows(X, self.d)
        return self._survey(rows, check_labels(y, len(rows), zero=True), carried=True)

    def _survey(self, rows: list[tuple[int, ...]], wanted: list[int], *, carried: bool) -> HalfspaceSurvey:
        flat, merged, progress = flattened(self.prefix), self.merged, self.progress
        return HalfspaceSurvey(
            flat, rows, wanted, d=self.d, merged=merged, carried=carried, progress=progress
        )

    def realizes(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[Component, ...] | None:
        """Return a halfspace of the class whose generic labels these are, or None if there is none.

        Exact and for any d: one system of strict inequalities, solved or refuted in integers.

        Example:
            >>> from geomdp.learners.domains import Integers
            >>> C = Halfspaces((Integers(-3, 3), Integers(-3, 3)))
            >>> X = np.array([[0, 0], [1, 1], [2, 2]])
            >>> C.realizes(X, np.array([1, -1, 1])) is None
            True
            >>> C.predict(C.realizes(X, np.array([1, 1, -1])), X).tolist()
            [1, 1, -1]
        """
        rows = check_rows(X, self.d)
        wanted = check_labels(y, len(rows))
        flat = flattened(self.prefix)
        if len(flat) == self.d + 1:
            return (
                self.prefix if self.predict(self.prefix, np.array(rows, object)).tolist() == wanted else None
            )
        if not flat:
            origin = rows[0] if rows else (0,) * self.d
            flip = wanted[0] if rows else 1
            moved = moved_rows(rows, origin)
            point = point_inside(moved, [flip * label for label in wanted], self.d)
            return None if point is None else components(halfspace_at(point, rows, origin, flip), self.merged)
        reduced, scale = reduced_rows(rows, flat)
        point = point_inside(reduced, wanted, self.d + 1 - len(flat))
        if point is None:
            return None
        return components((*flat, *(v / scale for v in point)), self.merged)

    def _cells(
        self, rows: Sequence[tuple[int, ...]], wanted: Sequence[int], flat: tuple[Fraction, ...]
    ) -> Cells:
        j = self.d + 1 - len(flat)
        return cells_of(Boundaries.of(reduced_rows(rows, flat)[0], wanted, j), self.progress)


def _in_space(radius: int) -> int:
    """Return the most rows of a walk in space; its products of coordinates fit 64 bits or do not."""
    return _IN_WIDE_SPACE if 8 * radius**4 >= NARROW else _IN_SPACE


def check_features(d: int) -> None:
    """Refuse more features than a learner that goes component by component handles.

    Raises:
        CapacityError: on d > 3; it names what does handle them.

    Example:
        >>> try:
        ...     check_features(5)
        ... except CapacityError as error:
        ...     print(error.mend)
        Use method='exponential' with mode='validated'.
    """
    if d > 3:
        mend = "Use method='exponential' with mode='validated'"
        mend += "." if d <= MOST_FEATURES else f", on at most {MOST_FEATURES} of the features."
        raise CapacityError(
            "X", "of at most 3 features for a learner that goes component by component", f"of {d}", mend
        )


def _best_at(boundaries: Boundaries, x: Fraction) -> int:
    """Return the best score of a cell in the slice u_1 = x."""
    q, p = x.denominator, x.numerator
    scaled = [(*(q * v for v in row[1:-1]), q * row[-1] - p * row[0]) for row in boundaries.rows]
    return max(cells_of(Boundaries.of(scaled, boundaries.wanted, boundaries.j - 1)).counts())


def _last_coordinate(
    rows: Sequence[tuple[int, ...]], scale: int, wanted: Sequence[int], domain: OrderedDomain
) -> Blocks:
    """Return the agreement of every last coordinate z: label +1 iff p scale z >= c."""
    start, jumps = 0, []
    for (p, c), want in zip(rows, wanted, strict=True):
        if not want:
            continue
        if not p:
            start += want == (1 if c <= 0 else -1)
        elif p > 0:  # +1 from c/p on
            start += want < 0
            jumps.append((domain.first_at_least(Fraction(c, p * scale)), want))
        else:  # +1 up to c/p
            start += want > 0
            jumps.append((domain.first_above(Fraction(c, p * scale)), -want))
    return objective(domain.size, jumps, start)
