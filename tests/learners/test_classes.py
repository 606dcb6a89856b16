"""Laws of the classes: completion scores, growth, membership and prediction against brute force."""

from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.geometry.subsets import halfspace_subsets
from geomdp.learners.blocks import envelope
from geomdp.learners.classes.boolean import Boolean
from geomdp.learners.classes.halfspace import Halfspaces
from geomdp.learners.classes.halfspace_survey import cells_of
from geomdp.learners.classes.interval import intervals
from geomdp.learners.classes.threshold import thresholds
from geomdp.learners.domains import Beyond, Dyadic, Explicit, Integers
from geomdp.learners.relabel.reach import Hull, reach_of
from geomdp.learners.relabel.space import Boundaries

WIDE = Integers(-1, 6)
GRID = Dyadic(3, 2)

signs = st.sampled_from((-1, 1))
tables = st.integers(1, 3).flatmap(lambda k: st.tuples(*[signs] * 2**k))
line = st.lists(st.tuples(st.integers(0, 4), signs), max_size=6)
plane = st.lists(st.tuples(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), signs), max_size=6)
space = st.lists(st.tuples(st.tuples(*[st.integers(-1, 1)] * 3), signs), max_size=5)


def _arrays(records, r):
    X = np.array([np.atleast_1d(x) for x, _ in records], dtype=np.int64).reshape(len(records), r)
    return X, np.array([y for _, y in records], dtype=np.int64)


def _spread(blocks):
    return [b.score for b in blocks for _ in range(b.last - b.first + 1)]


def _agreement(C, coords, X, y):
    return int((C.predict(coords, X) == y).sum())


@given(tables, line, st.data())
@settings(max_examples=60, deadline=None)
def test_the_objective_of_a_composition_is_the_best_completion(table, records, data):
    """For every threshold of the domain the block's score is the best agreement over all later thresholds."""
    C = Boolean(table, WIDE)
    for t in data.draw(st.lists(st.integers(-1, 6), max_size=C.k - 1)):
        C = C.extend(Fraction(t))
    X, y = _arrays(records, 1)
    places = [Fraction(t) for t in range(6)]
    brute = [
        max(
            _agreement(C, (*C.prefix, C.component(i), *rest), X, y)
            for rest in product(places, repeat=C.free - 1)
        )
        for i in range(WIDE.size + 1)
    ]
    assert _spread(C.objective(X, y)) == brute
    best, witness = C.complete(X, y)
    assert best == max(brute) == _agreement(C, witness, X, y)


@given(tables, line, st.data())
@settings(max_examples=60, deadline=None)
def test_membership_in_a_composition_is_decided_exactly(table, records, data):
    """realizes() returns thresholds that give the labels, and None iff no thresholds do."""
    C = Boolean(table, WIDE)
    for t in data.draw(st.lists(st.integers(-1, 6), max_size=C.k)):
        C = C.extend(Fraction(t))
    X, y = _arrays(records, 1)
    found = C.realizes(X, y)
    places = [Fraction(t) for t in range(6)]
    possible = any(
        _agreement(C, (*C.prefix, *rest), X, y) == len(y) for rest in product(places, repeat=C.free)
    )
    assert (found is not None) == possible
    if found is not None:
        assert found[: len(C.prefix)] == C.prefix
        assert _agreement(C, found, X, y) == len(y)


