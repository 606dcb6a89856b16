"""Hard instances for thresholds: the Greater-Than function in two blocks of equal records.

On the ranks 0..m-1 Alice holds t records of rank i labelled -1, Bob t records of rank j labelled +1, with
i, j in 1..2^l and l = floor(log2(m - 2)); n - t further records of Alice lie at rank 0, of Bob at rank m - 1.
A threshold fits all iff i < j, and every threshold gets a whole block wrong otherwise:

    opt = 0 if i < j, else t                              (paper, Theorem 3.1 and its equation (7)).

Changing a party's number replaces its t records, so both encoding diameters are t.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from geomdp.core.classifier import Threshold, integer_array
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, check_epsilon, check_fraction, check_integer, describe
from geomdp.core.sample import MAX_RECORDS, Sample

#: Largest number of ranks: more digits than that cannot be shown in a message.
MAX_RANKS = 2**4096
#: Largest constant of an information bound that is taken.
MAX_CONSTANT = 10**9


@dataclass(frozen=True)
class ThresholdInstance:
    """The two encoders on an ordered domain.

    Attributes:
        m: number of ranks, 3..2^4096.
        n: records of either party.
        t: copies of the rank that is encoded, 1 <= t <= n.

    Raises:
        ArgumentError: unless 3 <= m <= 2^4096 and 1 <= t <= n are integers.

    Example:
        >>> from geomdp import opt_threshold
        >>> inst = ThresholdInstance(m=2**64, n=100, t=7)
        >>> [opt_threshold(*inst.encode(i, j)).upper for i, j in ((5, 6), (6, 6), (2**40, 3))]
        [0, 7, 7]
        >>> [inst.opt(i, j) for i, j in ((5, 6), (6, 6), (2**40, 3))]
        [0, 7, 7]
    """

    m: int
    n: int
    t: int

    def __post_init__(self) -> None:
        if check_integer("m", self.m, 3) > MAX_RANKS:
            raise ArgumentError("m", "an integer >= 3 and <= 2^4096", "a larger one")
        for name, value in (
            ("m", int(self.m)),
            ("n", check_integer("n", self.n, 1, MAX_RECORDS)),
            ("t", check_integer("t", self.t, 1)),
        ):
            object.__setattr__(self, name, value)
        if self.t > self.n:
            mend = "A gap cannot exceed the sample."
            raise ArgumentError("t", f"at most n = {self.n}", describe(self.t), mend)

    @property
    def bits(self) -> int:
        """The number l of bits of a rank."""
        return (self.m - 2).bit_length() - 1

    @property
    def domain(self) -> Domain:
        """The ordered domain."""
        return Domain.line(self.m)

    @property
    def diameters(self) -> tuple[int, int]:
        """Records that a change of one party's number replaces at most: Alice's, Bob's."""
        return (0, 0) if self.bits == 0 else (self.t, self.t)

    def encode(self, i: int, j: int) -> tuple[Sample, Sample]:
        """Return the two samples of n records.

        Args:
            i, j: the ranks encoded, 1..2^l.

        Raises:
            ArgumentError: when a rank is out of range.
        """
        i, j = self._check("i", i), self._check("j", j)
        rest = self.n - self.t
        return (
            self._sample([(0, rest), (i, self.t)], positive=False),
            self._sample([(j, self.t), (self.m - 1, rest)], positive=True),
        )

    def _sample(self, blocks: list[tuple[int, int]], positive: bool) -> Sample:
        """Return the sample of some ranks, in increasing order, with the number of records at each."""
        held = [(rank, count) for rank, count in blocks if count]
        cells = integer_array("cells", [rank for rank, _ in held], 1)
        counts = np.array([count for _, count in held], dtype=np.int64)
        none = np.zeros_like(counts)
        return Sample(self.domain, cells, *((counts, none) if positive else (none, counts)))

    def opt(self, i: int, j: int) -> int:
        """Return the least number of mistakes of a threshold on the samples of i and j, by the formula."""
        return 0 if self._check("i", i) < self._check("j", j) else self.t

    def classifier(self, i: int, j: int) -> Threshold:
        """Return a threshold that makes ``opt(i, j)`` mistakes on the samples of i and j.

        Example:
            >>> inst = ThresholdInstance(16, 10, 4)
            >>> sum(inst.classifier(3, 2).mistakes(S) for S in inst.encode(3, 2))
            4
        """
        return Threshold(self._check("i", i) + 1)

    def information(self, epsilon: object) -> float:
        """Return the bits that an epsilon-DP transcript reveals at most (paper, Lemma 2.2).

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.
        """
        return float(check_epsilon(epsilon)) * sum(self.diameters) / log(2)

    def _check(self, name: str, rank: object) -> int:
        return check_integer(name, rank, 1, 2**self.bits)


def check_constant(c_I: object) -> Fraction:
    """Return the constant of an information bound, exactly.

    Raises:
        ArgumentError: unless it is a number with 0 < c_I <= 10^9.

    Example:
        >>> check_constant(0.5)
        Fraction(1, 2)
    """
    constant = check_fraction("c_I", c_I)
    if not 0 < constant <= MAX_CONSTANT:
        raise ArgumentError("c_I", "a number with 0 < c_I <= 10^9", describe(c_I))
    return constant


def threshold_bound(m: int, epsilon: object, c_I: object = 1) -> float:
    """Return the t that every private threshold tester on m ranks must exceed or equal.

    A protocol for Greater-Than on l bits reveals at least c_I log2 l bits, an epsilon-DP one on these
    instances at most 2 epsilon t / ln 2: hence t >= c_I ln 2 log2(l) / (2 epsilon).

    Args:
        m: number of ranks, 3..2^4096.
        epsilon: the privacy budget.
        c_I: the constant of the information bound, which is not known explicitly.

    Returns:
        The bound t, a float; it holds for the unknown constant in place of c_I.

    Raises:
        ArgumentError: unless ``m`` is an integer in 3..2^4096, ``epsilon`` a number with 10^-6 <= epsilon <=
            100 and ``c_I`` one with 0 < c_I <= 10^9.

    Example:
        >>> round(threshold_bound(2**64, 0.1), 2)
        20.72
    """
    bits = ThresholdInstance(m, 1, 1).bits
    log_bits = log(bits, 2) if bits > 1 else 0.0
    return float(check_constant(c_I)) * log(2) * log_bits / (2 * float(check_epsilon(epsilon)))
