"""Why the rows of a gadget force: explicit combinations, found once per kind of gadget.

Let delta_j(z) be the deficit of label j (:mod:`lp_gadgets.embedding`); for a bit it is r or 1 - r. A gadget
of a relation forces with factor g when every tuple t and target x satisfy, where the gadget's rows hold,

    delta_{t_x}(z_x)  <=  g * (sum of delta_{t_i}(z_i) over the other positions i).

Such an inequality is proved by non-negative multipliers of the rows, checked in integers. Two shapes:

* "layers": bits that are checked one layer at a time. For odd o the row  sum of delta_{o_i}(x_i) >= 1  is
  among the rows; it is the inequality of the tuple that differs from o at x, with factor 1.
* "combinations": a list of multipliers for every tuple and target.

For some tuples and targets far smaller weights do than the factor. A gadget may prove such sharper
inequalities,

    delta_{t_x}(z_x)  <=  sum of w_i delta_{t_i}(z_i) over the other positions i,

beside the others. They matter in trees, where weights multiply along a path, see
:mod:`lp_gadgets.gadgets.slack`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from operator import le
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.classifier import INT64_SAFE, products
from geomdp.core.errors import CapacityError, CertificateError
from lp_gadgets.embedding import Embedding
from lp_gadgets.field import trace_table
from lp_gadgets.gadgets.slack import Sharpened
from lp_gadgets.sparse import MAX_ENTRY, largest
from lp_gadgets.strict import whole

#: Most inequalities that are proved one by one for a gadget.
MAX_COMBINATIONS = 2**15
#: Most inequalities of a gadget for which sharper weights are looked for, and the weights that are tried for
#: a check of three symbols.
MAX_SHARPENED = 64
SHARPER = ((2, 2), (1, 3), (3, 1), (1, 5), (5, 1))
#: Most tuples at which the rows of a gadget are evaluated.
MAX_TUPLES = 2**16

Local = tuple[NDArray[np.int64], NDArray[np.int64]]
#: Row numbers, their multipliers, and the positive multiple of the inequality that they add up to.
Combination = tuple[list[int], list[int], int]
#: Labels of a tuple, target, the weights of the other positions, and why they do.
Sharper = tuple[list[int], int, list[int], Combination]


@dataclass(frozen=True)
class Gadget:
    """The relation that a block of rows imposes.

    Attributes:
        kind: "check", "trace" or "parity".
        degree: number of symbols of a check.
        embedding: how a symbol becomes a point.
    """

    kind: str
    degree: int
    embedding: Embedding

    @property
    def widths(self) -> list[int]:
        """The number of coordinates of every position."""
        step = self.embedding.dimension
        return {"check": [step] * self.degree, "trace": [step, step, 1], "parity": [1, 1, 1]}[self.kind]

    @property
    def layered(self) -> bool:
        """Whether the relation is one of bits, layer by layer."""
        return self.kind == "parity" or (
            self.kind == "check" and (self.embedding.kind == "cube" or self.embedding.q == 2)
        )

    @property
    def factor(self) -> int:
        """The factor that combinations prove."""
        return self.embedding.largest_deficit if self.kind == "check" else 1

    def tuples(self) -> NDArray[np.int64]:
        """Return all tuples.

        Raises:
            CapacityError: when there are more than :data:`MAX_TUPLES`.
        """
        q = self.embedding.q
        free = {"check": self.degree - 1, "trace": 2, "parity": 2}[self.kind]
        q = 2 if self.kind == "parity" else q
        if q**free > MAX_TUPLES:
            raise CapacityError(
                "encoding",
                f"one whose gadgets have at most {MAX_TUPLES} tuples",
                f"a check of {q**free}",
                "Use the cube embedding, or a tree.",
            )
        words = np.indices((q,) * free, dtype=np.int64).reshape(free, q**free).T
        if self.kind == "trace":
            return np.column_stack([words, trace_table(q)[words[:, 0], words[:, 1]]])
        return np.column_stack([words, np.bitwise_xor.reduce(words, axis=1, initial=0)])

    def points(self, tuples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the embedded tuples."""
        blocks = [
            tuples[:, i : i + 1] if self._bit(i) else self.embedding.points[tuples[:, i]]
            for i in range(tuples.shape[1])
        ]
        return np.concatenate(blocks, axis=1)

    def _bit(self, position: int) -> bool:
        return self.kind == "parity" or (self.kind == "trace" and position == 2)

    def inequality(
        self, labels: NDArray[np.int64], target: int, weights: Sequence[int] | None = None
    ) -> NDArray[Any]:
        """Return the forcing inequality f >= 0 of a tuple and a target: coefficients, then the constant.

        Args:
            labels: the tuple.
            target: the position that is bounded.
            weights: of the other positions in their order; by default the factor for each.
        """
        scales = [self.factor] * (len(labels) - 1) if weights is None else list(weights)
        scales.insert(target, -1)
        parts: list[int] = []
        constant = 0
        for i, label in enumerate(labels.tolist()):
            bit = np.array([1 - 2 * label, label])
            own = (bit if self._bit(i) else self.embedding.deficits[label]).tolist()
            scale = int(scales[i])
            parts += [scale * value for value in own[:-1]]
            constant += scale * own[-1]
        wide = max(map(abs, [*parts, constant])) >= INT64_SAFE
        return np.array([*parts, constant], dtype=object if wide else np.int64)

    def targets(self) -> range:
        """Return the positions that the others determine and a proof needs: the bit of a trace, else all."""
        return range(2, 3) if self.kind == "trace" else range(self.degree or 3)


