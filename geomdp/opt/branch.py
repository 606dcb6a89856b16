"""Lower bounds by deciding rows: where packings leave a gap, a row is taken to be right or to be wrong.

A row that is right becomes a hard row; one that is wrong becomes the hard row -z with the other strictness
and costs its weight. Each node is bounded by a packing of infeasible subsystems, whose sets are inherited.
The tree is finite at any degeneracy, since a node in which all rows are decided is feasible or not.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.box_tree import StoppedError
from geomdp.opt.certificate import BRANCH, CLOSED, PACKED, Lemma
from geomdp.opt.consistency import consistent
from geomdp.opt.hitting_set import Packing, denominator_of, pack_rows, subsets_lemma
from geomdp.opt.subsystems import Pool, Subsystem

#: What a fractional cover may differ from a whole one.
WHOLE = 1e-6


@dataclass
class Node:
    """One case: decided rows, what it costs, its packing, and its two children once it is cut."""

    state: NDArray[np.int64]
    cost: int
    packing: Packing | None = None
    empty: bool = False
    row: int = -1
    right: Node | None = None
    wrong: Node | None = None

    @property
    def bound(self) -> int:
        """The certified cost of the case; very large when no w belongs to it."""
        if self.empty:
            return 2**62
        return self.cost + (self.packing.bound if self.packing is not None else 0)


class BranchTree:
    """Best-first branching on rows.

    A row whose weight alone is the target or more is right wherever anything is left to prove: such rows come
    first, one below the other, and every other case is below them. The packings then have free use of them.

    Args:
        pool: the infeasible subsystems; its incumbent gives the target.
        stop: asked between linear programs.
        beat: told (lower bound, number of nodes) after each node; it may raise.

    Attributes:
        root: the case without decisions.
        first: the case below the heavy rows; its packing proves a first bound.
        numbers, cover: the sets of that packing, and the fractional cover that is dual to it.
        nodes: number of cases bounded so far.
    """

    def __init__(
        self, pool: Pool, stop: Callable[[], bool], beat: Callable[[int, int], None] | None = None
    ) -> None:
        self.pool, self.stop, self.beat = pool, stop, beat
        self.root = self.first = Node(np.zeros(pool.rows.m, dtype=np.int64), 0)
        for row in np.flatnonzero(self.target <= pool.rows.W).tolist():
            self.first.wrong = self._child(self.first, row, -1)
            self.first.right = self._child(self.first, row, 1)
            self.first.row, self.first = row, self.first.right
        self.numbers: list[int] = []
        self.cover = np.zeros(pool.rows.m)
        self.nodes = 0

    @property
    def target(self) -> int:
        """The cost to prove: the incumbent's."""
        return self.pool.incumbent.cost

    def pack_first(self, rounds: int = 10**6) -> int:
        """Pack below the heavy rows, from all sets found so far; return the bound proved.

        Args:
            rounds: covers to make at most.
        """
        self.numbers, self.cover = self._bound(self.first, list(range(len(self.pool.sets))), rounds)
        return min(self.first.bound, self.target)

    def run(self) -> int:
        """Branch until the incumbent is proved optimal or it is time to stop; return the proved bound."""
        if self.first.packing is None:
            self.pack_first()
        order = itertools.count()
        heap = [(self.first.bound, next(order), self.first, self.numbers, self.cover)]
        proved = self.first.bound
        while heap:
            bound, _, node, numbers, y = heapq.heappop(heap)
            proved = bound
            if self.beat is not None:
                self.beat(min(bound, self.target), self.nodes)
            if bound >= self.target or self.stop():
                break
            try:
                cases = self._cases(node, numbers, y)
            except StoppedError:
                break
            for child, sets, cover in cases:
                heapq.heappush(heap, (max(child.bound, bound), next(order), child, sets, cover))
        return min(proved, self.target)

    def _cases(
        self, node: Node, numbers: list[int], y: NDArray[np.float64]
    ) -> list[tuple[Node, list[int], NDArray[np.float64]]]:
        """Return what takes the place of a case: its two halves, or itself with a better bound.

        Raises:
            StoppedError: when it is time to stop.
        """
        row = self._undecided(node, numbers, y)
        if row is None:
            found = self._settled(node, y)
            if found is not None and found not in numbers:
                return [(node, *self._bound(node, [*numbers, found]))]
            if node.bound >= self.target:
                return [(node, numbers, y)]
            row = self._most_used(node, numbers)
        node.row = row
        node.right = self._child(node, row, 1)
        node.wrong = self._child(node, row, -1)
        cases = []
        for child in (node.right, node.wrong):
            kept = [k for k in numbers if child is node.right or row not in self.pool.sets[k].rows]
            cases.append((child, *self._bound(child, kept)))
        return cases

    def _child(self, node: Node, row: int, side: int) -> Node:
        state = node.state.copy()
        state[row] = side
        return Node(state, node.cost + (int(self.pool.rows.W[row]) if side < 0 else 0))

    def _bound(
        self, node: Node, inherited: list[int], rounds: int = 10**6
    ) -> tuple[list[int], NDArray[np.float64]]:
        """Pack over the open rows of a case; return the sets and the cover. A better packing is kept."""
        self.nodes += 1
        if node.cost >= self.target:
            return [], np.zeros(self.pool.rows.m)
        packing, numbers, y = pack_rows(
            self.pool, lambda: self.target - node.cost, node.state, inherited, self.stop, rounds=rounds
        )
        if packing is None:
            node.empty, node.packing = True, Packing(2**62, (numbers[0],), (1,))
        elif node.packing is None or packing.bound > node.packing.bound:
            node.packing = packing
        return numbers, y

    def _undecided(self, node: Node, numbers: list[int], y: NDArray[np.float64]) -> int | None:
        """Return the open row that is most undecided in the cover, or None when the cover is whole."""
        undecided = np.where(node.state == 0, np.minimum(y, 1.0 - np.minimum(y, 1.0)), 0.0)
        if undecided.max(initial=0.0) <= WHOLE:
            return None
        return int((undecided * (1.0 + self._use(node, numbers)) * self.pool.rows.W).argmax())

    def _most_used(self, node: Node, numbers: list[int]) -> int:
        """Return the open row that is in most sets, the heavier one of equals."""
        score = np.where(node.state == 0, self._use(node, numbers) + 1.0, 0.0)
        return int(np.lexsort((self.pool.rows.W, score))[-1])

    def _use(self, node: Node, numbers: list[int]) -> NDArray[np.float64]:
        """Return in how many of the sets each row is."""
        used = np.zeros(self.pool.rows.m)
        for k in numbers:
            used[list(self.pool.sets[k].rows)] += 1.0
        return used

    def _settled(self, node: Node, y: NDArray[np.float64]) -> int | None:
        """Decide in integers whether a whole cover does: return a set that it misses, or offer its w.

        Floats have found no set that the cover misses, and no w that is right outside it: one of the two is.

        Raises:
            StoppedError: when it is time to stop.
        """
        outside = np.flatnonzero((node.state != 0) | (y < 0.5))
        answer = consistent(self.pool.rows, outside, node.state, self._pause)
        if isinstance(answer, Subsystem):
            return self.pool.number_of(answer)
        self.pool.incumbent.offer(answer)
        return None

    def _pause(self) -> None:
        if self.stop():
            raise StoppedError

    def lemma(self, bound: int) -> Lemma:
        """Return the tree as a proof of ``bound``, without the cases that are not needed for it."""
        nodes: list[tuple[int, Packing | None]] = []
        rows: list[int] = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.cost >= bound:
                nodes.append((CLOSED, None))
            elif node.bound >= bound:
                nodes.append((PACKED, node.packing))
            elif node.right is not None and node.wrong is not None:
                nodes.append((BRANCH, None))
                rows.append(node.row)
                waiting += [node.wrong, node.right]
            else:
                raise AssertionError("a case that is open does not prove the bound")
        return subsets_lemma(self.pool.sets, bound, nodes, rows, denominator_of(self.pool.rows.W))
