"""Laws of the localised protocol."""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom
from support.samplers import RecordingSampler
from support.sessions import exchange, refusal

import geomdp as g
from geomdp.core.errors import ArgumentError, ProtocolError
from geomdp.geometry.arrangement import dichotomies
from geomdp.privacy.audit import audit_protocol, laplace_law, neighbour_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.localisation import Localisation, candidates, pattern_suprema, pooled
from geomdp.testers.localised import Localised, PoolHolder, Scout

GRID = g.Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
BOX = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 2), ("z", 0, 1, 2)])
AXIS = g.Domain.grid([("x", 0, 1, 6)])
BETA = Fraction(1, 10)


def _setting(domain=GRID, n=400, **more):
    return Setting(domain, n, n, Fraction(1), BETA, **more)


def _uniform(domain, n, seed, weights):
    cells = np.random.default_rng(seed).integers(0, domain.m, n)
    return g.Sample.from_cells(domain, cells, np.where(domain.points[cells] @ weights >= 0, 1, -1))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    ("domain", "classes"),
    [(GRID, "halfspaces"), (BOX, "halfspaces"), (AXIS, "thresholds"), (AXIS, "halfspaces")],
)
def test_candidates_are_the_listed_classifiers_that_agree_enough(domain, classes, seed):
    """C by the sweep is C by enumeration, each classifier once, down to none and up to all."""
    y = np.random.default_rng(seed).integers(-9, 10, domain.m)
    if classes == "thresholds":
        listed = np.where(np.arange(domain.m) >= np.arange(domain.m + 1)[:, None], 1, -1)
    else:
        listed = dichotomies(domain).signs.astype(int)
    values = listed @ y
    for least in (int(values.max()) + 1, int(values.max()), int(np.median(values)), int(values.min())):
        got = candidates(_setting(domain, classes=classes), y, least)
        want = sorted(map(tuple, listed[values >= least].tolist()))
        assert sorted(map(tuple, got.tolist())) == want


