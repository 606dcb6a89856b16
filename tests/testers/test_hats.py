"""Laws of the field that is measured by cells and hats."""

from fractions import Fraction

import numpy as np
import pytest

import geomdp as g
from geomdp.core.errors import ArgumentError
from geomdp.privacy.sampler import SecureSampler, SimSampler, noise_scale
from geomdp.privacy.tilt import TiltedLaplace
from geomdp.testers.base import Setting
from geomdp.testers.cell_orders import grid_symmetries
from geomdp.testers.hats import WHOLE, HatField, tents
from geomdp.testers.tilted import OneWayTilted, default_law

SQUARE = g.Domain.grid([("x", 0, 1, 8), ("y", 0, 1, 8)])
OBLONG = g.Domain.grid([("x", 0, 1, 7), ("y", 0, 1, 4)])
ONE = Fraction(1)


def _law(domain, **more):
    return HatField(domain, "halfspaces", ONE, 3, **more)


def _queries(law, cells):
    """The noiseless queries of integer cell counts."""
    return law.unit * cells, cells @ law.hats.T


@pytest.mark.parametrize("levels", range(4, 70))
@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_tents_are_a_partition_of_unity(levels, nodes):
    """Non-negative integers, two neighbours per level, sum 10 at every level, and mirror symmetric."""
    table = tents(levels, nodes)
    assert (table >= 0).all()
    assert (table.sum(axis=0) == WHOLE).all()
    assert ((table > 0).sum(axis=0) <= 2).all()
    assert (table[::-1, ::-1] == table).all()
    place = np.arange(levels) * (nodes - 1) / (levels - 1)
    exact = np.maximum(0, 1 - np.abs(place - np.arange(nodes)[:, None]))
    assert np.abs(table - WHOLE * exact).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("domain", [SQUARE, OBLONG])
