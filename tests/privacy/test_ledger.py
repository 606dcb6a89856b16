"""Laws of the ledger: exact sums, one message per step, no loss in a crash, no draw past the budget."""

import contextlib
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction

import pytest

from geomdp.core.errors import ArgumentError, BudgetError
from geomdp.privacy.ledger import Ledger
from geomdp.privacy.ledger_file import LedgerError
from geomdp.privacy.sampler import SecureSampler, SimSampler

RECORDS = "0" * 64


@pytest.fixture
def ledger(tmp_path):
    """Return a new ledger with a budget of 1."""
    with Ledger(tmp_path / "a.ledger", budget=1) as made:
        yield made


def open_again(ledger, **options):
    """Return the same ledger from its file."""
    return contextlib.closing(Ledger(ledger.path, **options))


def never(sampler):
    """Fail: nothing may be drawn."""
    raise AssertionError(f"drawn from {sampler}")


def test_thirds_add_up_exactly_and_no_more_fits(ledger):
    """Three releases of 1/3 spend a budget of 1 exactly; a fourth is refused before anything is drawn."""
    with ledger.session("s", records=RECORDS) as session:
        for i in range(3):
            session.release(f"{i}", Fraction(1, 3), lambda _: b"x")
        before = ledger.head
        with pytest.raises(BudgetError, match="0 of 1"):
            session.release("more", Fraction(1, 10**30), never)
    assert (ledger.spent, ledger.left, ledger.head) == (1, 0, before)
    with open_again(ledger) as again:
        assert (again.spent, again.budget, again.head) == (1, 1, before)
        assert repr(again) == "Ledger(budget=1, spent=1, releases=3)"


def test_a_step_is_drawn_once_and_sent_again_as_it_was(ledger):
    """A step that was released returns its bytes, in this session, a later one and another process's."""
    with ledger.session("s", records=RECORDS) as session:
        sent = session.release("count", Fraction(1, 2), lambda s: str(s.uniform(10**30)).encode())
        assert session.release("count", Fraction(1, 2), never) == sent
    with open_again(ledger) as again, again.session("s", records=RECORDS) as session:
        assert session.release("count", "1/2", never) == sent
        assert session.stored("count") == sent
        assert session.stored("other") is None
    assert ledger.spent == Fraction(1, 2)


@pytest.mark.parametrize(("epsilon", "request_"), [(Fraction(1, 3), ""), (Fraction(1, 2), "other")])
def test_a_step_cannot_ask_for_something_else(ledger, epsilon, request_):
    """The same step with another loss or request is refused, reserved or released, and changes nothing."""
    with ledger.session("s", records=RECORDS) as session:
        session.reserve("step", Fraction(1, 2))
        for _ in range(2):
            head = ledger.head
            with pytest.raises(LedgerError, match="another request"):
                session.release("step", epsilon, never, request=request_)
            assert ledger.head == head
            session.release("step", Fraction(1, 2), lambda _: b"x")


def test_all_sessions_of_a_ledger_add_up(ledger):
    """Partners, sessions and files of records share one budget: a changed file opens no new one."""
    for name, data in (("with Bob", b"1"), ("with Carol", b"1"), ("a row later", b"2")):
        with ledger.session(name, records=ledger.fingerprint(data)) as session:
            session.release("count", Fraction(1, 3), lambda _: b"x")
    with ledger.session("new", records=ledger.fingerprint(b"3")) as session, pytest.raises(BudgetError):
        session.release("count", Fraction(1, 3), never)


def test_simulated_noise_is_refused(ledger):
    """Only a SecureSampler may draw: not a seeded one, not a subclass, not one that claims to be none."""

    class Claims(SecureSampler):
        """Looks like the real thing."""

    with ledger.session("s", records=RECORDS) as session:
        for sampler in (SimSampler(0), Claims(), object()):
            with pytest.raises(ArgumentError, match="SecureSampler"):
                session.release("count", 1, never, sampler=sampler)
        kinds = []
        session.release("count", 1, lambda s: bytes(kinds.append(type(s)) or 0))
    assert kinds == [SecureSampler]
    assert ledger.spent == 1


