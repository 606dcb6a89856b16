r"""Threshold testers on witness blocks: what Algorithm 2 and the median-depth tester have in common.

A *cross test* compares the negatives of one party with the positives of the other, on blocks of k records.
With disjoint labels one cross test is the whole protocol, of resolution t = 2 (k + t0) - 1 at tolerance t0.

Mixed labels. Let q_PQ be the optimum of P's negatives against Q's positives; max q_PQ <= opt <= sum q_PQ over
the four pairs. Two cross tests (Alice's negatives, Bob's positives; and the other way round) and two noisy
own counts q_PP + Z are run, and Far is announced if any of the four says so.

* opt <= t0: every q_PQ <= t0, and all four must say Match; their errors add up to at most beta.
* opt >= t: with x the resolution of the cross tests, o that of the counts, t = 2 (x - 1) + 2 (o - 1) + 1,
  some q_PQ reaches its resolution, and this one test must say Far; its error alone is at most beta.

A replaced record changes q_PP by at most 1 and every block by at most one replacement (also where its label
changes: it becomes a pad of the one block and replaces a pad of the other), so a party's losses add up: two
cross tests and one count. As x and o are inversely proportional to their losses, x = X/ex and o = O/eo, 2X/ex
+ 2O/eo is least at 2ex : eo = sqrt(2X) : sqrt(O), where it is 2 (sqrt(2X) + sqrt(O))^2 / epsilon up to
rounding.

Source: Lemma 3.5 and Corollary 3.13 of the paper; unequal shares and one-sided errors are ours.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

from geomdp.core.errors import CapacityError
from geomdp.core.sample import Sample
from geomdp.opt.threshold import suffix_mistakes
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_quantile
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Finding, Setting
from geomdp.testers.scripted import ScriptedTester
from geomdp.testers.witness_blocks import Block, trie_bits, witness_block

#: The searches run in floats: smaller beta is refused.
LEAST_BETA = Fraction(1, 10**20)
#: Parts of beta that each of the two own counts may use up where labels are mixed.
COUNT_PARTS = (0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2)
OWN = "own count"


class CrossRules(Protocol):
    """What a cross test's calibration must say."""

    @property
    def size(self) -> int:
        """Members per block, k."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """The most that a party may spend."""
        ...


@dataclass(frozen=True)
class OwnCount:
    """The noisy own count: Far iff q + Z >= cut.

    Attributes:
        epsilon: its privacy loss.
        cut: the cut.
        resolution: the least q that is found Far with probability >= 1 - beta.
    """

    epsilon: Fraction
    cut: int
    resolution: int

    @classmethod
    def calibrate(cls, epsilon: Fraction, match: Fraction, far: Fraction, tolerance: int) -> OwnCount:
        """Return the count whose errors are at most `match` at q <= tolerance, and `far` at q >= resolution.

        Example:
            >>> OwnCount.calibrate(Fraction(1), Fraction(1, 10), Fraction(1, 10), 0)
            OwnCount(epsilon=Fraction(1, 1), cut=2, resolution=3)
        """
        scale = noise_scale(1, epsilon)
        cut = tolerance + dlap_quantile(match, scale)
        return cls(epsilon, cut, cut - 1 + dlap_quantile(far, scale))


class BlockParty(Party):
    """One party in one cross test: its block, and the sampler and budget that it shares with its other tests.

    Attributes:
        block: this party's witness block.
        tag: names the cross test in the kinds of its messages; "" where there is one only.
    """

    def __init__(self, party: Party, block: Block, tag: str = "") -> None:
        super().__init__(party.name, party.sample, party.sampler, party.budget)
        self.block, self.tag = block, tag

    def send(self, transcript: Transcript, kind: str, payload: dict[str, Any], epsilon: Fraction) -> Message:
        """Release a message, whose loss has been reserved, under the cross test's name."""
        return converse(transcript, self.release(f"{kind} {self.tag}".strip(), payload, epsilon))


class BlockHolder(Party):
    """One party in all of a run's tests.

    Privacy note. A seat's block is a function of the records under which neighbours stay neighbours (see
    :mod:`geomdp.testers.witness_blocks`); q_PP changes by at most 1 when one record is replaced, as the
    mistakes of every threshold do, so noise of scale >= 1/eo costs eo. All tests share one budget.
    """

    def __init__(self, party: Party, seats: Mapping[str, BlockParty]) -> None:
        super().__init__(party.name, party.sample, party.sampler, party.budget)
        self.seats = seats

    def own_count(self, transcript: Transcript, own: OwnCount) -> Message:
        """Release the noisy optimum of the own records alone."""
        self.reserve(own.epsilon)
        noise = int(self.sampler.discrete_laplace(noise_scale(1, own.epsilon), 1)[0])
        noisy = int(suffix_mistakes(self.sample).min()) + noise
        return converse(transcript, self.release(OWN, {"count": within([noisy], 2**63)}, own.epsilon))


def seated(name: str, tag: str, schema: Schema, act: Callable[[Any], object]) -> Turn:
    """Return a turn of one party's seat in a cross test; the tag completes the message's kind."""
    kind = f"{schema.kind} {tag}".strip()
    return Turn(name, replace(schema, kind=kind), lambda holder: act(holder.seats[tag]))


