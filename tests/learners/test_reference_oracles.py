"""Laws of the reference optimisers: the recursion on lengths, and the scheduler of disjoint slices."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.divergence import worst_divergence

from geomdp.core.errors import ArgumentError
from geomdp.learners.blocks import Block
from geomdp.learners.oracles.quasi_concave import quasi_concave_error
from geomdp.learners.oracles.rec_concave import (
    best_tile,
    length_scores,
    plan_rec_concave,
    rec_concave,
)
from geomdp.learners.oracles.reorder_slice import (
    Step,
    reorder_slice,
    slicing_cost,
    stop_coins,
    stop_probability,
)
from geomdp.privacy.runs import law_of
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale

DELTA, BETA = Fraction(1, 10**6), Fraction(1, 20)
values = st.lists(st.integers(-3, 6), min_size=1, max_size=12)


def _blocks(scores):
    return [Block(i, i, score) for i, score in enumerate(scores)]


# ---------------------------------------------------------------- the recursion on lengths


@given(values)
def test_length_scores_follow_their_definition(scores):
    """L(j) is the largest least score over 2^j neighbours, and q(j) = min(L(j) - (r - s), r - L(j + 1))."""
    top = (len(scores) - 1).bit_length()
    whole = scores + [min(0, scores[-1])] * ((1 << top) - len(scores))
    L = [max(min(whole[a : a + (1 << j)]) for a in range(len(whole) - (1 << j) + 1)) for j in range(top + 1)]
    L.append(min(0, L[-1]))
    got = [b.score for b in length_scores(_blocks(scores), 9, 4)]
    assert got == [min(L[j] - 5, 9 - L[j + 1]) for j in range(top + 1)]


@given(values, st.data())
def test_length_scores_and_tiles_have_sensitivity_one(scores, data):
    """If all scores move by at most 1, so do q and, of each tile, the best score."""
    other = [s + data.draw(st.integers(-1, 1)) for s in scores]
    q, q_ = (length_scores(_blocks(x), 9, 4) for x in (scores, other))
    assert all(abs(a.score - b.score) <= 1 for a, b in zip(q, q_, strict=True))


@given(values, st.integers(1, 5), st.integers(0, 4))
def test_the_best_tile_and_the_best_outside_it(scores, length, shift):
    """The leader is the first tile of the best score, the second the best score in other tiles."""
    tiles = {}
    for z, score in enumerate(scores):
        tiles.setdefault((z + shift) // length, []).append(score)
    best = max(scores)
    leader = min(t for t, inside in tiles.items() if best in inside)
    if len(tiles) > 1:
        second = max(max(inside) for t, inside in tiles.items() if t != leader)
        assert best_tile(_blocks(scores), length, shift) == (leader, best, second)


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("bits", [10, 66, 1000])
def test_the_slack_is_kept(bits, levels):
    """On quasi-concave scores that reach the promise, 18 of 20 answers have at least promise - slack."""
    plan = plan_rec_concave(1 << bits, Fraction(4), DELTA, BETA, levels)
    promise, size, sampler = plan.slack + 5, 1 << bits, SimSampler(bits + levels)
    rng = np.random.default_rng(1)
    good = 0
    for _ in range(20):
        at = int(rng.integers(1, 1 << 60)) * size >> 60
        width = 1 << int(rng.integers(0, bits))
        ends = sorted({min(at + (width * k >> 4), size) for k in range(17)} | {size})
        heights = [promise + 2 - abs(k - 8) * int(rng.integers(1, promise // 6)) for k in range(len(ends))]
        heights = sorted(heights[:8]) + sorted(heights[8:], reverse=True)
        heights[min(8, len(heights) - 1)] = max(promise, *heights)
        blocks, start = [Block(0, at - 1, min(heights))] if at else [], at
        for end, height in zip(ends, heights, strict=True):
            if end > start:
                blocks.append(Block(start, end - 1, height))
                start = end
        best = max(b.score for b in blocks)
        z = rec_concave(blocks, best, plan, sampler)
        good += next(b.score for b in blocks if b.last >= z) >= best - plan.slack
    assert good >= 18


def test_plans_spend_what_they_are_given():
    """All steps cost epsilon and delta together; the envelope is better at 66 bits, the recursion at 1000."""
    for levels in (0, 1, 2):
        plan = plan_rec_concave(2**300, Fraction(1), DELTA, BETA, levels)
        assert (plan.total_epsilon, plan.total_delta) == (1, DELTA if levels else 0)
        assert plan.levels == levels
    slack = {bits: plan_rec_concave(2**bits, Fraction(1), DELTA, BETA).slack for bits in (66, 1000)}
    error = {bits: quasi_concave_error(2**bits, Fraction(1), BETA) for bits in (66, 1000)}
    assert slack[66] > error[66]
    assert slack[1000] < error[1000]
    assert plan_rec_concave(32, Fraction(1), Fraction(0), BETA).levels == 0
    with pytest.raises(ArgumentError):
        plan_rec_concave(2**9, Fraction(1), Fraction(0), BETA)
    with pytest.raises(ArgumentError):
        rec_concave(_blocks([1, 2]), 2, plan_rec_concave(2**9, Fraction(1), DELTA, BETA), SimSampler(0))


def test_exact_audit_of_the_recursion():
    """On 40 elements, scores of any shape that differ by at most 1 give (epsilon, delta)-close laws."""
    plan = plan_rec_concave(40, Fraction(2), Fraction(1, 5), Fraction(1, 3))
    rng = np.random.default_rng(5)

    def law(scores):
        return law_of(lambda runs: rec_concave(_blocks(scores), 30, plan, runs), 1)

    pairs = []
    for kind in range(3):
        scores = (
            [max(0, 30 - 6 * abs(z - 17)) for z in range(40)] if kind else rng.integers(0, 30, 40).tolist()
        )
        other = (
            [s + int(rng.integers(-1, 2)) for s in scores]
            if kind < 2
            else [s - (z == 17) for z, s in enumerate(scores)]
        )
        pairs += [(tuple(scores), tuple(other)), (tuple(other), tuple(scores))]
    assert worst_divergence(law, pairs, plan.total_epsilon).hi <= plan.total_delta
    assert worst_divergence(law, pairs, Fraction(1, 100)).lo > 0


# ---------------------------------------------------------------- slices


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
@pytest.mark.parametrize("ratio", [1, 2, Fraction(11, 4)])
def test_the_coins_keep_both_bounds(epsilon, ratio):
    """Both runs stop equally often, and going on costs at most kappa either way."""
    e, kappa = float(epsilon), float(epsilon * ratio)
    t = stop_coins(epsilon, epsilon * ratio, 600)
    other = [math.exp(-e) * x for x in t[1:]]
    assert all(0 <= x < 1 for x in t)
    assert t == sorted(t)
    for a, b in zip(t, other, strict=False):
        assert math.exp(-kappa) - 1e-12 <= (1 - a) / (1 - b) <= math.exp(kappa) + 1e-12
    g = [-math.expm1(-e) * math.exp(-e * i) for i in range(600)]
    rho, rho_ = (sum(x * y for x, y in zip(g, coins, strict=False)) for coins in (t, other))
    assert rho == pytest.approx(rho_, abs=1e-9)
    assert stop_probability(epsilon, epsilon * ratio) <= rho * (1 + 1e-12)


def test_the_cost_is_a_multiple_of_the_logarithm():
    """For small epsilon_0 the cost is about 4.9 epsilon_0 ln(1/delta), or 3.8 with substitutions."""
    for epsilon in (Fraction(1, 20), Fraction(1, 200)):
        unit = float(epsilon) * math.log(10**6)
        assert 4.7 < float(slicing_cost(epsilon, DELTA)) / unit < 5.1
        assert 3.6 < float(slicing_cost(epsilon, DELTA, substitution=True)) / unit < 4.0
    assert slicing_cost(Fraction(1), DELTA) > slicing_cost(Fraction(1), Fraction(1, 10))
    with pytest.raises(ArgumentError):
        slicing_cost(Fraction(1), Fraction(0))


def test_slices_are_disjoint_and_ordered():
    """Each step sees at least its size, the beginning of its own order of what is left; all is used once."""
    seen = []

    def keep(part, _):
        seen.append(list(part))
        return len(seen)

    up, down = Step(3, sorted, keep), Step(2, lambda left: sorted(left, reverse=True), keep)
    for sampler in (SimSampler(3), SecureSampler()):
        seen.clear()
        assert reorder_slice(list(range(20)), [up, down, up], Fraction(2), sampler) == [1, 2, 3]
        assert seen[0] == list(range(len(seen[0])))
        assert len(seen[0]) >= 3
        assert seen[1] == list(range(19, 19 - len(seen[1]), -1))
        used = [x for part in seen for x in part]
        assert len(used) == len(set(used))
    later = reorder_slice(range(9), lambda done: up if len(done) < 2 else None, Fraction(1), SimSampler(0))
    assert len(later) == 2


def test_exact_audit_of_two_slices():
    """Adding an item to 3 changes the law of two noisy majorities within the stated cost."""
    epsilon, delta = Fraction(1), Fraction(1, 4)

    def majority(part, sampler):
        return sampler.permute_and_flip([sum(x > 0 for x in part), 0], noise_scale(1, epsilon))

    steps = [Step(1, sorted, majority), Step(1, lambda left: sorted(left, reverse=True), majority)]

    def law(items):
        return law_of(lambda runs: tuple(reorder_slice(items, steps, epsilon, runs)), 1, depth=12)

    pairs = []
    for items in [(-1, 1, 2), (1, 2, 3)]:
        for extra in (-4, 5):
            pairs += [(items, (*items, extra)), ((*items, extra), items)]
    cost = slicing_cost(epsilon, delta)
    assert worst_divergence(law, pairs, cost).hi <= delta
    assert worst_divergence(law, pairs, Fraction(1, 10)).lo > 0
