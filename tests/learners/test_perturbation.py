"""Laws of the perturbation to general position: labels, domains, error, privacy, the estimator's option."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.learners import step_audits
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.domains import Divided, FractionPairs
from geomdp.learners.estimators import PrivateHalfspaceLearner
from geomdp.learners.perturbation import Perturbation
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import SimSampler

TENTH = Fraction(1, 10)


class Corner:
    """A sampler that moves every coordinate as far as it goes, up or down by turns."""

    simulated = True

    def __init__(self, ends):
        self.ends = itertools.cycle(ends)

    def uniform(self, bound):
        return (bound - 1) * next(self.ends)


def _world(d, radius, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-radius, radius + 1, (n, d))
    a, w = rng.integers(-3, 4, d), rng.integers(-2, 3)
    return rng, X, np.where(X @ a >= w, 1, -1)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("ends", list(itertools.product((0, 1), repeat=3)))
def test_the_farthest_noise_keeps_every_labelling(d, ends):
    """Records that a halfspace labels stay realizable when all coordinates move as far as they go."""
    for seed in range(4):
        _, X, y = _world(d, 2, 8, seed)
        far = Perturbation(d, 2, 8, TENTH).apply(X, Corner(ends))
        assert Halfspaces((FractionPairs(1, 1),) * d).realizes(far, y) is not None


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 4)])
def test_a_component_that_fits_is_offered_in_every_realizable_state(d, n, merged):
    """Whatever best components are taken, the next domain holds one that completes them without mistakes."""
    for seed in range(5):
        rng, X, y = _world(d, 2, n, seed)
        moved = Perturbation(d, 2, n, TENTH)
        far = moved.apply(X, SimSampler(seed))
        C = Halfspaces(moved.domains(), merged)
        while len(C.prefix) < C.k:
            blocks = C.objective(far, y)
            best = [block for block in blocks if block.score == n]
            assert best
            block = best[rng.integers(len(best))]
            inside = int(rng.integers(2**62)) * block.size >> 62
            C = C.extend(C.component(block.first + inside))
        assert (C.predict(C.prefix, far) == y).all()
        h = moved.classifier(C.prefix)
        assert len(h.weights) == d + 1


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=2), st.integers(-9, 9), st.integers(-3, 3))
@settings(max_examples=60, deadline=None)
def test_the_error_at_most_doubles_without_the_noise(a, w, x):
    """Over the whole box of noises, at least half of them give a record the label that it has without."""
    wide, point = 8, np.array([x, 1 - x])
    noise = np.array(list(itertools.product(range(-3, 4), repeat=2)))
    label = wide * point @ a >= w
    assert 2 * ((wide * point + noise) @ a >= w).tolist().count(bool(label)) >= len(noise)


def test_the_classifier_of_perturbed_records_is_that_of_the_components():
    """Weights on records as they were label x as a . (resolution x) >= w does, in rationals."""
    rng = np.random.default_rng(0)
    moved = Perturbation(2, 4, 9, TENTH)
    X = rng.integers(-4, 5, (40, 2))
    for _ in range(20):
        a = [Fraction(int(v), int(u) * moved.resolution) for v, u in rng.integers(1, 9, (2, 2))]
        w = Fraction(int(rng.choice([-1, 1])))
        a = [v * int(rng.choice([-1, 1])) for v in a]
        wanted = [
            1 if sum(c * moved.resolution * int(v) for c, v in zip(a, x, strict=True)) >= w else -1 for x in X
        ]
        for components in ((w, *a), ((w, a[0]), a[1])):
            got = moved.classifier(components).predict(np.column_stack([X, np.ones(40, int)]))
            assert got.tolist() == wanted


@given(st.integers(1, 5), st.integers(1, 5), st.fractions(-4, 4, max_denominator=9), st.integers(1, 9))
def test_divided_domains_count_as_their_lists_do(numerators, denominators, x, divisor):
    """Ranks and cuts of a divided domain are those of the listed quotients."""
    D = Divided(FractionPairs(numerators, denominators), divisor)
    listed = [D.value(i) for i in range(D.size)]
    assert listed == sorted(
        Fraction(s, t * divisor)
        for s in range(-numerators, numerators + 1)
        for t in range(1, denominators + 1)
    )
    assert D.first_at_least(x) == sum(v < x for v in listed)
    assert D.first_above(x) == sum(v <= x for v in listed)


@pytest.mark.parametrize(("d", "radius", "n"), [(1, 512, 1500), (2, 2, 90)])
def test_the_estimator_learns_perturbed_records_at_the_same_price(d, radius, n):
    """With position='perturbed' most records are labelled rightly; guarantee and ledger are as without."""
    _, X, _ = _world(d, radius, n, 0)
    y = np.where(X.sum(axis=1) >= 1, 1, -1)
    sizes = (n,) if d == 1 else (n // 3, n // 3)
    runs = [
        PrivateHalfspaceLearner(
            20, method="carrier-boost", radius=radius, m=sizes, position=position, coordinates="complete",
            random_state=0,
        ).fit(X, y)
        for position in ("perturbed", "half-open")
    ]  # fmt: skip
    assert runs[0].score(X, y) > 0.85
    assert runs[0].perturbation_ == Perturbation(d, radius, n, TENTH)
    assert runs[1].perturbation_ is None
    for one, two in zip(runs[0].ledger_, runs[1].ledger_, strict=True):
        assert (one.block, one.m, one.reservoir) == (two.block, two.m, two.reservoir)
    assert (runs[0].epsilon_, runs[0].delta_) == (20, 0)
    moved = runs[0].perturbation_
    assert runs[0].classifier_ == moved.classifier(runs[0].components_)


@pytest.mark.exhaustive
def test_paper_mode_runs_on_perturbed_records():
    """The literal constants with the perturbation: three alternating reservoirs, samples of a few records."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (520_000, 1)).astype(np.int8)
    y = np.where(X[:, 0] >= 1, 1, -1)
    learner = PrivateHalfspaceLearner(
        1,
        Fraction(1, 10**6),
        method="label-boost",
        mode="paper",
        position="perturbed",
        radius=2,
        random_state=0,
    )
    learner.fit(X, y)
    assert (learner.epsilon_, learner.delta_) == (1, Fraction(1, 10**6))
    assert learner.perturbation_.spread == 520_000**2 * 5
    assert [row.m for row in learner.ledger_] == [1]


