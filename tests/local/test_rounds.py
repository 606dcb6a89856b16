"""Round-preserving compilers: exact laws in both directions, rounds, bits and failures."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support.local import random_table

from geomdp.core.errors import ArgumentError, CapacityError, ProtocolError
from geomdp.local.coding import majority_error
from geomdp.local.elias import decode_elias, elias, elias_bits, proposals_for
from geomdp.local.finite import odds
from geomdp.local.kernels import GeneralisedRR, RandomisedResponse, Table
from geomdp.local.models import FullyInteractive, InteractionError, NonInteractive, Sequential
from geomdp.local.protocol import Ask, Coin, run
from geomdp.local.rejection import Rejection
from geomdp.local.rounds import (
    Message,
    Round,
    RoundProtocol,
    SentMessage,
    alternating,
    as_local,
    from_ldp_rounds,
    plan_rounds,
    rounds_failure,
    to_ldp_rounds,
    transcript_bits,
    turns,
)
from geomdp.local.transcripts import answer_law
from geomdp.local.twoparty import ALICE, BOB, BSC
from geomdp.local.verify import exact_loss

RATIO = Fraction(3)


def chase(size, k):
    """Simultaneous rounds of pointer chasing: in each round the owner of the next pointer names it."""

    def steps():
        place = 0
        for step in range(1, k + 1):
            role = ALICE if step % 2 else BOB
            (place,) = yield Round((Message(role, size, lambda v, p=place: v[p]),))
        return place

    return RoundProtocol(steps)


def exchange(rounds):
    """Both parties speak in each round; what they say depends on what was heard before."""

    def steps():
        heard = []
        for _ in range(rounds):
            key = sum(a + 2 * b for a, b in heard)
            pair = yield Round(
                (
                    Message(ALICE, 2, lambda x, key=key: (x >> key % 3) & 1),
                    Message(BOB, 2, lambda y, key=key: (y + key) & 1),
                )
            )
            heard.append(tuple(pair))
        return tuple(heard)

    return RoundProtocol(steps)


def test_a_noiseless_run_follows_the_pointers():
    """Without noise the round protocol gives the answer of the definition, in k rounds."""
    for a, b in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
        result = chase(3, 3).run(a, b, rng=0)
        assert (result.answer, result.rounds) == (a[b[a[0]]], 3)


def test_rounds_become_rounds_and_bits_arrive_with_the_exact_law():
    """With one copy per bit the answer has the law of independent flips at the users' crossover."""
    private = to_ldp_rounds(exchange(1), RATIO, 1, 2)
    population = [[(ALICE, 5), (BOB, 2)]] * 2
    law = answer_law(private, population, Sequential(rounds=1))
    c = BSC.of_users(RATIO).crossover
    sent = exchange(1).run(5, 2, rng=0).answer[0]
    for pair in itertools.product((0, 1), repeat=2):
        expected = math.prod((c if got != bit else 1 - c for got, bit in zip(pair, sent, strict=True)))
        assert law[(pair,)] == expected


def test_majorities_arrive_with_the_binomial_law():
    """With three copies a bit arrives wrong with the binomial probability of two or three flips."""
    private = to_ldp_rounds(chase(2, 1), RATIO, 3, 3)
    law = answer_law(private, [[(ALICE, (1, 0)), (BOB, (0, 0))]] * 3, NonInteractive())
    c = BSC.of_users(RATIO).crossover
    assert law[0] == 3 * c**2 * (1 - c) + c**3
    bounds = majority_error(3, c)
    assert bounds.lo <= law[0] <= bounds.hi


def test_two_rounds_fail_within_the_union_bound():
    """The exact failure of an adaptive two-round protocol is at most bits times the error of one bit."""
    private = to_ldp_rounds(exchange(2), RATIO, 1, 4)
    law = answer_law(private, [[(ALICE, 5), (BOB, 2)]] * 4, Sequential(rounds=2))
    right = law[exchange(2).run(5, 2, rng=0).answer]
    c = BSC.of_users(RATIO).crossover
    assert right == (1 - c) ** 4
    assert 1 - right <= rounds_failure(4, RATIO, 1)


def test_the_compiled_protocol_costs_the_ratio():
    """Each user of the compiled protocol loses log(ratio) exactly, its role included."""
    private = to_ldp_rounds(exchange(2), RATIO, 1, 4)
    inputs = list(itertools.product((ALICE, BOB), range(4)))
    for user in range(4):
        others = {v: inputs[0] for v in range(4) if v != user}
        assert exact_loss(private, user, inputs, others, Sequential(rounds=2), recheck=False).ratio == RATIO


