"""Laws of the parts of the sweeps: exact order, presolve, steps between planes, threads."""

import itertools
import threading
import time
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.classifier import products
from geomdp.opt import _kernels, parallel
from geomdp.opt.parallel import spread
from geomdp.opt.planes import lift_along, project_along, push_off
from geomdp.opt.presolve import independent_columns, lines_of
from geomdp.opt.rows import primitive
from geomdp.opt.sweep2 import _circle_of_wide, circle_of
from geomdp.opt.sweep3 import Arrangement, direction, sweep_planes

words = st.one_of(st.integers(-(2**62) + 1, 2**62 - 1), st.integers(-3, 3))
heights = st.one_of(st.integers(0, 2**62 - 1), st.integers(0, 3))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(words, heights, words, heights, st.integers(-1, 1))
def test_turn_is_the_sign_of_the_cross_product(ax, ay, bx, by, nudge):
    """The compiled comparison agrees with Python integers on all words, near-ties included."""
    for x, y in ((bx, by), (ax, max(0, min(ay + nudge, 2**62 - 1)))):
        cross = ax * y - ay * x
        assert _kernels.turn(ax, ay, x, y) == (cross > 0) - (cross < 0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 2**60),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-1, 1)), min_size=1, max_size=12),
)
def test_order_is_exact(scale, rows):
    """Compiled and rational orders of lines around the circle are the same, ties included, up to 2^62."""
    vectors = [(scale * x + e, scale * y - e) for x, y, e in rows if (scale * x + e, scale * y - e) != (0, 0)]
    if not vectors:
        return
    array = np.array(vectors, dtype=np.int64)
    fast, slow = circle_of(array), _circle_of_wide(array)
    assert fast.fresh.tolist() == slow.fresh.tolist()
    runs = np.cumsum(fast.fresh)
    for run in range(1, runs[-1] + 1):
        assert set(fast.order[runs == run]) == set(slow.order[runs == run])


def test_rounded_slopes_suffice_below_the_bound():
    """The two closest slopes below the key bound differ after rounding; above it, exact ties are found."""
    top = _kernels.EXACT_KEYS - 1
    close = np.array([[top - 1, top], [top - 2, top - 1]])
    assert circle_of(close).fresh.all()
    wide = 2**61
    far = np.array([[wide - 1, wide], [wide - 2, wide - 1], [2, 2]])
    assert float(far[0, 0] / far[0, 1]) == float(far[1, 0] / far[1, 1])
    assert circle_of(far).fresh.all()


@pytest.mark.parametrize("seed", range(20))
def test_columns_span(seed):
    """The chosen columns have the rank of the whole matrix, by rational elimination."""
    sympy = pytest.importorskip("sympy")
    rng = np.random.default_rng(seed)
    d, r = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    X = rng.integers(-2, 3, (7, r)) @ rng.integers(-2, 3, (r, d)) * (10 ** int(rng.integers(0, 8)))
    columns = independent_columns(X)
    rank = sympy.Matrix(X.tolist()).rank()
    assert len(columns) == rank
    if columns:
        assert sympy.Matrix(X[:, list(columns)].tolist()).rank() == rank


def test_lines_keep_every_gain():
    """The gain of any w is the same on the points and on the merged lines."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.integers(-2, 3, (9, 3)) * np.array([1, 1, int(rng.integers(0, 2))])
        gains = rng.integers(-4, 5, (2, 9))
        L = lines_of(X, gains)
        for w in rng.integers(-3, 4, (20, 3)):
            kept = L.vectors @ w[list(L.columns)] if L.rank < 3 else L.vectors @ w
            lifted = np.array(L.lift(w[list(L.columns)]))
            values = X @ lifted
            expected = (gains * (values >= 0)).sum(axis=1)
            got = (L.forward * (kept >= 0)).sum(axis=1) + (L.backward * (kept <= 0)).sum(axis=1) + L.constant
            assert np.array_equal(got, expected)


def test_primitive_keeps_the_ray():
    """Dividing by the gcd keeps direction and orientation, at every size of entries."""
    for rows in ([[4, -6], [0, 5]], [[2**70, 2**71], [3, 0]], [[-(2**63), 2**62], [7, 7]]):
        X = np.array(rows, dtype=object)
        for row, unit in zip(rows, primitive(X).tolist(), strict=True):
            ratio = {Fraction(a, b) for a, b in zip(row, unit, strict=True) if b}
            assert len(ratio) == 1
            assert min(ratio) > 0


def test_steps_between_planes():
    """Lifted weights lie on the plane with the projected products; a push changes only its plane's sign."""
    rng = np.random.default_rng(1)
    for scale in (1, 2**40):
        X = rng.integers(-3, 4, (6, 4)) * scale + rng.integers(0, 2, (6, 4))
        X = X[(X != 0).any(axis=1)].astype(object)
        for i in range(len(X)):
            u = [int(v) for v in rng.integers(-5, 6, 3)]
            w = lift_along(X[i], u)
            others = np.delete(X, i, axis=0)
            on = products(X, np.array(w, dtype=object))
            assert on[i] == 0
            assert (
                np.delete(on, i).tolist() == products(project_along(X, i), np.array(u, dtype=object)).tolist()
            )
            assert len(others) == len(X) - 1
            for side in (1, -1):
                values = products(X, np.array(push_off(X, i, w, side), dtype=object))
                assert np.sign(float(values[i])) == side
                crossed = [j for j in range(len(X)) if on[j] != 0 and (values[j] > 0) != (on[j] > 0)]
                assert not crossed


