"""Exact verification: losses of small protocols by enumeration, against closed forms; planted bugs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support.local import (
    OUE,
    SUE,
    one_bit_search,
    random_table,
    reused_label_search,
    tree_inputs,
    tree_search,
)

from geomdp.core.errors import ArgumentError, CapacityError, ProtocolError
from geomdp.local.finite import odds
from geomdp.local.kernels import GeneralisedRR, RandomisedResponse, Table, YesNo
from geomdp.local.models import FullyInteractive, InteractionError, NonInteractive, Pool, Sequential
from geomdp.local.protocol import Ask, Coin, DataAccessError, Inputs, run
from geomdp.local.transcripts import answer_law, transcript_law, transcripts
from geomdp.local.verify import ExactLoss, exact_delta, exact_loss

FI = FullyInteractive()
RR = RandomisedResponse(Fraction(3))
SURE = YesNo(Fraction(1), Fraction(0))


@pytest.mark.parametrize("kernel", [SUE, OUE])
@pytest.mark.parametrize(
    ("arity", "depth", "users", "count"), [(2, 2, 1, 36), (2, 2, 2, 484), (2, 3, 1, 216), (3, 2, 1, 225)]
)
def test_the_tree_search_costs_epsilon_however_many_questions(kernel, arity, depth, users, count):
    """The loss of the tree search is the pair ratio of its kernel exactly, at every depth."""
    inputs = tree_inputs(arity, depth)
    others = dict.fromkeys(range(1, users), inputs[-1])
    protocol = tree_search(arity, depth, users, kernel)
    result = exact_loss(protocol, 0, inputs, others, FI, recheck=users == 1)
    assert result.ratio == kernel.pair_ratio == 4
    assert result.transcripts == count


@pytest.mark.exhaustive
@pytest.mark.parametrize("kernel", [SUE, OUE])
def test_the_tree_search_costs_epsilon_at_depth_four(kernel):
    """Four levels and 1296 transcripts cost no more than two levels."""
    result = exact_loss(tree_search(2, 4, 1, kernel), 0, tree_inputs(2, 4), {}, FI)
    assert (result.ratio, result.transcripts) == (4, 1296)


def test_the_loss_at_a_real_budget_is_just_below_it():
    """With ratios rounded down from e^(epsilon/2), the search at epsilon = 1 has a loss of 1 to 1e-12."""
    result = exact_loss(
        tree_search(2, 2, 1, YesNo.symmetric(odds("1/2"))), 0, tree_inputs(2, 2), {}, FullyInteractive()
    )
    assert abs(result.loss - 1) < 1e-12
    assert result.holds(1)
    assert not result.holds("0.999999")


def test_the_one_bit_search_costs_the_full_ratio():
    """Sending one sign per level, and a fair coin off the own level, costs the ratio of one answer."""
    signs = np.array([[1, -1], [-1, 1]])
    for users in (1, 2):
        protocol = one_bit_search(2, 2, users, Fraction(3), signs)
        inputs = tree_inputs(2, 2)
        others = dict.fromkeys(range(1, users), inputs[0])
        assert exact_loss(protocol, 0, inputs, others, FI).ratio == 3


def test_a_label_asked_at_two_levels_costs_twice():
    """A bug: an input that says yes twice loses two pair ratios, log = 2 at a budget of 1."""
    half = odds("1/2")
    result = exact_loss(
        reused_label_search(2, YesNo.symmetric(half)), 0, tree_inputs(2, 1), {}, FullyInteractive()
    )
    assert result.ratio == half**4
    assert abs(result.loss - 2) < 1e-12
    assert not result.holds(1)


def test_answering_twice_with_fresh_noise_costs_twice():
    """A bug: a repeated answer multiplies its ratio; sequential models refuse it."""

    def steps():
        first = yield Ask.each([0], RR)
        second = yield Ask.each([0], RR)
        return first, second

    result = exact_loss(steps, 0, [0, 1], {}, FI)
    assert result.ratio == 9
    assert result.witness in {((0,), (0,)), ((1,), (1,))}
    with pytest.raises(InteractionError):
        exact_loss(steps, 0, [0, 1], {}, Sequential())


def test_a_tie_broken_by_a_users_datum_is_caught():
    """A bug: a tie-break that asks a user its bit without noise has an infinite loss."""

    def steps():
        bits = yield Ask.each([0, 1], RR)
        if bits[0] != bits[1]:
            (tie,) = yield Ask.each([0], SURE)
            return tie
        return bits[0]

    result = exact_loss(steps, 0, [0, 1], {1: 0}, FI)
    assert result.ratio == math.inf
    assert result.loss == math.inf
    assert not result.holds(100)


def test_a_tie_broken_by_the_data_is_refused():
    """A bug: a protocol that holds the inputs, or asks for them, is refused by run and by the verifier."""
    others, inputs = {1: 0}, Inputs([0, 0])

    def looks(rows):
        def steps():
            bits = yield Ask.each([0, 1], RR)
            return bits[0] if bits[0] == bits[1] else rows[0]

        return steps

    def takes(rows):
        yield Ask.each([0, 1], RR)
        return rows[0]

    for protocol in (looks(others), looks(inputs), takes):
        with pytest.raises(DataAccessError):
            exact_loss(protocol, 0, [0, 1], others, FI)
    population = [[0], [0]]
    with pytest.raises(DataAccessError):
        answer_law(looks(population), population, FI)


def test_a_protocol_with_a_memory_of_its_own_is_caught():
    """A bug: steps that depend on anything but the transcript change between replays."""
    calls = []

    def steps():
        calls.append(1)
        odd = len(calls) % 2
        yield Ask.each([0], RandomisedResponse(Fraction(2 + odd)))
        yield Ask.each([0], RR)

    with pytest.raises(ProtocolError, match="function of its transcript"):
        exact_loss(steps, 0, [0, 1], {}, FI)

    def grows():
        calls.append(1)
        for _ in range(len(calls) % 3 + 1):
            yield Coin(2)

    with pytest.raises(ProtocolError, match="function of its transcript"):
        list(transcripts(grows, {}, FI))


def test_unchecked_laws_still_need_the_same_questions():
    """Without recheck, a replay must still ask the same users for the same outputs."""
    calls = []

    def steps():
        calls.append(1)
        yield Coin(2 + len(calls) % 2)
        yield Coin(2)

    with pytest.raises(ProtocolError, match="function of its transcript"):
        list(transcripts(steps, {}, FI, recheck=False))


@pytest.mark.parametrize("seed", range(6))
def test_composition_is_exact_for_independent_tables(seed):
    """Asking two kernels in turn has the ratio max over x, x' of the product of the two column maxima."""
    first, second = random_table(seed, 3, range(3), 4), random_table(seed + 50, 2, range(3), 4)

    def steps():
        yield Ask.each([0], first)
        yield Coin(2)
        yield Ask.each([0], second)

    brute = max(
        first.probabilities(x)[i]
        * second.probabilities(x)[j]
        / (first.probabilities(z)[i] * second.probabilities(z)[j])
        for x, z in itertools.product(range(3), repeat=2)
        for i, j in itertools.product(range(3), range(2))
    )
    assert exact_loss(steps, 0, range(3), {}, FI).ratio == brute


