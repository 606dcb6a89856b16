"""Tanner graphs for users: how they are made, and what can be asked of them.

The graph itself is data (:class:`lp_gadgets.graphs.graph.TannerGraph`): its checks, a name that says how it
was made, and permutations of the variables that are known to map checks to checks. The rank, the stopping
distance and the code do not depend on the alphabet.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from geomdp.core.errors import ArgumentError, CapacityError, check_integer, describe
from lp_gadgets.code import FieldCode
from lp_gadgets.graphs.constructions import (
    circulant_array,
    configuration_model,
    girth,
    progressive_edge_growth,
    rotation,
)
from lp_gadgets.graphs.geometries import geometry
from lp_gadgets.graphs.graph import MAX_EDGES, MAX_VARIABLES, TannerGraph
from lp_gadgets.graphs.peeling import Peeling, peel
from lp_gadgets.stopping import StoppingDistance, select, stopping_distance

#: Most edges that are grown one by one.
MAX_GROWN = 2**13
#: Most variables of all the graphs together that best_of examines.
MAX_EXAMINED = 2**17

Progress = Callable[[float], None] | None

#: How many further seeds are tried for a warning, and for how many variables at most.
OTHER_SEEDS, SEEDS_UP_TO = 20, 256


class WeakGraphWarning(UserWarning):
    """The graph has two variables in the same checks, so two erasures already undo the code.

    Example:
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     code = TannerCode.biregular(K=4, dv=2, dc=4)
        >>> [warning.category.__name__ for warning in told], code.stopping_distance().value
        (['WeakGraphWarning'], 2)
    """


@dataclass(frozen=True)
class TannerCode(TannerGraph):
    """A simple bipartite graph on variables 0..K-1 and parity checks, with its makers and its algorithms.

    Attributes:
        K: number of variables (code symbols).
        checks: for each check the increasing tuple of its variables; empty and repeated checks are allowed.
        name: how the graph was made.
        symmetry: permutations p of the variables (p[i] is the image of i) that map the multiset of checks to
            itself; they are checked, need not generate all automorphisms, and speed up exhaustive searches.

    Source: the graphs of Lemma B.2 of the paper, whatever their degrees.

    Example:
        >>> triangle = TannerCode(3, ((0, 1), (1, 2), (0, 2)))
        >>> triangle.M, triangle.rank, triangle.girth, triangle.is_stopping_set([0, 1, 2])
        (3, 2, 6, True)
    """

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
        _check_degrees(K, dv, dc)
        make = _maker(cls, "biregular", configuration_model, (K, dv, dc))
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
        least degree (Hu, Eleftheriou and Arnold, 2005). K, dv, dc, seed, best_of and progress
        as for :meth:`biregular`.

        Raises:
            ArgumentError: when no such simple graph exists.
            CapacityError: when the graph has more edges than can be grown one by one.

        Example:
            >>> TannerCode.peg(K=48, dv=3, dc=6, seed=1).girth
            6
        """
        _check_degrees(K, dv, dc)
        if K * dv > MAX_GROWN:
            raise CapacityError(
                "K",
                f"small enough for {MAX_GROWN} edges",
                f"{K} with {dv} each",
                "Growing them one by one is slow: use biregular or qc.",
            )
        make = _maker(cls, "peg", progressive_edge_growth, (K, dv, dc))
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
        K, dv, dc, seed, best_of, progress and errors as for :meth:`biregular`; besides, dc must divide K.

        Example:
            >>> code = TannerCode.quasi_cyclic(K=64, seed=0)
            >>> code.M, code.symmetry[0][:8]
            (32, (1, 2, 3, 4, 5, 6, 7, 0))
        """
        _check_degrees(K, dv, dc, blocks=True)
        make = _maker(cls, "qc", circulant_array, (K, dv, dc), (rotation(K, K // dc),))
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
            seed, best_of: by default those of the text, else 0 and 1; a geometry has neither.
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
            for name, value in (("seed", seed), ("best_of", best_of)):
                if value is not None:
                    got, mend = describe(value), f"There is only one graph {describe(text)}."
                    raise ArgumentError(name, "left out for a geometry", got, mend)
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
        try:
            return makers[kind](**options, progress=progress)
        except ArgumentError as error:
            if error.name not in ("K", "dv", "dc"):
                raise
            wanted = f"a graph whose {error.name} is {error.requirement}"
            raise type(error)("code", wanted, f"{describe(text)}, with {error.got}", error.mend) from None

    @staticmethod
    def is_recipe(name: str) -> bool:
        """Return whether a name says how its graph is made again by :meth:`from_text`.

        Example:
            >>> TannerCode.is_recipe("qc:64:dv=4:dc=8:seed=0"), TannerCode.is_recipe("my code")
            (True, False)
        """
        return name.partition(":")[0].strip() in ("qc", "peg", "biregular", "geometry")

    # ---------------------------------------------------------------- questions

    @cached_property
    def girth(self) -> int | None:
        """Length of a shortest cycle, None in a forest."""
        return girth(self)

    def stopping_distance(
        self, time_limit: float | None = None, progress: Callable[[float], None] | None = None
    ) -> StoppingDistance:
        """Return the least size of a non-empty stopping set, exactly, with a proof.

        See :func:`lp_gadgets.stopping.stopping_distance`, also for `time_limit` (seconds) and `progress`.

        Example:
            >>> TannerCode.geometry("EG(2,4)").stopping_distance().value
            5
        """
        return stopping_distance(self, time_limit=time_limit, progress=progress)

    def peel(self, erased: Iterable[int]) -> Peeling:
        """Return how far an erased set is recovered, check by check.

        See :func:`lp_gadgets.graphs.peeling.peel`.
        """
        return peel(self, erased)

    def over(self, q: int, prefer: Iterable[int] = (), progress: Progress = None) -> FieldCode:
        """Return the code over F_q of the checks; see :class:`lp_gadgets.code.FieldCode`.

        Args:
            q: alphabet size, a power of two.
            prefer: variables that should carry message symbols where possible.
            progress: told the fraction of the checks that have been eliminated.
        """
        return FieldCode(self, q, prefer, progress)


def _maker(
    cls: type[TannerCode],
    kind: str,
    checks: Callable[[int, int, int, int], tuple[tuple[int, ...], ...]],
    sizes: tuple[int, int, int],
    symmetry: tuple[tuple[int, ...], ...] = (),
) -> Callable[[int], TannerCode]:
    """Return the function that makes the graph of a seed, under a name that makes it again.

    Args:
        cls: the class of the graph.
        kind: how :meth:`TannerCode.from_text` calls it.
        checks: makes the checks of K, dv, dc and a seed.
        sizes: K, dv and dc.
        symmetry: of all these graphs.
    """
    K, dv, dc = sizes
    return lambda seed: cls(K, checks(*sizes, seed), f"{kind}:{K}:dv={dv}:dc={dc}:seed={seed}", symmetry)


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
