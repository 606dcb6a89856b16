"""The stopping distance of a Tanner graph, exactly: exhaustive search with symmetry, and its proof.

A stopping set is a set of variables that no check meets exactly once. The least size s_min of a non-empty
one is the exact erasure threshold of every instance built on the graph: s_min - 1 erasures are always
harmless, and some s_min are not. Deciding whether s_min <= w is NP-complete, so the search is exponential;
it is organised so that graphs of a few hundred variables are within reach.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CertificateError, describe
from lp_gadgets.graphs.beam import small_stopping_set
from lp_gadgets.graphs.graph import TannerGraph
from lp_gadgets.graphs.proof import (
    MAX_DECISIONS,
    StoppingProof,
    overlap_of,
    shares_of,
    stages_of,
    verify_lower,
)
from lp_gadgets.strict import whole

Progress = Callable[[float], None]
Graph = TypeVar("Graph", bound=TannerGraph)

#: Positions between two looks at the clock: a fraction of a second.
SLICE = 1 << 18

#: The first beam for an upper bound; the full ones follow when this many positions have been searched.
NARROW, WIDE_AFTER = {"width": 100, "beams": 1}, 50_000

#: Factor by which the search grows with each unit of size, for the progress report only.
GROWTH = 3.6


@dataclass(frozen=True)
class StoppingDistance:
    """The least size of a non-empty stopping set: lower <= s_min <= upper, with its reasons.

    Attributes:
        lower, upper: certain bounds; equal when the search was completed. A graph without a non-empty
            stopping set (every erased set can be recovered) has both equal to K + 1.
        witness: a stopping set of ``upper`` variables, in increasing order; empty when there is none at all.
        proof: the exhaustive search behind ``lower``, to be replayed by
            :func:`lp_gadgets.graphs.proof.verify_lower`.
        positions: number of positions that were searched.
        seconds: wall time.

    Source: in place of the expansion constant of Lemma B.2 of the paper, its exact value for a graph.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> code = TannerCode.geometry("Fano")
        >>> found = code.stopping_distance()
        >>> found.value, code.is_stopping_set(found.witness), found.verify(code)
        (4, True, True)
    """

    lower: int
    upper: int
    witness: tuple[int, ...]
    proof: StoppingProof = field(repr=False)
    positions: int = field(compare=False)
    seconds: float = field(compare=False)

    @property
    def exact(self) -> bool:
        """Whether the two bounds agree."""
        return self.lower == self.upper

    @property
    def value(self) -> int | None:
        """The stopping distance, None when only bounds are known."""
        return self.lower if self.exact else None

    def verify(self, code: TannerGraph, progress: Progress | None = None) -> bool:
        """Return True if the witness and the proof hold for the graph; no compiled code is used.

        Args:
            code: the graph.
            progress: told the fraction of the replay that is done, in [0, 1].

        Raises:
            CertificateError: naming what fails.
        """
        if list(self.witness) != sorted(set(self.witness)):
            raise CertificateError("Step 'witness': it is not in increasing order.")
        if self.upper != (len(self.witness) or code.K + 1):
            raise CertificateError(f"Step 'witness': it does not have {self.upper} variables.")
        if self.witness and not code.is_stopping_set(self.witness):
            raise CertificateError("Step 'witness': some check meets it exactly once.")
        if self.proof.lower != self.lower or not 1 <= self.lower <= self.upper:
            raise CertificateError("Step 'bounds': the proof is about another lower bound.")
        return verify_lower(code, self.proof, progress)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, proof included.

        Example:
            >>> from lp_gadgets.tanner import TannerCode
            >>> found = TannerCode.geometry("Fano").stopping_distance()
            >>> StoppingDistance.from_dict(found.to_dict()) == found
            True
        """
        return {
            "lower": self.lower,
            "upper": self.upper,
            "witness": list(self.witness),
            "proof": self.proof.to_dict(),
            "positions": self.positions,
            "seconds": self.seconds,
        }

    def claims(self) -> dict[str, Any]:
        """Return what can be replayed, as JSON values: bounds, witness and proof, without statistics."""
        return {key: value for key, value in self.to_dict().items() if key not in ("positions", "seconds")}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StoppingDistance:
        """Return the result whose :meth:`to_dict` is the data.

        The statistics may be missing; then they are 0.

        Raises:
            CertificateError: when a part is missing or of another type.
        """
        try:
            numbers = (data["lower"], data["upper"], data.get("positions", 0), *data["witness"])
            if not whole(*numbers):
                raise CertificateError("Step 'reading': a number of the stopping distance is no integer.")
            return cls(
                data["lower"],
                data["upper"],
                tuple(data["witness"]),
                StoppingProof.from_dict(data["proof"]),
                data.get("positions", 0),
                float(data.get("seconds", 0.0)),
            )
        except (KeyError, OverflowError, TypeError, ValueError):
            raise CertificateError("Step 'reading': a part of the stopping distance is missing.") from None


