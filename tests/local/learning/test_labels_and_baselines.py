"""Personal label privacy, the baselines, and the closed forms for numbers of users."""

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.finite import odds
from geomdp.local.kernels import RandomisedResponse
from geomdp.local.learning.baselines import (
    average,
    corrected_logistic,
    logistic_regression,
    one_bit,
    principal_direction,
)
from geomdp.local.learning.distributions import Mixture, draw
from geomdp.local.learning.estimates import mean_estimate
from geomdp.local.learning.inputs import decide, unit, unit_rows
from geomdp.local.learning.label_dp import flip_rate, respond
from geomdp.local.learning.rates import (
    mean_success_probability,
    one_bit_probability,
    right_side_probability,
    sphere_signal,
    users_for_mean,
    users_for_one_bit,
    users_for_side,
)
from geomdp.privacy.sampler import SecureSampler, SimSampler


def test_personal_labels_are_a_massart_oracle():
    """Rates are 1/(1 + e^epsilon_i) of each user, their maximum the bound, losses the epsilons."""
    epsilons = ["0.3", 4, "0.3", Fraction(1, 2)]
    answer = respond([1, 1, -1, -1], epsilons, rng=0)
    expected = [1 / (1 + math.exp(float(Fraction(e)))) for e in epsilons]
    assert answer.rates == pytest.approx(expected, abs=1e-12)
    assert answer.bound == pytest.approx(expected[0]) == flip_rate("0.3")
    assert answer.bound < 0.5
    assert answer.losses == pytest.approx([0.3, 4, 0.3, 0.5], abs=1e-11)
    assert answer.log_odds == pytest.approx([0.3, 4, 0.3, 0.5], abs=1e-9)


def test_labels_flip_at_their_rates_in_simulation_and_in_exact_draws():
    """Of 20,000 users with two budgets the shares of flips agree with the rates, for both sources."""
    epsilons = [1, 3] * 10_000
    for source in ({"rng": 1}, {"sampler": SimSampler(2)}):
        flips = respond(np.ones(20_000, dtype=int), epsilons, **source).labels < 0
        assert np.mean(flips[::2]) == pytest.approx(flip_rate(1), abs=0.02)
        assert np.mean(flips[1::2]) == pytest.approx(flip_rate(3), abs=0.01)
    assert not respond([1, -1], 1, sampler=SecureSampler()).simulated
    assert respond([1, -1], 1, rng=0).simulated


def test_debiased_average_is_unbiased():
    """The debiased sum, averaged over all flips of three labels with exact probabilities, is the true sum."""
    X, y, eps = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]), np.array([1, -1, -1]), [1, 2, "0.5"]
    kernels, rates = [RandomisedResponse(odds(e)) for e in eps], np.array([flip_rate(e) for e in eps])
    total = np.zeros(2)
    for bits in itertools.product([0, 1], repeat=3):
        p = math.prod(float(k.law(int(v > 0))[b]) for k, v, b in zip(kernels, y, bits, strict=True))
        total += p * ((2 * np.array(bits) - 1) / (1 - 2 * rates)) @ X
    assert total == pytest.approx(y @ X)
    assert average(X, y, np.zeros(3)) == pytest.approx(unit(y @ X))


def test_logistic_regression_stops_where_the_gradient_vanishes():
    """The direction found is that of a zero of the gradient, also where data are separable or one-sided."""
    X, y = Mixture.on_axis(4).sample(500, 0)
    w = logistic_regression(X, y, ridge=1e-9)
    lengths = np.linspace(0.1, 6, 2000)
    losses = [np.logaddexp(0, -(y * (X @ w)) * t).mean() for t in lengths]
    best = lengths[int(np.argmin(losses))] * w
    gradient = -((y / (1 + np.exp(y * (X @ best)))) @ X) / 500
    assert np.abs(gradient).max() < 1e-3
    for labels in (np.ones(500, dtype=int), np.where(X[:, 1] >= 0, 1, -1)):
        assert np.isfinite(logistic_regression(X, labels)).all()
    assert logistic_regression(X, np.where(X[:, 1] >= 0, 1, -1))[1] > 0.9


def test_principal_direction_is_the_top_eigenvector():
    """The direction maximises the second moment among random ones, whatever its sign; it is public."""
    X, _ = Mixture([0.0, 2.0, 0.0]).sample(4000, 0)
    u = principal_direction(X)
    assert abs(u[1]) > 0.99
    others = unit_rows(np.random.default_rng(0).standard_normal((100, 3)))
    assert ((X @ u) ** 2).sum() >= ((X @ others.T) ** 2).sum(axis=0).max()
    assert (principal_direction(-X) == u).all()


def test_one_bit_needs_no_bound_on_points_and_can_be_released():
    """Long rows are fine: only a side is sent. The loss is that of one randomised response."""
    mixture = Mixture.on_axis(10)
    Q = mixture.sample(4000, 0)[0]
    X, y = mixture.sample(200, 1)
    found = one_bit(Q, 100 * X, y, 1, sampler=SecureSampler())
    assert not found.simulated
    assert found.loss == pytest.approx(1, abs=1e-12)
    assert abs(found.votes) <= 200
    assert abs(found.votes - 200) % 2 == 0
    refined = one_bit(Q, X, y, 1, rng=0, refine=True)
    assert mixture.error(refined.weights) <= mixture.bayes_error() + 0.01


