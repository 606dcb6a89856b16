"""Many seeded geometric variables at once, the same numbers as numpy's; for simulation, never a release."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: From this probability on numpy searches the distribution function upward, one uniform number for each draw.
_SEARCHED = 0.333333333333333333333333
#: Fewer draws than this are not worth loading the compiled loop.
_FEW = 2**16
#: Draws at a time, and parts of [0, 1) in the table: both stay in the processor's cache.
_BLOCK, _PARTS = 2**14, 2**12


def geometric(rng: np.random.Generator, p: float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Return ``rng.geometric(p, size)``, faster where p is at least 1/3 and the draws are many.

    Like numpy's own method it compares one uniform number with the distribution function, whose steps are
    summed up in the same order, so that the floats agree, too. The search starts at the right one of 2^12
    equal parts of [0, 1) instead of at 0.

    Args:
        rng: a generator; it is left as numpy's own method would leave it.
        p: probability of success, 0 < p <= 1.
        size: shape of the draws.

    Example:
        >>> one, two = np.random.default_rng(5), np.random.default_rng(5)
        >>> bool((geometric(one, 0.4, 70_000) == two.geometric(0.4, 70_000)).all())
        True
        >>> one.random() == two.random()
        True
    """
    draws = np.empty(size, dtype=np.int64)
    if p < _SEARCHED or draws.size < _FEW:
        return rng.geometric(p, size)
    from geomdp.privacy import _seeded_kernels

    steps, first = _table(p)
    flat = draws.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        out = flat[start : start + _BLOCK]
        _seeded_kernels.invert(rng.random(len(out)), steps, first, out)
    return draws


@lru_cache(maxsize=16)
def _table(p: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return (steps of the distribution function, smallest draw in each part); the last step is boundless."""
    steps, mass, total = [p], p, p
    while mass > 2.0**-80:
        mass *= 1 - p
        total += mass
        steps.append(total)
    first = 1 + np.searchsorted(np.array(steps), np.arange(_PARTS) / _PARTS)
    return np.array([*steps, math.inf]), first.astype(np.int64)
