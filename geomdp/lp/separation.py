"""Membership in a finitely generated cone as a linear program: what HiGHS suggests, in two ways.

For generators g_1..g_N in R^p (the rows of G), a target r and a set F of free (offset) coordinates:

    primal   minimise  sum_{i not in F} |u_i|   subject to  sum_j x_j g_j + u = r,  x >= 0,  u_F = 0
    dual     maximise  <y, r>                   subject to  <y, g_j> <= 0 for all j,  |y_i| <= 1 off F

Both optima are 0 exactly when r is in the cone: then x writes r with at most p generators. Otherwise y is a
Farkas vector. Convex hulls, cones, Caratheodory's theorem and separation are this program for suitable
generators. The answers here are floats: they say where to look, and integers decide afterwards.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.exact.simplex import unit_rows
from geomdp.lp.highs import quiet_highs

#: Weights below this, and slacks above it, keep a generator out of the suggested basis.
SMALL = 1e-7


@dataclass(frozen=True)
class Suggestion:
    """What a solver believes.

    Attributes:
        direction: p floats, a likely Farkas vector up to its offsets; zero when r seems to be in the cone.
        start: generators of a likely optimal basis, best first.
    """

    direction: NDArray[np.float64]
    start: tuple[int, ...]


@dataclass(frozen=True)
class FloatProgram:
    """The program in floats, with rows and columns scaled.

    Attributes:
        generators: (N, p) floats with entries of at most 1.
        target: p floats.
        bounded: the coordinates off F.
        scale: p positive floats; y of the program is y[i] * scale[i] of the input, off F.
    """

    generators: NDArray[np.float64]
    target: NDArray[np.float64]
    bounded: NDArray[np.int64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, generators: NDArray[Any], target: Sequence[int], free: Sequence[int] = ()) -> FloatProgram:
        """Return the scaled program of integer generators with the free coordinates F."""
        bounded = np.array([i for i in range(generators.shape[1]) if i not in free], dtype=np.int64)
        G = unit_rows(generators)
        top = max(1, *(abs(int(value)) for value in target))
        r = np.array([int(value) / top for value in target])
        scale = np.ones(G.shape[1])
        spread = np.abs(G[:, bounded]).max(axis=0, initial=0.0)
        scale[bounded] = np.where(spread > 0, spread, 1.0)
        G, r = G / scale, r / scale
        size = np.abs(G).max(axis=1, keepdims=True, initial=0.0)
        return cls(G / np.where(size > 0, size, 1.0), r / (np.abs(r).max(initial=0.0) or 1.0), bounded, scale)

    def suggestion(self, y: NDArray[np.float64], x: NDArray[np.float64]) -> Suggestion:
        """Return a solver's y (p,) and x (N,) in the terms of the input."""
        p = self.generators.shape[1]
        if not (np.isfinite(y).all() and np.isfinite(x).all()):
            return Suggestion(np.zeros(p), ())
        heavy = np.flatnonzero(x > SMALL)
        heavy = heavy[np.argsort(-x[heavy], kind="stable")]
        slack = -(self.generators @ y)
        tight = np.flatnonzero(slack < SMALL)
        tight = tight[np.argsort(slack[tight], kind="stable")][: 4 * p]
        seen = dict.fromkeys([*heavy.tolist(), *tight.tolist()])
        direction = y / self.scale if float(y @ self.target) > 0 else np.zeros(p)
        return Suggestion(direction, tuple(seen))


def suggest_by_model(program: FloatProgram) -> Suggestion:
    """Return HiGHS's suggestion through the CVXPY model: the readable reference.

    Example:
        >>> program = FloatProgram.of(np.array([[1, 0], [1, 1]]), [3, 1])
        >>> sorted(suggest_by_model(program).start)
        [0, 1]
    """
    import cvxpy

    cp: Any = cvxpy
    quiet_highs()  # the first solver of a process may print a banner: let it be one that is silenced
    y = cp.Variable(program.generators.shape[1])
    inside = program.generators @ y <= 0
    box = [y[program.bounded] <= 1, y[program.bounded] >= -1]
    problem = cp.Problem(cp.Maximize(program.target @ y), [inside, *box])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver="HIGHS", highs_options={"threads": 1})
    except cp.SolverError:
        return program.suggestion(np.full(y.size, np.nan), np.zeros(0))
    if y.value is None or inside.dual_value is None:
        return program.suggestion(np.full(y.size, np.nan), np.zeros(0))
    return program.suggestion(np.asarray(y.value), np.asarray(inside.dual_value).ravel())


def suggest_directly(program: FloatProgram) -> Suggestion:
    """Return HiGHS's suggestion for the primal passed directly, one column a generator and no presolve.

    Example:
        >>> program = FloatProgram.of(np.array([[1, 0], [1, 1]]), [0, 1])
        >>> direction = suggest_directly(program).direction
        >>> bool(direction @ [0, 1] > 0 and direction @ [1, 1] < 1e-9)
        True
    """
    import highspy

    G, bounded = program.generators, program.bounded
    N, p = G.shape
    slack = np.zeros((2 * len(bounded), p))
    slack[np.arange(len(bounded)), bounded] = 1.0
    slack[len(bounded) + np.arange(len(bounded)), bounded] = -1.0
    columns = np.vstack([G, slack])
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(columns), p
    model.col_cost_ = np.r_[np.zeros(N), np.ones(len(slack))]
    model.col_lower_ = np.zeros(len(columns))
    model.col_upper_ = np.full(len(columns), highspy.kHighsInf)
    model.row_lower_ = model.row_upper_ = program.target
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, columns.size + 1, p)
    model.a_matrix_.index_ = np.tile(np.arange(p), len(columns))
    model.a_matrix_.value_ = columns.ravel()
    solver = quiet_highs()
    solver.setOptionValue("presolve", "off")
    solver.passModel(model)
    solver.run()
    solution = solver.getSolution()
    x, y = np.array(solution.col_value), np.array(solution.row_dual)
    if len(x) < N or len(y) < p:
        return program.suggestion(np.full(p, np.nan), np.zeros(0))
    return program.suggestion(y, x[:N])
