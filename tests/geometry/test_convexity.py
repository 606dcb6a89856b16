"""Caratheodory and separation: exact certificates on every input, degenerate ones first."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import COORDINATES, point_set_pairs, point_sets

from geomdp.core.errors import ArgumentError
from geomdp.exact.linear import rank, solve
from geomdp.geometry.convexity import (
    Combination,
    CommonPoint,
    Hyperplane,
    Separation,
    caratheodory,
    separate,
)

KINDS = ("affine", "cone")


def hulls_meet(A, B):
    """Exhaustion over small supports: Kirchberger's theorem in Fractions."""
    return _some_support(
        [*[[*a, 1, 0] for a in A], *[[*(-x for x in b), 0, 1] for b in B]], [0] * len(A[0]) + [1, 1]
    )


def cones_meet_or_touch(A, B):
    """Exhaustion: some weights, not all zero, give both sides one vector (Gordan)."""
    d = len([*A, *B][0])
    return _some_support([*[[*a, 1] for a in A], *[[*(-x for x in b), 1] for b in B]], [0] * d + [1])


def _some_support(columns, target):
    from itertools import combinations

    for size in range(1, min(len(target), len(columns)) + 1):
        for chosen in combinations(columns, size):
            if rank(list(chosen)) == size:
                x = solve([list(row) for row in zip(*chosen, strict=True)], target)
                if x is not None and min(x) >= 0:
                    return True
    return False


@settings(max_examples=150, deadline=None, derandomize=True)
@given(point_set_pairs(), st.sampled_from(KINDS))
def test_every_answer_replays(case, kind):
    """Whatever the two sets, the answer is a certificate that an exact replay accepts."""
    d, A, B = case
    A, B = np.array(A, dtype=object).reshape(-1, d), np.array(B, dtype=object).reshape(-1, d)
    assert separate(A, B, kind=kind).verify(A, B)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 4), st.data(), st.sampled_from(KINDS))
def test_every_caratheodory_answer_replays(d, data, kind):
    """Whatever the points and v, the answer is a certificate that an exact replay accepts."""
    points = data.draw(point_sets(d))
    v = data.draw(st.lists(COORDINATES, min_size=d, max_size=d))
    if points and data.draw(st.booleans()):
        v = points[0]
    answer = caratheodory(points, v, kind=kind)
    assert answer.verify(points, v)
    if points and v == points[0]:
        assert isinstance(answer, Combination)


@pytest.mark.parametrize("seed", range(30))
def test_answers_are_those_of_exhaustive_search(seed):
    """The kind of answer is found again by exhaustion over supports, without any simplex method."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    A, B = (rng.integers(-2, 3, (int(rng.integers(1, 5)), d)).tolist() for _ in range(2))
    assert isinstance(separate(A, B), CommonPoint) == hulls_meet(A, B)
    assert isinstance(separate(A, B, kind="cone"), CommonPoint) == cones_meet_or_touch(A, B)
    v = A.pop()
    if A:
        assert isinstance(caratheodory(A, v), Combination) == hulls_meet(A, [v])


@pytest.mark.parametrize("seed", range(60))
def test_a_common_point_is_minimal(seed):
    """At most d+2 points in total, d+1 for cones, d+1 or d for one point; and they are independent."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    flat = rng.integers(-3, 4, (max(1, d - seed % 3), d))
    A, B = (rng.integers(-3, 4, (40, len(flat))) @ flat for _ in range(2))
    common = separate(A, B)
    assert isinstance(common, CommonPoint)
    columns = [[*A[i], 1, 0] for i, _ in common.left] + [[*-B[j], 0, 1] for j, _ in common.right]
    assert rank(columns) == common.size <= d + 2
    cone = separate(A, B, kind="cone")
    columns = [[*A[i], 1] for i, _ in cone.left] + [[*-B[j], 1] for j, _ in cone.right]
    assert rank(columns) == cone.size <= d + 1
    inside = caratheodory(A, [Fraction(int(x), 40) for x in A.sum(axis=0)])
    assert rank([[*A[i], 1] for i in inside.indices]) == len(inside.indices) <= len(flat) + 1
    ray = caratheodory(A, A.sum(axis=0), kind="cone")
    assert len(ray.indices) == 0 or rank(A[list(ray.indices)]) == len(ray.indices) <= len(flat)


# --- degenerate and near-degenerate sets -----------------------------------------------------------------

