"""Laws of the synthetic-data testers: approximation, certified errors, exact audits, both verdicts."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, gamma
from support.samplers import RecordingSampler
from support.sessions import exchange
from support.zoo import POINTS, labellings

import geomdp as g
from geomdp.privacy.audit import (
    datasets,
    laplace_law,
    neighbour_pairs,
    power,
    selection_law,
    worst_log_ratio,
)
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.law import pf_pmf
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.party import Party
from geomdp.protocol.script import play
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import mwem as mwem_module
from geomdp.testers.base import Setting
from geomdp.testers.mwem import MWEM, Weights, learn, predictions
from geomdp.testers.mwem_plan import GRAIN, Schedule, best_schedule
from geomdp.testers.net_mechanism import NetMechanism, approximation, net_count, net_vectors
from geomdp.testers.synthetic import Minimiser, published, query_count, query_signs

BETA = Fraction(1, 10)
SEGMENT = g.Domain([[0, 1], [1, 1], [2, 1]])
SQUARE = g.Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
RECORDS = [(x, y) for x in range(3) for y in (-1, 1)]


def _setting(domain=SEGMENT, n=400, epsilon=1, **more):
    return Setting(domain, n, n, Fraction(epsilon), BETA, **more)


def _sample(domain, data):
    return g.Sample.from_cells(domain, [x for x, _ in data], [y for _, y in data])


def _publish(tester, party):
    transcript = Transcript({})
    return play(tester._publish(party.name, transcript), {party.name: party}, transcript)


@pytest.mark.parametrize("name", sorted(POINTS))
def test_queries_are_all_labellings_up_to_complement(name):
    """Every labelling by a halfspace, or its complement, is a query; the count bounds their number."""
    domain = g.Domain(POINTS[name])
    rows = {tuple(row) for row in query_signs(domain).tolist()}
    every = {tuple(row) for row in labellings(POINTS[name]).tolist()}
    assert rows <= every
    assert all(row in rows or tuple(-v for v in row) in rows for row in every)
    assert len(rows) <= query_count(domain)


# ---- the net mechanism ----


@pytest.mark.parametrize(("m", "s"), [(1, 3), (2, 4), (3, 3), (4, 2), (3, 5)])
@pytest.mark.parametrize("label", [-1, 0, 1])
def test_net_vectors_are_those_of_all_datasets(m, s, label):
    """The list equals the set of net vectors of all datasets of s records, without repeats."""
    atoms = [(x, y) for x in range(m) for y in ((label,) if label else (-1, 1))]
    expected = set()
    for data in datasets(atoms, s):
        net = [0] * m
        for x, y in data:
            net[x] += y
        expected.add(tuple(net))
    listed = list(net_vectors(m, s, label))
    assert len(listed) == len(set(listed)) == net_count(m, s, label)
    assert set(listed) == expected


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("n", "s"), [(3, 2), (4, 3), (5, 4)])
def test_the_approximation_bound_holds_for_every_dataset(label, n, s):
    """Over all datasets of n records the best synthetic one costs at most the bound: exhaustively."""
    signs = query_signs(SEGMENT).astype(int)
    atoms = [(x, y) for x in range(3) for y in ((label,) if label else (-1, 1))]
    candidates = np.array(list(net_vectors(3, s, label))) @ signs.T
    worst = 0
    for data in datasets(atoms, n):
        truth = signs @ _sample(SEGMENT, data).net
        worst = max(worst, np.abs(s * truth - n * candidates).max(axis=1).min())
    assert worst <= approximation(n, s, len(atoms), len(signs))


def test_the_rounding_bound_is_what_largest_remainders_lose():
    """Shares j/7 on k atoms rounded to s records lose at most floor(k^2/4)/k records on any set of atoms."""
    for k, s in itertools.product((2, 3, 4), (3, 5)):
        for counts in itertools.product(range(8), repeat=k):
            if sum(counts) != 7:
                continue
            exact = [Fraction(s * c, 7) for c in counts]
            down = [math.floor(e) for e in exact]
            up = sorted(range(k), key=lambda i: down[i] - exact[i])[: s - sum(down)]
            lost = sum(exact[i] - down[i] for i in range(k) if i not in up)
            assert lost <= Fraction(k * k // 4, k)


def test_the_net_resolution_is_a_certificate():
    """Exactly, for fixed samples: P(selected cost > a) <= level by the quadrature law of the selection."""
    tester = NetMechanism(_setting(n=60, labels="disjoint"))
    s, signs = tester.unit, query_signs(SEGMENT).astype(int)
    candidates = np.array(list(net_vectors(3, s, -1)))[:1900]
    level = Fraction(1, 20)
    allowed = tester._error(60, level)
    for counts in ((60, 0, 0), (20, 20, 20), (7, 1, 52)):
        costs = np.abs(s * (signs @ -np.array(counts))[:, None] - 60 * (signs @ candidates.T)).max(axis=0)
        law = pf_pmf([-int(c) for c in costs], 4 * s)
        assert law[costs > allowed].sum() <= 0.05


def _net_law(data, factor=1):
    still = RecordingSampler()
    tester = NetMechanism(_setting(n=2))
    tester.unit = 2
    _publish(tester, Party("Alice", _sample(SEGMENT, data), still, Budget(Fraction(1))))
    return dict(enumerate(still.scores[0])), factor / still.scales[0]


def test_audit_of_the_net_mechanism():
    """The worst ratio of the selected dataset is at most e^epsilon; a quarter of the scale breaks it."""
    pairs = list(neighbour_pairs(RECORDS, 2))

    def law(data, factor=1):
        scores, rate = _net_law(data, factor=factor)
        # groups of equal score share one exact computation
        top, sizes = max(scores.values()), Counter(scores.values())
        from geomdp.privacy.selection import pf_law

        values = sorted(sizes)
        accept = [power(Interval.exp_neg(rate), top - v) for v in values]
        groups = dict(zip(values, pf_law(accept, [sizes[v] for v in values]), strict=True))
        return {i: groups[v] * Fraction(1, sizes[v]) for i, v in scores.items()}

    assert worst_log_ratio(law, pairs).log_upper <= 1 + 1e-9
    assert worst_log_ratio(lambda data: law(data, 4), pairs).violates(1)


# ---- multiplicative weights ----


def test_budget_shares_add_up_exactly():
    """T (selection + answer) = epsilon as fractions, and the scales cover the sensitivities."""
    for rounds, share in itertools.product((1, 3, 7), (Fraction(1, 2), Fraction(3, 4))):
        plan = Schedule(100, 8, 9, Fraction(2, 7), rounds, share)
        assert rounds * (plan.selecting + plan.measuring) == Fraction(2, 7)
        assert plan.selection_scale >= 2 * GRAIN / plan.selecting
        assert plan.answer_scale >= 1 / plan.measuring


def test_a_step_lowers_the_relative_entropy_as_claimed():
    """KL(P || A) falls by at least 2 ((p - a)^2 - v^2) for random P, A, labellings and noises."""
    rng = np.random.default_rng(4)
    signs = query_signs(SQUARE)
    for _ in range(300):
        W = Weights(SQUARE.m, (-1, 1))
        W.logs = rng.normal(size=W.logs.shape) * 2
        P = rng.dirichlet(np.full(W.logs.size, 0.3)).reshape(W.logs.shape)
        row, noise = signs[rng.integers(len(signs))], rng.normal() * 0.2
        wrong = W.labels[:, None] != row[None, :]

        def entropy(P=P, W=W):
            A = np.exp(W.logs) / np.exp(W.logs).sum()
            return float((P[P > 0] * np.log(P[P > 0] / A[P > 0])).sum()), A

        before, A = entropy()
        p, a = float(P[wrong].sum()), float(A[wrong].sum())
        W.update(row, p + noise)
        after, _ = entropy()
        assert before - after >= 2 * ((p - a) ** 2 - noise**2) - 1e-9


def test_gap_is_the_gamma_quantile():
    """The mean of T dominated gaps has the stated quantile (independent gamma law)."""
    plan = Schedule(100, 8, 101, Fraction(1), 5, Fraction(1, 2))
    expected = float(plan.selection_scale) / GRAIN * (math.log(50) + gamma.isf(0.05, 5) / 5)
    assert plan.gap(Fraction(1, 20)) == pytest.approx(expected, rel=1e-6)
    assert Schedule(100, 1, 1, Fraction(1), 5, Fraction(1, 2)).gap(Fraction(1, 20)) == 0


def test_the_best_schedule_is_the_best_of_its_grid():
    """No listed number of rounds has a smaller certified error."""
    best = best_schedule(1000, 32, 80, Fraction(1), BETA)
    for rounds in (1, 2, 8, 64):
        other = Schedule(1000, 32, 80, Fraction(1), rounds, best.share)
        assert best.error(BETA) <= other.error(BETA)


@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
@pytest.mark.parametrize("seed", range(3))
def test_learned_counts_respect_the_certified_error(labels, seed):
    """On skewed samples the largest error of the published counts exceeds a at most as often as promised."""
    n, setting = 3000, _setting(SQUARE, 3000, 2, labels=labels)
    tester = MWEM(setting)
    rng = np.random.default_rng(seed)
    cells = rng.choice(SQUARE.m, n, p=rng.dirichlet(np.full(SQUARE.m, 0.2)))
    y = np.full(n, -1) if labels == "disjoint" else np.where(cells % 3 == seed, 1, -1)
    sample = g.Sample.from_cells(SQUARE, cells, y)
    signs, allowed = query_signs(SQUARE).astype(int), tester._error(n, BETA)
    missed = 0
    for run in range(10):
        party = Party("Alice", sample, SimSampler(100 * seed + run), Budget(setting.epsilon))
        weights = _publish(tester, party)
        missed += np.abs(signs @ (tester.unit * sample.net - weights)).max() > allowed
        assert party.budget.left == 0
    assert missed <= binom.ppf(1 - 1e-9, 10, 0.1)


def _round_law(data, previous, factor=1, part="selection"):
    """The law of one message of round 2, after a fixed round 1: the code gives scores, centres and scales."""
    still = _Scripted(previous)
    plan = Schedule(2, 6, 3, Fraction(1), 2, Fraction(1, 2))
    party = Party("Alice", _sample(SEGMENT, data), still, Budget(Fraction(1)))
    t = Transcript({})
    play(learn("Alice", t, plan, query_signs(SEGMENT), (-1, 1)), {"Alice": party}, t)
    if part == "selection":
        return selection_law(dict(enumerate(still.scores[1])), Interval.exp_neg(factor / still.scales[2]))
    row = query_signs(SEGMENT)[0].astype(int)
    center = (2 - int(row @ party.sample.net)) // 2
    return laplace_law(center, Interval.exp_neg(factor / still.scales[3]), -1, 3)


class _Scripted(RecordingSampler):
    """A sampler whose first round gives what the script says: a selection and a noisy answer for all data."""

    def __init__(self, previous):
        super().__init__()
        self.previous, self.calls = previous, 0

    def permute_and_flip(self, scores, scale):
        super().permute_and_flip(scores, scale)
        return self.previous[0]


def _fixed_answer(monkeypatch, previous):
    """Make round 1's released answer the same for every sample, as conditioning on it does."""
    real = Weights.update

    def update(self, signs, answer):
        real(self, signs, previous[1])

    monkeypatch.setattr(mwem_module.Weights, "update", update)


