"""The planner: which tester guarantees what, before any data is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    InfeasibleError,
    check_choice,
    check_epsilon,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.privacy.ledger import Session as LedgerSession
from geomdp.privacy.sampler import Sampler, SecureSampler, SimSampler
from geomdp.protocol.script import Session
from geomdp.protocol.transcript import PARTIES
from geomdp.testers.attended import attend_ledgered
from geomdp.testers.base import (
    GUARANTEES,
    MOST_RECORDS,
    Finding,
    Outcome,
    Setting,
    Tester,
    check_sample,
    check_samples,
)
from geomdp.testers.scripted import ScriptedTester

Progress = Callable[[float], None] | None
#: How the reason of a row ends that only a thorough plan calibrates.
UNMEASURED = "thorough=True"
#: Testers that only a thorough plan holds.
THOROUGH = ("one-way-tilted", "two-histograms-tilted", "localised")
#: Largest domain on which testers with tilted noise are planned.
MOST_TILTED = 2**13
#: A length, and what makes a tester while telling its progress.
_Stage = tuple[float, Callable[[Progress], Tester]]


@dataclass(frozen=True)
class PlanRow:
    """One tester in one setting, with what it guarantees there.

    Attributes:
        tester: the tester itself.

    Example:
        >>> row = plan(Domain.line(2**16), n=1000, epsilon=1, labels="disjoint").best
        >>> row.name, row.guarantee, row.resolution == row.tester.resolution
        ('interior-point', 'analytic', True)
    """

    tester: Tester

    @property
    def name(self) -> str:
        """The protocol's name."""
        return self.tester.name

    @property
    def resolution(self) -> int | None:
        """The least t for which Far is owed whenever opt >= t; None where nothing is certified."""
        return self.tester.resolution

    @property
    def guarantee(self) -> str:
        """What the resolution rests on: a key of :data:`geomdp.testers.base.GUARANTEES`."""
        return self.tester.guarantee

    @property
    def feasible(self) -> bool:
        """True if opt can reach the resolution at these numbers of records."""
        return self.tester.feasible

    @property
    def trusted(self) -> bool:
        """True if a third party must be trusted with both datasets."""
        return self.tester.trusted

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed, or ""."""
        if self.tester.reason or self.feasible:
            return self.tester.reason
        return f"opt cannot exceed {self.tester.setting.largest_opt} at these numbers of records"

    @property
    def note(self) -> str:
        """What else is worth knowing before a run, e.g. that it takes minutes, or ""."""
        return self.tester.note

    def run(
        self,
        S_A: Sample,
        S_B: Sample,
        *,
        rng: np.random.Generator | int | None = None,
        force_uncertified: bool = False,
    ) -> Outcome:
        """Run the protocol once on two samples.

        Args:
            S_A, S_B: the parties' samples on the plan's domain, with the planned numbers of records.
            rng: None for a real release from the operating system's entropy. A numpy Generator or a seed
                gives a simulated run: repeatable, marked as simulated, and private for nobody.
            force_uncertified: run although nothing is guaranteed at these sizes; the outcome says so.

        Returns:
            The outcome, with the transcript and each party's exact privacy loss.

        Raises:
            ArgumentError: when a sample is not what was planned.
            InfeasibleError: when the tester guarantees nothing here and the run is not forced.
        """
        check_samples(self.tester.setting, S_A, S_B)
        self._check_promise(force_uncertified)
        alice, bob = _samplers(rng)
        finding = self.tester.converse(S_A, S_B, alice, bob)
        return self._outcome(finding, simulated=alice.simulated or bob.simulated)

    def attend(
        self,
        name: str,
        sample: Sample,
        *,
        rng: np.random.Generator | int | None = None,
        force_uncertified: bool = False,
        ledger: LedgerSession | None = None,
    ) -> Session[Outcome]:
        """Return one party's run of the protocol against a counterpart elsewhere.

        The session yields frames to send, and None where the counterpart's next frame must be sent in, e.g.
        by :func:`geomdp.protocol.script.drive`. Both ends plan alike and attend the same row.

        A counterpart that breaks off and dials again is answered with fresh noise, at a further loss. With
        a ledger every such run is charged, and refused where the ledger cannot cover it. Without one the
        caller must keep the account: each session that was started may have cost the whole budget.

        Args:
            name: "Alice" or "Bob": this party.
            sample: this party's records.
            rng: None for a real release from the operating system's entropy. A numpy Generator or a seed
                gives a simulated run; equal seeds at both ends give what :meth:`run` gives.
            force_uncertified: run although nothing is guaranteed at these sizes; the outcome says so.
            ledger: a live session on this party's :class:`geomdp.privacy.ledger.Ledger`, a new one for
                every run.

        Returns:
            The session; its result is the outcome as this party sees it. `simulated` speaks of its own noise
            only, and what the counterpart spent is what its messages stated.

        Raises:
            ArgumentError: when the name, the sample or the ledger is not what was planned.
            InfeasibleError: when the tester guarantees nothing here and the run is not forced, or when it
                cannot be run by two parties apart.
            BudgetError: at the session's start, when the ledger cannot cover the run; nothing is charged.
            LedgerError: at the session's start, when the ledger's session holds a run already.
            ProtocolError: from the session, when a frame of the counterpart is refused.

        Example:
            >>> D = Domain.line(64)
            >>> S = Sample.from_cells(D, [5] * 500, [1] * 500)
            >>> row = plan(D, n=500, epsilon=1).best
            >>> session = row.attend("Alice", S)
            >>> type(next(session)), next(session)  # a greeting of public facts; then Bob's is awaited
            (<class 'bytes'>, None)
        """
        check_choice("name", name, PARTIES)
        check_sample(self.tester.setting, name, sample, "sample")
        self._check_promise(force_uncertified)
        if not isinstance(self.tester, ScriptedTester):
            raise InfeasibleError("tester", "one that two parties can run apart", f"'{self.name}'")
        sampler = _samplers(rng)[PARTIES.index(name)]
        inner = attend_ledgered(self.tester, name, sample, sampler, ledger)

        def session() -> Session[Outcome]:
            return self._outcome((yield from inner), simulated=sampler.simulated)

        return session()

    def _check_promise(self, forced: bool) -> None:
        """Refuse a run of which nothing is guaranteed, unless it is forced, or that is impossible."""
        if not self.feasible and not forced:
            raise InfeasibleError(
                "n",
                f"large enough for resolution {self.resolution} of tester '{self.name}'",
                f"{self.tester.setting.n} ({self.reason})",
                "Raise epsilon or n, coarsen the grid, or force a run that is labelled uncertified.",
            )
        if self.resolution is None:
            raise InfeasibleError(
                "tester", "one that can run on this domain", f"'{self.name}': {self.reason}"
            )

    def _outcome(self, finding: Finding, *, simulated: bool) -> Outcome:
        return Outcome(
            verdict=finding.verdict,
            tester=self.name,
            resolution=self.resolution,
            guarantee=self.guarantee,
            certified=self.feasible,
            simulated=simulated,
            trusted=self.trusted,
            setting=self.tester.setting,
            spent={name: finding.transcript.spent(name) for name in PARTIES},
            opt_interval=finding.opt_interval,
            party_intervals=finding.party_intervals,
            gap_interval=finding.gap_interval,
            classifier=finding.classifier,
            transcript=finding.transcript,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            "name": self.name,
            "resolution": self.resolution,
            "guarantee": self.guarantee,
            "feasible": self.feasible,
            "trusted": self.trusted,
            "reason": self.reason,
            "note": self.note,
        }


@dataclass(frozen=True)
class Plan:
    """Every tester for one public setting, least resolution first.

    Attributes:
        setting: the public setting.
        testers: the rows.
        thorough: whether the testers that take longer to calibrate were planned, too.

    Example:
        >>> found = plan(Domain.line(2**16), n=1000, epsilon=1, labels="disjoint")
        >>> found.best.name, found.best.resolution <= found.select("median-depth").resolution
        ('interior-point', True)
    """

    setting: Setting
    testers: tuple[PlanRow, ...]
    thorough: bool = False

    @property
    def left_out(self) -> str:
        """What a plan with `thorough` would add, or ""."""
        if self.thorough:
            return ""
        added = [
            f"{row.name}, {row.guarantee}, whose menus take a while to measure"
            for row in self.testers
            if row.reason.endswith(UNMEASURED)
        ]
        if self.setting.domain.m <= MOST_TILTED:
            added.append("the tilted testers and the localised one, which may resolve more")
        return "; ".join(added)

    @property
    def best(self) -> PlanRow | None:
        """The feasible row of least resolution that needs no trusted party and always answers; or None."""
        able = [row for row in self.testers if row.feasible and _eligible(row)]
        return min(able, key=_resolution, default=None)

    def choose(self, guarantee: str | None = None) -> PlanRow | None:
        """Return :attr:`best`, or the best row with one guarantee; None where nothing is feasible."""
        if guarantee is None:
            return self.best
        able = [r for r in self.testers if r.feasible and not r.trusted and r.guarantee == guarantee]
        return min(able, key=_resolution, default=None)

    @property
    def nearest(self) -> PlanRow | None:
        """The row that :attr:`best` would be at larger n: the least resolution, feasible or not."""
        able = [row for row in self.testers if row.resolution is not None and _eligible(row)]
        return min(able, key=_resolution, default=None)

    def select(self, name: str, guarantee: str | None = None) -> PlanRow:
        """Return the row of least resolution with this name (and guarantee).

        Raises:
            ArgumentError: when there is none; the message lists the rows.
        """
        rows = [r for r in self.testers if r.name == name and guarantee in (None, r.guarantee)]
        rows = [r for r in rows if guarantee or r.guarantee != "unless-inconclusive"] or rows
        check_choice("guarantee", guarantee or "analytic", tuple(GUARANTEES))
        if not rows:
            known = ", ".join(f"'{r.name}' ({r.guarantee})" for r in self.testers)
            raise ArgumentError("tester", f"one of {known}", f"'{name}'", self._mend(name))
        return min(rows, key=_resolution)

    def _mend(self, name: str) -> str:
        """Return how a tester that is not in the plan comes into it, or ""."""
        if name not in THOROUGH:
            return ""
        if self.setting.domain.m > MOST_TILTED:
            return f"That one is planned on domains of at most {MOST_TILTED} points only."
        return "" if self.thorough else "A thorough plan adds it: --thorough, or thorough=True in Python."

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        setting = self.setting
        best = self.best
        return {
            "testers": [row.to_dict() for row in self.testers],
            "best": None if best is None else best.name,
            "best_guarantee": None if best is None else best.guarantee,
            "left_out": self.left_out,
            "domain": setting.domain.to_dict(),
            "classes": setting.classes,
            "n": setting.n,
            "n_alice": setting.n_alice,
            "n_bob": setting.n_bob,
            "epsilon": float(setting.epsilon),
            "beta": float(setting.beta),
            "labels": setting.labels,
            "tolerance": setting.tolerance,
        }

    def __repr__(self) -> str:
        rows = ", ".join(f"{r.name}[{r.guarantee}]: {r.resolution}" for r in self.testers)
        return f"Plan({self.setting.domain!r}, epsilon={self.setting.epsilon}, {rows})"


def plan(
    domain: Domain,
    *,
    n: int | tuple[int, int],
    epsilon: Any,
    beta: Any = 0.1,
    labels: str = "mixed",
    tolerance: int = 0,
    classes: str = "auto",
    thorough: bool = False,
    progress: Progress = None,
) -> Plan:
    """Return every tester with the smallest resolution that it guarantees.

    A tester of resolution t answers Match with probability >= 1 - beta whenever opt <= tolerance, and Far
    with probability >= 1 - beta whenever opt >= t. Between the two it promises nothing.

    Args:
        domain: the public domain.
        n: records per party, or the pair (n_alice, n_bob).
        epsilon: each party's whole privacy budget, 10^-6 <= epsilon <= 100; a Fraction, text or number.
        beta: failure probability, 10^-300 <= beta <= 1 - 10^-12.
        labels: "mixed", or "disjoint" if all of Alice's labels are -1 and all of Bob's +1.
        tolerance: t0 >= 0, the number of mistakes that still counts as a match.
        classes: "halfspaces", "thresholds" (one feature), or "auto": thresholds on ordered domains.
        thorough: also plan the testers with tilted noise and the localised protocol, which resolve more but
            whose tables take longer to simulate (seconds on 16 x 16, minutes on 64 x 64 cells), and measure
            the assumed menus of elimination on domains with more than 10,000 dichotomies (also minutes).
        progress: told the fraction of the whole plan that is done: once from 0 to 1, over all testers.

    Returns:
        The plan; ``.best`` is the row to run.

    Raises:
        ArgumentError: on any argument outside its range.

    Example:
        >>> p = plan(Domain.line(2**16), n=1000, epsilon=1, labels="disjoint")
        >>> p.best.resolution <= 60
        True
    """
    if not isinstance(domain, Domain):
        raise ArgumentError("domain", "a Domain", f"a {type(domain).__name__}")
    check_choice("classes", classes, ("auto", "halfspaces", "thresholds"))
    if classes == "auto":
        classes = "thresholds" if domain.ordered else "halfspaces"
    if progress is not None and not callable(progress):
        raise ArgumentError("progress", "a function of the fraction done, or None", describe(progress))
    n_alice, n_bob = _sizes(n)
    setting = Setting(domain, n_alice, n_bob, check_epsilon(epsilon), beta, labels, tolerance, classes)
    stages = list(_stages(setting, thorough))
    bar = _Bar(progress, [weight for weight, _ in stages])
    rows = [PlanRow(_made(make, setting, bar.stage(i))) for i, (_, make) in enumerate(stages)]
    bar.end()
    return Plan(setting, tuple(sorted(rows, key=_resolution)), bool(thorough))


class Unplanned(Tester):
    """What stands in the plan for a tester whose constants are out of reach here."""

    def __init__(self, setting: Setting, name: str, reason: str) -> None:
        super().__init__(setting)
        self.name, self.reason = name, reason

    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Refuse: there is nothing to run.

        Raises:
            InfeasibleError: always.
        """
        raise InfeasibleError("tester", "one that is usable here", f"'{self.name}': {self.reason}")