def key_of(gadget: Gadget, local: Local) -> str:
    """Return a short digest of a gadget and its rows."""
    A, b = local
    digest = hashlib.sha256(f"{gadget.kind} {gadget.degree} {A.shape}".encode())
    digest.update(np.ascontiguousarray(A, dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(b, dtype="<i8").tobytes())
    return digest.hexdigest()[:16]


def in_layers(gadget: Gadget, local: Local) -> bool:
    """Return whether the odd rows of every layer are among a gadget's rows.

    On the parabola with q = 2 the coordinates of a symbol must be equal by two of the rows; the second is
    then read as the first.

    Example:
        >>> gadget = Gadget("parity", 0, Embedding(2))
        >>> A = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
        >>> in_layers(gadget, (A, np.array([2, 0, 0, 0]))), in_layers(gadget, (A, np.array([2, 0, 1, 0])))
        (True, False)
    """
    A, b = local
    small = max(largest(A), largest(b)) < MAX_ENTRY  # then no sum of two columns wraps around
    return small and gadget.layered and _layers_hold(gadget, *_merged(gadget, local))


def _merged(gadget: Gadget, local: Local) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the rows with one column a bit, and the number of layers; none where that is not so."""
    A, b = local
    if gadget.kind == "parity":
        return A, b, 1
    if gadget.embedding.kind == "cube":
        return A, b, gadget.embedding.bits
    known = {tuple(row) for row, bound in zip(A.tolist(), b.tolist(), strict=True) if bound <= 0}
    for i in range(gadget.degree):
        line = np.zeros(A.shape[1], dtype=np.int64)
        line[2 * i : 2 * i + 2] = 1, -1
        if tuple(line.tolist()) not in known or tuple((-line).tolist()) not in known:
            return A, b, 0
    return A[:, ::2] + A[:, 1::2], b, 1


def _layers_hold(gadget: Gadget, A: NDArray[np.int64], b: NDArray[np.int64], layers: int) -> bool:
    size = len(gadget.widths)
    scale = np.gcd.reduce(np.column_stack([A, b]), axis=1, initial=0)[:, None]
    table = np.column_stack([A, b]) // np.maximum(scale, 1)
    known = {row.tobytes() for row in np.ascontiguousarray(table, dtype=np.int64)}
    words = np.indices((2,) * size, dtype=np.int64).reshape(size, 2**size).T if size < 17 else None
    if words is None or layers == 0:
        return False
    odd = words[words.sum(axis=1) % 2 == 1]
    for layer in range(layers):
        rows = np.zeros((len(odd), A.shape[1] + 1), dtype=np.int64)
        rows[:, layer : size * layers : layers] = 2 * odd - 1
        rows[:, -1] = odd.sum(axis=1) - 1
        if not all(row.tobytes() in known for row in rows):
            return False
    return True


def find_combinations(gadget: Gadget, local: Local) -> list[Combination]:
    """Return multipliers for every forcing inequality of a gadget, in the order of tuples and targets.

    Raises:
        CapacityError: when there are too many inequalities.
        CertificateError: when the rows do not imply one of them.
    """
    count = len(gadget.tuples()) * len(gadget.targets())
    if count > MAX_COMBINATIONS:
        raise CapacityError(
            "encoding",
            f"one whose gadgets force by at most {MAX_COMBINATIONS} inequalities",
            f"{count} of them for one gadget",
            "Use the cube embedding, or a tree.",
        )
    functions = _functions(local)
    primitive = _primitive(functions)
    lookup = {row.tobytes(): i for i, row in enumerate(primitive)}
    return [_combine(functions, lookup, f, x) for f, x in _inequalities(gadget)]


def find_sharper(gadget: Gadget, local: Local) -> list[Sharper]:
    """Return sharper inequalities of a check of three symbols over a small alphabet, as far as they hold.

    Example:
        >>> from lp_gadgets.gadgets.encoding import encode
        >>> from lp_gadgets.relation import Relation
        >>> gadget = Gadget("check", 3, Embedding(4))
        >>> rows = encode(Relation.check(3, Embedding(4))).rows
        >>> found = find_sharper(gadget, (rows.A, rows.b))
        >>> [w for labels, target, w, _ in found if labels == [0, 1, 1] and target == 2]
        [[1, 3], [2, 2], [3, 1]]
        >>> [w for labels, target, w, _ in found if labels == [1, 1, 0] and target == 2]
        []
    """
    if gadget.kind != "check" or gadget.degree != 3 or 3 * gadget.embedding.q**2 > MAX_SHARPENED:
        return []
    functions = _functions(local)
    lookup = {row.tobytes(): i for i, row in enumerate(_primitive(functions))}
    tuples = gadget.tuples()
    found: list[Sharper] = []
    for labels, x in zip(tuples, gadget.points(tuples), strict=True):
        for target in gadget.targets():
            held: list[tuple[int, ...]] = []
            for weights in SHARPER:
                if any(all(map(le, less, weights)) for less in held):
                    continue
                try:
                    own = _combine(functions, lookup, gadget.inequality(labels, target, weights), x)
                except CertificateError:
                    continue
                held.append(weights)
                found.append((labels.tolist(), target, list(weights), own))
    return sorted(found, key=lambda sharper: sharper[:3])


def check_sharper(gadget: Gadget, local: Local, sharper: Any) -> Sharpened:
    """Check the multipliers of sharper inequalities, in integers; return the weights they prove.

    Raises:
        CertificateError: when one fails.
    """
    functions = _functions(local).astype(object)
    tuples = set(map(tuple, gadget.tuples().tolist())) if sharper else set()
    if not isinstance(sharper, list) or not all(a[:3] < b[:3] for a, b in pairwise(sharper)):
        raise CertificateError("Step 'forcing': the sharper inequalities are not in increasing order.")
    for labels, target, weights, combination in sharper:
        sound = tuple(labels) in tuples and target in gadget.targets() and len(weights) == len(labels) - 1
        if not sound or not whole(*labels, target, *weights) or min(weights) < 0:
            raise CertificateError("Step 'forcing': a sharper inequality is malformed.")
        _check_combination(functions, gadget.inequality(np.array(labels), target, weights), combination)
    return proved_weights(sharper)


def proved_weights(sharper: Any) -> Sharpened:
    """Return the weights of sharper inequalities, by tuple and target."""
    proved: dict[tuple[tuple[int, ...], int], list[tuple[int, ...]]] = {}
    for labels, target, weights, _ in sharper:
        proved.setdefault((tuple(labels), target), []).append(tuple(weights))
    return tuple(sorted((key, tuple(own)) for key, own in proved.items()))


def _inequalities(gadget: Gadget) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Yield every forcing inequality with the point of its tuple."""
    tuples = gadget.tuples()
    for labels, x in zip(tuples, gadget.points(tuples), strict=True):
        for target in gadget.targets():
            yield gadget.inequality(labels, target), x


def _functions(local: Local) -> NDArray[Any]:
    """Return the rows A x <= b as affine functions f >= 0: coefficients, then the constant, exactly."""
    A, b = local
    safe = largest(A) < 2**63
    return np.column_stack([-A if safe else -A.astype(object), b])


def _primitive(rows: NDArray[Any]) -> NDArray[Any]:
    scale = np.gcd.reduce(rows, axis=1)[:, None]
    return np.ascontiguousarray(rows // np.maximum(scale, 1))


def _combine(
    functions: NDArray[Any], lookup: dict[bytes, int], f: NDArray[Any], x: NDArray[np.int64]
) -> Combination:
    from geomdp.exact.simplex import ConeMembership

    row = lookup.get(_primitive(f[None])[0].tobytes())
    if row is not None:
        own, whole = functions[row], int(np.gcd.reduce(f))
        return [row], [whole], int(np.gcd.reduce(own))
    tight = np.flatnonzero(products(functions, np.append(x, 1)) == 0)
    cone = ConeMembership(functions[tight], f.tolist())
    if cone.solve() is not None:
        raise CertificateError("Step 'forcing': the rows of a gadget do not force one of its symbols.")
    answer = cone.weights()
    scale = lcm(1, *(y.denominator for y in answer.values()))
    return [int(tight[i]) for i in answer], [int(y * scale) for y in answer.values()], scale


def check_combinations(gadget: Gadget, local: Local, combinations: Any) -> None:
    """Check the multipliers of every forcing inequality, in integers.

    Raises:
        CertificateError: when one is missing or fails.
    """
    functions = _functions(local).astype(object)
    needed = list(_inequalities(gadget))
    if len(combinations) != len(needed):
        raise CertificateError("Step 'forcing': the number of combinations is wrong.")
    for (f, _), combination in zip(needed, combinations, strict=True):
        _check_combination(functions, f, combination)


def _check_combination(functions: NDArray[Any], f: NDArray[Any], combination: Any) -> None:
    rows, multipliers, scale = combination
    sound = whole(*rows, *multipliers, scale) and len(rows) == len(multipliers)
    sound = sound and all(first < second for first, second in pairwise(rows))
    if not sound or scale < 1 or min(multipliers, default=1) < 1:
        raise CertificateError("Step 'forcing': a combination is malformed.")
    if rows and not 0 <= min(rows) <= max(rows) < len(functions):
        raise CertificateError("Step 'forcing': a combination names a row that does not exist.")
    total = scale * f.astype(object)
    for row, y in zip(rows, multipliers, strict=True):
        total = total - y * functions[row]
    if any(total[:-1]) or total[-1] < 0:
        raise CertificateError("Step 'forcing': a combination does not add up to its inequality.")


def rows_are_valid(gadget: Gadget, local: Local) -> bool:
    """Return whether every tuple of a relation satisfies a gadget's rows.

    Layered rows are evaluated layer by layer where each involves one layer only.

    Raises:
        CapacityError: when there are too many tuples.
    """
    A, b = local
    layers = gadget.embedding.bits if gadget.kind == "check" and gadget.embedding.kind == "cube" else 1
    if layers > 1 and gadget.embedding.q ** (gadget.degree - 1) > MAX_TUPLES:
        small = Gadget("check", gadget.degree, Embedding(2, "cube"))
        parts = [A[:, layer::layers] for layer in range(layers)]
        inside = sum((part != 0).any(axis=1).astype(int) for part in parts)
        points = small.points(small.tuples()).T
        values = [products(part, points).max(axis=1).astype(object) for part in parts]
        return bool((np.asarray(inside) <= 1).all() and (np.sum(values, axis=0) <= b).all())
    points = gadget.points(gadget.tuples()).T
    return bool((b[:, None] >= products(A, points)).all())
