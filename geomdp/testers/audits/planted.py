"""Planted bugs: the code as it is, but for one mistake each, so that an audit that never fails is noticed.

Each bug is a natural one. It is planted into the party or the sampler that the audit of the right code uses,
and audited by the same function.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.privacy.audit import Audit, neighbour_pairs
from geomdp.privacy.runs import Runs, audit_program, clamp
from geomdp.privacy.sampler import noise_scale
from geomdp.protocol.party import integers
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import histogram
from geomdp.testers.audits import elimination, fields, histograms, interior_point, localised, mechanisms
from geomdp.testers.audits.check import Check, Data
from geomdp.testers.base import Setting
from geomdp.testers.elimination_rounds import Round, State
from geomdp.testers.elimination_turns import after_bottoms
from geomdp.testers.histogram import HistogramParty, Minimiser
from geomdp.testers.interior_point import InteriorParty
from geomdp.testers.interior_point_plan import Calibration
from geomdp.testers.localised import Scout
from geomdp.testers.tilted import FieldAnswerer

ONE = Fraction(1)
#: The two labels of one cell: enough to refute a claim.
FLIP = [(0, -1), (0, 1)]
#: A field that is exactly at the limit of a sample's size: the label of one record takes it beyond.
BRINK = (2**52, 2**52)


def checks() -> Iterator[Check]:
    """Yield the planted bugs, each with the claim of the code that it was planted into."""
    yield _bug(
        "noise scale off by two: histogram",
        "sensitivity of net counts taken as 1",
        lambda: histograms.over_neighbours(lambda d, runs: histograms.histogram(d, halved(runs)), 5),
    )
    yield _bug(
        "noise scale off by two: selection",
        "permute-and-flip at scale 1/epsilon",
        lambda: mechanisms.over_places(lambda d, runs: mechanisms.flip(d, halved(runs)), 1),
    )
    yield _bug(
        "tilt counted twice",
        "rate b epsilon in place of half of it",
        lambda: fields.audit_field(fields.tilted_law(fields.LINE, "thresholds"), _steep()),
    )
    yield _bug(
        "unit forgotten",
        "the minimum's noise fits half-records, whatever the unit",
        lambda: histograms.over_neighbours(
            lambda d, runs: fields.answers(d, runs, Forgetful, [(-3, 4)]), 4 * fields.UNIT + 2, 1, listed=FLIP
        ),
    )
    yield _bug(
        "odd block size",
        "depths (k+1)/2 - count at k = 3: one record moves two of them",
        lambda: mechanisms.audit_depth(3),
    )
    yield _bug(
        "bottom's cost ignored",
        "a round that ends in bottom is not charged",
        lambda: bottoms(free=True),
        claim=Fraction(3, 2),
    )
    yield _bug(
        "retry not charged",
        "after two bottoms the round is repeated with the budgets from before it",
        lambda: Amnesia("Alice", elimination.LONG_SMALL).audit(),
        claim=elimination.LONG_SMALL.epsilon,
    )
    yield _bug(
        "budget counted once",
        "the coarse counts and the minimum each take the whole budget",
        lambda: histograms.over_neighbours(
            lambda d, runs: localised.scout(d, runs, Spender, localised.FOUND[:1]), 4, 1, listed=FLIP
        ),
    )
    yield _bug(
        "count given the whole budget again",
        "the mixed party's count calibrated to epsilon after a scan",
        lambda: interior_point.audit(
            2, ("scan", "place", "count"), [(2, -1), (2, 1)], InteriorParty, _greedy()
        ),
        claim=interior_point.EPSILON,
    )
    yield _bug(
        "menu depends on data",
        "only classifiers without a mistake are candidates",
        lambda: histograms.over_neighbours(
            lambda d, runs: histograms.answers(d, runs, Choosy), 5, listed=FLIP
        ),
    )
    yield _bug(
        "noise reused",
        "one draw serves the minimum and the own optimum",
        lambda: histograms.over_neighbours(lambda d, runs: histograms.answers(d, reused(runs), Minimiser), 5),
    )
    yield _bug(
        "limit applied to a private sum",
        "a field is refused if it and the own counts together exceed a limit",
        lambda: histograms.over_neighbours(
            lambda d, runs: fields.answers(d, runs, Weigher, [BRINK]), 4 * fields.UNIT + 2, 1, listed=FLIP
        ),
    )
    yield _bug(
        "early exit on private data",
        "a party that no classifier fits sends nothing",
        lambda: histograms.over_neighbours(lambda d, runs: histograms.histogram(d, runs, Quitter), 5),
    )


def _bug(name: str, what: str, audit: Any, claim: Fraction = ONE) -> Check:
    return Check(name, what, claim, audit, bug=what)


class _Proxy:
    """A sampler that passes most requests on."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)


