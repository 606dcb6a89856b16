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

Labels and tolerance. The bound (d+1) k cannot be lowered, not even for disjoint labels: a plane of eight
points with labels - for Alice and + for Bob attains it. So t rises by d + 1 with every unit of tolerance t0,
as a perfect candidate may now have t0 mistakes with either party: K = k + 1 rises by 1, K - t0 stays.

Other domains. In no open halfspace, there are dichotomies whose candidates vanish on records, even w = 0.
There the candidates are lifted to (w, 1) in R^(d+1), and the same statement holds with d + 1 for
d, for any representatives: the last coordinate makes both sides of a relation sum l_a (a, 1) = sum m_b (b, 1)
non-trivial, of at most d + 2 vectors, and v = sum l_a a errs on a record only if one of the a does: if all
<a, x> >= 0 then <v, x> >= 0, if all <a, x> < 0 then <v, x> < 0. So opt <= (d+2) k.

Round in Far (opt >= t = (d+1) k + 1). Let Alice's members cover every generic halfspace of at most s_A
candidates and Bob's every one of at most s_B, with s_A + s_B >= N - 1. For a separating z (perturbed to be
generic) either |H_z| <= s_A or |H_-z| <= N - s_A - 1 <= s_B. Hence one party has a member with score K; a
party without low-error candidates has one in any non-empty menu. That party selects bottom with probability
at most exp(-c (K - tau)) / 2: two exponential races. Whoever selects a member makes progress.

Round in Match (some w* has f_A(w*) + f_B(w*) <= t0). Members without w* score at most t0, so a party selects
one with probability at most M exp(-c (tau - t0)) / 2, M the number of members that miss w*.

Retries. With F retries a run declares Match only at double bottom number F + 1, and a double bottom before
repeats the round at its price. In Far every round fails with probability at most p, so the run errs if a
binomial number exceeds F: p may be far larger than beta / rounds (:func:`far_share`). Each party needs c more
for every retry.

Price. Replacing one record moves every u(C) by at most 1 and leaves tau fixed. Permute-and-flip is the race
of score + exponential noise of rate c, so P(bottom) changes by at most e^c (shift one noise) and any
P(member) by at most e^(2c). In pure privacy the log ratios of a transcript add up, so a party pays c for
bottom and 2c for a member, whichever occurs, and must be able to pay 2c when it is asked.

Budget game. x + y with M exp(-x)/2 <= b1, exp(-y)/2 <= b2 and c = (x + y)/(K - t0): budgets are measured in
multiples of 1/(K - t0). Two kinds of menus exist for every set of candidates. The exact list of the generic
halfspace subsets needs at most 2 * cover_pairs(N, d) + 1 members for both parties together; it is written out
for N <= most_listed(d). For d <= 3 level cuttings (:mod:`geomdp.geometry.levels`) with M cells need 2 M + 1
members for both, M independent of N, of (1 + share) N candidates together: ``proved_cuttings``. The function
``game`` computes S(A, B), a number of candidates that any Far run with budgets A and B left is sure to
eliminate, as the largest N with N - 1 <= S(A - 2q, B) + S(A - q, B - 2q) at a list's price q, or the same
with (1 + share) N at a cutting's price (Alice asked first), or the mirror image. For d <= 3 both kinds can
always be built, so the resolution holds whatever menus occur. For d >= 4 the lists of every length enter.
Source: the shape of the protocol is (paper, Algorithm 3, Theorem 4.7); prices, budget game and constants are
ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from geomdp.core.errors import ArgumentError, CapacityError
from geomdp.geometry.subsets import cover_pairs
from geomdp.testers.elimination_costs import (
    ROOM,
    far_share,
    finish_cost,
    finish_cut,
    finish_epsilon,
    round_cost,
    round_logs,
    two_laplace_sf,
)
from geomdp.testers.elimination_game import Cutting, Game, game, most_listed, proved_cuttings

__all__ = [
    "GRAIN",
    "MOST_COUNTED",
    "ROOM",
    "Calibration",
    "Cutting",
    "Game",
    "PaperConstants",
    "calibrate",
    "far_share",
    "finish_cost",
    "finish_cut",
    "finish_epsilon",
    "most_listed",
    "paper_constants",
    "proved_cuttings",
    "round_cost",
    "round_logs",
    "two_laplace_sf",
]

