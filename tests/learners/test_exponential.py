"""Laws of the generic exponential mechanism: halfspace grids, the dual plane, and tuples of thresholds."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.geometry.arrangement import dichotomies
from geomdp.learners import exponential as exponential_module
from geomdp.learners import tuples
from geomdp.learners.domains import Explicit, Integers
from geomdp.learners.exponential import (
    HalfspaceGrid,
    PlaneGrid,
    _distinct,
    _scores,
    default_grid,
    exponential_halfspace,
    exponential_thresholds,
)
from geomdp.learners.plane import _Chart, exponential_plane
from geomdp.learners.tuples import ThresholdTuple, thresholds_excess, truth_table
from geomdp.privacy.sampler import SecureSampler, SimSampler

XOR = truth_table(2, lambda a, b: a ^ b)
INTERVAL = truth_table(2, lambda a, b: a and not b)
records = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([-1, 1])), max_size=7)


def _with_ones(X):
    return np.column_stack([X, np.ones(len(X), dtype=np.int64)])


def _split(rows):
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, :2], table[:, 2]


def _chi_square(counts, weights):
    """The statistic of observed outcomes against weights, and its degrees of freedom."""
    total, runs = math.fsum(weights.values()), sum(counts.values())
    assert set(counts) <= set(weights)
    return sum((counts[o] - runs * w / total) ** 2 / (runs * w / total) for o, w in weights.items()), len(
        weights
    ) - 1


def _plausible(counts, weights):
    statistic, freedom = _chi_square(counts, weights)
    assert statistic < freedom + 5 * math.sqrt(2 * freedom)


GRIDS = {
    "uniform": HalfspaceGrid.uniform(2, 3, 2),
    "coarse": HalfspaceGrid.uniform(2, 3, 4, parts=1),
    "scales": HalfspaceGrid.scales(2, 3, bits=1),
}


@pytest.mark.parametrize("name", GRIDS)
def test_scores_are_those_of_the_members(name):
    """The table of scores equals what each member's integer weights label correctly; flips give the rest."""
    grid, rng = GRIDS[name], np.random.default_rng(1)
    X, y = rng.integers(-4, 5, (9, 2)), rng.choice([-1, 1], 9)
    table = _scores(grid, slice(0, len(grid.directions)), X, y.astype(np.int64), int((y < 0).sum()))
    for j, i in product(range(len(grid.directions)), range(len(grid.offsets))):
        for flipped in (False, True):
            right = int((grid.member(j, i, flipped=flipped).predict(_with_ones(X)) == y).sum())
            assert right == (9 - table[j, i] if flipped else table[j, i])


@pytest.mark.parametrize("name", GRIDS)
def test_grids_hold_constants_and_one_of_each_pair_of_directions(name):
    """Both constant labellings are members on the square; no direction is another one's opposite."""
    grid = GRIDS[name]
    corners = _with_ones(np.array(list(product((-3, 3), repeat=2))))
    ends = [grid.member(0, i, flipped=False).predict(corners) for i in (0, -1)]
    assert sorted({int(v) for e in ends for v in e}) == [-1, 1]
    assert all(len(set(e.tolist())) == 1 for e in ends)
    rays = {tuple((np.array(u) / np.abs(u).max()).tolist()) for u in grid.directions.tolist()}
    assert len(rays) == len(grid.directions)
    assert not rays & {tuple(-v for v in ray) for ray in rays}


def test_halfspaces_follow_the_law():
    """Members are drawn with probability proportional to exp(epsilon score / 2)."""
    grid = HalfspaceGrid.uniform(1, 2, 1)
    X, y = np.array([[-1], [0], [0], [2]]), np.array([-1, 1, -1, 1])
    weights = {}
    for i, flipped in product(range(len(grid.offsets)), (False, True)):
        h = grid.member(0, i, flipped=flipped)
        weights[h.weights] = math.exp((h.predict(_with_ones(X)) == y).sum())
    sampler = SimSampler(3)
    drawn = Counter(exponential_halfspace(X, y, grid, 2, sampler).weights for _ in range(3000))
    _plausible(drawn, weights)


