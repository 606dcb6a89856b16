"""Gaussian noise: enclosures of the normal law, the exact privacy curve, the least noise."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.learning.gaussian import (
    GaussianVector,
    analytic_sigma,
    check_delta,
    classical_sigma,
    gaussian_delta,
    normal_cdf,
)


def _holds(interval, value):
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (interval.lo, interval.hi))
    return low <= value <= high


@pytest.mark.parametrize("x", ["0", "1/3", "-1", "2.5", "-7", "-20", "-39.9", "39.9", "-41", "41"])
def test_normal_law_is_enclosed(x):
    """Phi(x) lies in the enclosure, which is at most 2^-190 wide."""
    with mpmath.workdps(600):
        value = mpmath.ncdf(mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator)
        assert _holds(normal_cdf(Fraction(x)), value)
    assert 0 <= normal_cdf(Fraction(x)).hi - normal_cdf(Fraction(x)).lo < Fraction(1, 2**190)


@pytest.mark.parametrize("mu", ["0.01", "1/3", 1, 3, 20])
@pytest.mark.parametrize("epsilon", [0, "0.1", 1, 10])
def test_privacy_curve_is_the_hockey_stick_divergence(mu, epsilon):
    """delta(epsilon) is the integral of the positive part of N(mu, 1) - e^epsilon N(0, 1)."""
    mu, epsilon = Fraction(mu), Fraction(epsilon)
    with mpmath.workdps(150):
        m, e = mpmath.mpf(mu.numerator) / mu.denominator, mpmath.mpf(epsilon.numerator) / epsilon.denominator
        cut = e / m + m / 2  # the likelihood ratio exceeds e^epsilon from here on
        value = mpmath.ncdf(m - cut) - mpmath.exp(e) * mpmath.ncdf(-cut)
        assert _holds(gaussian_delta(mu, epsilon), value)


def test_privacy_curve_by_numerical_integration():
    """The same by brute force on a grid, for one case."""
    x = np.linspace(-12, 14, 400_001)
    first, second = (np.exp(-((x - c) ** 2) / 2) / math.sqrt(2 * math.pi) for c in (1.5, 0.0))
    value = np.maximum(first - math.exp(0.8) * second, 0).sum() * (x[1] - x[0])
    assert float(gaussian_delta(Fraction(3, 2), Fraction(4, 5)).hi) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("epsilon", ["0.05", 1, 2, 4, 30])
@pytest.mark.parametrize("delta", ["1e-5", "1e-12", "0.3"])
def test_noise_is_the_least_that_passes(epsilon, delta):
    """At the returned sigma the upper end of delta passes; a relative 1e-10 less noise fails for certain."""
    sigma = analytic_sigma(epsilon, delta)
    assert GaussianVector(sigma).delta(epsilon).hi <= Fraction(delta)
    assert GaussianVector(sigma * (1 - 1e-10)).delta(epsilon).lo > Fraction(delta)
    assert GaussianVector(sigma).loss(delta) == pytest.approx(float(epsilon), rel=1e-9)


def test_classical_noise_is_larger_where_it_is_valid_and_fails_beyond():
    """For epsilon <= 1 the classical noise exceeds the analytic one; at epsilon = 10, delta = .1 it leaks."""
    for epsilon in (0.1, 0.5, 1.0):
        for delta in (1e-3, 1e-5, 1e-9):
            assert classical_sigma(epsilon, delta) > analytic_sigma(epsilon, str(delta))
    leaking = GaussianVector(classical_sigma(10, 0.1))
    assert leaking.delta(10).lo > Fraction(1, 10)


def test_loss_falls_with_noise_and_with_delta():
    """The least epsilon is monotone in sigma and in delta, 0 for a generous delta, infinite for delta = 0."""
    losses = [GaussianVector(s).loss("1e-5") for s in (1.0, 2.0, 8.0, 64.0)]
    assert losses == sorted(losses, reverse=True)
    assert GaussianVector(2.0).loss("1e-9") > GaussianVector(2.0).loss("1e-3")
    assert (GaussianVector(2.0).loss("0.9"), GaussianVector(2.0).loss(0)) == (0.0, math.inf)


def test_noise_scales_with_sensitivity():
    """Noise is proportional to the sensitivity, so k copies need sqrt(k) times the noise."""
    assert analytic_sigma(1, "1e-5", 6.0) == pytest.approx(3 * analytic_sigma(1, "1e-5"), rel=1e-12)


def test_simulated_messages_have_the_stated_spread():
    """Mean and standard deviation of many messages."""
    noise = GaussianVector(3.0)
    values = noise.sample(np.tile([0.5, -0.5], (50_000, 1)), 0)
    assert values.mean(axis=0) == pytest.approx([0.5, -0.5], abs=0.06)
    assert values.std(axis=0) == pytest.approx([3.0, 3.0], rel=0.02)


@pytest.mark.parametrize("delta", [0, -1, 1, 2, math.nan, "1e-40", None, True])
def test_delta_outside_its_range_is_refused(delta):
    """A delta must lie in [1e-30, 1)."""
    with pytest.raises(ArgumentError, match="Argument 'delta' must be"):
        check_delta(delta)
    with pytest.raises(ArgumentError, match="Argument 'delta' must be"):
        analytic_sigma(1, delta)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, None])
def test_epsilon_outside_its_range_is_refused(epsilon):
    """Epsilon must be positive and finite."""
    with pytest.raises(ArgumentError, match="Argument 'epsilon' must be"):
        analytic_sigma(epsilon, "1e-5")
