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
from lp_gadgets.embedding import Embedding
from lp_gadgets.export import FORMATS, export
from lp_gadgets.files import check_target, named, reason_of, replace
from lp_gadgets.layout import Block, Layout
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
        self, out: str | Path, formats: Sequence[str] | None = None, repeat: bool = False
    ) -> list[Path]:
        """Write the instance to a folder `out` in other people's formats.

        See :func:`lp_gadgets.export.export`, also for `formats` and `repeat`.
        """
        return export(self, out, FORMATS if formats is None else formats, repeat)


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
    except zipfile.BadZipFile:
        raise CertificateError("Step 'reading': an array file is damaged.") from None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    np.savez_compressed(path, allow_pickle=False, **arrays)


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


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
        if not sound or not cells.size or int(counts.min()) < 1 or (np.diff(cells) <= 0).any():
            raise CertificateError(f"Step 'reading': the records of {stem} are malformed.")
        if int(cells[0]) < 0 or int(cells[-1]) >= len(copies):
            raise CertificateError(f"Step 'reading': a record of {stem} is not in the domain.")
        copies[cells] = counts
        held.append(copies)
    numerator, _, denominator = str(manifest["slack"]).partition("/")
    if numerator != "1" or not denominator.isdecimal() or int(denominator) < 1:
        raise CertificateError("Step 'reading': the slack is not 1/N.")
    message = list(manifest["message"])
    if not whole(manifest["J"], manifest["L"], *message) or min(manifest["J"], manifest["L"]) < 1:
        raise CertificateError("Step 'reading': J, L or a message position is not a positive integer.")
    return Evidence(
        code=TannerCode.from_dict(manifest["code"]),
        embedding=Embedding(manifest["q"], manifest["embedding"]),
        message=tuple(message),
        layout=layout,
        public=public,
        pins=pins,
        N=int(denominator),
        J=manifest["J"],
        L=manifest["L"],
        held=(held[0], held[1]),
    )
