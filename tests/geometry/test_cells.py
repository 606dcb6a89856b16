"""Laws of exact cells: cones with integer rays, counted and bounded by independent means."""

from fractions import Fraction
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.zoo import POINTS

from geomdp import ArgumentError, CapacityError, Domain
from geomdp.core.classifier import integer_array, products
from geomdp.exact.linear import rank
from geomdp.geometry.arrangement import count_dichotomies
from geomdp.geometry.cells import Cell, cells, clip, extreme_rays, walls
from geomdp.geometry.convexity import caratheodory

PLANAR = sorted(name for name, rows in POINTS.items() if len(rows[0]) in (2, 3))
WINDOW = [(7, 5, 9), (-6, 4, 8), (-5, -7, 9), (6, -4, 7)]
small = st.integers(-4, 4)
vectors = st.lists(st.tuples(small, small, small), min_size=1, max_size=7)


def _values(points, inner):
    return products(integer_array("p", points, 2), integer_array("w", inner, 2).T)


def _dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("name", PLANAR)
def test_cells_have_different_strict_signs(name):
    """Inner vectors lie on no plane; a sign pattern occurs once, or 2^(d - rank) times where rank < d."""
    points = np.array([row for row in POINTS[name] if any(row)], dtype=object).reshape(
        -1, len(POINTS[name][0])
    )
    found = cells(POINTS[name])
    inner = [cell.inside for cell in found]
    values = _values(points, inner) if len(points) else np.zeros((0, len(inner)))
    assert not (values == 0).any()
    _, repeats = np.unique(np.asarray(values > 0), axis=1, return_counts=True)
    missing = points.shape[1] - (rank(points) if len(points) else 0)
    assert (repeats == 2**missing).all()


@pytest.mark.parametrize("name", PLANAR)
def test_cells_of_pointed_domains_are_the_dichotomies(name):
    """On a pointed domain of full rank there is one cell for each counted dichotomy."""
    domain = Domain(POINTS[name])
    if domain.pointed and rank(domain.points) == domain.d:
        assert len(cells(domain.points)) == count_dichotomies(domain)


@pytest.mark.parametrize("name", PLANAR)
def test_rays_are_corners_of_their_cell(name):
    """Every ray is weakly on the cell's side of every plane, and on two planes of its own (d = 3)."""
    rows = [row for row in POINTS[name] if any(row)]
    d = len(POINTS[name][0])
    if len(rows) == 0 or rank(rows) < d:
        return
    for cell in cells(rows)[:200]:
        inner = _values(rows, [cell.inside])[:, 0]
        for ray in cell.rays:
            at_ray = _values(rows, [ray])[:, 0]
            assert all(int(a) * int(b) >= 0 for a, b in zip(inner, at_ray, strict=True))
            touched = [row for row, value in zip(rows, at_ray, strict=True) if value == 0]
            assert rank(touched) == d - 1


def _by_euler(points, window):
    """Count cells in a window: 1 + planes that cross it + sum over inner crossings of (planes there - 1)."""
    inward = walls(window)
    planes = {tuple(v // gcd(*p) for v in p) for p in points if any(p)}
    planes = {min(p, tuple(-v for v in p)) for p in planes}
    crossing = [p for p in planes if len({(_dot(p, r) > 0) - (_dot(p, r) < 0) for r in window} - {0}) == 2]
    corners = {}
    for p, q in combinations(crossing, 2):
        v = tuple(int(c) for c in np.cross(p, q))
        for w in (v, tuple(-c for c in v)):
            if all(_dot(wall, w) > 0 for wall in inward):
                place = (Fraction(w[0], w[2]), Fraction(w[1], w[2]))
                corners.setdefault(place, set()).update((p, q))
    return 1 + len(crossing) + sum(len(through) - 1 for through in corners.values())


@given(vectors)
@settings(max_examples=60, deadline=None)
def test_cells_in_a_window_obey_eulers_formula(points):
    """The number of cells in a window is what counting crossings in fractions gives."""
    assert len(cells(points, WINDOW)) == _by_euler(points, WINDOW)


@given(st.tuples(small, small, small), st.tuples(*[st.integers(0, 5)] * 4))
@settings(max_examples=80, deadline=None)
def test_clip_keeps_the_right_side(normal, mix):
    """A combination of the rays with <normal, w> >= 0 is in the clipped cone, whose rays have that sign."""
    kept = clip(WINDOW, normal)
    assert all(_dot(normal, ray) >= 0 for ray in kept)
    w = [sum(m * ray[i] for m, ray in zip(mix, WINDOW, strict=True)) for i in range(3)]
    if _dot(normal, w) >= 0 and any(w):
        answer = caratheodory(kept or np.zeros((0, 3), dtype=np.int64), w, kind="cone")
        assert type(answer).__name__ == "Combination"


@given(vectors)
@settings(max_examples=60, deadline=None)
def test_extreme_rays_span_and_none_is_idle(points):
    """All vectors are combinations of the extreme rays, and no ray is a combination of the others."""
    rays = extreme_rays(points)
    if rays is None:  # some non-trivial combination of the vectors is 0
        nonzero = [p for p in points if any(p)]
        assert any(
            type(caratheodory(nonzero, [-v for v in p], kind="cone")).__name__ == "Combination"
            for p in nonzero
        )
        return
    for p in points:
        if any(p):
            assert type(caratheodory(rays, p, kind="cone")).__name__ == "Combination"
    for i, ray in enumerate(rays):
        others = rays[:i] + rays[i + 1 :]
        if others:
            assert type(caratheodory(others, ray, kind="cone")).__name__ == "Separation"


def test_progress_ends_at_one():
    """Progress only grows, and ends at 1."""
    seen = []
    cells(Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)]).points, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1)


def test_bad_requests_are_refused():
    """A dimension other than 2 or 3, a window that is no pointed cone, and too many cells are refused."""
    with pytest.raises(ArgumentError, match="'points' must be an array of 2 or 3 columns"):
        cells([[1, 2, 3, 4]])
    for window in ([(1, 0, 0), (0, 1, 0)], [(1, 0, 0), (0, 1, 0), (-1, 0, 0)], [(1, 0), (0, 1)]):
        with pytest.raises(ArgumentError, match="'window'"):
            cells([[1, 2, 3]], window)
    with pytest.raises(CapacityError, match="at most 5 cells"):
        cells([[1, 0], [0, 1], [1, 1]], limit=5)
    assert Cell(((1, 0), (0, 1))).inside == (1, 1)
