"""Laws of the exact halfspace optimum."""

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.zoo import COUNTS, POINTS, domain, labellings, least_by_labellings, sample

from geomdp import ArgumentError, CapacityError, Domain, Halfspace, Sample
from geomdp.opt.halfspace import estimate_seconds, least_mistakes, opt_halfspace, sup_points
from geomdp.opt.threshold import opt_threshold


def wrong(points, positive, negative, weights):
    """Count mistakes with Python integers only."""
    total = 0
    for x, a, b in zip(points, positive, negative, strict=True):
        side = sum(int(u) * int(w) for u, w in zip(x, weights, strict=True))
        total += int(b) if side >= 0 else int(a)
    return total


@pytest.mark.parametrize("counts", sorted(COUNTS))
@pytest.mark.parametrize("name", sorted(POINTS))
def test_zoo(name, counts):
    """On every degenerate domain and sample the optimum is the least over all realisable labellings."""
    S = sample(domain(name), counts)
    r = opt_halfspace(S)
    assert r.optimal
    assert r.lower == r.upper == least_by_labellings(POINTS[name], S.positive, S.negative)
    assert r.classifier.mistakes(S) == r.upper
    assert wrong(POINTS[name], S.positive, S.negative, r.classifier.weights) == r.upper


@pytest.mark.parametrize("name", sorted(set(POINTS) - {"wide", "nearly parallel"}))
def test_dichotomies_agree(name):
    """Evaluating every dichotomy gives the optimum of the sweeps."""
    S = sample(domain(name), "alternating") + sample(domain(name), "one of each at one point")
    assert opt_halfspace(S, method="dichotomies").upper == opt_halfspace(S, method="sweep").upper


