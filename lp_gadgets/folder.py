"""Instances on disk: a folder that says what it is, and can be verified without its maker.

* ``manifest.json``: parameters, sizes, words, bounds, the sha256 of the other files.
* ``program.npz``: public rows and candidate pins, sparse, with names, and the layout of the rows.
* ``records.npz``: the occupied domain points of either party with their copies.
* ``certificate.json``: the certificate of the pair of words.

What these files bind to each other is stated in :mod:`lp_gadgets.stored`.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CertificateError, GeomdpError, describe
from geomdp.core.sample import MAX_RECORDS
from lp_gadgets.embedding import Embedding
from lp_gadgets.export import FORMATS, export
from lp_gadgets.files import check_target, named, reason_of, replace
from lp_gadgets.layout import Block, Layout
from lp_gadgets.records import MAX_COPIES
from lp_gadgets.sparse import SparseRows
from lp_gadgets.stored import FILES, FORMAT, StoredInstance, manifest_of
from lp_gadgets.strict import keys_of, read_json, whole
from lp_gadgets.tanner import TannerCode
from lp_gadgets.verifier import Evidence

if TYPE_CHECKING:
    from lp_gadgets.certify import Certificate
    from lp_gadgets.public import PublicInstance

PARTS = ("start", "index", "value", "bound")
HELD = ("alice_cells", "alice_copies", "bob_cells", "bob_copies")
#: Most bytes that the arrays of a file may take in memory: some times those of the largest program.
MAX_BYTES = 2**31


@dataclass(frozen=True, eq=False)
class Folder(StoredInstance):
    """An instance that was read from disk.

    Attributes:
        manifest: parameters and claims.
        evidence: what the verifier looks at.
        certificate: the certificate's document.

    Example:
        >>> import tempfile
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=20)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     saved = inst.save([1, 0, 1], [1, 1, 0], place)
        ...     folder = load(place)
        >>> folder.certificate["opt_lower"] == saved.opt_lower, folder.verify() == saved.verdict
        (True, True)
    """

    def export(
        self,
        out: str | Path,
        formats: Sequence[str] | None = None,
        repeat: bool = False,
        progress: Callable[[float], None] | None = None,
    ) -> list[Path]:
        """Verify the instance and write it to a folder in other people's formats.

        Args:
            out: where to write.
            formats: some of :data:`lp_gadgets.export.FORMATS`, by default all.
            repeat: write every copy of a record as a line of its own (LIBSVM only).
            progress: told the fraction of the certificate that has been replayed.

        Returns:
            The files written; see :func:`lp_gadgets.export.export`, also for errors.
        """
        return export(self, out, FORMATS if formats is None else formats, repeat, progress)


def save(
    instance: PublicInstance,
    u: Any,
    v: Any,
    folder: str | Path,
    progress: Callable[[float], None] | None = None,
) -> Certificate:
    """Certify a pair of words and write the instance to a folder, which is made if it is missing.

    Args:
        instance: the instance.
        u, v: k labels each.
        folder: where to write; files of an earlier instance are replaced, others never.
        progress: told the fraction done, in [0, 1].

    Raises:
        ArgumentError: when the folder cannot be written, or holds a file of another kind under a name that is
            needed; nothing was computed or written then.

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

    place = check_target(folder, ("manifest.json", *FILES))
    certificate = certify(instance, u, v, progress)
    document = certificate.document
    proof = evidence(instance, document["u"], document["v"])
    text = json.dumps(document, separators=(",", ":"))
    try:
        place.mkdir(parents=True, exist_ok=True)
        replace(place / "program.npz", lambda path: _save_arrays(path, _program_arrays(proof)))
        replace(place / "records.npz", lambda path: _save_arrays(path, _record_arrays(proof)))
        replace(place / "certificate.json", lambda path: path.write_text(text + "\n", encoding="utf-8"))
        digests = {name: _digest(place / name) for name in FILES}
        manifest = json.dumps(manifest_of(proof, certificate.verdict, document, digests), indent=1)
        replace(place / "manifest.json", lambda path: path.write_text(manifest + "\n", encoding="utf-8"))
    except OSError as problem:
        got, mend = describe(str(place)), reason_of(problem)
        raise ArgumentError("folder", "a folder that can be written", got, mend) from None
    return certificate


