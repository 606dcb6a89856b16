"""Laws and certified bounds, against direct sums, Fractions and high precision."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.privacy import law
from geomdp.privacy.enclosure import Interval

RNG_SEED = 11


def _convolved(scales: list[Fraction], reach: int) -> dict[int, float]:
    """Return P(S >= q) for q in 0..reach by direct convolution of long pmf tables."""
    pmf = np.ones(1)
    width = 0
    for scale in scales:
        half = int(60 * scale) + 60
        pmf = np.convolve(pmf, [law.dlap_pmf(z, scale) for z in range(-half, half + 1)])
        width += half
    tails = np.cumsum(pmf[::-1])[::-1]
    return {q: float(tails[width + q]) for q in range(-reach, reach + 1)}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(17, 2)])
def test_dlap_tails(scale: Fraction) -> None:
    """Tails are sums of the pmf, symmetric, and quantiles are the least integers that meet the level."""
    mass = {z: law.dlap_pmf(z, scale) for z in range(-900, 901)}
    for z in range(-8, 9):
        assert law.dlap_sf(z, scale) == pytest.approx(sum(mass[y] for y in range(z, 901)), rel=1e-12)
        assert law.dlap_sf(z, scale) == pytest.approx(1 - law.dlap_sf(1 - z, scale), abs=1e-15)
    for p in (0.4, 0.05, 1e-9):
        q = law.dlap_quantile(p, scale)
        assert law.dlap_sf(q, scale) <= p
        assert q == 1 or law.dlap_sf(q - 1, scale) > p * (1 - 1e-11)


@pytest.mark.parametrize(
    ("count", "scale", "extras"),
    [
        (1, Fraction(2), []),
        (2, Fraction(1, 20), []),
        (7, Fraction(3, 2), []),
        (5, Fraction(3), [Fraction(1), Fraction(7)]),
        (0, Fraction(3), [Fraction(5, 2)]),
        (40, Fraction(2), [Fraction(2)]),
    ],
)
def test_sum_tails(count: int, scale: Fraction, extras: list[Fraction]) -> None:
    """Certified tails of sums lie above the direct convolution, by no more than the stated margin."""
    total = law.dlap_sum_sf(count, scale, extras)
    direct = _convolved([scale] * count + extras, 60)
    for q, tail in direct.items():
        value = total.sf(q)
        assert value >= min(1.0, tail * (1 - 1e-13) - 1e-15) if q > 0 else value >= tail - 1e-13
        assert value <= tail * (1 + 2 * total.margin) + 3e-13
    for p in (0.3, 0.05, 1e-3):
        q = total.quantile_upper(p)
        assert total.sf(q) <= p < total.sf(q - 1)
    assert repr(total).startswith("DlapSum(count=")


def test_sum_tail_in_high_precision() -> None:
    """Far tails of two variables agree with 50 digits to the stated relative margin, from above."""
    import mpmath

    total = law.dlap_sum_sf(2, Fraction(3))
    with mpmath.workdps(50):
        r = mpmath.exp(-mpmath.mpf(1) / 3)
        pmf = lambda z: (1 - r) / (1 + r) * r ** abs(z)  # noqa: E731
        tail = lambda z: r**z / (1 + r) if z >= 1 else 1 - r ** (1 - z) / (1 + r)  # noqa: E731
        for q in (1, 10, 50, 120):
            true = mpmath.fsum(pmf(z) * tail(q - z) for z in range(-400, 500))
            assert true <= total.sf(q) <= true * (1 + 2 * total.margin) + mpmath.mpf(10) ** -29


def test_sum_of_nothing() -> None:
    """The empty sum is 0."""
    nothing = law.dlap_sum_sf(0, 1)
    assert nothing.sf(1) <= 1e-29
    assert nothing.sf(0) == 1
    assert nothing.quantile_upper(0.01) == 1


def test_sum_of_many_is_fast_and_normal() -> None:
    """A million variables: the 5 % quantile is that of the normal law within half a percent."""
    total = law.dlap_sum_sf(10**6, 3)
    r = math.exp(-1 / 3)
    deviation = math.sqrt(2e6 * r) / (1 - r)
    assert total.quantile_upper(0.05) == pytest.approx(1.6449 * deviation, rel=0.005)


def test_sum_refuses_what_it_cannot_store() -> None:
    """A support beyond 2^26 values is refused with its size; levels outside [1e-20, 1) are refused."""
    with pytest.raises(CapacityError, match="chernoff_upper"):
        law.dlap_sum_sf(10**6, 10**4)
    with pytest.raises(ArgumentError, match="Argument 'p'"):
        law.dlap_sum_sf(3, 2).quantile_upper(1e-30)


@pytest.mark.parametrize(("count", "extra"), [(1, []), (30, []), (30, [Fraction(9)]), (0, [Fraction(2)] * 3)])
def test_chernoff_is_valid_and_close(count: int, extra: list[Fraction]) -> None:
    """The Chernoff bound is never below the exact quantile, and within half of it again."""
    for union, beta in ((1, Fraction(1, 10)), (10**6, Fraction(1, 10)), (10**12, Fraction(1, 100))):
        q = law.chernoff_upper(count, Fraction(3), union, beta, extra)
        least = law.dlap_sum_sf(count, Fraction(3), extra).quantile_upper(beta / union)
        assert least <= q <= 2 * least + 5


def test_chernoff_minimum() -> None:
    """No lam on a fine grid gives a smaller integer than the search."""
    scale, count, union = Fraction(5, 2), 12, 1000
    q = law.chernoff_upper(count, scale, union, Fraction(1, 20))
    grid = [0.4 * i / 2000 for i in range(1, 2000)]
    best = min((math.log(union * 20) + count * law.dlap_mgf_log(lam, scale)) / lam for lam in grid)
    assert q == math.ceil(best)


def test_chernoff_takes_astronomical_unions() -> None:
    """A union over 2^100000 events costs about log of it times the scale."""
    q = law.chernoff_upper(1, 2, 2**100_000, Fraction(1, 10))
    assert q == pytest.approx(2 * 100_000 * math.log(2), rel=1e-3)


def test_mgf() -> None:
    """The log moment generating function is even, 0 at 0, infinite from 1/scale on, and equals the sum."""
    assert law.dlap_mgf_log(0, 3) == pytest.approx(0, abs=1e-15)
    assert law.dlap_mgf_log(Fraction(1, 3), 3) == math.inf
    for lam in (0.01, 0.2, 0.3):
        direct = math.fsum(math.exp(lam * z) * law.dlap_pmf(z, 3) for z in range(-1500, 1501))
        assert law.dlap_mgf_log(lam, 3) == pytest.approx(math.log(direct), rel=1e-9)
        assert law.dlap_mgf_log(-lam, 3) == pytest.approx(law.dlap_mgf_log(lam, 3), rel=1e-12)


def _walk_law(coins: list[Fraction]) -> list[Fraction]:
    """Return permute-and-flip's law by recursion over the walk itself."""
    result = [Fraction(0)] * len(coins)

    def go(left: tuple[int, ...], mass: Fraction) -> None:
        for i in left:
            result[i] += mass / len(left) * coins[i]
            rest = mass / len(left) * (1 - coins[i])
            if rest:
                go(tuple(j for j in left if j != i), rest)

    go(tuple(range(len(coins))), Fraction(1))
    return result


