"""The verifier of hard instances: no solver, no builder, integers only.

It is handed rows, copies of records and a graph, and believes nothing about how they came about. Steps:

0. *sizes*: every number is small enough that no sum or product of 64-bit integers below can wrap around:
   entries of rows below 2^31, J and L at most 2^40, and the records of either party what a sample may hold.
1. *code*: the stopping set and the exhaustive search behind the stopping distance are replayed; the message
   positions determine a codeword.
2. *pins*: every candidate pin is the deficit of its label. The words are read off the pins that are held.
3. *layout*: every check of the graph is imposed on either word, as one gadget or a tree of gadgets whose
   leaves are the check's symbols; traces, parities and ends are where they belong; no row is left over.
4. *forcing*: every kind of gadget forces, by the multipliers of the certificate; every row holds for all
   tuples of its relation. Hence the program is feasible iff F = 0, for all pairs of codewords.
5. *slack*: 1/N is small enough for the forcing to survive, see :mod:`lp_gadgets.gadgets.slack`.
6. *records*: J copies of every public record, at least J of the anchors, L of the pins of two codewords.
7. *bounds*: with F = 1, opt >= min(J, L D): fewer mistakes leave all public records and all but D - 1
   blocks of pins right, which forces p_k = 1. The classifier's mistakes are recounted on all records.
8. *claims*: everything else that the certificate says follows from the steps before. The document is written
   again from what was found and compared, key by key and type by type; only the reasons themselves (search
   log, multipliers, the classifier's weights) are taken as they are, because they have been checked.

The name of the graph is bound where it is a recipe, see :mod:`lp_gadgets.folder`; a name of another form is a
label. The graph itself is bound by its checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.core.errors import CapacityError, CertificateError, GeomdpError, check_choice
from geomdp.core.sample import MAX_RECORDS
from lp_gadgets.field import trace_table
from lp_gadgets.gadgets.encoding import ENCODINGS
from lp_gadgets.gadgets.forcing import (
    Gadget,
    check_combinations,
    check_sharper,
    in_layers,
    key_of,
    rows_are_valid,
)
from lp_gadgets.gadgets.slack import Sharpened, slack_denominator, weight_lists
from lp_gadgets.records import MAX_COPIES, Records, encoding_diameters, total
from lp_gadgets.sparse import MAX_ENTRY
from lp_gadgets.stopping import StoppingDistance
from lp_gadgets.strict import difference, keys_of, listed, whole

if TYPE_CHECKING:
    from lp_gadgets.embedding import Embedding
    from lp_gadgets.layout import Block, Layout
    from lp_gadgets.sparse import SparseRows
    from lp_gadgets.tanner import TannerCode

FORMAT = "lp-gadgets certificate 3"
WORDS = ("A", "B")
#: The keys of a certificate, and of its label.
KEYS = ("format", "label", "u", "v", "F", "erasure_threshold", "feasible_iff", "opt_lower", "opt_upper")
REASONS = ("stopping", "gadgets", "witness", "farkas")
LABEL = ("code", "q", "J", "L", "embedding", "encoding", "trace")
#: The claims of a certificate, in the order in which they are compared.
CLAIMS = ("erasure_threshold", "F", "opt_lower", "opt_upper", "feasible_iff")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a verifier looks at.

    Attributes:
        code: the Tanner graph.
        embedding: how a symbol becomes a point.
        message: the positions of the message symbols.
        layout: the variables, and what the public rows are said to be.
        public, pins: the rows.
        N, J, L: denominator of the slack; copies of public records and of pins.
        held: (m,) copies of every domain point, Alice's (label -1) and Bob's (label +1).

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> from lp_gadgets.certify import evidence
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=20)
        >>> proof = evidence(inst, [1, 0, 1], [1, 1, 0])
        >>> [int(copies.sum()) for copies in proof.held] == [inst.n, inst.n], proof.J
        (True, 20)
    """

    code: TannerCode
    embedding: Embedding
    message: tuple[int, ...]
    layout: Layout
    public: SparseRows
    pins: SparseRows
    N: int
    J: int
    L: int
    held: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def records(self) -> Records:
        """The records of the rows."""
        return Records(self.public, self.pins, self.code.K, self.embedding.q, self.N, self.J, self.L)

    @property
    def diameters(self) -> tuple[int, int]:
        """Bounds on the records that a change of one party's word replaces."""
        return encoding_diameters(self.code.over(self.embedding.q, self.message), self.L)


