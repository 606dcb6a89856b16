"""Laws of bad usage: whatever is wrong with a command line, one sentence says so, and stdout stays empty."""

import pytest

from geomdp import data
from geomdp.cli.usage import restate

GRID = str(data.path("wdbc/grid8.json"))
PLAN = ["plan", "--grid", GRID, "--n", "100", "--epsilon", "1"]
TABLE = str(data.path("wdbc/wdbc.csv"))
OPT = ["--grid", GRID, "--label", "diagnosis", "--positive", "malignant"]
POPULATION = ["population", "--grid", GRID, "--n", "100", "--opt-beta", "0.1", "--resolution", "7"]

#: Command lines, the argument at fault, what it must be and what it is.
WRONG = [
    (["nonsense"], "command", "one of assess", "'nonsense'"),
    (["--nonsense"], "--nonsense", "an option of 'geomdp'", "an unknown one"),
    (["plan"], "grid", "given", "left out"),
    (["opt", *OPT], "A.csv [B.csv ...]", "given", "left out"),
    ([*PLAN, "--epsilo", "1"], "--epsilo", "an option of 'geomdp plan'", "an unknown one"),
    ([*PLAN, "--tolerance", "x"], "tolerance", "an integer", "'x'"),
    ([*PLAN, "--tolerance", "1_0"], "tolerance", "an integer", "'1_0'"),
    ([*PLAN, "--tolerance", "\uff15"], "tolerance", "an integer", "'\uff15'"),
    ([*PLAN, "--n", "1_00"], "n", "an integer or two", "'1_00'"),
    ([*PLAN, "--n", "100,\u0661\u0660\u0660"], "n", "an integer or two", "'100,"),
    ([*PLAN, "--epsilon", "1_0"], "epsilon", "a finite number", "'1_0'"),
    ([*PLAN, "--beta", "0.\u0661"], "beta", "a finite number", "'0."),
    ([*PLAN, "--along", "n"], "along", "left out without --plot", "'n'"),
    (["opt", TABLE, *OPT, "--time-limit", "1_0"], "time-limit", "a number", "'1_0'"),
    ([*POPULATION, "--opt", "\u0665"], "opt", "an integer", "'\u0665'"),
    ([*POPULATION[:-2], "--opt-interval", "1_0,20"], "opt_interval", "two integers", "'1_0,20'"),
    ([*POPULATION, "--verdict", "no"], "verdict", "one of 'Match', 'Far', 'Inconclusive'", "'no'"),
    ([*PLAN, "--tolerance", "1.5"], "tolerance", "an integer", "'1.5'"),
    ([*PLAN, "--labels", "all"], "labels", "one of 'mixed', 'disjoint'", "'all'"),
    ([*PLAN, "--beta"], "beta", "followed by a value", "left without"),
    ([*PLAN, "--json=yes"], "json", "a bare flag", "with a value"),
    ([*PLAN, "more", "words"], "more words", "left out of 'geomdp plan'", "given"),
    (["opt", TABLE, *OPT, "--time-limit", "soon"], "time-limit", "a number", "'soon'"),
    (["opt", "none.csv", *OPT], "table", "an existing file", "'none.csv'"),
    (["opt", TABLE, *OPT, "--grid", "none.json"], "grid", "", ""),
]


@pytest.mark.parametrize(("words", "name", "requirement", "got"), WRONG)
@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_bad_usage_is_one_sentence(geomdp, words, name, requirement, got, extra):
    """Exit code 2, nothing on stdout, and on stderr one line in the grammar of all other errors."""
    code, out, err = geomdp(*words[:1], *extra, *words[1:])
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith(f"geomdp: Argument '{name}' must be {requirement}")
    assert f", not {got}" in err


def test_near_options_are_named(geomdp):
    """A misspelt option is answered with those that are close to it, and with the way to the help."""
    _, _, err = geomdp(*PLAN, "--toleranc", 1)
    assert "--tolerance" in err
    assert err.endswith("See: geomdp plan --help\n")


@pytest.mark.parametrize("verdict", ["Match", "match", "MATCH", "mAtCh"])
def test_verdicts_are_taken_in_any_case(geomdp, verdict):
    """How a verdict is capitalised does not change the bounds that follow from it."""
    code, out, _ = geomdp(*POPULATION, "--verdict", verdict, "--json")
    assert code == 0
    assert out == geomdp(*POPULATION, "--verdict", "Match", "--json")[1]


def test_help_and_version_are_no_errors(geomdp):
    """Help goes to stdout with exit code 0, for the whole and for a command; so does the version."""
    for words, expected in ((["--help"], "assess"), (["plan", "--help"], "--epsilon"), (["--version"], ".")):
        code, out, err = geomdp(*words)
        assert (code, err) == (0, "")
        assert expected in out
    code, out, err = geomdp()
    assert code in (0, 2)  # versions of the parser differ
    assert "assess" in out + err


def test_other_complaints_of_the_parser_keep_their_words():
    """What the parser may say beyond the known kinds is passed on within the one sentence."""

    class UnheardOfError(Exception):
        ctx = None

        def format_message(self):
            return "Something else."

    with pytest.raises(ValueError, match=r"must be as its help says \(Something else\), not what was given"):
        restate(UnheardOfError(), "geomdp plan")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["build"], "Argument 'code' must be given, not left out. See: lp-gadgets build --help"),
        (["build", "--q", "x"], "Argument 'q' must be an integer, not 'x'. See: lp-gadgets build --help"),
        (
            ["verify", "--jso"],
            "Argument '--jso' must be an option of 'lp-gadgets verify', not an unknown one.",
        ),
        (
            ["predict", "--code", "qc:64", "--q", "1_6"],
            "Argument 'q' must be an integer, not '1_6'. Write it in",
        ),
        (["none"], "Argument 'command' must be one of build, "),
    ],
)
def test_lp_gadgets_speaks_alike(monkeypatch, capsys, words, expected):
    """The other command line of the distribution refuses bad usage in the same words."""
    from lp_gadgets.cli import main

    monkeypatch.setattr("sys.argv", ["lp-gadgets", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"lp-gadgets: {expected}")
