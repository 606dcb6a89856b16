"""Finite relations between field symbols and bits, and their polytopes.

A relation R is a set of tuples (a_1, ..., a_r, b_1, ..., b_t) of labels a_i of F_q and bits b_j. Its polytope
Q_R is the hull of the embedded tuples (paper, Appendix C). Where the fixed entries of a point of Q_R belong
to exactly one tuple, the whole point is that tuple (paper, Lemma C.2): this is what lets a program of linear
rows compute.

Four kinds: the parity check (symbols that add up to 0), the trace product (a, b, Tr(ab)), the running parity
(three bits that add up to an even number), and any list of tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_integer
from lp_gadgets.embedding import Embedding
from lp_gadgets.field import trace_table
from lp_gadgets.hull import Hull, facets

#: A relation with more tuples than this is never listed; trees and closed forms do without the list.
MAX_TUPLES = 2**20


@dataclass(frozen=True)
class Relation:
    """A finite relation between symbols of F_q and bits.

    Attributes:
        kind: "check", "trace", "parity" or "list".
        embedding: how a symbol becomes a point.
        symbols: number r of field symbols.
        bits: number t of bits.
        listed: the tuples of kind "list".

    Example:
        >>> R = Relation.trace(Embedding(2))
        >>> R.tuples.tolist(), R.variables
        ([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]], ('z0.1', 'z0.2', 'z1.1', 'z1.2', 'r0'))
        >>> len(R.hull().A), len(R.hull().E)
        (4, 2)
    """

    kind: str
    embedding: Embedding
    symbols: int
    bits: int
    listed: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def check(cls, degree: int, embedding: Embedding) -> Relation:
        """Return the parity check of a degree >= 1 in an embedding: words whose symbols add up to 0 in F_q.

        Raises:
            ArgumentError: unless ``degree`` is an integer >= 1.
        """
        return cls("check", embedding, check_integer("degree", degree, 1), 0)

    @classmethod
    def trace(cls, embedding: Embedding) -> Relation:
        """Return the trace product: the triples (a, b, Tr(ab)), symbols by an embedding."""
        return cls("trace", embedding, 2, 1)

    @classmethod
    def parity(cls) -> Relation:
        """Return the running parity: the four triples of bits with an even sum."""
        return cls("parity", Embedding(2), 0, 3)

    @classmethod
    def of(cls, tuples: Any, symbols: int, embedding: Embedding) -> Relation:
        """Return the relation that consists of the given tuples.

        Args:
            tuples: (N, r + t) labels and bits, at least one tuple.
            symbols: how many leading entries of a tuple are labels of F_q; the others are bits.
            embedding: how a symbol becomes a point.

        Raises:
            ArgumentError: on a wrong shape, or an entry outside its alphabet.
        """
        table = np.asarray(tuples)
        if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "biu":
            raise ArgumentError("tuples", "a 2-D array of labels and bits", f"of shape {table.shape}")
        symbols = check_integer("symbols", symbols, 0, table.shape[1])
        tops = np.array([embedding.q - 1] * symbols + [1] * (table.shape[1] - symbols))
        if (table < 0).any() or (table > tops).any():
            raise ArgumentError(
                "tuples", f"an array of labels below {embedding.q}, then bits", "one with an entry outside"
            )
        rows = tuple(sorted({tuple(int(v) for v in row) for row in table}))
        return cls("list", embedding, symbols, table.shape[1] - symbols, rows)

    @property
    def count(self) -> int:
        """The number of tuples."""
        if self.kind == "check":
            return int(self.embedding.q ** (self.symbols - 1))
        return {"trace": self.embedding.q**2, "parity": 4}.get(self.kind, len(self.listed))

    @cached_property
    def tuples(self) -> NDArray[np.int64]:
        """(count, r + t) all tuples in lexicographic order; read only.

        Raises:
            CapacityError: when there are more than :data:`MAX_TUPLES`.
        """
        if self.count > MAX_TUPLES:
            raise CapacityError(
                "relation",
                f"of at most {MAX_TUPLES} tuples to be listed",
                f"of {self.count}",
                "Use encoding='tree' or 'implication tree', or the cube embedding.",
            )
        table = self._listing()
        table.setflags(write=False)
        return table

    def _listing(self) -> NDArray[np.int64]:
        q = self.embedding.q
        if self.kind == "list":
            return np.array(self.listed, dtype=np.int64)
        if self.kind == "parity":
            return np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], dtype=np.int64)
        free = 2 if self.kind == "trace" else self.symbols - 1
        words = np.indices((q,) * free, dtype=np.int64).reshape(free, q**free).T
        if self.kind == "trace":
            last = trace_table(q)[words[:, 0], words[:, 1]]
        else:
            last = np.bitwise_xor.reduce(words, axis=1)
        return np.column_stack([words, last])

    @property
    def names(self) -> tuple[str, ...]:
        """The local names of the symbols z0, z1, ... and of the bits r0, r1, ..."""
        return tuple(f"z{i}" for i in range(self.symbols)) + tuple(f"r{i}" for i in range(self.bits))

    @property
    def variables(self) -> tuple[str, ...]:
        """The local names of the real variables: the coordinates of the symbols, then the bits."""
        coordinates = (v for name in self.names[: self.symbols] for v in self.embedding.variables(name))
        return (*coordinates, *self.names[self.symbols :])

    def embed(self, tuples: Any) -> NDArray[np.int64]:
        """Return the points of (N, r + t) tuples: (N, n), the variables in their order."""
        table = np.asarray(tuples, dtype=np.int64)
        return np.column_stack([self.embedding.embed(table[:, : self.symbols]), table[:, self.symbols :]])

    def block(self, position: int) -> slice:
        """Return the columns of one position of the tuples."""
        step = self.embedding.dimension
        if position < self.symbols:
            return slice(position * step, (position + 1) * step)
        start = self.symbols * step + position - self.symbols
        return slice(start, start + 1)

    def deficits(self, position: int) -> tuple[NDArray[np.int64], int]:
        """Return the deficit of every value of a position as functions of its block, and the largest deficit.

        The bit value b has the deficit r for b = 0 and 1 - r for b = 1; on the parabola with q = 2, where
        z2 = z1, a symbol's deficits are written like those of a bit.
        """
        bit = np.array([[1, 0], [-1, 1]], dtype=np.int64)
        if position >= self.symbols:
            return bit, 1
        if self.embedding.q == 2 and self.embedding.kind == "parabola":
            return np.insert(bit, 1, 0, axis=1), 1
        return self.embedding.deficits, self.embedding.largest_deficit

    def determined(self, position: int) -> bool:
        """Return whether the other entries of a tuple always determine the entry at a position."""
        if self.kind == "check" or self.kind == "parity":
            return True
        others = np.delete(self.tuples, position, axis=1)
        return len(set(map(tuple, others.tolist()))) == self.count

    def symmetries(self) -> list[Callable[[NDArray[Any]], NDArray[Any]]]:
        """Return affine maps of the embedded points that keep the relation; they generate a group.

        A check is kept by every order of its symbols and, because j -> q - 1 - j adds one fixed element, by
        the reversal of two of them. On the parabola the reversal is (z1, z2) -> (q-1-z1, (q-1)^2 - 2(q-1) z1
        + z2).
        """
        if self.kind == "trace":
            return [self._reordered([1, 0, 2])]
        if self.kind == "parity":
            return [self._reordered([1, 0, 2]), self._reordered([1, 2, 0])]
        if self.kind == "list" or self.symbols < 2:
            return []
        r = self.symbols
        return [
            self._reordered([1, 0, *range(2, r)]),
            self._reordered([*range(1, r), 0]),
            lambda x: self._reversed(self._reversed(x, 0), 1),
        ]

    def hull(self, method: str = "auto", progress: Callable[[float], None] | None = None) -> Hull:
        """Return the polytope with its exact facets, found by enumeration and proved complete.

        Args:
            method: as in :func:`lp_gadgets.hull.facets`.
            progress: told the fraction done.
        """
        return facets(self.embed(self.tuples), self.symmetries(), method, progress)

    def _reordered(self, order: Sequence[int]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        columns = np.concatenate([np.arange(self.block(p).start, self.block(p).stop) for p in order])
        return lambda x: x[:, columns]

    def _reversed(self, x: NDArray[Any], position: int) -> NDArray[Any]:
        result, top = x.copy(), self.embedding.q - 1
        block = self.block(position)
        if self.embedding.kind == "cube":
            result[:, block] = 1 - x[:, block]
            return result
        first = x[:, block.start]
        result[:, block.start] = top - first
        result[:, block.start + 1] = top * top - 2 * top * first + x[:, block.start + 1]
        return result
