"""Laws of the exact threshold optimum."""

import numpy as np
import pytest

from geomdp import ArgumentError, Domain, Sample, Threshold
from geomdp.opt.result import RecountError, recounted
from geomdp.opt.threshold import opt_threshold


@pytest.mark.parametrize("seed", range(10))
def test_every_threshold_is_tried(seed):
    """The optimum is the least number of mistakes over theta = 0..m, each counted record by record."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 9)), int(rng.integers(0, 12))
    for D in (Domain.line(m), Domain.grid([("x", 0, 1, m)])):
        cells, labels = rng.integers(0, m, n), rng.choice([-1, 1], n)
        S = Sample.from_cells(D, cells, labels)
        r = opt_threshold(S)
        counts = [
            sum(Threshold(theta).predict(c) != y for c, y in zip(cells, labels, strict=True))
            for theta in range(m + 1)
        ]
        assert r.optimal
        assert r.lower == r.upper == min(counts) == counts[r.classifier.theta]
        assert r.n == n


def test_one_sided():
    """A rule that is +1 below and -1 above is not in the class: the smaller side is wrong."""
    D = Domain.line(10)
    S = Sample.from_cells(D, [0, 1, 2, 7, 8], [1, 1, 1, -1, -1])
    assert opt_threshold(S).upper == 2


def test_huge_line():
    """On 2^64 ranks the answer is exact to the unit, and nothing of the domain's size is built."""
    D = Domain.line(2**64)
    A = Sample.from_cells(D, [2**64 - 2, 2**64 - 3], [-1, -1])
    B = Sample.from_cells(D, [2**64 - 1, 2**64 - 2], [1, 1])
    r = opt_threshold(A, B)
    assert (r.upper, r.classifier.theta) == (1, 2**64 - 2)


def test_extremes():
    """All records of one label: always +1 is theta 0, always -1 is theta m; no record costs nothing."""
    D = Domain.line(5)
    assert opt_threshold(Sample.from_cells(D, [0, 4], [1, 1])).classifier == Threshold(0)
    assert opt_threshold(Sample.from_cells(D, [0, 4], [-1, -1])).classifier == Threshold(5)
    assert opt_threshold(Sample.from_cells(D, [], [])).upper == 0


def test_refusals():
    """A domain without an order, or no sample, is refused by name."""
    D = Domain.grid([("x", 0, 1, 2), ("y", 0, 1, 2)])
    with pytest.raises(ArgumentError, match="one-feature grid"):
        opt_threshold(Sample.from_cells(D, [0], [1]))
    with pytest.raises(ArgumentError, match="'samples'"):
        opt_threshold()
    with pytest.raises(ArgumentError, match="same domain"):
        opt_threshold(
            Sample.from_cells(Domain.line(3), [0], [1]), Sample.from_cells(Domain.line(4), [0], [1])
        )


def test_a_wrong_witness_is_never_returned():
    """A classifier whose recount differs from the credited value raises, and the message holds no count."""
    D = Domain.line(3)
    S = Sample.from_cells(D, [0, 1, 1], [1, -1, -1])
    assert recounted(S, (0, 1), Threshold(3), "sort", 0.0).optimal is False
    for bounds in ((0, 0), (2, 1), (-1, 1)):
        with pytest.raises(RecountError) as e:
            recounted(S, bounds, Threshold(3), "sort", 0.0)
        assert not any(ch.isdigit() for ch in str(e.value))
