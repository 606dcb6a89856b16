"""Laws of the command line: JSON keys, verdicts on the shipped data, and refusal of bad input."""

import json

import pytest

from geomdp import data

FLIGHTS = ["--grid", str(data.path("flights/grid.json")), "--label", "disrupted", "--positive", "yes"]
DELAYS = ["--grid", str(data.path("delays/grid.json")), "--label", "late", "--positive", "yes"]
GRID8 = str(data.path("wdbc/grid8.json"))


def _pair(name):
    return [str(data.path(f"{name}_{airport}.csv")) for airport in ("jfk", "lga")]


def _object(out):
    """The one JSON object on stdout."""
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.mark.parametrize(
    ("pair", "common", "tolerance", "verdict"),
    [
        ("flights/same", FLIGHTS, 0, "Match"),
        ("flights/different", FLIGHTS, 0, "Far"),
        ("flights/noisy", FLIGHTS, 200, "Match"),
        ("flights/noisy", FLIGHTS, 0, None),
        ("delays/same", DELAYS, 0, "Match"),
        ("delays/different", DELAYS, 0, "Far"),
    ],
)
def test_assess_answers_on_the_shipped_pairs(geomdp, pair, common, tolerance, verdict):
    """A real release gives the right verdict, spends at most epsilon, and its interval is ordered.

    The noise is real, so a wrong verdict is possible: beta = 10^-6 keeps it out of the tests.
    """
    code, out, _ = geomdp(
        "assess", *_pair(pair), *common, "--epsilon", 1, "--tolerance", tolerance, "--beta", 1e-6, "--json"
    )
    answer = _object(out)
    assert code == 0
    assert {"verdict", "tester", "resolution", "guarantee", "epsilon_spent", "n", "opt_interval"} <= set(
        answer
    )
    assert verdict in (None, answer["verdict"])
    assert answer["epsilon_spent"] <= 1
    assert answer["n"] == 20000
    assert not answer["simulated"]
    if answer["opt_interval"] is not None:
        assert answer["opt_interval"][0] <= answer["opt_interval"][1]


def test_a_seeded_run_is_repeatable_and_says_so(geomdp):
    """The same seed gives the same simulated outcome."""
    call = ["assess", *_pair("delays/same"), *DELAYS, "--epsilon", 1, "--seed", 5, "--json"]
    first, second = (_object(geomdp(*call)[1]) for _ in range(2))
    assert first == second
    assert first["simulated"]


def test_wdbc_split_in_two_gets_a_private_verdict(geomdp):
    """569 real records are enough at epsilon = 2 on an 8 x 8 grid."""
    files = [data.path(f"wdbc/wdbc_{half}.csv") for half in "ab"]
    code, out, _ = geomdp(
        "assess", *files, "--grid", GRID8, "--label", "diagnosis", "--positive", "malignant",
        "--epsilon", 2, "--json",
    )  # fmt: skip
    assert code == 0
    assert _object(out)["verdict"] in ("Match", "Far")


@pytest.mark.parametrize(
    ("table", "grid", "label", "positive", "expected"),
    [
        ("penguins/adelie_gentoo.csv", "penguins/grid.json", "species", "Gentoo", 0),
        ("penguins/adelie_chinstrap.csv", "penguins/grid.json", "species", "Adelie", 2),
        ("wdbc/wdbc.csv", "wdbc/grid.json", "diagnosis", "malignant", 20),
    ],
)
def test_opt_of_the_shipped_tables(geomdp, table, grid, label, positive, expected):
    """The exact optimum of the real tables is the documented one."""
    code, out, _ = geomdp(
        "opt", data.path(table), "--grid", data.path(grid), "--label", label, "--positive", positive, "--json"
    )
    answer = _object(out)
    assert code == 0
    assert answer["lower"] == answer["upper"] == expected
    assert answer["optimal"]
    assert answer["seconds"] >= 0
    assert answer["classifier"]


def test_plan_lists_every_tester(geomdp):
    """The plan names each tester with resolution, guarantee and feasibility, and the best."""
    code, out, _ = geomdp("plan", "--grid", GRID8, "--n", 300, "--epsilon", 2, "--json")
    answer = _object(out)
    assert code == 0
    names = {row["name"] for row in answer["testers"]}
    assert {"one-way", "two-histograms", "halfspace-elimination", "curator"} <= names
    assert all({"name", "resolution", "guarantee", "feasible"} <= set(row) for row in answer["testers"])
    assert answer["best"] == "one-way"


