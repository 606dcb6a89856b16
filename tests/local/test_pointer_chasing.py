"""Pointer chasing: protocols with k and k - 1 rounds, their exact success, and what a round is worth."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.finite import odds
from geomdp.local.hidden_layers import fair_roles
from geomdp.local.models import InteractionError, NonInteractive, Sequential
from geomdp.local.pointer_chasing import (
    EarlyPlan,
    Pointers,
    bit_success,
    bit_users,
    chase_bits,
    chase_early,
    chase_rounds,
    chase_success,
    code_users,
    early_success,
    early_users,
    plan_early,
    rounds_users,
    simulate_chase,
)
from geomdp.local.protocol import run
from geomdp.local.signs import Signs
from geomdp.local.transcripts import answer_law
from geomdp.local.votes import code_rates, exact_stage_success, stage_success

SURE = Fraction(10**12)


def _chase(a, b, k):
    """The definition, step by step."""
    place, found = 0, []
    for step in range(k):
        place = (a, b)[step % 2][place]
        found.append(place)
    return tuple(found)


def test_the_chase_follows_the_definition():
    """The reference follows Alice's and Bob's pointers in turn, on all vectors of three entries."""
    vectors = list(itertools.product(range(3), repeat=3))
    for a, b in itertools.product(vectors, repeat=2):
        assert Pointers(a, b).chase(4) == _chase(a, b, 4)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_without_noise_every_protocol_finds_the_pointers(k):
    """With certain answers all three protocols agree with the reference, in k or k - 1 rounds."""
    for key in range(6):
        instance = Pointers.draw(4, key)
        expected = instance.chase(k)
        inputs = instance.users(fair_roles(1200, np.random.default_rng(key)))
        result = run(chase_rounds(k, 4, 120, SURE), inputs, Sequential(rounds=k), rng=key)
        assert (result.answer, result.rounds) == (expected, k)
        result = run(chase_bits(k, 4, 120, SURE), inputs, Sequential(rounds=k), rng=key)
        assert (result.answer, result.rounds) == (expected, k)
        for block in (1, 2, 3, 4) if k > 1 else ():
            plan = EarlyPlan(120, 200, block)
            protocol = chase_early(k, 4, plan, SURE)
            result = run(protocol, inputs, Sequential(rounds=k - 1), rng=key)
            assert (result.answer, result.rounds, result.messages) == (expected, k - 1, plan.total(k, 4))


class SignTable(Signs):
    """Signs for two candidates, given user by user."""

    def __init__(self, rows):
        super().__init__(0)
        object.__setattr__(self, "rows", rows)

    def _bytes(self, stage, user, size):
        return bytes([self.rows[user]])


@pytest.mark.parametrize("users", [1, 2])
def test_the_protocols_law_is_the_average_over_signs(users, monkeypatch):
    """Averaged over all sign tables, the enumerated success of a round is the exact formula's, l = 2."""
    ratio, instance, total = Fraction(3), Pointers((1, 0), (0, 0)), Fraction(0)
    for rows in itertools.product(range(4), repeat=users):
        monkeypatch.setattr("geomdp.local.signs.Signs", lambda key, rows=rows: SignTable(rows))
        protocol = chase_rounds(1, 2, users, ratio, key=0)
        law = answer_law(protocol, [instance.users(["Alice", "Bob"])] * users, NonInteractive())
        total += law.get((1,), Fraction(0)) / 4**users
    assert total == exact_stage_success(users, 2, code_rates(ratio))


def test_cohorts_find_pointers_as_often_as_computed():
    """Protocol and simulation find all pointers at the exact rate, within 4 standard errors."""
    ratio, size, users, rng = Fraction(8), 8, 40, np.random.default_rng(1)
    exact = chase_success(2, size, users, ratio)
    protocol, simulated = [], []
    for key in range(150):
        instance = Pointers.draw(size, key)
        inputs = instance.users(fair_roles(2 * users, rng))
        answer = run(chase_rounds(2, size, users, ratio), inputs, Sequential(), rng=key).answer
        protocol.append(answer == instance.chase(2))
        simulated += [
            simulate_chase(instance, 2, [users] * 2, ratio, rng) == instance.chase(2) for _ in range(8)
        ]
    for wins in (protocol, simulated):
        assert abs(np.mean(wins) - exact) < 4 * math.sqrt(exact * (1 - exact) / len(wins))


def test_asking_in_advance_finds_pointers_as_often_as_computed():
    """The protocol with one round less succeeds with the product of its two cohorts' exact rates."""
    ratio, size, rng = Fraction(8), 4, np.random.default_rng(2)
    for plan in (EarlyPlan(30, 30, 1), EarlyPlan(30, 50, 2)):
        rates = code_rates(ratio)
        exact = stage_success(30, size, rates) * stage_success(plan.last, size**plan.block, rates)
        wins = []
        for key in range(150):
            instance = Pointers.draw(size, key)
            inputs = instance.users(fair_roles(plan.total(2, size), rng))
            answer = run(chase_early(2, size, plan, ratio), inputs, NonInteractive(), rng=key).answer
            wins.append(answer == instance.chase(2))
        assert abs(np.mean(wins) - exact) < 4 * math.sqrt(exact * (1 - exact) / len(wins))


