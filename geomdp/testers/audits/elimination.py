"""Audits of halfspace elimination: one party's whole run, its prices and the counting finish included."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
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
from geomdp.testers.elimination import (
    BOTTOM,
    EliminationParty,
    HalfspaceElimination,
    after_bottoms,
    menus_of,
    read_selection,
)
from geomdp.testers.elimination_rounds import Finish, Round, State

DOMAIN = Domain([[0, 0, 1], [1, 0, 1], [2, 0, 1], [0, 1, 1], [1, 1, 1]])
RECORDS = [(x, y) for x in (0, 4) for y in (-1, 1)]


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    for name in ("Alice", "Bob"):
        yield Check(
            f"halfspace-elimination: {name}",
            "rounds, prices and counting finish, whatever the other selects; 20 candidates, 1 record",
            Fraction(1),
            lambda name=name: Protocol(name).audit(),  # type: ignore[misc]
        )


class Protocol:
    """The transcript tree of one party, driven by the tester's own public functions.

    A history lists every message of both parties; the counting finish appears count by count, which is the
    same law, as its noises are independent.

    Args:
        name: the audited party.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.tester = HalfspaceElimination(Setting(DOMAIN, 1, 1, Fraction(1)))
        self.menus = menus_of(DOMAIN)

    def audit(self) -> Audit:
        """Audit the party over all neighbouring datasets of one record."""
        return audit_protocol(
            self.law,
            neighbour_pairs(RECORDS, 1),
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
            key = _key(state)
            if isinstance(step, Finish):
                turn = "own" if len(rest) < len(state.alive) else "end"
                return turn, state, step, len(rest), (key, "finish", len(rest))
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
        for turn, (name, index) in enumerate(zip((step.first, step.second), messages, strict=False)):
            payload = {"index": index, "candidates": len(state.alive)}
            message = Message(name, "selection", payload, step.stated(index))
            state, chosen = read_selection(step, state, message, name)
            if chosen != BOTTOM:
                return state, turn + 1
        if len(messages) < 2:
            return len(messages)
        after = after_bottoms(step, state)
        return None if after is None else (after, 2)

    def _choices(self, step: Round | Finish | None) -> int:
        if not isinstance(step, Round):
            return 0
        return max(len(step.menus[name]) for name in (step.first, step.second) if name != self.name) or 1

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
        party = EliminationParty(self.name, sample(DOMAIN, data), sampler, Budget(1))
        party.reserve(1 - left)
        party.prepare(self.menus.weights)
        return party

    @cache  # noqa: B019 - one protocol per audit
    def _counts(self, data: Data, key: Hashable, history: History) -> tuple[NDArray[np.int64], Fraction]:
        del key
        _, state, step, _, _ = self._place(history)
        assert isinstance(step, Finish)  # noqa: S101 - the caller has looked
        still = Still()
        message = self.party(data, still, state.left[self.name]).count(step, state.alive)
        return np.array(message.payload["values"]), still.scales[0]

    def law(self, data: Data, history: History) -> dict[Any, Any]:
        """Return the law of the party's next message."""
        _, _, step, at, key = self.place(history)
        if isinstance(step, Round):
            return self._selected(data, key, history)
        first = history[: len(history) - at]
        centres, scale = self._counts(data, self.place(first)[4], first)
        return _count_law(int(centres[at]), scale)


def _key(state: State) -> Hashable:
    """Return all public facts of a state as a key."""
    facts = dict(vars(state))
    alive, left = facts.pop("alive"), facts.pop("left")
    return alive.tobytes(), tuple(left.items()), tuple(facts.items())


@lru_cache(maxsize=4096)
def _count_law(centre: int, scale: Fraction) -> dict[int, Any]:
    return {v: p.outward(96) for v, p in laplace_law(centre, Interval.exp_neg(1 / scale), -1, 2).items()}
