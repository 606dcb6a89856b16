"""Charts: where vectors of two or three dimensions, and the cones that they span, lie on paper.

A vector stands for a direction: a classifier is not changed by a positive factor. A chart turns directions
into points of the plane.

* "circle" (d = 2): the unit circle; cones are sectors of the disc.
* "central" (d = 3): central projection from 0 onto a plane. Planes through 0 become straight lines and convex
  cones convex polygons, but less than half of all directions is in view.
* "sphere" (d = 3): Lambert's azimuthal projection of all directions onto a disc of radius 2. Areas are true
  to the sphere, planes through 0 become curves, and the direction opposite to the centre is the whole rim.

Coordinates are first changed linearly, so that the domain's points have mean product matrix I: an affine
change of the features' units would otherwise squeeze all cells of interest into a corner. Such a change
keeps planes, convexity and separation. Floats appear here only, after all decisions were made in integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_choice
from geomdp.geometry.cells import Ray, clip, walls

VIEWS = ("auto", "circle", "central", "sphere")
#: Directions within this many degrees of the centre are shown in a central view by default.
WIDEST = 65.0
#: Arcs are drawn by chords of at most this angle, in radians.
_CHORD = math.radians(1.5)
#: The window reaches beyond the picture by this factor, so that its rounding is out of sight.
_BEYOND = 1.02
_RIM = 2.0
#: The direction in the middle by default.
_AHEAD = np.array([0.33, 0.37, 0.87])
#: The middle is moved by about 10^-4 in no special direction, so that no plane passes exactly behind it.
_ASIDE = np.array([0.61e-4, -0.37e-4, 0.83e-4])

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chart:
    """A map of directions to the plane.

    Attributes:
        view: "circle", "central" or "sphere".
        frame: (d, d) matrix; the picture's coordinates of w are frame @ w: right, up and, for d = 3, towards
            the viewer.
        extent: half the width of the picture; 2 shows the whole sphere, 1 the whole circle.
    """

    view: str
    frame: Floats
    extent: float

    def coordinates(self, vectors: Any) -> Floats:
        """Return (N, d) unit vectors in the picture's coordinates; 0 stays 0."""
        rows = unit_floats(vectors, len(self.frame)) @ self.frame.T
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))

    def project(self, vectors: Any) -> Floats:
        """Return the (N, 2) places of (N, d) vectors; NaN where a vector is 0 or behind the viewer.

        Example:
            >>> chart = Chart("central", np.eye(3), 1.0)
            >>> chart.project([[2, 1, 4]]).tolist()
            [[0.5, 0.25]]
        """
        rows = self.coordinates(vectors)
        if self.view == "sphere":
            flat = _lambert(rows)
        elif self.view == "central":
            with np.errstate(divide="ignore", invalid="ignore"):
                flat = np.where(rows[:, 2:] > 1e-9, rows[:, :2] / rows[:, 2:], np.nan)
        else:
            flat = rows[:, :2].copy()
        flat[~rows.any(axis=1)] = np.nan
        return np.asarray(flat)

    def window(self) -> list[Ray] | None:
        """Return the cone of directions in view, a little enlarged, as integer rays; None for all."""
        if self.view != "central":
            return None
        s = self.extent * _BEYOND
        corners = np.array([[s, s, 1.0], [-s, s, 1.0], [-s, -s, 1.0], [s, -s, 1.0]])
        rows = np.linalg.solve(self.frame, corners.T).T
        rows /= np.abs(rows).max()
        gap = min(float(np.linalg.norm(rows[i] - rows[i - 1])) for i in range(4))
        bits = max(10, 10 + math.ceil(-math.log2(gap)))
        return [tuple(int(v) for v in row) for row in np.rint(rows * 2.0**bits)]

    def polygon(self, rays: Sequence[Ray]) -> Any:
        """Return the shapely geometry of a pointed cone: a polygon, or less if the cone has no interior.

        Args:
            rays: extreme rays in cyclic order. In a central view the part outside the window is cut off, in
                integers.
        """
        import shapely

        window = self.window()
        for wall in [] if window is None else walls(window):
            rays = clip(rays, wall)
        if not rays:
            return shapely.Polygon()
        if len(rays) == 1:
            return shapely.Point(self.project(rays)[0])
        if self.view == "central":
            places = self.project(rays)
            return shapely.LineString(places) if len(rays) == 2 else shapely.Polygon(places)
        units = self.coordinates(rays)
        if len(rays) == 2:
            arc = self._arc(units[0], units[1])
            return shapely.Polygon([(0.0, 0.0), *arc]) if self.view == "circle" else shapely.LineString(arc)
        sides = [self._arc(units[i - 1], units[i])[:-1] for i in range(len(units))]
        ring = shapely.Polygon(np.vstack(sides))
        if float(units[:, 2].min()) < 0 and _holds(units, np.array([0.0, 0.0, -1.0])):
            ring = disc(_RIM / math.cos(math.pi / 720)).difference(ring)  # it is the border of a hole
        return ring if ring.is_valid else ring.buffer(0)

    def _arc(self, a: Floats, b: Floats) -> Floats:
        """Return places from one unit vector to another; the same in reverse from the other to the one."""
        swap = tuple(a) > tuple(b)
        if swap:
            a, b = b, a
        angle = 2 * math.atan2(math.dist(a, b), math.dist(a, -b))
        sine = math.sin(angle)
        if sine <= 1e-9:
            rows = np.vstack([a, b])
        else:
            t = self._stops(a, b, angle)[:, None]
            rows = (np.sin(angle - t) * a + np.sin(t) * b) / sine
        places = _lambert(rows) if self.view == "sphere" else rows
        return np.asarray(places[::-1] if swap else places)

    def _stops(self, a: Floats, b: Floats, angle: float) -> Floats:
        """Return the angles from a at which an arc is sampled: closely where it passes behind the sphere."""
        stops = np.linspace(0.0, angle, max(1, math.ceil(angle / _CHORD)) + 1)
        if self.view != "sphere":
            return stops
        across = (b - math.cos(angle) * a) / math.sin(angle)
        farthest = math.atan2(-float(across[2]), -float(a[2]))  # where the great circle lies farthest behind
        depth = max(abs(float(a[0] * across[1] - a[1] * across[0])), 1e-12)  # sine of the least distance
        if not -0.5 < farthest < angle + 0.5 or depth > 0.9:
            return stops
        near = farthest + depth * np.tan(np.linspace(-1.55, 1.55, 125))  # even in azimuth
        return np.unique(np.concatenate([stops, near[(near > 0) & (near < angle)]]))

    def trace(self, normal: Sequence[int]) -> Any:
        """Return the shapely line of the directions in view with <normal, w> = 0; it may be empty."""
        import shapely

        if self.view == "central":
            window = self.window() or []
            ends = [
                ray
                for ray in clip(window, normal)
                if not sum(a * b for a, b in zip(ray, normal, strict=True))
            ]
            return shapely.LineString(self.project(ends)) if len(ends) == 2 else shapely.LineString()
        z = np.linalg.solve(self.frame.T, unit_floats([normal], len(self.frame))[0])
        z /= np.linalg.norm(z)
        if self.view == "circle":
            return shapely.LineString([[1.15 * z[1], -1.15 * z[0]], [-1.15 * z[1], 1.15 * z[0]]])
        e = np.eye(3)[int(np.argmin(np.abs(z)))]
        a = np.cross(z, e)
        a /= np.linalg.norm(a)
        b = np.cross(z, a)
        start = math.atan2(-float(b[2]), -float(a[2]))  # where the circle is farthest from the centre
        steps = np.geomspace(1e-6, np.pi, 400)
        turn = start + np.concatenate([steps, 2 * np.pi - steps[-2::-1]])[:, None]
        return shapely.LineString(_lambert(np.cos(turn) * a + np.sin(turn) * b))


