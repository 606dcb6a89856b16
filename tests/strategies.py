"""Hypothesis strategies, one per structure; import them as ``from tests.strategies import ...``."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st


@st.composite
def point_sets(draw: Any, max_d: int = 4, max_m: int = 7, size: int = 3) -> np.ndarray:
    """Small integer point sets, rich in zero vectors, antipodes, multiples and lost ranks."""
    d = draw(st.integers(1, max_d))
    m = draw(st.integers(1, max_m))
    entry = st.integers(-size, size)
    points = draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=m, max_size=m))
    for _ in range(draw(st.integers(0, 2))):
        source, target = draw(st.integers(0, m - 1)), draw(st.integers(0, m - 1))
        factor = draw(st.sampled_from([-2, -1, 1, 2]))
        points[target] = [factor * x for x in points[source]]
    return np.array(points, dtype=np.int64).reshape(m, d)