def test_bits_are_read_as_often_as_computed():
    """The bitwise protocol has the exact law of its majorities: enumeration for l = 4, one user per bit."""
    ratio = Fraction(3)
    instance = Pointers((2, 0, 1, 3), (0, 0, 0, 0))
    for users in (1, 2, 3, 4):
        population = [instance.users(["Alice", "Bob"])] * users
        law = answer_law(chase_bits(1, 4, users, ratio), population, NonInteractive())
        assert abs(bit_success(users, 4, ratio) - law[2,]) < 1e-14


@pytest.mark.parametrize("size", [16, 64, 256, 1024])
@pytest.mark.parametrize("epsilon", [1, 2])
def test_a_round_is_worth_a_factor_of_l_over_4(size, epsilon):
    """With one round less at least l/4 times as many users are needed, in the best plan with blocks too."""
    ratio = odds(epsilon)
    assert early_users(2, size, ratio) >= size / 4 * rounds_users(2, size, ratio)
    single = plan_early(2, size, ratio, most_bits=0)
    assert single.total(2, size) == (1 + size) * code_users(size, ratio)
    assert plan_early(2, size, ratio).total(2, size) <= single.total(2, size)


def test_users_grow_with_the_logarithm_of_l():
    """With k rounds the users per pointer grow like log l; bit by bit they grow faster."""
    ratio = odds(1)
    codes = [code_users(4**j, ratio) for j in range(1, 6)]
    bits = [bit_users(4**j, ratio) for j in range(1, 6)]
    assert codes[4] - codes[3] < codes[1] - codes[0]
    assert [n > m for n, m in zip(bits, codes, strict=True)] == [False, True, True, True, True]
    assert all(
        bit_success(n, 4**j, ratio) >= 0.95 > bit_success(n - 1, 4**j, ratio) for j, n in enumerate(bits, 1)
    )


def test_the_budget_of_k_rounds_is_useless_with_one_less():
    """With the users of the two-round protocol, no split lets one round succeed with a fair probability."""
    for size, most in ((16, 0.3), (64, 0.06), (256, 0.01)):
        budget = rounds_users(2, size, odds(1))
        assert chase_success(2, size, budget // 2, odds(1)) > 0.9
        assert early_success(2, size, budget, odds(1)) < most
    enough = early_users(2, 16, odds(1))
    assert early_success(2, 16, enough, odds(1)) >= 0.9


def test_rounds_are_counted():
    """The k-round protocol is refused with k - 1 rounds, and the early one with fewer than k - 1."""
    inputs = Pointers.draw(3, 0).users(["Alice", "Bob"] * 20)
    with pytest.raises(InteractionError):
        run(chase_rounds(2, 3, 4, SURE), inputs, NonInteractive(), rng=0)
    with pytest.raises(InteractionError):
        run(chase_early(3, 3, EarlyPlan(4, 4), SURE), inputs, NonInteractive(), rng=0)


def test_degenerate_sizes():
    """Vectors of one entry, one user and one pointer are the boundary, and work."""
    instance = Pointers((0,), (0,))
    inputs = instance.users(["Bob"] * 3)
    assert run(chase_rounds(2, 1, 1, Fraction(1)), inputs, Sequential(), rng=0).answer == (0, 0)
    early = chase_early(2, 1, EarlyPlan(1, 1, 1), Fraction(2))
    assert run(early, inputs, NonInteractive(), rng=0).answer == (0, 0)
    assert code_users(1, odds(1)) == 1
    assert simulate_chase(instance, 1, [1], Fraction(2), np.random.default_rng(0)) == (0,)


def test_bad_arguments_are_refused():
    """Pointers outside the vector, empty vectors, too small k, sizes and odds end in a sentence."""
    with pytest.raises(ArgumentError):
        Pointers((0, 2), (0, 0))
    with pytest.raises(ArgumentError, match="common length"):
        Pointers((0, 0), (0,))
    with pytest.raises(ArgumentError, match="common length"):
        Pointers((), ())
    with pytest.raises(ArgumentError, match="'k'"):
        chase_early(1, 2, EarlyPlan(1, 1), SURE)
    with pytest.raises(ArgumentError, match="'ratio'"):
        chase_rounds(2, 2, 1, Fraction(1, 2))
    with pytest.raises(ArgumentError, match="'size'"):
        chase_bits(1, 1, 1, SURE)
    with pytest.raises(ArgumentError, match="cohort sizes"):
        simulate_chase(Pointers((0,), (0,)), 2, [1], SURE, np.random.default_rng(0))
