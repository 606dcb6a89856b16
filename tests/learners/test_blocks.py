"""Laws of objectives on blocks: the envelope, and the exact exponential mechanism on huge domains."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.learners.blocks import (
    Block,
    envelope,
    exponential,
    exponential_excess,
    exponential_law,
    objective,
)
from geomdp.privacy.runs import law_of, rational
from geomdp.privacy.sampler import SecureSampler, SimSampler

scores = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


def _blocks(values, sizes=None):
    ends = np.cumsum(sizes or [1] * len(values)).tolist()
    return [Block(e - (s - 1), e, v) for e, s, v in _places(ends, sizes or [1] * len(values), values)]


def _places(ends, sizes, values):
    return [(e - 1, s, v) for e, s, v in zip(ends, sizes, values, strict=True)]


def _plain_envelope(values):
    return [
        max(
            j
            for j in range(-9, 9)
            if any(v >= j for v in values[: z + 1]) and any(v >= j for v in values[z:])
        )
        for z in range(len(values))
    ]


def _spread(blocks):
    return [b.score for b in blocks for _ in range(b.size)]


@given(scores)
def test_the_envelope_is_the_largest_level_whose_hull_holds_the_place(values):
    """Q^(z) is the largest j for which elements of score >= j lie on both sides of z, or at z."""
    assert _spread(envelope(_blocks(values))) == _plain_envelope(values)


@given(scores, st.data())
def test_the_envelope_keeps_sensitivity_one(values, data):
    """If Q and Q' differ by at most one everywhere, so do their envelopes."""
    moves = data.draw(st.lists(st.integers(-1, 1), min_size=len(values), max_size=len(values)))
    first = _plain_envelope(values)
    second = _spread(envelope(_blocks([v + m for v, m in zip(values, moves, strict=True)])))
    assert max(abs(a - b) for a, b in zip(first, second, strict=True)) <= 1


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(-5, 40), st.integers(-3, 3)), max_size=8))
def test_an_objective_sums_its_jumps(size, cuts):
    """The score of a rank is the sum of the changes at or before it."""
    got = _spread(objective(size, cuts))
    assert got == [sum(c for r, c in cuts if max(r, 0) <= z) for z in range(size)]


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1), Fraction(4)])
def test_the_law_is_the_exponential_mechanism(epsilon):
    """Each block has probability size exp(eps score/2) over the sum, within 10^-30."""
    blocks = _blocks([2, 0, 5, 5, 1], [3, 1, 4, 1, 5])
    weights = [b.size * math.exp(float(epsilon) * b.score / 2) for b in blocks]
    for enclosure, weight in zip(exponential_law(blocks, epsilon), weights, strict=True):
        assert enclosure.hi - enclosure.lo < Fraction(1, 10**30)
        assert float(enclosure.lo) == pytest.approx(weight / sum(weights), rel=1e-12)


def test_exhaustive_audits_list_the_same_law():
    """All runs of a draw together have the law of the blocks, in enclosures and with a rational base."""
    blocks, epsilon = _blocks([2, 0, 5, 1], [3, 1, 2, 2]), Fraction(1)
    listed = law_of(lambda runs: exponential(blocks, epsilon, runs), 1)
    for block, p in zip(blocks, exponential_law(blocks, epsilon), strict=True):
        for rank in range(block.first, block.last + 1):
            assert abs(listed[rank].lo - p.lo / block.size) < Fraction(1, 10**30)
    decay = rational(Fraction(1, 2), Fraction(1, 2))
    halves = law_of(lambda runs: exponential(blocks, epsilon, runs), 1, decay=decay)
    weights = {rank: 2**b.score for b in blocks for rank in range(b.first, b.last + 1)}
    assert halves == {rank: Fraction(w, sum(weights.values())) for rank, w in weights.items()}


