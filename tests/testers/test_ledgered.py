"""Laws of runs on ledgers: one answer per request, both parties or none, and no draw that is not covered."""

import dataclasses
import gzip
import json
import shutil
from fractions import Fraction

import pytest

from geomdp import Domain, Sample, plan
from geomdp.core.errors import ArgumentError, BudgetError, InfeasibleError
from geomdp.privacy.ledger import Ledger, Session
from geomdp.privacy.ledger_file import LedgerError
from geomdp.testers import plan as plans
from geomdp.testers.base import Setting
from geomdp.testers.histogram import OneWay
from geomdp.testers.ledgered import (
    budget_of,
    pack,
    records_of,
    request_of,
    run_ledgered,
    session_name,
    unpack,
)
from geomdp.testers.plan import PlanRow
from geomdp.testers.tilted import OneWayTilted

LINE = Domain.grid([("age", 0, 90, 16)])
GRID = Domain.grid([("x", 0, 1, 4), ("y", 0, 1, 4)])
YOUNG = Sample.from_counts(LINE, [0] * 8 + [60] * 8, [60] * 8 + [0] * 8)
LOW = Sample.from_counts(GRID, [40] * 8 + [0] * 8, [0] * 8 + [40] * 8)


@pytest.fixture
def row():
    """Return an analytic row on an ordered grid."""
    return plan(LINE, n=YOUNG.n, epsilon=1).select("one-way", "analytic")


@pytest.fixture
def ledgers(tmp_path):
    """Return a ledger for each party, with budgets 3 and 2."""
    with Ledger(tmp_path / "a", budget=3) as a, Ledger(tmp_path / "b", budget=2) as b:
        yield {"Alice": a, "Bob": b}


def play(row, ledgers, sample=YOUNG, name="s", **options):
    """Run on new sessions of these ledgers."""
    sessions = {party: ledger.session(name, records=party) for party, ledger in ledgers.items()}
    entered = []
    try:
        for session in sessions.values():
            entered.append(session.__enter__())
        return run_ledgered(row, sample, sample, sessions, **options)
    finally:
        for session in entered:
            session.__exit__(None, None, None)


def spent(ledgers):
    """Return what each ledger has spent."""
    return {party: ledger.spent for party, ledger in ledgers.items()}


def test_outcomes_survive_the_ledger():
    """What is read back equals what was stored, for every kind of transcript and classifier."""
    rows = [(YOUNG, row) for row in plan(LINE, n=YOUNG.n, epsilon=4).testers]
    rows += [(LOW, PlanRow(OneWay(Setting(GRID, LOW.n, LOW.n, 4))))]
    for sample, row in rows:
        if row.resolution is not None:
            outcome = row.run(sample, sample, force_uncertified=True)
            again = unpack(pack(outcome), row.tester.setting)
            assert again == outcome
            assert again.report() == outcome.report()
            assert again.to_dict() == outcome.to_dict()


def test_simulated_outcomes_are_not_stored(row):
    """A seeded run has no place in a ledger."""
    with pytest.raises(ArgumentError, match="simulated"):
        pack(row.run(YOUNG, YOUNG, rng=0))


def test_a_request_is_answered_once(row, ledgers):
    """The same session gives the same outcome and costs nothing more; another one is drawn and charged."""
    first = play(row, ledgers)
    assert not first.simulated
    assert play(row, ledgers) == first
    assert spent(ledgers) == {"Alice": 1, "Bob": 1} == first.spent
    assert play(row, ledgers, name="t").transcript != first.transcript
    assert spent(ledgers) == {"Alice": 2, "Bob": 2}


def test_a_run_that_one_party_cannot_afford_charges_neither(row, ledgers, monkeypatch):
    """The third run exceeds Bob's budget: it is refused before a sampler exists, and Alice keeps hers."""
    play(row, ledgers, name="1")
    play(row, ledgers, name="2")
    monkeypatch.setattr(plans, "_samplers", None)
    with pytest.raises(BudgetError, match="0 of 2"):
        play(row, ledgers, name="3")
    assert spent(ledgers) == {"Alice": 2, "Bob": 2}
    assert len(ledgers["Alice"].entries()) == 2


