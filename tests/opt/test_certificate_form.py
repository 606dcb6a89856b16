"""Laws of the form of certificates: whatever stands in them, they verify or are refused as such."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from support.rows import flipped

from geomdp import CertificateError, Halfspace, Threshold
from geomdp.opt import codec
from geomdp.opt.certificate import ARRAYS, Certificate, Lemma
from geomdp.opt.codec import Allowance, packed, raw_of, restored, unpacked
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.verifier import verify_points

DATA = flipped(40, 3, 0.3, 0)


@pytest.fixture(scope="module")
def solved():
    """One proof by boxes and one by infeasible subsets, of the same records."""
    return {method: certified_optimum(*DATA, method=method).certificate for method in ("boxes", "branch")}


def changed(certificate, **fields):
    """Return the certificate with another last lemma."""
    return replace(certificate, lemmas=(*certificate.lemmas[:-1], replace(certificate.lemmas[-1], **fields)))


NO_INTEGERS = [
    float("nan"),
    float("inf"),
    1.0,
    True,
    np.int64(3),
    np.int64(2**44 + 1),
    "1",
    None,
    -1,
    -(2**70),
]


@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
@pytest.mark.parametrize("method", ["boxes", "branch"])
def test_bounds_are_plain_integers(solved, method, value):
    """Whatever stands for a bound or for n and is no Python integer >= 0 is refused."""
    certificate = solved[method]
    with pytest.raises(CertificateError):
        verify_points(changed(certificate, bound=value), *DATA)
    for name in ("lower", "upper", "n"):
        with pytest.raises(CertificateError):
            verify_points(replace(certificate, **{name: value}), *DATA)
    for witness in (Threshold(value), Halfspace((value,) * 3), Halfspace([1, 2, 3]), value):
        with pytest.raises(CertificateError):
            verify_points(replace(certificate, classifier=witness), *DATA)


def test_a_bound_that_is_no_number_proves_nothing(solved):
    """Comparisons with a NaN are never true: as the bound of a lemma it is refused, not believed."""
    certificate, zero = solved["boxes"], Halfspace((0, 0, 0))
    cost = int(DATA[2].sum())
    lemma = Lemma("count", float("nan"))
    false = replace(certificate, lower=cost, upper=cost, classifier=zero, lemmas=(lemma,))
    with pytest.raises(CertificateError, match="bound"):
        verify_points(false, *DATA)


@pytest.mark.parametrize("bound", [2**44 + 1, 2**63, 2**70])
@pytest.mark.parametrize("method", ["boxes", "branch"])
def test_no_bound_is_too_large_to_be_refused(solved, method, bound):
    """Bounds beyond every number type are compared as integers, and refused."""
    with pytest.raises(CertificateError):
        verify_points(changed(solved[method], bound=bound), *DATA)


@pytest.mark.parametrize("method", ["boxes", "branch"])
def test_arrays_have_their_types(solved, method):
    """An array that is missing, superfluous, no array, of floats or of another number of axes is refused."""
    certificate = solved[method]
    arrays = certificate.lemmas[-1].arrays
    assert set(arrays) == set(ARRAYS[certificate.lemmas[-1].kind])
    for name, array in arrays.items():
        bad = [array.tolist(), array.astype(np.float64), array.astype(str), array[None, None], None]
        bad += [np.array([1, True], dtype=object), np.array([0.5], dtype=object)]
        others = [{**arrays, name: value} for value in bad]
        others.append({other: value for other, value in arrays.items() if other != name})
        others.append({**arrays, "more": array})
        for wrong in others:
            with pytest.raises(CertificateError):
                verify_points(changed(certificate, arrays=wrong), *DATA)
        wider = {**arrays, name: array.astype(object)}
        if ARRAYS[certificate.lemmas[-1].kind][name] == "big":
            assert verify_points(changed(certificate, arrays=wider), *DATA)
    for lemmas in (list(certificate.lemmas), (None,), (*certificate.lemmas, "count")):
        with pytest.raises(CertificateError):
            verify_points(replace(certificate, lemmas=lemmas), *DATA)


def edits(document):
    """Yield documents, each with one place edited."""
    for path, values in {
        ("version",): [True, 1.0, "1", None],
        ("lower",): [1.0, True, -(2**70), 2**70, "3"],
        ("n",): [1e400, 2**70],
        ("salt",): [3, "0" * 63],
        ("lemmas", -1, "kind"): ["none", [], None, "threshold", "faces"],
        ("lemmas", -1, "bound"): [-(2**70), 2**70, -1, 1e400, True],
        ("lemmas", -1, "arrays", "set_row", "shape"): [[10**30, 0], [-1], [1.0], [True], [0] * 40, 3],
        ("lemmas", -1, "arrays", "set_row", "type"): ["<f8", "|O", [], "<u8"],
        ("lemmas", -1, "arrays", "set_row", "data"): ["", "\ud800", "AAAA", 3],
        ("witness",): [
            *(
                {"weights": [w, 1, 1]}
                for w in (1e400, 6.4, True, " 6 ", "1_0", "+1", "\u0661", "9" * 9999, None)
            ),
            *({"threshold": w} for w in (1e400, 6.4, True, " 6 ", 2**70)),
        ],
    }.items():
        for value in values:
            copy = json.loads(json.dumps(document))
            place = copy
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            yield copy


@pytest.mark.parametrize("method", ["boxes", "branch"])
def test_edited_documents_are_refused(solved, method):
    """A document with one value of another type, range or size is refused, never with another error."""
    for document in edits(solved[method].to_dict()):
        with pytest.raises(CertificateError):
            verify_points(Certificate.from_json(json.dumps(document)), *DATA)


def test_witnesses_are_read_as_text_or_integers(solved):
    """A witness's weights are decimal text, as they are written, or JSON integers."""
    document = solved["boxes"].to_dict()
    document["witness"] = {"weights": [int(w) for w in document["witness"]["weights"]]}
    assert Certificate.from_dict(document) == solved["boxes"]


