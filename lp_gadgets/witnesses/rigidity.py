"""Erasure rigidity, both ways: which dropped pins leave a word forced, and why.

Drop the pins of a word on a set S. If S contains no non-empty stopping set, the check gadgets recover the
word symbol by symbol (paper, Lemma D.2, for the exact condition). If it does, the word is not forced: with T
the largest stopping set inside S, the half point of T satisfies all public rows and all other pins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CertificateError
from lp_gadgets.graphs.peeling import Peeling, peel
from lp_gadgets.witnesses.witness import Witness, half_witness

if TYPE_CHECKING:
    from lp_gadgets.program import Program


@dataclass(frozen=True)
class Rigidity:
    """What becomes of a word when some of its pins are dropped.

    Attributes:
        peeling: the recovery of the dropped positions; its residual is the largest stopping set in them.
        witness: None if the word stays forced, else another point of the program (for Bob's word zero).

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"))
        >>> T = inst.stopping.witness
        >>> inst.rigidity([1, 0, 1], T[1:]).rigid, inst.rigidity([1, 0, 1], T).rigid
        (True, False)
    """

    peeling: Peeling
    witness: Witness | None

    @property
    def rigid(self) -> bool:
        """Whether the word is still forced."""
        return self.witness is None

    def verify(self, program: Program, labels: NDArray[np.int64]) -> bool:
        """Return True if the recovery, or the other point, holds in a program for a codeword, its K labels.

        Raises:
            CertificateError: naming what fails.
        """
        self.peeling.verify(program.code.graph)
        if self.witness is None:
            if not self.peeling.harmless:
                raise CertificateError("Step 'rigidity': the recovery is not complete.")
            return True
        if self.witness.violated(program):
            raise CertificateError("Step 'rigidity': the point violates a public row.")
        wrong = self.witness.wrong_pins(program, "A", labels)
        if not wrong or not set(wrong) <= set(self.peeling.erased):
            raise CertificateError("Step 'rigidity': the point does not differ on dropped positions only.")
        return True


def rigidity(program: Program, labels: NDArray[np.int64], erased: Iterable[int]) -> Rigidity:
    """Return what becomes of Alice's codeword when the pins of some positions are dropped.

    Args:
        program: the program.
        labels: a codeword, K labels.
        erased: the positions.

    Raises:
        ArgumentError: when a position does not exist.
    """
    peeling = peel(program.code.graph, erased)
    if peeling.harmless:
        return Rigidity(peeling, None)
    zero = np.zeros_like(labels)
    return Rigidity(peeling, half_witness(program, labels, zero, peeling.residual))