def test_growth_on_a_line():
    """Thresholds: m + 1 labelings; intervals: 1 + m (m + 1)/2; exclusive or: up to k switches anywhere."""
    for m in range(8):
        assert thresholds(WIDE).growth(m) == m + 1
        assert intervals(WIDE).growth(m) == 1 + m * (m + 1) // 2
        xor = Boolean.of(lambda *bits: sum(bits) % 2 == 1, 3, WIDE)
        assert xor.growth(m) == sum(len(list(combinations(range(m), i))) for i in range(4))
        assert xor.extend(Fraction(0)).growth(m) == min(2**m, (m + 1) * (m + 2) // 2)


@given(tables, st.integers(0, 6), st.lists(st.integers(-1, 6), max_size=2))
@settings(max_examples=60, deadline=None)
def test_growth_of_compositions(table, m, fixed):
    """Labelings of m points: as many as the growth function says, at most as many after a prefix."""
    C, X = Boolean(table, WIDE), np.arange(m).reshape(m, 1)
    assert C.labelings(X).trellis.count() == C.growth(m)
    for t in fixed[: C.k]:
        C = C.extend(Fraction(t))
    assert C.labelings(X).trellis.count() <= C.growth(m)
    assert C.growth(10**6) >= 1


@pytest.mark.parametrize("d", [1, 2, 3])
def test_growth_of_halfspaces_is_attained(d):
    """On points in general position there are as many labelings as stated, whether w is fixed or not."""
    m = 6
    X = np.array([[t + 2, *((t + 2) ** i * (-1) ** t for i in range(2, d + 1))] for t in range(m)])
    C = Halfspaces((GRID,) * d)
    assert sum(count for _, count in C.labelings(X).levels()) == C.growth(m)
    fixed = C.extend(Fraction(1))
    assert sum(count for _, count in fixed.labelings(X).levels()) == fixed.growth(m)


@given(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), max_size=6))
@settings(max_examples=60, deadline=None)
def test_all_halfspaces_are_the_chambers_of_lifted_points(points):
    """Without a prefix the labelings are the generic sign vectors of (x, -1): none twice, none missing."""
    X = np.array(points, dtype=np.int64).reshape(len(points), 2)
    survey = Halfspaces((GRID, GRID)).labelings(X)
    found = [tuple(labelling.labels.tolist()) for labelling, _ in survey.candidates()]
    lifted = halfspace_subsets(np.hstack([X, -np.ones((len(X), 1), dtype=np.int64)]))
    assert sorted(found) == sorted(tuple(np.where(row, 1, -1).tolist()) for row in lifted)


