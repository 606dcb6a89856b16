"""Checking a certificate against the records, in integers: no solver, no search, no float.

The verifier derives the rows from the pooled records itself, recounts the witness, and replays the lemmas in
order. Nothing that the certificate says is believed: a damaged or a wrong one is refused with the step that
fails, never with another exception.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import INT64_SAFE, Halfspace, Threshold, products, signs
from geomdp.core.errors import CertificateError
from geomdp.core.sample import Sample, pool
from geomdp.opt.certificate import BRANCH, CLOSED, PACKED, Certificate, Lemma, commitment
from geomdp.opt.faces import MAX_SWEEPS, faces_optimum, sweeps
from geomdp.opt.form import formal
from geomdp.opt.planar import plane_optimum
from geomdp.opt.rows import Rows, box_rows, largest, pivots_modulo, rows_of

#: Columns that the integer bounds of a box tree allow.
MAX_COLUMNS = 16

#: Entries up to which the plane rule of a box tree is exact in int64.
PLANE_ENTRIES = 2**19

#: Memory for a box tree's open rows, in entries (20 bytes each, touched only as far as they are used).
MAX_STACK = 2**31


def verify(certificate: Certificate, *samples: Sample) -> bool:
    """Return True if a certificate proves its interval for the pooled samples.

    Checked are: that it was made for these records (their salted hash); that the witness makes exactly
    ``upper`` mistakes on them; and, lemma by lemma, that no classifier makes fewer than ``lower``.

    Args:
        certificate: from an :class:`~geomdp.opt.result.OptResult`, or :meth:`Certificate.load`.
        *samples: the samples that were pooled, in any order.

    Returns:
        True; a certificate that proves less raises.

    Raises:
        CertificateError: naming the step that fails, or the part that is of another form: bounds that are no
            Python integers, or arrays that are missing or of another type.
        ArgumentError: when ``certificate`` is no Certificate, or the samples are no samples of one domain.

    Example:
        >>> from geomdp import Domain
        >>> from geomdp.opt.halfspace import opt_halfspace
        >>> D = Domain([[0, 1], [1, 1], [2, 1]])
        >>> S = Sample.from_counts(D, [0, 2, 0], [3, 0, 1])
        >>> verify(opt_halfspace(S).certificate, S)
        True
    """
    certificate = formal(certificate)
    sample = pool(*samples)
    _check_frame(certificate, sample.points, sample.positives, sample.negatives, sample.n)
    if isinstance(certificate.classifier, Threshold):
        return _verify_threshold(certificate, sample)
    return _verify_halfspace(certificate, sample.points, sample.positives, sample.negatives)


def verify_points(
    certificate: Certificate, points: NDArray[Any], positives: NDArray[np.int64], negatives: NDArray[np.int64]
) -> bool:
    """Do what :func:`verify` does for (m, d) integer points, with (m,) weights of both labels.

    Raises:
        CertificateError: naming the step that fails.
        ArgumentError: when ``certificate`` is no Certificate.
    """
    certificate = formal(certificate)
    _check_frame(certificate, points, positives, negatives, int(positives.sum()) + int(negatives.sum()))
    return _verify_halfspace(certificate, points, positives, negatives)


def _fail(step: str, reason: str) -> CertificateError:
    return CertificateError(f"{step}: {reason}.")


def _check_frame(c: Certificate, points: Any, positives: Any, negatives: Any, n: int) -> None:
    if commitment(c.salt, points, positives, negatives) != c.digest or c.n != n:
        raise _fail(
            "Records", "the certificate was made for other records, or for the samples in another domain"
        )
    if not 0 <= c.lower <= c.upper <= n:
        raise _fail("Bounds", "0 <= lower <= upper <= n does not hold")


def _verify_threshold(c: Certificate, sample: Sample) -> bool:
    if not isinstance(c.classifier, Threshold) or not sample.domain.ordered:
        raise _fail("Witness", "a threshold needs a domain of ranks")
    if not 0 <= c.classifier.theta <= sample.domain.m or c.classifier.mistakes(sample) != c.upper:
        raise _fail("Witness", "the threshold does not make 'upper' mistakes")
    if len(c.lemmas) != 1 or c.lemmas[0].kind != "threshold" or c.lemmas[0].rows is not None:
        raise _fail("Lemma 0", "the optimum of thresholds is proved by one sweep")
    best = mistakes = sample.n - int(sample.positives.sum())
    for plus, minus in zip(sample.positives.tolist(), sample.negatives.tolist(), strict=True):
        mistakes += plus - minus
        best = min(best, mistakes)
    if c.lower > best or c.lemmas[0].bound != best:
        raise _fail("Lemma 0", "a threshold makes fewer mistakes than is claimed")
    return True


def _verify_halfspace(c: Certificate, points: Any, positives: Any, negatives: Any) -> bool:
    if not isinstance(c.classifier, Halfspace):
        raise _fail("Witness", "it is not a halfspace")
    weights = c.classifier.weights
    if len(weights) != points.shape[1]:
        raise _fail("Witness", "it does not have one weight per column")
    w = np.empty(len(weights), dtype=object)
    w[:] = weights
    if all(abs(v) < 2**62 for v in weights):
        w = w.astype(np.int64)
    wrong = int(np.where(signs(points, w) > 0, negatives, positives).sum())
    if wrong != c.upper:
        raise _fail("Witness", "the halfspace does not make 'upper' mistakes")
    rows = rows_of(points, positives, negatives)
    if not c.lemmas:
        if c.lower > rows.base:
            raise _fail("Lemmas", "there is no proof of 'lower'")
        return True
    proved: list[tuple[int, NDArray[np.int64]]] = []
    for number, lemma in enumerate(c.lemmas):
        proved.append((lemma.bound, _check_lemma(f"Lemma {number}", lemma, rows, proved)))
    if c.lemmas[-1].rows is not None:
        raise _fail(f"Lemma {len(c.lemmas) - 1}", "the last lemma is not about all the rows")
    if c.lower > rows.base + c.lemmas[-1].bound:
        raise _fail("Bounds", "'lower' is more than the last lemma proves")
    return True


def _check_lemma(  # noqa: PLR0912 (one branch per kind)
    step: str, lemma: Lemma, rows: Rows, proved: list[tuple[int, NDArray[np.int64]]]
) -> NDArray[np.int64]:
    """Check one lemma and return its rows, or raise."""
    index = np.arange(rows.m, dtype=np.int64)
    if lemma.rows is not None:
        chosen = lemma.rows
        if len(chosen) and (chosen[0] < 0 or chosen[-1] >= rows.m or (np.diff(chosen) <= 0).any()):
            raise _fail(step, "its rows are not ascending numbers of rows")
        index = chosen.astype(np.int64)
    part = rows.subset(index)
    if lemma.kind == "count":
        if lemma.bound > 0:
            raise _fail(step, "a bound above 0 needs a proof")
    elif lemma.kind == "plane":
        X = part.Z[:, _kept_columns(step, lemma, part)]
        if X.shape[1] > 2:
            raise _fail(step, "its rows span more than a plane")
        if plane_optimum(X, part.strict, part.W)[0] < lemma.bound:
            raise _fail(step, "its rows cost less than is claimed")
    elif lemma.kind == "faces":
        X = part.Z[:, _kept_columns(step, lemma, part)]
        if len(pivots_modulo(X)[1]) < X.shape[1]:
            raise _fail(step, "its rows do not span its columns")
        if sweeps(part.m, X.shape[1]) > MAX_SWEEPS:
            raise _fail(step, "it has too many faces to be swept")
        if faces_optimum(X, part.strict, part.W)[0] < lemma.bound:
            raise _fail(step, "its rows cost less than is claimed")
    elif lemma.kind == "boxes":
        _check_boxes(step, lemma, part, index=index, m=rows.m, proved=proved)
    elif lemma.kind == "subsets":
        _Branches(step, lemma, part).check()
    else:
        raise _fail(step, "its kind is for thresholds")
    return index


def _kept_columns(step: str, lemma: Lemma, part: Rows) -> list[int]:
    """Return the columns on which the rows take every value <w, z>, after checking the others depend on them.

    Row t of the kernel is orthogonal to every row z and, of the dropped columns, nonzero at the t-th only: it
    writes that column of the rows as a combination of the kept ones.
    """
    dropped, kernel = lemma.arrays["dropped"], lemma.arrays["kernel"]
    if len(dropped) and (dropped.min() < 0 or dropped.max() >= part.d or (np.diff(dropped) <= 0).any()):
        raise _fail(step, "its dropped columns are not ascending numbers of columns")
    if len(dropped):
        if kernel.shape != (len(dropped), part.d):
            raise _fail(step, "its kernel does not have one row per dropped column")
        on_dropped = kernel[:, dropped]
        pivots = on_dropped.diagonal()
        if (pivots == 0).any() or (on_dropped != np.diag(pivots)).any():
            raise _fail(step, "its kernel does not solve for the dropped columns")
        if (products(part.Z, kernel.T) != 0).any():
            raise _fail(step, "its kernel is not orthogonal to its rows")
    return [c for c in range(part.d) if c not in set(dropped.tolist())]


def _check_boxes(
    step: str, lemma: Lemma, part: Rows, *, index: NDArray[np.int64], m: int, proved: list[Any]
) -> None:
    from geomdp.opt import _replay_kernels

    X = np.ascontiguousarray(part.Z[:, _kept_columns(step, lemma, part)])
    r, T = X.shape[1], lemma.arrays["transform"]
    if not 1 <= r <= MAX_COLUMNS or part.m == 0:
        raise _fail(step, f"a box tree has 1 to {MAX_COLUMNS} columns and at least one row")
    if T.shape != (r, r) or len(pivots_modulo(T)[1]) < r:
        raise _fail(step, "its transform is not invertible")
    if int(part.W[part.strict].sum()) < lemma.bound:
        raise _fail(step, "w = 0 costs less than is claimed")
    Y, E = box_rows(X, T)
    small = X.dtype != object and largest(X) < PLANE_ENTRIES
    stack = part.m * (20 * r + 2) + 1
    if stack > MAX_STACK:
        raise _fail(step, "it has too many rows to be replayed")
    place = np.full(m, -1, dtype=np.int64)
    place[index] = np.arange(len(index))
    distinct_cited, cited = np.unique(lemma.arrays["lemmas"], return_inverse=True)
    if len(distinct_cited) and not 0 <= distinct_cited[0] <= distinct_cited[-1] < len(proved):
        raise _fail(step, "it cites a lemma that does not come before it")
    earlier = [proved[int(k)] for k in distinct_cited]
    starts = np.cumsum([0, *(len(other) for _, other in earlier)]).astype(np.int64)
    members = np.concatenate([place[other] for _, other in earlier] or [np.empty(0, dtype=np.int64)])
    bounds = np.array([min(bound, 2**62) for bound, _ in earlier], dtype=np.int64)
    names = ("leaf_sets", "set_weight", "set_size", "set_row", "set_multiplier")
    tokens = lemma.arrays["tokens"].astype(np.int64)
    streams = [np.ascontiguousarray(lemma.arrays[name].astype(np.int64)) for name in names]
    replay: Any = _replay_kernels.replay
    reason, at = replay(
        min(lemma.bound, 2**62), Y, E, part.strict.astype(np.int64), part.W, X if small else Y, small,
        tokens, cited.astype(np.int64), *streams,
        bounds, starts, members,
        np.empty(stack, dtype=np.uint32), np.empty(stack, dtype=np.int64), np.empty(stack, dtype=np.int64),
    )  # fmt: skip
    if reason:
        raise _fail(f"{step}, box {at}", _replay_kernels.REASONS[reason])


class _Branches:
    """Replays a tree in which rows are decided to be right or wrong, over all w.

    A decided row is a *hard* one: right as it is, or wrong as -z with the other strictness. A subset with
    multipliers lam > 0, sum lam_i z_i = 0 and a strict member is infeasible, so that one of its open members
    is wrong; with no open member the node is empty.
    """

    def __init__(self, step: str, lemma: Lemma, part: Rows) -> None:
        self.step, self.part, self.bound, a = step, part, lemma.bound, lemma.arrays
        self.nodes, self.branch_row = a["nodes"].tolist(), a["branch_row"].tolist()
        self.leaf_sets, self.weight = a["leaf_sets"].tolist(), a["set_weight"].tolist()
        self.size, self.row, self.multiplier = (
            a["set_size"].tolist(),
            a["set_row"].tolist(),
            a["set_multiplier"],
        )
        if len(a["denominator"]) != 1 or not 1 <= int(a["denominator"][0]) <= 2**40:
            raise _fail(step, "its denominator is out of range")
        self.denominator = int(a["denominator"][0])
        if self.multiplier.ndim != 1 or len(self.multiplier) != len(self.row):
            raise _fail(step, "its subsets do not have one multiplier per row")
        self.state = np.zeros(part.m, dtype=np.int64)  # 0 open, 1 decided right, -1 decided wrong
        self.at = [0, 0, 0, 0, 0]  # nodes, branch rows, leaves, subsets, entries
        self.top = max(largest(part.Z), 1)

    def check(self) -> None:
        """Walk through the nodes in preorder."""
        stack: list[tuple[int, int, int]] = [(-1, 0, 0)]  # (row decided, to which state, cost so far)
        trail: list[int] = []
        depth: list[int] = [0]
        while stack:
            row, state, cost = stack.pop()
            level = depth.pop()
            while len(trail) > level:
                self.state[trail.pop()] = 0
            if row >= 0:
                self.state[row] = state
                trail.append(row)
            kind = self._next(0, self.nodes, "the tree ends before it covers every case")
            if kind == CLOSED:
                if cost < self.bound:
                    raise _fail(self._node(), "a case counted as dear enough is not")
            elif kind == PACKED:
                self._packing(cost)
            elif kind == BRANCH:
                row = self._next(1, self.branch_row, "a decided row is missing")
                if not 0 <= row < self.part.m or self.state[row] != 0:
                    raise _fail(self._node(), "a row is decided that is not open")
                stack += [(row, -1, cost + int(self.part.W[row])), (row, 1, cost)]
                depth += [len(trail)] * 2
            else:
                raise _fail(self._node(), "the type of the case is unknown")
        streams = (self.nodes, self.branch_row, self.leaf_sets, self.size, self.row)
        if any(at != len(stream) for at, stream in zip(self.at, streams, strict=True)):
            raise _fail(self.step, "a step of the proof is left over")
        if len(self.weight) != len(self.size):
            raise _fail(self.step, "its subsets do not have one weight each")

    def _node(self) -> str:
        return f"{self.step}, case {self.at[0] - 1}"

    def _next(self, which: int, stream: list[int], reason: str) -> int:
        if self.at[which] >= len(stream):
            raise _fail(self.step, reason)
        self.at[which] += 1
        return int(stream[self.at[which] - 1])

    def _packing(self, cost: int) -> None:
        count = self._next(2, self.leaf_sets, "an infeasible subset is missing")
        load: dict[int, int] = {}
        total, empty = 0, False
        for _ in range(count):
            size = self._next(3, self.size, "an infeasible subset is missing")
            if self.at[3] > len(self.weight):
                raise _fail(self.step, "an infeasible subset is missing")
            first, weight = self.at[4], self.weight[self.at[3] - 1]
            self.at[4] += size
            if size < 1 or weight < 1 or self.at[4] > len(self.row):
                raise _fail(self._node(), "an infeasible subset is empty, or has no weight")
            members = self.row[first : first + size]
            if min(members) < 0 or max(members) >= self.part.m:
                raise _fail(self._node(), "an infeasible subset names a row that there is not")
            self._infeasible(members, self.multiplier[first : first + size])
            soft = [i for i in members if self.state[i] == 0]
            empty |= not soft
            total += weight
            for i in soft:
                load[i] = load.get(i, 0) + weight
        if empty:
            return
        if any(used > int(self.part.W[i]) * self.denominator for i, used in load.items()):
            raise _fail(self._node(), "the subsets use more of a row than its weight")
        if total <= (self.bound - cost - 1) * self.denominator:
            raise _fail(self._node(), "the subsets do not cost enough")

    def _infeasible(self, members: list[int], multipliers: NDArray[Any]) -> None:
        if any(int(v) < 1 for v in multipliers):
            raise _fail(self._node(), "a multiplier is not positive")
        index = np.array(members, dtype=np.int64)
        state = self.state[index]
        rows = self.part.Z[index]
        turned = np.where(state < 0, -1, 1)
        if largest(multipliers) * self.top * len(members) >= INT64_SAFE:
            multipliers, rows = multipliers.astype(object), rows.astype(object)
        if (((multipliers * turned) @ rows) != 0).any():
            raise _fail(self._node(), "the multipliers of a subset do not add up to zero")
        if not (self.part.strict[index] ^ (state < 0)).any():
            raise _fail(self._node(), "a subset has no strict row, so that it can be feasible")