@dataclass(frozen=True)
class Verdict:
    """What was found to hold.

    Attributes:
        erasure_threshold: D: dropping fewer than D pins is harmless; exact if ``threshold_exact``.
        threshold_exact: whether some D dropped pins do harm.
        feasible_iff: whether the program is feasible exactly when F = 0, for all pairs of codewords.
        F: the value for the words that are held.
        opt_lower, opt_upper: bounds on the optimum.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=100, L=2)
        >>> verdict = inst.certify([1, 0, 1], [1, 1, 0]).verdict
        >>> verdict.erasure_threshold, verdict.threshold_exact, verdict.F, verdict.opt_lower
        (4, True, 1, 8)
    """

    erasure_threshold: int
    threshold_exact: bool
    feasible_iff: bool
    F: int
    opt_lower: int
    opt_upper: int

    @property
    def optimal(self) -> bool:
        """Whether the two bounds agree, so that the optimum is certified."""
        return self.opt_lower == self.opt_upper

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        return {"valid": True, **vars(self), "optimum_exact": self.optimal}


def verify(
    evidence: Evidence, certificate: Mapping[str, Any], progress: Callable[[float], None] | None = None
) -> Verdict:
    """Return what a certificate proves about an instance.

    Args:
        evidence: the instance.
        certificate: the document of :class:`lp_gadgets.certify.Certificate`.
        progress: told the fraction done, in [0, 1].

    Returns:
        What holds: the claims of the certificate, each one derived again.

    Raises:
        CertificateError: naming the step that fails.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> from lp_gadgets.certify import evidence
        >>> inst, words = HardInstance(TannerCode.geometry("Fano"), J=20), ([1, 0, 1], [1, 1, 0])
        >>> document = inst.certify(*words).document
        >>> verify(evidence(inst, *words), document).opt_lower == document["opt_lower"]
        True
        >>> verify(evidence(inst, *words), document | {"opt_lower": 13})
        Traceback (most recent call last):
            ...
        geomdp.core.errors.CertificateError: ...
    """
    report = progress or (lambda fraction: None)
    try:
        return _Check(evidence, certificate).run(report)
    except CertificateError:
        raise
    except (
        GeomdpError,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
    ) as problem:
        raise CertificateError(f"Step 'reading': a part is missing or malformed ({problem}).") from None


