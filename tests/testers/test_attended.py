"""Laws of a plan's row attended by one party: its checks, its outcome, and its ledger."""

from fractions import Fraction

import pytest
from support.sessions import exchange, refusal

import geomdp as g
from geomdp.core.errors import ArgumentError, BudgetError, InfeasibleError
from geomdp.privacy.ledger import Ledger
from geomdp.privacy.ledger_file import LedgerError
from geomdp.protocol.transcript import PARTIES

AXIS = g.Domain.grid([("x", 0, 1, 8)])
SAMPLE = g.Sample.from_counts(AXIS, [0] * 4 + [60] * 4, [60] * 4 + [0] * 4)
N = SAMPLE.n


@pytest.fixture
def row():
    """Return the row of two noisy histograms: a message of each party."""
    return g.plan(AXIS, n=N, epsilon=1).select("two-histograms", "analytic")


def opened(row, ledger, name="s", party="Alice"):
    """Return (the ledger's session, the party's run charged to it)."""
    account = ledger.session(name, records=party)
    account.__enter__()
    return account, row.attend(party, SAMPLE, ledger=account)


@pytest.mark.parametrize("tester", ["two-histograms", "one-way", "interior-point", "median-depth"])
def test_both_outcomes_are_the_one_of_a_run(tester):
    """With one seed at both ends, each party's outcome equals that of both in one process."""
    row = g.plan(AXIS, n=N, epsilon=4).select(tester)
    results, _ = exchange(*(row.attend(name, SAMPLE, rng=5, force_uncertified=True) for name in PARTIES))
    assert results["Alice"] == results["Bob"] == row.run(SAMPLE, SAMPLE, rng=5, force_uncertified=True)
    assert results["Alice"].simulated


def test_noise_is_secure_by_default(row, monkeypatch):
    """Without a seed the noise is the operating system's, and the outcome counts as a release."""
    made = []
    monkeypatch.setattr("geomdp.testers.plan.SimSampler", made.append)
    results, _ = exchange(*(row.attend(name, SAMPLE) for name in PARTIES))
    assert not made
    assert not results["Alice"].simulated
    assert results["Alice"].certified
    assert results["Alice"].spent == {"Alice": 1, "Bob": 1}


def test_what_is_not_guaranteed_must_be_forced():
    """Where a run is refused, so is a party's, before it says hello; forced, the outcome is uncertified."""
    few = g.Sample.from_cells(AXIS, [1, 2, 3, 4, 5], [1, 1, 1, -1, -1])
    row = g.plan(AXIS, n=5, epsilon=1).select("two-histograms", "analytic")
    assert not row.feasible
    for call in (lambda: row.attend("Alice", few), lambda: row.run(few, few)):
        with pytest.raises(InfeasibleError, match="two-histograms"):
            call()
    results, _ = exchange(*(row.attend(name, few, force_uncertified=True) for name in PARTIES))
    assert not results["Bob"].certified
    assert results["Bob"].to_dict()["guarantee"] == "uncertified"


def test_arguments_are_checked_before_the_hello(row):
    """A wrong name, sample, seed or ledger is named, and a tester with a trusted third party has no sides."""
    for wrong in (None, 3, g.Sample.from_cells(AXIS, [1], [1])):
        with pytest.raises(ArgumentError, match="Argument 'sample' must be"):
            row.attend("Alice", wrong)
    with pytest.raises(ArgumentError, match="Argument 'name' must be"):
        row.attend("Curator", SAMPLE)
    with pytest.raises(ArgumentError, match="Argument 'rng' must be"):
        row.attend("Alice", SAMPLE, rng=-1)
    with pytest.raises(ArgumentError, match="Argument 'ledger' must be"):
        row.attend("Alice", SAMPLE, ledger="a.ledger")
    curator = g.plan(AXIS, n=N, epsilon=1).select("curator")
    with pytest.raises(InfeasibleError, match="apart"):
        curator.attend("Alice", SAMPLE)


def test_a_ledger_pays_for_a_run_that_ends(row, tmp_path):
    """Each party's ledger is charged what its messages state, and its session holds one run only."""
    with Ledger(tmp_path / "a", budget=3) as a, Ledger(tmp_path / "b", budget=2) as b:
        (one, alice), (two, bob) = opened(row, a), opened(row, b, party="Bob")
        results, _ = exchange(alice, bob)
        assert (a.spent, b.spent) == tuple(results["Alice"].spent[name] for name in PARTIES) == (1, 1)
        with pytest.raises(LedgerError, match="holds a run already"):
            next(row.attend("Alice", SAMPLE, ledger=one))
        assert a.spent == 1
        for account in (one, two):
            account.__exit__(None, None, None)


def test_whoever_dials_again_is_charged_again_until_nothing_is_left(row, tmp_path):
    """A counterpart that breaks off after each first message gets as many as the ledger pays for, no more."""
    hello = next(row.attend("Bob", SAMPLE))
    with Ledger(tmp_path / "a", budget=2) as ledger:
        for call in range(2):
            account, session = opened(row, ledger, name=f"call {call}")
            _, sent = refusal(session, [hello, b"nothing"])
            assert len(sent) == 2
            account.__exit__(None, None, None)
            assert ledger.spent == call + 1
        account, session = opened(row, ledger, name="call 2")
        with pytest.raises(BudgetError):
            next(session)
        account.__exit__(None, None, None)
        assert ledger.spent == 2


def test_a_refused_hello_and_a_closed_line_cost_what_was_drawn(row, tmp_path):
    """Before anything is drawn nothing is charged; a session that is dropped later stays charged."""
    hello = next(row.attend("Bob", SAMPLE))
    with Ledger(tmp_path / "a", budget=2) as ledger:
        account, session = opened(row, ledger)
        text, sent = refusal(session, [b"no hello"])
        assert text
        assert len(sent) == 1
        assert ledger.spent == 0
        account.__exit__(None, None, None)
        account, session = opened(row, ledger, name="t")
        next(session)
        next(session)
        session.send(hello)
        session.close()
        assert ledger.spent == 1
        account.__exit__(None, None, None)


def test_simulated_noise_is_not_charged(row, tmp_path):
    """A seeded run has no place in a ledger."""
    with Ledger(tmp_path / "a", budget=2) as ledger, ledger.session("s", records="r") as account:
        with pytest.raises(ArgumentError, match="simulated"):
            row.attend("Alice", SAMPLE, rng=0, ledger=account)
        assert ledger.left == Fraction(2)
