"""The command population."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from geomdp.cli.app import app
from geomdp.cli.options import Classes, ClassesOption, Grid, Json, Tolerance
from geomdp.cli.planning import integers, sizes
from geomdp.cli.shared import print_json, show
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, describe

if TYPE_CHECKING:
    from rich.table import Table

    from geomdp.bounds import PopulationBounds


class Verdict(StrEnum):
    """What a tester answered; in any case of letters."""

    Match = "Match"
    Far = "Far"
    Inconclusive = "Inconclusive"


@app.command()
def population(
    grid: Grid,
    n: Annotated[str, typer.Option("--n", help="Records per party, or two numbers: 20000,15000.")],
    opt: Annotated[
        int | None,
        typer.Option(help="The exact optimum of both tables, in mistakes (or one of the next two)."),
    ] = None,
    opt_interval: Annotated[
        str | None, typer.Option("--opt-interval", help="A private interval for it, in mistakes: a,b.")
    ] = None,
    verdict: Annotated[
        Verdict | None, typer.Option(case_sensitive=False, help="A certified verdict.")
    ] = None,
    resolution: Annotated[
        int | None,
        typer.Option(help="The resolution t behind the verdict, in mistakes (left out without --verdict)."),
    ] = None,
    tolerance: Tolerance = 0,
    beta: Annotated[str, typer.Option("--beta", help="Probability that the records mislead.")] = "0.1",
    opt_beta: Annotated[
        str | None,
        typer.Option("--opt-beta", help="The release's own beta; needed with --opt-interval and --verdict."),
    ] = None,
    classes: ClassesOption = Classes.auto,
    as_json: Json = False,
) -> None:
    """Bound the least average population error of one classifier, from what is known about opt.

    For example

    geomdp population --grid g.json --n 20000 --opt 400
    """
    from geomdp.bounds import population_bounds

    domain = Domain.from_grid_file(grid)
    count = sizes(n)
    known = [value is not None for value in (opt, opt_interval, verdict)]
    if sum(known) != 1:
        raise ArgumentError("opt", "one of --opt, --opt-interval, --verdict", f"{sum(known)} of them")
    if opt is None and opt_beta is None:
        mend = "It is the beta of the release; give 0 if the interval is certain."
        raise ArgumentError("opt_beta", "given with --opt-interval or --verdict", "left out", mend)
    if verdict is None and (resolution is not None or tolerance):
        name, value = ("tolerance", tolerance) if resolution is None else ("resolution", resolution)
        raise ArgumentError(name, "left out without --verdict", str(value))
    interval: int | tuple[int, int]
    if verdict is not None:
        interval = _of_verdict(domain, count, verdict.value, resolution, tolerance, classes)
    elif opt_interval is not None:
        interval = _of_text(opt_interval)
    else:
        interval = opt or 0
    found = population_bounds(
        count, interval, domain=domain, classes=classes.value, beta=beta, opt_beta=opt_beta
    )
    if as_json:
        print_json(found.to_dict())
        return
    show(_table(found))


def _of_text(text: str) -> tuple[int, int]:
    ends = integers(text)
    if len(ends) != 2:
        raise ArgumentError("opt_interval", "two integers a,b", describe(text))
    return ends[0], ends[1]


def _of_verdict(
    domain: Domain,
    count: int | tuple[int, int],
    verdict: str,
    resolution: int | None,
    tolerance: int,
    classes: Classes,
) -> tuple[int, int]:
    from geomdp.bounds import verdict_interval

    if resolution is None:
        raise ArgumentError("resolution", "given with a verdict", "left out")
    both = (count, count) if isinstance(count, int) else count
    halved = domain.pointed or classes is Classes.thresholds
    return verdict_interval(verdict, resolution, sum(both) // (2 if halved else 1), tolerance)


def _table(found: PopulationBounds) -> Table:
    from rich import box
    from rich.table import Table

    title = "Least average population error R* of one classifier"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=False)
    rows = [
        ("R*", f"{_down(found.lower)} .. {_up(found.upper)}, confidence {float(found.confidence):g}"),
        ("opt", f"{found.opt[0]} .. {found.opt[1]} of {found.n_alice} + {found.n_bob} records"),
        ("by binomial tails", f"{_down(found.exact[0])} .. {_up(found.exact[1])}"),
        ("by relative VC bounds", f"{_down(found.vc[0])} .. {_up(found.vc[1])}"),
        ("record-weighted error", f"{_down(found.pooled[0])} .. {_up(found.pooled[1])}"),
    ]
    for name, text in rows:
        table.add_row(name, text)
    return table


def _down(value: float) -> str:
    """Return a lower bound as text, rounded down to six decimals."""
    return f"{int(value * 10**6) / 10**6:g}"


def _up(value: float) -> str:
    """Return an upper bound as text, rounded up to six decimals."""
    return f"{math.ceil(value * 10**6) / 10**6:g}"
