"""Integers as floats, for searches that integers decide afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_floats(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return (m, d) integer rows as floats, rows beyond 60 bits divided by a power of two each.

    Example:
        >>> as_floats(np.array([[2**70, 2**69], [3, 4]], dtype=object)).tolist()[1]
        [3.0, 4.0]
    """
    if rows.dtype == object and len(rows):
        shift = [max(max(abs(int(v)) for v in row).bit_length() - 60, 0) for row in rows]
        rows = rows >> np.array(shift, dtype=object)[:, None]
    return np.asarray(rows).astype(np.float64)
