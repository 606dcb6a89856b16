"""What a learner asks of a user's class: a component representation, prefix states, component oracles.

To learn a new class component by component, give a :class:`geomdp.learners.classes.base.PrefixClass`: the
hypotheses with a given prefix, the domain of the next component, its completion score, and the labellings of
a sample. :class:`FiniteClass` derives all of these from a prediction rule, by listing the hypotheses. An
oracle is anything with the shape of :class:`ComponentOracle`; :class:`CompletionOracle` suits every class.

Source: "Private Component-by-Component Learning", Section 4 (representations, realizable prefix states,
Assumption 4.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_epsilon
from geomdp.learners.blocks import Block, Blocks, exponential, objective
from geomdp.learners.classes.base import (
    Component,
    Labelling,
    Labels,
    PrefixClass,
    check_labels,
    check_rows,
)
from geomdp.learners.domains import OrderedDomain
from geomdp.learners.oracles.ip_concave import Maximisers, best_ranges, ip_concave
from geomdp.learners.oracles.quasi_concave import quasi_concave
from geomdp.privacy.sampler import Sampler

_LISTED = 10**6  # hypotheses times rows that a listed class may hold


class PrefixState(NamedTuple):
    """A prefix with the labelled sample that the next component is chosen on.

    Attributes:
        C: the class of the prefix.
        X, y: the sample.

    Example:
        >>> from geomdp.learners.classes.threshold import thresholds
        >>> from geomdp.learners.domains import Integers
        >>> C = thresholds(Integers(0, 9))
        >>> PrefixState(C, np.array([[3], [5]]), np.array([-1, 1])).realizable
        True
        >>> PrefixState(C, np.array([[3], [3]]), np.array([-1, 1])).realizable
        False
    """

    C: PrefixClass
    X: NDArray[Any]
    y: NDArray[Any]

    @property
    def realizable(self) -> bool:
        """Whether some hypothesis with this prefix labels the whole sample so; decided exactly."""
        return self.C.realizes(self.X, self.y) is not None

    def witnessed_by(self, hypothesis: tuple[Component, ...]) -> bool:
        """Return whether this hypothesis starts with the prefix and labels the sample so; exact and fast."""
        begins = tuple(hypothesis[: len(self.C.prefix)]) == tuple(self.C.prefix)
        return begins and bool((self.C.predict(hypothesis, self.X) == self.y).all())


class ComponentOracle(Protocol):
    """A private choice of the next component (paper, Assumption 4.4).

    Attributes:
        epsilon, delta: its privacy loss for the replacement of one record of the sample.
        everywhere: True if that holds for all samples; False if only for samples that the class realizes.
            The first oracle of a run without an initial relabelling must be private everywhere.

    `choose` must be total: on every sample, contradictory or empty ones included, it returns a rank.
    """

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss."""

    @property
    def delta(self) -> Fraction:
        """The probability outside the guarantee."""

    @property
    def everywhere(self) -> bool:
        """Whether the guarantee needs no realizable sample."""

    def choose(self, C: PrefixClass, X: NDArray[Any], y: NDArray[Any], sampler: Sampler) -> int:
        """Return the rank of a component in C.domain()."""