@pytest.mark.parametrize(
    "entries", [[-(2**63), 0], [2**63 - 1, -(2**63)], [2**63, 1], [-(2**63) - 1], [-128, 127], []]
)
@pytest.mark.parametrize("kind", [np.int64, object])
def test_integers_of_every_size_are_written_and_read_back(solved, entries, kind):
    """An array of integers comes back with its values and its shape, at the ends of every type."""
    if kind is np.int64 and any(not -(2**63) <= v < 2**63 for v in entries):
        return
    for array in (np.array(entries, dtype=kind), np.array([entries], dtype=kind)):
        back = restored(unpacked(packed(raw_of(array, "big")), "here", Allowance()), "big", "here")
        assert back.shape == array.shape
        assert back.tolist() == array.tolist()
        lemma = solved["branch"].lemmas[-1]
        twin = changed(solved["branch"], arrays={**lemma.arrays, "set_multiplier": array.ravel()})
        assert hash(twin) == hash(Certificate.from_json(twin.to_json()))


@pytest.mark.parametrize(
    "body", [b"2\n1 +1", b"-1\n1", b"2 1 1\n1 2", b"99999999999\n1", b"2\n1_0 1", b"1", b""]
)
def test_long_integers_are_read_in_one_form(body):
    """Text of long integers with other signs, digits or shapes than are written is refused."""
    with pytest.raises(CertificateError):
        restored(np.frombuffer(body, dtype=np.uint8), "big", "here")


def test_arrays_share_one_allowance(solved, tmp_path, monkeypatch):
    """Arrays that are too large together are refused before they are read, in JSON and in npz files."""
    certificate = solved["boxes"]
    path = tmp_path / "c.npz"
    certificate.save(path)
    with zipfile.ZipFile(path) as archive:
        total = sum(entry.file_size for entry in archive.infolist())
    monkeypatch.setattr(codec, "MAX_BYTES", total - 1)
    with pytest.raises(CertificateError, match="too large"):
        Certificate.load(path)
    sizes = [entry.nbytes for entry in certificate.lemmas[-1].arrays.values()]
    monkeypatch.setattr(codec.Allowance.__init__, "__defaults__", (max(sizes) // 4,))
    with pytest.raises(CertificateError, match="shape"):
        Certificate.from_json(certificate.to_json())
