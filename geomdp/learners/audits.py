"""Exact audits of whole component-by-component runs on tiny domains, and planted bugs that they catch.

Every run of the learner is listed with its probability: draws from reservoirs, oracles, relabellings. The
claim is the loss that the accounting states for these sizes, so code and accounting are audited together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.learners import step_audits
from geomdp.learners.accounting import Allocation, Layout, Reservoir, blocks
from geomdp.learners.carry_forward import CarryForwardLearner
from geomdp.learners.classes.base import Component, Labelling, PrefixClass
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.components import CompletionOracle, FiniteClass
from geomdp.learners.domains import Explicit, Integers
from geomdp.learners.modes import RunPlan
from geomdp.privacy.audit import Audit, worst_log_ratio
from geomdp.privacy.runs import Runs, law_of
from geomdp.privacy.sampler import Sampler
from geomdp.testers.audits.check import Check

#: (point, label) of every record.
Data = tuple[tuple[int, int], ...]
POINTS = (0, 1, 2)
HALF = Fraction(1, 2)


def _interval(t: tuple[Fraction, ...], X: NDArray[Any]) -> NDArray[np.int64]:
    return np.where((X[:, 0] >= t[0]) & (X[:, 0] < t[1]), 1, -1)


#: Two classes of two components that label the three points in all ways they can.
SIGNED = Halfspaces((Explicit([-2, HALF, Fraction(3, 4), 2]),))
INTERVALS = FiniteClass((Integers(0, 3), Integers(0, 3)), _interval, 1)
#: Constant labels; one component in 41 gives +1: near the worst case of the exponential mechanism.
SKEWED = FiniteClass(
    (Integers(0, 40), Integers(0, 0)), lambda t, X: np.full(len(X), 1 if t[0] == 0 else -1), 1
)


@dataclass(frozen=True)
class Case:
    """A run to audit: the class, the layout, sizes of samples and reservoirs."""

    C: PrefixClass
    layout: Layout
    m: tuple[int, int]
    reservoirs: tuple[int, int]
    points: tuple[int, ...] = POINTS

    @property
    def records(self) -> tuple[tuple[int, int], ...]:
        """All labelled points."""
        return tuple(product(self.points, (-1, 1)))

    @property
    def n(self) -> int:
        """The number of records."""
        return sum(self.reservoirs)

    @property
    def claim(self) -> Fraction:
        """The loss that the accounting states: the largest one of a reservoir, rounded up."""
        losses = (
            block.loss.subsampled(Fraction(m, size)).epsilon
            for block, m, size in zip(blocks(self.layout), self.m, self.reservoirs, strict=True)
        )
        return Fraction(max(losses))

    def learner(self) -> CarryForwardLearner:
        """Return the learner on rows in their order."""
        made = tuple(
            Reservoir(size, (b.name,)) for size, b in zip(self.reservoirs, blocks(self.layout), strict=True)
        )
        plan = RunPlan(
            "validated", self.layout, self.m, Allocation("fresh", made, self.claim, Fraction(0)), ""
        )
        return CarryForwardLearner(self.C, plan, shuffle=False, strict=True)


CARRIER = Layout((HALF, HALF), (HALF,))
LABEL = Layout((HALF, HALF), (HALF,), "label-boost")
INITIAL = replace(LABEL, initial=HALF)
SHARP = Layout((Fraction(6), Fraction(1, 10)), (Fraction(1, 10),))
#: Name, run.
CASES = {
    "carry-forward: CarrierBoost, signs, reservoirs 1 + 1": Case(SIGNED, CARRIER, (1, 1), (1, 1)),
    "carry-forward: CarrierBoost, signs, reservoirs 1 + 2": Case(SIGNED, CARRIER, (1, 1), (1, 2)),
    "carry-forward: LabelBoost, signs, reservoirs 2 + 1": Case(SIGNED, LABEL, (2, 1), (2, 1)),
    "carry-forward: LabelBoost twice, signs, reservoirs 1 + 2": Case(SIGNED, INITIAL, (1, 1), (1, 2)),
    "carry-forward: CarrierBoost, intervals, reservoirs 2 + 1": Case(INTERVALS, CARRIER, (2, 1), (2, 1)),
    "carry-forward: LabelBoost, intervals, reservoirs 1 + 2": Case(INTERVALS, LABEL, (1, 1), (1, 2)),
    "carry-forward: CarrierBoost, exclusive or, reservoirs 1 + 2": Case(
        step_audits.XOR, CARRIER, (1, 1), (1, 2)
    ),
}
#: Reservoirs of three, and samples of two; minutes rather than seconds.
LARGE = {
    "carry-forward: CarrierBoost, signs, reservoirs 2 + 2": Case(SIGNED, CARRIER, (1, 1), (2, 2)),
    "carry-forward: CarrierBoost, intervals, reservoirs 1 + 3": Case(INTERVALS, CARRIER, (1, 2), (1, 3)),
    "carry-forward: LabelBoost, signs, reservoirs 3 + 1": Case(SIGNED, LABEL, (2, 1), (3, 1)),
}

View = Callable[[Case, NDArray[Any], NDArray[Any], Runs], Hashable]


def release(case: Case, X: NDArray[Any], y: NDArray[Any], runs: Runs) -> Hashable:
    """Return what a run releases."""
    return case.learner().fit(X, y, runs).components


def law(case: Case, data: Data, view: View = release) -> dict[Hashable, Any]:
    """Return the exact law of a run on a dataset: released components -> enclosure of the probability.

    Example:
        >>> from geomdp.privacy.enclosure import Interval
        >>> case = CASES["carry-forward: CarrierBoost, signs, reservoirs 1 + 1"]
        >>> found = law(case, ((0, 1), (2, -1)))
        >>> len(found), Interval.total(list(found.values())).lo <= 1
        (8, True)
    """
    X = np.array([[x] for x, _ in data])
    y = np.array([label for _, label in data], dtype=np.int8)
    return law_of(lambda runs: view(case, X, y, runs), 1)


def datasets(case: Case) -> Iterator[Data]:
    """Yield all datasets, in every order of their records."""
    yield from product(case.records, repeat=case.n)


def neighbours(case: Case, data: Data) -> Iterator[Data]:
    """Yield all datasets that differ in one record."""
    for i, record in enumerate(data):
        for other in case.records:
            if other != record:
                yield (*data[:i], other, *data[i + 1 :])


def audit(case: Case, view: View = release) -> Audit:
    """Audit a run over all pairs of neighbouring datasets, in both orders.

    A reservoir's records are drawn as a uniform subset, so datasets that differ in the order inside a
    reservoir have one law; the tests check that, and the audit computes each law once.
    """
    first = case.reservoirs[0]
    exchange = view is release

    def key(data: Data) -> Data:
        return (*sorted(data[:first]), *sorted(data[first:])) if exchange else data

    @cache
    def law_at(data: Data) -> dict[Hashable, Any]:
        return law(case, data, view)

    pairs = (
        (data, other) for data in datasets(case) if key(data) == data for other in neighbours(case, data)
    )
    return worst_log_ratio(lambda data: law_at(key(data)), pairs)


def checks() -> Iterator[Check]:
    """Yield the audits of single steps, then of whole runs.

    The accounting is not tight on tiny domains, so whole runs are not either.
    """
    yield from step_audits.checks()
    for name, case in CASES.items():
        yield Check(
            name,
            f"the two released components; all datasets of {case.n} records on {len(case.points)} points",
            case.claim,
            partial(audit, case),
            tight=False,
        )


class _Peeking(CarryForwardLearner):
    """Splits rows by their labels: the partition depends on values."""

    def _run(self, X: Any, y: Any, sampler: Sampler, watch: Any) -> tuple[Component, ...]:
        order = np.arange(len(y))[:: 1 if (y > 0).sum() % 2 else -1]
        return super()._run(X[order], y[order], sampler, watch)


class _Lazy(CarryForwardLearner):
    """Draws no sample but takes the first rows of each reservoir."""

    def _run(self, X: Any, y: Any, sampler: Sampler, watch: Any) -> tuple[Component, ...]:
        sizes = [r.size for r in self.plan.allocation.reservoirs]
        starts = np.cumsum([0, *sizes[:-1]])
        rows = [i for start, m in zip(starts, self.plan.m, strict=True) for i in range(start, start + m)]
        made = tuple(
            Reservoir(m, r.uses) for m, r in zip(self.plan.m, self.plan.allocation.reservoirs, strict=True)
        )
        plan = replace(self.plan, allocation=replace(self.plan.allocation, reservoirs=made))
        learner = CarryForwardLearner(self.C, plan, shuffle=False, strict=True)
        return learner._run(X[rows], y[rows], sampler, watch)


@dataclass(frozen=True)
class _Steep(CompletionOracle):
    """Counts every agreement four times: a score of sensitivity four."""

    def choose(self, C: PrefixClass, X: NDArray[Any], y: NDArray[Any], sampler: Sampler) -> int:
        """Return a rank by the wrong score."""
        return super().choose(C, np.repeat(X, 4, axis=0), np.repeat(y, 4), sampler)


def _witness(case: Case, X: NDArray[Any], y: NDArray[Any], runs: Runs) -> Hashable:
    """Return the hypothesis of the relabelling along with the release: it depends on the points."""
    seen: list[Labelling] = []
    components = CarryForwardLearner(case.C, case.learner().plan, shuffle=False, strict=True).fit(
        X, y, runs, lambda state: seen.append(Labelling(state.y, state.C.realizes(state.X, state.y) or ()))
    )
    return components.components, seen[-1].witness


def _with(kind: type[CarryForwardLearner], case: Case, X: Any, y: Any, runs: Runs) -> Hashable:
    return kind(case.C, case.learner().plan, shuffle=False, strict=True).fit(X, y, runs).components


def _steep(case: Case, X: Any, y: Any, runs: Runs) -> Hashable:
    oracles = tuple(_Steep(loss) for loss in case.layout.oracles)
    return replace(case.learner(), oracles=oracles).fit(X, y, runs).components


#: Name, what is wrong, the run, the view.
BUGS: tuple[tuple[str, str, Case, View], ...] = (
    (
        "carry-forward: partition by labels",
        "rows are reversed where the number of labels +1 is even",
        Case(SKEWED, SHARP, (2, 1), (2, 2), (0,)),
        partial(_with, _Peeking),
    ),
    (
        "carry-forward: no subsampling",
        "the first rows of a reservoir are taken, amplification is claimed",
        Case(SKEWED, SHARP, (1, 1), (4, 1), (0,)),
        partial(_with, _Lazy),
    ),
    (
        "carry-forward: sensitivity four",
        "each agreement counts four times in the score",
        Case(SKEWED, SHARP, (1, 1), (1, 1), (0,)),
        _steep,
    ),
    (
        "carry-forward: witness released",
        "the relabelling's hypothesis is released with the components",
        Case(SIGNED, CARRIER, (1, 1), (1, 1)),
        _witness,
    ),
)


def planted() -> Iterator[Check]:
    """Yield the planted bugs."""
    yield from step_audits.planted()
    for name, what, case, view in BUGS:
        yield Check(
            name,
            f"the release; {case.n} records on {len(case.points)} points",
            case.claim,
            partial(audit, case, view),
            bug=what,
        )


def table() -> list[dict[str, Any]]:
    """Return one row for each audit and planted bug, for a report: claim and the worst log ratio found."""
    rows = []
    for check in (*checks(), *planted()):
        found = check.audit()
        rows.append(
            {
                "name": check.name,
                "bug": check.bug,
                "claim": float(check.epsilon),
                "log_ratio": found.log_lower if check.bug else found.log_upper,
                "pairs": found.pairs,
                "ok": check.passes(found),
            }
        )
    return rows