class _Halved(_Proxy):
    """Noise of half the scale that was asked for."""

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Draw at half the scale."""
        return self._runs.discrete_laplace(scale / 2, size)

    def permute_and_flip(self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction) -> int:
        """Select at half the scale."""
        return self._runs.permute_and_flip(scores, scale / 2)


class _Reused(_Proxy):
    """Noise that is drawn once."""

    kept: NDArray[np.int64] | None = None

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Return the first noise again, at whatever scale it was drawn."""
        if self.kept is None:
            self.kept = self._runs.discrete_laplace(scale, size)
        return self.kept


def halved(runs: Runs) -> Any:
    """Return a sampler with half the noise."""
    return _Halved(runs)


def reused(runs: Runs) -> Any:
    """Return a sampler that draws additive noise once."""
    return _Reused(runs)


class _Steep(fields.Exponent):
    """A sup-tilted law whose rate is doubled."""

    def value(self, z: NDArray[np.int64]) -> list[Fraction]:
        """Return the exponent at twice the rate."""
        assert self.tilt is not None  # noqa: S101 - only planted into tilted laws
        extra = fields.suprema(self.tilt, self.decode(z))
        right = super().value(z)
        return [phi + self.tilt.rate * int(top) for phi, top in zip(right, extra, strict=True)]


def _steep() -> fields.Exponent:
    return _Steep(fields.tilted_law(fields.LINE, "thresholds"))


class Forgetful(FieldAnswerer):
    """Scales the minimum's noise for unit 1."""

    def minimum(self, transcript: Transcript, setting: Setting, unit: int, epsilon: Fraction) -> Message:
        """Return the right statistic with noise of scale 2 / epsilon."""
        self.reserve(epsilon)
        agreement, _ = histogram.best_agreement(setting, self._pooled(transcript, setting, unit))
        noise = int(self.sampler.discrete_laplace(noise_scale(2, epsilon), 1)[0])
        scaled = unit * (setting.n_alice + setting.n_bob) - agreement + noise
        return self.release("noisy minimum", {"scaled": scaled}, epsilon)


class Weigher(FieldAnswerer):
    """Accepts any field of moderate entries, and lets the sum with its own counts run into a limit."""

    def _pooled(self, transcript: Transcript, setting: Setting, unit: int) -> NDArray[np.int64]:
        """Bound the entries, but by a number that leaves no room for the own counts."""
        told = integers(transcript.last("noisy field"), "net", setting.domain.m, 2**53)
        return np.array(told, dtype=np.int64) + unit * self.sample.net


class Amnesia(elimination.Protocol):
    """Repeats a round as if its two bottoms had been free; the party goes by these public books."""

    def after_bottoms(self, step: Round, before: State, state: State) -> State | None:
        """Take the budgets from before the round."""
        del state
        return after_bottoms(step, before)


class Spender(Scout):
    """Takes a fresh budget for the second message."""

    def local_minimum(self, transcript: Any, setting: Any, found: Any, epsilon: Fraction) -> Message:
        """Answer as if nothing had been spent."""
        del epsilon
        self.budget = type(self.budget)(setting.epsilon)
        return super().local_minimum(transcript, setting, found, setting.epsilon)


class Choosy(Minimiser):
    """Selects among the classifiers that make no mistake on its own records, if there are any."""

    def joint_classifier(
        self, transcript: Transcript, setting: Setting, epsilon: Fraction
    ) -> Halfspace | Threshold:
        """Select from a list that the records decide."""
        self.reserve(epsilon)
        v = histogram.received(transcript, setting) + self.sample.net
        scores = histogram._scores(setting, v)
        fits = [t for t in range(len(scores)) if not Threshold(t).mistakes(self.sample)]
        menu = fits or list(range(len(scores)))
        chosen = self.sampler.permute_and_flip([int(scores[t]) for t in menu], noise_scale(4, epsilon))
        return Threshold(menu[chosen])


class Quitter(HistogramParty):
    """Sends an empty histogram if no classifier fits its own records."""

    def histogram(self, transcript: Transcript, setting: Setting) -> Message:
        """Look at the records before anything is drawn."""
        if histogram.own_optimum(setting, self.sample):
            return self.release("noisy histogram", {"net": []}, setting.epsilon)
        return super().histogram(transcript, setting)


def _greedy() -> Calibration:
    return replace(interior_point.rules(2), count_epsilon=interior_point.EPSILON)


def bottoms(free: bool) -> Audit:
    """Audit two selections of the elimination's kind after a bottom that is charged, or not.

    The party may offer a member at loss 1/2 or bottom at loss 1/2 in the first round; what is left of 3/2
    pays for the second, a noisy count. With a free bottom the count takes 3/2 after it.
    """

    def program(data: Data, runs: Runs) -> Hashable:
        wrong = sum(y < 0 for _, y in data)
        first = runs.permute_and_flip([1 - wrong, 1], noise_scale(2, ONE))
        charged = Fraction(1, 2) if first else ONE
        left = Fraction(3, 2) - (Fraction(0) if first and free else charged)
        noise = runs.discrete_laplace(noise_scale(1, left), 1)
        return first, clamp(wrong + int(noise[0]), -1, len(data) + 1)

    return audit_program(program, neighbour_pairs([(0, -1), (0, 1)], 1), 3)
