"""The pooled records as weighted rows: the form in which an optimum is searched, proved and checked.

Records on one ray through the origin are told apart by no halfspace, so that their weights net out. What is
left is one row z per ray: z = x where the positive records prevail, z = -x where the negative ones do. The
row is right for w iff <w, z> >= 0 (weak, positive) or <w, z> > 0 (strict, negative), and

    mistakes(w) = base + sum of the weights of the rows that are wrong for w.

Everything here is exact and depends on the data alone; whoever checks a proof derives the rows afresh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products

#: Entries below this have exact int64 arithmetic for negation and gcd.
INT64_ENTRIES = 2**62

#: Prime modulus of the rank tests; products of two residues fit int64.
PRIME = 2**31 - 1


@dataclass(frozen=True)
class Rows:
    """Weighted rows, at most one per ray, in a canonical order.

    Attributes:
        Z: (m, d) integers (int64, or object when wide), each with entries of gcd 1.
        strict: (m,) booleans; True where the row asks <w, z> > 0 and False where it asks <w, z> >= 0.
        W: (m,) int64 weights >= 1.
        base: mistakes that every halfspace makes: the outvoted records of each ray, and the negative
            records at the origin.

    Example:
        >>> X = np.array([[2, 4], [1, 2], [0, 0], [3, 0]])
        >>> R = rows_of(X, np.array([5, 0, 1, 0]), np.array([0, 2, 4, 1]))
        >>> R.Z.tolist(), R.strict.tolist(), R.W.tolist(), R.base
        ([[-1, 0], [1, 2]], [True, False], [1, 3], 6)
    """

    Z: NDArray[Any]
    strict: NDArray[np.bool_]
    W: NDArray[np.int64]
    base: int

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.Z)

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.Z.shape[1])

    def cost(self, w: NDArray[Any]) -> int:
        """Return the weight of the rows that are wrong for the integer vector w, exactly."""
        value = products(self.Z, w)
        wrong = np.where(self.strict, value <= 0, value < 0).astype(bool)
        return int(self.W[wrong].sum())

    def subset(self, index: NDArray[np.int64]) -> Rows:
        """Return the chosen rows with base 0."""
        return Rows(self.Z[index], self.strict[index], self.W[index], 0)


def rows_of(points: NDArray[Any], positives: NDArray[np.int64], negatives: NDArray[np.int64]) -> Rows:
    """Return the rows of (m, d) integer points with (m,) weights of positive and negative records."""
    zero = ~(points != 0).any(axis=1)
    base = int(negatives[zero].sum())
    occupied = ~zero & ((positives > 0) | (negatives > 0))
    rays = primitive(points[occupied])
    first, where = distinct(rays)
    plus, minus = np.zeros((2, len(first)), dtype=np.int64)
    np.add.at(plus, where, positives[occupied])
    np.add.at(minus, where, negatives[occupied])
    base += int(np.minimum(plus, minus).sum())
    keep = plus != minus
    Z, plus, minus = rays[first][keep], plus[keep], minus[keep]
    strict = minus > plus
    Z = np.where(strict[:, None], -Z, Z)
    return Rows(Z, strict, np.abs(plus - minus), base)


def primitive(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return nonzero integer rows divided by the gcd of their entries: int64 where they fit, else objects.

    Example:
        >>> primitive(np.array([[4, -6], [0, 5]])).tolist()
        [[2, -3], [0, 1]]
    """
    if vectors.size == 0:
        return vectors
    if vectors.dtype != object and largest(vectors) >= INT64_ENTRIES:
        vectors = vectors.astype(object)
    divisor = vectors[:, 0]
    for column in vectors.T[1:]:
        divisor = np.gcd(divisor, column)
    small = vectors // np.abs(divisor)[:, None]
    if small.dtype == object and largest(small) < INT64_ENTRIES:
        small = small.astype(np.int64)
    return np.asarray(small)