@dataclass(frozen=True)
class CompletionOracle:
    """The exponential mechanism on the completion score: how well a component can still be completed.

    Proof note. Precondition: one record of the sample is replaced, labels and points arbitrary. The score of
    a component is the best agreement of any completion; each completion's agreement changes by at most 1, so
    the best one does (classes prove this for their `objective`). The exponential mechanism on a score of
    sensitivity 1 is epsilon-DP. Conclusion: pure epsilon-DP on all inputs; no realizability is used.

    Utility. On a realizable state the best score is the sample's size m, and with probability 1 - beta the
    component drawn has a completion with at most (2/epsilon) ln(size/beta) disagreements.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Example:
        >>> from geomdp.learners.classes.threshold import thresholds
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X, y = np.repeat([[3], [5]], 50, axis=0), np.repeat([-1, 1], 50)
        >>> CompletionOracle(Fraction(1)).choose(thresholds(Integers(0, 9)), X, y, SimSampler(0)) in (4, 5)
        True
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def delta(self) -> Fraction:
        """0: the guarantee is pure."""
        return Fraction(0)

    @property
    def everywhere(self) -> bool:
        """True."""
        return True

    def choose(self, C: PrefixClass, X: NDArray[Any], y: NDArray[Any], sampler: Sampler) -> int:
        """Return a rank of large completion score."""
        return exponential(C.objective(X, y), self.epsilon, sampler)


@dataclass(frozen=True)
class EnvelopeOracle(CompletionOracle):
    """The exponential mechanism on the quasi-concave envelope of the completion score.

    For objectives that are quasi-concave on realizable states, this is the same mechanism there; elsewhere
    components between two good ones count as good. See
    :func:`geomdp.learners.oracles.quasi_concave.quasi_concave` for the proof note.
    """

    def choose(self, C: PrefixClass, X: NDArray[Any], y: NDArray[Any], sampler: Sampler) -> int:
        """Return a rank that lies between ranks of large completion score."""
        return quasi_concave(C.objective(X, y), self.epsilon, sampler)


def score_maximisers(C: PrefixClass) -> Maximisers:
    """Return the solver of a block that every class has: the components of best completion score."""
    return lambda X, y: best_ranges(C.objective(X, y))


@dataclass(frozen=True)
class BlockOracle:
    """A component from block maximisers: the paper's IPConcave, or its interval-stabbing form.

    The proof note is that of :func:`geomdp.learners.oracles.ip_concave.ip_concave`: one record changes one
    block, whatever the solver computes; (epsilon, delta)-DP on all inputs.

    Args:
        epsilon, delta: the privacy loss.
        blocks: number of blocks, public.
        how: "interior" or "stabbing" (pure: delta is not spent).
        beta: the failure probability that the interior point is planned for.
        solver: class of the prefix -> solver of a block; for halfspaces with a separate w,
            ``lambda C: halfspace_maximisers(C.prefix, C.coordinates)`` solves linear programs.

    Example:
        >>> from geomdp.learners.classes.threshold import thresholds
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X, y = np.arange(400)[:, None], np.where(np.arange(400) >= 200, 1, -1)
        >>> oracle = BlockOracle(Fraction(4), blocks=20)
        >>> 150 < oracle.choose(thresholds(Integers(0, 399)), X, y, SimSampler(0)) < 250
        True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    blocks: int = 20
    how: str = "stabbing"
    beta: Fraction = Fraction(1, 20)
    solver: Callable[[PrefixClass], Maximisers] = score_maximisers

    @property
    def everywhere(self) -> bool:
        """True."""
        return True

    def choose(self, C: PrefixClass, X: NDArray[Any], y: NDArray[Any], sampler: Sampler) -> int:
        """Return the rank of a component that is best for many blocks."""
        blocks = min(self.blocks, max(1, len(X)))  # public sizes
        return ip_concave(
            np.asarray(X),
            np.asarray(y),
            self.solver(C),
            C.domain(),
            blocks,
            self.epsilon,
            self.delta,
            self.beta,
            sampler,
            how=self.how,
        )


