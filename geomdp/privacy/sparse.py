r"""Sparse release of a noisy histogram over astronomically many buckets, by exactly the law of the full one.

The full release adds discrete Laplace noise to every one of R bucket counts and keeps the buckets whose noisy
count reaches a public cut-off. Almost all buckets are empty and almost none survive, so the survivors are
drawn directly: buckets of one count c below the cut-off survive independently with one probability,

    p_c = P(Z >= cutoff - c) = r^(cutoff - c) / (1 + r),   r = exp(-1/scale),

and by the memoryless tail of Z a survivor's noisy count is cutoff + G with G geometric of ratio r. The gaps
between survivors of a group are found by inversion of a uniform number whose digits are drawn until the gap
is decided; p_c enters only as an integer enclosure that is refined along with it. Time and memory grow with
the number of occupied buckets and of survivors, not with R.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from fractions import Fraction

from geomdp.core.errors import CapacityError, check_integer
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.sampler import Sampler, check_scale

#: Largest expected number of empty survivors; a release is a message, and must fit one.
MAX_SURVIVORS = 10**6
_GUARD = 64  # binary digits of the uniform number beyond those of the number of coins

#: Returns integers low <= 2^width p <= high for a probability p, for any width.
Enclosure = Callable[[int], tuple[int, int]]


def sparse_histogram(
    counts: Mapping[int, int], buckets: int, cutoff: int, scale: Fraction, sampler: Sampler
) -> dict[int, int]:
    """Return {bucket: noisy count} of all buckets, empty ones included, whose noisy count is >= cutoff.

    Proof note (privacy). Precondition: replacing one record changes the vector of all `buckets` counts by at
    most Delta in L1 norm (2 for a histogram of records). The full vector of noisy counts is then
    (Delta/scale)-DP. The returned mapping has the law of a function of that vector (drop what lies below a
    public number): independent buckets survive with the right probability, and a survivor's value has the
    right conditional law, P(c + Z = cutoff + g | c + Z >= cutoff) = (1 - r) r^g for c < cutoff; buckets of
    count c >= cutoff get their noise as it is. No step rounds. Conclusion: the release is (Delta/scale)-DP.

    Args:
        counts: bucket -> count >= 0, buckets in 0..buckets-1; buckets that are missing are empty.
        buckets: R >= 1, of any size.
        cutoff: the least noisy count that is released, >= 1.
        scale: the noise scale, a float64 as a Fraction.
        sampler: the party's source of noise.

    Returns:
        The survivors, ascending by bucket: the order says nothing about which were empty.

    Raises:
        ArgumentError: on a size, cut-off or scale outside its range.
        CapacityError: when more than 10^6 empty buckets are expected to survive (a public quantity).

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> release = sparse_histogram({7: 900, 10**14: 3}, 10**15, 400, Fraction(10), SimSampler(0))
        >>> list(release), abs(release[7] - 900) < 200
        ([7], True)
    """
    check_integer("buckets", buckets, 1)
    check_integer("cutoff", cutoff, 1)
    rate = 1 / check_scale(scale)
    expected = buckets * exp_neg(*(cutoff * rate).as_integer_ratio(), buckets.bit_length() + 8)[1]
    if expected >> (buckets.bit_length() + 8) > MAX_SURVIVORS:
        raise CapacityError(
            "cutoff",
            f"such that at most {MAX_SURVIVORS} empty buckets are expected to reach it",
            f"{cutoff} with {buckets} buckets",
            "Raise the cut-off, or use fewer buckets.",
        )
    low: dict[int, list[int]] = {}
    high: list[int] = []
    for bucket, count in counts.items():
        if count >= cutoff:
            high.append(bucket)
        elif count > 0:
            low.setdefault(count, []).append(bucket)
    noise = sampler.discrete_laplace(scale, len(high)).tolist()
    kept = {z: counts[z] + e for z, e in zip(high, noise, strict=True) if counts[z] + e >= cutoff}
    for count, members in low.items():
        for i in _survivors(len(members), cutoff - count, rate, sampler):
            kept[members[i]] = cutoff + geometric(scale, sampler)
    occupied = sorted(high + [z for members in low.values() for z in members])
    for i in _survivors(buckets - len(occupied), cutoff, rate, sampler):
        kept[_empty(occupied, i)] = cutoff + geometric(scale, sampler)
    return dict(sorted(kept.items()))


def _empty(occupied: list[int], index: int) -> int:
    """Return the index-th bucket that is not in the ascending list `occupied`: index plus those before it."""
    places = range(len(occupied))
    return index + bisect_right(places, index, key=lambda i: occupied[i] - i)


def _survivors(size: int, gap: int, rate: Fraction, sampler: Sampler) -> list[int]:
    """Return the indices below `size` whose noise reaches gap >= 1, each with probability r^gap/(1+r)."""
    found: list[int] = []
    at = 0
    while at < size:
        at += skip(lambda width: tail(gap, rate, width), size - at, sampler)
        if at < size:
            found.append(at)
        at += 1
    return found


def tail(gap: int, rate: Fraction, width: int) -> tuple[int, int]:
    """Return integers low <= 2^width r^gap/(1+r) <= high, r = exp(-rate), gap >= 1.

    Example:
        >>> low, high = tail(1, Fraction(1), 60)
        >>> low / 2**60 <= 0.2689414213699951 <= high / 2**60, high - low <= 6
        (True, True)
    """
    one = 1 << width
    low, high = exp_neg(*(gap * rate).as_integer_ratio(), width)
    r_low, r_high = exp_neg(*rate.as_integer_ratio(), width)
    return (low << width) // (one + r_high), -(-(high << width) // (one + r_low))


def skip(enclosure: Enclosure, bound: int, sampler: Sampler) -> int:
    """Return the number of tails before the first heads of `bound` coins of probability p; at most `bound`.

    With U uniform on [0, 1), the number of tails is at least j iff U < (1-p)^j. The binary digits of the
    answer are decided from the top; where the known digits of U or of p leave a comparison open, twice as
    many are used. A comparison that is open at every width has probability 0, so the law is exact.

    Args:
        enclosure: width -> integers low <= 2^width p <= high, closing in on p, 0 < p < 1.
        bound: number of coins, >= 1.
        sampler: source of uniform integers.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> skip(lambda width: (1 << width - 1, 1 << width - 1), 2**100, SimSampler(3)) < 60
        True
    """
    width = bound.bit_length() + _GUARD
    digits = sampler.uniform(1 << width)
    while (found := decided(digits, width, enclosure(width), bound)) is None:
        digits, width = digits << width | sampler.uniform(1 << width), 2 * width
    return found


def decided(digits: int, width: int, p: tuple[int, int], bound: int) -> int | None:
    """Return `skip` if it is one for all U in [digits, digits + 1) / 2^width and all enclosed p, else None.

    All integers stand for multiples of 2^-width; powers of 1-p by repeated squaring, rounded outward.

    Example:
        >>> decided(0b0100, 4, (8, 8), 9), decided(0b0111, 4, (8, 8), 9)  # p = 1/2, U in [1/4, 1/2)
        (1, 1)
    """
    one = 1 << width
    if digits + 1 <= one - bound * p[1]:  # (1-p)^bound >= 1 - bound p
        return bound
    powers = [(one - p[1], one - p[0])]
    while len(powers) < bound.bit_length():
        low, high = powers[-1]
        powers.append((low * low >> width, -(-high * high >> width)))
    low, high, count = one, one, 0
    for index in range(len(powers) - 1, -1, -1):
        next_low = low * powers[index][0] >> width
        next_high = -(-high * powers[index][1] >> width)
        if digits + 1 <= next_low:
            low, high, count = next_low, next_high, count + (1 << index)
        elif digits < next_high:
            return None
    return min(count, bound)


def geometric(scale: Fraction, sampler: Sampler) -> int:
    """Return G >= 0 with P(G = g) = (1 - r) r^g: discrete Laplace noise, redrawn until it is not negative.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> geometric(Fraction(5), SimSampler(0)) >= 0
        True
    """
    while True:
        noise = int(sampler.discrete_laplace(scale, 1)[0])
        if noise >= 0:
            return noise
