"""The main job end to end: resolutions, verdicts, failure rates, and how long a person waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import geomdp as g
from geomdp import data

GEOMDP = [sys.executable, "-m", "geomdp.cli"]
#: pair, grid, label, epsilon, tolerance, right verdict
PAIRS = [
    ("flights/same", "flights/grid.json", "disrupted", "yes", "1", 0, "Match"),
    ("flights/different", "flights/grid.json", "disrupted", "yes", "1", 0, "Far"),
    ("flights/noisy", "flights/grid.json", "disrupted", "yes", "1", 150, "Match"),
    ("delays/same", "delays/grid.json", "late", "yes", "1", 0, "Match"),
    ("delays/different", "delays/grid.json", "late", "yes", "1", 0, "Far"),
]
#: Simulated runs per file: the true rate is just below beta for thresholds, so telling it apart takes many.
RUNS = {"flights": 400, "delays": 5000}


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    del progress
    yield from _resolutions()
    yield from _plan_times()
    yield from _assess_times()
    yield from _failure_rates()


def _resolutions() -> Iterator[dict[str, Any]]:
    D = g.Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    plan = g.plan(D, n=20000, epsilon=1, thorough=True)
    rows = {(r.name, r.guarantee): r.resolution for r in plan.testers}
    paper = rows[("halfspace-elimination-paper", "unless-inconclusive")]
    targets = [
        ("two-histograms", "analytic", 210),
        ("two-histograms", "certified-mc", 155),
        ("one-way", "analytic", None),
        ("one-way", "certified-mc", 112),
        ("halfspace-elimination", "analytic", 1700),
        ("halfspace-elimination", "unless-inconclusive", 1350),
        ("halfspace-elimination-paper", "unless-inconclusive", None),
        ("curator", "analytic", None),
    ]
    for name, guarantee, target in targets:
        value = rows[(name, guarantee)]
        yield {
            "name": f"resolution, {name}, {guarantee} (16x16 + bias, eps = 1)",
            "value": value,
            "unit": "records",
            "target": f"<= {target}" if target else "",
            "ratio": paper / value,
            "baseline": "finer than the paper's constants",
        }


def _plan_times() -> Iterator[dict[str, Any]]:
    command = [*GEOMDP, "plan", "--grid", str(data.path("flights/grid.json"))]
    command += ["--n", "20000", "--epsilon", "1", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        cold = _seconds(command, {"GEOMDP_CACHE_DIR": folder})
        warm = median(_seconds(command, {"GEOMDP_CACHE_DIR": folder}) for _ in range(3))
    yield {"name": "plan, empty cache", "value": cold, "unit": "s", "target": "<= 30"}
    yield {
        "name": "plan, from its cache",
        "value": warm,
        "unit": "s",
        "target": "<= 1",
        "ratio": cold / warm,
        "baseline": "faster than the empty cache",
    }
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder) / "grid.json"
        domain = g.Domain.grid([("x", 0, 1, 32), ("y", 0, 1, 32)])
        grid.write_text(json.dumps(domain.to_dict()), encoding="utf-8")
        command = [*GEOMDP, "plan", "--grid", str(grid), "--n", "20000", "--epsilon", "1", "--json"]
        seconds = _seconds(command, {"GEOMDP_CACHE_DIR": folder})
    yield {"name": "plan, 32 x 32 + bias, empty cache", "value": seconds, "unit": "s", "target": "<= 10"}


def _assess_times() -> Iterator[dict[str, Any]]:
    for tester, target in (("one-way", 10), ("two-histograms", 10), ("halfspace-elimination", 20)):
        command = _command(PAIRS[1], ["--tester", tester])
        yield {
            "name": f"assess 2 x 20,000 flights, {tester}",
            "value": median(_seconds(command, {}) for _ in range(3)),
            "unit": "s",
            "target": f"<= {target}",
        }


def _failure_rates() -> Iterator[dict[str, Any]]:
    from scipy.stats import beta as beta_law

    for pair in PAIRS:
        S_A, S_B, tolerance = _samples(pair)
        plan = g.plan(S_A.domain, n=(S_A.n, S_B.n), epsilon=pair[4], tolerance=tolerance)
        row = plan.best or plan.testers[0]
        runs = RUNS[pair[0].split("/")[0]]
        wrong = sum(row.run(S_A, S_B, rng=seed).verdict != pair[6] for seed in range(runs))
        upper = 1.0 if wrong == runs else float(beta_law.ppf(0.975, wrong + 1, runs - wrong))
        yield {
            "name": f"wrong verdicts in {runs} simulated runs, {pair[0]} ({row.name})",
            "value": wrong,
            "unit": f"(95 % interval ends at {upper:.3f})",
            "target": "interval below 0.1",
        }


def _samples(pair: tuple[Any, ...]) -> tuple[g.Sample, g.Sample, int]:
    name, grid, label, positive, _, tolerance, _ = pair
    D = g.Domain.from_grid_file(data.path(grid))
    files = [data.path(f"{name}_{airport}.csv") for airport in ("jfk", "lga")]
    S_A, S_B = (g.Sample.from_table(D, f, label=label, positive=positive) for f in files)
    return S_A, S_B, tolerance


def _command(pair: tuple[Any, ...], more: list[str]) -> list[str]:
    name, grid, label, positive, epsilon, tolerance, _ = pair
    files = [str(data.path(f"{name}_{airport}.csv")) for airport in ("jfk", "lga")]
    options = ["--grid", str(data.path(grid)), "--label", label, "--positive", positive]
    return [
        *GEOMDP, "assess", *files, *options,
        "--epsilon", epsilon, "--tolerance", str(tolerance), "--json", *more,
    ]  # fmt: skip


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, **environment}, cwd=Path.cwd()
    )
    json.loads(done.stdout)
    return time.perf_counter() - start
