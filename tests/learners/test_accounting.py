"""Laws of the learners' accounting: factors of relabelling, blocks, subsampling, composition, reservoirs."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.learners.accounting import Layout, allocate, blocks, factor, least_reservoir
from geomdp.learners.composition import (
    Loss,
    advanced_composition,
    composed_delta,
    composed_epsilon,
    exp_lower,
    exp_upper,
    lazy_response,
)
from geomdp.learners.stated import stated_multiplier

ONE, HALF, MILLIONTH = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)
ratios = st.fractions(min_value=1, max_value=50, max_denominator=40)
shares = st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50)
POINTS = (0, 1, 2)


def _labellings(points):
    """Labellings of points by thresholds, the lowest point's sign free: four to six of three points."""
    return {tuple(s if p >= t else -s for p in points) for t in range(4) for s in (-1, 1)}


def _masses(sample, carrier, root, method):
    """Probabilities of the candidates, weights root^score, by their labels on the points they label."""
    seen = sorted({x for x, _ in sample} | set(carrier))
    labels = {z: dict(zip(seen, z, strict=True)) for z in _labellings(seen)}
    scores = {z: sum(f[x] == y for x, y in sample) for z, f in labels.items()}
    if method == "carrier-boost":
        best = {}
        for z, f in labels.items():
            key = tuple(f[x] for x in sorted(set(carrier)))
            best[key] = max(best.get(key, 0), scores[z])
        total = sum(root**s for s in best.values())
        where = sorted(set(carrier))
        return {tuple(zip(where, z, strict=True)): root**s / total for z, s in best.items()}
    total = sum(root**s for s in scores.values())
    return {tuple(sorted(f.items())): root ** scores[z] / total for z, f in labels.items()}


def _grouped(masses, common):
    grouped = {}
    for labels, mass in masses.items():
        key = tuple((x, s) for x, s in labels if x in common)
        grouped[key] = grouped.get(key, 0) + mass
    return grouped


def _worst(pairs, root, method):
    worst = Fraction(1)
    for (s1, t1), (s2, t2) in pairs:
        points1 = set(t1) if method == "carrier-boost" else {x for x, _ in s1} | set(t1)
        points2 = set(t2) if method == "carrier-boost" else {x for x, _ in s2} | set(t2)
        common = points1 & points2
        one = _grouped(_masses(s1, t1, root, method), common)
        two = _grouped(_masses(s2, t2, root, method), common)
        worst = max(worst, *(p / two[z] for z, p in one.items()), *(p / one[z] for z, p in two.items()))
    return worst


@pytest.mark.parametrize("method", ["label-boost", "carrier-boost"])
def test_relabelling_factors_hold_on_all_tiny_neighbours(method):
    """Masses of labels on shared points change by at most the stated factor; root stands for exp(L/2)."""
    root = Fraction(3, 2)
    records = list(product(POINTS, (-1, 1)))
    samples = list(product(records, repeat=2))
    carriers = [(0,), (1,), (2,), (0, 2)]
    sample_pairs = [((s, t), ((r, s[1]), t)) for s in samples for r in records if r != s[0] for t in carriers]
    carrier_pairs = [((s, t), (s, (x, *t[1:]))) for s in samples for t in carriers for x in POINTS]
    bound = (1 + root) ** 2 if method == "label-boost" else root**2
    assert 1 < _worst(sample_pairs, root, method) <= bound
    assert 1 < _worst(carrier_pairs, root, method) <= 4


def test_factors_order():
    """The factor of agreement scores is below matched sensitivity's; CarrierBoost's is below both."""
    for loss in (Fraction(1, 100), HALF, Fraction(3)):
        one, two, three = (factor(m, loss, "sample") for m in ("carrier-boost", "label-boost", "matched"))
        assert one < two < three
        assert factor("stated", loss, "carrier") == factor("stated", loss, "sample") == three


