"""Instances in other people's formats; each can be read back.

* ``instance.mps`` and ``instance.lp``: the program of the two words, every row and variable by name, free
  MPS and CPLEX LP. Minimise nothing: only feasibility is asked, and it is 1 - F.
* ``alice.libsvm`` and ``bob.libsvm``: the records, one line for each that is held: label, features from 1,
  and the number of copies as a comment (``# 3``); with ``repeat=True`` one line a copy, without comments.
* ``dataset.npz``: the same records as a compressed sparse array, with labels and copies.
* ``summary.json``: parameters, the optimum that was predicted and the bounds that are certified.

All numbers are written as integers. The instance is verified before anything is written, so no file states a
name, a row or a bound that its certificate does not prove.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, CapacityError, CertificateError, describe
from lp_gadgets.files import check_target, reason_of, replace
from lp_gadgets.records import total
from lp_gadgets.sparse import SparseRows, join
from lp_gadgets.stored import StoredInstance
from lp_gadgets.verifier import Evidence

FORMATS = ("mps", "lp", "libsvm", "npz", "json")
#: The files of each format.
NAMES = {
    "mps": ("instance.mps",),
    "lp": ("instance.lp",),
    "libsvm": ("alice.libsvm", "bob.libsvm"),
    "npz": ("dataset.npz",),
    "json": ("summary.json",),
}
WIDTH = 100
#: Most lines of both LIBSVM files together where every copy is a line of its own: some gigabytes.
MAX_LINES = 10**8
#: Characters that are written at once.
CHUNK = 2**20


def export(
    folder: StoredInstance,
    out: str | Path,
    formats: Sequence[str] = FORMATS,
    repeat: bool = False,
    progress: Callable[[float], None] | None = None,
) -> list[Path]:
    """Verify an instance and write it in the given formats to a folder, which is made if it is missing.

    Args:
        folder: an instance read from disk, see :func:`lp_gadgets.folder.load`.
        out: where to write.
        formats: some of :data:`FORMATS`.
        repeat: write every copy of a record as a line of its own (LIBSVM only).
        progress: told the fraction of the certificate that has been replayed.

    Returns:
        The files written.

    Raises:
        ArgumentError: on an unknown format, a folder that cannot be written, or a file in it that is needed
            and not one of ours; nothing was written then.
        CapacityError: when ``repeat`` asks for more than :data:`MAX_LINES` lines; nothing was written then.
        CertificateError: when the instance does not verify; nothing was written then.

    Example:
        >>> import tempfile
        >>> from lp_gadgets.folder import load
        >>> from lp_gadgets.instance import HardInstance
        >>> from lp_gadgets.tanner import TannerCode
        >>> inst = HardInstance(TannerCode.geometry("Fano"), J=20)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     _ = inst.save([1, 0, 1], [1, 1, 0], f"{place}/inst")
        ...     [path.name for path in export(load(f"{place}/inst"), f"{place}/out", ["mps", "json"])]
        ['instance.mps', 'summary.json']
    """
    names = check_formats(formats)
    place = check_target(out, [file for name in names for file in NAMES[name]], "out")
    evidence = folder.evidence
    lines = sum(map(total, evidence.held))
    if repeat and "libsvm" in names and lines > MAX_LINES:
        mend = "Leave repeat out: then a line says how many copies there are."
        raise CapacityError("repeat", f"left out beyond {MAX_LINES} lines", f"given, for {lines}", mend)
    folder.verify(progress)
    if not all(map(is_portable, (*evidence.public.names, *evidence.pins.names, *evidence.layout.variables))):
        raise CertificateError("Step 'export': a name of a row or variable is not legal in model files.")
    written = []
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            for word, file in enumerate(NAMES[name]):
                replace(place / file, _writer(name, folder, evidence, word, repeat))
                written.append(place / file)
    except OSError as problem:
        got, mend = describe(str(out)), reason_of(problem)
        raise ArgumentError("out", "a folder that can be written", got, mend) from None
    return written


def check_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted formats, each once.

    Raises:
        ArgumentError: when one is unknown or empty, or there is none.

    Example:
        >>> check_formats(["mps", "json", "mps"])
        ('mps', 'json')
    """
    known = ", ".join(FORMATS)
    for name in formats:
        if name not in FORMATS:
            got = "with an empty item" if name == "" else f"with {describe(name)}"
            raise ArgumentError("formats", f"some of {known}", got, "Separate them by single commas.")
    if not formats:
        raise ArgumentError("formats", f"some of {known}", "none")
    return tuple(dict.fromkeys(formats))


