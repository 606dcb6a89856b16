"""Exact linear algebra against sympy's matrices and against its own definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.exact import linear
from geomdp.exact.linear import nullspace, primitive, rank, reduced_echelon, solve
from geomdp.exact.rational import rational_rows, rational_vector


@st.composite
def matrices(draw):
    """Small rational matrices, often of deficient rank."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    entry = st.one_of(
        st.integers(-2, 2), st.fractions(-3, 3, max_denominator=4), st.integers(-(10**20), 10**20)
    )
    rows = draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=m, max_size=m))
    if draw(st.booleans()):
        rows.append([2 * a - b for a, b in zip(rows[0], rows[-1], strict=True)])
    return rows


def as_sympy(rows):
    """The same matrix in sympy."""
    return sympy.Matrix([[sympy.Rational(Fraction(x)) for x in row] for row in rows])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(matrices())
def test_echelon_is_sympys(rows):
    """The reduced echelon form and its pivots are those of sympy's dense matrices."""
    form, pivots = as_sympy(rows).rref()
    ours, ours_pivots, den = reduced_echelon(rows)
    assert ours_pivots == tuple(pivots)
    assert [[sympy.Rational(int(x), den) for x in row] for row in ours] == form[: len(pivots), :].tolist()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(matrices(), st.data())
def test_nullspace_and_solutions_satisfy_their_equations(rows, data):
    """M N = 0 with rank + nullity = n, and M solve(M, b) = b exactly when b is in the column space."""
    n = len(rows[0])
    basis = nullspace(rows)
    assert rank(rows) + len(basis) == n
    assert all(sum(Fraction(m) * x for m, x in zip(row, v, strict=True)) == 0 for row in rows for v in basis)
    b = data.draw(st.lists(st.integers(-3, 3), min_size=len(rows), max_size=len(rows)))
    x = solve(rows, b)
    if x is None:
        assert rank([[*row, value] for row, value in zip(rows, b, strict=True)]) == rank(rows) + 1
    else:
        assert [sum(Fraction(m) * v for m, v in zip(row, x, strict=True)) for row in rows] == b


def test_large_systems_agree_with_small_ones(monkeypatch):
    """The route through sympy gives the same form, rank and solutions as the integers."""
    rng = np.random.default_rng(0)
    M = rng.integers(-5, 6, (6, 3)) @ rng.integers(-5, 6, (3, 9))
    small = reduced_echelon(M)
    monkeypatch.setattr(linear, "SMALL", 0)
    large = reduced_echelon(M)
    assert small[1] == large[1]
    assert (small[0] * large[2] == large[0] * small[2]).all()
    b = M @ np.arange(9)
    assert (M.astype(object) @ np.array(solve(M, b.tolist()), dtype=object) == b).all()


def test_zero_and_empty_matrices():
    """Rank 0 has the whole space as nullspace."""
    assert rank([[0, 0]]) == 0
    assert nullspace([[0, 0]]) == [(1, 0), (0, 1)]
    assert solve([[0, 0]], [1]) is None
    assert primitive([0, 0]) == (0, 0)
    with pytest.raises(
        ArgumentError, match="Argument 'target' must be a sequence of 1 numbers, not one of 2"
    ):
        solve([[1, 2]], [1, 2])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), st.booleans())
def test_floats_are_read_as_they_are(row, as_array):
    """A float is its own dyadic rational, from 5e-324 to 1.8e308, alone or in an array."""
    rows = rational_rows("points", np.array([row]) if as_array else [row])
    assert rows.row(0) == tuple(map(Fraction, row))


@pytest.mark.parametrize(
    "values",
    [
        [[2**60 + 1, 0.5]],  # numpy alone would round the integer
        [[2**63, -(2**63)]],
        np.array([[2**64 - 1]], dtype=np.uint64),
        np.array([[1.5, -0.25]], dtype=np.float32),
        np.array([[1, 2]], dtype=np.int8),
        [[Fraction(1, 3), sympy.Rational(2, 7)]],
        [[np.float64(0.1), np.int32(4)]],
    ],
)
def test_numbers_of_all_kinds_are_read_exactly(values):
    """Mixed input passes through no rounding."""
    expected = tuple(
        Fraction(x.p, x.q) if isinstance(x, sympy.Rational) else Fraction(getattr(x, "item", lambda x=x: x)())
        for x in values[0]
    )
    assert rational_rows("points", values).row(0) == expected


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ([1, 2], "an array of shape (2,)"),
        ([[1], [2, 3]], "a ragged sequence"),
        ([["a"]], "an array with a value in row 0 that is no finite rational number"),
        ([[1, 2], [3, float("nan")]], "an array with a value in row 1"),
        (np.array([[np.inf]]), "an array with an infinite or missing value"),
        (np.zeros((3, 0)), "an array of shape (3, 0)"),
    ],
)
def test_bad_points_are_refused(values, got):
    """The message says what is wrong with the array."""
    with pytest.raises(ArgumentError, match="Argument 'points' must be a 2-D array") as caught:
        rational_rows("points", values)
    assert got in str(caught.value)


def test_bad_vectors_are_refused():
    """A vector is one sequence of numbers."""
    for value in (3, [], [[1]]):
        with pytest.raises(ArgumentError, match="Argument 'v' must be a sequence of rational numbers"):
            rational_vector("v", value)
