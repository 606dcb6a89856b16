"""The optimum over all directions of a plane: one exact angular sort, or none below two dimensions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.rows import largest

#: Below this bound on the entries, rounded slopes of different lines differ.
EXACT_SLOPES = 2**25


def plane_optimum(
    Z: NDArray[Any], strict: NDArray[np.bool_], W: NDArray[np.int64], *, generic: bool = False
) -> tuple[int, tuple[int, ...]]:
    """Return (value, w): the least weight of wrong rows over all w, for rows of at most two columns.

    Row z is wrong on an open half circle of directions w, and on its two ends as well when it is strict. The
    ends of all rows cut the circle into rays and open arcs; one pass around adds up each row's span.

    Args:
        Z: (m, r) nonzero integers, r <= 2.
        strict: (m,) whether a row wants <w, z> > 0.
        W: (m,) weights.
        generic: only w that no row is orthogonal to.

    Example:
        >>> Z = np.array([[1, 0], [-1, 0], [0, 1]])
        >>> plane_optimum(Z, np.array([False, False, True]), np.array([1, 1, 1]))
        (0, (0, 1))
    """
    nothing = int(W[strict].sum())
    if Z.shape[1] == 0 or len(Z) == 0:
        return nothing, (0,) * Z.shape[1]
    if Z.shape[1] == 1:
        sides = {s: int(W[Z[:, 0] * s < 0].sum()) for s in (1, -1)}
        side = min(sides, key=lambda s: (sides[s], -s))
        return (sides[side], (side,)) if generic or sides[side] < nothing else (nothing, (0,))
    line, upper, L = _lines(Z)
    # The ray with number 2 L a turn: where z's wrong half circle begins, a quarter turn after z.
    begin = np.where(upper, line, line + L)
    span = np.zeros(8 * L + 1, dtype=np.int64)
    np.add.at(span, 2 * begin + ~strict, W)
    np.add.at(span, 2 * (begin + L) + strict, -W)
    turns = np.cumsum(span[:-1])
    cost = turns[: 4 * L] + turns[4 * L :]
    at = 2 * int(cost[1::2].argmin()) + 1 if generic else int(cost.argmin())
    if not generic and nothing <= int(cost[at]):
        return nothing, (0, 0)
    return int(cost[at]), _direction(Z, begin, L, at)


def _lines(Z: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_], int]:
    """Return, per row, the rank of its orthogonal line by angle, whether (-y, x) is its upper ray, and L."""
    px, py = -Z[:, 1], Z[:, 0]
    upper = np.asarray((py > 0) | ((py == 0) & (px > 0)), dtype=bool)
    px, py = np.where(upper, px, -px), np.where(upper, py, -py)
    if (py == 1).all():
        keys, line = np.unique(-px, return_inverse=True)
        return line.astype(np.int64), upper, len(keys)
    if largest(Z) < EXACT_SLOPES:
        with np.errstate(divide="ignore"):
            slope = np.where(py == 0, -np.inf, -(px.astype(np.float64) / py.astype(np.float64)))
        keys, line = np.unique(slope, return_inverse=True)
        return line.astype(np.int64), upper, len(keys)
    exact = [
        (0, Fraction(0)) if y == 0 else (1, Fraction(-int(x), int(y))) for x, y in zip(px, py, strict=True)
    ]
    place = {key: i for i, key in enumerate(sorted(set(exact)))}
    return np.array([place[key] for key in exact], dtype=np.int64), upper, len(place)


def _direction(Z: NDArray[Any], begin: NDArray[np.int64], L: int, at: int) -> tuple[int, int]:
    """Return a direction at a place: even places are rays, odd ones the arcs that follow them."""

    def ray(number: int) -> tuple[int, int]:
        number %= 2 * L
        row = int(np.flatnonzero(begin % L == number % L)[0])
        x, y = int(Z[row, 0]), int(Z[row, 1])
        return (-y, x) if int(begin[row]) == number else (y, -x)

    first = ray(at // 2)
    if at % 2 == 0:
        return first
    if L == 1:
        return -first[1], first[0]
    second = ray(at // 2 + 1)
    return first[0] + second[0], first[1] + second[1]
