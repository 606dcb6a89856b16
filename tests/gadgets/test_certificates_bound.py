"""Laws of what is bound: a change of a certificate or manifest is refused, or provably changes nothing."""

import copy
import hashlib
import json
import warnings

import numpy as np
import pytest
from support.gadgets import small_instance

from geomdp.core.errors import ArgumentError, CertificateError
from lp_gadgets.certify import evidence
from lp_gadgets.files import is_ours
from lp_gadgets.folder import load
from lp_gadgets.instance import HardInstance
from lp_gadgets.strict import difference, read_json, same
from lp_gadgets.tanner import TannerCode
from lp_gadgets.verifier import verify

SOURCES = {
    "layers": ("fano", 2, "parabola", "facets"),
    "combinations": ("chain", 4, "parabola", "facets"),
    "tree": ("wide", 4, "parabola", "tree"),
}
#: The reasons that may be replaced by other ones that are as good: the classifier's weights (recounted), an
#: empty search log by none, and sharper inequalities that are left out where the slack does not need them.
REPLACEABLE = ("witness", "sharper", "decisions")


def _places(value, path=(), most=3):
    """Every place of a JSON value; of long lists the first entries and the last."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*path, key), most)
    elif isinstance(value, list):
        for i in sorted({*range(min(len(value), most)), len(value) - 1} - {-1}):
            yield from _places(value[i], (*path, i), most)


def _others(value):
    """Values that might be mistaken for the given one."""
    if isinstance(value, bool):
        return [not value, int(value), None, "x"]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 0.5, float(value), value == 1, str(value), None, [value]]
    if isinstance(value, str):
        return ["", value + "0", value[:-1], 7, None]
    if value is None:
        return [0, "x", [], {}]
    if isinstance(value, list):
        return [[], value[:-1], value + value[-1:], value[::-1], None, {}, "abc"]
    return [None, [], {**value, "extra": None}]


def edits(document, most=3):
    """Yield (path, copy of the document with one change)."""
    for path in list(_places(document, (), most)):
        if not path:
            for extra in (None, 0):
                yield ("extra",), {**document, "extra": extra}
            continue
        found = document
        for key in path:
            found = found[key]
        for value in [*_others(found), "deleted"]:
            if same(value, found):
                continue
            changed = copy.deepcopy(document)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            if value == "deleted":
                del parent[path[-1]]
            else:
                parent[path[-1]] = value
            yield path, changed


def _verdict(proof, document):
    try:
        return verify(proof, document)
    except CertificateError:
        return None


@pytest.mark.parametrize("F", [0, 1])
@pytest.mark.parametrize(
    "name", ["layers", "combinations", pytest.param("tree", marks=pytest.mark.exhaustive)]
)
def test_a_certificate_with_one_change_is_refused(name, F):
    """Any change is refused, but for reasons that prove the same; folders bind the encoding besides."""
    inst = small_instance(*SOURCES[name])
    u, v = inst.words(F, 1)
    document = json.loads(json.dumps(inst.certify(u, v).to_dict()))
    proof = evidence(inst, u, v)
    base = verify(proof, document)
    for path, changed in edits(document):
        found = _verdict(proof, changed)
        if found is not None:
            assert found == base
            replaceable = path[0] in REPLACEABLE or set(path) & {"sharper", "decisions"}
            assert replaceable or path[:2] in {("label", "encoding"), ("label", "trace")}, path


class Saved:
    """A folder whose documents can be replaced, digests and all."""

    def __init__(self, place, inst, words):
        self.place = place
        inst.save(*words, place)
        self.manifest = read_json((place / "manifest.json").read_text())
        self.certificate = read_json((place / "certificate.json").read_text())

    def verdict(self, manifest=None, certificate=None):
        """Write both and verify: the verdict, or None where it is refused."""
        manifest = copy.deepcopy(self.manifest if manifest is None else manifest)
        text = json.dumps(self.certificate if certificate is None else certificate)
        (self.place / "certificate.json").write_text(text)
        if isinstance(manifest.get("files"), dict) and "certificate.json" in manifest["files"]:
            manifest["files"]["certificate.json"] = hashlib.sha256(text.encode()).hexdigest()
        (self.place / "manifest.json").write_text(json.dumps(manifest))
        try:
            return load(self.place).verify()
        except CertificateError:
            return None

    def arrays(self, file, **changes):
        """Replace arrays of a file, digests and all; the error, or None."""
        with np.load(self.place / file) as old:
            arrays = dict(old) | changes
        np.savez(self.place / file, **{key: value for key, value in arrays.items() if value is not None})
        manifest = copy.deepcopy(self.manifest)
        manifest["files"][file] = hashlib.sha256((self.place / file).read_bytes()).hexdigest()
        (self.place / "manifest.json").write_text(json.dumps(manifest))
        try:
            load(self.place).verify()
        except CertificateError as error:
            return str(error)
        return None


@pytest.mark.parametrize("F", [pytest.param(0, marks=pytest.mark.exhaustive), 1])
def test_a_manifest_with_one_change_is_refused(tmp_path, F):
    """Every field of a manifest is compared with what is found; missing, null and extra keys are refused."""
    inst = small_instance(*SOURCES["layers"])
    saved = Saved(tmp_path, inst, inst.words(F, 1))
    assert saved.verdict() is not None
    for path, changed in edits(saved.manifest, 1 + 2 * (F == 0)):
        if path == ("files", "certificate.json") and "certificate.json" in changed["files"]:
            continue  # the test writes the right digest again
        assert saved.verdict(changed) is None, path


def test_false_labels_are_refused_even_when_both_files_agree(tmp_path):
    """The encoding of checks and of traces is bound to the rows, and every claim to both files."""
    inst = small_instance(*SOURCES["combinations"])
    saved = Saved(tmp_path, inst, inst.words(1, 1))
    for key, value in (
        ("encoding", "implications"),
        ("encoding", "implication tree"),
        ("trace", "implications"),
    ):
        label = saved.certificate["label"] | {key: value}
        assert saved.verdict(saved.manifest | {key: value}, saved.certificate | {"label": label}) is None
    for value in (False, None, 1):
        claims = saved.manifest["claims"] | {"feasible_iff": value}
        certificate = saved.certificate | {"feasible_iff": value}
        assert saved.verdict(saved.manifest | {"claims": claims}, certificate) is None


def test_names_and_layout_of_rows_are_bound(tmp_path):
    """Another name of a row or variable, two equal ones, or another array more or less, is refused."""
    inst = small_instance(*SOURCES["layers"])
    saved = Saved(tmp_path, inst, inst.words(1, 1))
    good = (tmp_path / "program.npz").read_bytes()
    with np.load(tmp_path / "program.npz") as file:
        arrays = dict(file)

    def renamed(stem, old, new):
        text = arrays[stem].tobytes().decode().split("\n")
        assert old in text
        return np.frombuffer("\n".join(new if name == old else name for name in text).encode(), np.uint8)

    first, second = arrays["public_names"].tobytes().decode().split("\n")[:2]
    for changes in (
        {"public_names": renamed("public_names", "out.top", "out.tip")},
        {"public_names": renamed("public_names", first, second)},
        {"pins_names": renamed("pins_names", "zA0.pin0", "zA0.pin7")},
        {"variables": renamed("variables", "zA0.1", "zA0.2")},
        {"extra": np.zeros(1)},
        {"layout": None},
    ):
        (tmp_path / "program.npz").write_bytes(good)
        assert saved.arrays("program.npz", **changes)
    (tmp_path / "program.npz").write_bytes(good)
    assert saved.verdict() is not None


def test_edited_records_are_refused(tmp_path):
    """Cells that are negative, repeated, unordered or outside, and copies of another type, are refused."""
    inst = small_instance(*SOURCES["layers"])
    saved = Saved(tmp_path, inst, inst.words(1, 1))
    good = (tmp_path / "records.npz").read_bytes()
    with np.load(tmp_path / "records.npz") as file:
        cells, copies = file["bob_cells"], file["bob_copies"]
    for changes in (
        {"bob_cells": np.concatenate([cells[:-1], cells[-1:] - inst.records.m])},
        {"bob_cells": cells[::-1].copy(), "bob_copies": copies[::-1].copy()},
        {"bob_cells": np.concatenate([cells[:-1], [10**6]])},
        {"bob_copies": copies.astype(float)},
        {"bob_copies": copies[:-1]},
        {"bob_copies": np.where(np.arange(len(copies)) == 3, copies + 1, copies)},
        {"bob_copies": np.concatenate([copies[:-1], [0]])},
        {"bob_cells": None},
        {"extra": cells},
    ):
        (tmp_path / "records.npz").write_bytes(good)
        assert saved.arrays("records.npz", **changes)


def test_an_empty_array_file_is_a_sentence(tmp_path):
    """An empty array file with the right digest ends in a sentence."""
    inst = small_instance(*SOURCES["layers"])
    saved = Saved(tmp_path, inst, inst.words(1, 1))
    for file in ("records.npz", "program.npz"):
        good = (tmp_path / file).read_bytes()
        for content in (b"", b"PK", good[:50]):
            (tmp_path / file).write_bytes(content)
            manifest = copy.deepcopy(saved.manifest)
            manifest["files"][file] = hashlib.sha256(content).hexdigest()
            (tmp_path / "manifest.json").write_text(json.dumps(manifest))
            with pytest.raises(CertificateError, match="Step 'reading'"):
                load(tmp_path)
        (tmp_path / file).write_bytes(good)


def test_a_free_name_is_a_label_and_a_recipe_is_not(tmp_path):
    """A name that is no recipe may be any text, in both files; the graph is bound by its checks."""
    inst = HardInstance(TannerCode(3, ((0, 1), (1, 2)), "mine"), J=20)
    saved = Saved(tmp_path, inst, inst.words(1))
    for name, fine in (("yours", True), ("qc:16", False), ("geometry:Fano", False)):
        manifest = saved.manifest | {"code": saved.manifest["code"] | {"name": name}}
        certificate = saved.certificate | {"label": saved.certificate["label"] | {"code": name}}
        assert (saved.verdict(manifest, certificate) is not None) is fine


def test_two_readings_of_a_json_text_are_refused():
    """A key that occurs twice and a number that is none are refused; comparisons tell types apart."""
    for text in ('{"a": 1, "a": 2}', '{"a": NaN}', "[Infinity]", "{"):
        with pytest.raises(ValueError):  # noqa: PT011 (the text of the standard library)
            read_json(text)
    assert difference({"a": 1}, {"a": True}) == "a"
    assert difference({"a": {"b": [1]}}, {"a": {"b": [1.0]}}) == "a.b"


FILES = ("manifest.json", "program.npz", "records.npz", "certificate.json")
EXPORTS = ("instance.mps", "instance.lp", "alice.libsvm", "bob.libsvm", "dataset.npz", "summary.json")


def test_foreign_files_are_never_overwritten(tmp_path, monkeypatch):
    """A file under one of our names is replaced only if it holds what we write; else nothing is done."""
    inst = small_instance(*SOURCES["layers"])
    words = inst.words(1)
    place, out = tmp_path / "inst", tmp_path / "out"
    inst.save(*words, place)
    folder = load(place)
    for repeat in (True, False):
        folder.export(out, repeat=repeat)  # over earlier ones
        inst.save(*words, place)
    assert all(is_ours(place / name) for name in FILES)
    assert all(is_ours(out / name) for name in EXPORTS)
    monkeypatch.setattr("lp_gadgets.certify.certify", None)  # no work before the refusal
    foreign = {
        ".json": b'{"format": "theirs", "manifest": 1}',
        ".npz": (out / "dataset.npz").read_bytes()[:200],
        ".mps": b"NAME instance\nROWS\n N cost\n",
        ".lp": b"Minimize\n cost: 2 x\n",
        ".libsvm": b"-1 3:1 # 2\n+1 4:2\n",
    }
    for where, names, write in (
        (place, FILES, lambda: inst.save(*words, place)),
        (out, EXPORTS, lambda: folder.export(out)),
    ):
        for name in names:
            good = (where / name).read_bytes()
            for content in (foreign["." + name.rpartition(".")[2]], b""):
                (where / name).write_bytes(content)
                before = {path.name: path.read_bytes() for path in where.iterdir()}
                with pytest.raises(ArgumentError, match=name):
                    write()
                assert {path.name: path.read_bytes() for path in where.iterdir()} == before
            (where / name).unlink()
            (where / name).mkdir()
            with pytest.raises(ArgumentError, match=name):
                write()
            (where / name).rmdir()
            (where / name).write_bytes(good)


def test_weak_graphs_are_advised_only_what_helps():
    """No seed is advised where none helps; an advised seed, and its best_of, give a graph without twins."""
    for sizes, seed in (({"K": 8}, 1), ({"K": 16, "dv": 2, "dc": 4}, 0), ({"K": 32}, 1)):
        with pytest.warns(Warning, match="share all their checks") as caught:
            TannerCode.biregular(**sizes, seed=seed)
        text = str(caught[0].message)
        assert ("seed=" in text.partition("at most")[2]) is ("K" in sizes and sizes["K"] == 32)
    advised = int(text.partition("best_of=")[2].partition(",")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TannerCode.biregular(32, seed=1, best_of=advised)
