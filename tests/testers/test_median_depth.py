"""Laws of the median-depth tester: one changed coordinate, exact audits, exact errors, families."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, islice, pairwise, product

import pytest
from support.blocks import assert_match_for_free, assert_same_apart

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, BudgetError, ProtocolError
from geomdp.core.sample import Sample
from geomdp.opt.threshold import opt_threshold
from geomdp.privacy.audit import audit_protocol, neighbour_pairs, selection_law, worst_log_ratio
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import pf_pmf
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.party import Party
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import median_depth
from geomdp.testers.base import Setting
from geomdp.testers.median_depth import (
    DIFFERENT,
    SAME,
    UNSTABLE,
    MedianDepth,
    MedianDepthParty,
    answer_scores,
    child_groups,
    child_sides,
    deep_node,
    place_groups,
    place_sides,
    question_groups,
)
from geomdp.testers.median_depth_plan import DIGITS, MedianDepthRules, calibrate
from geomdp.testers.witness_blocks import Block

BETA = Fraction(1, 10)


def rules_of(bits, digits, size=4, buckets=2, fixed=1):
    """Return uncalibrated rules for tiny tries."""
    one = Fraction(1)
    return MedianDepthRules(bits, digits, size, buckets, one, one, one, 1, 1, fixed, fixed)


def block_of(data, bits):
    """Return the block of a multiset."""
    return Block.of(list(data), bits)


def depths(members, bits, shift):
    """Return the depth of every node of a level by its definition."""
    half = len(members) // 2
    nodes = range(1 << bits - shift)
    return [
        max(0, half - max(sum(x >> shift < p for x in members), sum(x >> shift > p for x in members)))
        for p in nodes
    ]


class TestDepth:
    @pytest.mark.parametrize(("bits", "size"), [(2, 2), (3, 2), (2, 4), (3, 4), (2, 6)])
    def test_deep_node_is_the_only_one(self, bits, size):
        """At most one node per level has positive depth; it is the lower median's, as returned."""
        for data in combinations_with_replacement(range(1 << bits), size):
            for shift in range(bits + 1):
                node, depth = deep_node(block_of(data, bits), shift)
                expected = depths(data, bits, shift)
                assert expected[node] == depth
                assert sum(expected) == depth

    @pytest.mark.parametrize(("bits", "size"), [(3, 2), (2, 4), (3, 4), (2, 6)])
    def test_one_coordinate_changes_by_one(self, bits, size):
        """A replacement changes the depths of a level in one coordinate at most, by at most 1."""
        for data, other in neighbour_pairs(range(1 << bits), size):
            for shift in range(bits + 1):
                changes = [
                    abs(a - b)
                    for a, b in zip(depths(data, bits, shift), depths(other, bits, shift), strict=True)
                ]
                assert sum(changes) <= 1

    def test_odd_sizes_break_it(self):
        """With odd k and depth + 1 some replacement changes two coordinates: the reason why k is even."""

        def lifted(members, shift):
            half = (len(members) + 1) // 2
            left = [sum(x >> shift < p for x in members) for p in range(8 >> shift)]
            right = [sum(x >> shift > p for x in members) for p in range(8 >> shift)]
            return [max(0, half - max(a, b)) for a, b in zip(left, right, strict=True)]

        worst = max(
            sum(abs(a - b) for a, b in zip(lifted(data, 1), lifted(other, 1), strict=True))
            for data, other in neighbour_pairs(range(8), 3)
        )
        assert worst == 2

    @pytest.mark.parametrize(("bits", "digits", "size"), [(3, 1, 2), (3, 1, 4), (3, 2, 2), (2, 2, 4)])
    def test_sensitivities(self, bits, digits, size):
        """Scores of places change by at most 1; those of sides and children in one coordinate."""
        rules = rules_of(bits, digits)
        for data, other in neighbour_pairs(range(1 << bits), size):
            pair = [block_of(d, bits) for d in (data, other)]
            for level in range(rules.levels):
                shift = rules.shift(level)
                for leaf in (False, True) if level + 1 == rules.levels else (False,):
                    first, second = (listed(place_groups(b, shift, digits, leaf)) for b in pair)
                    assert len(first) == len(second) == (1 << digits) + (not leaf)
                    assert max(abs(first[j] - second[j]) for j in first) <= 1
                    for j in first:
                        sides = [place_sides(b, shift, digits, j, leaf) for b in pair]
                        assert sum(abs(x - y) for x, y in zip(*sides, strict=True)) <= 1
                down = rules.shift(level + 1)
                children = [others_listed(child_groups(b, down, digits)) for b in pair]
                assert sum(abs(children[0][j] - children[1][j]) for j in children[0]) <= 1
                for j in range(1 << digits):
                    sides = [child_sides(b, down, digits, j) for b in pair]
                    assert sum(abs(x - y) for x, y in zip(*sides, strict=True)) <= 1

    @pytest.mark.parametrize(("bits", "digits"), [(3, 1), (3, 2), (3, 3)])
    def test_places_by_definition(self, bits, digits):
        """Grouped places have the scores of the definition, each place once."""
        rules = rules_of(bits, digits)
        for data in combinations_with_replacement(range(1 << bits), 4):
            block = block_of(data, bits)
            for level in range(rules.levels):
                shift = rules.shift(level)
                node, depth = deep_node(block, shift)
                for leaf in (False, True) if level + 1 == rules.levels else (False,):
                    scores = listed(place_groups(block, shift, digits, leaf))
                    for j in range((1 << digits) + (not leaf)):
                        place = (node << shift) + (j << shift - digits)
                        below = sum(x <= place if leaf else x < place for x in data)
                        above = sum(x >= place for x in data)
                        assert scores[j] == min(below, above, depth)