class _Check:
    def __init__(self, evidence: Evidence, certificate: Mapping[str, Any]) -> None:
        self.e, self.c = evidence, certificate
        self.factors: dict[str, int] = {}
        self.gadgets: dict[str, dict[str, Any]] = {}
        self.sharpened: dict[str, Sharpened] = {}
        self.valid = True

    def run(self, report: Callable[[float], None]) -> Verdict:
        e, c = self.e, keys_of(self.c, *KEYS, *REASONS)
        self._sizes()
        stopping = StoppingDistance.from_dict(keys_of(c["stopping"], "lower", "upper", "witness", "proof"))
        keys_of(c["stopping"]["proof"], "lower", "graph", "counts", "decisions")
        stopping.verify(e.code)
        if e.code.over(e.embedding.q, e.message).message_positions != e.message or not e.message:
            raise CertificateError("Step 'code': the message positions determine no codeword, or too few.")
        report(0.5)
        self._pins()
        self._structure()
        report(0.8)
        lists = self._weights()
        N = slack_denominator(len(e.message), stopping.lower - 1, lists)
        if e.N != N:
            raise CertificateError(f"Step 'slack': 1/{e.N} is not the certified one, which is 1/{N}.")
        words = self._words()
        F = int(trace_table(e.embedding.q)[words[0][list(e.message)], words[1][list(e.message)]].sum()) & 1
        lower = min(e.J, e.L * stopping.lower) if F else 0
        upper = self._mistakes()
        if lower > upper:
            raise CertificateError(f"Step 'bounds': opt is at least {lower} and at most {upper}.")
        self._feasibility(F, words)
        report(1.0)
        verdict = Verdict(stopping.lower, stopping.exact, self.valid, F, lower, upper)
        self._claims(verdict, words, stopping)
        return verdict

    def _claims(self, verdict: Verdict, words: list[NDArray[np.int64]], stopping: StoppingDistance) -> None:
        """Compare every statement of the document with what was found."""
        e, c = self.e, self.c
        for name in CLAIMS:
            if difference(c[name], getattr(verdict, name)):
                raise CertificateError(
                    f"Step 'claims': {name} is {c[name]}, but {getattr(verdict, name)} holds."
                )
        label = {"code": e.code.name, "q": e.embedding.q, "embedding": e.embedding.kind, "J": e.J, "L": e.L}
        told = keys_of(c["label"], *LABEL)
        for name, value in label.items():
            if difference(told[name], value):
                raise CertificateError(f"Step 'claims': the label states another {name}.")
        check_choice("encoding", told["encoding"], ENCODINGS)
        check_choice("trace", told["trace"], ("facets", "implications"))
        if c["format"] != FORMAT:
            raise CertificateError(f"Step 'claims': the format is not {FORMAT!r}.")
        for name, word in zip("uv", words, strict=True):
            if listed(c[name]) != word[list(e.message)].tolist():
                raise CertificateError(f"Step 'claims': the records do not hold the word {name}.")
        found = stopping.claims()
        found["proof"] |= {"decisions": c["stopping"]["proof"]["decisions"]}  # read, and replayed
        for name, value in (("stopping", found), ("gadgets", self.gadgets), ("witness", self._told())):
            place = difference(c[name], value)
            if place:
                raise CertificateError(f"Step 'claims': {name} states another {place}.")

    # ---------------------------------------------------------------- sizes

    def _sizes(self) -> None:
        """Refuse numbers beyond the stated sizes before anything is computed with them."""
        e = self.e
        if not whole(e.J, e.L, e.N) or not (1 <= e.J <= MAX_COPIES and 1 <= e.L <= MAX_COPIES and e.N >= 1):
            raise CertificateError(
                f"Step 'sizes': J, L or N is not an integer >= 1, or J or L > {MAX_COPIES}."
            )
        for rows in (e.public, e.pins):
            if not rows.sound:
                raise CertificateError("Step 'sizes': the rows are malformed.")
            if rows.largest >= MAX_ENTRY:
                raise CertificateError(f"Step 'sizes': a coefficient or bound is not below {MAX_ENTRY}.")
        for held in e.held:
            if held.dtype != np.int64 or held.shape != (e.records.m,):
                raise CertificateError("Step 'sizes': the copies are not one integer for every domain point.")
            if int(held.min()) < 0 or total(held) > MAX_RECORDS:
                raise CertificateError(f"Step 'sizes': a party does not hold 0 to {MAX_RECORDS} records.")

    # ---------------------------------------------------------------- rows

    def _pins(self) -> None:
        e = self.e
        K, q, step = e.code.K, e.embedding.q, e.embedding.dimension
        if len(e.pins) != 2 * K * q:
            raise CertificateError("Step 'pins': their number is wrong.")
        wanted = np.tile(e.embedding.deficits, (2 * K, 1))
        columns = [e.layout.columns(f"z{word}{i}") for word in WORDS for i in range(K)]
        if any(len(own) != step for own in columns):
            raise CertificateError("Step 'pins': a symbol has the wrong number of coordinates.")
        found = np.zeros((2 * K * q, step + 1), dtype=np.int64)
        found[:, -1] = -e.pins.bound
        row = np.repeat(np.arange(len(e.pins)), np.diff(e.pins.start))
        place = {c: j for own in columns for j, c in enumerate(own)}
        owner = {c: i for i, own in enumerate(columns) for c in own}
        for r, c, a in zip(row.tolist(), e.pins.index.tolist(), e.pins.value.tolist(), strict=True):
            if owner.get(c) != r // q:
                raise CertificateError("Step 'pins': one is about another symbol.")
            found[r, place[c]] = a
        if not np.array_equal(found, wanted):
            raise CertificateError("Step 'pins': one is not the deficit of its label.")

    def _structure(self) -> None:
        """Check that the blocks are what a program consists of, and certify every gadget."""
        e = self.e
        kinds: dict[str, list[Block]] = {}
        covered = 0
        for block in e.layout.blocks:
            if block.first != covered or block.count < 0:
                raise CertificateError("Step 'layout': the blocks do not cover the rows one after another.")
            covered += block.count
            kinds.setdefault(block.kind, []).append(block)
        named = [e.layout.variables, e.public.names, e.pins.names]
        if any(len(set(own)) != len(own) for own in named) or set(e.public.names) & set(e.pins.names):
            raise CertificateError("Step 'layout': two rows or variables have the same name.")
        names = [name for name in kinds if name not in ("symbol", "check", "trace", "parity", "end")]
        if covered != len(e.public) or names or len(set(e.layout.variables)) != e.public.columns:
            raise CertificateError("Step 'layout': a row or a variable is left over.")
        k = len(e.message)
        traces = [(f"zA{m}", f"zB{m}", f"r{i}") for i, m in enumerate(e.message)]
        parities = [(f"p{i}", f"r{i}", f"p{i + 1}") for i in range(k)]
        for kind, wanted in (("trace", traces), ("parity", parities), ("end", [("p0",), (f"p{k}",)])):
            if [block.names for block in kinds.get(kind, [])] != wanted:
                raise CertificateError(f"Step 'layout': the blocks of kind {kind} are not those of the code.")
        for block in e.layout.blocks:
            self._certify(block)

    def _certify(self, block: Block) -> None:
        e = self.e
        A, b = local = e.layout.local(e.public, block)
        if block.kind == "end":
            rows = sorted(zip(A[:, 0].tolist(), b.tolist(), strict=True))
            if rows != [(-1, 0), (1, 0)]:
                raise CertificateError("Step 'layout': an end is not fixed at 0.")
        elif block.kind == "symbol":
            self.valid &= bool((b[:, None] >= products(A, e.embedding.points.T)).all())
        elif block.kind == "check" and len(block.names) == 1:
            deficit = e.embedding.deficits[0]
            own = A[len(A) - block.count :], b[len(A) - block.count :]
            if not (np.array_equal(own[0], deficit[None, :-1]) and own[1].tolist() == [-int(deficit[-1])]):
                raise CertificateError("Step 'layout': a check of one symbol does not pin it to 0.")
        else:
            degree = len(block.names) if block.kind == "check" else 0
            gadget = Gadget(block.kind, degree, e.embedding)
            if A.shape[1] != sum(gadget.widths):
                raise CertificateError("Step 'layout': a gadget has the wrong number of coordinates.")
            key = key_of(gadget, local)
            if key not in self.factors:
                self._force(gadget, local, key)

    def _force(self, gadget: Gadget, local: Any, key: str) -> None:
        """Certify one kind of gadget."""
        self.sharpened[key] = ()
        own = self.c["gadgets"][key]
        found: dict[str, Any] = {"kind": gadget.kind, "degree": gadget.degree, "factor": 1}
        try:
            if in_layers(gadget, local):
                found["combinations"] = None
            else:
                check_combinations(gadget, local, own["combinations"])
                self.sharpened[key] = check_sharper(gadget, local, own["sharper"])
                found |= {"factor": gadget.factor, "combinations": own["combinations"]}
                found["sharper"] = own["sharper"]
            self.factors[key] = found["factor"]
            self.gadgets[key] = found
            self.valid &= rows_are_valid(gadget, local)
        except CapacityError as problem:
            raise CertificateError(f"Step 'forcing': {problem}") from None

    def _weights(self) -> set[tuple[int, ...]]:
        """Return the weights of every check and target, after checking that trees are trees."""
        e = self.e
        wanted = {
            (word, tuple(f"z{word}{v}" for v in check)) for word in WORDS for check in e.code.checks if check
        }
        groups: dict[tuple[str, int] | tuple[()], list[Block]] = {}
        for block in e.layout.blocks:
            if block.kind == "check":
                groups.setdefault(block.owner, []).append(block)
        lists: set[tuple[int, ...]] = set()
        seen = set()
        auxiliary = {
            f"z{word}{v}" for word in WORDS for v in range(e.code.K)
        }  # none of these, and none twice
        for owner, blocks in groups.items():
            nodes = [block.names for block in blocks]
            leaves, inner = _leaves(nodes)
            if not owner or auxiliary & set(inner):
                raise CertificateError(
                    "Step 'layout': an auxiliary symbol is used twice, or is one of a word."
                )
            auxiliary |= set(inner)
            seen |= {
                (word, own) for word, own in wanted if word == owner[0] and sorted(own) == sorted(leaves)
            }
            if len(leaves) == 1:
                continue
            gadgets = [Gadget("check", len(block.names), e.embedding) for block in blocks]
            locals_ = [e.layout.local(e.public, block) for block in blocks]
            keys = [key_of(g, own) for g, own in zip(gadgets, locals_, strict=True)]
            factors, sharpened = [self.factors[key] for key in keys], [self.sharpened[key] for key in keys]
            for leaf in leaves:
                lists |= weight_lists(nodes, factors, leaf, sharpened, e.embedding.q)
        if seen != wanted or len(groups) != len(wanted):
            raise CertificateError(
                "Step 'layout': a check of the graph is missing, or there is one too many."
            )
        return lists

    # ---------------------------------------------------------------- records

    def _words(self) -> list[NDArray[np.int64]]:
        """Return the words whose pins are held, after checking the copies of all records."""
        e = self.e
        K, q, first = e.code.K, e.embedding.q, 2 + len(e.public)
        words = []
        for w, held in enumerate(e.held):
            if len(held) != e.records.m or int(held.min()) < 0 or int(held[w]) < e.J or int(held[1 - w]):
                raise CertificateError("Step 'records': the anchors, or the number of points, are wrong.")
            public = held[2:first]
            if (w == 0 and public.any()) or (w == 1 and (public != e.J).any()):
                raise CertificateError("Step 'records': a public record has not J copies, or Alice has one.")
            pins = held[first:].reshape(2, K, q)
            if (
                pins[1 - w].any()
                or not ((pins[w] > 0).sum(axis=1) == 1).all()
                or (pins[w].max(axis=1) != e.L).any()
            ):
                raise CertificateError("Step 'records': a symbol has not its one pin with L copies.")
            words.append(pins[w].argmax(axis=1))
        for word in words:
            if any(np.bitwise_xor.reduce(word[list(check)], initial=0) for check in e.code.checks):
                raise CertificateError("Step 'records': the pins are not those of a codeword.")
        return words

    def _mistakes(self) -> int:
        numerators, denominator = self._point()
        return self.e.records.mistakes(numerators, denominator, self.e.held)

    def _point(self) -> tuple[NDArray[Any], int]:
        witness = keys_of(self.c["witness"], "numerators", "denominator", "wrong")
        numbers, denominator = list(witness["numerators"]), witness["denominator"]
        if not whole(*numbers, denominator) or denominator < 1:
            raise CertificateError("Step 'bounds': the classifier has weights that are no integers.")
        if len(numbers) != self.e.public.columns:
            raise CertificateError("Step 'bounds': the classifier has the wrong number of weights.")
        small = max(abs(x) for x in numbers) < 2**62
        return np.array(numbers, dtype=np.int64 if small else object), denominator

    def _told(self) -> dict[str, Any]:
        """Return the classifier as the certificate must show it: with what it gets wrong."""
        x, denominator = self._point()
        numbers = [int(value) for value in x]
        return {"numerators": numbers, "denominator": denominator, "wrong": mistaken(self.e, x, denominator)}

    def _feasibility(self, F: int, words: list[NDArray[np.int64]]) -> None:
        """Check the integral witness when F = 0, the Farkas vector when F = 1."""
        e = self.e
        K, q = e.code.K, e.embedding.q
        held = np.concatenate([w * K * q + np.arange(K) * q + words[w] for w in range(2)])
        if F == 0:
            if self.c["farkas"] is not None:
                raise CertificateError("Step 'bounds': F = 0, but there is a Farkas vector.")
            x, denominator = self._point()
            pins = e.pins.select(held)
            if (e.public.slacks(x, denominator) < 0).any() or (pins.slacks(x, denominator) < 0).any():
                raise CertificateError("Step 'bounds': F = 0, but the point violates a row.")
            return
        total: dict[int, int] = {}
        bound = 0
        keys_of(self.c["farkas"], "public", "pins")
        for rows, name, allowed in ((e.public, "public", None), (e.pins, "pins", set(held.tolist()))):
            last = -1
            for row, y in self.c["farkas"][name]:
                sound = whole(row, y) and y > 0 and last < row < len(rows)
                last = row
                if not sound or (allowed and row not in allowed):
                    raise CertificateError("Step 'bounds': the Farkas vector has a wrong entry.")
                for entry in range(int(rows.start[row]), int(rows.start[row + 1])):
                    column = int(rows.index[entry])
                    total[column] = total.get(column, 0) + y * int(rows.value[entry])
                bound += y * int(rows.bound[row])
        if any(total.values()) or bound >= 0:
            raise CertificateError("Step 'bounds': the Farkas vector does not add up to a contradiction.")


