"""Laws of what a fit promises and of what it keeps: rounding, moved records, labels, frozen parameters."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.learners.estimator_base import METHODS
from geomdp.learners.estimators import PrivateHalfspaceLearner, PrivateThresholdTuple
from geomdp.learners.generic import Goal, halfspace_run, tuple_run
from geomdp.learners.growth import halfspace_profile
from geomdp.learners.modes import rigorous
from geomdp.learners.perturbation import Perturbation, in_general_position
from geomdp.learners.planning import learning_plan
from geomdp.learners.promises import shown_chance, shown_rate
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import SimSampler

TENTH = Fraction(1, 10)
DAYS = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
shares = st.fractions(Fraction(1, 10**300), 1 - Fraction(1, 10**12))


def _read(text):
    """The number that a text names: a decimal, or a difference of two."""
    first, *rest = text.split(" - ")
    return Fraction(first) - sum(map(Fraction, rest))


@given(shares)
def test_shown_numbers_never_promise_more(value):
    """A shown rate is at least the rate, a shown chance at most the chance, and both are near."""
    rate, chance = _read(shown_rate(value)), _read(shown_chance(value))
    assert value <= rate <= value * (1 + Fraction(1, 10**5))
    assert (1 - value) * (1 - Fraction(1, 10**5)) <= chance <= 1 - value
    assert chance < 1


def test_small_failure_probabilities_are_not_rounded_to_certainty():
    """With beta = 1e-9 no promise of any mode speaks of probability 1."""
    goals = [Goal(Fraction(1), alpha, Fraction(1, 10**9)) for alpha in (None, TENTH)]
    texts = [halfspace_run(1, 512, 10**4, goal).promise for goal in goals]
    texts += [tuple_run(2, 100, 10**4, goal).promise for goal in goals]
    plan = rigorous(
        halfspace_profile(1, 512), 10**5, Fraction(1), Fraction(0), alpha=TENTH, beta=Fraction(1, 10**9)
    )
    for text in [*texts, plan.promise]:
        assert "probability at least 1 - 1e-09, " in text


def test_promises_are_about_records_as_moved():
    """The condition of a certificate names the move; the error is small where the move mixes no labels."""
    rng = np.random.default_rng(0)
    X = rng.random((4000, 1))
    y = np.where(X[:, 0] >= 0.25, 1, -1)
    for method in ("exponential", "carrier-boost"):
        fits = [
            PrivateHalfspaceLearner(
                1, mode="rigorous", alpha=0.1, method=method, scale=scale, random_state=0
            ).fit(X, y)
            for scale in (1, 512)
        ]
        for fit in fits:
            assert "if the records, moved to the grid by scale and radius, are independent" in fit.promise_
        assert fits[0].score(X, y) < 0.9 < fits[1].score(X, y)
    tuples = PrivateThresholdTuple(
        1, mode="rigorous", alpha=0.1, rule="threshold", scale=1000, random_state=0
    )
    assert "moved to the grid by scale, low and high, are" in tuples.fit(X, y).promise_


@pytest.mark.parametrize("method", METHODS)
def test_large_errors_are_refused_as_by_the_plan(method):
    """An error above 1/2 is refused by the planner and by both learners, in every mode."""
    with pytest.raises(ArgumentError, match="'alpha'"):
        learning_plan(alpha="0.6")
    X, y = np.arange(40).reshape(-1, 1), np.ones(40, int)
    for learner in (PrivateHalfspaceLearner, PrivateThresholdTuple):
        for mode in ("validated", "rigorous"):
            with pytest.raises(ArgumentError, match="'alpha'"):
                learner(1, method=method, mode=mode, alpha="0.6").fit(X, y)


def test_parameters_set_after_a_fit_change_nothing_that_is_fitted():
    """Predictions, scores and pickles of a fit are the same whatever is set afterwards, or fails."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 1))
    y = np.where(X[:, 0] >= 0.4, "in", "out")
    names = ["out", "in"]
    half = PrivateHalfspaceLearner(9, scale=100, radius=100, classes=names, random_state=0)
    pair = PrivateThresholdTuple(
        9, rule="threshold", scale=100, high=100, classes=names, random_state=0, method="carrier-boost"
    )
    for learner, later in ((half, {"radius": 2}), (pair, {"rule": "xor", "k": 3, "low": 5, "high": 9})):
        before = learner.fit(X, y).predict(X).tolist()
        score = learner.score(X, y)
        learner.set_params(scale="1/7", **later)
        names[:] = ["a", "b"]
        assert learner.predict(X).tolist() == before
        assert learner.score(X, y) == score > 0.9
        assert pickle.loads(pickle.dumps(learner)).predict(X).tolist() == before  # noqa: S301 - our own
        with pytest.raises(ArgumentError):
            learner.set_params(epsilon=0).fit(np.ones((9, 1)), np.ones(9))
        assert learner.predict(X).tolist() == before
        names[:] = ["out", "in"]


