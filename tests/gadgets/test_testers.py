"""Laws of private testers on hard instances: they are right on both sides of the promise."""

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from queue import Queue
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import count_dichotomies, dichotomies
from geomdp.privacy.sampler import SimSampler
from geomdp.protocol.script import drive
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.histogram import TwoHistograms
from lp_gadgets.instance import HardInstance
from lp_gadgets.tanner import TannerCode
from lp_gadgets.tester import CertifiedHistograms, GapWarning, labelings_bound
from lp_gadgets.thresholds import ThresholdInstance


def _run(tester, samples, seed):
    alice, bob = SimSampler(seed), SimSampler(seed + 1)
    return tester.converse(*samples, alice, bob).verdict


@pytest.mark.parametrize("F", [0, 1])
def test_a_halfspace_tester_on_a_hard_instance(F):
    """With its resolution below the gap, the curator's halfspace tester tells F from the records."""
    inst = HardInstance(TannerCode(2, ((0, 1),)), q=2, J=40, L=20, embedding="cube")
    tester = Curator(Setting(inst.domain, inst.n, inst.n, Fraction(1), Fraction(1, 10**7)))
    assert tester.resolution < inst.gap == 40
    samples = inst.encode(*inst.words(F))
    assert all(_run(tester, samples, seed) == ("Far" if F else "Match") for seed in range(5))


@pytest.mark.parametrize(("i", "j"), [(5, 9), (9, 5), (7, 7)])
def test_a_threshold_tester_on_a_hard_instance(i, j):
    """With its resolution below t, the curator's threshold tester decides Greater-Than."""
    inst = ThresholdInstance(2**40, 200, 60)
    tester = Curator(Setting(inst.domain, 200, 200, Fraction(1), Fraction(1, 10**7), classes="thresholds"))
    assert tester.resolution < inst.t
    assert all(_run(tester, inst.encode(i, j), seed) == ("Match" if i < j else "Far") for seed in range(5))


SMALL_CODES = {
    "repetition": (TannerCode(2, ((0, 1),)), 2, 300),
    "fano": (TannerCode.geometry("Fano"), 2, 500),
    "fano-4": (TannerCode.geometry("Fano"), 4, 500),
    "quadrangle": (TannerCode.geometry("GQ(2,2)"), 2, 500),
    "plane": (TannerCode.geometry("PG(2,4)"), 2, 2000),
}


def _certified(name, beta=Fraction(1, 10**4), **options):
    code, q, L = SMALL_CODES[name]
    inst = HardInstance(code, q, J=L * code.stopping_distance().value, L=L, embedding="cube")
    return inst, CertifiedHistograms(Setting(inst.domain, inst.n, inst.n, Fraction(1), beta), **options)


@pytest.mark.parametrize("name", SMALL_CODES)
def test_two_noisy_histograms_tell_the_value_of_a_code(name):
    """Without a curator, an interval for opt of noisy histograms says Match for F = 0 and Far for F = 1."""
    inst, tester = _certified(name)
    assert not tester.trusted
    assert tester.resolution < inst.gap
    for F in (0, 1):
        samples = inst.encode(*inst.words(F, 1))
        for seed in range(2):
            found = tester.converse(*samples, *SimSampler(seed).spawn(2))
            assert found.verdict == ("Far" if F else "Match")
            low, top = found.opt_interval
            assert low <= F * inst.gap <= top
            assert [m.epsilon for m in found.transcript.messages] == [1, 1]


def test_a_run_on_an_instance_is_an_outcome():
    """for_instance and run give an outcome with the losses; samples that were not planned are refused."""
    code, q, L = SMALL_CODES["fano"]
    inst = HardInstance(code, q, J=4 * L, L=L, embedding="cube")
    tester = CertifiedHistograms.for_instance(inst, epsilon=1, beta="1/10000")
    assert tester.resolves
    for F in (0, 1):
        outcome = tester.run(*inst.encode(*inst.words(F, 1)), rng=F)
        assert outcome.verdict == ("Far" if F else "Match")
        assert (outcome.epsilon_spent, outcome.certified, outcome.simulated) == (1, True, True)
        assert outcome.transcript.parameters["cut_doubled"] == tester.opening()["cut_doubled"]
    S_A, S_B = inst.encode(*inst.words(1, 1))
    for wrong in ((S_A, inst.encode(*inst.words(1, 1), inst.n + 1)[1]), (None, S_B)):
        with pytest.raises(ArgumentError, match="S_"):
            tester.run(*wrong)
    other = HardInstance(SMALL_CODES["repetition"][0], q, J=20, L=5)
    with pytest.raises(ArgumentError, match="domain"):
        tester.run(*other.encode(*other.words(1)))


