"""The command power."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from geomdp.cli import options
from geomdp.cli.app import app
from geomdp.cli.planning import make_plan, sizes, too_small
from geomdp.cli.shared import check_writable, note, print_json, progress, replace, show
from geomdp.cli.tables import read
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, check_integer

if TYPE_CHECKING:
    from rich.table import Table

    from geomdp.testers.families import Family
    from geomdp.testers.power import OperatingCurve


class FamilyName(StrEnum):
    """Where conflicts lie in the simulated samples."""

    cell = "cell"
    spread = "spread"
    even = "even"
    random = "random"
    all = "all"


class How(StrEnum):
    """What is simulated."""

    auto = "auto"
    protocol = "protocol"
    law = "law"


@app.command()
def power(
    grid: options.Grid,
    epsilon: options.Epsilon,
    n: Annotated[
        str | None, typer.Option("--n", help="Records per party, or two numbers; left out with tables.")
    ] = None,
    tables: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[A.csv B.csv]", help="Public tables: flip labels of B instead of --family."),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Label column of the tables.")] = None,
    positive: Annotated[str | None, typer.Option("--positive", help="Label value that counts as +.")] = None,
    negative: options.Negative = None,
    beta: options.Beta = "0.1",
    labels: options.LabelsOption = options.Labels.mixed,
    classes: options.ClassesOption = options.Classes.auto,
    tolerance: options.Tolerance = 0,
    thorough: options.Thorough = False,
    tester: Annotated[str, typer.Option(help="A tester's name from `geomdp plan`, or auto.")] = "auto",
    family: Annotated[
        FamilyName | None,
        typer.Option(help="Conflicts in one cell (default), spread, spread on even data, random, or all."),
    ] = None,
    how: Annotated[
        How, typer.Option(help="Whole protocol runs, or the noise law of the verdict.")
    ] = How.auto,
    runs: Annotated[
        int | None,
        typer.Option(help="Runs on each pair of samples (default: 2000 of the law, 200 of the protocol)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    workers: Annotated[int, typer.Option(help="Worker processes.")] = 2,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves to this picture.")] = None,
    as_json: options.Json = False,
) -> None:
    """Simulate how often a tester says Far, against the true opt. Nothing is released.

    With tables the exact optimum of flipped data is part of the answer: use public tables only.

    For example

    geomdp power --grid g.json --n 5000 --epsilon 1 --tester one-way --runs 200
    """
    from geomdp.testers.families import Flips, Pairs, RandomLabels
    from geomdp.testers.plan import THOROUGH
    from geomdp.testers.power import operating_characteristic

    domain = Domain.from_grid_file(grid)
    check_integer("seed", seed, 0)
    check_writable("plot", plot, [grid, *(tables or [])])
    families: list[Family]
    _check_source(
        tables,
        {"n": n, "family": family},
        {"label": label, "positive": positive, "negative": negative},
    )
    if tables:
        if len(tables) != 2 or label is None or positive is None:
            raise ArgumentError("tables", "two tables with --label and --positive", f"{len(tables)}")
        S_A, S_B = read(domain, tables, label, positive, negative)
        count: int | tuple[int, int] = (S_A.n, S_B.n)
        families = [Flips(S_A, S_B, f"{tables[0].name} and {tables[1].name}")]
    else:
        if n is None:
            raise ArgumentError("n", "given where no tables are", "left out")
        count = sizes(n)
        known: dict[str, Family] = {
            "cell": Pairs("cell"),
            "spread": Pairs("spread"),
            "even": Pairs("spread", "even"),
            "random": RandomLabels(),
        }
        families = list(known.values()) if family is FamilyName.all else [known[family or FamilyName.cell]]
    made = make_plan(
        domain,
        count,
        epsilon=epsilon,
        beta=beta,
        labels=labels,
        classes=classes,
        tolerance=tolerance,
        thorough=thorough or tester in THOROUGH,
    )
    row = made.best if tester == "auto" else made.select(tester)
    if row is None:
        raise too_small(made, forcible=False)
    curves = []
    for each in families:
        with progress(f"simulating {each.name}") as told:
            curves.append(
                operating_characteristic(
                    row, each, runs=runs, rng=seed, workers=workers, how=how.value, progress=told
                )
            )
    if plot is not None:
        from geomdp.plot.power import power_picture

        replace(plot, power_picture(curves).savefig)
    if as_json:
        print_json({"simulated": True, "curves": [curve.to_dict() for curve in curves]})
        return
    for curve in curves:
        show(*_title(curve), _table(curve))
    note("Simulated with seeded noise: nothing was released, and nothing here certifies a tester.")


def _check_source(
    tables: list[Path] | None, simulated: dict[str, str | None], given: dict[str, str | None]
) -> None:
    """Refuse options that belong to the other source of samples: families of a size, or tables."""
    wrong, mend = (simulated, "with tables, which say it") if tables else (given, "where no tables are")
    for name, value in wrong.items():
        if value is not None:
            raise ArgumentError(name, f"left out {mend}", repr(str(value)))


def _title(curve: OperatingCurve) -> tuple[str, str]:
    what = "whole protocol runs" if curve.how == "protocol" else "noise law of the verdict"
    return f"SIMULATED ({what}): {curve.tester}, {curve.claim}; {curve.family}", curve.finding


def _table(curve: OperatingCurve) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("true opt", "runs", "Far", "Match", "P(Far)", f"{100 * float(curve.confidence):g} % band"):
        table.add_column(name, justify="right")
    for p in curve.points:
        band = f"{p.low:.3f} .. {p.high:.3f}"
        table.add_row(str(p.opt), str(p.runs), str(p.far), str(p.match), f"{p.rate:.3f}", band)
    return table
