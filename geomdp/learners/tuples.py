"""The exponential mechanism over all tuples of thresholds under a Boolean function, drawn exactly.

k thresholds t_1, ..., t_k on an ordered domain of N values take ranks 0, ..., N; threshold i *passes* x iff
value(t_i) <= x, and rank N never passes. The label of x is G(pass_1(x), ..., pass_k(x)). All (N+1)^k tuples
are candidates; the score of one is the number of records that it labels correctly.

Sort the records. Between neighbouring distinct places lies a gap that holds as many ranks as the domain has
values there, and as the places ascend, the set of thresholds that pass only grows. So the total weight of all
tuples is a product of matrices on the 2^k sets: between places, each threshold that has not passed may pass
in one of the gap's ranks; at a place, the weight is exp(epsilon/2) to the power of the records it labels
correctly. Backward sums give the law of the next set given the present one; forward, the sets are drawn one
by one, and then each threshold's rank uniformly in the gap where it passed.

Proof note (privacy). A replaced record changes a score by at most 1, so weights exp(epsilon score / 2) are
epsilon-DP. The draw follows them exactly: weights are enclosed between dyadic numbers, every choice is made
by a uniform real known to finitely many digits, and where the enclosures leave a choice open, all enclosures
are computed again with twice the digits, while digits and choices that are settled stay.

Source: McSherry and Talwar, FOCS 2007; the transfer matrices and the lazy enclosures are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_epsilon, check_integer
from geomdp.learners.blocks import exponential_excess, holder
from geomdp.learners.domains import OrderedDomain
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.sampler import Sampler

_DIGITS = 96
_MOST = 6  # thresholds
#: Enclosure of a positive number: lo 2^e <= value <= hi 2^e.
Number = tuple[int, int, int]


def truth_table(k: int, function: Callable[..., Any]) -> tuple[int, ...]:
    """Return the labels of the 2^k sets of passed thresholds; bit i of the index stands for threshold i.

    Raises:
        ArgumentError: unless ``k`` is an integer from 1 to the most that is supported.

    Example:
        >>> truth_table(2, lambda a, b: a and not b)  # an interval
        (-1, 1, -1, -1)
        >>> truth_table(2, lambda a, b: a ^ b)
        (-1, 1, 1, -1)
    """
    check_integer("k", k, 1, _MOST)
    return tuple(1 if function(*(bool(s >> i & 1) for i in range(k))) else -1 for s in range(1 << k))


@dataclass(frozen=True, eq=False)
class ThresholdTuple:
    """A Boolean composition of thresholds on an ordered domain.

    Attributes:
        ranks: the thresholds' ranks, 0 to domain.size; the last one never passes.
        table: labels of the 2^k sets of passed thresholds, as of :func:`truth_table`.
        domain: the ordered domain.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> h = ThresholdTuple((3, 6), truth_table(2, lambda a, b: a and not b), Integers(0, 9))
        >>> h.predict([2, 3, 5, 6]).tolist()
        [-1, 1, 1, -1]
    """

    ranks: tuple[int, ...]
    table: tuple[int, ...]
    domain: OrderedDomain

    @property
    def values(self) -> tuple[Fraction | None, ...]:
        """The thresholds' values; None for one that never passes."""
        return tuple(None if t == self.domain.size else self.domain.value(t) for t in self.ranks)

    def predict(self, x: Any) -> NDArray[np.int8]:
        """Return the labels of (n,) or (n, 1) numbers."""
        distinct, inverse = np.unique(_column(x), return_inverse=True)
        places = [self.domain.first_above(Fraction(v)) for v in distinct.tolist()]
        sets = [sum((t < f) << i for i, t in enumerate(self.ranks)) for f in places]
        labels = np.array([self.table[s] for s in sets], dtype=np.int8)
        return labels[inverse] if len(labels) else np.zeros(0, dtype=np.int8)


