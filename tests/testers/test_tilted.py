"""Laws of sup-tilted noise, its certified quantiles, and the testers that use it."""

import ast
import inspect
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, chisquare
from support.fields import (
    BETA,
    GRID,
    RECORDS,
    TINY,
    TINY_SETTING,
    assert_rarely_wrong,
    assert_true_without_noise,
    audit_three_answers,
    random_sample,
    standard,
    tiny,
)
from support.samplers import RecordingSampler

import geomdp as g
from geomdp.core.errors import ArgumentError, CapacityError, ProtocolError
from geomdp.geometry.arrangement import dichotomies
from geomdp.opt.sup import grid_schedule, sup_field
from geomdp.privacy import _tilt_kernels as _privacy_kernels
from geomdp.privacy import tilt
from geomdp.privacy.audit import laplace_law, neighbour_pairs, selection_law
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.privacy.tilt import Size, TiltedLaplace, tilted
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import _tilt_kernels, hats
from geomdp.testers.base import Setting
from geomdp.testers.cell_orders import (
    all_pairs,
    closed_orders,
    grid_symmetries,
    line_classes,
    partial_schedule,
    sweep_orders,
)
from geomdp.testers.field_quantiles import FieldCalibration, Quantiles
from geomdp.testers.suprema import supremum_of
from geomdp.testers.tilted import Budgets, FieldAnswerer, FieldHolder, OneWayTilted, TwoTilted
from geomdp.testers.tilted_law import TiltedField

BOX = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3), ("z", 0, 1, 2)])
AXIS = g.Domain.grid([("x", 0, 1, 5)])


# ---- the exact sampler ----


class _ExhaustedError(Exception):
    pass


class _Script:
    """Bits from a list; an integer asked for is their next digits."""

    simulated = True

    def __init__(self, bits):
        self.script, self.used = bits, 0

    def bits(self, count):
        if self.used + count > len(self.script):
            raise _ExhaustedError
        taken = self.script[self.used : self.used + count]
        self.used += count
        return int("".join(map(str, taken)) or "0", 2)


@pytest.mark.parametrize("law", [Size(Fraction(2, 3)), Size(Fraction(2, 3), two_sided=True)])
def test_sizes_are_drawn_with_exactly_their_law(law):
    """Over all strings of 14 bits, 2 at a time, each size is decided with its probability or just below."""
    decided, left, stack = {}, Fraction(0), [()]
    while stack:
        script = stack.pop()
        source = _Script(script)
        try:
            value = law.decide(source, source.bits(2), 2, word=2)
        except _ExhaustedError:
            if len(script) < 14:
                stack += [(*script, *tail) for tail in product((0, 1), repeat=2)]
            else:
                left += Fraction(1, 2**14)
            continue
        decided[value] = decided.get(value, 0) + Fraction(1, 2 ** len(script))
    assert sum(decided.values()) + left == 1
    assert left < Fraction(1, 400)
    for value, mass in decided.items():
        lo, hi = (Fraction(law.tail(value, 60)[i] - law.tail(value + 1, 60)[1 - i], 2**60) for i in (0, 1))
        assert lo - left <= mass <= hi


