"""What is public of a hard instance: graph, program and records, and how a word becomes a sample.

Searches, solvers, certificates and folders take this class; :class:`lp_gadgets.instance.HardInstance` is
built on top of it and calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_integer, describe
from lp_gadgets.field import check_symbols
from lp_gadgets.gadgets.forcing import (
    Gadget,
    find_combinations,
    find_sharper,
    in_layers,
    key_of,
    proved_weights,
)
from lp_gadgets.gadgets.slack import slack_denominator, weight_lists
from lp_gadgets.graphs.small_sets import stopping_sets
from lp_gadgets.program import Program, Recipe, check_fits
from lp_gadgets.records import MAX_COPIES, Records, checked_size, encoding_diameters, records_needed
from lp_gadgets.stopping import StoppingDistance
from lp_gadgets.tanner import TannerCode

if TYPE_CHECKING:
    from geomdp.core.domain import Domain
    from geomdp.core.sample import Sample

Word = Sequence[int] | NDArray[np.int64]
#: How much larger than the least stopping set others may be that are tried for a witness.
FURTHER = 2


class PublicInstance:
    """A code, its program and its records: everything that is public.

    Args:
        code: the Tanner graph.
        q: alphabet size, a power of two.
        J: copies of every public record, >= 1.
        L: copies of every pin, >= 1.
        embedding: "auto", "parabola" or "cube", see :meth:`lp_gadgets.program.Recipe.of`.
        encoding: of the checks: "auto", "facets", "tree", "implications" or "implication tree".
        n: records of either party; by default as many as the larger encoder needs.
        time_limit: seconds for the search for the stopping distance; beyond them a certified lower bound
            takes its place.
        stopping: the stopping distance of this graph, when it is known already; its proof is replayed.
        progress: told the fraction done, in [0, 1].

    Attributes:
        code, q, J, L: as given.
        stopping: the stopping distance with its proof.
        field: the code over F_q; its message avoids no symbol of a minimum stopping set if it can.
        program: the rows.
        gadgets: for every kind of gadget why it forces.
        records: the domain points and their copies.
        n: records of either party.

    Raises:
        ArgumentError: on a bad argument, such as the stopping distance of another graph, or a code whose only
            word is zero.
        CapacityError: when the predicted size does not fit; nothing was built.
        CertificateError: when a given stopping distance does not verify.

    Example:
        >>> inst = PublicInstance(TannerCode.geometry("Fano"), q=2, J=20, L=3)
        >>> inst.D, inst.k, inst.domain.d, inst.F([1, 0, 1], [1, 1, 0])
        (4, 3, 36, 1)
        >>> S_A, S_B = inst.encode([1, 0, 1], [1, 1, 0])
        >>> S_A.n == S_B.n == inst.n
        True
    """

    def __init__(
        self,
        code: TannerCode,
        q: int = 2,
        J: int = 100,
        L: int = 3,
        *,
        embedding: str = "auto",
        encoding: str = "auto",
        n: int | None = None,
        time_limit: float | None = None,
        stopping: StoppingDistance | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if not isinstance(code, TannerCode):
            mend = 'Write TannerCode.geometry("Fano") or TannerCode.from_text("qc:64").'
            raise ArgumentError("code", "a TannerCode", describe(code), mend)
        recipe = Recipe.of(q, embedding, encoding)
        self.code, self.q = code, recipe.embedding.q
        self.J, self.L = check_integer("J", J, 1, MAX_COPIES), check_integer("L", L, 1, MAX_COPIES)
        report = progress or (lambda fraction: None)
        size = check_fits(code.over(self.q), recipe)  # before the search, which may take long
        least = max(records_needed(code.K, size.rows, self.J, self.L))
        self.n = checked_size(least if n is None else n, least)
        if stopping is not None:
            _check_stopping(stopping, code)
        else:
            stopping = code.stopping_distance(time_limit, lambda part: report(0.6 * part))
        self.stopping = stopping
        self.field = code.over(self.q, stopping.witness)
        self.program = Program(self.field, recipe, lambda part: report(0.6 + 0.2 * part))
        self.gadgets = _gadgets(self.program)
        report(0.9)
        N = slack_denominator(self.k, self.D - 1, forcing_weights(self.program, self.gadgets))
        self.records = Records(self.program.public, self.program.pins, code.K, self.q, N, self.J, self.L)
        report(1.0)

    def __repr__(self) -> str:
        """Show the parameters and the promised gap."""
        graph = self.code.name or "a Tanner graph"
        return (
            f"{type(self).__name__}({graph}, q={self.q}, J={self.J}, L={self.L}; "
            f"k={self.k}, D={self.D}, {self.program.size}, n={self.n})"
        )

    @property
    def k(self) -> int:
        """Symbols of a message."""
        return self.field.k

    @property
    def D(self) -> int:  # noqa: N802 (the paper's name)
        """The certified erasure threshold: dropping fewer than D pins is harmless."""
        return self.stopping.lower

    @property
    def N(self) -> int:  # noqa: N802 (a slack is eta = 1 / N)
        """The certified slack of Alice's pins is 1 / N."""
        return self.records.N

    @property
    def gap(self) -> int:
        """The certified lower bound on opt_H when F = 1."""
        return min(self.J, self.L * self.D)

    @property
    def domain(self) -> Domain:
        """The public domain, which depends on neither word."""
        return self.records.domain

    @cached_property
    def diameters(self) -> tuple[int, int]:
        """Bounds lower <= Delta <= upper on the records that a change of one party's word replaces."""
        return encoding_diameters(self.field, self.L)

    def F(self, u: Word, v: Word) -> int:  # noqa: N802 (the paper's name)
        """Return the function of messages u and v, see :meth:`lp_gadgets.code.FieldCode.F`."""
        return self.field.F(u, v)

    def codewords(self, u: Word, v: Word) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the codewords of two messages u and v of k labels in 0..q-1.

        Raises:
            ArgumentError: when a length or a symbol is wrong.
        """
        u, v = check_symbols("u", u, self.k, self.q), check_symbols("v", v, self.k, self.q)
        return self.field.encode(u), self.field.encode(v)

    def encode(self, u: Word, v: Word, n: int | None = None) -> tuple[Sample, Sample]:
        """Return the two parties' samples on :attr:`domain`, n records each.

        Alice's depends on u alone, Bob's on v alone.

        Args:
            u, v: k labels in 0..q-1.
            n: records of either party, by default :attr:`n`.

        Raises:
            ArgumentError: on a wrong length or symbol, or an n that is too small.
        """
        a, b = self.codewords(u, v)
        size = self.n if n is None else n
        return self.records.sample("A", a, size), self.records.sample("B", b, size)

    def held(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the copies of every domain point that Alice (label -1) and Bob (+1) hold for two codewords.

        Args:
            a, b: two codewords, K labels each.
        """
        return self.records.counts("A", a, self.n), self.records.counts("B", b, self.n)

    @cached_property
    def small_sets(self) -> list[tuple[int, ...]]:
        """Stopping sets that are cheaper to give up than a public row, smallest first; not all of them."""
        return stopping_sets(self.code, min(self.code.K, self.D + FURTHER, (self.J - 1) // self.L))


def _check_stopping(stopping: object, code: TannerCode) -> None:
    """Refuse a stopping distance that is not proved for this very graph."""
    if not isinstance(stopping, StoppingDistance):
        mend = "Write stopping=code.stopping_distance(), or leave it out."
        raise ArgumentError("stopping", "a StoppingDistance", describe(stopping), mend)
    if stopping.proof.graph != code.sha256:
        raise ArgumentError("stopping", "the stopping distance of this graph", "that of another one")
    stopping.verify(code)


def _gadgets(program: Program) -> dict[str, dict[str, Any]]:
    """Return for every kind of gadget, by its digest, why it forces.

    Raises:
        CertificateError: when one does not.
    """
    found: dict[str, dict[str, Any]] = {}
    for block in program.layout.blocks:
        gadget = gadget_of(block.kind, len(block.names), program.recipe)
        if gadget is None:
            continue
        local = program.layout.local(program.public, block)
        key = key_of(gadget, local)
        if key in found:
            continue
        if in_layers(gadget, local):
            found[key] = {"kind": block.kind, "degree": gadget.degree, "factor": 1, "combinations": None}
        else:
            combinations = find_combinations(gadget, local)
            found[key] = {
                "kind": block.kind,
                "degree": gadget.degree,
                "factor": gadget.factor,
                "combinations": combinations,
                "sharper": find_sharper(gadget, local) if program.recipe.tree else [],
            }
    return found


def gadget_of(kind: str, size: int, recipe: Recipe) -> Gadget | None:
    """Return the gadget of a block, None for polytopes, ends and checks of one symbol."""
    if kind not in ("check", "trace", "parity") or (kind == "check" and size == 1):
        return None
    return Gadget(kind, size if kind == "check" else 0, recipe.embedding)


def forcing_weights(program: Program, gadgets: dict[str, dict[str, Any]]) -> set[tuple[int, ...]]:
    """Return the weights with which the checks force, see :mod:`lp_gadgets.gadgets.slack`."""
    own = {g["degree"]: g for g in gadgets.values() if g["kind"] == "check"}
    proved = {degree: proved_weights(g.get("sharper", ())) for degree, g in own.items()}
    lists: set[tuple[int, ...]] = set()
    for nodes in program.trees:
        if len(nodes[0]) == 1:
            continue
        factors = [own[len(node)]["factor"] for node in nodes]
        sharpened = [proved[len(node)] for node in nodes]
        for leaf in {name for node in nodes for name in node if name[0] == "z"}:
            lists |= weight_lists(nodes, factors, leaf, sharpened, program.code.q)
    return lists
