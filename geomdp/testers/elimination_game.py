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

    Raises:
        CapacityError: on more candidates than the budget game's table can hold.
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
    from geomdp.testers import _game_kernels

    size = np.zeros((retries + 1, edge + 1, edge + 1), dtype=np.int64)
    depth = np.zeros_like(size)
    cuttings = [(price, swell.numerator, swell.denominator, least) for price, swell, least in fixed]
    top = 1 + _game_kernels.fill(
        edge,
        candidates,
        np.stack([prices, reach], axis=1),
        np.array(finish, dtype=np.int64).reshape(-1, 2),
        np.array(cuttings, dtype=np.int64).reshape(-1, 4),
        member,
        size,
        depth,
    )
    return [(size[i, :top, :top], depth[i, :top, :top]) for i in range(retries + 1 if top else 0)]
