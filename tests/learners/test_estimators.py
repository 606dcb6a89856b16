"""Laws of the front door: parameters, pipelines, labels, budgets, and bad input."""

import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, BudgetError
from geomdp.learners import generic
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.estimator_base import METHODS
from geomdp.learners.estimators import PrivateHalfspaceLearner, PrivateThresholdTuple
from geomdp.learners.generic import Goal, halfspace_run, least_rows, tuple_run
from geomdp.learners.growth import composition_profile, halfspace_profile
from geomdp.learners.modes import validated
from geomdp.learners.planning import learning_plan
from geomdp.learners.records import compact_domain, halfspace_of, snapped
from geomdp.privacy.budget import Budget

#: The learner that goes component by component; the generic mechanism is the default.
carrier = partial(PrivateHalfspaceLearner, method="carrier-boost")


def _square(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-512, 513, (n, 2))
    return X, np.where(2 * X[:, 0] - X[:, 1] >= 150, 1, -1)


@pytest.mark.parametrize("method", METHODS)
def test_halfspaces_are_learned(method):
    """With epsilon 4 and 3,000 records every method errs on less than one record in ten."""
    X, y = _square()
    learner = PrivateHalfspaceLearner(4, method=method, random_state=1).fit(X, y)
    assert learner.score(X, y) > 0.9
    assert learner.epsilon_ == 4
    assert learner.delta_ == 0
    assert learner.simulated_
    assert learner.n_features_in_ == 2
    assert sum({s.reservoir for s in learner.ledger_}) <= 3000


@pytest.mark.parametrize(
    ("rule", "k", "truth"),
    [
        ("threshold", None, lambda x: x >= 300),
        ("interval", None, lambda x: (x >= 300) & (x < 700)),
        ("xor", 3, lambda x: (x >= 200) ^ (x >= 500) ^ (x >= 800)),
        ("majority", 3, lambda x: x >= 500),
    ],
)
@pytest.mark.parametrize("method", ["exponential", "label-boost"])
def test_threshold_tuples_are_learned(rule, k, truth, method):
    """With epsilon 8 each rule is learned from 3,000 numbers with less than one mistake in ten."""
    X = np.random.default_rng(0).integers(0, 1000, (3000, 1))
    y = np.where(truth(X[:, 0]), "in", "out")
    learner = PrivateThresholdTuple(
        8, rule=rule, k=k, high=999, method=method, classes=("out", "in"), random_state=3
    )
    assert learner.fit(X, y).score(X, y) > 0.9


def test_parameters_are_plain_values():
    """Parameters come back as they were given, can be set, and show in the repr where not default."""
    learner = PrivateHalfspaceLearner(epsilon="1/3", radius=100)
    assert learner.get_params()["epsilon"] == "1/3"
    assert learner.set_params(method="label-boost") is learner
    assert repr(learner) == "PrivateHalfspaceLearner(epsilon='1/3', method='label-boost', radius=100)"
    with pytest.raises(ArgumentError, match="params"):
        learner.set_params(colour="red")
    again = type(learner)(**learner.get_params())
    assert again.get_params() == learner.get_params()


def test_works_in_scikit_learn():
    """Clone, Pipeline and cross-validation of scikit-learn accept both learners."""
    base = pytest.importorskip("sklearn.base")
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = _square(600)
    learner = carrier(20, scale=512, random_state=0)
    copy = base.clone(learner)
    assert copy is not learner
    assert copy.get_params() == learner.get_params()
    pipe = make_pipeline(FunctionTransformer(lambda Z: Z / 512.0), learner)
    assert pipe.fit(X, y).score(X, y) > 0.85
    assert base.is_classifier(learner)
    tuple_ = PrivateThresholdTuple(20, rule="threshold", high=600, method="exponential", random_state=0)
    assert cross_val_score(tuple_, X[:, :1], np.where(X[:, 0] > 10, 1, -1), cv=3).mean() > 0.85


def test_a_fitted_object_holds_no_record():
    """What is pickled after a fit does not grow with the number of records."""
    sizes = []
    for n in (500, 5000):
        X, y = _square(n)
        sizes.append(len(pickle.dumps(carrier(2, random_state=0).fit(X, y))))
    assert abs(sizes[1] - sizes[0]) < 100


