"""The best classifier found so far; every candidate is recounted in integers before it counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.approximate import as_floats
from geomdp.opt.rows import Rows

#: Largest entry to which weights are shortened.
SHORT = 2**20

#: Sine of the angle to a row's plane within which a float direction may be on either side of it.
NEARLY = 1e-6


class Incumbent:
    """The least cost of a weight vector seen so far on given rows; w = 0 is the start.

    Args:
        rows: the weighted rows.
        notify: called with the new cost after each improvement.

    Example:
        >>> from geomdp.opt.rows import rows_of
        >>> best = Incumbent(rows_of(np.array([[1, 1], [2, 1]]), np.array([0, 1]), np.array([1, 0])))
        >>> best.cost, best.offer([2, -3]), best.cost
        (1, True, 0)
    """

    def __init__(self, rows: Rows, notify: Callable[[int], None] | None = None) -> None:
        self.rows = rows
        self.weights: tuple[int, ...] = (0,) * rows.d
        self.cost = rows.cost(exact_vector(self.weights))
        self._notify = notify
        self._unit: NDArray[np.float64] | None = None

    def offer(self, weights: Sequence[int] | NDArray[Any]) -> bool:
        """Count a candidate's cost and keep it if it is better; return whether it was."""
        w = [int(v) for v in weights]
        divisor = math.gcd(*w) or 1
        w = [v // divisor for v in w]
        cost = self.rows.cost(exact_vector(w))
        if cost >= self.cost:
            return False
        self.cost, self.weights = cost, tuple(w)
        if self._notify is not None:
            self._notify(cost)
        return True

    def is_hopeless(self, direction: NDArray[np.float64]) -> bool:
        """Whether a float direction is clearly wrong on rows of the incumbent's weight: a guide, no proof.

        Rows that it meets about with equality count as right, as they can be after snapping.

        Example:
            >>> from geomdp.opt.rows import rows_of
            >>> best = Incumbent(rows_of(np.array([[1, 1], [2, 1]]), np.array([0, 1]), np.array([1, 0])))
            >>> best.is_hopeless(np.array([-1.0, 0.0])), best.is_hopeless(np.array([1.0, -1.5]))
            (True, False)
        """
        if self._unit is None:
            F = as_floats(self.rows.Z)
            self._unit = F / np.linalg.norm(F, axis=1, keepdims=True)
        wrong = self._unit @ direction < -NEARLY * float(np.linalg.norm(direction))
        return int(self.rows.W[wrong].sum()) >= self.cost

    def shorten(self) -> None:
        """Replace the weights by ones of smaller entries that are as good, if rounding finds them."""
        top = max((abs(w) for w in self.weights), default=0)
        scale = 1
        while scale < min(top, SHORT):
            w = [(2 * v * scale + top) // (2 * top) for v in self.weights]
            cost = self.rows.cost(exact_vector(w))
            if cost <= self.cost:
                self.cost, self.weights = cost, tuple(w)
                return
            scale += 1 + scale // 3

    def offer_floats(self, direction: NDArray[np.float64], bits: Sequence[int] = (10, 20, 40)) -> bool:
        """Offer a float direction rounded to several precisions."""
        top = float(np.abs(direction).max(initial=0.0))
        if top == 0.0 or not np.isfinite(top):
            return False
        better = False
        for bit in bits:
            better |= self.offer([int(v) for v in np.rint(direction / top * 2.0**bit)])
        return better


def exact_vector(weights: Sequence[int]) -> NDArray[Any]:
    """Return integers as an array: int64 below 2^62, else of Python integers."""
    wide = np.empty(len(weights), dtype=object)
    wide[:] = [int(w) for w in weights]
    return wide.astype(np.int64) if all(abs(w) < 2**62 for w in weights) else wide
