"""The exact list of all subsets that linear halfspaces cut out of a finite set of integer points.

A generic direction z (one with <z, w> != 0 for every non-zero w) lies in a chamber of the arrangement of the
planes w^perp, and two directions cut out the same subset iff they share a chamber. N points of rank d have
at most 2 * sum_{i<d} C(N-1, i) of them, in complementary pairs (Cover, 1965).
"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]


def cover_pairs(n: int, d: int) -> int:
    """Return Cover's bound on the number of complementary pairs: sum_{i<d} C(n-1, i); 1 for no point.

    Example:
        >>> [cover_pairs(n, 3) for n in (0, 1, 2, 3, 4)]
        [1, 1, 2, 4, 7]
    """
    return sum(math.comb(n - 1, i) for i in range(d)) if n > 0 else 1


def halfspace_subsets(W: NDArray[Any], *, generic: bool = True) -> Bools:
    """Return every subset {w in W : <z, w> > 0}, once each.

    Every chamber of an essential arrangement has an extreme ray, which lies on d-1 independent planes. So
    the chambers are found at the rays +-v of all rank d-1 flats: points off the flat keep the sign of
    <v, w>, and those on it split in any way that they can be split within their own span (recursion; when
    they are independent, in every way).

    Args:
        W: (N, d) integers; zero rows, duplicates, antipodes and low rank are allowed.
        generic: only directions z with no non-zero w on z^perp; otherwise all directions, z = 0 included.

    Returns:
        (s, N) booleans, distinct rows in a fixed order; s <= 2 * cover_pairs(N, d) in the generic case.

    Example:
        >>> subsets = halfspace_subsets(np.array([[1, 0], [0, 1], [-1, 0]]))
        >>> len(subsets), bool((subsets[:, 0] & subsets[:, 2]).any())
        (4, False)
    """
    exact = np.array([[int(v) for v in row] for row in W.tolist()], dtype=object).reshape(W.shape)
    lines, where, flip = _lines(exact)
    rows = _chambers(lines, generic)
    out = np.zeros((len(rows), len(W)), dtype=bool)
    for i, line in enumerate(where):
        if line >= 0:
            out[:, i] = rows[:, line] == (-1 if flip[i] else 1)
    return _distinct(out.astype(np.int8)).astype(bool)


def line_count(W: NDArray[Any]) -> int:
    """Return the number of distinct lines R w through non-zero rows w: only these cut the directions.

    Example:
        >>> line_count(np.array([[1, 2], [-2, -4], [0, 0], [0, 3]]))
        2
    """
    exact = np.array([[int(v) for v in row] for row in W.tolist()], dtype=object).reshape(W.shape)
    return len(_lines(exact)[0])


def _lines(W: NDArray[Any]) -> tuple[NDArray[Any], list[int], list[bool]]:
    """Return distinct directions up to sign, the line of each row (-1: zero), and which are flipped."""
    index: dict[tuple[int, ...], int] = {}
    where, flip = [], []
    for row in W.tolist():
        divisor = math.gcd(*row) if row else 0
        if divisor == 0:
            where.append(-1)
            flip.append(False)
            continue
        first = next(v for v in row if v)
        divisor = -divisor if first < 0 else divisor
        where.append(index.setdefault(tuple(v // divisor for v in row), len(index)))
        flip.append(first < 0)
    lines = np.array(list(index), dtype=object).reshape(len(index), W.shape[1])
    return lines, where, flip


def _chambers(lines: NDArray[Any], generic: bool) -> NDArray[np.int8]:
    """Return the sign vectors (+1, -1, and 0 off the generic case) of all directions on distinct lines."""
    n = len(lines)
    if n == 0:
        return np.zeros((1, 0), dtype=np.int8)
    columns = independent_columns(lines)
    lines = lines[:, columns]
    rank = len(columns)
    subsets = np.array(list(combinations(range(n), rank - 1)), dtype=np.int64)
    subsets = subsets.reshape(math.comb(n, rank - 1), rank - 1)
    normals = _normals(lines, subsets)
    good = (normals != 0).any(axis=1)
    normals, subsets = normals[good], subsets[good]
    at = exact_signs(normals, lines)
    simple = (at == 0).sum(axis=1) == rank - 1
    patterns = np.array(list(product((1, -1) if generic else (1, 0, -1), repeat=rank - 1)), dtype=np.int8)
    parts = []
    base, places = at[simple], subsets[simple]
    rows = np.arange(len(base))[:, None]
    for pattern in patterns:
        near = base.copy()
        near[rows, places] = pattern
        parts += [near, -near]
    for flat in np.unique(at[~simple], axis=0):
        zero = flat == 0
        local = _chambers(lines[zero], generic)
        near = np.repeat(flat[None, :], len(local), axis=0)
        for sign in (1, -1):
            block = sign * near
            block[:, zero] = local
            parts.append(block)
    if not generic:
        parts.append(np.zeros((1, n), dtype=np.int8))
    return _distinct(np.concatenate(parts))


def _distinct(rows: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the distinct rows of values -1, 0, 1, compared as packed bits."""
    if not rows.shape[1]:
        return rows[:1]
    bits = np.hstack([np.packbits(rows > 0, axis=1), np.packbits(rows < 0, axis=1)])
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    return rows[np.unique(keys, return_index=True)[1]]


