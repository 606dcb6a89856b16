"""Interaction models, pools and runs: who may speak again, and that no protocol sees an input."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from support.local import SUE, tree_inputs, tree_search

from geomdp.core.errors import ArgumentError, CapacityError, GeomdpError, ProtocolError
from geomdp.local.account import Composition
from geomdp.local.kernels import GeneralisedRR, RandomisedResponse, YesNo
from geomdp.local.models import (
    Cohort,
    FullyInteractive,
    InteractionError,
    NonInteractive,
    Pool,
    Sequential,
)
from geomdp.local.protocol import Ask, Coin, DataAccessError, Inputs, run

RR = RandomisedResponse(Fraction(3))
SURE = YesNo(Fraction(1), Fraction(0))
MODELS = [NonInteractive(), Sequential(rounds=2), Sequential(), FullyInteractive()]


def once():
    """One round, both users."""
    bits = yield Ask.each([0, 1], RR)
    return sum(bits)


def sequential():
    """Two rounds, one user each, with public coins before, between and after."""
    yield Coin(2)
    (first,) = yield Ask.each([0], RR)
    yield Coin(3)
    (second,) = yield Ask.each([1], RR)
    yield Coin(2)
    return first, second


def three_rounds():
    """Three rounds, one user each."""
    for user in range(3):
        yield Ask.each([user], RR)


def again():
    """User 0 speaks twice."""
    yield Ask.each([0], RR)
    yield Ask.each([0], RR)


def doubled():
    """User 0 speaks twice in one round."""
    yield Ask(((0, RR), (0, RR)))


PROTOCOLS = {once: 0, sequential: 1, three_rounds: 2, again: 3, doubled: 3}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("index", range(4))
def test_each_model_accepts_exactly_its_protocols(protocol, index):
    """The models are nested, and the first one that accepts a protocol is the one that its form needs."""
    if index >= PROTOCOLS[protocol]:
        assert run(protocol, [0, 1, 1], MODELS[index], rng=0).simulated
    else:
        with pytest.raises(InteractionError):
            run(protocol, [0, 1, 1], MODELS[index], rng=0)


def test_models_are_ordered_by_what_they_allow():
    """A <= b holds exactly if every protocol that a allows is allowed by b."""
    for i, a in enumerate(MODELS):
        for j, b in enumerate(MODELS):
            assert (a <= b) == (i <= j)
    assert NonInteractive() <= Sequential(rounds=1) <= NonInteractive()
    assert not Sequential() <= FullyInteractive(rounds=5)
    assert NonInteractive() == NonInteractive()
    assert repr(Sequential(rounds=2)) == "Sequential(rounds=2)"
    for model in (Sequential, FullyInteractive):
        with pytest.raises(ArgumentError, match="Argument 'rounds' must be"):
            model(rounds=0)


def test_a_refused_round_samples_nothing():
    """The ledger speaks before any kernel of the round: not even a fair first answer is drawn."""
    drawn = []

    class Spy(RandomisedResponse):
        def weights(self, x):
            drawn.append(1)
            return super().weights(x)

    def steps():
        yield Ask.each([0], Spy(Fraction(2)))
        yield Ask.each([1, 0], Spy(Fraction(2)))

    with pytest.raises(InteractionError):
        run(steps, [0, 1], Sequential(), rng=0)
    assert len(drawn) == 1


def test_a_refused_round_leaves_the_ledger_unchanged():
    """A round is entered in full or not at all."""
    ledger = Sequential(rounds=2).ledger()
    ledger.charge(Ask.each([0], RR))
    with pytest.raises(InteractionError):
        ledger.charge(Ask.each([1, 0], RR))
    ledger.charge(Ask.each([1], RR))
    with pytest.raises(InteractionError, match="at most 2 round"):
        ledger.charge(Ask.each([2], RR))
    assert issubclass(InteractionError, GeomdpError)


def test_a_budget_is_refused_before_sampling():
    """An accountant that refuses a question stops the run before the round is sampled."""
    accountant = Composition([0, 1], epsilon=2)
    with pytest.raises(GeomdpError, match="Nothing was sampled"):
        run(again, [0, 1], FullyInteractive(), rng=0, accountants=[accountant])
    assert accountant.ratio(0) == 3


def test_pools_hand_out_disjoint_cohorts():
    """Cohorts of a pool are disjoint, exhaust it, and answer once."""
    pool = Pool(6)
    cohorts = [pool.take(n) for n in (1, 2, 3)]
    assert [list(c.users) for c in cohorts] == [[0], [1, 2], [3, 4, 5]]
    assert [len(c) for c in cohorts] == [1, 2, 3]
    assert pool.left == 0
    with pytest.raises(CapacityError):
        pool.take(1)
    assert pool.left == 0
    cohorts[1].ask(lambda user: GeneralisedRR(user + 1, Fraction(2)))
    with pytest.raises(InteractionError, match="answers once"):
        cohorts[1].ask(RR)
    with pytest.raises(ArgumentError):
        Cohort(range(0)).ask(RR)
    assert repr(cohorts[1]) == "Cohort(2 users, spent)"
    assert repr(pool) == "Pool(6 users, 0 left)"


@pytest.mark.parametrize("n", [-1, 1.5, True, "2"])
def test_pools_refuse_odd_numbers(n):
    """Numbers of users are integers >= 0."""
    with pytest.raises(ArgumentError):
        Pool(5).take(n)
    with pytest.raises(ArgumentError):
        Pool(n)


def test_runs_are_exact_where_kernels_are_sure():
    """With deterministic kernels a run returns what the inputs say, also from the system's entropy."""

    def steps():
        bits = yield Ask.each(range(4), SURE)
        face = yield Coin(2, (0, 5))
        return bits, face

    for rng in (None, 1, np.random.default_rng(2), np.random.SeedSequence(3)):
        result = run(steps, [1, 0, 0, 1], NonInteractive(), rng=rng)
        assert result.answer == ((1, 0, 0, 1), 1)
        assert (result.rounds, result.messages, result.simulated) == (1, 4, rng is not None)
        assert [outcome for _, outcome in result.events] == [(1, 0, 0, 1), 1]


