r"""Witness blocks: a few extreme records of each party, whose order decides the threshold promise.

Ranks are lifted to 2 (rank + offset) + 1 for negatives and 2 (rank + offset) for positives: one more binary
digit, no ties between the two sides, and the order "negative < positive" is that of "some threshold separates
them". With a tolerance t0, the negatives' block holds their largest records number t0 + 1, ..., t0 + k, the
positives' block the smallest ones of those numbers. Missing records are padded: negatives below, positives
above all others, where no threshold needs to err on them.

* opt <= t0: some threshold leaves at most t0 negatives at or above it and at most t0 positives below. So
  every negative of the block lies below it and every positive at or above it: all negatives < all positives.
* opt >= 2 (k + t0) - 1: let a be the block's least negative, b its largest positive. If a < b, the threshold
  at b errs on at most k + t0 - 1 negatives and as many positives, a contradiction. So all negatives > all
  positives.

Proof note (privacy). Precondition: one record is replaced. Let T be what both samples share, padded without
end, and C its members number t0 + 1, ..., t0 + k - 1. Adding one record to T moves it into C, or above or
below C; in each case the block, members number t0 + 1, ..., t0 + k of the sum, contains C. Conclusion: the
two blocks have k - 1 members in common. They are neighbours, so what is epsilon-DP for blocks is so for
samples.

Source: witness blocks and lift, Lemma 3.5 of the paper; the trimming by t0 is ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from geomdp.core.sample import Sample


@dataclass(frozen=True)
class Block:
    """A multiset of integers 0..2^bits - 1: the leaves of a binary trie that one party occupies.

    Attributes:
        bits: depth of the trie.
        values: the distinct integers, ascending.
        below: below[i] members are less than values[i]; the last entry is the size.

    Example:
        >>> block = Block.of([5, 1, 5, 4], 3)
        >>> (block.size, block.count_below(5), block.member(2), list(block.prefixes(1)))
        (4, 2, 5, [(0, 1), (2, 3)])
    """

    bits: int
    values: tuple[int, ...]
    below: tuple[int, ...]

    @classmethod
    def of(cls, members: list[int], bits: int) -> Block:
        """Return the block of the listed members."""
        counts: dict[int, int] = {}
        for member in sorted(members):
            counts[member] = counts.get(member, 0) + 1
        return cls._of_counts(counts, bits)

    @classmethod
    def _of_counts(cls, counts: dict[int, int], bits: int) -> Block:
        return cls(bits, tuple(counts), tuple(accumulate(counts.values(), initial=0)))

    @property
    def size(self) -> int:
        """Number of members, repeated ones counted."""
        return self.below[-1]

    def count_below(self, bound: int) -> int:
        """Return the number of members < bound."""
        return self.below[bisect_left(self.values, bound)]

    def member(self, index: int) -> int:
        """Return the member of the given index, 0..size-1, in ascending order."""
        return self.values[bisect_left(self.below, index + 1) - 1]

    def prefixes(self, shift: int) -> Iterator[tuple[int, int]]:
        """Yield (prefix, members) of the occupied nodes that stand `shift` levels above the leaves."""
        start = 0
        for i, value in enumerate(self.values):
            prefix = value >> shift
            if i + 1 == len(self.values) or self.values[i + 1] >> shift != prefix:
                yield prefix, self.below[i + 1] - self.below[start]
                start = i + 1


def trie_bits(m: int, padded: bool) -> int:
    """Return b, the number of binary digits of lifted ranks: of m of them, or of m + 2 with room for padding.

    Example:
        >>> [trie_bits(2**64, False), trie_bits(2**64, True), trie_bits(1, False)]
        [65, 66, 1]
    """
    return (m + 1 if padded else m - 1).bit_length() + 1


def witness_block(sample: Sample, label: int, size: int, trim: int, padded: bool) -> Block:
    """Return the block of one label: its extreme records after the `trim` most extreme ones.

    Args:
        sample: one party's records on an ordered domain.
        label: -1 (largest records) or +1 (smallest records). Records of the other label count as padding.
        size: k >= 1, members of the block.
        trim: t0 >= 0, records that are skipped.
        padded: True to reserve one rank on either side of the domain for padding. False puts padding on the
            outermost ranks; right only where none is needed, or where a promise is broken anyhow.

    Returns:
        The block, of exactly `size` members.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> S = Sample.from_cells(Domain.line(8), [1, 3, 3, 6], [-1, -1, -1, 1])
        >>> witness_block(S, -1, 2, 1, True).values  # the records 3 and 1, as 2 (rank + 1) + 1
        (5, 9)
        >>> witness_block(S, 1, 2, 0, True).values  # the record 6 and a pad above the domain
        (14, 18)
    """
    top, offset = sample.domain.m - 1, int(padded)
    left, skip = size, trim
    found: list[tuple[int, int]] = []
    counts = sample.positives if label > 0 else sample.negatives
    order = range(len(counts)) if label > 0 else range(len(counts) - 1, -1, -1)
    for index in order:
        if not left:
            break
        count = int(counts[index])
        dropped = min(count, skip)
        taken = min(count - dropped, left)
        skip, left = skip - dropped, left - taken
        if taken:
            found.append((int(sample.cells[index]) + offset, taken))
    if left:
        pad = (top + 2 * offset) if label > 0 else 0
        if found and found[-1][0] == pad:
            found[-1] = (pad, found[-1][1] + left)
        else:
            found.append((pad, left))
    lift = int(label < 0)
    ascending = found if label > 0 else found[::-1]
    return Block._of_counts({2 * rank + lift: count for rank, count in ascending}, trie_bits(top + 1, padded))
