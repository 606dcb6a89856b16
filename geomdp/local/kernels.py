"""Finite local randomisers with exact laws: a user's answer depends on its own input and on fair dice only.

A kernel maps each input to a law on finitely many outputs. The law is held as integer weights, so that it is
sampled without rounding and its privacy loss is computed, never declared. Where a textbook kernel needs
e^epsilon, it takes a rational `ratio` instead: :func:`~geomdp.local.finite.odds` rounds e^epsilon down, which
can only lower the loss. A test may take ratio = 2 and have every probability as a short Fraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_fraction, check_integer, describe
from geomdp.local.finite import (
    BitKernel,
    Kernel,
    check_probability,
    check_ratio,
    log_up,
    odds,
    ratio_of,
    role_and_value,
)
from geomdp.local.scopes import Scope, frozen_name

__all__ = [
    "GeneralisedRR",
    "HadamardBit",
    "Kernel",
    "RandomisedResponse",
    "RoleRR",
    "Scope",
    "Table",
    "YesNo",
    "log_up",
    "odds",
    "ratio_of",
]

#: A public function of one user's input: what the kernel is asked to answer about.
Statistic = Callable[[Any], Any]


def _read(statistic: Statistic | None, x: Any, size: int, optional: bool, kind: str) -> int | None:
    """Return the statistic of an input, one of 0..size-1 (or None), without a word about the input."""
    value: Any = x
    if statistic is not None:
        try:
            value = statistic(x)
        except Exception:  # the cause may hold the input
            value = ...
    if value is None and optional:
        return None
    if isinstance(value, (int, np.integer, np.bool_)):
        index = int(value)
        if 0 <= index < size:
            return index
    raise ArgumentError(
        "statistic", f"a function that maps every input to {kind}", "one that fails to for some input"
    )


@dataclass(frozen=True)
class RandomisedResponse(BitKernel):
    """Publish a bit of the input, kept with probability ratio/(1 + ratio) and flipped otherwise.

    Args:
        ratio: odds of the true bit, >= 1; `odds(epsilon)` for a loss of epsilon.
        statistic: input -> 0, 1 or None; None asks for a fair coin (the question does not concern the
            user). Left out, the input itself is the bit.

    Proof note. An output has probability ratio/(1 + ratio), 1/2 or 1/(1 + ratio). The largest quotient is
    ratio (between two bits); a fair coin against a bit costs less. Conclusion: log(ratio)-DP.

    Raises:
        ArgumentError: when ratio < 1.

    Example:
        >>> kernel = RandomisedResponse(Fraction(3))
        >>> (kernel.law(1), kernel.worst_ratio([0, 1, None]))
        ({0: Fraction(1, 4), 1: Fraction(3, 4)}, Fraction(3, 1))
    """

    ratio: Fraction
    statistic: Statistic | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return (numerator, denominator) of the odds, the true bit first or second; (1, 1) for None."""
        return _coin_weights(self.ratio, self.statistic, x)


def _coin_weights(ratio: Fraction, statistic: Statistic | None, x: Any) -> tuple[int, int]:
    bit = _read(statistic, x, 2, True, "0, 1 or None")
    if bit is None:
        return (1, 1)
    return (ratio.denominator, ratio.numerator) if bit else (ratio.numerator, ratio.denominator)