def distinct(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (first, where): the first of each different row in lexicographic order, and each row's place."""
    n = len(rows)
    if n == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if rows.dtype == object:
        keys = [tuple(row) for row in rows.tolist()]
        order = np.array(sorted(range(n), key=keys.__getitem__), dtype=np.int64)
    else:
        order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.ones(n, dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    where = np.empty(n, dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    return order[new], where


def largest(array: NDArray[Any]) -> int:
    """Return the largest absolute value of an integer array as a Python integer; 0 when it is empty."""
    return max(int(array.max()), -int(array.min())) if array.size else 0


def residues(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return an integer array modulo :data:`PRIME`, as int64."""
    return np.asarray(array % PRIME).astype(np.int64)


def pivots_modulo(Z: NDArray[Any]) -> tuple[list[int], list[int]]:
    """Return (rows, columns) of a largest minor of Z that is nonzero modulo a prime.

    Its size is a lower bound on the rank, so that a full one proves full rank.

    Example:
        >>> pivots_modulo(np.array([[1, 1, 2], [2, 2, 4], [0, 1, 1]]))
        ([0, 2], [0, 1])
    """
    A = residues(Z)
    left = np.arange(len(A))
    rows: list[int] = []
    columns: list[int] = []
    for c in range(Z.shape[1]):
        candidates = np.flatnonzero(A[:, 0])
        if len(candidates):
            r = int(candidates[0])
            rows.append(int(left[r]))
            columns.append(c)
            row = A[r, 1:] * pow(int(A[r, 0]), -1, PRIME) % PRIME
            others = candidates[1:]
            A[others, 1:] = (A[others, 1:] - A[others, :1] * row) % PRIME
            A, left = np.delete(A[:, 1:], r, axis=0), np.delete(left, r)
        else:
            A = A[:, 1:]
        if len(A) == 0:
            break
    return rows, columns


def kernel_of(Z: NDArray[Any]) -> tuple[tuple[int, ...], NDArray[Any]]:
    """Return (dropped, N): a basis of the integer vectors v with Z v = 0, one per dropped column.

    Row t of N is zero on the dropped columns except for the t-th, so that on the kept columns the rows of Z
    take every value <w, z> that they take on all of them. The result is exact: a set of independent rows is
    guessed modulo a prime and extended until its kernel is orthogonal to every row.

    Example:
        >>> dropped, N = kernel_of(np.array([[1, 1, 2], [2, 2, 4], [0, 1, 1]]))
        >>> dropped, N.tolist()
        ((2,), [[-1, -1, 1]])
    """
    d = Z.shape[1]
    chosen, columns = pivots_modulo(Z[: 64 * d])
    if len(columns) < d:
        chosen, columns = pivots_modulo(Z)
    while True:
        if len(columns) == d:
            return (), np.empty((0, d), dtype=np.int64)
        echelon, columns = _echelon([[int(v) for v in Z[r]] for r in chosen])
        dropped = tuple(c for c in range(d) if c not in columns)
        N = _kernel_basis(echelon, columns, dropped, d)
        outside = np.flatnonzero((products(Z, N.T) != 0).any(axis=1)) if len(N) else np.empty(0, dtype=int)
        if len(outside) == 0:
            return dropped, N
        chosen = [*chosen, int(outside[0])]


def _echelon(rows: list[list[int]]) -> tuple[list[list[Fraction]], list[int]]:
    """Return the reduced echelon form of a few rows, and its pivot columns."""
    echelon: list[list[Fraction]] = []
    columns: list[int] = []
    for source in rows:
        row = [Fraction(v) for v in source]
        for kept, column in zip(echelon, columns, strict=True):
            if row[column]:
                row = [a - row[column] * b for a, b in zip(row, kept, strict=True)]
        lead = next((c for c, v in enumerate(row) if v), None)
        if lead is None:
            continue
        row = [v / row[lead] for v in row]
        echelon = [
            [a - kept[lead] * b for a, b in zip(kept, row, strict=True)] if kept[lead] else kept
            for kept in echelon
        ]
        echelon.append(row)
        columns.append(lead)
    return echelon, columns


def _kernel_basis(
    echelon: list[list[Fraction]], columns: list[int], dropped: tuple[int, ...], d: int
) -> NDArray[Any]:
    basis = []
    for free in dropped:
        v = [Fraction(0)] * d
        v[free] = Fraction(1)
        for row, column in zip(echelon, columns, strict=True):
            v[column] = -row[free]
        scale = math.lcm(*(x.denominator for x in v))
        basis.append([int(x * scale) for x in v])
    wide = np.empty((len(basis), d), dtype=object)
    wide[:] = np.array(basis, dtype=object).reshape(len(basis), d)
    return wide.astype(np.int64) if largest(wide) < INT64_ENTRIES else wide


#: Entries of the rows of a box tree stay below 2^ROW_BITS, cube coordinates within 2^CUBE_BITS.
ROW_BITS = 21
CUBE_BITS = 20


def box_rows(Z: NDArray[Any], T: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (Y, E): the rows T^T z as small integers, and bounds on what the rounding hides.

    Row i of Z T is divided by the least power of two 2^s for which it fits and rounded down; then
    | <Z_i T, v> / 2^s - <Y_i, v> | <= E_i for every v with |v_j| <= 2^CUBE_BITS, and E_i = 0 when s = 0.

    Example:
        >>> Y, E = box_rows(np.array([[2**30, 2**10], [3, -5]]), np.eye(2, dtype=np.int64))
        >>> Y.tolist(), (E > 0).tolist()
        ([[1048576, 1], [3, -5]], [True, False])
    """
    exact = products(Z, T)
    if exact.dtype == object:
        top = np.array([max(abs(int(v)) for v in row).bit_length() for row in exact], dtype=np.int64)
    else:
        size = np.abs(exact).max(axis=1, initial=0)
        top = np.zeros(len(size), dtype=np.int64)
        for bit in range(64):
            top[(size >> bit) > 0] = bit + 1
    shift = np.maximum(top - ROW_BITS, 0)
    if not shift.any():
        return exact.astype(np.int64), np.zeros(len(exact), dtype=np.int64)
    Y = exact >> (shift.astype(object) if exact.dtype == object else shift)[:, None]
    return Y.astype(np.int64), np.where(shift > 0, Z.shape[1] << CUBE_BITS, 0).astype(np.int64)
