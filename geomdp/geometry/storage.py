"""Dichotomies on disk: weights and packed labels as two arrays that can be memory-mapped."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from geomdp.core.domain import Domain
from geomdp.core.errors import ArgumentError, describe
from geomdp.geometry.arrangement import Dichotomies
from geomdp.geometry.count import count_dichotomies

_FORMAT = "geomdp dichotomies 1"


def save_dichotomies(dichotomies: Dichotomies, folder: str | Path) -> None:
    """Write an enumeration to a new folder: ``weights.npy``, ``labels.npy``, ``about.json``.

    The folder appears complete or not at all, also when the program is interrupted.

    Args:
        dichotomies: the enumeration; its weights must fit 64 bits.
        folder: a path that does not exist yet.

    Raises:
        ArgumentError: when the folder exists or cannot be made, or the weights are wider than 64 bits.
    """
    target = Path(folder)
    if target.exists():
        raise ArgumentError("folder", "a path that does not exist yet", describe(str(target)))
    if dichotomies.weights.dtype == object:
        raise ArgumentError("dichotomies", "an enumeration with 64-bit weights", "one with wider weights")
    try:
        work = Path(tempfile.mkdtemp(dir=target.parent, prefix=".geomdp-"))
    except OSError:
        raise ArgumentError("folder", "inside a folder that can be written", describe(str(target))) from None
    try:
        np.save(work / "weights.npy", dichotomies.weights)
        np.save(work / "labels.npy", dichotomies.packed)
        about = {
            "format": _FORMAT,
            "domain": dichotomies.domain.fingerprint,
            "count": len(dichotomies),
            "m": dichotomies.domain.m,
            "generic": dichotomies.generic,
        }
        (work / "about.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
        os.rename(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def load_dichotomies(folder: str | Path, domain: Domain, *, memory_map: bool = True) -> Dichotomies:
    """Return an enumeration from disk; with ``memory_map`` only the pages in use are read.

    Args:
        folder: what :func:`save_dichotomies` wrote.
        domain: the domain that was enumerated; it is checked by fingerprint, size and exact count.
        memory_map: map the arrays instead of reading them.

    Raises:
        ArgumentError: when the folder is not a complete enumeration of this domain.

    Example:
        >>> import tempfile
        >>> from geomdp.geometry.arrangement import dichotomies
        >>> D = Domain([[0, 1], [1, 1]])
        >>> with tempfile.TemporaryDirectory() as home:
        ...     save_dichotomies(dichotomies(D), home + "/W")
        ...     again = load_dichotomies(home + "/W", D, memory_map=False)
        >>> len(again)
        4
    """
    path = Path(folder)
    requirement = "a folder that holds an enumeration of this domain"
    try:
        about: Any = json.loads((path / "about.json").read_text(encoding="utf-8"))
        mode: Literal["r"] | None = "r" if memory_map else None
        weights = np.load(path / "weights.npy", mmap_mode=mode, allow_pickle=False)
        labels = np.load(path / "labels.npy", mmap_mode=mode, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise ArgumentError("folder", requirement, describe(str(path))) from None
    shape = (weights.shape, labels.shape, weights.dtype, labels.dtype)
    count = count_dichotomies(domain)
    expected = ((count, domain.d), (count, -(-domain.m // 8)), np.dtype(np.int64), np.dtype(np.uint8))
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise ArgumentError("folder", requirement, describe(str(path)))
    if about.get("domain") != domain.fingerprint or shape != expected:
        raise ArgumentError("folder", requirement, "one of another domain")
    return Dichotomies(domain, weights, labels, bool(about.get("generic")))
