"""A coordinate from block maximisers: split the sample, solve each block, choose privately among the answers.

Two ways to choose. The interior point of one maximiser for each block is the paper's Algorithm 3. Stabbing
keeps the whole set of maximisers of each block and looks for a value that lies in many of them; it needs half
as many blocks under pure differential privacy, and its answer is itself a maximiser of some block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, lcm, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_beta, check_choice, check_fraction, check_integer
from geomdp.learners.blocks import Block, Blocks, exponential, exponential_excess, objective
from geomdp.learners.domains import OrderedDomain
from geomdp.learners.oracles.private_ip import plan_private_ip, private_ip
from geomdp.privacy.sampler import Sampler

#: Disjoint ascending ranges (first, last) of ranks, ends included.
Ranges = Sequence[tuple[int, int]]
#: (X, y) of one block -> the ranks of its maximisers.
Maximisers = Callable[[NDArray[Any], NDArray[Any]], Ranges]
HOW = ("interior", "stabbing")


def ip_concave(  # noqa: PLR0917 - as many parameters as the paper's algorithm
    X: NDArray[Any],
    y: NDArray[Any],
    maximisers: Maximisers,
    domain: OrderedDomain,
    blocks: int,
    epsilon: Fraction,
    delta: Fraction,
    beta: Fraction,
    sampler: Sampler,
    *,
    how: str = "interior",
) -> int:
    """Return the rank of a coordinate that is good for most blocks: (epsilon, delta)-DP on all inputs.

    Program: permute the records at random, cut them into `blocks` blocks whose sizes differ by at most one
    and depend on the number of records only, and let each block name its maximisers.

    "interior": z_j = the simplest maximiser of block j (:func:`simplest`), or the simplest rank of all if it
    has none; return a private interior point of z_1, ..., z_t.
    "stabbing": score(z) = number of blocks that have z among their maximisers; return a draw of the
    exponential mechanism.

    Proof note. Precondition: one record is replaced; `maximisers` is a function of the block. For a fixed
    permutation one block changes, so one z_j is replaced, and the score of any z changes by at most 1. The
    interior point is (epsilon, delta)-DP, the exponential mechanism epsilon-DP, and the permutation does not
    depend on the data, so its law is one mixture for both. Conclusion: (epsilon, delta)-DP, epsilon-DP for
    stabbing, also where blocks contradict themselves, and whatever `maximisers` computes.

    Utility (paper, Lemmas 8.12 and 8.13). On a realizable state every z_j has a completion without mistakes
    on its block, hence few mistakes on the sample once blocks hold :func:`block_rows` records; by
    quasi-concavity that extends to all values between them. A value of positive stabbing score is such a z_j
    itself, so no quasi-concavity is needed. Blocks: :func:`blocks_needed`.

    Args:
        X, y: the records and labels, any number of them.
        maximisers: the solver of one block, e.g. :func:`halfspace_maximisers`.
        domain: the domain of the coordinate.
        blocks: t >= 1, public.
        epsilon, delta: the privacy loss.
        beta: the failure probability of the interior point.
        sampler: the source of randomness.
        how: "interior" or "stabbing".

    Returns:
        The rank.

    Raises:
        ArgumentError: unless ``how`` is one of :data:`HOW`, ``blocks`` an integer >= 1, and ``y`` one label
            for each record.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> from geomdp.privacy.sampler import SimSampler
        >>> X = np.arange(400)[:, None]
        >>> y = np.where(X[:, 0] >= 200, 1, -1)
        >>> def cut(X, y):  # the thresholds without mistakes
        ...     return [(int(X[y < 0].max(initial=-1)) + 1, int(X[y > 0].min(initial=399)))]
        >>> arguments = Integers(0, 399), 20, Fraction(4), Fraction(0), Fraction(1, 10)
        >>> 150 < ip_concave(X, y, cut, *arguments, SimSampler(0), how="stabbing") < 250
        True
    """
    check_choice("how", how, HOW)
    check_integer("blocks", blocks, 1)
    if len(X) != len(y):
        raise ArgumentError("y", f"one label for each of the {len(X)} records", f"{len(y)}")
    order = permutation(len(X), sampler)
    found = [_inside(maximisers(X[rows], y[rows]), domain.size) for rows in split(order, blocks)]
    if how == "stabbing":
        return exponential(stabbing_blocks(found, domain.size), epsilon, sampler)
    zero = min(domain.first_at_least(Fraction(0)), domain.size - 1)
    whole = [(0, domain.size - 1)]
    points = [canonical(ranges or whole, zero) for ranges in found]
    return private_ip(points, domain.size, sampler, epsilon=epsilon, delta=delta, beta=beta)


def permutation(n: int, sampler: Sampler) -> list[int]:
    """Return a uniform permutation of 0, ..., n - 1.

    Example:
        >>> from geomdp.privacy.sampler import SimSampler
        >>> sorted(permutation(5, SimSampler(0)))
        [0, 1, 2, 3, 4]
    """
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = sampler.uniform(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def split(order: Sequence[int], blocks: int) -> list[list[int]]:
    """Return the blocks: every record in one, sizes floor(n/t) or one more.

    Example:
        >>> split([3, 1, 4, 0, 2], 2)
        [[3, 4, 2], [1, 0]]
    """
    return [list(order[j::blocks]) for j in range(blocks)]


def stabbing_blocks(found: Sequence[Ranges], size: int) -> Blocks:
    """Return the number of blocks that have each rank among their maximisers.

    Example:
        >>> [tuple(block) for block in stabbing_blocks([[(0, 4)], [(3, 3), (6, 9)]], 8)]
        [(0, 2, 1), (3, 3, 2), (4, 4, 1), (5, 5, 0), (6, 7, 1)]
    """
    cuts: list[tuple[int, int]] = []
    for ranges in found:
        for first, last in ranges:
            cuts += [(first, 1), (last + 1, -1)]
    return objective(size, cuts)


def canonical(ranges: Ranges, zero: int) -> int:
    """Return the simplest rank of the longest range, the first of equally long ones.

    Example:
        >>> canonical([(0, 1), (5, 9)], 0)
        8
    """
    first, last = max(ranges, key=lambda ends: ends[1] - ends[0])
    return simplest(first, last, zero)


def simplest(first: int, last: int, zero: int = 0) -> int:
    """Return the rank in [first, last] whose distance to `zero` has most binary zeros at its end.

    In a dyadic domain this is the value with the shortest denominator: many blocks give the same one.

    Example:
        >>> simplest(5, 15), simplest(-7, -5), simplest(-3, 9), simplest(9, 11, zero=8)
        (8, -6, 0, 10)
    """
    a, b = first - zero, last - zero
    if a <= 0 <= b:
        return zero
    if b < 0:
        return zero - simplest(-b, -a)
    shift = ((a - 1) ^ b).bit_length() - 1
    return zero + (b >> shift << shift)


def best_ranges(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Return the ranges of largest score of an objective: the maximisers of any class that has one.

    Example:
        >>> best_ranges([Block(0, 3, 1), Block(4, 4, 2), Block(5, 7, 0), Block(8, 9, 2)])
        [(4, 4), (8, 9)]
    """
    top = max(block.score for block in blocks)
    return [(block.first, block.last) for block in blocks if block.score == top]


