"""Containers: few public sets that cover every small halfspace of a finite set.

For N points W, a share theta and a ratio rho >= theta the family has, for every halfspace H holding at most
theta N of the points, a member C with H n W inside C and |C| <= rho N. Large sets are cut by simplicial cones
(:mod:`geomdp.geometry.cones`), or, where they are too degenerate for that, by exact cells
(:mod:`geomdp.geometry.partition`); small ones get the exact list of their halfspace subsets
(:mod:`geomdp.geometry.subsets`), of which the inclusion-maximal ones suffice. The family depends on W alone.
Source: (paper, Lemma 4.5), restricted to linear halfspaces, which is what the tester needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array
from geomdp.core.errors import ArgumentError, CapacityError, check_choice, check_fraction, describe
from geomdp.geometry.cones import MAX_CONES, TOLERANCE, CuttingError, cut, cut_plane, unit_points
from geomdp.geometry.levels import LevelCells
from geomdp.geometry.merging import MAX_MERGED, merge, tighten
from geomdp.geometry.subsets import (
    cover_pairs,
    halfspace_subsets,
    independent_columns,
    line_count,
    maximal,
    pack,
    unpack,
)

#: The exact list is used where (pairs of halfspace subsets) * (points) is at most this ...
LISTED = 1_000_000
#: ... and, for sets that cannot be cut, up to this.
MOST_LISTED = 20_000_000
#: Cones are cut to this many tenths of the allowed excess over `most`, which leaves merging some room ...
FINENESS = 9
#: ... and for d >= 4 to this many, where a sample shows that at most MAX_MERGED cones will do.
FINER = 7
#: Points in that sample.
SAMPLE = 2_000

Progress = Callable[[float], None] | None


@dataclass(frozen=True)
class Containers:
    """A family of subsets of W that covers every halfspace of at most `most` points.

    Attributes:
        W: (N, d) integer points; the lifted points (w, 1) for affine halfspaces.
        most: the largest halfspace covered, in points.
        limit: the largest member allowed, in points.
        kind: "linear" or "affine".
        method: "cones", "cells", "lp", "list" or "levels".
        bits: (M, words) members as bits.
        cones: for "cones", per member the (c, d, d) generators of its parts: w belongs iff
            max_i <g_i, w> > 0 for one part (values within rounding of 0 count as positive). Without parts
            the one member is the empty set.
    """

    W: NDArray[Any] = field(repr=False)
    most: int
    limit: int
    kind: str
    method: str
    bits: NDArray[np.uint64] = field(repr=False)
    cones: tuple[NDArray[np.float64], ...] = field(repr=False, default=())

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The (M,) numbers of points of the members."""
        from geomdp.geometry import _container_kernels as kernels

        return np.asarray(kernels.row_counts(self.bits), dtype=np.int64)

    def mask(self, index: int) -> NDArray[np.bool_]:
        """Return one member as (N,) booleans."""
        return np.asarray(unpack(self.bits[index : index + 1], len(self.W))[0])

    def members(self, index: int) -> NDArray[np.int64]:
        """Return one member as ascending indices of points."""
        return np.flatnonzero(self.mask(index)).astype(np.int64)

    def scores(self, f: NDArray[np.int64], cap: int) -> NDArray[np.int64]:
        """Return min(cap, min of f over the points outside C) for every member C, shape (M,).

        Changing every value of f by at most 1 changes each score by at most 1.
        """
        from geomdp.geometry import _container_kernels as kernels

        order = np.argsort(f, kind="stable").astype(np.int64)
        return np.asarray(kernels.outside_minima(self.bits, order, np.asarray(f, dtype=np.int64), int(cap)))

    @property
    def most_missing(self) -> int:
        """The largest number of members that one and the same point can be missing from."""
        from geomdp.geometry import _container_kernels as kernels

        if not len(self.W):
            return 0
        return len(self) - int(kernels.membership_counts(self.bits, len(self.W)).min())

    def covering(self, z: Any) -> int | None:
        """Return the first member that contains {w : <z, w> > 0} (affine: <z, (w, 1)> > 0), or None.

        Args:
            z: d integers (affine: d + 1).

        Returns:
            A member's index. None only if the halfspace holds more than `most` points.

        Raises:
            ArgumentError: unless ``z`` has as many entries as the points have coordinates (affine: one more).
        """
        direction = integer_array("z", z, 1)
        if len(direction) != self.W.shape[1]:
            raise ArgumentError("z", f"an array of length {self.W.shape[1]}", f"length {len(direction)}")
        values = self.W.astype(object) @ direction.astype(object)
        inside = pack(np.array([[value > 0 for value in values]], dtype=bool).reshape(1, len(self.W)))
        hits = ~(inside & ~self.bits).any(axis=1)
        return int(np.argmax(hits)) if hits.any() else None


