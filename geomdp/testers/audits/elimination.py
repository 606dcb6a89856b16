"""Audits of halfspace elimination: one party's whole run, its prices and the counting finish included."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.privacy.audit import Audit, History, audit_protocol, laplace_law, neighbour_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.runs import Runs, law_of
from geomdp.protocol.transcript import Message
from geomdp.testers.audits.check import Check, Data, Still, sample
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination, menus_of
from geomdp.testers.elimination_rounds import Finish, Round, State
from geomdp.testers.elimination_turns import (
    BOTTOM,
    SELECTION,
    EliminationParty,
    after_bottoms,
    mistakes,
    read_selection,
)

ONE = Fraction(1)


def line(places: int) -> Domain:
    """Return places 0, 1, ... with the bias, which have two candidates each."""
    return Domain([[x, 1] for x in range(places)])


@dataclass(frozen=True)
class Run:
    """What is enumerated: all datasets of some size at some cells of a domain.

    Attributes:
        domain: the public domain.
        cells: where records may lie, with either label.
        n: number of records of a dataset.
        epsilon: the claim, each party's privacy budget.
        options: of the tester.
    """

    domain: Domain
    cells: Sequence[int]
    n: int = 1
    epsilon: Fraction = ONE
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def records(self) -> list[tuple[int, int]]:
        """Every labelled cell of those listed."""
        return [(x, y) for x in self.cells for y in (-1, 1)]


#: A round, then the counting finish.
SHORT = Run(Domain([[0, 0, 1], [1, 0, 1], [2, 0, 1], [0, 1, 1], [1, 1, 1]]), (0, 4))
#: A round that is repeated after two bottoms, then the finish. With n >= 2K both ends of all scores occur.
AGAIN = Run(line(9), (0,), 10, Fraction(12), {"retries": 1})
#: Two rounds, either of them repeated after two bottoms, then the finish: a member keeps 17 of 34 candidates.
LONG = Run(line(17), (8,), 16, Fraction(8), {"retries": 1})
#: The same at a smaller cap.
LONG_SMALL = Run(line(17), (8,), 8, Fraction(16), {"retries": 1})
#: The paper's constants: up to seven rounds, without a finish; each price covers far more than it must.
PAPER = Run(line(2), (0,), 18, Fraction(50), {"constants": "paper"})
ABOUT = {
    "": (SHORT, "rounds, prices and counting finish, whatever the other selects; 20 candidates, 1 record"),
    ", retry": (
        AGAIN,
        "a round, repeated after two bottoms, and the finish; 18 candidates, 10 records of one cell",
    ),
    ", two rounds and a retry": (
        LONG,
        "two rounds, one repeated after two bottoms, and the finish; 34 candidates, 16 records of one cell",
    ),
    "-paper": (PAPER, "all rounds at the paper's constants; 4 candidates, 18 records of one cell"),
}


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    for suffix, (run, about) in ABOUT.items():
        for name in ("Alice", "Bob"):
            yield Check(
                f"halfspace-elimination{suffix}: {name}",
                about,
                run.epsilon,
                lambda name=name, run=run: Protocol(name, run).audit(),  # type: ignore[misc]
                tight=run is not PAPER,
            )


class Protocol:
    """The transcript tree of one party, driven by the tester's own public functions.

    A history lists every message of both parties; the counting finish appears count by count, which is the
    same law, as its noises are independent. Counts come in the order of what the records say about their
    candidates: two finishes of one price and of candidates that no dataset here tells apart are one state.

    Args:
        name: the audited party.
        run: what is enumerated.
    """

    def __init__(self, name: str, run: Run = SHORT) -> None:
        self.name, self.run = name, run
        self.tester = HalfspaceElimination(Setting(run.domain, run.n, run.n, run.epsilon), **run.options)
        self.menus = menus_of(run.domain)

    def audit(self) -> Audit:
        """Audit the party over all neighbouring datasets."""
        return audit_protocol(
            self.law,
            neighbour_pairs(self.run.records, self.run.n),
            turn=lambda history: self.place(history)[0],
            alphabet=lambda history: range(BOTTOM, self._choices(self.place(history)[2])),
            state=lambda history: self.place(history)[4],
        )

    @cached_property
    def _steps(self) -> dict[Hashable, Any]:
        return {}

    def step(self, state: State) -> Round | Finish | None:
        """Return the tester's next step, computed once per state."""
        key = _key(state)
        if key not in self._steps:
            self._steps[key] = self.tester.next_step(self.menus, state)[0]
        step: Round | Finish | None = self._steps[key]
        return step

    def place(self, history: History) -> tuple[str, State, Round | Finish | None, int, Hashable]:
        """Return whose turn it is, the public state, the step, the count's position, and a key of all."""
        return self._place(history)

    @cache  # noqa: B019 - one protocol per audit
    def _place(self, history: History) -> tuple[str, State, Round | Finish | None, int, Hashable]:
        state, at = self.tester.start(self.menus), 0
        while True:
            step = self.step(state) if len(state.alive) else None
            rest = history[at:]
            if step is None:
                return "end", state, None, 0, "end"
            if isinstance(step, Finish):
                turn = "own" if len(rest) < len(state.alive) else "end"
                kinds = tuple(self._told_apart[self._order(state)][len(rest) :].tolist())
                facts = len(state.alive), step.epsilon, step.price, state.left[self.name]
                return turn, state, step, len(rest), ("finish", *facts, kinds)
            key = _key(state)
            after = self._after(step, state, rest[:2])
            if isinstance(after, int):
                speaker = (step.first, step.second)[after]
                return ("own" if speaker == self.name else "other"), state, step, after, (key, after)
            if after is None:
                return "end", state, None, 0, "end"
            state, used = after
            at += used

    def _after(self, step: Round, state: State, messages: History) -> tuple[State, int] | int | None:
        """Return the state after a round, or who is to speak; None for Match after two bottoms."""
        before = state
        for turn, (name, index) in enumerate(zip((step.first, step.second), messages, strict=False)):
            payload = {"index": index, "candidates": len(state.alive)}
            message = Message(name, SELECTION, payload, step.stated(index))
            state, chosen = read_selection(step, state, message, name)
            if chosen != BOTTOM:
                return state, turn + 1
        if len(messages) < 2:
            return len(messages)
        after = self.after_bottoms(step, before, state)
        return None if after is None else (after, 2)

    def after_bottoms(self, step: Round, before: State, state: State) -> State | None:
        """Return the state after two bottoms, from those before the round and after both messages."""
        del before
        return after_bottoms(step, state)

    def _choices(self, step: Round | Finish | None) -> int:
        if not isinstance(step, Round):
            return 0
        return max(len(step.menus[name]) for name in (step.first, step.second) if name != self.name) or 1

    @cached_property
    def _told_apart(self) -> NDArray[np.int64]:
        """Return every candidate's kind: two are of one kind if they err on the same records listed."""
        rows = [mistakes(sample(self.run.domain, (r,)), self.menus.weights) for r in self.run.records]
        return np.unique(np.array(rows), axis=1, return_inverse=True)[1].reshape(-1)

    def _order(self, state: State) -> NDArray[np.int64]:
        """Return the candidates alive by kind."""
        ordered: NDArray[np.int64] = state.alive[np.argsort(self._told_apart[state.alive], kind="stable")]
        return ordered

    @cache  # noqa: B019 - one protocol per audit
    def _selected(self, data: Data, key: Hashable, history: History) -> dict[Hashable, Any]:
        del key
        _, state, step, _, _ = self._place(history)
        assert isinstance(step, Round)  # noqa: S101 - the caller has looked

        def program(runs: Runs) -> Hashable:
            party = self.party(data, runs, state.left[self.name])
            return int(party.select(step, state.alive).payload["index"])

        return law_of(program, 2)

    def party(self, data: Data, sampler: Any, left: Fraction) -> EliminationParty:
        """Return the party with what is left of its budget."""
        party = EliminationParty(self.name, sample(self.run.domain, data), sampler, Budget(self.run.epsilon))
        party.reserve(self.run.epsilon - left)
        party.prepare(self.menus.weights)
        return party

    @cache  # noqa: B019 - one protocol per audit
    def _counts(self, data: Data, key: Hashable, history: History) -> tuple[NDArray[np.int64], Fraction]:
        del key
        _, state, step, _, _ = self._place(history)
        assert isinstance(step, Finish)  # noqa: S101 - the caller has looked
        still = Still()
        message = self.party(data, still, state.left[self.name]).count(step, self._order(state))
        return np.array(message.payload["values"]), still.scales[0]

    def law(self, data: Data, history: History) -> dict[Any, Any]:
        """Return the law of the party's next message."""
        _, _, step, at, key = self.place(history)
        if isinstance(step, Round):
            return self._selected(data, key, history)
        first = history[: len(history) - at]
        centres, scale = self._counts(data, self.place(first)[4], first)
        return _count_law(int(centres[at]), scale, self.run.n + 1)


def _key(state: State) -> Hashable:
    """Return all public facts of a state as a key."""
    facts = dict(vars(state))
    alive, left = facts.pop("alive"), facts.pop("left")
    return alive.tobytes(), tuple(left.items()), tuple(facts.items())


@lru_cache(maxsize=4096)
def _count_law(centre: int, scale: Fraction, top: int) -> dict[int, Any]:
    return {v: p.outward(96) for v, p in laplace_law(centre, Interval.exp_neg(1 / scale), -1, top).items()}
