"""Lines, rank and flats of an integer point set, and which flats are totally cyclic; all exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Lines:
    """The distinct lines R*x through the non-zero points of a finite set X in Z^d.

    Attributes:
        rows: (m', r) primitive integer vectors, one per line, pairwise independent, in the coordinates
            of ``columns``: signs of <w, x> for w supported on these columns give every dichotomy.
        columns: r column numbers on which X has its full rank r.
        members: per line, a pair (points in the row's direction, points in the opposite direction).

    Example:
        >>> lines = distinct_lines(np.array([[1, 1, 0], [-2, -2, 0], [0, 0, 0]]))
        >>> lines.rows.tolist(), lines.columns, [tuple(map(list, pair)) for pair in lines.members]
        ([[1]], (0,), [([0], [1])])
    """

    rows: NDArray[Any]
    columns: tuple[int, ...]
    members: list[tuple[list[int], list[int]]]

    @property
    def rank(self) -> int:
        """The rank r of X."""
        return len(self.columns)


def distinct_lines(points: NDArray[Any]) -> Lines:
    """Return the lines through the non-zero points, and a column basis.

    Args:
        points: (m, d) integers (int64, or an object array of Python integers).
    """
    rows = _primitive(points)
    nonzero = np.flatnonzero((rows != 0).any(axis=1))
    rows = rows[nonzero]
    if not len(rows):
        return Lines(np.zeros((0, 0), dtype=np.int64), (), [])
    lead = (rows != 0).argmax(axis=1)
    flip = rows[np.arange(len(rows)), lead] < 0
    rows = np.where(np.asarray(flip, dtype=bool)[:, None], -rows, rows)
    places: dict[tuple[int, ...], int] = {}
    members: list[tuple[list[int], list[int]]] = []
    for i, row, opposite in zip(nonzero.tolist(), rows.tolist(), flip.tolist(), strict=True):
        line = places.setdefault(tuple(row), len(places))
        if line == len(members):
            members.append(([], []))
        members[line][1 if opposite else 0].append(i)
    distinct = np.array(list(places), dtype=rows.dtype).reshape(len(places), points.shape[1])
    columns = column_basis(distinct)
    return Lines(np.ascontiguousarray(distinct[:, list(columns)]), columns, members)


def _primitive(points: NDArray[Any]) -> NDArray[Any]:
    """Divide every row by the greatest common divisor of its entries; zero rows stay."""
    if points.dtype == object or (len(points) and int(points.min()) == -(2**63)):
        wide = np.empty(points.shape, dtype=object)
        for i, row in enumerate(points.tolist()):
            divisor = math.gcd(*map(int, row)) or 1
            wide[i] = [int(x) // divisor for x in row]
        small = all(abs(x) < 2**62 for x in wide.flat)
        return wide.astype(np.int64) if small else wide
    divisors = np.gcd.reduce(points, axis=1)
    return np.asarray(points // np.maximum(divisors, 1)[:, None])


def column_basis(rows: NDArray[Any]) -> tuple[int, ...]:
    """Return column numbers that form a basis of the column space, by fraction-free elimination.

    Example:
        >>> column_basis(np.array([[1, 2, 0], [2, 4, 1]]))
        (0, 2)
    """
    d = rows.shape[1]
    if len(rows) > 4 * d:  # enough rows of a sample often show full rank already
        step = len(rows) // (4 * d)
        if len(_eliminate(rows[::step])) == d:
            return tuple(range(d))
    return _eliminate(rows)


def _eliminate(rows: NDArray[Any]) -> tuple[int, ...]:
    work, previous, columns = rows.astype(object), 1, []
    for c in range(rows.shape[1]):
        hits = np.flatnonzero(work[:, c] != 0)
        if not len(hits):
            continue
        columns.append(c)
        pivot = work[hits[0]]
        work = (work * pivot[c] - np.outer(work[:, c], pivot)) // previous
        work = work[(work != 0).any(axis=1)]
        previous = pivot[c]
    return tuple(columns)


def contract(rows: NDArray[Any], i: int, divisor: int) -> tuple[NDArray[Any], int]:
    """Restrict the functionals <x, .> to the space orthogonal to row i (fraction-free, any width).

    Args:
        rows: (m, k) integers whose 2x2 minors are divisible by divisor.
        i: a non-zero row.
        divisor: the pivot of the contraction before, 1 at first.

    Returns:
        (m, k - 1) integers with the signs of the functionals kept, and the next divisor.
    """
    row = rows[i]
    c = max(range(rows.shape[1]), key=lambda j: abs(int(row[j])))
    pivot = abs(int(row[c]))
    side = 1 if row[c] > 0 else -1
    rest = [j for j in range(rows.shape[1]) if j != c]
    out = (rows[:, rest] * pivot - np.outer(rows[:, c] * side, row[rest])) // divisor
    return out, pivot


def compact_minors(rows: NDArray[Any]) -> tuple[bool, bool]:
    """Return whether int64 holds the elimination of these rows, and whether floats tell slopes apart.

    By Hadamard's inequality a k x k minor is at most (longest row)^k. The compiled loops multiply two
    (r-2)-minors, twice (2 * 2^60 < 2^63), and compare directions by (r-1)-minors below 2^51. If those
    are below 2^25, equal correctly rounded quotients are equal fractions.
    """
    if rows.dtype == object:
        return False, False
    longest = max((sum(x * x for x in row) for row in rows.tolist()), default=0)  # squared length
    r = rows.shape[1]
    fits = longest ** max(r - 2, 1) < 2**60 and longest ** max(r - 1, 1) < 2**102
    return fits, fits and longest ** max(r - 1, 1) < 2**50
