"""Laws of peeling."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tanner_graphs

from geomdp.core.errors import ArgumentError, CertificateError
from lp_gadgets.graphs.peeling import peel
from lp_gadgets.tanner import TannerCode


def union_of_stopping_sets(code, erased):
    """Return the union of all stopping sets inside the erased set, by trying every subset."""
    union = set()
    for size in range(len(erased) + 1):
        for chosen in itertools.combinations(erased, size):
            if all(len(set(chosen) & set(check)) != 1 for check in code.checks):
                union.update(chosen)
    return tuple(sorted(union))


@given(tanner_graphs(most_variables=7), st.data())
@settings(max_examples=100, deadline=None)
def test_what_is_left_is_the_union_of_all_stopping_sets_inside(code, data):
    """The residual is the largest stopping set in the erased set, and the steps verify."""
    erased = data.draw(st.sets(st.integers(0, code.K - 1)))
    found = peel(code, erased)
    assert found.residual == union_of_stopping_sets(code, sorted(erased))
    assert found.harmless == (not found.residual)
    assert found.verify(code)


def test_every_smaller_erasure_is_harmless_and_a_minimum_stopping_set_is_not():
    """Sets below the stopping distance peel; the witness does not, but does without any one variable."""
    found = TannerCode.geometry("PG(2,4)").stopping_distance()
    plane = TannerCode.geometry("PG(2,4)")
    for erased in itertools.combinations(range(plane.K), 4):
        assert peel(plane, erased).harmless
    assert peel(plane, found.witness).residual == found.witness
    for v in found.witness:
        assert peel(plane, set(found.witness) - {v}).harmless


def test_peeling_solves_the_linear_system():
    """A harmless erasure is recovered by the steps: each check gives its variable as a sum of others."""
    code = TannerCode.quasi_cyclic(K=64)
    field_code = code.over(4)
    rng = np.random.default_rng(3)
    c = field_code.encode(rng.integers(0, 4, field_code.k))
    erased = rng.permutation(code.K)[:16].tolist()
    found = peel(code, erased)
    word = c.copy()
    word[erased] = -1
    for v, check in found.steps:
        others = [x for x in code.checks[check] if x != v]
        assert (word[others] >= 0).all()
        word[v] = np.bitwise_xor.reduce(word[others])
    assert found.harmless
    assert np.array_equal(word, c)


def test_damaged_peelings_are_refused():
    """A wrong check, an omitted step and a wrong residual are refused with the step."""
    code = TannerCode.geometry("EG(2,4)")
    found = peel(code, [0, 1, 2])
    other = (found.steps[0][0], (found.steps[0][1] + 1) % code.M)
    for wrong in (
        dataclasses.replace(found, steps=found.steps[1:]),
        dataclasses.replace(found, steps=(other, *found.steps[1:])),
        dataclasses.replace(found, steps=((0, -1), *found.steps)),
        dataclasses.replace(found, residual=(0,)),
    ):
        with pytest.raises(CertificateError, match="Step "):
            wrong.verify(code)


def test_the_explanation_names_every_step_and_what_is_lost():
    """One line per step, and one about the rest."""
    code = TannerCode(4, ((0, 1), (1, 2), (0, 2), (2, 3)))
    assert peel(code, [3]).explain() == "check 3 gives variable 3\nevery erased variable is recovered"
    assert "lost" in peel(code, [0, 1, 2, 3]).explain()
    assert peel(code, []).explain() == "every erased variable is recovered"


@pytest.mark.parametrize("erased", [[7], [-1], [0.5], ["a"], 3, None])
def test_only_variables_can_be_erased(erased):
    """Anything but variables of the graph is refused by name."""
    with pytest.raises(ArgumentError, match=r"Argument 'erased' must be a collection of variables in 0\.\.6"):
        peel(TannerCode.geometry("Fano"), erased)
