"""Sample sizes with interior-point oracles: what a nearly constant dependence on the domain's size costs.

Each oracle cuts its m records at random into t blocks of r records; every block names a coordinate that has a
completion without mistakes on the block, and a private choice among the t names returns the component.

Proof note. Fix a sample of m records whose labels some completion explains. A hypothesis of the round's class
that errs on more than rho m of them is one of at most G(m) labellings, and a random block of r records misses
all its mistakes with probability at most (1 - rho)^r. So with

    r >= (ln G(m) + ln(t / beta')) / -ln(1 - rho)

all t completions err on at most rho m records, except with probability beta'. On realizable states the
objective is quasi-concave, hence every coordinate between two names has such a completion too (paper,
Lemma 8.12), and so has one that some block names, for the stabbing form. The private choice fails with
probability at most beta'. The rest is as in :mod:`geomdp.learners.calibration`, with e = floor(rho m) in
place of the oracle's excess. The union over labellings of the sample replaces Blumer's bound, with smaller
constants.

Losses are set by rule, not searched for: the size hardly depends on them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from geomdp.learners.accounting import Layout, allocate
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.calibration import Calibration
from geomdp.learners.generalisation import sample_size
from geomdp.learners.growth import Profile
from geomdp.learners.oracles.ip_concave import blocks_needed

#: rho as shares of the round's rate.
_SHARES = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
_BELOW = 1 - Fraction(1, 10**9)


def interior_run(
    profile: Profile, epsilon: Fraction, delta: Fraction, alpha: Fraction, beta: Fraction
) -> Calibration:
    """Return a run with CarrierBoost, fresh reservoirs and interior-point or stabbing oracles.

    Args:
        profile: the class; its domains may have millions of bits if delta > 0.
        epsilon, delta: the privacy guarantee.
        alpha, beta: error and failure probability, for realizable distributions.

    Example:
        >>> from geomdp.learners.growth import halfspace_profile
        >>> tenth, millionth = Fraction(1, 10), Fraction(1, 10**6)
        >>> profiles = [halfspace_profile(2, 2**h) for h in (9, 500)]
        >>> small, large = (interior_run(p, Fraction(1), millionth, tenth, tenth) for p in profiles)
        >>> small.allocation.n < large.allocation.n < 10**9
        True
    """
    k = profile.k
    layout = _layout(k, epsilon, delta)
    share = beta / (4 * k - 1)  # k choices, k nets, k - 1 relabellings, k double samples
    rate = alpha / k
    sizes = [0] * k
    for i in range(k - 1, -1, -1):
        loss, own = layout.oracles[i], layout.delta(i)
        t = min(
            blocks_needed(profile.sizes[i], loss, own, share),
            blocks_needed(profile.sizes[i], loss, own, share, how="stabbing"),
        )
        relabel = 0
        if i < k - 1:
            candidates = profile.growth(i + 1, sizes[i + 1])
            relabel = exponential_excess(candidates, layout.relabels[i], share) - 1
        sizes[i] = _least(profile, i, t, relabel, float(rate), float(share))
    return Calibration(layout, tuple(sizes), allocate(layout, sizes, epsilon, delta, "fresh"), (rate,) * k)


def _layout(k: int, epsilon: Fraction, delta: Fraction) -> Layout:
    """Return the rule's losses: R_0 spends epsilon itself, carriers about 1/2 and 1/5, the last one 7/10."""
    if k == 1:
        return Layout((epsilon * _BELOW,), (), deltas=(delta / 2,))
    oracles = (epsilon * Fraction(7, 10) * _BELOW, *[Fraction(1, 2)] * (k - 2), Fraction(7, 10))
    relabels = (epsilon * Fraction(3, 10) * _BELOW, *[Fraction(1, 5)] * (k - 2))
    return Layout(oracles, relabels, deltas=(delta / 2,) * k)


def _least(  # noqa: PLR0917
    profile: Profile, i: int, t: int, relabel: int, rate: float, beta: float
) -> int:
    best = 0
    for part in _SHARES:
        rho = rate * part

        def errors(m: int, rho: float = rho) -> int:
            return math.floor(rho * m) + relabel

        def growth(points: int) -> int:
            return profile.growth(i, points)

        m = _net(profile, i, t, rho, beta)
        try:
            m = max(m, sample_size(errors, rate, beta, growth, pairs=i > 0, full=False, start=m))
        except OverflowError:
            continue
        best = min(best or m, m)
    return best


def _net(profile: Profile, i: int, t: int, rho: float, beta: float) -> int:
    """Return m = t r such that the bound holds at m: r grows with ln G(m), by steps upwards."""
    m = t
    while True:
        labellings = math.log(profile.growth(i, m))
        r = math.ceil((labellings + math.log(t / beta)) / -math.log1p(-rho) * (1 + 1e-9))
        if t * r <= m:
            return m
        m = t * r
