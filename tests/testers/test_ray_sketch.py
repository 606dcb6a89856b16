"""Laws of the ray sketch: the lemma on rays, certified sketch errors, exact audits, both verdicts."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from support.samplers import RecordingSampler
from support.sessions import exchange
from support.zoo import POINTS, least_by_labellings

import geomdp as g
from geomdp.privacy.audit import laplace_law, neighbour_pairs, worst_log_ratio
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.law import dlap_pmf, dlap_sf
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.ray_sketch import Course, RaySketch, Sketcher, bucketed, holds_zero, rays_of
from geomdp.testers.ray_sketch_plan import (
    Sketch,
    absolute_sum_law,
    design,
    extreme_vectors,
    least_cut,
)

BETA = Fraction(1, 10)
CROSS = g.Domain([[1, 0], [-1, 0], [0, 1], [1, 1], [-2, -2], [2, 2]])
GRID = g.Domain.grid([("x", 0, 1, 40), ("y", 0, 1, 40)])
SMALL = Sketch(4, Fraction(2), Fraction(2), Fraction(1, 5), BETA)


# ---- the lemma: what the largest optimum, and a small one, say about the rays ----


def _nets(points, net):
    """Net counts per ray, rays compared by exact fractions: ray (a point scaled to max |x| = 1) -> net."""
    rays = Counter()
    for point, count in zip(points, net, strict=True):
        top = max(abs(v) for v in point)
        rays[tuple(Fraction(v, top) for v in point)] += int(count)
    return rays


NO_ZERO = [name for name, rows in POINTS.items() if all(any(row) for row in rows) and len(rows) <= 6]


@pytest.mark.parametrize("name", NO_ZERO)
def test_the_largest_optimum_leaves_nothing_on_the_lines(name):
    """An optimum of M/2 makes net(R) = net(-R) <= 0 on every line, and opt never exceeds M/2."""
    points = POINTS[name]
    rng = np.random.default_rng(5)
    seen = 0
    for trial in range(300):
        plus, minus = rng.integers(0, 3, (2, len(points)))
        if trial % 2:
            plus = minus.copy()
        total = int(plus.sum() + minus.sum())
        opt = least_by_labellings(points, plus, minus)
        assert 2 * opt <= total
        if 2 * opt == total:
            seen += 1
            nets = _nets(points, plus - minus)
            for ray, net in nets.items():
                assert net == nets.get(tuple(-v for v in ray), 0) <= 0
    assert seen


@pytest.mark.parametrize("name", NO_ZERO)
def test_a_small_optimum_leaves_a_large_mass(name):
    """An optimum <= t0 gives mass >= M - 2 t0 on rays, and >= (#negatives) - 2 t0 on lines."""
    points = POINTS[name]
    domain = g.Domain(points)
    rays, lines = rays_of(domain, lines=False), rays_of(domain, lines=True)
    rng = np.random.default_rng(6)
    for _ in range(300):
        plus, minus = rng.integers(0, 4, (2, len(points))) * rng.integers(0, 2, (2, len(points)))
        opt = least_by_labellings(points, plus, minus)
        sample = g.Sample.from_counts(domain, plus, minus)
        assert np.abs(rays.nets(sample)).sum() >= sample.n - 2 * opt
        assert np.abs(lines.nets(sample)).sum() >= minus.sum() - 2 * opt


@pytest.mark.parametrize("name", sorted(set(POINTS) - {"zero only", "zero among others"}))
def test_rays_are_those_of_exact_fractions(name):
    """Two points share a ray (line) iff one is a positive (non-zero) multiple of the other."""
    points = [p for p in POINTS[name] if any(p)]
    domain = g.Domain(points)
    rays, lines = rays_of(domain, lines=False), rays_of(domain, lines=True)
    scaled = [tuple(Fraction(v, max(abs(u) for u in p)) for v in p) for p in points]
    for i, j in itertools.product(range(len(points)), repeat=2):
        same, opposite = scaled[i] == scaled[j], scaled[i] == tuple(-v for v in scaled[j])
        assert (rays.index[i] == rays.index[j]) == same
        assert (lines.index[i] == lines.index[j]) == (same or opposite)
        if same or opposite:
            assert (lines.sign[i] == lines.sign[j]) == same
    assert rays.antipodal == any(tuple(-v for v in p) in scaled for p in scaled)
    assert rays.count == len(set(scaled))


# ---- the sketch: exact laws and the worst vector ----


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(7)])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_law_of_summed_sizes_is_a_convolution(count, scale):
    """The geometric-plus-coin form equals the repeated convolution of |Z|'s law."""
    one = np.array([dlap_pmf(z, scale) * (1 + (z > 0)) for z in range(400)])
    direct = np.ones(1)
    for _ in range(count):
        direct = np.convolve(direct, one)[:400]
    law = absolute_sum_law(count, scale)[:400]
    size = min(len(law), 400)
    np.testing.assert_allclose(law[:size], direct[:size], rtol=1e-9, atol=1e-14)
    assert abs(absolute_sum_law(4096, scale).sum() - 1) < 1e-9


