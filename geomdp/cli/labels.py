"""How labels are read, in public: what the grid file declares of them, and the line that says so on stderr.

A private run must not tell by a refusal which labels occur. What guards against a misspelt value is public
instead: the grid file may declare the values of the label column, and each holder can look at its own table
with `geomdp inspect`.
"""

from __future__ import annotations

import json
from pathlib import Path

from geomdp.core.errors import ArgumentError, describe


def check_declared(grid: Path, label: str, positive: str, negative: str | None) -> tuple[str, ...]:
    """Return the values that the public grid file declares for the label column; () if it declares none.

    Args:
        grid: a grid file that has been read before; its key "labels" is a list of values, or an object that
            holds such a list for the columns that it names.
        label: the label column.
        positive, negative: the values that the command names.

    Raises:
        ArgumentError: when a named value is not declared, or the declaration is no list of two or more.
    """
    declared = json.loads(grid.read_text(encoding="utf-8")).get("labels", {})
    columns = declared if isinstance(declared, dict) else {label: declared}
    if label not in columns:
        return ()
    values = columns[label]
    plain = isinstance(values, list) and all(
        isinstance(v, str | int | float) and not isinstance(v, bool) for v in values
    )
    if not plain or len(set(map(str, values))) < 2:
        raise ArgumentError(
            "grid",
            f"a file whose labels for {label!r} are a list of two or more texts or numbers",
            "another one",
        )
    known = tuple(dict.fromkeys(map(str, values)))
    for name, value in (("positive", positive), ("negative", negative)):
        if value is not None and value not in known:
            listed = ", ".join(map(repr, known))
            raise ArgumentError(name, f"one of {listed}, as the grid file declares", repr(value))
    return known


def other_label(grid: Path, label: str, positive: str, negative: str | None) -> str | None:
    """Return the value that counts as -, as far as it is public: named, or the only other declared one.

    Args:
        grid, label, positive, negative: as in :func:`check_declared`.

    Returns:
        The value, or None where nothing is declared: then it is the one other value that the tables hold.

    Raises:
        ArgumentError: as in :func:`check_declared`, and when three or more values are declared and none is
            named. A table of two of them would be read and its neighbour with a third one refused, so which
            two are meant must be settled in public.
    """
    known = check_declared(grid, label, positive, negative)
    if negative is not None or not known:
        return negative
    others = [value for value in known if value != positive]
    if len(others) > 1:
        listed = ", ".join(map(repr, others))
        raise ArgumentError("negative", f"one of {listed}, which the grid file declares", "left out")
    return others[0]


def two_labels(label: str, positive: str, negative: str | None) -> str:
    """Return the line that says how two labels are read: a function of public values alone.

    Example:
        >>> line = two_labels("late", "yes", None)
        >>> len(line.splitlines()), "the one other value as -" in line
        (1, True)
    """
    minus = "the one other value" if negative is None else describe(negative)
    return (
        f"Labels: {describe(positive)} in column {describe(label)} counts as +, {minus} as -. Whether either "
        "occurs is not told; each holder looks at its own table with 'geomdp inspect' first."
    )
