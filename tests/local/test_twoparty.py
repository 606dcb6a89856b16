"""Compilers between noisy two-party protocols and local ones: equality of laws, exactly, by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support.local import random_table

from geomdp.core.errors import ArgumentError, CapacityError, ProtocolError
from geomdp.local.finite import odds
from geomdp.local.kernels import GeneralisedRR, RandomisedResponse, RoleRR, Table
from geomdp.local.models import FullyInteractive, InteractionError, NonInteractive, Sequential
from geomdp.local.protocol import Ask, Coin, run
from geomdp.local.rejection import Acceptance, Rejection, one_bit
from geomdp.local.transcripts import answer_law, transcript_law, transcripts
from geomdp.local.twoparty import (
    ALICE,
    BOB,
    BSC,
    Bit,
    SentBit,
    TwoPartyProtocol,
    from_ldp,
    over_bsc,
    to_ldp,
)
from geomdp.local.verify import exact_loss

FI = FullyInteractive()
R = Fraction(3)


def random_protocol(seed, bits=3):
    """A protocol whose owners and bit functions depend at random on all bits so far; inputs are 0..3."""
    rng = np.random.default_rng(seed)
    table = {}
    for depth in range(bits):
        for path in itertools.product((0, 1), repeat=depth):
            table[path] = (ALICE, BOB)[rng.integers(2)], rng.integers(2, size=4).tolist()

    def steps():
        path = ()
        for _ in range(bits):
            owner, values = table[path]
            path += ((yield Bit(owner, lambda x, values=values: values[x])),)
        return path

    return TwoPartyProtocol(steps)


def coined():
    """A protocol with public dice and a bit that its owner draws at random."""
    face = yield Coin(3, (1, 2, 1))
    first = yield Bit(ALICE, lambda x: Fraction(x, 4))
    second = yield Bit(BOB, lambda y: (y + face) % 2 ^ first)
    return face, first, second


PROTOCOLS = [random_protocol(seed) for seed in range(4)] + [TwoPartyProtocol(coined)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("ratio", [R, Fraction(1), odds(1)])
def test_lemma_31_transcripts_have_the_law_of_the_channel(protocol, ratio):
    """Fresh users with random roles transmit exactly like the channel of crossover 1/2 - (r-1)/(4(r+1))."""
    local = to_ldp(protocol, ratio, 3)
    for x, y in [(0, 1), (3, 2), (2, 2)]:
        noisy = over_bsc(protocol, BSC.of_users(ratio))
        expected = transcript_law(noisy, [[(ALICE, x)], [(BOB, y)]], FI)
        assert transcript_law(local, [[(ALICE, x), (BOB, y)]] * 3, Sequential()) == expected


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lemma_31_costs_each_user_the_ratio(protocol):
    """Every user of the compiled protocol loses at most log(ratio), role included."""
    domain = [(role, value) for role in (ALICE, BOB) for value in range(4)]
    for user in range(3):
        others = {v: domain[v] for v in range(3) if v != user}
        assert exact_loss(to_ldp(protocol, R, 3), user, domain, others, Sequential()).ratio <= R


def test_the_channel_of_users_is_the_formula_of_tanh():
    """Crossovers: 1/2 - tanh(epsilon/2)/4 for a fresh user, 1/(1+e^epsilon) for the response itself."""
    for epsilon in ("0.1", 1, 4):
        half = float(Fraction(epsilon)) / 2
        assert abs(float(BSC.of_users(odds(epsilon)).crossover) - (0.5 - math.tanh(half) / 4)) < 1e-13
        assert abs(float(BSC.of_response(odds(epsilon)).correlation) - math.tanh(half)) < 1e-13
    assert BSC.of_users(1) == BSC.of_response(1) == BSC(Fraction(1, 2))


def test_bits_may_be_numpy_booleans():
    """A sender may return 0/1, a probability, or any kind of truth value."""
    for kind in (bool, int, float, Fraction, np.bool_, np.int64):
        kernel = SentBit(ALICE, lambda x, kind=kind: kind(x > 1), Fraction(1, 4))
        assert kernel.law((ALICE, 2))[1] == Fraction(3, 4)


def test_an_asked_role_answers_like_a_sent_bit():
    """RoleRR is SentBit over the channel of randomised response, for definite bits."""
    rr, sent = RoleRR(BOB, R, lambda v: v > 1), SentBit(BOB, lambda v: v > 1, 1 / (1 + R))
    for x in itertools.product((ALICE, BOB), range(4)):
        assert rr.law(x) == sent.law(x)


def test_too_few_users_are_an_error():
    """A compiled protocol that runs out of users raises CapacityError."""
    with pytest.raises(CapacityError):
        run(to_ldp(PROTOCOLS[0], R, 2), [(ALICE, 0), (BOB, 1)], Sequential(), rng=0)


KERNELS = [(random_table(seed, 4, range(3), 4), range(3)) for seed in range(8)] + [
    (GeneralisedRR(8, R), range(8)),
    (RandomisedResponse(R), [0, 1, None]),
    (Table(("a", "b", "never"), {0: (2, 1, 0), 1: (1, 2, 0)}), [0, 1]),
    (Table(("a", "b"), {0: (2, 1), 1: (2, 1)}), [0, 1]),
]


@pytest.mark.parametrize(("kernel", "domain"), KERNELS)
@pytest.mark.parametrize("ratio", [None, Fraction(5), odds(2)])
def test_lemma_32_one_attempt_is_proportional_to_the_kernel(kernel, domain, ratio):
    """P(y proposed and accepted) = R(x)(y)/K exactly, acceptance lies in [c, 1-c], and K <= 1 + ratio."""
    ratio = ratio or kernel.worst_ratio(domain)
    law = Rejection(kernel, tuple(domain), ratio)
    c = 1 / (1 + ratio)
    assert sum(law.reference) == 1
    assert 1 <= law.uses <= 1 + ratio
    for x in domain:
        for place, y in enumerate(kernel.outputs):
            accept = law.acceptance(x, y)
            assert c <= accept <= 1 - c
            assert 0 <= law.sent(x, y) <= 1
            assert c + (1 - 2 * c) * law.sent(x, y) == accept
            assert law.reference[place] * accept == kernel.law(x)[y] / law.uses


@pytest.mark.parametrize(("kernel", "domain"), KERNELS)
def test_lemma_32_the_largest_probabilities_are_the_best_reference(kernel, domain):
    """The geometric mean of the extremes as reference needs as many uses or more."""
    ratio = kernel.worst_ratio(domain)
    columns = list(zip(*(kernel.probabilities(x) for x in domain), strict=True))
    spread = sum(math.sqrt(max(column) * min(column)) for column in columns)
    geometric = (math.sqrt(ratio) + 1 / math.sqrt(ratio)) * spread
    uses = Rejection(kernel, tuple(domain), ratio).uses
    assert uses <= geometric + 1e-12
    if all(max(column) == ratio * min(column) for column in columns):
        assert abs(uses - geometric) < 1e-12


def test_uses_of_randomised_response_over_eight_categories():
    """The closed form 8 (r+1)/(r+7) of the expected uses."""
    for epsilon in ("0.5", 1, 2):
        r = odds(epsilon)
        assert Rejection(GeneralisedRR(8, r), tuple(range(8)), r).uses == 8 * (r + 1) / (r + 7)


def test_a_ratio_below_the_kernels_is_refused():
    """The simulation needs a ratio of at least the kernel's, hence full support or impossible outputs."""
    with pytest.raises(ArgumentError, match="Argument 'ratio'"):
        Rejection(GeneralisedRR(3, R), (0, 1, 2), Fraction(2))
    with pytest.raises(ArgumentError, match="Argument 'ratio'"):
        Rejection(Table(("a", "b"), {0: (1, 0), 1: (1, 1)}), (0, 1), Fraction(100))
    with pytest.raises(ArgumentError, match="Argument 'ratio'"):
        Rejection(GeneralisedRR(3, R), (0, 1), Fraction(1, 2))


