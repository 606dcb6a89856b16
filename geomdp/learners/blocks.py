"""Objectives that are constant on blocks of an ordered domain: envelopes, and exact private selection.

A domain may hold 2^5000 elements; an objective on it is a short tuple of blocks (first, last, score), so
every operation costs as much as there are blocks, whatever the domain's size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from geomdp.core.errors import ArgumentError, check_epsilon, check_integer
from geomdp.privacy.enclosure import Interval, exp_neg
from geomdp.privacy.runs import Decay, Runs
from geomdp.privacy.sampler import Sampler

_DIGITS = 64  # digits of the first attempt beyond those that the sizes need


class Block(NamedTuple):
    """The ranks first, ..., last of a domain, which share one score.

    Attributes:
        first, last: the ends, inclusive, first <= last.
        score: the common score; larger is better.
    """

    first: int
    last: int
    score: int

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.last - self.first + 1


#: A whole objective: disjoint blocks in ascending order that cover 0, ..., size - 1.
Blocks = tuple[Block, ...]


def objective(size: int, cuts: Iterable[tuple[int, int]], start: int = 0) -> Blocks:
    """Return the objective of a domain from its jumps.

    Args:
        size: number of elements of the domain, >= 1.
        cuts: pairs (rank, change): from this rank on the score is higher by `change`. Ranks at or beyond
            `size` are ignored, ranks below 0 count as 0; pairs with equal rank add up.
        start: the score before all jumps.

    Returns:
        The blocks; neighbouring blocks have unequal scores.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 1.

    Example:
        >>> objective(10, [(4, 2), (7, -1), (4, -1), (12, 5)])
        (Block(first=0, last=3, score=0), Block(first=4, last=6, score=1), Block(first=7, last=9, score=0))
    """
    check_integer("size", size, 1)
    jumps: dict[int, int] = {0: 0}
    for rank, change in cuts:
        if rank < size:
            jumps[max(rank, 0)] = jumps.get(max(rank, 0), 0) + change
    places = sorted(rank for rank, change in jumps.items() if change or rank == 0)
    scores = accumulate((jumps[rank] for rank in places), initial=start)
    next(scores)
    ends = [place - 1 for place in places[1:]] + [size - 1]
    return tuple(Block(a, b, s) for a, b, s in zip(places, ends, scores, strict=True))


def check_blocks(blocks: Sequence[Block]) -> Blocks:
    """Return the blocks as a tuple if they cover 0, ..., size - 1 in order.

    Raises:
        ArgumentError: when they do not.
    """
    expected = 0
    for block in blocks:
        if block.first != expected or block.last < block.first:
            raise ArgumentError("blocks", "disjoint, ordered and without gaps", f"a block at {block.first}")
        expected = block.last + 1
    if not expected:
        raise ArgumentError("blocks", "at least one block", "none")
    return tuple(Block(*block) for block in blocks)


def envelope(blocks: Sequence[Block]) -> Blocks:
    """Return the quasi-concave envelope: Q^(z) = max {j : z lies between elements of score >= j}.

    Q^(z) is the smaller of the best score at or left of z and the best score at or right of z.

    Sensitivity. If Q and Q' differ by at most 1 everywhere, {Q >= j} lies in {Q' >= j - 1}, and so do the
    hulls; hence Q^ and Q'^ differ by at most 1, whatever the data. Q^ is quasi-concave always, and equals Q
    wherever Q is quasi-concave.

    Example:
        >>> [b.score for b in envelope([Block(0, 1, 3), Block(2, 5, 0), Block(6, 6, 2), Block(7, 9, 1)])]
        [3, 2, 1]
    """
    blocks = check_blocks(blocks)
    scores = [block.score for block in blocks]
    left = list(accumulate(scores, max))
    right = list(accumulate(reversed(scores), max))[::-1]
    merged: list[Block] = []
    for block, a, b in zip(blocks, left, right, strict=True):
        score = min(a, b)
        if merged and merged[-1].score == score:
            merged[-1] = Block(merged[-1].first, block.last, score)
        else:
            merged.append(Block(block.first, block.last, score))
    return tuple(merged)


def exponential(blocks: Sequence[Block], epsilon: Fraction, sampler: Sampler) -> int:
    """Draw a rank from the exponential mechanism: P(z) proportional to exp(epsilon score(z) / 2), exactly.

    Privacy. Precondition: the score of every element changes by at most 1 between neighbouring datasets.
    Each weight changes by a factor of at most exp(epsilon/2), the sum of the weights likewise, so the law
    changes by a factor of at most exp(epsilon): pure epsilon-DP.

    Exactness. A block is drawn by comparing one uniform real U with the cumulative weights. U is known to
    finitely many binary digits and each weight is enclosed between integers; where the enclosures leave the
    block undecided, both get more digits, and U keeps those it has. So the law is the one with the real
    number exp(epsilon/2), no weight is dropped, and no float takes part. The rank inside the block is a
    uniform integer.

    Cost: as many products of integers as there are blocks, with about as many digits as the domain's size.

    Args:
        blocks: the objective, one block at least.
        epsilon: the privacy loss, > 0.
        sampler: the source of randomness.

    Returns:
        The rank.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Source: McSherry and Talwar, FOCS 2007; the sampling by refinement is our own.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> far = [Block(0, 2**3000, 0), Block(2**3000 + 1, 2**3000 + 1, 10**4)]
        >>> exponential(far, Fraction(1), SimSampler(0)) == 2**3000 + 1
        True
    """
    blocks = check_blocks(blocks)
    loss = check_epsilon(epsilon)
    if isinstance(sampler, Runs):  # an exhaustive audit lists the blocks with their law
        block = sampler.listed(_shares(blocks, loss, sampler.decay))
        return block.first + sampler.uniform(block.size)
    digits = max(block.size for block in blocks).bit_length() + _DIGITS
    width = digits
    u = sampler.uniform(1 << width)
    while True:
        low, high = _cumulative(blocks, loss, digits)
        chosen = holder(low, high, u, width)
        if chosen is not None:
            block = blocks[chosen]
            return block.first + sampler.uniform(block.size)
        digits *= 2
        u = u << digits - width | sampler.uniform(1 << digits - width)
        width = digits


def exponential_law(blocks: Sequence[Block], epsilon: Fraction, bits: int = 128) -> list[Interval]:
    """Return enclosures of the probability of each block under :func:`exponential`.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Example:
        >>> law = exponential_law([Block(0, 0, 0), Block(1, 1, 2)], Fraction(1))
        >>> bool(abs(float(law[1].lo / law[0].lo) - 2.718281828) < 1e-6)
        True
    """
    blocks = check_blocks(blocks)
    low, high = _weights(blocks, check_epsilon(epsilon), bits)
    total_low, total_high = sum(low), sum(high)
    return [
        Interval(Fraction(a, total_high), min(Fraction(1), Fraction(b, total_low)))
        for a, b in zip(low, high, strict=True)
    ]


def _shares(blocks: Blocks, epsilon: Fraction, decay: Decay) -> list[tuple[Block, Any]]:
    """Return each block with its probability in terms of a decay: a Fraction, or an enclosure."""
    top = max(block.score for block in blocks)
    weights: list[Any] = [decay(epsilon / 2 * (top - block.score)) * block.size for block in blocks]
    return list(zip(blocks, shares(weights), strict=True))


def shares(weights: Sequence[Any]) -> list[Any]:
    """Return weights divided by their sum: Fractions where all are exact, enclosures otherwise.

    Example:
        >>> [str(share) for share in shares([Fraction(1), Fraction(3)])]
        ['1/4', '3/4']
    """
    whole = Interval.total(list(weights))
    total: Any = whole.lo if whole.lo == whole.hi else whole
    return [weight / total for weight in weights]


def exponential_excess(size: int, epsilon: Fraction, beta: Fraction) -> int:
    """Return the least integer E with size * exp(-epsilon E / 2) <= beta, rounded up.

    Utility of :func:`exponential` on a domain of this size: the score drawn is at least max - E + 1, hence at
    least max - E, with probability >= 1 - beta: fewer than `size` elements are E or more below the best one,
    each at most exp(-epsilon E/2) as likely as it.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 1, ``epsilon`` is a number with 10^-6 <= epsilon <=
            100 and ``beta`` is a Fraction with 0 < beta < 1.

    Example:
        >>> exponential_excess(2**66, Fraction(1), Fraction(1, 20))
        98
    """
    check_integer("size", size, 1)
    loss = check_epsilon(epsilon)
    if not 0 < beta < 1:
        raise ArgumentError("beta", "a Fraction with 0 < beta < 1", repr(beta))
    nats = math.log(size) + math.log(beta.denominator) - math.log(beta.numerator)
    high = max(1, int(2 * nats / loss) + 2)  # a float only says where to look
    while not _small(size, loss, high, beta):
        high *= 2
    low = max(0, high - 4)
    while low and _small(size, loss, low, beta):
        low //= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _small(size, loss, middle, beta) else (middle, high)
    return high


def _small(size: int, epsilon: Fraction, gap: int, beta: Fraction) -> bool:
    exponent = epsilon * gap / 2
    bits = size.bit_length() + beta.denominator.bit_length() + 64
    _, high = exp_neg(exponent.numerator, exponent.denominator, bits)
    return size * high * beta.denominator <= beta.numerator << bits


def _weights(blocks: Blocks, epsilon: Fraction, digits: int) -> tuple[list[int], list[int]]:
    """Return integers low <= 2^digits size exp(-epsilon (max - score)/2) <= high for each block."""
    top = max(block.score for block in blocks)
    half = epsilon / 2
    base_low, base_high = exp_neg(half.numerator, half.denominator, digits)
    powers: dict[int, tuple[int, int]] = {}
    at, low, high = 0, 1 << digits, 1 << digits
    for gap in sorted({top - block.score for block in blocks}):
        if gap - at > 16:  # far steps afresh, near ones by multiplication: outward rounding either way
            exponent = half * gap
            low, high = exp_neg(exponent.numerator, exponent.denominator, digits)
        else:
            for _ in range(gap - at):
                low, high = low * base_low >> digits, -(-high * base_high >> digits)
        at = gap
        powers[gap] = low, high
    pairs = [(block.size, *powers[top - block.score]) for block in blocks]
    return [size * a for size, a, _ in pairs], [size * b for size, _, b in pairs]


def _cumulative(blocks: Blocks, epsilon: Fraction, digits: int) -> tuple[list[int], list[int]]:
    low, high = _weights(blocks, epsilon, digits)
    return list(accumulate(low, initial=0)), list(accumulate(high, initial=0))


def holder(low: Sequence[int], high: Sequence[int], u: int, width: int) -> int | None:
    """Return which of some shares of a total holds U, known to lie in [u, u + 1) / 2^width; None while open.

    Args:
        low, high: enclosures of the cumulative sums of the shares, from 0 to the total: one more than shares.
        u, width: the digits of U that are known.

    Example: two shares of 3 to 5 each; U = 1/2 may be in either, U = 0 is in the first.
        >>> holder([0, 3, 6], [0, 5, 10], 4, 3), holder([0, 3, 6], [0, 5, 10], 0, 3)
        (None, 0)
    """
    bottom, top = u * low[-1], (u + 1) * high[-1]
    first, last = 0, len(low) - 1  # bisect: the block is in [first, last)
    while last - first > 1:
        middle = (first + last) // 2
        if high[middle] << width <= bottom:
            first = middle
        elif top <= low[middle] << width:
            last = middle
        else:
            return None
    return first
