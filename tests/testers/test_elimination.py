"""Laws of the halfspace elimination protocol."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from geomdp.core.classifier import Halfspace
from geomdp.core.domain import Domain
from geomdp.core.errors import BudgetError, ProtocolError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.containers import build, opposite_families
from geomdp.geometry.levels import level_cutting
from geomdp.geometry.subsets import halfspace_subsets
from geomdp.privacy.audit import neighbour_pairs, selection_law
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.transcript import Message
from geomdp.testers import elimination, elimination_rounds
from geomdp.testers.base import Finding, Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.elimination_plan import Cutting, most_listed
from geomdp.testers.elimination_rounds import Round, State, next_step
from geomdp.testers.elimination_turns import EliminationParty, after_bottoms, mistakes
from geomdp.testers.replay import replay

GRID = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
LINE = Domain([[0, 1], [1, 1], [2, 1]])
N = 3000
ONE = Fraction(1)
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


def test_a_double_bottom_is_retried() -> None:
    """With retries both answers stay right; where nobody can cut, Match takes one double bottom more each."""
    retries = 1
    tester = HalfspaceElimination(Setting(GRID, N, N, Fraction(1)), retries=retries)
    rng = np.random.default_rng(12)
    k = (tester.resolution or 0) // 2 + 60
    for seed in range(2):
        assert play(tester, labelled(RULE, N, rng), labelled(RULE, N, rng), seed).verdict == "Match"
        assert play(tester, labelled(RULE, N, rng, k), labelled(RULE, N, rng, k), seed).verdict == "Far"
    one_cell = Sample.from_cells(GRID, [0] * N, [1] * N)  # half of all candidates fit without a mistake
    silent = []
    for seed in range(4):
        finding = play(tester, one_cell, one_cell, seed)
        run = replay(tester, finding.transcript)
        assert finding.verdict == run.verdict == "Match"
        silent.append(len([step for step in run.steps if len(step.silent) == 2]))
    assert max(silent) == retries + 1


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
            out.append((np.array(alive), Round("Alice", menus, ONE, 2 * ONE, 1, 1, 2, 0.1, 2 * ONE)))
    everything = np.arange(len(W))
    cells = level_cutting(W, 4)
    total = len(W) + cells.cross
    for most in (total // 2, total // 2 + 1):
        alice, bob = opposite_families(W, cells, (most, total - most))
        for menus in ({"Alice": alice, "Bob": bob}, {"Alice": bob, "Bob": alice}):
            if len(menus["Alice"]):
                step = Round("Alice", menus, ONE, 2 * ONE, 1, 1, 2, 0.1, 2 * ONE)
                out.append((everything, step))
    return out


def law(step: Round, f: np.ndarray, r: Fraction, mutant: str = "") -> dict[int, Fraction]:
    """Return the exact law of one selection with r = exp(-c), as the party computes its scores."""
    menu = step.menus["Alice"]
    scores = menu.scores(f, step.cap).tolist()
    if mutant == "menu":  # its members are numbered as the data say
        scores = np.roll(scores, int(np.argmin(f))).tolist()
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


def repeated(rounds: int, charges: int) -> Fraction:
    """Return the worst ratio of bottom in all of some rounds, over exp(its price) charged so many times."""
    r = Fraction(1, 2)
    W = dichotomies(LINE, generic=True).weights
    records = [(cell, y) for cell in range(3) for y in (-1, 1)]
    pairs = list(neighbour_pairs(records, 2))
    cells = {data: mistakes(Sample.from_cells(LINE, *zip(*data, strict=True)), W) for data, _ in pairs}
    worst = Fraction(0)
    for alive, step in rounds_of(LINE)[-4:]:
        laws = {data: law(step, f[alive], r) for data, f in cells.items()}
        for data, neighbour in pairs:
            ratio = laws[data][-1] / laws[neighbour][-1]
            worst = max(worst, ratio**rounds * r**charges)
    return worst


def test_prices_add_up_over_rounds() -> None:
    """Repeated silence is covered when each is paid; a budget that is charged only once does not cover it."""
    assert repeated(8, 8) <= 1 < repeated(8, 1)


@pytest.mark.parametrize("mutant", ["scale", "free bottom", "bottom", "menu"])
def test_planted_bugs_break_the_prices(mutant: str) -> None:
    """A scale off by two, an unpaid bottom, a bottom or a menu that looks at data all exceed their prices."""
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


HONEST = EliminationParty.select
FORGERIES = {
    "index": lambda m: Message(m.sender, m.kind, {**m.payload, "index": 10**6}, m.epsilon),
    "negative": lambda m: Message(m.sender, m.kind, {**m.payload, "index": -2}, m.epsilon),
    "text": lambda m: Message(m.sender, m.kind, {**m.payload, "index": "0"}, m.epsilon),
    "boolean": lambda m: Message(m.sender, m.kind, {**m.payload, "index": True}, m.epsilon),
    "nothing": lambda m: Message(m.sender, m.kind, {"candidates": m.payload["candidates"]}, m.epsilon),
    "candidates": lambda m: Message(m.sender, m.kind, {**m.payload, "candidates": 1}, m.epsilon),
    "free": lambda m: Message(m.sender, m.kind, m.payload, Fraction(0)),
    "dear": lambda m: Message(m.sender, m.kind, m.payload, m.epsilon + Fraction(1, 10**9)),
    "kind": lambda m: Message(m.sender, "mistakes", m.payload, m.epsilon),
    "sender": lambda m: Message("Alice" if m.sender == "Bob" else "Bob", m.kind, m.payload, m.epsilon),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_selections_are_refused(forgery: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a selection may hold and what it costs follows from the public step; anything else is refused."""

    def forged(self: EliminationParty, step: Round, alive: np.ndarray) -> Message:
        return FORGERIES[forgery](HONEST(self, step, alive))

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