def test_what_a_run_did_not_spend_is_given_back(ledgers):
    """The charge is the loss that the transcript states, not the reserved one."""
    few = Sample.from_counts(LINE, [0] * 15 + [1], [1] + [0] * 15)
    row = plan(LINE, n=few.n, epsilon=1).select("interior-point")
    outcome = play(row, ledgers, few, force_uncertified=True)
    assert spent(ledgers) == {"Alice": 0, "Bob": 0} == outcome.spent
    assert [e.reserved for ledger in ledgers.values() for e in ledger.entries()] == [1, 1]


def test_unequal_budgets_are_reserved_as_they_are(ledgers):
    """A tester with its own budgets reserves those, party by party."""
    setting = Setting(LINE, YOUNG.n, YOUNG.n, 1, classes="thresholds")
    row = PlanRow(OneWayTilted(setting, epsilon_alice=2, epsilon_bob=Fraction(1, 2)))
    assert [budget_of(row, party) for party in ("Alice", "Bob")] == [2, Fraction(1, 2)]
    play(row, ledgers, force_uncertified=True)
    assert spent(ledgers) == {"Alice": 2, "Bob": Fraction(1, 2)}


@pytest.mark.parametrize("killed", ["Alice", "Bob"])
def test_a_crash_between_the_stores_leaves_one_outcome(row, ledgers, monkeypatch, killed):
    """Whatever the first ledger holds is the outcome; where neither holds one, a new one is drawn."""
    store, stored = Session.store, []

    def crash(self, step, payload, epsilon=None):
        if self.records == killed:
            raise KeyboardInterrupt
        stored.append(payload)
        return store(self, step, payload, epsilon)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "store", crash)
        with pytest.raises(KeyboardInterrupt):
            play(row, ledgers)
    assert spent(ledgers) == {"Alice": 1, "Bob": 1}
    outcome = play(row, ledgers)
    assert spent(ledgers) == {"Alice": 1, "Bob": 1}
    assert [pack(outcome)] == (stored or [pack(outcome)])
    assert [e.state for ledger in ledgers.values() for e in ledger.entries()] == ["released"] * 2


