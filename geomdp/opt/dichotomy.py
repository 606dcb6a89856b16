"""Any rank by listing: the gain of every labelling that a halfspace can give the occupied rays."""

from __future__ import annotations

import numpy as np

from geomdp.core.domain import Domain
from geomdp.opt.presolve import Lines

#: Sums of absolute gains below this are exact in double precision.
FLOAT_SAFE = 2**53


def best_dichotomy(lines: Lines) -> tuple[int, list[int]]:
    """Return (least gain, weights on the kept columns) of field 0 by evaluating every dichotomy.

    The domain of the rays with a gain is discretised (one representative per labelling, faces included), and
    the gain of a labelling h is (sum_x h(x) g_x + sum_x g_x) / 2. Independent of the sweeps, and slower.

    Raises:
        CapacityError: when there are too many dichotomies; the message holds the exact count.

    Example:
        >>> from geomdp.opt.presolve import lines_of
        >>> best_dichotomy(lines_of(np.array([[0, 1], [1, 1], [2, 1]]), np.array([[-2, 3, -2]])))[0]
        -2
    """
    from geomdp.geometry.arrangement import dichotomies

    if lines.rank == 0:
        return 0, []
    ahead, behind = lines.forward[0], lines.backward[0]
    rays = np.concatenate([lines.vectors[ahead != 0], -lines.vectors[behind != 0]])
    gains = np.concatenate([ahead[ahead != 0], behind[behind != 0]])
    W = dichotomies(Domain(rays))
    exact = np.float64 if int(np.abs(gains).sum()) < FLOAT_SAFE else np.int64
    best, at = None, 0
    for rows, labels in W.blocks():
        agreements = labels.astype(exact) @ gains.astype(exact)
        place = int(agreements.argmin())
        value = (int(agreements[place]) + int(gains.sum())) // 2
        if best is None or value < best:
            best, at = value, rows.start + place
    return int(best or 0), [int(w) for w in W.weights[at]]
