"""Systems of integer inequalities over named real variables: the form in which every gadget is handed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import integer_array, products
from geomdp.core.errors import ArgumentError, describe
from geomdp.exact.rational import rational_rows

#: What a row is: a constraint of the relation; one half of an equation between several symbols; a row that
#: the polytope of a single symbol implies; a row on an auxiliary symbol alone; a range of a bit; a pin.
ROLES = ("relation", "equation", "bound", "auxiliary", "bit", "pin")


@dataclass(frozen=True)
class Rows:
    """The system A x <= b, with a name for every row and variable.

    Attributes:
        variables: n names, all different.
        A: (R, n) integers.
        b: (R,) integers.
        names: R names, all different.
        roles: R of :data:`ROLES`.

    Raises:
        ArgumentError: unless ``A`` and ``b`` are integers of matching shapes, the names and the variables all
            different, and the roles known.

    Example:
        >>> rows = Rows(("x", "y"), [[1, 0], [-1, 2]], [3, 0], ("cap", "slope"), ("bound", "relation"))
        >>> print(rows)
        cap: x <= 3
        slope: -x + 2 y <= 0
    """

    variables: tuple[str, ...]
    A: NDArray[Any]
    b: NDArray[Any]
    names: tuple[str, ...]
    roles: tuple[str, ...]

    def __post_init__(self) -> None:
        n, count = len(self.variables), len(self.names)
        A = np.asarray(self.A)
        A = integer_array("A", A.reshape(count, n) if A.size == 0 else self.A, 2)
        b = integer_array("b", self.b, 1) if count else np.zeros(0, dtype=np.int64)
        if A.shape != (count, n):
            raise ArgumentError("A", f"an array of shape ({count}, {n})", f"of shape {A.shape}")
        if b.shape != (count,):
            raise ArgumentError("b", f"an array of {count} integers", f"of shape {b.shape}")
        for what, texts in (("variables", self.variables), ("names", self.names)):
            if len(set(texts)) < len(texts):
                raise ArgumentError(what, "a tuple of different names", "one with a name twice")
        if len(self.roles) != count or not set(self.roles) <= set(ROLES):
            raise ArgumentError("roles", f"{count} of {', '.join(ROLES)}", describe(self.roles))
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "b", b)

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return "\n".join(
            f"{name}: {_sum_text(row, self.variables)} <= {bound}"
            for name, row, bound in zip(self.names, self.A.tolist(), self.b.tolist(), strict=True)
        )

    def slacks(self, points: Any) -> NDArray[Any]:
        """Return b - A x times the positive denominator of each point x: (N, R) integers, < 0 where violated.

        Args:
            points: (N, n) integers, Fractions or floats (read exactly).
        """
        exact = rational_rows("points", points, len(self.variables))
        return self._slacks(exact.numerators, exact.denominators)

    def _slacks(self, numerators: NDArray[Any], denominators: NDArray[Any]) -> NDArray[Any]:
        values = products(numerators, np.ascontiguousarray(self.A.T))
        bounds = products(denominators[:, None], self.b[None, :])
        if values.dtype == bounds.dtype == np.int64:  # both are below 2^62
            return np.asarray(bounds - values)
        return np.asarray(bounds.astype(object) - values.astype(object))

    def holds(self, points: Any) -> NDArray[np.bool_]:
        """Return whether each of the points, (N, n) rationals, satisfies every row, exactly.

        Example:
            >>> from fractions import Fraction
            >>> segment = Rows(("x",), [[1], [-1]], [1, 0], ("upper", "lower"), ("bound", "bound"))
            >>> segment.holds([[0], [Fraction(1, 3)], [2]]).tolist()
            [True, True, False]
        """
        exact = rational_rows("points", points, len(self.variables))
        step = max(1, 2**20 // max(1, len(self)))
        parts = [
            (self._slacks(exact.numerators[i : i + step], exact.denominators[i : i + step]) >= 0).all(axis=1)
            for i in range(0, len(exact), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    def select(self, roles: Sequence[str]) -> Rows:
        """Return the rows of the given roles, all variables kept.

        Raises:
            ArgumentError: on a role that does not exist.
        """
        if not set(roles) <= set(ROLES):
            raise ArgumentError("roles", "a sequence of " + ", ".join(map(repr, ROLES)), describe(roles))
        return self._numbered([i for i, role in enumerate(self.roles) if role in roles])

    def _numbered(self, numbers: Sequence[int]) -> Rows:
        """Return the rows of the given numbers, all variables kept."""
        names, roles = (tuple(own[i] for i in numbers) for own in (self.names, self.roles))
        return Rows(self.variables, self.A[numbers], self.b[numbers], names, roles)

    def renamed(self, symbols: Mapping[str, str], prefix: str = "") -> Rows:
        """Return the same rows over other variables.

        Args:
            symbols: new name of each symbol or bit; a coordinate "z0.1" follows its symbol "z0". Names that
                are missing stay.
            prefix: put before every row name.

        Example:
            >>> rows = Rows(("z0.1", "r0"), [[1, -1]], [0], ("f0",), ("relation",))
            >>> print(rows.renamed({"z0": "z17", "r0": "r4"}, "check3."))
            check3.f0: z17.1 - r4 <= 0
        """

        def new(variable: str) -> str:
            symbol, dot, coordinate = variable.partition(".")
            return symbols.get(symbol, symbol) + dot + coordinate

        return Rows(
            tuple(new(variable) for variable in self.variables),
            self.A,
            self.b,
            tuple(prefix + name for name in self.names),
            self.roles,
        )

    def entries(self) -> Iterator[tuple[str, dict[str, int], int]]:
        """Yield (name, non-zero coefficients by variable, bound) of every row: the sparse form.

        Example:
            >>> list(Rows(("x", "y"), [[0, 2]], [1], ("half",), ("relation",)).entries())
            [('half', {'y': 2}, 1)]
        """
        for name, row, bound in zip(self.names, self.A.tolist(), self.b.tolist(), strict=True):
            yield name, {v: a for v, a in zip(self.variables, row, strict=True) if a}, bound


@dataclass(frozen=True)
class Size:
    """The size of an encoding, known before it is built.

    Attributes:
        rows: number of rows, or an upper bound.
        bounds: how many of them the polytopes of the relation's own symbols imply (0 if not known).
        auxiliaries: auxiliary symbols.
        reals: auxiliary real variables.
        exact: whether ``rows`` is the exact number.

    Example:
        >>> from lp_gadgets.embedding import Embedding
        >>> from lp_gadgets.relation import Relation
        >>> from lp_gadgets import encode, predict
        >>> check = Relation.check(4, Embedding(2))
        >>> predict(check).exact, predict(check).rows == len(encode(check).rows)
        (True, True)
    """

    rows: int
    bounds: int
    auxiliaries: int
    reals: int
    exact: bool

    def __str__(self) -> str:
        count = f"{self.rows} rows" if self.exact else f"at most {self.rows} rows"
        return f"{count}, {self.auxiliaries} auxiliary symbols ({self.reals} variables)"


def stack(parts: Sequence[Rows], variables: Sequence[str] | None = None) -> Rows:
    """Return several systems as one over the union of their variables, each row kept once.

    Args:
        parts: systems whose row names differ.
        variables: the order of the variables; by default that of first appearance.

    Example:
        >>> left = Rows(("x",), [[1]], [1], ("a",), ("bound",))
        >>> right = Rows(("y", "x"), [[0, 1], [2, -1]], [1, 0], ("b", "c"), ("bound", "relation"))
        >>> print(stack([left, right]))
        a: x <= 1
        c: -x + 2 y <= 0
    """
    order = list(variables or dict.fromkeys(v for part in parts for v in part.variables))
    place = {variable: i for i, variable in enumerate(order)}
    blocks = []
    for part in parts:
        block = np.zeros((len(part), len(order)), dtype=part.A.dtype)
        block[:, [place[v] for v in part.variables]] = part.A
        blocks.append(block)
    A = np.concatenate(blocks) if blocks else np.zeros((0, len(order)), dtype=np.int64)
    b = np.concatenate([part.b for part in parts]) if parts else np.zeros(0, dtype=np.int64)
    names = [name for part in parts for name in part.names]
    roles = [role for part in parts for role in part.roles]
    return distinct(Rows(tuple(order), A, b, tuple(names), tuple(roles)))


def distinct(rows: Rows) -> Rows:
    """Return the rows without repetitions, the first of each kept."""
    first: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(np.column_stack([rows.A, rows.b]).tolist()):
        first.setdefault(tuple(row), i)
    keep = sorted(first.values())
    return rows if len(keep) == len(rows) else rows._numbered(keep)


def named_rows(
    variables: Sequence[str],
    functions: NDArray[Any] | Sequence[Sequence[int]],
    role: Callable[[Sequence[int]], str],
    stem: str,
) -> Rows:
    """Return the rows f >= 0 of affine functions f = (coefficients, constant), each made primitive.

    Args:
        variables: n names.
        functions: (R, n + 1) integers.
        role: the role of a row, from its n coefficients.
        stem: rows are named stem0, stem1, ...
    """
    n = len(variables)
    table = np.asarray(functions, dtype=object).reshape(-1, n + 1)
    if len(table):
        table = table // np.gcd.reduce(table, axis=1)[:, None]
    return Rows(
        tuple(variables),
        -table[:, :n],
        table[:, n],
        tuple(f"{stem}{i}" for i in range(len(table))),
        tuple(role(row[:n]) for row in table.tolist()),
    )


def _sum_text(row: Sequence[int], variables: Sequence[str]) -> str:
    text = ""
    for a, variable in zip(row, variables, strict=True):
        if a:
            sign = " - " if a < 0 else " + "
            text += sign + ("" if abs(a) == 1 else f"{abs(a)} ") + variable
    if not text:
        return "0"
    return ("-" if text.startswith(" -") else "") + text[3:]
