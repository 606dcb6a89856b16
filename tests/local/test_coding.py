"""Coding over a noisy channel: binomial tails by Fractions, majorities, and the walk that backtracks."""

import itertools
import math
from fractions import Fraction

import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.local.coding import (
    CodingPlan,
    amplify,
    binomial_tail,
    majority_error,
    plan_majority,
    plan_walk,
    repetitions,
    walk,
    walk_failure,
    walk_steps,
)
from geomdp.local.finite import odds
from geomdp.local.models import FullyInteractive, Sequential
from geomdp.local.protocol import Coin, run
from geomdp.local.transcripts import answer_law
from geomdp.local.twoparty import ALICE, BOB, BSC, Bit, TwoPartyProtocol, over_bsc, to_ldp

FI = FullyInteractive()
CHANCES = [Fraction(0), Fraction(1, 100), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def _brute(n, k, p):
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(k, 0), n + 1)), Fraction(0))


@pytest.mark.parametrize("p", CHANCES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
def test_tails_enclose_the_sum_of_fractions(n, p):
    """The enclosure holds the exact binomial tail and is at most 2^-200 wide, for every k."""
    for k in range(-1, n + 2):
        tail = binomial_tail(n, k, p)
        assert tail.lo <= _brute(n, k, p) <= tail.hi
        assert tail.hi - tail.lo < Fraction(1, 2**200)


@pytest.mark.parametrize(("n", "k", "p"), [(2001, 1001, 0.45), (2001, 700, 0.45), (5000, 40, 0.01)])
def test_tails_of_many_trials_agree_with_scipy(n, k, p):
    """Large tails agree with an independent implementation in floats."""
    from scipy.stats import binom

    assert abs(float(binomial_tail(n, k, Fraction(str(p))).lo) - binom.sf(k - 1, n, p)) < 1e-11


@pytest.mark.parametrize("crossover", [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)])
@pytest.mark.parametrize("error", ["0.3", "0.05", "0.001"])
def test_repetitions_are_the_least_odd_number(crossover, error):
    """Repetitions is the first odd n whose exact majority error meets the target."""
    exact = next(n for n in range(1, 999, 2) if _brute(n, (n + 1) // 2, crossover) <= Fraction(error))
    assert repetitions(crossover, error) == exact


def test_majorities_improve_with_copies():
    """The majority error strictly decreases in the odd number of copies below crossover 1/2."""
    errors = [majority_error(n, Fraction(2, 5)).hi for n in range(1, 40, 2)]
    assert all(a > b for a, b in itertools.pairwise(errors))
    assert majority_error(9, Fraction(1, 2)).lo <= Fraction(1, 2) <= majority_error(9, Fraction(1, 2)).hi


def pair():
    """Bob's bit depends on Alice's as it arrived, and on a public coin."""
    first = yield Bit(ALICE, lambda x: x)
    face = yield Coin(2)
    second = yield Bit(BOB, lambda y: y ^ first ^ face)
    return first, second ^ face


PAIR = TwoPartyProtocol(pair)
INPUTS = [(x, y) for x in (0, 1) for y in (0, 1)]


@pytest.mark.parametrize("copies", [1, 3])
def test_amplified_protocols_are_protocols_over_a_better_channel(copies):
    """Majorities of copies over crossover c have exactly the law of single bits over the majority error."""
    c = Fraction(1, 4)
    better = BSC(_brute(copies, (copies + 1) // 2, c))
    for x, y in INPUTS:
        population = [[(ALICE, x)], [(BOB, y)]]
        assert answer_law(over_bsc(amplify(PAIR, copies), BSC(c)), population, FI) == answer_law(
            over_bsc(PAIR, better), population, FI
        )


def test_amplified_local_protocols_reach_their_failure_bound():
    """Planned copies make a local run of two bits right with at least the planned probability."""
    channel = BSC.of_users(Fraction(9))
    plan = plan_majority(2, channel.crossover, "0.2")
    two = amplify(PAIR, plan.copies)
    right = 0
    for seed in range(100):
        roles = [(ALICE, 1) if (seed * 7 + u * u) % 5 % 2 else (BOB, 1) for u in range(plan.uses)]
        right += run(to_ldp(two, Fraction(9), plan.uses), roles, Sequential(), rng=seed).answer == (1, 0)
    assert right >= 70


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_the_walk_succeeds_at_least_as_often_as_its_bound(steps):
    """By enumeration over all errors, the walk ends right with probability at least 1 - walk_failure."""
    c = Fraction(1, 10)
    for x, y in INPUTS:
        noisy = over_bsc(walk(PAIR, steps, 1), BSC(c))
        law = answer_law(noisy, [[(ALICE, x)], [(BOB, y)]], FI)
        assert law[PAIR.noiseless(x, y)] >= 1 - walk_failure(2, steps, c)
        assert sum(law.values()) == 1


def _chain(steps, c):
    """P(right) of the walk on PAIR as a Markov chain on (rightness of each bit of the path, counter)."""
    law = {((), 0): Fraction(1)}
    for _ in range(steps):
        new = {}
        for (path, beyond), chance in law.items():
            silent = math.prod((1 - c if right else c for right in path), start=Fraction(1))
            back = (path, beyond - 1) if beyond else (path[:-1], 0)
            new[back] = new.get(back, 0) + chance * (1 - silent)
            if len(path) == 2:
                moves = {(path, beyond + 1): Fraction(1)}
            else:
                moves = {((*path, True), 0): 1 - c, ((*path, False), 0): c}
            for state, p in moves.items():
                new[state] = new.get(state, 0) + chance * silent * p
        law = new
    return sum(p for (path, _), p in law.items() if path == (True, True))


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_the_walk_is_the_markov_chain_of_its_description(steps):
    """The walk over a noisy channel ends right exactly as often as an independent Markov chain."""
    c = Fraction(1, 5)
    noisy = over_bsc(walk(PAIR, steps, 1), BSC(c))
    law = answer_law(noisy, [[(ALICE, 1)], [(BOB, 0)]], FI)
    assert law.get(PAIR.noiseless(1, 0), 0) == _chain(steps, c)


def test_more_steps_beat_the_bare_protocol():
    """Four steps of the walk over crossover 1/10 are more reliable than sending the two bits once."""
    population = [[(ALICE, 1)], [(BOB, 1)]]
    right = PAIR.noiseless(1, 1)
    bare = answer_law(over_bsc(PAIR, BSC(Fraction(1, 10))), population, FI)[right]
    assert answer_law(over_bsc(walk(PAIR, 6, 1), BSC(Fraction(1, 10))), population, FI)[right] > bare


def chain(depth):
    """Alternating bits, each a function of the input and of all bits so far."""

    def steps():
        path = []
        for t in range(depth):
            owner = (ALICE, BOB)[t % 2]
            path.append((yield Bit(owner, lambda x, t=t, p=tuple(path): (x >> t ^ sum(p)) & 1)))
        return tuple(path)

    return TwoPartyProtocol(steps)


def test_noiseless_walks_return_the_protocols_answer():
    """Without noise, T steps suffice and more do no harm; fewer leave the path incomplete."""
    protocol = chain(6)
    for x, y in [(11, 50), (63, 0)]:
        expected = protocol.noiseless(x, y)
        assert [walk(protocol, s, 1).noiseless(x, y) for s in (5, 6, 9)] == [None, expected, expected]


def test_planned_walks_meet_their_failure_bound():
    """A planned walk of 8 bits at failure 0.2 is right in at least 70 of 100 seeded runs."""
    channel, protocol = BSC(Fraction(1, 5)), chain(8)
    plan = plan_walk(8, channel.crossover, "0.2")
    coded = walk(protocol, plan.steps, plan.copies)
    expected = protocol.noiseless(77, 200)
    results = [coded.run(77, 200, channel, rng=seed) for seed in range(100)]
    assert sum(result.answer == expected for result in results) >= 70
    assert max(result.messages for result in results) <= plan.uses


def test_walk_steps_are_the_least_of_their_parity():
    """walk_steps is the first S = T, T + 2, ... whose exact binomial bound meets the target."""
    for bits, error in [(1, Fraction(1, 10)), (2, Fraction(0)), (5, Fraction(1, 10)), (20, Fraction(1, 6))]:
        good = (1 - error) ** 3
        exact = next(
            s for s in itertools.count(bits, 2) if 1 - _brute(s, -(-(s + bits) // 2), good) <= Fraction(1, 20)
        )
        assert walk_steps(bits, error, "0.05") == exact


def test_the_walk_wins_for_long_protocols_only():
    """At epsilon = 1 and failure 0.05, majorities need fewer uses for 64 bits and the walk for 1024."""
    from scipy.stats import binom

    c = BSC.of_users(odds(1)).crossover
    for bits in (64, 1024):
        plan = plan_majority(bits, c, "0.05")
        tail = [binom.sf((n - 1) // 2, n, float(c)) for n in (plan.copies - 2, plan.copies)]
        assert tail[0] > 0.05 / bits >= tail[1]
        assert plan == CodingPlan("majority", plan.copies, bits, bits * plan.copies)
        assert (plan.uses < plan_walk(bits, c, "0.05").uses) == (bits == 64)


def test_walks_refuse_private_coins():
    """A bit that its owner draws at random cannot be right or wrong: the walk refuses it by name."""

    def coin():
        yield Bit(ALICE, lambda x: Fraction(1, 2))

    with pytest.raises(ArgumentError, match="Argument 'send'"):
        walk(TwoPartyProtocol(coin), 2, 1).noiseless(0, 0, rng=1)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: repetitions(Fraction(1, 2), "0.1"), "crossover"),
        (lambda: repetitions(Fraction(2, 3), "0.1"), "crossover"),
        (lambda: repetitions(Fraction(1, 4), 0), "error"),
        (lambda: repetitions(Fraction(1, 4), Fraction(1, 2**201)), "error"),
        (lambda: majority_error(2, Fraction(1, 4)), "n"),
        (lambda: amplify(PAIR, 4), "copies"),
        (lambda: walk(PAIR, 3, 2), "copies"),
        (lambda: walk(PAIR, -1, 1), "steps"),
        (lambda: walk_steps(5, Fraction(1, 4), "0.1"), "error"),
        (lambda: walk_steps(5, Fraction(1, 10), 1), "failure"),
        (lambda: plan_walk(0, Fraction(1, 4), "0.1"), "bits"),
        (lambda: plan_majority(0, Fraction(1, 4), "0.1"), "bits"),
        (lambda: binomial_tail(-1, 0, Fraction(1, 4)), "n"),
        (lambda: binomial_tail(3, 1, Fraction(5, 4)), "p"),
    ],
)
def test_bad_arguments_are_named(make, name):
    """A bad parameter raises ArgumentError that names it."""
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.name == name


def test_hopeless_channels_are_refused():
    """A channel that needs more than 10^7 copies is refused at once."""
    with pytest.raises(CapacityError):
        repetitions(BSC.of_users(odds("0.000001")).crossover, "0.05")
