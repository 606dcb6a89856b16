"""Facets of a finite point set by the double description method, in integers alone.

Points x_1..x_N that span R^h affinely give the cone {f : f(x_i) >= 0 for all i} of affine functions; its
extreme rays are the facets of their hull. The cone of h + 1 independent points is simplicial; every further
point cuts it by one halfspace, and a new ray arises from every adjacent pair of rays on either side. Two rays
are adjacent iff no third ray vanishes wherever both do. The method meets no rounding and needs no general
position, and its result is complete by construction. Lexicographic order of the points keeps the intermediate
cones small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import INT64_SAFE, products
from geomdp.exact.linear import rank, reduced_echelon

_PRIME = 2**31 - 1
_BLOCK = 64


def extreme_rays(
    points: NDArray[Any], progress: Callable[[float], None] | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return every facet of the hull of points, as primitive affine functions that are >= 0 on it.

    Args:
        points: (N, h + 1) integers of rank h + 1: distinct points of R^h, each followed by 1, best in
            lexicographic order.
        progress: told the fraction done, in [0, 1].

    Returns:
        functions (F, h + 1), and (F, N) whether each vanishes at each point.

    Example:
        >>> square = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> functions, tight = extreme_rays(square)
        >>> sorted(map(tuple, functions.tolist())), tight.sum(axis=1).tolist()
        ([(-1, 0, 1), (0, -1, 1), (0, 1, 0), (1, 0, 0)], [2, 2, 2, 2])
    """
    from lp_gadgets.polytopes.kernels import adjacent_pairs

    count, columns = points.shape
    start = independent_rows(points)
    rays = _simplicial(points[start])
    tight = np.zeros((columns, (count + 63) // 64), dtype=np.uint64)
    for k, i in enumerate(start):
        tight[np.arange(columns) != k, i // 64] |= _bit(i)
    for i in sorted(set(range(count)) - set(start)):
        values = products(rays, points[i])
        tight[values == 0, i // 64] |= _bit(i)
        below = np.flatnonzero(values < 0)
        if len(below):
            pairs = adjacent_pairs(tight, np.flatnonzero(values > 0), below, columns - 2)
            above, under = pairs[:, 0], pairs[:, 1]
            common = tight[above] & tight[under]
            common[:, i // 64] |= _bit(i)
            kept = values >= 0
            fresh = combine(rays[under], values[above], rays[above], -values[under])
            rays = np.concatenate([rays[kept], fresh])
            tight = np.concatenate([tight[kept], common])
        if progress is not None:
            progress((i + 1) / count)
    bits = np.unpackbits(tight.view(np.uint8), axis=1, count=count, bitorder="little")
    return rays, bits.astype(bool)


def combine(
    left: NDArray[Any], left_weights: NDArray[Any], right: NDArray[Any], right_weights: NDArray[Any]
) -> NDArray[Any]:
    """Return the primitive rows u_i left_i + v_i right_i, exactly; no row of the result may vanish.

    Example:
        >>> combine(np.array([[2, 0]]), np.array([3]), np.array([[0, 3]]), np.array([1])).tolist()
        [[2, 1]]
    """
    tops = [_top(array) for array in (left, left_weights, right, right_weights)]
    if tops[0] * tops[1] + tops[2] * tops[3] >= INT64_SAFE:
        left, left_weights, right, right_weights = (
            array.astype(object) for array in (left, left_weights, right, right_weights)
        )
    rows: NDArray[Any] = left_weights[:, None] * left + right_weights[:, None] * right
    if not len(rows):
        return rows
    rows = rows // np.gcd.reduce(rows, axis=1)[:, None]
    return rows.astype(np.int64) if _top(rows) < INT64_SAFE else rows


def independent_rows(matrix: NDArray[Any], most: int | None = None) -> list[int]:
    """Return the numbers of linearly independent rows: as many as the rank, or ``most`` if that is less.

    Rows that are independent modulo a prime are independent. The prime could hide some; where the rows found
    are fewer than asked for, the rank is therefore recomputed over the rationals.

    Args:
        matrix: (N, n) integers.
        most: stop at this many rows; by default at n.

    Example:
        >>> independent_rows(np.array([[1, 2], [2, 4], [0, 0], [1, 3]]))
        [0, 3]
    """
    enough = min(matrix.shape) if most is None else min(most, *matrix.shape)
    rows = _independent_modulo(matrix, enough)
    if len(rows) < enough and rank(matrix) > len(rows):
        return list(reduced_echelon(matrix.T)[1])[:enough]
    return rows


def _independent_modulo(matrix: NDArray[Any], enough: int) -> list[int]:
    """Reduce the rows block by block, so that few are touched where independent ones come early."""
    found: list[int] = []
    pivots: list[tuple[int, NDArray[np.int64]]] = []
    for start in range(0, len(matrix), _BLOCK):
        rest = (matrix[start : start + _BLOCK] % _PRIME).astype(np.int64)
        for column, row in pivots:
            _clear(rest, column, row)
        first = 0
        while len(found) < enough and (hits := np.flatnonzero(rest[first:].any(axis=1))).size:
            first += int(hits[0])
            found.append(start + first)
            column = int(np.flatnonzero(rest[first])[0])
            row = rest[first] * pow(int(rest[first, column]), -1, _PRIME) % _PRIME
            pivots.append((column, row))
            _clear(rest[first + 1 :], column, row)
            first += 1
        if len(found) == enough:
            break
    return found


def _clear(rows: NDArray[np.int64], column: int, row: NDArray[np.int64]) -> None:
    rows -= rows[:, column, None] * row % _PRIME
    rows %= _PRIME


def _simplicial(basis: NDArray[Any]) -> NDArray[Any]:
    """Return the functions that vanish at all points of a basis but one, and are positive there."""
    n = len(basis)
    rows, _, den = reduced_echelon(np.hstack([basis.astype(object), np.identity(n, dtype=object)]))
    inverse = rows[:, n:].T * (1 if den > 0 else -1)
    zero = np.zeros_like(inverse)
    return combine(inverse, np.ones(n, dtype=object), zero, np.ones(n, dtype=object))


def _bit(i: int) -> Any:
    return np.uint64(1 << (i % 64))


def _top(array: NDArray[Any]) -> int:
    return 0 if array.size == 0 else max(abs(int(array.min())), abs(int(array.max())))
