"""The proof that a Tanner graph has no stopping set of w variables or fewer, and its verifier.

The verifier needs no compiled code and believes nothing that the proof says. It derives the orbits of the
named symmetries, walks the tree of positions level by level, many positions at a time, and takes from the
proof only on which check to branch.

A *position* is a set of chosen variables and a set of excluded ones; a *completion* is a stopping set of at
most w variables that contains the chosen and avoids the excluded ones. Let ``left`` be w minus the number
chosen, D the largest degree of a variable. For an undecided variable y let the *gain* be the number of its
checks that are touched once, *fresh* the number of its untouched checks. Every completion adds a set R of
at most ``left`` undecided variables. Rules, each with its reason:

* viable: fresh <= overlap * (left - 1), since each fresh check of y needs another member of R, and two
  variables share at most ``overlap`` checks; fresh - gain <= D * (left - 1) - (number touched once), since
  after adding y so many checks are touched once and each other member repairs at most D. Members of R are
  viable.
* gain: R repairs every check touched once, so the gains of its members add up to their number; hence y has at
  least that number minus the sum of the left - 1 largest gains. Repeated until nothing changes.
* repair: every check touched once has a viable variable. If it is given the weight 1 / (largest gain of its
  viable variables), the checks of a viable variable weigh at most 1 together, so the whole weight is at
  most ``left``.
* worth trying: y is hopeless if the whole weight minus the weight of its own checks exceeds left - 1.

A position that breaks a rule is closed. Otherwise some check touched once is branched on: a completion
contains one of its undecided variables, so each that is worth trying is chosen in turn, the earlier ones
excluded.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import CertificateError
from lp_gadgets.graphs.graph import TannerGraph
from lp_gadgets.graphs.peeling import peel
from lp_gadgets.strict import whole

#: Entries of the widest array of the verifier: this many bytes, a few times.
BLOCK = 1 << 19

#: Longest proof log, in decisions (up to two bytes each); the verifier decides for itself beyond it.
MAX_DECISIONS = 1 << 25

#: Weights are multiples of 1 / (the least common multiple of the degrees up to this one), rounded down
#: beyond. That multiple is 720720, and no graph has more than 200,000 edges: sums of weights stay below 2^38.
EXACT_DEGREE = 16

#: Arrays of small non-negative integers.
Counts = NDArray[Any]


@dataclass(frozen=True)
class StoppingProof:
    """Reasons for s_min >= lower: the branching decisions of an exhaustive search.

    Attributes:
        lower: what is proved.
        graph: sha256 of the graph it is about.
        counts: number of decisions at each depth.
        decisions: the checks that were branched on, depth after depth, from left to right (little-endian,
            one byte each for graphs of at most 256 checks, else two); None when they were not kept: the
            verifier then decides for itself.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> code = TannerCode.geometry("EG(2,4)")
        >>> proof = code.stopping_distance().proof
        >>> proof.lower, StoppingProof.from_dict(proof.to_dict()) == proof, verify_lower(code, proof)
        (5, True, True)
    """

    lower: int
    graph: str
    counts: tuple[int, ...] = ()
    decisions: bytes | None = None

    @classmethod
    def empty(cls, code: TannerGraph) -> StoppingProof:
        """Return the proof that a non-empty stopping set of the code has at least one variable."""
        return cls(1, code.sha256)

    @classmethod
    def none_at_all(cls, code: TannerGraph) -> StoppingProof:
        """Return the proof that the code has no non-empty stopping set: all variables peel, without hints."""
        return cls(code.K + 1, code.sha256)

    @classmethod
    def of(
        cls,
        code: TannerGraph,
        limit: int,
        depths: NDArray[np.uint16] | None,
        checks: NDArray[np.uint16] | None,
    ) -> StoppingProof:
        """Return the proof of s_min > limit from the decisions of a depth-first search, in its order.

        Args:
            code: the graph.
            limit: no non-empty stopping set has this many variables or fewer.
            depths: (N,) depth of each decision; None when they were not kept.
            checks: (N,) the check that was branched on; None when they were not kept.
        """
        if depths is None or checks is None:
            return cls(limit + 1, code.sha256)
        order = np.argsort(depths, kind="stable")
        counts = tuple(np.bincount(depths).tolist()) if len(depths) else ()
        return cls(limit + 1, code.sha256, counts, checks[order].astype(_width(code)).tobytes())

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as JSON values, its decisions compressed."""
        packed = None
        if self.decisions is not None:
            packed = base64.b64encode(zlib.compress(self.decisions, 9)).decode()
        return {"lower": self.lower, "graph": self.graph, "counts": list(self.counts), "decisions": packed}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StoppingProof:
        """Return the proof whose :meth:`to_dict` is the data.

        Raises:
            CertificateError: when a part is missing or damaged, or a log is longer than any that is written;
                nothing is decompressed then.
        """
        try:
            packed = data["decisions"]
            counts = tuple(data["counts"])
            if not whole(data["lower"], *counts) or not isinstance(data["graph"], str):
                raise ValueError
            if min(counts, default=0) < 0 or sum(counts) > MAX_DECISIONS:
                raise ValueError
            decisions = None
            if packed is not None:
                reader = zlib.decompressobj()
                raw = base64.b64decode(packed, validate=True)
                decisions = reader.decompress(raw, 2 * sum(counts) + 1)
                if not reader.eof or reader.unused_data or base64.b64encode(raw).decode() != packed:
                    raise ValueError
            return cls(data["lower"], data["graph"], counts, decisions)
        except (KeyError, OverflowError, TypeError, ValueError, zlib.error):
            raise CertificateError(
                "Step 'reading': a part of the stopping proof is missing or damaged."
            ) from None


