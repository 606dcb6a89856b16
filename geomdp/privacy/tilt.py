r"""Sup-tilted integer noise: discrete Laplace values, kept only if no classifier sees much of them.

A vector z of iid discrete Laplace values of scale s is proposed and kept with probability exp(-rate * M(z));
otherwise everything is redrawn. In the plain case z is the noise of m cells and M(z) = max_h |<h, z>| over a
public set of classifiers. The noise that is kept has probability proportional to

    exp(-(|z|_1 / s + rate * M(z))),

so that fields which push some classifier far are rare, and the supremum over all classifiers, which decides
the resolution of a histogram tester, gets smaller.

Everything here is exact: the coin is decided as "M <= G" with an integer G of law P(G >= k) = exp(-rate k);
both laws are drawn by inversion from 31 (for large scales 63) random bits, against a table of integers that
enclose 2^31 P(X >= k), and where the bits do not decide (about once in 10^7 draws) more of them are drawn
and the enclosures refined. No float is formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_fraction, check_integer, describe
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.exact import BitSource
from geomdp.privacy.sampler import Sampler, check_scale

Progress = Callable[[float], None] | None
#: Fields (B, m) to one integer each, or to other fields.
Fields = NDArray[np.int64]
Table = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]
#: Longest table: a scale of about 12,000.
MAX_TABLE = 2**19
#: Scales beyond this need 64-bit words, lest many words decide nothing.
_LARGE = 200
_GUARD = 64
#: Words fetched at a time, and candidates collected before the exact supremum is asked for.
_BLOCK, _ROOM = 8192, 1024


@dataclass(frozen=True)
class Size:
    """The law of a size X >= 0 with P(X >= k) = c r^k for k >= 1, r = exp(-exponent).

    Attributes:
        exponent: -log r, a positive Fraction.
        two_sided: c = 2/(1+r), the size of a discrete Laplace variable of scale 1/exponent; else c = 1, a
            geometric variable.

    Example:
        >>> lo, hi = Size(Fraction(1)).tail(2, 40)
        >>> lo <= 2**40 * 0.1353352832366127 <= hi <= lo + 2
        True
    """

    exponent: Fraction
    two_sided: bool = False

    def tail(self, k: int, bits: int) -> tuple[int, int]:
        """Return integers lo <= 2^bits P(X >= k) <= hi."""
        if k <= 0:
            return 1 << bits, 1 << bits
        work = bits + _GUARD
        lo, hi = exp_neg(k * self.exponent.numerator, self.exponent.denominator, work)
        first, last = self._factor(work)
        return lo * first >> work + _GUARD, -(-hi * last >> work + _GUARD)

    def _factor(self, work: int) -> tuple[int, int]:
        """Return integers around 2^work c."""
        if not self.two_sided:
            return 1 << work, 1 << work
        lo, hi = exp_neg(self.exponent.numerator, self.exponent.denominator, work)
        one = 1 << work
        return (2 << 2 * work) // (one + hi), -(-(2 << 2 * work) // (one + lo))

    def decide(self, source: BitSource, prefix: int, width: int, word: int = 32) -> int:
        """Return the X of a uniform real u whose first `width` binary digits are `prefix`.

        X = number of k >= 1 with u < P(X >= k). Where the digits known do not decide the comparison, `word`
        more are drawn. A size is accepted once P(X >= k) lies above, and P(X >= k + 1) below, all reals with
        these digits.
        """
        while True:
            low, high = 0, 1
            while prefix < self.tail(high, width)[0]:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if prefix < self.tail(middle, width)[0] else (low, middle)
            if prefix >= self.tail(low + 1, width)[1]:
                return low
            prefix, width = (prefix << word) | source.bits(word), width + word

    def table(self, bits: int) -> Table:
        """Return both ends of 2^bits P(X >= k) from k = 1 on, where to start by leading bits, and a shift."""
        return _table(self, bits)


@lru_cache(maxsize=16)
def _table(law: Size, bits: int) -> Table:
    """Successive powers of r, each rounded outward at 64 spare bits: off by less than 2^-40 of a unit."""
    if bits / law.exponent * Fraction(7, 10) > MAX_TABLE:
        raise CapacityError(
            "epsilon",
            f"such that the noise has at most {MAX_TABLE} likely sizes",
            f"one with a decay of {float(law.exponent):.3g}",
        )
    work = bits + _GUARD
    r_lo, r_hi = exp_neg(law.exponent.numerator, law.exponent.denominator, work)
    lo, hi = law._factor(work)
    ends: list[tuple[int, int]] = []
    while not ends or ends[-1][0] > 0:
        lo, hi = lo * r_lo >> work, -(-hi * r_hi >> work)
        ends.append((lo >> _GUARD, -(-hi >> _GUARD)))
    low, high = (np.array(side, dtype=np.int64) for side in zip(*ends, strict=True))
    leading = 8 if len(low) < 4096 else 16
    last = ((np.arange(2**leading, dtype=np.int64) + 1) << (bits - leading)) - 1
    guide = np.searchsorted(-low, -last, side="left").astype(np.int64)
    return low, high, guide, bits - leading


class _Bits:
    """A sampler's uniform integers as a source of bits."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def bits(self, count: int) -> int:
        """Return `count` fair bits."""
        return self._sampler.uniform(1 << count)

    def words(self, count: int, width: int) -> NDArray[np.uint64]:
        """Return `count` words of `width` fair bits, 32 or 64."""
        octets = width // 8
        drawn = self.bits(width * count).to_bytes(octets * count, "little")
        return np.frombuffer(drawn, dtype=f"<u{octets}").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class TiltedLaplace:
    """Noise of probability proportional to exp(-(|z|_1 / scale + rate * ceil(M / unit))) on Z^N.

    Proof note. Precondition: a public integer matrix Q takes the cells to N queries, y = Q cells + z, and one
    replaced record changes the cells by v with |v|_1 <= 2 and the queries by |Q v|_1 <= 2 stretch. M(z)
    is max |<h, decode(z)>| over a public set of +-1 vectors, whichever; decode(z + Q v) = decode(z) + unit v.
    (Plain case: Q, decode the identity, unit = stretch = 1.) The output has probability
    c exp(-phi(y - Q cells)), phi(z) = |z|_1/scale + rate ceil(M(z)/unit), and c is the same for all data,
    since the sum of exp(-phi) over Z^N does not change under a shift by an integer vector. For neighbours
    |z|_1 moves by at most 2 stretch, M by at most unit |<h, v>| <= 2 unit, hence ceil(M/unit) by at most 2.
    Conclusion: the release is (2 stretch/scale + 2 rate)-DP, whatever is computed from it; with
    scale = noise_scale(2 stretch, (1-b) epsilon) and rate = b epsilon/2 it is epsilon-DP. How many proposals
    are rejected depends on the noise alone, so its time tells nothing about the data. Rejection has no limit:
    a fallback to untilted noise would still be private, being a mixture with public weights of two private
    laws, but it would change the law, and with it every certified quantile.

    Attributes:
        scale: of the discrete Laplace proposals.
        rate: of the tilt, > 0.
        orders: (K, m) orders of the cells whose prefixes are all in the public set. They reject early: M is
            at least |total - 2 prefix| for every prefix, and at least the range of the prefix sums.
        supremum: (B, m) fields -> (B,) values of M; None if the public set is just the prefixes.
        bounded: False when the prefixes are not in the public set (then `supremum` decides alone).
        decode: (B, N) query noises -> (B, m) fields; None for the identity.
        queries: N; by default m.
        unit, stretch: as in the proof note.

    Raises:
        ArgumentError: on a scale or rate out of range, or orders that are no permutations.
        CapacityError: when 1/rate or the scale exceeds about 12,000.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> noise = TiltedLaplace(Fraction(2), Fraction(1, 4), np.array([[0, 1, 2], [2, 0, 1]]))
        >>> z = noise.draw(SimSampler(1), 500)
        >>> bool(abs(z.sum(axis=1)).mean() < 2.5 < abs(z).sum(axis=1).mean())
        True
    """

    scale: Fraction
    rate: Fraction
    orders: NDArray[np.int64]
    supremum: Callable[[Fields], NDArray[np.int64]] | None = None
    bounded: bool = True
    decode: Callable[[Fields], Fields] | None = None
    queries: int = 0
    unit: int = 1
    stretch: int = 1
    width: int = field(init=False, repr=False)
    tables: tuple[Table, Table] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rate = check_fraction("rate", self.rate)
        if not 0 < rate <= 50:
            raise ArgumentError("rate", "a number with 0 < rate <= 50", describe(rate))
        orders = np.ascontiguousarray(self.orders, dtype=np.int64)
        if orders.ndim != 2 or not orders.size or (np.sort(orders) != np.arange(orders.shape[1])).any():
            raise ArgumentError("orders", "a (K, m) array of permutations", f"of shape {orders.shape}")
        if self.supremum is None and not self.bounded:
            raise ArgumentError("supremum", "a function when the orders bound nothing", "None")
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "queries", self.queries or orders.shape[1])
        object.__setattr__(self, "width", 32 if max(self.scale, 1 / rate) <= _LARGE else 64)
        object.__setattr__(self, "tables", tuple(law.table(self.width - 1) for law in self._laws))

    @property
    def _laws(self) -> tuple[Size, Size]:
        return Size(check_fraction("rate", self.rate)), Size(1 / check_scale(self.scale), two_sided=True)

    @property
    def epsilon(self) -> Fraction:
        """The exact privacy loss of a release, as in the proof note."""
        return 2 * self.stretch / self.scale + 2 * self.rate

    def draw(self, sampler: Sampler, size: int, progress: Progress = None) -> Fields:
        """Return (size, m) independent decoded noises of exactly this law.

        Args:
            sampler: the source; only a secure one may be used for a release.
            size: number of fields.
            progress: told the fraction done.

        Raises:
            ArgumentError: unless ``size`` is an integer >= 0.
        """
        kept = np.empty((check_integer("size", size, 0), self.orders.shape[1]), dtype=np.int64)
        stream, done = _Stream(self, sampler), 0
        while done < size:
            fields, limits, tops = stream.candidates(min(_ROOM, max(16, size - done)), size - done)
            if self.decode is not None:
                fields, limits, tops = self._decoded(fields, limits)
            if self.supremum is not None and len(fields):
                tops = self.supremum(fields)
            accepted = fields[tops <= self.unit * limits][: size - done]
            kept[done : done + len(accepted)] = accepted
            done += len(accepted)
            if progress is not None:
                progress(done / size)
        return kept

    def _decoded(
        self, noise: Fields, limits: NDArray[np.int64]
    ) -> tuple[Fields, NDArray[np.int64], NDArray[np.int64]]:
        """Return the decoded proposals that no order rules out."""
        from geomdp.privacy._tilt_kernels import spans

        fields = noise if self.decode is None else self.decode(noise)
        tops = np.zeros(len(fields), dtype=np.int64)
        if self.bounded:
            spans(fields, self.orders, self.unit * limits, tops)
        alive = tops <= self.unit * limits
        return fields[alive], limits[alive], tops[alive]


