"""Laws of the dual discretisation."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from support.strategies import degenerate_points
from support.zoo import COUNTS, POINTS, domain, labellings, sample

from geomdp.core.classifier import products
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.core.sample import Sample
from geomdp.geometry import arrangement
from geomdp.geometry.arrangement import Dichotomies, count_dichotomies, dichotomies, estimate
from geomdp.geometry.exact_tree import direction_of, weights_by_exact_tree
from geomdp.geometry.flats import distinct_lines
from geomdp.geometry.restrict import chambers_by_restriction
from geomdp.geometry.rounding import round_witnesses, shorten_witnesses


def grid(*levels: int) -> Domain:
    """Return a grid with bias."""
    return Domain.grid([(f"f{i}", 0, 1, k) for i, k in enumerate(levels)])


def labels(W: Dichotomies) -> set[tuple[int, ...]]:
    """Return the set of labellings."""
    return {tuple(row) for row in W.signs.tolist()}


def recounted(W: Dichotomies) -> np.ndarray:
    """Label the domain again, in Python integers."""
    values = W.weights.astype(object) @ W.domain.points.astype(object).T
    return np.where(values >= 0, 1, -1)


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("method", ["walk", "lp"])
@pytest.mark.parametrize("name", POINTS)
def test_every_labelling_once(name: str, method: str, generic: bool) -> None:
    """Each labelling of the rational oracle has exactly one integer representative that gives it."""
    D = domain(name)
    W = dichotomies(D, method=method, generic=generic)
    assert labels(W) == {tuple(row) for row in labellings(D.points.tolist()).tolist()}
    assert len(labels(W)) == len(W)
    assert (recounted(W) == W.signs).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(degenerate_points())
def test_walk_tree_and_oracle_agree(points: np.ndarray) -> None:
    """On any small set the circle walk, the tree of programs and the rational oracle agree."""
    D = Domain(points)
    expected = {tuple(row) for row in labellings(points.tolist()).tolist()}
    assert labels(dichotomies(D)) == expected
    assert labels(dichotomies(D, method="lp")) == expected


@pytest.mark.parametrize(
    "levels", [(2,), (9,), (2, 2), (5, 4), (8, 8), (2, 2, 2), (3, 3, 2), (2, 2, 2, 2), (3, 2, 2, 2)]
)
def test_grids_walk_as_by_restriction(levels: tuple[int, ...]) -> None:
    """On grids the walk finds the cells that the float-free restriction finds."""
    D = grid(*levels)
    W = dichotomies(D)
    exact = chambers_by_restriction(distinct_lines(D.points).rows.tolist(), D.d)
    other = np.where(np.array(exact, dtype=object) @ D.points.astype(object).T >= 0, 1, -1)
    assert labels(W) == {tuple(row) for row in other.tolist()}
    assert (recounted(W) == W.signs).all()


@pytest.mark.parametrize(("m", "d"), [(60, 2), (60, 3), (25, 4), (16, 5), (12, 6), (10, 7)])
@pytest.mark.parametrize("size", [2, 50])
def test_random_sets_are_complete(m: int, d: int, size: int) -> None:
    """Random sets, degenerate (small entries) or nearly simple, are complete in any dimension."""
    points = np.random.default_rng(m + d).integers(-size, size + 1, (m, d))
    W = dichotomies(Domain(points))
    assert len(labels(W)) == len(W) == count_dichotomies(Domain(points))
    assert (recounted(W) == W.signs).all()


def test_published_numbers() -> None:
    """Sixteen levels squared, the cross polytope's faces and the centred square are enumerated in full."""
    assert len(dichotomies(grid(16, 16))) == 40150
    assert len(dichotomies(domain("cross polytope"))) == 3**3
    assert len(dichotomies(domain("centred three by three"))) == 17


