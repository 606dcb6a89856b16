# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""Compiled loops over all classifiers of a sweep; imported lazily, because numba is slow to import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def worst_order_statistic(
    fields: NDArray[Any],
    extra: NDArray[Any],
    spans: NDArray[Any],
    cells: NDArray[Any],
    index: int,
) -> int:
    """Return the largest, over all prefixes p of a sweep, index-th smallest |total - 2 p + extra| of R draws.

    Args:
        fields: (m, R) integers, cell by cell in the order in which the sweep starts.
        extra: (R,) integers added to each draw's value.
        spans, cells: the sweep, as for the supremum; both may be empty.
        index: 1..R.

    Only rows in which more than R - index draws exceed the best bound so far are sorted.
    """
    m, draws = fields.shape
    prefix = np.zeros((m + 1, draws), fields.dtype)
    total = np.zeros(draws, fields.dtype)
    row = np.zeros(draws, fields.dtype)
    for k in range(m):
        for i in range(draws):
            total[i] += fields[k, i]
            prefix[k + 1, i] = total[i]
    for i in range(draws):
        total[i] += extra[i]
    bound = 0
    for k in range(m + 1):
        bound = _raised(prefix[k], total, row, index, bound)
    at = 0
    for g in range(spans.shape[0]):
        start, length = spans[g, 0], spans[g, 1]
        for j in range(length):
            before, here, z = prefix[start + j], prefix[start + j + 1], fields[cells[at + j]]
            for i in range(draws):
                here[i] = before[i] + z[i]
            bound = _raised(here, total, row, index, bound)
        at += length
    return bound


@njit(cache=True, nogil=True)
def _raised(prefix: NDArray[Any], total: NDArray[Any], row: NDArray[Any], index: int, bound: int) -> int:
    """Return max(bound, the index-th smallest |total - 2 prefix|)."""
    draws = row.shape[0]
    over = 0
    for i in range(draws):
        over += abs(total[i] - 2 * prefix[i]) > bound
    if over <= draws - index:
        return bound
    for i in range(draws):
        row[i] = abs(total[i] - 2 * prefix[i])
    return int(np.sort(row)[index - 1])


@njit(cache=True, nogil=True)
def sweep_candidates(
    field: NDArray[Any],
    start: NDArray[Any],
    spans: NDArray[Any],
    cells: NDArray[Any],
    least: int,
    closed: bool,
    signs: NDArray[Any],
) -> int:
    """Write the sign vectors h of a sweep with <h, field> >= least, each once; return how many there are.

    Args:
        field: (m,) integers.
        start: (m,) the order of the cells in which the sweep starts.
        spans, cells: a full sweep by half a turn (then the class must be closed), or empty.
        least: the bound.
        closed: True if the complement of each prefix's classifier belongs to the class too.
        signs: (room, m) receives the first `room` vectors.
    """
    m = field.shape[0]
    order, prefix = start.copy(), np.zeros(m + 1, np.int64)
    for k in range(m):
        prefix[k + 1] = prefix[k] + field[order[k]]
    total, count = prefix[m], 0
    # a full sweep ends with the reverse of its start, and so with the complements of its first prefixes
    for k in range(1 if spans.shape[0] else m + (0 if closed else 1)):
        count = _kept(order, k, total - 2 * prefix[k], least, closed, signs, count)
    at = 0
    for g in range(spans.shape[0]):
        first, length = spans[g, 0], spans[g, 1]
        last = order[first]
        for j in range(length):
            order[first + j] = cells[at + j]
        order[first + length] = last
        for j in range(length):
            prefix[first + j + 1] = prefix[first + j] + field[order[first + j]]
            value = total - 2 * prefix[first + j + 1]
            count = _kept(order, first + j + 1, value, least, closed, signs, count)
        at += length
    return count


@njit(cache=True, nogil=True)
def _kept(
    order: NDArray[Any],
    place: int,
    value: int,
    least: int,
    closed: bool,
    signs: NDArray[Any],
    count: int,
) -> int:
    """Write the classifier that is -1 on the first cells of the order, or its complement, where it counts."""
    for side in (1, -1):
        if side * value >= least and (side == 1 or closed):
            if count < signs.shape[0]:
                for k in range(order.shape[0]):
                    signs[count, order[k]] = side if k >= place else -side
            count += 1
    return count


