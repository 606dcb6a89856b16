"""Laws of the planner."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import geomdp as g
from geomdp.core.errors import ArgumentError, CapacityError, InfeasibleError
from geomdp.privacy.sampler import SecureSampler
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.plan import PlanRow

SQUARE = g.Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
AXIS = g.Domain.grid([("x", 0, 1, 16)])
LONG = g.Domain.line(2**64)


def _match(domain, n):
    """A sample that a classifier fits: low cells -1, high cells +1."""
    cells = np.arange(n) % domain.m
    return g.Sample.from_cells(domain, cells, np.where(cells * 2 < domain.m, -1, 1))


@pytest.mark.parametrize("domain", [SQUARE, AXIS, LONG])
@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
def test_the_best_row_is_the_least_feasible_untrusted_one(domain, labels):
    """The best row has the least resolution among feasible rows that need no trust and always answer."""
    p = g.plan(domain, n=2000, epsilon=1, labels=labels)
    able = [
        r for r in p.testers if r.feasible and not r.trusted and r.guarantee in ("analytic", "certified-mc")
    ]
    assert p.best.resolution == min(r.resolution for r in able)
    assert [r.resolution or np.inf for r in p.testers] == sorted(r.resolution or np.inf for r in p.testers)


def test_the_curator_is_marked_and_never_best():
    """The trusted reference has the least resolution of all, and is not chosen."""
    p = g.plan(AXIS, n=2000, epsilon=1)
    assert p.testers[0].name == "curator"
    assert p.testers[0].trusted
    assert p.best.name != "curator"


def test_small_n_leaves_nothing_feasible_but_names_the_nearest():
    """With ten records nobody guarantees anything; the plan says what would be nearest."""
    p = g.plan(SQUARE, n=10, epsilon=1)
    assert p.best is None
    assert p.to_dict()["best"] is None
    assert p.nearest.resolution > 10
    assert "opt cannot exceed 10" in p.nearest.reason


def test_more_budget_never_hurts():
    """Each row's resolution falls as epsilon grows and rises with the tolerance."""
    table = {
        eps: {(r.name, r.guarantee): r.resolution for r in g.plan(AXIS, n=2000, epsilon=eps).testers}
        for eps in ("1/2", 1, 2)
    }
    for key in table[1]:
        assert table["1/2"][key] >= table[1][key] >= table[2][key]
    loose = {
        (r.name, r.guarantee): r.resolution for r in g.plan(AXIS, n=2000, epsilon=1, tolerance=9).testers
    }
    assert all(loose[key] >= table[1][key] + 9 for key in table[1])


@pytest.mark.parametrize("domain", [SQUARE, AXIS])
@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
def test_every_row_runs_and_spends_at_most_epsilon(domain, labels):
    """Each tester answers from the secure source within each party's budget, and says what it is."""
    S = _match(domain, 300)
    S_A = g.Sample.from_cells(domain, [0] * 300, [-1] * 300) if labels == "disjoint" else S
    S_B = g.Sample.from_cells(domain, [domain.m - 1] * 300, [1] * 300) if labels == "disjoint" else S
    p = g.plan(domain, n=300, epsilon=Fraction(2, 3), labels=labels)
    for row in p.testers:
        if row.resolution is None:
            continue
        o = row.run(S_A, S_B, force_uncertified=True)
        assert o.verdict in ("Match", "Far", "Inconclusive")
        assert max(o.spent.values()) <= Fraction(2, 3)
        assert not o.simulated
        assert o.certified == row.feasible
        assert o.to_dict()["guarantee"] == (row.guarantee if row.feasible else "uncertified")


def test_a_seeded_run_is_marked_simulated():
    """rng= gives repeatable outcomes that say so, also in the repr."""
    S = _match(AXIS, 300)
    row = g.plan(AXIS, n=300, epsilon=1).best
    first, second = row.run(S, S, rng=3), row.run(S, S, rng=np.random.default_rng(3))
    assert first.simulated
    assert second.simulated
    assert first.to_dict() == row.run(S, S, rng=3).to_dict()
    assert "SIMULATED" in repr(first)


def test_the_secure_source_has_no_seed():
    """A release cannot be seeded: the secure sampler takes no argument."""
    with pytest.raises(TypeError):
        SecureSampler(3)


def test_samples_must_be_what_was_planned():
    """Another domain, another size, or labels that break the promise are refused before anything is drawn."""
    row = g.plan(AXIS, n=300, epsilon=1).best
    good = _match(AXIS, 300)
    with pytest.raises(g.ArgumentError, match="plan's domain"):
        row.run(good, _match(SQUARE, 300))
    with pytest.raises(g.ArgumentError, match="n = 300 records"):
        row.run(good, _match(AXIS, 299))
    with pytest.raises(g.ArgumentError, match="Sample"):
        row.run(good, None)


