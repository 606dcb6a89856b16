r"""Cuttings of proved size: cells of directions in R^3, or R^2, that few of N planes cross.

Setting. Every point w != 0 of a finite set W in R^3 is a plane w^perp in the space of directions z. Cells are
closed convex cones that cover all directions up to sign; w *crosses* a cell if <z, w> takes both signs on it.
With C+ = {w : <z, w> > 0 somewhere on the cell} and C- the same for the opposite cell,
|C+| + |C-| <= N + (points that cross), and C+ contains every halfspace {w : <z, w> > 0} of the cell.

Strips. Choose e with <e, w> != 0 on W and turn every w such that <e, w> > 0. The directions
z = c a + s b + y e, (c, s) on half a circle, are a strip with abscissa (c, s) and height y in which the
planes are graphs, w below z iff <z, w> > 0, and any two cross once. So for k = 1..N-1 the number v_k of
changes in who are the k lowest satisfies sum v_k <= N (N-1) / 2.

Chains. Chain k is a polygon whose vertices have k planes below, each as far to the right as it can be while
at most X planes separate it from the one before; there is always a vertex in the middle, at (0, 1). If j
changes lie between two points of level k, at most 2j planes separate them. So a step that ends neither in the
middle nor at the end uses up at least X/2 of the v_k changes, and chain k has at most v_k / h + 2 steps for
any h <= X/2.

Cells. Take the chains o, o + q, o + 2q, ... < N, with walls up and down to the next chain at all vertices.
On a step let c_1 + c_2 + c_3 <= X planes be met left of a cell, along it, and right of it. The level on the
chain then differs from k by at most c_1 at the left wall and c_3 at the right one. So a cell between two
chains is entered or left at most (q + c_1 + c_1') + (q + c_3 + c_3') + c_2 + c_2' <= 2q + 2X times; a plane
that crosses does so twice: at most q + X planes cross. Above the last and below the first chain the cell is a
triangle with vertex e or -e, at most q planes beyond the chain; the same count gives less. L chains with s
steps in all leave at most 2s - 2L + 2 cells. The average over o = 1..q of the sum of the v_k is at most
N (N-1) / (2q), so *some offset o gives at most N (N-1) / (q h) + 2 (N-1) / q + 2 cells*, about
8 r^2 + 4 r + 2 for N/r crossings at X = q. The program tries the offsets in a fixed order, counts, and stops
at one that keeps the bound: it exists, so the search ends.

Ties. Points come in pairs +-w with one and the same plane, so a level may be one off: two planes more per
cell, and 2j + 2 planes between two points of a chain. A search ends at a point next to one, at most 4 planes
away, that more than X separate, so at least X - 3 separate it from where it began: h = floor(X/2) - 3 is
safe.
Where many planes meet in one point, that point becomes a vertex. It stands for all points of the level beside
it, in planes moved a little into general position: counts use the sides just before it for the cells on its
left and just after it for those on its right; a plane through it crosses strictly only if it did so there.
The bound thus holds for every finite set. Abscissas, heights and all signs are exact.
Source: level cuttings, J. Matousek, On constants for cuttings in the plane (1998), here on half a sphere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.geometry.cones import CuttingError
from geomdp.geometry.flats import column_basis
from geomdp.geometry.subsets import pack

#: What a tie may cost: planes per cell, and changes per step of a chain.
TIES, CHANGES = 2, 3
#: A search ends when so few planes separate the last good point from the first bad one.
FEW = 4
#: Abscissas closer than this are told apart only where many planes meet.
FINE = Fraction(1, 2**40)
#: The most cells that are tried: a guard, far above every bound that is used.
MOST_CELLS = 100_000

Signs = NDArray[np.int8]


def level_cells(n: int, cross: int, d: int) -> int | None:
    """Return the proved number of cells that at most `cross` of n planes cross each; None if there is none.

    In R^3 this is the bound of the module's text at q = X = (cross - 2)/2. In R^2 the planes are n points on
    half a circle; cells of cross/2 or more of them, cut between two of different direction, are at most
    2 n / cross + 1.

    Example:
        >>> level_cells(10_000, 2_000, 3), level_cells(10_000, 2_000, 2)
        (223, 11)
    """
    if d <= 1:
        return 1
    if d == 2:
        return 2 * n // cross + 1 if cross >= 4 else None
    if d > 3:
        return None
    q, step = _sizes(cross)
    h = step // 2 - CHANGES
    return n * (n - 1) // (q * h) + 2 * (n - 1) // q + 2 if h > 0 and q < n else None


def level_cells_from(least: int, share: Fraction, d: int) -> int | None:
    """Return a bound on level_cells(n, floor(share * n), d) for all n >= least; None if there is none.

    From floor(share n) >= share n - 1, q >= (share n - 4)/2 and h >= (share n - 17)/4 every term of the bound
    is at most one that decreases in n.

    Example:
        >>> level_cells_from(1000, Fraction(1, 5), 3) >= level_cells(5000, 1000, 3)
        True
    """
    if d <= 1:
        return 1
    if d > 3 or share * least <= 17:
        return None
    per = Fraction(least)
    if d == 2:
        return math.floor(2 / (share - 1 / per)) + 1
    q, h = (share - 4 / per) / 2, (share - 17 / per) / 4
    return math.floor(1 / (q * h) + 2 / q + 2)


@dataclass(frozen=True)
class LevelCells:
    """The two sets of every cell.

    Attributes:
        points: N.
        cross: the most points that cross a cell.
        plus, minus: (cells, words) bits of C+ and C-.
    """

    points: int
    cross: int
    plus: NDArray[np.uint64]
    minus: NDArray[np.uint64]


def level_cutting(points: NDArray[Any], cross: int) -> LevelCells:
    """Return at most level_cells(N, cross, rank) cells that cover all directions up to sign.

    Args:
        points: (N, d) integers of rank at most 3, none zero, at most two on a line through 0.
        cross: the most points that may cross a cell.

    Raises:
        CuttingError: when the points are not as described, or `cross` is too small.

    Example:
        >>> W = np.array([[a, b, 7] for a in range(-20, 21) for b in range(-20, 21)])
        >>> found = level_cutting(W, 800)
        >>> len(found.plus) <= level_cells(1681, 800, 3)
        True
    """
    n = len(points)
    columns = list(column_basis(points)) if n else []
    rank = len(columns)
    bound = level_cells(n, cross, rank)
    if bound is None or rank == 0 or not (points != 0).any(axis=1).all():
        raise CuttingError
    exact = points[:, columns].astype(object)
    rows: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
    if rank == 1:
        up = np.array([bool(v > 0) for v in exact[:, 0]], dtype=bool)
        rows = [(up, ~up)]
    elif rank == 2:
        rows = list(_arcs(exact, cross))
    else:
        rows = _best_offset(_Strip(exact), cross, bound)
    both = max(int((plus & minus).sum()) for plus, minus in rows)
    if len(rows) > bound or both > cross:
        raise CuttingError
    return LevelCells(n, both, *(pack(np.array(side)) for side in zip(*rows, strict=True)))


def _sizes(cross: int) -> tuple[int, int]:
    """Return (q, X), q + X + TIES = cross."""
    q = (cross - TIES) // 2
    return q, cross - TIES - q


# --- the plane --------------------------------------------------------------------------------------------


def _arcs(points: NDArray[Any], cross: int) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield (C+, C-) for arcs of half a circle, each ending beside a plane and crossed by at most `cross`."""
    turned = np.array([[-x, -y] if (y, x) < (0, 0) or (y == 0 and x < 0) else [x, y] for x, y in points])
    order = sorted(range(len(points)), key=lambda i: _Slope(int(turned[i, 0]), int(turned[i, 1])))
    groups: list[list[int]] = []
    for i in order:
        last = turned[groups[-1][0]] if groups else None
        same = last is not None and int(last[0]) * int(turned[i, 1]) == int(last[1]) * int(turned[i, 0])
        groups[-1].append(i) if same else groups.append([i])
    if max(len(group) for group in groups) > 2:
        raise CuttingError
    flipped = np.array([tuple(a) != tuple(b) for a, b in zip(points.tolist(), turned.tolist(), strict=True)])
    # just before the first plane in order all turned points are on one side; passing a plane turns its points
    side = np.ones(len(points), dtype=bool)
    at = 0
    while at < len(groups):
        start, used = side.copy(), 0
        while at < len(groups) and used + len(groups[at]) <= cross:
            side[groups[at]] = False
            used += len(groups[at])
            at += 1
        some, none = start | side, ~start | ~side
        yield np.where(flipped, none, some), np.where(flipped, some, none)


