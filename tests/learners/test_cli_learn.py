"""Laws of the command `learn`."""

import json

import pytest

from geomdp import data
from geomdp.cli.learn import reading

FLIGHTS = ["--grid", str(data.path("flights/grid.json")), "--label", "disrupted", "--positive", "yes"]
DELAYS = ["--grid", str(data.path("delays/grid.json")), "--label", "late", "--positive", "yes"]


def _mistakes(document, table, grid_arguments):
    """Count mistakes of a released classifier on its table, in integers."""
    from geomdp.core.classifier import Halfspace
    from geomdp.core.domain import Domain
    from geomdp.core.sample import Sample

    domain = Domain.from_grid_file(grid_arguments[1])
    sample = Sample.from_table(domain, table, label=grid_arguments[3], positive=grid_arguments[5])
    return Halfspace.of(document["classifier"]["weights"]).mistakes(sample), sample.n


@pytest.mark.parametrize("method", ["exponential", "carrier-boost", "label-boost"])
def test_shipped_data_are_learned(geomdp, method):
    """From 20,000 shipped records at epsilon 2 the release errs on less than one in twenty."""
    table = data.path("flights/same_jfk.csv")
    code, out, _ = geomdp("learn", table, *FLIGHTS, "--epsilon", 2, "--method", method, "--json")
    document = json.loads(out)
    assert code == 0
    assert out.count("\n") == 1
    assert document["epsilon_spent"] == 2
    assert not document["simulated"]
    wrong, n = _mistakes(document, table, FLIGHTS)
    assert document["n"] == n
    assert wrong < n / 20
    assert all(row["epsilon"] <= 2 for row in document["ledger"])


def test_rigorous_run_on_one_feature(geomdp):
    """On one feature the certified mode runs on the shipped delays and names its error."""
    table = data.path("delays/same_jfk.csv")
    code, out, _ = geomdp(
        "learn", table, *DELAYS, "--epsilon", 1, "--method", "carrier-boost", "--mode", "rigorous",
        "--alpha", "0.1", "--json",
    )  # fmt: skip
    document = json.loads(out)
    assert code == 0
    assert "error at most" in document["promise"]
    assert "if the records, moved to the grid that the grid file describes, are" in document["promise"]
    wrong, n = _mistakes(document, table, DELAYS)
    assert wrong < n / 5


def test_text_says_what_was_released(geomdp):
    """Without --json the classifier, the loss and the promise are printed."""
    code, out, _ = geomdp("learn", data.path("delays/same_jfk.csv"), *DELAYS, "--epsilon", "1/2")
    assert code == 0
    assert "[arr_delay]" in out
    assert "epsilon = 0.5" in out
    assert "accuracy: at most" in out
    assert "probability at least 0.9" in out


def _table(tmp_path, *rows):
    grid, table = tmp_path / "grid.json", tmp_path / "t.csv"
    grid.write_text('{"features": [{"name": "x", "lower": 0, "upper": 9, "levels": 10}]}')
    table.write_text("\n".join(["x,kind", *rows]) + "\n")
    return [table, "--grid", grid, "--label", "kind", "--positive", "a", "--epsilon", "1"]


@pytest.mark.parametrize("kinds", ["ab", "abc", "b", "a", "bc", "c"])
@pytest.mark.parametrize("named", [(), ("--negative", "b")])
def test_no_label_is_refused(geomdp, tmp_path, kinds, named):
    """Whichever labels occur, a classifier is released; stderr holds the same line for all tables."""
    rows = [f"{i % 10},{kinds[i % len(kinds)]}" for i in range(40)]
    code, out, err = geomdp("learn", *_table(tmp_path, *rows), *named, "--json")
    assert code == 0
    assert err == reading("kind", "a", named[1] if named else None) + "\n"
    assert json.loads(out)["n"] == 40


@pytest.mark.parametrize("declared", [{"kind": ["a", "b"]}, {"kind": ["a", "b", 7]}, ["a", "b"]])
def test_a_misspelt_label_is_refused_where_the_grid_declares_the_values(geomdp, tmp_path, declared):
    """Values that are not declared in public are refused without a look at the table, declared ones run."""
    arguments = _table(tmp_path, *(f"{i % 10},{'ab'[i % 10 > 4]}" for i in range(60)))
    grid = arguments[2]
    grid.write_text(json.dumps({**json.loads(grid.read_text()), "labels": declared}))
    code, out, err = geomdp("learn", *arguments, "--json")
    assert code == 0
    assert json.loads(out)["labels"]["positive"] == "a"
    assert "'a' in column 'kind' counts as +" in err
    wrong = [tmp_path / "missing.csv", *arguments[1:]]  # the refusal comes first
    wrong[wrong.index("a")] = "aa"
    code, out, err = geomdp("learn", *wrong)
    assert code == 2
    assert out == ""
    assert "'positive' must be one of 'a', 'b'" in err
    code, _, err = geomdp("learn", *arguments, "--negative", "c")
    assert code == 2
    assert "'negative'" in err


@pytest.mark.parametrize(
    "declared", [{"kind": "ab"}, {"kind": ["a"]}, {"kind": [True, "a"]}, {"kind": {}}, 3]
)
def test_a_declaration_that_is_no_list_of_values_is_refused(geomdp, tmp_path, declared):
    """The grid file's labels are a list of two or more texts or numbers for the column, if there are any."""
    arguments = _table(tmp_path, "1,a", "2,b")
    grid = arguments[2]
    grid.write_text(json.dumps({**json.loads(grid.read_text()), "labels": declared}))
    code, out, err = geomdp("learn", *arguments)
    assert (code, out) == (2, "")
    assert "'grid'" in err


