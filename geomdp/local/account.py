"""Privacy accountants of one run: what the questions could have cost, and what the answers did cost.

Three of them, from coarse to fine. :class:`Composition` multiplies the kernels' worst ratios, whatever was
answered. :class:`Realised` holds the likelihood of a user's own answers under every input of a declared
domain. :class:`OneYes` is the short cut for protocols in which an input says yes to one question at most: two
numbers per user instead of a likelihood per input. All are exact. They follow a run (pass them to
:func:`geomdp.local.protocol.run`); a bound on every possible run is what :mod:`geomdp.local.verify` proves.

A realised loss is a function of the public transcript, so that it may be shown to anybody; but it must not
decide whether the protocol goes on, unless that rule is part of the protocol that was verified.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from geomdp.core.errors import BudgetError, CertificateError, ProtocolError, check_epsilon
from geomdp.local.domains import check_domain
from geomdp.local.finite import Kernel, log_up
from geomdp.local.kernels import YesNo
from geomdp.privacy.enclosure import Interval


class _Accountant(ABC):
    """What the accountants share: a ratio per user, and the worst of them."""

    @abstractmethod
    def ratio(self, user: int) -> Fraction | float:
        """Return the factor by which the user's input may have changed the transcript's probability."""

    @abstractmethod
    def users(self) -> Iterable[int]:
        """Return the users that have been asked."""

    def loss(self, user: int) -> float:
        """Return log(ratio(user)), rounded up."""
        return log_up(self.ratio(user))

    def worst(self) -> Fraction | float:
        """Return the largest ratio of a user, 1 if nobody was asked."""
        return max((self.ratio(user) for user in self.users()), default=Fraction(1))


def _set_back(accounts: dict[int, Any], kept: Mapping[int, Any]) -> None:
    """Give the listed users their earlier accounts; None stands for none."""
    for user, account in kept.items():
        if account is None:
            accounts.pop(user, None)
        else:
            accounts[user] = account


class Composition(_Accountant):
    """Basic composition: the product of the worst ratios of all kernels that a user answered.

    Args:
        domain: every input that a user may hold; each kernel's ratio is computed over it.
        epsilon: a user's budget, or None; a question that would exceed it is refused before it is sampled.

    Raises:
        ArgumentError: unless ``epsilon`` is None or a number with 10^-6 <= epsilon <= 100.

    Proof note. Precondition: users hold inputs of the domain. Given the transcript so far, one answer changes
    its probability by at most the kernel's worst ratio when the input is replaced; the factors multiply.
    Conclusion: the user's whole transcript is log(ratio)-DP for every sequence of answers.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> accountant = Composition([0, 1], epsilon=2)
        >>> for _ in range(2):
        ...     accountant.before(0, RandomisedResponse(Fraction(2)))
        >>> accountant.ratio(0)
        Fraction(4, 1)
        >>> try:
        ...     accountant.before(0, RandomisedResponse(Fraction(2)))
        ... except BudgetError:
        ...     accountant.ratio(0)
        Fraction(4, 1)
    """

    def __init__(self, domain: Iterable[Any], epsilon: Fraction | int | float | str | None = None) -> None:
        self._domain = check_domain(domain)
        self._limit: Fraction | None = None
        if epsilon is not None:
            self._limit = 1 / Interval.exp_neg(check_epsilon(epsilon), 512).hi
        self._ratios: dict[int, Fraction | float] = {}
        self._known: dict[int, tuple[Kernel, Fraction | float]] = {}

    def users(self) -> Iterable[int]:
        """Return the users that have been asked."""
        return self._ratios

    def ratio(self, user: int) -> Fraction | float:
        """Return the product of the kernels' ratios; math.inf once a kernel excludes an input."""
        return self._ratios.get(user, Fraction(1))

    @property
    def domain(self) -> tuple[Any, ...]:
        """The inputs that the account speaks about; a run refuses others."""
        return self._domain

    def mark(self, users: Iterable[int]) -> Any:
        """Return the state of the users' accounts; a round starts."""
        self._known.clear()
        return {user: self._ratios.get(user) for user in users}

    def restore(self, mark: Any) -> None:
        """Set the users' accounts back to a mark."""
        _set_back(self._ratios, mark)

    def before(self, user: int, kernel: Kernel) -> None:
        """Charge a question.

        Raises:
            BudgetError: when it would exceed the budget; nothing is charged.
        """
        total = self.ratio(user) * self._worst_ratio(kernel)
        if self._limit is not None and total > self._limit:
            raise BudgetError("A question exceeds what is left of a user's budget. Nothing was sampled.")
        self._ratios[user] = total

    def after(self, user: int, kernel: Kernel, output: Any) -> None:
        """Forget the kernels' ratios: a kernel may be changed after its round. The answer does not matter."""
        self._known.clear()

    def _worst_ratio(self, kernel: Kernel) -> Fraction | float:
        """Return the kernel's ratio, computed once for each kernel object of a round."""
        if id(kernel) not in self._known or self._known[id(kernel)][0] is not kernel:
            if len(self._known) > 1024:
                self._known.clear()
            self._known[id(kernel)] = kernel, kernel.worst_ratio(self._domain)
        return self._known[id(kernel)][1]


