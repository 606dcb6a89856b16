"""Local protocols: what is asked of whom next, as a function of the public transcript alone.

A protocol is a function without arguments that returns a generator. The generator yields :class:`Ask`
(users answer through kernels, all at once) or :class:`Coin` (public dice), receives what came out, and
returns its conclusion. It is never handed an input, so that all its adaptivity goes through the transcript,
which is what the privacy of a local protocol speaks about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, GeneratorType, MethodType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from geomdp.core.errors import ArgumentError, ProtocolError, check_integer, describe
from geomdp.local.finite import Dice, Kernel, draw
from geomdp.privacy.exact import uniform
from geomdp.privacy.sampler import SecureSampler

if TYPE_CHECKING:
    from geomdp.local.models import Model


class DataAccessError(ProtocolError):
    """A protocol reached for the users' inputs; only kernels may see them, one user at a time."""


@dataclass(frozen=True)
class Ask:
    """One round: each listed user answers through its kernel, without seeing the others' answers.

    Attributes:
        queries: pairs (user, kernel); users are numbered from 0.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> len(Ask.each(range(5), RandomisedResponse(Fraction(3))).queries)
        5
    """

    queries: tuple[tuple[int, Kernel], ...]

    @classmethod
    def each(cls, users: Iterable[int], kernel: Kernel | Callable[[int], Kernel]) -> Ask:
        """Return the round in which every user gets the same kernel, or kernel(user)."""
        if isinstance(kernel, Kernel):
            return cls(tuple((user, kernel) for user in users))
        return cls(tuple((user, kernel(user)) for user in users))


@dataclass(frozen=True)
class Coin:
    """Public dice: an integer in 0..sides-1, uniform or with the given integer weights.

    Attributes:
        sides: number of faces, >= 1.
        weights: integers >= 0, one per face, not all 0; None for a fair die.

    Raises:
        ArgumentError: on no face, or on weights that do not fit.

    Example:
        >>> Coin(2).chances(), Coin(2, (3, 1)).chances()
        ((1, 1), (3, 1))
    """

    sides: int
    weights: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_integer("sides", self.sides, 1)
        row = self.weights
        if row is not None and (len(row) != self.sides or min(row) < 0 or not any(row)):
            raise ArgumentError("weights", f"{self.sides} integers >= 0, not all 0", f"{len(row)} others")

    def chances(self) -> tuple[int, ...]:
        """Return one integer weight per face."""
        return (1,) * self.sides if self.weights is None else self.weights

    def toss(self, dice: Dice) -> int:
        """Return a face, drawn exactly."""
        return dice.uniform(self.sides) if self.weights is None else draw(self.weights, dice)


Step = Ask | Coin
#: Yields steps, receives a tuple of outputs (Ask) or a face (Coin), returns the answer.
Steps = Generator[Step, Any, Any]
#: A protocol: called anew for each run and for each replay.
MakeProtocol = Callable[[], Steps]


class Inputs:
    """The users' inputs, sealed: their number is public, and only :func:`run` hands one to a kernel.

    Args:
        values: one input per user.

    Example:
        >>> sealed = Inputs([0, 1, 1])
        >>> len(sealed), sealed
        (3, Inputs(3 users))
        >>> try:
        ...     sealed[0]
        ... except DataAccessError as error:
        ...     print(str(error)[:50])
        A protocol may not read the users' inputs: ask a k
    """

    __slots__ = ("__values",)

    def __init__(self, values: Iterable[Any]) -> None:
        self.__values = tuple(values)

    def __len__(self) -> int:
        return len(self.__values)

    def __getitem__(self, index: object) -> Any:
        raise DataAccessError(_NO_READING)

    def __iter__(self) -> Any:
        raise DataAccessError(_NO_READING)

    def __repr__(self) -> str:
        return f"Inputs({len(self)} users)"

    def _answer(self, user: int, kernel: Kernel, dice: Dice) -> Any:
        return kernel.sample(self.__values[user], dice)


_NO_READING = (
    "A protocol may not read the users' inputs: ask a kernel of each user instead, "
    "and decide from the answers and from public coins."
)