@pytest.mark.parametrize("previous", [(0, 0.0), (1, 1.0), (2, 0.37)])
def test_audit_of_a_round(monkeypatch, previous):
    """Given any earlier messages, a selection and an answer cost at most their shares, epsilon/4 each."""
    _fixed_answer(monkeypatch, previous)
    pairs = list(neighbour_pairs(RECORDS, 2))
    for part in ("selection", "answer"):
        audit = worst_log_ratio(lambda d, part=part: _round_law(d, previous, part=part), pairs)
        assert audit.log_upper <= 0.25 + 1e-9
        half = worst_log_ratio(lambda d, part=part: _round_law(d, previous, 4, part), pairs)
        assert half.violates(Fraction(1, 4))


def _two_answers(data, reused):
    """Two noisy answers on one record count: with one noise for both, or one for each."""
    center = sum(y < 0 for _, y in data)
    r = Interval.exp_neg(Fraction(1, 4))
    law = laplace_law(center, r, -1, 3)
    if reused:
        other = 2 * sum(x for x, _ in data)
        return {(a, a - center + other): p for a, p in law.items()}
    return {(a, b): p * q for a, p in law.items() for b, q in law.items()}


def test_audit_catches_a_reused_noise():
    """Planted bug: one noise for two answers is refuted at any epsilon; separate noises are fine."""
    pairs = list(neighbour_pairs(RECORDS, 2))
    assert worst_log_ratio(lambda d: _two_answers(d, True), pairs).violates(100)
    assert worst_log_ratio(lambda d: _two_answers(d, False), pairs).log_upper <= 0.5 + 1e-9


