"""Halfspace elimination: two parties cut the set of all dichotomies down until one gives up or none is left.

Every labelling of the domain by a halfspace has one representative weight vector. A party whose low-error
candidates lie in few of them offers a public container that holds these and drops the others; when neither
can, low-error regions overlap and the data can be fitted jointly. Source: (paper, Algorithm 3, Theorem 4.7
and, for mixed labels, Corollary 4.8). Calibration and proofs: :mod:`geomdp.testers.elimination_plan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.classifier import Halfspace, products
from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    BudgetError,
    CapacityError,
    ProtocolError,
    check_choice,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.geometry.flats import distinct_lines
from geomdp.geometry.subsets import cover_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party, converse, integers
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Finding, Setting, Tester
from geomdp.testers.elimination_delta import check_delta, exponential, rho_for
from geomdp.testers.elimination_plan import (
    Calibration,
    Cutting,
    PaperConstants,
    calibrate,
    most_listed,
    paper_constants,
    proved_cuttings,
)
from geomdp.testers.elimination_rounds import (
    SHARES_CROSSING,
    Finish,
    Menus,
    Round,
    State,
    members,
    members_of,
    next_step,
    paper_step,
    ratios,
)
from geomdp.testers.histogram_law import class_count

#: Domains with more dichotomies than this are not enumerated.
MOST_CANDIDATES = 2_000_000
#: Counting is attempted only where Cover's bound on the number of dichotomies is below this.
MOST_COVER = 20_000_000
#: The assumed menus of more candidates take long to measure: only when asked for.
MOST_MEASURED = 10_000
#: Inner products held at a time while mistakes are counted.
_BLOCK = 2**22
#: Candidates of more dimensions are not cut by cones: these would be too many.
MOST_DIMENSIONS = 5
#: Of the calibration, in the cache's keys: another one may certify another resolution.
VERSION = 2
BOTTOM = -1
#: Menus are assumed for sets in which this many candidates may cross a cell; smaller ones are listed.
ASSUMED = 24
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


class _UnmeasuredError(Exception):
    """The assumed menus are not known, and measuring them was not asked for."""


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
        scale = noise_scale(2 * step.grain, step.loss)
        select = partial(exponential, self.sampler) if step.concentrated else self.sampler.permute_and_flip
        chosen = select([*(step.grain * scores).tolist(), step.bottom], scale)
        index = int(chosen) if chosen < len(scores) else BOTTOM
        if index != BOTTOM:
            self.reserve(step.member_price - step.price)
        return self.release("selection", {"index": index, "candidates": len(alive)}, step.stated(index))

    def count(self, step: Finish, alive: NDArray[np.int64]) -> Message:
        """Return the noisy mistakes of every candidate alive."""
        self.reserve(step.price)
        noise = self.sampler.discrete_laplace(noise_scale(len(alive), step.epsilon), len(alive))
        return self.release("mistakes", {"values": (self._errors[alive] + noise).tolist()}, step.epsilon)


class HalfspaceElimination(Tester):
    """Elimination of dichotomies by privately selected containers, for linear halfspaces on any domain.

    Guarantee. Match with probability >= 1 - beta if opt <= tolerance, Far with probability >= 1 - beta if
    opt >= resolution, for mixed or disjoint labels and any numbers of records, in three strengths:

    * "analytic": whatever menus occur, where the candidates live in at most three dimensions (level cuttings
      of proved size exist) or can all be listed by exact halfspace subsets (pairs * N <= MOST_LISTED: some
      hundreds of candidates in three dimensions, about a hundred in four).
    * "unless-oversize": in higher dimensions. The exact lists are affordable there, too, but too long to be
      written out; a run whose candidates cannot be cut cheaply enough before they are few enough to be listed
      ends in "Inconclusive". That event depends on public facts only.
    * "unless-inconclusive": the menus of later rounds are assumed to be no larger than those of the first; a
      run that finds otherwise and cannot pay ends in "Inconclusive". The paper's constants rest on an assumed
      menu bound as well (its universal constant is taken as 1).

    The dimension is the rank of the domain where it is pointed, else one more (candidates (w, 1)).

    Args:
        setting: the public setting.
        constants: "calibrated", or "paper" for the constants of the published analysis.
        guarantee: "certified" ("analytic" or "unless-oversize", whichever holds on this domain) or
            "unless-inconclusive" (smaller, with assumed menus).
        delta: None for pure privacy; else the run is (epsilon, delta)-private, with a smaller resolution.
            Messages still state their pure losses, which then add up to more than epsilon.
        retries: double bottoms that are repeated before one is believed; one or two lower the resolution a
            little, at longer runs.
        measure: False to leave the assumed menus of many (MOST_MEASURED) candidates unmeasured, which gives
            a `reason` in place of a resolution unless it is known from an earlier run; it takes 10 seconds
            for 40,000 candidates and minutes for 600,000.
        progress: told the fraction done while the assumed menus are measured.

    Attributes:
        resolution: the certified t, or None with a `reason`.
        privacy: "pure" or "(eps,delta)".
        allotted: each party's budget: epsilon, or rho of zero-concentrated privacy.

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
        delta: Fraction | float | str | None = None,
        retries: int = 0,
        measure: bool = True,
        progress: Progress = None,
    ) -> None:
        super().__init__(setting)
        self._measure = measure
        self.delta = None if delta is None else check_delta(delta)
        self.retries = check_integer("retries", retries, 0, 4) if constants != "paper" else 0
        check_choice("constants", constants, ("calibrated", "paper"))
        check_choice("guarantee", guarantee, ("certified", "unless-inconclusive"))
        self.constants = constants
        self.guarantee = "unless-oversize" if guarantee == "certified" else guarantee
        if constants == "paper":
            self.guarantee = "unless-inconclusive"
        self.name = "halfspace-elimination" + ("-paper" if constants == "paper" else "")
        self.privacy = "pure" if self.delta is None else "(eps,delta)"
        if self.delta is not None:
            if constants == "paper":
                raise ArgumentError("delta", "None with the paper's constants", describe(delta))
            self.name += "-delta"
        self.published: PaperConstants | None = None
        self.candidates = 0
        self.dimension = 0
        self._progress = progress
        self.reason = self._obstacle()
        if self.reason:
            return
        proved = bool(proved_cuttings(self.dimension)) or self.candidates <= most_listed(self.dimension)
        if self.guarantee == "unless-oversize" and proved:
            self.guarantee = "analytic"
        self._resolve()

    @cached_property
    def allotted(self) -> Fraction:
        """Each party's budget, in the currency of the rounds."""
        s = self.setting
        return s.epsilon if self.delta is None else rho_for(s.epsilon, self.delta)

    def _obstacle(self) -> str:
        domain = self.setting.domain
        if self.setting.classes != "halfspaces":
            return "it tests halfspaces; thresholds on a line have far better testers"
        if domain.ordered and domain.m > MOST_COVER:
            return f"more than {MOST_CANDIDATES} dichotomies may have to be enumerated"
        self.dimension = distinct_lines(domain.points).rank + (0 if domain.pointed else 1)
        if cover_pairs(domain.m, self.dimension) * 2 > MOST_COVER:
            return f"more than {MOST_CANDIDATES} dichotomies may have to be enumerated"
        self.candidates = class_count(domain, "halfspaces")
        if self.candidates > MOST_CANDIDATES:
            return f"{self.candidates} dichotomies exceed the {MOST_CANDIDATES} that are enumerated"
        if self.dimension > MOST_DIMENSIONS and self.candidates > most_listed(self.dimension):
            return f"candidates of {self.dimension} dimensions are neither cut nor, so many, listed"
        return ""

    def _resolve(self) -> None:
        """Set the resolution; the calibrated one is kept on disk, as its table takes a second or two."""
        s = self.setting
        if self.constants == "paper":
            self.published = paper_constants(self.candidates, self.dimension, s.epsilon, s.beta, s.tolerance)
            self.resolution = self.published.resolution
            return
        key = {
            "table": self.name,
            "version": VERSION,
            "guarantee": self.guarantee,
            "domain": s.domain.fingerprint,
            "epsilon": str(s.epsilon),
            "delta": str(self.delta),
            "retries": self.retries,
            "beta": str(s.beta),
            "tolerance": s.tolerance,
        }
        try:
            value = int(cached(key, lambda: np.array([self._certified()]))[0])
        except _UnmeasuredError:
            self.reason = f"{self.candidates} candidates: menus are measured by a plan with thorough=True"
            return
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
            if not self._measure and self.candidates > MOST_MEASURED:
                raise _UnmeasuredError
            assumed = first_menus(s.domain, self._progress)
        return calibrate(
            self.candidates,
            self.dimension,
            self.allotted,
            s.beta,
            tolerance=s.tolerance,
            assumed=assumed,
            concentrated=self.delta is not None,
            retries=self.retries,
        )

    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Run the protocol once: selections in turn, the counting finish where it is reached."""
        menus = menus_of(self.setting.domain)
        parties = {
            "Alice": EliminationParty("Alice", S_A, alice, Budget(self.allotted)),
            "Bob": EliminationParty("Bob", S_B, bob, Budget(self.allotted)),
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
            after = _play(step, state, parties, transcript)
            if after is None:
                return Finding("Match", transcript)
            state = after

    def start(self, menus: Menus) -> State:
        """Return the public state before the first message."""
        everything = np.arange(len(menus.weights), dtype=np.int64)
        risk = float(self.setting.beta) * (1 - 2e-9)
        return State(everything, dict.fromkeys(PARTIES, self.allotted), risk, 0, self.retries)

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
            check_count(step, message, party.name)
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
            **({} if self.delta is None else {"delta": str(self.delta)}),
            **({"retries": self.retries} if self.retries else {}),
            "beta": str(s.beta),
            "labels": s.labels,
            "tolerance": s.tolerance,
            "resolution": self.resolution,
            "candidates": self.candidates,
            "cap": cap,
        }


def _play(
    step: Round, state: State, parties: dict[str, EliminationParty], transcript: Transcript
) -> State | None:
    """Play one round; return the state after it, or None after two bottoms."""
    for name in (step.first, step.second):
        message = converse(transcript, parties[name].select(step, state.alive))
        state, index = read_selection(step, state, message, name)
        if index != BOTTOM:
            return state
    return after_bottoms(step, state)


def after_bottoms(step: Round, state: State) -> State | None:
    """Return the state after two bottoms: the same candidates with a retry less, or None for Match."""
    if not state.lives:
        return None
    return State(state.alive, state.left, state.risk - step.share, state.rounds + 1, state.lives - 1)


def read_selection(step: Round, state: State, message: Message, name: str) -> tuple[State, int]:
    """Return the state after one party's selection, and the index selected.

    Everything is recomputed from the public step: what the message may hold and what it costs. A message that
    states another price, comes from the other party, or names no member, is refused, so that a party that
    keeps books by a dishonest counterpart's figures cannot exist.

    Raises:
        ProtocolError: when the message cannot be this round's.
    """
    index, menu = message.payload.get("index"), step.menus[name]
    form = message.sender == name and message.kind == "selection"
    if not form or type(index) is not int or not BOTTOM <= index < max(1, len(menu)):
        raise ProtocolError("Message 'selection' must hold 'index', a member of the public menu or -1.")
    if message.payload.get("candidates") != len(state.alive):
        raise ProtocolError("Message 'selection' must hold 'candidates', the public number of candidates.")
    price = step.price if index == BOTTOM else step.member_price
    if message.epsilon != step.stated(index):
        raise ProtocolError(f"Message 'selection' must state the public loss {step.stated(index)}.")
    left = {**state.left, name: state.left[name] - price}
    if index == BOTTOM:
        return State(state.alive, left, state.risk, state.rounds, state.lives), index
    alive = state.alive[menu.members(index)] if len(menu) else state.alive[:0]
    return State(alive, left, state.risk - step.share, state.rounds + 1, state.lives), index


def check_count(step: Finish, message: Message, name: str) -> None:
    """Refuse a message of the counting finish with another sender, kind or price than the public step's.

    Raises:
        ProtocolError: as said; the values are checked where they are read.
    """
    if (message.sender, message.kind) != (name, "mistakes"):
        raise ProtocolError(f"The transcript must go on with 'mistakes' of {name}.")
    if message.epsilon != step.epsilon:
        raise ProtocolError(f"Message 'mistakes' must state the public loss {step.epsilon}.")


@lru_cache(maxsize=2)
def menus_of(domain: Domain) -> Menus:
    """Return the menu builder over one generic representative of every dichotomy."""
    from geomdp.geometry.arrangement import dichotomies

    weights = dichotomies(domain, generic=True, limit=MOST_CANDIDATES).weights
    return Menus(weights, lifted=not domain.pointed)


@lru_cache(maxsize=4)
def first_menus(domain: Domain, progress: Progress) -> tuple[Cutting, ...]:
    """Return the sizes of the first round's menus, which later rounds are assumed not to exceed.

    Empty where the candidates are too few to be cut: the certified calibration then serves as it is.
    """
    menus = menus_of(domain)
    n, d = menus.vectors.shape
    everything = np.arange(n, dtype=np.int64)
    tries = SHARES_CROSSING if proved_cuttings(d) else tuple(2 * ratio - 1 for ratio in ratios(d)[:2])
    found = []
    for i, share in enumerate(tries):
        both = _first_menu(menus, everything, share)
        if both is not None:
            found.append(Cutting((1 + share) / 2, -(-(both - 1) // 2), math.ceil(ASSUMED / share)))
        if progress is not None:
            progress((i + 1) / len(tries))
    return tuple(found)


def _first_menu(menus: Menus, everything: NDArray[np.int64], share: Fraction) -> int | None:
    """Return the number of members, for both parties, of the first round's menus at some share."""
    n, d = menus.vectors.shape
    if proved_cuttings(d):
        cells = menus.cells(everything, int(share * n))
        if cells is None:
            return None
        total = n + cells.cross
        return members_of(menus.opposite(everything, cells, (total // 2, total - total // 2)))
    if int((1 + share) / 2 * n) <= n // 2:
        return None
    try:
        return 2 * members(menus.get(everything, n // 2, int((1 + share) / 2 * n), "cones"))
    except CapacityError:
        return None
