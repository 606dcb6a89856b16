"""Laws of branching on rows, and of the textbook program that it replaces."""

import numpy as np
import pytest
from support.rows import degenerate, flipped, least_by_faces

from geomdp.lp.big_m import big_m
from geomdp.opt.branch import BranchTree
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.rows import rows_of
from geomdp.opt.subsystems import Pool
from geomdp.opt.verifier import _check_lemma


def test_degenerate_instances():
    """On random degenerate weighted instances branching proves the optimum of the recursion over faces."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        rows = rows_of(*degenerate(rng))
        if not rows.m:
            continue
        tree = BranchTree(Pool(rows, Incumbent(rows)), lambda: False)
        bound = tree.run()
        optimum = least_by_faces(rows.Z, rows.strict, rows.W)
        assert bound <= optimum <= tree.target
        _check_lemma("Lemma", tree.lemma(bound), rows, [])


def test_a_gap_of_the_packing_is_closed():
    """Where the best packing leaves a gap, branching closes it, and the tree verifies."""
    rows = rows_of(*flipped(40, 4, 0.25, 0))
    pool = Pool(rows, Incumbent(rows))
    tree = BranchTree(pool, lambda: False)
    bound = tree.run()
    assert tree.nodes > 1
    assert bound == tree.target == certified_optimum(*flipped(40, 4, 0.25, 0)).upper
    lemma = tree.lemma(bound)
    assert (lemma.arrays["nodes"] == 2).any()
    _check_lemma("Lemma", lemma, rows, [])


def test_stopped_branching_proves_less():
    """Stopped after any number of programs, the tree proves a bound that verifies."""
    rows = rows_of(*flipped(40, 4, 0.25, 0))
    for budget in (0, 3, 40, 200):
        calls = iter(range(budget))
        tree = BranchTree(Pool(rows, Incumbent(rows)), lambda calls=calls: next(calls, None) is None)
        bound = tree.run()
        _check_lemma("Lemma", tree.lemma(bound), rows, [])


@pytest.mark.parametrize("epsilon", [1e-6, 1e-8])
def test_a_solvers_optimum_is_not_a_proof(epsilon):
    """The textbook program with a small epsilon claims optima below the true one; ours is proved."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(12):
        X = np.c_[rng.integers(0, 4, (14, 2)), np.ones(14, dtype=np.int64)]
        y = rng.choice([-1, 1], 14)
        a, b = (y > 0).astype(np.int64), (y < 0).astype(np.int64)
        rows = rows_of(X, a, b)
        answer = big_m(rows.Z, rows.strict, rows.W, epsilon=epsilon)
        solved = certified_optimum(X, a, b)
        assert solved.lower == solved.upper
        wrong += answer.claims_optimal and round(answer.objective) + rows.base < solved.lower
    assert wrong >= 3


def test_antipodal_weak_rows_are_no_closed_halfspaces():
    """{(1,0)+, (-1,0)+, (0,1)-} has optimum 0, on the plane of two points; closed halfspaces would say 1."""
    X = np.array([[1, 0], [-1, 0], [0, 1]])
    solved = certified_optimum(X, np.array([1, 1, 0]), np.array([0, 0, 1]))
    assert (solved.lower, solved.upper) == (0, 0)
    assert solved.weights[0] == 0


def test_cases_do_not_share_their_decisions():
    """Of the cases below one another, each has its own decisions: the first ones, up to its own row."""
    rows = rows_of(np.array([[1, 2], [2, 1], [1, 1], [3, 1]]), np.array([5, 7, 0, 1]), np.array([0, 0, 2, 0]))
    best = Incumbent(rows)
    best.offer([1, 1])
    node, decided = BranchTree(Pool(rows, best), lambda: False).root, {}
    while node.right is not None:
        assert {i: s for i, s in enumerate(node.state) if s} == decided
        assert {i: s for i, s in enumerate(node.wrong.state) if s} == {**decided, node.row: -1}
        assert node.wrong.cost == rows.W[node.row]
        decided[node.row] = 1
        node = node.right
    assert len(decided) >= 2


PATH = np.array([[1, 1], [0, -1], [1, 0], [-1, 1], [-1, 0]])


@pytest.mark.parametrize("scale", [2**44, 2**50 + 1, 2**53])
def test_large_counts(scale):
    """Packings of rows that weigh up to 2^53 are held by int64: every method proves the same optimum."""
    a, b = np.array([scale + 1, scale + 1, 0, 1, scale + 1]), np.array([0, 0, scale, scale, scale])
    answers = [certified_optimum(PATH, a, b, method=method) for method in ("branch", "plane", "boxes")]
    assert len({(answer.lower, answer.upper) for answer in answers}) == 1
    assert answers[0].lower == answers[0].upper


def test_scaled_counts_scale_the_optimum():
    """At rank 9 the optimum of k * 2^46 records is 2^46 times that of k records."""
    rng = np.random.default_rng(3)
    X, k, y = rng.integers(-5, 6, (30, 9)), rng.integers(1, 4, 30), rng.integers(0, 2, 30)
    small = certified_optimum(X, k * y, k * (1 - y))
    large = certified_optimum(X, k * y << 46, k * (1 - y) << 46)
    assert small.method == large.method == "branch"
    assert large.lower == large.upper == small.lower << 46