def test_predictions_are_public():
    """Predictions depend on the distribution and n alone, and round to within half a unit."""
    W, signs = Weights(SQUARE.m, (-1, 1)), query_signs(SQUARE)
    W.update(signs[3], 0.9)
    exact = GRAIN // 2 * 1000 * (signs @ W.net())
    assert np.abs(predictions(signs, W.net(), 1000) - exact).max() <= 0.5 + 1e-9


# ---- both testers ----


def _minimum_law(data, y, factor=1):
    still = RecordingSampler()
    transcript = Transcript({})
    transcript.append(Message("Alice", "synthetic counts", {"weights": list(y)}, Fraction(0)))
    bob = Minimiser("Bob", _sample(SEGMENT, data), still, Budget(Fraction(1)))
    value = bob.minimum(transcript, _setting(n=2), 3).payload["value"]
    return laplace_law(value, Interval.exp_neg(factor / still.scales[0]), -20, 40)


def test_audit_of_the_answer_for_any_weights():
    """Whatever weights arrive, the minimum's worst ratio is at most e^epsilon; half the noise breaks it."""
    pairs = list(neighbour_pairs(RECORDS[:4], 2))
    audits = [
        worst_log_ratio(lambda d, y=y, f=f: _minimum_law(d, y, f), pairs)
        for y in ((0, 0, 0), (6, -6, 1), (-5, 9, -2))
        for f in (1, 2)
    ]
    assert all(audit.log_upper <= 1 + 1e-9 for audit in audits[::2])
    assert max(audit.log_lower for audit in audits[::2]) >= 1 - 1e-9
    assert any(audit.violates(1) for audit in audits[1::2])


