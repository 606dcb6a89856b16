"""Random biregular graphs: the configuration model, progressive edge growth, arrays of circulants; girth."""

from __future__ import annotations

from collections import deque

import numpy as np

from lp_gadgets.graphs.graph import TannerGraph

#: Attempts at a random choice before the next weaker wish is granted.
ATTEMPTS = 200


def configuration_model(K: int, dv: int, dc: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Return the checks of a random (dv, dc)-biregular simple graph.

    The variable stubs are shuffled and dealt to the checks; then every repeated edge exchanges its variable
    with a random edge of another check that can take it. When dv == M every graph is complete and dealing
    is not random, but the exchange still ends: a repeated variable leaves some check without one it must
    have.

    Args:
        K: number of variables.
        dv: checks per variable.
        dc: variables per check; K * dv is a multiple of dc, dc <= K.
        seed: non-negative integer.
    """
    rng = np.random.default_rng([seed, K, dv, dc, 1])
    stubs = rng.permutation(np.repeat(np.arange(K), dv))
    checks: list[list[int]] = [row.tolist() for row in stubs.reshape(-1, dc)]
    separate_repeats(checks, rng)
    return tuple(map(tuple, checks))


def separate_repeats(checks: list[list[int]], rng: np.random.Generator) -> None:
    """Exchange variables between checks, in place, until no check holds one twice; degrees stay.

    An exchange of v (twice in c) with w of check e, w not in c and v not in e, removes a repeat of v and
    makes none. If v has repeats, some check lacks v (v has at most M stubs) and, being full, holds a
    variable that c lacks or a repeated one: so an exchange exists that does not raise the number of
    repeats, and random ones reach it.
    """
    while True:
        repeated = [(c, i) for c, row in enumerate(checks) for i in range(len(row)) if row[i] in row[:i]]
        if not repeated:
            return
        c, i = repeated[int(rng.integers(len(repeated)))]
        v = checks[c][i]
        lacking = [e for e, row in enumerate(checks) if v not in row]
        e = lacking[int(rng.integers(len(lacking)))]
        good = [j for j, w in enumerate(checks[e]) if w not in checks[c]]
        places = good or list(range(len(checks[e])))
        j = places[int(rng.integers(len(places)))]
        checks[c][i], checks[e][j] = checks[e][j], v


def progressive_edge_growth(K: int, dv: int, dc: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Return the checks of a (dv, dc)-biregular simple graph grown edge by edge.

    Each new edge of a variable goes to a check with room that is not yet reached from the variable, else to
    one of those reached last; ties go to the least degree, then to chance. When only checks that the
    variable already has are left with room, the edge repeats and is exchanged afterwards; so is an edge of
    a twin.
    """
    rng = np.random.default_rng([seed, K, dv, dc, 2])
    M = K * dv // dc
    checks: list[list[int]] = [[] for _ in range(M)]
    own: list[list[int]] = [[] for _ in range(K)]
    for v in range(K):
        for _ in range(dv):
            depth = _depths(v, checks, own)
            room = [c for c in range(M) if len(checks[c]) < dc]
            far = max(depth[c] for c in room)
            farthest = [c for c in room if depth[c] == far]
            least = min(len(checks[c]) for c in farthest)
            ties = [c for c in farthest if len(checks[c]) == least]
            c = ties[int(rng.integers(len(ties)))]
            checks[c].append(v)
            own[v].append(c)
    separate_repeats(checks, rng)
    separate_twins(checks, rng)
    return tuple(map(tuple, checks))


def separate_twins(checks: list[list[int]], rng: np.random.Generator) -> None:
    """Exchange variables between checks, in place, until no two variables share all checks, or give up.

    The graph must be simple, and stays so; degrees stay. Small dense graphs have twins whatever is done.
    """
    for _ in range(ATTEMPTS):
        seen: dict[tuple[int, ...], int] = {}
        for v in sorted({v for row in checks for v in row}):
            own = tuple(c for c, row in enumerate(checks) if v in row)
            if own in seen:
                break
            seen[own] = v
        else:
            return
        pairs = [
            (c, e, w)
            for c in own
            for e in range(len(checks))
            if v not in checks[e]
            for w in checks[e]
            if w not in checks[c]
        ]
        if not pairs:
            return
        c, e, w = pairs[int(rng.integers(len(pairs)))]
        checks[c][checks[c].index(v)], checks[e][checks[e].index(w)] = w, v


def _depths(v: int, checks: list[list[int]], own: list[list[int]]) -> list[int]:
    """Return for each check its distance from variable v in rounds, M + 1 where there is no path."""
    depth = [len(checks) + 1] * len(checks)
    wave, seen, level = [v], {v}, 0
    while wave:
        fresh = [c for x in wave for c in own[x] if depth[c] > len(checks)]
        for c in fresh:
            depth[c] = level
        wave = [x for c in fresh for x in checks[c] if x not in seen]
        wave = list(dict.fromkeys(wave))
        seen.update(wave)
        level += 1
    return depth


def circulant_array(K: int, dv: int, dc: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Return the checks of a dv x dc array of circulant permutations of size L = K / dc with random shifts.

    Check (a, i) holds variable (b, i + shift[a, b] mod L) for every block b. The first row and the first
    column have shift 0, which every array can be brought to by renumbering inside the blocks. Each column
    is the first of many draws that closes no 4-cycle with an earlier one (no two rows differ by the same
    amount in both columns), or else the draw with the fewest coincidences, counted so that twins weigh most.
    """
    rng = np.random.default_rng([seed, K, dv, dc, 3])
    size = K // dc
    shifts = np.zeros((dv, dc), dtype=np.int64)
    for b in range(1, dc):
        draws = rng.integers(0, size, (ATTEMPTS, dv - 1))
        change = np.zeros((ATTEMPTS, dv, b), dtype=np.int64)
        change[:, 1:] = (draws[:, :, None] - shifts[None, 1:, :b]) % size
        ordered = np.sort(change, axis=1)
        coincidences = (ordered[:, 1:] == ordered[:, :-1]).sum(axis=1)
        shifts[1:, b] = draws[int(np.argmin((coincidences**2).sum(axis=1)))]
    base = np.arange(dc) * size
    return tuple(tuple((base + (i + shifts[a]) % size).tolist()) for a in range(dv) for i in range(size))


def rotation(K: int, size: int) -> tuple[int, ...]:
    """Return the permutation that rotates every block of the given size by one place.

    Example:
        >>> rotation(6, 3)
        (1, 2, 0, 4, 5, 3)
    """
    return tuple(v - v % size + (v + 1) % size for v in range(K))


def girth(graph: TannerGraph) -> int | None:
    """Return the length of a shortest cycle by one breadth-first search from each variable, None in a forest.

    A search from a vertex of a shortest cycle closes it; an edge that closes a walk of length n shows a
    cycle of length n at most, so the least over all starts is exact.
    """
    best: int | None = None
    adjacency = [[graph.K + c for c in own] for own in graph.neighbours] + [
        list(check) for check in graph.checks
    ]
    for start in range(graph.K):
        depth, parent = {start: 0}, {start: -1}
        queue = deque([start])
        while queue:
            x = queue.popleft()
            if best is not None and 2 * depth[x] >= best:
                break
            for y in adjacency[x]:
                if y not in depth:
                    depth[y], parent[y] = depth[x] + 1, x
                    queue.append(y)
                elif y != parent[x]:
                    length = depth[x] + depth[y] + 1
                    best = length if best is None else min(best, length)
    return best
