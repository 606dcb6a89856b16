"""Laws of the largest agreement of a class with integer fields."""

import numpy as np
import pytest
from support.zoo import POINTS, labellings

from geomdp import ArgumentError, CapacityError, Domain
from geomdp.geometry.arrangement import dichotomies
from geomdp.opt.halfspace import least_mistakes, sup_points
from geomdp.opt.sup import critical_directions, grid_schedule, sup_field


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 5), (5, 2), (3, 4), (4, 4)])
def test_grid_sweep_against_all_labellings(rows, columns):
    """On a two-feature grid the sweep finds the maximum over every labelling by a halfspace."""
    D = Domain.grid([("x", 0, 1, rows), ("y", 0, 1, columns)])
    Z = np.random.default_rng(rows + 10 * columns).integers(-50, 51, (70, D.m))
    every = labellings(D.points.tolist()) if D.m <= 12 else None
    best = sup_field(D, Z)
    if every is not None:
        assert np.array_equal(best, (every @ Z.T).max(axis=0))
        assert 2 * (len(grid_schedule(rows, columns)[1]) + 1) == len(every)
    assert np.array_equal(best, sup_points(D.points, Z))
    assert np.array_equal(best, sup_field(D, -Z))


@pytest.mark.parametrize(("levels", "count"), [(2, 14), (3, 58), (16, 40_150), (32, 638_694)])
def test_sweep_meets_every_dichotomy_once(levels, count):
    """A half turn changes one prefix per pair of complementary dichotomies, but for the trivial pair."""
    spans, cells = grid_schedule(levels, levels)
    assert 2 * (len(cells) + 1) == count
    assert spans[:, 1].sum() == len(cells)


def test_number_of_critical_directions():
    """One direction per primitive step of the grid, by counting coprime pairs."""
    for levels in (2, 3, 16, 32):
        coprime = sum(np.gcd(a, b) == 1 for a in range(1, levels) for b in range(1, levels))
        assert len(critical_directions(levels, levels)) == 2 * coprime + 2


@pytest.mark.parametrize("levels", [(16, 16), (3, 3, 3), (2, 3, 2)])
def test_against_the_dual_discretisation(levels):
    """The sweeps and a product over one representative per dichotomy give the same suprema."""
    D = Domain.grid([(f"x{i}", 0, 1, k) for i, k in enumerate(levels)])
    Z = np.random.default_rng(1).integers(-30, 31, (16, D.m))
    W = dichotomies(D)
    dense = np.full(len(Z), -(2**62))
    for _, labels in W.blocks():
        dense = np.maximum(dense, (labels.astype(np.float64) @ Z.T).max(axis=0).astype(np.int64))
    assert np.array_equal(sup_field(D, Z), dense)


def test_dual_to_the_least_mistakes():
    """The supremum is sum |Z| - 2 opt(weights |Z|, labels sign Z), on a grid of 16 x 16 with a bias."""
    D = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    Z = np.random.default_rng(0).integers(-30, 31, (5, D.m))
    for z, best in zip(Z, sup_field(D, Z), strict=True):
        value, _ = least_mistakes(D.points, np.maximum(z, 0), np.maximum(-z, 0))
        assert best == np.abs(z).sum() - 2 * value


@pytest.mark.parametrize("m", [2, 3, 7])
def test_ordered_domains(m):
    """On ranks: all thresholds for the one-sided class, and both orientations for halfspaces."""
    Z = np.random.default_rng(m).integers(-9, 10, (30, m))
    upper = np.array([[1 if r >= theta else -1 for r in range(m)] for theta in range(m + 1)])
    for D in (Domain.line(m), Domain.grid([("x", 0, 1, m)])):
        assert np.array_equal(sup_field(D, Z, "thresholds"), (upper @ Z.T).max(axis=0))
        assert np.array_equal(sup_field(D, Z), np.abs(upper @ Z.T).max(axis=0))
    assert np.array_equal(sup_field(Domain(Domain.line(m).points), Z), sup_field(Domain.line(m), Z))


@pytest.mark.parametrize("name", sorted(POINTS))
def test_zoo(name):
    """On every degenerate domain the supremum is the maximum over all realisable labellings."""
    D = Domain(POINTS[name])
    Z = np.random.default_rng(0).integers(-9, 10, (33, D.m))
    expected = (labellings(POINTS[name]) @ Z.T).max(axis=0)
    assert np.array_equal(sup_field(D, Z), expected)
    assert np.array_equal(sup_field(D, Z[:3]), expected[:3])


def test_progress_and_batches():
    """The batch size does not matter, an empty batch is allowed, and progress ends at 1."""
    D = Domain.grid([("x", 0, 1, 5), ("y", 0, 1, 4)])
    Z = np.random.default_rng(0).integers(-9, 10, (601, 20))
    seen = []
    best = sup_field(D, Z, progress=seen.append)
    assert seen[-1] == 1
    assert np.array_equal(best[:1], sup_field(D, Z[:1]))
    assert np.array_equal(best[17:50], sup_field(D, Z[17:50]))
    for domain in (D, Domain.line(20), Domain(D.points)):
        assert sup_field(domain, np.zeros((0, 20), dtype=np.int64)).shape == (0,)


def test_refusals():
    """Wrong shapes, huge values, unordered thresholds and huge grids are refused by name."""
    D = Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)])
    with pytest.raises(ArgumentError, match="m = 4 columns"):
        sup_field(D, [[1, 2]])
    with pytest.raises(ArgumentError, match=r"2\^61"):
        sup_field(D, [[2**60, 0, 0, 0]])
    with pytest.raises(ArgumentError, match="2-D"):
        sup_field(D, [1, 2, 3, 4])
    with pytest.raises(ArgumentError, match="'classes'"):
        sup_field(D, [[1, 2, 3, 4]], "trees")
    with pytest.raises(ArgumentError, match="without an order"):
        sup_field(D, [[1, 2, 3, 4]], "thresholds")
    with pytest.raises(CapacityError, match="GB"):
        grid_schedule(1000, 1000)


@pytest.mark.parametrize("most", [2**15 - 1, 2**15, 2**31 - 1, 2**31, 2**57])
@pytest.mark.parametrize("count", [3, 130])
def test_grid_sweep_at_the_edges_of_its_integers(most, count):
    """Fields whose absolute values sum to the last number of a narrow integer, or the next, are exact."""
    D = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
    rng = np.random.default_rng(count)
    Z = rng.integers(-3, 4, (count, D.m))
    Z[:, 4] = rng.choice([-1, 1], count) * (most - np.abs(np.delete(Z, 4, axis=1)).sum(axis=1))
    Z[0] = 0
    Z[0, 0], Z[0, 8] = most // 2, -(most - most // 2)
    assert np.abs(Z).sum(axis=1).max() == most
    every = labellings(D.points.tolist()).astype(np.int64)
    assert np.array_equal(sup_field(D, Z), (every @ Z.T).max(axis=0))
