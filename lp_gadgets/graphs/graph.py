"""Tanner graphs as data: variables, parity checks, and what follows from them at once.

The algorithms on graphs take this class. :class:`lp_gadgets.tanner.TannerCode` is built on top of it: it
knows how graphs are made, and calls the algorithms.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_integer, describe

#: Sizes beyond these are refused before anything is built.
MAX_VARIABLES, MAX_EDGES = 20_000, 200_000


@dataclass(frozen=True)
class TannerGraph:
    """A simple bipartite graph on variables 0..K-1 and parity checks.

    Attributes:
        K: number of variables (code symbols).
        checks: for each check the increasing tuple of its variables; empty and repeated checks are allowed.
        name: how the graph was made.
        symmetry: permutations p of the variables (p[i] is the image of i) that map the multiset of checks to
            itself; they are checked, need not generate all automorphisms, and speed up exhaustive searches.

    Raises:
        ArgumentError: when a check is no list of distinct variables, a permutation is no symmetry, or the
            name is not printable text.
        CapacityError: when there are more edges than :data:`MAX_EDGES`.

    Example:
        >>> triangle = TannerGraph(3, ((0, 1), (1, 2), (0, 2)))
        >>> triangle.M, triangle.rank, triangle.is_stopping_set([0, 1, 2])
        (3, 2, True)
    """

    K: int
    checks: tuple[tuple[int, ...], ...]
    name: str = ""
    symmetry: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Bring the checks to increasing order and refuse what is not a simple graph with its symmetry."""
        object.__setattr__(self, "K", check_integer("K", self.K, 1, MAX_VARIABLES))
        checks = tuple(tuple(sorted(check)) for check in _tuples("checks", self.checks))
        for check in checks:
            if check and not (check[0] >= 0 and check[-1] < self.K):
                raise ArgumentError("checks", f"lists of variables in 0..{self.K - 1}", "one out of range")
            if len(set(check)) < len(check):
                raise ArgumentError("checks", "lists of distinct variables", "a check with a repeated one")
        if sum(map(len, checks)) > MAX_EDGES:
            raise CapacityError("checks", f"at most {MAX_EDGES} edges in all", sum(map(len, checks)))
        object.__setattr__(self, "checks", checks)
        counts = Counter(checks)
        symmetry = _tuples("symmetry", self.symmetry)
        if not isinstance(self.name, str) or not self.name.isprintable():
            got = "one with a control character" if isinstance(self.name, str) else describe(self.name)
            raise ArgumentError("name", "printable text of one line", got)
        for p in symmetry:
            if sorted(p) != list(range(self.K)):
                raise ArgumentError("symmetry", f"permutations of 0..{self.K - 1}", "another sequence")
            if Counter(tuple(sorted(p[v] for v in check)) for check in checks) != counts:
                raise ArgumentError(
                    "symmetry", "permutations that map checks to checks", "another permutation"
                )
        object.__setattr__(self, "symmetry", symmetry)

    @property
    def M(self) -> int:  # noqa: N802 (the paper's name)
        """Number of checks, redundant ones included."""
        return len(self.checks)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """For each variable the increasing tuple of its checks."""
        lists: list[list[int]] = [[] for _ in range(self.K)]
        for c, check in enumerate(self.checks):
            for v in check:
                lists[v].append(c)
        return tuple(map(tuple, lists))

    @property
    def variable_degrees(self) -> tuple[int, ...]:
        """Number of checks of each variable."""
        return tuple(map(len, self.neighbours))

    @property
    def check_degrees(self) -> tuple[int, ...]:
        """Number of variables of each check."""
        return tuple(map(len, self.checks))

    @cached_property
    def incidence(self) -> NDArray[np.int64]:
        """The parity-check matrix H with entries 0 and 1, shape (M, K); read only."""
        H = np.zeros((self.M, self.K), dtype=np.int64)
        for c, check in enumerate(self.checks):
            H[c, list(check)] = 1
        H.setflags(write=False)
        return H

    @cached_property
    def rank(self) -> int:
        """The rank of H over F_2, which is its rank over every F_{2^s}."""
        pivots: dict[int, int] = {}
        for check in self.checks:
            row = sum(1 << v for v in check)
            while row and (top := row.bit_length()) in pivots:
                row ^= pivots[top]
            if row:
                pivots[row.bit_length()] = row
        return len(pivots)

    @property
    def sha256(self) -> str:
        """Digest of the graph: K and the checks, whatever the name."""
        return hashlib.sha256(repr((self.K, self.checks)).encode()).hexdigest()

    def twins(self) -> tuple[int, int] | None:
        """Return two variables with the same checks, if any: they are a stopping set of size two."""
        seen: dict[tuple[int, ...], int] = {}
        for v, own in enumerate(self.neighbours):
            if own in seen:
                return seen[own], v
            seen[own] = v
        return None

    def is_stopping_set(self, variables: Iterable[int]) -> bool:
        """Return whether no check meets the set of variables exactly once; the empty set is one.

        Example:
            >>> TannerGraph(3, ((0, 1), (1, 2))).is_stopping_set([0, 1])
            False
        """
        chosen = check_variables(self, "variables", variables)
        return all(len(chosen.intersection(check)) != 1 for check in self.checks)

    def relabel(self, order: Iterable[int]) -> Self:
        """Return the same graph with variable order[i] renamed to i; the checks keep their places.

        Raises:
            ArgumentError: when the order is not a permutation of the variables.

        Example:
            >>> TannerGraph(3, ((0, 1), (1, 2))).relabel([2, 0, 1]).checks
            ((1, 2), (0, 2))
        """
        sequence = [int(v) for v in order]
        if sorted(sequence) != list(range(self.K)):
            raise ArgumentError("order", f"a permutation of 0..{self.K - 1}", "another sequence")
        new = {v: i for i, v in enumerate(sequence)}
        checks = tuple(tuple(new[v] for v in check) for check in self.checks)
        symmetry = tuple(tuple(new[p[v]] for v in sequence) for p in self.symmetry)
        return type(self)(self.K, checks, f"{self.name} relabelled".strip(), symmetry)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as JSON values.

        Example:
            >>> graph = TannerGraph(3, ((0, 1), (1, 2)), "chain")
            >>> TannerGraph.from_dict(graph.to_dict()) == graph
            True
        """
        return {
            "name": self.name,
            "K": self.K,
            "checks": [list(c) for c in self.checks],
            "symmetry": [list(p) for p in self.symmetry],
            "sha256": self.sha256,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the graph whose :meth:`to_dict` is the data.

        Raises:
            ArgumentError: when a part is missing or the digest differs.
        """
        try:
            parts = (
                data["K"],
                tuple(map(tuple, data["checks"])),
                data["name"],
                tuple(map(tuple, data["symmetry"])),
            )
            expected = data["sha256"]
        except (KeyError, TypeError):
            raise ArgumentError("data", "the dictionary of a Tanner graph", "another value") from None
        code = cls(*parts)
        if code.sha256 != expected:
            raise ArgumentError("data", "a graph with its own digest", "a graph with another one")
        return code


