"""Which orders, directions and lines of a public grid stand for all of its classifiers."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain


def sweep_orders(domain: Domain, reach: int = 2) -> NDArray[np.int64] | None:
    """Return (K, m) orders of the cells by generic linear functionals, or None if prefixes need no halfspace.

    On distinct points with a constant coordinate every prefix is cut off by a halfspace: functionals with
    small integer entries, ties broken lexicographically (an infinitely small perturbation).

    Example:
        >>> sweep_orders(Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)]), 1).tolist()[:2]
        [[0, 1, 2, 3], [0, 2, 1, 3]]
    """
    if domain.ordered:
        return np.arange(domain.m, dtype=np.int64)[None, :]
    points = domain.points
    constant = (points == points[0]).all(axis=0) & (points[0] != 0)
    if not constant.any() or len(np.unique(points, axis=0)) < len(points):
        return None
    moving = points[:, ~constant].astype(np.int64)
    if not moving.shape[1]:
        return np.zeros((1, 1), dtype=np.int64)  # a single point
    keys = [f for f in product(range(-reach, reach + 1), repeat=moving.shape[1]) if _leading(f)]
    keys.sort(key=lambda f: (sum(map(abs, f)), f[::-1]))
    return np.array([np.lexsort((*moving.T[::-1], moving @ np.array(f))) for f in keys], dtype=np.int64)


def grid_symmetries(domain: Domain) -> list[NDArray[np.int64]]:
    """Return the cell permutations by reflections, and by exchanging axes with equally many levels.

    Example:
        >>> len(grid_symmetries(Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3), ("z", 0, 1, 2)])))
        16
    """
    levels = [axis.levels for axis in domain.features or ()]
    cells, images = np.arange(domain.m).reshape(levels), []
    for axes in permutations(range(len(levels))):
        if [levels[a] for a in axes] == levels:
            for sides in product((1, -1), repeat=len(levels)):
                turned = cells.transpose(axes)[tuple(slice(None, None, side) for side in sides)]
                images.append(np.ascontiguousarray(turned.ravel()))
    return images


def closed_orders(domain: Domain, orders: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return orders of a grid's cells and their images under its symmetries, each once.

    An order and its reverse have the same prefixes up to complement.

    Example:
        >>> len(closed_orders(Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)]), np.arange(4)[None, :]))
        4
    """
    found: dict[bytes, NDArray[np.int64]] = {}
    images = grid_symmetries(domain)
    for order in orders:
        for image in images:
            moved = image[order]
            moved = moved if moved[0] < moved[-1] else np.ascontiguousarray(moved[::-1])
            found.setdefault(moved.tobytes(), moved)
    return np.array(list(found.values()), dtype=np.int64)


def _leading(f: tuple[int, ...]) -> bool:
    """Return whether a vector is primitive and its first nonzero entry positive."""
    return math.gcd(*f) == 1 and next(x for x in f if x) > 0


@lru_cache(maxsize=4)
def partial_schedule(rows: int, columns: int, symmetric: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the sweep of a grid over the normals that its symmetries leave.

    Normals (cos t, sin t) turn from t = 0 on, and reach the critical step (a, b) where they are orthogonal to
    it. Every dichotomy is a prefix at some generic normal; a reflection or the transposition takes generic
    normals to generic ones, so those with 0 < t < 90 (square: 45) degrees meet every symmetry class.
    """
    from geomdp.opt import _kernels
    from geomdp.opt.sup import critical_directions, grid_schedule

    if not symmetric:
        return grid_schedule(rows, columns)
    kept = [(a, b) for a, b in critical_directions(rows, columns) if (a < -b if rows == columns else b < 0)]
    steps = np.array(kept, dtype=np.int64).reshape(-1, 2)
    kept_dx, kept_dy = np.ascontiguousarray(steps[:, 0]), np.ascontiguousarray(steps[:, 1])
    none = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
    groups, used = _kernels.grid_schedule(rows, columns, kept_dx, kept_dy, *none)
    spans, cells = np.empty((groups, 2), dtype=np.int32), np.empty(used, dtype=np.int32)
    _kernels.grid_schedule(rows, columns, kept_dx, kept_dy, spans, cells)
    return spans, cells


def all_pairs(domain: Domain) -> NDArray[np.int32]:
    """Return (L, 2): all pairs of points; a compiled loop skips those that repeat a line."""
    first, second = np.triu_indices(domain.m, 1)
    return np.stack([first, second], axis=1).astype(np.int32)


@lru_cache(maxsize=4)
def line_classes(domain: Domain) -> NDArray[np.int32]:
    """Return (L, 2) pairs of points of a three-feature grid, at least one per symmetry class of lines.

    Reflections, and permutations of axes with equally many levels, map lines to lines; pairs are grouped by
    the smallest of their images.
    """
    pairs = _second_points(domain)
    best = np.full(len(pairs), domain.m**2, dtype=np.int64)
    for image in grid_symmetries(domain):
        # an image of the line's two first points need not be first on its line: take the line's label
        a, b = image[pairs[:, 0]], image[pairs[:, 1]]
        best = np.minimum(best, _line_labels(domain)[a, b])
    _, kept = np.unique(best, return_index=True)
    return np.ascontiguousarray(pairs[kept].astype(np.int32))


@lru_cache(maxsize=2)
def _line_labels(domain: Domain) -> NDArray[np.int64]:
    """Return (m, m): for two points, m i + j of the two first points i < j on their line."""
    m = domain.m
    labels = np.full((m, m), -1, dtype=np.int64)
    points = domain.points[:, :3].astype(np.int64)
    for i in range(m):
        step = points - points[i]
        step[i] = (1, 0, 0)
        step //= np.gcd.reduce(step, axis=1)[:, None]
        step[i] = 0
        fresh = np.flatnonzero((labels[i] < 0) & (np.arange(m) > i))
        _, first, group = np.unique(step[fresh], axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
        for g in range(len(first)):
            on = np.concatenate([[i], fresh[group == g]])
            labels[np.ix_(on, on)] = m * i + fresh[first[g]]
    return labels


def _second_points(domain: Domain) -> NDArray[np.int64]:
    labels = np.unique(_line_labels(domain))
    labels = labels[labels >= 0]
    return np.stack([labels // domain.m, labels % domain.m], axis=1)
