"""Laws of domains and grids."""

import numpy as np
import pytest

import geomdp as g


def test_grid_points_are_all_level_pairs_in_row_major_order_with_a_bias():
    """Cell i of a grid is the i-th level combination, the last feature varying fastest, then a 1."""
    D = g.Domain.grid([("a", 0, 1, 2), ("b", -1, 1, 3)])
    assert D.points.tolist() == [[0, 0, 1], [0, 1, 1], [0, 2, 1], [1, 0, 1], [1, 1, 1], [1, 2, 1]]
    assert (D.m, D.d, D.pointed, D.ordered) == (6, 3, True, False)


def test_points_at_agrees_with_points():
    """Points of single cells are rows of the full array."""
    D = g.Domain.grid([("a", 0, 1, 4), ("b", 0, 1, 5), ("c", 0, 1, 3)])
    cells = np.array([59, 0, 17])
    assert np.array_equal(D.points_at(cells), D.points[cells])


@pytest.mark.parametrize(
    ("value", "level"), [(-9.0, 0), (0.0, 0), (0.5, 0), (1.5, 2), (2.5, 2), (3.0, 3), (99.0, 3)]
)
def test_snap_rounds_half_to_even_and_clips(value, level):
    """A value lands on level rint((x - lower) / (upper - lower) * (levels - 1)), clipped to the grid."""
    assert g.Feature("x", 0, 3, 4).level(np.array([value])).tolist() == [level]


def test_a_line_of_any_length_is_never_written_out():
    """A domain of 2^1024 ranks exists, and refuses to become an array."""
    D = g.Domain.line(2**1024)
    assert D.ordered
    with pytest.raises(g.CapacityError, match="threshold testers"):
        _ = D.points


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ([], "features"),
        ([("a", 0, 1, 1)], "levels"),
        ([("a", 1, 1, 4)], "upper"),
        ([("a", float("nan"), 1, 4)], "lower"),
        ([("a", 0, float("inf"), 4)], "upper"),
        ([("a", 0, 10**400, 4)], "upper"),
        ([("a", -1.7e308, 1.7e308, 4)], "lower"),
        ([("", 0, 1, 4)], "name"),
        ([("a", 0, 1, 4), ("a", 0, 1, 4)], "features"),
        ([("a", 0, 1, 2.5)], "levels"),
        ([{"name": "a", "lower": 0, "upper": 1}], "features"),
        ([5], "features"),
    ],
)
def test_bad_grids_are_refused_by_name(features, name):
    """Every invalid grid raises an ArgumentError that names the argument."""
    with pytest.raises(g.ArgumentError) as caught:
        g.Domain.grid(features)
    assert caught.value.name == name
    assert str(caught.value).startswith(f"Argument '{name}' must be ")


@pytest.mark.parametrize(
    "points", [[], [[]], [1, 2], [[0.5, 1]], [["a", 1]], [[1, 2], [3]], [[float("nan"), 1]]]
)
def test_points_must_be_a_table_of_integers(points):
    """Floats that are not integers, ragged and empty inputs are refused."""
    with pytest.raises(g.ArgumentError, match="Argument 'points' must be"):
        g.Domain(points)


def test_wide_integers_are_kept_exactly():
    """Coordinates beyond int64 stay exact Python integers."""
    D = g.Domain([[10**30, 1], [-(10**30), 1]])
    assert D.points[0, 0] == 10**30


def test_fingerprints_tell_domains_apart():
    """Equal domains are equal with equal hashes; another bound, name or point is another domain."""
    base = g.Domain.grid([("a", 0, 1, 4)])
    assert base == g.Domain.grid([("a", 0.0, 1.0, 4)])
    assert hash(base) == hash(g.Domain.grid([("a", 0, 1, 4)]))
    others = [g.Domain.grid([("a", 0, 2, 4)]), g.Domain.grid([("b", 0, 1, 4)]), g.Domain(base.points)]
    assert all(base != other for other in others)
    assert base != "a domain"


def test_repr_names_the_axes():
    """The repr of each kind of domain is literal."""
    assert repr(g.Domain.grid([("a", 0, 1, 4)])) == "Domain.grid(a:4, bias; m=4, d=2)"
    assert repr(g.Domain.line(5)) == "Domain.line(5)"
    assert repr(g.Domain([[1, 2]])) == "Domain(m=1, d=2)"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"features": 3}', '{"features": [{"name": "a"}]}', "not json"]
)
def test_a_bad_grid_file_is_refused(tmp_path, text):
    """A grid file that is no grid raises and names what it must be."""
    path = tmp_path / "grid.json"
    path.write_text(text)
    with pytest.raises(g.ArgumentError, match="must be"):
        g.Domain.from_grid_file(path)


def test_a_missing_grid_file_is_refused(tmp_path):
    """A path that cannot be read raises an ArgumentError named grid."""
    with pytest.raises(g.ArgumentError, match="Argument 'grid' must be a readable JSON file"):
        g.Domain.from_grid_file(tmp_path / "none.json")


def test_rational_points_are_scaled_row_by_row():
    """Each row is multiplied by its own common denominator; floats are read exactly, bad values refused."""
    D = g.Domain.from_rationals([[0.5, 1], ["0.1", "1/3"], [0.1, 0]])
    assert D.points.tolist() == [[1, 2], [3, 10], [3602879701896397, 0]]
    for bad in ([["x", 1]], [[None, 1]], [["nan", 1]], [[1], [1, 2]], 5, None, ["12"], [[float("nan")]], [1]):
        with pytest.raises(g.ArgumentError, match="Argument 'points' must be"):
            g.Domain.from_rationals(bad)
