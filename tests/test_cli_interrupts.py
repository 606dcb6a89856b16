"""Laws of Ctrl-C: whenever it comes, one sentence that says what is left behind, and exit code 130."""

import ast
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import geomdp as g
from geomdp import cli, data
from geomdp.cli import interrupts
from geomdp.cli.labels import two_labels

GRID = str(data.path("penguins/grid8.json"))

#: A program that presses Ctrl-C on itself when some module is about to be imported, then runs a command.
PRESSED = """
import signal, sys
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Press())
sys.argv = ["geomdp", "population", "--grid", {grid!r}, "--n", "100", "--opt", "3"]
from geomdp.cli import main
main()
"""


@pytest.mark.parametrize(
    "name", ["geomdp.cli.interrupts", "geomdp.cli.commands", "typer", "numpy", "rich.table"]
)
def test_ctrl_c_during_imports_ends_with_a_sentence(name):
    """From the command line's first import to its last one Ctrl-C leaves no traceback."""
    code = PRESSED.format(name=name, grid=GRID)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "geomdp: interrupted; nothing was written\n"


def test_importing_the_package_costs_nothing():
    """`import geomdp.cli` loads neither numpy nor anything else that takes time: no window is left open."""
    code = "import sys; old = set(sys.modules); import geomdp.cli; print(*sorted(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {
        "__future__", "geomdp", "geomdp.cli", "geomdp.core", "geomdp.core.pages"
    }  # fmt: skip


def test_lazy_names_are_the_declared_ones():
    """What a type checker is told to import is what is imported on first use."""
    tree = ast.parse(Path(g.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {alias.asname: node.module for node in block.body for alias in node.names}
    assert declared == g._PLACES
    assert set(declared) <= set(dir(g))
    assert all(getattr(g, name) is not None for name in declared)
    assert g.privacy.ledger.Ledger is g.Ledger
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        g.nonsense  # noqa: B018


def _pressed(*arguments, **options):
    signal.raise_signal(signal.SIGINT)


def _turned(*arguments, **options):
    try:
        _pressed()
    except KeyboardInterrupt:
        raise ImportError("a library failed to load") from None


@pytest.mark.parametrize("how", [_pressed, _turned])
def test_ctrl_c_in_a_command_ends_with_a_sentence(geomdp, monkeypatch, how):
    """So it is in the midst of a command, and where a library turned Ctrl-C into an error of its own."""
    monkeypatch.setattr("geomdp.bounds.population_bounds", how)
    assert geomdp("population", "--grid", GRID, "--n", 100, "--opt", 3) == (
        130,
        "",
        "geomdp: interrupted; nothing was written\n",
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_without_ctrl_c_is_no_interruption(geomdp, monkeypatch):
    """Errors of libraries stay what they are."""

    def broken(*arguments, **options):
        raise ImportError("a library failed to load")

    monkeypatch.setattr("geomdp.bounds.population_bounds", broken)
    monkeypatch.setattr("sys.argv", ["geomdp", "population", "--grid", GRID, "--n", "100", "--opt", "3"])
    with pytest.raises(ImportError, match="failed to load"):
        cli.main()


def test_power_is_interrupted_with_a_sentence(geomdp, monkeypatch, tmp_path):
    """A simulation that is interrupted says so."""
    grid = tmp_path / "g.json"
    grid.write_text(json.dumps(g.Domain.grid([("x", 0, 3, 4)]).to_dict()))
    monkeypatch.setattr("geomdp.testers.power.operating_characteristic", _pressed)
    code, out, err = geomdp("power", "--grid", grid, "--n", 500, "--epsilon", 2)
    assert (code, out, err) == (130, "", "geomdp: interrupted; nothing was written\n")


def test_the_sentence_says_what_was_written(geomdp, monkeypatch, tmp_path):
    """A file that was completed before Ctrl-C is named, and so is a charge in a ledger."""
    grid, table = tmp_path / "g.json", tmp_path / "t.csv"
    grid.write_text(json.dumps(g.Domain.grid([("x", 0, 3, 4)]).to_dict()))
    table.write_text("x,l\n" + "0,no\n3,yes\n" * 200)
    options = ["assess", table, table, "--grid", grid, "--label", "l", "--positive", "yes", "--epsilon", 1]
    monkeypatch.setattr("geomdp.report.outcome_table", _pressed)
    first = two_labels("l", "yes", None) + "\n"
    code, out, err = geomdp(*options, "--transcript", tmp_path / "r.json")
    assert (code, out, err) == (130, "", f"{first}geomdp: interrupted; r.json is complete\n")
    code, _, err = geomdp(*options, "--ledger-a", tmp_path / "a", "--budget", 3)
    assert code == 130
    assert err.removeprefix(first).count("\n") == 1
    assert "the same command continues that run" in err


def test_a_dropped_ctrl_c_is_sent_again(geomdp, monkeypatch):
    """Where errors cannot be raised Ctrl-C is not lost: it comes again a moment later."""

    class Dropping:
        def __del__(self):
            _pressed()

    def calculate(*arguments, **options):
        held = Dropping()
        del held
        for _ in range(1000):  # ended by the second one
            time.sleep(interrupts.AGAIN / 10)
        raise AssertionError("it never came")

    monkeypatch.setattr("geomdp.bounds.population_bounds", calculate)
    code, _, err = geomdp("population", "--grid", GRID, "--n", 100, "--opt", 3)
    assert (code, err) == (130, "geomdp: interrupted; nothing was written\n")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_interrupted_search_prints_its_interval_and_ends_with_130(geomdp, monkeypatch, tmp_path, form):
    """After Ctrl-C the certified interval is printed, as a table or as JSON, and the exit code is 130."""
    grid, table = tmp_path / "g.json", tmp_path / "t.csv"
    grid.write_text(json.dumps(g.Domain.grid([("x", 0, 3, 4), ("y", 0, 3, 4), ("z", 0, 3, 4)]).to_dict()))
    table.write_text("x,y,z,l\n" + "0,1,2,no\n3,0,1,yes\n1,1,1,yes\n2,2,0,no\n0,3,3,yes\n3,2,3,no\n" * 3)
    monkeypatch.setattr("geomdp.opt.portfolio._Work._seek", _pressed)
    monkeypatch.setattr("geomdp.opt.portfolio.choose", lambda m, rank: "branch")
    options = ["--grid", grid, "--label", "l", "--positive", "yes", *form]
    code, out, err = geomdp("opt", table, *options)
    assert (code, err) == (130, "Interrupted: the bounds are certain, the optimum was not reached.\n")
    assert not form or json.loads(out)["reason"] == "interrupted"


def test_opt_and_verify_name_the_class(geomdp, tmp_path):
    """On a grid of one feature opt is about thresholds unless it is told otherwise; both commands say so."""
    grid, table, proof = tmp_path / "g.json", tmp_path / "t.csv", tmp_path / "c.json"
    grid.write_text(json.dumps(g.Domain.grid([("x", 0, 3, 4)]).to_dict()))
    table.write_text("x,l\n0,yes\n0,yes\n3,no\n")
    options = ["--grid", grid, "--label", "l", "--positive", "yes"]
    for more, kind, value in ([], "thresholds", 1), (["--classes", "halfspaces"], "halfspaces", 0):
        code, out, _ = geomdp("opt", table, *options, *more, "--certificate", proof)
        assert code == 0
        assert f"opt of {kind}" in out
        assert geomdp("verify", proof, table, *options)[1] == f"valid: {value} <= opt of {kind} <= {value}\n"
        assert json.loads(geomdp("verify", proof, table, *options, "--json")[1])["classes"] == kind
