"""The optimum of few rows by descending from face to face, exactly, at any size of the numbers.

Let r be the rank of the rows, equal to the number of columns. Every w != 0 lies on the plane of some row, or
in an open cell, which has a facet on the plane of some row i and touches there a cell that the other rows cut
out of that plane. So the optimum is the least of: w = 0; for every i, the optimum inside the plane of
i; and, for every i, the least over the open cells inside the plane, plus what the rows parallel to i cost on
the better side. Nothing is searched, so that a verifier can simply do it again; it takes about m^(r-1) steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.opt.planar import plane_optimum
from geomdp.opt.rows import INT64_ENTRIES, largest, primitive

#: Planar sweeps that one optimum may take.
MAX_SWEEPS = 5_000


def sweeps(m: int, r: int) -> int:
    """Return how many planar sweeps the optimum of m rows of rank r takes, at most."""
    return int((2 * m) ** max(r - 2, 0))


def faces_optimum(
    Z: NDArray[Any], strict: NDArray[np.bool_], W: NDArray[np.int64], *, generic: bool = False
) -> tuple[int, list[int]]:
    """Return (value, w): the least weight of wrong rows over all w, for rows of full column rank.

    Args:
        Z: (m, r) nonzero integers of rank r.
        strict: (m,) whether a row wants <w, z> > 0.
        W: (m,) weights.
        generic: only w on no plane.

    Example:
        >>> Z = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> faces_optimum(Z, np.array([False, False, True, True]), np.ones(4, dtype=np.int64))
        (0, [0, 1, 1])
    """
    r = Z.shape[1]
    if r <= 2:
        value, flat_w = plane_optimum(Z, strict, W, generic=generic)
        return value, list(flat_w)
    best: tuple[int, list[int]] | None = None if generic else (int(W[strict].sum()), [0] * r)
    seen: set[tuple[int, ...]] = set()
    for i in range(len(Z)):
        z = [int(v) for v in Z[i]]
        if tuple(z) in seen:
            continue
        seen |= {tuple(z), tuple(-v for v in z)}
        k = min((c for c in range(r) if z[c]), key=lambda c: abs(z[c]))
        inside = _inside(Z, z, k)
        flat = ~(inside != 0).any(axis=1)
        rest = primitive(inside[~flat]), strict[~flat], W[~flat]
        along = products(Z[flat], Z[i])
        near = largest(products(Z, Z[i])) + 1
        if not generic:
            value, v = faces_optimum(*rest)
            value += int(W[flat & strict].sum())
            if best is None or value < best[0]:
                best = value, _lift(z, k, v)
        value, v = faces_optimum(*rest, generic=True)
        costs = {side: int(W[flat][side * along < 0].sum()) for side in (1, -1)}
        side = min(costs, key=lambda s: costs[s])
        if best is None or value + costs[side] < best[0]:
            best = value + costs[side], [near * a + side * b for a, b in zip(_lift(z, k, v), z, strict=True)]
    return best or (0, [0] * r)  # there is a row, so that there is a best


def _inside(Z: NDArray[Any], z: list[int], k: int) -> NDArray[Any]:
    """Return the rows as functionals on the plane of z, with the basis z_k e_l - z_l e_k (l != k)."""
    if Z.dtype != object and 2 * largest(Z) ** 2 >= INT64_ENTRIES:
        Z = Z.astype(object)
    free = [c for c in range(len(z)) if c != k]
    row = np.array(z, dtype=Z.dtype)
    return np.asarray(row[k] * Z[:, free] - Z[:, [k]] * row[free])


def _lift(z: list[int], k: int, v: list[int]) -> list[int]:
    full = [0] * len(z)
    for c, value in zip((c for c in range(len(z)) if c != k), v, strict=True):
        full[c] = z[k] * int(value)
        full[k] -= z[c] * int(value)
    return full
