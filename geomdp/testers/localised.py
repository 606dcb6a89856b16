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

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import ArgumentError, CapacityError, ProtocolError, check_fraction, describe
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.law import dlap_sum_sf, order_index
from geomdp.privacy.sampler import Sampler, SimSampler, noise_scale
from geomdp.protocol.party import Party, converse, integers
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers import histogram
from geomdp.testers.base import Finding, Interval, Setting
from geomdp.testers.histogram_law import CALIBRATION_LOSS, Calibration, FieldNoise, Progress
from geomdp.testers.tilted import Budgets, FieldAnswerer, FieldHolder, FieldTester
from geomdp.testers.tilted_law import tilted_field

#: How Bob divides his budget: coarse counts, minimum.
SHARES = (Fraction(7, 10), Fraction(3, 10))
#: The part of beta that may go to losing the perfect classifier in step 1.
LOST = Fraction(1, 5)
#: Draws from which t(C) is certified, and the most multiplications they may take.
_DRAWS, _PRODUCTS = 10_000, 10**11
#: Most candidates times cells that are written out.
_ROOM = 2 * 10**8

#: A party's public decision: True to go on.
Accept = Callable[["Localisation"], bool]


@dataclass(frozen=True)
class Localisation:
    """What step 1 left, all of it public.

    Attributes:
        candidates: number of classifiers in C.
        pools: (G, m) entries -1, 0, 1 with disjoint supports that cover all cells; a pool's query is
            sum_x pools[g, x] net(x). None if Alice will release the whole field.
        patterns: (|C|, G) entries -1, 1: the candidates are patterns @ pools. None like the pools.
        resolution: the certified t(C), or None when C is empty.
        cut: Far from this statistic on, in half-records.
    """

    candidates: int
    pools: NDArray[np.int8] | None
    patterns: NDArray[np.int8] | None
    resolution: int | None
    cut: int

    @property
    def strip(self) -> int:
        """Number of queries besides the first, which pools all cells on which the candidates agree."""
        return -1 if self.pools is None else len(self.pools) - 1


