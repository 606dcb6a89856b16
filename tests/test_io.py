"""Tables: every format gives the same exact counts, and bad input is refused without quoting a record."""

from __future__ import annotations

import csv
import gzip
import sys
import traceback
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geomdp.core.tables.reading
import geomdp.io
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError, TableError
from geomdp.core.sample import Sample
from geomdp.core.tables.sources import connect
from geomdp.io import read_table

PLANE = Domain.grid([("a", 0, 10, 16), ("b", -3.3, 7.7, 5)])
LINE = Domain.grid([("a", 0, 3, 4)])


def same(sample: Sample, other: Sample) -> bool:
    """Return whether two samples hold the same records and the same clipped count."""
    return bool(
        np.array_equal(sample.cells, other.cells)
        and np.array_equal(sample.positives, other.positives)
        and np.array_equal(sample.negatives, other.negatives)
        and sample.clipped == other.clipped
    )


def by_hand(domain: Domain, columns: list[np.ndarray], positive: np.ndarray) -> Sample:
    """Return the sample by numpy alone: Feature.level on each column, one record after the other."""
    axes = domain.features or ()
    levels = [axis.level(column) for axis, column in zip(axes, columns, strict=True)]
    cells = np.ravel_multi_index(levels, [axis.levels for axis in axes])
    sample = Sample.from_cells(domain, cells, np.where(positive, 1, -1))
    outside = [(c < axis.lower) | (c > axis.upper) for axis, c in zip(axes, columns, strict=True)]
    sample.clipped = int(np.logical_or.reduce(outside).sum())
    return sample


def write(path: Path, text: str | bytes) -> Path:
    """Write a file as it is."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return 3,000 made-up records, a third of them outside the grid."""
    rng = np.random.default_rng(3)
    label = np.where(rng.random(3000) < 0.4, "yes", "no")
    return pd.DataFrame({"b": rng.normal(2, 4, 3000), "note": "x", "a": rng.normal(5, 4, 3000), "y": label})


@pytest.fixture(scope="module")
def expected(frame: pd.DataFrame) -> Sample:
    """Return the sample of the made-up records, counted by numpy."""
    columns = [frame["a"].to_numpy(), frame["b"].to_numpy()]
    return by_hand(PLANE, columns, (frame["y"] == "yes").to_numpy())


class Stream:
    """A dataframe of an unknown library: it has the Arrow stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A dataframe of an unknown library: it has the interchange protocol and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.table.__dataframe__(nan_as_null, allow_copy)


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Return an Arrow table without pandas' index."""
    return pa.Table.from_pandas(frame, preserve_index=False)