class Realised(_Accountant):
    """The loss that the answers did cause: the ratio of the likelihoods of a user's answers.

    Args:
        domain: every input that a user may hold.

    Proof note. The probability of the transcript is a product over users. Other users' factors and public
    coins do not depend on this user's input and cancel, so the ratio of two inputs' likelihoods of the
    user's own answers is the exact change of the transcript's probability. It never exceeds the worst case
    over all transcripts, and that never exceeds the composition of the kernels.

    Example:
        >>> from geomdp.local.kernels import RandomisedResponse
        >>> accountant = Realised([0, 1])
        >>> for bit in (1, 0):
        ...     accountant.after(0, RandomisedResponse(Fraction(2)), bit)
        >>> accountant.ratio(0)  # two answers that contradict each other cost nothing
        Fraction(1, 1)
    """

    def __init__(self, domain: Iterable[Any]) -> None:
        self._domain = check_domain(domain)
        self._likelihoods: dict[int, list[tuple[int, int]]] = {}

    def users(self) -> Iterable[int]:
        """Return the users that have answered."""
        return self._likelihoods

    @property
    def domain(self) -> tuple[Any, ...]:
        """The inputs that the account speaks about; a run refuses others."""
        return self._domain

    def mark(self, users: Iterable[int]) -> Any:
        """Return nothing: questions change nothing here."""

    def restore(self, mark: Any) -> None:
        """Do nothing."""

    def before(self, user: int, kernel: Kernel) -> None:
        """Do nothing: only answers matter."""

    def after(self, user: int, kernel: Kernel, output: Any) -> None:
        """Multiply each input's likelihood by the probability of the answer; common factors are left out.

        Raises:
            ProtocolError: when the answer is none of the kernel's outputs; nothing was entered then.
        """
        places = [i for i, label in enumerate(kernel.outputs) if label == output]
        if not places:
            raise ProtocolError("An answer must be one of the kernel's outputs; nothing was entered.")
        rows = [kernel.probabilities(x) for x in self._domain]
        chances = [sum((row[i] for i in places), Fraction(0)) for row in rows]
        row = self._likelihoods.setdefault(user, [(1, 1)] * len(self._domain))
        if any(chance != chances[0] for chance in chances):
            for i, chance in enumerate(chances):
                a, b = row[i]
                row[i] = a * chance.numerator, b * chance.denominator

    def ratio(self, user: int) -> Fraction | float:
        """Return the largest ratio of two inputs' likelihoods; math.inf if some input is excluded."""
        row = [Fraction(a, b) for a, b in self._likelihoods.get(user, [(1, 1)])]
        return max(row) / min(row) if min(row) else math.inf


@dataclass
class _Answers:
    """One user's state: the best and worst deviation so far, the certificate, and the current question."""

    high: Fraction | float = Fraction(0)
    low: Fraction | float = math.inf
    bound_high: Fraction | float = Fraction(1)
    bound_low: Fraction | float = Fraction(1)
    level: int | None = None
    place: Hashable = None
    values: set[Hashable] = field(default_factory=set)


