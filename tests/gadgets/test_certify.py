"""Laws of certificates: they verify without a solver, survive the disk, and any planted flaw is found."""

import copy
import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from support.gadgets import SMALL, small_instance

from geomdp.core.errors import ArgumentError, CertificateError
from lp_gadgets import catalogue
from lp_gadgets.certify import certify, evidence
from lp_gadgets.folder import load, save
from lp_gadgets.instance import HardInstance
from lp_gadgets.layout import Block, Layout
from lp_gadgets.public import PublicInstance
from lp_gadgets.tanner import TannerCode
from lp_gadgets.verifier import verify

FANO = ("fano", 4, "parabola", "facets")


def built(small=FANO, F=1):
    """An instance, a pair's evidence and its certificate after a trip through JSON."""
    inst = small_instance(*small)
    u, v = inst.words(F, 1)
    document = json.loads(json.dumps(inst.certify(u, v).to_dict()))
    return inst, evidence(inst, u, v), document


@pytest.mark.parametrize("F", [0, 1])
@pytest.mark.parametrize("small", SMALL, ids=str)
def test_certificates_verify_for_every_encoding(small, F):
    """The verdict after a trip through JSON is that of the instance, and the optimum is known for F = 0."""
    inst, proof, document = built(small, F)
    verdict = verify(proof, document)
    assert (verdict.F, verdict.erasure_threshold, verdict.feasible_iff) == (F, inst.D, True)
    assert verdict.opt_lower == F * inst.gap <= verdict.opt_upper
    assert F or verdict.opt_upper == 0


def test_the_verifier_needs_no_solver(tmp_path):
    """Verifying a folder imports no solver, no compiled code and no hull."""
    inst = HardInstance(TannerCode.quasi_cyclic(16))
    inst.save(*inst.words(1), tmp_path)
    code = (
        "import sys; from lp_gadgets.folder import load; v = load(sys.argv[1]).verify();"
        "print(v.opt_lower, sorted({'highspy', 'cvxpy', 'scipy', 'numba', 'sympy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1:] == ["[]"]


@pytest.mark.parametrize("F", [0, 1])
def test_false_claims_are_refused(F):
    """Each claim of a certificate is derived again; a claim that is off by one does not verify."""
    _, proof, document = built(F=F)
    for name in ("erasure_threshold", "opt_lower", "opt_upper", "F"):
        with pytest.raises(CertificateError, match=name):
            verify(proof, document | {name: document[name] + 1})
    with pytest.raises(CertificateError, match="word u"):
        verify(proof, document | {"u": [x ^ 1 for x in document["u"]]})
    for name in document:
        if name not in ("format",) + ("farkas",) * (1 - F):
            with pytest.raises(CertificateError):
                verify(proof, {key: value for key, value in document.items() if key != name})


def _farkas_bigger(document):
    document["farkas"]["public"][3][1] += 1


def _farkas_negative(document):
    document["farkas"]["pins"][0][1] = -1


def _farkas_other_pin(document):
    document["farkas"]["pins"][0][0] ^= 1


def _farkas_empty(document):
    document["farkas"] = {"public": [], "pins": []}


def _witness_moved(document):
    document["witness"]["numerators"][0] += 1


def _witness_short(document):
    document["witness"]["numerators"].pop()


def _witness_floats(document):
    document["witness"]["numerators"][0] = 0.5


def _witness_denominator(document):
    document["witness"]["denominator"] = 0


def _gadget_missing(document):
    document["gadgets"].clear()


def _gadget_wrong(document):
    next(g for g in document["gadgets"].values() if g["combinations"])["combinations"][0][1][0] += 1


def _stopping_proof(document):
    document["stopping"]["proof"]["lower"] += 1
    document["stopping"]["lower"] += 1


def _stopping_witness(document):
    document["stopping"]["witness"][0] = 6 - document["stopping"]["witness"][0]


FLAWS = [
    value
    for name, value in sorted(globals().items())
    if name.startswith(("_farkas", "_wit", "_gad", "_stop"))
]


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.__name__)
def test_planted_flaws_of_certificates_are_found(flaw):
    """A certificate with one number changed does not verify."""
    _, proof, document = built()
    flaw(document)
    with pytest.raises(CertificateError):
        verify(proof, document)


def _change(proof, **changes):
    return dataclasses.replace(proof, **changes)


def _rows(rows, part, place, by):
    values = getattr(rows, part).copy()
    values[place] += by
    return dataclasses.replace(rows, **{part: values})


def _held(proof, word, place, by):
    held = [counts.copy() for counts in proof.held]
    held[word][place] += by
    return dataclasses.replace(proof, held=tuple(held))


