"""Laws of the halfspace depth."""

import numpy as np
import pytest

from geomdp import ArgumentError, CertificateError, Domain, Sample
from geomdp.opt.depth import halfspace_depth, verify_depth


def brute_depth(p, X, counts):
    """Return the depth in the plane by all directions between and on the critical ones, in integers."""
    D = X - p
    normals = [(int(-y), int(x)) for x, y in D if (x, y) != (0, 0)]
    normals += [(-a, -b) for a, b in normals]
    ordered = sorted(normals, key=lambda v: np.arctan2(v[1], v[0]))
    ordered += [(a + c, b + d) for (a, b), (c, d) in zip(ordered, ordered[1:] + ordered[:1], strict=True)]
    ordered += [(a * 1000 + c, b * 1000 + d) for a, b in normals for c, d in ((-b, a), (b, -a))]
    return min(
        (int(counts[D @ np.array(u) >= 0].sum()) for u in ordered if u != (0, 0)), default=int(counts.sum())
    )


def test_plane_against_brute_force():
    """In the plane the depth is the least over all critical and intermediate directions."""
    rng = np.random.default_rng(0)
    D = Domain.grid([("x", 0, 4, 5), ("y", 0, 4, 5)])
    for _ in range(60):
        S = Sample.from_cells(D, rng.integers(0, 25, 9), np.ones(9, dtype=np.int64))
        p = rng.integers(0, 5, 2)
        r = halfspace_depth(p, S)
        counts = S.positives + S.negatives
        assert r.optimal
        assert r.upper == brute_depth(p, S.points[:, :2], counts)
        inside = (S.points[:, :2] - p) @ np.array(r.direction) >= 0
        assert any(r.direction)
        assert int(counts[inside].sum()) == r.upper
        assert verify_depth(r.certificate, p, S)


def test_centre_of_a_symmetric_sample_is_deepest():
    """The centre of a symmetric sample of 2 k points off the planes of generic directions has depth k."""
    rng = np.random.default_rng(1)
    X = rng.integers(-50, 51, (20, 3))
    D = Domain(np.vstack([X, -X]))
    S = Sample.from_counts(D, np.ones(40, dtype=np.int64), np.zeros(40, dtype=np.int64))
    r = halfspace_depth([0, 0, 0], S)
    assert r.lower == r.upper == 20
    assert halfspace_depth([1000, 0, 0], S).upper == 0


def test_labels_do_not_matter():
    """The depth looks at points only."""
    D = Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
    S = Sample.from_cells(D, [0, 3, 12, 15, 5], [1, 1, -1, -1, 1])
    T = Sample.from_cells(D, [0, 3, 12, 15, 5], [-1, 1, 1, 1, 1])
    assert halfspace_depth([1, 1], S).upper == halfspace_depth([1, 1], T).upper == 2


def test_records_at_the_point_always_count():
    """A sample at the point itself has full depth, an empty sample depth 0."""
    D = Domain([[1, 2], [3, 4]])
    at = Sample.from_counts(D, [3, 0], [2, 0])
    r = halfspace_depth([1, 2], at)
    assert (r.lower, r.upper) == (5, 5)
    assert any(r.direction)
    assert halfspace_depth([1, 2], Sample.from_counts(D, [0, 0], [0, 0])).upper == 0


def test_certificates_are_bound_to_point_and_sample():
    """A certificate for one point is refused for another."""
    D = Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
    S = Sample.from_cells(D, [0, 3, 12, 15, 5], [1, 1, -1, -1, 1])
    r = halfspace_depth([1, 1], S)
    with pytest.raises(CertificateError, match="Records"):
        verify_depth(r.certificate, [2, 1], S)


def test_refusals():
    """A point of another dimension and something else than a sample are refused."""
    D = Domain([[1, 2], [3, 4]])
    S = Sample.from_counts(D, [1, 0], [0, 1])
    with pytest.raises(ArgumentError, match="'point'"):
        halfspace_depth([1, 2, 3], S)
    with pytest.raises(ArgumentError, match="'sample'"):
        halfspace_depth([1, 2], D)


def test_coordinates_near_the_end_of_int64_do_not_wrap():
    """The depth of an extreme point among 2^62-sized ones is the number of records there."""
    B = 2**62
    S = Sample.from_counts(Domain([[-B, 0], [0, 0], [B, 0]]), [1, 1, 2], [0, 0, 0])
    found = halfspace_depth([-B, 0], S)
    assert (found.lower, found.upper) == (1, 1)
