"""Audits of the histogram testers: both messages of both protocols, from the parties' own methods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction

from geomdp.core.classifier import Threshold
from geomdp.core.domain import Domain
from geomdp.privacy.audit import Audit, neighbour_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.runs import Runs, audit_program, clamp
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits.check import Check, Data, records, sample
from geomdp.testers.base import Setting
from geomdp.testers.histogram import HistogramParty, Minimiser, OneWay

DOMAIN = Domain.grid([("x", 0, 1, 2)])
SETTING = Setting(DOMAIN, 2, 2, Fraction(1), classes="thresholds")
#: What Alice may send: every order of the thresholds' agreements, ties, and counts that no sample has.
FIELDS = ((0, 0), (3, -3), (-3, 4))
#: How the one-way tester divides Bob's budget here.
SHARES = OneWay(SETTING)._shares
#: (data, sampler) -> what the counterpart sees.
View = Callable[[Data, Runs], Hashable]


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    for role in ("two-histograms: either party", "one-way: Alice"):
        yield Check(
            role,
            "noisy net counts of 2 cells, 2 records",
            SETTING.epsilon,
            lambda: over_neighbours(histogram, 5),
        )
    yield Check(
        "one-way: Bob",
        "minimum, own optimum and classifier after any of 3 hostile histograms, 2 records",
        SETTING.epsilon,
        lambda: over_neighbours(answers, 5),
    )


def over_neighbours(
    view: View, reach: int, size: int = 2, *, listed: list[tuple[int, int]] | None = None
) -> Audit:
    """Audit a view over all neighbouring datasets of the two cells, or of the listed records only."""
    return audit_program(view, neighbour_pairs(listed or records(DOMAIN), size), reach)


def histogram(data: Data, runs: Runs, kind: type[HistogramParty] = HistogramParty) -> Hashable:
    """Return what HistogramParty sends, clamped to where its ratio still changes."""
    party = kind("Alice", sample(DOMAIN, data), runs, Budget(SETTING.epsilon))
    message = party.histogram(Transcript({}), SETTING)
    return tuple(clamp(v, -3, 3) for v in message.payload["net"])


def answers(data: Data, runs: Runs, kind: type[Minimiser] = Minimiser) -> Hashable:
    """Return the hostile histogram and the three answers of Bob, with the tester's own shares."""
    y = runs.choose(FIELDS)
    minimum, own, selection = SHARES
    transcript = Transcript({}, [Message("Alice", "noisy histogram", {"net": list(y)}, Fraction(0))])
    bob = kind("Bob", sample(DOMAIN, data), runs, Budget(SETTING.epsilon))
    least = bob.minimum(transcript, SETTING, minimum).payload["doubled"]
    value = bob.own(transcript, SETTING, own).payload["value"]
    chosen = bob.joint_classifier(transcript, SETTING, selection)
    # a threshold agrees with y on at most `most`, and one net count of 2 records moves that by at most 2
    most = max(sum(-v for v in y[:t]) + sum(y[t:]) for t in range(DOMAIN.m + 1))
    middle = SETTING.n_alice + SETTING.n_bob - most
    theta = chosen.theta if isinstance(chosen, Threshold) else -1
    return y, clamp(least, middle - 3, middle + 3), clamp(value, -1, 2), theta
