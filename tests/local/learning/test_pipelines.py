"""Whole learners: private means, Algorithm 1 and what it truly gives, Algorithm 3 down to the Bayes error."""

import math

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.learning.distributions import Massart, Mixture
from geomdp.local.learning.estimates import group_estimates, logistic_estimate, mean_estimate
from geomdp.local.learning.gradients import JointCopies, OneCopy, PaperCopies
from geomdp.local.learning.inputs import bounded, decide, unit_rows
from geomdp.local.learning.pipelines import vote_then_relearn, weak_then_self_train
from geomdp.local.learning.polynomial import logistic_polynomial
from geomdp.privacy.sampler import SecureSampler, SimSampler


def _clean(w, kind="gaussian"):
    return Massart(w, lambda P: np.zeros(len(P)), 0.0, kind)


def test_hinge_minimiser_on_the_unit_ball_is_the_normalised_mean():
    """The hinge loss is linear there: projected descent ends at the mean's direction, nothing is below it."""
    rng = np.random.default_rng(0)
    X, y = unit_rows(rng.standard_normal((60, 4))), rng.choice([-1, 1], 60)

    def hinge(w):
        return np.maximum(0, 1 - y * (X @ w)).mean()

    best = (y[:, None] * X).mean(axis=0)
    best = best / np.linalg.norm(best)
    for w in unit_rows(rng.standard_normal((200, 4))) * rng.uniform(0, 1, (200, 1)):
        assert hinge(w) >= hinge(best) - 1e-12
        assert hinge(w) == pytest.approx(1 - w @ (y[:, None] * X).mean(axis=0))
    w = np.zeros(4)
    for _ in range(400):
        w = w + (y * (1 - y * (X @ w) > 0)) @ X / 60
        w = w / max(1.0, np.linalg.norm(w))
    assert w == pytest.approx(best, abs=1e-4)


def test_a_released_mean_is_no_simulation():
    """With SecureSampler the estimate says released, with a pure loss of epsilon; otherwise simulated."""
    X, y = Mixture.on_axis(4).sample(500, 0)
    released = mean_estimate(X, y, 2, sampler=SecureSampler(), normalise=True)
    assert (released.simulated, released.delta) == (False, 0)
    assert repr(released).endswith("(epsilon=2, delta=0) per user, one record replaced, released)")
    replayed = mean_estimate(X, y, 2, sampler=SimSampler(1), normalise=True)
    assert replayed.simulated
    assert (replayed.weights == mean_estimate(X, y, 2, sampler=SimSampler(1), normalise=True).weights).all()


def test_gaussian_mean_spends_its_budget():
    """The Gaussian variant has the analytic loss at its delta and needs more users than Duchi's."""
    X, y = Mixture.on_axis(10).sample(2000, 0)
    gauss = [mean_estimate(X, y, 1, delta="1e-5", rng=s, normalise=True) for s in range(20)]
    duchi = [mean_estimate(X, y, 1, rng=s, normalise=True) for s in range(20)]
    assert gauss[0].loss == pytest.approx(1, rel=1e-9)
    first, second = (np.mean([e.weights[0] for e in found]) for found in (gauss, duchi))
    assert first < second


@pytest.mark.parametrize("kind", [OneCopy, JointCopies, PaperCopies])
def test_logistic_estimates_learn_at_a_generous_budget(kind):
    """At epsilon = 60 every polynomial mechanism finds the direction; one pass over batches as well."""
    X, y = Mixture.on_axis(3).sample(4000, 0)
    calibration = {"calibration": "joint"} if kind is PaperCopies else {}
    mechanism = kind(logistic_polynomial(1), 60, "1e-5", **calibration)
    full = logistic_estimate(X, y, mechanism, rng=1, steps=40, normalise=True)
    single = logistic_estimate(X, y, mechanism, rng=1, steps=40, batch=100, normalise=True)
    assert full.weights[0] > 0.9
    assert single.weights[0] > 0.8
    assert full.simulated
    assert full.loss <= 60 * (1 + 1e-9)