@pytest.mark.parametrize("weights", [[0, 0], [0, 0, 2**52], [0, 0.5, 0], None, "abc"])
def test_bad_weights_are_refused(weights):
    """Malformed or absurd weights are refused before Bob's records are touched."""
    with pytest.raises(g.ProtocolError):
        published(Message("Alice", "synthetic counts", {"weights": weights}, Fraction(0)), _setting())


@pytest.mark.parametrize("one_way", [True, False])
@pytest.mark.parametrize("tester", [NetMechanism, MWEM])
@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
def test_simulated_errors_stay_below_beta(tester, labels, one_way):
    """Match at opt = t0 and Far at opt = t fail at most as often as promised, and intervals hold opt."""
    n = 6000
    T = tester(_setting(n=n, labels=labels, tolerance=5), one_way=one_way)
    assert T.feasible
    for opt, right in ((5, "Match"), (T.resolution, "Far")):
        left = g.Sample.from_counts(SEGMENT, [0, 0, 0], [n - opt, opt, 0])
        other = g.Sample.from_counts(SEGMENT, [0, opt, n - opt], [0, 0, 0])
        assert g.opt_halfspace(left, other).upper == opt
        wrong = missed = 0
        for seed in range(15):
            finding = T.converse(left, other, *SimSampler(seed).spawn(2))
            wrong += finding.verdict != right
            missed += not finding.opt_interval[0] <= opt <= finding.opt_interval[1]
        assert max(wrong, missed) <= binom.ppf(1 - 1e-9, 15, 0.1)


