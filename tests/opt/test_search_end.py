"""Laws of how a search ends: with the optimum, or with an interval and the reason for it."""

import numpy as np
import pytest
from support.rows import degenerate, flipped, least_by_faces, pinned

from geomdp import ArgumentError, Domain, Sample, opt_halfspace
from geomdp.lp.infeasible import RayFinder
from geomdp.opt import portfolio, subsystems
from geomdp.opt.branch import BranchTree
from geomdp.opt.consistency import consistent
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.parts import pack_parts
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.rows import rows_of
from geomdp.opt.subsystems import Pool, Subsystem
from geomdp.opt.verifier import _check_lemma, verify_points


def turned(rows, state):
    """Return (Z, strict) with rows decided to be wrong turned around."""
    wrong = state < 0
    return rows.Z * np.where(wrong, -1, 1)[:, None], rows.strict ^ wrong


def shows_infeasibility(rows, state, found):
    """Positive multipliers, sum zero, a strict member: in Python integers."""
    Z, strict = turned(rows, state)
    total = [0] * rows.d
    for i, v in zip(found.rows, found.multipliers, strict=True):
        total = [t + v * int(z) for t, z in zip(total, Z[i], strict=True)]
    return min(found.multipliers) > 0 and not any(total) and any(strict[i] for i in found.rows)


def test_consistency_is_decided_with_a_witness_for_either_answer():
    """Chosen rows, some of them to be wrong, get a w that does so or a subsystem that forbids it."""
    rng, answers = np.random.default_rng(3), set()
    for _ in range(150):
        rows = rows_of(*degenerate(rng))
        if not rows.m:
            continue
        state = rng.choice([-1, 0, 1], rows.m)
        index = np.flatnonzero(rng.random(rows.m) < 0.6)
        answer = consistent(rows, index, state)
        Z, strict = turned(rows, state)
        if isinstance(answer, Subsystem):
            assert shows_infeasibility(rows, state, answer)
            assert set(answer.rows) <= set(index.tolist())
        else:
            values = Z[index].astype(object) @ np.array(answer, dtype=object)
            assert all(v >= s for v, s in zip(values, strict[index], strict=True))
        possible = least_by_faces(Z[index], strict[index], np.ones(len(index), dtype=int)) == 0
        assert possible != isinstance(answer, Subsystem)
        answers.add(possible)
    assert answers == {True, False}


def test_rays_know_decided_rows():
    """Among rows that are to be wrong, the primal program finds a w or a subsystem of the turned rows."""
    rows, kinds = rows_of(*flipped(30, 4, 0.2, 1)), set()
    rng = np.random.default_rng(0)
    finder = RayFinder(rows.Z, rows.strict)
    for _ in range(30):
        state = rng.choice([-1, 0], rows.m, p=[0.2, 0.8])
        off = rng.random(rows.m) < rng.choice([0.2, 0.8, 0.9])
        found = finder.find(off, state < 0)
        kinds.add(type(found))
        if isinstance(found, tuple):
            exact = subsystems.derive(rows, *found, state)
            assert exact is not None
            assert shows_infeasibility(rows, state, exact)
            assert not off[list(exact.rows)].any()
    assert kinds == {tuple, np.ndarray}


def test_an_exhausted_window_lets_rows_in(monkeypatch):
    """Where subsystems are sought in a window of the rows, branching proves the same optima."""
    monkeypatch.setattr(subsystems, "RAY_COLUMNS", 1)
    monkeypatch.setattr(subsystems, "FRESH", 1)
    rng = np.random.default_rng(12)
    for data in [*(degenerate(rng) for _ in range(40)), flipped(30, 4, 0.25, 0)]:
        rows = rows_of(*data)
        if not rows.m:
            continue
        tree = BranchTree(Pool(rows, Incumbent(rows)), lambda: False)
        assert tree.pool.wide
        bound = tree.run()
        assert bound == tree.target == certified_optimum(*data).upper - rows.base
        _check_lemma("Lemma", tree.lemma(bound), rows, [])