def damaged(proof):
    """Instances with one thing changed, by name."""
    blocks = proof.layout.blocks
    checks = [i for i, block in enumerate(blocks) if block.kind == "check"]
    pins = 2 + len(proof.public)
    fewer = [block for i, block in enumerate(blocks) if i != checks[0]]
    renamed = list(blocks)
    renamed[checks[0]] = dataclasses.replace(blocks[checks[0]], owner=blocks[checks[1]].owner)
    swapped = list(blocks)
    swapped[checks[0]] = dataclasses.replace(blocks[checks[0]], names=blocks[checks[1]].names)
    other = [
        block if block.kind != "end" else Block("end", ("r0",), block.first, block.count) for block in blocks
    ]
    strange = [
        dataclasses.replace(block, kind="mystery") if i == checks[0] else block
        for i, block in enumerate(blocks)
    ]
    row = blocks[checks[0]].first
    held_pin = int(np.flatnonzero(proof.held[0][pins:])[0]) + pins
    variables = proof.layout.variables
    return {
        "coefficient of a check": _change(
            proof, public=_rows(proof.public, "value", int(proof.public.start[row]), 1)
        ),
        "bound of a check": _change(proof, public=_rows(proof.public, "bound", row, 1)),
        "tighter bound": _change(proof, public=_rows(proof.public, "bound", row, -1)),
        "bound of out.top": _change(proof, public=_rows(proof.public, "bound", len(proof.public) - 1, 1)),
        "pin": _change(proof, pins=_rows(proof.pins, "bound", 3, 1)),
        "pin coefficient": _change(proof, pins=_rows(proof.pins, "value", 3, 1)),
        "pin of another symbol": _change(proof, pins=_rows(proof.pins, "index", 0, 2)),
        "slack": _change(proof, N=proof.N - 1),
        "J": _change(proof, J=proof.J + 1),
        "L": _change(proof, L=proof.L + 1),
        "missing copy of a public record": _held(proof, 1, 2, -1),
        "missing copy of a pin": _held(proof, 0, held_pin, -1),
        "second pin": _held(proof, 0, pins + (1 if held_pin == pins else 0), 1),
        "pin of the other party": _held(proof, 1, held_pin, 1),
        "public record of Alice": _held(proof, 0, 5, 1),
        "anchor": _held(proof, 0, 0, -(10**6)),
        "another anchor": _held(proof, 0, 1, 1),
        "another word": _change(
            proof, held=(np.roll(proof.held[0], 0) * 0 + _shift(proof, pins), proof.held[1])
        ),
        "graph": _change(proof, code=TannerCode(7, proof.code.checks[1:])),
        "richer graph": _change(proof, code=TannerCode(7, (*proof.code.checks, (0, 1)))),
        "message": _change(proof, message=proof.message[::-1]),
        "message that determines nothing": _change(proof, message=(0, 1, 3)),
        "fewer message symbols": _change(proof, message=proof.message[:-1]),
        "block missing": _change(proof, layout=Layout(variables, tuple(fewer))),
        "blocks with one owner": _change(proof, layout=Layout(variables, tuple(renamed))),
        "block of other symbols": _change(proof, layout=Layout(variables, tuple(swapped))),
        "end of another bit": _change(proof, layout=Layout(variables, tuple(other))),
        "strange block": _change(proof, layout=Layout(variables, tuple(strange))),
        "variable twice": _change(proof, layout=Layout((variables[1], *variables[1:]), blocks)),
        "fewer blocks": _change(proof, layout=Layout(variables, blocks[:-1])),
    }


def _shift(proof, pins):
    """Alice's counts with her first pin moved to another label."""
    counts = proof.held[0].copy()
    q = proof.embedding.q
    first = counts[pins : pins + q].copy()
    counts[pins : pins + q] = np.roll(first, 1)
    return counts


@pytest.mark.parametrize("F", [0, 1])
def test_damaged_instances_are_found(F):
    """An instance with one row, copy, symbol or label changed does not verify, whatever F is."""
    _, proof, document = built(F=F)
    for name, wrong in damaged(proof).items():
        with pytest.raises(CertificateError):
            pytest.fail(f"{name}: {verify(wrong, document)}")


def test_sharper_weights_are_part_of_the_proof():
    """A tree over F_4 verifies with its small slack; without its sharper weights, or a false one, not."""
    inst, proof, document = built(("wide", 4, "parabola", "tree"))
    own = [gadget for gadget in document["gadgets"].values() if gadget.get("sharper")]
    assert inst.N < 9**3
    assert verify(proof, document).opt_lower == inst.gap
    own[0]["sharper"][0][2][0] -= 1
    with pytest.raises(CertificateError, match="combination"):
        verify(proof, document)
    for gadget in own:
        gadget["sharper"] = []
    with pytest.raises(CertificateError, match="slack"):
        verify(proof, document)


