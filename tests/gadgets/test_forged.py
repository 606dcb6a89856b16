"""Laws of forged instances: no number wraps around, nothing is unfolded or written before it is proved."""

import base64
import copy
import dataclasses
import hashlib
import json
import tracemalloc
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from support.gadgets import small_instance

from geomdp.core.errors import ArgumentError, CapacityError, CertificateError
from geomdp.core.sample import MAX_RECORDS
from lp_gadgets import export as exporting
from lp_gadgets.certify import evidence
from lp_gadgets.embedding import Embedding
from lp_gadgets.folder import load
from lp_gadgets.gadgets.forcing import Gadget, check_combinations, in_layers, key_of, rows_are_valid
from lp_gadgets.graphs.proof import MAX_DECISIONS, StoppingProof
from lp_gadgets.hull import Completeness, Hull
from lp_gadgets.instance import HardInstance
from lp_gadgets.layout import Layout
from lp_gadgets.records import MAX_COPIES
from lp_gadgets.sparse import MAX_ENTRY, SparseRows
from lp_gadgets.stopping import StoppingDistance
from lp_gadgets.tanner import TannerCode
from lp_gadgets.verifier import _Check, verify

LEAST = -(2**63)


@pytest.fixture(scope="module")
def proved():
    """A small instance, the evidence of a pair with F = 1, and its certificate."""
    inst = small_instance("fano", 4, "parabola", "facets")
    u, v = inst.words(1)
    return inst, evidence(inst, u, v), inst.certify(u, v).document


def _held(proof, J):
    """The copies of an instance with J in place of its own number of public copies."""
    held = [copies.copy() for copies in proof.held]
    held[0][0] = held[1][1] = J
    held[1][2 : 2 + len(proof.public)] = J
    return tuple(held)


# ------------------------------------------------------------------- sums of copies


def test_mistakes_are_counted_in_python_integers(proved):
    """Mistakes on copies whose int64 sum would be 0 are counted as a Python sum counts them."""
    _, proof, _ = proved
    x = np.full(proof.public.columns, 7)
    held = _held(proof, 2**62)
    wrong = proof.records.wrong(x, 1)
    slow = sum(
        int(c) for own, bad in zip(held, wrong, strict=True) for c, b in zip(own, bad, strict=True) if b
    )
    assert slow >= 2**64
    assert proof.records.mistakes(x, 1, held) == slow


@pytest.mark.parametrize(("name", "value"), [("J", 2**62), ("J", MAX_COPIES + 1), ("L", 2**62), ("J", 0)])
def test_copies_beyond_the_stated_sizes_are_refused(proved, name, value):
    """A number of copies that no instance can have does not verify, even where every record agrees."""
    _, proof, document = proved
    changed = dataclasses.replace(proof, **{name: value})
    if name == "J":
        changed = dataclasses.replace(changed, held=_held(proof, value))
    label = document["label"] | {name: value}
    with pytest.raises(CertificateError, match="sizes"):
        verify(changed, document | {"label": label})


@pytest.mark.parametrize("count", [MAX_RECORDS, 2**62, -1])
def test_samples_beyond_the_stated_size_are_refused(proved, count):
    """Padding that makes a party hold more records than a sample can, or fewer than none, does not verify."""
    _, proof, document = proved
    held = [copies.copy() for copies in proof.held]
    held[0][0] = count
    with pytest.raises(CertificateError, match="sizes"):
        verify(dataclasses.replace(proof, held=tuple(held)), document)


def test_bounds_that_contradict_each_other_are_refused(proved, monkeypatch):
    """A verdict whose lower bound exceeds its upper bound is never given."""
    _, proof, document = proved
    monkeypatch.setattr(_Check, "_mistakes", lambda self: 1)
    with pytest.raises(CertificateError, match="at least 12 and at most 1"):
        verify(proof, document)


# ------------------------------------------------------------------- products of rows


