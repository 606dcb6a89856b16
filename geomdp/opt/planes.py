"""Steps between a space of directions w and the plane of those orthogonal to one point, in integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.opt.rows import INT64_ENTRIES


def largest_entry(array: NDArray[Any]) -> int:
    """Return the largest absolute value of an integer array as a Python integer; 0 when it is empty."""
    return max(int(array.max()), -int(array.min())) if array.size else 0


def pivot_entry(point: NDArray[Any]) -> int:
    """Return the index of the nonzero entry of least absolute value."""
    entries = [abs(int(v)) for v in point]
    return min((c for c in range(len(entries)) if entries[c]), key=entries.__getitem__)


def project_along(X: NDArray[Any], i: int) -> NDArray[Any]:
    """Return (L - 1, r - 1) coordinates of <w, x_j>, j != i, as functions on the plane {w: <w, x_i> = 0}.

    With k the pivot entry of x_i, the plane has the basis x_ik e_l - x_il e_k (l != k), on which x_j takes
    the values x_ik x_jl - x_il x_jk.

    Example:
        >>> project_along(np.array([[0, 0, 1], [2, 3, 1], [4, 5, 7]]), 0).tolist()
        [[2, 3], [4, 5]]
    """
    if X.dtype != object and 2 * largest_entry(X) ** 2 >= INT64_ENTRIES:
        X = X.astype(object)
    k = pivot_entry(X[i])
    others = np.delete(X, i, axis=0)
    free = [c for c in range(X.shape[1]) if c != k]
    return np.asarray(X[i, k] * others[:, free] - others[:, [k]] * X[i, free])


def lift_along(point: NDArray[Any], weights: Sequence[int]) -> list[int]:
    """Return the direction of the plane orthogonal to a point whose coordinates there are the weights.

    Example:
        >>> lift_along(np.array([1, 2, 3]), [4, 5])
        [-23, 4, 5]
    """
    k = pivot_entry(point)
    entries = [int(v) for v in point]
    free = [c for c in range(len(entries)) if c != k]
    full = [0] * len(entries)
    for c, weight in zip(free, weights, strict=True):
        full[c] = entries[k] * weight
        full[k] -= entries[c] * weight
    return full


def push_off(X: NDArray[Any], i: int, weights: Sequence[int], side: int) -> list[int]:
    """Return a direction near ``weights`` that leaves the plane of row i for its positive or negative side.

    The given direction lies on that plane and on no other. Scaled by more than every |<x_i, x_j>| it keeps
    every other sign when side * x_i is added.

    Example:
        >>> push_off(np.array([[0, 1], [3, 1]]), 0, [1, 0], -1)
        [2, -1]
    """
    point = X[i]
    near = largest_entry(products(np.delete(X, i, axis=0), point))
    return shrink([(near + 1) * w + side * int(x) for w, x in zip(weights, point, strict=True)])


def shrink(weights: Sequence[int]) -> list[int]:
    """Return the weights divided by their gcd (all zeros stay)."""
    divisor = math.gcd(*(int(w) for w in weights)) or 1
    return [int(w) // divisor for w in weights]
