"""Laws of the command `learn`."""

import json

import pytest

from geomdp import cli, data

FLIGHTS = ["--grid", str(data.path("flights/grid.json")), "--label", "disrupted", "--positive", "yes"]
DELAYS = ["--grid", str(data.path("delays/grid.json")), "--label", "late", "--positive", "yes"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("GEOMDP_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "tables"))


@pytest.fixture
def geomdp(monkeypatch, capsys):
    """Run the command line in this process: (exit code, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["geomdp", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


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


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--epsilon", "0"], "epsilon"),
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