def test_a_run_that_raises_stays_charged(row, ledgers, monkeypatch):
    """An error in the middle of a run may tell something: the step is closed for both parties."""

    def broken(*samples):
        raise ValueError("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr(row.tester, "converse", broken)
        with pytest.raises(ValueError, match="middle"):
            play(row, ledgers)
    assert spent(ledgers) == {"Alice": 1, "Bob": 1}
    with pytest.raises(LedgerError, match="failed"):
        play(row, ledgers)


def test_what_is_refused_for_public_reasons_costs_nothing(row, ledgers):
    """Too few records, another sample, other parties: nothing is charged."""
    few = Sample.from_counts(LINE, [0] * 15 + [1], [1] + [0] * 15)
    small = plan(LINE, n=few.n, epsilon=1).select("one-way", "analytic")
    with pytest.raises(InfeasibleError):
        play(small, ledgers, few)
    with pytest.raises(ArgumentError, match="as planned"):
        play(row, ledgers, few)
    with pytest.raises(ArgumentError, match="sessions"):
        run_ledgered(row, YOUNG, YOUNG, {})
    with pytest.raises(ArgumentError, match="sessions"):
        run_ledgered(row, YOUNG, YOUNG, {"Carol": None})
    assert spent(ledgers) == {"Alice": 0, "Bob": 0}


def test_ledgers_that_tell_of_different_runs_are_refused(row, tmp_path):
    """Where a copy of a ledger was brought back and used, the two parties' sessions hold different runs."""
    for party, copy in (("a", "c"), ("b", "d")):
        Ledger(tmp_path / party, budget=3).close()
        shutil.copy(tmp_path / party, tmp_path / copy)
    for names in ("ab", "cd"):
        with Ledger(tmp_path / names[0]) as a, Ledger(tmp_path / names[1]) as b:
            play(row, {"Alice": a, "Bob": b})
    with (
        Ledger(tmp_path / "a") as a,
        Ledger(tmp_path / "d") as b,
        pytest.raises(LedgerError, match="different runs"),
    ):
        play(row, {"Alice": a, "Bob": b})


def test_a_stored_answer_is_never_about_something_else(row, ledgers, tmp_path):
    """Another label column, role, counterpart or body of records is refused under a session's name."""
    play(row, ledgers, question={"label": "late"})
    assert play(row, ledgers, question={"label": "late"}) == play(row, ledgers, question={"label": "late"})
    swapped = {"Alice": ledgers["Bob"], "Bob": ledgers["Alice"]}
    other = Sample.from_counts(LINE, YOUNG.negative, YOUNG.positive)
    with Ledger(tmp_path / "c", budget=3) as third:
        calls = [
            (ledgers, YOUNG, "ill"),
            (swapped, YOUNG, "late"),
            ({"Alice": ledgers["Alice"], "Bob": third}, YOUNG, "late"),
            ({"Alice": ledgers["Alice"]}, YOUNG, "late"),
            (ledgers, other, "late"),
        ]
        for taking_part, sample, label in calls:
            with pytest.raises(LedgerError, match=r"another request|other records"):
                play(row, taking_part, sample, question={"label": label})
        assert third.spent == 0
    assert spent(ledgers) == {"Alice": 1, "Bob": 1}


def test_sessions_are_named_after_the_question_and_the_ledgers(row, ledgers):
    """The default name tells apart questions, roles and counterparts, and is the same for the same ones."""
    a, b = ledgers["Alice"], ledgers["Bob"]
    names = [
        session_name(row, taking_part, question)
        for taking_part in ({"Alice": a, "Bob": b}, {"Alice": b, "Bob": a}, {"Alice": a}, {"Bob": a})
        for question in (None, {"label": "x"}, {"label": "x", "negative": None}, {"label": "y"})
    ]
    assert len(set(names)) == len(names)
    assert session_name(row, {"Bob": b, "Alice": a}, {"label": "x"}) == names[1]


def test_other_public_parameters_are_another_request(row, ledgers):
    """A session answers its own request only, and requests differ wherever public parameters do."""
    play(row, ledgers)
    setting = row.tester.setting
    others = [
        dataclasses.replace(setting, tolerance=1),
        dataclasses.replace(setting, beta=Fraction(1, 5)),
        dataclasses.replace(setting, epsilon=Fraction(1, 2)),
    ]
    rows = [row, *(PlanRow(type(row.tester)(other)) for other in others)]
    assert len({request_of(each) for each in rows}) == 4
    with pytest.raises(LedgerError, match="another request"):
        play(rows[1], ledgers)


@pytest.fixture
def assess(tmp_path, geomdp):
    """Run `geomdp assess` on two small tables: (exit code, JSON or None, stderr)."""
    grid, table = tmp_path / "grid.json", tmp_path / "t.csv"
    grid.write_text(json.dumps(LINE.to_dict()), encoding="utf-8")
    rows = [f"{age},{'old' if age > 45 else 'young'}" for age in range(0, 90, 6) for _ in range(60)]
    table.write_text("age,who\n" + "\n".join(rows) + "\n", encoding="utf-8")
    shutil.copy(table, tmp_path / "u.csv")
    command = ["assess", table, tmp_path / "u.csv", "--grid", grid]
    command += ["--label", "who", "--positive", "old", "--guarantee", "analytic", "--json"]

    def run(*tail):
        code, out, err = geomdp(*command, *tail)
        return code, json.loads(out) if out else None, err

    return run


def test_the_command_line_keeps_ledgers(assess, tmp_path):
    """A request is charged to both ledgers and answered again for nothing; a budget is never exceeded."""
    a, b = tmp_path / "a.ledger", tmp_path / "b.ledger"
    files = ["--ledger-a", a, "--ledger-b", b]
    code, first, _ = assess("--epsilon", 2, *files, "--budget", 3)
    assert code == 0
    assert first["ledgers"]["Alice"] == first["ledgers"]["Bob"] == {"budget": "3", "spent": "2", "left": "1"}
    assert not first["resent"]
    assert assess("--epsilon", 2, *files)[1] == first | {"resent": True}
    for options in ([*files, "--session", "again"], ["--ledger-a", a, "--session", "x"]):
        code, answer, err = assess("--epsilon", 2, *options)
        assert (code, answer) == (2, None)
        assert "1 of 3" in err
    code, second, _ = assess("--epsilon", 1, *files)
    assert (code, second["ledgers"]["Bob"]["left"]) == (0, "0")
    assert second["session"] != first["session"]


@pytest.fixture
def two_questions(tmp_path, geomdp):
    """Run `geomdp assess` on tables with two label columns: l1 agrees, l2 is turned round in one of them."""
    for name in "ab":
        rows = ["x,l1,l2"]
        for x in range(4):
            label = "yes" if x > 1 else "no"
            turned = label if name == "a" else ("no" if x > 1 else "yes")
            rows += [f"{x},{label},{turned}"] * (100 + (name == "b" and x == 3) - (name == "b" and x == 2))
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for number, lower in enumerate((0, 100)):
        D = Domain.grid([("x", lower, lower + 3, 4)])
        (tmp_path / f"g{number}.json").write_text(json.dumps(D.to_dict()), encoding="utf-8")

    def run(tables, owners, *tail, grid="g0", label="l1", positive="yes"):
        words = ["assess", *(tmp_path / f"{t}.csv" for t in tables)]
        words += ["--grid", tmp_path / f"{grid}.json", "--label", label, "--positive", positive]
        words += ["--epsilon", "1", "--beta", "1e-6", "--force-uncertified", "--json"]
        for option, owner in zip(("--ledger-a", "--ledger-b"), owners, strict=True):
            words += [option, tmp_path / f"{owner}.ledger"] if owner else []
        code, out, err = geomdp(*words, *tail)
        return code, json.loads(out) if out else None, err

    return run


def test_every_changed_question_is_a_new_session_or_refused(two_questions):
    """Label, value, grid and roles are part of the question: by default a new session, else a refusal."""
    code, first, _ = two_questions("ab", "ab", "--budget", 10)
    assert (code, first["verdict"]) == (0, "Match")
    code, second, _ = two_questions("ab", "ab", label="l2")
    assert (code, second["verdict"], second["resent"]) == (0, "Far", False)
    others = [
        two_questions("ab", "ab", positive="no"),
        two_questions("ab", "ab", grid="g1"),
        two_questions("ab", "ab", "--negative", "no"),
        two_questions("ba", "ba"),
    ]
    answers = [answer for _, answer, _ in others]
    assert not any(answer["resent"] for answer in answers)
    assert len({first["session"], second["session"], *(answer["session"] for answer in answers)}) == 6
    assert two_questions("ab", "ab")[1]["resent"]
    held = two_questions("ab", "ab")[1]["ledgers"]
    code, named, _ = two_questions("ab", "ab", "--session", "mine")
    assert code == 0
    for call in (("ab", {"label": "l2"}), ("ab", {"grid": "g1"}), ("ab", {"positive": "no"}), ("ba", {})):
        code, answer, err = two_questions(call[0], call[0], "--session", "mine", **call[1])
        assert (code, answer) == (2, None)
        assert "name a new" in err
    after = two_questions("ab", "ab", "--session", "mine")[1]
    assert after["ledgers"] == named["ledgers"] != held


def test_records_are_checked_by_their_own_ledger(two_questions, tmp_path):
    """Changed records are refused where their party keeps a ledger, and said to be unseen where not."""
    two_questions("ab", "ab", "--budget", 3)
    for tables, owners in (("ba", "ab"), ("aa", "ab")):
        code, answer, err = two_questions(tables, owners)
        assert (code, answer) == (2, None)
        assert "other records" in err
    assert not two_questions("ab", ("a", None))[1]["resent"]  # without Bob's ledger it is another session
    assert two_questions("ab", ("a", None))[1]["resent"]


def rewritten(path, how):
    """Write the records of a table again, in another order or format; return the new path."""
    header, *rows = path.read_text(encoding="utf-8").split()
    again = path.with_name(f"{path.stem}-{how}{'.parquet' if how == 'parquet' else '.csv'}")
    if how == "parquet":
        frame = pytest.importorskip("pandas").read_csv(path)
        pytest.importorskip("pyarrow")
        frame.to_parquet(again)
    elif how == "gzip":
        again.write_bytes(gzip.compress(path.read_bytes()))
    elif how == "semicolon":
        again.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b",", b";").replace(b"\n", b"\r\n"))
    else:
        again.write_text("\n".join([header, *reversed(rows)]) + "\n", encoding="utf-8")
    return again


