"""Laws of the halfspace elimination protocol."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from geomdp.core.classifier import Halfspace
from geomdp.core.domain import Domain
from geomdp.core.errors import BudgetError, ProtocolError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.containers import build
from geomdp.privacy.audit import neighbour_pairs, selection_law
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.transcript import Message
from geomdp.testers import elimination, elimination_rounds
from geomdp.testers.base import Finding, Setting
from geomdp.testers.elimination import EliminationParty, HalfspaceElimination, mistakes
from geomdp.testers.elimination_plan import Cutting
from geomdp.testers.elimination_rounds import Round, State, next_step

GRID = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
LINE = Domain([[0, 1], [1, 1], [2, 1]])
N = 3000
TESTER = HalfspaceElimination(Setting(GRID, N, N, Fraction(1)))
RULE = (3, 2, -4)


def labelled(rule: tuple[int, ...], n: int, rng: np.random.Generator, flips: int = 0) -> Sample:
    """Return n random records labelled by a rule, the labels of the first few turned."""
    cells = rng.integers(0, GRID.m, n)
    y = np.where(GRID.points[cells] @ np.array(rule) >= 0, 1, -1)
    y[:flips] *= -1
    return Sample.from_cells(GRID, cells, y)


def opt(S_A: Sample, S_B: Sample) -> int:
    """Return opt by brute force over all dichotomies."""
    W = dichotomies(S_A.domain, generic=True).weights
    return int((mistakes(S_A, W) + mistakes(S_B, W)).min())


def play(tester: HalfspaceElimination, S_A: Sample, S_B: Sample, seed: int) -> Finding:
    """Run once with simulated noise, checking the budgets and who speaks."""
    finding = tester.converse(S_A, S_B, *SimSampler(seed).spawn(2))
    for name in ("Alice", "Bob"):
        assert finding.transcript.spent(name) <= tester.setting.epsilon
    assert {m.sender for m in finding.transcript.messages} <= {"Alice", "Bob"}
    return finding


def test_mistakes_equal_each_classifiers_own_count() -> None:
    """The vector of mistakes is what each halfspace counts for itself."""
    rng = np.random.default_rng(0)
    W = dichotomies(GRID, generic=True).weights
    S = labelled(RULE, 200, rng, flips=30)
    assert mistakes(S, W).tolist() == [Halfspace.of(w).mistakes(S) for w in W]
    empty = Sample.from_cells(GRID, [], [])
    assert not mistakes(empty, W).any()


def test_match_and_far_are_told_apart() -> None:
    """At opt = 0 and at opt >= t all of 15 runs each are right (allowed failure rate: beta = 0.1)."""
    rng = np.random.default_rng(1)
    assert TESTER.resolution is not None
    verdicts: Counter[tuple[str, str]] = Counter()
    for seed in range(15):
        A, B = labelled(RULE, N, rng), labelled(RULE, N, rng)
        verdicts["match", play(TESTER, A, B, seed).verdict] += 1
        k = TESTER.resolution // 2 + 60
        A, B = labelled(RULE, N, rng, flips=k), labelled(RULE, N, rng, flips=k)
        assert opt(A, B) >= TESTER.resolution
        verdicts["far", play(TESTER, A, B, seed).verdict] += 1
    assert verdicts == {("match", "Match"): 15, ("far", "Far"): 15}


def test_conflicting_parties_are_far() -> None:
    """Parties that each fit perfectly but contradict each other are told apart from a match."""
    rng = np.random.default_rng(2)
    for seed in range(5):
        A, B = labelled(RULE, N, rng), labelled((-3, -2, 3), N, rng)
        assert opt(A, B) >= (TESTER.resolution or 0)
        assert play(TESTER, A, B, seed).verdict == "Far"


def test_match_of_the_finish_comes_with_a_classifier() -> None:
    """A Match that the counting finish decides names a halfspace with few mistakes."""
    D = Domain([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    tester = HalfspaceElimination(Setting(D, N, N, Fraction(1)))
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 4, (2, N))
    y = np.where(D.points[cells] @ np.array([2, 2, -1]) >= 0, 1, -1)
    A, B = (Sample.from_cells(D, c, labels) for c, labels in zip(cells, y, strict=True))
    finding = play(tester, A, B, 4)
    assert finding.verdict == "Match"
    assert isinstance(finding.classifier, Halfspace)
    assert finding.classifier.mistakes(A) + finding.classifier.mistakes(B) < (tester.resolution or 0)


def test_tolerance_is_owed_a_match() -> None:
    """With tolerance t0, data with opt <= t0 matches, and data with opt >= t does not."""
    tester = HalfspaceElimination(Setting(GRID, N, N, Fraction(2), tolerance=60))
    rng = np.random.default_rng(5)
    for seed in range(10):
        A, B = labelled(RULE, N, rng, flips=30), labelled(RULE, N, rng, flips=30)
        assert opt(A, B) <= 60
        assert play(tester, A, B, seed).verdict == "Match"
    k = (tester.resolution or 0) // 2 + 60
    assert play(tester, labelled(RULE, N, rng, k), labelled(RULE, N, rng, k), 1).verdict == "Far"


def test_disjoint_labels_and_unequal_sizes() -> None:
    """Disjoint labels and different numbers of records run through the same code."""
    setting = Setting(GRID, 4000, 2500, Fraction(1), labels="disjoint")
    tester = HalfspaceElimination(setting)
    rng = np.random.default_rng(6)
    side = GRID.points @ np.array(RULE) >= 0
    low, high = np.flatnonzero(~side), np.flatnonzero(side)
    A = Sample.from_cells(GRID, rng.choice(low, 4000), [-1] * 4000)
    B = Sample.from_cells(GRID, rng.choice(high, 2500), [1] * 2500)
    assert play(tester, A, B, 7).verdict == "Match"
    cells = rng.integers(0, GRID.m, 6500)
    A = Sample.from_cells(GRID, cells[:4000], [-1] * 4000)
    B = Sample.from_cells(GRID, cells[4000:], [1] * 2500)
    assert opt(A, B) >= (tester.resolution or 0)
    assert play(tester, A, B, 8).verdict == "Far"


def test_paper_constants_run_and_keep_their_menu_bound() -> None:
    """With the published constants the menus stay within (2/eta)^d, and both answers come out right."""
    n = 9000
    tester = HalfspaceElimination(Setting(GRID, n, n, Fraction(1)), constants="paper")
    assert tester.published is not None
    rng = np.random.default_rng(9)
    k = tester.published.resolution // 2 + 400
    for seed in range(5):
        assert play(tester, labelled(RULE, n, rng), labelled(RULE, n, rng), seed).verdict == "Match"
        far = labelled(RULE, n, rng, min(k, n // 2)), labelled(RULE, n, rng, min(k, n // 2))
        assert play(tester, *far, seed).verdict == "Far"


def test_secure_run_spends_within_the_budget() -> None:
    """One run from the operating system's entropy on a tiny domain: right verdict, exact accounts."""
    D = Domain([[0, 1], [1, 1], [2, 1]])
    tester = HalfspaceElimination(Setting(D, 2000, 2000, Fraction(1)))
    A = Sample.from_counts(D, [0, 0, 1000], [1000, 0, 0])
    finding = tester.converse(A, A, SecureSampler(), SecureSampler())
    assert finding.verdict == "Match"
    assert max(finding.transcript.spent(p) for p in ("Alice", "Bob")) <= 1


