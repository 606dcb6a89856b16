"""Sparse programs of named rows: feasibility, linear and mixed-integer optima, and model files.

The program, for sparse rows A x <= b:

    minimise  <c, x>  subject to  A x <= b,  lower <= x <= upper,  x_j whole for j in some set.

Every answer is a float suggestion; what it claims is decided elsewhere, in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.lp.highs import quiet_highs

Floats = NDArray[np.float64]
#: What a solver may say.
STATUSES = ("feasible", "infeasible", "unbounded", "unknown")


@dataclass(frozen=True)
class SparseProgram:
    """The data of the program.

    Attributes:
        columns: number of variables.
        start, index, value: the rows of A, compressed.
        bound: b.
        cost: c, zero by default.
        lower, upper: bounds of the variables, none by default.
        whole: variables that must be integers.

    Example:
        >>> start, index, value, bound = map(np.array, ([0, 1, 2], [0, 0], [1, -1], [1, -2]))
        >>> box = SparseProgram(1, start, index, value, bound)  # x <= 1 and x >= 2
        >>> solve_directly(box).status, solve_by_model(box).status
        ('infeasible', 'infeasible')
    """

    columns: int
    start: NDArray[Any]
    index: NDArray[Any]
    value: NDArray[Any]
    bound: NDArray[Any]
    cost: Floats | None = None
    lower: Floats | None = None
    upper: Floats | None = None
    whole: Sequence[int] = field(default=())

    def filled(self, name: str, default: float) -> Floats:
        """Return the cost or a bound of every variable."""
        given = getattr(self, name)
        return np.full(self.columns, default) if given is None else np.asarray(given, dtype=np.float64)


@dataclass(frozen=True)
class Answer:
    """What a solver believes.

    Attributes:
        status: one of :data:`STATUSES`; "feasible" includes "optimal".
        x: the point, None unless feasible.
        objective: its cost.
        lower: the solver's bound on the optimum, of mixed-integer programs.
    """

    status: str
    x: Floats | None = None
    objective: float = float("nan")
    lower: float = float("-inf")


def solve_directly(program: SparseProgram, time_limit: float | None = None) -> Answer:
    """Return HiGHS's answer, called directly.

    Args:
        program: the data.
        time_limit: seconds, or None.
    """
    import highspy

    solver = quiet_highs()
    if time_limit is not None:
        solver.setOptionValue("time_limit", float(time_limit))
    inf = highspy.kHighsInf
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = program.columns, len(program.bound)
    model.col_cost_ = program.filled("cost", 0.0)
    model.col_lower_, model.col_upper_ = program.filled("lower", -inf), program.filled("upper", inf)
    model.row_lower_ = np.full(len(program.bound), -inf)
    model.row_upper_ = np.asarray(program.bound, dtype=np.float64)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.asarray(program.start, dtype=np.int32)
    model.a_matrix_.index_ = np.asarray(program.index, dtype=np.int32)
    model.a_matrix_.value_ = np.asarray(program.value, dtype=np.float64)
    solver.passModel(model)
    if len(program.whole):
        columns = np.asarray(program.whole, dtype=np.int32)
        kinds = np.full(len(columns), highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(len(columns), columns, kinds)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 0.0)
    solver.run()
    return _answer(solver)


def _answer(solver: Any) -> Answer:
    import highspy

    status = solver.getModelStatus()
    kinds = highspy.HighsModelStatus
    info = solver.getInfo()
    if status == kinds.kOptimal:
        x = np.array(solver.getSolution().col_value, dtype=np.float64)
        value = float(info.objective_function_value)
        whole = info.mip_node_count >= 0
        return Answer("feasible", x, value, float(info.mip_dual_bound) if whole else value)
    if status == kinds.kInfeasible:
        return Answer("infeasible")
    if status == kinds.kUnbounded:
        return Answer("unbounded")
    return Answer("unknown", lower=float(info.mip_dual_bound))


def solve_by_model(program: SparseProgram) -> Answer:
    """Return the answer of the CVXPY model solved by HiGHS: the readable reference.

    Example:
        >>> segment = SparseProgram(1, np.array([0, 1]), np.array([0]), np.array([2]), np.array([3]),
        ...                         cost=np.array([-1.0]))
        >>> float(round(solve_by_model(segment).objective, 6))
        -1.5
    """
    import cvxpy
    from scipy.sparse import csr_array

    cp: Any = cvxpy
    quiet_highs()  # the first solver of a process may print a banner
    shape = (len(program.bound), program.columns)
    A = csr_array((program.value.astype(np.float64), program.index, program.start), shape=shape)
    x = cp.Variable(program.columns)
    constraints = [A @ x <= program.bound]
    if program.lower is not None:
        constraints.append(x >= program.lower)
    if program.upper is not None:
        constraints.append(x <= program.upper)
    if len(program.whole):
        y = cp.Variable(len(program.whole), integer=True)
        constraints.append(x[list(program.whole)] == y)
    problem = cp.Problem(cp.Minimize(program.filled("cost", 0.0) @ x), constraints)
    try:
        problem.solve(solver="HIGHS", highs_options={"threads": 1})
    except cp.SolverError:
        return Answer("unknown")
    status = {"optimal": "feasible", "infeasible": "infeasible", "unbounded": "unbounded"}.get(
        problem.status, "unknown"
    )
    if status != "feasible":
        return Answer(status)
    return Answer(status, np.asarray(x.value, dtype=np.float64), float(problem.value), float(problem.value))


def solve_file(path: str | Path) -> Answer:
    """Return HiGHS's answer to an MPS or LP file."""
    solver = quiet_highs()
    solver.readModel(str(path))
    solver.run()
    return _answer(solver)


def read_file(path: str | Path) -> tuple[SparseProgram, tuple[str, ...], tuple[str, ...]]:
    """Return the rows A x <= b of an MPS or LP file as HiGHS reads it, with the names of rows and variables.

    Rows of other kinds keep their upper bound only.
    """
    solver = quiet_highs()
    solver.readModel(str(path))
    model = solver.getLp()
    matrix = model.a_matrix_
    start, index, value = (np.array(part) for part in (matrix.start_, matrix.index_, matrix.value_))
    if "Col" in str(matrix.format_):
        from scipy.sparse import csc_array

        rows = csc_array((value, index, start), shape=(model.num_row_, model.num_col_)).tocsr()
        rows.sort_indices()
        start, index, value = rows.indptr, rows.indices, rows.data
    bound = np.array(model.row_upper_)
    program = SparseProgram(model.num_col_, start, index, value, bound)
    return program, tuple(model.row_names_), tuple(model.col_names_)
