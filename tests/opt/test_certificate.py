"""Laws of certificates: round trips, binding to the data, refusals that name the step."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.rows import flipped

from geomdp import ArgumentError, CertificateError, Domain, Halfspace, Sample, Threshold
from geomdp.opt._replay_kernels import halve, wrong_of
from geomdp.opt.certificate import LEMMA, PACK, PLANE, PRUNE, SPLIT, Certificate, Lemma
from geomdp.opt.halfspace import opt_halfspace
from geomdp.opt.portfolio import certified_optimum
from geomdp.opt.threshold import opt_threshold
from geomdp.opt.verifier import verify, verify_points


@pytest.fixture(scope="module")
def solved():
    """One instance of each kind of proof."""
    instances = {
        "plane": flipped(30, 2, 0.2, 0),
        "faces": flipped(30, 3, 0.2, 0),
        "boxes": flipped(60, 4, 0.2, 1),
        "branch": flipped(60, 4, 0.1, 2),
    }
    return {
        method: (data, certified_optimum(*data, method=method).certificate)
        for method, data in instances.items()
    }


@pytest.mark.parametrize("method", ["plane", "faces", "boxes", "branch"])
def test_round_trips(solved, method, tmp_path):
    """Writing a certificate as JSON text, JSON file and npz file and reading it back changes nothing."""
    data, certificate = solved[method]
    for copy in (Certificate.from_json(certificate.to_json()), Certificate.from_dict(certificate.to_dict())):
        assert copy == certificate
        assert verify_points(copy, *data)
    for name in ("c.json", "c.npz"):
        certificate.save(tmp_path / name)
        assert Certificate.load(tmp_path / name) == certificate
        assert verify_points(Certificate.load(tmp_path / name), *data)


def test_a_certificate_written_before_verifies_still():
    """Format version 1 holds what it held when this file was written: every way to close a box is in it."""
    stored = json.loads((Path(__file__).parent / "version_1.json").read_text(encoding="utf-8"))
    certificate = Certificate.from_dict(stored["certificate"])
    records = [np.array(stored[name]) for name in ("points", "positives", "negatives")]
    assert verify_points(certificate, *records)
    tokens = np.concatenate([lemma.arrays["tokens"] for lemma in certificate.lemmas if lemma.kind == "boxes"])
    assert set(np.minimum(tokens, SPLIT).tolist()) == {PRUNE, PACK, PLANE, LEMMA, SPLIT}


@pytest.mark.parametrize("top", [3, 1000, 2**21 - 1])
def test_replayed_boxes_are_halved_exactly(top):
    """Along random cuts the replay keeps each open row's exact range of values, and counts what is wrong."""
    rng = np.random.default_rng(top)
    m, d, one = 40, 5, 2**20
    Y, W = rng.integers(-top, top + 1, (m, d)), rng.integers(1, 2**40, m)
    centre, reach = [0] * d, [one] * d
    centre[0], reach[0] = one, 0

    def ends(i):
        middle = sum(int(y) * c for y, c in zip(Y[i], centre, strict=True))
        width = sum(abs(int(y)) * e for y, e in zip(Y[i], reach, strict=True))
        return middle - width, middle + width

    def is_open(i):
        return ends(i)[0] < 0 <= ends(i)[1]

    index = np.array([i for i in range(m) if is_open(i)], dtype=np.uint32)
    low, high = np.array([ends(i) for i in index]).T.copy()
    for _ in range(60):
        axis, side = int(rng.integers(1, d)), int(rng.choice([-1, 1]))
        half = reach[axis] // 2
        centre[axis], reach[axis] = centre[axis] + side * half, half
        here, column = (index, low, high), np.ascontiguousarray(Y[:, axis])
        there = (np.empty(m, dtype=np.uint32), np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64))
        wrong, count = halve(2 * side * half, column, W, here, there)
        assert wrong == wrong_of(2 * side * half, column, W, here)
        assert wrong == sum(int(W[i]) for i in index if ends(i)[1] < 0)
        assert there[0][:count].tolist() == [i for i in index.tolist() if is_open(i)]
        index, low, high = (array[:count] for array in there)
        assert list(zip(low, high, strict=True)) == [ends(i) for i in index]
        if half < 2 or not count:
            break