class OneYes(_Accountant):
    """The realised loss when an input says yes to one question at most: two numbers per user.

    Only :class:`~geomdp.local.kernels.YesNo` kernels made by `at` are accepted, all with the two readers of
    the first question (the same objects), and their scopes must make the yes sets disjoint: levels never
    decrease, one level asks at one place only, and no value is asked twice.

    Proof note. Precondition: the two readers are functions, so that an input has one level, and one label at
    each place. A question's predicate is "level read = scope.level and label read at scope.place =
    scope.value", with the same readers throughout. Levels, places and values are names
    (:mod:`geomdp.local.scopes`), which cannot change after they were compared, and what is read is compared
    as a name, so that it equals one value at most. Questions of two levels, or of two values at one place,
    cannot both be true. So two accepted questions have no yes input in common, and an input's likelihood
    of the user's answers is that of "no" throughout,
    times one factor P(answer | yes)/P(answer | no) at most. Hence two inputs differ by at most
    max(1, factors)/min(1, factors), whatever the number of questions. Each factor lies between
    (1-p)/(1-q) and p/q (for p >= q), which bounds all transcripts: the certificate.

    Example:
        >>> from geomdp.local.kernels import Scope
        >>> kernel, accountant = YesNo.symmetric(Fraction(2)), OneYes()
        >>> for level in range(1000):
        ...     question = kernel.at(Scope(level, "root", 0))
        ...     accountant.before(0, question)
        ...     accountant.after(0, question, level % 2)
        >>> (accountant.ratio(0), accountant.certificate(0))  # composition would state 2^1000
        (Fraction(4, 1), Fraction(4, 1))
    """

    def __init__(self) -> None:
        self._answers: dict[int, _Answers] = {}
        self._readers: tuple[object, object] | None = None

    def users(self) -> Iterable[int]:
        """Return the users that have been asked."""
        return self._answers

    def mark(self, users: Iterable[int]) -> Any:
        """Return the state of the users' accounts."""
        kept = {u: self._answers.get(u) for u in users}
        return self._readers, {
            u: state and replace(state, values=set(state.values)) for u, state in kept.items()
        }

    def restore(self, mark: Any) -> None:
        """Set the users' accounts back to a mark."""
        self._readers, kept = mark
        _set_back(self._answers, kept)

    def before(self, user: int, kernel: Kernel) -> None:
        """Check that no input can say yes to this question and to an earlier one.

        Raises:
            CertificateError: when that cannot be seen from the scopes; nothing is sampled or charged.
        """
        scope = kernel.scope if type(kernel) is YesNo else None
        if type(kernel) is not YesNo or scope is None or kernel.readers is None:
            raise CertificateError("One-yes accounting: every question must be YesNo(...).at(Scope(...)).")
        level, label = known = self._readers or kernel.readers
        if kernel.readers[0] is not level or kernel.readers[1] is not label:
            raise CertificateError(
                "One-yes accounting: all questions of a run must read level and label with the same two "
                "functions; another reader may let one input say yes twice."
            )
        state = self._answers.get(user) or _Answers()
        if state.level is None or scope.level > state.level:
            state.level, state.place, state.values = scope.level, scope.place, set()
        elif scope.level < state.level or scope.place != state.place or scope.value in state.values:
            raise CertificateError(
                "One-yes accounting: a question may share a yes input with an earlier one. Ask levels in "
                "order, one place per level, and no value twice."
            )
        self._answers[user], self._readers = state, known
        state.values.add(scope.value)
        factors = [_factor(kernel, output) for output in kernel.outputs]
        state.bound_high = max(state.bound_high, *factors)
        state.bound_low = min(state.bound_low, *factors)

    def after(self, user: int, kernel: Kernel, output: Any) -> None:
        """Update the largest and the smallest deviation.

        Raises:
            CertificateError: unless every question is a YesNo(...) restricted by at(Scope(...)).
        """
        if not isinstance(kernel, YesNo) or user not in self._answers:
            raise CertificateError("One-yes accounting: every question must be YesNo(...).at(Scope(...)).")
        state, factor = self._answers[user], _factor(kernel, output)
        state.high, state.low = max(state.high, factor), min(state.low, factor)

    def ratio(self, user: int, complete: bool = False) -> Fraction | float:
        """Return the largest ratio of two inputs' likelihoods of the user's answers.

        Args:
            user: the user.
            complete: True if every input has said yes to exactly one question, as at the end of a protocol
                that asks for all labels of every level; inputs that never said yes are then left out.
        """
        state = self._answers.get(user, _Answers())
        if state.low == math.inf and state.high == 0:
            return Fraction(1)
        high = state.high if complete else max(state.high, Fraction(1))
        low = state.low if complete else min(state.low, Fraction(1))
        return _over(high, low)

    def certificate(self, user: int) -> Fraction | float:
        """Return the bound on `ratio` over all answers to the questions asked so far."""
        state = self._answers.get(user, _Answers())
        return _over(state.bound_high, state.bound_low)


def _over(high: Fraction | float, low: Fraction | float) -> Fraction | float:
    if high == math.inf or low == 0:
        return math.inf
    return high / low


def _factor(kernel: YesNo, output: Any) -> Fraction | float:
    """Return P(output | yes) / P(output | no), 1 if the output is impossible."""
    yes, no = (kernel.p, kernel.q) if output == 1 else (1 - kernel.p, 1 - kernel.q)
    if no:
        return yes / no
    return math.inf if yes else Fraction(1)
