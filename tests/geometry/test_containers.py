"""Laws of containers and of the exact lists of halfspace subsets."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from support.strategies import degenerate_points

from geomdp.core.errors import ArgumentError
from geomdp.geometry.cones import cut, frame, unit_points
from geomdp.geometry.containers import Containers, build, containers
from geomdp.geometry.subsets import (
    cover_pairs,
    exact_signs,
    halfspace_subsets,
    maximal,
    pack,
    unpack,
)


def general_position(n: int, d: int, seed: int) -> np.ndarray:
    """Return n random directions in general position (checked by the number of their subsets)."""
    return np.rint(np.random.default_rng(seed).normal(size=(n, d)) * 2**20).astype(np.int64)


def swept_subsets(W: np.ndarray, generic: bool, reach: int) -> set[tuple[bool, ...]]:
    """Return the subsets that all small integer directions cut out: an oracle for small integer sets."""
    out = set()
    nonzero = (W != 0).any(axis=1)
    for z in product(range(-reach, reach + 1), repeat=W.shape[1]):
        values = W @ np.array(z)
        if not (generic and (values[nonzero] == 0).any()):
            out.add(tuple(bool(v) for v in values > 0))
    return out


def uncovered(family: Containers, subsets: np.ndarray) -> int:
    """Return how many of the subsets lie in no member."""
    inside = pack(subsets)
    return sum(not (~(row & ~family.bits).any(axis=1)).any() for row in inside)


@pytest.mark.parametrize("generic", [True, False])
def test_list_equals_sweep_of_directions(generic: bool) -> None:
    """The list holds exactly the subsets that some direction cuts out, on degenerate sets too."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        n, d = int(rng.integers(0, 7)), int(rng.integers(1, 4))
        W = rng.integers(-1, 2, size=(n, d))
        found = set(map(tuple, halfspace_subsets(W, generic=generic).tolist()))
        assert found == swept_subsets(W, generic, reach=6)


@settings(max_examples=40, deadline=None)
@given(degenerate_points(max_d=4, max_m=6))
def test_cover_bounds_the_generic_list(W: np.ndarray) -> None:
    """Generic subsets come in complementary pairs (off the zero rows), at most Cover's number of them."""
    subsets = halfspace_subsets(W)
    nonzero = (W != 0).any(axis=1)
    assert len(subsets) <= 2 * cover_pairs(len(W), W.shape[1])
    flipped = {tuple(row) for row in (~subsets[:, nonzero]).tolist()}
    assert flipped == {tuple(row) for row in subsets[:, nonzero].tolist()}


@pytest.mark.parametrize(("n", "d"), [(1, 3), (3, 3), (30, 2), (25, 3), (11, 4), (8, 5)])
def test_general_position_attains_cover(n: int, d: int) -> None:
    """In general position the number of halfspace subsets equals Cover's formula."""
    assert len(halfspace_subsets(general_position(n, d, 2))) == 2 * cover_pairs(n, d)


def test_signs_are_exact_beyond_float_precision() -> None:
    """Signs of inner products are exact where floats cancel to nothing."""
    big = 3**60
    normals = np.array([[big, big + 1], [big, big]], dtype=object)
    points = np.array([[big + 1, -big], [1, -1], [big, -big + 1]], dtype=object)
    assert exact_signs(normals, points).tolist() == [[0, -1, 1], [1, 0, 1]]


def test_maximal_is_the_antichain_of_tops() -> None:
    """Every subset within the size lies in a kept one, and no kept one lies in another."""
    subsets = halfspace_subsets(general_position(14, 3, 3))
    for most in (0, 3, 7, 14):
        kept = maximal(subsets, most)
        small = subsets[subsets.sum(axis=1) <= most]
        assert all((~(row & ~kept).any(axis=1)).any() for row in small)
        inside = [(i, j) for i in range(len(kept)) for j in range(len(kept)) if (kept[i] <= kept[j]).all()]
        assert all(i == j for i, j in inside)


