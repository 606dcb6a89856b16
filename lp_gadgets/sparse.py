"""Sparse systems of integer inequalities with a name for every row: what a whole program is kept in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import INT64_SAFE

Integers = NDArray[np.int64]
#: Coefficients and bounds of a program are smaller than this in absolute value; rows from elsewhere that
#: have larger ones are refused before they are looked at.
MAX_ENTRY = 2**31


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The system A x <= b, only the non-zero coefficients kept, row after row.

    Attributes:
        columns: number of variables.
        start: (R + 1,) where each row begins in the next two, ending with their length.
        index, value: the column and the coefficient of every entry, columns increasing within a row.
        bound: (R,) right-hand sides.
        names: R names.

    Example:
        >>> rows = SparseRows.of(3, [([0, 2], [1, -1], 4), ([1], [2], 0)], ("first", "second"))
        >>> rows.slacks(np.array([1, 1, 0]), 1).tolist()
        [3, -2]
    """

    columns: int
    start: Integers
    index: Integers
    value: Integers
    bound: Integers
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, columns: int, rows: Sequence[tuple[Sequence[int], Sequence[int], int]], names: Sequence[str]
    ) -> SparseRows:
        """Return the system of rows (columns, coefficients, bound) with their names, over so many columns."""
        start = np.concatenate([[0], np.cumsum([len(row[0]) for row in rows], dtype=np.int64)])
        index = np.array([c for row in rows for c in row[0]], dtype=np.int64)
        value = np.array([a for row in rows for a in row[1]], dtype=np.int64)
        bound = np.array([row[2] for row in rows], dtype=np.int64)
        return cls(columns, start.astype(np.int64), index, value, bound, tuple(names))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def nonzeros(self) -> int:
        """The number of entries."""
        return len(self.index)

    @property
    def largest(self) -> int:
        """The largest absolute value of a coefficient or bound, exactly."""
        return max(largest(self.value), largest(self.bound))

    @property
    def sound(self) -> bool:
        """Whether the arrays are what the class says: one-dimensional int64 of matching lengths, in order.

        Example:
            >>> from dataclasses import replace
            >>> rows = SparseRows.of(3, [([0, 2], [1, -1], 4)], ("only",))
            >>> rows.sound, replace(rows, index=rows.index[::-1]).sound, replace(rows, columns=2).sound
            (True, False, False)
        """
        arrays = (self.start, self.index, self.value, self.bound)
        if any(array.dtype != np.int64 or array.ndim != 1 for array in arrays):
            return False
        start, index = self.start, self.index
        if not (
            len(start) == len(self.bound) + 1 == len(self.names) + 1
            and len(index) == len(self.value) == int(start[-1])
            and int(start[0]) == 0
            and bool((start[1:] > start[:-1]).all())
            and (not len(index) or (int(index.min()) >= 0 and int(index.max()) < self.columns))
        ):
            return False
        first = np.zeros(len(index), dtype=bool)
        first[start[:-1]] = True
        return bool((first[1:] | (index[1:] > index[:-1])).all())

    def products(self, point: NDArray[Any]) -> NDArray[Any]:
        """Return A x for an integer point x: (R,), int64 where every sum provably fits."""
        top = largest(self.value) * max((abs(int(v)) for v in point), default=0)
        longest = int(np.diff(self.start).max(initial=0))
        wide = top * max(1, longest) >= INT64_SAFE
        terms = self.value.astype(object if wide else np.int64) * point[self.index]
        sums = np.zeros(len(self), dtype=terms.dtype)
        filled = np.flatnonzero(np.diff(self.start))
        if len(filled):
            sums[filled] = np.add.reduceat(terms, self.start[filled])
        return sums

    def slacks(self, numerators: NDArray[Any], denominator: int) -> NDArray[Any]:
        """Return denominator * b - A numerators: what is left of each row at a rational point, times it.

        Args:
            numerators: (columns,) integers.
            denominator: a positive integer.
        """
        sums = self.products(numerators)
        top = largest(self.bound) * denominator
        if sums.dtype == object or top >= INT64_SAFE:
            return np.asarray(self.bound.astype(object) * denominator - sums)
        return np.asarray(self.bound * denominator - sums)

    def select(self, keep: Any) -> SparseRows:
        """Return some of the rows, in the given order.

        Args:
            keep: row numbers.
        """
        chosen = np.asarray(keep, dtype=np.int64)
        lengths = np.diff(self.start)[chosen]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        offsets = np.arange(int(start[-1])) - np.repeat(start[:-1], lengths)
        entries = np.repeat(self.start[chosen], lengths) + offsets
        names = tuple(self.names[i] for i in chosen.tolist())
        return SparseRows(
            self.columns, start, self.index[entries], self.value[entries], self.bound[chosen], names
        )

    def dense(self, columns: Sequence[int] | None = None) -> NDArray[np.int64]:
        """Return A as an (R, n) array, of all columns or of the given ones that hold all entries."""
        place = np.full(self.columns, -1, dtype=np.int64)
        order = np.arange(self.columns) if columns is None else np.asarray(columns, dtype=np.int64)
        place[order] = np.arange(len(order))
        A = np.zeros((len(self), len(order)), dtype=np.int64)
        where = place[self.index]
        if (where < 0).any():
            raise ValueError
        A[np.repeat(np.arange(len(self)), np.diff(self.start)), where] = self.value
        return A

    def entries(self) -> Iterator[tuple[str, list[int], list[int], int]]:
        """Yield (name, columns, coefficients, bound) of every row."""
        ends = self.start.tolist()
        index, value = self.index.tolist(), self.value.tolist()
        for i, (name, bound) in enumerate(zip(self.names, self.bound.tolist(), strict=True)):
            part = slice(ends[i], ends[i + 1])
            yield name, index[part], value[part], bound

    @property
    def sha256(self) -> str:
        """Digest of the coefficients and bounds, whatever the names."""
        digest = hashlib.sha256(str((self.columns, len(self))).encode())
        for array in (self.start, self.index, self.value, self.bound):
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()


