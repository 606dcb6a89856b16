"""Public numbers from a key: signs for one-bit answers, labels of trees too large to be stored.

A keyed hash gives each place of an immense table its entry when it is asked for. The numbers are public (or
belong to an instance that somebody draws); they protect nobody, and no privacy statement depends on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geomdp.core.errors import ArgumentError, check_integer, describe
from geomdp.local.protocol import Coin

KEY = 2**128


def keyed_integer(bound: int, *parts: int | str | bytes) -> int:
    """Return an integer in 0..bound-1, a fixed function of the parts that looks uniform.

    The parts are hashed with their kinds and lengths, so that different lists never spell the same. Too
    large values are drawn again: no bias.

    Args:
        bound: >= 1, of any size.
        parts: integers >= 0, strings, or bytes.

    Raises:
        ArgumentError: unless ``bound`` is an integer >= 1 and each part an integer >= 0, a text or bytes.

    Example:
        >>> keyed_integer(10, 1, "level") == keyed_integer(10, 1, "level") < 10
        True
        >>> keyed_integer(2**64, 1, 23) == keyed_integer(2**64, 12, 3)
        False
    """
    check_integer("bound", bound, 1)
    bits = (bound - 1).bit_length()
    state = hashlib.shake_256(b"".join(_spell(part) for part in parts))
    size = -(-bits // 8)
    count = 4
    while True:
        stream = state.digest(count * size)
        for i in range(count // 2 if count > 4 else 0, count):
            value = int.from_bytes(stream[i * size : (i + 1) * size], "little") >> (8 * size - bits)
            if value < bound:
                return value
        count *= 2


def _spell(part: int | str | bytes) -> bytes:
    if isinstance(part, int):
        check_integer("parts", int(part), 0)
        kind, body = b"i", part.to_bytes((part.bit_length() + 7) // 8, "little")
    elif isinstance(part, str):
        kind, body = b"s", part.encode()
    elif isinstance(part, bytes):
        kind, body = b"b", part
    else:
        raise ArgumentError("parts", "integers >= 0, texts or bytes", describe(part))
    return kind + len(body).to_bytes(8, "little") + body


@dataclass(frozen=True)
class Signs:
    """Public random bits for each (stage, user): one per candidate; a bit b stands for the sign 2b - 1.

    Args:
        key: of the hash; a protocol tosses it as a public coin with KEY sides, or is given a fixed one.

    Raises:
        ArgumentError: unless ``key`` is an integer >= 0.

    Example:
        >>> signs = Signs(7)
        >>> [signs.row(0, 5, 8) >> c & 1 for c in range(8)] == signs.matrix(0, [5], 8)[0].tolist()
        True
    """

    key: int

    def __post_init__(self) -> None:
        check_integer("key", self.key, 0)

    def row(self, stage: int, user: int, size: int) -> int:
        """Return the bits of a user for all candidates, candidate c at binary place c."""
        return int.from_bytes(self._bytes(stage, user, size), "little") & (1 << size) - 1

    def matrix(self, stage: int, users: Iterable[int], size: int) -> NDArray[np.uint8]:
        """Return the rows of several users, shape (users, size)."""
        rows = [np.frombuffer(self._bytes(stage, user, size), np.uint8) for user in users]
        if not rows:
            return np.zeros((0, size), np.uint8)
        return np.unpackbits(np.stack(rows), axis=1, bitorder="little")[:, :size]

    def scores(self, stage: int, users: Sequence[int], size: int, bits: Sequence[int]) -> list[int]:
        """Return, for each candidate, the number of users whose answer agrees with its sign.

        Twice this, minus the number of users, is the correlation of answers and signs.
        """
        agree = self.matrix(stage, users, size) == np.asarray(bits, np.uint8).reshape(-1, 1)
        return [int(count) for count in agree.sum(axis=0)]

    def _bytes(self, stage: int, user: int, size: int) -> bytes:
        message = b"".join(_spell(part) for part in (self.key, "sign", stage, user))
        return hashlib.shake_256(message).digest(-(-size // 8))


def check_key(key: int | None) -> int | None:
    """Return the key of public signs that a protocol was given, None if it tosses one.

    Raises:
        ArgumentError: unless it is None or an integer >= 0.
    """
    return None if key is None else check_integer("key", key, 0)


def toss_signs(key: int | None) -> Generator[Coin, int, Signs]:
    """Return public signs: of a given key, or of one that is tossed now."""
    if key is None:
        key = yield Coin(KEY)
    return Signs(key)


def elect(scores: Sequence[int]) -> Generator[Coin, int, int]:
    """Return the candidate of largest score; a public coin decides among equals.

    Raises:
        ArgumentError: on no scores.

    Example:
        >>> steps = elect([2, 5, 5])
        >>> next(steps)
        Coin(sides=2, weights=None)
        >>> try:
        ...     steps.send(1)
        ... except StopIteration as stop:
        ...     stop.value
        2
    """
    if not scores:
        raise ArgumentError("scores", "at least one score", "none")
    top = max(scores)
    best = [candidate for candidate, score in enumerate(scores) if score == top]
    return best[0] if len(best) == 1 else best[(yield Coin(len(best)))]
