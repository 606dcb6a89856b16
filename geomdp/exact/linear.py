"""Exact linear algebra over the rationals: echelon form, rank, solution, nullspace.

Small systems are reduced here in integers without fractions (every entry met is a minor of the input);
larger ones go to sympy's ``DomainMatrix``, which takes python-flint where it is installed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError
from geomdp.exact.rational import rational_rows

#: Systems of more entries than this are reduced by sympy.
SMALL = 400


def reduced_echelon(matrix: Any) -> tuple[NDArray[Any], tuple[int, ...], int]:
    """Return the reduced echelon form as integers over one denominator.

    Args:
        matrix: (m, n) integers, Fractions or floats (read exactly).

    Returns:
        ``rows`` (r, n) Python integers, the r pivot columns and ``den`` != 0: the reduced echelon form of the
        matrix is ``rows / den``, so ``rows[i, pivots[i]] == den``.

    Example:
        >>> rows, pivots, den = reduced_echelon([[2, 4, 2], [1, 2, 3]])
        >>> (rows // den).tolist(), pivots
        ([[1, 2, 0], [0, 0, 1]], (0, 2))
    """
    work = rational_rows("matrix", matrix).numerators.astype(object)  # row scaling changes no echelon form
    return _by_integers(work) if work.size <= SMALL else _by_sympy(work)


def _by_integers(work: NDArray[Any]) -> tuple[NDArray[Any], tuple[int, ...], int]:
    pivots: list[int] = []
    den = 1
    for c in range(work.shape[1]):
        r = len(pivots)
        hits = np.flatnonzero(work[r:, c] != 0)
        if not len(hits):
            continue
        work[[r, r + hits[0]]] = work[[r + hits[0], r]]
        pivot, row = work[r, c], work[r].copy()
        work = (work * pivot - np.outer(work[:, c], row)) // den
        work[r] = row
        den = pivot
        pivots.append(c)
    return work[: len(pivots)], tuple(pivots), int(den)


def _by_sympy(work: NDArray[Any]) -> tuple[NDArray[Any], tuple[int, ...], int]:
    from sympy.polys.domains import ZZ
    from sympy.polys.matrices import DomainMatrix

    entries = [[ZZ(value) for value in row] for row in work.tolist()]
    form, pivots = DomainMatrix(entries, work.shape, ZZ).to_field().rref()
    rows = [[Fraction(int(v.numerator), int(v.denominator)) for v in row] for row in form.to_list()]
    den = math.lcm(1, *(v.denominator for row in rows for v in row))
    whole = np.empty((len(pivots), work.shape[1]), dtype=object)
    for i in range(len(pivots)):
        whole[i] = [int(v * den) for v in rows[i]]
    return whole, tuple(int(c) for c in pivots), den


def rank(matrix: Any) -> int:
    """Return the rank of a rational matrix.

    Example:
        >>> rank([[1, 2], [2, 4], [0, 0]])
        1
    """
    return len(reduced_echelon(matrix)[1])


def nullspace(matrix: Any) -> list[tuple[int, ...]]:
    """Return a basis of {x : M x = 0}: primitive integer vectors, one per column without a pivot.

    Example:
        >>> M = [[1, 2, 3]]
        >>> [sum(m * x for m, x in zip(M[0], v)) for v in nullspace(M)]
        [0, 0]
    """
    rows, pivots, den = reduced_echelon(matrix)
    n = rows.shape[1]
    basis = []
    for free in sorted(set(range(n)) - set(pivots)):
        vector = [0] * n
        vector[free] = den
        for i, c in enumerate(pivots):
            vector[c] = -int(rows[i, free])
        basis.append(primitive(vector))
    return basis


def solve(matrix: Any, target: Sequence[Any]) -> tuple[Fraction, ...] | None:
    """Return a solution x of M x = b with zeros where the columns allow a choice, or None if there is none.

    Args:
        matrix: (m, n) rationals.
        target: m rationals.

    Raises:
        ArgumentError: when the number of rows differs from the length of the target.

    Example:
        >>> solve([[1, 1], [1, -1]], [1, 0])
        (Fraction(1, 2), Fraction(1, 2))
    """
    left = rational_rows("matrix", matrix)
    if len(left) != len(target):
        raise ArgumentError("target", f"a sequence of {len(left)} numbers", f"one of {len(target)}")
    right = rational_rows("target", [[value] for value in target], 1)
    joined = np.hstack(
        [
            left.numerators.astype(object) * right.denominators.astype(object)[:, None],
            right.numerators.astype(object) * left.denominators.astype(object)[:, None],
        ]
    )
    rows, pivots, den = reduced_echelon(joined)
    n = left.d
    if n in pivots:
        return None
    solution = [Fraction(0)] * n
    for i, c in enumerate(pivots):
        solution[c] = Fraction(int(rows[i, n]), den)
    return tuple(solution)


def primitive(vector: Sequence[int] | NDArray[Any]) -> tuple[int, ...]:
    """Return the shortest integer vector in the direction of an integer vector (zero stays zero).

    Example:
        >>> primitive([-4, 6])
        (-2, 3)
    """
    whole = [int(value) for value in vector]
    divisor = math.gcd(*whole) or 1
    return tuple(value // divisor for value in whole)
