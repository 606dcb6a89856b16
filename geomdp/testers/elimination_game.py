"""The budget game of halfspace elimination: how many candidates two budgets are sure to eliminate.

Menus that exist for every set of candidates, the recursion over both budgets, and its table. Proofs:
:mod:`geomdp.testers.elimination_plan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.geometry.containers import MOST_LISTED
from geomdp.geometry.levels import level_cells_from
from geomdp.geometry.subsets import cover_pairs
from geomdp.testers.elimination_costs import ROOM, round_cost

#: Largest edge of the table.
MOST_EDGE = 4096


@dataclass(frozen=True)
class Cutting:
    """Menus, assumed or proved, whose price does not depend on the number of candidates N >= least.

    Attributes:
        ratio: the two parties' largest members together hold at most 2 * ratio * N candidates.
        members: largest number of members per party, when both have the same.
        least: smallest N.
    """

    ratio: Fraction
    members: int
    least: int = 1

    @property
    def both(self) -> int:
        """Largest number of members of both parties together; one more where a party has the empty set."""
        return 2 * self.members + 1


#: Shares of the candidates that may cross a cell, and the sizes from which each is offered to the game.
CROSSING = (
    (120, (Fraction(1, 3),)),
    (200, (Fraction(1, 4),)),
    (343, (Fraction(1, 5),)),
    (600, (Fraction(1, 7), Fraction(1, 5))),
    (1_200, (Fraction(1, 10), Fraction(1, 7))),
    (4_000, (Fraction(1, 12), Fraction(1, 9), Fraction(1, 6))),
)


@lru_cache(maxsize=8)
def proved_cuttings(d: int) -> tuple[Cutting, ...]:
    """Return menus from level cuttings, which exist for every set of candidates; () where none is proved.

    Proof note. Precondition: the candidates have rank d <= 3 and no two lie on one ray. Then floor(share N)
    candidates cross each of at most level_cells_from(least, share, d) cells, and the two families of
    :func:`geomdp.geometry.containers.opposite_families` have at most two members per cell, in members of at
    most (1 + share) N candidates together.

    Example:
        >>> any(c.members < 300 and c.ratio == Fraction(3, 5) for c in proved_cuttings(3)), proved_cuttings(4)
        (True, ())
    """
    found = []
    for least, shares in CROSSING:
        for share in shares:
            cells = level_cells_from(least, share, d)
            if cells is not None:
                found.append(Cutting((1 + share) / 2, cells, least))
    return tuple(found)


def most_listed(d: int) -> int:
    """Return the largest N for which exact lists are written out in any case: pairs * N <= MOST_LISTED.

    Example:
        >>> most_listed(3)
        342
    """
    n = 1
    while cover_pairs(2 * n, d) * 2 * n <= MOST_LISTED:
        n *= 2
    for step in (2**i for i in range(n.bit_length() - 1, -1, -1)):
        while cover_pairs(n + step, d) * (n + step) <= MOST_LISTED:
            n += step
    return n


@dataclass(frozen=True)
class Game:
    """The table of the budget game, in units of `unit`.

    Attributes:
        size: (T+1, T+1) S(A, B): candidates that are sure to be eliminated from budgets A, B.
        depth: (T+1, T+1) largest number of rounds (finish included) of the table's strategy.
        start: least T with S(T, T) >= N.
        unit: one unit of budget, in multiples of 1/(K - t0).
        share: failure probability allowed per round, on each side of the promise.
        assumed: the assumed cuttings; none in the certified game.
        proved: the cuttings that exist for all candidates.
        member: price of a member in multiples of bottom's: 2 in pure privacy, 1 in concentrated.
        far: failure probability of a safe party per round, where it is not the share (with retries).
        after: the game once a double bottom has been retried, None where the next one ends the run.
    """

    size: NDArray[np.int64]
    depth: NDArray[np.int64]
    start: int
    unit: float
    share: float
    assumed: tuple[Cutting, ...] = ()
    proved: tuple[Cutting, ...] = ()
    member: int = 2
    far: float | None = None
    after: Game | None = None

    @property
    def lives(self) -> int:
        """The number of double bottoms that may still be retried."""
        return 0 if self.after is None else 1 + self.after.lives

    def at(self, lives: int) -> Game:
        """Return the game with so many retries left."""
        return self if self.after is None or self.lives <= lives else self.after.at(lives)

    def margin(self, a: int, b: int, candidates: int) -> tuple[int, int]:
        """Return (j, rounds): how far both budgets may shrink (j < 0: must grow) with S >= candidates.

        Rounds is the depth at the shrunken budgets. Budgets above the table's edge are cut to it.
        """
        edge = len(self.size) - 1
        if candidates == 0:
            return min(a, b), 0
        gap, low = a - b, -edge - 1
        # the diagonal through (a, b), from its start inside the table
        tops = np.arange(max(0, gap), edge + 1 + min(0, gap))
        column = self.size[tops, tops - gap] if abs(gap) <= edge else np.empty(0, dtype=np.int64)
        good = np.flatnonzero(column >= candidates)
        if not len(good):
            return low, 0
        top = int(tops[good[0]])
        return a - top, int(self.depth[top, top - gap])


@lru_cache(maxsize=8)
def game(
    candidates: int,
    d: int,
    share: float,
    unit: float,
    *,
    finish: tuple[tuple[int, int], ...],
    assumed: tuple[Cutting, ...] = (),
    concentrated: bool = False,
    retries: int = 0,
    far: float | None = None,
) -> Game:
    """Return the table of the budget game up to the least diagonal budget that eliminates all candidates.

    One antidiagonal A + B = s at a time. On each cell a few round costs q near the one of the cell (A-1, B-1)
    are tried: every choice is a strategy, so the table is a lower bound whichever are tried. More budget
    never hurts, so S is made monotone, and depth with it: what can be done from less takes no more rounds.
    With retries there is a table for every number left; a round must leave enough for a double bottom, too.
    """
    proved = proved_cuttings(d)

    def cost(members: int) -> int:
        return _units(round_cost(members, share, concentrated=concentrated, far=far), unit)

    prices, reach = _list_prices(min(candidates, most_listed(d)) if proved else candidates, d, cost)
    member = 1 if concentrated else 2
    fixed = [
        (cost(c.both), 2 * Fraction(c.ratio), c.least)
        for c in sorted(assumed + proved, key=lambda c: c.least)
        if c.least <= candidates
    ]
    edge = 64
    while edge <= MOST_EDGE:
        tables = _fill(
            edge,
            candidates,
            prices=prices,
            reach=reach,
            finish=finish,
            fixed=fixed,
            member=member,
            retries=retries,
        )
        found: Game | None = None
        for size, depth in tables:
            found = Game(size, depth, len(size) - 1, unit, share, assumed, proved, member, far, found)
        if found is not None:
            return found
        edge *= 2
    raise CapacityError("candidates", "few enough for the budget game's table", candidates)


def _units(cost: float, unit: float) -> int:
    """Return a round's cost in whole units, at least what :meth:`Calibration.price` asks for it."""
    return math.ceil(cost / unit * (1 + 4 * ROOM) + ROOM)