def test_inputs_outside_the_domain_stay_private():
    """An input that the declared domain lacks is accepted with a probability in [c, 1-c] all the same."""
    law = Rejection(GeneralisedRR(3, Fraction(9)), (0,), Fraction(2))
    bit = Acceptance(law, 1)
    assert bit.worst_ratio([0, 1, 2]) <= 2


def _valued(size, ratio):
    return GeneralisedRR(size, ratio, lambda pair: pair[1])


def adaptive():
    """Two rounds; the second question depends on the first answer."""
    (first,) = yield Ask.each([0], _valued(3, R))
    face = yield Coin(2)
    (second,) = yield Ask.each([1], GeneralisedRR(3, R, lambda pair: (pair[1] + first + face) % 3))
    return first, face, second


def repeated():
    """The same user is asked twice: its role must stay."""
    (first,) = yield Ask.each([0], _valued(3, R))
    (second,) = yield Ask.each([0], _valued(3, R))
    return first, second


def simultaneous():
    """Two users in one round, with one uninformative kernel."""
    outputs = yield Ask(((0, _valued(3, R)), (1, Table(("a", "b"), dict.fromkeys(DOMAIN, (1, 2))))))
    return outputs


DOMAIN = [(role, value) for role in (ALICE, BOB) for value in range(3)]