@njit(cache=True, nogil=True)
def _around_line(
    points: NDArray[Any],
    i: int,
    j: int,
    on: NDArray[Any],
    who: NDArray[Any],
    side: NDArray[Any],
    fresh: NDArray[Any],
) -> tuple[int, int]:
    """Order the points off the line through points i < j by the angle of their plane through it.

    Args:
        points: (m, 3) distinct integers below 2^11 in size.
        i, j: the line; only the pair of its two first points is used.
        on: receives the points on the line, in order along it.
        who, side, fresh: receive the other points by angle modulo a half turn, the side on which each starts
            (1 or -1), and whether its plane differs from the one before.

    Returns:
        (points on the line, points off it); (0, 0) if another pair stands for this line.
    """
    m = points.shape[0]
    u = points[j] - points[i]
    a = 0 if u[0] != 0 else (1 if u[1] != 0 else 2)
    b, c = (1, 2) if a == 0 else ((0, 2) if a == 1 else (0, 1))
    qx, qy = np.empty(m, np.int64), np.empty(m, np.int64)
    index = np.empty(m, np.int64)
    along = np.empty(m, np.int64)
    count, off = 0, 0
    for k in range(m):
        w = points[k] - points[i]
        x, y = u[a] * w[b] - u[b] * w[a], u[a] * w[c] - u[c] * w[a]
        if x == 0 and y == 0:
            if k < j and k != i:
                return 0, 0
            on[count], along[count] = k, w[a] * (1 if u[a] > 0 else -1)
            count += 1
        else:
            qx[off], qy[off], index[off] = x, y, k
            off += 1
    rank = np.argsort(along[:count])
    on[:count] = on[:count][rank]
    key = np.empty(off, np.float64)
    for k in range(off):
        turned = qy[k] < 0 or (qy[k] == 0 and qx[k] < 0)
        key[k] = -np.inf if qy[k] == 0 else -(qx[k] / qy[k])
        qx[k] = -1 if turned else 1
    order = np.argsort(key)
    for k in range(off):
        who[k], side[k] = index[order[k]], qx[order[k]]
        fresh[k] = k == 0 or key[order[k]] != key[order[k - 1]]
    return count, off


@njit(cache=True, nogil=True)
def line_suprema(  # noqa: PLR0912 (one pass, kept in one place)
    points: NDArray[Any], fields: NDArray[Any], first: int, last: int, out: NDArray[Any]
) -> None:
    """Raise out (R,) to max |<h, z>| over the halfspaces next to planes through some lines.

    Every dichotomy of affine planes borders on an arc of planes that turn around a line through two points
    and meet no point off it; next to such a plane the points of the line are split like ranks by a threshold,
    in either direction. So the supremum is the largest, over lines and arcs, |sum of the others by side| +
    (largest signed sum of a split of the line).

    Args:
        points: (m, 3) distinct integers.
        fields: (m, R) integers; twice the sum of a column's absolute values must fit their type.
        first, last: range of the lines' first points.
        out: (R,) of the fields' type.
    """
    m, draws = fields.shape
    on, who = np.empty(m, np.int64), np.empty(m, np.int64)
    side, fresh = np.empty(m, np.int64), np.empty(m, np.bool_)
    p, low, high = np.empty_like(out), np.empty_like(out), np.empty_like(out)
    split, top = np.empty_like(out), np.empty_like(out)
    for i in range(first, last):
        for j in range(i + 1, m):
            count, off = _around_line(points, i, j, on, who, side, fresh)
            if count == 0:
                continue
            for r in range(draws):
                p[r] = low[r] = high[r] = 0
            for k in range(off):
                z = fields[who[k]]
                if side[k] > 0:
                    for r in range(draws):
                        p[r] += z[r]
                else:
                    for r in range(draws):
                        p[r] -= z[r]
                if k + 1 == off or fresh[k + 1]:
                    for r in range(draws):
                        low[r] = min(low[r], p[r])
                        high[r] = max(high[r], p[r])
            for r in range(draws):
                top[r] = max(2 * high[r] - p[r], p[r] - 2 * low[r])
                p[r] = low[r] = high[r] = 0
            for k in range(count):
                z = fields[on[k]]
                for r in range(draws):
                    p[r] += z[r]
                    low[r] = min(low[r], p[r])
                    high[r] = max(high[r], p[r])
            for r in range(draws):
                split[r] = max(2 * high[r] - p[r], p[r] - 2 * low[r])
                out[r] = max(out[r], top[r] + split[r])


