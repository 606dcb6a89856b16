"""Several instances on one public domain, and what they say about every private tester.

A *scale* is a block length K with an alphabet q, and its instance's exact sizes. Zero-padded to one
dimension, several scales share a domain (paper, Lemma E.3 and Theorem E.4); here they are chosen by their
actual sizes.

What a scale proves. Suppose an epsilon-DP tester has resolution t on n records of either party. Let J = t and
L = ceil(t / D); the encoders need K L + (R + 1) t records, R public rows. If that is at most n, the tester
computes F, so it reveals at least c_I k log2 q bits; by Lemma 2.2 it reveals at most
epsilon (Delta_A + Delta_B) / ln 2 <= 2 epsilon K L / ln 2. So with

    l = c_I k log2(q) ln 2 / (2 epsilon K)    and    t* = D (ceil(l) - 1) + 1

no tester has a resolution below min(t*, T + 1), T the largest t whose encoders fit into n records. The
constant c_I of the information complexity of the inner product is not known explicitly: it is a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, log
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CapacityError, check_epsilon, check_integer, describe
from geomdp.core.sample import Sample
from lp_gadgets.program import ProgramSize, Recipe, predict_size
from lp_gadgets.public import PublicInstance
from lp_gadgets.records import records_needed
from lp_gadgets.tanner import TannerCode
from lp_gadgets.thresholds import check_constant

if TYPE_CHECKING:
    from lp_gadgets.instance import HardInstance

#: A rational number just below ln 2: a bound that is rounded down is still a bound.
LN2_BELOW = Fraction(693147180559945309417232, 10**24)
Item = TypeVar("Item")


@dataclass(frozen=True)
class Scale:
    """The numbers of one scale.

    Attributes:
        name: of the graph.
        K, q, k: block length, alphabet, message length.
        D: certified erasure threshold.
        size: variables and rows of the program.
        support: positions that are not zero in every codeword.

    Example:
        >>> scale = Scale.of(TannerCode.geometry("Fano"), q=2)
        >>> scale.K, scale.k, scale.D, scale.d, scale.m
        (7, 3, 4, 36, 170)
        >>> scale.bound(n=10**6, epsilon=0.01), scale.bound(n=100, epsilon=0.01)
        (57, 1)
    """

    name: str
    K: int
    q: int
    k: int
    D: int
    size: ProgramSize
    support: int

    @classmethod
    def of(
        cls,
        code: TannerCode,
        q: int,
        embedding: str = "auto",
        encoding: str = "auto",
        D: int | None = None,
    ) -> Scale:
        """Return the scale of a graph and an alphabet; nothing is built.

        Args:
            code: the graph.
            q: alphabet size.
            embedding, encoding: see :meth:`lp_gadgets.program.Recipe.of`.
            D: the certified erasure threshold, if it is known; else the stopping distance is searched. The
                positions where a codeword is not zero are a stopping set, so D is at most the least weight of
                the generator's rows.

        Raises:
            ArgumentError: when the code is no TannerCode or has dimension 0, the embedding or encoding is
                unknown, or D is no integer from 1 to that weight.
        """
        _check_items("code", [code], TannerCode)
        recipe = Recipe.of(q, embedding, encoding)
        field = code.over(recipe.embedding.q)
        if field.k < 1:
            raise ArgumentError("code", "a code of dimension k >= 1", "one whose only word is zero")
        if D is None:
            found = code.stopping_distance().lower
        else:
            found = check_integer("D", D, 1, int(field.generator.sum(axis=1).min()))
        support = int(field.generator.any(axis=0).sum())
        return cls(code.name, code.K, field.q, field.k, found, predict_size(field, recipe), support)

    @property
    def d(self) -> int:
        """Dimension of the records."""
        return self.size.variables + 1

    @property
    def m(self) -> int:
        """Points of the domain."""
        return self.size.points

    @property
    def bits(self) -> int:
        """Bits of a message, k log2 q."""
        return self.k * (self.q.bit_length() - 1)

    @property
    def merit(self) -> float:
        """The figure of merit D k log2(q) / (K d): the bound per c_I ln 2 / (2 epsilon) and dimension."""
        return self.D * self.bits / (self.K * self.d)

    def needed(self, t: int) -> int:
        """Return the records that Bob's encoder, the larger one, needs for a gap of t.

        Raises:
            ArgumentError: unless ``t`` is an integer >= 0.
        """
        J = check_integer("t", t, 0)
        return max(records_needed(self.K, self.size.rows, J, -(-J // self.D)))

    def largest_gap(self, n: int) -> int:
        """Return the largest t whose encoders fit into n records, by bisection.

        Raises:
            ArgumentError: unless ``n`` is an integer >= 0.
        """
        low, high = 0, check_integer("n", n, 0)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.needed(middle) <= n else (low, middle - 1)
        return low

    def asymptote(self, epsilon: object, c_I: object = 1) -> int:
        """Return t*, the bound at budget epsilon once n suffices; 1 where the scale says nothing.

        `c_I` is the constant of the information bound, which is not known explicitly.

        Raises:
            ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100 and ``c_I`` one with
                0 < c_I <= 10^9.
        """
        budget, constant = check_epsilon(epsilon), check_constant(c_I)
        ratio = constant * self.bits * LN2_BELOW / (2 * budget * self.support)  # in fractions: ceil is exact
        return self.D * max(0, ceil(ratio) - 1) + 1

    def bound(self, n: int, epsilon: object, c_I: object = 1) -> int:
        """Return the least resolution that this scale leaves to an epsilon-DP tester on n records.

        Args:
            n: records of either party.
            epsilon: the privacy budget.
            c_I: the constant of the information bound; 1 gives the figure per unit.

        Raises:
            ArgumentError: unless ``n`` is an integer >= 1, ``epsilon`` a number with 10^-6 <= epsilon <= 100
                and ``c_I`` one with 0 < c_I <= 10^9.
        """
        return min(self.asymptote(epsilon, c_I), self.largest_gap(check_integer("n", n, 1)) + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as JSON values."""
        own = {name: getattr(self, name) for name in ("name", "K", "q", "k", "D", "d", "m")}
        return {**own, "public_rows": self.size.rows, "merit": self.merit}


