"""From rows to labelled records: the public domain and the two parties' encoders.

For weights (x, 1) the row a x <= b is the record (-a, b) with label +1; where it has to be strict with slack
1/N, it is (N a, -N b - 1) with label -1: that one is right iff a x - b < 1/N (paper, Lemma B.5, in integers).
The anchors -e and +e, e the last unit vector, with labels -1 and +1 make the last weight positive.

Points of the domain, in this order: the two anchors, every public row (+1), every candidate pin of Alice
(-1), every candidate pin of Bob (+1). Alice holds L copies of each of her K pins and J of the anchor -e; Bob
L of each of his K pins, J of every public row and J of the anchor +e. Copies of its anchor pad each sample to
n records; neither they nor the public rows depend on the words, so changing a word replaces at most K L
records (paper, Lemma D.3). Points are different, except that a check of one symbol is also a pin of Bob's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError, check_integer, describe
from geomdp.core.sample import MAX_RECORDS, Sample

if TYPE_CHECKING:
    from lp_gadgets.code import FieldCode
    from lp_gadgets.sparse import SparseRows

#: Largest number of copies of a public record, or of a pin.
MAX_COPIES = 2**40
#: Largest number of entries of a domain that is written out as a dense array.
MAX_ENTRIES = 2**28


@dataclass(frozen=True, eq=False)
class Records:
    """The domain of a program's records, and how often each is held.

    Attributes:
        public: the public rows.
        pins: the 2 K q candidate pins, Alice's first.
        K, q: symbols of a word, size of the alphabet.
        N: the slack is 1 / N.
        J, L: copies of every public record, and of every pin.

    Example:
        >>> from lp_gadgets.sparse import SparseRows
        >>> row = SparseRows.of(1, [([0], [2], 3)], ("row",))
        >>> pins = SparseRows.of(1, [([0], [1], 0), ([0], [-1], -1)] * 2, ("a0", "a1", "b0", "b1"))
        >>> Records(row, pins, 1, 2, 10, 5, 1).points().tolist()
        [[0, -1], [0, 1], [-2, 3], [10, -1], [-10, 9], [-1, 0], [1, -1]]
    """

    public: SparseRows
    pins: SparseRows
    K: int
    q: int
    N: int
    J: int
    L: int

    @property
    def m(self) -> int:
        """Number of domain points."""
        return 2 + len(self.public) + len(self.pins)

    @property
    def d(self) -> int:
        """Their dimension: one more than the program has variables."""
        return self.public.columns + 1

    @property
    def needed(self) -> tuple[int, int]:
        """The records that Alice's and Bob's encoders need before padding."""
        return records_needed(self.K, len(self.public), self.J, self.L)

    @cached_property
    def domain(self) -> Domain:
        """The public domain.

        Raises:
            CapacityError: when its points do not fit as a dense array.
        """
        return Domain(self.points())

    def points(self) -> NDArray[Any]:
        """Return the (m, d) integer points; Python integers where 64 bits are too few.

        Raises:
            CapacityError: when there are too many coordinates to be written out.
        """
        if self.m * self.d > MAX_ENTRIES:
            raise CapacityError(
                "instance",
                f"of at most {MAX_ENTRIES} coordinates to be written out",
                f"of {self.m} points in dimension {self.d}",
                "Use export, which keeps the non-zero ones only.",
            )
        half = len(self.pins) // 2
        top = max(self.public.largest, self.pins.largest * self.N + 1)
        X = np.zeros((self.m, self.d), dtype=np.int64 if top < 2**62 else object)
        X[0, -1], X[1, -1] = -1, 1
        first = 2 + len(self.public)
        for rows, start in ((self.public, 2), (self.pins.select(range(half, 2 * half)), first + half)):
            X[start : start + len(rows), :-1] = -rows.dense().astype(X.dtype)
            X[start : start + len(rows), -1] = rows.bound
        alice = self.pins.select(range(half))
        X[first : first + half, :-1] = self.N * alice.dense().astype(X.dtype)
        X[first : first + half, -1] = -self.N * alice.bound.astype(X.dtype) - 1
        return X

    def counts(self, word: str, labels: NDArray[np.int64], n: int | None = None) -> NDArray[np.int64]:
        """Return how many copies of every domain point a party holds.

        Args:
            word: "A" or "B".
            labels: its codeword, K labels.
            n: total number of records, or None for no padding.

        Raises:
            ArgumentError: when n is smaller than the encoders need.
        """
        counts = np.zeros(self.m, dtype=np.int64)
        first = 2 + len(self.public) + (0 if word == "A" else self.K * self.q)
        counts[first + np.arange(self.K) * self.q + labels] = self.L
        counts[0 if word == "A" else 1] = self.J
        if word == "B":
            counts[2 : 2 + len(self.public)] = self.J
        if n is not None:
            counts[0 if word == "A" else 1] += self.checked_size(n) - self.needed["AB".index(word)]
        return counts

    def checked_size(self, n: object) -> int:
        """Return a number of records that suffices for both parties.

        Raises:
            ArgumentError: when it does not, saying how many are needed.
            CapacityError: when a sample cannot hold so many.
        """
        return checked_size(n, max(self.needed))

    def sample(self, word: str, labels: NDArray[np.int64], n: int | None = None) -> Sample:
        """Return a party's records as a sample on the domain; Alice's labels are -1, Bob's +1."""
        counts = self.counts(word, labels, n)
        none = np.zeros_like(counts)
        return Sample.from_counts(self.domain, *((none, counts) if word == "A" else (counts, none)))

    def mistakes(
        self, numerators: NDArray[Any], denominator: int, held: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> int:
        """Return how many records of both parties the halfspace with weights (x, 1) gets wrong.

        Args:
            numerators: x times the denominator, integers.
            denominator: a positive integer.
            held: copies of every domain point with label -1, and with label +1.
        """
        wrong = self.wrong(numerators, denominator)
        return sum(total(copies[points]) for copies, points in zip(held, wrong, strict=True))

    def wrong(
        self, numerators: NDArray[Any], denominator: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return at which domain points the halfspace with weights (x, 1) errs on labels -1, and on +1.

        Args:
            numerators: x times the denominator, integers.
            denominator: a positive integer.

        Raises:
            ArgumentError: unless ``denominator`` is a positive integer.
        """
        if denominator < 1:
            raise ArgumentError("denominator", "a positive integer", denominator)
        half = len(self.pins) // 2
        public = self.public.slacks(numerators, denominator) >= 0
        pins = self.pins.slacks(numerators, denominator)
        strict = np.array([self.N * int(s) + denominator > 0 for s in pins[:half]], dtype=bool)
        plus = np.concatenate([[False, True], public, ~strict, pins[half:] >= 0]).astype(bool)
        return plus, ~plus


def records_needed(K: int, rows: int, J: int, L: int) -> tuple[int, int]:
    """Return the records that Alice's and Bob's encoders need before padding.

    Args:
        K: symbols of a word.
        rows: public rows.
        J, L: copies of every public record, and of every pin.

    Example:
        >>> records_needed(7, 140, J=20, L=3)
        (41, 2841)
    """
    return K * L + J, K * L + (rows + 1) * J


def checked_size(n: object, least: int) -> int:
    """Return a number of records that is at least the given one.

    Raises:
        ArgumentError: when it is no such integer, saying how many are needed.
        CapacityError: when a sample cannot hold so many.

    Example:
        >>> checked_size(50, least=41)
        50
    """
    size = check_integer("n", n, 1)
    if size < least:
        mend = f"The encoders need {least} records: lower J or L, or raise n."
        raise ArgumentError("n", f"at least {least}", describe(size), mend)
    if size > MAX_RECORDS:
        raise CapacityError("n", f"at most {MAX_RECORDS}", describe(size), "Lower J and L.")
    return size


def total(copies: NDArray[np.int64]) -> int:
    """Return the sum of numbers of copies, in Python integers: an int64 sum of many could wrap around.

    Example:
        >>> total(np.full(8, 2**62)) == 2**65
        True
    """
    return sum(copies.tolist())


def encoding_diameters(field: FieldCode, L: int) -> tuple[int, int]:
    """Return bounds lower <= Delta <= upper on the records that a change of one party's word replaces.

    Two codewords differ in at most the positions that are not zero in every word; the bound is attained if a
    word without other zeros is found, among which is that of equal labels where all checks are even.

    Args:
        field: the code.
        L: copies of a pin.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> encoding_diameters(TannerCode(3, ((0, 1), (1, 2))).over(2), L=5)
        (15, 15)
    """
    support = int(field.generator.any(axis=0).sum())
    found = int((field.encode(np.ones(field.k, dtype=np.int64)) != 0).sum())
    if all(len(check) % 2 == 0 for check in field.graph.checks):
        found = field.graph.K
    rng = np.random.default_rng(0)
    for _ in range(50):
        if found == support:
            break
        word = field.encode(rng.integers(0, field.q, field.k))
        found = max(found, int((word != 0).sum()))
    return L * found, L * support
