"""Laws of the sparse release: exact gaps, exactly the law of the full release, any number of buckets."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.privacy import sparse
from geomdp.privacy.audit import laplace_law, neighbour_pairs, worst_log_ratio
from geomdp.privacy.law import dlap_pmf, dlap_sf
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.privacy.sparse import decided, skip, sparse_histogram, tail

R = Fraction(1, 2)  # in place of exp(-1/scale)
TOP = 2  # values of cutoff + TOP and more are one outcome


class Chooser:
    """Runs a randomised function once per path of its choices, and collects the exact law of its results."""

    def __init__(self):
        self.path, self.at, self.weight = [], 0, Fraction(1)

    def choose(self, options):
        if self.at == len(self.path):
            self.path.append([0, options])
        index, listed = self.path[self.at]
        self.at += 1
        value, probability = listed[index]
        self.weight *= probability
        return value

    def law(self, function):
        law = {}
        while True:
            self.at, self.weight = 0, Fraction(1)
            result = function()
            law[result] = law.get(result, 0) + self.weight
            while self.path and self.path[-1][0] + 1 == len(self.path[-1][1]):
                self.path.pop()
            if not self.path:
                return law
            self.path[-1][0] += 1


def sparse_law(monkeypatch, counts, buckets, cutoff):
    """Return the exact law of the release, its three sources of chance replaced by exact choices."""
    chooser = Chooser()

    def gap_only(gap, _rate, _width):
        return gap, gap

    def gap_law(enclosure, bound, _sampler):
        gap = enclosure(0)[0]
        p = R**gap / (1 + R)
        return chooser.choose([(j, (1 - p) ** j * p) for j in range(bound)] + [(bound, (1 - p) ** bound)])

    def excess(_scale, _sampler):
        return chooser.choose([(g, (1 - R) * R**g) for g in range(TOP)] + [(TOP, R**TOP)])

    class Noise:
        simulated = True

        def discrete_laplace(self, _scale, size):
            high = [c for c in counts.values() if c >= cutoff]
            assert size == len(high)
            laws = [laplace_law(c, R, cutoff - 1, cutoff + TOP) for c in high]
            drawn = [chooser.choose(list(law.items())) - c for law, c in zip(laws, high, strict=True)]
            return np.array(drawn, dtype=np.int64)

    monkeypatch.setattr(sparse, "tail", gap_only)
    monkeypatch.setattr(sparse, "skip", gap_law)
    monkeypatch.setattr(sparse, "geometric", excess)
    scale = Fraction(1)
    return chooser.law(
        lambda: tuple(sparse_histogram(counts, buckets, cutoff, scale, Noise()).items())  # type: ignore[arg-type]
    )


def full_law(counts, buckets, cutoff):
    """Return the law of the full noisy histogram after dropping what lies below the cut-off."""
    columns = []
    for bucket in range(buckets):
        count = counts.get(bucket, 0)
        law = {None: Fraction(0)}
        for value, p in laplace_law(count, R, min(count, cutoff) - 1, max(count, cutoff) + TOP + 1).items():
            key = None if value < cutoff else min(value, cutoff + TOP)
            law[key] = law.get(key, 0) + p
        columns.append(law)
    total = {}
    for values in product(*columns):
        p = math.prod(law[v] for law, v in zip(columns, values, strict=True))
        key = tuple((z, v) for z, v in enumerate(values) if v is not None)
        total[key] = total.get(key, 0) + p
    return total


@pytest.mark.parametrize(
    ("counts", "buckets", "cutoff"),
    [
        ({}, 3, 1),
        ({1: 1}, 3, 2),
        ({0: 2, 2: 2}, 4, 3),
        ({3: 4, 1: 1}, 4, 3),
        ({0: 3, 1: 3}, 2, 2),
        ({0: 0, 2: 1}, 3, 1),
    ],
)
def test_exactly_the_law_of_the_full_release(monkeypatch, counts, buckets, cutoff):
    """Every outcome has the probability that it has after dropping small counts of the full release."""
    assert sparse_law(monkeypatch, counts, buckets, cutoff) == full_law(counts, buckets, cutoff)


def test_exact_audit(monkeypatch):
    """Over all neighbours of three records in three buckets the worst ratio is at most r^-2, and attained."""

    def law(data):
        return sparse_law(monkeypatch, {z: data.count(z) for z in set(data)}, 3, 2)

    assert worst_log_ratio(law, neighbour_pairs(range(3), 3)).upper <= R**-2 + Fraction(1, 10**20)
    assert worst_log_ratio(law, neighbour_pairs(range(3), 3)).lower == R**-2


def test_planted_bug_occupied_only(monkeypatch):
    """A release that forgets the empty buckets is refuted: they would name who is there."""

    def law(data):
        full = sparse_law(monkeypatch, {z: data.count(z) for z in set(data)}, 3, 2)
        seen = {}
        for outcome, p in full.items():
            kept = tuple((z, v) for z, v in outcome if z in data)
            seen[kept] = seen.get(kept, 0) + p
        return seen

    assert worst_log_ratio(law, neighbour_pairs(range(3), 2)).lower == math.inf


class TestGaps:
    @pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(3, 8), Fraction(1, 64), Fraction(63, 64)])
    @pytest.mark.parametrize("bound", [1, 2, 5, 8, 37])
    def test_decided_is_exact(self, p, bound):
        """A decided number of tails is the true one at both ends of U's interval; few stay undecided."""
        width = 11
        exact = int(p * 2**width)
        jumps = [(1 - p) ** (k + 1) for k in range(bound)]
        undecided = 0
        for digits in range(2**width):
            low, high = Fraction(digits, 2**width), Fraction(digits + 1, 2**width)
            found = decided(digits, width, (exact, exact), bound)
            if found is None:
                undecided += 1
            else:
                assert found == sum(low < jump for jump in jumps) == sum(high <= jump for jump in jumps)
        assert undecided <= 2**width * 2 // 5

    def test_wide_enclosures_are_refined(self):
        """Where p itself is known too coarsely, nothing is decided; more digits of p and U are then used."""
        assert decided(600, 10, (400, 500), 5) is None
        asked = []

        def enclosure(width):
            asked.append(width)
            slack = 1 << width - 3 if len(asked) < 3 else 0
            return (1 << width - 1) - slack, (1 << width - 1) + slack

        class Halves:
            def uniform(self, bound):
                return bound // 2

        assert skip(enclosure, 9, Halves()) == 0  # type: ignore[arg-type]
        assert len(asked) == 3

    @pytest.mark.parametrize("gap", [1, 2, 17, 400])
    def test_tail_is_enclosed(self, gap):
        """The enclosure holds r^gap/(1+r), and closes in on it."""
        rate = Fraction(1, 7)
        for width in (40, 300):
            low, high = tail(gap, rate, width)
            assert 0 <= high - low <= 8
            assert low <= dlap_sf(gap, 7) * (1 + 1e-12) * 2**width + 1
            assert high >= dlap_sf(gap, 7) * (1 - 1e-12) * 2**width - 1

    @pytest.mark.parametrize("occupied", [[], [0], [4], [0, 1, 2], [1, 3, 4], [0, 5, 6]])
    def test_empty_buckets_are_counted(self, occupied):
        """The i-th empty bucket is found for every i."""
        expected = [z for z in range(9) if z not in occupied]
        assert [sparse._empty(occupied, i) for i in range(len(expected))] == expected


