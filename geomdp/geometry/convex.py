"""What Caratheodory and separation answer, each with an exact certificate and the replay of it.

Nothing here calls a solver: a certificate is checked in integers and Fractions against the points alone.
Inputs are (N, d) integers, Fractions or floats, floats standing for the dyadic rationals that they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.core.errors import CertificateError
from geomdp.exact.farkas import integer_vector
from geomdp.exact.rational import RationalRows, rational_rows, rational_vector

Vector = tuple[Fraction, ...]


@dataclass(frozen=True)
class Combination:
    """A point written with few others: v = sum of weights[j] * points[indices[j]].

    Attributes:
        indices: different point numbers, increasing; the points are independent (affinely, or linearly for a
            cone), so there are at most d+1 of them, d for a cone.
        weights: positive Fractions; their sum is 1 for kind "affine".
        kind: "affine" (v in the convex hull) or "cone".
    """

    indices: tuple[int, ...]
    weights: tuple[Fraction, ...]
    kind: str = "affine"

    def verify(self, points: Any, v: Sequence[Any]) -> bool:
        """Return True after replaying the certificate exactly.

        Raises:
            CertificateError: naming the step that fails.
        """
        rows, target = rational_rows("points", points, len(v)), _vector("v", v)
        _check_kind(self.kind)
        _check_weights(self.indices, self.weights, len(rows))
        most = rows.d + (self.kind == "affine")
        if len(self.indices) > most:
            raise CertificateError(f"The combination uses {len(self.indices)} points, more than {most}.")
        if self.kind == "affine" and sum(self.weights) != 1:
            raise CertificateError(f"The weights sum to {sum(self.weights)}, not to 1.")
        if _mix(rows, self.indices, self.weights) != target:
            raise CertificateError("The weighted points do not sum to v.")
        return True


@dataclass(frozen=True)
class Separation:
    """A proof that v is outside: <functional, p> <= offset < <functional, v> for all points p.

    Attributes:
        functional: d integers.
        offset: an integer; 0 for kind "cone". The inequality at v is always strict; at the points it cannot
            be for a cone, which contains 0.
        kind: "affine" or "cone".
    """

    functional: tuple[int, ...]
    offset: int
    kind: str = "affine"

    def verify(self, points: Any, v: Sequence[Any]) -> bool:
        """Return True after replaying the certificate exactly.

        Raises:
            CertificateError: naming the step that fails.
        """
        rows, target = rational_rows("points", points, len(v)), _vector("v", v)
        _check_kind(self.kind)
        _check_length(self.functional, rows.d)
        if self.kind == "cone" and self.offset != 0:
            raise CertificateError(f"The offset of a cone's functional is {self.offset}, not 0.")
        _check_all(_levels(rows, self.functional, self.offset) <= 0, "points", "above the offset")
        if sum(c * x for c, x in zip(self.functional, target, strict=True)) <= self.offset:
            raise CertificateError("The functional is not above the offset at v.")
        return True


@dataclass(frozen=True)
class Hyperplane:
    """A strictly separating hyperplane: <z, a> > offset > <z, b> for all a in A and b in B.

    Attributes:
        functional: z, d integers.
        offset: an integer; 0 for kind "cone".
        kind: "affine" or "cone".
    """

    functional: tuple[int, ...]
    offset: int
    kind: str = "affine"

    def verify(self, A: Any, B: Any) -> bool:
        """Return True after replaying the certificate exactly.

        Raises:
            CertificateError: naming the step that fails.
        """
        left, right = rational_pair(A, B)
        _check_kind(self.kind)
        _check_length(self.functional, left.d)
        if self.kind == "cone" and self.offset != 0:
            raise CertificateError(f"The offset of a linear hyperplane is {self.offset}, not 0.")
        _check_all(_levels(left, self.functional, self.offset) > 0, "A", "not above the hyperplane")
        _check_all(_levels(right, self.functional, self.offset) < 0, "B", "not below the hyperplane")
        return True


@dataclass(frozen=True)
class Wall:
    """A proof that <f, v> <= 0 for all v in both cone(A) and cone(B): <z + s f, a> <= 0 <= <z, b>, s > 0.

    Indeed s <f, v> <= -<z, v> <= 0, because v is a sum of points of A and also one of points of B.

    Attributes:
        direction: f, d integers.
        functional: z, d integers.
        scale: s, a positive integer.
    """

    direction: tuple[int, ...]
    functional: tuple[int, ...]
    scale: int


@dataclass(frozen=True)
class CommonPoint:
    """A point written with few points of A, and with few points of B.

    For kind "affine" it lies in both convex hulls, with at most d+2 points in total (Kirchberger). For kind
    "cone" the two sides are non-negative combinations of at most d+1 points in total (Gordan), with all
    weights summing to 1. Usually both sides are there, and the point is not 0. It is 0 exactly when the two
    cones meet nowhere else: then one side is empty, the other is a *pure circuit* (0 written with positive
    weights), and ``walls`` prove that there is no other common point.

    Attributes:
        point: d Fractions.
        left: pairs (number of a point of A, positive weight).
        right: pairs (number of a point of B, positive weight).
        kind: "affine" or "cone".
        walls: for a pure circuit, walls whose directions are e_1, ..., e_d and -(1, ..., 1).

    Example:
        >>> common = CommonPoint((Fraction(1),), ((0, Fraction(1)),), ((0, Fraction(1)),))
        >>> common.verify([[1]], [[1]])
        True
    """

    point: Vector
    left: tuple[tuple[int, Fraction], ...]
    right: tuple[tuple[int, Fraction], ...]
    kind: str = "affine"
    walls: tuple[Wall, ...] = ()

    @property
    def pure(self) -> bool:
        """True for a circuit of one side: the two cones meet only at 0."""
        return self.kind == "cone" and not (self.left and self.right)

    @property
    def size(self) -> int:
        """The number of points used in total."""
        return len(self.left) + len(self.right)

    def verify(self, A: Any, B: Any) -> bool:
        """Return True after replaying the certificate exactly.

        Raises:
            CertificateError: naming the step that fails.
        """
        sides = rational_pair(A, B)
        d = sides[0].d
        _check_kind(self.kind)
        _check_length(self.point, d)
        sums = []
        for name, rows, terms in zip("AB", sides, (self.left, self.right), strict=True):
            indices, weights = tuple(i for i, _ in terms), tuple(w for _, w in terms)
            _check_weights(indices, weights, len(rows))
            if _mix(rows, indices, weights) != self.point:
                raise CertificateError(f"The weighted points of {name} do not sum to the common point.")
            sums.append(sum(weights, Fraction(0)))
        most = d + (2 if self.kind == "affine" else 1)
        if self.size > most:
            raise CertificateError(f"The common point uses {self.size} points in total, more than {most}.")
        if self.kind == "affine" and sums != [1, 1]:
            raise CertificateError("The weights of a side do not sum to 1.")
        if self.kind == "cone" and sum(sums) != 1:
            raise CertificateError("The weights of both sides together do not sum to 1.")
        if self.kind == "cone" and self.pure == any(self.point):
            raise CertificateError("The point is 0 with both sides used, or not 0 with one side empty.")
        if self.pure:
            self._verify_walls(*sides)
        return True

    def _verify_walls(self, left: RationalRows, right: RationalRows) -> None:
        directions = probes(left.d)
        if sorted(wall.direction for wall in self.walls) != sorted(directions):
            raise CertificateError("The walls' directions are not e_1, ..., e_d and -(1, ..., 1).")
        for wall in self.walls:
            _check_length(wall.functional, left.d)
            if wall.scale <= 0:
                raise CertificateError("The scale of a wall is not positive.")
            both = tuple(z + wall.scale * f for z, f in zip(wall.functional, wall.direction, strict=True))
            _check_all(_levels(left, both, 0) <= 0, "A", f"above the wall {wall.direction}")
            _check_all(_levels(right, wall.functional, 0) >= 0, "B", f"below the wall {wall.direction}")


def probes(d: int) -> list[tuple[int, ...]]:
    """Return d+1 directions such that only v = 0 has <f, v> <= 0 for all of them.

    Example:
        >>> probes(2)
        [(1, 0), (0, 1), (-1, -1)]
    """
    units = [tuple(int(i == j) for j in range(d)) for i in range(d)]
    return [*units, (-1,) * d]


def rational_pair(A: Any, B: Any) -> tuple[RationalRows, RationalRows]:
    """Return two point sets of one dimension; an empty list takes the dimension of the other set."""
    if np.shape(A) == (0,) and np.shape(B) != (0,):
        right = rational_rows("B", B)
        return rational_rows("A", A, right.d), right
    left = rational_rows("A", A)
    return left, rational_rows("B", B, left.d)


def _vector(name: str, v: Sequence[Any]) -> Vector:
    return rational_vector(name, v).row(0)


def _mix(rows: RationalRows, indices: Sequence[int], weights: Sequence[Fraction]) -> Vector:
    total = [Fraction(0)] * rows.d
    for i, weight in zip(indices, weights, strict=True):
        total = [t + weight * x for t, x in zip(total, rows.row(i), strict=True)]
    return tuple(total)


def _levels(rows: RationalRows, functional: Sequence[int], offset: int) -> NDArray[Any]:
    """Return integers with the signs of <functional, p> - offset, one a point."""
    joined = np.column_stack([rows.numerators, -rows.denominators])
    return products(joined, integer_vector([*functional, offset]))


def _check_kind(kind: str) -> None:
    if kind not in {"affine", "cone"}:
        raise CertificateError(f"The kind is {kind!r}, neither 'affine' nor 'cone'.")


def _check_length(vector: Sequence[Any], d: int) -> None:
    if len(vector) != d:
        raise CertificateError(f"A vector has {len(vector)} entries, but the points have {d}.")


def _check_weights(indices: Sequence[int], weights: Sequence[Fraction], count: int) -> None:
    if len(indices) != len(weights) or len(set(indices)) < len(indices):
        raise CertificateError("The point numbers are not different, or not one a weight.")
    if not all(0 <= i < count for i in indices):
        raise CertificateError(f"A point number is not in 0..{count - 1}.")
    if not all(weight > 0 for weight in weights):
        raise CertificateError("A weight is not positive.")


def _check_all(holds: NDArray[Any], name: str, fault: str) -> None:
    wrong = np.flatnonzero(~np.asarray(holds, dtype=bool))
    if len(wrong):
        raise CertificateError(f"Point {wrong[0]} of {name} is {fault}.")
