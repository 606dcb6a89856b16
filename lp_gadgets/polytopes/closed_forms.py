"""Check polytopes whose facets are known without enumeration.

* Over F_2, any degree: the odd-set inequalities and the bounds (Jeroslow; Yannakakis).
* In the cube, any q = 2^s: the product of s such polytopes, one for every bit of the labels.
* Over F_4 on the parabola: sums of one function per symbol, taken from four families of functions of the
  label. Every row given here is a facet, at every degree up to 8. That there are no others is proved by
  enumeration up to degree 7 (seconds up to degree 6, minutes at degree 7), and unproved beyond.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lp_gadgets.polytopes.double_description import independent_rows

#: The list over F_4 is known to be complete up to this degree.
COMPLETE_DEGREE = 7
#: Largest degree of the closed form over F_4.
MAX_DEGREE = 8
#: Families of functions of the label 0, 1, 2, 3 over F_4; a facet takes all its functions from one family.
FAMILIES = (
    ((0, 0, 2, 6), (6, 2, 0, 0)),
    ((0, 2, 2, 0), (2, 0, 0, 2)),
    ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 10), (10, 3, 0, 1)),
    ((0, 0, 6, 18), (0, 4, 6, 6), (6, 6, 4, 0), (18, 6, 0, 0)),
)


def binary_check(degree: int) -> list[tuple[int, ...]]:
    """Return the facets of {x in {0,1}^r : even sum}, r >= 3, as functions >= 0 of x and a constant.

    For every odd subset V:  sum_{i in V} x_i - sum_{i not in V} x_i <= |V| - 1;  and 0 <= x_i <= 1 for r >= 4
    (for r = 3 the four odd sets imply the bounds).

    Example:
        >>> len(binary_check(3)), len(binary_check(8))
        (4, 144)
    """
    rows = []
    for inside in itertools.product((0, 1), repeat=degree):
        if sum(inside) % 2:
            rows.append((*(1 - 2 * i for i in inside), sum(inside) - 1))
    if degree >= 4:
        for i in range(degree):
            unit = [int(k == i) for k in range(degree)]
            rows += [(*unit, 0), (*(-u for u in unit), 1)]
    return rows


def binary_check_count(degree: int) -> int:
    """Return the number of facets that :func:`binary_check` lists, r >= 3.

    Example:
        >>> binary_check_count(8) == len(binary_check(8))
        True
    """
    odd_sets = 1 << (degree - 1)
    return odd_sets + (2 * degree if degree >= 4 else 0)


def quaternary_check(degree: int) -> NDArray[np.int64]:
    """Return facets of the check over F_4 on the parabola as primitive functions >= 0 of z and a constant.

    A row is  sum_i g_i(a_i) >= m  with all g_i from one family and m the least value over the words that add
    up to 0; it is kept if its tight words have full rank. As g(j) is a polynomial of degree 2 in j, it is an
    affine function of e(j) = (j, j^2). The 4 r edges of the symbols are added.

    Args:
        degree: r, 4 <= r <= 8.

    Returns:
        (F, 2 r + 1) integers.

    Example:
        >>> quaternary_check(4).shape
        (168, 9)
    """
    parts = [_edges(degree)]
    for family in FAMILIES:
        kept = _facet_choices(family, degree)
        words = np.indices((len(family),) * degree).reshape(degree, -1).T
        codes = _code(np.sort(words, axis=1))
        for choice, least in kept.items():
            parts.append(_functions(family, words[codes == _code(np.array(choice))], least))
    return np.unique(np.concatenate(parts), axis=0)


def quaternary_check_count(degree: int) -> int:
    """Return the number of rows that :func:`quaternary_check` gives, counted without listing them.

    Example:
        >>> [quaternary_check_count(r) for r in (4, 5, 6)]
        [168, 628, 2872]
    """
    counts: dict[tuple[tuple[int, ...], ...], int] = {}
    for family in FAMILIES:
        for choice, least in _facet_choices(family, degree).items():
            row = _functions(family, np.array([choice]), least)[0].tolist()
            orders = math.factorial(degree)
            for k in set(choice):
                orders //= math.factorial(choice.count(k))
            counts[tuple(sorted(zip(row[:-1:2], row[1::2], strict=True)))] = orders
    return sum(counts.values()) + len(_edges(degree))


@cache
def _facet_choices(family: tuple[tuple[int, ...], ...], degree: int) -> dict[tuple[int, ...], int]:
    """Return the multisets of a family's functions that give a facet, with the least value m.

    The check is invariant under every order of its symbols, so one order of each multiset is looked at.
    """
    free = np.indices((4,) * (degree - 1)).reshape(degree - 1, -1).T
    words = np.column_stack([free, np.bitwise_xor.reduce(free, axis=1)])
    points = np.column_stack([words, words * words, np.ones(len(words), dtype=np.int64)])
    table = np.ascontiguousarray(np.array(family)[:, words.T])  # value of function k at symbol i of each word
    found = {}
    for choice in itertools.combinations_with_replacement(range(len(family)), degree):
        values = np.sum([table[k, i] for i, k in enumerate(choice)], axis=0)
        least = int(values.min())
        if len(independent_rows(points[values == least], 2 * degree)) == 2 * degree:
            found[choice] = least
    return found


def _functions(
    family: tuple[tuple[int, ...], ...], words: NDArray[np.int64], least: int
) -> NDArray[np.int64]:
    """Return sum_i g_{w_i}(a_i) - m for the words w, as primitive functions of z."""
    g = np.array(family)
    square = (g[:, 2] - 2 * g[:, 1] + g[:, 0]) // 2
    coefficients = np.stack([g[:, 1] - g[:, 0] - square, square], axis=1)  # of z1 and of z2
    rows = coefficients[words].reshape(len(words), -1)
    rows = np.column_stack([rows, g[words, 0].sum(axis=1) - least])
    return np.asarray(rows // np.gcd.reduce(rows, axis=1)[:, None])


def _edges(degree: int) -> NDArray[np.int64]:
    """Return the edges of P_4 for every symbol."""
    rows = np.zeros((4 * degree, 2 * degree + 1), dtype=np.int64)
    for i in range(degree):
        rows[4 * i : 4 * i + 4, [2 * i, 2 * i + 1, -1]] = [(-1, 1, 0), (-3, 1, 2), (-5, 1, 6), (3, -1, 0)]
    return rows


def _code(sorted_words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for every sorted word over at most 4 letters."""
    return np.asarray(sorted_words @ (4 ** np.arange(sorted_words.shape[-1])))
