"""Sources of noise: one that counts (operating system's entropy) and one for simulation (seeded).

Both follow the same exact laws (:mod:`geomdp.privacy.law`); only :class:`SecureSampler` may produce a value
that is released. The two types share no constructor: there is no seed that a release could take by mistake.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_fraction, check_integer, describe
from geomdp.privacy import exact
from geomdp.privacy.seeded import geometric

#: Largest noise scale: noise beyond 2^53 then has a probability below exp(-2^13).
MAX_SCALE = Fraction(2**40)
#: Smallest noise scale.
MIN_SCALE = Fraction(1, 2**20)


class Sampler(Protocol):
    """What a mechanism may ask of a source of noise.

    Attributes:
        simulated: True if the values are reproducible, and hence no private release.
    """

    @property
    def simulated(self) -> bool:
        """True if the values are reproducible, and hence no private release."""
        ...

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Return `size` draws with P(Z = z) = (1-r)/(1+r) r^|z|, r = exp(-1/scale)."""
        ...

    def permute_and_flip(self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction) -> int:
        """Return the index that permute-and-flip selects; larger scores are better."""
        ...

    def permute_and_flip_groups(
        self, sizes: Sequence[int], scores: Sequence[int], scale: Fraction
    ) -> tuple[int, int]:
        """Return (group, offset) that permute-and-flip selects among sum(sizes) candidates."""
        ...

    def uniform(self, bound: int) -> int:
        """Return an integer uniform on 0..bound-1."""
        ...


def noise_scale(sensitivity: int, epsilon: Fraction | int | float | str) -> Fraction:
    """Return the least float64 that is >= sensitivity/epsilon, as an exact Fraction.

    A scale that is a float64 passes through float interfaces unchanged, and sensitivity/scale <= epsilon
    holds exactly, which a rounded quotient would not give.

    Args:
        sensitivity: by how much the statistic can change, >= 1.
        epsilon: the privacy loss that the release may cost, > 0.

    Returns:
        The scale, a Fraction.

    Raises:
        ArgumentError: on a sensitivity < 1, an epsilon <= 0, or a scale outside [2^-20, 2^40].

    Example:
        >>> b = noise_scale(2, Fraction(7, 10))
        >>> (2 / b <= Fraction(7, 10), b - Fraction(20, 7) < Fraction(1, 2**50), Fraction(float(b)) == b)
        (True, True, True)
    """
    check_integer("sensitivity", sensitivity, 1)
    loss = check_fraction("epsilon", epsilon)
    if loss <= 0:
        raise ArgumentError("epsilon", "a number > 0", describe(loss))
    ratio = Fraction(int(sensitivity)) / loss
    if not MIN_SCALE <= ratio <= MAX_SCALE:
        raise ArgumentError(
            "epsilon", "such that sensitivity/epsilon lies between 2^-20 and 2^40", describe(loss)
        )
    nearest = float(ratio)
    scale = Fraction(nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf))
    assert Fraction(int(sensitivity)) / scale <= loss  # noqa: S101 - the fact that privacy rests on
    return scale


def check_scale(scale: object) -> Fraction:
    """Return a noise scale that is exactly a float64, within [2^-20, 2^40].

    Raises:
        ArgumentError: otherwise.
    """
    if isinstance(scale, bool) or not isinstance(scale, (Fraction, int)):
        raise ArgumentError("scale", "a Fraction", describe(scale), "Use noise_scale(sensitivity, epsilon).")
    value = Fraction(scale)
    if not MIN_SCALE <= value <= MAX_SCALE or Fraction(float(value)) != value:
        raise ArgumentError(
            "scale",
            "a float64 between 2^-20 and 2^40, as a Fraction",
            describe(value),
            "Use noise_scale(sensitivity, epsilon), which rounds up.",
        )
    return value


