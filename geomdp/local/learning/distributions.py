"""Distributions of the learning problems: two-class mixtures, labels with bounded noise, and their constants.

All noise here is isotropic: independent coordinates of mean 0 and variance 1, of one of four kinds. Three are
symmetric; "exponential" is skewed. The anti-concentration constants of the definitions are computed, and so
are the errors of halfspaces: figures report them instead of estimates from test samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_choice, check_integer
from geomdp.local.learning.inputs import (
    Points,
    Signs,
    check_points,
    check_positive,
    check_rng,
    check_vector,
    decide,
    unit,
)

KINDS = ("gaussian", "laplace", "uniform", "exponential")
_ROOT3 = math.sqrt(3.0)
_ROOT2 = math.sqrt(2.0)


def draw(kind: str, n: int, d: int, rng: np.random.Generator | int) -> Points:
    """Return n isotropic vectors with independent coordinates, shape (n, d).

    Args:
        kind: one of :data:`KINDS`, each with mean 0 and variance 1.
        n: number of vectors.
        d: dimension.
        rng: a Generator or a seed.

    Returns:
        (n, d) floats.

    Raises:
        ArgumentError: unless ``kind`` is one of :data:`KINDS`, ``n`` is an integer >= 0 and ``d`` is an
            integer >= 1.

    Example:
        >>> bool(draw("exponential", 50, 2, 0).min() >= -1)
        True
    """
    check_choice("kind", kind, KINDS)
    shape = check_integer("n", n, 0), check_integer("d", d, 1)
    generator = check_rng(rng, "points")
    if kind == "gaussian":
        return np.asarray(generator.standard_normal(shape))
    if kind == "laplace":
        return np.asarray(generator.laplace(0.0, 1 / _ROOT2, shape))
    if kind == "uniform":
        return generator.uniform(-_ROOT3, _ROOT3, shape)
    return np.asarray(generator.standard_exponential(shape) - 1.0)


def density(kind: str, z: Any) -> Points:
    """Return the density of one coordinate.

    Raises:
        ArgumentError: unless ``kind`` is one of :data:`KINDS`.
    """
    check_choice("kind", kind, KINDS)
    z = np.asarray(z, dtype=float)
    if kind == "gaussian":
        return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
    if kind == "laplace":
        return np.asarray(np.exp(-_ROOT2 * np.abs(z)) / _ROOT2)
    if kind == "uniform":
        return np.where(np.abs(z) <= _ROOT3, 1 / (2 * _ROOT3), 0.0)
    return np.where(z >= -1, np.exp(-np.maximum(z, -1) - 1), 0.0)


def cdf(kind: str, z: float) -> float:
    """Return P[coordinate <= z].

    Raises:
        ArgumentError: unless ``kind`` is one of :data:`KINDS`.
    """
    check_choice("kind", kind, KINDS)
    if kind == "gaussian":
        return math.erfc(-z / _ROOT2) / 2
    if kind == "laplace":
        return 1 - math.exp(-_ROOT2 * z) / 2 if z >= 0 else math.exp(_ROOT2 * z) / 2
    if kind == "uniform":
        return min(max((z + _ROOT3) / (2 * _ROOT3), 0.0), 1.0)
    return -math.expm1(-z - 1) if z >= -1 else 0.0


def characteristic(kind: str, t: Points) -> NDArray[np.complex128]:
    """Return E[exp(i t z)] of one coordinate.

    Raises:
        ArgumentError: unless ``kind`` is one of :data:`KINDS`.
    """
    check_choice("kind", kind, KINDS)
    if kind == "gaussian":
        value: Any = np.exp(-(t**2) / 2)
    elif kind == "laplace":
        value = 1 / (1 + t**2 / 2)
    elif kind == "uniform":
        value = np.sinc(_ROOT3 * t / math.pi)
    else:
        value = np.exp(-1j * t) / (1 - 1j * t)
    return np.asarray(value, dtype=np.complex128)


def projection_cdf(kind: str, w: Any, s: float, step: float = 0.05, terms: int = 40_000) -> float:
    """Return P[<w, z> <= s] for noise z and |w| = 1, by inversion of the characteristic function.

    One active coordinate has a closed form. Otherwise the midpoint rule of Gil-Pelaez' integral gives the law
    wrapped around a circle of length 2 pi/step (R. B. Davies, Numerical inversion of a characteristic
    function); with 125 standard deviations nothing is lost, and the cut at step * terms = 2,000 costs less
    than 1e-5.

    Example:
        >>> abs(projection_cdf("gaussian", [3.0, 4.0, 0.0], -1.0) - 0.158655) < 1e-5
        True
    """
    w = unit(check_vector("w", w))
    active = w[w != 0]
    if len(active) == 1:
        return cdf(kind, s) if active[0] > 0 else 1 - cdf(kind, -s)
    k = np.arange(terms) + 0.5
    phi = np.asarray(np.exp(-1j * s * step * k), dtype=np.complex128)
    for weight in active:
        phi *= characteristic(kind, weight * step * k)
    return float(np.clip(0.5 - (phi.imag / k).sum() / math.pi, 0.0, 1.0))


@dataclass(frozen=True)
class PlaneConstants:
    """Bounds of the density of a projection to one plane.

    Attributes:
        anti: U with 1/U <= density wherever |z| <= r; infinite if the density vanishes there.
        peak: the largest density on a grid of the disc of radius 8: an estimate from below of the least
            upper bound, and no bound.
        r: the radius.
    """

    anti: float
    peak: float
    r: float

    @property
    def weak_error(self) -> float:
        """r^2/(144 U), the error of a weak learner that the theory of self-training asks for."""
        return self.r**2 / (144 * self.anti)


def plane_constants(kind: str, basis: Any, r: float = 1.0) -> PlaneConstants:
    """Return the (U, r)-constants of the noise projected to one plane, on a grid of points.

    The definition asks for one U for all planes. Gaussian noise has the same density on all of them, with
    1/U = exp(-r^2/2)/(2 pi). For other kinds a plane gives a lower bound on U only.

    Args:
        kind: of noise.
        basis: two orthonormal vectors, shape (d, 2).
        r: radius of the disc, in (0, 8].

    Raises:
        ArgumentError: unless ``basis`` is two orthonormal columns and r <= 8.

    Example:
        >>> c = plane_constants("gaussian", np.eye(3)[:, :2])
        >>> round(c.anti, 1), round(c.weak_error * 1e4, 1)
        (10.4, 6.7)
    """
    plane = check_points("basis", basis)
    if plane.shape[1] != 2 or not np.allclose(plane.T @ plane, np.eye(2), atol=1e-9):
        raise ArgumentError("basis", "two orthonormal columns", f"of shape {plane.shape}")
    radius = check_positive("r", r)
    if radius > 8:
        raise ArgumentError("r", "a number <= 8", radius)
    angles = np.linspace(0, 2 * math.pi, 48, endpoint=False)
    rim = np.column_stack([np.cos(angles), np.sin(angles)])
    inner = np.concatenate([rho * rim for rho in np.linspace(0, radius, 16)])
    outer = np.concatenate([rho * rim for rho in np.linspace(0, 8, 65)])
    low = float(plane_density(kind, plane, inner).min())
    anti = 1 / low if low > 1e-9 else math.inf
    return PlaneConstants(anti, float(plane_density(kind, plane, outer).max()), radius)


def plane_density(kind: str, basis: Points, z: Points) -> Points:
    """Return the density of the projection to a plane at points z (k, 2).

    Coordinate planes have a product density. Otherwise the two-dimensional characteristic function is
    inverted by the trapezoidal rule on [-24, 24]^2; a plane that almost holds an axis of rough noise is
    resolved coarsely.
    """
    active = np.flatnonzero(np.abs(basis).max(axis=1) > 1e-12)
    if len(active) == 2:
        coordinates = z @ basis[active].T
        return np.asarray(density(kind, coordinates[:, 0]) * density(kind, coordinates[:, 1]))
    step = 0.2
    t = step * np.arange(-120, 121)
    grid = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    phi = np.ones(len(grid), dtype=np.complex128)
    for row in basis[active]:
        phi *= characteristic(kind, grid @ row)
    first, second = np.exp(-1j * np.outer(z[:, 0], t)), np.exp(-1j * np.outer(z[:, 1], t))
    values = np.einsum("ka,ab,kb->k", first, phi.reshape(len(t), len(t)), second, optimize=True)
    return np.asarray(np.maximum(values.real * (step / (2 * math.pi)) ** 2, 0.0))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Two classes of equal weight: x = y mu + z with isotropic noise z.

    Args:
        mu: the mean of class +1, shape (d,), not zero.
        kind: of noise.

    Raises:
        ArgumentError: unless ``kind`` is one of :data:`KINDS`.

    Example:
        >>> mixture = Mixture([1.0, 0.0, 0.0])
        >>> round(mixture.bayes_error(), 4), round(mixture.error([1, 1, 0]), 4)
        (0.1587, 0.2398)
    """

    mu: Points
    kind: str = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check_vector("mu", self.mu))
        check_choice("kind", self.kind, KINDS)

    @classmethod
    def on_axis(cls, d: int, length: float = 1.0, kind: str = "gaussian") -> Mixture:
        """Return the mixture with mean length * e_1 in dimension d and noise of a kind of :data:`KINDS`.

        Raises:
            ArgumentError: unless ``d`` is an integer >= 1.
        """
        return cls(check_positive("length", length) * np.eye(check_integer("d", d, 1))[0], kind)

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.mu)

    def sample(self, n: int, rng: np.random.Generator | int) -> tuple[Points, Signs]:
        """Return n labelled points, (n, d) and (n,), drawn with rng: a Generator or a seed."""
        generator = check_rng(rng, "mixture")
        z = draw(self.kind, n, self.d, generator)
        y = generator.choice(np.array([-1, 1], dtype=np.int8), n)
        return z + y[:, None] * self.mu, y

    def error(self, w: Any) -> float:
        """Return P[sign<w, x> != y], from the closed form (Gaussian) or by inversion (other kinds)."""
        w = unit(check_vector("w", w, self.d))
        shift = float(w @ self.mu)
        if self.kind == "gaussian":
            return math.erfc(shift / _ROOT2) / 2
        return (projection_cdf(self.kind, w, -shift) + 1 - projection_cdf(self.kind, w, shift)) / 2

    def bayes_error(self) -> float:
        """Return the least error of any rule: for Gaussian noise, or a mean along a coordinate axis.

        It is half the integral of the smaller of the two class densities. With Gaussian noise the best rule
        is sign<mu, x>; with other symmetric product noise it is so if mu lies along an axis, and in general
        not: the log-likelihood ratio is no monotone function of <mu, x>.

        Raises:
            ArgumentError: for other noise with a mean off the axes, where no one-dimensional formula holds.
        """
        length = float(np.linalg.norm(self.mu))
        if self.kind == "gaussian":
            return math.erfc(length / _ROOT2) / 2
        if np.count_nonzero(self.mu) > 1:
            raise ArgumentError("mu", "along a coordinate axis (or the noise Gaussian)", "another direction")
        # Between kinks of the two densities the smaller one is smooth.
        kinks = sorted(
            {s * length + c for s in (-1, 1) for c in (-_ROOT3, -1.0, 0.0, _ROOT3)} | {-40.0, 0.0, 40.0}
        )
        nodes, weights = np.polynomial.legendre.leggauss(60)
        total = 0.0
        for a, b in pairwise(kinks):
            x = (a + b) / 2 + (b - a) / 2 * nodes
            smaller = np.minimum(density(self.kind, x - length), density(self.kind, x + length))
            total += float((weights * smaller).sum()) * (b - a) / 2
        return total / 2