def listed(groups):
    """Return {candidate: score} of runs."""
    scores = {first + i: score for first, size, score in groups for i in range(size)}
    assert len(scores) == sum(size for _, size, _ in groups)
    return scores


def others_listed(groups):
    """Return {candidate: score} of one candidate and all others."""
    (own, _, score), (_, rest, _) = groups[:2]
    scores = dict.fromkeys(range(rest + 1), 0)
    scores[own] = score
    return scores


class TestTruthfulTranscripts:
    """What the correctness proof claims, for all pairs of blocks within the promise."""

    @pytest.mark.parametrize(
        ("bits", "digits", "size"), [(3, 1, 4), (3, 2, 4), (4, 2, 2), (3, 3, 4), (3, 1, 6)]
    )
    def test_last_messages(self, bits, digits, size):
        """From a common node of depth >= low, every true reason leads to candidates that decide rightly."""
        rules = rules_of(bits, digits)
        for match, (a, b) in promise_pairs(bits, size):
            for level in range(rules.levels):
                (node, depth_a), (other, depth_b) = (deep_node(x, rules.shift(level)) for x in (a, b))
                low = min(depth_a, depth_b)
                if node == other and low > 0:
                    self._check(rules, match, (a, b), level, low)

    def _check(self, rules, match, blocks, level, low):
        shift, digits, half = rules.shift(level), rules.digits, blocks[0].size // 2
        if level + 1 == rules.levels:
            if digits == 1:
                assert not match
            self._places(match, blocks, 0, (shift, digits, True), low, low)
            return
        children = [deep_node(x, rules.shift(level + 1)) for x in blocks]
        for first in (0, 1):
            high = children[first][1] + 1  # the least `high` for which "unstable" is true
            self._places(match, blocks, first, (shift, digits, False), min(low, half - high + 1), low)
        if children[0][0] != children[1][0] and min(c[1] for c in children) >= 1:
            own = children[0][0] & (1 << digits) - 1
            sides = child_sides(blocks[1], rules.shift(level + 1), digits, own)
            assert sides == ([0, children[1][1]] if match else [children[1][1], 0])
            assert others_listed(child_groups(blocks[0], rules.shift(level + 1), digits))[own] >= 1
            if digits == 1:
                assert own == (0 if match else 1)

    def _places(self, match, blocks, first, node, gap, low):
        shift, digits, leaf = node
        scores = listed(place_groups(blocks[first], shift, digits, leaf))
        assert max(scores.values()) >= gap
        for place, score in scores.items():
            if score > 0:
                below, above = place_sides(blocks[1 - first], shift, digits, place, leaf)
                right, wrong = (above, below) if match == (first == 0) else (below, above)
                assert right >= low
                assert wrong == 0


def promise_pairs(bits, size):
    """Yield (Match?, (A, B)) over lifted blocks: A on odd leaves, B on even ones, A < B or A > B."""
    odd, even = range(1, 1 << bits, 2), range(0, 1 << bits, 2)
    for a in combinations_with_replacement(odd, size):
        for b in combinations_with_replacement(even, size):
            if a[-1] < b[0] or a[0] > b[-1]:
                yield a[-1] < b[0], (block_of(a, bits), block_of(b, bits))


