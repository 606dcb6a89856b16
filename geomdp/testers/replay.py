"""Replay of halfspace elimination from its public transcript: who cut what, and which candidates were left.

Everything here is a function of the transcript and of public facts, so either party, or anyone who is shown
the transcript, can do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, ProtocolError, describe
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.elimination import HalfspaceElimination, menus_of
from geomdp.testers.elimination_rounds import Finish, Round, State
from geomdp.testers.elimination_turns import (
    BOTTOM,
    MISTAKES,
    SELECTION,
    after_bottoms,
    read_counts,
    read_selection,
)


@dataclass(frozen=True)
class Step:
    """One round: the candidates before and after it.

    Attributes:
        round: number of the round, from 1.
        before, after: ascending numbers of the candidates; equal where nobody cut.
        cut_by: the party whose member was taken, or None.
        silent: the parties that answered bottom, in order.
        counted: True for the counting finish, which ends the run.
        spent: each party's privacy loss up to and including this round.
    """

    round: int
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    cut_by: str | None
    silent: tuple[str, ...]
    counted: bool
    spent: dict[str, Fraction]


@dataclass(frozen=True)
class Replay:
    """A run of elimination, round by round.

    Attributes:
        weights: (N, d) the representatives of all labellings, numbered as in the steps.
        steps: the rounds.
        verdict: "Match", "Far" or "Inconclusive".
    """

    weights: NDArray[Any]
    steps: tuple[Step, ...]
    verdict: str


def replay(tester: HalfspaceElimination, transcript: Transcript) -> Replay:
    """Return the rounds of a run, checking every message against the public state.

    Args:
        tester: the tester that ran; a pure function of the public setting.
        transcript: what it released.

    Raises:
        ArgumentError: when the transcript's parameters are not this tester's.
        ProtocolError: when a message cannot have come at its place.

    Example:
        >>> from geomdp import Domain, Sample
        >>> from geomdp.privacy.sampler import SimSampler
        >>> from geomdp.testers.base import Setting
        >>> D = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
        >>> S = Sample.from_counts(D, [40] * 4 + [0] * 5, [0] * 4 + [40] * 5)
        >>> tester = HalfspaceElimination(Setting(D, S.n, S.n, 8))
        >>> finding = tester.converse(S, S, *SimSampler(0).spawn(2))
        >>> run = replay(tester, finding.transcript)
        >>> run.verdict == finding.verdict, len(run.steps[0].before) == len(run.weights)
        (True, True)
    """
    if not isinstance(tester, HalfspaceElimination):
        raise ArgumentError("tester", "a HalfspaceElimination", describe(tester))
    if dict(transcript.parameters) != tester.opening():
        raise ArgumentError("transcript", "one of this tester's runs", "one with other parameters")
    return _Reader(tester, transcript).read()


class _Reader:
    """Reads a transcript from front to back beside the public state that it leads through."""

    def __init__(self, tester: HalfspaceElimination, transcript: Transcript) -> None:
        self.tester, self.messages = tester, iter(transcript.messages)
        self.spent = dict.fromkeys(PARTIES, Fraction(0))
        self.steps: list[Step] = []

    def read(self) -> Replay:
        """Return the whole run."""
        menus = menus_of(self.tester.setting.domain)
        state = self.tester.start(menus)
        verdict = ""
        while not verdict:
            plan, end = self.tester.next_step(menus, state)
            if isinstance(plan, Finish):
                verdict = self._finish(plan, state)
            elif plan is None:
                verdict = end
            else:
                after = self._round(plan, state)
                verdict = "Match" if after is None else ""
                state = state if after is None else after
        if next(self.messages, None) is not None:
            raise ProtocolError("The transcript goes on after the run has ended.")
        return Replay(menus.weights, tuple(self.steps), verdict)

    def _round(self, plan: Round, state: State) -> State | None:
        """Return the state after a round, or None after two bottoms."""
        silent: list[str] = []
        before = state
        for name in (plan.first, plan.second):
            message = self._message(name, SELECTION)
            state, index = read_selection(plan, state, message, name)
            if index != BOTTOM:
                self._add(before, state.alive, name, tuple(silent))
                return state
            silent.append(name)
        self._add(before, before.alive, None, tuple(silent))
        return after_bottoms(plan, state)

    def _finish(self, plan: Finish, state: State) -> str:
        rows = [read_counts(plan, state, self._message(name, MISTAKES), name) for name in PARTIES]
        fits = [sum(values) <= plan.cut for values in zip(*rows, strict=True)]
        self._add(state, state.alive[np.array(fits, dtype=bool)], None, (), counted=True)
        return "Match" if any(fits) else "Far"

    def _message(self, name: str, kind: str) -> Message:
        message = next(self.messages, None)
        if message is None or (message.sender, message.kind) != (name, kind):
            raise ProtocolError(f"The transcript must go on with '{kind}' of {name}.")
        self.spent[name] += message.epsilon
        return message

    def _add(
        self,
        state: State,
        after: NDArray[np.int64],
        cut_by: str | None,
        silent: tuple[str, ...],
        *,
        counted: bool = False,
    ) -> None:
        number = len(self.steps) + 1
        self.steps.append(Step(number, state.alive, after, cut_by, silent, counted, dict(self.spent)))
