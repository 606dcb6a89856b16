"""CarrierBoost: relabel only the sample that is carried on, by the labelling with the best completion."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.learners.classes.base import PrefixClass
from geomdp.learners.relabel.label_boost import Relabelled, split, stacked
from geomdp.privacy.sampler import Sampler


def carrier_boost(  # noqa: PLR0917 - as label_boost
    C: PrefixClass,
    S_X: NDArray[Any],
    S_y: NDArray[Any],
    T_X: NDArray[Any],
    epsilon: Fraction,
    sampler: Sampler,
) -> Relabelled:
    """Relabel T by a labelling z of its distinct points, P(z) ~ exp(epsilon q(S, z) / 2).

    q(S, z) is the best agreement with S of a hypothesis of C that labels T by z. LabelBoost, in contrast,
    draws a labelling of S and T together; where only T's labels are used, this one costs less.

    Privacy. Precondition: neighbours differ in one record of S or of T; only the labels of T are used, by a
    continuation A that is (e, delta)-DP on samples that the class realizes.
    *One record of S is replaced.* The candidates, labelings of T, stay. The agreement of every hypothesis
    changes by at most one, so its maximum q(S, z) does. This is the exponential mechanism of sensitivity one:
    the labels of T are epsilon-DP, and so is what A makes of them.
    *One record of T is replaced.* Let K be the distinct points common to both, z a labelling of K, and Q(z)
    the best agreement of a hypothesis that labels K by z: the same number in both runs. Such a hypothesis
    labels the rest of T in some way, so z has an extension with q = Q(z), and none has more; it has one or
    two in all. With b = exp(epsilon/2) the weight of z is between b^Q(z) and 2 b^Q(z) in both runs, and so
    are the sums over z: the probabilities of z differ by a factor of at most 4, whatever epsilon is. Given z,
    the two relabelled T are equal or neighbours, and realizable. Conclusion: with A, (e + ln 4, 4 delta)-DP.

    Utility. P(q < best - E) <= C.growth(distinct points of T) exp(-epsilon E / 2).

    Args:
        C: the class.
        S_X, S_y: the labelled sample.
        T_X: the points to relabel.
        epsilon: of the exponential mechanism.
        sampler: the source of randomness.

    Returns:
        Labels of both samples by a hypothesis that attains q(S, z). Only those of T are covered by the proof.

    Example:
        >>> from geomdp.learners.classes.threshold import thresholds
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X, y = np.repeat([[1], [8]], 99, axis=0), np.repeat([-1, 1], 99)
        >>> done = carrier_boost(thresholds(Integers(0, 9)), X, y, [[0], [9]], Fraction(1), SimSampler(0))
        >>> done.labels_T.tolist()
        [-1, 1]
    """
    X, y = stacked(S_X, S_y, T_X)
    return split(C.carrier_labelings(X, y).select(epsilon, sampler), len(y) - len(np.asarray(T_X)))
