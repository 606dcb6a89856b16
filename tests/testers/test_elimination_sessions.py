"""Halfspace elimination as two sessions: public books, recomputed prices, and refusals that tell nothing."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from support.hostile import MODES, confront
from support.sessions import exchange, refusal

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, InfeasibleError, ProtocolError
from geomdp.core.sample import Sample
from geomdp.privacy.sampler import SecureSampler, SimSampler
from geomdp.protocol.channel import Channel
from geomdp.protocol.transcript import PARTIES, Message, Transcript
from geomdp.testers.base import Setting
from geomdp.testers.elimination import HalfspaceElimination, menus_of
from geomdp.testers.elimination_rounds import Finish, Menus, Round
from geomdp.testers.elimination_turns import (
    BOTTOM,
    MOST_NOISY,
    after_bottoms,
    counts_schema,
    read_counts,
    read_selection,
    selection_schema,
)
from geomdp.testers.replay import replay

GRID = Domain.grid([("x", 0, 1, 3), ("y", 0, 1, 3)])
LINE = Domain.grid([("x", 0, 1, 17)])  # 34 candidates: two rounds before they are counted
N = 400
KINDS = {
    "pure": {},
    "retry": {"retries": 1},
    "delta": {"delta": "1/1000"},
    "paper": {"constants": "paper"},
    "assumed menus": {"guarantee": "unless-inconclusive"},
}


def made(kind="pure", domain=LINE, n=N):
    """Return a tester."""
    return HalfspaceElimination(Setting(domain, n, n, Fraction(8)), **KINDS[kind])


def pair(seed, flips=0, domain=LINE):
    """Return two samples that a plane labels, but for the first few records of each."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in PARTIES:
        cells = rng.integers(0, domain.m, N)
        y = np.where(cells > domain.m // 2, 1, -1)
        y[:flips] *= -1
        found.append(Sample.from_cells(domain, cells, y))
    return found[0], found[1]


def sessions(one, samples, seed):
    """Return both parties' sessions with seeded noise."""
    return [
        one.attend(name, sample, sampler)
        for name, sample, sampler in zip(PARTIES, samples, SimSampler(seed).spawn(2), strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_two_sessions_end_like_one_process(kind):
    """Apart and together, equal noise gives one transcript and finding, which can be replayed."""
    one, kinds, lengths = made(kind), set(), set()
    for seed in range(6):
        samples = pair(seed, (0, N // 2)[seed % 2])
        found, _ = exchange(*sessions(one, samples, seed))
        together = one.converse(*samples, *SimSampler(seed).spawn(2))
        assert found["Alice"] == found["Bob"] == together
        assert replay(one, together.transcript).verdict == together.verdict
        kinds |= {m.kind for m in together.transcript.messages}
        lengths.add(len(together.transcript.messages))
    assert "selection" in kinds
    assert max(lengths) >= 2


@pytest.mark.parametrize("kind", KINDS)
def test_private_books_are_the_public_ones(kind):
    """After every message each party's budget is what the other, who only reads, says is left of it."""
    one = made(kind)
    menus = menus_of(LINE)
    for seed in range(4):
        transcript = Transcript(one.opening())
        parties = {
            name: one.party(name, sample, sampler)
            for name, sample, sampler in zip(
                PARTIES, pair(seed, (0, N // 2)[seed % 2]), SimSampler(seed).spawn(2), strict=True
            )
        }
        state, script = one.start(menus), one.script(transcript)
        turn = next(script)
        while turn is not None:
            step, _ = one.next_step(menus, state)
            if isinstance(step, Finish):
                parties[turn.sender].count(step, state.alive)
                assert parties[turn.sender].budget.left == state.left[turn.sender] - step.price >= 0
                break
            silent = 0
            for name in (step.first, step.second):
                assert turn.sender == name
                turn.act(parties[name])
                state, index = read_selection(step, state, transcript.messages[-1], name)
                assert {n: p.budget.left for n, p in parties.items()} == state.left
                turn = sent(script, transcript.messages[-1])
                if index != BOTTOM:
                    break
                silent += 1
            if silent == 2:
                state = after_bottoms(step, state) or state


def sent(script, message):
    """Return the script's next turn, or None at its end."""
    try:
        return script.send(message)
    except StopIteration:
        return None


def first_step(one):
    """Return the first state and round."""
    state = one.start(menus_of(LINE))
    step, _ = one.next_step(menus_of(LINE), state)
    assert isinstance(step, Round)
    return state, step


@pytest.mark.parametrize("kind", KINDS)
def test_the_price_is_the_public_one(kind):
    """Of all indices and prices exactly the members of the menu at their own public price are read."""
    state, step = first_step(made(kind))
    prices = {step.price, step.member_price, step.loss, Fraction(0), step.price + step.member_price}
    for name in PARTIES:
        last = max(1, len(step.menus[name])) - 1
        schema = selection_schema(step, state, name)
        for index in (-2, BOTTOM, 0, last, last + 1, 2**70, True, None, "0", 0.0):
            for price in prices:
                payload = {"index": index, "candidates": len(state.alive)}
                message = Message(name, "selection", payload, price)
                on_menu = type(index) is int and BOTTOM <= index <= last
                fits = on_menu and price == step.stated(index)
                assert schema.fits(message, name) == fits
                if not fits:
                    with pytest.raises(ProtocolError):
                        read_selection(step, state, message, name)
                    continue
                after, read = read_selection(step, state, message, name)
                paid = step.price if index == BOTTOM else step.member_price
                assert (read, state.left[name] - after.left[name]) == (index, paid)


def test_books_kept_by_stated_prices_would_be_cheated():
    """Control: a reader who believes the stated price lets a dishonest party pay less than it owes."""
    state, step = first_step(made())
    cheap = Message("Alice", "selection", {"index": 0, "candidates": len(state.alive)}, Fraction(1, 10**9))
    believed = state.left["Alice"] - cheap.epsilon
    honest = Message("Alice", "selection", cheap.payload, step.member_price)
    assert read_selection(step, state, honest, "Alice")[0].left["Alice"] < believed
    with pytest.raises(ProtocolError, match="privacy loss"):
        read_selection(step, state, cheap, "Alice")


def test_counts_are_read_at_their_public_length_and_price():
    """The finish accepts one integer per candidate within the bound, at the finish's loss."""
    one = made()
    state = one.start(menus_of(LINE))
    few = type(state)(state.alive[:6], state.left, state.risk, 1)
    step, _ = one.next_step(menus_of(LINE), few)
    assert isinstance(step, Finish)
    for values, fits in (
        ([MOST_NOISY] * 6, True),
        ([-MOST_NOISY] * 6, True),
        ([0] * 5, False),
        ([0] * 7, False),
        ([MOST_NOISY + 1, *[0] * 5], False),
        ([0.0] * 6, False),
        ([False] * 6, False),
    ):
        message = Message("Bob", "mistakes", {"values": values}, step.epsilon)
        assert counts_schema(step, few).fits(message, "Bob") == fits
        if fits:
            assert read_counts(step, few, message, "Bob") == values
    dear = Message("Bob", "mistakes", {"values": [0] * 6}, step.epsilon * 2)
    with pytest.raises(ProtocolError, match="privacy loss"):
        read_counts(step, few, dear, "Bob")


def test_a_loud_count_is_moved_to_the_bound():
    """Noise beyond what a message holds is moved to the bound after it is drawn, and the message fits."""

    class Loud(SimSampler):
        def discrete_laplace(self, scale, size):
            return np.where(np.arange(size) % 2, 2**62, -(2**62))

    one = made()
    state = one.start(menus_of(LINE))
    few = type(state)(state.alive[:6], state.left, state.risk, 1)
    step, _ = one.next_step(menus_of(LINE), few)
    party = one.party("Alice", pair(0, 0)[0], Loud(0))
    message = party.count(step, few.alive)
    assert message.payload["values"] == [-MOST_NOISY, MOST_NOISY] * 3
    counts_schema(step, few).check(message, "Alice")


class Fixed(SimSampler):
    """Selections that do not look at the scores: what is sent is the same for all records."""

    def __init__(self, choice):
        super().__init__(0)
        self.choice = choice

    def permute_and_flip(self, scores, scale):
        """Return the same place, from the front or from the end."""
        return self.choice % len(scores)

    def discrete_laplace(self, scale, size):
        """Return noise that drowns the counts' differences at the bound of a message."""
        return np.full(size, 2**61)


EDITS = {
    "out of the menu": lambda told: told["message"]["payload"].update(index=10**6),
    "below bottom": lambda told: told["message"]["payload"].update(index=-2),
    "other candidates": lambda told: told["message"]["payload"].update(candidates=0),
    "other price": lambda told: told["message"].update(epsilon="1/1000"),
    "late": lambda told: told.update(index=told["index"] - 1),
    "truncated": lambda told: json.dumps(told)[:40],
}


@pytest.mark.parametrize("choice", [-1, 0, 5])
@pytest.mark.parametrize("kind", ["pure", "retry", "paper"])
def test_refusals_and_turns_are_no_functions_of_the_records(kind, choice):
    """Own messages being equal, any records meet equal foreign frames by equal answers, to the last byte."""
    one, refused = made(kind), 0
    feeds = [(mode, None, 0) for mode in MODES] + [("all high", e, at) for e in EDITS for at in (0, 1)]
    for victim in PARTIES:
        for mode, edit, at in feeds:
            views = set()
            for samples in (pair(0), pair(1, N), pair(2, N // 2)):
                sample = samples[PARTIES.index(victim)]
                views.add(confront(one, victim, sample, Fixed(choice), MODES[mode], EDITS.get(edit), at))
            assert len(views) == 1
            text = next(iter(views))[1]
            assert edit or not text
            refused += text != ""
    assert refused >= len(EDITS)


OTHERS = {
    "retries": lambda: made("retry"),
    "delta": lambda: made("delta"),
    "tester": lambda: made("paper"),
    "guarantee": lambda: made("assumed menus"),
    "n": lambda: made(n=N + 1),
    "domain": lambda: made(domain=Domain.grid([("x", 0, 2, 17)])),
}


@pytest.mark.parametrize("word", OTHERS)
def test_parties_that_plan_different_runs_part_at_the_hello(word):
    """Another domain, size, variant or number of retries is named before any budget is spent."""
    hello = Channel("Bob", OTHERS[word]().opening()).hello()
    text, frames = refusal(made().attend("Alice", pair(0)[0], SimSampler(1)), [hello])
    assert f"'{word}'" in text or "does not know" in text
    assert len(frames) == 1


def test_parties_with_other_menus_part_at_the_hello(monkeypatch):
    """Candidates in another order, or another rule for menus, are refused before any budget is spent."""
    own, menus = made(), menus_of(LINE)
    for other in (
        Menus(menus.weights[::-1].copy()),
        Menus(2 * menus.weights),
        replace_rule(monkeypatch, menus),
    ):
        assert len(other.weights) == len(menus.weights)
        hello = Channel("Bob", {**own.opening(), "menus": other.digest}).hello()
        text, frames = refusal(own.attend("Alice", pair(0)[0], SimSampler(1)), [hello])
        assert "'menus'" in text
        assert len(frames) == 1


def replace_rule(monkeypatch, menus):
    """Return the same candidates under another version of the rule."""
    with monkeypatch.context() as changed:
        changed.setattr("geomdp.testers.elimination_rounds.RULE", 0)
        other = Menus(menus.weights)
        assert other.digest != menus.digest
    return other


def test_own_records_must_be_as_planned():
    """A tester that cannot be used here says so, and a sample of another size or domain is refused."""
    with pytest.raises(ArgumentError, match="as planned"):
        made().attend("Bob", Sample.from_cells(LINE, [1], [1]), SimSampler(0))
    large = HalfspaceElimination(Setting(Domain.grid([("x", 0, 1, 99), ("y", 0, 1, 99)]), 5, 5, Fraction(1)))
    with pytest.raises(InfeasibleError, match="halfspace-elimination"):
        large.attend("Bob", Sample.from_cells(large.setting.domain, [1] * 5, [1] * 5), SimSampler(0))


def test_secure_sessions_agree():
    """With noise from the operating system both sessions end with one transcript, within both budgets."""
    one = made()
    samples = pair(9, 0)
    found, _ = exchange(*(one.attend(n, s, SecureSampler()) for n, s in zip(PARTIES, samples, strict=True)))
    assert found["Alice"] == found["Bob"]
    assert all(0 < found["Alice"].transcript.spent(name) <= 8 for name in PARTIES)
