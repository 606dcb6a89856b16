"""Which algorithm solves which instance, and the solve itself: an interval, a witness, and a proof.

The rule is public (:func:`choose`) and looks at the number of rows and their rank alone:

* rank up to 2: one angular sweep, which the verifier repeats;
* few rows: a sweep of every face, which the verifier repeats. It takes milliseconds and, unlike the tree of
  boxes, no compiled code, whose first compilation takes longer than any such search;
* rank 3 to 8: a tree of boxes over the directions w, whatever the error rate;
* above: packings of infeasible subsystems, and branching on rows where they leave a gap; with more than
  20,000 rows, packings of parts of the rows alone, which may leave a gap however long they run.

Before a proof is begun the upper bound is sought by local search (low rank) or by elastic programs (high
rank). Every proof is replayed by the verifier before it is handed out.
"""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace
from geomdp.opt.box_tree import BoxTree, StoppedError, Workshop
from geomdp.opt.certificate import Certificate, Lemma, commitment
from geomdp.opt.faces import MAX_SWEEPS, faces_optimum, sweeps
from geomdp.opt.incumbent import Incumbent
from geomdp.opt.planar import plane_optimum
from geomdp.opt.result import Found
from geomdp.opt.rows import Rows, kernel_of, rows_of

#: Planar sweeps up to which a sweep of all faces is the first choice.
FACES_FIRST = 128

#: Largest rank for which boxes are the first choice.
BOX_RANK = 8

#: Rank from which a short packing is tried before the boxes.
PACK_FIRST_RANK = 7

#: Rows up to which packings and branching are tried after the boxes.
PACK_ROWS = 20_000

#: Rows up to which a sweep of all faces comes before branching, where boxes have failed.
FEW_ROWS = 12

#: Rank from which elastic programs join the search for an upper bound.
ELASTIC_RANK = 7

#: Seconds after which intermediate lower bounds are proved beside the main tree.
LADDER_AFTER = 1.0

#: Seconds between two calls of Progress in a tree of boxes.
TELL_AFTER = 0.05

#: Told the fraction of the work that is done.
Progress = Callable[[float], None]

#: Told (seconds, lower, upper) whenever one of the bounds has moved.
Watch = Callable[[float, int, int], None]


def choose(m: int, rank: int) -> str:
    """Return the method for m rows of a rank: "plane", "faces", "boxes" or "branch".

    Example:
        >>> choose(10**6, 2), choose(16, 3), choose(10**5, 4), choose(500, 20)
        ('plane', 'faces', 'boxes', 'branch')
    """
    if rank <= 2 or m == 0:
        return "plane"
    if sweeps(m, rank) <= FACES_FIRST:
        return "faces"
    return "boxes" if rank <= BOX_RANK else "branch"


@dataclass(frozen=True)
class Solved(Found):
    """The outcome: lower <= opt <= upper, weights that attain upper, the method, the certificate.

    ``reason`` says why lower < upper: "time limit", "interrupted", or "too many rows" (more than
    :data:`PACK_ROWS`, of a rank at which boxes do not close the gap); it is empty when they are equal.
    """

    certificate: Certificate
    reason: str = ""


def certified_optimum(
    points: NDArray[Any],
    positives: NDArray[np.int64],
    negatives: NDArray[np.int64],
    *,
    method: str = "auto",
    time_limit: float | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    start: tuple[int, ...] | None = None,
) -> Solved:
    """Return the least weight that a halfspace gets wrong, or an interval, with its certificate.

    Args:
        points: (m, d) integers.
        positives, negatives: (m,) weights of the records labelled +1 and -1.
        method: "auto" (:func:`choose`), "plane", "faces", "boxes" or "branch".
        time_limit: seconds, or None.
        progress: told the fraction of the work that is done.
        watch: told (seconds, lower, upper) when a bound moves.
        start: weights to begin with.

    Example:
        >>> X = np.array([[0, 1], [1, 1], [2, 1]])
        >>> s = certified_optimum(X, np.array([3, 0, 3]), np.array([0, 2, 0]))
        >>> s.lower, s.upper, s.method
        (2, 2, 'plane')
    """
    rows = rows_of(points, positives, negatives)
    with gentle_interrupt() as interrupted:
        work = _Work(
            rows,
            method=method,
            time_limit=time_limit,
            progress=progress,
            watch=watch,
            interrupted=interrupted,
        )
        if start is not None:
            work.incumbent.offer(start)
        work.solve()
    bound, lemmas = work.proof()
    salt = secrets.token_hex(32)
    n = int(positives.sum()) + int(negatives.sum())
    certificate = Certificate(
        rows.base + bound,
        rows.base + work.incumbent.cost,
        n,
        Halfspace(work.incumbent.weights),
        lemmas,
        salt,
        commitment(salt, points, positives, negatives),
    )
    from geomdp.opt.verifier import verify_points

    verify_points(certificate, points, positives, negatives)
    w = work.incumbent.weights
    return Solved(certificate.lower, certificate.upper, w, work.method, certificate, work.reason)


