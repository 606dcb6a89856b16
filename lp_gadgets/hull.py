"""The exact facets of a finite set of integer points, with a proof that none is missing.

Three ways to a first list of facets; whichever is taken, integers decide what enters it, and
:func:`lp_gadgets.polytopes.ridge_walk.close` then looks at both sides of every ridge, adds what lacks, and
thereby proves the list complete:

* "walk": a single facet, found by turning a hyperplane; the walk across ridges finds all others.
* "double description": all facets by :mod:`lp_gadgets.polytopes.double_description`; the walk must add none.
* "qhull": scipy's Qhull names sets of points that seem to share a facet; each set is kept only if exact
  arithmetic finds a hyperplane through it that leaves no point outside. Normals in floating point are never
  used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products
from geomdp.core.errors import ArgumentError, CertificateError, check_choice
from geomdp.exact.farkas import integer_vector
from geomdp.exact.linear import nullspace, primitive, reduced_echelon
from lp_gadgets.polytopes.double_description import extreme_rays, independent_rows
from lp_gadgets.polytopes.ridge_walk import Facet, Symmetry, as_bits, close, first_facet, members, symmetry

METHODS = ("auto", "walk", "double description", "qhull")


@dataclass(frozen=True)
class Completeness:
    """Why a list of facets is known to be all of them.

    Attributes:
        method: how the first list was found.
        facets: number of facets.
        ridges: number of ridges, each found in exactly two of the facets.
        orbits: number of orbits of facets under the symmetries used.
        added: facets that the walk across ridges added to the first list.
    """

    method: str
    facets: int
    ridges: int
    orbits: int
    added: int

    def __str__(self) -> str:
        return (
            f"complete: each of {self.ridges} ridges lies in exactly two of the {self.facets} facets "
            f"({self.orbits} orbits; {self.method})"
        )


@dataclass(frozen=True)
class Hull:
    """A polytope by its vertices and by its exact facets: {x : A x <= b, E x = e}.

    Attributes:
        points: (N, n) distinct integer points in lexicographic order; the polytope is their hull.
        dimension: of the affine hull.
        A: (F, n) integers, one facet a row, primitive with its bound; coordinates that the equations give as
            functions of the others have coefficient 0.
        b: (F,) integers.
        E: (n - r, n) integers, r the dimension; one equation of the affine hull a row, primitive with its
            value.
        e: (n - r,) integers.
        completeness: the record of the proof.
        symmetries: permutations of the points that the proof used.

    Source: the relation polytopes of Appendix C of the paper, whose facets are written out.

    Example:
        >>> hull = facets([[0, 0], [0, 2], [2, 0], [1, 1], [0, 1]])
        >>> sorted(zip(hull.A.tolist(), hull.b.tolist()))
        [([-1, 0], 0), ([0, -1], 0), ([1, 1], 2)]
        >>> print(hull.completeness)
        complete: each of 3 ridges lies in exactly two of the 3 facets (3 orbits; walk)
    """

    points: NDArray[Any]
    dimension: int
    A: NDArray[Any]
    b: NDArray[Any]
    E: NDArray[Any]
    e: NDArray[Any]
    completeness: Completeness
    symmetries: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def tight(self) -> NDArray[np.bool_]:
        """(F, N) whether each facet holds each point."""
        return np.asarray(
            products(self.A, np.ascontiguousarray(self.points.T)) == self.b[:, None], dtype=bool
        )

    @cached_property
    def vertices(self) -> NDArray[np.int64]:
        """The numbers of the points that are vertices: no other point lies in all of their facets."""
        facets_of = [as_bits(column) for column in self.tight.T]
        return np.array(
            [
                i
                for i, own in enumerate(facets_of)
                if all(own & other != own for k, other in enumerate(facets_of) if k != i)
            ],
            dtype=np.int64,
        )

    @cached_property
    def functions(self) -> NDArray[Any]:
        """(F, n + 1) each facet as the affine function b - A x >= 0: coefficients, then the constant."""
        return np.column_stack([_negated(self.A), self.b])

    def verify(self) -> None:
        """Check every claim again in integers: equations, validity, ranks, and both sides of each ridge.

        Raises:
            CertificateError: naming the first claim that fails.
        """
        frame = _Frame.of(self.points)
        joined = np.column_stack([self.E, _negated(self.e)])
        if frame.h != self.dimension or len(self.E) != self.points.shape[1] - frame.h:
            raise CertificateError("The number of equations does not match the dimension of the points.")
        if len(joined) and (
            products(frame.homogeneous, joined.T).any() or len(independent_rows(joined)) < len(joined)
        ):
            raise CertificateError("An equation fails on a point, or depends on the others.")
        seeds = []
        for i, function in enumerate(self.functions):
            values = products(frame.homogeneous, integer_vector(function))
            if values.min() < 0:
                raise CertificateError(f"Facet {i} cuts off a point.")
            if len(independent_rows(frame.homogeneous[values == 0])) != self.dimension:
                raise CertificateError(f"Facet {i} holds too few independent points.")
            if primitive(function) != tuple(function.tolist()):
                raise CertificateError(f"Facet {i} is not primitive.")
            seeds.append((as_bits(values == 0), frame.pushed(function)))
        if len({bits for bits, _ in seeds}) != len(self.A):
            raise CertificateError("A facet is listed twice.")
        if self.dimension < 1:
            return
        if self.dimension == 1 and len(self.A) != 2:
            raise CertificateError("A segment has two ends.")
        if self.dimension > 1 and not seeds:
            raise CertificateError("No facet is listed.")
        if self.dimension > 1:
            closure = close(frame.points, seeds, [symmetry(frame.points, order) for order in self.symmetries])
            if closure.added:
                raise CertificateError(f"{closure.added} facets are missing.")


def facets(
    points: Any,
    symmetries: Sequence[Callable[[NDArray[Any]], NDArray[Any]]] = (),
    method: str = "auto",
    progress: Callable[[float], None] | None = None,
) -> Hull:
    """Return the facets of the hull of integer points, complete and exact.

    Args:
        points: (N, n) integers, N >= 1; repeated points, points that are no vertices and lower-dimensional
            sets are welcome.
        symmetries: maps of (N, n) points to (N, n) points, each of which permutes the point set by an affine
            map (both are checked): they save work.
        method: "walk", "double description" or "qhull"; "auto" takes the walk where symmetries are given or
            the dimension is small, and the double description elsewhere.
        progress: told the fraction done.

    Returns:
        The hull. Facets are sorted, so that the list does not depend on the method.

    Raises:
        ArgumentError: when there are no points, an entry is no integer, or a map is no symmetry of them.

    Source: the relation polytopes of Appendix C of the paper, whose facets are written out.

    Example:
        >>> cube = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
        >>> hull = facets(cube, [lambda x: x[:, [1, 2, 0]], lambda x: x * [-1, 1, 1] + [1, 0, 0]])
        >>> len(hull.A), hull.completeness.ridges, hull.completeness.orbits
        (6, 12, 1)
        >>> hull.verify()
    """
    check_choice("method", method, METHODS)
    table = integer_array("points", points, 2)
    if not table.size:
        raise ArgumentError("points", "at least one point of at least one coordinate", f"{table.shape}")
    frame = _Frame.of(_sorted_points(table))
    moves = [symmetry(frame.points, _order(frame.table, move)) for move in symmetries]
    if method == "auto":
        method = "walk" if moves or frame.h <= 6 else "double description"
    if frame.h == 0:
        found: dict[int, tuple[int, ...]] = {}
        record = Completeness("point", 0, 0, 0, 0)
    elif frame.h == 1:
        rays, tight = extreme_rays(frame.points)
        found = {as_bits(row): tuple(ray) for row, ray in zip(tight, rays.tolist(), strict=True)}
        record = Completeness("segment", 2, 0, 2, 0)
    else:
        closure = close(frame.points, _SEEDS[method](frame.points, moves), moves, progress)
        found = closure.facets
        added = 0 if method == "walk" else closure.added
        record = Completeness(method, len(found), closure.ridges, closure.orbits, added)
    orders = tuple(tuple(move.order.tolist()) for move in moves)
    return frame.hull(sorted(found.values()), record, orders)


@dataclass(frozen=True)
class _Frame:
    """Distinct points with coordinates of their affine hull."""

    table: NDArray[Any]  # (N, n), sorted
    kept: tuple[int, ...]  # h coordinates that determine the others
    equations: NDArray[Any]  # (n - h, n + 1), vanishing on (x, 1)

    @classmethod
    def of(cls, table: NDArray[Any]) -> _Frame:
        leading = np.column_stack([np.ones(len(table), dtype=table.dtype), table])
        basis = leading[independent_rows(leading)]
        _, pivots, _ = reduced_echelon(basis)
        rows = []
        for vector in nullspace(basis):
            last = max(i for i, value in enumerate(vector) if value)
            rows.append([(-v if vector[last] < 0 else v) for v in (*vector[1:], vector[0])])
        equations = np.array(rows, dtype=object).reshape(len(rows), table.shape[1] + 1)
        return cls(table, tuple(c - 1 for c in pivots if c), equations)

    @property
    def h(self) -> int:
        return len(self.kept)

    @cached_property
    def homogeneous(self) -> NDArray[Any]:
        """(N, n + 1) points, each followed by 1."""
        return np.column_stack([self.table, np.ones(len(self.table), dtype=self.table.dtype)])

    @cached_property
    def points(self) -> NDArray[Any]:
        """(N, h + 1) kept coordinates, followed by 1."""
        return np.ascontiguousarray(self.homogeneous[:, [*self.kept, -1]])

    def pushed(self, function: NDArray[Any]) -> tuple[int, ...]:
        """Return a function of the kept coordinates that is a given one on the affine hull, up to scale."""
        f = [int(v) for v in function]
        for equation in self.equations:
            column = next(c for c in range(len(f) - 2, -1, -1) if equation[c] and c not in self.kept)
            scale, over = int(equation[column]), f[column]
            f = [scale * a - over * int(c) for a, c in zip(f, equation, strict=True)]
        return primitive([f[c] for c in (*self.kept, len(f) - 1)])

    def hull(
        self,
        functions: Sequence[tuple[int, ...]],
        record: Completeness,
        orders: tuple[tuple[int, ...], ...],
    ) -> Hull:
        n = self.table.shape[1]
        A = np.zeros((len(functions), n), dtype=object)
        b = np.zeros(len(functions), dtype=object)
        for i, function in enumerate(functions):
            A[i, list(self.kept)] = [-v for v in function[:-1]]
            b[i] = function[-1]
        return Hull(
            self.table,
            self.h,
            integer_array("A", A, 2),
            integer_array("b", b, 1),
            integer_array("E", self.equations[:, :n], 2),
            integer_array("e", -self.equations[:, n], 1),
            record,
            orders,
        )


def _negated(array: NDArray[Any]) -> NDArray[Any]:
    """Return the negative of integers, exactly: int64 has no 2^63."""
    return -(array.astype(object) if array.size and int(array.min()) == -(2**63) else array)


def _sorted_points(table: NDArray[Any]) -> NDArray[Any]:
    rows = sorted(set(map(tuple, table.tolist())))
    return np.array(rows, dtype=table.dtype)


def _order(table: NDArray[Any], move: Callable[[NDArray[Any]], NDArray[Any]]) -> list[int]:
    place = {tuple(row): i for i, row in enumerate(table.tolist())}
    order = [place.get(tuple(row), -1) for row in np.asarray(move(table.copy())).tolist()]
    if sorted(order) != list(range(len(table))):
        raise ArgumentError("symmetries", "maps that permute the points", "a map that does not")
    return order


def _walk_seeds(points: NDArray[Any], _moves: Sequence[Symmetry]) -> Iterator[Facet]:
    yield first_facet(points)


def _described_seeds(points: NDArray[Any], _moves: Sequence[Symmetry]) -> Iterator[Facet]:
    rays, tight = extreme_rays(points)
    for ray, row in zip(rays.tolist(), tight, strict=True):
        yield as_bits(row), tuple(ray)


def _guided_seeds(points: NDArray[Any], _moves: Sequence[Symmetry]) -> Iterator[Facet]:
    """Yield the facets that Qhull's output leads to; one found without it comes first, lest there be none."""
    from scipy.spatial import ConvexHull, QhullError

    yield first_facet(points)
    centred = points[:, :-1].astype(np.float64)
    centred -= centred.mean(axis=0)
    centred /= np.abs(centred).max(axis=0)
    try:
        guide = ConvexHull(centred)
    except QhullError:
        return
    values = guide.equations[:, :-1] @ centred.T + guide.equations[:, -1:]
    near = np.abs(values) < 1e-9
    np.put_along_axis(near, guide.simplices, True, axis=1)
    for guess in {as_bits(row) for row in near}:
        facet = _facet_through(points, members(guess, len(points)))
        if facet is not None:
            yield facet


def _facet_through(points: NDArray[Any], guess: NDArray[np.int64]) -> Facet | None:
    """Return the facet whose hyperplane holds the guessed points, if they determine one."""
    rows = independent_rows(points[guess])
    if len(rows) != points.shape[1] - 1:
        return None
    (function,) = nullspace(points[guess[rows]])
    values = products(points, integer_vector(function))
    if values.max() <= 0:
        function, values = tuple(-v for v in function), -values
    return (as_bits(values == 0), function) if values.min() >= 0 else None


_SEEDS = {"walk": _walk_seeds, "double description": _described_seeds, "qhull": _guided_seeds}