def test_only_one_session_is_live(ledger):
    """A second session is refused while one is live, in this process and in another; then it may begin."""
    code = (
        "import sys; from geomdp.privacy.ledger import Ledger\n"
        "with Ledger(sys.argv[1]) as l, l.session('t', records='1') as s: pass"
    )
    command = [sys.executable, "-c", code, str(ledger.path)]
    with ledger.session("s", records=RECORDS):
        for name in ("s", "t"):
            with pytest.raises(LedgerError, match="live"), ledger.session(name, records=RECORDS):
                pass
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "Another session is live" in done.stderr
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    late = ledger.session("s", records=RECORDS)
    with pytest.raises(LedgerError, match="with"):
        late.release("count", 1, never)


def test_a_session_belongs_to_its_records(ledger, tmp_path):
    """Fingerprints are keyed by the ledger; a session cannot go on with other records."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n")
    mine, yours = ledger.fingerprint(path), ledger.fingerprint(b"a,b\n!")
    assert mine == ledger.fingerprint(b"a,b\n") != yours
    with Ledger(tmp_path / "b.ledger", budget=1) as other:
        assert other.fingerprint(path) != mine
    with ledger.session("s", records=mine) as session:
        session.release("count", Fraction(1, 2), lambda _: b"x")
    with pytest.raises(LedgerError, match="other records"), ledger.session("s", records=yours):
        pass
    with ledger.session("s", records=mine) as session:
        assert session.stored("count") == b"x"
    with pytest.raises(ArgumentError, match="readable"):
        ledger.fingerprint(tmp_path / "none")


def test_the_actual_loss_replaces_the_reserved_one(ledger):
    """A message that turned out cheaper gives the difference back; a dearer one is refused."""
    with ledger.session("s", records=RECORDS) as session:
        assert session.reserve("round", 1) is None
        assert ledger.left == 0
        for cost in (Fraction(11, 10), Fraction(-1, 10)):
            with pytest.raises(ArgumentError, match="between 0 and the reserved 1"):
                session.store("round", b"x", cost)
        session.store("round", b"x", Fraction(1, 7))
        assert ledger.left == Fraction(6, 7)
        assert session.reserve("round", 1) == b"x"
        assert session.store("round", b"x") == b"x"
        with pytest.raises(LedgerError, match="other bytes"):
            session.store("round", b"y")
        with pytest.raises(LedgerError, match="reserved"):
            session.store("never", b"y")
        with pytest.raises(ArgumentError, match="bytes"):
            session.store("round", "text")


def test_a_draw_that_raises_stays_charged_and_is_not_drawn_again(ledger):
    """An error may tell something about the noise: the step is closed. An interrupt leaves it open."""

    def broken(sampler):
        raise ValueError("noise too large")

    def interrupted(sampler):
        raise KeyboardInterrupt

    with ledger.session("s", records=RECORDS) as session:
        with pytest.raises(ValueError, match="noise"):
            session.release("one", Fraction(1, 4), broken)
        with pytest.raises(LedgerError, match="failed"):
            session.release("one", Fraction(1, 4), never)
        with pytest.raises(LedgerError, match="reserved"):
            session.store("one", b"x")
        with pytest.raises(LedgerError, match="open reservation"):
            session.abandon("one")
        with pytest.raises(KeyboardInterrupt):
            session.release("two", Fraction(1, 4), interrupted)
        assert ledger.spent == Fraction(1, 2)
        assert session.release("two", Fraction(1, 4), lambda _: b"x") == b"x"
    assert [(e.step, e.state, e.epsilon) for e in ledger.entries()] == [
        ("one", "failed", Fraction(1, 4)),
        ("two", "released", Fraction(1, 4)),
    ]


def test_reservations_can_be_given_back_and_releases_cannot(ledger):
    """Giving back returns the loss of a step that sent nothing."""
    with ledger.session("s", records=RECORDS) as session:
        session.reserve("step", 1)
        session.abandon("step")
        assert ledger.spent == 0
        session.release("step", 1, lambda _: b"x")
        for end in (session.abandon, session.fail):
            with pytest.raises(LedgerError, match="open reservation"):
                end("step")
        with pytest.raises(LedgerError, match="open reservation"):
            session.abandon("never")


@pytest.mark.parametrize("epsilon", [0, -1, Fraction(-1, 3), float("nan"), None, "much"])
def test_losses_that_are_none_are_refused(ledger, epsilon):
    """A loss is a number > 0; anything else is refused and nothing is charged."""
    with ledger.session("s", records=RECORDS) as session:
        head = ledger.head
        with pytest.raises(ArgumentError, match="epsilon"):
            session.release("step", epsilon, never)
        assert ledger.head == head


@pytest.mark.parametrize("text", ["", "\0", "a\nb", "\ud800", 3, None])
def test_names_are_printable(ledger, text):
    """Names of sessions and steps are non-empty printable text."""
    with pytest.raises(ArgumentError, match="printable"):
        ledger.session(text, records=RECORDS)
    with ledger.session("s", records=RECORDS) as session, pytest.raises(ArgumentError, match="printable"):
        session.release(text, 1, never)


def test_the_budget_is_fixed_when_the_file_is_made(tmp_path):
    """A new file needs a budget in range; an old one keeps its own, whatever is asked for."""
    path = tmp_path / "a.ledger"
    with pytest.raises(ArgumentError, match="left out"):
        Ledger(path)
    for budget in (0, -1, 101, "much"):
        with pytest.raises(ArgumentError, match="budget"):
            Ledger(path, budget=budget)
    assert not path.exists()
    Ledger(path, budget="7/3").close()
    for budget in (None, Fraction(7, 3)):
        with contextlib.closing(Ledger(path, budget=budget)) as ledger:
            assert ledger.budget == Fraction(7, 3)
    with pytest.raises(ArgumentError, match="fixed when it is made"):
        Ledger(path, budget=3)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_foreign_files_are_left_as_they_are(tmp_path):
    """A text, another database or a folder is refused, and not one byte of it changes."""
    text, database = tmp_path / "t.csv", tmp_path / "d.db"
    text.write_bytes(b"a,b\n1,2\n" * 500)
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.execute("CREATE TABLE t (x)")
        db.commit()
    for path in (text, database):
        content = path.read_bytes()
        with pytest.raises(LedgerError, match="no ledger"):
            Ledger(path, budget=1)
        assert path.read_bytes() == content
    for path in (tmp_path, tmp_path / "none" / "a.ledger"):
        with pytest.raises(ArgumentError, match="path"):
            Ledger(path, budget=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.db", "t.csv"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET epsilon = '1/100' WHERE number = 2",
        "UPDATE events SET payload = x'00' WHERE kind = 'release'",
        "UPDATE events SET session = 't' WHERE number = 1",
        "DELETE FROM events WHERE number = 1",
        "DELETE FROM events WHERE number < 3",
        "UPDATE facts SET budget = '99'",
        "DELETE FROM facts",
        "DROP TABLE events",
        "PRAGMA user_version = 2",
    ],
)
def test_damage_is_found(ledger, change):
    """Any change of a past event, of the budget or of the format is found when the file is opened."""
    with ledger.session("s", records=RECORDS) as session:
        session.release("one", Fraction(1, 2), lambda _: b"x")
        session.release("two", Fraction(1, 4), lambda _: b"y")
    ledger.close()
    with contextlib.closing(sqlite3.connect(ledger.path)) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(LedgerError):
        Ledger(ledger.path)


def test_an_older_copy_lacks_the_anchor(ledger, tmp_path):
    """A head that was noted is found in the file and in all that follows, and not in an older copy."""
    heads = [ledger.head]
    with ledger.session("s", records=RECORDS) as session:
        session.release("one", Fraction(1, 4), lambda _: b"x")
        heads.append(ledger.head)
    ledger.close()
    shutil.copy(ledger.path, tmp_path / "copy")
    with Ledger(ledger.path) as grown, grown.session("s", records=RECORDS) as session:
        session.release("two", Fraction(1, 4), lambda _: b"x")
        heads.append(grown.head)
    assert [head.partition(":")[0] for head in heads] == ["0", "2", "4"]
    for head in heads:
        Ledger(ledger.path, anchor=head).close()
    for head in heads[:2]:
        Ledger(tmp_path / "copy", anchor=head).close()
    with pytest.raises(LedgerError, match="anchor"):
        Ledger(tmp_path / "copy", anchor=heads[2])
    with Ledger(tmp_path / "other", budget=1) as other, pytest.raises(LedgerError, match="anchor"):
        Ledger(ledger.path, anchor=other.head)


def test_random_histories_agree_with_a_model(tmp_path):
    """Over random reservations, releases, refunds and failures the sum is the model's, never over budget."""
    rng = random.Random(5)  # noqa: S311 - a test
    with Ledger(tmp_path / "a.ledger", budget=2) as ledger, ledger.session("s", records=RECORDS) as session:
        model, refused = {}, 0
        for i in range(120):
            epsilon = Fraction(rng.randint(1, 9), rng.randint(3, 40))
            fits = sum(model.values()) + epsilon <= 2
            try:
                assert session.reserve(f"{i}", epsilon) is None
            except BudgetError:
                refused += 1
                assert not fits
                continue
            assert fits
            model[i] = epsilon
            end = rng.choice(["keep", "store", "cheaper", "abandon", "abandon", "fail"])
            if end == "store":
                session.store(f"{i}", b"x")
            elif end == "cheaper":
                model[i] = epsilon * Fraction(rng.randint(0, 4), 4)
                session.store(f"{i}", b"x", model[i])
            elif end == "abandon":
                session.abandon(f"{i}")
                del model[i]
            elif end == "fail":
                session.fail(f"{i}")
            assert ledger.spent == sum(model.values()) <= 2
        assert refused > 20
        assert [int(e.step) for e in ledger.entries()] == list(model)


