"""Laws of the prefix-search tester: the paper's table, margins of both statistics, audits, hard families."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from support.blocks import assert_match_for_free, assert_same_apart

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, BudgetError, ProtocolError
from geomdp.core.sample import Sample
from geomdp.opt.threshold import opt_threshold
from geomdp.privacy.audit import audit_protocol, laplace_law, neighbour_pairs, worst_log_ratio
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_pmf
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.party import Party
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.common_frequency import Hash
from geomdp.testers.prefix_search import PrefixSearch, PrefixSearchParty, imbalance, read_counts, read_hash
from geomdp.testers.prefix_search_plan import PrefixSearchRules, calibrate
from geomdp.testers.witness_blocks import Block

BETA = Fraction(1, 10)
WEIGHTS = [(6, 1), (3, 2), (2, 1)]


def setting(bits, n, labels="disjoint", epsilon=Fraction(1), **changes):
    """Return thresholds on 2^bits ranks."""
    return Setting(Domain.line(2**bits), n, n, epsilon, BETA, labels, classes="thresholds", **changes)


def escaped(a, b, bits, level):
    """Return F(level) by its definition."""
    shift = bits - level
    best = 0
    for p in range(1 << level):
        best = max(best, min(sum(x >> shift == p for x in side) for side in (a, b)))
    return len(a) - best


def imbalance_by_definition(data, bits, level, jump, weights):
    """Return V_P by maximising over every node of the level, occupied or not."""
    u, v = weights
    best = [-math.inf, -math.inf]
    if jump:
        for p in range(1 << level):
            own = sum(x >> bits - level == p for x in data)
            for side in (0, 1):
                half = sum(x >> bits - level - 1 == 2 * p + side for x in data)
                best[side] = max(best[side], u * own + v * half)
    else:
        for p in range(1 << level + 1):
            nodes = [x >> bits - level - 1 for x in data]
            for side in (0, 1):
                outside = sum(x < p for x in nodes) if side == 0 else sum(x > p for x in nodes)
                best[side] = max(best[side], u * nodes.count(p) + v * outside)
    return best[0] - best[1]


def promise_pairs(bits, size):
    """Yield (Match?, A, B): A on odd leaves, B on even ones, all A < all B or all A > all B."""
    odd, even = range(1, 1 << bits, 2), range(0, 1 << bits, 2)
    for a in combinations_with_replacement(odd, size):
        for b in combinations_with_replacement(even, size):
            if a[-1] < b[0] or a[0] > b[-1]:
                yield a[-1] < b[0], a, b


class TestStatistics:
    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("bits", [1, 2, 3])
    def test_imbalance_is_a_difference_of_maxima(self, bits, weights):
        """The sweep over occupied nodes equals the maximum over all nodes."""
        for data in combinations_with_replacement(range(1 << bits), 3):
            block = Block.of(list(data), bits)
            for level, jump in product(range(bits), (True, False)):
                expected = imbalance_by_definition(data, bits, level, jump, weights)
                assert imbalance(block, level, jump, weights) == expected

    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_sensitivity(self, weights):
        """One replacement changes the jump statistic by <= 2 (u + v), the escape one by 2 max(u - v, v)."""
        u, v = weights
        worst = {True: 0, False: 0}
        for size in (3, 4):
            for pair in neighbour_pairs(range(8), size):
                blocks = [Block.of(list(d), 3) for d in pair]
                for level, jump in product(range(3), (True, False)):
                    first, second = (imbalance(b, level, jump, weights) for b in blocks)
                    worst[jump] = max(worst[jump], abs(first - second))
        assert worst[True] <= 2 * (u + v)
        assert worst[False] <= 2 * max(u - v, v)
        if u < 6:
            assert worst[False] == 2 * max(u - v, v)

    def test_sensitivity_of_larger_blocks(self):
        """Many random replacements in blocks of 40 do not exceed the bound either, and come close to it."""
        rng = np.random.default_rng(0)
        worst = 0
        for _ in range(4000):
            nodes = rng.choice(8, size=3, replace=False)
            data = rng.choice(nodes, size=40).tolist()
            other = [*data[1:], int(rng.choice(8))]
            pair = [imbalance(Block.of(d, 3), 2, False, (6, 1)) for d in (data, other)]
            worst = max(worst, abs(pair[0] - pair[1]))
        assert 2 <= worst <= 10

    @pytest.mark.parametrize("size", [3, 6])
    @pytest.mark.parametrize("bits", [2, 3])
    def test_margins(self, bits, size):
        """Where the node conditions hold, both statistics have the stated sign and margin; F is monotone."""
        for match, a, b in promise_pairs(bits, size):
            F = [escaped(a, b, bits, level) for level in range(bits + 1)]
            assert sorted(F) == F
            assert F[0] == 0
            assert F[-1] == size
            blocks = Block.of(list(a), bits), Block.of(list(b), bits)
            for (u, v), level in product(WEIGHTS, range(bits)):
                low, high = F[level], F[level + 1]
                for jump, holds, margin in (
                    (True, (2 * u + v) * low <= u * size and low < high, 2 * v * (high - low)),
                    (False, (2 * u - v) * high <= (u - v) * size, v * high),
                ):
                    if holds:
                        first, second = (imbalance(x, level, jump, (u, v)) for x in blocks)
                        assert first - second >= margin if match else first - second <= -margin


class TestCalibration:
    @pytest.mark.parametrize(
        ("bits", "resolution"),
        [(8, 30737), (16, 56879), (32, 111543), (64, 157727), (128, 183157), (256, 208925), (1024, 261329)],
    )
    def test_constants_of_the_paper(self, bits, resolution):
        """Algorithm 2's own constants need so many records, and keep their promise with room to spare."""
        rules = calibrate(bits + 1, Fraction(1), BETA, "paper")
        assert rules.resolution == resolution
        assert rules.failure < 0.03
        assert rules.epsilon == 1

    @pytest.mark.parametrize(("bits", "target"), [(16, 1839), (64, 2489), (256, 3139), (1024, 3763)])
    def test_calibrated(self, bits, target):
        """The certified resolutions at epsilon = 1, beta = 1/10 are no larger than recorded."""
        rules = calibrate(bits + 1, Fraction(1), BETA)
        assert rules.resolution <= target
        assert rules.failure <= BETA

    @pytest.mark.parametrize("constants", ["calibrated", "paper"])
    @pytest.mark.parametrize("bits", [1, 2, 7, 65, 1025, 10**5])
    @pytest.mark.parametrize("epsilon", ["1/1000000", "1/20", "1", "100"])
    @pytest.mark.parametrize("beta", ["1/1000", "1/4", "9/10"])
    def test_always_certified(self, bits, epsilon, beta, constants):
        """At every size, budget and failure probability the rules keep to both."""
        rules = calibrate(bits, Fraction(epsilon), Fraction(beta), constants)
        assert rules.failure <= Fraction(beta)
        assert rules.epsilon <= Fraction(epsilon)
        assert rules.cutoff >= 1

    def test_constants_are_named(self):
        """Only "paper" and "calibrated" are known."""
        with pytest.raises(ArgumentError):
            calibrate(5, Fraction(1), BETA, "tight")


