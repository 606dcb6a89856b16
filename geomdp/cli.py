"""The command line: assess, plan, opt, verify, inspect, dichotomies.

stdout carries the result only: tables for people, or with --json one JSON object and nothing else. Notes,
progress and errors go to stderr. Exit codes: 0 done, 1 a proof that fails, 2 bad input (nothing was written),
130 interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from geomdp.core.domain import Domain
from geomdp.core.errors import (
    ArgumentError,
    CertificateError,
    GeomdpError,
    InfeasibleError,
    TableError,
    check_choice,
)
from geomdp.core.sample import Sample, pool

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Can one classifier fit both datasets? Private two-party tests, and the exact optimum.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Labels(StrEnum):
    """What labels the two parties hold."""

    mixed = "mixed"
    disjoint = "disjoint"


class Classes(StrEnum):
    """The class of classifiers."""

    auto = "auto"
    halfspaces = "halfspaces"
    thresholds = "thresholds"


Grid = Annotated[
    Path, typer.Option("--grid", help="JSON file of the public grid (features with bounds and levels).")
]
Label = Annotated[str, typer.Option("--label", help="Name of the label column.")]
Positive = Annotated[str, typer.Option("--positive", help="Label value that counts as +.")]
Negative = Annotated[
    str | None, typer.Option("--negative", help="Label value that counts as - (default: the other one).")
]
Epsilon = Annotated[str, typer.Option("--epsilon", help="Each party's privacy budget, e.g. 1, 0.5 or 1/3.")]
Beta = Annotated[str, typer.Option("--beta", help="Largest probability of a wrong answer.")]
LabelsOption = Annotated[Labels, typer.Option("--labels", help="disjoint: Alice holds only -, Bob only +.")]
ClassesOption = Annotated[
    Classes, typer.Option("--classes", help="auto: thresholds on one feature, else halfspaces.")
]
Tolerance = Annotated[int, typer.Option("--tolerance", help="Mistakes that still count as a match (t0).")]
Thorough = Annotated[
    bool, typer.Option("--thorough", help="Also plan the testers with tilted noise (slower).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]


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
    from geomdp.testers.plan import plan as make_plan

    domain = Domain.from_grid_file(grid)
    _check_writable("transcript", transcript, [a, b, grid])
    if guarantee is not None:
        check_choice("guarantee", guarantee, tuple(GUARANTEES))
    S_A, S_B = _read(domain, [a, b], label, positive, negative)
    with _progress("calibrating the noise") as progress:
        plan = make_plan(
            domain,
            n=(S_A.n, S_B.n),
            epsilon=epsilon,
            beta=beta,
            labels=labels.value,
            tolerance=tolerance,
            classes=classes.value,
            thorough=thorough,
            progress=progress,
        )
    row = plan.select(tester, guarantee) if tester != "auto" else plan.choose(guarantee)
    if row is None and force_uncertified:
        row = plan.nearest
    if row is None:
        raise _too_small(plan)
    outcome = row.run(S_A, S_B, rng=seed, force_uncertified=force_uncertified)
    if transcript is not None:
        text = json.dumps(outcome.transcript.to_dict()) + "\n"
        _replace(transcript, lambda path: path.write_text(text, encoding="utf-8"))
    if as_json:
        _print_json(outcome.to_dict())
        return
    from geomdp.report import outcome_table

    _print(outcome_table(outcome))
    if S_A.n != S_B.n:
        _note("The parties hold different numbers of records: all are used, none is padded or dropped.")


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
    from geomdp.testers.plan import plan as make_plan

    domain = Domain.from_grid_file(grid)
    with _progress("calibrating the noise") as progress:
        made = make_plan(
            domain,
            n=_sizes(n),
            epsilon=epsilon,
            beta=beta,
            labels=labels.value,
            tolerance=tolerance,
            classes=classes.value,
            thorough=thorough,
            progress=progress,
        )
    if as_json:
        _print_json(made.to_dict())
        return
    from geomdp.report import plan_notes, plan_table

    _print(plan_table(made), *plan_notes(made))


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
        float | None, typer.Option("--time-limit", help="Seconds; then a certified interval is returned.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the bounds over time and the data to this picture.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the least number of mistakes of any classifier, exactly, with a proof. Not private.

    Ctrl-C ends the search with the best certified interval so far.
    """
    from geomdp.opt.halfspace import opt_halfspace
    from geomdp.opt.threshold import opt_threshold

    domain = Domain.from_grid_file(grid)
    for name, path in (("certificate", certificate), ("plot", plot)):
        _check_writable(name, path, [*tables, grid])
    samples = _read(domain, tables, label, positive, negative)
    thresholds = classes is Classes.thresholds or (classes is Classes.auto and domain.ordered)
    history: list[tuple[float, int, int]] = []
    with _bounds(history) as watch:
        if thresholds:
            result = opt_threshold(*samples)
        else:
            result = opt_halfspace(*samples, time_limit=time_limit, watch=watch)
    if certificate is not None:
        _replace(certificate, result.certificate.save)
    if plot is not None:
        from geomdp.plot.bounds import optimum_picture

        _replace(plot, optimum_picture(pool(*samples), result, history).savefig)
    clipped = sum(sample.clipped for sample in samples)
    if as_json:
        kind = "thresholds" if thresholds else "halfspaces"
        written = None if certificate is None else str(certificate)
        _print_json({**result.to_dict(), "classes": kind, "clipped": clipped, "certificate": written})
        return
    from geomdp.report import opt_table

    _print(opt_table(result, domain))
    if clipped:
        _note(f"{clipped} rows lay outside the grid and count at its nearest edge.")
    if not result.optimal and time_limit is None:
        _note("Interrupted: the bounds are certain, the optimum was not reached.")
        raise typer.Exit(130)


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

    Exit code 1 if it does not hold.
    """
    from geomdp.opt.certificate import Certificate
    from geomdp.opt.verifier import verify as replay

    domain = Domain.from_grid_file(grid)
    samples = _read(domain, tables, label, positive, negative)
    proof, reason = None, ""
    try:
        proof = Certificate.load(certificate)
        replay(proof, *samples)
    except CertificateError as error:
        reason = str(error)
    valid = not reason
    bounds = (proof.lower, proof.upper) if proof is not None and valid else (None, None)
    if as_json:
        _print_json({"valid": valid, "lower": bounds[0], "upper": bounds[1], "reason": reason})
    elif valid:
        _print(f"valid: {bounds[0]} <= opt <= {bounds[1]}")
    else:
        _print(f"not valid: {reason}")
    if not valid:
        raise typer.Exit(1)


@app.command()
def inspect(
    table: Annotated[Path, typer.Argument(metavar="A.csv", help="Your own table (CSV or Parquet).")],
    grid: Grid,
    label: Label,
    positive: Positive,
    negative: Negative = None,
    as_json: Json = False,
) -> None:
    """Check your own table against the grid. The answer is about private data: keep it to yourself."""
    domain = Domain.from_grid_file(grid)
    (sample,) = _read(domain, [table], label, positive, negative)
    facts: dict[str, Any] = {
        "n": sample.n,
        "positive": int(sample.positives.sum()),
        "negative": int(sample.negatives.sum()),
        "occupied_cells": len(sample.cells),
        "cells": domain.m,
        "clipped": sample.clipped,
    }
    if as_json:
        _print_json(facts)
        return
    from geomdp.report import data_notes

    _print(data_notes(facts.items()))


@app.command()
def dichotomies(
    grid: Grid,
    out: Annotated[
        Path | None, typer.Option(help="Enumerate, and write the arrays to this new folder.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Refuse to enumerate more than this many.")] = 5_000_000,
    as_json: Json = False,
) -> None:
    """Count the labelings by halfspaces on the grid, exactly; with --out, list one weight vector each."""
    from geomdp.geometry.arrangement import dichotomies as enumerate_all
    from geomdp.geometry.arrangement import estimate

    domain = Domain.from_grid_file(grid)
    size = estimate(domain)
    if out is not None:
        from geomdp.geometry.storage import save_dichotomies

        if size.seconds > 2:
            _note(f"Enumerating {size}.")
        with _progress("enumerating") as progress:
            save_dichotomies(enumerate_all(domain, limit=limit, progress=progress), out)
    facts = {"count": size.count, "m": domain.m, "d": domain.d, "bytes": size.bytes, "seconds": size.seconds}
    if as_json:
        _print_json(facts)
        return
    _print(f"{domain!r}: {size}" if out is None else f"{domain!r}: {size.count:,} dichotomies in {out}")


def main() -> None:
    """Run the command line; bad input ends with a sentence on stderr and exit code 2."""
    try:
        app(standalone_mode=True)
    except GeomdpError as error:
        sys.stderr.write(f"geomdp: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("geomdp: interrupted; nothing was written\n")
        sys.exit(130)


def _version(shown: bool) -> None:
    if shown:
        from geomdp import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def _read(domain: Domain, paths: list[Path], label: str, positive: str, negative: str | None) -> list[Sample]:
    """Read tables whose labels must agree; messages name the file, never a value in it."""
    from geomdp.core.tables.reading import count_table

    samples, others = [], set()
    for path in paths:
        try:
            counts = count_table(domain, path, label=label, positive=positive, negative=negative)
        except TableError as error:
            raise TableError(
                error.name, error.requirement, f"{error.got} (in {path.name})", error.mend
            ) from None
        if negative is None and not counts.positives.any():
            raise TableError(
                "positive",
                "a label that occurs, or --negative must name the other one",
                f"one that is missing in {path.name}",
                "Labels compare letter by letter; with --negative a table may hold one label only.",
            )
        others.add(counts.other)
        samples.append(Sample(domain, counts.cells, counts.positives, counts.negatives, counts.clipped))
    if len(others - {None}) > 1:
        raise TableError(
            "negative",
            "named where the tables' other labels differ",
            "left out",
            "Labels compare letter by letter: bring both tables to the same two values.",
        )
    return samples


def _sizes(text: str) -> int | tuple[int, int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise ArgumentError("n", "an integer or two joined by a comma, e.g. 20000,15000", repr(text))
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _too_small(plan: Any) -> InfeasibleError:
    nearest = plan.nearest
    need = "within reach of a tester"
    if nearest is not None:
        need = f"large enough for resolution {nearest.resolution}, the least that any tester guarantees here"
    return InfeasibleError(
        "n",
        need,
        str(plan.setting.n),
        "Raise epsilon, coarsen the grid, pool more records, or add --force-uncertified for a verdict "
        "that is labelled uncertified.",
    )


@contextlib.contextmanager
def _progress(title: str) -> Iterator[Callable[[float], None] | None]:
    """Yield a progress callback that draws on stderr, or None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done: bar.update(task, completed=done)


