"""Laws of the box tree, the portfolio around it, and the planar and face sweeps."""

import itertools
import time

import numpy as np
import pytest
from support.rows import degenerate, flipped, least_by_faces, noisy_grid

from geomdp.opt import _box_kernels
from geomdp.opt.box_tree import BoxTree, StoppedError, Workshop, prove_subset, whitening
from geomdp.opt.faces import faces_optimum
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.planar import plane_optimum
from geomdp.opt.portfolio import certified_optimum, choose
from geomdp.opt.rows import box_rows, kernel_of, rows_of
from geomdp.opt.verifier import _check_lemma, verify_points


def check(X, a, b, **options):
    """Solve, compare with the independent recursion, and verify the certificate."""
    rows = rows_of(X, a, b)
    solved = certified_optimum(X, a, b, **options)
    expected = rows.base + (least_by_faces(rows.Z, rows.strict, rows.W) if rows.m else 0)
    assert (solved.lower, solved.upper) == (expected, expected), (X.tolist(), a.tolist(), b.tolist())
    assert verify_points(solved.certificate, X, a, b)
    return solved


@pytest.mark.parametrize("seed", range(4))
def test_degenerate_instances(seed):
    """On random degenerate weighted instances the certified optimum is that of the recursion over faces."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        check(*degenerate(rng), method=str(rng.choice(["auto", "boxes"])))


@pytest.mark.exhaustive
def test_many_degenerate_instances():
    """The same on 10,000 instances, each method in turn."""
    rng = np.random.default_rng(2027)
    for turn in range(10_000):
        check(*degenerate(rng), method=("auto", "boxes", "branch", "boxes")[turn % 4])


@pytest.mark.exhaustive
def test_degenerate_instances_of_rank_five():
    """In rank 5, where boxes cite lemmas of ranks 3 and 4, the optimum is that of the recursion."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        X = rng.integers(-1, 2, (7, 5))
        check(X, rng.integers(0, 3, 7), rng.integers(0, 3, 7))


def test_flat_boxes_cite_lemmas():
    """Rows through one w of rank 3 are closed by a lemma of their own; the proof is replayed with it."""
    X, a, b = noisy_grid((4, 4, 4), 3)
    solved = certified_optimum(X, a, b, method="boxes")
    kinds = [lemma.kind for lemma in solved.certificate.lemmas]
    assert solved.lower == solved.upper
    assert kinds[-1] == "boxes"
    assert len(kinds) > 1
    assert all(lemma.rows is not None for lemma in solved.certificate.lemmas[:-1])
    assert verify_points(solved.certificate, X, a, b)


@pytest.mark.parametrize(
    ("n", "d", "noise", "optimum"),
    [(200, 5, 0.1, 12), (200, 5, 0.3, 50), (1000, 5, 0.1, 88), (2000, 3, 0.3, None)],
)
def test_noisy_halfspaces(n, d, noise, optimum):
    """Instances of known optimum are closed, with certificates below 15 kB."""
    X, a, b = flipped(n, d, noise, 2)
    solved = certified_optimum(X, a, b)
    assert solved.lower == solved.upper == (optimum or solved.upper)
    assert len(solved.certificate.to_json()) < 15_000


def test_labels_turned_round_on_generic_data_and_scaled_rows():
    """Positive factors on rows and an invertible map of the columns change no optimum."""
    X, a, b = flipped(60, 3, 0.2, 7)
    rng = np.random.default_rng(1)
    T = np.array([[2, 1, 0], [0, 1, -3], [1, 0, 1]])
    expected = certified_optimum(X, a, b).upper
    assert certified_optimum(X * rng.integers(1, 5, (60, 1)), a, b).upper == expected
    assert certified_optimum(X @ T, a, b).upper == expected


def test_whitening_is_invertible():
    """The transform is invertible on ill-conditioned, tiny and rank-deficient data alike."""
    for Z in ([[1, 0], [0, 1]], [[10**9, 1], [-(10**9), 2]], [[1, 1], [2, 2]], [[2**70, 1], [1, 2**70]]):
        T = whitening(np.array(Z, dtype=object if max(map(max, Z)) > 2**62 else np.int64))
        assert kernel_of(T)[0] == ()


def test_box_rows_bound_their_rounding():
    """Rounded rows stand for the exact ones within their stated error, for every v of the cube."""
    rng = np.random.default_rng(0)
    Z = rng.integers(-(2**40), 2**40, (20, 3))
    T = rng.integers(-99, 99, (3, 3))
    Y, E = box_rows(Z, T)
    exact = Z.astype(object) @ T.astype(object)
    for _ in range(20):
        v = rng.integers(-(2**20), 2**20 + 1, 3)
        for i in range(20):
            size = max(abs(int(x)) for x in exact[i])
            shift = max(size.bit_length() - 21, 0)
            assert abs(int(exact[i] @ v.astype(object)) - (int(Y[i] @ v) << shift)) <= int(E[i]) << shift


