"""Laws of the command line: JSON keys, exit codes, and a way from building to verifying and exporting."""

import json
import warnings

import pytest

import geomdp
from lp_gadgets import catalogue, cli
from lp_gadgets.program import Program, Recipe
from lp_gadgets.tanner import TannerCode


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["lp-gadgets", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as ended:
                cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return call


def _object(out):
    assert out.count("\n") == 1
    return json.loads(out)


@pytest.mark.parametrize(("code", "q", "opt"), [("qc:64", 2, 24), ("qc:32", 4, 12), ("geometry:Fano", 8, 12)])
def test_an_instance_is_built_and_verified(run, tmp_path, code, q, opt):
    """The JSON of build and verify has the documented keys and the certified optimum."""
    status, out, err = run(
        "build", "--code", code, "--q", q, "--J", 100, "--L", 3, "--out", tmp_path / "i", "--json"
    )
    assert (status, err) == (0, "")
    built = _object(out)
    assert built["opt_lower"] == built["opt_upper"] == opt
    status, out, _ = run("verify", tmp_path / "i", "--json")
    verdict = _object(out)
    assert status == 0
    assert verdict["valid"] is verdict["feasible_iff"] is True
    assert verdict["opt_lower"] == verdict["opt_upper"] == opt == 3 * verdict["erasure_threshold"]
    status, out, _ = run("verify", tmp_path / "i")
    assert f"opt lower: {opt}" in out


def test_given_words_and_a_match(run, tmp_path):
    """Words can be given, or drawn with F = 0, whose optimum is 0."""
    place = tmp_path / "i"
    run("build", "--code", "geometry:Fano", "--u", "1,0,1", "--v", "1,1,0", "--out", place)
    assert json.loads((place / "manifest.json").read_text())["u"] == [1, 0, 1]
    run("build", "--code", "geometry:Fano", "--F", 0, "--out", place)
    _, out, _ = run("verify", place, "--json")
    assert (_object(out)["F"], _object(out)["opt_upper"]) == (0, 0)


@pytest.mark.parametrize(("code", "q"), [("geometry:Fano", 4), ("qc:16", 2), ("peg:12:dv=3:dc=4", 4)])
def test_sizes_are_predicted_for_every_encoding(run, code, q):
    """A predicted size is that of the program as built, for every embedding and encoding that fits."""
    status, out, _ = run("predict", "--code", code, "--q", q, "--json")
    sizes = _object(out)["sizes"]
    assert status == 0
    assert len(sizes) == 8
    field = TannerCode.from_text(code).over(q)
    for row in sizes:
        if row["note"]:
            assert row["encoding"] in ("facets", "implications")
        elif row["public_rows"] < 5000:
            built = Program(field, Recipe.of(q, row["embedding"], row["encoding"]))
            assert (len(built.variables), len(built.public)) == (row["variables"], row["public_rows"])
    _, text, _ = run("predict", "--code", code, "--q", q)
    assert text.count("\n") == 9
    assert "None" not in text


def test_export_and_damage(run, tmp_path):
    """Formats are written as asked; a damaged folder gives exit code 1 and valid = false."""
    place = tmp_path / "i"
    run("build", "--code", "geometry:Fano", "--out", place)
    status, out, _ = run("export", place, "--out", tmp_path / "x", "--format", "mps,json", "--json")
    assert status == 0
    assert [name.rpartition("/")[2] for name in _object(out)["files"]] == ["instance.mps", "summary.json"]
    (place / "records.npz").write_bytes(b"")
    status, out, err = run("verify", place, "--json")
    assert status == 1
    assert _object(out)["valid"] is False
    assert "records.npz" in err


def test_the_catalogue_is_listed_and_built(run, tmp_path):
    """The list has an entry a line, and an entry can be built into a folder that verifies."""
    status, out, _ = run("catalogue")
    assert (status, out.count("\n")) == (0, len(catalogue.entries()))
    _, out, _ = run("catalogue", "--json")
    assert _object(out)["instances"] == catalogue.entries()
    status, out, _ = run("catalogue", "fano-8", "--out", tmp_path / "f", "--json")
    assert _object(out)["name"] == "fano-8"
    assert run("verify", tmp_path / "f")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("build", "--code", "qc:63", "--out", "x"),
        ("build", "--code", "nonsense", "--out", "x"),
        ("build", "--code", "qc:32", "--q", 3, "--out", "x"),
        ("build", "--code", "qc:32", "--J", 0, "--out", "x"),
        ("build", "--code", "qc:32", "--n", 5, "--out", "x"),
        ("build", "--code", "geometry:Fano", "--u", "1,0", "--v", "1,1,0", "--out", "x"),
        ("build", "--code", "geometry:Fano", "--u", "1,0,1", "--out", "x"),
        ("build", "--code", "geometry:Fano", "--u", "a", "--v", "b", "--out", "x"),
        (
            "build",
            "--code",
            "qc:32",
            "--q",
            8,
            "--embedding",
            "parabola",
            "--encoding",
            "facets",
            "--out",
            "x",
        ),
        ("build", "--code", "geometry:Fano", "--out", ""),
        ("build", "--code", "geometry:Fano", "--out", "  "),
        ("verify", ""),
        ("catalogue", "fano-2", "--out", ""),
        ("verify", "nowhere"),
        ("export", "nowhere", "--out", "x"),
        ("catalogue", "nothing", "--out", "x"),
        ("catalogue", "fano-2"),
        ("nonsense",),
    ],
    ids=lambda a: " ".join(map(str, a)),
)
def test_bad_input_is_refused(run, tmp_path, monkeypatch, arguments):
    """Bad input ends with exit code 2, a sentence on stderr, nothing on stdout and no files."""
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err
    assert not list(tmp_path.iterdir())


def test_version_and_weak_graphs(run, tmp_path):
    """--version prints the version; a graph with twins brings a warning on stderr, not a failure."""
    assert run("--version")[1].strip() == geomdp.__version__
    status, _, err = run("build", "--code", "biregular:32:seed=1", "--out", tmp_path / "i", "--json")
    assert status == 0
    assert err.startswith("lp-gadgets: Variables")
