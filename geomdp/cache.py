"""A small on-disk cache of public calibration tables; deleting it is always safe.

Entries are numpy arrays of public, data-independent numbers (draws of noise, never of data). The folder
is ``$GEOMDP_CACHE_DIR``, else ``$XDG_CACHE_HOME/geomdp``, else ``~/.cache/geomdp``. An unreadable or
damaged entry is computed again; a folder that cannot be written is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def folder() -> Path:
    """Return the cache's folder; it need not exist."""
    named = os.environ.get("GEOMDP_CACHE_DIR")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "geomdp"


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return a hash of the package's own source: a changed line of code never meets an old table."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def cached(key: Mapping[str, Any], compute: Callable[[], NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the table for a key, computing and storing it on the first call.

    Args:
        key: JSON values that determine the table completely; the code's version is added here.
        compute: makes the table, an int64 array.

    Example:
        >>> import os, tempfile
        >>> from unittest.mock import patch
        >>> with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, GEOMDP_CACHE_DIR=home):
        ...     first = cached({"table": "example"}, lambda: np.arange(3))
        ...     again = cached({"table": "example"}, lambda: np.arange(99))
        >>> again.tolist()
        [0, 1, 2]
    """
    text = json.dumps({**key, "code": code_version()}, sort_keys=True)
    path = folder() / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.npz"
    stored = _load(path, text)
    if stored is not None:
        return stored
    table = np.asarray(compute(), dtype=np.int64)
    with contextlib.suppress(OSError):
        _store(path, text, table)
    return table


def _load(path: Path, text: str) -> NDArray[np.int64] | None:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as entry:
            if str(entry["key"]) != text or entry["table"].dtype != np.int64:
                return None
            return np.asarray(entry["table"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _store(path: Path, text: str, table: NDArray[np.int64]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, key=np.asarray(text), table=table)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
