"""Messages of one role to everybody, sent by cohorts of fresh users under public random signs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from fractions import Fraction
from typing import Any

from geomdp.core.errors import check_integer
from geomdp.local.hidden_layers import Path, label_of, level_of
from geomdp.local.kernels import RandomisedResponse
from geomdp.local.protocol import Ask, Coin
from geomdp.local.signs import Signs, elect

#: Input of a user of the right role -> message in 0..size-1.
Message = Callable[[Any], int]


def bits_of(size: int) -> int:
    """Return the number of bits of a message in 0..size-1."""
    return (check_integer("size", size, 1) - 1).bit_length()


def ask_coded(
    signs: Signs, stage: int, users: range, *, size: int, role: str, message: Message, ratio: Fraction
) -> Generator[Ask | Coin, Any, int]:
    """Ask a cohort for a message by random signs, and return the value that agrees most."""
    rows = {user: signs.row(stage, user, size) for user in users}

    def kernel(user: int) -> RandomisedResponse:
        row = rows[user]
        return RandomisedResponse(ratio, lambda x: row >> message(x) & 1 if x[0] == role else None)

    bits = yield Ask.each(users, kernel)
    return (yield from elect(signs.scores(stage, users, size, bits)))


def takes_edge(x: Any, path: Path) -> bool:
    """Return whether a path takes a user's edge; False if it ends above the user's layer."""
    level = level_of(x)
    return level < path.length and path.child(level) == label_of(x, path.prefix(level))


def first_taking(paths: list[Path]) -> Message:
    """Return the message: which path is the first to take the user's edge; 0 if none does."""
    return lambda x: next((i for i, path in enumerate(paths) if takes_edge(x, path)), 0)
