"""Duchi's mechanism as a public direction and one bit: exact ratio, unbiasedness, releases."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.local.finite import odds
from geomdp.local.learning.vectors import DuchiBall, SideBit, public_directions
from geomdp.local.models import NonInteractive
from geomdp.local.protocol import Ask
from geomdp.local.verify import exact_loss
from geomdp.privacy.sampler import SecureSampler, SimSampler

FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e300]), st.floats(-2, 2))


def _circle(nodes):
    angles = (np.arange(nodes) + 0.5) * 2 * math.pi / nodes
    return np.column_stack([np.cos(angles), np.sin(angles)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=1, max_size=5), st.tuples(FLOATS, FLOATS, FLOATS))
def test_no_input_makes_a_bit_cost_more_than_its_ratio(inputs, direction):
    """Whatever a user holds, zero, tiny, too long or rounded, two inputs change a bit by at most the odds."""
    kernel = SideBit(direction, Fraction(3))
    assert kernel.worst_ratio(inputs) <= 3
    assert all(sum(kernel.probabilities(x)) == 1 for x in inputs)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
def test_opposite_unit_vectors_cost_exactly_the_odds(epsilon):
    """The bound is attained: the loss over {v, -v} is epsilon, rounded down by less than 1e-12."""
    kernel = SideBit((1.0, 0.5), odds(epsilon))
    assert kernel.worst_ratio([(0.6, 0.8), (-0.6, -0.8)]) == odds(epsilon)
    assert kernel.loss([(0.6, 0.8), (-0.6, -0.8)]) == pytest.approx(float(epsilon), abs=1e-12)


def test_the_whole_protocol_is_epsilon_private_by_enumeration():
    """All transcripts of three users with public directions: the exact loss of a user is log(2)."""
    axes = [(1.0, 2.0), (-1.0, 0.5), (0.0, 1.0)]

    def protocol():
        answers = yield Ask(tuple((i, SideBit(z, Fraction(2))) for i, z in enumerate(axes)))
        return sum(answers)

    inputs = [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (0.3, -0.4)]
    found = exact_loss(protocol, 1, inputs, {0: (1.0, 0.0), 2: (0.0, -1.0)}, NonInteractive())
    assert found.ratio == 2


@pytest.mark.parametrize("length", [1.0, 0.6, 0.0])
def test_density_takes_two_values_of_ratio_r_and_integrates_to_one(length):
    """For unit vectors the density is one of two rationals of ratio r; for shorter ones it lies between."""
    duchi = DuchiBall(2, 1)
    v = length * np.array([0.0, 1.0])
    values = [duchi.density(v, z) for z in _circle(24)]
    high, low = duchi.densities()
    assert high / low == odds(1)
    assert sum(values) == 24
    assert all(low <= value <= high for value in values)
    if length == 1:
        assert set(values) == {high, low}


@pytest.mark.parametrize("length", [1.0, 0.35, 0.0])
def test_mean_is_the_input_on_the_circle(length):
    """On the circle: B times the mean of z under the density, by quadrature, is v."""
    duchi, v, Z = DuchiBall(2, "0.7"), length * np.array([0.0, 1.0]), _circle(4000)
    weights = np.array([float(duchi.density(v, z)) for z in Z])
    assert duchi.scale * weights @ Z / len(Z) == pytest.approx(v, abs=1e-5 * duchi.scale)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 200])
def test_length_is_the_reciprocal_of_the_half_spheres_mean(d):
    """B (r-1)/(r+1) E|<Z, u>| = 1 with E|Z_1| from an integral over the sphere's marginal density."""
    duchi = DuchiBall(d, 1)
    if d == 1:
        mean = 1.0
    else:  # z = sin(a): density of the marginal is proportional to cos(a)^(d-2) da
        a = (np.arange(20_000) + 0.5) * math.pi / 20_000 - math.pi / 2
        mass = np.cos(a) ** (d - 2)
        mean = float((np.abs(np.sin(a)) * mass).sum() / mass.sum())
    gain = float((duchi.ratio - 1) / (duchi.ratio + 1))
    assert duchi.scale * gain * mean == pytest.approx(1, rel=1e-6)


def test_simulation_and_exact_release_follow_the_same_law():
    """Means of simulated and of exactly drawn messages agree with v within 5 standard errors."""
    duchi, n = DuchiBall(3, 2), 20_000
    v = np.array([0.5, -0.5, 0.1])
    V = np.tile(v, (n, 1))
    axes = public_directions(n, 3, 5)
    for messages in (duchi.sample(V, 1), duchi.release(V, axes, SimSampler(2))):
        assert np.linalg.norm(messages, axis=1) == pytest.approx(duchi.scale)
        assert np.abs(messages.mean(axis=0) - v).max() < 5 * duchi.scale / math.sqrt(3 * n)


def test_releases_come_from_the_secure_sampler_and_depend_on_its_bits():
    """With SecureSampler a message is plus or minus B times the public direction."""
    duchi, axes = DuchiBall(4, 1), public_directions(50, 4, 0)
    messages = duchi.release(np.tile(np.eye(4)[0], (50, 1)), axes, SecureSampler())
    assert np.abs(messages / axes) == pytest.approx(duchi.scale)
    assert set(np.sign((messages * axes).sum(axis=1))) == {-1.0, 1.0}


def test_loss_is_computed_from_the_law():
    """loss() is the logarithm of the two densities' ratio: epsilon for every dimension."""
    for epsilon in ("0.01", 1, 20):
        assert DuchiBall(7, epsilon).loss() == pytest.approx(float(epsilon), abs=1e-10)
        assert DuchiBall(7, epsilon).loss() <= float(epsilon) * (1 + 1e-14) + 1e-14


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: DuchiBall(0, 1), "d"),
        (lambda: DuchiBall(2, 0), "epsilon"),
        (lambda: DuchiBall(2, -1), "epsilon"),
        (lambda: DuchiBall(2, math.nan), "epsilon"),
        (lambda: DuchiBall(2, 1).sample(np.array([[2.0, 0.0]]), 0), "V"),
        (lambda: DuchiBall(2, 1).sample(np.array([[math.nan, 0.0]]), 0), "V"),
        (lambda: DuchiBall(2, 1).sample(np.zeros((3, 3)), 0), "V"),
        (lambda: DuchiBall(2, 1).sample(np.zeros((3, 2)), None), "rng"),
        (lambda: DuchiBall(2, 1).release(np.zeros((3, 2)), np.ones((2, 2)), SimSampler(0)), "directions"),
        (lambda: SideBit((1.0,), Fraction(1, 2)), "ratio"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    """Every refusal names the argument."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()