def test_an_unfinished_tree_proves_what_its_open_boxes_cost():
    """A tree stopped at any moment becomes a proof of a smaller bound, and that proof holds."""
    X, a, b = flipped(150, 5, 0.3, 4)
    rows = rows_of(X, a, b)
    optimum = certified_optimum(X, a, b).upper - rows.base
    for stop_after in (0, 1, 3):
        calls = []

        def beat(fraction, calls=calls, stop_after=stop_after):
            calls.append(fraction)
            if len(calls) > stop_after:
                raise StoppedError

        tree = BoxTree(Workshop(rows, heartbeat=beat), None, optimum, lambda w: optimum)
        tree.ctrl[_box_kernels.BUDGET] = 500  # short slices
        try:
            tree.run()
        except StoppedError:
            tree.close()
        lemma = tree.lemma()
        assert 0 <= lemma.bound <= optimum
        _check_lemma("Lemma", lemma, rows, [])


def test_prove_subset_finds_a_cheaper_w_or_a_proof():
    """For every target up to the optimum of a subset there is a lemma, and above it a w that costs less."""
    X, a, b = flipped(40, 4, 0.3, 5)
    rows = rows_of(X, a, b)
    index = np.arange(0, rows.m, 2)
    part = rows.subset(index)
    optimum = certified_optimum(
        np.where(part.strict[:, None], -part.Z, part.Z), part.W * ~part.strict, part.W * part.strict
    ).upper
    workshop = Workshop(rows)
    number, bound, w = prove_subset(workshop, index, optimum)
    assert (number, bound, w) == (0, optimum, None)
    number, cost, w = prove_subset(workshop, index, optimum + 1)
    assert number == -1
    assert part.cost(w) == cost <= optimum


def test_time_limits_give_certified_intervals():
    """At every time limit the interval is certified, and it holds the optimum."""
    X, a, b = flipped(120, 6, 0.3, 3)
    started = time.monotonic()
    for limit in (0, 0.01, 0.3):
        solved = certified_optimum(X, a, b, time_limit=limit)
        assert solved.lower <= solved.upper
        assert verify_points(solved.certificate, X, a, b)
    assert time.monotonic() - started < 60
    assert certified_optimum(X, a, b, time_limit=0).lower == rows_of(X, a, b).base


def test_watch_sees_the_bounds_close_in():
    """The watched bounds are monotone, hold the optimum throughout, and end at the result."""
    seen = []
    X, a, b = flipped(100, 4, 0.2, 3)
    solved = certified_optimum(X, a, b, watch=lambda *row: seen.append(row))
    assert seen[-1][1:] == (solved.lower, solved.upper)
    for (s, low, high), (t, lower, upper) in itertools.pairwise(seen):
        assert s <= t
        assert low <= lower <= solved.upper <= upper <= high


def test_methods_agree():
    """Boxes, branching and the choice of the rule give one optimum, each with its own certificate."""
    for seed in range(3):
        X, a, b = flipped(40, 4, 0.07, seed)
        values = set()
        for method in ("auto", "boxes", "branch"):
            solved = certified_optimum(X, a, b, method=method)
            values.add((solved.lower, solved.upper))
            assert verify_points(solved.certificate, X, a, b)
        assert len(values) == 1


def test_the_rule_is_public():
    """The choice depends on the number of rows and their rank alone."""
    assert [choose(100, r) for r in (0, 1, 2, 3, 8, 9)] == [
        "plane",
        "plane",
        "plane",
        "boxes",
        "boxes",
        "branch",
    ]
    assert choose(0, 20) == "plane"
    assert [choose(m, 3) for m in (64, 65)] == ["faces", "boxes"]
    assert [choose(m, 4) for m in (5, 6)] == ["faces", "boxes"]


@pytest.mark.parametrize("side", [4, 8])
@pytest.mark.parametrize("kind", ["conflicting", "turned", "separable"])
def test_small_grids_need_no_compiled_search(side, kind, monkeypatch):
    """A small grid, however its cells conflict, is swept face by face; no search or box tree is begun."""
    rng = np.random.default_rng(side)
    X = np.array([[i, j, 1] for i in range(side) for j in range(side)])
    a = rng.integers(200, 280, len(X)) * (X[:, 0] + X[:, 1] > side)
    b = rng.integers(200, 280, len(X)) * (X[:, 0] + X[:, 1] <= side)
    if kind == "turned":  # the other party's labels are the opposite ones
        a, b = a + rng.integers(200, 280, len(X)) * (b > 0), b + rng.integers(200, 280, len(X)) * (a > 0)
    if kind == "conflicting":
        a, b = rng.integers(0, 500, (2, len(X)))
    boxes = certified_optimum(X, a, b, method="boxes")
    monkeypatch.setattr("geomdp.opt.portfolio._Work._seek", None)
    monkeypatch.setattr("geomdp.opt.portfolio._Work._boxes", None)
    solved = certified_optimum(X, a, b)
    assert solved.lower == solved.upper == boxes.upper
    assert solved.method == "faces"
    assert verify_points(solved.certificate, X, a, b)
    assert {lemma.kind for lemma in solved.certificate.lemmas} <= {"faces"}