def lower_bound(
    scales: Iterable[Scale],
    n: Sequence[int],
    epsilon: object,
    c_I: object = 1,
) -> list[tuple[int, int, str]]:
    """Return the curve of the lower bound: for every n the best bound and the scale that gives it.

    Args:
        scales: the scales of one domain.
        n: numbers of records of either party.
        epsilon: the privacy budget.
        c_I: the constant of the information bound; 1 gives the curve per unit.

    Returns:
        A triple for every n: n, the least resolution that the scales leave, and the name of the scale that
        gives it (empty where none says anything).

    Raises:
        ArgumentError: when ``scales`` or ``n`` holds anything else, or a budget or constant is out of range.

    Example:
        >>> scales = [Scale.of(TannerCode.geometry(g), 2) for g in ("Fano", "EG(2,4)")]
        >>> lower_bound(scales, [100, 10**4, 10**7], 0.01)
        [(100, 1, ''), (10000, 57, 'geometry:Fano q=2'), (10000000, 81, 'geometry:EG(2,4) q=2')]
    """
    curve = []
    known = _check_items("scales", scales, Scale)
    if isinstance(n, str) or not isinstance(n, Iterable):
        raise ArgumentError("n", "a sequence of numbers of records", describe(n), "Write [10**6], say.")
    check_epsilon(epsilon), check_constant(c_I)
    for size in [check_integer("n", size, 1) for size in n]:
        best, source = 1, ""
        for scale in known:
            value = scale.bound(size, epsilon, c_I)
            if value > best:
                best, source = value, f"{scale.name} q={scale.q}"
        curve.append((size, best, source))
    return curve


def information(instance: HardInstance, epsilon: object) -> float:
    """Return the bits that an epsilon-DP transcript on an instance reveals at most (paper, Lemma 2.2).

    It is epsilon (Delta_A + Delta_B) / ln 2 with the certified bound on the instance's diameters.

    Args:
        instance: the instance.
        epsilon: the privacy budget of either party.

    Returns:
        The bound in bits, for either order of the messages and any number of rounds.

    Raises:
        ArgumentError: unless ``instance`` is a hard instance and ``epsilon`` a number with 10^-6 <= epsilon
            <= 100.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> round(information(HardInstance(TannerCode.geometry("EG(2,4)"), L=1), 0.1), 3)
        4.328
    """
    _check_items("instance", [instance], PublicInstance)
    return float(check_epsilon(epsilon)) * 2 * instance.diameters[1] / log(2)


def merit_table(scales: Iterable[Scale]) -> list[dict[str, Any]]:
    """Return the scales as rows, the strongest per dimension first.

    Args:
        scales: the scales.

    Returns:
        The :meth:`Scale.to_dict` of each.

    Raises:
        ArgumentError: when one of them is no scale.

    Example:
        >>> codes = [TannerCode.geometry(name) for name in ("EG(2,4)", "Fano")]
        >>> [row["name"] for row in merit_table(Scale.of(code, 4) for code in codes)]
        ['geometry:Fano', 'geometry:EG(2,4)']
    """
    known = _check_items("scales", scales, Scale)
    return [scale.to_dict() for scale in sorted(known, key=lambda scale: -scale.merit)]