class _Slope:
    """An angle in [0, pi), compared exactly."""

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y

    def __lt__(self, other: _Slope) -> bool:
        return self.x * other.y - self.y * other.x > 0


# --- space ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Vertex:
    """A vertex of a chain: where it is, and on which side every plane is.

    Attributes:
        at: abscissa x in [0, 1] on its half of the strip.
        z: (C, S, Y), the direction C a + S b + Y e up to a positive factor.
        signs: (N,) the signs of <z, v>: +1 below, 0 on, -1 above.
        before, after: the same just before and just after a vertex in which many planes meet.
    """

    at: Fraction
    z: tuple[int, int, int]
    signs: Signs
    before: Signs
    after: Signs


class _Strip:
    """The planes as graphs over half a circle, split into two halves, each with abscissa x in [0, 1]."""

    def __init__(self, points: NDArray[Any]) -> None:
        heights = points @ np.array(_pole(points), dtype=object)
        self.up = np.array([bool(h > 0) for h in heights], dtype=bool)
        # <C a + S b + Y e, w> = (C, S, Y) . (<a, w>, <b, w>, <e, w>)
        columns = [*_ends(points, heights), heights]
        self.planes = np.stack(columns, axis=1) * np.where(self.up, 1, -1).astype(object)[:, None]
        top = np.array([max(1, *(abs(int(v)) for v in row)) for row in self.planes.tolist()], dtype=object)
        self.floats = (self.planes / top[:, None]).astype(np.float64)
        self.n = len(points)
        self.steepest = 1 / float(np.abs(self.floats[:, 2]).min())

    def signs(self, z: tuple[int, int, int]) -> Signs:
        """Return the exact signs of <z, v>: by floats where they are sure, else in integers."""
        largest = max(abs(v) for v in z)
        values = self.floats @ np.array([v / largest for v in z])
        out = np.where(values > 0, 1, -1).astype(np.int8)
        for i in np.flatnonzero(np.abs(values) <= 1e-13):
            dot = sum(p * int(v) for p, v in zip(z, self.planes[i], strict=True))
            out[i] = (dot > 0) - (dot < 0)
        return out

    def height(self, i: int, x: tuple[Fraction, Fraction]) -> Fraction:
        """Return the exact height of plane i at the abscissa (c, s)."""
        first, second, third = (int(v) for v in self.planes[i])
        return -(x[0] * first + x[1] * second) / third

    def vertex(self, half: int, at: Fraction, level: int) -> _Vertex | None:
        """Return a point with `level` planes below, one more or less beside a plane that counts twice.

        None where different planes meet at that level.
        """
        x = _abscissa(half, at)
        c, s = float(x[0]), float(x[1])
        guide = -(c * self.floats[:, 0] + s * self.floats[:, 1]) / self.floats[:, 2]
        low, high = np.partition(guide, (level - 1, level))[level - 1 : level + 1]
        slack = 1e-12 * (1 + abs(low) + self.steepest)
        if high - low > 4 * slack:
            y = Fraction(float(low + high)) / 2
        else:
            y = self._between(x, guide, level, (float(low) - slack, float(high) + slack))
        scale = math.lcm(x[0].denominator, x[1].denominator, y.denominator)
        z = int(x[0] * scale), int(x[1] * scale), int(y * scale)
        signs = self.signs(z)
        off = abs(int((signs > 0).sum()) - level)
        return _Vertex(at, z, signs, signs, signs) if off <= 1 and signs.all() else None

    def _between(
        self, x: tuple[Fraction, Fraction], guide: NDArray[np.float64], level: int, doubt: tuple[float, float]
    ) -> Fraction:
        """Return a height of the level, exactly, from the planes that floats cannot tell apart."""
        under, over = guide < doubt[0], guide > doubt[1]
        near = np.flatnonzero(~under & ~over).tolist()
        below = int(under.sum())
        if under.any():  # the next planes on either side belong to the picture
            near.append(int(np.argmax(np.where(under, guide, -np.inf))))
            below -= 1
        if over.any():
            near.append(int(np.argmin(np.where(over, guide, np.inf))))
        heights = sorted(self.height(int(i), x) for i in near)
        rank = level - below
        for shift in (0, 1, -1):
            at = rank + shift
            if 0 < at < len(heights) and heights[at - 1] < heights[at]:
                return (heights[at - 1] + heights[at]) / 2
        return heights[max(0, min(rank, len(heights)) - 1)]

    def meeting(self, half: int, left: _Vertex, right: _Vertex) -> _Vertex | None:
        """Return the point where all planes that separate two close vertices meet, or None."""
        changed = np.flatnonzero(left.after != right.before)
        one, two = (self.planes[changed[left.after[changed] == side]] for side in (1, -1))
        if not (len(one) and len(two)):
            return None
        u, v = [int(t) for t in one[0]], [int(t) for t in two[0]]
        z = [u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3] for i in range(3)]
        weight = abs(z[0]) + abs(z[1])
        if not weight:
            return None
        turn = 1 if (z[1] > 0 or (z[1] == 0 and (z[0] > 0) == (half == 0))) else -1
        point = (turn * z[0], turn * z[1], turn * z[2])
        at = Fraction(point[1] if half == 0 else -point[0], weight)
        if not left.at <= at <= right.at:
            return None
        signs = self.signs(point)
        return None if signs[changed].any() else _Vertex(at, point, signs, left.after, right.before)