def test_a_plan_gives_few_failures():
    """A planned compilation fails rarely, uses O(T log(T/failure)/epsilon^2) users, and respects the pool."""
    bits = 3 * 2
    copies, users = plan_rounds(bits, Fraction(8), "0.05")
    assert rounds_failure(bits, Fraction(8), copies) <= Fraction(1, 20)
    assert rounds_failure(bits, Fraction(8), copies - 2) > Fraction(1, 20)
    a, b = (2, 3, 0, 1), (1, 0, 3, 2)
    data = [(ALICE, a), (BOB, b)] * users
    answers = [
        run(to_ldp_rounds(chase(4, 3), Fraction(8), copies, users), data, Sequential(rounds=3), rng=s).answer
        for s in range(20)
    ]
    assert answers.count(a[b[a[0]]]) >= 18
    for epsilon in ("1/2", "1/4", "1/8"):
        few = plan_rounds(64, odds(epsilon), "0.05")[1]
        bound = 64 * math.log(64 / 0.05) / float(Fraction(epsilon)) ** 2
        assert few < 40 * bound
    with pytest.raises(CapacityError):
        run(to_ldp_rounds(chase(4, 3), Fraction(8), 3, 5), data, Sequential(), rng=0)


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_sent_by_its_index_has_the_kernels_law(seed):
    """If a proposal is accepted the answer has the kernel's law exactly, for each role and input."""
    inputs = {ALICE: (0, 1), BOB: (0, 1)}
    kernel = random_table(seed, 3, [(role, v) for role in (ALICE, BOB) for v in (0, 1)], RATIO)

    def ask():
        return (yield Ask.each([0], kernel))

    proposals = 3
    played = from_ldp_rounds(ask, RATIO, inputs, proposals)
    for x, y in itertools.product((0, 1), repeat=2):
        law = answer_law(as_local(played), [[(ALICE, x)], [(BOB, y)]], FullyInteractive())
        none = law.pop(None)
        expected_none, expected = Fraction(0), dict.fromkeys(((output,) for output in kernel.outputs), 0)
        for role, value in ((ALICE, x), (BOB, y)):
            rejection = Rejection(kernel, tuple((role, v) for v in (0, 1)), RATIO)
            mass = sum(rejection.largest)
            miss = (1 - 1 / mass) ** proposals
            expected_none += miss / 2
            for output, p in kernel.law((role, value)).items():
                expected[output,] += (1 - miss) * p / 2
        assert none == expected_none
        assert law == expected


def test_adaptive_rounds_are_played_in_as_many_rounds():
    """A two-round protocol of three users is played in two rounds, with the law of the original."""

    def original():
        first = yield Ask.each([0, 1], RandomisedResponse(RATIO, lambda x: x[1]))
        second = yield Ask.each([2], RandomisedResponse(RATIO, lambda x: x[1] ^ first[0]))
        return (*first, *second)

    played = from_ldp_rounds(original, RATIO, {ALICE: (0, 1), BOB: (0, 1)}, 1)
    law = answer_law(as_local(played), [[(ALICE, 1)], [(BOB, 0)]], FullyInteractive(rounds=2), limit=10**6)
    local = answer_law(original, [[(ALICE, 1), (BOB, 0)]] * 3, Sequential(rounds=2))
    none = law.pop(None)
    accepted = 1 / (2 * RATIO / (1 + RATIO))
    assert none == 1 - accepted**3
    assert {answer: p / (1 - none) for answer, p in law.items()} == local


def test_a_kernel_that_ignores_its_input_sends_nothing():
    """Public dice need no message, and no round."""

    def ask():
        return (yield Ask.each([0], Table(("a", "b"), {(ALICE, 0): (1, 3), (BOB, 0): (1, 3)})))

    played = from_ldp_rounds(ask, Fraction(1), {ALICE: (0,), BOB: (0,)}, 5)
    law = answer_law(as_local(played), [[(ALICE, 0)], [(BOB, 0)]], FullyInteractive())
    assert law == {("a",): Fraction(1, 4), ("b",): Fraction(3, 4)}
    assert transcript_bits(played.run(0, 0, rng=1)) == 0


@pytest.mark.parametrize("epsilon", ["1/4", "1/2", 1, 2, 4])
def test_the_expected_bits_grow_with_epsilon_alone(epsilon):
    """The exact expected Elias length of an index is at most 1 + 2 log2(uses) <= 1 + 2.89 epsilon."""
    ratio = odds(epsilon)
    for size in (2, 8, 64):
        kernel = GeneralisedRR(size, ratio, lambda x: x)
        uses = sum(Rejection(kernel, tuple(range(size)), ratio).largest)
        assert uses <= ratio
        bits = elias_bits(uses, 60)
        assert bits <= 1 + 2 * math.log2(uses) + 1e-9
        assert bits <= 1 + 2.89 * float(Fraction(epsilon))


