"""Every tester's exact audit holds, every planted bug is caught, and the table that says so is honest."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.privacy.audit import laplace_law, selection_law
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.runs import Runs, audit_program, clamp, law_of, rational
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.protocol.schema import Integer
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits import elimination, fields, histograms, interior_point, mechanisms
from geomdp.testers.audits.registry import AUDITS, PLANTED, SAMPLED, _named, run, run_all, run_sampled
from geomdp.testers.crossing import Crossing
from geomdp.testers.elimination_rounds import Finish

SCRIPT = Path(__file__).parents[2] / "scripts" / "audits" / "main.py"
HALF = rational(Fraction(1, 2), Fraction(1, 8))


LONG = {f"halfspace-elimination, two rounds and a retry: {name}" for name in ("Alice", "Bob")}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.exhaustive] * (n in LONG)) for n in AUDITS]
)
def test_audit(name):
    """The worst exact ratio over neighbours and counterparts is at most e^epsilon, and above its root."""
    row = run(AUDITS[name])
    assert row["ok"], row


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bug(name):
    """The audit of the right code refutes the claim once the bug is in."""
    row = run(PLANTED[name])
    assert row["ok"], row


SLOW = {"interior-point, mixed", "sparse histogram"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.exhaustive] * (n in SLOW)) for n in SAMPLED]
)
def test_statistical_audit(name):
    """In 10,000 runs the right code is not flagged at its claim, and half the noise is."""
    row = run_sampled(name)
    assert row["ok"], row


def test_every_tester_of_the_plan_is_audited():
    """Each protocol of this package has an audit under its own name."""
    families = {name.split(":")[0].split(",")[0] for name in AUDITS}
    expected = {
        "two-histograms",
        "one-way",
        "two-histograms-tilted",
        "one-way-tilted",
        "hats",
        "localised",
        "interior-point",
        "median-depth",
        "prefix-search",
        "halfspace-elimination",
        "curator",
    }
    assert expected <= families


class TestRuns:
    """The list of all runs is an exact law."""

    def test_additive_noise_equals_the_closed_form(self):
        """One and two noises, clamped, have the law of the closed form, exactly."""

        def program(runs):
            a, b = runs.discrete_laplace(Fraction(8), 2)
            return clamp(1 + a, -2, 3), clamp(b, -1, 1)

        r = Fraction(1, 2)
        first, second = laplace_law(1, r, -2, 3), laplace_law(0, r, -1, 1)
        expected = {(x, y): p * q for x, p in first.items() for y, q in second.items()}
        assert law_of(program, 6, decay=HALF) == expected

    def test_selection_equals_the_closed_form(self):
        """Listed and grouped selection have permute-and-flip's law, exactly."""
        scores = [3, 1, 3, 0]
        expected = selection_law(dict(enumerate(scores)), Fraction(1, 2))
        assert law_of(lambda runs: runs.permute_and_flip(scores, Fraction(8)), 1, decay=HALF) == expected
        grouped = law_of(
            lambda runs: runs.permute_and_flip_groups([2, 1, 0, 1], [3, 1, 9, 0], Fraction(8)), 1, decay=HALF
        )
        assert grouped == {(0, 0): expected[0], (0, 1): expected[2], (1, 0): expected[1], (3, 0): expected[3]}

    def test_uniform_and_free_choices(self):
        """Uniform integers and the counterpart's choices are uniform; branches multiply."""
        law = law_of(lambda runs: (c := runs.choose("ab"), runs.uniform(3) if c == "a" else None), 1)
        assert law == {("a", 0): Fraction(1, 6)} | {("a", 1): Fraction(1, 6), ("a", 2): Fraction(1, 6)} | {
            ("b", None): Fraction(1, 2)
        }

    def test_enclosures_hold_the_exact_law(self):
        """With real exponentials every probability is enclosed, the total too."""
        law = law_of(lambda runs: clamp(runs.discrete_laplace(Fraction(2), 1)[0], -1, 1), 3)
        total = Interval.total(law.values())
        assert total.lo <= 1 <= total.hi < 1 + Fraction(1, 2**100)
        assert law[1].lo <= Fraction(math.exp(-0.5) / (1 + math.exp(-0.5))) * (1 + Fraction(1, 2**40))

    def test_a_view_that_is_not_clamped_is_refused(self):
        """Showing unbounded noise, or a window wider than the listed noise, is an error."""
        for program in (
            lambda runs: int(runs.discrete_laplace(Fraction(1), 1)[0]),
            lambda runs: clamp(5 + runs.discrete_laplace(Fraction(1), 1)[0], -3, 9),
        ):
            with pytest.raises(ArgumentError, match="reach"):
                law_of(program, 3)

    def test_capacity(self):
        """Too many runs, and uniform integers that cannot be listed, are refused."""
        with pytest.raises(CapacityError):
            law_of(lambda runs: runs.uniform(100) + runs.uniform(100), 1, limit=500)
        with pytest.raises(CapacityError):
            law_of(lambda runs: runs.uniform(2**64), 1)
        with pytest.raises(ArgumentError, match="unit"):
            law_of(lambda runs: clamp(runs.discrete_laplace(Fraction(3), 1)[0], -1, 1), 3, decay=HALF)

    def test_a_part_that_is_not_listed_widens_the_bounds_only(self):
        """One-sided noise beyond the depth is added to the upper ends; lower ends stay lower bounds."""
        deep, flat = (
            law_of(lambda runs: runs.geometric(Fraction(1)) % 2, 1, depth=depth) for depth in (120, 6)
        )
        for view in (0, 1):
            assert flat[view].lo <= deep[view].lo <= deep[view].hi <= flat[view].hi
        even = 1 / (1 + math.exp(-1))
        assert deep[0].lo <= Fraction(even) * (1 + Fraction(1, 2**40))

    def test_listed_scan_is_the_drawn_scan(self):
        """The audit's law of a scan is the law of Crossing.draw (chi-square of 6,000 seeded draws)."""
        groups = [(1, 0), (1, 1), (2, 3)]
        listed = interior_point.Listed(2, Fraction(3, 4), Fraction(5, 4))
        law = law_of(lambda runs: listed.draw(groups, runs), 1)
        drawn = Crossing(2, Fraction(3, 4), Fraction(5, 4))
        sampler = SimSampler(4)
        seen = np.bincount([drawn.draw(groups, sampler) for _ in range(6000)], minlength=5)
        means = np.array([float(law[k].lo) if k in law else 0.0 for k in range(5)]) * 6000
        live = means > 0
        assert not seen[~live].any()
        assert ((seen[live] - means[live]) ** 2 / means[live]).sum() < 40.5

    def test_the_tree_is_walked_once(self):
        """Every combination of choices appears once, in order."""
        seen = []

        def program(runs: Runs):
            word = tuple(runs.choose("xy") for _ in range(runs.choose((1, 2, 3))))
            seen.append(word)
            return word

        law = law_of(program, 1)
        assert seen == [w for size in (1, 2, 3) for w in itertools.product("xy", repeat=size)]
        assert sum(law.values()) == 1


