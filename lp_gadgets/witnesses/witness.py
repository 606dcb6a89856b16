"""Explicit points of a program: what proves that a program is feasible, or an optimum is no larger.

* The integral point of two words: all symbols at their vertices, all bits true. It satisfies every row of
  words that are codewords, except that p_k = F(u, v) may violate ``out.top``: p_k <= 0.
* The half point of a stopping set T, a word to relax and an element beta: on T the symbols of that word are
  half way between e(c_i) and e(c_i + beta). The uniform mixture over the even subsets X of a check's part of
  T of the words c + beta X has these marginals, so every check holds; a trace bit is 1/2 where
  Tr(beta c'_i) = 1 for the other word c'. Two such bits suffice to lead the parities to p_k = 0.
* A guided point: what a solver suggested, rounded, see :mod:`lp_gadgets.witnesses.search`.
* The shifted point, when T is the support of a binary codeword: the integral point of c + beta T.

Points are integers over one positive denominator; whoever needs them recounts all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_choice, check_integer
from lp_gadgets.field import trace_table
from lp_gadgets.graphs.graph import check_variables
from lp_gadgets.program import WORDS, Program, checks_of

KINDS = ("integral", "half", "shifted", "guided")
Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
#: Images of a stopping set under the named symmetries that are looked at.
MAX_IMAGES = 4096


@dataclass(frozen=True)
class Witness:
    """A point of the program's space, and how it was made.

    Attributes:
        kind: one of :data:`KINDS`.
        numerators: integers, one a variable.
        denominator: a positive integer.
        word: the word that is relaxed, "A" or "B"; empty for an integral or guided point.
        erased: the stopping set T, empty for an integral or guided point.
        beta: the element added on T, 0 for an integral or guided point.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=100, L=2)
        >>> point = inst.witness([1, 0, 1], [1, 1, 0])
        >>> a, _ = inst.codewords([1, 0, 1], [1, 1, 0])
        >>> point.violated(inst.program), len(point.wrong_pins(inst.program, "A", a)) == inst.D
        ([], True)

    Source: classifiers of the records are points of the program by Lemma B.5 of the paper.
    """

    kind: str
    numerators: tuple[int, ...] = field(repr=False)
    denominator: int
    word: str = ""
    erased: tuple[int, ...] = ()
    beta: int = 0

    def violated(self, program: Program) -> list[str]:
        """Return the names of a program's public rows that the point violates, decided in integers."""
        slacks = program.public.slacks(self.array, self.denominator)
        return [program.public.names[i] for i in np.flatnonzero(slacks < 0)]

    def wrong_pins(self, program: Program, word: str, labels: NDArray[np.int64]) -> list[int]:
        """Return the positions of a word ("A" or "B") at which the point violates the pin of a program.

        `labels` are the word's K labels, one a position.
        """
        pins = program.pins.select(program.pin_rows(word, labels))
        return [int(i) for i in np.flatnonzero(pins.slacks(self.array, self.denominator) < 0)]

    @property
    def array(self) -> NDArray[Any]:
        """The numerators as an array."""
        return np.array(self.numerators, dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return the witness as JSON values."""
        return {
            "kind": self.kind,
            "numerators": list(self.numerators),
            "denominator": self.denominator,
            "word": self.word,
            "erased": list(self.erased),
            "beta": self.beta,
        }


def integral_witness(program: Program, a: NDArray[np.int64], b: NDArray[np.int64]) -> Witness:
    """Return the integral point of two codewords, K labels each.

    Example:
        >>> from lp_gadgets.program import Recipe
        >>> from lp_gadgets.tanner import TannerCode
        >>> program = Program(TannerCode.geometry("Fano").over(2), Recipe.of(2))
        >>> c = program.code.encode([1, 1, 0])
        >>> other = program.code.encode([1, 0, 0])
        >>> [integral_witness(program, c, b).violated(program) for b in (c, other)]
        [[], ['out.top']]
    """
    values = _Values(program, a, b)
    traces = values.traces()
    parities = np.concatenate([[0], np.bitwise_xor.accumulate(traces)])
    x = program.point(values.labels(), values.bits(traces, parities))
    return Witness("integral", tuple(x.tolist()), 1)


def half_witness(
    program: Program,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    erased: Iterable[int],
    *,
    word: str = "A",
    beta: int = 1,
) -> Witness:
    """Return the half point of a stopping set.

    With fewer than two trace bits at 1/2 it violates ``out.top``, as the point stays at p_k = F or 1/2.

    Args:
        program: the program.
        a, b: two codewords, K labels each.
        erased: a non-empty stopping set.
        word: which word is relaxed there, "A" or "B".
        beta: an element other than 0.

    Raises:
        ArgumentError: when the set is not a stopping set, or beta no element other than 0.
    """
    T = _check_set(program, erased)
    values, moved = _Values(program, a, b), _Values(program, *_moved(program, (a, b), T, word, beta))
    labels, others = values.labels(), moved.labels()
    for symbol, inside, outside in values.partial_sums(word, set(T)):
        labels[symbol] = inside
        others[symbol] = inside ^ beta if outside else inside
    traces, flipped = values.traces(), moved.traces()
    first = program.point(labels, values.bits(traces, _parities(traces, flipped, 0)))
    second = program.point(others, values.bits(flipped, _parities(traces, flipped, 1)))
    return Witness("half", tuple((first + second).tolist()), 2, word, tuple(T), int(beta))


def shifted_witness(
    program: Program,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    erased: Iterable[int],
    *,
    word: str = "A",
    beta: int = 1,
) -> Witness:
    """Return the integral point at which one word is moved by beta on the support of a binary codeword.

    Raises:
        ArgumentError: when some check meets the set an odd number of times.
    """
    T = _check_set(program, erased)
    if any(len(set(T).intersection(check)) % 2 for check in program.code.graph.checks):
        raise ArgumentError("erased", "the support of a binary codeword", "another set")
    made = integral_witness(program, *_moved(program, (a, b), T, word, beta))
    return Witness("shifted", made.numerators, 1, word, tuple(T), int(beta))


def best_witness(
    program: Program, a: NDArray[np.int64], b: NDArray[np.int64], sets: Iterable[Iterable[int]]
) -> Witness | None:
    """Return the first point with p_k = 0 that relaxes one word on one of some stopping sets, or None.

    Tried are the sets in their order, then their images under the symmetries; either word; every beta. A set
    serves when at least two trace bits become 1/2, or an odd number of bits flips on a codeword's support.

    Args:
        program: the program.
        a, b: two codewords with F = 1.
        sets: stopping sets, best first.
    """
    positions = np.array(program.code.message_positions)
    table = trace_table(program.code.q)
    checks = [set(check) for check in program.code.graph.checks]
    for T in images(program, sets):
        inside = positions[np.isin(positions, list(T))]
        even = all(len(check.intersection(T)) % 2 == 0 for check in checks)
        for word, other in (("A", b), ("B", a)):
            for beta in range(1, program.code.q):
                active = int(table[beta, other[inside]].sum())
                if active >= 2:
                    return half_witness(program, a, b, T, word=word, beta=beta)
                if active % 2 and even:
                    return shifted_witness(program, a, b, T, word=word, beta=beta)
    return None


def images(program: Program, sets: Iterable[Iterable[int]]) -> Iterator[tuple[int, ...]]:
    """Yield sets of variables, then their images under the graph's named symmetries, each once."""
    queue = [tuple(sorted(s)) for s in sets]
    seen = set(queue)
    while queue and len(seen) <= MAX_IMAGES:
        T = queue.pop(0)
        yield T
        for p in program.code.graph.symmetry:
            moved = tuple(sorted(p[v] for v in T))
            if moved not in seen:
                seen.add(moved)
                queue.append(moved)


def _check_set(program: Program, erased: Iterable[int]) -> list[int]:
    T = sorted(check_variables(program.code.graph, "erased", erased))
    if not T or not program.code.graph.is_stopping_set(T):
        raise ArgumentError("erased", "a non-empty stopping set", "another set of variables")
    return T


def _moved(program: Program, pair: Pair, T: list[int], word: str, beta: int) -> Pair:
    """Return the two words with beta added to one of them on T.

    Raises:
        ArgumentError: when the word is neither "A" nor "B", or beta no element other than 0.
    """
    check_choice("word", word, WORDS)
    mask = np.zeros(program.code.graph.K, dtype=np.int64)
    mask[T] = check_integer("beta", beta, 1, program.code.q - 1)
    a, b = pair
    return (a ^ mask, b) if word == "A" else (a, b ^ mask)


def _parities(traces: NDArray[np.int64], flipped: NDArray[np.int64], half: int) -> NDArray[np.int64]:
    """Return one of the two bit strings whose mean is the parities of the half point.

    Before the first bit at 1/2 the parities are the true ones; up to the last such bit they are 0 in one
    string and 1 in the other; after it they lead to p_k = 0.
    """
    k = len(traces)
    true = np.concatenate([[0], np.bitwise_xor.accumulate(traces)])
    active = np.flatnonzero(traces != flipped)
    if len(active) < 2:
        if len(active):
            true[active[0] + 1 :] = half
        return true
    first, last = int(active[0]), int(active[-1])
    result = true.copy()
    result[first + 1 : last + 1] = half
    result[last + 1 :] = true[last + 1 :] ^ true[k]
    return result


@dataclass(frozen=True)
class _Values:
    """The labels and bits of a program for two words."""

    program: Program
    a: NDArray[np.int64]
    b: NDArray[np.int64]

    def labels(self) -> dict[str, int]:
        """Return the label of every symbol; an auxiliary one has the sum of its part of the check."""
        labels = {
            f"z{word}{i}": int(x)
            for word, c in zip(WORDS, (self.a, self.b), strict=True)
            for i, x in enumerate(c)
        }
        for word in WORDS:
            for c, nodes in enumerate(self.program.trees):
                for first, second, third in nodes[:-1]:
                    names = [self.program.symbol(word, c, local) for local in (first, second, third)]
                    labels[names[2]] = labels[names[0]] ^ labels[names[1]]
        return labels

    def partial_sums(self, word: str, T: set[int]) -> Iterator[tuple[str, int, bool]]:
        """Yield for every auxiliary symbol of a word its sum, and whether T meets its part, but not all."""
        labels = self.labels()
        for c, (check, nodes) in enumerate(
            zip(checks_of(self.program.code), self.program.trees, strict=True)
        ):
            parts = {f"z{i}": {v} for i, v in enumerate(check)}
            own = T.intersection(check)
            for first, second, third in nodes[:-1]:
                parts[third] = parts[first] | parts[second]
                met = T & parts[third]
                symbol = self.program.symbol(word, c, third)
                yield symbol, labels[symbol], bool(met) and met != own

    def traces(self) -> NDArray[np.int64]:
        """Return Tr(a_i b_i) at the message positions."""
        where = list(self.program.code.message_positions)
        return np.asarray(trace_table(self.program.code.q)[self.a[where], self.b[where]])

    def bits(self, traces: NDArray[np.int64], parities: NDArray[np.int64]) -> dict[str, int]:
        """Return the bits by name."""
        bits = {f"r{i}": int(x) for i, x in enumerate(traces)}
        return bits | {f"p{i}": int(x) for i, x in enumerate(parities)}