@dataclass(frozen=True)
class RoleRR(BitKernel):
    """Ask a bit of the users of one role; a user of the other role answers with a fair coin.

    Inputs are pairs (role, value). A user who kept silent because it has the other role would publish its
    role; a coin hides it.

    Args:
        role: whose bit it is, e.g. "Alice".
        ratio: odds of the true bit, >= 1.
        statistic: value -> 0, 1 or None (a fair coin).

    Raises:
        ArgumentError: unless ``role`` is a text and ``ratio`` a number >= 1.

    Proof note. As for :class:`RandomisedResponse`: the laws are the two biased coins and the fair one.

    Example:
        >>> kernel = RoleRR("Alice", Fraction(2), lambda value: value > 3)
        >>> kernel.law(("Bob", 7))[1], kernel.worst_ratio([("Alice", 1), ("Alice", 5), ("Bob", 5)])
        (Fraction(1, 2), Fraction(2, 1))
    """

    role: str
    ratio: Fraction
    statistic: Statistic | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.role, str):
            raise ArgumentError("role", "a text such as 'Alice'", describe(self.role))
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the weights of 0 and 1; equal for a user of another role, also one that is no text.

        Raises:
            ArgumentError: unless ``x`` is a pair (role, value).
        """
        role, value = role_and_value(x)
        if role != self.role:
            return (1, 1)
        return _coin_weights(self.ratio, self.statistic, value)


@dataclass(frozen=True)
class GeneralisedRR(Kernel):
    """Publish one of `size` categories: the true one with odds `ratio` against each other one.

    Args:
        size: number of categories, >= 1; outputs are 0..size-1.
        ratio: P(true) / P(any other given one), >= 1.
        statistic: input -> 0..size-1, or None for a uniform answer.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 1.

    Proof note. The probabilities are ratio/(ratio + size - 1), 1/size and 1/(ratio + size - 1); the largest
    quotient is ratio. Conclusion: log(ratio)-DP.

    Example:
        >>> kernel = GeneralisedRR(4, Fraction(3))
        >>> (kernel.law(2)[2], kernel.worst_ratio(range(4)))
        (Fraction(1, 2), Fraction(3, 1))
    """

    size: int
    ratio: Fraction
    statistic: Statistic | None = None

    def __post_init__(self) -> None:
        check_integer("size", self.size, 1)
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The categories 0..size-1."""
        return tuple(range(self.size))

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the numerator of the odds for the true category, the denominator for the others."""
        category = _read(self.statistic, x, self.size, True, f"one of 0..{self.size - 1} or None")
        if category is None:
            return (1,) * self.size
        row = [self.ratio.denominator] * self.size
        row[category] = self.ratio.numerator
        return tuple(row)


@dataclass(frozen=True)
class YesNo(BitKernel):
    """Answer a yes/no question: publish 1 with probability p if the true answer is yes, else q.

    Args:
        p: P(1 | yes), in [0, 1].
        q: P(1 | no), in [0, 1].
        predicate: input -> True or False (1 or 0).

    Attributes:
        scope: public description of the yes set. Only :meth:`at` sets it, together with the predicate, so
            that the two agree; a kernel made or changed in another way has none.
        readers: the functions that `at` reads level and label with; None without a scope.

    Proof note. An output changes its probability by a factor of at most max(p/q, (1-q)/(1-p)) (p >= q) when
    the answer changes. Two inputs that say yes to at most one question each, along one transcript, differ in
    at most two answers, one from no to yes and one from yes to no: the total factor is at most
    p (1-q) / (q (1-p)), see :attr:`pair_ratio`, however many questions were asked.

    Example:
        >>> kernel = YesNo.symmetric(Fraction(2), lambda x: x == 5)
        >>> (kernel.p, kernel.q, kernel.worst_ratio(range(9)), kernel.pair_ratio)
        (Fraction(2, 3), Fraction(1, 3), Fraction(2, 1), Fraction(4, 1))
    """

    p: Fraction
    q: Fraction
    predicate: Statistic | None = None
    scope: Scope | None = field(default=None, init=False)
    readers: tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None = field(
        default=None, init=False, repr=False
    )
    _weights: tuple[tuple[int, int], tuple[int, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rates = check_probability("p", self.p), check_probability("q", self.q)
        object.__setattr__(self, "p", rates[0])
        object.__setattr__(self, "q", rates[1])
        rows = tuple((rate.denominator - rate.numerator, rate.numerator) for rate in rates)
        object.__setattr__(self, "_weights", rows)

    @classmethod
    def symmetric(cls, half: Fraction, predicate: Statistic | None = None) -> YesNo:
        """Return the kernel of a predicate with p = half/(1 + half) and q = 1 - p: pair ratio half^2.

        The usual half is odds(epsilon / 2).
        """
        ratio = check_ratio(half, "half")
        return cls(ratio / (1 + ratio), 1 / (1 + ratio), predicate)

    @classmethod
    def unary(cls, ratio: Fraction, predicate: Statistic | None = None) -> YesNo:
        """Return the kernel of a predicate with p = 1/2 and q = 1/(1 + ratio): pair ratio `ratio`.

        Of all kernels of this ratio it has the fewest false ones.
        """
        return cls(Fraction(1, 2), 1 / (1 + check_ratio(ratio)), predicate)

    def ask(self, predicate: Statistic) -> YesNo:
        """Return the kernel with the same p and q for another question, a predicate."""
        return YesNo(self.p, self.q, predicate)

    def at(
        self,
        scope: Scope,
        level: Callable[[Any], int] = lambda x: int(x.level),
        label: Callable[[Any, Any], Any] = lambda x, place: x.label(place),
    ) -> YesNo:
        """Return the kernel asking "is your level scope.level and your label at scope.place scope.value?".

        Args:
            scope: the question; a copy of immutable names is kept.
            level: how to read an input's level.
            label: how to read an input's label at a place; called only if the level agrees. What either
                reads is compared as a name, see :func:`~geomdp.local.scopes.frozen_name`; an input of which
                something else is read says no.

        Raises:
            ArgumentError: unless ``scope`` is a Scope, of names.
        """
        if not isinstance(scope, Scope):
            raise ArgumentError("scope", "a Scope(level, place, value)", describe(scope))
        kept = Scope(scope.level, scope.place, scope.value)

        def predicate(x: Any) -> bool:
            if frozen_name(level(x)) != kept.level:
                return False
            return frozen_name(label(x, kept.place)) == kept.value

        question = YesNo(self.p, self.q, predicate)
        object.__setattr__(question, "scope", kept)
        object.__setattr__(question, "readers", (level, label))
        return question

    @property
    def pair_ratio(self) -> Fraction | float:
        """The largest factor by which one yes moved from a question to another changes a transcript."""
        steps = [_quotient(self.p, self.q), _quotient(1 - self.p, 1 - self.q), Fraction(1)]
        low = min(steps)
        return max(steps) / low if low else math.inf

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the weights of 0 and 1 for an input x."""
        yes, no = self._weights
        return yes if _read(self.predicate, x, 2, False, "True or False") else no


