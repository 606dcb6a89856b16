"""HiGHS called directly, for loops of many small programs: quiet, one thread, nothing trusted.

Every answer is a float suggestion; callers round it and decide in integers.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bits kept when a float direction becomes an integer vector.
DIRECTION_BITS = 40


def quiet_highs() -> Any:
    """Return a fresh ``highspy.Highs`` with one thread that prints nothing.

    Some releases print a banner when the first solver is made, before any option can be set: standard
    output is therefore pointed at the null device for that moment.
    """
    import highspy

    make: Any = highspy.Highs
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # no standard output to protect
        solver = make()
    else:
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, 1)
            solver = make()
        finally:
            os.dup2(saved, 1)
            os.close(null)
            os.close(saved)
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    return solver


def set_matrix(model: Any, dense: NDArray[np.float64], form: Any = None) -> None:
    """Give a model the nonzero entries of a matrix.

    Args:
        model: a ``highspy.HighsLp``.
        dense: the matrix; with ``form`` kColwise its transpose, so that a row of it is a column of the model.
        form: a ``highspy.MatrixFormat``; kRowwise by default.

    Example:
        >>> import highspy
        >>> model = highspy.HighsLp()
        >>> set_matrix(model, np.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> list(model.a_matrix_.index_), list(model.a_matrix_.value_)
        ([1, 0], [2.0, 3.0])
    """
    import highspy

    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise if form is None else form
    model.a_matrix_.start_ = np.r_[0, np.cumsum((dense != 0).sum(axis=1))]
    model.a_matrix_.index_ = np.nonzero(dense)[1]
    model.a_matrix_.value_ = dense[dense != 0]


class SignSystem:
    """The sign-vector program as one HiGHS model, for the many sign vectors of a search tree.

    maximise t subject to <a_i, w> >= t (or >= 0) where +1 is demanded, <a_i, w> <= -t where -1 is,
    |w_j| <= 1, |t| <= 1, with a_i = x_i / |x_i|_1: the program of
    :func:`geomdp.lp.models.sign_vector_program`, its demands switched by row bounds.

    Args:
        rows: (m, d) non-zero integer vectors.
        strict: demand <x, w> > 0 at +1; otherwise only >= 0.
    """

    def __init__(self, rows: NDArray[Any], strict: bool) -> None:
        import highspy

        scaled = rows.astype(np.float64)
        scaled = scaled / np.abs(scaled).sum(axis=1, keepdims=True)
        m, d = scaled.shape
        self._infinity = highspy.kHighsInf
        self._solver = quiet_highs()
        model = highspy.HighsLp()
        # Row i demands +, row m + i demands -; all are off at first.
        plus, minus = np.full((m, 1), -1.0 if strict else 0.0), np.full((m, 1), -1.0)
        dense = np.vstack([np.hstack([scaled, plus]), np.hstack([-scaled, minus])])
        model.num_col_, model.num_row_ = d + 1, 2 * m
        model.col_cost_ = np.append(np.zeros(d), -1.0)
        model.col_lower_, model.col_upper_ = -np.ones(d + 1), np.ones(d + 1)
        model.row_lower_ = np.full(2 * m, -self._infinity)
        model.row_upper_ = np.full(2 * m, self._infinity)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.arange(0, 2 * m * (d + 1) + 1, d + 1)
        model.a_matrix_.index_ = np.tile(np.arange(d + 1), 2 * m)
        model.a_matrix_.value_ = dense.ravel()
        self._solver.passModel(model)
        self._m, self._d = m, d
        self._signs = np.zeros(m, dtype=np.int8)

    def set_sign(self, row: int, sign: int) -> None:
        """Demand sign +1 or -1 of <x_row, w>, or nothing (0)."""
        old = int(self._signs[row])
        if old == sign:
            return
        if old:
            self._solver.changeRowBounds(self._index(row, old), -self._infinity, self._infinity)
        if sign:
            self._solver.changeRowBounds(self._index(row, sign), 0.0, self._infinity)
        self._signs[row] = sign

    def _index(self, row: int, sign: int) -> int:
        return row if sign > 0 else self._m + row

    def solve(self) -> tuple[float, NDArray[np.float64]]:
        """Return the suggested optimum t and the direction w (d,)."""
        self._solver.run()
        values = np.array(self._solver.getSolution().col_value, dtype=np.float64)
        return float(values[self._d]), values[: self._d]


def as_integers(w: NDArray[np.float64], bits: int = DIRECTION_BITS) -> NDArray[np.int64]:
    """Return an integer vector in the direction of w, to ``bits`` bits of its largest entry."""
    top = float(np.abs(w).max(initial=0.0))
    if top == 0.0 or not np.isfinite(top):
        return np.zeros(len(w), dtype=np.int64)
    return np.rint(w / top * 2.0**bits).astype(np.int64)


def strict_direction(rows: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return an integer u that seems to have <x, u> > 0 on all rows, or None; the caller verifies.

    Example:
        >>> u = strict_direction(np.array([[1, 0], [-1, 5]]))
        >>> bool((np.array([[1, 0], [-1, 5]]) @ u > 0).all())
        True
    """
    if not len(rows):
        return np.zeros(rows.shape[1], dtype=np.int64)
    system = SignSystem(rows, strict=True)
    for i in range(len(rows)):
        system.set_sign(i, 1)
    t, w = system.solve()
    return as_integers(w) if t > 0 else None


def positive_combination(vectors: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return positive integers c for which sum c_i x_i seems almost 0, or None; the caller corrects it.

    The program: maximise t subject to sum c_i x_i / |x_i|_1 = 0, t <= c_i <= 1.

    Args:
        vectors: (k, r) non-zero integers.

    Example:
        >>> c = positive_combination(np.array([[1], [-2]]))
        >>> bool(abs(c[0] - 2 * c[1]) <= 2)
        True
    """
    from scipy.optimize import linprog

    floats = vectors.astype(np.float64)
    lengths = np.abs(floats).sum(axis=1)
    k, r = floats.shape
    # Substitute c_i = t + e_i, e_i >= 0: the rows c_i >= t disappear.
    balance = np.c_[(floats / lengths[:, None]).T, (floats / lengths[:, None]).sum(axis=0)]
    bounds = [(0.0, 1.0)] * (k + 1)
    answer = linprog(np.r_[np.zeros(k), -1.0], A_eq=balance, b_eq=np.zeros(r), bounds=bounds, method="highs")
    if answer.x is None or answer.x[k] <= 0:
        return None
    multipliers = (answer.x[:k] + answer.x[k]) / lengths
    return as_integers(multipliers)