def _list_prices(
    candidates: int, d: int, cost: Callable[[int], int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ascending (prices, reach): reach[i] is the largest N whose lists cost at most prices[i]."""

    def price(n: int) -> int:
        return cost(2 * cover_pairs(n, d) + 1)

    prices, reach = [], []
    n = 0
    while n < candidates:
        prices.append(price(n + 1))
        low, high = n + 1, candidates
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if price(middle) <= prices[-1] else (low, middle - 1)
        n = low
        reach.append(n)
    return np.array(prices, dtype=np.int64), np.array(reach, dtype=np.int64)


def _fill(
    edge: int,
    candidates: int,
    *,
    prices: NDArray[np.int64],
    reach: NDArray[np.int64],
    finish: tuple[tuple[int, int], ...],
    fixed: list[tuple[int, Fraction, int]],
    member: int,
    retries: int,
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return (size, depth) for 0..retries retries left, up to the start of the last one; [] if too small."""
    tables = [_Table(edge, member) for _ in range(retries + 1)]
    for s in range(2 * edge + 1):
        a = np.arange(max(0, s - edge), min(edge, s) + 1)
        b = s - a
        for i, table in enumerate(tables):
            table.after = tables[i - 1] if i else None
            value, rounds = np.zeros(len(a), dtype=np.int64), np.zeros(len(a), dtype=np.int64)
            for n, price in finish:
                good = (np.minimum(a, b) >= price) & (value < n)
                value[good], rounds[good] = n, 1
            guess = np.where((a > 0) & (b > 0), table.chosen[np.maximum(a - 1, 0), np.maximum(b - 1, 0)], 0)
            listed = np.full(len(a), -1, dtype=np.int64)
            best = guess
            for step in (-1, 0, 1, 2):
                at = np.clip(guess + step, 0, len(reach) - 1)
                total, deep, most = table.split((a, b), prices[at])
                new = np.minimum(np.minimum(reach[at], total + 1), most)
                best = np.where(new > listed, at, best)
                listed = np.maximum(listed, new)
                rounds, value = np.where(new > value, deep, rounds), np.maximum(value, new)
            table.chosen[a, b] = best
            for price, swell, least in fixed:
                total, deep, most = table.split((a, b), np.full(len(a), price))
                new = np.minimum(np.maximum(total, 0) * swell.denominator // swell.numerator, most)
                new = np.minimum(new, candidates)
                new[value < least - 1] = 0  # every smaller number must have its own way
                rounds, value = np.where(new > value, deep, rounds), np.maximum(value, new)
            table.put((a, b), value, rounds)
        if s % 2 == 0 and tables[-1].size[s // 2, s // 2] >= candidates:
            top = s // 2 + 1
            return [(table.size[:top, :top], table.depth[:top, :top]) for table in tables]
    return []


class _Table:
    """S and the depth over both budgets, while they are filled."""

    def __init__(self, edge: int, member: int) -> None:
        self.size = np.zeros((edge + 1, edge + 1), dtype=np.int64)
        self.depth, self.chosen = np.zeros_like(self.size), np.zeros_like(self.size)
        self.member = member
        self.after: _Table | None = None

    def split(
        self, budgets: tuple[NDArray[np.int64], NDArray[np.int64]], q: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return (S_first + S_second, rounds, S after a double bottom) of the better order at price q.

        The first is -1 where a party cannot pay, the last boundless where a double bottom ends the run.
        """
        a, b = budgets
        able = np.minimum(a, b) >= self.member * q
        a, b, q = np.where(able, a, 0), np.where(able, b, 0), np.where(able, q, 0)
        cut = self.member * q
        alice = (a - cut, b), (a - q, b - cut)
        bob = (a, b - cut), (a - cut, b - q)
        totals = [self.size[one] + self.size[two] for one, two in (alice, bob)]
        deep = [np.maximum(self.depth[one], self.depth[two]) for one, two in (alice, bob)]
        total = np.where(able, np.maximum(*totals), -1)
        rounds = np.where(totals[0] >= totals[1], *deep)
        if self.after is None:
            return total, 1 + rounds, np.full(len(a), 2**60)
        again = a - q, b - q
        return total, 1 + np.maximum(rounds, self.after.depth[again]), self.after.size[again]

    def put(
        self,
        budgets: tuple[NDArray[np.int64], NDArray[np.int64]],
        value: NDArray[np.int64],
        rounds: NDArray[np.int64],
    ) -> None:
        """Enter an antidiagonal, made monotone in both budgets."""
        a, b = budgets
        for left, right in ((np.maximum(a - 1, 0), b), (a, np.maximum(b - 1, 0))):
            inside = (left < a) | (right < b)
            value = np.where(inside, np.maximum(value, self.size[left, right]), value)
            rounds = np.where(inside, np.maximum(rounds, self.depth[left, right]), rounds)
        self.size[a, b], self.depth[a, b] = value, rounds
