"""Certificates of hard instances: what is claimed of a pair of words, with every reason written out.

A certificate holds the proof of the stopping distance, the multipliers by which every kind of gadget forces,
the slack, a classifier that attains the upper bound, and, when F = 1, a Farkas vector that shows the program
infeasible. No linear program is solved, neither here nor by :mod:`lp_gadgets.verifier`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any

import numpy as np

from geomdp.core.classifier import Halfspace
from geomdp.core.errors import CertificateError
from lp_gadgets.field import check_symbols, trace_table
from lp_gadgets.gadgets.forcing import Gadget, key_of
from lp_gadgets.program import Program
from lp_gadgets.public import PublicInstance
from lp_gadgets.verifier import FORMAT, Evidence, Verdict, mistaken, verify
from lp_gadgets.witnesses.search import find_witness


@dataclass(frozen=True)
class Certificate:
    """What is certified of an instance and a pair of words.

    Attributes:
        F: the value of the function.
        erasure_threshold: D; dropping fewer than D pins is harmless.
        feasible_iff: whether the program is feasible exactly when F = 0, for every pair of codewords.
        opt_lower, opt_upper: bounds on the least number of mistakes of a halfspace on the pooled records.
        classifier: a halfspace that makes ``opt_upper`` mistakes.
        document: the certificate as JSON values.
        verdict: what the verifier found.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=100, L=2)
        >>> found = inst.certify([1, 0, 1], [1, 1, 0])
        >>> found.F, found.opt_lower, found.opt_upper, found.verify(inst) == found.verdict
        (1, 8, 8, True)

    Source: the bounds are those of Lemma D.3 of the paper, with an exact erasure threshold in place of its
    constant.
    """

    F: int
    erasure_threshold: int
    feasible_iff: bool
    opt_lower: int
    opt_upper: int
    classifier: Halfspace = field(repr=False)
    document: dict[str, Any] = field(repr=False, compare=False)
    verdict: Verdict = field(repr=False, compare=False)

    @property
    def optimal(self) -> bool:
        """Whether the two bounds agree, so that the optimum is certified; else it lies between them."""
        return self.opt_lower == self.opt_upper

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON values."""
        return self.document

    def verify(self, instance: PublicInstance) -> Verdict:
        """Return the verifier's verdict on this certificate for an instance held in memory.

        Raises:
            CertificateError: naming the step that fails.
        """
        label = {key: self.document["label"].get(key) for key in ("encoding", "trace")}
        recipe = instance.program.recipe
        if label != {"encoding": recipe.check, "trace": recipe.trace}:
            raise CertificateError("Step 'claims': the label states another encoding.")
        return verify(evidence(instance, self.document["u"], self.document["v"]), self.document)


def certify(
    instance: PublicInstance, u: Any, v: Any, progress: Callable[[float], None] | None = None
) -> Certificate:
    """Return the certificate of a pair of words, verified.

    Args:
        instance: the instance.
        u, v: k labels each.
        progress: told the fraction done, in [0, 1].

    Raises:
        ArgumentError: on a wrong length or symbol.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), q=4, J=100, L=2)
        >>> c = certify(inst, [1, 2, 3], [1, 2, 3])
        >>> c.F, c.opt_lower, c.opt_upper, c.feasible_iff
        (0, 0, 0, True)
    """
    report = progress or (lambda fraction: None)
    words = check_symbols("u", u, instance.k, instance.q), check_symbols("v", v, instance.k, instance.q)
    F = instance.F(*words)
    witness = find_witness(instance, *words)
    proof = evidence(instance, *words)
    report(0.2)
    upper = instance.records.mistakes(witness.array, witness.denominator, proof.held)
    document: dict[str, Any] = {
        "format": FORMAT,
        "label": {
            "code": instance.code.name,
            "q": instance.q,
            "J": instance.J,
            "L": instance.L,
            **instance.program.recipe.to_dict(),
        },
        "u": words[0].tolist(),
        "v": words[1].tolist(),
        "F": F,
        "erasure_threshold": instance.D,
        "feasible_iff": True,
        "opt_lower": instance.gap if F else 0,
        "opt_upper": upper,
        "stopping": instance.stopping.claims(),
        "gadgets": instance.gadgets,
        "witness": {
            "numerators": list(witness.numerators),
            "denominator": witness.denominator,
            "wrong": mistaken(proof, witness.array, witness.denominator),
        },
        "farkas": farkas_vector(instance, *words) if F else None,
    }
    verdict = verify(proof, document, lambda part: report(0.2 + 0.8 * part))
    weights = Halfspace((*witness.numerators, witness.denominator))
    return Certificate(
        F,
        verdict.erasure_threshold,
        verdict.feasible_iff,
        verdict.opt_lower,
        verdict.opt_upper,
        weights,
        document,
        verdict,
    )


