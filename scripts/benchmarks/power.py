"""Simulated power and its speed; population bounds beside relative VC bounds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from geomdp.bounds import population_bounds
from geomdp.core.domain import Domain
from geomdp.testers.base import Setting
from geomdp.testers.families import Pairs, RandomLabels
from geomdp.testers.histogram import OneWay, TwoHistograms
from geomdp.testers.power import operating_characteristic
from geomdp.testers.tilted import OneWayTilted

GRID = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
PLACE = Setting(GRID, 20_000, 20_000, Fraction(1))


def speed() -> Iterator[dict[str, Any]]:
    """Yield the time of 1,000 whole runs on two workers, and of the same runs by their noise law."""
    for kind in (OneWay, OneWayTilted):
        tester, t = kind(PLACE), kind(PLACE).resolution
        taken, before = {}, _processor()
        for how in ("protocol", "law"):
            started = time.perf_counter()
            operating_characteristic(tester, Pairs("spread", "even"), sizes=[0, t], runs=500, how=how)
            taken[how] = time.perf_counter() - started
            if how == "protocol":
                spent = _processor() - before
        yield {
            "name": f"1,000 simulated runs of {tester.name}, 16 x 16, 2 workers, start included "
            f"({spent:.0f} s of processor time)",
            "value": taken["protocol"],
            "unit": "s",
            "target": "<= 120 s",
            "ratio": taken["law"] / taken["protocol"],
            "baseline": "for the noise law instead of whole runs",
        }


def _processor() -> float:
    """Return the processor time of this process and of workers that have ended, in seconds."""
    return sum(os.times()[:4])


def found() -> Iterator[dict[str, Any]]:
    """Yield the least opt that is found with probability 9/10, beside the certified resolution."""
    certified = {"simulated": True}
    testers = (
        OneWay(PLACE),
        OneWay(PLACE, **certified),
        TwoHistograms(PLACE, **certified),
        OneWayTilted(PLACE),
    )
    for tester in testers:
        for family in (Pairs("spread"), Pairs("spread", "even"), RandomLabels()):
            curve = operating_characteristic(tester, family, runs=4000)
            least, t = curve.least_found, curve.resolution
            what = f"{tester.name} ({tester.guarantee}), 16 x 16; {family.name}"
            yield {
                "name": f"simulated: least opt found, {what}",
                "value": least,
                "ratio": None if least is None else least / t,
                "baseline": f"the certified t = {t}",
            }


def population() -> Iterator[dict[str, Any]]:
    """Yield the ends of population bounds beside those of relative VC inequalities."""
    for n in (1_000, 20_000):
        for share in (0, 50, 10):
            opt = n // share if share else 0
            b = population_bounds(n, opt, domain=GRID)
            rate = opt / (2 * n)
            yield {
                "name": f"90 % bounds on R*, 16 x 16, n = {n:,}, opt = {opt:,} (rate {rate:g})",
                "value": f"{b.lower:.4f} .. {b.upper:.4f}",
                "ratio": (b.upper - rate) / (b.vc[1] - rate),
                "baseline": f"upper margin by relative VC ({b.vc[0]:.4f} .. {b.vc[1]:.4f})",
            }


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield all rows as they are ready."""
    for i, part in enumerate((population, speed, found)):
        yield from part()
        if progress is not None:
            progress((i + 1) / 3)
