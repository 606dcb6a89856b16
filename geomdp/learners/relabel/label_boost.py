"""LabelBoost: relabel two samples by one hypothesis, chosen privately among all labelings of their points."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.learners.blocks import Block, exponential
from geomdp.learners.classes.base import Component, Labels, PrefixClass
from geomdp.privacy.sampler import Sampler

_LISTED = 10**6  # labelings that a_relabel may list


class Relabelled(NamedTuple):
    """Labels of both samples under one hypothesis.

    Attributes:
        labels_S: +1 or -1 for each record of the labelled sample.
        labels_T: the same for the unlabelled one.
        witness: a hypothesis of the class with these labels. It depends on the points beyond its labels, so
            it proves realizability inside the curator's walls and is not part of any release.
    """

    labels_S: Labels  # noqa: N815 - S and T are the samples' names everywhere
    labels_T: Labels  # noqa: N815
    witness: tuple[Component, ...]


def label_boost(  # noqa: PLR0917 - the two samples and the budget, in the order of the text
    C: PrefixClass,
    S_X: NDArray[Any],
    S_y: NDArray[Any],
    T_X: NDArray[Any],
    epsilon: Fraction,
    sampler: Sampler,
) -> Relabelled:
    """Relabel S and T by one labelling z of their distinct points, P(z) ~ exp(epsilon agreement(S, z) / 2).

    Privacy. Precondition: neighbours differ in one record of S or of T; the continuation A that receives the
    relabelled samples is (e, delta)-DP on samples that the class realizes. Let K be the distinct points that
    both inputs have, w(z) and w'(z) the probabilities that the labelling drawn restricts to z on K, and write
    b = exp(epsilon/2).
    *One record of S is replaced.* Each labelling z of K has one or two extensions in either run. Records
    other than the replaced one agree equally often, n(z) times, and that one at most once: the weight of z is
    b^n(z) times a factor in [1, 1 + b]: one extension gives 1 or b, and of two the replaced record agrees
    with exactly one, so that they give 1 + b. (If the replaced record's point is in K, the factor is 1 or b.)
    Numerators differ by a factor of at most 1 + b, and so do the sums over z: w(z) <= (1 + b)^2 w'(z), at
    most 4 exp(epsilon).
    *One record of T is replaced.* Scores do not change, and each z has one or two extensions, all of score
    n(z), in either run: w(z) <= 4 w'(z).
    Given z, relabelled samples of the two runs are equal or neighbours, and realizable. Conclusion: followed
    by A this is (e + c, exp(c) delta)-DP with c = 2 ln(1 + exp(epsilon/2)) for S and c = ln 4 for T; and the
    labels of T alone cost no more than c for S. Source: Beimel, Nissim and Stemmer's LabelBoost, in the form
    of "Private Component-by-Component Learning", Lemmas 3.14, 3.15 and 3.17, with the sharper constant.

    Utility. P(agreement < best - E) <= C.growth(distinct points) exp(-epsilon E / 2).

    Args:
        C: the class.
        S_X, S_y: the labelled sample.
        T_X: the points to relabel along with it.
        epsilon: of the exponential mechanism.
        sampler: the source of randomness.

    Example:
        >>> from geomdp.learners.classes.threshold import thresholds
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X, y = np.repeat([[1], [8]], 99, axis=0), np.repeat([-1, 1], 99)
        >>> done = label_boost(thresholds(Integers(0, 9)), X, y, [[0], [9]], Fraction(1), SimSampler(0))
        >>> done.labels_T.tolist(), bool((done.labels_S == y).all())
        ([-1, 1], True)
    """
    X, y = stacked(S_X, S_y, T_X)
    return split(C.labelings(X, y).select(epsilon, sampler), len(y) - len(np.asarray(T_X)))


def a_relabel(  # noqa: PLR0917 - as label_boost
    C: PrefixClass,
    S_X: NDArray[Any],
    S_y: NDArray[Any],
    T_X: NDArray[Any],
    epsilon: Fraction,
    sampler: Sampler,
    quality: Callable[[Labels], int],
) -> Relabelled:
    """Relabel S and T by one labelling z of their points, P(z) ~ exp(-epsilon quality(z on S) / 2).

    Privacy. Precondition: `quality` is q(S, .) with matched sensitivity one: if z and z' agree on the points
    that two neighbours S, S' share, then |q(S, z) - q(S', z')| <= 1. Then for z on the common points K every
    extension's quality, in either run, is within one of every other's in the other run, each z has one or two
    extensions, and the probabilities of z differ by a factor of at most (2 b)(2 b) = 4 exp(epsilon),
    b = exp(epsilon/2). If only T changes, qualities do not, and the factor is 4. The conclusion is that of
    :func:`label_boost`. Source: Algorithm 2 and Lemma 25 of Alon et al., as used in "Private
    Component-by-Component Learning", Proposition 8.16.

    Args:
        C: the class of the local hypotheses, for instance thresholds.
        S_X, S_y: the labelled sample; only `quality` may look at the labels.
        T_X: the points to relabel along with it.
        epsilon: of the exponential mechanism.
        sampler: the source of randomness.
        quality: from the labels of S's rows under a hypothesis to an integer, smaller is better.

    Raises:
        CapacityError: when the class may have more than a million labelings of so many rows.
    """
    X, y = stacked(S_X, S_y, T_X)
    n = len(np.asarray(S_X))
    if C.growth(len(y)) > _LISTED:
        raise CapacityError("C", f"a class with at most {_LISTED:,} labelings of these rows", "a larger one")
    listed = [labelling for labelling, _ in C.labelings(X, y).candidates()]
    scores = [-int(quality(labelling.labels[:n])) for labelling in listed]
    order = sorted(range(len(listed)), key=scores.__getitem__)
    levels = sorted({score: scores.count(score) for score in set(scores)}.items())
    ends = accumulate(count for _, count in levels)
    blocks = [Block(end - count, end - 1, score) for end, (score, count) in zip(ends, levels, strict=True)]
    return split(listed[order[exponential(blocks, epsilon, sampler)]], n)


def stacked(S_X: NDArray[Any], S_y: NDArray[Any], T_X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows of S, then those of T, with labels that are 0 on T."""
    S, T = np.asarray(S_X), np.asarray(T_X)
    y = np.concatenate([np.asarray(S_y, dtype=np.int64).reshape(-1), np.zeros(len(T), dtype=np.int64)])
    if not len(S):
        return T, y
    return (np.concatenate([S, T.reshape(len(T), -1)]) if len(T) else S), y


def split(found: tuple[Labels, tuple[Component, ...]], n: int) -> Relabelled:
    """Return the labelling of stacked rows as one of S (n rows) and one of T."""
    labels, witness = found
    return Relabelled(labels[:n], labels[n:], witness)
