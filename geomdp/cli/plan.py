"""The command plan."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from geomdp.cli import options
from geomdp.cli.app import app
from geomdp.cli.planning import make_plan, sizes
from geomdp.cli.shared import check_writable, print_json, progress, replace, show
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, describe


class Along(StrEnum):
    """What varies in the picture."""

    epsilon = "epsilon"
    n = "n"
    beta = "beta"
    tolerance = "tolerance"


@app.command()
def plan(
    grid: options.Grid,
    n: Annotated[str, typer.Option("--n", help="Records per party, or two numbers: 20000,15000.")],
    epsilon: options.Epsilon,
    beta: options.Beta = "0.1",
    labels: options.LabelsOption = options.Labels.mixed,
    classes: options.ClassesOption = options.Classes.auto,
    tolerance: options.Tolerance = 0,
    thorough: options.Thorough = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw every tester's resolution around this setting.")
    ] = None,
    along: Annotated[
        Along | None, typer.Option(help="What varies in the picture (default: epsilon).")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what each tester guarantees, before any data is touched.

    For example

    geomdp plan --grid g.json --n 20000 --epsilon 1
    """
    domain = Domain.from_grid_file(grid)
    check_writable("plot", plot, [grid])
    if along is not None and plot is None:
        raise ArgumentError("along", "left out without --plot", describe(along.value), "Add --plot FILE.")
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
    if plot is not None:
        _draw(made, (along or Along.epsilon).value, thorough, plot)
    if as_json:
        print_json(made.to_dict())
        return
    from geomdp.report import plan_notes, plan_table

    show(plan_table(made), *plan_notes(made))


def _draw(made: Any, axis: str, thorough: bool, path: Path) -> None:
    """Draw the resolution curves around a plan's setting."""
    from geomdp.plot.crossover import curves_picture
    from geomdp.report.tables import setting_sentence
    from geomdp.testers.curves import resolution_curves

    setting = made.setting
    with progress("calibrating the curves") as told:
        curves = resolution_curves(
            setting.domain,
            axis,
            n=(setting.n_alice, setting.n_bob),
            epsilon=setting.epsilon,
            beta=setting.beta,
            labels=setting.labels,
            tolerance=setting.tolerance,
            classes=setting.classes,
            thorough=thorough,
            progress=told,
        )
    replace(path, curves_picture(curves, setting_sentence(setting)).savefig)
