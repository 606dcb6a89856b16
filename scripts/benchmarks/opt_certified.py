"""Certified optima: seconds of one thread, replaying the certificate included, against big-M by HiGHS."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.rows import flipped, noisy_grid, pinned  # the same instances as in the tests

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.rows import rows_of
from geomdp.opt.threshold import opt_threshold
from geomdp.opt.verifier import verify, verify_points


def iris() -> tuple[Any, Any, Any]:
    """Return the 100 flowers in tenths of a centimetre, with a bias column."""
    from sklearn.datasets import load_iris

    data = load_iris()
    keep = data.target > 0
    X = np.c_[np.rint(data.data[keep] * 10).astype(np.int64), np.ones(int(keep.sum()), dtype=np.int64)]
    y = data.target[keep] == 2
    return X, y.astype(np.int64), (~y).astype(np.int64)


#: name, instance, target in seconds, seconds for big-M (0: not tried).
CASES: list[tuple[str, Callable[[], Any], float, float]] = [
    ("n = 200, d = 5, 10 % noise", lambda: flipped(200, 5, 0.1, 2), 0.1, 30),
    ("n = 200, d = 5, 30 % noise", lambda: flipped(200, 5, 0.3, 2), 0.3, 15),
    ("n = 1,000, d = 5, 10 %", lambda: flipped(1000, 5, 0.1, 2), 0.3, 15),
    ("n = 10^4, d = 3, 10 %", lambda: flipped(10**4, 3, 0.1, 2), 0.3, 0),
    ("n = 10^4, d = 3, 30 %", lambda: flipped(10**4, 3, 0.3, 2), 0.3, 0),
    ("n = 10^5, d = 3, 10 %", lambda: flipped(10**5, 3, 0.1, 2), 2, 0),
    ("n = 10^5, d = 4, 10 %", lambda: flipped(10**5, 4, 0.1, 2), 6, 0),
    ("n = 200, d = 7, 10 %", lambda: flipped(200, 7, 0.1, 2), 1.5, 0),
    ("n = 200, d = 8, 10 %", lambda: flipped(200, 8, 0.1, 2), 20, 0),
    ("n = 500, d = 20, 2 %", lambda: flipped(500, 20, 0.02, 2), 5, 30),
    ("noisy counts 64 x 64 + bias, signal", lambda: noisy_grid((64, 64), 0, signal=5.0), 2, 0),
    ("noisy counts 32 x 32 + bias, noise only", lambda: noisy_grid((32, 32), 0), 1, 0),
    ("noisy counts 8 x 8 x 8 + bias, noise only", lambda: noisy_grid((8, 8, 8), 0), 1.5, 0),
    ("noisy counts 16 x 16 x 16 + bias, signal", lambda: noisy_grid((16, 16, 16), 0, signal=5.0), 30, 0),
    ("pinned rows, d = 100, 2,193 rows", lambda: pinned(100, 1993, 1, flip=0.008), 10, 30),
    ("pinned rows, d = 300, 4,599 rows", lambda: pinned(300, 3999, 2, flip=0.003), 45, 0),
    ("iris versicolor and virginica, d = 5", iris, 0.1, 10),
]

#: Seconds after which a case is given up and its interval reported.
LIMIT = 120.0


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    for d in (3, 4, 9):  # compiled code is loaded, solvers are imported
        certified_optimum(*flipped(60, d, 0.1, 0))
    certified_optimum(*noisy_grid((4, 4, 4), 0))
    for done, (name, instance, target, baseline) in enumerate(CASES, start=1):
        yield from _case(name, instance(), target, baseline)
        if progress is not None:
            progress(done / (len(CASES) + 1))
    yield _thresholds()


def _case(name: str, data: Any, target: float, baseline: float) -> Iterator[dict[str, Any]]:
    started = time.perf_counter()
    solved = certified_optimum(*data, time_limit=LIMIT)
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    verify_points(solved.certificate, *data)
    checking = time.perf_counter() - started
    row: dict[str, Any] = {
        "name": f"{name}: opt in [{solved.lower}, {solved.upper}]",
        "value": seconds,
        "unit": "s",
        "target": f"<= {target}",
    }
    if baseline:
        row |= _big_m(data, baseline, seconds, solved.upper)
    yield row
    size = len(solved.certificate.to_json())
    yield {"name": f"{name}: verifier ({size / 1000:.1f} kB)", "value": checking, "unit": "s"}


def _big_m(data: Any, limit: float, seconds: float, optimum: int) -> dict[str, Any]:
    from geomdp.lp.big_m import big_m

    rows = rows_of(*data)
    started = time.perf_counter()
    answer = big_m(rows.Z, rows.strict, rows.W, seconds=limit)
    took = time.perf_counter() - started
    if not answer.claims_optimal:
        said = f"faster than big-M, which stopped at bound {answer.bound + rows.base:.3g}"
    else:
        w = np.array([int(v) for v in np.rint(answer.w * 2.0**40)], dtype=object)
        wrong = rows.cost(w) + rows.base
        said = (
            f"faster than big-M (says {answer.objective + rows.base:.0f}, its w makes {wrong}, opt {optimum})"
        )
    return {"ratio": took / seconds, "baseline": said}


def _thresholds() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    S = Sample.from_cells(Domain.line(2**40), rng.integers(0, 2**40, 10**6), rng.choice([-1, 1], 10**6))
    started = time.perf_counter()
    r = opt_threshold(S)
    seconds = time.perf_counter() - started
    verify(r.certificate, S)
    return {"name": "thresholds, n = 10^6", "value": seconds, "unit": "s", "target": "<= 0.5"}
