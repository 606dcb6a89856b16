"""Laws of the threshold instances: the optimum by formula, by the exact algorithm, and by brute force."""

import itertools
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp import Threshold, opt_threshold
from geomdp.core.errors import ArgumentError
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


@pytest.mark.parametrize(
    "bad",
    [{"m": 2, "n": 1, "t": 1}, {"m": 9, "n": 1, "t": 2}, {"m": 9, "n": 0, "t": 1}, {"m": 9, "n": 5, "t": 0}],
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