def test_readable_output_names_the_guarantee(geomdp):
    """Without --json people get tables, with the same facts."""
    _, out, _ = geomdp("plan", "--grid", data.path("delays/grid.json"), "--n", "20000,15000", "--epsilon", 1)
    assert "interior-point" in out
    assert "trusted third party" in out
    _, out, _ = geomdp("assess", *_pair("delays/same"), *DELAYS, "--epsilon", 1, "--beta", 1e-6)
    assert "Match" in out
    assert "privacy spent" in out
    _, out, _ = geomdp("opt", *_pair("delays/same"), *DELAYS)
    assert "0 of 40000 records" in out
    _, out, _ = geomdp("inspect", _pair("delays/same")[0], *DELAYS)
    assert "20000" in out


def test_the_transcript_holds_all_that_was_released(geomdp, tmp_path):
    """--transcript writes the public record, whose losses add up to what was spent."""
    path = tmp_path / "record.json"
    _, out, _ = geomdp(
        "assess", *_pair("delays/same"), *DELAYS, "--epsilon", 1, "--json", "--transcript", path
    )
    record = json.loads(path.read_text())
    assert {message["sender"] for message in record["messages"]} <= {"Alice", "Bob"}
    assert _object(out)["epsilon_spent"] <= 1


def _table(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


GOOD = "x,late\n1,yes\n2,no\n"
ONE = '{"features": [{"name": "x", "lower": 0, "upper": 10, "levels": 11}]}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x,late\n",
        "y,late\n1,yes\n",
        "x,early\n1,yes\n",
        "x,late\nabc,yes\n2,no\n",
        "x,late\nnan,yes\n2,no\n",
        "x,late\ninf,yes\n2,no\n",
        "x,late\n,yes\n2,no\n",
        "x,late\n1,\n2,no\n",
        "x,late\n1,yes\n2,no\n3,perhaps\n",
    ],
)
@pytest.mark.parametrize("command", ["assess", "opt"])
def test_bad_tables_are_refused(geomdp, tmp_path, text, command):
    """A bad table ends with exit code 2 and one sentence that quotes no cell of it; nothing is written."""
    good, bad = _table(tmp_path, GOOD, "good.csv"), _table(tmp_path, text, "bad.csv")
    grid = _table(tmp_path, ONE, "grid.json")
    before = sorted(tmp_path.iterdir())
    more = ["--epsilon", 1, "--transcript", tmp_path / "t.json"] if command == "assess" else []
    code, out, err = geomdp(
        command, good, bad, "--grid", grid, "--label", "late", "--positive", "yes", *more, "--json"
    )
    assert code == 2
    assert out == ""
    assert "must be" in err
    assert not any(cell in err for cell in ("abc", "perhaps", "nan", "inf,"))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("--epsilon", "0", "epsilon"),
        ("--epsilon", "-1", "epsilon"),
        ("--epsilon", "nan", "epsilon"),
        ("--epsilon", "inf", "epsilon"),
        ("--epsilon", "1/0", "epsilon"),
        ("--epsilon", "much", "epsilon"),
        ("--beta", "0", "beta"),
        ("--beta", "1", "beta"),
        ("--beta", "nan", "beta"),
        ("--tolerance", "-1", "tolerance"),
        ("--n", "0", "n"),
        ("--n", "1,2,3", "n"),
        ("--n", "many", "n"),
        ("--grid", "none.json", "grid"),
    ],
)
def test_bad_options_are_refused(geomdp, option, value, name):
    """A number outside its range is named, with its requirement; exit code 2."""
    options = {"--grid": GRID8, "--n": "100", "--epsilon": "1", option: value}
    code, out, err = geomdp("plan", *(word for pair in options.items() for word in pair), "--json")
    assert code == 2
    assert out == ""
    assert f"Argument '{name}' must be" in err


