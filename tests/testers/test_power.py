"""Laws of simulated power: exact optima, seeds, bands, and one law behind both ways to simulate."""

import dataclasses
import json
from functools import partial

import numpy as np
import pytest
from support.samplers import RecordingSampler

import geomdp as g
from geomdp import data
from geomdp.privacy.binomial import clopper_pearson
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from geomdp.testers.families import Flips, Pairs, RandomLabels, counted, exact_opt, reference
from geomdp.testers.histogram import OneWay, TwoHistograms
from geomdp.testers.interior_point import InteriorPoint
from geomdp.testers.power import has_law, operating_characteristic, statistics
from geomdp.testers.tilted import OneWayTilted, TwoTilted

SQUARE = g.Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
PLACE = Setting(SQUARE, 400, 300, 1)
LINE = Setting(g.Domain.line(2**40), 200, 200, 1, labels="disjoint", classes="thresholds")
POINTS = Setting(g.Domain([[1, 0], [-1, 0], [0, 1], [2, 0]]), 60, 60, 1)


@pytest.mark.parametrize("setting", [PLACE, LINE, POINTS, Setting(SQUARE, 90, 80, 1, labels="disjoint")])
@pytest.mark.parametrize("where", ["cell", "spread", "random"])
@pytest.mark.parametrize("base", ["corner", "even"])
def test_pairs_have_the_optimum_that_they_promise(setting, where, base):
    """K pairs make opt = k, with the planned numbers of records and, if promised, disjoint labels."""
    for k in (0, 1, 20, setting.n):
        S_A, S_B = Pairs(where, base).pair(setting, k, np.random.default_rng(k))
        assert (S_A.n, S_B.n) == (setting.n_alice, setting.n_bob)
        assert exact_opt(setting, S_A, S_B) == k
        if setting.labels == "disjoint":
            assert S_A.positives.sum() == S_B.negatives.sum() == 0


def test_random_labels_come_near_the_optimum_asked_for():
    """The size for an optimum gives it within a third; size 0 fits."""
    for setting in (PLACE, Setting(SQUARE, 400, 300, 1, labels="disjoint")):
        family = RandomLabels()
        for opt in (0, 40, 80):
            size = family.size_for(opt)
            pair = family.pair(setting, size, np.random.default_rng(1))
            assert [S.n for S in pair] == [400, 300]
            assert 2 * opt / 3 <= exact_opt(setting, *pair) <= 4 * opt / 3


def test_flips_move_labels_and_nothing_else():
    """Flipping k labels keeps cells and sizes, and moves opt by at most k."""
    S_A, S_B = Pairs("spread", "even").pair(PLACE, 30, np.random.default_rng(0))
    for k in (0, 10, 300):
        A, B = Flips(S_A, S_B).pair(PLACE, k, np.random.default_rng(k))
        assert A is S_A
        assert np.array_equal(B.positives + B.negatives, S_B.positives + S_B.negatives)
        assert abs(exact_opt(PLACE, A, B) - 30) <= k
        assert np.abs(B.positives - S_B.positives).sum() <= k
    assert np.array_equal(B.positives, S_B.negatives)
    with pytest.raises(g.ArgumentError, match="family"):
        Flips(S_A, S_B).pair(Setting(SQUARE, 400, 300, 1, labels="disjoint"), 1, np.random.default_rng(0))


def test_reference_labels_are_of_the_class():
    """The fixed classifier's labels have no mistakes under the class, on every kind of domain."""
    for setting in (PLACE, LINE, POINTS, Setting(g.Domain.line(2**80), 9, 9, 1, classes="thresholds")):
        cells, labels = reference(setting)
        S = counted(setting.domain, [(c, int(y), 1) for c, y in zip(cells[:99], labels, strict=False)])
        assert exact_opt(setting, S, S) == 0


HISTOGRAMS = {
    "one-way": OneWay,
    "two-histograms": TwoHistograms,
    "one-way-tilted": OneWayTilted,
    "two-tilted": TwoTilted,
}


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("family", [Pairs("spread", "even"), RandomLabels()])
def test_without_noise_the_law_and_the_protocol_agree(name, family, monkeypatch):
    """With all noise 0 the statistic is twice opt (times the unit), and both ways give the same verdict."""
    tester = HISTOGRAMS[name](PLACE)
    pair = family.pair(PLACE, 50, np.random.default_rng(0))
    if hasattr(tester, "law"):
        # A run with the true noise first: tables of the patched one would be kept for later tests.
        tester.converse(*pair, SimSampler(0), SimSampler(1))
        kind = type(tester.law)
        monkeypatch.setattr(kind, "draw", lambda self, *_: np.zeros((1, self.domain.m), dtype=np.int64))
    W = statistics(tester, *pair, RecordingSampler(), 1)
    unit = tester.law.unit if hasattr(tester, "law") else 1
    assert W.tolist() == [2 * unit * exact_opt(PLACE, *pair)]
    verdict = tester.converse(*pair, RecordingSampler(), RecordingSampler()).verdict
    assert verdict == ("Far" if W[0] >= tester._cut() else "Match")


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_the_law_and_the_protocol_have_one_distribution(name):
    """Shares of Far by both ways differ by less than 4 standard deviations, where neither is near 0 or 1."""
    tester = HISTOGRAMS[name](PLACE)
    size = int(0.7 * tester.resolution)
    curves = [
        operating_characteristic(tester, Pairs("spread"), sizes=[size], runs=runs, workers=1, how=how, rng=5)
        for how, runs in (("protocol", 150), ("law", 4000))
    ]
    (slow,), (fast,) = (curve.points for curve in curves)
    assert 0.05 < fast.rate < 0.95
    assert abs(slow.rate - fast.rate) <= 4 * (fast.rate * (1 - fast.rate) / 150) ** 0.5


