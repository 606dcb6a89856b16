"""Three ways to set the numbers of a run: the paper's constants, certified ones, or the user's sample size.

The privacy guarantee is the same in all: reservoirs come from the exact accounting of the layout that runs.
Modes differ in what is known about accuracy:

* `paper`: the literal constants of Algorithm 2; its theorem promises accuracy for n far beyond 10^11.
* `rigorous`: sample sizes that certify error at most alpha with probability 1 - beta.
* `validated`: sample sizes as large as n allows, or the user's own; accuracy is known from experiments only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from geomdp.core.errors import (
    ArgumentError,
    check_beta,
    check_choice,
    check_epsilon,
    check_fraction,
    check_integer,
)
from geomdp.learners.accounting import Allocation, Layout, Reservoir, allocate, blocks
from geomdp.learners.calibration import Calibration, calibrate
from geomdp.learners.growth import Profile
from geomdp.learners.layouts import stretch
from geomdp.learners.promises import GRID, check_error, if_realizable, shown_chance, shown_rate

MODES = ("validated", "rigorous", "paper")
_UNIT = 1000  # losses are multiples of epsilon / 1000


@dataclass(frozen=True)
class RunPlan:
    """All public numbers of a run.

    Attributes:
        mode: "paper", "rigorous" or "validated".
        layout: privacy parameters of each step.
        m: sample sizes: R_0, T_1, ..., T_{k-1}.
        allocation: the reservoirs, and the guarantee of the whole run.
        promise: what is known about accuracy, one sentence.
    """

    mode: str
    layout: Layout
    m: tuple[int, ...]
    allocation: Allocation
    promise: str

    @property
    def n(self) -> int:
        """The number of records in the reservoirs."""
        return self.allocation.n


def paper(k: int, n: int, epsilon: Fraction, delta: Fraction) -> RunPlan:
    """Return the literal constants of Algorithm 2.

    epsilon_A = 4, delta_A = delta/(16 e k), LabelBoost at loss 1 everywhere, three blocks of floor(n/3)
    records, m = floor(epsilon n / (12 e^9 sqrt(k ln(2/delta)))). The oracles that run are pure; the
    delta_A they are allowed is not used.

    Raises:
        ArgumentError: when epsilon > 1, delta = 0, or n is so small that m = 0.

    Example:
        >>> paper(3, 10**8, Fraction(1), Fraction(1, 10**6)).m
        (155, 155, 155)
        >>> try:
        ...     paper(3, 4000, Fraction(1), Fraction(1, 10**6))
        ... except ArgumentError as error:
        ...     print(error)
        Argument 'n' must be at least 641,514 for these constants, not 4,000. Use mode='validated'.
    """
    check_integer("k", k, 1)
    epsilon, delta = check_epsilon(epsilon), check_fraction("delta", delta)
    if epsilon > 1 or not 0 < delta < 1:
        raise ArgumentError("epsilon, delta", "epsilon <= 1 and 0 < delta < 1 (paper, Lemma 6.12)", "others")
    per = 12 * math.exp(9) * math.sqrt(k * math.log(2 / delta)) / float(epsilon) * (1 + 1e-9)
    m = int(n / per)
    if m < 1:
        raise ArgumentError(
            "n", f"at least {math.ceil(per):,} for these constants", f"{n:,}", "Use mode='validated'."
        )
    layout = Layout((Fraction(4),) * k, (Fraction(1),) * (k - 1), "stated", initial=Fraction(1))
    third = n // 3
    names = tuple(block.name for block in blocks(layout))
    uses = (names[:1], names[1::2], names[2::2])
    reservoirs = tuple(Reservoir(third, use) for use in uses)
    allocation = Allocation("alternating", reservoirs, epsilon, delta)
    promise = "Lemma 6.12 for privacy; Theorem 5.1 promises accuracy for far larger n"
    return RunPlan("paper", layout, (m,) * k, allocation, promise)


def validated(
    profile: Profile,
    n: int,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    *,
    method: str = "carrier-boost",
    initial: bool = False,
    m: Sequence[int] | None = None,
    reservoirs: str = "best",
    most: Sequence[int] | None = None,
) -> RunPlan:
    """Return losses and sample sizes that make a bound on the run's disagreements small at this n.

    Round i costs e_i/m_i of its sample, e_i = 2 ln(N_i)/a_i + 2 ln(G_i)/L_i with domain size N_i, growth
    G_i, losses a_i and L_i; and c_i m_i records, c_i = max(1, (R_i - 1)/(e^epsilon - 1)) by the block's
    factor R_i. Under sum c_i m_i = n the sum of e_i/m_i is least for m_i ~ sqrt(e_i/c_i), with value
    (sum sqrt(c_i e_i))^2 / n, so each round's losses make its own c_i e_i least. Floats choose; the
    reservoirs then follow from exact accounting.

    Args:
        profile: domain sizes and growth of the class.
        n: number of records.
        epsilon, delta: the privacy guarantee of the run.
        method: "carrier-boost" or "label-boost".
        initial: whether R_0 is relabelled first.
        m: the user's own sample sizes, k of them.
        reservoirs: "best", "fresh" or "alternating".
        most: the largest sample sizes that the class handles, for sizes that are not the user's own.

    Returns:
        The plan; :class:`geomdp.learners.carry_forward.CarryForwardLearner` runs it.

    Raises:
        ArgumentError: when n is too small for the sizes asked for, or for one record in each sample.

    Example:
        >>> from geomdp.learners.growth import halfspace_profile
        >>> run = validated(halfspace_profile(2, 512), 4000, Fraction(1))
        >>> run.n, sum(run.m) > 1500
        (4000, True)
    """
    check_choice("method", method, ("carrier-boost", "label-boost"))
    check_integer("n", n, 1)
    epsilon, delta = check_epsilon(epsilon), check_fraction("delta", delta)
    if not 0 <= delta < 1:
        raise ArgumentError("delta", "a number with 0 <= delta < 1", "outside")
    layout, weights = _losses(profile, n, epsilon, method, initial)
    promise = "known from experiments only"
    if m is not None:
        sizes = tuple(check_integer("m", size, 1) for size in m)
        return RunPlan(
            "validated", layout, sizes, _stretched(layout, sizes, (epsilon, delta), reservoirs, n), promise
        )

    def sized(scale: float) -> tuple[int, ...]:
        limits = most or (n,) * profile.k
        return tuple(
            max(1, min(int(scale * weight), limit)) for weight, limit in zip(weights, limits, strict=True)
        )

    def need(scale: float) -> int:
        return allocate(layout, sized(scale), epsilon, delta, reservoirs).n

    if need(0.0) > n:
        raise ArgumentError("n", f"at least {need(0.0):,}, for one record in each sample", f"{n:,}")
    low, high = 0.0, (n + 1) / min(weights)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if need(middle) <= n else (low, middle)
    sizes = sized(low)
    allocation = _stretched(layout, sizes, (epsilon, delta), reservoirs, n)
    return RunPlan("validated", layout, sizes, allocation, promise)


def _stretched(
    layout: Layout, m: Sequence[int], loss: tuple[Fraction, Fraction], name: str, n: int
) -> Allocation:
    allocation = allocate(layout, m, *loss, name)
    if allocation.n > n:
        raise ArgumentError(
            "m", f"sizes whose reservoirs fit into n = {n:,} records", f"ones that need {allocation.n:,}"
        )
    return stretch(allocation, n)


def _losses(
    profile: Profile, n: int, epsilon: Fraction, method: str, initial: bool
) -> tuple[Layout, list[float]]:
    """Return the layout of least predicted error, and the m_i up to a common factor."""
    oracles, relabels, weights = [], [], []
    start = epsilon / 10 if initial else None
    before = (1 + math.exp(float(start) / 2)) ** 2 if start is not None else 1.0
    for i in range(profile.k):
        last = i == profile.k - 1
        log_size = math.log(profile.sizes[i]) + 1
        log_growth = 0.0 if last else math.log(profile.growth(i + 1, max(2, n // (2 * profile.k)))) + 1
        entry = 4.0 if i else before
        best = (math.inf, 0.0, 0.0, 0.0, 0.0)
        for step in range(1, 61):
            total = step / 20 * max(1.0, float(epsilon)) * 0.999  # below the rounding of exp(epsilon)
            share = math.sqrt(log_size) / (math.sqrt(log_size) + math.sqrt(log_growth))
            a, loss = total * share, total * (1 - share)
            ratio = entry * math.exp(a)
            if not last:
                ratio *= math.exp(loss) if method == "carrier-boost" else (1 + math.exp(loss / 2)) ** 2
            cost = max(1.0, (ratio - 1) / math.expm1(float(epsilon)))
            errors = 2 * log_size / a + (0.0 if last else 2 * log_growth / loss)
            best = min(best, (cost * errors, a, loss, cost, errors))
        _, a, loss, cost, errors = best
        oracles.append(_grain(a, epsilon))
        if not last:
            relabels.append(_grain(loss, epsilon))
        weights.append(math.sqrt(errors / cost))
    return Layout(tuple(oracles), tuple(relabels), method, initial=start), weights


def _grain(loss: float, epsilon: Fraction) -> Fraction:
    return epsilon * max(1, math.floor(loss / float(epsilon) * _UNIT)) / _UNIT


def rigorous(
    profile: Profile,
    n: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    alpha: object,
    beta: object,
    method: str = "carrier-boost",
    initial: bool = False,
    moved: str = GRID,
) -> RunPlan:
    """Return a run with error at most alpha except with probability beta, on realizable distributions.

    The distribution is that of the records as the learner sees them. Moving records to a grid may put points
    with different labels on one place, and what was realizable before is so no longer.

    Where n is larger than needed, a smaller error is certified instead; the promise names it, and what
    moved the records.

    Raises:
        ArgumentError: when n is smaller than the guarantee needs; the message holds the number.

    Example:
        >>> from geomdp.learners.growth import halfspace_profile
        >>> tenth = Fraction(1, 10)
        >>> try:
        ...     rigorous(halfspace_profile(1, 512), 100, Fraction(1), Fraction(0), alpha=tenth, beta=tenth)
        ... except ArgumentError as error:
        ...     print(error.requirement)
        at least 712 records for error 0.1 with probability 0.9
    """
    check_choice("method", method, ("carrier-boost", "label-boost"))
    rate, failure = check_error(alpha), check_beta(beta)

    def at(rate: Fraction) -> Calibration:
        loss = check_epsilon(epsilon), Fraction(delta)
        return calibrate(profile, *loss, rate, failure, method=method, initial=initial)

    try:
        made = at(rate)
    except OverflowError:
        raise ArgumentError(
            "alpha", "an error that fewer than 2^50 records can certify", "a smaller one"
        ) from None
    if n < made.allocation.n:
        raise ArgumentError(
            "n",
            f"at least {made.allocation.n:,} records for error {shown_rate(rate)} with probability "
            f"{shown_chance(failure)}",
            f"{n:,}",
            "learning_plan() compares methods; mode='validated' runs without the certificate.",
        )
    for slack in (Fraction(21, 20), Fraction(6, 5), Fraction(3, 2)):  # spend what is left on a smaller error
        better = (rate * made.allocation.n / n * slack).limit_denominator(10**6)
        if 0 < better < rate and at(better).allocation.n <= n:
            made, rate = at(better), better
            break
    promise = (
        f"error at most {shown_rate(rate)} with probability at least {shown_chance(failure)}, "
        f"{if_realizable(moved)}"
    )
    return RunPlan("rigorous", made.layout, made.m, stretch(made.allocation, n), promise)
