"""Laws of the sweep over the plane: every cell once, with its score, on every degenerate input."""

from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import CapacityError
from geomdp.learners.relabel import _kernels, plane_sweep
from geomdp.learners.relabel.plane_sweep import PlaneCells
from geomdp.learners.relabel.space import Boundaries, SpaceCells, inner_point

small = st.integers(-2, 2)
records = st.lists(st.tuples(small, small, small), max_size=7)
wanted = st.lists(st.sampled_from((-1, 0, 1)), min_size=7, max_size=7)


def _boundaries(rows, labels):
    return Boundaries.of(rows, labels[: len(rows)], 2)


def _all_cells(cells):
    for score, count in sorted(cells.counts().items()):
        for rank in range(count):
            yield score, cells.cell(score, rank)


@pytest.mark.parametrize("compiled", [False, True])
@given(records, wanted)
@settings(max_examples=150, deadline=None)
def test_cells_are_met_once_with_their_score(compiled, rows, labels):
    """Duplicates, zero rows, parallel, vertical and concurrent lines: points of all cells, none twice."""
    boundaries = _boundaries(rows, labels)
    found = [
        (tuple(boundaries.labels(p).tolist()), s)
        for s, p in _all_cells(PlaneCells(boundaries, compiled=compiled))
    ]
    reference = SpaceCells(boundaries)
    expected = [(tuple(boundaries.labels(p).tolist()), s) for s, p in _all_cells(reference)]
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)
    for spelt, score in found:
        assert score == sum(a == b for a, b in zip(spelt, boundaries.wanted, strict=True) if b)


@pytest.mark.parametrize("compiled", [False, True])
@given(records, wanted)
@settings(max_examples=100, deadline=None)
def test_carrier_cells_have_their_best_and_worst_score(compiled, rows, labels):
    """Grouped by the labels of unlabelled rows: each group once, at a point that attains its extreme."""
    boundaries = _boundaries(rows, labels)
    free = [i for i, want in enumerate(boundaries.wanted) if not want]
    groups = {}
    for score, point in _all_cells(SpaceCells(boundaries)):
        spelt = boundaries.labels(point)
        groups.setdefault(tuple(spelt[free].tolist()), []).append(score)
    cells = PlaneCells(boundaries, compiled=compiled)
    for worst, extreme in ((False, max), (True, min)):
        counts = cells.carrier_counts(worst=worst)
        assert counts == Counter(map(extreme, groups.values()))
        met = set()
        for score, count in counts.items():
            for rank in range(count):
                spelt = boundaries.labels(cells.carrier_cell(score, rank, worst=worst))
                key = tuple(spelt[free].tolist())
                assert extreme(groups[key]) == score
                assert score == sum(a == b for a, b in zip(spelt, boundaries.wanted, strict=True) if b)
                met.add(key)
        assert met == set(groups)


@pytest.mark.parametrize("n", [1, 2, 30, 60])
def test_general_position_gives_the_known_number_of_cells(n):
    """With n lines, no two parallel and no three through a point: 1 + n + n (n - 1)/2 cells."""
    rows = [(t, 1, t**3 - 5 * t) for t in range(1, n + 1)]
    assert PlaneCells(Boundaries.of(rows, [1] * n, 2)).counts().total() == 1 + n + comb(n, 2)


def test_pencils_and_grids_of_lines():
    """Lines through one point, n of them, make 2n cells; a lines parallel to b others make (a + 1)(b + 1)."""
    pencil = [(a, b, 3 * a - b) for a, b in [(1, 0), (0, 1), (1, 1), (2, 1), (1, -3), (-1, 5)]]
    assert PlaneCells(Boundaries.of(pencil, [1] * 6, 2)).counts().total() == 12
    grid = [(1, 0, i) for i in range(4)] + [(0, 1, i) for i in range(3)] + [(1, 0, 2), (0, -2, -2)]
    assert PlaneCells(Boundaries.of(grid, [1] * 9, 2)).counts().total() == 20


