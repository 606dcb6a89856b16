"""Halfspace elimination: two parties cut the set of all dichotomies down until one gives up or none is left.

Every labelling of the domain by a halfspace has one representative weight vector. A party whose low-error
candidates lie in few of them offers a public container that holds these and drops the others; when neither
can, low-error regions overlap and the data can be fitted jointly. Source: (paper, Algorithm 3, Theorem 4.7
and, for mixed labels, Corollary 4.8). Calibration and proofs: :mod:`geomdp.testers.elimination_plan`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.classifier import Halfspace, products
from geomdp.core.domain import Domain
from geomdp.core.errors import BudgetError, CapacityError, ProtocolError, check_choice
from geomdp.core.sample import Sample
from geomdp.geometry.containers import MOST_LISTED
from geomdp.geometry.subsets import cover_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Finding, Setting, Tester
from geomdp.testers.elimination_plan import (
    Calibration,
    Cutting,
    PaperConstants,
    calibrate,
    paper_constants,
)
from geomdp.testers.elimination_rounds import (
    Finish,
    Menus,
    Round,
    State,
    members,
    next_step,
    paper_step,
    ratios,
)
from geomdp.testers.histogram_law import class_count

#: Domains with more dichotomies than this are not enumerated.
MOST_CANDIDATES = 2_000_000
#: Counting is attempted only where Cover's bound on the number of dichotomies is below this.
MOST_COVER = 20_000_000
#: Inner products held at a time while mistakes are counted.
_BLOCK = 2**22
BOTTOM = -1
#: In the cache: no resolution.
NOTHING = -1

Progress = Callable[[float], None] | None


def mistakes(sample: Sample, weights: NDArray[Any]) -> NDArray[np.int64]:
    """Return f(w), the records that each candidate labels wrongly, shape (N,), exactly.

    Args:
        sample: one party's records.
        weights: (N, d) integers.

    Example:
        >>> S = Sample.from_cells(Domain([[0, 1], [1, 1]]), [0, 1, 1], [-1, 1, 1])
        >>> mistakes(S, np.array([[2, -1], [-2, 1]])).tolist()
        [0, 3]
    """
    points, net = sample.points, (sample.positives - sample.negatives)
    out = np.empty(len(weights), dtype=np.int64)
    block = max(1, _BLOCK // max(1, len(points)))
    for start in range(0, len(weights), block):
        part = weights[start : start + block]
        positive = products(part, np.ascontiguousarray(points.T)) >= 0
        out[start : start + block] = np.asarray(positive, dtype=bool) @ (-net)
    return out + int(sample.positives.sum())


class EliminationParty(Party):
    """A party that selects members and counts mistakes.

    Proof note. Precondition: `step` is a function of the transcript. Replacing one record changes every f(w)
    by at most 1, so every member's score by at most the grain, and bottom's not at all. Permute-and-flip at
    acceptance rate c per unit is the race of score + exponential noise of rate c: bottom's probability
    changes by at most e^c, a member's by at most e^2c. The counts of N candidates move by at most N in L1.
    Conclusion: the message costs what it says. The larger price is known to be covered before anything is
    drawn, and the price of what was drawn is charged before the message exists.
    """

    def prepare(self, weights: NDArray[Any]) -> None:
        """Count this party's mistakes once for all candidates."""
        self._errors = mistakes(self.sample, weights)

    def select(self, step: Round, alive: NDArray[np.int64]) -> Message:
        """Return the selected member's index, or bottom."""
        menu, f = step.menus[self.name], self._errors[alive]
        scores = menu.scores(f, step.cap) if len(menu) else np.array([min(step.cap, int(f.min()))])
        if self.budget.left < step.member_price:
            raise BudgetError("A round exceeds what is left of the budget; nothing was drawn.")
        self.reserve(step.price)
        scale = noise_scale(2 * step.grain, step.member_price)
        chosen = self.sampler.permute_and_flip([*(step.grain * scores).tolist(), step.bottom], scale)
        price, index = step.price, BOTTOM
        if chosen < len(scores):
            self.reserve(step.member_price - step.price)
            price, index = step.member_price, int(chosen)
        return self.release("selection", {"index": index, "candidates": len(alive)}, price)

    def count(self, step: Finish, alive: NDArray[np.int64]) -> Message:
        """Return the noisy mistakes of every candidate alive."""
        self.reserve(step.epsilon)
        noise = self.sampler.discrete_laplace(noise_scale(len(alive), step.epsilon), len(alive))
        return self.release("mistakes", {"values": (self._errors[alive] + noise).tolist()}, step.epsilon)


