"""Integer vectors from float witnesses, inside the same cell; the caller verifies signs in integers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products

#: Extra bits for representatives in general position.
SPARE_BITS = 8


def round_witnesses(
    W: NDArray[np.float64],
    margins: NDArray[np.float64],
    rng: np.random.Generator | None = None,
) -> NDArray[Any]:
    """Return integer vectors near 2^b * w, with b as small as the margin allows.

    If |<x, w>| >= margin * |x|_1 for all x, any vector within ``margin`` of w in the max-norm has the
    same signs. Rounding 2^b * w moves it by at most 2^-(b+1), so 2^b > 1 / (2 * margin) suffices. With
    ``rng`` the witness is first moved at random by up to half the margin, with 8 spare bits: the results
    are then in linearly general position except with tiny probability.

    Args:
        W: (N, r) witnesses with largest entry 1 in absolute value.
        margins: (N,) positive.
        rng: source of the perturbation, a matter of geometry and not of privacy.

    Returns:
        (N, r) integers: int64, or Python integers when some margin is below 2^-58.

    Example:
        >>> round_witnesses(np.array([[1.0, -0.26]]), np.array([0.1])).tolist()
        [[8, -2]]
    """
    bits = np.floor(np.log2(0.5 / margins)).astype(np.int64) + 1
    if rng is not None:
        W = W + 0.5 * margins[:, None] * rng.uniform(-1.0, 1.0, W.shape)
        bits = bits + 1 + SPARE_BITS
    bits = np.maximum(bits, 0)
    if not len(bits) or int(bits.max()) <= 58:
        return np.rint(np.ldexp(W, bits[:, None])).astype(np.int64)
    wide = np.empty(W.shape, dtype=object)
    for index, value in np.ndenumerate(W):
        wide[index] = round(Fraction(float(value)) * 2 ** int(bits[index[0]]))
    return wide


def shorten_witnesses(
    rows: NDArray[Any], exact: list[list[int]], rng: np.random.Generator | None = None
) -> NDArray[Any]:
    """Return shorter integer vectors in the same open cells, where floats can find them.

    Args:
        rows: (m, r) integers.
        exact: N integer vectors, none orthogonal to a row.
        rng: source of a perturbation, or None.

    Returns:
        (N, r) integers; a vector whose rounding would change a sign is kept as it was.

    Example:
        >>> shorten_witnesses(np.array([[1, 0], [0, 1]]), [[2**80, 2**80 + 1]]).tolist()
        [[1, 1]]
    """
    long = integer_array("weights", exact, 2).astype(object)
    values = products(rows.astype(object), np.ascontiguousarray(long.T)).T
    tops = np.abs(long).max(axis=1)
    lengths = np.abs(rows.astype(object)).sum(axis=1)
    # True division of Python integers of any size is correctly rounded.
    W = np.array([[x / top for x in w] for w, top in zip(long.tolist(), tops, strict=True)])
    margins = np.array(
        [
            min(abs(v) / (top * length) for v, length in zip(row, lengths, strict=True))
            for row, top in zip(values.tolist(), tops, strict=True)
        ]
    )
    short = round_witnesses(W, np.maximum(margins, 2.0**-50), rng).astype(object)
    moved = products(rows.astype(object), np.ascontiguousarray(short.T)).T
    keep = ((moved > 0) != (values > 0)).any(axis=1) | (moved == 0).any(axis=1)
    short[keep.astype(bool)] = long[keep.astype(bool)]
    return integer_array("weights", short, 2)
