"""Interaction models as rules of a ledger: who may speak again, and in how many rounds.

A protocol is non-interactive if all users speak in one simultaneous round; sequentially interactive if each
user speaks once, and may be asked according to what others said before; fully interactive if users may speak
again and again (M. Joseph, J. Mao, A. Roth, Exponential Separations in Local Differential Privacy,
Section 2.2). Public coins are free in all three. The models are nested.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from geomdp.core.errors import ArgumentError, CapacityError, GeomdpError, check_integer
from geomdp.local.kernels import Kernel
from geomdp.local.protocol import Ask


class InteractionError(GeomdpError, RuntimeError):
    """A round breaks the rules of the interaction model; nothing of it was sampled."""


class Ledger(ABC):
    """The rules of one model during one run."""

    @abstractmethod
    def charge(self, ask: Ask) -> None:
        """Enter a round, in full or not at all.

        Raises:
            InteractionError: when the round breaks the rules; the ledger is then unchanged.
        """


class Model(ABC):
    """An interaction model; `a <= b` says that every protocol which a allows is allowed by b.

    Attributes:
        rounds: largest number of rounds, or None for no limit.

    Example:
        >>> NonInteractive() <= Sequential() <= FullyInteractive(), Sequential() <= Sequential(rounds=2)
        (True, False)
    """

    rounds: int | None
    _once: ClassVar[bool]

    @abstractmethod
    def ledger(self) -> Ledger:
        """Return a new ledger, for one run or one replay."""

    def __le__(self, other: Model) -> bool:
        mine = math.inf if self.rounds is None else self.rounds
        theirs = math.inf if other.rounds is None else other.rounds
        return mine <= theirs and (self._once or not other._once)

    def __lt__(self, other: Model) -> bool:
        """Return whether `other` allows all that this model does, and more."""
        return self <= other and not other <= self


@dataclass(frozen=True)
class NonInteractive(Model):
    """One simultaneous round; each user speaks at most once in it."""

    _once: ClassVar[bool] = True

    @property
    def rounds(self) -> int | None:  # type: ignore[override]
        """One."""
        return 1

    def ledger(self) -> Ledger:
        """Return a new ledger."""
        return _RoundLedger("non-interactive", 1, once=True)


@dataclass(frozen=True)
class _Adaptive(Model):
    """Rounds that may depend on what was said in earlier ones."""

    rounds: int | None = None
    _name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.rounds is not None:
            check_integer("rounds", self.rounds, 1)

    def ledger(self) -> Ledger:
        """Return a new ledger."""
        return _RoundLedger(self._name, self.rounds, once=self._once)


@dataclass(frozen=True)
class Sequential(_Adaptive):
    """Adaptive rounds; each user speaks at most once in the whole run.

    Args:
        rounds: largest number of rounds, >= 1, or None.
    """

    _once: ClassVar[bool] = True
    _name: ClassVar[str] = "sequentially interactive"


@dataclass(frozen=True)
class FullyInteractive(_Adaptive):
    """Adaptive rounds; users may speak any number of times, also several times in one round.

    Args:
        rounds: largest number of rounds, >= 1, or None.
    """

    _once: ClassVar[bool] = False
    _name: ClassVar[str] = "fully interactive"


class _RoundLedger(Ledger):
    def __init__(self, name: str, rounds: int | None, once: bool) -> None:
        self._name, self._limit, self._once = name, rounds, once
        self._rounds = 0
        self._spoken: set[int] = set()

    def charge(self, ask: Ask) -> None:
        """Enter a round, in full or not at all."""
        if self._limit is not None and self._rounds >= self._limit:
            raise InteractionError(
                f"A {self._name} protocol with at most {self._limit} round(s) may not start another one. "
                "Allow more rounds, or ask everything at once."
            )
        if self._once:
            users = {user for user, _ in ask.queries}
            if len(users) < len(ask.queries) or users & self._spoken:
                raise InteractionError(
                    f"A {self._name} protocol may ask each user once; a user was asked again. "
                    "Take a fresh user from the pool, or run it as FullyInteractive()."
                )
            self._spoken |= users
        self._rounds += 1


class Pool:
    """The users of a sequential protocol, handed out in disjoint cohorts; to be made anew in each run.

    Args:
        users: number of users, >= 0.

    Raises:
        ArgumentError: unless ``users`` is an integer >= 0.

    Example:
        >>> pool = Pool(5)
        >>> first, second = pool.take(2), pool.take(3)
        >>> list(first.users), list(second.users), pool.left
        ([0, 1], [2, 3, 4], 0)
    """

    def __init__(self, users: int) -> None:
        self._size = check_integer("users", users, 0)
        self._next = 0

    @property
    def left(self) -> int:
        """The number of users not yet taken."""
        return self._size - self._next

    def take(self, n: int) -> Cohort:
        """Return n fresh users.

        Raises:
            CapacityError: when fewer are left; nobody is taken.
            ArgumentError: unless ``n`` is an integer >= 0.
        """
        count = check_integer("n", n, 0)
        if count > self.left:
            raise CapacityError("n", f"at most the {self.left} users left in the pool", count, "Enlarge it.")
        self._next += count
        return Cohort(range(self._next - count, self._next))

    def __repr__(self) -> str:
        return f"Pool({self._size} users, {self.left} left)"


class Cohort:
    """Users that answer once: the first :meth:`ask` spends them.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> cohort = Pool(4).take(4)
        >>> question = cohort.ask(RandomisedResponse(Fraction(2)))
        >>> try:
        ...     cohort.ask(RandomisedResponse(Fraction(2)))
        ... except InteractionError:
        ...     print("spent")
        spent
    """

    def __init__(self, users: range) -> None:
        self._users, self._spent = users, False

    @property
    def users(self) -> range:
        """The users' numbers."""
        return self._users

    def ask(self, kernel: Kernel | Callable[[int], Kernel]) -> Ask:
        """Return the round in which each user of the cohort answers `kernel`, or kernel(user).

        Raises:
            InteractionError: when the cohort has been asked before.
            ArgumentError: when it is empty: an empty round would count as one.
        """
        if self._spent:
            raise InteractionError("A cohort answers once. Take a fresh one from the pool.")
        if not self._users:
            raise ArgumentError("n", "at least one user for a question", 0)
        self._spent = True
        return Ask.each(self._users, kernel)

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[int]:
        return iter(self._users)

    def __repr__(self) -> str:
        return f"Cohort({len(self)} users, {'spent' if self._spent else 'fresh'})"
