"""Audits of field laws (sup-tilted noise, hats) and of the parties that release and answer noisy fields.

A field law's probabilities are c exp(-phi(z)) with a rational phi and a normaliser c that no data can change,
so log ratios are differences of phi: rational numbers, compared with the claim without any exponential.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Threshold
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, ProtocolError
from geomdp.privacy.audit import Audit, neighbour_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.runs import Runs, clamp
from geomdp.privacy.sampler import noise_scale
from geomdp.privacy.tilt import TiltedLaplace
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.audits.check import Check, Data, records, sample
from geomdp.testers.audits.histograms import DOMAIN, FIELDS, SETTING, over_neighbours
from geomdp.testers.base import Setting
from geomdp.testers.hats import HatField
from geomdp.testers.histogram import largest_entry
from geomdp.testers.tilted import SHARES, FieldAnswerer, FieldHolder
from geomdp.testers.tilted_law import FieldLaw, TiltedField

TRIANGLE = Domain([[0, 0, 1], [1, 0, 1], [0, 1, 1]])
LINE = Domain.line(3)
SQUARE = Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)])
#: The unit in which the answerer is audited: whole net counts would hide a factor that is forgotten.
UNIT = 2
#: The largest entry that is accepted where either party has one record.
EDGE = largest_entry(replace(SETTING, n_alice=1, n_bob=1), UNIT)
#: Fields at the edge of the schema, and one beyond it whose sum with one record can exceed 2^53.
EXTREMES = ((EDGE, EDGE), (-EDGE, EDGE), (2**52, 2**52))


def checks() -> Iterator[Check]:
    """Yield the audits of this module."""
    laws: list[tuple[str, str, FieldLaw]] = [
        ("two-histograms-tilted: either party", "3 points of a plane", tilted_law(TRIANGLE, "halfspaces")),
        ("one-way-tilted: holder", "a line of 3 cells", tilted_law(LINE, "thresholds")),
        ("hats: holder", "4 cells, 4 hats", hat_law(Fraction(0))),
        ("hats, tilted: holder", "4 cells, 4 hats", hat_law(Fraction(1, 5))),
    ]
    for name, where, law in laws:
        yield Check(
            name,
            f"one noisy field on {where}, 2 records; exponents, all outputs by the triangle inequality",
            Fraction(1),
            lambda law=law: audit_field(law),  # type: ignore[misc]
        )
    yield Check(
        "one-way-tilted: answerer",
        f"minimum, own optimum and classifier after any of 3 hostile fields, 1 record, unit {UNIT}",
        SETTING.epsilon,
        lambda: over_neighbours(answers, 4 * UNIT + 2, 1),
    )
    yield Check(
        "one-way-tilted: answerer, extreme fields",
        f"minimum and own optimum after any of {len(EXTREMES)} fields at the edge of the schema or beyond it",
        SETTING.epsilon,
        lambda: over_neighbours(lambda d, runs: answers(d, runs, listed=EXTREMES)[:3], 4 * UNIT + 2, 1),
        tight=False,
    )


@lru_cache
def tilted_law(domain: Domain, classes: str) -> TiltedField:
    """Return sup-tilted noise at epsilon = 1 of which 2/5 is spent on the supremum."""
    return TiltedField(domain, classes, Fraction(1), Fraction(2, 5))


@lru_cache
def hat_law(tilt: Fraction) -> HatField:
    """Return cells and 2 x 2 hats at epsilon = 1."""
    return HatField(SQUARE, "halfspaces", Fraction(1), 2, tilt=tilt)


@dataclass(frozen=True)
class _Still:
    """A field law whose noise is zero: what is added to it remains."""

    law: FieldLaw

    @property
    def unit(self) -> int:
        return self.law.unit

    def draw(self, sampler: Any, size: int, progress: Any = None) -> NDArray[np.int64]:
        del sampler, progress
        return np.zeros((size, self.law.domain.m), dtype=np.int64)


def released_centre(law: FieldLaw, data: Data, kind: type[FieldHolder] = FieldHolder) -> NDArray[np.int64]:
    """Return what the holder sends when its noise is zero."""
    still: Any = _Still(law)
    party = kind("Alice", sample(law.domain, data), Runs(1), Budget(1))
    setting = Setting(law.domain, len(data), len(data), Fraction(1), classes=law.classes)
    message = party.field(Transcript({}), setting, still, Fraction(1))
    return np.array(message.payload["net"], dtype=np.int64)


class Exponent:
    """The rational exponent phi of a field law, read from the objects that draw it.

    Attributes:
        matrix: (N, m) integer queries of the cells.
    """

    def __init__(self, law: FieldLaw) -> None:
        noise = (
            law.noise if isinstance(law, TiltedField) or (isinstance(law, HatField) and law.tilt) else None
        )
        self.law, self.tilt = law, noise
        if isinstance(law, HatField):
            self.matrix = np.vstack([law.unit * np.eye(law.domain.m, dtype=np.int64), law.hats])
            self.scale = noise.scale if noise else noise_scale(2 * law.stretch, law.epsilon)
        else:
            self.matrix = np.eye(law.domain.m, dtype=np.int64)
            self.scale = noise.scale if noise else Fraction(0)

    def decode(self, z: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the fields (B, m) that query noises (B, N) become."""
        if not isinstance(self.law, HatField):
            return z
        m = self.law.domain.m
        return self.law.decode(z[:, :m], z[:, m:])

    def value(self, z: NDArray[np.int64]) -> list[Fraction]:
        """Return phi of query noises (B, N)."""
        size = [int(s) / self.scale for s in np.abs(z).sum(axis=1)]
        if self.tilt is None:
            return size
        tops = suprema(self.tilt, self.decode(z))
        unit, rate = self.tilt.unit, self.tilt.rate
        return [a + rate * -(-int(top) // unit) for a, top in zip(size, tops, strict=True)]


def suprema(noise: TiltedLaplace, fields: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return M of every field (B, m), as the sampler computes it."""
    from geomdp.privacy._tilt_kernels import spans

    if noise.supremum is not None:
        return noise.supremum(fields)
    tops = np.zeros(len(fields), dtype=np.int64)
    spans(np.ascontiguousarray(fields), noise.orders, np.full(len(fields), 2**40), tops)
    return tops


def audit_field(law: FieldLaw, exponent: Exponent | None = None) -> Audit:
    """Audit a holder's message under a field law, over all neighbouring pairs of two records.

    Proof note. Let v be the change of the net counts and Q the queries. The output has probability
    c exp(-phi(z)), z its query noise, before and c exp(-phi(z - Q v)) after, provided that decoding commutes
    with the shift (checked on every z that is tried). phi is a norm of z, up to the rounding up of M/unit,
    hence phi(z - Q v) - phi(z) <= phi(-Q v): the upper bound. The lower bound is the largest difference on a
    window; at z = 0 it is phi(-Q v) itself.
    """
    law_of_noise = exponent or Exponent(law)
    window = _window(law_of_noise)
    base = law_of_noise.value(window)
    seen: dict[bytes, tuple[Fraction, Fraction]] = {}
    lower = upper = Fraction(0)
    witness, count = None, 0
    for data, neighbour in neighbour_pairs(records(law.domain), 2):
        count += 1
        move, left = np.divmod(released_centre(law, neighbour) - released_centre(law, data), law.unit)
        if left.any():
            raise ArithmeticError("A holder's message must move by multiples of the unit.")
        if move.tobytes() not in seen:
            shift = law_of_noise.matrix @ move
            moved = window - shift
            if (law_of_noise.decode(moved) != law_of_noise.decode(window) - law.unit * move).any():
                raise ArithmeticError("Decoding must commute with integer shifts of the counts.")
            found = max(b - a for a, b in zip(base, law_of_noise.value(moved), strict=True))
            seen[move.tobytes()] = found, max(found, law_of_noise.value(-shift[None, :])[0])
        found, most = seen[move.tobytes()]
        if found > lower:
            lower, witness = found, (data, neighbour, "noise on a window")
        upper = max(upper, most)
    return Audit(_exp(lower).lo, _exp(upper).hi, witness, count)


def _window(exponent: Exponent) -> NDArray[np.int64]:
    """Return all small noises of few queries; of many, zero and 100 others, the same in every run."""
    size = exponent.matrix.shape[0]
    if size <= 4:
        return np.array(list(product(range(-2, 3), repeat=size)), dtype=np.int64)
    others = np.random.default_rng(0).integers(-300, 301, (100, size))
    return np.vstack([np.zeros((1, size), dtype=np.int64), others]).astype(np.int64)


def _exp(exponent: Fraction) -> Interval:
    return Interval.of(1) / Interval.exp_neg(exponent, 192)


def answers(
    data: Data,
    runs: Runs,
    kind: type[FieldAnswerer] = FieldAnswerer,
    listed: Sequence[tuple[int, int]] = FIELDS,
) -> tuple[Hashable, ...]:
    """Return a hostile field and the three answers to it, or the refusal, with the tester's own shares."""
    y, unit, n = runs.choose(listed), UNIT, len(data)
    setting = (
        SETTING if n == SETTING.n_bob else type(SETTING)(DOMAIN, n, n, Fraction(1), classes="thresholds")
    )
    transcript = Transcript({}, [Message("Alice", "noisy field", {"net": list(y)}, Fraction(0))])
    party = kind("Bob", sample(DOMAIN, data), runs, Budget(setting.epsilon))
    minimum, own, selection = (share * setting.epsilon for share in SHARES)
    try:
        least = party.minimum(transcript, setting, unit, minimum).payload["scaled"]
    except (ArgumentError, ProtocolError) as error:
        return y, type(error).__name__
    value = party.own(transcript, setting, own).payload["value"]
    chosen = party.joint_classifier(transcript, setting, unit, selection)
    most = max(sum(-v for v in y[:t]) + sum(y[t:]) for t in range(DOMAIN.m + 1))
    middle = unit * (setting.n_alice + setting.n_bob) - most
    theta = chosen.theta if isinstance(chosen, Threshold) else -1
    edge = unit * n + 1
    return y, clamp(least, middle - edge, middle + edge), clamp(value, -1, n + 1), theta
