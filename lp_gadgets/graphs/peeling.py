"""Peeling: what a set of erased variables loses, and why.

A check that meets the erased set exactly once determines that variable from the others. Repeating this
recovers everything except the largest stopping set inside the erased set, whatever the order. For the
instances of this package the same holds of the linear program: the recovered symbols are forced, the others
are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from geomdp.core.errors import CertificateError
from lp_gadgets.graphs.graph import TannerGraph, check_variables


@dataclass(frozen=True)
class Peeling:
    """The recovery of an erased set.

    Attributes:
        erased: the erased variables, in increasing order.
        steps: (variable, check) in the order of recovery: the check meets the variables that are still
            erased in this variable only.
        residual: the variables that cannot be recovered: the largest stopping set inside the erased set.

    Source: recovery from erasures stops at a stopping set (Lemma B.2 of the paper keeps these large).

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> chain = TannerCode(3, ((0, 1), (1, 2)))
        >>> peel(chain, [0, 1]).steps, peel(chain, [0, 1, 2]).residual
        (((1, 1), (0, 0)), (0, 1, 2))
    """

    erased: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    residual: tuple[int, ...]

    @property
    def harmless(self) -> bool:
        """Whether everything is recovered."""
        return not self.residual

    def explain(self) -> str:
        """Return the recovery in words, a line per step.

        Example:
            >>> from lp_gadgets.tanner import TannerCode
            >>> print(peel(TannerCode(2, ((0, 1),)), [1]).explain())
            check 0 gives variable 1
            every erased variable is recovered
        """
        lines = [f"check {c} gives variable {v}" for v, c in self.steps]
        if self.harmless:
            lines.append("every erased variable is recovered")
        else:
            lines.append(f"no check meets {list(self.residual)} exactly once: these are lost")
        return "\n".join(lines)

    def verify(self, code: TannerGraph) -> bool:
        """Return True if every step and the residual hold for the graph `code`.

        Raises:
            CertificateError: naming the step that fails.
        """
        rest = set(self.erased)
        for number, (v, c) in enumerate(self.steps):
            if not 0 <= c < code.M or rest.intersection(code.checks[c]) != {v}:
                raise CertificateError(f"Step {number}: check {c} does not meet the erased set in {v} only.")
            rest.remove(v)
        if tuple(sorted(rest)) != self.residual or not code.is_stopping_set(rest):
            raise CertificateError("Step 'residual': it is not a stopping set, or not what is left.")
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the peeling as JSON values."""
        return {
            "erased": list(self.erased),
            "steps": [list(step) for step in self.steps],
            "residual": list(self.residual),
        }


def peel(code: TannerGraph, erased: Iterable[int]) -> Peeling:
    """Return how far a set of erased variables is recovered, check by check.

    Args:
        code: the Tanner graph.
        erased: variables; repetitions count once.

    Returns:
        The steps of the recovery and the largest stopping set inside the erased set; linear time.

    Raises:
        ArgumentError: when a variable is not in 0..K-1.

    Source: recovery from erasures stops at a stopping set (Lemma B.2 of the paper keeps these large).

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> code = TannerCode.geometry("Fano")
        >>> peel(code, [0, 1, 2]).harmless
        True
    """
    rest = check_variables(code, "erased", erased)
    everything = tuple(sorted(rest))
    met = [len(rest.intersection(check)) for check in code.checks]
    ready = [c for c in range(code.M) if met[c] == 1]
    steps = []
    while ready:
        c = ready.pop()
        if met[c] != 1:
            continue
        v = next(x for x in code.checks[c] if x in rest)
        rest.remove(v)
        steps.append((v, c))
        for e in code.neighbours[v]:
            met[e] -= 1
            if met[e] == 1:
                ready.append(e)
    return Peeling(everything, tuple(steps), tuple(sorted(rest)))