@pytest.mark.parametrize(
    ("params", "d", "error"),
    [
        ({"position": "general"}, 1, ArgumentError),
        ({"method": "exponential"}, 1, ArgumentError),
        ({"mode": "rigorous", "alpha": 0.1}, 1, ArgumentError),
        ({}, 3, CapacityError),
        ({}, 4, CapacityError),
    ],
)
def test_what_the_perturbation_cannot_do_is_refused_before_the_charge(params, d, error):
    """Other methods, certificates and more than two features are refused from public numbers alone."""
    budget = Budget(10)
    learner = PrivateHalfspaceLearner(1, **{"method": "carrier-boost", "position": "perturbed", **params})
    with pytest.raises(error) as caught:
        learner.fit(np.zeros((5000, d)), np.ones(5000, int), budget)
    assert caught.value.name == ("X" if d > 1 else "position")
    assert budget.spent == 0


@pytest.mark.exhaustive
def test_one_of_two_perturbed_records_keeps_its_loss(monkeypatch):
    """Over every noise of two records, a learner that draws one of them keeps its stated loss."""
    few = Halfspaces((step_audits.SKEWED.coordinates[0].__class__([Fraction(1, 2), Fraction(-1, 2)]),), True)
    monkeypatch.setattr(step_audits, "SKEWED", few)
    found = step_audits.audit(step_audits.perturbed(1, step_audits.LOUD), (0, 1), 2)
    assert found.holds(step_audits.LOUD)
    assert found.violates(Fraction(1))
