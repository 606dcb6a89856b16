"""Where records come from: a CSV or Parquet file, or a dataframe, as one DuckDB relation.

Columns are addressed by position (``c0``, ``c1``, ...), so no name from a file ever becomes SQL. The dialect
of a CSV file follows from its header line alone, never from its records. Nothing is written to disk: the
engine's spill directory is off, and so is its fetching of extensions.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from geomdp.core.errors import ArgumentError, TableError, describe

if TYPE_CHECKING:
    import duckdb

#: Characters that are trimmed around names, labels and numbers of text tables.
WHITESPACE = " \t\r\n"
#: Separators that a CSV file may use; the one under which the header holds the asked columns is taken.
DELIMITERS = (",", ";", "\t", "|")
#: Longest header that is read (bytes); a file without a line end is then refused instead of read whole.
HEADER_BYTES = 2**20
_FILE = "a CSV or Parquet file, or a dataframe (pandas, polars, pyarrow)"


@dataclass(frozen=True)
class Source:
    """A relation of the engine, and the public facts about its columns.

    Attributes:
        sql: a table expression whose columns are named c0, c1, ...
        parameters: the values of its named parameters.
        names: the columns' names as the table writes them, in order.
        types: the engine's column types, in order; always VARCHAR for CSV.
        text: True for CSV, where every value is text.
    """

    sql: str
    parameters: dict[str, str]
    names: tuple[str, ...]
    types: tuple[str, ...]
    text: bool


def connect() -> duckdb.DuckDBPyConnection:
    """Return a private in-memory connection: no spill to disk, no fetched extension, no output."""
    import duckdb

    quiet: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
        "temp_directory": "",
    }
    connection = duckdb.connect(":memory:", config=quiet)
    connection.execute("SET enable_progress_bar_print = false")  # it goes to the standard output
    connection.execute("SET enable_progress_bar = false")
    return connection


def open_source(connection: duckdb.DuckDBPyConnection, table: Any, wanted: Sequence[str]) -> Source:
    """Return the relation of a table.

    Args:
        connection: from :func:`connect`.
        table: path, or dataframe.
        wanted: the column names that will be asked for; they settle a CSV file's separator.

    Raises:
        TableError: when the file is missing, empty, or not what it claims to be, or when the object is no
            dataframe. The message names the path as the caller wrote it and nothing of the contents.
    """
    if isinstance(table, (str, Path)):
        path = _regular_file(table)
        return (
            _open_parquet(connection, path, table)
            if _is_parquet(path, table)
            else _open_csv(path, table, wanted)
        )
    return _open_frame(connection, table)


def table_name(table: object) -> str:
    """Return how a message names a table: its path as the caller wrote it, or its type."""
    return describe(str(table)) if isinstance(table, (str, Path)) else describe(table)


def _refuse(requirement: str, table: object, mend: str) -> NoReturn:
    raise TableError("table", requirement, table_name(table), mend) from None


def _regular_file(table: str | Path) -> Path:
    path = Path(table)
    try:
        exists, regular = path.exists(), path.is_file()
        size = path.stat().st_size if regular else 0
    except (OSError, ValueError):
        exists, regular, size = False, False, 0
    if not exists:
        _refuse("an existing file", table, "Check the path; it is taken literally, without wildcards.")
    if not regular:
        _refuse("a file", table, "It names a directory or a device; give one CSV or Parquet file.")
    if size == 0:
        _refuse("a file with a header and records", table, "The file is empty.")
    return path.absolute()


def _head(path: Path, table: str | Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        _refuse("a readable file", table, "Check its permissions.")


def _is_parquet(path: Path, table: str | Path) -> bool:
    magic = _head(path, table, 4)
    if magic in {b"PAR1", b"PARE"}:
        return True
    if path.suffix.lower() in {".parquet", ".pq"}:
        _refuse("a Parquet file", table, "Its name says Parquet, its contents do not; export it again.")
    if magic in {b"PK\x03\x04", b"\xd0\xcf\x11\xe0"}:
        _refuse(_FILE, table, "It looks like a spreadsheet or an archive; export the sheet as CSV.")
    if magic == b"\x28\xb5\x2f\xfd":
        _refuse("a plain or gzip-compressed CSV file", table, "Decompress it first.")
    return False


def _literal(path: Path) -> str:
    """Return the path as a pattern that matches this file only, whatever its name."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def _aliased(sql: str, count: int) -> str:
    return f"{sql} AS source({', '.join(f'c{i}' for i in range(count))})"


def _open_parquet(connection: duckdb.DuckDBPyConnection, path: Path, table: str | Path) -> Source:
    import duckdb

    parameters = {"path": _literal(path)}
    call = "read_parquet($path, hive_partitioning = false)"
    try:
        schema: list[Any] = connection.execute(
            "SELECT name, num_children FROM parquet_schema($path)", parameters
        ).fetchall()
        described = connection.execute(f"DESCRIBE FROM {call}", parameters).fetchall()
    except duckdb.Error:
        schema, described = [], []
    if not described:
        _refuse("a readable Parquet file", table, "It is damaged or encrypted; export it again.")
    names = tuple(_top_level(schema))
    types = tuple(str(row[1]) for row in described)
    if len(names) != len(types):
        names = tuple(str(row[0]) for row in described)
    return Source(_aliased(call, len(types)), parameters, names, types, text=False)


def _top_level(schema: list[tuple[str, int | None]]) -> list[str]:
    """Return the names of the root's children in a depth-first listing of a Parquet schema."""
    names, position = [], 1
    while position < len(schema):
        names.append(schema[position][0])
        pending = 1
        while pending:
            pending += (schema[position][1] or 0) - 1
            position += 1
    return names


