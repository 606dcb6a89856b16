"""The program: linear rows over real variables that are feasible exactly when F(u, v) = 0.

Variables: the coordinates of the symbols zA0, ..., zA(K-1) of Alice's word and of zB0, ... of Bob's, those of
the auxiliary symbols of trees, the trace bits r0, ..., r(k-1), and the running parities p0, ..., pk.

Public rows (paper, Appendix C):

* the polytope P_q for every symbol;
* for both words every check, imposed by facets, by a tree of nodes of degree 3, or by implication rows;
* the trace relation on (zA_m, zB_m, r_i), m the position of the i-th message symbol;
* p0 = 0, the parity relation on (p_(i), r_i, p_(i+1)), and pk = 0, each equation as two rows.

Private rows: a pin for every symbol of either word; q candidates a symbol. With the pins of two codewords
the program is feasible iff F = 0 (paper, Lemma D.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_choice
from lp_gadgets.code import FieldCode
from lp_gadgets.embedding import Embedding
from lp_gadgets.gadgets.encoding import ENCODINGS, encode, predict, tree_nodes
from lp_gadgets.layout import Block, Layout
from lp_gadgets.relation import Relation
from lp_gadgets.rows import Rows
from lp_gadgets.sparse import SparseRows, join, sparse

#: Largest number of non-zero coefficients of the public rows: about a gigabyte in all.
MAX_NONZEROS = 2 * 10**7
#: Trace relations of at most this many tuples are imposed by their facets, larger ones by implications.
TRACE_TUPLES = 64
WORDS = ("A", "B")


@dataclass(frozen=True)
class ProgramSize:
    """The size of a program, known before it is built.

    Attributes:
        variables: real variables.
        rows: public rows.
        pins: candidate pins, 2 K q.
        nonzeros: an upper bound on the non-zero coefficients of the public rows.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> code = TannerCode.geometry("Fano").over(2)
        >>> size, built = predict_size(code, Recipe.of(2)), Program(code, Recipe.of(2))
        >>> size.rows == len(built.public), size.variables == len(built.variables)
        (True, True)
    """

    variables: int
    rows: int
    pins: int
    nonzeros: int

    @property
    def points(self) -> int:
        """Points of the public domain: public rows, candidate pins, two anchors."""
        return self.rows + self.pins + 2

    def __str__(self) -> str:
        return f"{self.variables} variables, {self.rows} public rows, {self.points} domain points"

    def to_dict(self) -> dict[str, int]:
        """Return the size as JSON values."""
        return {"variables": self.variables, "public_rows": self.rows, "points": self.points}


@dataclass(frozen=True)
class Recipe:
    """How symbols and relations are imposed.

    Attributes:
        embedding: how a symbol becomes a point.
        check: the encoding of checks, one of :data:`lp_gadgets.gadgets.encoding.ENCODINGS`.
        trace: the encoding of trace products, "facets" or "implications".

    Example:
        >>> recipe = Recipe(Embedding(4), "tree", "facets")
        >>> recipe == Recipe.of(4, "parabola"), recipe.nodes(4)
        (True, [('z0', 'z1', 't0'), ('z2', 'z3', 't0')])
    """

    embedding: Embedding
    check: str
    trace: str

    @classmethod
    def of(cls, q: int, embedding: str = "auto", encoding: str = "auto") -> Recipe:
        """Return the recipe for an alphabet.

        Args:
            q: alphabet size.
            embedding: "parabola", "cube" or "auto" (the parabola for q = 2, which is the paper's, else the
                cube, which needs no auxiliary symbols and the least slack).
            encoding: of the checks; "auto" takes facets, on the parabola with q > 2 trees.

        Raises:
            ArgumentError: on an unknown embedding or encoding, or unless ``q`` is a power of two that is
                supported.

        Example:
            >>> Recipe.of(2).embedding.kind, Recipe.of(4).embedding.kind, Recipe.of(8, "parabola").check
            ('parabola', 'cube', 'tree')
        """
        check_choice("embedding", embedding, ("auto", "parabola", "cube"))
        check_choice("encoding", encoding, ("auto", *ENCODINGS))
        if embedding == "auto":
            embedding = "parabola" if q == 2 else "cube"
        place = Embedding(q, embedding)
        if encoding == "auto":
            encoding = "tree" if embedding == "parabola" and q > 2 else "facets"
        direct = (
            "implications" if encoding.startswith("implication") or place.q**2 > TRACE_TUPLES else "facets"
        )
        return cls(place, encoding, direct)

    @property
    def tree(self) -> bool:
        """Whether checks become trees of nodes."""
        return self.check.endswith("tree")

    @property
    def node(self) -> str:
        """The encoding of a check, or of a node of its tree."""
        return {"tree": "facets", "implication tree": "implications"}.get(self.check, self.check)

    def nodes(self, degree: int) -> list[tuple[str, ...]]:
        """Return the relations that impose a check of a degree, in symbols z0, z1, ..., auxiliary t0, ..."""
        if self.tree and degree > 3:
            return list(tree_nodes(degree))
        return [tuple(f"z{i}" for i in range(degree))]

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON values."""
        return {"embedding": self.embedding.kind, "encoding": self.check, "trace": self.trace}


