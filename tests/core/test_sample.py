"""Laws of samples and classifiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geomdp as g

POINTS = [[0, 1], [1, 1], [-1, -1], [0, 0]]
records = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1, 1])), max_size=12)


def _sample(rows):
    D = g.Domain(POINTS)
    return g.Sample.from_points(D, [POINTS[c] for c, _ in rows], [y for _, y in rows])


@given(records, records)
def test_pooling_adds_counts(left, right):
    """S + T holds the records of both."""
    S, T = _sample(left), _sample(right)
    pooled = S + T
    assert pooled.n == len(left) + len(right)
    assert np.array_equal(pooled.positive, S.positive + T.positive)
    assert np.array_equal(pooled.negative, S.negative + T.negative)


@given(records, st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
def test_mistakes_are_counted_record_by_record(rows, weights):
    """mistakes(S) is the number of records whose label differs from +1 iff <w, x> >= 0."""
    expected = sum((1 if np.dot(weights, POINTS[c]) >= 0 else -1) != y for c, y in rows)
    assert g.Halfspace(weights).mistakes(_sample(rows)) == expected


@given(records, st.integers(0, 4))
def test_threshold_mistakes_are_counted_record_by_record(rows, theta):
    """A threshold labels rank >= theta with +1."""
    S = g.Sample.from_cells(g.Domain.line(4), [c for c, _ in rows], [y for _, y in rows])
    expected = sum((1 if c >= theta else -1) != y for c, y in rows)
    assert g.Threshold(theta).mistakes(S) == expected


def test_counts_and_records_give_the_same_sample():
    """from_counts, from_cells and from_points agree."""
    D = g.Domain(POINTS)
    by_counts = g.Sample.from_counts(D, [1, 0, 2, 0], [0, 3, 0, 0])
    by_cells = g.Sample.from_cells(D, [0, 2, 2, 1, 1, 1], [1, 1, 1, -1, -1, -1])
    assert np.array_equal(by_counts.net, by_cells.net)
    assert by_counts.n == by_cells.n == 6


def test_ranks_beyond_int64_are_exact():
    """Samples on very long lines keep Python integers."""
    D = g.Domain.line(2**200)
    S = g.Sample.from_cells(D, [2**199, 2**199 + 1], [-1, 1])
    assert g.Threshold(2**199 + 1).mistakes(S) == 0
    assert g.Threshold(2**199).mistakes(S) == 1


def test_empty_samples_exist():
    """A sample may be empty."""
    S = g.Sample.from_points(g.Domain(POINTS), [], [])
    assert S.n == 0
    assert (S + S).n == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda D: g.Sample.from_counts(D, [1, 2], [0, 0]),
        lambda D: g.Sample.from_counts(D, [-1, 0, 0, 0], [0, 0, 0, 0]),
        lambda D: g.Sample.from_cells(D, [4], [1]),
        lambda D: g.Sample.from_cells(D, [-1], [1]),
        lambda D: g.Sample.from_cells(D, [0], [0]),
        lambda D: g.Sample.from_cells(D, [0, 1], [1]),
        lambda D: g.Sample.from_points(D, [[7, 7]], [1]),
        lambda D: g.Sample.from_points(D, [[1]], [1]),
    ],
)
def test_bad_records_are_refused(call):
    """Wrong lengths, labels, counts and rows outside the domain raise an ArgumentError."""
    with pytest.raises(g.ArgumentError, match="must be"):
        call(g.Domain(POINTS))


def test_pooling_needs_one_domain():
    """Samples on different domains cannot be pooled."""
    S = g.Sample.from_cells(g.Domain.line(3), [0], [1])
    T = g.Sample.from_cells(g.Domain.line(4), [0], [1])
    with pytest.raises(g.ArgumentError, match="same domain"):
        _ = S + T


def test_wide_weights_decide_exactly():
    """A weight vector far beyond 64 bits still gives the exact sign."""
    h = g.Halfspace((10**40, -(10**40) - 1))
    assert h.predict(np.array([[1, 1], [2, 1]])).tolist() == [-1, 1]


def test_counts_that_would_wrap_around_are_refused():
    """A total beyond 2^53 is refused whatever the single counts are."""
    D = g.Domain.line(64)
    with pytest.raises(g.CapacityError, match="at most"):
        g.Sample.from_counts(D, [2**62] * 64, [0] * 64)


def test_grid_points_are_read_only():
    """The points of any domain cannot be changed in place."""
    for D in (g.Domain(POINTS), g.Domain.grid([("x", 0, 1, 3)])):
        with pytest.raises(ValueError, match="read-only"):
            D.points[0, 0] = 9


def test_long_ranks_stay_exact_in_points_at():
    """A list of ranks beyond float64 gives exact points."""
    assert g.Domain.line(2**64).points_at([2**63 + 1]).tolist() == [[2**63 + 1, 1]]