@pytest.mark.parametrize("d", [3, 4])
def test_pointed_domains_need_no_faces(d):
    """With a bias coordinate the best open cell is as good as the best face, along ascending chains only."""
    rng = np.random.default_rng(d)
    for _ in range(10):
        X = np.unique(np.hstack([rng.integers(0, 3, (9, d - 1)), np.ones((9, 1), dtype=np.int64)]), axis=0)
        gains = rng.integers(-5, 6, (1, len(X)))
        L = lines_of(X, gains)
        if L.rank < 3:
            continue
        assert L.pointed
        labels = np.arange(len(L.vectors))
        cells = sweep_planes(Arrangement(L.vectors, L.forward, L.backward, False, labels))
        every = sweep_planes(Arrangement(L.vectors, L.forward, L.backward, True, labels))
        assert cells.least[0] == every.least[0] == every.least_cells[0]


def test_batches_agree_with_single_fields():
    """Forty fields swept together have the least gains that each has alone."""
    rng = np.random.default_rng(8)
    X = np.array([[a, b, 1] for a in range(4) for b in range(5)])
    L = lines_of(X, rng.integers(-9, 10, (40, 20)))
    labels = np.arange(20)
    together = sweep_planes(Arrangement(L.vectors, L.forward, L.backward, False, labels)).least
    for b in range(40):
        one = slice(b, b + 1)
        A = Arrangement(L.vectors, L.forward[one], L.backward[one], False, labels)
        swept = sweep_planes(A)
        assert swept.least[0] == together[b]
        w = np.array(direction(A, swept.descent(cells_only=True)))
        assert (L.forward[b] * (L.vectors @ w >= 0)).sum() + (
            L.backward[b] * (L.vectors @ w <= 0)
        ).sum() == together[b]


def test_spread_runs_every_block_once():
    """Each item is worked on exactly once, on any number of threads, and progress ends at 1."""
    for threads in (1, 2, 5):
        seen, told = [], []
        lock = threading.Lock()

        def work(first, last, seen=seen, lock=lock):
            with lock:
                seen.extend(range(first, last))

        assert spread(work, 103, 4, threads=threads, progress=told.append)
        assert sorted(seen) == list(range(103))
        assert told == sorted(told)
        assert told[-1] == 1
        assert spread(work, 0, 4, threads=threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_spread_stops(threads):
    """A passed deadline, or enough, begins no further block and says that the work is incomplete."""
    seen = []
    late = time.monotonic() - 1
    assert not spread(lambda first, last: seen.append(first), 50, 1, deadline=late, threads=threads)
    assert not seen
    assert not spread(lambda f, _: seen.append(f), 50, 1, enough=lambda: len(seen) > 3, threads=threads)
    assert 3 < len(seen) < 20


def test_spread_passes_errors_on():
    """An error in a block reaches the caller."""

    def work(first, last):
        raise ZeroDivisionError(first + last)

    for threads in (1, 2):
        with pytest.raises(ZeroDivisionError):
            spread(work, 40, 1, threads=threads)


@pytest.mark.parametrize("d", [3, 4, 5])
def test_a_sweep_cut_short_says_so(d, monkeypatch):
    """Whenever the clock runs out, deep inside too, a sweep called complete has the least gain of all."""
    rng = np.random.default_rng(d)
    X = np.hstack([rng.integers(0, 3, (7, d - 1)), np.ones((7, 1), dtype=np.int64)])
    L = lines_of(X, rng.integers(-5, 6, (1, 7)))
    A = Arrangement(L.vectors, L.forward, L.backward, False, np.arange(len(L.vectors)))
    full = sweep_planes(A).least[0]
    cut = 0
    for ticks in range(60):
        clock = itertools.count()
        monkeypatch.setattr(parallel, "time", SimpleNamespace(monotonic=lambda clock=clock: next(clock)))
        S = sweep_planes(A, deadline=ticks)
        assert S.least[0] >= full
        assert S.least[0] == full or not S.complete
        cut += not S.complete
        if S.least[0] < 2**62:
            w = L.vectors @ np.array(direction(A, S.descent(cells_only=False)))
            assert (L.forward[0] * (w >= 0)).sum() + (L.backward[0] * (w <= 0)).sum() == S.least[0]
    assert cut > 0
