"""Lower bounds by packing infeasible subsystems: an implicit hitting set, its relaxation certified.

Rows whose sum with positive multipliers is zero, one of them strict, cannot all be right. A fractional
packing of such sets bounds the cost from below. Sets are found where the present fractional cover is cheap;
every one is derived in integers before it is used, and the packing's weights are rounded to dyadic fractions
whose loads are recounted, so that no solver's word enters the proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.opt.certificate import PACKED, Lemma
from geomdp.opt.elastic import offer_snapped
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.lifting import dependency
from geomdp.opt.rows import Rows

#: Common denominator of the weights of a packing.
DENOMINATOR = 2**20

#: Columns from which subsystems come from dual rays instead of the alternative program.
RAY_COLUMNS = 150

#: Times that a vertex is followed up with prices divided by its multipliers, which makes supports cheaper.
REPRICINGS = 3

#: Sets found per round, before the cover is solved again.
ROUND = 40


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
    """Infeasible subsystems found so far, and the finder of more.

    Args:
        rows: the rows.
        incumbent: told the directions met on the way.
    """

    def __init__(self, rows: Rows, incumbent: Incumbent) -> None:
        self.rows, self.incumbent = rows, incumbent
        self.sets: list[Subsystem] = []
        self._seen: set[tuple[tuple[int, ...], frozenset[int]]] = set()
        self.rng = np.random.default_rng(0)
        self._finder: Any = None
        self._ray: Any = None
        self.used_rays = rows.d >= RAY_COLUMNS

    @property
    def finder(self) -> Any:
        """The alternative program, made when it is first needed."""
        from geomdp.lp.infeasible import SubsystemFinder

        if self._finder is None:
            self._finder = SubsystemFinder(self.rows.Z, self.rows.strict)
        return self._finder

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
        self._seen.add((found.rows, found.wrong))
        self.sets.append(found)
        return len(self.sets) - 1

    def more(  # noqa: PLR0912 (one loop over prices)
        self, y: NDArray[np.float64], state: NDArray[np.int64], limit: int, stop: Callable[[], bool]
    ) -> tuple[list[int], bool]:
        """Return (numbers of new sets that the cover y does not cover, whether none seems to be left).

        After each set its open rows are priced up by 1, so that the next one avoids them; when that comes to
        an end, prices are drawn anew.
        """
        if self.used_rays and not (state < 0).any():
            return self._more_by_rays(y, state, limit, stop)
        self.finder.decide(state)
        new: list[int] = []
        for noise in (1e-6, 0.01, 0.05, 0.2, 0.05):
            before = len(new)
            price = np.where(state == 0, y, 0.0) + noise * self.rng.random(len(y))
            while len(new) < limit and not stop():
                found = self.finder.find(price)
                if found is None:
                    if not new:
                        self._offer_common_point(state)
                    return new, not new
                value, members, guess, w = found
                if before == len(new):
                    self._offer(w, value)
                for _ in range(REPRICINGS):
                    soft = members[state[members] == 0]
                    if float(y[soft].sum()) <= 1.0 - 1e-6:
                        break
                    lam = np.full(len(y), 1e-3)
                    lam[members] += guess * self.finder.scale[members]
                    found = self.finder.find(price / lam * 1e-2)
                    if found is None:
                        break
                    value, members, guess, w = found
                soft = members[state[members] == 0]
                if float(y[soft].sum()) > 1.0 - 1e-6:
                    break
                number = self.add(derive(self.rows, members, guess, state))
                if number is not None:
                    new.append(number)
                    if not any(state[i] == 0 for i in self.sets[number].rows):
                        return new, False
                if number is None and float(price[soft].min(initial=2.0)) >= 1.0:
                    break
                price[members] += 1.0
            if len(new) >= limit or stop():
                return new, False
            if before == len(new) and noise > 0.01:
                break
        return new, not new

    def _offer_common_point(self, state: NDArray[np.int64]) -> None:
        """No infeasible subset is left: offer a w that agrees with every decision and every open row."""
        from geomdp.lp.infeasible import common_point

        turned = np.where(state < 0, -1, 1)
        w = common_point(self.rows.Z * turned[:, None], self.rows.strict ^ (state < 0))
        if w is not None:
            self.incumbent.offer_floats(w, (12, 24, 40))
            offer_snapped(self.incumbent, w)

    def _offer(self, w: NDArray[np.float64], value: float) -> None:
        self.incumbent.offer_floats(w, (12, 24, 40))
        if self.rows.d > 8:
            offer_snapped(self.incumbent, w / max(value, 1e-9))

    def _more_by_rays(  # noqa: PLR0911 (each end of the loop has its own answer)
        self, y: NDArray[np.float64], state: NDArray[np.int64], limit: int, stop: Callable[[], bool]
    ) -> tuple[list[int], bool]:
        """Switch off rows that the cover covers, and those of the sets just found, and look for rays."""
        new: list[int] = []
        covered = float(self.rng.uniform(0.1, 0.5))
        off = (state == 0) & (y > covered)
        for _ in range(limit):
            if stop():
                return new, False
            found = self.ray.find(off)
            if found is None:
                return new, False
            if isinstance(found, np.ndarray):
                offer_snapped(self.incumbent, found)
                if new or not off.any():
                    return new, not new
                return self._last_look(y, state)
            number = self.add(derive(self.rows, found[0], found[1], state))
            if number is None:
                return new, False
            new.append(number)
            members = [i for i in self.sets[number].rows if state[i] == 0]
            if not members:
                return new, False
            heavy = max(members, key=lambda i: float(y[i]) + float(self.rng.random()))
            off[members if self.rng.random() < 0.5 else [heavy]] = True
        return new, False

    def _last_look(self, y: NDArray[np.float64], state: NDArray[np.int64]) -> tuple[list[int], bool]:
        """Ask the alternative program for one set that the cover does not cover."""
        self.finder.decide(state)
        found = self.finder.find(np.where(state == 0, y, 0.0) + 1e-6)
        if found is None or found[0] > 1.0 - 1e-4:
            return [], True
        number = self.add(derive(self.rows, found[1], found[2], state))
        return ([number], False) if number is not None else ([], True)


@dataclass(frozen=True)
class Packing:
    """Sets with dyadic weights whose loads respect the rows: together they cost at least ``bound``."""

    bound: int
    numbers: tuple[int, ...]
    weights: tuple[int, ...]


def exact_packing(
    pool: Pool, numbers: list[int], mu: NDArray[np.float64], state: NDArray[np.int64]
) -> Packing:
    """Return the packing with weights rounded down to dyadic fractions and its whole bound.

    Where a load is still too large the weights of its row's sets are scaled down.
    """
    W = pool.rows.W
    chosen = [(k, int(v * DENOMINATOR)) for k, v in zip(numbers, mu, strict=True) if v * DENOMINATOR >= 1]
    for _ in range(20):
        load: dict[int, int] = {}
        for k, weight in chosen:
            for i in pool.sets[k].rows:
                if state[i] == 0:
                    load[i] = load.get(i, 0) + weight
        over = {i: v for i, v in load.items() if v > int(W[i]) * DENOMINATOR}
        if not over:
            break
        slack: dict[int, int] = {}
        for k, weight in chosen:
            for i in pool.sets[k].rows:
                if i in over:
                    allowed = weight * int(W[i]) * DENOMINATOR // over[i]
                    slack[k] = min(slack.get(k, weight), allowed)
        chosen = [(k, slack.get(k, weight)) for k, weight in chosen if slack.get(k, weight) > 0]
    else:
        chosen = []
    total = sum(weight for _, weight in chosen)
    return Packing(-(-total // DENOMINATOR), tuple(k for k, _ in chosen), tuple(v for _, v in chosen))


def pack_rows(
    pool: Pool,
    target: Callable[[], int],
    state: NDArray[np.int64],
    inherited: list[int],
    stop: Callable[[], bool],
    *,
    rounds: int = 10**6,
) -> tuple[Packing | None, list[int], NDArray[np.float64]]:
    """Return (packing, sets, cover): the best certified packing over the open rows of a state.

    Args:
        pool: the sets.
        target: the cost beyond the decided rows' that would be enough; asked again after each round.
        state: 0 open, 1 decided right, -1 decided wrong.
        inherited: numbers of sets to begin with; none may hold a decided-wrong row as right.
        stop: asked between programs.
        rounds: at most this many covers.

    Returns:
        The packing is None when a set without open rows was found: the state has no w at all.
    """
    from geomdp.lp.infeasible import CoverMaster

    master = CoverMaster(pool.rows.W)
    numbers: list[int] = []

    def take(k: int) -> bool:
        members = [i for i in pool.sets[k].rows if state[i] == 0]
        numbers.append(k)
        if members:
            master.add(members)
        return bool(members)

    for k in inherited:
        if not take(k):
            return None, [k], np.zeros(pool.rows.m)
    best = Packing(0, (), ())
    stalled, last = 0, -1.0
    y = np.zeros(pool.rows.m)
    for _ in range(rounds):
        value, y, mu = master.solve()
        if value > best.bound - 1 + 1e-9:
            best = max(best, exact_packing(pool, numbers, mu, state), key=lambda p: p.bound)
        if best.bound >= target() or stop():
            break
        stalled = stalled + 1 if value < last + 0.01 else 0
        last = last if value < last + 0.01 else value
        new, exhausted = pool.more(y, state, ROUND, stop)
        for k in new:
            if not take(k):
                return None, [k], y
        if pool.used_rays and stalled > 12:
            pool.used_rays, stalled = False, 0
        elif (not new and (exhausted or stalled > 3)) or stalled > 25:
            break
    return best, numbers, y


def root_lemma(pool: Pool, packing: Packing) -> Lemma:
    """Return the lemma of one packing over all rows."""
    return subsets_lemma(pool, packing.bound, [(PACKED, packing)], [])


def subsets_lemma(
    pool: Pool, bound: int, nodes: list[tuple[int, Packing | None]], branch_rows: list[int]
) -> Lemma:
    """Return the lemma of a tree given by its nodes in preorder."""
    sets: list[Subsystem] = []
    counts: list[int] = []
    weights: list[int] = []
    for kind, packing in nodes:
        if kind == PACKED and packing is not None:
            counts.append(len(packing.numbers))
            sets += [pool.sets[k] for k in packing.numbers]
            weights += packing.weights
    multipliers = [v for s in sets for v in s.multipliers]
    wide = np.empty(len(multipliers), dtype=object)
    wide[:] = multipliers
    arrays: dict[str, NDArray[Any]] = {
        "nodes": np.array([kind for kind, _ in nodes], dtype=np.uint8),
        "branch_row": np.array(branch_rows, dtype=np.int64),
        "leaf_sets": np.array(counts, dtype=np.int64),
        "denominator": np.array([DENOMINATOR], dtype=np.int64),
        "set_weight": np.array(weights, dtype=np.int64),
        "set_size": np.array([len(s.rows) for s in sets], dtype=np.int64),
        "set_row": np.array([i for s in sets for i in s.rows], dtype=np.int64),
        "set_multiplier": wide.astype(np.int64) if all(abs(v) < 2**62 for v in multipliers) else wide,
    }
    return Lemma("subsets", bound, None, arrays)


def improve_by_covers(pool: Pool, numbers: list[int], stop: Callable[[], bool], tries: int = 8) -> None:
    """Search for better directions by whole covers of the sets found; a search, not a proof.

    A cheap whole cover is made wrong and every other row right: if that can be done, the direction is
    offered; if not, infeasible subsets outside the cover join the sets, and a cover is made anew.
    """
    from geomdp.lp.infeasible import CoverMaster

    rows, state = pool.rows, np.zeros(pool.rows.m, dtype=np.int64)
    if not numbers:
        return
    master = CoverMaster(rows.W)
    sets = [pool.sets[k].rows for k in numbers]
    for members in sets:
        master.add(members)
    pool.finder.decide(state)
    failed = 0
    while failed < tries and not stop():
        _, y, _ = master.solve()
        cover = _whole_cover(sets, y + 0.02 * failed * pool.rng.random(rows.m), rows.W)
        if int(rows.W[cover].sum()) >= pool.incumbent.cost:
            failed += 1
            continue
        fresh = _sets_outside(pool, cover, state, stop)
        for k in fresh:
            sets.append(pool.sets[k].rows)
            master.add(pool.sets[k].rows)
        if not fresh and not _offer_outside(pool, cover):
            failed += 1


def _whole_cover(
    sets: list[tuple[int, ...]], y: NDArray[np.float64], W: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return a whole cover: greedily by uncovered sets and the fractional cover y, then without idle rows."""
    m = len(y)
    incidence = np.zeros((len(sets), m), dtype=bool)
    for k, members in enumerate(sets):
        incidence[k, list(members)] = True
    cover = np.zeros(m, dtype=bool)
    left = np.ones(len(sets), dtype=bool)
    while left.any():
        gain = incidence[left].sum(axis=0) * (0.05 + y) / W
        heaviest = int(gain.argmax())
        cover[heaviest] = True
        left &= ~incidence[:, heaviest]
    times = incidence[:, cover].sum(axis=1)
    for i in sorted(np.flatnonzero(cover), key=lambda i: (y[i], -W[i])):
        if (times[incidence[:, i]] > 1).all():
            cover[i] = False
            times -= incidence[:, i]
    return cover


def _sets_outside(
    pool: Pool, cover: NDArray[np.bool_], state: NDArray[np.int64], stop: Callable[[], bool]
) -> list[int]:
    price = np.where(cover, 10.0, 1e-3 * pool.rng.random(len(cover)))
    fresh: list[int] = []
    while len(fresh) < 10 and not stop():
        found = pool.finder.find(price)
        if found is None or cover[found[1]].any():
            break
        number = pool.add(derive(pool.rows, found[1], found[2], state))
        if number is None:
            break
        fresh.append(number)
        price[found[1]] += 1.0
    return fresh


def _offer_outside(pool: Pool, cover: NDArray[np.bool_]) -> bool:
    from geomdp.lp.infeasible import common_point

    w = common_point(pool.rows.Z[~cover], pool.rows.strict[~cover])
    if w is None:
        return False
    better = pool.incumbent.offer_floats(w, (12, 24, 40))
    return offer_snapped(pool.incumbent, w) or better


def time_is_over(deadline: float | None) -> Callable[[], bool]:
    """Return a question whether a :func:`time.monotonic` instant has passed."""
    return lambda: deadline is not None and time.monotonic() >= deadline
