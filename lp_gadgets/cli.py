"""The command line of lp_gadgets: predict, build, verify, export, catalogue.

stdout carries the result only, with --json one JSON object and nothing else; progress and errors go to
stderr.
Exit codes: 0 done, 1 a certificate does not hold, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geomdp.cli.shared import progress
from geomdp.core.errors import ArgumentError, CertificateError, GeomdpError

if TYPE_CHECKING:
    from lp_gadgets.instance import HardInstance

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Hard instances for halfspace agreement, as programs and datasets: built, certified, verified.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Directory = Annotated[str, typer.Argument(metavar="DIR", help="Folder of an instance.")]


@app.command()
def build(
    code: Annotated[
        str, typer.Option("--code", help="qc:64, peg:64, biregular:64:dv=4:dc=8 or geometry:EG(2,4).")
    ],
    out: Annotated[str, typer.Option("--out", help="Folder to write; it is made if it is missing.")],
    q: Annotated[int, typer.Option("--q", help="Alphabet size, a power of two.")] = 2,
    j: Annotated[int, typer.Option("--J", help="Copies of every public record.")] = 100,
    el: Annotated[int, typer.Option("--L", help="Copies of every pin.")] = 3,
    f: Annotated[
        int, typer.Option("--F", help="Value of F for words drawn at random: 1 is far, 0 a match.")
    ] = 1,
    u: Annotated[str | None, typer.Option("--u", help="Alice's message: labels with commas.")] = None,
    v: Annotated[str | None, typer.Option("--v", help="Bob's message: labels with commas.")] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Records of either party (default: as few as suffice).")
    ] = None,
    embedding: Annotated[str, typer.Option(help="auto, parabola or cube.")] = "auto",
    encoding: Annotated[
        str, typer.Option(help="auto, facets, tree, implications or 'implication tree'.")
    ] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the graph and of the words.")] = 0,
    best_of: Annotated[int, typer.Option("--best-of", help="Graphs to choose the best from.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for the stopping distance; then a certified bound is used.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build an instance, certify a pair of words and write both to a folder."""
    from lp_gadgets.folder import save
    from lp_gadgets.instance import HardInstance
    from lp_gadgets.tanner import TannerCode

    with progress("building") as told:
        graph = TannerCode.from_text(code, seed, best_of)
        instance = HardInstance(
            graph,
            q,
            j,
            el,
            embedding=embedding,
            encoding=encoding,
            n=n,
            time_limit=time_limit,
            progress=lambda part: told and told(0.7 * part),
        )
        words = _words(instance, f, u, v, seed)
        certificate = save(instance, *words, out, lambda part: told and told(0.7 + 0.3 * part))
    result = {
        "folder": out,
        "code": graph.name,
        "q": instance.q,
        "k": instance.k,
        "variables": instance.program.size.variables,
        "public_rows": instance.program.size.rows,
        "n": instance.n,
        "F": certificate.F,
        "erasure_threshold": certificate.erasure_threshold,
        "opt_lower": certificate.opt_lower,
        "opt_upper": certificate.opt_upper,
    }
    _print(result, as_json)


@app.command()
def predict(
    code: Annotated[str, typer.Option("--code", help="A graph, as for build.")],
    q: Annotated[int, typer.Option("--q", help="Alphabet size, a power of two.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the graph.")] = 0,
    as_json: Json = False,
) -> None:
    """Tell the size of a program for every embedding and encoding, without building it."""
    from lp_gadgets.program import size_table
    from lp_gadgets.tanner import TannerCode

    field = TannerCode.from_text(code, seed).over(q)
    table = size_table(field)
    if as_json:
        _print({"code": field.graph.name, "q": field.q, "k": field.k, "sizes": table}, True)
        return
    line = "{:<9} {:<16} {:>9} {:>11} {:>9}  {}"
    names = ("embedding", "encoding", "variables", "public_rows", "points", "note")
    rows = [[row[name] if row[name] is not None else "?" for name in names] for row in table]
    for row in [[name.replace("_", " ") for name in names], *rows]:
        sys.stdout.write(line.format(*row).rstrip() + "\n")


@app.command()
def verify(folder: Directory, as_json: Json = False) -> None:
    """Replay an instance's certificate, without a solver; exit code 1 if it does not hold."""
    from lp_gadgets.folder import load

    try:
        with progress("verifying") as told:
            verdict = load(folder).verify(told)
    except CertificateError as error:
        if as_json:
            _print({"valid": False, "error": str(error)}, True)
        raise
    _print(verdict.to_dict(), as_json)


@app.command()
def export(
    folder: Directory,
    out: Annotated[str, typer.Option("--out", help="Folder to write; it is made if it is missing.")],
    formats: Annotated[
        str, typer.Option("--format", help="Some of mps, lp, libsvm, npz, json, with commas; or all.")
    ] = "all",
    repeat: Annotated[bool, typer.Option("--repeat", help="LIBSVM: one line for every copy.")] = False,
    as_json: Json = False,
) -> None:
    """Write an instance in other people's formats."""
    from lp_gadgets.folder import load

    names = None if formats == "all" else tuple(name.strip() for name in formats.split(","))
    written = load(folder).export(out, names, repeat)
    _print({"files": [str(path) for path in written]}, as_json)


@app.command()
def catalogue(
    name: Annotated[str | None, typer.Argument(help="An entry to build again and verify.")] = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder for the entry.")] = None,
    as_json: Json = False,
) -> None:
    """List the certified instances that come with the package, or build one of them again."""
    from lp_gadgets import catalogue as shelf

    if name is None:
        entries = shelf.entries()
        if as_json:
            _print({"instances": entries}, True)
            return
        for entry in entries:
            keys = (
                "name",
                "code",
                "q",
                "variables",
                "public_rows",
                "erasure_threshold",
                "opt_lower",
                "opt_upper",
            )
            sys.stdout.write("  ".join(f"{entry[key]}" for key in keys) + "\n")
        return
    if out is None:
        raise ArgumentError("out", "a folder for the entry", None, "Add --out FOLDER.")
    with progress("building") as told:
        result = shelf.build(name, out, told)
    _print(result, as_json)


def _words(instance: HardInstance, f: int, u: str | None, v: str | None, seed: int) -> tuple[Any, Any]:
    if u is None and v is None:
        return instance.words(f, seed)
    if u is None or v is None:
        raise ArgumentError("u, v", "both given or both missing", "one of them")
    return _labels("u", u), _labels("v", v)


def _labels(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentError(name, "labels with commas, like 0,1,1", repr(text)) from None


def _version(wanted: bool) -> None:
    if wanted:
        from geomdp import __version__

        sys.stdout.write(__version__ + "\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


def _print(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(result) + "\n")
        return
    for key, value in result.items():
        sys.stdout.write(f"{key.replace('_', ' ')}: {value}\n")


def main() -> None:
    """Run the command line; errors end with a sentence on stderr and an exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            app(standalone_mode=True)
        except CertificateError as error:
            sys.stderr.write(f"lp-gadgets: {error}\n")
            sys.exit(1)
        except GeomdpError as error:
            sys.stderr.write(f"lp-gadgets: {error}\n")
            sys.exit(2)
        except KeyboardInterrupt:
            sys.stderr.write("lp-gadgets: interrupted\n")
            sys.exit(130)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"lp-gadgets: {message}\n")


if __name__ == "__main__":
    main()
