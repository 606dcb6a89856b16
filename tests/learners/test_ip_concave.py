"""Laws of IPConcave: exact coordinate ranges, partition, privacy on every input, utility, totality."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.divergence import worst_divergence

from geomdp.core.errors import ArgumentError
from geomdp.learners.domains import Dyadic, Integers
from geomdp.learners.oracles.ip_concave import (
    best_ranges,
    block_rows,
    blocks_needed,
    canonical,
    halfspace_maximisers,
    halfspace_rows,
    ip_concave,
    permutation,
    simplest,
    split,
    stabbing_blocks,
)
from geomdp.lp.block_interval import coordinate_range, coordinate_range_by_model
from geomdp.privacy.audit import worst_log_ratio
from geomdp.privacy.runs import law_of
from geomdp.privacy.sampler import SimSampler

# ---------------------------------------------------------------- ranges of a coordinate


def _lines(rows, bounds, radius):
    sides = [([int(i == j) for j in range(len(radius))], -radius[i]) for i in range(len(radius))]
    other = [([-v for v in row], b) for row, b in sides]
    return sides + other + list(zip(rows, bounds, strict=True))


def _closed_ends(rows, bounds, radius):
    """All vertices of the closed polygon in two unknowns (or one), by pairs of lines."""
    lines = _lines(rows, bounds, radius)
    corners = []
    if len(radius) == 1:
        corners = [(Fraction(b, a[0]),) for a, b in lines if a[0]]
    else:
        for (a, b), (c, d) in combinations(lines, 2):
            det = a[0] * c[1] - a[1] * c[0]
            if det:
                corners.append((Fraction(b * c[1] - a[1] * d, det), Fraction(a[0] * d - b * c[0], det)))
    good = [p for p in corners if all(sum(x * u for x, u in zip(a, p, strict=True)) >= b for a, b in lines)]
    return (min(p[0] for p in good), max(p[0] for p in good)) if good else None


def _meets(rows, bounds, strict, radius, at):
    """Is there a point with first coordinate `at` that meets all rows, the strict ones strictly?"""
    if len(radius) == 1:
        return all(
            a[0] * at > b or (a[0] * at == b and not s) for a, b, s in zip(rows, bounds, strict, strict=True)
        )
    low_open = high_open = False
    low, high = Fraction(-radius[1]), Fraction(radius[1])
    for a, b, s in zip(rows, bounds, strict, strict=True):
        rest = b - a[0] * at
        if a[1] == 0:
            if rest > 0 or (rest == 0 and s):
                return False
            continue
        cut = Fraction(rest, a[1])
        if a[1] > 0:
            low, low_open = (cut, s) if cut > low else (low, low_open or (cut == low and s))
        else:
            high, high_open = (cut, s) if cut < high else (high, high_open or (cut == high and s))
    return low < high or (low == high and not low_open and not high_open)


small = st.integers(-3, 3)


@st.composite
def programs(draw):
    """Draw rows, bounds, strict flags and a box, in one or two unknowns."""
    r = draw(st.integers(1, 2))
    m = draw(st.integers(0, 7))
    rows = [[draw(small) for _ in range(r)] for _ in range(m)]
    bounds = [draw(st.integers(-5, 4)) for _ in range(m)]
    return rows, bounds, [draw(st.booleans()) for _ in range(m)], [4] * r


@settings(max_examples=150, deadline=None)
@given(programs(), st.booleans())
def test_ranges_agree_with_all_vertices(program, suggest):
    """The range is that of all feasible vertices, ends closed iff taken; None iff half-open rows clash."""
    rows, bounds, strict, radius = program
    found = coordinate_range(np.array(rows), bounds, strict, radius, suggest=suggest)
    closed = _closed_ends(rows, bounds, radius)
    if closed is None or not any(
        _meets(rows, bounds, strict, radius, closed[0] + (closed[1] - closed[0]) * Fraction(k, 2))
        for k in (0, 1, 2)
    ):
        assert found is None
        return
    assert (found.lo, found.hi) == closed
    assert found.lo_closed == _meets(rows, bounds, strict, radius, found.lo)
    assert found.hi_closed == _meets(rows, bounds, strict, radius, found.hi)


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("size", [6, 45])
def test_three_ways_agree(r, size):
    """The solver's basis, exact pivots alone and the CVXPY model give one range, for records up to 2^45."""
    rng = np.random.default_rng(10 * r + size)
    for _ in range(2):
        X = rng.integers(-(2**size), 2**size, size=(150, r + 1))
        target = np.array([1, *rng.integers(-40, 40, size=r)]) / 7
        y = np.where(X[:, 0] + X[:, 1:] @ target[1:] >= 2 ** (size - 3), 1, -1)
        rows = (X[:, 1:] * y[:, None]).astype(np.int64)
        bounds = [int(v) for v in y * (2 ** (size - 3) - X[:, 0])]
        strict = [bool(v < 0) for v in y]
        one = coordinate_range(rows, bounds, strict, [10**4] * r)
        two = coordinate_range(rows, bounds, strict, [10**4] * r, suggest=False)
        ends = coordinate_range_by_model(rows / 2.0**size, [b / 2.0**size for b in bounds], [10**4] * r)
        assert (one.lo, one.hi, one.lo_closed, one.hi_closed) == (
            two.lo,
            two.hi,
            two.lo_closed,
            two.hi_closed,
        )
        assert one.pivots <= 2 < two.pivots
        assert ends == pytest.approx((float(one.lo), float(one.hi)), rel=1e-5, abs=1e-6)


