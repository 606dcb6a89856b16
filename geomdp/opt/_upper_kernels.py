# ruff: noqa: PLR0912 (one pass, kept in one place)
"""Compiled local search over planes of directions; floats only, every result is recounted by the caller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def best_in_plane(
    F: NDArray[Any], W: NDArray[Any], p: NDArray[Any], u: NDArray[Any]
) -> tuple[int, float, int]:
    """Return (cost, t, s): the best direction s (u - t w) of the plane of w and u, with p = F w.

    Turning from w through u to -w, row i changes sides where t = q_i / p_i with q = F u; the second half of
    the circle mirrors the first, with the rows' costs complemented.
    """
    m, d = F.shape
    key, step = np.empty(m), np.empty(m, np.int64)
    cost, total = 0, 0
    for i in range(m):
        q = 0.0
        for j in range(d):
            q += F[i, j] * u[j]
        total += W[i]
        if p[i] > 0:
            key[i], step[i] = q / p[i], W[i]
        elif p[i] < 0:
            key[i], step[i] = q / p[i], -W[i]
            cost += W[i]
        else:
            key[i], step[i] = -1e300, 0
            if q < 0:
                cost += W[i]
    order = np.argsort(key)
    best, at, side = cost, -1, 1
    if total - cost < best:
        best, side = total - cost, -1
    for k in range(m):
        cost += step[order[k]]
        if k + 1 < m and key[order[k + 1]] - key[order[k]] <= 1e-13 * (1.0 + abs(key[order[k]])):
            continue
        if cost < best:
            best, at, side = cost, k, 1
        if total - cost < best:
            best, at, side = total - cost, k, -1
    first = 0
    while first < m - 1 and key[order[first]] <= -1e299:
        first += 1
    if at < 0:
        t = key[order[first]] - 1.0 - abs(key[order[first]])
    elif at == m - 1:
        t = key[order[m - 1]] + 1.0 + abs(key[order[m - 1]])
    elif key[order[at]] <= -1e299:
        t = key[order[at + 1]] - 1.0 - abs(key[order[at + 1]])
    else:
        t = 0.5 * (key[order[at]] + key[order[at + 1]])
    return best, t, side


@njit(cache=True, nogil=True)
def climb(
    F: NDArray[Any], W: NDArray[Any], w: NDArray[Any], directions: NDArray[Any], patience: int
) -> tuple[int, NDArray[Any]]:
    """Return (cost, w) after sweeping the planes of w with each direction in turn, keeping the best.

    Stops after ``patience`` planes in a row without improvement.
    """
    m, d = F.shape
    p = np.empty(m)
    best, idle = -1, 0
    for i in range(m):
        p[i] = 0.0
        for j in range(d):
            p[i] += F[i, j] * w[j]
    for e in range(directions.shape[0]):
        u = directions[e]
        cost, t, side = best_in_plane(F, W, p, u)
        if best < 0 or cost < best:
            best, idle = cost, 0
            norm = 0.0
            for j in range(d):
                w[j] = side * (u[j] - t * w[j])
                norm += w[j] * w[j]
            norm = norm**0.5
            for j in range(d):
                w[j] /= norm
            for i in range(m):
                p[i] = 0.0
                for j in range(d):
                    p[i] += F[i, j] * w[j]
        else:
            idle += 1
            if idle >= patience:
                break
    return best, w