def test_seeded_runs_repeat_and_coins_do_not_depend_on_users():
    """A seed fixes the run; public coins are the same whatever and however much the users answer."""

    def steps(asked):
        yield Ask.each(range(asked), RR)
        faces = []
        for _ in range(20):
            faces.append((yield Coin(10)))
        return faces

    results = [
        run(functools.partial(steps, asked), [x] * 9, FullyInteractive(), rng=5)
        for asked in (1, 9)
        for x in (0, 1)
    ]
    assert len({tuple(result.answer) for result in results}) == 1
    assert run(once, [0, 1], NonInteractive(), rng=3) == run(once, [0, 1], NonInteractive(), rng=3)


def test_a_search_with_sure_votes_finds_the_labels():
    """With sure votes, the tree search ends at a leaf consistent with every user's labels."""
    inputs = tree_inputs(2, 2)
    for first in inputs[:2]:
        for second in inputs[2:]:
            path = run(tree_search(2, 2, 2, SURE), [first, second], FullyInteractive(), rng=0).answer
            assert path[0] == first.label(())
            assert path[1] == second.label(path[:1])


DATA = [0, 1, 1]


def _reads_global():
    yield Ask.each([0], RR)
    return DATA[0]


def _closure(data):
    def steps():
        bits = yield Ask.each([0, 1], RR)
        return bits[0] if bits[0] == bits[1] else data[0]  # a tie-break that looks at data

    return steps


def _default(data):
    def steps(rows=data):
        yield Ask.each([0], RR)
        return rows[0]

    return steps


def _inner(data):
    def peek():
        return data[0]

    def steps():
        yield Ask.each([0], RR)
        return peek()

    return steps


class _Method:
    def __init__(self, data):
        self.data = data

    def steps(self):
        yield Ask.each([0], RR)