def halfspace_maximisers(
    prefix: Sequence[Fraction | int], coordinates: Sequence[OrderedDomain], *, suggest: bool = True
) -> Maximisers:
    """Return the solver of a block for halfspaces <a, x> >= w with w, a_1, ..., a_(i-1) fixed.

    It returns the ranks of all a_i for which some real completion, inside the box of the coordinates'
    domains, labels the whole block right: a range, by two linear programs whose ends are exact
    (:func:`geomdp.lp.block_interval.coordinate_range`). Positive records are constraints >=, negative ones
    are strict. A block without such a value has no maximisers.

    Args:
        prefix: w and the coordinates chosen so far, rationals.
        coordinates: the domains of a_1, ..., a_d.
        suggest: ask HiGHS first; the answer is the same without, and comes as fast for few coordinates.

    Raises:
        ArgumentError: unless ``prefix`` is w with fewer coordinates than the points have.

    Example:
        >>> from geomdp.learners.domains import Integers
        >>> solve = halfspace_maximisers([1], [Integers(-9, 9), Integers(-9, 9)])
        >>> solve(np.array([[1, 0], [1, 1]]), np.array([1, -1]))  # a1 >= 1, a1 + a2 < 1
        [(10, 18)]
    """
    fixed = [Fraction(value) for value in prefix]
    i = len(fixed) - 1
    if not 0 <= i < len(coordinates):
        raise ArgumentError("prefix", "w and fewer coordinates than there are", f"of length {len(fixed)}")
    ends = [(D.value(0), D.value(D.size - 1)) for D in coordinates[i:]]
    radius = [max(1, ceil(-low), ceil(high)) for low, high in ends]

    def solve(X: NDArray[Any], y: NDArray[Any]) -> list[tuple[int, int]]:
        from geomdp.lp.block_interval import coordinate_range

        rows, bounds, strict = halfspace_rows(X, y, fixed)
        found = coordinate_range(rows, bounds, strict, radius, suggest=suggest)
        if found is None:
            return []
        domain = coordinates[i]
        first = domain.first_at_least(found.lo) if found.lo_closed else domain.first_above(found.lo)
        end = domain.first_above(found.hi) if found.hi_closed else domain.first_at_least(found.hi)
        return [(first, end - 1)] if first < end else []

    return solve


