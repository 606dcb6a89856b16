"""A counterpart may send anything: a clear refusal, exact accounts, and nothing else that leaks."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hostile import edited
from support.sessions import exchange, refusal

import geomdp as g
from geomdp.core.errors import ArgumentError, CapacityError, InfeasibleError, ProtocolError
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.channel import ENVELOPE, HELLO_SIZE, Channel
from geomdp.protocol.party import Party
from geomdp.protocol.schema import Integer, Integers, Schema, symmetric
from geomdp.protocol.script import Turn, attend, drive, play
from geomdp.protocol.transcript import Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination
from geomdp.testers.histogram import OneWay, TwoHistograms
from geomdp.testers.interior_point import InteriorPoint
from geomdp.testers.localised import Localised
from geomdp.testers.median_depth import MedianDepth
from geomdp.testers.prefix_search import PrefixSearch
from geomdp.testers.tilted import OneWayTilted, TwoTilted

AXIS = g.Domain.grid([("x", 0, 1, 5)])
NINE = g.Domain.grid([("x", 0, 1, 9)])
N = 40


def setting(n=N, labels="mixed", domain=AXIS, epsilon=1, **more):
    """Return thresholds on a short line."""
    return Setting(domain, n, n, Fraction(epsilon), labels=labels, classes="thresholds", **more)


def eliminated(**more):
    """Return elimination of the 18 candidates of a line: a round, then the counting finish."""
    return HalfspaceElimination(Setting(NINE, N, N, Fraction(1)), **more)


MAKERS = {
    kind.name: lambda kind=kind: kind(setting()) for kind in (TwoHistograms, OneWay, OneWayTilted, TwoTilted)
}
MAKERS |= {
    "localised, whole field": lambda: Localised(setting()),
    "localised, pools": lambda: Localised(setting(3000)),
    "interior-point, disjoint": lambda: InteriorPoint(setting(labels="disjoint")),
    "interior-point, mixed": lambda: InteriorPoint(setting(200)),
    "median-depth, disjoint": lambda: MedianDepth(setting(900, "disjoint"), digits=(1,)),
    "median-depth, mixed": lambda: MedianDepth(setting(900)),
    "prefix-search": lambda: PrefixSearch(setting(900, "disjoint")),
    "elimination": eliminated,
    "elimination, retry": lambda: eliminated(retries=1),
    "elimination, delta": lambda: eliminated(delta="1/1000"),
    "elimination, paper": lambda: eliminated(constants="paper"),
}


def samples(tester):
    """Return two samples that a threshold fits."""
    domain, n, disjoint = tester.setting.domain, tester.setting.n, tester.setting.labels == "disjoint"
    half = 0 if disjoint else n // 2
    left = g.Sample.from_cells(domain, [0] * (n - half) + [4] * half, [-1] * (n - half) + [1] * half)
    right = g.Sample.from_cells(domain, [4] * (n - half) + [1] * half, [1] * (n - half) + [-1] * half)
    return left, right


def other_samples(tester):
    """Return two quite different samples of the same sizes."""
    domain, n = tester.setting.domain, tester.setting.n
    if tester.setting.labels == "disjoint":
        return g.Sample.from_cells(domain, [3] * n, [-1] * n), g.Sample.from_cells(domain, [0] * n, [1] * n)
    return g.Sample.from_cells(domain, [2] * n, [1] * n), g.Sample.from_cells(domain, [2] * n, [1] * n)


def sessions(tester, pair, seed=1):
    """Return both parties' sessions with seeded noise."""
    return [
        tester.attend(name, sample, SimSampler(seed + i))
        for i, (name, sample) in enumerate(zip(("Alice", "Bob"), pair, strict=True))
    ]


@pytest.mark.parametrize("name", MAKERS)
def test_two_processes_agree_with_one(name):
    """Parties that share nothing but frames reach the transcript and the finding of the in-process run."""
    tester = MAKERS[name]()
    pair = samples(tester)
    results, frames = exchange(*sessions(tester, pair))
    together = tester.converse(*pair, SimSampler(1), SimSampler(2))
    assert len(frames) == 2 + sum(m.kind != "localisation" for m in together.transcript.messages)
    for mine in results.values():
        assert mine.transcript.to_dict() == together.transcript.to_dict()
        assert (mine.verdict, mine.opt_interval) == (together.verdict, together.opt_interval)
        assert mine.classifier == together.classifier


