"""Polynomials in place of the derivative of a margin loss: what a non-interactive gradient can be built from.

A server that has one noisy copy of v = y x can estimate E[q(<w, v>) v] without bias at every w if q is a
polynomial. The derivative of the loss is therefore replaced by one on [-radius, radius].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geomdp.core.errors import check_choice, check_integer
from geomdp.local.learning.inputs import Points, check_positive


@dataclass(frozen=True)
class Polynomial:
    """A polynomial q(u) = sum of coefficients[k] u^k that stands for a derivative on [-radius, radius].

    Attributes:
        coefficients: lowest degree first.
        radius: half the interval's length.
        error: largest distance to the derivative, on a fine grid.
        name: of the loss and basis.
    """

    coefficients: tuple[float, ...]
    radius: float
    error: float
    name: str

    @property
    def degree(self) -> int:
        """The nominal degree."""
        return len(self.coefficients) - 1

    def __call__(self, u: Points) -> Points:
        """Return q(u)."""
        return np.asarray(np.polynomial.polynomial.polyval(u, self.coefficients))


def logistic_derivative(u: Points) -> Points:
    """Return the derivative -1/(1 + e^u) of log(1 + e^-u), without overflow."""
    u = np.asarray(u, dtype=float)
    shrunk = np.exp(-np.abs(u))
    return np.asarray(-np.where(u >= 0, shrunk, 1.0) / (1 + shrunk))


def smoothed_hinge_derivative(smoothing: float) -> Callable[[Points], Points]:
    """Return the derivative in u of f_b(1/2 - u), f_b(t) = (t + sqrt(t^2 + b^2))/2."""
    b = check_positive("smoothing", smoothing)

    def derivative(u: Points) -> Points:
        t = 0.5 - np.asarray(u, dtype=float)
        return np.asarray(-(1 + t / np.sqrt(t**2 + b**2)) / 2)

    return derivative


def logistic_polynomial(degree: int, radius: float = 1.0) -> Polynomial:
    """Return the Chebyshev interpolation of the logistic derivative.

    Example:
        >>> [f"{logistic_polynomial(p).error:.1e}" for p in (0, 1, 3, 5)]
        ['2.3e-01', '9.0e-03', '2.1e-04', '5.2e-06']
    """
    return _chebyshev(logistic_derivative, degree, radius, "logistic, Chebyshev")


def hinge_polynomial(
    degree: int, smoothing: float = 0.1, basis: str = "chebyshev", radius: float = 1.0
) -> Polynomial:
    """Return a polynomial for the derivative of the smoothed hinge [1/2 - u]_+ .

    Bernstein's polynomial, used by Wang, Gaboardi, Smith and Xu, converges slowly; neither basis is close at
    the degrees that noise allows.

    Args:
        degree: >= 0 (Bernstein >= 1).
        smoothing: b > 0.
        basis: "chebyshev" or "bernstein".
        radius: half the interval's length.

    Raises:
        ArgumentError: unless ``basis`` is "chebyshev" or "bernstein" and ``degree`` is an integer with 1 <=
            degree <= 60.
    """
    derivative = smoothed_hinge_derivative(smoothing)
    if check_choice("basis", basis, ("chebyshev", "bernstein")) == "chebyshev":
        return _chebyshev(derivative, degree, radius, "hinge, Chebyshev")
    p = check_integer("degree", degree, 1, 60)
    size = check_positive("radius", radius)
    share = np.polynomial.Polynomial([0.5, 0.5 / size])  # s = (1 + u/radius)/2
    total = np.polynomial.Polynomial([0.0])
    for j in range(p + 1):
        value = float(derivative(np.array(size * (2 * j / p - 1))))
        total = total + value * math.comb(p, j) * share**j * (1 - share) ** (p - j)
    coefficients = np.zeros(p + 1)
    coefficients[: len(total.coef)] = total.coef
    return _measured(derivative, coefficients, size, "hinge, Bernstein")


def _chebyshev(derivative: Callable[[Points], Points], degree: int, radius: float, name: str) -> Polynomial:
    size = check_positive("radius", radius)
    p = check_integer("degree", degree, 0, 60)
    nodes = np.polynomial.chebyshev.chebpts1(p + 1)
    series = np.polynomial.chebyshev.chebfit(nodes, derivative(size * nodes), p)
    power = np.polynomial.chebyshev.cheb2poly(series)
    coefficients = np.zeros(p + 1)
    coefficients[: len(power)] = power / size ** np.arange(len(power))
    return _measured(derivative, coefficients, size, name)


def _measured(
    derivative: Callable[[Points], Points], coefficients: Points, radius: float, name: str
) -> Polynomial:
    u = np.linspace(-radius, radius, 4001)
    error = np.abs(np.polynomial.polynomial.polyval(u, coefficients) - derivative(u)).max()
    return Polynomial(tuple(coefficients.tolist()), radius, float(error), name)
