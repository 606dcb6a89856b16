"""opt of the halfspaces x -> +1 iff <w, x> >= 0, exactly: the front door to the sweeps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import Halfspace, integer_array, products, signs
from geomdp.core.errors import ArgumentError, CapacityError, check_choice, describe
from geomdp.core.sample import Sample, pool
from geomdp.opt.parallel import blocks
from geomdp.opt.planes import shrink
from geomdp.opt.presolve import Lines, lines_of
from geomdp.opt.result import Found, OptResult, RecountError, recounted
from geomdp.opt.sweep2 import circle_of, sweep_circle
from geomdp.opt.sweep3 import Arrangement, direction, sweep_planes
from geomdp.opt.threshold import cut, suffix_mistakes

METHODS = ("auto", "plane", "boxes", "branch", "sweep", "dichotomies")

#: Total weight stays below this, so that every sum fits int64.
MAX_WEIGHT = 2**61

#: Points from which least_mistakes leaves the sweeps for the certified methods.
BOX_ROWS = 100

#: Seconds above which a time limit is none.
FOREVER = 10**9

#: Work that is not begun without a time limit, in seconds of one thread (estimated).
MAX_SECONDS = 3600.0

#: Largest entry to which weights are shortened, and the number of lines up to which this is tried.
MAX_SHORT, MAX_SHORT_LINES = 2**20, 10**5

Progress = Callable[[float], None]


def opt_halfspace(
    *samples: Sample,
    time_limit: float | None = None,
    method: str = "auto",
    progress: Progress | None = None,
    watch: Callable[[float, int, int], None] | None = None,
) -> OptResult:
    """Return the least number of mistakes of a halfspace on the pooled samples, exactly.

    Points on the hyperplane are labelled +1, so a point may be right only for w exactly on some of the planes
    x^perp (for instance when both x and -x are labelled +1); such w are examined wherever they can win.

    The records are merged into weighted rows (:mod:`geomdp.opt.rows`); their number and rank choose the
    algorithm (:func:`geomdp.opt.portfolio.choose`): an angular sweep up to rank 2, a tree of boxes over the
    directions w up to rank 8, packings of infeasible subsystems with branching above. The certificate proves
    both bounds; :func:`~geomdp.opt.verifier.verify` replays it, and has done so once before it is returned.

    Args:
        *samples: one or more samples on one domain.
        time_limit: seconds after which the search stops with a certain interval [lower, upper]; at 0 only
            the rows are formed. Ctrl-C stops it likewise. More than 10^9 seconds are no limit.
        method: "auto"; "plane", "boxes" or "branch" to insist on one of the three; or one of two exhaustive
            methods for cross-checks: "sweep" (around every face of codimension 2) and "dichotomies" (every
            labelling of the occupied points), whose value is then certified by the others.
        progress: told the fraction of the work done, in [0, 1].
        watch: told (seconds, lower, upper) whenever a bound has moved.

    Returns:
        A result whose integer weights have been recounted on the pooled sample, with its certificate. Where
        lower < upper its ``reason`` says why; without a time limit only Ctrl-C, or more than 20,000 rows of
        high rank, can leave an interval.

    Raises:
        ArgumentError: when there is no sample, the domains differ, or ``time_limit`` is no number >= 0.
        CapacityError: when an exhaustive method would take more than about an hour without a time limit.

    Source: the joint optimum of Section 1 of the paper; the algorithms and proofs are ours.

    Example:
        >>> from geomdp import Domain
        >>> D = Domain([[1, 0], [-1, 0], [0, 1]])
        >>> S = Sample.from_counts(D, [1, 1, 0], [0, 0, 1])
        >>> r = opt_halfspace(S)
        >>> r.upper, r.classifier.predict(D.points).tolist()
        (0, [1, 1, -1])
    """
    started = time.perf_counter()
    check_choice("method", method, METHODS)
    time_limit = seconds_of(time_limit)
    sample = pool(*samples)
    arrays = sample.points, sample.positives, sample.negatives
    start, name = None, method
    if method in {"sweep", "dichotomies"}:
        swept = _solve(*arrays, method=method, time_limit=time_limit, progress=progress)
        start, name = swept.weights, "auto"
        if time_limit is not None:
            time_limit = max(0.0, time_limit - (time.perf_counter() - started))
    elif sample.domain.ordered:
        start = _on_ranks(sample)
    from geomdp.opt.portfolio import certified_optimum

    solved = certified_optimum(
        *arrays, method=name, time_limit=time_limit, progress=progress, watch=watch, start=start
    )
    found = Halfspace(solved.weights)
    name = method if start is not None and method != "auto" else solved.method
    result = recounted(sample, (solved.lower, solved.upper), found, name, started)
    return replace(result, certificate=solved.certificate, reason=solved.reason)


def seconds_of(time_limit: object) -> float | None:
    """Return a time limit in seconds, None where it is none: None, or more than :data:`FOREVER`.

    Raises:
        ArgumentError: unless it is None or a number >= 0 (of Python's or numpy's).

    Example:
        >>> seconds_of(np.int64(3)), seconds_of(10**400), seconds_of(None)
        (3.0, None, None)
    """
    if time_limit is None:
        return None
    seconds: Any = time_limit
    if isinstance(time_limit, bool) or not isinstance(time_limit, Real) or not seconds >= 0:
        raise ArgumentError("time_limit", "None or a number of seconds >= 0", describe(time_limit))
    return None if seconds > FOREVER else float(seconds)


def least_mistakes(
    points: Any, positive_weights: Any, negative_weights: Any, *, progress: Progress | None = None
) -> tuple[int, tuple[int, ...]]:
    """Return (value, w): the least weight that a halfspace gets wrong, and integer weights attaining it.

        value = min_w  sum_{<w,x> < 0} positive_weights_x + sum_{<w,x> >= 0} negative_weights_x

    Args:
        points: (m, d) integers; repeats, multiples, antipodes and zero vectors are allowed.
        positive_weights, negative_weights: (m,) integers >= 0 whose total is below 2^61.
        progress: told the fraction of the work done.

    Raises:
        ArgumentError: on a wrong shape, or on weights that are negative or too large.
        CapacityError: when few points have so high a rank that a sweep would take more than about an hour.

    Example:
        >>> value, w = least_mistakes([[0, 1], [1, 1], [2, 1]], [5, 0, 2**40], [0, 3, 0])
        >>> value, signs(np.array([[0, 1], [1, 1], [2, 1]]), np.array(w)).tolist()
        (3, [1, 1, 1])
    """
    X = integer_array("points", points, 2)
    a = _weights("positive_weights", positive_weights, len(X))
    b = _weights("negative_weights", negative_weights, len(X))
    if _total(a) + _total(b) >= MAX_WEIGHT:
        raise ArgumentError("positive_weights", "weights of total less than 2^61", "larger ones")
    if len(X) >= BOX_ROWS:
        from geomdp.opt.portfolio import certified_optimum

        proved = certified_optimum(X, a, b, progress=progress)
        if proved.lower == proved.upper:
            return proved.upper, proved.weights
    solved = _solve(X, a, b, progress=progress)
    return solved.upper, solved.weights


def sup_points(
    points: NDArray[Any], fields: NDArray[np.int64], progress: Progress | None = None
) -> NDArray[np.int64]:
    """Return max over halfspaces h of sum_x h(x) Z_b(x) for every row of (B, m) integer fields.

    With gains -Z the sum is -2 G(w) - sum_x Z(x), so the least gain gives the largest sum. The order around
    each face is computed once for all the fields.

    Raises:
        CapacityError: when the sweep would take more than about an hour.

    Example:
        >>> sup_points(np.array([[1, 0], [-1, 0], [0, 1]]), np.array([[2, 3, -4], [-1, -1, -1]])).tolist()
        [9, 1]
    """
    out = np.empty(len(fields), dtype=np.int64)
    size = max(1, 2**24 // max(1, fields.shape[1]))
    for first, last in blocks(len(fields), size):
        part = fields[first:last]
        lines = lines_of(points, -part)
        _check_size(lines, len(fields))
        out[first:last] = -2 * _least_gains(lines) - part.sum(axis=1)
        if progress is not None:
            progress(last / len(fields))
    return out


def _solve(
    points: NDArray[Any],
    positives: NDArray[np.int64],
    negatives: NDArray[np.int64],
    *,
    method: str = "auto",
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Found:
    deadline = None if time_limit is None else time.monotonic() + time_limit
    lines = lines_of(points, (negatives - positives)[None, :])
    base = int(positives.sum()) + int(lines.constant[0])
    if method == "dichotomies":
        from geomdp.opt.dichotomy import best_dichotomy

        gain, weights = best_dichotomy(lines)
        name, complete = method, True
    else:
        if time_limit is None:
            _check_size(lines, 1)
        name, gain, weights, complete = _sweep(lines, deadline, progress)
    gain, weights = _shorten(lines, gain, weights)
    lifted = lines.lift(weights)
    wrong = int(np.where(signs(points, exact_vector(lifted)) > 0, negatives, positives).sum())
    if wrong != base + gain:
        raise RecountError(name)
    return Found(wrong if complete else base + _floor(lines), wrong, lifted, name)


def _sweep(
    lines: Lines, deadline: float | None, progress: Progress | None
) -> tuple[str, int, list[int], bool]:
    """Return (method, least gain, weights on the kept columns, whether all was examined) for one field."""
    rank, X, ahead, behind = lines.rank, lines.vectors, lines.forward[0], lines.backward[0]
    gain, weights = _simple(lines)
    if rank < 2:
        return "line", gain, weights, True
    if rank == 2:
        best = sweep_circle(circle_of(X), ahead, behind)
        for value, found in ((best.cell, best.cell_weights), (best.flat, best.flat_weights)):
            if value < gain:
                gain, weights = value, found
        return "circle sweep", gain, shrink(weights), True
    name = "plane sweep" if rank == 3 else "nested plane sweep"
    floor = _floor(lines)
    if gain == floor:
        return name, gain, weights, True
    A = _arrangement(lines)
    swept = sweep_planes(A, progress=progress, deadline=deadline, enough=floor)
    if int(swept.least[0]) < gain:
        gain, weights = int(swept.least[0]), direction(A, swept.descent(cells_only=False))
    return name, gain, weights, swept.complete


def gain_of(lines: Lines, weights: list[int]) -> int:
    """Return the gain of field 0 at the weights (on the kept columns), the zero vector's left out."""
    values = products(lines.vectors, exact_vector(weights))
    ahead = lines.forward[0][(values >= 0).astype(bool)]
    return int(ahead.sum() + lines.backward[0][(values <= 0).astype(bool)].sum())