class _Work:
    """One solve: the incumbent, the best proved bound, and the time."""

    def __init__(
        self,
        rows: Rows,
        *,
        method: str,
        time_limit: float | None,
        progress: Progress | None,
        watch: Watch | None,
        interrupted: Callable[[], bool],
    ) -> None:
        self.rows, self._progress, self._watch = rows, progress, watch
        self.started = time.monotonic()
        self.deadline = None if time_limit is None else self.started + time_limit
        self.interrupted = interrupted
        self.workshop = Workshop(rows, heartbeat=self._beat)
        self.best: Lemma = Lemma("count", 0)
        self.incumbent = Incumbent(rows, lambda _: self._tell())
        self.dropped, self.kernel = kernel_of(rows.Z)
        self.columns = [c for c in range(rows.d) if c not in self.dropped]
        self.rank = len(self.columns) if rows.m else 0
        self.method = choose(rows.m, self.rank) if method == "auto" else method
        if self.method == "plane" and self.rank > 2:
            self.method = choose(rows.m, self.rank)
        if self.method == "boxes" and self.rank == 0:
            self.method = "plane"
        self._next_rung = LADDER_AFTER
        self._next_tell = 0.0
        self._told = (-1, -1)
        self._rung: BoxTree | None = None
        self._rung_end = 0.0

    def stop(self) -> bool:
        """Whether it is time to end, with what is proved."""
        return self.interrupted() or (self.deadline is not None and time.monotonic() >= self.deadline)

    @property
    def done(self) -> bool:
        """Whether the bounds meet."""
        return self.best.bound >= self.incumbent.cost

    def keep(self, lemma: Lemma) -> None:
        """Keep a proof about all rows if it is the best so far."""
        if lemma.bound > self.best.bound:
            self.best = lemma
            self._tell()

    def _tell(self) -> None:
        now = (self.best.bound + self.rows.base, self.incumbent.cost + self.rows.base)
        if self._watch is not None and now != self._told:
            self._told = now
            self._watch(time.monotonic() - self.started, *now)

    def solve(self) -> None:
        """Look for a good w, then for a proof, until both meet or the time is over."""
        if self.rows.m == 0 or self.incumbent.cost == 0:
            return
        for axis in self.columns:
            for side in (1, -1):
                self.incumbent.offer([side if c == axis else 0 for c in range(self.rows.d)])
        if self.method == "plane":
            self._plane()
        elif not self.stop():
            if self.method == "faces":
                self._faces()
            if not self.done:
                self._seek()
                self._boxes() if self.method == "boxes" else self._branch()
            if not self.done and not self.stop() and self.method != "branch":
                if self.rows.m <= FEW_ROWS:
                    self._faces()
                if not self.done:
                    self._branch()
            if not self.done and not self.stop() and self.rows.m > PACK_ROWS:
                self._parts()
        self.incumbent.shorten()
        if self._progress is not None:
            self._progress(1.0)

    def _plane(self) -> None:
        value, v = plane_optimum(self.rows.Z[:, self.columns], self.rows.strict, self.rows.W)
        self._finish("plane", value, v)

    def _faces(self) -> None:
        """Sweep few rows face by face: slow, but finite whatever the numbers are."""
        if sweeps(self.rows.m, self.rank) > MAX_SWEEPS:
            return
        X = self.rows.Z[:, self.columns]
        value, v = faces_optimum(X, self.rows.strict, self.rows.W)
        self._finish("faces", value, v)

    def _finish(self, kind: str, value: int, v: Sequence[int]) -> None:
        """Keep the optimum found by a sweep that the verifier repeats."""
        w = [0] * self.rows.d
        for c, x in zip(self.columns, v, strict=True):
            w[c] = x
        self.incumbent.offer(w)
        arrays = {"dropped": np.array(self.dropped, dtype=np.int64), "kernel": self.kernel}
        self.keep(Lemma(kind, value, None, arrays))

    def _seek(self) -> None:
        from geomdp.opt.elastic import elastic_upper
        from geomdp.opt.upper import PlaneSearch

        X = np.ascontiguousarray(self.rows.Z[:, self.columns])
        if self.rank <= 2 * BOX_RANK or self.rows.m > PACK_ROWS:
            PlaneSearch(X, self.rows.W).run(self.incumbent, self.columns)
        if self.rank >= ELASTIC_RANK and self.rows.m <= PACK_ROWS and not self.stop():
            elastic_upper(self.incumbent, deadline=self.deadline)

    def _boxes(self) -> None:
        if self.rank >= PACK_FIRST_RANK:
            self._branch(seconds=0.3)
        if self.done or self.stop():
            return
        self.workshop.heartbeat = self._beat
        tree = BoxTree(self.workshop, None, self.incumbent.cost, self._offer)
        self._run(tree)

    def _offer(self, w: list[int]) -> int:
        self.incumbent.offer(w)
        return self.incumbent.cost

    def _run(self, tree: BoxTree) -> None:
        try:
            tree.run()
        except StoppedError:
            tree.close()
        self.keep(tree.lemma())

    def _beat(self, fraction: float | None) -> None:
        """Called between slices of a box tree: end, tell, and now and then prove an intermediate bound."""
        if self.stop():
            raise StoppedError
        now = time.monotonic()
        elapsed = now - self.started
        if self._rung is not None:
            if now >= self._rung_end:
                raise StoppedError
            return
        if self._progress is not None and fraction is not None and now >= self._next_tell:
            self._progress(min(fraction, 1.0))
            self._next_tell = now + TELL_AFTER
        if elapsed >= self._next_rung and self.best.bound < self.incumbent.cost - 1:
            self._climb(0.2 * elapsed)
            self._next_rung = 2.0 * (time.monotonic() - self.started)

    def _climb(self, seconds: float) -> None:
        """Prove intermediate bounds, halving the gap, for some seconds."""
        self._rung_end = time.monotonic() + seconds
        while self.best.bound < self.incumbent.cost - 1:
            target = (self.best.bound + self.incumbent.cost + 1) // 2
            self._rung = BoxTree(self.workshop, None, target, self._offer_rung)
            try:
                self._rung.run()
            except StoppedError:
                self._rung.close()
                self.keep(self._rung.lemma())
                break
            finally:
                rung, self._rung = self._rung, None
            self.keep(rung.lemma())

    def _offer_rung(self, w: list[int]) -> int | None:
        self.incumbent.offer(w)
        target = self._rung.target if self._rung is not None else self.incumbent.cost
        return min(target, self.incumbent.cost)

    def _branch(self, seconds: float | None = None) -> None:
        """Pack infeasible subsystems, improve the witness by covers, and branch where a gap is left."""
        if self.rows.m > PACK_ROWS:
            return
        from geomdp.opt.branch import BranchTree
        from geomdp.opt.hitting_set import improve_by_covers
        from geomdp.opt.subsystems import Pool

        end = None if seconds is None else time.monotonic() + seconds

        def stop() -> bool:
            return self.stop() or (end is not None and time.monotonic() >= end)

        def beat(bound: int, nodes: int) -> None:
            if self._progress is not None:
                self._progress(1.0 - 1.0 / (1.0 + nodes / 20.0))
            if bound > self.best.bound:
                self.keep(tree.lemma(bound))

        tree = BranchTree(Pool(self.rows, self.incumbent), stop, beat)
        for rounds in (4, 10**6):
            beat(tree.pack_first(rounds), 0)
            if self.done or stop():
                return
            improve_by_covers(tree.pool, tree.numbers, stop)
        if not self.done and seconds is None:
            beat(tree.run(), tree.nodes)

    def _parts(self) -> None:
        """Pack parts of very many rows, with more care from pass to pass; look for better w in between."""
        from geomdp.opt.parts import PASSES, pack_parts
        from geomdp.opt.upper import EFFORT, PlaneSearch

        X = np.ascontiguousarray(self.rows.Z[:, self.columns])
        for turn, (size, covers) in enumerate(PASSES):
            for lemma in pack_parts(self.incumbent, self.stop, size, covers, turn):
                self.keep(lemma)
            if self.done or self.stop():
                return
            PlaneSearch(X, self.rows.W, turn + 1).run(self.incumbent, self.columns, EFFORT << turn)

    @property
    def reason(self) -> str:
        """Why the bounds do not meet, or nothing when they do."""
        if self.done:
            return ""
        if self.interrupted():
            return "interrupted"
        return "time limit" if self.stop() else "too many rows"

    def proof(self) -> tuple[int, tuple[Lemma, ...]]:
        """Return the bound to report, at most the incumbent's cost, and its lemmas, the main one last."""
        bound = min(self.best.bound, self.incumbent.cost)
        if bound <= 0:
            return 0, ()
        return bound, compressed(self.workshop.lemmas, replace(self.best, bound=bound))