@pytest.mark.parametrize(
    "classes",
    [{0: "no", 1: "yes"}, "ab", {1, 2}, (1, 1), (1,), (1, 2, 3), ((1, 2), (3, 4)), np.eye(2), 7, (1, np.nan)],
)
@pytest.mark.parametrize("learner", [PrivateHalfspaceLearner, PrivateThresholdTuple])
def test_classes_that_name_no_pair_are_refused_before_the_charge(classes, learner):
    """Only a list, tuple or one-dimensional array of two different labels passes."""
    budget = Budget(9)
    with pytest.raises(ArgumentError, match="'classes'"):
        learner(1, classes=classes).fit(np.arange(9).reshape(-1, 1), np.arange(9) % 2, budget)
    assert budget.spent == 0


@pytest.mark.parametrize(
    "classes", [(0, "yes"), [False, True], np.array(["a", "b"]), (0, 1.5), (None, "b"), DAYS]
)
def test_labels_come_back_as_they_were_named(classes):
    """Predicted labels are those of the pair, of unlike types too, and a fit is scored by them."""
    X = np.arange(400).reshape(-1, 1)
    y = [classes[int(i >= 150)] for i in range(400)]
    y = np.array(y) if classes is DAYS else y
    learner = PrivateHalfspaceLearner(9, classes=classes, random_state=0).fit(X, y)
    found = learner.predict(X).tolist()
    y = y.tolist() if classes is DAYS else y
    assert set(found) == set(y)
    met = np.mean([a == b for a, b in zip(found, y, strict=True)])
    assert learner.score(X, [classes[int(i >= 150)] for i in range(400)]) == met > 0.9


class _Missing:
    """A label that cannot be compared, as the missing value of data frames."""

    def __eq__(self, other):
        return self

    def __hash__(self):
        return 0

    def __bool__(self):
        raise TypeError("ambiguous")


@pytest.mark.parametrize("value", [_Missing(), None, float("nan"), "other", 3])
@pytest.mark.parametrize("places", [[0], [3, 7]])
def test_missing_labels_are_refused_in_one_way(value, places):
    """Whichever rows hold whichever missing or third label: the same words, and nothing is charged."""
    y = [1, -1] * 10
    for place in places:
        y[place] = value
    budget = Budget(9)
    with pytest.raises(ArgumentError) as caught:
        PrivateHalfspaceLearner(1).fit(np.arange(20).reshape(-1, 1), np.array(y, dtype=object), budget)
    assert str(caught.value) == (
        "Argument 'y' must be of the two labels (-1, 1), not an array with another value, or a missing one. "
        "Name your labels: classes=(negative, positive)."
    )
    assert budget.spent == 0


