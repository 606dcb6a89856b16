"""Laws of the noisy first crossing: exact sampling, exact privacy, exact accuracy."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample
from geomdp.privacy.audit import laplace_law, neighbour_pairs, worst_log_ratio
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.testers.crossing import Crossing, _decided, descending, failures, geometric

# Shares log 2 and log 4: r = 1/2, rho = 1/4, count ratio 1/2; every claim is a power of two, epsilon = log 8.
R, RHO, START, PLACES = Fraction(1, 2), Fraction(1, 4), 2, 4


def crossing_law(counts, r=R, rho=RHO, start=START):
    """Return the exact law of the number of passed places; counts from the top, one per place.

    Levels up to the largest count are summed one by one; above it the probability given tau is a polynomial
    in x = rho^tau, and the sum over tau a sum of geometric series: no truncation.
    """
    law = [Fraction(0)] * (len(counts) + 1)
    first = max(start, max(counts) + 1)
    for tau in range(start, first):
        alive = (1 - r) * r ** (tau - start)
        for place, count in enumerate(counts):
            heads = rho ** max(tau - count, 0)
            law[place] += alive * heads
            alive *= 1 - heads
        law[-1] += alive
    series = [
        (1 - r) * (r * rho**k) ** (first - start) * rho ** (k * start) / (1 - r * rho**k)
        for k in range(len(counts) + 2)
    ]
    alive = [Fraction(1)]
    for place, count in enumerate([*counts, None]):
        if count is None:
            stop = alive
        else:
            heads = [Fraction(0), rho**-count]
            stop = _multiply(alive, heads)
            alive = _multiply(alive, [Fraction(1), -(rho**-count)])
        law[place] += sum(a * s for a, s in zip(stop, series, strict=False))
    return law


def _multiply(a, b):
    product = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return product


def counts_of(ranks):
    """Return N(theta) for theta = PLACES-1, ..., 0."""
    return tuple(sum(x >= theta for x in ranks) for theta in range(PLACES - 1, -1, -1))


def view_law(data, other, *, r=R, rho=RHO, count_ratio=R):
    """Return the law of a mixed-label party's two messages, the counterpart having released `other`."""
    stops = _stops(counts_of([x for x, y in data if y < 0]), r, rho)
    law = {}
    for passed, p in enumerate(stops):
        place = max(PLACES - passed, other)
        below = sum(y > 0 and x < place for x, y in data)
        for noisy, q in laplace_law(below, count_ratio, -1, 5).items():
            law[passed, noisy] = p * q
    return law


_stops = cache(crossing_law)


class TestSampling:
    @pytest.mark.parametrize(("numerator", "shift"), [(1, 1), (3, 3), (1, 6), (63, 6), (5, 40)])
    @pytest.mark.parametrize("bound", [1, 2, 5, 8, 37])
    def test_decided_is_exact(self, numerator, shift, bound):
        """A decided number of tails is the true one at both ends of U's interval; few stay undecided."""
        width = 12
        jumps = [(1 - Fraction(numerator, 2**shift)) ** (k + 1) for k in range(bound)]
        undecided = 0
        for digits in range(2**width):
            low, high = Fraction(digits, 2**width), Fraction(digits + 1, 2**width)
            at_low = sum(low < jump for jump in jumps)
            at_high = sum(high <= jump for jump in jumps)
            found = _decided(digits, width, (numerator, shift, 1), bound)
            if found is None:
                undecided += 1
            else:
                assert found == at_low == at_high
        assert undecided <= 2**width // 6

    def test_refines_until_decided(self):
        """A uniform number that starts on a boundary is refined, not rounded."""

        class Scripted:
            def __init__(self, words):
                self.words = list(words)

            def uniform(self, bound):
                word = self.words.pop(0)
                assert word < bound
                return word

        width = (3).bit_length() + 64
        third_power = int(Fraction(2, 3) * 2**width)  # keep = 1 - p with p = 1/3 in binary, about
        p = (2**80) // 3
        above, below = Scripted([third_power, 2**width - 1]), Scripted([third_power, 0])
        assert (failures(p, 80, 3, above), failures(p, 80, 3, below)) == (0, 1)
        assert not above.words
        assert not below.words

    @pytest.mark.parametrize("make", [lambda: SimSampler(5), SecureSampler], ids=["simulated", "secure"])
    def test_law_of_failures(self, make):
        """The number of tails follows the truncated geometric law (chi-square, 8 cells, one repetition)."""
        p, bound, draws = Fraction(1, 4), 7, 4000
        expected = [(1 - p) ** k * p for k in range(bound)] + [(1 - p) ** bound]
        for attempt in range(2):
            sampler = make()
            seen = np.bincount([failures(1, 2, bound, sampler) for _ in range(draws)], minlength=bound + 1)
            means = np.array([float(e) * draws for e in expected])
            if ((seen - means) ** 2 / means).sum() < 40.5:  # alpha = 1e-6 at 7 degrees of freedom
                return
            assert attempt == 0

    def test_astronomical_bound(self):
        """On 2^300 coins of probability 2^-290 the number of tails is exponential of mean 2^290."""
        sampler = SimSampler(3)
        scaled = [failures(1, 290, 2**300, sampler) / 2**290 for _ in range(150)]
        assert abs(sum(scaled) / len(scaled) - 1) < 5 / math.sqrt(len(scaled))
        assert 0.5 < np.median(scaled) < 0.9

    def test_geometric_law(self):
        """The level's noise is geometric."""
        sampler, scale, draws = SimSampler(11), Fraction(2), 6000
        values = np.array([geometric(scale, sampler) for _ in range(draws)])
        r = math.exp(-0.5)
        for k in range(4):
            assert abs((values >= k).mean() - r**k) < 5 * math.sqrt(r**k / draws)

    def test_draw_follows_the_law(self):
        """The simulated scan agrees with the exact law of an independent computation."""
        crossing, draws, sampler = Crossing(2, Fraction(3, 4), Fraction(5, 4)), 8000, SimSampler(8)
        groups, counts = [(2, 0), (1, 1), (2, 3)], [0, 0, 1, 3, 3]
        r = Fraction(math.exp(-1 / crossing.scale))
        law = crossing_law(counts, r, crossing.ratio)
        assert abs(sum(law) - 1) < Fraction(1, 10**12)
        seen = np.bincount([crossing.draw(groups, sampler) for _ in range(draws)], minlength=6)
        means = np.array([float(p) * draws for p in law])
        assert ((seen - means) ** 2 / means).sum() < 40.5

    @pytest.mark.parametrize("bad", [(0, 3, 1), (8, 3, 1), (1, 3, 0)])
    def test_refuses(self, bad):
        """Probabilities outside (0, 1) and empty runs are refused."""
        with pytest.raises(ArgumentError):
            failures(*bad, SimSampler(0))


