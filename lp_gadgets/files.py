"""Which files are ours: a folder is written only where it overwrites nothing but our own earlier files.

A file is recognised by what it holds, not by its name: JSON by its format key, array files by the names of
their arrays, text by its first lines. Files are replaced completely or not at all.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from geomdp.core.errors import ArgumentError, describe

#: The arrays by which our array files are known.
ARRAYS = {
    "program.npz": {"variables", "layout", "public_start", "pins_start"},
    "records.npz": {"alice_cells", "alice_copies", "bob_cells", "bob_copies"},
    "dataset.npz": {"indptr", "indices", "data", "label", "copies", "shape"},
}
#: How our text files begin; symbols are called zA0, zA1, ...
HEADS = {
    "instance.mps": r"NAME instance\nROWS\n N objective\n L zA0\.",
    "instance.lp": r"Minimize\n objective: \+ 0 zA0\.1",
}
#: The first line of a party's records is its anchor, and the others are integers with the same label.
LINES = {
    "alice.libsvm": (r"-1 \d+:-1( # \d+)?", r"-1( \d+:-?\d+)+( # \d+)?"),
    "bob.libsvm": (r"\+1 \d+:1( # \d+)?", r"\+1( \d+:-?\d+)+( # \d+)?"),
}
#: How the format of our JSON files begins.
FORMATS = ("lp-gadgets instance", "lp-gadgets certificate")


def named(folder: object, name: str = "folder") -> Path:
    """Return the path of a folder, which may be missing yet.

    Raises:
        ArgumentError: when it is no text or path, or names none; an empty text would mean the working
            directory.

    Example:
        >>> named("inst").name
        'inst'
    """
    if not isinstance(folder, (str, os.PathLike)):
        raise ArgumentError(name, "the name of a folder", describe(folder), "Write it as text.")
    text = os.fsdecode(folder)
    if not text.strip() or "\0" in text:
        got = "empty" if not text.strip() else "one with a zero byte"
        raise ArgumentError(name, "the name of a folder", got, "Write . for the working directory.")
    return Path(text)


def is_ours(path: Path) -> bool:
    """Return whether a file is of the kind that this package writes under its name, by its content."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        if path.suffix == ".json":
            document = json.loads(path.read_text(encoding="utf-8"))
            return isinstance(document, dict) and str(document.get("format")).startswith(FORMATS)
        if path.name in ARRAYS:
            with zipfile.ZipFile(path) as file:
                return {f"{name}.npy" for name in ARRAYS[path.name]} <= set(file.namelist())
        with path.open(encoding="ascii") as text:
            if path.name in HEADS:
                return re.match(HEADS[path.name], text.read(200)) is not None
            first, others = LINES[path.name]
            head = re.fullmatch(first, text.readline().rstrip("\n"))
            return head is not None and all(re.fullmatch(others, line.rstrip("\n")) for line in text)
    except (OSError, ValueError, RecursionError, KeyError, zipfile.BadZipFile):
        return False


def check_target(folder: object, files: Iterable[str], name: str = "folder") -> Path:
    """Return the path of a folder into which files may be written: it is checked, nothing is made.

    Args:
        folder: the folder.
        files: names of the files.
        name: argument name for the message.

    Raises:
        ArgumentError: when the folder cannot be written, or a file of another kind is in the way.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     _ = (Path(place) / "manifest.json").write_text("{}")
        ...     check_target(place, ("manifest.json",))
        Traceback (most recent call last):
        ...
        geomdp.core.errors.ArgumentError: Argument 'folder' must be a folder whose manifest.json, if any, ...
    """
    place = named(folder, name)
    above = next(p for p in (place, *place.absolute().parents) if p.exists() or p.is_symlink())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        got = describe(str(place))
        if not above.is_dir():
            got += f": {above.name} is a file"
        raise ArgumentError(name, "a folder that can be written", got)
    for file in files:
        path = place / file
        if (path.exists() or path.is_symlink()) and not is_ours(path):
            raise ArgumentError(
                name,
                f"a folder whose {file}, if any, was written by this package",
                f"{describe(str(place))}, where it is another file or a damaged one",
                "Choose another folder, or move the file away. Nothing was written.",
            )
    return place


def replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file completely or not at all.

    Args:
        path: the file.
        write: writes to the path that it is given, which has the same suffix.

    Raises:
        OSError: when it cannot be written.
    """
    work = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        write(work)
        os.replace(work, path)
    finally:
        work.unlink(missing_ok=True)


def reason_of(problem: OSError) -> str:
    """Return an operating system's reason as a sentence, without its number."""
    return f"{problem.strerror}." if problem.strerror else ""
