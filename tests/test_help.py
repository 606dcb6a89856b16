"""Laws of --help: every option tells its unit and default, and every command shows an example that runs."""

import inspect
import re
import typing

import pytest

import geomdp.cli.commands
import lp_gadgets.cli.commands
from geomdp import cli, data

PROGRAMS = {"geomdp": geomdp.cli.commands.app, "lp-gadgets": lp_gadgets.cli.commands.app}
MAINS = {"geomdp": cli.main, "lp-gadgets": lp_gadgets.cli.main}
COMMANDS = [
    (program, command.name or command.callback.__name__, command.callback)
    for program, app in PROGRAMS.items()
    for command in app.registered_commands
]
IDS = [f"{program} {name}" for program, name, _ in COMMANDS]
#: What the help of an option must say, by the name of its parameter.
UNITS = {
    "epsilon": r"budget",
    "delta": r"delta",
    "beta": r"[Pp]robability",
    "opt_beta": r"beta",
    "alpha": r"[Ee]rror rate",
    "tolerance": r"[Mm]istakes",
    "opt": r"mistakes",
    "opt_interval": r"mistakes",
    "resolution": r"mistakes",
    "n": r"[Rr]ecords",
    "time_limit": r"[Ss]econds",
    "runs": r"[Rr]uns",
    "seed": r"[Ss]eed",
    "budget": r"[Tt]otal",
    "q": r"power of two",
    "j": r"[Cc]opies",
    "el": r"[Cc]opies",
}


def _options(callback):
    """Yield (name, type, default, help) of every option and argument of a command."""
    hints = typing.get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        kind, option = typing.get_args(hints[name])[:2]
        yield name, kind, parameter.default, option.help or ""


def _run(program, arguments, monkeypatch, capsys):
    """Run a command in this process: (exit code, stdout, stderr)."""
    monkeypatch.setattr("sys.argv", [program, *arguments])
    with pytest.raises(SystemExit) as ended:
        MAINS[program]()
    return ended.value.code or 0, *capsys.readouterr()


def _example(program, name, monkeypatch, capsys):
    """The arguments of the one example that a command's help shows."""
    code, out, _ = _run(program, [name, "--help"], monkeypatch, capsys)
    assert code == 0
    (found,) = re.findall(rf"For example\n\n +{program} ({name}\b.*)\n", out)
    return found.split()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the examples name: 40 rows for each party, and what earlier ones write."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.json").write_text(data.path("delays/grid.json").read_text())
    for name, airport in (("A.csv", "jfk"), ("B.csv", "lga")):
        rows = data.path(f"delays/same_{airport}.csv").read_text().splitlines()
        text = [
            rows[0].replace("late", "y"),
            *(row.replace("yes", "1").replace("no", "0") for row in rows[1:]),
        ]
        (tmp_path / name).write_text("\n".join(text) + "\n")
    return tmp_path


@pytest.mark.parametrize(("program", "name", "callback"), COMMANDS, ids=IDS)
def test_every_option_says_what_it_is(program, name, callback):
    """Every option has a help text: a sentence, with the unit of a number, and what happens without it."""
    for option, kind, default, text in _options(callback):
        where = f"{program} {name} {option}: {text!r}"
        assert re.match(r"\S.*\S$", text), where
        assert re.search(UNITS.get(option, ""), text), where
        numeric = set(typing.get_args(kind) or (kind,)) & {int, float}
        if numeric and default is None:
            assert re.search(r"default|left out|or one of", text), where


@pytest.mark.parametrize(("program", "name", "callback"), COMMANDS, ids=IDS)
def test_the_example_of_every_command_runs(program, name, callback, folder, monkeypatch, capsys):
    """`--help` shows one example in a line of its own, and it runs as it is written."""
    arguments = _example(program, name, monkeypatch, capsys)
    if name == "verify" and program == "geomdp":
        made = [*_example(program, "opt", monkeypatch, capsys), "--certificate", arguments[1]]
        assert _run(program, made, monkeypatch, capsys)[0] == 0
    if program == "lp-gadgets" and name in {"verify", "export"}:
        assert _run(program, _example(program, "build", monkeypatch, capsys), monkeypatch, capsys)[0] == 0
    code, out, err = _run(program, arguments, monkeypatch, capsys)
    assert code == 0, err
    assert out
