r"""Noise quantiles of the histogram testers: what no data can change.

Write Z for the integer noise field on the m cells (each cell the sum of ``fields`` independent discrete
Laplace variables of scale s) and L for the scalar noises of scales ``extra``. Two laws matter, both in
units of half a record (everything is doubled so that it stays an integer):

* the *single* law of <h, Z> + L for one classifier h. By the symmetry of every summand it is the law of
  a sum of fields * m + len(extra) independent discrete Laplaces, the same for every h: exact.
* the *sup* law of max_h <h, Z> + L. Its quantiles are bounded
  - analytically: P(max_h <h, Z> + L >= q) <= (number of dichotomies) * P(<h, Z> + L >= q), with the exact
    tail of the single law;
  - by simulation (``certified-mc``): of B independent draws, fixed by a seed before anything else, the j-th
    smallest is at least the (1 - beta)-quantile unless fewer than j of the draws fall below it; j is the
    least index for which that has probability at most 1e-6 [order statistics; the index is computed
    exactly]. The 1e-6 is over the calibration, once per bound that is read off; privacy never depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.domain import Domain
from geomdp.core.errors import CapacityError
from geomdp.privacy.law import chernoff_upper, dlap_sum_sf, order_index
from geomdp.privacy.sampler import SimSampler

Progress = Callable[[float], None] | None

#: Draws per table, and the least number that is worth certifying from.
DRAWS, FEWEST_DRAWS = 10_000, 500
#: Chance that a simulated bound fails to hold, over the calibration.
CALIBRATION_LOSS = Fraction(1, 10**6)
_SEED = 20_240_601
_BATCH = 500
#: Counting dichotomies exactly takes about m^(d-1) / (d-1)! steps; beyond this many, Cover's bound serves.
_COUNTING_STEPS = 5 * 10**7
#: Tails this small are bounded by Chernoff's inequality instead of summed.
_LEAST_LEVEL = Fraction(1, 10**18)
#: So are tails of laws with more values: summing them takes seconds.
_MOST_VALUES = 2.0**23
#: Seconds (estimates) that one optimum of noisy counts, and one simulated table, may take.
_SOLVING, _SIMULATING = 60.0, 8.0


@lru_cache(maxsize=16)
def class_count(domain: Domain, classes: str) -> int:
    """Return the number of labelings of the domain that the class realises, or an upper bound on it.

    Where an exact count takes too long the bound 2 * sum_{i < d} C(m - 1, i) is used on pointed domains
    [Cover 1965]; grids and lines are pointed. On other domains i < d + 1 takes its place: on finitely many
    points <w, x> >= 0 and <w, x> + c > 0 agree for some c > 0, so every labelling is one of the points (x, 1)
    by an open halfspace of one dimension more.

    Example:
        >>> class_count(Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)]), "halfspaces")
        40150
    """
    m, d = domain.m, domain.d
    if classes == "thresholds":
        return m + 1
    if math.comb(m, d - 1) > _COUNTING_STEPS or (d > m and not domain.pointed):
        return 2 * sum(math.comb(m - 1, i) for i in range(min(m, d if domain.pointed else d + 1)))
    key = {"table": "dichotomies", "domain": domain.fingerprint}
    return int(cached(key, lambda: np.array([_count(domain)]))[0])


def _count(domain: Domain) -> int:
    from geomdp.geometry.arrangement import count_dichotomies

    return count_dichotomies(domain)


def unsolvable(domain: Domain, classes: str) -> str:
    """Return why the optimum of noisy counts is out of reach on a domain, or ""."""
    if domain.m > 2**20:
        return "more than 2^20 noisy cells would be released"
    if classes == "thresholds":
        return "" if domain.m <= 2**16 else "the interior-point tester resolves far more on long lines"
    from geomdp.opt.halfspace import estimate_seconds

    seconds = estimate_seconds(domain.m, domain.d, pointed=domain.pointed)
    return "" if seconds <= _SOLVING else f"the optimum of its noisy cells would take about {seconds:.2g} s"


def affordable_draws(domain: Domain, classes: str) -> int:
    """Return how many noise fields can be simulated in reasonable time, 0 if too few to certify from."""
    if unsolvable(domain, classes):
        return 0
    if classes == "thresholds":
        one = 1e-8 * domain.m if domain.m <= 2**12 else math.inf
    elif domain.features is not None and domain.d == 3:
        one = 5e-10 * class_count(domain, classes)
    else:
        from geomdp.opt.halfspace import estimate_seconds

        pointed = domain.pointed
        one = (
            estimate_seconds(domain.m, domain.d, 1000, pointed=pointed)
            - estimate_seconds(domain.m, domain.d, 0, pointed=pointed)
        ) / 1000
    draws = min(DRAWS, int(_SIMULATING / one))
    return draws if draws >= FEWEST_DRAWS else 0


def sum_quantile(count: int, scale: Fraction, extra: tuple[Fraction, ...], level: Fraction) -> int:
    """Return q with P(S >= q) <= level, S a sum of `count` discrete Laplaces and one of each extra scale.

    The least q, up to rounding, where the sum's law is quickly written out; else Chernoff's.

    Example:
        >>> tenth = Fraction(1, 10)
        >>> sum_quantile(3, Fraction(2), (), tenth) < sum_quantile(3, Fraction(10**7), (), tenth)
        True
    """
    wide = (count + 28 * math.sqrt(count) + 200) * float(max((scale, *extra)))
    if level < _LEAST_LEVEL or wide > _MOST_VALUES:
        return chernoff_upper(count, scale, 1, level, extra)
    return dlap_sum_sf(count, scale, extra).quantile_upper(level)


@dataclass(frozen=True)
class FieldNoise:
    """The noise of one noisy field, for one public domain and class.

    Attributes:
        domain, classes: where it is added, and which classifiers read it.
        scale: discrete Laplace scale per cell and field.
        fields: independent fields added up (2 where both parties release one).
    """

    domain: Domain
    classes: str
    scale: Fraction
    fields: int = 1

    @property
    def summands(self) -> int:
        """Number of discrete Laplaces in <h, Z>."""
        return self.fields * self.domain.m

    def single(self, level: Fraction, extra: tuple[Fraction, ...] = ()) -> int:
        """Return the least integer q with P(<h, Z> + L >= q) <= level; exact for every h.

        Where the level is below 10^-18, or the law has too many values to be summed quickly, a larger q
        that Chernoff's inequality certifies.

        Example:
            >>> noise = FieldNoise(Domain.grid([("x", 0, 1, 4)]), "thresholds", Fraction(2))
            >>> noise.single(Fraction(1, 10)) > noise.single(Fraction(1, 5)) > 0
            True
        """
        return sum_quantile(self.summands, self.scale, extra, level)

    def sup_analytic(self, level: Fraction, extra: tuple[Fraction, ...] = ()) -> int:
        """Return an integer q with P(max_h <h, Z> + L >= q) <= level, by the union bound."""
        return self.single(level / class_count(self.domain, self.classes), extra)

    def sup_simulated(
        self, level: Fraction, extra: tuple[Fraction, ...] = (), progress: Progress = None
    ) -> int | None:
        """Return an integer q with P(max_h <h, Z> + L >= q) <= level, certified from simulation.

        Returns:
            q, or None where the table is too small for this level or too dear for this domain.
        """
        draws = affordable_draws(self.domain, self.classes)
        index = order_index(draws, 1 - level, CALIBRATION_LOSS) if draws else None
        if index is None or index > draws:
            return None
        values = self.sup_draws(draws, progress)
        for place, scale in enumerate(extra):
            values = values + SimSampler(_SEED + 1 + place).discrete_laplace(scale, draws)
        return int(np.sort(values)[index - 1]) + 1

    def sup_draws(self, draws: int, progress: Progress = None) -> NDArray[np.int64]:
        """Return (draws,) independent values of max_h <h, Z>, each computed exactly; cached on disk."""
        key = {
            "table": "sup",
            "domain": self.domain.fingerprint,
            "classes": self.classes,
            "scale": str(self.scale),
            "fields": self.fields,
            "draws": draws,
            "seed": _SEED,
        }
        return cached(key, lambda: self._simulate(draws, progress))

    def _simulate(self, draws: int, progress: Progress) -> NDArray[np.int64]:
        from geomdp.opt.sup import sup_field

        sampler, m = SimSampler(_SEED), self.domain.m
        batch = max(1, min(_BATCH, 2**22 // m))
        values = np.empty(draws, dtype=np.int64)
        for start in range(0, draws, batch):
            size = min(batch, draws - start)
            Z = sum(sampler.discrete_laplace(self.scale, size * m) for _ in range(self.fields))
            told = None if progress is None else partial(_part, progress, start / draws, size / draws)
            fields = np.reshape(Z, (size, m))
            values[start : start + size] = sup_field(self.domain, fields, self.classes, told)
        return values


def _part(progress: Callable[[float], None], before: float, here: float, done: float) -> None:
    progress(before + here * done)


@dataclass(frozen=True)
class Calibration:
    """Quantiles for one tester: how many half-records the noise may push a statistic up or down.

    Attributes:
        noise: the field.
        extra: scales of the scalar noises that are added to its minimum.
        simulated: True to bound the sup law by simulation, False analytically.
        progress: told the fraction done while a table is simulated.
    """

    noise: FieldNoise
    extra: tuple[Fraction, ...] = ()
    simulated: bool = False
    progress: Progress = None

    def up(self, level: Fraction) -> int:
        """Return q1, the least integer with P(the perfect classifier's noise >= q1) <= level."""
        return self.noise.single(level, self.extra)

    def down(self, level: Fraction) -> int | None:
        """Return q2 with P(some classifier's noise <= -q2) <= level, or None if it cannot be certified."""
        try:
            if self.simulated:
                return self.noise.sup_simulated(level, self.extra, self.progress)
            return self.noise.sup_analytic(level, self.extra)
        except CapacityError:
            return None

    @cached_property
    def name(self) -> str:
        """The guarantee that these quantiles support."""
        return "certified-mc" if self.simulated else "analytic"

    def resolution(self, beta: Fraction, tolerance: int) -> int | None:
        """Return the least certified t.

        The statistic W = min_h (2 err(h) + noise(h)) is compared with the cut 2 t0 + q1. If opt <= t0, W
        is at most 2 t0 + noise of the best classifier, below the cut with probability >= 1 - beta. If
        opt >= t, W >= 2 t - sup noise, and sup noise <= q2 - 1 with probability >= 1 - beta; so
        2 t - (q2 - 1) >= 2 t0 + q1 suffices.
        """
        down = self.down(beta)
        return None if down is None else tolerance + max(1, math.ceil((self.up(beta) + down - 1) / 2))

    def interval(self, doubled: int, level: Fraction, most: int) -> tuple[int, int] | None:
        """Return a 1 - level confidence interval for opt from W = ``doubled``, inside [0, most].

        W <= 2 opt + q1 - 1 and W >= 2 opt - (q2 - 1), each with probability >= 1 - level / 2.
        """
        down = self.down(level / 2)
        if down is None:
            return None
        lower = -((self.up(level / 2) - 1 - doubled) // 2)
        upper = (doubled + down - 1) // 2
        lower = min(max(lower, 0), most)
        return lower, min(max(upper, lower), most)