@pytest.mark.parametrize("protocol", [adaptive, repeated, simultaneous])
@pytest.mark.parametrize("attempts", [1, 2])
def test_lemma_32_answers_have_the_law_of_the_local_protocol(protocol, attempts):
    """Given that attempts suffice, the two-party protocol's answer has exactly the local protocol's law."""
    two = over_bsc(from_ldp(protocol, R, {ALICE: range(3), BOB: range(3)}, attempts), BSC.of_response(R))
    for x, y in [(0, 1), (2, 2)]:
        played = answer_law(two, [[(ALICE, x)], [(BOB, y)]], FI)
        lost = played.pop(None)
        asked = 1 if protocol is simultaneous else 2
        uses = Rejection(_valued(3, R), tuple(DOMAIN), R).uses
        assert 1 - lost == (1 - (1 - 1 / uses) ** attempts) ** asked
        local = answer_law(protocol, [[(ALICE, x), (BOB, y)]] * 2, FI)
        assert {key: value / (1 - lost) for key, value in played.items()} == local


def test_lemma_32_a_role_that_ignores_its_input_costs_nothing():
    """Only the owner's role sends bits: Bob's answer to a question for Alice is public dice."""

    def ask():
        (bit,) = yield Ask.each([0], RoleRR(ALICE, R))
        return bit

    two = from_ldp(ask, R, {ALICE: (0, 1), BOB: (0, 1)}, attempts=1)
    law = answer_law(over_bsc(two, BSC.of_response(R)), [[(ALICE, 1)], [(BOB, 0)]], FI)
    uses = Rejection(RoleRR(ALICE, R), ((ALICE, 0), (ALICE, 1)), R).uses
    assert law[1] == Fraction(1, 4) + Fraction(3, 4) / uses / 2
    assert law[None] == (1 - 1 / uses) / 2


def test_lemma_32_without_privacy_loss_needs_no_channel():
    """At ratio 1 kernels ignore their inputs: no bit is sent, and the law is the kernel's."""
    kernel = Table(("a", "b"), dict.fromkeys(DOMAIN, (1, 2)))

    def ask():
        outputs = yield Ask.each([0, 1], kernel)
        return outputs

    two = from_ldp(ask, Fraction(1), {ALICE: range(3), BOB: range(3)})
    leaves = list(transcripts(over_bsc(two, BSC(Fraction(1, 2))), {0: [(ALICE, 0)], 1: [(BOB, 1)]}, FI))
    assert not any(isinstance(step, Ask) for leaf in leaves for step, _ in leaf.events)
    assert answer_law(over_bsc(two, BSC(0)), [[(ALICE, 0)], [(BOB, 1)]], FI) == answer_law(
        ask, [[DOMAIN[0]], [DOMAIN[1]]], FI
    )
    assert Rejection(kernel, tuple(DOMAIN), Fraction(1)).sent(DOMAIN[0], "a") == Fraction(1, 2)


def test_lemma_32_needs_both_roles():
    """The possible inputs of both parties must be given."""
    with pytest.raises(ArgumentError, match="Argument 'inputs'"):
        from_ldp(adaptive, R, {ALICE: range(3)})


@pytest.mark.parametrize(("kernel", "domain"), KERNELS[:3] + KERNELS[-2:])
def test_one_bit_answers_have_the_mean_law(kernel, domain):
    """Fresh users that accept or reject play the kernel at a random input, exactly."""
    ratio = kernel.worst_ratio(domain)

    def ask():
        (output,) = yield Ask.each([0], kernel)
        return output

    played = answer_law(one_bit(ask, ratio, domain, 3, 2), [list(domain)] * 3, Sequential())
    lost = played.pop(None, Fraction(0))
    mean = answer_law(ask, [list(domain)], NonInteractive())
    assert {y: p / (1 - lost) for y, p in played.items()} == {y: p for y, p in mean.items() if p}


