"""Laws of the code over F_q."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tanner_graphs

from geomdp.core.errors import ArgumentError
from lp_gadgets.code import FieldCode
from lp_gadgets.tanner import TannerCode

TEXTS = ["geometry:Fano", "geometry:EG(2,4)", "qc:32", "peg:24:seed=3", "geometry:GH(2,2)"]


@pytest.mark.parametrize("q", [2, 4, 8])
@pytest.mark.parametrize("text", TEXTS)
def test_encoding_is_systematic_and_linear(text, q):
    """Encodings are codewords that show their message, and encoding is linear over F_q."""
    from lp_gadgets.field import multiplication_table

    code = TannerCode.from_text(text).over(q)
    rng = np.random.default_rng(q)
    u, v = rng.integers(0, q, (2, code.k))
    c, d = code.encode(u), code.encode(v)
    assert code.is_codeword(c)
    assert np.array_equal(code.message(c), u)
    assert np.array_equal(code.encode(u ^ v), c ^ d)
    times = multiplication_table(q)[q - 1]
    assert np.array_equal(code.encode(times[u]), times[c])


@pytest.mark.parametrize("text", TEXTS)
def test_the_generator_is_identity_and_redundancy_and_is_checked_by_h(text):
    """G = [I | A] in the order of the code, H G^T = 0 over F_2, and k = K - rank."""
    graph = TannerCode.from_text(text)
    code = graph.over(2)
    assert code.k == graph.K - graph.rank
    assert np.array_equal(code.generator[:, list(code.order)][:, : code.k], np.eye(code.k, dtype=int))
    assert not (graph.incidence @ code.generator.T % 2).any()


def test_rows_that_sum_to_zero_leave_more_than_half_to_the_message():
    """Variables of even degree make the checks dependent, so k > K / 2 for (4, 8)-graphs."""
    for seed in range(5):
        graph = TannerCode.peg(K=64, seed=seed)
        assert not (graph.incidence.sum(axis=0) % 2).any()
        assert graph.over(2).k > graph.K // 2


@given(tanner_graphs(most_variables=6, most_checks=6), st.sampled_from([2, 4]))
@settings(max_examples=50, deadline=None)
def test_the_encodings_are_all_the_codewords(graph, q):
    """For small graphs of every kind the encodings are exactly the words that satisfy the checks."""
    code = graph.over(q)
    words = np.array(list(itertools.product(range(q), repeat=graph.K)))
    good = np.ones(len(words), dtype=bool)
    for check in graph.checks:
        good &= np.bitwise_xor.reduce(words[:, list(check)], axis=1, initial=0) == 0
    assert good.sum() == q**code.k
    for word in words[good][:40]:
        assert code.is_codeword(word)
        assert np.array_equal(code.encode(code.message(word)), word)


@given(tanner_graphs(most_variables=6, most_checks=6), st.data())
@settings(max_examples=60, deadline=None)
def test_as_many_preferred_variables_as_possible_carry_the_message(graph, data):
    """No set of message positions holds more of the preferred variables (all sets tried)."""
    wanted = data.draw(st.sets(st.integers(0, graph.K - 1)))
    code = FieldCode(graph, 2, wanted)
    words = np.array(list(itertools.product((0, 1), repeat=graph.K)))
    words = words[(words @ graph.incidence.T % 2 == 0).all(axis=1)]
    best = max(
        len(wanted & set(chosen))
        for chosen in itertools.combinations(range(graph.K), code.k)
        if len(np.unique(words[:, list(chosen)], axis=0)) == len(words)
    )
    assert len(wanted & set(code.message_positions)) == best


def test_a_minimum_stopping_set_carries_message_symbols_when_preferred():
    """At least two variables of a minimum stopping set can be message positions in these graphs."""
    for text in ("qc:32", "qc:64", "geometry:EG(2,4)", "geometry:GH(2,2)"):
        graph = TannerCode.from_text(text)
        witness = graph.stopping_distance().witness
        code = graph.over(2, prefer=witness)
        assert len(set(witness) & set(code.message_positions)) >= 2


@pytest.mark.parametrize("q", [2, 4, 8])
def test_f_is_bilinear_and_non_degenerate(q):
    """F(u + u', v) = F(u, v) + F(u', v), F is symmetric, and for u != 0 half of the v give 1."""
    code = TannerCode(4, ((0, 1, 2), (1, 2, 3))).over(q)
    rng = np.random.default_rng(q)
    a, b, v = rng.integers(0, q, (3, code.k))
    assert code.F(a ^ b, v) == code.F(a, v) ^ code.F(b, v)
    assert code.F(a, v) == code.F(v, a)
    u = [1] + [0] * (code.k - 1)
    assert sum(code.F(u, w) for w in itertools.product(range(q), repeat=code.k)) == q**code.k // 2


def test_binary_f_is_the_inner_product():
    """For q = 2, F is the parity of the common ones."""
    code = TannerCode.geometry("EG(2,4)").over(2)
    u, v = np.random.default_rng(0).integers(0, 2, (2, code.k))
    assert code.F(u, v) == int(u @ v) % 2


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda code: code.encode([0] * 4), "u"),
        (lambda code: code.encode([0, 1, 4]), "u"),
        (lambda code: code.message([0] * 3), "c"),
        (lambda code: code.is_codeword([9] * 7), "c"),
        (lambda code: code.F([0, 0, 0], [0, 0]), "v"),
        (lambda code: code.graph.over(3), "q"),
        (lambda code: code.graph.over(2, prefer=[7]), "prefer"),
    ],
)
def test_wrong_words_are_refused_by_name(call, name):
    """A word of another length or alphabet is refused, naming the argument."""
    with pytest.raises(ArgumentError) as error:
        call(TannerCode.geometry("Fano").over(4))
    assert error.value.name == name


def test_a_code_without_messages():
    """When the checks determine everything, the empty message encodes the zero word."""
    code = TannerCode(2, ((0,), (0, 1))).over(4)
    assert code.k == 0
    assert code.encode([]).tolist() == [0, 0]
    assert code.F([], []) == 0


def test_the_repr_shows_the_parameters():
    """The repr names the graph, the alphabet, the length and the dimension."""
    assert repr(TannerCode.geometry("Fano").over(4)) == "FieldCode(geometry:Fano, q=4, K=7, k=3)"
