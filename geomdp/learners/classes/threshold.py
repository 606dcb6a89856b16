"""Thresholds on a line, x -> +1 iff x >= t: the class of one component."""

from __future__ import annotations

from geomdp.learners.classes.boolean import Boolean
from geomdp.learners.domains import OrderedDomain


def thresholds(domain: OrderedDomain) -> Boolean:
    """Return the class of all thresholds; a learner is offered the domain and one value beyond its last.

    m distinct points have m + 1 labelings.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> C = thresholds(Integers(0, 9))
        >>> [tuple(b) for b in C.objective([[3], [7]], [-1, 1])]
        [(0, 3, 1), (4, 7, 2), (8, 10, 1)]
        >>> C.k, C.growth(5)
        (1, 6)
    """
    return Boolean.of(lambda passed: passed, 1, domain)
