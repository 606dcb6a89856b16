"""Laws of exports: every format can be read back, and HiGHS finds the same feasibility in the model files."""

import json

import numpy as np
import pytest
from support.gadgets import SMALL, small_instance

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import ArgumentError
from geomdp.core.sample import Sample
from geomdp.lp.feasibility import read_file, solve_file
from lp_gadgets.export import FORMATS, dataset, held_rows, is_portable, read_libsvm, read_mps
from lp_gadgets.folder import load

PICK = [SMALL[i] for i in (0, 3, 10, 11)]


@pytest.fixture
def exported(tmp_path):
    """Build, save, read back and export a small instance."""

    def make(small, F=1, formats=None, repeat=False):
        inst = small_instance(*small)
        u, v = inst.words(F, 2)
        inst.save(u, v, tmp_path / "instance")
        folder = load(tmp_path / "instance")
        written = folder.export(tmp_path / "out", formats, repeat)
        return inst, (u, v), folder, {path.name: path for path in written}

    return make


@pytest.mark.parametrize("F", [0, 1])
@pytest.mark.parametrize("small", PICK, ids=str)
def test_model_files_have_the_same_rows_and_feasibility(exported, small, F):
    """MPS and LP files as HiGHS reads them are the program, names included, and feasible iff F = 0."""
    _, _, folder, files = exported(small, F, ("mps", "lp"))
    rows = held_rows(folder.evidence)
    for path in files.values():
        found, row_names, variables = read_file(path)
        assert row_names == rows.names
        assert variables == folder.evidence.layout.variables
        for part in ("start", "index", "value", "bound"):
            assert np.array_equal(getattr(found, part), getattr(rows, part))
        assert solve_file(path).status == ("infeasible" if F else "feasible")
    again, variables = read_mps(files["instance.mps"])
    assert again.sha256 == rows.sha256
    assert (again.names, variables) == (rows.names, folder.evidence.layout.variables)
    assert all(map(is_portable, again.names + variables))


@pytest.mark.parametrize("small", PICK, ids=str)
def test_records_can_be_read_back(exported, small):
    """LIBSVM files and the npz dataset give the samples, and the classifier's mistakes, again."""
    inst, words, folder, files = exported(small)
    witness = inst.witness(*words)
    h = Halfspace((*witness.numerators, witness.denominator))
    mistakes = 0
    for sample, name in zip(inst.encode(*words), ("alice", "bob"), strict=True):
        X, y, copies = read_libsvm(files[f"{name}.libsvm"], inst.records.d)
        mistakes += int(copies[h.predict(X) != y].sum())
        again = Sample.from_points(inst.domain, np.repeat(X, copies, axis=0), np.repeat(y, copies))
        assert (again.n, again.net.tolist()) == (sample.n, sample.net.tolist())
    with np.load(files["dataset.npz"]) as arrays:
        X = np.zeros(arrays["shape"], dtype=object)
        X[np.repeat(np.arange(len(X)), np.diff(arrays["indptr"])), arrays["indices"]] = [
            int(a) for a in arrays["data"]
        ]
        wrong = h.predict(X) != arrays["label"]
        assert int(arrays["copies"][wrong].sum()) == mistakes == inst.certify(*words).opt_upper
    summary = json.loads(files["summary.json"].read_text())
    assert summary["claims"]["opt_lower"] == folder.verify().opt_lower == summary["predicted"]["opt"]


def test_copies_can_be_written_out(exported):
    """With repeat, every copy has its own line and there are no comments."""
    inst, _, _, files = exported(SMALL[0], formats=("libsvm",), repeat=True)
    text = files["bob.libsvm"].read_text()
    assert text.count("\n") == inst.n
    assert "#" not in text
    _, y, copies = read_libsvm(files["bob.libsvm"], inst.records.d)
    assert set(y.tolist()) == set(copies.tolist()) == {1}


def test_wide_numbers_are_written_as_digits(exported):
    """Where a record needs more than 64 bits, the dataset holds decimal texts."""
    import dataclasses

    _, _, folder, _ = exported(SMALL[0], formats=("json",))
    wide = dataclasses.replace(folder.evidence, N=10**30)
    assert str(10**30) in dataset(wide)["data"].tolist()


def test_bad_exports_are_refused(exported, tmp_path):
    """Unknown formats, places that cannot be written and foreign files are refused."""
    _, _, folder, files = exported(SMALL[0])
    assert {"instance.mps", "instance.lp", "dataset.npz", "summary.json"} < set(files)
    assert FORMATS == ("mps", "lp", "libsvm", "npz", "json")
    for formats in ((), ("mps", "xls")):
        with pytest.raises(ArgumentError, match="formats"):
            folder.export(tmp_path / "out", formats)
    (tmp_path / "file").write_text("x y\n z\n")
    with pytest.raises(ArgumentError, match="out"):
        folder.export(tmp_path / "file")
    with pytest.raises(ArgumentError, match="MPS"):
        read_mps(files["instance.lp"])
    with pytest.raises(ArgumentError, match="LIBSVM"):
        read_libsvm(tmp_path / "file", 3)
