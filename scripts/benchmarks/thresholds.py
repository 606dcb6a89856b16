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
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.privacy.sparse import sparse_histogram
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from geomdp.testers.interior_point import InteriorPoint
from geomdp.testers.interior_point_plan import calibrate, far_error, match_error
from geomdp.testers.median_depth import MedianDepth
from geomdp.testers.prefix_search import PrefixSearch

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


def methods() -> Iterator[dict[str, Any]]:
    """Yield the certified resolutions of the interactive testers next to the interior-point tester's."""
    made: list[tuple[str, Callable[[Setting], Any], dict[int, int]]] = [
        (
            "prefix search, constants of the paper",
            lambda s: PrefixSearch(s, constants="paper"),
            {16: 56_879, 64: 157_727, 256: 208_925, 1024: 261_329},
        ),
        ("prefix search, calibrated", PrefixSearch, {16: 2261, 64: 3873, 256: 4891, 1024: 6117}),
        (
            "median depth, binary trie",
            lambda s: MedianDepth(s, digits=(1,)),
            {16: 475, 64: 639, 256: 799, 1024: 963},
        ),
        ("median depth", MedianDepth, {64: 467, 256: 655}),
    ]
    for labels in ("disjoint", "mixed"):
        for bits in (16, 32, 64, 256, 1024, 4096):
            baseline = InteriorPoint(setting(bits, 10**7, labels)).resolution
            for name, make, targets in made:
                found = make(setting(bits, 10**7, labels)).resolution
                yield {
                    "name": f"t, {name}, 2^{bits} ranks, {labels} labels",
                    "value": found,
                    "target": targets.get(bits) if labels == "disjoint" else None,
                    "ratio": found / baseline if baseline else None,
                    "baseline": f"interior point, {baseline}",
                }


def sparse() -> Iterator[dict[str, Any]]:
    """Yield the time of a sparse release over 4.8e14 buckets, by the number of occupied ones."""
    scale, buckets = noise_scale(2, Fraction(1, 5)), 480 * 10**12
    SecureSampler().discrete_laplace(Fraction(1), 1)
    for occupied in (10**5, 10**6):
        counts = {480_000_000 * i: 1 + i % 7 for i in range(occupied)}
        times = []
        for _ in range(3):
            started = time.perf_counter()
            kept = sparse_histogram(counts, buckets, 320, scale, SecureSampler())
            times.append(time.perf_counter() - started)
        yield {
            "name": f"secure sparse release, {occupied} of 4.8e14 buckets occupied, {len(kept)} survivors",
            "value": sorted(times)[1],
            "unit": "s",
            "target": "<= 1.5" if occupied == 10**6 else None,
        }


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
    cases: tuple[tuple[Callable[[Setting], Any], int, str], ...] = (
        (InteriorPoint, 16, "disjoint"),
        (InteriorPoint, 64, "mixed"),
        (InteriorPoint, 1024, "mixed"),
        (PrefixSearch, 1024, "disjoint"),
        (MedianDepth, 1024, "disjoint"),
        (MedianDepth, 1024, "mixed"),
    )
    for make, bits, labels in cases:
        tester = make(setting(bits, 20_000, labels))
        S_A, S_B = samples(bits, 20_000, tester.resolution or 0, labels)
        SecureSampler().discrete_laplace(Fraction(1), 1)  # OpenDP's import is not the protocol's time
        times = []
        for _ in range(5):
            started = time.perf_counter()
            tester.converse(S_A, S_B, SecureSampler(), SecureSampler())
            times.append(time.perf_counter() - started)
        yield {
            "name": f"secure run of {tester.name}, 2 x 20,000 records, 2^{bits} ranks, {labels} labels",
            "value": 1000 * sorted(times)[2],
            "unit": "ms",
        }


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return all rows."""
    return [*resolutions(), *methods(), *errors(progress), *speed(), *sparse()]