@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_signal_is_the_mean_of_the_normalised_coordinate(d):
    """The integral equals the mean of y x_1/|x| over 200,000 draws, within 5 standard errors."""
    for length in (0.5, 1.0, 3.0):
        X, y = Mixture.on_axis(d, length).sample(200_000, 0)
        value = y * unit_rows(X)[:, 0]
        assert sphere_signal(d, length) == pytest.approx(value.mean(), abs=5 * value.std() / 447)
    assert sphere_signal(1, 1.0) == pytest.approx(2 * NormalDist().cdf(1) - 1, abs=1e-6)


def test_right_side_probability_is_the_measured_share():
    """400 private means of 12 (d+1) users lie on mu's side as often as the formula says."""
    mixture, n = Mixture.on_axis(10), 132
    hits = sum(
        mean_estimate(*mixture.sample(n, s), 1, rng=s + 10_000, normalise=True).weights[0] > 0
        for s in range(400)
    )
    assert hits / 400 == pytest.approx(right_side_probability(n, 10, 1), abs=0.06)


def test_users_grow_as_one_d_and_d_squared():
    """At epsilon = 1, |mu| = 1: constant for one bit, 12 (d+1) for the side, 18 to 28 d^2 for the mean."""
    for d in (10, 20, 40, 80):
        n = users_for_side(d, 1)
        assert n / (d + 1) == pytest.approx(12, abs=0.3)
        assert right_side_probability(n, d, 1) >= 0.9 > right_side_probability(n - 1, d, 1)
        assert 18 < users_for_mean(d, 1) / d**2 < 28
    assert users_for_one_bit(1) == 17


def test_success_of_the_mean_is_the_measured_share():
    """300 private means of 500 users, d = 5, reach Bayes + .05 as often as the formula says."""
    mixture = Mixture.on_axis(5)
    limit = mixture.bayes_error() + 0.05
    hits = sum(
        mixture.error(mean_estimate(*mixture.sample(500, s), 1, rng=s, normalise=True).weights) <= limit
        for s in range(300)
    )
    assert hits / 300 == pytest.approx(mean_success_probability(500, 5, 1), abs=0.08)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_one_bit_probability_is_the_enumerated_one(n):
    """The tail equals the sum over all vote patterns, ties counted by half."""
    r = float(odds(1))
    p = 0.5 + (2 * NormalDist().cdf(1.0) - 1) * (r - 1) / (r + 1) / 2
    total = 0.0
    for votes in itertools.product([0, 1], repeat=n):
        weight = math.prod(p if v else 1 - p for v in votes)
        total += weight * (1.0 if 2 * sum(votes) > n else 0.5 if 2 * sum(votes) == n else 0.0)
    assert one_bit_probability(n, 1) == pytest.approx(total)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: respond([1, -1], [1], rng=0), "epsilons"),
        (lambda: respond([1, -1], 0, rng=0), "epsilon"),
        (lambda: respond([1, -1], [1, -1], rng=0), "epsilon"),
        (lambda: respond([1, 0], 1, rng=0), "y"),
        (lambda: respond([1, -1], 1), "rng"),
        (lambda: average([[1.0]], [1], [0.5]), "rates"),
        (lambda: average([[1.0]], [1], [0.1, 0.1]), "rates"),
        (lambda: logistic_regression(np.zeros((0, 2)), []), "X"),
        (lambda: one_bit(np.eye(2), np.eye(3), np.ones(3), 1, rng=0), "X"),
        (lambda: one_bit(np.eye(2), np.zeros((0, 2)), [], 1, rng=0), "X"),
        (lambda: one_bit(np.zeros((0, 2)), np.eye(2), np.ones(2), 1, rng=0), "Q"),
        (lambda: one_bit(np.eye(2), np.eye(2), np.ones(2), 0, rng=0), "epsilon"),
        (lambda: sphere_signal(2, 0.0), "length"),
        (lambda: mean_success_probability(9, 5, 1, excess=0.5), "excess"),
        (lambda: users_for_side(5, 1, beta=0), "beta"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    """Every refusal names the argument."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()


def test_known_rates_remove_the_bias_of_the_logistic_fit():
    """With known rates, the corrected likelihood finds the halfspace that the plain fit misses."""
    w = unit(np.arange(1.0, 6.0))
    X = draw("exponential", 6000, 5, 0)
    answer = respond(decide(X, w), np.where(X[:, 0] > 0, 0.3, 4.0).tolist(), rng=1)
    corrected = corrected_logistic(X, answer.labels, answer.rates)
    assert corrected @ w > 0.998 > logistic_regression(X, answer.labels) @ w
    with pytest.raises(ArgumentError, match="Argument 'rates'"):
        corrected_logistic(X, answer.labels, np.full(6000, 0.5))


def test_tiny_budgets_are_refused_alike():
    """A loss below 1e-6 is refused by labels and by the one-bit learner, as everywhere."""
    for call in (
        lambda: respond([1], 1e-9, rng=0),
        lambda: one_bit(np.eye(2), np.eye(2), [1, 1], 1e-9, rng=0),
    ):
        with pytest.raises(ArgumentError, match="Argument 'epsilon'"):
            call()
