"""Choice among public directions: exact ratio, unbiasedness, less noise than one bit."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.local.finite import odds
from geomdp.local.learning.caps import CapBall, CapIndex, _top_means
from geomdp.local.learning.distributions import Mixture
from geomdp.local.learning.estimates import mean_estimate
from geomdp.local.learning.vectors import DuchiBall, public_directions
from geomdp.privacy.sampler import SecureSampler, SimSampler

FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300]), st.floats(-1, 1))
VECTORS = st.tuples(FLOATS, FLOATS)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(VECTORS, min_size=1, max_size=5), st.lists(VECTORS, min_size=3, max_size=5), st.integers(1, 2)
)
def test_no_input_makes_an_index_cost_more_than_its_ratio(inputs, directions, k):
    """Whatever a user holds and whatever the public directions are, also equal ones: at most the odds."""
    kernel = CapIndex(directions, k, Fraction(5))
    assert kernel.worst_ratio(inputs) <= 5
    assert all(sum(kernel.probabilities(x)) == 1 for x in inputs)


def test_opposite_vectors_cost_exactly_epsilon():
    """The bound is attained, and loss() is epsilon."""
    Z = public_directions(8, 3, 0).tolist()
    assert CapIndex(Z, 3, odds(1)).worst_ratio([(0.6, 0.8, 0.0), (-0.6, -0.8, 0.0)]) == odds(1)
    for epsilon in ("0.1", 1, 6):
        assert CapBall(5, epsilon, 16).loss() == pytest.approx(float(epsilon), abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 20])
@pytest.mark.parametrize("K", [2, 5, 16])
def test_sums_of_the_largest_coordinates(d, K):
    """The expected sum of the k largest of K coordinates agrees with 40,000 draws."""
    x = np.sort(public_directions(40_000 * K, d, 1)[:, 0].reshape(-1, K), axis=1)
    sums = np.cumsum(x[:, ::-1], axis=1)[:, :-1]
    assert np.array(_top_means(d, K)) == pytest.approx(sums.mean(axis=0), abs=5 * sums.std() / 200)


@pytest.mark.parametrize("v", [(1.0, 0.0, 0.0), (0.2, -0.3, 0.1), (0.0, 0.0, 0.0)])
def test_law_of_the_kernel_has_mean_v(v):
    """Scale times sum of P(j) z_j, averaged over 20,000 public draws of directions, is v."""
    caps, Z = CapBall(3, 1, 6), public_directions(6 * 4000, 3, 2).reshape(4000, 6, 3)
    total = sum(CapIndex(z.tolist(), caps.k, caps.ratio).pmf(v) @ z for z in Z)
    assert caps.scale * total / 4000 == pytest.approx(v, abs=5 * caps.scale / math.sqrt(18 * 4000))


def test_simulation_and_exact_release_have_the_same_mean():
    """Both sources give messages of length `scale` whose mean is v, within 5 standard errors."""
    caps, v = CapBall(3, 2, 8), np.array([0.5, -0.6, 0.1])
    for n, draw in (
        (20_000, lambda V: caps.sample(V, 1)),
        (4000, lambda V: caps.release(V, 3, SimSampler(4))),
    ):
        messages = draw(np.tile(v, (n, 1)))
        assert np.linalg.norm(messages, axis=1) == pytest.approx(caps.scale)
        assert np.abs(messages.mean(axis=0) - v).max() < 5 * caps.scale / math.sqrt(3 * n)
    assert np.abs(caps.sample(np.zeros((20_000, 3)), 5).mean(axis=0)).max() < 5 * caps.scale / math.sqrt(
        60_000
    )


def test_many_directions_need_fewer_users_than_one_bit():
    """Variance against Duchi's: below .9 at epsilon = 1, below .32 at 4; it falls with the directions."""
    for epsilon, bound in ((1, 0.9), (2, 0.65), (4, 0.32)):
        duchi = DuchiBall(10, epsilon).scale
        ratios = [(CapBall(10, epsilon, K).scale / duchi) ** 2 for K in (4, 16, 64, 256)]
        assert ratios == sorted(ratios, reverse=True)
        assert ratios[2] < bound


def test_cap_size_is_the_best():
    """No other k has a smaller scale."""
    caps = CapBall(6, 2, 12)
    r = float(caps.ratio)
    scales = [(k * r + 12 - k) / ((r - 1) * top) for k, top in enumerate(_top_means(6, 12), 1)]
    assert caps.scale == pytest.approx(min(scales))
    assert scales[caps.k - 1] == min(scales)


def test_mean_estimates_by_caps():
    """The estimate is released with SecureSampler, and at epsilon = 4 beats Duchi's on the same users."""
    mixture = Mixture.on_axis(10)
    X, y = mixture.sample(400, 0)
    released = mean_estimate(X, y, 4, sampler=SecureSampler(), caps=16, normalise=True)
    assert (released.simulated, released.mechanism) == (False, "caps of 16 directions")
    good, plain = (
        np.mean([mean_estimate(X, y, 4, rng=s, caps=caps, normalise=True).weights[0] for s in range(40)])
        for caps in (64, None)
    )
    assert good > plain + 0.05


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: CapBall(0, 1), "d"),
        (lambda: CapBall(2, 0), "epsilon"),
        (lambda: CapBall(2, 1, 1), "directions"),
        (lambda: CapBall(2, 1).sample(np.array([[2.0, 0.0]]), 0), "V"),
        (lambda: CapBall(2, 1).sample(np.zeros((2, 2)), None), "rng"),
        (lambda: CapIndex(((1.0,), (2.0,)), 2, Fraction(2)), "k"),
        (lambda: mean_estimate([[1.0]], [1], 1, rng=0, caps=4, delta="1e-5"), "caps"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    """Every refusal names the argument."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()


def test_exhaustive_law_of_a_small_kernel():
    """All caps of 4 directions on the circle: the weights are r on the k nearest and 1 elsewhere."""
    Z = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    for k, angle in itertools.product((1, 2, 3), np.linspace(0.1, 6.2, 9)):
        v = (math.cos(angle), math.sin(angle))
        kernel = CapIndex(Z, k, Fraction(3))
        near = sorted(range(4), key=lambda j: Z[j][0] * v[0] + Z[j][1] * v[1])[-k:]
        expected = [Fraction(3 if j in near else 1, 3 * k + 4 - k) for j in range(4)]
        assert [float(p) for p in kernel.probabilities(v)] == pytest.approx([float(p) for p in expected])
