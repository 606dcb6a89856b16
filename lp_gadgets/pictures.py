"""Pictures of a symbol: the polytope of the field elements, and what a pin leaves of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.plot.artists import COLOURS, axes_of
from lp_gadgets.embedding import Embedding


@dataclass(frozen=True)
class SymbolPicture:
    """What was drawn.

    Attributes:
        axes: the matplotlib axes.
        polytope: shapely geometry of P_q: a polygon, or a segment for q = 2 on the parabola.
        pinned: shapely geometry of the part of P_q that satisfies the pin: one point; None without a pin.
        artists: the matplotlib artists by what they show.
    """

    axes: Any
    polytope: Any
    pinned: Any
    artists: dict[str, Any]


def draw_symbol(embedding: Embedding, pin: int | None = None, ax: Any = None) -> SymbolPicture:
    """Draw P_q with its elements, and the pin for one of them.

    Args:
        embedding: the parabola, or the cube with q = 4 (a square).
        pin: the label whose pin is drawn, if any.
        ax: matplotlib axes; by default the current ones.

    Raises:
        ArgumentError: when a symbol has other than two coordinates, or the pin is no label.
        MissingExtraError: when matplotlib is not installed.

    Example:
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> picture = draw_symbol(Embedding(8), pin=5)
        >>> picture.polytope.area, picture.pinned.wkt
        (56.0, 'POINT (5 25)')
    """
    import shapely

    if embedding.dimension != 2:
        raise ArgumentError(
            "embedding",
            "one with two coordinates to a symbol",
            f"the {embedding.kind} with {embedding.dimension}",
            "Draw Embedding(q), or Embedding(4, 'cube').",
        )
    if pin is not None:
        check_integer("pin", pin, 0, embedding.q - 1)
    ax = axes_of(ax)
    points = embedding.points
    polytope = shapely.MultiPoint(points).convex_hull
    artists: dict[str, Any] = {}
    if polytope.geom_type == "Polygon":
        outline = np.asarray(polytope.exterior.coords)
        (artists["polytope"],) = ax.fill(
            *outline.T, fc=COLOURS["gone"], ec=COLOURS["grey"], zorder=1, label="$P_q$, public"
        )
    else:
        (artists["polytope"],) = ax.plot(
            *points.T,
            color=COLOURS["grey"],
            alpha=0.4,
            lw=6,
            solid_capstyle="round",
            zorder=1,
            label="$P_q$, public",
        )
    if embedding.kind == "parabola":
        x = np.linspace(0, embedding.q - 1, 200)
        (artists["curve"],) = ax.plot(x, x * x, color=COLOURS["grey"], lw=0.8, ls=":", zorder=2)
    artists["elements"] = ax.scatter(
        *points.T, s=28, color=COLOURS["ink"], zorder=4, label="field elements $e(j)$"
    )
    _label_elements(ax, embedding)
    pinned = None if pin is None else _draw_pin(ax, embedding, pin, polytope, artists)
    ax.set_xlabel("$z_1$")
    ax.set_ylabel("$z_2$")
    ax.set_title(f"$F_{{{embedding.q}}}$ on the {embedding.kind}" if pin is None else f"The pin for {pin}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3, frameon=False)
    return SymbolPicture(ax, polytope, pinned, artists)


def _label_elements(ax: Any, embedding: Embedding) -> None:
    for j, (x, y) in enumerate(embedding.points.tolist()):
        ax.annotate(str(j), (x, y), xytext=(6, -11), textcoords="offset points", color=COLOURS["ink"])


def _draw_pin(ax: Any, embedding: Embedding, pin: int, polytope: Any, artists: dict[str, Any]) -> Any:
    """Draw the line where the deficit is 0, and the half-plane beyond; return what is left of P_q, exactly.

    The deficit is >= 0 on P_q and vanishes at the one element, so the pinned part is that element.
    """
    import shapely

    a, b, c = embedding.deficits[pin].tolist()
    low, high = embedding.points.min(axis=0), embedding.points.max(axis=0)
    margin = 0.12 * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    frame = shapely.box(left, bottom, right, top)
    beyond = _half_plane(frame, a, b, c)
    line = np.asarray(frame.intersection(_line(frame, a, b, c)).coords)
    (artists["pin"],) = ax.plot(*line.T, color=COLOURS["Alice"], lw=1.6, zorder=3, label="pin, private")
    outline = np.asarray(beyond.exterior.coords)
    (artists["kept"],) = ax.fill(*outline.T, color=COLOURS["Alice"], alpha=0.12, lw=0, zorder=0)
    point = shapely.Point(embedding.points[pin].tolist())
    artists["pinned"] = ax.scatter(
        point.x, point.y, s=110, facecolor="none", edgecolor=COLOURS["wrong"], lw=1.8, zorder=5
    )
    return polytope.intersection(point)


def _line(frame: Any, a: int, b: int, c: int) -> Any:
    """Return a segment of the line a x + b y + c = 0 that crosses the frame."""
    import shapely

    left, bottom, right, top = frame.bounds
    centre = np.array([(left + right) / 2, (bottom + top) / 2])
    normal = np.array([a, b], dtype=float)
    foot = centre - normal * (normal @ centre + c) / (normal @ normal)
    reach = np.array([-b, a]) / np.hypot(a, b) * 2 * np.hypot(right - left, top - bottom)
    return shapely.LineString([foot - reach, foot + reach])


def _half_plane(frame: Any, a: int, b: int, c: int) -> Any:
    """Return the part of the frame where a x + b y + c <= 0."""
    import shapely

    line = _line(frame, a, b, c)
    (x0, y0), (x1, y1) = line.coords
    length = np.hypot(a, b)
    reach = 4 * (frame.bounds[2] - frame.bounds[0] + frame.bounds[3] - frame.bounds[1])
    dx, dy = -a / length * reach, -b / length * reach
    return frame.intersection(shapely.Polygon([(x0, y0), (x1, y1), (x1 + dx, y1 + dy), (x0 + dx, y0 + dy)]))