def test_blocks_have_the_closed_forms():
    """Every layout's blocks multiply the factors that a record passes through."""
    e = math.exp
    g = (1 + e(0.25)) ** 2
    cases = {
        ("label-boost", HALF, 3): [e(0.5) * g * g, 4 * e(0.5) * g, 4 * e(0.5)],
        ("label-boost", None, 3): [e(0.5) * g, 4 * e(0.5) * g, 4 * e(0.5)],
        ("label-boost", HALF, 1): [e(0.5) * g],
        ("label-boost", None, 1): [e(0.5)],
        ("label-boost", None, 2): [e(0.5) * g, 4 * e(0.5)],
        ("carrier-boost", None, 3): [e(1), 4 * e(1), 4 * e(0.5)],
        ("matched", None, 2): [4 * e(1), 4 * e(0.5)],
        ("stated", HALF, 3): [16 * e(1.5), 16 * e(1.5), 4 * e(1)],
    }
    for (method, initial, k), wanted in cases.items():
        found = blocks(Layout((HALF,) * k, (HALF,) * (k - 1), method, initial))
        assert [float(b.loss.ratio) for b in found] == pytest.approx(wanted)
        assert all(b.loss.delta == 0 for b in found)


def test_deltas_are_multiplied_by_the_relabelling_before_the_oracle():
    """R_0's delta grows only through an initial relabelling, a carrier's by 4."""
    d = Fraction(1, 10**7)
    plain = blocks(Layout((HALF,) * 2, (HALF,), "label-boost", None, (d, d)))
    first = blocks(Layout((HALF,) * 2, (HALF,), "label-boost", HALF, (d, d)))
    assert [float(b.loss.delta / d) for b in plain] == pytest.approx([1, 4])
    assert float(first[0].loss.delta / d) == pytest.approx((1 + math.exp(0.25)) ** 2)