def _abscissa(half: int, at: Fraction) -> tuple[Fraction, Fraction]:
    """Return (c, s): from (1, 0) to (0, 1) on the first half, from there to (-1, 0) on the second."""
    return (1 - at, at) if half == 0 else (-at, 1 - at)


def _pole(points: NDArray[Any]) -> tuple[int, int, int]:
    """Return integers e with <e, w> != 0 for all w: each w vanishes at two points of (1, t, t^2) at most."""
    for pole in ((211, 577, 1009), (1013, -331, 409), *((1, t, t * t) for t in range(2 * len(points) + 1))):
        if all(bool(v != 0) for v in points @ np.array(pole, dtype=object)):
            return pole
    raise CuttingError  # pragma: no cover - the parabola always has such a point


def _ends(points: NDArray[Any], heights: NDArray[Any]) -> list[NDArray[Any]]:
    """Return <a, w>, <b, w> for two vectors a, b over which no two planes meet: the strip's ends and middle.

    Different planes w, w' meet over a iff <a, u> = 0 for u = w / <e, w> - w' / <e, w'> != 0. The coordinates
    of a(t) are independent polynomials of degree at most 3, so <a(t), u> = 0 for at most three t.
    """
    found: list[NDArray[Any]] = []
    for t in range(3, 3 * len(points) ** 2 + 99):
        values = points @ np.array([13 * t + 1, t * t - 40 * t + 7, t**3 + t - 500], dtype=object)
        if _distinct(values, heights, points):
            found.append(values)
        if len(found) == 2:
            if len(column_basis(np.stack([*found, heights], axis=1))) == 3:
                return found
            found.pop()
    raise CuttingError  # pragma: no cover


