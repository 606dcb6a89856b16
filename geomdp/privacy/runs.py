"""The exact law of a program that draws noise, from the program's own code: all its runs, one by one.

A tester's party asks its sampler for noise and computes a message. :class:`Runs` is a sampler that answers
every request with every possible value in turn and keeps the exact probability of the path taken, so that the
law which is audited is the law of the code that runs, its budgets, scales, branches and bugs included. What
the samplers of a release draw is compared with the same laws elsewhere; together the two close the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_integer
from geomdp.privacy.audit import Audit, power, worst_log_ratio
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import check_scale
from geomdp.privacy.selection import pf_law

Choice = TypeVar("Choice")
#: exponent -> exp(-exponent), enclosed; or any multiplicative law with rational values in its place.
Decay = Callable[[Fraction], Fraction | Interval]
#: A program: it draws from the sampler and returns what its counterpart sees.
Program = Callable[["Runs"], Hashable]
#: By how much unbounded noise is moved once more to see that the view no longer changes.
_FURTHER = 1009
_BITS = 192


class _RestError(Exception):
    """A run whose noise lies beyond the values that are listed."""


def clamp(value: int, low: int, high: int) -> int:
    """Return the value moved into [low, high].

    Args:
        value: any integer.
        low, high: the ends, low <= high.

    Returns:
        The integer of [low, high] that is nearest.

    Example:
        >>> [clamp(v, -1, 2) for v in (-9, 0, 9)]
        [-1, 0, 2]
    """
    return min(max(int(value), low), high)


def rational(base: Fraction, unit: Fraction) -> Decay:
    """Return the decay exponent -> base^(exponent / unit): rational, at multiples of unit.

    A mechanism knows its scale through exp(-1/scale) only, so a claim "epsilon" becomes
    "ratio <= base^-(epsilon / unit)", which is decided exactly even where the claim is met with equality.

    Raises:
        ArgumentError: from the decay, when an exponent is no multiple of ``unit``.

    Example:
        >>> rational(Fraction(1, 2), Fraction(1, 4))(Fraction(3, 4))
        Fraction(1, 8)
    """

    def decay(exponent: Fraction) -> Fraction:
        steps = exponent / unit
        if steps.denominator != 1:
            raise ArgumentError("unit", "a part of every exponent", f"{unit} for {exponent}")
        return base**steps.numerator

    return decay


@dataclass
class Runs:
    """A sampler that takes one given run of a program; see :func:`law_of`.

    Attributes:
        reach: unbounded noise is listed for -reach..reach, each end standing for the whole tail beyond it.
        decay: exponent -> exp(-exponent).
        depth: one-sided noise is listed below this; the rest is kept as an error bound.
    """

    reach: int
    decay: Decay = Interval.exp_neg
    depth: int = 200
    further: int = 0
    plan: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)
    edge: bool = False
    tables: dict[Hashable, list[tuple[Any, Any]]] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Always True: nothing here is random."""
        return True

    @property
    def weight(self) -> Any:
        """The probability of the choices so far."""
        return self.weights[-1] if self.weights else Fraction(1)

    def choose(self, options: Sequence[Choice]) -> Choice:
        """Return the counterpart's next message: any of the options.

        Proof note. The counterpart is given the uniform law on its options. For fixed data a view's
        probability is the product of the party's own factors and the counterpart's, whatever it does; the
        latter cancel in the ratio of neighbours as long as they are positive. So the worst ratio over all
        views is the worst one over all counterparts, adaptive and malicious ones included.
        """
        share = Fraction(1, len(options))
        chosen: Choice = self._take([(option, share) for option in options])
        return chosen

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Return `size` noises; the two ends of the list stand for the tails, as one atom each.

        Raises:
            ArgumentError: unless ``size`` is an integer >= 0.
        """
        options = self._table(("laplace", check_scale(scale)), self._laplace)
        out = np.empty(check_integer("size", size, 0), dtype=np.int64)
        for i in range(len(out)):
            value = self._take(options)
            if abs(value) == self.reach:
                self.edge = True
                value += self.further if value > 0 else -self.further
            out[i] = value
        return out

    def permute_and_flip(self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction) -> int:
        """Return a selected index, with the probability that permute-and-flip gives it."""
        top = max(int(s) for s in scores)
        key = ("listed", tuple(top - int(s) for s in scores), check_scale(scale))
        return int(self._take(self._table(key, self._listed)))

    def permute_and_flip_groups(
        self, sizes: Sequence[int], scores: Sequence[int], scale: Fraction
    ) -> tuple[int, int]:
        """Return (group, offset)."""
        top = max(s for s, m in zip(scores, sizes, strict=True) if m)
        gaps = tuple(max(top - int(s), 0) for s in scores)
        key = ("selection", gaps, tuple(sizes), check_scale(scale))
        group, offset = self._take(self._table(key, self._selection))
        return group, offset

    def uniform(self, bound: int) -> int:
        """Return an integer below the bound, each with probability 1/bound.

        Raises:
            CapacityError: on a bound above 10,000: all values are listed.
        """
        if bound > 10**4:
            raise CapacityError("bound", "at most 10000 where all values are listed", f"{bound}")
        share = Fraction(1, bound)
        return int(self._take([(value, share) for value in range(bound)]))

    def listed(self, options: Sequence[tuple[Choice, Any]]) -> Choice:
        """Return any of the values, each with its probability: a mechanism's law in closed form.

        For mechanisms that draw more digits than can be listed, such as one uniform real number. What such a
        mechanism draws from another sampler is compared with the same law elsewhere.
        """
        chosen: Choice = self._take(options)
        return chosen

    def geometric(self, scale: Fraction) -> int:
        """Return one-sided noise G, P(G >= g) = exp(-g/scale), below the depth."""
        value = self._take(self._table(("geometric", check_scale(scale)), self._geometric))
        if value >= self.depth:
            raise _RestError
        return int(value)

    def tails(self, heads: Fraction | Interval, bound: int) -> int:
        """Return the number of tails before the first heads of at most `bound` coins."""
        key = ("tails", heads, bound)
        return int(self._take(self._table(key, _tails)))

    def _table(
        self, key: tuple[Any, ...], build: Callable[..., list[tuple[Any, Any]]]
    ) -> list[tuple[Any, Any]]:
        if key not in self.tables:
            self.tables[key] = build(*key[1:])
        return self.tables[key]

    def _take(self, options: Sequence[tuple[Any, Any]]) -> Any:
        at = len(self.taken)
        pick = self.plan[at] if at < len(self.plan) else 0
        self.taken.append(pick)
        self.widths.append(len(options))
        value, probability = options[pick]
        if at >= len(self.weights) and not self.further:
            weight = self.weight * probability
            self.weights.append(weight.outward(_BITS) if isinstance(weight, Interval) else weight)
        return value

    def _laplace(self, scale: Fraction) -> list[tuple[int, Any]]:
        r: Any = self.decay(1 / scale)
        unit = _invert(r + 1)
        end = power(r, self.reach) * unit
        inner = [(z, power(r, abs(z)) * unit * (1 - r)) for z in range(1 - self.reach, self.reach)]
        return [(-self.reach, end), *inner, (self.reach, end)]

    def _geometric(self, scale: Fraction) -> list[tuple[int, Any]]:
        r: Any = self.decay(1 / scale)
        listed = [(g, power(r, g) * (1 - r)) for g in range(self.depth)]
        return [*listed, (self.depth, power(r, self.depth))]

    def _listed(self, gaps: tuple[int, ...], scale: Fraction) -> list[tuple[int, Any]]:
        levels = sorted(set(gaps))
        sizes = tuple(gaps.count(gap) for gap in levels)
        shares = {pair[0]: p for pair, p in self._selection(tuple(levels), sizes, scale) if pair[1] == 0}
        return [(i, shares[levels.index(gap)]) for i, gap in enumerate(gaps)]

    def _selection(
        self, gaps: tuple[int, ...], sizes: tuple[int, ...], scale: Fraction
    ) -> list[tuple[tuple[int, int], Any]]:
        coins: list[Any] = [self.decay(gap / scale) for gap in gaps]
        law = pf_law(coins, sizes)
        pairs = [((g, k), law[g] * Fraction(1, m)) for g, m in enumerate(sizes) for k in range(m)]
        return [(pair, p.outward(_BITS) if isinstance(p, Interval) else p) for pair, p in pairs]


def _invert(value: Any) -> Any:
    return Interval.of(1) / value if isinstance(value, Interval) else 1 / value


def _tails(heads: Any, bound: int) -> list[tuple[int, Any]]:
    rest = 1 - heads
    return [(k, power(rest, k) * heads) for k in range(bound)] + [(bound, power(rest, bound))]


def law_of(
    program: Program, reach: int, *, decay: Decay = Interval.exp_neg, depth: int = 200, limit: int = 10**6
) -> dict[Hashable, Any]:
    """Return the exact law of what a program shows: view -> probability, a Fraction or an enclosure.

    The runs form a tree; it is walked through depth first, each run from the start. A run that used an end of
    a list of unbounded noise is repeated with that noise 1009 further out, and must show the same: for
    additive noise, whose view then depends on it monotonically, the end is an atom of the view. So the
    program clamps what it shows (:func:`clamp`) to a window that holds every centre, which is
    post-processing, and for noise whose ratio is constant outside that window loses nothing.

    Args:
        program: draws from the sampler it gets, returns a hashable view; must do the same if run again.
        reach: see :class:`Runs`.
        decay: see :class:`Runs`; by default the true exponential, enclosed.
        depth: see :class:`Runs`; what lies beyond is added to the upper ends.
        limit: most runs.

    Raises:
        ArgumentError: when `reach` does not carry the noise out of the window that is shown.
        CapacityError: when there are more than `limit` runs.

    Example:
        >>> half = rational(Fraction(1, 2), Fraction(1))
        >>> def noisy(runs):
        ...     return clamp(3 + int(runs.discrete_laplace(Fraction(1), 1)[0]), 2, 4)
        >>> law_of(noisy, 2, decay=half) == {2: Fraction(1, 3), 3: Fraction(1, 3), 4: Fraction(1, 3)}
        True
    """
    law: dict[Hashable, Any] = {}
    tables: dict[Hashable, list[tuple[Any, Any]]] = {}
    rest: Any = Fraction(0)
    plan: list[int] | None = []
    weights: list[Any] = []
    for _ in range(limit):
        runs = Runs(reach, decay, depth, plan=plan or [], weights=weights, tables=tables)
        try:
            view = program(runs)
        except _RestError:
            rest = rest + runs.weight
        else:
            if runs.edge:
                again = Runs(reach, decay, depth, _FURTHER, plan=runs.taken, tables=tables)
                if program(again) != view:
                    raise ArgumentError("reach", "enough to leave the window that is shown", f"{reach}")
            law[view] = law[view] + runs.weight if view in law else runs.weight
        plan = _following(runs.taken, runs.widths)
        if plan is None:
            break
        weights = runs.weights[: len(plan) - 1]  # of the choices that the next run shares
    else:
        raise CapacityError("program", f"one of at most {limit} runs", "one of more")
    if rest:
        law = {view: Interval.of(p) + Interval(Fraction(0), Interval.of(rest).hi) for view, p in law.items()}
    return law


def _following(taken: list[int], widths: list[int]) -> list[int] | None:
    """Return the next run in lexicographic order, or None after the last."""
    plan = list(taken)
    while plan:
        if plan[-1] + 1 < widths[len(plan) - 1]:
            plan[-1] += 1
            return plan
        plan.pop()
    return None


def audit_program(
    program: Callable[[Any, Runs], Hashable],
    pairs: Iterable[tuple[Any, Any]],
    reach: int,
    *,
    decay: Decay = Interval.exp_neg,
    depth: int = 200,
) -> Audit:
    """Return rigorous bounds on the worst ratio of a program's whole view over neighbouring data.

    Args:
        program: (data, sampler) -> view, with the counterpart's messages from `sampler.choose` in the view.
        pairs: (data, neighbour), both orders of each.
        reach, decay, depth: see :class:`Runs`.

    Returns:
        Lower and upper bound of the largest ratio of probabilities, with the pair that attains it.

    Example:
        >>> def two_counts(data, runs):  # noise of scale 1 twice: the loss is 2
        ...     noise = runs.discrete_laplace(Fraction(1), 2)
        ...     return tuple(clamp(sum(data) + int(z), -1, 2) for z in noise)
        >>> half = rational(Fraction(1, 2), Fraction(1))
        >>> audit_program(two_counts, [((0,), (1,)), ((1,), (0,))], 3, decay=half).upper
        Fraction(4, 1)
    """
    return worst_log_ratio(
        lambda data: law_of(lambda runs: program(data, runs), reach, decay=decay, depth=depth), pairs
    )