def rounds_of(domain: Domain) -> list[tuple[np.ndarray, Round]]:
    """Return a round for every set of candidates of a tiny domain that has enough members to choose from."""
    W = dichotomies(domain, generic=True).weights
    out = []
    for size in (2, 3, len(W)):
        for alive in combinations(range(len(W)), size):
            menu = build(W[list(alive)], size // 2, size // 2, method="list", generic=True)
            menus = {"Alice": menu, "Bob": menu}
            step = Round("Alice", menus, Fraction(1), Fraction(2), 1, 1, 2, 0.1)
            out.append((np.array(alive), step))
    return out


def law(step: Round, f: np.ndarray, r: Fraction, mutant: str = "") -> dict[int, Fraction]:
    """Return the exact law of one selection with r = exp(-c), as the party computes its scores."""
    menu = step.menus["Alice"]
    scores = menu.scores(f, step.cap).tolist()
    bottom = step.bottom if mutant != "bottom" else step.bottom + int(f.min())
    if mutant == "scale":
        r = r * r
    return selection_law({**dict(enumerate(scores)), -1: bottom}, r)


def worst_excess(mutant: str = "") -> Fraction:
    """Return the worst ratio of one output's probabilities, divided by exp(price of that output)."""
    r = Fraction(1, 2)
    W = dichotomies(LINE, generic=True).weights
    records = [(cell, y) for cell in range(3) for y in (-1, 1)]
    pairs = list(neighbour_pairs(records, 2))
    cells = {data: mistakes(Sample.from_cells(LINE, *zip(*data, strict=True)), W) for data, _ in pairs}
    worst = Fraction(0)
    for alive, step in rounds_of(LINE):
        laws = {data: law(step, f[alive], r, mutant) for data, f in cells.items()}
        for data, neighbour in pairs:
            for output, p in laws[data].items():
                price = 2 if output >= 0 else 0 if mutant == "free bottom" else 1
                worst = max(worst, p / laws[neighbour][output] * r**price)
    return worst


def test_prices_hold_exactly() -> None:
    """Over all neighbours and candidate sets of a tiny domain, bottom moves by e^c, members by e^2c."""
    assert Fraction(1, 2) < worst_excess() <= 1


@pytest.mark.parametrize("mutant", ["scale", "free bottom", "bottom"])
def test_planted_bugs_break_the_prices(mutant: str) -> None:
    """A scale off by two, an unpaid bottom, and a bottom that looks at data all exceed their prices."""
    assert worst_excess(mutant) > 1


def test_nothing_is_drawn_beyond_the_budget() -> None:
    """A party that cannot pay for a member refuses before it draws."""

    class NeverAsked(SimSampler):
        def permute_and_flip(self, scores: object, scale: Fraction) -> int:
            raise AssertionError("drawn")

    S = Sample.from_cells(LINE, [0], [1])
    party = EliminationParty("Alice", S, NeverAsked(0), Budget(Fraction(3, 2)))
    party.prepare(dichotomies(LINE, generic=True).weights)
    alive, step = rounds_of(LINE)[-1]
    with pytest.raises(BudgetError):
        party.select(step, alive)
    assert party.budget.spent == 0


@pytest.mark.parametrize("index", [-2, 10**6, "0", True, None])
def test_malformed_selections_are_refused(index: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index outside the public menu is a protocol error."""

    def forged(self: EliminationParty, step: Round, alive: np.ndarray) -> Message:
        return Message(self.name, "selection", {"index": index}, Fraction(0))

    monkeypatch.setattr(EliminationParty, "select", forged)
    S = Sample.from_cells(GRID, [0] * N, [1] * N)
    with pytest.raises(ProtocolError):
        TESTER.converse(S, S, *SimSampler(0).spawn(2))


def test_next_step_depends_on_public_facts_only() -> None:
    """Equal public facts give the same step, price and menus."""
    menus = elimination.menus_of(GRID)
    plan = TESTER.calibration
    assert plan is not None
    state = State(np.arange(len(menus.weights)), {"Alice": Fraction(1), "Bob": Fraction(1)}, 0.0999)
    one = next_step(menus, state, plan)
    two = next_step(elimination_rounds.Menus(menus.weights), state, plan)
    assert isinstance(one, Round)
    assert isinstance(two, Round)
    assert (one.first, one.price, one.bottom, one.share) == (two.first, two.price, two.bottom, two.share)
    assert (one.menus["Bob"].bits == two.menus["Bob"].bits).all()


def test_too_hopeful_assumptions_end_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Menus assumed far too small leave too little budget: the third outcome, never an overdraft."""
    monkeypatch.setattr(elimination, "first_menus", lambda domain, progress: (Cutting(0.51, 1),))
    tester = HalfspaceElimination(Setting(GRID, N, N, Fraction(1)), guarantee="unless-inconclusive")
    assert (tester.resolution or 0) < (TESTER.resolution or 0)
    rng = np.random.default_rng(11)
    verdicts = {
        play(tester, labelled(RULE, N, rng, f), labelled(RULE, N, rng, f), s).verdict
        for s in range(1)
        for f in (0, 700)
    }
    assert verdicts <= {"Match", "Far", "Inconclusive"}


def test_inconclusive_when_nothing_can_be_paid() -> None:
    """With an assumed menu and no budget left there is no next step; certified plans are never there."""
    tester = HalfspaceElimination(Setting(GRID, N, N, Fraction(1)), guarantee="unless-inconclusive")
    menus = elimination.menus_of(GRID)
    assert tester.calibration is not None
    left = {"Alice": Fraction(1, 10**6), "Bob": Fraction(1, 10**6)}
    assert next_step(menus, State(np.arange(50), left, 0.05), tester.calibration) is None


@pytest.mark.parametrize(
    ("domain", "word"),
    [
        (Domain([[1, 0], [-1, 0], [0, 1]]), "generic"),
        (Domain.grid([("x", 0, 1, 99), ("y", 0, 1, 99)]), "enumerated"),
    ],
)
def test_unsuitable_domains_give_a_reason(domain: Domain, word: str) -> None:
    """Domains without generic representatives, or with too many, are infeasible with the reason."""
    tester = HalfspaceElimination(Setting(domain, 10**6, 10**6, Fraction(1)))
    assert tester.resolution is None
    assert not tester.feasible
    assert word in tester.reason


def test_small_samples_are_infeasible() -> None:
    """Where opt cannot reach the resolution, the tester says so."""
    assert TESTER.feasible
    assert not HalfspaceElimination(Setting(GRID, 50, 50, Fraction(1))).feasible