@dataclass(frozen=True, eq=False)
class Massart:
    """Labels of a halfspace, flipped with a probability that depends on the point and stays below 1/2.

    Args:
        target: the halfspace's weights, shape (d,).
        rate: points (n, d) -> flip probabilities (n,); the adversary's choice.
        bound: the largest rate, < 1/2.
        kind: law of the points.

    Raises:
        ArgumentError: unless ``kind`` is one of :data:`KINDS` and ``bound`` is a number with 0 <= bound <
            1/2.

    Example:
        >>> oracle = Massart([0.0, 1.0], lambda X: np.where(X[:, 0] > 0, 0.4, 0.0), 0.4)
        >>> X, y = oracle.sample(1000, 0)
        >>> bool((y[X[:, 0] <= 0] == decide(X, oracle.target)[X[:, 0] <= 0]).all())
        True
    """

    target: Points
    rate: Callable[[Points], Points]
    bound: float
    kind: str = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", unit(check_vector("target", self.target)))
        check_choice("kind", self.kind, KINDS)
        if not 0 <= self.bound < 0.5:
            raise ArgumentError("bound", "a number with 0 <= bound < 1/2", self.bound)

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.target)

    def sample(self, n: int, rng: np.random.Generator | int) -> tuple[Points, Signs]:
        """Return n points and noisy labels.

        Raises:
            ArgumentError: when the rate leaves [0, bound] at a point.
        """
        generator = check_rng(rng, "Massart")
        X = draw(self.kind, n, self.d, generator)
        rates = np.asarray(self.rate(X), dtype=float)
        if rates.shape != (n,) or not ((rates >= 0) & (rates <= self.bound)).all():
            raise ArgumentError("rate", f"a function into [0, {self.bound}]", "one that leaves it")
        flips = generator.random(n) < rates
        return X, np.where(flips, -decide(X, self.target), decide(X, self.target)).astype(np.int8)

    def error(self, w: Any, size: int = 200_000, seed: int = 2) -> float:
        """Return P[sign<w, x> != sign<target, x>]: angle/pi for Gaussian points, else on a fixed sample."""
        w = unit(check_vector("w", w, self.d))
        if self.kind == "gaussian":
            return math.acos(float(np.clip(w @ self.target, -1.0, 1.0))) / math.pi
        X = draw(self.kind, size, self.d, seed)
        return float(np.mean(decide(X, w) != decide(X, self.target)))
