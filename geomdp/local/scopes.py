"""Names that stay what they are: levels, places and labels that one-yes accounting may compare.

An account that tells two questions apart by comparing names holds only if a name cannot change after it was
compared, and if names that are unequal as values are unequal for every reader. Lists grow, and an object may
answer == as it likes. So names are integers, texts, tuples of names, and paths of trees; all else is refused.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from geomdp.core.errors import ArgumentError, describe
from geomdp.local.hidden_layers import Path, Stretch


def _name(value: Any) -> Hashable:
    kind = type(value)
    if kind is int or kind is str:
        return str(value) if kind is str else int(value)
    if kind is bool or issubclass(kind, np.integer):
        return int(value)
    if kind is tuple:
        return tuple(map(_name, value))
    if kind is Path:
        return Path(tuple(_part(part) for part in value.parts))
    raise TypeError


def _part(part: Any) -> Any:
    if type(part) is Stretch:
        return Stretch(*(_integer(n) for n in (part.key, part.arity, part.start, part.length)))
    if type(part) is not tuple:
        raise TypeError
    return tuple(map(_integer, part))


def _integer(value: Any) -> int:
    name = _name(value)
    if isinstance(name, int):
        return name
    raise TypeError


def frozen_name(value: Any) -> Hashable | None:
    """Return a value as a name of immutable parts, or None if it is none; True and 1 are one name.

    Args:
        value: an integer (also of numpy), a text, a tuple of names, or a
            :class:`~geomdp.local.hidden_layers.Path`; of exactly these types, as a subclass may compare
            itself in another way.

    Example:
        >>> frozen_name((1, "v", (True, np.int64(3)))), frozen_name([1]), frozen_name(1.0)
        ((1, 'v', (1, 3)), None, None)
    """
    try:
        return _name(value)
    except Exception:  # no name, or a value that cannot be looked at; nothing of it is told
        return None


@dataclass(frozen=True)
class Scope:
    """Where a yes/no question points: inputs of level `level` whose label at `place` is `value` say yes.

    Attributes:
        level: an integer; an input has one level.
        place: the vertex (or key) whose label is asked; a name, see :func:`frozen_name`.
        value: the label asked for, a name; an input has one label at each place.

    Raises:
        ArgumentError: when the level is no integer, or place or value no name: two questions could not be
            told apart for good then.

    Example:
        >>> Scope(True, "v", np.int64(7)) == Scope(1, "v", 7)
        True
        >>> try:
        ...     Scope(0, "v", [1])
        ... except ArgumentError as error:
        ...     error.name
        'value'
    """

    level: int
    place: Hashable
    value: Hashable

    def __post_init__(self) -> None:
        level = frozen_name(self.level)
        if not isinstance(level, int):
            raise ArgumentError("level", "an integer", describe(self.level))
        object.__setattr__(self, "level", level)
        for field, given in (("place", self.place), ("value", self.value)):
            name = frozen_name(given)
            if name is None:
                raise ArgumentError(
                    field,
                    "an integer, a text, a Path or a tuple of these",
                    f"a {type(given).__name__}",
                    "A list can change after it was compared: pass tuple(...).",
                )
            object.__setattr__(self, field, name)