def exponential_thresholds(  # noqa: PLR0917 - as the other mechanisms: data, set, budget, source
    x: Any,
    y: Any,
    domain: OrderedDomain,
    G: Sequence[int] | Callable[..., Any],
    epsilon: Fraction | int | float | str,
    sampler: Sampler,
    *,
    k: int | None = None,
) -> ThresholdTuple:
    """Draw a tuple of thresholds by the exponential mechanism: epsilon-DP for every input.

    Cost: O(n k 2^k) products of integers with about 200 bits more than the ranks have.

    Args:
        x: (n,) or (n, 1) integers.
        y: (n,) labels +1 and -1.
        domain: the public values of thresholds.
        G: the truth table of length 2^k, or a function of k booleans (then k is required).
        epsilon: the privacy loss.
        sampler: the source of randomness; the secure one for a release.
        k: number of thresholds, 1 to 6.

    Raises:
        ArgumentError: on a table whose length is no power of two, on shapes or labels that do not fit.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> x = np.arange(400)
        >>> y = np.where((x >= 100) & (x < 250), 1, -1)
        >>> h = exponential_thresholds(x, y, Integers(0, 2**40), (-1, 1, -1, -1), 4, SimSampler(1))
        >>> int((h.predict(x) != y).sum()) <= 30
        True
    """
    table, count = _table(G, k)
    loss = check_epsilon(epsilon)
    places, votes = _places(x, y, domain)
    gaps = [b - a for a, b in zip([0, *places], [*places, domain.size + 1], strict=True)]
    digits = _DIGITS
    chain = _Chain(gaps, votes, table, loss, digits)
    sets = [0]
    for step in range(len(places)):
        u, width = sampler.uniform(1 << digits), digits
        while (chosen := chain.choose(step, sets[-1], u, width)) is None:
            digits *= 2
            chain = _Chain(gaps, votes, table, loss, digits)
            u = u << digits - width | sampler.uniform(1 << digits - width)
            width = digits
        sets.append(chosen)
    sets.append((1 << count) - 1)
    starts = list(accumulate(gaps, initial=0))
    ranks = []
    for i in range(count):
        gap = next(j for j in range(len(gaps)) if sets[j + 1] >> i & 1)
        ranks.append(starts[gap] + sampler.uniform(gaps[gap]))
    return ThresholdTuple(tuple(ranks), table, domain)


def thresholds_excess(size: int, k: int, epsilon: Fraction, beta: Fraction) -> int:
    """Return E: at least max - E + 1 records are labelled correctly with probability >= 1 - beta.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Example:
        >>> thresholds_excess(2**40, 2, Fraction(1), Fraction(1, 10))
        116
    """
    return exponential_excess((size + 1) ** k, check_epsilon(epsilon), beta)


class _Chain:
    """Backward sums B[j][S]: total weight of everything from place j on, given the set S there."""

    def __init__(
        self,
        gaps: list[int],
        votes: list[tuple[int, int]],
        table: tuple[int, ...],
        epsilon: Fraction,
        digits: int,
    ) -> None:
        self.gaps, self.digits = gaps, digits
        self.k = len(table).bit_length() - 1
        powers: dict[int, Number] = {}
        ahead: list[Number] = [self._ways(gaps[-1], self.k - s.bit_count()) for s in range(len(table))]
        self.sums: list[list[Number]] = [[]] * len(votes)
        for j in range(len(votes) - 1, -1, -1):
            minus, plus = votes[j]
            lost = abs(plus - minus)  # the records that the label of the minority gives up
            if lost not in powers:
                powers[lost] = _power(epsilon * lost / 2, digits)
            worse = -1 if plus > minus else 1
            here = [
                value if lost == 0 or table[s] != worse else _short(_times(value, powers[lost]), digits)
                for s, value in enumerate(ahead)
            ]
            self.sums[j] = here
            ahead = self._across(gaps[j], here) if j else here

    def _ways(self, gap: int, passing: int) -> Number:
        return _short((gap**passing, gap**passing, 0), self.digits)

    def _across(self, gap: int, sums: list[Number]) -> list[Number]:
        """Return, per set before a gap, the sum over the sets after it: every absent threshold may pass."""
        result = list(sums)
        for i in range(self.k):
            for s in range(len(result)):
                if not s >> i & 1 and gap:
                    a, b, e = result[s | 1 << i]
                    result[s] = _plus(result[s], (gap * a, gap * b, e), self.digits)
        return result

    def choose(self, step: int, present: int, u: int, width: int) -> int | None:
        """Return the set at place `step`, given the one before its gap; None while that is open."""
        gap = self.gaps[step]
        later = [s for s in range(1 << self.k) if s & present == present]
        options = []
        for s in later:
            a, b, e = self.sums[step][s]
            ways = gap ** (s ^ present).bit_count()
            options.append((ways * a, ways * b, e))
        top = max((e + b.bit_length() for _, b, e in options if b), default=0) - self.digits - 8
        low = [_at(a, e - top, up=False) for a, _, e in options]
        high = [_at(b, e - top, up=True) for _, b, e in options]
        chosen = holder(list(accumulate(low, initial=0)), list(accumulate(high, initial=0)), u, width)
        return None if chosen is None else later[chosen]


