"""Distributions: constants and errors by quadrature against closed forms, samples, and other quadratures."""

import math

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.local.learning.distributions import (
    KINDS,
    Massart,
    Mixture,
    cdf,
    characteristic,
    density,
    draw,
    plane_constants,
    plane_density,
    projection_cdf,
)
from geomdp.local.learning.inputs import decide

X = np.linspace(-30, 30, 600_001) + 1e-7
H = X[1] - X[0]


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_are_isotropic_and_their_formulas_agree(kind):
    """Density, distribution and characteristic function and draws are of one law, mean 0, variance 1."""
    f = density(kind, X)
    assert [H * (f * X**k).sum() for k in range(3)] == pytest.approx([1, 0, 1], abs=2e-4)
    for z in (-2.0, -0.7, 0.0, 1.3):
        assert cdf(kind, z) == pytest.approx(H * f[z >= X].sum(), abs=1e-4)
    for t in (0.0, 0.8, -2.5):
        value = H * (f * np.exp(1j * t * X)).sum()
        assert characteristic(kind, np.array([t]))[0] == pytest.approx(value, abs=2e-4)
    z = draw(kind, 40_000, 2, 0)
    assert z.mean(axis=0) == pytest.approx([0, 0], abs=0.03)
    assert np.mean(z <= 0.5) == pytest.approx(cdf(kind, 0.5), abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("w", [[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8], [0.999, -0.05], [1.0, 1.0, 1.0, -2.0]])
def test_projection_law_is_the_convolution(kind, w):
    """P[<w, z> <= s] by inversion equals the share of 400,000 draws, within 5 standard errors."""
    w = np.array(w) / np.linalg.norm(w)
    values = draw(kind, 400_000, len(w), 3) @ w
    for s in (-1.0, 0.2):
        assert projection_cdf(kind, w, s) == pytest.approx(np.mean(values <= s), abs=5 * 0.5 / 632)


def test_projection_law_of_gaussians_is_normal():
    """A closed form: the projection of a Gaussian is a Gaussian, to 1e-9."""
    for s in (-2.0, 0.3, 4.0):
        assert projection_cdf("gaussian", [1, 2, 3], s) == pytest.approx(cdf("gaussian", s), abs=1e-9)


def test_gaussian_constants_are_those_of_the_definition():
    """Every plane has 1/U = exp(-r^2/2)/(2 pi): U = 10.36 at r = 1, weak error r^2/(144 U) = 6.7e-4."""
    rng = np.random.default_rng(0)
    for basis in (np.eye(5)[:, :2], np.linalg.qr(rng.standard_normal((5, 2)))[0]):
        for r in (0.5, 1.0, 2.0):
            c = plane_constants("gaussian", basis, r)
            assert c.anti == pytest.approx(2 * math.pi * math.exp(r * r / 2), rel=1e-6)
            assert c.peak == pytest.approx(1 / (2 * math.pi), rel=1e-6)
            assert c.weak_error == pytest.approx(r * r / (144 * c.anti))


def test_constants_of_other_noise():
    """Uniform on a coordinate plane: U = 12 for r < sqrt 3. Skewed: no U beyond r = 1, the density's end."""
    plane = np.eye(3)[:, :2]
    assert plane_constants("uniform", plane, 1.7).anti == pytest.approx(12)
    assert plane_constants("uniform", plane, 1.8).anti == math.inf
    assert plane_constants("exponential", plane, 1.2).anti == math.inf
    c = plane_constants("exponential", plane, 0.9)
    assert c.anti == pytest.approx(math.exp(2 + 0.9 * math.sqrt(2)), rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_plane_density_integrates_to_one(kind):
    """The inverted density on a generic plane of dimension 6 has mass 1 and variance 1."""
    basis = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 2)))[0]
    t = np.linspace(-7, 7, 71)
    grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    mass = plane_density(kind, basis, grid) * (t[1] - t[0]) ** 2
    assert mass.sum() == pytest.approx(1, abs=0.01)
    assert mass @ grid[:, 0] ** 2 == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_halfspaces_agree_with_samples(kind):
    """The computed error is the share of wrong labels in 200,000 draws, within 5 standard errors."""
    mixture = Mixture([0.8, -0.6, 0.0], kind)
    points, labels = mixture.sample(200_000, 1)
    for w in ([0.8, -0.6, 0.0], [1.0, 0.2, -0.4]):
        assert mixture.error(w) == pytest.approx(np.mean(decide(points, np.array(w)) != labels), abs=0.006)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rule_beats_the_bayes_error(kind):
    """The Bayes error is half the overlap of the class densities; a halfspace along mu attains it."""
    mixture = Mixture.on_axis(3, 0.9, kind)
    overlap = H * np.minimum(density(kind, X - 0.9), density(kind, X + 0.9)).sum() / 2
    assert mixture.bayes_error() == pytest.approx(overlap, abs=1e-4)
    assert mixture.error(mixture.mu) >= mixture.bayes_error() - 1e-12
    if kind != "exponential":
        assert mixture.error(mixture.mu) == pytest.approx(mixture.bayes_error(), abs=1e-9)


