"""Certified optima against the exact Tukey depth of the PyPI package data-depth, where it is installed."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.rows import flipped  # the same instances as in the tests

from geomdp.opt.portfolio import certified_optimum


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows; one that says what is missing where the package is not installed."""
    del progress
    warnings.simplefilter("ignore")
    try:
        from depth.model.multivariate import halfspace
    except ImportError:
        yield {
            "name": "data-depth",
            "value": 0,
            "unit": "(not installed: pip install data-depth torch torchvision)",
        }
        return
    certified_optimum(*flipped(50, 5, 0.1, 2))  # compiled before the clock runs
    for n, d, target in ((100, 3, ""), (100, 4, ""), (100, 5, ">= 150x")):
        X, a, b = flipped(n, d, 0.1, 2)
        start = time.perf_counter()
        solved = certified_optimum(X, a, b)
        ours = time.perf_counter() - start
        signed = np.where(a > b, 1, -1)[:, None] * X
        start = time.perf_counter()
        depth = round(float(halfspace(np.zeros((1, d)), signed.astype(float), exact=True)[0]) * n)
        theirs = time.perf_counter() - start
        yield {
            "name": f"n = {n}, d = {d}, 10 % noise: opt {solved.upper}, data-depth says {depth}",
            "value": ours,
            "unit": "s",
            "target": target,
            "ratio": theirs / ours,
            "baseline": "faster than data-depth",
        }