@pytest.mark.parametrize("name", MAKERS)
def test_sizes_of_frames_tell_nothing(name):
    """Frames have sizes that do not depend on records or noise, wherever the turns are the same."""
    tester = MAKERS[name]()
    seen = {}
    for seed in range(4):
        for pair in (samples(tester), other_samples(tester)):
            results, frames = exchange(*sessions(tester, pair, 10 * seed))
            # what decides later turns: the number of pools, and a member of a public menu
            turns = tuple(
                (m.sender, m.kind, len(m.payload.get("net", ())), m.payload.get("index"))
                for m in results["Alice"].transcript.messages
            )
            seen.setdefault(turns, set()).add(tuple(len(frame) for _, frame in frames))
    assert all(len(sizes) == 1 for sizes in seen.values())


@pytest.mark.parametrize("name", MAKERS)
def test_turns_are_a_function_of_the_messages(name):
    """A script that is told the messages of a run, without any party or record, ends with its finding."""
    tester = MAKERS[name]()
    for seed in range(4):
        for pair in (samples(tester), other_samples(tester)):
            together = tester.converse(*pair, SimSampler(seed), SimSampler(seed + 50))
            transcript = Transcript(tester.opening())
            script = tester.script(transcript)
            ended, message = None, None
            # what the script itself appends is public and has no turn
            told = (m for m in together.transcript.messages if m.kind != "localisation")
            while ended is None:
                try:
                    turn = next(script) if message is None else script.send(message)
                except StopIteration as end:
                    ended = end.value
                    continue
                message = next(told)
                turn.schema.check(message, turn.sender)
                transcript.append(message)
            assert ended == together


def _entry(value, at=0):
    def edit(told):
        payload = told["message"]["payload"]
        key = list(payload)[at]
        payload[key] = [value, *payload[key][1:]] if isinstance(payload[key], list) else value

    return edit


def _in_message(**changes):
    return lambda told: told["message"].update(changes)


