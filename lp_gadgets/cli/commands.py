# ruff: noqa: PLR0917 (each option is an argument)
"""The commands: predict, build, verify, export, catalogue."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geomdp.cli.shared import progress
from geomdp.cli.usage import Commands
from geomdp.core.errors import ArgumentError, CapacityError, CertificateError, GeomdpError, check_integer

if TYPE_CHECKING:
    from lp_gadgets.instance import HardInstance

#: Variables of the largest graph whose stopping distance is searched for without a time limit.
MOST_UNLIMITED = 512
#: Variables of the largest graph that is looked at: eliminating the checks takes the square of that.
MOST_VARIABLES = 8192

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    help="Hard instances for halfspace agreement, as programs and datasets: built, certified, verified.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Directory = Annotated[str, typer.Argument(metavar="DIR", help="Folder of an instance.")]


class _Stopped(Exception):  # noqa: N818 (it is no error)
    """Ctrl-C, with what it ended."""


@contextlib.contextmanager
def _doing(what: str, after: str = "nothing was written") -> Iterator[None]:
    """Name what Ctrl-C ends from here on, and what is left behind."""
    try:
        yield
    except KeyboardInterrupt:
        raise _Stopped(f"interrupted while {what}; {after}") from None


@contextlib.contextmanager
def _called(**options: str) -> Iterator[None]:
    """Name arguments in errors as they are written on the command line, like ``best_of="best-of"``."""
    try:
        yield
    except ArgumentError as error:
        if error.name not in options:
            raise
        raise type(error)(options[error.name], error.requirement, error.got, error.mend) from None


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
        int | None,
        typer.Option("--F", help="Value of F for words drawn at random: 1 is far (default), 0 a match."),
    ] = None,
    u: Annotated[str | None, typer.Option("--u", help="Alice's message: labels with commas.")] = None,
    v: Annotated[str | None, typer.Option("--v", help="Bob's message: labels with commas.")] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Records of either party (default: as few as suffice).")
    ] = None,
    embedding: Annotated[str, typer.Option(help="auto, parabola or cube.")] = "auto",
    encoding: Annotated[
        str, typer.Option(help="auto, facets, tree, implications or 'implication tree'.")
    ] = "auto",
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of a random graph and of the words (default 0).")
    ] = None,
    words_seed: Annotated[
        int | None, typer.Option("--words-seed", help="Seed of random words alone (default: --seed).")
    ] = None,
    best_of: Annotated[
        int | None, typer.Option("--best-of", help="Graphs to choose the best from (default 1).")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for the stopping distance; then a certified bound is used (default: none)."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build an instance, certify a pair of words and write both to a folder.

    For example

    lp-gadgets build --code geometry:Fano --out inst
    """
    from lp_gadgets.files import check_target
    from lp_gadgets.folder import save
    from lp_gadgets.instance import HardInstance
    from lp_gadgets.stored import FILES
    from lp_gadgets.tanner import TannerCode

    check_target(out, ("manifest.json", *FILES), "out")
    given = _given_words(f, u, v, seed, words_seed)
    random = not code.strip().startswith("geometry:")  # else the seed is that of the words alone
    if not random and u is not None and seed is not None:
        raise ArgumentError("seed", "left out where nothing is drawn at random", seed)
    with (
        _called(best_of="best-of", time_limit="time-limit", folder="out"),
        progress("building") as told,
    ):

        def report(part: float) -> None:
            if told is not None:
                told(part)

        with _doing("choosing the graph"):
            graph = TannerCode.from_text(
                code, seed if random else None, best_of, lambda part: report(0.2 * part)
            )
            _check_variables(graph.K)
            _check_search(graph.K, time_limit)
        with _doing("searching for the stopping distance and building the rows"):
            instance = HardInstance(
                graph,
                q,
                j,
                el,
                embedding=embedding,
                encoding=encoding,
                n=n,
                time_limit=time_limit,
                progress=lambda part: report(0.2 + 0.5 * part),
            )
        with _doing("choosing the words"):
            words = _words(instance, f, *given)
        with _doing("certifying and writing", f"the files in {out} may be incomplete, which verify tells"):
            certificate = save(instance, *words, out, lambda part: report(0.7 + 0.3 * part))
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
        "threshold_exact": certificate.verdict.threshold_exact,
        "opt_lower": certificate.opt_lower,
        "opt_upper": certificate.opt_upper,
        "optimum_exact": certificate.optimal,
    }
    _print(result, as_json)


@app.command()
def predict(
    code: Annotated[str, typer.Option("--code", help="A graph, as for build.")],
    q: Annotated[int, typer.Option("--q", help="Alphabet size, a power of two.")] = 2,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of a random graph (default 0).")] = None,
    as_json: Json = False,
) -> None:
    """Tell the size of a program for every embedding and encoding, without building it.

    For example

    lp-gadgets predict --code qc:64 --q 4
    """
    from lp_gadgets.program import size_table
    from lp_gadgets.tanner import TannerCode

    with progress("predicting") as told, _doing("predicting sizes"):
        graph = TannerCode.from_text(code, seed)
        _check_variables(graph.K)
        field = graph.over(q, progress=told)
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
    """Replay an instance's certificate, without a solver; exit code 1 if it does not hold.

    For example

    lp-gadgets verify inst
    """
    from lp_gadgets.folder import load

    try:
        with _called(folder="DIR"), progress("verifying") as told, _doing("verifying", "nothing was decided"):
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
    """Verify an instance and write it in other people's formats; nothing is written if it does not hold.

    For example

    lp-gadgets export inst --out files --format mps,libsvm
    """
    from lp_gadgets.export import FORMATS, check_formats
    from lp_gadgets.folder import load

    names = FORMATS if formats == "all" else tuple(name.strip() for name in formats.split(","))
    with _called(formats="format", folder="DIR"), progress("verifying") as told:
        check_formats(names)
        with _doing("exporting", f"some files may be missing in {out}"):
            written = load(folder).export(out, names, repeat, told)
    _print({"files": [str(path) for path in written]}, as_json)