R0, R1 = Fraction(3, 4), Fraction(4, 5)  # exp(-1/query scale), exp(-1/scale of a jump)


class TestExactAudit:
    """Two digits, one query: two prefix counts, then one of four statistics, at the counterpart's choice."""

    rules = PrefixSearchRules(2, 3, 4, Fraction(1), Fraction(1), 1, 1, (2, 1), 0, 0, (6, 2))

    def law(self, data, history, *, scales=(R0, R1), reuse=False):
        block = Block.of(list(data), 2)
        if len(history) == 0:
            counts = dict(block.prefixes(1))
            columns = [laplace_law(counts.get(p, 0), scales[0], -1, 5) for p in range(2)]
            if reuse:
                return {
                    (counts.get(0, 0) + z, counts.get(1, 0) + z): q
                    for z, q in laplace_law(0, scales[0], -9, 9).items()
                }
            return {(x, y): p * q for (x, p), (y, q) in product(*(c.items() for c in columns))}
        level, jump = history[1]
        value = imbalance(block, level, jump, self.rules.weights)
        ratio = scales[1] ** (1 if jump else 3)  # scales in proportion to the sensitivities 6 and 2
        return laplace_law(value, ratio, -10, 10)

    def audit(self, **changes):
        return audit_protocol(
            lambda data, history: self.law(data, history, **changes),
            neighbour_pairs(range(4), 3),
            turn=lambda h: ("own", "other", "own", "end")[len(h)],
            alphabet=lambda h: list(product(range(2), (True, False))),
            state=lambda h: (len(h), h[1:2]),
        )

    def test_view_is_private(self):
        """The worst ratio is at most r0^-2 r1^-6, for any choice of the last statistic."""
        audit = self.audit()
        claim = R0**-2 * R1**-6
        assert audit.upper <= claim * (1 + Fraction(1, 10**20))
        assert audit.lower > claim * Fraction(1, 2)

    @pytest.mark.parametrize("scales", [(R0**2, Fraction(1)), (Fraction(1), R1**2)])
    def test_scale_off_by_two(self, scales):
        """Half the noise of either kind is refuted."""
        one = Fraction(1)
        claim = R0**-2 if scales[1] == one else R1**-6
        calm = tuple(Fraction(999, 1000) if s == one else s for s in scales)
        assert self.audit(scales=calm).lower > claim * Fraction(1001, 1000) ** 2

    def test_reused_noise(self):
        """One noise for both prefix counts is refuted outright: their difference is released exactly."""
        law = cache(lambda data: self.law(data, (), reuse=True))
        assert worst_log_ratio(law, neighbour_pairs(range(4), 3)).lower == math.inf