@given(
    st.lists(st.integers(-(2**61), 2**61), min_size=2, max_size=2),
    st.lists(st.integers(1, 2**61), min_size=2, max_size=2),
)
@settings(max_examples=100, deadline=None)
def test_quotients_are_compared_in_128_bits(num, den):
    """The compiled comparison has the sign of the difference of the fractions."""
    a, b = Fraction(num[0], den[0]), Fraction(num[1], den[1])
    assert _kernels.compare(num[0], den[0], num[1], den[1]) == (a > b) - (a < b)
    assert _kernels.compare(num[0], den[0], num[0], den[0]) == 0
    assert _kernels.compare(num[0], den[0] + 1, num[0], den[0]) == (Fraction(num[0], den[0] + 1) > a) - (
        Fraction(num[0], den[0] + 1) < a
    )


def test_crossings_that_floats_cannot_tell_apart_are_ordered():
    """Lines whose crossings differ by less than rounding: compiled and plain sweeps see the same cells."""
    big = 2**29
    rows = [
        (big - a, big - b, big - c) for a, b, c in np.random.default_rng(3).integers(0, 3, (9, 3)).tolist()
    ]
    rows += [(big - 1, -big + 2, 5), (1, 0, 1), (big, 1, big)]
    boundaries = Boundaries.of(rows, ([1, -1, 0] * 4), 2)
    compiled, plain = PlaneCells(boundaries), PlaneCells(boundaries, compiled=False)
    assert compiled.compiled
    assert compiled.counts() == plain.counts() == SpaceCells(boundaries).counts()
    assert compiled.carrier_counts() == plain.carrier_counts()
    for score, count in plain.counts().items():
        for rank in range(count):
            assert compiled.cell(score, rank) == plain.cell(score, rank)


def test_colliding_words_are_noticed_and_drawn_again(monkeypatch):
    """If two carrier cells share a code, the count is short, and the sweep is repeated with fresh words."""
    genuine, draws = plane_sweep._words, []

    def words(count, draw):
        draws.append(draw)
        return np.ones(count, dtype=np.int64) if draw < 2 else genuine(count, draw)

    monkeypatch.setattr(plane_sweep, "_words", words)
    rows = [(1, 0, 0), (0, 1, 0), (1, 1, 1), (1, -1, 1)]
    for compiled in (True, False):
        cells = PlaneCells(Boundaries.of(rows, [0, 0, 0, 1], 2), compiled=compiled)
        assert cells.carrier_counts().total() == 7
    assert set(draws) == {0, 1, 2}


def test_numbers_that_do_not_fit_are_handled_in_python():
    """Coordinates beyond the compiled range give the same cells as their small multiples."""
    rows = [(1, 2, 3), (2, -1, 1), (0, 1, 0), (1, 0, 1)]
    far = [(a * 2**70 + 1, b * 2**70, c * 2**70 + 1) for a, b, c in rows]
    near, wide = (PlaneCells(Boundaries.of(r, [1, -1, 1, -1], 2)) for r in (rows, far))
    assert near.compiled
    assert not wide.compiled
    assert wide.counts().total() == SpaceCells(Boundaries.of(far, [1, -1, 1, -1], 2)).counts().total()


def test_an_open_cell_is_found_or_refuted():
    """inner_point returns a point with the wanted sides, or None when they contradict each other."""
    assert len(inner_point([], [], 2)) == 2
    planes = [(1, 0, 0), (0, 1, 0), (1, 1, 5)]
    x, y = inner_point(planes, [1, 1, -1], 2)
    assert x > 0 and y > 0 and x + y < 5  # noqa: PT018
    assert inner_point(planes, [-1, -1, 1], 2) is None


def test_too_many_rows_are_refused_by_a_public_number():
    """The table of carrier cells is bounded through the number of rows alone."""
    rows = [(0, 1, 7)] * 20_000
    with pytest.raises(CapacityError):
        PlaneCells(Boundaries.of(rows, [0] * len(rows), 2)).carrier_counts()


def test_progress_reaches_one():
    """Each pass reports fractions that end at 1."""
    seen = []
    rows = [(t, 1, t * t) for t in range(50)]
    PlaneCells(Boundaries.of(rows, [1] * 50, 2), progress=seen.append).counts()
    assert seen == sorted(seen)
    assert seen[-1] == 1