def mistaken(evidence: Evidence, numerators: NDArray[Any], denominator: int) -> dict[str, list[Any]]:
    """Return what a classifier with weights (x, 1) gets wrong among the records that are held.

    Returns:
        {"rows": names of public rows, "A": positions of Alice's pins, "B": of Bob's}; the anchors are right
        for every positive denominator.
    """
    e = evidence
    K, q, first = e.code.K, e.embedding.q, 2 + len(e.public)
    wrong = [
        np.flatnonzero(held * points)
        for held, points in zip(e.held, e.records.wrong(numerators, denominator), strict=True)
    ]
    rows = [e.public.names[i - 2] for i in wrong[1].tolist() if 2 <= i < first]
    pins = [sorted((i - first) // q % K for i in own.tolist() if i >= first) for own in wrong]
    return {"rows": rows, "A": pins[0], "B": pins[1]}


def _leaves(nodes: list[tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Return the symbols that occur once and those that occur twice in a tree of gadgets.

    Raises:
        CertificateError: when the gadgets are no tree.
    """
    homes: dict[str, list[int]] = {}
    for i, node in enumerate(nodes):
        for name in node:
            homes.setdefault(name, []).append(i)
    leaves = [name for name, own in homes.items() if len(own) == 1]
    inner = [name for name, own in homes.items() if len(own) > 1]
    reached, grown = {0}, True
    while grown:
        more = {i for name in inner if reached & set(homes[name]) for i in homes[name]} - reached
        reached |= more
        grown = bool(more)
    tree = len(reached) == len(nodes) == len(inner) + 1 and all(len(homes[name]) == 2 for name in inner)
    if not tree or any(len(set(node)) < len(node) for node in nodes):
        raise CertificateError("Step 'layout': the gadgets of a check are no tree.")
    return leaves, inner
