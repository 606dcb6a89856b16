"""Laws of scales: bounds by brute force over resolutions, room on a shared domain, information."""

from decimal import Decimal, localcontext
from math import ceil, log

import numpy as np
import pytest
from support.gadgets import graph, small_instance

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError
from lp_gadgets.instance import HardInstance
from lp_gadgets.scales import (
    LN2_BELOW,
    Scale,
    SharedDomain,
    choose_scales,
    information,
    lower_bound,
    merit_table,
)
from lp_gadgets.tanner import TannerCode


@pytest.mark.parametrize(("name", "q"), [("fano", 2), ("fano", 4), ("chain", 2), ("degenerate", 2)])
def test_scales_have_the_sizes_of_their_instances(name, q):
    """Dimension, points, threshold and needs are those of the instance that would be built."""
    inst = small_instance(name, q, "auto", "auto", J=13, L=2)
    scale = Scale.of(graph(name), q)
    assert (scale.d, scale.m, scale.D, scale.k) == (inst.records.d, inst.records.m, inst.D, inst.k)
    t = 13
    other = small_instance(name, q, "auto", "auto", J=t, L=ceil(t / scale.D))
    assert scale.needed(t) == other.records.needed[1]
    assert scale.support * other.L == other.diameters[1]


@pytest.mark.parametrize("epsilon", [0.5, 0.05, 0.004])
@pytest.mark.parametrize("n", [50, 3000, 10**6])
def test_the_bound_by_brute_force(n, epsilon):
    """No t below the bound escapes: its encoders fit, and the information that they allow is too little."""
    scale = Scale.of(TannerCode.geometry("EG(2,4)"), 2)

    def impossible(t):
        L = -(-t // scale.D)
        allowed = epsilon * 2 * scale.support * L / log(2)
        return scale.needed(t) <= n and allowed < scale.bits

    t = 1
    while impossible(t):
        t += 1
    assert scale.bound(n, epsilon) == t


def test_the_bound_scales_with_the_constant_and_the_budget():
    """The bound depends on c_I / epsilon alone where n suffices, and is 1 where it says nothing."""
    scale = Scale.of(TannerCode.geometry("Fano"), 8)
    assert scale.bound(10**9, 0.1, 1) == scale.bound(10**9, 0.01, 0.1) > 1
    assert scale.bound(10**9, 1, 0.01) == 1
    assert scale.largest_gap(10) == 0
    assert scale.largest_gap(scale.needed(7)) == 7
    assert scale.largest_gap(scale.needed(7) - 1) == 6


def test_curves_rise_and_take_the_best_scale():
    """The curve is monotone in n and is the largest bound of any scale."""
    scales = [Scale.of(TannerCode.geometry(name), q) for name in ("Fano", "EG(2,4)") for q in (2, 4)]
    sizes = [10, 100, 1000, 10**4, 10**5, 10**6, 10**7]
    curve = lower_bound(scales, sizes, 0.01)
    values = [value for _, value, _ in curve]
    assert values == sorted(values)
    assert values == [max(scale.bound(n, 0.01) for scale in scales) for n in sizes]


def test_merit():
    """The table is sorted by D k log2 q / (K d); the Fano plane beats the larger graphs per bit."""
    scales = [
        Scale.of(TannerCode.geometry(name), 2, D=D)
        for name, D in (("EG(2,8)", 9), ("Fano", 4), ("GQ(2,2)", 6))
    ]
    table = merit_table(scales)
    assert [row["name"] for row in table] == ["geometry:Fano", "geometry:GQ(2,2)", "geometry:EG(2,8)"]
    for row in table:
        assert row["merit"] == pytest.approx(row["D"] * row["k"] / (row["K"] * row["d"]))
    assert table[0]["merit"] == pytest.approx(4 * 3 / (7 * 36))


def test_scales_are_chosen_by_room():
    """Chosen scales fit into d and m together; more room never gives fewer, and too little is refused."""
    blocks = [TannerCode.geometry(name) for name in ("EG(2,4)", "Fano", "PG(2,4)")]
    last = 0
    for d, m in ((36, 340), (80, 2000), (200, 10**5)):
        found = choose_scales(d, m, blocks)
        assert max(scale.d for scale in found) <= d
        assert sum(scale.m for scale in found) <= m
        assert len(found) >= last
        last = len(found)
    assert [(s.K, s.q) for s in found] == [(7, 2), (15, 2), (21, 2), (21, 4), (21, 8), (21, 16)]
    with pytest.raises(ArgumentError, match="170 points in dimension 36"):
        choose_scales(35, 1000, blocks)
    with pytest.raises(ArgumentError):
        choose_scales(35, 1000, [])


def test_a_shared_domain_keeps_the_optimum():
    """Padded with zeros, the records keep their number, and a padded classifier its mistakes."""
    instances = [
        small_instance("fano", 2, "parabola", "facets"),
        small_instance("chain", 4, "cube", "facets"),
    ]
    shared = SharedDomain(50, 500, instances)
    assert (shared.domain.m, shared.domain.d) == (500, 50)
    assert len(set(map(tuple, shared.domain.points.tolist()))) == 500
    for number, inst in enumerate(instances):
        u, v = inst.words(1)
        samples = shared.encode(number, u, v, inst.n + 5)
        assert [S.n for S in samples] == [inst.n + 5] * 2
        proved = inst.certify(u, v)
        h = Halfspace((*proved.classifier.weights, *[0] * (50 - inst.records.d)))
        assert sum(h.mistakes(S) for S in samples) == proved.opt_upper
    with pytest.raises(ArgumentError, match="36"):
        SharedDomain(35, 500, instances)
    with pytest.raises(ArgumentError, match="at least"):
        SharedDomain(50, 100, instances)


def test_information_of_an_instance():
    """The bits are epsilon times both diameters over ln 2 (Lemma 2.2)."""
    inst = HardInstance(TannerCode.quasi_cyclic(16), L=3)
    assert information(inst, "1/2") == pytest.approx(0.5 * 2 * 16 * 3 / np.log(2))


def test_bad_scales_are_refused():
    """A code without words, a threshold below 1 and bad budgets are refused."""
    with pytest.raises(ArgumentError):
        Scale.of(TannerCode(1, ((0,),)), 2)
    with pytest.raises(ArgumentError):
        Scale.of(graph("fano"), 2, D=0)
    with pytest.raises(ArgumentError):
        Scale.of(graph("fano"), 2).bound(0, 1)
    with pytest.raises(ArgumentError):
        Scale.of(graph("fano"), 2).bound(10, 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda scale, inst: Scale.of("Fano", 2),
        lambda scale, inst: Scale.of(graph("fano"), 2, D=10**9),
        lambda scale, inst: Scale.of(graph("fano"), 2, D=5),
        lambda scale, inst: scale.needed(1.5),
        lambda scale, inst: scale.needed(-5),
        lambda scale, inst: scale.largest_gap(-1),
        lambda scale, inst: scale.bound(10**6, 1, 10**400),
        lambda scale, inst: scale.bound(10**6, 1, 1e308),
        lambda scale, inst: scale.asymptote(1, -3),
        lambda scale, inst: lower_bound([scale], 5, 1),
        lambda scale, inst: lower_bound([], [2.7], 1),
        lambda scale, inst: lower_bound([], [], 0),
        lambda scale, inst: lower_bound(["x"], [5], 1),
        lambda scale, inst: merit_table(["x"]),
        lambda scale, inst: choose_scales("x", 500, [graph("fano")]),
        lambda scale, inst: choose_scales(50, 500, ["x"]),
        lambda scale, inst: choose_scales(50, 500, "x"),
        lambda scale, inst: information("x", 1),
        lambda scale, inst: SharedDomain(40, 200, ["x"]),
        lambda scale, inst: SharedDomain(40, 200, [inst]).encode(5, [1, 0, 1], [1, 1, 0]),
        lambda scale, inst: SharedDomain(40, 200, [inst]).encode(-1, [1, 0, 1], [1, 1, 0]),
    ],
)
def test_arguments_of_another_kind_are_refused(call):
    """What is no scale, graph, instance or number in range ends in a sentence."""
    with pytest.raises(ArgumentError):
        call(Scale.of(graph("fano"), 2, D=4), small_instance("fano", 2, "parabola", "facets"))


def test_no_blocks_are_called_none():
    """An empty list of graphs is named as what lacks."""
    with pytest.raises(
        ArgumentError, match="'blocks' must be a list of at least one Tanner graph, not empty"
    ):
        choose_scales(80, 4000, [])


@pytest.mark.parametrize("name", ["fano", "chain", "degenerate", "wide"])
def test_no_weight_is_below_the_threshold(name):
    """The least weight of the generator's rows, the largest D that is taken, is never below the distance."""
    code = graph(name)
    field, s_min = code.over(2), code.stopping_distance().value
    least = int(field.generator.sum(axis=1).min())
    assert s_min <= least
    assert all(code.is_stopping_set(np.flatnonzero(row).tolist()) for row in field.generator)
    assert least == Scale.of(code, 2, D=least).D
    with pytest.raises(ArgumentError, match="D"):
        Scale.of(code, 2, D=least + 1)


def test_the_logarithm_is_rounded_down():
    """The rational number that stands for ln 2 in a bound is below it, by less than 10^-24."""
    with localcontext() as context:
        context.prec = 50
        rest = Decimal(2).ln() - Decimal(LN2_BELOW.numerator) / Decimal(LN2_BELOW.denominator)
    assert 0 < rest < Decimal("1e-24")
