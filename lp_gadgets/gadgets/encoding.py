"""How a relation is imposed: which rows stand for it in a program.

* "facets": the polytope Q_R itself, by a closed form where one is known, else by enumeration.
* "tree": a check of degree r as r - 2 checks of degree 3 that share r - 3 auxiliary symbols, each by its
  facets.
* "implications": for every tuple and every position that the others determine, one row; any relation, any q.
* "implication tree": the tree with implication rows at its nodes.

All four are valid (every tuple satisfies them) and forcing (fix all positions but one that they determine,
and the last is forced: paper, Lemma C.2), which is all that a program needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_choice, check_integer
from lp_gadgets.gadgets.facet_rows import TINY, check_enumerable, facet_rows, facet_size, separates
from lp_gadgets.relation import Relation
from lp_gadgets.rows import Rows, Size, named_rows, stack

ENCODINGS = ("facets", "tree", "implications", "implication tree")
#: Largest number of rows that an encoding may have.
MAX_ROWS = 10**6


@dataclass(frozen=True)
class Encoding:
    """A relation as integer rows.

    Attributes:
        relation: what is imposed.
        kind: one of :data:`ENCODINGS`.
        rows: the rows, over the relation's variables followed by those of the auxiliary symbols.
        sums: for every auxiliary symbol t0, t1, ..., the positions whose labels add up to it.
        completeness: what is known of the rows: whether they describe the hull, and why.

    Example:
        >>> from lp_gadgets.embedding import Embedding
        >>> parity = encode(Relation.parity())
        >>> print(parity.rows)
        f0: r0 + r1 + r2 <= 2
        f1: r0 - r1 - r2 <= 0
        f2: -r0 + r1 - r2 <= 0
        f3: -r0 - r1 + r2 <= 0
        >>> tree = encode(Relation.check(5, Embedding(8)), "tree")
        >>> tree.auxiliaries, tree.sums
        (('t0', 't1'), ((0, 1), (2, 3)))
    """

    relation: Relation
    kind: str
    rows: Rows
    sums: tuple[tuple[int, ...], ...]
    completeness: str

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """The names of the auxiliary symbols."""
        return tuple(f"t{k}" for k in range(len(self.sums)))

    @property
    def size(self) -> Size:
        """The size as built."""
        reals = len(self.sums) * self.relation.embedding.dimension
        return Size(len(self.rows), self.rows.roles.count("bound"), len(self.sums), reals, True)

    def gains(self, position: int) -> tuple[int, ...] | None:
        """Return how far an error can grow: factors g_j that bound one deficit by the others.

        At every point that satisfies the rows, and for every tuple of the relation with deficits delta_j,

            delta_i <= sum over j of g_j delta_j,    g_i = 0.

        Facets: decompose the point over the tuples. The weight of those that differ from the given tuple at j
        is at most delta_j, as a deficit is >= 1 there; those that differ at i differ elsewhere too; and a
        deficit is at most M. So g_j = M, or 1 where the relation separates into bits. Implications: the rows
        say it with g_j = M. Trees: one factor of the node for every node on the way from j to i.

        Args:
            position: i, a position of the relation's tuples.

        Returns:
            g_j for every position j; None if the others do not determine position i.

        Raises:
            ArgumentError: unless ``position`` is one of the relation's positions.

        Example:
            >>> from lp_gadgets.embedding import Embedding
            >>> encode(Relation.check(4, Embedding(4)), "tree").gains(0)
            (0, 9, 81, 81)
        """
        relation = self.relation
        check_integer("position", position, 0, len(relation.names) - 1)
        if not relation.determined(position):
            return None
        _, most = relation.deficits(position)
        if self.kind in ("facets", "tree") and separates(relation):
            most = 1
        if self.sums:
            steps = _nodes_between(relation.symbols, position)
        else:
            steps = [int(j != position) for j in range(len(relation.names))]
        return tuple(most**step if step else 0 for step in steps)

    def lift(self, tuples: Any) -> NDArray[np.int64]:
        """Return the points of tuples (N, r) of labels, auxiliary symbols included: (N, number of variables).

        Example:
            >>> from lp_gadgets.embedding import Embedding
            >>> tree = encode(Relation.check(4, Embedding(4)), "tree")
            >>> tree.lift([[1, 2, 3, 0]]).tolist()  # t0 = 1 + 2 = 3
            [[1, 1, 2, 4, 3, 9, 0, 0, 3, 9]]
        """
        table = np.asarray(tuples, dtype=np.int64)
        points = self.relation.embed(table)
        for positions in self.sums:
            labels = np.bitwise_xor.reduce(table[:, list(positions)], axis=1)
            points = np.column_stack([points, self.relation.embedding.points[labels]])
        return points


def encode(
    relation: Relation, encoding: str = "facets", progress: Callable[[float], None] | None = None
) -> Encoding:
    """Return the rows that impose a relation.

    Args:
        relation: the relation.
        encoding: "facets", "tree", "implications" or "implication tree"; trees are for checks. A tree over
            three symbols or fewer is its only node.
        progress: told the fraction done.

    Returns:
        The rows with what is known of them, such as whether they describe the hull.

    Raises:
        ArgumentError: on an unknown encoding, or a tree for a relation that is no check.
        CapacityError: when the predicted size does not fit; the message says what does.

    Example:
        >>> from lp_gadgets.embedding import Embedding
        >>> check = Relation.check(8, Embedding(2))
        >>> rows = encode(check).rows
        >>> sum(role == "relation" for role in rows.roles), sum(role == "bound" for role in rows.roles)
        (128, 32)
        >>> bool(rows.holds(check.embed(check.tuples)).all())
        True
    """
    check_choice("encoding", encoding, ENCODINGS)
    _check_size(relation, encoding)
    if encoding == "implications":
        return Encoding(relation, encoding, _implications(relation, progress), (), "valid and forcing")
    if encoding == "facets":
        rows, completeness = facet_rows(relation, progress)
        return Encoding(relation, encoding, rows, (), completeness)
    return _tree(relation, encoding, progress)


def predict(relation: Relation, encoding: str = "facets") -> Size:
    """Return the size of an encoding without building it.

    Implication rows, trees, closed forms and relations of at most 64 tuples are counted exactly. For other
    facets the number is the bound of the Upper Bound Theorem for that many points in that dimension
    (McMullen; paper, Lemma C.3), as a rule a wide one.

    Args:
        relation: the relation.
        encoding: as for :func:`encode`.

    Returns:
        The size; ``exact`` tells whether its number of rows is exact or a bound.

    Raises:
        ArgumentError: on an unknown encoding, or a tree for a relation that is no check.

    Example:
        >>> from lp_gadgets.embedding import Embedding
        >>> print(predict(Relation.check(8, Embedding(8)), "tree"))
        6229 rows, 5 auxiliary symbols (10 variables)
        >>> print(predict(Relation.check(8, Embedding(2))))
        160 rows, 0 auxiliary symbols (0 variables)
    """
    check_choice("encoding", encoding, ENCODINGS)
    if encoding == "implications":
        return _implication_size(relation)
    if encoding == "facets":
        return facet_size(relation)
    return _tree_size(relation, encoding)


def _implications(relation: Relation, progress: Callable[[float], None] | None = None) -> Rows:
    """Return delta_i <= M sum of the other deltas, for every tuple and every determined position i.

    With delta_t the deficit of the tuple's value: at the tuple itself both sides are 0; a tuple that differs
    in another position has a sum >= 1, and M is the largest deficit; one that differs at i alone is not in
    the relation. So the rows are valid. At fixed values of the others the sum is 0, which forces delta_i = 0.
    """
    tuples, n = relation.tuples, len(relation.variables)
    positions = range(relation.symbols + relation.bits)
    parts = []
    for target in positions:
        if not relation.determined(target):
            continue
        functions = np.zeros((len(tuples), n + 1), dtype=np.int64)
        for position in positions:
            deficits, _ = relation.deficits(position)
            scale = -1 if position == target else relation.deficits(target)[1]
            own = deficits[tuples[:, position]] * scale
            functions[:, relation.block(position)] += own[:, :-1]
            functions[:, n] += own[:, -1]
        name = relation.names[target]
        parts.append(named_rows(relation.variables, functions, lambda _: "relation", f"{name}.given"))
        if progress is not None:
            progress((target + 1) / len(positions))
    for name in relation.names[: relation.symbols]:
        parts.append(relation.embedding.polytope_rows(name))
    for name in relation.names[relation.symbols :]:
        ends = named_rows((name,), [[1, 0], [-1, 1]], lambda _: "bit", "")
        parts.append(replace(ends, names=(f"{name}.low", f"{name}.top")))
    return stack(parts, relation.variables)


def _implication_size(relation: Relation) -> Size:
    r, t, edges = relation.symbols, relation.bits, len(relation.embedding.polytope_rows("z"))
    if relation.kind == "list" or relation.count <= TINY:
        if relation.count > MAX_ROWS:
            return Size(relation.count * (r + t) + r * edges + 2 * t, r * edges, 0, 0, False)
        rows = _implications(relation)
        return Size(len(rows), rows.roles.count("bound"), 0, 0, True)
    targets = 1 if relation.kind == "trace" or relation.embedding.largest_deficit == 1 else r
    return Size(targets * relation.count + r * edges + 2 * t, r * edges, 0, 0, True)


def tree_nodes(degree: int) -> list[tuple[str, str, str]]:
    """Return the nodes of the tree for a check: triples of symbols that add up to 0, some auxiliary.

    The two symbols that have waited longest are joined first, which keeps the tree shallow.

    Args:
        degree: number of symbols z0, z1, ..., at least 3.

    Example:
        >>> tree_nodes(5)
        [('z0', 'z1', 't0'), ('z2', 'z3', 't1'), ('z4', 't0', 't1')]
    """
    waiting = [f"z{i}" for i in range(degree)]
    nodes: list[tuple[str, str, str]] = []
    while len(waiting) > 3:
        first, second, *waiting = waiting
        joined = f"t{len(nodes)}"
        nodes.append((first, second, joined))
        waiting.append(joined)
    nodes.append((waiting[0], waiting[1], waiting[2]))
    return nodes


def _nodes_between(degree: int, leaf: int) -> list[int]:
    """Return the number of nodes of the tree on the way from one leaf to every leaf."""
    nodes = tree_nodes(degree)
    steps = {f"z{leaf}": 0}
    queue = [f"z{leaf}"]
    for symbol in queue:
        for node in nodes:
            if symbol in node:
                for other in node:
                    if other not in steps:
                        steps[other] = steps[symbol] + 1
                        queue.append(other)
    return [steps[f"z{i}"] for i in range(degree)]


def _tree(relation: Relation, encoding: str, progress: Callable[[float], None] | None) -> Encoding:
    """Return the tree of a check.

    Forcing: direct the edges towards the one unknown leaf; every node then has two known inputs, so its third
    symbol is forced to the true partial sum, and so on up to the leaf.
    """
    inner = "facets" if encoding == "tree" else "implications"
    _check_is_check(relation)
    if relation.symbols <= 3:
        return replace(encode(relation, inner, progress), kind=encoding)
    node = encode(Relation.check(3, relation.embedding), inner, progress)
    sums: dict[str, tuple[int, ...]] = {f"z{i}": (i,) for i in range(relation.symbols)}
    parts = []
    for k, symbols in enumerate(tree_nodes(relation.symbols)):
        rows = node.rows.renamed(dict(zip(("z0", "z1", "z2"), symbols, strict=True)), f"n{k}.")
        roles = tuple(
            "auxiliary" if role == "bound" and _symbol(row).startswith("t") else role
            for role, (_, row, _) in zip(rows.roles, rows.entries(), strict=True)
        )
        parts.append(replace(rows, roles=roles))
        if symbols[2] not in sums:
            sums[symbols[2]] = tuple(sorted(sums[symbols[0]] + sums[symbols[1]]))
    extra = [t for t in sums if t.startswith("t")]
    variables = [*relation.variables, *(v for t in extra for v in relation.embedding.variables(t))]
    rows = stack(parts, variables)
    return Encoding(
        relation,
        encoding,
        rows,
        tuple(sums[t] for t in extra),
        f"valid and forcing; at each node {node.completeness}",
    )


def _tree_size(relation: Relation, encoding: str) -> Size:
    inner = "facets" if encoding == "tree" else "implications"
    _check_is_check(relation)
    if relation.symbols <= 3:
        return predict(relation, inner)
    node = predict(Relation.check(3, relation.embedding), inner)
    nodes, extra = relation.symbols - 2, relation.symbols - 3
    shared = node.bounds // 3  # bound rows of a symbol; an auxiliary one has two nodes
    return Size(
        nodes * node.rows - extra * shared,
        relation.symbols * shared,
        extra,
        extra * relation.embedding.dimension,
        node.exact,
    )


def _symbol(row: dict[str, int]) -> str:
    return next(iter(row), "").partition(".")[0]


def _check_is_check(relation: Relation) -> None:
    if relation.kind != "check":
        raise ArgumentError(
            "encoding",
            "'facets' or 'implications' for this relation",
            "a tree",
            "Trees are for parity checks.",
        )


def _check_size(relation: Relation, encoding: str) -> None:
    """Refuse what is sure not to fit, with the prediction."""
    r, embedding = relation.symbols, relation.embedding
    if encoding in ("tree", "implication tree"):
        _check_is_check(relation)
        if r > 3:
            _check_size(Relation.check(3, embedding), "facets" if encoding == "tree" else "implications")
            return
        encoding = "facets" if encoding == "tree" else "implications"
    size = predict(relation, encoding)
    if encoding == "facets" and not size.exact:
        check_enumerable(relation)
    elif size.rows > MAX_ROWS:
        raise CapacityError(
            "encoding",
            f"one of at most {MAX_ROWS} rows",
            f"{encoding!r} with {size.rows}",
            "Use a tree of small nodes.",
        )