class BlockTester(ScriptedTester):
    """A threshold tester that runs cross tests on witness blocks.

    Where opt cannot reach the resolution, the answer is Match at once and nothing is spent.

    Attributes:
        rules: the certified calibration of a cross test, or None (then `reason` says why).
        own: the calibration of the own counts; None with disjoint labels.
    """

    party_class = BlockParty

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.rules: Any = None
        self.own: OwnCount | None = None
        if setting.classes != "thresholds":
            self.reason = "defined for thresholds only"
            return
        if setting.beta < LEAST_BETA:
            self.reason = f"not calibrated below beta = {float(LEAST_BETA):g}"
            return
        bits = trie_bits(setting.domain.m, self.padded)
        try:
            if not self.padded:
                self.rules = self.calibrate(bits, setting.epsilon, setting.beta)
            else:
                cross, match, self.own = self._composition(bits)
                self.rules = self.calibrate(bits, cross, match)
        except CapacityError as error:
            self.reason = str(error)
            return
        self.resolution = self._resolution()

    @property
    def padded(self) -> bool:
        """True with mixed labels, where blocks may need padding."""
        return self.setting.labels == "mixed"

    @abstractmethod
    def calibrate(self, bits: int, epsilon: Fraction, beta: Fraction) -> CrossRules:
        """Return the certified calibration of one cross test."""

    @abstractmethod
    def draft_size(self, bits: int, beta: float) -> float:
        """Return about the size of its blocks at epsilon = 1."""

    @abstractmethod
    def cross(self, transcript: Transcript, names: tuple[str, str], tag: str) -> Script[bool]:
        """Yield the turns of one cross test of names[0]'s negatives and names[1]'s positives; True is Far."""

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Return the public constants of the cross test but its block size, as JSON values."""

    def _composition(self, bits: int) -> tuple[Fraction, Fraction, OwnCount]:
        """Return the loss and error of a cross test, and the own counts', by the rule of square roots."""
        setting = self.setting
        best: tuple[float, Fraction, Fraction, Fraction] | None = None
        for part in COUNT_PARTS:
            count = setting.beta * Fraction(str(part))
            match = setting.beta / 2 - count
            x = 2 * self.draft_size(bits, float(match))
            o = -math.log(2 * float(count)) - math.log(2 * min(float(setting.beta), 0.499)) + 1
            roots = math.sqrt(2 * x), math.sqrt(max(o, 0.1))
            cost = sum(roots) ** 2
            share = Fraction(math.ceil(2**16 * roots[1] / sum(roots)), 2**16)
            if best is None or cost < best[0]:
                best = cost, share, match, count
        assert best is not None  # noqa: S101 - COUNT_PARTS is not empty
        _, share, match, count = best
        own = OwnCount.calibrate(setting.epsilon * share, count, setting.beta, setting.tolerance)
        return setting.epsilon * (1 - share) / 2, match, own

    def _resolution(self) -> int:
        cross = 2 * (int(self.rules.size) + self.setting.tolerance) - 1
        return cross if self.own is None else 2 * (cross - 1) + 2 * (self.own.resolution - 1) + 1

    def party(self, name: str, sample: Sample, sampler: Sampler) -> BlockHolder:
        """Return one party with a seat in each cross test."""
        party = Party(name, sample, sampler, Budget(self.setting.epsilon))
        seats = {}
        for tag, names in self._pairs():
            if self.feasible and name in names:
                label = (-1, 1)[names.index(name)]
                block = witness_block(sample, label, self.rules.size, self.setting.tolerance, self.padded)
                seats[tag] = self.party_class(party, block, tag)
        return BlockHolder(party, seats)

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Run the cross tests, then Alice's and Bob's own counts where labels are mixed."""
        self._check_usable()
        setting, own, t = self.setting, self.own, self.resolution
        assert t is not None  # noqa: S101 - there is a reason otherwise
        if not self.feasible:
            return Finding("Match", transcript, None, (0, setting.largest_opt))
        far = False
        for tag, names in self._pairs():
            far |= yield from self.cross(transcript, names, tag)
        for name in PARTIES if own is not None else ():
            assert own is not None  # noqa: S101 - for the type checker
            schema = Schema(OWN, {"count": symmetric(1, 2**63)}, own.epsilon)
            message = yield Turn(name, schema, partial(BlockHolder.own_count, transcript=transcript, own=own))
            far |= integers(message, "count", 1, 2**63)[0] >= own.cut
        interval = (setting.tolerance + 1, setting.largest_opt) if far else (0, t - 1)
        return Finding("Far" if far else "Match", transcript, None, interval)

    def play(self, transcript: Transcript, negatives: BlockParty, positives: BlockParty) -> bool:
        """Run one cross test between two seats in this process; True means Far.

        Messages are not checked for their form or price: an audit's counterpart says anything.
        """
        tag = negatives.tag
        holders = {seat.name: BlockHolder(seat, {tag: seat}) for seat in (negatives, positives)}
        script = self.cross(transcript, (negatives.name, positives.name), tag)
        try:
            turn = next(script)
            while True:
                turn.act(holders[turn.sender])
                turn = script.send(transcript.messages[-1])
        except StopIteration as end:
            return bool(end.value)

    def _pairs(self) -> list[tuple[str, tuple[str, str]]]:
        """Return the cross tests: a tag, the holder of the negatives and the holder of the positives."""
        if self.padded:
            return [("AB", ("Alice", "Bob")), ("BA", ("Bob", "Alice"))]
        return [("", ("Alice", "Bob"))]

    def opening(self) -> dict[str, Any]:
        """Return the public parameters of a run."""
        self._check_usable()
        own = self.own
        return {
            **self.facts(),
            "block": self.rules.size,
            **self.constants(),
            **({} if own is None else {"epsilon_own": str(own.epsilon), "own_cut": own.cut}),
        }
