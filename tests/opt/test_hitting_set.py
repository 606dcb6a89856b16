"""Laws of infeasible subsystems, their packings, elastic programs, and lifting."""

import numpy as np
import pytest
from support.rows import degenerate, flipped, least_by_faces, pinned

from geomdp.exact.linear import nullspace
from geomdp.lp.infeasible import (
    CoverMaster,
    ElasticProgram,
    RayFinder,
    SubsystemFinder,
    common_point,
    packing_twin,
    subsystem_twin,
)
from geomdp.opt.certificate import PACKED, Certificate
from geomdp.opt.elastic import elastic_upper, snapped
from geomdp.opt.hitting_set import exact_packing, improve_by_covers, pack_rows, subsets_lemma
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.lifting import dependency
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.rows import rows_of
from geomdp.opt.subsystems import Pool, derive
from geomdp.opt.verifier import _check_lemma, verify_points


def is_infeasible(rows, found):
    """Positive multipliers, zero sum, a strict row: checked in Python integers."""
    total = [0] * rows.d
    strict = False
    for i, lam in zip(found.rows, found.multipliers, strict=True):
        sign = -1 if i in found.wrong else 1
        total = [t + lam * sign * int(z) for t, z in zip(total, rows.Z[i], strict=True)]
        strict |= bool(rows.strict[i]) ^ (sign < 0)
        if lam <= 0:
            return False
    return strict and not any(total)


def test_lifting_agrees_with_elimination():
    """The lifted dependency is the nullspace of the rows when that is a line, and None otherwise."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        k = int(rng.integers(1, 6))
        Z = rng.integers(-2, 3, (k, max(1, k - 1 + int(rng.integers(0, 2)))))
        basis, found = nullspace(Z.T), dependency(Z)
        if len(basis) == 1:
            assert found is not None
            assert found in (list(basis[0]), [-v for v in basis[0]])
        else:
            assert found is None


@pytest.mark.parametrize("size", [10, 2**20, 2**70])
def test_lifting_at_any_size(size):
    """Dependencies of generic rows are exact for narrow and for wide entries."""
    rng = np.random.default_rng(1)
    entry = lambda: int(rng.integers(-9, 10)) * size + int(rng.integers(-9, 10))  # noqa: E731
    Z = np.array([[entry() for _ in range(6)] for _ in range(7)], dtype=object)
    lam = dependency(Z)
    assert lam is not None
    assert not (np.array(lam, dtype=object) @ Z).any()


def test_found_subsystems_are_infeasible():
    """Every subsystem that is kept sums to zero with positive multipliers and a strict row."""
    for seed in range(3):
        rows = rows_of(*flipped(60, 5, 0.15, seed))
        pool = Pool(rows, Incumbent(rows))
        state = np.zeros(rows.m, dtype=np.int64)
        state[:3] = -1
        state[3:6] = 1
        pool.more(np.zeros(rows.m), state, 30, lambda: False)
        pool.more(np.zeros(rows.m), np.zeros(rows.m, dtype=np.int64), 30, lambda: False)
        assert len(pool.sets) > 10
        assert all(is_infeasible(rows, found) for found in pool.sets)


def test_rays_are_infeasible_subsystems():
    """Dual rays of the primal program are infeasible subsystems too, and solutions make the rows right."""
    rows = rows_of(*pinned(12, 60, 1, flip=0.05))
    finder = RayFinder(rows.Z, rows.strict)
    off = np.zeros(rows.m, dtype=bool)
    for _ in range(40):
        found = finder.find(off)
        if not isinstance(found, tuple):
            break
        exact = derive(rows, *found)
        assert exact is not None
        assert is_infeasible(rows, exact)
        off[exact.rows[-1]] = True
    assert isinstance(found, np.ndarray)
    left = rows.subset(np.flatnonzero(~off))
    assert left.cost(np.array(snapped(found, 1000), dtype=object)) == 0


def test_cover_is_dual_to_packing():
    """The cover's value is its dual packing's, and that of the CVXPY twin."""
    rng = np.random.default_rng(3)
    W = rng.integers(1, 6, 9)
    sets = [sorted(rng.choice(9, int(rng.integers(2, 5)), replace=False).tolist()) for _ in range(12)]
    master = CoverMaster(W)
    for members in sets:
        master.add(members)
    value, y, mu = master.solve()
    load = np.zeros(9)
    for members, weight in zip(sets, mu, strict=True):
        load[members] += weight
        assert y[members].sum() >= 1 - 1e-7
    assert (load <= W + 1e-7).all()
    assert value == pytest.approx(mu.sum())
    assert value == pytest.approx(packing_twin(sets, W))


def test_finder_agrees_with_its_twin():
    """The cheapest vertex has the same cost as the CVXPY program's, and none exists for separable rows."""
    rng = np.random.default_rng(4)
    rows = rows_of(*flipped(25, 3, 0.3, 4))
    unit = rows.Z / np.linalg.norm(rows.Z, axis=1, keepdims=True)
    cost = rng.random(rows.m)
    value, *_ = SubsystemFinder(rows.Z, rows.strict).find(cost)
    assert value == pytest.approx(subsystem_twin(unit, rows.strict, cost))
    easy = rows_of(*flipped(25, 3, 0.0, 4))
    assert SubsystemFinder(easy.Z, easy.strict).find(np.ones(easy.m)) is None
    assert subsystem_twin(easy.Z, easy.strict, np.ones(easy.m)) is None
    w = common_point(easy.Z, easy.strict)
    assert w is not None