def largest(array: NDArray[Any]) -> int:
    """Return the largest absolute value of integers, exactly; 0 if there are none.

    Example:
        >>> largest(np.array([3, -(2**63)])) == 2**63
        True
    """
    return 0 if array.size == 0 else max(abs(int(array.min())), abs(int(array.max())))


def names_sha256(*lists: Sequence[str]) -> str:
    """Return the digest of several lists of names.

    Example:
        >>> names_sha256(("a", "b"), ("c",)) == names_sha256(("a",), ("b", "c"))
        False
    """
    return hashlib.sha256(json.dumps([list(names) for names in lists]).encode()).hexdigest()


def join(columns: int, parts: Sequence[SparseRows]) -> SparseRows:
    """Return several systems over the same variables as one."""
    lengths = [np.diff(part.start) for part in parts]
    start = np.concatenate([[0], np.cumsum(np.concatenate([[], *lengths]))]).astype(np.int64)

    def together(name: str) -> Integers:
        return np.concatenate([np.zeros(0, dtype=np.int64), *(getattr(part, name) for part in parts)])

    names = tuple(name for part in parts for name in part.names)
    return SparseRows(columns, start, together("index"), together("value"), together("bound"), names)


def sparse(
    A: NDArray[Any], b: NDArray[Any], columns: int, where: Sequence[int], names: Sequence[str]
) -> SparseRows:
    """Return dense rows over some of the variables as sparse rows over all.

    Args:
        A: (R, n) integers.
        b: (R,) integers.
        columns: number of variables.
        where: the n columns that A is about.
        names: R names.
    """
    order = np.argsort(np.asarray(where), kind="stable")
    sorted_A = np.asarray(A, dtype=np.int64)[:, order]
    row, local = np.nonzero(sorted_A)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(A)))]).astype(np.int64)
    index = np.asarray(where, dtype=np.int64)[order][local]
    bound = np.asarray(b, dtype=np.int64)
    return SparseRows(columns, start, index, sorted_A[row, local], bound, tuple(names))