CRASHES = r"""
import os, random, sqlite3, sys
from fractions import Fraction
from pathlib import Path

from geomdp.privacy.ledger import Ledger

home = Path(sys.argv[1])
connect, ticks, limit = sqlite3.connect, 0, 0


def tick(_):
    global ticks
    ticks += 1
    if ticks == limit:
        os._exit(9)


def traced(*args, **options):
    db = connect(*args, **options)
    db.set_trace_callback(tick)
    return db


sqlite3.connect = traced


def draw(sampler):
    tick("before the draw")
    value = str(sampler.uniform(2**64)).encode()
    tick("after the draw")
    return value


def run(path, sent):
    with Ledger(path, budget=1) as ledger, ledger.session("s", records="r") as session:
        for step in ("one", "two"):
            message = session.release(step, Fraction(1, 2), draw)
            tick("before it is sent")
            os.write(sent, step.encode() + b" " + message + b"\n")
            tick("after it is sent")


def attempt(path, log, stop):
    global ticks, limit
    ticks, limit = 0, stop
    child = os.fork()
    if not child:
        run(path, os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(path, log, done):
    global limit
    limit = 0
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    distinct = set(lines)
    steps = [line.split()[0] for line in distinct]
    assert len(steps) == len(set(steps)), "two messages for one step"
    if not path.exists() or not path.stat().st_size:
        assert not lines and not done
        return
    with Ledger(path, budget=1) as ledger:
        assert Fraction(len(steps), 2) <= ledger.spent <= 1
        stored = {e.step for e in ledger.entries() if e.state == "released"}
        assert set(steps) <= stored
        if done:
            assert ledger.spent == 1 and len(steps) == 2
            assert [e.epsilon for e in ledger.entries()] == [Fraction(1, 2)] * 2


points = 0
while True:
    points += 1
    path, log = home / f"{points}.ledger", home / f"{points}.sent"
    code = attempt(path, log, points)
    check(path, log, code == 0)
    if code == 0:
        break
    assert code == 9, code
    assert attempt(path, log, 0) == 0
    check(path, log, True)

rng, crashes = random.Random(1), 0
for run_number in range(25):
    path, log = home / f"r{run_number}.ledger", home / f"r{run_number}.sent"
    while code := attempt(path, log, rng.randint(1, points + 5)):
        assert code == 9
        crashes += 1
        check(path, log, False)
    check(path, log, True)
print(points, crashes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="crashes are injected into forked processes")
def test_a_crash_at_any_point_loses_nothing_and_sends_nothing_twice(tmp_path):
    """Killed at every statement, draw and send: one message a step, spent >= sent, and no more in the end."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CRASHES, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    points, crashes = map(int, done.stdout.split())
    assert points > 40
    assert crashes > 20
