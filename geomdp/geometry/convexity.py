"""Caratheodory's theorem and separation of point sets, with exact certificates for either outcome."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.core.errors import check_choice
from geomdp.exact.farkas import integer_vector
from geomdp.exact.rational import RationalRows, rational_rows, rational_vector
from geomdp.exact.simplex import unit_rows
from geomdp.geometry.convex import (
    Combination,
    CommonPoint,
    Hyperplane,
    Separation,
    Wall,
    probes,
    rational_pair,
)
from geomdp.geometry.membership import METHODS, ConeQuestion

__all__ = ["Combination", "CommonPoint", "Hyperplane", "Separation", "caratheodory", "separate"]

KINDS = ("affine", "cone")


def caratheodory(
    points: Any, v: Sequence[Any], *, kind: str = "affine", method: str = "fast"
) -> Combination | Separation:
    """Return v as a combination of few points, or a functional that proves it impossible.

    The alternatives exclude each other (Farkas):

        sum_j x_j p_j = v, x >= 0 [and sum_j x_j = 1]     <c, p_j> <= offset < <c, v> for all j

    Args:
        points: (N, d) integers, Fractions or floats (read as the dyadic rationals that they are), N >= 0.
        v: d numbers of the same kinds.
        kind: "affine" for the convex hull, "cone" for non-negative combinations (then offset = 0).
        method: "fast" (integers throughout, HiGHS as a guide in high dimension), or "lp" (the CVXPY model
            solved by HiGHS, finished in integers).

    Returns:
        A Combination of at most d+1 points (d for a cone; none for v = 0), or a Separation. Both have
        ``verify(points, v)``.

    Raises:
        ArgumentError: on a wrong shape, or a value that is not a finite rational number.

    Source: Caratheodory's theorem (paper, Lemma B.3).

    Example:
        >>> square = [[0, 0], [4, 0], [0, 4], [4, 4]]
        >>> inside = caratheodory(square, [1, 2])
        >>> len(inside.indices) <= 3, inside.verify(square, [1, 2])
        (True, True)
        >>> caratheodory(square, [5, 2])
        Separation(functional=(1, 0), offset=4, kind='affine')
    """
    check_choice("kind", kind, KINDS)
    check_choice("method", method, METHODS)
    target = rational_vector("v", v)
    rows = rational_rows("points", points, target.d)
    below, goal = int(target.denominators[0]), tuple(int(x) for x in target.numerators[0])
    if kind == "affine":
        if not len(rows):
            return Separation(_unit(rows.d), goal[0] // below - 1)
        blocks = ((slice(0, len(rows)), rows.d),)
        question = ConeQuestion(_stack(rows, rows.denominators), (*goal, below), blocks)
    else:
        question = ConeQuestion(rows.numerators, goal)
    answer = question.answer(method)
    if isinstance(answer, tuple):
        offset = -answer[-1] if kind == "affine" else 0
        return Separation(answer[: rows.d], offset, kind)
    terms = [(j, x * int(rows.denominators[j]) / below) for j, x in answer.items()]
    return Combination(tuple(j for j, _ in terms), tuple(x for _, x in terms), kind)


def separate(A: Any, B: Any, *, kind: str = "affine", method: str = "fast") -> CommonPoint | Hyperplane:
    """Return a strictly separating hyperplane, or a point common to both sides written with few points.

    For kind "affine" the alternatives are (Kirchberger, with Farkas)

        sum_A x_a a = sum_B x_b b, x >= 0, sum_A x_a = sum_B x_b = 1      <z, a> > offset > <z, b>

    and for kind "cone" (Gordan)

        sum_A x_a a = sum_B x_b b, x >= 0, sum_A x_a + sum_B x_b = 1      <z, a> > 0 > <z, b>.

    The second one has a trap: 0 in the convex hull of A alone already rules out <z, a> > 0, by a *pure
    circuit* that does not touch B. Here a common point other than 0 is returned whenever there is one, with
    both sides used; a pure circuit is returned only when the cones meet at 0 alone, with the proof of it.

    Args:
        A: (N_A, d) integers, Fractions or floats (read as the dyadic rationals that they are), N_A >= 0.
        B: (N_B, d) alike. An empty set has an empty hull, and the cone {0}.
        kind: "affine" for convex hulls, "cone" for hyperplanes through 0.
        method: "fast" (integers throughout, HiGHS as a guide in high dimension), or "lp" (the CVXPY model
            solved by HiGHS, finished in integers).

    Returns:
        A Hyperplane with integer entries, or a CommonPoint with exact weights of at most d+2 points in total,
        d+1 for a cone. Both have ``verify(A, B)``.

    Raises:
        ArgumentError: on a wrong shape, or a value that is not a finite rational number.

    Source: separation in the paper's Lemma 4.4; the counts d+2 and d+1 are Kirchberger's and Gordan's.

    Example:
        >>> A, B = [[0, 0], [2, 0]], [[1, 1], [1, -1]]
        >>> common = separate(A, B)
        >>> [str(x) for x in common.point], common.verify(A, B)
        (['1', '0'], True)
        >>> plane = separate(A, [[0, 2], [5, 1]])
        >>> plane.verify(A, [[0, 2], [5, 1]])
        True
    """
    check_choice("kind", kind, KINDS)
    check_choice("method", method, METHODS)
    left, right = rational_pair(A, B)
    if kind == "affine":
        return _affine(left, right, method)
    return _cone(left, right, method)


def _affine(left: RationalRows, right: RationalRows, method: str) -> CommonPoint | Hyperplane:
    d, n = left.d, len(left)
    if not n or not len(right):
        return _beside(left, right)
    upper = _stack(left, left.denominators, np.zeros_like(left.denominators))
    lower = _stack(right, np.zeros_like(right.denominators), right.denominators, sign=-1)
    blocks = ((slice(0, n), d), (slice(n, n + len(right)), d + 1))
    answer = ConeQuestion(np.vstack([upper, lower]), (0,) * d + (1, 1), blocks).answer(method)
    if isinstance(answer, tuple):  # <y, a> <= -h_A and <y, b> >= h_B with h_A + h_B > 0
        h_A, h_B = answer[d:]
        return Hyperplane(tuple(-2 * value for value in answer[:d]), h_A - h_B)
    return _common(left, right, answer, "affine")


def _beside(left: RationalRows, right: RationalRows) -> Hyperplane:
    """Return a hyperplane with the one side that has points on its right side."""
    if len(left):
        return Hyperplane(_unit(left.d), int((left.numerators[:, 0] // left.denominators).min()) - 1)
    if len(right):
        return Hyperplane(_unit(left.d), int((right.numerators[:, 0] // right.denominators).max()) + 1)
    return Hyperplane(_unit(left.d), 0)


def _cone(left: RationalRows, right: RationalRows, method: str) -> CommonPoint | Hyperplane:
    d, n = left.d, len(left)
    N = n + len(right)
    if not N:
        return Hyperplane(_unit(d), 0, "cone")
    upper, lower = _stack(left, left.denominators), _stack(right, right.denominators, sign=-1)
    generators = np.vstack([upper, lower])
    answer = ConeQuestion(generators, (0,) * d + (1,), ((slice(0, N), d),)).answer(method)
    if isinstance(answer, tuple):
        return Hyperplane(tuple(-value for value in answer[:d]), 0, "cone")
    common = _common(left, right, answer, "cone")
    return _mixed(left, right, generators, method, common) if common.pure else common


def _mixed(
    left: RationalRows, right: RationalRows, generators: NDArray[Any], method: str, circuit: CommonPoint
) -> CommonPoint:
    """Return a common point other than 0, or the circuit with walls: there is none.

    For a direction f, ask for sum_A x_a a = sum_B x_b b with sum_A x_a <f, a> = 1. A basic solution has at
    most d+1 points and a common point with <f, v> = 1. A Farkas vector (z, s) of it says that
    <z + s f, a> <= 0 <= <z, b> with s > 0: a wall.
    """
    d, n = left.d, len(left)
    walls = []
    for direction in _promising(right if circuit.left else left):
        heights = products(left.numerators, integer_vector(direction))
        probe = np.column_stack([generators[:, :d], np.zeros(len(generators), dtype=heights.dtype)])
        probe[:n, d] = heights
        answer = ConeQuestion(probe, (0,) * d + (1,)).answer(method)
        if not isinstance(answer, tuple):
            return _common(left, right, answer, "cone")
        walls.append(Wall(direction, answer[:d], answer[d]))
    return CommonPoint(circuit.point, circuit.left, circuit.right, "cone", tuple(walls))


def _promising(rows: RationalRows) -> list[tuple[int, ...]]:
    """Return the directions to probe, those that point to where most of the points lie first."""
    directions = probes(rows.d)
    if not len(rows):
        return directions
    middle = unit_rows(rows.numerators).mean(axis=0)
    return sorted(directions, key=lambda f: -float(middle @ f) / sum(map(abs, f)) ** 0.5)


def _common(left: RationalRows, right: RationalRows, weights: dict[int, Fraction], kind: str) -> CommonPoint:
    """Return the common point of weights on the numerators; cones get weights that sum to 1."""
    n = len(left)
    terms: tuple[list[tuple[int, Fraction]], ...] = ([], [])
    for j, x in weights.items():
        rows, i = (left, j) if j < n else (right, j - n)
        below = int(rows.denominators[i])
        terms[j >= n].append((i, x * below))
    total = sum((x for side in terms for _, x in side), Fraction(0)) if kind == "cone" else Fraction(1)
    upper, lower = (tuple((i, x / total) for i, x in side) for side in terms)
    rows, side = (left, upper) if upper else (right, lower)
    point = [Fraction(0)] * left.d
    for i, x in side:
        point = [p + x * c for p, c in zip(point, rows.row(i), strict=True)]
    return CommonPoint(tuple(point), upper, lower, kind)


def _stack(rows: RationalRows, *columns: NDArray[Any], sign: int = 1) -> NDArray[Any]:
    """Return integer generators: the numerators times a sign, with more columns to their right."""
    return np.column_stack([sign * rows.numerators, *columns])


def _unit(d: int) -> tuple[int, ...]:
    return (1,) + (0,) * (d - 1)
