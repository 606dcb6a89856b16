"""Laws of the command `learn`."""

import json

import pytest

from geomdp import data

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
    """Whichever labels occur, the command releases a classifier, and says nothing on stderr."""
    rows = [f"{i % 10},{kinds[i % len(kinds)]}" for i in range(40)]
    code, out, err = geomdp("learn", *_table(tmp_path, *rows), *named, "--json")
    assert code == 0
    assert err == ""
    assert json.loads(out)["n"] == 40


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
