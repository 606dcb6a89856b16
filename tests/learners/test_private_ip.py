"""Laws of the private interior point: the choice of its method, its exact privacy, its accuracy, totality."""

from fractions import Fraction

import numpy as np
import pytest
from support.divergence import worst_divergence

from geomdp.core.errors import ArgumentError
from geomdp.learners.oracles import private_ip as module
from geomdp.learners.oracles.private_ip import plan_levels, plan_private_ip, private_ip
from geomdp.learners.oracles.tree_log import MedianPlan
from geomdp.privacy.audit import neighbour_pairs, worst_log_ratio
from geomdp.privacy.runs import law_of, rational
from geomdp.privacy.sampler import SecureSampler, SimSampler

DELTA, BETA = Fraction(1, 10**6), Fraction(1, 20)
BUDGET = {"epsilon": Fraction(1), "delta": DELTA, "beta": BETA}
LARGE = BUDGET | {"epsilon": Fraction(4)}


def test_the_method_follows_from_public_numbers():
    """The plan with fewer points is taken: none below some bit length, one tree level above, never two."""
    needs = {
        bits: [plan_levels(2**bits, Fraction(1), DELTA, BETA, levels).n for levels in (0, 1, 2)]
        for bits in (20, 66, 357, 1000, 5026)
    }
    for bits, n in needs.items():
        chosen = plan_private_ip(2**bits, Fraction(1), DELTA, BETA)
        assert chosen.n == min(n[0], n[1]) < n[2]
        assert chosen.levels == (n[1] < n[0])
    assert needs[66][0] == 195
    assert needs[5026][1] < needs[5026][0] / 15
    assert plan_private_ip(2**5026, Fraction(1), Fraction(0), BETA).levels == 0


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2)])
def test_exact_audit_of_the_exponential_mechanism(epsilon):
    """For all neighbours of 3 points on 5 values the worst ratio is at most exp(epsilon), exactly."""

    def law(data):
        decay = rational(Fraction(1, 3), epsilon / 2)
        budget = {"epsilon": epsilon, "delta": Fraction(0), "beta": BETA}
        return law_of(lambda runs: private_ip(data, 5, runs, **budget), 1, decay=decay)

    audit = worst_log_ratio(law, neighbour_pairs(range(5), 3))
    assert 1 < audit.upper <= 9  # (1/3)^-2, the stand-in for exp(epsilon)


def test_a_doubled_score_is_caught(monkeypatch):
    """Planted: scores of sensitivity 2 exceed exp(epsilon) on three points."""
    true = module.interior

    def doubled(points, plan, sampler):
        return true(points, MedianPlan(plan.size, 2 * plan.epsilon, plan.n), sampler)

    monkeypatch.setattr(module, "interior", doubled)

    def law(data):
        return law_of(lambda runs: private_ip(data, 3, runs, **(BUDGET | {"delta": Fraction(0)})), 1)

    assert worst_log_ratio(law, neighbour_pairs(range(3), 5)).violates(1)


def test_exact_audit_with_a_tree_level():
    """A planned tree level at large epsilon and delta: neighbours on 4 values are (epsilon, delta)-close."""
    epsilon, delta, beta = Fraction(6), Fraction(1, 5), Fraction(1, 3)
    plan = plan_levels(4, epsilon, delta, beta, 1)
    n = plan.n
    pairs = []
    for cut in range(0, n, 3):
        data = (0,) * cut + (1,) * ((n - cut) // 2) + (2,) * (n - cut - (n - cut) // 2)
        pairs += [
            (data, (*data[:i], new, *data[i + 1 :])) for i in (0, cut, n - 1) for new in (0, 3) if i < n
        ]

    def law(data):
        return law_of(lambda runs: module.interior(data, plan, runs), 1)

    assert worst_divergence(law, pairs + [(b, a) for a, b in pairs], epsilon).hi <= delta


@pytest.mark.parametrize("bits", [10, 66, 400])
def test_answers_are_interior(bits):
    """At the planned number of points, answers miss the range of the points in at most 1 of 20 runs."""
    rng, sampler = np.random.default_rng(3), SimSampler(2)
    n = plan_private_ip(1 << bits, **LARGE).n
    misses = 0
    for trial in range(20):
        at = int(rng.integers(0, 1 << 62)) << bits >> 62
        steps = [(-1) ** k * (1 << int(rng.integers(0, bits))) * (trial % 2) for k in range(n)]
        points = [min(max(at + step, 0), (1 << bits) - 1) for step in steps]
        z = private_ip(points, 1 << bits, sampler, **LARGE)
        misses += not min(points) <= z <= max(points)
    assert misses <= 3


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 2**400 + 17])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_every_input_gives_a_rank_of_the_domain(size, n):
    """Without points, with one, with few: the answer is in the domain."""
    points = [size - 1] * n
    for sampler in (SimSampler(0), SecureSampler()):
        assert 0 <= private_ip(points, size, sampler, **BUDGET) < size


def test_the_answer_stays_inside_a_domain_that_is_no_power_of_two():
    """Above the last rank of the domain the tree's answer is moved to it."""
    size = 2**399 + 1
    n = plan_private_ip(size, Fraction(4), DELTA, BETA).n
    for seed in range(5):
        assert 0 <= private_ip([size - 1] * n, size, SimSampler(seed), **LARGE) < size


def test_bad_input_is_refused():
    """Ranks outside the domain, an empty domain, and a tree level without delta raise ArgumentError."""
    for ranks, size in (([5], 5), ([-1], 5), ([], 0)):
        with pytest.raises(ArgumentError):
            private_ip(ranks, size, SimSampler(0), **BUDGET)
    with pytest.raises(ArgumentError):
        plan_levels(2**9, Fraction(1), Fraction(0), BETA, 1)