def match_probability(rules, a, b):
    """Return P(Match) for b = 2 and an unhashed query, by direct summation of the noise laws."""
    span = np.arange(-160, 161)
    mass = {s: np.array([dlap_pmf(int(z), s) for z in span]) for s in {rules.query_scale}}
    F = {}
    counts = [dict(Block.of(list(x), 2).prefixes(1)) for x in (a, b)]
    reach = np.arange(-200, 260)
    law_of_max = np.ones(len(reach))  # P(max over buckets of min(noisy A, noisy B) <= v)
    for p in range(2):
        tails = []
        for side in counts:
            values = side.get(p, 0) + span
            tails.append(np.array([mass[rules.query_scale][values > v].sum() for v in reach]))
        law_of_max = law_of_max * (1 - tails[0] * tails[1])
    pmf = np.diff(law_of_max, prepend=0.0)
    total = 0.0
    for value, p in zip(reach.tolist(), pmf.tolist(), strict=True):
        F[1] = rules.size - value
        low, at_low, at_high = (1, F[1], rules.size) if F[1] < rules.alpha else (0, 0, F[1])
        total += p * _end(rules, a, b, low, at_high - at_low >= rules.delta)
    return total


def _end(rules, a, b, low, jump):
    gap = [imbalance(Block.of(list(x), 2), low, jump, rules.weights) for x in (a, b)]
    return _at_least(gap[1] - gap[0], rules.last_scale(jump))


@cache
def _at_least(least, scale):
    """Return P(Z - Z' >= least)."""
    span = 400
    pmf = np.array([dlap_pmf(z, scale) for z in range(-span, span + 1)])
    both = np.convolve(pmf, pmf)
    return float(both[max(0, 2 * span + least) :].sum())


