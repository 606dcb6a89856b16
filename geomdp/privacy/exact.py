"""Exact samplers on integers alone, from a source of fair bits.

Every function draws from its law without rounding anywhere: no float is formed, logarithms and
exponentials appear only as rational enclosures that are refined until a comparison is decided. The bit
source is an argument, so that a test can replay a whole tree of bits and enclose the law exactly.
Running times depend on the values drawn; a channel that hides them sends at fixed times.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from geomdp.core.errors import ArgumentError
from geomdp.privacy.enclosure import exp_neg

_BLOCK = 4096  # bytes fetched from the operating system at a time
_WORD = 64  # binary digits by which a lazy real grows
_GUARD = 32  # binary digits of the arithmetic beyond those of the group's size and of the lazy reals


class BitSource(Protocol):
    """Anything that hands out independent fair bits."""

    def bits(self, count: int) -> int:
        """Return `count` fair bits as an integer in 0..2^count - 1."""
        ...


class OsBits:
    """Fair bits of the operating system's cryptographic source, fetched in blocks; it has no seed.

    A forked child process starts from an empty block, so parent and child never share bits.
    """

    def __init__(self) -> None:
        self._pool, self._left, self._owner = 0, 0, os.getpid()

    def bits(self, count: int) -> int:
        """Return `count` fair bits as an integer in 0..2^count - 1."""
        if self._owner != os.getpid():
            self._pool, self._left, self._owner = 0, 0, os.getpid()
        if count > self._left:
            fetched = max(_BLOCK, (count + 7) // 8)
            self._pool, self._left = int.from_bytes(os.urandom(fetched), "big"), 8 * fetched
        self._left -= count
        drawn = self._pool >> self._left
        self._pool ^= drawn << self._left
        return drawn


def uniform(source: BitSource, bound: int) -> int:
    """Return an integer uniform on 0..bound-1: draw just enough bits, repeat when they reach the bound.

    Example:
        >>> uniform(OsBits(), 1)
        0
    """
    width = (bound - 1).bit_length()
    while True:
        value = source.bits(width) if width else 0
        if value < bound:
            return value


def bernoulli(source: BitSource, numerator: int, denominator: int) -> bool:
    """Return True with probability numerator/denominator, 0 <= numerator <= denominator.

    Bits of a uniform real are compared with the binary expansion of the probability, and drawn only until
    the first difference: two bits are used on average.
    """
    if numerator >= denominator:
        return True
    rest = numerator
    while rest:
        rest *= 2
        digit = rest >= denominator
        if digit:
            rest -= denominator
        if source.bits(1) != digit:
            return digit
    return False


def bernoulli_exp(source: BitSource, numerator: int, denominator: int) -> bool:
    """Return True with probability exp(-q), q = numerator/denominator >= 0.

    For q <= 1, let K be the first k at which a coin of probability q/k fails; P(K > k) = q^k/k!, hence
    P(K odd) = sum (-q)^k/k! = exp(-q). A larger q takes one factor exp(-1) at a time and stops at the first
    failure. Source: Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, Alg. 1.
    """
    while numerator > denominator:
        if not _exp_at_most_one(source, 1, 1):
            return False
        numerator -= denominator
    return _exp_at_most_one(source, numerator, denominator)


def _exp_at_most_one(source: BitSource, numerator: int, denominator: int) -> bool:
    k = 1
    while bernoulli(source, numerator, denominator * k):
        k += 1
    return k % 2 == 1


def discrete_laplace(source: BitSource, scale: Fraction) -> int:
    """Return Z with P(Z = z) = (1-r)/(1+r) r^|z|, r = exp(-1/scale).

    With scale = t/s: a geometric variable of ratio exp(-1/t) is u + t v, where u is uniform below t and kept
    with probability exp(-u/t), and v counts coins of probability exp(-1); its quotient by s has ratio
    exp(-s/t) = r. A fair sign follows, and "minus zero" is redrawn. Source: Canonne, Kamath and Steinke,
    Alg. 2.

    Proof note. Precondition: the statistic is an integer vector whose L1 norm changes by at most Delta when
    one record is replaced, and every entry gets its own draw. The probability of any output changes by a
    factor of at most r^-Delta = exp(Delta/scale). Conclusion: the release is (Delta/scale)-DP.
    """
    t, s = scale.numerator, scale.denominator
    while True:
        u = uniform(source, t)
        if not bernoulli_exp(source, u, t):
            continue
        v = 0
        while _exp_at_most_one(source, 1, 1):
            v += 1
        size = (u + t * v) // s
        negative = source.bits(1)
        if size or not negative:
            return -size if negative else size


class _Real:
    """A real number whose binary digits are drawn when needed: value/2^width <= x <= (value + 1)/2^width."""

    __slots__ = ("source", "value", "width")

    def __init__(self, source: BitSource, value: int, width: int) -> None:
        self.source, self.value, self.width = source, value, width

    def refine(self, width: int) -> None:
        """Draw digits until `width` of them are known."""
        if width > self.width:
            more = width - self.width
            self.value, self.width = (self.value << more) | self.source.bits(more), width


def _below(first: _Real, second: _Real, word: int) -> bool:
    """Return whether the first of two independent uniform reals is the smaller one."""
    while True:
        width = max(first.width, second.width)
        first.refine(width)
        second.refine(width)
        if first.value != second.value:
            return first.value < second.value
        first.refine(width + word)


def _exponential(source: BitSource, word: int) -> _Real:
    """Return an exponential variable of mean 1, lazily known.

    A uniform U is kept with probability exp(-U): of independent uniforms, the first index k at which
    U > U_1 > ... > U_k fails is odd with exactly that probability (von Neumann). The number of rejected U is
    the whole part, the kept U the fraction; digits of U that no comparison has seen are still fair bits.
    """
    whole = 0
    while True:
        kept = last = _Real(source, source.bits(word), word)
        k = 1
        while _below(other := _Real(source, source.bits(word), word), last, word):
            last, k = other, k + 1
        if k % 2:
            return _Real(source, (whole << kept.width) | kept.value, kept.width)
        whole += 1


def permute_and_flip_groups(
    source: BitSource, sizes: Sequence[int], scores: Sequence[int], scale: Fraction, *, word: int = _WORD
) -> tuple[int, int]:
    """Select one of sum(sizes) candidates by permute-and-flip; group g holds sizes[g] of equal score.

    Permute-and-flip walks through the candidates in random order and takes the first whose coin of
    probability a = exp(-(max - score)/scale) shows heads. Give each candidate an independent uniform arrival
    time on [0, 1] (that is the random order) and its coin: the winner is the earliest arrival with heads. No
    candidate of group g with heads arrives before time x with probability (1 - a_g x)^M_g, M_g = sizes[g].
    So the group's first one is at T_g = (1 - exp(-E_g/M_g))/a_g, E_g exponential of mean 1 (a T_g above 1
    means that all its coins show tails; in a group of top score T_g <= 1), groups are independent, and
    within a group all candidates are alike. The least T_g is found from rational enclosures: a coarse one in
    powers of two for all groups, then finer ones for the few that can still win. Time O(number of groups),
    whatever the sizes. Source of the mechanism: McKenna and Sheldon, Permute-and-Flip.

    Proof note. Precondition: groups and sizes may depend on the data, the score of each candidate changes by
    at most Delta when one record is replaced. Permute-and-flip over the single candidates is then
    (2 Delta/scale)-DP, and (Delta/scale)-DP if all scores move the same way (or only one moves); the output
    names a candidate only if the caller maps (group, offset) back to it. Conclusion: as the law is exactly
    that of permute-and-flip over single candidates, so is the privacy.

    Args:
        source: fair bits.
        sizes: group sizes >= 0, not all 0.
        scores: one integer per group, larger is better.
        scale: the noise scale, > 0.
        word: digits drawn at a time; the law does not depend on it.

    Returns:
        (group, offset), 0 <= offset < sizes[group].

    Raises:
        ArgumentError: unless there is one score per group, no size is negative, and one is positive.

    Example:
        >>> permute_and_flip_groups(OsBits(), [0, 1], [9, 5], Fraction(2))
        (1, 0)
    """
    if len(sizes) != len(scores):
        raise ArgumentError("scores", f"one score per group ({len(sizes)})", f"of length {len(scores)}")
    alive = [g for g, size in enumerate(sizes) if size > 0]
    if not alive:
        raise ArgumentError("sizes", "group sizes >= 0 of which one is positive", "all zero")
    top = max(scores[g] for g in alive)
    entries = [_Entry(g, sizes[g], top - scores[g], _exponential(source, word)) for g in alive]
    bounds = [entry.magnitude(scale) for entry in entries]
    best = min(high for _, high in bounds)
    contenders = [entry for entry, (low, _) in zip(entries, bounds, strict=True) if low <= best]
    winner = contenders[0]
    for entry in contenders[1:]:
        if _earlier(entry, winner, scale, word):
            winner = entry
    return winner.group, uniform(source, winner.size)


class _Entry:
    """A group in the race: its first heads arrives at T = (1 - exp(-E/size)) exp(gap/scale)."""

    __slots__ = ("exponential", "gap", "group", "size")

    def __init__(self, group: int, size: int, gap: int, exponential: _Real) -> None:
        self.group, self.size, self.gap, self.exponential = group, size, gap, exponential

    def magnitude(self, scale: Fraction) -> tuple[int, int]:
        """Return integers low, high with 2^low <= T <= 2^high.

        From x/(1 + x) <= 1 - exp(-x) <= min(x, 1), with x = E/size, and 1.4426 < log2(e) < 1.4427.
        """
        value, whole = self.exponential.value, self.size << self.exponential.width
        shift_low = self.gap * scale.denominator * 14426 // (scale.numerator * 10000)
        shift_high = -(-self.gap * scale.denominator * 14427 // (scale.numerator * 10000))
        high = min(0, (value + 1).bit_length() - whole.bit_length() + 1)
        if value == 0:
            return -(1 << 62), high + shift_high
        return value.bit_length() - 1 - (value + whole).bit_length() + shift_low, high + shift_high

    def heads(self, digits: int, bits: int) -> tuple[int, int]:
        """Return integers lo <= 2^bits (1 - exp(-E/size)) <= hi from at least `digits` digits of E."""
        self.exponential.refine(digits)
        value, whole = self.exponential.value, self.size << self.exponential.width
        low = (1 << bits) - exp_neg(value, whole, bits)[1]
        return low, (1 << bits) - exp_neg(value + 1, whole, bits)[0]


def _earlier(first: _Entry, second: _Entry, scale: Fraction, word: int = _WORD) -> bool:
    """Return whether the first group's T is the smaller one, from as many digits as that takes."""
    if first.gap > second.gap:
        return not _earlier(second, first, scale, word)
    lag = (second.gap - first.gap) * scale.denominator
    digits = word
    while True:
        bits = digits + max(first.size, second.size).bit_length() + _GUARD
        lo, hi = exp_neg(lag, scale.numerator, bits)
        low_1, high_1 = first.heads(digits, bits)
        low_2, high_2 = second.heads(digits, bits)
        if high_1 * hi < low_2 << bits:
            return True
        if low_1 * lo > high_2 << bits:
            return False
        digits += word


def permute_and_flip(source: BitSource, scores: Sequence[int], scale: Fraction) -> int:
    """Select one of the listed candidates by the walk that gives permute-and-flip its name.

    Raises:
        ArgumentError: on no scores.

    Example:
        >>> permute_and_flip(OsBits(), [0, 10**9], Fraction(1))
        1
    """
    if not scores:
        raise ArgumentError("scores", "at least one score", "an empty list")
    top, order = max(scores), list(range(len(scores)))
    while True:
        at = uniform(source, len(order))
        order[at], order[-1] = order[-1], order[at]
        candidate = order.pop()
        gap = (top - scores[candidate]) * scale.denominator
        if bernoulli_exp(source, gap, scale.numerator):
            return candidate
