"""Laws of the calibration of halfspace elimination."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from geomdp.core.domain import Domain
from geomdp.core.errors import CapacityError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.containers import MOST_LISTED
from geomdp.geometry.levels import level_cells
from geomdp.geometry.subsets import cover_pairs, halfspace_subsets
from geomdp.privacy.law import dlap_sum_sf
from geomdp.testers.elimination_plan import (
    GRAIN,
    Calibration,
    Cutting,
    calibrate,
    far_share,
    finish_cut,
    finish_epsilon,
    most_listed,
    paper_constants,
    proved_cuttings,
    round_cost,
    round_logs,
    two_laplace_sf,
)
from geomdp.testers.elimination_turns import mistakes

ONE, TENTH = Fraction(1), Fraction(1, 10)
#: Dichotomies of the 16 x 16 grid with bias.
N16 = 40_150


def test_paper_constants_by_hand() -> None:
    """On 16 x 16 with bias the published constants give Q = 39, k = 2015 and t = 16,121."""
    found = paper_constants(N16, 3, ONE, TENTH)
    assert found.rounds == math.ceil(math.log(N16) / math.log(4 / 3)) + 2 == 39
    assert found.alpha == pytest.approx(78 * (math.log(513) + math.log(780)))
    assert (found.k, found.resolution) == (2015, 16_121)
    assert paper_constants(N16, 3, ONE, TENTH, 50).k == 2115


def test_certified_resolution_beats_the_targets() -> None:
    """The offline certificate needs far less than exact halving with Cover's menus (about 2,500)."""
    assert calibrate(N16, 3, ONE, TENTH).resolution <= 1_350
    assumed = (Cutting(Fraction(14, 25), 400), Cutting(Fraction(3, 5), 130))
    assert calibrate(N16, 3, ONE, TENTH, assumed=assumed).resolution <= 1_450


def test_resolution_is_what_the_separation_lemma_allows() -> None:
    """Resolution = (d+1) k + 1 with cap K = k + 1, and it moves the right way with every argument."""
    base = calibrate(174, 3, ONE, TENTH)
    assert base.resolution == 4 * (base.cap - 1) + 1
    assert calibrate(174, 3, 2 * ONE, TENTH).resolution < base.resolution
    assert calibrate(174, 3, ONE, TENTH / 10).resolution > base.resolution
    assert calibrate(40_150, 3, ONE, TENTH).resolution > base.resolution
    raised = calibrate(174, 3, ONE, TENTH, tolerance=25)
    assert raised.cap == base.cap + 25
    assert raised.resolution == base.resolution + 100


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(40), Fraction(700)])
def test_two_laplace_tail_bounds_the_exact_law(scale: Fraction) -> None:
    """The closed form equals the convolution of two discrete Laplace laws, up to its margin."""
    law = dlap_sum_sf(2, scale)
    for z in (1, 2, 7, int(10 * scale) + 1, int(25 * scale) + 1):
        exact = law.sf(z)
        assert exact * (1 - 1e-8) - 1e-20 <= two_laplace_sf(z, float(scale)) <= exact * (1 + 1e-7) + 1e-20


@pytest.mark.parametrize(("n", "t", "t0"), [(1, 60, 0), (3, 400, 0), (12, 1565, 100), (1, 40, 15)])
def test_counting_finish_keeps_both_errors(n: int, t: int, t0: int) -> None:
    """At the calibrated epsilon both failure probabilities of the finish are within the share; below, not."""
    share = 0.01
    epsilon = finish_epsilon(n, t, t0, share)
    cut = finish_cut(n, epsilon, t, t0, share)
    assert cut is not None
    law = dlap_sum_sf(2, Fraction(n / epsilon))
    assert law.sf(cut - t0 + 1) <= share * (1 + 1e-6)
    assert n * law.sf(t - cut) <= share * (1 + 1e-6)
    assert finish_cut(n, 0.98 * epsilon, t, t0, share) is None


@pytest.mark.parametrize(("rounds", "retries"), [(7, 0), (18, 1), (25, 2)])
def test_far_share_is_the_binomial_quantile(rounds: int, retries: int) -> None:
    """More than `retries` failures have probability at most the target; 1 % more p breaks it."""

    def tail(p: Fraction) -> Fraction:
        below = (math.comb(rounds, i) * p**i * (1 - p) ** (rounds - i) for i in range(retries + 1))
        return 1 - sum(below)

    p = Fraction(far_share(rounds, retries, 0.1))
    assert tail(p) <= TENTH < tail(p * Fraction(101, 100))


