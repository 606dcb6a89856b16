"""Agreement with the PyPI package data-depth where it is right, and the instance where it is not.

The Tukey depth of 0 in the signed points y_x x counts closed halfspaces; in general position that is opt.
The package needs torch and is therefore no dependency: ``pip install data-depth torch torchvision`` runs
these tests.
"""

import warnings

import numpy as np
import pytest

import geomdp as g


@pytest.fixture(scope="module")
def depth():
    """The package's exact Tukey depth, times the number of points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pytest.importorskip("depth.model.multivariate", reason="data-depth is not installed")

    def count(signed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = model.halfspace(np.zeros((1, signed.shape[1])), signed.astype(float), exact=True)
        return round(float(value[0]) * len(signed))

    return count


def _optimum(points, labels):
    positive = (labels > 0).astype(int)
    return g.opt_halfspace(g.Sample.from_counts(g.Domain(points), positive, 1 - positive))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n", "d"), [(20, 2), (40, 3), (30, 4)])
def test_general_position_agrees(depth, n, d, seed):
    """On random integer points in general position the depth of 0 is the optimum."""
    rng = np.random.default_rng(100 * d + seed)
    points = rng.integers(-(10**6), 10**6, (n, d))
    labels = np.where(points @ rng.normal(size=d) >= 0, 1, -1) * rng.choice([-1, 1], n, p=[0.15, 0.85])
    assert depth(labels[:, None] * points) == _optimum(points, labels).upper


def test_a_point_and_its_mirror_image_are_told_apart(depth):
    """{(1,0)+, (-1,0)+, (0,1)-} is separated by w = (0,-1); closed halfspaces say that one record is lost."""
    points, labels = np.array([[1, 0], [-1, 0], [0, 1]]), np.array([1, 1, -1])
    result = _optimum(points, labels)
    assert result.upper == 0
    assert result.classifier.predict(points).tolist() == labels.tolist()
    assert depth(labels[:, None] * points) == 1