@pytest.mark.parametrize("how", ["reversed", "gzip", "semicolon", "parquet"])
def test_the_same_records_in_another_file_get_the_stored_answer(two_questions, tmp_path, how):
    """Row order, separator, line ends, compression and format of a table are no part of its records."""
    _, first, _ = two_questions("ab", "ab", "--budget", 3)
    for name in "ab":
        rewritten(tmp_path / f"{name}.csv", how).rename(tmp_path / f"{name}.csv")
    code, again, _ = two_questions("ab", "ab")
    assert (code, again) == (0, first | {"resent": True})


def test_one_replaced_record_is_another_body_of_records(two_questions, tmp_path):
    """A table that differs in one record's cell or label gets no stored answer, and nothing is charged."""
    _, first, _ = two_questions("ab", "ab", "--budget", 3)
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    for old, new in (("0,no,no", "1,no,no"), ("0,no,no", "0,yes,no")):
        (tmp_path / "a.csv").write_text(text.replace(old, new, 1), encoding="utf-8")
        code, answer, err = two_questions("ab", "ab")
        assert (code, answer) == (2, None)
        assert "other records" in err
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert two_questions("ab", "ab")[1] == first | {"resent": True}


def test_ledgers_that_knew_files_answer_for_the_same_file_only(two_questions, tmp_path, monkeypatch):
    """A session that knows its records by their file gives its answer for that file, and for no other one."""
    with monkeypatch.context() as patch:
        patch.setattr(
            "geomdp.cli.ledgers._records", lambda ledger, name, sample, table: ledger.fingerprint(table)
        )
        first = two_questions("ab", "ab", "--budget", 3)[1]
    assert two_questions("ab", "ab")[1] == first | {"resent": True}
    kept = (tmp_path / "a.csv").read_bytes()
    for content in (
        rewritten(tmp_path / "a.csv", "reversed").read_bytes(),
        (tmp_path / "b.csv").read_bytes(),
    ):
        (tmp_path / "a.csv").write_bytes(content)
        code, answer, err = two_questions("ab", "ab")
        assert (code, answer) == (2, None)
        assert "other records" in err
    (tmp_path / "a.csv").write_bytes(kept)
    assert two_questions("ab", "ab")[1]["ledgers"] == first["ledgers"]