def _at(value: int, shift: int, *, up: bool) -> int:
    if shift >= 0:
        return value << shift
    return -(-value >> -shift) if up else value >> -shift


def _power(exponent: Fraction, digits: int) -> Number:
    """Return an enclosure of exp(-exponent) with about `digits` significant digits: e^-1 > 2^-1.5."""
    bits = digits + 3 * int(exponent) + 3
    low, high = exp_neg(exponent.numerator, exponent.denominator, bits)
    return _short((low, high, -bits), digits)


def _short(x: Number, digits: int) -> Number:
    low, high, e = x
    spare = high.bit_length() - digits - 16
    if spare <= 0:
        return x
    return low >> spare, -(-high >> spare), e + spare


def _plus(x: Number, y: Number, digits: int) -> Number:
    if not y[1]:
        return x
    if not x[1]:
        return _short(y, digits)
    if x[2] < y[2]:
        x, y = y, x
    shift = x[2] - y[2]  # y has the finer unit
    if shift <= 2 * digits:
        return _short(((x[0] << shift) + y[0], (x[1] << shift) + y[1], y[2]), digits)
    return _short((x[0] + (y[0] >> shift), x[1] - (-y[1] >> shift), x[2]), digits)


def _times(x: Number, y: Number) -> Number:
    return x[0] * y[0], x[1] * y[1], x[2] + y[2]


def _table(G: Sequence[int] | Callable[..., Any], k: int | None) -> tuple[tuple[int, ...], int]:
    if callable(G):
        if k is None:
            raise ArgumentError("k", "the number of thresholds, as G is a function", "missing")
        return truth_table(k, G), k
    table = tuple(int(v) for v in G)
    count = len(table).bit_length() - 1
    if len(table) != 1 << count or not 1 <= count <= _MOST or set(table) - {-1, 1}:
        raise ArgumentError("G", "2^k labels +1 or -1, 1 <= k <= 6", f"of length {len(table)}")
    if k not in (None, count):
        raise ArgumentError("k", f"{count}, as G has 2^{count} labels", f"{k}")
    return table, count


def _column(x: Any) -> NDArray[Any]:
    values = np.asarray(x)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ArgumentError("x", "(n,) or (n, 1) numbers", f"of shape {values.shape}")
    if values.dtype == object:
        real = all(isinstance(v, Rational) for v in values.tolist())
    else:
        real = values.dtype.kind in "biuf" and bool(np.isfinite(values).all())
    if not real:
        raise ArgumentError("x", "finite real numbers", "an array with other values")
    return values


def _places(x: Any, y: Any, domain: OrderedDomain) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the distinct numbers of values <= x in ascending order, and (minus, plus) records at each."""
    column, labels = _column(x), np.asarray(y)
    if labels.shape != column.shape or not np.isin(labels, (-1, 1)).all():
        raise ArgumentError("y", "labels +1 and -1, one for each x", f"others, of shape {labels.shape}")
    votes: dict[int, list[int]] = {}
    distinct, inverse = np.unique(column, return_inverse=True)
    where = [domain.first_above(Fraction(value)) for value in distinct.tolist()]
    plus = np.bincount(inverse, labels > 0, minlength=len(where)).astype(int).tolist()
    total = np.bincount(inverse, minlength=len(where)).tolist()
    for place, up, all_ in zip(where, plus, total, strict=True):
        pair = votes.setdefault(place, [0, 0])
        pair[0] += all_ - up
        pair[1] += up
    places = sorted(votes)
    return places, [(votes[p][0], votes[p][1]) for p in places]
