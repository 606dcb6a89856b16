"""What happens next in halfspace elimination: a function of public facts, computed alike by both parties.

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

#: Sets with (pairs of halfspace subsets) * (candidates) up to this are listed, larger ones cut by cones.
LISTED = 150_000
#: Ratios of the menus that are tried, by dimension, the usual one first: small ones need fewer rounds, but
#: the number of cones grows like (2 ratio - 1)^(1-d).
RATIOS = {
    3: (Fraction(14, 25), Fraction(3, 5), Fraction(27, 50), Fraction(13, 20)),
    4: (Fraction(7, 10), Fraction(13, 20), Fraction(3, 4), Fraction(3, 5)),
    5: (Fraction(3, 4), Fraction(4, 5), Fraction(7, 10)),
}
#: Failure probabilities that are tried for a round, as multiples of the calibration's share.
SHARES = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 1 / 32)
#: A pair of halves is taken at once if it leaves this share of the poorer budget unneeded.
COMFORT = 0.1
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


def ratios(d: int) -> tuple[Fraction, ...]:
    """Return the ratios that are tried in dimension d."""
    return RATIOS[min(max(d, 3), 5)]


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
    and any cheaper menu may. Plans without assumed menus never take any other round: candidates that can
    neither be cut nor be listed end the run without an answer. With assumed menus the best round that can
    be paid is taken.
    """
    n = len(state.alive)
    if n <= MOST_COUNTED:
        epsilon = min(state.left.values())
        if epsilon > 0 and state.risk > 0:
            cut = finish_cut(n, float(epsilon) * (1 - ROOM), plan.resolution, plan.tolerance, state.risk)
            if cut is not None:
                return Finish(epsilon, cut)
    best: tuple[int, Round] | None = None
    enough = COMFORT * min(plan.units(left) for left in state.left.values())
    for pair in _menu_pairs(menus, state, plan):
        for first in ("Alice", "Bob"):
            menu_first, menu_second = (pair.alice, pair.bob) if first == "Alice" else (pair.bob, pair.alice)
            for multiple in SHARES:
                rated = _rate(state, plan, first, (menu_first, menu_second), multiple * plan.game.share)
                if rated is not None and (best is None or rated[0] > best[0]):
                    best = rated
        if best is not None and best[0] >= (enough if pair.early else 0):
            return best[1]
    if plan.game.assumed and best is not None:
        return best[1]
    return None


@dataclass(frozen=True)
class _Pair:
    """Menus for the two parties; `early` if better ones may still follow."""

    alice: Containers
    bob: Containers
    early: bool = False


def _menu_pairs(menus: Menus, state: State, plan: Calibration) -> Iterator[_Pair]:
    """Yield pairs of menus: halves, then the table's own proportions, then other ratios and full lists."""
    n, d = len(state.alive), menus.weights.shape[1]
    pairs = cover_pairs(n, d)
    tries: list[tuple[Fraction, str]] = [(Fraction(1), "list")] if pairs * n <= LISTED else []
    tries += [(2 * ratio, "cones") for ratio in ratios(d) if int(ratio * n) > n // 2]
    tries += [(Fraction(1), "list")] if LISTED < pairs * n <= MOST_LISTED and not plan.game.assumed else []
    for swell, method in tries:
        spare = int((swell - 1) * n) // 2
        try:
            even = n // 2, (n - 1) - n // 2
            one, two = (menus.get(state.alive, most, most + spare, method) for most in even)
            yield _Pair(one, two, early=True)
            prices = [members(one) + members(two)] + ([2 * pairs + 1] if method == "list" else [])
            for both in prices:
                for most in _uneven(state, plan, both, n + 2 * spare):
                    sizes = most, n - 1 - most
                    one, two = (menus.get(state.alive, m, m + spare, method) for m in sizes)
                    yield _Pair(one, two)
        except CapacityError:
            continue


def _uneven(state: State, plan: Calibration, both: int, total: int) -> Iterator[int]:
    """Yield halfspace sizes for Alice in the table's proportions, for either order, at the price of `both`.

    Bob's size is N - 1 less Alice's. The proportions are those of the leanest budgets (both cut by the same
    amount) at which the table still eliminates `total` candidates after a round.
    """
    n, edge = len(state.alive), len(plan.game.size) - 1
    c, _ = plan.price(both, plan.game.share)
    q = -plan.units(-c)
    a, b = (min(edge, plan.units(state.left[name])) for name in ("Alice", "Bob"))
    lean = min(a, b) - 2 * q
    if lean < 0:
        return
    cut = np.arange(lean + 1)
    size = plan.game.size
    orders = (
        (size[a - 2 * q - cut, b - cut], size[a - q - cut, b - 2 * q - cut]),
        (size[a - 2 * q - cut, b - q - cut], size[a - cut, b - 2 * q - cut]),
    )
    seen = {n // 2}
    for alice, bob in orders:
        good = np.flatnonzero(alice + bob >= total)
        at = int(good[-1]) if len(good) else 0
        share = Fraction(int(alice[at]), max(1, int(alice[at] + bob[at])))
        most = min(n - 1, max(0, int(share * total) - (total - n) // 2))
        if most not in seen:
            seen.add(most)
            yield most


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
    return Round("Alice", {"Alice": menu, "Bob": menu}, loss, loss, 2, 2 * cap - constants.k, cap, state.risk)