def test_a_gap_below_the_resolution_is_warned_of():
    """An instance with few copies is not resolved: a warning says by how much, and no run is certified."""
    inst = HardInstance(TannerCode.geometry("Fano"), J=20, L=3)
    with pytest.warns(GapWarning, match="exceeds the gap 12"):
        tester = CertifiedHistograms.for_instance(inst, epsilon=1, time_limit=0)
    assert not tester.resolves
    assert not tester.run(*inst.encode(*inst.words(1)), rng=0).certified


def test_both_ends_of_a_remote_run_agree():
    """The two sessions exchange frames only, and end with one transcript and verdict."""
    code, q, L = SMALL_CODES["repetition"]
    inst = HardInstance(code, q, J=2 * L, L=L, embedding="cube")
    tester = CertifiedHistograms.for_instance(inst, epsilon=1)
    queues, findings = {"Alice": Queue(), "Bob": Queue()}, {}

    def side(name, other, sample, seed):
        session = tester.attend(name, sample, SimSampler(seed))
        findings[name] = drive(session, queues[other].put, queues[name].get)

    S_A, S_B = inst.encode([1], [1])
    bob = Thread(target=side, args=("Bob", "Alice", S_B, 1))
    bob.start()
    side("Alice", "Bob", S_A, 0)
    bob.join()
    assert findings["Alice"].transcript == findings["Bob"].transcript
    assert findings["Alice"].verdict == findings["Bob"].verdict == "Far"


def test_the_planner_points_to_the_tester_of_hard_instances():
    """Where exact optima are out of reach and the domain holds x and -x, the reason names this tester."""
    inst = HardInstance(TannerCode.geometry("Fano"), J=20, L=3)
    tester = TwoHistograms(Setting(inst.domain, inst.n, inst.n, Fraction(1)))
    assert "CertifiedHistograms" in tester.reason


def test_the_interval_of_a_small_domain_is_the_exact_optimum():
    """Where the first look ends, the interval is a point: the best of all halfspaces with small weights."""
    inst, tester = _certified("repetition")
    X = inst.domain.points
    weights = np.array(list(product((-2, -1, 0, 1, 2), repeat=7)))
    labelings = np.unique(
        np.where(X @ np.column_stack([weights, np.full(len(weights), 2)]).T >= 0, 1, -1), axis=1
    )
    v = sum(s.net for s in inst.encode([1], [1])) + SimSampler(3).discrete_laplace(Fraction(3), len(X))
    (low, top), best = tester.bounds(v)
    assert low == top
    assert top == 2 * inst.n - int((v @ labelings).max())
    assert top == 2 * inst.n - int(np.where(X @ np.array(best.weights) >= 0, 1, -1) @ v)


def test_no_time_means_inconclusive_or_right():
    """Whatever the time limit, a verdict other than Inconclusive is backed by a certified bound."""
    for limit in (0, 0.01, 0.2):
        inst, tester = _certified("quadrangle", time_limit=limit)
        for F in (0, 1):
            found = tester.converse(*inst.encode(*inst.words(F, 1)), *SimSampler(5).spawn(2))
            assert found.verdict in ("Inconclusive", "Far" if F else "Match")
    for wrong in (-1, "x"):
        with pytest.raises(ArgumentError, match="time_limit"):
            _certified("repetition", time_limit=wrong)


@given(
    st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=7, unique_by=tuple)
)
@settings(max_examples=60, deadline=None)
def test_labelings_are_no_more_than_their_bound(points):
    """On any points, opposite and zero ones included, at most the bounded number of labelings occurs."""
    X = np.array(points)
    grid = np.array([(a, b) for a in range(-6, 7) for b in range(-6, 7)])
    found = {tuple(row) for row in (X @ grid.T >= 0).T.tolist()}
    assert len(found) <= labelings_bound(Domain(points))


def test_refused_classes_name_the_argument():
    """A tester for halfspaces refuses thresholds."""
    with pytest.raises(ArgumentError, match="classes"):
        CertifiedHistograms(Setting(Domain.line(9), 5, 5, Fraction(1), classes="thresholds"))


def _samples(domain, labels, n, rng):
    cells = rng.integers(0, domain.m, n)
    return Sample.from_cells(domain, cells, labels[cells])


def test_elimination_on_the_unpointed_part_of_a_hard_instance():
    """Elimination runs where a gadget's antipodal points meet in a plane, and is right on both sides."""
    domain = HardInstance(TannerCode(1, ()), q=2, J=4, L=2, embedding="cube").domain
    assert not domain.pointed
    points = domain.points
    planes = []
    for pair in combinations(range(domain.d), 2):
        others = [k for k in range(domain.d) if k not in pair]
        inside = points[~points[:, others].any(axis=1)]
        if len(inside):
            planes.append(Domain(np.unique(inside, axis=0)))
    plane = max(planes, key=lambda D: (not D.pointed, D.m))
    assert not plane.pointed
    assert plane.m >= 4
    tester = HalfspaceElimination(Setting(plane, 2000, 2000, Fraction(4)))
    assert tester.guarantee == "analytic"
    W = dichotomies(plane)
    rng, far = np.random.default_rng(0), 0
    for seed, w in enumerate(W.weights):
        y = np.where(plane.points @ w >= 0, 1, -1)
        samples = [_samples(plane, y, 2000, rng) for _ in range(2)]
        assert _run(tester, samples, seed) == "Match"
        samples = [samples[0], _samples(plane, -y, 2000, rng)]
        if int(sum(W.mistakes(S) for S in samples).min()) >= tester.resolution:
            far += 1
            assert _run(tester, samples, seed) == "Far"
    assert far


