"""Declared domains: inputs outside them change neither the privacy nor the law of a compiled protocol."""

from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.domains import DeclaredDomain, check_domain
from geomdp.local.kernels import GeneralisedRR, RoleRR
from geomdp.local.models import FullyInteractive, Sequential
from geomdp.local.protocol import Ask, Inputs, run
from geomdp.local.rejection import Acceptance, Rejection, one_bit
from geomdp.local.rounds import as_local, from_ldp_rounds
from geomdp.local.transcripts import answer_law, transcript_law
from geomdp.local.twoparty import ALICE, BOB, BSC, from_ldp, over_bsc
from geomdp.local.verify import exact_loss

R, FI = Fraction(3), FullyInteractive()
DECLARED = {ALICE: (1, 0, 2), BOB: (2, 0)}
OUTSIDE = (7, -1, None, "text", float("nan"), (0,), [0], np.array([0, 1]), 0.5)


class _Odd:
    """An input that answers every comparison with an error of its own."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("private")


def valued():
    """One answer of three categories, about the value."""
    return (yield Ask.each([0], GeneralisedRR(3, R, lambda x: x[1])))


@pytest.mark.parametrize("x", [*OUTSIDE, _Odd()], ids=lambda x: type(x).__name__)
def test_settling_is_total(x):
    """Whatever a user holds is put on the first declared input, unless it equals one of them."""
    domain = DeclaredDomain([5, 0, 1, 5])
    assert domain.settle(x) == 5
    assert [domain.settle(y) for y in (0, 1.0, False, np.int64(0))] == [0, 1, 0, 0]
    listed = DeclaredDomain([[1], np.array([2, 3]), ("Alice", np.array([4]))])  # members without a hash
    assert listed.settle(x) == [1]
    assert listed.place(np.array([2, 3])) == 1
    assert listed.place(("Alice", np.array([4]))) == 2


@pytest.mark.parametrize("x", OUTSIDE, ids=lambda x: type(x).__name__)
def test_parties_outside_the_domain_play_the_declared_default(x):
    """The transcripts with an undeclared input have exactly the law of those with the first declared one."""
    two = over_bsc(from_ldp(valued, R, DECLARED, 2), BSC.of_response(R))
    law = transcript_law(two, [[(ALICE, x)], [(BOB, x)]], FI)
    assert law == transcript_law(two, [[(ALICE, 1)], [(BOB, 2)]], FI)
    assert law != transcript_law(two, [[(ALICE, 0)], [(BOB, 2)]], FI)
    rounds = as_local(from_ldp_rounds(valued, R, DECLARED, 2))
    law = transcript_law(rounds, [[(ALICE, x)], [(BOB, x)]], FI)
    assert law == transcript_law(rounds, [[(ALICE, 1)], [(BOB, 2)]], FI)


def test_no_input_is_refused_in_a_run():
    """A run with undeclared inputs ends as any other: nothing that can be seen depends on the declaration."""
    for x in OUTSIDE:
        result = from_ldp(valued, R, DECLARED).run(x, x, BSC.of_response(R), rng=1)
        same = from_ldp(valued, R, DECLARED).run(1, 2, BSC.of_response(R), rng=1)
        assert (result.answer, result.messages) == (same.answer, same.messages)


def test_one_bit_answers_outside_the_domain_are_those_of_the_default():
    """Private users: an undeclared input costs no more than the ratio, and has the default's exact law."""

    def ask():
        return (yield Ask.each([0], GeneralisedRR(3, R)))

    played = one_bit(ask, R, (2, 0, 1), 2, 2)
    law = answer_law(played, [[9], [9]], Sequential())
    assert law == answer_law(played, [[2], [2]], Sequential())
    for user in (0, 1):
        assert exact_loss(played, user, [0, 1, 2, 9, None], {1 - user: 9}, Sequential()).ratio <= R
    bit = Acceptance(Rejection(GeneralisedRR(3, Fraction(9)), (0,), Fraction(2)), 1)
    assert bit.worst_ratio([0, 1, 2]) == 1  # only 0 is declared


def test_acceptance_is_never_cut():
    """At every x the acceptance has the form R(x)(y) ratio/(M(y) (1 + ratio)), R the settled law."""
    law = Rejection(GeneralisedRR(3, R), (1, 0), R)
    for x in (0, 1, 2, 17):
        settled = x if x in (0, 1) else 1
        chances = law.kernel.law(settled)
        for place, y in enumerate(law.kernel.outputs):
            assert law.acceptance(x, y) == chances[y] * R / (law.largest[place] * (1 + R))


def test_domains_are_checked_where_they_are_declared():
    """Empty, sealed and shapeless domains are refused before there is any input."""
    for bad in ([], Inputs([1]), 5, None):
        with pytest.raises(ArgumentError, match="Argument 'domain' must be"):
            check_domain(bad)
    for inputs in ({ALICE: (), BOB: (0,)}, {ALICE: (0,)}, {ALICE: (0,), BOB: 3}, None, [ALICE, BOB]):
        for make in (lambda i: from_ldp(valued, R, i), lambda i: from_ldp_rounds(valued, R, i, 2)):
            with pytest.raises(ArgumentError, match="Argument 'inputs' must be"):
                make(inputs)
    with pytest.raises(ArgumentError, match="Argument 'domain' must be"):
        one_bit(valued, R, [], 3)


def test_a_role_is_settled_with_its_owner():
    """Answers of the other role stay public dice when its input is undeclared."""

    def ask():
        return (yield Ask.each([0], RoleRR(ALICE, R)))

    played = from_ldp(ask, R, {ALICE: (0, 1), BOB: ("none",)})
    answers = {run(over_bsc(played, BSC(0)), [(ALICE, 1), (BOB, 5)], FI, rng=s).messages for s in range(20)}
    assert 0 in answers
