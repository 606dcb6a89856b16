"""The command assess."""

from __future__ import annotations

import json
from pathlib import Path
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
    Label,
    Labels,
    LabelsOption,
    Negative,
    Positive,
    Thorough,
    Tolerance,
)
from geomdp.cli.planning import make_plan, too_small
from geomdp.cli.shared import check_writable, note, print_json, replace, show
from geomdp.cli.tables import read
from geomdp.core.domain import Domain
from geomdp.core.errors import check_choice


@app.command()
def assess(
    a: Annotated[Path, typer.Argument(metavar="A.csv", help="Alice's records (CSV or Parquet).")],
    b: Annotated[Path, typer.Argument(metavar="B.csv", help="Bob's records (CSV or Parquet).")],
    grid: Grid,
    label: Label,
    positive: Positive,
    epsilon: Epsilon,
    negative: Negative = None,
    beta: Beta = "0.1",
    labels: LabelsOption = Labels.mixed,
    classes: ClassesOption = Classes.auto,
    tolerance: Tolerance = 0,
    thorough: Thorough = False,
    tester: Annotated[str, typer.Option(help="A tester's name from `geomdp plan`, or auto.")] = "auto",
    guarantee: Annotated[
        str | None, typer.Option(help="Take a row with this guarantee, e.g. analytic (see `geomdp plan`).")
    ] = None,
    force_uncertified: Annotated[
        bool, typer.Option("--force-uncertified", help="Run below the certified size; the verdict says so.")
    ] = False,
    transcript: Annotated[
        Path | None, typer.Option(help="Write everything that was released to this JSON file.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Simulate with seeded noise: repeatable, and private for nobody.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Decide privately whether one classifier fits both tables.

    Both parties are played in this process: each one's code sees its own table, the public parameters and
    the messages. Rows outside the grid count at its nearest edge.
    """
    from geomdp.testers.base import GUARANTEES

    domain = Domain.from_grid_file(grid)
    check_writable("transcript", transcript, [a, b, grid])
    if guarantee is not None:
        check_choice("guarantee", guarantee, tuple(GUARANTEES))
    S_A, S_B = read(domain, [a, b], label, positive, negative)
    plan = make_plan(
        domain,
        (S_A.n, S_B.n),
        epsilon=epsilon,
        beta=beta,
        labels=labels,
        classes=classes,
        tolerance=tolerance,
        thorough=thorough,
    )
    row = plan.select(tester, guarantee) if tester != "auto" else plan.choose(guarantee)
    if row is None and force_uncertified:
        row = plan.nearest
    if row is None:
        raise too_small(plan)
    outcome = row.run(S_A, S_B, rng=seed, force_uncertified=force_uncertified)
    if transcript is not None:
        text = json.dumps(outcome.transcript.to_dict()) + "\n"
        replace(transcript, lambda path: path.write_text(text, encoding="utf-8"))
    if as_json:
        print_json(outcome.to_dict())
        return
    from geomdp.report import outcome_table

    show(outcome_table(outcome))
    if S_A.n != S_B.n:
        note("The parties hold different numbers of records: all are used, none is padded or dropped.")
