r"""The localised protocol: one party's coarse noisy counts leave few classifiers, the other looks only there.

1. The scout (Bob) releases noisy net counts y with most of his budget. Public: the candidates
   C = {h : n_B - <h, y> < 2 t0 + q}, q the bound that a perfect classifier's noise exceeds with probability
   at most beta/5. If C is empty the answer is Far.
2. Public check: the cells on which the candidates agree, up to sign, are pooled; the certified resolution
   t(C) is computed before Alice spends anything, and either party may stop here.
3. The holder (Alice) releases one noisy query per pool, with her whole budget.
4. Bob answers with the noisy minimum over C.

When C is so large that pooling does not pay, Alice releases her whole sup-tilted field instead and Bob the
minimum over all classifiers; so t(C) never exceeds the resolution that the plan states.

Errors. Let opt <= t0 with perfect classifier h*: err_B(h*) <= t0, so h* is not in C with probability at most
beta/5, and for every C that holds it the statistic passes the cut with probability at most 4 beta/5. Let
opt >= t(C): every h, so every h in C, has at least t(C) mistakes, whatever happened in step 1; the statistic
stays below the cut with probability at most beta. Both hold for every C, as the noise of steps 3 and 4 is
independent of it.

Source: the finite-domain setting of the paper (Section 4); the protocol is not in it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    ProtocolError,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import order_index
from geomdp.privacy.sampler import Sampler, SimSampler, noise_scale
from geomdp.protocol.party import Party, converse, integers, within
from geomdp.protocol.schema import Integer, Schema, symmetric
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import histogram
from geomdp.testers.base import Finding, Interval, Setting
from geomdp.testers.histogram_law import CALIBRATION_LOSS, Calibration, FieldNoise, Progress, sum_quantile
from geomdp.testers.localisation import Localisation, candidates, pattern_suprema, pooled
from geomdp.testers.tilted import (
    Budgets,
    FieldAnswerer,
    FieldHolder,
    FieldTester,
    default_law,
    field_schema,
    received_field,
)

#: How Bob divides his budget: coarse counts, minimum.
SHARES = (Fraction(7, 10), Fraction(3, 10))
#: The part of beta that may go to losing the perfect classifier in step 1.
LOST = Fraction(1, 5)
#: Draws from which t(C) is certified, and the most multiplications they may take.
_DRAWS, _PRODUCTS = 10_000, 10**11


class Scout(FieldAnswerer):
    """Bob: coarse noisy counts first, the noisy minimum over the candidates last.

    Privacy note. Precondition: the noisy counts cost e_1 = 2/scale by the L1 argument (one replaced record
    changes the counts by at most 2 in L1). For any answer of Alice, also a hostile one, W =
    min_{h in C} (a(h) + 2 err_B(h)) + noise, where a(h) and C are functions of the transcript: one record
    moves err_B(h) by at most 1 for all h, the minimum by at most 2, so noise of scale >= 2/e_2 costs e_2.
    That C was chosen from Bob's own release makes no difference: given the transcript it is fixed.
    Conclusion: (e_1 + e_2)-DP by composition.
    """

    def coarse(self, transcript: Transcript, setting: Setting, epsilon: Fraction, unit: int = 1) -> Message:
        """Return the coarse noisy net counts; a field in the given unit may follow."""
        self.reserve(epsilon)
        noise = self.sampler.discrete_laplace(noise_scale(2, epsilon), setting.domain.m)
        counts = within(self.sample.net + noise, coarse_entry(setting, unit))
        return converse(transcript, self.release("coarse counts", {"net": counts}, epsilon))

    def local_minimum(
        self, transcript: Transcript, setting: Setting, found: Localisation, epsilon: Fraction
    ) -> Message:
        """Return the doubled noisy minimum over the candidates.

        Raises:
            ProtocolError: when the counterpart has not sent pooled queries.
        """
        if found.pools is None or found.patterns is None:
            raise ProtocolError("The local minimum needs pooled queries.")
        self.reserve(epsilon)
        received = pool_counts(transcript, setting, found.pools)
        own = found.pools.astype(np.int64) @ self.sample.net
        best = int((found.patterns.astype(np.int64) @ (received + own)).max())
        noise = int(self.sampler.discrete_laplace(noise_scale(2, epsilon), 1)[0])
        scaled = within([setting.n_alice + setting.n_bob - best + noise], histogram.LARGEST)[0]
        return converse(transcript, self.release("noisy minimum", {"scaled": scaled}, epsilon))


class PoolHolder(FieldHolder):
    """Alice: one noisy count per pool.

    Privacy note. Precondition: the pools are public and have disjoint supports. One replaced record changes
    the net counts by v, |v|_1 <= 2, and the queries by (sum_x pools[g, x] v(x))_g, of L1 norm at most |v|_1.
    Discrete Laplace noise of scale >= 2/epsilon per query is epsilon-DP. Conclusion: for every C, however
    Bob chose it, the message is epsilon-DP.
    """

    def pools(
        self, transcript: Transcript, setting: Setting, found: Localisation, epsilon: Fraction
    ) -> Message:
        """Return the noisy pooled net counts, (G,) integers.

        Raises:
            ProtocolError: when there are no pools to count.
        """
        if found.pools is None:
            raise ProtocolError("There are no pools to count.")
        self.reserve(epsilon)
        counts = found.pools.astype(np.int64) @ self.sample.net
        noise = self.sampler.discrete_laplace(noise_scale(2, epsilon), len(counts))
        payload = {"net": within(counts + noise, histogram.largest_entry(setting))}
        return converse(transcript, self.release("pooled counts", payload, epsilon))


def coarse_entry(setting: Setting, unit: int) -> int:
    """Return the largest entry of coarse counts: unit times them still fit beside a field in that unit."""
    return histogram.largest_entry(setting, unit) // unit


def coarse_counts(transcript: Transcript, setting: Setting, unit: int) -> NDArray[np.int64]:
    """Return the coarse counts, (m,); bounded by public numbers."""
    message = transcript.last("coarse counts")
    return np.array(integers(message, "net", setting.domain.m, coarse_entry(setting, unit)), dtype=np.int64)


def pool_counts(transcript: Transcript, setting: Setting, pools: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the noisy pooled counts, (G,) with G <= m; bounded like a noisy histogram."""
    bound = histogram.largest_entry(setting)
    message = transcript.last("pooled counts")
    return np.array(integers(message, "net", len(pools), bound), dtype=np.int64)


