"""Planted faults of local protocols: accounts that could be cheated, data within reach, refused rounds."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, BudgetError, CertificateError, GeomdpError, ProtocolError
from geomdp.local.account import Composition, OneYes, Realised
from geomdp.local.audits import fixed_coins, layers
from geomdp.local.finite import odds
from geomdp.local.hidden_baselines import announce_both, announce_shape, together_success, together_users
from geomdp.local.hidden_layers import HiddenLayers
from geomdp.local.kernels import RandomisedResponse, Scope, Table, YesNo
from geomdp.local.models import FullyInteractive, NonInteractive, Sequential
from geomdp.local.protocol import Ask, Coin, DataAccessError, Inputs, run
from geomdp.local.verify import exact_loss
from geomdp.local.votes import both_majority_success, exact_both_majority_success, majority_success

FI, RR = FullyInteractive(), RandomisedResponse(Fraction(2))
SUE = YesNo.symmetric(Fraction(2))


def test_changing_readers_cost_more_than_the_certificate_and_are_refused():
    """A level reader that agrees with every question makes an input say yes each time: loss 16, refused."""

    def changing():
        for level in range(4):
            question = SUE.at(Scope(level, "r", 0), lambda x, level=level: level, lambda x, place: x)
            yield Ask(((0, question),))

    assert exact_loss(changing, 0, [0, 1], {}, FI).ratio == 16
    account = OneYes()
    with pytest.raises(CertificateError, match="same two functions"):
        run(changing, [0], FI, rng=0, accountants=[account])
    assert account.certificate(0) == SUE.pair_ratio == 4


def test_a_scope_without_its_predicate_cannot_be_stated():
    """A scope is set by `at` alone: the constructor takes none, and a subclass of YesNo is not trusted."""
    with pytest.raises(TypeError):
        YesNo(Fraction(2, 3), Fraction(1, 3), lambda x: x == 0, Scope(0, "r", 0))

    class Bent(YesNo):
        def weights(self, x):
            return (1, 2) if x else (2, 1)

    bent = Bent(Fraction(2, 3), Fraction(1, 3))
    object.__setattr__(bent, "scope", Scope(0, "r", 0))
    with pytest.raises(CertificateError, match="must be YesNo"):
        OneYes().before(0, bent)


class _Holder:
    def __init__(self, data):
        self.data = data


DATA = [0, 1, 1, 0]
SEEN = []


def _boxed(box):
    def steps():
        yield Ask.each(range(4), RR)
        return box

    return steps


@pytest.mark.parametrize("wrap", [_Holder, lambda d: {"d": d}, lambda d: [(d,)], lambda d: {1: _Holder([d])}])
@pytest.mark.parametrize("seal", [list, Inputs])
def test_data_in_a_container_or_an_attribute_are_found(wrap, seal):
    """Dicts, lists, tuples and attributes do not hide the data, nor does sealing them first."""
    given = Inputs(DATA) if seal is Inputs else DATA
    with pytest.raises(DataAccessError):
        run(_boxed(wrap(DATA)), given, NonInteractive(), rng=0)
    assert run(_boxed(wrap(list(DATA))), given, NonInteractive(), rng=0).messages == 4  # a copy: not caught


def test_statistics_may_not_hold_the_data():
    """A kernel made for each user that looks its answer up in the data is refused."""
    data = [0, 1, 1, 0]

    def make(rows):
        def steps():
            yield Ask.each(range(4), lambda u: RandomisedResponse(Fraction(2), lambda x: rows[u]))

        return steps

    holder = make(data)
    with pytest.raises(DataAccessError):
        run(holder, data, NonInteractive(), rng=0)
    with pytest.raises(DataAccessError):
        run(holder, Inputs(data), NonInteractive(), rng=0)


def _spy(x):
    SEEN.append(x)
    return x


def _peeks():
    yield Ask.each([0], RandomisedResponse(Fraction(2), _spy))
    if SEEN and SEEN[-1]:
        yield Coin(2)


def test_statistics_with_a_memory_are_caught():
    """A statistic that writes inputs down is stopped in a run, and shows in an exact verification."""
    with pytest.raises(DataAccessError, match="write down"):
        run(_peeks, [0], NonInteractive(), rng=0)
    with pytest.raises(ProtocolError):
        exact_loss(_peeks, 0, [0, 1], {}, NonInteractive())


def test_a_refused_round_charges_nobody():
    """If one question of a round is refused, no accountant has charged any question of it."""
    first, second, one = Composition([0, 1]), Composition([0, 1], epsilon=1), OneYes()
    kernel = SUE.at(Scope(0, "v", 1), level=lambda x: 0, label=lambda x, place: x)
    second.before(1, RandomisedResponse(odds("0.6")))

    def steps():
        yield Ask(((0, kernel), (1, kernel)))

    with pytest.raises(BudgetError):
        run(steps, [0, 1], NonInteractive(), rng=0, accountants=[first, one, second])
    assert first.ratio(0) == second.ratio(0) == one.certificate(0) == 1
    assert not list(first.users())
    assert not list(one.users())
    assert second.ratio(1) == odds("0.6")


def test_inputs_outside_the_declared_domain_are_refused():
    """A loss over a domain says nothing about other inputs: the run is refused before any answer."""
    table = Table(("a", "b"), {0: (1, 1), 1: (1, 1), 2: (1, 0)})

    def steps():
        yield Ask(((0, table),))

    for account in (Composition([0, 1]), Realised([0, 1])):
        with pytest.raises(ArgumentError, match="Argument 'data'"):
            run(steps, [2], NonInteractive(), rng=0, accountants=[account])
        run(steps, [1], NonInteractive(), rng=0, accountants=[account])


def test_rounds_and_dice_are_checked_and_kept():
    """Queries and weights are copied; whatever is no pair, no kernel or no integer is refused by name."""
    queries = [(0, RR)]
    ask = Ask(queries)
    queries.append((0, RR))
    assert ask.queries == ((0, RR),)
    for bad in (((0.0, RR),), ((0, 5),), (3,), 3):
        with pytest.raises(ArgumentError, match="Argument 'queries'"):
            Ask(bad)
    for weights in ((0.5, 0.5), (1, "2"), 3, (float("nan"), 1)):
        with pytest.raises(ArgumentError, match="Argument 'weights'"):
            Coin(2, weights)
    assert Coin(2, [3, np.int64(1)]).weights == (3, 1)


def test_models_are_strictly_ordered():
    """A < b holds if b allows more."""
    assert NonInteractive() < Sequential() < FI
    assert not NonInteractive() < Sequential(rounds=1)
    assert not FullyInteractive() > FI


@pytest.mark.parametrize("users", [1, 3, 5, 9])
def test_one_cohort_carries_a_bit_of_each_role(users):
    """The law of two shared majorities agrees with Fractions, and stays below two independent ones."""
    ratio = Fraction(3)
    exact = exact_both_majority_success(users, ratio)
    assert both_majority_success(users, ratio) == pytest.approx(float(exact), abs=1e-12)
    assert exact <= majority_success(users, ratio) ** 2 + 1e-12
    with pytest.raises(ArgumentError):
        both_majority_success(users + 1, ratio)


def test_announcing_together_costs_one_answer():
    """The loss of a user is log(ratio), role included, and a sure cohort always finds a leaf."""
    ratio = Fraction(3)
    assert announce_shape(2, 4) == (1, 2)
    inputs = layers(2, 2)
    losses = []
    for user in range(3):
        others = {v: inputs[0] for v in range(3) if v != user}
        protocol = fixed_coins(announce_both(2, 4, ratio, 1), 1)
        losses.append(exact_loss(protocol, user, inputs, others, Sequential(), recheck=False).ratio)
    assert max(losses) == ratio
    copies, (shared, alone) = 41, announce_shape(4, 11)
    for key in range(3):
        instance = HiddenLayers.draw(4, 11, key)
        users = instance.users(["Alice", "Bob"] * ((shared + alone) * copies // 2 + 1))
        answer = run(announce_both(4, 11, Fraction(10**9), copies), users, Sequential(), rng=key).answer
        assert instance.accepts(answer)


def test_together_users_are_the_least_that_reach_the_target():
    """Two users less per cohort miss the target; sharing saves almost half at large depth."""
    ratio = odds(1)
    cohorts = sum(announce_shape(16, 2**16))
    copies = together_users(16, 2**16, ratio) // cohorts
    assert together_success(16, 2**16, ratio, copies) >= 0.9 > together_success(16, 2**16, ratio, copies - 2)


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["local.md", "interaction.md"])
def test_snippets_of_the_documentation_run_on_their_own(page):
    """Each code block of a page runs in a fresh namespace."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block.replace("40_000", "2_000"), page, "exec"), {})  # noqa: S102 - our own pages
    assert issubclass(DataAccessError, GeomdpError)
