"""How the arrays of a certificate are written down: compressed base 64 in JSON, plain arrays in an npz file.

Reading trusts nothing: types, axes and sizes are checked before memory is taken, and all the arrays of one
document share one allowance.
"""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CertificateError

#: Largest size of all decompressed arrays of a certificate together, in bytes.
MAX_BYTES = 2**31

#: Types of "big" arrays from short to long, and the bits of the integers they hold (without the sign).
WIDTHS = (("<i1", 7), ("<i2", 15), ("<i4", 31), ("<i8", 63))

#: Types of stored arrays.
STORED = ("|u1", "<i1", "|i1", "<i2", "<i4", "<i8")

#: The first line of integers written as text, and what none of the others holds.
SHAPE, OTHER = re.compile(rb"[0-9]{1,10}( [0-9]{1,10})?"), re.compile(rb"[^0-9 -]")


class Allowance:
    """The bytes that the arrays of one document may still take.

    Args:
        total: how many in all.

    Example:
        >>> allowance = Allowance(10)
        >>> allowance.take(8, "an array")
        >>> allowance.left
        2
    """

    def __init__(self, total: int = MAX_BYTES) -> None:
        self.left = total

    def take(self, size: int, where: str) -> None:
        """Take some bytes.

        Raises:
            CertificateError: when fewer are left.
        """
        if size > self.left:
            raise CertificateError(f"{where}: its shape is out of range.")
        self.left -= size


def raw_of(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return an array as stored: "big" ones in the shortest type that holds them, else as decimal text.

    Example:
        >>> raw_of(np.array([2**40, -1]), "big").dtype.str, raw_of(np.array([3]), "<i4").dtype.str
        ('<i8', '<i4')
    """
    if dtype != "big":
        return np.ascontiguousarray(array, dtype=dtype)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    top = max(high, -1 - low)
    narrow = next((kind for kind, bits in WIDTHS if top < 2**bits), None)
    if narrow is not None:
        return np.ascontiguousarray(array.astype(narrow))
    text = " ".join(str(int(v)) for v in array.flat)
    body = f"{' '.join(map(str, array.shape))}\n{text}"
    return np.frombuffer(body.encode(), dtype=np.uint8)


def restored(raw: NDArray[Any], dtype: str, where: str) -> NDArray[Any]:
    """Return the array that :func:`raw_of` has stored: int64, uint8 for "|u1", Python integers where wider.

    Raises:
        CertificateError: when it is of another type or has other axes.

    Example:
        >>> wide = np.array([[2**70], [-1]], dtype=object)
        >>> restored(raw_of(wide, "big"), "big", "here").tolist() == wide.tolist()
        True
    """
    if dtype != "big":
        if raw.dtype != np.dtype(dtype) or raw.ndim != 1:
            raise CertificateError(f"{where}: an array of type {dtype} with one axis was expected.")
        return raw if dtype == "|u1" else raw.astype(np.int64)
    if raw.dtype.str in STORED[1:] and raw.ndim <= 2:
        return raw.astype(np.int64)
    body = raw.tobytes() if raw.dtype == np.uint8 and raw.ndim == 1 else b""
    shape, _, numbers = body.partition(b"\n")
    try:
        if not SHAPE.fullmatch(shape) or OTHER.search(numbers):
            raise ValueError
        values = [int(v) for v in numbers.split()]
        wide = np.empty(len(values), dtype=object)
        wide[:] = values
        return wide.reshape(tuple(int(v) for v in shape.split()))
    except ValueError:
        raise CertificateError(f"{where}: its integers cannot be read.") from None


def packed(raw: NDArray[Any]) -> dict[str, Any]:
    """Return a stored array as JSON values.

    Example:
        >>> unpacked(packed(np.array([1, 2], dtype="<i4")), "here", Allowance()).tolist()
        [1, 2]
    """
    body = base64.b64encode(zlib.compress(raw.tobytes(), 9)).decode()
    return {"type": raw.dtype.str, "shape": list(raw.shape), "data": body}


def unpacked(value: Any, where: str, allowance: Allowance) -> NDArray[Any]:
    """Return the stored array of JSON values.

    Raises:
        CertificateError: when they are of another form, or ask for more than is allowed.
    """
    fields = value if isinstance(value, dict) else {}
    kind, shape, data = fields.get("type"), fields.get("shape"), fields.get("data")
    if kind not in STORED or not isinstance(shape, list) or not isinstance(data, str):
        raise CertificateError(f"{where}: not an array of integers.")
    if len(shape) > 2 or not all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape):
        raise CertificateError(f"{where}: its shape is out of range.")
    dtype = np.dtype(kind)
    expected = dtype.itemsize
    for size in shape:
        expected *= size
    allowance.take(expected, where)
    try:
        unzip = zlib.decompressobj()
        body = unzip.decompress(base64.b64decode(data, validate=True), expected + 1)
    except (ValueError, zlib.error):
        raise CertificateError(f"{where}: its data are damaged.") from None
    if len(body) != expected:
        raise CertificateError(f"{where}: its data do not have the length of its shape.")
    return np.frombuffer(body, dtype=dtype).reshape(shape)


def from_npz(raw: bytes) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the header (JSON values) and the arrays of an npz file.

    Raises:
        CertificateError: when it is damaged, or its arrays are larger than :data:`MAX_BYTES` in all.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except Exception:  # zip files have errors of many kinds
        raise CertificateError("Certificate: the npz file is damaged.") from None
    if size > MAX_BYTES:
        raise CertificateError("Certificate: the arrays of the npz file are too large.")
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            stored = {name: np.asarray(archive[name]) for name in archive.files}
        return json.loads(stored.pop("header").tobytes().decode()), stored
    except Exception:  # zip, header and decoder all have errors of their own
        raise CertificateError("Certificate: the npz file is damaged.") from None