class Coin(Party):
    """A party that contributes fresh public randomness; it costs no privacy."""

    def toss(self, transcript: Transcript) -> Message:
        """Return the seed from which t(C) is certified: drawn after C is fixed, so independent of it."""
        seed = self.sampler.uniform(2**62)
        return converse(transcript, self.release("calibration seed", {"seed": seed}, Fraction(0)))


class Localised(FieldTester):
    """Coarse counts from Bob, then pooled counts from Alice where the candidates still disagree.

    Args:
        setting: the public setting.
        epsilon_alice, epsilon_bob: unequal budgets instead of the setting's.
        coarse: share of Bob's budget for the coarse counts.
        alice_accepts, bob_accepts: the largest certified t(C) at which a party goes on, None for any. Beyond
            one of them the run ends Inconclusive, before Alice spends anything. The rules decide who speaks
            next, so they stand in the opening: parties whose rules differ refuse each other's hello.
        progress: told the fraction done while a noise table is drawn.

    Attributes:
        resolution: what is guaranteed whatever Bob's counts turn out to be; the certified t(C) of a run is
            at most this and stands in the transcript (message "localisation").

    Raises:
        ArgumentError: unless ``coarse`` is a number with 0 < coarse < 1, and what a party accepts None or an
            integer >= 0.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> setting = Setting(Domain.grid([("x", 0, 1, 8)]), 500, 500, Fraction(1), classes="thresholds")
        >>> Localised(setting).guarantee
        'certified-mc'
    """

    name = "localised"

    def __init__(
        self,
        setting: Setting,
        *,
        epsilon_alice: object = None,
        epsilon_bob: object = None,
        coarse: object = SHARES[0],
        alice_accepts: int | None = None,
        bob_accepts: int | None = None,
        progress: Progress = None,
    ) -> None:
        self.budgets = Budgets.of(setting, epsilon_alice, epsilon_bob)
        share = check_fraction("coarse", coarse)
        if not 0 < share < 1:
            raise ArgumentError("coarse", "a number with 0 < coarse < 1", describe(share))
        self._coarse, self._minimum = share * self.budgets.bob, (1 - share) * self.budgets.bob
        self._accepts = {"Alice": alice_accepts, "Bob": bob_accepts}
        for name, most in self._accepts.items():
            if most is not None:
                self._accepts[name] = check_integer(f"{name.lower()}_accepts", most, 0)
        law = default_law(setting, self.budgets.alice)
        unit = 1 if isinstance(law, str) else law.unit
        super().__init__(setting, law, (noise_scale(2 * unit, self._minimum),), 1, progress)
        self.resolution = None
        if not self.reason:
            self.reason = histogram.crowded(setting, unit * self._coarse, unit)
        if not self.reason:
            late = (1 - LOST) * setting.beta
            self.resolution = self.calibration.resolution(late, setting.beta, setting.tolerance)

    @cached_property
    def _extra(self) -> tuple[Fraction, ...]:
        return (noise_scale(2, self._minimum),)

    def _coarse_noise(self, level: Fraction) -> int:
        """Return q with P(<h, coarse noise> >= q) <= level, exact for every h."""
        setting = self.setting
        noise = FieldNoise(setting.domain, setting.classes, noise_scale(2, self._coarse))
        return noise.single(level)

    def _least(self) -> int:
        """Return the agreement with the coarse counts from which a classifier is a candidate."""
        setting = self.setting
        slack = 2 * setting.tolerance + self._coarse_noise(LOST * setting.beta) - 1
        return setting.n_bob - slack

    def localise(self, transcript: Transcript) -> Localisation:
        """Return what the coarse counts and the calibration seed in a transcript leave; public arithmetic."""
        setting = self.setting
        y = coarse_counts(transcript, setting, self.law.unit)
        signs = candidates(setting, y, self._least())
        whole = self._whole_cut()
        if signs is None:
            return Localisation(-1, None, None, self.resolution, whole)
        if not len(signs):
            return Localisation(0, None, None, None, whole)
        pools, patterns = pooled(signs)
        seed = _seed(transcript)
        up, down = self._local_quantiles(patterns, seed)
        t = setting.tolerance + max(1, -(-(up + down - 1) // 2))
        if self.resolution is not None and t >= self.resolution:
            return Localisation(len(signs), None, None, self.resolution, whole)
        return Localisation(len(signs), pools, patterns, t, 2 * setting.tolerance + up)

    def _whole_cut(self) -> int:
        up = self.calibration.quantiles.single((1 - LOST) * self.setting.beta)
        return 2 * self.law.unit * self.setting.tolerance + (0 if up is None else up)

    def _local_quantiles(self, patterns: NDArray[np.int8], seed: int) -> tuple[int, int]:
        """Return (up, down): bounds for the noise of one candidate and of the worst one.

        One candidate's noise is a sum of G discrete Laplaces, the same law for all: exact. The worst one's is
        bounded by the union over C, exactly, and by an order statistic of fresh draws; both are valid, and
        the smaller one counts.
        """
        setting, scale = self.setting, noise_scale(2, self.budgets.alice)
        count, width = patterns.shape
        up = sum_quantile(width, scale, self._extra, (1 - LOST) * setting.beta)
        down = sum_quantile(width, scale, self._extra, setting.beta / count)
        draws = min(_DRAWS, _PRODUCTS // (count * width))
        index = order_index(draws, 1 - setting.beta, CALIBRATION_LOSS) if draws >= 100 else draws + 1
        if index > draws:
            return up, down
        sampler = SimSampler(seed)
        noise = sampler.discrete_laplace(scale, (draws, width))
        tops = pattern_suprema(patterns, noise) + sampler.discrete_laplace(self._extra[0], draws)
        return up, min(down, int(np.sort(tops)[index - 1]) + 1)

    def opening(self) -> dict[str, object]:
        """Return the public parameters of a run."""
        own = {"coarse": str(self._coarse), "least_agreement": self._least(), "accepts": dict(self._accepts)}
        return {**super().opening(), **own}

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return Alice, who holds the pools, or Bob, the scout."""
        kind = PoolHolder if name == "Alice" else Scout
        return kind(name, sample, sampler, Budget(self.budgets[name]))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Bob's coarse counts, Alice's coin, the public check, Alice's counts, Bob's minimum."""
        setting, m = self.setting, self.setting.domain.m
        coarse = Schema(
            "coarse counts", {"net": symmetric(m, coarse_entry(setting, self.law.unit))}, self._coarse
        )
        yield Turn(
            "Bob", coarse, lambda party: party.coarse(transcript, setting, self._coarse, self.law.unit)
        )
        coin = Schema("calibration seed", {"seed": Integer(0, 2**62 - 1)}, Fraction(0))
        yield Turn("Alice", coin, lambda party: _coin(party).toss(transcript))
        found = self.localise(transcript)
        self._announce(transcript, found)
        if not found.candidates:
            return Finding("Far", transcript, party_intervals=self._bob_interval(transcript))
        if not self._accepted(found):
            return Finding("Inconclusive", transcript, party_intervals=self._bob_interval(transcript))
        whole = self.budgets.alice
        least = histogram.scalar_schema("noisy minimum", "scaled", self._minimum)
        if found.pools is None:
            yield Turn(
                "Alice",
                field_schema(setting, whole, self.law.unit),
                lambda party: party.field(transcript, setting, self.law, whole),
            )
            message = yield Turn(
                "Bob",
                least,
                lambda party: party.minimum(transcript, setting, self.law.unit, self._minimum),
            )
        else:
            entries = {"net": symmetric(len(found.pools), histogram.largest_entry(setting))}
            yield Turn(
                "Alice",
                Schema("pooled counts", entries, whole),
                lambda party: party.pools(transcript, setting, found, whole),
            )
            message = yield Turn(
                "Bob",
                least,
                lambda party: party.local_minimum(transcript, setting, found, self._minimum),
            )
        scaled = int(message.payload["scaled"])
        return Finding(
            verdict="Far" if scaled >= found.cut else "Match",
            transcript=transcript,
            classifier=self._evidence(transcript, found),
            opt_interval=self._interval(scaled, found),
            party_intervals=self._bob_interval(transcript),
        )

    def _accepted(self, found: Localisation) -> bool:
        """Return whether both parties go on after step 2, by their public rules."""
        t = found.resolution
        return all(most is None or (t is not None and t <= most) for most in self._accepts.values())

    def _announce(self, transcript: Transcript, found: Localisation) -> None:
        """Record the public result of step 2 in Bob's name; it costs nothing, being post-processing."""
        facts: dict[str, Any] = {
            "candidates": found.candidates,
            "strip": found.strip,
            "resolution": found.resolution,
            "cut_scaled": found.cut,
        }
        transcript.append(Message("Bob", "localisation", facts, Fraction(0)))

    def _evidence(self, transcript: Transcript, found: Localisation) -> Halfspace | Threshold:
        """Return the candidate with the fewest mistakes in the two public fields: post-processing."""
        setting = self.setting
        coarse = coarse_counts(transcript, setting, self.law.unit)
        if found.pools is None or found.patterns is None:
            field = received_field(transcript.last("noisy field"), setting, self.law.unit)
            return histogram.best_agreement(setting, field + self.law.unit * coarse)[1]
        pools, patterns = found.pools.astype(np.int64), found.patterns.astype(np.int64)
        received = pool_counts(transcript, setting, found.pools)
        chosen = patterns[int((patterns @ (received + pools @ coarse)).argmax())] @ pools
        return histogram.best_agreement(setting, chosen)[1]

    def _interval(self, scaled: int, found: Localisation) -> Interval | None:
        """Return a 1 - beta interval for opt.

        Upper end (beta/2): opt <= min over C of the mistakes <= (W + sup noise)/2. Lower end: if h* is in C,
        W <= 2 opt + its noise (3 beta/10); if not, 2 opt >= 2 err_B(h*) > n_B - least - its coarse noise
        (beta/5, the bound that defines C): opt > t0. The lower end is the smaller of the two.
        """
        setting, beta, unit = self.setting, self.setting.beta, 1
        late = beta / 2 - LOST * beta
        most = setting.largest_opt
        if found.patterns is None:
            unit = self.law.unit
            up, down = self.calibration.quantiles.single(late), self.calibration.quantiles.sup(beta / 2)
            if up is None or down is None:
                return None
        else:
            law = found.patterns.shape[1], noise_scale(2, self.budgets.alice), self._extra
            up, down = sum_quantile(*law, late), sum_quantile(*law, beta / 2 / len(found.patterns))
        inside = -((up - 1 - scaled) // (2 * unit))
        lower = min(max(min(inside, setting.tolerance + 1), 0), most)
        return lower, min(max((scaled + down - 1) // (2 * unit), lower), most)

    def _bob_interval(self, transcript: Transcript) -> dict[str, Interval]:
        """Return Bob's own interval from his coarse counts, by the exact single law and the union bound."""
        setting = self.setting
        y = coarse_counts(transcript, setting, self.law.unit)
        noise = FieldNoise(setting.domain, setting.classes, noise_scale(2, self._coarse))
        doubled = setting.n_bob - histogram.best_agreement(setting, y)[0]
        try:
            interval = Calibration(noise).interval(doubled, setting.beta, self._most("Bob"))
        except CapacityError:
            return {}
        return {} if interval is None else {"Bob": interval}


def _coin(party: Party) -> Coin:
    """Return a party as one that tosses, with the same randomness and budget."""
    return Coin(party.name, party.sample, party.sampler, party.budget)


def _seed(transcript: Transcript) -> int:
    """Return the calibration seed after checking its form."""
    seed = transcript.last("calibration seed").payload.get("seed")
    if type(seed) is not int or not 0 <= seed < 2**62:
        raise ProtocolError("Message 'calibration seed' must hold 'seed': an integer from 0 to 2^62 - 1.")
    return seed
