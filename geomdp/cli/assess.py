"""The command assess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geomdp.cli import options
from geomdp.cli.app import app
from geomdp.cli.labels import other_label, two_labels
from geomdp.cli.ledgers import check_ledgers, ledger_notes, run_with_ledgers
from geomdp.cli.planning import make_plan, too_small
from geomdp.cli.shared import check_writable, note, print_json, replace, show
from geomdp.cli.tables import read
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, check_choice, check_integer

if TYPE_CHECKING:
    from geomdp.testers.base import Outcome


@app.command()
def assess(
    a: Annotated[Path, typer.Argument(metavar="A.csv", help="Alice's records (CSV or Parquet).")],
    b: Annotated[Path, typer.Argument(metavar="B.csv", help="Bob's records (CSV or Parquet).")],
    grid: options.Grid,
    label: options.Label,
    positive: options.PrivatePositive,
    epsilon: options.Epsilon,
    negative: options.Negative = None,
    beta: options.Beta = "0.1",
    labels: options.LabelsOption = options.Labels.mixed,
    classes: options.ClassesOption = options.Classes.auto,
    tolerance: options.Tolerance = 0,
    thorough: options.Thorough = False,
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
        int | None,
        typer.Option(
            help="Simulate with seeded noise: repeatable, private for nobody (default: real noise)."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Decide privately whether one classifier fits both tables.

    Both parties are played in this process: each one's code sees its own table, the public parameters and
    the messages. Rows outside the grid count at its nearest edge.

    Every table of two labels, or of one of them, is read, and nothing tells which occur. If the grid file
    declares the label's values ({"features": [...], "labels": {"y": ["yes", "no"]}}), others are refused.
    A table with a third label, a missing value, or one that is no number, is refused: that message is for
    the holder of the table. Each holder looks first, with 'geomdp inspect'.

    For example

    geomdp assess A.csv B.csv --grid g.json --label y --positive 1 --epsilon 1
    """
    from geomdp.testers.base import GUARANTEES

    domain = Domain.from_grid_file(grid)
    check_writable("transcript", transcript, [a, b, grid])
    _check_report(report, [a, b, grid, *([transcript] if transcript else [])])
    ledgers = check_ledgers({"Alice": ledger_a, "Bob": ledger_b}, budget, session, seed)
    if seed is not None:
        check_integer("seed", seed, 0)
    if guarantee is not None:
        check_choice("guarantee", guarantee, tuple(GUARANTEES))
    negative = other_label(grid, label, positive, negative)
    note(two_labels(label, positive, negative))
    S_A, S_B = read(domain, [a, b], label, positive, negative, private=True)
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
            ledgers,
            tables={"Alice": a, "Bob": b},
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
    try:
        _tell(outcome, account, as_json=as_json)
    finally:  # what was released is kept where one of its places fails
        if report is not None:
            page = outcome.report()
            replace(report, lambda path: path.write_text(page, encoding="utf-8"))


def _tell(outcome: Outcome, account: dict[str, Any] | None, *, as_json: bool) -> None:
    """Print an outcome, and what the ledgers hold."""
    if as_json:
        print_json(outcome.to_dict() | (account or {}))
        return
    from geomdp.report import outcome_table

    show(outcome_table(outcome))
    if outcome.setting.n_alice != outcome.setting.n_bob:
        note("The parties hold different numbers of records: all are used, none is padded or dropped.")
    for line in ledger_notes(account) if account else ():
        note(line)


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
