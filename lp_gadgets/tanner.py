"""Tanner graphs: simple bipartite graphs of variables and parity checks, the skeleton of every instance.

A graph is data only: its checks, a name that says how it was made, and permutations of the variables that are
known to map checks to checks. The rank, the stopping distance and the code do not depend on the alphabet.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_integer, describe

if TYPE_CHECKING:
    from lp_gadgets.code import FieldCode
    from lp_gadgets.peeling import Peeling
    from lp_gadgets.stopping import StoppingDistance

#: Sizes beyond these are refused before anything is built.
MAX_VARIABLES, MAX_EDGES = 20_000, 200_000
#: Most edges that are grown one by one.
MAX_GROWN = 2**13
#: Most variables of all the graphs together that best_of examines.
MAX_EXAMINED = 2**17

Progress = Callable[[float], None] | None

#: How many further seeds are tried for a warning, and for how many variables at most.
OTHER_SEEDS, SEEDS_UP_TO = 20, 256


class WeakGraphWarning(UserWarning):
    """The graph has two variables in the same checks, so two erasures already undo the code."""


@dataclass(frozen=True)
class TannerCode:
    """A simple bipartite graph on variables 0..K-1 and parity checks.

    Attributes:
        K: number of variables (code symbols).
        checks: for each check the increasing tuple of its variables; empty and repeated checks are allowed.
        name: how the graph was made.
        symmetry: permutations p of the variables (p[i] is the image of i) that map the multiset of checks to
            itself; they are checked, need not generate all automorphisms, and speed up exhaustive searches.

    Example:
        >>> triangle = TannerCode(3, ((0, 1), (1, 2), (0, 2)))
        >>> triangle.M, triangle.rank, triangle.girth, triangle.is_stopping_set([0, 1, 2])
        (3, 2, 6, True)
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
        if not isinstance(self.name, str):
            raise ArgumentError("name", "text", describe(self.name))
        for p in symmetry:
            if sorted(p) != list(range(self.K)):
                raise ArgumentError("symmetry", f"permutations of 0..{self.K - 1}", "another sequence")
            if Counter(tuple(sorted(p[v] for v in check)) for check in checks) != counts:
                raise ArgumentError(
                    "symmetry", "permutations that map checks to checks", "another permutation"
                )
        object.__setattr__(self, "symmetry", symmetry)

    # ---------------------------------------------------------------- makers

    @classmethod
    def biregular(
        cls,
        K: int = 64,
        dv: int = 4,
        dc: int = 8,
        seed: int = 0,
        best_of: int = 1,
        *,
        progress: Progress = None,
    ) -> TannerCode:
        """Return a random (dv, dc)-biregular simple graph: the configuration model with repair.

        Stubs are matched at random; an edge that repeats is swapped with random others until none does.

        Args:
            K: number of variables; K * dv must be a multiple of dc, and there must be at least dv checks
                and dc variables.
            dv: checks per variable.
            dc: variables per check.
            seed: of the graph (the same graph on every machine).
            best_of: examine the seeds seed, ..., seed + best_of - 1 and keep the graph with the greatest
                stopping distance, of these the first.
            progress: told the fraction of the seeds that have been examined.

        Raises:
            ArgumentError: when no such simple graph exists.

        Warns:
            WeakGraphWarning: when two variables share all their checks.

        Example:
            >>> code = TannerCode.biregular(K=24, seed=1)
            >>> code.M, set(code.variable_degrees), set(code.check_degrees)
            (12, {4}, {8})
        """
        from lp_gadgets.constructions import configuration_model

        _check_degrees(K, dv, dc)

        def make(s: int) -> TannerCode:
            return cls(K, configuration_model(K, dv, dc, s), _name("biregular", K, dv, dc, s))

        return _best(make, K, seed, best_of, progress)

    @classmethod
    def peg(
        cls,
        K: int = 64,
        dv: int = 4,
        dc: int = 8,
        seed: int = 0,
        best_of: int = 1,
        *,
        progress: Progress = None,
    ) -> TannerCode:
        """Return a (dv, dc)-biregular simple graph by progressive edge growth: each edge as far as can be.

        The edges of one variable after another go to the farthest check with room, among these to one of
        least degree (Hu, Eleftheriou and Arnold, 2005). Arguments and errors as for :meth:`biregular`.

        Example:
            >>> TannerCode.peg(K=48, dv=3, dc=6, seed=1).girth
            6
        """
        from lp_gadgets.constructions import progressive_edge_growth

        _check_degrees(K, dv, dc)
        if K * dv > MAX_GROWN:
            raise CapacityError(
                "K",
                f"small enough for {MAX_GROWN} edges",
                f"{K} with {dv} each",
                "Growing them one by one is slow: use biregular or qc.",
            )

        def make(s: int) -> TannerCode:
            return cls(K, progressive_edge_growth(K, dv, dc, s), _name("peg", K, dv, dc, s))

        return _best(make, K, seed, best_of, progress)

    @classmethod
    def quasi_cyclic(
        cls,
        K: int = 64,
        dv: int = 4,
        dc: int = 8,
        seed: int = 0,
        best_of: int = 1,
        *,
        progress: Progress = None,
    ) -> TannerCode:
        """Return a dv x dc array of random circulant permutations of size K / dc.

        It is free of 4-cycles when the shifts can be drawn so.

        Rotating every block by one place is a symmetry, which divides the work of the exhaustive search.
        Arguments and errors as for :meth:`biregular`; besides, dc must divide K.

        Example:
            >>> code = TannerCode.quasi_cyclic(K=64, seed=0)
            >>> code.M, code.symmetry[0][:8]
            (32, (1, 2, 3, 4, 5, 6, 7, 0))
        """
        from lp_gadgets.constructions import circulant_array, rotation

        _check_degrees(K, dv, dc, blocks=True)
        turn = (rotation(K, K // dc),)

        def make(s: int) -> TannerCode:
            return cls(K, circulant_array(K, dv, dc, s), _name("qc", K, dv, dc, s), turn)

        return _best(make, K, seed, best_of, progress)

    @classmethod
    def geometry(cls, name: str) -> TannerCode:
        """Return the points and lines of a finite geometry over F_q, q a power of two.

        "Fano" = "PG(2,2)"; "EG(2,q)" the affine plane without the origin and its lines, "PG(2,q)" the
        projective plane, "GQ(q,q)" the symplectic generalised quadrangle W(q), "GH(q,q)" the split Cayley
        hexagon H(q) and "GH(q,q)*" its dual.

        Raises:
            ArgumentError: when the name is none of these, or q is not a power of two.
            CapacityError: when the geometry is too large.

        Example:
            >>> code = TannerCode.geometry("EG(2,4)")
            >>> code.K, code.M, set(code.variable_degrees), code.rank
            (15, 15, {4}, 8)
        """
        from lp_gadgets.families import geometry

        K, lines, symmetry = geometry(name)
        return cls(K, lines, f"geometry:{name.replace(' ', '')}", symmetry)

    @classmethod
    def from_text(
        cls,
        text: str,
        seed: int | None = None,
        best_of: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> TannerCode:
        """Return the graph that a short text names: its kind, K and, after colons, dv, dc, seed or best_of.

        Args:
            text: the text.
            seed, best_of: by default those of the text, else 0 and 1.
            progress: told the fraction of the graphs that have been examined.

        Raises:
            ArgumentError: when the text names no graph, or an argument contradicts it.

        Example:
            >>> TannerCode.from_text("qc:64").name
            'qc:64:dv=4:dc=8:seed=0'
            >>> TannerCode.from_text("peg:24:dv=3:dc=6").K, TannerCode.from_text("geometry:Fano").K
            (24, 7)
        """
        makers = {"qc": cls.quasi_cyclic, "peg": cls.peg, "biregular": cls.biregular}
        requirement = "like qc:64, peg:64, biregular:64:dv=4:dc=8:seed=1 or geometry:EG(2,4)"
        kind, _, rest = str(text).strip().partition(":")
        if kind == "geometry" and rest:
            return cls.geometry(rest)
        size, *extras = rest.split(":")
        options: dict[str, Any] = {}
        try:
            pairs = [(key, int(value)) for key, value in (extra.split("=") for extra in extras)]
            options = dict(pairs) | {"K": int(size)}
            if len(options) <= len(pairs):
                options = {}
        except ValueError:
            options = {}
        if kind not in makers or not options or set(options) - {"K", "dv", "dc", "seed", "best_of"}:
            raise ArgumentError("code", requirement, describe(text))
        for name, value in (("seed", seed), ("best_of", best_of)):
            if value is not None and options.setdefault(name, value) != value:
                got, mend = f"{describe(value)} besides {describe(text)}", "Give it once."
                raise ArgumentError(name, f"{options[name]}, as in the text of the graph", got, mend)
        return makers[kind](**options, progress=progress)

    @staticmethod
    def is_recipe(name: str) -> bool:
        """Return whether a name says how its graph is made again by :meth:`from_text`.

        Example:
            >>> TannerCode.is_recipe("qc:64:dv=4:dc=8:seed=0"), TannerCode.is_recipe("my code")
            (True, False)
        """
        return name.partition(":")[0].strip() in ("qc", "peg", "biregular", "geometry")

    # ---------------------------------------------------------------- questions

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

    @cached_property
    def girth(self) -> int | None:
        """Length of a shortest cycle, None in a forest."""
        from lp_gadgets.constructions import girth

        return girth(self)

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
        """Return whether no check meets the set exactly once; the empty set is one.

        Example:
            >>> TannerCode(3, ((0, 1), (1, 2))).is_stopping_set([0, 1])
            False
        """
        from lp_gadgets.peeling import check_variables

        chosen = check_variables(self, "variables", variables)
        return all(len(chosen.intersection(check)) != 1 for check in self.checks)

    def stopping_distance(
        self, time_limit: float | None = None, progress: Callable[[float], None] | None = None
    ) -> StoppingDistance:
        """Return the least size of a non-empty stopping set, exactly, with a proof.

        See :func:`lp_gadgets.stopping.stopping_distance`.

        Example:
            >>> TannerCode.geometry("EG(2,4)").stopping_distance().value
            5
        """
        from lp_gadgets.stopping import stopping_distance

        return stopping_distance(self, time_limit=time_limit, progress=progress)

    def peel(self, erased: Iterable[int]) -> Peeling:
        """Return how far an erased set is recovered, check by check; see :func:`lp_gadgets.peeling.peel`."""
        from lp_gadgets.peeling import peel

        return peel(self, erased)

    def over(self, q: int, prefer: Iterable[int] = ()) -> FieldCode:
        """Return the code over F_q that the checks define; see :class:`lp_gadgets.code.FieldCode`."""
        from lp_gadgets.code import FieldCode

        return FieldCode(self, q, prefer)

    def relabel(self, order: Iterable[int]) -> TannerCode:
        """Return the same graph with variable order[i] renamed to i; the checks keep their places.

        Raises:
            ArgumentError: when the order is not a permutation of the variables.

        Example:
            >>> TannerCode(3, ((0, 1), (1, 2))).relabel([2, 0, 1]).checks
            ((1, 2), (0, 2))
        """
        sequence = [int(v) for v in order]
        if sorted(sequence) != list(range(self.K)):
            raise ArgumentError("order", f"a permutation of 0..{self.K - 1}", "another sequence")
        new = {v: i for i, v in enumerate(sequence)}
        checks = tuple(tuple(new[v] for v in check) for check in self.checks)
        symmetry = tuple(tuple(new[p[v]] for v in sequence) for p in self.symmetry)
        return TannerCode(self.K, checks, f"{self.name} relabelled".strip(), symmetry)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as JSON values.

        Example:
            >>> code = TannerCode.geometry("Fano")
            >>> TannerCode.from_dict(code.to_dict()) == code
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
    def from_dict(cls, data: dict[str, Any]) -> TannerCode:
        """Return the graph of :meth:`to_dict`.

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


def _name(kind: str, *numbers: int) -> str:
    """Return the text that makes the graph again, see :meth:`TannerCode.from_text`."""
    return "{}:{}:dv={}:dc={}:seed={}".format(kind, *numbers)


def _check_degrees(K: object, dv: object, dc: object, blocks: bool = False) -> None:
    """Refuse sizes for which no such graph exists, naming the nearest that work.

    Args:
        K, dv, dc: sizes.
        blocks: whether K has to be a multiple of dc.
    """
    size, a, b = (
        check_integer("K", K, 1, MAX_VARIABLES),
        check_integer("dv", dv, 1),
        check_integer("dc", dc, 1),
    )
    step = b if blocks else b // math.gcd(a, b)
    least = next(s for s in itertools.count(step, step) if s >= b and s * a // b >= a)
    if size % step or size < least:
        near = sorted({max(size - size % step, least), max(size - size % step + step, least)})
        near = [s for s in near if s <= MAX_VARIABLES] or [least]
        mend = f"The nearest is {near[0]}." if len(near) == 1 else f"The nearest are {near[0]} and {near[1]}."
        what = f"a multiple of {step}" if step > 1 else "an integer"
        why = f"dc = {b}" if blocks else f"dv = {a} and dc = {b}"
        raise ArgumentError("K", f"{what}, at least {least}, for {why}", size, mend)
    if size * a > MAX_EDGES:
        raise CapacityError("K", f"small enough for {MAX_EDGES} edges", size)


def _best(
    make: Callable[[int], TannerCode], K: object, seed: object, best_of: object, progress: Progress
) -> TannerCode:
    """Return the graph of the best seed, and warn of twins."""
    first, number = check_integer("seed", seed, 0), check_integer("best_of", best_of, 1)
    if number == 1:
        code = make(first)
    else:
        most = max(1, MAX_EXAMINED // check_integer("K", K, 1))
        if number > most:
            what = f"at most {most} for graphs of this size"
            raise CapacityError("best_of", what, number, "Each graph is searched for small stopping sets.")
        from lp_gadgets.stopping import select

        code = select(_told(make, first, number, progress))
    if (pair := code.twins()) is not None:
        warnings.warn(
            f"Variables {pair[0]} and {pair[1]} of {code.name} share all their checks, so the stopping "
            f"distance is 2 at most: {_advice(code, make, first, number)}.",
            WeakGraphWarning,
            stacklevel=3,
        )
    return code


def _advice(code: TannerCode, make: Callable[[int], TannerCode], first: int, number: int) -> str:
    """Return what helps against twins; no seed is advised that was not seen to help."""
    if code.K > SEEDS_UP_TO:
        return "try other seeds, or a larger K"
    others = range(first + number, first + number + OTHER_SEEDS)
    seed = next((s for s in others if make(s).twins() is None), None)
    if seed is None:
        return "graphs of these sizes mostly have such variables, so take a larger K or other degrees"
    return f"try seed={seed}, which has no such pair, or best_of={seed - first + 1}, which includes it"


def _told(
    make: Callable[[int], TannerCode], first: int, number: int, progress: Progress
) -> Iterator[TannerCode]:
    """Yield the graphs of several seeds, and tell how many have been used."""
    for i in range(number):
        if progress is not None:
            progress(i / number)
        yield make(first + i)
