"""Local protocols: what is asked of whom next, as a function of the public transcript alone.

A protocol is a function without arguments that returns a generator. The generator yields :class:`Ask`
(users answer through kernels, all at once) or :class:`Coin` (public dice), receives what came out, and
returns its conclusion. It is never handed an input, so that all its adaptivity goes through the transcript,
which is what the privacy of a local protocol speaks about.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, GeneratorType
from typing import Any, Protocol

import numpy as np

from geomdp.core.errors import ArgumentError, CapacityError, ProtocolError, check_integer, describe
from geomdp.local.finite import Dice, Kernel, draw
from geomdp.local.reach import Snapshot, reachable
from geomdp.privacy.exact import uniform
from geomdp.privacy.sampler import SecureSampler


class DataAccessError(ProtocolError):
    """A protocol reached for the users' inputs; only kernels may see them, one user at a time."""


@dataclass(frozen=True)
class Ask:
    """One round: each listed user answers through its kernel, without seeing the others' answers.

    Attributes:
        queries: pairs (user, kernel), kept as a tuple; users are integers from 0 on.

    Raises:
        ArgumentError: when the queries are not pairs of an integer and a kernel.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> len(Ask.each(range(5), RandomisedResponse(Fraction(3))).queries)
        5
    """

    queries: tuple[tuple[int, Kernel], ...]

    def __post_init__(self) -> None:
        wanted, mend = "pairs (user, kernel), users integers >= 0", "See Ask.each."
        try:
            queries = tuple((operator.index(user), kernel) for user, kernel in self.queries)
        except (TypeError, ValueError):
            raise ArgumentError("queries", wanted, "something else", mend) from None
        if not all(isinstance(kernel, Kernel) for _, kernel in queries):
            raise ArgumentError("queries", wanted, "one without a kernel", mend)
        object.__setattr__(self, "queries", queries)

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
        if self.weights is None:
            return
        try:
            row = tuple(operator.index(weight) for weight in self.weights)
        except TypeError:
            row = ()
        if len(row) != self.sides or min(row) < 0 or not any(row):
            raise ArgumentError("weights", f"{self.sides} integers >= 0, not all 0", describe(self.weights))
        object.__setattr__(self, "weights", row)

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

    Raises:
        ArgumentError: unless ``values`` lists one input per user.

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

    __slots__ = ("__source", "__values")

    def __init__(self, values: Iterable[Any]) -> None:
        self.__source = values
        try:
            self.__values = tuple(values)
        except TypeError:
            raise ArgumentError("data", "one input per user", "no collection") from None

    def __len__(self) -> int:
        return len(self.__values)

    def __getitem__(self, index: object) -> Any:
        raise DataAccessError(_NO_READING)

    def __iter__(self) -> Any:
        raise DataAccessError(_NO_READING)

    def __repr__(self) -> str:
        return f"Inputs({len(self)} users)"

    def _holds(self, value: object) -> bool:
        """Return whether this is the collection itself, what it was made from, or what it keeps."""
        return value is self or value is self.__source or (value is self.__values and len(self) > 0)

    def _within(self, domain: Sequence[Any]) -> bool:
        """Return whether every input is one of a declared domain."""
        try:
            known = frozenset(domain)
            return all(x in known for x in self.__values)
        except Exception:  # inputs without a hash, or with an error of their own, which stays with them
            return all(any(same_input(x, z) for z in domain) for x in self.__values)

    def _answer(self, user: int, kernel: Kernel, dice: Dice) -> Any:
        return Kernel.sample(kernel, self.__values[user], dice)  # the law that was accounted for


def same_input(x: Any, z: Any) -> bool:
    """Return whether two inputs are equal: arrays by their entries, tuples place by place.

    Example:
        >>> same_input(("Alice", np.array([1, 2])), ("Alice", np.array([1, 2])))
        True
    """
    try:
        if x is z:
            return True
        if isinstance(x, tuple) and isinstance(z, tuple):
            return len(x) == len(z) and all(map(same_input, x, z))
        if isinstance(x, np.ndarray) or isinstance(z, np.ndarray):
            return bool(np.array_equal(x, z))
        return bool(x == z)
    except Exception:  # an input that cannot be compared; its own words stay with it
        return False


