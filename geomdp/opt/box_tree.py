"""Lower bounds by a tree of boxes that covers all directions of w.

Every w != 0 is, up to a positive factor, on one of the 2 r facets of a cube. In a box of a facet a row whose
inner product keeps its sign is right or wrong for the whole box; the others are open. A box is closed when

* its wrong rows cost enough already;
* disjoint sets of open rows, each of them infeasible inside the box, cost the rest (*packing*);
* its open rows span a space of lower rank, so that they cost as much as their own optimum there (*lemma*): a
  sweep for rank 2, another box tree for higher ranks.

Otherwise it is halved. In general position the halving ends because a small box meets independent rows only;
in special position it ends because the open rows of a small box all vanish at one w: lower rank.
The rows are whitened first (w = T v with an integer T): without it the cells are long and thin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import products
from geomdp.exact.approximate import as_floats
from geomdp.opt.certificate import PRUNE, Lemma
from geomdp.opt.faces import faces_optimum, sweeps
from geomdp.opt.planar import plane_optimum
from geomdp.opt.rows import CUBE_BITS, Rows, box_rows, kernel_of, largest, pivots_modulo

#: The open rows of a box, above which no packing is tried.
LEAF = 16

#: Side (in units of 2^-CUBE_BITS) below which a box is not halved.
NARROWEST = 8

#: Work of one call of the compiled search (open rows visited), about 0.1 s.
SLICE = 4_000_000

#: Planar sweeps allowed for the rows open in a box that is too narrow.
BOX_SWEEPS = 2_000

#: Rows below this have exact int64 arithmetic in the plane rule.
PLANE_ENTRIES = 2**19


class StoppedError(Exception):
    """The time is over; the tree so far is a proof of a smaller bound."""


@dataclass
class Workshop:
    """What the trees of one proof share: the rows, the lemmas so far, and when to stop.

    Attributes:
        rows: all the rows.
        lemmas: proved lemmas, in order.
        heartbeat: called whenever the compiled search of a tree returns, ten times a second or more often,
            with the fraction of the tree that is done, or None in a tree about some rows only. It may raise
            :class:`StoppedError`.
    """

    rows: Rows
    lemmas: list[Lemma] = field(default_factory=list)
    heartbeat: Callable[[float | None], None] | None = None
    known: dict[bytes, tuple[int, int, NDArray[Any] | None]] = field(default_factory=dict)

    def beat(self, fraction: float | None) -> None:
        """Call the heartbeat, if there is one."""
        if self.heartbeat is not None:
            self.heartbeat(fraction)

    def add(self, lemma: Lemma) -> int:
        """Append a lemma and return its number."""
        self.lemmas.append(lemma)
        return len(self.lemmas) - 1


def whitening(Z: NDArray[Any], seed: int = 0) -> NDArray[np.int64]:
    """Return an invertible integer T near a multiple of (Z^T Z)^(-1/2).

    A little noise is added, so that points where many planes meet do not lie on the boundaries of boxes.

    Example:
        >>> T = whitening(np.array([[100, 1], [-100, 1], [50, -1]]))
        >>> bool(abs(T[0, 0]) < abs(T[1, 1]))
        True
    """
    F = as_floats(Z)
    F = F / max(1.0, float(np.abs(F).max(initial=0.0)))
    r = F.shape[1]
    rng = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(F.T @ F / len(F))
    for scale in (2.0**10, 2.0**14):
        if values[0] > 1e-14 * values[-1]:
            root = vectors @ np.diag(values**-0.5) @ vectors.T
            root = root * (scale / np.abs(root).max(axis=0).min())
        else:
            root = scale * np.eye(r)
        if np.abs(root).max() >= 2.0**40:
            root = scale * np.eye(r)
        noise = rng.uniform(-0.06, 0.06, (r, r))
        T: NDArray[np.int64] = np.rint(root + np.abs(root).max(axis=0) * noise).astype(np.int64)
        if len(pivots_modulo(T)[1]) == r:
            return T
    return np.eye(r, dtype=np.int64)


@dataclass
class Stack:
    """The boxes from a facet down to the present one; row ``level`` of each array is about the level's box.

    Attributes:
        idx, mid, rad: open rows, and middle and reach of their values, of all levels one after the other.
        off, cnt: where a level's open rows begin, and how many they are.
        cost: what the wrong rows cost.
        stage: how many halves have been visited.
        cut: the axis that is cut.
        cen, ext: centre and half side, in units of 2^-CUBE_BITS.
    """

    idx: NDArray[np.int32]
    mid: NDArray[np.int64]
    rad: NDArray[np.int64]
    off: NDArray[np.int64]
    cnt: NDArray[np.int64]
    cost: NDArray[np.int64]
    stage: NDArray[np.int64]
    cut: NDArray[np.int64]
    cen: NDArray[np.int64]
    ext: NDArray[np.int64]

    @classmethod
    def for_rows(cls, m: int, r: int) -> Stack:
        """Return room for m rows of rank r; it is touched only as far as it is used."""
        levels = (r - 1) * (CUBE_BITS - 2) + 2
        size = m * levels + 1
        wide = (np.empty(size, dtype=np.int64) for _ in range(2))
        lines = (np.zeros(levels, dtype=np.int64) for _ in range(5))
        boxes = (np.zeros((levels, r), dtype=np.int64) for _ in range(2))
        return cls(np.empty(size, dtype=np.int32), *wide, *lines, *boxes)

    @property
    def all(self) -> tuple[NDArray[Any], ...]:
        """The arrays in the order in which the compiled search takes them."""
        return (*self.rows, self.cost, self.stage, self.cut, self.cen, self.ext)

    @property
    def rows(self) -> tuple[NDArray[Any], ...]:
        """The arrays of open rows."""
        return (self.idx, self.mid, self.rad, self.off, self.cnt)

    @property
    def uncut(self) -> tuple[NDArray[Any], ...]:
        """All arrays but the axes."""
        return (*self.rows, self.cost, self.stage, self.cen, self.ext)

    def open_rows(self, level: int) -> NDArray[np.int64]:
        """Return the open rows of a level, ascending."""
        return np.sort(self.idx[self.off[level] : self.off[level] + self.cnt[level]]).astype(np.int64)


class BoxTree:
    """One tree: a proof that chosen rows cost at least ``target`` for every w, built depth first.

    Args:
        workshop: shared state; lemmas that this tree cites are added to it.
        index: the rows, or None for all of them.
        target: the cost to prove; it may be lowered on the way.
        offer: told every candidate w (all columns); returns the new target, or None to give up.
        leaf: open rows up to which packings are tried.
        seed: of the noise in the transform.
    """

    def __init__(
        self,
        workshop: Workshop,
        index: NDArray[np.int64] | None,
        target: int,
        offer: Callable[[list[int]], int | None],
        *,
        leaf: int = LEAF,
        seed: int = 0,
    ) -> None:
        self.workshop, self.index, self.target, self.offer = workshop, index, target, offer
        rows = workshop.rows if index is None else workshop.rows.subset(index)
        self.rows = rows
        self.dropped, self.kernel = kernel_of(rows.Z)
        self.columns = [c for c in range(rows.d) if c not in self.dropped]
        self.X = np.ascontiguousarray(rows.Z[:, self.columns])
        self.r = len(self.columns)
        self.leaf, self.seed = leaf, seed
        self.done = False
        self.open_bound: int | None = None
        self.nodes = 0
        self.facets = [(c, s) for c in range(self.r) for s in (1, -1)]
        self.facet, self.entered = -1, False
        self._set_up()

    def _set_up(self) -> None:
        from geomdp.opt import _box_kernels as k

        rows, r, m = self.rows, self.r, self.rows.m
        self.T = whitening(self.X, self.seed)
        self.Y, self.E = box_rows(self.X, self.T)
        self.strict = rows.strict.astype(np.int64)
        self.small = self.X.dtype != object and largest(self.X) < PLANE_ENTRIES
        self.XF = as_floats(self.X)
        self.XI = self.X if self.small else np.zeros_like(self.Y)
        self.stack = Stack.for_rows(m, r)
        self.ctrl = np.zeros(12, dtype=np.int64)
        self.ctrl[k.LEAF], self.ctrl[k.BUDGET] = self.leaf, SLICE
        self.buffers: tuple[NDArray[Any], ...] = (
            np.empty(50_000, dtype=np.uint8),
            np.empty(20_000, dtype=np.int32),
            np.empty(60_000, dtype=np.int64),
            np.empty(60_000, dtype=np.int32),
            np.empty(400_000, dtype=np.int32),
            np.empty(400_000, dtype=np.int32),
        )
        self.scratch = (
            np.empty((r + 2, self.leaf + 2 * r + 2)),
            np.empty((self.leaf + 1, max(r - 1, 1))),
            np.empty(r),
        )
        self.parts: list[list[NDArray[Any]]] = []
        self.cited: list[int] = []

    def run(self) -> bool:
        """Search until the proof is complete; return False when the offer told to give up.

        Raises:
            StoppedError: when the time is over; :meth:`lemma` then gives what is proved.
        """
        while True:
            if not self.entered:
                self.facet += 1
                if self.facet == len(self.facets):
                    break
                self._enter()
            if not self._facet():
                return False
            self.entered = False
        self._flush()
        self.done = True
        return True

    def _enter(self) -> None:
        from geomdp.opt import _box_kernels as k

        c, s = self.facets[self.facet]
        enter: Any = k.enter
        enter(c, s, self.Y, self.E, self.strict, self.rows.W, *self.stack.uncut, self.ctrl)
        self.entered = True

    def _facet(self) -> bool:
        from geomdp.opt import _box_kernels as k

        ctrl, W = self.ctrl, self.rows.W
        facet = self.facets[self.facet][0]
        while True:
            ctrl[k.TARGET] = self.target
            grow: Any = k.grow
            grow(
                facet, NARROWEST, self.Y, self.E, self.strict, W, self.XI, self.small, self.XF,
                *self.stack.all, ctrl, *self.buffers, *self.scratch,
            )  # fmt: skip
            status = int(ctrl[k.STATUS])
            if status == k.FULL:
                self._flush()
            elif (status == k.FOUND and not self._found()) or (status == k.ASK and not self._ask()):
                return False
            elif status == k.STUCK:
                self._narrow()
            # Whatever it returned for: a search that keeps filling its buffers never uses up a slice.
            self.workshop.beat(self.fraction() if self.index is None else None)
            if status == k.DONE:
                return True

    def _found(self) -> bool:
        from geomdp.opt import _box_kernels as k

        v = [int(x) for x in np.rint(self.scratch[2] * 2.0**10)]
        return self._try(products(self.T.astype(object), np.array(v, dtype=object)), k.SKIP, 1)

    def _try(self, w: NDArray[Any], flag: int, bit: int) -> bool:
        """Offer the kept columns of a candidate; mark the box if it is no improvement."""
        target = self.offer(self._lift(w))
        if target is None:
            return False
        if target < self.target:
            self.target = target
        else:
            level = int(self.ctrl[0])
            if self.stack.cnt[level] == 0 and self.stack.cost[level] < self.target:
                raise AssertionError("a box without open rows costs what its centre costs")
            self.ctrl[flag] |= bit
        return True

    def _lift(self, w: NDArray[Any]) -> list[int]:
        full = [0] * self.rows.d
        for c, v in zip(self.columns, w, strict=True):
            full[c] = int(v)
        return full

    def _ask(self) -> bool:
        """The open rows of the box have low rank: close it by a lemma about them alone, if that is enough."""
        from geomdp.opt import _box_kernels as k

        level = int(self.ctrl[k.LEVEL])
        local = self.stack.open_rows(level)
        need = self.target - int(self.stack.cost[level])
        X = self.X[local]
        dropped, kernel = kernel_of(X)
        if self.r - len(dropped) >= min(len(local), self.r):
            self.ctrl[k.SKIP] |= 2
            return True
        index = local if self.index is None else self.index[local]
        key = index.tobytes()
        known = self.workshop.known.get(key)
        if known is None or (need > known[1] if known[0] >= 0 else need <= known[1]):
            known = self.workshop.known[key] = prove_subset(self.workshop, index, need)
        number, bound, w = known
        if number >= 0 and bound >= need:
            self.cited.append(number)
            self.ctrl[k.ANSWER] = 1
            return True
        if w is None:
            self.ctrl[k.SKIP] |= 2
            return True
        return self._try(self._near(level, kernel, w), k.SKIP, 2)

    def _near(self, level: int, kernel: NDArray[Any], w: NDArray[Any]) -> NDArray[Any]:
        """Return a vector near the box that vanishes on the open rows, moved off it by w."""
        small = np.array([int(w[c]) for c in self.columns], dtype=object)
        if len(kernel) == 0:
            return small
        centre = self.T.astype(np.float64) @ self.stack.cen[level].astype(np.float64)
        N = as_floats(kernel)
        part, *_ = np.linalg.lstsq(N.T, centre, rcond=None)
        top = float(np.abs(part).max(initial=0.0)) or 1.0
        whole = np.array([int(v) for v in np.rint(part / top * 2.0**20)], dtype=object)
        apex = products(kernel.T.astype(object), whole)
        reach = max((abs(int(v)) for v in products(self.X.astype(object), small)), default=0)
        return np.asarray(apex * (reach + 1) + small)

    def _narrow(self) -> None:
        """A box too narrow to be halved: its open rows are swept face by face if they are few.

        Raises:
            StoppedError: when that does not close it; the target is then out of reach of this tree.
        """
        from geomdp.opt import _box_kernels as k

        level = int(self.ctrl[k.LEVEL])
        local = self.stack.open_rows(level)
        need = self.target - int(self.stack.cost[level])
        index = local if self.index is None else self.index[local]
        number, w = _prove_by_faces(self.workshop, index, need)
        if number is None:
            before = self.target
            if w is not None:
                _, kernel = kernel_of(self.X[local])
                self._try(self._near(level, kernel, w), k.SKIP, 0)
            if self.target < before:
                return
            raise StoppedError
        self.cited.append(number)
        self.ctrl[k.ANSWER] = 1

    def _token(self, token: int) -> None:
        from geomdp.opt import _box_kernels as k

        self.buffers[0][self.ctrl[k.TOKENS]] = token
        self.ctrl[k.TOKENS] += 1

    def _flush(self) -> None:
        from geomdp.opt import _box_kernels as k

        c = self.ctrl
        used = (c[k.TOKENS], c[k.LEAVES], c[k.SETS], c[k.SETS], c[k.ENTRIES], c[k.ENTRIES])
        self.parts.append([buffer[: int(n)].copy() for buffer, n in zip(self.buffers, used, strict=True)])
        for place in (k.TOKENS, k.LEAVES, k.SETS, k.ENTRIES):
            c[place] = 0
        self.nodes = int(c[k.NODES])

    def fraction(self) -> float:
        """Return the part of the cube's surface that is done."""
        from geomdp.opt import _box_kernels as k

        level = int(self.ctrl[k.LEVEL])
        inside = sum(0.5 ** (at + 1) for at in range(level) if self.stack.stage[at] == 2)
        return (self.facet + inside) / len(self.facets)

    def close(self) -> None:
        """End an unfinished tree: every box still to be visited counts with its wrong rows only."""
        from geomdp.opt import _box_kernels as k

        if self.done:
            return
        stack, bounds = self.stack, []
        if self.ctrl[k.ANSWER]:  # a lemma was found for a box that is not written down yet
            self.cited.pop()
            self.ctrl[k.ANSWER] = 0
        level = int(self.ctrl[k.LEVEL]) if self.entered else -1
        while level >= 0:
            self._flush()
            if stack.stage[level] == 0:
                bounds.append(int(stack.cost[level]))
                self._token(PRUNE)
            elif stack.stage[level] == 1:
                k.descend(level, int(stack.cut[level]), 1, self.Y, self.strict, self.rows.W, *stack.uncut)
                bounds.append(int(stack.cost[level + 1]))
                self._token(PRUNE)
            level -= 1
        while self.facet + 1 < len(self.facets):
            self.facet += 1
            self._enter()
            bounds.append(int(stack.cost[0]))
            self._token(PRUNE)
        self._flush()
        self.done = True
        self.open_bound = min(bounds) if bounds else None

    def lemma(self) -> Lemma:
        """Return what the tree proves; it must be done or closed."""
        bound = self.target if self.open_bound is None else min(self.target, self.open_bound)
        streams = [np.concatenate(part) for part in zip(*self.parts, strict=True)]
        tokens, leaf_sets, set_mu, set_size, set_row, set_lam = streams
        arrays = {
            "dropped": np.array(self.dropped, dtype=np.int64),
            "kernel": self.kernel,
            "transform": self.T,
            "tokens": tokens,
            "lemmas": np.array(self.cited, dtype=np.int64),
            "leaf_sets": leaf_sets,
            "set_weight": set_mu,
            "set_size": set_size,
            "set_row": set_row,
            "set_multiplier": set_lam,
        }
        return Lemma("boxes", bound, self.index, arrays)


