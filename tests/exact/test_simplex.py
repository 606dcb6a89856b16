"""Membership in cones: the integer simplex against exhaustive search, on degenerate generators."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from geomdp.exact.farkas import is_farkas, shorten
from geomdp.exact.linear import rank, solve
from geomdp.exact.simplex import ConeMembership, unit_rows


def in_cone(G, r):
    """Caratheodory by exhaustion: some independent generators have non-negative weights."""
    for size in range(min(len(r), len(G)) + 1):
        for chosen in combinations(range(len(G)), size):
            if size == 0 and not any(r):
                return True
            if size and rank(G[list(chosen)]) == size:
                x = solve(G[list(chosen)].T, r)
                if x is not None and min(x) >= 0:
                    return True
    return False


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_exhaustive_search(seed):
    """Weights exist exactly when some independent generators give them; otherwise a Farkas vector does."""
    rng = np.random.default_rng(seed)
    p, N = int(rng.integers(1, 5)), int(rng.integers(0, 8))
    G = rng.integers(-2, 3, (N, p))
    r = [int(v) for v in rng.integers(-2, 3, p)]
    start = rng.permutation(N)[: rng.integers(0, N + 1)].tolist()
    cone = ConeMembership(G, r, start)
    y = cone.solve()
    assert (y is None) == in_cone(G, r)
    if y is None:
        weights = cone.weights()
        total = sum((w * G[j].astype(object) for j, w in weights.items()), np.zeros(p, dtype=object))
        assert list(total) == r
        assert all(w > 0 for w in weights.values())
        assert not weights or rank(G[list(weights)]) == len(weights)
    else:
        assert is_farkas(G, r, y)


@pytest.mark.parametrize("seed", range(10))
def test_every_start_is_harmless(seed):
    """Whatever generators it begins with, repeated, dependent or wrong, the outcome is the same."""
    rng = np.random.default_rng(seed)
    G = np.repeat(rng.integers(-1, 2, (6, 4)), 2, axis=0)
    r = [1, 1, 0, -1]
    outcomes = {ConeMembership(G, r, rng.permutation(12).tolist()).solve() is None for _ in range(5)}
    assert len(outcomes) == 1


def test_products_too_close_for_floats_are_decided_in_integers():
    """A generator on the wrong side by 1 part in 10^40 is found, and one on the right side is left."""
    big = 10**40
    G = np.array([[big, -big - 1, 0], [-big, big, 0], [0, 0, 1]], dtype=object)
    assert ConeMembership(G, [0, -1, 0]).solve() is None
    y = ConeMembership(G, [0, 1, 0]).solve()
    assert y is not None
    assert is_farkas(G, [0, 1, 0], y)


def test_a_cycling_example_ends():
    """Beale's and Kuhn's degenerate coefficients, at which the plain rule of steepest descent can cycle."""
    G = np.array(
        [[1, 2, 0], [-32, -48, 0], [-4, -2, 4], [36, 6, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], dtype=np.int64
    )
    for r in ([0, 0, 1], [0, 0, -1], [0, -1, 1], [-1, 0, 1]):
        y = ConeMembership(G, r).solve()
        assert (y is None) == in_cone(G, r)


def test_pivots_stay_few_on_a_large_grid():
    """16,807 generators with thousands of ties take a number of pivots that grows with p only."""
    axes = np.meshgrid(*[np.arange(-3, 4)] * 5, indexing="ij")
    G = np.column_stack([np.stack([a.ravel() for a in axes], axis=1), np.ones(7**5, dtype=np.int64)])
    cone = ConeMembership(G, [14, 13, 12, 11, 10, 5])
    assert cone.solve() is None
    assert cone.pivots < 60


def test_shortened_farkas_vectors_are_farkas_vectors():
    """Rounding keeps the proof and drops most bits; without room it keeps the vector."""
    rng = np.random.default_rng(1)
    G = np.column_stack([rng.integers(-100, 101, (50, 3)), np.ones(50, dtype=np.int64)])
    r = [150, 3, 4, 1]
    y = [10**30 + 7, 3 * 10**12, -5, -100 * (10**30 + 7) - 10**16]
    assert is_farkas(G, r, y)
    short = shorten(G, r, y, [(slice(0, 50), 3)])
    assert is_farkas(G, r, short)
    assert max(map(abs, short)) < 2**16
    assert shorten(G, r, y) == tuple(y)
    assert not is_farkas(G, r, [0, 0, 0, 0])
    assert not is_farkas(G, [1, 0, 0, 1], [1, 0, 0, 0])


def test_unit_rows_survive_every_size():
    """Rows are scaled to largest entry 1, also beyond the range of floats."""
    rows = np.array([[10**400, -(10**400) // 2], [0, 0], [3, 1]], dtype=object)
    assert np.allclose(unit_rows(rows), [[1, -0.5], [0, 0], [1, 1 / 3]])
    assert np.allclose(unit_rows(rows[1:]), [[0, 0], [1, 1 / 3]])
