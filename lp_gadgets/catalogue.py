"""The instances that come with the package: parameters, sizes, digests and certified bounds.

Each entry can be built again from its parameters in seconds; what is built must have the digests and bounds
of the entry. The list is a JSON file beside this module, written by ``scripts/data/derive_catalogue.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geomdp.core.errors import ArgumentError, CertificateError, describe

if TYPE_CHECKING:
    from lp_gadgets.instance import HardInstance

#: What an entry is built from: the graph's text, alphabet, copies, embedding, encoding, words or their F.
PARAMETERS = ("code", "q", "J", "L", "embedding", "encoding", "u", "v")


def entries() -> list[dict[str, Any]]:
    """Return the entries of the catalogue.

    Example:
        >>> {"name", "code", "q", "opt_lower", "opt_upper"} <= set(entries()[0])
        True
    """
    return [dict(entry) for entry in _read()]


@cache
def _read() -> tuple[dict[str, Any], ...]:
    text = (Path(__file__).parent / "catalogue.json").read_text(encoding="utf-8")
    return tuple(json.loads(text)["instances"])


def entry(name: str) -> dict[str, Any]:
    """Return one entry.

    Raises:
        ArgumentError: when there is none of that name.
    """
    for found in _read():
        if found["name"] == name:
            return dict(found)
    known = ", ".join(found["name"] for found in _read())
    raise ArgumentError("name", f"one of {known}", describe(name))


def instance(parameters: dict[str, Any]) -> HardInstance:
    """Return the instance of an entry's parameters."""
    from lp_gadgets.instance import HardInstance
    from lp_gadgets.tanner import TannerCode

    return HardInstance(
        TannerCode.from_text(parameters["code"]),
        parameters["q"],
        parameters["J"],
        parameters["L"],
        embedding=parameters["embedding"],
        encoding=parameters["encoding"],
    )


def facts(built: HardInstance, u: Any, v: Any) -> dict[str, Any]:
    """Return what an entry states of an instance and a pair of words; all of it is certified."""
    certificate = built.certify(u, v)
    return {
        "k": built.k,
        "variables": built.program.size.variables,
        "public_rows": built.program.size.rows,
        "d": built.records.d,
        "m": built.records.m,
        "n": built.n,
        "slack": f"1/{built.N}",
        "F": certificate.F,
        "erasure_threshold": certificate.erasure_threshold,
        "opt_lower": certificate.opt_lower,
        "opt_upper": certificate.opt_upper,
        "sha256": {
            "graph": built.code.sha256,
            "public_rows": built.program.public.sha256,
            "pins": built.program.pins.sha256,
        },
    }


def build(name: str, folder: str | Path, progress: Callable[[float], None] | None = None) -> dict[str, Any]:
    """Build an entry again, certify it, compare it with the catalogue and write it to a folder.

    Args:
        name: of the entry.
        folder: where to write.
        progress: told the fraction done, in [0, 1].

    Returns:
        The entry.

    Raises:
        ArgumentError: when there is no such entry, or the folder cannot be written.
        CertificateError: when what was built differs from the entry.
    """
    from lp_gadgets.files import check_target
    from lp_gadgets.folder import save
    from lp_gadgets.stored import FILES

    wanted = entry(name)
    check_target(folder, ("manifest.json", *FILES))
    built = instance(wanted)
    found = facts(built, wanted["u"], wanted["v"])
    for key, value in found.items():
        if wanted[key] != value:
            raise CertificateError(f"Step 'catalogue': {key} of {name} is not that of the catalogue.")
    save(built, wanted["u"], wanted["v"], folder, progress)
    return wanted
