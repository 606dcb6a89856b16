"""Integer vectors from float witnesses, inside the same cell; the caller verifies signs in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        top, bottom = float(value).as_integer_ratio()
        wide[index] = round(top * 2 ** int(bits[index[0]]) / bottom) if bottom == 1 else (
            (2 * top * 2 ** int(bits[index[0]]) + bottom) // (2 * bottom)
        )
    return wide
