"""Tables in, counts out: read labelled records and count them in the cells of a public grid, out of core.

One pass of the table engine turns a CSV file, a Parquet file or a dataframe into the numbers of records per
(cell, label); the records themselves never reach Python. A value lands on exactly the level that
:meth:`geomdp.core.domain.Feature.level` gives it: the expression is the same, in IEEE doubles, and ties are
broken to even explicitly.

Messages say what is wrong with which column and how to mend it, never which value, which row or how many.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain, Feature
from geomdp.core.errors import ArgumentError, CapacityError, TableError, describe
from geomdp.core.tables.counting import Marks, counting_statement
from geomdp.core.tables.sources import check_names, connect, open_source, table_name

if TYPE_CHECKING:
    import duckdb

#: Largest grid whose cells are numbered in int64.
MAX_CELLS = 2**62
_POLL_SECONDS = 0.1


class TableCounts(NamedTuple):
    """Records per occupied cell.

    Attributes:
        cells: (k,) int64 occupied cell indices, ascending.
        positives, negatives: (k,) int64 records of either label there.
        clipped: records that lay outside the grid and were moved to its edge; private.
        other: the label that counted as -1 because it was the one other value, or None; private.
    """

    cells: NDArray[np.int64]
    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]
    clipped: int
    other: str | None = None


def count_table(
    domain: Domain,
    table: str | Path | Any,
    *,
    features: Sequence[str] | None = None,
    label: str,
    positive: object,
    negative: object = None,
    others_negative: bool = False,
    progress: Callable[[float], None] | None = None,
) -> TableCounts:
    """Return the numbers of records of a table per cell and label, every record snapped to the grid.

    A record with the values x_1, ..., x_r lies in the cell of levels
    rint((x_i - lower_i) / (upper_i - lower_i) * (levels_i - 1)), ties to even, clipped to
    0..levels_i - 1. Records with a value outside [lower_i, upper_i] are counted in ``clipped``.

    CSV files are UTF-8 text, plain or gzip, with one header line; the separator (comma, semicolon, tab or
    bar) is the one under which the header holds the asked columns; values may be quoted with ``"``; blanks
    around names, numbers and labels are dropped. Numbers are written with a decimal point. Memory grows
    with the number of *occupied cells*, not with the number of records.

    Which label counts as +1: in a column of text (all of CSV), a text ``positive`` must equal the label,
    letter case included, while a number or bool compares by value (1 meets "1", "1.0" and "true"). In a
    column of numbers or booleans everything compares by value: 1, 1.0, True, "1" and "true" are the same.

    Args:
        domain: a grid domain of r >= 1 features and at most 2^62 points.
        table: a path to CSV or Parquet (told by content, taken literally), or a dataframe: pandas, polars,
            pyarrow, or anything with ``__arrow_c_stream__`` or ``__dataframe__``.
        features: r column names in the order of the grid's axes; the axes' own names by default.
        label: the label column.
        positive: the label value that counts as +1. It need not occur.
        negative: the label value that counts as -1; by default the one other value that occurs. Name it when
            two parties read their tables apart: otherwise each table may hold another "other" value.
        others_negative: count every label but the positive one as -1: then which labels occur is never a
            reason to refuse a table, so that whether it is read does not tell of them.
        progress: called with the fraction done, in [0, 1].

    Raises:
        ArgumentError: on a domain that is no grid, or names or labels that make no sense.
        TableError: on a file that is missing, empty or damaged; a column that is missing or repeated; a
            feature value that is missing, not a number or not finite; a missing label (empty, NA, NaN, NULL,
            None); a third label; no record at all.
        CapacityError: on a grid of more than 2^62 points, or more occupied cells than memory holds.

    Example:
        >>> import pandas as pd
        >>> D = Domain.grid([("delay", 0, 30, 4)])
        >>> frame = pd.DataFrame({"delay": [-2.0, 9.0, 15.0, 29.0], "late": ["no", "no", "yes", "yes"]})
        >>> counts = count_table(D, frame, label="late", positive="yes")
        >>> (counts.cells.tolist(), counts.positives.tolist(), counts.negatives.tolist(), counts.clipped)
        ([0, 1, 2, 3], [0, 0, 1, 1], [1, 1, 0, 0], 1)
    """
    axes = _axes(domain)
    columns, label = check_names(features, label, [axis.name for axis in axes])
    marks = Marks.of(positive, negative)
    connection = connect()
    try:
        source = open_source(connection, table, [*columns, label])
        query, parameters = counting_statement(source, axes, columns, label, marks)
        _execute(connection, query, parameters, table, progress)
        _check(connection, columns, label, marks, others_negative)
        counts = connection.execute(
            "SELECT cell, plus, minus, clipped FROM counts ORDER BY cell"
        ).fetchnumpy()
        other = connection.execute("SELECT min(first_other) FROM counts").fetchone()
    finally:
        connection.close()
    cells, plus, minus = (np.array(counts[name], dtype=np.int64) for name in ("cell", "plus", "minus"))
    found = None if other is None or other[0] is None else str(other[0])
    return TableCounts(cells, plus, minus, int(counts["clipped"].sum()), found)


def _axes(domain: Domain) -> tuple[Feature, ...]:
    if not isinstance(domain, Domain):
        raise ArgumentError("domain", "a Domain", describe(domain), "Build one with Domain.grid.")
    if domain.features is None:
        raise ArgumentError(
            "domain",
            "a grid domain, whose axes say how values become levels",
            describe(domain),
            "Build one with Domain.grid, or count the records yourself and use Sample.from_cells.",
        )
    if domain.m > MAX_CELLS:
        raise CapacityError(
            "domain", "a grid of at most 2^62 points", f"{domain.m} points", "Use fewer levels."
        )
    return domain.features


def _execute(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: dict[str, Any],
    table: object,
    progress: Callable[[float], None] | None,
) -> None:
    """Run the counting statement; the engine's own messages quote records and are therefore dropped."""
    import duckdb

    failure: type[BaseException] | None = None
    try:
        if progress is None:
            connection.execute(query, parameters)
        else:
            _execute_watched(connection, query, parameters, progress)
    except (duckdb.Error, UnicodeError, ValueError, TypeError, ArithmeticError, RuntimeError) as error:
        failure = type(error)
    if failure is None:
        return
    if issubclass(failure, duckdb.OutOfMemoryException):
        raise CapacityError(
            "domain", "a grid whose occupied cells fit into memory", "a finer one", "Use fewer levels."
        )
    raise TableError(
        "table",
        "a well-formed table",
        f"{table_name(table)} with a record that cannot be read",
        "Every record needs one value per column name, closed quotes, one kind of line end, and UTF-8.",
    )