def choose_scales(
    d: int,
    m: int,
    blocks: Sequence[TannerCode],
    alphabets: Sequence[int] = (4, 8, 16),
    embedding: str = "auto",
) -> list[Scale]:
    """Return the scales that a domain of m points in dimension d has room for.

    Greedy, by actual sizes: the binary scales of all block lengths in increasing order while they fit, at
    most half of the points; then larger alphabets at the longest block length that was taken.

    Args:
        d: dimension of the domain.
        m: number of its points.
        blocks: graphs of increasing block length.
        alphabets: larger alphabets, increasing.
        embedding: of the larger alphabets.

    Returns:
        The scales that were taken, in the order in which they were.

    Raises:
        ArgumentError: when not even the shortest block fits, or an argument is of another kind.

    Example:
        >>> graphs = [TannerCode.geometry(name) for name in ("Fano", "EG(2,4)")]
        >>> [(s.K, s.q) for s in choose_scales(80, 4000, graphs)]
        [(7, 2), (15, 2), (15, 4)]
    """
    d, m = check_integer("d", d, 1), check_integer("m", m, 1)
    graphs = _check_items("blocks", blocks, TannerCode)
    if not graphs:
        raise ArgumentError("blocks", "a list of at least one Tanner graph", "empty")
    taken: list[Scale] = []
    longest: tuple[TannerCode, int] | None = None
    used = 0
    for code in sorted(graphs, key=lambda code: code.K):
        scale = Scale.of(code, 2, D=1)
        if scale.d <= d and used + scale.m <= m // 2:
            found = code.stopping_distance().lower
            longest = code, found
            taken.append(Scale.of(code, 2, D=found))
            used += scale.m
    if longest is None:
        least = min((Scale.of(code, 2, D=1) for code in graphs), key=lambda s: (s.d, s.m))
        mend = f"Twice {least.m} points in dimension {least.d} would do."
        got = f"{describe(d)}, {describe(m)}"
        raise ArgumentError("d, m", "large enough for the shortest block", got, mend)
    for q in alphabets:
        try:
            scale = Scale.of(longest[0], q, embedding, D=longest[1])
        except CapacityError:
            break
        if scale.d <= d and used + scale.m <= m:
            taken.append(scale)
            used += scale.m
    return taken


def _check_items(name: str, items: Any, kind: type[Item]) -> list[Item]:
    """Return the items of a collection, all of one class.

    Raises:
        ArgumentError: when it is no collection, or holds anything else.
    """
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ArgumentError(name, f"a collection of {kind.__name__}s", describe(items))
    found = list(items)
    for item in found:
        if not isinstance(item, kind):
            raise ArgumentError(name, f"of class {kind.__name__}", describe(item))
    return found


class SharedDomain:
    """One public domain that holds the records of several instances, padded with zeros.

    Args:
        d: dimension.
        m: number of points, all different; what the instances leave is filled with points nobody holds.
        instances: the instances.

    Raises:
        ArgumentError: when they do not fit, or one is no hard instance.

    Example:
        >>> from lp_gadgets.instance import HardInstance
        >>> small = HardInstance(TannerCode.geometry("Fano"), J=12, L=3)
        >>> shared = SharedDomain(40, 200, [small])
        >>> S_A, S_B = shared.encode(0, [1, 0, 1], [1, 1, 0])
        >>> S_A.domain.m, S_A.domain.d, S_A.n == S_B.n == small.n
        (200, 40, True)
    """

    def __init__(self, d: int, m: int, instances: Sequence[HardInstance]) -> None:
        self.d, self.m = check_integer("d", d, 1), check_integer("m", m, 1)
        self.instances = tuple(_check_items("instances", instances, PublicInstance))
        place: dict[tuple[int, ...], int] = {}
        self._cells: list[NDArray[np.int64]] = []
        for instance in self.instances:
            if instance.records.d > d:
                raise ArgumentError("d", f"at least {instance.records.d}, an instance's dimension", d)
            pad = (0,) * (d - instance.records.d)
            rows = (tuple(row) + pad for row in instance.records.points().tolist())
            self._cells.append(np.array([place.setdefault(row, len(place)) for row in rows], dtype=np.int64))
        if len(place) > m:
            raise ArgumentError("m", f"at least {len(place)}, the instances' different points", m)
        top = 1 + max((max(map(abs, point)) for point in place), default=0)
        for i in range(m - len(place)):
            place[top + i, *(0,) * (d - 1)] = len(place)
        self._points = list(place)

    @cached_property
    def domain(self) -> Domain:
        """The domain."""
        return Domain(self._points)

    def encode(self, number: int, u: Any, v: Any, n: int | None = None) -> tuple[Sample, Sample]:
        """Return the samples of the instance of a number, for messages u and v, on the shared domain.

        Either party holds n records, by default as many as the instance has.

        Raises:
            ArgumentError: on a number that no instance has, a wrong length or symbol, or an n that is too
                small.
        """
        number = check_integer("number", number, 0, len(self.instances) - 1)
        instance = self.instances[number]
        a, b = instance.codewords(u, v)
        size = instance.n if n is None else n
        samples = []
        for word, labels in (("A", a), ("B", b)):
            counts = np.zeros(self.m, dtype=np.int64)
            np.add.at(counts, self._cells[number], instance.records.counts(word, labels, size))
            none = np.zeros_like(counts)
            pair = (none, counts) if word == "A" else (counts, none)
            samples.append(Sample.from_counts(self.domain, *pair))
        return samples[0], samples[1]
