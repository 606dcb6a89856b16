"""Exact (epsilon, delta) audits of listed laws: the hockey-stick divergence, enclosed."""

from __future__ import annotations

from fractions import Fraction

from geomdp.privacy.enclosure import Interval


def divergence(first, second, epsilon):
    """Return an Interval holding sum_o max(0, P(o) - exp(epsilon) Q(o))."""
    e = Interval.of(1) / Interval.exp_neg(Fraction(epsilon), 200)
    low = high = Fraction(0)
    zero = Interval.of(0)
    for output, p in first.items():
        gap = Interval.of(p) - e * Interval.of(second.get(output, zero))
        low += max(gap.lo, Fraction(0))
        high += max(gap.hi, Fraction(0))
    return Interval(low, high)


def worst_divergence(law, pairs, epsilon):
    """Return the largest divergence over ordered pairs, with bounds; laws are computed once per dataset."""
    known = {}
    low = high = Fraction(0)
    for data, neighbour in pairs:
        for d in (data, neighbour):
            if d not in known:
                known[d] = law(d)
        value = divergence(known[data], known[neighbour], epsilon)
        low, high = max(low, value.lo), max(high, value.hi)
    return Interval(low, high)