def test_packings_are_lower_bounds_that_verify():
    """A packing's bound is at most the optimum of the independent recursion, and its lemma verifies."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        rows = rows_of(*degenerate(rng))
        if not rows.m:
            continue
        pool = Pool(rows, Incumbent(rows))
        packing, _, _ = pack_rows(
            pool, lambda pool=pool: pool.incumbent.cost, np.zeros(rows.m, dtype=np.int64), [], lambda: False
        )
        assert packing is not None
        assert packing.bound <= least_by_faces(rows.Z, rows.strict, rows.W) <= pool.incumbent.cost
        lemma = subsets_lemma(pool.sets, packing.bound, [(PACKED, packing)], [])
        _check_lemma("Lemma", lemma, rows, [])


def test_exact_packings_respect_every_load():
    """Weights that overload a row are scaled down until no load exceeds its weight."""
    rows = rows_of(*flipped(40, 3, 0.3, 1))
    pool = Pool(rows, Incumbent(rows))
    state = np.zeros(rows.m, dtype=np.int64)
    numbers, _ = pool.more(np.zeros(rows.m), state, 20, lambda: False)
    packing = exact_packing(pool, numbers, np.full(len(numbers), 1.7), state)
    load = np.zeros(rows.m, dtype=np.int64)
    for k, weight in zip(packing.numbers, packing.weights, strict=True):
        load[list(pool.sets[k].rows)] += weight
    assert (load <= rows.W * 2**20).all()


def test_structured_rows_are_solved_exactly():
    """Pinned sparse rows: the snapped elastic witness is optimal where raw floats would miss tight rows."""
    X, a, b = pinned(20, 150, 3, flip=0.02)
    rows = rows_of(X, a, b)
    best = Incumbent(rows)
    elastic_upper(best)
    solved = certified_optimum(X, a, b, time_limit=60)
    assert solved.method == "branch"
    assert solved.lower == solved.upper
    assert best.cost + rows.base <= solved.upper + 3
    assert verify_points(Certificate.from_json(solved.certificate.to_json()), X, a, b)


def test_elastic_program_without_errors_has_no_slack():
    """On separable rows the elastic program ends without slack, and the common point makes all rows right."""
    rows = rows_of(*flipped(30, 3, 0.0, 2))
    w, slack = ElasticProgram(rows.Z, rows.strict).solve(np.ones(rows.m), 10.0)
    assert slack.max() < 1e-6
    assert len(w) == rows.d
    inside = common_point(rows.Z, rows.strict)
    assert rows.cost(np.array(snapped(inside * 2.0**20, 1), dtype=object)) == 0


def test_covers_improve_witnesses():
    """Whole covers lead from a poor witness to a better one, or leave it."""
    rows = rows_of(*flipped(80, 6, 0.05, 3))
    pool = Pool(rows, Incumbent(rows))
    state = np.zeros(rows.m, dtype=np.int64)
    _, numbers, _ = pack_rows(pool, lambda: 10**9, state, [], lambda: False, rounds=4)
    before = pool.incumbent.cost
    improve_by_covers(pool, numbers, lambda: False)
    assert pool.incumbent.cost <= before
    assert pool.incumbent.cost <= 6


def test_moderate_dimension_is_closed():
    """A low-noise instance of rank 10 is closed by packing, and its certificate is replayed."""
    X, a, b = flipped(300, 10, 0.02, 2)
    solved = certified_optimum(X, a, b, time_limit=60)
    assert solved.lower == solved.upper
    assert solved.certificate.lemmas[-1].kind == "subsets"
