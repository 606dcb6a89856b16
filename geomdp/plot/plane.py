"""The data plane: how many records of which label lie where, the best line, and what it gets wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain, Feature
from geomdp.core.errors import ArgumentError, describe
from geomdp.core.sample import Sample
from geomdp.geometry.cells import Ray, clip
from geomdp.plot import artists as art
from geomdp.plot.artists import COLOURS

#: Grids with at most this many levels on each axis have their counts written into the cells.
MOST_NUMBERS = 12


@dataclass(frozen=True)
class DataPicture:
    """The artists of a picture of one sample.

    Attributes:
        ax: the axes.
        cells: per label "+" and "-", one path per occupied cell; the array holds its number of records.
        numbers: per label, the cells' numbers in the domain, in the order of the paths.
        wrong: one path per cell and label that the classifier gets wrong, or None without a classifier.
        mistakes: the number of records that it gets wrong, or None.
        boundary: the classifier's line, or None where it does not cross the picture.
    """

    ax: Any
    cells: dict[str, Any]
    numbers: dict[str, NDArray[Any]]
    wrong: Any
    mistakes: int | None
    boundary: Any


def data_plane(
    sample: Sample,
    classifier: Halfspace | Threshold | None = None,
    *,
    numbers: bool | None = None,
    labels: tuple[str, str] = ("+", "-"),
    ax: Any = None,
) -> DataPicture:
    """Draw a sample cell by cell, coloured by label and count, with a classifier's line and its mistakes.

    A cell with both labels is divided in proportion. The darker the colour, the more records. Records that
    the classifier gets wrong are framed. With two features the axes are the features, ticked in their own
    units; with one, cells stand beside each other and bars show the counts, + above and - below.

    Args:
        sample: records on a grid of one or two features, a line, or points whose last coordinate is positive
            (the plane shows them divided by it).
        classifier: a halfspace or threshold on the same domain, or None.
        numbers: write counts into the cells; by default on grids of at most 12 levels.
        labels: what + and - mean, for the legend.
        ax: matplotlib axes.

    Raises:
        ArgumentError: when the domain has no such plane, or the classifier is not one of it.
        MissingExtraError: when matplotlib is not installed.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> D = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
        >>> S = Sample.from_cells(D, [0, 0, 8], [1, -1, 1])
        >>> data_plane(S, Halfspace((0, 0, 1))).mistakes
        1
    """
    if not isinstance(sample, Sample):
        raise ArgumentError("sample", "a Sample", describe(sample))
    if sample.domain.d not in (2, 3):
        raise ArgumentError("sample", "one on a domain of d = 2 or 3", f"one of d = {sample.domain.d}")
    axes = art.axes_of(ax)
    plane = _Plane(axes, sample, labels)
    plane.tiles()
    if classifier is not None:
        plane.classify(classifier)
    few = sample.domain.features and max(f.levels for f in sample.domain.features) <= MOST_NUMBERS
    if numbers or (numbers is None and few):
        plane.write()
    plane.finish()
    return plane.picture()


class _Plane:
    """One picture in the making."""

    def __init__(self, ax: Any, sample: Sample, labels: tuple[str, str]) -> None:
        self.ax, self.sample, self.labels = ax, sample, labels
        self.flat = sample.domain.d == 2
        self.places = _places(sample.domain, sample.points)
        self.counts = {"+": sample.positives, "-": sample.negatives}
        self.cells: dict[str, Any] = {}
        self.rows = {label: np.flatnonzero(counts) for label, counts in self.counts.items()}
        self.wrong: Any = None
        self.mistakes: int | None = None
        self.boundary: Any = None
        self.box = _bar if self.flat else _tile
        self.side = _side(sample.domain, self.places)
        boxes = [shape for label, rows in self.rows.items() for shape in self.shapes(label, rows)]
        self.window = _window(sample.domain, boxes, self.side)

    def shapes(self, label: str, rows: NDArray[np.int64]) -> list[Any]:
        """Return the rectangles of a label in some occupied cells."""
        plus, minus = self.sample.positives, self.sample.negatives
        return [self.box(self.places[i], self.side, int(plus[i]), int(minus[i]), label) for i in rows]

    def tiles(self) -> None:
        """Draw the cells."""
        from matplotlib.colors import LinearSegmentedColormap, PowerNorm

        top = max(1, *(int(counts.max(initial=0)) for counts in self.counts.values()))
        for label, rows in self.rows.items():
            ends: Any = [_tint(label, 0.72), COLOURS[label]]
            shade = LinearSegmentedColormap.from_list(label, ends)
            self.cells[label] = art.fill(
                self.ax,
                self.shapes(label, rows),
                array=self.counts[label][rows].astype(np.float64),
                cmap=shade,
                norm=PowerNorm(0.5, 0, top),
                edgecolors="white",
                linewidths=0.4,
                zorder=3,
            )

    def classify(self, classifier: Halfspace | Threshold) -> None:
        """Draw the classifier's line and its two sides, and frame what it gets wrong."""
        sample = self.sample
        if isinstance(classifier, Threshold):
            self.mistakes = classifier.mistakes(sample)
            positive = np.asarray(sample.cells >= classifier.theta, dtype=bool)
            weights: tuple[int, ...] = (2, 1 - 2 * classifier.theta)
        elif isinstance(classifier, Halfspace):
            self.mistakes = classifier.mistakes(sample)
            positive = classifier.predict(sample.points) > 0
            weights = classifier.weights
        else:
            raise ArgumentError("classifier", "a Halfspace, a Threshold or None", describe(classifier))
        faults = {
            "+": self.rows["+"][~positive[self.rows["+"]]],
            "-": self.rows["-"][positive[self.rows["-"]]],
        }
        shapes = [shape for label, rows in faults.items() for shape in self.shapes(label, rows)]
        self.wrong = art.fill(
            self.ax, shapes, facecolors="none", edgecolors=COLOURS["wrong"], linewidths=1.6, zorder=6
        )
        self._sides(weights)

    def _sides(self, weights: tuple[int, ...]) -> None:
        import shapely

        for side, label in ((1, "+"), (-1, "-")):
            rays = clip(self.window, tuple(side * w for w in self._lifted(weights)))
            shape = shapely.Polygon(_flat(rays)) if len(rays) > 2 else shapely.Polygon()
            art.fill(self.ax, [shape], facecolors=_tint(label, 0.88), edgecolors="none", zorder=0)
            ends = [
                ray for ray in rays if not sum(a * b for a, b in zip(ray, self._lifted(weights), strict=True))
            ]
            if side > 0 and len(ends) == 2:
                line = shapely.LineString(_flat(ends))
                self.boundary = art.line(self.ax, line, color=COLOURS["ink"], linewidths=2.0, zorder=7)

    def _lifted(self, weights: tuple[int, ...]) -> tuple[int, ...]:
        return (weights[0], 0, weights[1]) if self.flat else weights

    def write(self) -> None:
        """Write the counts into the cells."""
        for label, rows in self.rows.items():
            norm = self.cells[label].norm
            for i, shape in zip(rows, self.shapes(label, rows), strict=True):
                count = int(self.counts[label][i])
                ink = "white" if norm(count) > 0.55 else COLOURS["ink"]
                place = (shape.centroid.x, shape.centroid.y)
                self.ax.text(*place, f"{count}", ha="center", va="center", color=ink, fontsize=7.5, zorder=8)

    def finish(self) -> None:
        """Set limits, ticks in the features' own units, and the legend."""
        corners = _flat(self.window)
        self.ax.set_xlim(corners[:, 0].min(), corners[:, 0].max())
        self.ax.set_ylim(corners[:, 1].min(), corners[:, 1].max())
        features = self.sample.domain.features or ()
        for axis, feature in zip((self.ax.xaxis, self.ax.yaxis), features, strict=False):
            _ticks(axis, feature)
        if self.flat:
            self.ax.axhline(0, color=COLOURS["grey"], linewidth=0.8, zorder=4)
            self.ax.set_ylabel("records")
            self.ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        else:
            self.ax.set_aspect("equal")
        totals = {label: int(counts.sum()) for label, counts in self.counts.items()}
        entries = [
            art.patch_entry(COLOURS[label], f"{name}: {totals[label]:,}")
            for label, name in zip("+-", self.labels, strict=True)
        ]
        if self.mistakes is not None:
            frame = {"edgecolor": COLOURS["wrong"], "linewidth": 1.6}
            entries.append(art.patch_entry("none", f"wrong: {self.mistakes:,}", **frame))
        art.legend(self.ax, entries)

    def picture(self) -> DataPicture:
        """Return the artists."""
        numbers = {label: self.sample.cells[rows] for label, rows in self.rows.items()}
        return DataPicture(self.ax, self.cells, numbers, self.wrong, self.mistakes, self.boundary)


