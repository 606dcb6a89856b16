"""Audits of the two protocols on witness blocks: whole cross tests, with blocks and padding from records."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from geomdp.core.domain import Domain
from geomdp.privacy.audit import Audit, audit_protocol, neighbour_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.runs import Runs, audit_program, clamp, law_of
from geomdp.protocol.party import Party
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits.check import Check, Data, records, sample
from geomdp.testers.base import Setting
from geomdp.testers.median_depth import (
    ANSWER,
    CHILD,
    DIFFERENT,
    PLACE,
    QUESTION,
    SAME,
    SIDE,
    UNSTABLE,
    MedianDepth,
    MedianDepthParty,
)
from geomdp.testers.median_depth_plan import MedianDepthRules
from geomdp.testers.prefix_search import COUNTS, PrefixSearchParty
from geomdp.testers.prefix_search_plan import PrefixSearchRules
from geomdp.testers.witness_blocks import Block, trie_bits, witness_block

DOMAIN = Domain.line(2)
HALF = Fraction(1, 2)
SIZE = 4
RULES = MedianDepthRules(trie_bits(DOMAIN.m, True), 1, SIZE, 8, HALF, HALF, HALF, 1, 2, 1, 1)


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    for role in ("negatives", "positives"):
        yield Check(
            f"median-depth: {role}",
            "one cross test on padded blocks of 4, whatever the other asks and answers; 4 records",
            RULES.epsilon,
            lambda role=role: audit(role == "negatives"),  # type: ignore[misc]
        )
    yield Check(
        "prefix-search: either party",
        "two queries at any of 2 levels, then either last statistic; padded blocks of 4 records",
        PREFIX.epsilon,
        audit_prefix,
    )


def audit(negative: bool, rules: MedianDepthRules = RULES) -> Audit:
    """Audit one party's cross test over all neighbouring datasets of two ranks."""
    tester = MedianDepth(Setting(DOMAIN, SIZE, SIZE, Fraction(1), classes="thresholds"))
    tester.rules = rules

    def view(data: Data, runs: Runs) -> Hashable:
        records_of, sampler = sample(DOMAIN, data), runs
        block = witness_block(records_of, -1 if negative else 1, rules.size, 0, True)
        own = MedianDepthParty(Party("Alice", records_of, sampler, Budget(rules.epsilon)), block)
        other = _Puppet(Party("Bob", records_of, sampler, Budget(1)), Block.of([0] * rules.size, rules.bits))
        transcript = Transcript({})
        tester.play(transcript, *((own, other) if negative else (other, own)))
        return tuple(_shown(message) for message in transcript.messages)

    return audit_program(view, neighbour_pairs(records(DOMAIN), SIZE), 1)


def _shown(message: Message) -> tuple[Any, ...]:
    return message.kind, *(tuple(value) for value in message.payload.values())


class _Puppet(MedianDepthParty):
    """A counterpart that says anything it likes, within the messages' public forms."""

    def _say(self, transcript: Transcript, kind: str, key: str, options: Sequence[int]) -> Message:
        runs: Any = self.sampler
        payload: dict[str, Any] = {"coins": []} if kind == QUESTION else {}
        message = Message(self.name, kind, {**payload, key: [runs.choose(options)]}, Fraction(0))
        transcript.append(message)
        return message

    def ask(self, transcript: Transcript, rules: MedianDepthRules, level: int) -> Message:
        """Name any bucket, or "unstable"."""
        buckets = 1 << rules.bits - rules.shift(level)
        return self._say(transcript, QUESTION, "bucket", range(-1, buckets))

    def answer(self, transcript: Transcript, *args: Any) -> Message:
        """Give any answer."""
        del args
        return self._say(transcript, ANSWER, "answer", (SAME, DIFFERENT, UNSTABLE))

    def child(self, transcript: Transcript, rules: MedianDepthRules, level: int) -> Message:
        """Name any child."""
        del level
        return self._say(transcript, CHILD, CHILD, range(1 << rules.digits))

    def place(self, transcript: Transcript, rules: MedianDepthRules, level: int) -> Message:
        """Name any place."""
        leaf = level + 1 == rules.levels
        return self._say(transcript, PLACE, PLACE, range((1 << rules.digits) + (not leaf)))

    def _side(self, transcript: Transcript, rules: MedianDepthRules, scores: list[int]) -> Message:
        del rules, scores
        return self._say(transcript, SIDE, "side", (0, 1))


QUERY = Fraction(1, 2)
#: Weights (2, 1): the last statistic moves by at most 2 (u + v), or 2 max(u - v, v).
PREFIX = PrefixSearchRules(RULES.bits, SIZE, 8, QUERY, HALF, 1, 1, (2, 1), 0, 0, (6, 2))


#: The largest last statistic on blocks of 4, and some more.
REACH = 3 * SIZE + 1


class FullHistograms(PrefixSearchParty):
    """Releases the full noisy histogram and drops what lies below the cut-off.

    That is the law which the sparse release draws from directly; its equality is tested where that is.
    """

    def counts(self, transcript: Transcript, rules: PrefixSearchRules, level: int, hashed: Any) -> Message:
        """Release the noisy counts of prefixes of one length."""
        self.reserve(rules.epsilon_query)
        held = dict(self.block.prefixes(rules.bits - level))
        noise = self.sampler.discrete_laplace(rules.query_scale, 1 << level)
        noisy = {z: held.get(z, 0) + int(e) for z, e in enumerate(noise)}
        kept = {z: c for z, c in noisy.items() if c >= rules.cutoff}
        return self.send(transcript, COUNTS, {"buckets": list(kept), "counts": list(kept.values())}, QUERY)


def audit_prefix(rules: PrefixSearchRules = PREFIX) -> Audit:
    """Audit two queries of a prefix search at any of two levels, and either last statistic.

    Each message has fresh noise, so the law of the next one depends on the records and on what is asked.
    """

    @cache
    def law(data: Data, asked: tuple[Any, ...]) -> dict[Hashable, Any]:
        block = witness_block(sample(DOMAIN, data), -1, rules.size, 0, True)

        def program(runs: Runs) -> Hashable:
            party = FullHistograms(Party("Alice", sample(DOMAIN, data), runs, Budget(rules.epsilon)), block)
            kind, level = asked
            if kind == COUNTS:
                told = party.counts(Transcript({}), rules, level, None).payload
                pairs = zip(told["buckets"], told["counts"], strict=True)
                return tuple((z, clamp(c, rules.cutoff, SIZE + 1)) for z, c in pairs)
            value = party.sides(Transcript({}), rules, level, kind == "jump").payload["value"][0]
            return clamp(value, -REACH, REACH)

        return law_of(program, SIZE + 1 if asked[0] == COUNTS else 2 * REACH)

    questions = [(COUNTS, level) for level in (0, 1)]
    last = [(kind, level) for kind in ("jump", "escape") for level in range(rules.bits)]
    return audit_protocol(
        lambda data, history: law(data, history[-1]),
        neighbour_pairs(records(DOMAIN), SIZE),
        turn=lambda history: "end" if len(history) == 6 else ("other", "own")[len(history) % 2],
        alphabet=lambda history: questions if len(history) < 4 else last,
        state=lambda history: (len(history), history[-1] if len(history) % 2 else None),
    )
