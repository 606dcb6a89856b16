"""The plan of a command, with progress, and what to say when nothing is feasible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geomdp.cli.options import Classes, Labels
from geomdp.cli.shared import progress
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, InfeasibleError, describe, is_plain

if TYPE_CHECKING:
    from geomdp.testers.plan import Plan


def make_plan(
    domain: Domain,
    n: int | tuple[int, int],
    *,
    epsilon: str,
    beta: str,
    labels: Labels,
    classes: Classes,
    tolerance: int,
    thorough: bool,
) -> Plan:
    """Return the plan of a command's options, with a progress bar while noise tables are simulated."""
    from geomdp.testers.plan import plan

    with progress("calibrating the noise") as told:
        return plan(
            domain,
            n=n,
            epsilon=epsilon,
            beta=beta,
            labels=labels.value,
            tolerance=tolerance,
            classes=classes.value,
            thorough=thorough,
            progress=told,
        )


def sizes(text: str) -> int | tuple[int, int]:
    """Return the numbers of records that `--n` holds: one for both parties, or two."""
    numbers = integers(text)
    if len(numbers) not in (1, 2):
        raise ArgumentError("n", "an integer or two joined by a comma, e.g. 20000,15000", describe(text))
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def integers(text: str) -> list[int]:
    """Return the integers that commas join, or [] where a part is none.

    Example:
        >>> integers("20000,15000"), integers("1,x"), integers("1_0")
        ([20000, 15000], [], [])
    """
    try:
        return [int(part) for part in text.split(",")] if is_plain(text) else []
    except ValueError:
        return []


def too_small(plan: Plan, *, forcible: bool = True) -> InfeasibleError:
    """Return the error that says how large n would have to be; `forcible` where a run can be forced."""
    nearest = plan.nearest
    need = "within reach of a tester"
    if nearest is not None:
        need = f"large enough for resolution {nearest.resolution}, the least that any tester guarantees here"
    mend = "Raise epsilon, coarsen the grid, or pool more records."
    if forcible:
        mend = f"{mend[:-1]}; or add --force-uncertified for a verdict that is labelled uncertified."
    return InfeasibleError("n", need, str(plan.setting.n), mend)
