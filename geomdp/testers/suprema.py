"""Exact suprema of batches of noise fields over a class, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.testers.histogram_law import class_count

#: Seconds (an estimate) that the suprema of one table may take.
_PATIENCE = 25.0


def suprema(domain: Domain, classes: str, Z: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (B,) values of max_h <h, z> for (B, m) fields; halfspaces on three-feature grids by lines.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2), ("z", 0, 1, 2)])
        >>> Z = np.random.default_rng(0).integers(-9, 10, (20, D.m))
        >>> from geomdp.opt.sup import sup_field
        >>> bool((suprema(D, "halfspaces", Z) == sup_field(D, Z)).all())
        True
    """
    from geomdp.opt.sup import sup_field

    if not spatial(domain, classes) or int(np.abs(Z).sum(axis=1).max(initial=0)) >= 2**29:
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


def spatial(domain: Domain, classes: str) -> bool:
    """Return whether halfspaces are to be met by turning planes around the lines of a three-feature grid."""
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
    if spatial(domain, classes):
        return 6e-8 * float(m) ** 3 / 2 + 1e-10 * float(m) ** 3 / 2 * fields
    from geomdp.opt.halfspace import estimate_seconds

    return estimate_seconds(m, domain.d, fields, pointed=domain.pointed)


def table_size(domain: Domain, classes: str) -> int:
    """Return how many draws are affordable: at most 10,000, and 0 where fewer than 500 are."""
    draws = 10_000 if domain.m <= 300 else 4_000
    start = supremum_seconds(domain, classes, 0)
    each = (supremum_seconds(domain, classes, 1000) - start) / 1000
    draws = min(draws, int((_PATIENCE - start) / each))
    return draws if draws >= 500 else 0
