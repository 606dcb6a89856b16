"""What commands share: output, progress, and files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from geomdp.cli.interrupts import remains, say
from geomdp.core.errors import ArgumentError, describe

#: Pictures that commands draw.
PICTURES = (".png", ".pdf", ".svg")
_KEPT = "Nothing that exists is overwritten but an earlier result of the same kind."


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[float], None] | None]:
    """Yield a progress callback that draws on stderr, or None where stderr is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done: bar.update(task, completed=done)


def show(*parts: Any) -> None:
    """Print tables and sentences on stdout."""
    from rich.console import Console

    with _stdout():
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=120)
        for part in parts:
            console.print(part, markup=False) if isinstance(part, str) else console.print(part)


def print_json(document: Any) -> None:
    """Print one JSON object on stdout."""
    with _stdout():
        sys.stdout.write(json.dumps(document) + "\n")


@contextlib.contextmanager
def _stdout() -> Iterator[None]:
    """Write to stdout and flush it; a full or closed one ends in a sentence, a closed pipe without a word."""
    try:
        if sys.stdout is None:
            raise OSError
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        sys.stdout = io.StringIO()  # nothing more is to be flushed when the program ends
        mend = "What was computed is lost, but for the files that were asked for."
        raise ArgumentError("stdout", "an output that can be written", "a full or closed one", mend) from None


def note(text: str) -> None:
    """Print a remark on stderr."""
    say(text + "\n")


def check_writable(name: str, path: Path | None, inputs: list[Path]) -> None:
    """Refuse an output path before any work is done: unwritable, an input, or a file that is not ours.

    Certificates and transcripts are recognised by content; pictures by their suffix.

    Args:
        name: the option, "plot", "report", "certificate" or "transcript".
        path: where its result goes, None for nowhere.
        inputs: files that must stay as they are.

    Raises:
        ArgumentError: as said.
    """
    if path is None:
        return
    if not has_place(path):
        raise ArgumentError(name, "a file in a folder that can be written", describe(str(path)))
    if name == "plot" and path.suffix.lower() not in PICTURES:
        raise ArgumentError(name, f"a file that ends in {', '.join(PICTURES)}", describe(str(path)))
    kinds = {"plot": PICTURES, "report": (".html",)}.get(name, (".json", ".npz"))
    if os.path.lexists(path) and (not path.is_file() or path.suffix.lower() not in kinds):
        raise ArgumentError(name, "a path that does not exist yet", describe(str(path)), _KEPT)
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise ArgumentError(name, "another file than the inputs", describe(str(path)), _KEPT)
    known = {"certificate": is_certificate, "transcript": is_transcript}.get(name)
    if known is not None and path.exists() and not known(path):
        got = f"{describe(str(path))}, which holds something else"
        raise ArgumentError(name, f"a path that does not exist yet, or an earlier {name}", got, _KEPT)


def has_place(path: Path) -> bool:
    """Return whether a file of this name could be written, and the one that it is prepared in."""
    try:
        if str(path) in ("-", ".") or path.is_dir():
            return False
        with contextlib.suppress(FileNotFoundError):
            _prepared(path).lstat()  # a name that is too long is an error of another kind
        return path.parent.is_dir() and os.access(path.parent, os.W_OK)
    except (OSError, ValueError):
        return False


def _prepared(path: Path) -> Path:
    """Return where a file is written before it takes its place."""
    return path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")


def is_certificate(path: Path) -> bool:
    """Return True if a file holds a certificate of opt in its outer form: JSON, or arrays with a header."""
    from geomdp.opt.certificate import FORMAT

    try:
        if path.suffix == ".npz":
            import numpy as np

            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                document = json.loads(arrays["header"].tobytes())
        else:
            document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, EOFError, RecursionError, zipfile.BadZipFile):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def is_transcript(path: Path) -> bool:
    """Return True if a file holds a transcript: public parameters of a tester, and messages."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(document, dict) or set(document) != {"parameters", "messages"}:
        return False
    parameters, messages = document["parameters"], document["messages"]
    keys = {"sender", "kind", "payload", "epsilon"}
    return (
        isinstance(parameters, dict)
        and "epsilon" in parameters
        and isinstance(messages, list)
        and all(isinstance(message, dict) and set(message) == keys for message in messages)
    )


def replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file completely or not at all."""
    work = _prepared(path)
    try:
        write(work)
        os.replace(work, path)
        remains(f"{path.name} is complete")
    except OSError:
        raise ArgumentError("path", "a file that can be written", describe(str(path))) from None
    finally:
        work.unlink(missing_ok=True)
