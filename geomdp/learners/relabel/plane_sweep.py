"""All cells of lines in the plane, by score, without listing them: exact counting and access by rank.

Order of the plane. Points are compared by abscissa first, then by ordinate: the sweep goes along (1, e) with
an infinitesimal e > 0, so no line is vertical (one with q_2 = 0 is the steepest), and no two points tie.
A cell either has a unique first vertex or reaches minus infinity. In the second case it lies between two
neighbours in the order of the lines at minus infinity: there are M + 1 such cells. In the first case, sort
the lines through the vertex by slope: the cells that begin there are the wedges between neighbours, on the
right.
Each wedge is counted on its lower line: on line i, a crossing yields one cell iff a steeper line takes part
in it, namely the cell above i. So every cell is met once, however many lines meet in a point or are parallel.

Walking along line i the score changes at crossings only, so a pass takes O(M^2 log M) steps and O(M) memory.
A second pass stops at the cell of the wanted score and rank. Compiled where all products fit into 62 bits,
in Python integers otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.learners.classes.base import Progress
from geomdp.learners.relabel.space import Boundaries, Point

NARROW = 2**62  #: what numerators and denominators of compiled walks stay below
_CHUNK = 2**21  # crossings between two reports of progress
_MOST = 2**27  # carrier cells that a table may hold
MOST_CARRIED = math.isqrt(2 * _MOST)  # rows to relabel

#: Where the cells of each score reach: abscissas, None for infinity.
Reach = dict[int, Fraction | None]


class PlaneCells:
    """The cells of lines in the plane; see the module for the order in which they are met.

    Args:
        boundaries: of dimension 2.
        compiled: False for Python integers throughout; by default whatever the numbers allow.
        progress: called with the fraction done by every pass.

    Example:
        >>> cells = PlaneCells(Boundaries.of([(1, 0, 1), (0, 1, 1), (1, 1, 2)], [1, 1, 1], 2))
        >>> sorted(cells.counts().items())
        [(0, 1), (1, 2), (2, 2), (3, 1)]
    """

    def __init__(
        self, boundaries: Boundaries, *, compiled: bool | None = None, progress: Progress = None
    ) -> None:
        planes = boundaries.planes
        order = sorted(range(len(planes)), key=lambda i: _from_below(planes[i]))
        self.lines = [planes[i] for i in order]
        self.up = [boundaries.above[i] for i in order]
        self.down = [boundaries.below[i] for i in order]
        self.carried = [boundaries.carried[i] for i in order]
        self._boundaries, self._progress = boundaries, progress
        slopes = max((abs(v) for line in self.lines for v in line[:2]), default=0)
        offsets = max((abs(line[2]) for line in self.lines), default=0)
        fits = 2 * slopes * max(slopes, offsets) < NARROW
        self._shift = 2 * (2 * slopes * slopes).bit_length()
        self.compiled = fits if compiled is None else compiled and fits

    # ------------------------------------------------------------------ scores at the far left

    @cached_property
    def _far(self) -> list[int]:
        """The scores of the M + 1 cells that reach minus infinity, from below."""
        base = self._boundaries.base + sum(self.down)
        return list(accumulate((u - d for u, d in zip(self.up, self.down, strict=True)), initial=base))

    @cached_property
    def _begin(self) -> list[int]:
        """The score at the far left of each line, without the line's own share."""
        return [far - d for far, d in zip(self._far, self.down, strict=False)]

    @cached_property
    def _keys(self) -> list[int]:
        """A word for each carried line, 0 for the others; bit 62 is kept for the codes."""
        words = _words(len(self.lines), self._draw).tolist()
        return [word if held else 0 for word, held in zip(words, self.carried, strict=True)]

    _draw = 0

    # ------------------------------------------------------------------ counting

    def counts(self) -> Counter[int]:
        """Return how many cells have each score."""
        found = Counter(self._far)
        if self.compiled:
            from geomdp.learners.relabel import _kernels

            lines, up, down, begin = self._arrays()
            table = np.zeros(self._boundaries.labelled + 1, dtype=np.int64)
            for first, last in self._chunks():
                _kernels.histogram(lines, up, down, begin, first, last, table)
            found.update({s: int(count) for s, count in enumerate(table) if count})
        else:
            found.update(score for _, _, _, score, _ in self._walk())
        return found

    def cell(self, score: int, rank: int) -> Point:
        """Return a point inside the cell of a rank among those of a score."""
        return self._find(score, rank, None)

    # ------------------------------------------------------------------ carrier cells

    def carrier_counts(self, *, worst: bool = False) -> Counter[int]:
        """Return how many carrier cells have each best (or worst) score."""
        _, *scores = self._carriers
        counts = np.bincount(scores[worst])
        return Counter({score: count for score, count in enumerate(counts.tolist()) if count})

    def carrier_cell(self, score: int, rank: int, *, worst: bool = False) -> Point:
        """Return a point of that score in the carrier cell of a rank among those of a best (worst) score."""
        codes, *scores = self._carriers
        return self._find(score, 0, int(codes[np.flatnonzero(scores[worst] == score)[rank]]))

    @cached_property
    def _carriers(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return a code, the best and the worst score of every carrier cell.

        The code of a cell is the exclusive or of the words of the carried lines below it. The number of
        carrier cells is known exactly by another sweep, over the carried lines alone. Codes of one cell are
        equal, so there are at most as many codes as cells; if there are as many, no two cells share one.
        Otherwise fresh words are drawn.
        """
        n = self._boundaries.wanted.count(0)
        if n > MOST_CARRIED:  # decided from a public number
            raise CapacityError("X", f"at most {MOST_CARRIED} rows to relabel", n)
        expected = self._carrier_cells()
        while True:
            found = self._gather(expected)
            if found is not None:
                return found
            self._draw += 1
            for name in ("_keys", "_codes"):
                self.__dict__.pop(name, None)

    def _carrier_cells(self) -> int:
        rows = [line for line, held in zip(self.lines, self.carried, strict=True) if held]
        only = Boundaries.of(rows, [0] * len(rows), 2)
        return PlaneCells(only, compiled=self.compiled).counts().total()

    @cached_property
    def _codes(self) -> list[int]:
        """The codes of the cells that reach minus infinity, from below; never 0."""
        return list(accumulate(self._keys, lambda a, b: a ^ b, initial=1 << 62))

    def _gather(self, expected: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        if not self.compiled:
            best: dict[int, int] = {}
            worst: dict[int, int] = {}
            met = [*zip(self._codes, self._far, strict=True), *((c, s) for _, _, _, s, c in self._walk())]
            for code, score in met:
                best[code] = max(score, best.get(code, score))
                worst[code] = min(score, worst.get(code, score))
            if len(best) != expected:
                return None
            names = list(best)
            return _array(names), _array([best[c] for c in names]), _array([worst[c] for c in names])
        from geomdp.learners.relabel import _kernels

        lines, up, down, begin = self._arrays()
        keys, codes = _array(self._keys), _array(self._codes)
        table = np.zeros(1 << (expected + expected // 4 + 1).bit_length(), dtype=np.int64)
        high, low = np.zeros(len(table), dtype=np.int32), np.zeros(len(table), dtype=np.int32)
        seen = _kernels.note_all(table, high, low, codes, _array(self._far))
        for first, last in self._chunks():
            seen += _kernels.carriers(
                lines, up, down, begin, keys, codes, first, last, expected - seen, table, high, low
            )
        used = table != 0
        return (table[used], high[used], low[used]) if seen == expected else None

    # ------------------------------------------------------------------ reach of the scores

    def reach(self) -> tuple[Reach, Reach]:
        """Return, per score, the least left and greatest right end of the abscissas of its cells.

        What holds is that the least left end over all scores >= j is that of the cells of score >= j, and so
        for right ends; a single entry may belong to a cell whose own end is further out. For near its left
        end a cell touches a line that is not vertical, just below or just above it; the walk along this line
        meets the cell there, and each place that a walk meets belongs to a cell.

        At least one line must not be vertical.
        """
        left: Reach = {}
        right: Reach = {}
        if self.compiled:
            from geomdp.learners.relabel import _kernels

            lines, up, down, begin = self._arrays()
            size = self._boundaries.labelled + 1
            a, b = np.zeros((size, 2), dtype=np.int64), np.zeros((size, 2), dtype=np.int64)
            for first, last in self._chunks():
                _kernels.ends(lines, up, down, begin, first, last, a, b)
            return read_ends(a), read_ends(b)
        for i in range(len(self.lines)):
            if self.lines[i][1]:
                score = self._begin[i] + max(self.up[i], self.down[i])
                left[score] = None
                for group in self._crossings(i):
                    x = self._abscissa(i, group[0])
                    _widen(right, score, x, larger=True)
                    score += sum(self._change(i, k) for k in group)
                    _widen(left, score, x, larger=False)
                right[score] = None
        return left, right

    # ------------------------------------------------------------------ machinery

    def _arrays(self) -> tuple[NDArray[np.int64], ...]:
        lines = np.array(self.lines, dtype=np.int64).reshape(len(self.lines), 3)
        return lines, _array(self.up), _array(self.down), _array(self._begin)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        n = len(self.lines)
        step = max(1, _CHUNK // max(n, 1))
        for first in range(0, n, step):
            yield first, min(first + step, n)
            if self._progress is not None:
                self._progress(min(first + step, n) / n)

    def _change(self, i: int, k: int) -> int:
        """Return how the score changes when line i, followed to the right, crosses line k."""
        gain = self.up[k] - self.down[k]
        return -gain if k < i else gain

    def _crossings(self, i: int) -> list[list[int]]:
        """Return the groups of lines that meet line i in one place, by ascending place.

        Places are quotients with denominators of at most D; two of them that differ do so by 1/D^2 or more.
        So they are told apart, and ordered, by their multiples of 2^shift > D^2, rounded down.
        """
        a, b, c = self.lines[i]
        met: dict[int, list[int]] = {}
        for k, (e, f, g) in enumerate(self.lines):
            d = a * f - e * b
            if d:
                place = c * f - g * b if b else a * g - e * c
                met.setdefault((place << self._shift) // d, []).append(k)
        return [group for _, group in sorted(met.items())]

    def _walk(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield (line, crossing line, next crossing line or -1, score, code) of each cell with a vertex."""
        for i in range(len(self.lines)):
            score, code = self._begin[i] + self.up[i], self._codes[i] ^ self._keys[i]
            groups = self._crossings(i)
            for at, group in enumerate(groups):
                for k in group:
                    score += self._change(i, k)
                    code ^= self._keys[k]
                if min(group) < i:
                    yield i, group[0], groups[at + 1][0] if at + 1 < len(groups) else -1, score, code

    def _find(self, score: int, rank: int, code: int | None) -> Point:
        """Return a point in the rank-th cell of a score, and of a code where one is given."""
        for t, far in enumerate(self._far):
            if far == score and (code is None or self._codes[t] == code):
                if rank == 0:
                    return self._far_point(t)
                rank -= 1
        if self.compiled:
            from geomdp.learners.relabel import _kernels

            lines, up, down, begin = self._arrays()
            keys, codes = _array(self._keys), _array(self._codes)
            i, k, after = _kernels.locate(
                lines, up, down, begin, keys, codes, score, rank, code or 0, code is None
            )
        else:
            cells = (w[:3] for w in self._walk() if w[3] == score and code in {None, w[4]})
            i, k, after = next(w for t, w in enumerate(cells) if t == rank)
        return self._point_above(
            int(i), self._abscissa(i, k), self._abscissa(i, after) if after >= 0 else None
        )

    def _abscissa(self, i: int, k: int) -> Fraction:
        (a, b, c), (e, f, g) = self.lines[i], self.lines[k]
        return Fraction(c * f - g * b, a * f - e * b)

    def _point_above(self, i: int, x: Fraction, after: Fraction | None) -> Point:
        """Return a point above line i, right of its crossing at x and left of the next one."""
        middle = x + 1 if after is None else (x + after) / 2
        heights = self._heights(middle)
        own = heights[i]
        assert own is not None  # noqa: S101 - only vertical lines lack a height, and no cell is above one
        over = [h for h in heights if h is not None and h > own]
        return middle, (own + min(over)) / 2 if over else own + 1

    def _far_point(self, t: int) -> Point:
        """Return a point of the cell above the first t lines at minus infinity."""
        upright = [Fraction(line[2], line[0]) for line in self.lines if not line[1]]  # largest first
        if t < len(upright):
            x = (upright[t - 1] + upright[t]) / 2 if t else upright[0] + 1
            return x, min((h for h in self._heights(x) if h is not None), default=Fraction(1)) - 1
        rest = [line for line in self.lines if line[1]]
        # all crossings have larger abscissas: |c f - g b| <= 2 largest^2, and a denominator is at least 1
        largest = max((abs(v) for line in self.lines for v in line), default=1)
        x = Fraction(-2 * largest * largest - 1)
        heights = [Fraction(c - a * x, b) for a, b, c in rest]
        t -= len(upright)
        if not heights:
            return x, Fraction(0)
        if t == 0:
            return x, heights[0] - 1
        return x, (heights[t - 1] + heights[t]) / 2 if t < len(heights) else heights[-1] + 1

    def _heights(self, x: Fraction) -> list[Fraction | None]:
        """Return the ordinates of the lines at an abscissa; None for vertical lines."""
        return [(c - a * x) / b if b else None for a, b, c in self.lines]


def read_ends(table: NDArray[np.int64]) -> Reach:
    """Return the ends that a compiled walk has noted, (num, den) per score; den < 0 stands for infinity."""
    found = {s: table[s].tolist() for s in np.flatnonzero(table[:, 1]).tolist()}
    return {s: Fraction(num, den) if den > 0 else None for s, (num, den) in found.items()}


def _from_below(line: tuple[int, ...]) -> tuple[int, Fraction, Fraction]:
    """Return a key that sorts lines as they lie at minus infinity, lowest first: by falling slope."""
    a, b, c = line
    if b == 0:  # the steepest; of two, the one further right is the lower one
        return 0, Fraction(0), -Fraction(c, a)
    return 1, Fraction(a, b), Fraction(c, b)


def _words(count: int, draw: int) -> NDArray[np.int64]:
    """Return pseudo-random words of 62 bits: they name cells within one run, and never enter a result."""
    return np.random.default_rng(draw).integers(1, 1 << 62, count, dtype=np.int64)


def _widen(reach: Reach, score: int, x: Fraction, *, larger: bool) -> None:
    if score not in reach:
        reach[score] = x
        return
    old = reach[score]
    if old is not None and (x > old if larger else x < old):
        reach[score] = x


def _array(values: list[Any]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
