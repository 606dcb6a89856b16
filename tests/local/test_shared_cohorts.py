"""One cohort for a message of each role: its exact law, and the protocols that use it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from geomdp.local.finite import odds
from geomdp.local.hidden_baselines import announce_shape, plan_coded, together_users
from geomdp.local.hidden_blocks import announce_blocks, plan_blocks
from geomdp.local.hidden_layers import ALICE, BOB, HiddenLayers, fair_roles
from geomdp.local.hidden_leaves import SplitPlan, plan_separate, separate
from geomdp.local.hidden_messages import ask_both, ask_coded
from geomdp.local.models import NonInteractive, Sequential
from geomdp.local.protocol import run
from geomdp.local.transcripts import answer_law
from geomdp.local.votes import (
    both_success,
    code_rates,
    exact_both_success,
    exact_stage_success,
    majority_users,
    shared_users,
    stage_users,
)

R = Fraction(3)


class _Listed:
    """Public signs from a table, in place of a hash: (stage, user) -> row."""

    def __init__(self, rows):
        self.rows = rows

    def row(self, stage, user, size):
        return self.rows[stage, user] & (1 << size) - 1

    def scores(self, stage, users, size, bits):
        return [
            sum((self.rows[stage, u] >> c & 1) == b for u, b in zip(users, bits, strict=True))
            for c in range(size)
        ]


@pytest.mark.parametrize("users", [1, 2])
def test_two_messages_of_one_cohort_have_the_law_of_two_votes(users):
    """Over all signs, roles and answers, both messages are right with exactly the stated probability."""
    keys = [(stage, user) for stage in (0, 1) for user in range(users)]
    sent, total = {ALICE: 1, BOB: 0}, Fraction(0)
    for rows in itertools.product(range(4), repeat=len(keys)):
        signs = _Listed(dict(zip(keys, rows, strict=True)))

        def steps(signs=signs):
            read = yield from ask_both(
                signs,
                0,
                range(users),
                sizes=dict.fromkeys(sent, 2),
                messages=dict.fromkeys(sent, lambda x: x[1]),
                ratio=R,
            )
            return tuple(read.items())

        law = answer_law(steps, [list(sent.items())] * users, NonInteractive())
        total += law.get(tuple(sent.items()), Fraction(0)) / 4 ** len(keys)
    assert total == exact_both_success(users, 2, code_rates(R))


def test_a_single_message_has_the_law_of_one_vote():
    """The same for a role alone: users of the other role send fair coins."""
    total = Fraction(0)
    for rows in itertools.product(range(8), repeat=2):
        signs = _Listed({(0, user): row for user, row in enumerate(rows)})

        def steps(signs=signs):
            return (
                yield from ask_coded(signs, 0, range(2), size=3, role=ALICE, message=lambda x: x[1], ratio=R)
            )

        law = answer_law(steps, [[(ALICE, 2), (BOB, 0)]] * 2, NonInteractive())
        total += law.get(2, Fraction(0)) / 64
    assert total == exact_stage_success(2, 3, code_rates(R))


@pytest.mark.parametrize(("size", "each"), [(2, 0.9), (16, 0.95), (64, 0.99)])
def test_a_shared_cohort_costs_hardly_more_than_a_single_one(size, each):
    """The joint success is below the product, the cohort at least a single vote's, and a few users more."""
    rates = code_rates(R)
    n = shared_users(size, rates, each)
    assert stage_users(size, rates, each) <= n <= stage_users(size, rates, each) + 5
    assert both_success(n, size, rates) >= each**2
    small = exact_both_success(6, 4, rates)
    assert small <= exact_stage_success(6, 4, rates) ** 2


def test_announcing_in_blocks_succeeds_as_often_as_computed():
    """Both layers in a block code, on shallow and deep trees, uniform and adjacent layers."""
    ratio, rng = Fraction(20), np.random.default_rng(6)
    for arity, depth, runs in ((4, 40, 10), (3, 2**70, 3), (1, 7, 3)):
        plan, wins = plan_blocks(arity, depth, ratio), []
        for key in range(runs):
            draw = HiddenLayers.adjacent if key % 2 else HiddenLayers.draw
            instance = draw(arity, depth, key)
            inputs = instance.users(fair_roles(plan.users, rng))
            result = run(announce_blocks(arity, depth, ratio, plan), inputs, Sequential(), rng=key)
            assert result.messages == plan.users
            wins.append(instance.accepts(result.answer))
        assert plan.success >= 0.9
        assert np.mean(wins) > plan.success - 4 * math.sqrt(0.09 / len(wins))


def test_blocks_beat_bits_and_lists_where_trees_are_shallow():
    """At epsilon = 1 blocks with shared cohorts need the fewest users up to arity 2^6, one layer beyond."""
    ratio = odds(1)
    for m in (2, 4, 6):
        blocks = plan_blocks(2**m, 2**2**m, ratio).users
        assert blocks < plan_coded(2**m, 2**2**m, ratio).users
        assert blocks < together_users(2**m, 2**2**m, ratio)
    assert plan_coded(2**8, 2**2**8, ratio).users < plan_blocks(2**8, 2**2**8, ratio).users
    assert sum(announce_shape(16, 2**16)) == 23


def test_separating_shares_its_first_cohort():
    """One cohort for the leading bits of both: below 0.45 of a cohort for each bit of each role."""
    ratio = odds(1)
    for m in (2, 4, 8):
        plan = plan_separate(2**m, ratio)
        assert plan.users == plan.voters + 2 * plan.namers
        assert plan.success >= 0.9
        right = both_success(plan.voters, 1 << plan.bits, code_rates(ratio))
        assert plan.voters < 0.45 * 2 * plan.bits * majority_users(ratio, right ** (1 / (2 * plan.bits)))


def test_separating_finds_every_leaf_when_nothing_is_misheard():
    """With sure answers a leaf is right, and there is none exactly if the leading bits agree."""
    plan = SplitPlan(6, 301, 96, 301, 903, 0.0)
    for key in range(6):
        for draw in (HiddenLayers.draw, HiddenLayers.adjacent):
            for depth in (2, 5, 2**60):
                instance = draw(3, depth, key)
                users = instance.users([ALICE, BOB] * (plan.users // 2 + 1))
                leaf = run(separate(3, depth, Fraction(10**9), plan), users, Sequential(), rng=key).answer
                shift = max((depth - 1).bit_length() - plan.bits, 0)
                same = instance.alice.level >> shift == instance.bob.level >> shift
                assert leaf is None if same else instance.accepts(leaf)