_NO_READING = (
    "A protocol may not read the users' inputs: ask a kernel of each user instead, "
    "and decide from the answers and from public coins."
)


class Entries(Protocol):
    """What :func:`run` needs of a ledger: a place to enter each round before it is sampled."""

    def charge(self, ask: Ask) -> None:
        """Enter a round, or refuse it; see :class:`geomdp.local.models.Ledger`."""
        ...


class Rules(Protocol):
    """What :func:`run` needs of an interaction model; see :mod:`geomdp.local.models`."""

    def ledger(self) -> Entries:
        """Return a new ledger, for one run."""
        ...


class Accountant(Protocol):
    """What :func:`run` tells an accountant; see :mod:`geomdp.local.account`.

    An accountant with an attribute `domain` speaks about these inputs only; a run with others is refused.
    """

    def mark(self, users: Iterable[int]) -> Any:
        """Return the state of some users' accounts."""
        ...

    def restore(self, mark: Any) -> None:
        """Set these accounts back: the round was refused by another accountant."""
        ...

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
    model: Rules,
    rng: int | np.random.SeedSequence | np.random.Generator | None = None,
    accountants: Sequence[Accountant] = (),
    *,
    limit: int = 10**7,
) -> Run:
    """Run a protocol on the users' inputs, under the rules of an interaction model.

    Args:
        protocol: function without arguments returning the generator of steps.
        data: one input per user.
        model: NonInteractive(), Sequential() or FullyInteractive() of :mod:`geomdp.local.models`.
        rng: None draws from the operating system's entropy; a seed or Generator makes a simulation, which
            is marked so. Users and public coins have generators of their own.
        accountants: told of every question before it is put and of every answer.
        limit: largest number of steps, rounds and coins; public, and the same for all inputs.

    Returns:
        A :class:`Run`.

    Raises:
        DataAccessError: when the protocol, or a statistic that it asks about, holds or reads the data, or
            when a statistic writes down what it saw.
        ArgumentError: unless ``model`` is an interaction model and ``accountants`` are accountants; also when
            an input lies outside the domain that an accountant speaks about. Only the caller, who holds the
            inputs, sees this: the protocol has not been started, and there is no transcript.
        InteractionError: when a round breaks the model's rules; nothing of that round was sampled.
        ProtocolError: when the protocol yields anything else, or asks an unknown user.
        CapacityError: when it takes more than `limit` steps.

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
    check_integer("limit", limit, 0)
    if isinstance(model, type) or not callable(getattr(model, "ledger", None)):
        raise ArgumentError("model", "an interaction model such as NonInteractive()", describe(model))
    accountants = _check_accountants(accountants)
    sealed = data if isinstance(data, Inputs) else Inputs(data)
    for accountant in accountants:
        if not sealed._within(getattr(accountant, "domain", ())) and hasattr(accountant, "domain"):
            raise ArgumentError("data", "inputs of the accountants' domain", "at least one outside it")
    users, coins = _dice(rng)
    ledger = model.ledger()
    steps, step, answer = _start(protocol, data)
    events: list[tuple[Step, Any]] = []
    while step is not None:
        if len(events) >= limit:
            raise CapacityError("limit", "at least the number of steps", limit, "Does the protocol end?")
        if isinstance(step, Coin):
            outcome: Any = step.toss(coins)
        else:
            check_users(step, len(sealed))
            before = _check_statistics(step, sealed)
            ledger.charge(step)
            _charge(step, accountants)
            outcome = tuple(sealed._answer(user, kernel, users) for user, kernel in step.queries)
            if before.changed():
                raise DataAccessError("A statistic may not write down what it sees: it must be a function.")
            for (user, kernel), output in zip(step.queries, outcome, strict=True):
                for accountant in accountants:
                    accountant.after(user, kernel, output)
        events.append((step, outcome))
        step, answer = advance(steps, outcome)
    asks = [s for s, _ in events if isinstance(s, Ask)]
    messages = sum(len(s.queries) for s in asks)
    return Run(answer, tuple(events), len(asks), messages, users.simulated)


def _check_accountants(accountants: object) -> tuple[Accountant, ...]:
    """Return the accountants as a tuple, objects with the methods that a run calls."""
    try:
        given: tuple[Any, ...] = tuple(accountants)  # type: ignore[arg-type]
    except TypeError:
        given = (None,)
    for accountant in given:
        methods = (getattr(accountant, name, None) for name in ("mark", "restore", "before", "after"))
        if isinstance(accountant, type) or not all(map(callable, methods)):
            raise ArgumentError("accountants", "a sequence of accountants such as OneYes()", "another one")
    return given


_CHECKED = 64  # kernels of a round whose statistics are looked at


def _check_statistics(ask: Ask, sealed: Inputs) -> Snapshot:
    """Refuse statistics that hold the inputs; return what they hold now.

    The first 64 distinct kernels of the round are looked at: those of a round come from the same code.
    """
    kernels: dict[int, Kernel] = {}
    for _, kernel in ask.queries:
        kernels.setdefault(id(kernel), kernel)
        if len(kernels) == _CHECKED:
            break
    found = list(reachable(tuple(kernels.values())))
    _refuse([value for value in found if sealed._holds(value)])
    return Snapshot(found)


def _charge(ask: Ask, accountants: Sequence[Accountant]) -> None:
    """Tell every accountant of every question of a round, or of none: a refusal undoes the others."""
    asked = {user for user, _ in ask.queries}
    marks = [accountant.mark(asked) for accountant in accountants]
    try:
        for user, kernel in ask.queries:
            for accountant in accountants:
                accountant.before(user, kernel)
    except BaseException:
        for accountant, mark in zip(accountants, marks, strict=True):
            accountant.restore(mark)
        raise


def _dice(rng: int | np.random.SeedSequence | np.random.Generator | None) -> tuple[Dice, Dice]:
    """Return the users' dice and the public ones."""
    if rng is None:
        return SecureSampler(), SecureSampler()
    try:
        if isinstance(rng, bool):
            raise TypeError
        users, coins = np.random.default_rng(rng).spawn(2)
    except (TypeError, ValueError):
        raise ArgumentError("rng", "None, a seed >= 0 or a numpy Generator", describe(rng)) from None
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
    if type(step) not in (Ask, Coin):  # a subclass might show other queries each time it is asked
        raise ProtocolError(f"A protocol must yield Ask or Coin, not {describe(step)}.")
    return step, None


