r"""Histogram testers: noisy net counts, and opt_H of the noisy counts as post-processing.

For a party P let net_P(x) = #(+1 records at x) - #(-1 records at x). A classifier h: X -> {-1, +1} errs on
err_P(h) = (n_P - <h, net_P>) / 2 of P's records, so one noisy copy of net_P estimates the mistakes of every
classifier at once, without bias.

* :class:`TwoHistograms`: both parties release noisy nets (one message each, in any order).
* :class:`OneWay`: Alice releases hers; Bob answers with the noisy minimum over all classifiers. Half of
  the field noise is gone, so the resolution is better by about the square root of two.

Source: the finite-domain setting of the paper (Section 4); neither tester is in it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Integer, Integers, Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Finding, Interval, Setting
from geomdp.testers.histogram_law import Calibration, FieldNoise, Progress, class_count, unsolvable
from geomdp.testers.scripted import ScriptedTester

if TYPE_CHECKING:
    from geomdp.geometry.arrangement import Dichotomies

#: The joint classifier is selected privately from an explicit list only up to this many list entries.
MOST_LISTED = 50_000_000
#: Largest scalar, and largest weight of a classifier, that is accepted from a counterpart.
LARGEST, LARGEST_WEIGHT = 2**60, 2**512
#: What is said of domains that hold x and -x, like those of hard instances, and are too large to solve.
INSTEAD = "; lp_gadgets.CertifiedHistograms needs a certified interval only"
#: How Bob divides his budget in the one-way protocol: minimum, own optimum, joint classifier.
SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))


def largest_entry(setting: Setting, unit: int = 1) -> int:
    """Return the largest |y_x| that is accepted in a noisy field of net counts in units of 1/unit.

    With E this number, two fields and the records of both parties add up to at most
    2 m E + unit (n_A + n_B) <= 2^52. A sum of a foreign field with any private counts of the public number of
    records therefore never meets a limit (samples hold up to 2^53 records, weights up to 2^61): whether a
    field is accepted depends on the field and public numbers alone.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> line = Setting(Domain.line(4), 10, 20, Fraction(1), classes="thresholds")
        >>> 2 * 4 * largest_entry(line, 3) + 3 * 30 <= 2**52
        True
    """
    return max(0, 2**52 - unit * (setting.n_alice + setting.n_bob)) // (2 * setting.domain.m)


def crowded(setting: Setting, epsilon: Fraction, unit: int = 1) -> str:
    """Return why own noisy counts might not fit :func:`largest_entry`, or "".

    Own counts have at most n records in a cell. The room for noise is 2^10 unit / epsilon, hundreds of noise
    scales; beyond it an entry is moved to the bound, which happens with probability below e^-100.
    """
    n = max(setting.n_alice, setting.n_bob)
    if unit * n + 2**10 * unit / epsilon <= largest_entry(setting, unit):
        return ""
    return "sums of noisy counts would exceed 2^52: too many records or cells, or epsilon too small"


def received(transcript: Transcript, setting: Setting) -> NDArray[np.int64]:
    """Return the latest noisy histogram, shape (m,).

    Raises:
        ProtocolError: when it is malformed or has an entry above :func:`largest_entry`; decided from the
            message and public numbers alone.
    """
    message = transcript.last("noisy histogram")
    return np.array(integers(message, "net", setting.domain.m, largest_entry(setting)), dtype=np.int64)


def best_agreement(setting: Setting, v: NDArray[np.int64]) -> tuple[int, Halfspace | Threshold]:
    """Return max over the class of <h, v> for an integer field v of shape (m,), and a maximiser.

    This is opt_H of a weighted sample: cell x holds |v_x| records labelled sign(v_x), and
    <h, v> = sum |v| - 2 * (mistakes of h on it).
    """
    total = int(np.abs(v).sum())
    if setting.classes == "thresholds":
        from geomdp.opt.threshold import opt_threshold

        result = opt_threshold(weighted(setting, v))
        return total - 2 * result.upper, result.classifier
    from geomdp.opt.halfspace import least_mistakes

    wrong, weights = least_mistakes(setting.domain.points, np.maximum(v, 0), np.maximum(-v, 0))
    return total - 2 * wrong, Halfspace.of(weights)


def weighted(setting: Setting, v: NDArray[np.int64]) -> Sample:
    """Return the sample that holds |v_x| records labelled sign(v_x) at each cell x."""
    return Sample.from_counts(setting.domain, np.maximum(v, 0), np.maximum(-v, 0))


def own_optimum(setting: Setting, sample: Sample) -> int:
    """Return the least number of mistakes of the class on one sample."""
    return (sample.n - best_agreement(setting, sample.net)[0]) // 2


class HistogramParty(Party):
    """A party that releases its noisy net counts.

    Privacy note. Precondition: net is a vector of integer cell counts. Replacing one record lowers one
    cell's net by its label and raises one cell's net by a label: the L1 norm of the change is at most 2.
    Adding independent discrete Laplace noise of scale >= 2 / epsilon to each cell therefore costs at most
    epsilon (the log-pmf is 1/scale-Lipschitz in L1). Conclusion: the message is epsilon-DP for every sample.
    """

    def histogram(self, transcript: Transcript, setting: Setting) -> Message:
        """Return the noisy histogram, shape (m,)."""
        self.reserve(setting.epsilon)
        noise = self.sampler.discrete_laplace(noise_scale(2, setting.epsilon), setting.domain.m)
        noisy = within(self.sample.net + noise, largest_entry(setting))
        return converse(transcript, self.release("noisy histogram", {"net": noisy}, setting.epsilon))


class Minimiser(Party):
    """Bob in the one-way protocol: he answers Alice's noisy histogram y with scalar releases.

    Privacy note (for any y, also one that Alice chose to harm him; all three by composition). Entries of y
    are bounded by public numbers before Bob's records are touched (:func:`largest_entry`), so that no sum
    overflows and a refusal is a function of y alone:

    * 2V = min_h (n_A - <h, y> + 2 err_B(h)) + noise. One replaced record moves err_B(h) by at most 1 for
      every h, hence the minimum by at most 2: discrete Laplace noise of scale >= 2 / e costs e.
    * own optimum min_h err_B(h): moves by at most 1; scale >= 1 / e costs e.
    * joint classifier: permute-and-flip over a public list with scores <h, y + net_B>, each of which moves
      by at most 2; acceptance scale >= 2 * 2 / e costs e.
    """

    def minimum(self, transcript: Transcript, setting: Setting, epsilon: Fraction) -> Message:
        """Return the doubled noisy minimum over all classifiers."""
        self.reserve(epsilon)
        field = self._field(transcript, setting)
        doubled = setting.n_alice + setting.n_bob - best_agreement(setting, field)[0]
        noise = int(self.sampler.discrete_laplace(noise_scale(2, epsilon), 1)[0])
        payload = {"doubled": within([doubled + noise], LARGEST)[0]}
        return converse(transcript, self.release("noisy minimum", payload, epsilon))

    def own(self, transcript: Transcript, setting: Setting, epsilon: Fraction) -> Message:
        """Return the noisy least number of mistakes on Bob's own records."""
        self.reserve(epsilon)
        value = own_optimum(setting, self.sample)
        noise = int(self.sampler.discrete_laplace(noise_scale(1, epsilon), 1)[0])
        payload = {"value": within([value + noise], LARGEST)[0]}
        return converse(transcript, self.release("own optimum", payload, epsilon))

    def joint_classifier(
        self, transcript: Transcript, setting: Setting, epsilon: Fraction
    ) -> Halfspace | Threshold:
        """Release a joint classifier, chosen privately from the public list of all of them."""
        self.reserve(epsilon)
        scores = _scores(setting, self._field(transcript, setting))
        chosen = self.sampler.permute_and_flip(scores, noise_scale(4, epsilon))
        classifier = _listed(setting, chosen)
        weights = [classifier.theta] if isinstance(classifier, Threshold) else list(classifier.weights)
        converse(transcript, self.release("joint classifier", {"weights": weights}, epsilon))
        return classifier

    def _field(self, transcript: Transcript, setting: Setting) -> NDArray[np.int64]:
        return received(transcript, setting) + self.sample.net