def _distinct(values: NDArray[Any], heights: NDArray[Any], points: NDArray[Any]) -> bool:
    """Return whether value/height differs for all planes that differ, exactly."""
    guide = (values / heights).astype(np.float64)
    order = np.argsort(guide)
    near = np.flatnonzero(np.diff(guide[order]) <= 1e-12 * (1 + np.abs(guide[order][1:])))
    for i, j in zip(order[near].tolist(), order[near + 1].tolist(), strict=True):
        same = all(bool(heights[i] * points[j, k] == heights[j] * points[i, k]) for k in range(3))
        if not same and values[i] * heights[j] == values[j] * heights[i]:
            return False
    return True


def _separating(one: Signs, two: Signs) -> int:
    """Return how many planes lie strictly between two points."""
    return int(np.count_nonzero(one * two < 0))


@dataclass(frozen=True)
class _Path:
    """What a chain follows: its half of the strip, its level, and how many planes a step may cross."""

    half: int
    level: int
    most: int


def _chain(strip: _Strip, path: _Path) -> list[_Vertex]:
    """Return the vertices of one chain on one half of the strip, the two ends included."""
    first, end = (strip.vertex(path.half, Fraction(side), path.level) for side in (0, 1))
    if first is None or end is None:
        raise CuttingError
    chain = [first]
    stride = Fraction(1, 2)
    while chain[-1].at < 1:
        here = chain[-1]
        if _separating(here.after, end.before) <= path.most:
            chain.append(end)
            continue
        new = _farthest(strip, path, here, end, stride)
        stride = new.at - here.at
        chain.append(new)
        if len(chain) > MOST_CELLS:
            raise CuttingError
    return chain


