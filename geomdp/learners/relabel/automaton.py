"""Exact selection among the paths of a layered automaton, without listing them.

A path through all layers spells a labelling, and every labelling has one path: the automaton is
deterministic. Its weight is the product of exp(epsilon gain / 2) over its arcs. A backward pass sums the
weights of all ways to finish from each state; then a path is drawn forward, arc by arc, by comparing one
uniform real for each arc with the share of its state's sum. Sums are enclosed between integers times powers
of two, uniform reals are known to finitely many digits, and both are refined where a comparison is open: the
law is the exponential mechanism's, exactly, and no float takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from geomdp.core.errors import check_epsilon
from geomdp.learners.blocks import holder, shares
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.runs import Runs
from geomdp.privacy.sampler import Sampler

_DIGITS = 128


class Arc(NamedTuple):
    """A step of the automaton.

    Attributes:
        label: +1 or -1, or 0 where the step spells nothing.
        target: the state of the next layer.
        gain: what the score gains.
    """

    label: int
    target: int
    gain: int


class Scaled(NamedTuple):
    """A non-negative real between low * 2^shift and high * 2^shift."""

    low: int
    high: int
    shift: int


@dataclass(frozen=True)
class Trellis:
    """A layered deterministic automaton; layer 0 has the single state 0.

    Attributes:
        layers: for each layer and state its arcs, one at least; different arcs of a state spell different
            labels.

    Example:
        >>> coin = Trellis((((Arc(-1, 0, 0), Arc(1, 0, 2)),),))
        >>> [(path, score) for path, score in coin.paths()]
        [((-1,), 0), ((1,), 2)]
    """

    layers: tuple[tuple[tuple[Arc, ...], ...], ...]

    def paths(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield the labels of each path with its score."""
        stack: list[tuple[int, int, tuple[int, ...], int]] = [(0, 0, (), 0)]
        while stack:
            at, state, spelt, score = stack.pop()
            if at == len(self.layers):
                yield tuple(label for label in spelt if label), score
                continue
            for arc in reversed(self.layers[at][state]):
                stack.append((at + 1, arc.target, (*spelt, arc.label), score + arc.gain))

    def count(self) -> int:
        """Return the number of paths."""
        ways = [1] * (self._last + 1)
        for layer in reversed(self.layers):
            ways = [sum(ways[arc.target] for arc in arcs) for arcs in layer]
        return ways[0]

    def sample(self, epsilon: Fraction, sampler: Sampler) -> tuple[int, ...]:
        """Draw the labels of a path with probability proportional to exp(epsilon score / 2), exactly.

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

        Example:
            >>> from geomdp.privacy.sampler import SimSampler
            >>> sure = Trellis((((Arc(-1, 0, 0), Arc(1, 0, 10**4)),),))
            >>> sure.sample(Fraction(1), SimSampler(0))
            (1,)
        """
        half, digits = check_epsilon(epsilon) / 2, _DIGITS
        if isinstance(sampler, Runs):  # an exhaustive audit lists the arcs with their law
            return self._listed(half, sampler)
        sums = self._sums(half, digits)
        state, spelt = 0, []
        for at, layer in enumerate(self.layers):
            arcs = layer[state]
            u, width = 0, 0
            chosen: Arc | None = arcs[0] if len(arcs) == 1 else None
            while chosen is None:
                u, width = u << digits - width | sampler.uniform(1 << digits - width), digits
                at_arc = _decide(self._shares(arcs, sums[at + 1], half, digits), u, width)
                if at_arc is not None:
                    chosen = arcs[at_arc]
                else:
                    digits *= 2
                    sums = self._sums(half, digits)
            state = chosen.target
            if chosen.label:
                spelt.append(chosen.label)
        return tuple(spelt)

    def _listed(self, half: Fraction, runs: Runs) -> tuple[int, ...]:
        """Return the labels of any path: arc by arc, with the exact shares that :meth:`sample` encloses."""
        after: list[Any] = [Fraction(1)] * (self._last + 1)
        weights: list[list[list[Any]]] = []
        for layer in reversed(self.layers):
            top = max(arc.gain for arcs in layer for arc in arcs)
            rows = [
                [runs.decay(half * (top - arc.gain)) * after[arc.target] for arc in arcs] for arcs in layer
            ]
            after = [sum(row[1:], row[0]) for row in rows]
            weights.append(rows)
        state, spelt = 0, []
        for layer, rows in zip(self.layers, reversed(weights), strict=True):
            arcs = layer[state]
            chosen = arcs[0]
            if len(arcs) > 1:
                chosen = runs.listed(list(zip(arcs, shares(rows[state]), strict=True)))
            state = chosen.target
            if chosen.label:
                spelt.append(chosen.label)
        return tuple(spelt)

    @property
    def _last(self) -> int:
        """The largest state after the last layer."""
        return max((arc.target for arcs in self.layers[-1] for arc in arcs), default=0) if self.layers else 0

    def _sums(self, half: Fraction, digits: int) -> list[list[Scaled]]:
        """Return, for each layer and state, an enclosure of the weight of all ways to finish.

        Weights of a layer are taken relative to the layer's largest gain, which all paths share.
        """
        one = Scaled(1, 1, 0)
        sums: list[list[Scaled]] = [[one] * (self._last + 1)]
        for layer in reversed(self.layers):
            top = max(arc.gain for arcs in layer for arc in arcs)
            powers: dict[int, Scaled] = {}
            row = []
            for arcs in layer:
                total = Scaled(0, 0, 0)
                for arc in arcs:
                    if arc.gain not in powers:
                        powers[arc.gain] = _power(half * (top - arc.gain), digits)
                    total = _plus(total, _times(powers[arc.gain], sums[-1][arc.target], digits), digits)
                row.append(total)
            sums.append(row)
        return sums[::-1]

    @staticmethod
    def _shares(arcs: tuple[Arc, ...], after: list[Scaled], half: Fraction, digits: int) -> list[Scaled]:
        top = max(arc.gain for arc in arcs)
        return [_times(_power(half * (top - arc.gain), digits), after[arc.target], digits) for arc in arcs]