def _holds(units: Floats, vector: Floats) -> bool:
    """Return whether a vector is inside the cone of d = 3 unit vectors given in cyclic order."""
    middle = units.sum(axis=0)
    normals = np.cross(units, np.roll(units, -1, axis=0))
    return bool(((normals @ middle) * (normals @ vector) > 0).all())


def unit_floats(vectors: Any, d: int) -> Floats:
    """Return vectors of integers of any size as floats with largest entry 1 (rows of zeros stay)."""
    rows = np.asarray(vectors, dtype=object).reshape(-1, d)
    scaled = [[v / top for v in row] for row in rows.tolist() for top in [max(1e-300, *map(abs, row))]]
    return np.array(scaled, dtype=np.float64).reshape(-1, d)


def disc(radius: float) -> Any:
    """Return a shapely disc around 0."""
    import shapely

    turn = np.linspace(0.0, 2 * np.pi, 721)[:-1]
    return shapely.Polygon(radius * np.stack([np.cos(turn), np.sin(turn)], axis=1))


def balanced(normals: Any) -> Floats:
    """Return a (d, d) matrix T: in the coordinates T w the normals' mean product matrix is I.

    The last coordinate, on grids the bias, comes first, so the first coordinate of T w is the value of w at
    the normals' mean. With rank below d the missing directions keep a small weight.

    Args:
        normals: (m, d) integers, d = 2 or 3: the x of the planes <x, w> = 0.

    Example:
        >>> T = balanced([[0, 1], [4, 1]])
        >>> np.allclose(T, [[2, 1], [2, 0]])
        True
    """
    rows = np.asarray(normals, dtype=np.float64)
    if not ((rows[:, -1] == 1).all() and len(rows)):
        rows = unit_floats(normals, rows.shape[1])
    rows = rows[rows.any(axis=1)][:, ::-1]
    d = rows.shape[1]
    moments = rows.T @ rows / max(1, len(rows))
    moments += np.eye(d) * (1e-6 * float(np.trace(moments)) or 1.0) * (np.linalg.matrix_rank(moments) < d)
    return np.ascontiguousarray(np.linalg.cholesky(moments).T[:, ::-1])