def containers(
    W: Any,
    *,
    ratio: float | Fraction = 0.75,
    theta: float | Fraction = Fraction(1, 2),
    kind: str = "linear",
    method: str = "auto",
    progress: Progress = None,
) -> Containers:
    """Return sets that cover every halfspace of at most floor(theta N) points by floor(ratio N) or fewer.

    Args:
        W: (N, d) integers. Points in general position are cut fastest; any others are allowed.
        ratio: largest member, as a share of N; theta <= ratio <= 1.
        theta: largest halfspace that must be covered, as a share of N.
        kind: "linear" for {w : <z, w> > 0}, "affine" for {w : <z, w> > b}.
        method: "cones", fast, for points in general position; "cells", exact, for any points; "lp", the same
            recursion with every decision by a linear program, slow; "list", all maximal halfspace subsets;
            or "auto": the list for small sets, else cones, else cells.
        progress: told the fraction of the directions that is settled.

    Returns:
        The family: for every z with |H_z| <= floor(theta N) some member contains H_z.

    Raises:
        ArgumentError: on an argument outside its range.
        CapacityError: when the family would be too large, or method="cones" meets a degenerate set.

    Example:
        >>> W = np.array([[a, b, 7] for a in range(-9, 10, 2) for b in range(-9, 10, 2)])
        >>> family = containers(W, ratio=0.75)
        >>> family.covering([3, -2, -1]) is not None and int(family.sizes.max()) <= 75
        True
    """
    check_choice("kind", kind, ("linear", "affine"))
    points = integer_array("W", W, 2)
    share, top = check_fraction("theta", theta), check_fraction("ratio", ratio)
    if not 0 <= share <= top <= 1:
        raise ArgumentError("ratio", "a number with 0 <= theta <= ratio <= 1", describe(ratio))
    if kind == "affine":
        points = np.hstack([points, np.ones((len(points), 1), dtype=np.int64)])
    n = len(points)
    return build(points, int(share * n), int(top * n), kind=kind, method=method, progress=progress)


def build(
    points: NDArray[Any],
    most: int,
    limit: int,
    *,
    kind: str = "linear",
    method: str = "auto",
    generic: bool = False,
    progress: Progress = None,
) -> Containers:
    """Return the family with its two sizes given in points.

    Args:
        points: (N, d) integers.
        most: the largest halfspace that must be covered.
        limit: the largest member allowed, >= most.
        kind, method, progress: as in :func:`containers`.
        generic: cover only halfspaces with no non-zero point on their boundary. The exact list then holds at
            most 2 * cover_pairs(N, d) subsets, and any two with most_1 + most_2 < N together at most that.

    Raises:
        ArgumentError: on most > limit or an unknown method.
        CapacityError: as in :func:`containers`.
    """
    check_choice("method", method, ("auto", "cones", "cells", "lp", "list"))
    if not 0 <= most <= limit:
        raise ArgumentError("limit", f"at least the size {most} that must be covered", limit)
    n, d = points.shape
    pairs = cover_pairs(n, d)
    if method == "cones" or (method == "auto" and pairs * n > LISTED):
        try:
            return _by_cones(points, most, limit, kind, progress)
        except CuttingError:
            if method == "cones":
                raise CapacityError("W", "a set in general position", "one that cannot be cut") from None
        pairs = min(pairs, cover_pairs(line_count(points), d))
        method = "cells" if pairs * n > LISTED else "list"
    if method in ("cells", "lp"):
        return _by_cells(points, most, limit, kind, method=method, generic=generic, progress=progress)
    if pairs * n > MOST_LISTED:
        pairs = cover_pairs(line_count(points), d)
    if pairs * n > MOST_LISTED:
        raise CapacityError(
            "W",
            f"a set with at most {MOST_LISTED // n} pairs of halfspace subsets",
            f"one with up to {pairs}",
            'Use method="auto", which covers many of them by one member.',
        )
    subsets = maximal(halfspace_subsets(points, generic=generic), most)
    return Containers(points, most, limit, kind, "list", pack(subsets))


