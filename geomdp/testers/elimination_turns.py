"""The turns of halfspace elimination: what a party sends, what it must look like, and what follows from it.

A party touches its records in :class:`EliminationParty` alone. Everything else here is a function of the
public step, the public state and the messages, so both parties, and whoever is shown the transcript, draw
the same conclusions from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.core.errors import BudgetError
from geomdp.core.sample import Sample
from geomdp.privacy.sampler import noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Integer, Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.elimination_delta import exponential
from geomdp.testers.elimination_rounds import Finish, Round, State

SELECTION, MISTAKES = "selection", "mistakes"
#: The index of a selection that offers no member.
BOTTOM = -1
#: Largest noisy count that a message holds; noise beyond it is moved to it.
MOST_NOISY = 2**60
#: Inner products held at a time while mistakes are counted.
_BLOCK = 2**22


def mistakes(sample: Sample, weights: NDArray[Any]) -> NDArray[np.int64]:
    """Return f(w), the records that each candidate labels wrongly, shape (N,), exactly.

    Args:
        sample: one party's records.
        weights: (N, d) integers.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> S = Sample.from_cells(Domain([[0, 1], [1, 1]]), [0, 1, 1], [-1, 1, 1])
        >>> mistakes(S, np.array([[2, -1], [-2, 1]])).tolist()
        [0, 3]
    """
    points, net = sample.points, (sample.positives - sample.negatives)
    out = np.empty(len(weights), dtype=np.int64)
    block = max(1, _BLOCK // max(1, len(points)))
    for start in range(0, len(weights), block):
        part = weights[start : start + block]
        positive = products(part, np.ascontiguousarray(points.T)) >= 0
        out[start : start + block] = np.asarray(positive, dtype=bool) @ (-net)
    return out + int(sample.positives.sum())


class EliminationParty(Party):
    """A party that selects members and counts mistakes; its records are read here and nowhere else.

    Proof note. Precondition: `step` is a function of the transcript. Replacing one record changes every f(w)
    by at most 1, so every member's score by at most the grain, and bottom's not at all. Permute-and-flip at
    acceptance rate c per unit is the race of score + exponential noise of rate c: bottom's probability
    changes by at most e^c, a member's by at most e^2c. The counts of N candidates move by at most N in L1.
    Conclusion: the message costs what it says. The larger price is known to be covered before anything is
    drawn, and the price of what was drawn is charged before the message exists.
    """

    def prepare(self, weights: NDArray[Any]) -> None:
        """Count this party's mistakes once for all candidates."""
        self._errors = mistakes(self.sample, weights)

    def select(self, step: Round, alive: NDArray[np.int64]) -> Message:
        """Return the selected member's index, or bottom.

        Raises:
            BudgetError: when a round exceeds what is left of the budget; then nothing was drawn.
        """
        menu, f = step.menus[self.name], self._errors[alive]
        scores = menu.scores(f, step.cap) if len(menu) else np.array([min(step.cap, int(f.min()))])
        if self.budget.left < step.member_price:
            raise BudgetError("A round exceeds what is left of the budget; nothing was drawn.")
        self.reserve(step.price)
        scale = noise_scale(2 * step.grain, step.loss)
        select = partial(exponential, self.sampler) if step.concentrated else self.sampler.permute_and_flip
        chosen = select([*(step.grain * scores).tolist(), step.bottom], scale)
        index = int(chosen) if chosen < len(scores) else BOTTOM
        if index != BOTTOM:
            self.reserve(step.member_price - step.price)
        return self.release(SELECTION, {"index": index, "candidates": len(alive)}, step.stated(index))

    def count(self, step: Finish, alive: NDArray[np.int64]) -> Message:
        """Return the noisy mistakes of every candidate alive."""
        self.reserve(step.price)
        noise = self.sampler.discrete_laplace(noise_scale(len(alive), step.epsilon), len(alive))
        counts = zip(self._errors[alive].tolist(), noise.tolist(), strict=True)
        noisy = within((f + z for f, z in counts), MOST_NOISY)
        return self.release(MISTAKES, {"values": noisy}, step.epsilon)


def selection_schema(step: Round, state: State, name: str) -> Schema:
    """Return what a party's selection must look like: an index of its public menu or -1, at the public price.

    The price is a function of the index and of the public step. A receiver never takes it from the message,
    so its books, on which all later prices rest, do not depend on what a dishonest counterpart states.
    """
    n, last = len(state.alive), max(1, len(step.menus[name])) - 1

    def stated(payload: Mapping[str, Any]) -> Fraction:
        return step.stated(payload["index"])

    return Schema(SELECTION, {"index": Integer(BOTTOM, last), "candidates": Integer(n, n)}, stated)


def counts_schema(step: Finish, state: State) -> Schema:
    """Return what a party's message in the counting finish must look like."""
    return Schema(MISTAKES, {"values": symmetric(len(state.alive), MOST_NOISY)}, step.epsilon)


def read_selection(step: Round, state: State, message: Message, name: str) -> tuple[State, int]:
    """Return the state after one party's selection, and the index selected.

    Raises:
        ProtocolError: when the message cannot be this round's: another sender or kind, an index that is not
            on the public menu, another number of candidates, or another price than the public one.
    """
    selection_schema(step, state, name).check(message, name)
    index, menu = int(message.payload["index"]), step.menus[name]
    price = step.price if index == BOTTOM else step.member_price
    left = {**state.left, name: state.left[name] - price}
    if index == BOTTOM:
        return State(state.alive, left, state.risk, state.rounds, state.lives), index
    alive = state.alive[menu.members(index)] if len(menu) else state.alive[:0]
    return State(alive, left, state.risk - step.share, state.rounds + 1, state.lives), index


def read_counts(step: Finish, state: State, message: Message, name: str) -> list[int]:
    """Return the noisy mistakes of every candidate alive.

    Raises:
        ProtocolError: when the message cannot be the finish's: another sender, kind, length or price.
    """
    counts_schema(step, state).check(message, name)
    return integers(message, "values", len(state.alive), MOST_NOISY)


def after_bottoms(step: Round, state: State) -> State | None:
    """Return the state after two bottoms: the same candidates with a retry less, or None for Match."""
    if not state.lives:
        return None
    return State(state.alive, state.left, state.risk - step.share, state.rounds + 1, state.lives - 1)


def round_turns(step: Round, state: State, transcript: Transcript) -> Script[State | None]:
    """Yield the turns of one round; return the state after it, or None for Match after two bottoms."""
    alive = state.alive

    def select(party: EliminationParty) -> Message:
        return converse(transcript, party.select(step, alive))

    for name in (step.first, step.second):
        message = yield Turn(name, selection_schema(step, state, name), select)
        state, index = read_selection(step, state, message, name)
        if index != BOTTOM:
            return state
    return after_bottoms(step, state)


def finish_turns(step: Finish, state: State, transcript: Transcript) -> Script[list[int]]:
    """Yield the turns of the counting finish; return every candidate's noisy mistakes with both parties."""
    schema = counts_schema(step, state)

    def count(party: EliminationParty) -> Message:
        return converse(transcript, party.count(step, state.alive))

    rows = []
    for name in PARTIES:
        message = yield Turn(name, schema, count)
        rows.append(read_counts(step, state, message, name))
    return [a + b for a, b in zip(*rows, strict=True)]
