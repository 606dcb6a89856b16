"""Resolution curves: what every tester guarantees as one public parameter varies, and where the best changes.

Every point of a curve is a row of a plan (:func:`geomdp.testers.plan.plan`): certified, or None where
nothing is. Nothing here touches data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, check_choice, check_epsilon
from geomdp.testers.base import MOST_RECORDS, MOST_TOLERANCE
from geomdp.testers.plan import Plan, PlanRow, plan

Progress = Callable[[float], None] | None
#: What can vary.
AXES = ("epsilon", "n", "beta", "tolerance", "domain")


@dataclass(frozen=True)
class Curve:
    """One tester along an axis.

    Attributes:
        name, guarantee, trusted: as in a plan's row.
        resolutions: its least certified t at every value, or None.
        feasible: whether opt can reach that t at the numbers of records there.
    """

    name: str
    guarantee: str
    trusted: bool
    resolutions: tuple[int | None, ...]
    feasible: tuple[bool, ...]


@dataclass(frozen=True)
class Crossover:
    """Two neighbouring values of the axis between which the best row changes.

    Attributes:
        at, to: the values on either side.
        before, after: the best rows there as (name, guarantee), or None where nothing is feasible.
    """

    at: Any
    to: Any
    before: tuple[str, str] | None
    after: tuple[str, str] | None


@dataclass(frozen=True)
class Curves:
    """Every tester along one axis.

    Attributes:
        axis: one of AXES.
        values: the axis's values; domains on the axis "domain".
        plans: the plans from which the curves are read.
    """

    axis: str
    values: tuple[Any, ...]
    plans: tuple[Plan, ...]

    @property
    def x(self) -> tuple[float | int, ...]:
        """Numbers to draw against: the values, or the domains' sizes m."""
        return tuple(
            value.m if isinstance(value, Domain) else value if isinstance(value, int) else float(value)
            for value in self.values
        )

    @property
    def curves(self) -> tuple[Curve, ...]:
        """One curve for every name and guarantee that occurs, by the best resolution anywhere on it."""
        rows: dict[tuple[str, str], list[PlanRow | None]] = {}
        for i, made in enumerate(self.plans):
            for row in made.testers:
                found = rows.setdefault((row.name, row.guarantee), [None] * len(self.plans))
                held = found[i]
                if held is None or _value(row) < _value(held):
                    found[i] = row
        curves = [
            Curve(
                name,
                guarantee,
                any(row is not None and row.trusted for row in found),
                tuple(None if row is None else row.resolution for row in found),
                tuple(row is not None and row.feasible for row in found),
            )
            for (name, guarantee), found in rows.items()
        ]
        return tuple(sorted(curves, key=lambda c: min(_number(t) for t in c.resolutions)))

    @property
    def crossovers(self) -> tuple[Crossover, ...]:
        """Where :attr:`Plan.best` changes from one value to the next."""
        best = [_key(made.best) for made in self.plans]
        return tuple(
            Crossover(self.values[i], self.values[i + 1], best[i], best[i + 1])
            for i in range(len(best) - 1)
            if best[i] != best[i + 1]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the curves as JSON values."""
        return {
            "axis": self.axis,
            "x": [str(v) if isinstance(v, int) and v > 2**53 else v for v in self.x],
            "curves": [
                {
                    "name": c.name,
                    "guarantee": c.guarantee,
                    "trusted": c.trusted,
                    "resolutions": list(c.resolutions),
                    "feasible": list(c.feasible),
                }
                for c in self.curves
            ],
            "best": [_key(made.best) for made in self.plans],
        }


def resolution_curves(
    domain: Domain | Sequence[Domain],
    axis: str = "epsilon",
    values: Sequence[Any] | None = None,
    *,
    n: int | tuple[int, int],
    epsilon: Any = 1,
    beta: Any = 0.1,
    labels: str = "mixed",
    tolerance: int = 0,
    classes: str = "auto",
    thorough: bool = False,
    progress: Progress = None,
) -> Curves:
    """Return every tester's least certified resolution along one axis, all else fixed.

    Args:
        domain: the public domain; on the axis "domain" a list of them.
        axis: "epsilon", "n", "beta", "tolerance" or "domain".
        values: the axis's values, in order; sensible ones by default.
        n: records per party, or the pair (n_alice, n_bob).
        epsilon: each party's whole privacy budget.
        beta: largest failure probability.
        labels, tolerance, classes, thorough: as for :func:`geomdp.testers.plan.plan`.
        progress: told the fraction done.

    Returns:
        The curves.

    Raises:
        ArgumentError: on an unknown axis, no values, or a value outside its range.

    Source: the resolution of a tester is that of Definition 1.2 of the paper; its Figure 1 draws such curves
    for halfspaces.

    Example:
        >>> lines = [Domain.line(2**b) for b in (8, 64, 512)]
        >>> found = resolution_curves(lines, "domain", n=10**6, labels="disjoint")
        >>> best = [made.best.resolution for made in found.plans]
        >>> best == sorted(best)
        True
    """
    check_choice("axis", axis, AXES)
    if axis == "domain":
        chosen = [domain] if isinstance(domain, Domain) else list(domain)
    else:
        chosen = default_values(axis, n, epsilon, tolerance) if values is None else list(values)
    if not chosen:
        raise ArgumentError("values", "at least one value", "an empty list")
    fixed = {
        "domain": domain,
        "n": n,
        "epsilon": epsilon,
        "beta": beta,
        "tolerance": tolerance,
        "labels": labels,
        "classes": classes,
        "thorough": thorough,
    }
    plans = []
    for i, value in enumerate(chosen):
        plans.append(plan(**{**fixed, axis: value}, progress=_part(progress, i, len(chosen))))
        if progress is not None:
            progress((i + 1) / len(chosen))
    return Curves(axis, tuple(chosen), tuple(plans))


def least_n(row: PlanRow) -> int | None:
    """Return the least equal number of records at which a row would be feasible, its resolution unchanged.

    The resolution of a row does not depend on n, for all testers but those whose reason says so; opt can
    reach t as soon as the largest possible opt does.

    Example:
        >>> made = plan(Domain.line(2**16), n=10, epsilon=1, labels="disjoint")
        >>> row = made.nearest
        >>> row.feasible, least_n(row) == row.resolution
        (False, True)
    """
    from dataclasses import replace

    t = row.resolution
    if t is None:
        return None
    setting = row.tester.setting
    low, high = 0, max(1, 2 * t)
    while high - low > 1:
        middle = (low + high) // 2
        if replace(setting, n_alice=middle, n_bob=middle).largest_opt >= t:
            high = middle
        else:
            low = middle
    return high


def default_values(axis: str, n: Any, epsilon: Any, tolerance: int) -> list[Any]:
    """Return values around the given setting: a factor of 8 to either side, or tolerances up to 64.

    Raises:
        ArgumentError: unless ``epsilon`` is a number with 10^-6 <= epsilon <= 100.

    Example:
        >>> [str(v) for v in default_values("epsilon", 100, 1, 0)][:3]
        ['1/8', '1/4', '1/2']
    """
    if axis == "epsilon":
        centre = check_epsilon(epsilon)
        scaled = [centre * Fraction(2) ** j for j in range(-3, 4)]
        return sorted({min(max(v, Fraction(1, 10**6)), Fraction(100)) for v in scaled})
    if axis == "n":
        most = max(n) if isinstance(n, (tuple, list)) else n
        near = (max(1, most * 2**j // 8) for j in range(7))
        return sorted({most, *(size for size in near if size <= MOST_RECORDS)})
    if axis == "beta":
        return [Fraction(1, k) for k in (3, 5, 10, 20, 50, 100)]
    near = (tolerance + step for step in (1, 2, 4, 8, 16, 32, 64))
    return sorted({tolerance, *(t0 for t0 in near if t0 <= MOST_TOLERANCE)})


def _part(progress: Progress, index: int, count: int) -> Progress:
    return None if progress is None else lambda done: progress((index + done) / count)


def _key(row: PlanRow | None) -> tuple[str, str] | None:
    return None if row is None else (row.name, row.guarantee)


def _value(row: PlanRow) -> float:
    return _number(row.resolution)


def _number(t: int | None) -> float:
    return float("inf") if t is None else t
