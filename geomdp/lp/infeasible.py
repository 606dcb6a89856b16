"""Linear programs over infeasible subsystems of {<w, z_i> >= 0 or > 0}: finding, packing, covering them.

By Gleeson and Ryan, the minimal infeasible subsystems are the supports of the vertices of

    P = {lam >= 0:  sum_i lam_i z_i = 0,  sum of lam_i over strict rows = 1}.

Everything here proposes: supports and weights are checked in integers by whoever uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.approximate import as_floats
from geomdp.lp.highs import quiet_highs, set_matrix


def packing_twin(sets: Sequence[Sequence[int]], W: NDArray[np.int64]) -> float:
    """Return the largest fractional packing of sets, by CVXPY and HiGHS.

    maximise sum_k mu_k  subject to  sum_{k: i in S_k} mu_k <= W_i, mu >= 0. Its dual is the fractional cover
    minimise sum_i W_i y_i  subject to  sum_{i in S_k} y_i >= 1, y >= 0; the value is at most the optimum of
    the rows, because every w makes a row of each infeasible set wrong.

    Example:
        >>> round(packing_twin([[0, 1], [1, 2], [0, 2]], np.array([1, 1, 1])), 6)
        1.5
    """
    import cvxpy

    cp: Any = cvxpy

    incidence = np.zeros((len(W), len(sets)))
    for k, members in enumerate(sets):
        incidence[list(members), k] = 1.0
    mu = cp.Variable(len(sets), nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(mu)), [incidence @ mu <= W])
    return float(problem.solve(solver="HIGHS"))


def subsystem_twin(Z: NDArray[Any], strict: NDArray[np.bool_], cost: NDArray[np.float64]) -> float | None:
    """Return min cost . lam over the polyhedron P by CVXPY and HiGHS, or None when P is empty.

    P is empty exactly when some w makes every row right.

    Example:
        >>> subsystem_twin(np.array([[1], [2]]), np.array([True, False]), np.ones(2)) is None
        True
    """
    import cvxpy

    cp: Any = cvxpy

    lam = cp.Variable(len(Z), nonneg=True)
    constraints = [Z.T @ lam == 0, cp.sum(lam[np.flatnonzero(strict)]) == 1]
    problem = cp.Problem(cp.Minimize(cost @ lam), constraints)
    value = problem.solve(solver="HIGHS")
    return None if problem.status in ("infeasible", "infeasible_or_unbounded") else float(value)


class SubsystemFinder:
    """Finds cheap infeasible subsystems by one warm-started linear program.

    minimise sum_i c_i lam_i over P, with two columns per row: z_i as it is, and -z_i with the other
    strictness for rows that have been decided to be wrong. Costs and bounds change between calls; the primal
    simplex method goes on from the last vertex.

    Args:
        Z: (m, d) integer rows.
        strict: (m,) booleans.
    """

    def __init__(self, Z: NDArray[Any], strict: NDArray[np.bool_]) -> None:
        self.m, self.d = Z.shape
        self._F = as_floats(Z)
        self.scale = np.linalg.norm(self._F, axis=1)
        self._F /= self.scale[:, None]
        self._strict = strict
        self._load(turned=False)

    def _load(self, *, turned: bool) -> None:
        """Hand the program over, with the columns -z_i only once a row has been decided to be wrong."""
        import highspy

        both = np.vstack([self._F, -self._F]) if turned else self._F
        tight = np.r_[self._strict, ~self._strict] if turned else self._strict
        dense = np.c_[both, tight.astype(np.float64)]
        n = self._n = len(dense)
        self._turned = turned
        self._solver = quiet_highs()
        self._solver.setOptionValue("presolve", "off")
        self._solver.setOptionValue("simplex_strategy", 4)
        self._infinity = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = n, self.d + 1
        model.col_cost_ = np.ones(n)
        model.col_lower_ = np.zeros(n)
        model.col_upper_ = np.full(n, self._infinity)
        model.row_lower_ = model.row_upper_ = np.r_[np.zeros(self.d), 1.0]
        set_matrix(model, dense, highspy.MatrixFormat.kColwise)
        self._solver.passModel(model)
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._columns = np.arange(n, dtype=np.int32)

    def decide(self, state: NDArray[np.int64]) -> None:
        """Allow the columns of a state: z_i where it is 0 or 1, -z_i where it is -1."""
        wrong = state < 0
        if wrong.any() and not self._turned:
            self._load(turned=True)
        if not self._turned:
            return
        upper = np.where(np.r_[~wrong, wrong], self._infinity, 0.0)
        self._solver.changeColsBounds(self._n, self._columns, np.zeros(self._n), upper)

    def find(
        self, cost: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None:
        """Return (value, rows, multipliers, w) of a cheapest vertex, or None when there seems to be none.

        Args:
            cost: (m,) price of each row.

        Returns:
            The rows of the support, their multipliers with respect to the integer rows (up to scale), and the
            dual direction w, for which <z_i, w> >= value * strict_i - cost_i on unit rows.
        """
        self._solver.changeColsCost(self._n, self._columns, np.r_[cost, cost][: self._n])
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None
        solution = self._solver.getSolution()
        lam = np.array(solution.col_value)
        used = np.flatnonzero(lam > 1e-9 * max(1.0, float(lam.max())))
        rows = used % self.m
        w = -np.array(solution.row_dual)[: self.d]
        value = float(self._solver.getInfo().objective_function_value)
        return value, rows.astype(np.int64), lam[used] / self.scale[rows], w


class RayFinder:
    """Finds infeasible subsystems as dual rays of the primal program; for many columns.

    The rows <w, z_i> >= 0 (weak) or >= 1 (strict) are switched on and off by their bounds, and the dual
    simplex method goes on from the last basis. An infeasible program gives a ray whose support is infeasible.
    """

    def __init__(self, Z: NDArray[Any], strict: NDArray[np.bool_]) -> None:
        import highspy

        self.m, self.d = Z.shape
        F = as_floats(Z)
        self.scale = np.abs(F).max(axis=1)
        F = F / self.scale[:, None]
        self._floor = strict.astype(np.float64)
        self._solver = quiet_highs()
        self._solver.setOptionValue("presolve", "off")
        self._solver.setOptionValue("simplex_strategy", 1)
        self._infinity = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.d, self.m
        model.col_cost_ = np.zeros(self.d)
        model.col_lower_ = np.full(self.d, -self._infinity)
        model.col_upper_ = np.full(self.d, self._infinity)
        model.row_lower_ = self._floor.copy()
        model.row_upper_ = np.full(self.m, self._infinity)
        set_matrix(model, F)
        self._solver.passModel(model)
        self._infeasible = highspy.HighsModelStatus.kInfeasible
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._rows = np.arange(self.m, dtype=np.int32)
        self._upper = np.full(self.m, self._infinity)

    def find(
        self, off: NDArray[np.bool_], wrong: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | NDArray[np.float64] | None:
        """Return (rows, multipliers) of an infeasible subset without the rows that are off, or a solution w.

        None means that the solver ended in another way.

        Args:
            off: (m,) rows that do not count.
            wrong: (m,) rows that are to be wrong: <w, z_i> <= -1 (weak) or <= 0 (strict); None for nowhere.
        """
        lower, upper = np.where(off, -self._infinity, self._floor), self._upper
        if wrong is not None:
            lower = np.where(wrong, -self._infinity, lower)
            upper = np.where(wrong & ~off, self._floor - 1.0, upper)
        self._solver.changeRowsBounds(self.m, self._rows, lower, upper)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == self._optimal:
            return np.array(self._solver.getSolution().col_value)
        if status != self._infeasible:
            return None
        _, exists, ray = self._solver.getDualRay()
        if not exists:
            return None
        ray = np.abs(np.array(ray))
        used = np.flatnonzero(ray > 1e-9 * max(float(ray.max()), 1e-300))
        return used.astype(np.int64), ray[used] / self.scale[used]


def common_point(Z: NDArray[Any], strict: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """Return a w that seems to make all rows right, as far inside as it can, or None.

    maximise t  subject to  <w, z_i> >= 1 (strict), <w, z_i> >= t (weak), 0 <= t <= 1 on rows divided by their
    largest entry.

    Example:
        >>> w = common_point(np.array([[1, 0], [0, 2]]), np.array([True, False]))
        >>> bool(w[0] > 0 and w[1] > 0)
        True
    """
    import highspy

    m, d = Z.shape
    F = as_floats(Z)
    F = np.c_[F / np.abs(F).max(axis=1, keepdims=True), np.where(strict, 0.0, -1.0)]
    solver = quiet_highs()
    inf = highspy.kHighsInf
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = d + 1, m
    model.col_cost_ = np.r_[np.zeros(d), -1.0]
    model.col_lower_, model.col_upper_ = np.r_[np.full(d, -inf), 0.0], np.r_[np.full(d, inf), 1.0]
    model.row_lower_, model.row_upper_ = strict.astype(np.float64), np.full(m, inf)
    set_matrix(model, F)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value)[:d]


class CoverMaster:
    """The fractional cover of the sets found so far; its dual is their largest fractional packing.

    minimise sum_i W_i y_i  subject to  sum_{i in S} y_i >= 1 for every set S,  y >= 0.
    """

    def __init__(self, W: NDArray[np.int64]) -> None:
        import highspy

        self.m = len(W)
        self._solver = quiet_highs()
        self._infinity = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.m, 0
        model.col_cost_ = W.astype(np.float64)
        model.col_lower_ = np.zeros(self.m)
        model.col_upper_ = np.full(self.m, self._infinity)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.zeros(1, dtype=np.int32)
        self._solver.passModel(model)
        self.count = 0

    def add(self, members: Sequence[int] | NDArray[np.int64]) -> None:
        """Add a set."""
        index = np.asarray(members, dtype=np.int32)
        self._solver.addRow(1.0, self._infinity, len(index), index, np.ones(len(index)))
        self.count += 1

    def solve(self) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return (value, y, mu)."""
        if self.count == 0:
            return 0.0, np.zeros(self.m), np.zeros(0)
        self._solver.run()
        solution = self._solver.getSolution()
        value = float(self._solver.getInfo().objective_function_value)
        return value, np.array(solution.col_value), np.maximum(np.array(solution.row_dual), 0.0)