TAMPERINGS = {
    "not JSON": lambda told: "\x00 nonsense",
    "another object": lambda told: "[1,2,3]",
    "bomb": lambda told: "[" * 900,
    "NaN": lambda told: json.dumps(told).replace('"index": ', '"index": NaN, "x": '),
    "repeated key": lambda told: json.dumps(told).replace('{"index"', '{"index": 0, "index"'),
    "extra key": lambda told: told.update(more=1),
    "missing key": lambda told: told.pop("previous") and None,
    "late or replayed": lambda told: told.update(index=told["index"] - 1),
    "early": lambda told: told.update(index=told["index"] + 1),
    "index true": lambda told: told.update(index=True if told["index"] == 1 else 1.0),
    "other chain": lambda told: told.update(previous="0" * 64),
    "own name": lambda told: told["message"].update(
        sender={"Alice": "Bob", "Bob": "Alice"}[told["message"]["sender"]]
    ),
    "curator": _in_message(sender="Curator"),
    "other kind": _in_message(kind="gift"),
    "cheap": _in_message(epsilon="0/1"),
    "cheaper": _in_message(epsilon="1/1000"),
    "dear": _in_message(epsilon="3/2"),
    "negative price": _in_message(epsilon="-1"),
    "endless price": _in_message(epsilon="1" * 300),
    "no price": _in_message(epsilon=None),
    "payload a list": _in_message(payload=[1]),
    "empty payload": _in_message(payload={}),
    "more payload": lambda told: told["message"]["payload"].update(note=1),
    "float entry": _entry(0.5),
    "true entry": _entry(True),
    "text entry": _entry("7"),
    "null entry": _entry(None),
    "out of range": _entry(10**200),
    "nested entry": _entry([[1]]),
    "last entry true": _entry(True, -1),
    "last entry out of range": _entry(10**200, -1),
    "last entry below range": _entry(-(10**200), -1),
    "short list": lambda told: told["message"].update(payload={k: [] for k in told["message"]["payload"]}),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_deviation_is_refused_with_exact_accounts(name):
    """Each altered frame of either party is refused; the victim has paid for what it sent."""
    tester = MAKERS[name]()
    pair = samples(tester)
    _, frames = exchange(*sessions(tester, pair))
    for victim in (0, 1):
        me = ("Alice", "Bob")[victim]
        foreign = [frame for sender, frame in frames if sender != me]
        own = [frame for sender, frame in frames if sender == me]
        for at in range(1, len(foreign)):
            for label, edit in TAMPERINGS.items():
                bad = edited(foreign[at], edit)
                if json_or_none(bad) == json_or_none(foreign[at]):
                    continue
                session = sessions(tester, pair)[victim]
                text, sent = refusal(session, [*foreign[:at], bad])
                assert text, (name, me, at, label)
                assert sent == own[: len(sent)]
                assert len(sent) <= sum(
                    1 for s, _ in frames[: frames.index((other(me), foreign[at]))] if s == me
                )


def other(me):
    """Return the other party's name."""
    return "Bob" if me == "Alice" else "Alice"


def json_or_none(frame):
    """Return a frame's content, or None where it has none."""
    try:
        return json.loads(frame)
    except (ValueError, RecursionError):
        return None


@pytest.mark.parametrize(
    "name",
    [
        "one-way",
        "localised, pools",
        "interior-point, mixed",
        "median-depth, disjoint",
        "prefix-search",
        "elimination",
    ],
)
def test_the_budget_shows_what_was_sent_before_a_refusal(name, monkeypatch):
    """After a refusal the victim's budget is the sum of its own frames' prices, neither more nor less."""
    tester = MAKERS[name]()
    pair = samples(tester)
    _, frames = exchange(*sessions(tester, pair))
    make, made = tester.party, []
    monkeypatch.setattr(tester, "party", lambda *parts: made.append(make(*parts)) or made[-1])
    for victim, me in enumerate(("Alice", "Bob")):
        foreign = [frame for sender, frame in frames if sender != me]
        for at in range(1, len(foreign)):
            session = sessions(tester, pair)[victim]
            text, sent = refusal(session, [*foreign[:at], edited(foreign[at], _entry(0.5))])
            assert text
            prices = [Fraction(json.loads(frame)["message"]["epsilon"]) for frame in sent[1:]]
            assert made[victim - 2].budget.spent == sum(prices)
            assert made[victim - 2].budget.spent <= 1


@pytest.mark.parametrize(
    "name", ["one-way", "interior-point, mixed", "median-depth, disjoint", "prefix-search", "elimination"]
)
def test_refusals_do_not_depend_on_records(name):
    """Whatever the victim's records are, the same broken frame is refused by the same words."""
    tester = MAKERS[name]()
    _, frames = exchange(*sessions(tester, samples(tester)))
    first = next(frame for sender, frame in frames[2:] if sender == "Alice")
    hello = frames[0][1]
    for edit in (_entry(0.5), _entry(10**200), _in_message(epsilon="1/7"), _in_message(kind="x")):
        texts = {
            refusal(
                tester.attend("Bob", pair[1], SimSampler(seed)),
                [hello, edited(first, edit)],
            )[0]
            for seed, pair in enumerate((samples(tester), other_samples(tester)))
        }
        assert len(texts) == 1
        assert "0.5" not in texts.pop()


def test_replayed_frames_are_refused():
    """A frame of an earlier run, or of the same run once more, does not continue the chain."""
    tester = OneWay(setting())
    pair = samples(tester)
    _, old = exchange(*sessions(tester, pair, 1))
    _, new = exchange(*sessions(tester, pair, 5))
    alice = [frame for sender, frame in new if sender == "Alice"]
    bob_old = [frame for sender, frame in old if sender == "Bob"]
    # Bob's answer of the old run, in the new one: Alice's own histogram differs, so does the chain
    text, _ = refusal(tester.attend("Alice", pair[0], SimSampler(5)), bob_old)
    assert "transcripts differ" in text
    text, _ = refusal(tester.attend("Bob", pair[1], SimSampler(6)), [alice[0], alice[0]])
    assert "exactly" in text or "must be" in text
    bob = [frame for sender, frame in new if sender == "Bob"]
    text, sent = refusal(tester.attend("Alice", pair[0], SimSampler(5)), [bob[0], bob[1], bob[1]])
    assert text
    assert len(sent) == 2
    sender, receiver = Channel("Bob", {}), _channel()
    sender.meet(Channel("Alice", {}).hello())
    frame = sender.seal(Message("Bob", "values", GOOD["message"]["payload"], Fraction(1, 3)), SCHEMA)
    receiver.open(frame, SCHEMA)
    with pytest.raises(ProtocolError, match="replayed"):
        receiver.open(frame, SCHEMA)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"domain": g.Domain.grid([("x", 0, 2, 5)])}, "domain"),
        ({"epsilon": "1/2"}, "epsilon"),
        ({"n": 41}, "'n'"),
        ({"tolerance": 3}, "cut_doubled"),
        ({"beta": Fraction(1, 5)}, "beta"),
    ],
)
def test_hellos_must_agree(change, word):
    """Parties that plan different runs part before any budget is spent, and learn which parameter differs."""
    mine, theirs = OneWay(setting()), OneWay(setting(**change))
    hello = next(theirs.attend("Bob", _any_sample(theirs), SimSampler(2)))
    text, sent = refusal(mine.attend("Alice", samples(mine)[0], SimSampler(1)), [hello])
    assert word in text
    assert len(sent) == 1


