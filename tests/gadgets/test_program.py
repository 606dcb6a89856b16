"""Laws of the program: its size, its integral points, and that it is feasible exactly when F = 0."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gadgets import SMALL, graph, small_instance
from support.strategies import tanner_graphs

from geomdp.core.errors import ArgumentError, CapacityError
from lp_gadgets.program import Program, Recipe, checks_of, predict_size
from lp_gadgets.solvers import METHODS, solve
from lp_gadgets.sparse import SparseRows, join
from lp_gadgets.tanner import TannerCode
from lp_gadgets.witnesses.witness import best_witness, half_witness, integral_witness, shifted_witness


def program_of(name, q, embedding, encoding):
    """The program of a named graph."""
    return Program(graph(name).over(q), Recipe.of(q, embedding, encoding))


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_the_prediction_is_the_size(small):
    """Variables, public rows and pins are as many as predicted, and the coefficients no more."""
    program = program_of(*small)
    size = predict_size(program.code, program.recipe)
    assert (len(program.variables), len(program.public), len(program.pins)) == (
        size.variables,
        size.rows,
        size.pins,
    )
    assert program.public.nonzeros <= size.nonzeros
    assert len(set(program.public.names + program.pins.names)) == size.rows + size.pins
    assert sum(block.count for block in program.layout.blocks) == size.rows


def test_the_papers_dimension():
    """Direct encodings of checks on the parabola have 4K + 2k + 1 variables, whatever q is (Lemma C.3)."""
    code = TannerCode.biregular(32)
    program = Program(code.over(2), Recipe.of(2))
    assert len(program.variables) == 4 * 32 + 2 * 17 + 1 == 163
    assert len(program.public) == 16 * 2 * 128 + 64 * 4 + 17 * 4 + 17 * 4 + 4 == 4492
    for q in (4, 8, 32):
        size = predict_size(TannerCode.geometry("Fano").over(q), Recipe.of(q, "parabola", "implications"))
        assert size.variables == 4 * 7 + 2 * 3 + 1
    assert predict_size(code.over(4), Recipe.of(4)).variables == 163


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_codewords_satisfy_every_row_but_the_last(small):
    """The integral point of two codewords violates no public row, or out.top alone, which tells F."""
    program = program_of(*small)
    rng = np.random.default_rng(0)
    q, k = program.code.q, program.code.k
    for _ in range(20):
        u, v = rng.integers(0, q, k), rng.integers(0, q, k)
        a, b = program.code.encode(u), program.code.encode(v)
        point = integral_witness(program, a, b)
        assert point.violated(program) == ["out.top"] * program.code.F(u, v)
        assert point.wrong_pins(program, "A", a) == point.wrong_pins(program, "B", b) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("q", "embedding"), [(2, "parabola"), (4, "cube"), (4, "parabola")])
def test_feasible_exactly_when_f_is_zero(q, embedding, method):
    """For every pair of words of a small code HiGHS finds the program feasible iff F = 0 (Lemma D.1)."""
    inst = small_instance("chain", q, embedding, "auto")
    for u, v in itertools.product(range(q), repeat=2):
        expected = "infeasible" if inst.F([u], [v]) else "feasible"
        assert solve(inst, [u], [v], method).status == expected


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_the_solver_agrees_on_every_encoding(small):
    """HiGHS agrees with F on words of either kind, whatever the encoding."""
    inst = small_instance(*small)
    for F, expected in ((0, "feasible"), (1, "infeasible")):
        assert solve(inst, *inst.words(F, 5)).status == expected


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_half_and_shifted_points_are_points(small):
    """A point that relaxes a stopping set satisfies every public row, and every pin off the set."""
    inst = small_instance(*small)
    program, T = inst.program, inst.stopping.witness
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(30):
        u, v = (rng.integers(0, inst.q, inst.k) for _ in range(2))
        a, b = inst.codewords(u, v)
        made = best_witness(program, a, b, [T])
        if made is None or (made.kind == "shifted" and not inst.F(u, v)):
            continue
        seen.add(made.kind)
        assert made.violated(program) == []
        wrong = [made.wrong_pins(program, w, c) for w, c in (("A", a), ("B", b))]
        assert wrong == ([list(made.erased), []] if made.word == "A" else [[], list(made.erased)])
    assert seen


@given(tanner_graphs(most_variables=6, most_checks=5), st.sampled_from((2, 4)), st.data())
@settings(max_examples=40, deadline=None)
def test_half_points_of_any_graph(code, q, data):
    """On any graph the half point of any stopping set satisfies all rows when two trace bits are halves."""
    field = code.over(q)
    if not field.k:
        with pytest.raises(ArgumentError, match="only word"):
            Program(field, Recipe.of(q))
        return
    program = Program(field, Recipe.of(q))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b = (field.encode(rng.integers(0, q, field.k)) for _ in range(2))
    T = code.peel(data.draw(st.sets(st.integers(0, code.K - 1)))).residual
    if not T:
        return
    point = half_witness(program, a, b, T)
    assert set(point.violated(program)) <= {"out.top"}
    assert point.wrong_pins(program, "A", a) == list(T)
    assert point.wrong_pins(program, "B", b) == []


def test_bad_witnesses_are_refused():
    """A set that is no stopping set, or no codeword's support, beta = 0 and a third word are refused."""
    program = program_of("wide", 4, "cube", "facets")
    zero = np.zeros(8, dtype=np.int64)
    for T in ([], [0]):
        with pytest.raises(ArgumentError, match="stopping set"):
            half_witness(program, zero, zero, T)
    whole = list(range(8))
    with pytest.raises(ArgumentError, match="support"):
        shifted_witness(program, zero, zero, whole)
    with pytest.raises(ArgumentError, match="beta"):
        half_witness(program, zero, zero, whole, beta=0)
    pair = list(TannerCode(3, ((0, 1),)).stopping_distance().witness)
    small = Program(TannerCode(3, ((0, 1),)).over(2), Recipe.of(2))
    for make in (half_witness, shifted_witness):
        with pytest.raises(ArgumentError, match="word"):
            make(small, zero[:3], zero[:3], pair, word="C")