@pytest.mark.parametrize("epsilon", [1, 2])
def test_rational_twin_is_exactly_at_its_claim(epsilon):
    """With a rational r in place of the exponential, the histogram's worst ratio is r^-2 exactly."""
    scale = noise_scale(2, epsilon)
    decay = rational(Fraction(1, 3), 1 / scale)

    def program(data, runs):
        noise = runs.discrete_laplace(scale, 2)
        net = [sum(y for x, y in data if x == cell) for cell in (0, 1)]
        return tuple(clamp(c + int(z), -3, 3) for c, z in zip(net, noise, strict=True))

    pairs = [(((0, 1), (0, 1)), ((0, -1), (0, 1))), (((0, 1), (0, 1)), ((1, 1), (0, 1)))]
    audit = audit_program(program, pairs, 5, decay=decay)
    assert audit.lower == audit.upper == 9


@pytest.mark.parametrize("make", [lambda: SimSampler(3), SecureSampler], ids=["simulated", "secure"])
@pytest.mark.parametrize(
    ("domain", "classes"), [(fields.LINE, "thresholds"), (fields.TRIANGLE, "halfspaces")]
)
def test_field_exponents_are_those_of_the_law(domain, classes, make):
    """Drawn tilted noise in a window follows exp(-phi), phi as the audit reads it (level 10^-6, twice)."""
    law = fields.tilted_law(domain, classes)
    window = np.array(list(itertools.product(range(-4, 5), repeat=3)), dtype=np.int64)
    weights = np.exp([-float(phi) for phi in fields.Exponent(law).value(window)])
    for attempt in range(2):
        draws = law.draw(make(), 8000)
        inside = draws[(np.abs(draws) <= 4).all(axis=1)]
        seen = np.bincount((inside + 4) @ [81, 9, 1], minlength=729)
        means = weights / weights.sum() * len(inside)
        rare = means < 8
        pooled = [np.append(v[~rare], v[rare].sum()) for v in (seen, means)]
        if chisquare(*pooled).pvalue > 1e-6:
            return
        assert attempt == 0


