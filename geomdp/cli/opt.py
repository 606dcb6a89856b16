"""The commands about the exact optimum: opt and verify."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from geomdp.cli.app import app
from geomdp.cli.options import Classes, ClassesOption, Grid, Json, Label, Negative, Positive
from geomdp.cli.shared import check_writable, note, print_json, replace, show
from geomdp.cli.tables import read
from geomdp.core.classifier import Threshold
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, CertificateError, describe
from geomdp.core.sample import pool


@app.command()
def opt(
    tables: Annotated[
        list[Path], typer.Argument(metavar="A.csv [B.csv ...]", help="Tables to pool (CSV or Parquet).")
    ],
    grid: Grid,
    label: Label,
    positive: Positive,
    negative: Negative = None,
    classes: ClassesOption = Classes.auto,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof of both bounds to this file (JSON, or .npz).")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", help="Seconds; then a certified interval is returned (default: none)."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the bounds over time and the data to this picture.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the least number of mistakes of any classifier, exactly, with a proof. Not private.

    Ctrl-C ends the search with the best certified interval so far.

    For example

    geomdp opt A.csv B.csv --grid g.json --label y --positive 1
    """
    from geomdp.opt.halfspace import opt_halfspace
    from geomdp.opt.threshold import opt_threshold

    domain = Domain.from_grid_file(grid)
    if time_limit is not None and not time_limit >= 0:
        raise ArgumentError("time_limit", "a number of seconds >= 0", describe(time_limit))
    for name, path in (("certificate", certificate), ("plot", plot)):
        check_writable(name, path, [*tables, grid])
    samples = read(domain, tables, label, positive, negative)
    thresholds = classes is Classes.thresholds or (classes is Classes.auto and domain.ordered)
    history: list[tuple[float, int, int]] = []
    with bounds(history) as watch:
        if thresholds:
            result = opt_threshold(*samples)
        else:
            result = opt_halfspace(*samples, time_limit=time_limit, watch=watch)
    if certificate is not None:
        replace(certificate, result.certificate.save)
    if plot is not None:
        from geomdp.plot.bounds import optimum_picture

        replace(plot, optimum_picture(pool(*samples), result, history).savefig)
    clipped = sum(sample.clipped for sample in samples)
    kind = _classes(result.classifier)
    if as_json:
        written = None if certificate is None else str(certificate)
        print_json({**result.to_dict(), "classes": kind, "clipped": clipped, "certificate": written})
    else:
        from geomdp.report import opt_table

        show(opt_table(result, domain), f"This is opt of {kind}.")
        if clipped:
            note(f"{clipped} rows lay outside the grid and count at its nearest edge.")
        if result.reason == "too many rows":
            note("Too many rows of a high rank to close the gap: the bounds are certain.")
    if result.reason == "interrupted":
        note("Interrupted: the bounds are certain, the optimum was not reached.")
        raise typer.Exit(130)


def _classes(classifier: object) -> str:
    """Return the class of classifiers whose optimum a classifier bounds from above."""
    return "thresholds" if isinstance(classifier, Threshold) else "halfspaces"


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(metavar="c.json", help="A proof written by `geomdp opt`.")],
    tables: Annotated[list[Path], typer.Argument(metavar="A.csv [B.csv ...]", help="The same tables.")],
    grid: Grid,
    label: Label,
    positive: Positive,
    negative: Negative = None,
    as_json: Json = False,
) -> None:
    """Replay a proof of opt on the tables it is about: integers only, no solver, no search.

    It says whether opt of thresholds or of halfspaces is proved. Exit code 1 if the proof does not hold.

    For example

    geomdp verify c.json A.csv B.csv --grid g.json --label y --positive 1
    """
    from geomdp.opt.certificate import Certificate
    from geomdp.opt.verifier import verify as replay

    domain = Domain.from_grid_file(grid)
    _check_regular(certificate)
    samples = read(domain, tables, label, positive, negative)
    proof, reason = None, ""
    try:
        proof = Certificate.load(certificate)
        replay(proof, *samples)
    except CertificateError as error:
        reason = str(error)
    valid = not reason
    lower, upper, kind = None, None, None
    if proof is not None and valid:
        lower, upper, kind = proof.lower, proof.upper, _classes(proof.classifier)
    if as_json:
        print_json({"valid": valid, "lower": lower, "upper": upper, "classes": kind, "reason": reason})
    elif valid:
        show(f"valid: {lower} <= opt of {kind} <= {upper}")
    else:
        show(f"not valid: {reason}")
    if not valid:
        raise typer.Exit(1)


def _check_regular(certificate: Path) -> None:
    """Refuse what is no file that can be read, before any work: a pipe or a device may never end."""
    try:
        regular = certificate.is_file() and os.access(certificate, os.R_OK)
    except (OSError, ValueError):
        regular = False
    if not regular:
        raise ArgumentError("certificate", "a file that can be read", describe(str(certificate)))


@contextlib.contextmanager
def bounds(history: list[tuple[float, int, int]]) -> Iterator[Callable[[float, int, int], None]]:
    """Yield a callback that records bounds, and shows them closing in where stderr is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda seconds, lower, upper: history.append((seconds, lower, upper))
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("searching") as status:

        def watch(seconds: float, lower: int, upper: int) -> None:
            history.append((seconds, lower, upper))
            status.update(f"{seconds:.1f} s: {lower} <= opt <= {upper}")

        yield watch
