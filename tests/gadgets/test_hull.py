from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog
from support.elimination import elimination
from support.strategies import degenerate_point_sets

from geomdp.core.errors import ArgumentError, CertificateError
from geomdp.exact.linear import rank
from lp_gadgets.embedding import Embedding
from lp_gadgets.hull import METHODS, Hull, facets
from lp_gadgets.polytopes.double_description import extreme_rays, independent_rows
from lp_gadgets.polytopes.ridge_walk import as_bits, close, first_facet, members, stabiliser, symmetry
from lp_gadgets.relation import Relation

WAYS = METHODS[1:]
RELATIONS = {
    "trace 4": Relation.trace(Embedding(4)),
    "trace 8": Relation.trace(Embedding(8)),
    "trace 4 cube": Relation.trace(Embedding(4, "cube")),
    "check 2, 5": Relation.check(5, Embedding(2)),
    "check 4, 3": Relation.check(3, Embedding(4)),
    "parity": Relation.parity(),
}


def facets_by_subsets(points):
    """The tight sets of all facets: every hyperplane through h affinely independent points is tried."""
    table = sorted(set(map(tuple, np.asarray(points).tolist())))
    rows = [(*p, 1) for p in table]
    reduced, leads = elimination(rows)
    h = len(reduced) - 1
    kept = [[r[c] for c in leads] for r in rows]  # coordinates on the affine hull; the first is free of scale
    found = set()
    for subset in itertools.combinations(range(len(rows)), h) if h else ():
        basis, pivots = elimination([kept[i] for i in subset])
        if len(basis) < h:
            continue
        free = next(c for c in range(h + 1) if c not in pivots)
        f = [Fraction(int(c == free)) for c in range(h + 1)]
        for r, lead in zip(basis, pivots, strict=True):
            f[lead] = -r[free]
        values = [sum(a * b for a, b in zip(f, r, strict=True)) for r in kept]
        if min(values) >= 0 or max(values) <= 0:
            found.add(frozenset(table[i] for i, v in enumerate(values) if v == 0))
    return h, found


def tight_sets(hull: Hull):
    """The facets of a hull as sets of points."""
    return {frozenset(map(tuple, hull.points[row].tolist())) for row in hull.tight}


@settings(max_examples=120, deadline=None)
@given(degenerate_point_sets())
def test_facets_agree_with_all_subsets(points):
    """On any small point set, however degenerate, every method finds the facets that all subsets give."""
    h, expected = facets_by_subsets(points)
    for way in WAYS:
        hull = facets(points, method=way)
        assert (hull.dimension, tight_sets(hull)) == (h, expected)
        hull.verify()


@settings(max_examples=60, deadline=None)
@given(degenerate_point_sets())
def test_description_is_exact(points):
    """Rows are primitive, equations hold and number n - h, and the vertices alone have the same hull."""
    hull = facets(points)
    n = hull.points.shape[1]
    assert len(hull.E) == n - hull.dimension == rank(np.vstack([hull.E, np.zeros((1, n), dtype=int)]))
    for row, bound in [*zip(hull.A, hull.b, strict=True), *zip(hull.E, hull.e, strict=True)]:
        assert np.gcd.reduce([*row.tolist(), int(bound)]) == 1
    again = facets(hull.points[hull.vertices])
    assert np.array_equal(again.functions, hull.functions)
    assert len(again.vertices) == len(again.points)


@pytest.mark.parametrize("name", RELATIONS)
def test_methods_agree(name):
    """Qhull's guidance, the double description and the walk give the same integer rows in the same order."""
    relation = RELATIONS[name]
    hulls = [facets(relation.embed(relation.tuples), method=way) for way in WAYS] + [relation.hull()]
    for hull in hulls[1:]:
        assert np.array_equal(hull.functions, hulls[0].functions)
        assert np.array_equal(hull.E, hulls[0].E)
        assert hull.completeness.ridges == hulls[0].completeness.ridges
    assert all(hull.completeness.added == 0 for hull in hulls)
    hulls[-1].verify()


@pytest.mark.parametrize(("q", "count"), [(2, 4), (4, 25), (8, 88), (16, 237), (32, 1284)])
def test_trace_counts(q, count):
    """The trace polytope over F_q has as many facets as independent tools report."""
    hull = Relation.trace(Embedding(q)).hull()
    assert (len(hull.A), len(hull.E)) == (count, 2 if q == 2 else 0)
    assert hull.completeness.facets == count


@pytest.mark.parametrize(
    ("q", "degree", "count"),
    [
        (2, 3, 4),
        (2, 4, 16),
        (2, 5, 26),
        (2, 6, 44),
        (2, 8, 144),
        (4, 3, 26),
        (4, 4, 168),
        (4, 5, 628),
        (8, 3, 1044),
    ],
)
def test_check_counts(q, degree, count):
    """The check polytope over F_q has as many facets as independent tools report."""
    hull = Relation.check(degree, Embedding(q)).hull()
    assert len(hull.A) == count
    assert len(hull.E) == (degree if q == 2 else 0)
    assert len(hull.vertices) == q ** (degree - 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("q", "degree", "count"), [(4, 6, 2872), (8, 4, 40212), (16, 3, 26606)])
