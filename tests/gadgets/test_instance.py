"""Laws of hard instances: the gap, its attainment, rigidity both ways, and refusals."""

import itertools
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gadgets import SMALL, graph, small_instance
from support.strategies import tanner_graphs

import geomdp
from geomdp.core.errors import ArgumentError, CertificateError
from geomdp.lp.feasibility import solve_directly
from lp_gadgets.folder import load
from lp_gadgets.graphs.peeling import Peeling
from lp_gadgets.graphs.small_sets import stopping_sets
from lp_gadgets.instance import HardInstance
from lp_gadgets.solvers import METHODS, largest_deviation, least_dropped, least_slack, with_all_switches
from lp_gadgets.tanner import TannerCode, WeakGraphWarning
from lp_gadgets.witnesses.rigidity import Rigidity


@pytest.mark.parametrize(("J", "L"), [(40, 3), (5, 3), (6, 3), (1, 1), (100, 50)])
def test_the_exact_optimum_is_the_predicted_one(J, L):
    """The solver of exact optima finds min(J, L D) mistakes when F = 1 and none when F = 0."""
    inst = HardInstance(TannerCode(2, ((0, 1),)), q=2, J=J, L=L, embedding="cube")
    for u, v in itertools.product(([0], [1]), repeat=2):
        found = geomdp.opt_halfspace(*inst.encode(u, v))
        assert found.lower == found.upper == (min(J, 2 * L) if u == v == [1] else 0)
        proved = inst.certify(u, v)
        assert (proved.opt_lower, proved.opt_upper) == (inst.gap * inst.F(u, v), found.upper)


@pytest.mark.parametrize(
    "small", [("chain", 4, "cube", "facets"), ("degenerate", 2, "parabola", "facets")], ids=str
)
def test_the_exact_optimum_lies_within_the_certified_bounds(small):
    """On other small instances the exact optimum lies between the certified bounds."""
    inst = small_instance(*small, J=9, L=2)
    for F in (0, 1):
        u, v = inst.words(F, 3)
        found, proved = geomdp.opt_halfspace(*inst.encode(u, v)), inst.certify(u, v)
        assert proved.opt_lower <= found.upper
        assert found.lower <= proved.opt_upper


@pytest.mark.parametrize(
    ("code", "q"),
    [("geometry:Fano", 2), ("geometry:Fano", 4), ("geometry:EG(2,4)", 2), ("biregular:16", 2)],
)
def test_fewest_dropped_pins_are_the_threshold(code, q):
    """The mixed-integer program for the fewest pins to drop agrees with the stopping distance."""
    inst = HardInstance(TannerCode.from_text(code), q)
    assert round(least_dropped(inst, *inst.words(1)).objective) == inst.D


@pytest.mark.parametrize(("code", "q"), [("geometry:Fano", 2), ("geometry:Fano", 4), ("biregular:16", 2)])
def test_the_certified_slack_is_below_the_least_harmful_one(code, q):
    """No slack of 1/N makes the program feasible, D - 1 pins dropped (Lemma B.5, with eta explicit)."""
    inst = HardInstance(TannerCode.from_text(code), q)
    for seed in range(2):
        found = least_slack(inst, *inst.words(1, seed))
        assert found.status == "feasible"
        assert found.objective >= 1 / inst.N - 1e-9