def _selecting():
    """Ask user 1 without noise, then user 0 only if the answer was 1."""
    (bit,) = yield Ask.each([1], SURE)
    if bit:
        yield Ask.each([0], RR)


def test_other_inputs_are_walked_where_answers_exclude_them():
    """A sure answer of another user hides transcripts; the loss is the maximum over all others' inputs."""
    for other in (0, 1):
        result = exact_loss(_selecting, 0, [0, 1], {1: other}, FI)
        assert result.ratio == 3
        assert result.transcripts == 3
    brute = max(
        max(p / q for p, q in zip(a.values(), b.values(), strict=True))
        for other in (0, 1)
        for a, b in itertools.permutations([_law(x, other) for x in (0, 1)], 2)
    )
    assert brute == 3


def _law(x, other):
    return transcript_law(_selecting, [[x], [other]], FI)


def test_probabilities_sum_to_one_for_every_input():
    """The law of the transcript sums to exactly 1 for fixed and for mixed populations."""
    protocol = tree_search(2, 2, 2, SUE)
    inputs = tree_inputs(2, 2)
    for population in ([inputs[:1], inputs[1:2]], [inputs[:3], inputs]):
        assert sum(transcript_law(protocol, population, FI).values()) == 1
    assert sum(answer_law(protocol, [inputs, inputs], FI).values()) == 1


class _Broken(GeneralisedRR):
    """A kernel that states something that is no law."""

    def weights(self, x):
        return (3, -1, 1) if self.size == 3 else (1, 1, 1)


@pytest.mark.parametrize("size", [2, 3])
def test_kernels_without_a_law_are_refused(size):
    """Negative weights, or another number of them than of outputs, are caught."""

    def steps():
        yield Ask.each([0], _Broken(size, Fraction(2)))

    with pytest.raises(ProtocolError, match="one weight >= 0"):
        exact_loss(steps, 0, [0, 1], {}, NonInteractive())


def test_mixed_populations_average_fixed_ones():
    """The law under independent uniform inputs is the average of the laws under fixed inputs."""

    def steps():
        bits = yield Ask.each([0, 1], RR)
        return bits

    mixed = answer_law(steps, [[0, 1], [0, 1, 1]], NonInteractive())
    parts = [answer_law(steps, [[a], [b]], NonInteractive()) for a in (0, 1) for b in (0, 1, 1)]
    assert mixed == {key: sum(part[key] for part in parts) / 6 for key in mixed}


