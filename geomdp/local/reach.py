"""What a function can reach: a net for protocols and statistics that hold data which they must not see."""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_DEPTH = 6
_WIDTH = 256  # entries of one container that are looked at
_MOST = 5000  # objects that are looked at
_LEAVES = (int, float, complex, str, bytes, Fraction, np.generic, np.ndarray, type(None), type)
_OPAQUE = (ModuleType, BuiltinFunctionType, CodeType)
_HEAP = 1 << 9  # flag of classes that are defined in Python
_STORES = (list, dict, set, deque, bytearray)


def reachable(value: Any) -> Iterator[Any]:
    """Yield the value and what it holds, each object once, nearest first.

    Followed are closures, defaults, the globals that a function names, partial arguments, bound objects,
    attributes, and the entries of dicts, lists, tuples, sets and deques: six steps deep, 256 entries of a
    container, 5,000 objects. Not followed: generators and other iterators, copies, weak references, what an
    import or a C extension holds, and the globals of numpy's and of this package's functions.

    Example:
        >>> rows = [1, 2]
        >>> box = {"kept": (rows,)}
        >>> any(found is rows for found in reachable([box]))
        True
    """
    seen: dict[int, Any] = {}
    layer = [value]
    for _ in range(_DEPTH + 1):
        following: list[Any] = []
        for item in layer:
            if id(item) in seen:
                continue
            if len(seen) >= _MOST:
                return
            seen[id(item)] = item
            yield item
            if not isinstance(item, (*_LEAVES, *_OPAQUE)):
                following += islice(_held(item), _WIDTH)
        layer = following


def _held(value: Any) -> Iterator[Any]:
    """Yield what one object holds."""
    if isinstance(value, FunctionType):
        yield from _contents(value)
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        if (value.__module__ or "").partition(".")[0] not in ("geomdp", "numpy"):
            yield from (
                value.__globals__[name] for name in names(value.__code__) if name in value.__globals__
            )
    elif isinstance(value, MethodType):
        yield value.__func__
        yield value.__self__
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, Mapping):
        yield from islice(_safely(value.values), _WIDTH)
        yield from islice(_safely(value.keys), _WIDTH)
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from list(islice(value, _WIDTH))
    yield from _attributes(value)


def _attributes(value: Any) -> Iterator[Any]:
    """Yield an object's attributes, without running any code of its class."""
    with contextlib.suppress(AttributeError):
        yield from list(islice(object.__getattribute__(value, "__dict__").values(), _WIDTH))
    for owner in type(value).__mro__:
        if not owner.__flags__ & _HEAP:  # the slots of functions lead to whole modules
            continue
        for slot in owner.__dict__.values():
            if type(slot).__name__ == "member_descriptor":
                try:
                    yield slot.__get__(value, owner)
                except (AttributeError, TypeError):
                    continue
        if "__call__" in owner.__dict__ and owner is not object:
            yield owner.__dict__["__call__"]


def _safely(entries: Any) -> Iterable[Any]:
    try:
        return list(islice(entries(), _WIDTH))
    except Exception:  # a mapping of somebody's own
        return ()


def _contents(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue


def names(code: CodeType) -> set[str]:
    """Return the global names that a function and the functions inside it use."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*(names(part) for part in inner))


def stores(found: Iterable[Any]) -> list[tuple[Any, int]]:
    """Return the containers among the objects that could be written to, each with its length."""
    return [(item, len(item)) for item in found if isinstance(item, _STORES)]