def test_two_lists_never_exceed_cover_together() -> None:
    """Lists for sizes that add up to N - 1 hold at most all subsets together, each complement once."""
    W = general_position(15, 3, 4)
    for most in range(15):
        one = build(W, most, most, method="list", generic=True)
        two = build(W, 14 - most, 14 - most, method="list", generic=True)
        assert len(one) + len(two) <= 2 * cover_pairs(15, 3)


@pytest.mark.parametrize(("n", "d", "method"), [(40, 2, "cones"), (40, 3, "cones"), (24, 3, "list")])
@pytest.mark.parametrize(("theta", "ratio"), [("1/2", "3/4"), ("1/3", "1/2"), ("3/5", "4/5")])
def test_every_small_halfspace_is_covered(n: int, d: int, method: str, theta: str, ratio: str) -> None:
    """Against the list of all subsets, none of the promised size is uncovered and no member is too large."""
    W = general_position(n, d, 5)
    family = containers(W, theta=Fraction(theta), ratio=Fraction(ratio), method=method)
    subsets = halfspace_subsets(W)
    assert family.method == method
    assert family.sizes.max() <= int(Fraction(ratio) * n)
    assert uncovered(family, subsets[subsets.sum(axis=1) <= int(Fraction(theta) * n)]) == 0


