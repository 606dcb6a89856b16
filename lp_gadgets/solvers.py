"""What solvers say of a program: cross-checks, never answers.

* :func:`solve`: is the program of two words feasible? It must agree with F.
* :func:`largest_deviation`: how far can a word move when some of its pins are dropped? 0 iff it is rigid.
* :func:`least_dropped`: the fewest pins of Alice whose removal makes the program feasible, as a
  mixed-integer program; it must lie between the certified bounds.
* :func:`least_slack`: the least relaxation of the pins that are not dropped at which the program becomes
  feasible, as a mixed-integer program; it must be at least the certified 1/N.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import check_choice
from geomdp.lp.feasibility import Answer, SparseProgram, solve_by_model, solve_directly
from lp_gadgets.graphs.graph import check_variables
from lp_gadgets.program import Program
from lp_gadgets.public import PublicInstance
from lp_gadgets.sparse import SparseRows, join

METHODS = ("fast", "lp")


def rows_of(instance: PublicInstance, u: Any, v: Any, erased: Iterable[int] = ()) -> SparseRows:
    """Return the program of two words: public rows, Alice's pins off the erased positions, Bob's pins."""
    program = instance.program
    a, b = instance.codewords(u, v)
    gone = check_variables(instance.code, "erased", erased)
    kept = np.array([i for i in range(instance.code.K) if i not in gone], dtype=np.int64)
    pins = [
        program.pins.select(program.pin_rows("A", a)[kept]),
        program.pins.select(program.pin_rows("B", b)),
    ]
    return join(len(program.variables), [program.public, *pins])


def sparse_program(rows: SparseRows, **extra: Any) -> SparseProgram:
    """Return rows as the data of a solver's program."""
    return SparseProgram(rows.columns, rows.start, rows.index, rows.value, rows.bound, **extra)


def solve(instance: PublicInstance, u: Any, v: Any, method: str = "fast") -> Answer:
    """Return what HiGHS says of the program of two words.

    Args:
        instance: the instance.
        u, v: k labels each.
        method: "fast" calls HiGHS directly, "lp" through the CVXPY model.

    Returns:
        The solver's status and objective: a cross-check, never an answer.

    Raises:
        ArgumentError: unless ``method`` is one of :data:`METHODS`, or on a wrong length or symbol.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> solve(inst, [1, 1, 0], [1, 1, 0]).status, solve(inst, [1, 1, 0], [1, 0, 0]).status
        ('feasible', 'infeasible')
    """
    check_choice("method", method, METHODS)
    data = sparse_program(rows_of(instance, u, v))
    return solve_directly(data) if method == "fast" else solve_by_model(data)


def largest_deviation(instance: PublicInstance, u: Any, erased: Iterable[int], method: str = "fast") -> float:
    """Return the largest sum of deficits of a word's true symbols when its pins on a set are dropped.

    Bob's word is zero, so that the message part of the program never interferes.

    Args:
        instance: the instance.
        u: k labels, Alice's message.
        erased: positions whose pins are dropped.
        method: "fast" calls HiGHS directly, "lp" through the CVXPY model.

    Returns:
        The optimum in floats: 0 where the word is forced all the same, up to tolerances.

    Raises:
        ArgumentError: unless ``method`` is one of :data:`METHODS`, or on a wrong length, symbol or position.

    Source: tests Lemma D.2 of the paper, the rigidity of codewords under erasures.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> T = inst.stopping.witness
        >>> largest_deviation(inst, [1, 0, 1], T[1:]) < 1e-6, largest_deviation(inst, [1, 0, 1], T) > 0.9
        (True, True)
    """
    check_choice("method", method, METHODS)
    zero = np.zeros(instance.k, dtype=np.int64)
    a, _ = instance.codewords(u, zero)
    cost = np.zeros(len(instance.program.variables))
    constant = 0.0
    pins = instance.program.pins.select(instance.program.pin_rows("A", a))
    for i in check_variables(instance.code, "erased", erased):
        part = slice(int(pins.start[i]), int(pins.start[i + 1]))
        cost[pins.index[part]] -= pins.value[part]
        constant -= float(pins.bound[i])
    data = sparse_program(rows_of(instance, u, zero, erased), cost=cost)
    answer = solve_directly(data) if method == "fast" else solve_by_model(data)
    return -answer.objective + constant


