"""The largest agreement max_h <h, Z> of a class with integer fields, such as the noise of a histogram."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array
from geomdp.core.errors import ArgumentError, CapacityError, check_choice
from geomdp.opt.parallel import blocks, spread

if TYPE_CHECKING:
    from geomdp.core.domain import Domain

#: Sums of absolute values stay below this, so that doubled sums fit int64.
MAX_SUM = 2**61

#: Integers for the sums of a grid's sweep, the first that holds them all; and fields that are swept together.
_KINDS = (np.int16, np.int32, np.int64)
_LANES, _FEW_LANES = 128, 32

#: Longest grid schedule that is built (cells rewritten per sweep): about 1 GB.
MAX_SCHEDULE = 10**8


def sup_field(
    domain: Domain,
    Z: Any,
    classes: str = "halfspaces",
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """Return max over h of sum_x h(x) Z_b(x), exactly, for every field Z_b of a batch.

    On a domain with a bias coordinate (any pointed domain) the halfspaces are closed under complement, so the
    value is also the largest |<h, Z_b>|. Thresholds are one-sided: h = +1 iff rank >= theta, theta = 0..m.

    * lines and one-feature grids: prefix sums;
    * two-feature grids: one sweep over all critical directions. Cells on a line across the direction are
      neighbours in the order and are reversed; only the prefix sums inside a reversed run change, so one
      field costs one addition per pair of complementary dichotomies. The schedule is computed once per grid;
    * other domains: :func:`geomdp.opt.halfspace.sup_points`, sweeps around every face of codimension 2.

    Args:
        domain: the public domain, m points.
        Z: (B, m) integers; m times the largest absolute value must be below 2^61.
        classes: "halfspaces", or "thresholds" on an ordered domain.
        progress: told the fraction of the work done, in [0, 1].

    Returns:
        (B,) int64.

    Raises:
        ArgumentError: on a wrong shape, too large a value, or thresholds on a domain without an order.
        CapacityError: when the domain is too large for the sweeps.

    Source: the supremum of the noise over all classifiers decides the resolution of a histogram tester.

    Example:
        >>> from geomdp import Domain
        >>> Z = np.array([[1, -1, 1]])
        >>> D = Domain.line(3)
        >>> sup_field(D, Z).tolist(), sup_field(D, -Z).tolist(), sup_field(D, -Z, "thresholds").tolist()
        ([1], [1], [1])
    """
    check_choice("classes", classes, ("halfspaces", "thresholds"))
    fields = _fields(Z, domain.m)
    out = np.zeros(len(fields), dtype=np.int64)
    if classes == "thresholds" and not domain.ordered:
        raise ArgumentError("classes", "'halfspaces' on a domain without an order", "'thresholds'")
    if domain.ordered:
        for first, last in blocks(len(fields), max(1, 2**22 // domain.m)):
            out[first:last] = _ordered(fields[first:last], one_sided=classes == "thresholds")
            if progress is not None:
                progress(last / len(fields))
        return out
    if domain.features is not None and len(domain.features) == 2:
        rows, columns = (axis.levels for axis in domain.features)
        return _grid(fields, rows, columns, out, progress)
    from geomdp.opt.halfspace import sup_points

    return sup_points(domain.points, fields, progress=progress)


def _fields(Z: Any, m: int) -> NDArray[np.int64]:
    fields = integer_array("Z", Z, 2)
    if fields.shape[1] != m:
        raise ArgumentError("Z", f"an array of m = {m} columns", f"an array of shape {fields.shape}")
    if fields.size:
        top = max(int(fields.max()), -int(fields.min()))
        if top * m >= MAX_SUM:
            raise ArgumentError("Z", "integers whose absolute values sum to less than 2^61", "larger ones")
    return fields.astype(np.int64, copy=False)


def _ordered(fields: NDArray[np.int64], *, one_sided: bool) -> NDArray[np.int64]:
    """Suffix minus prefix = total - 2 * prefix, over all m + 1 prefixes; both signs for halfspaces."""
    prefix = np.cumsum(fields, axis=1)
    total = prefix[:, -1]
    best = total - 2 * np.minimum(prefix.min(axis=1), 0)
    if not one_sided:
        best = np.maximum(best, 2 * np.maximum(prefix.max(axis=1), 0) - total)
    return np.asarray(best)


def _grid(
    fields: NDArray[np.int64],
    rows: int,
    columns: int,
    out: NDArray[np.int64],
    progress: Callable[[float], None] | None,
) -> NDArray[np.int64]:
    from geomdp.opt import _sup_kernels

    spans, cells = grid_schedule(rows, columns)
    most = int(np.abs(fields).sum(axis=1).max(initial=0))
    kind = next(kind for kind in _KINDS if most <= np.iinfo(kind).max)
    m = rows * columns
    lanes = _LANES if len(fields) >= _LANES else _FEW_LANES
    size = max(lanes, min(512, 10**8 // max(len(cells), 1)) // lanes * lanes)

    def work(first: int, last: int) -> None:
        z, prefix = np.zeros((m, lanes), kind), np.zeros((m + 1, lanes), kind)
        low, high = np.zeros((2, lanes), kind)
        _sup_kernels.schedule_sup(fields[first:last], spans, cells, z, prefix, low, high, out[first:last])

    spread(work, len(fields), size, progress=progress)
    return out


def critical_directions(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the primitive steps between cells of a rows x columns grid, one per line, in sweeping order.

    A generic functional f = (cos t, sin t), t from 0 to pi, orders the cells; the order changes exactly where
    f is orthogonal to such a step. Steps (a, b) with a >= 0 are met in the order of the angle of (-b, a).

    Example:
        >>> critical_directions(2, 2)
        [(1, -1), (1, 0), (1, 1), (0, 1)]
        >>> len(critical_directions(16, 16))
        288
    """
    a, b = np.meshgrid(np.arange(rows), np.arange(1 - columns, columns), indexing="ij")
    keep = (np.gcd(a, b) == 1) & ((a > 0) | (b > 0))
    steps = np.stack([a[keep], b[keep]], axis=1)
    # b / a is increasing in the sweep; two different fractions with denominators below 2^24 differ as floats
    slope = np.where(steps[:, 0] > 0, steps[:, 1] / np.maximum(steps[:, 0], 1), np.inf)
    return [(int(x), int(y)) for x, y in steps[np.argsort(slope, kind="stable")]]