@pytest.mark.parametrize("seed", range(20))
def test_pools_partition_the_cells_and_give_the_candidates_back(seed):
    """Pools have disjoint supports that cover all cells, and patterns @ pools = candidates."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random((int(rng.integers(1, 9)), 12)) < 0.5, 1, -1).astype(np.int8)
    signs[:, 3], signs[:, 7] = signs[:, 2], -signs[:, 2]
    pools, patterns = pooled(signs)
    assert (np.abs(pools).sum(axis=0) == 1).all()
    assert (patterns @ pools == signs).all()
    assert (np.abs(patterns) == 1).all()
    assert len(pools) == len(np.unique(np.concatenate([signs * signs[0]]), axis=1).T)


def test_pattern_suprema_are_maxima():
    """The supremum over explicit patterns is the plain maximum, at every size of noise."""
    rng = np.random.default_rng(0)
    patterns = np.where(rng.random((30, 5)) < 0.5, 1, -1).astype(np.int8)
    for size in (10, 10**6, 10**12, 2**58):
        noise = rng.integers(-size, size + 1, (40, 5))
        assert (pattern_suprema(patterns, noise) == (noise @ patterns.T.astype(np.int64)).max(axis=1)).all()


@pytest.mark.parametrize(("domain", "classes"), [(GRID, "halfspaces"), (AXIS, "thresholds")])
@pytest.mark.parametrize("seed", range(4))
def test_without_noise_the_truth_comes_out(domain, classes, seed):
    """With zero noise the verdict is right at both ends, and intervals and evidence hold their truths."""
    rng = np.random.default_rng(seed)
    w = rng.integers(-3, 4, domain.d)
    S_A, S_B = (_uniform(domain, 400, 7 * seed + i, w) for i in (0, 1))
    solve = g.opt_halfspace if classes == "halfspaces" else g.opt_threshold
    T = Localised(_setting(domain, classes=classes))
    still = RecordingSampler()
    for other in (S_B, g.Sample.from_counts(domain, S_B.negative, S_B.positive)):
        finding = T.converse(S_A, other, still, still)
        opt = solve(S_A, other).upper
        facts = finding.transcript.last("localisation").payload
        if opt == 0:
            assert finding.verdict == "Match"
            assert finding.classifier.mistakes(S_A + other) == 0
            assert facts["resolution"] < T.resolution
        if facts["resolution"] is not None and opt >= facts["resolution"]:
            assert finding.verdict == "Far"
        assert finding.opt_interval is None or finding.opt_interval[0] <= opt <= finding.opt_interval[1]
        own = solve(other).upper
        assert finding.party_intervals["Bob"][0] <= own <= finding.party_intervals["Bob"][1]


def test_dense_data_are_resolved_far_below_the_worst_case():
    """The realised t(C) falls with n, never exceeds the planned resolution, and stands in the transcript."""
    w, found = np.array([2, 1, -4]), []
    for n in (20, 400, 20_000):
        T = Localised(_setting(n=n))
        S_A, S_B = _uniform(GRID, n, 1, w), _uniform(GRID, n, 2, w)
        runs = [T.converse(S_A, S_B, *SimSampler(s).spawn(2)) for s in range(5)]
        realised = [f.transcript.last("localisation").payload["resolution"] for f in runs]
        assert all(t is None or t <= T.resolution for t in realised)
        found.append(np.median([t for t in realised if t is not None]))
    assert found[0] >= found[1] > found[2]
    assert found[2] <= 20


@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("conflict", [False, True])
def test_simulated_failures_stay_below_beta(n, conflict):
    """In seeded runs a match, or a conflict of the realised size, is misjudged as rarely as promised."""
    T = Localised(_setting(n=n))
    at = np.arange(GRID.m)
    w = np.array([2, 1, -4])
    wrong = missed = runs = 0
    S_A = _uniform(GRID, n, 1, w)
    repeats = 40 if n == 30 else 120
    for seed in range(repeats):
        alice, bob = SimSampler(seed).spawn(2)
        k = min(T.resolution, n) if conflict else 0
        # Bob's records of one far cell are flipped: every classifier errs on them or on Alice's
        left = g.Sample.from_counts(GRID, n * (at == 15), 0 * at) if conflict else S_A
        right = g.Sample.from_counts(GRID, (n - k) * (at == 15), k * (at == 15)) if conflict else S_A
        finding = T.converse(left, right, alice, bob)
        opt = g.opt_halfspace(left, right).upper
        t = finding.transcript.last("localisation").payload["resolution"]
        if conflict and t is not None and opt < t:
            continue
        runs += 1
        wrong += finding.verdict != ("Far" if conflict else "Match")
        interval = finding.opt_interval
        missed += interval is not None and not interval[0] <= opt <= interval[1]
    assert runs > 0 or n == 30
    assert wrong <= binom.ppf(1 - 1e-9, repeats, 0.1)
    assert missed <= binom.ppf(1 - 1e-9, repeats, 0.1)


def test_no_candidate_means_far_and_alice_keeps_her_budget():
    """When no classifier agrees with Bob's own counts, the answer is Far before Alice says anything."""
    at = np.arange(GRID.m)
    mixed = g.Sample.from_counts(GRID, 200 * (at == 5), 200 * (at == 5))
    finding = Localised(_setting()).converse(mixed, mixed, *SimSampler(0).spawn(2))
    assert finding.verdict == "Far"
    assert finding.transcript.spent("Alice") == 0
    assert finding.transcript.spent("Bob") == Fraction(7, 10)
    assert finding.party_intervals["Bob"][1] >= 200


@pytest.mark.parametrize("party", ["alice_accepts", "bob_accepts"])
def test_either_party_may_stop_before_alice_spends(party):
    """A party that accepts less than t(C) ends the run Inconclusive; Alice has spent nothing."""
    S = _uniform(GRID, 400, 1, np.array([2, 1, -4]))

    def run(**rules):
        return Localised(_setting(), **rules).converse(S, S, *SimSampler(1).spawn(2))

    t = run().transcript.last("localisation").payload["resolution"]
    assert 0 < t <= 40
    stopped = run(**{party: t - 1})
    assert stopped.verdict == "Inconclusive"
    assert (stopped.transcript.spent("Alice"), stopped.transcript.spent("Bob")) == (0, Fraction(7, 10))
    assert stopped.transcript.last("localisation").payload["resolution"] == t
    gone = run(**{party: t})
    assert gone.verdict == "Match"
    assert (gone.transcript.spent("Alice"), gone.transcript.spent("Bob")) == (1, 1)