def _shorten(lines: Lines, gain: int, weights: list[int]) -> tuple[int, list[int]]:
    """Return the first weights rounded to a small largest entry that are as good; else the weights."""
    top = max((abs(w) for w in weights), default=0)
    scale = 1
    while scale < min(top, MAX_SHORT) and len(lines.vectors) <= MAX_SHORT_LINES:
        short = [(2 * w * scale + top) // (2 * top) for w in weights]
        value = gain_of(lines, short)
        if value <= gain:
            return value, short
        scale += 1 + scale // 8
    return gain, weights


def _simple(lines: Lines) -> tuple[int, list[int]]:
    """Return the best of w = 0, the axes and their opposites: a start, and all of rank 0 and 1."""
    ahead, behind = lines.forward[0], lines.backward[0]
    best, weights = int(ahead.sum() + behind.sum()), [0] * lines.rank
    for c in range(lines.rank):
        for side in (1, -1):
            column = side * lines.vectors[:, c]
            value = int(ahead[column >= 0].sum() + behind[column <= 0].sum())
            if value < best:
                best, weights = value, [side if k == c else 0 for k in range(lines.rank)]
    return best, weights


def _least_gains(lines: Lines) -> NDArray[np.int64]:
    """Return the least gain of every field, the zero vector's included."""
    rank, ahead, behind = lines.rank, lines.forward, lines.backward
    best = (ahead + behind).sum(axis=1)
    if rank == 1:
        best = np.minimum(best, np.minimum(ahead[:, 0], behind[:, 0]))
    elif rank == 2:
        C = circle_of(lines.vectors)
        for b in range(len(best)):
            found = sweep_circle(C, ahead[b], behind[b])
            best[b] = min(int(best[b]), found.cell, found.flat)
    elif rank > 2:
        best = np.minimum(best, sweep_planes(_arrangement(lines)).least)
    return np.asarray(best + lines.constant)


def _arrangement(lines: Lines) -> Arrangement:
    labels = np.arange(len(lines.vectors), dtype=np.int64)
    return Arrangement(lines.vectors, lines.forward, lines.backward, not lines.pointed, labels)


def _floor(lines: Lines) -> int:
    """Return a lower bound on the gain: every line at its own best side."""
    ahead, behind = lines.forward[0], lines.backward[0]
    return int(np.minimum(np.minimum(ahead, behind), ahead + behind).sum())


def estimate_seconds(count: int, rank: int, fields: int = 1, *, pointed: bool = True) -> float:
    """Return a rough time of one thread for the sweep of ``count`` lines of a rank and a batch of fields."""
    if rank < 3:
        return 2e-7 * count * (1 + fields)
    order = 1 if not pointed else math.factorial(rank - 2)
    circles = float(count) ** (rank - 2) / order
    one = count * (1e-8 * math.log2(count + 1) + 2e-9 * fields)
    return circles * one + (2e-4 * float(count) ** (rank - 3) if rank > 3 else 0.0)


def _check_size(lines: Lines, fields: int) -> None:
    seconds = estimate_seconds(len(lines.vectors), lines.rank, fields, pointed=lines.pointed)
    if seconds > MAX_SECONDS:
        raise CapacityError(
            "domain",
            "small enough for an exact sweep of about an hour",
            f"one of dimension {lines.rank} (an estimate of {seconds:.2g} seconds)",
            "Use fewer levels or features, or opt_halfspace with time_limit=..., which returns an interval.",
        )


def _on_ranks(sample: Sample) -> tuple[int, ...]:
    """Return best weights on points (r, 1), r a rank: the halfspaces are r >= theta and r < theta there."""
    rising = suffix_mistakes(sample)
    falling = sample.n - rising
    j, k = int(rising.argmin()), int(falling.argmin())
    return (1, -cut(sample, j)) if rising[j] <= falling[k] else (-1, cut(sample, k) - 1)


def _weights(name: str, values: Any, m: int) -> NDArray[np.int64]:
    weights = integer_array(name, values, 1)
    if len(weights) != m:
        raise ArgumentError(name, f"an array of length {m}, one weight per point", f"length {len(weights)}")
    if weights.dtype == object or (weights < 0).any():
        raise ArgumentError(name, "integers >= 0 of total less than 2^61", "others")
    return weights


def _total(weights: NDArray[np.int64]) -> int:
    return (int((weights >> 32).sum()) << 32) + int((weights & (2**32 - 1)).sum())


def exact_vector(weights: Sequence[int]) -> NDArray[Any]:
    """Return integer weights as an array: int64 where they fit, else objects."""
    wide = np.array(weights, dtype=object)
    return wide if any(abs(w) >= 2**62 for w in weights) else wide.astype(np.int64)