def test_too_hopeful_assumptions_end_inconclusive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Menus assumed far too small leave too little budget: the third outcome, never an overdraft."""
    monkeypatch.setenv("GEOMDP_CACHE_DIR", str(tmp_path))  # no table of the right assumptions, and none left
    hopeful = (Cutting(Fraction(51, 100), 1),)
    monkeypatch.setattr(elimination, "first_menus", lambda domain, progress: hopeful)
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


class _Adversary:
    """Plays the public game with real menus: large members, and a double bottom wherever it is retried."""

    def __init__(self, tester: HalfspaceElimination, seed: int) -> None:
        self.tester, self.rng = tester, np.random.default_rng(seed)
        self.methods: set[str] = set()

    def outcome(self) -> str:
        """Return "finish", the verdict of an empty set, or "Inconclusive"."""
        menus = elimination.menus_of(self.tester.setting.domain)
        state = self.tester.start(menus)
        while True:
            step, verdict = self.tester.next_step(menus, state)
            if not isinstance(step, Round):
                return "finish" if step is not None else verdict
            again = after_bottoms(step, state)
            if again is not None and self.rng.random() < 0.3:
                left = {name: state.left[name] - step.price for name in state.left}
                state = State(again.alive, left, again.risk, again.rounds, again.lives)
                continue
            sizes = {name: elimination_rounds.largest(step.menus[name]) for name in ("Alice", "Bob")}
            name = max(sizes, key=lambda n: sizes[n] * self.rng.uniform(0.8, 1.2))
            left, menu = dict(state.left), step.menus[name]
            left[name] -= step.member_price
            if name == step.second:
                left[step.first] -= step.price
            assert min(left.values()) >= 0
            self.methods.add(menu.method)
            alive = state.alive[menu.members(int(np.argmax(menu.sizes)))] if len(menu) else state.alive[:0]
            state = State(alive, left, state.risk - step.share, state.rounds + 1, state.lives)


@pytest.mark.parametrize(("proved_only", "retries"), [(False, 0), (True, 0), (True, 1)])
def test_analytic_plans_never_end_without_an_answer(
    proved_only: bool, retries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever cuts what, the menus that are proved to exist last to the end, also without any better ones."""
    domain = Domain.grid([("x", 0, 1, 5), ("y", 0, 1, 5)])
    tester = HalfspaceElimination(Setting(domain, N, N, Fraction(1)), retries=retries)
    assert tester.guarantee == "analytic"
    assert tester.candidates > most_listed(3)
    if proved_only:
        monkeypatch.setattr(elimination_rounds, "SHARES_CROSSING", ())
    for seed in range(1 + retries):
        adversary = _Adversary(tester, seed)
        assert adversary.outcome() in {"finish", "Far"}
        assert "levels" in adversary.methods


