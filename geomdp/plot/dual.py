"""Weight space: each cell one labelling, each party's low-error region, and what separates the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products, signs
from geomdp.core.errors import ArgumentError, check_integer, describe
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import Dichotomies
from geomdp.geometry.cells import Ray, cells
from geomdp.geometry.charts import Chart, balanced, chart
from geomdp.plot import artists as art
from geomdp.plot.artists import COLOURS

if TYPE_CHECKING:
    from geomdp.geometry.convex import CommonPoint, Hyperplane

Progress = Callable[[float], None] | None

PARTIES = ("Alice", "Bob")
#: Pictures of at most this many cells have the mistakes written into them.
MOST_NUMBERS = 40


@dataclass(frozen=True)
class Tiles:
    """The cells of a dual arrangement that are in view, computed once for any number of pictures.

    Attributes:
        W: all labellings of the domain.
        chart: which direction lies where.
        polygons: shapely geometries, one for each labelling in view.
        numbers: the numbers of these labellings in W.
        thin: numbers of labellings that hold on a face only and have no cell of their own (they exist where
            the domain lies in no open halfspace); w = 0 is a direction to nowhere, and left out.
    """

    W: Dichotomies
    chart: Chart
    polygons: tuple[Any, ...]
    numbers: NDArray[np.int64]
    thin: NDArray[np.int64]

    def of(self, numbers: NDArray[np.int64]) -> list[Any]:
        """Return the polygons of those of the given labellings that are in view."""
        kept = np.flatnonzero(np.isin(self.numbers, numbers))
        return [self.polygons[i] for i in kept]


@dataclass(frozen=True)
class DualPicture:
    """The artists of a picture of weight space.

    Attributes:
        ax: the axes.
        tiles: the cells in view.
        cells: one path for each of them; its array holds what they are coloured by.
        regions: collections of filled cells, by name.
        hulls: per party, the border of the hull of its representatives, or None.
        separator: the separating plane, or a star at a common point, or None.
        certificate: the exact proof of it.
    """

    ax: Any
    tiles: Tiles
    cells: Any
    regions: Mapping[str, Any] = field(default_factory=dict)
    hulls: Mapping[str, Any] = field(default_factory=dict)
    separator: Any = None
    certificate: Hyperplane | CommonPoint | None = None


def tiles(
    W: Dichotomies,
    *,
    view: str = "auto",
    focus: Any = None,
    centre: Any = None,
    extent: float | None = None,
    limit: int | None = None,
    progress: Progress = None,
) -> Tiles:
    """Return the cells of the dual arrangement that are in view, one for each labelling.

    Args:
        W: all labellings of a domain with d = 2 or 3.
        view: "circle" (d = 2), "central" (planes are straight lines) or "sphere" (all directions, areas
            true); "auto" takes the central view if the focus fits into it.
        focus: (N, d) integer vectors to be shown; None for everything.
        centre: d numbers, the direction in the middle.
        extent: half the width of the picture: the tangent of the angle for "central", at most 2 for "sphere".
        limit: most cells in view; 100,000 by default.
        progress: told the fraction done.

    Raises:
        ArgumentError: when d is not 2 or 3, or on a view that does not suit d.
        CapacityError: when more cells are in view than the limit.

    Example:
        >>> from geomdp import Domain
        >>> from geomdp.geometry.arrangement import dichotomies
        >>> seen = tiles(dichotomies(Domain([[0, 1], [1, 1], [2, 1]])))
        >>> len(seen.polygons), sorted(seen.numbers.tolist())
        (6, [0, 1, 2, 3, 4, 5])
    """
    if not isinstance(W, Dichotomies):
        raise ArgumentError("W", "the Dichotomies of a domain", describe(W), "Use dichotomies(domain).")
    if W.domain.d not in (2, 3):
        raise ArgumentError("W", "of dimension d = 2 or 3", f"of d = {W.domain.d}")
    points = W.domain.points
    where = chart(balanced(points), view=view, focus=focus, centre=centre, extent=extent)
    cutting = None if progress is None else (lambda done: progress(0.2 * done))
    found = cells(points, where.window(), limit=limit, progress=cutting)
    pieces: dict[bytes, list[Any]] = {}
    patterns = _patterns(points, [cell.inside for cell in found])
    for i, (cell, pattern) in enumerate(zip(found, patterns, strict=True)):
        pieces.setdefault(pattern, []).append(where.polygon(cell.rays))
        if progress is not None and i % 256 == 0:
            progress(0.2 + 0.8 * i / len(found))
    number = {row.tobytes(): i for i, row in enumerate(W.packed)}
    numbers = np.array([number[pattern] for pattern in pieces], dtype=np.int64)
    polygons = tuple(_united(parts) for parts in pieces.values())
    if progress is not None:
        progress(1.0)
    return Tiles(W, where, polygons, numbers, _thin(W))


def arrangement(
    W: Dichotomies,
    S_A: Sample,
    S_B: Sample,
    *,
    k: int | tuple[int, int] | None = None,
    view: str = "auto",
    centre: Any = None,
    extent: float | None = None,
    limit: int | None = None,
    progress: Progress = None,
    ax: Any = None,
) -> DualPicture:
    """Draw weight space: cells by pooled mistakes, low-error regions, their hulls, and what separates these.

    A cell is one labelling of the domain. Alice's region are the cells of G_A = {w : f_A(w) <= k}, the dots
    their representatives, the outline the cone of the dots; so for Bob. On pointed domains the cones of G_A
    and G_B cannot meet if opt > (d + 1) k and both are there (paper, Lemma 4.4, for hulls): the separating
    plane is drawn. Where they do meet there is a star at a common point.

    Args:
        W: all labellings of a domain with d = 2 or 3, best asked for with ``generic=True``.
        S_A, S_B: the parties' samples on the domain.
        k: largest number of mistakes in a region, or a pair; by default the largest k with (d + 1) k < opt.
        view, centre, extent, limit, progress: as in :func:`tiles`; the regions are the focus.
        ax: matplotlib axes.

    Returns:
        The artists; regions "Alice", "Bob" and "both".

    Raises:
        ArgumentError: when d is not 2 or 3, or a sample is on another domain.
        CapacityError: when too many cells are in view.
        MissingExtraError: when matplotlib is not installed.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> from geomdp import Domain
        >>> from geomdp.geometry.arrangement import dichotomies
        >>> D = Domain([[0, 1], [1, 1], [2, 1]])
        >>> S, T = (Sample.from_cells(D, [0, 0, 2, 2], y) for y in ([-1, -1, 1, 1], [1, 1, -1, -1]))
        >>> drawn = arrangement(dichotomies(D), S, T, k=0)
        >>> len(drawn.tiles.polygons), drawn.certificate.functional != (0, 0)
        (6, True)
    """
    axes = art.axes_of(ax)
    f = {"Alice": W.mistakes(S_A), "Bob": W.mistakes(S_B)}
    total = f["Alice"] + f["Bob"]
    opt = int(total.min())
    k_A, k_B = bounds = _bounds(k, max(0, (opt - 1) // (W.domain.d + 1)))
    groups = {"Alice": np.flatnonzero(f["Alice"] <= k_A), "Bob": np.flatnonzero(f["Bob"] <= k_B)}
    chosen = {name: W.weights[group] for name, group in groups.items()}
    focus = np.vstack(list(chosen.values()))
    seen = tiles(W, view=view, focus=focus, centre=centre, extent=extent, limit=limit, progress=progress)
    floor = art.ground(axes, seen.polygons, total[seen.numbers], "mistakes")
    _draw_thin(axes, seen, total, floor)
    both = np.intersect1d(groups["Alice"], groups["Bob"])
    parts = {name: np.setdiff1d(group, both) for name, group in groups.items()} | {"both": both}
    border = art.edge(len(seen.polygons))
    regions = {
        name: art.fill(
            axes, seen.of(part), facecolors=COLOURS[name], alpha=0.55, edgecolors="white", lw=border, zorder=2
        )
        for name, part in parts.items()
    }
    hulls = {}
    for name, vectors in chosen.items():
        art.dots(axes, seen.chart, vectors, _darker(COLOURS[name]))
        hulls[name] = art.hull(axes, seen.chart, vectors, _darker(COLOURS[name]), f"{name}'s hull")
    separator, proof = art.separator(axes, seen.chart, chosen["Alice"], chosen["Bob"])
    art.frame(axes, seen.chart)
    if len(seen.polygons) <= MOST_NUMBERS:
        art.write(axes, seen.polygons, total[seen.numbers])
    elif seen.chart.view == "sphere":
        _name_constants(axes, seen)
    axes.set_title(f"opt = {opt:,}; regions of at most {_pair(bounds)} mistakes")
    _legend_of_regions(axes, bounds, parts, proof)
    return DualPicture(axes, seen, floor, regions, hulls, separator, proof)


def _name_constants(ax: Any, seen: Tiles) -> None:
    """Mark the cells of the two constant classifiers, for orientation."""
    ones = seen.W.packed[seen.numbers]
    full = np.packbits(np.ones(seen.W.domain.m, dtype=np.uint8))
    for text, row in (("all +", full), ("all \N{MINUS SIGN}", 0 * full)):
        for i in np.flatnonzero((ones == row).all(axis=1)):
            place = seen.polygons[i].representative_point()
            art.note(ax, (place.x, place.y), text, style="italic")


def _bounds(k: int | tuple[int, int] | None, default: int) -> tuple[int, int]:
    pair = (default, default) if k is None else k if isinstance(k, tuple) else (k, k)
    if len(pair) != 2:
        raise ArgumentError("k", "an integer or a pair of integers", f"a tuple of length {len(pair)}")
    return check_integer("k", pair[0], 0), check_integer("k", pair[1], 0)


def _pair(bounds: tuple[int, int]) -> str:
    a, b = bounds
    return f"{a:,}" if a == b else f"{a:,} (Alice) and {b:,} (Bob)"


def _patterns(points: NDArray[Any], vectors: Sequence[Ray]) -> list[bytes]:
    """Return each vector's labels of the points, packed as in :class:`Dichotomies`."""
    found: list[bytes] = []
    step = max(1, 2**22 // max(1, len(points)))
    for start in range(0, len(vectors), step):
        rows = np.array(vectors[start : start + step], dtype=object)
        small = max((abs(v) for v in rows.flat), default=0) < 2**62
        labels = signs(points, np.ascontiguousarray((rows.astype(np.int64) if small else rows).T))
        found += [row.tobytes() for row in np.packbits(labels.T > 0, axis=1)]
    return found


def _united(parts: Sequence[Any]) -> Any:
    import shapely

    return parts[0] if len(parts) == 1 else shapely.union_all(parts, grid_size=1e-9)


def _thin(W: Dichotomies) -> NDArray[np.int64]:
    if W.domain.pointed:
        return np.zeros(0, dtype=np.int64)
    rows = W.domain.points[np.asarray((W.domain.points != 0).any(axis=1), dtype=bool)]
    touching = (products(rows, np.ascontiguousarray(W.weights.T)) == 0).any(axis=0)
    return np.flatnonzero(touching & (W.weights != 0).any(axis=1)).astype(np.int64)


def _draw_thin(ax: Any, seen: Tiles, values: NDArray[np.int64], like: Any) -> None:
    if len(seen.thin):
        colours = like.cmap(like.norm(values[seen.thin]))
        style = {"marker": "D", "s": 26.0, "edgecolors": COLOURS["ink"], "linewidths": 0.7, "zorder": 4}
        art.dots(ax, seen.chart, seen.W.weights[seen.thin], colours, **style)


def _darker(colour: str) -> Any:
    from matplotlib.colors import to_rgb

    return tuple(0.72 * v for v in to_rgb(colour))


def _legend_of_regions(ax: Any, bounds: tuple[int, int], parts: Mapping[str, Any], proof: Any) -> None:
    from geomdp.geometry.convex import Hyperplane

    entries = [
        art.patch_entry(COLOURS[name], f"{name}: at most {bound:,}", alpha=0.55)
        for name, bound in zip(PARTIES, bounds, strict=True)
    ]
    if len(parts["both"]):
        entries.append(art.patch_entry(COLOURS["both"], "both", alpha=0.55))
    entries.append(art.line_entry(COLOURS["grey"], "hull of the dots", lw=1.8))
    if isinstance(proof, Hyperplane):
        entries.append(art.line_entry(COLOURS["ink"], "separating plane", lw=2, linestyle=(0, (5, 2.5))))
    elif proof is not None and not proof.pure:
        star = {"marker": "*", "markersize": 12, "markeredgecolor": COLOURS["ink"], "linestyle": ""}
        entries.append(art.line_entry("#FFD60A", "common point", **star))
    art.legend(ax, entries)
