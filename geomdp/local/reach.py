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
_BYTES = 1 << 16  # of an array that is compared
_FIXED = (int, float, complex, str, bytes, Fraction, np.generic, type(None), *_OPAQUE)
_OURS = ("geomdp", "numpy")


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
        if (value.__module__ or "").partition(".")[0] not in _OURS:
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


class Snapshot:
    """What the found objects held at one time: entries, attributes, variables of closures, globals.

    Args:
        found: objects, e.g. those that :func:`reachable` yields.

    Example:
        >>> box = {"last": 0}
        >>> before = Snapshot([box])
        >>> box["last"] = 1
        >>> before.changed()
        True
    """

    def __init__(self, found: Iterable[Any]) -> None:
        self._kept = [(item, _state(item)) for item in found if not isinstance(item, _FIXED)]

    def changed(self) -> bool:
        """Return whether one of the objects holds something else now: another number, or another object."""
        return any(not _alike(state, _state(item)) for item, state in self._kept)


def _state(item: Any) -> tuple[Any, ...]:
    """Return what an object holds, the objects themselves; the bytes of an array of at most 64 KiB."""
    if isinstance(item, np.ndarray):
        return (item.tobytes(),) if item.nbytes <= _BYTES and not item.dtype.hasobject else ()
    if isinstance(item, type):
        ours = item.__module__.partition(".")[0] in _OURS or not item.__flags__ & _HEAP
        return () if ours else tuple(vars(item).values())
    if isinstance(item, bytearray):
        return (bytes(item[:_BYTES]),)
    if isinstance(item, Mapping) and not isinstance(item, dict):  # may make its entries anew each time
        return ()
    size = (len(item),) if isinstance(item, (list, dict, set, deque)) else ()
    return (*size, *_held(item))


def _alike(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    if len(first) != len(second):
        return False
    pairs = zip(first, second, strict=True)
    return all(a is b or (type(a) is type(b) and isinstance(a, (int, bytes)) and a == b) for a, b in pairs)