def test_every_other_label_counts_as_negative(tmp_path):
    """Counts with a third label are those of a table in which it reads as the negative one."""
    from geomdp.core.domain import Domain
    from geomdp.core.tables.reading import count_table

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, _, grid, *_ = _table(tmp_path / "one", "1,a", "1,b", "2,c", "9,b", "9,a")
    two, *_ = _table(tmp_path / "two", "1,a", "1,b", "2,b", "9,b", "9,a")
    domain = Domain.from_grid_file(grid)
    counts = [
        count_table(domain, table, label="kind", positive="a", others_negative=True) for table in (one, two)
    ]
    assert [[part.tolist() for part in c[:3]] for c in counts] == [[[1, 2, 9], [1, 0, 1], [1, 1, 1]]] * 2


@pytest.mark.parametrize("cell", ["", "abc", "inf"])
def test_unreadable_cells_are_named_without_their_value(geomdp, tmp_path, cell):
    """A cell that is no number is refused before anything is drawn, with its column and not its value."""
    code, out, err = geomdp("learn", *_table(tmp_path, "1,a", f"{cell},b"))
    assert code != 0
    assert out == ""
    assert "column 'x'" in err
    assert "abc" not in err


@pytest.mark.parametrize(
    "content",
    [b"", b"x,kind\n", b"x,kind\n1\n", b"x,x\n1,a\n", b"x,kind,kind\n1,a,b\n", b"kind\na\n",
     b"\x00\xff\xfe" * 99, b"x,kind\n1,\n", b'x,kind\n"1,a\n', b"x,kind\n1,a,secret\n",
     b"PAR1" + b"\x00" * 40],
)  # fmt: skip
def test_tables_that_cannot_be_read_leave_nothing_on_stdout(geomdp, tmp_path, content):
    """Empty, ragged, damaged and mislabelled tables are refused in words that quote no cell."""
    arguments = _table(tmp_path, "1,a")
    arguments[0].write_bytes(content)
    code, out, err = geomdp("learn", *arguments, "--json")
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert "secret" not in err


def test_wide_and_odd_numbers_land_on_the_grid(geomdp, tmp_path):
    """Numbers far outside the grid, in exponent form or signed, are moved to it and learned from."""
    rows = [f"{x},{'ab'[i % 2]}" for i, x in enumerate(["1e308", "-1e308", "1e-320", "-0.0", "+3", "5"] * 7)]
    code, out, _ = geomdp("learn", *_table(tmp_path, *rows), "--json")
    assert code == 0
    assert json.loads(out)["n"] == 42


def test_a_ledger_is_charged_once_per_question(geomdp, tmp_path):
    """The same question gets the same answer at no cost, another one is charged or refused."""
    arguments = _table(tmp_path, *(f"{i % 10},{'ab'[i % 10 > 4]}" for i in range(60)))
    ledger = ["--ledger", tmp_path / "mine.ledger"]
    refused = geomdp("learn", *arguments, *ledger, "--budget", "3/2", "--mode", "rigorous", "--alpha", "0.01")
    assert refused[0] != 0
    first = geomdp("learn", *arguments, *ledger, "--json")
    assert first[0] == 0
    document = json.loads(first[1])
    assert document["budget"] == {"spent": "1", "left": "1/2"}
    assert geomdp("learn", *arguments, *ledger, "--json") == first
    code, out, err = geomdp("learn", *arguments, *ledger, "--beta", "0.2")
    assert code != 0
    assert out == ""
    assert "exceeds what is left" in err
    code, out, _ = geomdp("learn", *arguments[:-1], "1/2", *ledger)
    assert code == 0
    assert "ledger: 3/2 spent, 0 left" in out
    code, out, err = geomdp("learn", *arguments, *ledger, "--delta", "1e-6", "--method", "carrier-boost")
    assert code != 0
    assert "delta" in err


def test_a_longer_table_certifies_its_error(geomdp):
    """The default method certifies an error on two features of the shipped flights."""
    code, out, _ = geomdp(
        "learn", data.path("flights/same_jfk.csv"), *FLIGHTS, "--epsilon", 2, "--mode", "rigorous",
        "--alpha", "0.1", "--json",
    )  # fmt: skip
    document = json.loads(out)
    assert code == 0
    assert document["promise"].startswith("error at most")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "1", "--delta", "7"], "delta"),
        (["--epsilon", "1", "--beta", "2"], "beta"),
        (["--epsilon", "1", "--mode", "rigorous"], "alpha"),
        (["--epsilon", "1", "--mode", "paper", "--delta", "1e-6"], "mode"),
        (["--epsilon", "1", "--budget", "2"], "budget"),
        (["--epsilon", "1", "--negative", "yes"], "negative"),
        (["--epsilon", "1", "--method", "carrier-boost", "--mode", "rigorous"], "alpha"),
        (["--epsilon", "1", "--method", "carrier-boost", "--mode", "paper"], "delta"),
        (
            ["--epsilon", "1", "--method", "carrier-boost", "--mode", "rigorous", "--alpha", "0.001"],
            "at least",
        ),
    ],
)
def test_bad_options_are_named(geomdp, arguments, word):
    """Bad options end with an error that names them, and nothing on stdout."""
    code, out, err = geomdp("learn", data.path("flights/same_jfk.csv"), *FLIGHTS, *arguments, "--json")
    assert code != 0
    assert out == ""
    assert word in err