def test_too_few_records_are_refused_and_can_be_forced(geomdp, tmp_path):
    """Below the certified size assess refuses; a forced verdict is labelled uncertified."""
    grid = _table(tmp_path, ONE, "grid.json")
    table = _table(tmp_path, GOOD)
    call = ["assess", table, table, "--grid", grid, "--label", "late", "--positive", "yes", "--epsilon", 1]
    code, out, err = geomdp(*call, "--json")
    assert (code, out) == (2, "")
    assert "Argument 'n' must be large enough" in err
    code, out, _ = geomdp(*call, "--json", "--force-uncertified")
    answer = _object(out)
    assert code == 0
    assert answer["guarantee"] == "uncertified"
    assert not answer["certified"]


def test_unequal_sizes_are_allowed(geomdp, tmp_path):
    """Parties of different sizes are served; the note says how."""
    grid = _table(tmp_path, ONE, "grid.json")
    big = _table(tmp_path, "x,late\n" + "1,no\n9,yes\n" * 400, "big.csv")
    small = _table(tmp_path, "x,late\n" + "1,no\n9,yes\n" * 300, "small.csv")
    call = ["assess", big, small, "--grid", grid, "--label", "late", "--positive", "yes", "--epsilon", 1]
    code, out, err = geomdp(*call)
    assert code == 0
    assert "Alice 800, Bob 600" in out
    assert "none is padded or dropped" in err
    answer = _object(geomdp(*call, "--json")[1])
    assert (answer["n"], answer["n_alice"], answer["n_bob"]) == (600, 800, 600)


def test_clipped_rows_are_counted_for_their_holder_only(geomdp, tmp_path):
    """Rows outside the grid are moved to its edge and counted by opt and inspect, never by assess."""
    grid = _table(tmp_path, ONE, "grid.json")
    table = _table(tmp_path, "x,late\n" + "-5,no\n99,yes\n" * 150)
    common = ["--grid", grid, "--label", "late", "--positive", "yes"]
    assert _object(geomdp("opt", table, *common, "--json")[1])["clipped"] == 300
    assert _object(geomdp("inspect", table, *common, "--json")[1])["clipped"] == 300
    _, out, err = geomdp("assess", table, table, *common, "--epsilon", 1, "--json")
    assert "clipped" not in _object(out)
    assert "300 rows" not in err


def test_dichotomies_counts_and_enumerates(geomdp, tmp_path):
    """The count needs no enumeration; --out writes one, and a small --limit refuses with the estimate."""
    code, out, _ = geomdp("dichotomies", "--grid", GRID8, "--json")
    assert code == 0
    assert _object(out)["count"] == 2566
    code, out, _ = geomdp("dichotomies", "--grid", GRID8, "--out", tmp_path / "W")
    assert "2,566 dichotomies" in out
    assert (tmp_path / "W" / "labels.npy").is_file()
    code, _, err = geomdp("dichotomies", "--grid", GRID8, "--out", tmp_path / "V", "--limit", 100)
    assert code == 2
    assert "2,566 dichotomies, about" in err
    assert not (tmp_path / "V").exists()


def test_a_proof_is_written_replayed_and_refused_for_other_records(geomdp, tmp_path):
    """The option --certificate writes a proof that verify accepts for these tables and rejects for others."""
    table, half = data.path("wdbc/wdbc.csv"), data.path("wdbc/wdbc_a.csv")
    common = ["--grid", GRID8, "--label", "diagnosis", "--positive", "malignant", "--json"]
    proof = tmp_path / "c.json"
    code, out, _ = geomdp("opt", table, *common, "--certificate", proof)
    assert code == 0
    value = _object(out)["upper"]
    code, out, _ = geomdp("verify", proof, table, *common)
    facts = {"valid": True, "lower": value, "upper": value, "classes": "halfspaces", "reason": ""}
    assert (code, _object(out)) == (0, facts)
    code, out, _ = geomdp("verify", proof, half, *common)
    assert code == 1
    assert not _object(out)["valid"]
    proof.write_text("{}")
    code, out, _ = geomdp("verify", proof, table, *common)
    assert code == 1
    assert "format" in _object(out)["reason"]


def test_a_time_limit_gives_a_certified_interval(geomdp):
    """At a limit of 0 seconds the interval is certain, if wide."""
    common = ["--grid", GRID8, "--label", "diagnosis", "--positive", "malignant", "--json"]
    answer = _object(geomdp("opt", data.path("wdbc/wdbc.csv"), *common, "--time-limit", 0)[1])
    assert answer["lower"] <= 40 <= answer["upper"]