def random_instance(rng):
    """Return a small weighted instance rich in ties: repeats, antipodes, multiples, low rank, bias."""
    d, m = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    reach = (3, 3, 2, 1)[d - 1]
    X = rng.integers(-reach, reach + 1, (m, d))
    kind = rng.integers(0, 6)
    if kind == 0:
        X[:, -1] = 1
    elif kind == 1:
        X = X[rng.integers(0, m, m)]
    elif kind == 2:
        X[m // 2 :] = -X[: m - m // 2]
    elif kind == 3 and d > 1:
        X[:, 0] = 2 * X[:, -1]
    X = X * rng.integers(1, 4, (m, 1))
    weights = rng.integers(0, 6, (2, m)) * (rng.random((2, m)) < 0.7)
    return X, weights[0], weights[1]


@pytest.mark.parametrize("seed", range(6))
def test_random_degenerate_instances(seed):
    """On random degenerate weighted instances of rank 1 to 4 the value and the witness are exact."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        X, a, b = random_instance(rng)
        value, w = least_mistakes(X, a, b)
        assert value == least_by_labellings(X.tolist(), a, b), (X.tolist(), a.tolist(), b.tolist())
        assert wrong(X, a, b, w) == value


@pytest.mark.exhaustive
def test_many_random_degenerate_instances():
    """The same on 10,000 instances."""
    rng = np.random.default_rng(2026)
    for _ in range(10_000):
        X, a, b = random_instance(rng)
        value, w = least_mistakes(X, a, b)
        assert value == least_by_labellings(X.tolist(), a, b) == wrong(X, a, b, w)


@pytest.mark.parametrize("d", [5, 6])
def test_higher_ranks(d):
    """The recursion over planes is exact in ranks 5 and 6, pointed or not."""
    rng = np.random.default_rng(d)
    for trial in range(3):
        m = 13 - d
        X = rng.integers(-1, 2, (m, d))
        if trial == 1:
            X[:, -1] = 1
        a, b = rng.integers(0, 5, (2, m))
        value, w = least_mistakes(X, a, b)
        assert value == least_by_labellings(X.tolist(), a, b) == wrong(X, a, b, w)


@st.composite
def instances(draw):
    """Draw points and weights in dimension 2 or 3."""
    d, m = draw(st.integers(2, 3)), draw(st.integers(1, 7))
    X = draw(st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=m, max_size=m))
    weights = st.lists(st.integers(0, 2**40), min_size=m, max_size=m)
    return np.array(X), np.array(draw(weights)), np.array(draw(weights))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(instances(), st.data())
def test_invariances(instance, data):
    """Scaling rows by positive integers, or all of them by an invertible map, leaves the optimum alone."""
    X, a, b = instance
    value, _ = least_mistakes(X, a, b)
    rows = np.array(data.draw(st.lists(st.integers(1, 2**20), min_size=len(X), max_size=len(X))))
    shear = np.eye(X.shape[1], dtype=np.int64)
    shear[0, 1], shear[1, 0], shear[1, 1] = 5, 7, 36  # determinant 1
    assert least_mistakes((rows[:, None] * X) @ shear, a, b)[0] == value
    twice = np.concatenate([X, X])
    assert least_mistakes(twice, np.concatenate([a, a]), np.concatenate([b, b]))[0] == 2 * value


@pytest.mark.parametrize("scale", [1, 2**10, 2**20, 2**28, 2**33, 2**70])
def test_every_arithmetic_agrees(scale):
    """Rounded keys, exact 124-bit comparisons and Python integers give one answer on near-ties."""
    rng = np.random.default_rng(5)
    X = [
        [scale * int(p) + int(q) for p, q in zip(u, v, strict=True)]
        for u, v in rng.integers(-2, 3, (7, 2, 3))
    ]
    a, b = rng.integers(0, 4, (2, 7))
    value, w = least_mistakes(X, a, b)
    assert value == least_by_labellings(X, a, b) == wrong(X, a, b, w)
    Z = (a - b)[None, :]
    expected = (labellings(X) @ Z[0]).max()
    assert sup_points(Domain(X).points, Z.astype(np.int64)).tolist() == [expected]


def test_agreement_is_dual_to_mistakes():
    """The largest <h, Z> is the sum of |Z| minus twice the least mistakes of weights |Z|, labels sign Z."""
    rng = np.random.default_rng(3)
    X = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 2), ("z", 0, 1, 2)]).points
    Z = rng.integers(-9, 10, (40, len(X)))
    best = sup_points(X, Z)
    for z, value in zip(Z[:10], best, strict=False):
        least, _ = least_mistakes(X, np.maximum(z, 0), np.maximum(-z, 0))
        assert value == np.abs(z).sum() - 2 * least
    assert np.array_equal(best, (labellings(X.tolist()) @ Z.T).max(axis=0))


def test_separable_is_zero():
    """Records labelled by a halfspace have opt 0, and the classifier found labels them all right."""
    rng = np.random.default_rng(1)
    D = Domain.grid([("x", 0, 1, 12), ("y", 0, 1, 9)])
    for _ in range(20):
        labels = Halfspace.of(rng.integers(-9, 10, 3)).predict(D.points)
        S = Sample.from_cells(D, np.arange(D.m), labels)
        r = opt_halfspace(S)
        assert r.upper == 0
        assert (r.classifier.predict(D.points) == labels).all()


def test_weights_are_short():
    """The classifier is rounded to small integers where that costs no mistake."""
    D = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
    labels = Halfspace((2, -3, 5)).predict(D.points)
    r = opt_halfspace(Sample.from_cells(D, np.arange(D.m), labels))
    assert r.upper == 0
    assert max(map(abs, r.classifier.weights)) <= 16 * 16


def test_pooling_and_orientation():
    """Samples pool; on an ordered domain halfspaces are thresholds of both orientations, at any size."""
    D = Domain.line(2**64)
    A = Sample.from_cells(D, [3, 2**63, 2**64 - 1], [1, -1, -1])
    B = Sample.from_cells(D, [2, 4, 2**62], [1, -1, 1])
    r = opt_halfspace(A, B)
    assert (r.upper, r.classifier.mistakes(A + B), r.n) == (1, 1, 6)
    assert opt_threshold(A, B).upper == 3
    small = Domain.grid([("x", 0, 1, 9)])
    rng = np.random.default_rng(0)
    for _ in range(30):
        S = Sample.from_cells(small, rng.integers(0, 9, 8), rng.choice([-1, 1], 8))
        assert opt_halfspace(S).upper == opt_halfspace(S, method="sweep").upper


def test_time_limit_gives_a_certain_interval():
    """Out of time, the bounds still enclose the optimum and the witness still makes ``upper`` mistakes."""
    D = Domain.grid([("x", 0, 1, 6), ("y", 0, 1, 6), ("z", 0, 1, 3)])
    rng = np.random.default_rng(4)
    S = Sample.from_cells(D, rng.integers(0, D.m, 300), rng.choice([-1, 1], 300))
    short, full = opt_halfspace(S, time_limit=0), opt_halfspace(S, time_limit=60)
    assert full.optimal
    assert not short.optimal
    assert short.lower <= full.lower == full.upper <= short.upper
    assert short.classifier.mistakes(S) == short.upper
    partly = opt_halfspace(S, time_limit=0.02)
    assert partly.lower <= full.upper <= partly.upper


def test_result_is_json():
    """The result has the documented keys and survives JSON."""
    D = Domain([[0, 1], [1, 1]])
    record = opt_halfspace(Sample.from_counts(D, [1, 0], [0, 1])).to_dict()
    assert json.loads(json.dumps(record)) == record
    assert {"lower", "upper", "optimal", "classifier", "seconds"} <= set(record)


def test_progress_reaches_one():
    """Progress is told in the calling thread, never decreases and ends at 1."""
    D = Domain.grid([("x", 0, 1, 20), ("y", 0, 1, 20)])
    S = Sample.from_cells(D, np.arange(D.m), np.random.default_rng(0).choice([-1, 1], D.m))
    seen = []
    opt_halfspace(S, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_refusals():
    """Bad arguments are refused with their name; hopeless sizes with an estimate."""
    D = Domain([[0, 1], [1, 1]])
    S = Sample.from_counts(D, [1, 0], [0, 1])
    with pytest.raises(ArgumentError, match="'method'"):
        opt_halfspace(S, method="guess")
    for limit in (-1, float("nan"), "soon", True):
        with pytest.raises(ArgumentError, match="'time_limit'"):
            opt_halfspace(S, time_limit=limit)
    with pytest.raises(ArgumentError, match="'samples'"):
        opt_halfspace()
    with pytest.raises(ArgumentError, match="'positive_weights'"):
        least_mistakes([[1]], [-1], [0])
    with pytest.raises(ArgumentError, match="'negative_weights'"):
        least_mistakes([[1]], [1], [0, 0])
    with pytest.raises(ArgumentError, match=r"2\^61"):
        least_mistakes([[1], [2]], [2**60, 2**60], [0, 2**60])
    big = Domain.grid([(f"x{i}", 0, 1, 4) for i in range(6)])
    everywhere = Sample.from_cells(big, np.arange(big.m), np.where(np.arange(big.m) % 3, 1, -1))
    with pytest.raises(CapacityError, match="seconds"):
        opt_halfspace(everywhere, method="sweep")
    started = time.monotonic()
    r = opt_halfspace(everywhere, time_limit=0.2)
    assert r.lower <= r.upper <= everywhere.n
    assert time.monotonic() - started < 60  # the estimate above is in centuries
    assert estimate_seconds(4096, 3) < 60 < estimate_seconds(4096, 7)


def test_empty_domain_of_points():
    """No points at all: nothing is wrong, and w = 0 is a witness."""
    assert least_mistakes(np.empty((0, 3), dtype=np.int64), [], []) == (0, (0, 0, 0))
