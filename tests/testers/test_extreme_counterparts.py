"""Messages at the ends of their schemas: nothing that a party does about them depends on its records."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.hostile import MODES, hostile

import geomdp as g
from geomdp.core.errors import ProtocolError
from geomdp.privacy.sampler import SimSampler
from geomdp.protocol.channel import Channel
from geomdp.protocol.party import within
from geomdp.protocol.transcript import PARTIES, Transcript
from geomdp.testers.base import Setting, Tester
from geomdp.testers.curator import Curator
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.hats import HatField
from geomdp.testers.histogram import OneWay, TwoHistograms, best_agreement, crowded, largest_entry
from geomdp.testers.interior_point import InteriorPoint
from geomdp.testers.localised import Localised
from geomdp.testers.median_depth import MedianDepth
from geomdp.testers.mwem import MWEM
from geomdp.testers.net_mechanism import NetMechanism
from geomdp.testers.plan import Unplanned
from geomdp.testers.prefix_search import PrefixSearch
from geomdp.testers.ray_sketch import RaySketch
from geomdp.testers.scripted import ScriptedTester
from geomdp.testers.synthetic import SyntheticTester
from geomdp.testers.tilted import OneWayTilted, TwoTilted
from lp_gadgets.tester import CertifiedHistograms

LINE = g.Domain.line(12)
GRID = g.Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
N, EPSILON = 400, Fraction(20)


def line(n=N):
    """Return thresholds on a line."""
    return Setting(LINE, n, n, EPSILON, classes="thresholds")


def grid(n=N):
    """Return halfspaces on a grid."""
    return Setting(GRID, n, n, EPSILON)


def lines(places):
    """Return halfspaces on a line."""
    return Setting(g.Domain.grid([("x", 0, 1, places)]), N, N, EPSILON)


def hats(setting):
    """Return the one-way tester with a law of a large unit."""
    return OneWayTilted(setting, law=HatField(GRID, "halfspaces", EPSILON, 2, draws=2000))


MAKERS = {
    "two-histograms": lambda: TwoHistograms(line()),
    "one-way, line": lambda: OneWay(line()),
    "one-way, grid": lambda: OneWay(grid()),
    "one-way-tilted, line": lambda: OneWayTilted(line()),
    "one-way-tilted, grid": lambda: OneWayTilted(grid()),
    "one-way-tilted, hats": lambda: hats(grid()),
    "two-tilted": lambda: TwoTilted(grid()),
    "localised, line": lambda: Localised(line()),
    "localised, grid": lambda: Localised(grid()),
    "ray-sketch": lambda: RaySketch(grid()),
    "mwem": lambda: MWEM(grid(10**4)),
    "net-mechanism": lambda: NetMechanism(Setting(g.Domain([[0, 1], [1, 1], [2, 1]]), N, N, EPSILON)),
    "interior-point": lambda: InteriorPoint(line()),
    "median-depth": lambda: MedianDepth(line(10**4)),
    "prefix-search": lambda: PrefixSearch(line(10**4)),
    "elimination": lambda: HalfspaceElimination(lines(17)),
    "elimination, retry": lambda: HalfspaceElimination(lines(17), retries=1),
    "elimination, paper": lambda: HalfspaceElimination(lines(4), constants="paper"),
    "certified-histograms": lambda: CertifiedHistograms(grid(), time_limit=0.5),
}


def subclasses(kind):
    """Yield all concrete kinds below."""
    for below in kind.__subclasses__():
        if not below.__abstractmethods__:
            yield below
        yield from subclasses(below)


def test_every_scripted_tester_is_listed():
    """Each protocol of the package faces the extremes here."""
    kinds = {kind for kind in subclasses(ScriptedTester) if not kind.__name__.startswith("_")}
    kinds -= {SyntheticTester}
    known = {OneWay, TwoHistograms, OneWayTilted, TwoTilted, Localised, RaySketch, MWEM, NetMechanism}
    known |= {InteriorPoint, MedianDepth, PrefixSearch, HalfspaceElimination, CertifiedHistograms}
    assert {k.__name__ for k in kinds if k.__module__.startswith(("geomdp", "lp_gadgets"))} <= {
        k.__name__ for k in known
    } | {"FieldTester", "BlockTester"}


def records(tester, choice):
    """Return a sample of n records: all on one side, mixed, or all in one cell but one."""
    setting = tester.setting
    n, m = setting.n_alice, setting.domain.m
    cells, labels = {
        "one cell +": ([0] * n, [1] * n),
        "one cell -": ([m - 1] * n, [-1] * n),
        "one other": ([0] * n, [-1] + [1] * (n - 1)),
        "spread": (np.arange(n) % m, np.where(np.arange(n) % 3, 1, -1)),
    }[choice]
    return g.Sample.from_cells(setting.domain, cells, labels)


class Loud(SimSampler):
    """Noise so large that no schema holds it."""

    def discrete_laplace(self, scale, size):
        """Return +-2^61 in turn."""
        noise = super().discrete_laplace(scale, size)
        flat = np.where(np.arange(noise.size) % 2, -(2**61), 2**61)
        return flat.reshape(noise.shape)


def face(tester, victim, sample, mode, sampler):
    """Return the kinds that the victim sent, and whether the run came to its end.

    Own messages must fit their schemas and frames, and the budget must hold exactly what was sent.
    """
    transcript = Transcript(tester.opening())
    party, script = tester.party(victim, sample, sampler), tester.script(transcript)
    start, sent, message = party.budget.left, [], None
    channel = Channel(victim, transcript.parameters)
    channel.meet(Channel(channel.other, transcript.parameters).hello())
    while True:
        try:
            turn = next(script) if message is None else script.send(message)
        except (StopIteration, ProtocolError) as end:
            assert start - party.budget.left == sum((m.epsilon for m in sent), Fraction(0))
            return tuple(m.kind for m in sent), isinstance(end, StopIteration)
        if turn.sender == victim:
            turn.act(party)
            message = transcript.messages[-1]
            channel.seal(message, turn.schema)
            sent.append(message)
        else:
            message = hostile(turn, mode)
            if not turn.schema.fits(message, turn.sender):  # not on the public menu: refused unread
                return tuple(m.kind for m in sent), False
            transcript.append(message)


@pytest.mark.parametrize("name", MAKERS)
def test_no_extreme_message_meets_a_limit(name):
    """Whatever the records are: no error, own messages that fit, and a budget that holds what was sent."""
    tester = MAKERS[name]()
    assert not tester.reason
    for victim in PARTIES:
        for mode in MODES.values():
            for choice in ("one cell +", "one cell -", "one other", "spread"):
                face(tester, victim, records(tester, choice), mode, SimSampler(1))


@pytest.mark.parametrize("name", ["two-histograms", "one-way, line", "one-way-tilted, grid", "ray-sketch"])
def test_no_noise_is_too_large_to_be_sent(name):
    """Values beyond the schema are moved to its end, after the noise is added."""
    tester = MAKERS[name]()
    for victim in PARTIES:
        face(tester, victim, records(tester, "spread"), MODES["all high"], Loud(1))


def test_every_tester_runs_as_two_sessions():
    """Whatever needs no third party that sees all data is a script that each party can attend alone."""
    kinds = [kind for kind in subclasses(Tester) if kind.__module__.startswith(("geomdp", "lp_gadgets"))]
    kinds.remove(Unplanned)  # holds the reason why there is no tester: it refuses every run
    assert [kind.name for kind in kinds if not issubclass(kind, ScriptedTester)] == ["curator"]
    assert Curator.trusted


class Fixed(SimSampler):
    """Selections that look at no score: a party's own turns are the same for all records."""

    def permute_and_flip(self, scores, scale):
        """Return the last place: bottom, or "unstable"."""
        return len(scores) - 1

    def permute_and_flip_groups(self, sizes, scores, scale):
        """Return the first member of the last group."""
        return max(i for i, size in enumerate(sizes) if size), 0


