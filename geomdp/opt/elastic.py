"""Upper bounds by reweighted elastic programs, for many columns and structured rows.

The elastic program allows every row a slack at a price; its solution at prices W_i / (s_i + 0.05) in turn
approaches few wrong rows. Weak rows that must hold with equality are hit exactly only after the float w is
snapped to fractions of small denominators.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.incumbent import Incumbent

#: Denominators to which an elastic solution is snapped.
DENOMINATORS = (1, 12, 1000, 10**6)

#: Entries of the program above which it is not tried.
MAX_ENTRIES = 20_000_000


def elastic_upper(incumbent: Incumbent, rounds: int = 12, deadline: float | None = None) -> None:
    """Offer the snapped solutions of up to ``rounds`` elastic programs to the incumbent.

    Example:
        >>> from geomdp.opt.rows import rows_of
        >>> X = np.array([[1, 0], [-1, 0], [0, 1]])
        >>> best = Incumbent(rows_of(X, np.array([2, 2, 0]), np.array([0, 0, 1])))
        >>> elastic_upper(best)
        >>> best.cost, best.weights
        (0, (0, -1))
    """
    from geomdp.lp.infeasible import ElasticProgram

    rows = incumbent.rows
    if rows.m == 0 or rows.m * rows.d > MAX_ENTRIES:
        return
    program = ElasticProgram(rows.Z, rows.strict)
    W = rows.W / rows.W.max()
    cost, idle = W.copy(), 0
    for _ in range(rounds):
        left = 1e6 if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return
        w, slack = program.solve(cost, left)
        if len(w) != rows.d or len(slack) != rows.m:
            return
        idle = 0 if offer_snapped(incumbent, w) else idle + 1
        if idle > 4:  # the reweighting has settled
            return
        cost = W / (np.maximum(slack, 0.0) + 0.05)
        cost *= 20.0 / cost.max()


def offer_snapped(incumbent: Incumbent, w: NDArray[np.float64]) -> bool:
    """Offer a float vector at several snappings of its entries; return whether one was better."""
    if not np.isfinite(w).all() or not np.abs(w).max(initial=0.0) > 0:
        return False
    better = incumbent.offer_floats(w, (20,))
    for denominator in DENOMINATORS:
        better |= incumbent.offer(snapped(w, denominator))
    return better


def snapped(w: NDArray[Any], denominator: int) -> list[int]:
    """Return integers proportional to the entries of w, each snapped to a fraction of small denominator.

    Example:
        >>> snapped(np.array([0.3333333334, -0.5, 0.0]), 1000)
        [2, -3, 0]
    """
    if denominator == 1:
        return [int(v) for v in np.rint(w)]
    parts = [Fraction(float(v)).limit_denominator(denominator) for v in w]
    scale = math.lcm(*(p.denominator for p in parts))
    return [int(p * scale) for p in parts]