class _Callable(_Method):
    def __call__(self):
        return self.steps()


def _takes(data):
    yield Ask.each([0], RR)
    return data[0]


def test_a_protocol_that_holds_the_data_is_refused():
    """Data in a closure, a default, a partial, an inner function, a global or an argument is refused."""
    for protocol in (
        _closure(DATA),
        _default(DATA),
        _inner(DATA),
        functools.partial(_takes, DATA),
        functools.partial(_takes, data=DATA),
        _reads_global,
        _Method(DATA).steps,
        _Callable(DATA),
        _takes,
        lambda: _takes(DATA),
    ):
        with pytest.raises(DataAccessError, match="A protocol m"):
            run(protocol, DATA, FullyInteractive(), rng=0)


def test_a_sealed_input_cannot_be_read():
    """Sealed inputs show their number only; a protocol that reads one fails with a clear error."""
    sealed = Inputs([4, 5, 6])
    assert len(sealed) == 3
    assert repr(sealed) == "Inputs(3 users)"
    for read in (lambda: sealed[0], lambda: list(sealed), lambda: 4 in sealed):
        with pytest.raises(DataAccessError, match="ask a kernel"):
            read()
    with pytest.raises(DataAccessError):
        run(_closure(sealed), sealed, FullyInteractive(), rng=0)
    holder = {"rows": sealed}

    def hidden():
        yield Ask.each([0], RR)
        return holder["rows"][0]

    with pytest.raises(DataAccessError, match="ask a kernel"):
        run(hidden, Inputs([0, 1, 1]), FullyInteractive(), rng=0)
    assert run(once, Inputs([0, 1]), NonInteractive(), rng=0).messages == 2


def test_malformed_protocols_are_refused():
    """A protocol must be a generator function that yields Ask or Coin and asks existing users."""

    def not_a_step():
        yield 7

    def stranger():
        yield Ask.each([3], RR)

    with pytest.raises(ProtocolError, match="must yield Ask or Coin, not 7"):
        run(not_a_step, [0], FullyInteractive(), rng=0)
    with pytest.raises(ProtocolError, match=r"must ask users 0\.\.1"):
        run(stranger, [0, 1], FullyInteractive(), rng=0)
    with pytest.raises(ArgumentError, match="Argument 'protocol'"):
        run(lambda: 5, [0], FullyInteractive(), rng=0)
    with pytest.raises(ArgumentError, match="Argument 'protocol'"):
        run(5, [0], FullyInteractive(), rng=0)


@pytest.mark.parametrize(
    "make", [lambda: Coin(0), lambda: Coin(2, (1,)), lambda: Coin(2, (0, 0)), lambda: Coin(2, (2, -1))]
)
def test_dice_need_faces_and_weights(make):
    """A public die has at least one face and integer weights >= 0, not all 0."""
    with pytest.raises(ArgumentError):
        make()


def test_weighted_dice_are_exact():
    """A weighted die shows each face as often as its weight says, over all values of the drawn integer."""

    class Fixed:
        simulated = True

        def __init__(self, value):
            self.value = value

        def uniform(self, bound):
            assert bound == 6
            return self.value

    faces = [Coin(3, (1, 0, 5)).toss(Fixed(value)) for value in range(6)]
    assert [faces.count(face) for face in range(3)] == [1, 0, 5]


def test_an_empty_protocol_runs():
    """A protocol that asks nobody returns its answer with an empty transcript, whatever the model."""

    def silent():
        return 5
        yield

    result = run(silent, [], NonInteractive(), rng=0)
    assert (result.answer, result.events, result.rounds) == (5, (), 0)


def test_votes_of_the_search_need_full_interaction():
    """The tree search speaks to every user at every level: sequential models refuse it."""
    with pytest.raises(InteractionError, match="run it as FullyInteractive"):
        run(tree_search(2, 2, 1, SUE), tree_inputs(2, 2)[:1], Sequential(), rng=0)
