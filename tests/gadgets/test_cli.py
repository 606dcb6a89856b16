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
    """The list has a header and an entry a line, and an entry can be built into a folder that verifies."""
    status, out, _ = run("catalogue")
    assert (status, out.count("\n")) == (0, 1 + len(catalogue.entries()))
    assert out.startswith("name ")
    assert "opt lower" in out.splitlines()[0]
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
        ("catalogue", "--out", "x"),
        ("build", "--code", "geometry:Fano", "--F", 2, "--out", "x"),
        ("build", "--code", "geometry:Fano", "--F", 0, "--u", "1,0,1", "--v", "1,1,0", "--out", "x"),
        ("build", "--code", "qc:16:seed=1", "--seed", 2, "--out", "x"),
        ("build", "--code", "qc:16:best_of=2", "--best-of", 3, "--out", "x"),
        ("build", "--code", "qc:16", "--best-of", 10**9, "--out", "x"),
        ("build", "--code", "biregular:1000", "--out", "x"),
        ("predict", "--code", "biregular:20000"),
        ("predict", "--code", "peg:20000"),
        ("predict", "--code", "geometry:Fano", "--seed", 5),
        ("build", "--code", "geometry:Fano", "--best-of", 3, "--out", "x"),
        ("build", "--code", "geometry:Fano", "--u", "1,0,1", "--v", "1,1,0", "--seed", 1, "--out", "x"),
        ("build", "--code", "biregular:1000", "--time-limit", "inf", "--out", "x"),
        ("build", "--code", "geometry:Fano", "--u", "1,0,1", "--v", "1,1,0", "--words-seed", 1, "--out", "x"),
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


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("predict", "--code", "qc:33"), "32 and 40"),
        (("predict", "--code", "qc:63"), "56 and 64"),
        (("predict", "--code", "biregular:33"), "32 and 34"),
        (("predict", "--code", "peg:5"), "The nearest is 8"),
        (("catalogue", "nothing"), "one of fano-2"),
        (("catalogue", "--out", "x"), "an entry of the catalogue"),
        (
            ("build", "--code", "geometry:Fano", "--F", 0, "--u", "1,0,1", "--v", "1,1,0", "--out", "x"),
            "be 1",
        ),
        (("build", "--code", "biregular:1000", "--out", "x"), "--time-limit"),
        (("export", "nowhere", "--out", "x", "--format", "mps,,json"), "an empty item"),
        (("export", "nowhere", "--out", "x", "--format", "xls"), "'xls'"),
        (("export", "nowhere", "--out", "x", "--format", "MPS"), "'format'"),
        (("export", "nowhere", "--out", "x"), "'DIR'"),
        (("verify", "nowhere"), "'DIR'"),
        (("build", "--code", "geometry:Fano", "--words-seed", -1, "--out", "x"), "'words-seed'"),
        (("build", "--code", "geometry:Fano", "--seed", -1, "--out", "x"), "'seed'"),
        (("build", "--code", "qc:16", "--best-of", 0, "--out", "x"), "'best-of'"),
        (("build", "--code", "qc:16", "--time-limit", -1, "--out", "x"), "'time-limit'"),
        (("build", "--code", "qc:7", "--out", "x"), "'code' must be a graph whose K is a multiple of 8"),
        (("predict", "--code", "geometry:Fano", "--seed", 5), "'seed' must be left out for a geometry"),
    ],
    ids=str,
)
def test_refusals_say_what_would_do(run, tmp_path, monkeypatch, arguments, wanted):
    """The sentence names the nearest sizes, the known names, or the option that helps."""
    monkeypatch.chdir(tmp_path)
    status, _, err = run(*arguments)
    assert status == 2
    assert wanted in err


def test_a_file_in_the_way_is_named_without_error_numbers(run, tmp_path):
    """Where a folder is needed and a file is, or one of our names is taken, the sentence says so."""
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        status, _, err = run("build", "--code", "geometry:Fano", "--out", out)
        assert status == 2
        assert "file is a file" in err
        assert "Errno" not in err
    (tmp_path / "manifest.json").write_text("{}")
    for command in (("build", "--code", "geometry:Fano"), ("catalogue", "fano-2")):
        status, _, err = run(*command, "--out", tmp_path)
        assert status == 2
        assert "manifest.json" in err
    assert (tmp_path / "manifest.json").read_text() == "{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "manifest.json"]