def _farthest(strip: _Strip, path: _Path, here: _Vertex, end: _Vertex, stride: Fraction) -> _Vertex:
    """Return a vertex that at most `most` planes separate from `here`, next to one that more do."""
    low, high = here, end
    guess, turn = here.at + _dyadic(stride), 1
    while True:
        if not low.at < guess < high.at:
            guess = (low.at + high.at) / 2
        middle = strip.vertex(path.half, guess, path.level)
        if middle is None:  # only finitely many abscissas are like this
            turn += 1
            guess = low.at + (high.at - low.at) * Fraction(2 * (turn % 16) + 1, 37)
            continue
        if _separating(here.after, middle.before) <= path.most:
            low = middle
            guess = low.at + _dyadic(stride) if high is end else guess
        else:
            high = middle
        if low is not here and _separating(low.after, high.before) <= FEW:
            return low
        if high.at - low.at < FINE:
            point = strip.meeting(path.half, low, high)
            if point is not None and point.at > here.at:
                return point
            if high.at - low.at < Fraction(1, 2**600):
                raise CuttingError


def _dyadic(stride: Fraction) -> Fraction:
    """Return a positive number near a stride with a short binary expansion."""
    return max(Fraction(1, 2**20), Fraction(round(stride * 2**20), 2**20))


def _best_offset(strip: _Strip, cross: int, bound: int) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return the (C+, C-) of the first offset's cells that keep the bound."""
    q, most = _sizes(cross)
    order = sorted(range(1, q + 1), key=lambda o: (o * 0x9E3779B1) % 2**32)
    for offset in order:
        levels = range(offset, strip.n, q)
        halves = [[_chain(strip, _Path(half, level, most)) for level in levels] for half in (0, 1)]
        cells = [cell for half in (0, 1) for cell in _cells(strip, half, halves[half])]
        if len(cells) <= bound:
            return cells
    raise CapacityError("W", "points in general position", "others")  # pragma: no cover - see the proof


def _cells(
    strip: _Strip, half: int, chains: list[list[_Vertex]]
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield (C+, C-) for the cells between neighbouring chains and beyond the outer ones."""
    below, above = np.full(strip.n, -1, dtype=np.int8), np.ones(strip.n, dtype=np.int8)
    for i in range(len(chains) + 1):
        lower = chains[i - 1] if i else None
        upper = chains[i] if i < len(chains) else None
        walls = sorted({vertex.at for chain in (lower, upper) if chain for vertex in chain})
        corners = [
            [
                _on_chain(strip, half, chain, at) if chain else (below if chain is lower else above)
                for chain in (lower, upper)
            ]
            for at in walls
        ]
        for left, right in pairwise(corners):
            signs = np.stack([*left, *right])
            some, none = (signs > 0).any(axis=0), (signs < 0).any(axis=0)
            yield np.where(strip.up, some, none), np.where(strip.up, none, some)


def _on_chain(strip: _Strip, half: int, chain: list[_Vertex], at: Fraction) -> Signs:
    """Return the signs at the chain's point over an abscissa, which lies between two of its vertices."""
    for left, right in pairwise(chain):
        if left.at == at:
            return left.signs
        if right.at == at:
            return right.signs
        if left.at < at < right.at:
            c, s = _abscissa(half, at)
            scale = math.lcm(c.denominator, s.denominator)
            first, second = int(c * scale), int(s * scale)
            alpha = first * right.z[1] - second * right.z[0]
            beta = left.z[0] * second - left.z[1] * first
            z = tuple(alpha * p + beta * q for p, q in zip(left.z, right.z, strict=True))
            divisor = math.gcd(*z)
            return strip.signs((z[0] // divisor, z[1] // divisor, z[2] // divisor))
    raise CuttingError  # pragma: no cover - chains reach from 0 to 1