def test_a_path_that_cannot_be_written_is_refused_first(geomdp, tmp_path):
    """Nothing is computed when the result could not be saved."""
    code, out, err = geomdp(
        "opt", _pair("delays/same")[0], *DELAYS, "--certificate", tmp_path / "none" / "c.json"
    )
    assert (code, out) == (2, "")
    assert "Argument 'certificate' must be a file in a folder that can be written" in err


def test_opt_draws_its_bounds_and_the_data(geomdp, tmp_path):
    """--plot writes a picture."""
    picture = tmp_path / "p.png"
    code, _, _ = geomdp(
        "opt", data.path("wdbc/wdbc.csv"), "--grid", GRID8, "--label", "diagnosis",
        "--positive", "malignant", "--plot", picture,
    )  # fmt: skip
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_outputs_never_replace_inputs_or_foreign_files(geomdp, tmp_path):
    """An output path that is an input, or an existing file of another kind, is refused before any work."""
    grid, table, note = (
        _table(tmp_path, ONE, "grid.json"),
        _table(tmp_path, GOOD),
        _table(tmp_path, "x", "n.txt"),
    )
    common = ["--grid", grid, "--label", "late", "--positive", "yes"]
    for target in (table, note, grid, "-", "/dev/stdout"):
        code, out, err = geomdp(
            "assess", table, table, *common, "--epsilon", 1, "--transcript", target, "--json"
        )
        assert (code, out) == (2, "")
        assert "Argument 'transcript' must be" in err
    assert table.read_text() == GOOD
    assert note.read_text() == "x"


def test_label_values_must_agree_between_the_tables(geomdp, tmp_path):
    """Another spelling in one table is refused instead of counted as a conflict; --negative settles it."""
    grid, table = _table(tmp_path, ONE, "grid.json"), _table(tmp_path, GOOD)
    common = ["--grid", grid, "--label", "late", "--positive", "yes"]
    for text in ("x,late\n1,Yes\n2,Yes\n", "x,late\n1,yes\n2,maybe\n"):
        other = _table(tmp_path, text, "other.csv")
        code, out, err = geomdp("opt", table, other, *common, "--json")
        assert (code, out) == (2, "")
        assert "letter by letter" in err
    only = _table(tmp_path, "x,late\n1,no\n", "only.csv")
    assert geomdp("opt", table, only, *common, "--json")[0] == 2
    assert geomdp("opt", table, only, *common, "--negative", "no", "--json")[0] == 0


def test_guarantees_are_chosen_by_name(geomdp):
    """--guarantee takes the best row of that strength, and an unknown one is refused."""
    call = ["assess", *_pair("delays/same"), *DELAYS, "--epsilon", 1, "--json", "--seed", 1]
    answer = _object(geomdp(*call, "--guarantee", "certified-mc")[1])
    assert answer["guarantee"] == "certified-mc"
    code, out, err = geomdp(*call, "--guarantee", "foo")
    assert (code, out) == (2, "")
    assert "Argument 'guarantee' must be one of" in err


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b"[" * 100_000])
def test_undecodable_grids_are_refused(geomdp, tmp_path, content):
    """A grid file in another encoding, or nested without end, is bad input like any other."""
    path = tmp_path / "g.json"
    path.write_bytes(content)
    code, out, err = geomdp("plan", "--grid", path, "--n", 100, "--epsilon", 1)
    assert (code, out) == (2, "")
    assert "Argument 'grid' must be" in err


@pytest.mark.parametrize(
    "option",
    [("--epsilon", "1e999999999"), ("--tolerance", "9" * 23), ("--n", "9" * 23), ("--beta", "1e-99999")],
)
def test_absurd_numbers_are_refused_at_once(geomdp, option):
    """Numbers of absurd size are refused by name, without being expanded."""
    options = {"--grid": GRID8, "--n": "100", "--epsilon": "1", option[0]: option[1]}
    code, out, err = geomdp("plan", *(word for pair in options.items() for word in pair))
    assert (code, out) == (2, "")
    assert f"Argument '{option[0].strip('-')}' must be" in err
