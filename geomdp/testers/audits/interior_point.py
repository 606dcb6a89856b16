"""Audits of the interior-point protocols: the scan, the count, and both with mixed labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from geomdp.core.domain import Domain
from geomdp.privacy.audit import Audit, History, audit_protocol, neighbour_pairs, power
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.runs import Runs, clamp, law_of
from geomdp.privacy.sampler import Sampler
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits.check import Check, Data, sample
from geomdp.testers.crossing import Crossing
from geomdp.testers.interior_point import PLACE, InteriorParty
from geomdp.testers.interior_point_plan import Calibration, calibrate

PLACES = 3
DOMAIN = Domain.line(PLACES)
EPSILON = Fraction(2)
SIZE = 2


class Listed(Crossing):
    """A scan whose two kinds of noise are taken from the list of all runs, not drawn."""

    def _level(self, sampler: Sampler) -> int:
        runs: Any = sampler
        return int(runs.geometric(self.scale))

    def _tails(self, gap: int, size: int, sampler: Sampler) -> int:
        runs: Any = sampler
        return int(runs.tails(_heads(self.ratio, gap), size))


@lru_cache(maxsize=4096)
def _heads(ratio: Fraction, gap: int) -> Interval:
    return power(Interval.of(ratio), gap).outward(512)


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    where = f"{PLACES} places, {SIZE} records"
    yield Check(
        "interior-point, disjoint: Alice",
        f"the scan's place, {where}",
        EPSILON,
        lambda: audit(1, ("scan",), [(x, -1) for x in range(PLACES)]),
    )
    yield Check(
        "interior-point, disjoint: Bob",
        f"the count below any place, {where}",
        EPSILON,
        lambda: audit(1, ("place", "count"), [(x, 1) for x in range(PLACES)]),
    )
    yield Check(
        "interior-point, mixed: either party",
        f"scan and count, whatever place the other releases, {where}",
        EPSILON,
        lambda: audit(2, ("scan", "place", "count"), everything()),
    )


def everything() -> list[tuple[int, int]]:
    """Return every labelled place."""
    return [(x, y) for x in range(PLACES) for y in (-1, 1)]


@lru_cache
def rules(scans: int, start: int = 2) -> Calibration:
    """Return the tester's own calibration, with a level low enough for two records to reach.

    The level's start moves no proof and no budget; at its calibrated height the audit would see tails only.
    """
    c = calibrate(PLACES, EPSILON, Fraction(1, 10), 0, scans)
    if c is None:
        raise ArithmeticError("The audit's epsilon must be calibrated.")
    return replace(c, crossing=Listed(start, c.crossing.epsilon_level, c.crossing.epsilon_place))


def audit(
    scans: int,
    turns: tuple[str, ...],
    listed: Iterable[tuple[int, int]],
    kind: type[InteriorParty] = InteriorParty,
    constants: Calibration | None = None,
) -> Audit:
    """Audit a party whose turns are "scan" and "count" and whose counterpart's is "place"."""
    plan = constants or rules(scans)

    @cache
    def law(data: Data, history: History) -> dict[Hashable, Any]:
        return law_of(lambda runs: turn(data, history, runs, turns, (kind, plan)), 2 * SIZE + 2)

    steps = {"scan": "own", "count": "own", "place": "other"}
    return audit_protocol(
        law,
        neighbour_pairs(list(listed), SIZE),
        turn=lambda history: steps[turns[len(history)]] if len(history) < len(turns) else "end",
        alphabet=lambda history: range(PLACES + 1),
    )


def turn(
    data: Data,
    history: History,
    runs: Runs,
    turns: tuple[str, ...],
    party_of: tuple[type[InteriorParty], Calibration],
) -> Hashable:
    """Return the party's next message after the given ones; each of its draws is fresh."""
    transcript = Transcript({})
    kind, plan = party_of
    party = kind("Alice", sample(DOMAIN, data), runs, Budget(EPSILON))
    for what, message in zip(turns, history, strict=False):
        if what == "scan":
            party.reserve(plan.crossing.epsilon)
            party._covered = plan.scans == 2
        transcript.append(Message("Alice", PLACE, {"theta": [message]}, Fraction(0)))
    if turns[len(history)] == "scan":
        return int(party.scan(transcript, plan).payload["theta"][0])
    return clamp(party.count(transcript, plan).payload["count"][0], -1, SIZE + 1)
