"""Upper bounds: local search over planes of directions, on whitened rows.

In the plane of the present w and another direction u the best w' is found by one sort. Good u are random, or
point along the rows nearest to the boundary. With many rows the search runs on a subsample first. Floats
propose, the incumbent counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.approximate import as_floats
from geomdp.opt.box_tree import whitening
from geomdp.opt.incumbent import Incumbent

#: Rows of the subsample on which a large problem is searched first.
SUBSAMPLE = 1500

#: Elementary steps of the whole search (rows times planes), about 0.05 s.
EFFORT = 600_000


class PlaneSearch:
    """Local search on rows of full column rank.

    Args:
        X: (m, r) integer rows.
        W: (m,) weights.
        seed: of the random starts and turns; it changes the effort, never what a witness is worth.

    Example:
        >>> X = np.array([[1, 1], [2, 1], [-3, -1]])
        >>> search = PlaneSearch(X, np.array([1, 1, 1]))
        >>> w = search.climb(np.array([1.0, 0.0]), 8)
        >>> int((X @ w < 0).sum())
        0
    """

    def __init__(self, X: NDArray[Any], W: NDArray[np.int64], seed: int = 0) -> None:
        self.T = whitening(X).astype(np.float64)
        F = as_floats(X) @ self.T
        self.F = np.ascontiguousarray(F / np.linalg.norm(F, axis=1, keepdims=True))
        self.W = W
        self.r = X.shape[1]
        self.rng = np.random.default_rng(seed)

    def start(self) -> NDArray[np.float64]:
        """Return a least-squares direction, reweighted towards the rows that are wrong or nearly so."""
        W = self.W.astype(np.float64)
        w = self.F.T @ W
        for _ in range(5):
            norm = float(np.linalg.norm(w))
            if norm == 0.0:
                return np.asarray(self.rng.standard_normal(self.r))
            margin = self.F @ (w / norm) * 3.0
            pull = W / (1.0 + np.exp(np.clip(margin, -30, 30)))
            curve = pull / (1.0 + np.exp(-np.clip(margin, -30, 30))) + 1e-9
            H = (self.F * curve[:, None]).T @ self.F + 1e-6 * np.eye(self.r) * curve.sum()
            w = w / norm * 3.0 + np.linalg.solve(H, self.F.T @ pull)
        return np.asarray(w)

    def climb(
        self,
        w: NDArray[np.float64],
        planes: int,
        patience: int = 10**9,
        chosen: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the direction (in the original columns) reached from w (whitened) over some planes."""
        from geomdp.opt import _upper_kernels

        self.cost, v = self._climb(_upper_kernels, w, planes, patience, chosen)
        return np.asarray(self.T @ v)

    def _climb(self, k: Any, w: Any, planes: int, patience: int, chosen: Any) -> Any:
        F, W = (self.F, self.W) if chosen is None else (self.F[chosen], self.W[chosen])
        norm = float(np.linalg.norm(w)) or 1.0
        cost, v = k.climb(F, W, w / norm, self.rng.standard_normal((planes, self.r)), patience)
        return int(cost), v

    def run(self, incumbent: Incumbent, columns: list[int], effort: int = EFFORT) -> None:
        """Search and offer the results to the incumbent, on all columns."""
        from geomdp.opt import _upper_kernels as k

        m = len(self.F)
        w = self.start()
        if m > 2 * SUBSAMPLE:
            part = self.rng.choice(m, SUBSAMPLE, replace=False)
            w = self._restarts(k, w, effort // SUBSAMPLE, part)
            planes = max(12, 2 * effort // m)
            _, w = self._climb(k, w, planes, planes, None)
        else:
            w = self._restarts(k, w, min(max(effort // m, 12), 30 * m), None)
        offer(incumbent, self.T @ w, columns)

    def _restarts(self, k: Any, w: NDArray[Any], planes: int, chosen: Any) -> NDArray[Any]:
        """Climb, then climb again from moved copies of the best, until the planes are used up."""
        patience = 12 * self.r
        best, top = self._climb(k, w, planes, patience, chosen)
        planes -= patience
        spread = 0.5
        while planes > 0:
            moved = top + spread * self.rng.standard_normal(self.r) / self.r**0.5
            cost, v = self._climb(k, moved, min(planes, 4 * patience), patience, chosen)
            if cost < best:
                best, top = cost, v
            spread = {0.5: 0.2, 0.2: 0.05, 0.05: 0.5}[spread]
            planes -= 2 * patience
        return np.asarray(top)


def offer(incumbent: Incumbent, direction: NDArray[np.float64], columns: list[int]) -> bool:
    """Offer a float direction on some columns to an incumbent on all of them."""
    full = np.zeros(incumbent.rows.d)
    full[columns] = direction
    return incumbent.offer_floats(full)