def test_the_least_harmful_slack_of_binary_codes():
    """Against Bob's word of ones it is 1 / (k + 6 e) with e pins dropped from checks of degree eight."""
    inst = HardInstance(TannerCode.biregular(16))
    ones, u = np.ones(inst.k, dtype=np.int64), np.zeros(inst.k, dtype=np.int64)
    u[0] = 1
    assert inst.F(u, ones) == 1
    for dropped in range(inst.D):
        found = least_slack(inst, u, ones, dropped).objective
        assert found == pytest.approx(1 / (inst.k + 6 * dropped), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_word_moves_exactly_when_a_stopping_set_is_erased(method):
    """The largest deviation is 0 iff the erased set peels, on random sets; both verdicts verify."""
    inst = HardInstance(TannerCode.geometry("EG(2,4)"))
    rng = np.random.default_rng(0)
    u = rng.integers(0, 2, inst.k)
    labels = inst.field.encode(u)
    verdicts = set()
    for size in (0, 4, 5, 7, 8, 9, 10, 15):
        erased = rng.choice(15, size, replace=False).tolist()
        found = inst.rigidity(u, erased)
        verdicts.add(found.rigid)
        assert found.verify(inst.program, labels)
        assert (
            (largest_deviation(inst, u, erased, method) < 1e-6)
            == found.rigid
            == inst.code.peel(erased).harmless
        )
    assert verdicts == {True, False}


@pytest.mark.parametrize("small", [SMALL[4], SMALL[10], SMALL[11], SMALL[13]], ids=str)
def test_rigidity_holds_for_every_encoding(small):
    """Erased sets of small codes are rigid for the solver iff they peel, whatever the encoding."""
    inst = small_instance(*small)
    rng = np.random.default_rng(1)
    u = rng.integers(0, inst.q, inst.k)
    for size in range(2, inst.code.K, 2):
        erased = rng.choice(inst.code.K, size, replace=False).tolist()
        found = inst.rigidity(u, erased)
        assert found.verify(inst.program, inst.field.encode(u))
        assert (largest_deviation(inst, u, erased) < 1e-5) == found.rigid


def test_false_rigidity_is_refused():
    """A recovery that is not complete, and a point on the wrong positions, do not verify."""
    inst = small_instance("fano", 2, "parabola", "facets")
    u, T = [1, 0, 1], inst.stopping.witness
    labels = inst.field.encode(u)
    lost = inst.rigidity(u, T)
    with pytest.raises(CertificateError, match="complete"):
        Rigidity(lost.peeling, None).verify(inst.program, labels)
    other = Peeling(T[1:], (), T[1:])
    with pytest.raises(CertificateError):
        Rigidity(other, lost.witness).verify(inst.program, labels)
    with pytest.raises(ArgumentError, match="erased"):
        inst.rigidity(u, [99])


@given(tanner_graphs(most_variables=6, most_checks=5), st.sampled_from((2, 4)), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_any_graph_gives_a_certified_instance(code, q, seed):
    """On any graph with a code the bounds are certified; they meet where a witness exists."""
    if code.over(q).k == 0:
        with pytest.raises(ArgumentError):
            HardInstance(code, q)
        return
    inst = HardInstance(code, q, J=50, L=3)
    for F in (0, 1):
        u, v = inst.words(F, seed)
        found = inst.certify(u, v)
        assert found.F == F
        assert (found.opt_lower, found.feasible_iff) == (F * min(50, 3 * inst.D), True)
        assert found.opt_lower <= found.opt_upper <= F * 50


@pytest.mark.parametrize("J", [1, 11, 12, 13])
def test_the_last_row_is_given_up_when_it_is_cheaper(J):
    """With J <= L D the point of F = 1 makes J mistakes, all on the row out.top."""
    inst = small_instance("fano", 2, "parabola", "facets", J=J, L=3)
    found = inst.certify([1, 0, 1], [1, 1, 0])
    assert found.opt_lower == found.opt_upper == min(J, 12)
    assert (found.document["witness"]["wrong"]["rows"] == ["out.top"]) == (J <= 12)


#: A graph and alphabet, what opt is at least by its threshold, and what it is at most.
UNEVEN = {
    "above the gap": (5, ((0, 2, 3, 4), (0, 2, 3, 4), (3, 4), (0, 1, 3), (1, 3, 4)), 2, 9, 12),
    "another stopping set": (5, ((0, 1, 2, 3), (0, 2, 3, 4), (0, 1, 3, 4), (2, 3), (0, 4)), 4, 9, 9),
    "other words": (7, ((1, 3), (1, 2, 3, 5), (2, 3, 4), (1, 3, 4, 5), (3, 6), (0, 1, 2, 6)), 2, 12, 12),
}


@pytest.mark.parametrize("name", UNEVEN)
def test_equality_with_the_gap_is_certified_or_not_claimed(name):
    """Opt >= L D always; opt = L D only where a classifier attains it, and one graph has none."""
    K, checks, q, lower, upper = UNEVEN[name]
    inst = HardInstance(TannerCode(K, checks), q, J=100, L=3)
    found = inst.certify(*inst.words(1))
    assert (found.opt_lower, found.opt_upper) == (lower, upper) == (inst.gap, upper)
    assert found.optimal == (lower == upper)
    assert found.verify(inst).optimal == found.optimal


def test_no_words_attain_the_gap_of_the_counterexample():
    """On a graph with D = 3, three dropped pins of one word never change F: HiGHS needs four."""
    K, checks, q, *_ = UNEVEN["above the gap"]
    inst = HardInstance(TannerCode(K, checks), q, J=100, L=3)
    assert (inst.D, inst.k) == (3, 1)
    assert round(least_dropped(inst, [1], [1]).objective) == 4
    a, b = inst.codewords([1], [1])
    data, _ = with_all_switches(inst.program, a, b)
    assert round(solve_directly(data).objective) == 4


@given(tanner_graphs(most_variables=7, most_checks=5), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_small_stopping_sets_are_all_listed(code, size):
    """The minimal stopping sets of at most some size are those of brute force."""
    sets = [
        set(T)
        for r in range(1, size + 1)
        for T in itertools.combinations(range(code.K), r)
        if code.is_stopping_set(T)
    ]
    minimal = {tuple(sorted(T)) for T in sets if not any(other < T for other in sets)}
    assert set(stopping_sets(code, size)) == minimal


def test_words_have_the_wanted_value_and_a_tight_optimum():
    """Drawn words have the value that was asked for, are repeatable, and attain the gap."""
    inst = HardInstance(TannerCode.quasi_cyclic(32))
    for F in (0, 1):
        u, v = inst.words(F, 4)
        assert inst.F(u, v) == F
        assert np.array_equal(u, inst.words(F, 4)[0])
    found = inst.certify(*inst.words(1, 9))
    assert found.optimal
    assert found.opt_lower == inst.gap == 12


def test_bad_arguments_are_refused():
    """Alphabets, copies, words and sizes are checked, and the message says what would do."""
    code = graph("fano")
    for bad in (
        {"q": 6},
        {"q": 1},
        {"J": 0},
        {"L": 0},
        {"L": 1.5},
        {"n": 3},
        {"embedding": "x"},
        {"encoding": "x"},
    ):
        with pytest.raises(ArgumentError):
            HardInstance(code, **bad)
    inst = HardInstance(code, q=4)
    for u, v in (([1], [1, 1, 1]), ([1, 1, 1], [1, 1, 4]), ([0, 0, -1], [1, 1, 1]), ([0.5] * 3, [1] * 3)):
        for call in (inst.encode, inst.certify, inst.F):
            with pytest.raises(ArgumentError):
                call(u, v)
    with pytest.raises(ArgumentError):
        inst.words(2)
    for rng in ("x", -1, None, 1.5):
        with pytest.raises(ArgumentError, match="rng"):
            inst.words(1, rng)
    refused = {
        "code": [lambda: HardInstance("Fano")],
        "checks": [lambda: TannerCode(3, None), lambda: TannerCode(3, ((0, 1.5),))],
        "folder": [
            partial(call, place)
            for place in (None, 5, "", "x\0")
            for call in (load, partial(inst.save, [1, 1, 1], [1, 1, 1]))
        ],
    }
    for name, calls in refused.items():
        for call in calls:
            with pytest.raises(ArgumentError, match=name):
                call()
    with pytest.raises(ArgumentError, match="only word"):
        HardInstance(TannerCode(2, ((0,), (1,))))


def test_weak_graphs_warn_and_still_certify():
    """A graph with twins warns at birth; its instance has D = 2."""
    with pytest.warns(WeakGraphWarning, match="best_of"):
        code = TannerCode.biregular(32, seed=1)
    inst = HardInstance(code)
    assert inst.D == 2
    assert inst.certify(*inst.words(1)).opt_lower == 6


def test_a_bound_replaces_a_search_that_is_stopped():
    """With no time for the search the gap rests on the lower bound, and the certificate is an interval."""
    inst = HardInstance(TannerCode.quasi_cyclic(64), time_limit=0)
    found = inst.certify(*inst.words(1))
    assert inst.D < 8
    assert found.opt_lower == 3 * inst.D < found.opt_upper
    assert not found.verify(inst).threshold_exact


def test_repr_states_the_parameters():
    """The repr names graph, copies, message length, threshold and sizes."""
    assert repr(HardInstance(graph("fano"), J=20)) == (
        "HardInstance(geometry:Fano, q=2, J=20, L=3; k=3, D=4, 35 variables, 140 public rows, "
        "170 domain points, n=2841)"
    )


@pytest.mark.parametrize(
    ("code", "q"), [("qc:64", 2), ("qc:128", 2), ("qc:64", 4), ("qc:64", 8), ("qc:32", 16)]
)
def test_large_instances(code, q):
    """The large instances of the benchmarks are tight."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGraphWarning)
        inst = HardInstance(TannerCode.from_text(code), q)
    found = inst.certify(*inst.words(1))
    assert found.optimal
    assert found.opt_lower == 3 * inst.D