@pytest.mark.parametrize("tester", [NetMechanism, MWEM])
@pytest.mark.parametrize("one_way", [True, False])
def test_budgets_are_spent_exactly(tester, one_way):
    """From the secure source each party's messages add up to epsilon exactly."""
    S = g.Sample.from_cells(SEGMENT, [0, 1, 2, 2], [1, -1, 1, -1])
    finding = tester(_setting(n=4, epsilon=Fraction(2, 7)), one_way=one_way).converse(
        S, S, SecureSampler(), SecureSampler()
    )
    assert {finding.transcript.spent(name) for name in ("Alice", "Bob")} == {Fraction(2, 7)}


@pytest.mark.parametrize("tester", [NetMechanism, MWEM])
@pytest.mark.parametrize(
    "name", ["one point", "antipodes", "zero among others", "duplicates", "collinear", "rank deficient"]
)
def test_degenerate_domains_are_served(tester, name):
    """On every degenerate domain the testers run without noise and their intervals hold the optimum."""
    domain = g.Domain(POINTS[name])
    rng = np.random.default_rng(2)
    S, T = (
        g.Sample.from_cells(domain, rng.integers(0, domain.m, 200), rng.choice([-1, 1], 200)) for _ in "AB"
    )
    tester = tester(_setting(domain, 200, 4))
    assert tester.resolution is not None, tester.reason
    finding = tester.converse(S, T, RecordingSampler(), RecordingSampler())
    assert finding.opt_interval[0] <= g.opt_halfspace(S, T).upper <= finding.opt_interval[1]


def test_tolerance_moves_the_resolution_by_itself():
    """t(t0) = t0 + t(0)."""
    for tester in (NetMechanism, MWEM):
        base = tester(_setting()).resolution
        assert [tester(_setting(tolerance=t0)).resolution - base for t0 in (1, 40)] == [1, 40]


def test_reasons():
    """Large domains, thresholds and astronomically many records are refused in one sentence."""
    wide = g.Domain.grid([("x", 0, 1, 80), ("y", 0, 1, 80)])
    axis = g.Domain.grid([("x", 0, 1, 8)])
    for tester in (NetMechanism, MWEM):
        assert "too many candidates" in tester(_setting(wide)).reason
        assert "halfspaces" in tester(_setting(axis, classes="thresholds")).reason
        assert "2^30" in tester(_setting(n=2**31)).reason
    middle = g.Domain.grid([("x", 0, 1, 24), ("y", 0, 1, 24)])
    assert "labellings" in MWEM(_setting(middle)).reason
    S = g.Sample.from_cells(wide, [0], [1])
    with pytest.raises(g.InfeasibleError, match="too many candidates"):
        MWEM(_setting(wide)).converse(S, S, RecordingSampler(), RecordingSampler())


@pytest.mark.parametrize("tester", [NetMechanism, MWEM])
@pytest.mark.parametrize("one_way", [True, False])
def test_each_party_alone_comes_to_the_same_finding(tester, one_way):
    """Two sessions that only exchange frames give the transcript and the finding of a run in one process."""
    S = g.Sample.from_cells(SEGMENT, [0] * 30 + [2] * 10, [-1] * 30 + [1] * 10)
    T = tester(_setting(n=40), one_way=one_way)
    together = T.converse(S, S, SimSampler(1), SimSampler(2))
    results, _ = exchange(T.attend("Alice", S, SimSampler(1)), T.attend("Bob", S, SimSampler(2)))
    for mine in results.values():
        assert mine.transcript.to_dict() == together.transcript.to_dict()
        assert (mine.verdict, mine.opt_interval) == (together.verdict, together.opt_interval)
