"""Tanner graphs: exact stopping distances, their proofs, certified bounds, and HiGHS on the same question."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lp_gadgets.stopping import StoppingDistance
from lp_gadgets.tanner import TannerCode

#: graph -> (seconds to reach, time limit)
EXACT = {"qc:64": (1, 60), "qc:128": (2, 60), "qc:160": (10, 60), "qc:192:seed=1": (60, 120)}
CERTIFIED = {"qc:256": 15, "qc:400": 17}
#: time for the certified bounds, and for HiGHS
LIMIT, MIP_LIMIT = 60.0, 90.0
GEOMETRIES = ("Fano", "EG(2,4)", "PG(2,4)", "EG(2,8)", "PG(2,8)", "GQ(2,2)", "GQ(4,4)", "GH(2,2)", "GH(2,2)*")


def mip_seconds(code: TannerCode, expected: int) -> tuple[float, bool]:
    """Return HiGHS' time for the least sum x >= 1, x_v <= the others' sum in each check; and its success."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_matrix

    A = lil_matrix((1 + sum(code.check_degrees), code.K))
    A[0, :] = 1
    row = 1
    for check in code.checks:
        for v in check:
            A[row, list(check)] = 1
            A[row, v] = -1
            row += 1
    started = time.perf_counter()
    answer = milp(
        np.ones(code.K),
        constraints=LinearConstraint(A.tocsc(), np.r_[1, np.zeros(row - 1)]),
        bounds=Bounds(0, 1),
        integrality=np.ones(code.K),
        options={"time_limit": MIP_LIMIT},
    )
    seconds = time.perf_counter() - started
    return seconds, answer.status == 0 and round(answer.fun) == expected


def verified(code: TannerCode, found: StoppingDistance) -> float:
    """Return the time of the replay of a result."""
    started = time.perf_counter()
    found.verify(code)
    return time.perf_counter() - started


def exact() -> Iterator[dict[str, Any]]:
    """Yield times of exact distances, of their replays, and of HiGHS at K = 64."""
    for text, (target, limit) in EXACT.items():
        code = TannerCode.from_text(text)
        found = code.stopping_distance(time_limit=limit)
        row = {
            "name": f"s_min = {found.value} of {code.name} ({found.positions:,} positions; "
            f"replayed in {verified(code, found):.2f} s)",
            "value": found.seconds,
            "unit": "s",
            "target": f"<= {target}",
        }
        if text == "qc:64":
            seconds, solved = mip_seconds(code, found.upper)
            row |= {"ratio": seconds / found.seconds, "baseline": "HiGHS" if solved else "HiGHS, stopped"}
        yield row


def certified() -> Iterator[dict[str, Any]]:
    """Yield lower bounds that are certified within a time limit, with the smallest stopping set known."""
    for text, target in CERTIFIED.items():
        code = TannerCode.from_text(text)
        found = code.stopping_distance(time_limit=LIMIT)
        yield {
            "name": f"s_min of {code.name}, certified in {LIMIT:.0f} s (at most {found.upper})",
            "value": found.lower,
            "target": f">= {target}",
        }


def selection() -> Iterator[dict[str, Any]]:
    """Yield the best of many seeds of each construction."""
    for K, number in ((32, 60), (64, 60), (128, 30)):
        for maker in (TannerCode.biregular, TannerCode.peg, TannerCode.quasi_cyclic):
            started = time.perf_counter()
            code = maker(K=K, best_of=number)
            seconds = time.perf_counter() - started
            yield {
                "name": f"s_min, best of {number}: {code.name}, k = {code.K - code.rank} ({seconds:.1f} s)",
                "value": code.stopping_distance().value,
            }


def geometries() -> Iterator[dict[str, Any]]:
    """Yield the geometries."""
    for name in GEOMETRIES:
        code = TannerCode.geometry(name)
        found = code.stopping_distance()
        yield {
            "name": f"s_min of {name}: K = {code.K}, degree {code.variable_degrees[0]}, "
            f"k = {code.K - code.rank} ({1000 * found.seconds:.0f} ms)",
            "value": found.value,
        }


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return all rows."""
    TannerCode.geometry("Fano").stopping_distance()  # compilation is not the search's time
    rows: list[dict[str, Any]] = []
    parts = (geometries, exact, selection, certified)
    for number, part in enumerate(parts):
        rows.extend(part())
        if progress is not None:
            progress((number + 1) / len(parts))
    return rows
