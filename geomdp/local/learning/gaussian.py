"""Gaussian noise on vectors, calibrated by its exact privacy curve and rounded to the safe side.

With mu = sensitivity/sigma, Gaussian noise is (epsilon, delta)-DP if and only if

    delta >= Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

(B. Balle and Y.-X. Wang, Improving the Gaussian Mechanism for Differential Privacy, Theorem 8). The right
side is enclosed in rational numbers here, and a noise is accepted only if the upper end passes. The classical
formula sqrt(2 log(1.25/delta)) sensitivity/epsilon asks for more noise, and proves nothing for epsilon > 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from geomdp.core.errors import ArgumentError, check_epsilon, check_fraction, describe
from geomdp.local.finite import Dice
from geomdp.local.learning.balls import rows_in_ball
from geomdp.local.learning.inputs import (
    Points,
    check_dice,
    check_points,
    check_positive,
    check_rng,
    check_source,
)
from geomdp.local.learning.normal import DiceBits, rounded_normal
from geomdp.privacy.enclosure import Interval

_BITS = 256
_CLOSE = 1e-12


def check_delta(delta: object) -> Fraction:
    """Return a failure probability of privacy with 10^-30 <= delta < 1.

    Raises:
        ArgumentError: otherwise.
    """
    value = check_fraction("delta", delta)
    if not Fraction(1, 10**30) <= value < 1:
        raise ArgumentError("delta", "a number with 1e-30 <= delta < 1", describe(value), "1e-6 is usual.")
    return value


@lru_cache(maxsize=1)
def _pi() -> Interval:
    """Return an enclosure of pi by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan(k: int) -> Interval:
        terms, power = [], Fraction(1, k)
        for j in range(_BITS):
            terms.append(power / (2 * j + 1) * (-1) ** j)
            power /= k * k
        total = sum(terms)
        return Interval(min(total, total - terms[-1]), max(total, total - terms[-1])).outward(_BITS)

    return (arctan(5) * 16 - arctan(239) * 4).outward(_BITS)


@lru_cache(maxsize=1)
def _root_two_pi() -> Interval:
    """Return an enclosure of sqrt(2 pi)."""
    unit = 1 << _BITS
    low, high = (2 * end * unit * unit for end in (_pi().lo, _pi().hi))
    return Interval(Fraction(math.isqrt(int(low)), unit), Fraction(math.isqrt(int(high) + 1) + 1, unit))


def normal_cdf(x: Fraction) -> Interval:
    """Return an enclosure of Phi(x), about 2^-200 wide, for |x| <= 40.

    Phi(x) - 1/2 = phi(x) (x + x^3/3 + x^5/15 + ...), all terms of one sign. The sum stops where x^2 is at
    most half the next odd number and the last term is tiny: the rest is then at most twice the next term.
    Beyond 40 the tail, below exp(-x^2/2), is enclosed by 0 and 2^-1100.

    Example:
        >>> p = normal_cdf(Fraction(-1))
        >>> p.hi - p.lo < Fraction(1, 2**190), round(float(p.lo), 12)
        (True, 0.158655253931)
    """
    if abs(x) > 40:
        tail = Interval(Fraction(0), Fraction(1, 2**1100))
        return tail if x < 0 else 1 - tail
    unit = 1 << _BITS
    a = Interval.of(abs(x)).outward(_BITS)
    square = (a * a).outward(_BITS)
    term, total, k = a, a, 1
    while not (square.hi * 2 <= 2 * k + 1 and term.hi * unit < 1):
        term = Interval(term.lo * square.lo / (2 * k + 1), term.hi * square.hi / (2 * k + 1)).outward(
            _BITS + 64
        )
        total, k = total + term, k + 1
    total = Interval(total.lo, total.hi + 2 * term.hi)
    bits = 2 * _BITS + math.ceil(square.hi)
    density = Interval(Interval.exp_neg(square.hi / 2, bits).lo, Interval.exp_neg(square.lo / 2, bits).hi)
    half = (total * density / _root_two_pi()).outward(_BITS)
    return Fraction(1, 2) + (half if x >= 0 else -half)


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Interval:
    """Return an enclosure of the least delta at this epsilon, for mu = sensitivity/sigma.

    Args:
        mu: sensitivity divided by the noise's standard deviation, > 0.
        epsilon: privacy loss, 0 <= epsilon <= 100.

    Raises:
        ArgumentError: when ``mu`` or ``epsilon`` is out of range.

    Example:
        >>> curve = gaussian_delta(Fraction(1), Fraction(1))
        >>> round(float(curve.hi), 6)
        0.126937
    """
    if check_fraction("mu", mu) <= 0:
        raise ArgumentError("mu", "a number > 0", describe(mu))
    if not 0 <= check_fraction("epsilon", epsilon) <= 100:
        raise ArgumentError("epsilon", "a number with 0 <= epsilon <= 100", describe(epsilon))
    first, second = normal_cdf(mu / 2 - epsilon / mu), normal_cdf(-mu / 2 - epsilon / mu)
    growth = Interval.of(1) / Interval.exp_neg(epsilon, 2 * _BITS)
    low = first - second * growth
    return Interval(max(low.lo, Fraction(0)), low.hi)