def _with_switches(
    instance: PublicInstance, u: Any, v: Any, drops: int | None
) -> tuple[SparseProgram, NDArray[np.int64]]:
    """Return the program with a slack variable and a switch for each of Alice's pins.

    Columns: the variables, the slack eta, K switches. A pin reads deficit <= eta + M switch; with ``drops``
    given, the switches add up to at most that, and eta is minimised, else eta = 0 and their sum is.
    """
    program, K = instance.program, instance.code.K
    a, b = instance.codewords(u, v)
    n = len(program.variables)
    pins, M = program.pins.select(program.pin_rows("A", a)), program.recipe.embedding.largest_deficit
    entries = [
        ([*index, n, n + 1 + i], [*value, -1, -M], bound)
        for i, (_, index, value, bound) in enumerate(pins.entries())
    ]
    if drops is not None:
        entries.append((list(range(n + 1, n + 1 + K)), [1] * K, drops))
    switched = SparseRows.of(n + 1 + K, entries, [f"s{i}" for i in range(len(entries))])
    fixed = join(n + 1 + K, [program.public, program.pins.select(program.pin_rows("B", b)), switched])
    lower, upper = np.full(n + 1 + K, -np.inf), np.full(n + 1 + K, np.inf)
    lower[n:], upper[n + 1 :] = 0.0, 1.0
    upper[n] = 0.0 if drops is None else 1.0
    cost = np.zeros(n + 1 + K)
    cost[n if drops is not None else slice(n + 1, None)] = 1.0
    switches = np.arange(n + 1, n + 1 + K)
    return sparse_program(fixed, cost=cost, lower=lower, upper=upper, whole=switches.tolist()), switches


def with_all_switches(
    program: Program, a: NDArray[np.int64], b: NDArray[np.int64]
) -> tuple[SparseProgram, NDArray[np.int64]]:
    """Return the program with a switch for every pin of two codewords, whose sum is minimised.

    Columns: the variables, then the switches of Alice's pins and of Bob's. A pin reads deficit <= M switch,
    with M the largest deficit, so an open switch drops it.
    """
    n, K = len(program.variables), program.code.graph.K
    pins = program.pins.select(np.concatenate([program.pin_rows("A", a), program.pin_rows("B", b)]))
    M = program.recipe.embedding.largest_deficit
    entries = [
        ([*index, n + i], [*value, -M], bound) for i, (_, index, value, bound) in enumerate(pins.entries())
    ]
    switched = SparseRows.of(n + 2 * K, entries, [f"s{i}" for i in range(2 * K)])
    rows = join(n + 2 * K, [program.public, switched])
    switches = np.arange(n, n + 2 * K)
    lower, upper, cost = np.full(n + 2 * K, -np.inf), np.full(n + 2 * K, np.inf), np.zeros(n + 2 * K)
    lower[switches], upper[switches], cost[switches] = 0.0, 1.0, 1.0
    return sparse_program(rows, cost=cost, lower=lower, upper=upper, whole=switches.tolist()), switches


def least_dropped(instance: PublicInstance, u: Any, v: Any, time_limit: float | None = None) -> Answer:
    """Return HiGHS's least number of Alice's pins to drop for the program to be feasible; small codes only.

    Args:
        instance: the instance.
        u, v: k labels each, with F = 1.
        time_limit: seconds, or None.

    Returns:
        The solver's answer, whose objective is the number; with F = 1 it should be D.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> round(least_dropped(inst, [1, 0, 1], [1, 1, 0]).objective) == inst.D
        True
    """
    return solve_directly(_with_switches(instance, u, v, None)[0], time_limit)


def least_slack(
    instance: PublicInstance, u: Any, v: Any, drops: int | None = None, time_limit: float | None = None
) -> Answer:
    """Return HiGHS's least slack of Alice's pins that makes the program feasible, D - 1 pins dropped.

    Args:
        instance: the instance.
        u, v: k labels each, with F = 1.
        drops: how many pins may be dropped, by default D - 1.
        time_limit: seconds, or None.

    Returns:
        The solver's answer, whose objective is the slack: positive, and at least the 1 / N of the instance.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> least_slack(inst, [1, 0, 1], [1, 1, 0]).objective >= 1 / inst.N - 1e-9
        True
    """
    number = instance.D - 1 if drops is None else drops
    return solve_directly(_with_switches(instance, u, v, number)[0], time_limit)
