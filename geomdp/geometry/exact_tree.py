"""The tree of sign vectors in integers: for coordinates that a solver's floats cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products
from geomdp.exact.farkas import integer_vector
from geomdp.exact.simplex import ConeMembership
from geomdp.geometry.rounding import shorten_witnesses


def weights_by_exact_tree(
    points: NDArray[Any],
    *,
    pointed: bool,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> NDArray[Any]:
    """Return an integer w for every labelling x -> +1 iff <w, x> >= 0: each exactly once, none missing.

    It grows the same tree as :func:`geomdp.geometry.tree.weights_by_tree`; whether a prefix of labels is
    realised is decided by :func:`direction_of` instead of a program in floats.

    Args:
        points: (m, d) integers of any size; zero rows are labelled +1 by every w.
        pointed: True if X lies in an open halfspace: then every labelling has a witness without zeros.
        rng: source of a perturbation inside open cells, or None.
        progress: called with the fraction done.

    Returns:
        (N, d) integers.

    Example:
        >>> len(weights_by_exact_tree(np.array([[1, 0], [2**80, 1], [2**80, -1]]), pointed=True))
        6
    """
    rows = points[(points != 0).any(axis=1)].astype(object)
    m, d = rows.shape
    found: list[list[int]] = []
    waiting: list[tuple[tuple[int, ...], list[int], float]] = [((), [0] * d, 1.0)]
    done = 0.0
    while waiting:
        signs, witness, share = waiting.pop()
        depth = len(signs)
        if depth == m:
            found.append(_opened(rows, signs, witness))
            done += share
            if progress is not None:
                progress(min(done, 1.0))
            continue
        value = sum(x * w for x, w in zip(rows[depth].tolist(), witness, strict=True))
        cases = []
        for sign in (-1, 1):
            w: list[int] | None = witness
            if sign * value < 0 or (value == 0 and (pointed or sign < 0)):
                w = direction_of(rows[: depth + 1], (*signs, sign), strict=pointed)
            if w is not None:
                cases.append(((*signs, sign), w))
        waiting += [(longer, w, share / len(cases)) for longer, w in cases]
    return _shortened(rows, found, rng)


def direction_of(rows: NDArray[Any], signs: tuple[int, ...], *, strict: bool) -> list[int] | None:
    """Return an integer w with <x_i, w> > 0 where sign i is +1 and < 0 where it is -1, or None without one.

    Proof note: let z_i = sign_i x_i and s_i = 1 where the inequality is strict. If (0, 1) is a non-negative
    combination of the vectors (z_i, s_i), the same combination of <z_i, w> is 0 for every w, with a positive
    weight on a strict row: no w fits. Otherwise a Farkas vector (v, t) has t > 0 and <v, z_i> + t s_i <= 0:
    w = -v fits.

    Args:
        rows: (k, d) integers x_i.
        signs: k labels +1 or -1.
        strict: False to be content with <x_i, w> >= 0 where the sign is +1.

    Example:
        >>> direction_of(np.array([[1, 0], [-1, 0]]), (1, 1), strict=True) is None
        True
        >>> direction_of(np.array([[1, 0], [-1, 0]]), (1, 1), strict=False)[0]
        0
    """
    sides = np.array(signs, dtype=object)
    tight = np.array([int(strict or sign < 0) for sign in signs], dtype=object)
    generators = np.c_[rows.astype(object) * sides[:, None], tight]
    farkas = ConeMembership(generators, [0] * rows.shape[1] + [1]).solve()
    return None if farkas is None else [-int(v) for v in farkas[:-1]]


def _opened(rows: NDArray[Any], signs: tuple[int, ...], witness: list[int]) -> list[int]:
    """Return a witness without zeros where the labelling has one, else the witness."""
    if not (products(rows, integer_vector(witness)) == 0).any():
        return witness
    inner = direction_of(rows, signs, strict=True) if len(rows) else None
    return witness if inner is None else inner


def _shortened(rows: NDArray[Any], found: list[list[int]], rng: np.random.Generator | None) -> NDArray[Any]:
    """Return the witnesses, those without zeros shorter, or moved at random inside their cells."""
    weights = integer_array("weights", found, 2).astype(object)
    if len(rows):
        free = (products(weights, np.ascontiguousarray(rows.T)) != 0).all(axis=1).astype(bool)
        if free.any():
            weights[free] = shorten_witnesses(rows, weights[free].tolist(), rng)
    return integer_array("weights", weights, 2)
