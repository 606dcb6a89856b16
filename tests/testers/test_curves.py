"""Laws of resolution curves: rows of plans and nothing else, monotone where they must be."""

import itertools
import json
from fractions import Fraction

import pytest

import geomdp as g
from geomdp import data
from geomdp.plot.crossover import resolution_plot
from geomdp.testers.base import Setting
from geomdp.testers.curves import AXES, Curves, default_values, least_n, resolution_curves
from geomdp.testers.plan import Plan, PlanRow

AXIS = g.Domain.grid([("x", 0, 1, 16)])


@pytest.fixture(scope="module")
def lines():
    """Lines of 2^8 to 2^1024 ranks."""
    domains = [g.Domain.line(2**bits) for bits in (8, 32, 256, 1024)]
    return resolution_curves(domains, "domain", n=10**6, labels="disjoint")


def _curve(curves, name):
    return next(c for c in curves.curves if c.name == name)


@pytest.mark.parametrize("axis", [axis for axis in AXES if axis != "domain"])
def test_every_point_is_a_row_of_the_plan(axis):
    """At each value the curve holds exactly what a plan made there says."""
    values = {"epsilon": [1, 2], "n": [30, 3000], "beta": ["0.1", "0.01"], "tolerance": [0, 5]}[axis]
    fixed = {"n": 300, "epsilon": 1, "beta": "0.1", "tolerance": 0}
    found = resolution_curves(AXIS, axis, values, **fixed)
    for i, value in enumerate(values):
        made = g.plan(AXIS, **{**fixed, axis: value})
        for curve in found.curves:
            rows = [r for r in made.testers if (r.name, r.guarantee) == (curve.name, curve.guarantee)]
            assert curve.resolutions[i] == min((r.resolution for r in rows), default=None)
            assert curve.feasible[i] == any(r.feasible for r in rows)
            assert curve.trusted == rows[0].trusted


def test_more_budget_and_more_failure_never_hurt():
    """Every curve falls in epsilon and in beta, and rises by at least the tolerance."""
    for axis, values in (("epsilon", ["1/4", "1/2", 1, 2]), ("beta", ["0.02", "0.1", "0.3"])):
        for curve in resolution_curves(AXIS, axis, values, n=10**6).curves:
            known = [t for t in curve.resolutions if t is not None]
            assert known == sorted(known, reverse=True)
    for curve in resolution_curves(AXIS, "tolerance", [0, 4, 9], n=10**6).curves:
        low, middle, high = curve.resolutions
        if low is not None:
            assert middle >= low + 4
            assert high >= middle + 5


def test_longer_lines_resolve_less(lines):
    """The interior-point tester's t grows with m, about linearly in its bits; the curator's does not."""
    found = _curve(lines, "interior-point").resolutions
    assert list(found) == sorted(found)
    assert 3 < found[3] / found[2] < 5
    assert len(set(_curve(lines, "curator").resolutions)) == 1
    assert lines.x[-1] == 2**1024
    assert json.loads(json.dumps(lines.to_dict()))["x"][-1] == str(2**1024)


def test_crossovers_are_where_the_best_changes():
    """A crossover is two neighbouring values with different best rows; none is missed."""
    found = resolution_curves(AXIS, "n", [5, 20, 200, 2000], n=1)
    best = [None if p.best is None else (p.best.name, p.best.guarantee) for p in found.plans]
    assert best[0] is None
    assert best[-1] is not None
    changes = [(a, b) for a, b in itertools.pairwise(best) if a != b]
    assert [(c.before, c.after) for c in found.crossovers] == changes
    assert all(found.values.index(c.to) == found.values.index(c.at) + 1 for c in found.crossovers)


@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
@pytest.mark.parametrize("domain", [AXIS, g.Domain.line(2**20), g.Domain([[1, 0], [-1, 0], [0, 1]])])
def test_least_n_is_the_turn_of_feasibility(domain, labels):
    """A row is feasible at its least n and not with one record fewer."""
    for row in g.plan(domain, n=5, epsilon=1, labels=labels).testers:
        n = least_n(row)
        if n is None:
            assert row.resolution is None
            continue
        at, below = (
            Setting(domain, k, k, 1, labels=labels, classes=row.tester.setting.classes).largest_opt
            for k in (n, max(1, n - 1))
        )
        assert at >= row.resolution
        assert n == 1 or below < row.resolution


def test_default_values_surround_the_setting():
    """Defaults are in order, distinct, inside every range, and hold the setting's own value."""
    for axis, own in (("epsilon", Fraction(1)), ("n", 800), ("beta", Fraction(1, 10)), ("tolerance", 3)):
        values = default_values(axis, 800, 1, 3)
        assert own in values
        assert sorted(set(values), reverse=axis == "beta") == values
    assert max(default_values("epsilon", 5, 100, 0)) == 100
    assert default_values("n", (3, 1), 1, 0)[0] == 1


def test_a_tester_that_is_not_always_defined_leaves_gaps():
    """A curve is None where its tester has no row; the order is by the best resolution."""
    made = g.plan(AXIS, n=300, epsilon=1)
    curator = next(row for row in made.testers if row.name == "curator")
    found = Curves("n", (1, 2), (made, Plan(made.setting, (PlanRow(curator.tester),))))
    assert _curve(found, "interior-point").resolutions[1] is None
    assert found.curves[0].name == "curator"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"axis": "d"}, "axis"),
        ({"values": []}, "values"),
        ({"axis": "epsilon", "values": [0]}, "epsilon"),
        ({"axis": "n", "values": [0]}, "n"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    """Each argument outside its range raises an ArgumentError with its name."""
    with pytest.raises(g.ArgumentError) as caught:
        resolution_curves(AXIS, n=30, **arguments)
    assert caught.value.name == name


def test_progress_ends_at_one():
    """The fraction done never falls, and ends at 1."""
    told = []
    resolution_curves(AXIS, "tolerance", [0, 1, 2], n=300, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1


def test_the_picture_shows_every_curve(lines):
    """Each curve that is certified anywhere has a line through its values, each best row a mark."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure, ax = pyplot.subplots()
    drawn = resolution_plot(lines, ax=ax)
    for curve in lines.curves:
        if any(t is not None for t in curve.resolutions):
            heights = drawn[curve.name, curve.guarantee].get_ydata()
            shown = [t if able else None for t, able in zip(curve.resolutions, curve.feasible, strict=True)]
            assert [None if y != y else y for y in heights] == shown  # noqa: PLR0124 - NaN is a gap
    assert len(drawn["best"].get_offsets()) == len(lines.values)
    assert list(ax.get_xticks()) == [8, 32, 256, 1024]
    only = resolution_plot(lines, names=["curator"], ax=figure.add_subplot())
    assert set(only) == {("curator", "analytic"), "best"}
    pyplot.close(figure)


def test_plan_draws_its_curves(geomdp, tmp_path):
    """`geomdp plan --plot` writes a picture beside the unchanged answer, and refuses to overwrite inputs."""
    table = tmp_path / "line.json"
    table.write_text(json.dumps({"features": [{"name": "x", "lower": 0, "upper": 1, "levels": 6}]}))
    picture = tmp_path / "p.png"

    def run(*arguments):
        return geomdp("plan", "--grid", table, *arguments)[:2]

    common = ["--n", 300, "--epsilon", 1, "--json"]
    plain = run(*common)
    assert run(*common, "--plot", picture, "--along", "tolerance") == plain
    assert picture.stat().st_size > 5000
    assert run(*common, "--plot", table)[0] == 2
    assert json.loads(table.read_text())["features"]
    assert data.path("penguins/grid8.json").exists()
