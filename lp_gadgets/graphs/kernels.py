# ruff: noqa: PLR0917 (compiled functions are flat, and take their arguments by position)
"""Compiled loops of the stopping-distance search; imported lazily, because numba is slow to import.

Everything is small integers. The rules by which a position is closed, and a variable found hopeless, are
stated with their reasons in :mod:`lp_gadgets.graphs.proof`, which applies them again without this module.

For K variables, M checks and the largest degree D the functions take a :class:`Graph`, a :class:`Position` in
it and the :class:`Path` that led there; a position and its path are changed in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

EXHAUSTED, FOUND, PAUSED = 0, 1, 2
UNDECIDED, CHOSEN, EXCLUDED = 0, 1, 2

#: Columns of V: the state, and the numbers of the variable's checks: touched once, untouched, all.
STATE, GAIN, FRESH, DEGREE = 0, 1, 2, 3

#: Columns of C: the number of chosen variables, and the place among the singles.
TOUCHED, PLACE = 0, 1

#: Places in ``now``: number of checks touched once, of chosen variables, depth, whether a position is
#: entered, heights of ``removed`` and of the log, positions of this call.
SINGLE, SIZE, DEPTH, ENTERING, REMOVED, LOGGED, NODES, SCALARS = 0, 1, 2, 3, 4, 5, 6, 7


class Graph(NamedTuple):
    """A Tanner graph.

    Attributes:
        var: (K, D) the checks of each variable, padded.
        chk: (M, largest size) the variables of each check, padded.
        size: (M,) of the checks.
    """

    var: Array
    chk: Array
    size: Array


class Position(NamedTuple):
    """What is chosen and excluded, and what follows from it.

    Attributes:
        V: (K, 4) what is kept about variables, see the columns above.
        C: (M, 2) what is kept about checks.
        table: (D + 1, D + 1) table[g, h] is the number of undecided variables with gain g and fresh h.
        singles: (M + 1,) the checks touched once, in no particular order.
        now: scalars, see above.
    """

    V: Array
    C: Array
    table: Array
    singles: Array
    now: Array


class Path(NamedTuple):
    """How the search came to its position.

    Attributes:
        frames: per depth (check, next place in it, variable being tried or -1, number removed before).
        good: per depth, which places of the check hold a variable worth trying.
        removed: (K + 1,) stack of the variables excluded on the path.
        weight: (M,) room for weights.
    """

    frames: Array
    good: Array
    removed: Array
    weight: Array


@njit(cache=True, nogil=True)
def _shift(c: int, gain: int, fresh: int, graph: Graph, position: Position) -> None:
    """Add to gain and fresh of every variable of check c."""
    _, chk, size = graph
    V, _, table, _, _ = position
    for j in range(size[c]):
        y = chk[c, j]
        g, h = V[y, GAIN], V[y, FRESH]
        V[y, GAIN] = g + gain
        V[y, FRESH] = h + fresh
        if V[y, STATE] == UNDECIDED:
            table[g, h] -= 1
            table[g + gain, h + fresh] += 1


@njit(cache=True, nogil=True)
def _list_single(c: int, position: Position) -> None:
    _, C, _, singles, now = position
    C[c, PLACE] = now[SINGLE]
    singles[now[SINGLE]] = c
    now[SINGLE] += 1


@njit(cache=True, nogil=True)
def _unlist_single(c: int, position: Position) -> None:
    _, C, _, singles, now = position
    now[SINGLE] -= 1
    last = singles[now[SINGLE]]
    singles[C[c, PLACE]] = last
    C[last, PLACE] = C[c, PLACE]


@njit(cache=True, nogil=True)
def _choose(x: int, graph: Graph, position: Position) -> None:
    """Choose the undecided variable x."""
    V, C, table, _, now = position
    V[x, STATE] = CHOSEN
    table[V[x, GAIN], V[x, FRESH]] -= 1
    now[SIZE] += 1
    for i in range(V[x, DEGREE]):
        c = graph.var[x, i]
        C[c, TOUCHED] += 1
        if C[c, TOUCHED] == 1:
            _list_single(c, position)
            _shift(c, 1, -1, graph, position)
        elif C[c, TOUCHED] == 2:
            _unlist_single(c, position)
            _shift(c, -1, 0, graph, position)


@njit(cache=True, nogil=True)
def _retract(x: int, graph: Graph, position: Position) -> None:
    """Undo the latest choice, of the variable x, and exclude it."""
    V, C, _, _, now = position
    for i in range(V[x, DEGREE] - 1, -1, -1):
        c = graph.var[x, i]
        C[c, TOUCHED] -= 1
        if C[c, TOUCHED] == 0:
            _unlist_single(c, position)
            _shift(c, -1, 1, graph, position)
        elif C[c, TOUCHED] == 1:
            _list_single(c, position)
            _shift(c, 1, 0, graph, position)
    now[SIZE] -= 1
    V[x, STATE] = EXCLUDED


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
def _decide(left: int, overlap: int, shares: Array, graph: Graph, position: Position, path: Path) -> int:
    """Return the check to branch on and mark its variables worth trying; -1 when the position is closed.

    Of the checks touched once it is one with the fewest viable variables.
    """
    var, chk, size = graph
    V, C, table, singles, now = position
    _, good, _, weight = path
    single = now[SINGLE]
    if left <= 0:
        return -1
    reach, slack = overlap * (left - 1), (table.shape[0] - 1) * (left - 1) - single
    need = _least_gain(table, single, left, reach, slack)
    if need < 0:
        return -1
    best, fewest, total = -1, 1 << 30, 0
    for k in range(single):
        c = singles[k]
        count, top = 0, 0
        for j in range(size[c]):
            y = chk[c, j]
            g, h = V[y, GAIN], V[y, FRESH]
            if V[y, STATE] == UNDECIDED and g >= need and h <= reach and h - g <= slack:
                count += 1
                top = max(top, g)
        if count == 0:
            return -1
        weight[c] = shares[top]
        total += shares[top]
        if count < fewest:
            best, fewest = c, count
    if total > left * shares[1]:
        return -1
    least = total - (left - 1) * shares[1]
    for j in range(size[best]):
        y = chk[best, j]
        g, h = V[y, GAIN], V[y, FRESH]
        fine = V[y, STATE] == UNDECIDED and g >= need and h <= reach and h - g <= slack
        if fine and least > 0:
            own = 0
            for i in range(V[y, DEGREE]):
                if C[var[y, i], TOUCHED] == 1:
                    own += weight[var[y, i]]
            fine = own >= least
        good[now[DEPTH], j] = fine
    return best


@njit(cache=True, nogil=True)
def _restore(height: int, position: Position, path: Path) -> None:
    """Make the variables undecided again that were excluded since the stack had this height."""
    V, _, table, _, now = position
    while now[REMOVED] > height:
        now[REMOVED] -= 1
        y = path.removed[now[REMOVED]]
        V[y, STATE] = UNDECIDED
        table[V[y, GAIN], V[y, FRESH]] += 1


@njit(cache=True, nogil=True)
def begin(rank: Array, stage: int, root: int, graph: Graph, position: Position) -> None:
    """Set up the position of one stage: variables of a rank below the stage are excluded, the root is chosen.

    Args:
        rank: (K,) place of each variable's orbit in the order of the stages.
        stage: number of the stage.
        root: a variable whose rank is the stage.
        graph: the graph.
        position: overwritten; only the degrees in V are read.
    """
    V, C, table, _, now = position
    now[:] = 0
    C[:] = 0
    table[:] = 0
    for v in range(len(rank)):
        V[v, GAIN], V[v, FRESH] = 0, V[v, DEGREE]
        V[v, STATE] = EXCLUDED if rank[v] < stage else UNDECIDED
        if rank[v] >= stage:
            table[0, V[v, DEGREE]] += 1
    _choose(root, graph, position)
    now[ENTERING] = 1


@njit(cache=True, nogil=True)
def explore(
    limit: int,
    overlap: int,
    shares: Array,
    graph: Graph,
    position: Position,
    path: Path,
    log_depth: Array,
    log_check: Array,
) -> int:
    """Continue the depth-first search for a stopping set of at most ``limit`` variables.

    A position without a check touched once is a stopping set. Otherwise it is closed by the rules, or some
    check touched once is picked and its undecided variables are tried in increasing order, each with the
    earlier ones excluded.

    Args:
        limit: largest size.
        overlap: the largest number of checks that two variables share.
        shares: shares[g] = shares[1] / g, rounded down; shares[0] is not used.
        graph: the graph.
        position, path: changed in place.
        log_depth: room for the depths at which decisions were made in this call; its length is the number of
            positions after which to pause.
        log_check: room for the checks that were decided on.

    Returns:
        EXHAUSTED, FOUND (the chosen variables are the set) or PAUSED (call again).
    """
    _, chk, size = graph
    V, _, table, _, now = position
    frames, good, removed, _ = path
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
            left = limit - now[SIZE]
            c = _decide(left, overlap, shares, graph, position, path)
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
            _retract(x, graph, position)
            removed[now[REMOVED]] = x
            now[REMOVED] += 1
            frames[depth, 2] = -1
        c = frames[depth, 0]
        while frames[depth, 1] < size[c]:
            j = frames[depth, 1]
            frames[depth, 1] += 1
            y = chk[c, j]
            if V[y, STATE] != UNDECIDED:
                continue
            if good[depth, j]:
                _choose(y, graph, position)
                frames[depth, 2] = y
                now[DEPTH], now[ENTERING] = depth + 1, 1
                break
            V[y, STATE] = EXCLUDED
            table[V[y, GAIN], V[y, FRESH]] -= 1
            removed[now[REMOVED]] = y
            now[REMOVED] += 1
        if not now[ENTERING]:
            _restore(frames[depth, 3], position, path)
            now[DEPTH] -= 1
            if depth == 0:
                return EXHAUSTED