class ElasticProgram:
    """The reweighted elastic program: minimise sum_i c_i s_i with <w, z_i> + s_i >= 0 or 1, s >= 0.

    The margin 1 is asked of strict rows only: weak rows may have to be met with equality. Rows are divided by
    their largest entry.
    """

    def __init__(self, Z: NDArray[Any], strict: NDArray[np.bool_]) -> None:
        import highspy

        m, d = Z.shape
        F = as_floats(Z)
        F = F / np.abs(F).max(axis=1, keepdims=True)
        self._solver = quiet_highs()
        inf = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = d + m, m
        model.col_cost_ = np.r_[np.zeros(d), np.ones(m)]
        model.col_lower_ = np.r_[np.full(d, -inf), np.zeros(m)]
        model.col_upper_ = np.full(d + m, inf)
        model.row_lower_ = strict.astype(np.float64)
        model.row_upper_ = np.full(m, inf)
        counts = (F != 0).sum(axis=1)
        start = np.r_[0, np.cumsum(counts + 1)]
        index, value = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
        slack = start[1:] - 1
        body = np.ones(start[-1], dtype=bool)
        body[slack] = False
        index[slack], value[slack] = d + np.arange(m), 1.0
        index[body], value[body] = np.nonzero(F)[1], F[F != 0]
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = start, index, value
        self._solver.passModel(model)
        self.m, self.d = m, d
        self._slacks = np.arange(d, d + m, dtype=np.int32)

    def solve(
        self, cost: NDArray[np.float64], seconds: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (w, slacks) for the costs of the slacks."""
        self._solver.changeColsCost(self.m, self._slacks, cost)
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(seconds, 0.01))
        self._solver.run()
        values = np.array(self._solver.getSolution().col_value)
        return values[: self.d], values[self.d :]
