"""Composition of subsampled blocks: the three-point privacy loss, exactly, and the classical bounds.

A mechanism whose output probabilities differ by at most a factor R = e^C between neighbours is dominated by
randomised response: its hockey-stick divergence at e^s is at most (R - e^s) / (1 + R) for 0 <= s <= C. Used
on a uniform subset with share q of a reservoir, the divergence at t = 1 + q (e^s - 1) is at most q times
that (Balle, Barthe and Gaboardi 2018, Theorem 9; see paper, Theorem 3.4), which is

    (E - t) / (1 + R),     E = 1 + q (R - 1).

This is the divergence of a *lazy randomised response*: the loss is +ln E with probability E/(1 + R), -ln E
with probability 1/(1 + R), and 0 otherwise. Pairs that dominate compose adaptively (Zhu, Dong and Wang 2022),
so l uses are dominated by l independent draws of that loss: a trinomial law on multiples of ln E, with
rational probabilities. E is near 1 while R is not, so that most draws are 0; this is what makes the bound far
smaller than composition of (ln E)-DP steps, which is the case q = 1, R = E (Kairouz, Oh and Viswanath).
A block with its own delta D adds a loss of infinity with probability q D.

All sums are integers scaled by a power of two and rounded so that delta comes out too large, never too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.privacy.enclosure import exp_neg

_BITS = 160


def exp_upper(exponent: Fraction, bits: int = 96) -> Fraction:
    """Return a multiple of 2^-bits that is >= exp(exponent), exponent >= 0.

    Example:
        >>> exp_lower(Fraction(1)) < exp_upper(Fraction(1)), round(float(exp_upper(Fraction(1))), 9)
        (True, 2.718281828)
    """
    low, _ = exp_neg(exponent.numerator, exponent.denominator, bits + 2 * math.ceil(2 * exponent) + 8)
    scale = bits + 2 * math.ceil(2 * exponent) + 8
    return Fraction(-(-(1 << scale + bits) // low), 1 << bits)


def exp_lower(exponent: Fraction, bits: int = 96) -> Fraction:
    """Return a multiple of 2^-bits that is <= exp(exponent), exponent >= 0."""
    scale = bits + 2 * math.ceil(2 * exponent) + 8
    _, high = exp_neg(exponent.numerator, exponent.denominator, scale)
    return Fraction((1 << scale + bits) // high, 1 << bits)


def log_up(value: Fraction) -> float:
    """Return a float >= ln(value), value >= 1, within about 1e-12."""
    if value == 1:
        return 0.0
    return (math.log(value.numerator) - math.log(value.denominator)) * (1 + 1e-12) + 1e-12


@dataclass(frozen=True)
class Loss:
    """An upper bound on a privacy loss: (ln ratio, delta)-DP.

    Attributes:
        ratio: exp(epsilon), >= 1.
        delta: in [0, 1].

    Raises:
        ArgumentError: unless ratio >= 1 and delta >= 0.

    Example:
        >>> Loss(Fraction(4)).subsampled(Fraction(1, 30))
        Loss(ratio=Fraction(11, 10), delta=Fraction(0, 1))
    """

    ratio: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.ratio < 1 or self.delta < 0:
            raise ArgumentError("ratio, delta", "a ratio >= 1 and a delta >= 0", "others")

    @property
    def epsilon(self) -> float:
        """ln(ratio), rounded up."""
        return log_up(self.ratio)

    def subsampled(self, share: Fraction) -> Loss:
        """Return the loss of a use on a uniform subset, without replacement (paper, Theorem 3.4)."""
        _check_share(share)
        return Loss(1 + share * (self.ratio - 1), share * self.delta)

    def rounded(self, bits: int = 96) -> Loss:
        """Return the loss rounded up to multiples of 2^-bits (delta: 2^-256)."""
        return Loss(_ceil(self.ratio, bits), _ceil(self.delta, 256))


class LazyResponse(NamedTuple):
    """The law that dominates one subsampled block.

    Attributes:
        ratio: E: the loss is +ln E, -ln E or 0.
        up: probability of +ln E.
        down: probability of -ln E; up = E * down.
        infinite: probability of an infinite loss, added on top.
    """

    ratio: Fraction
    up: Fraction
    down: Fraction
    infinite: Fraction


def lazy_response(loss: Loss, share: Fraction = Fraction(1)) -> LazyResponse:
    """Return the dominating law of a block used on a share of its reservoir.

    Example:
        >>> lazy_response(Loss(Fraction(3)), Fraction(1, 2))
        LazyResponse(ratio=Fraction(2, 1), up=Fraction(1, 2), down=Fraction(1, 4), infinite=Fraction(0, 1))
    """
    amplified = loss.subsampled(share)
    down = 1 / (1 + loss.ratio)
    return LazyResponse(amplified.ratio, amplified.ratio * down, down, amplified.delta)


def composed_delta(parts: Sequence[tuple[LazyResponse, int]], epsilon: Fraction) -> Fraction:
    """Return an upper bound on the delta at epsilon of an adaptive composition.

    delta = sum over outcomes of P (1 - e^epsilon e^-loss)_+, plus the probabilities of infinite losses.

    Args:
        parts: pairs (law, number of uses); few different laws, any number of uses.
        epsilon: >= 0.

    Raises:
        ArgumentError: unless ``uses`` is an integer >= 1.

    Example:
        >>> one = lazy_response(Loss(Fraction(3)))
        >>> composed_delta([(one, 1)], Fraction(0)) >= Fraction(1, 2)  # (3 - 1) / (1 + 3)
        True
        >>> float(composed_delta([(one, 1)], Fraction(0)))
        0.5
    """
    if not parts:
        return Fraction(0)
    infinite = sum((law.infinite * check_integer("uses", uses, 1) for law, uses in parts), Fraction(0))
    target = exp_lower(epsilon, _BITS)
    factor = target.numerator * (1 << _BITS) // target.denominator
    total = 0
    for outcome in product(*(_atoms(law, uses) for law, uses in parts)):
        chance, weight = 1 << _BITS, factor
        for p, w in outcome:
            chance = -(-chance * p >> _BITS)
            weight = weight * w >> _BITS
        if weight < 1 << _BITS:
            total += -(-chance * ((1 << _BITS) - weight) >> _BITS)
    return min(Fraction(1), Fraction(total, 1 << _BITS) + infinite)


def composed_epsilon(parts: Sequence[tuple[LazyResponse, int]], delta: Fraction) -> Fraction:
    """Return the least multiple of 2^-20, up to rounding, at which the composition has at most this delta.

    Raises:
        ArgumentError: when ``delta`` is less than the sum of the blocks' deltas.

    Example:
        >>> parts = [(lazy_response(Loss(Fraction(40)), Fraction(1, 50)), 3)]
        >>> e = composed_epsilon(parts, Fraction(1, 10**6))
        >>> composed_delta(parts, e) <= Fraction(1, 10**6) < composed_delta(parts, e - Fraction(1, 2**20))
        True
    """
    unit = 1 << 20
    pure = sum(law.ratio.numerator.bit_length() * uses for law, uses in parts)  # ln <= bits
    low, high = -1, pure * unit
    if composed_delta(parts, Fraction(high, unit)) > delta:
        raise ArgumentError("delta", "at least the sum of the blocks' deltas", "less")
    while high - low > 1:
        middle = (low + high) // 2
        enough = composed_delta(parts, Fraction(middle, unit)) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return Fraction(high, unit)


def advanced_composition(eta: float, uses: int, slack: float) -> float:
    """Return the epsilon of `uses` adaptive eta-DP steps at an additional delta of `slack`.

    epsilon = sqrt(2 l ln(1/slack)) eta + l eta (e^eta - 1), rounded up (paper, Theorem 3.5).

    Example:
        >>> round(advanced_composition(0.1, 10, 1e-6), 4)
        1.7674
    """
    root = math.sqrt(2 * uses * math.log(1 / slack)) * eta
    return (root + uses * eta * math.expm1(eta)) * (1 + 1e-12)


def _check_share(share: Fraction) -> None:
    if not 0 < share <= 1:
        raise ArgumentError("share", "a Fraction with 0 < share <= 1", "outside")


def _ceil(value: Fraction, bits: int) -> Fraction:
    return Fraction(-(-(value.numerator << bits) // value.denominator), 1 << bits)


def _atoms(law: LazyResponse, uses: int) -> list[tuple[int, int]]:
    """Return, per net number j of ups, (probability, rounded up; e^(-j loss), rounded down), scaled."""
    one = 1 << _BITS
    up = min(one, _scaled(law.up))
    rest = max(0, one - (up - 1) - (_scaled(law.down) - 1))
    chances = _power([_scaled(law.down), rest, up], uses)
    inverse = (law.ratio.denominator << _BITS) // law.ratio.numerator
    forward = (law.ratio.numerator << _BITS) // law.ratio.denominator
    weights = [one]
    for _ in range(uses):
        weights.append(weights[-1] * inverse >> _BITS)
    back = [one]
    for _ in range(uses):
        back.append(back[-1] * forward >> _BITS)
    return list(zip(chances, back[:0:-1] + weights, strict=True))


def _scaled(value: Fraction) -> int:
    return -(-(value.numerator << _BITS) // value.denominator)


def _power(coefficients: list[int], exponent: int) -> list[int]:
    result: list[int] = [1 << _BITS]
    while exponent:
        if exponent & 1:
            result = _convolve(result, coefficients)
        exponent >>= 1
        if exponent:
            coefficients = _convolve(coefficients, coefficients)
    return result


def _convolve(a: list[int], b: list[int]) -> list[int]:
    """Return the convolution of scaled sequences, rounded up, by one product of two long integers."""
    octets = (2 * (_BITS + 2) + min(len(a), len(b)).bit_length()) // 8 + 1
    packed = _pack(a, octets) * _pack(b, octets)
    length = len(a) + len(b) - 1
    raw = packed.to_bytes(octets * (length + 1), "little")
    values = (int.from_bytes(raw[i * octets : (i + 1) * octets], "little") for i in range(length))
    return [-(-value >> _BITS) for value in values]


def _pack(values: list[int], octets: int) -> int:
    return int.from_bytes(b"".join(value.to_bytes(octets, "little") for value in values), "little")
