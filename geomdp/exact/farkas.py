"""Farkas vectors: exact proofs that a target lies outside a finitely generated cone.

For generators g_1..g_N (the rows of G) and a target r, exactly one of these holds:

    x >= 0,  sum_j x_j g_j = r        or        <y, g_j> <= 0 for all j,  <y, r> > 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.exact.linear import primitive

#: Bits tried, from short to long, when a Farkas vector is rounded.
LENGTHS = (4, 8, 16, 32, 48)


def integer_vector(values: Sequence[int]) -> NDArray[Any]:
    """Return a vector of exact integers: int64 where every entry is below 2^62, else Python integers."""
    whole = [int(value) for value in values]
    if all(abs(value) < 2**62 for value in whole):
        return np.array(whole, dtype=np.int64)
    return np.array(whole, dtype=object)


def is_farkas(generators: NDArray[Any], target: Sequence[int], y: Sequence[int]) -> bool:
    """Return whether y proves that the target is outside the cone of the generators, in integers.

    Args:
        generators: (N, p) integers.
        target: p integers.
        y: p integers.

    Example:
        >>> G = np.array([[1, 0], [1, 1]])
        >>> is_farkas(G, [0, 1], [-1, 1]), is_farkas(G, [2, 1], [-1, 1])
        (True, False)
    """
    if sum(int(a) * int(b) for a, b in zip(y, target, strict=True)) <= 0:
        return False
    return bool((products(generators, integer_vector(y)) <= 0).all())


def shorten(
    generators: NDArray[Any],
    target: Sequence[int],
    y: Sequence[int],
    blocks: Sequence[tuple[slice, int]] = (),
    tight: Sequence[int] = (),
) -> tuple[int, ...]:
    """Return a Farkas vector near y of as few bits as rounding finds; y itself, made primitive, at worst.

    A Farkas vector of a separation has offsets: entries that only some generators meet, with a positive
    coefficient. Its other entries are rounded, each offset is recomputed as the largest that its generators
    allow, and the result is kept if <y, r> is still positive. Nothing is taken on trust from y.

    Args:
        generators: (N, p) integers.
        target: p integers.
        y: a Farkas vector, p integers.
        blocks: pairs (slice of generators, offset column); the slices are not empty and cover all generators.
        tight: generators at which <y, g> is about 0: a length that fails on them is given up early.

    Example:
        >>> G = np.array([[5, 1], [7, 1]])  # 5 and 7 against the target 9, with one offset
        >>> shorten(G, [9, 1], (1000001, -7999999), [(slice(0, 2), 1)])
        (1, -7)
    """
    offsets = [column for _, column in blocks]
    kept = [i for i in range(len(y)) if i not in offsets]
    top = max((abs(int(y[i])) for i in kept), default=0)
    for bits in LENGTHS if blocks and top else ():
        if bits >= top.bit_length():
            break
        short = [0] * len(y)
        for i in kept:
            short[i] = ((int(y[i]) << (bits + 1)) + top) // (2 * top)
        if _refit(generators, target, short, blocks, tight) and _refit(generators, target, short, blocks):
            return primitive(short)
    return primitive(list(y))


def _refit(
    generators: NDArray[Any],
    target: Sequence[int],
    y: list[int],
    blocks: Sequence[tuple[slice, int]],
    some: Sequence[int] | None = None,
) -> bool:
    """Set each offset of y to the largest that its generators (or some of them) allow; is <y, r> positive?"""
    for rows, column in blocks:
        chosen = rows if some is None else [j for j in some if rows.start <= j < rows.stop]
        if chosen == []:
            return True  # nothing known about this offset
        y[column] = 0
        block = generators[chosen]
        y[column] = int((-products(block, integer_vector(y)) // block[:, column]).min())
    return sum(a * int(b) for a, b in zip(y, target, strict=True)) > 0