def test_large_check_counts(q, degree, count):
    """The walk over orbits proves the large check polytopes complete, beyond the reach of general tools."""
    hull = Relation.check(degree, Embedding(q)).hull()
    assert len(hull.A) == hull.completeness.facets == count


@pytest.mark.parametrize(("q", "degree", "large"), [(4, 4, 24), (2, 5, 6), (8, 3, 8)])
def test_walks_inside_facets(q, degree, large, monkeypatch):
    """A walk inside every facet, shortened by the symmetries that keep it, finds the same ridges."""
    relation = Relation.check(degree, Embedding(q))
    plain = relation.hull("walk")
    monkeypatch.setattr("lp_gadgets.polytopes.ridge_walk.LARGE", large)
    nested = relation.hull("walk")
    assert nested.completeness == plain.completeness
    assert np.array_equal(nested.functions, plain.functions)


def test_stabiliser_keeps_the_set():
    """Each permutation in the stabiliser of a facet maps the facet's points to one another, affinely."""
    relation = Relation.check(4, Embedding(4))
    points = np.column_stack([relation.embed(relation.tuples), np.ones(64, dtype=np.int64)])
    place = {tuple(row): i for i, row in enumerate(points[:, :-1].tolist())}
    images = [move(points[:, :-1]).tolist() for move in relation.symmetries()]
    moves = [symmetry(points, [place[tuple(row)] for row in image]) for image in images]
    tight, _ = first_facet(points)
    inside = points[members(tight, 64)]
    orders = stabiliser(tight, moves)
    assert len(orders) > 2
    for order in orders:
        assert sorted(order.tolist()) == list(range(len(inside)))
        assert rank(np.column_stack([inside, inside[order]])) == rank(inside) == 8


@pytest.mark.parametrize("name", ["trace 8", "check 4, 3", "trace 4 cube"])
def test_ridges_are_counted_right(name):
    """Two facets share a ridge iff their common points have rank h - 1: as many pairs as ridges recorded."""
    hull = RELATIONS[name].hull()
    ends = np.column_stack([hull.points, np.ones(len(hull.points), dtype=np.int64)])
    pairs = sum(
        len(independent_rows(ends[a & b])) == hull.dimension - 1
        for a, b in itertools.combinations(hull.tight, 2)
        if (a & b).sum() >= hull.dimension - 1
    )
    assert pairs == hull.completeness.ridges


@pytest.mark.parametrize("name", ["trace 4", "check 4, 3"])
def test_any_facet_leads_to_all(name):
    """From each single facet the walk finds all others, and says how many it added."""
    hull = RELATIONS[name].hull()
    points = np.column_stack([hull.points, np.ones(len(hull.points), dtype=np.int64)])
    everything = {as_bits(row) for row in hull.tight}
    for row, function in zip(hull.tight, hull.functions.tolist(), strict=True):
        closure = close(points, [(as_bits(row), tuple(function))])
        assert (set(closure.facets), closure.added) == (everything, len(everything) - 1)


def test_description_alone_agrees_with_the_walk():
    """The double description alone finds what the walk over orbits finds, at q = 4 and degree 5."""
    hull = Relation.check(5, Embedding(4)).hull("walk")
    points = np.column_stack([hull.points, np.ones(len(hull.points), dtype=np.int64)])
    rays, _ = extreme_rays(points)
    assert np.array_equal(np.unique(rays, axis=0), np.unique(hull.functions, axis=0))
    assert hull.completeness.orbits < 20


@pytest.mark.parametrize("name", ["trace 8", "check 4, 3"])
def test_support_agrees_with_a_linear_program(name):
    """The greatest value of a linear function over the rows is its greatest value over the points."""
    hull = RELATIONS[name].hull()
    rng = np.random.default_rng(0)
    for c in rng.integers(-9, 10, (10, hull.points.shape[1])):
        solution = linprog(-c, A_ub=hull.A, b_ub=hull.b, bounds=(None, None))
        assert round(-solution.fun, 6) == (hull.points @ c).max()


def test_wide_and_shifted_points():
    """Coordinates far beyond 64 bits, and far from the origin, change nothing but the numbers."""
    cube = np.array(list(itertools.product((0, 1), repeat=3)), dtype=object)
    wide = facets(cube * 10**30 + 10**40)
    assert sorted(zip(wide.A.tolist(), wide.b.tolist(), strict=True)) == sorted(
        (row, bound)
        for i in range(3)
        for row, bound in (
            ([int(k == i) for k in range(3)], 10**40 + 10**30),
            ([-int(k == i) for k in range(3)], -(10**40)),
        )
    )
    wide.verify()
    slanted = facets(
        [[0, 0], [10**30, 1], [1, 10**30], [3 * 10**29, 3 * 10**29]], method="double description"
    )
    assert len(slanted.A) == 3