class Table:
    """An arbitrary public hash, given by its values."""

    def __init__(self, values, buckets):
        self.values, self.buckets = values, buckets

    def __call__(self, key):
        return self.values[key]


class View:
    """One party's view of a cross test on a tiny trie, for audits: history -> whose turn, and with which law.

    The counterpart chooses hashes, buckets, answers and places freely.
    """

    def __init__(self, rules, role, ratios):
        self.rules, self.role, self.ratios = rules, role, ratios
        self.laws = {}

    def step(self, history):
        """Return (turn, detail) after a history."""
        return self.position(history)[1]

    def position(self, history):
        """Return the public state of the search, and (turn, detail): all that the future depends on."""
        rules, rest = self.rules, list(history)
        low, high, unstable, asked = 0, rules.levels, -1, 0
        while high - low > 1:
            level = (low + high) // 2
            asking = asked % 2
            state = low, high, unstable, asked
            if not rest:
                return state, ("other", ("hash" if asking == self.role else "question", level))
            if asking == self.role:
                table = rest.pop(0)
                if not rest:
                    return state, ("own", ("ask", level, table))
                outcome = rest.pop(0)
                speaker = self.role
                if outcome != -1:
                    if not rest:
                        return state, ("other", ("answer",))
                    outcome, speaker = rest.pop(0), 1 - self.role
                else:
                    outcome = UNSTABLE
            else:
                question = rest.pop(0)
                outcome, speaker = UNSTABLE, 1 - self.role
                if question != "unstable":
                    if not rest:
                        return state, ("own", ("reply", level, *question))
                    outcome, speaker = rest.pop(0), self.role
            if outcome == SAME:
                low = level
            else:
                high, unstable = level, -1 if outcome == DIFFERENT else speaker
            asked += 1
        return (low, high, unstable, asked), self._end(rest, low, high, unstable)

    def _end(self, rest, low, high, unstable):
        rules = self.rules
        leaf = high == rules.levels
        if leaf and rules.digits == 1:
            return "end", ()
        first = max(unstable, 0)
        kind = "place" if leaf or unstable >= 0 else "child"
        if not rest:
            if first == self.role:
                return "own", (kind, low, high, leaf)
            return "other", (kind, leaf)
        if first == self.role or len(rest) > 1 or (kind == "child" and rules.digits == 1):
            return "end", ()
        return "own", ("side", kind, low, high, leaf, rest[0])

    def turn(self, history):
        return self.step(history)[0]

    def alphabet(self, history):
        _, (kind, *detail) = self.step(history)
        rules = self.rules
        if kind in ("hash", "question"):
            tables = self._tables(detail[0])
            if kind == "hash":
                return tables
            return ["unstable", *((table, z) for table in tables for z in range(table.buckets))]
        if kind == "answer":
            return [SAME, DIFFERENT, UNSTABLE]
        return range((1 << rules.digits) + (kind == "place" and not detail[0]))

    @cache  # noqa: B019 - a few levels per test
    def _tables(self, level):
        nodes = 1 << self.rules.bits - self.rules.shift(level)
        return [Table(values, 2) for values in ((0, 1), (0, 0), (1, 0))] if nodes == 2 else few_tables(nodes)

    def law(self, data, history):
        key = data, self.step(history)[1]
        if key not in self.laws:
            self.laws[key] = self._law(data, history)
        return self.laws[key]

    def _law(self, data, history):
        rules, block = self.rules, block_of(data, self.rules.bits)
        ask, reply, last = self.ratios
        _, (kind, *detail) = self.step(history)
        if kind == "ask":
            level, table = detail
            groups = question_groups(block, rules.shift(level), table, rules.ask)
            scores = others_listed(groups)
            scores[-1] = rules.ask
            return selection_law(scores, ask)
        if kind == "reply":
            level, table, bucket = detail
            scores = answer_scores(block, rules.shift(level), table, bucket, rules.reply)
            return selection_law(dict(enumerate(scores)), reply)
        if kind == "place":
            low, _, leaf = detail
            return selection_law(listed(place_groups(block, rules.shift(low), rules.digits, leaf)), last)
        if kind == "child":
            return selection_law(
                others_listed(child_groups(block, rules.shift(detail[1]), rules.digits)), last**2
            )
        kind, low, high, leaf, named = detail
        if kind == "place":
            sides = place_sides(block, rules.shift(low), rules.digits, named, leaf)
        else:
            sides = child_sides(block, rules.shift(high), rules.digits, named)
        return selection_law(dict(enumerate(sides)), last**2)

    def audit(self, pairs):
        return audit_protocol(self.law, pairs, self.turn, self.alphabet, self.position)

    def claim(self):
        """Return the ratio that the privacy proof states."""
        ask, reply, last = self.ratios
        queries = self.rules.queries
        asks = (queries + 1 - self.role) // 2
        return (1 / ask) ** asks * (1 / reply) ** (queries - asks) * (1 / last) ** 2


