"""Laws of the automaton: every labelling of a composition once, and its exact exponential law."""

import itertools
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.listed import Listed

from geomdp.core.errors import CapacityError
from geomdp.learners.classes.boolean import Boolean
from geomdp.learners.classes.interval import intervals
from geomdp.learners.domains import Integers
from geomdp.learners.relabel import automaton
from geomdp.learners.relabel.automaton import Arc, Trellis
from geomdp.privacy.runs import law_of as runs_law
from geomdp.privacy.runs import rational
from geomdp.privacy.sampler import SimSampler

WIDE = Integers(-1, 6)
signs = st.sampled_from((-1, 1))
tables = st.integers(1, 3).flatmap(lambda k: st.tuples(*[signs] * 2**k))
rows = st.lists(st.tuples(st.integers(0, 4), st.sampled_from((-1, 0, 1))), max_size=6)


def _listed(C):
    """The same class by brute force over all thresholds that matter."""
    places = [Fraction(t) for t in range(6)]
    hypotheses = [(*C.prefix, *rest) for rest in product(places, repeat=C.free)]
    return Listed([lambda x, h=h: int(C.predict(h, [[x]])[0]) for h in hypotheses])


def _given(table, records, fixed):
    """A composition with some thresholds fixed, and records as arrays."""
    C = Boolean(table, WIDE)
    for t in fixed[: C.k]:
        C = C.extend(Fraction(t))
    X = np.array([[x] for x, _ in records], dtype=np.int64).reshape(len(records), 1)
    return C, X, np.array([label for _, label in records], dtype=np.int64)


def _entries(survey):
    return sorted((tuple(z.labels.tolist()), score) for z, score in survey.candidates())


@given(tables, rows, st.lists(st.integers(-1, 6), max_size=3))
@settings(max_examples=80, deadline=None)
def test_labelings_are_listed_once_with_their_agreement(table, records, fixed):
    """The automaton's paths are the distinct labelings over all thresholds, with witnesses."""
    C, X, y = _given(table, records, fixed)
    assert _entries(C.labelings(X, y)) == _entries(_listed(C).labelings(X, y))
    assert C.labelings(X, y).trellis.count() <= C.growth(len(X))
    for labelling, _ in C.labelings(X, y).candidates():
        assert C.predict(labelling.witness, X).tolist() == labelling.labels.tolist()


@given(tables, rows, st.lists(st.integers(-1, 6), max_size=3))
@settings(max_examples=80, deadline=None)
def test_carrier_labelings_are_listed_once_with_their_best_completion(table, records, fixed):
    """Each labelling of the unlabelled rows once; the witness attains its score on the labelled ones."""
    C, X, y = _given(table, records, fixed)
    free = np.flatnonzero(y == 0)
    best = {}
    for labels, score in _entries(_listed(C).labelings(X, y)):
        key = tuple(np.array(labels)[free].tolist())
        best[key] = max(score, best.get(key, -1))
    found = list(C.carrier_labelings(X, y).candidates())
    assert Counter((tuple(z.labels[free].tolist()), s) for z, s in found) == Counter(best.items())
    for labelling, score in found:
        assert int((labelling.labels == y).sum()) == score
        assert C.predict(labelling.witness, X).tolist() == labelling.labels.tolist()


class Scripted:
    """A sampler whose uniform integers come from a list of binary digits, zeros after its end."""

    simulated = True

    def __init__(self, digits):
        self.digits = list(digits)

    def uniform(self, bound):
        width = bound.bit_length() - 1
        assert bound == 1 << width
        head, self.digits = self.digits[:width], self.digits[width:]
        return int("".join(map(str, head)).ljust(width, "0") or "0", 2)


def test_the_law_of_an_arc_is_that_of_the_exact_weights(monkeypatch):
    """Over a fine grid of uniform reals a path is drawn as often as its exact share says, to within one."""
    monkeypatch.setattr(automaton, "_DIGITS", 12)
    trellis = Trellis(
        (
            ((Arc(-1, 0, 0), Arc(1, 1, 2)),),
            ((Arc(-1, 0, 1), Arc(1, 0, 0)), (Arc(1, 0, 3),)),
        )
    )
    base = np.exp(0.5)
    weights = {path: base**score for path, score in trellis.paths()}
    # the first digit string decides the first arc, the second one the arc after it
    fine = 2**12
    first = Counter(
        trellis.sample(Fraction(1), Scripted([*map(int, f"{u:012b}"), *[0] * 12]))[0] for u in range(fine)
    )
    share = (weights[-1, -1] + weights[-1, 1]) / sum(weights.values())
    assert abs(first[-1] - fine * share) <= 1.01