def _quotient(p: Fraction, q: Fraction) -> Fraction | float:
    if q:
        return p / q
    return math.inf if p else Fraction(1)


@dataclass(frozen=True)
class HadamardBit(Kernel):
    """Publish the sign that a public row of the Hadamard matrix gives to the true category.

    The sign is (-1)^(number of common binary ones of row and category). It is kept with odds `ratio`. A
    server that knows the rows finds the category by correlation; one bit is sent whatever their number.

    Args:
        row: row index >= 0, drawn in public.
        ratio: odds of the true sign, >= 1.
        statistic: input -> category >= 0, or None for a fair coin.

    Raises:
        ArgumentError: unless ``row`` is an integer >= 0.

    Proof note. As for :class:`RandomisedResponse`: two biased coins and a fair one, hence log(ratio)-DP.

    Example:
        >>> kernel = HadamardBit(3, Fraction(3))
        >>> (kernel.law(1), kernel.law(3)[1], kernel.law(None)[1])
        ({-1: Fraction(3, 4), 1: Fraction(1, 4)}, Fraction(3, 4), Fraction(1, 2))
    """

    row: int
    ratio: Fraction
    statistic: Statistic | None = None

    def __post_init__(self) -> None:
        check_integer("row", self.row, 0)
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The signs -1 and +1."""
        return (-1, 1)

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the weights of -1 and +1."""
        value = _read(self.statistic, x, 2**63, True, "a category >= 0 or None")
        if value is None:
            return (1, 1)
        keep, flip = self.ratio.numerator, self.ratio.denominator
        return (flip, keep) if (self.row & value).bit_count() % 2 == 0 else (keep, flip)


@dataclass(frozen=True, eq=False)
class Table(Kernel):
    """A kernel given by its table.

    Args:
        labels: the outputs, distinct.
        rows: input -> weights (ints or Fractions >= 0, one per output, not all 0); normalised here.

    Raises:
        ArgumentError: when a row has another length, a negative entry or sum 0.

    Example:
        >>> kernel = Table(("low", "high"), {0: (3, 1), 1: (1, 1)})
        >>> (kernel.law(0)["low"], kernel.worst_ratio([0, 1]))
        (Fraction(3, 4), Fraction(2, 1))
    """

    labels: tuple[Any, ...]
    rows: Mapping[Any, Sequence[Fraction | int]]
    _table: dict[Any, tuple[int, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            distinct = len(set(self.labels)) == len(self.labels) > 0
        except TypeError:  # no sequence, or labels without a hash
            distinct = False
        if not distinct:
            raise ArgumentError("labels", "distinct outputs, at least one", "others")
        if not isinstance(self.rows, Mapping):
            raise ArgumentError("rows", "a mapping of inputs to rows", describe(self.rows))
        table = {}
        for x, row in self.rows.items():
            listed = isinstance(row, Iterable) and not isinstance(row, (str, bytes))
            values = [check_fraction("rows", value) for value in row] if listed else []
            if len(values) != len(self.labels) or min(values, default=-1) < 0 or not any(values):
                raise ArgumentError(
                    "rows", f"rows of {len(self.labels)} weights >= 0, not all 0", "one with another row"
                )
            scale = math.lcm(*(value.denominator for value in values))
            table[x] = tuple(int(value * scale) for value in values)
        object.__setattr__(self, "_table", table)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The labels."""
        return self.labels

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the input's row as integers.

        Raises:
            ArgumentError: when the table does not list the input ``x``.
        """
        try:
            return self._table[x]
        except (KeyError, TypeError):
            pass
        raise ArgumentError("x", "an input that the table lists", "another one")