def pooled(signs: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return (pools, patterns) of (|C|, m) sign vectors: cells whose columns agree up to sign share a pool.

    Example:
        >>> signs = np.array([[1, 1, -1, 1], [1, -1, 1, 1]], dtype=np.int8)
        >>> pools, patterns = pooled(signs)
        >>> pools.tolist(), bool((patterns @ pools == signs).all())
        ([[1, 0, 0, 1], [0, 1, -1, 0]], True)
    """
    lead = signs[0]
    packed = np.packbits(lead[:, None] != signs.T, axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    pools = np.zeros((len(first), signs.shape[1]), dtype=np.int8)
    pools[group.ravel(), np.arange(signs.shape[1])] = lead
    return pools, np.ascontiguousarray(signs[:, first] * lead[first])


def candidates(setting: Setting, y: NDArray[np.int64], least: int) -> NDArray[np.int8] | None:
    """Return (|C|, m) sign vectors of the classifiers with <h, y> >= least; None if they are too many.

    Two-feature grids and ordered domains by a sweep; others from the list of dichotomies.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> line = Setting(Domain.line(3), 5, 5, Fraction(1), classes="thresholds")
        >>> candidates(line, np.array([-2, 1, 4]), 5).tolist()
        [[-1, 1, 1], [-1, -1, 1]]
    """
    domain = setting.domain
    room = _ROOM // domain.m
    swept = domain.ordered or (domain.features is not None and domain.d == 3)
    if swept and setting.classes in ("thresholds", "halfspaces"):
        from geomdp.opt.sup import grid_schedule
        from geomdp.testers import _tilt_kernels

        spans, cells = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
        if not domain.ordered and domain.features is not None:
            spans, cells = grid_schedule(*(axis.levels for axis in domain.features))
        start, closed = np.arange(domain.m, dtype=np.int64), setting.classes == "halfspaces"
        signs = np.empty((0, domain.m), dtype=np.int8)
        count = _tilt_kernels.sweep_candidates(y, start, spans, cells, least, closed, signs)
        if count > room:
            return None
        signs = np.empty((count, domain.m), dtype=np.int8)
        _tilt_kernels.sweep_candidates(y, start, spans, cells, least, closed, signs)
        return _distinct(signs)
    if histogram._list_size(setting) > histogram.MOST_LISTED:
        return None
    listed = histogram._enumerated(domain)
    scores = histogram._scores(setting, y)
    return np.ascontiguousarray(listed.signs[scores >= least])


def _distinct(signs: NDArray[np.int8]) -> NDArray[np.int8]:
    """Drop the second copies of the two constant classifiers; a sweep meets all others once."""
    keep = np.ones(len(signs), dtype=bool)
    constant = np.flatnonzero((signs == signs[:, :1]).all(axis=1))
    seen: set[int] = set()
    for row in constant.tolist():
        keep[row] = (first := int(signs[row, 0])) not in seen
        seen.add(first)
    return signs[keep]


class Scout(FieldAnswerer):
    """Bob: coarse noisy counts first, the noisy minimum over the candidates last.

    Privacy note. Precondition: the noisy counts cost e_1 = 2/scale by the L1 argument (one replaced record
    changes the counts by at most 2 in L1). For any answer of Alice, also a hostile one, W =
    min_{h in C} (a(h) + 2 err_B(h)) + noise, where a(h) and C are functions of the transcript: one record
    moves err_B(h) by at most 1 for all h, the minimum by at most 2, so noise of scale >= 2/e_2 costs e_2.
    That C was chosen from Bob's own release makes no difference: given the transcript it is fixed.
    Conclusion: (e_1 + e_2)-DP by composition.
    """

    def coarse(self, transcript: Transcript, setting: Setting, epsilon: Fraction) -> Message:
        """Return the coarse noisy net counts."""
        self.reserve(epsilon)
        noise = self.sampler.discrete_laplace(noise_scale(2, epsilon), setting.domain.m)
        counts = (self.sample.net + noise).tolist()
        return converse(transcript, self.release("coarse counts", {"net": counts}, epsilon))

    def local_minimum(
        self, transcript: Transcript, setting: Setting, found: Localisation, epsilon: Fraction
    ) -> Message:
        """Return the doubled noisy minimum over the candidates."""
        if found.pools is None or found.patterns is None:
            raise ProtocolError("The local minimum needs pooled queries.")
        self.reserve(epsilon)
        received = integers(transcript.last("pooled counts"), "net", len(found.pools))
        own = found.pools.astype(np.int64) @ self.sample.net
        best = int((found.patterns.astype(np.int64) @ (np.array(received, dtype=np.int64) + own)).max())
        noise = int(self.sampler.discrete_laplace(noise_scale(2, epsilon), 1)[0])
        scaled = setting.n_alice + setting.n_bob - best + noise
        return converse(transcript, self.release("noisy minimum", {"scaled": scaled}, epsilon))


class PoolHolder(FieldHolder):
    """Alice: one noisy count per pool.

    Privacy note. Precondition: the pools are public and have disjoint supports. One replaced record changes
    the net counts by v, |v|_1 <= 2, and the queries by (sum_x pools[g, x] v(x))_g, of L1 norm at most |v|_1.
    Discrete Laplace noise of scale >= 2/epsilon per query is epsilon-DP. Conclusion: for every C, however
    Bob chose it, the message is epsilon-DP.
    """

    def pools(self, transcript: Transcript, found: Localisation, epsilon: Fraction) -> Message:
        """Return the noisy pooled net counts, (G,) integers."""
        if found.pools is None:
            raise ProtocolError("There are no pools to count.")
        self.reserve(epsilon)
        counts = found.pools.astype(np.int64) @ self.sample.net
        noise = self.sampler.discrete_laplace(noise_scale(2, epsilon), len(counts))
        payload = {"net": (counts + noise).tolist()}
        return converse(transcript, self.release("pooled counts", payload, epsilon))


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
        alice_accepts, bob_accepts: asked with the public :class:`Localisation` before Alice spends anything;
            the run ends Inconclusive when one says False. A decision must depend on public values only.
        progress: told the fraction done while a noise table is drawn.

    Attributes:
        resolution: what is guaranteed whatever Bob's counts turn out to be; the certified t(C) of a run is
            at most this and stands in the transcript (message "localisation").

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
        alice_accepts: Accept | None = None,
        bob_accepts: Accept | None = None,
        progress: Progress = None,
    ) -> None:
        self.budgets = Budgets.of(setting, epsilon_alice, epsilon_bob)
        share = check_fraction("coarse", coarse)
        if not 0 < share < 1:
            raise ArgumentError("coarse", "a number with 0 < coarse < 1", describe(share))
        self._coarse, self._minimum = share * self.budgets.bob, (1 - share) * self.budgets.bob
        self._accepts = [accept for accept in (alice_accepts, bob_accepts) if accept is not None]
        field = tilted_field(setting.domain, setting.classes, self.budgets.alice)
        super().__init__(setting, field, (noise_scale(2, self._minimum),), 1, progress)
        self.resolution = None
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
        y = np.array(integers(transcript.last("coarse counts"), "net", setting.domain.m), dtype=np.int64)
        signs = candidates(setting, y, self._least())
        whole = self._whole_cut()
        if signs is None:
            return Localisation(-1, None, None, self.resolution, whole)
        if not len(signs):
            return Localisation(0, None, None, None, whole)
        pools, patterns = pooled(signs)
        seed = integers(Message("Alice", "seed", {"s": [_seed(transcript)]}, Fraction(0)), "s", 1, 2**62)[0]
        up, down = self._local_quantiles(patterns, seed)
        t = setting.tolerance + max(1, -(-(up + down - 1) // 2))
        if self.resolution is not None and t >= self.resolution:
            return Localisation(len(signs), None, None, self.resolution, whole)
        return Localisation(len(signs), pools, patterns, t, 2 * setting.tolerance + up)

    def _whole_cut(self) -> int:
        up = self.calibration.quantiles.single((1 - LOST) * self.setting.beta)
        return 2 * self.setting.tolerance + (0 if up is None else up)

    def _local_quantiles(self, patterns: NDArray[np.int8], seed: int) -> tuple[int, int]:
        """Return (up, down): bounds for the noise of one candidate and of the worst one.

        One candidate's noise is a sum of G discrete Laplaces, the same law for all: exact. The worst one's is
        bounded by the union over C, exactly, and by an order statistic of fresh draws; both are valid, and
        the smaller one counts.
        """
        setting, scale = self.setting, noise_scale(2, self.budgets.alice)
        count, width = patterns.shape
        law = dlap_sum_sf(width, scale, self._extra)
        up = law.quantile_upper((1 - LOST) * setting.beta)
        down = law.quantile_upper(setting.beta / count)
        draws = min(_DRAWS, _PRODUCTS // (count * width))
        index = order_index(draws, 1 - setting.beta, CALIBRATION_LOSS) if draws >= 100 else draws + 1
        if index > draws:
            return up, down
        sampler = SimSampler(seed)
        noise = sampler.discrete_laplace(scale, (draws, width))
        tops = _suprema(patterns, noise) + sampler.discrete_laplace(self._extra[0], draws)
        return up, min(down, int(np.sort(tops)[index - 1]) + 1)

    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Run the protocol once."""
        setting = self.setting
        transcript = Transcript({**self._parameters(self.budgets), "least_agreement": self._least()})
        scout = Scout("Bob", S_B, bob, Budget(self.budgets.bob))
        scout.coarse(transcript, setting, self._coarse)
        holder = PoolHolder("Alice", S_A, alice, Budget(self.budgets.alice))
        Coin("Alice", S_A, alice, holder.budget).toss(transcript)
        found = self.localise(transcript)
        self._announce(transcript, found)
        if not found.candidates:
            return Finding("Far", transcript, party_intervals=self._bob_interval(transcript))
        if not all(accept(found) for accept in self._accepts):
            return Finding("Inconclusive", transcript, party_intervals=self._bob_interval(transcript))
        if found.pools is None:
            holder.field(transcript, self.law, self.budgets.alice)
            message = scout.minimum(transcript, setting, self.law.unit, self._minimum)
        else:
            holder.pools(transcript, found, self.budgets.alice)
            message = scout.local_minimum(transcript, setting, found, self._minimum)
        scaled = int(message.payload["scaled"])
        return Finding(
            verdict="Far" if scaled >= found.cut else "Match",
            transcript=transcript,
            classifier=self._evidence(transcript, found),
            opt_interval=self._interval(scaled, found),
            party_intervals=self._bob_interval(transcript),
        )

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
        m = setting.domain.m
        coarse = np.array(integers(transcript.last("coarse counts"), "net", m), dtype=np.int64)
        if found.pools is None or found.patterns is None:
            field = np.array(integers(transcript.last("noisy field"), "net", m, 2**53), dtype=np.int64)
            return histogram.best_agreement(setting, field + self.law.unit * coarse)[1]
        pools, patterns = found.pools.astype(np.int64), found.patterns.astype(np.int64)
        received = np.array(integers(transcript.last("pooled counts"), "net", len(pools)), dtype=np.int64)
        chosen = patterns[int((patterns @ (received + pools @ coarse)).argmax())] @ pools
        return histogram.best_agreement(setting, chosen)[1]

    def _interval(self, scaled: int, found: Localisation) -> Interval | None:
        """Return a 1 - beta interval for opt.

        Upper end (beta/2): opt <= min over C of the mistakes <= (W + sup noise)/2. Lower end: if h* is in C,
        W <= 2 opt + its noise (3 beta/10); if not, 2 opt >= 2 err_B(h*) > n_B - least - its coarse noise
        (beta/5, the bound that defines C): opt > t0. The lower end is the smaller of the two.
        """
        setting, beta = self.setting, self.setting.beta
        late = beta / 2 - LOST * beta
        most = setting.largest_opt
        if found.patterns is None:
            up, down = self.calibration.quantiles.single(late), self.calibration.quantiles.sup(beta / 2)
            if up is None or down is None:
                return None
        else:
            law = dlap_sum_sf(found.patterns.shape[1], noise_scale(2, self.budgets.alice), self._extra)
            up, down = law.quantile_upper(late), law.quantile_upper(beta / 2 / len(found.patterns))
        inside = -((up - 1 - scaled) // 2)
        lower = min(max(min(inside, setting.tolerance + 1), 0), most)
        return lower, min(max((scaled + down - 1) // 2, lower), most)

    def _bob_interval(self, transcript: Transcript) -> dict[str, Interval]:
        """Return Bob's own interval from his coarse counts, by the exact single law and the union bound."""
        setting = self.setting
        y = np.array(integers(transcript.last("coarse counts"), "net", setting.domain.m), dtype=np.int64)
        noise = FieldNoise(setting.domain, setting.classes, noise_scale(2, self._coarse))
        doubled = setting.n_bob - histogram.best_agreement(setting, y)[0]
        try:
            interval = Calibration(noise).interval(doubled, setting.beta, self._most("Bob"))
        except CapacityError:
            return {}
        return {} if interval is None else {"Bob": interval}


def _seed(transcript: Transcript) -> Any:
    return transcript.last("calibration seed").payload.get("seed")


def _suprema(patterns: NDArray[np.int8], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (B,) values of max over the patterns of <g, z>, exactly."""
    largest = int(np.abs(noise).sum(axis=1).max(initial=0))
    kind = np.float32 if largest < 2**24 else np.float64  # sums of integers below 2^24, 2^53 are exact
    if largest >= 2**53:
        return np.asarray((noise @ patterns.astype(np.int64).T).max(axis=1))
    table, out = patterns.T.astype(kind), np.empty(len(noise), dtype=np.int64)
    step = max(1, 2**24 // len(patterns))
    for first in range(0, len(noise), step):
        block = noise[first : first + step].astype(kind) @ table
        out[first : first + step] = block.max(axis=1).astype(np.int64)
    return out