def test_halfspaces_in_chunks_are_those_of_one_piece(monkeypatch):
    """The second pass finds the same member whatever the chunks."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(-3, 4, (20, 2)), rng.choice([-1, 1], 20)
    whole = [exponential_halfspace(X, y, GRIDS["scales"], 1, SimSampler(s)) for s in range(40)]
    monkeypatch.setattr("geomdp.learners.exponential._CELLS", 10)
    sizes = []
    small = [
        exponential_halfspace(X, y, GRIDS["scales"], 1, SimSampler(s), progress=sizes.append)
        for s in range(40)
    ]
    assert small == whole
    once = sizes[: len(sizes) // 40]
    assert once == sorted(once)
    assert once[-1] == 1


def test_excess_bounds_the_loss_in_simulation():
    """Fewer than E records beyond the best member are lost, except with chance below beta."""
    rng = np.random.default_rng(7)
    grid = HalfspaceGrid.uniform(2, 16, 8)
    X = rng.integers(-16, 17, (300, 2))
    y = np.where(X @ [2, 1] >= 3, 1, -1)
    E = grid.excess(Fraction(1), Fraction(1, 10))
    losses = [
        int((exponential_halfspace(X, y, grid, 1, SimSampler(s)).predict(_with_ones(X)) != y).sum())
        for s in range(30)
    ]
    assert sum(loss >= E for loss in losses) == 0


@pytest.mark.parametrize("features", [1, 2, 3])
def test_halfspaces_are_learned(features):
    """With the default grids a realizable sample at epsilon = 4 is learned with few mistakes."""
    rng = np.random.default_rng(features)
    X = rng.integers(-60, 61, (900, features))
    y = np.where(X @ np.array([3, -2, 1])[:features] >= 20, 1, -1)
    h = exponential_halfspace(X, y, 60, 4, SimSampler(0))
    assert (h.predict(_with_ones(X)) != y).mean() < 0.06
    assert default_grid(features, 60).features == features


@settings(deadline=None, max_examples=60)
@given(records, st.integers(1, 3), st.integers(0, 3))
def test_the_dual_sweep_counts_every_member(rows, radius, bits):
    """Totals by score, and the pairs that `find` enumerates, are those of all slopes and offsets."""
    X, y = _split(rows)
    X = np.clip(X, -radius, radius)
    n, reach = len(X), 1 << bits
    chart = _Chart(X[:, 0], X[:, 1], y, PlaneGrid(radius, bits))
    totals = chart.totals(-reach, reach + 1)
    expected = {level: set() for level in range(n + 1)}
    for slope, offset in product(range(-reach, reach + 1), range(-chart.top + 1, chart.top + 1)):
        labels = np.where((X[:, 1] << bits) - slope * X[:, 0] >= offset, 1, -1)
        expected[int((labels == y).sum())].add((slope, offset))
    assert totals == [len(expected[level]) for level in range(n + 1)]
    for level in range(n + 1):
        some = range(0, totals[level], 1 + totals[level] // 20)
        assert {chart.find(level, place, -reach, reach + 1) for place in some} <= expected[level]
    small = min((t for t in totals if t), default=0)
    level = totals.index(small)
    if small <= 60:
        assert {chart.find(level, p, -reach, reach + 1) for p in range(small)} == expected[level]


def test_the_dual_sweep_is_exact_at_its_widest():
    """At radius 2^17 and 36 bits the totals equal those of Python integers, by crossings of three lines."""
    radius, bits = 2**17, 36
    X = np.array([[radius, -radius], [-radius, radius], [radius - 1, 5]])
    y = np.array([1, -1, 1])
    chart = _Chart(X[:, 0], X[:, 1], y, PlaneGrid(radius, bits))
    reach = 1 << bits
    totals = chart.totals(-reach, reach + 1)
    cuts = {-reach, reach + 1}
    for i, k in ((0, 1), (0, 2), (1, 2)):
        dx, dy = int(X[k, 0] - X[i, 0]), int(X[k, 1] - X[i, 1]) << bits
        cuts |= {j for j in (dy // dx, dy // dx + 1) if -reach < j <= reach}
    expected = [0] * 4
    for low, high in zip(sorted(cuts), sorted(cuts)[1:], strict=False):

        def heights(j):
            return [(int(b) << bits) - j * int(a) for a, b in X.tolist()]

        order = sorted(range(3), key=lambda i, low=low: heights(low)[i])
        assert order == sorted(range(3), key=lambda i, high=high: (heights(high - 1)[i], order.index(i)))
        total = [sum(heights(j)[i] for j in (low, high - 1)) * (high - low) // 2 for i in range(3)]
        ends = [-chart.top * (high - low), *(total[i] for i in order), chart.top * (high - low)]
        scores = [2 - sum(int(y[i]) for i in order[:r]) for r in range(4)]
        for score, a, b in zip(scores, ends, ends[1:], strict=False):
            expected[score] += b - a
    assert totals == expected
    assert sum(totals) * 4 == PlaneGrid(radius, bits).size


@pytest.mark.parametrize("radius", [1, 2])
def test_the_dual_grid_is_complete(radius):
    """Its members give every labelling of the square by a halfplane, and no others."""
    grid = PlaneGrid.complete(radius)
    points = np.array(list(product(range(-radius, radius + 1), repeat=2)))
    domain = Domain(_with_ones(points).tolist())
    wanted = {tuple(row) for row in dichotomies(domain).signs.tolist()}
    reach, top = 1 << grid.bits, (2 * radius << grid.bits) + 1
    found = set()
    for slope in range(-reach, reach + 1):
        for swapped, axes in ((False, points), (True, points[:, ::-1])):
            heights = (axes[:, 1] << grid.bits) - slope * axes[:, 0]
            for offset in {-top + 1, top, *heights.tolist()}:
                labels = np.where(heights >= offset, 1, -1)
                found |= {tuple(labels.tolist()), tuple((-labels).tolist())}
                for flipped in (False, True):
                    h = grid.member(swapped, flipped, slope, offset)
                    assert (h.predict(domain.points) == (-labels if flipped else labels)).all()
    assert found == wanted
    assert grid.is_complete
    assert not PlaneGrid(radius, grid.bits - 1).is_complete


def test_halfplanes_follow_the_law():
    """Labels of the drawn halfplane have total weights proportional to exp(epsilon score / 2)."""
    X, y = np.array([[1, 0], [0, 1], [-1, -1], [0, 1]]), np.array([1, 1, -1, -1])
    grid = PlaneGrid(1, 1)
    weights = Counter()
    for swapped, flipped, slope, offset in product((False, True), (False, True), range(-2, 3), range(-4, 6)):
        labels = grid.member(swapped, flipped, slope, offset).predict(_with_ones(X))
        weights[tuple(labels.tolist())] += math.exp((labels == y).sum() / 2)
    sampler = SimSampler(11)
    drawn = Counter(
        tuple(exponential_plane(X, y, grid, Fraction(1), sampler).predict(_with_ones(X)).tolist())
        for _ in range(2500)
    )
    _plausible(drawn, weights)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_degenerate_records_are_answered(n):
    """Empty, single and contradictory equal records get an answer, from the secure source too."""
    X, y = np.zeros((n, 2), dtype=np.int64), np.array([1, -1, 1, -1, 1])[:n]
    for grid in (PlaneGrid.complete(4), GRIDS["uniform"], 4):
        assert len(exponential_halfspace(X, y, grid, 1, SecureSampler()).weights) == 3
    h = exponential_thresholds(X[:, 0], y, Integers(-2, 2), XOR, 1, SecureSampler())
    assert all(0 <= t <= 5 for t in h.ranks)
    far = np.full((n, 2), 10**6)
    wide = np.full((n, 2), 2**90, dtype=object)
    for grid in (PlaneGrid.complete(4), GRIDS["uniform"], 4):
        assert exponential_halfspace(far, y, grid, 1, SimSampler(0)).weights
        assert exponential_halfspace(wide, y, grid, 1, SimSampler(0)).weights


@pytest.mark.parametrize("table", [XOR, INTERVAL, (1, 1, 1, -1), (-1, 1)])
@pytest.mark.parametrize("digits", [1, 96])
def test_tuples_follow_the_law(table, digits, monkeypatch):
    """Tuples are drawn in proportion to exp(epsilon score / 2), however few digits at first."""
    monkeypatch.setattr(tuples, "_DIGITS", digits)
    D = Explicit([0, 2, 3, 7])
    x, y = np.array([2, 2, 3, 5, 5, -1]), np.array([1, -1, 1, -1, -1, -1])
    k = len(table).bit_length() - 1
    weights = {
        t: math.exp((ThresholdTuple(t, table, D).predict(x) == y).sum()) for t in product(range(5), repeat=k)
    }
    sampler = SimSampler(digits)
    _plausible(
        Counter(exponential_thresholds(x, y, D, table, 2, sampler).ranks for _ in range(2000)), weights
    )


def test_digits_settle_choices_that_look_even():
    """Records in conflict by thousands make weights far apart; the draw still follows the better half."""
    x = np.repeat([10, 20, 30], 3000)
    y = np.repeat([1, -1, 1], 3000)
    drawn = Counter()
    for seed in range(40):
        h = exponential_thresholds(x, y, Integers(0, 100), (-1, 1), 1, SimSampler(seed))
        drawn[h.ranks[0] <= 10, 20 < h.ranks[0] <= 30] += 1
    assert set(drawn) == {(True, False), (False, True)}  # equal scores, 11 and 10 places
    assert min(drawn.values()) >= 8


def test_tuples_on_astronomic_domains():
    """2^3000 values cost digits, not time; the tuple stays within the excess."""
    D = Integers(0, 2**3000)
    x = np.array([2**2990 + i * 2**2980 for i in range(400)], dtype=object)
    y = np.where(np.arange(400) < 150, -1, 1)
    h = exponential_thresholds(x, y, D, (-1, 1), Fraction(30), SimSampler(1))
    assert (h.predict(x) != y).sum() < thresholds_excess(D.size, 1, Fraction(30), Fraction(1, 100))
    never = ThresholdTuple((D.size,), (-1, 1), D)
    assert never.values == (None,)
    assert (never.predict(x) == -1).all()


@pytest.mark.parametrize("k", [2, 3, 4])
def test_tuples_are_learned(k):
    """An exclusive or of thresholds on a domain of 2^40 is learned from 1500 records at epsilon = 2."""
    rng = np.random.default_rng(k)
    D = Integers(0, 2**40)
    x = np.floor(2 ** rng.uniform(0, 40, 3000)).astype(np.int64)
    table = truth_table(k, lambda *bits: sum(bits) % 2)
    truth = ThresholdTuple(tuple(int(v) for v in rng.choice(x, k)), table, D)
    y = truth.predict(x)
    h = exponential_thresholds(x[:1500], y[:1500], D, lambda *b: sum(b) % 2, 2, SimSampler(k), k=k)
    assert (h.predict(x[1500:]) != y[1500:]).mean() < 0.04


def test_order_of_records_does_not_matter():
    """Shuffled records give the same draw from the same seed."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-9, 10, (50, 2)), rng.choice([-1, 1], 50)
    p = rng.permutation(50)
    for grid in (9, PlaneGrid.complete(9)):
        one = exponential_halfspace(X, y, grid, 1, SimSampler(5))
        two = exponential_halfspace(X[p], y[p], grid, 1, SimSampler(5))
        assert one == two
    first = exponential_thresholds(X[:, 0], y, Integers(-9, 9), XOR, 1, SimSampler(5))
    assert first.ranks == exponential_thresholds(X[p, 0], y[p], Integers(-9, 9), XOR, 1, SimSampler(5)).ranks


