"""Misuse of the local room: kernels without a law, memories, endless protocols, odd arguments."""

import math
from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, BudgetError, CapacityError, GeomdpError, ProtocolError
from geomdp.local.account import Composition, Realised
from geomdp.local.coding import amplify
from geomdp.local.finite import Kernel
from geomdp.local.hidden_baselines import announce_both, announce_users, plan_coded, together_users
from geomdp.local.hidden_blocks import plan_blocks
from geomdp.local.hidden_leaves import plan_random_leaf, plan_separate
from geomdp.local.hidden_prices import price_of_interaction
from geomdp.local.kernels import GeneralisedRR, RandomisedResponse, Table, YesNo
from geomdp.local.learning.caps import CapIndex
from geomdp.local.learning.estimates import logistic_estimate, mean_estimate
from geomdp.local.learning.gaussian import classical_sigma
from geomdp.local.learning.label_dp import respond
from geomdp.local.learning.vectors import DuchiBall, SideBit
from geomdp.local.models import FullyInteractive, NonInteractive, Pool, Sequential
from geomdp.local.protocol import Ask, Coin, DataAccessError, run
from geomdp.local.rejection import one_bit
from geomdp.local.rounds import Round, RoundProtocol, from_ldp_rounds, to_ldp_rounds
from geomdp.local.twoparty import ALICE, BOB, SentBit, TwoPartyProtocol, from_ldp, to_ldp
from geomdp.local.verify import exact_delta, exact_loss
from geomdp.local.votes import majority_users, stage_users
from geomdp.privacy.sampler import SecureSampler, SimSampler

FI, RR, R = FullyInteractive(), RandomisedResponse(Fraction(2)), Fraction(3)


class Weighted(Kernel):
    """A kernel whose weights are given, whatever they are."""

    def __init__(self, weights, outputs=(0, 1)):
        self.given, self.named = weights, outputs

    @property
    def outputs(self):
        return self.named

    def weights(self, x):
        return self.given


def asking(kernel, users=1):
    """A protocol that asks one question of each user."""

    def steps():
        return (yield Ask.each(range(users), kernel))

    return steps