def test_samples_are_pooled_in_any_order():
    """A certificate holds for the pooled samples, whichever comes first."""
    D = Domain.grid([("x", 0, 1, 5), ("y", 0, 1, 5)])
    rng = np.random.default_rng(0)
    S, T = (Sample.from_cells(D, rng.integers(0, 25, 30), rng.choice([-1, 1], 30)) for _ in range(2))
    r = opt_halfspace(S, T)
    assert r.optimal
    assert verify(r.certificate, S, T)
    assert verify(r.certificate, T, S)
    assert verify(r.certificate, S + T)
    with pytest.raises(CertificateError, match="other records"):
        verify(r.certificate, S)


def test_binding_reveals_nothing_to_compare():
    """Two certificates of the same records have different salts and digests."""
    data = flipped(20, 3, 0.2, 0)
    one, two = (certified_optimum(*data).certificate for _ in range(2))
    assert one.salt != two.salt
    assert one.digest != two.digest
    assert verify_points(one, *data)
    assert verify_points(two, *data)


def test_other_records_are_refused(solved):
    """One record more, or one label turned, and the certificate is for other records."""
    (X, a, b), certificate = solved["boxes"]
    for place in (0, 17):
        more = a.copy()
        more[place] += 1
        with pytest.raises(CertificateError, match="Records"):
            verify_points(certificate, X, more, b)
    with pytest.raises(CertificateError, match="Records"):
        verify_points(certificate, X, b, a)


def test_claims_beyond_the_proof_are_refused(solved):
    """A larger lower bound, a smaller upper bound, another witness: refused, and the step is named."""
    for data, certificate in solved.values():
        lower, upper = certificate.lower, certificate.upper
        with pytest.raises(CertificateError, match="Bounds"):
            verify_points(replace(certificate, lower=lower + 1), *data)
        with pytest.raises(CertificateError, match=r"Bounds|Witness"):
            verify_points(replace(certificate, lower=lower, upper=upper - 1), *data)
        with pytest.raises(CertificateError, match="Witness"):
            verify_points(replace(certificate, upper=upper + 1), *data)
        with pytest.raises(CertificateError, match="Witness"):
            verify_points(replace(certificate, classifier=Halfspace((0,))), *data)
        with pytest.raises(CertificateError, match="Witness"):
            verify_points(replace(certificate, classifier=Threshold(3)), *data)
        with pytest.raises(CertificateError, match="Lemma"):
            verify_points(replace(certificate, lemmas=()), *data)
        last = certificate.lemmas[-1]
        with pytest.raises(CertificateError, match="Lemma"):
            verify_points(replace(certificate, lemmas=(replace(last, bound=last.bound + 1),)), *data)
        assert verify_points(replace(certificate, lower=lower - 1), *data)


def test_only_the_last_lemma_counts_and_it_is_about_all_rows(solved):
    """A proof about a part of the rows is no proof of the bound."""
    data, certificate = solved["boxes"]
    part = Lemma("count", 0, np.arange(3, dtype=np.int64))
    with pytest.raises(CertificateError, match="all the rows"):
        verify_points(replace(certificate, lemmas=(*certificate.lemmas, part)), *data)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"format": "geomdp-opt-certificate", "version": 2}',
        '{"format": "geomdp-opt-certificate", "version": 1, "lemmas": 3}',
        "[" * 100_000,
        '{"format": "geomdp-opt-certificate", "version": 1, "lemmas": [], "lower": 1.5}',
    ],
)
def test_nonsense_is_refused_by_the_reader(text, tmp_path):
    """Texts that are no certificate are refused as such, never with a parser's exception."""
    with pytest.raises(CertificateError):
        Certificate.from_json(text)
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(CertificateError):
        Certificate.load(path)