def test_retries_leave_enough_for_a_double_bottom() -> None:
    """With retries every cell of the table can repeat its round, and prices keep both failure odds."""
    plan = calibrate(174, 3, ONE, TENTH, retries=1)
    assert plan.game.lives == 1
    assert plan.game.after is not None
    assert plan.game.at(0) is plan.game.after
    assert (plan.game.size <= plan.game.after.size).all()
    assert plan.game.after.size[-1, -1] >= 174
    c, bottom = plan.price(200, plan.game.share)
    tau = Fraction(bottom, GRAIN)
    assert plan.game.far is not None
    assert math.exp(-float(c * (plan.cap - tau))) / 2 <= plan.game.far
    assert 100 * math.exp(-float(c * (tau - plan.tolerance))) <= plan.game.share


def test_proved_menus_are_bounded_for_all_sizes() -> None:
    """Every proved cutting bounds the cells of all sets from its least size on; lists end where they must."""
    for d in (2, 3):
        for cutting in proved_cuttings(d):
            share = 2 * cutting.ratio - 1
            for n in (cutting.least, cutting.least + 1, 3 * cutting.least, 10**6):
                cells = level_cells(n, int(share * n), d)
                assert cells is not None
                assert cells <= cutting.members
    for d in (2, 3, 4, 6):
        n = most_listed(d)
        assert cover_pairs(n, d) * n <= MOST_LISTED < cover_pairs(n + 1, d) * (n + 1)
    assert min(c.least for c in proved_cuttings(3)) <= most_listed(3) + 1
    assert not proved_cuttings(4)


def exact_game(plan: Calibration, candidates: int, d: int, finish: dict[int, int]) -> int:
    """Return the start of the budget game by trying every price in a plain recursion."""
    unit, share = plan.game.unit, plan.game.share
    costs = [math.ceil(round_cost(2 * cover_pairs(n, d) + 1, share) / unit) for n in range(candidates + 1)]

    @cache
    def size(a: int, b: int) -> int:
        best = max((n for n, price in finish.items() if min(a, b) >= price), default=0)
        for n in range(best + 1, candidates + 1):
            q = costs[n]
            if min(a, b) < 2 * q:
                break
            alice = size(a - 2 * q, b) + size(a - q, b - 2 * q)
            bob = size(a, b - 2 * q) + size(a - 2 * q, b - q)
            if 1 + max(alice, bob) >= n:
                best = n
        return best

    start = 0
    while size(start, start) < candidates:
        start += 1
    return start


