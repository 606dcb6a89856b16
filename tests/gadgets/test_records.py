"""Laws of the records: points, copies, padding, diameters, and recounted mistakes."""

import itertools

import numpy as np
import pytest
from support.gadgets import SMALL, small_instance

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError, CapacityError


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_mistakes_are_those_of_the_halfspace(small):
    """The sparse recount equals the halfspace's own count on the samples, on points good and bad."""
    inst = small_instance(*small)
    rng = np.random.default_rng(0)
    u, v = inst.words(1, 2)
    S_A, S_B = inst.encode(u, v)
    a, b = inst.codewords(u, v)
    held = inst.records.counts("A", a, inst.n), inst.records.counts("B", b, inst.n)
    witness = inst.witness(u, v)
    for x, denominator in [
        (witness.array, witness.denominator),
        (rng.integers(-3, 4, len(inst.program.variables)), 2),
        (rng.integers(0, 2, len(inst.program.variables)) * inst.N, 7 * inst.N + 1),
    ]:
        h = Halfspace((*x.tolist(), denominator))
        assert inst.records.mistakes(x, denominator, held) == h.mistakes(S_A) + h.mistakes(S_B)


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_points_are_distinct_and_public(small):
    """Domain points are distinct, but for the check of one symbol that is a pin of Bob's, and not private."""
    inst = small_instance(*small)
    points = set(map(tuple, inst.records.points().tolist()))
    single = sum(len(check) == 1 for check in inst.code.checks)
    assert len(points) + single == inst.records.m == inst.domain.m
    assert inst.records.d == inst.domain.d == len(inst.program.variables) + 1
    assert inst.encode(*inst.words(0))[0].domain is inst.encode(*inst.words(1))[1].domain


def test_copies_and_padding():
    """Alice holds L copies of K pins and J of her anchor, Bob J of every public row besides; anchors pad."""
    inst = small_instance("fano", 2, "parabola", "facets", J=11, L=4)
    u, v = inst.words(1)
    S_A, S_B = inst.encode(u, v)
    assert S_A.n == S_B.n == inst.n == 7 * 4 + (len(inst.program.public) + 1) * 11
    assert S_A.positive.sum() == S_B.negative.sum() == 0
    assert sorted(S_A.negatives.tolist()) == [4] * 7 + [inst.n - 28]
    assert sorted(S_B.positives.tolist()) == [4] * 7 + [11] * (len(inst.program.public) + 1)
    larger = inst.encode(u, v, inst.n + 100)
    assert [S.n for S in larger] == [inst.n + 100] * 2
    assert inst.records.needed == (39, inst.n)
    with pytest.raises(ArgumentError, match=f"at least {inst.n}.*need {inst.n} records"):
        inst.encode(u, v, inst.n - 1)
    with pytest.raises(CapacityError):
        inst.encode(u, v, 2**60)


@pytest.mark.parametrize("small", [SMALL[0], SMALL[3], SMALL[10]], ids=str)
def test_diameters_by_brute_force(small):
    """Changing a word replaces at most the claimed number of records, and some change replaces as many."""
    inst = small_instance(*small, L=5)
    words = list(itertools.islice(itertools.product(range(inst.q), repeat=inst.k), 64))
    lower, upper = inst.diameters
    for word in "AB":
        counts = [inst.records.counts(word, inst.field.encode(w), inst.n) for w in words]
        distance = max(int(np.maximum(x - counts[0], 0).sum()) for x in counts)
        assert distance <= upper <= inst.code.K * inst.L
        if len(words) == inst.q**inst.k:
            assert distance == lower


def test_wide_slacks_keep_their_digits():
    """Where 64 bits are too few, points are Python integers and still label the records."""
    inst = small_instance("wide", 4, "parabola", "implication tree")
    huge = inst.records.__class__(**{**vars(inst.records), "N": 10**30})
    X = huge.points()
    assert X.dtype == object
    assert max(max(map(abs, row)) for row in X.tolist()) > 10**30
    u, v = inst.words(0)
    a, b = inst.codewords(u, v)
    held = huge.counts("A", a), huge.counts("B", b)
    point = inst.witness(u, v)
    assert huge.mistakes(point.array, point.denominator, held) == 0
    with pytest.raises(ArgumentError, match="denominator"):
        huge.mistakes(point.array, 0, held)