def test_recipes():
    """Defaults are the paper's for q = 2 and the cube beyond; names are checked."""
    assert [Recipe.of(q).embedding.kind for q in (2, 4, 16)] == ["parabola", "cube", "cube"]
    assert [Recipe.of(q).trace for q in (2, 8, 16)] == ["facets", "facets", "implications"]
    assert Recipe.of(8, "parabola").check == "tree"
    for bad in ({"embedding": "sphere"}, {"encoding": "magic"}):
        with pytest.raises(ArgumentError):
            Recipe.of(4, **bad)
    with pytest.raises(ArgumentError, match="power of two"):
        Recipe.of(3)


def test_sizes_that_do_not_fit_are_refused_before_anything_is_built():
    """Direct facets of degree-8 checks on the parabola are refused, with the way out."""
    code = TannerCode.quasi_cyclic(32).over(4)
    with pytest.raises(CapacityError, match="tree"):
        Program(code, Recipe.of(4, "parabola", "facets"))
    with pytest.raises(CapacityError):
        Program(TannerCode.quasi_cyclic(32).over(8), Recipe.of(8, "parabola", "facets"))


def test_repeated_and_empty_checks_are_imposed_once():
    """Empty checks and repetitions bring no rows."""
    assert checks_of(graph("degenerate").over(2)) == [(0, 1, 2), (3,), (1, 2)]


@given(
    st.lists(st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4), max_size=6),
    st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3),
    st.integers(1, 2**30),
)
def test_sparse_slacks_are_exact(table, point, denominator):
    """Slacks equal those of Fractions, beyond 64 bits too, and selections and joins keep rows."""
    rows = [([c for c in range(3) if row[c]], [x for x in row[:3] if x], row[3]) for row in table]
    system = SparseRows.of(3, rows, [f"r{i}" for i in range(len(rows))])
    wanted = [
        denominator * (row[3] - sum(Fraction(a * x, denominator) for a, x in zip(row, point, strict=False)))
        for row in table
    ]
    x = np.array(point, dtype=np.int64)
    assert [int(s) for s in system.slacks(x, denominator)] == wanted
    back = list(range(len(rows)))[::-1]
    turned = join(3, [system.select(back[:2]), system.select(back[2:])])
    assert [int(s) for s in turned.slacks(x, denominator)] == wanted[::-1]
    assert np.array_equal(system.dense(), np.array([row[:3] for row in table], dtype=np.int64).reshape(-1, 3))
    assert (turned.sha256 == system.sha256) or table[::-1] != table
