"""Laws of LabelBoost and ARelabel: exact audits over all tiny neighbours, and planted bugs."""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from support.listed import Listed, by_point, law_of, replaced, samples, worst_ratio
from support.tiny_classes import BASES, CLASSES, FIVE, GRID, LINE, THREE

from geomdp.learners.classes.boolean import Boolean
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.classes.threshold import thresholds
from geomdp.learners.relabel.label_boost import a_relabel, label_boost, stacked
from geomdp.privacy.sampler import SecureSampler, SimSampler

CLASSES = {
    **CLASSES,
    "exclusive or": (Boolean.of(lambda a, b: a != b, 2, LINE), THREE, 2, 1),
}


def _law(C, S, T, base, survey="labelings", columns=None):
    """Return the exact law of the labels by point."""
    points = [x for x, _ in S] + list(T)
    X, y = stacked(np.array([x for x, _ in S]), [label for _, label in S], np.array(T))
    law = law_of(getattr(C, survey)(X, y), base, columns)
    return by_point(law, points if columns is None else [points[c] for c in columns])


def audit(law, domain, n_s, n_t):
    """Return the worst ratios when a record of S, or one of T, is replaced, over all tiny inputs.

    `law(S, T)` is a law on labels by point; the points on which two runs are compared are those common to
    both laws.
    """
    law = lru_cache(maxsize=None)(law)
    worst_s = worst_t = Fraction(1)
    carriers = list(combinations_with_replacement(domain, n_t))
    for S in samples(domain, n_s):
        for T in carriers:
            one, points = law(tuple(S), T)
            for S2 in replaced(S, list(product(domain, (-1, 1)))):
                worst_s = max(worst_s, worst_ratio(one, *_swap(law(tuple(S2), T), points)))
            for T2 in replaced(list(T), domain):
                worst_t = max(worst_t, worst_ratio(one, *_swap(law(tuple(S), tuple(T2)), points)))
    return worst_s, worst_t


def _swap(entry, points):
    return entry[0], points, entry[1]


def _points(S, T):
    return tuple({x for x, _ in S} | set(T))


@pytest.mark.parametrize("name", CLASSES)
def test_weight_ratios_of_label_boost(name):
    """Over all neighbours: at most (1 + b)^2 <= 4 e^epsilon for S, and 4 for T, b = e^(epsilon/2)."""
    C, domain, n_s, n_t = CLASSES[name]
    for base in BASES[1:] if "d=2" in name else BASES:
        worst_s, worst_t = audit(lambda S, T: (_law(C, S, T, base), _points(S, T)), domain, n_s, n_t)  # noqa: B023
        assert worst_s <= (1 + base) ** 2 <= 4 * base**2
        assert worst_t <= 4


def test_the_audit_is_nearly_tight():
    """With a large epsilon some T-neighbours of thresholds come within a thousandth of the factor 4."""
    C, domain, n_s, n_t = CLASSES["thresholds"]
    worst_s, worst_t = audit(lambda S, T: (_law(C, S, T, Fraction(1000)), _points(S, T)), domain, n_s, n_t)
    assert worst_t > Fraction(3999, 1000)
    assert worst_s > Fraction(7, 10) * 1001**2


def _counted_twice(C, S, T, base):
    """Planted bug: a labelling counts once for every choice of thresholds that gives it."""
    points = [x for x, _ in S] + list(T)
    places = [*(Fraction(x) for (x,) in sorted(set(points))), Fraction(9)]
    law = {}
    for coords in product(places, repeat=C.k):
        key = tuple(C.predict(coords, points).tolist())
        law[key] = law.get(key, 0) + base ** sum(a == b for a, (_, b) in zip(key, S, strict=False))
    total = sum(law.values())
    return by_point({key: weight / total for key, weight in law.items()}, points)


def _double_score(C, S, T, base):
    """Planted bug: a score of sensitivity two."""
    return _law(C, S, T, base**2)


def test_planted_bugs_are_caught():
    """Dichotomies counted more than once, and a score of sensitivity two, break the stated ratios."""
    conjunction = Boolean.of(lambda *bits: all(bits), 3, LINE)
    base = Fraction(30)
    for law, breaks_s, breaks_t in (
        (_law, False, False),
        (_double_score, True, False),
        (_counted_twice, True, True),
    ):
        worst_s, worst_t = audit(
            lambda S, T: (law(conjunction, S, T, base), _points(S, T)),  # noqa: B023
            [(0,), (1,), (2,)],
            2,
            1,
        )
        assert (worst_s > (1 + base) ** 2) == breaks_s
        assert (worst_t > 4) == breaks_t


def test_both_signs_of_w_share_labelings_that_count_once():
    """Counting w = 1 and w = -1 apart meets some labelings twice; the class without prefix never does."""
    C, X = Halfspaces((GRID,)), np.array([[1], [2], [3]])
    apart = Counter(
        tuple(z.labels.tolist()) for w in (-1, 1) for z, _ in C.extend(Fraction(w)).labelings(X).candidates()
    )
    together = Counter(tuple(z.labels.tolist()) for z, _ in C.labelings(X).candidates())
    assert set(apart) == set(together)
    assert sorted(apart.values()) == [1, 1, 1, 1, 2, 2]
    assert set(together.values()) == {1}


def test_the_law_ignores_the_order_of_records():
    """Shuffling S and T leaves the law of the labels by point unchanged."""
    for name, (C, domain, _, _) in CLASSES.items():
        S = [(domain[0], 1), (domain[1], -1), (domain[2], 1)]
        T = [domain[2], domain[1], domain[0], domain[2]]
        assert _law(C, S, T, Fraction(2)) == _law(C, S[::-1], T[1:] + T[:1], Fraction(2)), name