def _any_sample(tester):
    return g.Sample.from_cells(tester.setting.domain, [0] * tester.setting.n, [1] * tester.setting.n)


def test_hello_must_come_from_the_other_party():
    """Two Alices, another protocol, a second hello, and messages before any hello are refused."""
    a, b = Channel("Alice", {"epsilon": "1"}), Channel("Bob", {"epsilon": "1"})
    with pytest.raises(ProtocolError, match="must be Bob"):
        Channel("Alice", {"epsilon": "1"}).meet(a.hello())
    with pytest.raises(ProtocolError, match="speak"):
        Channel("Alice", {}).meet(edited(b.hello(), lambda told: told.update(protocol="other/1")))
    with pytest.raises(ProtocolError, match="parameters"):
        Channel("Alice", {}).meet(edited(b.hello(), lambda told: told.update(parameters=3)))
    with pytest.raises(ProtocolError, match="hello"):
        a.open(b"", Schema("x", {}, Fraction(0)))
    a.meet(b.hello())
    with pytest.raises(ProtocolError, match="once"):
        a.meet(b.hello())
    with pytest.raises(ProtocolError, match="closed"):
        a.seal(Message("Alice", "x", {}, Fraction(0)), Schema("x", {}, Fraction(0)))
    with pytest.raises(ArgumentError):
        Channel("Carol", {})
    with pytest.raises(ProtocolError, match="cannot hold"):
        Channel("Alice", {"note": "x" * HELLO_SIZE}).hello()


def test_a_finished_run_accepts_nothing():
    """After the last turn the channel is closed: a late frame is refused."""
    channel = Channel("Alice", {})
    channel.meet(Channel("Bob", {}).hello())
    channel.close()
    with pytest.raises(ProtocolError, match="over"):
        channel.open(b"", Schema("x", {}, Fraction(0)))


