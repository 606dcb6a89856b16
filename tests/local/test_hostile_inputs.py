"""Inputs, names and readers made to break something: they neither raise, nor leak, nor cheat an account."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.account import OneYes
from geomdp.local.domains import DeclaredDomain
from geomdp.local.finite import log_up, role_and_value
from geomdp.local.hidden_layers import Path, Stretch
from geomdp.local.kernels import RandomisedResponse, RoleRR, Scope, YesNo
from geomdp.local.learning.caps import CapBall
from geomdp.local.learning.vectors import DuchiBall, public_directions
from geomdp.local.models import FullyInteractive, Sequential
from geomdp.local.protocol import Ask, run, same_input
from geomdp.local.rounds import Message, Round, RoundProtocol, to_ldp_rounds
from geomdp.local.scopes import frozen_name
from geomdp.local.transcripts import transcript_law
from geomdp.local.twoparty import ALICE, BOB, Bit, SentBit, TwoPartyProtocol, to_ldp
from geomdp.local.verify import exact_loss
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import SimSampler

R, FI = Fraction(3), FullyInteractive()
SUE = YesNo.symmetric(Fraction(2))


class _Chameleon:
    """A value equal to every integer, with a hash of its own."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return id(self)


class _Raising:
    """A value whose comparison, hash and length fail with the input's own words."""

    def __eq__(self, other):
        raise RuntimeError("private")

    def __hash__(self):
        raise RuntimeError("private")

    def __len__(self):
        raise RuntimeError("private")


class _Text(str):
    """A text that claims to be every text."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = str.__hash__


class _Pair(tuple):
    """A pair that cannot be unpacked."""

    __slots__ = ()

    def __iter__(self):
        raise RuntimeError("private")


def _nested(depth):
    value = ()
    for _ in range(depth):
        value = (value,)
    return value


HOSTILE = [
    np.array([pd.NA, 1], dtype=object),
    Decimal("sNaN"),
    _nested(3000),
    _Raising(),
    (_Raising(), 1),
    [_Raising()],
    pd.DataFrame({"a": [1, 2]}),
    _Pair((1, 2)),
]


@pytest.mark.parametrize("members", [[5, 0, 1], [[1], np.array([2, 3]), (ALICE, np.array([4]))]])
@pytest.mark.parametrize("x", HOSTILE, ids=lambda x: type(x).__name__)
def test_settling_never_raises(members, x):
    """An input that fails when it is hashed, compared or walked through is put on the first declared one."""
    domain = DeclaredDomain(members)
    assert domain.place(x) == 0
    assert not same_input(x, members[0])


@pytest.mark.parametrize(
    "value",
    [[1], {1}, {}, None, 1.0, _Chameleon(), _Text("v"), (1, [2]), np.array([1]), b"v", _Pair((1, 2))],
    ids=lambda v: type(v).__name__,
)
def test_scopes_are_made_of_names_that_cannot_change(value):
    """A level, place or label that can change, or compares in its own way, is refused by name."""
    assert frozen_name(value) is None
    for place, label, name in ((value, 0, "place"), ("v", value, "value")):
        with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
            SUE.at(Scope(0, place, label))
    with pytest.raises(ArgumentError, match="Argument 'level' must be"):
        Scope(value, "v", 0)


def test_names_are_equal_exactly_if_they_are_one_value():
    """Booleans, numpy integers and integers are one name; paths are kept whole, and their steps are names."""
    assert Scope(np.int64(1), (True, "a"), np.uint8(3)) == Scope(1, (1, "a"), 3)
    assert type(Scope(True, True, False).value) is int
    path = Path(((1, 2), Stretch(3, 4, 0, 2**70)))
    assert frozen_name(path) == path
    mutable = Path(((1, [2]),))
    assert frozen_name(mutable) is None
    with pytest.raises(ArgumentError, match="Argument 'scope' must be"):
        SUE.at((0, "v", 1))


def test_a_place_that_grows_cannot_be_stated():
    """Planted: one list as place for three questions, exact loss 8; no account states 4 for it."""

    def growing(at):
        place = []
        for label in range(3):
            yield Ask.each([0], at(place, label))
            place.append(label)

    def read(x, place):
        return x[len(place)]

    inputs = [(0, 1, 2), (1, 2, 0)]

    def plain(place, label):
        return SUE.ask(lambda x, there=place: read(x, there) == label)

    def scoped(place, label):
        return SUE.at(Scope(0, place, label), lambda x: 0, read)

    assert exact_loss(lambda: growing(plain), 0, inputs, {}, FI).ratio == 8
    account = OneYes()
    with pytest.raises(ArgumentError, match="Argument 'place' must be"):
        run(lambda: growing(scoped), inputs[:1], FI, rng=0, accountants=[account])
    assert account.certificate(0) == 1


def test_labels_that_equal_everything_say_no():
    """An input whose level or label is no name says no to every question: it cannot say yes twice."""
    for level, label in ((_Chameleon(), 0), (0, _Chameleon()), (0.0, 0), (0, [0])):
        laws = {
            tuple(
                SUE.at(Scope(0, "v", value), lambda x: x[0], lambda x, p: x[1]).probabilities((level, label))
            )
            for value in range(3)
        }
        assert laws == {SUE.probabilities(False)}


ROLES = [7, None, _Raising(), _Chameleon(), _Text("Carol"), np.array([1, 2]), pd.NA, "alice", b"Alice"]


@pytest.mark.parametrize("role", ROLES, ids=lambda r: type(r).__name__)
def test_strange_roles_are_answered_with_a_coin(role):
    """A role that is not the text asked for, whatever it answers to ==, gets a fair coin and no error."""
    for kernel in (RoleRR(ALICE, R), SentBit(ALICE, lambda x: x, Fraction(1, 4))):
        assert kernel.weights((role, 1)) == (1, 1)
        assert kernel.worst_ratio([(ALICE, 1), (BOB, 0), (role, 1)]) <= R
    assert role_and_value((role, 1))[0] in (None, "Carol", "alice")


@pytest.mark.parametrize("x", [_Pair((1, 2)), (1,), (1, 2, 3), None, "ab"], ids=lambda x: type(x).__name__)
def test_what_is_no_pair_is_named_without_its_words(x):
    """An input that is no pair is refused in the house's words alone."""
    for kernel in (RoleRR(ALICE, R), SentBit(ALICE, lambda x: x, Fraction(1, 4))):
        with pytest.raises(
            ArgumentError, match=r"^Argument 'x' must be a pair \(role, value\), not something else"
        ):
            kernel.weights(x)
    with pytest.raises(ArgumentError, match="Argument 'role' must be"):
        RoleRR(7, R)