def load(folder: str | Path) -> Folder:
    """Return the instance of a folder; its files must have the digests of its manifest.

    Args:
        folder: where :func:`save` wrote the instance.

    Returns:
        What the files say, not yet verified: :meth:`Folder.verify` replays the certificate.

    Raises:
        ArgumentError: when the folder holds no instance.
        CertificateError: when a file is missing, damaged or malformed.

    Example:
        >>> import tempfile
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), q=2, J=20)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     _ = inst.save([1, 0, 1], [1, 1, 0], place)
        ...     load(place).manifest["q"] == inst.q
        True
    """
    place = named(folder)
    try:
        manifest = read_json((place / "manifest.json").read_text(encoding="utf-8"))
    except OSError:
        mend = "Make one with: lp-gadgets build --code qc:64 --out FOLDER"
        raise ArgumentError("folder", "a folder with a manifest.json", describe(str(folder)), mend) from None
    except (ValueError, RecursionError):
        raise CertificateError("Step 'manifest': the file is not JSON.") from None
    try:
        if manifest["format"] != FORMAT:
            raise CertificateError(f"Step 'manifest': the format is not {FORMAT!r}.")
        keys_of(manifest["files"], *FILES)
        for name in FILES:
            if _digest(place / name) != manifest["files"][name]:
                raise CertificateError(f"Step 'files': {name} is damaged: it has another digest.")
        certificate = read_json((place / "certificate.json").read_text(encoding="utf-8"))
        arrays, records = _load_arrays(place / "program.npz"), _load_arrays(place / "records.npz")
        return Folder(manifest, _evidence(manifest, arrays, records), certificate)
    except OSError as problem:
        raise CertificateError(f"Step 'files': {Path(str(problem.filename)).name} cannot be read.") from None
    except EOFError:
        raise CertificateError("Step 'reading': an array file is empty.") from None
    except GeomdpError as problem:
        if isinstance(problem, CertificateError):
            raise
        raise CertificateError(f"Step 'reading': {problem}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        raise CertificateError(f"Step 'reading': a part is missing or malformed ({problem}).") from None
    except MemoryError:
        raise CertificateError("Step 'reading': an array does not fit in memory.") from None
    except zipfile.BadZipFile:
        raise CertificateError("Step 'reading': an array file is damaged.") from None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    np.savez_compressed(path, allow_pickle=False, **arrays)


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; one that would unfold to more than :data:`MAX_BYTES` is refused first."""
    with path.open("rb") as file:
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise CertificateError(f"Step 'reading': {path.name} holds more than {MAX_BYTES} bytes.")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)


def _text(lines: Any) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def _lines(array: NDArray[np.uint8]) -> tuple[str, ...]:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise CertificateError("Step 'reading': a list of texts is malformed.")
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


def _rows(arrays: dict[str, Any], stem: str, columns: int) -> SparseRows:
    parts = {part: np.asarray(arrays[f"{stem}_{part}"]) for part in PARTS}
    names = _lines(arrays[f"{stem}_names"])
    rows = SparseRows(columns, parts["start"], parts["index"], parts["value"], parts["bound"], names)
    if not rows.sound:
        raise CertificateError(f"Step 'reading': the {stem} rows are malformed.")
    return rows


def _evidence(manifest: dict[str, Any], arrays: dict[str, Any], records: dict[str, Any]) -> Evidence:
    keys_of(
        arrays, "variables", "layout", *(f"{s}_{p}" for s in ("public", "pins") for p in (*PARTS, "names"))
    )
    keys_of(records, *HELD)
    variables = _lines(arrays["variables"])
    layout = Layout(variables, tuple(Block.from_list(json.loads(line)) for line in _lines(arrays["layout"])))
    public, pins = (_rows(arrays, stem, len(variables)) for stem in ("public", "pins"))
    held = []
    for stem in ("alice", "bob"):
        copies = np.zeros(2 + len(public) + len(pins), dtype=np.int64)
        cells, counts = records[f"{stem}_cells"], records[f"{stem}_copies"]
        sound = cells.shape == counts.shape == (cells.size,) and cells.dtype == counts.dtype == np.int64
        sound = sound and cells.size and 1 <= int(counts.min()) <= int(counts.max()) <= MAX_RECORDS
        if not sound or (cells[1:] <= cells[:-1]).any():
            raise CertificateError(f"Step 'reading': the records of {stem} are malformed.")
        if int(cells[0]) < 0 or int(cells[-1]) >= len(copies):
            raise CertificateError(f"Step 'reading': a record of {stem} is not in the domain.")
        copies[cells] = counts
        held.append(copies)
    numerator, _, denominator = str(manifest["slack"]).partition("/")
    if numerator != "1" or not denominator.isdecimal() or int(denominator) < 1:
        raise CertificateError("Step 'reading': the slack is not 1/N.")
    message = list(manifest["message"])
    J, L = manifest["J"], manifest["L"]
    if not whole(J, L, *message) or not (1 <= J <= MAX_COPIES and 1 <= L <= MAX_COPIES):
        raise CertificateError(
            f"Step 'reading': J or L is not an integer in 1..{MAX_COPIES}, or a message position none."
        )
    return Evidence(
        code=TannerCode.from_dict(manifest["code"]),
        embedding=Embedding(manifest["q"], manifest["embedding"]),
        message=tuple(message),
        layout=layout,
        public=public,
        pins=pins,
        N=int(denominator),
        J=J,
        L=L,
        held=(held[0], held[1]),
    )
