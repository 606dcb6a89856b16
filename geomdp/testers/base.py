"""What every tester is and returns: the common arguments, the finding, the outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    check_beta,
    check_choice,
    check_epsilon,
    check_integer,
)
from geomdp.core.pages import page_of
from geomdp.core.sample import Sample
from geomdp.privacy.sampler import Sampler
from geomdp.protocol.transcript import Transcript

#: A closed interval of integers.
Interval = tuple[int, int]

#: Largest number of records of a party, and largest tolerance.
MOST_RECORDS, MOST_TOLERANCE = 2**50, 2**40

#: Guarantees, strongest wording first: what the resolution of a plan row rests on.
GUARANTEES = {
    "analytic": "proved: exact noise laws, tail bounds and union bounds",
    "certified-mc": (
        "exact but for one noise quantile that no data can change: its bound comes from a fixed, seeded "
        "simulation and fails to hold with probability at most 1e-6"
    ),
    "unless-oversize": (
        "proved for every run whose public menus can be written out; any other ends in a third answer, "
        "Inconclusive"
    ),
    "unless-inconclusive": "proved, but the run may end in a third answer, Inconclusive",
}


@dataclass(frozen=True)
class Setting:
    """The public arguments that every tester shares.

    Attributes:
        domain: the public domain.
        n_alice, n_bob: numbers of records (public: neighbouring datasets replace one record).
        epsilon: each party's whole privacy budget, kept as a Fraction.
        beta: largest probability of a wrong answer on either side of the promise, kept as a Fraction.
        labels: "mixed", or "disjoint": a promise that all of Alice's labels are -1 and all of Bob's +1. It is
            never checked against the records, since a refusal would reveal one; records that break it are
            as private as all others, but void the guarantee.
        tolerance: t0 >= 0; Match is owed whenever opt <= t0.
        classes: "halfspaces" or "thresholds".

    Raises:
        ArgumentError: on a number of records outside 1..2^50, an epsilon outside [10^-6, 100], a beta outside
            [10^-300, 1 - 10^-12], a tolerance outside 0..2^40, unknown labels or classes, and on thresholds
            where the domain is not ordered.

    Example:
        >>> setting = Setting(Domain.line(64), 500, 400, "1/3", classes="thresholds")
        >>> setting.epsilon, setting.beta, setting.labels
        (Fraction(1, 3), Fraction(1, 10), 'mixed')

    Source: the testing problem is Definition 1.2 of the paper, there with beta = 0.1 and tolerance 0.
    """

    domain: Domain
    n_alice: int
    n_bob: int
    epsilon: Fraction
    beta: Fraction = Fraction(1, 10)
    labels: str = "mixed"
    tolerance: int = 0
    classes: str = "halfspaces"

    def __post_init__(self) -> None:
        check_integer("n", self.n_alice, 1, MOST_RECORDS)
        check_integer("n", self.n_bob, 1, MOST_RECORDS)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "beta", check_beta(self.beta))
        check_choice("labels", self.labels, ("mixed", "disjoint"))
        check_integer("tolerance", self.tolerance, 0, MOST_TOLERANCE)
        check_choice("classes", self.classes, ("halfspaces", "thresholds"))
        if self.classes == "thresholds" and not self.domain.ordered:
            raise ArgumentError("classes", "'halfspaces' on a domain that is not ordered", "'thresholds'")

    @property
    def n(self) -> int:
        """The smaller of the two numbers of records."""
        return min(self.n_alice, self.n_bob)

    @property
    def largest_opt(self) -> int:
        """The largest value that opt can have at these sizes: a larger resolution promises nothing.

        With disjoint labels a constant classifier errs on one party only. With mixed labels one of the
        two constant classifiers errs on at most half of the records (both exist on pointed domains and
        for thresholds; elsewhere only "all +" is sure to exist, and opt <= n_A + n_B).
        """
        if self.labels == "disjoint":
            return self.n if self.complement else self.n_alice
        return (self.n_alice + self.n_bob) // (2 if self.complement else 1)

    @property
    def complement(self) -> bool:
        """True if both constant classifiers belong to the class."""
        return self.classes == "thresholds" or self.domain.pointed


@dataclass(frozen=True)
class Finding:
    """What a protocol's public transcript says, before it is judged.

    Attributes:
        verdict: "Match", "Far" or "Inconclusive".
        transcript: the public record.
        classifier: a private joint classifier, or None.
        opt_interval: private 1 - beta confidence interval for opt, or None.
        party_intervals: the same for each party's own optimum.
        gap_interval: the same for opt(A u B) - opt(A) - opt(B), or None.

    Example:
        >>> finding = Finding("Match", Transcript({"tester": "mine"}))
        >>> finding.classifier is None, dict(finding.party_intervals)
        (True, {})
    """

    verdict: str
    transcript: Transcript
    classifier: Halfspace | Threshold | None = None
    opt_interval: Interval | None = None
    party_intervals: Mapping[str, Interval] = field(default_factory=dict)
    gap_interval: Interval | None = None


class Tester(ABC):
    """A private two-party test of opt <= t0 (Match) against opt >= t (Far), for one public setting.

    Attributes:
        name: the protocol's name.
        guarantee: a key of GUARANTEES.
        resolution: the least t that is guaranteed, or None where nothing is.
        trusted: True if a third party must see all data.
        reason: why the tester cannot be used here, or "".
        note: what else is worth knowing before a run, e.g. that it takes minutes, or "".
    """

    name: str = ""
    guarantee: str = "analytic"
    trusted: bool = False
    resolution: int | None = None
    reason: str = ""
    note: str = ""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    def feasible(self) -> bool:
        """True if opt can reach the resolution at these numbers of records."""
        return self.resolution is not None and self.resolution <= self.setting.largest_opt

    @abstractmethod
    def converse(self, S_A: Sample, S_B: Sample, alice: Sampler, bob: Sampler) -> Finding:
        """Run the protocol once and return what its transcript says.

        Args:
            S_A, S_B: the records of Alice and of Bob.
            alice, bob: where either party's noise comes from.
        """


@dataclass(frozen=True)
class Outcome:
    """The result of one private run.

    Attributes:
        verdict: "Match", "Far" or "Inconclusive".
        tester, resolution, guarantee, trusted: as in the plan's row.
        setting: the public setting of the run.
        certified: False if the run was forced at sizes where nothing is guaranteed.
        simulated: True if seeded noise was used: such a run protects nobody and counts for no release.
        spent: exact privacy loss of each party, a Fraction for "Alice" and "Bob".
        opt_interval, party_intervals, gap_interval: private confidence intervals, each at level 1 - beta.
        classifier: a private joint classifier, or None.
        transcript: everything that was released.

    Example:
        >>> from geomdp import Sample, plan
        >>> D = Domain.line(64)
        >>> S = Sample.from_cells(D, [5] * 500, [1] * 500)
        >>> outcome = plan(D, n=500, epsilon=1).best.run(S, S, rng=0)  # seeded: private for nobody
        >>> outcome.verdict, outcome.spent["Alice"] <= 1, outcome.simulated
        ('Match', True, True)

    Source: the verdict is that of Definition 1.2 of the paper.
    """

    verdict: str
    tester: str
    resolution: int | None
    guarantee: str
    certified: bool
    simulated: bool
    trusted: bool
    setting: Setting
    spent: Mapping[str, Fraction]
    opt_interval: Interval | None
    party_intervals: Mapping[str, Interval]
    gap_interval: Interval | None
    classifier: Halfspace | Threshold | None
    transcript: Transcript

    @property
    def epsilon_spent(self) -> Fraction:
        """The larger of the two parties' exact privacy losses; at most epsilon."""
        return max(self.spent.values(), default=Fraction(0))

    def report(self) -> str:
        """Return one self-contained HTML page about the run, for the analysts of both parties.

        It is a function of this outcome, which holds public and released values only; equal outcomes give
        equal pages.
        """
        return page_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON values; exact fractions appear as numbers and, by party, as text."""
        setting = self.setting
        return {
            "verdict": self.verdict,
            "certified": self.certified,
            "simulated": self.simulated,
            "tester": self.tester,
            "resolution": self.resolution,
            "guarantee": self.guarantee if self.certified else "uncertified",
            "trusted": self.trusted,
            "epsilon": float(setting.epsilon),
            "epsilon_spent": float(self.epsilon_spent),
            "epsilon_spent_by": {name: str(value) for name, value in self.spent.items()},
            "beta": float(setting.beta),
            "tolerance": setting.tolerance,
            "labels": setting.labels,
            "classes": setting.classes,
            "n": setting.n,
            "n_alice": setting.n_alice,
            "n_bob": setting.n_bob,
            "opt_interval": _listed(self.opt_interval),
            "party_intervals": {name: _listed(v) for name, v in self.party_intervals.items()} or None,
            "gap_interval": _listed(self.gap_interval),
            "classifier": classifier_dict(self.classifier),
        }

    def __repr__(self) -> str:
        mark = " SIMULATED, not private" if self.simulated else ""
        return (
            f"Outcome({self.verdict}, tester={self.tester}, resolution={self.resolution}, "
            f"guarantee={self.guarantee if self.certified else 'uncertified'}, "
            f"epsilon_spent={self.epsilon_spent}{mark})"
        )


def classifier_dict(classifier: Halfspace | Threshold | None) -> dict[str, Any] | None:
    """Return a classifier as JSON values."""
    if classifier is None:
        return None
    if isinstance(classifier, Threshold):
        return {"kind": "threshold", "theta": classifier.theta}
    return {"kind": "halfspace", "weights": list(classifier.weights)}


def _listed(interval: Interval | None) -> list[int] | None:
    return None if interval is None else list(interval)


def check_samples(setting: Setting, S_A: Sample, S_B: Sample) -> None:
    """Check that two samples are what the setting says; messages hold public facts only.

    Raises:
        ArgumentError: on another domain or another number of records; both are public.
    """
    check_sample(setting, "Alice", S_A, "S_A")
    check_sample(setting, "Bob", S_B, "S_B")


def check_sample(setting: Setting, party: str, sample: Sample, name: str) -> None:
    """Check that one party's sample is what the setting says; messages hold public facts only.

    Args:
        setting: the public setting.
        party: "Alice" or "Bob".
        sample: that party's records.
        name: the argument's name for the message.

    Raises:
        ArgumentError: on what is no sample, on another domain or another number of records.
    """
    n = setting.n_alice if party == "Alice" else setting.n_bob
    if not isinstance(sample, Sample):
        raise ArgumentError(name, "a Sample", f"a {type(sample).__name__}")
    if sample.domain != setting.domain:
        raise ArgumentError(name, "a sample on the plan's domain", "one on another domain")
    if sample.n != n:
        raise ArgumentError(name, f"a sample of n = {n} records, as planned", f"one of {sample.n}")