def test_degree_zero_is_the_mean():
    """With a constant polynomial the logistic estimate is the direction of the mean message."""
    X, y = Mixture.on_axis(5).sample(300, 0)
    mechanism = OneCopy(logistic_polynomial(0), 4, "1e-5")
    X = unit_rows(X)
    sent = mechanism.privatise(X, y, 7).X[:, 0].mean(axis=0)
    found = logistic_estimate(X, y, mechanism, rng=7, steps=5)
    assert found.weights == pytest.approx(sent / np.linalg.norm(sent))


@pytest.mark.parametrize(
    ("kind", "n", "k"), [("gaussian", 1000, 5), ("gaussian", 5000, 25), ("exponential", 5000, 5)]
)
def test_algorithm_one_ends_where_the_average_of_its_groups_is(kind, n, k):
    """The relearned halfspace has the averaged one's error within .02 on average, and beats a group's."""
    world = _clean(np.random.default_rng(0).standard_normal(10), kind)
    gaps, single = [], []
    for seed in range(4):
        X, y = world.sample(n, seed + 10)
        run = vote_then_relearn(
            X, y, world.sample(10_000, seed + 50)[0], 2, rng=seed, groups=k, normalise=True, updates=400
        )
        final, mean = world.error(run.weights, 40_000), world.error(run.average, 40_000)
        gaps.append(final - mean)
        single.append(np.mean([world.error(g.weights, 40_000) for g in run.groups]) - final)
    assert abs(np.mean(gaps)) <= 0.02
    assert np.abs(gaps).max() <= 0.05
    assert min(single) > 0


def test_a_vote_is_no_massart_oracle():
    """Groups of 200: at most points more than 3/16 of the possible private halfspaces are wrong."""
    world = _clean(np.eye(10)[0])
    Q = world.sample(500, 99)[0]
    wrong = np.zeros(500)
    for seed in range(40):
        X, y = world.sample(200, seed)  # one group of users
        wrong += decide(Q, mean_estimate(X, y, 2, rng=seed, normalise=True).weights) != decide(
            Q, world.target
        )
    assert np.mean(wrong / 40 > 3 / 16) > 0.5


def test_groups_are_disjoint_and_odd():
    """Group sizes differ by at most one and sum to n: one message per user, no composition."""
    X, y = _clean([1.0, 0.0]).sample(103, 0)
    found = group_estimates(X, y, 1, 5, rng=0, normalise=True)
    assert sorted(e.n for e in found) == [20, 20, 21, 21, 21]
    with pytest.raises(ArgumentError, match="Argument 'groups' must be odd"):
        group_estimates(X, y, 1, 4, rng=0, normalise=True)


def test_algorithm_three_reaches_the_bayes_error():
    """At d = 10, epsilon = 1, n = 3000, m = 5000: Bayes + .02 in 9 of 10 runs; the mean alone in 3."""
    mixture, good, weak = Mixture.on_axis(10), 0, 0
    for seed in range(10):
        X, y = mixture.sample(3000, seed)
        run = weak_then_self_train(X, y, mixture.sample(5000, seed + 100)[0], 1, rng=seed, normalise=True)
        good += mixture.error(run.weights) <= mixture.bayes_error() + 0.02
        weak += mixture.error(run.weak.weights) <= mixture.bayes_error() + 0.02
    assert good >= 9
    assert weak <= 3


def test_algorithm_three_as_a_release_and_with_another_weak_learner():
    """A secure run is no simulation; a logistic weak learner plugs in."""
    mixture = Mixture.on_axis(5)
    X, y = mixture.sample(1500, 0)
    Q = mixture.sample(2000, 1)[0]
    run = weak_then_self_train(X, y, Q, 2, sampler=SecureSampler(), normalise=True)
    assert not run.simulated
    assert mixture.error(run.weights) <= mixture.bayes_error() + 0.02
    mechanism = OneCopy(logistic_polynomial(1), 8, "1e-5")
    other = weak_then_self_train(
        X, y, Q, 8, weak=lambda: logistic_estimate(X, y, mechanism, rng=0, normalise=True), rounds=50
    )
    assert mixture.error(other.weights) <= mixture.bayes_error() + 0.02


