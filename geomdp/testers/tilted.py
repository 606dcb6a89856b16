r"""Histogram testers with better noise: the parties' net counts under an exact field law.

A field law (:class:`geomdp.testers.tilted_law.FieldLaw`) adds integer noise in units of 1/unit of a net
count: sup-tilted noise has unit 1, hat strategies (:mod:`geomdp.testers.hats`) a larger one. Every statistic
is kept as an integer by counting in units of 1/(2 unit) record.

* :class:`OneWayTilted`: one party, the holder, releases its noisy net counts; the other, the answerer,
  releases the noisy minimum over all classifiers, its own optimum, and a joint classifier from spare budget.
  The holder is the party with the larger budget: its field noise decides the resolution.
* :class:`TwoTilted`: both release noisy net counts, one message each, in any order; a third party can judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import ArgumentError, CapacityError, check_epsilon
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_quantile
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers import histogram
from geomdp.testers.base import Finding, Interval, Setting
from geomdp.testers.field_quantiles import FieldCalibration, Quantiles
from geomdp.testers.hats import HatField
from geomdp.testers.histogram_law import Progress, unsolvable
from geomdp.testers.scripted import ScriptedTester
from geomdp.testers.tilted_law import FieldLaw, tilted_field

#: How the answerer divides its budget: minimum, own optimum, joint classifier.
SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


class FieldHolder(Party):
    """The party that releases its net counts under a field law.

    Privacy note. Precondition: the law is epsilon-DP for integer statistics of which one replaced record
    changes the cells by v, |v|_1 <= 2 (proved with each law: :class:`geomdp.privacy.tilt.TiltedLaplace`,
    :class:`geomdp.testers.hats.HatField`). The net counts are such a statistic: a record adds its label to
    one cell. Conclusion: unit * net + noise is epsilon-DP for every sample; so it is after its entries are
    moved to a public bound.
    """

    def field(self, transcript: Transcript, setting: Setting, law: FieldLaw, epsilon: Fraction) -> Message:
        """Return the noisy net counts, (m,) integers in units of 1/unit."""
        self.reserve(epsilon)
        noisy = law.unit * self.sample.net + law.draw(self.sampler, 1)[0]
        payload = {"net": within(noisy, histogram.largest_entry(setting, law.unit))}
        return converse(transcript, self.release("noisy field", payload, epsilon))


class FieldAnswerer(Party):
    """The party that answers a noisy field y, of whatever origin, with scalar releases.

    Privacy note (for any y, also a hostile one; by composition). Entries of y are bounded by public numbers
    before the records are touched (:func:`geomdp.testers.histogram.largest_entry`), so that no sum of y with
    private counts meets a limit and a refusal is a function of y alone. With u the unit and n the records of
    both:

    * W = min_h (u n_holder - <h, y> + 2 u err(h)) + noise = u n - max_h <h, y + u net> + noise. One replaced
      record moves err(h) by at most 1 for every h, hence the minimum by at most 2 u: discrete Laplace noise
      of scale >= 2 u / e costs e.
    * own optimum min_h err(h): moves by at most 1; scale >= 1 / e costs e.
    * joint classifier: permute-and-flip over a public list with scores <h, y + u net>, each of which moves by
      at most 2 u; acceptance scale >= 4 u / e costs e.
    """

    def minimum(self, transcript: Transcript, setting: Setting, unit: int, epsilon: Fraction) -> Message:
        """Return the noisy minimum over all classifiers, in units of 1/(2 unit) record."""
        self.reserve(epsilon)
        agreement, _ = histogram.best_agreement(setting, self._pooled(transcript, setting, unit))
        noise = int(self.sampler.discrete_laplace(noise_scale(2 * unit, epsilon), 1)[0])
        scaled = unit * (setting.n_alice + setting.n_bob) - agreement + noise
        payload = {"scaled": within([scaled], histogram.LARGEST)[0]}
        return converse(transcript, self.release("noisy minimum", payload, epsilon))

    def own(self, transcript: Transcript, setting: Setting, epsilon: Fraction) -> Message:
        """Return the noisy least number of mistakes on this party's own records."""
        self.reserve(epsilon)
        value = histogram.own_optimum(setting, self.sample)
        noise = int(self.sampler.discrete_laplace(noise_scale(1, epsilon), 1)[0])
        payload = {"value": within([value + noise], histogram.LARGEST)[0]}
        return converse(transcript, self.release("own optimum", payload, epsilon))

    def joint_classifier(
        self, transcript: Transcript, setting: Setting, unit: int, epsilon: Fraction
    ) -> Halfspace | Threshold:
        """Release a joint classifier, chosen privately from the public list of all of them."""
        self.reserve(epsilon)
        scores = histogram._scores(setting, self._pooled(transcript, setting, unit))
        chosen = self.sampler.permute_and_flip(scores, noise_scale(4 * unit, epsilon))
        classifier = histogram._listed(setting, chosen)
        weights = [classifier.theta] if isinstance(classifier, Threshold) else list(classifier.weights)
        converse(transcript, self.release("joint classifier", {"weights": weights}, epsilon))
        return classifier

    def _pooled(self, transcript: Transcript, setting: Setting, unit: int) -> NDArray[np.int64]:
        return received_field(transcript.last("noisy field"), setting, unit) + unit * self.sample.net