def test_what_a_ledger_knows_of_records_is_keyed(row, ledgers):
    """The same counts have another fingerprint in every ledger: without its key a guess cannot be tried."""
    a, b = ledgers["Alice"], ledgers["Bob"]
    turned = Sample.from_cells(
        LINE,
        *zip(*[(cell, 2 * (cell > 7) - 1) for cell in range(15, -1, -1) for _ in range(60)], strict=True),
    )
    assert records_of(a, YOUNG) == records_of(a, turned) != records_of(b, YOUNG)
    assert records_of(a, YOUNG) != records_of(a, Sample.from_counts(LINE, YOUNG.negative, YOUNG.positive))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ledger-a", "A", "--ledger-b", "A", "--budget", 3], "another file than ledger-a"),
        (["--ledger-a", "A", "--budget", 3, "--seed", 1], "'seed' must be left out"),
        (["--budget", 3], "'budget' must be left out"),
        (["--session", "x"], "'session' must be left out"),
        (["--ledger-a", "A"], "given for a new ledger"),
        (["--ledger-a", "A", "--budget", "1/2"], "exceeds the budget of 1/2"),
        (["--ledger-a", "A", "--budget", "-1"], "budget"),
        (["--ledger-a", "A", "--budget", "0"], "a number with 0.000001 <= budget <= 100"),
        (["--ledger-a", "A", "--budget", 3, "--session", ""], "printable"),
    ],
)
def test_bad_ledger_options_are_refused(assess, tmp_path, options, words):
    """Options that contradict each other end with one sentence, and no answer."""
    listed = [tmp_path / "A" if option == "A" else option for option in options]
    code, answer, err = assess("--epsilon", 1, *listed)
    assert (code, answer) == (2, None)
    assert words in err


def test_a_table_is_no_ledger(assess, tmp_path):
    """A ledger option that names a table leaves the table as it was."""
    content = (tmp_path / "t.csv").read_bytes()
    code, answer, err = assess("--epsilon", 1, "--ledger-a", tmp_path / "t.csv", "--budget", 3)
    assert (code, answer) == (2, None)
    assert "no ledger" in err
    assert (tmp_path / "t.csv").read_bytes() == content
