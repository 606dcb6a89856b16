# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""Compiled loops of the tilted sampler: integers only; imported lazily, because numba is slow to import."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def override(at: int, places: NDArray[Any], values: NDArray[Any]) -> int:
    """Return the value that was decided elsewhere for the word at a place, or -1."""
    for i in range(places.shape[0]):
        if places[i] == at:
            return int(values[i])
    return -1


@njit(cache=True, nogil=True)
def span(z: NDArray[Any], order: NDArray[Any]) -> int:
    """Return max |total - 2 prefix| over all prefixes of z in an order."""
    p, low, high = 0, 0, 0
    for j in range(order.shape[0]):
        p += z[order[j]]
        low = min(low, p)
        high = max(high, p)
    return int(max(2 * high - p, p - 2 * low))


@njit(cache=True, nogil=True)
def spans(fields: NDArray[Any], orders: NDArray[Any], limits: NDArray[Any], tops: NDArray[Any]) -> None:
    """Write each field's largest |total - 2 prefix| over the orders into tops; stop above its limit."""
    for b in range(fields.shape[0]):
        top, i = 0, 0
        while i < orders.shape[0] and top <= limits[b]:
            top = max(top, span(fields[b], orders[i]))
            i += 1
        tops[b] = top


@njit(cache=True, nogil=True)
def propose(
    words: NDArray[Any],
    start: int,
    limit_table: tuple[NDArray[Any], NDArray[Any], NDArray[Any], int],
    noise_table: tuple[NDArray[Any], NDArray[Any], NDArray[Any], int],
    orders: NDArray[Any],
    bounded: bool,
    places: NDArray[Any],
    values: NDArray[Any],
    fields: NDArray[Any],
    limits: NDArray[Any],
    tops: NDArray[Any],
) -> tuple[int, int, int]:
    """Turn random words into proposals that no order rules out; stop where a word decides nothing.

    A proposal uses one word for its limit G and then one per cell, in the order orders[0], until the range of
    the prefix sums exceeds G. What survives all orders is written to fields, with its G and the largest
    |total - 2 prefix| met. The lowest bit of a word is a sign, the others select a size: the X with
    low[X - 1] > prefix >= high[X].

    Returns:
        (count, position, undecided): candidates written; the first word that no finished proposal used; and
        the place of the undecided word, or -1 when words or room ran out.
    """
    limit_low, limit_high, limit_guide, limit_shift = limit_table
    noise_low, noise_high, noise_guide, noise_shift = noise_table
    first, sizes, most = orders[0], noise_low.shape[0], limit_low.shape[0]
    m, one = fields.shape[1], np.uint64(1)
    z = np.zeros(m, np.int64)
    count, at = 0, start
    while at + m + 1 <= words.shape[0] and count < fields.shape[0]:
        begin = at
        prefix = np.int64(words[at] >> one)
        limit = limit_guide[prefix >> limit_shift]
        while limit < most and prefix < limit_low[limit]:
            limit += 1
        if limit == most or prefix < limit_high[limit]:
            limit = override(at, places, values)
            if limit < 0:
                return count, begin, at
        at += 1
        p, low, high, alive = 0, 0, 0, True
        for j in range(m):
            word = words[at]
            prefix = np.int64(word >> one)
            size = noise_guide[prefix >> noise_shift]
            while size < sizes and prefix < noise_low[size]:
                size += 1
            if size == sizes or prefix < noise_high[size]:
                size = override(at, places, values)
                if size < 0:
                    return count, begin, at
            at += 1
            value = -size if word & one else size
            z[first[j]] = value
            p += value
            low = min(low, p)
            high = max(high, p)
            if bounded and high - low > limit:
                alive = False
                break
        top = max(2 * high - p, p - 2 * low)
        if alive and bounded:
            i = 1
            while top <= limit and i < orders.shape[0]:
                top = max(top, span(z, orders[i]))
                i += 1
            alive = top <= limit
        if alive:
            fields[count] = z
            limits[count] = limit
            tops[count] = top
            count += 1
    return count, at, -1
