"""Lower bounds by packing infeasible subsystems: an implicit hitting set, its relaxation certified.

Rows whose sum with positive multipliers is zero, one of them strict, cannot all be right. A fractional
packing of such sets bounds the cost from below. Sets are found where the present fractional cover is cheap;
every one is derived in integers before it is used, and the packing's weights are rounded to dyadic fractions
whose loads are recounted, so that no solver's word enters the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.certificate import PACKED, Lemma
from geomdp.opt.elastic import offer_snapped
from geomdp.opt.subsystems import Pool, Subsystem, derive

#: Largest common denominator of the weights of a packing.
DENOMINATOR = 2**20

#: What the weights of a packing stay below, so that int64 holds them.
MOST_WEIGHT = 2**62

#: Whole covers tried for a better w, with few columns and with many.
MOST_COVERS, WIDE_COVERS = 200, 10

#: Sets found per round, before the cover is solved again.
ROUND = 40


@dataclass(frozen=True)
class Packing:
    """Sets with dyadic weights whose loads respect the rows: together they cost at least ``bound``."""

    bound: int
    numbers: tuple[int, ...]
    weights: tuple[int, ...]


def denominator_of(W: NDArray[np.int64]) -> int:
    """Return the common denominator of packings over rows of weights W, a power of two.

    A set weighs at most a row's weight times the denominator, which stays below :data:`MOST_WEIGHT`.

    Example:
        >>> denominator_of(np.array([1, 5])) == 2**20, denominator_of(np.array([2**53])) == 2**8
        (True, True)
    """
    spare = MOST_WEIGHT.bit_length() - 1 - int(W.max(initial=1)).bit_length()
    return min(DENOMINATOR, 1 << max(spare, 0))


def exact_packing(
    pool: Pool, numbers: list[int], mu: NDArray[np.float64], state: NDArray[np.int64]
) -> Packing:
    """Return the packing with weights rounded down to dyadic fractions and its whole bound.

    Where a load is still too large the weights of its row's sets are scaled down.
    """
    W, unit = pool.rows.W, denominator_of(pool.rows.W)
    chosen = [(k, int(v * unit)) for k, v in zip(numbers, mu, strict=True) if v * unit >= 1]
    for _ in range(20):
        load: dict[int, int] = {}
        for k, weight in chosen:
            for i in pool.sets[k].rows:
                if state[i] == 0:
                    load[i] = load.get(i, 0) + weight
        over = {i: v for i, v in load.items() if v > int(W[i]) * unit}
        if not over:
            break
        slack: dict[int, int] = {}
        for k, weight in chosen:
            for i in pool.sets[k].rows:
                if i in over:
                    allowed = weight * int(W[i]) * unit // over[i]
                    slack[k] = min(slack.get(k, weight), allowed)
        chosen = [(k, slack.get(k, weight)) for k, weight in chosen if slack.get(k, weight) > 0]
    else:
        chosen = []
    total = sum(weight for _, weight in chosen)
    return Packing(-(-total // unit), tuple(k for k, _ in chosen), tuple(v for _, v in chosen))


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
        if (not new and (exhausted or stalled > 3)) or stalled > 25:
            break
    return best, numbers, y


def subsets_lemma(
    pool: Sequence[Subsystem],
    bound: int,
    nodes: list[tuple[int, Packing | None]],
    branch_rows: list[int],
    denominator: int = DENOMINATOR,
) -> Lemma:
    """Return the lemma of a tree given by its nodes in preorder.

    Args:
        pool: the sets that the packings number.
        bound: what the tree proves.
        nodes: (CLOSED, PACKED or BRANCH, packing of a packed node).
        branch_rows: the rows decided, in the order of their nodes.
        denominator: of the weights of the packings, see :func:`denominator_of`.
    """
    sets: list[Subsystem] = []
    counts: list[int] = []
    weights: list[int] = []
    for kind, packing in nodes:
        if kind == PACKED and packing is not None:
            counts.append(len(packing.numbers))
            sets += [pool[k] for k in packing.numbers]
            weights += packing.weights
    multipliers = [v for s in sets for v in s.multipliers]
    wide = np.empty(len(multipliers), dtype=object)
    wide[:] = multipliers
    arrays: dict[str, NDArray[Any]] = {
        "nodes": np.array([kind for kind, _ in nodes], dtype=np.uint8),
        "branch_row": np.array(branch_rows, dtype=np.int64),
        "leaf_sets": np.array(counts, dtype=np.int64),
        "denominator": np.array([denominator], dtype=np.int64),
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
    failed = 0
    for _ in range(WIDE_COVERS if pool.wide else MOST_COVERS):
        if failed >= tries or stop():
            return
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
    if pool.wide:
        return pool.by_rays(cover, np.zeros(len(cover)), state, stop)
    if not pool.open_window(state):
        return []
    price = np.where(cover, 10.0, 1e-3 * pool.rng.random(len(cover)))
    fresh: list[int] = []
    while len(fresh) < 10 and not stop():
        found = pool.find(price)
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