def test_elimination_says_where_a_whole_hard_instance_is_out_of_reach():
    """The smallest instance can be enumerated, but its candidates have too many dimensions to be cut."""
    inst = HardInstance(TannerCode(1, ()), q=2, J=40, L=20, embedding="cube")
    tester = HalfspaceElimination(Setting(inst.domain, inst.n, inst.n, Fraction(1)))
    assert tester.candidates == count_dichotomies(inst.domain)
    assert tester.resolution is None
    assert "dimensions" in tester.reason


@pytest.mark.parametrize("time_limit", [0, 20])
def test_the_classifier_attains_the_upper_end(time_limit):
    """Whatever the time, the interval's upper end is W of the classifier that comes with it."""
    D = Domain([[1, 0], [0, 1], [-1, 1], [2, -1], [1, 1]])
    tester = CertifiedHistograms(Setting(D, 50, 50, Fraction(1)), time_limit)
    for seed in range(5):
        v = np.random.default_rng(seed).integers(-30, 31, D.m)
        (low, top), h = tester.bounds(v)
        assert top == 100 - int(h.predict(D.points).astype(np.int64) @ v)
        assert low <= top


def test_the_opening_states_the_facts_of_every_tester():
    """The opening is the common facts and the cut; both ends must state it alike."""
    tester = CertifiedHistograms(Setting(Domain([[1], [2]]), 5, 6, Fraction(1, 3), tolerance=2))
    opening = tester.opening()
    assert opening.pop("cut_doubled") == tester._cut
    assert opening == tester.facts()
    assert (opening["labels"], opening["n"], opening["epsilon"]) == ("mixed", [5, 6], "1/3")


@pytest.mark.parametrize("gap", [0, -5, float("nan"), "x", 2.5])
def test_gaps_are_positive_integers(gap):
    """A gap that is no integer >= 1 is refused before anything is divided by it."""
    with pytest.raises(ArgumentError, match="gap"):
        CertifiedHistograms(Setting(Domain([[1], [2]]), 5, 5, Fraction(1)), 60, gap=gap)


def test_testers_of_something_else_are_refused():
    """What is no setting, no instance and no number of seconds ends in a sentence."""
    setting = Setting(Domain([[1], [2]]), 5, 5, Fraction(1))
    for name, call in (
        ("setting", lambda: CertifiedHistograms("x")),
        ("inst", lambda: CertifiedHistograms.for_instance("x", 1)),
        ("time_limit", lambda: CertifiedHistograms(setting, 10**400)),
        ("time_limit", lambda: CertifiedHistograms(setting, -1)),
        ("time_limit", lambda: CertifiedHistograms(setting, float("inf"))),
    ):
        with pytest.raises(ArgumentError, match=name):
            call()


def _documented():
    """The rows of the table of testers on hard instances, as texts."""
    text = (Path(__file__).parents[2] / "docs" / "hard_instances.md").read_text(encoding="utf-8")
    table = text[text.index("| code | q | d | m |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


@pytest.mark.parametrize(
    ("code", "q"),
    [(TannerCode(2, ((0, 1),), "repetition"), 2)]
    + [(TannerCode.geometry(name), q) for name, q in (("Fano", 2), ("Fano", 4), ("GQ(2,2)", 2))],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_documented_sizes_are_those_of_the_instances(code, q):
    """The documented dimension, points, optimum and resolution of a code are those of its cube instance."""
    name = code.name.removeprefix("geometry:")
    (row,) = (row for row in _documented() if row[:2] == [name, str(q)])
    inst = HardInstance(code, q, J=1000 * code.stopping_distance().lower, L=1000, embedding="cube")
    tester = CertifiedHistograms.for_instance(inst, 1, Fraction(1, 1000))
    assert [int(cell.replace(",", "")) for cell in row[2:]] == [
        inst.domain.d,
        inst.domain.m,
        inst.gap,
        tester.resolution,
    ]


def test_the_documented_example_has_its_sizes():
    """The instance of the documented snippet has the dimension, points and resolution that the text names."""
    inst = HardInstance(TannerCode.geometry("Fano"), q=2, J=4000, L=1000)
    tester = CertifiedHistograms.for_instance(inst, epsilon=1)
    text = (Path(__file__).parents[2] / "docs" / "hard_instances.md").read_text(encoding="utf-8")
    wanted = f"d = {inst.domain.d}, m = {inst.domain.m} and t = {tester.resolution}"
    assert wanted in text.replace("\n", " ")
