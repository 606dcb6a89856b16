"""Laws of the stopping distance, its search and its proof."""

import dataclasses
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from support.strategies import tanner_graphs

from geomdp.core.errors import ArgumentError, CertificateError
from lp_gadgets.graphs.beam import small_stopping_set
from lp_gadgets.graphs.proof import StoppingProof, verify_lower
from lp_gadgets.stopping import StoppingDistance, select, stopping_distance
from lp_gadgets.tanner import TannerCode


def brute_force(code):
    """Return the stopping distance by trying all non-empty sets of variables, K + 1 if there is none."""
    sets = np.arange(1, 2**code.K)
    good = np.ones(len(sets), dtype=bool)
    for check in code.checks:
        met = sets & sum(1 << v for v in check)
        good &= (met == 0) | (met & (met - 1) != 0)
    sizes = sum((sets >> v & 1 for v in range(code.K)), start=np.zeros(len(sets), dtype=int))
    return int(min(sizes[good], default=code.K + 1))


def mip(code):
    """Return the distance by HiGHS: least sum x >= 1 with x_v <= sum of the others in each check."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = [np.ones(code.K)]
    for check in code.checks:
        for v in check:
            row = np.zeros(code.K)
            row[list(check)] = 1
            row[v] = -1
            rows.append(row)
    lower = np.r_[1, np.zeros(len(rows) - 1)]
    answer = milp(
        np.ones(code.K),
        constraints=LinearConstraint(np.array(rows), lower),
        bounds=Bounds(0, 1),
        integrality=np.ones(code.K),
    )
    chosen = np.flatnonzero(answer.x > 0.5).tolist()
    assert code.is_stopping_set(chosen)
    return len(chosen)


@given(tanner_graphs(most_variables=9, most_checks=9))
@settings(max_examples=150, deadline=None)
def test_the_search_agrees_with_all_subsets(code):
    """On small graphs of every kind the value is the least size over all subsets, and it verifies."""
    found = code.stopping_distance()
    assert found.value == brute_force(code)
    assert len(found.witness) == (found.value if found.value <= code.K else 0)
    assert found.verify(code)


@given(tanner_graphs(most_variables=9, most_checks=9))
@settings(max_examples=100, deadline=None)
def test_the_verifier_by_itself_accepts_exactly_the_true_bounds(code):
    """Without any decision the verifier proves every true lower bound, and none beyond the distance."""
    value = brute_force(code)
    for lower in range(1, code.K + 2):
        proof = StoppingProof(lower, code.sha256)
        if lower <= value:
            assert verify_lower(code, proof)
        else:
            with pytest.raises(CertificateError):
                verify_lower(code, proof)


@pytest.mark.filterwarnings("ignore::lp_gadgets.tanner.WeakGraphWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("dv", "dc"), [(2, 4), (3, 6), (4, 8), (3, 4)])
def test_symmetry_changes_nothing(dv, dc, seed):
    """With its rotation and without, a circulant array has the stopping distance of all subsets."""
    base = TannerCode.quasi_cyclic(K=3 * dc if dc < 6 else 2 * dc, dv=dv, dc=dc, seed=seed + 20)
    bare = TannerCode(base.K, base.checks)
    assert base.stopping_distance().value == bare.stopping_distance().value == brute_force(base)


@pytest.mark.parametrize(
    "text", ["peg:24:seed=3", "biregular:24:seed=1", "qc:32", "peg:30:dv=3:dc=5", "peg:32:seed=6"]
)
def test_the_search_agrees_with_a_mixed_integer_program(text):
    """HiGHS finds no smaller stopping set and no larger least one."""
    code = TannerCode.from_text(text)
    assert code.stopping_distance().value == mip(code)


def satisfiable_below(code, most):
    """Return whether sympy's SAT solver finds a non-empty stopping set of at most so many variables.

    x_v is true for the chosen variables; s_(i, j) is true if more than j of the first i + 1 are chosen.
    """
    from sympy import And, Not, Or, Symbol
    from sympy.logic.inference import satisfiable

    x = [Symbol(f"x{v}") for v in range(code.K)]
    s = [[Symbol(f"s{v}_{j}") for j in range(most + 1)] for v in range(code.K)]
    clauses = [Or(*x)]
    for check in code.checks:
        clauses += [Or(Not(x[v]), *(x[u] for u in check if u != v)) for v in check]
    for v in range(code.K):
        clauses += [Or(Not(x[v]), s[v][0]), Not(s[v][most])]
        if v:
            clauses += [Or(Not(s[v - 1][j]), s[v][j]) for j in range(most + 1)]
            clauses += [Or(Not(x[v]), Not(s[v - 1][j - 1]), s[v][j]) for j in range(1, most + 1)]
    model = satisfiable(And(*clauses), algorithm="dpll2")
    if not model:
        return False
    chosen = [v for v in range(code.K) if model.get(x[v])]
    assert 0 < len(chosen) <= most
    assert code.is_stopping_set(chosen)
    return True


@pytest.mark.filterwarnings("ignore::lp_gadgets.tanner.WeakGraphWarning")
@pytest.mark.parametrize(
    "text",
    [
        "geometry:Fano", "geometry:EG(2,4)", "geometry:GQ(2,2)", "biregular:16", "biregular:12:dv=3:dc=4",
        "qc:16:seed=2", "peg:16:dv=3:dc=6", "peg:16:seed=1",
    ],
)  # fmt: skip
def test_the_search_agrees_with_a_sat_solver(text):
    """A stopping set of the distance exists, and none is smaller, says a SAT solver."""
    code = TannerCode.from_text(text)
    value = code.stopping_distance().value
    assert satisfiable_below(code, value)
    assert not satisfiable_below(code, value - 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("qc:64", 8),
        ("peg:64", 7),
        ("qc:128", 12),
        ("peg:128:seed=1", 11),
        pytest.param("qc:160", 14, marks=pytest.mark.exhaustive),
        pytest.param("qc:192:seed=1", 16, marks=pytest.mark.exhaustive),
    ],
)
def test_medium_and_large_graphs(text, value):
    """The distances of these graphs, found with a log and verified from it without compiled code."""
    code = TannerCode.from_text(text)
    found = code.stopping_distance()
    assert found.value == value
    assert found.verify(code)


def test_the_verifier_needs_no_decisions():
    """A proof whose decisions were not kept is searched again by the verifier's own rule."""
    code = TannerCode.quasi_cyclic(K=96)
    found = stopping_distance(code, log=False)
    assert found.proof.decisions is None
    assert found.verify(code)
    assert found == dataclasses.replace(stopping_distance(code), proof=found.proof)