def opposite_families(
    points: NDArray[Any], cells: LevelCells, limits: tuple[int, int]
) -> tuple[Containers, Containers]:
    """Return two families of which, for every z, the first covers H_z or the second covers H_-z.

    For a cell with sets C+ and C- the first gets those of at most limits[0] points; for every C+ that it does
    not get the second gets C-, and the other way round. As |C+| + |C-| <= N + cross, that one has at most
    limits[1] points if limits[0] + limits[1] >= N + cross. Together they have at most two members per cell,
    and uniting members makes them only fewer. An empty family stands for the empty set.

    Args:
        points: (N, d) integers.
        cells: a cutting of the directions.
        limits: the largest members allowed, with a sum of at least N + cells.cross.

    Raises:
        ArgumentError: unless the limits add up to N + cells.cross at least.
    """
    from geomdp.geometry import _container_kernels as kernels

    if sum(limits) < cells.points + cells.cross:
        raise ArgumentError("limits", f"of sum at least {cells.points + cells.cross}", f"{sum(limits)}")
    sides, others = np.concatenate([cells.plus, cells.minus]), np.concatenate([cells.minus, cells.plus])
    kept = np.asarray(kernels.row_counts(sides)) <= limits[0]
    found = []
    for family, limit in ((sides[kept], limits[0]), (others[~kept], limits[1])):
        bits, _ = merge(family, limit)
        most = max(0, limit - cells.cross)
        found.append(Containers(points, most, limit, "linear", "levels", bits))
    return found[0], found[1]


def _by_cones(points: NDArray[Any], most: int, limit: int, kind: str, progress: Progress) -> Containers:
    from geomdp.geometry import _container_kernels as kernels

    scaled = unit_points(points)
    if points.shape[1] == 2:
        cones = cut_plane(scaled, most, limit)
    else:
        allowed = min(MAX_CONES, 2 * cover_pairs(*points.shape) + 2 ** points.shape[1])
        tenths = _tenths(scaled, most, limit, allowed)
        cones = cut(scaled, most, _fine(most, limit, tenths), allowed=allowed, progress=progress)
    leaves = np.asarray(kernels.cone_bits(scaled, cones, TOLERANCE))
    bits, groups = merge(leaves, limit)
    if points.shape[1] > 3:
        bits, groups = tighten(leaves, bits, groups, limit)
    parts = tuple(cones[group] for group in groups)
    return Containers(points, most, limit, kind, "cones", _or_empty(bits), parts)


def _or_empty(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the members, or the empty set if there are none: it covers the direction z = 0."""
    return bits if len(bits) else np.zeros((1, bits.shape[1]), dtype=np.uint64)


def _fine(most: int, limit: int, tenths: int) -> int:
    """Return the size to which parts are cut."""
    return limit - (limit - most) * (10 - tenths) // 10


def _tenths(scaled: NDArray[np.float64], most: int, limit: int, allowed: int) -> int:
    """Return how fine to cut: finer cones merge into fewer members, as long as they can be merged at all."""
    n, d = scaled.shape
    if d < 4:
        return FINENESS
    sample = np.ascontiguousarray(scaled[:: max(1, n // SAMPLE)])
    sizes = most * len(sample) // n, _fine(most, limit, FINER) * len(sample) // n
    try:
        cut(sample, *sizes, allowed=min(allowed, MAX_MERGED))
    except CuttingError:
        return FINENESS
    return FINER


def _by_cells(
    points: NDArray[Any],
    most: int,
    limit: int,
    kind: str,
    *,
    method: str,
    generic: bool,
    progress: Progress,
) -> Containers:
    from geomdp.geometry.partition import Cell, cover

    n = len(points)
    columns = independent_columns(points.astype(object))
    bits = np.zeros((0, max(1, -(-n // 64))), dtype=np.uint64)
    if columns:
        roots: Sequence[Cell]
        if method == "lp":
            from geomdp.geometry.lpcells import lp_cells

            roots = lp_cells(points[:, columns])
        else:
            from geomdp.geometry.raycells import ray_cells

            roots = ray_cells(points[:, columns])
        fine = _fine(most, limit, FINENESS)
        leaves = cover(roots, most, fine, generic=generic, progress=progress)
        bits, _ = tighten(leaves, *merge(leaves, limit), limit)
    return Containers(points, most, limit, kind, method, _or_empty(bits))
