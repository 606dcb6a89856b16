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
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.classifier import Halfspace
from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    check_choice,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.geometry.flats import distinct_lines
from geomdp.geometry.subsets import cover_pairs
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler
from geomdp.protocol.script import Script
from geomdp.protocol.transcript import PARTIES, Transcript
from geomdp.testers.base import Finding, Setting
from geomdp.testers.elimination_delta import check_delta, rho_for
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
    LISTED_HIGH,
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
from geomdp.testers.elimination_turns import EliminationParty, finish_turns, round_turns
from geomdp.testers.histogram_law import class_count
from geomdp.testers.scripted import ScriptedTester

#: Domains with more dichotomies than this are not enumerated.
MOST_CANDIDATES = 2_000_000
#: Counting is attempted only where Cover's bound on the number of dichotomies is below this.
MOST_COVER = 20_000_000
#: The assumed menus of more candidates take long to measure: only when asked for.
MOST_MEASURED = 10_000
#: Candidates of more dimensions are not cut by cones: these would be too many.
MOST_DIMENSIONS = 5
#: Of the calibration, in the cache's keys: another one may certify another resolution.
VERSION = 2
#: Menus are assumed for sets in which this many candidates may cross a cell; smaller ones are listed.
ASSUMED = 24
#: In the cache: no resolution.
NOTHING = -1

Progress = Callable[[float], None] | None


class _UnmeasuredError(Exception):
    """The assumed menus are not known, and measuring them was not asked for."""


class HalfspaceElimination(ScriptedTester):
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

    Menus are built while a run goes on, and kept for the next ones. In three dimensions that takes seconds,
    and in more where candidates are few enough to be listed (1 s for the 104 of a 2 x 2 x 2 grid). Beyond,
    cutting takes 20 s for 2,702 candidates in four dimensions (3 x 3 x 3) and minutes for some hundred in
    five; `note` says so.

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

    Raises:
        ArgumentError: unless ``retries`` is an integer with 0 <= retries <= 4, ``constants`` is "calibrated"
            or "paper", ``guarantee`` is "certified" or "unless-inconclusive" and ``delta`` is None with the
            paper's constants.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
        >>> HalfspaceElimination(Setting(D, 20000, 20000, 1), constants="paper").resolution
        16121
    """

    name = "halfspace-elimination"

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
        half = (self.candidates + 1) // 2  # on pointed domains candidates come in opposite pairs
        if self.dimension > 3 and cover_pairs(half, self.dimension) * self.candidates > LISTED_HIGH:
            self.note = (
                f"the first run may take minutes: menus of {self.candidates} candidates in {self.dimension} "
                "dimensions are built while it runs"
            )

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

    def party(self, name: str, sample: Sample, sampler: Sampler) -> EliminationParty:
        """Return one party that has counted its mistakes, with a fresh budget in the rounds' currency."""
        party = EliminationParty(name, sample, sampler, Budget(self.allotted))
        party.prepare(menus_of(self.setting.domain).weights)
        return party

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Run the protocol: selections in turn, the counting finish where it is reached.

        Every step follows from the public state, which both parties compute alike from the messages: the
        opening states a digest of the candidates and of the rule that menus follow, so that two ends with
        other ones part before anything is drawn.
        """
        menus = menus_of(self.setting.domain)
        state = self.start(menus)
        while True:
            step, verdict = self.next_step(menus, state)
            if step is None:
                return Finding(verdict, transcript)
            if isinstance(step, Finish):
                totals = yield from finish_turns(step, state, transcript)
                best = totals.index(min(totals))
                if totals[best] > step.cut:
                    return Finding("Far", transcript)
                return Finding("Match", transcript, Halfspace.of(menus.weights[state.alive[best]]))
            after = yield from round_turns(step, state, transcript)
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

    def opening(self) -> dict[str, Any]:
        """Return the public parameters of a run, with a digest of all that its menus follow from."""
        cap = self.published.k + 1 if self.published else self.calibration.cap if self.calibration else 0
        return {
            **self.facts(),
            "guarantee": self.guarantee,
            "delta": None if self.delta is None else str(self.delta),
            "retries": self.retries,
            "resolution": self.resolution,
            "candidates": self.candidates,
            "menus": menus_of(self.setting.domain).digest,
            "cap": cap,
        }


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
