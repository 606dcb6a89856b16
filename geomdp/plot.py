"""Pictures: the dual arrangement, low-error regions, containers, elimination, and the data plane.

Every function draws on ``ax=`` (matplotlib's current axes by default) and returns what it has drawn. Which
cell is where, what it gets wrong and which side of a line it is on is decided in integers before anything is
drawn. Pictures show private data as they are: they are for the holder's eyes, or for public data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp._charts import Chart, balanced, chart, disc, spread
from geomdp.core.classifier import Halfspace, signs
from geomdp.core.errors import ArgumentError, MissingExtraError, check_integer, describe
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import Dichotomies
from geomdp.geometry.cells import Ray, cells, clip, extreme_rays, walls

if TYPE_CHECKING:
    from geomdp.geometry.containers import Containers
    from geomdp.geometry.convex import CommonPoint, Hyperplane

#: Colours that stay apart for colour-blind eyes: the two parties, what both share, labels and faults.
COLOURS = {
    "Alice": "#0072B2",
    "Bob": "#E07B00",
    "both": "#7A3E9D",
    "+": "#1B8A5A",
    "-": "#B8467F",
    "wrong": "#C1121F",
    "ink": "#22262B",
    "paper": "#F4F2EC",
    "gone": "#E3E1DA",
}
PARTIES = ("Alice", "Bob")


@dataclass(frozen=True)
class DualPicture:
    """The artists of a picture of weight space.

    Attributes:
        ax: the axes.
        chart: which direction lies where.
        cells: one path per cell in view; its array holds what the cell is coloured by.
        polygons: the shapely geometry of each path.
        numbers: per path, the number of its dichotomy.
        regions, hulls: per party, the artist of its low-error cells and of the hull of their representatives.
        separator: the artist of the separating plane, or of a common point.
        certificate: the exact proof of it, which :func:`geomdp.geometry.convexity.separate` returned.
    """

    ax: Any
    chart: Chart
    cells: Any
    polygons: tuple[Any, ...]
    numbers: NDArray[np.int64]
    regions: Mapping[str, Any] = field(default_factory=dict)
    hulls: Mapping[str, Any] = field(default_factory=dict)
    separator: Any = None
    certificate: Hyperplane | CommonPoint | None = None


@dataclass(frozen=True)
class Tiles:
    """The cells of an arrangement that are in view, computed once for any number of pictures.

    Attributes:
        W: all labellings.
        chart: the view.
        polygons: shapely geometries, one per labelling in view.
        numbers: the numbers of these labellings in W.
        thin: the numbers of labellings that hold on a face only, without a cell of their own (they exist
            where the domain lies in no open halfspace).
    """

    W: Dichotomies
    chart: Chart
    polygons: tuple[Any, ...]
    numbers: NDArray[np.int64]
    thin: NDArray[np.int64]


def tiles(
    W: Dichotomies,
    *,
    view: str = "auto",
    focus: Any = None,
    centre: Any = None,
    extent: float | None = None,
    limit: int | None = None,
) -> Tiles:
    """Return the cells of the dual arrangement that are in view: one per labelling, with its place on paper.

    Args:
        W: all labellings of a domain with d = 2 or 3.
        view: "circle" (d = 2), "central" (planes are straight lines) or "sphere" (all directions, areas
            true); "auto" takes the central view if the focus fits into it.
        focus: (N, d) integer vectors to be shown; None for everything.
        centre: d numbers, the direction in the middle.
        extent: half the width of the picture: the tangent of the angle for "central", at most 2 for "sphere".
        limit: most cells in view.

    Raises:
        ArgumentError: when d is not 2 or 3.
        CapacityError: when more cells are in view than the limit.

    Example:
        >>> from geomdp import Domain
        >>> from geomdp.geometry.arrangement import dichotomies
        >>> seen = tiles(dichotomies(Domain([[0, 1], [1, 1], [2, 1]])))
        >>> len(seen.polygons), sorted(seen.numbers.tolist())
        (6, [0, 1, 2, 3, 4, 5])
    """
    _check("W", W, Dichotomies)
    _check_plane(W.domain.d)
    points = W.domain.points
    where = chart(balanced(points), view=view, focus=focus, centre=centre, extent=extent)
    found = cells(points, where.window(), limit=limit)
    pieces: dict[bytes, list[Any]] = {}
    for cell, pattern in zip(found, _patterns(points, [cell.inside for cell in found]), strict=True):
        pieces.setdefault(pattern, []).append(where.polygon(cell.rays))
    number = {row.tobytes(): i for i, row in enumerate(W.packed)}
    numbers = np.array([number[pattern] for pattern in pieces], dtype=np.int64)
    thin = np.zeros(0, dtype=np.int64)
    if not W.domain.pointed:
        thin = np.flatnonzero(_on_a_plane(points, W.weights)).astype(np.int64)
    return Tiles(W, where, tuple(_united(parts) for parts in pieces.values()), numbers, thin)


def low_error(f: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the numbers of the representatives with at most k mistakes.

    Example:
        >>> low_error(np.array([3, 0, 1]), 1).tolist()
        [1, 2]
    """
    return np.flatnonzero(f <= k).astype(np.int64)


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
    ax: Any = None,
) -> DualPicture:
    """Draw weight space: cells by pooled mistakes, both parties' low-error regions, hulls, and what separates.

    Each cell is one labelling of the domain. Alice's region is made of the cells of her G = {w : f_A(w) <= k},
    the dots are their representatives, the outline is the hull (of the cone) of the dots, and so for Bob. If
    opt > (d + 1) k the two hulls cannot meet (paper, Lemma 4.4, for hulls of cones): the separating plane is
    drawn, and a star at a common point where there is none.

    Args:
        W: all labellings of a domain with d = 2 or 3, best asked for with ``generic=True``.
        S_A, S_B: the parties' samples on the domain.
        k: largest number of mistakes in a region, or a pair; by default the largest k with (d + 1) k < opt.
        view, centre, extent, limit: as in :func:`tiles`; the regions are the focus.
        ax: matplotlib axes.

    Raises:
        ArgumentError: when d is not 2 or 3, or a sample is on another domain.
        CapacityError: when too many cells are in view.
        MissingExtraError: when matplotlib is not installed.

    Example:
        >>> import matplotlib; matplotlib.use("Agg")
        >>> from geomdp import Domain
        >>> from geomdp.geometry.arrangement import dichotomies
        >>> D = Domain([[0, 1], [1, 1], [2, 1]])
        >>> S, T = Sample.from_cells(D, [0, 1, 2], [-1, -1, 1]), Sample.from_cells(D, [0, 1, 2], [1, -1, -1])
        >>> drawn = arrangement(dichotomies(D), S, T, k=0)
        >>> len(drawn.polygons), drawn.certificate.verify(*[[list(w)] for w in ([0, 0],) * 0] or ([], []))
        (6, True)
    """
    axes = _axes(ax)
    f = {"Alice": W.mistakes(S_A), "Bob": W.mistakes(S_B)}
    total = f["Alice"] + f["Bob"]
    opt = int(total.min())
    bounds = _bounds(k, max(0, (opt - 1) // (W.domain.d + 1)))
    groups = {name: low_error(f[name], bound) for name, bound in zip(PARTIES, bounds, strict=True)}
    focus = W.weights[np.concatenate(list(groups.values()))]
    seen = tiles(W, view=view, focus=focus, centre=centre, extent=extent, limit=limit)
    ground = _draw_cells(axes, seen, total, cmap=_pale(), label="mistakes on both parties' records")
    regions, hulls = {}, {}
    for name in PARTIES:
        regions[name] = _draw_region(axes, seen, groups[name], COLOURS[name], _region_label(name, bounds))
    for name in PARTIES:
        hulls[name] = _draw_hull(axes, seen.chart, W.weights[groups[name]], COLOURS[name], name)
    separator, proof = _draw_separator(axes, seen.chart, *(W.weights[groups[name]] for name in PARTIES))
    _frame(axes, seen.chart, W)
    axes.set_title(f"opt = {opt} mistakes; regions: at most {_both(bounds)}")
    return DualPicture(
        axes, seen.chart, ground, seen.polygons, seen.numbers, regions, hulls, separator, proof
    )
