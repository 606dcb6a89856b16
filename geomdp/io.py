"""Reading tables: the function form of :meth:`geomdp.core.sample.Sample.from_table`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample


def read_table(
    domain: Domain,
    table: str | Path | Any,
    *,
    features: Sequence[str] | None = None,
    label: str,
    positive: object,
    negative: object = None,
    progress: Callable[[float], None] | None = None,
) -> Sample:
    """Return the sample of a CSV or Parquet file or a dataframe; see Sample.from_table.

    Example:
        >>> import pandas as pd
        >>> D = Domain.grid([("delay", 0, 30, 4)])
        >>> frame = pd.DataFrame({"delay": [-2.0, 9.0, 15.0, 29.0], "late": ["no", "no", "yes", "yes"]})
        >>> S = read_table(D, frame, label="late", positive="yes")
        >>> (S.cells.tolist(), S.positives.tolist(), S.negatives.tolist(), S.clipped)
        ([0, 1, 2, 3], [0, 0, 1, 1], [1, 1, 0, 0], 1)
    """
    return Sample.from_table(
        domain,
        table,
        features=features,
        label=label,
        positive=positive,
        negative=negative,
        progress=progress,
    )
