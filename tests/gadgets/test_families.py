"""Axioms of the finite geometries."""

import itertools

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError, CapacityError
from lp_gadgets.tanner import TannerCode


def shared(code):
    """Return how many lines each two points share."""
    counts = code.incidence.T @ code.incidence
    return counts[~np.eye(code.K, dtype=bool)]


@pytest.mark.parametrize("q", [2, 4, 8])
def test_two_points_of_a_projective_plane_are_on_one_line(q):
    """PG(2,q): q^2 + q + 1 points and lines, q + 1 points a line, any two points on exactly one."""
    code = TannerCode.geometry(f"PG(2,{q})")
    assert (q * q + q + 1,) * 2 == (code.K, code.M)
    assert set(code.variable_degrees) == set(code.check_degrees) == {q + 1}
    assert (shared(code) == 1).all()


@pytest.mark.parametrize("q", [2, 4, 8])
def test_the_affine_plane_lacks_the_origin_and_its_lines(q):
    """EG(2,q): q^2 - 1 points and lines; two points are on one line unless the origin is on it."""
    code = TannerCode.geometry(f"EG(2,{q})")
    assert (q * q - 1,) * 2 == (code.K, code.M)
    assert set(code.variable_degrees) == set(code.check_degrees) == {q}
    counts = code.incidence.T @ code.incidence
    assert sorted(set(shared(code).tolist())) == ([0, 1] if q > 2 else [1])
    assert ((counts == 0).sum(axis=1) == q - 2).all()


@pytest.mark.parametrize("q", [2, 4])
def test_a_point_off_a_line_of_a_quadrangle_sees_one_point_of_it(q):
    """GQ(q,q): for a point and a line without it, exactly one point of the line is collinear with it."""
    code = TannerCode.geometry(f"GQ({q},{q})")
    collinear = (code.incidence.T @ code.incidence) > 0
    assert code.girth == 8
    for line, p in itertools.product(code.checks, range(code.K)):
        if p not in line:
            assert collinear[p, list(line)].sum() == 1


@pytest.mark.parametrize("name", ["GH(2,2)", "GH(2,2)*"])
def test_the_hexagon_has_girth_twelve_and_diameter_six(name):
    """63 points and 63 lines, three by three; the incidence graph has girth 12 and diameter 6."""
    code = TannerCode.geometry(name)
    H = code.incidence
    adjacency = np.block([[np.zeros((63, 63), int), H.T], [H, np.zeros((63, 63), int)]])
    reach = np.linalg.matrix_power(adjacency + np.eye(126, dtype=int), 6) > 0
    assert set(code.variable_degrees) == set(code.check_degrees) == {3}
    assert code.girth == 12
    assert reach.all()


def test_the_hexagon_and_its_dual_are_transposes():
    """The points of the dual are the lines."""
    code, dual = TannerCode.geometry("GH(2,2)"), TannerCode.geometry("GH(2,2)*")
    assert np.array_equal(code.incidence, dual.incidence.T)


#: name -> (K, lines per point, dimension of the code, stopping distance)
KNOWN = {
    "Fano": (7, 3, 3, 4),
    "EG(2,4)": (15, 4, 7, 5),
    "GQ(2,2)": (15, 3, 5, 6),
    "PG(2,4)": (21, 5, 11, 6),
    "EG(2,8)": (63, 8, 37, 9),
    "PG(2,8)": (73, 9, 45, 10),
    "GQ(4,4)": (85, 5, 35, 10),
    "GH(2,2)": (63, 3, 14, 14),
    "GH(2,2)*": (63, 3, 14, 16),
}


@pytest.mark.parametrize("name", KNOWN)
def test_parameters_of_the_geometries(name):
    """K, degree, dimension and stopping distance are the known ones; the distance is verified."""
    code = TannerCode.geometry(name)
    found = code.stopping_distance()
    assert (code.K, code.variable_degrees[0], code.K - code.rank, found.value) == KNOWN[name]
    assert found.verify(code)


@pytest.mark.parametrize("q", [2, 4, 8])
def test_planes_attain_the_pencil_bound(q):
    """The q + 1 (q) lines through a point of a stopping set hold one more point each; planes attain this."""
    assert TannerCode.geometry(f"PG(2,{q})").stopping_distance().value == q + 2
    if q > 2:
        assert TannerCode.geometry(f"EG(2,{q})").stopping_distance().value == q + 1


@pytest.mark.parametrize(
    "name",
    [
        "PG(3,2)",
        "PG(2,3)",
        "EG(2,6)",
        "GQ(2,4)",
        "GH(2,8)",
        "PG(2,2)*",
        "fanno",
        "",
        None,
        "PG(2,1)",
        "PG(2,0)",
    ],
)
def test_other_names_are_refused(name):
    """A name that is none of the families, or a q that is no power of two, is refused with the list."""
    with pytest.raises(ArgumentError, match=r"Argument 'name' must be Fano, EG\(2,q\)"):
        TannerCode.geometry(name)


@pytest.mark.parametrize("name", ["PG(2,64)", "GH(8,8)", "GQ(16,16)"])
def test_large_geometries_are_refused_with_their_size(name):
    """A geometry of more than 2000 points is not begun."""
    with pytest.raises(CapacityError, match=r"one of [0-9]+"):
        TannerCode.geometry(name)
