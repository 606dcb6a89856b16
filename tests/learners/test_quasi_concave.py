"""Laws of the quasi-concave optimiser: sensitivity and privacy on all inputs, accuracy on realizable ones."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from geomdp.learners.blocks import Block, envelope, exponential
from geomdp.learners.oracles.quasi_concave import quasi_concave, quasi_concave_error
from geomdp.privacy.audit import worst_log_ratio
from geomdp.privacy.runs import law_of, rational
from geomdp.privacy.sampler import SimSampler

RANKS = range(-3, 4)


def _score(a1, data):
    """The most records of a plane that <(a1, a2), x> >= 1 labels right, over all real a2."""
    cuts = sorted({Fraction(1 - a1 * x, v) for (x, v), _ in data if v})
    tried = [Fraction(0), *cuts, *((p + q) / 2 for p, q in itertools.pairwise(cuts))]
    tried += [cuts[0] - 1, cuts[-1] + 1] if cuts else []
    return max(sum((a1 * x + a2 * v >= 1) == (label > 0) for (x, v), label in data) for a2 in tried)


def _blocks(scores):
    return [Block(i, i, score) for i, score in enumerate(scores)]


def _spread(blocks):
    return [b.score for b in blocks for _ in range(b.first, b.last + 1)]


def _records(rng, n):
    return [(tuple(rng.integers(-2, 3, 2).tolist()), int(rng.choice((-1, 1)))) for _ in range(n)]


def test_the_envelope_of_a_coordinate_score_has_sensitivity_one():
    """On random labels, replacing a record moves the score and its envelope by at most 1."""
    rng = np.random.default_rng(6)
    curved = 0
    for _ in range(60):
        data = _records(rng, 6)
        other = [*_records(rng, 1), *data[1:]]
        first, second = ([_score(a, d) for a in RANKS] for d in (data, other))
        hulls = [_spread(envelope(_blocks(scores))) for scores in (first, second)]
        assert max(abs(a - b) for a, b in zip(first, second, strict=True)) <= 1
        assert max(abs(a - b) for a, b in zip(*hulls, strict=True)) <= 1
        curved += hulls[0] != first
    assert curved > 3  # the data do leave the case where the score is quasi-concave


def test_a_score_that_is_not_quasi_concave():
    """Three records that no halfspace with w = 1 realizes: the score dips, its envelope does not."""
    data = [((1, -2), 1), ((-1, 1), 1), ((-2, 0), -1)]
    scores = [_score(a, data) for a in RANKS]
    assert scores == [2, 1, 1, 2, 2, 2, 2]
    assert _spread(envelope(_blocks(scores))) == [2] * 7


def test_realizable_scores_are_their_own_envelope():
    """On data labelled by a halfspace with w = 1 the score is quasi-concave (paper, Lemma 8.3)."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        a = rng.integers(-3, 4, 2).tolist()
        points = rng.integers(-2, 3, (6, 2)).tolist()
        data = [(tuple(p), 1 if a[0] * p[0] + a[1] * p[1] >= 1 else -1) for p in points]
        scores = [_score(a1, data) for a1 in RANKS]
        assert max(scores) == 6
        assert _spread(envelope(_blocks(scores))) == scores


def test_exact_audit_on_data_without_a_halfspace():
    """No probability changes by more than exp(epsilon) between neighbours, contradictory records included."""
    rng = np.random.default_rng(2)
    decay = rational(Fraction(1, 3), Fraction(1, 2))
    start = tuple(_records(rng, 3))
    pairs = [(start, (*start[:i], record, *start[i + 1 :])) for i in range(3) for record in _records(rng, 12)]
    known = {}

    def law(data):
        if data not in known:
            blocks = _blocks([_score(a, data) for a in RANKS])
            known[data] = law_of(lambda runs: quasi_concave(blocks, Fraction(1), runs), 1, decay=decay)
        return known[data]

    assert 1 < worst_log_ratio(law, pairs + [(b, a) for a, b in pairs]).upper <= 9  # (1/3)^-2 for exp(1)


def test_a_hull_of_unrelated_levels_is_another_mechanism():
    """Planted: replacing each level set by its hull only above the median score doubles the sensitivity."""

    def planted(scores):
        return [e if s > 1 else s for s, e in zip(scores, _spread(envelope(_blocks(scores))), strict=True)]

    first, second = [4, 2, 4], [4, 1, 4]
    assert max(abs(a - b) for a, b in zip(planted(first), planted(second), strict=True)) > 1


@pytest.mark.parametrize("bits", [8, 66, 1000])
def test_the_error_is_kept(bits):
    """On a quasi-concave score over 2^bits elements at most 2 of 20 draws lose more than E at beta = 1/20."""
    E = quasi_concave_error(1 << bits, Fraction(1), Fraction(1, 20))
    middle, top = (1 << bits) // 3, 2 * E
    steps = [Block(middle + i, middle + i, top - abs(i - 20)) for i in range(41)]
    blocks = [Block(0, middle - 1, 0), *steps, Block(middle + 41, (1 << bits) - 1, 1)]
    sampler = SimSampler(bits)
    draws = [quasi_concave(blocks, Fraction(1), sampler) for _ in range(20)]
    scores = [next(b.score for b in blocks if b.last >= z) for z in draws]
    assert sum(score < top - E for score in scores) <= 2
    assert exponential(envelope(blocks), Fraction(1), SimSampler(0)) == quasi_concave(
        blocks, Fraction(1), SimSampler(0)
    )