def default_component(C: PrefixClass) -> Component:
    """Return the public default of the next component: the middle of its domain."""
    return C.component((C.domain().size - 1) // 2)


def default_completion(C: PrefixClass) -> tuple[Component, ...]:
    """Return the prefix, completed by public defaults."""
    while len(C.prefix) < C.k:
        C = C.extend(default_component(C))
    return C.prefix


@dataclass(frozen=True)
class FiniteClass:
    """All tuples of components from listed domains under a prediction rule; small classes, brute force.

    Args:
        domains: the ordered domain of each component.
        rule: (components, integer rows) -> array of +1 and -1.
        features: number of columns of a record.
        prefix: the components chosen so far.

    Raises:
        CapacityError: when hypotheses times rows exceed a million; both are public.

    Example: the class of axis-parallel quadrants.
        >>> from geomdp.learners.domains import Integers
        >>> def rule(corner, X):
        ...     return np.where((X[:, 0] >= corner[0]) & (X[:, 1] >= corner[1]), 1, -1)
        >>> C = FiniteClass((Integers(0, 3), Integers(0, 3)), rule, features=2)
        >>> X, y = np.array([[0, 3], [2, 2], [3, 0]]), np.array([-1, 1, -1])
        >>> [block.score for block in C.objective(X, y)], C.realizes(X, y)
        ([2, 3, 2], (Fraction(1, 1), Fraction(1, 1)))
    """

    domains: tuple[OrderedDomain, ...]
    rule: Callable[[tuple[Fraction, ...], NDArray[Any]], Any]
    features: int
    prefix: tuple[Component, ...] = ()

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.domains)

    def extend(self, y: Component) -> FiniteClass:
        """Return the class with one more component y fixed.

        Raises:
            ArgumentError: when the hypothesis is complete already.
        """
        if len(self.prefix) == self.k:
            raise ArgumentError("y", "a component of an incomplete hypothesis", "one beyond the last")
        return FiniteClass(self.domains, self.rule, self.features, (*self.prefix, y))

    def domain(self) -> OrderedDomain:
        """Return the domain of the next component."""
        return self.domains[len(self.prefix)]

    def component(self, index: int) -> Component:
        """Return the component whose rank in its domain is the index."""
        return self.domain().value(index)

    def hypotheses(self) -> list[tuple[Component, ...]]:
        """Return all completions of the prefix, the next component slowest."""
        rest = self.domains[len(self.prefix) :]
        lists = [[domain.value(i) for i in range(domain.size)] for domain in rest]
        return [(*self.prefix, *tail) for tail in product(*lists)]

    def admit(self, m: Sequence[int], method: str, *, initial: bool) -> None:
        """Refuse a run whose samples are too large to list; decided from their public sizes m.

        The relabelling `method`, and whether R_0 is relabelled (`initial`), make no difference.

        Raises:
            CapacityError: when hypotheses times rows exceed a million in some round.
        """
        del method, initial  # both relabellings list the two samples together, the initial one R_0 alone
        for i, size in enumerate(m):
            self._check_listed(i, size)
            if i + 1 < len(m):
                self._check_listed(i + 1, size + m[i + 1])

    def predict(self, coords: tuple[Component, ...], X: NDArray[Any]) -> Labels:
        """Return the labels of the complete hypothesis coords on the rows X, (n, features) integers."""
        table = self._table(X)
        return np.asarray(self.rule(coords, table), dtype=np.int8)  # type: ignore[arg-type]

    def growth(self, m: int) -> int:
        """Return a bound on the number of labellings of m rows."""
        members = math.prod(domain.size for domain in self.domains[len(self.prefix) :])
        return min(members, 1 << m) if m < members.bit_length() else members

    def objective(self, X: NDArray[Any], y: NDArray[Any]) -> Blocks:
        """Return the best agreement over all completions of each next component; of sensitivity one.

        The records are X, (n, features) integers, with (n,) labels y; a row with y = 0 agrees with none.
        """
        labels, wanted = self._labels(X), np.array(check_labels(y, len(np.asarray(X)), zero=True))
        best = (labels == wanted).sum(axis=1).reshape(self.domain().size, -1).max(axis=1).tolist()
        steps = [(i + 1, b - a) for i, (a, b) in enumerate(pairwise(best))]
        return objective(self.domain().size, steps, best[0])

    def labelings(self, X: NDArray[Any], y: NDArray[Any] | None = None) -> ListedSurvey:
        """Return all labellings of the rows, scored by agreement with the rows that have y != 0.

        The rows are X, (n, features) integers, with (n,) labels y; without y all scores are 0.
        """
        wanted = np.zeros(len(np.asarray(X)), int) if y is None else np.asarray(y)
        return self._survey(X, wanted, np.ones(len(wanted), bool))

    def carrier_labelings(self, X: NDArray[Any], y: NDArray[Any]) -> ListedSurvey:
        """Return all labellings of the rows with y = 0, scored by the best agreement with the others.

        The rows are X, (n, features) integers, with (n,) labels y in -1, 0, +1.
        """
        return self._survey(X, np.asarray(y), np.asarray(y) == 0)

    def realizes(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[Component, ...] | None:
        """Return the first hypothesis with labels y, (n,), on the rows X, (n, features), or None."""
        match = (self._labels(X) == np.asarray(y)).all(axis=1)
        return self.hypotheses()[int(match.argmax())] if match.any() else None

    def _table(self, X: Any) -> NDArray[Any]:
        rows = check_rows(X, self.features)
        return np.array(rows, dtype=object).reshape(len(rows), self.features)

    def _labels(self, X: Any) -> NDArray[np.int8]:
        table = self._table(X)
        self._check_listed(len(self.prefix), len(table))
        listed = self.hypotheses()
        labels = [np.asarray(self.rule(h, table)) for h in listed]  # type: ignore[arg-type]
        return np.array(labels, dtype=np.int8).reshape(len(listed), len(table))

    def _check_listed(self, fixed: int, rows: int) -> None:
        count = math.prod(domain.size for domain in self.domains[fixed:])
        if count * max(1, rows) > _LISTED:
            raise CapacityError("X", f"such that hypotheses times rows <= {_LISTED:,}", f"{count} x {rows}")

    def _survey(self, X: Any, wanted: NDArray[Any], kept: NDArray[Any]) -> ListedSurvey:
        labels, hypotheses = self._labels(X), self.hypotheses()
        scores = (labels == wanted).sum(axis=1).tolist()
        best: dict[bytes, int] = {}
        for i, row in enumerate(labels[:, kept]):
            at = best.setdefault(row.tobytes(), i)
            if scores[i] > scores[at]:
                best[row.tobytes()] = i
        return ListedSurvey(
            [(Labelling(labels[i], hypotheses[i]), scores[i]) for _, i in sorted(best.items())]
        )


class ListedSurvey:
    """Candidates of a relabelling in a list; see :class:`geomdp.learners.classes.base.Survey`.

    Args:
        listed: pairs (labelling, score); one for each labelling.
    """

    def __init__(self, listed: Sequence[tuple[Labelling, int]]) -> None:
        self._listed = sorted(listed, key=lambda pair: pair[1])

    def select(self, epsilon: Fraction, sampler: Sampler) -> Labelling:
        """Draw a candidate with probability proportional to exp(epsilon score / 2), exactly."""
        levels: dict[int, int] = {}
        for _, score in self._listed:
            levels[score] = levels.get(score, 0) + 1
        ends = accumulate(levels.values())
        blocks = [Block(end - levels[s], end - 1, s) for s, end in zip(levels, ends, strict=True)]
        return self._listed[exponential(blocks, epsilon, sampler)][0]

    def candidates(self) -> Iterator[tuple[Labelling, int]]:
        """Yield every candidate with its score."""
        yield from self._listed
