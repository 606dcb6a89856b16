"""Programs written once, readably, in CVXPY and solved by HiGHS: what the direct loops must agree with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sign_vector_program(rows: NDArray[Any], strict: bool) -> tuple[Any, Any, Any]:
    """Return the program that decides whether signs can be realised, with its parameter and direction.

    For signs s in {-1, 0, +1}^m (0: no demand), with a_i = x_i / |x_i|_1 and M large enough to switch
    a constraint off (M = 2: all quantities are at most 1):

        maximise    t
        subject to  <a_i, w> >= t - M [s_i != +1]      (strict; without t, for sign(0) = +1, otherwise)
                    <a_i, w> <= -t + M [s_i != -1]
                    -1 <= w_j <= 1,  -1 <= t <= 1.

    The signs are realisable iff the optimum is positive.

    Args:
        rows: (m, d) non-zero integers.
        strict: demand <x, w> > 0 at +1; otherwise only >= 0.

    Returns:
        (problem, signs, w): a CVXPY problem, its sign parameter (m,), its variable w (d,).
    """
    import cvxpy as cp

    a = rows.astype(np.float64)
    a = a / np.abs(a).sum(axis=1, keepdims=True)
    m, d = a.shape
    free_plus, free_minus = cp.Parameter(m, nonneg=True), cp.Parameter(m, nonneg=True)
    w, t = cp.Variable(d), cp.Variable()
    constraints = [
        a @ w >= (t if strict else 0.0) - 2.0 * free_plus,
        a @ w <= -t + 2.0 * free_minus,
        w <= 1.0,
        w >= -1.0,
        t <= 1.0,
        t >= -1.0,
    ]
    return cp.Problem(cp.Maximize(t), constraints), (free_plus, free_minus), w


def sign_vector_optimum(
    rows: NDArray[Any], signs: NDArray[np.int8], strict: bool
) -> tuple[float, NDArray[np.float64]]:
    """Return the optimum t of :func:`sign_vector_program` and a direction w, as HiGHS suggests them.

    Example:
        >>> t, w = sign_vector_optimum(np.array([[1, 0], [0, 1]]), np.array([1, -1]), True)
        >>> t > 0, bool(w[0] > 0 > w[1])
        (True, True)
    """
    problem, (free_plus, free_minus), w = sign_vector_program(rows, strict)
    free_plus.value = (np.asarray(signs) != 1).astype(np.float64)
    free_minus.value = (np.asarray(signs) != -1).astype(np.float64)
    problem.solve(solver="HIGHS")
    return float(problem.value), np.asarray(w.value, dtype=np.float64)
