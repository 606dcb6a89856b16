"""Cutting the space of linear halfspaces into simplicial cones.

A linear halfspace H_z = {w : <z, w> > 0} is a direction z in R^d; a point w splits the directions by the
plane w^perp. For a simplicial cone with generators g_1..g_d the set

    C = {w : max_i <g_i, w> > 0}

contains H_z for every z in the cone, because <z, w> is a non-negative combination of the <g_i, w>. So cones
that cover R^d give sets that cover every halfspace. Cutting the edge that most points cross, at their
median, halves the crossing points quickly. Source: the cutting behind the containers (paper, Lemma 4.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Values within this distance of zero count as positive; points are scaled to largest coordinate 1. Rounding
#: in the cut generators and their values stays below 1e-12, so a container is only ever enlarged by it.
TOLERANCE = 1e-9
#: Most cones that a cutting may have.
MAX_CONES = 200_000
_MAX_DEPTH = 600

Progress = Callable[[float], None] | None


class CuttingError(Exception):
    """The set is too degenerate for a cutting by cones; the caller lists its halfspaces instead."""


def unit_points(W: NDArray[Any]) -> NDArray[np.float64]:
    """Return integer points scaled to largest absolute coordinate 1 (zero rows stay zero), as float64.

    Example:
        >>> unit_points(np.array([[2, -4], [0, 0]])).tolist()
        [[0.5, -1.0], [0.0, 0.0]]
    """
    if W.dtype == object:
        rows = [[int(v) for v in row] for row in W.tolist()]
        scaled = [[v / max(1, *(abs(u) for u in row)) for v in row] for row in rows]
        return np.array(scaled, dtype=np.float64).reshape(W.shape)
    top = np.abs(W).max(axis=1, keepdims=True, initial=1)
    return np.ascontiguousarray(W / top.astype(np.float64))


def frame(d: int) -> NDArray[np.float64]:
    """Return d fixed, well conditioned directions in no special position: the first cones' edges."""
    rows = np.eye(d)
    for i in range(d):
        for j in range(d):
            if i != j:
                rows[i, j] = ((7 * i + 11 * j + 3 * i * j) % 13 - 6) / (13.7 * d)
    return rows


def cut(
    points: NDArray[np.float64],
    most: int,
    limit: int,
    *,
    allowed: int = MAX_CONES,
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return cones whose sets cover every halfspace of at most `most` points and hold at most `limit` each.

    Cones in which every halfspace surely holds more than `most` points are left out.

    Args:
        points: (N, d) scaled points.
        most: the largest halfspace that must be covered, in points.
        limit: the largest set allowed, in points; most <= limit.
        allowed: most cones that the cutting may have.
        progress: told the fraction of the directions that is settled.

    Returns:
        (c, d, d) generators, one row each.

    Raises:
        CuttingError: when the points are too degenerate to be cut, or too many cones would be needed.
    """
    from geomdp.geometry import _container_kernels as kernels

    d = points.shape[1]
    base = frame(d)
    at_base = kernels.values(points, base)
    tolerance = 2 * TOLERANCE
    leaves: list[NDArray[np.float64]] = []
    stack = []
    for pattern in range(2**d):
        signs = np.array([1.0 if pattern >> i & 1 else -1.0 for i in range(d)])
        sure, X = kernels.child(at_base * signs, 0, 0, 0.0, tolerance)
        stack.append((base * signs[:, None], sure, X, 0))
    total, done = float(len(stack)), 0.0
    while stack:
        generators, sure, X, depth = stack.pop()
        if sure > most or sure + len(X) <= limit:
            if sure <= most:
                leaves.append(generators)
            done += 2.0**-depth
            if progress is not None:
                progress(min(1.0, done / total))
            continue
        changes = kernels.edge_changes(X)
        i, j = np.unravel_index(int(np.argmax(changes)), changes.shape)
        if changes[i, j] == 0 or depth >= _MAX_DEPTH or len(stack) + len(leaves) > allowed:
            raise CuttingError
        s = float(np.median(kernels.crossings(X, int(i), int(j))))
        for gone, kept, share in ((int(i), int(j), s), (int(j), int(i), 1.0 - s)):
            more, rest = kernels.child(X, gone, kept, share, tolerance)
            new = generators.copy()
            new[gone] = (1.0 - share) * generators[gone] + share * generators[kept]
            stack.append((new, sure + more, rest, depth + 1))
    return np.array(leaves).reshape(-1, d, d)


def cut_plane(points: NDArray[np.float64], most: int, limit: int) -> NDArray[np.float64]:
    """Return :func:`cut` for d = 2: arcs of directions, each as long as its set allows.

    Going round greedily uses at most one arc more than any family of arcs that covers the whole circle.

    Raises:
        CuttingError: when two neighbouring directions already need more than `limit` points.
    """
    from geomdp.geometry import _container_kernels as kernels

    across = np.arctan2(points[:, 1], points[:, 0]) % np.pi
    events = np.unique(np.concatenate([across, across + np.pi]))
    events = events[np.append(np.diff(events) > TOLERANCE, True)]
    middles = (events + np.append(events[1:], events[0] + 2 * np.pi)) / 2 + np.pi / 2
    n = len(middles)
    # rounded, so that last-digit differences between machines' sine functions vanish
    rays = np.rint(np.stack([np.cos(middles), np.sin(middles)], axis=1) * 2.0**40) * 2.0**-40

    def fits(a: int, b: int) -> bool:
        return bool(kernels.arc_counts(points, rays[[a, b % n]], TOLERANCE)[0] <= limit)

    def idle(a: int, b: int) -> bool:
        return bool(kernels.arc_counts(points, rays[[a, b % n]], TOLERANCE)[1] > most)

    def farthest(a: int, good: Callable[[int, int], bool]) -> int:
        reach = middles[a] + 0.95 * np.pi
        low, high = a, n if reach > middles[-1] else int(np.searchsorted(middles, reach, side="right")) - 1
        if low < high and not good(a, a + 1):
            return a
        while low < high:
            b = (low + high + 1) // 2
            low, high = (b, high) if good(a, b) else (low, b - 1)
        return low

    arcs, a = [], 0
    while a < n:
        b, skip = farthest(a, fits), farthest(a, idle)
        if max(b, skip) == a:
            raise CuttingError
        if b > skip:
            arcs.append(rays[[a, b % n]])
        a = max(b, skip)
    return np.array(arcs).reshape(-1, 2, 2)