class TestExactErrors:
    @pytest.mark.parametrize("constants", ["calibrated", "paper"])
    def test_worst_error_is_within_the_bound(self, constants):
        """On two ranks at a large epsilon, no pair within the promise errs more often than proved."""
        rules = calibrate(2, Fraction(60), Fraction(1, 5), constants)
        size, worst = rules.size, 0.0
        for i in range(0, size + 1, max(1, size // 12)):
            for j in range(0, size + 1, max(1, size // 12)):
                a, b = [1] * i + [3] * (size - i), [0] * j + [2] * (size - j)
                if max(a) < min(b) or min(a) > max(b):
                    p = match_probability(rules, a, b)
                    worst = max(worst, 1 - p if max(a) < min(b) else p)
        assert worst <= rules.failure <= 0.2

    def test_simulation_agrees(self):
        """Frequencies of Match agree with the exact probability, inside and outside the promise."""
        tester = PrefixSearch(setting(1, 60, epsilon=Fraction(12)))
        rules, runs = tester.rules, 400
        k = rules.size
        for a, b in (
            ([1] * k, [2] * k),
            ([1] * (k // 2) + [3] * (k - k // 2), [0] * (k // 2) + [2] * (k - k // 2)),
            ([1] * (k - k // 4) + [3] * (k // 4), [2] * k),
        ):
            p = match_probability(rules, a, b)
            found = sum(not played(tester, a, b, seed) for seed in range(runs))
            assert abs(found - runs * p) <= 4.5 * math.sqrt(runs * p * (1 - p)) + 1


def played(tester, a, b, seed):
    """Run one cross test on two blocks; True means Far."""
    sample = Sample.from_cells(tester.setting.domain, [0], [1])
    parties = [
        PrefixSearchParty(
            Party(name, sample, sampler, Budget(tester.setting.epsilon)), Block.of(list(x), tester.rules.bits)
        )
        for name, sampler, x in zip(("Alice", "Bob"), SimSampler(seed).spawn(2), (a, b), strict=True)
    ]
    return tester.play(Transcript({}), *parties)


M, RUNS, MOST = 2**20, 100, 24  # more than 24 failures of 100 have probability < 10^-4 at rate 1/10


def failures(tester, S_A, S_B, wrong, runs=RUNS):
    """Return how many simulated runs end in the wrong verdict."""
    alice, bob = SimSampler(3).spawn(2)
    return sum(tester.converse(S_A, S_B, alice, bob).verdict == wrong for _ in range(runs))


class TestFamilies:
    @pytest.mark.parametrize("family", ["point", "staircase", "early escape", "boundary", "spread"])
    def test_disjoint(self, family):
        """On hard families, Match and Far are rarely missed at both ends of the promise."""
        n = 4000
        tester = PrefixSearch(setting(20, n))
        t, k = tester.resolution, tester.rules.size
        part = k // 5
        low, high = {
            "point": ([9] * k, [10] * k),
            "staircase": (list(range(1000, 1000 + k)), list(range(1000 + k, 1000 + 2 * k))),
            "early escape": ([0] * part + [2**10] * (k - part), [2**10 + 1] * (k - part) + [M - 1] * part),
            "boundary": ([M // 2 - 1] * k, [M // 2] * k),
            "spread": ([i * (M // 2) // k for i in range(k)], [M // 2 + i * (M // 2) // k for i in range(k)]),
        }[family]
        pad = n - k
        S_A = Sample.from_cells(Domain.line(M), [0] * pad + low, [-1] * n)
        S_B = Sample.from_cells(Domain.line(M), high + [M - 1] * pad, [1] * n)
        assert opt_threshold(S_A, S_B).upper == 0
        assert failures(tester, S_A, S_B, "Far") <= MOST
        wide = t - k
        S_A = Sample.from_cells(Domain.line(M), [0] * (n - t) + [max(high)] * wide + high, [-1] * n)
        S_B = Sample.from_cells(Domain.line(M), low + [min(low)] * wide + [M - 1] * (n - t), [1] * n)
        assert opt_threshold(S_A, S_B).upper >= t
        assert failures(tester, S_A, S_B, "Match") <= MOST

    def test_mixed_and_tolerance(self):
        """Mixed labels with t0 tolerated mistakes: match below, far from cross and own conflicts."""
        tester = PrefixSearch(setting(20, 30_000, "mixed", tolerance=25))
        t, n, domain = tester.resolution, 30_000, Domain.line(M)
        assert t == 2 * (2 * (tester.rules.size + 25) - 2) + 2 * (tester.own.resolution - 1) + 1
        half = n // 2
        cells = [7] * half + [8] * (half - 25) + [0] * 25
        S = Sample.from_cells(domain, cells, [-1] * half + [1] * half)
        T = Sample.from_cells(domain, [8] * n, [1] * n)
        assert opt_threshold(S, T).upper == 25
        assert failures(tester, S, T, "Far", 40) <= 13
        low = Sample.from_cells(domain, [9] * t + [0] * (n - t), [-1] * n)
        assert failures(tester, T, low, "Match", 40) <= 13
        assert failures(tester, low, T, "Match", 40) <= 13
        rest = n - 2 * t
        own = Sample.from_cells(domain, [9] * t + [8] * t + [0] * rest, [-1] * t + [1] * t + [-1] * rest)
        low = Sample.from_cells(domain, [0] * n, [-1] * n)
        assert failures(tester, own, low, "Match", 40) <= 13


class TestProtocol:
    @pytest.mark.parametrize("labels", ["disjoint", "mixed"])
    def test_budgets(self, labels):
        """Secure runs spend at most epsilon each, beyond 64-bit ranks too; messages stay short."""
        m, n = 2**1024, 40_000
        tester = PrefixSearch(setting(1024, n, labels))
        S_A = Sample.from_cells(Domain.line(m), [2**700] * n, [-1] * n)
        S_B = Sample.from_cells(Domain.line(m), [2**700 + 1] * n, [1] * n)
        finding = tester.converse(S_A, S_B, SecureSampler(), SecureSampler())
        for name in ("Alice", "Bob"):
            assert 0 < finding.transcript.spent(name) <= 1
        used = [z for m in finding.transcript.messages for z in m.payload.get("buckets", []) if z >= 0]
        assert len(used) <= 2 * len(finding.transcript.messages)
        assert finding.opt_interval in ((0, tester.resolution - 1), (1, tester.setting.largest_opt))

    def test_apart(self):
        """Each party on its own, against frames only, reaches the transcript of a common run."""
        assert_same_apart(PrefixSearch(setting(40, 20_000, "mixed")))

    def test_crowded_messages_are_dropped(self):
        """More survivors than slots are not sent; the message keeps its size."""
        rules = PrefixSearchRules(8, 90, 2**9, Fraction(90), Fraction(1), 40, 48, (2, 1), 0, 0, (6, 2))
        for nodes, sent in ((16, 16), (17, 0)):
            members = [z << 3 for z in range(nodes)] * 5
            sample = Sample.from_cells(Domain.line(M), [5], [-1])
            party = Party("Alice", sample, SimSampler(0), Budget(Fraction(90)))
            party = PrefixSearchParty(party, Block.of(members, 8))
            message = party.counts(Transcript({}), rules, 5, Hash(5, 32))
            assert len(message.payload["buckets"]) == len(message.payload["counts"]) == 16
            assert len(read_counts(message, Hash(5, 32))) == sent

    def test_constants_of_the_paper_run(self):
        """The paper's constants run as they stand."""
        n = 57_000
        tester = PrefixSearch(setting(16, n), constants="paper")
        assert tester.resolution == 56_879
        S_A = Sample.from_cells(Domain.line(2**16), [9] * n, [-1] * n)
        for rank, verdict in ((10, "Match"), (8, "Far")):
            S_B = Sample.from_cells(Domain.line(2**16), [rank] * n, [1] * n)
            assert tester.converse(S_A, S_B, SimSampler(1), SimSampler(2)).verdict == verdict

    def test_too_few_records_match_for_free(self):
        """Below the resolution the answer is Match, and nothing is spent."""
        assert_match_for_free(PrefixSearch(setting(20, 5)))

    def test_one_leaf_per_party(self):
        """With b = 1 nothing is asked: the last statistic decides."""
        rules = calibrate(1, Fraction(1), BETA)
        assert rules.queries == 0
        assert imbalance(Block.of([1] * 9, 1), 0, True, (6, 1)) == -9
        tester = PrefixSearch(setting(1, 3))
        tester.rules = rules
        assert played(tester, [1] * rules.size, [0] * rules.size, 0)

    def test_budget_is_checked_before_noise(self):
        """A party whose budget is used up releases nothing more."""
        rules = calibrate(21, Fraction(1), BETA)
        sample = Sample.from_cells(Domain.line(M), [5], [-1])
        party = PrefixSearchParty(
            Party("Alice", sample, SimSampler(0), Budget(rules.epsilon_query)), Block.of([5] * rules.size, 21)
        )
        transcript = Transcript({})
        party.counts(transcript, rules, 3, Hash(3, 8))
        with pytest.raises(BudgetError):
            party.counts(transcript, rules, 3, Hash(3, 8))
        with pytest.raises(BudgetError):
            party.sides(transcript, rules, 3, True)
        assert len(transcript.messages) == 1

    @pytest.mark.parametrize(
        "payload",
        [
            {"buckets": [8] + [-1] * 15, "counts": [3] * 16},
            {"buckets": [-2] + [-1] * 15, "counts": [3] * 16},
            {"buckets": [1, 1] + [-1] * 14, "counts": [3] * 16},
            {"buckets": [-1] * 16, "counts": []},
            {"buckets": "1", "counts": [3] * 16},
            {"buckets": [1], "counts": [3]},
            {},
        ],
    )
    def test_malformed_counts(self, payload):
        """A counterpart's buckets must be distinct and in range, with one count each."""
        with pytest.raises(ProtocolError):
            assert read_counts(Message("Bob", "prefix counts", payload, Fraction(0)), Hash(3, 8)) is None

    @pytest.mark.parametrize("coins", [[], [1], [1, -1], [0, 2**200], None])
    def test_malformed_coins(self, coins):
        """Public coins must be two numbers of the right width."""
        with pytest.raises(ProtocolError):
            read_hash(Message("Alice", "hash", {"coins": coins}, Fraction(0)), 20, 100)