def test_symmetric_noise_alone_does_not_make_the_mean_direction_optimal():
    """Laplace noise, mu = (.7, .3): the likelihood rule has error .173, sign<mu, x> has .182."""
    mixture = Mixture([0.7, 0.3], "laplace")
    t = np.linspace(-14, 14, 1401)
    a, b = (
        np.multiply.outer(density("laplace", t - 0.7 * s), density("laplace", t - 0.3 * s)) for s in (1, -1)
    )
    bayes = np.minimum(a, b).sum() * (t[1] - t[0]) ** 2 / 2
    assert mixture.error(mixture.mu) - bayes > 0.009
    with pytest.raises(ArgumentError, match="Argument 'mu' must be along a coordinate axis"):
        mixture.bayes_error()


def test_massart_rates_are_followed():
    """The share of flipped labels in a region is the rate that the adversary chose there."""
    oracle = Massart([1.0, 2.0], lambda P: np.where(P[:, 0] > 0, 0.4, 0.1), 0.4, "laplace")
    points, labels = oracle.sample(50_000, 0)
    wrong = labels != decide(points, oracle.target)
    assert np.mean(wrong[points[:, 0] > 0]) == pytest.approx(0.4, abs=0.015)
    assert np.mean(wrong[points[:, 0] <= 0]) == pytest.approx(0.1, abs=0.015)


def test_massart_error_is_the_angle_for_gaussians():
    """Disagreement of two halfspaces: angle/pi, equal to the share on a sample."""
    oracle = Massart([1.0, 0.0, 0.0], lambda P: np.zeros(len(P)), 0.0)
    points = draw("gaussian", 100_000, 3, 0)
    w = np.array([1.0, 1.0, 0.0])
    assert oracle.error(w) == pytest.approx(0.25)
    share = np.mean(decide(points, w) != decide(points, oracle.target))
    assert share == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: Mixture([0.0, 0.0]), "mu"),
        (lambda: Mixture([math.nan, 0.0]), "mu"),
        (lambda: Mixture([1.0], "cauchy"), "kind"),
        (lambda: Mixture([1.0]).sample(-1, 0), "n"),
        (lambda: Mixture([1.0]).sample(1, None), "rng"),
        (lambda: Mixture([1.0, 0.0]).error([1.0]), "w"),
        (lambda: Massart([1.0], lambda P: np.zeros(len(P)), 0.5), "bound"),
        (lambda: Massart([1.0], lambda P: np.full(len(P), 0.4), 0.3).sample(5, 0), "rate"),
        (lambda: plane_constants("gaussian", np.ones((3, 2))), "basis"),
        (lambda: plane_constants("gaussian", np.eye(2), -1.0), "r"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    """Every refusal names the argument."""
    with pytest.raises(ArgumentError, match=f"Argument '{name}' must be"):
        call()