def field_schema(setting: Setting, epsilon: Fraction, unit: int = 1) -> Schema:
    """Return the public form of a noisy field."""
    entries = {"net": symmetric(setting.domain.m, histogram.largest_entry(setting, unit))}
    return Schema("noisy field", entries, epsilon)


def received_field(message: Message, setting: Setting, unit: int) -> NDArray[np.int64]:
    """Return a noisy field, shape (m,).

    Raises:
        ProtocolError: when it is malformed or has an entry above the public bound; decided from the message
            and public numbers alone.
    """
    bound = histogram.largest_entry(setting, unit)
    return np.array(integers(message, "net", setting.domain.m, bound), dtype=np.int64)


@dataclass(frozen=True)
class Budgets:
    """Each party's whole privacy budget.

    Example:
        >>> Budgets(Fraction(1), Fraction(2)).holder
        'Bob'
    """

    alice: Fraction
    bob: Fraction

    @classmethod
    def of(cls, setting: Setting, epsilon_alice: object = None, epsilon_bob: object = None) -> Budgets:
        """Return the budgets, by default the setting's epsilon for both.

        Raises:
            ArgumentError: unless ``epsilon_alice`` and ``epsilon_bob`` are numbers between 10^-6 and 100.
        """
        return cls(
            setting.epsilon if epsilon_alice is None else check_epsilon(epsilon_alice, "epsilon_alice"),
            setting.epsilon if epsilon_bob is None else check_epsilon(epsilon_bob, "epsilon_bob"),
        )

    def __getitem__(self, name: str) -> Fraction:
        return self.alice if name == "Alice" else self.bob

    @property
    def holder(self) -> str:
        """The party that releases the field: the one with the larger budget."""
        return "Alice" if self.alice >= self.bob else "Bob"

    @property
    def answerer(self) -> str:
        """The other party."""
        return "Bob" if self.holder == "Alice" else "Alice"


def default_law(setting: Setting, epsilon: Fraction, tilt: Fraction | None = None) -> FieldLaw | str:
    """Return hats on large two-feature grids, tilted cells elsewhere, or the reason why there is no law.

    A given tilt asks for tilted cells.
    """
    hats = HatField.default(setting.domain, setting.classes, epsilon) if tilt is None else None
    if hats is None or unsolvable(setting.domain, setting.classes):
        return tilted_field(setting.domain, setting.classes, epsilon, tilt)
    try:
        if hats.tilt:
            _ = hats.noise
    except CapacityError as error:
        return str(error)
    return hats


