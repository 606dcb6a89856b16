"""Exact privacy audits on tiny domains: the worst probability ratio over all neighbours, with certificate.

A mechanism is described by its law, a mapping from each output to its exact probability: a Fraction, or an
Interval that encloses it. Two ways to have exact numbers:

- `r = Fraction(9, 10)` in place of exp(-1/scale): a mechanism knows its scale through r only, so an audit
  with a rational r is exact, and a claim "c/scale" reads "ratio <= r**-c".
- `r = Interval.exp_neg(1 / scale)`: the real scale, and bounds that differ by about 10^-30.

Noise with infinitely many values is clamped to a window, its two tails becoming two atoms. Clamping is
post-processing, so the true ratio is at least the one found; for discrete Laplace noise it is equal as soon
as every centre lies inside the window, since beyond it the ratio is constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, TypeVar

from geomdp.core.errors import ArgumentError, check_epsilon, check_integer, describe
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.selection import Number, pf_law

Record = TypeVar("Record")
#: The law of one release: output -> exact probability, or an enclosure of it.
Law = Mapping[Any, Fraction | Interval]
#: Messages so far, in order.
History = tuple[Any, ...]


@dataclass(frozen=True)
class Audit:
    """The worst ratio P(output | data) / P(output | neighbour) of a mechanism.

    Attributes:
        lower: the worst ratio is at least this (a Fraction, or math.inf).
        upper: the worst ratio is at most this (a Fraction, or math.inf).
        witness: (data, neighbour, output) at which `lower` was found, or None if there was no pair.
        pairs: number of neighbouring pairs examined.

    Example:
        >>> result = Audit(Fraction(2), Fraction(2), None, 1)
        >>> (result.holds("0.7"), result.violates("0.69"), result.violates("0.7"))
        (True, True, False)
    """

    lower: Fraction | float
    upper: Fraction | float
    witness: tuple[Any, Any, Any] | None
    pairs: int

    def holds(self, epsilon: Fraction | float | str) -> bool:
        """Return whether epsilon-DP is proved: the upper bound is at most exp(epsilon).

        A mechanism whose worst ratio is exp(epsilon) exactly is decided by no enclosure: audit it with a
        rational r, and compare `upper` with the power of r that the claim stands for.

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.
        """
        return self.upper <= 1 / Interval.exp_neg(check_epsilon(epsilon), 512).hi

    def violates(self, epsilon: Fraction | float | str) -> bool:
        """Return whether epsilon-DP is refuted: the lower bound exceeds exp(epsilon).

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.
        """
        return self.lower > 1 / Interval.exp_neg(check_epsilon(epsilon), 512).lo

    @property
    def log_lower(self) -> float:
        """The logarithm of the lower bound, rounded down."""
        return -math.inf if self.lower == 0 else _log(self.lower) - 1e-12

    @property
    def log_upper(self) -> float:
        """The logarithm of the upper bound, rounded up."""
        return -math.inf if self.upper == 0 else _log(self.upper) + 1e-12


def _log(value: Fraction | float) -> float:
    if isinstance(value, float):
        return value  # math.inf
    return math.log(value.numerator) - math.log(value.denominator)


def datasets(records: Sequence[Record], size: int) -> Iterator[tuple[Record, ...]]:
    """Return all multisets of `size` records, as tuples in the order of `records`.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 0.

    Example:
        >>> len(list(datasets([(x, y) for x in range(4) for y in (-1, 1)], 4)))
        330
    """
    return combinations_with_replacement(records, check_integer("size", size, 0))


def neighbour_pairs(
    records: Sequence[Record], size: int
) -> Iterator[tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """Return all ordered pairs of distinct datasets of one size that differ in one replaced record.

    Args:
        records: every record that can occur, all different.
        size: number of records of a dataset.

    Returns:
        An iterator of pairs (data, neighbour), each a tuple in the order of `records`.

    Example:
        >>> len(list(neighbour_pairs(range(8), 4)))
        6720
    """
    place = {record: i for i, record in enumerate(records)}
    for data in datasets(records, size):
        for i, old in enumerate(data):
            if i and data[i - 1] == old:
                continue
            for new in records:
                if new != old:
                    yield data, tuple(sorted((*data[:i], *data[i + 1 :], new), key=place.__getitem__))


def laplace_law(center: int, r: Number, low: int, high: int) -> dict[int, Number]:
    """Return the law of center + Z clamped to [low, high], P(Z = z) = (1-r)/(1+r) r^|z|.

    Args:
        center: the exact statistic.
        r: exp(-1/scale), or any rational in its place.
        low, high: the window, low < center < high.

    Raises:
        ArgumentError: unless ``center`` lies strictly between low and high.

    Example:
        >>> laplace_law(0, Fraction(1, 2), -1, 1)
        {-1: Fraction(1, 3), 0: Fraction(1, 3), 1: Fraction(1, 3)}
    """
    if not low < center < high:
        raise ArgumentError("center", f"strictly between {low} and {high}", describe(center))
    unit = 1 / (r + 1) if isinstance(r, Fraction) else Interval.of(1) / (r + 1)
    law: dict[int, Number] = {}
    for value in range(low, high + 1):
        weight = power(r, abs(value - center)) * unit
        law[value] = weight if value in (low, high) else weight * (1 - r)
    return law


def selection_law(scores: Mapping[Any, int], r: Number) -> dict[Any, Number]:
    """Return the law of permute-and-flip over named candidates, coins r^(max - score).

    Example:
        >>> selection_law({"yes": 1, "no": 0}, Fraction(1, 2))
        {'yes': Fraction(3, 4), 'no': Fraction(1, 4)}
    """
    top = max(scores.values())
    return dict(zip(scores, pf_law([power(r, top - s) for s in scores.values()]), strict=True))


def power(base: Number, exponent: int) -> Number:
    """Return base^exponent, exponent >= 0, of a Fraction or a non-negative Interval."""
    if isinstance(base, Interval):
        return Interval(base.lo**exponent, base.hi**exponent).outward(256)
    return base**exponent


def worst_log_ratio(law: Callable[[Any], Law], pairs: Iterable[tuple[Any, Any]]) -> Audit:
    """Return rigorous bounds on the worst ratio of a mechanism over the given neighbouring pairs.

    For a law with finitely many outputs the worst event is a single output, so epsilon-DP holds iff the
    worst ratio of single outputs is at most exp(epsilon).

    Args:
        law: data -> {output: probability}; the probabilities must add up to 1.
        pairs: (data, neighbour), both orders of each, e.g. from :func:`neighbour_pairs`; data is hashable.

    Raises:
        ArgumentError: when a law's total cannot be 1.

    Example:
        >>> def noisy_count(data):
        ...     return laplace_law(sum(data), Fraction(1, 2), -2, 5)
        >>> audit = worst_log_ratio(noisy_count, neighbour_pairs([0, 1], 3))
        >>> (audit.lower, audit.upper)  # r = 1/2, sensitivity 1: exactly 1/r
        (Fraction(2, 1), Fraction(2, 1))
    """
    known: dict[Any, dict[Any, Interval]] = {}

    def at(data: Any) -> dict[Any, Interval]:
        if data not in known:
            known[data] = _checked(law(data))
        return known[data]

    worst = _Worst()
    for data, neighbour in pairs:
        value = _ratios(at(data), at(neighbour), lambda _: _NOTHING_MORE)
        worst.see(value, data, neighbour, lambda path: path[0])
    return worst.audit()


def audit_protocol(
    law: Callable[[Any, History], Law],
    pairs: Iterable[tuple[Any, Any]],
    turn: Callable[[History], str],
    alphabet: Callable[[History], Iterable[Any]],
    state: Callable[[History], Hashable] | None = None,
) -> Audit:
    """Return rigorous bounds on the worst ratio of one party's view, against any counterpart.

    Proof note. For fixed data of the audited party, the probability of a transcript is the product of the
    party's own message probabilities given the messages before, times the counterpart's. The counterpart's
    factors do not depend on the party's data, whatever strategy it follows (adaptive, malicious, with its own
    randomness), so they cancel in the ratio of neighbours. Hence the worst ratio over all counterparts is the
    maximum over paths of the transcript tree of the product of the party's own ratios, where the
    counterpart's messages are free: a dynamic programme from the leaves to the root.

    Args:
        law: (data, history) -> {message: probability} of the party's next message.
        pairs: (data, neighbour), both orders.
        turn: history -> "own", "other" or "end".
        alphabet: history -> all messages that the counterpart may send next.
        state: history -> a key on which everything that follows depends; by default the whole history.

    Raises:
        ArgumentError: when a law's total cannot be 1, or `turn` says anything else.

    Example:
        >>> def two_counts(data, history):  # two noisy counts, whatever is asked in between
        ...     return laplace_law(sum(data), Fraction(1, 2), -1, 3)
        >>> audit = audit_protocol(
        ...     two_counts,
        ...     neighbour_pairs([0, 1], 2),
        ...     turn=lambda h: ("own", "other", "own", "end")[len(h)],
        ...     alphabet=lambda h: ["again", "stop"],
        ... )
        >>> (audit.lower, audit.upper)  # twice 1/scale: (1/r)^2
        (Fraction(4, 1), Fraction(4, 1))
    """
    worst = _Worst()
    for data, neighbour in pairs:
        tree = _Tree(law, data, neighbour, turn, alphabet, state or (lambda history: history))
        worst.see(tree.value(()), data, neighbour, lambda path: path)
    return worst.audit()


@dataclass(frozen=True)
class _Value:
    """The worst ratio from one node on: bounds, and the messages that attain the lower one."""

    lower: Fraction | float
    upper: Fraction | float
    path: History


_NOTHING_MORE = _Value(Fraction(1), Fraction(1), ())


@dataclass
class _Tree:
    """The transcript tree of one neighbouring pair, evaluated once per state."""

    law: Callable[[Any, History], Law]
    data: Any
    neighbour: Any
    turn: Callable[[History], str]
    alphabet: Callable[[History], Iterable[Any]]
    state: Callable[[History], Hashable]
    known: dict[Hashable, _Value] = field(default_factory=dict)

    def value(self, history: History) -> _Value:
        key = self.state(history)
        if key not in self.known:
            self.known[key] = self._evaluate(history)
        return self.known[key]

    def _evaluate(self, history: History) -> _Value:
        turn = self.turn(history)
        if turn == "end":
            return _NOTHING_MORE
        if turn == "own":
            first = _checked(self.law(self.data, history))
            second = _checked(self.law(self.neighbour, history))
            return _ratios(first, second, lambda message: self.value((*history, message)))
        if turn != "other":
            raise ArgumentError("turn", "a function to 'own', 'other' or 'end'", repr(turn))
        values = [(message, self.value((*history, message))) for message in self.alphabet(history)]
        if not values:
            raise ArgumentError("alphabet", "a function to at least one message", "none")
        message, best = max(values, key=lambda pair: pair[1].lower)
        return _Value(best.lower, max(v.upper for _, v in values), (message, *best.path))


def _checked(law: Law) -> dict[Any, Interval]:
    enclosures = {output: Interval.of(p) for output, p in law.items()}
    total = Interval.total(enclosures.values())
    if not total.lo <= 1 <= total.hi:
        raise ArgumentError("law", "a law whose probabilities add up to 1", f"of total {float(total.lo):.6g}")
    return enclosures


def _ratios(
    first: Mapping[Any, Interval], second: Mapping[Any, Interval], then: Callable[[Any], _Value]
) -> _Value:
    """Return the largest product of an output's ratio and the worst ratio of what follows it."""
    lower: Fraction | float = Fraction(0)
    upper: Fraction | float = Fraction(0)
    path: History = ()
    nothing = Interval.of(0)
    for output, p in first.items():
        q = second.get(output, nothing)
        if p.hi <= 0:
            continue
        rest = then(output)
        least = _times(max(p.lo, Fraction(0)), q.hi, rest.lower)
        if least > lower:
            lower, path = least, (output, *rest.path)
        upper = max(upper, _times(p.hi, q.lo, rest.upper))
    return _Value(lower, upper, path)


def _times(p: Fraction, q: Fraction, rest: Fraction | float) -> Fraction | float:
    """Return (p/q) rest, infinite where q <= 0 < p."""
    if p == 0 or rest == 0:
        return Fraction(0)
    if q <= 0 or isinstance(rest, float):
        return math.inf
    return p / q * rest


class _Worst:
    """The running maximum over pairs."""

    def __init__(self) -> None:
        self.lower: Fraction | float = Fraction(0)
        self.upper: Fraction | float = Fraction(0)
        self.witness: tuple[Any, Any, Any] | None = None
        self.pairs = 0

    def see(self, value: _Value, data: Any, neighbour: Any, output: Callable[[History], Any]) -> None:
        self.pairs += 1
        if value.lower > self.lower:
            self.lower, self.witness = value.lower, (data, neighbour, output(value.path))
        self.upper = max(self.upper, value.upper)

    def audit(self) -> Audit:
        return Audit(self.lower, self.upper, self.witness, self.pairs)
