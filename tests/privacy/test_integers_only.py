"""No float on the way of a released value: strict integers through every sampler and every party."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.integers import FloatError, IntegerArray, Strict, StrictBits, StrictSampler, StrictScale

import geomdp as g
from geomdp.geometry.arrangement import dichotomies
from geomdp.privacy import exact
from geomdp.privacy.budget import Budget
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.privacy.tilt import Size
from geomdp.protocol.party import Party
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.crossing import Crossing, failures, geometric
from geomdp.testers.elimination import HalfspaceElimination, menus_of
from geomdp.testers.elimination_turns import EliminationParty
from geomdp.testers.hats import HatField
from geomdp.testers.histogram import HistogramParty, Minimiser
from geomdp.testers.interior_point import InteriorParty
from geomdp.testers.interior_point_plan import calibrate
from geomdp.testers.localisation import Localisation, pooled
from geomdp.testers.localised import Coin, PoolHolder, Scout
from geomdp.testers.tilted import FieldAnswerer, FieldHolder
from geomdp.testers.tilted_law import TiltedField

ONE = Fraction(1)
GRID = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
SETTING = Setting(GRID, 6, 6, ONE)
SAMPLE = g.Sample.from_cells(GRID, [0, 4, 4, 8, 2, 6], [1, 1, -1, -1, 1, -1])


def strict():
    """Return the secure sampler behind the strict one."""
    return StrictSampler(SecureSampler())


def test_strict_integers_are_strict():
    """The tools themselves: results stay strict; float, true division and float arrays are errors."""
    value = (Strict(7) + 3) * 2 // 3 % 5 << 2
    assert type(value) is Strict
    assert value == 4
    assert type(2 - Strict(5)) is Strict
    assert type(divmod(Strict(7), 2)[1]) is Strict
    for bad in (float, lambda v: v / 2, lambda v: 2 / v, lambda v: v**-1, lambda v: 1.5 * float(v)):
        with pytest.raises(FloatError):
            bad(Strict(3))
    array = np.arange(4).view(IntegerArray)
    assert type(array + 1) is IntegerArray
    for bad in (lambda a: a / 2, lambda a: a.astype(float), lambda a: a * 0.5, np.exp):
        with pytest.raises(FloatError):
            bad(array)


def test_exact_samplers_compute_on_integers_alone():
    """All exact samplers run on strict bits, sizes, scores and scales, and meet no float."""
    bits, scale = StrictBits(exact.OsBits()), StrictScale("7/3")
    sizes, scores = [Strict(3), Strict(0), Strict(10**30)], [Strict(5), Strict(9), Strict(-140)]
    for _ in range(60):
        exact.uniform(bits, Strict(10))
        exact.bernoulli(bits, Strict(2), Strict(7))
        exact.bernoulli_exp(bits, Strict(9), Strict(4))
        exact.discrete_laplace(bits, scale)
        exact.permute_and_flip(bits, scores, scale)
        exact.permute_and_flip_groups(bits, sizes, scores, scale)
        Size(Fraction(2, 3), two_sided=True).decide(bits, bits.bits(20), 20)


def test_crossing_draws_on_integers_alone():
    """The noisy first crossing and its two noises run on strict integers."""
    sampler = strict()
    crossing = Crossing(3, Fraction(1, 4), Fraction(3, 4))
    for _ in range(40):
        crossing.draw([(Strict(2**70), Strict(0)), (Strict(3), Strict(2)), (Strict(1), Strict(40))], sampler)
        failures(Strict(3), Strict(5), Strict(50), sampler)
        geometric(Fraction(2), sampler)


def _transcript(kind, **payload):
    return Transcript({}, [Message("Alice", kind, payload, Fraction(0))])


def _parties():
    """Yield every release of every tester's party, to be called with a strict sampler."""
    m = GRID.m

    def party(kind, sampler, name="Bob"):
        return kind(name, SAMPLE, sampler, Budget(4))

    signs = dichotomies(GRID).signs[:5].astype(np.int8)
    found = Localisation(5, *pooled(signs), 5, 3)
    field = TiltedField(GRID, "halfspaces", ONE, Fraction(1, 5))
    square = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
    hats = HatField(square, "halfspaces", ONE, 2)
    yield "histogram", lambda s: party(HistogramParty, s).histogram(Transcript({}), SETTING)
    for turn in ("minimum", "own", "joint_classifier"):
        yield (
            f"one-way {turn}",
            lambda s, turn=turn: getattr(party(Minimiser, s), turn)(
                _transcript("noisy histogram", net=[1] * m), SETTING, ONE
            ),
        )
    yield "tilted field", lambda s: party(FieldHolder, s).field(Transcript({}), SETTING, field, ONE)
    yield "hats", lambda s: party(FieldHolder, s).field(Transcript({}), SETTING, hats, ONE)
    for turn, unit in (("minimum", (3,)), ("own", ()), ("joint_classifier", (3,))):
        yield (
            f"tilted {turn}",
            lambda s, turn=turn, unit=unit: getattr(party(FieldAnswerer, s), turn)(
                _transcript("noisy field", net=[1] * m), SETTING, *unit, ONE
            ),
        )
    yield "coarse", lambda s: party(Scout, s).coarse(Transcript({}), SETTING, ONE)
    yield "pools", lambda s: party(PoolHolder, s).pools(Transcript({}), SETTING, found, ONE)
    yield "coin", lambda s: party(Coin, s).toss(Transcript({}))
    yield (
        "local minimum",
        lambda s: party(Scout, s).local_minimum(
            _transcript("pooled counts", net=[2] * len(found.pools)), SETTING, found, ONE
        ),
    )
    line = g.Domain.line(2**40)
    few = g.Sample.from_cells(line, [5, 2**39, 9], [-1, 1, 1])
    rules = calibrate(line.m, ONE, Fraction(1, 10), 0, 2)

    def scan_and_count(sampler):
        one = InteriorParty("Alice", few, sampler, Budget(ONE))
        transcript = Transcript({}, [Message("Bob", "crossing", {"theta": [7]}, ONE)])
        one.scan(transcript, rules)
        return one.count(transcript, rules)

    yield "scan and count", scan_and_count
    five = g.Domain([[0, 0, 1], [1, 0, 1], [2, 0, 1], [0, 1, 1], [1, 1, 1]])
    tester, menus = HalfspaceElimination(Setting(five, 3, 3, ONE)), menus_of(five)
    start = tester.start(menus)
    step = tester.next_step(menus, start)[0]
    later = replace(start, alive=start.alive[:8])
    finish = tester.next_step(menus, later)[0]
    few_points = g.Sample.from_cells(five, [0, 3, 4], [1, -1, 1])

    def select(sampler):
        one = EliminationParty("Alice", few_points, sampler, Budget(2))
        one.prepare(menus.weights)
        one.select(step, start.alive)
        return one.count(finish, later.alive)

    yield "selection and counts", select


