r"""Private common frequency (Algorithm 1): how many records two parties share in one category, at most.

Over all categories v of a universe of any size, f = max_v min(A_v, B_v) is estimated from two noisy
histograms over hashed categories. Only the buckets whose noisy count reaches a public cut-off are released,
by exactly the law of that post-processing (:mod:`geomdp.privacy.sparse`): the number of buckets can be
astronomical, and an estimate that reaches the cut-off is the one that the full histograms give.

Source: Algorithm 1 and Theorem 3.11 of the paper; the sparse release and the hash family are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.privacy.sampler import Sampler
from geomdp.privacy.sparse import sparse_histogram

#: Binary digits by which a hash value is longer than the number of buckets, before it is reduced.
SPARE = 64


@dataclass(frozen=True)
class Hash:
    """A public hash of integers below 2^bits: ((a x + c) mod 2^(bits + l - 1)) >> (bits - 1), reduced.

    The value of l = SPARE + log2(buckets) binary digits is reduced modulo `buckets`.

    Proof note (accuracy). Precondition: a and c are uniform below 2^(bits + l - 1) and independent of the
    data. The l-digit values of two distinct keys are then independent and uniform: their difference is a
    multiple 2^s o of a times an odd o, s < bits, so that (a (x - y)) fills the digits from s on uniformly,
    and c makes the other value uniform given the difference (Dietzfelbinger, Universal Hashing and k-Wise
    Independent Random Variables via Integer Arithmetic without Primes, 1996). A bucket holds at most a share
    1/R + 2^-l of the values. Conclusion: two distinct keys share a bucket with probability at most 1/R + 2^-l
    <= (1 + 2^-64)/R. Privacy needs nothing of the hash: it holds for every function of keys, whoever chose
    it.

    Attributes:
        bits: keys are integers in 0..2^bits - 1.
        buckets: R >= 1.
        multiplier, shift: a and c; both None for the identity, which needs buckets >= 2^bits.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> h = Hash.draw(1000, 10**15, SimSampler(0))
        >>> 0 <= h(2**999 + 1) < 10**15, Hash.draw(5, 32, SimSampler(0))(17)
        (True, 17)
    """

    bits: int
    buckets: int
    multiplier: int | None = None
    shift: int | None = None

    @classmethod
    def draw(cls, bits: int, buckets: int, sampler: Sampler) -> Hash:
        """Return the identity if the universe fits into the buckets, else a random hash from public coins.

        Raises:
            ArgumentError: unless ``bits`` is an integer >= 0 and ``buckets`` is an integer >= 1.
        """
        check_integer("bits", bits, 0)
        check_integer("buckets", buckets, 1)
        if bits <= buckets.bit_length() - 1:
            return cls(bits, 1 << bits)
        bound = 1 << cls(bits, buckets).width
        return cls(bits, buckets, sampler.uniform(bound), sampler.uniform(bound))

    @property
    def width(self) -> int:
        """Binary digits of the coins a and c."""
        return self.bits + SPARE + (self.buckets - 1).bit_length() - 1

    def __call__(self, key: int) -> int:
        """Return the bucket of a key."""
        if self.multiplier is None or self.shift is None:
            return key
        value = (self.multiplier * key + self.shift) & (1 << self.width) - 1
        return (value >> self.bits - 1) % self.buckets

    def histogram(self, items: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Return {bucket: count} of pairs (key, count)."""
        counts: dict[int, int] = {}
        for key, count in items:
            bucket = self(key)
            counts[bucket] = counts.get(bucket, 0) + count
        return counts


def release(
    items: Iterable[tuple[int, int]], hashed: Hash, cutoff: int, scale: Fraction, sampler: Sampler
) -> dict[int, int]:
    """Return one party's noisy bucket counts that reach the cut-off.

    Proof note (privacy). One replaced record takes 1 from one bucket and adds 1 to another, whatever the
    hash: L1 sensitivity 2. By :func:`geomdp.privacy.sparse.sparse_histogram` the release is (2/scale)-DP.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> list(release([(3, 500), (9, 2)], Hash(4, 16), 100, Fraction(2), SimSampler(1)))
        [3]
    """
    return sparse_histogram(hashed.histogram(items), hashed.buckets, cutoff, scale, sampler)


def common_frequency(first: Mapping[int, int], second: Mapping[int, int]) -> int | None:
    """Return the largest min of two noisy counts of one bucket; None if no bucket was released by both.

    With a cut-off tau in both releases this is the estimate of the full histograms if that is >= tau, and
    None otherwise.

    Example:
        >>> common_frequency({1: 90, 4: 70}, {4: 95, 7: 99}), common_frequency({1: 90}, {2: 90})
        (70, None)
    """
    return max((min(count, second[z]) for z, count in first.items() if z in second), default=None)


def bucket_count(size: int, beta: Fraction) -> int:
    """Return R = ceil(4 size^2 / beta): two of 2 size keys share a bucket with probability <= beta/2.

    Raises:
        ArgumentError: unless ``size`` is an integer >= 1.

    Example:
        >>> bucket_count(10, Fraction(1, 10))
        4000
    """
    return math.ceil(4 * check_integer("size", size, 1) ** 2 / beta)


def accuracy(cells: int, epsilon: Fraction, beta: Fraction) -> float:
    """Return (2/epsilon) log(4 cells/beta): the estimate's error exceeds it with probability <= beta.

    Theorem 3.11 of the paper with continuous noise; discrete noise of scale b exceeds z with a probability at
    most 1 + 1/(2b) times as large.

    Args:
        cells: number of buckets used.
        epsilon: privacy loss of either release.
        beta: failure probability.

    Raises:
        ArgumentError: unless cells >= 1 and 0 < beta < 1.
    """
    check_integer("cells", cells, 1)
    if not 0 < beta < 1:
        raise ArgumentError("beta", "a number with 0 < beta < 1", beta)
    return float(2 / epsilon) * (math.log(4) + math.log(cells) - math.log(beta))
