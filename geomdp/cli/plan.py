"""The command plan."""

from __future__ import annotations

from typing import Annotated

import typer

from geomdp.cli.app import app
from geomdp.cli.options import (
    Beta,
    Classes,
    ClassesOption,
    Epsilon,
    Grid,
    Json,
    Labels,
    LabelsOption,
    Thorough,
    Tolerance,
)
from geomdp.cli.planning import make_plan, sizes
from geomdp.cli.shared import print_json, show
from geomdp.core.domain import Domain


@app.command()
def plan(
    grid: Grid,
    n: Annotated[str, typer.Option("--n", help="Records per party, or two numbers: 20000,15000.")],
    epsilon: Epsilon,
    beta: Beta = "0.1",
    labels: LabelsOption = Labels.mixed,
    classes: ClassesOption = Classes.auto,
    tolerance: Tolerance = 0,
    thorough: Thorough = False,
    as_json: Json = False,
) -> None:
    """Show what each tester guarantees, before any data is touched."""
    domain = Domain.from_grid_file(grid)
    made = make_plan(
        domain,
        sizes(n),
        epsilon=epsilon,
        beta=beta,
        labels=labels,
        classes=classes,
        tolerance=tolerance,
        thorough=thorough,
    )
    if as_json:
        print_json(made.to_dict())
        return
    from geomdp.report import plan_notes, plan_table

    show(plan_table(made), *plan_notes(made))