@pytest.mark.parametrize("bits", [31, 63])
def test_tables_hold_the_exact_tails(bits):
    """Every entry encloses 2^bits P(X >= k) as computed afresh, and the guide starts low enough."""
    law = Size(Fraction(3, 17), two_sided=True)
    low, high, guide, shift = law.table(bits)
    for k in (1, 2, 3, 10, len(low) // 2, len(low)):
        lo, hi = law.tail(k, bits)
        assert low[k - 1] <= lo
        assert high[k - 1] >= hi
        assert high[k - 1] - low[k - 1] <= 2
    for lead in (0, 1, 7, len(guide) - 1):
        last = ((lead + 1) << shift) - 1
        assert guide[lead] == int((low > last).sum())


def _pmf(noise, supremum, reach):
    """The exact law on a window, up to float rounding: weights exp(-phi)."""
    cells = np.array(list(product(range(-reach, reach + 1), repeat=noise.orders.shape[1])))
    phi = np.abs(cells).sum(axis=1) / float(noise.scale) + float(noise.rate) * supremum(cells)
    weights = np.exp(-phi)
    return cells, weights / weights.sum()


def _chi2(draws, cells, p):
    reach = cells.max()
    inside = draws[(np.abs(draws) <= reach).all(axis=1)]
    code = ((inside + reach) * (2 * reach + 1) ** np.arange(inside.shape[1])[::-1]).sum(axis=1)
    seen = np.bincount(code, minlength=len(p))
    expected = p * len(inside)
    rare = expected < 8
    pooled = [np.append(v[~rare], v[rare].sum()) for v in (seen, expected)]
    return chisquare(*pooled).pvalue


TRIANGLE = g.Domain([[0, 0, 1], [1, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize("case", ["orders", "supremum", "unbounded", "line", "undecided"])
def test_draws_follow_the_tilted_law(case):
    """20,000 draws agree with the exact pmf on small windows, also when words often decide nothing."""
    if case == "line":
        orders, supremum = np.arange(3)[None, :], supremum_of(g.Domain.line(3), "thresholds")
    else:
        orders, supremum = sweep_orders(TRIANGLE), supremum_of(TRIANGLE, "halfspaces")
    noise = TiltedLaplace(
        Fraction(2),
        Fraction(1, 3),
        orders,
        None if case in ("orders", "line") else supremum,
        bounded=case != "unbounded",
    )
    if case == "undecided":
        wide = []
        for low, high, _, shift in noise.tables:
            low, high = np.maximum(low - 2**26, 0), high + 2**26  # noqa: PLW2901
            last = ((np.arange(256) + 1) << shift) - 1
            wide.append((low, high, np.searchsorted(-low, -last), shift))
        object.__setattr__(noise, "tables", tuple(wide))
    draws = noise.draw(SimSampler(5), 2000 if case == "undecided" else 20_000)
    assert _chi2(draws, *_pmf(noise, supremum, 7)) > 1e-4


def test_a_law_that_is_not_tilted_would_be_noticed():
    """The same test rejects plain discrete Laplace noise."""
    noise = tilted(1, Fraction(2, 5), sweep_orders(TRIANGLE))
    supremum = supremum_of(TRIANGLE, "halfspaces")
    plain = SimSampler(5).discrete_laplace(noise.scale, (20_000, 3))
    assert _chi2(plain, *_pmf(noise, supremum, 7)) < 1e-9


def test_the_secure_source_draws_whole_fields():
    """A release takes its noise from the operating system: no seed, the right shape, one field at a time."""
    field = TiltedField(GRID, "halfspaces", Fraction(1), Fraction(1, 5))
    a, b = field.draw(SecureSampler(), 1), field.draw(SecureSampler(), 1)
    assert a.shape == b.shape == (1, 16)
    assert (a != b).any()


def _exponents(noise, supremum, cells):
    """phi(z) as exact Fractions."""
    return [
        Fraction(int(size)) / noise.scale + noise.rate * int(top)
        for size, top in zip(np.abs(cells).sum(axis=1), supremum(cells), strict=True)
    ]


def _worst_exponent(noise, supremum, m, reach=3):
    """The largest |phi(z + v) - phi(z)| over a window and every replacement of one record, exactly."""
    cells = np.array(list(product(range(-reach, reach + 1), repeat=m)))
    base = _exponents(noise, supremum, cells)
    unit = np.eye(m, dtype=np.int64)
    ends = [s * unit[x] for x in range(m) for s in (1, -1)]
    moves = {tuple(b - a) for a in ends for b in ends}
    return max(
        abs(p - q)
        for v in moves
        for p, q in zip(base, _exponents(noise, supremum, cells + np.array(v)), strict=True)
    )


@pytest.mark.parametrize("tilt", [Fraction(1, 20), Fraction(2, 5)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1)])
def test_audit_of_tilted_noise_is_tight(epsilon, tilt):
    """No replaced record changes any probability by more than e^epsilon, and some does by almost that."""
    noise = tilted(epsilon, tilt, sweep_orders(TRIANGLE), supremum_of(TRIANGLE, "halfspaces"))
    worst = _worst_exponent(noise, noise.supremum, 3)
    assert noise.epsilon <= epsilon
    assert Fraction(999, 1000) * epsilon <= worst <= epsilon


@pytest.mark.parametrize("bug", ["rate", "scale", "sum of both orientations"])
def test_audit_catches_a_wrong_tilt(bug):
    """Planted bugs: rate b epsilon instead of half of it; the whole budget's scale; M counted twice."""
    epsilon, tilt = Fraction(1), Fraction(2, 5)
    good = tilted(epsilon, tilt, sweep_orders(TRIANGLE), supremum_of(TRIANGLE, "halfspaces"))
    scale = noise_scale(2, epsilon) if bug == "scale" else good.scale
    rate = 2 * good.rate if bug == "rate" else good.rate
    bad = TiltedLaplace(scale, rate, good.orders, good.supremum)
    supremum = (lambda Z: 2 * good.supremum(Z)) if bug.startswith("sum") else good.supremum
    assert _worst_exponent(bad, supremum, 3) > Fraction(11, 10) * epsilon


def test_a_mixture_with_untilted_noise_is_private_too():
    """Capped retries would not break privacy (only the quantiles): a public mixture of private laws."""
    noise = tilted(1, Fraction(2, 5), sweep_orders(TRIANGLE), supremum_of(TRIANGLE, "halfspaces"))
    cells, p = _pmf(noise, noise.supremum, 16)
    q = np.exp(-np.abs(cells).sum(axis=1) / float(noise.scale))
    mixed = (p + q / q.sum()).reshape(33, 33, 33) / 2
    ratio = np.log(mixed[2:, :, :] / mixed[:-2, :, :])
    assert np.abs(ratio).max() <= 1 + 1e-9


@pytest.mark.parametrize("module", [tilt, _privacy_kernels, hats])
def test_no_float_decides_a_release(module):
    """The sampler has no float literal, conversion or function; hats only in the public decoder's core."""
    tree = ast.parse(inspect.getsource(module))
    allowed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "core":
            allowed |= set(ast.walk(node))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "CapacityError":
            allowed |= set(ast.walk(node))
    for node in set(ast.walk(tree)) - allowed:
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float")
        assert getattr(node, "attr", "") not in {"float64", "float32", "exp", "expm1", "log", "log1p", "log2"}


def test_bad_arguments_are_refused():
    """A rate of 0, a tilt of 1, orders that repeat a cell, and tables beyond memory are errors."""
    with pytest.raises(ArgumentError, match="rate"):
        TiltedLaplace(Fraction(2), Fraction(0), np.array([[0, 1]]))
    with pytest.raises(ArgumentError, match="tilt"):
        tilted(1, 1, np.array([[0, 1]]))
    with pytest.raises(ArgumentError, match="orders"):
        TiltedLaplace(Fraction(2), Fraction(1), np.array([[0, 0]]))
    with pytest.raises(ArgumentError, match="supremum"):
        TiltedLaplace(Fraction(2), Fraction(1), np.array([[0, 1]]), bounded=False)
    with pytest.raises(CapacityError, match="epsilon"):
        tilted(Fraction(1, 10**5), Fraction(1, 10), np.array([[0, 1]]))


# ---- orders, symmetries, and the worst classifier ----


@pytest.mark.parametrize("domain", [GRID, BOX, TRIANGLE])
def test_prefixes_of_sweep_orders_are_halfspaces(domain):
    """Every prefix of every order, and its complement, is a dichotomy of the domain."""
    known = {row.tobytes() for row in dichotomies(domain).signs}
    orders = sweep_orders(domain)
    if domain.features is not None:
        orders = closed_orders(domain, orders)
    for order in orders:
        h = np.ones(domain.m, dtype=np.int8)
        for cell in order:
            h[cell] = -1
            assert h.tobytes() in known
            assert (-h).tobytes() in known


def _swept(domain, spans, cells):
    """All prefixes of a sweep and their complements, by following the order in Python."""
    order, at, found = list(range(domain.m)), 0, []

    def cut_off(k):
        h = np.ones(domain.m, dtype=np.int8)
        h[order[:k]] = -1
        found.extend((h, -h))

    for k in range(domain.m + 1):
        cut_off(k)
    for first, length in spans.tolist():
        order[first : first + length + 1] = [*cells[at : at + length].tolist(), order[first]]
        for j in range(length):
            cut_off(first + j + 1)
        at += length
    return found


@pytest.mark.parametrize("levels", [(4, 4), (5, 5), (3, 5), (2, 2), (2, 7)])
def test_a_part_of_the_sweep_meets_every_symmetry_class(levels):
    """The images of the partial sweep under the grid's symmetries are all dichotomies, and nothing else."""
    domain = g.Domain.grid([(f"x{i}", 0, 1, n) for i, n in enumerate(levels)])
    part = _swept(domain, *partial_schedule(*levels, True))
    met = {row[image].tobytes() for row in part for image in grid_symmetries(domain)}
    assert met == {row.tobytes() for row in dichotomies(domain).signs}
    assert len(part) <= 2 * (domain.m + 1 + len(grid_schedule(*levels)[1]))


def test_line_classes_meet_every_line():
    """The images of the kept lines under the symmetries are all lines through two points of the grid."""
    points = BOX.points[:, :3]

    def line(i, j):
        u = points[j] - points[i]
        return tuple(k for k in range(BOX.m) if not np.cross(u, points[k] - points[i]).any())

    images = grid_symmetries(BOX)
    met = {line(*sorted((image[i], image[j]))) for i, j in line_classes(BOX) for image in images}
    assert met == {line(i, j) for i in range(BOX.m) for j in range(i + 1, BOX.m)}


@pytest.mark.parametrize("domain", [GRID, BOX, AXIS])
def test_worst_order_statistics_equal_brute_force(domain):
    """The largest j-th smallest |<h, z> + L| is the one over the listed dichotomies, for random fields."""
    rng = np.random.default_rng(3)
    Z, extra = (rng.integers(-9, 10, size).astype(np.int32) for size in ((300, domain.m), 300))
    turned = np.ascontiguousarray(Z.T)
    values = np.sort(np.abs(Z @ dichotomies(domain).signs.astype(int).T + extra[:, None]), axis=0)
    both = np.sort(np.abs(Z @ dichotomies(domain).signs.astype(int).T - extra[:, None]), axis=0)
    for index in (1, 200, 270, 300):
        if domain is BOX:
            points = np.ascontiguousarray(domain.points[:, :3], dtype=np.int64)
            got = _tilt_kernels.worst_around_lines(points, turned, extra, all_pairs(domain), index)
            assert got == values[index - 1].max()
            continue
        none = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
        spans, cells = none if domain.ordered else grid_schedule(4, 4)
        got = _tilt_kernels.worst_order_statistic(turned, extra, spans, cells, index)
        assert values[index - 1].min() <= got <= max(values[index - 1].max(), both[index - 1].max())
        half = _tilt_kernels.worst_order_statistic(turned, 0 * extra, spans, cells, index)
        plain = np.sort(np.abs(Z @ dichotomies(domain).signs.astype(int).T), axis=0)
        assert half == plain[index - 1].max()


def test_suprema_by_lines_equal_the_sweeps():
    """On three-feature grids the turning planes find the same suprema as the general sweep."""
    Z = np.random.default_rng(4).integers(-20, 21, (50, BOX.m))
    assert (supremum_of(BOX, "halfspaces")(Z) == sup_field(BOX, Z)).all()


@pytest.mark.parametrize(
    ("domain", "classes"), [(GRID, "halfspaces"), (AXIS, "thresholds"), (BOX, "halfspaces")]
)
def test_fresh_noise_respects_the_certified_quantiles(domain, classes):
    """Independent draws exceed the sup bound, and for every h the single bound, as rarely as promised."""
    law = TiltedField(domain, classes, Fraction(1), Fraction(1, 5), 3000)
    scale = noise_scale(2, Fraction(1, 2))
    quantiles = Quantiles(law, (scale,))
    Z = law.draw(SimSampler(99), 3000)
    L = SimSampler(98).discrete_laplace(scale, 3000)
    most = binom.ppf(1 - 1e-9, 3000, 0.1)
    assert int((sup_field(domain, Z, classes) + L >= quantiles.sup(BETA)).sum()) <= most
    q = quantiles.single(BETA)
    each = (Z @ dichotomies(domain).signs.astype(int).T + L[:, None] >= q).sum(axis=0)
    assert int(each.max()) <= binom.ppf(1 - 1e-9 / len(each), 3000, 0.1)
    assert q < quantiles.sup(BETA)


def test_levels_too_small_for_a_table_are_not_certified():
    """500 draws certify no quantile at 10^-3, neither of the supremum nor of single classifiers."""
    quantiles = Quantiles(TiltedField(AXIS, "thresholds", Fraction(1), Fraction(1, 5), 500))
    assert quantiles.sup(Fraction(1, 1000)) is None
    assert quantiles.single(Fraction(1, 1000)) is None
    assert FieldCalibration(quantiles).resolution(Fraction(1, 1000), BETA, 0) is None
    assert FieldCalibration(quantiles).interval(3, Fraction(1, 1000), 9) is None
    assert quantiles.single(Fraction(1, 2)) == 1


# ---- the testers ----


@dataclass(frozen=True)
class _Still:
    """A field law in a given unit whose noise is zero when it is recorded."""

    base: TiltedField
    unit: int = 1

    domain, classes, symmetric, draws = (
        property(lambda self, name=name: getattr(self.base, name))
        for name in ("domain", "classes", "symmetric", "draws")
    )

    @property
    def key(self):
        return {**self.base.key, "unit": self.unit}

    def draw(self, sampler, size, progress=None):
        if isinstance(sampler, RecordingSampler):
            return np.zeros((size, self.domain.m), dtype=np.int64)
        return self.unit * self.base.draw(sampler, size, progress)


@pytest.mark.parametrize("unit", [1, 7])
@pytest.mark.parametrize(("domain", "classes"), [(GRID, "halfspaces"), (AXIS, "thresholds")])
@pytest.mark.parametrize("seed", range(4))
def test_without_noise_every_interval_holds_its_truth(domain, classes, seed, unit):
    """With zero noise, in any unit, the verdict is right and each interval contains what it estimates."""
    law = _Still(TiltedField(domain, classes, Fraction(1), Fraction(1, 5), 2000), unit)
    assert_true_without_noise(OneWayTilted(standard(domain, classes=classes), law=law), seed)


def test_tilting_beats_plain_noise_and_tolerance_only_shifts():
    """The tilted testers certify less than the plain ones; t(t0) = t0 + t(0)."""
    from geomdp.testers.histogram import OneWay, TwoHistograms

    domain = g.Domain.grid([("x", 0, 1, 8), ("y", 0, 1, 8)])
    law = TiltedField(domain, "halfspaces", Fraction(1), Fraction(1, 10), 3000)
    base = OneWayTilted(standard(domain), law=law).resolution
    assert base < OneWay(standard(domain), simulated=True).resolution
    assert TwoTilted(standard()).resolution <= TwoHistograms(standard(), simulated=True).resolution
    assert [OneWayTilted(standard(domain, tolerance=t0), law=law).resolution - base for t0 in (1, 9)] == [
        1,
        9,
    ]


def test_the_larger_budget_holds_the_field():
    """With unequal budgets the field comes from the larger one, each spends its own, and t falls."""
    setting = standard(n=300)
    T = OneWayTilted(setting, epsilon_bob=2)
    assert T.resolution < OneWayTilted(setting).resolution
    S = random_sample(GRID, 300, 3)
    transcript = T.converse(S, S, SecureSampler(), SecureSampler()).transcript
    assert transcript.last("noisy field").sender == "Bob"
    assert (transcript.spent("Alice"), transcript.spent("Bob")) == (1, 2)
    assert Budgets.of(setting, epsilon_alice="1/3").holder == "Bob"


@pytest.mark.parametrize("tester", [OneWayTilted, TwoTilted])
@pytest.mark.parametrize("conflict", [False, True])
def test_simulated_failures_stay_below_beta(tester, conflict):
    """In 80 seeded runs the verdict is wrong, and the interval misses, at most as often as promised."""
    assert_rarely_wrong(tester(standard(n=300)), conflict, 80)


def test_a_domain_out_of_reach_has_a_reason():
    """Where no table is affordable the tester says why and guarantees nothing."""
    T = OneWayTilted(Setting(g.Domain.line(2**21), 50, 50, Fraction(1), BETA, classes="thresholds"))
    assert T.resolution is None
    assert not T.feasible
    assert "2^20" in T.reason


def test_a_malformed_field_is_refused_before_anything_is_spent_on_it():
    """A field of the wrong length, or of other values, is a ProtocolError."""
    bob = FieldAnswerer("Bob", random_sample(GRID, 50, 1), RecordingSampler(), Budget(Fraction(1)))
    for payload in ({"net": [0] * 15}, {"net": [0.5] * 16}, {"net": [2**60] * 16}, {}):
        transcript = Transcript({})
        transcript.append(Message("Alice", "noisy field", payload, Fraction(0)))
        with pytest.raises(ProtocolError, match="noisy field"):
            bob.minimum(transcript, standard(n=50), 1, Fraction(1, 10))


# ---- exact audits of the messages: statistics and scales from the code that runs ----

UNIT = 3


def test_the_field_holder_shifts_by_unit_times_the_net_counts():
    """Over all neighbours the released field moves by unit v, |v|_1 <= 2: what its law is private for."""
    law = _Still(TiltedField(TINY, "thresholds", Fraction(1), Fraction(1, 5)), UNIT)

    def center(data):
        party = FieldHolder("Alice", tiny(data), RecordingSampler(), Budget(Fraction(1)))
        return np.array(party.field(Transcript({}), TINY_SETTING, law, Fraction(1)).payload["net"])

    moves = [center(a) - center(b) for a, b in neighbour_pairs(RECORDS, 2)]
    assert all((move % UNIT == 0).all() for move in moves)
    assert max(np.abs(move).sum() for move in moves) == 2 * UNIT


@lru_cache
def _answered(data, field, step, bug):
    still = RecordingSampler()
    bob = FieldAnswerer("Bob", tiny(data), still, Budget(Fraction(1)))
    transcript = Transcript({})
    transcript.append(Message("Alice", "noisy field", {"net": list(field)}, Fraction(0)))
    if step == 2:
        bob.joint_classifier(transcript, TINY_SETTING, UNIT, Fraction(1, 4))
        r = Interval.exp_neg(1 / still.scales[-1])
        return selection_law(dict(enumerate(still.scores[-1])), r)
    if step == 0:
        center = bob.minimum(transcript, TINY_SETTING, UNIT, Fraction(1, 2)).payload["scaled"]
        factor = UNIT if bug == "unit" else 1
    else:
        center = bob.own(transcript, TINY_SETTING, Fraction(1, 4)).payload["value"]
        factor = 3 if bug == "own" else 1
    return laplace_law(center, Interval.exp_neg(factor / still.scales[-1]), -30, 40)


def _audit_bob(bug=None):
    return audit_three_answers(
        lambda data, history: _answered(data, history[0], len(history) - 1, bug), [(0, 0), (6, -6), (1, 2)]
    )


def test_audit_of_the_answerer_holds_against_any_field():
    """Whatever field the holder sends, the worst exact ratio of the three answers is at most e^epsilon."""
    audit = _audit_bob()
    assert audit.log_upper <= 1 + 1e-9
    assert audit.log_lower >= 0.75


@pytest.mark.parametrize("bug", ["unit", "own"])
def test_audit_catches_noise_that_forgets_the_unit(bug):
    """Planted bugs: the minimum with noise for half-records whatever the unit; own optimum at a third."""
    assert _audit_bob(bug).violates(1)