DECLARED = {ALICE: (1, 0), BOB: (2, 3)}


def _talk():
    a = yield Bit(ALICE, lambda x: {0: 0, 1: 1}[x])
    b = yield Bit(BOB, lambda y: {2: a, 3: 1 - a}[y])
    return a, b


def _rounds():
    first = yield Round((Message(ALICE, 2, [0, 1].index), Message(BOB, 2, lambda y: y - 2)))
    return first


@pytest.mark.parametrize(
    "make",
    [
        lambda **more: to_ldp(TwoPartyProtocol(_talk), R, 2, **more),
        lambda **more: to_ldp_rounds(RoundProtocol(_rounds), R, 1, 2, **more),
    ],
)
def test_private_users_outside_the_declaration_have_the_defaults_law(make):
    """Compiled for declared inputs, whoever holds anything has exactly the transcripts of a declared user."""
    private = make(inputs=DECLARED)
    others = [(BOB, 3), (ALICE, 0)]
    for x, same in (
        ((ALICE, "text"), (ALICE, 1)),
        ((BOB, None), (BOB, 2)),
        (("Carol", 2), (ALICE, 1)),
        (_Raising(), (ALICE, 1)),
        ((BOB, _Raising()), (BOB, 2)),
        ((BOB, 3), (BOB, 3)),
    ):
        for user in (0, 1):
            given, wanted = ([*others[:user], *row, *others[user + 1 :]] for row in ((x,), (same,)))
            laws = [transcript_law(private, [[v] for v in row], Sequential()) for row in (given, wanted)]
            assert laws[0] == laws[1]
    everything = [(ALICE, 1), (ALICE, 0), (BOB, 2), (BOB, 3), ("Carol", 1), None]
    assert exact_loss(private, 0, everything, {1: (BOB, 3)}, Sequential()).ratio == R
    assert run(private, [None, ("Carol", 0)], Sequential(), rng=0).messages == 2
    with pytest.raises(ArgumentError, match="Argument 'send'"):
        run(make(), [(ALICE, "text"), (ALICE, "text")], Sequential(), rng=0)
    with pytest.raises(ArgumentError, match="Argument 'inputs'"):
        make(inputs={ALICE: (1,)})


@pytest.mark.parametrize(
    ("row", "same"),
    [
        ([3.0, 4.0], [0.6, 0.8]),
        ([-3e200, 0.0], [-1.0, 0.0]),
        ([math.inf, 0.0], [1.0, 0.0]),
        ([math.nan, 1.0], None),
    ],
)
def test_long_rows_are_released_as_unit_vectors(row, same):
    """The pure mechanisms refuse no row: a long one has the message of its direction, any one some."""
    axes = public_directions(1, 2, 3)
    for release in (
        lambda v, s: DuchiBall(2, 1).release([v], axes, SimSampler(s)),
        lambda v, s: CapBall(2, 1, 8).release([v], 3, SimSampler(s)),
    ):
        for seed in range(20):
            message = release(row, seed)
            assert np.isfinite(message).all()
            assert same is None or (message == release(same, seed)).all()


def test_tiny_losses_are_rounded_up():
    """log_up is 0 at 1 only: beyond floats it is the least float, and it never falls below the logarithm."""
    for power in (30, 300, 320, 330, 2000):
        claimed = log_up(1 + Fraction(1, 10**power))
        assert 0 < claimed < 10.0 ** (1 - min(power, 320))
        assert Fraction(claimed) > Fraction(1, 10**power) - Fraction(1, 10 ** (2 * power))
    assert 1 / Interval.exp_neg(Fraction(log_up(Fraction(10**400))), 4096).lo >= 10**400
    for bad in (Fraction(1, 2), 0, -1, math.nan):
        with pytest.raises(ArgumentError, match="Argument 'ratio' must be"):
            log_up(bad)
    assert RandomisedResponse(1 + Fraction(1, 10**330)).loss([0, 1]) > 0