@app.command()
def catalogue(
    name: Annotated[str | None, typer.Argument(help="An entry to build again and verify.")] = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder for the entry.")] = None,
    as_json: Json = False,
) -> None:
    """List the certified instances that come with the package, or build one of them again.

    For example

    lp-gadgets catalogue hexagon-2 --out hexagon
    """
    from lp_gadgets import catalogue as shelf

    if name is None:
        if out is not None:
            mend = "List them with: lp-gadgets catalogue"
            raise ArgumentError("name", "an entry of the catalogue when --out is given", "missing", mend)
        entries = shelf.entries()
        if as_json:
            _print({"instances": entries}, True)
            return
        keys = ("name", "code", "q", "variables", "public_rows", "F", "erasure_threshold")
        rows = [[str(entry[key]) for key in (*keys, "opt_lower", "opt_upper")] for entry in entries]
        heads = [key.replace("_", " ") for key in (*keys, "opt_lower", "opt_upper")]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in [heads, *rows]:
            sys.stdout.write("  ".join(map(str.ljust, row, widths)).rstrip() + "\n")
        return
    shelf.entry(name)
    if out is None:
        raise ArgumentError("out", "a folder for the entry", "missing", "Add --out FOLDER.")
    with (
        _called(folder="out"),
        progress("building") as told,
        _doing(f"building {name}", f"files in {out} may be incomplete"),
    ):
        result = shelf.build(name, out, told)
    _print(result, as_json)


def _check_variables(K: int) -> None:
    """Refuse a graph whose elimination alone takes minutes."""
    if K > MOST_VARIABLES:
        raise CapacityError("code", f"a graph of at most {MOST_VARIABLES} variables", f"one of {K}")


def _check_search(K: int, time_limit: float | None) -> None:
    """Refuse a search that may take days, unless it is limited; an infinite limit is none."""
    if K > MOST_UNLIMITED and time_limit in (None, math.inf):
        raise CapacityError(
            "code",
            f"a graph of at most {MOST_UNLIMITED} variables for a search without a time limit",
            f"one of {K}",
            "Add --time-limit 60: the threshold is then a certified lower bound.",
        )


def _given_words(
    f: int | None, u: str | None, v: str | None, seed: int | None, words_seed: int | None
) -> tuple[Any, Any, int]:
    """Return the words that were written down, or None, and the seed of those that are drawn."""
    if f is not None and f not in (0, 1):
        raise ArgumentError("F", "0 or 1", f)
    if (u is None) != (v is None):
        raise ArgumentError("u, v", "both given or both missing", "one of them")
    if u is None or v is None:
        name, own = ("seed", seed) if words_seed is None else ("words-seed", words_seed)
        return None, None, 0 if own is None else check_integer(name, own, 0)
    if words_seed is not None:
        raise ArgumentError("words-seed", "left out where the words are given", words_seed)
    return _labels("u", u), _labels("v", v), 0


def _words(instance: HardInstance, f: int | None, u: Any, v: Any, seed: int) -> tuple[Any, Any]:
    if u is None:
        return instance.words(1 if f is None else f, seed)
    value = instance.F(u, v)
    if f not in (None, value):
        mend = "Leave --F out, or give other words."
        raise ArgumentError("F", f"{value}, the value for the given words", f, mend)
    return u, v


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
    for line in _lines(result):
        sys.stdout.write(line + "\n")


def _lines(result: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield a result as lines: objects key by key, a list of texts one a line, other lists with commas."""
    for key, value in result.items():
        name = above + key.replace("_", " ")
        if isinstance(value, dict):
            yield from _lines(value, f"{name} ")
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            yield from (f"{name.removesuffix('s')}: {item}" for item in value)
        elif isinstance(value, list):
            yield f"{name}: {', '.join(map(str, value))}"
        else:
            yield f"{name}: {('no', 'yes')[value] if isinstance(value, bool) else value}"


def run() -> int:
    """Run the command line and return the exit code; errors end with a sentence on stderr."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        code = 0
        try:
            app(standalone_mode=True, prog_name="lp-gadgets")
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 0
        except _Stopped as stopped:
            sys.stderr.write(f"lp-gadgets: {stopped}\n")
            return 130
        except GeomdpError as error:
            sys.stderr.write(f"lp-gadgets: {error}\n")
            return 1 if isinstance(error, CertificateError) else 2
    if code == 130:
        sys.stderr.write("lp-gadgets: interrupted; nothing was written\n")
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"lp-gadgets: {message}\n")
