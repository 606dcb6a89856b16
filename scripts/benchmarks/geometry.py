"""Dual discretisation and exact counts: times of one thread, against the LP twin in the same run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.geometry.arrangement import count_dichotomies, dichotomies

COLD = """
from geomdp import Domain
from geomdp.geometry.arrangement import dichotomies
dichotomies(Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)]))
"""


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return the rows; progress is called with the fraction done."""
    dichotomies(_grid(3, 3, 3))  # load or compile the kernels
    count_dichotomies(_grid(3, 3, 3))
    parts = [_enumerations, _growth, _counts, _against_the_twin, _cold]
    rows: list[dict[str, Any]] = []
    for done, part in enumerate(parts, start=1):
        rows.extend(part())
        if progress is not None:
            progress(done / len(parts))
    return rows


def _enumerations() -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(0)
    cases = [
        ("16 x 16 + bias", _grid(16, 16), 2.0),
        ("32 x 32 + bias", _grid(32, 32), 12.0),
        ("6 x 6 x 6 + bias", _grid(6, 6, 6), None),
        ("random (3, 1000)", _random(rng, 1000, 3), 15.0),
        ("random (4, 120)", _random(rng, 120, 4), 5.0),
        ("random (5, 60)", _random(rng, 60, 5), 15.0),
        ("random (6, 25)", _random(rng, 25, 6), None),
    ]
    for name, domain, target in cases:
        seconds, found = _seconds(lambda domain=domain: dichotomies(domain))
        yield {
            "name": f"dichotomies of {name}: {len(found):,}",
            "value": seconds,
            "unit": "s",
            "target": f"<= {target:g}" if target else "",
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield {"name": "peak memory up to here", "value": peak, "unit": "MB", "target": "<= 600"}


def _growth() -> Iterator[dict[str, Any]]:
    # The small case takes milliseconds: the least of many runs, or its first one decides the figure.
    cases = ((_grid(11, 11), 30), (_grid(36, 36), 3))
    (few, first), (many, second) = (_seconds(lambda D=D: dichotomies(D), repeat) for D, repeat in cases)
    yield {
        "name": f"fall of cells per second from {len(first):,} to {len(second):,} cells, d = 3",
        "value": (len(first) / few) / (len(second) / many),
        "unit": "x",
        "target": "< 2",
    }


def _counts() -> Iterator[dict[str, Any]]:
    for name, domain in (("32 x 32 + bias", _grid(32, 32)), ("8 x 8 x 8 + bias", _grid(8, 8, 8))):
        seconds, count = _seconds(lambda domain=domain: count_dichotomies(domain))
        yield {"name": f"count of {name}: {count:,}", "value": seconds, "unit": "s", "target": "<= 5"}


def _against_the_twin() -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(1)
    for d, m in ((2, 60), (3, 25), (4, 14), (5, 11)):
        domain = _random(rng, m, d)
        slow, found = _seconds(lambda domain=domain: dichotomies(domain, method="lp"))
        fast, _ = _seconds(lambda domain=domain: dichotomies(domain), repeat=5)
        yield {
            "name": f"random ({d}, {m}): {len(found):,} dichotomies, cells per second",
            "value": len(found) / fast,
            "unit": "1/s",
            "target": ">= 20x the twin",
            "ratio": slow / fast,
            "baseline": "faster than the LP twin",
        }


def _cold() -> Iterator[dict[str, Any]]:
    for name, cached in (("kernels compiled from nothing", False), ("kernels cached on disk", True)):
        with tempfile.TemporaryDirectory() as folder:
            settings = dict(os.environ) if cached else {**os.environ, "NUMBA_CACHE_DIR": folder}
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", COLD], env=settings, check=True)
            seconds = time.perf_counter() - start
        yield {"name": f"new process, 16 x 16 + bias, {name}", "value": seconds, "unit": "s"}


def _grid(*levels: int) -> Domain:
    return Domain.grid([(f"f{i}", 0, 1, k) for i, k in enumerate(levels)])


def _random(rng: np.random.Generator, m: int, d: int) -> Domain:
    points = rng.integers(-50, 51, (m, d))
    points[:, -1] = np.abs(points[:, -1]) + 1
    return Domain(points)


def _seconds(work: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result
