"""Infeasible subsystems: rows that cannot all be right, derived in integers from what programs suggest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.exact.approximate import as_floats
from geomdp.opt.elastic import offer_snapped
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.lifting import dependency
from geomdp.opt.rows import Rows

#: Columns from which the alternative program is over a window that dual rays open.
RAY_COLUMNS = 150

#: Dual rays per round.
RAYS = 6

#: Least number of rows that come into an exhausted window.
FRESH = 50

#: Times that a vertex is followed up with prices divided by its multipliers, which makes supports cheaper.
REPRICINGS = 3


@dataclass(frozen=True)
class Subsystem:
    """An infeasible subset: rows ascending, positive integer multipliers; ``wrong`` members enter as -z."""

    rows: tuple[int, ...]
    multipliers: tuple[int, ...]
    wrong: frozenset[int] = frozenset()


def derive(
    rows: Rows, members: NDArray[np.int64], guess: NDArray[np.float64], state: NDArray[np.int64] | None = None
) -> Subsystem | None:
    """Return the exact infeasible subsystem on a suggested support, or None when there is none.

    Small whole multipliers near the guess are tried first; otherwise the nullspace of the members is computed
    in integers, and where it has more than one dimension the weakest members are left out.

    Args:
        rows: the rows.
        members: suggested rows, distinct.
        guess: their multipliers up to scale.
        state: -1 where a row is decided to be wrong; None for nowhere.

    Example:
        >>> from geomdp.opt.rows import rows_of
        >>> R = rows_of(np.array([[1, 2], [2, 1], [1, 1]]), np.array([1, 1, 0]), np.array([0, 0, 1]))
        >>> derive(R, np.array([0, 1, 2]), np.array([0.5, 1.5, 0.5])).multipliers
        (3, 1, 1)
    """
    order = np.argsort(members)
    members, guess = members[order], guess[order]
    for _ in range(4):
        if len(members) == 0:
            return None
        sign = np.ones(len(members), dtype=np.int64) if state is None else np.where(state[members] < 0, -1, 1)
        strict = rows.strict[members] ^ (sign < 0)
        if not strict.any():
            return None
        Z = rows.Z[members] * sign[:, None]
        found = _small_multipliers(Z, guess)
        if found is None:
            found = dependency(Z)
        if found is not None and min(found) < 0:
            found = None
        if found is not None:
            keep = [i for i, v in enumerate(found) if v]
            if any(strict[i] for i in keep):
                wrong = frozenset(int(members[i]) for i in keep if sign[i] < 0)
                return Subsystem(
                    tuple(int(members[i]) for i in keep), tuple(int(found[i]) for i in keep), wrong
                )
            return None
        weakest = int(np.argmin(guess))
        members, guess = np.delete(members, weakest), np.delete(guess, weakest)
    return None


def _small_multipliers(Z: NDArray[Any], guess: NDArray[np.float64]) -> list[int] | None:
    unit = guess / guess.min() if guess.min() > 0 else guess
    for scale in (1, 2, 3, 4, 6, 12, 60):
        near = np.rint(unit * scale)
        if near.max() < 2**30 and near.min() >= 1 and np.abs(near - unit * scale).max() < 1e-3 * scale:
            whole = near.astype(np.int64)
            if not (products(Z.T, whole) != 0).any():
                return [int(v) for v in whole]
    return None


class Pool:
    """Infeasible subsystems found so far, and the finders of more.

    With few columns the alternative program is over all rows. With many it is over a window of them: the rows
    of the dual rays that the (cheap) primal program has given; inside it small subsystems are quickly found.

    Args:
        rows: the rows.
        incumbent: told the directions met on the way.
    """

    def __init__(self, rows: Rows, incumbent: Incumbent) -> None:
        self.rows, self.incumbent = rows, incumbent
        self.sets: list[Subsystem] = []
        self._seen: dict[tuple[tuple[int, ...], frozenset[int]], int] = {}
        self.rng = np.random.default_rng(0)
        self.wide = rows.d >= RAY_COLUMNS
        self._active = np.full(rows.m, not self.wide)
        self._unit = as_floats(rows.Z)
        self._unit /= np.linalg.norm(self._unit, axis=1, keepdims=True)
        self._window: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._finder: Any = None
        self._ray: Any = None

    @property
    def ray(self) -> Any:
        """The primal program, made when it is first needed."""
        from geomdp.lp.infeasible import RayFinder

        if self._ray is None:
            self._ray = RayFinder(self.rows.Z, self.rows.strict)
        return self._ray

    def add(self, found: Subsystem | None) -> int | None:
        """Keep a new subsystem and return its number; None when there is nothing new."""
        if found is None or (found.rows, found.wrong) in self._seen:
            return None
        return self.number_of(found)

    def number_of(self, found: Subsystem) -> int:
        """Return the number of a subsystem, which is kept if it is new."""
        number = self._seen.setdefault((found.rows, found.wrong), len(self.sets))
        if number == len(self.sets):
            self.sets.append(found)
            self._active[list(found.rows)] = True
        return number

    def find(
        self, price: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None:
        """Return (value, rows, multipliers, w) of a cheapest subsystem in the window; see SubsystemFinder."""
        found = self._finder.find(price[self._window])
        return None if found is None else (found[0], self._window[found[1]], found[2], found[3])

    def open_window(self, state: NDArray[np.int64]) -> bool:
        """Make the alternative program ready for a state; return whether its window has any row.

        A window that has grown by less than a seventh is left as it is.
        """
        from geomdp.lp.infeasible import SubsystemFinder

        count = int(self._active.sum())
        if count == 0:
            return False
        if self._finder is None or count > 1.15 * len(self._window):
            self._window = np.flatnonzero(self._active).astype(np.int64)
            self._finder = SubsystemFinder(self.rows.Z[self._window], self.rows.strict[self._window])
        self._finder.decide(state[self._window])
        return True

    def more(
        self, y: NDArray[np.float64], state: NDArray[np.int64], limit: int, stop: Callable[[], bool]
    ) -> tuple[list[int], bool]:
        """Return (numbers of new sets that the cover y does not cover, whether none seems to be left).

        A set without open rows ends the search: the state has no w at all. It comes last.
        """
        new: list[int] = []
        if self.wide:
            new += self.by_rays((state == 0) & (y > float(self.rng.uniform(0.1, 0.5))), y, state, stop)
        while not (stop() or self._is_empty(new, state)):
            if self.open_window(state):
                self._passes(y, state, new, limit, stop)
            if new or stop():
                break
            if not self.wide or not self._widen(y, state, new, stop):
                return new, True
        return new, False

    def _passes(
        self,
        y: NDArray[np.float64],
        state: NDArray[np.int64],
        new: list[int],
        limit: int,
        stop: Callable[[], bool],
    ) -> None:
        """Append sets found at the prices y with more and more noise, up to ``limit``."""
        for noise in (1e-6, 0.01, 0.05, 0.2, 0.05):
            before = len(new)
            price = np.where(state == 0, y, 0.0) + noise * self.rng.random(len(y))
            self._one_pass(price, y, state, new, limit, stop)
            if len(new) >= limit or stop() or self._is_empty(new, state):
                return
            if before == len(new) and noise > 0.01:
                return

    def _widen(
        self, y: NDArray[np.float64], state: NDArray[np.int64], new: list[int], stop: Callable[[], bool]
    ) -> bool:
        """Let rows into an exhausted window, or append the sets of rays; return whether anything came.

        The rows that come are those whose columns the dual direction of the window prices below zero: without
        any, the window's cheapest subsystem is a cheapest one of all rows.
        """
        price = np.where(state == 0, y, 0.0) + 1e-6 * self.rng.random(len(y))
        found = self.find(price) if len(self._window) else None
        if found is None:
            new += self.by_rays((state == 0) & (y > 1.0 - 1e-6), y, state, stop)
            return bool(new)
        strict = self.rows.strict ^ (state < 0)
        values = np.where(state < 0, -1.0, 1.0) * (self._unit @ found[3])
        reduced = np.where(self._active, 0.0, price + values - found[0] * strict)
        worst = np.argsort(reduced)[: max(FRESH, len(self._window) // 4)]
        worst = worst[reduced[worst] < -1e-9]
        self._active[worst] = True
        self._finder = None if len(worst) else self._finder
        return len(worst) > 0

    def _is_empty(self, new: list[int], state: NDArray[np.int64]) -> bool:
        return bool(new) and not any(state[i] == 0 for i in self.sets[new[-1]].rows)

    def _one_pass(  # noqa: PLR0917 (one step of :meth:`more`)
        self,
        price: NDArray[np.float64],
        y: NDArray[np.float64],
        state: NDArray[np.int64],
        new: list[int],
        limit: int,
        stop: Callable[[], bool],
    ) -> None:
        """Append sets; after each its rows are priced up by 1, so that the next one avoids them."""
        first = len(new)
        while len(new) < limit and not stop():
            found = self.find(price)
            if found is None:
                if not new and not self.wide:
                    self._offer_common_point(state)
                return
            if first == len(new) and not self.wide:
                self._offer(found[3], found[0])
            members, guess = self._repriced(price, y, state, found)
            soft = members[state[members] == 0]
            if float(y[soft].sum()) > 1.0 - 1e-6:
                return
            number = self.add(derive(self.rows, members, guess, state))
            if number is not None:
                new.append(number)
                if self._is_empty(new, state):
                    return
            elif float(price[soft].min(initial=2.0)) >= 1.0:
                return
            price[members] += 1.0

    def _repriced(
        self, price: NDArray[np.float64], y: NDArray[np.float64], state: NDArray[np.int64], found: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Follow a vertex up with prices divided by its multipliers, while its rows are covered."""
        _, members, guess, _ = found
        for _ in range(0 if self.wide else REPRICINGS):
            if float(y[members[state[members] == 0]].sum()) <= 1.0 - 1e-6:
                break
            lam = np.full(len(y), 1e-3)
            lam[members] += guess * np.linalg.norm(as_floats(self.rows.Z[members]), axis=1)
            again = self.find(price / lam * 1e-2)
            if again is None:
                break
            _, members, guess, _ = again
        return members, guess

    def by_rays(
        self,
        off: NDArray[np.bool_],
        y: NDArray[np.float64],
        state: NDArray[np.int64],
        stop: Callable[[], bool],
    ) -> list[int]:
        """Return the sets of a few dual rays, without rows that are off or one row of each set before."""
        new: list[int] = []
        off = off.copy()
        while len(new) < RAYS and not stop():
            found = self.ray.find(off, state < 0)
            if isinstance(found, np.ndarray) and not self.incumbent.is_hopeless(found):
                offer_snapped(self.incumbent, found)
            if not isinstance(found, tuple):
                break
            number = self.add(derive(self.rows, found[0], found[1], state))
            if number is None:
                break
            new.append(number)
            members = [i for i in self.sets[number].rows if state[i] == 0]
            if not members:
                break
            off[max(members, key=lambda i: float(y[i]) + float(self.rng.random()))] = True
        return new

    def _offer_common_point(self, state: NDArray[np.int64]) -> None:
        """No infeasible subset is left: offer a w that agrees with every decision and every open row."""
        from geomdp.lp.infeasible import common_point

        turned = np.where(state < 0, -1, 1)
        w = common_point(self.rows.Z * turned[:, None], self.rows.strict ^ (state < 0))
        if w is not None:
            self.incumbent.offer_floats(w, (12, 24, 40))
            offer_snapped(self.incumbent, w)

    def _offer(self, w: NDArray[np.float64], value: float) -> None:
        if self.incumbent.is_hopeless(w):
            return
        self.incumbent.offer_floats(w, (12, 24, 40))
        if self.rows.d > 8:
            offer_snapped(self.incumbent, w / max(value, 1e-9))
