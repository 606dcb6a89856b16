"""Laws of the statistical audit: valid bounds, power on a planted bug, no alarm on right code."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from geomdp.core.errors import ArgumentError
from geomdp.privacy.law import dlap_pmf
from geomdp.privacy.sampler import SimSampler, noise_scale
from geomdp.privacy.statistical import (
    Evidence,
    audit_by_runs,
    clopper_pearson,
    evidence,
    most_telling,
)

EPSILON = Fraction(3, 10)


def counts(scale, count, draws, seed):
    """Return noisy counts, clamped to the window where their ratio still changes."""
    return np.clip(count + SimSampler(seed).discrete_laplace(scale, draws), -1, 2).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_a_scale_off_by_two_is_flagged_at_ten_thousand_runs(seed):
    """At N = 10,000 the right noise is not flagged, half the noise is, and no bound passes the truth."""
    scale = noise_scale(1, EPSILON)
    right = evidence(counts(scale, 0, 10_000, 4 * seed), counts(scale, 1, 10_000, 4 * seed + 1))
    wrong = evidence(counts(scale / 2, 0, 10_000, 4 * seed + 2), counts(scale / 2, 1, 10_000, 4 * seed + 3))
    assert not right.refutes(EPSILON)
    assert wrong.refutes(EPSILON)
    assert not wrong.refutes(2 * EPSILON)
    assert wrong.epsilon > 0.4


def test_bounds_hold_as_often_as_promised():
    """At alpha = 1/5 the bound passes the true loss in at most that share of 300 audits (and chance)."""
    scale, wrong = Fraction(2), 0
    truth = math.log(dlap_pmf(0, scale) / dlap_pmf(1, scale))
    for seed in range(300):
        found = evidence(
            counts(scale, 0, 400, 2 * seed + 900), counts(scale, 1, 400, 2 * seed + 901), alpha=0.2
        )
        wrong += found.epsilon > truth + 1e-12
    assert wrong <= binom.ppf(1 - 1e-9, 300, 0.2)


@pytest.mark.parametrize("runs", [1, 7, 50])
def test_clopper_pearson_covers(runs):
    """For every p on a grid, each one-sided bound fails with probability at most its level, exactly."""
    level = 0.05
    bounds = [clopper_pearson(hits, runs, level) for hits in range(runs + 1)]
    for p in np.linspace(0, 1, 101):
        mass = binom.pmf(np.arange(runs + 1), runs, p)
        assert sum(m for m, (low, _) in zip(mass, bounds, strict=True) if low > p) <= level + 1e-9
        assert sum(m for m, (_, high) in zip(mass, bounds, strict=True) if high < p) <= level + 1e-9
    assert bounds[0][0] == 0
    assert bounds[-1][1] == 1


def test_either_direction_and_rare_complements():
    """A loss that shows only for the neighbour, or only in an event's complement, is found too."""
    plain, other = ["no"] * 900 + ["yes"] * 100, ["no"] * 500 + ["yes"] * 500
    rng = np.random.default_rng(1)
    shuffled = [list(rng.permutation(views)) for views in (plain, other)]
    one, two = evidence(*shuffled), evidence(*shuffled[::-1])
    assert one.swapped != two.swapped
    assert one.epsilon == pytest.approx(two.epsilon, abs=0.3)
    assert min(one.epsilon, two.epsilon) > 1
    assert one.event == two.event == ("yes",)


def test_a_leak_of_the_data_is_unbounded():
    """A mechanism that shows the data gets a bound that grows with the logarithm of the runs."""
    assert audit_by_runs(lambda x: x, 0, 1, draws=4000).epsilon > 4
    told = []
    audit_by_runs(lambda x: 0, 0, 1, draws=200, progress=told.append)
    assert told == [0.5, 1.0]


def test_nothing_to_see():
    """Equal laws, a single view, and few runs show nothing."""
    assert evidence([0] * 10, [0] * 10) == Evidence(0.0, 1e-3, (), False, 10)
    assert evidence([0, 1], [1, 0]).epsilon == 0
    rng = np.random.default_rng(2)
    assert evidence(rng.integers(0, 9, 2000).tolist(), rng.integers(0, 9, 2000).tolist()).epsilon < 0.2
    assert most_telling([evidence([0, 0], [0, 0])]).event == ()


@pytest.mark.parametrize(("first", "alpha"), [([0], 0.1), ([0, 1], 0), ([0, 1], 1)])
def test_bad_arguments(first, alpha):
    """Too few runs and levels outside (0, 1) are refused."""
    with pytest.raises(ArgumentError):
        evidence(first, [0, 1], alpha=alpha)