EMPTY = np.zeros((0, 2))
DEGENERATE = {
    # name: (A, B, hulls meet, cones: "plane", "mixed" or "pure")
    "both empty": (EMPTY, EMPTY, False, "plane"),
    "A empty": ([], [[1, 2], [3, 4]], False, "plane"),
    "B empty": ([[1, 2], [-1, 3]], [], False, "plane"),
    "B empty, A around 0": ([[1, 0], [-1, 1], [-1, -1]], [], False, "pure"),
    "one point, the same": ([[1, 2]], [[1, 2]], True, "mixed"),
    "one point, on one ray": ([[1, 2]], [[2, 4]], False, "mixed"),
    "zero against zero": ([[0, 0]], [[0, 0]], True, "pure"),
    "zero against a point": ([[0, 0]], [[1, 0]], False, "pure"),
    "zero among others": ([[0, 0], [1, 0]], [[0, 1]], False, "pure"),
    "opposite points": ([[1, 1]], [[-1, -1]], False, "plane"),
    "a line against its point": ([[1, 1], [-1, -1]], [[2, 2]], False, "mixed"),
    "a line against another": ([[1, 0], [-1, 0]], [[0, 1], [0, -1]], True, "pure"),
    "a line against a point beside it": ([[1, 0], [-1, 0]], [[0, 1]], False, "pure"),
    "the plane against a point": ([[1, 0], [-1, 1], [-1, -1]], [[0, 7]], False, "mixed"),
    "duplicates": ([[1, 0]] * 5, [[0, 1]] * 7, False, "plane"),
    "duplicates in common": ([[1, 0]] * 5, [[0, 1], [1, 0], [1, 0]], True, "mixed"),
    "segments that touch at an end": ([[0, 0], [1, 1]], [[1, 1], [2, 0]], True, "pure"),
    "collinear, apart": ([[0, 1], [1, 1]], [[2, 1], [3, 1]], False, "plane"),
    "collinear, interleaved": ([[0, 1], [2, 1]], [[1, 1], [3, 1]], True, "mixed"),
    "crossing segments": ([[-1, 0], [1, 0]], [[0, -1], [0, 1]], True, "pure"),
    "vertex on an edge": ([[0, 0], [2, 0]], [[1, 0], [1, 5]], True, "mixed"),
    "edge to edge": ([[0, 0], [2, 0], [1, -1]], [[0, 0], [2, 0], [1, 1]], True, "mixed"),
}


@pytest.mark.parametrize("method", ["fast", "lp"])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_sets(name, method):
    """Each named degenerate pair has its known answer, by either method."""
    A, B, meet, cones = DEGENERATE[name]
    if cones == "pure" and name == "segments that touch at an end":
        cones = "mixed"  # (1, 1) is in both cones
    answer = separate(A, B, method=method)
    assert isinstance(answer, CommonPoint) == meet
    assert answer.verify(A, B)
    answer = separate(A, B, kind="cone", method=method)
    assert answer.verify(A, B)
    found = "plane" if isinstance(answer, Hyperplane) else "pure" if answer.pure else "mixed"
    assert found == cones


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("margin", [0.0, 1e-12, 2.0**-52])
def test_margins_below_solver_tolerances(d, margin):
    """Sets apart by 1e-12 are separated, and sets that touch are not, in any position."""
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(200, d)), rng.normal(size=(200, d))
    A[:, 0], B[:, 0] = 1 + np.abs(A[:, 0]), 1 - np.abs(B[:, 0])
    A[:20, 0], B[:20, 0] = 1 + margin, 1.0
    if d > 2:  # faces that surely meet when the margin is zero
        B[0] = A[0]
        B[0, 0] = 1.0
    for shear in (np.eye(d, dtype=int), np.tri(d, dtype=int)):
        left, right = ([[Fraction(x) for x in row] for row in X] for X in (A, B))
        left = np.array(left, dtype=object) @ shear
        right = np.array(right, dtype=object) @ shear
        answer = separate(left, right)
        assert answer.verify(left, right)
        assert isinstance(answer, Hyperplane) == (margin > 0)