def test_a_folder_that_cannot_be_written_is_called_out(run, tmp_path, monkeypatch):
    """A folder that the system refuses is named by its option, for build and for the catalogue."""

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lp_gadgets.folder.replace", refuse)
    for command in (("build", "--code", "geometry:Fano"), ("catalogue", "fano-2")):
        status, _, err = run(*command, "--out", tmp_path / "i")
        assert status == 2
        assert "'out'" in err
        assert "No space left" in err


def test_only_what_verifies_is_exported(run, tmp_path):
    """An edited claim ends export with exit code 1 and no folder."""
    place = tmp_path / "i"
    run("build", "--code", "geometry:Fano", "--out", place)
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["claims"]["opt_lower"] = manifest["predicted"]["opt"] = 999
    (place / "manifest.json").write_text(json.dumps(manifest))
    status, out, err = run("export", place, "--out", tmp_path / "x")
    assert (status, out) == (1, "")
    assert "manifest" in err
    assert not (tmp_path / "x").exists()


def test_results_are_plain_lines(run, tmp_path):
    """Without --json every line is a name and a value: no brackets, no quotes."""
    _, out, _ = run("catalogue", "fano-2", "--out", tmp_path / "i")
    entry = catalogue.entry("fano-2")
    assert f"sha256 graph: {entry['sha256']['graph']}\n" in out
    assert f"u: {', '.join(map(str, entry['u']))}\n" in out
    _, lines, _ = run("export", tmp_path / "i", "--out", tmp_path / "x", "--format", "mps,json")
    assert lines.splitlines() == [f"file: {tmp_path / 'x' / n}" for n in ("instance.mps", "summary.json")]
    assert not set("[]{}'") & set(out)


def test_a_geometry_takes_the_seed_for_its_words(run, tmp_path):
    """--seed with a geometry is the seed of the words."""
    words = []
    for options in (("--seed", 3), ("--words-seed", 3)):
        run("build", "--code", "geometry:GQ(2,2)", *options, "--out", tmp_path / "i")
        manifest = json.loads((tmp_path / "i" / "manifest.json").read_text())
        words.append((manifest["u"], manifest["v"]))
    assert words[0] == words[1]


def test_build_says_whether_its_bounds_are_exact(run, tmp_path):
    """Whether the threshold and the optimum are exact is printed, and is the verdict of verify."""
    for options, exact in (((), (True, True)), (("--time-limit", 0), (False, False))):
        _, out, _ = run("build", "--code", "qc:64", *options, "--out", tmp_path / "i", "--json")
        built = _object(out)
        assert (built["threshold_exact"], built["optimum_exact"]) == exact
        assert built["optimum_exact"] == (built["opt_lower"] == built["opt_upper"])
        _, out, _ = run("verify", tmp_path / "i", "--json")
        assert (_object(out)["threshold_exact"], _object(out)["optimum_exact"]) == exact
        assert "optimum exact: " + ("yes" if exact[1] else "no") in run("verify", tmp_path / "i")[1]


def test_interrupts_say_what_was_stopped(run, tmp_path, monkeypatch):
    """Ctrl-C during the search, the certificate or the imports ends with a sentence and exit code 130."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    arguments = ("build", "--code", "qc:16", "--out", tmp_path / "i")
    for target, wanted in (
        ("lp_gadgets.instance.HardInstance.__init__", "stopping distance"),
        ("lp_gadgets.folder.save", "certifying"),
        ("lp_gadgets.cli.commands.run", "interrupted; nothing was written"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, interrupt)
            status, out, err = run(*arguments)
        assert (status, out) == (130, "")
        assert wanted in err
        assert err.startswith("lp-gadgets: interrupted")
        assert not (tmp_path / "i").exists()


def test_the_words_can_have_a_seed_of_their_own(run, tmp_path):
    """--words-seed changes the words and not the graph; --seed changes both."""
    found = []
    for options in ((), ("--words-seed", 3), ("--seed", 0)):
        run("build", "--code", "qc:16", *options, "--out", tmp_path / "i")
        manifest = json.loads((tmp_path / "i" / "manifest.json").read_text())
        found.append((manifest["code"]["name"], manifest["u"], manifest["v"]))
    assert found[0] == found[2]
    assert found[0][0] == found[1][0]
    assert found[0][1:] != found[1][1:]


def test_version_and_weak_graphs(run, tmp_path):
    """--version prints the version; a graph with twins brings a warning on stderr, not a failure."""
    assert run("--version")[1].strip() == geomdp.__version__
    status, _, err = run("build", "--code", "biregular:32:seed=1", "--out", tmp_path / "i", "--json")
    assert status == 0
    assert err.startswith("lp-gadgets: Variables")