def test_the_mean_of_many_summed_sizes_is_theirs():
    """With thousands of buckets the law keeps its place: mean B * 2r/(1 - r^2)."""
    law, r = absolute_sum_law(4096, Fraction(2)), math.exp(-0.5)
    assert abs(law @ np.arange(len(law)) - 4096 * 2 * r / (1 - r * r)) < 1e-6


@pytest.mark.parametrize("level", [Fraction(1, 10), Fraction(1, 1000)])
def test_the_cut_is_the_exact_quantile(level):
    """least_cut is the least c with P(sum |Z| + L >= c) <= level, by direct summation."""
    count, scale, extra = 3, Fraction(2), Fraction(3)
    one = np.array([dlap_pmf(z, scale) * (1 + (z > 0)) for z in range(200)])
    direct = np.convolve(np.convolve(one, one), one)

    def tail(c):
        return sum(p * dlap_sf(c - t, extra) for t, p in enumerate(direct))

    cut = least_cut(count, scale, extra, level)
    assert tail(cut) <= level < tail(cut - 1)


def test_the_weight_is_an_expectation():
    """g(D)/g(0) equals the direct sum over the noise, and falls with D."""
    lam = float(SMALL.rate / SMALL.scale)
    direct = [
        sum(dlap_pmf(z, SMALL.scale) * math.exp(-lam * abs(z + D)) for z in range(-400, 401))
        for D in range(60)
    ]
    weights = SMALL.weight(np.arange(60.0))
    np.testing.assert_allclose(weights, np.array(direct) / direct[0], rtol=1e-10)
    assert (np.diff(weights) < 0).all()


def _relative(sketch, entries):
    """E prod_b g(D_b)/g(0)^B, by the law of all bucket sums."""
    law = Counter({(0,) * sketch.buckets: 1.0})
    for u in entries:
        new = Counter()
        for sums, p in law.items():
            for b, sign in itertools.product(range(sketch.buckets), (1, -1)):
                moved = list(sums)
                moved[b] += sign * u
                new[tuple(sorted(map(abs, moved)))] += p / (2 * sketch.buckets) * 1.0
        law = new
    top = sum(entries) + 1
    g_of = sketch.weight(np.arange(float(top)))
    return sum(p * math.prod(g_of[s] for s in sums) for sums, p in law.items())


def _partitions(total, largest):
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("r", [2, 4, 6])
def test_equal_entries_are_summed_exactly(k, r):
    """A(k, r) by Poisson weights equals the sum over all buckets and signs."""
    assert abs(SMALL.equal_entries(k, r) - _relative(SMALL, (k,) * r)) < 1e-7


@pytest.mark.parametrize("r", [40, 200, 1000])
def test_negative_association_bounds_the_exact_sum(r):
    """Independent occupation numbers only raise the bound."""
    sketch = Sketch(16, Fraction(2), Fraction(2), Fraction(15, 100), BETA)
    for k in (1, 3):
        assert sketch._exactly(k, r) <= sketch._associated(k, r) * (1 + 1e-9)


@pytest.mark.parametrize("mass", [6, 8, 9])
def test_no_vector_is_worse_than_the_bound(mass):
    """Over all vectors of size mass..mass+3 the exact expectation is below the bound, both kinds."""
    bound = max(SMALL.equal_entries(k, r) for k, r in extreme_vectors(mass))
    single = max(bound, SMALL._dominant(mass))
    for total in range(mass, mass + 4):
        for entries in _partitions(total, total):
            value = _relative(SMALL, entries)
            assert value <= single * (1 + 1e-9)
            if 2 * entries[0] <= total:
                assert value <= bound * (1 + 1e-9)


