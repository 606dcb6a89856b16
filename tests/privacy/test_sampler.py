"""Samplers: every backend follows the exact law; the secure one has no seed, the simulated one says so."""

from __future__ import annotations

import inspect
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from geomdp.core.errors import ArgumentError
from geomdp.privacy import exact, sampler
from geomdp.privacy.law import dlap_pmf, dlap_sf, pf_pmf
from geomdp.privacy.sampler import Sampler, SecureSampler, SimSampler, noise_scale

BACKENDS = [SecureSampler(), SimSampler(1)]
SCALE = Fraction(5, 2)


class _Own:
    """The project's own exact samplers where SecureSampler uses OpenDP."""

    simulated = False

    def __init__(self) -> None:
        self.source = exact.OsBits()

    def discrete_laplace(self, scale: Fraction, size: int) -> Any:
        return np.array([exact.discrete_laplace(self.source, scale) for _ in range(size)])

    def permute_and_flip(self, scores: Any, scale: Fraction) -> int:
        return exact.permute_and_flip(self.source, list(scores), scale)


def _p_value(counts: Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """Return the chi-square p-value of counts against a law; rare outcomes are pooled."""
    from scipy.special import gammaincc

    n = sum(counts.values())
    assert set(counts) <= set(law)
    cells = [(counts.get(k, 0), n * p) for k, p in law.items() if n * p >= 10]
    rare = [(counts.get(k, 0), n * p) for k, p in law.items() if n * p < 10]
    if rare:
        cells.append((sum(c for c, _ in rare), sum(e for _, e in rare)))
    statistic = sum((c - e) ** 2 / max(e, 1e-9) for c, e in cells)
    return float(gammaincc((len(cells) - 1) / 2, statistic / 2))


def _assert_follows(draw: Callable[[], Mapping[Any, int]], law: Mapping[Any, float]) -> None:
    """Reject at level 10^-6, twice in a row: a right sampler fails with probability 10^-12."""
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert any(_p_value(draw(), law) > 1e-6 for _ in range(2))


@pytest.mark.parametrize("backend", [*BACKENDS, _Own()], ids=["secure", "simulated", "own"])
def test_discrete_laplace_law(backend: Any) -> None:
    """Noise of every backend follows (1-r)/(1+r) r^|z|."""
    law = {z: dlap_pmf(z, SCALE) for z in range(-40, 41)} | {99: 2 * dlap_sf(41, SCALE)}

    def draw() -> Counter[int]:
        values = backend.discrete_laplace(SCALE, 20_000)
        assert values.dtype == np.int64
        return Counter(int(z) if abs(z) <= 40 else 99 for z in values)

    _assert_follows(draw, law)


@pytest.mark.parametrize("backend", [*BACKENDS, _Own()], ids=["secure", "simulated", "own"])
def test_permute_and_flip_law(backend: Any) -> None:
    """Selection over listed scores by every backend follows the polynomial integral."""
    scores = [3, 0, 3, 5, -2]
    law = dict(enumerate(pf_pmf(scores, SCALE)))
    _assert_follows(lambda: Counter(backend.permute_and_flip(scores, SCALE) for _ in range(6_000)), law)


@pytest.mark.parametrize("backend", BACKENDS, ids=["secure", "simulated"])
def test_groups_law(backend: Sampler) -> None:
    """Selection over groups names each candidate as often as selection over all candidates would."""
    sizes, scores = [3, 0, 1, 5], [2, 9, 4, -1]
    groups = pf_pmf(scores, SCALE, sizes)
    law = {(g, i): groups[g] / m for g, m in enumerate(sizes) for i in range(m)}
    _assert_follows(
        lambda: Counter(backend.permute_and_flip_groups(sizes, scores, SCALE) for _ in range(12_000)), law
    )


@pytest.mark.parametrize("backend", BACKENDS, ids=["secure", "simulated"])
def test_astronomical_groups_law(backend: Sampler) -> None:
    """One best candidate against 2^70 far ones wins with probability (1 - (1-a)^(M+1))/((M+1) a)."""
    m, gap, scale = 2**70, 95, Fraction(2)
    mass = m * math.exp(-gap / 2)
    win = -math.expm1(-mass) / mass  # (1-a)^(M+1) = exp(-mass) up to 10^-20
    law = {0: win, 1: 1 - win}
    _assert_follows(
        lambda: Counter(backend.permute_and_flip_groups([1, m], [gap, 0], scale)[0] for _ in range(6_000)),
        law,
    )
    offsets = [backend.permute_and_flip_groups([m], [0], scale)[1] for _ in range(200)]
    assert all(0 <= offset < m for offset in offsets)
    assert max(offsets) > m // 2 > min(offsets)


@pytest.mark.parametrize("backend", BACKENDS, ids=["secure", "simulated"])
def test_uniform_law(backend: Sampler) -> None:
    """Uniform integers below 11 are uniform, and large bounds are respected."""
    _assert_follows(
        lambda: Counter(backend.uniform(11) for _ in range(5_000)), dict.fromkeys(range(11), 1 / 11)
    )
    assert all(0 <= backend.uniform(2**70 + 1) <= 2**70 for _ in range(50))
    assert backend.uniform(1) == 0


def test_chi_square_has_power() -> None:
    """The same test rejects noise whose scale is a tenth off, and selection by the exponential mechanism."""
    wrong = SimSampler(3)
    law = {z: dlap_pmf(z, SCALE) for z in range(-40, 41)} | {99: 2 * dlap_sf(41, SCALE)}
    values = wrong.discrete_laplace(Fraction(11, 4), 20_000)
    assert _p_value(Counter(int(z) if abs(z) <= 40 else 99 for z in values), law) < 1e-6
    scores = np.array([3, 0, 3, 5, -2])
    weights = np.exp(scores / float(SCALE))
    picks = np.random.default_rng(1).choice(5, 6_000, p=weights / weights.sum())
    assert _p_value(Counter(picks.tolist()), dict(enumerate(pf_pmf(scores.tolist(), SCALE)))) < 1e-6


def test_noise_scale_is_the_least_float() -> None:
    """noise_scale is a float64, never below sensitivity/epsilon, and the next smaller float64 is below."""
    rng = random.Random(4)  # noqa: S311
    for _ in range(2000):
        sensitivity, epsilon = (
            rng.randrange(1, 50),
            Fraction(rng.randrange(1, 10**6), rng.randrange(1, 10**6)),
        )
        if epsilon > 100:
            continue
        scale = noise_scale(sensitivity, epsilon)
        assert Fraction(float(scale)) == scale
        assert sensitivity / scale <= epsilon
        assert Fraction(math.nextafter(float(scale), 0)) < sensitivity / epsilon


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [(0, 1), (-1, 1), (1, 0), (1, -1), (1, float("nan")), (True, 1), (1, 10**9)]
)
def test_noise_scale_refuses(sensitivity: Any, epsilon: Any) -> None:
    """A sensitivity below 1, an epsilon that is not positive, and an absurd scale are refused by name."""
    with pytest.raises(ArgumentError, match=r"Argument '(sensitivity|epsilon)' must be"):
        noise_scale(sensitivity, epsilon)