def test_the_curator_follows_its_closed_form():
    """The curator says Far iff opt + Z >= cut: simulated shares match the discrete Laplace tail."""
    tester = Curator(LINE)
    curve = operating_characteristic(tester, sizes=[0, 1, 2, 3], runs=1500, workers=1, rng=8)
    r = np.exp(-1.0)
    for point in curve.points:
        z = tester._cut - point.opt
        tail = r**z / (1 + r) if z > 0 else 1 - r ** (1 - z) / (1 + r)
        assert abs(point.rate - tail) <= 4 * (tail * (1 - tail) / 1500) ** 0.5
    assert curve.how == "protocol"


def test_certified_errors_are_not_exceeded():
    """At opt = 0 Far, and at opt >= t Match, are rarer than beta by simulation; the gap is positive."""
    tester = OneWay(PLACE)
    for family in (Pairs("cell"), Pairs("spread", "even")):
        curve = operating_characteristic(tester, family, runs=4000, workers=1)
        first, last = curve.points[0], curve.points[-1]
        assert first.opt == 0
        assert first.rate <= 0.1 + 4 * (0.09 / 4000) ** 0.5
        assert last.opt >= tester.resolution
        assert last.rate >= 0.9
        assert 0 < curve.least_found <= tester.resolution
        assert curve.gap == tester.resolution - curve.least_found


def test_results_depend_on_the_seed_and_not_on_workers():
    """One process and two give the same counts; another seed gives others."""
    tester = InteriorPoint(LINE)
    arguments = {"sizes": [0, 20, 60], "runs": 45}
    one, two, other = (
        operating_characteristic(tester, Pairs("random"), workers=w, rng=s, **arguments)
        for w, s in ((1, 3), (2, 3), (1, 4))
    )
    assert one == two
    assert one.points != other.points
    generated = operating_characteristic(
        tester, Pairs("random"), workers=1, rng=np.random.default_rng(3), **arguments
    )
    assert generated == one


def test_testers_travel_to_workers_without_their_callbacks():
    """A row planned with a local progress callback can still be sent; the callback stays behind."""
    tester = OneWayTilted(PLACE, progress=lambda done: None)
    curve = operating_characteristic(tester, sizes=[0, 40], runs=6, workers=2, how="protocol")
    assert [point.runs for point in curve.points] == [6, 6]
    tester = OneWay(PLACE)
    tester.extra = lambda: None
    with pytest.raises(g.ArgumentError, match="workers"):
        operating_characteristic(tester, sizes=[0], workers=2)


def test_bands_hold_together_and_decide_what_is_found():
    """Bands are Clopper and Pearson's at loss over all planned points; least_found needs all later ones."""
    curve = operating_characteristic(
        Curator(LINE), sizes=[0, 9, 30], runs=100, workers=1, confidence="0.9", rng=1
    )
    for p in curve.points:
        assert (p.low, p.high) == clopper_pearson(p.far, 100, (1 - curve.confidence) / 3)
        assert p.low <= p.rate <= p.high
    assert curve.least_found == 9
    few = operating_characteristic(Curator(LINE), sizes=[0, 9, 30], runs=5, workers=1, rng=1)
    assert few.least_found is None
    assert few.gap is None
    assert json.loads(json.dumps(few.to_dict()))["simulated"] is True