@pytest.mark.parametrize("far", [0, 10**6, 10**12, 10**30])
def test_large_coordinates(far):
    """Integer sets one unit apart, sheared and far from the origin, are told from sets that touch."""
    rng = np.random.default_rng(3)
    shear = np.tri(4, dtype=int) * np.array([1, 2, 3, 5])
    A, B = (rng.integers(-(10**6), 10**6 + 1, (300, 4)) for _ in range(2))
    A[:, 0], B[:, 0] = np.abs(A[:, 0]) + 1, -np.abs(B[:, 0])
    A, B = (X.astype(object) @ shear + far for X in (A, B))
    plane = separate(A, B)
    assert isinstance(plane, Hyperplane)
    assert plane.verify(A, B)
    B = np.vstack([B, (A[0] + A[1] + A[2]) // 3])
    assert separate(A * 3, B * 3).verify(A * 3, B * 3)
    B = np.vstack([B * 3, A[0] + A[1] + A[2]])
    common = separate(A * 3, B)
    assert isinstance(common, CommonPoint)
    assert common.verify(A * 3, B)


def test_floats_stand_for_themselves():
    """0.1 + 0.2 is not 0.3: the two are separated, and 0.1 as a float is not the decimal 1/10."""
    assert isinstance(separate([[0.1 + 0.2]], [[0.3]]), Hyperplane)
    assert isinstance(caratheodory([[0.1], [0.0]], [Fraction(1, 10)]), Combination)
    assert isinstance(caratheodory([[Fraction(1, 10)], [0]], [0.1]), Separation)
    assert separate([[1e308, 5e-324]], [[-1e308, 0.0]]).verify([[1e308, 5e-324]], [[-1e308, 0.0]])


def test_a_hyperplane_is_short():
    """A wide margin gives a functional of few bits, whatever the coordinates' size."""
    rng = np.random.default_rng(0)
    A, B = (rng.integers(-(10**6), 10**6, (500, 3)) for _ in range(2))
    A[:, 0] += 3 * 10**6
    plane = separate(A, B)
    assert max(abs(z) for z in plane.functional) < 2**6


# --- the trap of pure circuits ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_both_sides_are_used_whenever_the_cones_meet(seed):
    """A pure circuit is returned only when no direction has a common point with positive height."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    A, B = (rng.integers(-1, 2, (int(rng.integers(1, 6)), d)) for _ in range(2))
    answer = separate(A, B, kind="cone")
    if isinstance(answer, Hyperplane):
        return
    meets = any(
        _some_support([*[[*a, int(a @ np.array(f))] for a in A], *[[*-b, 0] for b in B]], [0] * d + [1])
        for f in product((-1, 0, 1), repeat=d)
    )
    assert answer.pure == (not meets)
    assert any(answer.point) == meets


# --- twins, starts and liars ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "shift"), [(3, 0), (3, 6), (8, 1), (8, 9), (24, 0), (24, 14)])
def test_the_lp_twin_agrees(d, shift, kind):
    """CVXPY with HiGHS, integers alone and HiGHS called directly (many coordinates) tell the same story."""
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(150, d)), rng.normal(size=(150, d))
    B[:, 0] += shift
    A, B = np.rint(1000 * A).astype(int), np.rint(1000 * B).astype(int)
    fast, twin = (separate(A, B, kind=kind, method=method) for method in ("fast", "lp"))
    assert type(fast) is type(twin)
    assert fast.verify(A, B)
    assert twin.verify(A, B)
    for v in (A.mean(axis=0), B[0]):
        fast, twin = (caratheodory(A, v, kind=kind, method=method) for method in ("fast", "lp"))
        assert type(fast) is type(twin)
        assert fast.verify(A, v)
        assert twin.verify(A, v)


@pytest.mark.parametrize("lie", ["nothing", "opposite", "noise", "overflow"])
def test_a_lying_solver_changes_nothing(monkeypatch, lie):
    """Answers do not depend on what the solver says."""
    from geomdp.lp import separation

    def liar(program):
        N, p = program.generators.shape
        rng = np.random.default_rng(0)
        if lie == "nothing":
            return separation.Suggestion(np.zeros(p), ())
        if lie == "opposite":
            return separation.Suggestion(-program.target - 1.0, tuple(range(N))[::-1])
        if lie == "noise":
            return separation.Suggestion(rng.normal(size=p), tuple(rng.integers(0, N, 9).tolist()))
        return program.suggestion(np.full(p, np.nan), np.full(N, np.inf))

    rng = np.random.default_rng(5)
    A, B = rng.integers(-9, 10, (30, 3)), rng.integers(-9, 10, (30, 3))
    cases = [
        (A, B),
        (A + np.array([20, 0, 0]), B),
        (A, A[:1]),
        (A[:, [0, 0, 1]], B[:, [0, 0, 1]] + np.array([1, 0, 0])),
    ]
    honest = [type(separate(*case, kind=kind, method="lp")) for case in cases for kind in KINDS]
    monkeypatch.setattr(separation, "suggest_by_model", liar)
    answers = [(case, separate(*case, kind=kind, method="lp")) for case in cases for kind in KINDS]
    assert [type(answer) for _, answer in answers] == honest
    assert all(answer.verify(*case) for case, answer in answers)


def test_nothing_is_printed(capfd):
    """Neither route writes to the terminal."""
    A, B = np.eye(25, dtype=int), -np.eye(25, dtype=int)
    separate(A, B)
    separate(A, B, method="lp")
    assert capfd.readouterr() == ("", "")


# --- arguments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: separate([[1, 2]], [[1]]), r"'B' must be a 2-D array of rational numbers with 2 columns"),
        (lambda: separate([], []), r"'A' must be a 2-D array of rational numbers"),
        (lambda: separate([[1]], [[float("nan")]]), r"'B' must be .* an infinite or missing value"),
        (lambda: separate([[1]], [[1]], kind="conic"), r"'kind' must be one of 'affine', 'cone'"),
        (lambda: separate([[1]], [[1]], method="qp"), r"'method' must be one of 'fast', 'lp'"),
        (lambda: caratheodory([[1, 2]], [1]), r"'points' must be a 2-D array .* with 1 columns"),
        (lambda: caratheodory([[1]], 1), r"'v' must be a sequence of rational numbers"),
        (lambda: caratheodory([["x"]], [1]), r"'points' must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    """Every refusal names the argument and the requirement."""
    with pytest.raises(ArgumentError, match=message):
        call()
