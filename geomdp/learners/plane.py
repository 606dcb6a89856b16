"""The exponential mechanism over all halfplanes of a fine dual grid, complete for a public point grid.

Halfplanes are written with a slope s of size at most 1, y >= s x + c, or with the axes exchanged, and their
complements. Slopes are multiples of 2^-q in [-1, 1], offsets all multiples of 2^-q that matter:

    |C| = 4 (2^(q+1) + 1) (4 X 2^q + 2)            for points in [-X, X]^2.

*Completeness.* If 2^q >= 4 X^2, every labelling of the grid by a halfplane is among them. A labelling with
both labels is realised on an open set of (s, c) in one of the two charts; its slopes form an open interval,
whose ends are +-1 or slopes of lines through two grid points, quotients with denominators up to 2X. Two
different ones are more than 1/(4 X^2) apart, so a multiple of 2^-q lies inside; at that slope all heights
y - s x are multiples of 2^-q, and the lowest height of the positive points serves as c.

*The count.* Dually, point i is the line of heights y_i - s x_i over s. Between neighbouring lines all offsets
give the same labels. The number of halfplanes of each score is a sum over lines: line i adds its height to
the score below it and takes it from the score above it. Along one line the score changes where other lines
cross, so that one sort per line gives all totals, as sums of arithmetic progressions, in integers: O(n^2
log n) time and O(n) memory beyond the table of levels. Ties are broken by index; gaps between equal heights
are empty, so no position is special.

Proof note (privacy). A public finite set, integer scores of sensitivity one (points are clipped to the
square, each by itself), weights exp(epsilon score / 2): epsilon-DP, as in :mod:`geomdp.learners.exponential`.
The draw is exact: the score with its exact number of halfplanes, then a uniform one of that score, found by
dividing ranges of slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError, check_epsilon, check_integer
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.groups import draw_from_groups
from geomdp.privacy.sampler import Sampler

_PARTS = 128
#: Most records that the estimators hand over: time grows with their square.
MOST_ROWS = 40_000


@dataclass(frozen=True)
class PlaneGrid:
    """All halfplanes with slopes and offsets that are multiples of 2^-bits.

    Attributes:
        radius: X; points lie in [-X, X]^2.
        bits: q.

    Raises:
        ArgumentError: unless ``radius`` is an integer with 1 <= radius <= 2^17 and ``bits`` is an integer
            with 0 <= bits <= 36.

    Example:
        >>> grid = PlaneGrid.complete(512)
        >>> grid.bits, grid.size.bit_length(), grid.is_complete
        (20, 55, True)
    """

    radius: int
    bits: int

    def __post_init__(self) -> None:
        check_integer("radius", self.radius, 1, 2**17)
        check_integer("bits", self.bits, 0, 36)

    @classmethod
    def complete(cls, radius: int) -> PlaneGrid:
        """Return the coarsest grid that holds every labelling of [-radius, radius]^2 by a halfplane.

        Raises:
            ArgumentError: unless ``radius`` is an integer with 1 <= radius <= 2^17.
        """
        return cls(radius, (4 * check_integer("radius", radius, 1, 2**17) ** 2 - 1).bit_length())

    @property
    def is_complete(self) -> bool:
        """Whether every labelling of the square's integer points by a halfplane is a member's."""
        return 1 << self.bits >= 4 * self.radius**2

    @property
    def size(self) -> int:
        """The number of members, equal labellings counted as often as they occur."""
        return 4 * ((2 << self.bits) + 1) * ((4 * self.radius << self.bits) + 2)

    def member(self, swapped: bool, flipped: bool, slope: int, offset: int) -> Halfspace:
        """Return a member as homogeneous integer weights.

        Example:
            >>> PlaneGrid(4, 1).member(False, False, 1, 3)  # y >= x/2 + 3/2
            Halfspace(weights=(-1, 2, -3))
        """
        weights = [-slope, 1 << self.bits]
        if swapped:
            weights.reverse()
        if flipped:
            return Halfspace((-weights[0], -weights[1], offset - 1))
        return Halfspace((weights[0], weights[1], -offset))

    def excess(self, epsilon: Fraction, beta: Fraction) -> int:
        """Return E: with probability >= 1 - beta the member drawn has more than max - E correct records.

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.
        """
        return exponential_excess(self.size, check_epsilon(epsilon), beta)


def exponential_plane(
    points: NDArray[np.int64],
    labels: NDArray[np.int64],
    grid: PlaneGrid,
    epsilon: Fraction,
    sampler: Sampler,
    *,
    progress: Callable[[float], None] | None = None,
) -> Halfspace:
    """Draw a halfplane of the grid by the exponential mechanism: epsilon-DP for every input.

    Args:
        points: (n, 2) integers; those outside the square are clipped to it.
        labels: (n,) +1 and -1.
        grid: the public set.
        epsilon: the privacy loss.
        sampler: the source of randomness; the secure one for a release.
        progress: called with the fraction done.

    Raises:
        ArgumentError: unless ``points`` is an (n, 2) array and 10^-6 <= epsilon <= 100.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X = np.array([[i % 17, i % 19] for i in range(-300, 300)])
        >>> y = np.where(X[:, 0] >= X[:, 1], 1, -1)
        >>> h = exponential_plane(X, y, PlaneGrid.complete(20), Fraction(4), SimSampler(0))
        >>> int((h.predict(np.column_stack([X, np.ones(600, int)])) != y).sum()) <= 12
        True
    """
    if points.ndim != 2 or points.shape[1] != 2:
        raise ArgumentError("points", "an (n, 2) array", f"of shape {points.shape}")
    inside = np.clip(points, -grid.radius, grid.radius).astype(np.int64)
    labels = np.asarray(labels, dtype=np.int64)
    n, reach = len(inside), 1 << grid.bits
    charts = [
        _Chart(inside[:, 0], inside[:, 1], labels, grid),
        _Chart(inside[:, 1], inside[:, 0], labels, grid),
    ]
    groups: list[tuple[tuple[int, bool, int], int, int]] = []
    for number, chart in enumerate(charts):
        report = None if progress is None else _scaled(progress, number / 2, 0.5)
        for level, total in enumerate(chart.totals(-reach, reach + 1, report)):
            groups.append(((number, False, level), total, level))
            groups.append(((number, True, level), total, n - level))
    (number, flipped, level), place = draw_from_groups(groups, check_epsilon(epsilon), sampler)
    slope, offset = charts[number].find(level, place, -reach, reach + 1)
    return grid.member(bool(number), flipped, slope, offset)


class _Chart:
    """Lines of heights y 2^q - j x over slope numbers j."""

    def __init__(
        self, x: NDArray[np.int64], y: NDArray[np.int64], labels: NDArray[np.int64], grid: PlaneGrid
    ) -> None:
        self.x, self.y, self.labels = (np.ascontiguousarray(a) for a in (x, y, labels))
        self.bits, self.top = grid.bits, (2 * grid.radius << grid.bits) + 1  # offsets -top + 1, ..., top
        self.positive = int((labels > 0).sum())

    def totals(self, low: int, high: int, progress: Callable[[float], None] | None = None) -> list[int]:
        """Return the number of (slope, offset) pairs of each score, slopes in [low, high)."""
        counts = [_value(row) for row in self._sums(_edges(low, high), -1, progress).tolist()]
        counts[self.positive] += self.top * (high - low)  # below all lines, from offset -top + 1
        counts[len(self.x) - self.positive] += self.top * (high - low)  # above all lines, up to top
        return counts

    def find(self, level: int, place: int, low: int, high: int) -> tuple[int, int]:
        """Return the (slope, offset) pair of a score that has `place` others before it in [low, high)."""
        outside = self.top * ((level == self.positive) + (level == len(self.x) - self.positive))
        first, last = low, high
        while last - first > 1:
            edges = _edges(first, last)
            rows = self._sums(edges, level, None).tolist()
            for row, first, last in zip(rows, edges, edges[1:], strict=False):
                count = _value(row) + outside * (last - first)
                if place < count:
                    break
                place -= count
        return first, self._offset(level, place, first)

    def _sums(
        self, edges: list[int], wanted: int, progress: Callable[[float], None] | None
    ) -> NDArray[np.int64]:
        from geomdp.learners import _plane_kernels as kernels

        n, ends = len(self.x), np.array(edges, dtype=np.int64)
        out = np.zeros((n + 1 if wanted < 0 else len(edges) - 1, kernels.LIMBS), dtype=np.int64)
        step = n if progress is None else max(1, n // 20)
        for start in range(0, n, max(1, step)):
            lines = np.array([start, min(n, start + step)], dtype=np.int64)
            kernels.levels(self.x, self.y, self.labels, self.bits, ends, lines, wanted, out)
            if progress is not None:
                progress(min(n, start + step) / n)
        return out

    def _offset(self, level: int, place: int, slope: int) -> int:
        heights = (self.y << self.bits) - slope * self.x
        order = np.argsort(heights, kind="stable")
        scores = self.positive - np.concatenate([[0], np.cumsum(self.labels[order])])
        ends = [-self.top, *heights[order].tolist(), self.top]
        for score, before, end in zip(scores.tolist(), ends, ends[1:], strict=False):
            if score == level:
                if place < end - before:
                    return int(before + 1 + place)
                place -= end - before
        raise AssertionError("the counts of one slope do not add up")


def _edges(low: int, high: int) -> list[int]:
    """Return the edges of up to 128 ranges; 128 of them keep the kernel's products below 2^62."""
    count = min(_PARTS, high - low)
    return [low + (high - low) * part // count for part in range(count + 1)]


def _scaled(progress: Callable[[float], None], start: float, width: float) -> Callable[[float], None]:
    return lambda done: progress(start + width * done)


def _value(limbs: list[int]) -> int:
    """Return the number that the kernel's limbs stand for."""
    a, b, c, d = (limbs[2 * i] * 2**32 + limbs[2 * i + 1] for i in range(4))
    return (a << 30) + b + (c << 30) + d