def test_broken_promises_of_disjoint_labels_stay_private():
    """Whether labels are as promised is never checked against the records: every sample gets an answer."""
    good = _match(AXIS, 300)
    p = g.plan(AXIS, n=300, epsilon=1, labels="disjoint")
    for row in p.testers:
        if row.feasible:
            assert row.run(good, good, rng=1).verdict in ("Match", "Far", "Inconclusive")


def test_a_run_below_the_certified_size_must_be_forced():
    """An infeasible row refuses, and forced it says uncertified."""
    row = g.plan(SQUARE, n=10, epsilon=1).nearest
    S = _match(SQUARE, 10)
    with pytest.raises(g.InfeasibleError, match="Argument 'n' must be large enough"):
        row.run(S, S)
    assert not row.run(S, S, force_uncertified=True).certified


def test_select_finds_rows_by_name_and_guarantee():
    """Selection takes the least resolution of a name, never an inconclusive one unless asked."""
    p = g.plan(SQUARE, n=2000, epsilon=1)
    assert p.select("one-way").resolution == min(r.resolution for r in p.testers if r.name == "one-way")
    assert p.select("halfspace-elimination").guarantee == "analytic"
    assert p.select("halfspace-elimination", "unless-inconclusive").guarantee == "unless-inconclusive"
    with pytest.raises(g.ArgumentError, match="Argument 'tester' must be one of"):
        p.select("magic")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": "1e-9"}, "epsilon"),
        ({"beta": 1}, "beta"),
        ({"beta": -0.5}, "beta"),
        ({"n": 0}, "n"),
        ({"n": 2.5}, "n"),
        ({"n": (1, 2, 3)}, "n"),
        ({"labels": "both"}, "labels"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": 0.5}, "tolerance"),
        ({"classes": "trees"}, "classes"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    """Each argument outside its range raises an ArgumentError with its name."""
    with pytest.raises(g.ArgumentError) as caught:
        g.plan(AXIS, **{"n": 100, "epsilon": 1, **arguments})
    assert caught.value.name == name


def test_thresholds_need_an_ordered_domain():
    """classes='thresholds' on a plane is refused; halfspaces on a line are fine."""
    with pytest.raises(g.ArgumentError, match="classes"):
        g.plan(SQUARE, n=100, epsilon=1, classes="thresholds")
    assert g.plan(AXIS, n=2000, epsilon=1, classes="halfspaces").best is not None


def test_a_thorough_plan_adds_the_tilted_testers():
    """Thorough plans hold three more rows, which run within the budget; one-way-tilted beats one-way."""
    S = _match(SQUARE, 300)
    p = g.plan(SQUARE, n=300, epsilon=1, thorough=True)
    added = {"one-way-tilted", "two-histograms-tilted", "localised"}
    assert added <= {row.name for row in p.testers}
    for name in added:
        outcome = p.select(name).run(S, S)
        assert outcome.verdict in ("Match", "Far")
        assert outcome.epsilon_spent <= 1
    assert p.select("one-way-tilted").resolution <= p.select("one-way").resolution


@pytest.mark.parametrize("beta", ["1e-15", "1e-30", "1e-100", "1e-300"])
@pytest.mark.parametrize("domain", [SQUARE, AXIS, LONG])
def test_a_tiny_beta_gives_a_plan(domain, beta):
    """Every row has a resolution or says why not, at any beta."""
    for labels in ("mixed", "disjoint"):
        rows = g.plan(domain, n=1000, epsilon=1, beta=beta, labels=labels).testers
        assert all(row.reason for row in rows if row.resolution is None)
        assert any(row.resolution for row in rows)


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-5", "1e-4"])
@pytest.mark.parametrize("domain", [SQUARE, AXIS, LONG])
def test_a_tiny_epsilon_gives_a_plan(domain, epsilon):
    """Every row has a resolution or says why not, down to the smallest epsilon."""
    rows = g.plan(domain, n=10**8, epsilon=epsilon, labels="disjoint").testers
    assert all(row.reason for row in rows if row.resolution is None)
    assert any(row.resolution for row in rows)


def test_a_smaller_epsilon_never_resolves_more():
    """Across the change from exact sums to Chernoff's bound the resolutions grow as epsilon falls."""
    found = []
    for epsilon in ("1e-3", "2e-4", "1e-4", "3e-5", "1e-5", "1e-6"):
        p = g.plan(SQUARE, n=10**8, epsilon=epsilon)
        found.append([p.select(name, "analytic").resolution for name in ("one-way", "two-histograms")])
    assert found == sorted(found)
    assert all(a[i] < b[i] for a, b in pairwise(found) for i in (0, 1))


def test_menus_of_many_candidates_are_measured_only_when_asked(monkeypatch):
    """The default plan gives a reason in place of a long measurement; once measured, it shows the value."""
    from geomdp.testers import elimination

    calls = []
    real = elimination.first_menus
    monkeypatch.setattr(elimination, "MOST_MEASURED", 100)
    monkeypatch.setattr(elimination, "first_menus", lambda *given: calls.append(1) or real(*given))
    setting = g.plan(SQUARE, n=2000, epsilon="1.7").setting
    fields = {"guarantee": "unless-inconclusive", "measure": False}
    unmeasured = HalfspaceElimination(setting, **fields)
    assert unmeasured.resolution is None
    assert "thorough=True" in unmeasured.reason
    assert not calls
    measured = HalfspaceElimination(setting, guarantee="unless-inconclusive")
    assert measured.resolution is not None
    assert HalfspaceElimination(setting, **fields).resolution == measured.resolution


@pytest.mark.parametrize(
    ("domain", "thorough"), [(AXIS, True), (SQUARE, True), (SQUARE, False), (LONG, False)]
)
@pytest.mark.parametrize("cold", [True, False])
def test_progress_runs_once_over_all_rows(domain, thorough, cold, monkeypatch, tmp_path):
    """The fraction done rises strictly from 0 to 1, whatever is on the disk already."""
    if cold:
        monkeypatch.setenv("GEOMDP_CACHE_DIR", str(tmp_path))
    told = []
    g.plan(domain, n=300, epsilon=1, thorough=thorough, progress=told.append)
    assert all(a < b for a, b in pairwise(told))
    assert (told[0], told[-1]) == (0, 1)


def test_a_plan_says_what_thorough_would_add(monkeypatch):
    """A default plan names the rows that it leaves out or leaves open; a thorough one has nothing to add."""
    from geomdp.testers import elimination

    monkeypatch.setattr(elimination, "MOST_MEASURED", 100)
    made = g.plan(SQUARE, n=2000, epsilon="1.9")
    assert "halfspace-elimination, unless-inconclusive" in made.left_out
    assert "tilted" in made.left_out
    assert made.to_dict()["left_out"] == made.left_out
    assert g.plan(AXIS, n=300, epsilon=1, thorough=True).left_out == ""
    assert g.plan(LONG, n=300, epsilon=1).left_out == ""


SMALL = [
    g.Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)]),
    g.Domain([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]]),
    g.Domain([[2, -1]]),
    g.Domain([[1, 2], [-1, -2]]),
    g.Domain([[1, 1, 2], [2, 2, 4], [0, 1, 1], [1, 0, 1], [-1, 0, -1]]),
]


