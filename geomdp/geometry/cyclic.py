"""Totally cyclic flats: where labellings live that no open cell carries.

The labelling of w is x -> +1 iff <w, x> >= 0. Among all w with one labelling, take one with fewest
zeros: the points Z that it still has as zeros form a flat, and 0 is a positive combination of all of
them (otherwise a small move would make some zeros positive and keep the rest). Such a flat is *totally
cyclic*. Conversely every chamber of X/Z, in the orthogonal space of Z, carries one labelling of its own.
So labellings correspond to pairs (totally cyclic flat Z, chamber of X/Z); Z may be empty or all of X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products
from geomdp.exact.linear import nullspace, solve
from geomdp.geometry.flats import Lines, column_basis, compact_minors, contract, distinct_lines

#: From so many lines on, a linear program first looks for a short proof of total cyclicity.
MANY = 24


@dataclass(frozen=True)
class Stratum:
    """The arrangement X/Z in the orthogonal space of one totally cyclic flat Z.

    Attributes:
        lines: the lines of X/Z.
        lift: (lines' ambient dimension, d) integers; w' @ lift is orthogonal to Z.
    """

    lines: Lines
    lift: NDArray[Any]


def strata(points: NDArray[Any], pointed: bool) -> Iterator[Stratum]:
    """Yield the arrangements X/Z of all totally cyclic flats Z, the empty flat first.

    Args:
        points: (m, d) integers.
        pointed: True if some u is known with <u, x> > 0 on X: then the empty flat is the only one.

    Example:
        >>> [s.lines.rank for s in strata(np.array([[1, 0], [-1, 0], [0, 1]]), False)]
        [2, 1]
    """
    lines = distinct_lines(points)
    lift = np.zeros((lines.rank, points.shape[1]), dtype=np.int64)
    lift[np.arange(lines.rank), list(lines.columns)] = 1
    yield Stratum(lines, lift)
    if pointed or lines.rank == 0 or _one_sided_in_floats(lines):
        return
    for basis, members in cyclic_flats(lines):
        normal = _orthogonal(lines.rows[basis])
        outside = np.setdiff1d(np.arange(len(lines.rows)), members)
        restricted = products(lines.rows[outside], np.ascontiguousarray(normal.T))
        inner = distinct_lines(restricted)
        yield Stratum(inner, products(normal, lift)[list(inner.columns)])


def cyclic_flats(lines: Lines) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield (greedy basis, members) of every totally cyclic flat of rank >= 1, as line numbers."""
    forward = np.array([bool(plus) for plus, _ in lines.members])
    backward = np.array([bool(minus) for _, minus in lines.members])
    for rank in range(1, lines.rank):
        for basis, members, columns in _candidates(lines, rank, forward & backward):
            flat = np.ascontiguousarray(lines.rows[members][:, columns])
            if totally_cyclic(flat, forward[members], backward[members]):
                yield basis, members
    if lines.rank and totally_cyclic(lines.rows, forward, backward):
        yield np.array(_independent(lines.rows), dtype=np.int64), np.arange(len(lines.rows))


def totally_cyclic(rows: NDArray[Any], forward: NDArray[np.bool_], backward: NDArray[np.bool_]) -> bool:
    """Return whether 0 is a positive combination of all the vectors +row (forward), -row (backward).

    It fails iff some y is >= 0 on all of them and not zero on all; then an extreme such y vanishes on a
    flat of one rank less and is positive on the rest. So it suffices to look at those flats.

    Args:
        rows: (k, r) pairwise independent integers of rank r >= 1.
        forward, backward: (k,) which of the two directions of each line are present.

    Example:
        >>> both = np.array([True])
        >>> totally_cyclic(np.array([[1]]), both, both), totally_cyclic(np.array([[1]]), both, ~both)
        (True, False)
    """
    r = rows.shape[1]
    if r == 1:
        return bool(forward[0] and backward[0])
    if len(rows) >= MANY and _combines_to_zero(rows, forward, backward):
        return True
    if compact_minors(rows)[0]:
        from geomdp.geometry import _kernels

        bases = _kernels.flats(rows, r - 1, 0, len(rows), np.zeros(0, dtype=np.bool_))
        return not _kernels.any_one_sided(rows, bases, forward, backward)
    for _, values in _flats_of_any_width(rows, r - 1):
        up = forward & (values[:, 0] > 0) | backward & (values[:, 0] < 0)
        down = forward & (values[:, 0] < 0) | backward & (values[:, 0] > 0)
        if not (up.any() and down.any()):
            return False
    return True


def _combines_to_zero(rows: NDArray[Any], forward: NDArray[np.bool_], backward: NDArray[np.bool_]) -> bool:
    """Look for positive integers c with sum c_i x_i = 0 by a linear program; True only with that proof.

    The float multipliers are rounded on a fine scale; what is left over is taken up exactly by r
    independent vectors, whose multipliers must stay positive.
    """
    from geomdp.lp.highs import positive_combination

    vectors = np.concatenate([rows[forward], -rows[backward]])
    multipliers = positive_combination(vectors)
    if multipliers is None or (multipliers <= 0).any():
        return False
    chosen = _independent(vectors)
    rest = -products(np.ascontiguousarray(vectors.T), multipliers)
    correction = solve(vectors[chosen].T, rest.tolist())
    if correction is None:
        return False
    return all(int(multipliers[i]) + c > 0 for i, c in zip(chosen, correction, strict=True))


def _independent(vectors: NDArray[Any]) -> list[int]:
    """Return the numbers of r linearly independent vectors, greedily."""
    return list(column_basis(np.ascontiguousarray(vectors.T)))


def _candidates(
    lines: Lines, rank: int, both: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield (basis, members, full-rank columns) of the flats of a rank that could be totally cyclic.

    Independent members can only be so if every one comes in both directions.
    """
    rows = lines.rows
    if compact_minors(rows)[0]:
        from geomdp.geometry import _kernels

        stride = max(1, len(rows) // 16)
        for first in range(0, len(rows), stride):
            for basis in _kernels.flats(rows, rank, first, min(first + stride, len(rows)), both):
                values, _, columns = _kernels.orthogonal(rows, basis)
                yield basis, np.flatnonzero((values == 0).all(axis=1)), columns
        return
    for basis, values in _flats_of_any_width(rows, rank):
        members = np.flatnonzero((values == 0).all(axis=1))
        if len(members) > rank or both[members].all():
            yield basis, members, np.array(distinct_lines(rows[members]).columns)


def _flats_of_any_width(rows: NDArray[Any], rank: int) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield (greedy basis, values on the orthogonal space) of every flat of a rank, in Python integers."""

    def deeper(
        level: NDArray[Any], path: list[int], divisor: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        if len(path) == rank:
            yield np.array(path, dtype=np.int64), level
            return
        classes = distinct_lines(level).members
        leaders = sorted(min(plus + minus) for plus, minus in classes)
        for i in leaders:
            if not path or i > path[-1]:
                yield from deeper(*_step(level, path, i, divisor))

    yield from deeper(rows.astype(object), [], 1)


def _step(level: NDArray[Any], path: list[int], i: int, divisor: int) -> tuple[NDArray[Any], list[int], int]:
    restricted, pivot = contract(level, i, divisor)
    return restricted, [*path, i], pivot


def _orthogonal(rows: NDArray[Any]) -> NDArray[Any]:
    """Return an integer basis of {w : <x, w> = 0 for x in rows} as rows; there may be none."""
    basis = nullspace(rows)
    if not basis:
        return np.zeros((0, rows.shape[1]), dtype=np.int64)
    return integer_array("basis", np.array(basis, dtype=object), 2)


def _one_sided_in_floats(lines: Lines) -> bool:
    """Look for u with <u, x> > 0 on X by a linear program; True only with an integer proof."""
    from geomdp.lp.highs import strict_direction

    rows = lines.rows
    opposite = np.array([not plus for plus, _ in lines.members])
    if any(plus and minus for plus, minus in lines.members):
        return False
    oriented = np.where(opposite[:, None], -rows, rows)
    u = strict_direction(oriented)
    return u is not None and bool((products(oriented, u) > 0).all())