def test_normalising_keeps_labels_and_bounds_rows():
    """Labels of homogeneous halfspaces do not see the norm; longer rows are refused unless normalised."""
    X = np.random.default_rng(0).standard_normal((50, 3)) * 5
    w = np.array([1.0, -2.0, 0.3])
    assert (decide(unit_rows(X), w) == decide(X, w)).all()
    assert np.linalg.norm(bounded("X", X, True), axis=1) == pytest.approx(1)
    with pytest.raises(
        ArgumentError, match=r"Argument 'X' must be rows of norm <= 1, not longer ones\. Pass norm"
    ):
        bounded("X", X, False)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"X": np.ones((4, 2))}, "X"),
        ({"X": np.full((4, 2), math.nan)}, "X"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "X"),
        ({"X": np.zeros(4)}, "X"),
        ({"X": [["a"]] * 4}, "X"),
        ({"y": [0, 1, 1, 1]}, "y"),
        ({"y": [1, 1]}, "y"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -2}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1.5}, "delta"),
        ({"rng": None}, "rng"),
        ({"sampler": SimSampler(0)}, "rng"),
        ({"rng": None, "sampler": SimSampler(0), "delta": 1e-5, "caps": 8}, "caps"),
    ],
)
def test_bad_input_is_refused_by_name(change, name):
    """Every refusal names the argument; none holds a coordinate or a label."""
    call = {"X": np.full((4, 2), 0.1234567), "y": np.ones(4), "epsilon": 1, "rng": 0} | change
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be") as caught:
        mean_estimate(call.pop("X"), call.pop("y"), call.pop("epsilon"), **call)
    assert "1234567" not in str(caught.value)


def test_equal_seeds_of_data_and_noise_are_independent():
    """Seed s for points and seed s for the mechanism: the noise is not a function of the points."""
    mixture = Mixture.on_axis(10)
    hits = sum(
        mean_estimate(*mixture.sample(264, s), 1, rng=s, normalise=True).weights[0] > 0 for s in range(100)
    )
    assert hits >= 90  # 0.966 expected


@pytest.mark.parametrize("y", [["a"] * 4, [None] * 4, [[1], [1], [1], [1]], 1, [math.nan] * 4])
def test_labels_of_other_kinds_are_refused(y):
    """Texts, missing values, columns, scalars and NaN are no labels."""
    with pytest.raises(ArgumentError, match="Argument 'y' must be"):
        mean_estimate(np.zeros((4, 2)), y, 1, rng=0)


def test_algorithm_1_runs_with_a_sampler_and_with_caps():
    """The groups' messages come from the sampler; sizes and a weak learner's type are checked first."""
    from geomdp.core.errors import ArgumentError
    from geomdp.local.learning.inputs import check_rng
    from geomdp.privacy.sampler import SecureSampler

    X, y = Mixture.on_axis(3).sample(60, 0)
    Q = Mixture.on_axis(3).sample(100, 1)[0]
    for caps in (None, 4):
        found = vote_then_relearn(
            X, y, Q, 1, rng=2, groups=3, sampler=SecureSampler(), caps=caps, normalise=True, updates=5
        )
        assert not found.simulated
    for call in (
        lambda: vote_then_relearn(X, y, Q[:, :2], 1, rng=0),
        lambda: weak_then_self_train(X, y, Q[:, :2], 1, rng=0),
        lambda: weak_then_self_train(None, None, Q, 1, weak=lambda: 5),
        lambda: weak_then_self_train(X, y, Q, 1, sampler=1, normalise=True),
    ):
        with pytest.raises(ArgumentError):
            call()
    seed = np.random.SeedSequence(5)
    assert check_rng(seed, "points").random() != check_rng(seed, "noise").random()
    assert check_rng(seed, "points").random() == check_rng(np.random.SeedSequence(5), "points").random()
