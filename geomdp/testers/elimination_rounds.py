"""What happens next in halfspace elimination: a function of public facts alone, computed alike by both parties.

The facts are the candidates alive, what each party has left of its budget, and what is left of the failure
probability. The next step is a round (menus, price, bottom's score), the counting finish, or nothing: see
:mod:`geomdp.testers.elimination_plan` for the proof that these choices rest on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.geometry.containers import MOST_LISTED, Containers, build
from geomdp.geometry.subsets import cover_pairs
from geomdp.testers.elimination_plan import (
    GRAIN,
    MOST_COUNTED,
    ROOM,
    Calibration,
    PaperConstants,
    finish_cut,
)

#: Sets with at most this many pairs of halfspace subsets are listed, larger ones cut by cones.
LISTED = 2_000
#: Ratios of the menus that are tried, the usual one first.
RATIOS = (Fraction(14, 25), Fraction(3, 5), Fraction(27, 50), Fraction(13, 20))
#: Failure probabilities that are tried for a round, as multiples of the calibration's share.
SHARES = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 1 / 32)
_KEPT = 48


@dataclass(frozen=True)
class Round:
    """One round: who is asked first, what both may choose from, and what it costs.

    Attributes:
        first: "Alice" or "Bob"; the other is asked only after bottom.
        menus: each party's containers (an empty family stands for the one member that is empty).
        price: c, the loss of bottom; a member costs `member_price`.
        member_price: the loss of a member, 2c (paper's constants: bottom costs the same).
        scale_loss: the loss epsilon for which the noise is scaled: noise scale = 2 * grain / scale_loss.
        grain: scores are multiplied by this.
        bottom: bottom's score times the grain.
        cap: K.
        share: the failure probability that this round may use.
    """

    first: str
    menus: dict[str, Containers]
    price: Fraction
    member_price: Fraction
    grain: int
    bottom: int
    cap: int
    share: float

    @property
    def second(self) -> str:
        """The party that is asked after the first one's bottom."""
        return "Bob" if self.first == "Alice" else "Alice"


@dataclass(frozen=True)
class Finish:
    """The counting finish: every candidate's noisy mistakes, Match iff some noisy total is <= cut."""

    epsilon: Fraction
    cut: int


@dataclass(frozen=True)
class State:
    """The public facts of a run.

    Attributes:
        alive: ascending indices of the candidates alive.
        left: what each party has left of its budget.
        risk: failure probability left on each side of the promise.
        rounds: number of rounds so far.
    """

    alive: NDArray[np.int64]
    left: dict[str, Fraction]
    risk: float
    rounds: int = 0


class Menus:
    """Builds the menus of candidate sets and remembers the latest ones (they depend on public facts only)."""

    def __init__(self, weights: NDArray[Any]) -> None:
        self.weights = weights
        self._memory: OrderedDict[tuple[bytes, int, int, str], Containers] = OrderedDict()

    def get(self, alive: NDArray[np.int64], most: int, limit: int, method: str) -> Containers:
        """Return the containers of the candidates alive for the given sizes."""
        key = (alive.tobytes(), most, limit, method)
        if key not in self._memory:
            self._memory[key] = build(self.weights[alive], most, limit, method=method, generic=True)
            while len(self._memory) > _KEPT:
                self._memory.popitem(last=False)
        self._memory.move_to_end(key)
        return self._memory[key]


def members(menu: Containers) -> int:
    """Return how many members of a menu can miss one and the same candidate."""
    return max(1, menu.most_missing)


def largest(menu: Containers) -> int:
    """Return the largest member's number of candidates."""
    return int(menu.sizes.max()) if len(menu) else 0


def next_step(menus: Menus, state: State, plan: Calibration) -> Round | Finish | None:
    """Return the calibrated protocol's next step; None if what is left pays for nothing.

    Proof note. Precondition: S(A, B) >= |alive| at both budgets (the state's, in units) and the risk covers
    the table's depth there. A finish is sure to be right within the risk. A round is taken only if, after
    either party's member, the precondition holds again; at the table's own prices the exact lists do that,
    and any cheaper menu may. Certified plans (no assumed menus) never take any other round: where none can
    be built, CapacityError is raised. With assumed menus the best round that can be paid is taken.

    Raises:
        CapacityError: when a certified run meets candidates that can neither be cut nor be listed.
    """
    n = len(state.alive)
    if n <= MOST_COUNTED:
        epsilon = min(state.left.values())
        if epsilon > 0 and state.risk > 0:
            cut = finish_cut(n, float(epsilon) * (1 - ROOM), plan.resolution, plan.tolerance, state.risk)
            if cut is not None:
                return Finish(epsilon, cut)
    best: tuple[int, Round] | None = None
    for pair in _menu_pairs(menus, state, plan):
        for first in ("Alice", "Bob"):
            for multiple in SHARES:
                rated = _rate(state, plan, first, pair, multiple * plan.game.share)
                if rated is not None and (best is None or rated[0] > best[0]):
                    best = rated
        if best is not None and best[0] >= 0:
            return best[1]
    if plan.game.assumed:
        return None if best is None else best[1]
    raise CapacityError(
        "domain",
        f"one whose candidates can be cut, or listed with at most {MOST_LISTED} pairs",
        f"one with {n} candidates that need {cover_pairs(n, menus.weights.shape[1])}",
        "Use the tester that may answer Inconclusive, or a coarser grid.",
    )


def _menu_pairs(
    menus: Menus, state: State, plan: Calibration
) -> Iterator[tuple[Containers, Containers]]:
    """Yield menus for (first, second), the usual choice first; later ones are needed on tight budgets only."""
    n, d = len(state.alive), menus.weights.shape[1]
    pairs = cover_pairs(n, d)
    if pairs <= LISTED:
        yield (
            menus.get(state.alive, n // 2, n // 2, "list"),
            menus.get(state.alive, (n - 1) - n // 2, (n - 1) - n // 2, "list"),
        )
    for ratio in RATIOS:
        limit = int(ratio * n)
        if limit > n // 2 and (pairs > LISTED or plan.game.assumed):
            try:
                menu = menus.get(state.alive, n // 2, limit, "cones")
            except CapacityError:
                continue
            yield menu, menu
    for one, two in _uneven(state, plan):
        if pairs <= MOST_LISTED:
            yield menus.get(state.alive, one, one, "list"), menus.get(state.alive, two, two, "list")


def _uneven(state: State, plan: Calibration) -> Iterator[tuple[int, int]]:
    """Yield (most_first, most_second), together n - 1, in the proportions of the table's own strategy."""
    n, edge = len(state.alive), len(plan.game.size) - 1
    units = {name: min(edge, plan.units(left)) for name, left in state.left.items()}
    for first, second in (("Alice", "Bob"), ("Bob", "Alice")):
        seen = set()
        for q in range(min(units.values()) // 2, 0, -1):
            one = _size(plan, first, units[first] - 2 * q, units[second])
            two = _size(plan, first, units[first] - q, units[second] - 2 * q)
            if one + two >= n - 1:
                spare = one + two - (n - 1)
                cut = min(one, max(spare // 2, spare - two))
                if (one - cut) not in seen and len(seen) < 3:
                    seen.add(one - cut)
                    yield one - cut, n - 1 - (one - cut)


def _size(plan: Calibration, first: str, one: int, two: int) -> int:
    a, b = (one, two) if first == "Alice" else (two, one)
    return int(plan.game.size[a, b])


def _rate(
    state: State, plan: Calibration, first: str, pair: tuple[Containers, Containers], share: float
) -> tuple[int, Round] | None:
    """Return (margin, round), or None where a party could not pay or the risk is used up.

    The margin is by how many units both budgets may still shrink, after the worse of the two members.
    """
    second = "Bob" if first == "Alice" else "Alice"
    if share > state.risk * (1 - ROOM):
        return None
    c, bottom = plan.price(members(pair[0]) + members(pair[1]), share)
    if min(state.left.values()) < 2 * c:
        return None
    step = Round(first, {first: pair[0], second: pair[1]}, c, 2 * c, GRAIN, bottom, plan.cap, share)
    after = (
        ({first: state.left[first] - 2 * c, second: state.left[second]}, largest(pair[0])),
        ({first: state.left[first] - c, second: state.left[second] - 2 * c}, largest(pair[1])),
    )
    margin, depth = 2**40, 0
    for left, size in after:
        j, rounds = plan.game.margin(plan.units(left["Alice"]), plan.units(left["Bob"]), size)
        margin, depth = min(margin, j), max(depth, rounds)
    if margin >= 0 and depth * plan.game.share > (state.risk - share) * (1 - ROOM):
        return None
    return margin, step


def paper_step(menus: Menus, state: State, constants: PaperConstants, epsilon: Fraction) -> Round | None:
    """Return the paper's next round; None if the menu exceeds the bound that its constants rest on.

    Cost k/2 for bottom and K - u(C) for a member become scores 2u(C) and 2K - k: half units, sensitivity 2.
    """
    n, d = len(state.alive), menus.weights.shape[1]
    method = "list" if cover_pairs(n, d) <= constants.members else "cones"
    menu = menus.get(state.alive, n // 2, 3 * n // 4, method)
    if max(1, len(menu)) > constants.members:
        return None
    loss = epsilon / constants.rounds
    cap = constants.k + 1
    return Round(
        "Alice", {"Alice": menu, "Bob": menu}, loss, loss, 2, 2 * cap - constants.k, cap, state.risk
    )
