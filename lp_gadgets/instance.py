"""Hard instances: two datasets on a public domain whose optimum tells F(u, v)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CertificateError, check_integer, describe
from lp_gadgets.field import check_symbols
from lp_gadgets.forcing import Gadget, find_combinations, find_sharper, in_layers, key_of, proved_weights
from lp_gadgets.program import Program, Recipe, check_fits
from lp_gadgets.records import Records, encoding_diameters
from lp_gadgets.slack import slack_denominator, weight_lists
from lp_gadgets.witness import Witness, best_witness, integral_witness

if TYPE_CHECKING:
    from pathlib import Path

    from geomdp.core.domain import Domain
    from geomdp.core.sample import Sample
    from lp_gadgets.certify import Certificate
    from lp_gadgets.rigidity import Rigidity
    from lp_gadgets.stopping import StoppingDistance
    from lp_gadgets.tanner import TannerCode

Word = Sequence[int] | NDArray[np.int64]
#: Draws of a pair of words before giving up.
DRAWS = 1000
#: Pairs that are examined thoroughly when no quick witness attains the gap.
SECOND_LOOKS = 4
#: How much larger than the least stopping set others may be that are tried for a witness.
FURTHER = 2


class HardInstance:
    """A code, its program and its records: everything that is public.

    F(u, v) = 0 gives opt_H = 0, and F(u, v) = 1 gives opt_H >= min(J, L D), where D is the stopping distance
    of the graph (paper, Lemma D.3, with the exact erasure threshold of the instance in place of its
    asymptotic bound). Equality holds where some classifier attains it. That depends on the words, too: D pins
    can be dropped such that a word moves, but the move need not change F. :meth:`certify` looks for such a
    classifier; where it finds one, opt_lower == opt_upper is certified, else opt lies between the two.

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
        stopping: the stopping distance, when it is known already.
        progress: told the fraction done, in [0, 1].

    Attributes:
        code, q, J, L: as given.
        stopping: the stopping distance with its proof.
        field: the code over F_q; its message avoids no symbol of a minimum stopping set if it can.
        program: the rows.
        gadgets: for every kind of gadget why it forces.
        records: the domain points and their copies.

    Raises:
        ArgumentError: on a bad argument, or a code whose only word is zero.
        CapacityError: when the predicted size does not fit; nothing was built.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), q=2, J=20, L=3)
        >>> inst.D, inst.k, inst.domain.d, inst.F([1, 0, 1], [1, 1, 0])
        (4, 3, 36, 1)
        >>> S_A, S_B = inst.encode([1, 0, 1], [1, 1, 0])
        >>> c = inst.certify([1, 0, 1], [1, 1, 0])
        >>> c.opt_lower, c.opt_upper, c.classifier.mistakes(S_A) + c.classifier.mistakes(S_B)
        (12, 12, 12)
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
        from lp_gadgets.tanner import TannerCode

        if not isinstance(code, TannerCode):
            mend = 'Write TannerCode.geometry("Fano") or TannerCode.from_text("qc:64").'
            raise ArgumentError("code", "a TannerCode", describe(code), mend)
        recipe = Recipe.of(q, embedding, encoding)
        self.code, self.q = code, recipe.embedding.q
        self.J, self.L = check_integer("J", J, 1, 2**40), check_integer("L", L, 1, 2**40)
        report = progress or (lambda fraction: None)
        check_fits(code.over(self.q), recipe)  # before the search, which may take long
        if stopping is None:
            stopping = code.stopping_distance(time_limit, lambda part: report(0.6 * part))
        self.stopping = stopping
        self.field = code.over(self.q, stopping.witness)
        self.program = Program(self.field, recipe, lambda part: report(0.6 + 0.2 * part))
        self.gadgets = _gadgets(self.program)
        report(0.9)
        N = slack_denominator(self.k, self.D - 1, forcing_weights(self.program, self.gadgets))
        self.records = Records(self.program.public, self.program.pins, code.K, self.q, N, self.J, self.L)
        self.n = max(self.records.needed) if n is None else self.records.checked_size(n)
        report(1.0)

    def __repr__(self) -> str:
        """Show the parameters and the promised gap."""
        return (
            f"HardInstance({self.code.name or 'a Tanner graph'}, q={self.q}, J={self.J}, L={self.L}; "
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
        """Return the function that the instance computes, see :meth:`lp_gadgets.code.FieldCode.F`."""
        return self.field.F(u, v)

    def codewords(self, u: Word, v: Word) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the codewords of two messages of k labels in 0..q-1.

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

    def words(self, F: int = 1, rng: Any = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return random messages with the given value of F; with F = 1 such that the optimum is certain.

        That is: a classifier attains the lower bound :attr:`gap`. On some graphs no pair of words allows it;
        then the last pair of a thousand is returned, and its optimum may lie above the gap.

        Args:
            F: 0 or 1.
            rng: a numpy Generator or a seed.

        Raises:
            ArgumentError: when F is another value, or the seed no integer >= 0.
        """
        wanted = check_integer("F", F, 0, 1)
        draw = generator(rng)
        fallback = None
        drawn: dict[tuple[int, ...], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        for _ in range(DRAWS):
            u, v = (draw.integers(0, self.q, self.k) for _ in range(2))
            if self.F(u, v) != wanted:
                continue
            fallback = u, v
            if not wanted or self.gap >= self.J or self._attained(u, v) <= self.gap:
                return fallback
            if len(drawn) < SECOND_LOOKS:
                drawn[*u.tolist(), *v.tolist()] = fallback
        for pair in drawn.values():
            if self.L * self._dropped(self.witness(*pair), *pair) <= self.gap:
                return pair
        if fallback is None:  # pragma: no cover (half of all pairs have either value, but for one)
            raise CertificateError("Step 'words': no pair of words was found.")
        return fallback

    def _dropped(self, witness: Witness, u: Word, v: Word) -> int:
        """Return the pins that a witness gives up; all of them where it gives up a public row."""
        if witness.violated(self.program):
            return 2 * self.code.K + self.J
        pairs = zip("AB", self.codewords(u, v), strict=True)
        return sum(len(witness.wrong_pins(self.program, word, c)) for word, c in pairs)

    def _attained(self, u: Word, v: Word) -> int:
        found = best_witness(self.program, *self.codewords(u, v), [self.stopping.witness])
        return self.L * len(found.erased) if found else self.J

    def witness(self, u: Word, v: Word) -> Witness:
        """Return the best known classifier of a pair's records, as a point of the program.

        With F = 0 it makes no mistake. With F = 1 it gives up the single row ``out.top`` (J mistakes) or some
        pins (L mistakes each), whichever is less. Tried are the minimum stopping set that is known, other
        small stopping sets, and, on programs of moderate size, what a mixed-integer solver suggests; the
        mistakes of each point are recounted. The search stops at the lower bound :attr:`gap`.
        """
        a, b = self.codewords(u, v)
        best = integral_witness(self.program, a, b)
        if self.F(u, v) == 0 or self.gap >= self.J:
            return best
        held = self.records.counts("A", a, self.n), self.records.counts("B", b, self.n)
        fewest = self.J
        for made in self._candidates(a, b):
            found = made()
            if found is None:
                continue
            wrong = self.records.mistakes(found.array, found.denominator, held)
            if wrong < fewest or (wrong == fewest and best.kind == "integral"):
                best, fewest = found, wrong
            if fewest <= self.gap:
                break
        return best

    def _candidates(
        self, a: NDArray[np.int64], b: NDArray[np.int64]
    ) -> Iterator[Callable[[], Witness | None]]:
        """Yield the ways to a witness of F = 1, the cheap ones first."""
        from lp_gadgets.search import guided_witness

        yield lambda: best_witness(self.program, a, b, [self.stopping.witness])
        yield lambda: best_witness(self.program, a, b, self._small_sets)
        yield lambda: guided_witness(self, a, b)

    @cached_property
    def _small_sets(self) -> list[tuple[int, ...]]:
        """Stopping sets that are cheaper to give up than a public row, smallest first."""
        from lp_gadgets.search import stopping_sets

        return stopping_sets(self.code, min(self.code.K, self.D + FURTHER, (self.J - 1) // self.L))

    def certify(self, u: Word, v: Word, progress: Callable[[float], None] | None = None) -> Certificate:
        """Return the certificate of a pair: bounds on opt_H, and why the program is (in)feasible.

        See :func:`lp_gadgets.certify.certify`.
        """
        from lp_gadgets.certify import certify

        return certify(self, u, v, progress)

    def save(
        self, u: Word, v: Word, folder: str | Path, progress: Callable[[float], None] | None = None
    ) -> Certificate:
        """Certify a pair of words and write the instance to a folder; see :func:`lp_gadgets.folder.save`."""
        from lp_gadgets.folder import save

        return save(self, u, v, folder, progress)

    def rigidity(self, u: Word, erased: Any) -> Rigidity:
        """Return what becomes of a codeword when some of its pins are dropped.

        See :func:`lp_gadgets.rigidity.rigidity`.
        """
        from lp_gadgets.rigidity import rigidity

        return rigidity(self.program, self.field.encode(u), erased)


def generator(rng: Any) -> np.random.Generator:
    """Return a numpy Generator as it is, or the one of a seed.

    Raises:
        ArgumentError: when it is neither.

    Example:
        >>> int(generator(0).integers(10)) == int(generator(0).integers(10))
        True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        return np.random.default_rng(check_integer("rng", rng, 0))
    except ArgumentError:
        raise ArgumentError(
            "rng", "a numpy Generator or a seed >= 0", describe(rng), "Write rng=0, say."
        ) from None


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
    """Return the weights with which the checks force, see :mod:`lp_gadgets.slack`."""
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
