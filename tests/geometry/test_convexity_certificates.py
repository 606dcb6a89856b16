"""A certificate that was altered, or is shown to other points, is refused at the step that fails."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from geomdp.core.errors import CertificateError
from geomdp.geometry.convexity import (
    Combination,
    CommonPoint,
    Hyperplane,
    Separation,
    caratheodory,
    separate,
)

HALF = Fraction(1, 2)
SQUARE = [[0, 0], [4, 0], [0, 4], [4, 4]]
CROSS = [[2, -1], [2, 5], [9, 9]]


def refused(certificate, *points):
    """The message with which a replay refuses."""
    with pytest.raises(CertificateError) as caught:
        certificate.verify(*points)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": (0, 1)}, "not one a weight"),
        ({"indices": (1, 1, 2)}, "not different"),
        ({"indices": (0, 1, 4)}, "not in 0..3"),
        ({"indices": (-4, 1, 2)}, "not in 0..3"),
        ({"weights": (HALF, HALF, Fraction(0))}, "not positive"),
        ({"weights": (Fraction(3, 2), HALF, -Fraction(1))}, "not positive"),
        ({"weights": (HALF, HALF, HALF)}, "sum to 3/2"),
        ({"weights": (HALF, Fraction(1, 4), Fraction(1, 4))}, "do not sum to v"),
        ({"indices": (0, 1, 2, 3), "weights": (Fraction(1, 4),) * 4}, "uses 4 points, more than 3"),
        ({"kind": "cone"}, "uses 3 points, more than 2"),
        ({"kind": "convex"}, "neither 'affine' nor 'cone'"),
    ],
)
def test_altered_combinations(change, message):
    """Every condition on a combination is checked."""
    good = Combination((0, 1, 2), (Fraction(1, 4), HALF, Fraction(1, 4)))
    assert good.verify(SQUARE, [2, 1])
    assert message in refused(replace(good, **change), SQUARE, [2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offset": 3}, "Point 1 of points is above the offset"),
        ({"offset": 5}, "not above the offset at v"),
        ({"functional": (0, 0), "offset": 0}, "not above the offset at v"),
        ({"functional": (1, 0, 0)}, "has 3 entries"),
        ({"kind": "cone"}, "is 4, not 0"),
    ],
)
def test_altered_separations(change, message):
    """Every condition on a functional is checked, strictness at v included."""
    good = Separation((1, 0), 4)
    assert good.verify(SQUARE, [5, 2])
    assert message in refused(replace(good, **change), SQUARE, [5, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offset": 4}, "Point 2 of A is not above"),
        ({"offset": 2}, "Point 1 of B is not below"),
        ({"functional": (-1, 0)}, "of A is not above"),
        ({"functional": (0, 0), "offset": 0}, "Point 0 of A is not above"),
        ({"kind": "cone"}, "is 3, not 0"),
    ],
)
def test_altered_hyperplanes(change, message):
    """A point on the hyperplane, or beyond it, is refused by number."""
    A, B = [[5, 0], [6, 1], [4, 7]], [[0, 3], [2, 3]]
    good = Hyperplane((1, 0), 3)
    assert good.verify(A, B)
    assert message in refused(replace(good, **change), A, B)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": ((0, HALF), (3, HALF)), "right": ((0, HALF), (1, HALF))}, "accepted"),
        ({"point": (Fraction(2), Fraction(3))}, "points of A do not sum"),
        ({"right": ((2, Fraction(1)),)}, "points of B do not sum"),
        ({"left": ((0, HALF),)}, "points of A do not sum"),
        ({"point": (Fraction(2),)}, "has 1 entries"),
        (
            {"left": tuple((i, Fraction(1, 4)) for i in range(4)), "right": ((0, HALF), (1, HALF))},
            "uses 6 points",
        ),
        ({"kind": "cone"}, "uses 4 points in total, more than 3"),
    ],
)
def test_altered_common_points(change, message):
    """Both sides must give the point, with few enough points and weights that sum to 1."""
    good = CommonPoint((Fraction(2), Fraction(2)), ((0, HALF), (3, HALF)), ((0, HALF), (1, HALF)))
    assert good.verify(SQUARE, CROSS)
    if message == "accepted":
        assert replace(good, **change) == good
    else:
        assert message in refused(replace(good, **change), SQUARE, CROSS)


def test_altered_weights_of_an_affine_common_point():
    """The origin written with weights of another sum is refused."""
    A, B = [[0, 0], [1, 0]], [[0, 0], [0, 1]]
    good = CommonPoint((Fraction(0),) * 2, ((0, Fraction(1)),), ((0, Fraction(1)),))
    assert good.verify(A, B)
    assert "of a side do not sum to 1" in refused(replace(good, left=((0, HALF),)), A, B)
    assert "of a side do not sum to 1" in refused(replace(good, left=()), A, B)
    assert "together do not sum to 1" in refused(
        replace(separate([[1]], [[1]], kind="affine"), kind="cone"), [[1]], [[1]]
    )


def test_a_pure_circuit_needs_its_walls():
    """0 alone in common is a claim with a proof: no wall may be missing, turned or shifted."""
    A, B = [[1, 0], [-1, 0]], [[0, 1], [1, 1], [-1, 1]]
    pure = separate(A, B, kind="cone")
    assert isinstance(pure, CommonPoint)
    assert pure.pure
    assert pure.verify(A, B)
    assert "directions are not" in refused(replace(pure, walls=pure.walls[:2]), A, B)
    assert "directions are not" in refused(replace(pure, walls=(pure.walls[0],) * 3), A, B)
    for i, wall in enumerate(pure.walls):
        for change, message in (
            ({"functional": (0, 0)}, "of A is above the wall"),
            ({"functional": (0, -100)}, "the wall"),
            ({"functional": (0,)}, "has 1 entries"),
            ({"scale": 0}, "scale of a wall"),
        ):
            walls = list(pure.walls)
            walls[i] = replace(wall, **change)
            if change == {"functional": (0, 0)} and wall.direction == (0, 1):
                continue  # the second coordinate of A is 0: no functional is needed there
            assert message in refused(replace(pure, walls=tuple(walls)), A, B)
    assert "the wall" in refused(pure, A, [*B, [1, 0]])  # now (1, 0) is common to both cones


def test_a_mixed_circuit_at_zero_is_refused():
    """Two circuits glued together are no common point: the point would be 0."""
    A, B = [[1, 0], [-1, 0]], [[0, 1], [0, -1]]
    glued = CommonPoint(
        (Fraction(0),) * 2,
        ((0, Fraction(1, 4)), (1, Fraction(1, 4))),
        ((0, HALF),),
        "cone",
    )
    assert "points of B do not sum" in refused(glued, A, B)
    zero = CommonPoint((Fraction(0),) * 2, ((0, HALF),), ((0, HALF),), "cone")
    assert "0 with both sides used" in refused(zero, [[0, 0]], [[0, 0]])


def test_certificates_hold_for_their_own_points_only():
    """A certificate shown to other points is refused."""
    A, B = [[5, 5], [6, 9]], [[1, 1], [0, 3]]
    plane = separate(A, B)
    assert plane.verify(A, B)
    refused(plane, B, A)
    inside = caratheodory(SQUARE, [1, 3])
    assert inside.verify(SQUARE, [1, 3])
    refused(inside, SQUARE, [1, 2])


def test_reprs():
    """A certificate shows all that it says."""
    assert repr(caratheodory([[0], [2]], [3])) == "Separation(functional=(1,), offset=2, kind='affine')"
    assert repr(caratheodory([[0], [2]], [2])) == (
        "Combination(indices=(1,), weights=(Fraction(1, 1),), kind='affine')"
    )