def test_a_time_limit_leaves_certified_bounds():
    """Stopped at once, the result is an interval whose two ends are proved."""
    code = TannerCode.quasi_cyclic(K=256)
    found = code.stopping_distance(time_limit=0)
    assert found.lower < found.upper
    assert found.value is None
    assert not found.exact
    assert found.verify(code)


def test_results_survive_json():
    """Value, witness and proof are the same after a round trip through JSON text."""
    found = TannerCode.quasi_cyclic(K=64).stopping_distance()
    again = StoppingDistance.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again.proof == found.proof


def damaged(found):
    """Yield results with one part changed."""
    proof = found.proof
    decisions = bytearray(proof.decisions)
    decisions[0] ^= 1
    for wrong in (
        dataclasses.replace(proof, decisions=proof.decisions[:-1]),
        dataclasses.replace(proof, decisions=proof.decisions + b"\0"),
        dataclasses.replace(proof, decisions=bytes(decisions)),
        dataclasses.replace(proof, decisions=b"\xff" * len(proof.decisions)),
        dataclasses.replace(proof, counts=proof.counts[:-1]),
        dataclasses.replace(proof, counts=(*proof.counts, 1), decisions=proof.decisions + b"\0"),
        dataclasses.replace(proof, counts=(-1, *proof.counts[1:])),
        dataclasses.replace(proof, graph="0" * 64),
    ):
        yield dataclasses.replace(found, proof=wrong)
    yield dataclasses.replace(found, lower=found.lower - 1)
    yield dataclasses.replace(found, witness=found.witness[:-1])
    yield dataclasses.replace(found, witness=(*found.witness[:-1], found.witness[0]))
    yield dataclasses.replace(found, witness=tuple(range(found.upper)))
    yield dataclasses.replace(found, witness=())
    too_high = dataclasses.replace(proof, lower=found.lower + 1, decisions=None)
    yield dataclasses.replace(found, lower=found.lower + 1, upper=found.upper + 1, proof=too_high)
    yield dataclasses.replace(found, proof=too_high, lower=found.lower + 1)


def test_damage_is_refused():
    """Every changed part of a result is refused with the step that fails."""
    code = TannerCode.quasi_cyclic(K=64)
    found = code.stopping_distance()
    for wrong in damaged(found):
        with pytest.raises(CertificateError, match="Step '"):
            wrong.verify(code)