def test_refusals():
    """Shapes, labels and tables that do not fit are refused by name, without a value of the data."""
    X, y = np.array([[1, 2]]), np.array([1])
    for name, call in {
        "y": lambda: exponential_halfspace(X, [1, 1], 4, 1, SimSampler(0)),
        "X": lambda: exponential_halfspace([[1, 2, 3]], y, GRIDS["uniform"], 1, SimSampler(0)),
        "epsilon": lambda: exponential_halfspace(X, y, 4, 0, SimSampler(0)),
        "grid": lambda: exponential_halfspace(X, y, 0, 1, SimSampler(0)),
        "G": lambda: exponential_thresholds([1], y, Integers(0, 3), (1, -1, 1), 1, SimSampler(0)),
        "k": lambda: exponential_thresholds([1], y, Integers(0, 3), lambda a: a, 1, SimSampler(0)),
        "directions": lambda: HalfspaceGrid(np.zeros((1, 2), int), np.ones(1, int), np.arange(2)),
        "steps": lambda: HalfspaceGrid(np.ones((1, 2), int), np.zeros(1, int), np.arange(2)),
        "offsets": lambda: HalfspaceGrid(np.ones((1, 2), int), np.ones(1, int), np.array([1, 1])),
        "bits": lambda: PlaneGrid(4, 60),
    }.items():
        with pytest.raises(ArgumentError, match=f"'{name}'"):
            call()
    with pytest.raises(ArgumentError, match="'y'"):
        exponential_halfspace(X, [0], 4, 1, SimSampler(0))


