r"""A private tester for the domains of hard instances: noisy histograms, and a certified interval decides.

Hard instances live in dimensions where an exact sweep over all halfspaces is out of reach, and their domains
hold x and -x, so that no open halfspace contains them. Both obstacles only concern the public part of the
histogram protocol:

* The parties release noisy net counts, as in :class:`geomdp.testers.histogram.TwoHistograms`; what follows
  is post-processing. So opt of the noisy counts need not be found: any certified interval around it is as
  private, and it decides as soon as it lies on one side of the cut.
* The union bound needs a bound on the number of labelings only, see :func:`labelings_bound`.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    check_choice,
    check_epsilon,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.core.sample import Sample
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.protocol.party import Party
from geomdp.protocol.script import Script, Turn
from geomdp.protocol.transcript import PARTIES, Transcript
from geomdp.testers.base import Finding, Interval, Outcome, Setting
from geomdp.testers.histogram import HistogramParty, crowded, histogram_schema, received, weighted
from geomdp.testers.histogram_law import FieldNoise
from geomdp.testers.plan import PlanRow
from geomdp.testers.scripted import ScriptedTester

if TYPE_CHECKING:
    from lp_gadgets.instance import HardInstance

#: Seconds of the first look at all cells.
FIRST_LOOK = 1.0
#: Longest time limit, in seconds: a year.
MOST_SECONDS = 31_536_000


class GapWarning(UserWarning):
    """The resolution exceeds what the instance promises: F = 1 need not be answered Far.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> import warnings
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     tester = CertifiedHistograms.for_instance(inst, epsilon=1)
        >>> [warning.category.__name__ for warning in told], tester.resolution > tester.gap
        (['GapWarning'], True)
    """


def labelings_bound(domain: Domain) -> int:
    """Return a bound on the labelings of a domain by x -> +1 iff <w, x> >= 0, whatever its points.

    On finitely many points <w, x> >= 0 and <w, x> + c > 0 agree for some c > 0, so every labeling is one of
    the points (x, 1) that no hyperplane of (w, c) touches: at most 2 sum_{i < d'} C(m - 1, i), where d' is
    the dimension of these points, d + 1 [Cover 1965]. Where a coordinate is positive on all points, adding it
    moves them off the hyperplane already, and d' = d.

    Example:
        >>> labelings_bound(Domain([[1], [-1], [0]]))  # the true labelings: +-+, -++, +++
        6
        >>> labelings_bound(Domain.grid([("x", 0, 1, 4)]))
        8
    """
    dimensions = domain.d + (0 if domain.pointed else 1)
    return 2 * sum(math.comb(domain.m - 1, i) for i in range(min(dimensions, domain.m)))


class CertifiedHistograms(ScriptedTester):
    """Both parties release noisy histograms; a certified interval for opt of their sum decides.

    With v the noisy net counts of both parties and W = n_A + n_B - max_h <h, v>, twice the noisy estimate of
    opt, let [W_low, W_top] be a certified interval for W. The cut is c = 2 t0 + q1, the answer Far if
    W_low >= c, Match if W_top < c, and Inconclusive if the time does not suffice for either.

    * If opt <= t0, W is at most 2 t0 plus the noise of the best classifier, which reaches q1 with probability
      at most beta: the answer is not Far.
    * If opt >= t, W >= 2 t minus the largest noise of any labeling, which reaches q2 with probability at most
      beta, by the union bound: with 2 t - (q2 - 1) >= c the answer is not Match.

    Privacy note. Precondition: net counts of integer records, see
    :class:`geomdp.testers.histogram.HistogramParty`; each party releases one noisy histogram, at the cost of
    epsilon. The interval, the verdict and the time that they take are functions of these two messages and of
    public numbers. Conclusion: each party's transcript is epsilon-DP, whatever the other does and whether the
    solver ends or not. (A message with the exact minimum, as in
    :class:`geomdp.testers.histogram.OneWay`, has no such freedom: the end of an interval has no bounded
    sensitivity.)

    Both ends of a remote run (:meth:`attend`) compute the interval for themselves, each with its own time
    limit; they can differ only in that one of them says Inconclusive.

    Args:
        setting: the public setting, of class "halfspaces".
        time_limit: seconds for the certified interval.
        gap: what opt is at least if it is not a match, where that is known; see :meth:`for_instance`.

    Raises:
        ArgumentError: when the setting is none, or of another class, the time limit is no number of seconds
            from 0 to a year, or the gap no integer >= 1.

    Source: the testing problem is Definition 1.2 of the paper; the tester is ours.

    Warns:
        GapWarning: when the resolution exceeds the gap, so that Far is not owed at the gap.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), q=2, J=4000, L=1000)
        >>> tester = CertifiedHistograms.for_instance(inst, epsilon=1)
        >>> tester.resolution < inst.gap, tester.guarantee
        (True, 'unless-inconclusive')
        >>> outcome = tester.run(*inst.encode(*inst.words(1)), rng=0)  # rng: simulated, private for nobody
        >>> outcome.verdict, outcome.epsilon_spent, outcome.simulated
        ('Far', Fraction(1, 1), True)
    """

    name = "certified-histograms"
    guarantee = "unless-inconclusive"

    def __init__(self, setting: Setting, time_limit: float = 60.0, gap: int | None = None) -> None:
        if not isinstance(setting, Setting):
            mend = "Write Setting(domain, n, n, epsilon)."
            raise ArgumentError("setting", "a Setting", describe(setting), mend)
        check_choice("classes", setting.classes, ("halfspaces",))
        super().__init__(setting)
        self.reason = crowded(setting, setting.epsilon)
        seconds = check_fraction("time_limit", time_limit)
        if not 0 <= seconds <= MOST_SECONDS:
            wanted = f"a number of seconds >= 0 and <= {MOST_SECONDS}"
            raise ArgumentError("time_limit", wanted, describe(time_limit))
        self.time_limit = float(seconds)
        self._noise = FieldNoise(setting.domain, "halfspaces", noise_scale(2, setting.epsilon), fields=2)
        self._cut = 2 * setting.tolerance + self._up(setting.beta)
        self.resolution = setting.tolerance + max(
            1, math.ceil((self._up(setting.beta) + self._down(setting.beta) - 1) / 2)
        )
        self.gap = gap = None if gap is None else check_integer("gap", gap, 1)
        if gap is not None and gap < self.resolution:
            warnings.warn(
                f"The resolution {self.resolution} of tester '{self.name}' exceeds the gap {gap} of the "
                f"instance: nothing is promised for F = 1. Raise J and L about {-(-self.resolution // gap)} "
                "times, or raise epsilon.",
                GapWarning,
                stacklevel=2,
            )

    @classmethod
    def for_instance(
        cls, inst: HardInstance, epsilon: Any, beta: Any = "0.1", time_limit: float = 60.0
    ) -> CertifiedHistograms:
        """Return the tester for a hard instance: F = 0 is a match, F = 1 is owed Far if it resolves the gap.

        Args:
            inst: the instance; its domain and n are public.
            epsilon: each party's whole privacy budget.
            beta: largest probability of a wrong answer.
            time_limit: seconds for the certified interval.

        Raises:
            ArgumentError: when an argument is out of its range.

        Warns:
            GapWarning: when the resolution exceeds the gap of the instance.
        """
        from lp_gadgets.public import PublicInstance

        if not isinstance(inst, PublicInstance):
            raise ArgumentError("inst", "a HardInstance", describe(inst))
        setting = Setting(inst.domain, inst.n, inst.n, check_epsilon(epsilon), check_fraction("beta", beta))
        return cls(setting, time_limit, inst.gap)

    @property
    def resolves(self) -> bool:
        """Whether Far is owed on the instance when it is no match; True where no gap is known."""
        return self.feasible and (self.gap is None or (self.resolution or 0) <= self.gap)

    def run(self, S_A: Sample, S_B: Sample, rng: np.random.Generator | int | None = None) -> Outcome:
        """Run the protocol once on two samples, as :meth:`geomdp.testers.plan.PlanRow.run` does.

        Args:
            S_A, S_B: the parties' samples on the domain of the setting, with its numbers of records.
            rng: None for a real release from the operating system's entropy. A numpy Generator or a seed
                gives a simulated run, which is private for nobody.

        Returns:
            The outcome, with the transcript and each party's exact privacy loss. It counts as certified only
            if the resolution is at most the gap, where a gap is known.

        Raises:
            ArgumentError: when a sample is on another domain, or of another size.
            InfeasibleError: when opt cannot reach the resolution at these numbers of records.
        """
        outcome = PlanRow(self).run(S_A, S_B, rng=rng)
        return outcome if self.resolves else replace(outcome, certified=False)

    @cached_property
    def _labelings(self) -> int:
        return labelings_bound(self.setting.domain)

    def _up(self, level: Fraction) -> int:
        """Return q1: the noise of one fixed classifier reaches it with probability at most the level."""
        return self._noise.single(level)

    def _down(self, level: Fraction) -> int:
        """Return q2: the largest noise of any labeling reaches it with probability at most the level."""
        return self._noise.single(level / self._labelings)

    def opening(self) -> dict[str, Any]:
        """Return the public parameters of a run."""
        return {**self.facts(), "cut_doubled": self._cut}

    def party(self, name: str, sample: Sample, sampler: Sampler) -> Party:
        """Return the party of a name; it releases the histogram of its sample with noise of a sampler."""
        return HistogramParty(name, sample, sampler, Budget(self.setting.epsilon))

    def script(self, transcript: Transcript) -> Script[Finding]:
        """Yield the turns that fill the transcript: both histograms; the rest is post-processing."""
        setting = self.setting
        v = np.zeros(setting.domain.m, dtype=np.int64)
        for name in PARTIES:
            yield Turn(name, histogram_schema(setting), lambda party: party.histogram(transcript, setting))
            v += received(transcript, setting)
        (low, top), classifier = self.bounds(v)
        verdict = "Far" if low >= self._cut else "Match" if top < self._cut else "Inconclusive"
        return Finding(verdict, transcript, classifier, self._interval(low, top))

    def bounds(self, v: NDArray[np.int64]) -> tuple[Interval, Halfspace]:
        """Return a certified interval for W of noisy net counts, tight enough to decide if time allows.

        A first look at all cells ends with the optimum where the domain is small. Then only the cells count
        that are heavy: a mistake on any of them alone exceeds the cut. Mistakes on some of the cells are a
        lower bound for all, so it says Far that no halfspace gets all heavy cells right; a halfspace that
        does is recounted on all cells. Where this does not decide, the optimisation over all cells goes on.

        Args:
            v: (m,) the sum of both parties' noisy net counts; public.

        Returns:
            (W_low, W_top), and a halfspace that attains W_top; if no better one was found in time, the one
            that labels everything +1.
        """
        setting = self.setting
        sample = weighted(setting, v)
        base = setting.n_alice + setting.n_bob - sample.n
        heavy = weighted(setting, np.where(2 * np.abs(v) >= self._cut - base, v, 0))
        deadline = time.monotonic() + self.time_limit
        best = Halfspace((0,) * setting.domain.d)
        low, top = base, base + 2 * best.mistakes(sample)
        enough = (self._cut - base + 1) // 2
        for part, seconds, wanted in (
            (sample, min(FIRST_LOOK, self.time_limit), sample.n + 1),
            (heavy, self.time_limit / 2, enough),
            (sample, self.time_limit, enough),
        ):
            lower, found = _bounded(part, min(seconds, deadline - time.monotonic()), wanted)
            low = max(low, base + 2 * lower)
            wrong = top if found is None else base + 2 * found.mistakes(sample)
            if found is not None and wrong < top:
                top, best = wrong, found
            if low >= self._cut or top < self._cut:
                break
        return (low, top), best

    def _interval(self, low: int, top: int) -> Interval:
        """Return the 1 - beta confidence interval for opt, each end at beta / 2."""
        level, most = self.setting.beta / 2, self.setting.largest_opt
        lower = -((self._up(level) - 1 - low) // 2)
        upper = (top + self._down(level) - 1) // 2
        lower = min(max(lower, 0), most)
        return lower, min(max(upper, lower), most)


class _EnoughError(Exception):
    """The lower bound that was asked for is certain."""


def _bounded(sample: Sample, seconds: float, enough: int) -> tuple[int, Halfspace | None]:
    """Return a certain lower bound on opt, and a halfspace unless the bound was enough before the end."""
    from geomdp.opt.halfspace import opt_halfspace

    best = 0

    def watch(_: float, lower: int, __: int) -> None:
        nonlocal best
        best = max(best, lower)
        if best >= enough:
            raise _EnoughError

    try:
        result = opt_halfspace(sample, time_limit=max(0.0, seconds), watch=watch)
    except _EnoughError:
        return best, None
    found = result.classifier
    return max(best, result.lower), found if isinstance(found, Halfspace) else None
