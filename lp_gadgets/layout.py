"""What the rows of a program are about: data only, so that a reader needs no builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lp_gadgets.sparse import SparseRows


@dataclass(frozen=True)
class Block:
    """Public rows that belong together.

    Attributes:
        kind: "symbol" (a polytope P_q), "check", "trace", "parity" or "end" (a bit that is fixed at 0).
        names: the symbols, then the bits that the rows are about.
        first, count: the rows are numbers first, ..., first + count - 1.
        owner: of a check or of one of its nodes, the word and the number of the check; else empty.

    Example:
        >>> block = Block("symbol", ("zA0",), 4, 2)
        >>> list(block.rows), Block.from_list(block.to_list()) == block
        ([4, 5], True)
    """

    kind: str
    names: tuple[str, ...]
    first: int
    count: int
    owner: tuple[str, int] | tuple[()] = ()

    @property
    def rows(self) -> range:
        """The row numbers."""
        return range(self.first, self.first + self.count)

    def to_list(self) -> list[Any]:
        """Return the block as JSON values."""
        return [self.kind, list(self.names), self.first, self.count, list(self.owner)]

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> Block:
        """Return the block whose :meth:`to_list` is the data."""
        kind, names, first, count, owner = data
        whose = (str(owner[0]), int(owner[1])) if owner else ()
        return cls(str(kind), tuple(map(str, names)), int(first), int(count), whose)


@dataclass(frozen=True)
class Layout:
    """The variables of a program and the blocks of its public rows.

    Attributes:
        variables: names; a symbol's coordinates are "z.1", "z.2", ..., a bit is its own name.
        blocks: the blocks in the order of their rows.

    Example:
        >>> layout = Layout(("zA0.1", "zA0.2", "r0"), (Block("symbol", ("zA0",), 0, 4),))
        >>> layout.columns("zA0"), layout.columns("r0")
        ([0, 1], [2])
    """

    variables: tuple[str, ...]
    blocks: tuple[Block, ...]

    @cached_property
    def place(self) -> dict[str, int]:
        """The column of every variable."""
        return {name: i for i, name in enumerate(self.variables)}

    @cached_property
    def _columns(self) -> dict[str, list[int]]:
        columns: dict[str, list[int]] = {}
        for i, variable in enumerate(self.variables):
            columns.setdefault(variable.partition(".")[0], []).append(i)
        return columns

    def columns(self, name: str) -> list[int]:
        """Return the columns of the symbol or bit of this name; none if there is no such."""
        return self._columns.get(name, [])

    @cached_property
    def _symbol_rows(self) -> dict[str, range]:
        return {block.names[0]: block.rows for block in self.blocks if block.kind == "symbol"}

    def row_numbers(self, block: Block) -> list[int]:
        """Return the rows of a block's symbols, then its own."""
        return [i for name in block.names for i in self._symbol_rows.get(name, ())] + list(block.rows)

    def local(self, public: SparseRows, block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the public rows of a block, after those of its symbols' polytopes, over its own variables.

        Returns:
            (A, b) dense; the columns are those of the block's names in their order.
        """
        part = public.select(self.row_numbers(block))
        return part.dense([c for name in block.names for c in self.columns(name)]), part.bound