def check_variables(graph: TannerGraph, name: str, variables: Iterable[int]) -> set[int]:
    """Return a set of variables of the graph; repetitions count once.

    Args:
        graph: the graph.
        name: of the argument, for the message.
        variables: the collection.

    Raises:
        ArgumentError: when one is not an integer in 0..K-1.

    Example:
        >>> check_variables(TannerGraph(3, ()), "erased", [2, 0, 2])
        {0, 2}
    """
    requirement = f"a collection of variables in 0..{graph.K - 1}"
    try:
        chosen = {v.__index__() for v in variables}
    except (AttributeError, TypeError):
        raise ArgumentError(name, requirement, describe(variables)) from None
    if chosen and not (min(chosen) >= 0 and max(chosen) < graph.K):
        raise ArgumentError(name, requirement, "a collection with one out of range")
    return chosen


def _tuples(name: str, lists: Any) -> tuple[tuple[int, ...], ...]:
    """Return lists of integers as tuples.

    Raises:
        ArgumentError: when it is anything else.
    """
    try:
        return tuple(tuple(check_integer(name, v, 0) for v in own) for own in lists)
    except (ArgumentError, TypeError):
        raise ArgumentError(
            name, "a sequence of lists of integers >= 0", describe(lists), "Write ((0, 1), (1, 2))."
        ) from None