def test_scores_need_a_label_for_each_record():
    """Too few labels, and an empty table, are refused by name; a missing label is not met."""
    X = np.arange(60).reshape(-1, 1)
    y = np.where(X[:, 0] >= 20, 1, -1)
    learner = PrivateHalfspaceLearner(9, random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match="'y'"):
        learner.score(X, y[:5])
    with pytest.raises(ArgumentError, match="'X'"):
        learner.score(X[:0], y[:0])
    holes = y.astype(object)
    holes[::2] = _Missing()
    assert learner.score(X, holes) == np.mean((learner.predict(X) == y) & (np.arange(60) % 2 == 1))


def test_wide_records_in_space_are_refused_before_the_charge():
    """In three features m beyond 120 is refused where the radius makes numbers long, and passes elsewhere."""
    X = np.random.default_rng(0).integers(-9, 10, (4000, 3))
    y = np.where(X.sum(axis=1) >= 0, 1, -1)
    budget = Budget(9)
    learner = PrivateHalfspaceLearner(4, method="carrier-boost", radius=2**15, m=(121, 20, 20))
    with pytest.raises(CapacityError, match="at most 120 rows"):
        learner.fit(X, y, budget)
    assert budget.spent == 0
    few = {"method": "carrier-boost", "m": (12, 9, 9), "random_state": 0}
    for radius in (9, 2**15):
        assert PrivateHalfspaceLearner(4, radius=radius, **few).fit(X, y).components_


def test_plans_claim_to_run_what_fits_and_nothing_without_a_size():
    """A row without a size, a lower bound, and a plane of more records than are taken do not run."""
    plan = learning_plan(d=2, radius=2**40, delta=0)
    assert not any(row.runs for row in plan.rows if row.n is None or row.kind == "lower bound")
    row = plan.row("exponential mechanism, dual grid")
    assert (row.n, row.runs) == (None, False)
    strict = learning_plan(d=2, alpha=Fraction(1, 1000), delta=0).row("exponential mechanism, dual grid")
    assert strict.n > 40_000
    assert not strict.runs
    with pytest.raises(ArgumentError, match="'d'"):
        learning_plan("thresholds", d=5)


def test_perturbations_take_texts_and_clip_what_lies_outside():
    """The chance may be a text; records beyond the radius are moved to it; their number is the public one."""
    moved = Perturbation(1, 3, 2, "0.1")
    assert moved == Perturbation(1, 3, 2, TENTH)
    assert moved.spread == 20
    inside, outside = (moved.apply(np.array([[x], [-x]]), SimSampler(0)).tolist() for x in (3, 50))
    assert inside == outside
    with pytest.raises(ArgumentError, match="2 rows"):
        moved.apply(np.zeros((3, 1), int), SimSampler(0))


@pytest.mark.parametrize("X", [[], [1, 2], [[1], [2, 3]], [[0.5, 1]], np.zeros((2, 0), int)])
def test_general_position_is_asked_of_tables_of_rationals(X):
    """What is no (n, d) table of integers or Fractions is refused by name."""
    with pytest.raises(ArgumentError, match="'X'"):
        in_general_position(X)


def test_wording_counts():
    """One size or column is spoken of in the singular, and a bad flag is shown as it was given."""
    X, y = np.arange(90).reshape(-1, 1), np.ones(90, int)
    cases = [
        ({"method": "carrier-boost", "m": (3, 3)}, "must be a list of 1 sample size, not one of 2."),
        ({"method": "carrier-boost", "m": [[3], [3, 4]]}, "must be an integer >= 1"),
        ({"merged": 1}, "must be True or False, not 1."),
    ]
    for params, words in cases:
        with pytest.raises(ArgumentError) as caught:
            PrivateHalfspaceLearner(1, random_state=0, **params).fit(X, y)
        assert words in str(caught.value)
    with pytest.raises(ArgumentError, match="a table with 1 column, not of shape"):
        PrivateHalfspaceLearner(1, random_state=0).fit(X, y).predict(np.ones((4, 2)))
