"""Does a hyperplane cross a cone? The crossing test behind containers, as a program and as a direct loop.

For a cone {z : <a_i, z> >= 0, <e_j, z> = 0} and a point c, with z kept in a box:

    primal   maximise  <c, z>   subject to  <a_i, z> >= 0,  <e_j, z> = 0,  -1 <= z <= 1
    dual     minimise  |c + sum_i y_i a_i + sum_j x_j e_j|_1   subject to  y >= 0

Both optima are 0 exactly when <c, z> <= 0 on the cone (Farkas); the multipliers prove it, and the caller
checks them in integers. Otherwise z is a direction of the cone with c on its positive side. The hyperplane
of c crosses the cone iff neither c nor -c has optimum 0.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.simplex import unit_rows
from geomdp.lp.highs import quiet_highs

#: Optima up to this suggest 0, and so do multipliers.
SMALL = 1e-9


@dataclass(frozen=True)
class Reach:
    """What a solver believes about one point.

    Attributes:
        value: the largest <c, z>; nan when the solver failed.
        direction: (d,) the best z.
        multipliers: (k,) y and x of the dual, in the order of the rows.
    """

    value: float
    direction: NDArray[np.float64]
    multipliers: NDArray[np.float64]


def reach_by_model(rows: NDArray[Any], equal: NDArray[np.bool_], point: NDArray[Any]) -> Reach:
    """Return the largest <c, z> over a cone through the CVXPY model: the readable reference.

    Args:
        rows: (k, d) integers a_i and e_j.
        equal: (k,) which rows are equations.
        point: d integers c.

    Example:
        >>> rows, equal = np.array([[1, 0], [0, 1]]), np.array([False, False])
        >>> found = reach_by_model(rows, equal, np.array([-2, -3]))
        >>> bool(abs(found.value) < 1e-9 and (found.multipliers > 0).all())
        True
    """
    import cvxpy

    cp: Any = cvxpy
    quiet_highs()  # the first solver of a process may print a banner: let it be one that is silenced
    a, c = unit_rows(rows), unit_rows(np.asarray(point)[None, :])[0]
    k, d = rows.shape
    z = cp.Variable(d)
    above, on = a[~equal] @ z >= 0, a[equal] @ z == 0
    constraints = [z <= 1, z >= -1]
    constraints += [above] * bool((~equal).any()) + [on] * bool(equal.any())
    problem = cp.Problem(cp.Maximize(c @ z), constraints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver="HIGHS", highs_options={"threads": 1})
    except cp.SolverError:
        return Reach(np.nan, np.zeros(d), np.zeros(k))
    if z.value is None:
        return Reach(np.nan, np.zeros(d), np.zeros(k))
    multipliers = np.zeros(k)
    multipliers[~equal] = np.ravel(above.dual_value) if (~equal).any() else 0.0
    multipliers[equal] = -np.ravel(on.dual_value) if equal.any() else 0.0
    return Reach(float(problem.value), np.asarray(z.value), multipliers)


class ReachLoop:
    """The same program passed to HiGHS directly, for the many points of one cone.

    Args:
        rows: (k, d) integers a_i and e_j.
        equal: (k,) which rows are equations.

    Example:
        >>> loop = ReachLoop(np.array([[1, 0], [0, 1]]), np.array([False, True]))
        >>> bool((abs(loop.reach(np.array([3, 5])).direction - [1, 0]) < 1e-9).all())
        True
    """

    def __init__(self, rows: NDArray[Any], equal: NDArray[np.bool_]) -> None:
        import highspy

        k, d = rows.shape
        a = unit_rows(rows)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = d, k
        model.col_cost_ = np.zeros(d)
        model.col_lower_, model.col_upper_ = -np.ones(d), np.ones(d)
        model.row_lower_, model.row_upper_ = np.zeros(k), np.where(equal, 0.0, highspy.kHighsInf)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.arange(0, k * d + 1, d)
        model.a_matrix_.index_ = np.tile(np.arange(d), k)
        model.a_matrix_.value_ = a.ravel()
        self._solver = quiet_highs()
        self._solver.setOptionValue("presolve", "off")
        self._solver.setOptionValue("solver", "simplex")
        self._solver.passModel(model)
        self._columns = np.arange(d, dtype=np.int32)
        self._k, self._d = k, d

    def reach(self, point: NDArray[Any]) -> Reach:
        """Return what HiGHS believes about the point c."""
        cost = -unit_rows(np.asarray(point)[None, :])[0]
        self._solver.changeColsCost(self._d, self._columns, cost)
        self._solver.run()
        solution = self._solver.getSolution()
        z, y = np.array(solution.col_value), np.array(solution.row_dual)
        if len(z) < self._d or len(y) < self._k or not np.isfinite(z).all():
            return Reach(np.nan, np.zeros(self._d), np.zeros(self._k))
        return Reach(float(-cost @ z), z, y)
