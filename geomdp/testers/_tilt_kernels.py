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
def _raised(
    prefix: NDArray[Any], total: NDArray[Any], row: NDArray[Any], index: int, bound: int
) -> int:
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
    """Write the sign vectors h of a sweep with <h, field> >= least; return how many there are.

    Args:
        field: (m,) integers.
        start: (m,) the order of the cells in which the sweep starts.
        spans, cells: the sweep; both may be empty.
        least: the bound.
        closed: True if the complement of each prefix's classifier belongs to the class too.
        signs: (room, m) receives the first `room` vectors.
    """
    m = field.shape[0]
    order, prefix = start.copy(), np.zeros(m + 1, np.int64)
    for k in range(m):
        prefix[k + 1] = prefix[k] + field[order[k]]
    total, count = prefix[m], 0
    for k in range(m + 1):
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
    """Write the classifier that is -1 on the first cells of the order, and its complement, where they count."""
    for side in (1, -1):
        if side * value >= least and (side == 1 or closed):
            if count < signs.shape[0]:
                for k in range(order.shape[0]):
                    signs[count, order[k]] = side if k >= place else -side
            count += 1
    return count