class Accountant(Protocol):
    """What :func:`run` tells an accountant; see :mod:`geomdp.local.account`."""

    def before(self, user: int, kernel: Kernel) -> None:
        """Take note of a question; may refuse it, and then nothing is sampled."""
        ...

    def after(self, user: int, kernel: Kernel, output: Any) -> None:
        """Take note of an answer."""
        ...


@dataclass(frozen=True)
class Run:
    """The outcome of one run.

    Attributes:
        answer: what the protocol returned.
        events: the public transcript: (step, what came out), in order.
        rounds: number of rounds (Ask steps).
        messages: number of answers given by users.
        simulated: True if the run was seeded; such a run protects nobody.
    """

    answer: Any
    events: tuple[tuple[Step, Any], ...]
    rounds: int
    messages: int
    simulated: bool


def run(
    protocol: MakeProtocol,
    data: Sequence[Any] | Inputs,
    model: Model,
    rng: int | np.random.SeedSequence | np.random.Generator | None = None,
    accountants: Sequence[Accountant] = (),
) -> Run:
    """Run a protocol on the users' inputs, under the rules of an interaction model.

    Args:
        protocol: function without arguments returning the generator of steps.
        data: one input per user.
        model: NonInteractive(), Sequential() or FullyInteractive() of :mod:`geomdp.local.models`.
        rng: None draws from the operating system's entropy; a seed or Generator makes a simulation, which
            is marked so. Users and public coins have generators of their own.
        accountants: told of every question before it is put and of every answer.

    Returns:
        A :class:`Run`.

    Raises:
        DataAccessError: when the protocol holds or reads the data.
        InteractionError: when a round breaks the model's rules; nothing of that round was sampled.
        ProtocolError: when the protocol yields anything else, or asks an unknown user.

    Proof note. Precondition: the generator depends on received outputs only. Kernels see one input each,
    with private randomness that no other draw shares; so, given the transcript so far, the answers of a round
    are independent with the kernels' exact laws. The probability of a transcript is then a product over
    users of factors that depend on one input each. Conclusion: the privacy of user i is the ratio of its own
    factor, which :mod:`geomdp.local.verify` computes.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> from geomdp.local.models import NonInteractive
        >>> def count():
        ...     bits = yield Ask.each(range(3), RandomisedResponse(Fraction(10**6)))
        ...     return sum(bits)
        >>> result = run(count, [1, 1, 0], NonInteractive(), rng=0)
        >>> (result.answer, result.rounds, result.simulated)
        (2, 1, True)
    """
    check_blind(protocol, data)
    sealed = data if isinstance(data, Inputs) else Inputs(data)
    users, coins = _dice(rng)
    ledger = model.ledger()
    steps, step, answer = _start(protocol, data)
    events: list[tuple[Step, Any]] = []
    while step is not None:
        if isinstance(step, Coin):
            outcome: Any = step.toss(coins)
        else:
            check_users(step, len(sealed))
            ledger.charge(step)
            for user, kernel in step.queries:
                for accountant in accountants:
                    accountant.before(user, kernel)
            outcome = tuple(sealed._answer(user, kernel, users) for user, kernel in step.queries)
            for (user, kernel), output in zip(step.queries, outcome, strict=True):
                for accountant in accountants:
                    accountant.after(user, kernel, output)
        events.append((step, outcome))
        step, answer = advance(steps, outcome)
    asks = [s for s, _ in events if isinstance(s, Ask)]
    messages = sum(len(s.queries) for s in asks)
    return Run(answer, tuple(events), len(asks), messages, users.simulated)


def _dice(rng: int | np.random.SeedSequence | np.random.Generator | None) -> tuple[Dice, Dice]:
    """Return the users' dice and the public ones."""
    if rng is None:
        return SecureSampler(), SecureSampler()
    users, coins = np.random.default_rng(rng).spawn(2)
    return _SeededDice(users), _SeededDice(coins)


