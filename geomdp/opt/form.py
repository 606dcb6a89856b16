"""The form of a certificate that was built in memory: plain integers, and the arrays that a file could hold.

Python compares and adds numbers of many types, and some of them deceive: no comparison with a NaN holds, and
sums of numpy's integers wrap. What comes from a file is of the right form already; what a program has put
together is brought into it here, or refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, Threshold
from geomdp.core.errors import ArgumentError, CertificateError, describe
from geomdp.opt.certificate import ARRAYS, Certificate, Lemma, hexadecimal


def formal(certificate: Certificate) -> Certificate:
    """Return the certificate with nothing in it but Python integers and arrays of the stated types.

    Proof note: the verifier's comparisons are about integers only if every number is a Python int, or an
    entry of an integer array that its arithmetic guards. Each one is either checked to be such here or, in
    arrays, converted without a change of value; so a comparison that holds, holds for integers.

    Raises:
        ArgumentError: when it is no Certificate.
        CertificateError: naming the part that is of another form.

    Example:
        >>> bad = Certificate(0, 1, 2, Threshold(0), (Lemma("count", float("nan")),), "0" * 64, "0" * 64)
        >>> try:
        ...     formal(bad)
        ... except CertificateError as error:
        ...     print(error)
        Lemma 0: its bound is not an integer >= 0.
    """
    if not isinstance(certificate, Certificate):
        raise ArgumentError(
            "certificate", "a Certificate", describe(certificate), "Read one with Certificate.load."
        )
    lemmas = certificate.lemmas
    if not isinstance(lemmas, tuple):
        raise CertificateError("Certificate: 'lemmas' is not a tuple.")
    return Certificate(
        _plain(certificate.lower, "Certificate: 'lower'"),
        _plain(certificate.upper, "Certificate: 'upper'"),
        _plain(certificate.n, "Certificate: 'n'"),
        _witness(certificate.classifier),
        tuple(_lemma(lemma, at) for at, lemma in enumerate(lemmas)),
        hexadecimal(certificate.salt, "salt"),
        hexadecimal(certificate.digest, "digest"),
    )


def _plain(value: Any, where: str, *, any_sign: bool = False) -> int:
    if type(value) is not int or (value < 0 and not any_sign):
        raise CertificateError(f"{where} is not an integer{'' if any_sign else ' >= 0'}.")
    return value


def _witness(classifier: Any) -> Halfspace | Threshold:
    if isinstance(classifier, Threshold):
        return Threshold(_plain(classifier.theta, "Witness: its threshold", any_sign=True))
    if not isinstance(classifier, Halfspace) or not isinstance(classifier.weights, tuple):
        raise CertificateError("Witness: it is neither a threshold nor a halfspace.")
    return Halfspace(
        tuple(_plain(w, "Witness: one of its weights", any_sign=True) for w in classifier.weights)
    )


def _lemma(lemma: Any, at: int) -> Lemma:
    where = f"Lemma {at}"
    if not isinstance(lemma, Lemma):
        raise CertificateError(f"{where}: it is not a lemma.")
    kind, given = lemma.kind, lemma.arrays
    if not isinstance(kind, str) or kind not in ARRAYS:
        raise CertificateError(f"{where}: its kind is unknown.")
    if not isinstance(given, dict) or set(given) != set(ARRAYS[kind]):
        raise CertificateError(f"{where}: it does not hold the arrays of its kind.")
    bound = _plain(lemma.bound, f"{where}: its bound")
    rows = None if lemma.rows is None else _array(lemma.rows, "<i4", f"{where}: 'rows'")
    arrays = {name: _array(given[name], dtype, f"{where}: '{name}'") for name, dtype in ARRAYS[kind].items()}
    return Lemma(kind, bound, rows, arrays)


def _array(value: Any, dtype: str, where: str) -> NDArray[Any]:
    """Return an array of one of the kinds of :data:`ARRAYS` as int64, uint8, or Python integers."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in ("iu" if dtype != "big" else "iuO"):
        raise CertificateError(f"{where} is not an array of integers.")
    array = np.asarray(value)
    if array.ndim != 1 and (dtype != "big" or array.ndim > 2):
        raise CertificateError(f"{where} has too many or too few axes.")
    if array.dtype == object:
        return _integers(array, where)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    held = np.iinfo("<i8" if dtype == "big" else dtype)
    if low < held.min or high > held.max:
        raise CertificateError(f"{where} holds integers that are too large.")
    return array.astype(np.uint8 if dtype == "|u1" else np.int64, copy=False)


def _integers(array: NDArray[Any], where: str) -> NDArray[Any]:
    out = np.empty(array.shape, dtype=object)
    for place, entry in np.ndenumerate(array):
        if isinstance(entry, bool) or not isinstance(entry, (int, np.integer)):
            raise CertificateError(f"{where} is not an array of integers.")
        out[place] = int(entry)
    return out
