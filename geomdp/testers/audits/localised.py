"""Audits of the localised protocol: both parties, for any candidates and any counts of the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from geomdp.privacy.budget import Budget
from geomdp.privacy.runs import Runs, clamp
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits.check import Check, Data, sample
from geomdp.testers.audits.histograms import DOMAIN, SETTING, over_neighbours
from geomdp.testers.localisation import Localisation, pooled
from geomdp.testers.localised import SHARES, PoolHolder, Scout


def _found(*signs: tuple[int, ...]) -> Localisation:
    pools, patterns = pooled(np.array(signs, dtype=np.int8))
    return Localisation(len(signs), pools, patterns, 5, 3)


#: Candidates that the coarse counts may leave: all thresholds, a strip, a single one, and too many to list.
FOUND = (
    _found((1, 1), (-1, 1), (-1, -1)),
    _found((-1, 1), (-1, -1)),
    _found((-1, 1)),
    Localisation(-1, None, None, 5, 3),
)


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    yield Check(
        "localised: Bob",
        "coarse counts, then the minimum over any of 4 candidate sets after any of 2 answers, 1 record",
        SETTING.epsilon,
        lambda: over_neighbours(scout, 4, 1),
    )
    yield Check(
        "localised: Alice",
        "pooled counts for any of 3 candidate sets, 2 records",
        SETTING.epsilon,
        lambda: over_neighbours(holder, 5, 2),
    )


def holder(data: Data, runs: Runs) -> Hashable:
    """Return which candidates there are, and Alice's pooled counts."""
    found = runs.choose(FOUND[:3])
    party = PoolHolder("Alice", sample(DOMAIN, data), runs, Budget(SETTING.epsilon))
    message = party.pools(Transcript({}), SETTING, found, SETTING.epsilon)
    return found.candidates, *(clamp(v, -3, 3) for v in message.payload["net"])


def scout(
    data: Data, runs: Runs, kind: type[Scout] = Scout, listed: Sequence[Localisation] = FOUND
) -> Hashable:
    """Return Bob's coarse counts, the candidates and the answer (both free), and his noisy minimum.

    In a run the candidates follow from the coarse counts. Letting the counterpart choose them is worse for
    Bob, so it covers every way of computing them.
    """
    first, second = (share * SETTING.epsilon for share in SHARES)
    transcript = Transcript({})
    bob = kind("Bob", sample(DOMAIN, data), runs, Budget(SETTING.epsilon))
    coarse = bob.coarse(transcript, SETTING, first).payload["net"]
    found = runs.choose(listed)
    answer = runs.choose(((0, 0), (2, -3)))
    pools = found.pools
    width = DOMAIN.m if pools is None else len(pools)
    label = "noisy field" if pools is None else "pooled counts"
    transcript.append(Message("Alice", label, {"net": list(answer[:width])}, Fraction(0)))
    if pools is None or found.patterns is None:
        value = bob.minimum(transcript, SETTING, 1, second).payload["scaled"]
        best = max(sum(-v for v in answer[:t]) + sum(answer[t:]) for t in range(DOMAIN.m + 1))
    else:
        value = bob.local_minimum(transcript, SETTING, found, second).payload["scaled"]
        best = int((found.patterns.astype(np.int64) @ np.array(answer[:width])).max())
    middle = SETTING.n_alice + SETTING.n_bob - best
    return (
        tuple(clamp(v, -2, 2) for v in coarse),
        found.candidates,
        answer,
        clamp(value, middle - 2, middle + 2),
    )
