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

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import permutations, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geomdp.cache import cached
from geomdp.core.domain import Domain
from geomdp.core.errors import CapacityError
from geomdp.privacy.law import order_index
from geomdp.privacy.sampler import Sampler, SimSampler
from geomdp.privacy.tilt import TiltedLaplace, tilted
from geomdp.testers.histogram_law import CALIBRATION_LOSS, Progress, class_count, unsolvable

_SEED = 20_250_217
#: A supremum over the whole class is part of the tilt only where few fields take less than this (seconds).
_QUICK = 0.3
#: Seconds (an estimate) that the suprema of one table may take.
_PATIENCE = 25.0
#: Multiplications that a list of classifiers times a table of draws may take.
_PRODUCTS = 4 * 10**11


class FieldLaw(Protocol):
    """Noise on the cells, by an exact sampler; its law is symmetric and does not depend on any data.

    Attributes:
        domain, classes: where it is added, and which classifiers read it.
        unit: the noise is in units of 1/unit of a net count.
        symmetric: True if the law is invariant under the symmetries of a grid.
        draws: how many draws a table has.
    """

    @property
    def domain(self) -> Domain: ...
    @property
    def classes(self) -> str: ...
    @property
    def unit(self) -> int: ...
    @property
    def symmetric(self) -> bool: ...
    @property
    def draws(self) -> int: ...
    @property
    def key(self) -> dict[str, object]:
        """JSON values that determine the law."""
        ...

    def draw(self, sampler: Sampler, size: int, progress: Progress = None) -> NDArray[np.int64]:
        """Return (size, m) independent fields."""
        ...


def default_tilt(domain: Domain, classes: str) -> Fraction:
    """Return the share of the budget that is spent on the supremum, by the size of the public domain.

    More of it lowers the supremum further, but the acceptance falls exponentially: about
    exp(-share * E sup / 2), with E sup growing like sqrt(m) times the noise of a cell.

    Example:
        >>> default_tilt(Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)]), "halfspaces")
        Fraction(3, 25)
    """
    m = domain.m
    for most, share in ((24, "3/10"), (80, "1/5"), (140, "4/25"), (300, "3/25"), (640, "9/100")):
        if m <= most:
            return Fraction(share)
    return Fraction(6, 100) if m <= 1100 else Fraction(1, 50)


def sweep_orders(domain: Domain, reach: int = 2) -> NDArray[np.int64] | None:
    """Return (K, m) orders of the cells by generic linear functionals, or None if prefixes need no halfspace.

    On distinct points with a constant coordinate every prefix is cut off by a halfspace: functionals with
    small integer entries, ties broken lexicographically (an infinitely small perturbation).

    Example:
        >>> sweep_orders(Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)]), 1).tolist()[:2]
        [[0, 1, 2, 3], [0, 2, 1, 3]]
    """
    if domain.ordered:
        return np.arange(domain.m, dtype=np.int64)[None, :]
    points = domain.points
    constant = (points == points[0]).all(axis=0) & (points[0] != 0)
    if not constant.any() or len(np.unique(points, axis=0)) < len(points):
        return None
    moving = points[:, ~constant].astype(np.int64)
    keys = [f for f in product(range(-reach, reach + 1), repeat=moving.shape[1]) if _leading(f)]
    keys.sort(key=lambda f: (sum(map(abs, f)), f[::-1]))
    return np.array([np.lexsort((*moving.T[::-1], moving @ np.array(f))) for f in keys], dtype=np.int64)


def grid_symmetries(domain: Domain) -> list[NDArray[np.int64]]:
    """Return the cell permutations by reflections, and by exchanging axes with equally many levels.

    Example:
        >>> len(grid_symmetries(Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3), ("z", 0, 1, 2)])))
        16
    """
    levels = [axis.levels for axis in domain.features or ()]
    cells, images = np.arange(domain.m).reshape(levels), []
    for axes in permutations(range(len(levels))):
        if [levels[a] for a in axes] == levels:
            for sides in product((1, -1), repeat=len(levels)):
                turned = cells.transpose(axes)[tuple(slice(None, None, side) for side in sides)]
                images.append(np.ascontiguousarray(turned.ravel()))
    return images


