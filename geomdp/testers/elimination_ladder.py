r"""What each improvement of halfspace elimination is worth: the resolution with and without it.

Every switch of :class:`Gains` is one lemma of :mod:`geomdp.testers.elimination_plan`:

* ``linear``: menus of halfspaces through 0 in R^d in place of affine ones, whose planes live in R^(d+1).
* ``caratheodory``: one relation of d + 1 vectors in total, so t = (d+1) k + 1, not 2 (d+1) k + 1.
* ``asymmetric``: in Far only the safe party's bottom fails, which no menu's size enters; prices follow each
  round's own cost and the true number of rounds.
* ``flips``: permute-and-flip halves both tails of a selection.
* ``ratio``: members hold the share of the candidates that shrinks them most per price.
* ``finish``: few candidates are counted rather than cut.
* ``prices``: bottom costs c, a member 2c, and shares follow what both parties have left (the budget game).
* ``retries``: one double bottom is repeated before it is believed, where that helps.

All use the menus that are proved to exist (level cuttings for d <= 3, exact lists), so every line of
:func:`ladder` is a certified resolution; without ``prices`` a fixed schedule of rounds is paid for, in each
of which both parties spend 2c.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from geomdp.core.errors import ArgumentError
from geomdp.geometry.levels import level_cells
from geomdp.geometry.subsets import cover_pairs
from geomdp.testers.elimination_plan import (
    MOST_COUNTED,
    calibrate,
    finish_epsilon,
    paper_constants,
    round_logs,
)

#: Shares of the candidates that may cross a cell, as they are tried; the paper's eta = 1/4 is a share of 1/2.
SHARES = (Fraction(1, 2), *(Fraction(1, i) for i in range(3, 16)), Fraction(0))


@dataclass(frozen=True)
class Gains:
    """Which improvements are used; the names are those of the module's text."""

    linear: bool = True
    caratheodory: bool = True
    asymmetric: bool = True
    flips: bool = True
    ratio: bool = True
    finish: bool = True
    prices: bool = True
    retries: bool = True


def ladder(candidates: int, d: int, epsilon: Fraction, beta: Fraction) -> list[tuple[str, int]]:
    """Return (rung, resolution) from the paper's constants to all improvements, each rung adding one.

    Example:
        >>> rungs = ladder(174, 3, Fraction(1), Fraction(1, 10))
        >>> rungs[0][0], rungs[-1][0]
        ('paper', 'retries')
    """
    rungs = [("paper", paper_constants(candidates, d, epsilon, beta).resolution)]
    gains = Gains(*([False] * 8))
    rungs.append(("proved menus", resolution(candidates, d, epsilon, beta, gains)))
    for name in gains.__dataclass_fields__:
        gains = replace(gains, **{name: True})
        rungs.append((name, resolution(candidates, d, epsilon, beta, gains)))
    return rungs


def resolution(candidates: int, d: int, epsilon: Fraction, beta: Fraction, gains: Gains) -> int:
    """Return the certified resolution with some improvements only.

    Args:
        candidates: N.
        d: dimension of the candidates.
        epsilon: each party's budget.
        beta: failure probability on each side.
        gains: the switches; `prices` needs all before it, `retries` needs `prices`.

    Raises:
        ArgumentError: when ``gains`` are asked for one by one that only come together (`prices` and `retries`
            need all others).
    """
    if gains.prices or gains.retries:
        if gains not in (Gains(), Gains(retries=False)):
            raise ArgumentError("gains", "without `prices` and `retries`, or with all others", str(gains))
        tries = (0, 1) if gains.retries else (0,)
        return min(calibrate(candidates, d, epsilon, beta, retries=r).resolution for r in tries)
    shares = SHARES if gains.ratio else SHARES[:1]
    return min(_scheduled(candidates, d, (epsilon, beta), gains, share) for share in shares)


def menu(n: int, d: int, share: Fraction) -> tuple[int, int]:
    """Return (members of both parties together, largest member) of the cheaper kind of menu."""
    cells = level_cells(n, int(share * n), d) if share else None
    listed = 2 * cover_pairs(n, d) + 1
    if cells is None or 2 * cells + 1 >= listed:
        return listed, n // 2
    return 2 * cells + 1, (n + int(share * n)) // 2


def _schedule(n: int, d: int, share: Fraction, least: int) -> Iterator[int]:
    """Yield the numbers of members of rounds from n candidates down to at most `least`."""
    while n > least:
        members, n = menu(n, d, share)
        yield members


def _scheduled(
    candidates: int, d: int, privacy: tuple[Fraction, Fraction], gains: Gains, share: Fraction
) -> int:
    epsilon, beta = privacy
    space = d if gains.linear else d + 1
    factor = d + 1 if gains.caratheodory else 2 * (d + 1)
    best = _paid(list(_schedule(candidates, space, share, 0)), factor, epsilon, beta, gains)
    for n in range(1, MOST_COUNTED + 1) if gains.finish else ():
        rounds = list(_schedule(candidates, space, share, n))
        low, high = 2, best
        # the finish needs epsilon - (what the rounds cost): both fall as t grows
        while low < high:
            t = (low + high) // 2
            failure = beta / (len(rounds) + 1)
            left = float(epsilon) - finish_epsilon(n, t, 0, float(failure))
            fits = left > 0 and _paid(rounds, factor, Fraction(left), beta, gains, extra=1) <= t
            low, high = (low, t) if fits else (t + 1, high)
        best = min(best, low)
    return best


def _paid(
    rounds: list[int], factor: int, epsilon: Fraction, beta: Fraction, gains: Gains, *, extra: int = 0
) -> int:
    """Return t for a schedule of rounds, given by their members, with `extra` further failures to pay for."""
    failure = float(beta) / (len(rounds) + extra)
    if not gains.asymmetric:
        alpha = float(2 * len(rounds) / epsilon) * (math.log(max(rounds) + 1) + math.log(2 / failure))
        return factor * (math.ceil(2 * alpha) + 2) + 1
    costs = [sum(round_logs(members, failure, concentrated=not gains.flips)) for members in rounds]
    return factor * (math.ceil(2 * sum(costs) / float(epsilon) + 2**-9) - 1) + 1