def test_pointed_representatives_lie_in_open_cells() -> None:
    """On a pointed domain no representative is orthogonal to a point, also if no coordinate shows it."""
    hidden = Domain([[1, -2], [-1, 3], [0, 1], [2, -5]])
    assert not hidden.pointed
    for D in (grid(6, 5), grid(3, 3, 3), hidden):
        for method in ("walk", "lp"):
            W = dichotomies(D, method=method)
            assert W.generic
            assert products(D.points, np.ascontiguousarray(W.weights.T)).all()


def test_zero_is_a_representative_exactly_for_totally_cyclic_sets() -> None:
    """The zero vector stands for all-plus exactly when no other w gives that labelling."""
    for name in ("antipodes", "cross polytope", "simplex", "square", "both signs on a line"):
        W = dichotomies(domain(name))
        has_zero = bool((W.weights == 0).all(axis=1).any())
        assert has_zero == (name in {"cross polytope", "simplex", "both signs on a line"})


def test_generic_representatives_are_in_general_position() -> None:
    """With generic=True any d representatives are independent, unless two are opposite."""
    for D in (grid(4, 4), grid(2, 2, 2)):
        W = dichotomies(D, generic=True).weights
        half = W[: len(W) // 2].astype(np.float64)
        half /= np.linalg.norm(half, axis=1, keepdims=True)
        subsets = np.array(list(itertools.combinations(range(len(half)), D.d)))
        assert np.abs(np.linalg.det(half[subsets])).min() > 1e-12


def test_representatives_are_short() -> None:
    """The representatives of an n x n grid need few bits more than its cells' widths, about 1/n^3."""
    assert int(np.abs(dichotomies(grid(16, 16)).weights).max()) < 2**16
    assert int(np.abs(dichotomies(grid(16, 16), generic=True).weights).max()) < 2**25


@pytest.mark.parametrize("name", ["three by three", "cross polytope", "zero among others", "duplicates"])
@pytest.mark.parametrize("counts", COUNTS)
def test_mistakes_are_recounted(name: str, counts: str) -> None:
    """The mistakes priced from packed labels are those of each classifier on the sample."""
    S = sample(domain(name), counts)
    W = dichotomies(S.domain)
    assert W.mistakes(S).tolist() == [W.classifier(i).mistakes(S) for i in range(len(W))]


def test_blocks_are_the_signs() -> None:
    """Blocks of labels, of any size, join to the whole array."""
    W = dichotomies(grid(5, 5))
    for size in (None, 1, 7, 10**6):
        parts = list(W.blocks(size))
        assert np.array_equal(np.concatenate([block for _, block in parts]), W.signs)
        assert parts[0][0].start == 0
    assert W.packed.shape == (len(W), 4)


def test_the_same_call_gives_the_same_set() -> None:
    """Representatives and their order are a function of the domain."""
    for generic in (False, True):
        first, second = (dichotomies(grid(6, 6), generic=generic) for _ in range(2))
        assert np.array_equal(first.weights, second.weights)


def test_a_hash_collision_can_only_repeat_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that make all cells collide are noticed by the count; fresh keys, or no hashes, repair it."""
    from geomdp.geometry import walk

    D, calls = grid(4, 4), []
    fresh = walk._fresh_keys

    def poor(m: int, rng: np.random.Generator) -> np.ndarray:
        calls.append(m)
        keys = np.zeros(m, dtype=np.uint64)
        keys[0] = 1
        return keys if len(calls) == 1 else fresh(m, rng)

    monkeypatch.setattr(walk, "_fresh_keys", poor)
    assert len(labels(dichotomies(D))) == 174
    assert len(calls) == 2
    monkeypatch.setattr(walk, "_fresh_keys", lambda m, rng: poor(m, calls.clear() or rng))
    assert len(labels(dichotomies(D))) == 174


def test_thin_cells_are_found_in_python_integers() -> None:
    """Directions 2^-100 apart, beyond floats, still have their representatives."""
    D = Domain([[2**50, 2**50 - 1], [2**50 - 1, 2**50 - 2], [2**50 - 2, 2**50 - 3]])
    W = dichotomies(D)
    assert len(labels(W)) == len(W) == 6
    assert (recounted(W) == W.signs).all()


def test_coordinates_at_the_end_of_int64_do_not_wrap() -> None:
    """Points whose sums leave int64 are labelled exactly."""
    top = 2**63 - 1
    D = Domain([[top, top, top, top], [-top - 1, top, 1, 0], [top, -top, top, 3], [1, 0, 0, top]])
    W = dichotomies(D)
    assert labels(W) == {tuple(row) for row in labellings(D.points.tolist()).tolist()}
    assert (recounted(W) == W.signs).all()


def test_equal_labellings_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One repeated row is noticed; distinct rows, however structured, are told apart by hashes alone."""
    packed = dichotomies(grid(12, 12)).packed
    assert not arrangement._distinct(np.concatenate([packed, packed[:1]]))
    single = np.packbits(np.eye(200, dtype=np.uint8), axis=1)
    pairs = np.array([a ^ b for a, b in itertools.combinations(single, 2)])
    monkeypatch.setattr(np, "unique", None)
    assert arrangement._distinct(packed)
    assert arrangement._distinct(np.concatenate([single, pairs]))


def test_long_coordinates_announce_a_slow_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a size the switch to Python integers comes with a warning."""
    monkeypatch.setattr(arrangement, "SLOW", 5)
    D = Domain([[10**40, 1], [1, 1], [0, 1], [-(10**40), 1]])
    with pytest.warns(UserWarning, match="Python integers"):
        W = dichotomies(D)
    assert len(W) == 8


def test_rounding_stays_in_the_cell() -> None:
    """Rounding and shortening keep every sign, with and without a perturbation."""
    rows = np.array([[3, -1, 1], [1, 1, 1], [0, 2, -5], [7, 7, 8]])
    exact = chambers_by_restriction(rows.tolist(), 3)
    W = np.array(exact, dtype=np.float64)
    W /= np.abs(W).max(axis=1, keepdims=True)
    margins = (np.abs(W @ rows.T) / np.abs(rows).sum(axis=1)).min(axis=1)
    expected = np.array(exact) @ rows.T > 0
    for rng in (None, np.random.default_rng(0)):
        assert np.array_equal(round_witnesses(W, margins, rng) @ rows.T > 0, expected)
        assert np.array_equal(shorten_witnesses(rows, exact, rng) @ rows.T > 0, expected)
    wide = round_witnesses(np.array([[1.0, 1e-30]]), np.array([1e-31]))
    assert wide.dtype == object
    assert wide[0, 1] > 0


def test_too_large_is_refused_with_an_estimate() -> None:
    """A request above the limit is refused before any work, with count, memory and time."""
    with pytest.raises(CapacityError, match=r"at most 100 dichotomies, not 174 dichotomies, about .* GB"):
        dichotomies(grid(4, 4), limit=100)
    with pytest.raises(CapacityError, match="36,893,488,147,419,103,232 dichotomies"):
        dichotomies(Domain.line(2**64))
    with pytest.raises(CapacityError, match="part of its points"):
        dichotomies(grid(16, 16, 16, 4))
    with pytest.raises(CapacityError, match=r"fit in 8 GB, not 2,000,000 dichotomies, about .* GB"):
        dichotomies(Domain.line(10**6))
    with pytest.raises(CapacityError, match=r"about 2\^1025 dichotomies"):
        dichotomies(Domain.line(2**1024))
    guess = estimate(grid(4, 4))
    assert guess.count == 174
    assert guess.bytes > 0
    assert "174 dichotomies" in str(guess)


def test_progress_rises_to_one() -> None:
    """Both methods report increasing fractions that end at 1."""
    for method in ("walk", "lp"):
        seen: list[float] = []
        dichotomies(grid(3, 3), method=method, progress=seen.append)
        assert seen == sorted(seen)
        assert 0.0 <= seen[0] <= seen[-1] == 1.0


def test_bad_arguments() -> None:
    """Wrong types and values are named."""
    with pytest.raises(ArgumentError, match="'method' must be one of 'walk', 'lp', not 'hull'"):
        dichotomies(grid(2, 2), method="hull")
    with pytest.raises(ArgumentError, match="'domain' must be a Domain"):
        dichotomies(np.eye(3))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'limit' must be an integer >= 1, not 0"):
        dichotomies(grid(2, 2), limit=0)
    with pytest.raises(ArgumentError, match="'sample' must be a sample on the same domain"):
        dichotomies(grid(2, 2)).mistakes(Sample.from_cells(grid(3, 2), [0], [1]))


def test_repr() -> None:
    """The repr says how many and on what."""
    assert repr(dichotomies(Domain([[0, 1], [1, 1]]))) == "Dichotomies(N=4, domain=Domain(m=2, d=2))"


def test_no_warning_on_ordinary_domains() -> None:
    """Grids go through the compiled walk silently."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dichotomies(grid(8, 8))
        dichotomies(grid(3, 3, 3))


@pytest.mark.exhaustive
def test_large_grid_is_complete() -> None:
    """32 x 32 with bias is enumerated in full."""
    assert len(dichotomies(grid(32, 32))) == 638694


@pytest.mark.parametrize("bits", [5, 11, 12, 13, 25, 27, 30, 40])
def test_labels_are_computed_exactly_at_every_size(bits):
    """Products whose sums lie about 2^24, 2^53 and 2^62 agree with those of Python integers."""
    rng = np.random.default_rng(bits)
    points = rng.integers(-(2**bits), 2**bits + 1, (30, 4))
    points[0], points[1:5, 0] = 2**bits, 2**bits - 1
    W = rng.integers(-(2**bits), 2**bits + 1, (40, 4))
    W[0], W[1] = 2**bits - 1, [2**bits, -(2**bits), 1, 0]
    exact = W.astype(object) @ points.T.astype(object)
    assert (arrangement._evaluator(points, W)(W).astype(object) == exact).all()


@pytest.mark.parametrize("bits", [20, 30, 40, 54, 80])
@pytest.mark.parametrize("balanced", [False, True])
def test_programs_do_not_fail_on_wide_coordinates(bits: int, balanced: bool) -> None:
    """Nearly parallel points of up to 80 bits have the labellings that the walk finds, by either method."""
    rng, top = np.random.default_rng(bits), 1 << bits
    points = [[top + int(a), top - int(b), 1] for a, b in rng.integers(-2, 3, (5, 2))]
    if balanced:
        points += [[-x for x in points[0]], [0, 0, -1]]
    D = Domain(points)
    seen: list[float] = []
    walk, tree = dichotomies(D), dichotomies(D, method="lp", generic=True, progress=seen.append)
    assert seen == sorted(seen)
    assert labels(walk) == labels(tree)
    assert len(walk) == len(tree) == count_dichotomies(D)
    assert (recounted(tree) == tree.signs).all()


@pytest.mark.parametrize("name", POINTS)
def test_the_exact_tree_finds_every_labelling_once(name: str) -> None:
    """The tree in integers alone gives each labelling of the rational oracle one representative."""
    D = domain(name)
    rows = D.points[(D.points != 0).any(axis=1)]
    pointed = direction_of(rows, (1,) * len(rows), strict=True) is not None
    for strict in {False, pointed}:
        W = weights_by_exact_tree(D.points, pointed=strict).astype(object)
        values = W @ D.points.astype(object).T
        found = [tuple(row) for row in np.where(values >= 0, 1, -1).tolist()]
        assert set(found) == {tuple(row) for row in labellings(D.points.tolist()).tolist()}
        assert len(set(found)) == len(found)
