"""Laws of Tanner graphs and their random constructions."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from support.strategies import tanner_graphs

from geomdp.core.errors import ArgumentError, CapacityError
from lp_gadgets.code import FieldCode
from lp_gadgets.graphs.constructions import girth
from lp_gadgets.graphs.graph import TannerGraph
from lp_gadgets.graphs.peeling import peel
from lp_gadgets.stopping import stopping_distance
from lp_gadgets.tanner import TannerCode, WeakGraphWarning

MAKERS = [TannerCode.biregular, TannerCode.peg, TannerCode.quasi_cyclic]
quiet = pytest.mark.filterwarnings("ignore::lp_gadgets.tanner.WeakGraphWarning")


@quiet
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("K", "dv", "dc"), [(8, 4, 8), (16, 4, 8), (24, 3, 6), (40, 4, 8), (30, 2, 3), (12, 6, 6)]
)
def test_random_graphs_are_simple_and_biregular(maker, K, dv, dc):
    """Every variable is in dv different checks and every check has dc different variables."""
    for seed in range(3):
        code = maker(K=K, dv=dv, dc=dc, seed=seed)
        assert K * dv // dc == code.M
        assert code.incidence.sum(axis=0).tolist() == [dv] * K
        assert code.incidence.sum(axis=1).tolist() == [dc] * code.M


@quiet
@pytest.mark.parametrize("maker", MAKERS)
def test_the_seed_decides_the_graph(maker):
    """One seed gives one graph, another gives another."""
    assert maker(K=48, seed=5) == maker(K=48, seed=5)
    assert maker(K=48, seed=5) != maker(K=48, seed=6)


def test_the_name_makes_the_graph_again():
    """from_text(code.name) is the graph."""
    codes = [maker(K=64, seed=0) for maker in MAKERS] + [
        TannerCode.geometry("EG(2,4)"),
        TannerCode.peg(48, 3, 6),
    ]
    assert [TannerCode.from_text(code.name) for code in codes] == codes


def test_best_of_keeps_the_first_seed_of_the_greatest_stopping_distance():
    """best_of gives the same graph as comparing all the seeds one by one."""
    codes = [TannerCode.quasi_cyclic(K=48, seed=s) for s in range(33, 40)]
    values = [code.stopping_distance().value for code in codes]
    assert TannerCode.quasi_cyclic(K=48, seed=33, best_of=7) == codes[values.index(max(values))]
    assert max(values) > min(values)


def test_a_circulant_array_without_four_cycles_is_found():
    """From K = 128 on the shifts are drawn without 4-cycles; at K = 64 none of this kind exists."""
    assert TannerCode.quasi_cyclic(K=128).girth == 6
    assert TannerCode.quasi_cyclic(K=64).girth == 4


def test_twins_are_reported():
    """Two variables in the same checks raise a warning that offers what helps: at K = 8, a larger K."""
    with pytest.warns(WeakGraphWarning, match=r"share all their checks.*take a larger K"):
        code = TannerCode.biregular(K=8)
    assert code.twins() == (0, 1)
    assert code.is_stopping_set(code.twins())


@given(tanner_graphs())
@settings(max_examples=60, deadline=None)
def test_the_rank_counts_the_codewords(code):
    """2^(K - rank) binary words satisfy all checks."""
    words = np.array(list(itertools.product((0, 1), repeat=code.K)))
    assert (words @ code.incidence.T % 2 == 0).all(axis=1).sum() == 2 ** (code.K - code.rank)


@given(tanner_graphs())
@settings(max_examples=60, deadline=None)
def test_a_four_cycle_is_two_variables_that_share_two_checks(code):
    """The girth is 4 exactly when some entry off the diagonal of H^T H is 2 or more; it is even and >= 4."""
    shared = code.incidence.T @ code.incidence
    np.fill_diagonal(shared, 0)
    assert (code.girth == 4) == bool((shared >= 2).any())
    edges, vertices = sum(code.check_degrees), code.K + code.M
    if code.girth is None:
        assert edges < vertices
    else:
        assert code.girth >= 4
        assert code.girth % 2 == 0


@given(tanner_graphs())
@settings(max_examples=30, deadline=None)
def test_graphs_survive_their_dictionary(code):
    """from_dict undoes to_dict, and a changed graph is refused by its digest."""
    data = code.to_dict()
    assert TannerCode.from_dict(data) == code
    data["checks"] = [*data["checks"], [0]]
    with pytest.raises(ArgumentError, match="digest"):
        TannerCode.from_dict(data)


@pytest.mark.parametrize("data", [{}, {"K": 2}, [], None])
def test_other_values_are_no_graphs(data):
    """A dictionary without the parts of a graph is refused."""
    with pytest.raises(ArgumentError, match="Argument 'data'"):
        TannerCode.from_dict(data)


def test_relabelling_moves_variables_and_keeps_the_symmetry():
    """Variable order[i] becomes i in every check, and the symmetries are carried along."""
    code = TannerCode.geometry("EG(2,4)")
    order = np.random.default_rng(1).permutation(code.K).tolist()
    moved = code.relabel(order)
    assert np.array_equal(moved.incidence, code.incidence[:, order])
    assert len(moved.symmetry) == len(code.symmetry)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"K": 7}, r"Argument 'K' must be a multiple of 2, at least 8, .* not 7\. The nearest is 8\."),
        ({"K": 6}, r"Argument 'K' must be a multiple of 2, at least 8, .* The nearest is 8\."),
        ({"K": 4, "dv": 3, "dc": 6}, r"The nearest is 6\."),
        ({"K": 0}, "Argument 'K' must be an integer >= 1"),
        ({"K": 64, "dv": 0}, "Argument 'dv'"),
        ({"K": 64, "dc": 8.0}, "Argument 'dc'"),
        ({"K": 64, "seed": -1}, "Argument 'seed'"),
        ({"K": 64, "best_of": 0}, "Argument 'best_of'"),
    ],
)
@pytest.mark.parametrize("maker", [TannerCode.biregular, TannerCode.peg])
def test_impossible_sizes_are_refused_with_the_nearest_possible(maker, arguments, text):
    """A size without a simple biregular graph is refused, and the message says what to use."""
    with pytest.raises(ArgumentError, match=text):
        maker(**arguments)


def test_circulants_need_a_multiple_of_the_check_degree():
    """K = 36 has (4, 8)-biregular graphs but no array of 8 circulants."""
    with pytest.raises(ArgumentError, match=r"multiple of 8, .* not 36\. The nearest are 32 and 40"):
        TannerCode.quasi_cyclic(K=36)


@pytest.mark.parametrize(
    "text", ["", "qc", "qc:x", "qc:64:dv", "qc:64:girth=6", "ldpc:64", "geometry:", None, "peg:64:K"]
)
def test_texts_that_name_no_graph_are_refused(text):
    """An unknown kind or option is refused with examples."""
    with pytest.raises(ArgumentError, match="like qc:64"):
        TannerCode.from_text(text)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((3, ((0, 3),)), "checks"),
        ((3, ((-1, 0),)), "checks"),
        ((3, ((1, 1),)), "checks"),
        ((3, ((0, 1),), "", ((0, 1, 1),)), "symmetry"),
        ((3, ((0, 1),), "", ((1, 2, 0),)), "symmetry"),
        ((0, ()), "K"),
    ],
)
def test_what_is_not_a_simple_graph_with_its_symmetry_is_refused(arguments, name):
    """Out of range, repeated variables and wrong symmetries are refused by name."""
    with pytest.raises(ArgumentError) as error:
        TannerCode(*arguments)
    assert error.value.name == name


def test_too_many_edges_are_refused_before_building():
    """A graph of more edges than can be handled is refused at once."""
    with pytest.raises(CapacityError):
        TannerCode.biregular(K=20_000, dv=50, dc=100)


@given(tanner_graphs())
@settings(max_examples=40, deadline=None)
def test_methods_are_the_algorithms_on_the_plain_graph(code):
    """Each method of a code gives what its algorithm gives on the bare data of the graph."""
    bare = TannerGraph(code.K, code.checks, code.name, code.symmetry)
    assert code.girth == girth(bare)
    assert code.stopping_distance() == stopping_distance(bare)
    assert code.peel(range(code.K)) == peel(bare, range(code.K))
    assert np.array_equal(code.over(4).generator, FieldCode(bare, 4).generator)
    assert (code.sha256, code.rank, code.twins()) == (bare.sha256, bare.rank, bare.twins())


def test_copies_of_a_code_are_codes():
    """Renaming, reading, replacing and pickling keep the class, and equality is that of codes."""
    code = TannerCode.quasi_cyclic(K=32)
    copies = [
        TannerCode.from_dict(code.to_dict()),
        dataclasses.replace(code),
        pickle.loads(pickle.dumps(code)),  # noqa: S301 (our own bytes)
        code.relabel(range(32)).relabel(range(32)),
    ]
    assert all(type(copy) is TannerCode for copy in copies)
    assert copies[:3] == [code] * 3
    assert copies[3].checks == code.checks
    with pytest.raises(dataclasses.FrozenInstanceError):
        code.K = 3