def test_verification_needs_no_compiled_code():
    """A result is verified in a process that cannot import numba."""
    code = TannerCode.geometry("GQ(2,2)")
    text = json.dumps([code.to_dict(), code.stopping_distance().to_dict()])
    script = (
        "import json, sys; sys.modules['numba'] = None\n"
        "from lp_gadgets.stopping import StoppingDistance\n"
        "from lp_gadgets.tanner import TannerCode\n"
        "code, found = json.load(sys.stdin)\n"
        "assert StoppingDistance.from_dict(found).verify(TannerCode.from_dict(code))\n"
    )
    subprocess.run([sys.executable, "-c", script], input=text, text=True, check=True, timeout=60)


@pytest.mark.parametrize("key", ["lower", "graph", "counts", "decisions"])
def test_proofs_with_a_part_missing_are_refused(key):
    """Reading a proof without one of its parts, or with nonsense in it, fails as a certificate."""
    data = TannerCode.geometry("GQ(2,2)").stopping_distance().proof.to_dict()
    with pytest.raises(CertificateError):
        StoppingProof.from_dict({k: v for k, v in data.items() if k != key})
    if key != "graph":
        with pytest.raises(CertificateError):
            StoppingProof.from_dict(data | {key: "%"})


def test_graphs_without_a_stopping_set_bear_every_erasure():
    """A tree whose leaves are checks peels completely: the distance is K + 1, with an empty witness."""
    code = TannerCode(3, ((0,), (0, 1), (1, 2)))
    found = code.stopping_distance()
    assert (found.lower, found.upper, found.witness) == (4, 4, ())
    assert found.verify(code)


def test_a_variable_without_checks_is_a_stopping_set():
    """An unchecked variable is lost when it is erased."""
    found = TannerCode(2, ((0,),)).stopping_distance()
    assert (found.value, found.witness) == (1, (1,))
    assert TannerCode(1, ()).stopping_distance().value == 1


@given(tanner_graphs())
@settings(max_examples=60, deadline=None)
def test_the_beam_finds_a_stopping_set_where_there_is_one(code):
    """What the beam returns is a stopping set, and it returns one unless there is none."""
    found = small_stopping_set(code, width=20, beams=1)
    assert code.is_stopping_set(found)
    assert bool(found) == (brute_force(code) <= code.K)


def test_selection_is_by_distance_then_order():
    """The first graph of the greatest distance is kept, also against graphs without a stopping set."""
    graphs = [TannerCode.geometry(name) for name in ("Fano", "PG(2,4)", "GQ(2,2)")]
    assert select(graphs) is graphs[1]
    forest = TannerCode(8, tuple((v,) for v in range(8)))
    assert select([*graphs, forest]) is forest
    with pytest.raises(ArgumentError, match="at least one"):
        select([])
    for codes in (["x"], "x", 5, [graphs[0], None]):
        with pytest.raises(ArgumentError, match="codes"):
            select(codes)


def test_progress_grows_to_one():
    """The reported fractions lie in [0, 1], do not fall, and end at 1."""
    told = []
    TannerCode.quasi_cyclic(K=160).stopping_distance(progress=told.append)
    assert told[-1] == 1.0
    assert len(told) > 1
    assert all(0 <= a <= b <= 1 for a, b in itertools.pairwise(told))


@pytest.mark.parametrize("limit", [-1, "1", True, float("nan")])
def test_time_limits_are_numbers(limit):
    """A time limit that is not a number >= 0 is refused by name."""
    with pytest.raises(ArgumentError, match="Argument 'time_limit'"):
        TannerCode.geometry("Fano").stopping_distance(time_limit=limit)


def test_wide_checks_are_counted_without_overflow():
    """A check of 300 variables, variables in 300 checks and a stopping set of 260 are handled exactly."""
    wide = TannerCode(300, (tuple(range(300)),))
    tall = TannerCode(2, ((0, 1),) * 300)
    for code in (wide, tall):
        found = code.stopping_distance()
        assert found.value == 2
        assert found.verify(code)
    chain = TannerCode(260, tuple((v, (v + 1) % 260) for v in range(260)))
    found = chain.stopping_distance()
    assert found.value == 260
    assert found.verify(chain)


def test_replays_report_their_progress():
    """The verifier's fractions end at 1."""
    code = TannerCode.quasi_cyclic(K=96)
    told = []
    assert code.stopping_distance().verify(code, told.append)
    assert told == sorted(told)
    assert told[-1] == 1
