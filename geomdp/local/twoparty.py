"""Compilers between two worlds: bits over a noisy channel, and private answers of many users.

Alice holds x, Bob holds y. In the two-party world they exchange bits over a binary symmetric channel; in the
local world each of many users holds ("Alice", x) or ("Bob", y). Noise is what privacy asks for, so each
world simulates the other (M. Joseph, J. Mao, A. Roth, Exponential Separations in Local Differential Privacy,
Lemmas 3.1 and 3.2). Channels are given by their crossover probability, and everything is rational.

A two-party protocol is a function without arguments that returns a generator. It yields :class:`Bit`
(the owner sends a bit) or :class:`~geomdp.local.protocol.Coin` (public dice), receives the bit as it
arrived, which both parties see, and returns the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import (
    ArgumentError,
    ProtocolError,
    check_choice,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.local.finite import BitKernel, check_probability, check_ratio, role_and_value
from geomdp.local.models import FullyInteractive, Pool
from geomdp.local.protocol import Ask, Coin, MakeProtocol, Run, Steps, called, run
from geomdp.local.rejection import Rejection, party_domains, settled, to_ask
from geomdp.protocol.transcript import PARTIES

ALICE, BOB = PARTIES


@dataclass(frozen=True)
class Bit:
    """One bit sent by its owner.

    Attributes:
        owner: "Alice" or "Bob".
        send: the owner's input -> the bit, or the probability of sending 1 (private coins).

    Raises:
        ArgumentError: unless ``owner`` is one of :data:`PARTIES`.
    """

    owner: str
    send: Callable[[Any], Fraction | int]

    def __post_init__(self) -> None:
        check_choice("owner", self.owner, PARTIES)


TwoPartySteps = Generator[Bit | Coin, Any, Any]


@dataclass(frozen=True)
class TwoPartyProtocol:
    """A two-party protocol with public coins.

    Args:
        steps: function without arguments returning the generator of steps.

    Example:
        >>> def parity():
        ...     a = yield Bit(ALICE, lambda x: x % 2)
        ...     b = yield Bit(BOB, lambda y: y % 2)
        ...     return a ^ b
        >>> TwoPartyProtocol(parity).noiseless(3, 4)
        1
    """

    steps: Callable[[], TwoPartySteps]

    def noiseless(self, x: Any, y: Any, rng: int | None = None) -> Any:
        """Return the answer over a perfect channel; a seed fixes public and private coins."""
        return self.run(x, y, BSC(Fraction(0)), rng).answer

    def run(self, x: Any, y: Any, channel: BSC, rng: int | None = None) -> Run:
        """Run over a channel; `messages` of the result is the number of bits sent."""
        return run(over_bsc(self, channel), [(ALICE, x), (BOB, y)], FullyInteractive(), rng)


@dataclass(frozen=True)
class BSC:
    """A binary symmetric channel.

    Args:
        crossover: probability that a bit is flipped, 0 <= crossover <= 1/2.

    Raises:
        ArgumentError: unless ``crossover`` is a probability between 0 and 1/2.

    Example:
        >>> BSC.of_response(Fraction(3)), BSC.of_users(Fraction(3))
        (BSC(crossover=Fraction(1, 4)), BSC(crossover=Fraction(3, 8)))
    """

    crossover: Fraction

    def __post_init__(self) -> None:
        crossover = check_fraction("crossover", self.crossover)
        if not 0 <= crossover <= Fraction(1, 2):
            raise ArgumentError("crossover", "a probability between 0 and 1/2", describe(crossover))
        object.__setattr__(self, "crossover", crossover)

    @classmethod
    def of_response(cls, ratio: Fraction) -> BSC:
        """Return the channel of randomised response itself: crossover 1/(1 + ratio)."""
        return cls(1 / (1 + check_ratio(ratio)))

    @classmethod
    def of_users(cls, ratio: Fraction) -> BSC:
        """Return the channel of one fresh user whose role is a fair coin: 1/2 - (ratio-1)/(4 (ratio+1)).

        With ratio = e^epsilon this is 1/2 - tanh(epsilon/2)/4.
        """
        value = check_ratio(ratio)
        return cls(Fraction(1, 2) - (value - 1) / (4 * (value + 1)))

    @property
    def correlation(self) -> Fraction:
        """1 - 2 crossover: how much of a bit's bias arrives."""
        return 1 - 2 * self.crossover


