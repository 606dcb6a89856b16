"""The command assess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from geomdp.cli.app import app
from geomdp.cli.ledgers import check_ledgers, ledger_notes, run_with_ledgers
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
from geomdp.core.errors import ArgumentError, check_choice


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
    report: Annotated[
        Path | None, typer.Option(help="Write one HTML page for both institutions to this file.")
    ] = None,
    ledger_a: Annotated[
        Path | None, typer.Option("--ledger-a", help="Charge Alice's loss to this ledger of hers.")
    ] = None,
    ledger_b: Annotated[
        Path | None, typer.Option("--ledger-b", help="Charge Bob's loss to this ledger of his.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Total that a new ledger may ever spend, e.g. 3 (fixed from then on).")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            help="Name of the run in the ledgers: the same question gets the same answer, another none."
        ),
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
    _check_report(report, [a, b, grid, *([transcript] if transcript else [])])
    ledgers = check_ledgers({"Alice": ledger_a, "Bob": ledger_b}, budget, session, seed)
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
    account: dict[str, Any] | None = None
    if ledgers:
        outcome, account = run_with_ledgers(
            row,
            (S_A, S_B),
            {"Alice": a, "Bob": b},
            ledgers,
            question={"label": label, "positive": positive, "negative": negative},
            budget=budget,
            session=session,
            force_uncertified=force_uncertified,
        )
    else:
        outcome = row.run(S_A, S_B, rng=seed, force_uncertified=force_uncertified)
    if transcript is not None:
        text = json.dumps(outcome.transcript.to_dict()) + "\n"
        replace(transcript, lambda path: path.write_text(text, encoding="utf-8"))
    if as_json:
        print_json(outcome.to_dict() | (account or {}))
    else:
        from geomdp.report import outcome_table

        show(outcome_table(outcome))
        if S_A.n != S_B.n:
            note("The parties hold different numbers of records: all are used, none is padded or dropped.")
        for line in ledger_notes(account) if account else ():
            note(line)
    if report is not None:
        page = outcome.report()
        replace(report, lambda path: path.write_text(page, encoding="utf-8"))


def _check_report(path: Path | None, others: list[Path]) -> None:
    """Refuse a place for the page before any work is done; an HTML file that is no earlier page stays."""
    check_writable("report", path, others)
    if path is None:
        return
    from geomdp.report.page import is_report

    mend = "Nothing that exists is overwritten but an earlier report."
    if path.exists() and not is_report(path):
        raise ArgumentError("report", "a path that does not exist yet", repr(str(path)), mend)
    if any(path.absolute() == other.absolute() for other in others):
        raise ArgumentError(
            "report", "another file than the inputs and the transcript", repr(str(path)), mend
        )