class SecureSampler:
    """The only source of values that are released: exact laws, the operating system's entropy, no seed.

    Vectors of discrete Laplace noise and selection over listed scores come from OpenDP; selection over
    groups and uniform integers from the project's own exact integer samplers, for which OpenDP has no
    counterpart. No message of an error holds a score.

    Proof note. Precondition: the caller's statistic has sensitivity Delta (L1 over a vector of counts, or
    the largest change of one score). Noise of the stated laws at a scale b changes the probability of any
    output by at most exp(Delta/b) (noise; scores that all move the same way) or exp(2 Delta/b) (scores in
    general). Adding the noise to the counts and any clamping are done outside, on integers. Conclusion: with
    b = noise_scale(Delta, epsilon), or noise_scale(2 * Delta, epsilon) for scores in general, the release is
    epsilon-DP.

    Example:
        >>> sampler = SecureSampler()
        >>> (sampler.simulated, sampler.discrete_laplace(Fraction(2), 3).shape)
        (False, (3,))
    """

    def __init__(self) -> None:
        self._source = exact.OsBits()

    @property
    def simulated(self) -> bool:
        """Always False."""
        return False

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Return `size` draws with P(Z = z) = (1-r)/(1+r) r^|z|, r = exp(-1/scale).

        Raises:
            ArgumentError: unless ``size`` is an integer >= 0.
        """
        noise = _opendp_laplace(check_scale(scale))
        count = check_integer("size", size, 0)
        return np.array(noise([0] * count), dtype=np.int64)

    def permute_and_flip(self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction) -> int:
        """Return the index that permute-and-flip selects at a noise scale from (k,) scores; larger is better.

        Raises:
            ArgumentError: on no scores.
        """
        select = _opendp_noisy_max(check_scale(scale))
        listed = _integers("scores", scores)
        if not listed:
            raise ArgumentError("scores", "at least one score", "an empty list")
        top = max(listed)
        return int(select([max(s - top, -(2**62)) for s in listed]))

    def permute_and_flip_groups(
        self, sizes: Sequence[int], scores: Sequence[int], scale: Fraction
    ) -> tuple[int, int]:
        """Return (group, offset) that permute-and-flip selects among sum(sizes) candidates.

        Each of the groups has one size and one of the scores; scale is that of the noise.
        """
        return exact.permute_and_flip_groups(
            self._source, _sizes(sizes), _integers("scores", scores), check_scale(scale)
        )

    def uniform(self, bound: int) -> int:
        """Return an integer uniform on 0..bound-1.

        Raises:
            ArgumentError: unless ``bound`` is an integer >= 1.
        """
        return exact.uniform(self._source, check_integer("bound", bound, 1))

    def __repr__(self) -> str:
        return "SecureSampler()"


class SimSampler:
    """Seeded noise for simulation and calibration: same laws up to float rounding, never a release.

    Args:
        seed: an int, a numpy SeedSequence or a numpy Generator.

    Raises:
        ArgumentError: unless ``seed`` is an int, SeedSequence or Generator.

    Example:
        >>> a, b = SimSampler(7), SimSampler(7)
        >>> a.simulated, a.uniform(10**30) == b.uniform(10**30)
        (True, True)
    """

    def __init__(self, seed: int | np.random.SeedSequence | np.random.Generator) -> None:
        if seed is None or isinstance(seed, bool):
            raise ArgumentError("seed", "an int, SeedSequence or Generator", describe(seed))
        self._rng = np.random.default_rng(seed)

    @property
    def simulated(self) -> bool:
        """Always True."""
        return True

    def spawn(self, count: int) -> list[SimSampler]:
        """Return independent samplers: one for each party, mechanism or repetition.

        Raises:
            ArgumentError: unless ``count`` is an integer >= 0.
        """
        return [SimSampler(rng) for rng in self._rng.spawn(check_integer("count", count, 0))]

    def discrete_laplace(self, scale: Fraction, size: int | tuple[int, ...]) -> NDArray[np.int64]:
        """Return draws with P(Z = z) = (1-r)/(1+r) r^|z|: differences of two geometric variables.

        Raises:
            ArgumentError: unless ``size`` is an integer >= 0.
        """
        heads = -math.expm1(-1 / float(check_scale(scale)))
        for axis in size if isinstance(size, tuple) else (size,):
            check_integer("size", axis, 0)
        return geometric(self._rng, heads, size) - geometric(self._rng, heads, size)

    def permute_and_flip(self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction) -> int:
        """Return the index of the largest score + scale * exponential noise: permute-and-flip's law.

        Raises:
            ArgumentError: on no scores.
        """
        values = np.asarray(scores, dtype=np.int64)
        if values.ndim != 1 or not len(values):
            raise ArgumentError("scores", "at least one score", f"of shape {values.shape}")
        noise = float(check_scale(scale)) * self._rng.standard_exponential(len(values))
        return int(np.argmax((values - values.max()) + noise))

    def permute_and_flip_groups(
        self, sizes: Sequence[int], scores: Sequence[int], scale: Fraction
    ) -> tuple[int, int]:
        """Return (group, offset): the largest of M exponentials is -log(1 - U^(1/M)), one draw per group.

        Raises:
            ArgumentError: unless there is one score per group, no size is negative, and one is positive.
        """
        counts, listed = _sizes(sizes), _integers("scores", scores)
        if len(counts) != len(listed):
            raise ArgumentError("scores", f"one score per group ({len(counts)})", f"of length {len(listed)}")
        if not any(counts):
            raise ArgumentError("sizes", "group sizes >= 0 of which one is positive", "all zero")
        top = max(s for s, m in zip(listed, counts, strict=True) if m)
        value = np.array([max(s - top, -(2**62)) for s in listed], dtype=np.float64)
        size = np.array([float(m) for m in counts])
        with np.errstate(divide="ignore"):
            first = np.log(-np.expm1(-self._rng.standard_exponential(len(size)) / size))
        race = np.where(size > 0, value - float(check_scale(scale)) * first, -np.inf)
        group = int(np.argmax(race))
        return group, self.uniform(counts[group])

    def uniform(self, bound: int) -> int:
        """Return an integer uniform on 0..bound-1.

        Raises:
            ArgumentError: unless ``bound`` is an integer >= 1.
        """
        return exact.uniform(_GeneratorBits(self._rng), check_integer("bound", bound, 1))

    def __repr__(self) -> str:
        return "SimSampler(simulated)"


class _GeneratorBits:
    """Bits of a seeded generator, for simulation."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def bits(self, count: int) -> int:
        """Return `count` bits."""
        octets = (count + 7) // 8
        return int.from_bytes(self._rng.bytes(octets), "big") >> (8 * octets - count)