def _in_point_order(S, T):
    """Planted bug: one rule for each labelling of S alone, the first that a search from S's head meets."""
    rules = [lambda x, b=b: 1 if b >> x & 1 else -1 for b in range(8)]
    first = S[0][0][0] * 3
    chosen = {}
    for rule in rules[first:] + rules[:first]:
        chosen.setdefault(tuple(rule(*x) for x, _ in S), rule)
    return Counter(tuple(rule(*x) for x in T) for rule in chosen.values())


def test_a_representative_by_point_order_is_caught():
    """Labels of T whose law depends on the order of S fail the test of order, which the true ones pass."""
    S, T = [((0,), 1), ((1,), 1)], [(2,)]
    assert _in_point_order(S, T) != _in_point_order(S[::-1], T)
    C = CLASSES["all"][0]
    assert _law(C, S, T, Fraction(2)) == _law(C, S[::-1], T, Fraction(2))


def _completion(C, S):
    """The least disagreement on S of an interval [t_1, t_2) whose left rule labels S as given."""
    X, y = np.array([x for x, _ in S]), np.array([label for _, label in S])

    def quality(labels):
        best = len(S)
        for t in range(5):
            right = np.where(X[:, 0] < t, 1, -1)
            best = min(best, int((np.minimum(labels, right) != y).sum()))
        return best

    return X, y, quality


def test_weight_ratios_of_a_relabel():
    """With a completion score, of matched sensitivity one: at most 4 e^epsilon for S, and 4 for T."""
    C, domain = thresholds(LINE), [(0,), (1,), (2,)]
    base = Fraction(3)

    def law(S, T):
        X, y, quality = _completion(C, S)
        rows, _ = stacked(X, y, np.array(T))
        weights = {}
        for labelling, _ in C.labelings(rows, np.zeros(len(rows), dtype=np.int64)).candidates():
            weights[tuple(labelling.labels.tolist())] = base ** -quality(labelling.labels[: len(S)])
        total = sum(weights.values())
        points = [x for x, _ in S] + list(T)
        return by_point({key: w / total for key, w in weights.items()}, points), _points(S, T)

    worst_s, worst_t = audit(law, domain, 2, 2)
    assert worst_s <= 4 * base**2
    assert worst_t <= 4


def test_a_relabel_draws_from_its_law():
    """Frequencies of ARelabel agree with weights exp(-epsilon quality / 2) over distinct labelings."""
    C, S, T = thresholds(LINE), [((0,), -1), ((2,), 1)], [(1,), (1,)]
    X, y, quality = _completion(C, S)
    runs = 1500
    found = Counter()
    for seed in range(runs):
        done = a_relabel(C, X, y, np.array(T), Fraction(2), SimSampler(seed), quality)
        found[*done.labels_S.tolist(), *done.labels_T.tolist()] += 1
    weights = {}
    for t in range(4):
        labels = np.where(np.array([0, 2, 1, 1]) >= t, 1, -1)
        weights[tuple(labels.tolist())] = np.exp(-quality(labels[:2]))
    total = sum(weights.values())
    chi = sum((found[z] - runs * w / total) ** 2 / (runs * w / total) for z, w in weights.items())
    assert chi < 20


@pytest.mark.parametrize("name", CLASSES)
def test_drawn_labels_are_realised_by_the_witness(name):
    """Both parts of a draw are the labels of one hypothesis of the class, with the secure sampler, too."""
    C, domain, _, _ = CLASSES[name]
    X, y = np.array(domain), np.array([1, -1, 1, 1, -1][: len(domain)])
    for sampler in (SimSampler(0), SimSampler(1), SecureSampler()):
        done = label_boost(C, X, y, X[::-1], Fraction(1, 2), sampler)
        assert done.labels_S.tolist() == done.labels_T[::-1].tolist()
        if not isinstance(C, Listed):
            assert C.predict(done.witness, X).tolist() == done.labels_S.tolist()
            assert C.realizes(X, done.labels_S) is not None


def test_frequencies_of_label_boost_in_the_plane():
    """Draws over a degenerate set have the frequencies of the exponential mechanism."""
    C = Halfspaces((GRID, GRID)).extend(Fraction(1))
    X, y = np.array(FIVE), np.array([1, 1, -1, 1, -1])
    runs = 1500
    found = Counter(
        tuple(label_boost(C, X[:3], y[:3], X[3:], Fraction(2), SimSampler(s))[0].tolist())
        for s in range(runs)
    )
    law = law_of(C.labelings(X, [*y[:3], 0, 0]), Fraction(2718281828, 10**9), [0, 1, 2])
    chi = sum((found[z] - runs * float(w)) ** 2 / (runs * float(w)) for z, w in law.items())
    assert chi < 30


@pytest.mark.parametrize("name", CLASSES)
def test_empty_and_constant_samples(name):
    """No record, no point to relabel, one point many times, contradictory duplicates: all are answered."""
    C, domain, _, _ = CLASSES[name]
    empty = np.zeros((0, len(domain[0])), dtype=np.int64)
    one = np.array([domain[1]] * 4)
    for S_X, S_y, T_X in (
        (empty, [], empty),
        (empty, [], one),
        (one, [1, 1, -1, -1], empty),
        (one, [1, -1, 1, 1], one),
    ):
        done = label_boost(C, S_X, np.array(S_y, dtype=np.int64), T_X, Fraction(1), SimSampler(0))
        assert len(done.labels_S) == len(S_X)
        assert len(set(done.labels_S.tolist()) | set(done.labels_T.tolist())) <= 1
