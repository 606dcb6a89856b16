"""One message per user from which a server estimates E[q(<w, v>) v] at every w: three mechanisms.

v = y x is the folded record, |v| <= 1, and q a polynomial of degree p.

* :class:`PaperCopies`: noisy copies of x and of y, a fresh block for each monomial (K. Zheng, W. Mou and
  L. Wang, Collect at Once, Use Effectively, ICML 2017; D. Wang, M. Gaboardi, A. Smith and J. Xu, JMLR 2020).
* :class:`JointCopies`: p + 1 copies of v, charged as the one Gaussian mechanism that they are.
* :class:`OneCopy`: one noisy copy z, and Hermite polynomials in <w, z>. It never has a larger variance than
  the second: the mean of the copies is a sufficient statistic with the law of z, and the Hermite estimate is
  the conditional expectation of the copies' estimate (Rao-Blackwell). The same idea is used by Dufraiche et
  al., Inverse Weierstrass Private SGD.

All three are one Gaussian vector per user, released exactly with a sampler or simulated in floats. Second
moments are exact: the number of users that a target needs (:func:`users_needed`) is a formula and no
experiment.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geomdp.core.errors import ArgumentError, check_choice, check_epsilon, describe
from geomdp.local.finite import Dice
from geomdp.local.learning.gaussian import GaussianVector, analytic_sigma, check_delta, classical_sigma
from geomdp.local.learning.inputs import (
    Points,
    Signs,
    bounded,
    check_labels,
    check_points,
    check_positive,
    is_simulated,
)
from geomdp.local.learning.polynomial import Polynomial

Seed = np.random.Generator | int | None


@dataclass(frozen=True, eq=False)
class Messages:
    """What the users sent.

    Attributes:
        X: noisy vectors, shape (n, copies, d).
        Y: noisy labels, shape (n, copies), or None where the label is folded into the vector.
        simulated: True unless the noise came from a sampler whose entropy counts.
    """

    X: Points
    Y: Points | None = None
    simulated: bool = True


@dataclass(frozen=True)
class GradientMechanism(ABC):
    """A non-interactive private estimate of polynomial gradients.

    Args:
        polynomial: q.
        epsilon, delta: the budget that the noise is calibrated to.

    Raises:
        ArgumentError: unless ``polynomial`` is a Polynomial and ``epsilon`` a number with 10^-6 <= epsilon <=
            100.
    """

    polynomial: Polynomial
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.polynomial, Polynomial):
            raise ArgumentError("polynomial", "a Polynomial", describe(self.polynomial))
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))

    @property
    @abstractmethod
    def sigma(self) -> float:
        """Standard deviation of every noisy coordinate."""

    @property
    @abstractmethod
    def copies(self) -> int:
        """Number of noisy copies of a record."""

    @property
    @abstractmethod
    def law(self) -> GaussianVector:
        """The whole message as one Gaussian mechanism, with its joint sensitivity."""

    @abstractmethod
    def privatise(
        self, X: Points, y: Points | Signs, rng: Seed = None, *, sampler: Dice | None = None
    ) -> Messages:
        """Return the users' messages for rows of norm <= 1 and labels -1/+1.

        Args:
            X: private points, shape (n, d).
            y: private labels, shape (n,).
            rng: for a simulation in floats.
            sampler: instead of rng; with SecureSampler the messages are a release.

        Raises:
            ArgumentError: on longer rows, other labels, or unless exactly one of rng and sampler is given.
        """

    @abstractmethod
    def gradient(self, messages: Messages, w: Points) -> Points:
        """Return the average estimate of q(<w, v>) v, shape (d,)."""

    @abstractmethod
    def second_moment(self, V: Points, w: Points) -> Points:
        """Return E|estimate|^2 for each record, exactly, shape (n,)."""

    def loss(self, delta: Fraction | float | str | None = None) -> float:
        """Return the least epsilon of the whole message at delta (the budget's by default), rounded up."""
        return self.law.loss(self.delta if delta is None else delta)

    def _checked(self, X: Points, y: Points | Signs) -> tuple[Points, Points]:
        points = bounded("X", check_points("X", X), False)
        return points, check_labels("y", y, len(points)).astype(float)

    def _folded(self, X: Points, y: Points | Signs, rng: Seed, sampler: Dice | None) -> Messages:
        """Return the copies of y x, published as one vector."""
        points, labels = self._checked(X, y)
        (n, d), k = points.shape, self.copies
        noisy = self.law.publish(np.tile(points * labels[:, None], (1, k)), rng, sampler)
        return Messages(noisy.reshape(n, k, d), None, is_simulated(sampler))


@dataclass(frozen=True)
class PaperCopies(GradientMechanism):
    """Noisy copies of x and of y; monomial j uses j fresh ones, the outer factor v another one.

    K = p(p+1)/2 + 1 copies of the pair (x, y). The estimate is
    [sum_j a_j prod_{c in block j} y_c <w, x_c>] y_0 x_0, unbiased since all noises are independent.

    Args:
        calibration: "paper", the published noise for p >= 1: the classical formula at epsilon/(2 p (p+1)) per
            release, delta for each; "basic": the classical formula at epsilon/(2K) and delta/(2K); or
            "joint": the analytic noise of all 2K releases as one vector.

    Proof note. Two records differ by at most 2 in x and 2 in y; the 2K releases together are one Gaussian
    vector of sensitivity 2 sqrt(2K), whatever was composed to choose the noise. Its privacy curve is exact
    (see `law`). Conclusion: (epsilon, delta)-DP at the loss that `loss()` returns. At usual budgets it lies
    far below epsilon for "paper" and "basic", as composition charges what is not spent. The classical
    formula is a theorem for a loss of at most 1 per release only; "basic" and "paper" are therefore refused
    when the exact loss exceeds epsilon.

    Raises:
        ArgumentError: when the published noise does not give (epsilon, delta)-DP.
    """

    calibration: str = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("calibration", self.calibration, ("paper", "basic", "joint"))
        if self.calibration == "paper" and self.polynomial.degree == 0:
            raise ArgumentError(
                "calibration", "'basic' or 'joint' at degree 0", "'paper'", "The published noise is 0 there."
            )
        if self.calibration != "joint" and self.law.delta(self.epsilon).hi > self.delta:
            raise ArgumentError(
                "calibration",
                "'joint' at this budget",
                repr(self.calibration),
                "The classical formula does not hold for large epsilon or delta.",
            )

    @property
    def copies(self) -> int:
        """K = p(p+1)/2 + 1."""
        p = self.polynomial.degree
        return p * (p + 1) // 2 + 1

    @property
    def sigma(self) -> float:
        """Standard deviation of every noisy coordinate."""
        p, releases = self.polynomial.degree, 2 * self.copies
        if self.calibration == "paper":
            return classical_sigma(float(self.epsilon) / (2 * p * (p + 1)), float(self.delta))
        if self.calibration == "basic":
            return classical_sigma(float(self.epsilon) / releases, float(self.delta) / releases)
        return analytic_sigma(self.epsilon, self.delta, 2 * math.sqrt(releases))

    @property
    def law(self) -> GaussianVector:
        """All 2K releases as one vector."""
        return GaussianVector(self.sigma, 2 * math.sqrt(2 * self.copies))

    def privatise(
        self, X: Points, y: Points | Signs, rng: Seed = None, *, sampler: Dice | None = None
    ) -> Messages:
        """Return X of shape (n, K, d) and Y of shape (n, K)."""
        points, labels = self._checked(X, y)
        (n, d), k = points.shape, self.copies
        row = np.concatenate((np.tile(points, (1, k)), np.tile(labels[:, None], (1, k))), axis=1)
        noisy = self.law.publish(row, rng, sampler)
        return Messages(noisy[:, : k * d].reshape(n, k, d), noisy[:, k * d :], is_simulated(sampler))

    def gradient(self, messages: Messages, w: Points) -> Points:
        """Return the average estimate."""
        assert messages.Y is not None  # noqa: S101 - made by privatise
        u = messages.Y * (messages.X @ w)
        total, start = np.full(len(u), self.polynomial.coefficients[0]), 1
        for j, a in enumerate(self.polynomial.coefficients[1:], 1):
            total = total + a * u[:, start : start + j].prod(axis=1)
            start += j
        return np.asarray((total * messages.Y[:, 0]) @ messages.X[:, 0] / len(u))

    def second_moment(self, V: Points, w: Points) -> Points:
        """Return E|estimate|^2 for records v = y x: products over independent copies."""
        m, s2 = V @ w, self.sigma**2
        square = (1 + s2) * (m**2 + s2 * float(w @ w))
        a = self.polynomial.coefficients
        mean = np.polynomial.polynomial.polyval(m, a)
        moment = mean**2 + sum(c**2 * (square**j - m ** (2 * j)) for j, c in enumerate(a))
        return np.asarray(moment * (1 + s2) * ((V**2).sum(axis=1) + V.shape[1] * s2))


@dataclass(frozen=True)
class JointCopies(GradientMechanism):
    """p + 1 noisy copies of v, one for the outer factor, the others shared by all monomials.

    The estimate is [sum_j a_j prod_{c <= j} <w, v_c>] v_0; factors of one product need independent noise,
    different monomials do not.

    Proof note. (v, ..., v) has sensitivity 2 sqrt(p + 1). Conclusion: (epsilon, delta)-DP with the analytic
    noise of one release, times sqrt(p + 1).
    """

    @property
    def copies(self) -> int:
        """The number of copies, p + 1."""
        return self.polynomial.degree + 1

    @property
    def sigma(self) -> float:
        """Standard deviation of every noisy coordinate."""
        return analytic_sigma(self.epsilon, self.delta, 2 * math.sqrt(self.copies))

    @property
    def law(self) -> GaussianVector:
        """The copies as one vector."""
        return GaussianVector(self.sigma, 2 * math.sqrt(self.copies))

    def privatise(
        self, X: Points, y: Points | Signs, rng: Seed = None, *, sampler: Dice | None = None
    ) -> Messages:
        """Return noisy copies of y x, shape (n, p + 1, d)."""
        return self._folded(X, y, rng, sampler)

    def gradient(self, messages: Messages, w: Points) -> Points:
        """Return the average estimate."""
        products = np.cumprod(messages.X[:, 1:] @ w, axis=1)
        a = np.array(self.polynomial.coefficients)
        return np.asarray((a[0] + products @ a[1:]) @ messages.X[:, 0] / len(products))

    def second_moment(self, V: Points, w: Points) -> Points:
        """Return E|estimate|^2: E[prod_{c<=j} u_c prod_{c<=l} u_c] = (m^2 + s^2)^j m^(l-j) for j <= l."""
        m, s2 = V @ w, self.sigma**2
        square, a = m**2 + s2 * float(w @ w), self.polynomial.coefficients
        total = np.zeros(len(V))
        for j, b in enumerate(a):
            for k, c in enumerate(a):
                total = total + b * c * square ** min(j, k) * m ** abs(j - k)
        return np.asarray(total * ((V**2).sum(axis=1) + V.shape[1] * s2))


@dataclass(frozen=True)
class OneCopy(GradientMechanism):
    """One noisy copy z = v + N(0, sigma^2 I), and Hermite polynomials in u = <w, z>.

    With s = sigma |w|, H_0 = 1, H_1 = u, H_{k+1} = u H_k - k s^2 H_{k-1} one has E[H_k(u)] = <w, v>^k. For
    Q = sum a_k H_k the estimate is

        Q(u) z - sigma^2 Q'(u) w,   Q' = sum a_k k H_{k-1}.

    Unbiased: by Stein's identity E[Q(u) (z - v)] = sigma^2 E[Q'(u)] w, so the correction leaves
    E[Q(u)] v = q(<w, v>) v.

    Proof note. One release of sensitivity 2. Conclusion: (epsilon, delta)-DP with the analytic noise.

    Example:
        >>> from geomdp.local.learning.polynomial import logistic_polynomial
        >>> one = OneCopy(logistic_polynomial(1), 1, "1e-5")
        >>> joint = JointCopies(logistic_polynomial(1), 1, "1e-5")
        >>> V, w = np.array([[0.6, 0.8]]), np.array([1.0, 0.0])
        >>> bool((one.second_moment(V, w) < joint.second_moment(V, w)).all())
        True
    """

    @property
    def copies(self) -> int:
        """One."""
        return 1

    @property
    def sigma(self) -> float:
        """Standard deviation of every noisy coordinate."""
        return analytic_sigma(self.epsilon, self.delta)

    @property
    def law(self) -> GaussianVector:
        """The one release."""
        return GaussianVector(self.sigma, 2.0)

    def privatise(
        self, X: Points, y: Points | Signs, rng: Seed = None, *, sampler: Dice | None = None
    ) -> Messages:
        """Return one noisy copy of y x, shape (n, 1, d)."""
        return self._folded(X, y, rng, sampler)

    def _pair(self, u: Points, s: float) -> tuple[Points, Points]:
        """Return Q(u) and Q'(u)."""
        value, slope = np.zeros_like(u), np.zeros_like(u)
        last, now = np.zeros_like(u), np.ones_like(u)
        for k, a in enumerate(self.polynomial.coefficients):
            value, slope = value + a * now, slope + a * k * last
            last, now = now, u * now - k * s**2 * last
        return value, slope

    def gradient(self, messages: Messages, w: Points) -> Points:
        """Return the average estimate."""
        z, sigma = messages.X[:, 0], self.sigma
        value, slope = self._pair(z @ w, sigma * float(np.linalg.norm(w)))
        return np.asarray(value @ z / len(z) - sigma**2 * slope.mean() * w)

    def second_moment(self, V: Points, w: Points) -> Points:
        """Return E|estimate|^2 by Gauss-Hermite quadrature along w, exact for polynomials.

        Across w the noise is independent of u and adds E[Q^2] (|v across w|^2 + (d-1) sigma^2).
        """
        length, sigma = float(np.linalg.norm(w)), self.sigma
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.polynomial.degree + 3)
        weights = weights / weights.sum()
        m = V @ w
        if length == 0:
            constant = self.polynomial.coefficients[0]
            return np.asarray(constant**2 * ((V**2).sum(axis=1) + V.shape[1] * sigma**2))
        u = m[:, None] + sigma * length * nodes
        value, slope = self._pair(u, sigma * length)
        along = (value * u / length - sigma**2 * slope * length) ** 2 @ weights
        across = (V**2).sum(axis=1) - (m / length) ** 2 + (V.shape[1] - 1) * sigma**2
        return np.asarray(along + (value**2 @ weights) * across)


def users_needed(mechanism: GradientMechanism, V: Points, w: Points, relative: float = 0.25) -> float:
    """Return the number of users for which the noise of the mean gradient is a share of its length.

    n = E|estimate - mean|^2 / (relative^2 |mean|^2), over the given records.

    Args:
        mechanism: with its budget.
        V: folded records y x of norm <= 1, shape (n, d): the population.
        w: where the gradient is wanted.
        relative: the share.

    Raises:
        ArgumentError: when the mean gradient is zero, or ``w`` no vector of d numbers.
    """
    V = bounded("V", check_points("V", V), False)
    w = check_points("w", [w], V.shape[1])[0]
    mean = (mechanism.polynomial(V @ w)[:, None] * V).mean(axis=0)
    signal = float(mean @ mean)
    if signal == 0:
        raise ArgumentError("V", "records with a mean gradient that is not zero", "others")
    variance = float(mechanism.second_moment(V, w).mean()) - signal
    return variance / (check_positive("relative", relative) ** 2 * signal)
