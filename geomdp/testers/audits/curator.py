"""Audit of the curator: its one release, for the records of either party."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction

from geomdp.privacy.runs import Runs, clamp
from geomdp.testers.audits.check import Check, Data, sample
from geomdp.testers.audits.histograms import DOMAIN, SETTING, over_neighbours
from geomdp.testers.base import Setting
from geomdp.testers.curator import Curator


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    for classes in ("thresholds", "halfspaces"):
        yield Check(
            f"curator, {classes}",
            "the noisy optimum of 2 records pooled with any of 2 samples of the other party",
            SETTING.epsilon,
            lambda classes=classes: over_neighbours(  # type: ignore[misc]
                lambda data, runs: release(data, runs, classes), 4
            ),
        )


def release(data: Data, runs: Runs, classes: str) -> Hashable:
    """Return which sample the other party has, and the noisy optimum."""
    other = runs.choose((((0, 1), (1, 1)), ((0, 1), (1, -1))))
    curator = Curator(Setting(DOMAIN, 2, 2, Fraction(1), classes=classes))
    finding = curator.converse(sample(DOMAIN, data), sample(DOMAIN, other), runs, runs)
    return other, clamp(finding.transcript.last("noisy optimum").payload["value"], -1, 3)