def test_branching_ends_with_the_optimum_when_floats_find_nothing(monkeypatch):
    """With finders that find nothing and offers that are ignored, cases are decided in integers."""
    monkeypatch.setattr(Pool, "more", lambda self, *rest: ([], True))
    rng = np.random.default_rng(13)
    for _ in range(25):
        data = degenerate(rng, most=6)
        rows = rows_of(*data)
        if rows.m:
            tree = BranchTree(Pool(rows, Incumbent(rows)), lambda: False)
            bound = tree.run()
            assert bound == tree.target == least_by_faces(rows.Z, rows.strict, rows.W)
            _check_lemma("Lemma", tree.lemma(bound), rows, [])


def test_heavy_rows_come_first_however_many_they_are():
    """1,500 rows too heavy to be wrong are decided one below the other, and the tree verifies."""
    X, a, b = pinned(4, 30, 1, pin=40, flip=0.2)
    rng = np.random.default_rng(0)
    heavy = np.c_[np.ones(1500, dtype=np.int64), np.arange(1500), rng.integers(0, 9, (1500, 2))]
    data = np.vstack([X, heavy]), np.r_[a, np.full(1500, 40)], np.r_[b, np.zeros(1500, dtype=int)]
    rows = rows_of(*data)
    best = Incumbent(rows)
    best.offer(certified_optimum(*data).weights)
    tree = BranchTree(Pool(rows, best), lambda: False)
    bound = tree.run()
    lemma = tree.lemma(bound)
    assert len(lemma.arrays["branch_row"]) >= 1500
    assert bound == best.cost
    _check_lemma("Lemma", lemma, rows, [])


def test_packings_of_parts_are_bounds_that_verify():
    """Packings of disjoint parts add up to a bound below the optimum, whatever the parts."""
    data = flipped(60, 4, 0.2, 2)
    rows, optimum = rows_of(*data), certified_optimum(*data).upper
    for size in (10, 25, 60):
        best = Incumbent(rows)
        bounds = []
        for lemma in pack_parts(best, lambda: False, size, 8, seed=size):
            _check_lemma("Lemma", lemma, rows, [])
            bounds.append(lemma.bound)
        assert bounds == sorted(bounds)
        assert 0 < bounds[-1] + rows.base <= optimum <= best.cost + rows.base


def test_an_interval_has_its_reason(monkeypatch):
    """Out of time, or with too many rows to branch on, the interval says so; an optimum has no reason."""
    X, a, b = flipped(60, 10, 0.1, 3)
    whole = certified_optimum(X, a, b)
    assert (whole.lower, whole.reason) == (whole.upper, "")
    assert certified_optimum(X, a, b, time_limit=0).reason == "time limit"
    monkeypatch.setattr(portfolio, "PACK_ROWS", 20)
    part = certified_optimum(X, a, b)
    assert 0 < part.lower <= whole.upper <= part.upper
    assert part.reason == ("" if part.lower == part.upper else "too many rows")
    assert verify_points(part.certificate, X, a, b)


@pytest.mark.parametrize(("limit", "reason"), [(0, "time limit"), (None, "")])
def test_the_result_names_the_reason(limit, reason):
    """The result of opt_halfspace, and its JSON form, say why it is an interval."""
    X, a, b = flipped(40, 3, 0.3, 1)
    result = opt_halfspace(Sample.from_counts(Domain(X), a, b), time_limit=limit)
    assert result.reason == reason == result.to_dict()["reason"]
    assert result.optimal == (not reason)


@pytest.mark.parametrize("limit", [10**400, float("inf"), np.int64(10**10), np.float32(1e30), np.int64(600)])
def test_long_time_limits_are_none(limit):
    """More seconds than a clock counts are no limit, and numpy's numbers are numbers."""
    X, a, b = flipped(30, 3, 0.2, 0)
    S = Sample.from_counts(Domain(X), a, b)
    assert opt_halfspace(S, time_limit=limit).upper == opt_halfspace(S).upper
    assert opt_halfspace(S, time_limit=limit).optimal


@pytest.mark.parametrize("limit", [-1, float("nan"), True, "1", np.int64(-1), 1j])
def test_other_time_limits_are_refused(limit):
    """A negative limit, or one that is no number, is an argument error."""
    with pytest.raises(ArgumentError, match="'time_limit'"):
        opt_halfspace(Sample.from_counts(Domain([[1]]), [1], [0]), time_limit=limit)
