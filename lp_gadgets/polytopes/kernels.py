"""Compiled loop of the double description; import this module inside functions only (it loads numba).

It sees sets of points as bits and decides inclusions only: the arithmetic stays outside.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

_jit = nb.njit(cache=True, nogil=True)


@_jit
def _ones(word: np.uint64) -> np.int64:
    """Return the number of set bits of a 64-bit word."""
    w = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((w * np.uint64(0x0101010101010101)) >> np.uint64(56))


@_jit
def adjacent_pairs(
    tight: NDArray[np.uint64], above: NDArray[np.int64], below: NDArray[np.int64], least: int
) -> NDArray[np.int64]:
    """Return the pairs (i above, j below) whose common tight set lies in no third ray's tight set.

    Args:
        tight: (R, W) the points where each ray vanishes, 64 to a word.
        above: rays that are positive at the new point.
        below: rays that are negative there.
        least: two rays that share fewer points than this are not adjacent.

    Returns:
        (pairs, 2) ray numbers.
    """
    rays, words = tight.shape
    room, found, size = 1024, 0, np.int64(0)
    pairs = np.empty((room, 2), dtype=np.int64)
    common = np.empty(words, dtype=np.uint64)
    blocker = 0
    for i in above:
        for j in below:
            size = np.int64(0)
            for w in range(words):
                common[w] = tight[i, w] & tight[j, w]
                size += _ones(common[w])
            if size < least:
                continue
            free = True
            for step in range(-1, rays):  # the last ray that blocked a pair is likely to block the next
                k = blocker if step < 0 else step
                if k == i or k == j:  # noqa: SIM109 (no tuples in a compiled loop)
                    continue
                inside = True
                for w in range(words):
                    if common[w] & ~tight[k, w]:
                        inside = False
                        break
                if inside:
                    free, blocker = False, k
                    break
            if free:
                if found == room:
                    room *= 2
                    larger = np.empty((room, 2), dtype=np.int64)
                    larger[:found] = pairs
                    pairs = larger
                pairs[found, 0], pairs[found, 1] = i, j
                found += 1
    return pairs[:found]
