"""Laws of level cuttings."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from geomdp.core.domain import Domain
from geomdp.geometry.arrangement import dichotomies
from geomdp.geometry.cones import CuttingError
from geomdp.geometry.levels import level_cells, level_cells_from, level_cutting
from geomdp.geometry.subsets import halfspace_subsets, unpack


def sets() -> dict[str, np.ndarray]:
    """Return point sets of rank 2 and 3 in and out of general position, none zero, lines at most double."""
    rng = np.random.default_rng(0)
    general = rng.integers(-1000, 1001, size=(120, 3))
    pencil = np.array([[a, b, 0] for a in range(-7, 8) for b in range(1, 8) if np.gcd(a, b) == 1])
    star = np.vstack([pencil, pencil[:, [2, 0, 1]], rng.integers(-99, 100, size=(20, 3))])
    grid = dichotomies(Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)]), generic=True).weights
    wide = np.array([[2**70 + i * i, -(3**40) * i, i**3 - 7] for i in range(1, 61)], dtype=object)
    return {
        "general": general,
        "antipodal": np.vstack([general[:70], -general[:70]]),
        "two pencils": np.unique(star[(star != 0).any(axis=1)], axis=0),
        "grid": grid,
        "long integers": wide,
        "plane": np.vstack([pencil, -pencil[::2]]),
    }


SETS = sets()


def covered(found, n: int, inside: np.ndarray, outside: np.ndarray) -> bool:
    """Return whether some cell or its opposite holds a halfspace and its opposite in its two sets."""
    plus, minus = unpack(found.plus, n), unpack(found.minus, n)
    one = ~(inside & ~plus).any(axis=1) & ~(outside & ~minus).any(axis=1)
    two = ~(inside & ~minus).any(axis=1) & ~(outside & ~plus).any(axis=1)
    return bool((one | two).any())


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("share", [Fraction(2, 5), Fraction(3, 4)])
def test_every_halfspace_lies_in_a_cell(name: str, share: Fraction) -> None:
    """All directions, those on many planes included, lie in a cell that few points cross; the bound holds."""
    W = SETS[name]
    n, d = len(W), 2 if name == "plane" else 3
    cross = int(share * n)
    found = level_cutting(W, cross)
    assert len(found.plus) <= (level_cells(n, cross, d) or 0)
    both = (unpack(found.plus, n) & unpack(found.minus, n)).sum(axis=1)
    assert both.max() == found.cross <= cross
    assert (unpack(found.plus, n) | unpack(found.minus, n)).all()
    rng = np.random.default_rng(1)
    exact = W.astype(object)
    directions = [list(map(int, row)) for row in rng.integers(-50, 51, size=(100, 3))]
    pairs = list(combinations(range(n), 2))
    for i, j in (pairs[k] for k in rng.integers(0, len(pairs), 200)):
        (a, b, c), (e, f, g) = exact[i], exact[j]
        directions.append([b * g - c * f, c * e - a * g, a * f - b * e])
    for z in directions:
        values = exact @ np.array(z, dtype=object)
        inside, outside = (np.array([bool(v > 0) for v in side * values]) for side in (1, -1))
        assert covered(found, n, inside, outside)


def test_all_chambers_of_a_small_set_are_covered() -> None:
    """Against the exact list of all halfspace subsets."""
    rng = np.random.default_rng(2)
    half = rng.integers(-9, 10, size=(24, 3))
    W = np.unique(np.vstack([half, -half[:8]]), axis=0)
    W = W[(W != 0).any(axis=1)]
    found = level_cutting(W, 28)
    for subset in halfspace_subsets(W):
        assert covered(found, len(W), subset, ~subset)


def test_many_planes_through_one_point() -> None:
    """With a third of the planes through one direction the number of cells still keeps the bound."""
    rng = np.random.default_rng(3)
    pencil = np.array([[a, b, 0] for a in range(-15, 16) for b in range(1, 16) if np.gcd(a, b) == 1])
    W = np.vstack([pencil, rng.integers(-(10**6), 10**6, size=(2 * len(pencil), 3))])
    n = len(W)
    found = level_cutting(W, n // 8)
    assert len(found.plus) <= (level_cells(n, n // 8, 3) or 0)
    assert found.cross <= n // 8


def test_the_bound_for_all_larger_sets() -> None:
    """The bound for n >= least is at least that of every such n."""
    for share in (Fraction(1, 5), Fraction(1, 12)):
        for d in (1, 2, 3):
            least = 340
            top = level_cells_from(least, share, d)
            assert top is not None
            for n in (*range(least, least + 60), 1000, 12_345, 10**6):
                assert (level_cells(n, int(share * n), d) or top + 1) <= top
    assert level_cells_from(100, Fraction(1, 10), 3) is None
    assert level_cells_from(10**6, Fraction(1, 5), 4) is None


@pytest.mark.parametrize(
    "W",
    [
        np.zeros((0, 3), dtype=np.int64),
        np.array([[0, 0, 0], [1, 2, 3]]),
        np.eye(4, dtype=np.int64),
        np.eye(3, dtype=np.int64),
        np.array([[1, 2], [2, 4], [3, 6], [1, 0], [0, 1]]),
    ],
)
def test_other_sets_are_refused(W: np.ndarray) -> None:
    """No points, a zero point, rank above 3, too small a crossing number, and triple lines are refused."""
    with pytest.raises(CuttingError):
        level_cutting(W, 4)
