"""Exact cells of a central arrangement in two and three dimensions, as cones with integer rays.

The hyperplanes x^perp of a domain cut R^d into chambers. Each chamber is held as the cone of its extreme
rays, all of them integer vectors: a picture, a table of vertices or a volume can be made from it without
asking which side of a line a float is on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import INT64_SAFE, integer_array
from geomdp.core.errors import ArgumentError, CapacityError, check_integer
from geomdp.exact.linear import primitive
from geomdp.geometry.flats import column_basis, distinct_lines

Ray = tuple[int, ...]
Progress = Callable[[float], None] | None

#: More cells than this are refused unless ``limit`` allows them.
DEFAULT_LIMIT = 100_000


@dataclass(frozen=True)
class Cell:
    """A pointed cone of full dimension: all non-negative combinations of its rays.

    Attributes:
        rays: extreme rays, primitive integer vectors; for d = 3 in cyclic order.

    Example:
        >>> Cell(((1, 0), (1, 2))).inside
        (2, 2)
    """

    rays: tuple[Ray, ...]

    @property
    def inside(self) -> Ray:
        """An integer vector in the interior: the sum of the rays."""
        return tuple(sum(column) for column in zip(*self.rays, strict=True))


def cells(
    points: Any,
    window: Sequence[Sequence[int]] | None = None,
    *,
    limit: int | None = None,
    progress: Progress = None,
) -> list[Cell]:
    """Return the open cells into which the hyperplanes x^perp of the points cut a window, or the whole space.

    A cone is split by a hyperplane that it meets until there is none; a child inherits only the hyperplanes
    that cross its parent. All rays and signs are integers. With a window the cells are (chamber n window),
    one for every chamber that meets its interior. Without one they are the chambers if the points have rank
    d; if the rank is smaller, chambers are no pointed cones, and each comes in 2^(d - rank) pieces.

    Args:
        points: (m, d) integers, d = 2 or 3; zeros, repeats, multiples and antipodes are allowed.
        window: extreme rays of a pointed cone of full dimension, in cyclic order; None for all of R^d.
        limit: refuse more cells than this; 100,000 by default.
        progress: told the fraction of the window that is settled.

    Raises:
        ArgumentError: when d is not 2 or 3, or the window is not such a cone.
        CapacityError: when there are more cells than the limit.

    Example:
        >>> from geomdp import Domain
        >>> found = cells(Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)]).points)
        >>> len(found), len(found[0].inside)
        (174, 3)
    """
    array = integer_array("points", points, 2)
    d = _dimension("points", array.shape[1])
    top = DEFAULT_LIMIT if limit is None else check_integer("limit", limit, 1)
    normals = _normals(array)
    starts = _orthants(normals) if window is None else [_checked(window, d)]
    normals = _exact_type(normals, starts)
    found: list[Cell] = []
    stack = [(start, normals, 0) for start in starts]
    settled = 0.0
    while stack:
        rays, candidates, depth = stack.pop()
        values = candidates @ np.array(rays, dtype=candidates.dtype).T
        crossing = candidates[np.asarray((values > 0).any(axis=1) & (values < 0).any(axis=1), dtype=bool)]
        if len(crossing):
            cutter = tuple(int(v) for v in crossing[len(crossing) // 2])
            rest = np.delete(crossing, len(crossing) // 2, axis=0)
            for side in (1, -1):
                stack.append((clip(rays, tuple(side * v for v in cutter)), rest, depth + 1))
            continue
        found.append(Cell(tuple(rays)))
        if len(found) > top:
            raise CapacityError(
                "points",
                f"such that at most {top:,} cells are in view",
                "a set with more",
                "Look through a smaller window, use fewer levels, or pass limit= to allow it.",
            )
        settled += 2.0**-depth / len(starts)
        if progress is not None:
            progress(min(1.0, settled))
    return found


def clip(rays: Sequence[Ray], normal: Sequence[int]) -> list[Ray]:
    """Return the extreme rays of cone(rays) n {w : <normal, w> >= 0}, exactly.

    Args:
        rays: extreme rays of a pointed cone, d = 2 or 3, in cyclic order; any number, also 0, 1 or 2.
        normal: d integers.

    Example:
        >>> clip([(1, 0), (0, 1)], (2, -1))
        [(1, 0), (1, 2)]
    """
    values = [sum(a * b for a, b in zip(normal, ray, strict=True)) for ray in rays]
    kept: list[Ray] = []
    for i, (ray, value) in enumerate(zip(rays, values, strict=True)):
        if value >= 0:
            kept.append(ray)
        j = (i + 1) % len(rays)
        if value * values[j] < 0:
            a, b = abs(values[j]), abs(value)
            kept.append(primitive([a * x + b * y for x, y in zip(ray, rays[j], strict=True)]))
    return list(dict.fromkeys(kept))


def walls(rays: Sequence[Ray]) -> list[Ray]:
    """Return inner normals of the facets of a pointed cone of full dimension, d = 2 or 3.

    Example:
        >>> walls([(1, 0), (1, 2)])
        [(0, 1), (2, -1)]
    """
    middle = [sum(column) for column in zip(*rays, strict=True)]
    found = []
    for i, ray in enumerate(rays):
        normal = (-ray[1], ray[0]) if len(ray) == 2 else cross(ray, rays[(i + 1) % len(rays)])
        inward = sum(a * b for a, b in zip(normal, middle, strict=True)) > 0
        found.append(primitive([v if inward else -v for v in normal]))
    return found


def extreme_rays(vectors: Any) -> list[Ray] | None:
    """Return the extreme rays of the cone of some vectors, in cyclic order; None if it holds a whole line.

    The cone of G is pointed iff some z has <z, g> > 0 for all g in G that are not 0. Then g -> g / <z, g>
    maps its rays to a planar point set, whose convex hull is found in exact fractions.

    Args:
        vectors: (N, d) integers, d = 2 or 3, N >= 0; zeros are left out.

    Example:
        >>> extreme_rays([[2, 0], [3, 1], [1, 1], [0, 0]])
        [(1, 0), (1, 1)]
        >>> extreme_rays([[1, 0], [-1, 0]]) is None
        True
    """
    from geomdp.geometry.convex import Hyperplane
    from geomdp.geometry.convexity import separate

    array = integer_array("vectors", vectors, 2)
    d = _dimension("vectors", array.shape[1])
    rays = sorted({primitive(row) for row in array.tolist() if any(row)})
    if len(rays) < 2:
        return rays
    answer = separate(np.array(rays, dtype=object), [], kind="cone")
    if not isinstance(answer, Hyperplane):
        return None
    z = answer.functional
    if d == 2:
        first, last = rays[0], rays[0]
        for ray in rays:
            first = ray if ray[0] * first[1] > ray[1] * first[0] else first
            last = ray if ray[0] * last[1] < ray[1] * last[0] else last
        return [first, last]
    heights = [sum(a * b for a, b in zip(z, ray, strict=True)) for ray in rays]
    flat = [i for i in range(3) if i != max(range(3), key=lambda i: abs(z[i]))]
    place = {
        ray: (Fraction(ray[flat[0]], h), Fraction(ray[flat[1]], h))
        for ray, h in zip(rays, heights, strict=True)
    }
    ordered = sorted(rays, key=place.__getitem__)
    return _half_hull(ordered, place)[:-1] + _half_hull(ordered[::-1], place)[:-1]


def cross(x: Sequence[int], y: Sequence[int]) -> Ray:
    """Return the vector product of two integer 3-vectors.

    Example:
        >>> cross((1, 0, 0), (0, 1, 0))
        (0, 0, 1)
    """
    return (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])


def _half_hull(ordered: list[Ray], place: dict[Ray, tuple[Fraction, Fraction]]) -> list[Ray]:
    hull: list[Ray] = []
    for ray in ordered:
        while len(hull) > 1:
            (ax, ay), (bx, by), (cx, cy) = place[hull[-2]], place[hull[-1]], place[ray]
            if (bx - ax) * (cy - ay) > (by - ay) * (cx - ax):
                break
            hull.pop()
        hull.append(ray)
    return hull


def _dimension(name: str, d: int) -> int:
    if d not in (2, 3):
        raise ArgumentError(
            name, "an array of 2 or 3 columns", f"an array of {d}", "Pictures exist for d = 2, 3."
        )
    return d


def _normals(points: NDArray[Any]) -> NDArray[Any]:
    """Return one primitive normal per distinct hyperplane, with all coordinates."""
    first = [min(*ahead, *behind, len(points)) for ahead, behind in distinct_lines(points).members]
    rows = [primitive(points[i]) for i in first]
    return integer_array("points", rows or np.empty((0, points.shape[1]), dtype=np.int64), 2)


def _orthants(normals: NDArray[Any]) -> list[list[Ray]]:
    """Return the 2^d cones cut out by d independent normals; unit vectors fill up what the rank lacks."""
    d = normals.shape[1]
    stacked = np.vstack([normals, np.eye(d, dtype=np.int64)])
    basis = [tuple(int(v) for v in stacked[i]) for i in column_basis(stacked.T)]
    edges: list[Ray] = []
    for i in range(d):
        others = [basis[(i + k) % d] for k in range(1, d)]
        edge = (-others[0][1], others[0][0]) if d == 2 else cross(*others)
        edges.append(primitive(edge))
    return [
        [tuple(s * v for v in edge) for s, edge in zip(sides, edges, strict=True)]
        for sides in product((1, -1), repeat=d)
    ]


def _checked(window: Sequence[Sequence[int]], d: int) -> list[Ray]:
    """Return the window as primitive rays, after checking that it is a pointed cone given in cyclic order."""
    array = integer_array("window", window, 2)
    rays = extreme_rays(array) if array.shape[1] == d else None
    given = [primitive(row) for row in array.tolist()]
    turns = [given[i:] + given[:i] for i in range(len(given))]
    if rays is None or len(rays) < d or (rays not in turns and rays[::-1] not in turns):
        raise ArgumentError(
            "window",
            f"the {d} or more extreme rays, in cyclic order, of a pointed cone in dimension {d}",
            f"an array of shape {array.shape} that is not",
        )
    return given


def _exact_type(normals: NDArray[Any], starts: list[list[Ray]]) -> NDArray[Any]:
    """Return the normals in int64 if no value met can overflow, else as Python integers.

    Every ray met is primitive along a vector product of two normals, of the points or of the window's walls.
    """
    top = max((abs(int(v)) for v in normals.flat), default=1)
    wall = max(abs(v) for rays in starts for normal in walls(rays) for v in normal)
    longest = max(*(abs(v) for rays in starts for ray in rays for v in ray), 2 * top * max(top, wall))
    fits = normals.dtype != object and 3 * top * longest < INT64_SAFE and longest < INT64_SAFE
    return normals if fits else normals.astype(object)