def _execute_watched(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: dict[str, Any],
    progress: Callable[[float], None],
) -> None:
    connection.execute("SET enable_progress_bar = true")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            connection.execute(query, parameters)
        except BaseException as error:  # handed to the caller's thread
            errors.append(error)

    worker = threading.Thread(target=work, daemon=True)
    done = 0.0
    progress(done)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(_POLL_SECONDS)
            done = max(done, min(1.0, connection.query_progress() / 100))
            progress(done)
    except BaseException:
        connection.interrupt()
        worker.join()
        raise
    if errors:
        raise errors[0]
    progress(1.0)


def _check(
    connection: duckdb.DuckDBPyConnection,
    columns: Sequence[str],
    label: str,
    marks: Marks,
    others_negative: bool,
) -> None:
    row = connection.execute(
        "SELECT count(*), min(fault), coalesce(min(first_other) <> max(last_other), false), "
        "count(first_other) > 0 FROM counts"
    ).fetchone()
    occupied, fault, several, other = row or (0, None, False, False)
    if occupied == 0:
        raise TableError(
            "table",
            "a table with at least one record",
            "one with a header only",
            "A party without records has nothing to test; check the export.",
        )
    if fault is not None:
        raise _fault_error(int(fault) - 1, columns, label)
    if others_negative:
        return
    if other and marks.negative is not None:
        raise TableError(
            "label",
            "a column of the two values that positive and negative name",
            f"the column {describe(label)} with another value",
            "Drop or merge the other labels; texts compare letter by letter.",
        )
    if several:
        raise TableError(
            "label",
            "a column of two values, positive and one other",
            f"the column {describe(label)} with a third value",
            "Drop or merge the other labels, and check positive: texts compare letter by letter.",
        )


def _fault_error(fault: int, columns: Sequence[str], label: str) -> TableError:
    feature, kind = divmod(fault, 3)
    if feature == len(columns):
        return TableError(
            "label",
            "a column without missing values",
            f"the column {describe(label)} with one",
            "Drop the records without a label, or name the mark itself as positive or negative.",
        )
    what = ("a missing value", "a value that is not a number", "a NaN or infinite value")[kind]
    return TableError(
        "features",
        "columns of finite numbers",
        f"the column {describe(columns[feature])} with {what}",
        "Drop or correct such records; write numbers with a decimal point and no separators.",
    )
