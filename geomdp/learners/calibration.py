"""Calibration of a component-by-component run: losses, sample sizes and shares of the error.

Round i learns component i on a sample of m_i records whose labels some completion of the prefix explains
without error. Proof note. Let N_i be the size of the component's domain, E_A and E_L the excesses of the
oracle and of the relabelling of the next carrier:

    N_i exp(-eps_A E_A / 2) <= beta',     labellings exp(-eps_L E_L / 2) <= beta'.

Then, except with probability 2 beta', the hypothesis h_i that labels the next carrier disagrees with h_{i-1}
on at most e = (E_A - 1) + (E_L - 1) of the m_i records (in the last round, h_k: E_A - 1). If m_i is large
enough that e disagreements imply a rate below b_i, except with probability beta', the hypotheses differ
from each other by at most b_i on the distribution, and the final error is at most b_1 + ... + b_k = alpha
by the triangle inequality. With fresh reservoirs the prefix y_{<i} is fixed before sample i is drawn, so that
the growth function of round i is that of the restricted class; in round 1 one of the two hypotheses is the
target, which the sample does not influence. An initial relabelling of R_0 adds its excess to e in round 1.
Labellings are counted on the carrier alone (CarrierBoost) or on both samples (LabelBoost).

Alternating reservoirs reuse records, so that the prefix does depend on them: the growth function of the
whole class is then used in every round.

Losses and shares come from a search with floats; every number of the result is computed again from the
Fractions that it found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from geomdp.learners.accounting import Allocation, Layout, allocate
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.generalisation import sample_size
from geomdp.learners.growth import Profile

_LN4 = math.log(4)
_ROUNDS = 6  # of balancing the shares of alpha
_LOWEST, _HIGHEST = 0.02, 20.0


@dataclass(frozen=True)
class Calibration:
    """A run that reaches (alpha, beta) with certainty of its bounds.

    Attributes:
        layout: the privacy parameters.
        m: sizes of the k samples.
        allocation: the reservoirs.
        rates: b_1, ..., b_k; they add up to alpha.
    """

    layout: Layout
    m: tuple[int, ...]
    allocation: Allocation
    rates: tuple[Fraction, ...]


@dataclass(frozen=True)
class _Problem:
    profile: Profile
    epsilon: float
    alpha: float
    beta: float  # of a single event
    method: str
    initial: bool
    whole: bool  # the growth function of the whole class in every round

    @property
    def k(self) -> int:
        return self.profile.k

    def growth(self, fixed: int) -> Callable[[int], int]:
        fixed = 0 if self.whole else fixed
        return lambda points: self.profile.growth(fixed, points)

    def relabelled(self, round_: int, m: int, carrier: int) -> int:
        """Return the number of candidates of the relabelling after a round."""
        points = carrier if self.method == "carrier-boost" else m + carrier
        return self.profile.growth(round_, points)


def calibrate(
    profile: Profile,
    epsilon: Fraction,
    delta: Fraction,
    alpha: Fraction,
    beta: Fraction,
    *,
    method: str = "carrier-boost",
    initial: bool = False,
    name: str = "fresh",
) -> Calibration:
    """Return losses, sample sizes and reservoirs of a run that learns the class.

    Args:
        profile: the class.
        epsilon, delta: the privacy guarantee of the whole run. Oracles are pure, and with fresh reservoirs
            so is the run; alternating ones use delta for their composition.
        alpha, beta: error and failure probability, for realizable distributions.
        method: "carrier-boost" or "label-boost".
        initial: whether R_0 is relabelled first.
        name: "fresh" or "alternating" reservoirs.

    Example:
        >>> from geomdp.learners.growth import halfspace_profile
        >>> tenth = Fraction(1, 10)
        >>> found = calibrate(halfspace_profile(1, 512), Fraction(1), Fraction(0), tenth, tenth)
        >>> found.m[0] == found.allocation.n < 900
        True
    """
    k = profile.k
    events = (k + (k - 1) + k) + (1 if initial else 0)
    problem = _Problem(
        profile, float(epsilon), float(alpha), float(beta) / events, method, initial, name == "alternating"
    )
    rates = [problem.alpha / k] * k
    losses: list[tuple[float, float, float]] = []
    for _ in range(_ROUNDS if k > 1 else 1):
        _, losses, costs = _search(problem, rates, losses)
        weights = [math.sqrt(cost * rate) for cost, rate in zip(costs, rates, strict=True)]
        fresh_rates = [problem.alpha * w / sum(weights) for w in weights]
        if max(abs(a - b) / b for a, b in zip(fresh_rates, rates, strict=True)) < 0.02:
            break
        rates = fresh_rates
    exact = [_round_down(rate / float(alpha)) for rate in rates]
    exact = [share * alpha / sum(exact) for share in exact]
    return _certified(problem, exact, losses, (epsilon, delta, beta / events), name)


def _search(
    problem: _Problem, rates: list[float], start: list[tuple[float, float, float]]
) -> tuple[list[int], list[tuple[float, float, float]], list[float]]:
    """Return sizes, (oracle, relabel, initial) losses and costs in records, from the last round backwards."""
    k = problem.k
    sizes, costs = [0] * k, [0.0] * k
    losses = list(start) or [(min(0.6, problem.epsilon / 2),) * 3] * k
    for i in range(k - 1, -1, -1):
        following = sizes[i + 1] if i + 1 < k else 0
        guess = sizes[i + 1] if i + 1 < k else 1000

        def cost(
            point: tuple[float, ...], i: int = i, following: int = following, guess: int = guess
        ) -> float:
            m = _least(problem, i, rates[i], point, following, guess)
            return m * _price(problem, i, point)

        free = (True, i < k - 1, problem.initial and i == 0)
        losses[i] = _descend(cost, losses[i], free, coarse=not start)  # type: ignore[assignment]
        sizes[i] = _least(problem, i, rates[i], losses[i], following, guess)
        costs[i] = sizes[i] * _price(problem, i, losses[i])
    return sizes, losses, costs


def _price(problem: _Problem, i: int, losses: tuple[float, ...]) -> float:
    """Return the reservoir's size over the sample's."""
    oracle, relabel, initial = losses
    log = oracle
    if i < problem.k - 1:
        log += relabel if problem.method == "carrier-boost" else 2 * math.log1p(math.exp(relabel / 2))
    if i:
        log += _LN4
    elif problem.initial:
        log += 2 * math.log1p(math.exp(initial / 2))
    return max(1.0, math.expm1(log) / math.expm1(problem.epsilon))


def _excess(log_candidates: float, loss: float, beta: float) -> int:
    """Return mistakes beyond the best candidate: the excess minus one."""
    return max(0, math.ceil(2 / loss * (log_candidates - math.log(beta)) - 1e-12) - 1)


def _least(  # noqa: PLR0917
    problem: _Problem, i: int, rate: float, losses: tuple[float, ...], following: int, guess: int
) -> int:
    oracle, relabel, initial = losses
    fixed = _excess(math.log(problem.profile.sizes[i]), oracle, problem.beta)

    def errors(m: int) -> int:
        e = fixed
        if i < problem.k - 1:
            e += _excess(math.log(problem.relabelled(i + 1, m, following)), relabel, problem.beta)
        if problem.initial and i == 0:
            e += _excess(math.log(problem.profile.growth(0, m)), initial, problem.beta)
        return e

    return sample_size(errors, rate, problem.beta, problem.growth(i), pairs=i > 0, full=False, start=guess)


def _descend(
    cost: Callable[[tuple[float, ...]], float],
    start: tuple[float, ...],
    free: tuple[bool, ...],
    *,
    coarse: bool,
) -> tuple[float, ...]:
    """Return a point where no step lowers the cost: factors 1.6 to 1.02 along an axis, or a shift of loss.

    Shifts from the oracle to the relabelling and back keep the sum, where the cost has a kink.
    """
    here, value = start, cost(start)
    for factor in (1.6, 1.2, 1.06, 1.02) if coarse else (1.05, 1.015):
        moved = True
        while moved:
            moved = False
            for there in _steps(here, free, factor):
                if (new := cost(there)) < value:
                    here, value, moved = there, new, True
                    break
    return here


def _steps(here: tuple[float, ...], free: tuple[bool, ...], factor: float) -> list[tuple[float, ...]]:
    found = []
    for axis in (a for a, is_free in enumerate(free) if is_free):
        for step in (factor, 1 / factor):
            moved = min(_HIGHEST, max(_LOWEST, here[axis] * step))
            found.append((*here[:axis], moved, *here[axis + 1 :]))
    if free[1]:
        for step in (factor, 1 / factor):
            oracle = here[0] * step
            relabel = here[0] + here[1] - oracle
            if oracle >= _LOWEST and relabel >= _LOWEST:
                found.append((oracle, relabel, *here[2:]))
    return found


def _round_down(value: float) -> Fraction:
    return Fraction(max(1, math.floor(value * 10**6)), 10**6)


def _certified(
    problem: _Problem,
    rates: list[Fraction],
    losses: list[tuple[float, float, float]],
    target: tuple[Fraction, Fraction, Fraction],
    name: str,
) -> Calibration:
    """Compute all sizes again from exact losses, excesses and whole tails."""
    epsilon, delta, beta = target
    k = problem.k
    exact = [tuple(_round_down(loss) for loss in point) for point in losses]
    layout = Layout(
        tuple(point[0] for point in exact),
        tuple(point[1] for point in exact[:-1]),
        problem.method,
        exact[0][2] if problem.initial else None,
    )
    if not problem.initial and (k == 1 or problem.method == "carrier-boost"):
        # R_0 needs no amplification where its losses fit the budget: scale them to it exactly
        layout = _fitted(layout, epsilon)
    sizes = [0] * k
    for i in range(k - 1, -1, -1):
        following = sizes[i + 1] if i + 1 < k else 0
        oracle = exponential_excess(problem.profile.sizes[i], layout.oracles[i], beta) - 1

        def errors(m: int, i: int = i, following: int = following, oracle: int = oracle) -> int:
            e = oracle
            if i < k - 1:
                candidates = problem.relabelled(i + 1, m, following)
                e += exponential_excess(candidates, layout.relabels[i], beta) - 1
            if layout.initial is not None and i == 0:
                e += exponential_excess(problem.profile.growth(0, m), layout.initial, beta) - 1
            return e

        rate, chance = float(rates[i]) * (1 - 1e-15), float(beta) * (1 - 1e-15)
        guess = _least(problem, i, rate, losses[i], following, sizes[i + 1] if i + 1 < k else 1000)
        sizes[i] = sample_size(errors, rate, chance, problem.growth(i), pairs=i > 0, start=guess)
    share = Fraction(0) if name == "fresh" else delta  # single uses of pure blocks are pure
    return Calibration(layout, tuple(sizes), allocate(layout, sizes, epsilon, share, name), tuple(rates))


def _fitted(layout: Layout, epsilon: Fraction) -> Layout:
    first = layout.oracles[0] + (layout.relabels[0] if layout.relabels else 0)
    if not Fraction(9, 10) * epsilon <= first <= Fraction(11, 10) * epsilon:
        return layout
    scale = epsilon / first * (1 - Fraction(1, 10**9))  # below epsilon: upper enclosures fit too
    oracles = (layout.oracles[0] * scale, *layout.oracles[1:])
    relabels = (layout.relabels[0] * scale, *layout.relabels[1:]) if layout.relabels else ()
    return replace(layout, oracles=oracles, relabels=relabels)