def stopping_distance(
    code: TannerGraph, time_limit: float | None = None, progress: Progress | None = None, log: bool = True
) -> StoppingDistance:
    """Return the least size of a non-empty stopping set of a Tanner graph, with a proof.

    For w = 1, 2, ... all positions are searched that could lead to a stopping set of at most w variables,
    until there is one (or the best random one is known to be least). Stage by stage, one variable of an
    orbit of the named symmetries is chosen and the orbits of earlier stages are excluded: a stopping set
    that meets the orbit and none of the earlier ones has an image that contains the chosen variable. In a
    stage the search branches on a check that is touched once, and cuts by the rules of
    :mod:`lp_gadgets.graphs.proof`.

    Args:
        code: the graph.
        time_limit: seconds after which the search stops with an interval, or None.
        progress: told a rough fraction of the work done, in [0, 1].
        log: keep the decisions, so that the proof is replayed and not searched again (one byte per decision
            for graphs of up to 256 checks, else two).

    Returns:
        The distance, or certified bounds when the time did not suffice.

    Raises:
        ArgumentError: when the time limit is not a number >= 0.

    Source: in place of the expansion constant of Lemma B.2 of the paper, its exact value for a graph.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> TannerCode(4, ((0, 1), (1, 2), (2, 3), (0, 3))).stopping_distance().witness
        (0, 1, 2, 3)
    """
    numeric = isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool)
    if time_limit is not None and not (numeric and time_limit >= 0):
        raise ArgumentError("time_limit", "a number of seconds >= 0 or None", describe(time_limit))
    started = time.perf_counter()
    deadline = math.inf if time_limit is None else started + time_limit
    search = _Search(code)
    witness = small_stopping_set(code, **NARROW)
    upper = len(witness) or code.K + 1
    proof, positions, limit, narrow = StoppingProof.empty(code), 0, 0, True
    while limit + 1 < upper and witness:
        if narrow and positions > WIDE_AFTER:
            witness, narrow = min(witness, small_stopping_set(code), key=len), False
            upper = len(witness)
            continue
        limit += 1
        outcome = search.run(limit, upper - 1, deadline, progress, log)
        positions += outcome.positions
        if outcome.proof is not None:
            proof = outcome.proof
        elif outcome.found is not None:
            witness, upper = outcome.found, len(outcome.found)
            break
        else:
            break
    if not witness:
        proof = StoppingProof.none_at_all(code)
    if progress is not None:
        progress(1.0)
    return StoppingDistance(proof.lower, upper, witness, proof, positions, time.perf_counter() - started)


def select(codes: Iterable[Graph]) -> Graph:
    """Return the graph with the greatest stopping distance, of these the first.

    A graph is dropped as soon as it shows a stopping set that is no larger than the best distance so far.

    Args:
        codes: Tanner graphs.

    Returns:
        One of the graphs.

    Raises:
        ArgumentError: when there is no graph, or something else among them.

    Example:
        >>> from lp_gadgets.tanner import TannerCode
        >>> codes = [TannerCode.geometry(name) for name in ("Fano", "EG(2,4)", "PG(2,2)")]
        >>> select(codes).name
        'geometry:EG(2,4)'
    """
    best: Graph | None = None
    record = 0
    for code in _checked(codes):
        upper = len(small_stopping_set(code, **NARROW)) or code.K + 1
        if record < upper <= code.K:
            upper = len(small_stopping_set(code))
        search = _Search(code) if record < upper <= code.K else None
        # No larger record than `limit` is certain until the search says that there is no set of that size.
        for limit in range(max(1, record), code.K + 1):
            if search is None or limit >= upper:
                break
            found = search.run(limit, limit, math.inf, None, False).found
            if found is not None:
                upper = len(found)
        if upper > record:
            best, record = code, upper
    if best is None:
        raise ArgumentError("codes", "at least one Tanner graph", "none")
    return best


def _checked(codes: Iterable[Graph]) -> Iterator[Graph]:
    """Yield the graphs one by one, each after a look at its type."""
    if not isinstance(codes, Iterable):
        raise ArgumentError("codes", "a collection of Tanner graphs", describe(codes))
    for code in codes:
        if not isinstance(code, TannerGraph):
            raise ArgumentError("codes", "a collection of Tanner graphs", f"one with {describe(code)}")
        yield code


@dataclass(frozen=True)
class _Outcome:
    """What one exhaustion brought: a stopping set, a proof that there is none, or neither (time)."""

    positions: int
    found: tuple[int, ...] | None = None
    proof: StoppingProof | None = None