@pytest.mark.parametrize("small", [("wide", 4, "parabola", "tree"), ("wide", 2, "parabola", "tree")], ids=str)
def test_broken_trees_are_found(small):
    """A check whose nodes share a symbol too many, or whose node is missing, does not verify."""
    _, proof, document = built(small)
    nodes = [i for i, block in enumerate(proof.layout.blocks) if block.owner == ("A", 0)]
    blocks = list(proof.layout.blocks)
    first, second = blocks[nodes[0]], blocks[nodes[1]]
    for changed in (
        dataclasses.replace(first, owner=("B", 0)),
        dataclasses.replace(first, owner=("A", 99)),
        dataclasses.replace(first, names=second.names),
        dataclasses.replace(first, names=(first.names[0], first.names[0], first.names[2])),
    ):
        trial = list(blocks)
        trial[nodes[0]] = changed
        with pytest.raises(CertificateError):
            verify(dataclasses.replace(proof, layout=Layout(proof.layout.variables, tuple(trial))), document)


def test_folders_survive_the_disk(tmp_path):
    """What is read back has the rows, samples and verdict of what was written; twice gives equal files."""
    inst = HardInstance(TannerCode.geometry("EG(2,4)"), q=4)
    u, v = inst.words(1)
    for place in ("a", "b"):
        made = inst.save(u, v, tmp_path / place)
    for file in ("manifest.json", "program.npz", "records.npz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    found = load(tmp_path / "a")
    assert found.evidence.public.sha256 == inst.program.public.sha256
    assert found.evidence.public.names == inst.program.public.names
    assert found.verify().opt_lower == made.opt_lower == inst.gap
    for mine, read in zip(inst.encode(u, v), found.samples, strict=True):
        assert mine.domain == read.domain
        assert np.array_equal(mine.cells, read.cells)
        assert np.array_equal(mine.positives, read.positives)


def test_damaged_folders_are_refused(tmp_path):
    """A missing, truncated or edited file, or a false manifest, ends in a sentence that names it."""
    inst = HardInstance(TannerCode.geometry("Fano"))
    inst.save([1, 0, 1], [1, 1, 0], tmp_path)
    good = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    manifest = json.loads(good["manifest.json"])

    def trial(**files):
        for name, content in (good | {key.replace("_", "."): value for key, value in files.items()}).items():
            (tmp_path / name).write_bytes(content)
        with pytest.raises(CertificateError) as caught:
            load(tmp_path).verify()
        return str(caught.value)

    assert "program.npz" in trial(program_npz=good["program.npz"][:-5])
    assert "certificate.json" in trial(certificate_json=good["certificate.json"].replace(b"1", b"0", 1))
    assert "JSON" in trial(manifest_json=b"{")
    for key, value in (
        ("format", "other"),
        ("J", 21),
        ("slack", "1/0"),
        ("slack", "x"),
        ("q", 3),
        ("code", {}),
        ("message", None),
        ("embedding", "sphere"),
        ("claims", manifest["claims"] | {"opt_lower": 99}),
        ("files", {}),
    ):
        assert "Step" in trial(manifest_json=json.dumps(manifest | {key: value}).encode())
    for name, content in good.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "records.npz").unlink()
    with pytest.raises(CertificateError, match=r"records\.npz"):
        load(tmp_path)
    with pytest.raises(ArgumentError, match="manifest"):
        load(tmp_path / "nowhere")
    with pytest.raises(ArgumentError, match="folder"):
        inst.save([1, 0, 1], [1, 1, 0], tmp_path / "manifest.json")