def _float_delta(mu: float, epsilon: float) -> float:
    """Return the privacy curve in floats: a guide for searches, never an answer."""
    first, second = (math.erfc((epsilon / mu - s * mu / 2) / math.sqrt(2)) / 2 for s in (1, -1))
    return first - math.exp(epsilon) * second


def _least(passes: Callable[[float], bool], guide: Callable[[float], bool], low: float, high: float) -> float:
    """Return a number that passes, within a relative 1e-12 of the least one; large numbers pass.

    The guide decides the same question in floats. Its least number is bracketed by exact decisions, in steps
    that double, and the bracket is bisected.
    """
    while high / low > 1 + 1e-14 and low < math.sqrt(low * high) < high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if guide(middle) else (middle, high)
    step, top = _CLOSE / 4, high
    while not passes(top):
        top, step = high * (1 + step), 2 * step
    step, bottom = _CLOSE / 4, high * (1 - _CLOSE / 4)
    while bottom > 0 and passes(bottom):
        top, step = bottom, 2 * step
        bottom = high * (1 - step)
    while bottom > 0 and top / bottom > 1 + _CLOSE:
        middle = math.sqrt(bottom * top)
        bottom, top = (bottom, middle) if passes(middle) else (middle, top)
    return top


@lru_cache(maxsize=256)
def _noise(epsilon: Fraction, delta: Fraction) -> float:
    """Return the least sigma for sensitivity 1, up to a relative 1e-12, proved by the enclosure."""
    return _least(
        lambda sigma: gaussian_delta(1 / Fraction(sigma), epsilon).hi <= delta,
        lambda sigma: _float_delta(1 / sigma, float(epsilon)) <= float(delta),
        2.0**-12,
        2.0**40,
    )


def analytic_sigma(
    epsilon: Fraction | int | float | str, delta: Fraction | float | str, sensitivity: float = 2.0
) -> float:
    """Return a standard deviation for which Gaussian noise is (epsilon, delta)-DP, minimal up to 1e-11.

    Args:
        epsilon, delta: the budget.
        sensitivity: largest Euclidean distance of two inputs; 2 for vectors of the unit ball.

    Raises:
        ArgumentError: on an epsilon <= 0, or a delta outside [1e-30, 1).

    Example:
        >>> [round(analytic_sigma(eps, "1e-5"), 2) for eps in (1, 2, 4)]
        [7.46, 3.99, 2.16]
    """
    loss, failure = check_epsilon(epsilon), check_delta(delta)
    size = check_positive("sensitivity", sensitivity)
    if not 1e-100 <= size <= 1e100:
        raise ArgumentError("sensitivity", "a number between 1e-100 and 1e100", size)
    return _noise(loss, failure) * size * (1 + 2.0**-50)


def classical_sigma(epsilon: float, delta: float, sensitivity: float = 2.0) -> float:
    """Return sqrt(2 log(1.25/delta)) sensitivity/epsilon, the textbook noise; valid for epsilon <= 1 only.

    Raises:
        ArgumentError: on an epsilon or sensitivity <= 0, or a delta outside (0, 1).
    """
    size, loss = check_positive("sensitivity", sensitivity), check_positive("epsilon", epsilon)
    if check_positive("delta", delta) >= 1:
        raise ArgumentError("delta", "a number with 0 < delta < 1", describe(delta))
    return math.sqrt(2 * math.log(1.25 / delta)) * size / loss