def halfspace_rows(
    X: NDArray[Any], y: NDArray[Any], prefix: Sequence[Fraction]
) -> tuple[NDArray[Any], list[int], list[bool]]:
    """Return the constraints on the free coordinates, in integers: (rows, bounds, strict).

    Example:
        >>> prefix = [Fraction(1), Fraction(1, 2)]
        >>> rows, bounds, strict = halfspace_rows(np.array([[1, 3]]), np.array([-1]), prefix)
        >>> rows.tolist(), bounds, strict  # 1/2 + 3 a2 < 1, times -2
        ([[-6]], [-1], [True])
    """
    w, chosen = prefix[0], prefix[1:]
    scale = lcm(*(value.denominator for value in prefix))
    weights = [int(value * scale) for value in chosen]
    whole = int(w * scale)
    rows, bounds, strict = [], [], []
    for record, label in zip(np.asarray(X).tolist(), np.asarray(y).tolist(), strict=True):
        rest = whole - sum(a * int(x) for a, x in zip(weights, record, strict=False))
        sign = 1 if label > 0 else -1
        rows.append([sign * scale * int(x) for x in record[len(chosen) :]])
        bounds.append(sign * rest)
        strict.append(label <= 0)
    small = all(abs(v) < 2**62 for row in rows for v in row)
    return np.array(rows, dtype=np.int64 if small else object), bounds, strict


def blocks_needed(
    size: int, epsilon: Fraction, delta: Fraction, beta: Fraction, *, how: str = "interior"
) -> int:
    """Return the number of blocks for which the private choice fails with probability at most beta.

    Stabbing: on a realizable state all blocks share the target's coordinate, so some score is t, and a score
    of 0 must not be drawn: t = the excess of the exponential mechanism, half of what the interior point asks.

    Raises:
        ArgumentError: unless ``how`` is one of :data:`HOW` and ``beta`` is a number with 0 < beta < 1.

    Example:
        >>> arguments = 2**43, Fraction(4), Fraction(0), Fraction(1, 20)
        >>> blocks_needed(*arguments, how="stabbing"), blocks_needed(*arguments)
        (17, 33)
    """
    check_choice("how", how, HOW)
    if how == "stabbing":
        return exponential_excess(size, epsilon, check_beta(beta))
    return plan_private_ip(size, epsilon, delta, beta).n


def block_rows(d: int, rho: Fraction, beta: Fraction, blocks: int) -> int:
    """Return block sizes for which, with probability >= 1 - beta, all block maximisers err on at most rho.

    Blumer, Ehrenfeucht, Haussler and Warmuth, "Learnability and the Vapnik-Chervonenkis Dimension" (1989):
    max((4/rho) log2(2 t/beta), (8 (d+1)/rho) log2(13/rho)) records, the halfspaces having dimension d + 1 and
    each of t blocks failing with probability beta/t. A subsample without replacement obeys the same bound.

    Raises:
        ArgumentError: unless ``d`` is an integer >= 1, ``blocks`` is an integer >= 1, ``beta`` is a number
            with 0 < beta < 1 and ``rho`` is a number with 0 < rho < 1.

    Example:
        >>> block_rows(2, Fraction(1, 10), Fraction(1, 20), 20)
        1686
    """
    check_integer("d", d, 1)
    check_integer("blocks", blocks, 1)
    share, beta = check_fraction("rho", rho), check_beta(beta)
    if not 0 < share < 1:
        raise ArgumentError("rho", "a number with 0 < rho < 1", f"{share}")
    r = float(share)
    return ceil(max(4 / r * log2(2 * blocks / beta), 8 * (d + 1) / r * log2(13 / r)) + 1e-9)


def _inside(ranges: Ranges, size: int) -> list[tuple[int, int]]:
    """Return the parts of the ranges inside the domain: a solver may not break privacy by what it returns."""
    cut = [(max(first, 0), min(last, size - 1)) for first, last in ranges]
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pair for pair in cut if pair[0] <= pair[1]):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged
