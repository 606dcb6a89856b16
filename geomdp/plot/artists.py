"""What the pictures are made of: shapely geometries as matplotlib artists, in one set of colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import MissingExtraError
from geomdp.geometry.cells import extreme_rays
from geomdp.geometry.charts import Chart, disc
from geomdp.geometry.convex import CommonPoint, Hyperplane
from geomdp.geometry.convexity import separate

#: Colours that stay apart for colour-blind eyes: parties, what both share, labels, faults, ink and paper.
COLOURS = {
    "Alice": "#0072B2",
    "Bob": "#E07B00",
    "both": "#7A3E9D",
    "+": "#2A8C68",
    "-": "#B4558C",
    "wrong": "#C1121F",
    "ink": "#22262B",
    "grey": "#6B7078",
    "gone": "#ECEAE4",
    "paper": "#FFFFFF",
}
_EDGE = 0.35


def axes_of(ax: Any) -> Any:
    """Return the axes to draw on.

    Raises:
        MissingExtraError: when matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return pyplot.gca() if ax is None else ax


def shades(name: str, count: int = 20) -> Any:
    """Return a colour map: "mistakes" and "alive" from few to many, or "members", a colour for each."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    if name == "mistakes":
        return LinearSegmentedColormap.from_list("mistakes", ["#F7F5EE", "#C9CBCB", "#7F868F"])
    if name == "alive":
        return LinearSegmentedColormap.from_list("alive", ["#0B5345", "#3BA17C", "#CFE8B5"])
    return ListedColormap([colormaps["tab20"]((7 * i) % 20) for i in range(count)])


def path_of(geometry: Any) -> Any:
    """Return one compound path of a shapely geometry's polygons; holes stay open."""
    import shapely
    from matplotlib.path import Path

    parts = [g for g in shapely.get_parts(geometry) if g.geom_type == "Polygon" and not g.is_empty]
    rings = [ring for g in shapely.orient_polygons(np.array(parts, dtype=object)) for ring in rings_of(g)]
    if not rings:
        return Path(np.zeros((0, 2)))
    return Path.make_compound_path(*(Path(np.asarray(ring.coords), closed=True) for ring in rings))


def rings_of(polygon: Any) -> list[Any]:
    """Return a polygon's outer ring and its holes."""
    return [polygon.exterior, *polygon.interiors]


def fill(ax: Any, geometries: Sequence[Any], **style: Any) -> Any:
    """Draw geometries as one collection, one path each, and return it."""
    from matplotlib.collections import PathCollection

    collection = PathCollection([path_of(g) for g in geometries], **style)
    ax.add_collection(collection, autolim=False)
    return collection


def edge(count: int) -> float:
    """Return a width for the borders of this many cells, in points."""
    return float(_EDGE * min(1.0, max(0.2, (1500 / max(1, count)) ** 0.5)))


def ground(ax: Any, geometries: Sequence[Any], values: NDArray[Any], shade: str, **style: Any) -> Any:
    """Draw all cells, coloured by integer values."""
    array = np.asarray(values, dtype=np.float64)
    options = {"edgecolors": "white", "linewidths": edge(len(geometries)), "zorder": 1, **style}
    collection = fill(ax, geometries, array=array, cmap=shades(shade), **options)
    collection.set_clim(0 if shade == "mistakes" else None, max(1, int(np.max(values, initial=1))))
    return collection


def line(ax: Any, geometry: Any, **style: Any) -> Any:
    """Draw a shapely line, polygon border or point; None for an empty one."""
    import shapely

    if geometry.is_empty:
        return None
    if geometry.geom_type == "Point":
        return ax.scatter([geometry.x], [geometry.y], s=70, facecolors="none", edgecolors=style["color"])
    if geometry.geom_type != "LineString":
        geometry = shapely.boundary(geometry)
    from matplotlib.collections import LineCollection

    colour = style.pop("color")
    parts = [np.asarray(part.coords) for part in shapely.get_parts(geometry)]
    collection = LineCollection(parts, colors=colour, **style)
    ax.add_collection(collection, autolim=False)
    return collection


def hull(ax: Any, chart: Chart, vectors: NDArray[Any], colour: str, label: str) -> Any:
    """Draw the border of the cone of some vectors; None if it is empty, out of view or holds a line."""
    rays = extreme_rays(vectors) if len(vectors) else []
    if not rays:
        return None
    shape = chart.polygon(rays)
    style = {"linewidths": 1.8, "zorder": 6, "label": label, "joinstyle": "round"}
    return line(ax, shape, color=colour, **style)


def dots(ax: Any, chart: Chart, vectors: NDArray[Any], colour: str, **style: Any) -> Any:
    """Mark the directions of vectors; those out of view are left out."""
    places = chart.project(vectors) if len(vectors) else np.zeros((0, 2))
    size = 30.0 * min(1.0, max(0.045, 75 / max(1, len(vectors))))
    options = {"s": size, "linewidths": 0.0, "zorder": 7, **style}
    return ax.scatter(places[:, 0], places[:, 1], color=colour, **options)


def separator(
    ax: Any, chart: Chart, A: NDArray[Any], B: NDArray[Any]
) -> tuple[Any, Hyperplane | CommonPoint | None]:
    """Draw the plane between the cones of A and B, or a star at a common point; return the proof, too."""
    if not (len(A) and len(B)):
        return None, None
    proof = separate(A, B, kind="cone")
    if isinstance(proof, Hyperplane):
        style = {"color": COLOURS["ink"], "linewidths": 2.0, "linestyles": (0, (5, 2.5))}
        return line(ax, chart.trace(proof.functional), zorder=8, label="separating plane", **style), proof
    if proof.pure:
        return None, proof
    star = {"marker": "*", "s": 190.0, "zorder": 9, "linewidths": 0.9, "edgecolors": COLOURS["ink"]}
    point = np.array([proof.point], dtype=object)
    return dots(ax, chart, point, "#FFD60A", label="common point", **star), proof


def frame(ax: Any, chart: Chart) -> None:
    """Set limits and border of a picture of directions; no ticks, since only directions matter."""
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    reach = {"circle": 1.2, "central": 1.0, "sphere": 1.03}[chart.view] * chart.extent
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    if chart.view == "central":
        return
    for spine in ax.spines.values():
        spine.set_visible(False)
    rim = disc(1.0 if chart.view == "circle" else 2.0)
    line(ax, rim, color=COLOURS["grey"], linewidths=0.8, zorder=5)


def patch_entry(colour: Any, label: str, **style: Any) -> Any:
    """Return a legend entry for an area."""
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, label=label, **style)


def line_entry(colour: Any, label: str, **style: Any) -> Any:
    """Return a legend entry for a line or a mark."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, label=label, **style)


def legend(ax: Any, entries: Sequence[Any]) -> None:
    """Put a legend below the axes, in one or two rows."""
    columns = len(entries) if len(entries) < 4 else (len(entries) + 1) // 2
    ax.legend(
        handles=list(entries),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02 if not ax.get_xlabel() else -0.13),
        ncols=columns,
        fontsize="small",
        frameon=False,
        handlelength=1.6,
        columnspacing=1.4,
    )


def write(ax: Any, geometries: Sequence[Any], values: NDArray[Any]) -> None:
    """Write a number into each geometry."""
    for geometry, value in zip(geometries, values, strict=True):
        place = geometry.centroid if geometry.contains(geometry.centroid) else geometry.point_on_surface()
        note(ax, (place.x, place.y), f"{int(value)}")


def note(ax: Any, place: Sequence[float], text: str, **style: Any) -> Any:
    """Write a short text at a place."""
    options = {"ha": "center", "va": "center", "fontsize": 8, "zorder": 9, "color": COLOURS["ink"], **style}
    return ax.text(place[0], place[1], text, **options)
