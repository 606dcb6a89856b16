"""Operating characteristics: the simulated probability of Far as a function of the true opt.

A certified resolution t holds for all data. How much smaller conflicts a tester finds on given data is
measured here: samples of growing conflict, their optimum computed exactly, and many runs with seeded noise.
Nothing of this is a release, and nothing certifies a tester: every figure is labelled "simulated", with a
confidence band for the binomial error of the simulation.

Two ways to simulate, of one law:

* "protocol": the whole protocol, message by message.
* "law" (histogram testers): the noise of the statistic W = min_h (2 err(h) + noise(h)) alone, many draws at
  once. Verdicts of these testers are functions of W; intervals and classifiers are left out.
"""

from __future__ import annotations

import io
import pickle
import signal
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from geomdp.core.errors import (
    ArgumentError,
    InfeasibleError,
    check_beta,
    check_choice,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.privacy.binomial import clopper_pearson
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting, Tester, check_samples
from geomdp.testers.families import Family, Pairs, exact_opt

Progress = Callable[[float], None] | None
#: Runs that one task of a worker makes.
_CHUNK = {"protocol": 20, "law": 500}
#: Runs by default.
_RUNS = {"protocol": 200, "law": 2000}
#: Points of a curve that are placed beforehand, and by bisection afterwards.
_POINTS, _REFINED = 9, 4
#: What Far must reach, with confidence, for a conflict to count as found.
FOUND = Fraction(9, 10)


@dataclass(frozen=True)
class PowerPoint:
    """Runs on one pair of samples.

    Attributes:
        opt: the exact optimum of the samples.
        size: the family's size parameter.
        runs, far, match: number of runs and of verdicts; the others are Inconclusive.
        low, high: confidence limits for P(Far), valid for all points of the curve together.
    """

    opt: int
    size: int
    runs: int
    far: int
    match: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share of runs that ended in Far."""
        return self.far / self.runs


@dataclass(frozen=True)
class OperatingCurve:
    """Simulated P(Far) against opt, for one tester on one family of samples.

    Attributes:
        tester, guarantee, resolution: as in the plan's row.
        family: the family's name.
        setting: the public setting.
        points: by increasing opt.
        confidence: of all bands together.
        how: "protocol" or "law".
        planned: number of points that share the confidence; by default those that there are.
    """

    tester: str
    guarantee: str
    resolution: int
    family: str
    setting: Setting
    points: tuple[PowerPoint, ...]
    confidence: Fraction
    how: str
    planned: int = 0

    @cached_property
    def least_found(self) -> int | None:
        """The least simulated opt from which on P(Far) >= 9/10 at every point, with confidence; or None."""
        found = None
        for point in reversed(self.points):
            if point.low < FOUND:
                break
            found = point.opt
        return found

    @cached_property
    def runs_needed(self) -> int:
        """The least number of runs that can show anything: as many, all ending in Far, have low >= 9/10."""
        level = (1 - self.confidence) / max(1, self.planned, len(self.points))
        most = 1
        while clopper_pearson(most, most, level)[0] < FOUND:
            most *= 2
        return bisect_left(
            range(most), True, key=lambda r: r > 0 and clopper_pearson(r, r, level)[0] >= FOUND
        )

    @property
    def claim(self) -> str:
        """What the tester guarantees at its resolution here, in words."""
        if self.resolution > self.setting.largest_opt:
            return f"t = {self.resolution}, beyond the largest opt of these records: nothing is guaranteed"
        if self.guarantee.startswith("unless-"):
            return f"t = {self.resolution} {self.guarantee.replace('-', ' ')}"
        return f"certified t = {self.resolution}"

    @property
    def finding(self) -> str:
        """What was found, in words; too few runs are told from a conflict that is not found."""
        if self.least_found is None:
            most = max((p.runs for p in self.points), default=0)
            if most < self.runs_needed:
                return f"too few runs to show anything: at least {self.runs_needed} are needed"
            return "not found at any simulated opt"
        text = f"found from opt = {self.least_found} on"
        if self.least_found > self.resolution:
            return f"{text}, above t: more runs may show it earlier"
        return f"{text}, {self.resolution - self.least_found} below t"

    @property
    def gap(self) -> int | None:
        """How far the resolution lies above :attr:`least_found`."""
        return None if self.least_found is None else self.resolution - self.least_found

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON values."""
        return {
            "simulated": True,
            "how": self.how,
            "tester": self.tester,
            "guarantee": self.guarantee,
            "resolution": self.resolution,
            "family": self.family,
            "n_alice": self.setting.n_alice,
            "n_bob": self.setting.n_bob,
            "epsilon": float(self.setting.epsilon),
            "beta": float(self.setting.beta),
            "tolerance": self.setting.tolerance,
            "confidence": float(self.confidence),
            "least_found": self.least_found,
            "gap": self.gap,
            "finding": self.finding,
            "claim": self.claim,
            "points": [
                {
                    "opt": p.opt,
                    "runs": p.runs,
                    "far": p.far,
                    "match": p.match,
                    "low": p.low,
                    "high": p.high,
                }
                for p in self.points
            ],
        }


def operating_characteristic(
    tester: Any,
    family: Family | None = None,
    *,
    sizes: Sequence[int] | None = None,
    runs: int | None = None,
    rng: int | np.random.Generator = 0,
    workers: int = 2,
    how: str = "auto",
    confidence: Any = Fraction(95, 100),
    progress: Progress = None,
) -> OperatingCurve:
    """Simulate how often a tester says Far on samples of growing conflict.

    Args:
        tester: a plan's row, or a tester.
        family: which samples; conflicting pairs in one cell by default (:mod:`geomdp.testers.families`).
        sizes: the family's sizes. By default nine from 0 to a little above the resolution, and four more by
            bisection where P(Far) reaches 9/10.
        runs: runs on each pair of samples; by default 2,000 of the law, or 200 of the protocol.
        rng: a seed or a Generator. Results depend on it, not on the number of workers.
        workers: processes. A script that uses more than one must be guarded by
            ``if __name__ == "__main__":``, since workers import it.
        how: "protocol"; "law" for histogram testers; or "auto", the law where it is known.
        confidence: of all bands together (Clopper and Pearson's limits, union bound over the points).
        progress: told the fraction done.

    Returns:
        The curve.

    Raises:
        ArgumentError: on an argument outside its range, or a tester that cannot be sent to other processes.
        InfeasibleError: when the tester cannot run here.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.testers.curator import Curator
        >>> tester = Curator(Setting(Domain.line(64), 500, 500, 1, classes="thresholds"))
        >>> curve = operating_characteristic(tester, sizes=[0, 30], runs=50, workers=1)
        >>> [(p.opt, p.rate > 0.5) for p in curve.points], curve.least_found
        ([(0, False), (30, True)], 30)
    """
    plain: Tester = getattr(tester, "tester", tester)
    if not isinstance(plain, Tester):
        raise ArgumentError("tester", "a plan's row or a Tester", describe(tester))
    if plain.resolution is None:
        raise InfeasibleError("tester", "one that can run here", f"'{plain.name}': {plain.reason}")
    check_choice("how", how, ("auto", "protocol", "law"))
    if how == "law" and not has_law(plain):
        raise ArgumentError("how", "'protocol' for a tester that is no histogram tester", "'law'")
    if how == "auto":
        how = "law" if has_law(plain) else "protocol"
    runs = _RUNS[how] if runs is None else check_integer("runs", runs, 1, 10**7)
    check_integer("workers", workers, 1, 256)
    loss = 1 - check_beta(confidence, "confidence")
    chosen: Family = Pairs() if family is None else family
    setting = plain.setting
    seed = (
        rng if isinstance(rng, np.random.Generator) else np.random.default_rng(check_integer("rng", rng, 0))
    )
    started = _sizes(setting, chosen, plain.resolution) if sizes is None else [*dict.fromkeys(sizes)]
    if not started:
        raise ArgumentError("sizes", "at least one size", "an empty list")
    more = 0 if sizes is not None else _REFINED
    level = loss / (len(started) + more)
    points: dict[int, PowerPoint] = {}
    with _Workers(plain, how, workers) as pool:

        def measure(batch: list[int]) -> None:
            parts = []
            for size in batch:
                data, noise = seed.spawn(2)
                S_A, S_B = chosen.pair(setting, size, data)
                check_samples(setting, S_A, S_B)
                parts.append((size, exact_opt(setting, S_A, S_B), (S_A, S_B), noise))
            done, total = len(points), len(started) + more
            tell = None if progress is None else (lambda f: progress((done + f * len(batch)) / total))
            counts = pool.verdicts([(pair, noise) for _, _, pair, noise in parts], runs, tell)
            for (size, opt, _, _), (far, match) in zip(parts, counts, strict=True):
                points[size] = PowerPoint(opt, size, runs, far, match, *clopper_pearson(far, runs, level))

        measure(started)
        for _ in range(more):
            size = _between(points)
            if size is None:
                break
            measure([size])
    if progress is not None:
        progress(1.0)
    ordered = tuple(sorted(points.values(), key=lambda p: (p.opt, p.size)))
    return OperatingCurve(
        plain.name,
        plain.guarantee,
        plain.resolution,
        chosen.name,
        setting,
        ordered,
        1 - loss,
        how,
        len(started) + more,
    )


def _sizes(setting: Setting, family: Family, resolution: int) -> list[int]:
    """Return sizes from 0 to a little above the resolution, as far as there are records."""
    top = min(setting.n, setting.largest_opt, resolution + max(3, resolution // 8))
    opts = sorted({0, *(round(top * i / (_POINTS - 1)) for i in range(_POINTS)), min(resolution, top)})
    return [min(family.size_for(opt), setting.n) for opt in opts]


def _between(points: dict[int, PowerPoint]) -> int | None:
    """Return the size halfway between the last point below 9/10 and its right neighbour; or None."""
    ordered = sorted(points.values(), key=lambda p: p.size)
    below = [i for i, point in enumerate(ordered) if point.low < FOUND]
    if not below or below[-1] + 1 == len(ordered):
        return None
    left, right = ordered[below[-1]].size, ordered[below[-1] + 1].size
    return (left + right) // 2 if right - left > 1 else None


def has_law(tester: Tester) -> bool:
    """Return True if the statistic of a tester can be simulated alone."""
    from geomdp.testers.histogram import OneWay, TwoHistograms
    from geomdp.testers.tilted import OneWayTilted, TwoTilted

    return isinstance(tester, (OneWay, TwoHistograms, OneWayTilted, TwoTilted))


def statistics(tester: Any, S_A: Sample, S_B: Sample, sampler: SimSampler, runs: int) -> Any:
    """Return (runs,) independent values of a histogram tester's statistic; Far iff it reaches the cut.

    With u the law's unit, Z the sum of the fields and L that of the scalars, W = u n - max_h <h, u net + Z>
    + L; the maximum is computed exactly. A party's own noise on its part of the net counts, and Bob's on the
    minimum, enter only through these sums.
    """
    from geomdp.opt.sup import sup_field
    from geomdp.testers.histogram import TwoHistograms

    setting, calibration = tester.setting, tester.calibration
    if hasattr(calibration, "quantiles"):  # a field law
        law, extra, fields_ = (
            calibration.quantiles.law,
            calibration.quantiles.extra,
            calibration.quantiles.fields,
        )
        Z = sum(law.draw(sampler, runs) for _ in range(fields_))
        unit = law.unit
    else:
        noise, extra, unit = calibration.noise, calibration.extra, 1
        assert noise.fields == (2 if isinstance(tester, TwoHistograms) else 1)  # noqa: S101 - the law's shape
        Z = sum(sampler.discrete_laplace(noise.scale, (runs, setting.domain.m)) for _ in range(noise.fields))
    fields_net = unit * (S_A.net + S_B.net)[None, :] + Z
    total = unit * (setting.n_alice + setting.n_bob)
    W = total - sup_field(setting.domain, fields_net, setting.classes)
    return W + sum(sampler.discrete_laplace(scale, runs) for scale in extra)


# --- workers --------------------------------------------------------------------------------------------


class _Workers:
    """Processes that hold one tester; with one worker everything happens in this process.

    Ctrl-C reaches this process only: what has not begun is cancelled, and the workers end after their task.
    """

    def __init__(self, tester: Tester, how: str, workers: int) -> None:
        self._how, self._tester = how, tester
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1:
            from multiprocessing import get_context

            self._pool = ProcessPoolExecutor(
                workers, get_context("spawn"), initializer=_begin, initargs=(_packed(tester), how)
            )

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def verdicts(
        self, parts: list[tuple[tuple[Sample, Sample], np.random.Generator]], runs: int, progress: Progress
    ) -> list[tuple[int, int]]:
        """Return (Far, Match) counts of `runs` runs on each pair of samples."""
        step = _CHUNK[self._how]
        tasks = []
        for number, (pair, noise) in enumerate(parts):
            sizes = [step] * (runs // step) + ([runs % step] if runs % step else [])
            tasks += [
                (number, pair, size, stream)
                for size, stream in zip(sizes, noise.spawn(len(sizes)), strict=True)
            ]
        totals = np.zeros((len(parts), 2), dtype=np.int64)
        if self._pool is None:
            for done, (number, pair, size, stream) in enumerate(tasks):
                totals[number] += _run(self._tester, self._how, pair, size, stream)
                if progress is not None:
                    progress((done + 1) / len(tasks))
        else:
            self._collect(self._pool, tasks, totals, progress)
        return [(int(far), int(match)) for far, match in totals]

    @staticmethod
    def _collect(pool: ProcessPoolExecutor, tasks: list[Any], totals: Any, progress: Progress) -> None:
        running: dict[Future[tuple[int, int]], int] = {}
        try:
            for number, *task in tasks:
                running[pool.submit(_task, *task)] = number
            pending = set(running)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    totals[running[future]] += future.result()
                if progress is not None:
                    progress(1 - len(pending) / len(tasks))
        except BrokenProcessPool:
            raise ArgumentError(
                "workers",
                "1 where worker processes cannot start",
                "more",
                'A script must be guarded by `if __name__ == "__main__":`.',
            ) from None


_held: list[Any] = []


def _begin(packed: bytes, how: str) -> None:
    """Set a worker up: Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _held[:] = [pickle.loads(packed), how]  # noqa: S301 - written by the parent process


def _task(pair: tuple[Sample, Sample], size: int, stream: np.random.Generator) -> tuple[int, int]:
    return _run(_held[0], _held[1], pair, size, stream)


def _run(
    tester: Any, how: str, pair: tuple[Sample, Sample], size: int, stream: np.random.Generator
) -> tuple[int, int]:
    """Return how many of `size` runs end in Far, and in Match."""
    if how == "law":
        far = int(np.count_nonzero(statistics(tester, *pair, SimSampler(stream), size) >= tester._cut()))
        return far, size - far
    verdicts = []
    for child in stream.spawn(size):
        alice, bob = SimSampler(child).spawn(2)
        verdicts.append(tester.converse(*pair, alice, bob).verdict)
    return verdicts.count("Far"), verdicts.count("Match")


class _Pickler(pickle.Pickler):
    """Sends testers to other processes: progress callbacks and cached values stay behind."""

    def reducer_override(self, value: Any) -> Any:
        """Reduce frozen dataclasses of testers to their fields."""
        if is_dataclass(value) and not isinstance(value, type) and "geomdp.testers" in type(value).__module__:
            state = {f.name: getattr(value, f.name) for f in fields(value)}
            if "progress" in state:
                state["progress"] = None
            return _unpacked, (type(value), state)
        return NotImplemented


def _unpacked(kind: type, state: dict[str, Any]) -> Any:
    value: Any = object.__new__(kind)
    value.__dict__.update(state)
    return value


def _packed(tester: Tester) -> bytes:
    stream = io.BytesIO()
    try:
        _Pickler(stream).dump(tester)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise ArgumentError("workers", "1 for a tester that holds functions", "more") from None
    return stream.getvalue()
