r"""Multiplicative weights, planned: rounds, budget shares, and the error that is certified for them.

A party holds n records with shares P on U atoms (cell and label). Round i has a public distribution A_i,
starting at uniform. It selects a labelling h_i whose mistakes differ much between P and A_i, releases its
number of mistakes plus noise nu_i, and A_{i+1}(atom) is A_i(atom) exp(eta_i [h_i is wrong on the atom]),
normalised, eta_i = 4 (released share - A_i's share). What is published is the mean of A_1..A_T.

Error. Write p for the true share of mistakes of h_i, a for A_i's, v = nu_i/n, D_i = |p - a|. The relative
entropy of P to A_i falls by

    eta p - log(1 + a (e^eta - 1)) >= eta (p - a) - eta^2/8 = 2 (p - a + v)(p - a - v) = 2 (D_i^2 - v^2)

(Hoeffding's lemma; clipping the released share to [0, 1] only brings it closer to p). It starts at no more
than log U and stays >= 0, so sum D_i^2 <= (log U)/2 + sum v_i^2. With selection gaps G_i the largest error at
round i is at most D_i + G_i/n, and the mean distribution's largest error is at most the mean of those:

    error <= mean G_i + sqrt(n^2 (log U)/(2T) + mean nu_i^2)       mistakes, by Jensen's inequality.

Given the past, P(G_i >= x) <= (N - 1)/2 exp(-x/scale) for permute-and-flip among N labellings: G_i/scale is
dominated by log((N - 1)/2) plus an exponential variable, and the sum over rounds by T log((N - 1)/2) plus a
gamma variable of shape T.

Source: the mechanism is of Hardt, Ligett and McSherry; the step, the mean of gaps and all constants are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from geomdp.privacy.law import dlap_quantile
from geomdp.privacy.sampler import noise_scale

#: Scores count 1/GRAIN of a mistake; the rounding of predictions to half of that costs at most 2/GRAIN.
GRAIN = 32
#: Numbers of rounds and shares of the budget for selection that are compared.
ROUNDS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 32, 40, 50, 64, 90, 128, 180, 256)
SHARES = (Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(4, 5), Fraction(7, 8))
#: Share of the failure probability that selection gaps may use up; the rest is for the answers' noise.
SELECTING = Fraction(3, 4)


@dataclass(frozen=True)
class Schedule:
    """How one party runs multiplicative weights.

    Attributes:
        n: its number of records.
        atoms, queries: U and N.
        epsilon: its whole budget, divided equally among the rounds.
        rounds: T.
        share: part of each round's budget for the selection.
    """

    n: int
    atoms: int
    queries: int
    epsilon: Fraction
    rounds: int
    share: Fraction

    @property
    def selecting(self) -> Fraction:
        """Epsilon of one selection."""
        return self.share * self.epsilon / self.rounds

    @property
    def measuring(self) -> Fraction:
        """Epsilon of one noisy answer; T (selecting + measuring) = epsilon exactly."""
        return (1 - self.share) * self.epsilon / self.rounds

    @cached_property
    def selection_scale(self) -> Fraction:
        """Scale of permute-and-flip: each score moves by at most GRAIN, in any direction."""
        return noise_scale(2 * GRAIN, self.selecting)

    @cached_property
    def answer_scale(self) -> Fraction:
        """Scale of the noise on a number of mistakes, which moves by at most 1."""
        return noise_scale(1, self.measuring)

    def error(self, level: Fraction) -> float:
        """Return E with P(some labelling's mistakes are off by more than E) <= level, rounded up.

        Example:
            >>> few, many = (Schedule(1000, 8, 8, Fraction(1), T, Fraction(3, 4)) for T in (1, 64))
            >>> few.error(Fraction(1, 10)) < many.error(Fraction(1, 10))
            True
        """
        z = dlap_quantile((1 - SELECTING) * level / (2 * self.rounds), self.answer_scale) - 1
        step = math.sqrt(self.n**2 * math.log(self.atoms) / (2 * self.rounds) + z**2)
        return (self.gap(SELECTING * level) + step) * (1 + 1e-9) + 1e-6 + 2 / GRAIN

    def gap(self, level: Fraction) -> float:
        """Return x with P(mean of the selection gaps > x) <= level, in mistakes."""
        from scipy.special import gammainccinv

        if self.queries < 2:
            return 0.0
        beyond = float(gammainccinv(self.rounds, float(level))) * (1 + 1e-9)
        common = max(0.0, math.log((self.queries - 1) / 2))
        return float(self.selection_scale) / GRAIN * (common + beyond / self.rounds) * (1 + 1e-9)


@lru_cache(maxsize=64)
def best_schedule(n: int, atoms: int, queries: int, epsilon: Fraction, level: Fraction) -> Schedule:
    """Return the schedule of least certified error at a level."""
    options = [Schedule(n, atoms, queries, epsilon, rounds, share) for rounds in ROUNDS for share in SHARES]
    return min(options, key=lambda option: option.error(level))
