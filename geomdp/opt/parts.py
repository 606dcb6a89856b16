"""Lower bounds for very many rows: infeasible subsystems are packed in parts of the rows, side by side.

Parts share no rows, so that their packings together respect every row's weight: their values add up. A hasty
pass gives a first bound soon; larger parts and more covers give better ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from geomdp.opt.certificate import PACKED, Lemma
from geomdp.opt.hitting_set import Packing, denominator_of, pack_rows, subsets_lemma
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.rows import Rows
from geomdp.opt.subsystems import Pool, Subsystem

#: Rows of a part and covers made at most for it, pass by pass: many hasty parts, then fewer careful ones.
PASSES = ((500, 2), (500, 8), (1000, 30), (2000, 100))


def pack_parts(
    incumbent: Incumbent, stop: Callable[[], bool], size: int, covers: int, seed: int = 0
) -> Iterator[Lemma]:
    """Yield better and better packings of one pass over random parts, until all are done or it is time.

    The best w of every part is offered to the incumbent of all rows.

    Args:
        incumbent: the best w so far, on all rows.
        stop: asked between linear programs.
        size: rows of a part.
        covers: covers made at most for a part.
        seed: of the partition.

    Example:
        >>> from geomdp.opt.rows import rows_of
        >>> X = np.array([[1, 2], [2, 1], [1, 1], [3, 3]])
        >>> best = Incumbent(rows_of(X, np.array([2, 1, 0, 0]), np.array([0, 0, 1, 3])))
        >>> [lemma.bound for lemma in pack_parts(best, lambda: False, 4, 8)], best.cost
        ([1], 1)
    """
    rows = incumbent.rows
    order = np.random.default_rng(seed).permutation(rows.m)
    sets: list[Subsystem] = []
    weights: list[int] = []
    kept, unit = 0, denominator_of(rows.W)
    for first in range(0, rows.m, size):
        if stop():
            break
        index = np.sort(order[first : first + size]).astype(np.int64)
        pool, packing = _packed(rows.subset(index), stop, covers)
        incumbent.offer(pool.incumbent.weights)
        if packing is not None:
            for number, weight in zip(packing.numbers, packing.weights, strict=True):
                whole, found = weight * unit // denominator_of(pool.rows.W), pool.sets[number]
                if whole:
                    weights.append(whole)
                    sets.append(Subsystem(tuple(int(index[i]) for i in found.rows), found.multipliers))
        bound = -(-sum(weights) // unit)
        if 10 * bound > 11 * kept:
            yield _lemma(sets, weights, unit)
            kept = bound
    if -(-sum(weights) // unit) > kept:
        yield _lemma(sets, weights, unit)


def _lemma(sets: list[Subsystem], weights: list[int], unit: int) -> Lemma:
    whole = Packing(-(-sum(weights) // unit), tuple(range(len(sets))), tuple(weights))
    return subsets_lemma(sets, whole.bound, [(PACKED, whole)], [], unit)


def _packed(part: Rows, stop: Callable[[], bool], covers: int) -> tuple[Pool, Packing | None]:
    pool = Pool(part, Incumbent(part))
    state = np.zeros(part.m, dtype=np.int64)
    packing, _, _ = pack_rows(pool, lambda: pool.incumbent.cost, state, [], stop, rounds=covers)
    return pool, packing
