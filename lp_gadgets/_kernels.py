"""Compiled loops of the stopping-distance search; imported lazily, because numba is slow to import.

Everything is small integers. The rules by which a position is closed, and a variable found hopeless, are stated
with their reasons in :mod:`lp_gadgets.stopping_proof`, which applies them again without this module.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

EXHAUSTED, FOUND, PAUSED = 0, 1, 2
UNDECIDED, CHOSEN, EXCLUDED = 0, 1, 2

#: Places in the vector of scalars. SINGLE: number of checks touched once; SIZE: of chosen variables.
SINGLE, SIZE, DEPTH, ENTERING, REMOVED, LOGGED, NODES, SCALARS = 0, 1, 2, 3, 4, 5, 6, 7


class Graph(NamedTuple):
    """A Tanner graph as padded arrays.

    Attributes:
        var: (K, largest degree) checks of each variable.
        degree: (K,) number of checks.
        chk: (M, largest size) variables of each check.
        size: (M,) number of variables.
    """

    var: NDArray[Any]
    degree: NDArray[Any]
    chk: NDArray[Any]
    size: NDArray[Any]


class Position(NamedTuple):
    """A position of the search, and the path to it; every count is kept up to date.

    Attributes:
        state: (K,) undecided, chosen or excluded.
        touched: (M,) number of chosen variables of each check.
        free: (M,) number of undecided ones.
        gain: (K,) number of the variable's checks that are touched once.
        fresh: (K,) number of the variable's checks that are untouched.
        table: table[g, h] counts the undecided variables with gain g and fresh h.
        singles: the checks touched once, in no particular order.
        place: (M,) their places in ``singles``.
        scalars: see the constants of this module.
        frames: per depth (check, next place in it, variable being tried or -1, removed before).
        good: per depth, which places of the check hold a variable worth trying.
        removed: stack of the variables excluded on the path.
        weight: (M,) room for the weights of the checks touched once.
    """

    state: NDArray[Any]
    touched: NDArray[Any]
    free: NDArray[Any]
    gain: NDArray[Any]
    fresh: NDArray[Any]
    table: NDArray[Any]
    singles: NDArray[Any]
    place: NDArray[Any]
    scalars: NDArray[Any]
    frames: NDArray[Any]
    good: NDArray[Any]
    removed: NDArray[Any]
    weight: NDArray[Any]


@njit(cache=True, nogil=True)
def exclude(graph: Graph, at: Position, x: int) -> None:
    """Exclude the undecided variable x."""
    at.state[x] = EXCLUDED
    at.table[at.gain[x], at.fresh[x]] -= 1
    for i in range(graph.degree[x]):
        at.free[graph.var[x, i]] -= 1


@njit(cache=True, nogil=True)
def _readmit(graph: Graph, at: Position, x: int) -> None:
    """Make the excluded variable x undecided again."""
    at.state[x] = UNDECIDED
    at.table[at.gain[x], at.fresh[x]] += 1
    for i in range(graph.degree[x]):
        at.free[graph.var[x, i]] += 1


@njit(cache=True, nogil=True)
def _shift(graph: Graph, at: Position, c: int, gain: int, fresh: int) -> None:
    """Add to gain and fresh of every variable of check c."""
    for j in range(graph.size[c]):
        y = graph.chk[c, j]
        if at.state[y] == UNDECIDED:
            at.table[at.gain[y], at.fresh[y]] -= 1
            at.gain[y] += gain
            at.fresh[y] += fresh
            at.table[at.gain[y], at.fresh[y]] += 1
        else:
            at.gain[y] += gain
            at.fresh[y] += fresh


@njit(cache=True, nogil=True)
def _list_single(at: Position, c: int) -> None:
    at.place[c] = at.scalars[SINGLE]
    at.singles[at.scalars[SINGLE]] = c
    at.scalars[SINGLE] += 1


@njit(cache=True, nogil=True)
def _unlist_single(at: Position, c: int) -> None:
    at.scalars[SINGLE] -= 1
    last = at.singles[at.scalars[SINGLE]]
    at.singles[at.place[c]] = last
    at.place[last] = at.place[c]


@njit(cache=True, nogil=True)
def choose(graph: Graph, at: Position, x: int) -> None:
    """Choose the undecided variable x."""
    at.state[x] = CHOSEN
    at.table[at.gain[x], at.fresh[x]] -= 1
    at.scalars[SIZE] += 1
    for i in range(graph.degree[x]):
        c = graph.var[x, i]
        at.free[c] -= 1
        at.touched[c] += 1
        if at.touched[c] == 1:
            _list_single(at, c)
            _shift(graph, at, c, 1, -1)
        elif at.touched[c] == 2:
            _unlist_single(at, c)
            _shift(graph, at, c, -1, 0)


@njit(cache=True, nogil=True)
def _retract(graph: Graph, at: Position, x: int) -> None:
    """Undo the latest choice, of the variable x."""
    for i in range(graph.degree[x] - 1, -1, -1):
        c = graph.var[x, i]
        at.free[c] += 1
        at.touched[c] -= 1
        if at.touched[c] == 0:
            _unlist_single(at, c)
            _shift(graph, at, c, -1, 1)
        elif at.touched[c] == 1:
            _list_single(at, c)
            _shift(graph, at, c, 1, 0)
    at.scalars[SIZE] -= 1
    at.state[x] = UNDECIDED
    at.table[at.gain[x], at.fresh[x]] += 1


@njit(cache=True, nogil=True)
def _least_gain(table: NDArray[Any], single: int, left: int, reach: int, slack: int) -> int:
    """Return the least gain that a variable of a completion can have, -1 when there is no completion."""
    degree = table.shape[0] - 1
    need = 0
    while True:
        total, others, seen = 0, 0, 0
        for gain in range(degree, max(need, 1) - 1, -1):
            for fresh in range(min(degree - gain, reach, gain + slack) + 1):
                seen += table[gain, fresh]
            total += min(seen, left)
            others += min(seen, left - 1)
        if need > 1:  # a variable of gain g >= need stands for g units, of which g - need + 1 are counted
            total += min(seen, left) * (need - 1)
            others += min(seen, left - 1) * (need - 1)
        if total < single:
            return -1
        if single - others <= need:
            return need
        need = single - others


@njit(cache=True, nogil=True)
def _viable(at: Position, y: int, need: int, reach: int, slack: int) -> bool:
    gain, fresh = at.gain[y], at.fresh[y]
    return at.state[y] == UNDECIDED and gain >= need and fresh <= reach and fresh - gain <= slack


@njit(cache=True, nogil=True)
def _decide(graph: Graph, at: Position, left: int, overlap: int, shares: NDArray[Any]) -> int:
    """Return the check to branch on and mark its variables worth trying; -1 when the position is closed.

    Of the checks touched once it is one with the fewest viable variables.
    """
    single = at.scalars[SINGLE]
    if left <= 0:
        return -1
    reach, slack = overlap * (left - 1), (at.table.shape[0] - 1) * (left - 1) - single
    need = _least_gain(at.table, single, left, reach, slack)
    if need < 0:
        return -1
    best, fewest, total = -1, 1 << 30, 0
    for k in range(single):
        c = at.singles[k]
        count, top = 0, 0
        for j in range(graph.size[c]):
            y = graph.chk[c, j]
            if _viable(at, y, need, reach, slack):
                count += 1
                top = max(top, at.gain[y])
        if count == 0:
            return -1
        at.weight[c] = shares[top]
        total += shares[top]
        if count < fewest:
            best, fewest = c, count
    if total > left * shares[1]:
        return -1
    least = total - (left - 1) * shares[1]
    for j in range(graph.size[best]):
        y = graph.chk[best, j]
        good = _viable(at, y, need, reach, slack)
        if good and least > 0:
            own = 0
            for i in range(graph.degree[y]):
                if at.touched[graph.var[y, i]] == 1:
                    own += at.weight[graph.var[y, i]]
            good = own >= least
        at.good[at.scalars[DEPTH], j] = good
    return best


@njit(cache=True, nogil=True)
def explore(
    graph: Graph,
    at: Position,
    limit: int,
    overlap: int,
    shares: NDArray[Any],
    log_depth: NDArray[Any],
    log_check: NDArray[Any],
) -> int:
    """Continue the depth-first search for a stopping set of at most ``limit`` variables.

    A position without a check touched once is a stopping set. Otherwise it is closed by the rules, or some check
    touched once is chosen and its undecided variables are tried in increasing order, each with the earlier ones
    excluded.

    Args:
        graph: the Tanner graph.
        at: the position, changed in place.
        limit: largest size.
        overlap: the largest number of checks that two variables share.
        shares: shares[g] = shares[1] / g, all integers; shares[0] is not used.
        log_depth: room for the depths at which decisions were made in this call; its length is the number of
            positions after which to pause.
        log_check: room for the checks that were decided on.

    Returns:
        EXHAUSTED, FOUND (the chosen variables are the set) or PAUSED (call again).
    """
    now, frames = at.scalars, at.frames
    now[NODES], now[LOGGED] = 0, 0
    while True:
        depth = now[DEPTH]
        if now[ENTERING]:
            if now[SINGLE] == 0:
                return FOUND
            if now[NODES] >= len(log_depth):
                return PAUSED
            now[NODES] += 1
            now[ENTERING] = 0
            c = _decide(graph, at, limit - now[SIZE], overlap, shares)
            if c < 0:
                now[DEPTH] -= 1
                if depth == 0:
                    return EXHAUSTED
                continue
            log_depth[now[LOGGED]], log_check[now[LOGGED]] = depth, c
            now[LOGGED] += 1
            frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3] = c, 0, -1, now[REMOVED]
        elif frames[depth, 2] >= 0:
            x = frames[depth, 2]
            _retract(graph, at, x)
            exclude(graph, at, x)
            at.removed[now[REMOVED]] = x
            now[REMOVED] += 1
            frames[depth, 2] = -1
        c = frames[depth, 0]
        while frames[depth, 1] < graph.size[c]:
            j = frames[depth, 1]
            frames[depth, 1] += 1
            y = graph.chk[c, j]
            if at.state[y] != UNDECIDED:
                continue
            if at.good[depth, j]:
                choose(graph, at, y)
                frames[depth, 2] = y
                now[DEPTH], now[ENTERING] = depth + 1, 1
                break
            exclude(graph, at, y)
            at.removed[now[REMOVED]] = y
            now[REMOVED] += 1
        if not now[ENTERING]:
            while now[REMOVED] > frames[depth, 3]:
                now[REMOVED] -= 1
                _readmit(graph, at, at.removed[now[REMOVED]])
            now[DEPTH] -= 1
            if depth == 0:
                return EXHAUSTED


@njit(cache=True, nogil=True)
def peel_to_core(graph: Graph, inside: NDArray[Any], queue: NDArray[Any]) -> int:
    """Remove from the set, in place, every variable that some check meets alone; return what remains."""
    met = np.zeros(len(graph.size), np.int32)
    count, top = 0, 0
    for v in range(len(graph.degree)):
        if inside[v]:
            count += 1
            for i in range(graph.degree[v]):
                met[graph.var[v, i]] += 1
    for c in range(len(graph.size)):
        if met[c] == 1:
            queue[top] = c
            top += 1
    while top > 0:
        top -= 1
        c = queue[top]
        if met[c] != 1:
            continue
        for j in range(graph.size[c]):
            v = graph.chk[c, j]
            if inside[v]:
                inside[v] = 0
                count -= 1
                for i in range(graph.degree[v]):
                    e = graph.var[v, i]
                    met[e] -= 1
                    if met[e] == 1:
                        queue[top] = e
                        top += 1
    return count


@njit(cache=True, nogil=True)
def small_stopping_set(graph: Graph, rounds: int, seed: int, best: NDArray[Any]) -> int:
    """Write the smallest of some random inclusion-minimal stopping sets into ``best``; return its size, 0 if none.

    From the largest stopping set on, variables in random order are removed with everything that then peels,
    unless nothing would remain.
    """
    K = len(graph.degree)
    np.random.seed(seed)
    queue = np.empty(graph.var.size + len(graph.size) + 1, np.int32)
    whole = np.ones(K, np.uint8)
    least = peel_to_core(graph, whole, queue)
    best[:] = whole
    if least == 0:
        return 0
    current, trial = whole.copy(), whole.copy()
    for _ in range(rounds):
        current[:] = whole
        for v in np.random.permutation(K):
            if not current[v]:
                continue
            trial[:] = current
            trial[v] = 0
            if peel_to_core(graph, trial, queue) > 0:
                current[:] = trial
        count = int(current.sum())
        if count < least:
            least = count
            best[:] = current
    return least
