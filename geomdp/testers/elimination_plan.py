r"""Calibration of halfspace elimination: what resolution its rounds can pay for, computed before any data.

Notation. W holds the N candidates still alive (one generic representative per dichotomy, d coordinates), f_P
counts party P's mistakes, k is an error threshold and K = k + 1. In a round a party offers *members* C (sets
of candidates, cut out by public containers) or *bottom*. Member C scores u(C) = min(K, min of f_P outside C),
bottom scores a constant tau; permute-and-flip with acceptance exp(c (score - best)) selects one. A selected
member replaces W. Two bottoms end the run with Match, an empty W ends it with Far.

Separation. *If opt > (d+1) k and no candidate vanishes on a record, then either the candidates with f_A <= k
and those with f_B <= k (call them G_A, G_B) are strictly separated by a plane through 0, or one of them is
empty.* Proof. By Gordan's theorem the alternative is a relation sum l_a a = sum m_b b with l, m >= 0, not all
zero, on at most d + 1 of the vectors. If both sides are non-trivial, the common vector v errs on a record
only if one of the vectors used does, on both sides, so opt <= (d+1) k. Otherwise say sum l_a a = 0 with
minimal support s. No candidate vanishes on a record x, so <a, x> takes both signs over the support and one of
these a errs on it: n_A <= s k. Suppose G_B holds some b. If s <= d, then b errs on at most n_A + k records,
so opt <= (d+1) k. If s = d + 1, the circuit spans R^d positively, b is a positive combination of at most d
of its members, f_A(b) <= d k, and again opt <= (d+1) k. (Paper, Lemma 4.4, has 2(d+1) k for affine hulls.)

Round in Far (opt >= t = (d+1) k + 1). Let Alice's members cover every generic halfspace of at most s_A
candidates and Bob's every one of at most s_B, with s_A + s_B >= N - 1. For a separating z (perturbed to be
generic) either |H_z| <= s_A or |H_-z| <= N - s_A - 1 <= s_B. Hence one party has a member with score K; a
party without low-error candidates has one in any non-empty menu. That party selects bottom with probability
at most exp(-c (K - tau)) / 2: two exponential races. Whoever selects a member makes progress.

Round in Match (some w* has f_A(w*) + f_B(w*) <= t0). Members without w* score at most t0, so a party selects
one with probability at most M exp(-c (tau - t0)) / 2, M the number of members that miss w*.

Price. Replacing one record moves every u(C) by at most 1 and leaves tau fixed. Permute-and-flip is the race
of score + exponential noise of rate c, so P(bottom) changes by at most e^c (shift one noise) and any
P(member) by at most e^(2c). In pure privacy the log ratios of a transcript add up, so a party pays c for
bottom and 2c for a member, whichever occurs, and must be able to pay 2c when it is asked.

Budget game. x + y with M exp(-x)/2 <= b1, exp(-y)/2 <= b2 and c = (x + y)/(K - t0): budgets are measured in
multiples of 1/(K - t0). A generic list of subsets never needs more than 2 * cover_pairs(N, d) + 1 members
for both parties together. :func:`game` computes S(A, B), a number of candidates that any Far run with
budgets A and B left is sure to eliminate, by S(A, B) = 1 + S(A - 2q, B) + S(A - q, B - 2q) (Alice asked
first), or the mirror image. Source: the shape of the protocol is (paper, Algorithm 3, Theorem 4.7); prices,
budget game and constants are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.geometry.subsets import cover_pairs

#: Scores are multiplied by this, so that bottom's score can be set finely; the noise grows with it.
GRAIN = 1024
#: Relative room left for float rounding in logarithms; far above 2^-50.
ROOM = 1e-9
#: Steps of budget that the game's table distinguishes on its diagonal, about.
STEPS = 700
#: Largest edge of the table.
MOST_EDGE = 4096
#: Largest number of candidates for the counting finish.
MOST_COUNTED = 16


@dataclass(frozen=True)
class PaperConstants:
    """The constants of (paper, Algorithm 3), with one universal constant set to 1.

    Attributes:
        rounds: Q = ceil(log_{4/3} N) + 2.
        members: the menu bound (2 / eta)^d at eta = 1/4.
        alpha: (2Q/eps) (ln(members + 1) + ln(2Q/beta)), the selection error.
        k: least integer >= 2 alpha + 2 + 2 t0.
        resolution: t = 2 (d+1) k + 1.
    """

    rounds: int
    members: int
    alpha: float
    k: int
    resolution: int


def paper_constants(
    candidates: int, d: int, epsilon: Fraction, beta: Fraction, tolerance: int = 0
) -> PaperConstants:
    """Return the paper's constants for N candidates in R^d.

    Proof note. Precondition: a menu has at most (2/eta)^d members of at most 3/4 of the candidates. Selection
    at epsilon/Q stays within alpha of the best cost except with probability beta/(2Q) per call (exponential
    mechanism; permute-and-flip is no worse). Far needs k/2 > alpha; Match with tolerance t0 needs
    k/2 + alpha < k + 1 - t0. Both hold for k >= 2 alpha + 2 + 2 t0. Conclusion: resolution 2 (d+1) k + 1.

    Example:
        >>> paper_constants(40150, 3, Fraction(1), Fraction(1, 10)).resolution
        16121
    """
    rounds = 2
    while candidates * 3 ** (rounds - 2) > 4 ** (rounds - 2):
        rounds += 1
    members = 8**d
    alpha = float(2 * rounds / epsilon) * (math.log(members + 1) + math.log(float(2 * rounds / beta)))
    k = math.ceil(2 * alpha * (1 + ROOM)) + 2 + 2 * tolerance
    return PaperConstants(rounds, members, alpha, k, 2 * (d + 1) * k + 1)


@dataclass(frozen=True)
class Cutting:
    """An assumed menu: members of at most ratio * N candidates cost ln(members) whatever N is.

    Attributes:
        ratio: largest member over N for halfspaces of N/2 candidates; with other shares the two largest
        members
            together hold 2 * ratio * N.
        members: assumed largest number of members per party.
    """

    ratio: float
    members: int


@dataclass(frozen=True)
class Game:
    """The table of the budget game, in units of `unit`.

    Attributes:
        size: (T+1, T+1) S(A, B): candidates that are sure to be eliminated from budgets A, B.
        depth: (T+1, T+1) largest number of rounds (finish included) of the table's strategy.
        start: least T with S(T, T) >= N.
        unit: one unit of budget, in multiples of 1/(K - t0).
        share: failure probability allowed per round, on each side of the promise.
        assumed: the assumed cuttings; none in the certified game.
    """

    size: NDArray[np.int64]
    depth: NDArray[np.int64]
    start: int
    unit: float
    share: float
    assumed: tuple[Cutting, ...] = ()

    def margin(self, a: int, b: int, candidates: int) -> tuple[int, int]:
        """Return (j, rounds): how far both budgets may shrink (j < 0: must grow) with S >= candidates.

        Rounds is the depth at the shrunken budgets. Budgets above the table's edge are cut to it.
        """
        edge = len(self.size) - 1
        if candidates == 0:
            return min(a, b), 0
        gap, low = a - b, -edge - 1
        # the diagonal through (a, b), from its start inside the table
        tops = np.arange(max(0, gap), edge + 1 + min(0, gap))
        column = self.size[tops, tops - gap] if abs(gap) <= edge else np.empty(0, dtype=np.int64)
        good = np.flatnonzero(column >= candidates)
        if not len(good):
            return low, 0
        top = int(tops[good[0]])
        return a - top, int(self.depth[top, top - gap])


def round_cost(members: int, share: float) -> float:
    """Return x + y: c (K - t0) of a round whose two menus hold `members` sets together.

    x = ln(members / 2 / share) for the two Match failures, y = ln(1 / 2 / share) for the Far one.
    """
    x, y = round_logs(members, share)
    return x + y


def round_logs(members: int, share: float) -> tuple[float, float]:
    """Return (x, y) of :func:`round_cost`, both at least 0."""
    x = max(0.0, math.log(max(members, 1) / 2 / share))
    return x * (1 + ROOM) + ROOM, max(0.0, math.log(0.5 / share)) * (1 + ROOM) + ROOM


def two_laplace_sf(z: int, scale: float) -> float:
    """Return P(Z1 + Z2 >= z) for two discrete Laplace variables of ratio r = exp(-1/scale), z >= 1.

    The sum has pmf ((1-r)/(1+r))^2 r^|v| (|v| + (1+r^2)/(1-r^2)); summing the tail gives the closed form
    here, returned with a relative margin of 1e-9 upward.

    Example:
        >>> 0 < two_laplace_sf(40, 3.0) < two_laplace_sf(39, 3.0) < 1
        True
    """
    gap = -math.expm1(-1 / scale)
    r = 1 - gap
    spread = (1 + r * r) / (gap * (1 + r))
    tail = (z + spread) / gap + r / gap**2
    return (1 + ROOM) * (gap / (1 + r)) ** 2 * math.exp(-z / scale) * tail


def finish_cut(candidates: int, epsilon: float, t: int, t0: int, share: float) -> int | None:
    """Return the best cut of the counting finish, or None if epsilon is too small for it.

    Every candidate's mistakes are released by both parties with discrete Laplace noise of scale N/epsilon (a
    record moves each of N counts by at most 1); Match iff some noisy total is <= cut. A total of t0 exceeds
    the cut with probability P(S >= cut - t0 + 1), and N totals >= t all stay above it but for N P(S >= t -
    cut).
    """
    scale = candidates / epsilon * (1 + ROOM)

    def errors(cut: int) -> tuple[float, float]:
        return two_laplace_sf(cut - t0 + 1, scale), candidates * two_laplace_sf(t - cut, scale)

    low, high = t0, t - 1
    while low < high:
        cut = (low + high) // 2
        match, far = errors(cut)
        low, high = (low, cut) if match <= far else (cut + 1, high)
    best = min((low, max(t0, low - 1)), key=lambda cut: max(errors(cut)))
    return best if max(errors(best)) <= share else None


def finish_epsilon(candidates: int, t: int, t0: int, share: float) -> float:
    """Return an epsilon per party, nearly the least, at which the counting finish has a cut; inf if none."""
    low, high = 0.0, 1.0
    while finish_cut(candidates, high, t, t0, share) is None:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if finish_cut(candidates, middle, t, t0, share) is not None else (middle, high)
        )
    return high * (1 + ROOM)


@dataclass(frozen=True)
class Calibration:
    """The public constants of a calibrated run.

    Attributes:
        game: the budget game's table.
        cap: K, the error at which scores are capped.
        resolution: t = (d+1)(K-1) + 1.
        tolerance: t0.
        kappa: K - t0 less the grain of bottom's score: budgets times kappa / unit are the game's units.
    """

    game: Game
    cap: int
    resolution: int
    tolerance: int
    kappa: Fraction

    def units(self, epsilon: Fraction) -> int:
        """Return a budget in whole units of the game, rounded down."""
        return math.floor(epsilon * self.kappa / Fraction(self.game.unit))

    def price(self, members: int, share: float) -> tuple[Fraction, int]:
        """Return (c, bottom's score times GRAIN) for two menus of `members` sets together."""
        x, y = round_logs(members, share)
        c = Fraction(math.ceil((x + y) * (1 + ROOM) / float(self.kappa) * 2**40), 2**40)
        return c, GRAIN * self.tolerance + math.ceil(GRAIN * x * (1 + ROOM) / float(c))


@lru_cache(maxsize=32)
def calibrate(
    candidates: int,
    d: int,
    epsilon: Fraction,
    beta: Fraction,
    *,
    tolerance: int = 0,
    assumed: tuple[Cutting, ...] = (),
) -> Calibration:
    """Return the calibration with the least resolution that the budget game certifies.

    Args:
        candidates: N, the number of dichotomies.
        d: dimension.
        epsilon: each party's budget.
        beta: failure probability on each side.
        tolerance: t0.
        assumed: menus taken for granted (their failure is a third outcome); () certifies every path.

    Example:
        >>> calibrate(40150, 3, Fraction(1), Fraction(1, 10)).resolution <= 2700
        True
    """
    if candidates < 1:
        raise ArgumentError("candidates", "an integer >= 1", candidates)
    rounds = 10
    finish: dict[int, int] = {}
    unit = _unit(candidates, d, beta)
    for _ in range(30):
        share = float(beta) / rounds * (1 - ROOM)
        if not finish:
            finish = {n: _first_finish(n, d, share, unit) for n in range(1, MOST_COUNTED + 1)}
        table = game(candidates, d, share, unit, finish=tuple(sorted(finish.items())), assumed=assumed)
        depth = int(table.depth[table.start, table.start])
        if depth + 1 != rounds and (depth + 1 > rounds or rounds > depth + 3):
            rounds, finish = depth + 1, {}
            continue
        extra = math.ceil(Fraction(table.start * unit) / epsilon + Fraction(2, GRAIN))
        cap = extra + tolerance
        t = (d + 1) * (cap - 1) + 1
        kappa = extra - Fraction(2, GRAIN)
        exact = {n: _exact_finish(n, t, tolerance, share, float(kappa) / unit) for n in finish}
        short = {n: exact[n] for n in finish if exact[n] > finish[n]}
        if not short:
            return Calibration(table, cap, t, tolerance, kappa)
        finish = {n: max(finish[n], exact[n]) for n in finish}
    raise RuntimeError("The calibration did not settle.")  # pragma: no cover - depth and units only grow


def _unit(candidates: int, d: int, beta: Fraction) -> float:
    """Return the unit of budget: halving from N with Cover's menus takes about STEPS units."""
    total, n = 0.0, candidates
    while n:
        total += 2 * round_cost(2 * cover_pairs(n, d) + 1, float(beta) / 16)
        n //= 2
    return max(total / STEPS, 2.0**-10)


def _first_finish(n: int, d: int, share: float, unit: float) -> int:
    """Return a first guess of the finish's price in units: the gap is about (d+1)(K - t0)."""
    gap = 2_000_000
    epsilon = finish_epsilon(n, gap, 0, share)
    return math.ceil(1.005 * epsilon * gap / (d + 1) / unit)


def _exact_finish(n: int, t: int, t0: int, share: float, units: float) -> int:
    epsilon = finish_epsilon(n, t, t0, share)
    return 2**40 if math.isinf(epsilon) else math.ceil(epsilon * units * (1 + ROOM))


@lru_cache(maxsize=8)
def game(
    candidates: int,
    d: int,
    share: float,
    unit: float,
    *,
    finish: tuple[tuple[int, int], ...],
    assumed: tuple[Cutting, ...] = (),
) -> Game:
    """Return the table of the budget game up to the least diagonal budget that eliminates all candidates.

    One antidiagonal A + B = s at a time. On each cell a few round costs q near the one of the cell (A-1, B-1)
    are tried: every choice is a strategy, so the table is a lower bound whichever are tried.
    """
    prices, reach = _list_prices(candidates, d, share, unit)
    fixed = [(math.ceil(round_cost(2 * c.members, share) / unit), 2 * c.ratio) for c in assumed]
    edge = 64
    while edge <= MOST_EDGE:
        table = _fill(edge, candidates, prices=prices, reach=reach, finish=finish, fixed=fixed)
        if table is not None:
            size, depth, start = table
            return Game(size, depth, start, unit, share, assumed)
        edge *= 2
    raise CapacityError("candidates", "few enough for the budget game's table", candidates)


def _list_prices(
    candidates: int, d: int, share: float, unit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ascending (prices, reach): reach[i] is the largest N whose lists cost at most prices[i]."""

    def price(n: int) -> int:
        return math.ceil(round_cost(2 * cover_pairs(n, d) + 1, share) / unit)

    prices, reach = [], []
    n = 0
    while n < candidates:
        prices.append(price(n + 1))
        low, high = n + 1, candidates
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if price(middle) <= prices[-1] else (low, middle - 1)
        n = low
        reach.append(n)
    return np.array(prices, dtype=np.int64), np.array(reach, dtype=np.int64)


def _fill(
    edge: int,
    candidates: int,
    *,
    prices: NDArray[np.int64],
    reach: NDArray[np.int64],
    finish: tuple[tuple[int, int], ...],
    fixed: list[tuple[int, float]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], int] | None:
    size = np.zeros((edge + 1, edge + 1), dtype=np.int64)
    depth, chosen = np.zeros_like(size), np.zeros_like(size)
    for s in range(2 * edge + 1):
        a = np.arange(max(0, s - edge), min(edge, s) + 1)
        b = s - a
        value, rounds = np.zeros(len(a), dtype=np.int64), np.zeros(len(a), dtype=np.int64)
        for n, price in finish:
            good = (np.minimum(a, b) >= price) & (value < n)
            value[good], rounds[good] = n, 1
        guess = np.where((a > 0) & (b > 0), chosen[np.maximum(a - 1, 0), np.maximum(b - 1, 0)], 0)
        listed = np.full(len(a), -1, dtype=np.int64)
        best = guess
        for step in (-1, 0, 1, 2):
            at = np.clip(guess + step, 0, len(reach) - 1)
            total, deep = _split(size, depth, a, b, prices[at])
            new = np.minimum(reach[at], total + 1)
            best = np.where(new > listed, at, best)
            listed = np.maximum(listed, new)
            rounds, value = np.where(new > value, deep, rounds), np.maximum(value, new)
        chosen[a, b] = best
        for price, swell in fixed:
            total, deep = _split(size, depth, a, b, np.full(len(a), price))
            new = np.minimum((total / swell).astype(np.int64), candidates)
            rounds, value = np.where(new > value, deep, rounds), np.maximum(value, new)
        size[a, b], depth[a, b] = value, rounds
        if s % 2 == 0 and size[s // 2, s // 2] >= candidates:
            start = s // 2
            return size[: start + 1, : start + 1], depth[: start + 1, : start + 1], start
    return None


def _split(
    size: NDArray[np.int64],
    depth: NDArray[np.int64],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    q: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (S_first + S_second, rounds) of the better order at price q; -1 where a party cannot pay."""
    able = np.minimum(a, b) >= 2 * q
    a1, b1, q = np.where(able, a, 0), np.where(able, b, 0), np.where(able, q, 0)
    alice = size[a1 - 2 * q, b1] + size[a1 - q, b1 - 2 * q]
    bob = size[a1, b1 - 2 * q] + size[a1 - 2 * q, b1 - q]
    deep_a = np.maximum(depth[a1 - 2 * q, b1], depth[a1 - q, b1 - 2 * q])
    deep_b = np.maximum(depth[a1, b1 - 2 * q], depth[a1 - 2 * q, b1 - q])
    total = np.where(able, np.maximum(alice, bob), -1)
    return total, 1 + np.where(alice >= bob, deep_a, deep_b)
