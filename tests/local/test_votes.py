"""Votes of noisy users: exact success probabilities against brute force, and least numbers of users."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.local.finite import odds
from geomdp.local.kernels import YesNo
from geomdp.local.votes import (
    both_success,
    both_users,
    code_rates,
    exact_both_success,
    exact_stage_success,
    least_users,
    majority_success,
    majority_users,
    stage_success,
    stage_users,
    vote_rates,
)

RATES = [
    code_rates(Fraction(3)),
    vote_rates(YesNo.symmetric(Fraction(2))),
    vote_rates(YesNo.unary(Fraction(4))),
    (Fraction(1), Fraction(0)),
    (Fraction(1, 3), Fraction(1, 3)),
]


def _brute_force(users, size, rates, roles):
    """P(candidate 0 wins), over all answers of all users about all candidates."""
    own, other = rates
    total = Fraction(0)
    for bits in itertools.product((0, 1), repeat=users * size):
        chance = Fraction(1)
        for place, bit in enumerate(bits):
            user, candidate = divmod(place, size)
            p = own if candidate == 0 and roles[user] else other
            chance *= p if bit else 1 - p
        counts = [sum(bits[c::size]) for c in range(size)]
        if counts[0] == max(counts):
            total += chance / counts.count(max(counts))
    return total


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize(("users", "size"), [(0, 3), (1, 2), (2, 2), (2, 3), (3, 2), (1, 4), (4, 1)])
def test_success_is_the_sum_over_all_roles_and_answers(rates, users, size):
    """The formulas for one vote and for two agree with the enumeration of roles and answers, exactly."""
    one, two = Fraction(0), Fraction(0)
    for roles in itertools.product((0, 1), repeat=users):
        mine = _brute_force(users, size, rates, roles)
        one += mine / 2**users
        two += mine * _brute_force(users, size, rates, [1 - r for r in roles]) / 2**users
    assert exact_stage_success(users, size, rates) == one
    assert exact_both_success(users, size, rates) == two


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_floats_agree_with_fractions(rates, size):
    """The stable float formulas are right to 1e-12."""
    for users in (0, 1, 2, 5, 9):
        assert abs(stage_success(users, size, rates) - exact_stage_success(users, size, rates)) < 1e-12
        assert abs(both_success(users, size, rates) - exact_both_success(users, size, rates)) < 1e-12


def test_the_tail_does_not_cancel():
    """With a million candidates the float formula keeps nine digits; a difference of powers loses them."""
    users, size, rates = 40, 2**20, (Fraction(9, 10), Fraction(1, 10))
    own, other = rates
    right, wrong = (own + other) / 2, other
    total, below = Fraction(0), Fraction(0)
    for x in range(users + 1):
        f = math.comb(users, x) * wrong**x * (1 - wrong) ** (users - x)
        above = below + f
        win = (_power(above, size) - _power(below, size)) / (size * f)
        total += math.comb(users, x) * right**x * (1 - right) ** (users - x) * win
        below = above
    assert abs(stage_success(users, size, rates) / float(total) - 1) < 1e-9


def _power(base, exponent, bits=400):
    """base^exponent, truncated to multiples of 2^-400 at each step."""
    unit = 1 << bits
    result, square = unit, int(base * unit)
    while exponent:
        if exponent & 1:
            result = result * square >> bits
        square = square * square >> bits
        exponent >>= 1
    return Fraction(result, unit)


def test_signs_make_votes():
    """One bit per user under random signs gives counts with rates ratio/(1 + ratio) and 1/2: enumeration."""
    keep = Fraction(3, 4)
    for size in (2, 3):
        total = Fraction(0)
        users = 2
        for roles in itertools.product((0, 1), repeat=users):
            for signs in itertools.product((0, 1), repeat=users * size):
                for bits in itertools.product((0, 1), repeat=users):
                    chance = Fraction(1, 2**users * 2 ** (users * size))
                    for user, bit in enumerate(bits):
                        right = keep if bit == signs[user * size] else 1 - keep
                        chance *= right if roles[user] else Fraction(1, 2)
                    scores = [sum(bits[u] == signs[u * size + c] for u in range(users)) for c in range(size)]
                    if scores[0] == max(scores):
                        total += chance / scores.count(max(scores))
        assert total == exact_stage_success(users, size, code_rates(Fraction(3)))


def test_a_majority_is_a_vote_of_independent_bits():
    """The majority's success is the binomial sum; an even number is worth one user less."""
    right = (Fraction(3, 4) + Fraction(1, 2)) / 2
    for users in range(8):
        exact = Fraction(0)
        for bits in itertools.product((0, 1), repeat=users):
            chance = math.prod((right if bit else 1 - right for bit in bits), start=Fraction(1))
            exact += chance * (1 if 2 * sum(bits) > users else Fraction(int(2 * sum(bits) == users), 2))
        assert abs(majority_success(users, Fraction(3)) - exact) < 1e-14


def test_least_numbers_are_least():
    """At the returned number the target is reached, below it is not, for every kind of vote."""
    rates = code_rates(odds(1))
    for size in (2, 16, 2**20):
        n = stage_users(size, rates)
        assert stage_success(n, size, rates) >= 0.95 > stage_success(n - 1, size, rates)
    n = both_users(16, rates)
    assert both_success(n, 16, rates) >= 0.9 > both_success(n - 1, 16, rates)
    n = majority_users(odds(1), 0.99)
    assert majority_success(n, odds(1)) >= 0.99 > majority_success(n - 1, odds(1))


def test_a_vote_simulated_by_signs_wins_as_often_as_computed():
    """Among 1000 candidates, simulated signs and answers win at the exact rate, within 4 standard errors."""
    rng, users, size, runs = np.random.default_rng(1), 150, 1000, 400
    keep = float(code_rates(Fraction(8))[0])
    wins = 0.0
    for _ in range(runs):
        signs = rng.integers(0, 2, (users, size), dtype=np.uint8)
        knows, kept = rng.random(users) < 0.5, rng.random(users) < keep
        bits = np.where(knows, signs[:, 0] ^ ~kept, rng.integers(0, 2, users))
        scores = (signs == bits.reshape(-1, 1)).sum(axis=0)
        wins += (scores[0] == scores.max()) / (scores == scores.max()).sum()
    exact = stage_success(users, size, code_rates(Fraction(8)))
    assert abs(wins / runs - exact) < 4 * math.sqrt(exact * (1 - exact) / runs)


def test_bad_arguments_are_refused():
    """Targets outside (0, 1), swapped rates and unreachable targets end in a sentence."""
    with pytest.raises(ArgumentError, match="target"):
        least_users(lambda n: 1.0, 1)
    with pytest.raises(ArgumentError, match="rates"):
        stage_success(3, 2, (Fraction(1, 3), Fraction(1, 2)))
    with pytest.raises(CapacityError, match="within reach"):
        least_users(lambda n: 0.5, 0.9, most=1000)