@settings(max_examples=40, deadline=None)
@given(degenerate_points(max_d=3, max_m=7))
def test_degenerate_sets_are_covered_at_ratio_one_half(W: np.ndarray) -> None:
    """Antipodes, duplicates, zeros and low rank: all directions with half of W or less are covered."""
    family = containers(W, ratio=Fraction(1, 2))
    subsets = halfspace_subsets(W, generic=False)
    assert uncovered(family, subsets[subsets.sum(axis=1) <= len(W) // 2]) == 0
    assert family.sizes.max(initial=0) <= len(W) // 2


def test_affine_halfspaces_are_covered() -> None:
    """With kind="affine", every {w : <z, w> > b} with half of the points or less is covered."""
    W = np.random.default_rng(6).integers(-50, 50, size=(60, 2))
    family = containers(W, ratio=0.75, kind="affine")
    for a, b, c in np.random.default_rng(7).integers(-40, 40, size=(400, 3)):
        count = int((W @ np.array([a, b]) + c > 0).sum())
        assert count > 30 or family.covering([a, b, c]) is not None


def check_random_halfspaces(n: int, d: int, ratio: float, draws: int) -> None:
    """Check coverage of random halfspaces on both sides of the size N/2."""
    W = general_position(n, d, 8)
    family = containers(W, ratio=ratio)
    assert family.sizes.max() <= ratio * n
    rng = np.random.default_rng(9)
    for _ in range(draws // 500):
        Z = rng.integers(-(2**20), 2**20, size=(500, d))
        inside = (W @ Z.T > 0).T
        assert uncovered(family, inside[inside.sum(axis=1) <= n // 2]) == 0


@pytest.mark.parametrize(
    ("n", "d", "ratio"), [(5000, 2, 0.6), (5000, 3, 0.6), (2000, 4, 0.75), (1500, 5, 0.85)]
)
def test_random_halfspaces_are_covered_on_large_sets(n: int, d: int, ratio: float) -> None:
    """Thousands of random halfspaces of a large set, none uncovered."""
    check_random_halfspaces(n, d, ratio, 1000)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("d", "ratio"), [(2, 0.6), (3, 0.65), (4, 0.75)])
def test_hundred_thousand_random_halfspaces(d: int, ratio: float) -> None:
    """10^5 random halfspaces of 20,000 candidates at ratios of the tester, none uncovered."""
    check_random_halfspaces(20_000, d, ratio, 100_000)


@pytest.mark.parametrize(
    ("d", "ratio", "most"),
    [
        (2, 0.75, 6),
        (2, 0.65, 12),
        (2, 0.6, 12),
        (3, 0.75, 27),
        (3, 0.65, 93),
        (3, 0.6, 200),
        (4, 0.75, 200),
        (4, 0.65, 1500),
    ],
)
def test_menus_stay_small(d: int, ratio: float, most: int) -> None:
    """Menus of random directions stay near the cutting bound 2/(2 ratio - 1)^(d-1)."""
    n = 20_000 if d < 4 else 4_000
    family = containers(general_position(n, d, 10), ratio=ratio)
    assert family.method == "cones"
    assert len(family) <= most


def test_members_are_their_cones() -> None:
    """A member holds exactly the points that some cone of it contains, up to rounding that only adds."""
    W = general_position(500, 3, 11)
    family = containers(W, ratio=0.75)
    scaled = unit_points(W)
    for i in range(len(family)):
        values = np.einsum("cgd,nd->ncg", family.cones[i], scaled).max(axis=2).max(axis=1)
        assert family.mask(i)[values > 0].all()
        assert not family.mask(i)[values < -1e-8].any()


def test_the_first_cones_are_well_conditioned() -> None:
    """The frame of the first cones is invertible in every dimension that is used."""
    assert all(np.linalg.cond(frame(d)) < 20 for d in range(1, 8))


def test_family_depends_on_the_set_alone() -> None:
    """Two builds give the same bits, and so do positive multiples of the points."""
    W = general_position(3000, 3, 12)
    a, b, c = containers(W, ratio=0.65), containers(W.copy(), ratio=0.65), containers(W * 2**20, ratio=0.65)
    assert (a.bits == b.bits).all()
    assert (a.bits == c.bits).all()


def test_scores_follow_their_definition() -> None:
    """Scores are min(cap, least f outside), computed from bits as from the definition, with sensitivity 1."""
    W = general_position(200, 3, 13)
    family = containers(W, ratio=0.65)
    rng = np.random.default_rng(14)
    f = rng.integers(0, 40, size=200)
    g = f + rng.integers(-1, 2, size=200)

    def direct(values: np.ndarray) -> list[int]:
        masks = [family.mask(i) for i in range(len(family))]
        return [min(25, int(values[~m].min())) if not m.all() else 25 for m in masks]

    assert family.scores(f, 25).tolist() == direct(f)
    assert np.abs(family.scores(f, 25) - family.scores(g, 25)).max() <= 1
    missing = (~unpack(family.bits, 200)).sum(axis=0)
    assert family.most_missing == missing.max()


def test_heavy_duplicates_end_in_the_list() -> None:
    """A set that no cutting can split, a thousand copies of four directions, is listed exactly."""
    W = np.repeat(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]]), 500, axis=0)
    family = containers(W, ratio=0.6)
    assert family.method == "list"
    subsets = halfspace_subsets(W, generic=False)
    assert uncovered(family, subsets[subsets.sum(axis=1) <= 1000]) == 0


def test_progress_ends_at_one() -> None:
    """Progress rises to 1."""
    seen: list[float] = []
    containers(general_position(2000, 3, 15), ratio=0.75, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ({"W": [[1.5, 2]], "ratio": 0.75}, "W"),
        ({"W": [[1, 2]], "ratio": 0.4}, "ratio"),
        ({"W": [[1, 2]], "ratio": 1.5}, "ratio"),
        ({"W": [[1, 2]], "kind": "round"}, "kind"),
        ({"W": [[1, 2]], "method": "magic"}, "method"),
    ],
)
def test_bad_arguments_name_themselves(call: dict[str, Any], name: str) -> None:
    """Errors name the argument that the caller wrote."""
    with pytest.raises(ArgumentError) as error:
        containers(**call)
    assert error.value.name == name


def test_a_set_of_two_planes_is_cut_exactly() -> None:
    """A set that cones cannot cut and that is too large for a list is cut by exact cells."""
    a = np.arange(1, 1000)
    W = np.stack([a, 1000 - a, 0 * a], axis=1)
    W = np.vstack([W, np.stack([a, 0 * a, a + 1], axis=1)])
    family = containers(W, ratio=0.7)
    assert family.method == "cells"
    assert family.sizes.max() <= 0.7 * len(W)
    for z in product(range(-4, 5), repeat=3):
        assert (W @ np.array(z) > 0).sum() > len(W) // 2 or family.covering(z) is not None


def test_cut_leaves_out_what_need_not_be_covered() -> None:
    """Cones in which every halfspace is too large are not part of the cutting."""
    W = unit_points(np.abs(general_position(400, 3, 16)))
    assert len(cut(W, 0, 100)) < len(cut(W, 400, 400)) + 8