def closed_orders(domain: Domain, orders: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return orders of a grid's cells and their images under its symmetries, each once.

    An order and its reverse have the same prefixes up to complement.

    Example:
        >>> len(closed_orders(Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)]), np.arange(4)[None, :]))
        4
    """
    found: dict[bytes, NDArray[np.int64]] = {}
    images = grid_symmetries(domain)
    for order in orders:
        for image in images:
            moved = image[order]
            moved = moved if moved[0] < moved[-1] else np.ascontiguousarray(moved[::-1])
            found.setdefault(moved.tobytes(), moved)
    return np.array(list(found.values()), dtype=np.int64)


def _leading(f: tuple[int, ...]) -> bool:
    """Return whether a vector is primitive and its first nonzero entry positive."""
    return math.gcd(*f) == 1 and next(x for x in f if x) > 0


def suprema(domain: Domain, classes: str, Z: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (B,) values of max_h <h, z> for (B, m) fields; halfspaces on three-feature grids by lines.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2), ("z", 0, 1, 2)])
        >>> suprema(D, "halfspaces", np.array([[1, -1, 1, 1, 1, -1, 1, 1]])).tolist()
        [6]
    """
    from geomdp.opt.sup import sup_field

    if not _spatial(domain, classes) or int(np.abs(Z).sum(axis=1).max(initial=0)) >= 2**29:
        return sup_field(domain, Z, classes)
    from geomdp.opt.parallel import spread
    from geomdp.testers import _tilt_kernels

    kind = np.int16 if int(np.abs(Z).sum(axis=1).max(initial=0)) < 2**13 else np.int32
    points = np.ascontiguousarray(domain.points[:, :3].astype(np.int64))
    fields = np.ascontiguousarray(Z.T.astype(kind))
    parts: list[NDArray[Any]] = []

    def work(first: int, last: int) -> None:
        out = np.zeros(len(Z), dtype=kind)
        _tilt_kernels.line_suprema(points, fields, first, last, out)
        parts.append(out)

    spread(work, domain.m, max(1, domain.m // 16))
    return np.asarray(np.max(parts, axis=0), dtype=np.int64)


def _spatial(domain: Domain, classes: str) -> bool:
    return domain.features is not None and domain.d == 4 and domain.m <= 1000 and classes == "halfspaces"


def supremum_of(domain: Domain, classes: str) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the function from (B, m) fields to (B,) values of max_h |<h, z>|."""

    def value(Z: NDArray[np.int64]) -> NDArray[np.int64]:
        top = suprema(domain, classes, Z)
        closed = domain.pointed and classes == "halfspaces"
        return top if closed else np.maximum(top, suprema(domain, classes, -Z))

    return value


def supremum_seconds(domain: Domain, classes: str, fields: int) -> float:
    """Return a rough time of the exact suprema of a batch of fields."""
    m = domain.m
    if domain.ordered or classes == "thresholds":
        return 1e-8 * m * fields
    if domain.features is not None and domain.d == 3:
        return 6e-10 * class_count(domain, classes) * fields
    if _spatial(domain, classes):
        return 6e-8 * float(m) ** 3 / 2 + 1e-10 * float(m) ** 3 / 2 * fields
    from geomdp.opt.halfspace import estimate_seconds

    return estimate_seconds(m, domain.d, fields, pointed=domain.pointed)


@dataclass(frozen=True)
class TiltedField:
    """Sup-tilted discrete Laplace noise on every cell.

    Attributes:
        domain, classes: where it is added, and which classifiers read it.
        epsilon: the privacy loss of the release, exactly covered.
        tilt: the share of it that is spent on the supremum.
        draws: size of the calibration tables.

    Example:
        >>> field = TiltedField(Domain.line(6), "thresholds", Fraction(1), Fraction(1, 5), 2000)
        >>> field.draw(SimSampler(0), 3).shape, field.noise.epsilon <= 1
        ((3, 6), True)
    """

    domain: Domain
    classes: str
    epsilon: Fraction
    tilt: Fraction
    draws: int = 10_000

    @property
    def unit(self) -> int:
        """Noise is counted in whole net counts."""
        return 1

    @cached_property
    def symmetric(self) -> bool:
        """True if the tilt sees the whole class, or orders that are closed under the grid's symmetries."""
        return self.noise.supremum is not None or self.domain.features is not None

    @property
    def key(self) -> dict[str, object]:
        """JSON values that determine the law."""
        return {"noise": "tilted", "epsilon": str(self.epsilon), "tilt": str(self.tilt)}

    @cached_property
    def noise(self) -> TiltedLaplace:
        """The exact sampler; the tilt sees the whole class where its supremum is quick, else some orders."""
        orders = sweep_orders(self.domain)
        if self.domain.ordered and orders is not None:
            return tilted(self.epsilon, self.tilt, orders)
        if orders is not None and supremum_seconds(self.domain, self.classes, 16) > _QUICK:
            closed = orders if self.domain.features is None else closed_orders(self.domain, orders)
            return tilted(self.epsilon, self.tilt, closed)
        bounded = orders is not None
        start = np.arange(self.domain.m, dtype=np.int64)[None, :] if orders is None else orders[:12]
        supremum = supremum_of(self.domain, self.classes)
        return tilted(self.epsilon, self.tilt, start, supremum, bounded=bounded)

    def draw(self, sampler: Sampler, size: int, progress: Progress = None) -> NDArray[np.int64]:
        """Return (size, m) independent fields."""
        return self.noise.draw(sampler, size, progress)


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
            spans, cells = _partial_schedule(*(f.levels for f in domain.features), law.symmetric)
            return cls(domain.m + 1 + len(cells), spans, cells)
        if _spatial(domain, law.classes):
            from geomdp.testers import _tilt_kernels

            points = np.ascontiguousarray(domain.points[:, :3].astype(np.int64))
            pairs = _line_classes(domain) if law.symmetric else _lines(domain)
            count = _tilt_kernels.count_sides(points, pairs)
            return cls(count, pairs, none[1], None, points)
        if class_count(domain, law.classes) * domain.m * law.draws > 2 * _PRODUCTS:
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
                return int(
                    _tilt_kernels.worst_around_lines(self.points, turned, scalars, self.spans, index)
                )
            return int(_tilt_kernels.worst_order_statistic(turned, scalars, self.spans, self.cells, index))
        best, fields = 0, Z.T.astype(np.float64)  # sums of integers far below 2^53: exact
        for first in range(0, self.count, 256):
            values = np.abs(self.signs[first : first + 256].astype(np.float64) @ fields + extra)
            over = (values > best).sum(axis=1) > Z.shape[0] - index
            for row in values[over]:
                best = max(best, int(np.partition(row, index - 1)[index - 1]))
        return best


@lru_cache(maxsize=4)
def _partial_schedule(
    rows: int, columns: int, symmetric: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the sweep of a grid over the normals that its symmetries leave.

    Normals (cos t, sin t) turn from t = 0 on, and reach the critical step (a, b) where they are orthogonal to
    it. Every dichotomy is a prefix at some generic normal; a reflection or the transposition takes generic
    normals to generic ones, so those with 0 < t < 90 (square: 45) degrees meet every symmetry class.
    """
    from geomdp.opt import _kernels
    from geomdp.opt.sup import critical_directions, grid_schedule

    if not symmetric:
        return grid_schedule(rows, columns)
    kept = [(a, b) for a, b in critical_directions(rows, columns) if (a < -b if rows == columns else b < 0)]
    steps = np.array(kept, dtype=np.int64).reshape(-1, 2)
    kept_dx, kept_dy = np.ascontiguousarray(steps[:, 0]), np.ascontiguousarray(steps[:, 1])
    none = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
    groups, used = _kernels.grid_schedule(rows, columns, kept_dx, kept_dy, *none)
    spans, cells = np.empty((groups, 2), dtype=np.int32), np.empty(used, dtype=np.int32)
    _kernels.grid_schedule(rows, columns, kept_dx, kept_dy, spans, cells)
    return spans, cells


def _lines(domain: Domain) -> NDArray[np.int32]:
    """Return (L, 2): all pairs of points; a compiled loop skips those that repeat a line."""
    first, second = np.triu_indices(domain.m, 1)
    return np.stack([first, second], axis=1).astype(np.int32)


@lru_cache(maxsize=4)
def _line_classes(domain: Domain) -> NDArray[np.int32]:
    """Return (L, 2) pairs of points of a three-feature grid, at least one per symmetry class of lines.

    Reflections, and permutations of axes with equally many levels, map lines to lines; pairs are grouped by
    the smallest of their images.
    """
    pairs = _second_points(domain)
    best = np.full(len(pairs), domain.m**2, dtype=np.int64)
    for image in grid_symmetries(domain):
        # an image of the line's two first points need not be first on its line: take the line's label
        a, b = image[pairs[:, 0]], image[pairs[:, 1]]
        best = np.minimum(best, _line_labels(domain)[a, b])
    _, kept = np.unique(best, return_index=True)
    return np.ascontiguousarray(pairs[kept].astype(np.int32))


@lru_cache(maxsize=2)
def _line_labels(domain: Domain) -> NDArray[np.int64]:
    """Return (m, m): for two points, m i + j of the two first points i < j on their line."""
    m = domain.m
    labels = np.full((m, m), -1, dtype=np.int64)
    points = domain.points[:, :3].astype(np.int64)
    for i in range(m):
        step = points - points[i]
        step[i] = (1, 0, 0)
        step //= np.gcd.reduce(step, axis=1)[:, None]
        step[i] = 0
        fresh = np.flatnonzero((labels[i] < 0) & (np.arange(m) > i))
        _, first, group = np.unique(step[fresh], axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
        for g in range(len(first)):
            on = np.concatenate([[i], fresh[group == g]])
            labels[np.ix_(on, on)] = m * i + fresh[first[g]]
    return labels


def _second_points(domain: Domain) -> NDArray[np.int64]:
    labels = np.unique(_line_labels(domain))
    labels = labels[labels >= 0]
    return np.stack([labels // domain.m, labels % domain.m], axis=1)


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


def tilted_field(
    domain: Domain, classes: str, epsilon: Fraction, tilt: Fraction | None = None
) -> TiltedField | str:
    """Return the field noise with the default tilt and table size, or why there is none."""
    reason = unsolvable(domain, classes)
    if reason:
        return reason
    share = default_tilt(domain, classes) if tilt is None else tilt
    field = TiltedField(domain, classes, epsilon, share, table_size(domain, classes))
    if field.draws == 0:
        return "simulating its noise tables would take too long"
    try:
        _ = field.noise
    except CapacityError as error:
        return str(error)
    return field


def table_size(domain: Domain, classes: str) -> int:
    """Return how many draws are affordable: at most 10,000, and 0 where fewer than 500 are."""
    draws = 10_000 if domain.m <= 300 else 4_000
    start = supremum_seconds(domain, classes, 0)
    each = (supremum_seconds(domain, classes, 1000) - start) / 1000
    draws = min(draws, int((_PATIENCE - start) / each))
    return draws if draws >= 500 else 0