def test_weights_up_to_a_billion():
    """Records with weights of 10^9 are counted exactly."""
    X, a, b = flipped(50, 3, 0.2, 1)
    one = certified_optimum(X, a, b)
    heavy = certified_optimum(X, a * 10**9, b * 10**9)
    assert (heavy.lower, heavy.upper) == (one.lower * 10**9, one.upper * 10**9)


def test_planar_sweep_against_the_recursion():
    """The angular sweep agrees with the recursion in ranks 1 and 2, with small and with wide numbers."""
    rng = np.random.default_rng(8)
    for turn in range(150):
        Z = rng.integers(-3, 4, (int(rng.integers(1, 7)), int(rng.integers(1, 3))))
        Z = Z[(Z != 0).any(axis=1)]
        if not len(Z):
            continue
        strict, W = rng.random(len(Z)) < 0.5, rng.integers(1, 5, len(Z))
        wide = Z.astype(object) * 2**70 if turn % 3 == 0 else Z * 2**30 if turn % 3 == 1 else Z
        value, w = plane_optimum(wide, strict, W)
        assert value == least_by_faces(Z, strict, W)
        products = wide.astype(object) @ np.array(w, dtype=object)
        assert (
            int(W[[bool(p <= 0) if s else bool(p < 0) for p, s in zip(products, strict, strict=True)]].sum())
            == value
        )


def test_face_sweep_against_the_recursion():
    """The face sweep agrees with the recursion, and its w costs its value."""
    rng = np.random.default_rng(9)
    for _ in range(60):
        rows = rows_of(*degenerate(rng, most=6))
        if not rows.m:
            continue
        dropped, _ = kernel_of(rows.Z)
        columns = [c for c in range(rows.d) if c not in dropped]
        value, w = faces_optimum(rows.Z[:, columns], rows.strict, rows.W)
        assert value == least_by_faces(rows.Z, rows.strict, rows.W)
        full = np.zeros(rows.d, dtype=object)
        full[columns] = w
        assert rows.cost(full) == value


def test_incumbent_counts_before_it_believes():
    """A candidate replaces the best only by its own integer count, at any size of its entries."""
    rows = rows_of(*flipped(30, 3, 0.1, 0))
    best = Incumbent(rows)
    start = best.cost
    assert not best.offer([0, 0, 0])
    best.offer_floats(np.array([np.nan, 1.0, 0.0]))
    assert best.cost == start
    best.offer([10**30, 3 * 10**29, 10**28])
    assert best.cost == rows.cost(np.array(best.weights, dtype=object))


def test_a_time_limit_stops_a_search_over_many_rows():
    """The compiled search hands control back after bounded work: a short limit gives an interval."""
    rng = np.random.default_rng(0)
    points = np.unique(np.c_[rng.integers(0, 16, (1000, 5)), np.ones(1000, int)], axis=0)
    a = rng.integers(0, 2, len(points))
    solved = certified_optimum(points, a, 1 - a, time_limit=0.2)
    assert solved.lower < solved.upper


def test_a_search_that_fills_its_buffers_hears_the_heartbeat():
    """A tree whose buffers are always full asks whether to stop, though no slice is ever used up."""
    rows = rows_of(*flipped(60, 4, 0.2, 1))
    calls = []

    def heartbeat(fraction):
        calls.append(fraction)
        if len(calls) == 3:
            raise StoppedError

    tree = BoxTree(Workshop(rows, heartbeat=heartbeat), None, 9, lambda w: 9)
    whole, tree.buffers = tree.buffers, tuple(buffer[:1] for buffer in tree.buffers)
    with pytest.raises(StoppedError):
        tree.run()
    assert len(calls) == 3
    tree.buffers = whole
    tree.close()
    _check_lemma("Lemma", tree.lemma(), rows, [])


def test_every_return_of_the_search_is_a_heartbeat():
    """Between two heartbeats a tree calls the compiled search once, also inside the proofs of its lemmas."""
    X, a, b = noisy_grid((4, 4, 4), 3)
    rows, stops = rows_of(X, a, b), 0
    optimum = certified_optimum(X, a, b, method="boxes").lower - rows.base
    for limit in range(0, 60, 7):
        calls = []

        def heartbeat(fraction, calls=calls, limit=limit):
            calls.append(fraction)
            if len(calls) > limit:
                raise StoppedError

        workshop = Workshop(rows, heartbeat=heartbeat)
        tree = BoxTree(workshop, None, optimum, lambda w: optimum)
        try:
            tree.run()
        except StoppedError:
            stops += 1
            assert limit < len(calls) <= limit + rows.d  # a nested tree asks again on its way out
            assert all(known[0] >= 0 or known[2] is not None for known in workshop.known.values())
            tree.close()
        proved = []
        for number, lemma in enumerate((*workshop.lemmas, tree.lemma())):
            proved.append((lemma.bound, _check_lemma(f"Lemma {number}", lemma, rows, proved)))
    assert stops > 3
