"""Runs of the generic exponential mechanism: its public set of candidates, and what is promised of it.

In the validated mode the set is the practical grid, and the promise compares with the best of its members, on
all inputs. In the rigorous mode the set holds every labelling of the public domain, so that its best member
makes no mistake on records that are realizable on the grid, and a sample size certifies the error, as in
:func:`geomdp.learners.planning.learning_plan`. Everything here follows from public numbers and happens before
a budget is charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from geomdp.core.errors import ArgumentError, CapacityError, check_integer
from geomdp.learners.blocks import exponential_excess
from geomdp.learners.exponential import check_capacity
from geomdp.learners.grids import MOST_FEATURES, HalfspaceGrid, default_grid
from geomdp.learners.growth import Profile, composition_profile, halfspace_profile
from geomdp.learners.plane import MOST_ROWS, PlaneGrid
from geomdp.learners.promises import (
    HALFSPACES,
    TUPLES,
    check_error,
    if_realizable,
    shown_chance,
    shown_rate,
)

_PLANE_RADIUS = 2**17
_LINE_RADIUS = 2**22
#: Rows of a plane that are taken where fewer suffice: time is quadratic.
_PLANE_ROWS = 5_000


@dataclass(frozen=True)
class Goal:
    """What a run is asked for.

    Attributes:
        epsilon: the privacy loss.
        alpha: the error to certify; None in the validated mode.
        beta: the failure probability.
    """

    epsilon: Fraction
    alpha: Fraction | None
    beta: Fraction


@dataclass(frozen=True)
class GenericRun:
    """The public numbers of a run.

    Attributes:
        grid: the set of halfspaces; None for tuples of thresholds.
        size: the number of candidates.
        rows: the number of records used; a uniform subset where it is less than n.
        promise: what is known about accuracy, one sentence.
    """

    grid: HalfspaceGrid | PlaneGrid | None
    size: int
    rows: int
    promise: str


def halfspace_run(d: int, radius: int, n: int, goal: Goal) -> GenericRun:
    """Return the run for halfspaces in d features in [-radius, radius].

    Raises:
        ArgumentError: on more than 8 features; in the rigorous mode on d >= 3, where no complete set is
            small enough to weigh, or when n is smaller than the guarantee needs.
        CapacityError: when n records and the set together exceed memory, or time in the plane.

    Example:
        >>> tenth = Fraction(1, 10)
        >>> halfspace_run(1, 512, 2000, Goal(Fraction(1), tenth, tenth)).promise.split(",")[0]
        'error at most 0.0235725 with probability at least 0.9'
    """
    if d > MOST_FEATURES:
        raise ArgumentError(
            "X", f"a table of at most {MOST_FEATURES} columns with method='exponential'", f"of {d} columns"
        )
    if goal.alpha is None:
        grid = default_grid(d, radius)
        check_capacity(grid, n)
        return GenericRun(grid, grid.size, n, _compared(grid.size, goal))
    if d > 2:
        raise ArgumentError(
            "mode",
            f"'validated' for method='exponential' in {d} features",
            "'rigorous'",
            "The set of all labellings is too large to weigh beyond 2 features; the grid is a part of it.",
        )
    check_integer("radius", radius, 1, _LINE_RADIUS if d == 1 else _PLANE_RADIUS)
    profile = halfspace_profile(d, radius)
    if d == 1:  # x >= t and x < t for every integer t that matters: all labellings
        line = HalfspaceGrid.uniform(1, radius, 1, 1)
        check_capacity(line, n)
        return GenericRun(line, line.size, n, _certified(profile, line.size, n, goal, HALFSPACES))
    plane = PlaneGrid.complete(radius)
    least = least_rows(profile, plane.size, goal)
    if least > MOST_ROWS:
        raise CapacityError(
            "alpha",
            f"a larger error: the plane's mechanism takes at most {MOST_ROWS:,} records",
            f"one that needs {least:,}",
            "Its time grows with their square.",
        )
    rows = min(n, max(least, _PLANE_ROWS))
    return GenericRun(plane, plane.size, rows, _certified(profile, plane.size, rows, goal, HALFSPACES))


def tuple_run(k: int, values: int, n: int, goal: Goal) -> GenericRun:
    """Return the run for k thresholds on a domain of some values; one more never passes.

    Raises:
        ArgumentError: in the rigorous mode, when n is smaller than the guarantee needs.

    Example:
        >>> tuple_run(2, 1024, 3000, Goal(Fraction(1), None, Fraction(1, 10))).promise[:51]
        'at most 32 mistakes more than the best of 1,050,625'
    """
    size = (values + 1) ** k
    if goal.alpha is None:
        return GenericRun(None, size, n, _compared(size, goal))
    return GenericRun(None, size, n, _certified(composition_profile(k, values), size, n, goal, TUPLES))


def least_rows(profile: Profile, size: int, goal: Goal) -> int:
    """Return the least certified number of records for a complete set of `size` candidates.

    Raises:
        ArgumentError: where no error is asked for, or one above 1/2.
    """
    from geomdp.learners.planning import _selected

    if goal.alpha is None:
        raise ArgumentError("alpha", "the error to certify, such as 0.1", "None")
    try:
        return _selected(profile, size, goal.epsilon, check_error(goal.alpha), goal.beta)
    except OverflowError:
        raise ArgumentError(
            "alpha", "an error that fewer than 2^50 records can certify", "a smaller one"
        ) from None


def _certified(profile: Profile, size: int, n: int, goal: Goal, moved: str) -> str:
    """Return the promise of error at most alpha, or of a smaller one where n allows it."""
    rate = goal.alpha or Fraction(0)
    least, chance = least_rows(profile, size, goal), shown_chance(goal.beta)
    if n < least:
        raise ArgumentError(
            "n",
            f"at least {least:,} records for error {shown_rate(rate)} with probability {chance}",
            f"{n:,}",
            "learning_plan() compares methods; mode='validated' runs without the certificate.",
        )
    for slack in (Fraction(1), Fraction(21, 20), Fraction(6, 5), Fraction(3, 2)):
        better = (rate * least / n * slack).limit_denominator(10**4)
        if 0 < better < rate and least_rows(profile, size, Goal(goal.epsilon, better, goal.beta)) <= n:
            rate = better
            break
    return f"error at most {shown_rate(rate)} with probability at least {chance}, {if_realizable(moved)}"


def _compared(size: int, goal: Goal) -> str:
    extra = exponential_excess(size, goal.epsilon, goal.beta) - 1
    shown = f"{size:,}" if size < 10**12 else f"about 10^{len(str(size)) - 1}"
    return (
        f"at most {extra:,} mistakes more than the best of {shown} candidates, with probability at least "
        f"{shown_chance(goal.beta)}, on all inputs"
    )