def test_seeded_runs_repeat_and_are_no_release():
    """A seed gives the same classifier twice, marked as simulated; without one it is a release."""
    X, y = _square(800)
    one, two = (carrier(2, random_state=5).fit(X, y) for _ in range(2))
    assert one.classifier_ == two.classifier_
    assert one.simulated_
    assert not carrier(2).fit(X, y).simulated_


def test_budget_is_charged_before_drawing():
    """A budget is charged once; a second run that exceeds it, or a seeded one, is refused."""
    X, y = _square(800)
    budget = Budget(Fraction(3, 2))
    for method in METHODS:
        with pytest.raises(ArgumentError, match="random_state"):
            PrivateHalfspaceLearner(1, method=method, random_state=0).fit(X, y, budget)
    assert budget.spent == 0
    carrier(1).fit(X, y, budget)
    assert budget.left == Fraction(1, 2)
    with pytest.raises(BudgetError):
        carrier(1).fit(X, y, budget)
    with pytest.raises(ArgumentError, match="pure"):
        carrier(Fraction(1, 4), Fraction(1, 10**6)).fit(X, y, budget)
    small = Budget(1)
    with pytest.raises(ArgumentError, match="at least"):
        carrier(1, mode="rigorous", alpha=0.1).fit(X, y, small)
    assert small.spent == 0


@pytest.mark.parametrize("method", METHODS)
def test_total_on_any_labelled_input(method):
    """Contradictions, one label only, one place only, and few records give some classifier."""
    rng = np.random.default_rng(0)
    X = rng.integers(-20, 21, (200, 2))
    for table, y in (
        (X, rng.choice([-1, 1], 200)),
        (X, np.ones(200, int)),
        (X, -np.ones(200, int)),
        (np.zeros((200, 2)), rng.choice([-1, 1], 200)),
        (np.repeat(X[:1], 200, axis=0), np.tile([1, -1], 100)),
        (X * 10**9, rng.choice([-1, 1], 200)),
    ):
        learner = PrivateHalfspaceLearner(2, method=method, radius=32, random_state=0).fit(table, y)
        assert set(learner.predict(table).tolist()) <= {-1, 1}


@pytest.mark.parametrize("d", [1, 3])
def test_other_numbers_of_features(d):
    """One feature and three work in all methods; three component by component for few records only."""
    rng = np.random.default_rng(0)
    X = rng.integers(-32, 33, (400, d))
    y = np.where(X.sum(axis=1) >= 5, 1, -1)
    generic = PrivateHalfspaceLearner(8, method="exponential", radius=32, random_state=0)
    assert generic.fit(X, y).score(X, y) > 0.85
    sizes = (60, 50, 40) if d == 3 else None
    learner = carrier(8, radius=32, random_state=0, m=sizes).fit(X, y)
    assert learner.score(X, y) > (0.6 if d == 3 else 0.85)


def test_samples_in_space_are_as_large_as_time_allows():
    """In three features the first sample is capped whatever n is, the others take what is left of n."""
    profile = halfspace_profile(3, 64)
    most = Halfspaces((compact_domain(64),) * 3, merged=True).largest(64, "carrier-boost", initial=False)
    small, large = (validated(profile, n, Fraction(2), most=most) for n in (400, 40_000))
    assert small.m == validated(profile, 400, Fraction(2)).m
    assert large.m[0] == most[0] == 800
    assert large.n == 40_000
    assert all(a <= b for a, b in zip(small.m, large.m, strict=True))
    rng = np.random.default_rng(0)
    X = rng.integers(-64, 65, (240, 3))
    y = np.where(X.sum(axis=1) >= 5, 1, -1)
    assert carrier(20, radius=64, random_state=0).fit(X, y).score(X, y) > 0.7


