"""Stopping sets of small size, listed: candidates for what a classifier may give up.

The list need not be complete; each set in it is a stopping set.
"""

from __future__ import annotations

from collections.abc import Iterator

from lp_gadgets.graphs.graph import TannerGraph

#: Positions that are looked at for stopping sets, and sets that are used.
MAX_POSITIONS, MAX_SETS = 20_000, 200


def stopping_sets(code: TannerGraph, size: int) -> list[tuple[int, ...]]:
    """Return stopping sets of at most some size that contain no smaller one, the smallest first.

    The sets are those that a search reaches which adds, for the first check that is met once, each of its
    variables in turn: a stopping set that contains the chosen variables contains one of these. The list is
    complete unless the search ends at :data:`MAX_POSITIONS` positions or :data:`MAX_SETS` sets of a size.

    Args:
        code: the graph.
        size: the largest number of variables.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> stopping_sets(TannerGraph(4, ((0, 1), (2, 3), (1, 2, 3))), 4)
        [(2, 3)]
        >>> len(stopping_sets(TannerCode.geometry("Fano"), 4))  # the complements of the lines
        7
    """
    found: list[tuple[int, ...]] = []
    for wanted in range(1, size + 1):
        left = [MAX_POSITIONS]
        own = set()
        for root in range(code.K):
            for T in _complete(code, frozenset([root]), frozenset(range(root)), wanted, left):
                own.add(tuple(sorted(T)))
                if len(own) >= MAX_SETS:
                    break
        smaller = [set(T) for T in found]
        found += sorted(T for T in own if not any(small < set(T) for small in smaller))
        if left[0] <= 0 or len(found) >= MAX_SETS:
            break
    return found


def _complete(
    code: TannerGraph, chosen: frozenset[int], excluded: frozenset[int], size: int, left: list[int]
) -> Iterator[frozenset[int]]:
    """Yield stopping sets of the given size that contain the chosen and none of the excluded variables."""
    left[0] -= 1
    if left[0] < 0:
        return
    met: dict[int, int] = {}
    for v in chosen:
        for c in code.neighbours[v]:
            met[c] = met.get(c, 0) + 1
    single = [c for c, times in met.items() if times == 1]
    if not single:
        if len(chosen) == size:
            yield chosen
        return
    if len(chosen) >= size:
        return
    check = min(single, key=lambda c: len(code.checks[c]))
    gone = set(excluded)
    for v in code.checks[check]:
        if v not in chosen and v not in gone:
            yield from _complete(code, chosen | {v}, frozenset(gone), size, left)
            gone.add(v)