@pytest.mark.parametrize("theirs", [{}, {"alice_accepts": 29}, {"bob_accepts": 30}, {"coarse": "1/2"}])
def test_rules_that_differ_are_refused_at_the_hello(theirs):
    """Parties that would stop at different t(C) refuse each other before either has sent anything else."""
    S = _uniform(GRID, 400, 1, np.array([2, 1, -4]))
    rules = ({"alice_accepts": 30}, theirs)
    alice, bob = (Localised(_setting(), **rule) for rule in rules)
    hellos = [next(t.attend(n, S, SimSampler(0))) for t, n in ((alice, "Alice"), (bob, "Bob"))]
    for tester, name, hello in ((alice, "Alice", hellos[1]), (bob, "Bob", hellos[0])):
        text, sent = refusal(tester.attend(name, S, SimSampler(1)), [hello])
        assert "Both parties must plan the same run" in text
        assert "'accepts'" in text
        assert len(sent) == 1
    with pytest.raises(ProtocolError, match="'accepts'"):
        exchange(alice.attend("Alice", S, SimSampler(2)), bob.attend("Bob", S, SimSampler(3)))


@pytest.mark.parametrize("most", [0, 10**6])
def test_equal_rules_meet(most):
    """Two sessions with one rule end with one transcript, whether the rule stops the run or not."""
    S = _uniform(GRID, 400, 1, np.array([2, 1, -4]))
    T = Localised(_setting(), bob_accepts=most)
    results, _ = exchange(T.attend("Alice", S, SimSampler(2)), T.attend("Bob", S, SimSampler(3)))
    assert results["Alice"].verdict == results["Bob"].verdict == ("Match" if most else "Inconclusive")
    assert results["Alice"].transcript == results["Bob"].transcript


@pytest.mark.parametrize("most", [-1, 1.5, True, "30"])
def test_rules_are_integers(most):
    """What a party accepts is a number that both can state."""
    with pytest.raises(ArgumentError, match="alice_accepts"):
        Localised(_setting(), alice_accepts=most)


@pytest.mark.parametrize("n", [10, 3000])
def test_budgets_are_spent_exactly(n):
    """Whether pooled or whole, each party spends its own budget in full, from the secure source."""
    T = Localised(_setting(n=n), epsilon_alice="1/2", epsilon_bob=2)
    S = _uniform(GRID, n, 3, np.array([2, 1, -4]))
    for _ in range(3):
        finding = T.converse(S, S, SecureSampler(), SecureSampler())
        if finding.transcript.last("localisation").payload["candidates"]:
            assert (finding.transcript.spent("Alice"), finding.transcript.spent("Bob")) == (Fraction(1, 2), 2)
            kinds = {message.kind for message in finding.transcript.messages}
            assert ("noisy field" in kinds) != ("pooled counts" in kinds)


def test_fresh_noise_respects_the_local_quantiles():
    """For random candidate sets, fresh noise exceeds up and down as rarely as promised."""
    T = Localised(_setting())
    rng = np.random.default_rng(0)
    scale, extra = noise_scale(2, Fraction(1)), T._extra[0]
    for seed in range(4):
        patterns = np.where(rng.random((50, 4 + seed)) < 0.5, 1, -1).astype(np.int8)
        up, down = T._local_quantiles(patterns, seed)
        fresh = SimSampler(1000 + seed)
        Z = fresh.discrete_laplace(scale, (3000, patterns.shape[1]))
        L = fresh.discrete_laplace(extra, 3000)
        assert int((pattern_suprema(patterns, Z) + L >= down).sum()) <= binom.ppf(1 - 1e-9, 3000, 0.1)
        one = Z @ patterns[0].astype(np.int64) + L
        assert int((one >= up).sum()) <= binom.ppf(1 - 1e-9, 3000, 0.08)


def test_bad_arguments_and_messages_are_refused():
    """A share of 1, counts of the wrong length, a missing or negative seed."""
    with pytest.raises(ArgumentError, match="coarse"):
        Localised(_setting(), coarse=1)
    T = Localised(_setting())
    transcript = Transcript({})
    transcript.append(Message("Bob", "coarse counts", {"net": [0] * 15}, Fraction(0)))
    with pytest.raises(ProtocolError, match="coarse counts"):
        T.localise(transcript)
    for seed in (None, 2**70, "x", -5):
        transcript = Transcript({})
        transcript.append(Message("Bob", "coarse counts", {"net": [400] + [0] * 15}, Fraction(0)))
        transcript.append(Message("Alice", "calibration seed", {"seed": seed}, Fraction(0)))
        with pytest.raises(ProtocolError, match="seed"):
            T.localise(transcript)


