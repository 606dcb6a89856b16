"""What happens next in halfspace elimination: a function of public facts, computed alike by both parties.

The facts are the candidates alive, what each party has left of its budget, and what is left of the failure
probability. The next step is a round (menus, price, bottom's score), the counting finish, or nothing: see
:mod:`geomdp.testers.elimination_plan` for the proof that these choices rest on.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CapacityError
from geomdp.geometry.cones import CuttingError
from geomdp.geometry.containers import MOST_LISTED, Containers, build, opposite_families
from geomdp.geometry.flats import column_basis
from geomdp.geometry.levels import LevelCells, level_cutting
from geomdp.geometry.subsets import cover_pairs, halfspace_subsets, line_count, maximal, pack
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
#: In four and more dimensions cutting takes far longer than listing up to this, with lines for candidates.
LISTED_HIGH = 4_000_000
#: The same for runs with assumed menus, which list only what cannot be cut; all others may need longer ones.
LISTED_ASSUMED = 4_000_000
#: Ratios of the menus that are tried, by dimension, the usual one first: small ones need fewer rounds, but
#: the number of cones grows like (2 ratio - 1)^(1-d).
RATIOS = {
    3: (Fraction(14, 25), Fraction(3, 5), Fraction(27, 50), Fraction(13, 20)),
    4: (Fraction(7, 10), Fraction(13, 20), Fraction(3, 4), Fraction(3, 5)),
    5: (Fraction(3, 4), Fraction(4, 5), Fraction(7, 10)),
}
#: Shares of the candidates that may cross a cell of a level cutting, as tried first.
SHARES_CROSSING = (Fraction(1, 7), Fraction(1, 10))
#: Failure probabilities that are tried for a round, as multiples of the calibration's share.
SHARES = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 1 / 32)
#: A pair of halves is taken at once if it leaves this share of the poorer budget unneeded.
COMFORT = 0.015
#: Of the rule by which a step follows from the public state: raised when code changes what it returns.
RULE = 2
_KEPT = 48


@dataclass(frozen=True)
class Round:
    """One round: who is asked first, what both may choose from, and what it costs.

    Attributes:
        first: "Alice" or "Bob"; the other is asked only after bottom.
        menus: each party's containers (an empty family stands for the one member that is empty).
        price: what bottom costs of the budget, c; a member costs `member_price`.
        member_price: what a member costs, 2c (the paper's constants, and concentrated privacy: the same).
        loss: the pure loss of the selection as a whole: noise scale = 2 * grain / loss.
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
    loss: Fraction
    concentrated: bool = False

    def stated(self, index: int) -> Fraction:
        """Return the pure loss that the message of an outcome states (index < 0: bottom)."""
        if self.concentrated:
            return self.loss
        return self.price if index < 0 else self.member_price

    @property
    def second(self) -> str:
        """The party that is asked after the first one's bottom."""
        return "Bob" if self.first == "Alice" else "Alice"


@dataclass(frozen=True)
class Finish:
    """The counting finish: every candidate's noisy mistakes, Match iff some noisy total is <= cut.

    Attributes:
        epsilon: the pure loss, from which the noise is scaled.
        cut: the largest noisy total that is a Match.
        price: what it costs of the budget: epsilon, or its rho.
    """

    epsilon: Fraction
    cut: int
    price: Fraction


@dataclass(frozen=True)
class State:
    """The public facts of a run.

    Attributes:
        alive: ascending indices of the candidates alive.
        left: what each party has left of its budget.
        risk: failure probability left on each side of the promise.
        rounds: number of rounds so far.
        lives: how many double bottoms will still be retried.
    """

    alive: NDArray[np.int64]
    left: dict[str, Fraction]
    risk: float
    rounds: int = 0
    lives: int = 0


def ratios(d: int) -> tuple[Fraction, ...]:
    """Return the ratios that are tried in dimension d."""
    return RATIOS[min(max(d, 3), 5)]


def candidate_vectors(weights: NDArray[Any], *, lifted: bool) -> NDArray[Any]:
    """Return the vectors that planes separate: r independent columns of the weights, then 1 if lifted.

    A map that is one-to-one on the candidates' span keeps all halfspace subsets, so columns that depend on
    others can go. Lifted vectors (w, 1) make planes through 0 of affine planes: see
    :mod:`geomdp.testers.elimination_plan` for domains that need them.

    Example:
        >>> candidate_vectors(np.array([[0, 0], [0, 2]]), lifted=True).tolist()
        [[0, 1], [2, 1]]
    """
    kept = np.ascontiguousarray(weights[:, list(column_basis(weights))])
    return np.hstack([kept, np.ones((len(kept), 1), dtype=kept.dtype)]) if lifted else kept


class Menus:
    """Builds the menus of candidate sets and remembers the latest ones (they depend on public facts only).

    Attributes:
        weights: (N, d) the candidates as classifiers.
        vectors: (N, dimension) the candidates as menus see them.
    """

    def __init__(self, weights: NDArray[Any], *, lifted: bool = False) -> None:
        self.weights = weights
        self.vectors = candidate_vectors(weights, lifted=lifted)
        self._memory: OrderedDict[Any, Any] = OrderedDict()

    @cached_property
    def digest(self) -> str:
        """A hash (32 hex digits) of the candidates in order, and of the rule's version and constants."""
        rule = (RULE, LISTED, LISTED_HIGH, LISTED_ASSUMED, MOST_LISTED, MOST_COUNTED, GRAIN)
        facts = (*rule, RATIOS, SHARES_CROSSING, SHARES, COMFORT, self.weights.shape)
        hashed = hashlib.sha256(repr(facts).encode())
        for row in self.weights.tolist():
            hashed.update(repr(row).encode())
        return hashed.hexdigest()[:32]

    def get(self, alive: NDArray[np.int64], most: int, limit: int, method: str) -> Containers:
        """Return the containers of the candidates alive for the given sizes."""

        def make() -> Containers:
            points = self.vectors[alive]
            if method != "list" or cover_pairs(*points.shape) * len(points) > MOST_LISTED:
                return build(points, most, limit, method=method, generic=True)
            subsets = pack(maximal(self._subsets(alive), most))
            return Containers(points, most, limit, "linear", "list", subsets)

        found: Containers = self._kept((alive.tobytes(), most, limit, method), make)
        return found

    def lines(self, alive: NDArray[np.int64]) -> int:
        """Return how many distinct lines the candidates alive span: only these cut the directions."""
        found: int = self._kept((alive.tobytes(), "lines"), lambda: line_count(self.vectors[alive]))
        return found

    def _subsets(self, alive: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return all generic halfspace subsets of the candidates alive: lists of any size are among them."""
        found: NDArray[np.bool_] = self._kept(
            (alive.tobytes(), "subsets"), lambda: halfspace_subsets(self.vectors[alive], generic=True)
        )
        return found

    def cells(self, alive: NDArray[np.int64], cross: int) -> LevelCells | None:
        """Return a level cutting of the candidates alive, None where `cross` is too small for one."""

        def make() -> LevelCells | None:
            try:
                return level_cutting(self.vectors[alive], cross)
            except CuttingError:
                return None

        found: LevelCells | None = self._kept((alive.tobytes(), cross), make)
        return found

    def opposite(
        self, alive: NDArray[np.int64], cells: LevelCells, limits: tuple[int, int]
    ) -> tuple[Containers, Containers]:
        """Return Alice's and Bob's families from a level cutting, for the given largest members.

        The party that may have the larger ones gets all that fit: a cell's two sets together miss a candidate
        once at most, so there are fewest members without it if one party has both.
        """
        turn = 1 if limits[0] >= limits[1] else -1

        def make() -> tuple[Containers, Containers]:
            return opposite_families(self.vectors[alive], cells, (limits[::turn][0], limits[::turn][1]))

        found: tuple[Containers, Containers] = self._kept((alive.tobytes(), cells.cross, limits), make)
        return found if turn == 1 else (found[1], found[0])

    def _kept(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._memory:
            self._memory[key] = make()
            while len(self._memory) > _KEPT:
                self._memory.popitem(last=False)
        self._memory.move_to_end(key)
        return self._memory[key]


def members(menu: Containers) -> int:
    """Return how many members of a menu can miss one and the same candidate."""
    return max(1, menu.most_missing)


def members_of(pair: tuple[Containers, Containers]) -> int:
    """Return :func:`members` of both parties' menus together."""
    return members(pair[0]) + members(pair[1])


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
        left = min(state.left.values())
        epsilon = plan.finish_loss(n, left)
        if epsilon > 0 and state.risk > 0:
            risk = state.risk if plan.game.far is None else min(state.risk, plan.game.share)
            cut = finish_cut(n, float(epsilon) * (1 - ROOM), plan.resolution, plan.tolerance, risk)
            if cut is not None:
                return Finish(epsilon, cut, left)
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
    """Yield pairs of menus, halves first, then the table's own proportions at the table's own prices."""
    n, d = len(state.alive), menus.vectors.shape[1]
    work = cover_pairs(n, d) * n
    first = work <= LISTED
    if not first and not plan.game.proved and work <= MOST_LISTED:
        first = cover_pairs(menus.lines(state.alive), d) * n <= LISTED_HIGH
    if first:
        yield from _sized(menus, state, plan, Fraction(1), "list")
    if plan.game.proved:
        yield from _levelled(menus, state, plan)
    else:
        for ratio in ratios(d):
            if int(ratio * n) > n // 2:
                yield from _sized(menus, state, plan, 2 * ratio, "cones")
    if not first and work <= (LISTED_ASSUMED if plan.game.assumed else MOST_LISTED):
        yield from _sized(menus, state, plan, Fraction(1), "list")


def _sized(menus: Menus, state: State, plan: Calibration, swell: Fraction, method: str) -> Iterator[_Pair]:
    """Yield pairs of one method: each party's halfspaces of at most some size, of n - 1 together."""
    n = len(state.alive)
    spare = int((swell - 1) * n) // 2

    def pair(most: int, *, early: bool = False) -> _Pair:
        sizes = most, n - 1 - most
        one, two = (menus.get(state.alive, size, size + spare, method) for size in sizes)
        return _Pair(one, two, early)

    try:
        even = pair(n // 2, early=True)
        yield even
        prices = [members(even.alice) + members(even.bob)]
        if method == "list":
            prices.append(2 * cover_pairs(n, menus.vectors.shape[1]) + 1)
        for both in prices:
            for largest_alice in _uneven(state, plan, both, n - 1 + 2 * spare):
                most = largest_alice - spare
                if 0 <= most <= n - 1 and most != n // 2:
                    yield pair(most)
    except CapacityError:
        return


def _levelled(menus: Menus, state: State, plan: Calibration) -> Iterator[_Pair]:
    """Yield pairs from level cuttings: usual shares halved, then every proved one as the table splits it."""
    n = len(state.alive)
    last: _Pair | None = None
    for share in SHARES_CROSSING:
        cells = menus.cells(state.alive, int(share * n))
        if cells is not None:
            total = n + cells.cross
            richer = 0 if state.left["Alice"] >= state.left["Bob"] else 1
            halves = (total // 2, total - total // 2)
            even = menus.opposite(state.alive, cells, (halves[1 - richer], halves[richer]))
            yield _Pair(*even, early=True)
            for most in _uneven(state, plan, members_of(even), total):
                last = _Pair(*menus.opposite(state.alive, cells, (most, total - most)), early=True)
                yield last
    if last is not None:  # nothing better follows: whatever can be paid is taken now
        yield _Pair(last.alice, last.bob)
    for cutting in plan.game.proved:
        cross = int((2 * cutting.ratio - 1) * n)
        cells = menus.cells(state.alive, cross) if n >= cutting.least else None
        if cells is not None:
            for most in _uneven(state, plan, cutting.both, n + cross):
                yield _Pair(*menus.opposite(state.alive, cells, (most, n + cross - most)))


def _uneven(state: State, plan: Calibration, both: int, total: int) -> Iterator[int]:
    """Yield the largest member's size for Alice, of `total` for both, as the table splits it at a price.

    The price is that of `both` members; the split is that of the leanest budgets (both cut by the same
    amount) at which the table still eliminates `total` candidates after a round, for either order. As the
    parts are rounded to the second party's favour within what each budget eliminates, both parts fit.
    """
    n = len(state.alive)
    game = plan.game.at(state.lives)
    edge = len(game.size) - 1
    c, _ = plan.price(both, plan.game.share)
    q = -plan.units(-plan.fees(c)[0])
    cost = plan.game.member * q
    a, b = (min(edge, plan.units(state.left[name])) for name in ("Alice", "Bob"))
    lean = min(a, b) - cost
    if lean < 0:
        return
    cut = np.arange(lean + 1)
    size = game.size
    orders = (
        (size[a - cost - cut, b - cut], size[a - q - cut, b - cost - cut]),
        (size[a - cost - cut, b - q - cut], size[a - cut, b - cost - cut]),
    )
    enough = np.ones(len(cut), dtype=bool)
    if game.after is not None:
        enough = game.after.size[a - q - cut, b - q - cut] >= n
    seen = set()
    for alice, bob in orders:
        good = np.flatnonzero((alice + bob >= total) & enough)
        at = int(good[-1]) if len(good) else 0
        most = int(alice[at]) * total // max(1, int(alice[at] + bob[at]))
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
    low, high = plan.fees(c)
    if min(state.left.values()) < high:
        return None
    step = Round(
        first,
        {first: pair[0], second: pair[1]},
        low,
        high,
        GRAIN,
        bottom,
        plan.cap,
        share,
        2 * c,
        plan.concentrated,
    )
    after: tuple[tuple[dict[str, Fraction], int], ...] = (
        ({first: state.left[first] - high, second: state.left[second]}, largest(pair[0])),
        ({first: state.left[first] - low, second: state.left[second] - high}, largest(pair[1])),
    )
    if state.lives:
        after += (({name: left - low for name, left in state.left.items()}, len(state.alive)),)
    margin, depth = 2**40, 0
    for i, (left, size) in enumerate(after):
        game = plan.game.at(state.lives - 1 if i == 2 else state.lives)
        j, rounds = game.margin(plan.units(left["Alice"]), plan.units(left["Bob"]), size)
        margin, depth = min(margin, j), max(depth, rounds)
    if margin >= 0 and depth * plan.game.share > (state.risk - share) * (1 - ROOM):
        return None
    return margin, step


def paper_step(menus: Menus, state: State, constants: PaperConstants, epsilon: Fraction) -> Round | None:
    """Return the paper's next round; None if the menu exceeds the bound that its constants rest on.

    Cost k/2 for bottom and K - u(C) for a member become scores 2u(C) and 2K - k: half units, sensitivity 2.
    """
    n, d = len(state.alive), menus.vectors.shape[1]
    method = "list" if cover_pairs(n, d) <= constants.members else "cones"
    menu = menus.get(state.alive, n // 2, 3 * n // 4, method)
    if max(1, len(menu)) > constants.members:
        return None
    loss = epsilon / constants.rounds
    cap = constants.k + 1
    bottom = 2 * cap - constants.k
    return Round("Alice", {"Alice": menu, "Bob": menu}, loss, loss, 2, bottom, cap, state.risk, loss)
