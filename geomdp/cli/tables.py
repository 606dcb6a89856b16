"""Reading the tables of a command, with messages that quote no record."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, TableError, check_fraction
from geomdp.core.sample import Sample


def read(
    domain: Domain,
    paths: list[Path],
    label: str,
    positive: str,
    negative: str | None,
    *,
    private: bool = False,
) -> list[Sample]:
    """Read tables whose labels must agree; messages name the file, never a value in it.

    Args:
        domain: the grid.
        paths: the tables.
        label: the label column.
        positive, negative: the values that count as + and -; by default - is the one other value.
        private: never refuse a table for a label that does not occur. Fix any value v (`negative`, if it is
            named): then no tables whose labels are all `positive` or v are refused for their labels, so that
            whether they are read tells nothing of them.

    Raises:
        TableError: on a table that cannot be read, on a third label, and unless `private` or `negative` is
            named on a table without `positive`.
    """
    samples, others = [], set()
    for path in paths:
        sample, other = _read_one(domain, path, label, positive, negative)
        if negative is None and not private and not sample.positives.any():
            raise TableError(
                "positive",
                "a label that occurs, or --negative must name the other one",
                f"one that is missing in {_short(path)}",
                "Labels compare letter by letter; with --negative a table may hold one label only.",
            )
        samples.append(sample)
        if other is not None:
            others.add(_value(other))
    # Two neighbours of one universe {positive, v} are never told apart here: in each of its tables the other
    # value is v or does not occur. A refusal means that no v has all these tables in its universe; it is then
    # about a value that some holder's own check would show, as a third label is.
    if len(others) > 1:
        raise TableError(
            "negative",
            "named where the tables' other labels differ",
            "left out",
            "Labels compare letter by letter: bring both tables to the same two values.",
        )
    return samples


def _read_one(
    domain: Domain, path: Path, label: str, positive: str, negative: str | None
) -> tuple[Sample, str | None]:
    """Return a table's sample, and its one other label where none is named."""
    from geomdp.core.tables.reading import count_table

    try:
        counts = count_table(domain, path, label=label, positive=positive, negative=negative)
    except TableError as error:
        got = f"{error.got} (in {_short(path)})"
        raise TableError(error.name, error.requirement, got, error.mend) from None
    return Sample(domain, counts.cells, counts.positives, counts.negatives, counts.clipped), counts.other


def _short(path: Path) -> str:
    return path.name if len(path.name) <= 60 else f"{path.name[:57]}..."


def _value(text: str) -> str | Fraction:
    """Return a label as the number that it means, if any: what is 0 in CSV is 0.0 or false in Parquet."""
    try:
        return check_fraction("label", {"true": "1", "false": "0"}.get(text.lower(), text))
    except ArgumentError:
        return text