class _Stream:
    """Proposals in the order in which their random words came."""

    def __init__(self, noise: TiltedLaplace, sampler: Sampler) -> None:
        self.noise, self.bits = noise, _Bits(sampler)
        self.words, self.at = np.empty(0, dtype=np.uint64), 0
        self.decided: dict[int, int] = {}
        plain = noise.decode is None
        self.bounded = noise.bounded and plain
        self.orders = noise.orders if plain else np.arange(noise.queries, dtype=np.int64)[None, :]

    def candidates(self, room: int, wanted: int) -> tuple[Fields, NDArray[np.int64], NDArray[np.int64]]:
        """Return up to `room` proposals that the orders do not rule out, with their limits and values.

        Where few are wanted it returns after a block of words as soon as it has that many.
        """
        from geomdp.privacy._tilt_kernels import propose

        noise, count, size = self.noise, 0, self.noise.queries
        fields, limits = np.empty((room, size), dtype=np.int64), np.empty(room, dtype=np.int64)
        tops = np.empty(room, dtype=np.int64)
        while count < room:
            if self.at + size + 1 > len(self.words):
                if count >= min(wanted, room):
                    break
                # words left over are dropped: where proposals end does not depend on them
                block = max(_BLOCK, 4 * (size + 1))
                self.words, self.at, self.decided = self.bits.words(block, noise.width), 0, {}
            new, self.at, undecided = propose(
                self.words,
                self.at,
                *noise.tables,
                self.orders,
                self.bounded,
                np.array(list(self.decided), dtype=np.int64),
                np.array(list(self.decided.values()), dtype=np.int64),
                fields[count:],
                limits[count:],
                tops[count:],
            )
            count += new
            if undecided >= 0:
                law = noise._laws[0 if undecided == self.at else 1]
                prefix = int(self.words[undecided]) >> 1
                self.decided[undecided] = law.decide(self.bits, prefix, noise.width - 1)
        return fields[:count], limits[:count], tops[:count]


def tilted(
    epsilon: Any,
    tilt: Any,
    orders: NDArray[np.int64],
    supremum: Callable[[Fields], NDArray[np.int64]] | None = None,
    *,
    bounded: bool = True,
) -> TiltedLaplace:
    """Return epsilon-DP noise for net counts of which the share `tilt` of the budget goes to the supremum.

    Example:
        >>> tilted(1, "1/10", np.array([[0, 1]])).epsilon <= 1
        True
    """
    scale, rate = shares(epsilon, tilt, 1)
    return TiltedLaplace(scale, rate, orders, supremum, bounded=bounded)


def shares(epsilon: Any, tilt: Any, stretch: int) -> tuple[Fraction, Fraction]:
    """Return (scale, rate) that spend the share `tilt` of epsilon on the supremum.

    Raises:
        ArgumentError: unless 0 < tilt < 1.
    """
    from geomdp.privacy.sampler import noise_scale

    total, share = check_fraction("epsilon", epsilon), check_fraction("tilt", tilt)
    if not 0 < share < 1:
        raise ArgumentError("tilt", "a number with 0 < tilt < 1", describe(share))
    return noise_scale(2 * stretch, (1 - share) * total), share * total / 2
