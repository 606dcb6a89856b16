"""A zoo of named degenerate domains and samples, and an exact oracle for every labelling by a halfspace.

Import it as ``from support.zoo import ...``.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np

from geomdp import Domain, Sample
from support.elimination import elimination

#: name -> integer points; every kind of degeneracy that has a name.
POINTS: dict[str, list[list[int]]] = {
    "one point": [[3, 1]],
    "one number": [[1], [2]],
    "both signs on a line": [[1], [-2], [3]],
    "zero only": [[0, 0]],
    "zero among others": [[0, 0], [1, 0], [0, 1], [-1, -1]],
    "antipodes": [[1, 0], [-1, 0], [0, 1]],
    "cross polytope": [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]],
    "duplicates": [[1, 2, 1], [1, 2, 1], [0, 0, 1], [0, 0, 1]],
    "multiples": [[1, 2], [2, 4], [3, 6], [-1, -2], [1, 0]],
    "collinear": [[0, 0, 1], [1, 1, 1], [2, 2, 1], [3, 3, 1]],
    "rank deficient": [[1, 2, 3, 0], [2, 4, 6, 0], [0, 1, 1, 0], [-1, -1, -2, 0]],
    "all zero column": [[1, 0, 1], [2, 0, 1], [3, 0, 1]],
    "segment": [[0, 1], [1, 1], [2, 1], [3, 1], [4, 1]],
    "square": [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]],
    "three by three": [[a, b, 1] for a in range(3) for b in range(3)],
    "centred three by three": [[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)],
    "cube": [[a, b, c, 1] for a in (0, 1) for b in (0, 1) for c in (0, 1)],
    "simplex": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [-1, -1, -1, -1]],
    "wide": [
        [10**30, 1, 1],
        [-(10**30), 1, 1],
        [10**15, 10**15, 1],
        [0, 0, 1],
        [1, 0, 1],
        [10**30 + 1, 1, 1],
    ],
    "nearly parallel": [
        [2**40, 2**40 + 1, 1],
        [2**40 - 1, 2**40, 1],
        [1, 1, 0],
        [0, 0, 1],
        [2**41, 2**41 + 2, 2],
    ],
}


def domain(name: str) -> Domain:
    """Return a domain of the zoo."""
    return Domain(POINTS[name])


#: name -> (positive, negative) counts of a sample as functions of the number of points.
COUNTS = {
    "empty": lambda m: ([0] * m, [0] * m),
    "positive only": lambda m: ([1 + i % 3 for i in range(m)], [0] * m),
    "negative only": lambda m: ([0] * m, [1 + i % 3 for i in range(m)]),
    "conflicting": lambda m: ([2] * m, [2] * m),
    "alternating": lambda m: ([3 * (i % 2) for i in range(m)], [2 * ((i + 1) % 2) for i in range(m)]),
    "one of each at one point": lambda m: ([1] + [0] * (m - 1), [1] + [0] * (m - 1)),
    "heavy": lambda m: ([2**40 * (i % 2) + i for i in range(m)], [2**39 * (i % 3) for i in range(m)]),
}


def sample(where: Domain, name: str) -> Sample:
    """Return a sample of the zoo on a domain."""
    return Sample.from_counts(where, *COUNTS[name](where.m))


def labellings(points: object) -> np.ndarray:
    """Return every labelling of integer points by a halfspace under sign(0) = +1, as rows of +1 / -1.

    The sign vectors (<w, x>)_x of all w are the covectors of an oriented matroid: the compositions of its
    cocircuits, the sign vectors of the w that vanish on points of rank r - 1. Rational arithmetic only.
    """
    rows = tuple(tuple(int(v) for v in point) for point in points)  # type: ignore[attr-defined]
    return np.array(sorted({tuple(1 if s >= 0 else -1 for s in v) for v in _covectors(rows)}), dtype=np.int64)


def least_by_labellings(points: object, positive: object, negative: object) -> int:
    """Return the least weight that a halfspace gets wrong, by trying every labelling."""
    right = labellings(points) > 0
    return int(np.where(right, np.asarray(negative), np.asarray(positive)).sum(axis=1).min())


@cache
def _covectors(rows: tuple[tuple[int, ...], ...]) -> frozenset[tuple[int, ...]]:
    m, d = len(rows), len(rows[0])
    zero = (0,) * m
    rank = d - len(_nullspace(rows, d))
    cocircuits = set()
    for subset in itertools.combinations(range(m), rank - 1) if rank else ():
        basis = _nullspace(tuple(rows[i] for i in subset), d)
        if len(basis) != d - rank + 1:
            continue
        for w in basis:
            v = tuple(_sign(sum(a * b for a, b in zip(w, row, strict=True))) for row in rows)
            if v != zero:
                cocircuits |= {v, tuple(-s for s in v)}
    found, queue = {zero}, [zero]
    while queue:
        v = queue.pop()
        for c in cocircuits:
            new = tuple(a or b for a, b in zip(v, c, strict=True))
            if new not in found:
                found.add(new)
                queue.append(new)
    return frozenset(found)


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def _nullspace(rows: tuple[tuple[int, ...], ...], d: int) -> list[list[Fraction]]:
    reduced, leads = elimination(rows)
    basis = []
    for free in (c for c in range(d) if c not in leads):
        w = [Fraction(int(c == free)) for c in range(d)]
        for r, lead in zip(reduced, leads, strict=True):
            w[lead] = -r[free]
        basis.append(w)
    return basis