def test_a_record_moves_the_queries_by_stretch(domain):
    """The integer queries have columns of one sum: a replaced record changes them by 2 stretch in L1."""
    law = _law(domain)
    assert (law.unit + law.hats.sum(axis=0) == law.stretch).all()
    assert Fraction(law.stretch - law.unit, law.stretch) == law.share
    eye = np.eye(domain.m, dtype=np.int64)
    ends = np.concatenate([eye, -eye])
    worst = 0
    for a in ends[:: domain.m // 4]:
        own, hats = _queries(law, ends - a)
        worst = max(worst, int((np.abs(own).sum(axis=1) + np.abs(hats).sum(axis=1)).max()))
    assert worst == 2 * law.stretch


@pytest.mark.parametrize("domain", [SQUARE, OBLONG])
def test_decoding_is_unbiased_exactly(domain):
    """Shifting the query noise by the queries of v shifts the decoded field by unit v: to the last digit."""
    law, rng = _law(domain), np.random.default_rng(0)
    noise = rng.integers(-3000, 3001, (20, domain.m)), rng.integers(-3000, 3001, (20, len(law.hats)))
    v = rng.integers(-5, 6, (20, domain.m))
    own, hats = _queries(law, v)
    moved = law.decode(noise[0] + own, noise[1] + hats)
    assert (moved == law.decode(*noise) + law.unit * v).all()


@pytest.mark.parametrize("domain", [SQUARE, OBLONG])
def test_decoding_commutes_with_signs_and_symmetries(domain):
    """decode(-z) = -decode(z), and reflecting or transposing the noises does the same to the field."""
    law, rng = _law(domain), np.random.default_rng(1)
    cells, hats = rng.integers(-3000, 3001, (20, domain.m)), rng.integers(-3000, 3001, (20, 9))
    field = law.decode(cells, hats)
    assert (law.decode(-cells, -hats) == -field).all()
    nodes = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
    square = domain is SQUARE
    images = zip(
        grid_symmetries(domain), grid_symmetries(nodes) if square else grid_symmetries(nodes)[:4], strict=True
    )
    for image, turned in images:
        assert (law.decode(cells[:, image], hats[:, turned]) == field[:, image]).all()


def test_huge_noise_is_decoded_in_exact_integers():
    """Beyond 2^53 the same formula runs in Python's integers: still unbiased, still odd."""
    law = _law(SQUARE)
    cells, hats = np.full((1, 64), 2**40), np.arange(9)[None, :] * 2**38
    v = np.arange(64)[None, :]
    own, more = _queries(law, v)
    field = law.decode(cells, hats)
    assert (law.decode(cells + own, hats + more) == field + law.unit * v).all()
    assert (law.decode(-cells, -hats) == -field).all()


def test_decoding_is_close_to_least_squares():
    """The released field's covariance is that of the generalised least-squares estimate, within 1 %."""
    law = _law(SQUARE)
    A = np.concatenate([law.unit * np.eye(64), law.hats])
    best = np.linalg.inv(A.T @ A) * law.unit**2
    rows = np.eye(64 + 9, dtype=np.int64) * 10**6
    D = law.decode(rows[:, :64], rows[:, 64:]) / 10**6
    assert np.abs(D.T @ D - best).max() <= 0.01 * best.max()
    half = np.where(np.arange(64) < 32, 1, -1)
    assert half @ best @ half < 0.8 * 64


def _phi(noise, z, bug=None):
    """The exponent of the noise's law as exact Fractions."""
    unit = 1 if bug == "unit" else noise.unit
    exponents = []
    for row, field in zip(z, noise.decode(z), strict=True):
        prefixes = [np.append(0, np.cumsum(field[order])) for order in noise.orders]
        top = max(int(np.abs(field.sum() - 2 * prefix).max()) for prefix in prefixes)
        exponents.append(Fraction(int(np.abs(row).sum())) / noise.scale + noise.rate * -(-top // unit))
    return exponents


def _worst(noise, law, bug=None):
    """The largest change of the exact exponent phi over random noises and all replaced records of a cell."""
    rng, domain = np.random.default_rng(2), law.domain
    z = rng.integers(-5000, 5001, (10, domain.m + len(law.hats)))
    z[:3] = 0
    z[3:6, : domain.m // 2] = 10**6
    base, worst = _phi(noise, z, bug), Fraction(0)
    eye = np.eye(domain.m, dtype=np.int64)
    for a in (0, 9, 27):
        for v in (eye[5] - eye[a], eye[5] + eye[a], -2 * eye[a], -eye[a] - eye[14]):
            own, hats = _queries(law, v[None, :])
            moved = _phi(noise, z + np.concatenate([own, hats], axis=1), bug)
            worst = max(worst, *(abs(p - q) for p, q in zip(base, moved, strict=True)))
    return worst


def test_audit_of_the_tilted_law():
    """No replaced record changes the exponent of the law by more than epsilon, and some by almost that."""
    law = _law(SQUARE, tilt=Fraction(1, 5))
    worst = _worst(law.noise, law)
    assert law.noise.epsilon <= ONE
    assert Fraction(9, 10) <= worst <= ONE


@pytest.mark.parametrize("bug", ["unit", "stretch"])
def test_audit_catches_wrong_units(bug):
    """Planted bugs: the tilt in units of the field instead of counts; noise for the cell's own query only."""
    law = _law(SQUARE, tilt=Fraction(1, 5))
    good = law.noise
    scale = noise_scale(2 * law.unit, Fraction(4, 5)) if bug == "stretch" else good.scale
    bad = TiltedLaplace(
        scale, good.rate, good.orders, None, True, good.decode, good.queries, law.unit, law.stretch
    )
    assert _worst(bad, law, bug) > ONE


@pytest.mark.parametrize("tilt", [Fraction(0), Fraction(1, 20)])
def test_fields_come_from_either_source(tilt):
    """Simulated fields repeat, secure ones do not, and both have one row of m integers per field."""
    law = _law(OBLONG, tilt=tilt)
    a, b = (law.draw(SimSampler(1), 2) for _ in range(2))
    assert (a == b).all()
    assert a.shape == (2, 28)
    assert (law.draw(SecureSampler(), 1) != law.draw(SecureSampler(), 1)).any()


def test_the_tilt_narrows_the_supremum():
    """Tilted fields have a smaller mean supremum than plain ones at the same budget."""
    from geomdp.opt.sup import sup_field

    plain, tilted = (_law(OBLONG, tilt=Fraction(tilt, 5)).draw(SimSampler(3), 700) for tilt in (0, 1))
    assert sup_field(OBLONG, tilted).mean() < 0.99 * sup_field(OBLONG, plain).mean()


def test_hats_are_used_on_large_grids_only():
    """The default law: tilted cells up to 16 x 16, hats from 32 x 32 on, cells on other domains."""

    def kind(domain, classes="halfspaces"):
        return default_law(Setting(domain, 9, 9, ONE, classes=classes), ONE).key["noise"]

    big = g.Domain.grid([("x", 0, 1, 32), ("y", 0, 1, 32)])
    assert [kind(SQUARE), kind(big), kind(g.Domain.line(50), "thresholds")] == ["tilted", "hats", "tilted"]


def test_a_tester_runs_on_hats_with_its_unit(monkeypatch, tmp_path):
    """The one-way tester takes a hat law: statistic, noise and cut in units of 1/(2 unit) record."""
    monkeypatch.setenv("GEOMDP_CACHE_DIR", str(tmp_path))
    setting = Setting(SQUARE, 300, 300, ONE)
    T = OneWayTilted(setting, law=_law(SQUARE, draws=1000))
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 64, 300)
    S = g.Sample.from_cells(SQUARE, cells, np.where(SQUARE.points[cells, 0] >= 4, 1, -1))
    finding = T.converse(S, S, *SimSampler(2).spawn(2))
    assert finding.verdict == "Match"
    assert finding.opt_interval[0] == 0
    assert finding.transcript.spent("Alice") == finding.transcript.spent("Bob") == 1


def test_other_domains_are_refused():
    """Hats need a two-feature grid, at most as many nodes as levels, and a share below 1."""
    with pytest.raises(ArgumentError, match="domain"):
        HatField(g.Domain.line(9), "thresholds", ONE, 3)
    with pytest.raises(ArgumentError, match="nodes"):
        HatField(OBLONG, "halfspaces", ONE, 5)
    with pytest.raises(ArgumentError, match="share"):
        HatField(OBLONG, "halfspaces", ONE, 3, share=ONE)
