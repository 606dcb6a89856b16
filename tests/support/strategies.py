"""Hypothesis strategies; each new structure joins them here."""

from __future__ import annotations

from fractions import Fraction

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