#: Scores are multiplied by this, so that bottom's score can be set finely; the noise grows with it.
GRAIN = 1024
#: Steps of budget that the game's table distinguishes on its diagonal, about.
STEPS = 700
#: Tables that are tried before a calibration is given up, and those of them that price the counting finish.
MOST_ATTEMPTS, MOST_FINISHES = 40, 24
#: Largest number of candidates for the counting finish.
MOST_COUNTED = 16
#: The resolution at which a first guess of the finish's price is made; it hardly depends on it.
_GAP = 2_000_000


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
class Calibration:
    """The public constants of a calibrated run.

    Attributes:
        game: the budget game's table.
        cap: K, the error at which scores are capped.
        resolution: t = (d+1)(K-1) + 1.
        tolerance: t0.
        kappa: K - t0 less the grain of bottom's score: budgets times kappa / unit are the game's units (with
            kappa^2 for kappa in concentrated privacy).
        budget: each party's budget, epsilon or rho.
    """

    game: Game
    cap: int
    resolution: int
    tolerance: int
    kappa: Fraction
    budget: Fraction

    @property
    def concentrated(self) -> bool:
        """True if budgets are those of zero-concentrated privacy."""
        return self.game.member == 1

    def units(self, budget: Fraction) -> int:
        """Return a budget in whole units of the game, rounded down."""
        power = 2 if self.concentrated else 1
        return math.floor(budget * self.kappa**power / Fraction(self.game.unit))

    def fees(self, c: Fraction) -> tuple[Fraction, Fraction]:
        """Return what bottom and a member cost a party at the rate c.

        Pure: c and 2c. Concentrated: the exponential mechanism on scores that move by at most 1 has log
        ratios within an interval of length 2c, so it is (c^2 / 2)-zCDP, whatever it returns.
        """
        return (c**2 / 2, c**2 / 2) if self.concentrated else (c, 2 * c)

    def finish_loss(self, candidates: int, budget: Fraction) -> Fraction:
        """Return the epsilon at which N counts may be released from a budget; see :func:`finish_cost`."""
        if not self.concentrated:
            return budget
        scaled = 2 * candidates * max(budget, Fraction(0)) * 2**80
        return Fraction(math.isqrt(scaled.numerator // scaled.denominator), 2**40)

    def price(self, members: int, share: float) -> tuple[Fraction, int]:
        """Return (c, bottom's score times GRAIN) for two menus of `members` sets together."""
        x, y = round_logs(members, share, concentrated=self.concentrated, far=self.game.far)
        grid = 2 ** (40 + math.ceil(self.kappa / Fraction(self.game.unit)).bit_length())
        c = Fraction(math.ceil(Fraction((x + y) * (1 + ROOM)) / self.kappa * grid), grid)
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
    concentrated: bool = False,
    retries: int = 0,
) -> Calibration:
    """Return the calibration with the least resolution that the budget game certifies.

    Args:
        candidates: N, the number of dichotomies.
        d: dimension.
        epsilon: each party's budget; rho of zero-concentrated privacy if `concentrated`.
        beta: failure probability on each side.
        tolerance: t0.
        assumed: menus taken for granted (their failure is a third outcome); () certifies every path.
        concentrated: price by rho, select by the exponential mechanism.
        retries: double bottoms that are repeated before one of them is believed.

    The share of a round is beta / rounds, and the prices of rounds and of the counting finish follow from
    it: whatever number of rounds the resulting table needs, at most that many must have been shared out. A
    number that was once too small is not tried again, and after MOST_FINISHES attempts the table does
    without the counting finish, whose price also depends on the resolution. So the attempts end.

    Raises:
        ArgumentError: unless ``candidates`` is an integer >= 1.
        CapacityError: on more candidates than the table can hold, or that need ever more rounds.

    Example:
        >>> calibrate(40150, 3, Fraction(1), Fraction(1, 10)).resolution <= 2700
        True
    """
    if candidates < 1:
        raise ArgumentError("candidates", "an integer >= 1", candidates)
    rounds, floor = 10, 0
    finish: dict[int, int] | None = None
    unit = _unit(candidates, d, beta, concentrated=concentrated)
    power = 2 if concentrated else 1
    for attempt in range(MOST_ATTEMPTS):
        share = float(beta) / rounds * (1 - ROOM)
        if attempt >= MOST_FINISHES:
            finish = {}
        elif finish is None:
            guess = 1.005 * (_GAP / (d + 1)) ** power / unit
            finish = {
                n: math.ceil(guess * finish_cost(n, _GAP, 0, share, concentrated))
                for n in range(1, MOST_COUNTED + 1)
            }
        table = game(
            candidates,
            d,
            share,
            unit,
            finish=tuple(sorted(finish.items())),
            assumed=assumed,
            concentrated=concentrated,
            retries=retries,
            far=far_share(rounds, retries, float(beta) - share) if retries else None,
        )
        needed = 1 + int(table.depth[table.start, table.start])
        if needed > rounds:
            rounds, floor, finish = needed, needed, None
            continue
        if rounds > max(needed + 2, floor):
            rounds, finish = max(needed, floor), None
            continue
        extra = _least_cap(Fraction(table.start * unit) / epsilon, concentrated=concentrated)
        cap = extra + tolerance
        t = (d + 1) * (cap - 1) + 1
        kappa = extra - Fraction(2, GRAIN)
        exact = {
            n: _rounded_up(finish_cost(n, t, tolerance, share, concentrated) * float(kappa) ** power / unit)
            for n in finish
        }
        if all(exact[n] <= finish[n] for n in finish):
            return Calibration(table, cap, t, tolerance, kappa, epsilon)
        finish = {n: max(finish[n], exact[n]) for n in finish}
    raise CapacityError("candidates", "few enough for the number of rounds to settle", candidates)


def _least_cap(least: Fraction, *, concentrated: bool) -> int:
    """Return the least K - t0 at which the table's start costs a party no more than its budget.

    Args:
        least: the start's budget in multiples of 1 / (K - t0), or of its square if `concentrated`, divided
            by the party's.
    """
    if concentrated:
        least = Fraction(math.isqrt(math.ceil(least * 2**80)) + 1, 2**40)
    return math.ceil(least + Fraction(2, GRAIN))


def _unit(candidates: int, d: int, beta: Fraction, *, concentrated: bool) -> float:
    """Return the unit of budget: halving from N with Cover's menus takes about STEPS units."""
    total, n = 0.0, candidates
    while n:
        cost = round_cost(2 * cover_pairs(n, d) + 1, float(beta) / 16, concentrated=concentrated)
        total += cost if concentrated else 2 * cost
        n //= 2
    return max(total / STEPS, 2.0**-10)


def _rounded_up(units: float) -> int:
    return 2**40 if math.isinf(units) else math.ceil(units * (1 + 4 * ROOM) + ROOM)
