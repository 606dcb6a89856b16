"""Sample sizes for uniform convergence of small errors: the double-sample bound with hypergeometric tails.

Let a class have at most G(M) labellings of M points, and draw m points. Consider the event that two
hypotheses disagree on at most e of the m points, although their disagreement has probability more than b.

Proof note. Draw m' further points, the ghost sample, and let K = floor(b m'). Given the event, the bad pair
disagrees on K or more ghost points with probability at least 1/2, since the median of a binomial law with
mean above b m' is at least K. So the event has at most twice the probability of: some pair disagrees on at
most e of the first and at least K of the other points. Exchange all points at random: for a pair with Z
disagreements in all, the first sample has H ~ Hypergeometric(m + m', Z, m) of them, and it must have
H <= min(e, Z - K). The probability of that grows with Z up to Z = K + e (H <= Z - K says that the ghost
sample has K or more) and decreases beyond (H <= e), so it is at most P(H <= e) at Z = K + e. Unordered pairs
of different labellings number at most G(G - 1)/2, and G where one hypothesis is fixed in advance. Hence

    P(event) <= 2 * pairs(m + m') * P(Hypergeometric(m + m', K + e, m) <= e)          for every m'.

Logarithms are rounded upward: their error is bounded and added.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from geomdp.privacy.binomial import log_binomial_tail

#: Sizes of the ghost sample, as multiples of the sample.
GHOSTS = (1, 2, 4, 8, 16)
_LN2 = math.log(2)
_MOST = 2**50


def log_hypergeometric_tail(total: int, marked: int, drawn: int, most: int, *, full: bool = True) -> float:
    """Return an upper bound on ln P(H <= most), H marked ones among `drawn` of `total` without replacement.

    The term at `most`, times the sum of the ratios of the terms below it, or times the geometric series that
    bounds that sum, as the ratios decrease.

    Example:
        >>> exact = sum(math.comb(20, h) * math.comb(80, 30 - h) for h in range(3)) / math.comb(100, 30)
        >>> 0 <= log_hypergeometric_tail(100, 20, 30, 2) - math.log(exact) < 1e-7
        True
    """
    if most >= min(marked, drawn) or most * total >= drawn * marked:
        return 0.0
    rest = total - marked
    if most < drawn - rest:
        return -math.inf
    logs = (
        math.lgamma(marked + 1), -math.lgamma(most + 1), -math.lgamma(marked - most + 1),
        math.lgamma(rest + 1), -math.lgamma(drawn - most + 1), -math.lgamma(rest - drawn + most + 1),
        -math.lgamma(total + 1), math.lgamma(drawn + 1), math.lgamma(total - drawn + 1),
    )  # fmt: skip
    first = most * (rest - drawn + most) / ((marked - most + 1) * (drawn - most + 1))
    series = 1 / (1 - first) if first < 1 else math.inf
    if full or first >= 1:
        series = term = 1.0
        for h in range(most, 0, -1):
            term *= h * max(0, rest - drawn + h) / ((marked - h + 1) * (drawn - h + 1))
            series += term
            if term < 1e-18 * series:
                series += term * 1e3
                break
    slack = 1e-9 + 1e-15 * 4 * sum(map(abs, logs))
    return min(0.0, math.fsum(logs) + math.log(series) + slack)


def log_double_sample(
    m: int, errors: int, rate: float, growth: Callable[[int], int], *, pairs: bool, full: bool = True
) -> float:
    """Return the logarithm of the double-sample bound, the best over sizes of the ghost sample.

    Args:
        m: size of the sample.
        errors: e, the disagreements that are still allowed.
        rate: b.
        growth: M -> a bound on the labellings of M points.
        pairs: whether both hypotheses depend on the sample.
        full: whether the tail is summed, or bounded by a geometric series (a little larger, faster).
    """
    best = math.inf
    for multiple in GHOSTS if full else GHOSTS[1:4]:
        ghost = multiple * m
        K = math.floor(rate * (1 - 1e-12) * ghost)
        if not 1 <= K <= ghost:
            continue
        labellings = growth(m + ghost)
        count = math.log(labellings) * (2 if pairs else 1) - (_LN2 if pairs else 0)
        tail = log_hypergeometric_tail(m + ghost, K + errors, m, errors, full=full)
        best = min(best, _LN2 + count * (1 + 1e-14) + tail)
    return best


def sample_size(
    errors: Callable[[int], int],
    rate: float,
    beta: float,
    growth: Callable[[int], int],
    *,
    pairs: bool,
    full: bool = True,
    start: int = 16,
) -> int:
    """Return a size m at which at most `errors(m)` disagreements imply a rate <= b, except with chance beta.

    The least one that bisection finds; its own bound is checked, monotonicity is not needed for validity.

    Example:
        >>> m = sample_size(lambda m: 0, 0.1, 0.05, lambda M: M + 1, pairs=False)
        >>> 60 < m < 120
        True
    """
    goal = math.log(beta) - 1e-9

    def enough(m: int) -> bool:
        bound = log_double_sample(m, errors(m), rate, growth, pairs=pairs, full=full)
        return bound <= goal

    low, high = 1, max(2, start)
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise OverflowError("no sample size below 2^50 suffices")
    while high - low > max(1, 0 if full else high // 2000):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def finite_class_size(members: int, errors: int, rate: float, beta: float) -> int:
    """Return the least n with members * P(Bin(n, rate) <= errors) <= beta.

    Example:
        >>> finite_class_size(1, 0, 0.5, 0.25) in (2, 3)
        True
    """
    goal = math.log(beta) - math.log(members) - 1e-9
    low, high = errors, max(4, 2 * (errors + 1))
    while log_binomial_tail(errors, high, rate) > goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        inside = middle > errors and log_binomial_tail(errors, middle, rate) <= goal
        low, high = (low, middle) if inside else (middle, high)
    return high


def least_without_privacy(vc: int, alpha: float, beta: float) -> int:
    """Return a sample size that every learner of a class of this VC dimension needs, private or not.

    Put mass p on v - 1 shattered points, the rest on a further one. A random labelling leaves each point that
    is not drawn wrong with probability 1/2, so that the error on them has mean p (1 - p/(v-1))^n / 2 and is
    at most p; it exceeds alpha with probability at least (mean - alpha)/(p - alpha), which must be <= beta.
    For v = 1, or where that is more, one point of mass just above alpha: (1 - alpha)^n / 2 <= beta.

    Example:
        >>> least_without_privacy(3, 0.1, 0.1)
        15
    """
    best = math.log(0.5 / beta) / -math.log1p(-alpha) if beta < 0.5 else 0.0
    for step in range(1, 200):
        p = alpha + (1 - alpha) * step / 200
        goal = 2 * (alpha + beta * (p - alpha)) / p
        if vc > 1 and goal < 1 and p < vc - 1:
            best = max(best, math.log(goal) / math.log1p(-p / (vc - 1)))
    return max(1, math.floor(best * (1 - 1e-12)))


def least_pure_proper(values: int, alpha: float, beta: float, epsilon: float) -> int:
    """Return a sample size that every proper pure-DP learner of thresholds on this many values needs.

    Distribution i puts mass just above alpha on each of value i (label -1) and value i + 1 (label +1), the
    rest on the lowest value. A threshold of error at most alpha is then the one between them: the sets G_i of
    good outputs are disjoint. A sample of distribution i differs from n copies of the lowest record in
    Bin(n, 2 alpha) places, so by group privacy the output on those copies is in G_i with probability at least
    e^(-epsilon t) (1 - beta - P(Bin(n, 2 alpha) > t)), and these add up to at most 1, for every t.

    Example:
        >>> least_pure_proper(2**20, 0.1, 0.1, 1.0) >= 40
        True
    """
    rate = min(1.0, 2 * alpha)
    low, high = 0, 1
    while _refuted(high, values - 2, rate, beta, epsilon):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _refuted(middle, values - 2, rate, beta, epsilon) else (low, middle)
    return high


def _refuted(n: int, packed: int, rate: float, beta: float, epsilon: float) -> bool:
    """Return whether some t shows that n records are too few."""
    if packed < 2:
        return False
    first, last = math.floor(n * rate), min(n, math.floor(math.log(packed) / epsilon))
    step = 1 if last - first < 500 else (last - first) // 50  # any t shows it
    for t in range(first, last + 1, step):
        # P(Bin(n, rate) > t) = P(Bin(n, 1 - rate) <= n - t - 1)
        above = 0.0 if t >= n else math.exp(log_binomial_tail(n - t - 1, n, 1 - rate)) if rate < 1 else 1.0
        rest = 1 - beta - above
        if rest > 0 and math.log(packed) - epsilon * t + math.log(rest) > 1e-9:
            return True
    return False
