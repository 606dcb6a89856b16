"""The compiled inverse of a distribution function; imported lazily, because numba is slow to import."""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def invert(uniform: NDArray[Any], steps: NDArray[Any], first: NDArray[Any], out: NDArray[Any]) -> None:
    """Write 1 + the number of steps below each uniform number, found from the start of its part of [0, 1)."""
    parts = first.shape[0]
    for i in range(uniform.shape[0]):
        value = first[int(uniform[i] * parts)]
        while uniform[i] > steps[value - 1]:
            value += 1
        out[i] = value
