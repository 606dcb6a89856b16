"""Gaussian releases: the exact law of rounded normal noise, its privacy, and what may be called a release."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geomdp.core.errors import ArgumentError
from geomdp.local.learning import normal
from geomdp.local.learning.balls import in_ball
from geomdp.local.learning.distributions import Mixture
from geomdp.local.learning.estimates import group_estimates, logistic_estimate, mean_estimate
from geomdp.local.learning.gaussian import GaussianVector, gaussian_delta, normal_cdf
from geomdp.local.learning.gradients import JointCopies, OneCopy, PaperCopies
from geomdp.local.learning.normal import DiceBits, rounded_normal, standard_normal
from geomdp.local.learning.polynomial import logistic_polynomial
from geomdp.privacy.enclosure import Interval
from geomdp.privacy.sampler import SecureSampler, SimSampler
from tests.privacy.test_exact import bit_tree

ONE = Fraction(1)


def law(m, mean, sigma, step):
    """P(m step is nearest to mean + sigma N), as an enclosure: an integral of the density, no sampler."""
    return below(m + 1, mean, sigma, step) - below(m, mean, sigma, step)


@functools.lru_cache
def below(m, mean, sigma, step):
    """P(mean + sigma N < (m - 1/2) step)."""
    return normal_cdf(((m - Fraction(1, 2)) * step - mean) / sigma)


def _broken(draw, mean, sigma, step, depth):
    """Whether a tree of bits contradicts the law: some value has more decided mass than it may have."""
    decided, undecided = bit_tree(draw, depth)
    assert sum(decided.values()) + undecided == 1
    return any(
        mass > law(m, mean, sigma, step).hi or mass + undecided < law(m, mean, sigma, step).lo
        for m, mass in decided.items()
    )


@pytest.mark.parametrize(
    ("mean", "sigma", "step"), [("0", 1, 2), ("1/3", 1, 2), ("-5/2", 2, 3), ("1/2", 1, 1)]
)
def test_the_law_encloses_whole_trees_of_bits(mean, sigma, step):
    """Over all bits of depth 13 every rounded value has the mass of the normal law, one digit at a time."""
    mean, sigma, step = Fraction(mean), Fraction(sigma), Fraction(step)
    assert not _broken(lambda s: rounded_normal(s, mean, sigma, step, word=1), mean, sigma, step, 13)


def test_a_fraction_that_is_not_thinned_is_caught(monkeypatch):
    """Planted: a uniform fraction in place of a normal one contradicts the law on a tree of depth 14."""
    monkeypatch.setattr(normal, "_kept", lambda *_: True)
    assert _broken(
        lambda s: rounded_normal(s, Fraction(1, 3), ONE, Fraction(2), word=1), ONE / 3, ONE, 2 * ONE, 14
    )


@pytest.mark.parametrize("word", [3, 32])
def test_many_draws_have_the_law(word):
    """Chi-square of 6,000 draws in 13 cells, at two numbers of digits at a time."""
    source, mean, sigma, step, runs = DiceBits(SimSampler(word)), Fraction(1, 7), ONE, Fraction(1, 2), 6000
    drawn = [rounded_normal(source, mean, sigma, step, word) for _ in range(runs)]
    cells = [float(law(m, mean, sigma, step).lo) for m in range(-6, 7)]
    chi = sum((drawn.count(m) - runs * p) ** 2 / (runs * p) for m, p in zip(range(-6, 7), cells, strict=True))
    assert chi < 40  # 13 degrees of freedom, less than 1e-3
    assert sum(cells) > 0.998


def test_a_normal_variable_is_enclosed_ever_closer():
    """More digits shrink the ends and never move them outward; both signs occur."""
    source, signs = DiceBits(SimSampler(1)), set()
    for _ in range(40):
        noise = standard_normal(source)
        low, high = noise.ends(40)
        closer = noise.ends(80)
        assert low <= closer[0] < closer[1] <= high
        assert closer[1] - closer[0] == Fraction(1, 2**80)
        signs.add(noise.negative)
    assert signs == {True, False}


def rounded_delta(mean, other, sigma, step, epsilon):
    """The hockey-stick divergence of two rounded laws, by summation over the lattice: an upper end."""
    growth = 1 / Interval.exp_neg(epsilon, 512).lo
    reach = math.ceil(6 * sigma / step)
    total = below(-reach, mean, sigma, step).hi + 1 - below(reach + 1, mean, sigma, step).lo
    for m in range(-reach, reach + 1):
        total += max(law(m, mean, sigma, step).hi - growth * law(m, other, sigma, step).lo, Fraction(0))
    return total


@pytest.mark.parametrize("cells", [1, 8])
def test_every_lattice_keeps_the_budget(cells):
    """Audit at d = 1, inputs -1, 0, 1: the divergence of rounded laws is below the curve, and reaches it."""
    epsilon, sigma = ONE, Fraction(GaussianVector.calibrated(1, "1/100").sigma)
    curve = gaussian_delta(2 / sigma, epsilon)
    assert curve.hi <= Fraction(1, 100)
    far = rounded_delta(-ONE, ONE, sigma, sigma / cells, epsilon)
    assert far <= curve.hi
    assert rounded_delta(Fraction(0), ONE, sigma, sigma / cells, epsilon) < far
    assert cells < 8 or far > Fraction(99, 100) * curve.lo


def test_noise_for_half_the_distance_is_caught():
    """Planted: noise calibrated to sensitivity 1 leaks between -1 and 1, on the coarsest lattice too."""
    sigma = Fraction(GaussianVector.calibrated(1, "1/100", 1.0).sigma)
    assert rounded_delta(-ONE, ONE, sigma, sigma, ONE) > Fraction(2, 100)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4), st.fractions(Fraction(1, 8), 8))
def test_rows_are_brought_into_the_ball_exactly(row, radius):
    """The square of the length is at most radius^2 in rationals; rows inside stay as they are."""
    values = [Fraction(v) for v in row]
    inside = in_ball(values, radius)
    assert sum(v * v for v in inside) <= radius**2
    if sum(v * v for v in values) <= radius**2:
        assert inside == values
    else:
        assert sum(v * v for v in inside) >= radius**2 * (1 - Fraction(1, 2**60))


def test_messages_lie_on_the_public_lattice_around_their_rows():
    """A release has the stated mean and spread, and multiples of a step that depends on sigma alone."""
    noise, n = GaussianVector(3.0), 1500
    drawn = noise.release(np.tile([0.6, -0.8], (n, 1)), SimSampler(0))
    assert drawn.mean(axis=0) == pytest.approx([0.6, -0.8], abs=5 * 3 / math.sqrt(n))
    assert drawn.std(axis=0) == pytest.approx([3.0, 3.0], rel=0.1)
    cells = drawn / noise.step
    assert (cells == np.rint(cells)).all()
    assert 2.0**-21 * noise.sigma <= noise.step <= 2.0**-20 * noise.sigma
    assert noise.release(np.zeros((0, 3)), SimSampler(0)).shape == (0, 3)


@pytest.mark.parametrize(
    ("row", "cut"),
    [
        ([0.9, 0.9], None),
        ([math.nan, 0.25], [0.0, 0.25]),
        ([math.inf, 0.0], [1.0, 0.0]),
        ([-math.inf, math.nan], [-1.0, 0.0]),
        ([1e300, 0.0], [1.0, 0.0]),
        ([3.0, 4.0], None),
    ],
)
def test_no_row_is_refused_and_a_long_one_is_cut_to_the_ball(row, cut):
    """A release of any floats is, draw by draw, that of the row cut to the ball: a refusal would tell."""
    noise = GaussianVector(3.0)
    exact = in_ball(map(Fraction, cut or row), Fraction(1))
    assert sum(v * v for v in exact) <= 1
    drawn = noise.release([row], SimSampler(4)) / noise.step
    source = DiceBits(SimSampler(4))
    law = [rounded_normal(source, v, Fraction(3), Fraction(noise.step)) for v in exact]
    assert drawn.tolist() == [law] or np.abs(drawn - [law]).max() <= 1  # 1.0 is cut to a rational below it


@pytest.mark.parametrize("row", [[0.5], [[]], [["a", "b"]], [[1j, 0]], [[10**400, 0]], 0.5])
def test_shapes_and_kinds_are_refused_before_a_draw(row):
    """No bit is drawn for an array of another shape or of no floats: these are public facts."""

    class Silent(SimSampler):
        def uniform(self, bound):
            raise AssertionError

    with pytest.raises(ArgumentError, match="Argument 'V' must be"):
        GaussianVector(3.0).release(row, Silent(0))


X, Y = Mixture.on_axis(3).sample(40, 0)
Q = logistic_polynomial(1)


@pytest.mark.parametrize("sampler", [SecureSampler(), SimSampler(5)])
def test_gaussian_estimates_can_be_released(sampler):
    """With SecureSampler every Gaussian variant is a release, with a SimSampler or rng a simulation."""
    simulated = sampler.simulated
    mean = mean_estimate(X, Y, 1, delta="1e-5", sampler=sampler, normalise=True)
    assert mean.simulated is simulated
    assert mean.loss == pytest.approx(1, rel=1e-9)
    assert ("released" in repr(mean)) is not simulated
    assert mean_estimate(X, Y, 1, delta="1e-5", rng=0, normalise=True).simulated
    groups = group_estimates(
        X, Y, 1, 3, rng=0, mechanism="gaussian", delta="1e-5", sampler=sampler, normalise=True
    )
    assert all(group.simulated is simulated for group in groups)
    for mechanism in (OneCopy(Q, 1, "1e-5"), JointCopies(Q, 1, "1e-5"), PaperCopies(Q, 1, "1e-5", "joint")):
        found = logistic_estimate(X, Y, mechanism, sampler=sampler, steps=5, normalise=True)
        assert found.simulated is simulated
        assert logistic_estimate(X, Y, mechanism, rng=0, steps=5, normalise=True).simulated


@pytest.mark.parametrize("kind", [OneCopy, JointCopies, PaperCopies])
def test_released_copies_are_one_vector_around_the_record(kind):
    """Each copy of a released message has the record as its mean, within 5 standard errors."""
    mechanism = kind(Q, 8, "1e-2", "joint") if kind is PaperCopies else kind(Q, 8, "1e-2")
    x = np.tile([[0.6, 0.0, -0.8]], (300, 1))
    messages = mechanism.privatise(x, -np.ones(300), sampler=SimSampler(3))
    error = 5 * mechanism.sigma / math.sqrt(300)
    fold = 1 if kind is PaperCopies else -1
    assert messages.X.shape == (300, mechanism.copies, 3)
    assert np.abs(messages.X.mean(axis=0) - fold * x[0]).max() < error
    if kind is PaperCopies:
        assert messages.Y.shape == (300, mechanism.copies)
        assert np.abs(messages.Y.mean(axis=0) + 1).max() < error
    with pytest.raises(ArgumentError, match="Argument 'rng'"):
        mechanism.privatise(x, -np.ones(300), 0, sampler=SimSampler(3))
