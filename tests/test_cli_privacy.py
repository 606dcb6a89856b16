"""Laws of what assess may tell before its protocol: no label is a reason to refuse, its words are public."""

import itertools
import json

import pytest

from geomdp.cli.labels import two_labels

GRID = {"features": [{"name": "x", "lower": 0, "upper": 2, "levels": 3}]}
FORCED = ["--epsilon", 1, "--force-uncertified", "--seed", 1, "--json"]


@pytest.fixture
def asked(tmp_path, geomdp):
    """Run a command on tables of labels, record i at x = i: (exit code, stdout, stderr)."""

    def run(tables, *options, command="assess", declared=None, positive="yes"):
        grid = GRID if declared is None else {**GRID, "labels": declared}
        (tmp_path / "g.json").write_text(json.dumps(grid), encoding="utf-8")
        words = []
        for number, labels in enumerate(tables):
            path = tmp_path / f"{number}.csv"
            rows = [f"{i % 3},{label}" for i, label in enumerate(labels)]
            path.write_text("\n".join(["x,late", *rows]) + "\n", encoding="utf-8")
            words.append(path)
        words += ["--grid", tmp_path / "g.json", "--label", "late", "--positive", positive]
        more = FORCED if command == "assess" else ["--json"]
        return geomdp(command, *words, *more, *options)

    return run


UNIVERSE = [("yes", "yes"), ("yes", "no"), ("no", "no")]


@pytest.mark.parametrize("how", [(), ("--negative", "no"), ("--labels", "disjoint")])
def test_every_table_of_the_universe_is_read(asked, how):
    """Tables over {yes, no} get an answer and the same stderr, whichever labels either of them lacks."""
    told = set()
    for a, b in itertools.product(UNIVERSE, repeat=2):
        code, out, err = asked([a, b], *how)
        assert code == 0
        assert json.loads(out)["verdict"]
        told.add(err)
    assert told == {two_labels("late", "yes", how[1] if how[:1] == ("--negative",) else None) + "\n"}


def test_neighbours_are_not_told_apart_by_a_refusal(asked):
    """A table without the positive label is read as the table is in which one record has it."""
    mixed = ["yes", "no"] * 100
    for other in (["no"] * 200, ["no"] * 199 + ["yes"], ["yes"] * 200, ["yes"] * 199 + ["no"]):
        assert asked([mixed, other])[0] == asked([other, mixed])[0] == 0


def test_ledgers_are_charged_whatever_labels_occur(tmp_path, geomdp):
    """On ledgers, too, the charge and the words do not depend on which labels occur."""
    (tmp_path / "g.json").write_text(json.dumps(GRID), encoding="utf-8")
    (tmp_path / "a.csv").write_text("x,late\n" + "0,no\n2,yes\n" * 100, encoding="utf-8")
    told = set()
    for name, rows in {"none": "0,no\n" * 200, "one": "0,no\n" * 199 + "0,yes\n"}.items():
        (tmp_path / "b.csv").write_text("x,late\n" + rows, encoding="utf-8")
        code, out, err = geomdp(
            "assess", tmp_path / "a.csv", tmp_path / "b.csv", "--grid", tmp_path / "g.json",
            "--label", "late", "--positive", "yes", "--epsilon", 1, "--tester", "one-way",
            "--guarantee", "analytic", "--json", "--force-uncertified",
            "--ledger-b", tmp_path / name, "--budget", 3,
        )  # fmt: skip
        assert code == 0
        told.add((str(json.loads(out)["ledgers"]), err))
    assert len(told) == 1


def test_a_learner_answers_the_same_records_once(tmp_path, geomdp):
    """In another row order the same records get the stored classifier for nothing; other ones are charged."""
    (tmp_path / "g.json").write_text(json.dumps(GRID), encoding="utf-8")
    table, rows = tmp_path / "a.csv", ["0,no", "2,yes", "1,no", "2,no"] * 25
    call = ["learn", table, "--grid", tmp_path / "g.json", "--label", "late", "--positive", "yes"]
    call += ["--epsilon", 1, "--json", "--ledger", tmp_path / "mine", "--budget", 3]
    answers = []
    for written in (rows, rows[::-1], ["0,yes", *rows[1:]]):
        table.write_text("\n".join(["x,late", *written]) + "\n", encoding="utf-8")
        code, out, _ = geomdp(*call)
        assert code == 0
        answers.append(json.loads(out))
    assert answers[0] == answers[1]
    assert [answer["budget"]["spent"] for answer in answers] == ["1", "1", "2"]