@pytest.mark.parametrize("victim", PARTIES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["elimination", "elimination, retry", "median-depth", "prefix-search"])
def test_a_changed_record_changes_no_turn_after_equal_choices(name, mode, victim):
    """Neighbours that choose alike send the same kinds at the same prices, to any extreme field."""
    tester = MAKERS[name]()
    views = {
        face(tester, victim, records(tester, choice), MODES[mode], Fixed(3))
        for choice in ("one cell +", "one other")
    }
    assert len(views) == 1


@pytest.mark.parametrize("name", ["one-way, line", "one-way-tilted, grid", "one-way-tilted, hats"])
@pytest.mark.parametrize("mode", MODES)
def test_a_changed_record_changes_neither_refusal_nor_accounts(name, mode):
    """Neighbouring samples send the same kinds of messages at the same prices, to any extreme field."""
    tester = MAKERS[name]()
    holder = getattr(getattr(tester, "budgets", None), "holder", "Alice")
    victim = next(other for other in PARTIES if other != holder)
    views = {
        face(tester, victim, records(tester, choice), MODES[mode], SimSampler(3))
        for choice in ("one cell +", "one other")
    }
    assert len(views) == 1
    assert next(iter(views))[1]


@pytest.mark.parametrize("unit", [1, 7, 700])
def test_a_field_and_any_counts_add_up_within_the_limit(unit):
    """2 m E + unit (n_A + n_B) <= 2^52, and the sum's agreement is exact in Python's integers."""
    setting = grid(10**6)
    bound = largest_entry(setting, unit)
    assert 2 * GRID.m * bound + unit * 2 * 10**6 <= 2**52
    v = np.full(GRID.m, bound, dtype=np.int64) + unit * np.eye(GRID.m, dtype=np.int64)[0] * 10**6
    assert best_agreement(setting, v)[0] == GRID.m * bound + unit * 10**6
    assert not crowded(setting, Fraction(1), unit)


def test_settings_that_leave_no_room_say_so():
    """Where own counts might not fit, the tester is refused with a reason, before any data."""
    crowd = Setting(LINE, 2**50, 2**50, Fraction(1), classes="thresholds")
    for kind in (OneWay, TwoHistograms, OneWayTilted, TwoTilted, Localised):
        tester = kind(crowd)
        assert tester.resolution is None
        assert "2^52" in tester.reason


def test_values_are_moved_to_the_nearest_bound():
    """Clamping leaves what fits alone and is monotone."""
    values = [-(2**70), -3, 0, 3, 2**70]
    assert within(values, 3) == [-3, -3, 0, 3, 3]
    assert within(np.array([5, -5]), 9) == [5, -5]
