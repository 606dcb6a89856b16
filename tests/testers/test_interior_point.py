"""Laws of the interior-point testers: certified constants, hard families, budgets, degenerate samples."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geomdp.core.domain import Domain
from geomdp.core.errors import BudgetError, InfeasibleError, ProtocolError
from geomdp.core.sample import Sample
from geomdp.opt.threshold import opt_threshold
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_pmf, dlap_sf
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.interior_point import InteriorParty, InteriorPoint, released_place
from geomdp.testers.interior_point_plan import calibrate, far_error, match_error, noise_tail

BETA = Fraction(1, 10)
RUNS = 300
#: More failures than this among RUNS have probability below 10^-4 if each has probability <= BETA.
MOST = 52


def setting(m, n, labels="disjoint", **changes):
    """Return thresholds on a line of m ranks at epsilon = 1."""
    return Setting(Domain.line(m), n, n, Fraction(1), BETA, labels, classes="thresholds", **changes)


def failure_count(tester, S_A, S_B, wrong, seed=0):
    """Return how many of RUNS simulated runs end in the wrong verdict."""
    alice, bob = SimSampler(seed).spawn(2)
    return sum(tester.converse(S_A, S_B, alice, bob).verdict == wrong for _ in range(RUNS))


def disjoint(m, a, b):
    """Return Alice's -1 records at ranks a and Bob's +1 records at ranks b."""
    domain = Domain.line(m)
    return Sample.from_cells(domain, a, [-1] * len(a)), Sample.from_cells(domain, b, [1] * len(b))


class TestCertificates:
    @pytest.mark.parametrize(
        ("bits", "scans", "target"), [(16, 1, 27), (64, 1, 70), (32, 2, 95), (1, 1, 13), (1024, 1, 795)]
    )
    def test_resolutions(self, bits, scans, target):
        """The certified resolutions at epsilon = 1, beta = 1/10 are no larger than recorded."""
        assert calibrate(2**bits, Fraction(1), BETA, 0, scans).resolution <= target

    @pytest.mark.parametrize("scans", [1, 2])
    @pytest.mark.parametrize("tolerance", [0, 1, 7, 40])
    @pytest.mark.parametrize("epsilon", ["1/20", "1", "20"])
    def test_both_errors_are_proved(self, scans, tolerance, epsilon):
        """Both proved bounds are at most beta, and lowering the excess by one breaks the Far side."""
        c = calibrate(2**20, Fraction(epsilon), BETA, tolerance, scans)
        assert match_error(c) <= BETA
        assert far_error(c) <= BETA
        assert c.excess == 1 or far_error(replace(c, excess=c.excess - 1)) > BETA
        assert c.resolution == scans * (c.crossing.start - 1) + c.cut + c.excess - 1

    @pytest.mark.parametrize("scans", [1, 2])
    def test_far_error_is_the_tail_of_the_noise(self, scans):
        """The recurrence gives P(sum (G - H) - sum Z >= excess) + sum P(G - H < 1 - start)."""
        c = calibrate(2**16, Fraction(1), BETA, 0, scans)
        r, size = math.exp(-1 / c.crossing.scale), 400
        rho = float(c.crossing.ratio)
        law = np.convolve((1 - r) * r ** np.arange(size), ((1 - rho) * rho ** np.arange(size))[::-1])
        noise = np.array([dlap_pmf(z, c.count_scale) for z in range(-size, size + 1)])
        one = np.convolve(law, noise)
        total = one if scans == 1 else np.convolve(one, one)
        direct = total[scans * (2 * size - 1) + c.excess :].sum()
        below = law[: size - c.crossing.start].sum()  # law[size - 1 + v] = P(G - H = v)
        assert abs(float(far_error(c)) - direct - scans * below) < 1e-12

    @pytest.mark.parametrize("scans", [1, 2])
    def test_noise_tail(self, scans):
        """The closed forms of one and two count noises equal direct sums."""
        z = np.arange(1, 30)
        direct = [
            dlap_sf(k, 3) if scans == 1 else sum(dlap_pmf(j, 3) * dlap_sf(k - j, 3) for j in range(-200, 200))
            for k in z.tolist()
        ]
        np.testing.assert_allclose(noise_tail(z, 3.0, scans), direct, rtol=1e-11)

    @pytest.mark.parametrize("scans", [1, 2])
    def test_match_condition_covers_every_split_of_the_tolerance(self, scans):
        """The two end points dominate all ways to spread t0 mistakes over scans and counts."""
        c = calibrate(2**20, Fraction(1), BETA, 9, scans)

        def early(a):
            return math.exp(c.early(a))

        for a in range(10):
            for b in range(10 - a if scans == 2 else 1):
                rest = 9 - a - b
                tail = noise_tail(np.array([c.cut - rest]), float(c.count_scale), scans)[0]
                total = early(a) + (early(b) if scans == 2 else 0) + tail
                assert total <= float(match_error(c)) * (1 + 1e-9)

    def test_shares(self):
        """Scan shares sum to epsilon; a mixed party's count fits beside an added record."""
        for scans in (1, 2):
            c = calibrate(2**32, Fraction(7, 10), BETA, 0, scans)
            assert c.crossing.epsilon == Fraction(7, 10)
            assert c.count_epsilon + (scans - 1) * c.crossing.epsilon_added == Fraction(7, 10)

    def test_not_calibrated_at_tiny_epsilon(self):
        """Below the least budget the tester says why it has no resolution, and refuses to run."""
        tester = InteriorPoint(Setting(Domain.line(8), 9, 9, Fraction(1, 2000), BETA, classes="thresholds"))
        assert tester.resolution is None
        assert not tester.feasible
        assert "1/1000" in tester.reason
        S = Sample.from_cells(Domain.line(8), [0] * 9, [1] * 9)
        with pytest.raises(InfeasibleError):
            tester.converse(S, S, SimSampler(0), SimSampler(1))