def test_one_bit_answers_cost_each_user_the_ratio():
    """Each user of the one-bit protocol loses at most log(ratio); a user asked twice is refused."""

    def ask():
        (first,) = yield Ask.each([0], GeneralisedRR(3, R))
        yield Coin(2)
        (second,) = yield Ask.each([1], GeneralisedRR(3, Fraction(2), lambda x: (x + first) % 3))
        return first, second

    compiled = one_bit(ask, R, range(3), 4, attempts=2)
    for user in range(4):
        others = {v: 0 for v in range(4) if v != user}
        result = exact_loss(compiled, user, range(3), others, Sequential())
        assert 1 < result.ratio <= R

    def twice():
        yield Ask.each([0], GeneralisedRR(3, R))
        yield Ask.each([0], GeneralisedRR(3, R))

    with pytest.raises(InteractionError):
        run(one_bit(twice, R, range(3), 10**4), [0] * 10**4, Sequential(), rng=0)


def test_a_user_that_retries_pays_for_every_attempt():
    """A bug: one user answering until it accepts loses (rejections + 1) times the log ratio."""
    law = Rejection(GeneralisedRR(3, R), (0, 1, 2), R)

    def retry():
        tries = 0
        while tries < 3:
            tries += 1
            output = law.kernel.outputs[(yield law.proposal())]
            if (yield Ask.each([0], Acceptance(law, output)))[0]:
                return tries
        return None

    worst = {}
    for leaf in transcripts(retry, {0: range(3)}, FI):
        row = leaf.likelihood[0]
        worst[leaf.answer] = max(worst.get(leaf.answer, 1), max(row) / min(row))
    assert [worst[tries] for tries in (1, 2, 3)] == [R, R**2, R**3]
    with pytest.raises(InteractionError):
        exact_loss(retry, 0, range(3), {}, Sequential())


def test_runs_over_a_channel():
    """Noiseless runs return the protocol's own answer; bits are counted; seeds repeat."""
    for protocol in PROTOCOLS[:4]:
        for x, y in itertools.product(range(4), repeat=2):
            law = answer_law(over_bsc(protocol, BSC(0)), [[(ALICE, x)], [(BOB, y)]], FI)
            assert law[protocol.noiseless(x, y)] == 1
    first, second = (PROTOCOLS[0].run(0, 1, BSC("0.25"), rng=3) for _ in range(2))
    assert first.messages == 3
    assert first.answer == second.answer
    assert [outcome for _, outcome in first.events] == [outcome for _, outcome in second.events]


def test_uses_agree_with_a_simulation():
    """The mean number of channel uses per answer is the stated one within five standard errors."""
    two = from_ldp(adaptive, R, {ALICE: range(3), BOB: range(3)})
    uses = [two.run(0, 2, BSC.of_response(R), rng=seed).messages for seed in range(600)]
    expected = 2 * float(Rejection(_valued(3, R), tuple(DOMAIN), R).uses)
    assert abs(np.mean(uses) - expected) < 5 * np.std(uses) / math.sqrt(len(uses))


def test_bad_arguments_are_named():
    """Owners, channels, bits and steps of the wrong kind are refused."""

    def wrong():
        yield 3

    for make, name in [
        (lambda: Bit("Carol", int), "owner"),
        (lambda: BSC(Fraction(2, 3)), "crossover"),
        (lambda: BSC(-1), "crossover"),
        (lambda: SentBit(ALICE, lambda x: 2, Fraction(0)).law((ALICE, 1)), "send"),
        (lambda: SentBit(ALICE, lambda x: None, Fraction(0)).law((ALICE, 1)), "send"),
        (lambda: SentBit(ALICE, int, Fraction(0)).law(1), "x"),
        (lambda: to_ldp(PROTOCOLS[0], Fraction(1, 2), 3), "ratio"),
        (lambda: from_ldp(adaptive, 0, {}), "ratio"),
        (lambda: one_bit(adaptive, 0, [], 3), "ratio"),
    ]:
        with pytest.raises(ArgumentError) as caught:
            make()
        assert caught.value.name == name
    with pytest.raises(ProtocolError, match="must yield Bit or Coin"):
        TwoPartyProtocol(wrong).noiseless(0, 0)