def test_searches_over_parameters_run_in_scikit_learn():
    """A grid search over methods, components and rules fits and predicts with either learner."""
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV

    X, y = _square(60)
    grid = {"method": ["exponential", "carrier-boost"], "merged": [True, False]}
    found = GridSearchCV(PrivateHalfspaceLearner(9, random_state=0), grid, cv=2).fit(X, y)
    assert found.best_score_ > 0.6
    grid = {"rule": ["xor", "majority"], "k": [1, 2]}
    tuples = GridSearchCV(PrivateThresholdTuple(9, high=600, random_state=0), grid, cv=2)
    assert set(tuples.fit(X[:, :1], y).predict(X[:, :1])) <= {-1, 1}


def test_bad_input_is_named():
    """Each bad argument gives an error that names it and no value of a record."""
    X, y = _square(100)
    cases = [
        ({}, np.ones((3, 2, 2)), y, "X"),
        ({}, np.ones((100, 0)), y, "X"),
        ({}, np.full((100, 2), np.nan), y, "X"),
        ({}, [["a", "b"]] * 100, y, "X"),
        ({}, X, y[:50], "y"),
        ({}, np.ma.masked_array(X, X > 100), y, "X"),
        ({}, X, np.ma.masked_array(y, y > 0), "y"),
        ({"epsilon": 2**20_000}, X, y, "epsilon"),
        ({"radius": 2**20_000}, X, y, "radius"),
        ({"m": (2**20_000, 1)}, X, y, "m"),
        ({"mode": "rigorous", "alpha": Fraction(1, 10**400)}, X, y, "alpha"),
        ({"mode": "rigorous", "alpha": Fraction(1, 10**15), "method": "exponential"}, X, y, "alpha"),
        ({"position": "perturbed", "radius": 2**26}, X, y, "radius"),
        ({}, np.ones((100, 4)), y, "X"),
        ({"mode": "rigorous", "alpha": 0.1}, np.ones((100, 9)), y, "X"),
        ({}, X, np.zeros(100), "y"),
        ({}, X[:0], y[:0], "X"),
        ({}, X + 1j, y, "X"),
        ({}, [[1, 2], [3]], [1, -1], "X"),
        ({}, X[:2], [[1], [1, -1]], "y"),
        ({}, X.astype("datetime64[s]"), y, "X"),
        ({"classes": None}, X, y, "classes"),
        ({"scale": 10**400}, X, y, "scale"),
        ({"m": 3}, X, y, "m"),
        ({"m": (3,)}, X, y, "m"),
        ({"initial": "no"}, X, y, "initial"),
        ({"delta": -1}, X, y, "delta"),
        ({"beta": 0}, X, y, "beta"),
        ({"reservoirs": "old"}, X, y, "reservoirs"),
        ({"classes": (1, 1)}, X, y, "classes"),
        ({"epsilon": 0}, X, y, "epsilon"),
        ({"epsilon": "much"}, X, y, "epsilon"),
        ({"delta": 1}, X, y, "delta"),
        ({"method": "boost"}, X, y, "method"),
        ({"mode": "fast"}, X, y, "mode"),
        ({"mode": "rigorous"}, X, y, "alpha"),
        ({"mode": "rigorous", "alpha": 0.1}, X, y, "n"),
        ({"mode": "paper"}, X, y, "epsilon, delta"),
        ({"mode": "paper", "delta": 1e-6}, X, y, "n"),
        ({"coordinates": "fine"}, X, y, "coordinates"),
        ({"radius": 0}, X, y, "radius"),
        ({"scale": -1}, X, y, "scale"),
        ({"m": (90, 90)}, X, y, "m"),
        ({"random_state": -1}, X, y, "random_state"),
    ]
    for params, table, labels, name in cases:
        with pytest.raises(ArgumentError) as caught:
            carrier(**{"random_state": 0, **params}).fit(table, labels)
        assert caught.value.name == name
    others = [({"low": 5, "high": 1}, "high"), ({"low": 0.5}, "low"), ({"high": 2**60}, "high")]
    others += [({"rule": "and"}, "rule"), ({"k": 3}, "k"), ({"rule": "xor", "k": 9}, "k")]
    for params, name in others:
        with pytest.raises(ArgumentError) as caught:
            PrivateThresholdTuple(**params).fit(X[:, :1], y)
        assert caught.value.name == name
    with pytest.raises(ArgumentError, match="fit"):
        PrivateHalfspaceLearner().predict(X)
    with pytest.raises(ArgumentError, match="columns"):
        PrivateHalfspaceLearner(random_state=0).fit(X, y).predict(X[:, :1])