def test_table_agrees_with_the_plain_recursion(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table's shortcut never claims more than the full recursion, and loses next to nothing."""
    from geomdp.testers import elimination_plan as module

    monkeypatch.setattr(module, "STEPS", 90)
    monkeypatch.setattr(module, "MOST_COUNTED", 3)
    for n, d in ((14, 3), (40, 3), (60, 2)):
        plan = calibrate.__wrapped__(n, d, ONE, TENTH)
        scale = float(plan.kappa) / plan.game.unit
        finish = {
            c: math.ceil(finish_epsilon(c, plan.resolution, 0, plan.game.share) * scale) for c in (1, 2, 3)
        }
        best = exact_game(plan, n, d, finish)
        assert best <= plan.game.start <= best + 2


def test_any_adversary_runs_out_of_candidates() -> None:
    """Played at the table's prices, whoever cuts in whatever order, all candidates go within both budgets."""
    plan = calibrate(2566, 3, ONE, TENTH)
    rng = np.random.default_rng(3)
    table, unit, share = plan.game, plan.game.unit, plan.game.share
    for _ in range(200):
        a, b, n, rounds = table.start, table.start, 2566, 0
        while n:
            margin, depth = table.margin(a, b, n)
            assert margin >= 0
            assert rounds + depth <= table.depth[-1, -1]
            rounds += 1
            price = finish_epsilon(n, plan.resolution, 0, share) * float(plan.kappa) / unit if n < 17 else 1e9
            if min(a, b) >= price:
                break
            a, b = a - margin, b - margin
            kinds = [(2 * cover_pairs(n, 3) + 1, n - 1)] if n <= most_listed(3) else []
            kinds += [(c.both, n + int((2 * c.ratio - 1) * n)) for c in table.proved if c.least <= n]
            rows = []
            for members, total in kinds:
                q = math.ceil(round_cost(members, share) / unit)
                for one, two in (
                    ((a - 2 * q, b), (a - q, b - 2 * q)),
                    ((a, b - 2 * q), (a - 2 * q, b - q)),
                ):
                    if min(*one, *two) >= 0:
                        rows.append((int(table.size[one]) + int(table.size[two]) - total, one, two))
            spare, *order = max(rows)
            assert spare >= 0
            one, two = (int(table.size[c]) for c in order)
            least = max(0, n - 1 - two)
            if rng.random() < 0.5:
                (a, b), n = order[0], int(rng.integers(least, one + 1)) if rng.random() < 0.3 else min(one, n)
            else:
                (a, b), n = order[1], min(two, n)


@pytest.mark.parametrize("members", [1, 2, 7, 801, 10**9])
@pytest.mark.parametrize("share", [0.05, 0.006, 1e-5])
def test_price_keeps_both_failures_of_a_round(members: int, share: float) -> None:
    """With the price and bottom's score of a plan, the race errs by at most the share on either side."""
    plan = calibrate(2566, 3, ONE, TENTH, tolerance=7)
    c, bottom = plan.price(members, share)
    tau = Fraction(bottom, GRAIN)
    rate = float(c)
    far = math.exp(-rate * float(plan.cap - tau)) / 2
    match = members / 2 * math.exp(-rate * float(tau - plan.tolerance))
    assert far <= share
    assert match <= share
    x, y = round_logs(members, share)
    assert rate * float(plan.kappa) <= (x + y) * (1 + 1e-6) + 1e-6


def separated(W: np.ndarray, low_a: np.ndarray, low_b: np.ndarray) -> bool:
    """Return whether some generic plane through 0 strictly separates two sets of candidates."""
    for subset in halfspace_subsets(W[low_a | low_b]):
        inside = np.zeros(len(W), dtype=bool)
        inside[np.flatnonzero(low_a | low_b)[subset]] = True
        if inside[low_a].all() and not inside[low_b].any():
            return True
    return False


def test_low_error_sets_are_separated_below_the_bound() -> None:
    """If opt > (d+1) k, the two low-error sets are strictly separated or one is empty."""
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(150):
        points = np.hstack([rng.integers(-2, 3, size=(6, 2)), np.ones((6, 1), dtype=np.int64)])
        domain = Domain(np.unique(points, axis=0))
        W = dichotomies(domain, generic=True).weights
        parties = []
        for _ in range(2):
            counts = rng.integers(0, 9, size=(2, domain.m)) * (rng.random((2, domain.m)) < 0.5)
            parties.append(mistakes(Sample.from_counts(domain, counts[0], counts[1]), W))
        opt = int((parties[0] + parties[1]).min())
        for k in range((opt - 1) // 4 + 1 if opt else 0):
            low_a, low_b = (f <= k for f in parties)
            if low_a.any() and low_b.any() and low_a.sum() + low_b.sum() <= 24:
                seen += 1
                assert separated(W, low_a, low_b)
    assert seen >= 20


def test_the_separation_bound_is_tight() -> None:
    """In R^2, with disjoint labels: at most k mistakes each, cones that meet, and opt = 3k = (d+1) k."""
    heavy, k = 10**6, 5
    points = [(-1, 9), (-1, -9), (1, 11), (1, -11), (0, 1), (0, -1), (1, 0), (-1, 0)]
    domain = Domain(points)
    alice = Sample.from_counts(domain, [0] * 8, [heavy, heavy, k, k, 0, 0, 0, 0])
    bob = Sample.from_counts(domain, [0, 0, 0, 0, heavy, heavy, heavy, k], [0] * 8)
    W = dichotomies(domain).weights
    assert not alice.positives.any()
    assert not bob.negatives.any()
    assert mistakes(alice, np.array([[10, 1], [10, -1]])).tolist() == [k, k]  # (1, 0) lies between these two
    assert mistakes(bob, np.array([[1, 0]])).tolist() == [k]
    assert int((mistakes(alice, W) + mistakes(bob, W)).min()) == 3 * k


@pytest.mark.parametrize(
    ("epsilon", "beta"), [(30, "1/2"), (50, "1/2"), (100, "9/10"), (50, "1/10"), (100, "1/4")]
)
@pytest.mark.parametrize(("candidates", "d"), [(14, 3), (12, 2), (2, 2), (1, 1), (18, 3), (104, 4)])
def test_calibrations_settle_and_share_out_every_round(candidates, d, epsilon, beta):
    """With few candidates and much budget, too, beta covers as many rounds as the table may need."""
    found = calibrate(candidates, d, Fraction(epsilon), Fraction(beta))
    table = found.game
    assert table.size[table.start, table.start] >= candidates
    assert (1 + int(table.depth[table.start, table.start])) * table.share <= Fraction(beta)
    assert found.units(Fraction(epsilon)) >= table.start
    assert found.resolution == (d + 1) * (found.cap - 1) + 1


def test_rounds_that_never_settle_are_a_capacity_error(monkeypatch):
    """A calibration without end is reported as too large, not as a crash."""
    monkeypatch.setattr("geomdp.testers.elimination_plan.MOST_ATTEMPTS", 1)
    with pytest.raises(CapacityError, match="settle"):
        calibrate.__wrapped__(14, 3, Fraction(30), Fraction(1, 2))
