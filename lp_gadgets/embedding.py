"""Field elements as points, and the one inequality that pins a symbol to an element.

Two embeddings of F_q, q = 2^s, on labels j = 0..q-1 (:mod:`lp_gadgets.field`):

* the parabola, e(j) = (j, j^2): two coordinates whatever q is (paper, Appendix C);
* the cube, e(j) = the s bits of j: the sum of two elements is taken bit by bit.

Both come with a *deficit* for every j: an affine function with integer coefficients that is 0 at e(j) and at
least 1 at every other e(i), hence >= 0 on the polytope P_q, the hull of the points, and 0 at e(j) alone. The
pin for j is the row "deficit of j <= 0"; with the rows of P_q it forces z = e(j).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import check_choice, check_integer
from lp_gadgets.field import check_alphabet
from lp_gadgets.rows import Rows, named_rows

KINDS = ("parabola", "cube")


@dataclass(frozen=True)
class Embedding:
    """The q elements of F_q as points in convex position.

    Attributes:
        q: alphabet size, a power of two.
        kind: "parabola" or "cube".

    Raises:
        ArgumentError: unless ``q`` is a power of two that is supported and ``kind`` is one of :data:`KINDS`.

    Example:
        >>> parabola, cube = Embedding(4), Embedding(4, "cube")
        >>> parabola.points.tolist(), cube.points.tolist()
        ([[0, 0], [1, 1], [2, 4], [3, 9]], [[0, 0], [1, 0], [0, 1], [1, 1]])
        >>> print(parabola.polytope_rows("z"))
        z.low0: z.1 - z.2 <= 0
        z.low1: 3 z.1 - z.2 <= 2
        z.low2: 5 z.1 - z.2 <= 6
        z.top: -3 z.1 + z.2 <= 0
    """

    q: int
    kind: str = "parabola"

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", check_alphabet(self.q))
        check_choice("kind", self.kind, KINDS)

    @property
    def bits(self) -> int:
        """The number s of bits of a label."""
        return self.q.bit_length() - 1

    @property
    def dimension(self) -> int:
        """Coordinates of a symbol: 2 on the parabola, s in the cube."""
        return 2 if self.kind == "parabola" else self.bits

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """(q, dimension) the points e(0), ..., e(q - 1); read only."""
        j = np.arange(self.q, dtype=np.int64)
        if self.kind == "parabola":
            table = np.stack([j, j * j], axis=1)
        else:
            table = (j[:, None] >> np.arange(self.bits)) & 1
        table.setflags(write=False)
        return table

    @cached_property
    def deficits(self) -> NDArray[np.int64]:
        """(q, dimension + 1) coefficients and constant of the deficit of every label.

        On the parabola j^2 - 2 j z1 + z2, which is (i - j)^2 at e(i); in the cube the sum over the bits b of
        j of z_b or 1 - z_b, which is the Hamming distance of i and j at e(i). Read only.
        """
        if self.kind == "parabola":
            j = np.arange(self.q, dtype=np.int64)
            table = np.stack([-2 * j, np.ones_like(j), j * j], axis=1)
        else:
            table = np.concatenate([1 - 2 * self.points, self.points.sum(axis=1, keepdims=True)], axis=1)
        table.setflags(write=False)
        return table

    @property
    def largest_deficit(self) -> int:
        """The largest deficit over P_q: (q - 1)^2 on the parabola, s in the cube."""
        return (self.q - 1) ** 2 if self.kind == "parabola" else self.bits

    def variables(self, symbol: str) -> tuple[str, ...]:
        """Return the names of a symbol's coordinates.

        Example:
            >>> Embedding(8, "cube").variables("z0")
            ('z0.1', 'z0.2', 'z0.3')
        """
        return tuple(f"{symbol}.{c + 1}" for c in range(self.dimension))

    def polytope_rows(self, symbol: str, role: str = "bound") -> Rows:
        """Return the rows of P_q: its q edges, or for q = 2 two ends and the equation z2 = z1 as two rows.

        Args:
            symbol: name of the symbol.
            role: the rows' role.
        """
        if self.kind == "cube":
            eye = np.identity(self.bits, dtype=np.int64)
            zero, one = np.zeros((self.bits, 1), dtype=np.int64), np.ones((self.bits, 1), dtype=np.int64)
            functions = np.concatenate([np.hstack([eye, zero]), np.hstack([-eye, one])])
            names = [f"{end}{c + 1}" for end in ("low", "top") for c in range(self.bits)]
        elif self.q == 2:
            functions = np.array([[1, 0, 0], [-1, 0, 1], [-1, 1, 0], [1, -1, 0]])
            names = ["low0", "top", "line.ge", "line.le"]
        else:
            j = np.arange(self.q - 1)
            below = np.stack([-(2 * j + 1), np.ones_like(j), j * (j + 1)], axis=1)
            functions = np.concatenate([below, [[self.q - 1, -1, 0]]])
            names = [f"low{i}" for i in j.tolist()] + ["top"]
        rows = named_rows(self.variables(symbol), functions, lambda _: role, "")
        return Rows(rows.variables, rows.A, rows.b, tuple(f"{symbol}.{name}" for name in names), rows.roles)

    def pin(self, symbol: str, j: int) -> Rows:
        """Return the one row that pins a symbol to label j (paper, Lemma C.1): the deficit of j is <= 0.

        Raises:
            ArgumentError: when j is not a label.

        Example:
            >>> print(Embedding(8).pin("z3", 5))
            z3.pin5: -10 z3.1 + z3.2 <= -25
        """
        j = check_integer("j", j, 0, self.q - 1)
        row = self.deficits[j : j + 1]
        return Rows(self.variables(symbol), row[:, :-1], -row[:, -1], (f"{symbol}.pin{j}",), ("pin",))

    def embed(self, labels: Any) -> NDArray[np.int64]:
        """Return words of labels as points: (..., r) labels give (..., r * dimension) coordinates.

        Example:
            >>> Embedding(4).embed([[1, 3]]).tolist()
            [[1, 1, 3, 9]]
        """
        table = self.points[np.asarray(labels, dtype=np.int64)]
        return table.reshape(*table.shape[:-2], -1)


def tangent_identity(q: int) -> bool:
    """Return whether the tangents of the parabola separate the elements of F_q (paper, Lemma C.1).

    Checked for all pairs, in integers: with l_j(z) = 2 j z1 - z2 and e(i) = (i, i^2),

        l_j(e(i)) = j^2 - (i - j)^2 <= j^2,    with equality iff i = j,

    and for the vertices of P_q with the half-plane l_j >= j^2 cut off: only e(j) is left.

    Args:
        q: alphabet size, a power of two.

    Returns:
        True if the identity holds for all pairs and every tangent leaves one vertex.

    Example:
        >>> all(tangent_identity(2**s) for s in range(1, 9))
        True
    """
    embedding = Embedding(q)
    j = np.arange(embedding.q, dtype=np.int64)
    values = np.stack([2 * j, -np.ones_like(j)], axis=1) @ embedding.points.T
    gaps = (j[None, :] - j[:, None]) ** 2
    identity = np.array_equal(values, j[:, None] ** 2 - gaps)
    strict = np.array_equal(gaps == 0, np.identity(embedding.q, dtype=bool))
    return bool(identity and strict and all(pinned_region(embedding, int(i)) == [int(i)] for i in j))


def pinned_region(embedding: Embedding, j: int) -> list[int]:
    """Return the labels whose points satisfy the rows of P_q and the pin for j.

    The deficit is non-negative on P_q, so the pinned part of P_q is a face: the hull of these points.

    Example:
        >>> pinned_region(Embedding(8, "cube"), 6)
        [6]
    """
    polytope, pin = embedding.polytope_rows("z"), embedding.pin("z", j)
    inside = polytope.holds(embedding.points) & pin.holds(embedding.points)
    return np.flatnonzero(inside).tolist()
