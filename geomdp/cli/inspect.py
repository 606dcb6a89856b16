"""The commands about one party's own inputs: inspect and dichotomies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from geomdp.cli.app import app
from geomdp.cli.labels import other_label
from geomdp.cli.options import Grid, Json, Label, Negative, Positive
from geomdp.cli.shared import has_place, note, print_json, progress, show
from geomdp.cli.tables import read
from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, describe


@app.command()
def inspect(
    table: Annotated[Path, typer.Argument(metavar="A.csv", help="Your own table (CSV or Parquet).")],
    grid: Grid,
    label: Label,
    positive: Positive,
    negative: Negative = None,
    as_json: Json = False,
) -> None:
    """Check your own table against the grid. The answer is about private data: keep it to yourself.

    A table that passes is one that 'geomdp assess' reads with the same options. That both tables use the same
    other label, it cannot see: name it with --negative, or declare both values in the grid file.

    For example

    geomdp inspect A.csv --grid g.json --label y --positive 1
    """
    domain = Domain.from_grid_file(grid)
    negative = other_label(grid, label, positive, negative)
    (sample,) = read(domain, [table], label, positive, negative)
    facts: dict[str, Any] = {
        "n": sample.n,
        "positive": int(sample.positives.sum()),
        "negative": int(sample.negatives.sum()),
        "occupied_cells": len(sample.cells),
        "cells": domain.m,
        "clipped": sample.clipped,
    }
    if as_json:
        print_json(facts)
        return
    from geomdp.report import data_notes

    show(data_notes(facts.items()))


@app.command()
def dichotomies(
    grid: Grid,
    out: Annotated[
        Path | None, typer.Option(help="Enumerate, and write the arrays to this new folder.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Refuse to enumerate more than this many.")] = 5_000_000,
    as_json: Json = False,
) -> None:
    """Count the labelings by halfspaces on the grid, exactly; with --out, list one weight vector each.

    For example

    geomdp dichotomies --grid g.json
    """
    from geomdp.geometry.arrangement import dichotomies as enumerate_all
    from geomdp.geometry.arrangement import estimate

    domain = Domain.from_grid_file(grid)
    size = estimate(domain)
    if out is not None:
        if not has_place(out) or os.path.lexists(out):
            requirement = "a path that does not exist yet, in a folder that can be written"
            raise ArgumentError("out", requirement, describe(str(out)))
        from geomdp.geometry.storage import save_dichotomies

        if size.seconds > 2:
            note(f"Enumerating {size}.")
        with progress("enumerating") as told:
            save_dichotomies(enumerate_all(domain, limit=limit, progress=told), out)
    facts = {"count": size.count, "m": domain.m, "d": domain.d, "bytes": size.bytes, "seconds": size.seconds}
    if as_json:
        print_json(facts)
        return
    show(f"{domain!r}: {size}" if out is None else f"{domain!r}: {size.count:,} dichotomies in {out}")
