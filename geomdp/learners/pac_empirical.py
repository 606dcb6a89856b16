"""From a PAC learner to an empirical one, with its exact factor; component oracles made of local learners.

An empirical learner has small error on its very sample. Drawing m of M records with replacement and learning
on the draw gives one (paper, Lemma 8.15, with M = 9 m). How large M must be is derived here, exactly.

Proof note. Let B be (eps, delta)-DP on m records, and two samples of M >= 2 records differ in one. The
number K of draws that hit it is Bin(m, 1/M). Let G be the law of B where each hitting draw is replaced by a
uniform one among the M - 1 common records: it is B on m independent uniform draws of common records, whatever
K is, and the same for both samples. Given K, at most K records are replaced, so B's law P_K satisfies
P_K <= e^(K eps) G + delta s_K and G <= e^(K eps) P'_K + delta s_K with s_K = (e^(K eps) - 1)/(e^eps - 1).
With A = E e^(K eps), a = E e^(-K eps) and b = (1 - a)/(e^eps - 1),

    P <= A G + delta (A - 1)/(e^eps - 1),        a G <= P' + delta b.

Conclusion: the empirical learner is (ln(A/a), delta ((A/a) b + (A - 1)/(e^eps - 1)))-DP, where

    A/a = ((M - 1 + e^eps) / (M - 1 + e^-eps))^m.

A/a <= e^eps from about M = 2 m sinh(eps)/eps on: 2.35 m at eps = 1. The paper's 9 m is not needed, and gives
a fourth of the loss. (At M = 9 m the law of K is close to Poisson with mean 1/9.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_epsilon, check_integer
from geomdp.learners.classes.base import Component, Labels, PrefixClass
from geomdp.learners.composition import Loss, exp_lower, exp_upper
from geomdp.learners.relabel.label_boost import a_relabel
from geomdp.privacy.sampler import Sampler

#: ln 4, rounded up.
LN4 = Fraction(1386294361119890619, 10**18)


def empirical_loss(m: int, M: int, loss: Loss) -> Loss:
    """Return an upper bound on the loss of learning on m draws with replacement from M records.

    Args:
        m: number of draws, >= 1.
        M: number of records, >= 2.
        loss: of the learner.

    Raises:
        ArgumentError: unless ``m`` is an integer >= 1 and ``M`` is an integer >= 2.

    Example: nine times as many records as draws cost a quarter of the loss.
        >>> one = Loss(exp_upper(Fraction(1)))
        >>> round(empirical_loss(100, 236, one).epsilon, 3), round(empirical_loss(100, 900, one).epsilon, 3)
        (0.994, 0.261)
    """
    check_integer("m", m, 1)
    check_integer("M", M, 2)
    ratio, inverse = loss.ratio, 1 / loss.ratio
    up = _power_up((M - 1 + ratio) / M, m)
    down = 1 / _power_up(M / (M - 1 + inverse), m)  # a lower bound
    whole = up / down
    if loss.delta == 0 or ratio == 1:
        # delta-only learners: s_K = K, E K = m / M on either side
        return Loss(whole, loss.delta * Fraction(2 * m, M)).rounded()
    tail = (whole * (1 - down) + up - 1) / (ratio - 1)
    return Loss(whole, loss.delta * tail).rounded()


def least_records(m: int, epsilon: Fraction) -> int:
    """Return the least M, up to the rounding of exp, at which m draws keep a pure learner's epsilon.

    (M - 1 + e^eps) <= e^(eps/m) (M - 1 + e^-eps), linear in M.

    Raises:
        ArgumentError: unless ``m`` is an integer >= 1 and ``epsilon`` is a number with 10^-6 <= epsilon <=
            100.

    Example:
        >>> M = least_records(1000, Fraction(1))
        >>> M, empirical_loss(1000, M, Loss(exp_lower(Fraction(1)))).ratio <= exp_upper(Fraction(1))
        (2350, True)
    """
    check_integer("m", m, 1)
    epsilon = check_epsilon(epsilon)
    root, top = exp_lower(epsilon / m), exp_upper(epsilon)
    return max(2, math.ceil((top - 1 + root * (1 - 1 / top)) / (root - 1)))


def _power_up(base: Fraction, exponent: int, bits: int = 256) -> Fraction:
    """Return an upper bound on base^exponent, base >= 1, by squaring with upward rounding."""
    result, square = Fraction(1), _up(base, bits)
    while exponent:
        if exponent & 1:
            result = _up(result * square, bits)
        exponent >>= 1
        if exponent:
            square = _up(square * square, bits)
    return result


def _up(value: Fraction, bits: int) -> Fraction:
    return Fraction(-(-(value.numerator << bits) // value.denominator), 1 << bits)


class LocalLearner(Protocol):
    """A private proper learner of a local class, defined on every sample.

    Attributes:
        loss: (ln ratio, delta) for the replacement of one record, on all inputs.
    """

    @property
    def loss(self) -> Loss:
        """The privacy loss."""

    def learn(self, X: NDArray[Any], y: Labels, sampler: Sampler) -> Component:
        """Return a component of the local class."""


@dataclass(frozen=True)
class EmpiricalLearner:
    """A local learner on m draws with replacement; the proof note of this module gives its loss.

    Args:
        inner: the learner B.
        m: number of draws.
        M: number of records that it will be given, >= 2.
    """

    inner: LocalLearner
    m: int
    M: int

    @property
    def loss(self) -> Loss:
        """The privacy loss."""
        return empirical_loss(self.m, self.M, self.inner.loss)

    def learn(self, X: NDArray[Any], y: Labels, sampler: Sampler) -> Component:
        """Return the learner's component on m uniform draws of the rows.

        Raises:
            ArgumentError: unless ``X`` has M rows.
        """
        if len(X) != self.M:
            raise ArgumentError("X", f"an array of {self.M} rows", f"{len(X)} rows")
        rows = [sampler.uniform(self.M) for _ in range(self.m)]
        return self.inner.learn(X[rows], y[rows], sampler)


@dataclass(frozen=True)
class ScoreLearner:
    """The exponential mechanism on the agreement of a class of one component: a proper local learner.

    Proof note. A hypothesis's agreement changes by at most 1 when a record is replaced: epsilon-DP.

    Args:
        H: the local class, of one component.
        epsilon: the privacy loss.
    """

    H: PrefixClass
    epsilon: Fraction

    @property
    def loss(self) -> Loss:
        """The privacy loss, pure."""
        return Loss(exp_upper(self.epsilon))

    def learn(self, X: NDArray[Any], y: Labels, sampler: Sampler) -> Component:
        """Return a component of large agreement."""
        from geomdp.learners.blocks import exponential

        return self.H.component(exponential(self.H.objective(X, y), self.epsilon, sampler))


@dataclass(frozen=True)
class ClosureOracle:
    """A component oracle made of a private learner of the component's own class (paper, Proposition 8.16).

    A labelling of the sample by a local hypothesis h is drawn, P ~ exp(-relabel q/2), where q is the least
    number of mistakes of a hypothesis with this prefix and h; then the local learner runs on the sample so
    labelled, which its class realizes.

    Proof note. q has matched sensitivity one: where h and h' agree on the records common to two neighbours,
    each completion of h makes as many mistakes on them as the same completion of h', and the replaced record
    counts for at most one. By :func:`geomdp.learners.relabel.label_boost.a_relabel` the relabelling costs a
    factor 4 e^relabel, and given the labels of common points the relabelled samples are neighbours.
    Conclusion: (eps_B + ln 4 + relabel, 4 e^relabel delta_B)-DP on all inputs. The paper has relabel = 1 and
    rounds ln 4 + 1 up to 3.

    Args:
        H: the local class, one component, real-valued hypotheses of which label samples.
        learner: private proper learner of H.
        relabel: loss parameter of the relabelling.
        rank_of: from the learner's component to its rank in the global class's domain.
    """

    H: PrefixClass
    learner: LocalLearner
    relabel: Fraction
    rank_of: Callable[[PrefixClass, Component], int]

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss, rounded up."""
        return Fraction(self.learner.loss.epsilon) + LN4 + self.relabel

    @property
    def delta(self) -> Fraction:
        """The probability outside the guarantee."""
        return 4 * exp_upper(self.relabel) * self.learner.loss.delta

    @property
    def everywhere(self) -> bool:
        """True: nothing is assumed of the sample."""
        return True

    def choose(self, C: PrefixClass, X: NDArray[Any], y: NDArray[Any], sampler: Sampler) -> int:
        """Return the rank of the component that the local learner gives."""
        rows = np.asarray(X)

        def mistakes(labels: Labels) -> int:
            h = self.H.realizes(rows, labels)
            assert h is not None  # noqa: S101 - the labels come from H
            return len(rows) - best_completion(C.extend(h[0]), rows, y)

        done = a_relabel(self.H, rows, y, rows[:0], self.relabel, sampler, mistakes)
        return self.rank_of(C, self.learner.learn(rows, done.labels_S, sampler))


def best_completion(C: PrefixClass, X: NDArray[Any], y: NDArray[Any]) -> int:
    """Return the best agreement of a completion of the prefix: the completion score.

    Example:
        >>> from geomdp.learners.classes.interval import intervals
        >>> from geomdp.learners.domains import Integers
        >>> C = intervals(Integers(0, 9)).extend(Fraction(3))
        >>> best_completion(C, np.array([[2], [4], [6]]), np.array([1, 1, -1]))
        2
    """
    if len(C.prefix) == C.k:
        return int((C.predict(C.prefix, X) == np.asarray(y)).sum())
    complete = getattr(C, "complete", None)
    if complete is not None:
        return int(complete(X, y)[0])
    return max(block.score for block in C.objective(X, y))


def rank_by_value(C: PrefixClass, y: Component) -> int:
    """Return the rank of the first element of the domain at or above a rational; the last one if none is."""
    domain = C.domain()
    return min(domain.first_at_least(Fraction(y)), domain.size - 1)  # type: ignore[arg-type]