@pytest.mark.parametrize("merged", [False, True])
@given(plane, st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_witnesses_realise_their_labelings(merged, records, depth):
    """Every labelling comes with a complete hypothesis of the class that has exactly these labels."""
    C = Halfspaces((GRID, GRID), merged)
    first = (Fraction(-1), Fraction(1, 2)) if merged else Fraction(-1)
    for part in (first, Fraction(3, 4))[: min(depth, C.k - merged)]:
        C = C.extend(part)
    X, y = _arrays(records, 2)
    for labelling, score in C.labelings(X, y).candidates():
        assert labelling.witness[: len(C.prefix)] == C.prefix
        assert C.predict(labelling.witness, X).tolist() == labelling.labels.tolist()
        assert score == int((labelling.labels == y).sum())
        assert C.realizes(X, labelling.labels) is not None


@given(plane, st.booleans())
@settings(max_examples=60, deadline=None)
def test_membership_of_halfspaces_agrees_with_the_list(records, fixed):
    """realizes() says None exactly for the labels that no cell has."""
    C = Halfspaces((GRID, GRID))
    C = C.extend(Fraction(1)) if fixed else C
    X, y = _arrays(records, 2)
    listed = {tuple(labelling.labels.tolist()) for labelling, _ in C.labelings(X).candidates()}
    found = C.realizes(X, y)
    assert (found is not None) == (tuple(y.tolist()) in listed)
    if found is not None:
        assert C.predict(found, X).tolist() == y.tolist()


def _brute_hull(boundaries, domain):
    """Q^ from slices: at all abscissas where two or three boundaries meet, and between them."""
    rows, j = boundaries.rows, boundaries.j
    marks = {Fraction(0)}
    for chosen in combinations(rows, j):
        solved = _first_of_vertex(chosen)
        if solved is not None:
            marks.add(solved)
    for p in rows:
        if p[0] and not any(p[1:j]):
            marks.add(Fraction(p[j], p[0]))
    for a, b in combinations(rows, 2):
        if j == 3:  # two planes may meet in a line of constant abscissa
            minors = [a[1] * b[2] - a[2] * b[1]]
            if not any(minors):
                k = 1 if a[1] or b[1] else 2
                det = a[0] * b[k] - a[k] * b[0]
                if det:
                    marks.add(Fraction(a[3] * b[k] - a[k] * b[3], det))
    marks = sorted(marks)
    places = [
        marks[0] - 1,
        *marks,
        *((a + b) / 2 for a, b in pairwise(marks)),
        marks[-1] + 1,
    ]
    scored = sorted((z, _slice_best(boundaries, z)) for z in places)
    reach = {}
    for at, (z, score) in enumerate(scored):
        low = None if at == 0 else (z if z in marks else scored[at - 1][0])
        high = None if at == len(scored) - 1 else (z if z in marks else scored[at + 1][0])
        reach.setdefault(score, []).append((low, high, z in marks))
    out = []
    for i in range(domain.size):
        z = domain.value(i)
        out.append(max(j for j in reach if _between(z, [p for s in reach if s >= j for p in reach[s]])))
    return out


def _between(z, pieces):
    left = any(low is None or low < z or (closed and low == z) for low, _, closed in pieces)
    right = any(high is None or high > z or (closed and high == z) for _, high, closed in pieces)
    return left and right


def _slice_best(boundaries, z):
    rows = [tuple(int(v * z.denominator) for v in (*p[1:-1], p[-1] - z * p[0])) for p in boundaries.rows]
    return max(cells_of(Boundaries.of(rows, boundaries.wanted, boundaries.j - 1)).counts())


def _first_of_vertex(rows):
    from geomdp.exact.linear import rank, solve

    matrix = [list(p[:-1]) for p in rows]
    if rank(matrix) < len(rows):
        return None
    return Fraction(solve(matrix, [p[-1] for p in rows])[0])


def _has_the_brute_hull(X, y, w):
    """Assert that the objective after w is the hull of the level sets, computed slice by slice."""
    d = X.shape[1]
    boundaries = Boundaries.of([(*map(int, x), w) for x in X], y.tolist(), d)
    C = Halfspaces((GRID,) * d).extend(Fraction(w))
    assert _spread(C.objective(X, y)) == _brute_hull(boundaries, GRID)


@given(space, st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_walk_in_space_reaches_as_far_as_the_recursion(records, flat, same):
    """The compiled walk along lines gives the same hulls as plane after plane in Python integers.

    Also where planes are vertical, parallel or opposite, or meet in one line.
    """
    X, y = _arrays(records, 3)
    if flat:
        X[::2, 1:] = 0
    if same:
        X[:, 2] = X[:, 1]
        X[1::2] *= -2
    for c in (1, 0, -1):
        boundaries = Boundaries.of([(*map(int, x), c) for x in X], y.tolist(), 3)
        hulls = [Hull.of(boundaries, _slice_best, compiled=way).blocks(GRID) for way in (None, False)]
        assert hulls[0] == hulls[1]


def test_wide_planes_are_walked_in_python_integers():
    """Where products exceed 62 bits nothing is compiled, and hulls scale with the coordinates."""
    rng = np.random.default_rng(2)
    X, y = rng.integers(-9, 10, (7, 3)), rng.choice((-1, 1), 7)
    near, far = (
        reach_of(Boundaries.of([(*(int(v) * s for v in x), 1) for x in X], y.tolist(), 3)) for s in (1, 2**40)
    )
    for one, two in zip(near, far, strict=True):
        assert {s: None if x is None else x / 2**40 for s, x in one.items()} == two


@given(plane, st.sampled_from((-1, 1)))
@settings(max_examples=80, deadline=None)
def test_the_objective_in_the_plane_is_the_hull_of_the_level_sets(records, w):
    """Blocks for a_1 equal Q^ computed from slices at all critical abscissas and between them."""
    X, y = _arrays(records, 2)
    _has_the_brute_hull(X, y, w)


@given(space)
@settings(max_examples=25, deadline=None)
def test_the_objective_in_space_is_the_hull_of_the_level_sets(records):
    """The same for a_1 with two more coordinates free."""
    X, y = _arrays(records, 3)
    _has_the_brute_hull(X, y, 1)


@pytest.mark.parametrize("w", [-1, 1])
def test_parallel_and_coinciding_planes_in_space(w):
    """Multiples and opposites of few directions, contradictory labels: the objective is the hull still."""
    rng = np.random.default_rng(w + 1)
    for _ in range(25):
        X = rng.integers(-1, 2, (3, 3))[rng.integers(0, 3, 6)] * rng.integers(-2, 3, (6, 1))
        y = rng.choice((-1, 1), 6)
        _has_the_brute_hull(X, y, w)


@given(plane)
@settings(max_examples=40, deadline=None)
def test_compiled_and_plain_reach_agree(records):
    """The compiled walk along the lines returns what the one in Python integers does."""
    X, y = _arrays(records, 2)
    boundaries = Boundaries.of([(*map(int, x), 1) for x in X], y.tolist(), 2)
    hulls = [Hull.of(boundaries, _slice_best, compiled=c).blocks(GRID) for c in (True, False)]
    assert hulls[0] == hulls[1]
    assert reach_of(boundaries, compiled=True) == reach_of(boundaries, compiled=False)


@given(plane)
@settings(max_examples=60, deadline=None)
def test_the_last_coordinate_counts_half_open_labels(records):
    """With all but one coordinate fixed the objective is the agreement of the hypothesis itself."""
    X, y = _arrays(records, 2)
    C = Halfspaces((GRID, GRID), merged=True).extend((Fraction(1), Fraction(1, 2)))
    brute = [_agreement(C, (*C.prefix, GRID.value(i)), X, y) for i in range(GRID.size)]
    assert _spread(C.objective(X, y)) == brute


@given(plane, st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_first_component_offers_both_signs(records, merged):
    """(w, a_1) is scored like a_1 after w; w alone by its best completion."""
    X, y = _arrays(records, 2)
    C = Halfspaces((GRID, GRID), merged)
    after = [_spread(Halfspaces((GRID, GRID)).extend(Fraction(w)).objective(X, y)) for w in (-1, 1)]
    expected = after[0] + after[1] if merged else [max(after[0]), max(after[1])]
    got = _spread(C.objective(X, y))
    if merged:
        assert got == expected
        assert C.component(GRID.size) == (Fraction(1), Fraction(-3))
        assert C.domain().size == 2 * GRID.size
    else:
        assert all(a >= b for a, b in zip(got, expected, strict=True))  # the grid may miss the best a_1
        assert C.component(0) == -1


@given(plane, st.integers(0, 20), st.data())
@settings(max_examples=60, deadline=None)
def test_objectives_have_sensitivity_one_on_all_inputs(records, at, data):
    """Replacing a record, realizable or not, changes the score of each element by at most one."""
    if not records:
        return
    other = list(records)
    other[at % len(records)] = data.draw(plane.filter(bool))[0]
    for C in (
        Halfspaces((GRID, GRID), merged=True),
        Halfspaces((GRID, GRID)).extend(Fraction(1)),
        Halfspaces((GRID, GRID)).extend(Fraction(-1)).extend(Fraction(1)),
    ):
        one, two = (_spread(C.objective(*_arrays(r, 2))) for r in (records, other))
        assert max(abs(a - b) for a, b in zip(one, two, strict=True)) <= 1


@given(plane)
@settings(max_examples=40, deadline=None)
def test_objectives_of_realizable_samples_are_quasi_concave_and_full(records):
    """On a realizable prefix state the objective is its own envelope, and some real z attains all records."""
    X, _ = _arrays(records, 2)
    C = Halfspaces((GRID, GRID)).extend(Fraction(1))
    y = next(iter(C.labelings(X).candidates()))[0].labels
    blocks = C.objective(X, y)
    assert envelope(blocks) == blocks
    assert Hull.of(Boundaries.of([(*map(int, x), 1) for x in X], y.tolist(), 2), _slice_best).left.keys() >= {
        len(y)
    } - {0}


def test_bad_input_is_refused_with_public_words():
    """Tables of wrong shape or type, unknown labels and prefixes of no hypothesis raise ArgumentError."""
    C = Halfspaces((GRID, GRID))
    with pytest.raises(ArgumentError, match="2 column"):
        C.objective(np.zeros((3, 1), dtype=np.int64), np.ones(3))
    with pytest.raises(ArgumentError, match="integers"):
        C.labelings(np.zeros((3, 2)))
    with pytest.raises(ArgumentError, match="labels"):
        C.labelings(np.zeros((1, 2), dtype=np.int64), np.array([3]))
    with pytest.raises(ArgumentError, match="prefix"):
        C.extend(Fraction(2))
    with pytest.raises(ArgumentError, match="2\\^k"):
        Boolean((1, 1, 1), WIDE)
    with pytest.raises(CapacityError):
        Halfspaces((GRID,) * 3).extend(Fraction(1)).labelings(np.ones((500, 3), dtype=np.int64))


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_realizable_records_have_a_component_on_offer_without_mistakes(size, k):
    """On every labelling that is realized, in every round, the best score on offer is m: a tuple is found.

    All rules of k thresholds, all labelings of all points of the domain; so the last threshold that never
    passes is on offer too.
    """
    D = Integers(0, size - 1)
    X = np.arange(size)[:, None]
    for table in product((-1, 1), repeat=2**k) if k < 3 else [(-1, 1, 1, -1, 1, -1, -1, 1), (-1,) * 7 + (1,)]:
        for y in product((-1, 1), repeat=size):
            C = Boolean(table, D)
            realized = any(
                C.predict(tuple(map(Fraction, t)), X).tolist() == list(y)
                for t in product(range(size + 1), repeat=k)
            )
            assert (C.realizes(X, np.array(y)) is not None) == realized
            while realized and C.free:
                best = max(C.objective(X, np.array(y)), key=lambda block: block.score)
                assert best.score == size
                C = C.extend(C.component(best.last))
            assert not realized or C.predict(C.prefix, X).tolist() == list(y)


@pytest.mark.parametrize("D", [Integers(-2, 3), Explicit([0, Fraction(1, 2), 5]), Dyadic(1, 1)])
def test_the_value_beyond_a_domain_is_its_last_rank(D):
    """Ranks and cuts of a domain and one value beyond are those of the list."""
    beyond = Beyond(D)
    listed = [beyond.value(i) for i in range(beyond.size)]
    assert listed == [*(D.value(i) for i in range(D.size)), D.value(D.size - 1) + 1]
    for x in (v + e for v in listed for e in (Fraction(-1, 8), Fraction(0), Fraction(1, 8), Fraction(2))):
        assert beyond.first_at_least(x) == sum(v < x for v in listed)
        assert beyond.first_above(x) == sum(v <= x for v in listed)


def test_limits_of_halfspaces_follow_from_public_sizes_alone():
    """Four features are refused; with fewer, a limit holds at its size and not beyond; no record is read."""
    boost, label = "carrier-boost", "label-boost"
    for merged in (True, False):
        C = Halfspaces((GRID,) * 4, merged)
        with pytest.raises(CapacityError, match=r"3 features.*method='exponential' with mode='validated'"):
            C.admit((1,) * C.k, boost, initial=False)
    merged, separate = Halfspaces((GRID,) * 3, merged=True), Halfspaces((GRID,) * 3)
    plane = Halfspaces((GRID,) * 2)
    for C, m, method, initial in (
        (merged, (800, 500, 500), boost, False),
        (merged, (71, 500, 500), boost, True),
        (separate, (40, 31, 500, 9), label, False),
        (plane, (10**6, 16384, 10**6), boost, False),
    ):
        C.admit(m, method, initial=initial)
        if C is plane:
            continue
        with pytest.raises(CapacityError, match=f"not {m[0] + 1}|not 72"):
            C.admit((m[0] + 1, *m[1:]), method, initial=initial)
    with pytest.raises(CapacityError, match="sample 2"):
        plane.admit((9, 16385, 9), boost, initial=False)
    plane.admit((9, 16385, 9), label, initial=False)


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("method", ["carrier-boost", "label-boost"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_largest_sizes_are_admitted_and_no_larger_ones_of_a_limited_sample(d, method, initial, merged):
    """Every size of `largest` passes at once; where a sample has a limit, one more row is refused."""
    C = Halfspaces((GRID,) * d, merged)
    most = C.largest(512, method, initial=initial)
    C.admit(most, method, initial=initial)
    for i, size in enumerate(most):
        if size < 2**50 and not (d == 3 and not merged and i < 2):  # those two share a limit
            with pytest.raises(CapacityError):
                C.admit((*most[:i], size + 1, *most[i + 1 :]), method, initial=initial)
    assert all(a <= b for a, b in zip(C.largest(2**20, method, initial=initial), most, strict=True))


def test_direct_objectives_in_four_features_decide_by_the_number_of_rows():
    """A record on which the first coordinate decides alone does not change whether a table is refused."""
    rows = np.tile([[1, 1, 0, 0], [0, 1, 2, 0], [1, 0, 0, 3], [2, 1, 1, 1]], (18, 1))
    y = np.tile([-1, 1], 36)
    for first in ([1, 1, 0, 0], [2, 0, 0, 0]):
        X = rows.copy()
        X[0] = first
        C = Halfspaces((Explicit([-1, 0, 1]),) * 4, merged=True)
        with pytest.raises(CapacityError, match="71 rows"):
            C.objective(X, y)
        assert max(b.score for b in C.objective(X[:71], y[:71])) >= 35


def test_wide_integers_are_exact():
    """Coordinates beyond 64 bits are separated exactly."""
    big = 2**80
    X = np.array([[big, 1], [big + 1, 1], [0, 1]], dtype=object)
    C = Halfspaces((Explicit([0, 1]), Explicit([0, 1])), merged=True)
    survey = C.labelings(X)
    assert sum(count for _, count in survey.levels()) == 6
    y = np.array([-1, 1, -1])
    found = C.realizes(X, y)
    assert C.predict(found, X).tolist() == y.tolist()