NO_LAW = [
    (0.5, 0.5), (1, -1), (2, -1), (0, 0), (1,), (1, 2, 3), (), None, 5, "ab", (math.nan, 1),
    (Fraction(1, 2), Fraction(1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("weights", NO_LAW, ids=str)
def test_kernels_without_an_exact_law_are_refused_everywhere(weights):
    """Floats, negative, missing or zero weights give no answer, no account and no loss, and are not shown."""
    kernel = Weighted(weights)
    for use in (
        lambda: run(asking(kernel), [1], NonInteractive(), rng=0),
        lambda: run(asking(kernel), [1], NonInteractive()),
        lambda: exact_loss(asking(kernel), 0, [0, 1], {}, NonInteractive()),
        lambda: Composition([0, 1]).before(0, kernel),
        lambda: Realised([0, 1]).after(0, kernel, 1),
        lambda: kernel.law(0),
        lambda: kernel.full_support([0]),
    ):
        with pytest.raises(ProtocolError, match="one weight >= 0 to each output") as caught:
            use()
        assert "0.5" not in str(caught.value)


def test_answers_are_drawn_from_the_accounted_weights():
    """A kernel that overrides `sample` to publish its input still answers by its weights."""

    class Leak(RandomisedResponse):
        def sample(self, x, dice):
            return x

    runs = [run(asking(Leak(Fraction(1)), 40), [1] * 40, NonInteractive(), rng=s).answer for s in range(2)]
    assert all(0 < sum(answer) < 40 for answer in runs)


def test_steps_of_another_class_are_refused():
    """A subclass of Ask could show other kernels to the accountant than to the users."""

    class Shifting(Ask):
        pass

    def steps():
        yield Shifting(((0, RR),))

    with pytest.raises(ProtocolError, match="must yield Ask or Coin"):
        run(steps, [1], NonInteractive(), rng=0)


def test_a_kernel_that_changes_between_rounds_is_charged_as_it_is():
    """A worst ratio is not remembered beyond its round: a kernel made sharper is charged for it."""
    kernel, account = Table((0, 1), {0: (1, 1), 1: (1, 1)}), Composition([0, 1])

    def steps():
        yield Ask.each([0], kernel)
        kernel._table.update({0: (9, 1), 1: (1, 9)})
        yield Ask.each([0], kernel)

    run(steps, [1], FI, rng=0, accountants=[account])
    assert account.ratio(0) == 9
    kernel._table.update({0: (1, 1), 1: (1, 1)})
    with pytest.raises(BudgetError):
        run(steps, [1], FI, rng=0, accountants=[Composition([0, 1], epsilon=1)])


def test_repeated_outputs_are_one_answer():
    """Two outputs of one name are one event for an account: their chances add up."""
    kernel = Table(("a", "b", "c"), {0: (1, 2, 3), 1: (2, 1, 3)})
    object.__setattr__(kernel, "labels", ("a", "a", "c"))
    account = Realised([0, 1])
    account.after(0, kernel, "a")
    assert account.ratio(0) == 1
    with pytest.raises(ProtocolError, match="one of the kernel's outputs"):
        account.after(0, kernel, "z")


def test_zero_probabilities_cost_everything():
    """An output that some input excludes has an infinite loss; a budget refuses the question."""
    sure = YesNo(Fraction(1), Fraction(0))
    account, realised = Composition([0, 1]), Realised([0, 1])
    run(asking(sure), [1], NonInteractive(), rng=0, accountants=[account, realised])
    assert account.ratio(0) == realised.ratio(0) == math.inf
    with pytest.raises(BudgetError):
        run(asking(sure), [1], NonInteractive(), rng=0, accountants=[Composition([0, 1], epsilon=100)])
    with pytest.raises(ArgumentError, match="Argument 'ratio'"):
        run(one_bit(asking(sure), Fraction(10**9), [0, 1], 9), [1] * 9, Sequential(), rng=0)


class _Box:
    """An object with an attribute."""

    last = None


def _spies():
    box, kept, array, cell = _Box(), {"last": None}, np.zeros(2), None

    def attribute(x):
        box.last = x
        return x

    def of_class(x):
        _Box.last = x
        return x

    def entry(x):
        kept["last"] = x
        return x

    def number(x):
        array[0] = x
        return x

    def variable(x):
        nonlocal cell
        cell = x
        return x

    class Counting(RandomisedResponse):
        def weights(self, x):
            object.__setattr__(self, "seen", x)
            return super().weights(x)

    return [
        *(RandomisedResponse(Fraction(2), spy) for spy in (attribute, of_class, entry, number, variable)),
        Counting(Fraction(2)),
    ]


LAST = None


def _global(x):
    global LAST  # noqa: PLW0603 - the misuse itself
    LAST = x
    return x


@pytest.mark.parametrize("kernel", [*_spies(), RandomisedResponse(Fraction(2), _global)])
def test_statistics_that_change_anything_are_stopped(kernel):
    """Attributes, entries, arrays, closure variables, globals and the kernel itself: nothing is released."""
    with pytest.raises(DataAccessError, match="write down"):
        run(asking(kernel, 2), [1, 1], NonInteractive(), rng=0)


def test_statistics_that_only_read_are_left_alone():
    """Public tables, arrays and long lists that a statistic reads do not stop a run."""
    table, rows, long = {0: 1, 1: 0}, np.arange(10**6), list(range(1000))
    kernel = RandomisedResponse(Fraction(2), lambda x: table[x] if rows[x] == long[x] else None)
    assert run(asking(kernel, 2), [1, 0], NonInteractive(), rng=0).messages == 2


def tossing(sides):
    """A protocol that never ends."""

    def steps():
        while True:
            yield Coin(sides)

    return steps


@pytest.mark.parametrize("sides", [1, 2])
def test_protocols_that_never_end_are_stopped(sides):
    """A run stops at its limit of steps, a verification at 2,000 steps of one transcript."""
    with pytest.raises(CapacityError, match="Argument 'limit'"):
        run(tossing(sides), [0], NonInteractive(), rng=0, limit=500)
    with pytest.raises(CapacityError, match="ends within 2000 steps"):
        exact_loss(tossing(sides), 0, [0, 1], {}, NonInteractive())
    assert run(asking(RR), [1], NonInteractive(), rng=0, limit=1).rounds == 1


def test_empty_rounds_and_no_users():
    """Nobody can be asked where nobody is; a protocol that asks nobody costs nothing."""

    def silent():
        return 5
        yield

    assert run(silent, [], NonInteractive(), rng=0).answer == 5
    assert exact_loss(silent, 0, [0, 1], {}, NonInteractive()).ratio == 1
    with pytest.raises(ProtocolError, match="asked another one"):
        run(asking(RR), [], NonInteractive(), rng=0)


def test_a_user_in_two_cohorts_is_refused():
    """Two pools hand out the same user: the ledger sees it, and samples nothing of that round."""
    accounts = Composition([0, 1])

    def steps():
        first, second = Pool(2).take(2), Pool(2).take(1)
        yield first.ask(RR)
        yield second.ask(RR)

    with pytest.raises(GeomdpError, match="asked again"):
        run(steps, [0, 1], Sequential(), rng=0, accountants=[accounts])
    assert accounts.ratio(0) == 2


X, Y = [[0.5, 0.5]] * 3, [1, -1, 1]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: run(asking(RR), None, NonInteractive(), rng=0), "data"),
        (lambda: run(asking(RR), [1], None, rng=0), "model"),
        (lambda: run(asking(RR), [1], NonInteractive(), rng="a"), "rng"),
        (lambda: run(asking(RR), [1], NonInteractive(), rng=-1), "rng"),
        (lambda: run(asking(RR), [1], NonInteractive(), rng=True), "rng"),
        (lambda: run(asking(RR), [1], NonInteractive(), rng=0, limit=-1), "limit"),
        (lambda: exact_loss(asking(RR), 0, [0, 1], [1], NonInteractive()), "others"),
        (lambda: exact_delta(asking(RR), 5, [0, 1], 1, NonInteractive(), ratio=2), "user"),
        (lambda: exact_delta(asking(RR), 0, [0, 1], 0, NonInteractive(), ratio=2), "users"),
        (lambda: Table(([], 1), {0: (1, 1)}), "labels"),
        (lambda: Table(3, {}), "labels"),
        (lambda: Table((0, 1), None), "rows"),
        (lambda: Table((0, 1), {0: None}), "rows"),
        (lambda: Table((0, 1), {0: (math.nan, 1)}), "rows"),
        (lambda: SentBit(ALICE, int, Fraction(2)), "crossover"),
        (lambda: SentBit("Eve", int, Fraction(1, 4)), "owner"),
        (lambda: Round((1,)), "messages"),
        (lambda: Round(5), "messages"),
        (lambda: TwoPartyProtocol(lambda: 3).noiseless(0, 0), "protocol"),
        (lambda: amplify(TwoPartyProtocol(None), 3).noiseless(0, 0), "protocol"),
        (lambda: RoundProtocol(lambda: 3).run(0, 0), "protocol"),
        (lambda: from_ldp_rounds(lambda: 3, R, {ALICE: [0], BOB: [0]}, 2).run(0, 0), "protocol"),
        (lambda: from_ldp(asking(RR), R, {ALICE: [0], BOB: [0]}, 0), "attempts"),
        (lambda: one_bit(asking(RR), R, [0], -1), "users"),
        (lambda: one_bit(asking(RR), R, [0], 1, "a"), "attempts"),
        (lambda: to_ldp(TwoPartyProtocol(asking(RR)), R, -1), "users"),
        (lambda: to_ldp_rounds(RoundProtocol(asking(RR)), R, 1, -1), "users"),
        (lambda: announce_both(2, 4, R, 2), "copies"),
        (lambda: announce_users(4, 16, R, -1), "target"),
        (lambda: plan_coded(4, 16, R, 1), "target"),
        (lambda: plan_blocks(4, 16, R, math.nan), "target"),
        (lambda: plan_separate(4, R, 0), "target"),
        (lambda: plan_random_leaf(4, R, -1), "target"),
        (lambda: plan_coded(4, 16, Fraction(1)), "ratio"),
        (lambda: plan_separate(4, Fraction(1)), "ratio"),
        (lambda: together_users(4, 16, Fraction(1)), "ratio"),
        (lambda: majority_users(Fraction(1)), "ratio"),
        (lambda: stage_users(4, (Fraction(1, 2), Fraction(1, 2))), "ratio"),
        (lambda: price_of_interaction(2, math.inf), "epsilon"),
        (lambda: classical_sigma(0, 1e-5), "epsilon"),
        (lambda: classical_sigma(1, 0), "delta"),
        (lambda: classical_sigma(1, 1.0), "delta"),
        (lambda: respond(Y, [[1], [2], [3]], rng=0), "epsilons"),
        (lambda: respond(Y, [1, 2], rng=0), "epsilons"),
        (lambda: respond(Y, {1, 2, "x"}, rng=0), "epsilons"),
        (lambda: respond([[1], [1, -1]], 1, rng=0), "y"),
        (lambda: respond(7, 1, rng=0), "y"),
        (lambda: mean_estimate(X, Y, 1, sampler=np.random.default_rng(0)), "sampler"),
        (lambda: mean_estimate(X, Y, 1, sampler=7), "sampler"),
        (lambda: logistic_estimate(X, Y, 3, rng=0), "mechanism"),
        (lambda: DuchiBall(10**400, 1), "d"),
        (lambda: CapIndex(((1.0,),), 1, R), "k"),
    ],
)
def test_misuse_ends_in_a_sentence_that_names_the_argument(call, name):
    """No call ends in a foreign error, and none in an endless search."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()


PLANE = [
    (math.nan, 0.0), (math.inf, -math.inf), (math.inf, 1.0), (1e308, 1e308), (-1e308, 1e308), (5e-324, 0.0),
    (10**400, -1), np.array([0.3, math.nan]),
]  # fmt: skip
CAP = CapIndex(((1.0, 1.0), (1.0, -1.0), (-1.0, 0.5)), 1, R)


@pytest.mark.parametrize("kernel", [SideBit((1.0, 1.0), R), SideBit((math.inf, math.nan), R), CAP])
def test_vector_kernels_answer_for_every_vector(kernel):
    """NaN, infinite and overflowing vectors are answered within the ratio; no error tells about them."""
    assert kernel.worst_ratio([*PLANE, (0.0, 0.0), (1.0, 0.0), (-1.0, 0.0)]) <= R
    for x in ((1.0,), (1.0, 2.0, 3.0), None, "ab", (1.0, "a"), (1.0, None), 5):
        with pytest.raises(
            ArgumentError, match=r"Argument 'x' must be a vector of 2 numbers, not something else\."
        ):
            kernel.weights(x)


def test_only_the_secure_sampler_makes_a_release():
    """Dice that claim to be no simulation, but are not the secure ones, make a simulation."""

    class Claimed(SimSampler):
        simulated = False

    for sampler, simulated in ((Claimed(0), True), (SimSampler(0), True), (SecureSampler(), False)):
        assert mean_estimate(X, Y, 1, sampler=sampler).simulated is simulated
        assert mean_estimate(X, Y, 1, sampler=sampler, caps=4).simulated is simulated
        assert mean_estimate(X, Y, 1, sampler=sampler, delta="1e-5").simulated is simulated
        assert respond(Y, 1, sampler=sampler).simulated is simulated


@pytest.mark.parametrize("options", [{}, {"caps": 4}, {"delta": "1e-5"}])
@pytest.mark.parametrize("rows", [[[0.7]], [[0.0]], [[0.6, 0.8]] * 2, [[0.0, 0.0]]])
def test_smallest_cases_are_released(rows, options):
    """One user, one dimension, zero rows and equal users: a unit vector comes back."""
    found = mean_estimate(rows, [1] * len(rows), 1, sampler=SecureSampler(), **options)
    assert found.n == len(rows)
    assert np.linalg.norm(found.weights) == pytest.approx(1)
    assert GeneralisedRR(1, R).law(0) == {0: 1}
