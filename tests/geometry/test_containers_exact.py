"""Laws of containers for degenerate sets: exact cells, their linear-programming twin, and merging."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from support.strategies import degenerate_points

from geomdp.core.errors import CapacityError
from geomdp.geometry import partition
from geomdp.geometry.containers import Containers, build, containers
from geomdp.geometry.lpcells import LpCell, lp_cells
from geomdp.geometry.merging import merge, tighten
from geomdp.geometry.partition import NEVER, OPEN, SURE
from geomdp.geometry.raycells import RayCell, SignOracle, ray_cells
from geomdp.geometry.subsets import halfspace_subsets, independent_columns, pack, unpack
from geomdp.lp.crossing import Reach, ReachLoop, reach_by_model

KINDS = (
    "hyperplane",
    "two hyperplanes",
    "line",
    "duplicates",
    "antipodes",
    "small integers",
    "grid with bias",
    "cross polytope",
    "low rank",
    "zeros",
    "wide",
)


def degenerate(kind: str, n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return n points, of which half or more are in special position."""
    rng = np.random.default_rng([seed, n, d])
    W = np.rint(rng.normal(size=(n, d)) * 1000).astype(np.int64)
    h = 2 * n // 3
    if kind in ("hyperplane", "two hyperplanes", "line"):
        W[:h] = rng.integers(-9, 10, (h, d))
        W[:h, -1] = W[:h, :-1].sum(axis=1)
    if kind == "two hyperplanes":
        W[h:, 0] = 0
    elif kind == "line":
        W[: n // 2] = rng.choice([-3, -1, 1, 2, 5], n // 2)[:, None] * np.arange(1, d + 1)
    elif kind == "duplicates":
        W[:h] = W[n - 3 :][rng.integers(0, 3, h)]
    elif kind == "antipodes":
        W[: n // 2] = -W[n - n // 2 :]
    elif kind == "small integers":
        W = rng.integers(-2, 3, (n, d))
    elif kind == "grid with bias":
        side = int(np.ceil(n ** (1 / max(1, d - 1))))
        W = np.array([(*p, 1) for p in product(range(side), repeat=d - 1)])[:n]
    elif kind == "cross polytope":
        W = np.concatenate([np.eye(d, dtype=np.int64), -np.eye(d, dtype=np.int64)])
        W = W[np.arange(n) % len(W)] * rng.integers(1, 4, (n, 1))
    elif kind == "low rank":
        W[:, -1] = W[:, 0] - 2 * W[:, d // 2 - 1]
    elif kind == "zeros":
        W[: n // 2] = 0
    elif kind == "wide":
        W = W.astype(object)
        W[: n // 2] = W[: n // 2] * 10**30
        W[: n // 4, 0] += 1
        W[n // 4 : n // 2] = W[: n // 2 - n // 4] - 1
    return W


def uncovered(family: Containers, subsets: np.ndarray) -> int:
    """Return how many of the subsets lie in no member."""
    return sum(not (~(row & ~family.bits).any(axis=1)).any() for row in pack(subsets))


def check_all_subsets(W: np.ndarray, method: str, ratios: tuple[float, ...], theta: float = 0.5) -> None:
    """Check a family against the list of all halfspace subsets of W, those on boundaries included."""
    subsets = halfspace_subsets(W, generic=False)
    for ratio in ratios:
        family = containers(W, ratio=ratio, theta=theta, method=method)
        assert family.method == method
        assert family.sizes.max() <= ratio * len(W)
        assert uncovered(family, subsets[subsets.sum(axis=1) <= int(theta * len(W))]) == 0


@pytest.mark.parametrize(("n", "d"), [(40, 2), (27, 3), (18, 3), (10, 4)])
@pytest.mark.parametrize("kind", KINDS)
def test_cells_cover_every_halfspace_of_degenerate_sets(kind: str, n: int, d: int) -> None:
    """On 44 degenerate sets no halfspace of half the points or less is uncovered, no member too large."""
    check_all_subsets(degenerate(kind, n, d), "cells", (0.75, 0.6, 0.5))


@pytest.mark.parametrize("theta", [0.0, 0.2, 0.8, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_cells_cover_halfspaces_of_other_sizes(kind: str, theta: float) -> None:
    """The promise holds for small and for large halfspaces alike, from none of the points to all."""
    check_all_subsets(degenerate(kind, 16, 3, seed=1), "cells", (theta, min(1.0, theta + 0.1)), theta)


@pytest.mark.parametrize(("n", "d"), [(24, 2), (14, 3), (8, 4)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_twin_covers_every_halfspace_too(kind: str, n: int, d: int) -> None:
    """With every decision by a linear program, the same sets have nothing uncovered."""
    check_all_subsets(degenerate(kind, n, d), "lp", (0.75, 0.5))


@settings(max_examples=40, deadline=None)
@given(degenerate_points(max_d=4, max_m=7))
def test_cells_and_twin_cover_arbitrary_small_sets(W: np.ndarray) -> None:
    """Zero vectors, multiples, antipodes and lost ranks: both methods cover all of them at every size."""
    for method in ("cells", "lp"):
        for theta in (0.3, 0.5):
            check_all_subsets(W, method, (theta,), theta)


@pytest.mark.parametrize("kind", KINDS)
def test_generic_halfspaces_need_no_faces(kind: str) -> None:
    """With generic=True all directions off the points' hyperplanes are covered."""
    W = degenerate(kind, 20, 3, seed=2)
    subsets = halfspace_subsets(W)
    family = build(W, 10, 13, method="cells", generic=True)
    assert family.sizes.max() <= 13
    assert uncovered(family, subsets[subsets.sum(axis=1) <= 10]) == 0


def covectors(points: np.ndarray) -> np.ndarray:
    """Return the sign vectors of all directions: the subsets of W and -W together give them."""
    both = halfspace_subsets(np.concatenate([points, -points]), generic=False).astype(np.int8)
    return both[:, : len(points)] - both[:, len(points) :]


def check_status(cell: Any, inside: np.ndarray, strict: np.ndarray, exact: bool) -> None:
    """Compare a cell's status with its covectors, and with those off its inequalities' hyperplanes."""
    status, rest = cell.status, inside[(inside != 0).any(axis=1)]
    assert (inside[:, status == NEVER] <= 0).all()
    assert (inside[:, status == SURE] >= 0).all()
    assert (strict[:, status == SURE] > 0).all()
    assert not len(rest) or cell.floor <= (rest > 0).all(axis=0).sum()
    if exact:
        assert ((inside > 0).any(axis=0) == (status != NEVER)).all()
        assert (((inside > 0).any(axis=0) & (inside < 0).any(axis=0)) == (status == OPEN)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_status_is_what_the_sign_vectors_say(kind: str) -> None:
    """Rays and programs call a point NEVER, SURE or OPEN exactly when all sign vectors of the cell do."""
    W = degenerate(kind, 9, 3, seed=3)
    W = W[:, independent_columns(W.astype(object))]
    d = W.shape[1]
    points = np.concatenate([W.astype(object), np.eye(d, dtype=np.int64).astype(object)])
    vectors = covectors(points)
    rng = np.random.default_rng(4)
    known, loose = np.zeros(len(points), dtype=np.int8), np.zeros(len(points), dtype=bool)
    unit = np.array([[v / max(1, *map(abs, row)) for v in row] for row in points.tolist()])
    for pattern, root in enumerate(ray_cells(points)):
        orthant = tuple((len(W) + i, -1 if pattern >> i & 1 else 1) for i in range(d))
        twin = LpCell(points, unit, orthant, known, loose.copy())
        inside = vectors[np.all([vectors[:, i] * s >= 0 for i, s in orthant], axis=0)]
        strict = inside[np.all([inside[:, i] != 0 for i, _ in orthant], axis=0)]
        check_status(root, inside, strict, exact=True)
        check_status(twin, inside, strict, exact=True)
        assert (root.status == twin.status).all()
    for _ in range(6):
        chosen = rng.choice(len(points), 3, replace=False)
        path = tuple((int(i), int(s)) for i, s in zip(chosen, rng.choice([1, -1, 1, -1, 0], 3), strict=True))
        twin = LpCell(points, unit, path, known, loose.copy())
        at = vectors[:, chosen] * np.array([s for _, s in path])
        on = np.array([s == 0 for _, s in path])
        inside = vectors[(at >= 0).all(axis=1) & (vectors[:, chosen[on]] == 0).all(axis=1)]
        strict = inside[(inside[:, chosen[~on]] != 0).all(axis=1)]
        check_status(twin, inside, strict, exact=False)


@pytest.mark.parametrize("kind", ["hyperplane", "antipodes", "small integers", "wide"])
def test_model_and_direct_loop_agree_on_crossings(kind: str) -> None:
    """The CVXPY program and the direct loop find the same optimum, and their multipliers prove it."""
    points = degenerate(kind, 12, 3, seed=5)
    rows = points[[0, 5, 11, 7]]
    equal = np.array([False, False, False, True])
    loop = ReachLoop(rows, equal)
    scale = np.abs(rows.astype(float)).max(axis=1)[:, None]
    for point in points:
        for c in (point, -point):
            one, two = loop.reach(c), reach_by_model(rows, equal, c)
            assert one.value == pytest.approx(two.value, abs=1e-7)
            for found in (one, two):
                if found.value < 1e-9:
                    proved = (rows / scale).astype(float).T @ found.multipliers
                    unit = c.astype(float) / max(1.0, np.abs(c.astype(float)).max())
                    assert np.abs(proved + unit).max() < 1e-6
                    assert (found.multipliers[~equal] >= -1e-9).all()


@pytest.mark.parametrize("lie", ["nothing is reached", "everything is reached", "failure"])
def test_a_lying_solver_uncovers_nothing(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the solver says, the twin ends and covers: its word only enlarges members."""
    value = {"nothing is reached": 0.0, "everything is reached": 1.0, "failure": np.nan}[lie]
    rng = np.random.default_rng(6)

    def reach(self: ReachLoop, point: np.ndarray) -> Reach:
        return Reach(value, rng.normal(size=self._d), rng.normal(size=self._k))

    monkeypatch.setattr(ReachLoop, "reach", reach)
    for kind in ("small integers", "antipodes", "zeros"):
        check_all_subsets(degenerate(kind, 7, 2), "lp", (0.6,))


@pytest.mark.parametrize("kind", KINDS)
def test_families_of_both_methods_are_alike(kind: str) -> None:
    """The twin and the cells need about as many members: they differ in where they cut, not in what fits."""
    W = degenerate(kind, 30, 3, seed=7)
    one, two = (len(containers(W, ratio=0.7, method=method)) for method in ("cells", "lp"))
    assert max(one, two) <= 2 * min(one, two) + 4


@pytest.mark.parametrize("bits", [3, 20, 40, 61, 200, 1100])
def test_signs_are_exact_for_integers_of_any_size(bits: int) -> None:
    """Signs at a ray equal Python's, for values that cancel to nothing and for huge ones."""
    rng = np.random.default_rng(bits)
    z = [int(v) << max(0, bits - 30) | 1 for v in rng.integers(-(2**30), 2**30, 3)]
    rows = []
    for _ in range(40):
        a, b, c = (int(v) << max(0, bits - 25) for v in rng.integers(-(2**25), 2**25, 3))
        rows.append([a, b, c])
        cross = [z[1] * c - z[2] * b, z[2] * a - z[0] * c, z[0] * b - z[1] * a]
        rows += [cross, [cross[0] + 1, *cross[1:]], [*cross[:2], cross[2] - 1]]
    points = np.array(rows, dtype=object)
    exact = [sum(a * b for a, b in zip(row, z, strict=True)) for row in rows]
    assert SignOracle(points)(tuple(z)).tolist() == [(v > 0) - (v < 0) for v in exact]
    assert exact.count(0) >= 40


def test_a_split_cuts_a_cell_in_two() -> None:
    """Children lie in their parent and on opposite sides of one point, which is open in neither."""
    for cell in ray_cells(degenerate("hyperplane", 50, 4).astype(object)):
        one, two = cell.split()
        assert isinstance(one, RayCell)
        inherited = cell.status != OPEN
        for child in (one, two):
            assert (child.status[inherited] == cell.status[inherited]).all()
        settled = (cell.status == OPEN) & (one.status != OPEN) & (two.status != OPEN)
        assert (one.status[settled] != two.status[settled]).any()


def special_directions(W: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """Return random directions, and normals of planes through points of W with small changes of them."""
    rng = np.random.default_rng(seed)
    d = W.shape[1]
    Z = [rng.integers(-1000, 1001, d) for _ in range(draws)]
    for _ in range(draws):
        rows = W[rng.choice(len(W), d - 1, replace=False)].astype(float)
        normal = np.array([(-1) ** j * np.linalg.det(np.delete(rows, j, axis=1)) for j in range(d)])
        whole = np.rint(normal).astype(np.int64)
        Z += [whole, -whole, whole * 100 + rng.integers(-3, 4, d)]
    Z += [np.array(s) for s in product((-1, 0, 1), repeat=d)]
    return np.array(Z)


LARGE = [
    ("hyperplane", 3000, 3, 0.6),
    ("two hyperplanes", 2000, 3, 0.6),
    ("line", 3000, 2, 0.6),
    ("duplicates", 3000, 3, 0.6),
    ("antipodes", 2000, 3, 0.6),
    ("small integers", 4000, 3, 0.6),
    ("grid with bias", 2500, 3, 0.6),
    ("zeros", 2000, 3, 0.7),
    ("hyperplane", 1500, 4, 0.75),
    ("duplicates", 1500, 4, 0.75),
    ("small integers", 2000, 4, 0.75),
]


@pytest.mark.parametrize(("kind", "n", "d", "ratio"), LARGE)
def test_large_degenerate_sets_end_in_a_cover(kind: str, n: int, d: int, ratio: float) -> None:
    """Thousands of points, half or more in special position: the default ends, within size, and covers."""
    W = degenerate(kind, n, d)
    family = containers(W, ratio=ratio)
    assert family.sizes.max() <= ratio * n
    inside = (special_directions(W, 60, 8) @ W.T) > 0
    assert uncovered(family, inside[inside.sum(axis=1) <= n // 2]) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "n", "d", "ratio"), LARGE)
def test_many_halfspaces_of_large_degenerate_sets(kind: str, n: int, d: int, ratio: float) -> None:
    """About 10^5 random and special halfspaces each, by the default and by cells; none uncovered."""
    W = degenerate(kind, n, d)
    for method in ("auto", "cells"):
        family = containers(W, ratio=ratio, method=method)
        assert family.sizes.max() <= ratio * n
        for seed in range(50):
            inside = (special_directions(W, 250, seed) @ W.T) > 0
            assert uncovered(family, inside[inside.sum(axis=1) <= n // 2]) == 0


@pytest.mark.parametrize("d", [2, 3, 4])
def test_tightening_keeps_every_part_within_the_limit(d: int) -> None:
    """Members only get fewer; none is too large; every part stays in the member that lists it."""
    rng = np.random.default_rng(d)
    W = rng.normal(size=(300, d))
    leaves = pack((rng.normal(size=(120, d)) @ W.T > 0.8).astype(bool))
    most = int(unpack(leaves, 300).sum(axis=1).max())
    for limit in (most, most + 20, most + 60):
        bits, groups = merge(leaves, limit)
        fewer, parts = tighten(leaves, bits, groups, limit)
        assert len(fewer) <= len(bits)
        assert unpack(fewer, 300).sum(axis=1).max() <= limit
        assert all(
            not (leaves[leaf] & ~row).any() for row, group in zip(fewer, parts, strict=True) for leaf in group
        )
        assert all((~(row & ~fewer).any(axis=1)).any() for row in leaves)


def test_cells_depend_on_directions_alone() -> None:
    """Positive multiples of the points, and points stored as Python integers, give the same family."""
    W = degenerate("hyperplane", 400, 3)
    one, two, three = (containers(V, ratio=0.7, method="cells") for V in (W, W * 2**20, W.astype(object)))
    assert (one.bits == two.bits).all()
    assert (one.bits == three.bits).all()


def test_a_family_that_would_be_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cells exceed what is allowed, the error says how to need fewer."""
    monkeypatch.setattr(partition, "MAX_CELLS", 300)
    with pytest.raises(CapacityError, match="raise ratio="):
        containers(degenerate("two hyperplanes", 500, 3), ratio=0.5, method="cells")


@pytest.mark.parametrize("method", ["cells", "lp"])
def test_progress_of_the_recursion_ends_at_one(method: str) -> None:
    """Progress rises to 1."""
    seen: list[float] = []
    containers(degenerate("hyperplane", 20, 3), ratio=0.7, method=method, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["cones", "cells", "lp", "list"])
def test_the_empty_halfspace_is_covered(method: str) -> None:
    """Even where every other halfspace is too large, z = 0 has a member: the empty set."""
    W = np.array([[a, b] for a, b in combinations(range(-4, 5), 2) if a or b])
    assert build(W, 0, 1, method=method).covering([0, 0]) is not None


@pytest.mark.parametrize("method", ["auto", "cells", "lp", "list"])
@pytest.mark.parametrize("W", [np.zeros((0, 3)), np.zeros((5, 2)), np.ones((4, 1)), [[1], [-1], [2]]])
def test_tiny_sets(method: str, W: Any) -> None:
    """No points, zeros only, and one dimension are no special cases."""
    family = containers(W, ratio=0.5, method=method)
    assert len(family) >= 1
    assert family.covering([0] * family.W.shape[1]) is not None


def test_the_twin_starts_from_all_directions() -> None:
    """Its root has no inequalities: every point but 0 is open."""
    (root,) = lp_cells(np.array([[1, 0], [0, 0], [3, -1]]))
    assert root.status.tolist() == [OPEN, NEVER, OPEN]
    assert list(root.faces()) == []
