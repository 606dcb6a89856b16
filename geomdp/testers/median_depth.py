r"""The median-depth tester for thresholds: do the two medians still share a node of the trie?

Blocks have even size k and lie on the leaves of a trie. The *depth* of a node in a block is

    depth(p) = max(0, min(k/2 - members left of p, k/2 - members right of p)).

A binary search finds adjacent levels L, H = L + 1 such that the parties' deep nodes coincide at L and no
longer do at H, together with a reason: one party has no deep node at H ("unstable"), or both have, and these
differ ("different"). One query takes two messages: the asking party selects the hash bucket of its deep node,
or "unstable"; the other answers "same", "different" or "unstable". No histogram is released and nothing is
counted.

*Two facts.* Write left(p), right(p) for the numbers of members left and right of p. (1) At most one node per
level has positive depth: for p before q, both positive, left(q) >= k - right(p) > k/2. It holds member number
k/2 in ascending order. (2) If a replacement makes p lose its positive depth, no other node of the level gets
one: depth(p) >= 1 means right(p) <= k/2 - 1, so a node q after p has left(q) >= k/2 + 1 before the change
and >= k/2 after it, as k is even; nodes before p likewise. Each depth changes by at most 1. So a replacement
changes the vector of all depths of a level *in one coordinate, by at most 1*. (With an odd k, or with depth +
1, two coordinates can change.) Also, an ancestor is at least as deep as its descendants.

Proof note (privacy). Precondition: the block changes by one replacement; history, level, hash and whatever
the counterpart sent are fixed.

* *Question and answer, child.* Candidates score the depth of one class of nodes (those of a bucket, those
  that answer "same", a child), or a constant. By (2) one score changes, by at most 1; permute-and-flip of
  scale 1/e is then e-DP.
* *Interior place.* A boundary e of the own node p scores min(members < e, members >= e, depth(p)), a leaf x
  likewise with <= x and >= x. All counts and the depth change by at most 1; while depth(p) is positive before
  or after, p is the same node, and otherwise all scores are 0 on both sides. Scores change by at most 1 in
  any direction; scale 2/e gives e-DP.
* *Side.* f = (members below the place) - k/2, clamped to +-depth(p), is an integer that changes by at most 1,
  as both do; (max(f, 0), max(-f, 0)) changes in one coordinate by at most 1. Scale 1/e gives e-DP.

Conclusion: the losses add up: es per question, er per answer, ef for the one last message.

Proof note (correctness). Let all queries be truthful (see :mod:`geomdp.testers.median_depth_plan`) and let
the promise hold: A < B (all of Alice's block below all of Bob's; Match) or A > B (Far). L ends with a common
node p of depth >= low in both blocks: by its query, or as the root, whose depth is k/2. H ends with its
query's reason, or is the level D of the leaves, which is never asked.

* *H = D, one digit per level.* p has two leaves, and members of both parties; the lift puts Alice's in the
  odd leaf, Bob's in the even one: Far, without any message. This covers b = 1.
* *H = D, more digits.* A selects a leaf x of p. Her member number k/2 lies in p and scores >= low, so up to
  the selection's error min A <= x <= max A. All of Bob's members are on one side of x, and f is +-depth >=
  low.
* *"Unstable" at P.* No child of p has depth >= high in P's block. Let c be the child with member number k/2
  (it is in p, as depth(p) > 0). left(c) <= k/2 - 1 and right(c) <= k/2, and one of them is >= k/2 -
  high + 1. The edge of c on that side has so many members on one side and >= k/2 on the other. So some edge
  of a child scores >= gap = min(low, k/2 - high + 1), and the selected one has members of P on both sides, up
  to the selection's error. By the strict order all members of the other party lie on one side of it, and f is
  +-depth(p), of size >= low.
* *"Different".* Both parties have nodes of depth >= low at H; they are two children of p (their ancestors at
  L are deep). A < B puts Alice's child left of Bob's, A > B right of it. Alice's selected child is the true
  one, and Bob's answer "left" or "right" of it too, except for errors at gaps >= low; with one digit Alice's
  bit says all.

Empty nodes have depth 0 unless k/2 members lie on either side, where min(0, 0) = 0 too; repeated members
change nothing above, which counts members. A party without a deep node sends with all scores 0.

Source: the trie and its search, Section 3.2 of the paper; depth, messages and proofs are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from geomdp.core.errors import ArgumentError, ProtocolError, describe
from geomdp.protocol.party import integers
from geomdp.protocol.schema import Integers, Schema
from geomdp.protocol.script import Script
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import median_depth_plan
from geomdp.testers.base import Setting
from geomdp.testers.block_tester import BlockParty, BlockTester, seated
from geomdp.testers.common_frequency import Hash
from geomdp.testers.median_depth_plan import MedianDepthRules
from geomdp.testers.prefix_search import coin_schema, read_hash
from geomdp.testers.witness_blocks import Block

QUESTION, ANSWER, CHILD, PLACE, SIDE = "question", "answer", "child", "place", "side"
#: Codes of answers; a question's "unstable" is bucket -1.
SAME, DIFFERENT, UNSTABLE = 0, 1, 2
#: Candidates of one score: (first, number, score).
Group = tuple[int, int, int]


def deep_node(block: Block, shift: int) -> tuple[int, int]:
    """Return (node, depth) of the node of the lower median, `shift` levels above the leaves.

    It is the one node that can have positive depth.

    Example:
        >>> block = Block.of([0, 2, 3, 7], 3)
        >>> (deep_node(block, 3), deep_node(block, 2), deep_node(block, 1), deep_node(block, 0))
        ((0, 2), (0, 1), (1, 1), (2, 0))
    """
    half = block.size // 2
    node = block.member(half - 1) >> shift
    before = block.count_below(node << shift)
    after = block.size - block.count_below(node + 1 << shift)
    return node, max(0, min(half - before, half - after))


def question_groups(block: Block, shift: int, hashed: Hash, fixed: int) -> list[Group]:
    """Return the candidates of a question: own bucket, all other buckets (their common score), -1 "unstable".

    The middle group stands for the buckets in ascending order without the own one.
    """
    node, depth = deep_node(block, shift)
    return [(hashed(node), 1, depth), (0, hashed.buckets - 1, 0), (-1, 1, fixed)]


def answer_scores(block: Block, shift: int, hashed: Hash, bucket: int, fixed: int) -> list[int]:
    """Return the scores of the answers SAME, DIFFERENT and UNSTABLE to a named bucket."""
    node, depth = deep_node(block, shift)
    same = hashed(node) == bucket
    return [depth if same else 0, 0 if same else depth, fixed]


def child_groups(block: Block, shift: int, digits: int) -> list[Group]:
    """Return the candidates of a child: the own deep one, and all others in ascending order."""
    node, depth = deep_node(block, shift)
    return [(node & (1 << digits) - 1, 1, depth), (0, (1 << digits) - 1, 0)]


def child_sides(block: Block, shift: int, digits: int, child: int) -> list[int]:
    """Return the scores of "my child is left of that one" and "right of it"."""
    node, depth = deep_node(block, shift)
    own = node & (1 << digits) - 1
    return [depth if own < child else 0, depth if own > child else 0]


def place_groups(block: Block, shift: int, digits: int, leaf: bool) -> list[Group]:
    """Return the candidates of an interior place of the own deep node, runs of equal score joined.

    Args:
        block: the witness block.
        shift: levels between the node and the leaves.
        digits: binary digits to its children.
        leaf: False for the 2^digits + 1 boundaries of the children, True for the 2^digits leaves.

    Example:
        >>> block = Block.of([0, 2, 3, 7], 3)
        >>> place_groups(block, 3, 2, False), place_groups(block, 1, 1, True)
        ([(0, 1, 0), (1, 1, 1), (2, 2, 1), (4, 1, 0)], [(0, 1, 1), (1, 1, 1)])
    """
    node, depth = deep_node(block, shift)
    start, width = node << shift, shift - digits
    spots = _spots(block, node, shift, digits, leaf)
    groups: list[Group] = []
    for first, size in spots:
        place = start + (first << width)
        before = block.count_below(place + leaf)
        after = block.size - block.count_below(place)
        groups.append((first, size, min(before, after, depth)))
    return groups


def _spots(block: Block, node: int, shift: int, digits: int, leaf: bool) -> Iterator[tuple[int, int]]:
    """Yield (first, number) of runs of places with the same members before and after."""
    width, total = shift - digits, (1 << digits) + (not leaf)
    children = [p - (node << digits) for p, _ in block.prefixes(width) if p >> digits == node]
    # the counts change at a boundary just after an occupied child; at a leaf also with the child itself
    starts = {0, *(c + 1 for c in children), *(children if leaf else ())}
    ordered = sorted(s for s in starts if s < total)
    for first, following in zip(ordered, [*ordered[1:], total], strict=True):
        yield first, following - first


def place_sides(block: Block, shift: int, digits: int, place: int, leaf: bool) -> list[int]:
    """Return the scores of "my members are below that place of my deep node" and "above it"."""
    node, depth = deep_node(block, shift)
    at = (node << shift) + (place << shift - digits)
    f = max(-depth, min(depth, block.count_below(at + leaf) - block.size // 2))
    return [max(f, 0), max(-f, 0)]


class MedianDepthParty(BlockParty):
    """A party that asks and answers about its deep node; the module's text holds the privacy proof."""

    def ask(self, transcript: Transcript, rules: MedianDepthRules, level: int) -> Message:
        """Name the bucket of the deep node under a fresh hash of coins alone, or say "unstable"."""
        self.reserve(rules.epsilon_ask)
        shift = rules.shift(level)
        hashed = Hash.draw(rules.bits - shift, rules.buckets, self.sampler)
        groups = question_groups(self.block, shift, hashed, rules.ask)
        index, offset = self._group(groups, rules.ask_scale)
        own = groups[0][0]
        bucket = (own, offset + (offset >= own), -1)[index]
        coins = [] if hashed.multiplier is None else [hashed.multiplier, hashed.shift]
        payload = {"coins": coins, "bucket": [bucket]}
        return self.send(transcript, QUESTION, payload, rules.epsilon_ask)

    def answer(
        self, transcript: Transcript, rules: MedianDepthRules, level: int, hashed: Hash, bucket: int
    ) -> Message:
        """Say whether the own deep node is in the named bucket, or "unstable"."""
        self.reserve(rules.epsilon_reply)
        scores = answer_scores(self.block, rules.shift(level), hashed, bucket, rules.reply)
        index = self.sampler.permute_and_flip(scores, rules.reply_scale)
        return self.send(transcript, ANSWER, {"answer": [index]}, rules.epsilon_reply)

    def child(self, transcript: Transcript, rules: MedianDepthRules, level: int) -> Message:
        """Name which child of the common node is the deep one."""
        self.reserve(rules.epsilon_last)
        groups = child_groups(self.block, rules.shift(level), rules.digits)
        index, offset = self._group(groups, rules.side_scale)
        own = groups[0][0]
        chosen = (own, offset + (offset >= own))[index]
        return self.send(transcript, CHILD, {CHILD: [chosen]}, rules.epsilon_last)

    def place(self, transcript: Transcript, rules: MedianDepthRules, level: int) -> Message:
        """Name a place of the common node with own members on both sides."""
        self.reserve(rules.epsilon_last)
        leaf = level + 1 == rules.levels
        groups = place_groups(self.block, rules.shift(level), rules.digits, leaf)
        index, offset = self._group(groups, rules.place_scale)
        return self.send(transcript, PLACE, {PLACE: [groups[index][0] + offset]}, rules.epsilon_last)

    def side_of_place(
        self, transcript: Transcript, rules: MedianDepthRules, level: int, message: Message
    ) -> Message:
        """Say on which side of the counterpart's place the own members lie: 0 below, 1 above.

        A place is a boundary of a child, or a leaf if `level` is the last one above the leaves.
        """
        leaf = level + 1 == rules.levels
        place = _code(message, PLACE, 0, (1 << rules.digits) - leaf)
        scores = place_sides(self.block, rules.shift(level), rules.digits, place, leaf)
        return self._side(transcript, rules, scores)

    def side_of_child(
        self, transcript: Transcript, rules: MedianDepthRules, level: int, message: Message
    ) -> Message:
        """Say on which side of the counterpart's child the own deep child lies: 0 left, 1 right."""
        child = _code(message, CHILD, 0, (1 << rules.digits) - 1)
        scores = child_sides(self.block, rules.shift(level), rules.digits, child)
        return self._side(transcript, rules, scores)

    def _side(self, transcript: Transcript, rules: MedianDepthRules, scores: list[int]) -> Message:
        self.reserve(rules.epsilon_last)
        index = self.sampler.permute_and_flip(scores, rules.side_scale)
        return self.send(transcript, SIDE, {"side": [index]}, rules.epsilon_last)

    def _group(self, groups: list[Group], scale: Fraction) -> tuple[int, int]:
        sizes, scores = [size for _, size, _ in groups], [score for _, _, score in groups]
        return self.sampler.permute_and_flip_groups(sizes, scores, scale)


