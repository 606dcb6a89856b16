"""Threshold testers: certified resolutions, their price against a curator, simulated errors, time per run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.privacy.law import dlap_quantile
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from geomdp.testers.interior_point import InteriorPoint
from geomdp.testers.interior_point_plan import calibrate, far_error, match_error

BETA = Fraction(1, 10)
RUNS = 5000
#: bits of the domain -> (labels, resolution to reach)
TARGETS = {(16, "disjoint"): 60, (64, "disjoint"): 195, (32, "mixed"): 570}


def setting(bits: int, n: int, labels: str) -> Setting:
    """Return thresholds on 2^bits ranks at epsilon = 1, beta = 1/10."""
    return Setting(Domain.line(2**bits), n, n, Fraction(1), BETA, labels, classes="thresholds")


def selection_resolution(bits: int) -> int:
    """Return the resolution of the classical one-message protocol: permute-and-flip over cells, one count.

    Alice's chosen cell is off by D or more with probability <= (m-1)/2 exp(-D/2); then t = 2D - 1 + 2s - 1,
    where Bob's noise is >= s with probability <= the rest of beta; the best split of beta.
    """
    best = math.inf
    for part in range(1, 200):
        early = float(BETA) * part / 200
        depth = math.ceil(2 * (bits * math.log(2) - math.log(2 * early)))
        best = min(best, 2 * depth - 2 + 2 * dlap_quantile(BETA - Fraction(early), Fraction(1)))
    return int(best)


def samples(bits: int, n: int, opt: int, labels: str) -> tuple[Sample, Sample]:
    """Return the hardest samples known here: everything at the bottom, or `opt` conflicts in one place."""
    domain = Domain.line(2**bits)
    if not opt:
        low, high = [0] * n, [1] * n
        return Sample.from_cells(domain, low, [-1] * n), Sample.from_cells(domain, high, [1] * n)
    if labels == "disjoint":
        a, b = [0] * (n - opt) + [9] * opt, [8] * opt + [domain.m - 1] * (n - opt)
        return Sample.from_cells(domain, a, [-1] * n), Sample.from_cells(domain, b, [1] * n)
    halves = (opt // 2, opt - opt // 2)
    made = []
    for minus, plus in (halves, halves[::-1]):
        cells = [0] * (n - opt) + [9] * minus + [8] * plus
        made.append(Sample.from_cells(domain, cells, [-1] * (n - plus) + [1] * plus))
    return made[0], made[1]


def resolutions() -> Iterator[dict[str, Any]]:
    """Yield certified resolutions and both proved error bounds."""
    for labels in ("disjoint", "mixed"):
        for bits in (8, 16, 32, 64, 128, 256, 512, 1024):
            started = time.perf_counter()
            calibrate.cache_clear()
            tester = InteriorPoint(setting(bits, 10**6, labels))
            seconds = time.perf_counter() - started
            rules = tester.rules
            if rules is None:
                continue
            errors = (float(match_error(rules)), float(far_error(rules)))
            classical = selection_resolution(bits)
            yield {
                "name": f"t, 2^{bits} ranks, {labels} labels "
                f"(errors <= {errors[0]:.3f}, {errors[1]:.3f}; planned in {1000 * seconds:.0f} ms)",
                "value": rules.resolution,
                "target": TARGETS.get((bits, labels)),
                "ratio": rules.resolution / classical if labels == "disjoint" else None,
                "baseline": f"selection by score, {classical}",
            }
    curator = Curator(setting(16, 10**6, "mixed"))
    yield {"name": "t of a trusted curator", "value": curator.resolution, "target": 3}


def errors(progress: Callable[[float], None] | None) -> Iterator[dict[str, Any]]:
    """Yield simulated error rates at both ends of the promise, and between them."""
    cases = [(16, "disjoint"), (64, "disjoint"), (32, "mixed")]
    for index, (bits, labels) in enumerate(cases):
        tester = InteriorPoint(setting(bits, 1000, labels))
        t = tester.resolution or 0
        for opt, wrong in ((0, "Far"), (t // 2, "Match"), (3 * t // 4, "Match"), (t, "Match")):
            S_A, S_B = samples(bits, 1000, opt, labels)
            alice, bob = SimSampler(index).spawn(2)
            runs = [tester.converse(S_A, S_B, alice, bob).verdict for _ in range(RUNS)]
            yield {
                "name": f"simulated P({wrong}), opt = {opt}, t = {t}, 2^{bits} ranks, {labels} labels",
                "value": runs.count(wrong) / RUNS,
                "target": "<= 0.1" if opt in (0, t) else None,
            }
        if progress is not None:
            progress((index + 1) / len(cases))


def speed() -> Iterator[dict[str, Any]]:
    """Yield the time of a real release."""
    for bits, labels in ((16, "disjoint"), (64, "mixed"), (1024, "mixed")):
        tester = InteriorPoint(setting(bits, 20_000, labels))
        S_A, S_B = samples(bits, 20_000, tester.resolution or 0, labels)
        SecureSampler().discrete_laplace(Fraction(1), 1)  # OpenDP's import is not the protocol's time
        times = []
        for _ in range(5):
            started = time.perf_counter()
            tester.converse(S_A, S_B, SecureSampler(), SecureSampler())
            times.append(time.perf_counter() - started)
        yield {
            "name": f"secure run, 2 x 20,000 records, 2^{bits} ranks, {labels} labels",
            "value": 1000 * sorted(times)[2],
            "unit": "ms",
        }


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return all rows."""
    return [*resolutions(), *errors(progress), *speed()]
