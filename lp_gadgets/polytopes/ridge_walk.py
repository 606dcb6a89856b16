"""From facets to all facets: close a list under the step across every ridge, and so prove it complete.

A facet F of a polytope is itself a polytope; its facets are the ridges of F, and each ridge lies in exactly
one other facet. The facets of a polytope are connected through ridges. Hence a non-empty list of facets that
holds both sides of every ridge of each of its members is the list of all facets. The same holds orbit by
orbit under any group of affine symmetries, so one facet of each orbit is enough to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.core.errors import ArgumentError
from geomdp.exact.farkas import integer_vector
from geomdp.exact.linear import nullspace, primitive, reduced_echelon
from lp_gadgets.polytopes.double_description import extreme_rays, independent_rows

#: A facet: the set of points where it is tight, as bits of an int, and its affine function.
Facet = tuple[int, tuple[int, ...]]
#: The facets of a facet with more points than this are found by a walk of their own, if there are symmetries.
LARGE = 256


@dataclass(frozen=True)
class Symmetry:
    """An affine symmetry of a point set: point i goes to point ``order[i]``.

    Attributes:
        order: (N,) a permutation.
        pull: (h + 1, h + 1) integers; ``pull @ f`` is a positive multiple of f after the inverse map.
    """

    order: NDArray[np.int64]
    pull: NDArray[Any]

    def move(self, facet: Facet) -> Facet:
        """Return the image of a facet."""
        return self.image(facet[0]), primitive(products(self.pull, integer_vector(facet[1])))

    def image(self, tight: int) -> int:
        """Return the image of a set of points."""
        return _image(tight, self.order)


@dataclass(frozen=True)
class Closure:
    """A complete list of facets.

    Attributes:
        facets: tight set -> affine function, all facets.
        ridges: the number of ridges, each in exactly two of the facets.
        orbits: the number of orbits of facets under the symmetries used.
        added: how many facets the given list lacked.
    """

    facets: dict[int, tuple[int, ...]]
    ridges: int
    orbits: int
    added: int


def as_bits(tight: NDArray[np.bool_]) -> int:
    """Return a set of points as the bits of an integer.

    Example:
        >>> as_bits(np.array([True, False, True]))
        5
    """
    return int.from_bytes(np.packbits(tight, bitorder="little").tobytes(), "little")


def members(bits: int, count: int) -> NDArray[np.int64]:
    """Return the points of a set of bits, in order.

    Example:
        >>> members(5, 3).tolist()
        [0, 2]
    """
    raw = np.frombuffer(bits.to_bytes((count + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, count=count, bitorder="little"))


def symmetry(points: NDArray[Any], order: Sequence[int] | NDArray[Any]) -> Symmetry:
    """Return a permutation of the points as a symmetry, after checking in integers that it is affine.

    Args:
        points: (N, h + 1) integers of rank h + 1, last column 1.
        order: point i goes to point ``order[i]``.

    Raises:
        ArgumentError: when it is no permutation, or no affine map does it.
    """
    to = np.asarray(order)
    if sorted(to.tolist()) != list(range(len(points))):
        raise ArgumentError("symmetries", f"permutations of {len(points)} points", "another sequence")
    back = np.argsort(to)
    basis = independent_rows(points)
    rows, _, den = reduced_echelon(np.hstack([points[basis], points[back[basis]]]).astype(object))
    pull = rows[:, len(basis) :] * (1 if den > 0 else -1)
    den = abs(den)
    if not np.array_equal(products(points, pull), points[back].astype(object) * den):
        raise ArgumentError("symmetries", "permutations that an affine map induces", "another permutation")
    return Symmetry(to.astype(np.int64), pull)


def close(
    points: NDArray[Any],
    seeds: Iterable[Facet],
    symmetries: Sequence[Symmetry] = (),
    progress: Callable[[float], None] | None = None,
) -> Closure:
    """Return all facets of the hull, from some of them.

    Args:
        points: (N, h + 1) integers of rank h + 1 >= 3, last column 1, distinct points.
        seeds: facets, at least one, each exact: tight set and affine function.
        symmetries: any affine symmetries; they save work and change nothing else.
        progress: told the fraction of the facets known so far that are done.

    Example:
        >>> square = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> closure = close(square, [(0b0011, (1, 0, 0))])
        >>> len(closure.facets), closure.ridges, closure.added
        (4, 4, 3)
    """
    facets: dict[int, tuple[int, ...]] = {}
    queue: list[tuple[Facet, int]] = []
    for seed in seeds:
        _enter(seed, facets, queue, symmetries)
    given, sides, done, orbits = len(facets), 0, 0, 0
    while queue:
        (tight, function), size = queue.pop()
        ridges = ridges_of(points, tight, symmetries)
        shared = {tight & other for other in facets if other != tight}
        for ridge in ridges:
            if ridge in shared:
                continue
            new = turn(points, (tight, function), ridge)
            for other in _enter(new, facets, queue, symmetries):
                shared.add(tight & other)
        sides += size * len(ridges)
        done += size
        orbits += 1
        if progress is not None:
            progress(done / len(facets))
    return Closure(facets, sides // 2, orbits, len(facets) - given)


def ridges_of(points: NDArray[Any], tight: int, symmetries: Sequence[Symmetry] = ()) -> list[int]:
    """Return the tight sets of the facets of a facet.

    They come from the double description; those of a facet of many points from a walk of their own, which the
    symmetries that keep the facet shorten.

    Example:
        >>> square = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> sorted(ridges_of(square, 0b0011))
        [1, 2]
    """
    inside = members(tight, len(points))
    if len(inside) == points.shape[1] - 1:
        return [tight ^ (1 << int(i)) for i in inside]
    face = points[inside]
    _, columns, _ = reduced_echelon(face[independent_rows(face)][:, ::-1])
    kept = sorted(points.shape[1] - 1 - c for c in columns)
    face = np.ascontiguousarray(face[:, kept])
    if len(inside) <= LARGE or not symmetries:
        return [_bits_of(inside[row], len(points)) for row in extreme_rays(face)[1]]
    moves = [symmetry(face, order) for order in stabiliser(tight, symmetries)]
    closure = close(face, [first_facet(face)], moves)
    return [_bits_of(inside[members(ridge, len(inside))], len(points)) for ridge in closure.facets]


def stabiliser(tight: int, symmetries: Sequence[Symmetry], draws: int = 12) -> list[NDArray[np.int64]]:
    """Return how some symmetries that keep a set of points permute it (numbered within the set).

    A random product of the generators takes the set to a member of its orbit; a product that is known to
    reach that member takes it back. A dozen of these generate the whole stabiliser as a rule, a subgroup
    always.

    Example:
        >>> square = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> [order.tolist() for order in stabiliser(0b0011, [symmetry(square, [1, 3, 0, 2])])]
        []
    """
    count = len(symmetries[0].order)
    came: dict[int, tuple[int, int]] = {
        tight: (0, 0)
    }  # member of the orbit -> the one before, and the generator
    queue = [tight]
    for member in queue:
        for k, move in enumerate(symmetries):
            image = move.image(member)
            if image not in came:
                came[image] = (member, k)
                queue.append(image)
    rng = np.random.default_rng(0)
    inside = members(tight, count)
    word = np.arange(count)
    found: dict[bytes, NDArray[np.int64]] = {}
    for _ in range(draws):
        for k in rng.integers(0, len(symmetries), 4 * len(inside).bit_length()):
            word = symmetries[k].order[word]
        member, path = _image(tight, word), []
        while member != tight:
            member, k = came[member]
            path.append(k)
        reach = np.arange(count)
        for k in reversed(path):
            reach = symmetries[k].order[reach]
        kept = np.argsort(reach)[word]
        order = np.searchsorted(inside, kept[inside])
        if (order != np.arange(len(inside))).any():
            found.setdefault(order.tobytes(), order)
    return list(found.values())


def turn(points: NDArray[Any], facet: Facet, face: int) -> Facet:
    """Turn a supporting hyperplane about a face of its tight set until it meets further points.

    With f >= 0 the function of the hyperplane and c another one that vanishes on the face and is >= 0 on f's
    tight set, the result is c + t f for the least t that leaves no point outside: t = max -c(x) / f(x).

    Args:
        points: (N, h + 1) integers of rank h + 1, last column 1.
        facet: tight set and function of the hyperplane.
        face: the points to turn about; their rank is below h if they are the whole tight set.

    Example:
        >>> square = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> turn(square, (0b0011, (1, 0, 0)), 0b0001)
        (5, (0, 1, 0))
    """
    tight, function = facet
    held = points[members(face, len(points))]
    basis = nullspace(held[independent_rows(held)])
    c = next(v for v in basis if not _parallel(v, function))
    values, slack = products(points, integer_vector(c)), products(points, integer_vector(function))
    rest = members(tight & ~face, len(points))
    if len(rest) and values[rest].min() < 0:
        c, values = tuple(-v for v in c), -values
    up, down = -1, 1  # t = up / down
    first = True
    for over, under in zip((-values).tolist(), slack.tolist(), strict=True):
        if under > 0 and (first or over * down > up * under):
            up, down, first = over, under, False
    new = primitive([down * a + up * b for a, b in zip(c, function, strict=True)])
    return as_bits(np.asarray(products(points, integer_vector(new)) == 0)), new


def first_facet(points: NDArray[Any]) -> Facet:
    """Return one facet: turn the hyperplane of the least first coordinate until it holds rank h.

    Example:
        >>> first_facet(np.array([[0, 0, 1], [1, 5, 1], [1, 6, 1]]))
        (3, (-5, 1, 0))
    """
    h = points.shape[1] - 1
    function = (1, *[0] * (h - 1), -int(points[:, 0].min()))
    tight = as_bits(np.asarray(products(points, integer_vector(function)) == 0))
    while len(independent_rows(points[members(tight, len(points))])) < h:
        tight, function = turn(points, (tight, function), tight)
    return tight, function


def _bits_of(numbers: NDArray[np.int64], count: int) -> int:
    chosen = np.zeros(count, dtype=bool)
    chosen[numbers] = True
    return as_bits(chosen)


def _image(tight: int, order: NDArray[np.int64]) -> int:
    return _bits_of(order[members(tight, len(order))], len(order))


def _enter(
    facet: Facet,
    facets: dict[int, tuple[int, ...]],
    queue: list[tuple[Facet, int]],
    symmetries: Sequence[Symmetry],
) -> list[int]:
    """Add the orbit of a new facet, and one of it to the queue; return the tight sets added."""
    if facet[0] in facets:
        return []
    facets[facet[0]] = facet[1]
    orbit = [facet]
    for member in orbit:
        for move in symmetries:
            image = move.move(member)
            if image[0] not in facets:
                facets[image[0]] = image[1]
                orbit.append(image)
    queue.append((facet, len(orbit)))
    return [tight for tight, _ in orbit]


def _parallel(v: Sequence[int], w: Sequence[int]) -> bool:
    p, r = primitive(v), primitive(w)
    return p in (r, tuple(-x for x in r))
