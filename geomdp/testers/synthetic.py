r"""Testers by synthetic data: what a party publishes is a small-error stand-in for its own net counts.

For integer weights y on the cells and a public unit q, y/q stands in for net_P(x) = (#records labelled +1) -
(#records labelled -1) if <h, q net_P - y> is small for every classifier h at once. As h errs on
(n_P - <h, net_P>)/2 records, y predicts the mistakes of all classifiers. Statistics are kept as integers in
units of 1/(2q) record.

* one way: Alice publishes; Bob answers with the noisy minimum over all classifiers of the pooled estimate.
* two ways: both publish, in any order, and everybody can minimise.

How to publish is what :class:`geomdp.testers.net_mechanism.NetMechanism` and
:class:`geomdp.testers.mwem.MWEM` differ in. Source: (paper, Theorem 4.11) for two ways; one way is ours.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain
from geomdp.core.errors import CapacityError
from geomdp.core.sample import Sample
from geomdp.geometry.arrangement import Dichotomies
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_quantile
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Finding, Setting
from geomdp.testers.histogram import LARGEST, best_agreement, scalar_schema
from geomdp.testers.histogram_law import class_count, unsolvable
from geomdp.testers.scripted import ScriptedTester

#: Share of beta that the synthetic data may use up; the rest is for the noise of the answer.
PUBLISHING = Fraction(3, 4)
#: Larger sums are refused: everything then stays far inside int64.
_MOST = 2**52


@lru_cache(maxsize=2)
def labelings(domain: Domain) -> Dichotomies:
    """Return all labellings of a domain by halfspaces."""
    from geomdp.geometry.arrangement import dichotomies

    return dichotomies(domain)


@lru_cache(maxsize=2)
def query_signs(domain: Domain) -> NDArray[np.int8]:
    """Return (N, m) labellings, one of each complementary pair: h and -h have the same error in size.

    On a pointed domain -h is realised whenever h is, and the row with label +1 at the first point is kept.
    """
    signs = labelings(domain).signs
    return signs[signs[:, 0] > 0] if domain.pointed else signs


def agreements(signs: NDArray[np.int8], values: NDArray[Any]) -> NDArray[Any]:
    """Return (N,) inner products of labellings with values on the cells, in the type of the values.

    Blocks of rows keep the wide copy of the labels small.
    """
    blocks = range(0, len(signs), 4096)
    return np.concatenate([signs[at : at + 4096].astype(values.dtype) @ values for at in blocks])


def query_count(domain: Domain) -> int:
    """Return an upper bound on the number of rows of :func:`query_signs`, without listing them.

    Example:
        >>> D = Domain([[0, 1], [1, 1], [2, 1]])
        >>> query_count(D) == len(query_signs(D)) == 3
        True
    """
    count = class_count(domain, "halfspaces")
    return count // 2 if domain.pointed else count


def obstacle(setting: Setting, most_points: int) -> str:
    """Return why no synthetic data can be published here, or ""."""
    if setting.classes != "halfspaces":
        return "synthetic data is a tester of halfspaces"
    if setting.domain.m > most_points:
        return f"more than {most_points} points leave too many candidates to compare"
    if max(setting.n_alice, setting.n_bob) > 2**30:
        return "more than 2^30 records"
    try:
        query_count(setting.domain)
    except CapacityError:
        return "the labellings of the domain are too many to be counted"
    return unsolvable(setting.domain, setting.classes)


class Minimiser(Party):
    """The party that answers published weights y with the noisy minimum of the pooled estimate.

    Privacy note. Precondition: y is fixed, its form is checked against public numbers first. The estimate
    q n - <h, y> + 2 q err(h) moves by at most 2q for every h when one record is replaced, hence so does the
    minimum; discrete Laplace noise of scale >= 2q/e costs e. Conclusion: e-DP, whatever y is.
    """

    def minimum(self, transcript: Transcript, setting: Setting, unit: int) -> Message:
        """Return the noisy minimum, in units of 1/(2q) record."""
        self.reserve(setting.epsilon)
        field = published(transcript.last("synthetic counts"), setting) + unit * self.sample.net
        value = unit * (setting.n_alice + setting.n_bob) - best_agreement(setting, field)[0]
        noise = int(self.sampler.discrete_laplace(noise_scale(2 * unit, setting.epsilon), 1)[0])
        payload = {"value": within([value + noise], LARGEST)[0]}
        message = self.release("noisy minimum", payload, setting.epsilon)
        return converse(transcript, message)


def weights_schema(setting: Setting, epsilon: Fraction) -> Schema:
    """Return the public form of published weights."""
    m = setting.domain.m
    return Schema("synthetic counts", {"weights": symmetric(m, _MOST // m)}, epsilon)


def published(message: Message, setting: Setting) -> NDArray[np.int64]:
    """Return the published weights, shape (m,).

    Raises:
        ProtocolError: when they are malformed or absurdly large; decided from public numbers alone.
    """
    m = setting.domain.m
    return np.array(integers(message, "weights", m, _MOST // m), dtype=np.int64)


class SyntheticTester(ScriptedTester):
    """What the two testers share: the verdict from published weights, and what it guarantees.

    Let P(max_h |<h, q net - y>| > a) <= PUBLISHING * beta and P(noise >= z) <= the rest. If opt <= t0, the
    noisy minimum is below the cut 2q t0 + a + z, except with probability beta. If opt >= t it is at least
    2q t - a - (z - 1), which reaches the cut for t = t0 + ceil((2a + 2z - 1)/(2q)). With both parties
    publishing, each may fail with probability beta/2, and 2a replaces a + z.

    Args:
        setting: the public setting, halfspaces.
        one_way: True if Bob answers with a noisy minimum, False if he publishes synthetic data too.

    Attributes:
        unit: q, by which published weights are scaled.
        most_points: larger domains are refused.
    """

    guarantee = "analytic"
    unit: int = 1
    most_points: int

    def __init__(self, setting: Setting, *, one_way: bool = True) -> None:
        super().__init__(setting)
        self.one_way = one_way
        self.reason = obstacle(setting, self.most_points) or self._prepare()
        if self.reason:
            return
        most = self.unit * max(setting.n_alice, setting.n_bob)
        if 4 * most > _MOST or most > _MOST // setting.domain.m:
            self.reason = "too many records: sums of synthetic weights would exceed 2^52"
            return
        margin = self._margin(setting.beta, Fraction(1))
        self._cut = 2 * self.unit * setting.tolerance + margin + 1
        self.resolution = setting.tolerance + -(-(2 * margin + 1) // (2 * self.unit))

    @abstractmethod
    def _prepare(self) -> str:
        """Choose the public parameters, set `unit`, and return why there are none, or ""."""

    @abstractmethod
    def _error(self, n: int, level: Fraction) -> int:
        """Return a with P(max_h |<h, q net - y>| > a) <= level for any n records."""

    @abstractmethod
    def _publish(self, name: str, transcript: Transcript) -> Script[NDArray[np.int64]]:
        """Yield the turns in which a party publishes, the last one "synthetic counts"; return its weights."""

    def _margin(self, level: Fraction, sides: Fraction) -> int:
        """Return by how much the statistic may be off, in units of 1/(2q) record, at this level.

        sides: 1 where the noise errs on one side only, 1/2 where both count.
        """
        setting = self.setting
        if not self.one_way:
            return sum(self._error(n, level / 2) for n in (setting.n_alice, setting.n_bob))
        scale = noise_scale(2 * self.unit, setting.epsilon)
        noise = dlap_quantile((1 - PUBLISHING) * level * sides, scale) - 1
        return self._error(setting.n_alice, PUBLISHING * level) + noise

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return either party."""
        return Minimiser(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Alice publishes; Bob answers or publishes."""
        setting, unit = self.setting, self.unit
        y = yield from self._publish("Alice", transcript)
        classifier: Halfspace | Threshold | None = None
        if self.one_way:
            schema = scalar_schema("noisy minimum", "value", setting.epsilon)
            answer = yield Turn("Bob", schema, lambda party: party.minimum(transcript, setting, unit))
            value = int(answer.payload["value"])
        else:
            y = y + (yield from self._publish("Bob", transcript))
            agreement, classifier = best_agreement(setting, y)
            value = unit * (setting.n_alice + setting.n_bob) - agreement
        return Finding(
            verdict="Far" if value >= self._cut else "Match",
            transcript=transcript,
            classifier=classifier,
            opt_interval=self._interval(value),
        )

    def _interval(self, value: int) -> tuple[int, int]:
        margin, most = self._margin(self.setting.beta, Fraction(1, 2)), self.setting.largest_opt
        lower = min(max(-((margin - value) // (2 * self.unit)), 0), most)
        return lower, min(max((value + margin) // (2 * self.unit), lower), most)

    def opening(self) -> dict[str, object]:
        """Return the public parameters of a run."""
        return {**self.facts(), "one_way": self.one_way, "unit": self.unit, "cut_scaled": self._cut}