def test_chunks_do_not_change_the_table_of_scores(monkeypatch):
    """Chunks of one direction and chunks of many draw the same member; a table beyond memory is refused."""
    rng = np.random.default_rng(0)
    X = rng.integers(-60, 61, (80, 2))
    y = np.where(X[:, 0] >= 7, 1, -1)
    whole = exponential_halfspace(X, y, 60, 2, SimSampler(0))
    monkeypatch.setattr(exponential_module, "_CELLS", 1)
    for levels in (1, 5000):
        monkeypatch.setattr(exponential_module, "_LEVELS", levels)
        assert exponential_halfspace(X, y, 60, 2, SimSampler(0)) == whole
    monkeypatch.setattr(exponential_module, "_PIECE", 7)
    monkeypatch.setattr(exponential_module, "_TABLE", 10)
    assert exponential_halfspace(X, y, 60, 2, SimSampler(0)) == whole
    room = len(default_grid(2, 60).offsets) + 79
    monkeypatch.setattr(exponential_module, "_MOST", room)
    with pytest.raises(CapacityError, match=r"at most 79 rows .* not of 80 rows"):
        exponential_halfspace(X, y, 60, 2, SimSampler(0))


@settings(max_examples=60, deadline=None)
@given(records, st.integers(0, 2), st.sampled_from(sorted(GRIDS)))
def test_records_of_one_point_count_as_they_do_one_by_one(rows, times, name):
    """Distinct points with the sums of their labels give each member the score of all records."""
    grid, (X, y) = GRIDS[name], _split(rows + rows[:3] * times)
    points, sums = _distinct(X, y)
    assert len({tuple(p) for p in points.tolist()}) == len(points)
    chunk = slice(0, 4)
    table = _scores(grid, chunk, points, sums, int((y < 0).sum()))
    for j, i in product(range(4), range(0, len(grid.offsets), 3)):
        right = int((grid.member(j, i, flipped=False).predict(_with_ones(X)) == y).sum()) if len(X) else 0
        assert table[j, i] == right


