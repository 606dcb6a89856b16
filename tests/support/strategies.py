"""Hypothesis strategies; each new structure joins them here."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

#: Numbers that make convexity hard: small integers (ties), large, close, dyadic and other fractions.
COORDINATES = st.one_of(
    st.integers(-2, 2),
    st.integers(-2, 2),
    st.integers(-(10**6), 10**6),
    st.sampled_from([1e-12, -1e-12, 1 + 1e-12, 0.1, 0.3, 0.1 + 0.2, 1e300, 5e-324, 10**40]),
    st.fractions(-2, 2, max_denominator=5).map(Fraction),
)


def point_sets(d, *, most=7, coordinates=COORDINATES):
    """Lists of 0..most points with d coordinates; repeated, zero and opposite points are frequent."""
    point = st.lists(coordinates, min_size=d, max_size=d)
    return st.lists(point, max_size=most)


def point_set_pairs(*, most_d=4, most=6):
    """A dimension and two point sets of it, the second partly made of points of the first."""

    @st.composite
    def pairs(draw):
        d = draw(st.integers(1, most_d))
        A, B = draw(point_sets(d, most=most)), draw(point_sets(d, most=most))
        for place in draw(st.lists(st.integers(0, most), max_size=2)):
            if place < len(A):
                sign = draw(st.sampled_from([1, -1]))
                B.append([sign * x for x in A[place]])
        return d, A, B

    return pairs()


def degenerate_point_sets(*, most_d=4, most=8):
    """1..most integer points of one dimension; repeated, collinear and coplanar points are frequent."""

    @st.composite
    def sets(draw):
        d = draw(st.integers(1, most_d))
        small = st.integers(-2, 2)
        points = draw(st.lists(st.lists(small, min_size=d, max_size=d), min_size=1, max_size=most))
        for _ in range(draw(st.integers(0, 2))):  # a point on the line through two others
            a, b = draw(st.sampled_from(points)), draw(st.sampled_from(points))
            points.append([2 * y - x for x, y in zip(a, b, strict=True)])
        return points

    return sets()


def tanner_graphs(*, most_variables=8, most_checks=8):
    """Tanner graphs with isolated variables, empty, repeated and single-variable checks."""

    @st.composite
    def graphs(draw):
        from lp_gadgets.tanner import TannerCode

        K = draw(st.integers(1, most_variables))
        check = st.sets(st.integers(0, K - 1), max_size=K).map(lambda s: tuple(sorted(s)))
        checks = draw(st.lists(check, max_size=most_checks))
        if checks and draw(st.booleans()):
            checks.append(draw(st.sampled_from(checks)))
        return TannerCode(K, tuple(checks))

    return graphs()


@st.composite
def degenerate_points(draw: Any, max_d: int = 4, max_m: int = 7, size: int = 3) -> np.ndarray:
    """Small integer point sets, rich in zero vectors, antipodes, multiples and lost ranks."""
    d = draw(st.integers(1, max_d))
    m = draw(st.integers(1, max_m))
    entry = st.integers(-size, size)
    points = draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=m, max_size=m))
    for _ in range(draw(st.integers(0, 2))):
        source, target = draw(st.integers(0, m - 1)), draw(st.integers(0, m - 1))
        factor = draw(st.sampled_from([-2, -1, 1, 2]))
        points[target] = [factor * x for x in points[source]]
    return np.array(points, dtype=np.int64).reshape(m, d)