def test_progress_ends_at_one():
    """The fraction done never falls, and ends at 1."""
    told = []
    operating_characteristic(OneWay(PLACE), runs=300, workers=1, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"tester": 3}, "tester"),
        ({"runs": 0}, "runs"),
        ({"workers": 0}, "workers"),
        ({"how": "law"}, "how"),
        ({"how": "guess"}, "how"),
        ({"sizes": []}, "sizes"),
        ({"sizes": [201]}, "size"),
        ({"confidence": 1}, "confidence"),
        ({"rng": -1}, "rng"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    """Each argument outside its range raises an ArgumentError with its name."""
    given = {"tester": Curator(LINE), "runs": 2, "workers": 1, **arguments}
    with pytest.raises(g.ArgumentError) as caught:
        operating_characteristic(given.pop("tester"), **given)
    assert caught.value.name == name


def test_only_histogram_testers_have_a_law():
    """The statistic's law is known for four testers."""
    assert has_law(OneWay(PLACE))
    assert not has_law(Curator(PLACE))
    unsolved = InteriorPoint(Setting(g.Domain.line(99), 50, 50, "1/5000", classes="thresholds"))
    with pytest.raises(g.InfeasibleError):
        operating_characteristic(unsolved, workers=1)
    draws = statistics(OneWay(PLACE), *Pairs().pair(PLACE, 3, np.random.default_rng(0)), SimSampler(0), 7)
    assert draws.shape == (7,)


@pytest.fixture
def command(geomdp):
    """Run `geomdp power`: (exit code, stdout, stderr)."""
    return partial(geomdp, "power")


def test_the_command_simulates_and_draws(command, tmp_path):
    """`geomdp power` prints one object that says simulated, writes a picture, and takes tables to flip."""
    grid, picture = str(data.path("penguins/grid8.json")), tmp_path / "p.png"
    common = ["--grid", grid, "--epsilon", 4, "--runs", 30, "--workers", 1]
    code, out, err = command(*common, "--n", 500, "--family", "random", "--json", "--plot", picture)
    found = json.loads(out)
    assert (code, err, found["simulated"], len(found["curves"])) == (0, "", True, 1)
    assert picture.stat().st_size > 5000
    tables = [data.path(f"penguins/adelie_gentoo_{part}.csv") for part in "ab"]
    columns = ["--label", "species", "--positive", "Gentoo"]
    code, out, err = command(*tables, *columns, *common, "--tester", "curator")
    assert code == 0
    assert "SIMULATED (whole protocol runs): curator" in out
    assert "nothing was released" in err
    for bad in ([], ["--n", 5], [tables[0], *columns], ["--n", 500, "--tester", "none"]):
        code, out, _ = command(*common, *bad)
        assert (code, out) == (2, "")


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999"])
def test_too_few_runs_are_told_from_a_conflict_that_is_not_found(confidence):
    """Below runs_needed all-Far points stay below 9/10; there they reach it: (level/2)^(1/r) >= 9/10."""
    tester = Curator(PLACE)
    curve = operating_characteristic(tester, sizes=[0, 60], runs=1, workers=1, confidence=confidence)
    needed = curve.runs_needed
    level = (1 - float(confidence)) / 2
    assert (level / 2) ** (1 / needed) >= 0.9 > (level / 2) ** (1 / (needed - 1))
    assert curve.finding == f"too few runs to show anything: at least {needed} are needed"
    enough = operating_characteristic(tester, sizes=[0, 60], runs=needed, workers=1, confidence=confidence)
    assert enough.least_found == 60
    never = operating_characteristic(tester, sizes=[0, 1], runs=needed, workers=1, confidence=confidence)
    assert never.finding == "not found at any simulated opt"
    assert never.to_dict()["finding"] == never.finding


def test_only_certified_resolutions_are_called_so():
    """A tester beyond reach, or one that may answer Inconclusive, is not said to be certified."""
    curve = operating_characteristic(Curator(PLACE), sizes=[0, 60], runs=1, workers=1)
    assert curve.claim == f"certified t = {curve.resolution}"
    weak = dataclasses.replace(curve, guarantee="unless-inconclusive")
    assert weak.claim == f"t = {curve.resolution} unless inconclusive"
    beyond = dataclasses.replace(curve, resolution=10**6)
    assert "certified" not in beyond.claim
    assert "nothing is guaranteed" in beyond.claim
    late = dataclasses.replace(
        curve, points=tuple(dataclasses.replace(p, low=0.95) for p in curve.points[1:])
    )
    assert late.finding == "found from opt = 60 on, above t: more runs may show it earlier"
    assert dataclasses.replace(late, resolution=70).finding == "found from opt = 60 on, 10 below t"


def test_the_command_refuses_contradictions(command, tmp_path):
    """With tables their sizes count; without, there is no label; nothing in a simulation can be forced."""
    grid = str(data.path("penguins/grid8.json"))
    tables = [data.path(f"penguins/adelie_gentoo_{part}.csv") for part in "ab"]
    columns = ["--label", "species", "--positive", "Gentoo"]
    common = ["--grid", grid, "--epsilon", 4, "--workers", 1, "--tester", "curator"]
    for given, name in (
        ([*tables, *columns, "--n", 77], "n"),
        ([*tables, *columns, "--family", "cell"], "family"),
        (["--n", 500, "--label", "species"], "label"),
        (["--n", 500, "--negative", "x"], "negative"),
    ):
        code, out, err = command(*common, *given)
        assert (code, out) == (2, "")
        assert f"Argument '{name}' must be left out" in err
    code, out, err = command("--grid", grid, "--epsilon", 4, "--n", 3)
    assert (code, out) == (2, "")
    assert "Argument 'n' must be large enough" in err
    assert "force" not in err
    code, out, _ = command(*common, "--n", 500, "--runs", 5)
    assert code == 0
    assert "too few runs to show anything" in out