class _Search:
    """The arrays of one graph, and the search at one size after another."""

    def __init__(self, code: TannerGraph) -> None:
        from lp_gadgets.graphs import kernels

        self.kernels, self.code = kernels, code
        K, M = code.K, code.M
        self.degree = np.array(code.variable_degrees, dtype=np.int32)
        size = np.array(code.check_degrees, dtype=np.int32)
        self.graph = kernels.Graph(_padded(code.neighbours), _padded(code.checks), size)
        self.overlap, self.shares = overlap_of(code), shares_of(code)
        self.roots, self.rank = stages_of(code)
        top, widest = int(self.degree.max()), max(1, int(size.max(initial=0)))
        V, now = np.zeros((K, 4), np.int32), np.zeros(kernels.SCALARS, np.int64)
        V[:, kernels.DEGREE] = self.degree
        table, singles = np.zeros((top + 1, top + 1), np.int32), np.zeros(M + 1, np.int32)
        self.position = kernels.Position(V, np.zeros((M, 2), np.int32), table, singles, now)
        frames, good = np.zeros((K + 2, 4), np.int32), np.zeros((K + 2, widest), np.bool_)
        self.path = kernels.Path(frames, good, np.zeros(K + 1, np.int32), np.zeros(M, np.int64))

    def run(self, limit: int, last: int, deadline: float, progress: Progress | None, log: bool) -> _Outcome:
        """Search all stages for a stopping set of at most ``limit`` variables.

        Args:
            limit: size to exhaust.
            last: greatest size that will be asked for (for the progress report).
            deadline: instant at which to stop.
            progress: told the fraction of the work done.
            log: collect the decisions.
        """
        k, now = self.kernels, self.position.now
        rules = limit, self.overlap, self.shares
        depths, checks = np.empty(SLICE, np.uint16), np.empty(SLICE, np.uint16)
        pieces: list[tuple[NDArray[np.uint16], NDArray[np.uint16]]] = []
        positions = decisions = 0
        log = log and self.code.M <= 1 << 16
        share = _stage_shares(self.rank, len(self.roots), limit)
        for stage, root in enumerate(self.roots):
            k.begin(self.rank, stage, root, self.graph, self.position)
            status = k.PAUSED
            while status == k.PAUSED:
                if time.perf_counter() > deadline:
                    return _Outcome(positions)
                status = k.explore(*rules, self.graph, self.position, self.path, depths, checks)
                positions += int(now[k.NODES])
                logged = int(now[k.LOGGED])
                decisions += logged
                if log and decisions <= MAX_DECISIONS:
                    pieces.append((depths[:logged].copy(), checks[:logged].copy()))
                if progress is not None and status == k.PAUSED:
                    within = share[stage] + (share[stage + 1] - share[stage]) * self._within()
                    progress(GROWTH ** (limit - last) * (1 / GROWTH + (1 - 1 / GROWTH) * within))
            if status == k.FOUND:
                chosen = np.flatnonzero(self.position.V[:, k.STATE] == k.CHOSEN)
                return _Outcome(positions, found=tuple(chosen.tolist()))
        if not log or decisions > MAX_DECISIONS:
            return _Outcome(positions, proof=StoppingProof.of(self.code, limit, None, None))
        depth = np.concatenate([piece[0] for piece in pieces]) if pieces else depths[:0]
        check = np.concatenate([piece[1] for piece in pieces]) if pieces else checks[:0]
        return _Outcome(positions, proof=StoppingProof.of(self.code, limit, depth, check))

    def _within(self) -> float:
        """Return roughly the fraction of the current stage that is done, from the first frames."""
        fraction, width = 0.0, 1.0
        for d in range(min(4, int(self.position.now[self.kernels.DEPTH]))):
            check, place = map(int, self.path.frames[d, :2])
            width /= max(1, int(self.graph.size[check]))
            fraction += (place - 1) * width
        return fraction


def _padded(lists: tuple[tuple[int, ...], ...]) -> NDArray[np.int32]:
    """Return lists of different lengths as the rows of one array, zeros behind."""
    table = np.zeros((len(lists), max(1, *map(len, lists)) if lists else 1), np.int32)
    for i, entries in enumerate(lists):
        table[i, : len(entries)] = entries
    return table


def _stage_shares(rank: NDArray[np.int64], stages: int, limit: int) -> list[float]:
    """Return the rough fraction of the work that is done before each stage, then 1."""
    orbits = np.bincount(rank, minlength=stages)
    left = (orbits[::-1].cumsum()[::-1] / len(rank)) ** limit
    sums = np.concatenate([[0.0], np.cumsum(left)])
    return [float(x) for x in sums / sums[-1]]