def test_one_point_and_a_segment():
    """A single point has equations only; a segment has two ends."""
    point = facets([[3, 5], [3, 5]])
    assert (point.dimension, len(point.A), len(point.E), point.vertices.tolist()) == (0, 0, 2, [0])
    point.verify()
    segment = facets([[0, 0, 7], [2, 4, 7], [1, 2, 7]])
    assert (segment.dimension, len(segment.A), len(segment.E)) == (1, 2, 2)
    segment.verify()
    assert facets([[5]]).dimension == 0


def test_tampered_hulls_fail_to_verify():
    """A missing, doubled, loose, cutting or scaled facet, and a wrong equation, are each found out."""
    hull = Relation.check(4, Embedding(2)).hull()

    def drop(i):
        return replace(hull, A=np.delete(hull.A, i, axis=0), b=np.delete(hull.b, i))

    with pytest.raises(CertificateError, match="missing"):
        replace(drop(0), symmetries=()).verify()
    with pytest.raises(CertificateError, match="twice"):
        replace(hull, A=np.vstack([hull.A, hull.A[:1]]), b=np.append(hull.b, hull.b[0])).verify()
    with pytest.raises(CertificateError, match="too few"):
        replace(hull, b=hull.b + 1).verify()
    with pytest.raises(CertificateError, match="cuts off"):
        replace(hull, b=hull.b - 1).verify()
    with pytest.raises(CertificateError, match="primitive"):
        replace(hull, A=2 * hull.A, b=2 * hull.b).verify()
    with pytest.raises(CertificateError, match="equation fails"):
        replace(hull, e=hull.e + 1).verify()
    with pytest.raises(CertificateError, match="number of equations"):
        replace(hull, E=hull.E[:1], e=hull.e[:1]).verify()
    with pytest.raises(CertificateError, match="No facet"):
        replace(hull, A=hull.A[:0], b=hull.b[:0]).verify()


def test_symmetries_only_save_work():
    """Any subset of the symmetries gives the same facets and ridges."""
    relation = Relation.check(3, Embedding(4))
    points, moves = relation.embed(relation.tuples), relation.symmetries()
    hulls = [facets(points, moves[:k]) for k in range(len(moves) + 1)]
    assert [hull.completeness.orbits for hull in hulls] == sorted(
        (hull.completeness.orbits for hull in hulls), reverse=True
    )
    for hull in hulls:
        assert np.array_equal(hull.functions, hulls[0].functions)
        assert hull.completeness.ridges == hulls[0].completeness.ridges


def test_false_symmetries_are_refused():
    """A map that leaves the points, or permutes them by no affine map, is refused."""
    points = np.array([[0, 0], [1, 0], [0, 1], [2, 3]])
    with pytest.raises(ArgumentError, match="'symmetries'"):
        facets(points, [lambda x: x + 1])
    with pytest.raises(ArgumentError, match="'symmetries'"):
        facets(points, [lambda x: x[:, ::-1]])
    ends = np.column_stack([points, np.ones(4, dtype=np.int64)])
    with pytest.raises(ArgumentError, match="affine map"):
        symmetry(ends, [1, 0, 2, 3])
    with pytest.raises(ArgumentError, match="permutations"):
        symmetry(ends, [0, 0, 2, 3])


@pytest.mark.parametrize("points", [[], [[]], [[0.5, 1]], [[1, 2], [3]], "points", [1, 2]])
def test_bad_points(points):
    """Points are a 2-D array of at least one row of integers."""
    with pytest.raises(ArgumentError, match="'points'"):
        facets(points)


def test_bad_method():
    """An unknown method is refused with the list of methods."""
    with pytest.raises(ArgumentError, match="'walk'"):
        facets([[0], [1]], method="magic")


def test_progress_ends_at_one():
    """Progress rises to 1."""
    seen: list[float] = []
    facets(Relation.trace(Embedding(8)).embed(Relation.trace(Embedding(8)).tuples), progress=seen.append)
    assert seen[-1] == 1
    assert all(0 <= value <= 1 for value in seen)


def test_first_facet_is_a_facet():
    """Turning one hyperplane ends at a valid one of full rank."""
    relation = Relation.check(4, Embedding(4))
    points = np.column_stack([relation.embed(relation.tuples), np.ones(64, dtype=np.int64)])
    tight, function = first_facet(points)
    values = points @ np.array(function)
    assert values.min() == 0
    assert as_bits(values == 0) == tight
    assert rank(points[values == 0]) == 8