class TestFormats:
    @pytest.mark.parametrize(
        "kind",
        [
            *("csv", "semicolon", "tab", "bar", "gzip", "quoted", "crlf", "parquet"),
            *("pandas", "arrow", "reader", "stream", "interchange", "category"),
        ],
    )
    def test_every_format_gives_the_same_sample(
        self, kind: str, frame: pd.DataFrame, expected: Sample, tmp_path: Path
    ) -> None:
        """The counts of a table do not depend on the format that it comes in."""
        path = tmp_path / "table.dat"
        writers: dict[str, Any] = {
            "csv": lambda: frame.to_csv(path, index=False),
            "semicolon": lambda: frame.to_csv(path, index=False, sep=";"),
            "tab": lambda: frame.to_csv(path, index=False, sep="\t"),
            "bar": lambda: frame.to_csv(path, index=False, sep="|"),
            "gzip": lambda: frame.to_csv(path, index=False, compression="gzip"),
            "quoted": lambda: frame.assign(note='say "a,b"\nor not').to_csv(
                path, index=False, quoting=csv.QUOTE_ALL
            ),
            "crlf": lambda: frame.to_csv(path, index=False, lineterminator="\r\n"),
            "parquet": lambda: pq.write_table(arrow(frame), path, row_group_size=500),
        }
        frames: dict[str, Any] = {
            "pandas": lambda: frame,
            "arrow": lambda: arrow(frame),
            "reader": lambda: arrow(frame).to_reader(max_chunksize=100),
            "stream": lambda: Stream(arrow(frame)),
            "interchange": lambda: Interchange(arrow(frame)),
            "category": lambda: frame.astype({"y": "category"}),
        }
        table = frames[kind]() if kind in frames else path
        if kind in writers:
            writers[kind]()
        assert same(expected, read_table(PLANE, table, label="y", positive="yes"))

    def test_sample_from_table_is_read_table(self, frame: pd.DataFrame, expected: Sample) -> None:
        """Sample.from_table returns the sample of read_table."""
        assert same(expected, Sample.from_table(PLANE, frame, features=["a", "b"], label="y", positive="yes"))

    def test_features_follow_the_axes(self, frame: pd.DataFrame) -> None:
        """The columns named by features serve the axes in that order, whatever the axes are called."""
        turned = Domain.grid([("p", -3.3, 7.7, 5), ("q", 0, 10, 16)])
        columns = [frame["b"].to_numpy(), frame["a"].to_numpy()]
        sample = read_table(turned, frame, features=("b", "a"), label="y", positive="yes")
        assert same(by_hand(turned, columns, (frame["y"] == "yes").to_numpy()), sample)

    @pytest.mark.parametrize(
        "name",
        [
            "it's.csv",
            "a b.csv",
            "*.csv",
            "[x]?.csv",
            "'; DROP TABLE counts; --.csv",
            "{a,b}.csv",
            "~.csv",
            "ü.csv",
        ],
    )
    def test_a_path_is_literal(self, name: str, tmp_path: Path) -> None:
        """A path names one file, whatever characters it holds: no pattern, no SQL, no partition column."""
        folder = tmp_path / "y=q"
        folder.mkdir()
        write(folder / "other.csv", "a,y\n0,p\n0,p\n")
        sample = read_table(LINE, write(folder / name, "a,y\n1,p\n2,q\n"), label="y", positive="p")
        assert (sample.cells.tolist(), sample.positives.tolist()) == ([1, 2], [1, 0])
        renamed = (folder / name).with_suffix(".pq")
        pq.write_table(pa.table({"a": [1, 2], "y": ["p", "q"]}), renamed)
        assert same(sample, read_table(LINE, renamed, label="y", positive="p"))

    @pytest.mark.parametrize("name", ["a'b", 'a"b', "a b", "a;b", "select", "A", "ä", "c1", "a,b"])
    def test_a_column_name_is_literal(self, name: str, tmp_path: Path) -> None:
        """A column may have any name, also one that differs from another only by case."""
        frame = pd.DataFrame({"a": [0, 0], name: [1, 2], "y": ["p", "q"]})
        frame.to_csv(tmp_path / "t.csv", index=False)
        pq.write_table(arrow(frame), tmp_path / "t.parquet")
        for table in (frame, arrow(frame), tmp_path / "t.csv", tmp_path / "t.parquet"):
            sample = read_table(LINE, table, features=[name], label="y", positive="p")
            assert sample.cells.tolist() == [1, 2]

    @pytest.mark.parametrize(
        "text",
        [
            "\ufeffa,y\n1,p\n2,q\n",
            "a,y\n1,p\n2,q",
            "a,y\n\n1,p\n\n2,q\n\n",
            " a , y \n 1 , p \n 2 , q \n",
            'a,y\n"1","p"\n"2","q"\n',
            'y,"two\nlines",a\np,"x\ny",1\nq,,2\n',
            "y,a,a\u00a0\np,1,9\nq,2,9\n",
            "a;y\r\n1;p\r\n2;q\r\n",
            "a,y\r1,p\r2,q\r",
            "a,y\n1e0,p\n+2.,q\n",
            "a,y,x,x\n1,p,0,0\n2,q,0,0\n",
        ],
    )
    def test_csv_dialects(self, text: str, tmp_path: Path) -> None:
        """Marks, blanks, quotes, line ends and irrelevant columns do not change the records."""
        sample = read_table(LINE, write(tmp_path / "t.csv", text), label="y", positive="p")
        assert (sample.cells.tolist(), sample.positives.tolist()) == ([1, 2], [1, 0])

    def test_gzip_is_told_by_content(self, tmp_path: Path) -> None:
        """A compressed file is read whatever its name."""
        path = write(tmp_path / "t.csv", gzip.compress(b"a,y\n1,p\n2,q\n"))
        assert read_table(LINE, path, label="y", positive="p").n == 2

    def test_nested_columns_beside_the_wanted_ones(self, tmp_path: Path) -> None:
        """Structures and lists in other columns of a Parquet file do not shift the names."""
        table = pa.table({"s": [{"a": 9, "t": [1]}] * 2, "l": [[1, 2], []], "a": [1, 2], "y": ["p", "q"]})
        pq.write_table(table, tmp_path / "t.parquet")
        sample = read_table(LINE, tmp_path / "t.parquet", label="y", positive="p")
        assert sample.cells.tolist() == [1, 2]

    def test_nothing_is_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reading leaves no file in the working directory."""
        (tmp_path / "cwd").mkdir()
        monkeypatch.chdir(tmp_path / "cwd")
        read_table(LINE, write(tmp_path / "t.csv", "a,y\n1,p\n"), label="y", positive="p")
        assert list((tmp_path / "cwd").iterdir()) == []

    def test_progress_runs_from_zero_to_one(self, frame: pd.DataFrame, expected: Sample) -> None:
        """Progress ascends from 0 to 1, and watching changes nothing."""
        seen: list[float] = []
        sample = read_table(PLANE, frame, label="y", positive="yes", progress=seen.append)
        assert same(expected, sample)
        assert (seen[0], seen[-1], sorted(seen)) == (0.0, 1.0, seen)

    def test_progress_may_stop_the_reading(self, frame: pd.DataFrame) -> None:
        """An exception of the progress callback reaches the caller."""

        def stop(fraction: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read_table(PLANE, frame, label="y", positive="yes", progress=stop)

    def test_watched_reading_refuses_alike(self, tmp_path: Path) -> None:
        """A malformed record is refused with the same message under a progress callback."""
        path = write(tmp_path / "t.csv", "a,y\n1,p\n2,q,5\n")
        with pytest.raises(TableError, match="cannot be read"):
            read_table(LINE, path, label="y", positive="p", progress=lambda fraction: None)


class TestSnapping:
    @pytest.mark.parametrize(
        "axis", [("a", 0, 10, 11), ("a", 0, 1, 2), ("a", -7, 9, 33), ("a", 0.1, 0.7, 1001)]
    )
    def test_ties_and_their_neighbours(self, axis: tuple[str, float, float, int]) -> None:
        """Values on and next to every boundary between levels land where Feature.level says."""
        domain = Domain.grid([axis])
        _, lower, upper, levels = axis
        ties = lower + (np.arange(-2, levels + 2) + 0.5) * (upper - lower) / (levels - 1)
        values = [ties]
        for end in (-np.inf, np.inf):
            near = ties
            for _ in range(3):
                near = np.nextafter(near, end)
                values.append(near)
        column = np.concatenate(values)
        table = pd.DataFrame({"a": column, "y": 1})
        assert same(
            by_hand(domain, [column], np.isfinite(column)), read_table(domain, table, label="y", positive=1)
        )

    def test_half_goes_to_even(self) -> None:
        """Level 0.5 is 0, 1.5 is 2, 2.5 is 2, and the largest number below one half is 0."""
        table = pd.DataFrame({"a": [0.5, 1.5, 2.5, np.nextafter(0.5, 0)], "y": [1, 1, 1, 0]})
        sample = read_table(LINE, table, label="y", positive=1)
        assert (
            sample.cells.tolist(),
            sample.positives.tolist(),
            sample.negatives.tolist(),
        ) == ([0, 2], [1, 2], [1, 0])

    @settings(max_examples=30, deadline=None)
    @given(
        values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30),
        lower=st.floats(-1e6, 1e6),
        span=st.floats(1e-3, 1e6),
        levels=st.integers(2, 2**32),
    )
    def test_any_value_on_any_axis(self, values: list[float], lower: float, span: float, levels: int) -> None:
        """Text, doubles and Feature.level agree on every finite double and every axis."""
        domain, column = Domain.grid([("a", lower, lower + span, levels)]), np.array(values)
        with np.errstate(over="ignore"):
            want = by_hand(domain, [column], np.ones(len(values), dtype=bool))
        for written in (column, [repr(value) for value in values]):
            table = pd.DataFrame({"a": written, "y": "p"})
            assert same(want, read_table(domain, table, label="y", positive="p"))

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([2**53 + 1, 2**53 + 3], type=pa.int64()),
            pa.array([2**64 - 1, 2**63 + 1025], type=pa.uint64()),
            pa.array([Decimal("0.30000000000000000000000001"), Decimal("2.4999999999999999999999999")]),
            pa.array([0.1, 2.5], type=pa.float32()),
            pa.array([False, True]),
            pa.array(["0.1", " 2.5 "]),
            pa.array([1, 2], type=pa.int8()),
        ],
    )
    def test_every_type_of_number(self, column: pa.Array) -> None:
        """Integers, decimals, booleans and texts become the nearest double, as float() makes it."""
        floats = np.array([float(value) for value in column.to_pylist()])
        domain = Domain.grid([("a", 0, float(floats.max()) or 1.0, 2**32)])
        sample = read_table(domain, pa.table({"a": column, "y": [1, 1]}), label="y", positive=1)
        assert same(by_hand(domain, [floats], np.isfinite(floats)), sample)

    def test_five_features_and_a_domain_too_large_to_write_out(self) -> None:
        """Cells of a grid of 2^60 points are numbered as in numpy; only the occupied ones are held."""
        rng = np.random.default_rng(1)
        domain = Domain.grid([(f"x{i}", 0, 1, 2**12) for i in range(5)])
        columns = [rng.random(500) for _ in range(5)]
        table = pd.DataFrame({f"x{i}": column for i, column in enumerate(columns)} | {"y": columns[0] > 0.5})
        assert same(
            by_hand(domain, columns, columns[0] > 0.5), read_table(domain, table, label="y", positive=True)
        )

    def test_clipping_counts_records_once(self) -> None:
        """A record outside on two axes is one clipped record; one on the bound is none."""
        table = pd.DataFrame({"a": [-1, 10, 5, 99], "b": [-9.0, 7.7, 8.0, 0.0], "y": [1, 0, 1, 0]})
        assert read_table(PLANE, table, label="y", positive=1).clipped == 3


class TestLabels:
    @pytest.mark.parametrize("column", [[1, 0, 0], [1.0, 0.0, 0.0], [True, False, False], ["1", "0", "0"]])
    @pytest.mark.parametrize("positive", [1, 1.0, True, "1", Fraction(1), np.int64(1), np.bool_(True)])
    def test_one_is_one(self, column: list[Any], positive: object) -> None:
        """1, 1.0, True and "1" all name the label 1."""
        sample = read_table(LINE, pd.DataFrame({"a": [1, 2, 3], "y": column}), label="y", positive=positive)
        assert sample.positives.tolist() == [1, 0, 0]

    @pytest.mark.parametrize(
        ("column", "positive", "plus"),
        [
            (["1.0", "0.0", "1"], 1, [1, 0, 1]),
            (["TRUE", "false", "True"], True, [1, 0, 1]),
            (["-0.0", "1", "0"], 0, [1, 0, 1]),
            ([True, False, True], "true", [1, 0, 1]),
            ([2**60 + 1, 2**60, 2**60 + 1], 2**60 + 1, [1, 0, 1]),
            ([Decimal("1.50"), Decimal("2.50"), Decimal("1.50")], "1.5", [1, 0, 1]),
            ([1, 2, 1], 1.5, None),
            ([1, 1, 1], 2**300, [0, 0, 0]),
            ([" yes", "no", "yes "], "yes", [1, 0, 1]),
            (["yes", "Yes", "yes"], "yes", [1, 0, 1]),
            (["none", "some", "none"], "none", [1, 0, 1]),
            (["no", "no", "no"], "yes", [0, 0, 0]),
            (["yes", "yes", "yes"], "yes", [1, 1, 1]),
        ],
    )
    def test_matching(self, column: list[Any], positive: object, plus: list[int] | None) -> None:
        """Texts compare letter by letter after trimming, numbers by value; an absent label is allowed."""
        table = pd.DataFrame({"a": [1, 2, 3], "y": column})
        if plus is None:
            with pytest.raises(TableError, match="third value"):
                read_table(LINE, table, label="y", positive=positive)
        else:
            assert read_table(LINE, table, label="y", positive=positive).positives.tolist() == plus

    @pytest.mark.parametrize("column", [["late", "early"], [1, 2]])
    def test_negative_pins_the_other_label(self, column: list[Any]) -> None:
        """With negative given, a table whose only other label is another value is refused."""
        table = pd.DataFrame({"a": [1, 2], "y": column})
        assert read_table(LINE, table, label="y", positive=column[0], negative=column[1]).n == 2
        with pytest.raises(TableError, match="another value"):
            read_table(LINE, table, label="y", positive=column[0], negative=type(column[0])(0))

    def test_a_third_label_far_away_is_seen(self) -> None:
        """A third value is refused also when every cell on its own has only two."""
        table = pd.DataFrame({"a": [1, 1, 2, 2], "y": ["p", "q", "p", "r"]})
        with pytest.raises(TableError, match="third value"):
            read_table(LINE, table, label="y", positive="p")

    @pytest.mark.parametrize("mark", ["", "NA", "nan", "NULL", "None", "N/A", "#N/A", "<NA>", " "])
    def test_missing_marks(self, mark: str, tmp_path: Path) -> None:
        """Every usual mark of a missing value is refused as a label and as a number."""
        with pytest.raises(TableError, match="'label' must be a column without missing values"):
            read_table(LINE, write(tmp_path / "t.csv", f"a,y\n1,p\n2,{mark}\n"), label="y", positive="p")
        with pytest.raises(TableError, match="'a' with a missing value"):
            read_table(LINE, write(tmp_path / "u.csv", f"a,y\n1,p\n{mark},q\n"), label="y", positive="p")


MARKER = "5417"
BAD_FILES: list[tuple[str | bytes, str, str]] = [
    ("", "table", "empty"),
    ("\n", "table", "empty"),
    ("a,y", "table", "header only"),
    ("a,y\n", "table", "header only"),
    ("\na,y\n1,p\n", "table", "first line"),
    (f"{MARKER},p\n2,q\n", "features", "which it lacks"),
    (f"b,y\n{MARKER},p\n", "features", "'a', which it lacks"),
    (f"A,y\n{MARKER},p\n", "features", "'a', which it lacks"),
    (f"a,z\n{MARKER},p\n", "label", "'y', which it lacks"),
    (f"a,a,y\n1,{MARKER},p\n", "features", "repeatedly"),
    (f"a,y,y\n1,{MARKER},p\n", "label", "repeatedly"),
    (f"a,y\n1,p\nx{MARKER},q\n", "features", "not a number"),
    (f"a,y\n1,p\n5_{MARKER},q\n", "features", "not a number"),
    (f"a,y\n1,p\n+-{MARKER},q\n", "features", "not a number"),
    (f'a,y\n1,p\n"5,{MARKER}",q\n', "features", "not a number"),
    (f"a,y\n{MARKER},p\ninf,q\n", "features", "infinite"),
    (f"a,y\n{MARKER},p\n1e999,q\n", "features", "infinite"),
    (f"a,y\n{MARKER},p\n,q\n", "features", "missing"),
    (f"a,y\n{MARKER},p\n1,\n", "label", "without missing"),
    (f"a,y\n1,p\n2,q\n3,{MARKER}\n", "label", "third value"),
    (f"a,y\n1,p\n2,q\n{MARKER}\n", "table", "cannot be read"),
    (f"a,y\n1,p\n2,q,{MARKER}\n", "table", "cannot be read"),
    (f'a,y\n1,p\n"{MARKER},q\n', "table", "cannot be read"),
    (f'a,y\n1,p\n2,"q{MARKER}"r\n', "table", "cannot be read"),
    (f"a,y\n1,p\n{MARKER},\xff\n".encode("latin-1"), "table", "UTF-8"),
    (b"a,y\n" + b"1,p\n" * 300000 + MARKER.encode() + b",\xff\n", "table", "cannot be read"),
    (f"a,y\n{MARKER},p\n".encode("utf-16"), "table", "UTF-8"),
    (gzip.compress(f"a,y\n{MARKER},p\n".encode())[:-12], "table", "whole"),
    (b"PK\x03\x04" + MARKER.encode(), "table", "spreadsheet"),
    (b"PAR1" + MARKER.encode() + b"PAR1", "table", "damaged"),
    (b"\x28\xb5\x2f\xfd" + MARKER.encode(), "table", "Decompress"),
]


class TestBadInput:
    @pytest.mark.parametrize(
        ("content", "argument", "text"), BAD_FILES, ids=[f"file{i}" for i in range(len(BAD_FILES))]
    )
    def test_bad_files(self, content: str | bytes, argument: str, text: str, tmp_path: Path) -> None:
        """A bad file is refused, naming the argument at fault and the mend, and no value of the file."""
        path = write(tmp_path / "t.csv", content)
        with pytest.raises(TableError, match=text) as caught:
            read_table(LINE, path, label="y", positive="p")
        error = caught.value
        assert argument == error.name
        assert str(error).startswith(f"Argument '{argument}' must be ")
        assert error.mend
        told = str(error).replace(str(path), "")
        assert MARKER not in told
        shown = "".join(traceback.format_exception(error)).replace(str(path), "")
        assert MARKER not in shown

    def test_the_chain_of_a_parse_error_holds_no_record(self, tmp_path: Path) -> None:
        """Not even the suppressed context of an exception holds the engine's or the decoder's message."""
        for content in (f"a,y\n1,p\n{MARKER}\n".encode(), f"a,y\n{MARKER},\xff\n".encode("latin-1")):
            with pytest.raises(TableError) as caught:
                read_table(LINE, write(tmp_path / "t.csv", content), label="y", positive="p")
            assert caught.value.__context__ is None
            assert caught.value.__cause__ is None

    def test_missing_file_and_directory(self, tmp_path: Path) -> None:
        """A missing file, a directory and an impossible path are told apart from a table."""
        for table, text in (
            (tmp_path / "none.csv", "existing file"),
            (tmp_path, "directory"),
            ("a\0b", "existing"),
        ):
            with pytest.raises(TableError, match=text):
                read_table(LINE, table, label="y", positive="p")

    def test_addresses_and_patterns_are_not_followed(self, tmp_path: Path) -> None:
        """An address is a missing file, and so is a pattern that other files would match."""
        write(tmp_path / "t.csv", "a,y\n1,p\n")
        for table in ("https://example.org/t.csv", "s3://x/t.csv", str(tmp_path / "*.csv")):
            with pytest.raises(TableError, match="existing file"):
                read_table(LINE, table, label="y", positive="p")

    def test_parquet_by_name_only(self, tmp_path: Path) -> None:
        """A file that is called Parquet and holds text is refused as such."""
        with pytest.raises(TableError, match="a Parquet file"):
            read_table(LINE, write(tmp_path / "t.parquet", "a,y\n1,p\n"), label="y", positive="p")

    @pytest.mark.parametrize(
        ("table", "text"),
        [
            ({"a": [1.0, float("nan")], "y": ["p", "q"]}, "missing value|NaN"),
            ({"a": [1.0, float("inf")], "y": ["p", "q"]}, "infinite"),
            ({"a": [1.0, None], "y": ["p", "q"]}, "missing value"),
            ({"a": pd.to_datetime(["2020-01-01", "2020-01-02"]), "y": ["p", "q"]}, "another type"),
            ({"a": [1, 2], "y": pd.to_datetime(["2020-01-01", "2020-01-02"])}, "another type"),
            ({"a": [1, 2], "y": ["p", None]}, "without missing"),
            ({"a": [1, 2], "y": [1.0, None]}, "a number or bool"),
            ({"a": [], "y": []}, "at least one record|a number or bool"),
            ({"a": ["1", "x"], "y": ["p", "q"]}, "not a number"),
            ({"b": [1, 2], "y": ["p", "q"]}, "lacks"),
        ],
    )
    def test_bad_frames(self, table: dict[str, Any], text: str) -> None:
        """Dataframes are checked like files."""
        with pytest.raises(ArgumentError, match=text):
            read_table(LINE, pd.DataFrame(table), label="y", positive="p")

    def test_nan_of_arrow_is_refused(self) -> None:
        """A NaN that is no null is refused, as a feature and as a label."""
        nan = pa.array([1.0, float("nan")])
        with pytest.raises(TableError, match="NaN"):
            read_table(LINE, pa.table({"a": nan, "y": [1, 0]}), label="y", positive=1)
        with pytest.raises(TableError, match="without missing"):
            read_table(LINE, pa.table({"a": [1, 2], "y": nan}), label="y", positive=1)

    def test_exotic_column_types(self) -> None:
        """A column type that the engine cannot hold is refused with advice."""
        wide = pa.array([1, 2], type=pa.decimal256(50, 2))
        with pytest.raises(TableError, match=r"plain columns|cannot be read"):
            read_table(LINE, pa.table({"a": wide, "y": [1, 0]}), label="y", positive=1)

    @pytest.mark.parametrize("table", [3, None, [1, 2], {"a": [1], "y": [1]}, np.zeros((2, 2)), b"t.csv"])
    def test_not_a_table(self, table: Any) -> None:
        """What is neither a path nor a dataframe is refused."""
        with pytest.raises(TableError, match="a CSV or Parquet file, or a dataframe"):
            read_table(LINE, table, label="y", positive="p")

    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ({"features": "a"}, "features"),
            ({"features": ["a", "b"]}, "features"),
            ({"features": []}, "features"),
            ({"features": [1]}, "features"),
            ({"features": ["y"]}, "label"),
            ({"label": ""}, "label"),
            ({"label": None}, "label"),
            ({"positive": None}, "positive"),
            ({"positive": " "}, "positive"),
            ({"positive": float("nan")}, "positive"),
            ({"positive": ["p"]}, "positive"),
            ({"negative": "p"}, "negative"),
            ({"negative": 0}, "negative"),
            ({"negative": ""}, "negative"),
            ({"domain": Domain.line(5)}, "domain"),
            ({"domain": Domain([[0, 1], [1, 1]])}, "domain"),
            ({"domain": None}, "domain"),
        ],
    )
    def test_bad_arguments(self, arguments: dict[str, Any], name: str) -> None:
        """Each argument that makes no sense is named by its error."""
        table = pd.DataFrame({"a": [1, 2], "y": ["p", "q"]})
        call = {"domain": LINE, "table": table, "label": "y", "positive": "p"} | arguments
        with pytest.raises(ArgumentError) as caught:
            read_table(**call)
        assert name == caught.value.name

    def test_text_for_a_column_of_numbers(self) -> None:
        """A label column of numbers needs a positive value that is one; equal values are no two labels."""
        table = pd.DataFrame({"a": [1, 2], "y": [1, 0]})
        with pytest.raises(ArgumentError, match="a number or bool, as the label column"):
            read_table(LINE, table, label="y", positive="yes")
        with pytest.raises(ArgumentError, match="other than positive"):
            read_table(LINE, table, label="y", positive="1", negative="1.0")

    def test_domain_beyond_int64(self) -> None:
        """A grid whose cells have no int64 number is refused by its size, before the table is opened."""
        domain = Domain.grid([(f"x{i}", 0, 1, 2**32) for i in range(2)])
        with pytest.raises(CapacityError, match=r"at most 2.62 points"):
            read_table(domain, "missing.csv", label="y", positive=1)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(-5, 15).map(lambda v: round(v, 3)),
            st.integers(-9, 9),
            st.text(
                st.characters(codec="utf-8", exclude_characters="\r\0", exclude_categories=("Cs",)),
                max_size=5,
            ),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_against_the_csv_module(
    rows: list[tuple[float, int, str, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any CSV file that Python's csv module writes is read as Python's csv module reads it."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["a", "b", "note", "y"])
        writer.writerows([*row[:3], "p" if row[3] else "q"] for row in rows)
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    columns = [np.array([float(row[name]) for row in read]) for name in ("a", "b")]
    positive = np.array([row["y"] == "p" for row in read])
    assert same(by_hand(PLANE, columns, positive), read_table(PLANE, path, label="y", positive="p"))


def test_reading_is_silent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Reading prints nothing, however long it takes, watched or not."""
    path = write(tmp_path / "t.csv", "a,y\n" + "1,p\n2,q\n" * 200_000)

    def impatient() -> Any:
        connection = connect()
        connection.execute("SET progress_bar_time = 0")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geomdp.core.tables.reading, "connect", impatient)
        read_table(LINE, path, label="y", positive="p")
        read_table(LINE, path, label="y", positive="p", progress=lambda fraction: None)
    assert capfd.readouterr() == ("", "")


def test_the_engine_is_imported_late() -> None:
    """Importing geomdp does not import the table engine."""
    import subprocess

    code = "import sys, geomdp.io; sys.exit('duckdb' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