def test_listed_paths_have_the_law_of_the_exact_weights():
    """Where all runs are listed, each path has its weight's share of the total, in rationals."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        widths = [1, *rng.integers(1, 4, 3).tolist()]
        layers = tuple(
            tuple(
                tuple(
                    Arc(label, int(rng.integers(after)), int(rng.integers(3)))
                    for label in rng.permutation((-1, 1))[: rng.integers(1, 3)].tolist()
                )
                for _ in range(here)
            )
            for here, after in itertools.pairwise(widths)
        )
        trellis = Trellis(layers)
        weights = {path: Fraction(3) ** score for path, score in trellis.paths()}
        found = runs_law(
            lambda runs, trellis=trellis: trellis.sample(Fraction(2), runs),
            1,
            decay=rational(Fraction(1, 3), Fraction(1)),
        )
        assert found == {path: weight / sum(weights.values()) for path, weight in weights.items()}


def test_open_comparisons_are_refined():
    """With few digits an open comparison draws more of them, and the law stays the same."""
    trellis = Trellis(tuple(((Arc(-1, 0, 0), Arc(1, 0, 1)),) for _ in range(30)))
    counts = Counter()
    for seed in range(200):
        counts.update(trellis.sample(Fraction(1), SimSampler(seed)))
    share = 1 / (1 + np.exp(-0.5))
    assert abs(counts[1] / 6000 - share) < 0.02
    few = automaton._decide([automaton.Scaled(3, 5, 0), automaton.Scaled(3, 5, 0)], 4, 3)
    assert few is None


@given(st.fractions(min_value=0, max_value=900, max_denominator=7), st.integers(8, 80))
def test_powers_are_enclosed_to_relative_precision(exponent, digits):
    """exp(-q) lies between the ends, which agree in nearly all digits, however small it is."""
    low, high, shift = automaton._power(exponent, digits)
    assert 0 < low <= high <= low + (low >> digits - 6) + 2
    if exponent < 700:
        exact = float(np.exp(-float(exponent)))
        assert float(Fraction(low) * Fraction(2) ** shift) <= exact * (1 + 1e-12)
        assert float(Fraction(high) * Fraction(2) ** shift) >= exact * (1 - 1e-12)


@given(
    st.lists(
        st.tuples(st.integers(0, 2**40), st.integers(0, 9), st.integers(-200, 200)), min_size=2, max_size=2
    )
)
def test_sums_and_products_are_enclosed(values):
    """The enclosure of a sum or product holds those of the ends."""
    a, b = (automaton.Scaled(v, v + extra, shift) for v, extra, shift in values)
    ends = [[Fraction(end) * Fraction(2) ** v.shift for end in (v.low, v.high)] for v in (a, b)]
    total, times = automaton._plus(a, b, 24), automaton._times(a, b, 24)
    for value, low, high in (
        (total, ends[0][0] + ends[1][0], ends[0][1] + ends[1][1]),
        (times, ends[0][0] * ends[1][0], ends[0][1] * ends[1][1]),
    ):
        assert Fraction(value.low) * Fraction(2) ** value.shift <= low
        assert Fraction(value.high) * Fraction(2) ** value.shift >= high


def test_drawn_labelings_follow_the_law():
    """Draws from an interval class have the frequencies of the exponential mechanism over its labelings."""
    C = intervals(WIDE)
    X, y = np.array([[0], [1], [2], [4]]), np.array([-1, 1, 1, 0])
    survey = C.labelings(X, y)
    weights = {tuple(z.labels.tolist()): np.exp(score) for z, score in survey.candidates()}
    total, runs = sum(weights.values()), 1500
    found = Counter(tuple(survey.select(Fraction(2), SimSampler(s)).labels.tolist()) for s in range(runs))
    chi = sum((found[z] - runs * w / total) ** 2 / (runs * w / total) for z, w in weights.items())
    assert chi < 2.5 * len(weights)
    assert set(found) <= set(weights)


def test_many_carrier_labelings_are_refused_by_public_numbers():
    """With six free thresholds the number of rows to relabel is limited, whatever their values."""
    C, X = Boolean.of(lambda *bits: sum(bits) % 2 == 1, 6, WIDE), np.zeros((600, 1), dtype=np.int64)
    with pytest.raises(CapacityError, match="label_boost"):
        C.carrier_labelings(X, np.zeros(600))
    assert intervals(WIDE).carrier_labelings(X, np.zeros(600)).trellis.count() == 2


def test_carrier_automata_stay_small():
    """With two or three free thresholds the automaton of a carrier has few states a layer."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 10**6, (400, 1))
    for k in (2, 3):
        C = Boolean.of(lambda *bits: sum(bits) % 2 == 1, k, Integers(0, 10**6))
        for noise in (0.0, 0.5):
            y = np.where(rng.random(400) < noise, -1, np.where(X[:, 0] > 5 * 10**5, 1, -1))
            y[::2] = 0
            layers = C.carrier_labelings(X, y).trellis.layers
            assert max(map(len, layers)) <= 40
