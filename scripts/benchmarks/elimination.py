"""Halfspace elimination: certified resolutions, and one run end to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.geometry.containers import containers
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.elimination_delta import elimination_plan
from geomdp.testers.elimination_ladder import Gains, ladder

#: The ladder's domains: name, number of dichotomies, dimension.
LADDER = (("16 x 16 + bias", 40_150, 3), ("32 x 32 + bias", 638_694, 3), ("d = 4, m = 120", 561_664, 4))
#: Certified, unless inconclusive, and (1, 1e-6) resolutions to reach.
TARGETS = {"16 x 16 + bias": 1_700, "32 x 32 + bias": 2_300, "d = 4, m = 120": 4_300}
#: Rows of this group.
ROWS = 9 + len(LADDER) * (len(fields(Gains)) + 3)


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return the rows; progress is called with the fraction done."""
    directions = np.rint(np.random.default_rng(0).normal(size=(500, 3)) * 2**20).astype(np.int64)
    containers(directions, method="cones")  # load or compile the kernels
    rows: list[dict[str, Any]] = []
    for row in chain(_testers(), _ladder()):
        rows.append(row)
        if progress is not None:
            progress(len(rows) / ROWS)
    return rows


def _ladder() -> Iterator[dict[str, Any]]:
    """Yield what every improvement is worth, and the (epsilon, delta) variant."""
    one, tenth = Fraction(1), Fraction(1, 10)
    for name, candidates, d in LADDER:
        for number, (rung, resolution) in enumerate(ladder(candidates, d, one, tenth)):
            last = rung == "prices"
            yield {
                "name": f"{name}, rung {number}: {rung}",
                "value": resolution,
                "unit": "records",
                "target": f"<= {TARGETS[name]}" if last else "",
            }
        found = elimination_plan(candidates, d, one, tenth, delta=Fraction(1, 10**6))
        yield {
            "name": f"{name}, (1, 1e-6)",
            "value": found.resolution,
            "unit": "records",
            "target": "<= 1225" if candidates == LADDER[0][1] else "",
        }


def _testers() -> Iterator[dict[str, Any]]:
    domain = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    setting = Setting(domain, 20_000, 20_000, Fraction(1))
    cases = (
        ("certified", {}, 1700),
        ("unless inconclusive", {"guarantee": "unless-inconclusive"}, 1350),
        ("paper's constants", {"constants": "paper"}, 16_121),
    )
    rng = np.random.default_rng(0)
    samples = [_labelled(domain, rule, rng) for rule in ((3, 2, -37), (3, 2, -37), (-3, -2, 36))]
    for name, options, target in cases:
        start = time.perf_counter()
        tester = HalfspaceElimination(setting, **options)
        planned = time.perf_counter() - start
        yield {
            "name": f"16 x 16 + bias, {name}: resolution (planned in {planned:.1f} s)",
            "value": tester.resolution,
            "unit": "records",
            "target": f"<= {target}",
        }
        for other, expected in ((samples[1], "Match"), (samples[2], "Far")):
            start = time.perf_counter()
            finding = tester.converse(samples[0], other, *SimSampler(1).spawn(2))
            seconds = time.perf_counter() - start
            yield {
                "name": f"16 x 16 + bias, {name}: run, {finding.verdict} ({expected} expected)",
                "value": seconds,
                "unit": "s",
                "target": "<= 15",
            }


def _labelled(domain: Domain, rule: tuple[int, ...], rng: np.random.Generator) -> Sample:
    cells = rng.integers(0, domain.m, 20_000)
    return Sample.from_cells(domain, cells, np.where(domain.points[cells] @ np.array(rule) >= 0, 1, -1))