def test_simulation_agrees_with_the_exact_law():
    """Frequencies of 4000 seeded runs lie within five standard deviations of the exact law."""

    def steps():
        (first,) = yield Ask.each([0], GeneralisedRR(3, Fraction(2)))
        face = yield Coin(2, (1, 3))
        (second,) = yield Ask.each([1], RandomisedResponse(Fraction(1 + first + face), lambda x: x % 2))
        return first, face, second

    law = answer_law(steps, [[2], [1]], Sequential())
    runs = [run(steps, [2, 1], Sequential(), rng=seed).answer for seed in range(4000)]
    for key, chance in law.items():
        share, p = runs.count(key) / len(runs), float(chance)
        assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / len(runs))


def test_delta_agrees_with_pure_loss_and_total_variation():
    """Delta decreases to 0 at the worst ratio, and is the total variation distance at ratio 1."""

    def steps():
        (bit,) = yield Ask.each([0], RR)
        yield Ask.each([1], RR if bit else SURE)

    worst = exact_loss(steps, 0, [0, 1], {1: 0}, FI).ratio
    values = [exact_delta(steps, 0, [0, 1], 2, FI, ratio=r) for r in (1, 2, Fraction(29, 10), worst)]
    assert values == sorted(values, reverse=True)
    assert values[2] > 0 == values[3]
    laws = [_pair_law(steps, x, 0) for x in (0, 1)]
    keys = set(laws[0]) | set(laws[1])
    assert values[0] == sum(abs(laws[0].get(k, 0) - laws[1].get(k, 0)) for k in keys) / 2
    assert exact_delta(steps, 1, [0, 1], 2, FI, ratio=100) == Fraction(3, 4)  # the sure answer, when asked


def _pair_law(steps, x, other):
    return transcript_law(steps, [[x], [other]], FI)


def test_impossible_outputs_cost_nothing():
    """An output that no input allows leaves the ratio as it is and adds no transcript."""
    kernel = Table(("a", "b", "never"), {0: (2, 1, 0), 1: (1, 2, 0)})

    def steps():
        yield Ask.each([0], kernel)

    result = exact_loss(steps, 0, [0, 1], {}, NonInteractive())
    assert (result.ratio, result.transcripts) == (2, 2)


def test_degenerate_protocols():
    """Asking nobody, one input only, or weight-0 faces: the loss is 0 and sums are 1."""

    def silent():
        return 1
        yield

    def dice():
        yield Coin(3, (0, 1, 0))

    def ask():
        yield Ask.each([0], RR)

    assert exact_loss(silent, 0, [0, 1], {}, NonInteractive()) == ExactLoss(Fraction(1), 1, ())
    assert exact_loss(dice, 0, [0, 1], {}, NonInteractive()).transcripts == 1
    assert exact_loss(ask, 0, [1], {}, NonInteractive()).loss == 0
    assert answer_law(silent, [], NonInteractive()) == {1: 1}


def test_progress_ends_at_one():
    """Progress is called with increasing fractions that end at 1."""
    seen = []
    exact_loss(tree_search(2, 2, 1, SUE), 0, tree_inputs(2, 2), {}, FI, progress=seen.append)
    assert seen == sorted(seen)
    assert abs(seen[-1] - 1) < 1e-9


def test_pools_serve_replays():
    """A protocol that makes its pool inside is verified in the sequential model."""

    def steps():
        pool = Pool(3)
        bits = []
        for _ in range(3):
            bits += yield pool.take(1).ask(RR)
        return sum(bits)

    assert exact_loss(steps, 1, [0, 1], {0: 0, 2: 1}, Sequential()).ratio == 3
    assert exact_loss(steps, 1, [0, 1], {0: 0, 2: 1}, FI).transcripts == 8


def test_bad_arguments():
    """Too many transcripts, unknown users, empty domains and sealed candidates are refused by name."""

    def coins():
        for _ in range(5):
            yield Coin(2)

    def stranger():
        yield Ask.each([5], RR)

    with pytest.raises(CapacityError, match="Argument 'limit'"):
        exact_loss(coins, 0, [0], {}, FI, limit=31)
    assert exact_loss(coins, 0, [0], {}, FI, limit=32).transcripts == 32
    with pytest.raises(ProtocolError, match="not among those listed"):
        exact_loss(stranger, 0, [0], {}, FI)
    with pytest.raises(ArgumentError, match="Argument 'domain'"):
        exact_loss(coins, 0, [], {}, FI)
    with pytest.raises(ArgumentError, match="Argument 'domain'"):
        exact_loss(coins, 0, Inputs([1]), {}, FI)
    with pytest.raises(ArgumentError, match="Argument 'others'"):
        exact_loss(coins, 0, [0], {0: 1}, FI)
    with pytest.raises(ArgumentError, match="Argument 'ratio'"):
        exact_delta(coins, 0, [0], 1, FI, ratio=Fraction(1, 2))
    with pytest.raises(CapacityError, match="Argument 'users'"):
        exact_delta(coins, 0, range(100), 9, FI, ratio=1)
    with pytest.raises(ArgumentError, match="Argument 'epsilon'"):
        ExactLoss(Fraction(1), 1, None).holds(-1)