def test_records_are_moved_one_by_one():
    """Where a record lands does not depend on the others, and records on the grid stay."""
    rng = np.random.default_rng(0)
    X = rng.normal(scale=400, size=(50, 2))
    whole = snapped(X, Fraction(1), -512, 512)
    alone = np.concatenate([snapped(X[i : i + 1], Fraction(1), -512, 512) for i in range(50)])
    assert (whole == alone).all()
    assert (snapped(whole, Fraction(1), -512, 512) == whole).all()


def test_homogeneous_weights_label_as_the_components_do():
    """(a, -w) on (x, 1) and a . x >= w agree for rational components."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a = [
            Fraction(int(v), int(d))
            for v, d in zip(rng.integers(-9, 10, 2), rng.integers(1, 9, 2), strict=True)
        ]
        w = Fraction(int(rng.choice([-1, 1])))
        X = rng.integers(-9, 10, (30, 2))
        for components in ((w, *a), ((w, a[0]), a[1])):
            h = halfspace_of(components)
            got = h.predict(np.column_stack([X, np.ones(30, int)]))
            assert got.tolist() == [
                1 if sum(c * int(v) for c, v in zip(a, x, strict=True)) >= w else -1 for x in X
            ]


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"mode": "fast"}, "mode"),
        ({"mode": "paper", "delta": 1e-6}, "mode"),
        ({"mode": "rigorous"}, "alpha"),
        ({"mode": "rigorous", "alpha": 2}, "alpha"),
        ({"alpha": 0}, "alpha"),
        ({"beta": 1}, "beta"),
        ({"delta": 7}, "delta"),
        ({"delta": -1}, "delta"),
        ({"m": (3, 3)}, "m"),
        ({"reservoirs": "old"}, "reservoirs"),
        ({"initial": 1}, "initial"),
        ({"shuffle": None}, "shuffle"),
    ],
)
def test_the_default_method_checks_every_parameter(params, name):
    """The generic mechanism refuses the parameters that it does not use as the other methods do."""
    X, y = _square(50)
    for learner, table in ((PrivateHalfspaceLearner, X), (PrivateThresholdTuple, X[:, :1])):
        with pytest.raises(ArgumentError) as caught:
            learner(**params, random_state=0).fit(table, y)
        assert caught.value.name == name
    with pytest.raises(ArgumentError, match="coordinates"):
        PrivateHalfspaceLearner(coordinates="fine").fit(X, y)
    with pytest.raises(ArgumentError, match="merged"):
        PrivateHalfspaceLearner(merged="yes").fit(X, y)


@pytest.mark.parametrize(
    ("params", "d", "n"),
    [
        ({}, 9, 30),
        ({}, 2, 0),
        ({"method": "carrier-boost"}, 2, 0),
        ({"method": "label-boost"}, 2, 0),
        ({"method": "carrier-boost"}, 2, 3),
        ({"method": "carrier-boost", "m": (50, 50)}, 2, 30),
        ({"mode": "rigorous", "alpha": 0.1}, 1, 100),
        ({"mode": "rigorous", "alpha": 0.1}, 2, 100),
        ({"mode": "rigorous", "alpha": 0.1}, 3, 100),
        ({"mode": "rigorous", "alpha": 0.001}, 2, 100),
        ({"mode": "paper"}, 2, 30),
        ({"random_state": 0}, 2, 30),
        ({"random_state": "seed"}, 2, 30),
    ],
)
def test_public_refusals_come_before_the_charge(params, d, n):
    """What follows from parameters and public sizes is refused while the budget is whole."""
    X = np.random.default_rng(0).integers(-5, 6, (n, d))
    budget = Budget(10)
    with pytest.raises(ArgumentError):
        PrivateHalfspaceLearner(1, **params).fit(X, np.where(np.arange(n) % 2, 1, -1), budget)
    assert budget.spent == 0


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_table_of_numbers_is_refused_before_the_charge(method):
    """An empty table is refused in all methods of the threshold learner, and nothing is charged."""
    budget = Budget(10)
    with pytest.raises(ArgumentError, match="at least one record"):
        PrivateThresholdTuple(1, method=method).fit(np.zeros((0, 1)), [], budget)
    assert budget.spent == 0


def test_the_complete_set_of_one_feature_has_every_labelling():
    """On [-4, 4] the rigorous set labels in all 2 * 9 ways that a threshold of either side can."""
    run = halfspace_run(1, 4, 10**4, Goal(Fraction(1), Fraction(1, 10), Fraction(1, 10)))
    x = np.arange(-4, 5)
    points = np.column_stack([x, np.ones_like(x)])
    members = [
        run.grid.member(0, offset, flipped=flipped)
        for offset in range(len(run.grid.offsets))
        for flipped in (False, True)
    ]
    assert len(members) == run.size
    found = {tuple(h.predict(points).tolist()) for h in members}
    wanted = {tuple(np.where(s * x >= s * t, s2, -s2).tolist()) for s in (1, -1) for s2 in (1, -1) for t in x}
    assert found == wanted
    assert len(found) == 18


def test_certified_sizes_are_the_plans():
    """The least n of the rigorous generic mechanism is the planner's in the plane; the promise holds at n."""
    tenth = Fraction(1, 10)
    goal = Goal(Fraction(1), tenth, tenth)
    plan = learning_plan("halfspaces", d=2, radius=32, delta=0)
    least = plan.row("exponential mechanism, dual grid").n
    assert "error at most 0.1 " in halfspace_run(2, 32, least, goal).promise
    with pytest.raises(ArgumentError, match=f"at least {least:,} records"):
        halfspace_run(2, 32, least - 1, goal)
    for n in (700, 2000, 20_000):  # the error that is named needs no more than n records
        named = Fraction(tuple_run(2, 100, n, goal).promise.split()[3])
        assert named < tenth
        smaller = Goal(goal.epsilon, named, tenth)
        assert least_rows(composition_profile(2, 100), 101**2, smaller) <= n


