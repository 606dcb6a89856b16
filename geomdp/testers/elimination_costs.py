"""What the rounds and the counting finish of halfspace elimination cost, as logarithms of failure odds.

Proofs: :mod:`geomdp.testers.elimination_plan`.
"""

from __future__ import annotations

import math

#: Relative room left for float rounding in logarithms; far above 2^-50.
ROOM = 1e-9


def round_cost(members: int, share: float, *, concentrated: bool = False, far: float | None = None) -> float:
    """Return the price of bottom in a round whose two menus hold `members` sets together, as the game counts.

    In pure privacy that is x + y = c (K - t0), x = ln(members / 2 / share) for the two Match failures,
    y = ln(1 / 2 / share) for the Far one. In concentrated privacy the halves are missing (exponential
    mechanism), and the price is (x + y)^2 / 2 = (c^2 / 2) (K - t0)^2.
    """
    x, y = round_logs(members, share, concentrated=concentrated, far=far)
    return (x + y) ** 2 / 2 * (1 + ROOM) if concentrated else x + y


def round_logs(
    members: int, share: float, *, concentrated: bool = False, far: float | None = None
) -> tuple[float, float]:
    """Return (x, y) of :func:`round_cost`, both at least 0; `far` replaces the share in y."""
    half = 1 if concentrated else 2
    x = max(0.0, math.log(max(members, 1) / half / share))
    return x * (1 + ROOM) + ROOM, max(0.0, math.log(1 / half / (far or share))) * (1 + ROOM) + ROOM


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


def finish_cost(n: int, t: int, t0: int, share: float, concentrated: bool) -> float:
    """Return what the counting finish of n candidates costs a party: epsilon, or rho.

    n counts with noise of scale n / epsilon are epsilon-DP together, as a record moves each by at most 1.
    Each of them is (epsilon/n)-DP, hence (epsilon/n)^2 / 2-zCDP, and all n are epsilon^2 / (2n)-zCDP.
    """
    epsilon = finish_epsilon(n, t, t0, share)
    return epsilon**2 / (2 * n) * (1 + ROOM) if concentrated else epsilon


def far_share(rounds: int, retries: int, failure: float) -> float:
    """Return p, nearly the largest, with P(Bin(rounds, p) > retries) <= failure.

    In Far some party is safe in every round and returns bottom with probability at most p, whatever came
    before. A run that declares Match only after retries + 1 double bottoms errs if that happens retries + 1
    times in at most `rounds` rounds, and the number of times is at most binomial.

    Example:
        >>> far_share(10, 0, 0.1) < far_share(10, 1, 0.1) < 0.1
        True
    """

    def tail(p: float) -> float:
        below = sum(math.comb(rounds, i) * p**i * (1 - p) ** (rounds - i) for i in range(retries + 1))
        return 1 - below

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) <= failure * (1 - 1e-6) else (low, middle)
    return low
