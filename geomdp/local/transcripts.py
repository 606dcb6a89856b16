"""All transcripts of a local protocol, with their exact probabilities under every candidate input.

A protocol is a function of the transcript, so that its tree of transcripts can be walked by replaying it
with chosen outcomes. Probabilities are Fractions throughout. The walk is exponential; it is meant for small
instances, on which it is a proof.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from geomdp.core.errors import CapacityError, ProtocolError, check_integer
from geomdp.local.domains import check_domain
from geomdp.local.finite import Kernel
from geomdp.local.models import Model
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Step, advance, check_blind, start

_LONGEST = 2_000  # steps of one transcript; every step replays all earlier ones

#: Outcomes so far, in order: the tuple of answers of an Ask, the face of a Coin.
Outcomes = tuple[Any, ...]
#: Integers over a common denominator: probabilities of one event under each candidate input.
Chances = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Leaf:
    """One complete transcript.

    Attributes:
        events: (step, outcome) in order.
        answer: what the protocol returned.
        coins: probability of the public coins.
        chances: user -> (integers, one per candidate input, and their common denominator): the probabilities
            of the user's answers.
    """

    events: tuple[tuple[Step, Any], ...]
    answer: Any
    coins: Fraction
    chances: Mapping[int, Chances]

    @property
    def likelihood(self) -> dict[int, tuple[Fraction, ...]]:
        """User -> P(the user's answers | input), one Fraction per candidate input."""
        return {user: tuple(Fraction(p, below) for p in row) for user, (row, below) in self.chances.items()}

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes alone: the transcript, as the steps are a function of it."""
        return tuple(outcome for _, outcome in self.events)

    def probability(self, chosen: Mapping[int, int] | None = None) -> Fraction:
        """Return the probability for one candidate of each user, the first one where none is chosen."""
        total = self.coins
        for user, (row, below) in self.chances.items():
            total *= Fraction(row[(chosen or {}).get(user, 0)], below)
        return total


def transcripts(
    protocol: MakeProtocol,
    candidates: Mapping[int, Sequence[Any]],
    model: Model,
    *,
    recheck: bool = True,
    limit: int = 10**6,
    progress: Callable[[float], None] | None = None,
) -> Iterator[Leaf]:
    """Walk over all transcripts that some choice of one candidate input per user makes possible.

    Args:
        protocol: function without arguments returning the generator of steps.
        candidates: user -> the inputs that it may hold; all users must be listed.
        model: interaction model whose rules every replay must obey.
        recheck: compare every law of a replay with that of the first visit, which proves that the protocol
            is a function of the transcript; False compares the questions' form only.
        limit: largest number of transcripts.
        progress: called with the fraction of the tree that is done.

    Yields:
        A :class:`Leaf` for each transcript.

    Raises:
        ProtocolError: when the protocol is no function of the transcript, or asks an unknown user.
        DataAccessError: when it holds the inputs.
        InteractionError: when it breaks the model's rules.
        CapacityError: when there are more transcripts than `limit`, or when one is longer than 2,000 steps,
            as that of a protocol that never ends.
        ArgumentError: unless ``limit`` is an integer >= 1.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> from geomdp.local.models import NonInteractive
        >>> def ask():
        ...     bits = yield Ask.each([0, 1], RandomisedResponse(Fraction(3)))
        ...     return bits
        >>> leaves = list(transcripts(ask, {0: [0, 1], 1: [1]}, NonInteractive()))
        >>> [(leaf.answer, leaf.probability()) for leaf in leaves][1]
        ((0, 1), Fraction(9, 16))
    """
    check_blind(protocol, candidates)
    check_integer("limit", limit, 1)
    ones: dict[int, Chances] = {user: ((1,) * len(row), 1) for user, row in candidates.items()}
    stack, found, done = [_Node((), (), Fraction(1), ones, 1.0)], 0, 0.0
    while stack:
        node = stack.pop()
        steps, step, answer = start(protocol)
        ledger = model.ledger()
        for (_, outcome), seen in zip(node.events, node.views, strict=True):
            if step is None or _view(step, _laws(step, candidates, again=True) if recheck else None) != seen:
                raise ProtocolError(
                    "A protocol must be a function of its transcript; a replay took another step than before."
                )
            if isinstance(step, Ask):
                ledger.charge(step)
            step, answer = advance(steps, outcome)
        while step is not None:
            if len(node.events) >= _LONGEST:
                raise CapacityError("protocol", f"one that ends within {_LONGEST} steps", "a longer one")
            if isinstance(step, Ask):
                ledger.charge(step)
            branches = _branches(node, step, _laws(step, candidates), recheck)
            node = branches[0]
            stack += reversed(branches[1:])
            step, answer = advance(steps, node.events[-1][1])
        found += 1
        if found > limit:
            raise CapacityError("limit", "at least the number of transcripts", limit, "Take a smaller case.")
        done += node.share
        if progress is not None:
            progress(min(done, 1.0))
        yield Leaf(node.events, answer, node.coins, node.chances)


@dataclass(frozen=True)
class _Node:
    """A partial transcript; `share` is the part of the tree below it, for progress."""

    events: tuple[tuple[Step, Any], ...]
    views: tuple[Any, ...]
    coins: Fraction
    chances: dict[int, Chances]
    share: float


#: For each query of a step, for each output: its probabilities under the user's candidates.
_Laws = tuple[tuple[Chances, ...], ...]


def _laws(step: Step, candidates: Mapping[int, Sequence[Any]], again: bool = False) -> _Laws:
    if isinstance(step, Coin):
        return ()
    if any(user not in candidates for user, _ in step.queries):
        raise ProtocolError("A protocol asked a user that is not among those listed.")
    return tuple(_columns(kernel, candidates[user], again) for user, kernel in step.queries)


def _columns(kernel: Kernel, inputs: Sequence[Any], again: bool) -> tuple[Chances, ...]:
    """Return the kernel's law by outputs, from the very weights that it is sampled with.

    A replay evaluates the inputs in reverse: a statistic that remembers what it saw then shows it, by other
    weights or by another step of the protocol.
    """
    rows = [kernel.checked(x) for x in (reversed(inputs) if again else inputs)]
    rows = rows[::-1] if again else rows
    totals = {row: sum(row) for row in set(rows)}
    below = lcm(*totals.values())
    if any(total != below for total in totals.values()):
        rows = [tuple(w * (below // totals[row]) for w in row) for row in rows]
    return tuple((column, below) for column in zip(*rows, strict=True))


def _view(step: Step, laws: _Laws | None) -> Any:
    """Return what a replay must repeat: the dice, or who is asked, the possible outputs, and their laws."""
    if isinstance(step, Coin):
        return step.chances()
    return tuple((user, kernel.outputs) for user, kernel in step.queries), laws


def _branches(node: _Node, step: Step, laws: _Laws, recheck: bool) -> list[_Node]:
    """Return the possible continuations: never empty, as every law sums to 1."""
    found: list[tuple[Any, Fraction, dict[int, Chances]]] = []
    if isinstance(step, Coin):
        weights = step.chances()
        shares = [Fraction(weight, sum(weights)) for weight in weights]
        found = [(face, node.coins * p, node.chances) for face, p in enumerate(shares) if p]
    else:
        for places in itertools.product(*(range(len(law)) for law in laws)):
            chances = _updated(node.chances, step, laws, places)
            if chances is not None:
                outcome = tuple(k.outputs[i] for (_, k), i in zip(step.queries, places, strict=True))
                found.append((outcome, node.coins, chances))
    views = (*node.views, _view(step, laws if recheck else None))
    return [
        _Node((*node.events, (step, outcome)), views, coins, chances, node.share / len(found))
        for outcome, coins, chances in found
    ]


def _updated(
    chances: dict[int, Chances], ask: Ask, laws: _Laws, places: tuple[int, ...]
) -> dict[int, Chances] | None:
    """Return the probabilities of answers so far, or None if no input of some user allows them."""
    updated = dict(chances)
    for (user, _), law, place in zip(ask.queries, laws, places, strict=True):
        (old, above), (new, below) = updated[user], law[place]
        updated[user] = tuple(map(operator.mul, old, new)), above * below
        if not any(updated[user][0]):
            return None
    return updated


def transcript_law(
    protocol: MakeProtocol, population: Sequence[Sequence[Any]], model: Model, *, limit: int = 10**6
) -> dict[Outcomes, Fraction]:
    """Return the exact law of the transcript when each user's input is uniform on its own list.

    Args:
        protocol: function without arguments returning the generator of steps.
        population: for each user, the equally likely inputs; one entry makes it a fixed input.
        model: interaction model.
        limit: largest number of transcripts.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> from geomdp.local.models import NonInteractive
        >>> def ask():
        ...     yield Ask.each([0], RandomisedResponse(Fraction(3)))
        >>> transcript_law(ask, [[0, 1]], NonInteractive())[((1,),)]
        Fraction(1, 2)
    """
    return _law_of(operator.attrgetter("outcomes"), protocol, population, model, limit=limit)


def answer_law(
    protocol: MakeProtocol, population: Sequence[Sequence[Any]], model: Model, *, limit: int = 10**6
) -> dict[Any, Fraction]:
    """Return the exact law of the protocol's answer; arguments as for :func:`transcript_law`.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> from geomdp.local.models import NonInteractive
        >>> def total():
        ...     bits = yield Ask.each([0, 1], RandomisedResponse(Fraction(3)))
        ...     return sum(bits)
        >>> answer_law(total, [[1], [1]], NonInteractive())[2]
        Fraction(9, 16)
    """
    return _law_of(operator.attrgetter("answer"), protocol, population, model, limit=limit)


def _law_of(
    what: Callable[[Leaf], Any],
    protocol: MakeProtocol,
    population: Sequence[Sequence[Any]],
    model: Model,
    *,
    limit: int,
) -> dict[Any, Fraction]:
    """Return the exact law of a function of the complete transcript."""
    candidates = {user: check_domain(inputs, f"population[{user}]") for user, inputs in enumerate(population)}
    check_blind(protocol, population)
    law: dict[Any, Fraction] = {}
    for leaf in transcripts(protocol, candidates, model, limit=limit):
        chance = leaf.coins
        for row, below in leaf.chances.values():
            chance *= Fraction(sum(row), below * len(row))
        law[what(leaf)] = law.get(what(leaf), Fraction(0)) + chance
    return law
