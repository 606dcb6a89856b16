"""JSON without second readings: values that are equal have equal types, and no key occurs twice.

A proof that is read from a file must say one thing only. Python finds 1 == True == 1.0 and keeps the last of
two equal keys; both would let a file differ from what was proved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from geomdp.core.errors import CertificateError


def same(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal, types included.

    Example:
        >>> same({"a": [1, None]}, {"a": [1, None]}), same(1, True), same([1.0], [1]), same({}, {"a": None})
        (True, False, False, False)
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def difference(given: Any, wanted: Any, path: str = "") -> str:
    """Return where two JSON values differ first, as a path of keys, or "".

    Example:
        >>> difference({"a": {"b": 1}}, {"a": {"b": 2}}), difference({"a": 1, "c": 2}, {"a": 1})
        ('a.b', 'c')
        >>> difference({"a": [1]}, {"a": [1]})
        ''
    """
    if isinstance(given, Mapping) and isinstance(wanted, Mapping):
        for key in [*wanted, *(key for key in given if key not in wanted)]:
            place = f"{path}.{key}" if path else str(key)
            if key not in given or key not in wanted:
                return place
            found = difference(given[key], wanted[key], place)
            if found:
                return found
        return ""
    return "" if same(given, wanted) else path or "the document"


def whole(*values: Any) -> bool:
    """Return whether all values are integers; neither True nor 1.0 is one.

    Example:
        >>> whole(1, -2), whole(True), whole(1, 1.0)
        (True, False, False)
    """
    return all(type(value) is int for value in values)


def listed(value: Any, *, least: int | None = None) -> list[int]:
    """Return a list of integers, all at least the given one, as it is.

    Raises:
        CertificateError: when it is anything else.
    """
    if not isinstance(value, list) or not whole(*value):
        raise CertificateError("Step 'reading': a list of integers is malformed.")
    if least is not None and min(value, default=least) < least:
        raise CertificateError("Step 'reading': an integer is out of range.")
    return value


def keys_of(value: Any, *names: str) -> dict[str, Any]:
    """Return a JSON object that has exactly the given keys.

    Raises:
        CertificateError: naming a key that is missing or one too many.
    """
    if not isinstance(value, Mapping):
        raise CertificateError("Step 'reading': a part is missing or malformed (no object).")
    for name in names:
        if name not in value:
            raise CertificateError(f"Step 'reading': a part is missing or malformed ({name!r}).")
    for name in value:
        if name not in names:
            raise CertificateError(f"Step 'reading': a part is one too many ({str(name)[:40]!r}).")
    return dict(value)


def read_json(text: str) -> Any:
    """Return the value of a JSON text in which no key occurs twice and every number is finite.

    Raises:
        ValueError: when it is no such text.

    Example:
        >>> read_json('{"a": 1}')
        {'a': 1}
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key occurs twice")
        return found

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no number")

    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
