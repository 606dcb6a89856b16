"""Containers and halfspace elimination: menus, certified resolutions, and one run end to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.geometry.containers import containers
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return the rows; progress is called with the fraction done."""
    containers(_directions(500, 3), ratio=0.75)  # load or compile the kernels
    parts = (_menus, _sizes, _testers)
    rows: list[dict[str, Any]] = []
    for done, part in enumerate(parts, start=1):
        rows.extend(part())
        if progress is not None:
            progress(done / len(parts))
    return rows


def _menus() -> Iterator[dict[str, Any]]:
    targets = {(2, 0.75): 6, (2, 0.65): 12, (2, 0.6): 12, (3, 0.75): 27, (3, 0.65): 93, (3, 0.6): 200}
    for (d, ratio), target in targets.items():
        family = containers(_directions(20_000, d), ratio=ratio)
        bound = 2 / (2 * ratio - 1) ** (d - 1)
        yield {
            "name": f"menu d={d} ratio={ratio} (cutting bound {bound:.0f})",
            "value": len(family),
            "unit": "members",
            "target": f"<= {target}",
        }


def _sizes() -> Iterator[dict[str, Any]]:
    for d, target in ((2, 0.3), (3, 1.5), (4, 10.0)):
        points = _directions(100_000, d)
        start = time.perf_counter()
        containers(points, ratio=0.75)
        seconds = time.perf_counter() - start
        yield {
            "name": f"containers of 10^5 points, d={d}, ratio 0.75",
            "value": seconds,
            "unit": "s",
            "target": f"<= {target}",
        }


def _testers() -> Iterator[dict[str, Any]]:
    domain = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    setting = Setting(domain, 20_000, 20_000, Fraction(1))
    cases = (
        ("certified", {}, 2700),
        ("unless inconclusive", {"guarantee": "unless-inconclusive"}, 2100),
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


def _directions(n: int, d: int) -> np.ndarray[Any, Any]:
    return np.rint(np.random.default_rng(0).normal(size=(n, d)) * 2**20).astype(np.int64)


def _labelled(domain: Domain, rule: tuple[int, ...], rng: np.random.Generator) -> Sample:
    cells = rng.integers(0, domain.m, 20_000)
    return Sample.from_cells(domain, cells, np.where(domain.points[cells] @ np.array(rule) >= 0, 1, -1))
