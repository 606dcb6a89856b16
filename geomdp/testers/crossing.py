r"""Noisy first crossing: where a growing count first reaches a noisy level, over any number of places.

A party scans the places theta = m-1, m-2, ..., 0 of an ordered domain, and N(theta) = #{records >= theta}
grows from 0 to n on the way. Like the sparse-vector technique, the scan compares N with a random level tau,
by noise that is fresh at every place, and reports the first place that passes. Unlike it, both noises are
one-sided, and because all counts move the same way when a record moves, one share of the budget pays for the
level and one share for the places. Finding the place costs about log(m)/epsilon records: the packing lower
bound for one message, to first order; a selection by score (permute-and-flip, exponential mechanism) needs
four times as many for the same use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.core.sample import Sample
from geomdp.privacy.enclosure import exp_neg
from geomdp.privacy.sampler import Sampler, noise_scale
from geomdp.privacy.sparse import decided, geometric

#: Binary digits of the rational ratio rho of the places' coins.
RATIO_BITS = 64


@dataclass(frozen=True)
class Crossing:
    r"""The mechanism with its public constants.

    With G geometric, P(G = g) = (1 - r) r^g, r = exp(-1/scale), the level is tau = start + G. At a place of
    count c < tau a coin of probability rho^(tau - c) is thrown; the scan stops at the first heads, and surely
    at the first place of count >= tau. Here rho is a rational number >= exp(-epsilon_place), and
    1/scale <= epsilon_level.

    Accuracy. Stopping at some place of count <= a, among at most m such places, has probability at most
    m E[rho^(tau - a)] = m (1-r)/(1 - r rho) rho^(start - a). A coin shows heads with the probability that a
    geometric H of ratio rho has count + H >= tau. So passing some place of count >= c, hence the first of
    them, has probability at most P(c + H < tau) = P(start - 1 + G - H >= c): the count of the last place that
    was passed, which is never negative, is stochastically at most max(0, start - 1 + G - H).

    Proof note (privacy). Write P(theta) = sum_tau p(tau) h_tau(N(theta)) prod_{theta' > theta} (1 -
    h_tau(N(theta'))) for the probability of stopping at theta, with h_tau(c) = min(1, rho^(tau - c)). Three
    facts are used: p(tau + 1) >= exp(-epsilon_level) p(tau) at every tau that occurs; h_(tau+1)(c + 1) =
    h_tau(c); and h_tau(c - 1), h_(tau+1)(c) >= exp(-epsilon_place) h_tau(c), while h decreases in tau and
    increases in c.

    * *Counts fall or stay* (N' = N - 1 on a set of places, N elsewhere): compare at the same tau. Coins of
      passed places only become rarer; the last one loses a factor of at most exp(epsilon_place). So P <=
      exp(epsilon_place) P'.
    * *Counts grow or stay* (N' = N + 1 on a set of places): compare tau with tau + 1. Passed places:
      h_(tau+1)(N') <= h_tau(N). Level: exp(epsilon_level). Last place: no loss if N'(theta) = N(theta) + 1,
      else at most exp(epsilon_place). So P <= exp(epsilon_level + epsilon_place) P'. If *every* place at or
      below some y grows (a record is added at y), then a theta with N'(theta) = N(theta) lies above y and so
      does all that was passed: nothing changed. So P <= exp(epsilon_level) P' in that case.

    The same holds for the outcome "no stop" without its last place. Conclusion:

    1. a record that moves changes all counts of an interval of places by one, the same way:
       the release is (epsilon_level + epsilon_place)-DP for neighbours with one record moved;
    2. a record that is added or taken away costs at most max(epsilon_level, epsilon_place) in either
       direction.

    Attributes:
        start: least level, >= 1.
        epsilon_level, epsilon_place: the two shares of the budget.

    Example:
        >>> c = Crossing(3, Fraction(1, 4), Fraction(3, 4))
        >>> (c.epsilon, 1 / c.scale <= Fraction(1, 4), abs(float(c.ratio) - 2.718281828459045**-0.75) < 1e-15)
        (Fraction(1, 1), True, True)
    """

    start: int
    epsilon_level: Fraction
    epsilon_place: Fraction

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss under one moved record."""
        return self.epsilon_level + self.epsilon_place

    @property
    def epsilon_added(self) -> Fraction:
        """The privacy loss under one added or removed record."""
        return max(self.epsilon_level, self.epsilon_place)

    @cached_property
    def scale(self) -> Fraction:
        """Scale of the level's noise."""
        return noise_scale(1, self.epsilon_level)

    @cached_property
    def ratio(self) -> Fraction:
        """The rational rho >= exp(-epsilon_place), above it by less than 2^-62."""
        share = self.epsilon_place
        return Fraction(exp_neg(share.numerator, share.denominator, RATIO_BITS)[1], 1 << RATIO_BITS)

    def draw(self, groups: Iterable[tuple[int, int]], sampler: Sampler) -> int:
        """Return the number of places that the scan passes before it stops; all of them if it never does.

        Args:
            groups: pairs (number of places, their common count) in scanning order, counts increasing.
            sampler: the party's source of noise.

        Example:
            >>> from geomdp.privacy.sampler import SimSampler
            >>> Crossing(20, Fraction(10), Fraction(20)).draw([(2**70, 0), (5, 90)], SimSampler(0)) == 2**70
            True
        """
        level = self.start + self._level(sampler)
        passed = 0
        for size, count in groups:
            gap = level - count
            if gap <= 0:
                return passed
            tails = self._tails(gap, size, sampler)
            passed += tails
            if tails < size:
                return passed
        return passed

    def _level(self, sampler: Sampler) -> int:
        """Return the level's noise G."""
        return geometric(self.scale, sampler)

    def _tails(self, gap: int, size: int, sampler: Sampler) -> int:
        """Return how many of `size` places at this distance below the level are passed."""
        numerator = self.ratio.numerator << RATIO_BITS - (self.ratio.denominator.bit_length() - 1)
        return failures(numerator, RATIO_BITS, size, sampler, gap)


def descending(sample: Sample, label: int) -> Iterator[tuple[int, int]]:
    """Yield (number of places, count) from the top, count N(theta) = #{records of this label >= theta}.

    Example:
        >>> from geomdp.core.domain import Domain
        >>> S = Sample.from_cells(Domain.line(10), [2, 7, 7, 9], [-1, -1, -1, 1])
        >>> list(descending(S, -1))
        [(2, 0), (5, 2), (3, 3)]
    """
    counts = sample.positives if label > 0 else sample.negatives
    above, seen = sample.domain.m, 0
    for index in range(len(counts) - 1, -1, -1):
        if not counts[index]:
            continue
        rank = int(sample.cells[index])
        if rank + 1 < above:
            yield above - rank - 1, seen
        above, seen = rank + 1, seen + int(counts[index])
    yield above, seen


def failures(numerator: int, shift: int, bound: int, sampler: Sampler, exponent: int = 1) -> int:
    """Return the number of tails before the first heads of `bound` coins of one probability p.

    At most `bound`. With U uniform on [0, 1), the number F of tails is at least k iff U < (1-p)^k. The binary
    digits of F are decided from the top with integer enclosures of the powers (1-p)^(2^i); if U's known
    digits do not decide one of the comparisons, as many digits again are drawn. No step rounds: the law is
    exact, at a cost of O(log bound + log exponent) multiplications, however small p and large the bound.

    Args:
        numerator, shift, exponent: p = (numerator / 2^shift)^exponent, 0 < p < 1.
        bound: number of coins, >= 1.
        sampler: source of uniform integers.

    Raises:
        ArgumentError: unless 0 < p < 1 and bound >= 1.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> 0 < failures(1, 60, 2**200, SimSampler(1)) < 2**66
        True
    """
    check_integer("bound", bound, 1)
    if not 0 < numerator < 1 << shift:
        raise ArgumentError("numerator", "between 0 and 2^shift", "outside")
    width = bound.bit_length() + 64
    digits = sampler.uniform(1 << width)
    while (found := _decided(digits, width, (numerator, shift, exponent), bound)) is None:
        digits, width = digits << width | sampler.uniform(1 << width), 2 * width
    return found


def _power(numerator: int, shift: int, exponent: int, width: int) -> tuple[int, int]:
    """Return integers low <= 2^width (numerator / 2^shift)^exponent <= high."""
    low = high = 1 << width
    square_low, square_high = (numerator << width) >> shift, -((-numerator << width) >> shift)
    while exponent:
        if exponent & 1:
            low, high = low * square_low >> width, -(-high * square_high >> width)
        square_low, square_high = square_low**2 >> width, -(-(square_high**2) >> width)
        exponent >>= 1
    return low, high


def _decided(digits: int, width: int, coin: tuple[int, int, int], bound: int) -> int | None:
    """Return `failures` for all U in [digits, digits + 1) / 2^width, or None if they may disagree."""
    return decided(digits, width, _power(*coin, width), bound)
