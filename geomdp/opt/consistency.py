"""Whether some w agrees with chosen rows, decided in integers: a w, or an infeasible subsystem.

Floats answer this faster, but not always: weak rows may have to be met with equality by fractions that no
rounding finds, and nearly dependent rows mislead a solver. This is the last resort of the branching tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.approximate import as_floats
from geomdp.exact.simplex import ConeMembership
from geomdp.opt.rows import Rows
from geomdp.opt.subsystems import Subsystem

#: Values of unit rows below which a row counts as met with equality, where a basis is guessed.
TIGHT = 1e-7


def consistent(
    rows: Rows,
    index: NDArray[np.int64],
    state: NDArray[np.int64],
    pause: Callable[[], None] | None = None,
) -> Subsystem | tuple[int, ...]:
    """Return integers w that make chosen rows right, or an infeasible subsystem of them.

    Proof note: the rows (z_i, s_i), s_i = 1 where row i is strict, span a cone. If (0, 1) is in it, the
    multipliers show an infeasible subsystem. Otherwise a Farkas vector (v, t) has t > 0 and
    <v, z_i> + t s_i <= 0 for all i: w = -v is right at every one of the rows.

    Args:
        rows: the rows.
        index: the chosen ones, ascending.
        state: (m,) -1 where a row is to be wrong: it counts as -z with the other strictness.
        pause: called before every pivot; it may raise.

    Example:
        >>> from geomdp.opt.rows import rows_of
        >>> R = rows_of(np.array([[1, 0], [-1, 0], [0, 1]]), np.array([1, 1, 0]), np.array([0, 0, 1]))
        >>> open_, every = np.zeros(3, dtype=np.int64), np.arange(3)
        >>> R.cost(np.array(consistent(R, every, open_)))
        0
    """
    sign = np.where(state[index] < 0, -1, 1)
    Z = rows.Z[index] * sign[:, None]
    strict = rows.strict[index] ^ (sign < 0)
    cone = ConeMembership(np.c_[Z, strict.astype(Z.dtype)], [0] * rows.d + [1], _start(Z, strict))
    farkas = cone.solve(pause)
    if farkas is not None:
        return tuple(-int(v) for v in farkas[:-1])
    weights = cone.weights()
    scale = math.lcm(*(v.denominator for v in weights.values()))
    members = sorted(weights)
    multipliers = tuple(int(weights[k] * scale) for k in members)
    wrong = frozenset(int(index[k]) for k in members if sign[k] < 0)
    return Subsystem(tuple(int(index[k]) for k in members), multipliers, wrong)


def _start(Z: NDArray[np.int64], strict: NDArray[np.bool_]) -> list[int]:
    """Return the rows that a float solution meets with equality, to begin with."""
    from geomdp.lp.infeasible import common_point

    w = common_point(Z, strict) if len(Z) else None
    if w is None:
        return []
    F = as_floats(Z)
    values = np.abs(F @ w) / np.abs(F).max(axis=1)
    return [int(k) for k in np.flatnonzero(~strict & (values <= TIGHT))]