def test_time_goes_by_distinct_points(monkeypatch):
    """A table of 200,000 records on nine points gets each direction's scores from those points alone."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-1, 2, (200_000, 2)), rng.choice([-1, 1], 200_000)
    seen, inner = [], exponential_module._scores

    def watched(grid, chunk, points, sums, negative):
        seen.append(len(points))
        return inner(grid, chunk, points, sums, negative)

    monkeypatch.setattr(exponential_module, "_scores", watched)
    h = exponential_halfspace(X, y, GRIDS["scales"], 1, SimSampler(0))
    assert max(seen) <= 9
    best = max(
        int((grid_member.predict(_with_ones(X)) == y).sum())
        for grid_member in (
            GRIDS["scales"].member(j, i, flipped=flipped)
            for j in range(0, len(GRIDS["scales"].directions), 5)
            for i in range(0, len(GRIDS["scales"].offsets), 9)
            for flipped in (False, True)
        )
    )
    excess = GRIDS["scales"].excess(Fraction(1), Fraction(1, 10**6))
    assert int((h.predict(_with_ones(X)) == y).sum()) > best - excess


@pytest.mark.parametrize("x", [[float("nan")], ["a"], [1j], [None], [[1, 2]]])
def test_numbers_that_are_none_are_refused(x):
    """Places that are no finite real numbers give an error of this package that names x."""
    for call in (
        lambda: exponential_thresholds(x, [1], Integers(0, 3), (-1, 1), 1, SimSampler(0)),
        lambda: ThresholdTuple((1,), (-1, 1), Integers(0, 3)).predict(x),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert caught.value.name == "x"


@pytest.mark.parametrize(("features", "levels", "parts"), [(4, 400, None), (1, 4096, 4096)])
def test_grids_too_large_to_list_are_refused(features, levels, parts):
    """The number of directions or offsets is computed before any is listed."""
    with pytest.raises(CapacityError, match="so few that"):
        HalfspaceGrid.uniform(features, 2**30, levels, parts)
