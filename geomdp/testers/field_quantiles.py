r"""Quantiles of noisy fields whose law is known by an exact sampler: what no data can change.

For a field noise Z on the m cells and scalar noises L, in units of 1/(2 unit) record, two bounds are needed:

* sup: q with P(max_h <h, Z> + L >= q) <= level;
* single: q with P(<h, Z> + L >= q) <= level for *every* h of the class, as the perfect classifier may be any.

Neither law is a sum of independent terms, so both come from one table of independent draws Z_1 .. Z_R, whose
seed is fixed beforehand. Sup: the order statistic of :mod:`geomdp.testers.histogram_law`. Single: the law of
Z is symmetric under z -> -z, hence <h, Z> + L is symmetric about 0 and P(<h, Z> + L >= q), q > 0, is half of
P(|<h, Z> + L| >= q). For each h the j-th smallest |<h, Z_i> + L_i| bounds the (1 - 2 level)-quantile except
with probability 10^-6 / N, where N is the number of classifiers examined; the largest of these bounds over
them holds for all of them except with probability 10^-6 [union bound; nothing is sampled among the h].

Which h must be examined: h and its complement have the same |<h, Z> + L|; and if a permutation g of the cells
maps the class to itself, the law of Z is invariant under g (|z|_1 and max_h |<h, z>| are), so that <h, Z> and
<gh, Z> have one law. On two-feature grids the reflections, and on square ones the transposition, leave the
normals between 0 and 90, or 0 and 45 degrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.errors import CapacityError
from geomdp.privacy.law import order_index
from geomdp.privacy.sampler import SimSampler
from geomdp.testers.cell_orders import all_pairs, line_classes, partial_schedule
from geomdp.testers.histogram_law import CALIBRATION_LOSS, Progress, class_count
from geomdp.testers.suprema import spatial, suprema
from geomdp.testers.tilted_law import FieldLaw

_SEED = 20_250_217
#: Multiplications that a list of classifiers times a table of draws may take.
_PRODUCTS = 8 * 10**11

#: The last tables drawn, by law: several quantiles are read from one table.
_TABLES: dict[FieldLaw, NDArray[np.int64]] = {}


def _table(law: FieldLaw, fields: int, progress: Progress) -> NDArray[np.int64]:
    """Return (draws // fields, m): sums of `fields` independent noises out of one table of single draws."""
    if law not in _TABLES:
        while len(_TABLES) > 1:
            del _TABLES[next(iter(_TABLES))]
        _TABLES[law] = law.draw(SimSampler(_SEED), law.draws, progress)
    used = law.draws // fields * fields
    return np.asarray(_TABLES[law][:used].reshape(fields, used // fields, -1).sum(axis=0), dtype=np.int64)


@dataclass(frozen=True)
class Quantiles:
    """Certified quantiles of a field noise plus scalar noises; cached on disk.

    Attributes:
        law: the field noise of one party.
        extra: scales of the discrete Laplace scalars that are added (in the law's units).
        fields: independent fields added up.
        progress: told the fraction done while a table is drawn.
    """

    law: FieldLaw
    extra: tuple[Fraction, ...] = ()
    fields: int = 1
    progress: Progress = None

    @property
    def draws(self) -> int:
        """Number of independent values in a table."""
        return self.law.draws // self.fields

    def sup(self, level: Fraction) -> int | None:
        """Return q with P(max_h <h, Z> + L >= q) <= level; None if the table is too small for the level."""
        index = order_index(self.draws, 1 - level, CALIBRATION_LOSS)
        if index > self.draws:
            return None
        values = cached(self._key("sup"), self._suprema) + self._scalars()
        return int(np.sort(values)[index - 1]) + 1

    def single(self, level: Fraction) -> int | None:
        """Return q with P(<h, Z> + L >= q) <= level for every h; None if it cannot be certified."""
        if 2 * level >= 1:
            return 1
        key = {**self._key("single"), "level": str(level), "extra": [str(scale) for scale in self.extra]}
        value = int(cached(key, lambda: np.array([self._worst(level)]))[0])
        return None if value < 0 else value

    def _key(self, table: str) -> dict[str, object]:
        law = self.law
        return {
            "table": table,
            "domain": law.domain.fingerprint,
            "classes": law.classes,
            "fields": self.fields,
            "draws": law.draws,
            "seed": _SEED,
            **law.key,
        }

    def _scalars(self) -> NDArray[np.int64]:
        total = np.zeros(self.draws, dtype=np.int64)
        for place, scale in enumerate(self.extra):
            total += SimSampler(_SEED + 1 + place).discrete_laplace(scale, self.draws)
        return total

    def _suprema(self) -> NDArray[np.int64]:
        Z = _table(self.law, self.fields, self.progress)
        return suprema(self.law.domain, self.law.classes, Z)

    def _worst(self, level: Fraction) -> int:
        """Return the single bound, or -1."""
        law = self.law
        examined = _Examined.of(law)
        if examined is None:
            return -1
        index = order_index(self.draws, 1 - 2 * level, CALIBRATION_LOSS / examined.count)
        if index > self.draws:
            return -1
        Z = _table(law, self.fields, self.progress)
        return examined.worst(Z, self._scalars(), index) + 1


@dataclass(frozen=True)
class _Examined:
    """One classifier of each symmetry class: prefixes of a sweep, or a list of sign vectors."""

    count: int
    spans: NDArray[np.int32]
    cells: NDArray[np.int32]
    signs: NDArray[np.int8] | None = None
    points: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, law: FieldLaw) -> _Examined | None:
        domain = law.domain
        none = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
        if domain.ordered:
            return cls(domain.m + 1, *none)
        if domain.features is not None and domain.d == 3:
            spans, cells = partial_schedule(*(f.levels for f in domain.features), law.symmetric)
            return cls(domain.m + 1 + len(cells), spans, cells)
        if spatial(domain, law.classes):
            from geomdp.testers import _tilt_kernels

            points = np.ascontiguousarray(domain.points[:, :3].astype(np.int64))
            pairs = line_classes(domain) if law.symmetric else all_pairs(domain)
            count = _tilt_kernels.count_sides(points, pairs)
            return cls(count, pairs, none[1], None, points)
        if class_count(domain, law.classes) * domain.m * law.draws > _PRODUCTS:
            return None
        from geomdp.geometry.arrangement import dichotomies

        try:
            listed = dichotomies(domain)
        except CapacityError:
            return None
        half = listed.signs[listed.signs[:, 0] > 0] if domain.pointed else listed.signs
        return cls(len(half), *none, half)

    def worst(self, Z: NDArray[np.int64], extra: NDArray[np.int64], index: int) -> int:
        """Return the largest index-th smallest |<h, Z> + extra| over the classifiers."""
        if self.signs is None:
            from geomdp.testers import _tilt_kernels

            small = int(np.abs(Z).sum(axis=1).max(initial=0)) + int(np.abs(extra).max(initial=0)) < 2**28
            kind = np.int32 if small else np.int64
            turned, scalars = np.ascontiguousarray(Z.T.astype(kind)), extra.astype(kind)
            if self.points is not None:
                return int(_tilt_kernels.worst_around_lines(self.points, turned, scalars, self.spans, index))
            return int(_tilt_kernels.worst_order_statistic(turned, scalars, self.spans, self.cells, index))
        best, fields = 0, Z.T.astype(np.float64)  # sums of integers far below 2^53: exact
        for first in range(0, self.count, 256):
            values = np.abs(self.signs[first : first + 256].astype(np.float64) @ fields + extra)
            over = (values > best).sum(axis=1) > Z.shape[0] - index
            for row in values[over]:
                best = max(best, int(np.partition(row, index - 1)[index - 1]))
        return best


@dataclass(frozen=True)
class FieldCalibration:
    """Cut, resolution and intervals of a statistic W = min_h (2 err(h) + noise(h)), scaled by the unit.

    Attributes:
        quantiles: of the noise, in units of 1/(2 unit) record.
    """

    quantiles: Quantiles

    @property
    def unit(self) -> int:
        """W is 2 unit times a number of records."""
        return self.quantiles.law.unit

    def resolution(self, up_level: Fraction, down_level: Fraction, tolerance: int) -> int | None:
        """Return the least certified t, or None.

        If opt <= t0, W <= 2 unit t0 + noise of the best classifier, below the cut 2 unit t0 + q1 except with
        probability up_level. If opt >= t, W >= 2 unit t - sup noise > 2 unit t - q2 except with probability
        down_level; so 2 unit t - (q2 - 1) >= 2 unit t0 + q1 suffices.
        """
        up, down = self.quantiles.single(up_level), self.quantiles.sup(down_level)
        if up is None or down is None:
            return None
        return tolerance + max(1, -(-(up + down - 1) // (2 * self.unit)))

    def interval(self, scaled: int, level: Fraction, most: int) -> tuple[int, int] | None:
        """Return a 1 - level confidence interval for opt from W = ``scaled``, inside [0, most]."""
        up, down = self.quantiles.single(level / 2), self.quantiles.sup(level / 2)
        if up is None or down is None:
            return None
        both = 2 * self.unit
        lower = min(max(-((up - 1 - scaled) // both), 0), most)
        return lower, min(max((scaled + down - 1) // both, lower), most)
