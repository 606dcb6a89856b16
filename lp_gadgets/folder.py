"""Instances on disk: a folder that says what it is, and can be verified without its maker.

* ``manifest.json``: parameters, sizes, words, bounds, the sha256 of the other files.
* ``program.npz``: public rows and candidate pins, sparse, with names, and the layout of the rows.
* ``records.npz``: the occupied domain points of either party with their copies.
* ``certificate.json``: the certificate of the pair of words.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CertificateError, GeomdpError, describe
from lp_gadgets.embedding import Embedding
from lp_gadgets.layout import Block, Layout
from lp_gadgets.sparse import SparseRows
from lp_gadgets.tanner import TannerCode, WeakGraphWarning
from lp_gadgets.verifier import Evidence, Verdict, verify

if TYPE_CHECKING:
    from geomdp.core.sample import Sample
    from lp_gadgets.certify import Certificate
    from lp_gadgets.instance import HardInstance

FORMAT = "lp-gadgets instance 2"
FILES = ("program.npz", "records.npz", "certificate.json")
PARTS = ("start", "index", "value", "bound")


@dataclass(frozen=True, eq=False)
class Folder:
    """An instance that was read from disk.

    Attributes:
        manifest: parameters and claims.
        evidence: what the verifier looks at.
        certificate: the certificate's document.
    """

    manifest: dict[str, Any]
    evidence: Evidence
    certificate: dict[str, Any]

    def verify(self, progress: Callable[[float], None] | None = None) -> Verdict:
        """Return what the certificate proves; the manifest must claim the same.

        Raises:
            CertificateError: naming the step that fails.
        """
        verdict = verify(self.evidence, self.certificate, progress)
        for name in ("F", "erasure_threshold", "opt_lower", "opt_upper"):
            if self.manifest["claims"].get(name) != getattr(verdict, name):
                raise CertificateError(f"Step 'manifest': it claims another {name}.")
        proof = self.evidence
        facts: dict[str, Any] = {"k": len(proof.message), "d": proof.records.d, "m": proof.records.m}
        facts |= {"u": self.certificate["u"], "v": self.certificate["v"]}
        facts |= {"predicted": {"opt": verdict.opt_lower}, "size": _size(proof)}
        facts |= {"sha256": {"graph": proof.code.sha256, "public_rows": proof.public.sha256}}
        facts |= {"diameters": list(proof.diameters)}
        for name, value in facts.items():
            if self.manifest.get(name) != value:
                raise CertificateError(f"Step 'manifest': it states another {name}.")
        for name, value in self.certificate["label"].items():
            if name != "code" and self.manifest.get(name) != value:
                raise CertificateError(f"Step 'manifest': its {name} is not that of the certificate.")
        _check_name(proof.code)
        if any(int(held.sum()) != self.manifest.get("n") for held in proof.held):
            raise CertificateError("Step 'manifest': the parties do not hold n records each.")
        return verdict

    def export(
        self, out: str | Path, formats: Sequence[str] | None = None, repeat: bool = False
    ) -> list[Path]:
        """Write the instance in other people's formats, see :func:`lp_gadgets.export.export`."""
        from lp_gadgets.export import FORMATS, export

        return export(self, out, FORMATS if formats is None else formats, repeat)

    @cached_property
    def samples(self) -> tuple[Sample, Sample]:
        """The two parties' samples on the public domain."""
        from geomdp.core.sample import Sample

        domain = self.evidence.records.domain
        alice, bob = self.evidence.held
        none = np.zeros_like(alice)
        return Sample.from_counts(domain, none, alice), Sample.from_counts(domain, bob, none)


def _size(proof: Evidence) -> dict[str, int]:
    rows, pins = len(proof.public), len(proof.pins)
    return {"variables": proof.public.columns, "public_rows": rows, "points": rows + pins + 2}


