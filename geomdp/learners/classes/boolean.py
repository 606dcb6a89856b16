"""Boolean compositions of thresholds on a line: x -> G(x >= t_1, ..., x >= t_k)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_integer
from geomdp.learners.blocks import Blocks, objective
from geomdp.learners.classes.base import Component, Labelling, Labels, check_labels, check_rows
from geomdp.learners.domains import Beyond, OrderedDomain
from geomdp.learners.relabel.automaton import Arc, Trellis
from geomdp.privacy.sampler import Sampler

#: Most thresholds of a composition: the automaton's states are sets of 2^k masks.
MOST = 6
_STATES = 2**24  # (rows + 1)^(free/2), rounded down, up to which carriers are relabelled


@dataclass(frozen=True)
class Boolean:
    """The class of all G(x >= t_1, ..., x >= t_k), given the first thresholds.

    Thresholds are real numbers in labelings and completions; those that the objective offers are the values
    of a public domain and one beyond its last, which no record of the domain passes. So all labelings of
    records of the domain have thresholds that are on offer: one is moved up to the next record, or beyond
    the last value where there is none. Bit i of a *mask* says whether x >= t_{i+1}; from left to right masks
    only gain bits, and every such sequence of masks is that of some thresholds.

    Args:
        table: the 2^k values of G, +1 or -1, by mask.
        thresholds: the ordered domain of the records; components come from it and one value beyond.
        prefix: the thresholds chosen so far.

    Raises:
        ArgumentError: unless ``table`` holds 2^k labels for a k up to :data:`MOST`, and ``prefix`` at most k
            thresholds.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> xor = Boolean.of(lambda a, b: a != b, 2, Integers(0, 9))
        >>> xor.predict((Fraction(3), Fraction(5)), np.array([[2], [3], [4], [5]])).tolist()
        [-1, 1, 1, -1]
    """

    table: tuple[int, ...]
    thresholds: OrderedDomain
    prefix: tuple[Component, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.table)
        if size < 2 or size & (size - 1) or size > 1 << MOST or set(self.table) - {-1, 1}:
            raise ArgumentError("table", f"2^k labels +1 and -1, 1 <= k <= {MOST}", f"of length {size}")
        if len(self.prefix) > self.k:
            raise ArgumentError("prefix", f"at most {self.k} thresholds", len(self.prefix))

    @classmethod
    def of(cls, rule: Callable[..., bool], k: int, thresholds: OrderedDomain) -> Boolean:
        """Return the class of a rule on k truth values.

        Raises:
            ArgumentError: unless ``k`` is an integer with 1 <= k <= MOST.
        """
        check_integer("k", k, 1, MOST)
        masks = (tuple(bool(mask >> i & 1) for i in range(k)) for mask in range(1 << k))
        return cls(tuple(1 if rule(*bits) else -1 for bits in masks), thresholds)

    @property
    def k(self) -> int:
        """The number of thresholds."""
        return len(self.table).bit_length() - 1

    @property
    def free(self) -> int:
        """The number of thresholds still to be chosen."""
        return self.k - len(self.prefix)

    def extend(self, y: Component) -> Boolean:
        """Return the class with one more threshold fixed.

        Raises:
            ArgumentError: when the hypothesis is complete already.
        """
        if not self.free:
            raise ArgumentError("y", "a component of an incomplete hypothesis", "one beyond the last")
        return Boolean(self.table, self.thresholds, (*self.prefix, _rational(y)))

    def domain(self) -> Beyond:
        """Return the domain of the next threshold: N values, and one beyond that is never passed."""
        return Beyond(self.thresholds)

    def component(self, index: int) -> Component:
        """Return the threshold of a rank."""
        return self.domain().value(index)

    def predict(self, coords: tuple[Component, ...], X: NDArray[Any]) -> Labels:
        """Return the labels of a complete hypothesis.

        Raises:
            ArgumentError: unless ``coords`` holds one threshold for each of the k variables.
        """
        if len(coords) != self.k:
            raise ArgumentError("coords", f"{self.k} thresholds", len(coords))
        values = [_rational(t) for t in coords]
        masks = (sum((x >= t) << i for i, t in enumerate(values)) for (x,) in check_rows(X, 1))
        return np.array([self.table[mask] for mask in masks], dtype=np.int8)

    def growth(self, m: int) -> int:
        """Return a bound on the number of labelings of m points, exact while no threshold is fixed.

        Then a labelling of distinct points is possible iff its changes of sign are: some chain of masks, each
        with more bits than the one before, alternates as often from the same first label on. So C(m - 1, c)
        labelings have c changes, for each first label and each c that the longest chain allows. With fixed
        thresholds, each free one falls into one of m + 1 gaps; if G is symmetric in them, a multiset.

        Raises:
            ArgumentError: unless ``m`` is an integer >= 0.
        """
        check_integer("m", m, 0)
        if not m or not self.free:
            return 1
        if not self.prefix:
            return sum(math.comb(m - 1, c) for most in self._alternations() for c in range(most))
        symmetric = all(self._alike(i, i + 1) for i in range(len(self.prefix), self.k - 1))
        gaps = math.comb(m + self.free, self.free) if symmetric else (m + 1) ** self.free
        return min(1 << m, gaps)

    def _alternations(self) -> tuple[int, int]:
        """Return the lengths of the longest alternating chains of masks that begin with -1, and with +1."""
        longest: list[int] = [0] * len(self.table)
        for mask in range(len(self.table) - 1, -1, -1):
            above = (m for m in range(mask + 1, len(self.table)) if m & mask == mask)
            longest[mask] = 1 + max(
                (longest[m] for m in above if self.table[m] != self.table[mask]), default=0
            )
        ends = [[n for n, label in zip(longest, self.table, strict=True) if label == s] for s in (-1, 1)]
        return max(ends[0], default=0), max(ends[1], default=0)

    def _alike(self, i: int, j: int) -> bool:
        """Return whether exchanging bits i and j never changes the label."""
        pair = 1 << i | 1 << j
        return all(
            label == self.table[mask ^ pair]
            for mask, label in enumerate(self.table)
            if (mask >> i & 1) != (mask >> j & 1)
        )

    def objective(self, X: NDArray[Any], y: NDArray[Any]) -> Blocks:
        """Return, for every next threshold of the domain, the best agreement over all completions.

        Forward[mask] is the best agreement left of a place with the other free thresholds passed as in the
        mask and the next one not yet; backward[mask] that from the place on, with the next one passed. Their
        best sum is constant between neighbouring points.

        Sensitivity. One record more or less changes the agreement of every completion by at most one, hence
        the maximum too; the substitution of a record takes one away and adds one, but both count the same
        completion, which agrees with n - 1 common records and with the other at most once.

        Raises:
            ArgumentError: when the hypothesis is complete already: there is no component to choose.
        """
        rows = check_rows(X, 1)
        points = _points(rows, check_labels(y, len(rows), zero=True))
        if not self.free:
            raise ArgumentError("C", "a class with a component to choose", "a complete hypothesis")
        places, scores = self._completions(points)
        domain = self.domain()
        jumps = [(domain.first_above(Fraction(x)), b - a) for x, a, b in places]
        return objective(domain.size, jumps, scores)

    def _completions(self, points: list[_Point]) -> tuple[list[tuple[int, int, int]], int]:
        """Return each point with the scores of thresholds up to it and beyond, and the first score."""
        others = self.free - 1
        last = len(self.prefix)  # bit of the next threshold
        forward = [np.zeros(1 << others, dtype=np.int64)]
        for point in points:
            forward.append(_closed(forward[-1] + self._gains(point, last, 0)))
        ahead = np.zeros(1 << others, dtype=np.int64)
        best = [0] * (len(points) + 1)
        best[len(points)] = int(forward[-1].max())
        for at in range(len(points) - 1, -1, -1):
            ahead = self._gains(points[at], last, 1) + ahead
            ahead = _closed(ahead[::-1])[::-1]
            best[at] = int((forward[at] + ahead).max())
        return [(p.x, best[i], best[i + 1]) for i, p in enumerate(points)], best[0]

    def _gains(self, point: _Point, bit: int, passed: int) -> NDArray[np.int64]:
        """Return the agreement with a point's records for each mask of the later thresholds."""
        low = self._fixed(point.x) | passed << bit
        return self._priced(point, low, bit + 1)

    def _priced(self, point: _Point, low: int, shift: int) -> NDArray[np.int64]:
        masks = range(1 << self.k - shift)
        values = [point.plus if self.table[low | mask << shift] > 0 else point.minus for mask in masks]
        return np.array(values, dtype=np.int64)

    def _fixed(self, x: int) -> int:
        return sum(1 << i for i, t in enumerate(self.prefix) if x >= _rational(t))

    def _signs(self, x: int) -> int:
        """Return the set of free masks (a bit for each) that label x with +1."""
        return self._sets[self._fixed(x)]

    @cached_property
    def _sets(self) -> list[int]:
        shift = len(self.prefix)
        return [
            sum((self.table[low | mask << shift] > 0) << mask for mask in range(1 << self.free))
            for low in range(1 << shift)
        ]

    def labelings(self, X: NDArray[Any], y: NDArray[Any] | None = None) -> BooleanSurvey:
        """Return all labelings of the rows, scored by agreement with the rows that have y != 0.

        A labelling is read from left to right; the state is the set of masks that explain what was read. So
        the automaton is deterministic, and each labelling of the distinct points is counted once, however
        many thresholds realise it.
        """
        rows = check_rows(X, 1)
        points = _points(rows, check_labels(y, len(rows), zero=True) if y is not None else [0] * len(rows))
        return BooleanSurvey(self, rows, points, self._plain_trellis(points))

    def carrier_labelings(self, X: NDArray[Any], y: NDArray[Any]) -> BooleanSurvey:
        """Return all labelings of the rows with y = 0, scored by the best agreement with the others.

        The state is the best agreement so far for each mask, relative to the largest (and nothing for masks
        that no longer explain what was read): determinisation in the (max, +) semiring. Histories differ in
        their state only through rows that are passed and passed back between two neighbours of one label,
        which takes two thresholds each time: with up to three free ones a layer rarely has more than a dozen
        states. In general there are no more than labelings.

        Raises:
            CapacityError: with four or more free thresholds and many rows; decided from public numbers.
        """
        rows = check_rows(X, 1)
        wanted = check_labels(y, len(rows), zero=True)
        _check_carried(self.free, wanted.count(0))
        points = _points(rows, wanted)
        return BooleanSurvey(self, rows, points, self._carrier_trellis(points), carried=True)

    def admit(self, m: Sequence[int], method: str, *, initial: bool) -> None:
        """Refuse a run whose carriers are too large to relabel; decided from their public sizes.

        Raises:
            CapacityError: by CarrierBoost, with four or more free thresholds and many rows.
        """
        del initial  # LabelBoost has no limit
        if method == "carrier-boost":
            for i, size in enumerate(m[1:], 1):
                _check_carried(self.free - i, size)

    def realizes(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[Component, ...] | None:
        """Return thresholds that give exactly these labels, or None if there are none.

        Example:
            >>> from geomdp.learners.domains import Integers
            >>> C = Boolean.of(lambda a, b: a and not b, 2, Integers(0, 9))
            >>> C.realizes(np.array([[1], [4], [6]]), np.array([-1, 1, -1]))
            (Fraction(4, 1), Fraction(6, 1))
            >>> C.realizes(np.array([[1], [4], [6]]), np.array([1, -1, 1])) is None
            True
        """
        rows = check_rows(X, 1)
        points = _points(rows, check_labels(y, len(rows)))
        if any(p.plus and p.minus for p in points):
            return None
        masks = self._explain(points, sum(p.plus + p.minus for p in points))
        return None if masks is None else self._thresholds(points, masks)

    def complete(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[int, tuple[Component, ...]]:
        """Return the best agreement over all completions, and thresholds that attain it."""
        rows = check_rows(X, 1)
        points = _points(rows, check_labels(y, len(rows), zero=True))
        masks = self._explain(points, None)
        assert masks is not None  # noqa: S101 - a best path always exists
        agreement = sum(int(self._all(p)[mask]) for p, mask in zip(points, masks, strict=True))
        return agreement, self._thresholds(points, masks)

    def _explain(self, points: list[_Point], wanted: int | None) -> list[int] | None:
        """Return the free masks along a best path, or None when its agreement is below `wanted`."""
        values = [np.zeros(1 << self.free, dtype=np.int64)]
        for p in points:
            values.append(_closed(values[-1] + self._all(p)))
        if wanted is not None and int(values[-1].max()) < wanted:
            return None
        masks: list[int] = []
        mask = int(values[-1].argmax())
        for at in range(len(points) - 1, -1, -1):
            gains = self._all(points[at])
            target = values[at + 1][mask]
            mask = next(m for m in _subsets(mask) if values[at][m] + gains[m] == target)
            masks.append(mask)
        return masks[::-1]

    def _all(self, point: _Point) -> NDArray[np.int64]:
        return self._priced(point, self._fixed(point.x), len(self.prefix))

    def _thresholds(self, points: list[_Point], masks: list[int]) -> tuple[Component, ...]:
        last = Fraction(points[-1].x + 1) if points else Fraction(0)
        chosen = []
        for i in range(self.free):
            first = (Fraction(p.x) for p, mask in zip(points, masks, strict=True) if mask >> i & 1)
            chosen.append(next(first, last))
        return (*self.prefix, *chosen)

    def _plain_trellis(self, points: Sequence[_Point]) -> Trellis:
        every = (1 << (1 << self.free)) - 1
        masks = range(1 << self.free)
        above = [sum(1 << m for m in masks if m & mask == mask) for mask in masks]
        closure: dict[int, int] = {}
        states, layers = [1], []
        for point in points:
            plus = self._signs(point.x)
            index: dict[int, int] = {}
            layer = []
            for state in states:
                if state not in closure:
                    closure[state] = _union(
                        above[mask] for mask in range(1 << self.free) if state >> mask & 1
                    )
                arcs = []
                for label, allowed in ((-1, every & ~plus), (1, plus)):
                    reached = closure[state] & allowed
                    if reached:
                        gain = point.plus if label > 0 else point.minus
                        arcs.append(Arc(label, index.setdefault(reached, len(index)), gain))
                layer.append(tuple(arcs))
            layers.append(tuple(layer))
            states = list(index)
        return Trellis(tuple(layers))

    def _carrier_trellis(self, points: Sequence[_Point]) -> Trellis:
        start: tuple[int | None, ...] = (0, *[None] * ((1 << self.free) - 1))
        states, layers = [start], []
        for point in points:
            plus, gains = self._signs(point.x), self._all(point).tolist()
            index: dict[tuple[int | None, ...], int] = {}
            layer = []
            for state in states:
                spread = _best_below(state)
                arcs = []
                for label in (-1, 1) if point.carried else (0,):
                    kept = [
                        None if v is None or label == (-1 if plus >> m & 1 else 1) else v + gains[m]
                        for m, v in enumerate(spread)
                    ]
                    top = max((v for v in kept if v is not None), default=None)
                    if top is not None:
                        held = tuple(None if v is None else v - top for v in kept)
                        arcs.append(Arc(label, index.setdefault(held, len(index)), top))
                layer.append(tuple(arcs))
            layers.append(tuple(layer))
            states = list(index)
        return Trellis(tuple(layers))


class BooleanSurvey:
    """The labelings of some rows as paths of an automaton; see the protocol `Survey`."""

    def __init__(
        self,
        owner: Boolean,
        rows: list[tuple[int, ...]],
        points: list[_Point],
        trellis: Trellis,
        *,
        carried: bool = False,
    ) -> None:
        self._owner, self._rows, self._points, self.trellis = owner, rows, points, trellis
        self._carried = carried

    def select(self, epsilon: Fraction, sampler: Sampler) -> Labelling:
        """Draw a labelling with probability proportional to exp(epsilon score / 2), exactly."""
        return self._labelling(self.trellis.sample(epsilon, sampler))

    def candidates(self) -> Iterator[tuple[Labelling, int]]:
        """Yield every labelling once with its score."""
        for spelt, score in self.trellis.paths():
            yield self._labelling(spelt), score

    def _labelling(self, spelt: Sequence[int]) -> Labelling:
        """Return the labels of all rows under a hypothesis that spells this, best on the other rows."""
        heavy = len(self._rows) + 1
        given = iter(spelt)
        forced = []
        for p in self._points:
            label = next(given) if p.carried or not self._carried else 0
            plus, minus = (p.plus, p.minus) if self._carried else (0, 0)
            forced.append(_Point(p.x, plus + heavy * (label > 0), minus + heavy * (label < 0), p.carried))
        masks = self._owner._explain(forced, heavy * len(spelt))
        assert masks is not None  # noqa: S101 - the automaton spells realizable labels only
        witness = self._owner._thresholds(forced, masks)
        table = np.array(self._rows, dtype=object).reshape(len(self._rows), 1)
        return Labelling(self._owner.predict(witness, table), witness)


@dataclass(frozen=True)
class _Point:
    """A distinct point: its records with label +1 and -1, and whether an unlabelled row lies on it."""

    x: int
    plus: int
    minus: int
    carried: bool


def _points(rows: list[tuple[int, ...]], wanted: list[int]) -> list[_Point]:
    counts: dict[int, list[int]] = {}
    for (x,), want in zip(rows, wanted, strict=True):
        held = counts.setdefault(x, [0, 0, 0])
        held[want] += 1  # -1 counts from the end
    return [_Point(x, c[1], c[2], c[0] > 0) for x, c in sorted(counts.items())]


def _closed(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the maximum over all subsets of each mask."""
    out = values.copy()
    step = 1
    while step < len(out):
        pairs = out.reshape(-1, 2, step)
        np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
        step *= 2
    return out


def _best_below(state: tuple[int | None, ...]) -> list[int | None]:
    """Return the best value over the subsets of each mask, None for none."""
    out = list(state)
    step = 1
    while step < len(out):
        for mask in range(len(out)):
            if mask & step:
                lower, own = out[mask ^ step], out[mask]
                if lower is not None and (own is None or lower > own):
                    out[mask] = lower
        step *= 2
    return out


def _subsets(mask: int) -> Iterator[int]:
    """Yield all subsets of a mask, the mask itself first."""
    part = mask
    while True:
        yield part
        if not part:
            return
        part = (part - 1) & mask


def _union(sets: Iterator[int]) -> int:
    total = 0
    for part in sets:
        total |= part
    return total


def _check_carried(free: int, rows: int) -> None:
    if free > 3 and (rows + 1) ** (free // 2) > _STATES:
        raise CapacityError(
            "X",
            f"so few rows to relabel that (rows + 1)^{free // 2} <= {_STATES:,}",
            f"with {rows} rows to relabel",
            "Relabel with label_boost.",
        )


def _rational(t: Component) -> Fraction:
    if isinstance(t, tuple):
        raise ArgumentError("y", "a rational threshold", "a tuple")
    return Fraction(t)