@pytest.mark.parametrize("backend", BACKENDS, ids=["secure", "simulated"])
@pytest.mark.parametrize("scale", [0, -1, 2.0, Fraction(1, 3), Fraction(2**41), None, True])
def test_scale_must_be_a_float64(backend: Sampler, scale: Any) -> None:
    """A scale that a float interface would round, or that is out of range, is refused."""
    for call in (
        lambda: backend.discrete_laplace(scale, 1),
        lambda: backend.permute_and_flip([1, 2], scale),
        lambda: backend.permute_and_flip_groups([1, 2], [1, 2], scale),
    ):
        with pytest.raises(ArgumentError, match="Argument 'scale' must be"):
            call()


@pytest.mark.parametrize("backend", BACKENDS, ids=["secure", "simulated"])
def test_degenerate_input(backend: Sampler) -> None:
    """Empty vectors give empty noise; empty selections are refused; one candidate always wins."""
    assert backend.discrete_laplace(SCALE, 0).shape == (0,)
    assert backend.discrete_laplace(SCALE, 0).dtype == np.int64
    assert backend.permute_and_flip([7], SCALE) == 0
    assert backend.permute_and_flip(np.array([7, 7 - 2**40]), SCALE) == 0
    assert backend.permute_and_flip_groups([0, 1, 0], [9, -(2**50), 9], SCALE) == (1, 0)
    for call in (
        lambda: backend.permute_and_flip([], SCALE),
        lambda: backend.permute_and_flip_groups([], [], SCALE),
        lambda: backend.permute_and_flip_groups([0, 0], [1, 1], SCALE),
        lambda: backend.permute_and_flip_groups([1, -1], [1, 1], SCALE),
        lambda: backend.permute_and_flip_groups([1, 1], [1], SCALE),
        lambda: backend.discrete_laplace(SCALE, -1),
        lambda: backend.uniform(0),
    ):
        with pytest.raises(ArgumentError):
            call()