def _width(code: TannerGraph) -> np.dtype[Any]:
    return np.dtype("<u1" if code.M <= 256 else "<u2")


def overlap_of(code: TannerGraph) -> int:
    """Return the largest number of checks that two variables share."""
    best = 0
    for v in range(code.K):
        counts: dict[int, int] = {}
        for c in code.neighbours[v]:
            for x in code.checks[c]:
                if x > v:
                    counts[x] = counts.get(x, 0) + 1
        best = max(best, max(counts.values(), default=0))
    return best


def shares_of(code: TannerGraph) -> NDArray[np.int64]:
    """Return shares[g] <= shares[1] / g for every gain g, in integers; shares[0] is zero."""
    degree = max(1, *code.variable_degrees) if code.K else 1
    whole = math.lcm(*range(1, min(degree, EXACT_DEGREE) + 1))
    return np.array([0] + [whole // g for g in range(1, degree + 1)], dtype=np.int64)


def stages_of(code: TannerGraph) -> tuple[list[int], NDArray[np.int64]]:
    """Return the least variable of every orbit of the named symmetries, and each variable's orbit number."""
    leader = list(range(code.K))

    def find(v: int) -> int:
        while leader[v] != v:
            leader[v] = leader[leader[v]]
            v = leader[v]
        return v

    for p in code.symmetry:
        for v in range(code.K):
            a, b = find(v), find(p[v])
            leader[max(a, b)] = min(a, b)
    roots = [v for v in range(code.K) if find(v) == v]
    number = {root: i for i, root in enumerate(roots)}
    return roots, np.array([number[find(v)] for v in range(code.K)], dtype=np.int64)


def verify_lower(
    code: TannerGraph, proof: StoppingProof, progress: Callable[[float], None] | None = None
) -> bool:
    """Return True if the proof shows that no non-empty stopping set is smaller than ``proof.lower``.

    Args:
        code: the graph.
        proof: from a search, or with no decisions at all.
        progress: told the fraction of the decisions that have been replayed.

    Returns:
        True; a proof that shows less raises.

    Raises:
        CertificateError: naming the step that fails.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> code = TannerCode.geometry("EG(2,4)")
        >>> proof = code.stopping_distance().proof
        >>> proof.lower, verify_lower(code, proof)
        (5, True)
    """
    if proof.graph != code.sha256:
        raise CertificateError("Step 'graph': the proof is about another graph.")
    if proof.decisions is None and proof.counts:
        raise CertificateError("Step 'decisions': they are counted, but missing.")
    if proof.lower <= 1 or not peel(code, range(code.K)).residual:
        if proof.decisions is not None:
            raise CertificateError("Step 'decisions': none are needed here.")
        return True
    if proof.lower > code.K:
        raise CertificateError("Step 'bound': the graph has a stopping set of at most K variables.")
    return _Replay(code, proof).run(progress)


class _Replay:
    """One walk over all positions, in blocks; arrays are (variables or checks, positions)."""

    def __init__(self, code: TannerGraph, proof: StoppingProof) -> None:
        self.code, self.limit = code, proof.lower - 1
        self.overlap, self.shares = overlap_of(code), shares_of(code)
        self.degree = max(code.variable_degrees)
        K, M = code.K, code.M
        # Padding points at an extra variable K (never undecided) and an extra check M (never touched once).
        self.var = np.full((self.degree, K), M)
        for v, own in enumerate(code.neighbours):
            self.var[: len(own), v] = own
        self.chk = np.full((max(code.check_degrees, default=0), M), K)
        for c, own in enumerate(code.checks):
            self.chk[: len(own), c] = own
        # Small integers that hold every count: of chosen variables in a check, of checks of a variable.
        small = max(min(self.limit, len(self.chk)), self.degree) < 256
        self.kind: type[np.unsignedinteger[Any]] = np.uint8 if small else np.uint32
        self.column = np.zeros((M + 1, K), self.kind)
        self.column[:M] = code.incidence
        self.queues: list[NDArray[np.int64]] | None = None
        if proof.decisions is not None:
            flat = np.frombuffer(proof.decisions[: sum(proof.counts) * _width(code).itemsize], _width(code))
            if (
                len(flat) != sum(proof.counts)
                or len(proof.decisions) != flat.nbytes
                or min(proof.counts, default=0) < 0
            ):
                raise CertificateError("Step 'decisions': their number is not the sum of the counts.")
            if len(flat) and int(flat.max()) >= M:
                raise CertificateError("Step 'decisions': one names no check.")
            self.queues = [part.astype(np.int64) for part in np.split(flat, np.cumsum(proof.counts)[:-1])]
        self.used = [0] * (self.limit + 1)

    def run(self, progress: Callable[[float], None] | None) -> bool:
        """Walk over everything, stages from the first to the last; raise where the proof fails."""
        roots, rank = stages_of(self.code)
        K = self.code.K
        width = max(1, BLOCK // (K + self.code.M))
        for first in range(0, len(roots), width):
            stages = np.arange(first, min(first + width, len(roots)))
            chosen = np.array(roots)[stages]
            state = np.full((K + 1, len(stages)), 2, np.uint8)
            state[:K][rank[:, None] >= stages] = 0
            state[chosen, np.arange(len(stages))] = 1
            stack = [(0, state, self.column[:, chosen])]
            while stack:
                depth, state, touched = stack.pop()
                if state.shape[1] > width:
                    stack.append((depth, state[:, width:], touched[:, width:]))
                    state, touched = state[:, :width], touched[:, :width]
                children = self._children(depth, state, touched)
                if children is not None:
                    stack.append((depth + 1, *children))
                if progress is not None and self.queues is not None:
                    progress(sum(self.used) / max(1, sum(map(len, self.queues))))
        if self.queues is not None and sum(self.used) != sum(map(len, self.queues)):
            raise CertificateError("Step 'decisions': some were not used.")
        return True

    def _children(self, depth: int, state: Counts, touched: Counts) -> tuple[Counts, Counts] | None:
        """Return the positions below the open ones of a block, in order, or None when all are closed."""
        single = touched == 1
        count = single.sum(axis=0, dtype=np.int64)
        left = self.limit - depth - 1
        if not count.all():
            raise CertificateError(f"Step 'search': a stopping set of {depth + 1} variables appears.")
        if left <= 0:
            return None
        gain = self._gather(single.view(np.uint8))
        viable, keep = self._viable(state, touched, gain, count, left)
        single, viable, gain = single[:, keep], viable[:, keep], gain[:, keep]
        top = np.zeros(single.shape, self.kind)
        gains = np.where(viable, gain, self.kind(0))
        for places in self.chk:
            np.maximum(top[:-1], gains[places], out=top[:-1])
        weight = np.where(single, self.shares[top], 0)
        total = weight.sum(axis=0)
        still = ~(single & (top == 0)).any(axis=0) & (total <= left * self.shares[1])
        keep = keep[still]
        if not len(keep):
            return None
        single, viable, weight, total = single[:, still], viable[:, still], weight[:, still], total[still]
        check = self._decisions(depth, single, viable)
        if not single[check, np.arange(len(check))].all():
            raise CertificateError("Step 'decisions': a branching check is not touched once.")
        members = self.chk[:, check]
        good = viable[members, np.arange(len(check))]
        good &= self._weights(members, weight) >= total - (left - 1) * self.shares[1]
        return self._descend(members, good, state[:, keep], touched[:, keep])

    def _gather(self, marks: Counts) -> Counts:
        """Return for each variable (and the padding variable) the sum of the marks of its checks."""
        sums = np.zeros((self.code.K + 1, marks.shape[1]), self.kind)
        for places in self.var:
            sums[:-1] += marks[places]
        return sums

    def _viable(
        self, state: Counts, touched: Counts, gain: Counts, count: NDArray[np.int64], left: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which variables are viable, and the positions that the gain rule leaves open."""
        untouched = (touched == 0).view(np.uint8)
        untouched[-1] = 0
        fresh = self._gather(untouched).astype(np.int32)
        slack = self.degree * (left - 1) - count
        viable = (
            (state == 0) & (fresh <= self.overlap * (left - 1)) & (fresh - gain.astype(np.int32) <= slack)
        )
        levels = np.stack([(viable & (gain >= g)).sum(axis=0) for g in range(1, self.degree + 1)])
        need = np.zeros(len(count), np.int64)
        while True:
            sums = [self._largest(levels, need, number) for number in (left, left - 1)]
            more = np.where(sums[0] < count, self.degree + 1, count - sums[1])
            if (more <= need).all():
                break
            need = np.maximum(need, more)
        return viable & (gain >= need), np.flatnonzero(need <= self.degree)

    def _largest(self, levels: NDArray[np.int64], need: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        """Return the sum of the ``number`` largest gains >= need; levels[g - 1] counts the gains >= g."""
        gains = np.arange(1, self.degree + 1)[:, None]
        taken = np.minimum(levels, number)
        at_need = np.take_along_axis(taken, np.clip(need - 1, 0, self.degree - 1)[None], axis=0)[0]
        at_need = np.where(need > self.degree, 0, at_need)
        return np.asarray(np.where(gains >= need, taken, at_need).sum(axis=0))

    def _decisions(
        self, depth: int, single: NDArray[np.bool_], viable: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return the branching checks of the open positions: the proof's, or those with fewest viable."""
        if self.queues is None:
            counts = np.full(single.shape, self.code.K + 1, np.int64)
            counts[:-1] = sum(viable[places].astype(np.int64) for places in self.chk)
            return np.asarray(np.where(single, counts, self.code.K + 1).argmin(axis=0))
        queue = self.queues[depth] if depth < len(self.queues) else np.zeros(0, np.int64)
        first = self.used[depth]
        self.used[depth] += single.shape[1]
        if self.used[depth] > len(queue):
            raise CertificateError(f"Step 'decisions': an open position at depth {depth} has none.")
        return queue[first : self.used[depth]]

    def _weights(self, members: NDArray[np.int64], weight: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weight of the checks of each variable of the branching checks, 0 for padding."""
        columns = np.arange(members.shape[1])
        real = np.minimum(members, self.code.K - 1)
        own = np.zeros(members.shape, np.int64)
        for places in self.var:
            own += weight[places[real], columns]
        return own

    def _descend(
        self, members: NDArray[np.int64], good: NDArray[np.bool_], state: Counts, touched: Counts
    ) -> tuple[Counts, Counts] | None:
        """Return the positions that choose one good variable of the check each, the earlier ones excluded."""
        parent, place = np.nonzero(good.T)
        if not len(parent):
            return None
        chosen = members[place, parent]
        below = state[:, parent]
        for j, row in enumerate(members):
            later = np.flatnonzero(place > j)
            earlier = row[parent[later]]
            undecided = below[earlier, later] == 0
            below[earlier[undecided], later[undecided]] = 2
        below[chosen, np.arange(len(chosen))] = 1
        return below, touched[:, parent] + self.column[:, chosen]