def _writer(
    name: str, folder: StoredInstance, evidence: Evidence, word: int, repeat: bool
) -> Callable[[Path], None]:
    """Return the function that writes one file of a format to a path."""

    def write(path: Path) -> None:
        if name == "npz":
            np.savez_compressed(path, allow_pickle=False, **dataset(evidence))
            return
        with path.open("w", encoding="utf-8") as file:
            if name == "mps":
                write_mps(file, held_rows(evidence), evidence.layout.variables)
            elif name == "lp":
                write_lp(file, held_rows(evidence), evidence.layout.variables)
            elif name == "libsvm":
                write_libsvm(file, evidence, word, repeat)
            else:
                document = {key: value for key, value in folder.manifest.items() if key != "files"}
                file.write(json.dumps(document, indent=1) + "\n")

    return write


def held_rows(evidence: Evidence) -> SparseRows:
    """Return the program of the words that are held: the public rows, then their pins."""
    first = 2 + len(evidence.public)
    held = (evidence.held[0][first:] != 0) | (evidence.held[1][first:] != 0)
    pins = evidence.pins.select(np.flatnonzero(held))
    return join(evidence.public.columns, [evidence.public, pins])


def write_mps(file: TextIO, rows: SparseRows, variables: Sequence[str]) -> None:
    """Write the rows A x <= b over free variables as free MPS.

    Example:
        >>> import io
        >>> text = io.StringIO()
        >>> write_mps(text, SparseRows.of(2, [([0, 1], [1, -2], 3)], ["cap"]), ["x", "y"])
        >>> print(text.getvalue())
        NAME instance
        ROWS
         N objective
         L cap
        COLUMNS
         x cap 1
         y cap -2
        RHS
         rhs cap 3
        BOUNDS
         FR bounds x
         FR bounds y
        ENDATA
        <BLANKLINE>
    """
    file.write("NAME instance\nROWS\n N objective\n")
    file.writelines(f" L {name}\n" for name in rows.names)
    file.write("COLUMNS\n")
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    order = np.argsort(rows.index, kind="stable")
    for column, row, value in zip(
        rows.index[order].tolist(), owner[order].tolist(), rows.value[order].tolist(), strict=True
    ):
        file.write(f" {variables[column]} {rows.names[row]} {value}\n")
    unused = sorted(set(range(rows.columns)) - set(rows.index.tolist()))
    file.writelines(f" {variables[column]} objective 0\n" for column in unused)
    file.write("RHS\n")
    file.writelines(
        f" rhs {name} {bound}\n" for name, bound in zip(rows.names, rows.bound.tolist(), strict=True) if bound
    )
    file.write("BOUNDS\n")
    file.writelines(f" FR bounds {variable}\n" for variable in variables)
    file.write("ENDATA\n")


def read_mps(path: str | Path) -> tuple[SparseRows, tuple[str, ...]]:
    """Return the rows and variables of a file of :func:`write_mps`, exactly.

    Raises:
        ArgumentError: when the file is of another kind.
    """
    section, names = "", []
    variables: dict[str, int] = {}
    entries: dict[str, dict[int, int]] = {}
    bounds: dict[str, int] = {}
    try:
        for line in Path(path).read_text(encoding="ascii").splitlines():
            fields = line.split()
            if not line.startswith(" "):
                section = fields[0]
            elif section == "ROWS" and fields[0] == "L":
                names.append(fields[1])
                entries[fields[1]] = {}
            elif section == "COLUMNS":
                column = variables.setdefault(fields[0], len(variables))
                if fields[1] != "objective":
                    entries[fields[1]][column] = int(fields[2])
            elif section == "RHS":
                bounds[fields[1]] = int(fields[2])
            elif section == "BOUNDS" and fields[0] != "FR":
                raise ValueError
        if section != "ENDATA":
            raise ValueError
        order = [
            line.split()[2] for line in Path(path).read_text(encoding="ascii").splitlines() if " FR " in line
        ]
    except (OSError, ValueError, IndexError, KeyError):
        raise ArgumentError("path", "an MPS file of this package", describe(str(path))) from None
    place = {name: i for i, name in enumerate(order)}
    old = {i: place[name] for name, i in variables.items()}
    rows = []
    for name in names:
        own = sorted((old[c], a) for c, a in entries[name].items())
        rows.append(([c for c, _ in own], [a for _, a in own], bounds.get(name, 0)))
    return SparseRows.of(len(order), rows, names), tuple(order)


def write_lp(file: TextIO, rows: SparseRows, variables: Sequence[str]) -> None:
    """Write the rows A x <= b over free variables as CPLEX LP.

    Example:
        >>> import io
        >>> text = io.StringIO()
        >>> write_lp(text, SparseRows.of(2, [([0, 1], [1, -2], 3)], ["cap"]), ["x", "y"])
        >>> print(text.getvalue())
        Minimize
         objective: + 0 x + 0 y
        Subject To
         cap: + 1 x - 2 y <= 3
        Bounds
         x free
         y free
        End
        <BLANKLINE>
    """
    file.write("Minimize\n")
    file.write(
        _sum_lines("objective", range(len(variables)), [0] * len(variables), variables) + "\nSubject To\n"
    )
    for name, index, value, bound in rows.entries():
        file.write(f"{_sum_lines(name, index, value, variables)} <= {bound}\n")
    file.write("Bounds\n")
    file.writelines(f" {variable} free\n" for variable in variables)
    file.write("End\n")