def spread(vectors: Any) -> Floats:
    """Return a (d, d) matrix T: the vectors T w have mean product matrix about I when scaled to length 1."""
    return np.asarray(np.linalg.inv(balanced(vectors)).T)


def chart(
    base: Floats, *, view: str = "auto", focus: Any = None, centre: Any = None, extent: float | None = None
) -> Chart:
    """Return a chart, by default one that shows some vectors well.

    Args:
        base: the (d, d) linear change of coordinates, see :func:`balanced`.
        view: "circle" for d = 2; "central" or "sphere" for d = 3; "auto" takes the central view if the focus
            fits into it.
        focus: (N, d) integer vectors to show; None or N = 0 for all directions.
        centre: d numbers, the direction in the middle; by default the middle of the focus.
        extent: half the width of the picture: the tangent of the angle for "central", at most 2 for "sphere".

    Raises:
        ArgumentError: when the view does not suit d, or centre or extent is out of range.
    """
    check_choice("view", view, VIEWS)
    d = len(base)
    if (d == 2) != (view == "circle") and view != "auto":
        raise ArgumentError("view", "'circle' for d = 2, and 'central' or 'sphere' for d = 3", repr(view))
    if extent is not None and not 0 < float(extent) < math.inf:
        raise ArgumentError("extent", "a number > 0", extent)
    if d == 2:
        return Chart("circle", base[::-1].copy(), float(extent or 1.0))
    rows = np.zeros((0, 3)) if focus is None else unit_floats(focus, 3) @ base.T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if centre is not None:
        middle = base @ unit_floats([centre], 3)[0]
    else:
        middle = rows.sum(axis=0) if len(rows) else _AHEAD
    length = float(np.linalg.norm(middle))
    if length < 1e-9:
        if centre is not None:
            raise ArgumentError("centre", "a direction that is not 0", "0")
        middle, length = _AHEAD, 1.0
    frame = _facing(_aside(middle / length))
    seen = rows @ frame.T
    near = bool(len(rows)) and float(seen[:, 2].min()) > math.cos(math.radians(WIDEST))
    if view == "auto":
        view = "central" if near or (extent is not None and extent < 1 and not len(rows)) else "sphere"
    if extent is None:
        fitting = seen[seen[:, 2] > math.cos(math.radians(WIDEST))]
        tangents = np.abs(fitting[:, :2] / fitting[:, 2:]) if len(fitting) else np.array([[1.0]])
        extent = 1.25 * max(float(tangents.max()), 1e-3) if view == "central" else _RIM
    return Chart(view, frame @ base, float(extent))


def _aside(toward: Floats) -> Floats:
    moved = toward + _ASIDE
    return np.asarray(moved / np.linalg.norm(moved))


def _facing(toward: Floats) -> Floats:
    """Return the rotation to (right, up, toward); up is where the first coordinate grows."""
    for axis in (0, 1):
        up = np.eye(3)[axis] - toward[axis] * toward
        if np.linalg.norm(up) > 1e-3:
            break
    up /= np.linalg.norm(up)
    return np.stack([np.cross(up, toward), up, toward])


def _lambert(rows: Floats) -> Floats:
    """Return the equal-area places of unit vectors in the frame (right, up, toward)."""
    z = rows[:, 2:]
    across = np.maximum(np.linalg.norm(rows[:, :2], axis=1, keepdims=True), 1e-300)
    behind = np.sqrt(np.maximum(2.0 * (1.0 - z), 0.0)) / across  # the same number; exact where 1 + z is not
    return np.asarray(rows[:, :2] * np.where(z < 0, behind, np.sqrt(2.0 / np.maximum(1.0 + z, 1.0))))
