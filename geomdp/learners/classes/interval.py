"""Intervals on a line, x -> +1 iff t_1 <= x < t_2: two components."""

from __future__ import annotations

from geomdp.learners.classes.boolean import Boolean
from geomdp.learners.domains import OrderedDomain


def intervals(domain: OrderedDomain) -> Boolean:
    """Return the class of all half-open intervals [t_1, t_2), empty where t_2 <= t_1.

    m distinct points have 1 + m (m + 1) / 2 labelings.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> C = intervals(Integers(0, 9))
        >>> C.k, C.growth(5)
        (2, 16)
    """
    return Boolean.of(lambda entered, left: entered and not left, 2, domain)
