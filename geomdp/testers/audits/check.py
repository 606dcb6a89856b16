"""One named audit: what is audited, what it claims, and how the verdict is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.sample import Sample
from geomdp.privacy.audit import Audit

#: Enclosures cannot decide a claim that is met with equality: audits prove the claim plus this part of it.
SLACK = Fraction(1, 10**12)
#: A dataset: (cell, label) of every record.
Data = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Check:
    """A named exact audit of one party's whole view, against every counterpart.

    Attributes:
        name: "protocol: party", or the mechanism's name.
        about: what is enumerated, in one sentence.
        epsilon: the claim; for a planted bug, the claim of the code that the bug is in.
        audit: runs the audit, within seconds.
        tight: True if the worst log ratio must exceed half of the claim; a proof may be loose elsewhere.
        bug: what is wrong on purpose; "" for the code as it is.
    """

    name: str
    about: str
    epsilon: Fraction
    audit: Callable[[], Audit]
    tight: bool = True
    bug: str = ""

    def passes(self, audit: Audit) -> bool:
        """Return whether right code is proved private and not loosely so, or a planted bug is refuted.

        Example:
            >>> right = Audit(Fraction(2), Fraction(2), None, 1)
            >>> Check("a", "", Fraction(1), lambda: right).passes(right)
            True
            >>> Check("a", "", Fraction(1), lambda: right, bug="noise halved").passes(right)
            False
        """
        if self.bug:
            return audit.violates(self.epsilon * (1 + SLACK))
        proved = audit.holds(self.epsilon * (1 + SLACK))
        return proved and (not self.tight or audit.violates(self.epsilon / 2))


def records(domain: Domain) -> list[tuple[int, int]]:
    """Return every labelled cell of a tiny domain."""
    return [(cell, label) for cell in range(domain.m) for label in (-1, 1)]


@lru_cache(maxsize=4096)
def sample(domain: Domain, data: Data) -> Sample:
    """Return a dataset as a sample."""
    return Sample.from_cells(domain, [x for x, _ in data], [y for _, y in data])


class Still:
    """A sampler without noise that remembers the scales it was asked for."""

    simulated = True

    def __init__(self) -> None:
        self.scales: list[Fraction] = []

    def discrete_laplace(self, scale: Fraction, size: int) -> NDArray[np.int64]:
        """Return zeros."""
        self.scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    def permute_and_flip(self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction) -> int:
        """Return the first index of a largest score."""
        self.scales.append(scale)
        return int(np.argmax([int(s) for s in scores]))

    def permute_and_flip_groups(
        self, sizes: Sequence[int], scores: Sequence[int], scale: Fraction
    ) -> tuple[int, int]:
        """Return the first member of a best group."""
        self.scales.append(scale)
        occupied = [g for g, m in enumerate(sizes) if m]
        return max(occupied, key=lambda g: int(scores[g])), 0

    def uniform(self, bound: int) -> int:
        """Return 0."""
        return 0 * bound