def evidence(instance: PublicInstance, u: Any, v: Any) -> Evidence:
    """Return what the verifier looks at, for an instance held in memory."""
    program = instance.program
    return Evidence(
        code=instance.code,
        embedding=program.recipe.embedding,
        message=program.code.message_positions,
        layout=program.layout,
        public=program.public,
        pins=program.pins,
        N=instance.N,
        J=instance.J,
        L=instance.L,
        held=instance.held(*instance.codewords(u, v)),
    )


def farkas_vector(instance: PublicInstance, u: Any, v: Any) -> dict[str, list[list[int]]]:
    """Return multipliers of public rows and pins that add up to 0 <= -1 or less, for words with F = 1.

    Only the pins of the message, the trace and parity gadgets and the two ends take part: pins force the
    symbols, symbols the trace bits, trace bits the parities.

    Returns:
        {"public": [[row, multiplier], ...], "pins": [[row, multiplier], ...]}.

    Raises:
        ArgumentError: on a wrong length or symbol.
    """
    program = instance.program
    a, b = instance.codewords(u, v)
    positions = list(program.code.message_positions)
    traces = trace_table(instance.q)[a[positions], b[positions]]
    parities = np.concatenate([[0], np.bitwise_xor.accumulate(traces)])
    terms: list[tuple[list[int], list[int], int]] = []
    i = j = 0
    for block in program.layout.blocks:
        if block.kind == "trace":
            m = positions[i]
            terms.append(_trace_term(instance, block, int(a[m]), int(b[m])))
            i += 1
        elif block.kind == "parity":
            odd = [int(parities[j]), int(traces[j]), 1 - int(parities[j + 1])]
            terms.append(([_odd_row(program, block, odd)], [1], 1))
            j += 1
    scale = lcm(*(s for _, _, s in terms))
    ends = [block for block in program.layout.blocks if block.kind == "end"]
    public = [[end.first + 1, scale] for end in ends]
    public += [[row, y * (scale // s)] for rows, own, s in terms for row, y in zip(rows, own, strict=True)]
    pins = [[int(program.pin_rows(w, c)[m]), scale] for w, c in (("A", a), ("B", b)) for m in positions]
    return {"public": sorted(public), "pins": sorted(pins)}


def _trace_term(instance: PublicInstance, block: Any, x: int, y: int) -> tuple[list[int], list[int], int]:
    """Return the combination that forces the trace bit of two labels, in rows of the program."""
    program = instance.program
    gadget = Gadget("trace", 0, program.recipe.embedding)
    local = program.layout.local(program.public, block)
    rows, multipliers, scale = instance.gadgets[key_of(gadget, local)]["combinations"][x * instance.q + y]
    numbers = program.layout.row_numbers(block)
    return [numbers[row] for row in rows], list(multipliers), scale


def _odd_row(program: Program, block: Any, odd: Sequence[int]) -> int:
    """Return the row sum of delta_(o_i) >= 1 of a parity gadget."""
    part = program.public.select(block.rows)
    A = part.dense([c for name in block.names for c in program.layout.columns(name)])
    wanted = [2 * o - 1 for o in odd]
    hits = [i for i, row in enumerate(A.tolist()) if row == wanted and part.bound[i] == sum(odd) - 1]
    return int(block.first) + hits[0]