def _check_name(code: TannerCode) -> None:
    """Make a graph again from its name, if the name says how, and compare.

    A name of another form promises nothing; the certificate holds a copy of it.

    Raises:
        CertificateError: when the name belongs to another graph.
    """
    if not TannerCode.is_recipe(code.name):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGraphWarning)
        try:
            size = None if code.name.startswith("geometry:") else int(code.name.split(":")[1])
            same = size in (None, code.K) and TannerCode.from_text(code.name).checks == code.checks
        except (GeomdpError, IndexError, ValueError):
            same = False
    if not same:
        raise CertificateError(f"Step 'manifest': the graph is not the one named {describe(code.name)}.")


def save(
    instance: HardInstance,
    u: Any,
    v: Any,
    folder: str | Path,
    progress: Callable[[float], None] | None = None,
) -> Certificate:
    """Certify a pair of words and write the instance to a folder, which is made if it is missing.

    Args:
        instance: the instance.
        u, v: k labels each.
        folder: where to write; files of an earlier instance are replaced.
        progress: told the fraction done, in [0, 1].

    Raises:
        ArgumentError: when the folder cannot be written.

    Example:
        >>> import tempfile
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode, WeakGraphWarning
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=20)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     _ = save(inst, [1, 0, 1], [1, 1, 0], place)
        ...     load(place).verify().opt_lower
        12
    """
    from lp_gadgets.certify import certify, evidence

    place = named(folder)
    certificate = certify(instance, u, v, progress)
    proof = evidence(instance, certificate.document["u"], certificate.document["v"])
    try:
        place.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(place / "program.npz", allow_pickle=False, **_program_arrays(proof))
        np.savez_compressed(place / "records.npz", allow_pickle=False, **_record_arrays(proof))
        text = json.dumps(certificate.document, separators=(",", ":"))
        (place / "certificate.json").write_text(text + "\n", encoding="utf-8")
        manifest = _manifest(instance, certificate, {name: _digest(place / name) for name in FILES})
        (place / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        raise ArgumentError(
            "folder", "a folder that can be written", describe(str(place)), str(problem)
        ) from None
    return certificate


def load(folder: str | Path) -> Folder:
    """Return the instance of a folder; its files must have the digests of its manifest.

    Raises:
        ArgumentError: when the folder holds no instance.
        CertificateError: when a file is missing, damaged or malformed.
    """
    place = named(folder)
    try:
        manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    except OSError:
        mend = "Make one with: lp-gadgets build --code qc:64 --out FOLDER"
        raise ArgumentError("folder", "a folder with a manifest.json", describe(str(folder)), mend) from None
    except (ValueError, RecursionError):
        raise CertificateError("Step 'manifest': the file is not JSON.") from None
    try:
        if manifest["format"] != FORMAT:
            raise CertificateError(f"Step 'manifest': the format is not {FORMAT!r}.")
        for name in FILES:
            if _digest(place / name) != manifest["files"][name]:
                raise CertificateError(f"Step 'files': {name} is damaged: it has another digest.")
        certificate = json.loads((place / "certificate.json").read_text(encoding="utf-8"))
        with np.load(place / "program.npz") as arrays, np.load(place / "records.npz") as records:
            return Folder(manifest, _evidence(manifest, dict(arrays), dict(records)), certificate)
    except OSError as problem:
        raise CertificateError(f"Step 'files': {Path(str(problem.filename)).name} cannot be read.") from None
    except GeomdpError as problem:
        if isinstance(problem, CertificateError):
            raise
        raise CertificateError(f"Step 'reading': {problem}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        raise CertificateError(f"Step 'reading': a part is missing or malformed ({problem}).") from None
    except zipfile.BadZipFile:
        raise CertificateError("Step 'reading': an array file is damaged.") from None


def named(folder: str | Path) -> Path:
    """Return the path of a folder, which may be missing yet.

    Raises:
        ArgumentError: when the text names none; an empty one would mean the working directory.

    Example:
        >>> named("inst").name
        'inst'
    """
    if not str(folder).strip():
        raise ArgumentError("folder", "the name of a folder", "empty", "Write . for the working directory.")
    return Path(folder)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _text(lines: Any) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def _lines(array: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(array.tobytes().decode().split("\n"))


def _program_arrays(proof: Evidence) -> dict[str, Any]:
    arrays: dict[str, Any] = {"variables": _text(proof.layout.variables)}
    for stem, rows in (("public", proof.public), ("pins", proof.pins)):
        arrays |= {f"{stem}_{part}": getattr(rows, part) for part in PARTS}
        arrays[f"{stem}_names"] = _text(rows.names)
    arrays["layout"] = _text(json.dumps(block.to_list()) for block in proof.layout.blocks)
    return arrays


def _record_arrays(proof: Evidence) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for stem, held in zip(("alice", "bob"), proof.held, strict=True):
        arrays[f"{stem}_cells"] = np.flatnonzero(held)
        arrays[f"{stem}_copies"] = held[arrays[f"{stem}_cells"]]
    return arrays


def _manifest(instance: HardInstance, certificate: Certificate, digests: dict[str, str]) -> dict[str, Any]:
    names = ("F", "erasure_threshold", "feasible_iff", "opt_lower", "opt_upper")
    return {
        "format": FORMAT,
        "code": instance.code.to_dict(),
        "q": instance.q,
        **instance.program.recipe.to_dict(),
        "k": instance.k,
        "message": list(instance.program.code.message_positions),
        "J": instance.J,
        "L": instance.L,
        "n": instance.n,
        "slack": f"1/{instance.N}",
        "d": instance.records.d,
        "m": instance.records.m,
        "size": instance.program.size.to_dict(),
        "diameters": list(instance.diameters),
        "u": certificate.document["u"],
        "v": certificate.document["v"],
        "predicted": {"opt": instance.gap if certificate.F else 0},
        "claims": {name: getattr(certificate, name) for name in names},
        "sha256": {"graph": instance.code.sha256, "public_rows": instance.program.public.sha256},
        "files": digests,
    }


def _rows(arrays: dict[str, Any], stem: str, columns: int) -> SparseRows:
    parts = {part: np.asarray(arrays[f"{stem}_{part}"]) for part in PARTS}
    names = _lines(arrays[f"{stem}_names"])
    if any(part.dtype != np.int64 or part.ndim != 1 for part in parts.values()):
        raise CertificateError(f"Step 'reading': the {stem} rows are not integers.")
    start, index = parts["start"], parts["index"]
    sound = (
        len(start) == len(parts["bound"]) + 1 == len(names) + 1
        and len(index) == len(parts["value"]) == int(start[-1])
        and int(start[0]) == 0
        and bool((np.diff(start) > 0).all())
        and (not len(index) or (int(index.min()) >= 0 and int(index.max()) < columns))
    )
    inside = np.repeat(np.arange(len(start) - 1), np.diff(start)) if sound else np.zeros(0)
    if not sound or ((np.diff(index) <= 0) & (np.diff(inside) == 0)).any():
        raise CertificateError(f"Step 'reading': the {stem} rows are malformed.")
    return SparseRows(columns, start, index, parts["value"], parts["bound"], names)


def _evidence(manifest: dict[str, Any], arrays: dict[str, Any], records: dict[str, Any]) -> Evidence:
    variables = _lines(arrays["variables"])
    layout = Layout(variables, tuple(Block.from_list(json.loads(line)) for line in _lines(arrays["layout"])))
    public, pins = (_rows(arrays, stem, len(variables)) for stem in ("public", "pins"))
    held = []
    for stem in ("alice", "bob"):
        copies = np.zeros(2 + len(public) + len(pins), dtype=np.int64)
        copies[records[f"{stem}_cells"]] = records[f"{stem}_copies"]
        held.append(copies)
    numerator, _, denominator = str(manifest["slack"]).partition("/")
    if numerator != "1" or min(int(manifest[name]) for name in ("J", "L")) < 1 or int(denominator) < 1:
        raise CertificateError("Step 'reading': the slack, J or L is not a positive number.")
    return Evidence(
        code=TannerCode.from_dict(manifest["code"]),
        embedding=Embedding(manifest["q"], manifest["embedding"]),
        message=tuple(int(i) for i in manifest["message"]),
        layout=layout,
        public=public,
        pins=pins,
        N=int(denominator),
        J=int(manifest["J"]),
        L=int(manifest["L"]),
        held=(held[0], held[1]),
    )