class TestStatistics:
    def test_chi_square_against_the_full_release(self):
        """Survivors of 300 buckets follow the exact law: number, places and values (alpha = 1e-6 each)."""
        scale, cutoff, buckets, counts = Fraction(3), 9, 300, {5: 7, 100: 12, 200: 1}
        runs, sampler = 3000, SimSampler(11)
        releases = [sparse_histogram(counts, buckets, cutoff, scale, sampler) for _ in range(runs)]
        for z, count in counts.items():
            assert_binomial(sum(z in kept for kept in releases), runs, dlap_sf(cutoff - count, scale))
        p = dlap_sf(cutoff, scale)
        empty = [z for kept in releases for z in kept if z not in counts]
        assert_binomial(len(empty), runs * (buckets - 3), p)
        thirds = np.bincount([z * 3 // buckets for z in empty], minlength=3)
        assert ((thirds - len(empty) / 3) ** 2 / (len(empty) / 3)).sum() < 31
        values = [v for kept in releases for z, v in kept.items() if z not in counts]
        for excess in range(4):
            share = dlap_pmf(cutoff + excess, scale) / p
            assert_binomial(values.count(cutoff + excess), len(values), share)
        seen = [kept[100] for kept in releases if 100 in kept]
        for value in (9, 12, 15):
            share = dlap_pmf(value - 12, scale) / dlap_sf(cutoff - 12, scale)
            assert_binomial(seen.count(value), len(seen), share)

    def test_astronomically_many_buckets(self):
        """Among 10^40 buckets the number of survivors has the mean and the spread of a Poisson variable."""
        buckets, cutoff = 10**40, 1740
        mean = math.exp(40 * math.log(10) - cutoff / 20) / (1 + math.exp(-1 / 20))
        assert 50 < mean < 200
        sampler = SimSampler(2)
        found = [sparse_histogram({}, buckets, cutoff, Fraction(20), sampler) for _ in range(30)]
        total = sum(map(len, found))
        assert abs(total - 30 * mean) < 5 * math.sqrt(30 * mean)
        places = [z / 1e40 for kept in found for z in kept]
        assert abs(np.mean(places) - 0.5) < 5 / math.sqrt(12 * len(places))
        assert all(list(kept) == sorted(kept) for kept in found)

    def test_real_release(self):
        """With the operating system's entropy, heavy buckets survive and nothing below the cut-off does."""
        counts = {3 * z: 1 for z in range(1000)} | {10**15 - 1: 5000}
        kept = sparse_histogram(counts, 10**15, 1000, noise_scale(2, Fraction(1, 10)), SecureSampler())
        assert 10**15 - 1 in kept
        assert min(kept.values()) >= 1000


def assert_binomial(found, trials, p):
    """Assert that a count is within five standard deviations of a binomial mean."""
    assert abs(found - trials * p) < 5 * math.sqrt(trials * p * (1 - p)) + 1


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"cutoff": 0}, ArgumentError),
        ({"buckets": 0}, ArgumentError),
        ({"scale": Fraction(1, 3)}, ArgumentError),
        ({"buckets": 10**30, "cutoff": 5}, CapacityError),
    ],
)
def test_refusals(changes, error):
    """Sizes out of range, and releases of millions of empty buckets, are refused before any noise."""
    arguments = {
        "counts": {1: 2},
        "buckets": 9,
        "cutoff": 3,
        "scale": Fraction(1),
        "sampler": None,
        **changes,
    }
    with pytest.raises(error):
        sparse_histogram(**arguments)