@pytest.mark.parametrize("domain", SMALL)
@pytest.mark.parametrize(("epsilon", "beta"), [(30, "0.5"), (100, "0.9"), (50, "0.1"), ("1/100", "1e-6")])
def test_small_domains_have_plans(domain, epsilon, beta):
    """On antipodal, dependent and single points every row has a resolution or a reason."""
    for row in g.plan(domain, n=100, epsilon=epsilon, beta=beta, thorough=domain.m < 3).testers:
        assert row.resolution is not None or row.reason


@pytest.mark.parametrize("beta", ["1e-300", 1 - Fraction(1, 10**12)])
@pytest.mark.parametrize("domain", [SMALL[0], AXIS])
def test_both_ends_of_beta_have_plans(domain, beta):
    """At the least and the largest beta each row has a resolution or a reason; beyond, beta is named."""
    for row in g.plan(domain, n=100, epsilon=1, beta=beta, thorough=domain.m < 5).testers:
        assert row.resolution is not None or row.reason
    for wrong in (0, 1, "1e-301", "1e-400", "0." + "9" * 29, Fraction(1, 10**400)):
        with pytest.raises(ArgumentError, match=r"Argument 'beta' must be a (finite )?number"):
            g.plan(domain, n=100, epsilon=1, beta=wrong)


def test_one_row_out_of_reach_leaves_the_others(monkeypatch):
    """A tester whose constants are too large to find becomes a row with the reason; nobody can run it."""

    def crowded(self, setting):
        raise CapacityError("m", "small", "large")

    whole = {row.name for row in g.plan(AXIS, n=100, epsilon=1).testers}
    monkeypatch.setattr("geomdp.testers.median_depth.MedianDepth.__init__", crowded)
    rows = {row.name: row for row in g.plan(AXIS, n=100, epsilon=1).testers}
    assert set(rows) == whole
    assert rows["median-depth"].reason == "Argument 'm' must be small, not large."
    sample = _match(AXIS, 100)
    with pytest.raises(InfeasibleError):
        rows["median-depth"].run(sample, sample, force_uncertified=True)


def test_progress_must_be_callable():
    """What cannot be told is refused by name."""
    with pytest.raises(ArgumentError, match="Argument 'progress' must be"):
        g.plan(AXIS, n=100, epsilon=1, progress=3)


def test_a_run_of_minutes_is_announced():
    """Elimination says before a run that its menus take long to build, and only where they do."""
    for levels, slow in ((2, False), (3, True)):
        domain = g.Domain.grid([(name, 0, 1, levels) for name in "xyz"])
        row = PlanRow(HalfspaceElimination(Setting(domain, 100, 100, 1), constants="paper"))
        assert ("minutes" in row.note) == slow
        assert row.to_dict()["note"] == row.note