def test_three_dimensions_and_short_lists_are_analytic() -> None:
    """The guarantee says whether all menus exist: always up to rank 3, else where lists are short."""
    cube = Domain.grid([(name, 0, 1, 2) for name in "xyz"])
    larger = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3), ("z", 0, 1, 2)])
    for domain, guarantee in ((GRID, "analytic"), (cube, "analytic"), (larger, "unless-oversize")):
        tester = HalfspaceElimination(Setting(domain, N, N, Fraction(1)))
        listed = tester.candidates <= most_listed(tester.dimension)
        assert tester.guarantee == guarantee
        assert (guarantee == "analytic") == (tester.dimension <= 3 or listed)
    flat = Domain([[a, b, a + b, 1] for a in range(3) for b in range(3)])
    assert HalfspaceElimination(Setting(flat, N, N, Fraction(1))).dimension == 3


UNPOINTED = {
    "cross": Domain([[1, 0], [-1, 0], [0, 1]]),
    "zero": Domain([[0, 0], [1, 1], [-1, 1], [-2, -2]]),
    "centred grid": Domain([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)]),
}


@pytest.mark.parametrize("name", UNPOINTED)
def test_domains_with_antipodal_and_zero_points(name: str) -> None:
    """On domains in no open halfspace both sides of the promise hold, w = 0 and faces included."""
    domain = UNPOINTED[name]
    n = 2000
    tester = HalfspaceElimination(Setting(domain, n, n, Fraction(4)))
    W = dichotomies(domain, generic=True).weights
    assert tester.dimension == 3
    assert tester.resolution is not None
    assert len(W) == tester.candidates
    rng = np.random.default_rng(7)
    for seed, w in enumerate(W[:: max(1, len(W) // 5)]):  # any labelling, degenerate ones among them
        cells = rng.integers(0, domain.m, (2, n))
        y = np.where(domain.points @ w >= 0, 1, -1)
        A, B = (Sample.from_cells(domain, c, y[c]) for c in cells)
        assert play(tester, A, B, seed).verdict == "Match"
    seen = 0
    for seed in range(8):
        y = np.where(rng.random((2, domain.m)) < 0.5, 1, -1)
        A, B = (Sample.from_cells(domain, c, labels[c]) for c, labels in zip(cells, y, strict=True))
        if int((mistakes(A, W) + mistakes(B, W)).min()) >= tester.resolution:
            seen += 1
            assert play(tester, A, B, seed).verdict == "Far"
    assert seen


def test_lifted_candidates_are_separated_below_the_bound() -> None:
    """If opt > (d+2) k on a domain in no open halfspace, an affine plane separates the low-error sets."""
    rng = np.random.default_rng(8)
    seen = 0
    for domain in UNPOINTED.values():
        W = dichotomies(domain).weights
        lifted = np.hstack([W, np.ones((len(W), 1), dtype=np.int64)])
        subsets = halfspace_subsets(lifted)
        for _ in range(150):
            counts = rng.integers(0, 9, (4, domain.m)) * (rng.random((4, domain.m)) < 0.5)
            f = [mistakes(Sample.from_counts(domain, counts[i], counts[i + 2]), W) for i in (0, 1)]
            opt_here = int((f[0] + f[1]).min())
            for k in range(max(0, (opt_here - 1) // 4 + 1)):
                assert 4 * k < opt_here
                low_a, low_b = (g <= k for g in f)
                fits = subsets[:, low_a].all(axis=1) & ~subsets[:, low_b].any(axis=1)
                assert fits.any()
                seen += bool(low_a.any() and low_b.any())
    assert seen >= 20


@pytest.mark.parametrize(
    ("domain", "word"),
    [
        (Domain(np.vstack([np.eye(7, dtype=int), -np.eye(7, dtype=int)])), "neither"),
        (Domain.grid([("x", 0, 1, 99), ("y", 0, 1, 99)]), "enumerated"),
    ],
)
def test_unsuitable_domains_give_a_reason(domain: Domain, word: str) -> None:
    """Domains with too many candidates or dimensions are infeasible with the reason."""
    tester = HalfspaceElimination(Setting(domain, 10**6, 10**6, Fraction(1)))
    assert tester.resolution is None
    assert not tester.feasible
    assert word in tester.reason


def test_small_samples_are_infeasible() -> None:
    """Where opt cannot reach the resolution, the tester says so."""
    assert TESTER.feasible
    assert not HalfspaceElimination(Setting(GRID, 50, 50, Fraction(1))).feasible
