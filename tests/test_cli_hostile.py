"""Laws of the command line under hostile files and numbers: one sentence, and nothing is harmed."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from geomdp.cli.labels import two_labels

ONE = '{"features": [{"name": "x", "lower": 0, "upper": 10, "levels": 11}]}'
GOOD = "x,late\n" + "1,no\n9,yes\n" * 300


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a grid, two tables and things that are no files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.json").write_text(ONE)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(GOOD)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


GRID = ["--grid", "grid.json"]
COLUMNS = [*GRID, "--label", "late", "--positive", "yes"]
#: What assess says on stderr before it opens a table.
READING = two_labels("late", "yes", None) + "\n"


def _refused(answer, name):
    code, out, err = answer
    assert (code, out) == (2, "")
    assert err.startswith(f"geomdp: Argument '{name}' must be ")
    assert err.count("\n") == 1
    assert len(err) < 400


@pytest.mark.parametrize("option", ["--transcript", "--report", "--certificate", "--plot"])
@pytest.mark.parametrize("path", ["x" * 300, "x" * 250, "nowhere", "circle", "pipe", "none/x", "/dev/full"])
def test_places_that_cannot_hold_a_result_are_refused_first(geomdp, place, option, path):
    """Too long a name, a dangling link, a pipe, a device: refused before anything is released."""
    suffix = {"--report": ".html", "--plot": ".png"}.get(option, ".json")
    path += suffix if path.startswith(("x", "none")) else ""
    command = ["assess", "a.csv", "b.csv"] if option in ("--transcript", "--report") else ["opt", "a.csv"]
    more = ["--epsilon", 1] if command[0] == "assess" else []
    before = sorted(os.listdir(place))
    _refused(geomdp(*command, *COLUMNS, *more, "--json", option, path), option[2:])
    assert sorted(os.listdir(place)) == before
    assert (place / "nowhere").is_symlink()


@pytest.mark.parametrize("picture", ["p.xyz", "p", "p.", ".png", "p.tex"])
def test_pictures_of_unknown_kinds_are_refused_first(geomdp, place, picture):
    """A picture's ending is checked before the work, not by the drawing library after it."""
    _refused(geomdp("opt", "a.csv", *COLUMNS, "--plot", picture), "plot")
    _refused(geomdp("plan", *GRID, "--n", 300, "--epsilon", 1, "--plot", picture), "plot")
    _refused(geomdp("power", *GRID, "--n", 300, "--epsilon", 1, "--plot", picture), "plot")
    assert not (place / picture).exists()


@pytest.mark.parametrize("path", ["pipe", "folder.csv", "nowhere", "circle", "x" * 300, "/dev/zero", ""])
def test_inputs_that_are_no_files_are_refused(geomdp, place, path):
    """Pipes and devices, which may never end, are refused as grids, tables and certificates."""
    _refused(geomdp("plan", "--grid", path, "--n", 5, "--epsilon", 1), "grid")
    _refused(geomdp("inspect", path, *COLUMNS, "--json"), "table")
    _refused(geomdp("verify", path, "a.csv", *COLUMNS, "--json"), "certificate")


@pytest.mark.parametrize("path", ["folder.csv", "pipe", "nowhere", "circle", "x" * 300, "none/W"])
def test_folders_are_checked_before_the_enumeration(geomdp, place, path):
    """The folder of dichotomies must be new, and possible."""
    _refused(geomdp("dichotomies", *GRID, "--out", path), "out")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x,late\n" + "9" * 10**6 + ",yes\n2,no\n", 2),
        ("x,late\n" + "9" * 30 + ",yes\n2,no\n", 0),
        ("x,late\n1e308,yes\n2,no\n", 0),
        ("x,late\n1e309,yes\n2,no\n", 2),
        ("\ufeff" + GOOD, 0),
        ("\n", 2),
        ('x,late\n1,"no\nway"\n2,yes\n', 0),
        ('x,late\n1,"yes\n2,no\n', 2),
        ("late\nyes\nno\n", 2),
        ("x,x,late\n1,1,yes\n2,2,no\n", 2),
        ("x,late,late\n1,no,yes\n2,yes,no\n", 2),
        ("x,late\n1,yes,3\n2\n", 2),
        ("x,late\n1,yes\0\n2,no\n3,yes\n", 2),
        ("x,late\n2020-01-01,yes\n2020-01-02,no\n", 2),
    ],
)
def test_hostile_tables_are_read_or_refused(geomdp, place, text, code):
    """A table is read as it stands or refused in one sentence that quotes no cell of it."""
    (place / "t.csv").write_text(text, encoding="utf-8")
    found, out, err = geomdp("opt", "t.csv", *COLUMNS, "--json")
    assert found == code
    assert bool(out) == (code == 0)
    assert len(err) < 400
    assert not any(cell in err for cell in ("999", "1e309", "2020"))