@pytest.mark.parametrize(
    ("tables", "name"),
    [
        ([["yes", "no", "maybe"], ["yes", "no"]], "label"),
        ([["yes", "no"], ["yes", ""]], "label"),
        ([["no", "yes"], ["No", "yes"]], "negative"),
    ],
)
def test_tables_outside_the_universe_are_refused(asked, tables, name):
    """A third label, a missing one, and another spelling in the other table are no valid inputs."""
    code, out, err = asked(tables)
    assert (code, out) == (2, "")
    assert f"geomdp: Argument '{name}' must be" in err
    assert "maybe" not in err
    assert "'No'" not in err


@pytest.mark.parametrize("command", ["opt", "inspect"])
def test_a_positive_that_never_occurs_is_refused_where_nothing_is_private(asked, command):
    """The holder's own commands notice a misspelt label, unless --negative shows that it is meant."""
    code, out, err = asked([["no", "no"]], command=command)
    assert (code, out) == (2, "")
    assert "'positive' must be a label that occurs" in err
    assert asked([["no", "no"]], "--negative", "no", command=command)[0] == 0


TABLES = [*UNIVERSE, ("yes", "No"), ("maybe", "no"), ("yes", "")]


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        (("--negative", "no"), None),
        ((), ["yes", "no"]),
        (("--negative", "no"), {"late": ["yes", "no", "maybe"]}),
    ],
)
def test_what_inspect_accepts_is_read(asked, options, declared):
    """With both labels settled in public, tables that pass the holders' own checks are never refused."""
    passed = [t for t in TABLES if asked([t], *options, command="inspect", declared=declared)[0] == 0]
    assert passed == UNIVERSE
    for table in TABLES:
        code = asked([table, UNIVERSE[1]], *options, declared=declared)[0]
        assert code == (0 if table in passed else 2)


@pytest.mark.parametrize("command", ["assess", "inspect"])
def test_undeclared_values_are_refused_before_a_table_is_opened(asked, geomdp, tmp_path, command):
    """What the grid file declares is checked first; of three declared values the negative one is named."""
    asked([("yes", "no")] * 2, declared=["yes", "no"])
    tables = ["none.csv"] * (2 if command == "assess" else 1)
    call = [command, *tables, "--grid", tmp_path / "g.json", "--label", "late"]
    call += FORCED if command == "assess" else []
    for values, words in (
        (("--positive", "yess"), "'positive' must be one of 'yes', 'no', as the grid file declares"),
        (("--positive", "yes", "--negative", "No"), "'negative' must be one of 'yes', 'no'"),
    ):
        code, out, err = geomdp(*call, *values)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    asked([("yes", "no")] * 2, declared=["yes", "no", "maybe"])
    code, out, err = geomdp(*call, "--positive", "yes")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "'negative' must be one of 'no', 'maybe', which the grid file declares, not left out" in err


def test_the_declared_label_is_the_named_one(asked):
    """Declaring two values asks the question that naming --negative asks: the words and answers agree."""
    named = asked([("yes", "no", "no"), ("yes", "yes", "yes")], "--negative", "no")
    assert asked([("yes", "no", "no"), ("yes", "yes", "yes")], declared={"late": ["no", "yes"]}) == named


@pytest.mark.parametrize("zero", [0, 0.0, False])
def test_numbers_mean_the_same_in_every_format(asked, geomdp, tmp_path, zero):
    """A label 0 in CSV is the label 0, 0.0 or false of a Parquet file, whether or not it occurs there."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    asked([["1", "0", "0"]], positive="1")
    one = type(zero)(1)
    for labels in ([one, one, one], [one, one, zero], [zero, zero, zero]):
        pandas.DataFrame({"x": [0, 1, 2], "late": labels}).to_parquet(tmp_path / "b.parquet")
        call = ["assess", tmp_path / "0.csv", tmp_path / "b.parquet", "--grid", tmp_path / "g.json"]
        assert geomdp(*call, "--label", "late", "--positive", "1", *FORCED)[0] == 0


def test_a_tester_that_was_left_out_is_announced(asked):
    """Asking for a tester that only a thorough plan holds is answered with how to get it."""
    code, out, err = asked([("yes", "no")] * 2, "--tester", "localised")
    assert (code, out) == (2, "")
    assert "A thorough plan adds it: --thorough" in err
    assert "--thorough" not in asked([("yes", "no")] * 2, "--tester", "nonsense")[2]