def _made(make: Callable[[Progress], Tester], setting: Setting, progress: Progress) -> Tester:
    """Return a stage's tester, or the reason in its place: one row never takes the plan with it."""
    try:
        return make(progress)
    except CapacityError as error:
        kind = make.args[0] if isinstance(make, partial) else make
        return Unplanned(setting, getattr(kind, "name", "") or kind.__name__, str(error))


class _Bar:
    """One progress bar over stages of different lengths: it starts at 0, never falls, and reaches 1 once."""

    def __init__(self, progress: Progress, weights: Sequence[float]) -> None:
        self._progress, self._weights, self._told = progress, weights, -1.0

    def stage(self, index: int) -> Progress:
        """Return the progress of one stage, after telling that those before it are done."""
        if self._progress is None:
            return None
        self._tell(index, 0.0)
        return partial(self._tell, index)

    def end(self) -> None:
        """Tell that all is done."""
        if self._progress is not None:
            self._progress(1.0)

    def _tell(self, index: int, done: float) -> None:
        before, here = sum(self._weights[:index]), self._weights[index]
        told = (before + here * min(done, 1.0)) / sum(self._weights)
        if self._progress is not None and self._told < told < 1:
            self._told = told
            self._progress(told)


def _stages(setting: Setting, thorough: bool) -> Iterator[_Stage]:
    """Yield (weight, maker) for every tester that is defined for the setting.

    Weights are about tenths of a second on a grid of some hundred cells.
    """
    from geomdp.testers.curator import Curator
    from geomdp.testers.histogram import OneWay, TwoHistograms
    from geomdp.testers.interior_point import InteriorPoint

    if setting.domain.m <= 2**20:
        for simulated in (False, True):
            for made in (OneWay, TwoHistograms):
                yield 20 if simulated else 1, partial(_told, made, setting, simulated=simulated)
    if setting.classes == "thresholds":
        from geomdp.testers.median_depth import MedianDepth
        from geomdp.testers.prefix_search import PrefixSearch

        yield from (
            (1, partial(_silent, made, setting)) for made in (InteriorPoint, MedianDepth, PrefixSearch)
        )
    else:
        yield from _halfspaces(setting, thorough)
    yield 1, partial(_silent, Curator, setting)
    if thorough and setting.domain.m <= MOST_TILTED:
        from geomdp.testers.localised import Localised
        from geomdp.testers.tilted import OneWayTilted, TwoTilted

        yield from ((100, partial(_told, made, setting)) for made in (OneWayTilted, TwoTilted, Localised))


