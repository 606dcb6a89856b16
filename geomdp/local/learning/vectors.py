"""Private vectors in the unit ball with pure epsilon: Duchi's mechanism, as a public direction and one bit.

Duchi, Jordan and Wainwright publish a vector of fixed length B on the side of v with probability
r/(1 + r), r = e^epsilon, and on the other side otherwise. Draw its axis Z first, uniform and in public: what
is left is one bit, the side of v, sent by randomised response. The law is the same, and the private part has
a finite exact law: integers decide it, floats only say which side of Z the vector lies on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_epsilon, check_integer
from geomdp.local.finite import BitKernel, Dice, check_ratio, log_up, odds, ratio_of
from geomdp.local.learning.balls import rows_in_ball
from geomdp.local.learning.inputs import (
    Points,
    check_dice,
    check_points,
    check_rng,
    floats,
    inner,
    unit_rows,
)


@dataclass(frozen=True)
class SideBit(BitKernel):
    """Publish on which side of a public direction a vector of the unit ball lies.

    Let s = sign<direction, v>. The bit 1 has probability 1/2 + s |v| (p - 1/2), p = ratio/(1 + ratio): with
    |v| = 1 randomised response of the side, with v = 0 a fair coin.

    Args:
        direction: a vector drawn in public.
        ratio: odds of the true side, >= 1; `odds(epsilon)` for a loss of epsilon.

    Proof note. Precondition: the direction does not depend on v. Whatever s and |v| are, in exact or rounded
    arithmetic, the probability of either bit lies in [1 - p, p], because |v| is cut at 1. Two inputs change
    it by at most p/(1 - p) = ratio. Conclusion: log(ratio)-DP for every input a user may hold.

    Example:
        >>> kernel = SideBit((3.0, 4.0), Fraction(3))
        >>> (kernel.law((0.6, 0.8))[1], kernel.law((0.0, 0.0))[1], kernel.law((-0.5, 0.0))[1])
        (Fraction(3, 4), Fraction(1, 2), Fraction(3, 8))
    """

    direction: Sequence[float]
    ratio: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_ratio(self.ratio))

    def weights(self, x: Any) -> tuple[int, ...]:
        """Return the integer odds of 0 and 1."""
        v = floats(x, len(self.direction))
        side, length = inner(self.direction, v) >= 0, Fraction(min(1.0, math.hypot(*v)))
        keep, flip = self.ratio.numerator, self.ratio.denominator
        toward = (keep + flip) * length.denominator + (keep - flip) * length.numerator
        away = 2 * (keep + flip) * length.denominator - toward
        return (away, toward) if side else (toward, away)


@dataclass(frozen=True)
class DuchiBall:
    """Duchi's mechanism for vectors of the unit ball: unbiased, pure epsilon.

    A user draws U = v/|v| with probability (1 + |v|)/2, else -v/|v|, and publishes B Z, where Z is uniform on
    the half sphere around U with probability r/(1 + r), else on the opposite one;

        B = (r + 1)/(r - 1) * sqrt(pi)/2 * d Gamma((d+1)/2) / Gamma(d/2 + 1).

    The total variance is B^2 - |v|^2, about d (pi/2) ((r+1)/(r-1))^2.

    Args:
        d: dimension, >= 1.
        epsilon: privacy loss; r = odds(epsilon) is e^epsilon rounded down.

    Raises:
        ArgumentError: unless ``d`` is an integer >= 1 and ``epsilon`` a budget of at most 100, large enough
            for odds above 1.

    Proof note. Precondition: |v| <= 1. With respect to the uniform law on the sphere, the density of Z given
    U takes the values 2 r/(1 + r) and 2/(1 + r) only, with ratio r; a mixture over U lies between them.
    Conclusion: log(r)-DP, and log(r) <= epsilon. Unbiasedness: the mean of a half sphere is
    m U with m = Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2)), so E[Z] = m (r-1)/(r+1) v, and B is the reciprocal.

    Example:
        >>> duchi = DuchiBall(10, 1)
        >>> (round(duchi.scale**2 / 10, 1), abs(duchi.loss() - 1) < 1e-12)
        (7.0, True)
    """

    d: int
    epsilon: Fraction | int | float | str
    ratio: Fraction = field(init=False)

    def __post_init__(self) -> None:
        check_integer("d", self.d, 1, 10**9)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "ratio", odds(self.epsilon))
        if self.ratio == 1:
            raise ArgumentError("epsilon", "large enough for odds above 1", "smaller")

    @property
    def scale(self) -> float:
        """The length B of a published vector."""
        gain = float((self.ratio + 1) / (self.ratio - 1))
        size = math.lgamma((self.d + 1) / 2) - math.lgamma(self.d / 2 + 1)
        return gain * math.sqrt(math.pi) / 2 * self.d * math.exp(size)

    def densities(self) -> tuple[Fraction, Fraction]:
        """Return the two values of the density of Z, with respect to the uniform law on the sphere."""
        return 2 * self.ratio / (1 + self.ratio), 2 / (1 + self.ratio)

    def density(self, v: Points, z: Points) -> Fraction:
        """Return the density at direction z for input v; the norm of v is read as an exact float."""
        high, low = self.densities()
        side = bool(math.fsum(np.asarray(v) * np.asarray(z)) >= 0)
        length = Fraction(min(1.0, math.hypot(*v)))
        return ((high + low) + (high - low) * length * (1 if side else -1)) / 2

    def loss(self) -> float:
        """Return the privacy loss, from the two values of the density; at most epsilon up to rounding up."""
        return log_up(ratio_of(self.densities()))

    def sample(self, V: Points, rng: np.random.Generator | int) -> Points:
        """Return one simulated message per row of V, shape (n, d); a seeded draw protects nobody.

        Raises:
            ArgumentError: on another shape, NaN, or rows longer than 1.
        """
        V, generator = self._checked(V), check_rng(rng, "Duchi")
        Z = public_directions(len(V), self.d, generator)
        keep = float((self.ratio - 1) / (self.ratio + 1))
        lengths = np.minimum(np.linalg.norm(V, axis=1), 1.0)
        side = np.where(np.einsum("ij,ij->i", V, Z) >= 0, 1.0, -1.0)
        bits = np.where(generator.random(len(V)) < 0.5 + 0.5 * keep * lengths * side, 1.0, -1.0)
        return self.scale * bits[:, None] * Z

    def release(self, V: Points, directions: Points, dice: Dice) -> Points:
        """Return one message per row of V whose bit is drawn exactly; with SecureSampler it counts.

        Args:
            V: private vectors, shape (n, d); one that is longer than 1 is scaled to length 1.
            directions: public vectors of any length, one per user, drawn without a look at V. Privacy holds
                for all of them; the mean is unbiased if they are uniform on the sphere.
            dice: a SecureSampler for a release, a SimSampler for a simulation.

        Raises:
            ArgumentError: on another shape, no sampler, or unless there is one direction for each private
                vector: public facts. No row is refused, as that would tell about it.

        Proof note. Precondition: none on the rows, as each is cut to the ball, a function of itself alone
        (:func:`~geomdp.local.learning.balls.rows_in_ball`). Each user answers one :class:`SideBit` and never
        again; the rest is a public function of the bit and the direction. Conclusion: epsilon-DP for each
        user, floats notwithstanding.
        """
        check_dice("dice", dice)
        rows = rows_in_ball("V", V, Fraction(1), self.d)
        axes = unit_rows(check_points("directions", directions, self.d))
        if len(axes) != len(rows):
            raise ArgumentError("directions", f"of shape {(len(rows), self.d)}", f"of shape {axes.shape}")
        bits = [SideBit(z, self.ratio).sample(v, dice) for z, v in zip(axes.tolist(), rows, strict=True)]
        return self.scale * (2.0 * np.array(bits, dtype=float).reshape(-1, 1) - 1.0) * axes

    def _checked(self, V: Points) -> Points:
        V = check_points("V", V, self.d)
        if (np.linalg.norm(V, axis=1) > 1 + 1e-9).any():
            raise ArgumentError("V", "rows of norm <= 1", "longer ones", "Divide each row by its norm.")
        return V


def public_directions(n: int, d: int, rng: np.random.Generator | int) -> Points:
    """Return n directions uniform on the sphere, shape (n, d): public coins, which may be seeded.

    Raises:
        ArgumentError: unless ``n`` is an integer >= 0 and ``d`` is an integer >= 1.

    Example:
        >>> Z = public_directions(4, 3, 0)
        >>> bool(np.allclose(np.linalg.norm(Z, axis=1), 1))
        True
    """
    check_integer("n", n, 0)
    return unit_rows(check_rng(rng, "directions").standard_normal((n, check_integer("d", d, 1))))
