"""Self-training: invariances, the fixed point, the fast rate, and its one way to fail."""

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.learning.distributions import Mixture
from geomdp.local.learning.inputs import unit
from geomdp.local.learning.self_training import loss_slope, self_train

RNG = np.random.default_rng(3)


def _weak(mixture, error, rng):
    """A random unit vector with the given error for a Gaussian mixture along the first axis."""
    from statistics import NormalDist

    cosine = -NormalDist().inv_cdf(error) / np.linalg.norm(mixture.mu)
    side = rng.standard_normal(mixture.d)
    side[0] = 0
    return cosine * np.eye(mixture.d)[0] + np.sqrt(1 - cosine**2) * unit(side)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_losses_meet_the_theorys_condition(loss):
    """-l' is the derivative of the loss, at most 1, decreasing, and at least e^-z/C with C = 2 or 1."""
    z = np.linspace(0, 40, 4001)
    value = np.logaddexp(0, -z) if loss == "logistic" else np.exp(-z)
    slope, c = loss_slope(loss, z), 2 if loss == "logistic" else 1
    assert slope[1:-1] == pytest.approx(-(value[2:] - value[:-2]) / 0.02, abs=4e-5)
    assert slope.max() <= 1
    assert (np.diff(slope) < 0).all()
    assert (slope >= np.exp(-z) / c * (1 - 1e-12)).all()


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_iterates_are_unit_and_follow_signs_and_rotations(loss):
    """|w| = 1 always; the negative start gives the negative path; rotated data and start a rotated path."""
    X, w0 = Mixture.on_axis(4).sample(300, 0)[0], RNG.standard_normal(4)
    path = self_train(X, w0, rounds=20, loss=loss).path
    assert np.linalg.norm(path, axis=1) == pytest.approx(1)
    assert self_train(X, -w0, rounds=20, loss=loss).path == pytest.approx(-path, abs=1e-12)
    Q = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
    assert self_train(X @ Q.T, Q @ w0, rounds=20, loss=loss).path == pytest.approx(path @ Q.T, abs=1e-9)


def test_one_round_is_the_gradient_step_on_pseudo_labels():
    """The update equals minus the numerical gradient of the mean loss at frozen pseudo-labels."""
    X, w = RNG.standard_normal((50, 3)), unit(RNG.standard_normal(3))
    frozen, sigma, eta, h = np.where(X @ w >= 0, 1, -1), 1.5, 0.7, 1e-6

    def loss(at):
        return np.logaddexp(0, -frozen * (X @ at) / sigma).mean()

    gradient = np.array([(loss(w + h * e) - loss(w - h * e)) / (2 * h) for e in np.eye(3)])
    expected = unit(w - eta * gradient)
    assert self_train(X, w, rounds=1, step=eta, scale=sigma).weights == pytest.approx(expected, abs=1e-8)


def test_mu_is_a_fixed_point_for_symmetric_points():
    """Points closed under reflection at the axis of mu: started at mu it stays, to rounding."""
    X, _ = Mixture.on_axis(3).sample(200, 1)
    mirrored = np.concatenate([X, X * [1.0, -1.0, -1.0]])
    path = self_train(mirrored, [1.0, 0.0, 0.0], rounds=50).path
    assert path == pytest.approx(np.tile([1.0, 0.0, 0.0], (51, 1)), abs=1e-12)


def test_excess_error_falls_like_d_over_m():
    """From error 0.45, d = 20: the mean excess over Bayes is at most 2 d/m at m = 1,000 and 8,000."""
    mixture = Mixture.on_axis(20)
    for m in (1000, 8000):
        excess = []
        for seed in range(5):
            rng = np.random.default_rng([m, seed])
            found = self_train(mixture.sample(m, rng)[0], _weak(mixture, 0.45, rng), rounds=120).weights
            excess.append(mixture.error(found) - mixture.bayes_error())
        assert 0.1 * 20 / m < np.mean(excess) < 2 * 20 / m


def test_theory_mode_uses_every_point_once_and_reaches_bayes_too():
    """Disjoint batches of 200, step .3: Bayes + .02; the points beyond rounds * batch are never read."""
    mixture, rng = Mixture.on_axis(10), np.random.default_rng(0)
    X, start = mixture.sample(20_000, rng)[0], _weak(mixture, 0.35, rng)
    run = self_train(X, start, rounds=100, batch=200, step=0.3)
    assert run.mode == "theory"
    assert mixture.error(run.weights) < mixture.bayes_error() + 0.02
    X[20_000 - 100 :] = 1e6
    assert self_train(X, start, rounds=99, batch=200, step=0.3).path == pytest.approx(run.path[:100])


def test_a_mean_error_hides_the_two_outcomes():
    """A start at error .52 ends at 1 - Bayes, one at .45 at Bayes: their mean is the error of neither."""
    mixture, errors = Mixture.on_axis(10), []
    for start in (0.45, 0.52):
        rng = np.random.default_rng(1)
        X = mixture.sample(6000, rng)[0]
        errors.append(mixture.error(self_train(X, _weak(mixture, start, rng)).weights))
    bayes = mixture.bayes_error()
    assert errors == pytest.approx([bayes, 1 - bayes], abs=0.02)
    assert abs(np.mean(errors) - 0.5) < 0.01


def test_skewed_noise_moves_the_fixed_point_off_mu():
    """Exponential noise: started at mu itself, self-training walks away and ends more than .01 above it."""
    mixture = Mixture.on_axis(10, 1.0, "exponential")
    X = mixture.sample(40_000, 0)[0]
    found = self_train(X, mixture.mu, rounds=300).weights
    assert mixture.error(found) - mixture.error(mixture.mu) > 0.01
    for kind in ("laplace", "uniform"):
        fair = Mixture.on_axis(10, 1.0, kind)
        found = self_train(fair.sample(40_000, 0)[0], fair.mu, rounds=300).weights
        assert fair.error(found) - fair.bayes_error() < 0.005


def test_degenerate_points_run():
    """Zero points, one point, one column: the start stays or a unit vector comes back."""
    assert self_train(np.zeros((3, 2)), [0.0, 2.0]).weights.tolist() == [0.0, 1.0]
    assert self_train([[5.0]], [-1.0]).weights.tolist() == [-1.0]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"X": np.zeros((0, 2))}, "X"),
        ({"X": np.full((3, 2), np.inf)}, "X"),
        ({"start": [0.0, 0.0]}, "start"),
        ({"start": [1.0]}, "start"),
        ({"rounds": 0}, "rounds"),
        ({"step": 0.0}, "step"),
        ({"scale": -1.0}, "scale"),
        ({"loss": "hinge"}, "loss"),
        ({"batch": 2, "rounds": 2}, "batch"),
    ],
)
def test_bad_input_is_refused_by_name(change, name):
    """Every refusal names the argument."""
    call = {"X": np.ones((3, 2)), "start": [1.0, 0.0]} | change
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        self_train(call.pop("X"), call.pop("start"), **call)
