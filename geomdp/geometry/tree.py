"""Labellings by a tree of sign vectors with one linear program per branch: the walk's LP twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.exact.linear import nullspace
from geomdp.geometry.flats import column_basis
from geomdp.geometry.rounding import round_witnesses
from geomdp.lp.highs import SignSystem, as_integers

#: An optimum above this is taken for positive; a wrong guess is caught by the exact count or the recheck.
TOLERANCE = 1e-9

#: Coordinates from here on are not exact as floats.
WIDEST = 2**53


def weights_by_tree(
    points: NDArray[Any],
    *,
    pointed: bool,
    rng: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> NDArray[Any] | None:
    """Return an integer w for every labelling x -> +1 iff <w, x> >= 0 that the programs find realisable.

    Point by point a realisable prefix is extended by both labels. The label that the prefix's own
    witness gives is free; the other one costs a program. Witnesses are checked in integers here;
    that none is missing is for the caller to check against the exact count.

    Args:
        points: (m, d) integers; zero rows are labelled +1 by every w.
        pointed: True if X lies in an open halfspace: then every labelling has a witness without zeros.
        rng: source of a perturbation inside open cells, or None.
        progress: called with the fraction done.

    Returns:
        (N, d) integers; None when coordinates are too wide for floats, or a witness fails its check.

    Example:
        >>> len(weights_by_tree(np.array([[1, 0], [-1, 0]]), pointed=False))
        3
    """
    rows = points[(points != 0).any(axis=1)]
    d = points.shape[1]
    if not len(rows):
        return np.zeros((1, d), dtype=np.int64)
    if max(abs(int(rows.max())), abs(int(rows.min()))) >= WIDEST:
        return None
    tree = _Tree(rows, pointed, rng, progress)
    try:
        tree.grow(0, np.zeros(d), 1.0)
    except _WitnessError:
        return None
    return np.array(tree.found, dtype=np.int64 if tree.narrow else object)


class _WitnessError(Exception):
    """A program's witness does not give the labels that it was made for."""


class _Tree:
    """One depth-first search; ``signs`` is the current prefix."""

    def __init__(
        self,
        rows: NDArray[Any],
        pointed: bool,
        rng: np.random.Generator | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.rows, self.rng, self.progress = rows, rng, progress
        self.search = SignSystem(rows, strict=pointed)
        self.inner = self.search if pointed else SignSystem(rows, strict=True)
        lengths = np.abs(rows.astype(np.float64)).sum(axis=1, keepdims=True)
        self.scaled = rows.astype(np.float64) / lengths
        self.signs = np.zeros(len(rows), dtype=np.int8)
        self.found: list[list[int]] = []
        self.narrow, self.done = True, 0.0

    def grow(self, depth: int, witness: NDArray[np.float64], share: float) -> None:
        """Extend the prefix of ``depth`` signs that ``witness`` realises; share is the work below."""
        if depth == len(self.rows):
            self._leaf()
            self.done += share
            if self.progress is not None:
                self.progress(min(self.done, 1.0))
            return
        value = float(self.scaled[depth] @ witness)
        known = 0 if abs(value) <= 1e-6 else (1 if value > 0 else -1)
        branches = []
        for sign in (1, -1):
            self._demand(depth, sign)
            t, w = (1.0, witness) if sign == known else self.search.solve()
            if t > TOLERANCE:
                branches.append((sign, w))
        for sign, w in branches:
            self._demand(depth, sign)
            self.grow(depth + 1, w, share / len(branches))
        self._demand(depth, 0)

    def _demand(self, row: int, sign: int) -> None:
        self.signs[row] = sign
        self.search.set_sign(row, sign)
        if self.inner is not self.search:
            self.inner.set_sign(row, sign)

    def _leaf(self) -> None:
        t, w = self.inner.solve()
        if t > TOLERANCE:
            w = w / np.abs(w).max()
            margin = np.array([np.abs(self.scaled @ w).min()])
            weights = round_witnesses(w[None], margin, self.rng)[0]
        else:
            weights = self._on_a_face()
        if not bool(((products(self.rows, weights) >= 0) == (self.signs > 0)).all()):
            raise _WitnessError
        self.narrow = self.narrow and weights.dtype != object
        self.found.append([int(x) for x in weights])

    def _on_a_face(self) -> NDArray[Any]:
        """Return an integer witness that vanishes exactly where the float one seems to."""
        _, w = self.search.solve()
        zeros = self.rows[np.abs(self.scaled @ w) <= 1e-7]
        chosen = column_basis(np.ascontiguousarray(zeros.T))
        basis = np.array(
            nullspace(zeros[list(chosen)]) if chosen else np.eye(len(w), dtype=np.int64), dtype=object
        )
        if not len(basis) or not np.abs(w).max() > 0:
            return np.zeros(self.rows.shape[1], dtype=np.int64)
        coordinates = np.linalg.lstsq(basis.T.astype(np.float64), w, rcond=None)[0].astype(np.float64)
        return products(np.ascontiguousarray(basis.T), as_integers(coordinates, 30))