@pytest.mark.parametrize("d", [1, 2])
def test_rigorous_generic_runs_keep_their_promise(d):
    """Near the least n the error stays below alpha in every one of twelve runs."""
    tenth = Fraction(1, 10)
    rng = np.random.default_rng(d)
    n = 600 if d == 1 else 950
    normal = np.array([1, -2])[:d]
    for seed in range(12):
        X, fresh = rng.integers(-16, 17, (n, d)), rng.integers(-16, 17, (4000, d))
        y, truth = (np.where(Z @ normal >= seed - 2, 1, -1) for Z in (X, fresh))
        learner = PrivateHalfspaceLearner(
            1, mode="rigorous", alpha=tenth, beta=tenth, radius=16, random_state=seed
        ).fit(X, y)
        assert learner.promise_.startswith("error at most")
        assert learner.epsilon_ == 1
        assert learner.score(fresh, truth) > 0.9


def test_long_tables_of_the_plane_are_sampled(monkeypatch):
    """Beyond the public number of rows a uniform subset is used, as the ledger says."""
    monkeypatch.setattr(generic, "_PLANE_ROWS", 1000)
    X, y = _square(3000)
    learner = PrivateHalfspaceLearner(2, mode="rigorous", alpha=0.1, random_state=0).fit(X, y)
    (row,) = learner.ledger_
    assert (row.m, row.reservoir) == (1000, 3000)
    assert learner.score(X, y) > 0.9


def test_promises_hold_numbers():
    """The validated promise of the generic mechanism names its mistakes at beta, fewer for larger beta."""
    X, y = _square(300)
    mistakes = []
    for beta in (0.01, 0.5):
        learner = PrivateHalfspaceLearner(1, beta=beta, random_state=0).fit(X, y)
        mistakes.append(int(learner.promise_.split()[2]))
        assert f"{1 - beta:g}" in learner.promise_
    assert mistakes[0] > mistakes[1] > 0