def test_degenerate_and_contradictory_systems():
    """Duplicates, zero rows, one point, contradictions and huge integers are decided exactly."""
    G = np.array([[1, 1], [1, 1], [-1, -1], [0, 0], [1, -1], [-1, 1]])
    point = coordinate_range(G, [2, 2, -2, 0, 0, 0], [False] * 6, [9, 9])
    assert (point.lo, point.hi, point.lo_closed) == (1, 1, True)
    assert coordinate_range(G, [2, 2, -2, 0, 0, 0], [False, True, *[False] * 4], [9, 9]) is None
    assert coordinate_range(G, [2, 2, -2, 0, 0, 0], [*[False] * 3, True, False, False], [9, 9]) is None
    empty = coordinate_range(np.zeros((0, 3)), [], [], [5, 6, 7])
    assert (empty.lo, empty.hi, empty.lo_closed, empty.hi_closed) == (-5, 5, True, True)
    huge = coordinate_range(np.array([[10**400, 1]], dtype=object), [10**400 + 1], [True], [5, 1])
    assert (huge.lo, huge.lo_closed) == (1, False)
    tight = np.array([[2**60, 1], [-(2**60), 1]]), [2**60 + 1, -(2**60) + 1]
    assert coordinate_range(*tight, [False, True], [3, 1]) is None  # u1 >= 1 and u1 < 1, where u2 = 1
    only = coordinate_range(*tight, [False, False], [3, 1])
    assert (only.lo, only.hi, only.lo_closed, only.hi_closed) == (1, 1, True, True)


def test_ranges_of_halfspaces_agree_with_all_completions():
    """For d = 2 and w = 1 the ranks found are those a_1 for which some a_2 labels the block right."""
    rng = np.random.default_rng(8)
    coordinates = [Integers(-4, 4), Dyadic(4, 3)]
    solve = halfspace_maximisers([1], coordinates)
    for _ in range(25):
        X = rng.integers(-2, 3, size=(4, 2))
        a = rng.integers(-4, 5, size=2)
        y = np.where(X @ a >= 1, 1, -1)
        rows, bounds, strict = halfspace_rows(X, y, [Fraction(1)])
        good = [k for k in range(9) if _meets(rows.tolist(), bounds, strict, [4, 4], Fraction(k - 4))]
        assert [k for f, e in solve(X, y) for k in range(f, e + 1)] == good
    assert solve(np.array([[1, 0], [1, 0]]), np.array([1, -1])) == []  # a contradiction
    last = halfspace_maximisers([1, Fraction(1, 3)], coordinates)
    assert last(np.array([[3, 2]]), np.array([1])) == [(32, 64)]  # 1 + 2 a_2 >= 1


# ---------------------------------------------------------------- the procedure


@given(st.integers(-40, 40), st.integers(0, 40), st.integers(-9, 9))
def test_the_simplest_rank_has_most_zeros(first, length, zero):
    """No rank of the range has a distance to zero with more trailing binary zeros."""
    z = simplest(first, first + length, zero)
    assert first <= z <= first + length

    def order(k):
        return 99 if k == zero else ((k - zero) & (zero - k)).bit_length()

    assert order(z) == max(order(k) for k in range(first, first + length + 1))


