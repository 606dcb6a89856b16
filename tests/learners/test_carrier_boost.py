"""Laws of CarrierBoost: exact audits of weight ratios over all tiny neighbours, and planted bugs."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from support.listed import Listed, by_point, law_of, replaced, samples, worst_ratio
from support.tiny_classes import BASES, CLASSES

from geomdp.learners.relabel.carrier_boost import carrier_boost
from geomdp.learners.relabel.label_boost import stacked
from geomdp.privacy.sampler import SimSampler


def _law(C, S, T, base, survey="carrier_labelings"):
    """Return the exact law of the labels of T, by point."""
    X, y = stacked(np.array([x for x, _ in S]), [label for _, label in S], np.array(T))
    columns = list(range(len(S), len(S) + len(T)))
    return by_point(law_of(getattr(C, survey)(X, y), base, columns), list(T))


def _audit(law, domain, n_s, n_t):
    """Return the worst ratios of the labels of T when a record of S is replaced, and when one of T is."""
    known = {}
    for S in samples(domain, n_s):
        for T in combinations_with_replacement(domain, n_t):
            known[tuple(S), T] = law(tuple(S), T)
    worst_s = worst_t = Fraction(1)
    for (S, T), one in known.items():
        for other in replaced(list(S), list(product(domain, (-1, 1)))):
            worst_s = max(worst_s, worst_ratio(one, known[tuple(other), T], T, T))
        for other in replaced(list(T), domain):
            worst_t = max(worst_t, worst_ratio(one, known[S, tuple(other)], T, other))
    return worst_s, worst_t


@pytest.mark.parametrize("name", CLASSES)
def test_weight_ratios_of_carrier_boost(name):
    """Over all neighbours: at most e^epsilon when S changes, and 4 when T does, whatever epsilon is."""
    C, domain, n_s, n_t = CLASSES[name]
    for base in BASES[1:] if "d=2" in name else BASES:
        worst_s, worst_t = _audit(lambda S, T: _law(C, S, T, base), domain, n_s, n_t)  # noqa: B023
        assert worst_s <= base**2
        assert worst_t <= 4


def test_label_boost_violates_what_carrier_boost_keeps():
    """The bound e^epsilon for S is not LabelBoost's: relabelling S along with T costs more."""
    C, domain, n_s, n_t = CLASSES["thresholds"]
    base = Fraction(9, 8)
    worst_s, _ = _audit(lambda S, T: _law(C, S, T, base, "labelings"), domain, n_s, n_t)
    assert worst_s > base**2


def test_planted_bugs_are_caught():
    """A score of sensitivity two breaks e^epsilon; so does the sum over completions in place of the best."""
    C, domain, n_s, n_t = CLASSES["thresholds"]
    base = Fraction(30)
    worst_s, _ = _audit(lambda S, T: _law(C, S, T, base**2), domain, n_s, n_t)
    assert worst_s > base**2
    small = Fraction(9, 8)
    worst_s, _ = _audit(lambda S, T: _law(C, S, T, small, "labelings"), domain, n_s, n_t)
    assert worst_s > small**2


@pytest.mark.parametrize("name", CLASSES)
def test_scores_are_those_of_the_best_completion(name):
    """Every labelling of T once, scored by the best of all labelings of S and T that extend it."""
    C, domain, _, _ = CLASSES[name]
    rng = np.random.default_rng(5)
    for _ in range(12):
        X = np.array(domain)[rng.integers(0, len(domain), 5)]
        y = rng.integers(-1, 2, 5)
        free = np.flatnonzero(y == 0)
        best = {}
        for labelling, score in C.labelings(X, y).candidates():
            key = tuple(labelling.labels[free].tolist())
            best[key] = max(score, best.get(key, 0))
        found = [(tuple(z.labels[free].tolist()), s) for z, s in C.carrier_labelings(X, y).candidates()]
        assert sorted(found) == sorted(best.items())


@pytest.mark.parametrize("name", CLASSES)
def test_the_law_ignores_the_order_of_records(name):
    """Shuffling S and T leaves the law of T's labels by point unchanged."""
    C, domain, _, _ = CLASSES[name]
    S = [(domain[0], 1), (domain[1], -1), (domain[2], 1)]
    T = [domain[2], domain[1], domain[2]]
    assert _law(C, S, T, Fraction(2)) == _law(C, S[::-1], T[::-1], Fraction(2))


@pytest.mark.parametrize("name", CLASSES)
def test_draws_are_realised_and_total(name):
    """Empty samples, one point, contradictory labels: a hypothesis of the class labels T in every case."""
    C, domain, _, _ = CLASSES[name]
    empty = np.zeros((0, len(domain[0])), dtype=np.int64)
    one, some = np.array([domain[1]] * 4), np.array(domain)
    for S_X, S_y, T_X in (
        (empty, [], empty),
        (empty, [], some),
        (one, [1, 1, -1, -1], empty),
        (one, [1, -1, 1, 1], some),
        (some, [1, -1, 1, -1, 1][: len(some)], one),
    ):
        for seed in range(3):
            done = carrier_boost(C, S_X, np.array(S_y, dtype=np.int64), T_X, Fraction(1), SimSampler(seed))
            assert (len(done.labels_S), len(done.labels_T)) == (len(S_X), len(T_X))
            if not isinstance(C, Listed):
                assert C.predict(done.witness, T_X).tolist() == done.labels_T.tolist()
                assert C.predict(done.witness, S_X).tolist() == done.labels_S.tolist()