class FieldTester(ScriptedTester):
    """What the testers with a field law share.

    Args:
        setting: the public setting.
        law: the field law of one party, or the reason why there is none.
        extra: scales of the scalar noises added to the statistic, in the law's units.
        fields: how many parties release a field.
        progress: told the fraction done while a noise table is drawn.
    """

    guarantee = "certified-mc"

    def __init__(
        self,
        setting: Setting,
        law: FieldLaw | str,
        extra: tuple[Fraction, ...],
        fields: int,
        progress: Progress,
    ) -> None:
        super().__init__(setting)
        if isinstance(law, str):
            self.reason = law
            return
        self.law = law
        self.reason = histogram.crowded(setting, min(self.budgets.alice, self.budgets.bob), law.unit)
        if self.reason:
            return
        self.calibration = FieldCalibration(Quantiles(law, extra, fields, progress))
        self._alone = FieldCalibration(Quantiles(law, (), 1, progress))
        self.resolution = self.calibration.resolution(setting.beta, setting.beta, setting.tolerance)
        if self.resolution is None:
            self.reason = "no certified noise quantile: the domain is too large, or beta too small"

    def _cut(self) -> int:
        up = self.calibration.quantiles.single(self.setting.beta)
        return 2 * self.law.unit * self.setting.tolerance + (0 if up is None else up)

    budgets: Budgets

    def opening(self) -> dict[str, object]:
        """Return the public parameters of a run."""
        return {
            **self.facts(),
            "epsilon": {"Alice": str(self.budgets.alice), "Bob": str(self.budgets.bob)},
            "law": self.law.key,
            "cut_scaled": self._cut(),
        }

    def _verdict(self, scaled: int) -> str:
        return "Far" if scaled >= self._cut() else "Match"

    def _most(self, name: str) -> int:
        n = self.setting.n_alice if name == "Alice" else self.setting.n_bob
        return n // 2 if self.setting.complement else n

    def _own_of_field(self, name: str, y: NDArray[np.int64], level: Fraction) -> Interval | None:
        """Return an interval for a party's own optimum from its noisy field alone."""
        setting, unit = self.setting, self.law.unit
        n = setting.n_alice if name == "Alice" else setting.n_bob
        scaled = unit * n - histogram.best_agreement(setting, y)[0]
        return self._alone.interval(scaled, level, self._most(name))


def sure(intervals: dict[str, Interval | None]) -> dict[str, Interval]:
    """Return the intervals that exist."""
    return {name: value for name, value in intervals.items() if value is not None}