class _SeededDice:
    """Reproducible dice, from words of a generator fetched in blocks."""

    simulated = True

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._words: list[int] = []

    def bits(self, count: int) -> int:
        """Return `count` bits, from 32-bit words."""
        drawn = 0
        for _ in range(-(-count // 32)):
            if not self._words:
                self._words = self._rng.integers(0, 2**32, 1024, dtype=np.uint32).tolist()
            drawn = drawn << 32 | self._words.pop()
        return drawn >> -count % 32

    def uniform(self, bound: int) -> int:
        """Return an integer uniform on 0..bound-1."""
        return uniform(self, bound)


def check_users(ask: Ask, users: int) -> None:
    """Refuse a question to somebody who does not exist.

    Raises:
        ProtocolError: when a user's number is outside 0..users-1.
    """
    if any(not 0 <= user < users for user, _ in ask.queries):
        raise ProtocolError(f"A protocol must ask users 0..{users - 1}; it asked another one.")


def advance(steps: Steps, outcome: Any) -> tuple[Step | None, Any]:
    """Send an outcome (None to start) and return (next step, None), or (None, answer) at the end.

    Raises:
        ProtocolError: when the protocol yields anything but Ask or Coin.
    """
    try:
        step = steps.send(outcome)
    except StopIteration as stop:
        return None, stop.value
    if not isinstance(step, (Ask, Coin)):
        raise ProtocolError(f"A protocol must yield Ask or Coin, not {describe(step)}.")
    return step, None


def _start(protocol: MakeProtocol, data: object = None) -> tuple[Steps, Step | None, Any]:
    steps = protocol()
    if not isinstance(steps, GeneratorType):
        raise ArgumentError(
            "protocol", "a function that returns a generator", describe(steps), "Use `yield Ask(...)` in it."
        )
    if data is not None and steps.gi_frame is not None:
        _refuse([v for v in steps.gi_frame.f_locals.values() if v is data])
    step, answer = advance(steps, None)
    return steps, step, answer


def start(protocol: MakeProtocol) -> tuple[Steps, Step | None, Any]:
    """Start a replay: return (generator, first step, None), or (generator, None, answer) if there is none.

    Raises:
        ArgumentError: when the protocol is not a function returning a generator.
        ProtocolError: when it yields anything but Ask or Coin.
    """
    return _start(protocol)


def check_blind(protocol: object, data: object) -> None:
    """Refuse a protocol that holds the users' data, or that wants them as an argument.

    Looks at what the function can reach: its closure, defaults, bound object and its attributes, partial
    arguments and the globals that it names, through the functions among them. This catches mistakes, not
    malice.

    Raises:
        DataAccessError: when one of these is the data.
        ArgumentError: when it is not callable.
    """
    if not callable(protocol):
        raise ArgumentError("protocol", "a function without arguments", describe(protocol))
    code = getattr(protocol, "__code__", None)
    if isinstance(protocol, FunctionType) and isinstance(code, CodeType):
        required = code.co_argcount - len(protocol.__defaults__ or ())
        if required > 0:
            raise DataAccessError("A protocol must take no arguments: it never sees the users' inputs.")
    if isinstance(data, Inputs) or (isinstance(data, (Sequence, Mapping, np.ndarray)) and len(data)):
        _refuse([value for value in _reachable(protocol, 4) if value is data])


def _refuse(found: list[Any]) -> None:
    if found:
        raise DataAccessError(f"A protocol may not hold the users' data. {_NO_READING}")


def _reachable(value: Any, depth: int) -> Iterable[Any]:
    """Yield what a function holds: not a proof of blindness, but a net for honest mistakes."""
    yield value
    if depth == 0:
        return
    held: list[Any] = []
    if isinstance(value, functools.partial):
        held += [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, MethodType):
        held += [value.__func__, value.__self__, *getattr(value.__self__, "__dict__", {}).values()]
    elif isinstance(value, FunctionType):
        held += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        held += _contents(value)
        held += [value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__]
    elif callable(value) and not isinstance(value, type):
        held += [*getattr(value, "__dict__", {}).values()]
    for item in held:
        yield from _reachable(item, depth - 1)


def _contents(function: FunctionType) -> Iterable[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue


def _names(code: CodeType) -> set[str]:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*(_names(part) for part in inner))
