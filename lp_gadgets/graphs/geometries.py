"""Finite geometries over F_q, q a power of two: their points are variables, their lines are checks.

The s + 1 lines through a point of a stopping set each hold another of its points, so the stopping distance
is at least s + 2; the girths 8 and 12 of the quadrangle and the hexagon give more.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from geomdp.core.errors import ArgumentError, CapacityError, describe
from lp_gadgets.field import multiplication_table, powers_of_primitive, relative_trace

#: Largest number of points that is built.
MAX_POINTS = 2000

Lines = tuple[tuple[int, ...], ...]
Permutations = tuple[tuple[int, ...], ...]
Point = tuple[int, ...]

REQUIREMENT = "Fano, EG(2,q), PG(2,q), GQ(q,q), GH(q,q) or GH(q,q)* with q a power of two"


def geometry(name: str) -> tuple[int, Lines, Permutations]:
    """Return (number of points, lines, some automorphisms) of a geometry; its names are in the requirement.

    Raises:
        ArgumentError: when the name is not one of them.
        CapacityError: when it has more than 2000 points.

    Example:
        >>> [geometry(name)[0] for name in ("Fano", "EG(2,8)", "PG(2,8)", "GQ(2,2)", "GH(2,2)")]
        [7, 63, 73, 15, 63]
    """
    text = "PG(2,2)" if str(name).strip().lower() == "fano" else str(name).replace(" ", "")
    match = re.fullmatch(r"(EG|PG|GQ|GH)\((\d{1,4}),(\d{1,4})\)(\*?)", text)
    if match is None:
        raise ArgumentError("name", REQUIREMENT, describe(name))
    kind, first, q, dual = match[1], int(match[2]), int(match[3]), bool(match[4])
    plane = kind in ("EG", "PG")
    if q < 2 or q & (q - 1) or first != (2 if plane else q) or (dual and kind != "GH"):
        raise ArgumentError("name", REQUIREMENT, describe(name))
    sizes = {"EG": q**2 - 1, "PG": q**2 + q + 1, "GQ": (q + 1) * (q**2 + 1), "GH": (q**6 - 1) // (q - 1)}
    if sizes[kind] > MAX_POINTS:
        raise CapacityError("name", f"a geometry of at most {MAX_POINTS} points", f"one of {sizes[kind]}")
    b = q.bit_length() - 1
    if plane:
        return cyclic_plane(b, projective=kind == "PG")
    if kind == "GQ":
        return symplectic_quadrangle(b)
    K, lines, symmetry = split_cayley_hexagon(b)
    return (len(lines), _transpose(K, lines), ()) if dual else (K, lines, symmetry)


def cyclic_plane(b: int, projective: bool) -> tuple[int, Lines, Permutations]:
    """Return a plane over F_q, q = 2^b, as the translates of one line in a cyclic group of points.

    Affine: the points are w^i in F_{q^2}, i mod q^2 - 1, with w primitive, and a line that misses the origin
    is {x: Tr(a x) = 1}, the trace going down to F_q. Projective: the points are w^i F_q^* in F_{q^3},
    i mod q^2 + q + 1, and a line is {x: Tr(a x) = 0}. Multiplying by w turns the plane by one place.

    Example:
        >>> K, lines, (turn,) = cyclic_plane(1, projective=True)
        >>> K, len(lines), {len(set(a) & set(b)) for a in lines for b in lines if a != b}
        (7, 7, {1})
    """
    s = (3 if projective else 2) * b
    powers = powers_of_primitive(s)
    K = len(powers) // ((1 << b) - 1) if projective else len(powers)
    target = 0 if projective else 1
    line = [i for i in range(K) if relative_trace(powers[i], s, b) == target]
    lines = tuple(tuple(sorted((i + turn) % K for i in line)) for turn in range(K))
    return K, lines, (tuple((i + 1) % K for i in range(K)),)


def symplectic_quadrangle(b: int) -> tuple[int, Lines, Permutations]:
    """Return W(q), q = 2^b: the points of PG(3, q) and the lines on which a symplectic form vanishes.

    The form is <x, y> = x0 y1 + x1 y0 + x2 y3 + x3 y2. The symmetries that are named are the transvections
    x -> x + <x, a> a at the 0/1 vectors a.

    Example:
        >>> K, lines, _ = symplectic_quadrangle(1)
        >>> K, len(lines), {len(line) for line in lines}
        (15, 15, {3})
    """
    table = multiplication_table(1 << b).tolist()

    def form(x: Point, y: Point) -> int:
        return int(table[x[0]][y[1]] ^ table[x[1]][y[0]] ^ table[x[2]][y[3]] ^ table[x[3]][y[2]])

    points = _projective_points(4, b)
    place = {p: i for i, p in enumerate(points)}
    lines = _lines(points, table, lambda x, y: form(x, y) == 0)
    centres = [a for a in itertools.product((0, 1), repeat=4) if any(a)]
    images = [[_normalise(_sum(x, a, form(x, a), table), table) for x in points] for a in centres]
    return len(points), lines, tuple(tuple(place[y] for y in image) for image in images)


#: Pairs of Grassmann coordinates p_ij = x_i y_j + x_j y_i that agree on the lines of the hexagon.
_HEXAGON_PAIRS = ((1, 2, 3, 4), (5, 4, 3, 2), (2, 0, 3, 5), (6, 5, 3, 0), (0, 1, 3, 6), (4, 6, 3, 1))


def split_cayley_hexagon(b: int) -> tuple[int, Lines, Permutations]:
    """Return H(q), q = 2^b: points of the quadric x0 x4 + x1 x5 + x2 x6 = x3^2 in PG(6, q), with Tits' lines.

    A line of the quadric is kept when p12 = p34, p54 = p32, p20 = p35, p65 = p30, p01 = p36 and p46 = p31,
    with p_ij its Grassmann coordinates. There are (q^6 - 1)/(q - 1) points, as many lines, q + 1 of them
    through each point; the incidence graph has girth 12.

    Example:
        >>> K, lines, _ = split_cayley_hexagon(1)
        >>> K, len(lines), {len(line) for line in lines}
        (63, 63, {3})
    """
    table = multiplication_table(1 << b).tolist()

    def kept(x: Point, y: Point) -> bool:
        return all(
            table[x[i]][y[j]] ^ table[x[j]][y[i]] == table[x[k]][y[m]] ^ table[x[m]][y[k]]
            for i, j, k, m in _HEXAGON_PAIRS
        )

    points = [
        x
        for x in _projective_points(7, b)
        if table[x[0]][x[4]] ^ table[x[1]][x[5]] ^ table[x[2]][x[6]] == table[x[3]][x[3]]
    ]
    return len(points), _lines(points, table, kept), ()


def _projective_points(length: int, b: int) -> list[Point]:
    """Return the vectors over F_{2^b} whose first non-zero entry is 1, in lexicographic order."""
    vectors = itertools.product(range(1 << b), repeat=length)
    return [x for x in vectors if next((entry for entry in x if entry), 0) == 1]


def _sum(x: Point, y: Point, factor: int, table: list[list[int]]) -> Point:
    """Return x + factor * y."""
    return tuple(a ^ table[factor][c] for a, c in zip(x, y, strict=True))


def _normalise(x: Point, table: list[list[int]]) -> Point:
    """Return the multiple of x whose first non-zero entry is 1."""
    lead = next(entry for entry in x if entry)
    inverse = table[lead].index(1)
    return tuple(table[inverse][entry] for entry in x)


def _lines(points: list[Point], table: list[list[int]], related: Callable[[Point, Point], bool]) -> Lines:
    """Return the lines through two related points that consist of given points, each once, in order."""
    place = {p: i for i, p in enumerate(points)}
    lines: list[tuple[int, ...]] = []
    joined: list[set[int]] = [set() for _ in points]
    for i, x in enumerate(points):
        for j in range(i + 1, len(points)):
            if j in joined[i] or not related(x, points[j]):
                continue
            y = points[j]
            span = [_normalise(_sum(x, y, factor, table), table) for factor in range(len(table))]
            places = [place.get(p, -1) for p in [*span, y]]
            if min(places) < 0:
                continue
            lines.append(tuple(sorted(places)))
            for p in places:
                joined[p].update(places)
    return tuple(sorted(lines))


def _transpose(K: int, lines: Lines) -> Lines:
    """Return for each point the lines through it."""
    return tuple(tuple(a for a, line in enumerate(lines) if v in line) for v in range(K))