class HalfspaceElimination(Tester):
    """Elimination of dichotomies by privately selected containers, for linear halfspaces on a pointed domain.

    Guarantee. Match with probability >= 1 - beta if opt <= tolerance, Far with probability >= 1 - beta if
    opt >= resolution, for mixed or disjoint labels and any numbers of records, in three strengths:

    * "analytic": whatever menus occur, on domains whose candidates can all be listed by exact halfspace
      subsets (pairs * N <= MOST_LISTED: some hundreds of candidates).
    * "unless-oversize": the same constants on larger domains. The exact lists are affordable there, too, but
      too long to be written out; a run whose candidates cannot be cut cheaply enough before they are few
      enough to be listed ends in "Inconclusive". That event depends on public facts only.
    * "unless-inconclusive": the menus of later rounds are assumed to be no larger than those of the first; a
      run that finds otherwise and cannot pay ends in "Inconclusive". The paper's constants rest on an assumed
      menu bound as well (its universal constant is taken as 1).

    Args:
        setting: the public setting.
        constants: "calibrated", or "paper" for the constants of the published analysis.
        guarantee: "certified" ("analytic" or "unless-oversize", whichever holds on this domain) or
            "unless-inconclusive" (smaller, with assumed menus).
        progress: told the fraction done while the assumed menus are measured.

    Attributes:
        resolution: the certified t, or None with a `reason`.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
        >>> HalfspaceElimination(Setting(D, 20000, 20000, 1), constants="paper").resolution
        16121
    """

    def __init__(
        self,
        setting: Setting,
        *,
        constants: str = "calibrated",
        guarantee: str = "certified",
        progress: Progress = None,
    ) -> None:
        super().__init__(setting)
        check_choice("constants", constants, ("calibrated", "paper"))
        check_choice("guarantee", guarantee, ("certified", "unless-inconclusive"))
        self.constants = constants
        self.guarantee = "unless-oversize" if guarantee == "certified" else guarantee
        if constants == "paper":
            self.guarantee = "unless-inconclusive"
        self.name = "halfspace-elimination" + ("-paper" if constants == "paper" else "")
        self.published: PaperConstants | None = None
        self.candidates = 0
        self._progress = progress
        self.reason = self._obstacle()
        if self.reason:
            return
        listed = cover_pairs(self.candidates, setting.domain.d) * self.candidates <= MOST_LISTED
        if self.guarantee == "unless-oversize" and listed:
            self.guarantee = "analytic"
        self._resolve()

    def _obstacle(self) -> str:
        domain = self.setting.domain
        if self.setting.classes != "halfspaces":
            return "it tests halfspaces; thresholds on a line have far better testers"
        if not domain.pointed:
            return "the domain lies in no open halfspace, so some dichotomies have no generic representative"
        if cover_pairs(domain.m, domain.d) * 2 > MOST_COVER:
            return f"more than {MOST_CANDIDATES} dichotomies may have to be enumerated"
        self.candidates = class_count(domain, "halfspaces")
        if self.candidates > MOST_CANDIDATES:
            return f"{self.candidates} dichotomies exceed the {MOST_CANDIDATES} that are enumerated"
        return ""

    def _resolve(self) -> None:
        """Set the resolution; the calibrated one is kept on disk, as its table takes a second or two."""
        s = self.setting
        if self.constants == "paper":
            self.published = paper_constants(self.candidates, s.domain.d, s.epsilon, s.beta, s.tolerance)
            self.resolution = self.published.resolution
            return
        key = {
            "table": self.name,
            "guarantee": self.guarantee,
            "domain": s.domain.fingerprint,
            "epsilon": str(s.epsilon),
            "beta": str(s.beta),
            "tolerance": s.tolerance,
        }
        value = int(cached(key, lambda: np.array([self._certified()]))[0])
        if value == NOTHING:
            self.reason = "its budget table would be too large here"
        else:
            self.resolution = value

    def _certified(self) -> int:
        try:
            return NOTHING if self.calibration is None else self.calibration.resolution
        except CapacityError:
            return NOTHING

    @cached_property
    def calibration(self) -> Calibration | None:
        """The calibrated constants, or None with the paper's; computed on first use."""
        s = self.setting
        if self.constants == "paper":
            return None
        assumed: tuple[Cutting, ...] = ()
        if self.guarantee == "unless-inconclusive":
            assumed = first_menus(s.domain, self._progress)
        return calibrate(
            self.candidates, s.domain.d, s.epsilon, s.beta, tolerance=s.tolerance, assumed=assumed
        )

    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Run the protocol once: selections in turn, the counting finish where it is reached."""
        menus = menus_of(self.setting.domain)
        epsilon = self.setting.epsilon
        parties = {
            "Alice": EliminationParty("Alice", S_A, alice, Budget(epsilon)),
            "Bob": EliminationParty("Bob", S_B, bob, Budget(epsilon)),
        }
        for party in parties.values():
            party.prepare(menus.weights)
        transcript = Transcript(self.parameters())
        state = self.start(menus)
        while True:
            step, verdict = self.next_step(menus, state)
            if isinstance(step, Finish):
                return self._finish(step, state, parties, transcript, menus)
            if step is None:
                return Finding(verdict, transcript)
            chosen = _play(step, state, parties, transcript)
            if chosen is None:
                return Finding("Match", transcript)
            left = {name: epsilon - transcript.spent(name) for name in parties}
            state = State(chosen, left, state.risk - step.share, state.rounds + 1)

    def start(self, menus: Menus) -> State:
        """Return the public state before the first message."""
        everything = np.arange(len(menus.weights), dtype=np.int64)
        risk = float(self.setting.beta) * (1 - 2e-9)
        return State(everything, dict.fromkeys(PARTIES, self.setting.epsilon), risk)

    def next_step(self, menus: Menus, state: State) -> tuple[Round | Finish | None, str]:
        """Return the next step, or None with the verdict."""
        if not len(state.alive):
            return None, "Far"
        if self.published is not None:
            if state.rounds == self.published.rounds:
                return None, "Match"
            try:
                return paper_step(menus, state, self.published, self.setting.epsilon), "Inconclusive"
            except CapacityError:
                return None, "Inconclusive"
        assert self.calibration is not None  # noqa: S101 - one of the two is set when there is no obstacle
        return next_step(menus, state, self.calibration), "Inconclusive"

    def _finish(
        self,
        step: Finish,
        state: State,
        parties: dict[str, EliminationParty],
        transcript: Transcript,
        menus: Menus,
    ) -> Finding:
        totals = np.zeros(len(state.alive), dtype=object)
        for party in parties.values():
            message = converse(transcript, party.count(step, state.alive))
            totals = totals + np.array(integers(message, "values", len(state.alive), 2**60), dtype=object)
        best = int(np.argmin(totals))
        if totals[best] > step.cut:
            return Finding("Far", transcript)
        return Finding("Match", transcript, Halfspace.of(menus.weights[state.alive[best]]))

    def parameters(self) -> dict[str, Any]:
        """Return the public parameters that open every transcript."""
        s = self.setting
        cap = self.published.k + 1 if self.published else self.calibration.cap if self.calibration else 0
        return {
            "protocol": self.name,
            "guarantee": self.guarantee,
            "domain": s.domain.fingerprint,
            "n_alice": s.n_alice,
            "n_bob": s.n_bob,
            "epsilon": str(s.epsilon),
            "beta": str(s.beta),
            "labels": s.labels,
            "tolerance": s.tolerance,
            "resolution": self.resolution,
            "candidates": self.candidates,
            "cap": cap,
        }


def _play(
    step: Round, state: State, parties: dict[str, EliminationParty], transcript: Transcript
) -> NDArray[np.int64] | None:
    """Play one round; return the candidates that stay, or None after two bottoms."""
    for name in (step.first, step.second):
        message = converse(transcript, parties[name].select(step, state.alive))
        index = message.payload.get("index")
        menu = step.menus[name]
        if type(index) is not int or not BOTTOM <= index < max(1, len(menu)):
            raise ProtocolError("Message 'selection' must hold 'index', a member of the public menu or -1.")
        if index != BOTTOM:
            return state.alive[menu.members(index)] if len(menu) else state.alive[:0]
    return None


@lru_cache(maxsize=2)
def menus_of(domain: Domain) -> Menus:
    """Return the menu builder over one generic representative of every dichotomy."""
    from geomdp.geometry.arrangement import dichotomies

    return Menus(dichotomies(domain, generic=True, limit=MOST_CANDIDATES).weights)


@lru_cache(maxsize=4)
def first_menus(domain: Domain, progress: Progress) -> tuple[Cutting, ...]:
    """Return the sizes of the first round's menus, which later rounds are assumed not to exceed.

    Empty where the candidates are too few to be cut: the certified calibration then serves as it is.
    """
    menus = menus_of(domain)
    n = len(menus.weights)
    found = []
    for i, ratio in enumerate(ratios(domain.d)[:2]):
        if int(ratio * n) > n // 2:
            try:
                menu = menus.get(np.arange(n, dtype=np.int64), n // 2, int(ratio * n), "cones")
            except CapacityError:
                continue
            found.append(Cutting(float(ratio), members(menu)))
        if progress is not None:
            progress((i + 1) / 2)
    return tuple(found)
