"""Private learners: planned sample sizes, simulated errors, an exact sweep over labellings, audits."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.learners.audits import BUGS, CASES, audit
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.domains import Dyadic
from geomdp.learners.planning import learning_plan
from geomdp.learners.trials import WORLDS, learning_curve
from geomdp.privacy.sampler import SimSampler

RUNS, FEWER = 41, 11  # on halfspaces, on compositions of thresholds


def planned() -> Iterator[dict[str, Any]]:
    """Yield records needed at epsilon = 1, delta = 1e-6, alpha = beta = .1, coordinates within +-512."""
    for d, target in ((1, ""), (2, "<= 3.0e4"), (3, "<= 1.9e5")):
        start = time.perf_counter()
        plan = learning_plan("halfspaces", d=d)
        seconds = time.perf_counter() - start
        stated = plan.row("stated constants, quasi-concave").n or 0
        for row in plan.rows:
            if row.n is None:
                continue
            wanted = target if row.name == "carrier-boost, merged" else ""
            yield {
                "name": f"n for halfspaces, d = {d}: {row.name} ({row.kind})",
                "value": f"{row.n:.3g}" if row.n >= 10**7 else f"{row.n:,}",
                "target": wanted,
                "ratio": stated / row.n,
                "baseline": "fewer than by the paper's literal constants",
            }
        yield {"name": f"time of the plan, d = {d}", "value": seconds, "unit": "s", "target": "<= 2 s"}


def errors() -> Iterator[dict[str, Any]]:
    """Yield median errors of simulated runs at epsilon = 1, beside the generic exponential mechanism's."""
    cases = (
        ("square", "carrier-boost", 2000, "<= .02"),
        ("square", "carrier-boost", 4000, "<= .011"),
        ("square", "label-boost", 4000, ""),
        ("multi-scale", "carrier-boost", 2000, "<= .03"),
        ("square", "public points", 500, ""),
        ("multi-scale", "public points", 500, ""),
        ("multi-scale", "objective perturbation", 2000, ">= .15 (a baseline)"),
        ("multi-scale", "noisy gradient descent", 2000, ">= .15 (a baseline)"),
        ("multi-scale", "majority", 2000, ""),
        ("interval", "label-boost", 8000, "<= .02"),
        ("interval", "carrier-boost", 8000, ""),
        ("xor3", "label-boost", 32_000, "<= .02"),
    )
    generic: dict[tuple[str, int], float] = {}
    for name, method, n, target in cases:
        world = WORLDS[name]
        runs = FEWER if world.rule else RUNS
        start = time.perf_counter()
        found = learning_curve(world, method, [n], runs).medians[0]
        seconds = (time.perf_counter() - start) / runs
        if (name, n) not in generic:
            generic[name, n] = learning_curve(world, "exponential", [n], 5).medians[0]
        yield {
            "name": f"simulated median error, {world.name}, {method}, n = {n:,} ({seconds:.2g} s a run)",
            "value": found,
            "target": target,
            "ratio": found / max(generic[name, n], 1 / n),
            "baseline": "the generic exponential mechanism's error",
        }


def sweep() -> Iterator[dict[str, Any]]:
    """Yield time and memory of one exact draw among all labellings of 6,000 points in the plane."""
    m = 3000
    rng = np.random.default_rng(0)
    X = rng.integers(-512, 513, (2 * m, 2))
    y = np.where(np.arange(2 * m) < m, np.where(X @ [3, 2] >= 100, 1, -1), 0)
    C = Halfspaces((Dyadic(4, 20),) * 2).extend(Fraction(1))
    C.labelings(X[:50], y[:50]).select(Fraction(1, 2), SimSampler(0))
    start = time.perf_counter()
    C.labelings(X, y).select(Fraction(1, 2), SimSampler(0))
    seconds = time.perf_counter() - start
    yield {
        "name": "one labelling drawn exactly, m = 3,000 (about 1.8e7 cells)",
        "value": seconds,
        "unit": "s",
        "target": "<= 20 s",
    }
    tracemalloc.start()
    C.labelings(X, y).select(Fraction(1, 2), SimSampler(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield {"name": "its peak memory", "value": peak / 1e6, "unit": "MB", "target": "<= 50 MB"}


def space() -> Iterator[dict[str, Any]]:
    """Yield the time of one choice of (w, a_1) in three features, and its ratio to the cube of the rows."""
    rng = np.random.default_rng(0)
    C = Halfspaces((Dyadic(4, 20),) * 3, merged=True)
    times: dict[int, float] = {}
    for m in (20, 300, 800):  # the first is for the compiler
        X = rng.integers(-512, 513, (m, 3))
        start = time.perf_counter()
        C.objective(X, np.where(X @ [2, -1, 1] >= 100, 1, -1))
        times[m] = time.perf_counter() - start
        if m >= 300:
            yield {
                "name": f"scores of (w, a_1) in three features, m = {m} ({m**3 / 2:.1e} crossings twice)",
                "value": times[m],
                "unit": "s",
                "target": "<= 120 s" if m == 800 else "",
                "ratio": times[m] / times[300] / (m / 300) ** 3,
                "baseline": "300 rows, scaled by the cube",
            }


def audits() -> Iterator[dict[str, Any]]:
    """Yield the exact worst loss of whole runs on tiny domains beside the stated one; planted bugs."""
    for name, case in list(CASES.items())[:3]:
        found = audit(case)
        yield {
            "name": f"exact worst loss over all neighbours: {name}",
            "value": found.log_upper,
            "target": f"<= {float(case.claim):.3g}",
            "ratio": float(case.claim) / found.log_upper,
            "baseline": "below the stated loss",
        }
    caught = sum(audit(case, view).violates(case.claim) for _, _, case, view in BUGS)
    yield {"name": "planted bugs caught", "value": f"{caught} of {len(BUGS)}", "target": f"{len(BUGS)}"}


def run() -> Iterator[dict[str, Any]]:
    """Yield all rows."""
    yield from planned()
    yield from errors()
    yield from sweep()
    yield from space()
    yield from audits()