def test_parquet_tables_with_gaps_are_refused(geomdp, place):
    """Nulls in a feature or in the labels, lists and times are refused; wide integers are read."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    labels = ["yes", "no", "no"]
    for x, y, code in (
        ([1.0, None, 3], labels, 2),
        ([1.0, 2, 3], ["yes", None, "no"], 2),
        ([[1], [2], [3]], labels, 2),
        (pandas.to_datetime(["2020-01-01"] * 3), labels, 2),
        (np.array([2**63 + 5, 2, 3], dtype=np.uint64), labels, 0),
    ):
        pandas.DataFrame({"x": x, "late": y}).to_parquet(place / "t.parquet")
        assert geomdp("opt", "t.parquet", *COLUMNS, "--json")[0] == code
    (place / "fake.parquet").write_text(GOOD)
    _refused(geomdp("opt", "fake.parquet", *COLUMNS), "table")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["plan", *GRID, "--epsilon", 1, "--n", "9" * 5000], "n"),
        (
            ["population", *GRID, "--n", 10, "--opt-interval", "9" * 5000 + ",1", "--opt-beta", 0],
            "opt_interval",
        ),
        (["opt", "a.csv", *COLUMNS, "--time-limit", "nan"], "time_limit"),
        (["opt", "a.csv", *COLUMNS, "--time-limit", "-1"], "time_limit"),
        (["power", *GRID, "--n", 300, "--epsilon", 2, "--seed", "-1"], "seed"),
        (["assess", "a.csv", "b.csv", *COLUMNS, "--epsilon", 1, "--seed", "-1"], "seed"),
    ],
)
def test_hostile_numbers_are_refused(geomdp, place, command, name):
    """Numbers of absurd size, not-a-numbers and negative seeds are named, in one short sentence."""
    _refused(geomdp(*command, "--json"), name)


@pytest.mark.parametrize(("along", "n"), [("n", 2**50), ("n", 1), ("epsilon", 5), ("tolerance", 5)])
def test_curves_stay_within_what_can_be_planned(geomdp, place, along, n):
    """At the ends of an argument's range the picture shows the values that exist, each once."""
    more = ["--epsilon", 100, "--tolerance", 2**40 - 3 if along == "tolerance" else 0]
    code, _, err = geomdp("plan", *GRID, "--n", n, *more, "--plot", "p.svg", "--along", along, "--json")
    assert (code, err) == (0, "")
    assert (place / "p.svg").exists()


LEDGERS = ["assess", "a.csv", "b.csv", *COLUMNS, "--epsilon", 1, "--json"]


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_one_ledger_cannot_be_both_parties(geomdp, place, link):
    """Under another name, too, a ledger is refused as the other party's, and nothing is charged."""
    code, out, _ = geomdp(*LEDGERS, "--ledger-a", "one", "--budget", 3)
    assert (code, json.loads(out)["ledgers"]["Alice"]["spent"]) == (0, "1")
    link(place / "one", place / "two")
    _refused(geomdp(*LEDGERS, "--ledger-a", "one", "--ledger-b", "two", "--session", "x"), "ledger-b")
    assert json.loads(geomdp(*LEDGERS, "--ledger-a", "one")[1])["ledgers"]["Alice"]["spent"] == "1"


def test_a_session_is_live_under_every_name_of_its_ledger(place):
    """While a session is live, no other one begins on the same ledger, by a link to it or not."""
    from geomdp.privacy.ledger import Ledger, LedgerError

    (place / "link").symlink_to("one")
    with Ledger("one", budget=3) as ledger, Ledger("link") as other:
        first, second = (each.session("s", records=ledger.fingerprint(b"")) for each in (ledger, other))
        with first, pytest.raises(LedgerError, match="live"):
            second.__enter__()


def test_damaged_ledgers_are_refused_and_left_alone(geomdp, place):
    """A ledger that is cut, overwritten or another program's ends with a sentence and stays as it is."""
    geomdp(*LEDGERS, "--ledger-a", "good", "--budget", 3)
    whole = (place / "good").read_bytes()
    broken = [whole[:-5], whole[: len(whole) // 2], b"\0" * 500, b"{}", whole.replace(b"3", b"9"), b""]
    for content in broken:
        (place / "bad").write_bytes(content)
        code, out, err = geomdp(*LEDGERS, "--ledger-a", "bad")
        assert (code, out) == (2, "")
        assert err.startswith(f"{READING}geomdp: ")
        assert err.count("\n") == 2
        assert (place / "bad").read_bytes() == content
    for path in ("x" * 300, "folder.csv", "none/x", "pipe"):
        code, out, err = geomdp(*LEDGERS, "--ledger-a", path, "--budget", 3)
        assert (code, out, err.removeprefix(READING).count("\n")) == (2, "", 1)


@pytest.mark.parametrize("more", [(), ("--budget", 3)])
def test_an_empty_file_is_no_ledger(geomdp, place, more):
    """A file that exists is a ledger already or stays as it is, whether or not a budget is given."""
    (place / "empty").touch()
    before = sorted(os.listdir(place))
    code, out, err = geomdp(*LEDGERS, "--ledger-a", "empty", *more)
    assert (code, out) == (2, "")
    assert "is no ledger; it was left as it is" in err
    assert (place / "empty").stat().st_size == 0
    assert sorted(os.listdir(place)) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("more", [["--json"], []])
def test_a_full_output_is_one_sentence_and_files_are_kept(place, more):
    """Where stdout cannot be written the command says so, and the files that were asked for are complete."""
    command = ["assess", "a.csv", "b.csv", *COLUMNS, "--epsilon", "1", "--seed", "1", "--report", "r.html"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "geomdp.cli", *command, *more],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    told = done.stderr.removeprefix(READING)
    assert told.startswith("geomdp: Argument 'stdout' must be an output that can be written")
    assert told.count("\n") == 1
    assert (place / "r.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_a_closed_output_is_one_sentence(geomdp, place, monkeypatch):
    """So it is where there is no stdout at all; without stderr the exit code still tells."""
    monkeypatch.setattr("sys.stdout", None)
    code, _, err = geomdp("inspect", "a.csv", *COLUMNS)
    assert code == 2
    assert "'stdout'" in err
    monkeypatch.setattr("sys.stderr", None)
    assert geomdp("inspect", "none.csv", *COLUMNS)[0] == 2


def test_a_full_disk_is_one_sentence(geomdp, place, monkeypatch):
    """Where the result cannot be written after all, nothing half-written stays."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    before = sorted(os.listdir(place))
    _refused(geomdp("opt", "a.csv", *COLUMNS, "--certificate", "c.json", "--json"), "path")
    assert sorted(os.listdir(place)) == before
