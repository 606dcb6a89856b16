"""What each block of a component-by-component run costs, exactly, and how large its reservoir must be.

A run with k components uses k samples: R_0 for the first component, and carriers T_1, ..., T_{k-1}. A record
of one of them touches a short *block* of the run only: the relabelling that gives it its label, the oracle
that reads it, and the relabelling that hands the labels on. Every loss is kept as an upper bound on
exp(loss), a Fraction, because subsampling and composition are rational in that number.

Proof note (factors of a relabelling at loss L). Group the candidates by their labels z on the points that
neighbouring inputs share; one or two candidates belong to each z, since one more point splits a labelling
into at most two.

* *Carrier changes.* Scores depend on the other sample, which is fixed, so the candidates of one z have total
  weight between 1 and 2 times a common number in both runs. Numerator and normaliser give 2 * 2 = 4, for all
  methods: LabelBoost, its form with matched sensitivity, and CarrierBoost.
* *Labelled sample changes, LabelBoost by agreement.* Besides the common agreements, the replaced record adds
  0 or 1. If z has two candidates they get 0 and 1, once each. So z's weight is between 1 and 1 + exp(L/2)
  times the common one, and the ratio of the normalised weights is at most (1 + exp(L/2))^2.
* *Labelled sample changes, matched sensitivity.* Each candidate's score moves by at most 1 against any
  candidate of the same z: 2 exp(L/2), squared: 4 exp(L). This is also the constant of the paper.
* *Labelled sample changes, CarrierBoost.* Candidates are labellings of the carrier only, the same in both
  runs, and a score moves by at most 1: exp(L).

A relabelling followed by a private continuation on realizable inputs multiplies the ratio, and the
continuation's delta, by the factor (paper, Lemma 3.15). Composition inside a block adds losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from geomdp.core.errors import ArgumentError, check_choice, check_epsilon, check_fraction, check_integer
from geomdp.learners.composition import Loss, composed_delta, exp_lower, exp_upper, lazy_response, log_up

METHODS = ("carrier-boost", "label-boost", "matched", "stated")


def factor(method: str, epsilon: Fraction, change: str) -> Fraction:
    """Return an upper bound on the factor of one relabelling.

    Args:
        method: "carrier-boost", "label-boost", "matched" (scores with matched sensitivity one) or "stated"
            (the paper's constant for either change, Lemma 3.14).
        epsilon: the relabelling's loss parameter L.
        change: "sample" (the labelled one) or "carrier".

    Raises:
        ArgumentError: unless ``method`` is one of :data:`METHODS` and ``change`` is "sample" or "carrier".

    Example:
        >>> [round(float(factor("label-boost", Fraction(1), c)), 3) for c in ("sample", "carrier")]
        [7.016, 4.0]
        >>> round(float(factor("carrier-boost", Fraction(1), "sample")), 3)
        2.718
    """
    check_choice("method", method, METHODS)
    check_choice("change", change, ("sample", "carrier"))
    if method == "stated":
        return 4 * exp_upper(epsilon)
    if change == "carrier":
        return Fraction(4)
    if method == "label-boost":
        return (1 + exp_upper(epsilon / 2)) ** 2
    return (4 if method == "matched" else 1) * exp_upper(epsilon)


@dataclass(frozen=True)
class Layout:
    """The privacy parameters of a run, component by component.

    Attributes:
        oracles: loss of each of the k >= 1 component oracles.
        relabels: loss parameter of each of the k - 1 relabellings.
        method: how carriers are relabelled, one of METHODS.
        initial: loss parameter of the relabelling of R_0 before the first oracle; None without it, and then
            the first oracle must be private on all inputs, not only on realizable ones.
        deltas: delta of each oracle; () stands for zeros.

    Raises:
        ArgumentError: on an unknown method, no component, lists of losses or deltas of another length, a loss
            outside (0, 100], or a delta outside [0, 1).

    Example:
        >>> [b.name for b in blocks(Layout((Fraction(1, 2),) * 3, (Fraction(1, 2),) * 2))]
        ['R0', 'T1', 'T2']
    """

    oracles: tuple[Fraction, ...]
    relabels: tuple[Fraction, ...]
    method: str = "carrier-boost"
    initial: Fraction | None = None
    deltas: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        if not self.oracles:
            raise ArgumentError("oracles", "the losses of at least one component", "empty")
        if len(self.relabels) != self.k - 1:
            raise ArgumentError(
                "relabels", f"{self.k - 1} losses, one fewer than oracles", len(self.relabels)
            )
        if self.deltas and len(self.deltas) != self.k:
            raise ArgumentError("deltas", f"{self.k} numbers, one for each oracle", len(self.deltas))
        for name in ("oracles", "relabels"):
            object.__setattr__(self, name, tuple(check_epsilon(loss, name) for loss in getattr(self, name)))
        if self.initial is not None:
            initial = check_fraction("initial", self.initial)
            if not 0 < initial <= 100:
                raise ArgumentError("initial", "None, or a loss with 0 < loss <= 100", str(initial))
            object.__setattr__(self, "initial", initial)
        shares = tuple(check_fraction("deltas", share) for share in self.deltas)
        if not all(0 <= share < 1 for share in shares):
            raise ArgumentError("deltas", "numbers with 0 <= delta < 1", "others")
        object.__setattr__(self, "deltas", shares)

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.oracles)

    def delta(self, component: int) -> Fraction:
        """Return the delta of an oracle."""
        return self.deltas[component] if self.deltas else Fraction(0)


@dataclass(frozen=True)
class Block:
    """A sample and the loss of a record in it, before amplification by subsampling.

    Attributes:
        name: "R0", or "T1", ..., "T{k-1}".
        loss: upper bounds on exp(epsilon) and on delta.
    """

    name: str
    loss: Loss


def blocks(layout: Layout) -> tuple[Block, ...]:
    """Return the blocks of a run: R_0, then the carriers.

    R_0 passes through the initial relabelling if there is one, the first oracle, and the relabelling of T_1
    as the labelled sample. T_i passes through the relabelling that labels it as the carrier, oracle i + 1,
    and the relabelling of T_{i+1} as the labelled sample, if that exists.

    Example:
        >>> half = Fraction(1, 2)
        >>> [round(float(b.loss.ratio), 1) for b in blocks(Layout((half,) * 3, (half,) * 2))]
        [2.7, 10.9, 6.6]
        >>> [round(float(b.loss.ratio), 1) for b in blocks(Layout((half,) * 3, (half,) * 2, "label-boost"))]
        [8.6, 34.4, 6.6]
    """
    found = []
    for i in range(layout.k):
        ratio, delta = exp_upper(layout.oracles[i]), layout.delta(i)
        if i < layout.k - 1:
            ratio *= factor(layout.method, layout.relabels[i], "sample")
        if i:
            before = factor(layout.method, layout.relabels[i - 1], "carrier")
            ratio, delta = before * ratio, before * delta
        elif layout.initial is not None:
            kind = "stated" if layout.method == "stated" else "label-boost"
            before = factor(kind, layout.initial, "sample")
            ratio, delta = before * ratio, before * delta
        found.append(Block(f"T{i}" if i else "R0", Loss(ratio, delta).rounded()))
    return tuple(found)


def least_reservoir(loss: Loss, m: int, epsilon: Fraction, delta: Fraction = Fraction(0)) -> int:
    """Return the least size M of a reservoir whose one use of m records is (epsilon, delta)-DP.

    With q = m/M, R = exp(C) and the block's own delta D, the amplified block has delta at epsilon of at most
    q D + (1 + q (R - 1) - e^epsilon)_+ / (1 + R), see :mod:`geomdp.learners.composition`. That is at most
    delta when its first part is, and when a condition linear in q holds.

    Raises:
        ArgumentError: when the block has a delta and the target has none.

    Example:
        >>> M = least_reservoir(Loss(Fraction(10)), 100, Fraction(1))
        >>> 1 + Fraction(100, M) * 9 <= exp_lower(Fraction(1)) < 1 + Fraction(100, M - 1) * 9
        True
    """
    check_integer("m", m, 1)
    if loss.delta > 0 and delta == 0:
        raise ArgumentError("delta", "positive, as the oracles' deltas are", "0")
    gain = exp_lower(epsilon) - 1 + delta * (1 + loss.ratio)
    need = loss.ratio - 1 + loss.delta * (1 + loss.ratio)
    size = max(m, math.ceil(m * need / gain))
    return max(size, math.ceil(m * loss.delta / delta)) if loss.delta else size


@dataclass(frozen=True)
class Reservoir:
    """Disjoint records and the blocks that draw from them.

    Attributes:
        size: number of records.
        uses: names of the blocks, in the order of their draws.
    """

    size: int
    uses: tuple[str, ...]


@dataclass(frozen=True)
class Allocation:
    """Reservoirs that make a whole run (epsilon, delta)-DP.

    Attributes:
        name: "fresh" (one for each block) or "alternating" (R_0's, and two that the carriers use in turn).
        reservoirs: sizes and uses.
        epsilon, delta: the guarantee.
    """

    name: str
    reservoirs: tuple[Reservoir, ...]
    epsilon: Fraction
    delta: Fraction

    @property
    def n(self) -> int:
        """The number of records of all reservoirs."""
        return sum(reservoir.size for reservoir in self.reservoirs)


def allocate(
    layout: Layout, m: Sequence[int], epsilon: Fraction, delta: Fraction = Fraction(0), name: str = "best"
) -> Allocation:
    """Return the reservoirs for samples of the sizes m: "fresh", "alternating", or the smaller of both.

    Proof note. A record lies in one reservoir, and the partition does not look at values. Fresh: the record
    matters for one block only, amplified by subsampling without replacement (paper, Theorem 3.4).
    Alternating: blocks that draw from one reservoir are separated by draws from the other, so that each is
    conditionally a block of its own, and their amplified laws compose adaptively (paper, Section 6.4).

    Args:
        layout: the privacy parameters.
        m: k sample sizes, R_0's first.
        epsilon, delta: the guarantee for the whole run.
        name: which allocation.

    Raises:
        ArgumentError: on an unknown name, an epsilon or delta out of range, or sizes that are not one integer
            >= 1 for each block.

    Example:
        >>> half = Fraction(1, 2)
        >>> a = allocate(Layout((half,) * 2, (half,)), (100, 100), Fraction(1))
        >>> a.name, [r.size for r in a.reservoirs]
        ('fresh', [101, 326])
    """
    check_choice("name", name, ("best", "fresh", "alternating"))
    epsilon, delta = check_epsilon(epsilon), check_fraction("delta", delta)
    parts = blocks(layout)
    if len(m) != len(parts):
        raise ArgumentError("m", f"{len(parts)} sizes", f"{len(m)}")
    pairs = [(part, check_integer("m", size, 1)) for part, size in zip(parts, m, strict=True)]
    fresh = [[pair] for pair in pairs]
    turns = [group for group in (pairs[:1], pairs[1::2], pairs[2::2]) if group]
    plans = {"fresh": fresh, "alternating": turns}
    made = [
        Allocation(kind, tuple(_reservoir(g, epsilon, delta) for g in groups), epsilon, delta)
        for kind, groups in plans.items()
        if name in ("best", kind)
    ]
    return min(made, key=lambda allocation: allocation.n)


def _reservoir(uses: list[tuple[Block, int]], epsilon: Fraction, delta: Fraction) -> Reservoir:
    names = tuple(block.name for block, _ in uses)
    least = [least_reservoir(block.loss, m, epsilon, delta) for block, m in uses]
    if len(uses) == 1:
        return Reservoir(least[0], names)
    low, high = max(least) - 1, sum(least) + 1
    while not _enough(uses, high, epsilon, delta):
        low, high = high, 2 * high
    while high - low > 1 + high // 10**6:  # sizes are found to a millionth
        middle = (low + high) // 2
        low, high = (low, middle) if _enough(uses, middle, epsilon, delta) else (middle, high)
    return Reservoir(high, names)


def guarantee(layout: Layout, m: Sequence[int], allocation: Allocation) -> tuple[Fraction, Fraction]:
    """Return an epsilon and a delta that a run has, from its layout, sample sizes and reservoirs alone.

    What the allocation states is returned where the blocks bear it out. Otherwise the statement is void and
    losses are added up: epsilon and delta of a reservoir are the sums over its amplified blocks, rounded up,
    and the run has those of its worst reservoir, because the replaced record is in one of them.

    Args:
        layout: the privacy parameters, with the deltas of the oracles that run.
        m: k sample sizes, R_0's first.
        allocation: the reservoirs; every block draws from one.

    Raises:
        ArgumentError: when the reservoirs do not fit the layout: a block without a reservoir or with two, a
            sample larger than its reservoir, or a carrier from the reservoir of the sample before it.

    Example:
        >>> layout = Layout((Fraction(5),), ())
        >>> forged = Allocation("fresh", (Reservoir(2, ("R0",)),), Fraction(1, 100), Fraction(0))
        >>> round(float(guarantee(layout, (2,), forged)[0]), 6)
        5.0
        >>> guarantee(layout, (2,), allocate(layout, (2,), Fraction(1)))[0]
        Fraction(1, 1)
    """
    parts = {block.name: block for block in blocks(layout)}
    used = [use for reservoir in allocation.reservoirs for use in reservoir.uses]
    if sorted(used) != sorted(parts) or len(m) != len(parts):
        raise ArgumentError("plan", "one sample and one reservoir for each block", "others")
    sizes = {name: check_integer("m", size, 1) for name, size in zip(parts, m, strict=True)}
    home = {use: i for i, reservoir in enumerate(allocation.reservoirs) for use in reservoir.uses}
    if any(home[a] == home[b] for a, b in pairwise(parts)):
        raise ArgumentError("plan", "reservoirs of which no two samples in a row draw from one", "others")
    if any(sizes[use] > reservoir.size for reservoir in allocation.reservoirs for use in reservoir.uses):
        raise ArgumentError("plan", "reservoirs as large as their samples", "smaller ones")
    groups = [
        ([(parts[use], sizes[use]) for use in reservoir.uses], reservoir.size)
        for reservoir in allocation.reservoirs
        if reservoir.uses
    ]
    epsilon, delta = allocation.epsilon, allocation.delta
    if epsilon >= 0 and 0 <= delta < 1 and all(_kept(group, size, epsilon, delta) for group, size in groups):
        return epsilon, delta
    totals = []
    for group, size in groups:
        amplified = [block.loss.subsampled(Fraction(use, size)) for block, use in group]
        loss = log_up(math.prod((part.ratio for part in amplified), start=Fraction(1)))
        totals.append((Fraction(loss), sum((part.delta for part in amplified), Fraction(0))))
    return max(loss for loss, _ in totals), max(share for _, share in totals)


def _kept(uses: list[tuple[Block, int]], size: int, epsilon: Fraction, delta: Fraction) -> bool:
    if delta == 0 and any(block.loss.delta for block, _ in uses):
        return False
    if len(uses) == 1 and epsilon > 0:
        return least_reservoir(uses[0][0].loss, uses[0][1], epsilon, delta) <= size
    return _enough(uses, size, epsilon, delta)


def _enough(uses: list[tuple[Block, int]], size: int, epsilon: Fraction, delta: Fraction) -> bool:
    if delta == 0:  # pure: the product of the amplified ratios
        product = math.prod(1 + Fraction(m, size) * (block.loss.ratio - 1) for block, m in uses)
        return product <= exp_lower(epsilon)
    counts: dict[tuple[Loss, int], int] = {}
    for block, m in uses:
        counts[block.loss, m] = counts.get((block.loss, m), 0) + 1
    parts = [(lazy_response(loss, Fraction(m, size)), times) for (loss, m), times in counts.items()]
    return composed_delta(parts, epsilon) <= delta
