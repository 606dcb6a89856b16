"""Laws of the (epsilon, delta) variant of halfspace elimination."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.containers import build
from geomdp.privacy.audit import neighbour_pairs, selection_law
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.elimination_delta import delta_bound, elimination_plan, exponential, rho_for
from geomdp.testers.elimination_plan import round_cost
from geomdp.testers.elimination_turns import mistakes
from geomdp.testers.replay import replay

ONE, MILLIONTH = Fraction(1), Fraction(1, 10**6)
GRID = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
LINE = Domain([[0, 1], [1, 1], [2, 1]])
N = 3000


def samples(flips: int, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Return two samples labelled by one rule, with the labels of the first few turned."""
    found = []
    for _ in range(2):
        cells = rng.integers(0, GRID.m, N)
        y = np.where(GRID.points[cells] @ np.array([3, 2, -4]) >= 0, 1, -1)
        y[:flips] *= -1
        found.append(Sample.from_cells(GRID, cells, y))
    return found[0], found[1]


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Return the exact delta of the rho-zCDP Gaussian mechanism (sensitivity 1, variance 1/(2 rho))."""
    sigma = 1 / math.sqrt(2 * rho)
    above = math.erfc((epsilon * sigma - 1 / (2 * sigma)) / math.sqrt(2)) / 2
    below = math.erfc((epsilon * sigma + 1 / (2 * sigma)) / math.sqrt(2)) / 2
    return above - math.exp(epsilon) * below


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, MILLIONTH), (4, Fraction(1, 10**9)), (0.1, Fraction(1, 100))]
)
def test_rho_is_enough_and_nearly_the_most(epsilon: float, delta: Fraction) -> None:
    """The rho found keeps delta, by its own formula and for the Gaussian mechanism; 1 % more does not."""
    e = Fraction(str(epsilon))
    rho = rho_for(e, delta)
    assert min(delta_bound(rho, e, a) for a in range(2, 400)) <= delta
    assert gaussian_delta(float(rho), epsilon) <= float(delta)
    assert min(delta_bound(rho * Fraction(101, 100), e, a) for a in range(2, 400)) > delta


def test_conversion_agrees_with_accountants() -> None:
    """An independent accountant finds no larger delta for a Gaussian of the same rho."""
    accounting = pytest.importorskip("dp_accounting")
    rho = rho_for(ONE, MILLIONTH)
    accountant = accounting.rdp.RdpAccountant()
    accountant.compose(accounting.GaussianDpEvent(float(1 / math.sqrt(2 * rho))))
    assert accountant.get_delta(1.0) <= float(MILLIONTH) * 1.05


def test_resolution_reaches_the_target() -> None:
    """At (1, 1e-6) on 16 x 16 with bias the certified resolution lies well below the pure one."""
    found = elimination_plan(40_150, 3, 1, delta=MILLIONTH)
    assert found.resolution <= 1_225
    assert found.concentrated
    assert found.budget == rho_for(ONE, MILLIONTH)


def test_any_adversary_stays_within_rho() -> None:
    """Selections at the table's prices cost c^2/2 each, and K is what makes the table's start affordable."""
    found = elimination_plan(174, 3, 1, delta=MILLIONTH)
    c, _ = found.price(50, found.game.share)
    assert found.fees(c) == (c**2 / 2, c**2 / 2)
    assert -found.units(-found.fees(c)[0]) <= math.ceil(
        round_cost(50, found.game.share, concentrated=True) / found.game.unit * (1 + 1e-6) + 1e-6
    )
    assert found.units(found.budget) >= found.game.start
    loss = found.finish_loss(5, found.budget)
    assert loss**2 / 10 <= found.budget < (loss + Fraction(1, 2**39)) ** 2 / 10


def ranges(mechanism: str, r: Fraction) -> Fraction:
    """Return the worst exp(range) of log ratios, over neighbours and candidate sets, of one selection."""
    W = dichotomies(LINE, generic=True).weights
    records = [(cell, y) for cell in range(3) for y in (-1, 1)]
    worst = Fraction(1)
    for alive in combinations(range(len(W)), 3):
        menu = build(W[list(alive)], 1, 1, method="list", generic=True)
        laws = {}
        for data, _ in neighbour_pairs(records, 2):
            f = mistakes(Sample.from_cells(LINE, *zip(*data, strict=True)), W)[list(alive)]
            scores = {**dict(enumerate(menu.scores(f, 2).tolist())), -1: 1}
            weights = {key: r**-score for key, score in scores.items()}
            total = sum(weights.values())
            law = {key: weight / total for key, weight in weights.items()}
            laws[data] = selection_law(scores, r) if mechanism == "permute-and-flip" else law
        for data, neighbour in neighbour_pairs(records, 2):
            ratios = [p / laws[neighbour][key] for key, p in laws[data].items()]
            worst = max(worst, max(ratios) / min(ratios))
    return worst


def test_log_ratios_lie_in_a_short_interval() -> None:
    """The exponential mechanism's log ratios span at most 2c, as rho needs; permute-and-flip's span more."""
    r = Fraction(1, 2)
    assert 1 < ranges("exponential", r) <= r**-2
    assert ranges("permute-and-flip", r) > r**-2


def test_the_sampler_has_the_exponential_law() -> None:
    """Frequencies of the exact sampler agree with exp(score/scale) within five standard deviations."""
    sampler, scores, scale, runs = SimSampler(0), [0, -3, 2, 2, -40], Fraction(5, 2), 20_000
    weights = np.exp(np.array(scores) / float(scale))
    law = weights / weights.sum()
    counts = Counter(exponential(sampler, scores, scale) for _ in range(runs))
    for index, p in enumerate(law):
        assert abs(counts[index] - runs * p) <= 5 * math.sqrt(runs * p * (1 - p)) + 1
    assert exponential(SecureSampler(), [7], Fraction(1)) == 0
    with pytest.raises(ArgumentError):
        exponential(sampler, [], Fraction(1))


def test_match_and_far_within_rho() -> None:
    """Both sides of the promise hold; rho is never exceeded; the transcript replays to the same verdict."""
    tester = HalfspaceElimination(Setting(GRID, N, N, ONE), delta=Fraction(1, 10**4))
    assert tester.guarantee == "analytic"
    assert tester.privacy == "(eps,delta)"
    assert tester.resolution is not None
    rng = np.random.default_rng(0)
    for seed in range(6):
        for flips, verdict in ((0, "Match"), (tester.resolution // 2 + 60, "Far")):
            finding = tester.converse(*samples(flips, rng), *SimSampler(seed).spawn(2))
            assert finding.verdict == verdict
            assert replay(tester, finding.transcript).verdict == verdict
            for name in ("Alice", "Bob"):
                losses = [m.epsilon for m in finding.transcript.messages if m.sender == name]
                selections = [m.epsilon for m in finding.transcript.messages if m.kind == "selection"]
                rho = sum(Fraction(e) ** 2 / 8 for e in losses if e in selections)
                assert rho <= tester.allotted


@pytest.mark.parametrize("delta", [0, 1, -1, "x", 0.5])
def test_bad_deltas_are_refused(delta: object) -> None:
    """Delta is a small positive number, and the paper's constants have none."""
    with pytest.raises(ArgumentError):
        HalfspaceElimination(Setting(GRID, N, N, ONE), delta=delta)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        HalfspaceElimination(Setting(GRID, N, N, ONE), delta=MILLIONTH, constants="paper")
