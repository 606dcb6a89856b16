"""Certificates of lower <= opt <= upper: what they hold, how they are written down and read back.

A certificate is a list of *lemmas*. Each says that certain rows cost at least ``bound`` for every w, and
holds what is needed to check it; later lemmas may cite earlier ones. The last lemma is about all the rows of
the pooled records, so that opt >= base + bound. With it comes the witness of the upper bound.

A certificate says much about the records that it certifies: keep it where they are kept. What binds it to
them is a salted hash, by which nobody can link two certificates or look records up in a table.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import CertificateError
from geomdp.opt.codec import Allowance, from_npz, packed, raw_of, restored, unpacked

FORMAT = "geomdp-opt-certificate"
VERSION = 1

#: Tokens of a box tree, in preorder: the box has cost enough, is closed by infeasible subsets, by a sweep of
#: the plane that its rows span, by an earlier lemma, or is cut along axis token - SPLIT.
PRUNE, PACK, PLANE, LEMMA, SPLIT = 0, 1, 2, 3, 4

#: Node types of a branching tree: cost enough; closed by infeasible subsets; a row is decided.
CLOSED, PACKED, BRANCH = 0, 1, 2

#: The arrays of each kind of lemma and their types; "big" arrays hold integers of any size.
ARRAYS: dict[str, dict[str, str]] = {
    "count": {},
    "plane": {"dropped": "<i4", "kernel": "big"},
    "faces": {"dropped": "<i4", "kernel": "big"},
    "boxes": {
        "dropped": "<i4",
        "kernel": "big",
        "transform": "big",
        "tokens": "|u1",
        "lemmas": "<i4",
        "leaf_sets": "<i4",
        "set_weight": "<i8",
        "set_size": "<i4",
        "set_row": "<i4",
        "set_multiplier": "<i4",
    },
    "subsets": {
        "nodes": "|u1",
        "branch_row": "<i4",
        "leaf_sets": "<i4",
        "denominator": "<i8",
        "set_weight": "<i8",
        "set_size": "<i4",
        "set_row": "<i4",
        "set_multiplier": "big",
    },
    "threshold": {},
}


@dataclass(frozen=True)
class Lemma:
    """The rows cost at least ``bound`` for every w.

    Attributes:
        kind: "count" (bound <= 0), "plane" (rank at most 2, swept), "faces" (few rows, face by face), "boxes"
            (a tree of boxes over the cube of w), "subsets" (infeasible subsets, perhaps in a tree of decided
            rows), or "threshold" (one-sided thresholds, swept).
        bound: the proved cost.
        rows: indices of the rows, ascending; None for all.
        arrays: the kind's arrays, see :data:`ARRAYS`.
    """

    kind: str
    bound: int
    rows: NDArray[np.int64] | None = None
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """A proof of lower <= opt <= upper for certain pooled records, that :func:`geomdp.verify` replays.

    Attributes:
        lower, upper: the certified bounds.
        n: number of records.
        classifier: the witness of ``upper``.
        lemmas: the proof of ``lower``; the last one is about all the rows.
        salt, digest: 64 hexadecimal digits each: the hash of the records with a salt.

    Example:
        >>> from geomdp import Domain, Sample
        >>> from geomdp.opt.threshold import opt_threshold
        >>> C = Certificate(0, 0, 0, Threshold(0), (), "0" * 64, "0" * 64)
        >>> Certificate.from_json(C.to_json()) == C
        True
    """

    lower: int
    upper: int
    n: int
    classifier: Halfspace | Threshold
    lemmas: tuple[Lemma, ...]
    salt: str
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON values; arrays are compressed and written in base 64."""
        witness: dict[str, Any]
        if isinstance(self.classifier, Threshold):
            witness = {"threshold": str(self.classifier.theta)}
        else:
            witness = {"weights": [str(w) for w in self.classifier.weights]}
        return {
            "format": FORMAT,
            "version": VERSION,
            "lower": self.lower,
            "upper": self.upper,
            "n": self.n,
            "witness": witness,
            "salt": self.salt,
            "digest": self.digest,
            "lemmas": [_lemma_to_dict(lemma) for lemma in self.lemmas],
        }

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate that a text holds; its form is checked, its truth is not.

        Raises:
            CertificateError: when the text is no certificate of this version.
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise CertificateError("Certificate: the text is not valid JSON.") from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Any) -> Certificate:
        """Return the certificate of a document, a JSON object; see :meth:`from_json`.

        Raises:
            CertificateError: when the format or its version is another one, or the lemmas are no list.
        """
        return cls._of(document, None)

    @classmethod
    def _of(cls, document: Any, stored: dict[str, NDArray[Any]] | None) -> Certificate:
        """Return the certificate of a document whose arrays are inside, or in ``stored``."""
        fields = _object(document, "the document")
        if fields.get("format") != FORMAT:
            raise CertificateError(f"Certificate: its format is not '{FORMAT}'.")
        if type(fields.get("version")) is not int or fields["version"] != VERSION:
            raise CertificateError(f"Certificate: only version {VERSION} is understood here.")
        lemmas = fields.get("lemmas")
        if not isinstance(lemmas, list):
            raise CertificateError("Certificate: 'lemmas' is not a list.")
        allowance = Allowance()
        return cls(
            _integer(fields.get("lower"), "lower"),
            _integer(fields.get("upper"), "upper"),
            _integer(fields.get("n"), "n"),
            _witness(_object(fields.get("witness"), "'witness'")),
            tuple(_lemma_from_dict(entry, at, allowance, stored) for at, entry in enumerate(lemmas)),
            hexadecimal(fields.get("salt"), "salt"),
            hexadecimal(fields.get("digest"), "digest"),
        )

    def save(self, path: str | Path) -> None:
        """Write the certificate to the file at a path: JSON, or npz when its name ends so."""
        path = Path(path)
        if path.suffix != ".npz":
            path.write_text(self.to_json(), encoding="utf-8")
            return
        document = self.to_dict()
        arrays: dict[str, NDArray[Any]] = {}
        for t, lemma in enumerate(self.lemmas):
            entry = document["lemmas"][t]
            for name in entry["arrays"]:
                arrays[f"{t}.{name}"] = raw_of(lemma.arrays[name], ARRAYS[lemma.kind][name])
            if lemma.rows is not None:
                arrays[f"{t}.rows"] = raw_of(lemma.rows, "<i4")
                entry["rows"] = []
            entry["arrays"] = {name: [] for name in entry["arrays"]}
        header = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, header=header, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate from the file at a path, written by :meth:`save`.

        Raises:
            CertificateError: when the file cannot be read or holds no certificate.
        """
        try:
            raw = Path(path).read_bytes()
        except OSError:
            raise CertificateError("Certificate: the file cannot be read.") from None
        if raw[:2] == b"PK":
            return cls._of(*from_npz(raw))
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise CertificateError("Certificate: the file is neither JSON text nor npz.") from None
        return cls.from_json(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        kinds = "+".join(dict.fromkeys(lemma.kind for lemma in self.lemmas)) or "none"
        return f"Certificate({self.lower} <= opt <= {self.upper}, n={self.n}, proof={kinds})"


def commitment(
    salt: str, points: NDArray[Any], positives: NDArray[np.int64], negatives: NDArray[np.int64]
) -> str:
    """Return the salted hash of the pooled records: SHA-256 over the salt, the shape and the integers."""
    digest = hashlib.sha256(f"{FORMAT} {salt} {points.shape[0]} {points.shape[1]}".encode())
    for array in (points, positives, negatives):
        if array.dtype == object:
            digest.update(json.dumps([str(int(v)) for v in array.flat]).encode())
        else:
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()


def _lemma_to_dict(lemma: Lemma) -> dict[str, Any]:
    return {
        "kind": lemma.kind,
        "bound": lemma.bound,
        "rows": None if lemma.rows is None else packed(raw_of(lemma.rows, "<i4")),
        "arrays": {
            name: packed(raw_of(lemma.arrays[name], dtype)) for name, dtype in ARRAYS[lemma.kind].items()
        },
    }


def _lemma_from_dict(
    value: Any, at: int, allowance: Allowance, stored: dict[str, NDArray[Any]] | None
) -> Lemma:
    where = f"Lemma {at}"
    fields = _object(value, where)
    kind, given, rows = fields.get("kind"), _object(fields.get("arrays"), where), fields.get("rows")
    if not isinstance(kind, str) or kind not in ARRAYS:
        raise CertificateError(f"{where}: its kind is unknown.")
    if set(given) != set(ARRAYS[kind]):
        raise CertificateError(f"{where}: it does not hold the arrays of its kind.")

    def read(name: str, entry: Any, dtype: str) -> NDArray[Any]:
        place = f"{where}: '{name}'"
        if stored is None:
            return restored(unpacked(entry, place, allowance), dtype, place)
        if f"{at}.{name}" not in stored:
            raise CertificateError(f"{place} is missing.")
        return restored(stored[f"{at}.{name}"], dtype, place)

    arrays = {name: read(name, given[name], dtype) for name, dtype in ARRAYS[kind].items()}
    index = None if rows is None else read("rows", rows, "<i4")
    bound = _integer(fields.get("bound"), f"{where}: bound")
    if bound < 0:
        raise CertificateError(f"{where}: its bound is below 0.")
    return Lemma(kind, bound, index, arrays)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CertificateError(f"Certificate: {where} is not a JSON object.")
    return value


def _integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CertificateError(f"Certificate: {where} is not an integer.")
    return value


def hexadecimal(value: Any, where: str) -> str:
    """Return a text of 64 hexadecimal digits.

    Raises:
        CertificateError: when the value is another one.

    Example:
        >>> hexadecimal("0f" * 32, "salt") == "0f" * 32
        True
    """
    if not isinstance(value, str) or len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise CertificateError(f"Certificate: {where} is not 64 hexadecimal digits.")
    return value


def _witness(value: dict[str, Any]) -> Halfspace | Threshold:
    if set(value) == {"threshold"}:
        return Threshold(_whole(value["threshold"]))
    if set(value) == {"weights"} and isinstance(value["weights"], list):
        return Halfspace(tuple(_whole(w) for w in value["weights"]))
    raise CertificateError("Certificate: 'witness' is neither a threshold nor a list of weights.")


def _whole(value: Any) -> int:
    """Return an integer of a witness, which is written as text because it may be long."""
    if isinstance(value, str):
        try:
            return int(value if re.fullmatch(r"-?[0-9]+", value) else "")
        except ValueError:  # another text, or more digits than Python reads
            pass
    return _integer(value, "an entry of 'witness'")