RATIOS = Fraction(3, 4), Fraction(2, 3), Fraction(4, 5)  # exp(-es), exp(-er), exp(-ef/2)


def few_tables(nodes):
    """Return two hashes: the identity, and one that joins neighbours."""
    return [Table(range(nodes), nodes), Table([z // 2 for z in range(nodes)], max(2, nodes // 2))]


class TestExactAudit:
    """Worst ratios over all neighbours and all adaptive counterparts, exactly."""

    @pytest.mark.parametrize("role", [0, 1])
    @pytest.mark.parametrize(
        ("bits", "digits", "size"), [(2, 1, 2), (2, 1, 4), (3, 2, 2), (2, 2, 4), (3, 3, 2)]
    )
    def test_view_is_private(self, bits, digits, size, role):
        """No neighbour pair, hash or counterpart gives a ratio above the sum of the losses."""
        view = View(rules_of(bits, digits, size), role, RATIOS)
        audit = view.audit(neighbour_pairs(range(1 << bits), size))
        assert audit.upper <= view.claim() * (1 + Fraction(1, 10**20))
        assert audit.lower > 1

    @pytest.mark.parametrize("role", [0, 1])
    def test_two_queries(self, role):
        """The same with two queries, each party asking once."""
        view = View(rules_of(3, 1, 2), role, RATIOS)
        audit = view.audit(neighbour_pairs(range(8), 2))
        assert audit.upper <= view.claim() * (1 + Fraction(1, 10**20))
        assert audit.lower > view.claim() * Fraction(1, 2)

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("role", [0, 1])
    def test_two_queries_on_four_records(self, role):
        """All 6,720 neighbour pairs of four records on eight leaves."""
        view = View(rules_of(3, 1, 4), role, RATIOS)
        audit = view.audit(neighbour_pairs(range(8), 4))
        assert audit.upper <= view.claim() * (1 + Fraction(1, 10**20))
        assert audit.lower > view.claim() * Fraction(2, 3)

    def test_single_mechanisms_sit_at_their_claims(self):
        """With constants out of the way, question, answer and place each come close to their stated loss."""
        for index, least in ((0, Fraction(6, 5)), (1, Fraction(5, 4)), (2, Fraction(5, 4))):
            ratios = [Fraction(1)] * 3
            ratios[index] = RATIOS[index]
            found = [
                View(rules_of(2, 1, 4, fixed=2), role, tuple(ratios)).audit(neighbour_pairs(range(4), 4))
                for role in (0, 1)
            ]
            top = (1 / RATIOS[index]) ** (2 if index == 2 else 1)
            worst = max(audit.lower for audit in found)
            assert least < worst <= top


class TestPlantedBugs:
    def test_odd_size_with_raised_depth(self, monkeypatch):
        """An odd k with depth + 1 changes two scores at once, and is refuted."""

        def raised(block, shift):
            half = (block.size + 1) // 2
            node = block.member(half - 1) >> shift
            before = block.count_below(node << shift)
            after = block.size - block.count_below(node + 1 << shift)
            return node, max(0, min(half - before, half - after))

        pairs = list(neighbour_pairs(range(4), 3))
        rules = rules_of(2, 1, 3, fixed=0)
        ratios = Fraction(1, 3), Fraction(1), Fraction(1)
        view = View(rules, 0, ratios)
        monkeypatch.setattr(median_depth, "deep_node", raised)
        assert view.audit(pairs).lower > view.claim()

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_scale_off_by_two(self, index):
        """Half the noise in questions, answers or last messages is refuted."""
        wrong = list(RATIOS)
        wrong[index] = wrong[index] ** 2
        violated = []
        for role in (0, 1):
            claim = View(
                rules_of(2, 1, 4, fixed=2),
                role,
                tuple(RATIOS[i] if i == index else Fraction(1) for i in range(3)),
            ).claim()
            found = View(
                rules_of(2, 1, 4, fixed=2),
                role,
                tuple(wrong[i] if i == index else Fraction(1) for i in range(3)),
            ).audit(neighbour_pairs(range(4), 4))
            violated.append(found.lower > claim)
        assert any(violated)

    def test_reused_noise(self):
        """One uniform draw used for the question and for the place afterwards is refuted.

        With common noise the pair (question, place) takes values for one block that it never takes for a
        neighbour: inversion of one uniform number by both laws.
        """
        rules = rules_of(2, 1, 2)
        table = Table(range(2), 2)

        def joint(data):
            block = block_of(data, 2)
            scores = others_listed(question_groups(block, 1, table, 1)) | {-1: 1}
            places = listed(place_groups(block, 2, 1, False))
            laws = selection_law(scores, RATIOS[0]), selection_law(places, RATIOS[2])
            cuts = sorted({0, *(c for law in laws for c in _cumulated(law))})
            pairs = {}
            for low, high in pairwise(cuts):
                key = tuple(_inverse(law, low) for law in laws)
                pairs[key] = pairs.get(key, 0) + high - low
            return pairs

        claim = 1 / RATIOS[0] / RATIOS[2] ** 2
        assert worst_log_ratio(joint, neighbour_pairs(range(4), 2)).lower > claim
        assert rules.queries == 1


def _cumulated(law):
    total = Fraction(0)
    for p in law.values():
        total += p
        yield total


def _inverse(law, u):
    total = Fraction(0)
    for value, p in law.items():
        total += p
        if u < total:
            return value
    raise AssertionError


def match_probability(rules, a, b):
    """Return P(Match) exactly up to rounding: the laws of all messages along the transcript tree."""
    blocks = (a, b)

    @cache
    def from_state(low, high, unstable, asked):
        if high - low == 1:
            return _last(rules, blocks, low, high, unstable)
        level = (low + high) // 2
        shift, asking = rules.shift(level), asked % 2
        (node, depth), (other, _) = (deep_node(blocks[i], shift) for i in (asking, 1 - asking))
        cells = 1 << rules.bits - shift
        buckets = min(cells, rules.buckets)
        question = pf_pmf([depth, 0, rules.ask], rules.ask_scale, [1, buckets - 1, 1])
        named = question[0], question[1] / (buckets - 1)
        # the own node's bucket equals the other's with probability 1 (same node), 1/R (hashed), 0 (identity)
        shared = 1.0 if node == other else 1 / buckets if cells > buckets else 0.0
        equal = shared * named[0] + (1 - shared) * named[1]
        differ = 1 - question[2] - equal
        total = question[2] * from_state(low, level, asking, asked + 1)
        depth_other = deep_node(blocks[1 - asking], shift)[1]
        for weight, same in ((equal, True), (differ, False)):
            scores = [depth_other if same else 0, 0 if same else depth_other, rules.reply]
            answer = pf_pmf(scores, rules.reply_scale)
            total += weight * (
                answer[SAME] * from_state(level, high, unstable, asked + 1)
                + answer[DIFFERENT] * from_state(low, level, -1, asked + 1)
                + answer[UNSTABLE] * from_state(low, level, 1 - asking, asked + 1)
            )
        return total

    return from_state(0, rules.levels, -1, 0)


def _last(rules, blocks, low, high, unstable):
    leaf, digits = high == rules.levels, rules.digits
    if leaf and digits == 1:
        return 0.0
    if leaf or unstable >= 0:
        first = max(unstable, 0)
        places = listed(place_groups(blocks[first], rules.shift(low), digits, leaf))
        law = pf_pmf(list(places.values()), rules.place_scale)
        sides = [
            pf_pmf(place_sides(blocks[1 - first], rules.shift(low), digits, j, leaf), rules.side_scale)
            for j in places
        ]
        return float(sum(p * side[1 if first == 0 else 0] for p, side in zip(law, sides, strict=True)))
    children = others_listed(child_groups(blocks[0], rules.shift(high), digits))
    law = pf_pmf(list(children.values()), rules.side_scale)
    if digits == 1:
        return float(law[0])
    sides = [pf_pmf(child_sides(blocks[1], rules.shift(high), digits, j), rules.side_scale) for j in children]
    return float(sum(p * side[1] for p, side in zip(law, sides, strict=True)))


class TestExactErrors:
    @pytest.mark.parametrize(
        ("bits", "digits"), [(1, (1,)), (2, (1,)), (3, (1,)), (3, (2,)), (4, (3,)), (3, (3,)), (5, (1,))]
    )
    def test_worst_error_is_within_the_bound(self, bits, digits):
        """At a large epsilon (small blocks) no pair within the promise errs more often than proved."""
        rules = calibrate(bits, Fraction(60), Fraction(1, 5), digits)
        size, worst = rules.size, 0.0
        assert size <= 12
        pairs = (
            promise_pairs(bits, size)
            if bits < 4
            else islice(hard_pairs(bits, size), 0, None, 9 if bits < 5 else 97)
        )
        for match, (a, b) in pairs:
            p = match_probability(rules, a, b)
            worst = max(worst, 1 - p if match else p)
        assert worst <= rules.failure <= 0.2

    def test_simulation_agrees(self):
        """The protocol's frequencies of Match agree with the exact probabilities, within binomial bounds."""
        tester = MedianDepth(setting(4, 12, epsilon=Fraction(12)), digits=(1,))
        rules = tester.rules
        assert rules.queries == 3
        half = rules.size // 2
        for a, b in (
            ([5] * rules.size, [4] * rules.size),
            ([1] * half + [9] * half, [8] * half + [12] * half),
            ([3] * half + [7] * half, [4] * half + [6] * half),
        ):
            blocks = block_of(a, 5), block_of(b, 5)
            p, runs = match_probability(rules, *blocks), 400
            found = sum(not played(tester, *blocks, seed) for seed in range(runs))
            assert abs(found - runs * p) <= 4.5 * math.sqrt(runs * p * (1 - p)) + 1


def hard_pairs(bits, size):
    """Yield pairs of blocks with at most two values each."""
    odd, even = range(1, 1 << bits, 2), range(0, 1 << bits, 2)
    for a, c in combinations_with_replacement(odd, 2):
        for b, d in combinations_with_replacement(even, 2):
            if c < b or a > d:
                for i, j in ((1, size // 2), (size // 2, size // 2), (size // 2 + 1, size - 1)):
                    yield (
                        c < b,
                        (
                            block_of([a] * i + [c] * (size - i), bits),
                            block_of([b] * j + [d] * (size - j), bits),
                        ),
                    )


def setting(bits, n, labels="disjoint", epsilon=Fraction(1), **changes):
    """Return thresholds on 2^bits ranks."""
    return Setting(Domain.line(2**bits), n, n, epsilon, BETA, labels, classes="thresholds", **changes)


def played(tester, a, b, seed):
    """Run one cross test on two blocks; True means Far."""
    samplers = SimSampler(seed).spawn(2)
    sample = Sample.from_cells(tester.setting.domain, [0], [1])
    parties = [
        MedianDepthParty(Party(name, sample, sampler, Budget(tester.setting.epsilon)), block)
        for name, sampler, block in zip(("Alice", "Bob"), samplers, (a, b), strict=True)
    ]
    return tester.play(Transcript({}), *parties)


class TestCalibration:
    @pytest.mark.parametrize(("bits", "target"), [(16, 455), (64, 615), (256, 767), (1024, 923)])
    def test_binary_resolutions(self, bits, target):
        """The binary trie's certified resolutions at epsilon = 1, beta = 1/10 are no larger than recorded."""
        rules = calibrate(bits + 1, Fraction(1), BETA, (1,))
        assert rules.resolution <= target
        assert rules.failure <= BETA

    @pytest.mark.parametrize(("bits", "target"), [(16, 107), (64, 463), (256, 635), (1024, 799)])
    def test_hybrid_resolutions(self, bits, target):
        """Several digits per level need fewer records still."""
        assert calibrate(bits + 1, Fraction(1), BETA).resolution <= target

    @pytest.mark.parametrize("bits", [1, 2, 7, 65, 1025, 10**5])
    @pytest.mark.parametrize("epsilon", ["1/1000000", "1/20", "1", "100"])
    @pytest.mark.parametrize("beta", ["1/1000", "1/3", "9/10"])
    def test_always_certified(self, bits, epsilon, beta):
        """At every size, budget and failure probability the rules keep to both, and k is even."""
        rules = calibrate(bits, Fraction(epsilon), Fraction(beta), (1, 5))
        assert rules.failure <= Fraction(beta)
        assert rules.epsilon <= Fraction(epsilon)
        assert rules.size % 2 == 0
        assert 1 <= rules.low <= rules.size // 2

    def test_digits_per_level(self):
        """Levels partition the digits, the first possibly short; the search needs ceil(log2 D) queries."""
        for bits, digits in product((1, 5, 65), DIGITS):
            rules = rules_of(bits, min(bits, digits))
            assert rules.shift(rules.levels) == 0
            assert 0 < bits - rules.shift(1) <= rules.digits
            assert 2**rules.queries >= rules.levels > 2 ** (rules.queries - 1) - (rules.queries == 0)

    @pytest.mark.parametrize("digits", [(), (0,), (61,)])
    def test_bad_digits(self, digits):
        """Digits per level are between 1 and 60."""
        with pytest.raises(ArgumentError):
            MedianDepth(setting(8, 100), digits=digits)


M, RUNS, MOST = 2**20, 150, 32  # more than 32 failures of 150 have probability < 10^-4 at rate 1/10


class TestFamilies:
    @pytest.mark.parametrize("digits", [(1,), DIGITS])
    @pytest.mark.parametrize("family", ["point", "staircase", "grey", "boundary", "late"])
    def test_disjoint(self, digits, family):
        """On hard families, Match and Far are rarely missed at both ends of the promise."""
        tester = MedianDepth(setting(20, 1200), digits=digits)
        t, n = tester.resolution, 1200
        k = tester.rules.size
        low, high = {
            "point": ([9] * k, [10] * k),
            "staircase": (list(range(1000, 1000 + k)), list(range(1000 + k, 1000 + 2 * k))),
            "grey": (
                [0] * (k // 4) + [2**10] * (k - k // 4),
                [2**10 + 1] * (k - k // 4) + [M - 1] * (k // 4),
            ),
            "boundary": ([M // 2 - 1] * k, [M // 2] * k),
            "late": ([M - 2] * k, [M - 1] * k),
        }[family]
        pad = n - k
        S_A = Sample.from_cells(Domain.line(M), [0] * pad + low, [-1] * n)
        S_B = Sample.from_cells(Domain.line(M), high + [M - 1] * pad, [1] * n)
        assert opt_threshold(S_A, S_B).upper == 0
        assert failures(tester, S_A, S_B, "Far") <= MOST
        wide = t - k  # the other order on k records, and enough further conflicts to reach t
        S_A = Sample.from_cells(Domain.line(M), [0] * (n - t) + [max(high)] * wide + high, [-1] * n)
        S_B = Sample.from_cells(Domain.line(M), low + [min(low)] * wide + [M - 1] * (n - t), [1] * n)
        assert opt_threshold(S_A, S_B).upper >= t
        assert failures(tester, S_A, S_B, "Match") <= MOST

    def test_mixed(self):
        """Mixed labels: cross and own conflicts are found, a common threshold matches."""
        tester = MedianDepth(setting(20, 4000, "mixed"))
        t, n, domain = tester.resolution, 4000, Domain.line(M)
        S = Sample.from_cells(domain, [7] * 2000 + [8] * 2000, [-1] * 2000 + [1] * 2000)
        T = Sample.from_cells(domain, [8] * n, [1] * n)
        assert failures(tester, S, T, "Far", 60) <= 17
        rest = Sample.from_cells(domain, [8] * t + [M - 1] * (n - t), [1] * n)
        low = Sample.from_cells(domain, [9] * t + [0] * (n - t), [-1] * n)
        cells, labels = [9] * t + [8] * t + [0] * (n - 2 * t), [-1] * t + [1] * t + [-1] * (n - 2 * t)
        for pair in ((S, Sample.from_cells(domain, cells, labels)), (low, rest), (rest, low)):
            assert opt_threshold(*pair).upper >= t
            assert failures(tester, *pair, "Match", 60) <= 17

    def test_tolerance(self):
        """t0 mistakes still match, and t = 2 (k + t0) - 1 conflicts are far."""
        tester = MedianDepth(setting(20, 900, tolerance=40))
        assert tester.resolution == 2 * (tester.rules.size + 40) - 1
        n = 900
        for a, b in (
            ([3] * (n - 40) + [M - 1] * 40, [4] * n),
            ([3] * n, [0] * 40 + [4] * (n - 40)),
            ([3] * (n - 20) + [M - 1] * 20, [0] * 20 + [4] * (n - 20)),
        ):
            S_A, S_B = (Sample.from_cells(Domain.line(M), x, [y] * n) for x, y in ((a, -1), (b, 1)))
            assert opt_threshold(S_A, S_B).upper == 40
            assert failures(tester, S_A, S_B, "Far") <= MOST


def failures(tester, S_A, S_B, wrong, runs=RUNS):
    """Return how many simulated runs end in the wrong verdict."""
    alice, bob = SimSampler(3).spawn(2)
    return sum(tester.converse(S_A, S_B, alice, bob).verdict == wrong for _ in range(runs))


class TestProtocol:
    @pytest.mark.parametrize("labels", ["disjoint", "mixed"])
    @pytest.mark.parametrize("digits", [(1,), (5,)])
    def test_budgets(self, labels, digits):
        """Secure runs spend at most epsilon each, beyond 64-bit ranks too."""
        m = 2**80
        tester = MedianDepth(setting(80, 5000, labels), digits=digits)
        S_A = Sample.from_cells(Domain.line(m), [2**70] * 5000, [-1] * 5000)
        S_B = Sample.from_cells(Domain.line(m), [2**70 + 1] * 5000, [1] * 5000)
        finding = tester.converse(S_A, S_B, SecureSampler(), SecureSampler())
        for name in ("Alice", "Bob"):
            assert 0 < finding.transcript.spent(name) <= 1
        assert finding.opt_interval in ((0, tester.resolution - 1), (1, tester.setting.largest_opt))

    @pytest.mark.parametrize("labels", ["disjoint", "mixed"])
    @pytest.mark.parametrize("digits", [(1,), (5,)])
    def test_apart(self, labels, digits):
        """Each party on its own, against frames only, reaches the transcript of a common run."""
        assert_same_apart(MedianDepth(setting(40, 5000, labels), digits=digits))

    def test_too_few_records_match_for_free(self):
        """Below the resolution the answer is Match, and nothing is spent."""
        assert_match_for_free(MedianDepth(setting(20, 5)))

    def test_broken_promise_runs_too(self):
        """Labels that break the promise run to an end: privacy never relies on the promise."""
        tester = MedianDepth(setting(20, 600))
        S = Sample.from_cells(Domain.line(M), [5] * 300 + [6] * 300, [1] * 300 + [-1] * 300)
        assert tester.converse(S, S, SimSampler(0), SimSampler(1)).verdict in ("Match", "Far")

    def test_budget_is_checked_before_noise(self):
        """A party whose budget is used up sends nothing."""
        rules = calibrate(21, Fraction(1), BETA, (1,))
        sample = Sample.from_cells(Domain.line(M), [5], [-1])
        party = MedianDepthParty(
            Party("Alice", sample, SimSampler(0), Budget(rules.epsilon_ask)), block_of([5] * rules.size, 21)
        )
        transcript = Transcript({})
        party.ask(transcript, rules, 3)
        for act in (party.ask, party.child, party.place):
            with pytest.raises(BudgetError):
                act(transcript, rules, 3)
        assert len(transcript.messages) == 1

    @pytest.mark.parametrize(
        ("kind", "payload"),
        [("place", {"place": [3]}), ("place", {"place": [-1]}), ("place", {}), ("child", {"child": [2]})],
    )
    def test_malformed_messages(self, kind, payload):
        """A counterpart's malformed place or child is refused before any budget is spent."""
        rules = calibrate(21, Fraction(1), BETA, (1,))
        sample = Sample.from_cells(Domain.line(M), [5], [1])
        budget = Budget(Fraction(1))
        bob = MedianDepthParty(Party("Bob", sample, SimSampler(0), budget), block_of([4] * rules.size, 21))
        message = Message("Alice", kind, payload, Fraction(0))
        act = bob.side_of_place if kind == "place" else bob.side_of_child
        with pytest.raises(ProtocolError):
            act(Transcript({}), rules, 3, message)
        assert budget.spent == 0

    def test_needs_thresholds(self):
        """On halfspaces the tester says why it has no resolution."""
        tester = MedianDepth(Setting(Domain([[0, 1], [1, 1]]), 9, 9, Fraction(1)))
        assert (tester.resolution, tester.reason) == (None, "defined for thresholds only")