def _places(domain: Domain, points: NDArray[Any]) -> NDArray[np.float64]:
    """Return the (k, 2) places of occupied cells; the second coordinate is 0 with one feature."""
    if (points[:, -1] <= 0).any():
        raise ArgumentError("sample", "one of points whose last coordinate is positive", "another one")
    exact = points.astype(object)
    flat = [[float(v) / float(row[-1]) for v in row[:-1]] for row in exact.tolist()]
    places = np.array(flat, dtype=np.float64).reshape(len(points), domain.d - 1)
    return places if domain.d == 3 else np.column_stack([places, np.zeros(len(places))])


def _side(domain: Domain, places: NDArray[np.float64]) -> float:
    """Return the width of a cell."""
    if domain.features is not None or len(places) < 2:
        return 1.0
    spans = np.ptp(places, axis=0)
    gaps = [np.diff(np.unique(column)) for column in places.T]
    least = min((float(gap.min()) for gap in gaps if len(gap)), default=1.0)
    return max(0.9 * least, 0.012 * float(spans.max())) or 1.0


def _window(domain: Domain, boxes: list[Any], side: float) -> list[Ray]:
    """Return the rectangle in view as integer rays (x, y, 1), up to positive factors."""
    import shapely

    if domain.features is not None and domain.d == 3:
        a, b = (2 * f.levels - 1 for f in domain.features)
        return [(-1, -1, 2), (a, -1, 2), (a, b, 2), (-1, b, 2)]
    left, low, right, high = shapely.total_bounds(np.array(boxes, dtype=object)) if boxes else (0, 0, 1, 1)
    x, y = max(side / 2, 0.05 * (right - left)), max(side / 2, 0.05 * (high - low))
    if domain.d == 2 and domain.features is not None:
        left, right, x = 0, domain.m - 1, 0.5
    left, right, low, high = left - x, right + x, low - y, high + y
    return [_exact(*corner) for corner in ((left, low), (right, low), (right, high), (left, high))]


