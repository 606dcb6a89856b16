"""Laws of the common frequency: independent hashes, errors as proved, estimates of full histograms."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.samplers import RecordingSampler

from geomdp.core.errors import ArgumentError
from geomdp.privacy.sampler import SimSampler, noise_scale
from geomdp.testers import common_frequency as module
from geomdp.testers.common_frequency import Hash, accuracy, bucket_count, common_frequency, release


class TestHash:
    @pytest.mark.parametrize(("bits", "buckets"), [(2, 2), (3, 2), (2, 3), (3, 4), (3, 5)])
    def test_pairs_are_independent(self, monkeypatch, bits, buckets):
        """Over all coins, two keys get each pair of values equally often, and collide as rarely as stated."""
        monkeypatch.setattr(module, "SPARE", 1)
        width = Hash(bits, buckets).width
        digits = width - bits + 1
        for x, y in product(range(1 << bits), repeat=2):
            if x >= y:
                continue
            seen, collisions = {}, 0
            for a, c in product(range(1 << width), repeat=2):
                raw = tuple(((a * key + c) % (1 << width)) >> (bits - 1) for key in (x, y))
                seen[raw] = seen.get(raw, 0) + 1
                h = Hash(bits, buckets, a, c)
                assert h(x) == raw[0] % buckets
                collisions += h(x) == h(y)
            assert len(seen) == 4**digits
            assert len(set(seen.values())) == 1
            assert Fraction(collisions, 4**width) <= Fraction(1, buckets) + Fraction(1, 2**digits)

    def test_identity(self):
        """A universe that fits is not hashed."""
        assert [Hash.draw(3, 8, SimSampler(0))(x) for x in range(8)] == list(range(8))
        assert Hash.draw(3, 7, SimSampler(0)).multiplier is not None

    def test_wide_keys(self):
        """Keys of thousands of digits spread over the buckets evenly."""
        h = Hash.draw(5000, 7, SimSampler(1))
        seen = np.bincount([h(3**3000 + 2**k) for k in range(1400)], minlength=7)
        assert seen.min() > 130
        assert seen.sum() == 1400

    def test_histogram(self):
        """Keys of one bucket are counted together."""
        assert Hash(3, 8).histogram([(1, 5), (3, 2), (1, 1)]) == {1: 6, 3: 2}


class TestEstimate:
    def test_without_noise(self):
        """With no noise the estimate is max min(A_v, B_v) where that reaches the cut-off, else None."""
        A, B = {1: 9, 2: 20, 5: 4}, {1: 12, 2: 7, 6: 30}
        for cutoff, expected in ((1, 9), (9, 9), (10, None)):
            sampler = RecordingSampler()
            h = Hash(3, 8)
            released = [release(x.items(), h, cutoff, Fraction(2), sampler) for x in (A, B)]
            assert common_frequency(*released) == expected

    def test_same_as_full_histograms(self):
        """The estimate from survivors is that of the full histograms, wherever it reaches the cut-off."""
        rng = np.random.default_rng(5)
        for _ in range(200):
            full = rng.integers(-3, 9, size=(2, 6))
            cutoff = 4
            kept = [{z: int(v) for z, v in enumerate(row) if v >= cutoff} for row in full]
            best = int(full.min(axis=0).max())
            assert common_frequency(*kept) == (best if best >= cutoff else None)

    @pytest.mark.parametrize("counts", [({0: 80}, {0: 60}), ({0: 40, 1: 40}, {0: 5, 1: 70, 2: 5})])
    def test_accuracy(self, counts):
        """The error exceeds (2/epsilon) log(4r/beta) with a frequency of at most about beta."""
        epsilon, beta, cells, runs = Fraction(1), Fraction(1, 5), 4, 400
        scale, h, sampler = noise_scale(2, epsilon), Hash(2, 4), SimSampler(9)
        truth = max(min(counts[0].get(v, 0), counts[1].get(v, 0)) for v in range(cells))
        bound, wrong = accuracy(cells, epsilon, beta), 0
        for _ in range(runs):
            first, second = (release(c.items(), h, 1, scale, sampler) for c in counts)
            found = common_frequency(first, second)
            wrong += found is None or abs(found - truth) > bound
        assert wrong <= runs * float(beta) + 4 * math.sqrt(runs * 0.16)

    def test_bounds(self):
        """R = ceil(4 k^2/beta); the accuracy needs a beta between 0 and 1."""
        assert bucket_count(7, Fraction(1, 3)) == 588
        assert accuracy(100, Fraction(1, 2), Fraction(1, 10)) == pytest.approx(4 * math.log(4000))
        with pytest.raises(ArgumentError):
            accuracy(5, Fraction(1), Fraction(1))
