# ruff: noqa: PLR0917 (compiled functions take their arrays by position)
"""Compiled loops of the stopping-distance search; imported lazily, because numba is slow to import.

Everything is small integers. A position of the search is a set of chosen variables and a set of excluded ones; per
check ``touched`` counts its chosen and ``free`` its undecided variables; per variable ``gain`` counts its checks that
are touched once and ``fresh`` its checks that are untouched; ``table[g, h]`` counts the undecided variables with
gain g and fresh h. All are kept up to date under choosing, excluding and their undoing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

EXHAUSTED, FOUND, PAUSED = 0, 1, 2

#: Places in the vector of scalars: single = checks touched once, chosen = variables, depth, entering, removed,
#: logged, nodes.
SINGLE, CHOSEN, DEPTH, ENTERING, REMOVED, LOGGED, NODES, SCALARS = 0, 1, 2, 3, 4, 5, 6, 7

UNDECIDED, IN, OUT = 0, 1, 2


@njit(cache=True, nogil=True)
def exclude(
    x: int, var: NDArray[Any], state: NDArray[Any], free: NDArray[Any], side: NDArray[Any], table: NDArray[Any]
) -> None:
    """Exclude the undecided variable x."""
    state[x] = OUT
    table[side[x, 0], side[x, 1]] -= 1
    for i in range(side[x, 2]):
        free[var[x, i]] -= 1


@njit(cache=True, nogil=True)
def readmit(
    x: int, var: NDArray[Any], state: NDArray[Any], free: NDArray[Any], side: NDArray[Any], table: NDArray[Any]
) -> None:
    """Make the excluded variable x undecided again."""
    state[x] = UNDECIDED
    table[side[x, 0], side[x, 1]] += 1
    for i in range(side[x, 2]):
        free[var[x, i]] += 1


@njit(cache=True, nogil=True)
def _shift(
    c: int,
    gain: int,
    fresh: int,
    chk: NDArray[Any],
    size: NDArray[Any],
    state: NDArray[Any],
    side: NDArray[Any],
    table: NDArray[Any],
) -> None:
    """Add to gain and fresh of every variable of check c."""
    for j in range(size[c]):
        y = chk[c, j]
        if state[y] == UNDECIDED:
            table[side[y, 0], side[y, 1]] -= 1
            side[y, 0] += gain
            side[y, 1] += fresh
            table[side[y, 0], side[y, 1]] += 1
        else:
            side[y, 0] += gain
            side[y, 1] += fresh


@njit(cache=True, nogil=True)
def choose(
    x: int,
    var: NDArray[Any],
    chk: NDArray[Any],
    size: NDArray[Any],
    state: NDArray[Any],
    touched: NDArray[Any],
    free: NDArray[Any],
    side: NDArray[Any],
    table: NDArray[Any],
    scalars: NDArray[Any],
) -> None:
    """Choose the undecided variable x."""
    state[x] = IN
    table[side[x, 0], side[x, 1]] -= 1
    scalars[CHOSEN] += 1
    for i in range(side[x, 2]):
        c = var[x, i]
        free[c] -= 1
        touched[c] += 1
        if touched[c] == 1:
            scalars[SINGLE] += 1
            _shift(c, 1, -1, chk, size, state, side, table)
        elif touched[c] == 2:
            scalars[SINGLE] -= 1
            _shift(c, -1, 0, chk, size, state, side, table)


@njit(cache=True, nogil=True)
def retract(
    x: int,
    var: NDArray[Any],
    chk: NDArray[Any],
    size: NDArray[Any],
    state: NDArray[Any],
    touched: NDArray[Any],
    free: NDArray[Any],
    side: NDArray[Any],
    table: NDArray[Any],
    scalars: NDArray[Any],
) -> None:
    """Undo the latest choice, of the variable x."""
    for i in range(side[x, 2] - 1, -1, -1):
        c = var[x, i]
        free[c] += 1
        touched[c] -= 1
        if touched[c] == 0:
            scalars[SINGLE] -= 1
            _shift(c, -1, 1, chk, size, state, side, table)
        elif touched[c] == 1:
            scalars[SINGLE] += 1
            _shift(c, 1, 0, chk, size, state, side, table)
    scalars[CHOSEN] -= 1
    state[x] = UNDECIDED
    table[side[x, 0], side[x, 1]] += 1


@njit(cache=True, nogil=True)
def _coverable(table: NDArray[Any], single: int, left: int, slack: int, overlap: int) -> bool:
    """Return whether the ``left`` largest gains of viable variables reach the number of checks touched once."""
    degree = table.shape[0] - 1
    total, seen = 0, 0
    for gain in range(degree, 0, -1):
        most = min(degree - gain, overlap * (left - 1), gain + slack)
        for fresh in range(most + 1):
            seen += table[gain, fresh]
        total += min(seen, left)
        if total >= single:
            return True
    return False


@njit(cache=True, nogil=True)
def _branch(
    chk: NDArray[Any],
    size: NDArray[Any],
    state: NDArray[Any],
    touched: NDArray[Any],
    free: NDArray[Any],
    side: NDArray[Any],
    reach: int,
    slack: int,
) -> int:
    """Return the check touched once with the fewest viable variables, -1 when one has none."""
    best, fewest = -1, 1 << 30
    for c in range(len(size)):
        if touched[c] != 1:
            continue
        count = 0
        if free[c] > 0:
            for j in range(size[c]):
                y = chk[c, j]
                if state[y] == UNDECIDED and side[y, 1] <= reach and side[y, 1] - side[y, 0] <= slack:
                    count += 1
        if count < fewest:
            best, fewest = c, count
            if count == 0:
                return -1
    return best


@njit(cache=True, nogil=True)
def explore(
    limit: int,
    overlap: int,
    var: NDArray[Any],
    chk: NDArray[Any],
    size: NDArray[Any],
    state: NDArray[Any],
    touched: NDArray[Any],
    free: NDArray[Any],
    side: NDArray[Any],
    table: NDArray[Any],
    scalars: NDArray[Any],
    frames: NDArray[Any],
    removed: NDArray[Any],
    budget: int,
    log_depth: NDArray[Any],
    log_check: NDArray[Any],
) -> int:
    """Continue the depth-first search for a stopping set of at most ``limit`` variables.

    A position with no check touched once is a stopping set. Otherwise it is closed when the rules of
    :mod:`lp_gadgets.stopping_proof` say so, else some check touched once is chosen, and its undecided variables
    are tried in increasing order, each with the earlier ones excluded.

    Args:
        limit: largest size.
        overlap: the largest number of checks that two variables share.
        var, chk, size: checks of each variable, variables of each check (both padded), and the check sizes.
        state, touched, free, side, table, scalars: the position; side[x] = (gain, fresh, degree).
        frames: per depth (check, next place in it, variable being tried or -1, removed before).
        removed: stack of excluded variables.
        budget: number of positions after which to pause.
        log_depth, log_check: the decisions of this call; as long as the budget.

    Returns:
        EXHAUSTED, FOUND (the chosen variables are the set) or PAUSED (call again).
    """
    degree = table.shape[0] - 1
    scalars[NODES], scalars[LOGGED] = 0, 0
    while True:
        depth = scalars[DEPTH]
        left = limit - scalars[CHOSEN]
        slack = degree * (left - 1) - scalars[SINGLE]
        if scalars[ENTERING] == 1:
            if scalars[SINGLE] == 0:
                return FOUND
            if scalars[NODES] >= budget:
                return PAUSED
            scalars[NODES] += 1
            scalars[ENTERING] = 0
            c = -1
            if left > 0 and _coverable(table, scalars[SINGLE], left, slack, overlap):
                c = _branch(chk, size, state, touched, free, side, overlap * (left - 1), slack)
            if c < 0:
                scalars[DEPTH] -= 1
                if depth == 0:
                    return EXHAUSTED
                continue
            log_depth[scalars[LOGGED]] = depth
            log_check[scalars[LOGGED]] = c
            scalars[LOGGED] += 1
            frames[depth, 0], frames[depth, 1], frames[depth, 2] = c, 0, -1
            frames[depth, 3] = scalars[REMOVED]
        elif frames[depth, 2] >= 0:
            x = frames[depth, 2]
            retract(x, var, chk, size, state, touched, free, side, table, scalars)
            exclude(x, var, state, free, side, table)
            removed[scalars[REMOVED]] = x
            scalars[REMOVED] += 1
            frames[depth, 2] = -1
            left = limit - scalars[CHOSEN]
            slack = degree * (left - 1) - scalars[SINGLE]
        c = frames[depth, 0]
        while frames[depth, 1] < size[c]:
            y = chk[c, frames[depth, 1]]
            frames[depth, 1] += 1
            if state[y] != UNDECIDED:
                continue
            if side[y, 1] <= overlap * (left - 1) and side[y, 1] - side[y, 0] <= slack:
                choose(y, var, chk, size, state, touched, free, side, table, scalars)
                frames[depth, 2] = y
                scalars[DEPTH] = depth + 1
                scalars[ENTERING] = 1
                break
            exclude(y, var, state, free, side, table)
            removed[scalars[REMOVED]] = y
            scalars[REMOVED] += 1
        if scalars[ENTERING] == 0:
            while scalars[REMOVED] > frames[depth, 3]:
                scalars[REMOVED] -= 1
                readmit(removed[scalars[REMOVED]], var, state, free, side, table)
            scalars[DEPTH] -= 1
            if depth == 0:
                return EXHAUSTED


@njit(cache=True, nogil=True)
def peel_to_core(
    inside: NDArray[Any], var: NDArray[Any], degrees: NDArray[Any], chk: NDArray[Any], size: NDArray[Any], queue: NDArray[Any]
) -> int:
    """Remove from the set, in place, every variable that some check meets alone; return what remains."""
    M, K = len(size), len(degrees)
    met = np.zeros(M, np.int32)
    count = 0
    for v in range(K):
        if inside[v]:
            count += 1
            for i in range(degrees[v]):
                met[var[v, i]] += 1
    top = 0
    for c in range(M):
        if met[c] == 1:
            queue[top] = c
            top += 1
    while top > 0:
        top -= 1
        c = queue[top]
        if met[c] != 1:
            continue
        for j in range(size[c]):
            v = chk[c, j]
            if inside[v]:
                inside[v] = 0
                count -= 1
                for i in range(degrees[v]):
                    e = var[v, i]
                    met[e] -= 1
                    if met[e] == 1:
                        queue[top] = e
                        top += 1
    return count


@njit(cache=True, nogil=True)
def small_stopping_set(
    rounds: int,
    seed: int,
    var: NDArray[Any],
    degrees: NDArray[Any],
    chk: NDArray[Any],
    size: NDArray[Any],
    best: NDArray[Any],
) -> int:
    """Write the smallest of some random inclusion-minimal stopping sets into ``best``; return its size, 0 if none.

    From the largest stopping set on, a variable in random order is removed with everything that then peels,
    unless nothing would remain.
    """
    K = len(degrees)
    np.random.seed(seed)
    queue = np.empty(len(size) + var.size + 1, np.int32)
    current, trial = np.ones(K, np.uint8), np.ones(K, np.uint8)
    whole = np.ones(K, np.uint8)
    least = peel_to_core(whole, var, degrees, chk, size, queue)
    best[:] = whole
    if least == 0:
        return 0
    for _ in range(rounds):
        current[:] = whole
        for v in np.random.permutation(K):
            if not current[v]:
                continue
            trial[:] = current
            trial[v] = 0
            if peel_to_core(trial, var, degrees, chk, size, queue) > 0:
                current[:] = trial
        count = int(current.sum())
        if count < least:
            least = count
            best[:] = current
    return least
