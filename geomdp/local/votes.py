"""Votes of noisy users: the exact probability that the right candidate wins, and the users that it takes.

Each of n users gives a 0 or 1 about each of `size` candidates. A user who knows the answer gives the right
candidate a 1 with probability `own`; everything else is a 1 with probability `other` < own, independently.
Knowing users are those of one role, and roles are fair coins. The candidate with most ones wins, ties are
broken by a public coin.

The law covers two ways to answer. Yes/no questions have own = p, other = q. One bit per user under public
random signs has own = ratio/(1 + ratio), other = 1/2: an answer times the sign of a wrong candidate is a fair
coin, independent over candidates. A message of one bit may instead be read by a plain majority.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, check_fraction, check_integer, describe
from geomdp.local.finite import check_probability, check_ratio
from geomdp.local.kernels import YesNo
from geomdp.local.role_sums import binomial, binomial_part, means

Rates = tuple[Fraction, Fraction]
_MOST = 10**7  # users that are tried
_WIDTH = 7.5  # standard deviations of the number of knowing users that are summed


def vote_rates(kernel: YesNo) -> Rates:
    """Return (own, other) of a yes/no kernel.

    Args:
        kernel: how a user answers a yes/no question.

    Returns:
        P(1 | yes) and P(1 | no), exact.

    Example:
        >>> vote_rates(YesNo.symmetric(Fraction(3)))
        (Fraction(3, 4), Fraction(1, 4))
    """
    return kernel.p, kernel.q


def code_rates(ratio: Fraction) -> Rates:
    """Return (own, other) of one randomised sign per user: ratio/(1 + ratio) and 1/2.

    Example:
        >>> code_rates(Fraction(3))
        (Fraction(3, 4), Fraction(1, 2))
    """
    odds = check_ratio(ratio)
    return odds / (1 + odds), Fraction(1, 2)


def stage_success(users: int, size: int, rates: Rates) -> float:
    """Return the probability that the right candidate wins, over the users' roles and answers.

    With f and F the law and the distribution function of Bin(n, other), the right candidate with x ones wins
    with probability sum_j C(size-1, j) f(x)^j F(x-1)^(size-1-j)/(j+1) = (F(x)^size - F(x-1)^size) /
    (size f(x)). The difference cancels in the tail; it is evaluated as
    -F^size expm1(size log1p(-f/F)) / (size f). The right candidate's count is Bin(n, (own + other)/2),
    independent of the others'.

    Args:
        users: n >= 0.
        size: number of candidates, >= 1; may be astronomically large.
        rates: (own, other).

    Example:
        >>> stage_success(0, 4, code_rates(Fraction(3)))
        0.25
        >>> exact = exact_stage_success(6, 3, code_rates(Fraction(3)))
        >>> abs(stage_success(6, 3, code_rates(Fraction(3))) - exact) < 1e-14
        True
    """
    n, candidates, (own, other) = _check(users, size, rates)
    low, law = binomial(n, float((own + other) / 2))
    return float(law @ _wins(n, candidates, float(other), low, low + len(law) - 1))


def exact_stage_success(users: int, size: int, rates: Rates) -> Fraction:
    """Return :func:`stage_success` as a Fraction, term by term; for small cases."""
    n, candidates, (own, other) = _check(users, size, rates)
    right = _exact_pmf(n, (own + other) / 2)
    wrong = _exact_pmf(n, other)
    total, below = Fraction(0), Fraction(0)
    for x in range(n + 1):
        ways = (
            math.comb(candidates - 1, j) * wrong[x] ** j * below ** (candidates - 1 - j) / (j + 1)
            for j in range(candidates)
        )
        total += right[x] * sum(ways, Fraction(0))
        below += wrong[x]
    return total


def both_success(users: int, size: int, rates: Rates) -> float:
    """Return the probability that the same users win two votes, one that Alice's kind knows, one Bob's.

    Given h users of Alice's kind the votes are independent, with h and n - h knowing users; the result is
    sum_h C(n, h) 2^-n s(h) s(n-h). Numbers h more than 7.5 standard deviations from n/2 count as failures,
    so that the sum is short of the truth by less than 1e-12.

    Example:
        >>> single = stage_success(90, 4, code_rates(Fraction(3)))
        >>> 2 * single - 1 <= both_success(90, 4, code_rates(Fraction(3))) <= single
        True
    """
    n, candidates, (own, other) = _check(users, size, rates)
    reach = math.ceil(_WIDTH * math.sqrt(n) / 2) + 1
    first, last = max(0, n // 2 - reach), min(n, n - n // 2 + reach)
    q = float(other)
    chances = means(
        n, range(first, last + 1), (float(own), q), lambda low, high: _wins(n, candidates, q, low, high)
    )
    return float(binomial_part(n, 0.5, first, last) @ (chances * chances[::-1]))


def exact_both_success(users: int, size: int, rates: Rates) -> Fraction:
    """Return :func:`both_success` as a Fraction; for small cases."""
    n, candidates, (own, other) = _check(users, size, rates)
    wins = []
    wrong, below = _exact_pmf(n, other), Fraction(0)
    for x in range(n + 1):
        above = below + wrong[x]
        wins.append((above**candidates - below**candidates) / (candidates * wrong[x]) if wrong[x] else above)
        below = above
    chances = []
    for h in range(n + 1):
        knowing, rest = _exact_pmf(h, own), _exact_pmf(n - h, other)
        pairs = ((p * r, i + j) for i, p in enumerate(knowing) for j, r in enumerate(rest))
        chances.append(sum((weight * wins[x] for weight, x in pairs), Fraction(0)))
    weighted = (math.comb(n, h) * chances[h] * chances[n - h] for h in range(n + 1))
    return Fraction(sum(weighted, Fraction(0)), 2**n)


def majority_success(users: int, ratio: Fraction) -> float:
    """Return the probability that the majority of one bit's randomised responses is right, ties by a coin.

    Users of the other role answer with a fair coin, so an answer is right with probability
    1/2 + (ratio - 1)/(4 (ratio + 1)). An even number of users is worth one user less.

    Raises:
        ArgumentError: unless ``users`` is an integer >= 0.

    Example:
        >>> majority_success(1, Fraction(3)), majority_success(2, Fraction(3))
        (0.625, 0.625)
    """
    n = check_integer("users", users, 0)
    if n == 0:
        return 0.5
    right = float((sum(code_rates(ratio))) / 2)
    odd = n - 1 + n % 2
    low, law = binomial(odd, right)
    return math.fsum(law[max(0, (odd + 1) // 2 - low) :].tolist())


def check_target(target: object) -> float:
    """Return a probability of success strictly between 0 and 1.

    Raises:
        ArgumentError: otherwise.
    """
    value = float(check_fraction("target", target))
    if not 0 < value < 1:
        raise ArgumentError("target", "between 0 and 1", describe(target))
    return value


def least_users(success: Callable[[int], float], target: Fraction | float, most: int = _MOST) -> int:
    """Return an n with success(n) >= target > success(n-1), the least one if success never falls.

    Args:
        success: number of users -> probability.
        target: between 0 and 1.
        most: largest number that is tried.

    Raises:
        CapacityError: when `most` users do not suffice.
        ArgumentError: unless ``target`` is between 0 and 1.

    Example:
        >>> least_users(lambda n: majority_success(n, Fraction(3)), 0.9)
        25
    """
    wanted = check_target(target)
    low, high = 0, 1
    while success(high) < wanted:
        low, high = high, 2 * high
        if high > most:
            raise CapacityError("target", f"within reach of {most} users", describe(target))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if success(middle) < wanted else (low, middle)
    return high


@lru_cache(maxsize=4096)
def stage_users(size: int, rates: Rates, target: float = 0.95) -> int:
    """Return the least number of users that win one vote with probability >= target.

    Example:
        >>> n = stage_users(16, code_rates(Fraction(3)))
        >>> n, stage_success(n, 16, code_rates(Fraction(3))) >= 0.95
        (207, True)
    """
    if size == 1:
        return 1
    _informative(rates[0] > rates[1])
    return least_users(lambda n: stage_success(n, size, rates), target)


@lru_cache(maxsize=4096)
def majority_users(ratio: Fraction, target: float = 0.95) -> int:
    """Return the least number of users whose majority is right with probability >= target.

    Raises:
        ArgumentError: at ratio 1, where answers say nothing.
    """
    _informative(check_ratio(ratio) > 1)
    return least_users(lambda n: majority_success(n, ratio), target)


def both_users(size: int, rates: Rates, target: float = 0.9) -> int:
    """Return the least number of users that win two votes, one of each role, with probability >= target.

    The product of the two single successes says where to look; :func:`both_success` decides.

    Example:
        >>> rates = code_rates(Fraction(3))
        >>> n = both_users(4, rates)
        >>> both_success(n, 4, rates) >= 0.9 > both_success(n - 1, 4, rates)
        True
    """
    n = least_users(lambda k: stage_success(k, size, rates) ** 2, target)
    wanted = check_target(target)
    if both_success(n, size, rates) < wanted:
        return _from(lambda k: both_success(k, size, rates), n, wanted)
    step = 1
    while n - step >= 1 and both_success(n - step, size, rates) >= wanted:
        n, step = n - step, 2 * step
    low = max(0, n - step)
    while n - low > 1:
        middle = (low + n) // 2
        low, n = (middle, n) if both_success(middle, size, rates) < wanted else (low, middle)
    return n


@lru_cache(maxsize=1024)
def shared_users(size: int, rates: Rates, each: float) -> int:
    """Return an n for which the same users win two votes, one of each role, with probability >= each^2.

    No smaller cohort than stage_users(size, rates, each) does: the chances of the two votes, as functions of
    the number of users of one role, go up and down, so that by Chebyshev's sum inequality the mean of their
    product is at most the product of their means.

    Args:
        size: number of candidates.
        rates: (own, other).
        each: the success of each vote if they were independent, between 0 and 1.

    Example:
        >>> rates = code_rates(Fraction(3))
        >>> n = shared_users(16, rates, 0.95)
        >>> both_success(n, 16, rates) >= 0.95**2, n - stage_users(16, rates, 0.95) <= 3
        (True, True)
    """
    n = stage_users(size, rates, each)
    return _from(lambda k: both_success(k, size, rates), n, each**2)


def _from(success: Callable[[int], float], n: int, target: float) -> int:
    """Return a k >= n with success(k) >= target, and success(k-1) below it unless k = n; k - n is doubled.

    Raises:
        CapacityError: when 10^7 users do not suffice.
    """
    if success(n) >= target:
        return n
    low, step = n, 1
    while success(n + step) < target:
        low, step = n + step, 2 * step
        if n + step > _MOST:
            raise CapacityError("target", f"within reach of {_MOST} users", describe(target))
    high = n + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if success(middle) < target else (low, middle)
    return high


def both_majority_success(users: int, ratio: Fraction) -> float:
    """Return the probability that one cohort sends two bits right, one of each role, both read by majority.

    Every user has a public random sign for each role and sends its own role's bit times that role's sign,
    by randomised response. Read with the other role's signs its answer is a fair coin, independent of what
    it says about its own bit, because the two signs are independent. Given h users of Alice's kind, the two
    counts of right answers are therefore independent, with laws Bin(h, p) + Bin(n-h, 1/2) and
    Bin(n-h, p) + Bin(h, 1/2), p = ratio/(1 + ratio). Roles far from n/2 count as failures, as in
    :func:`both_success`.

    Args:
        users: n, odd.
        ratio: odds of a true bit.

    Example:
        >>> exact = exact_both_majority_success(7, Fraction(3))
        >>> abs(both_majority_success(7, Fraction(3)) - exact) < 1e-12
        True
    """
    n, _, (own, other) = _check(_odd(users), 1, code_rates(ratio))
    reach = math.ceil(_WIDTH * math.sqrt(n) / 2) + 1
    first, last = max(0, n // 2 - reach), min(n, n - n // 2 + reach)
    chances = means(
        n,
        range(first, last + 1),
        (float(own), float(other)),
        lambda low, high: (np.arange(low, high + 1) > n // 2).astype(float),
    )
    return float(binomial_part(n, 0.5, first, last) @ (chances * chances[::-1]))


def exact_both_majority_success(users: int, ratio: Fraction) -> Fraction:
    """Return :func:`both_majority_success` as a Fraction; for small cases."""
    n, _, (own, other) = _check(_odd(users), 1, code_rates(ratio))
    right = []
    for h in range(n + 1):
        knowing, rest = _exact_pmf(h, own), _exact_pmf(n - h, other)
        pairs = ((a, b) for a in range(h + 1) for b in range(n - h + 1) if 2 * (a + b) > n)
        right.append(sum((knowing[a] * rest[b] for a, b in pairs), Fraction(0)))
    total: Fraction = sum((math.comb(n, h) * right[h] * right[n - h] for h in range(n + 1)), Fraction(0))
    return total / Fraction(2**n)


def _informative(better: bool) -> None:
    """Refuse rates at which no number of users suffices."""
    if not better:
        raise ArgumentError("ratio", "a number > 1", "1", "At 1 the answers do not depend on the inputs.")


def _odd(users: int) -> int:
    if check_integer("users", users, 1) % 2 == 0:
        raise ArgumentError("users", "odd, so that votes have no tie", users)
    return users


def _check(users: int, size: int, rates: Rates) -> tuple[int, int, Rates]:
    own, other = check_probability("own", rates[0]), check_probability("other", rates[1])
    if own < other:
        raise ArgumentError("rates", "own >= other", "the reverse", "Swap the answers 0 and 1.")
    return check_integer("users", users, 0), check_integer("size", size, 1), (own, other)


def _exact_pmf(n: int, p: Fraction) -> list[Fraction]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def _wins(n: int, size: int, other: float, low: int, high: int) -> NDArray[np.float64]:
    """Return P(right candidate wins | it has x ones), x = low..high.

    The wrong candidates' law is summed over all of its mass but 2 exp(-75)/size.
    """
    if size == 1:
        return np.ones(high - low + 1)
    spare = 75.0 + math.log(size)
    start, law = binomial(n, other, spare)
    first, last = min(low, start), max(high, start + len(law) - 1)
    f = binomial_part(n, other, first, last, spare)
    tail = np.append(np.cumsum(f[:0:-1])[::-1], 0.0)  # P(Bin > x)
    total = np.cumsum(f)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        logs = np.where(total < 0.5, np.log(total), np.log1p(-np.minimum(tail, 0.5)))
        step = np.log1p(-np.minimum(f / total, 1.0))
        wins = -np.exp(size * logs) * np.expm1(size * step) / (size * f)
        tiny = f < 1e-290
        wins = np.where(tiny, np.where(total < 0.5, 0.0, np.exp((size - 1) * logs)), wins)
    return np.asarray(np.clip(np.nan_to_num(wins, nan=0.0), 0.0, 1.0))[low - first : high - first + 1]
