"""The textbook mixed-integer program of the optimum, as a baseline: no answer of it is used anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.approximate import as_floats
from geomdp.lp.highs import quiet_highs, set_matrix


@dataclass(frozen=True)
class BigM:
    """What the solver says: its objective and bound, its w, and whether it claims optimality."""

    objective: float
    bound: float
    w: NDArray[np.float64]
    claims_optimal: bool


def big_m(
    Z: NDArray[Any],
    strict: NDArray[np.bool_],
    W: NDArray[np.int64],
    *,
    epsilon: float = 1e-4,
    seconds: float = 60.0,
) -> BigM:
    """Solve the big-M program by HiGHS, one thread, without a gap.

    minimise sum_i W_i b_i  subject to  <z_i, w> + M_i b_i >= epsilon (strict) or 0 (weak), |w_j| <= 1,
    b_i in {0, 1}, on rows divided by their length, M_i = sum_j |z_ij| + epsilon.

    In exact arithmetic a small enough epsilon gives the optimum. In floating point a small epsilon drowns in
    the feasibility tolerance, and a large one forbids good w: neither the objective nor w can be trusted.

    Example:
        >>> answer = big_m(np.array([[1, 1], [-1, -1], [0, 1]]), np.array([True, True, False]), np.ones(3))
        >>> round(answer.objective)
        1
    """
    import highspy

    m, d = Z.shape
    F = as_floats(Z)
    F = F / np.linalg.norm(F, axis=1, keepdims=True)
    M = np.abs(F).sum(axis=1) + epsilon
    dense = np.c_[F, np.diag(M)]
    solver = quiet_highs()
    solver.setOptionValue("time_limit", seconds)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 0.99)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = d + m, m
    model.col_cost_ = np.r_[np.zeros(d), W.astype(np.float64)]
    model.col_lower_ = np.r_[-np.ones(d), np.zeros(m)]
    model.col_upper_ = np.ones(d + m)
    model.row_lower_, model.row_upper_ = np.where(strict, epsilon, 0.0), np.full(m, highspy.kHighsInf)
    model.integrality_ = [highspy.HighsVarType.kContinuous] * d + [highspy.HighsVarType.kInteger] * m
    set_matrix(model, dense)
    solver.passModel(model)
    solver.run()
    values = np.array(solver.getSolution().col_value)
    information = solver.getInfo()
    return BigM(
        float(information.objective_function_value),
        float(information.mip_dual_bound),
        values[:d],
        solver.getModelStatus() == highspy.HighsModelStatus.kOptimal,
    )