class TestScanningOrder:
    def test_descending_lists_every_place_once(self):
        """The groups cover the places from the top with the count of records at or above each."""
        rng = np.random.default_rng(1)
        for _ in range(50):
            m, n = int(rng.integers(2, 12)), int(rng.integers(1, 8))
            ranks, labels = rng.integers(0, m, n), rng.choice([-1, 1], n)
            sample = Sample.from_cells(Domain.line(m), ranks, labels)
            listed = [c for size, c in descending(sample, -1) for _ in range(size)]
            chosen = ranks[labels < 0]
            assert listed == [int((chosen >= theta).sum()) for theta in range(m - 1, -1, -1)]

    def test_python_integers(self):
        """Ranks beyond 64 bits keep their exact places."""
        sample = Sample.from_cells(Domain.line(2**100), [2**99, 3], [-1, -1])
        assert list(descending(sample, -1)) == [(2**99 - 1, 0), (2**99 - 3, 1), (4, 2)]


class TestPrivacy:
    """Exact audits with rational ratios: shares log 2 and log 4, every bound a power of two."""

    def test_moved_record(self):
        """Moving one record costs at most level + place in any probability, and that is nearly tight."""
        audit = worst_log_ratio(_scan_law, neighbour_pairs(range(PLACES), 3))
        assert audit.upper <= 1 / (R * RHO)
        assert audit.lower > Fraction(3, 4) / (R * RHO)

    def test_added_record(self):
        """Adding or removing one record costs at most the larger share."""
        pairs = [
            pair
            for data, _ in neighbour_pairs(range(PLACES), 3)
            for pair in ((data, data[:-1]), (data[:-1], data), (data, data[1:]), (data[1:], data))
        ]
        assert worst_log_ratio(_scan_law, pairs).upper <= max(1 / R, 1 / RHO)

    @pytest.mark.parametrize(
        "bug", [{"rho": RHO**2}, {"r": R**3}], ids=["place share doubled", "level tripled"]
    )
    def test_planted_bug_in_the_scan(self, bug):
        """A scan whose noise is too small is caught."""
        audit = worst_log_ratio(lambda data: _scan_law(data, **bug), neighbour_pairs(range(PLACES), 3))
        assert audit.lower > 1 / (R * RHO)

    def test_both_messages_of_a_mixed_party(self):
        """Scan and count together stay within epsilon = log 8, whatever place the counterpart releases."""
        records = [(x, y) for x in range(PLACES - 1) for y in (-1, 1)]
        worst = 0
        for other in (0, 2, PLACES):
            law = cache(lambda data, other=other: view_law(data, other))
            worst = max(worst, worst_log_ratio(law, neighbour_pairs(records, 2)).upper)
        assert Fraction(9, 2) < worst <= 8

    def test_planted_bug_in_the_count(self):
        """A count that is given the whole budget again is caught."""
        records = [(x, y) for x in range(PLACES - 1) for y in (-1, 1)]
        law = cache(lambda data: view_law(data, PLACES, count_ratio=Fraction(1, 8)))
        assert worst_log_ratio(law, neighbour_pairs(records, 2)).lower > 8

    def test_constants_are_rounded_towards_privacy(self):
        """The ratio of the places is at least exp(-share), the level's scale at least 1/share."""
        for share in (Fraction(1, 1000), Fraction(1, 3), Fraction(99, 7), Fraction(90)):
            crossing = Crossing(1, share, share)
            assert float(crossing.ratio) >= math.exp(-share) * (1 - 1e-15)
            assert 1 / crossing.scale <= share
            assert crossing.epsilon_added == share


def _scan_law(data, **shares):
    return dict(enumerate(_stops(counts_of(data), shares.get("r", R), shares.get("rho", RHO))))


def test_early_stop_bound():
    """The chance of stopping at a count <= a is at most m (1-r)/(1 - r rho) rho^(start - a), exactly."""
    for counts in [(0, 0, 0, 0), (0, 0, 1, 2), (0, 1, 1, 5), (1, 1, 1, 1)]:
        for start in (2, 3, 6):
            law = crossing_law(counts, start=start)
            assert sum(law) == 1
            for a in (0, 1):
                early = sum(p for p, c in zip(law, counts, strict=False) if c <= a)
                assert early <= len(counts) * (1 - R) / (1 - R * RHO) * RHO ** (start - a)