def _with_row(proof, document, value, bound):
    """The instance with one more row, value z2 <= bound, in the first trace gadget, and its certificate."""
    lay = proof.layout
    at = next(i for i, block in enumerate(lay.blocks) if block.kind == "trace")
    block = lay.blocks[at]
    place, column = block.first + block.count, lay.columns(block.names[0])[1]
    entries = list(proof.public.entries())
    rows, names = [(index, values, b) for _, index, values, b in entries], [name for name, *_ in entries]
    rows.insert(place, ([column], [value], bound))
    names.insert(place, "extra")
    public = SparseRows.of(proof.public.columns, rows, names)
    blocks = [
        dataclasses.replace(b, first=b.first + (i > at), count=b.count + (i == at))
        for i, b in enumerate(lay.blocks)
    ]
    held = tuple(np.insert(own, 2 + place, proof.J if word else 0) for word, own in enumerate(proof.held))
    document, gadget = copy.deepcopy(document), Gadget("trace", 0, proof.embedding)
    old = key_of(gadget, lay.local(proof.public, block))
    changed = Layout(lay.variables, tuple(blocks))
    document["gadgets"][key_of(gadget, changed.local(public, blocks[at]))] = document["gadgets"][old]
    document["farkas"]["public"] = [[r + (r >= place), y] for r, y in document["farkas"]["public"]]
    return dataclasses.replace(proof, layout=changed, public=public, held=held), document


def test_a_row_that_only_wraps_into_validity_is_refused(proved, monkeypatch):
    """2^62 z2 <= 2^62 fails at z2 = 4, though the product is 0 in 64 bits: it never verifies."""
    _, proof, document = proved
    forged = _with_row(proof, document, 2**62, 2**62)
    with pytest.raises(CertificateError, match="sizes"):
        verify(*forged)
    monkeypatch.setattr(_Check, "_sizes", lambda self: None)  # found without the limits, too
    with pytest.raises(CertificateError, match="claims"):
        verify(*forged)


@pytest.mark.parametrize("part", ["start", "index", "value", "bound"])
def test_malformed_rows_are_refused(proved, part):
    """Rows whose arrays are out of order, too short or of another type do not verify."""
    _, proof, document = proved
    array = getattr(proof.public, part)
    for wrong in (
        array[:-1],
        array.astype(np.int32),
        array[None],
        *([array[::-1]] * (part in {"start", "index"})),
    ):
        public = dataclasses.replace(proof.public, **{part: wrong})
        with pytest.raises(CertificateError, match="malformed"):
            verify(dataclasses.replace(proof, public=public), document)


@pytest.mark.parametrize(("part", "value"), [("value", MAX_ENTRY), ("value", LEAST), ("bound", -MAX_ENTRY)])
@pytest.mark.parametrize("rows", ["public", "pins"])
def test_large_entries_are_refused(proved, rows, part, value):
    """A coefficient or bound of 2^31 or more in absolute value, public or in a pin, does not verify."""
    _, proof, document = proved
    array = getattr(getattr(proof, rows), part).copy()
    array[5] = value
    changed = dataclasses.replace(getattr(proof, rows), **{part: array})
    with pytest.raises(CertificateError, match="sizes"):
        verify(dataclasses.replace(proof, **{rows: changed}), document)


@pytest.mark.parametrize("a", [2**62, LEAST, 3 * 2**61, 1])
@pytest.mark.parametrize("b", [2**62, LEAST, 0])
def test_rows_of_gadgets_are_evaluated_exactly(a, b):
    """Whether a row holds for all tuples of a gadget is what Python integers say, whatever its size."""
    for gadget in (Gadget("trace", 0, Embedding(4)), Gadget("check", 10, Embedding(4, "cube"))):
        A = np.zeros((1, sum(gadget.widths)), dtype=np.int64)
        A[0, 1] = a
        top = max(a * int(z) for z in ([0, 1, 4, 9] if gadget.kind == "trace" else [0, 1]))
        assert rows_are_valid(gadget, (A, np.array([b]))) == (top <= b)


def test_products_of_sparse_rows_are_exact():
    """A x and b - A x are those of Python integers, also for the least int64 and rows that add up to more."""
    rows = SparseRows.of(
        2, [([0], [LEAST], LEAST), ([0, 1], [2**62, 2**62], 0), ([1], [1], 7)], ("a", "b", "c")
    )
    for point in (np.array([1, 1]), np.array([-1, 3]), np.array([2**61, 5])):
        x, y = map(int, point)
        wanted = [LEAST * x, 2**62 * (x + y), y]
        assert rows.products(point).tolist() == wanted
        assert rows.slacks(point, 3).tolist() == [3 * LEAST - wanted[0], -wanted[1], 21 - wanted[2]]