@dataclass(frozen=True)
class SentBit(BitKernel):
    """The bit that arrives when the owner sends `send(value)` over a channel; others send a fair coin.

    Inputs are pairs (role, value).

    Args:
        owner: the role whose bit it is.
        send: value -> bit, or probability of sending 1.
        crossover: of the channel, in [0, 1/2].

    Raises:
        ArgumentError: unless ``owner`` is one of :data:`PARTIES`.

    Proof note. The owner's bit arrives as 1 with probability c + (1-2c) s, between c and 1-c; a fair coin
    lies between these. Two inputs change an output's probability by a factor of at most (1-c)/c. Conclusion:
    with c = 1/(1 + ratio) the answer is log(ratio)-DP, role included.

    Example:
        >>> kernel = SentBit(ALICE, lambda x: x > 0, Fraction(1, 4))
        >>> kernel.law((ALICE, 5))[1], kernel.law((BOB, 5))[1]
        (Fraction(3, 4), Fraction(1, 2))
    """

    owner: str
    send: Callable[[Any], Fraction | int]
    crossover: Fraction

    def __post_init__(self) -> None:
        check_choice("owner", self.owner, PARTIES)
        object.__setattr__(self, "crossover", BSC(self.crossover).crossover)

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the weights of 0 and 1; equal for everybody but the owner, also for a role that is no text.

        Raises:
            ArgumentError: unless ``x`` is a pair (role, value).
        """
        role, value = role_and_value(x)
        if role != self.owner:
            return (1, 1)
        arrives = self.crossover + (1 - 2 * self.crossover) * chance_of(self.send, value)
        return (arrives.denominator - arrives.numerator, arrives.numerator)


def chance_of(send: Callable[[Any], Fraction | int], value: Any) -> Fraction:
    """Return the probability with which an owner sends 1.

    Raises:
        ArgumentError: when `send` fails or returns anything but a probability; the message holds no input.
    """
    try:
        chance: Any = send(value)
    except Exception:  # the cause may hold the input
        chance = None
    if isinstance(chance, (bool, np.bool_)):
        return Fraction(int(chance))
    try:
        return check_probability("send", chance)
    except ArgumentError:
        pass
    raise ArgumentError("send", "a function to bits or probabilities", "one that fails to for some input")


def over_bsc(protocol: TwoPartyProtocol, channel: BSC) -> MakeProtocol:
    """Return the protocol run over a channel, as a local protocol of two users: 0 is Alice, 1 is Bob.

    Their inputs are ("Alice", x) and ("Bob", y), so that runs, transcripts and exact laws of
    :mod:`geomdp.local.transcripts` apply to it as they are.

    Example:
        >>> from geomdp.local.transcripts import answer_law
        >>> def send():
        ...     bit = yield Bit(ALICE, lambda x: x)
        ...     return bit
        >>> noisy = over_bsc(TwoPartyProtocol(send), BSC(Fraction(1, 4)))
        >>> answer_law(noisy, [[(ALICE, 1)], [(BOB, 0)]], FullyInteractive())[1]
        Fraction(3, 4)
    """

    def ask(bit: Bit) -> Generator[Ask, Any, int]:
        kernel = SentBit(bit.owner, bit.send, channel.crossover)
        return int((yield Ask(((PARTIES.index(bit.owner), kernel),)))[0])

    return lambda: played(called(protocol.steps), ask, step_of)


def played(
    inner: Generator[Any, Any, Any],
    play: Callable[[Any], Generator[Any, Any, Any]],
    following: Callable[[Any, Any], tuple[Any, Any]],
) -> Generator[Any, Any, Any]:
    """Play a protocol by steps of another kind, and return its answer; public coins are tossed as they are.

    Args:
        inner: the protocol's generator, not started.
        play: for a step that is no coin, the generator of steps that returns what the step receives.
        following: the protocol's next step, :func:`step_of` or its like.
    """
    step, answer = following(inner, None)
    while step is not None:
        outcome = (yield step) if isinstance(step, Coin) else (yield from play(step))
        step, answer = following(inner, outcome)
    return answer


def step_of(steps: TwoPartySteps, outcome: Any) -> tuple[Bit | Coin | None, Any]:
    """Send an outcome to a two-party protocol; return (next step, None), or (None, answer) at the end.

    Raises:
        ProtocolError: when it yields anything but Bit or Coin.
    """
    return next_step(steps, outcome, (Bit, Coin), "A two-party protocol must yield Bit or Coin")


def next_step(
    steps: Generator[Any, Any, Any], outcome: Any, kinds: tuple[type, ...], rule: str
) -> tuple[Any, Any]:
    """Send an outcome to a protocol's generator; return (next step, None), or (None, answer) at the end.

    Args:
        steps: the generator; started by sending None.
        outcome: what the last step received.
        kinds: the steps that are allowed.
        rule: the start of the error's sentence.

    Raises:
        ProtocolError: when it yields anything else.
    """
    try:
        step = steps.send(outcome)
    except StopIteration as stop:
        return None, stop.value
    if not isinstance(step, kinds):
        raise ProtocolError(f"{rule}, not {describe(step)}.")
    return step, None


def to_ldp(
    protocol: TwoPartyProtocol,
    ratio: Fraction,
    users: int,
    inputs: Mapping[str, Iterable[Any]] | None = None,
) -> MakeProtocol:
    """Return the sequentially interactive local protocol that plays a two-party one, one user per bit.

    Users hold ("Alice", x) or ("Bob", y), independently with probability 1/2 each. For each bit a fresh user
    is asked: the owner's kind answers by randomised response, the other kind with a fair coin.

    Args:
        protocol: the two-party protocol; it should stand the noise (see :mod:`geomdp.local.coding`).
        ratio: e^epsilon or below, > 1 to transmit anything.
        users: number of users; too few raise CapacityError in the middle of a run.
        inputs: {"Alice": possible x, "Bob": possible y}, at least one of each. A user who holds anything else
            plays as :func:`~geomdp.local.rejection.settle_party` says. Without a declaration the protocol's
            functions must answer whatever users hold: one that fails stops the run, which tells about it.

    Raises:
        ArgumentError: unless ``users`` is an integer >= 0 and ``inputs``, if given, maps both parties to
            their possible inputs.

    Proof note. Privacy: each user answers one SentBit of crossover 1/(1 + ratio), so its transcript is
    log(ratio)-DP (the interaction is refused otherwise); a declaration only changes which input it answers.
    Law: a fresh user has the owner's role with probability 1/2, independently of all before, so a sent bit
    arrives flipped with probability (1/2) 1/(1+ratio) + (1/2)(1/2) = 1/2 - (ratio-1)/(4 (ratio+1)).
    Conclusion: over random roles, the
    transcript has exactly the law of the protocol over BSC.of_users(ratio) (Lemma 3.1).
    """
    crossover = BSC.of_response(ratio).crossover
    check_integer("users", users, 0)
    domains = None if inputs is None else party_domains(inputs)

    def steps() -> Steps:
        pool = Pool(users)

        def ask(bit: Bit) -> Generator[Ask, Any, int]:
            kernel = settled(SentBit(bit.owner, bit.send, crossover), domains)
            return int((yield pool.take(1).ask(kernel))[0])

        return (yield from played(called(protocol.steps), ask, step_of))

    return steps


def from_ldp(
    protocol: MakeProtocol,
    ratio: Fraction,
    inputs: Mapping[str, Iterable[Any]],
    attempts: int | None = None,
) -> TwoPartyProtocol:
    """Return the two-party protocol over BSC.of_response(ratio) that plays a local protocol.

    A public coin gives each user the role Alice or Bob when it is first asked; the owner of that role holds
    the user's input. Each answer is then drawn by :class:`Rejection`: (1 + 1/ratio) sum_y M(y) <= 1 + ratio
    channel uses on average. A kernel that ignores its input costs nothing: its answer is public dice.

    Args:
        protocol: a local protocol whose users hold ("Alice", x) or ("Bob", y); its kernels must have a worst
            ratio of at most `ratio` over each role's inputs.
        ratio: >= 1.
        inputs: {"Alice": possible x, "Bob": possible y}, at least one of each. A party that holds anything
            else plays as if it held the first one listed for it: an error would tell the other party about
            the input, and an acceptance computed from it would follow no stated law.
        attempts: largest number of attempts per answer; the protocol returns None when they run out, which
            keeps a tree of transcripts finite. None (the default) tries on.

    Raises:
        ArgumentError: unless ``inputs`` maps both parties to their possible inputs.

    Proof note. By the proof note of Rejection, an accepted answer has the law of the kernel at the user's
    settled input, independently of everything before. Conclusion: given the roles, the answers of the played
    protocol have exactly the law of the local protocol with users who hold the settled inputs, which are
    their own if these are declared (Lemma 3.2, with the least number of uses).
    """
    limit = check_ratio(ratio)
    domains = party_domains(inputs)
    if attempts is not None:
        check_integer("attempts", attempts, 1)

    def steps() -> TwoPartySteps:
        roles: dict[int, str] = {}
        inner = called(protocol)
        ask, answer = yield from to_ask(inner, None)
        while ask is not None:
            outputs = []
            for user, kernel in ask.queries:
                if user not in roles:
                    roles[user] = PARTIES[(yield Coin(2))]
                law = Rejection(kernel, domains[roles[user]], limit)
                output = yield from _attempts(law, roles[user], attempts)
                if output is _FAILED:
                    return None
                outputs.append(output)
            ask, answer = yield from to_ask(inner, tuple(outputs))
        return answer

    return TwoPartyProtocol(steps)


_FAILED = object()


def _attempts(law: Rejection, role: str, attempts: int | None) -> Generator[Bit | Coin, Any, Any]:
    """Draw one answer through the channel."""
    if law.ignores:
        return law.kernel.outputs[(yield law.proposal())]
    tried = 0
    while attempts is None or tried < attempts:
        tried += 1
        output = law.kernel.outputs[(yield law.proposal())]
        if (yield Bit(role, _sender(law, role, output))):
            return output
    return _FAILED


def _sender(law: Rejection, role: str, output: Any) -> Callable[[Any], Fraction]:
    return lambda value: law.sent((role, value), output)
