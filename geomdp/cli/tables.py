"""Reading the tables of a command, with messages that quote no record."""

from __future__ import annotations

from pathlib import Path

from geomdp.core.domain import Domain
from geomdp.core.errors import TableError
from geomdp.core.sample import Sample


def read(domain: Domain, paths: list[Path], label: str, positive: str, negative: str | None) -> list[Sample]:
    """Read tables whose labels must agree; messages name the file, never a value in it."""
    from geomdp.core.tables.reading import count_table

    samples, others = [], set()
    for path in paths:
        name = path.name if len(path.name) <= 60 else f"{path.name[:57]}..."
        try:
            counts = count_table(domain, path, label=label, positive=positive, negative=negative)
        except TableError as error:
            raise TableError(error.name, error.requirement, f"{error.got} (in {name})", error.mend) from None
        if negative is None and not counts.positives.any():
            raise TableError(
                "positive",
                "a label that occurs, or --negative must name the other one",
                f"one that is missing in {name}",
                "Labels compare letter by letter; with --negative a table may hold one label only.",
            )
        others.add(counts.other)
        samples.append(Sample(domain, counts.cells, counts.positives, counts.negatives, counts.clipped))
    if len(others - {None}) > 1:
        raise TableError(
            "negative",
            "named where the tables' other labels differ",
            "left out",
            "Labels compare letter by letter: bring both tables to the same two values.",
        )
    return samples