def test_errors_hold_no_score() -> None:
    """No error of the secure path repeats a score or a group size."""
    secret = 8_675_309
    for call in (
        lambda: SecureSampler().permute_and_flip([secret, 1.5], SCALE),  # type: ignore[list-item]
        lambda: SecureSampler().permute_and_flip_groups([secret], [secret, secret], SCALE),
        lambda: SecureSampler().permute_and_flip_groups([-secret], [secret], SCALE),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert str(secret) not in str(caught.value)


def test_secure_sampler_has_no_seed() -> None:
    """The secure sampler takes no argument at all, is not simulated, and shares no base with the other."""
    assert list(inspect.signature(SecureSampler).parameters) == []
    assert SecureSampler().simulated is False
    assert SimSampler(0).simulated is True
    assert set(SecureSampler.__mro__) & set(SimSampler.__mro__) == {object}
    with pytest.raises(AttributeError):
        SecureSampler().simulated = True  # type: ignore[misc]
    with pytest.raises(ArgumentError, match="Argument 'seed' must be"):
        SimSampler(None)  # type: ignore[arg-type]


def test_opendp_claims_are_checked() -> None:
    """A privacy map that is too small, or too large beyond upward rounding, is refused."""
    loss = Fraction(1, 3)
    sampler._check_map(math.nextafter(1 / 3, 1), loss)
    for claimed in (math.nextafter(float(loss), 0), 1 / 6, 0.34):
        with pytest.raises(RuntimeError, match="nothing was drawn"):
            sampler._check_map(claimed, loss)


def test_simulation_replays() -> None:
    """Equal seeds replay all four kinds of draws; spawned samplers differ from each other."""

    def run(source: SimSampler) -> list[Any]:
        return [
            source.discrete_laplace(SCALE, (2, 3)).tolist(),
            source.permute_and_flip([1, 2, 3], SCALE),
            source.permute_and_flip_groups([2**65, 4], [1, 2], SCALE),
            source.uniform(10**25),
        ]

    assert run(SimSampler(5)) == run(SimSampler(np.random.SeedSequence(5)))
    children = [run(child) for child in SimSampler(5).spawn(3)]
    assert children == [run(child) for child in SimSampler(5).spawn(3)]
    assert all(children[i] != children[j] for i in range(3) for j in range(i))


def test_secure_draws_do_not_repeat_after_fork() -> None:
    """A forked child fetches fresh bits instead of sharing its parent's block."""
    source = exact.OsBits()
    source.bits(8)
    before = source._pool
    source._owner -= 1  # what a child process sees
    source.bits(8)
    assert source._pool != before
