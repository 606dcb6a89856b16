"""Containers: cones that tile the space of halfspaces, and what one container leaves out of the set W."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products
from geomdp.core.errors import ArgumentError, check_integer, describe
from geomdp.exact.linear import primitive
from geomdp.geometry.cells import Ray, clip, walls
from geomdp.geometry.charts import Chart, balanced, chart, spread
from geomdp.geometry.containers import Containers
from geomdp.plot import artists as art
from geomdp.plot.artists import COLOURS

#: Gaps between neighbours up to twice this width, from arcs drawn by chords, are closed in outlines.
_SEAM = 2e-3


@dataclass(frozen=True)
class ConesPicture:
    """The artists of a tiling of the directions z by cones.

    Attributes:
        ax: the axes.
        chart: which direction lies where.
        cones: one path for each cone; its array holds the number of the member that the cone belongs to.
        polygons: the shapely geometry of each path.
    """

    ax: Any
    chart: Chart
    cones: Any
    polygons: tuple[Any, ...]


@dataclass(frozen=True)
class ContainerPicture:
    """The artists of one container in a set W.

    Attributes:
        ax: the axes.
        chart: which direction lies where.
        points: per group ("inside", "outside", "halfspace"), the dots of its points.
        left_out: the collection of the cone that the container leaves out.
        shape: its shapely geometry; empty for a family that is a list.
        boundary: the line of the halfspace, or None.
    """

    ax: Any
    chart: Chart
    points: dict[str, Any]
    left_out: Any
    shape: Any
    boundary: Any


def cones(family: Containers, *, view: str = "auto", ax: Any = None) -> ConesPicture:
    """Draw the directions z of all halfspaces {w : <z, w> > 0}, tiled by the family's cones.

    Halfspaces in cones of one colour share a container. Directions without a tile belong to halfspaces that
    hold more points than the family has to cover.

    Args:
        family: containers cut by cones, of points with d = 2 or 3 coordinates.
        view: "circle" for d = 2; "sphere" (the default) or "central" for d = 3.
        ax: matplotlib axes.

    Raises:
        ArgumentError: when d is not 2 or 3, or the family is a list of subsets.
        MissingExtraError: when matplotlib is not installed.
    """
    _check(family)
    if family.method != "cones":
        raise ArgumentError("family", "cut by cones", "a list of subsets", "Use method='cones'.")
    axes = art.axes_of(ax)
    where = chart(balanced(family.W), view=view)
    owners = [member for member, parts in enumerate(family.cones) for _ in parts]
    polygons = tuple(where.polygon(_rays(cone)) for parts in family.cones for cone in parts)
    style = {"edgecolors": "white", "linewidths": 0.5, "alpha": 0.9}
    tiling = art.fill(
        axes,
        polygons,
        array=np.array(owners, dtype=np.float64),
        cmap=art.shades("members", len(family)),
        **style,
    )
    tiling.set_clim(0, max(1, len(family) - 1))
    outlines = [_outline([p for p, o in zip(polygons, owners, strict=True) if o == i]) for i in set(owners)]
    for outline in outlines:
        art.line(axes, outline, color=COLOURS["ink"], linewidths=0.9, zorder=3)
    art.frame(axes, where)
    axes.set_title(f"{len(polygons)} cones, {len(family)} containers")
    return ConesPicture(axes, where, tiling, polygons)


def container(
    family: Containers, index: int, *, z: Any = None, view: str = "auto", ax: Any = None
) -> ContainerPicture:
    """Draw one container among the points of W, and if wanted a halfspace that it covers.

    A member is {w : max_i <g_i, w> > 0 for one of its cones g}: all but the cone {w : <g_i, w> <= 0 for all
    generators}, which is shaded.

    Args:
        family: containers of points with d = 2 or 3 coordinates.
        index: the member's number.
        z: d integers, a halfspace {w : <z, w> > 0} to be drawn as well, or None.
        view: "circle" for d = 2; "sphere" (the default) or "central" for d = 3.
        ax: matplotlib axes.

    Raises:
        ArgumentError: when d is not 2 or 3, or there is no such member.
        MissingExtraError: when matplotlib is not installed.
    """
    _check(family)
    check_integer("index", index, 0, len(family) - 1)
    axes = art.axes_of(ax)
    where = chart(spread(family.W), view=view)
    inside = family.mask(index)
    within = np.zeros(len(family.W), dtype=bool)
    boundary = None
    if z is not None:
        normal = integer_array("z", z, 1)
        within = np.asarray(products(family.W, normal) > 0, dtype=bool)
        boundary = art.line(
            axes,
            where.trace(tuple(int(v) for v in normal)),
            color=COLOURS["ink"],
            linewidths=2.0,
            linestyles=(0, (5, 2.5)),
            zorder=8,
        )
    groups = {
        "outside": (~inside, COLOURS["Bob"]),
        "inside": (inside & ~within, "#7FB6D8"),
        "halfspace": (within, "#0B4F7A"),
    }
    size = 14.0 * min(1.0, max(0.25, 600 / max(1, len(family.W))))
    drawn = {
        name: art.dots(axes, where, family.W[mask], colour, s=size) for name, (mask, colour) in groups.items()
    }
    shape = where.polygon(_left_out(family.cones[index])) if family.cones else where.polygon([])
    left_out = art.fill(axes, [shape], facecolors=COLOURS["Bob"], alpha=0.22, edgecolors="none", zorder=1)
    art.line(axes, shape, color=COLOURS["Bob"], linewidths=1.4, zorder=2)
    art.frame(axes, where)
    axes.set_title(f"Container {index}: {int(inside.sum()):,} of {len(family.W):,} points")
    _legend(axes, groups, with_halfspace=z is not None)
    return ContainerPicture(axes, where, drawn, left_out, shape, boundary)


def _check(family: Any) -> None:
    if not isinstance(family, Containers):
        raise ArgumentError("family", "a family of containers", describe(family), "Use containers(W).")
    d = family.W.shape[1]
    if d not in (2, 3):
        raise ArgumentError("family", "one of points with d = 2 or 3 coordinates", f"one of {d}")


def _rays(cone: NDArray[np.float64]) -> list[Ray]:
    """Return a cone's generators as the integer vectors that the floats stand for, up to positive factors."""
    found = []
    for row in cone.tolist():
        exact = [Fraction(v) for v in row]
        scale = math.lcm(*(v.denominator for v in exact))
        found.append(primitive([int(v * scale) for v in exact]))
    return found


def _left_out(parts: NDArray[np.float64]) -> list[Ray]:
    """Return the rays of {w : <g, w> <= 0 for every generator g of every part}, exactly."""
    rays = [tuple(-v for v in wall) for wall in walls(_rays(parts[0]))]
    for part in parts[1:]:
        for generator in _rays(part):
            rays = clip(rays, tuple(-v for v in generator))
    return rays


def _outline(polygons: Sequence[Any]) -> Any:
    import shapely

    return shapely.buffer(shapely.union_all(shapely.buffer(np.array(polygons, dtype=object), _SEAM)), -_SEAM)


def _legend(ax: Any, groups: dict[str, tuple[Any, str]], *, with_halfspace: bool) -> None:
    dot = {"marker": "o", "linestyle": "", "markersize": 5}
    entries = []
    if with_halfspace:
        dash = art.line_entry(COLOURS["ink"], "halfspace", lw=2, linestyle=(0, (5, 2.5)))
        entries = [dash, art.line_entry(groups["halfspace"][1], "in the halfspace", **dot)]
    entries += [
        art.line_entry(groups["inside"][1], "in the container", **dot),
        art.line_entry(groups["outside"][1], "left out", **dot),
    ]
    art.legend(ax, entries)