class OneWayTilted(FieldTester):
    """One noisy field from the party with the larger budget; noisy scalars from the other.

    Args:
        setting: the public setting.
        tilt: share of the holder's budget that is spent on the supremum; by default by the domain's size.
        law: another field law for the holder, with its whole budget, instead of tilted noise.
        epsilon_alice, epsilon_bob: unequal budgets instead of the setting's.
        progress: told the fraction done while a noise table is drawn.

    Raises:
        ArgumentError: when both ``tilt`` and a law are given.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> setting = Setting(Domain.grid([("x", 0, 1, 8)]), 500, 500, Fraction(1), classes="thresholds")
        >>> OneWayTilted(setting).resolution <= 40
        True
    """

    name = "one-way-tilted"

    def __init__(
        self,
        setting: Setting,
        *,
        tilt: Fraction | None = None,
        law: FieldLaw | None = None,
        epsilon_alice: object = None,
        epsilon_bob: object = None,
        progress: Progress = None,
    ) -> None:
        self.budgets = Budgets.of(setting, epsilon_alice, epsilon_bob)
        if law is not None and tilt is not None:
            raise ArgumentError("tilt", "None when a law is given", f"{tilt}")
        spare = self.budgets[self.budgets.answerer]
        minimum, own, selection = (share * spare for share in SHARES)
        if histogram._list_size(setting) > histogram.MOST_LISTED:
            minimum, selection = minimum + selection, Fraction(0)
        self._shares = (minimum, own, selection)
        field = default_law(setting, self.budgets[self.budgets.holder], tilt) if law is None else law
        unit = 1 if isinstance(field, str) else field.unit
        super().__init__(setting, field, (noise_scale(2 * unit, minimum),), 1, progress)

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return the holder or the answerer."""
        kind = FieldHolder if name == self.budgets.holder else FieldAnswerer
        return kind(name, sample, sampler, Budget(self.budgets[name]))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """The holder's field, then the other party's answers."""
        setting, (minimum, own, selection), unit = self.setting, self._shares, self.law.unit
        first, second = self.budgets.holder, self.budgets.answerer
        whole = self.budgets[first]
        yield Turn(
            first,
            field_schema(setting, whole, unit),
            lambda party: party.field(transcript, setting, self.law, whole),
        )
        message = yield Turn(
            second,
            histogram.scalar_schema("noisy minimum", "scaled", minimum),
            lambda party: party.minimum(transcript, setting, unit, minimum),
        )
        scaled = int(message.payload["scaled"])
        message = yield Turn(
            second,
            histogram.scalar_schema("own optimum", "value", own),
            lambda party: party.own(transcript, setting, own),
        )
        value, classifier = int(message.payload["value"]), None
        if selection:
            message = yield Turn(
                second,
                histogram.classifier_schema(setting, selection),
                lambda party: party.joint_classifier(transcript, setting, unit, selection),
            )
            classifier = histogram.told_classifier(setting, message)

        y = received_field(transcript.last("noisy field"), setting, unit)
        beta = setting.beta
        return Finding(
            verdict=self._verdict(scaled),
            transcript=transcript,
            classifier=classifier,
            opt_interval=self.calibration.interval(scaled, beta, setting.largest_opt),
            party_intervals=sure(
                {first: self._own_of_field(first, y, beta), second: self._own(second, value, beta)}
            ),
            gap_interval=histogram._gap(
                self.calibration.interval(scaled, beta / 3, setting.largest_opt),
                self._own_of_field(first, y, beta / 3),
                self._own(second, value, beta / 3),
            ),
        )

    def _own(self, name: str, value: int, level: Fraction) -> Interval:
        margin = dlap_quantile(level / 2, noise_scale(1, self._shares[1])) - 1
        lower = min(max(value - margin, 0), self._most(name))
        return lower, min(max(value + margin, lower), self._most(name))


class TwoTilted(FieldTester):
    """Both parties release sup-tilted net counts; everything else is post-processing.

    Args:
        setting: the public setting.
        tilt: share of each budget that is spent on the supremum; by default by the domain's size.
        progress: told the fraction done while a noise table is drawn.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> setting = Setting(Domain.grid([("x", 0, 1, 8)]), 500, 500, Fraction(1), classes="thresholds")
        >>> OneWayTilted(setting).resolution <= TwoTilted(setting).resolution
        True
    """

    name = "two-histograms-tilted"

    def __init__(self, setting: Setting, *, tilt: Fraction | None = None, progress: Progress = None) -> None:
        self.budgets = Budgets.of(setting)
        super().__init__(setting, default_law(setting, setting.epsilon, tilt), (), 2, progress)

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return a party that releases its field."""
        return FieldHolder(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Both parties release their fields."""
        setting, beta = self.setting, self.setting.beta
        nets = {}
        for name in PARTIES:
            message = yield Turn(
                name,
                field_schema(setting, setting.epsilon, self.law.unit),
                lambda party: party.field(transcript, setting, self.law, setting.epsilon),
            )
            nets[name] = received_field(message, setting, self.law.unit)
        agreement, classifier = histogram.best_agreement(setting, nets["Alice"] + nets["Bob"])
        scaled = self.law.unit * (setting.n_alice + setting.n_bob) - agreement
        return Finding(
            verdict=self._verdict(scaled),
            transcript=transcript,
            classifier=classifier,
            opt_interval=self.calibration.interval(scaled, beta, setting.largest_opt),
            party_intervals=sure({name: self._own_of_field(name, nets[name], beta) for name in PARTIES}),
            gap_interval=histogram._gap(
                self.calibration.interval(scaled, beta / 3, setting.largest_opt),
                *(self._own_of_field(name, nets[name], beta / 3) for name in PARTIES),
            ),
        )