def independent_columns(rows: NDArray[Any]) -> list[int]:
    """Return the first columns that span the column space, by exact elimination.

    Example:
        >>> independent_columns(np.array([[1, 2, 0], [2, 4, 1]], dtype=object))
        [0, 2]
    """
    kept: list[tuple[int, list[int]]] = []
    chosen = []
    for j in range(rows.shape[1]):
        column = [int(v) for v in rows[:, j]]
        for pivot, basis in kept:
            if column[pivot]:
                a, b = basis[pivot], column[pivot]
                column = [a * x - b * y for x, y in zip(column, basis, strict=True)]
        divisor = math.gcd(*column)
        if divisor:
            column = [v // divisor for v in column]
            kept.append((next(i for i, v in enumerate(column) if v), column))
            chosen.append(j)
    return chosen


def _normals(lines: NDArray[Any], subsets: NDArray[np.int64]) -> NDArray[Any]:
    """Return the exact generalised cross products of (s, rank-1) subsets of (n, rank) vectors."""
    rank = lines.shape[1]
    rows = [lines[subsets[:, i]] for i in range(rank - 1)]
    out = np.empty((len(subsets), rank), dtype=object)
    for j in range(rank):
        minor = _determinant(rows, [c for c in range(rank) if c != j], len(subsets))
        out[:, j] = minor if j % 2 == 0 else -minor
    return out


def _determinant(rows: list[NDArray[Any]], columns: list[int], count: int) -> NDArray[Any]:
    """Return elementwise determinants by Laplace expansion along the first row."""
    if not rows:
        return np.array([1] * count, dtype=object)
    total = np.array([0] * count, dtype=object)
    for i, c in enumerate(columns):
        rest = _determinant(rows[1:], columns[:i] + columns[i + 1 :], count)
        total = total + rows[0][:, c] * rest * (1 if i % 2 == 0 else -1)
    return total


def exact_signs(normals: NDArray[Any], points: NDArray[Any]) -> NDArray[np.int8]:
    """Return the exact signs (+1, 0, -1) of <v, w>, (s, n), for integer arrays of any size.

    Floats decide where the value exceeds its error bound: the operands and each operation are within one
    unit of 2^-53 relatively, so the sum of d products is within (d + 3) 2^-53 sum |terms|. The rest is
    recomputed in Python integers.
    """
    v, w = normals.astype(np.float64), points.astype(np.float64)
    value = v @ w.T
    bound = (v.shape[1] + 4) * 2.0**-52 * (np.abs(v) @ np.abs(w).T)
    out = np.where(value > 0, 1, -1).astype(np.int8)
    for i, j in zip(*np.nonzero(np.abs(value) <= bound), strict=True):
        dot = sum(int(a) * int(b) for a, b in zip(normals[i], points[j], strict=True))
        out[i, j] = (dot > 0) - (dot < 0)
    return out


def maximal(subsets: Bools, most: int) -> Bools:
    """Return the inclusion-maximal ones among the subsets of at most `most` points.

    Args:
        subsets: (s, N) booleans, distinct rows.
        most: largest size kept.

    Example:
        >>> maximal(np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool), 2).tolist()
        [[True, True, False]]
    """
    from geomdp.geometry import _container_kernels as kernels

    sizes = subsets.sum(axis=1)
    subsets, sizes = subsets[sizes <= most], sizes[sizes <= most]
    order = np.argsort(-sizes, kind="stable")
    keep = kernels.maximal_rows(pack(subsets[order]), sizes[order])
    return np.asarray(subsets[order][keep])


def pack(subsets: Bools) -> NDArray[np.uint64]:
    """Return (s, N) booleans as (s, ceil(N/64)) words, point a at bit a % 64 of word a // 64."""
    s, n = subsets.shape
    padded = np.zeros((s, 64 * max(1, -(-n // 64))), dtype=bool)
    padded[:, :n] = subsets
    octets = np.packbits(padded, axis=1, bitorder="little")
    return octets.view("<u8").astype(np.uint64)


def unpack(bits: NDArray[np.uint64], n: int) -> Bools:
    """Return (s, words) bits as (s, n) booleans: the inverse of :func:`pack`."""
    octets = np.ascontiguousarray(bits.astype("<u8")).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :n].astype(bool)
