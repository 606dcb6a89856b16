"""The search for a classifier with few mistakes on the records of a pair of words.

What is found is a point of the program's space; whoever uses it recounts all its mistakes in integers, so
nothing here has to be believed.

* :func:`find_witness` tries the stopping sets at hand, on each of which one word can be relaxed (see
  :mod:`lp_gadgets.witnesses.witness`), and then what a solver suggests.
* :func:`guided_witness` asks a solver for the fewest pins, of both words, whose removal makes the program
  feasible, and then for a corner of the rest. Corners of these programs mostly have small denominators, so
  the point is rounded to several of them, and the rounded point that makes the fewest mistakes is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from lp_gadgets.public import PublicInstance, Word
from lp_gadgets.sparse import join
from lp_gadgets.witnesses.witness import Witness, best_witness, integral_witness

#: Largest program, in coefficients, for which a solver is asked, and its time in seconds.
MAX_GUIDED, SECONDS = 60_000, 10.0
#: Denominators to which a corner is rounded.
DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 18, 20, 24, 30, 36, 48, 60, 120)


def find_witness(instance: PublicInstance, u: Word, v: Word) -> Witness:
    """Return the best known classifier of a pair's records, as a point of the program.

    With F = 0 it makes no mistake. With F = 1 it gives up the single row ``out.top`` (J mistakes) or some
    pins (L mistakes each), whichever is less. Tried are the minimum stopping set that is known, other
    small stopping sets, and, on programs of moderate size, what a mixed-integer solver suggests; the
    mistakes of each point are recounted. The search stops at the instance's lower bound ``gap``.

    Args:
        instance: the instance.
        u, v: k labels each.

    Raises:
        ArgumentError: on a wrong length or symbol.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = PublicInstance(TannerCode.geometry("Fano"))
        >>> found = find_witness(inst, [1, 0, 1], [1, 1, 0])
        >>> held = inst.held(*inst.codewords([1, 0, 1], [1, 1, 0]))
        >>> inst.records.mistakes(found.array, found.denominator, held) == inst.gap
        True
    """
    a, b = instance.codewords(u, v)
    best = integral_witness(instance.program, a, b)
    if instance.F(u, v) == 0 or instance.gap >= instance.J:
        return best
    held = instance.held(a, b)
    fewest = instance.J
    for made in _candidates(instance, a, b):
        found = made()
        if found is None:
            continue
        wrong = instance.records.mistakes(found.array, found.denominator, held)
        if wrong < fewest or (wrong == fewest and best.kind == "integral"):
            best, fewest = found, wrong
        if fewest <= instance.gap:
            break
    return best


def _candidates(
    instance: PublicInstance, a: NDArray[np.int64], b: NDArray[np.int64]
) -> Iterator[Callable[[], Witness | None]]:
    """Yield the ways to a witness of F = 1, the cheap ones first."""
    yield lambda: best_witness(instance.program, a, b, [instance.stopping.witness])
    yield lambda: best_witness(instance.program, a, b, instance.small_sets)
    yield lambda: guided_witness(instance, a, b)


def guided_witness(
    instance: PublicInstance, a: NDArray[np.int64], b: NDArray[np.int64], seconds: float = SECONDS
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
    held = instance.held(a, b)
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
