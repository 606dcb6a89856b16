"""What the laws of histogram testers and of tilted ones share: settings, samples, and how a run is judged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import binom

import geomdp as g
from geomdp.privacy.audit import audit_protocol, neighbour_pairs
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.base import Setting
from support.samplers import RecordingSampler

GRID = g.Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
BETA = Fraction(1, 10)
#: Two cells, two records: small enough for exact laws.
TINY = g.Domain.grid([("x", 0, 1, 2)])
RECORDS = [(x, y) for x in (0, 1) for y in (-1, 1)]
TINY_SETTING = Setting(TINY, 2, 2, Fraction(1), classes="thresholds")


def standard(domain=GRID, n=400, **more):
    """Return a setting at epsilon = 1 and beta = 1/10."""
    return Setting(domain, n, n, Fraction(1), BETA, **more)


def random_sample(domain, n, seed, flip=0.1):
    """Return n records that a random halfspace labels, some labels turned."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, domain.m, n)
    labels = np.where(domain.points[cells] @ rng.integers(-4, 5, domain.d) >= 0, 1, -1)
    return g.Sample.from_cells(domain, cells, np.where(rng.random(n) < flip, -labels, labels))


def tiny(data):
    """Return a dataset of RECORDS as a sample."""
    return g.Sample.from_cells(TINY, [x for x, _ in data], [y for _, y in data])


def assert_true_without_noise(tester, seed):
    """Assert that without noise the verdict is right and each interval holds what it estimates."""
    setting = tester.setting
    flip = 0.2 * (seed % 2)
    S_A, S_B = (random_sample(setting.domain, setting.n, 10 * seed + i, flip) for i in (0, 1))
    solve = g.opt_halfspace if setting.classes == "halfspaces" else g.opt_threshold
    pooled, a, b = solve(S_A, S_B).upper, solve(S_A).upper, solve(S_B).upper
    still = RecordingSampler()
    finding = tester.converse(S_A, S_B, still, still)
    for interval, value in (
        (finding.opt_interval, pooled),
        (finding.party_intervals["Alice"], a),
        (finding.party_intervals["Bob"], b),
        (finding.gap_interval, pooled - a - b),
    ):
        assert interval[0] <= value <= interval[1]
    assert finding.verdict == ("Far" if pooled >= tester.resolution else finding.verdict)
    assert finding.verdict == ("Match" if pooled == 0 else finding.verdict)
    assert finding.classifier.mistakes(S_A + S_B) == pooled


def assert_rarely_wrong(tester, conflict, runs):
    """Assert that verdict and interval fail in seeded runs at most as often as beta = 1/10 allows.

    Without a conflict opt is 0, with one it is the resolution.
    """
    n, k, at = tester.setting.n, tester.resolution if conflict else 0, np.arange(GRID.m)
    left = g.Sample.from_counts(GRID, n * (at == 5), 0 * at)
    right = g.Sample.from_counts(GRID, (n - k) * (at == 8), k * (at == 5))
    assert g.opt_halfspace(left, right).upper == k
    wrong = missed = 0
    for seed in range(runs):
        finding = tester.converse(left, right, *SimSampler(seed).spawn(2))
        wrong += finding.verdict != ("Far" if conflict else "Match")
        missed += not finding.opt_interval[0] <= k <= finding.opt_interval[1]
    assert max(wrong, missed) <= binom.ppf(1 - 1e-9, runs, 0.1)


def audit_three_answers(law, messages):
    """Audit a party that answers any of the other's messages by three of its own, over TINY's neighbours.

    Args:
        law: (data, history) -> the law of the next answer; history starts with the other's message.
        messages: what the other may send.
    """
    return audit_protocol(
        law,
        neighbour_pairs(RECORDS, 2),
        turn=lambda history: ("other", "own", "own", "own", "end")[len(history)],
        alphabet=lambda history: messages,
        state=lambda history: (history[:1], len(history)),
    )