def _exact(x: float, y: float) -> Ray:
    """Return (x, y, 1) times the least common denominator of the floats."""
    (a, p), (b, q) = float(x).as_integer_ratio(), float(y).as_integer_ratio()
    return (a * q, b * p, p * q)


def _flat(rays: list[Ray]) -> NDArray[np.float64]:
    return np.array([[x / z, y / z] for x, y, z in rays], dtype=np.float64).reshape(-1, 2)


def _tile(place: NDArray[np.float64], side: float, plus: int, minus: int, label: str) -> Any:
    """Return a label's share of a square cell: + to the left, - to the right."""
    import shapely

    x, y = place - side / 2
    part = side * plus / (plus + minus)
    left, right = (x, x + part) if label == "+" else (x + part, x + side)
    return shapely.box(left, y, right, y + side)


def _bar(place: NDArray[np.float64], side: float, plus: int, minus: int, label: str) -> Any:
    """Return a label's bar in a picture of one feature."""
    import shapely

    x, width = place[0], 0.4 * side
    return (
        shapely.box(x - width, 0, x + width, plus)
        if label == "+"
        else shapely.box(x - width, -minus, x + width, 0)
    )


def _ticks(axis: Any, feature: Feature) -> None:
    """Tick an axis of levels at round values of the feature."""
    from matplotlib.ticker import MaxNLocator

    half = (feature.upper - feature.lower) / (feature.levels - 1) / 2
    inner = MaxNLocator(8).tick_values(feature.lower, feature.upper)
    values = [v for v in inner if feature.lower - half <= v <= feature.upper + half]
    axis.set_ticks([(v - feature.lower) / (2 * half) for v in values], [f"{v:.6g}" for v in values])
    axis.set_label_text(feature.name.replace("_", " "))


def _tint(label: str, white: float) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    r, g, b = (white + (1 - white) * v for v in to_rgb(COLOURS[label]))
    return r, g, b