@dataclass(frozen=True)
class GaussianVector:
    """Publish v + N(0, sigma^2 I): rounded to a lattice and drawn exactly, or simulated in floats.

    :meth:`release` draws the nearest point of a public lattice to v plus exact normal noise; with a
    SecureSampler it counts. :meth:`sample` adds floats, which cannot hold a normal variable: it is for
    simulations, and nothing that it draws may be released.

    Args:
        sigma: standard deviation of each coordinate, > 0.
        sensitivity: largest Euclidean distance of two inputs; 2 for the unit ball. k copies of one vector,
            published together, are one vector of sensitivity 2 sqrt(k).

    Raises:
        ArgumentError: unless both are numbers between 1e-150 and 1e150.

    Proof note. Precondition: |v - v'| <= sensitivity for all inputs. The privacy loss between two inputs at
    distance D is normal with mean D^2/(2 sigma^2) and variance D^2/sigma^2; the hockey-stick divergence of
    this law is the formula of the module's docstring, and grows with D. Conclusion: (epsilon, delta)-DP
    exactly when delta >= delta(epsilon).

    Example:
        >>> noise = GaussianVector.calibrated(1, "1e-5")
        >>> noise.delta(1).hi <= Fraction("1e-5"), abs(noise.loss("1e-5") - 1) < 1e-9
        (True, True)
    """

    sigma: float
    sensitivity: float = 2.0

    def __post_init__(self) -> None:
        for name in ("sigma", "sensitivity"):
            value = check_positive(name, getattr(self, name))
            if not 1e-150 <= value <= 1e150:
                raise ArgumentError(name, "a number between 1e-150 and 1e150", value)
            object.__setattr__(self, name, value)

    @classmethod
    def calibrated(
        cls, epsilon: Fraction | int | float | str, delta: Fraction | float | str, sensitivity: float = 2.0
    ) -> GaussianVector:
        """Return the mechanism with the least noise for a budget."""
        return cls(analytic_sigma(epsilon, delta, sensitivity), sensitivity)

    @property
    def mu(self) -> Fraction:
        """Sensitivity divided by sigma, exactly as the floats say."""
        return Fraction(self.sensitivity) / Fraction(self.sigma)

    def delta(self, epsilon: Fraction | int | float | str) -> Interval:
        """Return an enclosure of the least delta at this epsilon.

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.
        """
        return gaussian_delta(self.mu, check_epsilon(epsilon))

    def loss(self, delta: Fraction | float | str = 0) -> float:
        """Return the least epsilon at this delta, rounded up; infinite at delta = 0 and beyond 100.

        Raises:
            ArgumentError: unless ``delta`` is a finite number.
        """
        if check_fraction("delta", delta) == 0:
            return math.inf
        failure = check_delta(delta)
        if gaussian_delta(self.mu, Fraction(0)).hi <= failure:
            return 0.0
        if gaussian_delta(self.mu, Fraction(100)).hi > failure:
            return math.inf
        return _least(
            lambda epsilon: gaussian_delta(self.mu, Fraction(epsilon)).hi <= failure,
            lambda epsilon: _float_delta(float(self.mu), epsilon) <= float(failure),
            2.0**-40,
            100.0,
        )

    @property
    def step(self) -> float:
        """The distance of lattice points: the power of two between 2^-21 sigma and 2^-20 sigma."""
        return math.ldexp(1.0, math.frexp(self.sigma)[1] - 21)

    def publish(
        self, V: Points, rng: np.random.Generator | int | None = None, sampler: Dice | None = None
    ) -> Points:
        """Return one message per row of V: exact ones from a sampler, or simulated ones from rng."""
        check_source(rng, sampler)
        return self.sample(V, check_rng(rng, "Gaussian")) if sampler is None else self.release(V, sampler)

    def sample(self, V: Points, rng: np.random.Generator | int) -> Points:
        """Return simulated messages, one per row of V.

        Raises:
            ArgumentError: when a row is longer than sensitivity/2: two such rows could be further apart
                than the noise is made for.
        """
        V = self._checked(V)
        return V + check_rng(rng, "Gaussian").normal(0.0, self.sigma, V.shape)

    def release(self, V: Points, dice: Dice) -> Points:
        """Return messages on the lattice, one per row of V, drawn exactly; with SecureSampler they count.

        Args:
            V: private vectors, shape (n, d); one that is longer than sensitivity/2 is scaled to that length.
            dice: a SecureSampler for a release, a SimSampler for a simulation.

        Raises:
            ArgumentError: on another shape, entries that are no floats, or no sampler: public facts. No row
                is refused, as that would tell about it.

        Proof note. Precondition: none on the rows; each is first read as exact rationals, NaN as 0 and an
        infinite coordinate as the largest float, and, if it is longer than sensitivity/2, scaled into that
        ball, in rational arithmetic. Two rows are then at most
        `sensitivity` apart. Every coordinate gets normal noise of its own and is rounded to the public
        lattice (:func:`~geomdp.local.learning.normal.rounded_normal`), exactly. Conclusion: the message is a
        function of one use of the Gaussian mechanism, whose privacy curve `delta` encloses: the same
        (epsilon, delta), with no term for floats or for the lattice.

        Example:
            >>> from geomdp.privacy.sampler import SecureSampler
            >>> noise = GaussianVector.calibrated(1, "1e-5")
            >>> message = noise.release(np.array([[0.6, 0.8]]), SecureSampler())
            >>> bool((message / noise.step == np.rint(message / noise.step)).all())
            True
        """
        check_dice("dice", dice)
        rows, source = rows_in_ball("V", V, Fraction(self.sensitivity) / 2), DiceBits(dice)
        sigma, step = Fraction(self.sigma), Fraction(self.step)
        points = [[rounded_normal(source, v, sigma, step) for v in row] for row in rows]
        return np.array(points, dtype=float).reshape(np.shape(V)) * self.step

    def _checked(self, V: Points) -> Points:
        V = check_points("V", V)
        if (np.linalg.norm(V, axis=1) > self.sensitivity / 2 * (1 + 1e-9)).any():
            raise ArgumentError("V", "rows of norm <= sensitivity/2", "longer ones", "Bound the rows first.")
        return V