def test_damaged_files_are_refused(solved, tmp_path):
    """Missing, binary, truncated and bit-flipped files are refused, or still hold a valid one."""
    data, certificate = solved["boxes"]
    with pytest.raises(CertificateError):
        Certificate.load(tmp_path / "missing.json")
    rng = np.random.default_rng(0)
    for name in ("c.json", "c.npz"):
        certificate.save(tmp_path / name)
        raw = (tmp_path / name).read_bytes()
        for turn in range(60):
            damaged = bytearray(raw)
            if turn % 3 == 0:
                damaged = damaged[: int(rng.integers(0, len(raw)))]
            else:
                for place in rng.integers(0, len(raw), 1 + turn % 4):
                    damaged[place] ^= 1 << int(rng.integers(0, 8))
            (tmp_path / f"damaged{name}").write_bytes(bytes(damaged))
            try:
                verify_points(Certificate.load(tmp_path / f"damaged{name}"), *data)
            except CertificateError:
                continue


def test_a_bomb_is_not_unpacked():
    """An array that claims more data than its text can hold is refused without unpacking it."""
    document = certified_optimum(*flipped(40, 3, 0.3, 0), method="boxes").certificate.to_dict()
    document["lemmas"][-1]["arrays"]["tokens"]["shape"] = [2**40]
    with pytest.raises(CertificateError, match="shape"):
        Certificate.from_dict(document)
    document["lemmas"][-1]["arrays"]["tokens"]["shape"] = [3]
    with pytest.raises(CertificateError, match="length"):
        Certificate.from_dict(document)


def test_thresholds_have_certificates_too():
    """A threshold's optimum is proved by one sweep, which the verifier repeats; wrong claims are refused."""
    D = Domain.line(2**64)
    S = Sample.from_cells(D, [5, 2**63, 2**63 + 1, 7], [-1, 1, -1, 1])
    r = opt_threshold(S)
    assert verify(r.certificate, S)
    assert verify(Certificate.from_json(r.certificate.to_json()), S)
    with pytest.raises(CertificateError, match="Witness"):
        verify(replace(r.certificate, classifier=Threshold(2**64)), S)
    with pytest.raises(CertificateError, match="Lemma"):
        verify(replace(r.certificate, lemmas=(replace(r.certificate.lemmas[0], bound=2),)), S)


def test_arguments_of_verify():
    """Something else than a certificate, or no sample, is an argument error."""
    D = Domain([[0, 1], [1, 1]])
    S = Sample.from_counts(D, [1, 0], [0, 1])
    with pytest.raises(ArgumentError, match="'certificate'"):
        verify({}, S)
    with pytest.raises(ArgumentError, match="'samples'"):
        verify(opt_halfspace(S).certificate)


def test_repr_says_what_is_claimed_and_how_it_is_proved(solved):
    """The repr holds the interval, n and the kinds of proof, and no record."""
    _, certificate = solved["boxes"]
    text = f"Certificate({certificate.lower} <= opt <= {certificate.upper}, n=60, proof=boxes)"
    assert repr(certificate) == text


def test_the_document_is_plain_json(solved):
    """Every certificate is a JSON object with the documented keys."""
    for _, certificate in solved.values():
        document = json.loads(certificate.to_json())
        assert set(document) == {
            "format", "version", "lower", "upper", "n", "witness", "salt", "digest", "lemmas",
        }  # fmt: skip


def test_the_verifier_imports_no_solver_and_no_search():
    """Importing the verifier brings in neither an optimiser nor the modules that search."""
    code = (
        "import sys; import geomdp.opt._replay_kernels; import geomdp.opt.verifier as v\n"
        "bad = {'highspy', 'cvxpy', 'scipy.optimize'} & set(sys.modules)\n"
        "names = {n for n, x in vars(v).items() if getattr(x, '__module__', '').startswith('geomdp.opt')}\n"
        "homes = {vars(v)[n].__module__ for n in names}\n"
        "print(sorted(bad), sorted(homes))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        "[] ['geomdp.opt.certificate', 'geomdp.opt.faces', 'geomdp.opt.form', 'geomdp.opt.planar', "
        "'geomdp.opt.rows', 'geomdp.opt.verifier']"
    )
