"""Polynomial gradients: approximation errors, Hermite identities, unbiasedness, exact second moments."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.local.learning.distributions import Mixture
from geomdp.local.learning.gradients import (
    JointCopies,
    Messages,
    OneCopy,
    PaperCopies,
    users_needed,
)
from geomdp.local.learning.inputs import unit_rows
from geomdp.local.learning.polynomial import (
    Polynomial,
    hinge_polynomial,
    logistic_derivative,
    logistic_polynomial,
    smoothed_hinge_derivative,
)

DELTA = "1e-5"


def _poly(*coefficients):
    return Polynomial(coefficients, 1.0, 0.0, "test")


def _expected(mechanism, X, y, w, nodes):
    """E[estimate] and E|estimate|^2 of one record, by tensor quadrature over all its Gaussian noise."""
    z, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    shape = mechanism.privatise(X, y, 0)
    size, mean, square = shape.X.size + (0 if shape.Y is None else shape.Y.size), 0.0, 0.0
    for places in itertools.product(range(nodes), repeat=size):
        noise = mechanism.sigma * z[list(places)]
        first = noise[: shape.X.size].reshape(shape.X.shape)
        if shape.Y is None:
            message = Messages((X * y[:, None])[:, None, :] + first)
        else:
            message = Messages(
                X[:, None, :] + first, y[:, None] + noise[shape.X.size :].reshape(shape.Y.shape)
            )
        g, p = mechanism.gradient(message, w), weights[list(places)].prod()
        mean, square = mean + p * g, square + p * (g @ g)
    return mean, square


@pytest.mark.parametrize(
    "mechanism",
    [
        OneCopy(_poly(0.5, -1.0, 0.3, 0.7), 4, DELTA),
        OneCopy(_poly(2.0), 1, DELTA),
        JointCopies(_poly(0.5, -1.0), 4, DELTA),
        JointCopies(_poly(0.5, -1.0, 0.4), 30, DELTA),
        PaperCopies(_poly(0.5, -1.0), 4, DELTA),
        PaperCopies(_poly(-0.5), 4, DELTA, "joint"),
    ],
    ids=lambda m: f"{type(m).__name__}-{m.polynomial.degree}",
)
def test_estimates_are_unbiased_and_second_moments_exact(mechanism):
    """E[estimate] = q(<w, v>) v and E|estimate|^2 = second_moment, by quadrature over the noise, d = 2."""
    X, y, w = np.array([[0.6, -0.5]]), np.array([-1]), np.array([0.7, 0.4])
    V = X * y[:, None]
    nodes = 5 if isinstance(mechanism, OneCopy) else 3
    mean, square = _expected(mechanism, X, y, w, nodes)
    assert mean == pytest.approx(mechanism.polynomial(V @ w)[0] * V[0], abs=1e-8 * math.sqrt(square))
    assert mechanism.second_moment(V, w)[0] == pytest.approx(square, rel=1e-9)


@pytest.mark.parametrize("k", range(8))
def test_hermite_polynomials_recover_powers(k):
    """E[H_k(m + s N)] = m^k and the slope is k H_{k-1}, by Gauss-Hermite quadrature."""
    mechanism = OneCopy(_poly(*np.eye(8)[k]), 1, DELTA)
    z, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    for m, s in [(0.3, 1.7), (-1.1, 0.4), (0.0, 1.0)]:
        value, slope = mechanism._pair(m + s * z, s)
        assert weights @ value == pytest.approx(m**k, abs=1e-10 * max(1.0, np.abs(value).max()))
        expected = k * m ** (k - 1) if k else 0.0
        assert weights @ slope == pytest.approx(expected, abs=1e-10 * max(1.0, np.abs(slope).max()))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-2, 2), min_size=1, max_size=5),
    st.floats(-1, 1),
    st.floats(-1, 1),
    st.floats(-0.7, 0.7),
)
def test_one_copy_is_never_worse_than_copies(coefficients, a, b, c):
    """Rao-Blackwell: second moments of one copy <= joint copies <= copies per monomial with joint noise."""
    q, V = _poly(*coefficients), np.array([[c, 0.7]])
    w = np.array([a, b])
    one, joint, paper = (
        kind.second_moment(V, w)[0]
        for kind in (OneCopy(q, 1, DELTA), JointCopies(q, 1, DELTA), PaperCopies(q, 1, DELTA, "joint"))
    )
    least = 1e-300  # below it floats lose digits, and squares of coefficients vanish
    assert one <= joint * (1 + 1e-9) + least
    assert q.degree == 0 or one <= paper * (1 + 1e-9) + least


@pytest.mark.parametrize("p", [0, 1, 3])
@pytest.mark.parametrize("epsilon", [1, 4])
def test_privacy_of_the_whole_message_is_exact(p, epsilon):
    """One copy and joint copies spend epsilon exactly; composed calibrations spend less than they charge."""
    q = logistic_polynomial(p)
    for kind in (OneCopy, JointCopies):
        assert kind(q, epsilon, DELTA).loss() == pytest.approx(epsilon, rel=1e-9)
    assert PaperCopies(q, epsilon, DELTA, "joint").loss() == pytest.approx(epsilon, rel=1e-9)
    for calibration in ("basic", "paper") if p else ("basic",):
        mechanism = PaperCopies(q, epsilon, DELTA, calibration)
        assert 0 < mechanism.loss() < epsilon
    if p:
        assert PaperCopies(q, epsilon, DELTA).sigma == pytest.approx(
            math.sqrt(32 * math.log(1.25e5)) * p * (p + 1) / epsilon
        )


def test_sample_costs_rise_with_copies_and_degree():
    """Users for a gradient within a quarter: one copy, joint, joint noise per monomial, published noise."""
    X, y = Mixture.on_axis(10).sample(5000, 0)
    V, w = unit_rows(X) * y[:, None], 0.75 * np.eye(10)[0]
    q = logistic_polynomial(1)
    kinds = (
        OneCopy(q, 1, DELTA),
        JointCopies(q, 1, DELTA),
        PaperCopies(q, 1, DELTA, "joint"),
        PaperCopies(q, 1, DELTA),
    )
    costs = [users_needed(kind, V, w) for kind in kinds]
    assert costs == sorted(costs)
    assert costs[3] > 1e8 * costs[0]
    assert users_needed(OneCopy(logistic_polynomial(3), 1, DELTA), V, w) > 10 * costs[0]
    zero = [users_needed(kind(logistic_polynomial(0), 1, DELTA), V, w) for kind in (OneCopy, JointCopies)]
    assert zero[0] == pytest.approx(zero[1])


def test_sample_cost_is_the_measured_spread():
    """Simulated mean gradients of n users have the relative spread that the formula says."""
    X, y = Mixture.on_axis(3).sample(400, 0)
    X, w = unit_rows(X), np.array([0.5, 0.0, 0.0])
    mechanism = OneCopy(logistic_polynomial(1), 4, DELTA)
    V = X * y[:, None]
    mean = (mechanism.polynomial(V @ w)[:, None] * V).mean(axis=0)
    runs = np.array([mechanism.gradient(mechanism.privatise(X, y, s), w) for s in range(600)])
    spread = ((runs - mean) ** 2).sum(axis=1).mean() * 400
    own = (mechanism.second_moment(V, w) - (mechanism.polynomial(V @ w) ** 2 * (V**2).sum(axis=1))).mean()
    assert spread == pytest.approx(own, rel=0.15)


def test_logistic_polynomials_are_close_and_even_terms_vanish():
    """Chebyshev errors fall as .23, .009, 2e-4, 5e-6, 1e-7; even coefficients beyond the first are 0."""
    errors = [logistic_polynomial(p).error for p in (0, 1, 3, 5, 7)]
    assert errors == pytest.approx([0.231, 0.0090, 2.1e-4, 5.2e-6, 1.2e-7], rel=0.05)
    assert np.abs(logistic_polynomial(5).coefficients[2::2]).max() < 1e-15
    u = np.linspace(-3, 3, 101)
    assert logistic_polynomial(9, 3.0)(u) == pytest.approx(logistic_derivative(u), abs=1e-4)


def test_hinge_polynomials_are_hopeless_at_low_degree():
    """Errors of .59, .34, .35 (Bernstein) and .63, .50, .15 (Chebyshev) at degrees 1, 3, 5."""
    bernstein = [hinge_polynomial(p, basis="bernstein") for p in (1, 3, 5)]
    assert [q.error for q in bernstein] == pytest.approx([0.59, 0.34, 0.35], abs=0.01)
    chebyshev = [hinge_polynomial(p).error for p in (1, 3, 5)]
    assert chebyshev == pytest.approx([0.63, 0.50, 0.15], abs=0.01)
    u, p = np.linspace(-1, 1, 21), 5
    f, s = smoothed_hinge_derivative(0.1), (1 + u) / 2
    direct = sum(f(2 * j / p - 1) * math.comb(p, j) * s**j * (1 - s) ** (p - j) for j in range(p + 1))
    assert bernstein[2](u) == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: PaperCopies(logistic_polynomial(0), 1, DELTA), "calibration"),
        (lambda: OneCopy(logistic_polynomial(1), 0, DELTA), "epsilon"),
        (lambda: OneCopy(logistic_polynomial(1), 1, 0), "delta"),
        (lambda: OneCopy(logistic_polynomial(1), 1, 1), "delta"),
        (lambda: OneCopy(_poly(1.0), 1, DELTA).privatise(np.array([[3.0]]), np.array([1]), 0), "X"),
        (lambda: OneCopy(_poly(1.0), 1, DELTA).privatise(np.array([[1.0]]), np.array([2]), 0), "y"),
        (lambda: users_needed(OneCopy(_poly(1.0), 1, DELTA), np.array([[1.0], [-1.0]]), [1.0]), "V"),
        (lambda: logistic_polynomial(-1), "degree"),
        (lambda: logistic_polynomial(1, 0), "radius"),
        (lambda: hinge_polynomial(3, 0.0), "smoothing"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    """Every refusal names the argument."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()


def test_budgets_are_fractions():
    """A budget is held exactly."""
    assert OneCopy(_poly(1.0), 0.1, 1e-5).epsilon == Fraction(1, 10)


def test_published_noise_that_proves_nothing_is_refused():
    """Where the classical formula leaks, the mechanism is refused; the joint calibration always holds."""
    from geomdp.local.learning.gaussian import GaussianVector

    constant = logistic_polynomial(0)
    for budget in ((14, "0.5"), (40, "0.9")):
        with pytest.raises(ArgumentError, match="Argument 'calibration'"):
            PaperCopies(constant, *budget, "basic")
        assert PaperCopies(constant, *budget, "joint").loss() <= budget[0] + 1e-9
    with pytest.raises(ArgumentError, match="Argument 'V'"):
        GaussianVector(1.0).sample(np.array([[1e6, 0.0]]), 0)
    with pytest.raises(ArgumentError, match="Argument 'V'"):
        users_needed(OneCopy(constant, 1, "1e-5"), np.array([[9.0, 0.0]]), np.array([1.0, 0.0]))