def _power(exponent: Fraction, digits: int) -> Scaled:
    """Return an enclosure of exp(-exponent) with about `digits` significant digits."""
    bits = digits + exponent.numerator * 3 // (2 * exponent.denominator) + 2
    low, high = exp_neg(exponent.numerator, exponent.denominator, bits)
    return _short(Scaled(low, high, -bits), digits)


def _short(value: Scaled, digits: int) -> Scaled:
    """Return the enclosure with at most `digits` digits, rounded outward."""
    excess = value.high.bit_length() - digits
    if excess <= 0:
        return value
    return Scaled(value.low >> excess, -(-value.high >> excess), value.shift + excess)


def _times(a: Scaled, b: Scaled, digits: int) -> Scaled:
    return _short(Scaled(a.low * b.low, a.high * b.high, a.shift + b.shift), digits)


def _plus(a: Scaled, b: Scaled, digits: int) -> Scaled:
    if not a.high:
        return b
    if not b.high:
        return a
    if a.shift < b.shift:
        a, b = b, a
    gap = a.shift - b.shift
    if gap > 4 * digits:  # b is below the last digit of a: it only raises the upper end
        return Scaled(a.low, a.high + 1, a.shift)
    return _short(Scaled((a.low << gap) + b.low, (a.high << gap) + b.high, b.shift), digits)


def _decide(shares: list[Scaled], u: int, width: int) -> int | None:
    """Return which share of the sum holds U, known to lie in [u, u + 1)/2^width, or None if open."""
    floor = min(share.shift for share in shares)
    low = accumulate((share.low << share.shift - floor for share in shares), initial=0)
    high = accumulate((share.high << share.shift - floor for share in shares), initial=0)
    return holder(list(low), list(high), u, width)