def predict_size(code: FieldCode, recipe: Recipe) -> ProgramSize:
    """Return the size of the program, exactly, before it is built.

    Args:
        code: the code over F_q, of dimension k >= 1.
        recipe: how relations are imposed; for the same q.

    Returns:
        Variables, public rows and pins, all exact, and a bound on the non-zero coefficients.

    Raises:
        CapacityError: when the number of facets is not known beforehand, or does not fit.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> print(predict_size(TannerCode.geometry("Fano").over(2), Recipe.of(2)))
        35 variables, 140 public rows, 170 domain points
    """
    K, k, step = code.graph.K, code.k, recipe.embedding.dimension
    edges = len(recipe.embedding.polytope_rows("z"))
    auxiliaries = rows = nonzeros = 0
    for degree, checks in Counter(map(len, checks_of(code))).items():
        nodes = recipe.nodes(degree)
        auxiliaries += checks * (len(nodes) - 1)
        own = _own_rows(Relation.check(len(nodes[0]), recipe.embedding), recipe.node)
        count = checks * len(nodes) * own
        rows += count
        nonzeros += count * len(nodes[0]) * step
    trace = _own_rows(Relation.trace(recipe.embedding), recipe.trace)
    symbols = 2 * (K + auxiliaries)
    total = 2 * rows + symbols * edges + k * (trace + 4) + 4
    filled = 2 * nonzeros + symbols * edges * step + k * (trace * (2 * step + 1) + 12) + 4
    return ProgramSize(symbols * step + 2 * k + 1, total, 2 * K * code.q, filled)


def check_fits(code: FieldCode, recipe: Recipe) -> ProgramSize:
    """Return the size of a program that can be built.

    Raises:
        ArgumentError: when the code has no word but zero.
        CapacityError: when the program would have too many coefficients.
    """
    if code.k < 1:
        raise ArgumentError("code", "a code of dimension k >= 1", "one whose only word is zero")
    size = predict_size(code, recipe)
    if size.nonzeros > MAX_NONZEROS:
        raise CapacityError(
            "code",
            f"small enough for {MAX_NONZEROS} coefficients",
            f"of {size.rows} rows with up to {size.nonzeros}",
            "Use a shorter code, a smaller q, the cube embedding, or encoding='tree'.",
        )
    return size


def size_table(code: FieldCode) -> list[dict[str, Any]]:
    """Return the size of the program for every embedding and encoding, without building or enumerating.

    Args:
        code: the code over F_q.

    Returns:
        A row each: "embedding", "encoding", "variables", "public_rows" and "points", the sizes None where
        they cannot be told; "note" says why, or that the size does not fit.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> for row in size_table(TannerCode.quasi_cyclic(64).over(4))[-2:]:
        ...     print(row["encoding"], row["variables"], row["public_rows"], repr(row["note"]))
        implications 327 8389894 'does not fit'
        implication tree 967 20998 ''
    """
    rows = []
    for embedding in ("parabola", "cube"):
        for encoding in ENCODINGS:
            recipe = Recipe.of(code.q, embedding, encoding)
            row: dict[str, Any] = {"embedding": embedding, "encoding": encoding, "variables": None}
            row |= {"public_rows": None, "points": None, "note": ""}
            try:
                if _countable(code, recipe):
                    size = predict_size(code, recipe)
                    row |= size.to_dict() | {"note": "does not fit" * (size.nonzeros > MAX_NONZEROS)}
                else:
                    row["note"] = "facets not counted before they are enumerated"
            except CapacityError:
                row["note"] = "does not fit"
            rows.append(row)
    return rows