class MedianDepth(BlockTester):
    """The median-depth tester for thresholds on an ordered domain of any size.

    Args:
        setting: the public setting, classes "thresholds".
        digits: binary digits per level to choose from; (1,) is the binary trie, more make a hybrid with a
            selection among the children of a node.

    Raises:
        ArgumentError: unless ``digits`` are numbers of binary digits between 1 and 60.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> D = Domain.line(2**256)
        >>> setting = Setting(D, 900, 900, Fraction(1), labels="disjoint", classes="thresholds")
        >>> MedianDepth(setting).resolution < MedianDepth(setting, digits=(1,)).resolution < 900
        True
    """

    name = "median-depth"
    party_class = MedianDepthParty

    def __init__(self, setting: Setting, *, digits: tuple[int, ...] = median_depth_plan.DIGITS) -> None:
        if not digits or any(not 1 <= d <= 60 for d in digits):
            raise ArgumentError("digits", "numbers of binary digits between 1 and 60", describe(digits))
        self.digits = tuple(digits)
        super().__init__(setting)

    def calibrate(self, bits: int, epsilon: Fraction, beta: Fraction) -> MedianDepthRules:
        """Return the certified calibration of one cross test."""
        return median_depth_plan.calibrate(bits, epsilon, beta, self.digits)

    def draft_size(self, bits: int, beta: float) -> float:
        """Return about the size of its blocks at epsilon = 1."""
        return median_depth_plan.draft_size(bits, beta, self.digits)

    def constants(self) -> dict[str, Any]:
        """Return the public constants of the cross test."""
        rules: MedianDepthRules = self.rules
        return {
            "digits": rules.digits,
            "buckets": rules.buckets,
            "unstable_question": rules.ask,
            "unstable_answer": rules.reply,
            "epsilon_question": str(rules.epsilon_ask),
            "epsilon_answer": str(rules.epsilon_reply),
            "epsilon_last": str(rules.epsilon_last),
        }

    def cross(self, transcript: Transcript, names: tuple[str, str], tag: str) -> Script[bool]:
        """Yield the turns of one cross test; True means Far. The parties take turns at asking."""
        rules: MedianDepthRules = self.rules
        low, high, unstable, asked = 0, rules.levels, -1, 0
        while high - low > 1:
            level, asking = (low + high) // 2, asked % 2
            outcome, speaker = yield from self._query(transcript, names, tag, (asking, level))
            if outcome == SAME:
                low = level
            else:
                high, unstable = level, -1 if outcome == DIFFERENT else speaker
            asked += 1
        if high == rules.levels:
            if rules.digits == 1:
                return True
            return (yield from self._by_place(transcript, names, tag, (0, low)))
        if unstable >= 0:
            return (yield from self._by_place(transcript, names, tag, (unstable, low)))
        return (yield from self._by_child(transcript, names, tag, high))

    def _query(
        self, transcript: Transcript, names: tuple[str, str], tag: str, who: tuple[int, int]
    ) -> Script[tuple[int, int]]:
        """Return the outcome of one query, and the index of the party that said so."""
        rules: MedianDepthRules = self.rules
        asking, level = who
        bits = rules.bits - rules.shift(level)
        coins, buckets = coin_schema(bits, rules.buckets)
        schema = Schema(QUESTION, {"coins": coins, "bucket": Integers(1, -1, buckets - 1)}, rules.epsilon_ask)
        question = yield seated(names[asking], tag, schema, lambda p: p.ask(transcript, rules, level))
        hashed = read_hash(question, bits, rules.buckets)
        bucket = _code(question, "bucket", -1, buckets - 1)
        if bucket < 0:
            return UNSTABLE, asking
        schema = Schema(ANSWER, {"answer": Integers(1, SAME, UNSTABLE)}, rules.epsilon_reply)
        answer = yield seated(
            names[1 - asking], tag, schema, lambda p: p.answer(transcript, rules, level, hashed, bucket)
        )
        return _code(answer, "answer", SAME, UNSTABLE), 1 - asking

    def _by_place(
        self, transcript: Transcript, names: tuple[str, str], tag: str, who: tuple[int, int]
    ) -> Script[bool]:
        """Return the verdict of an interior place of one party's block and the other's side of it."""
        rules: MedianDepthRules = self.rules
        first, level = who
        last = (1 << rules.digits) - (level + 1 == rules.levels)
        schema = Schema(PLACE, {PLACE: Integers(1, 0, last)}, rules.epsilon_last)
        message = yield seated(names[first], tag, schema, lambda p: p.place(transcript, rules, level))
        reply = yield seated(
            names[1 - first],
            tag,
            self._side_schema(),
            lambda p: p.side_of_place(transcript, rules, level, message),
        )
        above = _code(reply, SIDE, 0, 1) == 1
        return above == (first == 1)  # negatives above positives

    def _by_child(self, transcript: Transcript, names: tuple[str, str], tag: str, level: int) -> Script[bool]:
        """Return the verdict of the two different deep children at a level."""
        rules: MedianDepthRules = self.rules
        schema = Schema(CHILD, {CHILD: Integers(1, 0, (1 << rules.digits) - 1)}, rules.epsilon_last)
        message = yield seated(names[0], tag, schema, lambda p: p.child(transcript, rules, level))
        if rules.digits == 1:
            return _code(message, CHILD, 0, 1) == 1
        reply = yield seated(
            names[1],
            tag,
            self._side_schema(),
            lambda p: p.side_of_child(transcript, rules, level, message),
        )
        return _code(reply, SIDE, 0, 1) == 0

    def _side_schema(self) -> Schema:
        return Schema(SIDE, {SIDE: Integers(1, 0, 1)}, self.rules.epsilon_last)


def _code(message: Message, key: str, least: int, most: int) -> int:
    """Return the one integer of a counterpart's message, checked to lie in a range.

    Raises:
        ProtocolError: when it is missing, malformed or outside.
    """
    value = integers(message, key, 1, max(abs(least), abs(most)))[0]
    if not least <= value <= most:
        raise ProtocolError(f"Message '{message.kind}' must hold '{key}' between {least} and {most}.")
    return value