def prove_subset(  # noqa: PLR0911 (each way to end has its own triple)
    workshop: Workshop, index: NDArray[np.int64], need: int
) -> tuple[int, int, NDArray[Any] | None]:
    """Prove that the chosen rows cost at least ``need``.

    Returns:
        (number of the lemma, its bound, None), or, without a proof, (-1, cost of w, w) with a w that costs
        less than ``need``, or (-1, -1, None) when neither was found.

    Raises:
        StoppedError: when the heartbeat stops it, so that nothing is remembered as out of reach that is not.
    """
    rows = workshop.rows.subset(index)
    dropped, kernel = kernel_of(rows.Z)
    columns = [c for c in range(rows.d) if c not in dropped]
    if len(columns) <= 2:
        value, v = plane_optimum(rows.Z[:, columns], rows.strict, rows.W)
        if value < need:
            return -1, value, _spread(rows.d, columns, v)
        arrays = {"dropped": np.array(dropped, dtype=np.int64), "kernel": kernel}
        return workshop.add(Lemma("plane", value, index, arrays)), value, None
    best: list[list[int]] = []

    def offer(w: list[int]) -> int | None:
        if rows.cost(np.array(w, dtype=object)) < need:
            best.append(w)
            return None
        return need

    nothing = int(rows.W[rows.strict].sum())
    if nothing < need:
        return -1, nothing, np.zeros(rows.d, dtype=object)
    tree = BoxTree(workshop, index, need, offer)
    try:
        complete = tree.run()
    except StoppedError:
        workshop.beat(None)  # raises again when the time is over; else the rows are out of the tree's reach
        return -1, -1, None
    if not complete:
        w = np.array(best[-1], dtype=object)
        return -1, rows.cost(w), w
    lemma = tree.lemma()
    if lemma.bound < need:
        return -1, -1, None
    return workshop.add(lemma), lemma.bound, None


def _prove_by_faces(
    workshop: Workshop, index: NDArray[np.int64], need: int
) -> tuple[int | None, NDArray[Any] | None]:
    """Return (number of a lemma that the chosen rows cost at least ``need``, None), or (None, w or None)."""
    rows = workshop.rows.subset(index)
    dropped, kernel = kernel_of(rows.Z)
    columns = [c for c in range(rows.d) if c not in dropped]
    if sweeps(rows.m, len(columns)) > BOX_SWEEPS:
        return None, None
    value, v = faces_optimum(rows.Z[:, columns], rows.strict, rows.W)
    if value < need:
        return None, _spread(rows.d, columns, tuple(v))
    arrays = {"dropped": np.array(dropped, dtype=np.int64), "kernel": kernel}
    return workshop.add(Lemma("faces", value, index, arrays)), None


def _spread(d: int, columns: list[int], v: tuple[int, ...]) -> NDArray[Any]:
    w = np.zeros(d, dtype=object)
    for c, value in zip(columns, v, strict=True):
        w[c] = value
    return w