PARTIES = dict(_parties())


@pytest.mark.parametrize("name", PARTIES)
def test_every_release_is_made_of_integers(name):
    """Noise never meets a float, scores and scales are exact, and messages hold plain integers."""
    sampler = strict()
    released = PARTIES[name](sampler)
    assert sampler.requests
    if isinstance(released, Message):
        for value in released.payload.values():
            listed = value if isinstance(value, list) else [value]
            assert all(isinstance(v, int) for v in listed)


@pytest.mark.parametrize(
    "code",
    [
        exact,
        Crossing.draw,
        Crossing._tails,
        failures,
        geometric,
        HistogramParty,
        Minimiser,
        FieldHolder,
        FieldAnswerer,
        Scout,
        PoolHolder,
        InteriorParty,
        EliminationParty,
        Party,
        SecureSampler.permute_and_flip_groups,
        SecureSampler.discrete_laplace,
        SecureSampler.permute_and_flip,
        HatField.decode,
    ],
    ids=lambda code: getattr(code, "__qualname__", code.__name__),
)
def test_no_float_stands_in_the_code(code):
    """No float literal, no float() and no true division in what computes a released value."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "float"


def test_a_float_would_be_noticed():
    """Control: a party that scales its noise in floats is refused by the strict sampler."""

    class Sloppy(HistogramParty):
        def histogram(self, transcript, setting):
            noise = self.sampler.discrete_laplace(Fraction(2), setting.domain.m)
            return np.rint(self.sample.net + 1.0 * noise).astype(int)

    with pytest.raises(FloatError):
        Sloppy("Alice", SAMPLE, strict(), Budget(1)).histogram(Transcript({}), SETTING)
    with pytest.raises(FloatError):
        StrictSampler(SimSampler(0)).discrete_laplace(Fraction(1), 3) / 2
