"""Shipped example tables: real records, grids, and a card for each set; nothing is ever downloaded.

Sets: ``flights`` and ``delays`` (two airports), ``penguins`` and ``wdbc`` (one table, and split in two). Each
folder's ``DATA_CARD.md`` has source, licence, columns, grid, exact optima and checksums.
"""

from __future__ import annotations

from pathlib import Path

from geomdp.core.errors import ArgumentError, describe

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the shipped files, as "set/file", sorted.

    Example:
        >>> [name for name in names() if name.startswith("wdbc/wdbc")]
        ['wdbc/wdbc.csv', 'wdbc/wdbc_a.csv', 'wdbc/wdbc_b.csv']
    """
    files = (path for path in _FOLDER.glob("*/*") if path.suffix in {".csv", ".json", ".md"})
    return sorted(f"{path.parent.name}/{path.name}" for path in files)


def path(name: str) -> Path:
    """Return where a shipped file lies.

    Args:
        name: "set/file", as :func:`names` lists them.

    Raises:
        ArgumentError: when there is no such file.

    Example:
        >>> path("flights/grid.json").name
        'grid.json'
    """
    shipped = names()
    if name not in shipped:
        tables = ", ".join(entry for entry in shipped if entry.endswith(".csv"))
        raise ArgumentError("name", "the name of a shipped file", describe(name), f"Tables: {tables}.")
    return _FOLDER / name