def test_windows_hold_every_centre():
    """Widening the shown window beyond the centres changes no bound: clamping lost nothing."""

    def wide(data, runs):
        party = histograms.HistogramParty(
            "Alice", histograms.sample(histograms.DOMAIN, data), runs, histograms.Budget(1)
        )
        net = party.histogram(histograms.Transcript({}), histograms.SETTING).payload["net"]
        return tuple(clamp(v, -4, 4) for v in net)

    narrow = histograms.over_neighbours(histograms.histogram, 5)
    assert histograms.over_neighbours(wide, 6).log_upper == pytest.approx(narrow.log_upper, abs=1e-11)


def test_names_are_unique_and_rows_are_json():
    """Two audits of one name are refused; rows survive JSON; progress ends at 1."""
    with pytest.raises(ValueError, match="named"):
        _named([AUDITS["permute-and-flip"], AUDITS["permute-and-flip"]])
    told = []
    rows = list(run_all(["permute-and-flip", "odd block size"], told.append))
    assert told == [0.5, 1.0]
    assert json.loads(json.dumps(rows)) == rows
    assert [bool(row["bug"]) for row in rows] == [False, True]
    assert not mechanisms.audit_depth(3).holds(1)


def test_script_prints_one_json_object():
    """`scripts/audit NAME --json` prints one object and exits 0; an unknown name is refused."""
    call = [sys.executable, str(SCRIPT)]
    done = subprocess.run([*call, "permute-and-flip", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["ok"] is True
    assert subprocess.run([*call, "nothing"], capture_output=True, check=False).returncode == 2


def test_the_tables_go_between_the_markers(tmp_path, monkeypatch):
    """`--readme` replaces what stands between the markers, twice alike, and refuses a page without them."""
    spec = importlib.util.spec_from_file_location("audits_main", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = tmp_path / "README.md"
    monkeypatch.setattr(script, "README", page)
    rows = list(run_all(["permute-and-flip", "odd block size"]))
    sampled = run_sampled("grouped selection", draws=2000)
    page.write_text("before\n<!-- audits -->\nold\n<!-- end audits -->\nafter\n")
    script.write_readme(rows, [sampled], [])
    text = page.read_text()
    script.write_readme(rows, [sampled], [])
    assert page.read_text() == text
    assert text.startswith("before\n<!-- audits -->\n\n| audit")
    assert text.endswith("\n\n<!-- end audits -->\nafter\n")
    assert "| permute-and-flip |" in text
    assert "\nold\n" not in text
    assert "caught" in text
    page.write_text("nothing")
    with pytest.raises(SystemExit, match="must hold"):
        script.write_readme(rows, [], [])


@pytest.mark.parametrize("suffix", elimination.ABOUT)
def test_the_tree_of_elimination_is_that_of_its_script(suffix):
    """Along random histories the audit's turns, menus and prices are those that the script yields."""
    rng = np.random.default_rng(5)
    tree = elimination.Protocol("Alice", elimination.ABOUT[suffix][0])
    ends = {_walk(tree, rng) for _ in range(12)}
    assert ("Finish" in ends) == (suffix != "-paper")


def _walk(tree, rng):
    """Follow one history through the script and the tree; return how it ended."""
    history, script = (), tree.tester.script(Transcript({}))
    asked = next(script)
    while True:
        turn, state, step, at, _ = tree.place(history)
        if isinstance(step, Finish):
            payload = {"values": [0] * len(state.alive)}
            for name in ("Alice", "Bob"):
                message = Message(name, "mistakes", payload, step.epsilon)
                asked.schema.check(message, name)
                assert asked.sender == name
                asked = _sent(script, message)
            assert (turn, asked) == ("own", None)
            return "Finish"
        if asked is None:
            assert turn == "end"
            return "end"
        assert asked.sender == (step.first, step.second)[at]
        assert turn == ("own" if asked.sender == "Alice" else "other")
        last = max(1, len(step.menus[asked.sender])) - 1
        assert asked.schema.entries["index"] == Integer(elimination.BOTTOM, last)
        index = int(rng.choice([elimination.BOTTOM, rng.integers(0, last + 1)]))
        payload = {"index": index, "candidates": len(state.alive)}
        message = Message(asked.sender, "selection", payload, step.stated(index))
        asked.schema.check(message, asked.sender)
        history, asked = (*history, index), _sent(script, message)


def _sent(script, message):
    """Return the script's next turn after a message, or None at its end."""
    try:
        return script.send(message)
    except StopIteration:
        return None