def _sum_lines(name: str, index: Sequence[int], value: Sequence[int], variables: Sequence[str]) -> str:
    """Return a named sum, broken into lines; the objective lists all variables, which fixes their order."""
    lines, line = [], f" {name}:"
    for column, a in zip(index, value, strict=True):
        term = f" {'-' if a < 0 else '+'} {abs(a)} {variables[column]}"
        if len(line) + len(term) > WIDTH:
            lines.append(line)
            line = " "
        line += term
    return "\n".join([*lines, line])


def record_lines(evidence: Evidence, word: int) -> Iterator[tuple[dict[int, int], int]]:
    """Yield the non-zero features, from 1, and the copies of every record that a party holds."""
    records, held = evidence.records, evidence.held[word]
    d, first = records.d, 2 + len(evidence.public)
    half = len(evidence.pins) // 2
    if held[0]:
        yield {d: -1}, int(held[0])
    if held[1]:
        yield {d: 1}, int(held[1])
    for rows, start in ((evidence.public, 2), (evidence.pins, first)):
        occupied = np.flatnonzero(held[start : start + len(rows)])
        for cell, (_, index, value, bound) in zip(
            occupied.tolist(), rows.select(occupied).entries(), strict=True
        ):
            strict = start == first and cell < half
            scale, last = (evidence.N, -evidence.N * bound - 1) if strict else (-1, bound)
            features = {c + 1: scale * a for c, a in zip(index, value, strict=True)}
            yield (features | {d: last} if last else features), int(held[start + cell])


def write_libsvm(file: TextIO, evidence: Evidence, word: int, repeat: bool = False) -> None:
    """Write a party's records; word 0 is Alice (label -1), 1 Bob (+1)."""
    label = ("-1", "+1")[word]
    for features, copies in record_lines(evidence, word):
        line = label + "".join(f" {i}:{a}" for i, a in features.items())
        if not repeat:
            file.write(f"{line} # {copies}\n")
            continue
        whole, rest = divmod(copies, max(1, CHUNK // len(line)))
        chunk = (line + "\n") * min(copies, max(1, CHUNK // len(line)))
        for _ in range(whole):
            file.write(chunk)
        file.write((line + "\n") * rest)


def read_libsvm(path: str | Path, d: int) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the records, labels and copies of a file of :func:`write_libsvm`.

    Args:
        path: the file.
        d: number of features.

    Returns:
        X (R, d) integers, y (R,) and the copies (R,).

    Raises:
        ArgumentError: when the file is of another kind.
    """
    labels, copies, table = [], [], []
    try:
        for line in Path(path).read_text(encoding="ascii").splitlines():
            body, _, comment = line.partition("#")
            label, *features = body.split()
            row = [0] * d
            for feature in features:
                i, _, value = feature.partition(":")
                row[int(i) - 1] = int(value)
            labels.append(int(label))
            copies.append(int(comment) if comment.strip() else 1)
            table.append(row)
    except (OSError, ValueError, IndexError):
        raise ArgumentError("path", "a LIBSVM file of integers", describe(str(path))) from None
    wide = any(abs(x) >= 2**62 for row in table for x in row)
    X = np.array(table, dtype=object if wide else np.int64).reshape(len(table), d)
    return X, np.array(labels, dtype=np.int64), np.array(copies, dtype=np.int64)


def dataset(evidence: Evidence) -> dict[str, NDArray[Any]]:
    """Return both parties' records as arrays: indptr, indices, data, label, copies, shape.

    ``data`` are decimal texts where a number needs more than 64 bits.
    """
    features, labels, copies = [], [], []
    for word, label in ((0, -1), (1, 1)):
        for own, count in record_lines(evidence, word):
            features.append(own)
            labels.append(label)
            copies.append(count)
    values = [a for own in features for a in own.values()]
    wide = any(abs(a) >= 2**62 for a in values)
    lengths = [len(own) for own in features]
    return {
        "indptr": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "indices": np.array([i - 1 for own in features for i in own], dtype=np.int64),
        "data": np.array([str(a) for a in values]) if wide else np.array(values, dtype=np.int64),
        "label": np.array(labels, dtype=np.int64),
        "copies": np.array(copies, dtype=np.int64),
        "shape": np.array([len(features), evidence.records.d], dtype=np.int64),
    }


def is_portable(name: str) -> bool:
    """Return whether a row or variable name is legal in MPS and LP files.

    Example:
        >>> is_portable("A.check3.f0"), is_portable("e12"), is_portable("a b")
        (True, False, False)
    """
    return bool(re.fullmatch(r"(?![eE]\d)[A-Za-z_][A-Za-z0-9_.]*", name)) and len(name) < 256