@given(st.integers(0, 40), st.integers(1, 9))
def test_the_partition_is_public(n, blocks):
    """Every record is in one block, and sizes depend on n and t alone."""
    parts = split(permutation(n, SimSampler(n)), blocks)
    assert sorted(i for part in parts for i in part) == list(range(n))
    assert [len(part) for part in parts] == [n // blocks + (j < n % blocks) for j in range(blocks)]


ranges = st.lists(st.tuples(st.integers(-3, 12), st.integers(-3, 12)), max_size=3)


@given(st.lists(ranges, max_size=5))
def test_stabbing_counts_blocks(found):
    """Whatever ranges a solver returns, a rank's score is the number of blocks that hold it."""
    from geomdp.learners.oracles.ip_concave import _inside

    inside = [_inside(item, 10) for item in found]
    got = [b.score for b in stabbing_blocks(inside, 10) for _ in range(b.first, b.last + 1)]
    assert got == [sum(any(f <= z <= e for f, e in item) for item in found) for z in range(10)]


def _thresholds(X, y):
    """The ranks t in 0..3 for which x >= t labels the block right."""
    return [
        (t, t)
        for t in range(4)
        if all((1 if x >= t else -1) == label for x, label in zip(X[:, 0], y, strict=True))
    ]


@pytest.mark.parametrize("how", ["interior", "stabbing"])
def test_exact_audit_on_all_neighbours(how):
    """With 3 labelled records in 2 blocks, contradictory ones included, no ratio exceeds exp(epsilon)."""
    records = list(product(range(3), (-1, 1)))

    def law(data):
        X, y = np.array([[x] for x, _ in data]), np.array([label for _, label in data])
        return law_of(
            lambda runs: ip_concave(
                X, y, _thresholds, Integers(0, 3), 2, Fraction(1), Fraction(0), Fraction(1, 9), runs, how=how
            ),
            1,
        )

    pairs = [
        (data, (*data[:i], new, *data[i + 1 :]))
        for data in [((0, -1), (1, 1), (2, 1)), ((0, 1), (0, -1), (2, -1)), ((1, 1), (1, 1), (1, -1))]
        for i in range(3)
        for new in records
    ]
    audit = worst_log_ratio(law, pairs + [(b, a) for a, b in pairs])
    assert audit.holds(Fraction(1))
    assert audit.lower > Fraction(11, 10)

    def leaky(X, y):  # planted: a "block" that looks beyond itself
        return [(3, 3)] if (0, 1) in whole else _thresholds(X, y)

    whole: list = []

    def leaking(data):
        whole[:] = list(data)
        X, y = np.array([[x] for x, _ in data]), np.array([label for _, label in data])
        arguments = Integers(0, 3), 2, Fraction(1), Fraction(0), Fraction(1, 9)
        return law_of(lambda runs: ip_concave(X, y, leaky, *arguments, runs, how="stabbing"), 1)

    assert worst_divergence(leaking, [(((0, 1), (2, 1), (2, 1)), ((0, -1), (2, 1), (2, 1)))], 1).lo > 0


@pytest.mark.parametrize("how", ["interior", "stabbing"])
def test_the_coordinate_is_good_for_the_sample(how):
    """On realizable halfspace data the chosen a_1 has a completion with few mistakes on the whole sample."""
    rng = np.random.default_rng(4)
    X = rng.integers(-64, 65, size=(1500, 2))
    y = np.where(X @ np.array([3, -5]) >= 32, 1, -1)  # w = 1: a = (3/32, -5/32)
    coordinates = [Dyadic(2, 40), Dyadic(2, 40)]
    arguments = coordinates[0].size, Fraction(4), Fraction(0), Fraction(1, 20)
    solve = halfspace_maximisers([1], coordinates)
    t = blocks_needed(*arguments, how=how)
    rank = ip_concave(X, y, solve, coordinates[0], t, *arguments[1:], SimSampler(9), how=how)
    a1 = float(coordinates[0].value(rank))
    mistakes = min(
        int((np.where(X[:, 0] * a1 + X[:, 1] * a2 >= 1, 1, -1) != y).sum())
        for a2 in np.linspace(-0.3, 0, 600)
    )
    assert mistakes <= 75


@pytest.mark.parametrize("how", ["interior", "stabbing"])
@pytest.mark.parametrize("n", [0, 1, 3, 12])
def test_every_input_gives_a_rank(how, n):
    """Fewer records than blocks, none, contradictions, zero records: the answer is in the domain."""
    X, y = np.zeros((n, 2), dtype=np.int64), np.array([(-1) ** i for i in range(n)])
    coordinates = [Dyadic(1, 5), Dyadic(1, 5)]
    solve = halfspace_maximisers([-1], coordinates)
    z = ip_concave(
        X, y, solve, coordinates[0], 5, Fraction(1), Fraction(0), Fraction(1, 2), SimSampler(0), how=how
    )
    assert 0 <= z < coordinates[0].size


def test_needs_and_bad_input():
    """Stabbing asks for about half the blocks; wrong arguments raise ArgumentError."""
    for bits in (20, 43, 300):
        arguments = 1 << bits, Fraction(1), Fraction(0), Fraction(1, 20)
        assert 2 * blocks_needed(*arguments, how="stabbing") == blocks_needed(*arguments) + 1
    assert block_rows(3, Fraction(1, 10), Fraction(1, 20), 20) > block_rows(
        2, Fraction(1, 10), Fraction(1, 20), 20
    )
    assert best_ranges(stabbing_blocks([[(0, 4)], [(3, 3)]], 8)) == [(3, 3)]
    assert canonical([(1, 3), (6, 8)], 0) == 2
    X, y = np.zeros((3, 1)), np.ones(3)
    rest = Integers(0, 3), 2, Fraction(1), Fraction(0), Fraction(1, 2), SimSampler(0)
    with pytest.raises(ArgumentError):
        ip_concave(X, y[:2], _thresholds, *rest)
    with pytest.raises(ArgumentError):
        ip_concave(X, y, _thresholds, *rest, how="best")
    for prefix in ([], [1, 0, 0]):
        with pytest.raises(ArgumentError):
            halfspace_maximisers(prefix, [Integers(0, 1)] * 2)
    with pytest.raises(ArgumentError):
        coordinate_range(np.zeros((2, 2)), [0], [True], [1, 1])
    with pytest.raises(ArgumentError):
        coordinate_range(np.zeros((1, 1)), [0], [True], [0])