def _countable(code: FieldCode, recipe: Recipe) -> bool:
    """Return whether the sizes of all gadgets are known without enumerating facets."""
    lengths = set(map(len, checks_of(code)))
    degrees = {len(node) for length in lengths for node in recipe.nodes(length)} - {1}
    relations = [(Relation.check(degree, recipe.embedding), recipe.node) for degree in degrees]
    relations.append((Relation.trace(recipe.embedding), recipe.trace))
    return all(predict(relation, encoding).exact for relation, encoding in relations)


def checks_of(code: FieldCode) -> list[tuple[int, ...]]:
    """Return the checks that a program imposes: those of the graph, neither empty ones nor repetitions."""
    return [check for check in dict.fromkeys(code.graph.checks) if check]


def _own_rows(relation: Relation, encoding: str) -> int:
    """Return the number of rows of a relation that the polytopes of its symbols do not bring."""
    if relation.kind == "check" and relation.symbols == 1:
        return 1
    size = predict(relation, encoding)
    if not size.exact:
        encode(relation, encoding)  # raises where the facets cannot be enumerated
        size = encode(relation, encoding).size
    return size.rows - size.bounds


class Program:
    """The rows of one code and recipe: public ones, and all candidate pins.

    Args:
        code: the code over F_q, of dimension k >= 1.
        recipe: how relations are imposed.
        progress: told the fraction done, in [0, 1].

    Attributes:
        code, recipe: as given.
        variables: names of the real variables.
        public: the public rows.
        pins: the candidate pins; that of label j for symbol i of Alice is row i q + j, of Bob K q later.
        layout: the public rows by what they impose.

    Raises:
        ArgumentError: when code and recipe have different alphabets, or the code has no word but zero.
        CapacityError: when the rows do not fit in memory, or their number is not known beforehand.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> program = Program(TannerCode.geometry("Fano").over(2), Recipe.of(2))
        >>> len(program.variables) == 4 * 7 + 2 * 3 + 1, len(program.public), program.public.names[-1]
        (True, 140, 'out.top')
    """

    def __init__(
        self, code: FieldCode, recipe: Recipe, progress: Callable[[float], None] | None = None
    ) -> None:
        if code.q != recipe.embedding.q:
            raise ArgumentError("recipe", f"for q = {code.q}", f"for q = {recipe.embedding.q}")
        size = check_fits(code, recipe)
        self.code, self.recipe, self.size = code, recipe, size
        self._templates: dict[tuple[str, int], Rows] = {}
        self.variables = tuple(self._names())
        self.place = {name: i for i, name in enumerate(self.variables)}
        parts, blocks, first = [], [], 0
        for kind, names, owner, rows in self._parts():
            part = sparse(
                rows.A, rows.b, len(self.variables), [self.place[v] for v in rows.variables], rows.names
            )
            parts.append(part)
            blocks.append(Block(kind, names, first, len(part), owner))
            first += len(part)
            if progress is not None:
                progress(min(1.0, first / size.rows))
        self.public = join(len(self.variables), parts)
        self.layout = Layout(self.variables, tuple(blocks))
        self.pins = join(len(self.variables), list(self._pins()))

    def __repr__(self) -> str:
        """Show what the program decides and its size."""
        return f"Program({self.code!r}, {self.recipe.embedding.kind}, {self.recipe.check}; {self.size})"

    @cached_property
    def trees(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """For every check its nodes, in local names."""
        return tuple(tuple(self.recipe.nodes(len(check))) for check in checks_of(self.code))

    def symbol(self, word: str, c: int, local: str) -> str:
        """Return the global name of a local symbol of check c of a word: "z3" its fourth, "t0" auxiliary."""
        if local[0] == "z":
            return f"z{word}{checks_of(self.code)[c][int(local[1:])]}"
        return f"t{word}{c}_{local[1:]}"

    def _auxiliaries(self) -> Iterator[tuple[str, int, str]]:
        for word in WORDS:
            for c, nodes in enumerate(self.trees):
                for j in range(len(nodes) - 1):
                    yield word, c, f"t{j}"

    def _names(self) -> Iterator[str]:
        embedding, K, k = self.recipe.embedding, self.code.graph.K, self.code.k
        symbols = [f"z{word}{i}" for word in WORDS for i in range(K)]
        symbols += [self.symbol(*where) for where in self._auxiliaries()]
        for symbol in symbols:
            yield from embedding.variables(symbol)
        yield from (f"r{i}" for i in range(k))
        yield from (f"p{i}" for i in range(k + 1))

    def _parts(self) -> Iterator[tuple[str, tuple[str, ...], Any, Rows]]:
        """Yield (kind, names, owner, rows) of every block."""
        embedding, K, k = self.recipe.embedding, self.code.graph.K, self.code.k
        symbols = [f"z{word}{i}" for word in WORDS for i in range(K)]
        symbols += [self.symbol(*where) for where in self._auxiliaries()]
        for symbol in symbols:
            yield "symbol", (symbol,), (), embedding.polytope_rows(symbol)
        yield "end", ("p0",), (), _zero("p0", "in")
        for word in WORDS:
            for c, nodes in enumerate(self.trees):
                for number, local in enumerate(nodes):
                    names = tuple(self.symbol(word, c, name) for name in local)
                    prefix = f"{word}.check{c}." + (f"n{number}." if len(nodes) > 1 else "")
                    yield "check", names, (word, c), self._rows("check", len(local), names, prefix)
        for i, m in enumerate(self.code.message_positions):
            names = (f"zA{m}", f"zB{m}", f"r{i}")
            yield "trace", names, (), self._rows("trace", 2, names, f"trace{i}.")
        for i in range(k):
            names = (f"p{i}", f"r{i}", f"p{i + 1}")
            yield "parity", names, (), self._rows("parity", 0, names, f"parity{i}.")
        yield "end", (f"p{k}",), (), _zero(f"p{k}", "out")

    def _rows(self, kind: str, degree: int, names: tuple[str, ...], prefix: str) -> Rows:
        """Return a relation's rows over its symbols and bits, without those of single symbols."""
        embedding = self.recipe.embedding
        if kind == "check" and degree == 1:
            pin = embedding.pin("z0", 0)
            return pin.renamed({"z0": names[0]}, prefix)
        template = self._templates.get((kind, degree))
        if template is None:
            if kind == "check":
                full = encode(Relation.check(degree, embedding), self.recipe.node).rows
            elif kind == "trace":
                full = encode(Relation.trace(embedding), self.recipe.trace).rows
            else:
                full = encode(Relation.parity()).rows
            template = full.select(("relation", "equation", "bit"))
            self._templates[kind, degree] = template
        local = [f"z{i}" for i in range(degree)] + [f"r{i}" for i in range(len(names) - degree)]
        return template.renamed(dict(zip(local, names, strict=True)), prefix)

    def _pins(self) -> Iterator[SparseRows]:
        embedding, q = self.recipe.embedding, self.code.q
        for word in WORDS:
            for i in range(self.code.graph.K):
                symbol = f"z{word}{i}"
                where = [self.place[v] for v in embedding.variables(symbol)]
                A, b = embedding.deficits[:, :-1], -embedding.deficits[:, -1]
                names = [f"{symbol}.pin{j}" for j in range(q)]
                yield sparse(A, b, len(self.variables), where, names)

    def pin_rows(self, word: str, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of :attr:`pins` that pin a word's symbols to the given K labels."""
        K, q = self.code.graph.K, self.code.q
        return np.asarray(WORDS.index(word) * K * q + np.arange(K) * q + labels, dtype=np.int64)

    def point(self, labels: dict[str, int], bits: dict[str, int]) -> NDArray[np.int64]:
        """Return the integer point at which symbols and bits have the given values.

        Args:
            labels: a label for every symbol, auxiliary ones included.
            bits: 0 or 1 for every trace bit and parity.
        """
        x = np.zeros(len(self.variables), dtype=np.int64)
        points, step = self.recipe.embedding.points, self.recipe.embedding.dimension
        for symbol, label in labels.items():
            first = self.place[f"{symbol}.1"]
            x[first : first + step] = points[label]
        for name, bit in bits.items():
            x[self.place[name]] = bit
        return x


def _zero(bit: str, stem: str) -> Rows:
    """Return bit = 0 as two rows."""
    return Rows(
        (bit,), np.array([[-1], [1]]), np.array([0, 0]), (f"{stem}.low", f"{stem}.top"), ("bit", "bit")
    )