# ---- exact audits: statistics and scales from the code that runs, laws exact ----

TINY = g.Domain.grid([("x", 0, 1, 3)])
RECORDS = [(x, y) for x in (0, 1, 2) for y in (-1, 1)]
TINY_SETTING = Setting(TINY, 2, 2, Fraction(1), classes="thresholds")
POOLS = np.array([[1, 0, -1], [0, 1, 0]], dtype=np.int8)
PATTERNS = np.array([[1, 1], [1, -1], [-1, 1]], dtype=np.int8)
FOUND = Localisation(3, POOLS, PATTERNS, 5, 3)


def _tiny(data):
    return g.Sample.from_cells(TINY, [x for x, _ in data], [y for _, y in data])


def _product_law(centers, scale, low=-4, high=4):
    law = {(): Interval.of(1)}
    for center in centers:
        one = laplace_law(center, Interval.exp_neg(1 / scale), low, high)
        law = {(*key, a): (p * q).outward(128) for key, p in law.items() for a, q in one.items()}
    return law


def _pool_law(data, pools=POOLS):
    still = RecordingSampler()
    party = PoolHolder("Alice", _tiny(data), still, Budget(Fraction(1)))
    found = Localisation(3, pools, PATTERNS, 5, 3)
    centers = party.pools(Transcript({}), TINY_SETTING, found, Fraction(1)).payload["net"]
    return _product_law(centers, still.scales[0], -6, 6)


def test_audit_of_the_pooled_counts_is_tight():
    """Over all neighbours the worst exact ratio of Alice's message is e^epsilon."""
    from geomdp.privacy.audit import worst_log_ratio

    audit = worst_log_ratio(_pool_law, neighbour_pairs(RECORDS, 2))
    assert audit.log_upper <= 1 + 1e-9
    assert audit.log_lower >= 1 - 1e-9


def test_audit_catches_pools_that_overlap():
    """Planted bug: a cell counted in two pools doubles the sensitivity, and is refuted."""
    from geomdp.privacy.audit import worst_log_ratio

    overlapping = np.array([[1, 1, -1], [0, 1, 1]], dtype=np.int8)
    audit = worst_log_ratio(lambda data: _pool_law(data, overlapping), neighbour_pairs(RECORDS, 2))
    assert audit.violates(1)


def _scout_law(data, history, bug):
    return _scouted(data, history[1:2], bug)


@lru_cache
def _scouted(data, answer, bug):
    """Bob's messages: coarse counts, then the local minimum after any pooled counts."""
    still = RecordingSampler()
    bob = Scout("Bob", _tiny(data), still, Budget(Fraction(1)))
    if not answer:
        centers = bob.coarse(Transcript({}), TINY_SETTING, Fraction(7, 10)).payload["net"]
        return _product_law(centers, still.scales[0] / (2 if bug == "coarse" else 1), -3, 3)
    transcript = Transcript({})
    transcript.append(Message("Alice", "pooled counts", {"net": list(answer[0])}, Fraction(0)))
    share = Fraction(1) if bug == "twice" else Fraction(3, 10)
    center = bob.local_minimum(transcript, TINY_SETTING, FOUND, share).payload["scaled"]
    scale = still.scales[-1] / (2 if bug == "minimum" else 1)
    return laplace_law(center, Interval.exp_neg(1 / scale), -12, 20)


def _audit_scout(bug=None):
    return audit_protocol(
        lambda data, history: _scout_law(data, history, bug),
        neighbour_pairs(RECORDS[:4], 2),
        turn=lambda history: ("own", "other", "own", "end")[len(history)],
        alphabet=lambda history: [(0, 0), (3, -3), (-3, 4), (0, 5)],
        state=lambda history: (len(history), history[1:2]),
    )


def test_audit_of_the_scout_holds_against_any_answer():
    """Whatever Alice answers, the worst exact ratio of Bob's two messages is e^epsilon, no more."""
    audit = _audit_scout()
    assert audit.log_upper <= 1 + 1e-9
    assert audit.log_lower >= 1 - 1e-6


@pytest.mark.parametrize("bug", ["coarse", "minimum", "twice"])
def test_audit_catches_budget_bugs_of_the_scout(bug):
    """Planted bugs: coarse noise or minimum noise at half its scale; the budget counted afresh for step 4."""
    assert _audit_scout(bug).violates(1)
