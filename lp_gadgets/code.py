"""The code over F_q that a Tanner graph defines: generator, message and codeword maps, the function F.

The coefficients of the checks are 0 and 1, so the code is the binary one with scalars extended: its
generator has entries 0 and 1, and a codeword is made by exclusive or of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lp_gadgets.field import check_alphabet, check_symbols, trace_inner_product
from lp_gadgets.graphs.graph import TannerGraph, check_variables

Word = Sequence[int] | NDArray[np.int64]


class FieldCode:
    """The kernel of the parity-check matrix of a Tanner graph over F_q, with a systematic generator.

    Args:
        graph: the Tanner graph; redundant checks are allowed.
        q: alphabet size, a power of two.
        prefer: variables that should carry message symbols where possible (for instance a minimum stopping
            set: the erasures there then change the value of F).
        progress: told the fraction of the checks that have been eliminated.

    Attributes:
        graph, q: as given.
        k: dimension, K - rank H.
        message_positions: the k variables that carry the message, in increasing order. As many of the
            preferred ones as any choice allows are among them; otherwise the least variables are taken first.

    Source: the code and the function F of Appendix C of the paper.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> code = FieldCode(TannerCode.geometry("Fano"), q=4)
        >>> c = code.encode([1, 2, 3])
        >>> code.k, code.is_codeword(c), code.message(c).tolist()
        (3, True, [1, 2, 3])
    """

    def __init__(
        self,
        graph: TannerGraph,
        q: int,
        prefer: Iterable[int] = (),
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.graph, self.q = graph, check_alphabet(q)
        wanted = check_variables(graph, "prefer", prefer)
        # Checked variables are taken greedily from the back of this order, so the front carries the message.
        order = sorted(range(graph.K), key=lambda v: (v not in wanted, v))
        self._determined = _eliminate(graph, order[::-1], progress)
        self.k = graph.K - len(self._determined)
        self.message_positions = tuple(v for v in range(graph.K) if v not in self._determined)

    def __repr__(self) -> str:
        """Show the parameters of the code."""
        return f"FieldCode({self.graph.name or 'a Tanner graph'}, q={self.q}, K={self.graph.K}, k={self.k})"

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The variables, those of the message first: in this order the generator is [I | A]."""
        return self.message_positions + tuple(sorted(self._determined))

    @cached_property
    def generator(self) -> NDArray[np.int64]:
        """The (k, K) generator, entries 0 and 1; its columns at the message positions are the identity."""
        G = np.zeros((self.k, self.graph.K), dtype=np.int64)
        G[np.arange(self.k), list(self.message_positions)] = 1
        for v, row in self._determined.items():
            G[:, v] = [row >> x & 1 for x in self.message_positions]
        G.setflags(write=False)
        return G

    def encode(self, u: Word) -> NDArray[np.int64]:
        """Return the codeword of a message: c = u G.

        Args:
            u: k labels in 0..q-1.

        Raises:
            ArgumentError: when the length or a symbol is wrong.

        Example:
            >>> from lp_gadgets.tanner import TannerCode
            >>> FieldCode(TannerCode(3, ((0, 1), (1, 2))), q=8).encode([5]).tolist()
            [5, 5, 5]
        """
        labels = check_symbols("u", u, self.k, self.q)
        masked = np.where(self.generator == 1, labels[:, None], 0)
        return np.asarray(np.bitwise_xor.reduce(masked, axis=0, initial=0), dtype=np.int64)

    def message(self, c: Word) -> NDArray[np.int64]:
        """Return the message of a word c of K labels: those at the message positions, the rest unchecked.

        Raises:
            ArgumentError: when the length or a symbol is wrong.
        """
        return check_symbols("c", c, self.graph.K, self.q)[list(self.message_positions)]

    def is_codeword(self, c: Word) -> bool:
        """Return whether every check of the word c of K labels sums to zero.

        Raises:
            ArgumentError: when the length or a symbol is wrong.
        """
        labels = check_symbols("c", c, self.graph.K, self.q)
        return not any(np.bitwise_xor.reduce(labels[list(check)], initial=0) for check in self.graph.checks)

    def F(self, u: Word, v: Word) -> int:  # noqa: N802 (the paper's name)
        """Return the exclusive or of Tr(u_i v_i) over the k labels of the messages u and v, 0 or 1.

        Raises:
            ArgumentError: when a length or a symbol is wrong.

        Example:
            >>> from lp_gadgets.tanner import TannerCode
            >>> FieldCode(TannerCode.geometry("Fano"), q=2).F([1, 1, 0], [1, 1, 1])
            0
        """
        a, b = check_symbols("u", u, self.k, self.q), check_symbols("v", v, self.k, self.q)
        return trace_inner_product(a, b, self.q)


def _eliminate(
    graph: TannerGraph, order: list[int], progress: Callable[[float], None] | None = None
) -> dict[int, int]:
    """Return the variables that the checks determine, each with the set (as bits) of those it is the sum of.

    Variables are taken in the given order and kept when their columns of H are independent of the earlier
    ones; being greedy on a matroid, no other choice has more variables from any beginning of the order.
    """
    rows = [sum(1 << v for v in check) for check in graph.checks]
    determined: dict[int, int] = {}
    for v in order:
        bit = 1 << v
        i = next((i for i, row in enumerate(rows) if row & bit), None)
        if i is None:
            continue
        pivot = rows.pop(i)
        rows = [row ^ pivot if row & bit else row for row in rows]
        determined = {x: row ^ pivot if row & bit else row for x, row in determined.items()}
        determined[v] = pivot
        if progress is not None:
            progress(len(determined) / graph.M)
    return {v: row & ~(1 << v) for v, row in determined.items()}