def compressed(lemmas: list[Lemma], main: Lemma) -> tuple[Lemma, ...]:
    """Return the lemmas that the main one needs, renumbered, and the main one.

    Example:
        >>> spare = Lemma("count", 0)
        >>> compressed([spare, spare], Lemma("count", 0)) == (Lemma("count", 0),)
        True
    """
    needed: set[int] = set()
    waiting = [main]
    while waiting:
        for number in waiting.pop().arrays.get("lemmas", np.empty(0, dtype=np.int64)).tolist():
            if number not in needed:
                needed.add(number)
                waiting.append(lemmas[number])
    place = {old: new for new, old in enumerate(sorted(needed))}

    def renumbered(lemma: Lemma) -> Lemma:
        if "lemmas" not in lemma.arrays:
            return lemma
        cited = np.array([place[int(k)] for k in lemma.arrays["lemmas"]], dtype=np.int64)
        return replace(lemma, arrays={**lemma.arrays, "lemmas": cited})

    return (*(renumbered(lemmas[old]) for old in sorted(needed)), renumbered(main))


@contextmanager
def gentle_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question's answer; the second one raises as usual.

    Outside the main thread signals cannot be handled, and nothing is changed.

    Example:
        >>> with gentle_interrupt() as interrupted:
        ...     interrupted()
        False
    """
    pressed: list[bool] = []

    def handler(number: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(True)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, handler)
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