def test_the_least_integer_is_negated_exactly():
    """Rows with -2^63 are neither read as layers, nor as combinations of themselves with the wrong sign."""
    gadget = Gadget("parity", 0, Embedding(2))
    A = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, LEAST]])
    b = np.array([2, 0, 0, 0])
    assert not in_layers(gadget, (A, b))
    count = len(gadget.tuples()) * len(gadget.targets())
    with pytest.raises(CertificateError):
        check_combinations(gadget, (A, b), [([3], [1], 1)] * count)
    hull = Hull(
        np.array([[0]]), 1, np.array([[LEAST]]), np.array([0]), A[:0, :1], b[:0], Completeness("", 1, 0, 1, 0)
    )
    assert hull.functions.tolist() == [[2**63, 0]]


@pytest.mark.parametrize("weight", [1, 2**62, 2**70])
def test_inequalities_of_large_weights_are_exact(weight):
    """A forcing inequality has the coefficients that Python integers give for its weights."""
    gadget = Gadget("check", 3, Embedding(4))
    f = gadget.inequality(np.array([3, 3, 0]), 2, [weight, weight])
    assert f.tolist() == [-6 * weight, weight, -6 * weight, weight, 0, -1, 18 * weight]


def test_a_check_without_its_row_is_refused():
    """A check of one symbol whose block has no row of its own does not verify."""
    inst = small_instance("degenerate", 2, "parabola", "facets")
    u, v = inst.words(0)
    proof, document = evidence(inst, u, v), inst.certify(u, v).document
    blocks = proof.layout.blocks
    at = next(i for i, block in enumerate(blocks) if block.kind == "check" and len(block.names) == 1)
    gone = blocks[at].first
    public = proof.public.select([r for r in range(len(proof.public)) if r != gone])
    moved = [
        dataclasses.replace(b, first=b.first - (i > at), count=b.count - (i == at))
        for i, b in enumerate(blocks)
    ]
    layout = Layout(proof.layout.variables, tuple(moved))
    held = tuple(np.delete(own, 2 + gone) for own in proof.held)
    with pytest.raises(CertificateError, match="one symbol"):
        verify(dataclasses.replace(proof, layout=layout, public=public, held=held), document)


# ------------------------------------------------------------------- logs and folders


