r"""The prefix-search tester for thresholds (Algorithm 2): a noisy binary search over prefix lengths.

The parties' witness blocks occupy leaves of a binary trie. Under the promise a level has at most one *common*
node, one that holds members of both, and the share F(l) of members that have left it grows with the level l,
from 0 at the root to all at the leaves. A binary search by noisy common frequencies finds two adjacent levels
L, H between which F passes a cut. Either many members leave in that one step, and how they split there tells
the order of the blocks; or many have left by H while the common node is still heavy, and the sides on which
they left tell it. Both statistics are formed without naming the node.

Source: Section 3.2 of the paper. The calibration is in :mod:`geomdp.testers.prefix_search_plan`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from geomdp.core.errors import ProtocolError
from geomdp.protocol.party import integers, within
from geomdp.protocol.schema import Integers, Schema, symmetric
from geomdp.protocol.script import Script
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import prefix_search_plan
from geomdp.testers.base import Setting
from geomdp.testers.block_tester import BlockParty, BlockTester, seated
from geomdp.testers.common_frequency import Hash, common_frequency, release
from geomdp.testers.prefix_search_plan import SLOTS, PrefixSearchRules
from geomdp.testers.witness_blocks import Block

COINS, COUNTS, SIDES = "hash", "prefix counts", "sides"


class PrefixSearchParty(BlockParty):
    """A party that releases sparse prefix histograms, and one last statistic.

    Privacy note. Precondition: one record is replaced, so the block changes by one replacement, x by y. Every
    histogram costs epsilon0 (L1 sensitivity 2, noise of scale >= 2/epsilon0), whatever the level and the
    hash, which are functions of messages and coins. The last statistic is V = X - Y, two maxima over nodes.

    * Jump: a record counts u or u + v in its node, 0 elsewhere, so each maximum changes by at most u + v.
    * Escape: at a node q, X counts a record w = u in q, v before q, 0 after q; Y counts z = u, 0, v. Let X'
      (after) be attained at q, Y (before) at r. Comparing values at q for X and at r for Y, V' - V <= (w_q -
      z_r)(y) - (w_q - z_r)(x). If q > r, w_q - z_r lies between -max(u - v, v) and max(u - v, v) everywhere.
      If q = r, between -v and v. If q < r, compare at the other node instead, X at r and Y' at q: V' - V <= v
      (D'(q) - D(r)), where D(p) = members before p - members after p increases with p, and D' <= D + 2; so V'
      - V <= 2v. In all cases V changes by at most 2 max(u - v, v).

    With noise of scale >= that number / ef the last message costs ef. Conclusion: T queries and the last
    message cost at most T epsilon0 + ef.
    """

    def coins(self, transcript: Transcript, bits: int, buckets: int) -> Message:
        """Draw a public hash of keys of `bits` digits: coins only, no data, no cost."""
        hashed = Hash.draw(bits, buckets, self.sampler)
        values = [] if hashed.multiplier is None else [hashed.multiplier, hashed.shift]
        return self.send(transcript, COINS, {"coins": values}, Fraction(0))

    def counts(self, transcript: Transcript, rules: PrefixSearchRules, level: int, hashed: Hash) -> Message:
        """Release the noisy counts of hashed prefixes of one length that reach the cut-off.

        The message has a fixed number of slots, unused ones (-1, 0); too many survivors, a rare event of the
        calibration, are not sent at all. That is a function of the sparse release.
        """
        self.reserve(rules.epsilon_query)
        items = self.block.prefixes(rules.bits - level)
        noisy = release(items, hashed, rules.cutoff, rules.query_scale, self.sampler)
        kept = list(noisy.items()) if len(noisy) <= SLOTS else []
        kept += [(-1, 0)] * (SLOTS - len(kept))
        payload = {"buckets": [z for z, _ in kept], "counts": within((count for _, count in kept), 2**63)}
        return self.send(transcript, COUNTS, payload, rules.epsilon_query)

    def sides(self, transcript: Transcript, rules: PrefixSearchRules, level: int, jump: bool) -> Message:
        """Release the noisy V_P for adjacent levels `level`, `level` + 1."""
        self.reserve(rules.epsilon_last)
        value = imbalance(self.block, level, jump, rules.weights)
        noisy = value + int(self.sampler.discrete_laplace(rules.last_scale(jump), 1)[0])
        return self.send(transcript, SIDES, {"value": within([noisy], 2**63)}, rules.epsilon_last)


def imbalance(block: Block, level: int, jump: bool, weights: tuple[int, int]) -> int:
    """Return V_P: how much further left than right the block's members lie, near its heaviest node.

    Args:
        block: the witness block.
        level: L.
        jump: True to compare the two children of a node of level L, False to compare the two outsides of a
            node of level L + 1.
        weights: (u, v), of members of the node and of its half or outside.

    Example:
        >>> block = Block.of([0, 1, 1, 2, 7], 3)  # level 1: four members in node 0, three in its left half
        >>> (imbalance(block, 1, True, (6, 1)), imbalance(block, 0, False, (6, 1)))
        (2, -1)
    """
    u, v = weights
    if jump:
        best = [0, 0]
        halves = dict(block.prefixes(block.bits - level - 1))
        for node, count in block.prefixes(block.bits - level):
            for side in (0, 1):
                best[side] = max(best[side], u * count + v * halves.get(2 * node + side, 0))
        return best[0] - best[1]
    before, left, right, nodes = 0, 0, 0, list(block.prefixes(block.bits - level - 1))
    for _, count in nodes:
        left = max(left, u * count + v * before)
        before += count
        right = max(right, u * count + v * (block.size - before))
    # an empty node beyond all members has everyone on one side
    if nodes[-1][0] != (1 << level + 1) - 1:
        left = max(left, v * block.size)
    if nodes[0][0] != 0:
        right = max(right, v * block.size)
    return left - right


class PrefixSearch(BlockTester):
    """Algorithm 2 for thresholds on an ordered domain of any size.

    Args:
        setting: the public setting, classes "thresholds".
        constants: "calibrated" (the least certified block size), or "paper" (those of the paper's proof).

    Example:
        >>> from geomdp.core.domain import Domain
        >>> D = Domain.line(2**64)
        >>> setting = Setting(D, 10**5, 10**5, Fraction(1), labels="disjoint", classes="thresholds")
        >>> PrefixSearch(setting).resolution < 3873 < PrefixSearch(setting, constants="paper").resolution
        True
    """

    name = "prefix-search"
    party_class = PrefixSearchParty

    def __init__(self, setting: Setting, *, constants: str = "calibrated") -> None:
        self.style = constants
        super().__init__(setting)

    def calibrate(self, bits: int, epsilon: Fraction, beta: Fraction) -> PrefixSearchRules:
        """Return the certified calibration of one cross test."""
        return prefix_search_plan.calibrate(bits, epsilon, beta, self.style)

    def draft_size(self, bits: int, beta: float) -> float:
        """Return about the size of its blocks at epsilon = 1."""
        if self.style == "paper":
            return prefix_search_plan.calibrate(bits, Fraction(1), Fraction(str(beta)), "paper").size
        return prefix_search_plan.draft_size(bits, beta)

    def constants(self) -> dict[str, Any]:
        """Return the public constants of the cross test."""
        rules: PrefixSearchRules = self.rules
        return {
            "constants": self.style,
            "buckets": rules.buckets,
            "alpha": rules.alpha,
            "delta": rules.delta,
            "weights": list(rules.weights),
            "cutoff": rules.cutoff,
            "epsilon_query": str(rules.epsilon_query),
            "epsilon_last": str(rules.epsilon_last),
        }

    def cross(self, transcript: Transcript, names: tuple[str, str], tag: str) -> Script[bool]:
        """Yield the turns of one cross test; True means Far. The search is a function of released values."""
        rules: PrefixSearchRules = self.rules
        low, high, at_low, at_high = 0, rules.bits, 0, rules.size
        while high - low > 1:
            level = (low + high) // 2
            escaped = yield from self._query(transcript, names, tag, level)
            if escaped < rules.alpha:
                low, at_low = level, escaped
            else:
                high, at_high = level, escaped
        jump = at_high - at_low >= rules.delta
        schema = Schema(SIDES, {"value": symmetric(1, 2**63)}, rules.epsilon_last)
        values = []
        for name in names:
            message = yield seated(name, tag, schema, lambda p: p.sides(transcript, rules, low, jump))
            values.append(integers(message, "value", 1, 2**63)[0])
        return values[0] < values[1]

    def _query(self, transcript: Transcript, names: tuple[str, str], tag: str, level: int) -> Script[int]:
        """Return F^(level), or the least value that it may have where nothing common was released."""
        rules: PrefixSearchRules = self.rules
        coins, buckets = coin_schema(level, rules.buckets)
        message = yield seated(
            names[0],
            tag,
            Schema(COINS, {"coins": coins}, Fraction(0)),
            lambda p: p.coins(transcript, level, rules.buckets),
        )
        hashed = read_hash(message, level, rules.buckets)
        entries = {"buckets": Integers(SLOTS, -1, buckets - 1), "counts": symmetric(SLOTS, 2**63)}
        schema, released = Schema(COUNTS, entries, rules.epsilon_query), []
        for name in names:
            message = yield seated(name, tag, schema, lambda p: p.counts(transcript, rules, level, hashed))
            released.append(read_counts(message, hashed))
        found = common_frequency(*released)
        return rules.size - (rules.cutoff - 1 if found is None else found)


def coin_schema(bits: int, buckets: int) -> tuple[Integers, int]:
    """Return the form of the public coins of a hash of keys of `bits` digits, and its number of buckets."""
    if bits <= buckets.bit_length() - 1:
        return Integers(0, 0, 0), 1 << bits
    return Integers(2, 0, (1 << Hash(bits, buckets).width) - 1), buckets


def read_hash(message: Message, bits: int, buckets: int) -> Hash:
    """Return the public hash of a message.

    Raises:
        ProtocolError: when the coins are missing, malformed or out of range.
    """
    if bits <= buckets.bit_length() - 1:
        integers(message, "coins", 0)
        return Hash(bits, 1 << bits)
    width = Hash(bits, buckets).width
    coins = integers(message, "coins", 2, 1 << width)
    if min(coins) < 0 or max(coins) >> width:
        raise ProtocolError(f"Message '{message.kind}' must hold two coins of {width} binary digits.")
    return Hash(bits, buckets, coins[0], coins[1])


def read_counts(message: Message, hashed: Hash) -> dict[int, int]:
    """Return the released counts of a message.

    Raises:
        ProtocolError: when buckets and counts are missing, malformed or do not fit together.
    """
    buckets = integers(message, "buckets", SLOTS, hashed.buckets)
    counts = integers(message, "counts", SLOTS, 2**63)
    used = [z for z in buckets if z != -1]
    if any(z < 0 or z >= hashed.buckets for z in used) or len(set(used)) < len(used):
        raise ProtocolError(f"Message '{message.kind}' must hold distinct buckets below {hashed.buckets}.")
    return {z: count for z, count in zip(buckets, counts, strict=True) if z != -1}
