"""Normal noise, rounded to a public lattice and drawn exactly: no float, no truncation, no approximation.

A float cannot hold a normal variable, but its rounding to a lattice can be drawn with exactly the right law:
the variable is known to as many binary digits as the rounding needs, and further digits are drawn when they
matter (C. F. F. Karney, Sampling Exactly from the Normal Distribution, Algorithm N). Rounding is a function
of the noisy value, so that the privacy of Gaussian noise carries over unchanged, whatever the lattice. A
discrete Gaussian on the lattice would need inputs on it, and an account of its own with more noise. Running
times depend on the values drawn; a channel that hides them sends at fixed times.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from geomdp.local.finite import Dice
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.exact import BitSource, bernoulli_exp

_WORD = 32  # binary digits drawn at a time
_GUARD = 8  # binary digits of an exponential beyond those of its argument


class DiceBits:
    """Fair bits from dice: a number below a power of two.

    Args:
        dice: a SecureSampler for a release, a SimSampler for a simulation.
    """

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def bits(self, count: int) -> int:
        """Return `count` fair bits as an integer in 0..2^count - 1."""
        return self._dice.uniform(1 << count)


class _Digits:
    """A uniform real between 0 and 1 whose binary digits are drawn when needed."""

    __slots__ = ("source", "value", "width")

    def __init__(self, source: BitSource) -> None:
        self.source, self.value, self.width = source, 0, 0

    def refine(self, width: int) -> None:
        """Draw digits until `width` of them are known: value/2^width <= x <= (value + 1)/2^width."""
        if width > self.width:
            more = width - self.width
            self.value, self.width = self.value << more | self.source.bits(more), width


@dataclass(frozen=True)
class Normal:
    """A standard normal variable: minus or plus (whole + a lazily known fraction)."""

    negative: bool
    whole: int
    fraction: _Digits

    def ends(self, width: int) -> tuple[Fraction, Fraction]:
        """Return rationals 2^-width apart that enclose it."""
        self.fraction.refine(width)
        low = (self.whole << self.fraction.width) + self.fraction.value
        ends = Fraction(low, 1 << self.fraction.width), Fraction(low + 1, 1 << self.fraction.width)
        return (-ends[1], -ends[0]) if self.negative else ends


def standard_normal(source: BitSource, word: int = _WORD) -> Normal:
    """Return a standard normal variable, lazily known.

    The whole part k has a chance proportional to exp(-k/2), and is kept with probability exp(-k(k-1)/2); the
    fraction x is uniform and kept with probability exp(-x(2k+x)/2). Together that is exp(-(k+x)^2/2).

    Args:
        source: fair bits.
        word: digits drawn at a time; the law does not depend on it.
    """
    while True:
        whole = 0
        while bernoulli_exp(source, 1, 2):
            whole += 1
        if not bernoulli_exp(source, whole * (whole - 1), 2):
            continue
        fraction = _Digits(source)
        if _kept(source, whole, fraction, word):
            return Normal(bool(source.bits(1)), whole, fraction)


def _kept(source: BitSource, whole: int, fraction: _Digits, word: int) -> bool:
    """Return True with probability exp(-x(2k+x)/2): a uniform real is compared with it, digit by digit."""
    level, width = _Digits(source), 0
    while True:
        width += word
        fraction.refine(width)
        level.refine(width)
        unit, x = 1 << width, fraction.value
        near, far = x * (2 * whole * unit + x), (x + 1) * (2 * whole * unit + x + 1)
        if level.value + 1 << _GUARD <= exp_neg(far, 2 * unit * unit, width + _GUARD)[0]:
            return True
        if level.value << _GUARD >= exp_neg(near, 2 * unit * unit, width + _GUARD)[1]:
            return False


def rounded_normal(
    source: BitSource, mean: Fraction, sigma: Fraction, step: Fraction, word: int = _WORD
) -> int:
    """Return the integer m for which m step is nearest to mean + sigma N, N standard normal; exact.

    Args:
        source: fair bits.
        mean: the private number.
        sigma: standard deviation, > 0.
        step: of the lattice, public, > 0.
        word: digits drawn at a time; the law does not depend on it.

    Proof note. Precondition: mean is a number of one user, sigma and step are public. The result is a
    function (nearest multiple of step) of mean + sigma N. Conclusion: it is as private as Gaussian noise of
    standard deviation sigma on the exact mean, at every step.

    Example:
        >>> from geomdp.privacy.sampler import SecureSampler
        >>> rounded_normal(DiceBits(SecureSampler()), Fraction(5), Fraction(1, 10**9), Fraction(1, 2))
        10
    """
    noise, width = standard_normal(source, word), word
    while True:
        first, last = ((mean + sigma * end) / step + Fraction(1, 2) for end in noise.ends(width))
        if first // 1 == last // 1:
            return int(first // 1)
        width += word