def called(protocol: Callable[[], Any]) -> Any:
    """Return the generator of a protocol, not started.

    Raises:
        ArgumentError: when it is not a function that returns one.
    """
    steps = protocol() if callable(protocol) else protocol
    if not callable(protocol) or not isinstance(steps, GeneratorType):
        raise ArgumentError(
            "protocol", "a function that returns a generator", describe(steps), "Use `yield` in it."
        )
    return steps


def _start(protocol: MakeProtocol, data: object = None) -> tuple[Steps, Step | None, Any]:
    steps = called(protocol)
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

    Looks at what the function can reach (see :func:`geomdp.local.reach.reachable`): the data themselves, or
    what sealed inputs were made from. This catches mistakes, not malice. Not caught are copies of the data,
    single inputs, files, and data behind a generator or more than six steps away. What proves privacy is
    exact verification, whose inputs the protocol cannot know.

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
    if isinstance(data, Inputs):
        _refuse([value for value in reachable(protocol) if data._holds(value)])
    elif isinstance(data, (Sequence, Mapping, np.ndarray)) and len(data):
        _refuse([value for value in reachable(protocol) if value is data])


def _refuse(found: list[Any]) -> None:
    if found:
        raise DataAccessError(f"A protocol may not hold the users' data. {_NO_READING}")