@pytest.mark.parametrize("k", [1, 2, 4, 10, 40])
@pytest.mark.parametrize("epsilon", [ONE, Fraction(1, 10)])
def test_the_stated_parameters_are_private(k, epsilon):
    """The paper's m makes eta <= epsilon/(4 sqrt(k ln(2/delta))), and the run is private."""
    d = MILLIONTH
    oracle = d / (16 * Fraction(2718281829, 10**9) * k)
    layout = Layout((Fraction(4),) * k, (ONE,) * (k - 1), "stated", ONE, (oracle,) * k)
    worst = max(b.loss.ratio for b in blocks(layout))
    assert worst < exp_lower(Fraction(9))
    n = 10**13
    m = math.floor(n / stated_multiplier(k, float(epsilon), float(d)))
    q = Fraction(m, n // 3)
    block = max((b.loss for b in blocks(layout)), key=lambda loss: loss.ratio).subsampled(q)
    root = math.sqrt(k * math.log(2 / d))
    assert block.epsilon <= float(epsilon) / (4 * root)
    uses = max(1, math.ceil((k - 1) / 2))
    assert advanced_composition(block.epsilon, uses, float(d) / 2) <= float(epsilon)
    assert uses * block.delta + d / 2 < d
    assert allocate(layout, (m,) * k, epsilon, d, "alternating").n <= n


@given(ratios, shares, st.fractions(min_value=0, max_value=2, max_denominator=20))
def test_one_use_has_the_closed_form(ratio, share, epsilon):
    """Delta at epsilon of one block is (E - e^epsilon)_+ / (1 + R), E = 1 + q (R - 1)."""
    E = 1 + share * (ratio - 1)
    found = composed_delta([(lazy_response(Loss(ratio), share), 1)], epsilon)
    low = max(Fraction(0), (E - exp_upper(epsilon)) / (1 + ratio))
    high = max(Fraction(0), (E - exp_lower(epsilon)) / (1 + ratio))
    assert low <= found <= high + Fraction(1, 2**80)


@given(ratios, shares, st.integers(0, 12), st.integers(0, 20))
def test_the_law_dominates_subsampled_randomised_response(ratio, share, absent, level):
    """Subsampled answers q P + (1 - q) N diverge no more, whatever N answers without the record."""
    t = 1 + Fraction(level, 8)
    up, down = ratio / (1 + ratio), 1 / (1 + ratio)
    n = Fraction(absent, 12)
    n = min(max(n, down), up)  # the mechanism is R-close on neighbouring subsets
    p, q = share * up + (1 - share) * n, share * down + (1 - share) * n
    divergence = max(Fraction(0), p - t * q) + max(Fraction(0), (1 - p) - t * (1 - q))
    law = lazy_response(Loss(ratio), share)
    assert divergence <= max(Fraction(0), law.up - t * law.down)


def test_composition_equals_the_sum_over_all_outcomes():
    """For two kinds of blocks delta is the sum over all sequences of losses, and is rounded up."""
    kinds = [(lazy_response(Loss(Fraction(9)), Fraction(1, 4)), 3), (lazy_response(Loss(Fraction(3))), 2)]
    laws = [law for law, uses in kinds for _ in range(uses)]
    for epsilon in (Fraction(0), HALF, ONE, Fraction(2)):
        total = Fraction(0)
        for path in product((-1, 0, 1), repeat=len(laws)):
            p = q = Fraction(1)
            for sign, law in zip(path, laws, strict=True):
                rest = 1 - law.up - law.down
                p *= {1: law.up, 0: rest, -1: law.down}[sign]
                q *= {1: law.down, 0: rest, -1: law.up}[sign]
            total += max(Fraction(0), p - exp_upper(epsilon) * q)
        assert total <= composed_delta(kinds, epsilon) <= total + Fraction(1, 2**80)


def test_infinite_losses_add_up():
    """A block's own delta enters once per use, times its share."""
    law = lazy_response(Loss(Fraction(2), Fraction(1, 1000)), Fraction(1, 10))
    free = lazy_response(Loss(Fraction(2)), Fraction(1, 10))
    assert composed_delta([(law, 5)], ONE) == composed_delta([(free, 5)], ONE) + Fraction(5, 10_000)


@pytest.mark.parametrize(("ratio", "share", "uses"), [(43.5, 0.01, 5), (6450, 0.0002, 20), (10.9, 0.05, 40)])
def test_composition_agrees_with_an_independent_accountant(ratio, share, uses):
    """A discretised privacy loss distribution brackets the exact delta."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = lazy_response(Loss(Fraction(ratio)), Fraction(share).limit_denominator(10**6))
    p = [float(law.up), float(1 - law.up - law.down), float(law.down)]
    upper = dict(enumerate(math.log(v) for v in p))
    lower = dict(enumerate(math.log(v) for v in p[::-1]))
    deltas = {}
    for pessimistic in (True, False):
        one = pld.from_two_probability_mass_functions(
            lower, upper, pessimistic_estimate=pessimistic, value_discretization_interval=1e-5
        )
        deltas[pessimistic] = one.self_compose(uses).get_delta_for_epsilon(1.0)
    exact = float(composed_delta([(law, uses)], ONE))
    assert deltas[False] * (1 - 1e-6) - 1e-12 <= exact <= deltas[True] * (1 + 1e-6) + 1e-12


@given(ratios, shares, st.integers(1, 6))
def test_delta_grows_with_uses_and_falls_with_epsilon(ratio, share, uses):
    """More uses cost more; a larger epsilon forgives more."""
    law = lazy_response(Loss(ratio), share)
    tiny = Fraction(1, 2**80)
    assert composed_delta([(law, uses)], ONE) <= composed_delta([(law, uses + 1)], ONE) + tiny
    assert composed_delta([(law, uses)], ONE) <= composed_delta([(law, uses)], HALF) + tiny


def test_lazy_composition_is_tighter_than_the_classical_bounds():
    """For R far above E: lazy below optimal composition of E-DP steps, that below advanced composition."""
    loss, uses, share = Loss(Fraction(87, 2)), 20, Fraction(1, 300)
    E = loss.subsampled(share).ratio
    lazy = composed_epsilon([(lazy_response(loss, share), uses)], MILLIONTH)
    optimal = composed_epsilon([(lazy_response(Loss(E)), uses)], MILLIONTH)
    advanced = advanced_composition(Loss(E).epsilon, uses, 1e-6)
    assert float(lazy) < 0.6 * float(optimal)
    assert float(optimal) < advanced


def test_optimal_composition_has_its_binomial_form():
    """With q = 1 the bound is the one of Kairouz, Oh and Viswanath: a binomial sum."""
    E, uses = Fraction(11, 10), 7
    for epsilon in (0.1, 0.3, 0.6):
        total = 0.0
        for i in range(uses + 1):
            gap = float(E) ** (uses - i) - math.exp(epsilon) * float(E) ** i
            total += math.comb(uses, i) * max(0.0, gap) / (1 + float(E)) ** uses
        found = composed_delta([(lazy_response(Loss(E)), uses)], Fraction(epsilon))
        assert float(found) == pytest.approx(total, rel=1e-12)


@given(ratios, st.integers(1, 500), st.sampled_from([Fraction(0), MILLIONTH, Fraction(1, 100)]))
def test_reservoirs_are_the_least_that_suffice(ratio, m, delta):
    """At the size found delta is kept at epsilon = 1, and one record less breaks it."""
    size = least_reservoir(Loss(ratio), m, ONE, delta)

    def spent(records):
        E = 1 + Fraction(m, records) * (ratio - 1)
        return max(Fraction(0), (E - exp_lower(ONE)) / (1 + ratio))

    assert spent(size) <= delta
    assert size == m or spent(size - 1) > delta


def test_alternating_reservoirs_pay_for_many_components_only():
    """Few components: fresh reservoirs are smaller in all; many: two that are used again and again."""
    for k, name in ((2, "fresh"), (4, "fresh"), (10, "fresh"), (25, "alternating"), (60, "alternating")):
        layout = Layout((HALF,) * k, (HALF,) * (k - 1), "label-boost")
        assert allocate(layout, (1000,) * k, ONE, MILLIONTH).name == name
    pure = Layout((HALF,) * 6, (HALF,) * 5)
    chosen = allocate(pure, (100,) * 6, ONE, 0, "alternating")
    assert [r.uses for r in chosen.reservoirs] == [("R0",), ("T1", "T3", "T5"), ("T2", "T4")]


def test_alternating_reservoirs_keep_delta():
    """The composed delta of every reservoir is within the target at its size."""
    layout = Layout((HALF,) * 5, (HALF,) * 4, "label-boost", HALF)
    plan = allocate(layout, (700,) * 5, ONE, MILLIONTH, "alternating")
    losses = {b.name: b.loss for b in blocks(layout)}
    for reservoir in plan.reservoirs:
        parts = [(lazy_response(losses[name], Fraction(700, reservoir.size)), 1) for name in reservoir.uses]
        assert composed_delta(parts, ONE) <= MILLIONTH
        slack = [
            (lazy_response(losses[name], Fraction(700, reservoir.size * 99 // 100)), 1)
            for name in reservoir.uses
        ]
        assert composed_delta(slack, ONE) > MILLIONTH


@given(st.fractions(min_value=0, max_value=30, max_denominator=1000))
def test_exponentials_are_enclosed(exponent):
    """exp_lower <= exp <= exp_upper, within 2^-90 relatively."""
    low, high = exp_lower(exponent), exp_upper(exponent)
    assert low <= high <= low * (1 + Fraction(1, 2**85))
    assert float(low) == pytest.approx(math.exp(exponent), rel=1e-12)


def test_refusals():
    """Layouts and targets that make no sense are refused by name."""
    with pytest.raises(ArgumentError, match="'relabels'"):
        Layout((HALF,), (HALF,))
    with pytest.raises(ArgumentError, match="'oracles'"):
        Layout((), ())
    with pytest.raises(ArgumentError, match="'method'"):
        Layout((HALF,), (), "magic")
    with pytest.raises(ArgumentError, match="'deltas'"):
        Layout((HALF,), (), deltas=(HALF, HALF))
    for share in (Fraction(-1), Fraction(3), float("nan")):
        with pytest.raises(ArgumentError, match="'deltas'"):
            Layout((HALF,), (), deltas=(share,))
    for loss in (-ONE, Fraction(0), Fraction(200), "x"):
        with pytest.raises(ArgumentError, match="'initial'"):
            Layout((HALF,), (), initial=loss)
    with pytest.raises(ArgumentError, match="'delta'"):
        least_reservoir(Loss(Fraction(2), MILLIONTH), 10, ONE)
    with pytest.raises(ArgumentError, match="'m'"):
        allocate(Layout((HALF,), ()), (1, 2), ONE)
    with pytest.raises(ArgumentError, match="'share'"):
        Loss(Fraction(2)).subsampled(Fraction(3, 2))
    with pytest.raises(ArgumentError, match="'delta'"):
        composed_epsilon([(lazy_response(Loss(Fraction(2), HALF)), 1)], MILLIONTH)
