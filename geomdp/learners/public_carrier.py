"""Learning with public unlabelled points: label them privately, then fit the labels freely.

    z ~ exp(epsilon q(S, z) / 2) over the labellings of the public points T,
        q(S, z) = best agreement with S of a hypothesis that labels T by z;
    return any hypothesis with the labels z on T.

This is CarrierBoost with a carrier that nobody has to protect. No component domain enters, so the number of
records does not depend on how fine the grid is, as it does for the generic exponential mechanism. The price
is public points from the same distribution.

Proof note. Precondition: T is public; one record of S is replaced. The candidates stay, and q changes by at
most 1, so z is a draw of the exponential mechanism with sensitivity 1: epsilon-DP. The hypothesis is a
function of T and z. Conclusion: pure epsilon-DP on all inputs.

Utility. With probability 1 - beta, q(S, z) is within (2/epsilon) ln(G(T)/beta) of the best agreement of any
hypothesis, G(T) the number of labellings of T; and hypotheses that agree on T differ little on the
distribution that T was drawn from.

Source: the setting is that of Beimel, Nissim and Stemmer, "Learning Privately with Labeled and Unlabeled
Examples", and of later work on semi-private learning; the relabelling by best completion is our own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, check_epsilon
from geomdp.learners.classes.base import Component, PrefixClass
from geomdp.learners.relabel.carrier_boost import carrier_boost
from geomdp.privacy.sampler import Sampler


def public_carrier(
    C: PrefixClass, X: Any, y: Any, carrier: Any, *, epsilon: Any, sampler: Sampler
) -> tuple[Component, ...]:
    """Return the components of a hypothesis: epsilon-DP in the records, not in the carrier.

    Args:
        C: the class.
        X, y: private records and labels.
        carrier: public points, at least one.
        epsilon: the privacy loss.
        sampler: the source of randomness; the secure one for a release.

    Raises:
        ArgumentError: unless 10^-6 <= epsilon <= 100 and ``carrier`` holds a public point.

    Example:
        >>> from geomdp.learners.classes.halfspace import Halfspaces
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> rng = np.random.default_rng(0)
        >>> X, T = rng.integers(-99, 100, (300, 2)), rng.integers(-99, 100, (60, 2))
        >>> C = Halfspaces((Integers(-1, 1),) * 2)  # the domains play no part here
        >>> y = np.where(X @ [2, 1] >= 40, 1, -1)
        >>> found = public_carrier(C, X, y, T, epsilon=2, sampler=SimSampler(0))
        >>> bool((C.predict(found, X) != y).mean() < 0.1)
        True
    """
    loss: Fraction = check_epsilon(epsilon)
    points = np.asarray(carrier)
    if not len(points):
        raise ArgumentError("carrier", "at least one public point", "empty")
    labels = carrier_boost(C, np.asarray(X), np.asarray(y), points, loss, sampler).labels_T
    # not the relabelling's witness, which depends on private points: a function of labels and public points
    found = C.realizes(points, labels)
    if found is None:
        raise AssertionError("The relabelling gave labels that no hypothesis has.")
    return found