def _integers(name: str, values: Sequence[int] | NDArray[np.int64]) -> list[int]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    try:
        return [value.__index__() for value in listed]
    except AttributeError:
        raise ArgumentError(name, "a sequence of integers", "one with other values") from None


def _sizes(sizes: Sequence[int]) -> list[int]:
    counts = _integers("sizes", sizes)
    if any(count < 0 for count in counts):
        raise ArgumentError("sizes", "group sizes >= 0 of which one is positive", "one with a negative value")
    return counts


@lru_cache(maxsize=64)
def _opendp_laplace(scale: Fraction) -> Any:
    """Return OpenDP's discrete Laplace on integer vectors, its privacy map checked."""
    from opendp import domains, measurements, metrics

    _enable_opendp()
    space = domains.vector_domain(domains.atom_domain(T="i64"))
    measurement: Any = measurements.make_laplace(space, metrics.l1_distance(T="i64"), scale=float(scale))
    _check_map(measurement.map(1), 1 / scale)
    return measurement


@lru_cache(maxsize=64)
def _opendp_noisy_max(scale: Fraction) -> Any:
    """Return OpenDP's noisy max (exponential noise: permute-and-flip), its privacy map checked."""
    from opendp import domains, measurements, measures, metrics

    _enable_opendp()
    space = domains.vector_domain(domains.atom_domain(T="i64"))
    measurement: Any = measurements.make_noisy_max(
        space, metrics.linf_distance(T="i64"), measures.max_divergence(), scale=float(scale)
    )
    _check_map(measurement.map(1), 2 / scale)
    return measurement


def _enable_opendp() -> None:
    from opendp.mod import enable_features

    enable_features("contrib")


def _check_map(claimed: float, loss: Fraction) -> None:
    """Refuse a measurement whose stated loss is not the expected one up to its upward rounding."""
    if not loss <= Fraction(claimed) <= loss * (1 + Fraction(1, 2**48)):
        raise RuntimeError("OpenDP states another privacy loss than the law implies; nothing was drawn.")
