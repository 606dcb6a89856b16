"""Chambers of a central arrangement by walking circles with incremental hashing.

Every flat of rank r - 2 has an orthogonal plane; in it the other hyperplanes cut a circle into arcs,
sorted by an exact angular order. An arc bounds one cell per chamber of the flat's own arrangement. Along
the circle a cell's hash changes by one XOR per crossing, so a cell is recognised in O(1), and a witness
is computed only when a cell is new. About (r-1)*2^(r-3) candidates are met per pair of opposite cells.

The caller knows the exact number of chambers, so a hash collision (probability below N^2/2^63) can only
show as a cell too few; then the walk is repeated with fresh keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.geometry.count import count_chambers

#: Walks with fresh keys before the compiled walk is given up.
ATTEMPTS = 3


def half_chambers(
    rows: NDArray[np.int64],
    count: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return float witnesses of one chamber of each antipodal pair: those positive on row 0.

    Args:
        rows: (m, r) compact int64 rows (see ``compact_minors``), m >= 1, rank r, pairwise independent.
        count: the exact number of chambers.
        rng: source of hash keys (no privacy at stake).
        progress: called with the fraction done.

    Returns:
        (count/2, r) witnesses scaled to largest entry 1, and their margins min |<x, w>| / |x|_1;
        None if no attempt found exactly that many cells.
    """
    from geomdp.geometry import _kernels

    r = rows.shape[1]
    XT = np.ascontiguousarray(rows.T.astype(np.float64))
    XT /= np.abs(XT).sum(axis=0)
    if r <= 2:
        W = _plane(rows, _kernels) if r == 2 else np.ones((1, 1))
        W = W * np.where(W @ XT[:, 0] > 0, 1.0, -1.0)[:, None]
        W /= np.abs(W).max(axis=1)[:, None]
        step = max(1, 2**22 // len(rows))
        margins = [np.abs(W[i : i + step] @ XT).min(axis=1) for i in range(0, len(W), step)]
        return W, np.concatenate(margins)
    for _ in range(ATTEMPTS):
        found = _walk_once(rows, XT, count // 2, rng, progress)
        if found is not None:
            return found
    return None


def _plane(rows: NDArray[np.int64], kernels: Any) -> NDArray[np.float64]:
    _, W = kernels.sectors(rows, np.zeros(len(rows), dtype=np.uint64))
    return np.asarray(W[::2])


def _walk_once(
    rows: NDArray[np.int64],
    XT: NDArray[np.float64],
    half: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    from geomdp.geometry import _kernels

    m, r = rows.shape
    keys = _fresh_keys(m, rng)
    table = np.zeros(1 << max(2, (2 * half - 1).bit_length()), dtype=np.uint64)
    W, margins = np.empty((half, r)), np.empty(half)
    n = 0
    stride, everything = max(1, m // 64), np.zeros(0, dtype=np.bool_)
    for first in range(0, m, stride):
        last = min(first + stride, m)
        bases = _kernels.flats(rows, r - 2, first, last, everything)
        hard = np.zeros(len(bases), dtype=np.bool_)
        n = _kernels.walk(rows, XT, keys, bases, table, W, margins, n, hard)
        for basis in bases[hard] if n >= 0 else ():
            inner = _inner_chambers(rows, keys, basis, rng)
            if inner is None:
                return None
            n = _kernels.circle(rows, XT, keys, basis, *inner, table, W, margins, n)
            if n < 0:
                break
        if n < 0:
            return None
        if progress is not None:
            progress(1.0 - (1.0 - last / m) ** (r - 2))
    return (W, margins) if n == half else None


def _fresh_keys(m: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return random even hash keys, except the first, which is odd: bit 0 is the sign on row 0."""
    keys = rng.integers(0, 2**64, m, dtype=np.uint64) & ~np.uint64(1)
    keys[0] |= np.uint64(1)
    return keys


def _inner_chambers(
    rows: NDArray[np.int64], keys: NDArray[np.uint64], basis: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.uint64], NDArray[np.float64]] | None:
    """Return codes and directions of the chambers of the hyperplanes that contain a flat."""
    from geomdp.geometry import _kernels

    A, _, columns = _kernels.orthogonal(rows, basis)
    members = np.flatnonzero((A == 0).all(axis=1))
    local = np.ascontiguousarray(rows[members][:, columns])
    found = half_chambers(local, count_chambers(local), rng)
    if found is None:
        return None
    W = np.concatenate([found[0], -found[0]])
    codes = np.zeros(len(W), dtype=np.uint64)
    for x, key in zip(local, keys[members], strict=True):
        codes ^= np.where(W @ x > 0, key, np.uint64(0))
    return codes, W