@njit(cache=True, nogil=True)
def count_sides(points: NDArray[Any], pairs: NDArray[Any]) -> int:
    """Return how many (arc, split) combinations worst_around_lines examines."""
    m = points.shape[0]
    on, who = np.empty(m, np.int64), np.empty(m, np.int64)
    side, fresh = np.empty(m, np.int64), np.empty(m, np.bool_)
    total = 0
    for t in range(pairs.shape[0]):
        count, off = _around_line(points, pairs[t, 0], pairs[t, 1], on, who, side, fresh)
        arcs = 0
        for k in range(off):
            arcs += k + 1 == off or fresh[k + 1]
        total += max(arcs, 1) * 2 * count
    return total


@njit(cache=True, nogil=True)
def worst_around_lines(  # noqa: PLR0912 (one pass, kept in one place)
    points: NDArray[Any], fields: NDArray[Any], extra: NDArray[Any], pairs: NDArray[Any], index: int
) -> int:
    """Return the largest index-th smallest |<h, z> + extra| over the halfspaces next to planes through lines.

    Args:
        points: (m, 3) distinct integers.
        fields: (m, R) integers.
        extra: (R,) integers.
        pairs: (L, 2) the first two points of each line.
        index: 1..R.
    """
    m, draws = fields.shape
    on, who = np.empty(m, np.int64), np.empty(m, np.int64)
    side, fresh = np.empty(m, np.int64), np.empty(m, np.bool_)
    p, start, row = np.empty_like(extra), np.empty_like(extra), np.empty_like(extra)
    splits = np.empty((2 * m, draws), extra.dtype)
    bound = 0
    for t in range(pairs.shape[0]):
        count, off = _around_line(points, pairs[t, 0], pairs[t, 1], on, who, side, fresh)
        for r in range(draws):
            p[r] = 0
        for k in range(count):
            for r in range(draws):
                p[r] += fields[on[k], r]
        for r in range(draws):
            start[r] = p[r]
        for k in range(count):
            # the first k points on one side, the rest on the other, and its opposite
            for r in range(draws):
                splits[2 * k, r], splits[2 * k + 1, r] = p[r] + extra[r], extra[r] - p[r]
                p[r] -= 2 * fields[on[k], r]
        for r in range(draws):
            p[r] = start[r] = 0
        for k in range(off):
            for r in range(draws):
                start[r] += side[k] * fields[who[k], r]
        for k in range(off):
            for r in range(draws):
                p[r] += side[k] * fields[who[k], r]
            if k + 1 == off or fresh[k + 1]:
                for s in range(2 * count):
                    bound = _raised_sum(splits[s], start, p, row, index, bound)
        if off == 0:
            for s in range(2 * count):
                bound = _raised_sum(splits[s], start, p, row, index, bound)
    return bound


@njit(cache=True, nogil=True)
def _raised_sum(
    split: NDArray[Any],
    total: NDArray[Any],
    prefix: NDArray[Any],
    row: NDArray[Any],
    index: int,
    bound: int,
) -> int:
    """Return max(bound, the index-th smallest |split + total - 2 prefix|)."""
    draws, over = row.shape[0], 0
    for i in range(draws):
        over += abs(split[i] + total[i] - 2 * prefix[i]) > bound
    if over <= draws - index:
        return bound
    for i in range(draws):
        row[i] = abs(split[i] + total[i] - 2 * prefix[i])
    return int(np.sort(row)[index - 1])