def test_pf_law_is_the_walk() -> None:
    """The polynomial integral equals the recursion over all random walks, in Fractions; groups add up."""
    rng = random.Random(RNG_SEED)  # noqa: S311
    for size in (1, 2, 3, 4, 5):
        for _ in range(6):
            coins = [Fraction(1)] + [Fraction(rng.randrange(0, 9), 8) for _ in range(size - 1)]
            rng.shuffle(coins)
            exact = law.pf_law(coins)
            assert exact == _walk_law(coins)
            assert sum(exact) == 1
    single = law.pf_law([Fraction(1), Fraction(1, 2), Fraction(1, 2), Fraction(1, 8)])
    assert law.pf_law([Fraction(1), Fraction(1, 2), Fraction(1, 8)], [1, 2, 1]) == [
        single[0],
        single[1] + single[2],
        single[3],
    ]


def test_pf_pmf_is_enclosed() -> None:
    """The quadrature agrees with the interval law to 10^-13, also with equal scores and empty groups."""
    rng = random.Random(RNG_SEED)  # noqa: S311
    for _ in range(20):
        scores = [rng.randrange(-6, 7) for _ in range(5)]
        sizes = [rng.randrange(0, 3) for _ in range(4)] + [1]
        top = max(s for s, m in zip(scores, sizes, strict=True) if m)
        coins = [Interval.exp_neg(Fraction(max(top - s, 0)) / 3) for s in scores]
        for value, enclosure in zip(law.pf_pmf(scores, 3, sizes), law.pf_law(coins, sizes), strict=True):
            assert float(enclosure.lo) - 1e-13 <= value <= float(enclosure.hi) + 1e-13
    assert law.pf_pmf([0] * 700, 1).sum() == pytest.approx(1, abs=1e-10)
    with pytest.raises(CapacityError):
        law.pf_pmf([0], 1, [10**6])


