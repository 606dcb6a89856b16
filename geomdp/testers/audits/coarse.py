"""Audits of the ray sketch, the net mechanism and MWEM: every message of either party."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any

from geomdp.core.domain import Domain
from geomdp.privacy.audit import Audit, neighbour_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.runs import Runs, audit_program, clamp
from geomdp.protocol.party import Party
from geomdp.protocol.script import play
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits.check import Check, Data, records, sample
from geomdp.testers.base import Setting
from geomdp.testers.mwem import learn
from geomdp.testers.mwem_plan import Schedule
from geomdp.testers.net_mechanism import NetMechanism
from geomdp.testers.ray_sketch import Course, Sketcher, rays_of
from geomdp.testers.synthetic import Minimiser, query_signs

#: Two points on one line, on opposite rays, and one on another line.
LINES = Domain([[1, 0], [-1, 0], [0, 1]])
#: Either label on one ray, one on its opposite, one elsewhere: every kind of replacement is among them.
RECORDS = [(0, -1), (0, 1), (1, 1), (2, -1)]
COUNT, EPSILON = Fraction(1, 4), Fraction(3, 4)
COURSE = Course(lines=True, count=COUNT, count_cut=2, least=1, mass=2, buckets=2, cut=3)
SEGMENT = Domain.grid([("x", 0, 1, 2)])
SETTING = Setting(SEGMENT, 2, 2, Fraction(1))
SCHEDULE = Schedule(2, 4, 2, Fraction(1), 2, Fraction(1, 2))


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    total = COUNT + EPSILON
    yield Check(
        "ray-sketch: Alice",
        "count and sketch under 2 choices of coins, 2 records",
        total,
        lambda: _lines(sketch),
    )
    yield Check(
        "ray-sketch: Bob",
        "count and answer to any of 3 hostile sketches, 2 records",
        total,
        lambda: _lines(answer),
    )
    yield Check(
        "net-mechanism: Alice",
        "the selected dataset of 2 records on 2 points",
        SETTING.epsilon,
        lambda: audit_program(dataset, neighbour_pairs(records(SEGMENT), 2), 1),
        tight=False,
    )
    yield Check(
        "mwem: Alice",
        "two rounds of selection and answer, 2 records on 2 points",
        SETTING.epsilon,
        lambda: audit_program(rounds, neighbour_pairs(records(SEGMENT), 2), 4),
        tight=False,
    )
    yield Check(
        "net-mechanism, mwem: Bob",
        "the minimum after any of 3 hostile publications, 2 records",
        SETTING.epsilon,
        lambda: audit_program(minimum, neighbour_pairs(records(SEGMENT), 2), 14),
    )


def _lines(view: Any) -> Audit:
    return audit_program(view, neighbour_pairs(RECORDS, 2), 5)


def _started(runs: Runs, data: Data, name: str) -> tuple[Sketcher, Transcript, tuple[int, ...]]:
    coins = runs.choose(((0, 0), (2, 1)))
    transcript = Transcript({}, [Message("Alice", "public coins", {"coins": list(coins)}, Fraction(0))])
    return Sketcher(name, sample(LINES, data), runs, Budget(COUNT + EPSILON)), transcript, coins


def sketch(data: Data, runs: Runs) -> Hashable:
    """Return the coins, the noisy count of negatives and the noisy bucket sums."""
    party, transcript, coins = _started(runs, data, "Alice")
    count = party.negatives(transcript, COURSE).payload["value"]
    sums = party.sketch(transcript, rays_of(LINES, lines=True), COURSE, EPSILON).payload["buckets"]
    return coins, clamp(count, -1, 3), tuple(clamp(v, -3, 3) for v in sums)


def answer(data: Data, runs: Runs) -> Hashable:
    """Return the hostile coins and sketch, the noisy count of negatives and the noisy magnitude."""
    party, transcript, coins = _started(runs, data, "Bob")
    count = party.negatives(transcript, COURSE).payload["value"]
    y = runs.choose(((0, 0), (3, -3), (-1, 2)))
    transcript.append(Message("Alice", "sketch", {"buckets": list(y)}, Fraction(0)))
    size = sum(abs(v) for v in y)
    told = party.magnitude(transcript, rays_of(LINES, lines=True), COURSE, EPSILON).payload["value"]
    return coins, y, clamp(count, -1, 3), clamp(told, size - 3, size + 3)


def dataset(data: Data, runs: Runs) -> Hashable:
    """Return the published counts of the net mechanism."""
    tester = NetMechanism(SETTING)
    tester.unit = 2
    party = Party("Alice", sample(SEGMENT, data), runs, Budget(SETTING.epsilon))
    transcript = Transcript({})
    play(tester._publish("Alice", transcript), {"Alice": party}, transcript)
    return tuple(transcript.last("synthetic counts").payload["weights"])


def rounds(data: Data, runs: Runs) -> Hashable:
    """Return all selections and answers of two rounds of MWEM; what follows is post-processing.

    An answer enters the next round between 0 and n only, so clamping it there loses nothing.
    """
    party = Party("Alice", sample(SEGMENT, data), runs, Budget(SETTING.epsilon))
    transcript = Transcript({})
    play(learn("Alice", transcript, SCHEDULE, query_signs(SEGMENT), (-1, 1)), {"Alice": party}, transcript)
    return tuple(
        message.payload["labelling"]
        if message.kind == "selection"
        else clamp(message.payload["value"], -1, 3)
        for message in transcript.messages
    )


def minimum(data: Data, runs: Runs) -> Hashable:
    """Return the hostile weights and Bob's noisy minimum."""
    y = runs.choose(((0, 0), (6, -6), (-5, 4)))
    transcript = Transcript({}, [Message("Alice", "synthetic counts", {"weights": list(y)}, Fraction(0))])
    party = Minimiser("Bob", sample(SEGMENT, data), runs, Budget(SETTING.epsilon))
    value = party.minimum(transcript, SETTING, 3).payload["value"]
    middle = 3 * (SETTING.n_alice + SETTING.n_bob) - sum(abs(v) for v in y)
    return y, clamp(value, middle - 8, middle + 8)