def histogram_schema(setting: Setting) -> Schema:
    """Return the public form of a noisy histogram."""
    entries = {"net": symmetric(setting.domain.m, largest_entry(setting))}
    return Schema("noisy histogram", entries, setting.epsilon)


def scalar_schema(kind: str, key: str, epsilon: Fraction) -> Schema:
    """Return the public form of one noisy number."""
    return Schema(kind, {key: Integer(-LARGEST, LARGEST)}, epsilon)


def classifier_schema(setting: Setting, epsilon: Fraction) -> Schema:
    """Return the public form of a joint classifier; any integer weights name a halfspace."""
    entry = (
        Integers(1, 0, setting.domain.m)
        if setting.classes == "thresholds"
        else symmetric(setting.domain.d, LARGEST_WEIGHT)
    )
    return Schema("joint classifier", {"weights": entry}, epsilon)


def told_classifier(setting: Setting, message: Message) -> Halfspace | Threshold:
    """Return the joint classifier of a message."""
    weights = message.payload["weights"]
    return Threshold(weights[0]) if setting.classes == "thresholds" else Halfspace.of(weights)


def _scores(setting: Setting, v: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return <h, v> for every listed classifier: thresholds 0..m, or one halfspace per dichotomy."""
    if setting.classes == "thresholds":
        before = np.concatenate([[0], np.cumsum(v)])
        return np.asarray(before[-1] - 2 * before, dtype=np.int64)
    wrong = _enumerated(setting.domain).mistakes(weighted(setting, v))
    return np.asarray(int(np.abs(v).sum()) - 2 * wrong, dtype=np.int64)


def _listed(setting: Setting, index: int) -> Halfspace | Threshold:
    if setting.classes == "thresholds":
        return Threshold(index)
    return Halfspace.of(_enumerated(setting.domain).weights[index])


@lru_cache(maxsize=2)
def _enumerated(domain: Domain) -> Dichotomies:
    from geomdp.geometry.arrangement import dichotomies

    return dichotomies(domain)


class _HistogramTester(ScriptedTester):
    """What the two histogram testers share: a calibration, and the reason why there is none."""

    def __init__(self, setting: Setting, calibration: Calibration) -> None:
        super().__init__(setting)
        self.calibration = calibration
        self.guarantee = calibration.name
        self.reason = unsolvable(setting.domain, setting.classes)
        if self.reason:
            if setting.classes == "halfspaces" and not setting.domain.pointed:
                self.reason += INSTEAD
            return
        self.reason = crowded(setting, setting.epsilon)
        if self.reason:
            return
        self.resolution = calibration.resolution(setting.beta, setting.tolerance)
        if self.resolution is None:
            self.reason = "no certified noise quantile: the domain is too large, or beta too small"

    def _cut(self) -> int:
        return 2 * self.setting.tolerance + self.calibration.up(self.setting.beta)

    def opening(self) -> dict[str, object]:
        """Return the public parameters of a run."""
        return {**self.facts(), "cut_doubled": self._cut()}

    def _verdict(self, doubled: int) -> str:
        return "Far" if doubled >= self._cut() else "Match"


class TwoHistograms(_HistogramTester):
    """Both parties release noisy histograms; everything else is post-processing.

    Args:
        setting: the public setting.
        simulated: True to certify the sup quantile by simulation, False analytically.
        progress: told the fraction done during a simulation.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> setting = Setting(Domain.grid([("x", 0, 1, 8)]), 500, 500, Fraction(1), classes="thresholds")
        >>> tester = TwoHistograms(setting)
        >>> (tester.guarantee, tester.resolution <= 500)
        ('analytic', True)
    """

    name = "two-histograms"

    def __init__(self, setting: Setting, *, simulated: bool = False, progress: Progress = None) -> None:
        scale = noise_scale(2, setting.epsilon)
        both = FieldNoise(setting.domain, setting.classes, scale, fields=2)
        one = FieldNoise(setting.domain, setting.classes, scale)
        self._one = Calibration(one, (), simulated, progress)
        super().__init__(setting, Calibration(both, (), simulated, progress))

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return a party that releases its histogram."""
        return HistogramParty(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Both parties release their histograms."""
        setting = self.setting
        nets = {}
        for name in PARTIES:
            yield Turn(name, histogram_schema(setting), lambda party: party.histogram(transcript, setting))
            nets[name] = received(transcript, setting)
        agreement, classifier = best_agreement(setting, nets["Alice"] + nets["Bob"])
        doubled = setting.n_alice + setting.n_bob - agreement
        own = {
            "Alice": setting.n_alice - best_agreement(setting, nets["Alice"])[0],
            "Bob": setting.n_bob - best_agreement(setting, nets["Bob"])[0],
        }
        pooled = _pooled_interval(self.calibration, setting, doubled, setting.beta)
        parties = {name: self._own(name, own[name], setting.beta) for name in own}
        return Finding(
            verdict=self._verdict(doubled),
            transcript=transcript,
            classifier=classifier,
            opt_interval=pooled,
            party_intervals={name: value for name, value in parties.items() if value is not None},
            gap_interval=_gap(
                _pooled_interval(self.calibration, setting, doubled, setting.beta / 3),
                *(self._own(name, own[name], setting.beta / 3) for name in own),
            ),
        )

    def _own(self, name: str, doubled: int, level: Fraction) -> Interval | None:
        setting = self.setting
        n = setting.n_alice if name == "Alice" else setting.n_bob
        return self._one.interval(doubled, level, n // 2 if setting.complement else n)


class OneWay(_HistogramTester):
    """Alice releases a noisy histogram, Bob the noisy minimum, his own optimum and a joint classifier.

    Bob's budget is divided by SHARES; where the list of classifiers is too long to select from, its share
    goes to the minimum and no classifier is released.

    Args:
        setting: the public setting.
        simulated: True to certify the sup quantile by simulation, False analytically.
        progress: told the fraction done during a simulation.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> setting = Setting(Domain.grid([("x", 0, 1, 8)]), 500, 500, Fraction(1), classes="thresholds")
        >>> OneWay(setting).resolution <= TwoHistograms(setting).resolution
        True
    """

    name = "one-way"

    def __init__(self, setting: Setting, *, simulated: bool = False, progress: Progress = None) -> None:
        minimum, own, selection = (share * setting.epsilon for share in SHARES)
        if _list_size(setting) > MOST_LISTED:
            minimum, selection = minimum + selection, Fraction(0)
        self._shares = (minimum, own, selection)
        one = FieldNoise(setting.domain, setting.classes, noise_scale(2, setting.epsilon))
        self._alone = Calibration(one, (), simulated, progress)
        super().__init__(setting, Calibration(one, (noise_scale(2, minimum),), simulated, progress))

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return Alice, who releases her histogram, or Bob, who answers it."""
        kind = HistogramParty if name == "Alice" else Minimiser
        return kind(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Alice's histogram, then Bob's answers."""
        setting, (minimum, own, selection) = self.setting, self._shares
        yield Turn("Alice", histogram_schema(setting), lambda party: party.histogram(transcript, setting))
        message = yield Turn(
            "Bob",
            scalar_schema("noisy minimum", "doubled", minimum),
            lambda party: party.minimum(transcript, setting, minimum),
        )
        doubled = int(message.payload["doubled"])
        message = yield Turn(
            "Bob",
            scalar_schema("own optimum", "value", own),
            lambda party: party.own(transcript, setting, own),
        )
        own_b, classifier = int(message.payload["value"]), None
        if selection:
            message = yield Turn(
                "Bob",
                classifier_schema(setting, selection),
                lambda party: party.joint_classifier(transcript, setting, selection),
            )
            classifier = told_classifier(setting, message)

        y = received(transcript, setting)
        own_a = setting.n_alice - best_agreement(setting, y)[0]
        beta = setting.beta
        parties = {"Alice": self._own_a(own_a, beta), "Bob": self._own_b(own_b, beta)}
        return Finding(
            verdict=self._verdict(doubled),
            transcript=transcript,
            classifier=classifier,
            opt_interval=_pooled_interval(self.calibration, setting, doubled, beta),
            party_intervals={name: value for name, value in parties.items() if value is not None},
            gap_interval=_gap(
                _pooled_interval(self.calibration, setting, doubled, beta / 3),
                self._own_a(own_a, beta / 3),
                self._own_b(own_b, beta / 3),
            ),
        )

    def _own_a(self, doubled: int, level: Fraction) -> Interval | None:
        n = self.setting.n_alice
        return self._alone.interval(doubled, level, n // 2 if self.setting.complement else n)

    def _own_b(self, value: int, level: Fraction) -> Interval:
        from geomdp.privacy.law import dlap_quantile

        margin = dlap_quantile(level / 2, noise_scale(1, self._shares[1])) - 1
        n = self.setting.n_bob
        most = n // 2 if self.setting.complement else n
        lower = min(max(value - margin, 0), most)
        return lower, min(max(value + margin, lower), most)


def _list_size(setting: Setting) -> int:
    return class_count(setting.domain, setting.classes) * setting.domain.m


def _pooled_interval(
    calibration: Calibration, setting: Setting, doubled: int, level: Fraction
) -> Interval | None:
    return calibration.interval(doubled, level, setting.largest_opt)


def _gap(pooled: Interval | None, a: Interval | None, b: Interval | None) -> Interval | None:
    """Return an interval for opt(A u B) - opt(A) - opt(B) >= 0 that holds whenever all three do."""
    if pooled is None or a is None or b is None:
        return None
    lower = max(0, pooled[0] - a[1] - b[1])
    return lower, max(lower, pooled[1] - a[0] - b[0])