M, N = 2**16, 200


class TestDisjointFamilies:
    """Simulated failure rates on hard families stay within the promise."""

    tester = InteriorPoint(setting(M, N))

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ([0] * N, [1] * N),
            ([M // 2] * N, [M // 2 + 1] * N),
            ([M - 2] * N, [M - 1] * N),
            (list(range(N)), list(range(N, 2 * N))),
            ([0] * (N - 1) + [M - 2], [M - 1] * N),
            ([0] * (N // 2) + [100] * (N // 2), [101] * (N // 2) + [M - 1] * (N // 2)),
        ],
        ids=["bottom", "point", "top", "staircase", "one ahead", "clusters"],
    )
    def test_match(self, a, b):
        """Where a threshold fits, Far is rare."""
        S_A, S_B = disjoint(M, a, b)
        assert opt_threshold(S_A, S_B).upper == 0
        assert failure_count(self.tester, S_A, S_B, "Far") <= MOST

    @pytest.mark.parametrize("family", ["point", "late", "staircase", "halves"])
    def test_far(self, family):
        """At opt = t, the least promised value, Match is rare."""
        t = self.tester.resolution
        a, b = {
            "point": ([0] * (N - t) + [9] * t, [8] * t + [M - 1] * (N - t)),
            "late": ([0] * (N - t) + [M - 1] * t, [1] * t + [M - 1] * (N - t)),
            "staircase": (
                [0] * (N - t) + list(range(1000, 1000 + t)),
                list(range(10, 10 + t)) + [M - 1] * (N - t),
            ),
            "halves": (
                [0] * (N - t) + [50] * (t // 2) + [M - 1] * (t - t // 2),
                [40] * t + [M - 1] * (N - t),
            ),
        }[family]
        S_A, S_B = disjoint(M, a, b)
        assert opt_threshold(S_A, S_B).upper == t
        assert failure_count(self.tester, S_A, S_B, "Match") <= MOST

    def test_tolerance(self):
        """With tolerance t0, t0 mistakes still match and t mistakes are far, wherever they lie."""
        tester = InteriorPoint(setting(M, N, tolerance=6))
        for a, b in (
            ([0] * (N - 6) + [M - 1] * 6, [1] * N),
            ([5] * N, [0] * 6 + [6] * (N - 6)),
            ([0] * (N - 3) + [M - 1] * 3, [0] * 3 + [7] * (N - 3)),
        ):
            S_A, S_B = disjoint(M, a, b)
            assert opt_threshold(S_A, S_B).upper == 6
            assert failure_count(tester, S_A, S_B, "Far") <= MOST
        t = tester.resolution
        S_A, S_B = disjoint(M, [0] * (N - t) + [9] * t, [8] * t + [M - 1] * (N - t))
        assert failure_count(tester, S_A, S_B, "Match") <= MOST


class TestMixedFamilies:
    tester = InteriorPoint(setting(M, N, "mixed"))

    def sample(self, negatives, positives):
        cells = negatives + positives
        return Sample.from_cells(Domain.line(M), cells, [-1] * len(negatives) + [1] * len(positives))

    @pytest.mark.parametrize("cut", [1, 900, M - 1])
    def test_match(self, cut):
        """Where one threshold fits both parties' mixed labels, Far is rare."""
        S_A = self.sample([0] * 50 + [cut - 1] * 50, [cut] * 99 + [M - 1])
        S_B = self.sample([cut - 1], [cut] * 199)
        assert opt_threshold(S_A, S_B).upper == 0
        assert failure_count(self.tester, S_A, S_B, "Far") <= MOST

    @pytest.mark.parametrize("family", ["local", "cross", "all four", "one label each"])
    def test_far(self, family):
        """At opt = t, from conflicts within a party, between parties, or both, Match is rare."""
        t = self.tester.resolution
        half, rest = t // 2, t - t // 2
        S_A, S_B = {
            "local": (
                self.sample([0] * (N - 2 * t) + [9] * t, [8] * t),
                self.sample([0] * N, []),
            ),
            "cross": (self.sample([9] * t, [M - 1] * (N - t)), self.sample([0] * (N - t), [8] * t)),
            "all four": (
                self.sample([0] * (N - half - rest) + [9] * half, [8] * rest),
                self.sample([0] * (N - half - rest) + [9] * rest, [8] * half),
            ),
            "one label each": (
                self.sample([0] * (N - t) + [M - 2] * t, []),
                self.sample([], [3] * t + [M - 1] * (N - t)),
            ),
        }[family]
        assert S_A.n == S_B.n == N
        assert opt_threshold(S_A, S_B).upper == t
        assert failure_count(self.tester, S_A, S_B, "Match") <= MOST

    def test_tolerance(self):
        """Tolerated mistakes of any kind leave a match."""
        tester = InteriorPoint(setting(M, N, "mixed", tolerance=5))
        for extra_a, extra_b in (([M - 1] * 5, []), ([], [0] * 5), ([M - 1] * 2, [0] * 3)):
            S_A = self.sample([3] * (N - len(extra_a)) + extra_a, [])
            S_B = self.sample([], [4] * (N - len(extra_b)) + extra_b)
            assert opt_threshold(S_A, S_B).upper == 5
            assert failure_count(tester, S_A, S_B, "Far") <= MOST


class TestIntervals:
    @pytest.mark.parametrize("labels", ["disjoint", "mixed"])
    def test_coverage(self, labels):
        """The interval for opt holds the truth at least as often as promised, at several optima."""
        tester = InteriorPoint(setting(M, N, labels))
        alice, bob = SimSampler(17).spawn(2)
        for wrong in (0, 1, 5, 30, 120):
            a, b = [0] * (N - wrong) + [9] * wrong, [8] * wrong + [M - 1] * (N - wrong)
            S_A, S_B = disjoint(M, a, b)
            runs = [tester.converse(S_A, S_B, alice, bob).opt_interval for _ in range(100)]
            assert sum(not low <= wrong <= high for low, high in runs) <= 24

    @pytest.mark.parametrize("labels", ["disjoint", "mixed"])
    @pytest.mark.parametrize("tolerance", [0, 4])
    def test_far_excludes_the_tolerance(self, labels, tolerance):
        """The interval of a Far verdict begins above t0, that of a Match verdict holds t0."""
        rules = InteriorPoint(setting(M, N, labels, tolerance=tolerance)).rules
        for total in range(-30, 90):
            low, high = rules.interval(total, N)
            assert 0 <= low <= high <= N
            assert (low > tolerance) == (total >= rules.cut)

    def test_both_ends_share_the_failure_probability(self):
        """An optimum that can be excluded from below is hardly ever excluded from above: exact enumeration.

        The total is opt's count plus noise; for opt = 0 with nothing above the place it is noise alone.
        """
        rules = InteriorPoint(setting(2**8, N)).rules
        outside = sum(
            dlap_pmf(z, rules.count_scale) for z in range(-60, 61) if not rules.interval(z, N)[0] <= 0
        )
        assert outside + math.exp(rules.early(0)) <= 0.1


class TestProtocol:
    @pytest.mark.parametrize(
        ("labels", "kinds"), [("disjoint", ["Alice", "Bob"]), ("mixed", ["Alice", "Bob", "Bob", "Alice"])]
    )
    def test_budgets_are_exact(self, labels, kinds):
        """Each party spends exactly epsilon, with secure noise and ranks beyond 64 bits."""
        m = 2**80
        tester = InteriorPoint(setting(m, 400, labels))
        S_A, S_B = disjoint(m, [2**70] * 400, [2**70 + 1] * 400)
        finding = tester.converse(S_A, S_B, SecureSampler(), SecureSampler())
        assert [message.sender for message in finding.transcript.messages] == kinds
        assert {finding.transcript.spent(name) for name in ("Alice", "Bob")} == {Fraction(1)}
        assert 0 <= finding.classifier.theta <= m
        assert finding.transcript.to_dict()["parameters"]["labels"] == labels

    def test_too_few_records_match_for_free(self):
        """Below the resolution the answer is Match, nothing is released and nothing is spent."""
        tester = InteriorPoint(setting(M, 5))
        S_A, S_B = disjoint(M, [9] * 5, [8] * 5)
        finding = tester.converse(S_A, S_B, SimSampler(0), SimSampler(1))
        assert (finding.verdict, finding.transcript.messages, finding.opt_interval) == ("Match", [], (0, 5))

    def test_unequal_sizes(self):
        """With disjoint labels the smaller party limits what can be promised."""
        sizes = [(27, 5000), (26, 5000), (5000, 27)]
        made = [
            Setting(Domain.line(M), a, b, Fraction(1), BETA, "disjoint", 0, "thresholds") for a, b in sizes
        ]
        assert [InteriorPoint(s).feasible for s in made] == [True, False, True]

    def test_two_ranks(self):
        """The smallest domain works, also when every record lies on one rank."""
        tester = InteriorPoint(setting(2, 60))
        S_A, S_B = disjoint(2, [0] * 60, [0] * 60)
        assert failure_count(tester, S_A, S_B, "Match") <= MOST
        S_A, S_B = disjoint(2, [0] * 60, [1] * 60)
        assert failure_count(tester, S_A, S_B, "Far") <= MOST

    def test_party_without_scanned_records_releases_zero_or_noise(self):
        """A party with no -1 record still scans; its place is almost always 0."""
        rules = calibrate(M, Fraction(1), BETA, 0, 2)
        sample = Sample.from_cells(Domain.line(M), [7] * 9, [1] * 9)
        sampler = SimSampler(4)
        places = []
        for _ in range(200):
            party = InteriorParty("Alice", sample, sampler, Budget(Fraction(1)))
            places.append(party.scan(Transcript({}), rules).payload["theta"][0])
        assert places.count(0) >= 180

    @pytest.mark.parametrize("scans", [1, 2])
    def test_a_scan_covers_at_most_one_count(self, scans):
        """A second count, or a count after a scan of the disjoint protocol, is refused by the budget."""
        rules = calibrate(M, Fraction(1), BETA, 0, scans)
        party = InteriorParty("Alice", disjoint(M, [1], [2])[0], SimSampler(0), Budget(Fraction(1)))
        transcript = Transcript({})
        party.scan(transcript, rules)
        if scans == 2:
            transcript.append(Message("Bob", "crossing", {"theta": [3]}, Fraction(1)))
            assert party.count(transcript, rules).epsilon == 0
        with pytest.raises(BudgetError):
            party.count(transcript, rules)
        assert party.budget.spent == 1

    @pytest.mark.parametrize("theta", [[-1], [M + 1], [0.5], [1, 2], "3", None])
    def test_malformed_place(self, theta):
        """A counterpart's malformed place is refused before any budget is spent."""
        rules = calibrate(M, Fraction(1), BETA, 0, 1)
        transcript = Transcript({}, [Message("Alice", "crossing", {"theta": theta}, Fraction(1))])
        bob = InteriorParty("Bob", disjoint(M, [1], [2])[1], SimSampler(0), Budget(Fraction(1)))
        with pytest.raises(ProtocolError):
            bob.count(transcript, rules)
        assert bob.budget.spent == 0

    def test_missing_place(self):
        """A mixed-label count needs both places."""
        rules = calibrate(M, Fraction(1), BETA, 0, 2)
        transcript = Transcript({}, [Message("Alice", "crossing", {"theta": [3]}, Fraction(1))])
        with pytest.raises(ProtocolError):
            released_place(transcript, rules)
