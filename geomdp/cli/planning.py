"""The plan of a command, with progress, and what to say when nothing is feasible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geomdp.cli.options import Classes, Labels
from geomdp.cli.shared import progress
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, InfeasibleError, describe

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
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise ArgumentError("n", "an integer or two joined by a comma, e.g. 20000,15000", describe(text))
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


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