@pytest.mark.parametrize("mass", [*range(2, 60), 997, 4000])
def test_extreme_vectors_cover_all_sizes(mass):
    """Each entry size k has a listed pair with k0 <= k and r0 <= 2 floor(N/2k)."""
    pairs = list(extreme_vectors(mass))
    for k in range(1, mass // 2 + 1):
        assert any(k0 <= k and r0 <= 2 * (mass // (2 * k)) for k0, r0 in pairs)


def test_more_budget_and_more_error_need_less_mass():
    """The least mass falls with the noise and with the allowed error, and certifies Match."""
    loud, still = (design(Fraction(b), Fraction(b), BETA, BETA, True) for b in (2, 1))
    strict = design(Fraction(2), Fraction(2), BETA / 2, BETA / 2, True)
    assert still.mass < loud.mass < strict.mass
    assert loud.sketch.miss(loud.mass, balanced=True) <= 0.1 < loud.sketch.miss(loud.mass - 2, balanced=True)
    assert loud.mass <= design(Fraction(2), Fraction(2), BETA, BETA, False).mass


def test_a_tiny_beta_is_refused_with_a_reason():
    """Two equal entries cancel in one bucket: no sketch of 4096 buckets serves beta = 10^-5."""
    tester = RaySketch(Setting(GRID, 10**6, 10**6, Fraction(1), Fraction(1, 10**5)))
    assert tester.resolution is None
    assert "beta is too small" in tester.reason


def test_coins_place_every_coordinate():
    """Bucket sums follow the coins, coordinate by coordinate."""
    rng = np.random.default_rng(3)
    nets = rng.integers(-9, 10, 23)
    for buckets in (1, 4, 32):
        coins = rng.integers(0, 2 * buckets, 23)
        sums = [0] * buckets
        for coin, net in zip(coins.tolist(), nets.tolist(), strict=True):
            sums[coin % buckets] += -net if coin >= buckets else net
        assert bucketed(nets, coins, buckets) == sums


def test_coins_are_uniform():
    """Over many draws every value 0..2B-1 comes equally often, at every coordinate."""
    rays = rays_of(LINE, lines=False)
    party = Sketcher("Alice", g.Sample.from_cells(LINE, [0], [1]), SimSampler(8), Budget(Fraction(1)))
    drawn = [party.coins(Transcript({}), rays, TINY).payload["coins"] for _ in range(4000)]
    for place in range(rays.count):
        counts = np.bincount([coins[place] for coins in drawn], minlength=4)
        assert len(counts) == 4
        assert (np.abs(counts - 1000) < 6 * math.sqrt(750)).all()


# ---- privacy, exactly ----

LINE = g.Domain([[1, 0], [-1, 0], [0, 1]])
RECORDS = [(x, y) for x in range(3) for y in (-1, 1)]
TINY = Course(lines=True, count=Fraction(1, 4), count_cut=2, least=1, mass=2, buckets=2, cut=3)
EPSILON = Fraction(3, 4)


def _party(data, still, name="Alice", epsilon=1):
    sample = g.Sample.from_cells(LINE, [x for x, _ in data], [y for _, y in data])
    return Sketcher(name, sample, still, Budget(Fraction(epsilon)))


def _start(coins, sketch=None):
    transcript = Transcript({})
    transcript.append(Message("Alice", "public coins", {"coins": list(coins)}, Fraction(0)))
    if sketch is not None:
        transcript.append(Message("Alice", "sketch", {"buckets": list(sketch)}, Fraction(0)))
    return transcript


def _sketch_law(data, coins, lines=True, bug=None):
    still = RecordingSampler()
    course = Course(lines, TINY.count, 2, 1, 2, 2, 3)
    rays = rays_of(LINE, lines=lines)
    centers = _party(data, still).sketch(_start(coins), rays, course, EPSILON).payload["buckets"]
    r = Interval.exp_neg((2 if bug == "scale" else 1) / still.scales[0])
    first, second = (laplace_law(c, r, -3, 3) for c in centers)
    if bug == "reused":
        return {(a, a + centers[1] - centers[0]): p for a, p in first.items()}
    return {(a, b): p * q for a, p in first.items() for b, q in second.items()}


def _magnitude_law(data, coins, y, bug=None):
    still = RecordingSampler()
    message = _party(data, still, "Bob").magnitude(_start(coins, y), rays_of(LINE, lines=True), TINY, EPSILON)
    r = Interval.exp_neg((2 if bug == "scale" else 1) / still.scales[0])
    return laplace_law(message.payload["value"], r, -1, 30)


def _negatives_law(data, factor=1):
    still = RecordingSampler()
    center = _party(data, still).negatives(Transcript({}), TINY).payload["value"]
    return laplace_law(center, Interval.exp_neg(factor / still.scales[0]), -1, 3)


@pytest.mark.parametrize("lines", [True, False])
def test_audit_of_the_sketch_is_tight(lines):
    """For any coins the worst exact ratio of the sketch is at most e^epsilon, and attained."""
    every = itertools.product(range(4), repeat=rays_of(LINE, lines=lines).count)
    pairs = list(neighbour_pairs(RECORDS, 2))
    audits = [
        worst_log_ratio(lambda data, c=c: _sketch_law(data, c, lines), pairs)
        for c in itertools.islice(every, 0, None, 3 if lines else 13)
    ]
    assert all(audit.log_upper <= 0.75 + 1e-9 for audit in audits)
    assert max(audit.log_lower for audit in audits) >= 0.75 - 1e-9


def test_audit_of_the_answer_holds_for_any_sketch():
    """Whatever coins and sketch arrive, the answer's worst ratio is at most e^epsilon, and attained."""
    pairs = list(neighbour_pairs(RECORDS, 2))
    audits = [
        worst_log_ratio(lambda data, c=c, y=y: _magnitude_law(data, c, y), pairs)
        for c in ((0, 0), (1, 1), (1, 2), (2, 3))
        for y in ((0, 0), (3, -3), (-1, 9))
    ]
    assert all(audit.log_upper <= 0.75 + 1e-9 for audit in audits)
    assert max(audit.log_lower for audit in audits) >= 0.75 - 1e-9


@pytest.mark.parametrize("bug", ["scale", "reused"])
def test_audit_catches_planted_bugs_in_the_sketch(bug):
    """Half the noise, or one noise in two buckets, is refuted."""
    pairs = list(neighbour_pairs(RECORDS, 2))
    assert any(
        worst_log_ratio(lambda data, c=c: _sketch_law(data, c, bug=bug), pairs).violates(EPSILON)
        for c in ((0, 0), (1, 0), (1, 1), (2, 1))
    )


def test_audit_catches_half_the_noise_in_the_answer():
    """Planted bug: the sum of sizes treated as if it moved by 1 is refuted."""
    pairs = list(neighbour_pairs(RECORDS, 2))
    assert worst_log_ratio(lambda data: _magnitude_law(data, (0, 0), (9, 9), "scale"), pairs).violates(
        EPSILON
    )


def _both_law(data, factor):
    counts, sketches = _negatives_law(data, factor), _sketch_law(data, (0, 0))
    return {(a, b): p * q for a, p in counts.items() for b, q in sketches.items()}


def test_audit_of_count_and_sketch_adds_up():
    """The two messages together stay within e^1; a count at the whole budget (counted once) does not."""
    pairs = list(neighbour_pairs(RECORDS[1:5], 2))
    right = worst_log_ratio(lambda data: _both_law(data, 1), pairs)
    assert right.log_upper <= 1 + 1e-9
    assert right.log_lower >= 1 - 1e-9
    assert worst_log_ratio(lambda data: _both_law(data, 4), pairs).violates(1)


@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
def test_budgets_are_spent_exactly(labels):
    """From the secure source each party spends epsilon exactly, where every message is used."""
    setting = Setting(CROSS, 6, 6, Fraction(2, 3), labels=labels)
    S = g.Sample.from_cells(CROSS, [0, 1, 2, 3, 4, 5], [-1] * 6)
    T = g.Sample.from_cells(CROSS, [0, 1, 2, 3, 4, 5], [1] * 6)
    finding = RaySketch(setting).converse(S, T, SecureSampler(), SecureSampler())
    assert {finding.transcript.spent(name) for name in ("Alice", "Bob")} == {Fraction(2, 3)}


@pytest.mark.parametrize("coins", [None, 7, "ab", [], [0], [0, 4], [0, -1], [0, True], [0, 0.0], [0, 0, 0]])
def test_bad_coins_are_refused_whatever_is_held(coins):
    """A refusal names the public form only and is the same for all records."""
    errors = set()
    for data in ([(0, 1), (0, -1)], [(2, 1), (2, 1)]):
        transcript = Transcript({})
        transcript.append(Message("Alice", "public coins", {"coins": coins}, Fraction(0)))
        with pytest.raises(g.ProtocolError) as caught:
            _party(data, RecordingSampler()).sketch(transcript, rays_of(LINE, lines=True), TINY, EPSILON)
        errors.add(str(caught.value))
    assert len(errors) == 1


@pytest.mark.parametrize("sketch", [[0], [0, 0.5], [0, 2**61], "ab", [True, 0]])
def test_bad_sketches_are_refused(sketch):
    """The answering party checks the form of a sketch before it looks at its records."""
    transcript = _start((0, 0))
    transcript.append(Message("Alice", "sketch", {"buckets": sketch}, Fraction(0)))
    with pytest.raises(g.ProtocolError):
        _party([(0, 1)], RecordingSampler(), "Bob").magnitude(
            transcript, rays_of(LINE, lines=True), TINY, EPSILON
        )


# ---- verdicts ----


def _spread(domain, n, seed, label):
    cells = np.random.default_rng(seed).choice(domain.m, n, replace=n > domain.m)
    return cells, np.full(n, label)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
def test_simulated_errors_stay_below_beta(labels, heavy):
    """At the least n both verdicts err at most as often as promised: spread records and few heavy cells."""
    n = RaySketch(Setting(GRID, 2, 2, Fraction(1), labels=labels)).resolution
    tester = RaySketch(Setting(GRID, n, n, Fraction(1), labels=labels))
    assert tester.feasible
    assert tester.resolution == n
    low, high = np.arange(GRID.m) < GRID.m // 2, np.arange(GRID.m) >= GRID.m // 2
    cells = [np.flatnonzero(side)[:: 1 if not heavy else 400][:n] for side in (low, high)]
    A, B = (
        g.Sample.from_cells(GRID, np.resize(c, n), np.full(n, y)) for c, y in zip(cells, (-1, 1), strict=True)
    )
    twin = g.Sample.from_counts(GRID, A.negative, A.positive)
    wrong = Counter()
    for seed in range(150):
        for name, other in (("Match", B), ("Far", twin)):
            verdict = tester.converse(A, other, *SimSampler(seed).spawn(2)).verdict
            wrong[name] += verdict != name
    assert g.opt_halfspace(A, twin).upper == n
    assert all(count <= binom.ppf(1 - 1e-9, 150, 0.1) for count in wrong.values())


@pytest.mark.parametrize("few", [True, False])
def test_antipodal_rays_with_mixed_labels(few):
    """With antipodes the count decides samples of few negatives, lines decide the others; Far stays Far."""
    n = RaySketch(Setting(CROSS, 2, 2, Fraction(1))).resolution
    tester = RaySketch(Setting(CROSS, n, n, Fraction(1)))
    assert tester.feasible
    assert not RaySketch(Setting(CROSS, n - 1, n - 1, Fraction(1))).feasible
    half = n // 2
    if few:  # all +, equally often on both rays of a line: invisible to the lines
        A = B = g.Sample.from_counts(CROSS, [half, n - half, 0, 0, 0, 0], [0] * 6)
    else:
        A = g.Sample.from_counts(CROSS, [half, 0, 0, 0, 0, 0], [0, n - half, 0, 0, 0, 0])
        B = g.Sample.from_counts(CROSS, [0, 0, 0, n, 0, 0], [0, 0, 0, 0, 0, 0])
    far = g.Sample.from_counts(CROSS, A.negative, A.positive)
    assert g.opt_halfspace(A, B).upper == 0
    runs = [tester.converse(A, B, *SimSampler(seed).spawn(2)).verdict for seed in range(100)]
    assert runs.count("Far") <= binom.ppf(1 - 1e-9, 100, 0.1)
    if not few:
        assert g.opt_halfspace(A, far).upper == n
        runs = [tester.converse(A, far, *SimSampler(seed).spawn(2)).verdict for seed in range(100)]
        assert runs.count("Match") <= binom.ppf(1 - 1e-9, 100, 0.1)


def test_negatives_on_antipodal_rays_are_far():
    """Equal numbers of negatives on both rays of a line: the nets are not 0, the lines are, and opt = M/2."""
    n = RaySketch(Setting(CROSS, 2, 2, Fraction(1))).resolution + 10
    n += n % 2
    A = g.Sample.from_counts(CROSS, [0] * 6, [n // 2, n // 2, 0, 0, 0, 0])
    B = g.Sample.from_counts(CROSS, [0, 0, n // 2, 0, 0, 0], [0, 0, n // 2, 0, 0, 0])
    assert g.opt_halfspace(A, B).upper == n
    tester = RaySketch(Setting(CROSS, n, n, Fraction(1)))
    runs = [tester.converse(A, B, *SimSampler(seed).spawn(2)).verdict for seed in range(100)]
    assert runs.count("Match") <= binom.ppf(1 - 1e-9, 100, 0.1)


@pytest.mark.parametrize(
    ("domain", "sizes", "labels", "words"),
    [
        (g.Domain([[0, 0], [1, 0]]), (900, 900), "mixed", "zero vector"),
        (GRID, (900, 901), "mixed", "must be even"),
        (GRID, (20, 20), "mixed", "guaranteed from n ="),
        (CROSS, (20, 20), "mixed", "guaranteed from n ="),
        (CROSS, (20, 20), "disjoint", "guaranteed from n ="),
    ],
)
def test_what_the_sketch_cannot_do_has_a_reason(domain, sizes, labels, words):
    """Zero in X, an odd total and too few records are refused in one sentence."""
    tester = RaySketch(Setting(domain, *sizes, Fraction(1), labels=labels))
    assert not tester.feasible
    assert words in tester.reason
    assert holds_zero(domain) == (words == "zero vector")


def test_unequal_sizes():
    """Mixed labels need an even total only; disjoint ones, opt able to reach (n_A + n_B)/2."""
    assert RaySketch(Setting(GRID, 700, 900, Fraction(1))).resolution == 800
    assert RaySketch(Setting(GRID, 700, 900, Fraction(1))).feasible
    assert not RaySketch(Setting(GRID, 700, 900, Fraction(1), labels="disjoint")).feasible
    assert not RaySketch(Setting(CROSS, 700, 900, Fraction(1), labels="disjoint")).feasible
    assert RaySketch(Setting(CROSS, 900, 700, Fraction(1), labels="disjoint")).feasible


def test_tolerance_asks_for_more_records():
    """Each tolerated mistake costs two units of mass."""
    base = RaySketch(Setting(GRID, 2, 2, Fraction(1), labels="disjoint")).resolution
    loose = RaySketch(Setting(GRID, 2, 2, Fraction(1), labels="disjoint", tolerance=10)).resolution
    assert loose == base + 10


@pytest.mark.parametrize("domain", [GRID, CROSS])
def test_each_party_alone_comes_to_the_same_finding(domain):
    """Two sessions that only exchange frames give the transcript and the verdict of a run in one process."""
    S = g.Sample.from_cells(domain, [0] * 30 + [2] * 10, [-1] * 30 + [1] * 10)
    T = RaySketch(Setting(domain, 40, 40, Fraction(1)))
    together = T.converse(S, S, SimSampler(1), SimSampler(2))
    results, _ = exchange(T.attend("Alice", S, SimSampler(1)), T.attend("Bob", S, SimSampler(2)))
    for mine in results.values():
        assert mine.transcript.to_dict() == together.transcript.to_dict()
        assert mine.verdict == together.verdict


def test_a_search_without_end_is_given_up():
    """Where one dominant entry stays above the level at any mass, more buckets are tried, and certified."""
    scale = noise_scale(2, Fraction(50))
    found = design(scale, scale, Fraction(1, 1000), Fraction(1, 1000), False)
    assert found.sketch.buckets > 512
    assert found.sketch.miss(found.mass, balanced=False) <= 1 / 1000 < found.sketch.miss(2, balanced=False)
    blocked = Sketch(512, scale, scale, Fraction(33, 100), Fraction(1, 1000))
    assert blocked.floor <= 1 / 1000 < blocked.miss(blocked.most_mass, balanced=False)
