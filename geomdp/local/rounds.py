"""Compilers that keep the number of rounds: simultaneous messages, and private answers of many users.

The compilers of :mod:`geomdp.local.twoparty` send bit after bit, or try proposals until one is accepted: the
number of rounds grows. Here a round stays a round (M. Joseph, J. Mao, A. Roth, Exponential Separations in
Local Differential Privacy, Theorem 5.1). Towards private users, all bits of a round are asked at once, each
of a cohort of its own. Towards two parties, all answers of a round are sent at once: for each, the index of
the first public proposal that its owner accepts.

A round protocol is a function without arguments that returns a generator. It yields :class:`Round` (both
parties speak, without hearing each other) or :class:`~geomdp.local.protocol.Coin`, receives the messages as a
tuple, or the face, and returns the answer. Channels are noiseless.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, SupportsIndex

from geomdp.core.errors import (
    ArgumentError,
    check_choice,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.local.coding import majority_error, plan_majority
from geomdp.local.elias import elias
from geomdp.local.finite import Kernel, check_ratio, role_and_value
from geomdp.local.models import FullyInteractive, Pool
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Run, Steps, called, run
from geomdp.local.rejection import Rejection, party_domains, settled, to_ask
from geomdp.local.twoparty import BSC, SentBit, next_step, played
from geomdp.protocol.transcript import PARTIES

ALICE, BOB = PARTIES


@dataclass(frozen=True)
class Message:
    """One message of a round.

    Attributes:
        owner: "Alice" or "Bob".
        size: number of possible messages, >= 1.
        send: the owner's input -> the message in 0..size-1, or the probabilities of all of them (private
            coins).

    Raises:
        ArgumentError: unless ``owner`` is one of :data:`PARTIES` and ``size`` is an integer >= 1.
    """

    owner: str
    size: int
    send: Callable[[Any], int | Sequence[Fraction]]

    def __post_init__(self) -> None:
        check_choice("owner", self.owner, PARTIES)
        check_integer("size", self.size, 1)

    @property
    def bits(self) -> int:
        """The length of the message in bits, at a fixed length."""
        return (self.size - 1).bit_length()

    def law(self, value: Any) -> tuple[Fraction, ...]:
        """Return the probabilities of all messages.

        Raises:
            ArgumentError: when `send` fails or returns anything else; the text holds no input.
        """
        try:
            sent = self.send(value)
            if isinstance(sent, SupportsIndex) and 0 <= operator.index(sent) < self.size:
                return tuple(Fraction(int(m == operator.index(sent))) for m in range(self.size))
            if isinstance(sent, Sequence):
                law = tuple(check_fraction("send", p) for p in sent)
                if len(law) == self.size and min(law) >= 0 and sum(law) == 1:
                    return law
        except Exception:  # noqa: S110 - the cause may hold the input
            pass
        raise ArgumentError("send", "a function to messages or their probabilities", "one that fails to")

    def definite(self, value: Any) -> int:
        """Return the message of an owner without private coins.

        Raises:
            ArgumentError: when it is not certain.
        """
        law = self.law(value)
        if max(law) < 1:
            raise ArgumentError("send", "a function without private coins", "one with them")
        return law.index(Fraction(1))


@dataclass(frozen=True)
class Round:
    """Messages that are sent at the same time.

    Attributes:
        messages: of both parties, any number of each; kept as a tuple.

    Raises:
        ArgumentError: when one of them is no Message.
    """

    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        messages = tuple(self.messages) if isinstance(self.messages, Iterable) else (None,)
        if not all(isinstance(message, Message) for message in messages):
            raise ArgumentError("messages", "a sequence of Message", describe(self.messages))
        object.__setattr__(self, "messages", messages)


RoundSteps = Generator[Round | Coin, Any, Any]


@dataclass(frozen=True)
class RoundProtocol:
    """A two-party protocol in simultaneous rounds, with public coins and a noiseless channel.

    Args:
        steps: function without arguments returning the generator of steps.

    Example:
        >>> def total():
        ...     a, b = yield Round((Message(ALICE, 4, lambda x: x), Message(BOB, 4, lambda y: y)))
        ...     return a + b
        >>> RoundProtocol(total).run(3, 2).answer
        5
    """

    steps: Callable[[], RoundSteps]

    def run(self, x: Any, y: Any, rng: int | None = None) -> Run:
        """Run it; `rounds` and `messages` of the result count its rounds and messages."""
        return run(as_local(self), [(ALICE, x), (BOB, y)], FullyInteractive(), rng)


@dataclass(frozen=True)
class SentMessage(Kernel):
    """A message as the answer of its owner; inputs are pairs (role, value). Nothing is hidden.

    Args:
        message: the message.
    """

    message: Message

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The messages 0..size-1."""
        return tuple(range(self.message.size))

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return integer weights of the messages.

        Raises:
            ArgumentError: unless ``x`` is a pair (role, value) of the message's owner.
        """
        role, value = role_and_value(x)
        if role != self.message.owner:
            raise ArgumentError("x", "a pair (role, value) of the message's owner", "something else")
        law = self.message.law(value)
        scale = math.lcm(*(p.denominator for p in law))
        return tuple(int(p * scale) for p in law)


def as_local(protocol: RoundProtocol) -> MakeProtocol:
    """Return the protocol as a local one of two users, 0 is Alice and 1 is Bob, one Ask per round.

    Runs, transcripts and exact laws apply to it as they are.
    """

    def ask(spoken: Round) -> Generator[Ask, Any, Any]:
        return (yield Ask(tuple((PARTIES.index(m.owner), SentMessage(m)) for m in spoken.messages)))

    return lambda: played(called(protocol.steps), ask, step_of)


def step_of(steps: RoundSteps, outcome: Any) -> tuple[Round | Coin | None, Any]:
    """Send an outcome to a round protocol; return (next step, None), or (None, answer) at the end.

    Raises:
        ProtocolError: when it yields anything but Round or Coin.
    """
    return next_step(steps, outcome, (Round, Coin), "A round protocol must yield Round or Coin")


def to_ldp_rounds(
    protocol: RoundProtocol,
    ratio: Fraction,
    copies: int,
    users: int,
    inputs: Mapping[str, Iterable[Any]] | None = None,
) -> MakeProtocol:
    """Return the sequentially interactive local protocol that plays a round protocol, round by round.

    Users hold ("Alice", x) or ("Bob", y), independently with probability 1/2 each. Each bit of each message
    is asked of `copies` fresh users, all of a round at once: the owner's kind answers by randomised response,
    the other kind with a fair coin. The majority is the bit; a message read as `size` or more is read as
    size - 1.

    Args:
        protocol: a protocol without private coins.
        ratio: e^epsilon or below, > 1 to transmit anything.
        copies: odd number of users per bit, see :func:`plan_rounds`.
        users: number of users; too few raise CapacityError.
        inputs: {"Alice": possible x, "Bob": possible y}, as in :func:`~geomdp.local.twoparty.to_ldp`.

    Raises:
        ArgumentError: unless ``copies`` is an odd integer >= 1, ``users`` an integer >= 0 and ``inputs``, if
            given, maps both parties to their possible inputs.

    Proof note. Privacy: each user answers one SentBit of crossover 1/(1 + ratio): log(ratio)-DP. Rounds: a
    round with messages becomes one round, as its bits depend on earlier rounds only. Law: a copy arrives
    wrong with the crossover of BSC.of_users(ratio), independently; with T bits in all, the answer is that of
    the noiseless protocol except with probability T * majority_error(copies, crossover) at most.

    Example:
        >>> from geomdp.local.models import Sequential
        >>> def total():
        ...     a, b = yield Round((Message(ALICE, 4, lambda x: x), Message(BOB, 4, lambda y: y)))
        ...     return a + b
        >>> private = to_ldp_rounds(RoundProtocol(total), Fraction(10**9), 41, 164)
        >>> run(private, [(ALICE, 3), (BOB, 2)] * 82, Sequential(rounds=1), rng=0).answer
        5
    """
    crossover = BSC.of_response(ratio).crossover
    check_integer("users", users, 0)
    domains = None if inputs is None else party_domains(inputs)
    if check_integer("copies", copies, 1) % 2 == 0:
        raise ArgumentError("copies", "odd", copies, "An odd number of copies leaves no tie.")

    def steps() -> Steps:
        pool = Pool(users)

        def ask(spoken: Round) -> Generator[Ask, Any, tuple[int, ...]]:
            kernels = [
                settled(SentBit(message.owner, _digit(message, place), crossover), domains)
                for message in spoken.messages
                for place in range(message.bits)
            ]
            bits: tuple[int, ...] = ()
            if kernels:
                cohort = pool.take(copies * len(kernels))
                bits = yield Ask(tuple((u, kernels[i // copies]) for i, u in enumerate(cohort.users)))
            read = iter([2 * sum(bits[i * copies : (i + 1) * copies]) > copies for i in range(len(kernels))])
            return tuple(_assemble(message, read) for message in spoken.messages)

        return (yield from played(called(protocol.steps), ask, step_of))

    return steps


def _digit(message: Message, place: int) -> Callable[[Any], int]:
    return lambda value: message.definite(value) >> place & 1


def _assemble(message: Message, bits: Iterator[bool]) -> int:
    value = sum(next(bits) << place for place in range(message.bits))
    return min(value, message.size - 1)


def plan_rounds(bits: int, ratio: Fraction, failure: Fraction | float | str) -> tuple[int, int]:
    """Return (copies, users) of :func:`to_ldp_rounds`: all of `bits` bits arrive but for `failure`.

    That is O(T log(T / failure) / epsilon^2) users for T bits and small epsilon.

    Example:
        >>> copies, users = plan_rounds(4, Fraction(3), "0.05")
        >>> users == 4 * copies, rounds_failure(4, Fraction(3), copies) <= Fraction(1, 20)
        (True, True)
    """
    plan = plan_majority(bits, BSC.of_users(ratio).crossover, failure)
    return plan.copies, plan.uses


def rounds_failure(bits: int, ratio: Fraction, copies: int) -> Fraction:
    """Return a bound on the probability that one of `bits` bits arrives wrong: the union bound.

    Raises:
        ArgumentError: unless ``bits`` is an integer >= 0 and ``copies`` an odd one >= 1.
    """
    return check_integer("bits", bits, 0) * majority_error(copies, BSC.of_users(ratio).crossover).hi


def from_ldp_rounds(
    protocol: MakeProtocol, ratio: Fraction, inputs: Mapping[str, Iterable[Any]], proposals: int
) -> RoundProtocol:
    """Return the round protocol that plays a local protocol, round by round, over a noiseless channel.

    A public coin gives each user the role Alice or Bob when it is first asked. For each answer of a round,
    `proposals` outputs are drawn in public from the reference law R0 = M / sum M, M(y) the largest
    probability of y. The owner accepts a proposal y with probability R(x)(y)/M(y), privately, and sends the
    index J of the first one accepted. J is geometric, so that its Elias code is short. If none is accepted
    the message is 0, and the protocol returns None. A kernel that ignores its input costs no message.

    Args:
        protocol: a sequentially interactive protocol whose users hold ("Alice", x) or ("Bob", y); its kernels
            have a worst ratio of at most `ratio` over each role's inputs.
        ratio: >= 1.
        inputs: {"Alice": possible x, "Bob": possible y}, at least one of each. A party that holds anything
            else plays as if it held the first one listed for it, as in
            :func:`~geomdp.local.twoparty.from_ldp`.
        proposals: number L of public proposals per answer, >= 1; see
            :func:`~geomdp.local.elias.proposals_for`.

    Raises:
        ArgumentError: unless ``inputs`` maps both parties to their possible inputs and ``proposals`` is an
            integer >= 1.

    Proof note. A proposal is accepted with probability sum_y R0(y) R(x)(y)/M(y) = 1/S, S = sum M <= ratio,
    and the accepted one has the law R(x), independently of J. So P(J = j) = (1 - 1/S)^(j-1)/S, and an answer
    fails with probability (1 - 1/S)^L whatever the inputs. Conclusion: given the roles and that nothing
    fails, the answers have exactly the law of the local protocol, in as many rounds. Bits: the Elias code of
    J has 2 floor(log2 J) + 1 bits, at most 1 + 2 log2(S) on average by Jensen's inequality, hence at most
    1 + 2.89 epsilon: n (1 + 2.89 epsilon) for n users (Theorem 5.1; the acceptance there is e^-epsilon).
    """
    limit = check_ratio(ratio)
    domains = party_domains(inputs)
    check_integer("proposals", proposals, 1)

    def steps() -> RoundSteps:
        roles: dict[int, str] = {}
        inner = called(protocol)
        ask, answer = yield from to_ask(inner, None)
        while ask is not None:
            drawn: list[list[Any]] = []
            messages: list[Message] = []
            for user, kernel in ask.queries:
                if user not in roles:
                    roles[user] = PARTIES[(yield Coin(2))]
                law = Rejection(kernel, domains[roles[user]], limit)
                public = []
                for _ in range(1 if law.ignores else proposals):
                    public.append(kernel.outputs[(yield law.proposal())])
                drawn.append(public)
                size = 1 if law.ignores else proposals + 1
                messages.append(Message(roles[user], size, _index_law(law, roles[user], public)))
            spoken = [message for message in messages if message.size > 1]
            received = iter((yield Round(tuple(spoken))) if spoken else ())
            outputs = []
            for message, public in zip(messages, drawn, strict=True):
                index = next(received) if message.size > 1 else 1
                if index == 0:
                    return None
                outputs.append(public[index - 1])
            ask, answer = yield from to_ask(inner, tuple(outputs))
        return answer

    return RoundProtocol(steps)


def _index_law(law: Rejection, role: str, public: Sequence[Any]) -> Callable[[Any], list[Fraction]]:
    """Return input -> the law of the index of the first accepted proposal, 0 for none."""

    def send(value: Any) -> list[Fraction]:
        if law.ignores:
            return [Fraction(1)]
        chances, left = [], Fraction(1)
        probabilities = law.probabilities((role, value))
        for output in public:
            place = law.kernel.outputs.index(output)
            accept = probabilities[place] / law.largest[place]
            chances.append(left * accept)
            left *= 1 - accept
        return [left, *chances]

    return send


def transcript_bits(result: Run) -> int:
    """Return the bits that both parties sent in a run of :func:`from_ldp_rounds`, in Elias codes."""
    total = 0
    for step, outcome in result.events:
        if isinstance(step, Ask):
            for (_, kernel), index in zip(step.queries, outcome, strict=True):
                total += len(elias(index or len(kernel.outputs)))
    return total


def alternating(protocol: RoundProtocol, first: str) -> RoundProtocol:
    """Return the same protocol with turns: the first player's message, then the second's two, and so on.

    In simultaneous rounds, a player may speak for the next round as soon as it has heard this one. So t
    rounds need t + 1 turns: first's message of round 1; the second's of rounds 1 and 2; the first's of rounds
    2 and 3; and so on, whoever is first. The rounds of the result hold messages of one player each;
    :func:`turns` counts changes of speaker. This carries lower bounds for alternating protocols over to
    simultaneous ones (Lemma 6.2).

    Args:
        protocol: a round protocol.
        first: who speaks first.

    Raises:
        ArgumentError: unless ``first`` is one of :data:`PARTIES`.

    Example:
        >>> def total():
        ...     a, b = yield Round((Message(ALICE, 4, lambda x: x), Message(BOB, 4, lambda y: y)))
        ...     return a + b
        >>> result = alternating(RoundProtocol(total), BOB).run(3, 2)
        >>> result.answer, turns(result)
        (5, 2)
    """
    order = (check_choice("first", first, PARTIES), PARTIES[1 - PARTIES.index(first)])

    def steps() -> RoundSteps:
        speaker = order[0]

        def take_turns(spoken: Round) -> Generator[Round, Any, tuple[int, ...]]:
            nonlocal speaker
            received: dict[int, int] = {}
            for player in (speaker, PARTIES[1 - PARTIES.index(speaker)]):
                places = [i for i, message in enumerate(spoken.messages) if message.owner == player]
                if places:
                    heard = yield Round(tuple(spoken.messages[i] for i in places))
                    received |= dict(zip(places, heard, strict=True))
                    speaker = player
            return tuple(received[i] for i in range(len(spoken.messages)))

        return (yield from played(called(protocol.steps), take_turns, step_of))

    return RoundProtocol(steps)


def turns(result: Run) -> int:
    """Return the number of turns of a run: maximal sequences of rounds with one and the same speaker."""
    speakers = [step.queries[0][0] for step, _ in result.events if isinstance(step, Ask)]
    return sum(i == 0 or speakers[i] != speakers[i - 1] for i in range(len(speakers)))
