"""The facets of a relation as rows: by a closed form where one is known, else by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from geomdp.core.errors import CapacityError
from lp_gadgets.embedding import Embedding
from lp_gadgets.hull import Hull
from lp_gadgets.polytopes import closed_forms
from lp_gadgets.relation import Relation
from lp_gadgets.rows import Rows, Size, named_rows, stack

#: Relations of at most this many tuples, whose facets can be at most so many, are enumerated to predict their
#: sizes: a matter of milliseconds.
TINY, FEW = 64, 10**5
#: Largest number of tuples whose facets are enumerated, by the greatest number of coordinates.
ENUMERATED = ((5, 4096), (6, 256), (8, 512), (12, 128))


def facet_rows(relation: Relation, progress: Callable[[float], None] | None = None) -> tuple[Rows, str]:
    """Return the facets of a relation's polytope as rows, and what is known of their completeness.

    Example:
        >>> rows, completeness = facet_rows(Relation.check(8, Embedding(4, "cube")))
        >>> len(rows), completeness
        (288, 'complete: odd sets and bounds, a product over the bits of a label')
    """
    form = _closed_form(relation)
    if form == "binary":
        return _binary_rows(relation), "complete: odd sets and bounds, a product over the bits of a label"
    if form == "quaternary":
        functions = closed_forms.quaternary_check(relation.symbols)
        known = relation.symbols <= closed_forms.COMPLETE_DEGREE
        text = "complete: closed form, as enumeration proves at this degree"
        if not known:
            text = (
                "valid: closed form, every row a facet; complete up to degree 6, "
                "by a longer proof at degree 7, and perhaps not beyond"
            )
        return named_rows(relation.variables, functions, _role_of(relation), "f"), text
    hull = _enumerated(relation) if is_tiny(relation) else relation.hull(progress=progress)
    return hull_rows(relation, hull), str(hull.completeness)


def hull_rows(relation: Relation, hull: Hull) -> Rows:
    """Return an enumerated polytope as rows: facets f0, f1, ..., and each equation as two inequalities.

    Example:
        >>> trace = Relation.trace(Embedding(2))
        >>> hull_rows(trace, trace.hull()).names
        ('f0', 'f1', 'f2', 'f3', 'e0.ge', 'e0.le', 'e1.ge', 'e1.le')
    """
    role = _role_of(relation)
    parts = [named_rows(relation.variables, hull.functions, role, "f")]
    for k, (row, value) in enumerate(zip(hull.E.tolist(), hull.e.tolist(), strict=True)):
        function = [*row, -value]
        pair = named_rows(relation.variables, [function, [-v for v in function]], role, "")
        roles = tuple("equation" if kind == "relation" else kind for kind in pair.roles)
        parts.append(replace(pair, names=(f"e{k}.ge", f"e{k}.le"), roles=roles))
    return stack(parts, relation.variables)


@cache
def _enumerated(relation: Relation) -> Hull:
    return relation.hull()


def separates(relation: Relation) -> bool:
    """Return whether the polytope is a product of polytopes of bits.

    Example:
        >>> [separates(Relation.check(3, Embedding(4, kind))) for kind in ("parabola", "cube")]
        [False, True]
    """
    embedding = relation.embedding
    return relation.kind == "check" and (embedding.kind == "cube" or embedding.q == 2)


def _closed_form(relation: Relation) -> str:
    embedding = relation.embedding
    if relation.kind != "check" or relation.symbols < 3:
        return "binary" if relation.kind == "check" and embedding.kind == "cube" else ""
    if embedding.kind == "cube" or embedding.q == 2:
        return "binary"
    return "quaternary" if embedding.q == 4 and 4 <= relation.symbols <= closed_forms.MAX_DEGREE else ""


def _binary_rows(relation: Relation) -> Rows:
    """Return the facets of a check that separates into checks of bits."""
    degree, embedding = relation.symbols, relation.embedding
    step = embedding.dimension
    bits = 1 if embedding.kind == "parabola" else step
    if degree < 3:
        return _short_cube_rows(relation)
    role = _role_of(relation)
    binary = np.array(closed_forms.binary_check(degree), dtype=np.int64)
    parts = []
    for bit in range(bits):
        functions = np.zeros((len(binary), degree * step + 1), dtype=np.int64)
        functions[:, [*range(bit, degree * step, step), -1]] = binary
        parts.append(named_rows(relation.variables, functions, role, f"b{bit + 1}." if bits > 1 else "f"))
    if embedding.kind == "parabola":
        for i in range(degree):
            rows = embedding.polytope_rows(f"z{i}")
            line = [k for k, name in enumerate(rows.names) if ".line" in name]
            names = tuple(rows.names[k] for k in line)
            parts.append(replace(rows, A=rows.A[line], b=rows.b[line], names=names, roles=("bound",) * 2))
    return stack(parts, relation.variables)


def _short_cube_rows(relation: Relation) -> Rows:
    """Return the check of degree 1 or 2 in the cube, bit by bit: the bit is 0, or the two bits agree."""
    degree, step = relation.symbols, relation.embedding.dimension
    small = Relation.check(degree, Embedding(2, "cube"))
    rows = hull_rows(small, _enumerated(small))
    parts = []
    for bit in range(step):
        names = {f"z{i}.1": f"z{i}.{bit + 1}" for i in range(degree)}
        variables = tuple(names[v] for v in rows.variables)
        parts.append(replace(rows, variables=variables, names=tuple(f"b{bit + 1}.{n}" for n in rows.names)))
    return stack(parts, relation.variables)


def facet_size(relation: Relation) -> Size:
    """Return the number of rows of :func:`facet_rows`, exact or bounded, without building them."""
    r, step = relation.symbols, relation.embedding.dimension
    form = _closed_form(relation)
    if form == "binary" and r >= 3:
        bits = step if relation.embedding.kind == "cube" else 1
        bounds = bits * 2 * r if r >= 4 else 0
        lines = 2 * r if relation.embedding.kind == "parabola" else 0
        return Size(bits * closed_forms.binary_check_count(r) + lines, bounds + lines, 0, 0, True)
    if form == "quaternary":
        return Size(closed_forms.quaternary_check_count(r), 4 * r, 0, 0, True)
    if form == "binary" or is_tiny(relation):
        rows = _short_cube_rows(relation) if form == "binary" else hull_rows(relation, _enumerated(relation))
        return Size(len(rows), rows.roles.count("bound"), 0, 0, True)
    return Size(_most_facets(relation) + 2 * len(relation.variables), 0, 0, 0, False)


def is_tiny(relation: Relation) -> bool:
    """Return whether the facets are enumerated even where only their number is asked for."""
    return relation.count <= TINY and _most_facets(relation) <= FEW


def _most_facets(relation: Relation) -> int:
    """Return the bound on the number of facets over all dimensions that the polytope may have."""
    dimensions = range(1, min(len(relation.variables), relation.count - 1) + 1)
    return max((upper_bound(relation.count, h) for h in dimensions), default=0)


def check_enumerable(relation: Relation) -> None:
    """Refuse to enumerate the facets of a relation that is too large for it.

    Raises:
        CapacityError: with the number of tuples that would do.
    """
    n = len(relation.variables)
    allowed = next((points for top, points in ENUMERATED if n <= top), 0)
    if relation.count > allowed:
        most = f"of at most {allowed} tuples, for the facets in its {n} coordinates to be enumerated"
        raise CapacityError(
            "relation",
            most
            if allowed
            else f"of at most {ENUMERATED[-1][0]} coordinates, for its facets to be enumerated",
            f"of {relation.count}" if allowed else f"of {n}",
            "Use encoding='implications' or a tree, or the cube embedding.",
        )


def upper_bound(points: int, dimension: int) -> int:
    """Return the most facets that a polytope of this many vertices and dimension can have (McMullen).

    Args:
        points: number of vertices, more than the dimension.
        dimension: at least 1.

    Example:
        >>> upper_bound(8, 2), upper_bound(8, 3), upper_bound(8, 4)
        (8, 12, 20)
    """
    half = dimension // 2
    if dimension % 2:
        return 2 * math.comb(points - half - 1, half)
    return points * math.comb(points - half, half) // (points - half)


def _role_of(relation: Relation) -> Callable[[Sequence[int]], str]:
    """Return the function that tells a row's role by the positions that it involves."""
    step, symbols = relation.embedding.dimension, relation.symbols

    def role(coefficients: Sequence[int]) -> str:
        used = [i for i, a in enumerate(coefficients) if a]
        positions = {i // step if i < symbols * step else symbols + i for i in used}
        if len(positions) > 1:
            return "relation"
        return "bound" if max(used, default=0) < symbols * step else "bit"

    return role
