"""Hard instances: building, certifying and verifying them, and what their records cost in memory."""

from __future__ import annotations

import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from lp_gadgets.folder import load
from lp_gadgets.instance import HardInstance
from lp_gadgets.solvers import least_dropped
from lp_gadgets.tanner import TannerCode, WeakGraphWarning

#: (graph, q, embedding, encoding, seconds aimed at for building and certifying together)
INSTANCES = (
    ("biregular:32:seed=47", 2, "parabola", "facets", 4),
    ("qc:64", 2, "parabola", "facets", 20),
    ("qc:128", 2, "parabola", "facets", 20),
    ("qc:32", 4, "cube", "facets", 60),
    ("qc:64", 4, "cube", "facets", 60),
    ("qc:32", 8, "cube", "facets", 60),
    ("qc:64", 8, "cube", "facets", 60),
    ("qc:32", 4, "parabola", "tree", 60),
    ("qc:32", 8, "parabola", "implication tree", 60),
    ("geometry:EG(2,8)", 2, "parabola", "facets", None),
    ("geometry:GH(2,2)", 4, "parabola", "facets", None),
)


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    warnings.simplefilter("ignore", WeakGraphWarning)
    TannerCode.quasi_cyclic(16).stopping_distance()  # compile
    for done, (code, q, embedding, encoding, target) in enumerate(INSTANCES, start=1):
        yield from _instance(code, q, embedding, encoding, target)
        if progress is not None:
            progress(done / len(INSTANCES))
    yield from _baseline()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield {"name": "peak memory of all of the above", "value": peak, "unit": "GB", "target": "<= 2"}


def _instance(
    code: str, q: int, embedding: str, encoding: str, target: int | None
) -> Iterator[dict[str, Any]]:
    graph = TannerCode.from_text(code)
    build, inst = _timed(lambda: HardInstance(graph, q, embedding=embedding, encoding=encoding))
    u, v = inst.words(1)
    prove, found = _timed(lambda: inst.certify(u, v))
    size = inst.program.size
    stem = f"{code}, q = {q}, {embedding}, {encoding}"
    opt = f"opt {found.opt_lower}..{found.opt_upper}"
    sizes = f"{size.variables} variables, {size.rows} rows, D = {inst.D}, {opt}"
    yield {
        "name": f"{stem}: build and certify; {sizes}",
        "value": build + prove,
        "unit": "s",
        "target": f"<= {target}" if target else "",
    }
    with tempfile.TemporaryDirectory() as place:
        inst.save(u, v, place)
        check, _ = _timed(lambda: load(place).verify())
    yield {"name": f"{stem}: read and verify", "value": check, "unit": "s"}


def _baseline() -> Iterator[dict[str, Any]]:
    """Compare with the mixed-integer program for the fewest pins to drop, where that can be solved at all."""
    inst = HardInstance(TannerCode.from_text("qc:32"))
    u, v = inst.words(1)
    prove, found = _timed(lambda: (inst.code.stopping_distance(), inst.certify(u, v))[1])
    seconds, answer = _timed(lambda: least_dropped(inst, u, v, time_limit=60))
    yield {
        "name": f"qc:32, q = 2: search and certify, opt {found.opt_lower}..{found.opt_upper}",
        "value": prove,
        "unit": "s",
        "ratio": seconds / prove,
        "baseline": f"faster than HiGHS on the fewest pins to drop ({answer.status})",
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