SCHEMA = Schema("values", {"v": symmetric(3, 99), "w": Integer(0, 5)}, Fraction(1, 3))
GOOD = {
    "index": 0,
    "previous": "",
    "message": {"sender": "Bob", "kind": "values", "payload": {"v": [1, -2, 3], "w": 4}, "epsilon": "1/3"},
}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["v", "w", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _channel():
    channel = Channel("Alice", {})
    channel.meet(Channel("Bob", {}).hello())
    return channel


@given(
    path=st.sampled_from([(), ("index",), ("message",), ("message", "payload"), ("message", "payload", "v")]),
    value=JSON,
)
@settings(max_examples=150, deadline=None)
def test_any_json_is_read_or_refused(path, value):
    """Whatever JSON stands in a frame, it is accepted as the schema says or refused, never a crash."""
    channel = _channel()
    told = json.loads(json.dumps(GOOD | {"previous": channel.digest}))
    if path:
        at = told
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    else:
        told = value
    size = SCHEMA.size + ENVELOPE
    frame = json.dumps(told).encode()[:size].ljust(size)
    try:
        message = channel.open(frame, SCHEMA)
    except ProtocolError:
        with pytest.raises(ProtocolError, match="closed"):
            channel.open(frame, SCHEMA)
    else:
        assert SCHEMA.fits(message, "Bob")


@given(st.binary(max_size=400))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_refused(noise):
    """Random bytes, at any length or padded to the right one, are a ProtocolError."""
    size = SCHEMA.size + ENVELOPE
    for frame in (noise, noise[:size].ljust(size), noise.decode("latin1")):
        with pytest.raises(ProtocolError):
            _channel().open(frame, SCHEMA)


def test_an_own_message_that_does_not_fit_is_not_sent():
    """A party's own slip is refused before it leaves, in the same words for both sides."""
    channel = _channel()
    with pytest.raises(ProtocolError, match="'w'"):
        channel.seal(Message("Alice", "values", {"v": [0, 0, 0], "w": 9}, Fraction(1, 3)), SCHEMA)
    menu = Schema("choice", {"i": Integer(0, 9)}, Fraction(0), menu=lambda payload: payload["i"] % 2 == 0)
    menu.check(Message("Bob", "choice", {"i": 4}, Fraction(0)), "Bob")
    with pytest.raises(ProtocolError, match="menu"):
        menu.check(Message("Bob", "choice", {"i": 5}, Fraction(0)), "Bob")


def test_a_price_may_depend_on_the_choice():
    """Where bottom is cheaper than a member, each must state its own price."""
    priced = Schema("selection", {"index": Integer(-1, 9)}, lambda p: Fraction(1 if p["index"] < 0 else 2))
    for index, price in ((-1, 1), (3, 2)):
        assert priced.fits(Message("Bob", "selection", {"index": index}, Fraction(price)), "Bob")
        assert not priced.fits(Message("Bob", "selection", {"index": index}, Fraction(3 - price)), "Bob")


def test_schemas_say_what_they_are():
    """The words of a schema are public bounds; astronomically long integers have no frame."""
    assert str(Integers(3, -(2**53), 2**53)) == "a list of 3 integers from -2^53 to 2^53"
    assert str(Integer(0, 2**62 - 1)) == "an integer from 0 to 2^62 - 1"
    assert str(Integer(-5, 10**30)) == "an integer from -5 to 2^99 or so"
    with pytest.raises(CapacityError, match="frame"):
        _ = Schema("x", {"v": Integer(0, 2**20000)}, Fraction(0)).size


def test_a_turn_is_one_message():
    """A turn that appends nothing, or twice, is an error of the script, in process and alone."""

    def script(times):
        def act(party):
            for _ in range(times):
                transcript.append(Message("Alice", "x", {}, Fraction(0)))

        transcript.messages.clear()
        yield Turn("Alice", Schema("x", {}, Fraction(0)), act)

    transcript = Transcript({})
    party = Party("Alice", None, None, None)
    for times in (0, 2):
        with pytest.raises(ProtocolError, match="one message"):
            play(script(times), {"Alice": party}, transcript)
    assert play(script(1), {"Alice": party}, transcript) is None
    lone = attend(script(1), party, transcript, Channel("Alice", {}))
    hello = Channel("Bob", {}).hello()
    sent = []
    drive(lone, sent.append, lambda: hello)
    assert len(sent) == 2


def test_own_sample_must_be_as_planned():
    """A party checks its own records' public facts before it says hello."""
    tester = OneWay(setting())
    with pytest.raises(ArgumentError, match="as planned"):
        tester.attend("Bob", g.Sample.from_cells(AXIS, [1], [1]), SimSampler(0))
    with pytest.raises(ArgumentError, match="domain"):
        tester.attend("Bob", g.Sample.from_cells(g.Domain.line(5), [1] * N, [1] * N), SimSampler(0))
    with pytest.raises(ArgumentError, match="name"):
        tester.attend("Curator", samples(tester)[0], SimSampler(0))
    for wrong in (None, 5, [1, -1]):
        with pytest.raises(ArgumentError, match="Argument 'sample' must be a Sample"):
            tester.attend("Alice", wrong, SimSampler(0))
        with pytest.raises(ArgumentError, match="Argument 'sampler' must be a source of noise"):
            tester.attend("Alice", samples(tester)[0], wrong)


LONG = Fraction(10**59 + 1, 10**59)  # 121 characters
KINDS = [TwoHistograms, OneWay, OneWayTilted, TwoTilted, Localised, InteriorPoint, MedianDepth, PrefixSearch]


@pytest.mark.parametrize("kind", [*KINDS, HalfspaceElimination], ids=lambda kind: kind.name or kind.__name__)
def test_a_budget_fits_into_frames_or_is_refused_at_once(kind):
    """A budget that a session accepts is stated in full by all frames; a longer one meets nobody."""

    def made(epsilon):
        classes = "halfspaces" if kind is HalfspaceElimination else "thresholds"
        return kind(Setting(NINE, 1500, 1500, epsilon, labels="disjoint", classes=classes))

    longest = Fraction(10**58 + 1, 10**58)
    tester = made(longest)
    results, _ = exchange(*sessions(tester, samples(tester)))
    spent = results["Bob"].transcript.spent
    assert 0 < max(spent("Alice"), spent("Bob")) <= longest
    assert results["Alice"] == results["Bob"]
    tester = made(LONG)
    with pytest.raises(CapacityError, match="epsilon"):
        sessions(tester, samples(tester))


EDGES = {
    "tiny epsilon": {"epsilon": "0.000001"},
    "tiny beta": {"beta": Fraction(1, 10**9)},
    "beta near one": {"beta": Fraction(999, 1000)},
    "epsilon that no float holds": {"epsilon": "1/3"},
    "large epsilon": {"epsilon": 100},
    "one record": {"n": 1},
    "two places": {"domain": g.Domain.grid([("x", 0, 1, 2)])},
    "two ranks": {"domain": g.Domain.line(2)},
    "two ranks, disjoint": {"domain": g.Domain.line(2), "labels": "disjoint", "n": 2000},
    "large tolerance": {"tolerance": 10**6},
    "disjoint": {"labels": "disjoint"},
}


class Elimination(HalfspaceElimination):
    """Elimination of the halfspaces that thresholds on a line are among."""

    def __init__(self, setting):
        super().__init__(replace(setting, classes="halfspaces"))


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("kind", [*KINDS, Elimination], ids=lambda kind: kind.name or kind.__name__)
def test_edges_have_defined_behaviour(kind, edge):
    """At every edge a tester runs within its budgets, or says with a reason that it cannot."""
    change = EDGES[edge]
    if edge == "tiny epsilon" and kind in {MedianDepth, PrefixSearch}:
        change = {"epsilon": "1/100"}  # their exact calibrations grow with 1/epsilon
    tester = kind(setting(**change))
    sample = g.Sample.from_cells(tester.setting.domain, [0] * tester.setting.n, [-1] * tester.setting.n)
    if tester.reason:
        assert tester.resolution is None
        with pytest.raises(InfeasibleError, match=tester.name):
            tester.converse(sample, sample, SecureSampler(), SecureSampler())
        return
    finding = tester.converse(sample, sample, SecureSampler(), SecureSampler())
    assert finding.verdict in {"Match", "Far", "Inconclusive"}
    assert all(finding.transcript.spent(name) <= tester.setting.epsilon for name in ("Alice", "Bob"))


@pytest.mark.parametrize("labels", ["mixed", "disjoint"])
def test_a_search_without_a_query(labels):
    """On two ranks with two digits per level there is nothing to search: T = 0, and the run still decides."""
    tester = MedianDepth(setting(3000, labels, g.Domain.line(2)), digits=(3,))
    assert tester.rules.queries == 0
    assert tester.feasible
    low = g.Sample.from_cells(tester.setting.domain, [0] * 3000, [-1] * 3000)
    high = g.Sample.from_cells(tester.setting.domain, [1] * 3000, [1] * 3000)
    verdicts = [tester.converse(low, high, *SimSampler(seed).spawn(2)).verdict for seed in range(20)]
    assert verdicts.count("Match") >= 15