@pytest.mark.parametrize("sampler", [SimSampler(4), SecureSampler()], ids=["simulated", "secure"])
def test_draws_follow_the_law(sampler):
    """Frequencies of 20,000 draws agree with the exact law: chi-square below its 10^-7 quantile."""
    blocks = _blocks([2, 0, 5, 4, 1], [3, 1, 4, 1, 5])
    law = [float(p.lo) for p in exponential_law(blocks, Fraction(1, 2))]
    draws = Counter(exponential(blocks, Fraction(1, 2), sampler) for _ in range(20_000))
    cells = [
        (rank, p / b.size) for b, p in zip(blocks, law, strict=True) for rank in range(b.first, b.last + 1)
    ]
    chi = sum((draws[rank] - 20_000 * p) ** 2 / (20_000 * p) for rank, p in cells)
    assert chi < 62  # 13 degrees of freedom


class _Scripted:
    """A sampler whose uniform integers come from a list; only what exponential() needs."""

    simulated = True

    def __init__(self, values):
        self.values = list(values)

    def uniform(self, bound):
        value = self.values.pop(0)
        return value(bound) if callable(value) else value


def test_an_undecided_draw_gets_more_digits():
    """A U on a cumulative weight stays open until a later digit decides, and earlier digits stay."""
    blocks = [Block(0, 0, 0), Block(1, 1, 0)]  # two equal weights: the cut is at 1/2 exactly
    below = _Scripted([lambda b: b // 2 - 1, 0])
    assert exponential(blocks, Fraction(1), below) == 0
    above = _Scripted([lambda b: b // 2, 0])
    assert exponential(blocks, Fraction(1), above) == 1
    uneven = [Block(0, 0, 0), Block(1, 1, 1)]
    p = exponential_law(uneven, Fraction(1), 2000)[0]
    calls = []

    def at_the_cut(bound):
        calls.append(bound)
        return p.lo.numerator * bound // p.lo.denominator if len(calls) == 1 else bound - 1

    assert exponential(uneven, Fraction(1), _Scripted([at_the_cut, at_the_cut, 0])) == 1
    assert len(calls) == 2


def test_audit_over_neighbouring_scores():
    """Over all moves of all scores by at most one, no probability changes by more than exp(eps)."""
    epsilon = Fraction(1)
    bound = 1 / Fraction(math.exp(-1)).limit_denominator(10**9) * (1 + Fraction(1, 10**8))
    worst = Fraction(0)
    first = exponential_law(_blocks([1, 0, 2]), epsilon)
    for moves in np.ndindex(3, 3, 3):
        moved = [v + m - 1 for v, m in zip([1, 0, 2], moves, strict=True)]
        second = exponential_law(_blocks(moved), epsilon)
        worst = max(worst, *(a.hi / b.lo for a, b in zip(first, second, strict=True)))
    assert worst <= bound
    assert worst > bound * Fraction(4, 10)
    doubled = exponential_law(_blocks([2, 0, 0]), 2 * epsilon)  # planted: the noise is half as large
    other = exponential_law(_blocks([1, 1, 1]), 2 * epsilon)
    assert max(a.lo / b.hi for a, b in zip(doubled, other, strict=True)) > 1


@pytest.mark.parametrize("size", [1, 5, 2**66, 2**1000])
def test_the_excess_is_the_least_that_the_union_bound_allows(size):
    """E is the least integer with size exp(-eps E / 2) <= beta."""
    excess = exponential_excess(size, Fraction(1), Fraction(1, 20))
    exact = 2 * (math.log(size) - math.log(1 / 20))
    assert excess - 1 < exact + 1e-9
    assert excess >= exact - 1e-9


@pytest.mark.parametrize(
    "blocks", [[], [Block(1, 2, 0)], [Block(0, 1, 0), Block(3, 4, 0)], [Block(0, -1, 0)]]
)
def test_blocks_with_gaps_are_refused(blocks):
    """Blocks that do not cover 0, ..., size - 1 in order raise ArgumentError."""
    with pytest.raises(ArgumentError):
        envelope(blocks)
