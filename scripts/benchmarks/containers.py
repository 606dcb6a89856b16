"""Containers: members against the cutting bound, time at 10^5 points, degenerate sets, and the LP twin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geomdp.geometry.containers import Containers, containers

#: (d, ratio) -> most members wanted.
MENUS = {
    (2, 0.75): 6,
    (2, 0.65): 12,
    (2, 0.6): 12,
    (3, 0.75): 27,
    (3, 0.65): 93,
    (3, 0.6): 200,
    (4, 0.75): 200,
    (4, 0.65): 1500,
}


def run(progress: Callable[[float], None] | None = None) -> list[dict[str, Any]]:
    """Return the rows; progress is called with the fraction done."""
    for d in (2, 3, 4):  # load or compile the kernels
        containers(_directions(500, d), ratio=0.75, method="cones")
    containers(_half_on_a_hyperplane(100, 3), ratio=0.75, method="cells")
    parts = (_menus, _times, _degenerate, _against_the_twin)
    rows: list[dict[str, Any]] = []
    for done, part in enumerate(parts, start=1):
        rows.extend(part())
        if progress is not None:
            progress(done / len(parts))
    return rows


def _menus() -> Iterator[dict[str, Any]]:
    for (d, ratio), target in MENUS.items():
        _, family = _seconds(_directions(20_000, d), ratio)
        bound = 2 / (2 * ratio - 1) ** (d - 1)
        yield {
            "name": f"members, d={d}, ratio {ratio} (bound {bound:.1f})",
            "value": len(family),
            "unit": "members",
            "target": f"<= {target}",
            "ratio": len(family) / bound,
            "baseline": "the cutting bound 2/(2 ratio - 1)^(d-1)",
        }


def _times() -> Iterator[dict[str, Any]]:
    for d, target in ((2, 0.3), (3, 1.5), (4, 10.0)):
        seconds, family = _seconds(_directions(100_000, d), 0.75)
        yield {
            "name": f"10^5 points, d={d}, ratio 0.75: {len(family)} members",
            "value": seconds,
            "unit": "s",
            "target": f"<= {target}",
        }


def _degenerate() -> Iterator[dict[str, Any]]:
    for n, d, ratio in ((3000, 3, 0.75), (3000, 3, 0.6), (3000, 4, 0.75)):
        seconds, family = _seconds(_half_on_a_hyperplane(n, d), ratio)
        bound = 2 / (2 * ratio - 1) ** (d - 1)
        yield {
            "name": f"{n} points, half on one hyperplane, d={d}, ratio {ratio}: {len(family)} members",
            "value": seconds,
            "unit": "s",
            "ratio": len(family) / bound,
            "baseline": "the cutting bound",
        }


def _against_the_twin() -> Iterator[dict[str, Any]]:
    for n, d, ratio in ((200, 2, 0.6), (200, 3, 0.7), (40, 4, 0.75)):
        points = _directions(n, d)
        slow, twin = _seconds(points, ratio, "lp")
        fast, family = _seconds(points, ratio, "cells")
        yield {
            "name": f"{n} points, d={d}, ratio {ratio}: {len(family)} members, the twin's {len(twin)}",
            "value": fast,
            "unit": "s",
            "ratio": slow / fast,
            "baseline": "faster than the LP twin",
        }


def _seconds(points: np.ndarray[Any, Any], ratio: float, method: str = "auto") -> tuple[float, Containers]:
    start = time.process_time()
    family = containers(points, ratio=ratio, method=method)
    return time.process_time() - start, family


def _directions(n: int, d: int) -> np.ndarray[Any, Any]:
    return np.rint(np.random.default_rng(0).normal(size=(n, d)) * 2**20).astype(np.int64)


def _half_on_a_hyperplane(n: int, d: int) -> np.ndarray[Any, Any]:
    points = _directions(n, d)
    points[: n // 2, -1] = points[: n // 2, :-1].sum(axis=1)
    return points
