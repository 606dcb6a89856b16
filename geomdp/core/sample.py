"""Samples: multisets of labelled records on a public domain, held as counts of occupied cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array
from geomdp.core.domain import MAX_POINTS, Domain
from geomdp.core.errors import ArgumentError, CapacityError, describe

if TYPE_CHECKING:
    from pathlib import Path

#: Most records that a sample may hold: every count and every sum of counts then fits int64 with room.
MAX_RECORDS = 2**53


class Sample:
    """A multiset of labelled records on a domain; only the occupied cells are held.

    Build one with :meth:`from_table`, :meth:`from_points`, :meth:`from_cells` or :meth:`from_counts`;
    ``S + T`` pools two samples on the same domain.

    Attributes:
        domain: the public domain.
        cells: (k,) occupied cell indices, ascending (int64; Python integers on lines above 2^62).
        positives, negatives: (k,) int64 numbers of records labelled +1 and -1 in those cells.
        n: number of records.
        clipped: records that lay outside the grid and were moved to its edge; for the holder's eyes
            only (it is a function of private data).

    Raises:
        ArgumentError: on arrays of different lengths, or a negative count.
        CapacityError: on more than 2^53 records.

    Example:
        >>> D = Domain([[0, 1], [1, 1]])
        >>> S = Sample.from_points(D, [[0, 1], [1, 1], [1, 1]], [-1, 1, 1])
        >>> (S.n, S.positive.tolist(), S.negative.tolist(), (S + S).n)
        (3, [0, 2], [1, 0], 6)
    """

    def __init__(
        self,
        domain: Domain,
        cells: NDArray[Any],
        positives: NDArray[np.int64],
        negatives: NDArray[np.int64],
        clipped: int = 0,
    ) -> None:
        self.domain, self.cells, self.positives, self.negatives = domain, cells, positives, negatives
        if not len(cells) == len(positives) == len(negatives):
            raise ArgumentError("cells", "as long as positives and negatives", "of another length")
        if (positives < 0).any() or (negatives < 0).any():
            raise ArgumentError("positives", "counts >= 0, as negatives", "with a negative value")
        if positives.sum(dtype=np.float64) + negatives.sum(dtype=np.float64) > MAX_RECORDS:
            raise CapacityError("sample", f"at most {MAX_RECORDS} records", "more")
        self.n = int(positives.sum()) + int(negatives.sum())
        self.clipped = clipped
        for array in (cells, positives, negatives):
            array.setflags(write=False)

    @classmethod
    def from_counts(cls, domain: Domain, positive: Any, negative: Any) -> Sample:
        """Return the sample with the given numbers of records per domain point.

        Args:
            domain: the domain, m points.
            positive, negative: (m,) integers >= 0.

        Raises:
            ArgumentError: on a wrong length or a negative count.

        Example:
            >>> Sample.from_counts(Domain([[1], [2]]), [0, 3], [1, 0]).n
            4
        """
        plus, minus = integer_array("positive", positive, 1), integer_array("negative", negative, 1)
        for name, counts in (("positive", plus), ("negative", minus)):
            if len(counts) != domain.m:
                raise ArgumentError(name, f"an array of length m = {domain.m}", f"length {len(counts)}")
            if counts.dtype == object or (counts < 0).any():
                raise ArgumentError(name, "an array of counts between 0 and 2^53", "one with other values")
        cells = np.flatnonzero((plus > 0) | (minus > 0)).astype(np.int64)
        return cls(domain, cells, plus[cells], minus[cells])

    @classmethod
    def from_cells(cls, domain: Domain, cells: Any, labels: Any) -> Sample:
        """Return the sample of n records given by cell index (on a line: rank) and label.

        Args:
            domain: the domain.
            cells: (n,) integers in 0..m-1.
            labels: (n,) values +1 or -1.

        Raises:
            ArgumentError: on an index outside the domain, another label, or unequal lengths.

        Example:
            >>> Sample.from_cells(Domain.line(2**64), [2**63, 5], [1, -1]).n
            2
        """
        if not isinstance(domain, Domain):
            raise ArgumentError("domain", "a Domain", describe(domain))
        index = integer_array("cells", _one_axis(cells), 1)
        y = _labels(labels, len(index))
        if len(index) and (min(index) < 0 or max(index) >= domain.m):
            raise ArgumentError("cells", f"integers between 0 and m - 1 = {domain.m - 1}", "one outside")
        occupied, where = np.unique(index, return_inverse=True)
        return cls(domain, occupied, *_tally(where, y, len(occupied)))

    @classmethod
    def from_points(cls, domain: Domain, X: Any, y: Any) -> Sample:
        """Return the sample of n records that lie exactly on domain points.

        Args:
            domain: the domain, d columns.
            X: (n, d) integers, every row a domain point (the first one, where the domain repeats it).
            y: (n,) labels +1 or -1.

        Raises:
            ArgumentError: when a row is not a domain point, or a label is not +1 or -1.

        Example:
            >>> Sample.from_points(Domain([[0, 1], [1, 1]]), [[1, 1]], [1]).positive.tolist()
            [0, 1]
        """
        rows = integer_array("X", X if len(X) else np.empty((0, domain.d), dtype=np.int64), 2)
        if rows.shape[1] != domain.d:
            raise ArgumentError("X", f"an array of d = {domain.d} columns", f"shape {rows.shape}")
        places: dict[tuple[int, ...], int] = {}
        for i, point in enumerate(domain.points.tolist()):
            places.setdefault(tuple(point), i)
        try:
            cells = np.array([places[tuple(row)] for row in rows.tolist()], dtype=np.int64)
        except KeyError:
            raise ArgumentError(
                "X",
                "rows that are points of the domain",
                "an array with another row",
                "Snap raw values with Sample.from_table, or build the domain from all rows.",
            ) from None
        return cls.from_cells(domain, cells, y)

    @classmethod
    def from_table(
        cls,
        domain: Domain,
        table: str | Path | Any,
        *,
        features: Sequence[str] | None = None,
        label: str,
        positive: object,
        negative: object = None,
        progress: Callable[[float], None] | None = None,
    ) -> Sample:
        """Return the sample of a CSV or Parquet file, or of any dataframe, snapped to the grid.

        Rows are read and counted out of core; only cell counts reach Python. See
        :func:`geomdp.core.tables.reading.count_table` for the file formats, how labels compare, and all
        checks.

        Args:
            domain: a grid domain.
            table: a path to CSV or Parquet, or a dataframe (pandas, polars, pyarrow).
            features: column names in the order of the grid's axes; the axes' own names by default.
            label: the label column.
            positive: the label value that counts as +1. It need not occur.
            negative: the value that counts as -1; by default the one other value that occurs. A table may
                lack either of the two; a third one is refused.
            progress: called with the fraction done, in [0, 1].

        Raises:
            TableError: on a missing column, a value that is no finite number, a missing label, or a
                third label value.
        """
        from geomdp.core.tables.reading import count_table

        counts = count_table(
            domain,
            table,
            features=features,
            label=label,
            positive=positive,
            negative=negative,
            progress=progress,
        )
        return cls(domain, counts.cells, counts.positives, counts.negatives, counts.clipped)

    @property
    def points(self) -> NDArray[Any]:
        """The (k, d) integer points of the occupied cells."""
        return self.domain.points_at(self.cells)

    @property
    def positive(self) -> NDArray[np.int64]:
        """The (m,) numbers of records labelled +1."""
        return self._dense(self.positives)

    @property
    def negative(self) -> NDArray[np.int64]:
        """The (m,) numbers of records labelled -1."""
        return self._dense(self.negatives)

    @property
    def net(self) -> NDArray[np.int64]:
        """The (m,) differences (#records labelled +1) - (#records labelled -1)."""
        return self._dense(self.positives - self.negatives)

    def _dense(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.domain.m > MAX_POINTS:
            raise CapacityError(
                "domain",
                f"at most {MAX_POINTS} points to be written out",
                f"{self.domain.m} points",
                "Use .cells, .positives and .negatives, which hold the occupied cells only.",
            )
        dense = np.zeros(self.domain.m, dtype=np.int64)
        dense[self.cells.astype(np.int64)] = values
        return dense

    def __add__(self, other: Sample) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        if self.domain != other.domain:
            raise ArgumentError("other", "a sample on the same domain", "one on another domain")
        cells = np.concatenate([self.cells, other.cells])
        occupied, where = np.unique(cells, return_inverse=True)
        plus, minus = np.zeros((2, len(occupied)), dtype=np.int64)
        np.add.at(plus, where, np.concatenate([self.positives, other.positives]))
        np.add.at(minus, where, np.concatenate([self.negatives, other.negatives]))
        return Sample(self.domain, occupied, plus, minus, self.clipped + other.clipped)

    def __repr__(self) -> str:
        return f"Sample(n={self.n}, domain={self.domain!r})"


def pool(*samples: Sample) -> Sample:
    """Return the union of one or more samples on the same domain.

    Raises:
        ArgumentError: when there is none, or when the domains differ.

    Example:
        >>> S = Sample.from_cells(Domain.line(4), [1, 2], [-1, 1])
        >>> pool(S, S, S).n
        6
    """
    if not samples or not all(isinstance(s, Sample) for s in samples):
        got = describe(samples[0]) if samples else "zero of them"
        raise ArgumentError("samples", "one or more Sample objects", got)
    total = samples[0]
    for sample in samples[1:]:
        total = total + sample
    return total


def _one_axis(values: Any) -> Any:
    return np.empty(0, dtype=np.int64) if hasattr(values, "__len__") and not len(values) else values


def _labels(labels: Any, n: int) -> NDArray[np.int64]:
    y = integer_array("labels", _one_axis(labels), 1)
    if len(y) != n:
        raise ArgumentError("labels", f"an array of length {n}", f"length {len(y)}")
    if not np.isin(y, (-1, 1)).all():
        raise ArgumentError("labels", "an array of +1 and -1", "one with other values")
    return y


def _tally(
    where: NDArray[np.int64], y: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    plus = np.bincount(where[y > 0], minlength=k).astype(np.int64)
    minus = np.bincount(where[y < 0], minlength=k).astype(np.int64)
    return plus, minus
