"""Reservoirs: which records a round may draw from, decided without looking at any record.

The paper's layout has a reservoir for the first sample and two more that the carriers use in turn; with one
fresh reservoir for each carrier a record matters in one round only. Sizes come from
:func:`geomdp.learners.accounting.allocate`; this module splits rows and draws samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from geomdp.core.errors import ArgumentError, check_integer
from geomdp.learners.accounting import Allocation, Reservoir
from geomdp.privacy.sampler import Sampler


@dataclass(frozen=True)
class Partition:
    """Disjoint lists of row numbers, one for each reservoir.

    Attributes:
        rows: row numbers of each reservoir.
        uses: names of the blocks ("R0", "T1", ...) that draw from it, in order.
    """

    rows: tuple[tuple[int, ...], ...]
    uses: tuple[tuple[str, ...], ...]

    def of(self, block: str) -> tuple[int, ...]:
        """Return the row numbers that a block draws from."""
        return next(rows for rows, uses in zip(self.rows, self.uses, strict=True) if block in uses)


def stretch(allocation: Allocation, n: int) -> Allocation:
    """Return the allocation with the records that it leaves over shared out in proportion.

    A larger reservoir lowers the share that a sample takes of it, and with it the privacy loss: the guarantee
    stays. Sizes are public.

    Raises:
        ArgumentError: when n is smaller than the allocation's total.

    Example:
        >>> from fractions import Fraction
        >>> a = Allocation("fresh", (Reservoir(2, ("R0",)), Reservoir(4, ("T1",))), Fraction(1), Fraction(0))
        >>> [r.size for r in stretch(a, 10).reservoirs]
        [3, 7]
    """
    if n < allocation.n:
        raise ArgumentError("n", f"at least {allocation.n:,} records", f"{n:,}")
    bounds = [0]
    for reservoir in allocation.reservoirs:
        bounds.append(bounds[-1] + reservoir.size)
    cuts = [b * n // allocation.n for b in bounds]
    # floors may leave a reservoir one short of its size; with n >= total they never do:
    # floor(b' n/N) - floor(b n/N) >= floor((b' - b) n/N) >= b' - b
    sizes = [b - a for a, b in pairwise(cuts)]
    made = tuple(Reservoir(size, old.uses) for size, old in zip(sizes, allocation.reservoirs, strict=True))
    return Allocation(allocation.name, made, allocation.epsilon, allocation.delta)


def partition(n: int, allocation: Allocation, sampler: Sampler | None) -> Partition:
    """Split the rows 0, ..., n - 1 into reservoirs.

    Proof note. The split is a function of n, public sizes and independent coins; no record is read. So for
    neighbouring inputs it has one law, and given it the replaced record is in one reservoir, the same one.

    Args:
        n: number of records, at least the allocation's total; rows beyond it are not used.
        allocation: sizes and uses.
        sampler: source of a uniform permutation, for tables in an order that means something; None keeps
            the rows as they are.

    Raises:
        ArgumentError: when there are fewer records than the allocation needs.

    Example:
        >>> from fractions import Fraction
        >>> a = Allocation("fresh", (Reservoir(2, ("R0",)), Reservoir(3, ("T1",))), Fraction(1), Fraction(0))
        >>> partition(6, a, None).rows
        ((0, 1), (2, 3, 4))
    """
    check_integer("n", n, allocation.n)
    order: Sequence[int] = range(n)
    if sampler is not None:
        order = draw(order, n, sampler, whole=True)
    rows, at = [], 0
    for reservoir in allocation.reservoirs:
        rows.append(tuple(order[at : at + reservoir.size]))
        at += reservoir.size
    return Partition(tuple(rows), tuple(reservoir.uses for reservoir in allocation.reservoirs))


def draw(rows: Sequence[int], m: int, sampler: Sampler, *, whole: bool = False) -> list[int]:
    """Return m of the rows, a uniform subset in uniform order (Fisher and Yates).

    All rows are returned as they are where m is their number, for then the subset is no choice; `whole` asks
    for the order all the same.

    Raises:
        ArgumentError: unless ``m`` is an integer between 0 and the size of the pool.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> sorted(draw(range(10), 9, SimSampler(0))) != sorted(draw(range(10), 9, SimSampler(1)))
        True
    """
    pool = list(rows)
    check_integer("m", m, 0, len(pool))
    if m == len(pool) and not whole:
        return pool
    for i in range(min(m, len(pool) - 1)):
        j = i + sampler.uniform(len(pool) - i)
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:m]
