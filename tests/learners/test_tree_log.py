"""Laws of the tree level: its tails, its combinatorics, its exact privacy, its accuracy, and planted bugs."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.divergence import worst_divergence

from geomdp.core.errors import ArgumentError
from geomdp.learners.oracles import tree_log as module
from geomdp.learners.oracles.noisy_tests import (
    above_threshold,
    above_threshold_law,
    difference_tail,
    leading,
    least_difference,
    least_reach,
    stable_leader,
)
from geomdp.learners.oracles.private_ip import plan_levels
from geomdp.learners.oracles.tree_log import (
    MedianPlan,
    TreePlan,
    check_plan,
    deepest,
    heavy_path,
    interior,
    middle_blocks,
    search_delta,
    side_points,
    stability_delta,
    tree_log,
)
from geomdp.privacy.audit import neighbour_pairs
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.laplace import dlap_pmf, dlap_sf
from geomdp.privacy.runs import law_of
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale


def _plan(bits=2, **changes):
    """Return a tiny plan; its deltas are the certified ones of its integers."""
    numbers = {
        "bits": bits,
        "search": Fraction(3),
        "stability": Fraction(1),
        "choice": Fraction(1),
        "search_delta": Fraction(1),
        "stability_delta": Fraction(1),
        "threshold": 2,
        "heavy": 3,
        "margin": 5,
        "side": 1,
        "slice": 7,
        "inner": MedianPlan(bits + 1, Fraction(1), 1),
    }
    plan = TreePlan(**(numbers | changes))
    return replace(plan, search_delta=search_delta(plan), stability_delta=stability_delta(plan))


def _law(plan):
    return lambda points: law_of(lambda runs: tree_log(points, plan, runs), reach=1)


# ---------------------------------------------------------------- noisy comparisons


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(40)])
def test_tails_agree_with_direct_sums(scale):
    """P(Z - Z' >= t) and the least t for a probability agree with sums over the law of the noise."""
    reach = int(60 * scale)
    for t in (1, 2, 7, 50):
        direct = sum(dlap_pmf(z, scale) * dlap_sf(t + z, scale) for z in range(-reach, reach))
        enclosure = difference_tail(scale, t)
        assert float(enclosure.lo) == pytest.approx(direct, rel=1e-9)
        assert float(enclosure.hi) == pytest.approx(direct, rel=1e-9)
    for p in (Fraction(1, 10), Fraction(1, 10**9)):
        t = least_difference(scale, p)
        assert difference_tail(scale, t).hi <= p
        assert t == 1 or difference_tail(scale, t - 1).lo > p
        t = least_reach(scale, p)
        assert dlap_sf(t, scale) <= float(p) * (1 + 1e-9)
        assert t == 1 or dlap_sf(t - 1, scale) > float(p) * (1 - 1e-9)


@pytest.mark.parametrize("sampler", [SimSampler(3), SecureSampler()], ids=["simulated", "secure"])
def test_the_search_draws_its_law(sampler):
    """Frequencies of 4,000 answers agree with the enclosed law: chi-square below its 10^-7 quantile."""
    queries = [0, 3, 1, 4]
    law = above_threshold_law(queries, 3, Interval.exp_neg(1 / noise_scale(3, Fraction(2))))
    assert sum(p.lo for _, p in law) <= 1 <= sum(p.hi for _, p in law)
    seen = Counter(above_threshold(queries, 3, Fraction(2), sampler) for _ in range(4000))
    assert sum((seen[k] - 4000 * float(p.lo)) ** 2 / (4000 * float(p.lo)) for k, p in law) < 38


def _near(a, b):
    return all(abs(x - y) <= 1 for x, y in zip(a, b, strict=True))


def test_the_search_is_private_over_all_moves():
    """Over all queries in 0..2 and all moves by at most 1 the worst ratio is at most exp(epsilon)."""
    epsilon = Fraction(1)
    r = Interval.exp_neg(1 / noise_scale(3, epsilon))
    known = {q: dict(above_threshold_law(q, 1, r)) for q in np.ndindex(4, 4)}
    bound = 1 / Interval.exp_neg(epsilon).hi
    worst = max(
        known[a][k].hi / known[b][k].lo for a in known for b in known if _near(a, b) for k in (0, 1, None)
    )
    assert math.exp(0.5) < worst <= bound
    fewer = {q: dict(above_threshold_law(q, 1, r * r)) for q in known}  # planted: half the noise
    assert (
        max(fewer[a][k].lo / fewer[b][k].hi for a in known for b in known if _near(a, b) for k in (0, 1))
        > bound
    )


def test_an_unstable_leader_is_rarely_released():
    """On all counts of 6 records on 3 keys the test is (epsilon, delta)-DP, delta = P(2 + Z >= margin)."""
    epsilon, cutoff = Fraction(1), 6

    def law(data):
        counts = {k: data.count(k) for k in sorted(set(data))}
        return law_of(lambda runs: stable_leader(counts, cutoff, epsilon, runs), reach=1)

    pairs = list(neighbour_pairs(range(3), 6))
    delta = dlap_sf(cutoff - 2, noise_scale(2, epsilon))
    worst = worst_divergence(law, pairs, epsilon)
    assert delta / 4 < worst.hi <= delta

    def careless(data):  # planted: the margin is released without a cut-off
        leader, _ = leading({k: data.count(k) for k in sorted(set(data))})
        return {leader: Fraction(1)}

    assert worst_divergence(careless, pairs, epsilon).lo == 1


def test_the_leader_is_drawn_with_its_law():
    """The rate of release of a lead of 4 at cut-off 5 is P(Z >= 1)."""
    sampler = SimSampler(5)
    hits = sum(stable_leader({1: 6, 2: 2}, 5, Fraction(1), sampler) == 1 for _ in range(4000))
    p = dlap_sf(1, Fraction(2))
    assert abs(hits - 4000 * p) < 5 * math.sqrt(4000 * p * (1 - p))


# ---------------------------------------------------------------- combinatorics of the proof


def _case(first, second, plan):
    """Assert what the proof says about two middles that differ in one replaced point; return its case."""
    (path, q), (path_, q_) = heavy_path(first, plan), heavy_path(second, plan)
    T = plan.heavy
    if path == path_:
        assert all(abs(a - b) <= 1 for a, b in zip(q, q_, strict=True))
        case = "a"
    else:
        v = plan.bits - (path ^ path_).bit_length()
        assert all(abs(a - b) <= 1 for a, b in zip(q[: v + 1], q_[: v + 1], strict=True))
        if min(q[v], q_[v]) >= T:
            return "b1"
        assert not any(q[v + 1 :] + q_[v + 1 :])
        case = "b2"
    (deep, depths), (deep_, depths_) = deepest(first, path, plan), deepest(second, path_, plan)
    assert (Counter(deep) - Counter(deep_)).total() <= 1
    assert (Counter(depths) - Counter(depths_)).total() <= 1
    return case


@pytest.mark.parametrize(("bits", "heavy", "n"), [(2, 1, 4), (2, 2, 7), (2, 3, 9), (3, 1, 5), (3, 2, 6)])
def test_every_replaced_point_falls_in_a_case_of_the_proof(bits, heavy, n):
    """For all middles: queries are close, or 0 below the fork, and slice and depths change by one point."""
    plan = _plan(bits, heavy=heavy, slice=2 * heavy + 1)
    seen = {_case(a, b, plan) for a, b in neighbour_pairs(range(1 << bits), n)}
    assert {"a", "b2"} <= seen


@given(st.data())
def test_cases_on_long_paths(data):
    """The same for random middles of 6 bits, clustered around the fork."""
    heavy = data.draw(st.integers(1, 4))
    plan = _plan(6, heavy=heavy, slice=2 * heavy + 1)
    values = st.sampled_from([0, 1, 2, 3, 7, 8, 30, 31, 32, 33, 34, 40, 63])
    points = data.draw(st.lists(values, min_size=2 * heavy + 2, max_size=22))
    other = [data.draw(values), *points[1:]]
    _case(sorted(points), sorted(other), plan)


def test_a_lower_cap_or_a_shorter_slice_breaks_the_proof(monkeypatch):
    """With the cap at T, queries below the fork differ; with 2T - 1 deep points, two of them change."""
    plan = _plan(2, heavy=2, slice=5)
    forked = (0, 0, 1, 1, 1, 2), (0, 0, 1, 1, 2, 2)
    assert _case(*forked, plan) == "b2"
    with pytest.raises(AssertionError):
        _case(*forked, replace(plan, slice=3))
    plan = _plan(3, heavy=1, slice=3)
    forked = (0, 2, 4, 4), (2, 3, 4, 4)
    assert _case(*forked, plan) == "b2"
    monkeypatch.setattr(TreePlan, "cap", property(lambda plan: plan.heavy))
    with pytest.raises(AssertionError):
        _case(*forked, plan)


# ---------------------------------------------------------------- exact audits


AUDITED = [
    _plan(),
    _plan(threshold=1, heavy=2, slice=5, margin=4, stability=Fraction(2)),
]


@pytest.mark.parametrize("plan", AUDITED)
def test_exact_audit(plan):
    """For all neighbours of n points on 4 values, the law of the program is (epsilon, delta)-close."""
    n = 2 * plan.side + plan.slice + 1
    pairs = list(neighbour_pairs(range(4), n))
    worst = worst_divergence(_law(plan), pairs, plan.epsilon)
    assert worst.hi <= plan.delta
    assert worst_divergence(_law(plan), pairs[:300], plan.epsilon / 20).lo > 0  # the audit sees differences


@pytest.mark.exhaustive
def test_exact_audit_on_eight_values():
    """For all neighbours of 8 points on 8 values the law of the program is (epsilon, delta)-close."""
    plan = _plan(3, threshold=1, heavy=2, slice=5, margin=4)
    worst = worst_divergence(_law(plan), neighbour_pairs(range(8), 8), plan.epsilon)
    assert worst.hi <= plan.delta


def test_draws_follow_the_audited_law():
    """Frequencies of 3,000 answers agree with the law of the audit: chi-square below its 10^-7 quantile."""
    plan, points = AUDITED[0], (0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 3)
    law, sampler = _law(plan)(points), SimSampler(12)
    seen = Counter(tree_log(points, plan, sampler) for _ in range(3000))
    assert set(seen) <= set(law)
    assert sum((seen[z] - 3000 * float(p.lo)) ** 2 / (3000 * float(p.lo)) for z, p in law.items()) < 35


def _stop_by_weight(monkeypatch):
    """Ask nothing at nodes of fewer than 2T points: a rule that looks at the data."""
    true = module.heavy_path

    def stopping(middle, plan):
        path, queries = true(middle, replace(plan, heavy=-1))  # cap 0: the bare minimum of the children
        weights = [sum(x >> plan.bits - d == path >> plan.bits - d for x in middle) for d in range(plan.bits)]
        return path, [q if w >= 2 * plan.heavy else -9 for q, w in zip(queries, weights, strict=True)]

    monkeypatch.setattr(module, "heavy_path", stopping)


def test_a_stop_that_looks_at_the_weight_is_caught(monkeypatch):
    """A node asked about only if it has 2T points exceeds delta by far; the program itself does not."""
    plan = _plan(
        search=Fraction(6), threshold=4, heavy=8, slice=17, side=2, margin=40, choice=Fraction(2)
    )  # fmt: skip
    first = (0,) * 10 + (1,) * 8 + (3,) * 4
    second = (0,) * 9 + (1,) * 8 + (3,) * 5
    pairs = [(first, second), (second, first)]
    assert worst_divergence(_law(plan), pairs, plan.epsilon).hi <= plan.delta < Fraction(1, 100)
    _stop_by_weight(monkeypatch)
    assert worst_divergence(_law(plan), pairs, plan.epsilon).lo > Fraction(9, 10)


# ---------------------------------------------------------------- plans and accuracy


@pytest.mark.parametrize("bits", [1, 2, 20, 357])
@pytest.mark.parametrize("levels", [1, 2])
def test_plans_keep_their_promises(bits, levels):
    """A plan spends epsilon and delta exactly, and its integers keep both parts of delta."""
    arguments = 2**bits, Fraction(1), Fraction(1, 10**6), Fraction(1, 20)
    plan = check_plan(plan_levels(*arguments, levels))
    assert (plan.epsilon, plan.delta, plan.levels) == (1, Fraction(1, 10**6), levels)
    with pytest.raises(ArgumentError):
        check_plan(replace(plan, heavy=plan.heavy - 1))
    if bits > 3:
        with pytest.raises(ArgumentError):
            check_plan(replace(plan, threshold=plan.threshold - 2, heavy=plan.heavy - 2))
    with pytest.raises(ArgumentError):
        check_plan(replace(plan, slice=2 * plan.heavy))
    with pytest.raises(ArgumentError):
        check_plan(replace(plan, margin=2))


def test_side_points_are_enough():
    """With t trimmed points, two candidates of score 0 win with probability at most beta: the exact law."""
    from geomdp.privacy.selection import pf_law

    for choice in (Fraction(1, 4), Fraction(1), Fraction(3)):
        t = side_points(choice, Fraction(1, 20))
        coin = Interval.exp_neg(t / noise_scale(2, choice))
        law = pf_law([Interval.of(1), coin, coin])
        assert law[1].hi + law[2].hi <= Fraction(1, 20)


def _inputs(rng, bits, n):
    yield [0] * n
    yield [(1 << bits) - 1] * n
    yield [1 << int(k) for k in rng.integers(0, bits, n)]
    yield [(1 << bits - 1) + (-1) ** k * k for k in range(n)]
    yield [int.from_bytes(rng.bytes(bits // 8), "big") for _ in range(n)]
    yield [0] * (n // 2) + [(1 << bits) - 1] * (n - n // 2)
    yield [(1 << bits) - 1 - (1 << int(k)) for k in rng.integers(0, bits, n)]


@pytest.mark.parametrize("bits", [8, 400])
def test_answers_lie_between_the_points(bits):
    """On clusters, spreads and geometric spreads the answer is interior, at the planned number of points."""
    rng = np.random.default_rng(0)
    plan = plan_levels(2**bits, Fraction(4), Fraction(1, 10**6), Fraction(1, 20), 1)
    sampler = SimSampler(1)
    answers = [
        (min(points), tree_log(points, plan, sampler), max(points))
        for points in _inputs(rng, bits, plan.n)
        for _ in range(3)
    ]
    assert sum(a <= z <= b for a, z, b in answers) >= len(answers) - 2


def test_two_levels_run_and_too_few_points_are_refused():
    """A plan of two levels works, and a tree level with fewer points than its slices hold is an error."""
    plan = plan_levels(2**64, Fraction(4), Fraction(1, 10**4), Fraction(1, 10), 2)
    points = [1 << k % 60 for k in range(plan.n)]
    assert 1 <= interior(points, plan, SimSampler(0)) <= 1 << 59
    with pytest.raises(ArgumentError):
        tree_log(points[: plan.slice], plan, SimSampler(0))


@given(st.lists(st.integers(0, 11), max_size=7))
def test_the_middle_score_counts_both_sides(points):
    """The blocks hold min(#{x <= z}, #{x >= z}) for every z."""
    got = [b.score for b in middle_blocks(points, 12) for _ in range(b.first, b.last + 1)]
    assert got == [min(sum(x <= z for x in points), sum(x >= z for x in points)) for z in range(12)]
