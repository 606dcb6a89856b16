"""Chambers by restriction, in Python integers of any width: slow, free of floats, short.

It serves coordinates too wide for the compiled walk, and as the walk's independent check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Vector = list[int]


def chambers_by_restriction(
    rows: Sequence[Sequence[int]], dimension: int, progress: Callable[[float], None] | None = None
) -> list[Vector]:
    """Return one integer vector inside every chamber of the hyperplanes {w : <x, w> = 0}, x in rows.

    Hyperplanes are added one at a time. The new one splits the chambers that it meets, and it meets
    them in the chambers of the earlier hyperplanes restricted to it, which are found recursively.

    Args:
        rows: non-zero, pairwise independent integer vectors of length ``dimension``, of any rank.
        dimension: at least 1.
        progress: called with the fraction done.

    Example:
        >>> sorted(chambers_by_restriction([[1, 0], [0, 1]], 2))
        [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    """
    cells: dict[tuple[bool, ...], Vector] = {(): [1] + [0] * (dimension - 1)}
    for j, row in enumerate(rows):
        v, earlier = [int(x) for x in row], [[int(x) for x in y] for y in rows[:j]]
        split: dict[tuple[bool, ...], tuple[Vector, Vector]] = {}
        for face in _on_hyperplane(v, earlier, dimension):
            values = [_dot(x, face) for x in earlier]
            scale = 1 + max(
                (abs(_dot(x, v)) // abs(y) for x, y in zip(earlier, values, strict=True)), default=0
            )
            pair = tuple(
                _shorten([scale * f + side * x for f, x in zip(face, v, strict=True)]) for side in (1, -1)
            )
            split[tuple(y > 0 for y in values)] = (pair[0], pair[1])
        grown: dict[tuple[bool, ...], Vector] = {}
        for key, witness in cells.items():
            if key in split:
                grown[(*key, True)], grown[(*key, False)] = split[key]
            else:
                grown[(*key, _dot(v, witness) > 0)] = witness
        cells = grown
        if progress is not None:
            progress((j + 1) / len(rows))
    return list(cells.values())


def _on_hyperplane(v: Vector, earlier: list[Vector], dimension: int) -> list[Vector]:
    """Return one vector orthogonal to v in every chamber that the earlier rows cut out of v^perp."""
    if dimension == 1:
        return [] if earlier else [[0]]
    c = max(range(dimension), key=lambda k: abs(v[k]))
    side = 1 if v[c] > 0 else -1
    restricted: dict[tuple[int, ...], None] = {}
    for x in earlier:
        y = [abs(v[c]) * x[k] - side * x[c] * v[k] for k in range(dimension) if k != c]
        lead = next(z for z in y if z)
        restricted[tuple(_shorten([z if lead > 0 else -z for z in y]))] = None
    faces = []
    for inner in chambers_by_restriction(list(restricted), dimension - 1):
        rest = v[:c] + v[c + 1 :]
        face = [abs(v[c]) * w for w in inner]
        face.insert(c, -side * _dot(rest, inner))
        faces.append(_shorten(face))
    return faces


def _dot(x: Sequence[int], y: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(x, y, strict=True))


def _shorten(x: Vector) -> Vector:
    g = math.gcd(*x)
    return [a // g for a in x] if g > 1 else x
