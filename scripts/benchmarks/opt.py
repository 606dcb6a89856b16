"""Exact optima and suprema: times of one machine, each warm unless it says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.opt.halfspace import least_mistakes, opt_halfspace, sup_points
from geomdp.opt.sup import sup_field
from geomdp.opt.threshold import opt_threshold

COLD = """
from geomdp.opt.halfspace import least_mistakes
least_mistakes([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], [1, 0, 0, 1], [0, 1, 1, 0])
"""


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    parts = [_suprema, _planes, _higher, _sorted, _cold]
    for done, part in enumerate(parts, start=1):
        yield from part()
        if progress is not None:
            progress(done / len(parts))


def _suprema() -> Iterator[dict[str, Any]]:
    for levels, draws, target in ((8, 10_000, 6), (16, 10_000, 6), (32, 2_000, 60), (64, 200, None)):
        D = _grid(levels, 2)
        Z = _noise(D, draws)
        sup_field(D, Z[:64])
        seconds = _seconds(lambda D=D, Z=Z: sup_field(D, Z))
        row = {
            "name": f"exact supremum, {levels} x {levels} + bias, {draws} draws",
            "value": seconds,
            "unit": "s",
            "target": f"<= {target}" if target else "",
        }
        if levels <= 16:
            signs = dichotomies(D).signs.astype(np.float32)
            some = Z[:200].astype(np.float32).T
            dense = _seconds(lambda signs=signs, some=some: (signs @ some).max(axis=0)) * draws / 200
            row |= {
                "ratio": dense / seconds,
                "baseline": "faster than a float32 product over all dichotomies",
            }
        yield row


def _planes() -> Iterator[dict[str, Any]]:
    for levels, target in ((16, 0.1), (32, 2), (64, 40)):
        D = _grid(levels, 2)
        z = _noise(D, 1)[0]
        seconds = _seconds(lambda D=D, z=z: _least(D, z))
        row = {
            "name": f"least mistakes, {levels * levels} weighted cells, d = 3",
            "value": seconds,
            "unit": "s",
            "target": f"<= {target}",
        }
        if levels == 16:
            slow = _seconds(lambda D=D, z=z: opt_halfspace(_labelled(D, z), method="dichotomies"))
            row |= {"ratio": slow / seconds, "baseline": "faster than listing every dichotomy"}
        yield row


def _higher() -> Iterator[dict[str, Any]]:
    for levels, features in ((5, 3), (8, 3), (3, 4)):
        D = _grid(levels, features)
        z = _noise(D, 1)[0]
        yield {
            "name": f"least mistakes, {D.m} weighted cells, d = {D.d}",
            "value": _seconds(lambda D=D, z=z: _least(D, z), repeat=1),
            "unit": "s",
        }
    D = _grid(8, 3)
    Z = _noise(D, 64)
    yield {
        "name": "exact supremum, 8 x 8 x 8 + bias, per draw (batch of 64)",
        "value": _seconds(lambda: sup_points(D.points, Z), repeat=1) / 64,
        "unit": "s",
    }


def _sorted() -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(0)
    n = 10**6
    cells, labels = rng.integers(0, 2**62, n), rng.choice([-1, 1], n)
    S = Sample.from_cells(Domain.line(2**64), cells, labels)
    yield {
        "name": "threshold, 10^6 different ranks of 2^64",
        "value": _seconds(lambda: opt_threshold(S)),
        "unit": "s",
    }
    X, (a, b) = rng.integers(-(10**6), 10**6, (n, 2)), rng.integers(0, 5, (2, n))
    yield {
        "name": "angular sweep, 10^6 points, d = 2",
        "value": _seconds(lambda: least_mistakes(X, a, b), repeat=1),
        "unit": "s",
    }


def _cold() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", COLD]
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        first, second = (
            _seconds(lambda: subprocess.run(command, check=True, env=environment), repeat=1) for _ in range(2)
        )
    yield {
        "name": "first optimum of a fresh process, compiled kernels on disk",
        "value": second,
        "unit": "s",
        "ratio": first / second,
        "baseline": "faster than with nothing compiled",
    }


def _least(D: Domain, z: Any) -> int:
    return least_mistakes(D.points, np.maximum(z, 0), np.maximum(-z, 0))[0]


def _labelled(D: Domain, z: Any) -> Sample:
    return Sample.from_counts(D, np.maximum(z, 0), np.maximum(-z, 0))


def _grid(levels: int, features: int) -> Domain:
    return Domain.grid([(f"x{i}", 0, 1, levels) for i in range(features)])


def _noise(D: Domain, draws: int) -> Any:
    """Return differences of geometric variables: the shape of the testers' noise, for timing only."""
    rng = np.random.default_rng(2026)
    shape = (draws, D.m)
    return rng.geometric(0.4, shape) - rng.geometric(0.4, shape)


def _seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)
