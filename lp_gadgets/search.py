"""The search for a classifier with few mistakes, where the stopping set at hand does not give one.

What is found is a point of the program's space; whoever uses it recounts all its mistakes in integers, so
nothing here has to be believed.

* :func:`stopping_sets` lists stopping sets of small size. On each, one word can be relaxed, see
  :mod:`lp_gadgets.witness`.
* :func:`guided_witness` asks a solver for the fewest pins, of both words, whose removal makes the program
  feasible, and then for a corner of the rest. Corners of these programs mostly have small denominators, so
  the point is rounded to several of them, and the rounded point that makes the fewest mistakes is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lp_gadgets.witness import Witness

if TYPE_CHECKING:
    from lp_gadgets.instance import HardInstance
    from lp_gadgets.tanner import TannerCode

#: Positions that are looked at for stopping sets, and sets that are used.
MAX_POSITIONS, MAX_SETS = 20_000, 200
#: Largest program, in coefficients, for which a solver is asked, and its time in seconds.
MAX_GUIDED, SECONDS = 60_000, 10.0
#: Denominators to which a corner is rounded.
DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 24, 30, 36, 48, 60, 120)


def stopping_sets(code: TannerCode, size: int) -> list[tuple[int, ...]]:
    """Return stopping sets of at most some size that contain no smaller one, the smallest first.

    The sets are those that a search reaches which adds, for the first check that is met once, each of its
    variables in turn: a stopping set that contains the chosen variables contains one of these. The list is
    complete unless the search ends at :data:`MAX_POSITIONS` positions or :data:`MAX_SETS` sets of a size.

    Args:
        code: the graph.
        size: the largest number of variables.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> stopping_sets(TannerCode(4, ((0, 1), (2, 3), (1, 2, 3))), 4)
        [(2, 3)]
        >>> len(stopping_sets(TannerCode.geometry("Fano"), 4))  # the complements of the lines
        7
    """
    found: list[tuple[int, ...]] = []
    for wanted in range(1, size + 1):
        left = [MAX_POSITIONS]
        own = set()
        for root in range(code.K):
            for T in _complete(code, frozenset([root]), frozenset(range(root)), wanted, left):
                own.add(tuple(sorted(T)))
                if len(own) >= MAX_SETS:
                    break
        smaller = [set(T) for T in found]
        found += sorted(T for T in own if not any(small < set(T) for small in smaller))
        if left[0] <= 0 or len(found) >= MAX_SETS:
            break
    return found


def _complete(
    code: TannerCode, chosen: frozenset[int], excluded: frozenset[int], size: int, left: list[int]
) -> Iterator[frozenset[int]]:
    """Yield stopping sets of the given size that contain the chosen and none of the excluded variables."""
    left[0] -= 1
    if left[0] < 0:
        return
    met: dict[int, int] = {}
    for v in chosen:
        for c in code.neighbours[v]:
            met[c] = met.get(c, 0) + 1
    single = [c for c, times in met.items() if times == 1]
    if not single:
        if len(chosen) == size:
            yield chosen
        return
    if len(chosen) >= size:
        return
    check = min(single, key=lambda c: len(code.checks[c]))
    gone = set(excluded)
    for v in code.checks[check]:
        if v not in chosen and v not in gone:
            yield from _complete(code, chosen | {v}, frozenset(gone), size, left)
            gone.add(v)


def guided_witness(
    instance: HardInstance, a: NDArray[np.int64], b: NDArray[np.int64], seconds: float = SECONDS
) -> Witness | None:
    """Return a point that a solver suggests for two codewords, or None where it does not help.

    Args:
        instance: the instance.
        a, b: two codewords, K labels each.
        seconds: for the solver.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> a, b = inst.codewords([1, 0, 1], [1, 1, 0])
        >>> found = guided_witness(inst, a, b)
        >>> wrong = found.wrong_pins(inst.program, "A", a) + found.wrong_pins(inst.program, "B", b)
        >>> found.violated(inst.program), len(wrong)
        ([], 4)
    """
    from geomdp.lp.feasibility import solve_directly
    from lp_gadgets.solvers import sparse_program, with_all_switches
    from lp_gadgets.sparse import join

    program = instance.program
    if program.public.nonzeros + program.pins.nonzeros > MAX_GUIDED:
        return None
    data, switches = with_all_switches(program, a, b)
    answer = solve_directly(data, seconds)
    if answer.x is None:
        return None
    kept = np.concatenate([program.pin_rows("A", a), program.pin_rows("B", b)])[answer.x[switches] < 0.5]
    rows = join(len(program.variables), [program.public, program.pins.select(kept)])
    corner = solve_directly(sparse_program(rows), seconds)
    held = instance.records.counts("A", a, instance.n), instance.records.counts("B", b, instance.n)
    best, fewest = None, instance.J
    for x in (corner.x, answer.x[: len(program.variables)]):
        if x is None or not np.isfinite(x).all() or np.abs(x).max(initial=0) > 2**40:
            continue
        for denominator in DENOMINATORS:
            numerators = np.rint(x * denominator).astype(np.int64)
            wrong = instance.records.mistakes(numerators, denominator, held)
            if wrong < fewest:
                best, fewest = Witness("guided", tuple(numerators.tolist()), denominator), wrong
    return best