def _open_csv(path: Path, table: str | Path, wanted: Sequence[str]) -> Source:
    zipped = _head(path, table, 2) == b"\x1f\x8b"
    delimiter, names = _read_header(path, table, zipped, set(wanted))
    columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(names)))
    options = (
        f"auto_detect = false, header = true, delim = $delimiter, quote = '\"', escape = '\"', "
        f"columns = {{{columns}}}, compression = $compression, hive_partitioning = false"
    )
    parameters = {
        "path": _literal(path),
        "delimiter": delimiter,
        "compression": "gzip" if zipped else "none",
    }
    types = ("VARCHAR",) * len(names)
    return Source(f"read_csv($path, {options})", parameters, names, types, text=True)


def _read_header(
    path: Path, table: str | Path, zipped: bool, wanted: set[str]
) -> tuple[str, tuple[str, ...]]:
    text, problem = _header_text(path, zipped)
    if problem:
        _refuse(problem[0], table, problem[1])
    if not text.strip():
        _refuse("a file with a header and records", table, "The file is empty.")
    headers = {delimiter: _first_record(text, delimiter) for delimiter in DELIMITERS}
    best = max(
        DELIMITERS, key=lambda d: (len(wanted & set(headers[d])), len(headers[d]) if not wanted else 0)
    )
    if not headers[best]:
        _refuse(
            "a CSV file whose first line names its columns", table, "The first line is blank or unreadable."
        )
    return best, headers[best]


def _header_text(path: Path, zipped: bool) -> tuple[str, tuple[str, str] | None]:
    """Return the first part of the file as text, or what is wrong with it.

    Reported, not raised: the decoder's exception carries the bytes that it failed on.
    """
    try:
        with gzip.open(path) if zipped else path.open("rb") as file:
            raw = file.read(HEADER_BYTES)
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw), None
    except UnicodeDecodeError:
        return "", ("a CSV file in UTF-8", "Save it with the encoding UTF-8.")
    except (OSError, EOFError, zlib.error):
        return "", (
            "a readable CSV file",
            "Check its permissions and, if it is compressed, that it is whole.",
        )


def _first_record(text: str, delimiter: str) -> tuple[str, ...]:
    lines = io.StringIO(text, newline="")
    try:
        record = next(csv.reader(lines, delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return ()
    return tuple(name.strip(WHITESPACE) for name in record)


def _open_frame(connection: duckdb.DuckDBPyConnection, frame: Any) -> Source:
    import duckdb

    if not (_is_pandas(frame) or hasattr(frame, "__arrow_c_stream__")):
        frame = _by_interchange(frame)
    try:
        connection.register("frame", frame)
        described = connection.execute("DESCRIBE FROM frame").fetchall()
    except (duckdb.Error, TypeError, ValueError, ArithmeticError):
        described = []
    if not described:
        _refuse("a dataframe of plain columns", frame, "Cast exotic column types to float64 or text first.")
    types = tuple(str(row[1]) for row in described)
    names = _frame_names(frame)
    if len(names) != len(types):
        names = tuple(str(row[0]) for row in described)
    return Source(_aliased("frame", len(types)), {}, names, types, text=False)


def _is_pandas(frame: Any) -> bool:
    kind = type(frame)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _by_interchange(frame: Any) -> Any:
    if not hasattr(frame, "__dataframe__"):
        _refuse(_FILE, frame, "Lists and arrays of whole domain points go through Sample.from_points.")
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        from geomdp.core.errors import MissingExtraError

        raise MissingExtraError("pyarrow", "tables") from None
    try:
        return from_dataframe(frame)
    except (RuntimeError, TypeError, ValueError, ArithmeticError, NotImplementedError):
        pass
    _refuse("a dataframe of plain columns", frame, "Cast exotic column types to float64 or text first.")


def _frame_names(frame: Any) -> tuple[str, ...]:
    """Return a dataframe's own column names: the engine renames names that differ by case only."""
    schema = getattr(frame, "schema", None)
    for names in (
        getattr(frame, "column_names", None),
        getattr(schema, "names", None),
        getattr(frame, "columns", None),
    ):
        if names is not None and not callable(names):
            return tuple(name if isinstance(name, str) else f"{name}" for name in names)
    return ()


def locate(source: Source, argument: str, name: str) -> int:
    """Return the position of the one column of that name.

    Raises:
        TableError: when the table has no such column or several. The names that it does have are not
            listed: without a header line they would be somebody's record.
    """
    places = [i for i, other in enumerate(source.names) if other == name]
    if not places:
        hint = "The first line of a CSV file must hold the column names; names are case-sensitive."
        raise TableError(argument, "a column of the table", f"{describe(name)}, which it lacks", hint)
    if len(places) > 1:
        raise TableError(
            argument,
            "a column that occurs once in the table",
            f"{describe(name)}, which it holds repeatedly",
            "Rename the duplicate columns.",
        )
    return places[0]


def check_names(features: object, label: object, default: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the feature columns and the label column as checked text.

    Raises:
        ArgumentError: unless features are as many distinct names as the grid has axes, none of them the
            label.
    """
    if features is None:
        features = default
    requirement = f"a list of {len(default)} distinct column names, one for each axis of the grid"
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise ArgumentError("features", requirement, describe(features))
    if not all(isinstance(name, str) for name in features):
        raise ArgumentError("features", requirement, "a list with an entry that is no text")
    if len(features) != len(default) or len(set(features)) < len(features):
        raise ArgumentError("features", requirement, f"{[str(name) for name in features]}")
    if not isinstance(label, str) or not label:
        raise ArgumentError("label", "a column name", describe(label))
    if label in features:
        raise ArgumentError("label", "a column that is not a feature", describe(label))
    return tuple(features), label
