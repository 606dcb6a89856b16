"""Exact numbers of chambers and of dichotomies, by restriction, without enumerating any."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError, describe
from geomdp.geometry.cyclic import Stratum, strata
from geomdp.geometry.flats import Lines, compact_minors, contract, distinct_lines

#: Elementary steps that an exact count may take (about an hour) before it is refused.
MAX_STEPS = 10**11
#: Steps of a count that are over in a second or two.
QUICK_STEPS = 2 * 10**7


def count_dichotomies(domain: Domain, *, progress: Callable[[float], None] | None = None) -> int:
    """Return the number of labellings of the domain by halfspaces x -> +1 iff <w, x> >= 0, exactly.

    If some u has <u, x> > 0 on X, every labelling comes from an open cell, and the number is that of the
    chambers of the hyperplanes x^perp. In general it is the sum of the chambers of X/Z over the totally
    cyclic flats Z: the zero sets of the largest face that carries a labelling.

    Chambers are counted by adding one hyperplane at a time: c(A + H) = c(A) + c(A restricted to H).

    Args:
        domain: m points in Z^d; about m^(d-1)/(d-1)! steps.
        progress: called with the fraction done, from 0 to 1.

    Returns:
        The number N as a Python integer; the labellings are not listed.

    Raises:
        CapacityError: when the count itself would take more than 10^11 steps.
        ArgumentError: unless ``domain`` is a Domain.

    Source: Cover 1965; Zaslavsky 1975 (deletion and restriction); paper, Lemma 4.3.

    Example:
        >>> cube = Domain.grid([("a", 0, 1, 2), ("b", 0, 1, 2), ("c", 0, 1, 2)])
        >>> count_dichotomies(cube)  # threshold functions of three variables
        104
    """
    if not isinstance(domain, Domain):
        raise ArgumentError("domain", "a Domain", describe(domain))
    if domain.ordered:
        return 2 * domain.m
    return sum(count for _, count in counted_strata(domain, progress))


def counted_strata(
    domain: Domain, progress: Callable[[float], None] | None = None
) -> list[tuple[Stratum, int]]:
    """Return the arrangements whose chambers are the dichotomies, each with its exact number of chambers.

    Raises:
        CapacityError: when the count would take more than 10^11 steps.
    """
    _check_steps(distinct_lines(domain.points))
    counted: list[tuple[Stratum, int]] = []
    for stratum in strata(domain.points, domain.pointed):
        # The first one, all of X, is nearly all of the work.
        counted.append((stratum, count_chambers(stratum.lines.rows, None if counted else progress)))
    return counted


def steps(lines: Lines) -> int:
    """Return the number of elementary steps of the count: choices of r - 1 of the lines."""
    return math.comb(len(lines.rows), max(lines.rank - 1, 0))


def _check_steps(lines: Lines) -> None:
    """Raise CapacityError when counting the chambers of the lines would take too long."""
    if steps(lines) > MAX_STEPS:
        raise CapacityError(
            "domain",
            f"small enough to be counted in {MAX_STEPS:.0e} steps",
            f"{len(lines.rows)} lines of rank {lines.rank} (about {steps(lines):.1e} steps)",
            "Use fewer levels or features.",
        )


def more_than(lines: Lines, limit: int) -> bool:
    """Return True if a part of the lines has more than ``limit`` chambers already, soon found.

    More hyperplanes never have fewer chambers. False says nothing.

    Example:
        >>> more_than(distinct_lines(np.array([[i, 1] for i in range(9)])), 10)
        True
    """
    r, k = lines.rank, len(lines.rows)
    if r < 2:
        return False
    while k > r and math.comb(k, r - 1) > QUICK_STEPS:
        k = k * 3 // 4
    chosen = np.random.default_rng(0).choice(len(lines.rows), k, replace=False)
    part = distinct_lines(lines.rows[np.sort(chosen)])
    return count_chambers(part.rows) > limit


def count_chambers(rows: NDArray[Any], progress: Callable[[float], None] | None = None) -> int:
    """Return the number of chambers of the central arrangement {w : <x, w> = 0}, x in rows.

    Args:
        rows: (m, r) integers of rank r, non-zero, pairwise independent.
        progress: called with the fraction done.

    Example:
        >>> count_chambers(np.array([[1, 0], [0, 1], [1, 1]]))
        6
    """
    return _count(rows, 1, compact_minors(rows), progress)


def _count(
    rows: NDArray[Any],
    divisor: int,
    compact: tuple[bool, bool],
    progress: Callable[[float], None] | None = None,
) -> int:
    m, r = rows.shape
    if m == 0 or r == 0:
        return 1
    if r <= 2:
        return 2 * m if r == 2 else 2
    exact = np.ascontiguousarray(rows) if compact[0] else rows.astype(object)
    total, stride = 1, 1 if r > 3 else (m if progress is None else 64)
    for first in range(0, m, stride):
        last = min(first + stride, m)
        if r == 3 and compact[0]:
            from geomdp.geometry import _kernels

            total += int(_kernels.count_rank3(exact, divisor, compact[1], first, last))
        else:
            for j in range(first, last):
                total += _restricted(*contract(exact[: j + 1], j, divisor), compact)
        if progress is not None:
            progress((last / m) ** (r - 1))
    return total


def _restricted(rows: NDArray[Any], divisor: int, compact: tuple[bool, bool]) -> int:
    """Count the chambers of the rows before the last one, in the coordinates of its hyperplane.

    They may be parallel now and may have lost rank: one of each class is kept; a factor without
    hyperplanes has one chamber.
    """
    rows = rows[:-1]
    if rows.dtype == object:
        keep: dict[tuple[int, ...], int] = {}
        for i, row in enumerate(rows.tolist()):
            g = math.gcd(*row)
            lead = next(x for x in row if x)
            keep.setdefault(tuple(x // g * (1 if lead > 0 else -1) for x in row), i)
        rows = rows[list(keep.values())]
    elif len(rows) > 1:
        rows = rows[_leaders(rows)]
    return _count(rows, divisor, compact)


def _leaders(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of one row of every class of parallel rows."""
    reduced = rows // np.gcd.reduce(rows, axis=1)[:, None]
    lead = (reduced != 0).argmax(axis=1)
    reduced[reduced[np.arange(len(rows)), lead] < 0] *= -1
    order = np.lexsort(reduced.T)
    ordered = reduced[order]
    fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return np.sort(order[fresh])
