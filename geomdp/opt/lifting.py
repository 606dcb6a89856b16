"""The one dependency among integer rows, by lifting modulo powers of a prime; checked before it is returned.

Dixon's method: the inverse of the matrix modulo p turns into the solution modulo p^k by k products with small
numbers; the fractions are recognised from it. Unlike elimination it never handles large minors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.opt.rows import PRIME, largest, pivots_modulo, residues

#: Digits to the base PRIME after which a solution is given up; minors have fewer in all sensible cases.
MAX_DIGITS = 4096


def dependency(Z: NDArray[Any]) -> list[int] | None:
    """Return the primitive integers lam with sum_i lam_i z_i = 0 if these are one line, else None.

    The sign is such that the sum is not negative.

    Args:
        Z: (k, d) integers of rank k - 1; otherwise, and if the prime divides a minor, the answer is None.

    Example:
        >>> dependency(np.array([[1, 2], [2, 1], [-1, -1]]))
        [1, 1, 3]
    """
    k = len(Z)
    columns, rows = pivots_modulo(Z.T)  # columns of Z, and the rows that are independent on them
    if len(columns) != k - 1:
        return None
    if k == 1:
        return [1] if largest(Z) == 0 else None
    last = next(i for i in range(k) if i not in rows)
    A = Z[np.ix_(rows, columns)].T
    fractions = _solve(A, -Z[last, columns])
    if fractions is None:
        return None
    numerators, denominator = fractions
    lam = [0] * k
    for i, v in zip(rows, numerators, strict=True):
        lam[i] = v
    lam[last] = denominator
    divisor = math.gcd(*lam) * (-1 if sum(lam) < 0 else 1)
    lam = [v // divisor for v in lam]
    wide = np.empty(k, dtype=object)
    wide[:] = lam
    if largest(wide) < 2**62:
        wide = wide.astype(np.int64)
    return None if (products(Z.T, wide) != 0).any() else lam


def _solve(A: NDArray[Any], b: NDArray[Any]) -> tuple[list[int], int] | None:
    """Return (numerators, denominator) of the x with A x = b, as recognised from a p-adic expansion."""
    inverse = _inverse(residues(A))
    if inverse is None:
        return None
    n = len(A)
    if A.dtype == object or largest(A) * PRIME * (n + 1) >= 2**62:
        A, b = A.astype(object), b.astype(object)
    digits: list[NDArray[np.int64]] = []
    remainder = b
    wanted = 2
    while len(digits) < MAX_DIGITS:
        x = (inverse * residues(remainder)[None, :] % PRIME).sum(axis=1) % PRIME
        digits.append(x)
        remainder = (remainder - A @ x) // PRIME
        if len(digits) == wanted:
            found = _recognise(digits)
            if found is not None and _is_solution(A, b, *found):
                return found
            wanted += max(2, wanted // 2)
    return None


def _is_solution(A: NDArray[Any], b: NDArray[Any], numerators: list[int], denominator: int) -> bool:
    x = np.empty(len(numerators), dtype=object)
    x[:] = numerators
    if max(largest(x), denominator) < 2**62:
        x = x.astype(np.int64)
    right = b.astype(object) * denominator
    return bool((products(A, x) == right).all())


def _inverse(A: NDArray[np.int64]) -> NDArray[np.int64] | None:
    n = len(A)
    M = np.concatenate([A, np.eye(n, dtype=np.int64)], axis=1)
    for c in range(n):
        hits = np.flatnonzero(M[c:, c])
        if len(hits) == 0:
            return None
        r = c + int(hits[0])
        if r != c:
            M[[c, r]] = M[[r, c]]
        M[c] = M[c] * pow(int(M[c, c]), -1, PRIME) % PRIME
        factor = M[:, c].copy()
        factor[c] = 0
        used = np.flatnonzero(factor)
        M[used] = (M[used] - factor[used, None] * M[c]) % PRIME
    return M[:, n:]


def _recognise(digits: list[NDArray[np.int64]]) -> tuple[list[int], int] | None:
    """Return fractions with one denominator that have the given residues modulo p^k, k = len(digits)."""
    modulus = PRIME ** len(digits)
    values = [0] * len(digits[0])
    for digit in reversed(digits):
        values = [v * PRIME + d for v, d in zip(values, digit.tolist(), strict=True)]
    limit = math.isqrt(modulus // 2)
    denominator = 1
    for v in values:
        u = v * denominator % modulus
        if min(u, modulus - u) <= limit:
            continue
        den = _denominator(u, modulus, limit)
        if den is None or den * denominator > limit:
            return None
        denominator *= den
    out = []
    for v in values:
        u = v * denominator % modulus
        u = u if u <= modulus // 2 else u - modulus
        if abs(u) > limit:
            return None
        out.append(u)
    return out, denominator


def _denominator(u: int, modulus: int, limit: int) -> int | None:
    r0, r1, t0, t1 = modulus, u, 0, 1
    while r1 > limit:
        q = r0 // r1
        r0, r1, t0, t1 = r1, r0 - q * r1, t1, t0 - q * t1
    return abs(t1) if 0 < abs(t1) <= limit else None
