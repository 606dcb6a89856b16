"""The robust learner: gradients, candidates of both signs, and what bounded noise costs it and others."""

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.learning.baselines import average, logistic_regression
from geomdp.local.learning.distributions import Massart, draw
from geomdp.local.learning.inputs import decide, unit
from geomdp.local.learning.label_dp import respond
from geomdp.local.learning.massart import (
    learn_massart,
    surrogate,
    surrogate_gradient,
    validation_errors,
    vote,
)

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("sigma", [0.05, 0.3, 2.0])
def test_gradient_is_the_derivative_and_tangential(sigma):
    """The formula equals central differences of the surrogate in every coordinate, and <gradient, w> = 0."""
    X, y, w = RNG.standard_normal((40, 4)), RNG.choice([-1, 1], 40), unit(RNG.standard_normal(4))
    gradient = surrogate_gradient(w, X, y, sigma)
    h = 1e-6
    numeric = [
        (surrogate(w + h * e, X, y, sigma) - surrogate(w - h * e, X, y, sigma)) / (2 * h) for e in np.eye(4)
    ]
    assert gradient == pytest.approx(numeric, abs=1e-6)
    assert abs(gradient @ w) < 1e-12


def test_weights_of_the_form_two_are_records_twice():
    """A record of weight 2 acts like the record listed twice, in validation."""
    X, y, W = RNG.standard_normal((30, 3)), RNG.choice([-1, 1], 30), RNG.standard_normal((7, 3))
    mass = RNG.integers(1, 3, 30)
    twice = np.repeat(np.arange(30), mass)
    weighted = validation_errors(W, X, y, mass.astype(float))
    assert weighted == pytest.approx(validation_errors(W, X[twice], y[twice]))


def test_a_start_at_the_opposite_still_finds_the_target():
    """Both signs of every iterate are candidates: the negative of the target is as good a start."""
    oracle = Massart([1.0, -1.0, 2.0], lambda P: np.full(len(P), 0.3), 0.3)
    X, y = oracle.sample(4000, 0)
    for start in (oracle.target, -oracle.target):
        fit = learn_massart(X, y, rng=1, start=start, updates=50)
        assert oracle.error(fit.weights) < 0.03
        assert np.linalg.norm(fit.weights) == pytest.approx(1)
        assert fit.candidates == 2 * (6 * 50 + 1)


def test_the_chosen_candidate_has_the_reported_validation_error():
    """With all records held out but one, the reported error is at most that of every other run's start."""
    oracle = Massart([1.0, 0.5], lambda P: np.full(len(P), 0.1), 0.1)
    X, y = oracle.sample(2000, 2)
    fit = learn_massart(X, y, rng=3, start=[0.0, 1.0], updates=100)
    full = validation_errors(fit.weights[None, :], X, y)[0]
    assert fit.validation_error == pytest.approx(full, abs=0.03)


def test_adversarial_noise_leaves_no_floor_on_skewed_points():
    """Rate 0.4 on a quarter of skewed points, m = 30,000: below .02; average and logistic above .05."""
    d = 10
    w = unit(np.random.default_rng(0).standard_normal(d))
    oracle = Massart(w, lambda P: np.where((P @ w > 0) & (P[:, 0] > 0), 0.4, 0.0), 0.4, "exponential")
    X, y = oracle.sample(30_000, 1)
    fit = learn_massart(X, y, rng=2, start=average(X, y), updates=800)
    assert oracle.error(fit.weights, 50_000) < 0.02
    assert oracle.error(average(X, y), 50_000) > 0.05
    assert oracle.error(logistic_regression(X, y), 50_000) > 0.05


def test_personal_label_privacy_on_skewed_points():
    """Epsilon .3 on half the space, 4 elsewhere, n = 40,000: .02 or less; average and logistic above .04."""
    d, rng = 10, np.random.default_rng(5)
    w = unit(rng.standard_normal(d))
    X = draw("exponential", 40_000, d, rng)
    answer = respond(decide(X, w), np.where(X[:, 0] > 0, 0.3, 4.0).tolist(), rng=rng)
    world = Massart(w, lambda P: np.zeros(len(P)), 0.0, "exponential")
    logistic = logistic_regression(X, answer.labels)
    fit = learn_massart(X, answer.labels, rng=rng, start=logistic, updates=1000)
    assert world.error(fit.weights) <= 0.02
    assert min(world.error(logistic), world.error(average(X, answer.labels))) > 0.04


def test_a_vote_counts_signs_and_ties_are_positive():
    """The vote of three halfspaces is the sign of the sum of their labels; of two that differ, +1."""
    X, W = RNG.standard_normal((20, 3)), RNG.standard_normal((3, 3))
    assert (vote(W, X) == np.sign(sum(decide(X, w).astype(int) for w in W))).all()
    assert (vote(np.array([W[0], -W[0]]), X) == 1).all()


def test_tiny_and_degenerate_data_run():
    """Four records, one column, zero rows, one-sided labels: a unit vector comes back."""
    for X in (np.ones((4, 1)), np.zeros((5, 2)), np.eye(4)):
        fit = learn_massart(X, np.ones(len(X), dtype=int), rng=0, updates=5)
        assert np.linalg.norm(fit.weights) == pytest.approx(1)
        assert fit.validation_error == 0


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"X": np.zeros((3, 2)), "y": np.ones(3)}, "X"),
        ({"X": np.full((5, 2), np.nan)}, "X"),
        ({"y": np.zeros(5)}, "y"),
        ({"y": np.ones(4)}, "y"),
        ({"rng": None}, "rng"),
        ({"sigmas": (0.0,)}, "sigmas"),
        ({"sigmas": ()}, "sigmas"),
        ({"steps": (-1.0,)}, "steps"),
        ({"updates": 0}, "updates"),
        ({"validation": 1.0}, "validation"),
        ({"start": np.zeros(2)}, "start"),
        ({"weights": -np.ones(5)}, "weights"),
    ],
)
def test_bad_input_is_refused_by_name(change, name):
    """Every refusal names the argument."""
    call = {"X": np.ones((5, 2)), "y": np.ones(5), "rng": 0} | change
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        learn_massart(call.pop("X"), call.pop("y"), **call)
