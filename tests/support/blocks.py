"""What the laws of the two testers on witness blocks share."""

from __future__ import annotations

from geomdp.core.sample import Sample
from geomdp.privacy.sampler import SimSampler
from geomdp.protocol.transcript import PARTIES
from support.sessions import exchange


def assert_same_apart(tester):
    """Assert that two separate sessions and one common run give the same transcript and finding."""
    setting = tester.setting
    domain, half = setting.domain, setting.domain.m // 2
    samples = [
        Sample.from_cells(domain, [rank] * n, [label] * n)
        for rank, label, n in ((half, -1, setting.n_alice), (half + 1, 1, setting.n_bob))
    ]
    together = tester.converse(*samples, SimSampler(1), SimSampler(2))
    sides = zip(PARTIES, samples, (1, 2), strict=True)
    found, _ = exchange(*(tester.attend(name, sample, SimSampler(seed)) for name, sample, seed in sides))
    assert found["Alice"] == found["Bob"] == together


def assert_match_for_free(tester):
    """Assert that records too few for the resolution give Match without a message."""
    n = tester.setting.n
    S = Sample.from_cells(tester.setting.domain, [9] * n, [-1] * n)
    finding = tester.converse(S, S, SimSampler(0), SimSampler(1))
    assert (finding.verdict, finding.transcript.messages, finding.opt_interval) == ("Match", [], (0, n))
