"""Lower bounds by deciding rows: where packings leave a gap, a row is taken to be right or to be wrong.

A row that is right becomes a hard row; one that is wrong becomes the hard row -z with the other strictness
and costs its weight. Each node is bounded by a packing of infeasible subsystems, whose sets are inherited.
The tree is finite at any degeneracy, since a node in which all rows are decided is feasible or not.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geomdp.opt.certificate import BRANCH, CLOSED, PACKED, Lemma
from geomdp.opt.hitting_set import Packing, pack_rows, subsets_lemma
from geomdp.opt.subsystems import Pool


@dataclass
class Node:
    """One case: decided rows, what it costs, its packing, and its two children once it is cut."""

    state: NDArray[np.int64]
    cost: int
    inherited: list[int]
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

    Args:
        pool: the infeasible subsystems; its incumbent gives the target.
        stop: asked between linear programs.
        beat: told (lower bound, number of nodes) after each node; it may raise.
    """

    def __init__(
        self, pool: Pool, stop: Callable[[], bool], beat: Callable[[int, int], None] | None = None
    ) -> None:
        self.pool, self.stop, self.beat = pool, stop, beat
        self.root = Node(np.zeros(pool.rows.m, dtype=np.int64), 0, [])
        self.nodes = 0

    @property
    def target(self) -> int:
        """The cost to prove: the incumbent's."""
        return self.pool.incumbent.cost

    def run(self, start: tuple[Packing, list[int], NDArray[np.float64]] | None = None) -> int:
        """Branch until the incumbent is proved optimal or it is time to stop; return the proved bound.

        Args:
            start: what :func:`~geomdp.opt.hitting_set.pack_rows` gave for all rows open.
        """
        heap: list[tuple[int, int, Node, list[int], NDArray[np.float64]]] = []
        if start is None:
            numbers, y = self._bound(self.root)
        else:
            self.root.packing, numbers, y = start
        heapq.heappush(heap, (self.root.bound, 0, self.root, numbers, y))
        proved = self.root.bound
        while heap:
            bound, _, node, numbers, y = heapq.heappop(heap)
            proved = bound
            if self.beat is not None:
                self.beat(min(bound, self.target), self.nodes)
            if bound >= self.target or self.stop():
                break
            row = self._choose(node, numbers, y)
            if row is None:
                break
            node.row = row
            node.right = self._child(node, row, 1, numbers)
            node.wrong = self._child(node, row, -1, numbers)
            for child in (node.right, node.wrong):
                sets, cover = self._bound(child)
                child.inherited = sets
                heapq.heappush(heap, (max(child.bound, bound), self.nodes, child, sets, cover))
        return min(proved, self.target)

    def _child(self, node: Node, row: int, side: int, numbers: list[int]) -> Node:
        state = node.state.copy()
        state[row] = side
        sets = self.pool.sets
        kept = [k for k in numbers if side > 0 or row not in sets[k].rows]
        cost = node.cost + (int(self.pool.rows.W[row]) if side < 0 else 0)
        return Node(state, cost, kept)

    def _bound(self, node: Node) -> tuple[list[int], NDArray[np.float64]]:
        self.nodes += 1
        if node.cost >= self.target:
            return [], np.zeros(self.pool.rows.m)
        packing, numbers, y = pack_rows(
            self.pool, lambda: self.target - node.cost, node.state, node.inherited, self.stop
        )
        if packing is None:
            node.empty, node.packing = True, Packing(2**62, (numbers[0],), (1,))
        else:
            node.packing = packing
        return numbers, y

    def _choose(self, node: Node, numbers: list[int], y: NDArray[np.float64]) -> int | None:
        """Return the open row that is most undecided in the cover, or else is in most sets."""
        used = np.zeros(self.pool.rows.m)
        for k in numbers:
            used[list(self.pool.sets[k].rows)] += 1.0
        open_rows = node.state == 0
        used[~open_rows] = 0.0
        undecided = np.where(open_rows, np.minimum(y, 1.0 - np.minimum(y, 1.0)), 0.0)
        score = undecided * (1.0 + used) * self.pool.rows.W
        if score.max(initial=0.0) > 1e-6:
            return int(score.argmax())
        if used.max(initial=0.0) > 0.0:
            return int(used.argmax())
        left = np.flatnonzero(open_rows)
        if len(left) == 0:
            return None
        return int(left[self.pool.rows.W[left].argmax()])

    def lemma(self, bound: int) -> Lemma:
        """Return the tree as a proof of ``bound``, without the cases that are not needed for it."""
        nodes: list[tuple[int, Packing | None]] = []
        rows: list[int] = []

        def write(node: Node) -> None:
            if node.cost >= bound:
                nodes.append((CLOSED, None))
            elif node.bound >= bound:
                nodes.append((PACKED, node.packing))
            elif node.right is not None and node.wrong is not None:
                nodes.append((BRANCH, None))
                rows.append(node.row)
                write(node.right)
                write(node.wrong)
            else:
                raise AssertionError("a case that is open does not prove the bound")

        write(self.root)
        return subsets_lemma(self.pool, bound, nodes, rows)