def test_every_statement_of_a_manifest_is_checked(tmp_path):
    """A manifest that states another size, diameter, digest, encoding or optimum does not verify."""
    inst = HardInstance(TannerCode.geometry("Fano"))
    inst.save([1, 0, 1], [1, 1, 0], tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert load(tmp_path).verify().opt_lower == 12
    for key, value in (
        ("size", {"variables": 1, "public_rows": 1, "points": 1}),
        ("diameters", [1, 21]),
        ("sha256", manifest["sha256"] | {"public_rows": "0"}),
        ("predicted", {"opt": 3}),
        ("encoding", "tree"),
        ("trace", "implications"),
        ("n", 1),
        ("k", 2),
    ):
        (tmp_path / "manifest.json").write_text(json.dumps(manifest | {key: value}))
        with pytest.raises(CertificateError, match=key):
            load(tmp_path).verify()


@pytest.mark.parametrize("text", ["qc:16", "peg:16:dv=3:dc=6:seed=2", "biregular:16", "geometry:Fano"])
def test_a_graph_with_a_wrong_name_does_not_verify(text, tmp_path):
    """The graph is made again from its name; another name fails in manifest, certificate, or both."""
    import hashlib

    code = TannerCode.from_text(text)
    HardInstance(code).save(*HardInstance(code).words(1), tmp_path)
    assert load(tmp_path).verify().F == 1
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    document = json.loads((tmp_path / "certificate.json").read_text())
    for name in ("qc:16:dv=4:dc=8:seed=5", "qc:99999", "geometry:GQ(2,2)", "qc", "peg:x", "fine", ""):
        changed = copy.deepcopy(manifest)
        changed["code"]["name"] = name
        (tmp_path / "manifest.json").write_text(json.dumps(changed))
        with pytest.raises(CertificateError, match="label"):
            load(tmp_path).verify()
        if name in ("fine", ""):
            continue  # promises nothing, so a certificate may hold it
        label = document["label"] | {"code": name}
        (tmp_path / "certificate.json").write_text(json.dumps(document | {"label": label}))
        digest = hashlib.sha256((tmp_path / "certificate.json").read_bytes()).hexdigest()
        changed["files"]["certificate.json"] = digest
        (tmp_path / "manifest.json").write_text(json.dumps(changed))
        with pytest.raises(CertificateError, match="not the one named"):
            load(tmp_path).verify()
        (tmp_path / "certificate.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


def test_edited_arrays_are_refused(tmp_path):
    """Arrays of the wrong type, order or range are refused even with the right digest."""
    import hashlib

    inst = HardInstance(TannerCode.geometry("Fano"))
    inst.save([1, 0, 1], [1, 1, 0], tmp_path)
    with np.load(tmp_path / "program.npz") as file:
        arrays = dict(file)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    for name, value in (
        ("public_index", arrays["public_index"][::-1].copy()),
        ("public_index", arrays["public_index"] + 99),
        ("public_value", arrays["public_value"].astype(float)),
        ("public_start", arrays["public_start"] - 1),
        ("public_bound", arrays["public_bound"][1:]),
        ("layout", arrays["layout"][5:]),
        ("pins_names", arrays["pins_names"][3:9]),
    ):
        np.savez(tmp_path / "program.npz", **(arrays | {name: value}))
        digest = hashlib.sha256((tmp_path / "program.npz").read_bytes()).hexdigest()
        changed = copy.deepcopy(manifest)
        changed["files"]["program.npz"] = digest
        (tmp_path / "manifest.json").write_text(json.dumps(changed))
        with pytest.raises(CertificateError):
            load(tmp_path).verify()


@pytest.mark.parametrize("name", ["fano-2", "fano-2-match", "quadrangle-4", "hexagon-2", "cyclic-32-4-tree"])
def test_catalogue_entries_can_be_built_again(name, tmp_path):
    """What is built from an entry's parameters has its digests and bounds, and its folder verifies."""
    entry = catalogue.build(name, tmp_path)
    verdict = load(tmp_path).verify()
    assert (verdict.opt_lower, verdict.opt_upper) == (entry["opt_lower"], entry["opt_upper"])


def test_the_catalogue_is_sound(monkeypatch, tmp_path):
    """Entries have different names and tight bounds; unknown names and changed entries are refused."""
    entries = catalogue.entries()
    assert len({entry["name"] for entry in entries}) == len(entries) >= 10
    assert all(entry["opt_lower"] == entry["opt_upper"] for entry in entries)
    with pytest.raises(ArgumentError, match="fano-2"):
        catalogue.entry("nothing")
    changed = catalogue.entry("fano-2") | {"public_rows": 1}
    monkeypatch.setattr(catalogue, "entry", lambda name: changed)
    with pytest.raises(CertificateError, match="public_rows"):
        catalogue.build("fano-2", tmp_path)


@pytest.mark.parametrize("F", [0, 1])
def test_the_public_part_is_all_that_a_certificate_needs(F, tmp_path):
    """Certificates and folders made of the public part alone are those of the whole instance."""
    code = TannerCode.geometry("Fano")
    whole, public = HardInstance(code, 4, 40, 3), PublicInstance(code, 4, 40, 3)
    u, v = whole.words(F, 1)
    assert certify(public, u, v).document == whole.certify(u, v).document
    whole.save(u, v, tmp_path / "whole")
    save(public, u, v, tmp_path / "public")
    assert load(tmp_path / "public").manifest == load(tmp_path / "whole").manifest
    assert load(tmp_path / "public").verify() == load(tmp_path / "whole").verify()
