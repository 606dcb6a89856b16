r"""Interior-point testers for thresholds: release a place that is surely not too high, and count below it.

Disjoint labels (Alice's records are -1, Bob's +1; one message each way). Alice scans from the top for a place
theta with at least one and not many of her records at or above it (:mod:`geomdp.testers.crossing`). If a
threshold fits, theta <= max A + 1 <= min B, and none of Bob's records lies below theta; Bob's noisy count of
them decides.

Mixed labels (three turns). *Both* scan their -1 records; theta is the larger of the two places. If a
threshold fits, theta <= (largest -1 record of either) + 1 <= every +1 record; both parties count their +1
records below theta, and the sum of the two noisy counts decides. The four sub-tests of the paper (two cross
tests and two local ones, at a quarter of the budget and of the resolution each) are replaced by one quantity,
the mistakes of theta, and the count is free: a record that moves within a label meets either the scan or the
count, and one that changes its label is added to or taken from the scan, which costs a scan less than a move.

Source: the thresholds' interior-point baseline and the mixed-label reduction (Corollary 3.13) of the paper;
the scan, its use for mixed labels and all constants are ours.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.classifier import Threshold
from geomdp.core.errors import ProtocolError
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Integers, Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Finding, Setting
from geomdp.testers.crossing import descending
from geomdp.testers.interior_point_plan import LEAST_BETA, LEAST_EPSILON, Calibration, calibrate
from geomdp.testers.scripted import ScriptedTester

PLACE, COUNT = "crossing", "count below"


class InteriorParty(Party):
    """A party that scans its -1 records, counts its +1 records below the released place, or does both.

    Privacy note. Let l, p, c be the shares of level, place and count. For every behaviour of the counterpart,
    the place at which the count is taken is a function of released values, and the count is an integer.

    * scan only, l + p = epsilon: the scan's note, case 1; a replacement that changes a label is case 2,
      cheaper.
    * count only, c = epsilon: one replaced record moves the count by at most 1; discrete Laplace noise of
      scale >= 1/c costs c.
    * both, l + p = epsilon and c = epsilon - max(l, p). One replaced record is one of: -1 to -1, which moves
      a record of the scan and leaves the count alone, l + p; +1 to +1, count only, c; -1 to +1 or +1 to -1,
      which takes a record from the scan or adds one, max(l, p), and moves the count by at most 1, c. Each is
      at most epsilon.

    Conclusion: a party's messages together are epsilon-DP for every sample. The scan's message is charged
    epsilon, as it would cost alone; the one count that follows it is charged nothing more, any other in full.
    """

    _covered = False  # True between a scan and the one count that its charge covers

    def scan(self, transcript: Transcript, rules: Calibration) -> Message:
        """Release a place theta in 0..m: one above the place where the scan stopped, 0 if it did not stop."""
        epsilon = rules.crossing.epsilon
        self.reserve(epsilon)
        self._covered = rules.scans == 2
        passed = rules.crossing.draw(descending(self.sample, -1), self.sampler)
        return converse(transcript, self.release(PLACE, {"theta": [rules.m - passed]}, epsilon))

    def count(self, transcript: Transcript, rules: Calibration) -> Message:
        """Release the noisy number of own +1 records below the released place."""
        theta = released_place(transcript, rules)
        charge = Fraction(0) if self._covered else rules.count_epsilon
        self.reserve(charge)
        self._covered = False
        lower = np.asarray(self.sample.cells < theta, dtype=bool)
        below = int(self.sample.positives[lower].sum())
        noisy = below + int(self.sampler.discrete_laplace(rules.count_scale, 1)[0])
        return converse(transcript, self.release(COUNT, {"count": within([noisy], 2**63)}, charge))


def released_place(transcript: Transcript, rules: Calibration) -> int:
    """Return the largest released place.

    Raises:
        ProtocolError: when a place is missing, malformed or outside 0..m.
    """
    messages = [m for m in transcript.messages if m.kind == PLACE]
    places = [integers(message, "theta", 1, rules.m)[0] for message in messages]
    if len(places) != rules.scans or min(places) < 0:
        raise ProtocolError(f"The transcript must hold {rules.scans} place(s) between 0 and {rules.m}.")
    return max(places)


class InteriorPoint(ScriptedTester):
    """The interior-point tester for thresholds on an ordered domain of any size.

    Where opt cannot reach the resolution, the answer is Match at once and nothing is spent.

    Args:
        setting: the public setting, classes "thresholds".

    Attributes:
        rules: the certified calibration, or None (then `reason` says why).

    Example:
        >>> from geomdp.core.domain import Domain
        >>> from geomdp.privacy.sampler import SimSampler
        >>> D = Domain.line(2**64)
        >>> tester = InteriorPoint(Setting(D, 100, 90, Fraction(1), labels="disjoint", classes="thresholds"))
        >>> (tester.resolution, tester.feasible)
        (70, True)
        >>> low = Sample.from_cells(D, [3] * 100, [-1] * 100)
        >>> high = Sample.from_cells(D, [2**63] * 90, [1] * 90)
        >>> tester.converse(low, high, SimSampler(0), SimSampler(1)).verdict
        'Match'
    """

    name = "interior-point"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.rules: Calibration | None = None
        if setting.classes != "thresholds":
            self.reason = "defined for thresholds only"
            return
        scans = 1 if setting.labels == "disjoint" else 2
        self.rules = calibrate(setting.domain.m, setting.epsilon, setting.beta, setting.tolerance, scans)
        if self.rules is None:
            self.reason = f"not calibrated below epsilon = {LEAST_EPSILON} or beta = {float(LEAST_BETA):g}"
            return
        self.resolution = self.rules.resolution

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return a party that scans, counts, or does both."""
        return InteriorParty(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Alice's scan, and Bob's with mixed labels; then Bob's count, and Alice's with mixed labels."""
        setting, rules = self.setting, self._rules()
        if not self.feasible:
            return Finding("Match", transcript, None, (0, setting.largest_opt))
        place = Schema(PLACE, {"theta": Integers(1, 0, rules.m)}, rules.crossing.epsilon)
        for name in PARTIES[: rules.scans]:
            yield Turn(name, place, lambda party: party.scan(transcript, rules))
        charge = Fraction(0) if rules.scans == 2 else rules.count_epsilon
        number = Schema(COUNT, {"count": symmetric(1, 2**63)}, charge)
        counts = []
        for name in PARTIES[::-1][: rules.scans]:
            message = yield Turn(name, number, lambda party: party.count(transcript, rules))
            counts.append(integers(message, "count", 1, 2**63)[0])
        total, theta = sum(counts), released_place(transcript, rules)
        return Finding(
            verdict="Far" if total >= rules.cut else "Match",
            transcript=transcript,
            classifier=Threshold(theta),
            opt_interval=rules.interval(total, setting.largest_opt),
        )

    def _rules(self) -> Calibration:
        self._check_usable()
        assert self.rules is not None  # noqa: S101 - there is a reason otherwise
        return self.rules

    def opening(self) -> dict[str, Any]:
        """Return the public parameters of a run."""
        rules = self._rules()
        return {
            **self.facts(),
            "start": rules.crossing.start,
            "epsilon_level": str(rules.crossing.epsilon_level),
            "epsilon_place": str(rules.crossing.epsilon_place),
            "epsilon_count": str(rules.count_epsilon),
            "cut": rules.cut,
        }