@lru_cache(maxsize=4)
def grid_schedule(rows: int, columns: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the sweep of a grid over all critical directions: (spans (G, 2), cells (U,)), int32.

    The sweep starts in row-major order. Group g occupies the positions from ``spans[g, 0]`` on, its
    ``spans[g, 1]`` inner prefixes change, and ``cells`` lists the cells that now stand before them. Every
    dichotomy or its complement is a prefix for one contiguous range of directions, so that U + 1 is half the
    number of dichotomies.

    Raises:
        CapacityError: when the sweep has more than :data:`MAX_SCHEDULE` steps.

    Example:
        >>> spans, cells = grid_schedule(16, 16)
        >>> 2 * (len(cells) + 1)
        40150
    """
    from geomdp.opt import _kernels

    if (rows * columns) ** 2 > 2**30:
        raise _too_long(rows, columns)
    steps = np.array(critical_directions(rows, columns), dtype=np.int64)
    dx, dy = np.ascontiguousarray(steps[:, 0]), np.ascontiguousarray(steps[:, 1])
    none = np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int32)
    groups, used = _kernels.grid_schedule(rows, columns, dx, dy, *none)
    if used > MAX_SCHEDULE:
        raise _too_long(rows, columns)
    spans, cells = np.empty((groups, 2), dtype=np.int32), np.empty(used, dtype=np.int32)
    _kernels.grid_schedule(rows, columns, dx, dy, spans, cells)
    spans.setflags(write=False)
    cells.setflags(write=False)
    return spans, cells


def _too_long(rows: int, columns: int) -> CapacityError:
    steps = 0.31 * (rows * columns) ** 2
    return CapacityError(
        "domain",
        f"a grid whose sweep has at most {MAX_SCHEDULE} steps",
        f"a {rows} x {columns} grid (about {steps:.2g} steps and {steps * 10 / 1e9:.2g} GB)",
        "Use fewer levels; 128 x 128 is the practical limit.",
    )
