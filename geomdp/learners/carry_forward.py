"""CarryForwardLearner: a hypothesis component by component, with a sample carried from round to round.

    S_0 = R_0, a sample of the first reservoir        (relabelled by LabelBoost first, if asked for)
    for i = 1, ..., k:
        y_i = oracle_i(prefix, S_{i-1})
        stop with (y_1, ..., y_k) at i = k
        T_i = a fresh unlabelled sample; S_i = T_i, labelled by a relabelling that looks at S_{i-1}

Source: "Private Component-by-Component Learning", Algorithm 2. What differs from it is said where it does:
CarrierBoost in place of LabelBoost, no initial relabelling where the first oracle is private on all inputs,
one fresh reservoir for each carrier, exact constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError
from geomdp.learners.accounting import Layout, blocks, guarantee
from geomdp.learners.classes.base import Component, Labels, Limited, PrefixClass, check_labels
from geomdp.learners.components import (
    CompletionOracle,
    ComponentOracle,
    PrefixState,
    default_completion,
    default_component,
)
from geomdp.learners.layouts import draw, partition
from geomdp.learners.modes import RunPlan
from geomdp.learners.relabel.carrier_boost import carrier_boost
from geomdp.learners.relabel.label_boost import Relabelled, label_boost
from geomdp.privacy.sampler import Sampler

Value = TypeVar("Value")
Watch = Callable[[PrefixState], None] | None
Progress = Callable[[float], None] | None


@dataclass(frozen=True)
class Spent:
    """One block of the ledger: a sample, and the loss of a record of its reservoir through it.

    Attributes:
        block: "R0", "T1", ...
        m, reservoir: sizes of the sample and of the reservoir that it was drawn from.
        before: the loss of a record that is in the sample, rounded up.
        after: the loss after amplification by subsampling, rounded up.
        delta: the delta after amplification.
    """

    block: str
    m: int
    reservoir: int
    before: float
    after: float
    delta: Fraction


@dataclass(frozen=True)
class Learned:
    """The release of a run, with its public account.

    Attributes:
        components: the hypothesis.
        epsilon, delta: the guarantee of the whole run, for the replacement of one record.
        ledger: the blocks that the guarantee is composed of.
        mode: how the numbers were set.
        promise: what is known about accuracy; nothing where the data are not realizable.
        simulated: True if the noise was seeded: then this is no private release.
    """

    components: tuple[Component, ...]
    epsilon: Fraction
    delta: Fraction
    ledger: tuple[Spent, ...]
    mode: str
    promise: str
    simulated: bool


@dataclass(frozen=True)
class CarryForwardLearner:
    """A learner for any class with a component representation.

    Proof note (privacy). Precondition: neighbouring inputs differ in one record; every oracle has the losses
    of the layout, the first one on all inputs unless R_0 is relabelled, the others on samples that the class
    of their prefix realizes; relabellings satisfy the factors of :mod:`geomdp.learners.accounting`.
    The rows are split into reservoirs without a look at them, so the replaced record is in one reservoir. It
    enters a run through the samples drawn from that reservoir, and each such sample T_i influences what is
    released through y_{i+1} and through the labels of T_{i+1} only: T_{i+1}'s points come from another
    reservoir and are not labelled by hand. That block has the loss of :func:`accounting.blocks`, amplified by
    subsampling; blocks of one reservoir compose adaptively. Every oracle after the first one runs on a
    realizable state, whatever the earlier steps drew (invariant below). Conclusion: (epsilon, delta)-DP with
    the numbers of :func:`accounting.guarantee`, on all inputs, in every mode. They follow from the layout,
    the sizes and the oracles; what a plan states about itself is reported only where they bear it out.

    Invariant (paper, Lemma 5.2). Before oracle i > 1, some hypothesis with the prefix (y_1, ..., y_{i-1})
    labels S_{i-1} exactly. The relabelling returns such a hypothesis, and each run replays it in integers.

    Totality. Oracles and relabellings are defined on every sample. Should one of them fail all the same, the
    run goes on with public defaults (the middle of a domain; the labels of the default completion): an
    exception that depends on records would be a message about them. The guarantee is proved for parts that
    keep their contract; the defaults only keep a broken one quiet. With `strict` the exception is raised:
    for tests, never with data that matter. Limits of a class (:class:`classes.base.Limited`) are decided from
    the plan's sizes when the learner is made, before there is a record.

    What is not covered: the running time depends on the data. Show a result after a fixed time where an
    onlooker could measure it.

    Args:
        C: the class, with an empty prefix.
        plan: see :mod:`geomdp.learners.modes`.
        oracles: k component oracles; by default :class:`CompletionOracle` at the layout's losses.
        shuffle: split rows in uniform random order rather than as they stand.
        strict: raise failures of oracles and relabellings.
        progress: told the fraction of the components chosen.

    Raises:
        ArgumentError: when plan, class and oracles do not fit each other.
        CapacityError: when the class cannot handle samples of the plan's sizes.

    Example: intervals on 0, ..., 1023.
        >>> from geomdp.learners.classes.interval import intervals
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.learners.growth import composition_profile
        >>> from geomdp.learners.modes import validated
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X = np.arange(3000).reshape(-1, 1) % 1024
        >>> y = np.where((X[:, 0] >= 300) & (X[:, 0] < 700), 1, -1)
        >>> C, size = intervals(Integers(0, 1023)), composition_profile(2, 1024)
        >>> learner = CarryForwardLearner(C, validated(size, 3000, Fraction(2)))
        >>> found = learner.fit(X, y, SimSampler(0))
        >>> bool((C.predict(found.components, X) != y).mean() < 0.2), found.epsilon, found.simulated
        (True, Fraction(2, 1), True)
    """

    C: PrefixClass
    plan: RunPlan
    oracles: tuple[ComponentOracle, ...] = ()
    shuffle: bool = True
    strict: bool = False
    progress: Progress = field(default=None, compare=False)

    def __post_init__(self) -> None:
        layout = self.plan.layout
        if self.C.prefix or layout.k != self.C.k:
            raise ArgumentError(
                "plan", f"one for {self.C.k} components and an empty prefix", f"for {layout.k}"
            )
        if not self.oracles:
            made = tuple(CompletionOracle(loss) for loss in layout.oracles)
            object.__setattr__(self, "oracles", made)
        if len(self.oracles) != self.C.k:
            raise ArgumentError("oracles", f"{self.C.k} oracles", f"{len(self.oracles)}")
        for i, oracle in enumerate(self.oracles):
            if oracle.epsilon > layout.oracles[i] or oracle.delta > self._allowed(i):
                raise ArgumentError("oracles", "within the losses of the layout", f"beyond them at {i}")
        if layout.initial is None and not self.oracles[0].everywhere:
            raise ArgumentError(
                "oracles",
                "private on all inputs at the first component",
                "one that needs realizable samples",
                "Give the layout an initial relabelling.",
            )
        _ = self.guarantee  # refuses reservoirs that do not fit the layout
        if isinstance(self.C, Limited):
            self.C.admit(self.plan.m, layout.method, initial=layout.initial is not None)

    @cached_property
    def guarantee(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) of a run, recomputed from the blocks."""
        return guarantee(self._layout, self.plan.m, self.plan.allocation)

    @property
    def _layout(self) -> Layout:
        """The layout, with the deltas of the oracles that run."""
        layout = self.plan.layout
        deltas = tuple(max(layout.delta(i), oracle.delta) for i, oracle in enumerate(self.oracles))
        return replace(layout, deltas=deltas)

    def _allowed(self, i: int) -> Fraction:
        layout = self.plan.layout
        if self.plan.mode == "paper":  # delta / (16 e k), rounded down
            return self.plan.allocation.delta * Fraction(100, 4350 * layout.k)
        return layout.delta(i)

    def ledger(self) -> tuple[Spent, ...]:
        """Return the account of a run; it depends on public numbers only."""
        rows = []
        plan = self.plan
        sizes = {use: r.size for r in plan.allocation.reservoirs for use in r.uses}
        for block, m in zip(blocks(self._layout), plan.m, strict=True):
            after = block.loss.subsampled(Fraction(m, sizes[block.name]))
            rows.append(
                Spent(block.name, m, sizes[block.name], block.loss.epsilon, after.epsilon, after.delta)
            )
        return tuple(rows)

    def fit(self, X: NDArray[Any], y: NDArray[Any], sampler: Sampler, watch: Watch = None) -> Learned:
        """Run the learner on labelled records.

        Args:
            X: (n, r) integers.
            y: (n,) labels +1 and -1.
            sampler: the source of randomness; the secure one for a release.
            watch: called with each prefix state before its oracle. States are not private: for tests.

        Raises:
            ArgumentError: when X or y has another form, or n is below the plan's.
        """
        table = np.asarray(X)
        labels = np.array(check_labels(y, len(table)), dtype=np.int8)
        if len(table) < self.plan.n:
            raise ArgumentError("X", f"at least {self.plan.n:,} records, as planned", f"{len(table):,}")
        whole = table if table.dtype == object else table[:1]
        self.C.predict(default_completion(self.C), whole)  # refuses tables of another form, before any draw
        components = self._run(table, labels, sampler, watch)
        epsilon, delta = self.guarantee
        return Learned(
            components,
            epsilon,
            delta,
            self.ledger(),
            self.plan.mode,
            self.plan.promise,
            sampler.simulated,
        )

    def _run(self, X: NDArray[Any], y: NDArray[Any], sampler: Sampler, watch: Watch) -> tuple[Component, ...]:
        allocation, m = self.plan.allocation, self.plan.m
        split = partition(len(X), allocation, sampler if self.shuffle else None)
        rows = draw(split.of("R0"), m[0], sampler)
        C, S_X, S_y = self.C, X[rows], y[rows]
        if self.plan.layout.initial is not None:
            S_y = self._initial(C, S_X, S_y, sampler)
        for i, oracle in enumerate(self.oracles):
            if watch is not None:
                watch(PrefixState(C, S_X, S_y))
            C = C.extend(self._component(C, oracle, S_X, S_y, sampler))
            if self.progress is not None:
                self.progress((i + 1) / self.C.k)
            if i + 1 == self.C.k:
                break
            carried = X[draw(split.of(f"T{i + 1}"), m[i + 1], sampler)]
            S_y = self._carry(PrefixState(C, S_X, S_y), carried, i, sampler)
            S_X = carried
        return C.prefix

    def _component(
        self, C: PrefixClass, oracle: ComponentOracle, X: NDArray[Any], y: Labels, sampler: Sampler
    ) -> Component:
        return self._guarded(
            lambda: C.component(oracle.choose(C, X, y, sampler)), lambda: default_component(C)
        )

    def _initial(self, C: PrefixClass, X: NDArray[Any], y: Labels, sampler: Sampler) -> Labels:
        loss = self.plan.layout.initial
        assert loss is not None  # noqa: S101 - asked by the caller

        def relabelled() -> Labels:
            done = label_boost(C, X, y, X[:0], loss, sampler)
            return _replayed(PrefixState(C, X, done.labels_S), done)

        return self._guarded(relabelled, lambda: C.predict(default_completion(C), X))

    def _carry(self, state: PrefixState, carried: NDArray[Any], i: int, sampler: Sampler) -> Labels:
        C, X, y = state
        layout = self.plan.layout
        boost = carrier_boost if layout.method == "carrier-boost" else label_boost

        def relabelled() -> Labels:
            done = boost(C, X, y, carried, layout.relabels[i], sampler)
            return _replayed(PrefixState(C, carried, done.labels_T), done)

        return self._guarded(relabelled, lambda: C.predict(default_completion(C), carried))

    def _guarded(self, action: Callable[[], Value], default: Callable[[], Value]) -> Value:
        """Return what an action gives, or a public default where it breaks its contract."""
        try:
            return action()
        except Exception:  # refusals too: here they would depend on records
            if self.strict:
                raise
            return default()


def _replayed(state: PrefixState, done: Relabelled) -> Labels:
    """Return the labels of a state after its witness has been replayed in exact arithmetic.

    Raises:
        AssertionError: when the witness does not realize the state.
    """
    if not state.witnessed_by(done.witness):
        raise AssertionError("A relabelled sample is not realized by its witness.")
    return np.asarray(state.y)
