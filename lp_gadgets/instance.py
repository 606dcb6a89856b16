"""Hard instances: two datasets on a public domain whose optimum tells F(u, v)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CertificateError, check_integer, describe
from lp_gadgets.certify import Certificate, certify
from lp_gadgets.folder import save
from lp_gadgets.public import FURTHER, PublicInstance, Word, forcing_weights, gadget_of
from lp_gadgets.witnesses.rigidity import Rigidity, rigidity
from lp_gadgets.witnesses.search import find_witness
from lp_gadgets.witnesses.witness import Witness, best_witness

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "DRAWS",
    "FURTHER",
    "SECOND_LOOKS",
    "HardInstance",
    "Word",
    "forcing_weights",
    "gadget_of",
    "generator",
]

#: Draws of a pair of words before giving up.
DRAWS = 1000
#: Pairs that are examined thoroughly when no quick witness attains the gap.
SECOND_LOOKS = 4


class HardInstance(PublicInstance):
    """A code, its program and its records, with the search for words and the certificates.

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
        embedding, encoding, n, time_limit, stopping, progress: by keyword, see
            :class:`lp_gadgets.public.PublicInstance`, which also lists the attributes.

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

    def words(self, F: int = 1, rng: Any = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return random messages with the given value of F; with F = 1 such that the optimum is certain.

        That is: a classifier attains the lower bound :attr:`gap`. On some graphs no pair of words allows it;
        then the last pair of a thousand is returned, and its optimum may lie above the gap.

        Args:
            F: 0 or 1.
            rng: a numpy Generator or a seed.

        Raises:
            ArgumentError: when F is another value, or the seed no integer >= 0.
            CertificateError: when no pair of words with this value is found in a thousand draws.
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
        """Return the best known classifier of the records of messages u and v, as a point of the program.

        See :func:`lp_gadgets.witnesses.search.find_witness`.
        """
        return find_witness(self, u, v)

    def certify(self, u: Word, v: Word, progress: Callable[[float], None] | None = None) -> Certificate:
        """Return the certificate of messages u and v: bounds on opt_H, and why the program is (in)feasible.

        See :func:`lp_gadgets.certify.certify`; `progress` is told the fraction done.
        """
        return certify(self, u, v, progress)

    def save(
        self, u: Word, v: Word, folder: str | Path, progress: Callable[[float], None] | None = None
    ) -> Certificate:
        """Write the instance with messages u and v to a folder and return their certificate.

        See :func:`lp_gadgets.folder.save`; `progress` is told the fraction done.
        """
        return save(self, u, v, folder, progress)

    def rigidity(self, u: Word, erased: Any) -> Rigidity:
        """Return what becomes of the codeword of message u when its pins at the erased positions are dropped.

        See :func:`lp_gadgets.witnesses.rigidity.rigidity`.
        """
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
