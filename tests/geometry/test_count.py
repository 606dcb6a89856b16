"""Laws of the exact counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from support.strategies import degenerate_points
from support.zoo import POINTS, labellings

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.geometry.count import count_chambers, count_dichotomies, more_than
from geomdp.geometry.cyclic import totally_cyclic
from geomdp.geometry.flats import column_basis, compact_minors, distinct_lines


def grid(*levels: int) -> Domain:
    """Return a grid with bias."""
    return Domain.grid([(f"f{i}", 0, 1, k) for i, k in enumerate(levels)])


@pytest.mark.parametrize("name", POINTS)
def test_count_equals_the_oracle_on_the_zoo(name: str) -> None:
    """The count equals the number of labellings found through rational cocircuits."""
    expected = len(labellings(POINTS[name]))
    assert count_dichotomies(Domain(POINTS[name])) == expected


@settings(max_examples=60, deadline=None, derandomize=True)
@given(degenerate_points())
def test_count_equals_the_oracle(points: np.ndarray) -> None:
    """On any small set, degenerate or not, the count is that of all labellings."""
    assert count_dichotomies(Domain(points)) == len(labellings(points.tolist()))


def test_square_grids_count_pairs_that_see_each_other() -> None:
    """An n x n grid has 2 (1 + P) labellings, P its pairs of points with no grid point between them.

    A line through k points adds k - 1 to the cells of the dual plane, and holds k - 1 such pairs.
    """
    for n in range(2, 11):
        steps = ((i, j) for i in range(n) for j in range(n) if math.gcd(i, j) == 1)
        pairs = sum((n - i) * (n - j) * (2 if i and j else 1) for i, j in steps)
        assert count_dichotomies(grid(n, n)) == 2 * (1 + pairs)


def test_boolean_cubes_count_threshold_functions() -> None:
    """{0,1}^k with bias has as many labellings as there are threshold functions of k variables."""
    assert [count_dichotomies(grid(*[2] * k)) for k in range(1, 5)] == [4, 14, 104, 1882]


def test_simple_arrangements_reach_the_bound_of_cover() -> None:
    """Points of the moment curve are in general position: 2 * sum_{i<d} C(m-1, i) labellings."""
    for d, m in ((2, 9), (3, 9), (4, 9), (5, 8), (6, 8)):
        curve = [[t**k for k in range(d)] for t in range(1, m + 1)]
        assert count_dichotomies(Domain(curve)) == 2 * sum(math.comb(m - 1, i) for i in range(d))


def test_one_totally_cyclic_set_adds_the_zero_vector() -> None:
    """A spanning totally cyclic set in general position has one labelling more than chambers: w = 0."""
    points = np.array([[1, 0], [0, 1], [-1, -2]])
    chambers = count_chambers(distinct_lines(points).rows)
    assert count_dichotomies(Domain(points)) == chambers + 1


def test_counts_do_not_depend_on_the_number_type() -> None:
    """Coordinates too long for int64 minors give the same count as the same set in short ones."""
    rng = np.random.default_rng(3)
    for d, m in ((3, 14), (4, 10), (5, 8)):
        points = rng.integers(-2, 3, (m, d))
        shear = np.eye(d, dtype=object)
        shear[0, 1:] = [10**12 + 7 * k for k in range(1, d)]
        wide = points.astype(object) @ shear
        assert not compact_minors(distinct_lines(np.array(wide.tolist(), dtype=np.int64)).rows)[0]
        assert count_dichotomies(Domain(wide)) == count_dichotomies(Domain(points))


def test_slopes_beyond_floats_are_compared_in_integers() -> None:
    """Minors between 2^25 and 2^51 are told apart exactly."""
    rows = np.array([[2**20 + i, 2**20 + 2 * i + 1, 1 + i % 2] for i in range(12)])
    assert compact_minors(rows) == (True, False)
    assert count_dichotomies(Domain(rows)) == len(labellings(rows.tolist()))


def test_lines_are_counted_without_being_written_out() -> None:
    """An ordered domain of m ranks has 2m labellings by halfspaces, at any m."""
    assert count_dichotomies(Domain.line(2**64)) == 2**65
    assert count_dichotomies(grid(7)) == 14


def test_progress_rises_to_one() -> None:
    """The fraction done is increasing and ends at 1."""
    for domain in (grid(12, 12), grid(3, 3, 3)):
        seen: list[float] = []
        count_dichotomies(domain, progress=seen.append)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def test_a_part_never_has_more() -> None:
    """more_than compares with the chambers of a part: True is proof, False says nothing."""
    lines = distinct_lines(grid(4, 4).points)
    assert more_than(lines, 173)
    assert not more_than(lines, 174)


def test_bad_and_hopeless_requests() -> None:
    """Anything but a domain, and domains whose very count would take too long, are refused."""
    with pytest.raises(ArgumentError, match="'domain' must be a Domain, not a list"):
        count_dichotomies([[1, 2]])  # type: ignore[arg-type]
    with pytest.raises(CapacityError, match="small enough to be counted"):
        count_dichotomies(grid(12, 12, 12, 12))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(degenerate_points(max_m=6))
def test_column_basis(points: np.ndarray) -> None:
    """The columns chosen are as many as the rank, and independent."""
    columns = list(column_basis(points))
    assert len(columns) == np.linalg.matrix_rank(points)
    assert len(columns) == (np.linalg.matrix_rank(points[:, columns]) if columns else 0)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_total_cyclicity_by_program_and_by_flats(d: int) -> None:
    """Above and below the size from which a program helps, total cyclicity is decided alike."""
    rng = np.random.default_rng(d)
    for m, bend in ((40, 0), (40, 30), (12, 0), (12, 30)):
        points = rng.integers(-9, 10, (m, d))
        points[:, 0] = np.abs(points[:, 0]) * (bend > 0) + points[:, 0] * (bend == 0)
        lines = distinct_lines(points)
        forward = np.array([bool(plus) for plus, _ in lines.members])
        backward = np.array([bool(minus) for _, minus in lines.members])
        assert totally_cyclic(lines.rows, forward, backward) == _only_zero_is_nonnegative(points)


def _only_zero_is_nonnegative(points: np.ndarray) -> bool:
    """Return whether <w, x> >= 0 on all points forces <w, x> = 0 on all of them."""
    from scipy.optimize import linprog

    box = [(-1, 1)] * points.shape[1]
    best = linprog(-points.sum(axis=0), A_ub=-points, b_ub=np.zeros(len(points)), bounds=box, method="highs")
    return bool(-best.fun < 1e-7)
