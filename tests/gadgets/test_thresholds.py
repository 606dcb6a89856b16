"""Laws of the threshold instances: the optimum by formula, by the exact algorithm, and by brute force."""

import itertools
import tracemalloc
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp import Threshold, opt_threshold
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import MAX_RECORDS, Sample
from lp_gadgets.thresholds import ThresholdInstance, threshold_bound


@pytest.mark.parametrize(("m", "n", "t"), [(3, 1, 1), (4, 3, 2), (10, 5, 5), (18, 7, 3)])
def test_the_formula_for_all_pairs(m, n, t):
    """For all pairs the formula, the exact algorithm and all m + 1 thresholds agree (Theorem 3.1)."""
    inst = ThresholdInstance(m, n, t)
    for i, j in itertools.product(range(1, 2**inst.bits + 1), repeat=2):
        S_A, S_B = inst.encode(i, j)
        assert S_A.n == S_B.n == n
        brute = min(Threshold(x).mistakes(S_A) + Threshold(x).mistakes(S_B) for x in range(m + 1))
        found = opt_threshold(S_A, S_B)
        best = inst.classifier(i, j)
        assert (
            inst.opt(i, j) == brute == found.lower == found.upper == best.mistakes(S_A) + best.mistakes(S_B)
        )


@given(st.integers(3, 2**80), st.integers(1, 10**6), st.data())
def test_the_formula_on_huge_domains(m, n, data):
    """On domains that are never written out the exact algorithm agrees with the formula."""
    inst = ThresholdInstance(m, n, data.draw(st.integers(1, min(n, 50))))
    rank = st.integers(1, 2**inst.bits)
    i, j = data.draw(rank), data.draw(rank)
    if n < 1000:
        assert opt_threshold(*inst.encode(i, j)).upper == inst.opt(i, j)
    assert 2**inst.bits + 1 < m <= 2 ** (inst.bits + 1) + 1


def test_diameters_and_information():
    """A change of rank replaces t records, so the transcript reveals at most 2 epsilon t / ln 2 bits."""
    inst = ThresholdInstance(100, 20, 6)
    first, second = (inst.encode(i, 5)[0] for i in (3, 9))
    assert int((first.negative - second.negative).clip(0).sum()) == 6 == inst.diameters[0]
    assert inst.information(0.5) == pytest.approx(0.5 * 12 / log(2))
    assert ThresholdInstance(3, 5, 2).diameters == (0, 0)


def test_the_bound_inverts_the_information():
    """At the bound an epsilon-DP transcript reveals exactly c_I log2 l bits."""
    for m in (2**20, 2**64):
        t = threshold_bound(m, 0.25, 3)
        bits = ThresholdInstance(m, 1, 1).bits
        assert 0.25 * 2 * t / log(2) == pytest.approx(3 * log(bits, 2))
    assert threshold_bound(3, 1) == threshold_bound(4, 1) == 0


@pytest.mark.parametrize(("m", "n", "t"), [(9, 12, 5), (9, 5, 5), (2**80, 30, 7), (3, 2, 1), (2**64, 4, 4)])
def test_samples_are_those_of_listed_records(m, n, t):
    """The samples are those that a list of all n records gives."""
    inst = ThresholdInstance(m, n, t)
    i, j = 2**inst.bits, 1
    rest, domain = n - t, inst.domain
    listed = (
        Sample.from_cells(domain, [0] * rest + [i] * t, [-1] * n),
        Sample.from_cells(domain, [j] * t + [m - 1] * rest, [1] * n),
    )
    for made, wanted in zip(inst.encode(i, j), listed, strict=True):
        assert made.cells.tolist() == wanted.cells.tolist()
        assert made.cells.dtype == wanted.cells.dtype
        assert made.positives.tolist() == wanted.positives.tolist()
        assert made.negatives.tolist() == wanted.negatives.tolist()


def test_no_record_is_listed():
    """The largest sample that there is takes the memory of two cells."""
    inst = ThresholdInstance(2**64, MAX_RECORDS, MAX_RECORDS // 2)
    tracemalloc.start()
    try:
        assert [S.n for S in inst.encode(6, 6)] == [MAX_RECORDS] * 2
        assert tracemalloc.get_traced_memory()[1] < 10**5
    finally:
        tracemalloc.stop()


def test_numbers_of_numpy_are_integers():
    """Parameters that are numpy integers give the instance of the Python ones."""
    inst = ThresholdInstance(np.int64(10), np.int64(3), np.uint8(1))
    assert inst == ThresholdInstance(10, 3, 1)
    assert inst.bits == 3


@pytest.mark.parametrize("c_I", [10**400, -3, 0, float("nan"), "x", 10**9 + 1])
def test_constants_out_of_range_are_refused(c_I):
    """The constant of the information bound is a number with 0 < c_I <= 10^9."""
    with pytest.raises(ArgumentError, match="c_I"):
        threshold_bound(2**64, 1, c_I)


@pytest.mark.parametrize(
    "bad",
    [
        {"m": 10, "n": 3, "t": 10**5000},
        {"m": 10**5000, "n": 3, "t": 1},
        {"m": 2, "n": 1, "t": 1},
        {"m": 9, "n": 1, "t": 2},
        {"m": 9, "n": 0, "t": 1},
        {"m": 9, "n": 5, "t": 0},
    ],
)
def test_bad_parameters_are_refused(bad):
    """Too few ranks and gaps beyond the sample are refused."""
    with pytest.raises(ArgumentError):
        ThresholdInstance(**bad)


def test_ranks_out_of_range_are_refused():
    """Only ranks 1..2^l can be encoded."""
    inst = ThresholdInstance(10, 3, 1)
    for i, j in ((0, 1), (1, 9), (1.5, 1)):
        with pytest.raises(ArgumentError):
            inst.encode(i, j)
