"""Testers whose resolution grows with n: the ray sketch, the net mechanism, multiplicative weights."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.privacy.sampler import SecureSampler
from geomdp.testers.base import Setting
from geomdp.testers.histogram import OneWay
from geomdp.testers.mwem import MWEM
from geomdp.testers.net_mechanism import NetMechanism
from geomdp.testers.ray_sketch import RaySketch

BETA = Fraction(1, 10)
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
#: A domain far beyond every other tester: a million points.
WIDE = Domain.grid([("x", 0, 1, 1024), ("y", 0, 1, 1024)])
#: Both rays of many lines: mixed labels then need a count of negatives.
CENTRED = Domain([[a, b] for a in range(-9, 10) for b in range(-9, 10) if a or b])


def paper_size(epsilon: Fraction) -> int:
    """Return the least n that the paper's proof gives: chance 1/12 a round, all noises below sqrt(n)/8.

    Each of the two failures gets beta/2, as there; the noise tail is a union over 2 kappa variables.
    """
    rounds = math.ceil(math.log(float(BETA) / 2) / math.log(11 / 12))
    noise = 2 * rounds / float(epsilon) * math.log(2 * rounds / (float(BETA) / 2))
    return math.ceil((8 * noise) ** 2)


def sketch_sizes() -> Iterator[dict[str, Any]]:
    """Yield the least n with resolution n, by epsilon, and the time to find it and to run once."""
    for epsilon in EPSILONS:
        for name, domain, labels in (
            ("disjoint labels", WIDE, "disjoint"),
            ("mixed labels", WIDE, "mixed"),
            ("mixed labels, antipodal rays", CENTRED, "mixed"),
        ):
            started = time.perf_counter()
            tester = RaySketch(Setting(domain, 2, 2, epsilon, BETA, labels))
            seconds = time.perf_counter() - started
            n, baseline = tester.resolution, paper_size(epsilon)
            yield {
                "name": f"least n of the ray sketch, epsilon = {float(epsilon)}, {name} ({seconds:.1f} s)",
                "value": n,
                "ratio": None if n is None else n / baseline,
                "baseline": f"the paper's constants, {baseline}",
            }
    tester = RaySketch(Setting(WIDE, 1000, 1000, Fraction(1), BETA))
    S = Sample.from_cells(WIDE, np.arange(1000) * 1000, np.resize([1, -1], 1000))
    started = time.perf_counter()
    tester.converse(S, S, SecureSampler(), SecureSampler())
    yield {
        "name": f"one secure run of the ray sketch, {WIDE.m} points",
        "value": time.perf_counter() - started,
        "unit": "s",
    }


def small_grids() -> Iterator[dict[str, Any]]:
    """Yield certified resolutions of the net mechanism and of MWEM beside the analytic histogram's."""
    domains = {
        "3 points": Domain([[0, 1], [1, 1], [2, 1]]),
        "4 x 4": Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)]),
        "8 x 8": Domain.grid([("x", 0, 1, 8), ("y", 0, 1, 8)]),
    }
    for name, domain in domains.items():
        for n in (1000, 100_000):
            for labels in ("mixed", "disjoint"):
                place = Setting(domain, n, n, Fraction(1), BETA, labels)
                base = OneWay(place).resolution
                both = [MWEM(place, one_way=False)] if n == 100_000 else []
                for tester in (NetMechanism(place), MWEM(place), *both):
                    t = tester.resolution
                    ways = "one way" if tester.one_way else "both publish"
                    state = tester.reason or ("feasible" if tester.feasible else "not feasible")
                    yield {
                        "name": f"t of {tester.name} ({ways}), {name}, n = {n}, {labels}: {state}",
                        "value": t,
                        "ratio": None if t is None or not base else t / base,
                        "baseline": f"one-way histogram, analytic, {base}",
                    }


def crossing() -> Iterator[dict[str, Any]]:
    """Yield the range of n in which MWEM is feasible, and whether it beats the histogram in it."""
    for levels in (4, 8, 16):
        domain = Domain.grid([("x", 0, 1, levels), ("y", 0, 1, levels)])
        base, best = OneWay(Setting(domain, 10**6, 10**6, Fraction(1), BETA)).resolution or 0, None
        for step in range(60, 400):
            n = round(10 ** (step / 40))
            tester = MWEM(Setting(domain, n, n, Fraction(1), BETA))
            if tester.feasible and tester.resolution is not None:
                best = (n, tester.resolution)
                break
        wins = "never" if best and best[1] > base else "once"
        yield {
            "name": f"least n at which MWEM is feasible, {levels} x {levels} (there t = {best and best[1]}, "
            f"histogram {base}; t grows with n, so MWEM {wins} wins)",
            "value": best and best[0],
        }


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield all rows as they are ready, in a cache of this run's own."""
    before = os.environ.get("GEOMDP_CACHE_DIR")
    with tempfile.TemporaryDirectory() as home:
        os.environ["GEOMDP_CACHE_DIR"] = home
        try:
            for place, part in enumerate((sketch_sizes, small_grids, crossing)):
                yield from part()
                if progress is not None:
                    progress((place + 1) / 3)
        finally:
            if before is None:
                del os.environ["GEOMDP_CACHE_DIR"]
            else:
                os.environ["GEOMDP_CACHE_DIR"] = before