@contextlib.contextmanager
def _bounds(history: list[tuple[float, int, int]]) -> Iterator[Callable[[float, int, int], None]]:
    """Yield a callback that records bounds, and shows them closing in where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda seconds, lower, upper: history.append((seconds, lower, upper))
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("searching") as status:

        def watch(seconds: float, lower: int, upper: int) -> None:
            history.append((seconds, lower, upper))
            status.update(f"{seconds:.1f} s: {lower} <= opt <= {upper}")

        yield watch


def _print(*parts: Any) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    for part in parts:
        console.print(part, markup=False) if isinstance(part, str) else console.print(part)


def _print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


def _check_writable(name: str, path: Path | None, inputs: list[Path]) -> None:
    """Refuse an output path before any work is done: unwritable, an input, or a file of another kind."""
    if path is None:
        return
    mend = "Nothing that exists is overwritten but an earlier result with the same kind of name."
    if str(path) in ("-", "", ".") or path.is_dir() or not os.access(path.parent, os.W_OK):
        raise ArgumentError(name, "a file in a folder that can be written", repr(str(path)))
    kinds = {".json", ".npz"} if name != "plot" else {".png", ".pdf", ".svg"}
    if path.exists() and (not path.is_file() or path.suffix not in kinds):
        raise ArgumentError(name, "a path that does not exist yet", repr(str(path)), mend)
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise ArgumentError(name, "another file than the inputs", repr(str(path)), mend)


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file completely or not at all."""
    work = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        write(work)
        os.replace(work, path)
    except OSError:
        raise ArgumentError("path", "a file that can be written", repr(str(path))) from None
    finally:
        work.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
