"""Histogram testers with better noise: certified resolutions, realised ones (localised protocol), time."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.testers import field_quantiles
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from geomdp.testers.histogram import OneWay, TwoHistograms
from geomdp.testers.localised import Localised
from geomdp.testers.tilted import FieldTester, OneWayTilted, TwoTilted

BETA = Fraction(1, 10)
#: levels per feature -> the resolution to reach in the worst case.
WORST = {(8, 8): 52, (16, 16): 92, (32, 32): 180, (64, 64): 290, (8, 8, 8): 160, (4, 4, 4): None}
#: records per party -> the median realised resolution to reach on 16 x 16.
LOCAL = {1000: 60, 3000: 35, 10_000: 20}
RUNS, ERRORS = 15, 400


def setting(levels: tuple[int, ...], n: int = 10**6) -> Setting:
    """Return halfspaces on a grid at epsilon = 1, beta = 1/10."""
    return Setting(Domain.grid([(f"x{i}", 0, 1, k) for i, k in enumerate(levels)]), n, n, Fraction(1), BETA)


def uniform(domain: Domain, n: int, seed: int) -> Sample:
    """Return uniformly spread records that one oblique halfspace labels without a mistake."""
    cells = np.random.default_rng(seed).integers(0, domain.m, n)
    weights = np.array([2, 1, -22])
    return Sample.from_cells(domain, cells, np.where(domain.points[cells] @ weights >= 0, 1, -1))


def worst_case() -> Iterator[dict[str, Any]]:
    """Yield certified resolutions, cold time of their tables, and the time of one secure field."""
    for levels, target in WORST.items():
        place, name = setting(levels), " x ".join(map(str, levels))
        baseline = OneWay(place).resolution
        field_quantiles._TABLES.clear()
        started = time.perf_counter()
        tester = OneWayTilted(place)
        cold = time.perf_counter() - started
        if tester.resolution is None:
            yield {"name": f"t, one-way-tilted, {name}: {tester.reason}", "value": None, "target": target}
            continue
        started = time.perf_counter()
        OneWayTilted(place)
        warm = time.perf_counter() - started
        tester.law.draw(SecureSampler(), 1)
        started = time.perf_counter()
        for _ in range(10):
            tester.law.draw(SecureSampler(), 1)
        secure = (time.perf_counter() - started) / 10
        yield {
            "name": f"t, one-way-tilted, {name} ({tester.law.key['noise']}, tilt {tester.law.key['tilt']}; "
            f"tables {cold:.0f} s cold, {warm:.2f} s warm; secure field {1000 * secure:.0f} ms)",
            "value": tester.resolution,
            "target": None if target is None else f"<= {target}",
            "ratio": tester.resolution / baseline if baseline else None,
            "baseline": f"one-way, analytic, {baseline}",
        }
    place = setting((16, 16))
    for two, baseline in ((TwoTilted(place), TwoHistograms(place, simulated=True).resolution),):
        yield {
            "name": "t, two-histograms-tilted, 16 x 16",
            "value": two.resolution,
            "ratio": None if not baseline or not two.resolution else two.resolution / baseline,
            "baseline": f"two-histograms, certified-mc, {baseline}",
        }
    yield {"name": "t of a trusted curator, 16 x 16", "value": Curator(place).resolution}


def unequal() -> Iterator[dict[str, Any]]:
    """Yield resolutions at unequal budgets; the larger one holds the field."""
    place = setting((16, 16))
    for pair in (("1", "1/2"), ("1/2", "1")):
        tester = OneWayTilted(place, epsilon_alice=pair[0], epsilon_bob=pair[1])
        yield {
            "name": f"t, one-way-tilted, 16 x 16, budgets {pair}, field from {tester.budgets.holder}",
            "value": tester.resolution,
        }


def realised() -> Iterator[dict[str, Any]]:
    """Yield the median certified t(C) on uniform data, shown before the second party spends anything."""
    for n, target in LOCAL.items():
        place = setting((16, 16), n)
        tester = Localised(place)
        found, seconds = [], []
        for seed in range(RUNS):
            S_A, S_B = uniform(place.domain, n, 2 * seed), uniform(place.domain, n, 2 * seed + 1)
            started = time.perf_counter()
            finding = tester.converse(S_A, S_B, *SimSampler(seed).spawn(2))
            seconds.append(time.perf_counter() - started)
            facts = finding.transcript.last("localisation").payload
            found.append(tester.resolution if facts["resolution"] is None else facts["resolution"])
        yield {
            "name": f"realised t, localised, 16 x 16, n = {n} (worst case {tester.resolution}; "
            f"{min(found)} to {max(found)} in {RUNS} runs; {statistics.median(seconds):.2f} s a run)",
            "value": statistics.median(found),
            "target": f"<= {target}",
        }


def errors(progress: Callable[[float], None] | None) -> Iterator[dict[str, Any]]:
    """Yield simulated error rates at both ends of the promise on the hardest samples known here."""
    place = setting((8, 8), 2000)
    domain, at = place.domain, np.arange(place.domain.m)
    cases: list[FieldTester] = [OneWayTilted(place), TwoTilted(place), Localised(place)]
    for index, tester in enumerate(cases):
        t = tester.resolution or 0
        for opt, wrong in ((0, "Far"), (t // 2, "Match"), (t, "Match")):
            left = Sample.from_counts(domain, 2000 * (at == 20), 0 * at)
            right = Sample.from_counts(domain, (2000 - opt) * (at == 20), opt * (at == 20))
            runs = [
                tester.converse(left, right, *SimSampler(seed).spawn(2)).verdict for seed in range(ERRORS)
            ]
            yield {
                "name": f"simulated P({wrong}), {tester.name}, opt = {opt}, t = {t}, 8 x 8",
                "value": runs.count(wrong) / ERRORS,
                "target": "<= 0.1" if opt in (0, t) else None,
            }
        if progress is not None:
            progress((index + 1) / len(cases))


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield all rows as they are ready; tables are drawn afresh, in a cache of this run's own."""
    before = os.environ.get("GEOMDP_CACHE_DIR")
    with tempfile.TemporaryDirectory() as home:
        os.environ["GEOMDP_CACHE_DIR"] = home
        try:
            yield from worst_case()
            yield from unequal()
            yield from realised()
            yield from errors(progress)
        finally:
            if before is None:
                del os.environ["GEOMDP_CACHE_DIR"]
            else:
                os.environ["GEOMDP_CACHE_DIR"] = before