def test_pf_tail_is_sharp() -> None:
    """The tail bound equals the exact law for one best candidate against equals, from above."""
    for count in (1, 2, 5, 30):
        for gap in (0, 1, 2, 7, 40):
            a = Interval.exp_neg(Fraction(gap, 2), 400)
            true = law.pf_law([Interval.of(1), a], [1, count])[1]
            assert true.lo <= Fraction(law.pf_tail(count, gap, 2))
            assert law.pf_tail(count, gap, 2) <= float(true.hi) * (1 + 1e-6) + 1e-12
    assert law.pf_tail(0, 3, 2) == 0


def test_pf_tail_is_worst_case() -> None:
    """No field of other candidates makes a set at the gap or below win more often than the bound."""
    rng = random.Random(RNG_SEED)  # noqa: S311
    for _ in range(60):
        gap, count = rng.randrange(0, 8), rng.randrange(1, 5)
        low = [-gap - rng.randrange(0, 3) for _ in range(count)]
        others = [0] + [-rng.randrange(0, 9) for _ in range(rng.randrange(0, 4))]
        mass = law.pf_pmf(others + low, 3)[len(others) :].sum()
        assert mass <= law.pf_tail(count, gap, 3) + 1e-13


def test_pf_gap_reproduces_the_union_bound() -> None:
    """The certified gap is the least one, and never above scale * log(count/(2 beta)) rounded up."""
    for count in (1, 3, 1000, 2**64, 2**1024, 2**100_000):
        for beta in (0.3, 0.05, 1e-4):
            gap = law.pf_gap(count, 2, beta)
            assert law.pf_tail(count, gap, 2) <= beta
            assert gap == 0 or law.pf_tail(count, gap - 1, 2) > beta
            simple = 2 * (math.log(count) - math.log(2 * beta))
            assert gap <= max(0, math.ceil(simple + 1e-6))


def test_order_index_exact() -> None:
    """The index is the least one by exact binomial tails in Fractions."""
    for draws, level, loss in (
        (20, "0.5", "0.01"),
        (7, "0.9", "0.1"),
        (60, "1/3", "1e-6"),
        (1, "0.5", "0.6"),
    ):
        p, bound = Fraction(level), Fraction(loss)
        mass = [math.comb(draws, i) * p**i * (1 - p) ** (draws - i) for i in range(draws + 1)]
        least = min(j for j in range(draws + 2) if sum(mass[j:]) <= bound)
        assert law.order_index(draws, p, bound) == least


def test_order_index_reference() -> None:
    """Ten thousand draws at level 0.9 need the 9141st smallest; one draw can bound nothing at 10^-6."""
    assert law.order_index(10_000, Fraction(9, 10)) == 9141
    assert law.order_index(10_000, 0.9, "1e-6") == 9141  # type: ignore[arg-type]
    assert law.order_index(1, 0.9) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: law.dlap_pmf(0, 0),
        lambda: law.dlap_quantile(0, 1),
        lambda: law.chernoff_upper(1, 1, 0, 0.1),
        lambda: law.chernoff_upper(1, 1, 1, 1),
        lambda: law.pf_tail(-1, 0, 1),
        lambda: law.pf_gap(1, 1, 0),
        lambda: law.order_index(0, 0.5),
        lambda: law.order_index(5, 1),
        lambda: law.order_index(5, 0.5, 0),
    ],
)
def test_bad_arguments(call: Any) -> None:
    """Arguments out of range are refused by name."""
    with pytest.raises(ArgumentError, match="Argument '"):
        call()