@pytest.mark.parametrize(
    "counts",
    [[3 * 10**9 // 2], [MAX_DECISIONS + 1], [2**62], [2**70], [5, -5], [-1], [1]],
    ids=str,
)
def test_no_log_is_unfolded_beyond_its_counts(counts):
    """Counts that are negative, or of more decisions than are written, are refused in little memory."""
    packed = base64.b64encode(zlib.compress(bytes(2 * 10**7), 9)).decode()
    data = {"lower": 3, "graph": "", "counts": counts, "decisions": packed}
    tracemalloc.start()
    try:
        with pytest.raises(CertificateError, match="reading"):
            StoppingProof.from_dict(data)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
    whole = {"lower": 3, "upper": 3, "witness": [0, 1, 2], "proof": data}
    with pytest.raises(CertificateError, match="reading"):
        StoppingDistance.from_dict(whole)
    with pytest.raises(CertificateError, match="reading"):
        StoppingDistance.from_dict(whole | {"seconds": 10**400})


@pytest.fixture
def signed(tmp_path):
    """Write a small instance; return its folder and a function that replaces a file, digest included."""
    HardInstance(TannerCode.geometry("Fano"), J=20).save([1, 0, 1], [1, 1, 0], tmp_path / "inst")
    place = tmp_path / "inst"

    def change(name, **arrays):
        with np.load(place / name) as file:
            everything = dict(file) | arrays
        np.savez_compressed(place / name, **everything)
        manifest = json.loads((place / "manifest.json").read_text())
        manifest["files"][name] = hashlib.sha256((place / name).read_bytes()).hexdigest()
        (place / "manifest.json").write_text(json.dumps(manifest))

    return place, change


def _edit(place, **values):
    path = place / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("values", [{"J": 2**62}, {"L": 2**41}, {"J": True}, {"n": 2**64 + 2841}], ids=str)
def test_numbers_of_a_manifest_are_bounded(signed, values):
    """A manifest with more copies than an instance can have, or n off by 2^64, is refused."""
    place, _ = signed
    _edit(place, **values)
    with pytest.raises(CertificateError):
        load(place).verify()


def test_arrays_of_a_folder_have_their_types(signed, monkeypatch):
    """Copies beyond a sample, texts of another type, cells out of order and bombs are refused on reading."""
    place, change = signed
    with np.load(place / "records.npz") as file:
        cells, copies = file["alice_cells"], file["alice_copies"]
    with np.load(place / "program.npz") as file:
        names = file["public_names"]
    far = cells.copy()
    far[0], far[-1] = 2**63 - 1, LEAST
    for name, wrong, right in (
        ("records.npz", {"alice_copies": copies * 0 + 2**54}, {"alice_copies": copies}),
        ("records.npz", {"alice_cells": far}, {"alice_cells": cells}),
        ("program.npz", {"public_names": names.reshape(1, -1)}, {"public_names": names}),
        ("program.npz", {"public_names": names.astype(np.int64)}, {"public_names": names}),
    ):
        change(name, **wrong)
        with pytest.raises(CertificateError, match="reading"):
            load(place)
        change(name, **right)
    assert load(place).verify().opt_lower == 12
    monkeypatch.setattr("lp_gadgets.folder.MAX_BYTES", 1000)
    with pytest.raises(CertificateError, match="more than 1000 bytes"):
        load(place)


def test_names_with_control_characters_are_refused():
    """A graph's name is one line of printable text."""
    for name in ("a\nb", "a\x1b[31mb", "\0"):
        with pytest.raises(ArgumentError, match="name"):
            TannerCode(3, ((0, 1),), name)
    assert TannerCode(3, ((0, 1),), "my code, é").name == "my code, é"


# ------------------------------------------------------------------- exports


def test_nothing_is_exported_that_does_not_verify(signed, tmp_path):
    """An edited manifest, or a name that a model file cannot hold, is refused before anything is written."""
    place, _ = signed
    claims = json.loads((place / "manifest.json").read_text())["claims"]
    good = load(place)
    _edit(place, claims=claims | {"opt_lower": 999})
    with pytest.raises(CertificateError, match="manifest"):
        load(place).export(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    variables = ("a b", *good.evidence.layout.variables[1:])
    layout = dataclasses.replace(good.evidence.layout, variables=variables)
    forged = SimpleNamespace(
        evidence=dataclasses.replace(good.evidence, layout=layout),
        manifest=good.manifest,
        verify=lambda progress: None,
    )
    with pytest.raises(CertificateError, match="legal"):
        exporting.export(forged, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_repeated_copies_are_written_in_chunks_and_bounded(signed, tmp_path, monkeypatch):
    """With repeat the file is every line as often as there are copies; too many lines are refused at once."""
    place, _ = signed
    folder = load(place)
    monkeypatch.setattr(exporting, "CHUNK", 40)
    (path,) = (p for p in folder.export(tmp_path / "a", ["libsvm"], True) if p.name == "bob.libsvm")
    lines = []
    for features, copies in exporting.record_lines(folder.evidence, 1):
        lines += ["+1" + "".join(f" {i}:{a}" for i, a in features.items())] * copies
    assert path.read_text().splitlines() == lines
    monkeypatch.setattr(exporting, "MAX_LINES", 2 * len(lines) - 1)
    with pytest.raises(CapacityError, match="repeat"):
        folder.export(tmp_path / "b", ["libsvm"], True)
    assert not (tmp_path / "b").exists()
    assert folder.export(tmp_path / "b", ["libsvm"])


# ------------------------------------------------------------------- stopping distances of others


def test_only_the_stopping_distance_of_this_graph_is_taken():
    """A stopping distance of another graph, or one whose proof fails, makes no instance."""
    fano, other = TannerCode.geometry("Fano"), TannerCode.geometry("GQ(2,2)")
    own = fano.stopping_distance()
    assert HardInstance(fano, stopping=own).D == 4
    for stopping in (other.stopping_distance(), SimpleNamespace(lower=9, witness=()), 4):
        with pytest.raises(ArgumentError, match="stopping"):
            HardInstance(fano, stopping=stopping)
    proof = dataclasses.replace(own.proof, lower=5)
    with pytest.raises(CertificateError):
        HardInstance(fano, stopping=dataclasses.replace(own, lower=5, upper=5, proof=proof))
    proof = dataclasses.replace(own.proof, lower=-3, decisions=None, counts=())
    with pytest.raises(CertificateError, match="bounds"):
        HardInstance(fano, stopping=dataclasses.replace(own, lower=-3, proof=proof))


def test_instances_that_no_sample_can_hold_are_refused_before_the_search():
    """J and L at their largest make more records than a sample may hold: refused, with nothing searched."""
    with pytest.raises(CapacityError, match="n"):
        HardInstance(TannerCode.biregular(64, seed=3), J=2**40, time_limit=-1)
