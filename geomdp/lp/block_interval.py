"""The range of one coordinate over a polyhedron with half-open constraints: floats suggest, integers decide.

The program, for rows G u >= b of which some are strict (>), and a box:

    minimise or maximise  u_1  subject to  <g_i, u> >= b_i  (or >),  -R_j <= u_j <= R_j.

A strict row is read as <g_i, u> >= b_i + e with e positive and smaller than any rational: numbers p + q e are
compared by p, then by q. If the optimum is p + q e, the range ends at p, and holds p iff q = 0: with q = 0
the point p is reached with a positive slack on all strict rows, with q != 0 it is not reached with any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.core.errors import ArgumentError
from geomdp.exact.linear import rank
from geomdp.exact.simplex import unit_rows
from geomdp.lp.highs import quiet_highs

_STEEPEST = 60  # pivots by the largest violation, before the rule that cannot cycle


@dataclass(frozen=True)
class CoordinateRange:
    """The values that the first coordinate takes.

    Attributes:
        lo, hi: the ends, lo <= hi.
        lo_closed, hi_closed: whether they are taken.
        pivots: exact pivots that were made beyond the solver's two suggestions.
    """

    lo: Fraction
    hi: Fraction
    lo_closed: bool
    hi_closed: bool
    pivots: int


def coordinate_range(
    rows: NDArray[Any],
    bounds: Sequence[int],
    strict: Sequence[bool],
    radius: Sequence[int],
    *,
    suggest: bool = True,
) -> CoordinateRange | None:
    """Return the exact range of the first coordinate, or None when no point meets all rows.

    Each end is a vertex on r rows, found by HiGHS on the dual program (r rows, one column for each
    constraint). Their r x r system is solved in integers; the vertex is the end if it meets all rows and the
    objective is a non-negative combination of the r rows: both are decided in integers. Where the rows on the
    vertex are not those that decide p + q e, or the suggestion fails, exact pivots of the dual simplex method
    lead on from it, or from a corner of the box. So the answer depends on the input alone, not on the solver.

    Args:
        rows: (m, r) integers G.
        bounds: m integers b.
        strict: which rows are strict.
        radius: r positive integers R.
        suggest: ask the solver; without it all pivots are exact.

    Raises:
        ArgumentError: when the shapes do not agree, or a radius is not positive.

    Example:
        >>> G, b = np.array([[1, 1], [-1, 0], [0, -1]]), [0, -3, -1]  # u1 + u2 > 0, u1 <= 3, u2 <= 1
        >>> found = coordinate_range(G, b, [True, False, False], [9, 9])
        >>> found.lo, found.lo_closed, found.hi, found.hi_closed
        (Fraction(-1, 1), False, Fraction(3, 1), True)
    """
    problem = _Problem(rows, bounds, strict, radius)
    ends = []
    pivots = 0
    for sign in (1, -1):
        vertex = _minimise(problem, sign, suggest)
        if vertex is None:
            return None
        value, trend, count = vertex
        ends.append((sign * value, trend == 0))
        pivots += count
    (lo, lo_closed), (hi, hi_closed) = ends
    return CoordinateRange(lo, hi, lo_closed, hi_closed, pivots)


class _Problem:
    """The constraints <a_i, u> >= b_i + q_i e with the 2r sides of the box first."""

    def __init__(
        self, rows: NDArray[Any], bounds: Sequence[int], strict: Sequence[bool], radius: Sequence[int]
    ) -> None:
        r = len(radius)
        given = np.asarray(rows)
        if given.size == 0:
            given = np.zeros((0, r), dtype=np.int64)
        if given.ndim != 2 or given.shape[1] != r or not len(given) == len(bounds) == len(strict):
            raise ArgumentError(
                "rows", f"of shape (m, {r}) with m bounds and m strict flags", f"{given.shape}"
            )
        if not r or min(radius) < 1:
            raise ArgumentError("radius", "a sequence of positive integers", "an empty or smaller one")
        sides = np.vstack([np.eye(r, dtype=np.int64), -np.eye(r, dtype=np.int64)])
        self.r = r
        self.A = np.vstack([sides, given])
        self.b = _column([-int(R) for R in radius] * 2 + [int(value) for value in bounds])
        self.q = np.array([0] * (2 * r) + [int(flag) for flag in strict], dtype=np.int64)

    def slacks(self, vertex: NDArray[Any], det: int, column: NDArray[Any]) -> NDArray[Any]:
        """Return <a_i, vertex> - det column_i for all constraints, exactly."""
        table = np.column_stack([self.A, column])
        return products(table, _column([*vertex.tolist(), -det]))


def _column(values: list[int]) -> NDArray[Any]:
    small = all(abs(value) < 2**62 for value in values)
    return np.array(values, dtype=np.int64 if small else object)


def _minimise(problem: _Problem, sign: int, suggest: bool) -> tuple[Fraction, Fraction, int] | None:
    """Return (p, q, pivots) of the minimum p + q e of sign * u_1, or None where nothing is feasible.

    The dual simplex method: the objective stays a non-negative combination of the r basic rows. A violated
    row enters. If it is a non-positive combination of the basic rows, no point meets them and it. Otherwise
    the basic row leaves that keeps the combination non-negative. From some pivot on the least index is taken
    on both sides, a rule under which no basis returns.
    """
    r = problem.r
    start = _suggestion(problem, sign) if suggest else None
    basis = start or [0 if sign > 0 else r, *range(1, r)]
    pivots = 0
    while True:
        matrix = [[int(v) for v in problem.A[i]] for i in basis]
        inverse, det = _adjugate(matrix)
        multipliers = [sign * v for v in inverse[0]]  # of the basic rows, times det
        if min(multipliers) < 0:
            basis = [0 if sign > 0 else r, *range(1, r)]  # only a suggestion can be so
            continue
        vertex = _apply(inverse, [int(problem.b[i]) for i in basis])
        drift = _apply(inverse, [int(problem.q[i]) for i in basis])
        slack, trend = problem.slacks(vertex, det, problem.b), problem.slacks(drift, det, problem.q)
        violated = np.flatnonzero((slack < 0) | ((slack == 0) & (trend < 0)))
        if not len(violated):
            return Fraction(sign * int(vertex[0]), det), Fraction(sign * int(drift[0]), det), pivots
        steep = pivots < _STEEPEST
        entering = int(violated[np.argmin(slack[violated])] if steep else violated[0])
        weights = [sum(int(problem.A[entering, j]) * inverse[j][k] for j in range(r)) for k in range(r)]
        ratios = [(Fraction(multipliers[k], weights[k]), basis[k], k) for k in range(r) if weights[k] > 0]
        if not ratios:
            return None
        basis[min(ratios)[2]] = entering
        pivots += 1


def _apply(inverse: list[list[int]], values: list[int]) -> NDArray[Any]:
    return _column([sum(a * b for a, b in zip(row, values, strict=True)) for row in inverse])


def _adjugate(matrix: list[list[int]]) -> tuple[list[list[int]], int]:
    """Return (adj, det), det > 0, with matrix adj = det times the identity: elimination without fractions."""
    r = len(matrix)
    work = [[*row, *(int(i == j) for j in range(r))] for i, row in enumerate(matrix)]
    det = 1
    for c in range(r):
        pivot = next(i for i in range(c, r) if work[i][c])
        work[c], work[pivot] = work[pivot], work[c]
        top = work[c]
        for i in range(r):
            if i != c:
                head = work[i][c]
                work[i] = [(v * top[c] - head * t) // det for v, t in zip(work[i], top, strict=True)]
        det = top[c]
    adjugate = [row[r:] for row in work]
    return (adjugate, det) if det > 0 else ([[-v for v in row] for row in adjugate], -det)


def _suggestion(problem: _Problem, sign: int) -> list[int] | None:
    """Return r independent rows that HiGHS takes for the active ones, or None."""
    import highspy

    A = unit_rows(problem.A)
    tops = np.abs(problem.A).max(axis=1)
    tops[tops == 0] = 1
    try:
        b = (problem.b / tops).astype(np.float64)
    except OverflowError:  # no float holds the quotient
        return None
    N, r = A.shape
    solver = quiet_highs()
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = N, r
    model.col_cost_ = -b
    model.col_lower_, model.col_upper_ = np.zeros(N), np.full(N, highspy.kHighsInf)
    target = np.zeros(r)
    target[0] = sign
    model.row_lower_ = model.row_upper_ = target
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, N * r + 1, r, dtype=np.int32)
    model.a_matrix_.index_ = np.tile(np.arange(r, dtype=np.int32), N)
    model.a_matrix_.value_ = A.ravel()
    solver.passModel(model)
    solver.run()
    states = list(solver.getBasis().col_status)  # one copy: each access of the attribute makes one
    basis = [i for i, state in enumerate(states) if state == highspy.HighsBasisStatus.kBasic]
    if len(basis) != r or rank(problem.A[basis]) < r:
        return None
    return basis


def coordinate_range_by_model(
    rows: NDArray[Any], bounds: Sequence[int], radius: Sequence[int]
) -> tuple[float, float] | None:
    """Return the ends of the closed program from the CVXPY model solved by HiGHS: the readable reference.

    Example:
        >>> ends = coordinate_range_by_model(np.array([[1, 1], [0, -1]]), [0, -1], [9, 9])
        >>> [round(float(end), 6) for end in ends]
        [-1.0, 9.0]
    """
    import cvxpy

    cp: Any = cvxpy
    quiet_highs()  # the first solver of a process may print a banner
    R = np.array([float(value) for value in radius])
    u = cp.Variable(len(R))
    constraints = [u <= R, u >= -R]
    if len(bounds):
        constraints.append(np.asarray(rows, dtype=np.float64) @ u >= np.array([float(v) for v in bounds]))
    ends = []
    for objective in (cp.Minimize(u[0]), cp.Maximize(u[0])):
        problem = cp.Problem(objective, constraints)
        problem.solve(solver="HIGHS", highs_options={"threads": 1})
        if problem.status != "optimal":
            return None
        ends.append(float(problem.value))
    return ends[0], ends[1]
