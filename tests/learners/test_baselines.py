"""Laws of the simulated baselines: they solve their programs, their noise is calibrated, and they say so."""

import math

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.learners.baselines import (
    gaussian_delta,
    gaussian_mu,
    majority,
    noisy_gradient_descent,
    objective_perturbation,
)
from geomdp.learners.exponential import exponential_halfspace
from geomdp.privacy.sampler import SimSampler


class NoNoise:
    """A generator whose noise is zero."""

    def normal(self, size):
        return np.ones(size)

    def gamma(self, shape, scale):
        return 0.0


def _plane(seed, n=600, radius=50):
    rng = np.random.default_rng(seed)
    X = rng.integers(-radius, radius + 1, (n, 2))
    return X, np.where(X @ [2, -1] >= 10, 1, -1)


def test_objective_perturbation_minimises_its_objective():
    """Without noise its weights have gradient zero: mean of y x p + Lambda f, in scaled coordinates."""
    X, y = _plane(0)
    h = objective_perturbation(X, y, 50, 1, NoNoise(), regulariser=0.01)
    f = np.array(h.weights) * [50, 50, 1]
    Z = np.column_stack([X / 50, np.ones(len(X))]) / math.sqrt(3)
    p = 1 / (1 + np.exp(y * (Z @ f)))
    assert np.abs(-(Z.T @ (y * p)) / len(y) + 0.01 * f).max() < 1e-8


def test_small_samples_raise_the_regulariser():
    """Where n Lambda is too small for the budget, Lambda is raised, and the weights shrink."""
    X, y = _plane(1, n=40)
    weak = objective_perturbation(X, y, 50, 20, NoNoise(), regulariser=1e-9)
    strong = objective_perturbation(X, y, 50, 0.01, NoNoise(), regulariser=1e-9)
    assert np.linalg.norm(strong.weights) < np.linalg.norm(weak.weights)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 0.5), (1.0, 1.0), (3.0, 2.0), (0.3, 1.0)])
def test_gaussian_delta_is_the_divergence_of_two_gaussians(mu, epsilon):
    """Delta is the integral of (p - e^epsilon q)_+ for unit Gaussians at distance mu."""
    z = np.linspace(-12, 12 + mu, 400_001)
    p = np.exp(-((z - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    q = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    integral = np.maximum(p - math.exp(epsilon) * q, 0).sum() * (z[1] - z[0])
    assert gaussian_delta(mu, epsilon) == pytest.approx(integral, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1, 8])
def test_gaussian_noise_is_calibrated(epsilon):
    """The mu found keeps delta and one per mille more does not."""
    mu = gaussian_mu(epsilon, 1e-6)
    assert gaussian_delta(mu, epsilon) <= 1e-6 < gaussian_delta(mu * 1.001, epsilon)


def test_gaussian_delta_agrees_with_an_independent_accountant():
    """dp-accounting's Gaussian loss has the same delta."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4)
    assert gaussian_delta(0.5, 1.0) == pytest.approx(law.get_delta_for_epsilon(1.0), rel=1e-3)


def test_baselines_learn_one_scale_and_say_that_they_are_simulated():
    """On a square both surrogates come close at epsilon = 2, and every result is marked."""
    X, y = _plane(2, n=4000)
    rng = np.random.default_rng(0)
    first, second = objective_perturbation(X, y, 50, 2, rng), noisy_gradient_descent(X, y, 50, 2, rng)
    third = majority(X, y, 2, rng)
    assert (first.predict(X) != y).mean() < 0.05
    assert (second.predict(X) != y).mean() < 0.08
    assert (third.predict(X) != y).mean() <= 0.5
    assert all(h.simulated for h in (first, second, third))


def test_many_scales_separate_the_combinatorial_learner():
    """With coordinates of sizes 1 to 2^16 the surrogates stay far above the exponential mechanism."""
    rng = np.random.default_rng(3)
    errors = []
    for seed, (*w, c) in enumerate([(1, 64, 300), (50, -1, 700), (1, 1, 100)]):
        X = np.trunc(rng.choice([-1, 1], (6000, 2)) * 2 ** rng.uniform(0, 16, (6000, 2))).astype(np.int64)
        y = np.where(X @ w >= c, 1, -1)
        train, test = slice(0, 2000), slice(2000, None)
        h = exponential_halfspace(X[train], y[train], 2**16, 1, SimSampler(seed))
        ones = np.ones(4000, dtype=np.int64)
        found = [float((h.predict(np.column_stack([X[test], ones])) != y[test]).mean())]
        for baseline in (objective_perturbation, noisy_gradient_descent):
            g = baseline(X[train], y[train], 2**16, 1, rng)
            found.append(float((g.predict(X[test]) != y[test]).mean()))
        errors.append(found)
    exact, surrogate, descent = np.median(errors, axis=0)
    assert exact < 0.02
    assert surrogate > 5 * exact
    assert descent > 5 * exact


def test_empty_records_and_refusals():
    """No records give the zero classifier; a bad delta, regulariser or label is refused."""
    rng = np.random.default_rng(0)
    none = np.zeros((0, 2), dtype=np.int64)
    assert objective_perturbation(none, [], 5, 1, rng).weights == (0.0, 0.0, 0.0)
    assert noisy_gradient_descent(none, [], 5, 1, rng).predict([[1, 2]]).tolist() == [1]
    assert len(majority(none, [], 1, rng).weights) == 3
    with pytest.raises(ArgumentError, match="'delta'"):
        noisy_gradient_descent([[1]], [1], 5, 1, rng, delta=0)
    with pytest.raises(ArgumentError, match="'regulariser'"):
        objective_perturbation([[1]], [1], 5, 1, rng, regulariser=0)
    with pytest.raises(ArgumentError, match="'y'"):
        objective_perturbation([[1]], [2], 5, 1, rng)