def test_bits_of_runs_average_to_the_expected_length():
    """Bits counted in 60 seeded runs of 20 answers are within 4 standard errors of their expectation."""
    kernel = GeneralisedRR(8, RATIO, lambda x: x[1])

    def ask():
        return (yield Ask.each(range(20), kernel))

    proposals = proposals_for(20, RATIO, Fraction(1, 10**6))
    played = from_ldp_rounds(ask, RATIO, {ALICE: range(8), BOB: range(8)}, proposals)
    counts = [transcript_bits(played.run(3, 6, rng=s)) / 20 for s in range(60)]
    uses = sum(Rejection(kernel, [(ALICE, v) for v in range(8)], RATIO).largest)
    mean = sum(counts) / len(counts)
    spread = math.sqrt(sum((count - mean) ** 2 for count in counts)) / len(counts)
    assert abs(mean - float(elias_bits(uses, proposals))) < 4 * spread


def test_elias_codes_are_read_back():
    """A concatenation of codes is read back; one that is cut off is refused."""
    numbers = [1, 2, 3, 4, 7, 8, 1000, 1, 10**9]
    code = "".join(map(elias, numbers))
    assert decode_elias(code) == numbers
    assert all(len(elias(j)) == 2 * math.floor(math.log2(j)) + 1 for j in range(1, 200))
    with pytest.raises(ArgumentError, match="cut off"):
        decode_elias(code[:-1])


@pytest.mark.parametrize("first", [ALICE, BOB])
@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_simultaneous_rounds_are_one_more_turn(rounds, first):
    """With turns, t simultaneous rounds take t + 1 turns whoever is first, and give the same answer."""
    for x, y in itertools.product(range(4), repeat=2):
        result = alternating(exchange(rounds), first).run(x, y, rng=0)
        assert result.answer == exchange(rounds).run(x, y, rng=0).answer
        assert turns(result) == rounds + 1


def test_turns_keep_public_and_private_coins():
    """The law of the answer survives the change to turns, with coins on both sides."""

    def steps():
        face = yield Coin(3)
        odd = (Fraction(1, 4), Fraction(3, 4))
        a, b = yield Round((Message(ALICE, 3, lambda x: (x + face) % 3), Message(BOB, 2, lambda y: odd)))
        (c,) = yield Round((Message(BOB, 2, lambda y: (y + a) % 2),))
        return a, b, c

    protocol = RoundProtocol(steps)
    laws = [
        answer_law(as_local(p), [[(ALICE, 1)], [(BOB, 1)]], FullyInteractive())
        for p in (protocol, alternating(protocol, ALICE), alternating(protocol, BOB))
    ]
    assert laws[0] == laws[1] == laws[2]
    assert sum(laws[0].values()) == 1


def test_bad_arguments_are_refused():
    """Private coins in a compiled protocol, wrong messages, wrong steps and wrong roles end in a sentence."""

    def coins():
        yield Round((Message(ALICE, 2, lambda x: (Fraction(1, 2), Fraction(1, 2))),))

    data = [(ALICE, 0), (BOB, 0)]
    with pytest.raises(ArgumentError, match="send"):
        run(to_ldp_rounds(RoundProtocol(coins), RATIO, 1, 2), data, Sequential(), rng=0)
    for wrong in (lambda x: 5, lambda x: x.secret, lambda x: [Fraction(1)], lambda x: "no"):
        with pytest.raises(ArgumentError, match="send"):
            Message(ALICE, 2, wrong).law(0)
    assert (
        Message(ALICE, 2, lambda x: np.int64(1)).law(0) == Message(ALICE, 2, lambda x: True).law(0) == (0, 1)
    )
    with pytest.raises(ArgumentError, match="copies"):
        to_ldp_rounds(chase(2, 1), RATIO, 2, 10)
    with pytest.raises(ArgumentError, match="owner"):
        Message("Eve", 2, lambda x: 0)
    with pytest.raises(ArgumentError, match="inputs"):
        from_ldp_rounds(coins, RATIO, {ALICE: (0,)}, 3)
    with pytest.raises(ArgumentError, match="pair"):
        SentMessage(Message(ALICE, 2, lambda x: x)).weights((BOB, 1))
    with pytest.raises(ArgumentError, match="failure"):
        proposals_for(1, RATIO, 1)

    def nonsense():
        yield 3

    with pytest.raises(ProtocolError, match="Round or Coin"):
        RoundProtocol(nonsense).run(0, 0, rng=0)
    with pytest.raises(InteractionError):
        run(to_ldp_rounds(exchange(2), RATIO, 1, 4), data * 2, NonInteractive(), rng=0)
