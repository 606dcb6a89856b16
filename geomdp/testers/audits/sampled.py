"""Statistical audits of mechanisms whose laws are too large to list, by seeded runs of the testers' code.

They prove no claim. Each gives a lower bound on the loss, which must not pass the claim for the right code,
and must pass it for the same code with half the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.runs import clamp
from geomdp.privacy.sampler import SimSampler, noise_scale
from geomdp.privacy.sparse import sparse_histogram
from geomdp.privacy.statistical import Evidence, evidence
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.hats import HatField
from geomdp.testers.interior_point import PLACE, InteriorParty
from geomdp.testers.interior_point_plan import calibrate
from geomdp.testers.tilted import FieldHolder
from geomdp.testers.tilted_law import FieldLaw, TiltedField

ONE = Fraction(1)
GRID = Domain.grid([("x", 0, 1, 8), ("y", 0, 1, 8)])
LINE = Domain.line(2**64)
#: (is it the neighbour, sampler, number of runs, factor on the budget that the noise is made for) -> views.
Views = Callable[[bool, SimSampler, int, int], list[Hashable]]


@dataclass(frozen=True)
class Sampled:
    """A named statistical audit.

    Attributes:
        name, about: as in :class:`geomdp.testers.audits.check.Check`.
        epsilon: the claim.
        views: runs the mechanism.
    """

    name: str
    about: str
    epsilon: Fraction
    views: Views

    def evidence(self, *, halved: bool = False, draws: int = 10_000, seed: int = 0) -> Evidence:
        """Return what `draws` runs on each of two neighbours show; `halved` plants half the noise."""
        first, second = SimSampler(seed).spawn(2)
        factor = 2 if halved else 1
        return evidence(self.views(False, first, draws, factor), self.views(True, second, draws, factor))


def _field(law_of: Callable[[Fraction], FieldLaw], step: int) -> Views:
    """Return views of one cell of a holder's noisy field, in steps; the neighbour flips a label there."""

    def views(neighbour: bool, sampler: SimSampler, draws: int, factor: int) -> list[Hashable]:
        law = law_of(factor * ONE)
        cells = [27] * 5 + [9] * 5
        data = Sample.from_cells(GRID, cells, [-1 if neighbour else 1] + [1] * 9)
        centre = _centre(law, data)[27]
        noisy = (centre + law.draw(sampler, draws)[:, 27]) // step
        return [clamp(v, -6, 8) for v in noisy]

    return views


class _Zero:
    """A field law without noise, to see what a holder adds noise to."""

    def __init__(self, law: FieldLaw) -> None:
        self.unit, self.domain = law.unit, law.domain

    def draw(self, sampler: Any, size: int) -> NDArray[np.int64]:
        del sampler
        return np.zeros((size, self.domain.m), dtype=np.int64)


def _centre(law: FieldLaw, data: Sample) -> NDArray[np.int64]:
    still: Any = _Zero(law)
    party = FieldHolder("Alice", data, SimSampler(0), Budget(ONE))
    setting = Setting(law.domain, data.n, data.n, ONE, classes=law.classes)
    return np.array(party.field(Transcript({}), setting, still, ONE).payload["net"], dtype=np.int64)


@lru_cache
def _tilted(epsilon: Fraction) -> FieldLaw:
    return TiltedField(GRID, "halfspaces", epsilon, Fraction(1, 10))


@lru_cache
def _hats(epsilon: Fraction) -> FieldLaw:
    return HatField(GRID, "halfspaces", epsilon, 4)


def _scan(neighbour: bool, sampler: SimSampler, draws: int, factor: int) -> list[Hashable]:
    """Return views of a mixed party's scan and count among 2^64 places."""
    rules = calibrate(2**64, factor * ONE, Fraction(1, 10), 0, 2)
    assert rules is not None  # noqa: S101 - such budgets are calibrated
    high = int(rules.crossing.start)
    ranks = [10] * high + [9] * 20 + [8] * 4
    labels = [-1] * (high + 20) + [1] * 4
    if neighbour:
        ranks[0] = 9
    data, out = Sample.from_cells(LINE, ranks, labels), []
    for _ in range(draws):
        party = InteriorParty("Alice", data, sampler, Budget(factor * ONE))
        transcript = Transcript({}, [Message("Bob", PLACE, {"theta": [2**63]}, Fraction(0))])
        theta = int(party.scan(transcript, rules).payload["theta"][0])
        count = int(party.count(transcript, rules).payload["count"][0])
        out.append((clamp(theta, 9, 12), clamp(count, 3, 6)))
    return list(out)


def _sparse(neighbour: bool, sampler: SimSampler, draws: int, factor: int) -> list[Hashable]:
    """Return views of two buckets of a sparse histogram; a record moves between them."""
    counts = {5: 11, 7: 10} if neighbour else {5: 10, 7: 11}
    scale = noise_scale(2, factor * ONE)
    out: list[Hashable] = []
    for _ in range(draws):
        released = sparse_histogram(counts, 64, 9, scale, sampler)
        out.append(tuple(clamp(released.get(bucket, 8), 8, 13) for bucket in (5, 7)))
    return out


def _grouped(neighbour: bool, sampler: SimSampler, draws: int, factor: int) -> list[Hashable]:
    """Return views of a selection among 2^70 candidates; a record moves two scores in opposite directions."""
    sizes, scores = [1, 1, 2**70], ([94, 97, 0] if neighbour else [95, 96, 0])
    scale = noise_scale(2, factor * ONE)
    return [sampler.permute_and_flip_groups(sizes, scores, scale)[0] for _ in range(draws)]


#: The statistical audits by name.
SAMPLED: dict[str, Sampled] = {
    check.name: check
    for check in (
        Sampled("tilted field", "one cell of 64", ONE, _field(_tilted, 1)),
        Sampled("hats", "one cell of 64, 16 hats", ONE, _field(_hats, 100)),
        Sampled("interior-point, mixed", "scan and count of 2^64 places", ONE, _scan),
        Sampled("sparse histogram", "two buckets of 64, cut at 9", ONE, _sparse),
        Sampled("grouped selection", "2^70 candidates", ONE, _grouped),
    )
}