def _halfspaces(setting: Setting, thorough: bool) -> Iterator[_Stage]:
    """Yield (weight, maker) for the testers of halfspaces only: elimination, and the coarse ones.

    The resolution of the coarse ones grows with the number of records.
    """
    from geomdp.testers.elimination import HalfspaceElimination
    from geomdp.testers.mwem import MWEM
    from geomdp.testers.net_mechanism import NetMechanism
    from geomdp.testers.ray_sketch import RaySketch

    for constants, guarantee, weight in (
        ("calibrated", "certified", 5),
        ("calibrated", "unless-inconclusive", 100 if thorough else 5),
        ("paper", "certified", 1),
    ):
        yield (
            weight,
            partial(
                _told,
                HalfspaceElimination,
                setting,
                constants=constants,
                guarantee=guarantee,
                measure=thorough,
            ),
        )
    yield 5, partial(_silent, RaySketch, setting)
    yield from ((1, partial(_silent, made, setting)) for made in (NetMechanism, MWEM))


def _told(made: Callable[..., Tester], setting: Setting, progress: Progress, **options: Any) -> Tester:
    return made(setting, progress=progress, **options)


def _silent(made: Callable[..., Tester], setting: Setting, progress: Progress) -> Tester:
    del progress
    return made(setting)


def _sizes(n: Any) -> tuple[int, int]:
    pair = n if isinstance(n, (tuple, list)) else (n, n)
    if len(pair) != 2:
        raise ArgumentError("n", "an integer or a pair of integers", f"a sequence of length {len(pair)}")
    return check_integer("n", pair[0], 1, MOST_RECORDS), check_integer("n", pair[1], 1, MOST_RECORDS)


def _eligible(row: PlanRow) -> bool:
    return not row.trusted and row.guarantee in ("analytic", "certified-mc")


def _resolution(row: PlanRow) -> float:
    return float("inf") if row.resolution is None else row.resolution


def _samplers(rng: np.random.Generator | int | None) -> tuple[Sampler, Sampler]:
    if rng is None:
        return SecureSampler(), SecureSampler()
    if isinstance(rng, np.random.Generator):
        rng = int(rng.integers(2**63))
    alice, bob = SimSampler(check_integer("rng", rng, 0)).spawn(2)
    return alice, bob
