r"""From records to populations: bounds on the least average population error (paper, Remark A.1).

Alice's n_A and Bob's n_B records are drawn independently from populations P_A and P_B on a public domain
(where tables are snapped to a grid, these are the populations of the snapped records). For a classifier h
let R_P(h) be its error on P's population, err_P(h) its mistakes on P's records, and

    R* = min_h (R_A(h) + R_B(h)) / 2,        opt = min_h (err_A(h) + err_B(h)).

Everything below rests on two facts about X_h = err_A(h) + err_B(h), a sum of n = n_A + n_B independent
indicators whose mean is n_A R_A(h) + n_B R_B(h) = n p_h.

* [W. Hoeffding 1956, "On the distribution of the number of successes in independent trials"]
  P(X_h >= k) <= P(Bin(n, p_h) >= k) if k >= n p_h + 1, and P(X_h <= k) <= P(Bin(n, p_h) <= k) if
  k <= n p_h - 1.
* [O. Bousquet, S. Boucheron, G. Lugosi, "Introduction to statistical learning theory", Theorem 7] With S the
  growth function and c_P = (ln S(2 n_P) + ln(4/delta)) / n_P, each with probability >= 1 - delta and for all
  h at once: R_P <= r_P + 2 sqrt(c_P R_P), and r_P <= R_P + 2 sqrt(c_P r_P), where r_P = err_P / n_P.

*Lower end, exact.* The best classifier h* of the populations does not depend on the records, and
opt <= X_{h*}. So P(opt >= k) <= P(X_{h*} >= k): no uniform convergence and no dimension is needed, only a
binomial tail, and Markov's inequality where that one does not apply.

*Upper end, exact.* If R* > u, every labelling of the domain by a classifier has p_h > p(u). With N labellings
P(opt <= k) <= N max_h P(X_h <= k): a binomial tail at level delta / N.

*Both ends, relative VC.* Let c be the larger of c_A, c_B at delta / 2 each, and r, R the averages over the
parties. By concavity of the root R <= r + 2 sqrt(c R) and r <= R + 2 sqrt(c r), hence

    R* <= (sqrt(c) + sqrt(c + r))^2 <= r + sqrt(eta r) + eta,      R* >= r - 2 sqrt(c r),      eta = 4 c,

where r is taken at the classifier of least mistakes above, and at h* below.

*Unequal n.* The average error rho of a classifier and its mean number of mistakes determine each other only
up to which party errs: between n_- min(2 rho, 1) + n_+ max(0, 2 rho - 1) and the same with n_- and n_+
exchanged, n_- <= n_+ the two sizes. Both ends are converted by the worse one; at equal sizes nothing is lost.

*The best of several bounds costs nothing.* Each lower bound above says, for every k: if R* < l(k), then
P(opt >= k) <= delta; and l increases with k. The maximum of several such l says the same, since at each k
one of them proves it. Likewise the minimum of upper bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    CapacityError,
    check_beta,
    check_choice,
    check_fraction,
    check_integer,
    describe,
)
from geomdp.privacy.binomial import binomial_upper

#: Up to this dimension Sauer's sum is formed exactly.
_SUMMED = 400


@dataclass(frozen=True)
class PopulationBounds:
    """Confidence bounds on R*, the least average population error of one classifier.

    Attributes:
        lower, upper: the bounds, the best of all below.
        confidence: they hold together with at least this probability over records (and noise).
        exact: the bounds by binomial tails; the upper one is 1/2 or 1 if labellings are not counted.
        vc: the bounds by relative VC inequalities, constants included; (0, 1) without a dimension.
        pooled: bounds on the least record-weighted error (n_A R_A + n_B R_B) / (n_A + n_B), by the same
            binomial tails.
        opt: the interval for opt that they start from.
        n_alice, n_bob: numbers of records.
        labellings: number of labellings of the domain, or a bound on it; None if no domain was given.
        dimension: VC dimension used, or None.
        eta: 4 c, the excess of the relative VC bound at opt = 0; None without a dimension.

    Example:
        >>> bounds = population_bounds(1000, 300, domain=Domain.grid([("x", 0, 1, 16)]))
        >>> 0.1 < bounds.lower < 0.15 < bounds.upper < 0.2, bounds.rules_out(0.1), bounds.rules_out(0.15)
        (True, True, False)

    Source: paper, Remark A.1, with explicit constants; see :func:`population_bounds`.
    """

    lower: float
    upper: float
    confidence: Fraction
    exact: tuple[float, float]
    vc: tuple[float, float]
    pooled: tuple[float, float]
    opt: tuple[int, int]
    n_alice: int
    n_bob: int
    labellings: int | None
    dimension: int | None
    eta: float | None

    def rules_out(self, tau: Any) -> bool:
        """Return True if no classifier has average population error <= tau, at the stated confidence.

        Raises:
            ArgumentError: unless ``tau`` is a finite number.
        """
        return self.lower > check_fraction("tau", tau)

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as JSON values."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "confidence": float(self.confidence),
            "exact": list(self.exact),
            "vc": list(self.vc),
            "pooled": list(self.pooled),
            "opt": list(self.opt),
            "n_alice": self.n_alice,
            "n_bob": self.n_bob,
            "labellings": None if self.labellings is None else str(self.labellings),
            "dimension": self.dimension,
            "eta": self.eta,
        }


def population_bounds(
    n: int | tuple[int, int],
    opt: int | tuple[int, int],
    *,
    domain: Domain | None = None,
    classes: str = "auto",
    dimension: int | None = None,
    beta: Any = 0.1,
    opt_beta: Any = None,
) -> PopulationBounds:
    """Return bounds on the least average population error R*, each end wrong with probability <= beta / 2.

    Args:
        n: records per party, or the pair (n_alice, n_bob).
        opt: the least number of mistakes on all records, or an interval that holds it, such as an outcome's
            ``opt_interval`` or :func:`verdict_interval`. A constant classifier errs on at most half of all
            records where both constants exist (on pointed domains, and among thresholds): an upper end above
            that is lowered to it, and an optimum above it is refused.
        domain: the public domain on which the populations live; None if they do not live on a finite one.
        classes: "halfspaces", "thresholds", or "auto": thresholds on ordered domains.
        dimension: VC dimension of the class, needed for an upper bound where there is no domain.
        beta: probability, over the records, that a bound fails.
        opt_beta: probability, over a release's noise, that opt lies outside its interval. It must be given
            with an interval (0 if that is certain, such as the one of a search that was stopped); an exact
            opt has none.

    Returns:
        The bounds; they hold with probability >= 1 - beta - opt_beta, which must be positive.

    Raises:
        ArgumentError: on any argument outside its range.

    Source: the population form of joint empirical loss (paper, Remark A.1); the exact ends are ours.

    Example:
        >>> D = Domain.grid([("x", 0, 1, 16), ("y", 0, 1, 16)])
        >>> b = population_bounds(1000, 300, domain=D)
        >>> b.lower < 0.15 < b.upper and b.vc[0] < b.lower and b.upper < b.vc[1]
        True
        >>> population_bounds(1000, 0, domain=D).upper < 0.01
        True
    """
    n_alice, n_bob = _pair("n", n, 1)
    low, high = _pair("opt", opt, 0)
    total = n_alice + n_bob
    if not low <= high <= total:
        got = str(low) if low == high else f"({low}, {high})"
        raise ArgumentError("opt", f"a number or an interval a <= b, at most {total} (all records)", got)
    failure = check_beta(beta)
    noise = _noise(opt_beta, isinstance(opt, (tuple, list)), failure)
    if domain is not None and not isinstance(domain, Domain):
        raise ArgumentError("domain", "a Domain or None", describe(domain))
    kind = _kind(domain, classes)
    v = _dimension(domain, kind, dimension)
    count = None if domain is None else _labellings(domain, kind)
    halved = kind == "thresholds" or (domain is not None and domain.pointed)
    most, largest = (0.5, total // 2) if halved else (1.0, total)
    if low > largest:
        mend = "A constant classifier errs on no more than that."
        raise ArgumentError("opt", f"at most {largest} for {total} records", str(low), mend)
    high = min(high, largest)

    ends = Conversion(n_alice, n_bob)
    half = failure / 2
    p_low = fixed_lower(low, total, half)
    p_high = 1.0 if count is None else uniform_upper(high, total, half, count)
    exact = ends.least(p_low * total), min(most, ends.largest(p_high * total))
    vc, eta = (0.0, most), None
    if v is not None:
        pointed = domain is not None and domain.pointed
        few = math.inf if count is None else math.log(count)
        growth = [min(few, log_growth(2 * size, v, kind, pointed=pointed)) for size in (n_alice, n_bob)]
        c = max(map(_excess, (n_alice, n_bob), growth, (half / 2, half / 2)))
        below, above = relative_bounds(ends.least(low), ends.largest(high), c)
        vc, eta = (below, min(most, above)), 4 * c
    return PopulationBounds(
        lower=max(exact[0], vc[0]),
        upper=min(exact[1], vc[1]),
        confidence=1 - failure - noise,
        exact=exact,
        vc=vc,
        pooled=(p_low, min(most, p_high)),
        opt=(low, high),
        n_alice=n_alice,
        n_bob=n_bob,
        labellings=count,
        dimension=v,
        eta=eta,
    )


def verdict_interval(verdict: str, resolution: int, largest: int, tolerance: int = 0) -> tuple[int, int]:
    """Return what a certified verdict says about opt, wrong with probability at most the tester's beta.

    Match is wrong with probability at most beta if opt >= t, and Far if opt <= t0; so Match says
    0 <= opt <= t - 1 and Far says t0 + 1 <= opt, each at confidence 1 - beta.

    Args:
        verdict: "Match" or "Far"; "Inconclusive" says nothing.
        resolution: the tester's t.
        largest: the largest value that opt can have.
        tolerance: the tester's t0.

    Raises:
        ArgumentError: unless tolerance < resolution <= largest, as for every certified verdict.

    Example:
        >>> verdict_interval("Match", 52, 1000), verdict_interval("Far", 52, 1000, 3)
        ((0, 51), (4, 1000))
    """
    check_choice("verdict", verdict, ("Match", "Far", "Inconclusive"))
    check_integer("largest", largest, 0)
    t, t0 = check_integer("resolution", resolution, 1), check_integer("tolerance", tolerance, 0)
    if t > largest:
        mend = "A verdict at a larger resolution is not certified."
        raise ArgumentError("resolution", f"at most {largest}, the largest value of opt", str(t), mend)
    if t0 >= t:
        raise ArgumentError("tolerance", f"less than the resolution {t}", str(t0))
    if verdict == "Match":
        return 0, t - 1
    return (t0 + 1 if verdict == "Far" else 0), largest


@dataclass(frozen=True)
class Conversion:
    """From numbers of mistakes to average error rates at two sample sizes, by the worse party.

    Example:
        >>> Conversion(100, 100).least(30) == Conversion(100, 100).largest(30) == 0.15
        True
        >>> Conversion(100, 300).least(30), Conversion(100, 300).largest(30)
        (0.05, 0.15)
    """

    n_alice: int
    n_bob: int

    def least(self, mistakes: float) -> float:
        """Return the least average rate that this many mistakes allow: all at the larger party."""
        return self._rate(mistakes, max(self.n_alice, self.n_bob), min(self.n_alice, self.n_bob))

    def largest(self, mistakes: float) -> float:
        """Return the largest average rate that this many mistakes allow: all at the smaller party."""
        return self._rate(mistakes, min(self.n_alice, self.n_bob), max(self.n_alice, self.n_bob))

    @staticmethod
    def _rate(mistakes: float, first: int, second: int) -> float:
        if mistakes <= first:
            return mistakes / (2 * first)
        return min(1.0, 0.5 + (mistakes - first) / (2 * second))


def fixed_lower(k: int, n: int, level: Fraction) -> float:
    """Return p such that a sum of n independent indicators of mean below n p is >= k with chance <= level.

    Clopper and Pearson's limit, capped at (k - 1)/n so that Hoeffding's comparison applies; Markov's
    k * level / n where that is larger.

    Example:
        >>> 0.1 < fixed_lower(30, 200, Fraction(1, 20)) < 0.15
        True
    """
    if k == 0:
        return 0.0
    binomial = min(1 - binomial_upper(n - k, n, level), (k - 1) / n)
    return max(0.0, binomial, _down(float(k * level / n)))


def uniform_upper(k: int, n: int, level: Fraction, labellings: int) -> float:
    """Return p such that, if all of N classifiers have pooled error above p, opt <= k with chance <= level.

    Example:
        >>> p = uniform_upper(0, 100, Fraction(1, 20), 50)
        >>> abs(50 * (1 - p) ** 100 - 0.05) < 1e-9
        True
    """
    return min(1.0, max(binomial_upper(k, n, level / labellings), _up((k + 1) / n if k else 0.0)))


def relative_bounds(r_low: float, r_high: float, c: float) -> tuple[float, float]:
    """Return (r_low - 2 sqrt(c r_low), (sqrt(c) + sqrt(c + r_high))^2), within [0, 1] and rounded outward.

    The first is increasing in r where it is positive (r >= 4 c), so r may be replaced by a lower bound.

    Example:
        >>> relative_bounds(0.04, 0.04, 0.01)[0], round(relative_bounds(0.0, 0.0, 0.01)[1], 6)
        (0.0, 0.04)
    """
    below = r_low - 2 * math.sqrt(c * r_low) if r_low >= 4 * c else 0.0
    above = (math.sqrt(c) + math.sqrt(c + r_high)) ** 2
    return max(0.0, _down(below)), min(1.0, _up(above))


def log_growth(points: int, dimension: int, classes: str = "halfspaces", *, pointed: bool = False) -> float:
    """Return the logarithm of a bound on the number of labellings of any `points` points by the class.

    Thresholds: points + 1, exactly. Pointed halfspaces: 2 sum_{i < v} C(points - 1, i) [Cover 1965], reached
    in general position. Otherwise sum_{i <= v} C(points, i) [Sauer], or v ln(e points / v) for large v.

    Example:
        >>> round(math.exp(log_growth(4, 3, pointed=True))), round(math.exp(log_growth(9, 1, "thresholds")))
        (14, 10)
    """
    if classes == "thresholds":
        return math.log(points + 1)
    if dimension >= points:
        return points * math.log(2)
    if dimension > _SUMMED:
        return dimension * math.log(math.e * points / dimension)
    if pointed:
        return math.log(2 * _sum_of_choices(points - 1, dimension - 1))
    return math.log(_sum_of_choices(points, dimension))


def _sum_of_choices(points: int, most: int) -> int:
    total = term = 1
    for i in range(1, most + 1):
        term = term * (points - i + 1) // i
        total += term
    return total


def _excess(n: int, growth: float, delta: Fraction) -> float:
    """Return c = (ln S(2n) + ln(4/delta)) / n, rounded up."""
    return _up((growth + math.log(4 / delta)) / n)


def _kind(domain: Domain | None, classes: str) -> str:
    check_choice("classes", classes, ("auto", "halfspaces", "thresholds"))
    ordered = domain is not None and domain.ordered
    if classes == "thresholds" and domain is not None and not ordered:
        raise ArgumentError("classes", "'halfspaces' on a domain that is not ordered", "'thresholds'")
    if classes == "auto":
        return "thresholds" if ordered else "halfspaces"
    return classes


def _dimension(domain: Domain | None, kind: str, dimension: int | None) -> int | None:
    """Return the VC dimension: given, 1 for thresholds, d for halfspaces (a vector space of functions)."""
    if dimension is not None:
        return check_integer("dimension", dimension, 1, 10**6)
    if kind == "thresholds":
        return 1
    return None if domain is None else domain.d


def _labellings(domain: Domain, kind: str) -> int:
    from geomdp.testers.histogram_law import class_count

    try:
        return class_count(domain, kind)
    except CapacityError:  # not pointed and large: Sauer's bound
        return _sum_of_choices(domain.m, min(domain.d, domain.m))


def _noise(opt_beta: Any, interval: bool, failure: Fraction) -> Fraction:
    """Return the probability that a release misleads about opt; it must be stated for an interval."""
    if opt_beta is None:
        if interval:
            mend = "Give the beta of the release that the interval comes from, or 0 if it is certain."
            raise ArgumentError("opt_beta", "given with an interval", "left out", mend)
        return Fraction(0)
    noise = check_fraction("opt_beta", opt_beta)
    if not 0 <= noise < 1 - failure:
        mend = "Both failures together must leave some confidence."
        raise ArgumentError(
            "opt_beta", f"a number with 0 <= opt_beta < 1 - beta = {1 - failure}", describe(noise), mend
        )
    return noise


def _pair(name: str, value: Any, least: int) -> tuple[int, int]:
    pair = value if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ArgumentError(name, "an integer or a pair of integers", f"a sequence of length {len(pair)}")
    return check_integer(name, pair[0], least, 2**50), check_integer(name, pair[1], least, 2**51)


def _up(value: float) -> float:
    return value * (1 + 1e-12)


def _down(value: float) -> float:
    return value * (1 - 1e-12)
