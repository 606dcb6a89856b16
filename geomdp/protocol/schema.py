"""Public schemas: what a message must look like, decided from public facts before it is received.

A party reads a counterpart's message only after :meth:`Schema.check` has accepted it. Whether it is accepted
depends on the message and on public numbers alone, never on the reader's records: a refusal tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geomdp.core.errors import CapacityError, ProtocolError, check_integer
from geomdp.protocol.transcript import Message

#: Longest integer, in decimal digits, that a frame can hold.
MAX_DIGITS = 4000


def _digits(value: int) -> int:
    """Return an upper bound on the number of decimal digits, and of the sign."""
    return abs(value).bit_length() * 30103 // 100000 + 2


@dataclass(frozen=True)
class Integer:
    """One integer between `low` and `high`.

    Example:
        >>> [Integer(0, 3).accepts(v) for v in (0, 3, 4, -1, True, 1.0, "1", None)]
        [True, True, False, False, False, False, False, False]
    """

    low: int
    high: int

    def accepts(self, value: object) -> bool:
        """Return whether a value is such an integer; True and 1.0 are not."""
        return type(value) is int and self.low <= value <= self.high

    @property
    def size(self) -> int:
        """Most characters that a value takes."""
        return max(_digits(self.low), _digits(self.high))

    def __str__(self) -> str:
        if self.low == self.high:
            return f"the integer {_short(self.low)}"
        return f"an integer from {_short(self.low)} to {_short(self.high)}"


@dataclass(frozen=True)
class Integers:
    """A list of exactly `length` integers between `low` and `high`.

    Example:
        >>> Integers(2, -1, 1).accepts([0, 1]), Integers(2, -1, 1).accepts([0]), Integers(1, 0, 9).accepts(3)
        (True, False, False)
    """

    length: int
    low: int
    high: int

    def accepts(self, value: object) -> bool:
        """Return whether a value is such a list."""
        if not isinstance(value, list) or len(value) != self.length:
            return False
        return all(type(v) is int and self.low <= v <= self.high for v in value)

    @property
    def size(self) -> int:
        """Most characters that a value takes."""
        return 2 + self.length * (1 + max(_digits(self.low), _digits(self.high)))

    def __str__(self) -> str:
        return f"a list of {self.length} integers from {_short(self.low)} to {_short(self.high)}"


def symmetric(length: int, bound: int) -> Integers:
    """Return the schema of `length` integers of size at most `bound`.

    Args:
        length: number of integers.
        bound: largest size of one, >= 0.

    Returns:
        The schema of such a list.

    Raises:
        ArgumentError: unless ``length`` is an integer >= 0.

    Example:
        >>> symmetric(2, 5).accepts([-5, 5]), symmetric(2, 5).accepts([0, 6])
        (True, False)
    """
    return Integers(check_integer("length", length, 0), -bound, bound)


def _short(value: int) -> str:
    size = abs(value)
    if size < 10**6:
        return str(value)
    power = (size + 1).bit_length() - 1
    near = f"2^{power}" + ("" if size == 1 << power else " - 1" if size + 1 == 1 << power else " or so")
    return f"-{near}" if value < 0 else near


@dataclass(frozen=True)
class Schema:
    """The public form of one message.

    Attributes:
        kind: the message's kind.
        entries: payload key -> what it must hold; no other key may be there.
        epsilon: the privacy loss that its sender must state; a function of the payload where the price of a
            choice depends on what was chosen.
        menu: for a choice from a public menu: payload -> whether it is on it.

    Example:
        >>> schema = Schema("count", {"value": Integer(-9, 9)}, Fraction(1, 2))
        >>> schema.check(Message("Bob", "count", {"value": 3}, Fraction(1, 2)), "Bob")
        >>> schema.fits(Message("Bob", "count", {"value": 10}, Fraction(1, 2)), "Bob")
        False
    """

    kind: str
    entries: Mapping[str, Integer | Integers]
    epsilon: Fraction | Callable[[Mapping[str, Any]], Fraction]
    menu: Callable[[Mapping[str, Any]], bool] | None = None

    def check(self, message: Message, sender: str) -> None:
        """Accept a message of the sender whose turn it is, or raise.

        Raises:
            ProtocolError: naming the first rule that is broken, in public terms; the value is not repeated.
        """
        if message.sender != sender:
            raise ProtocolError(f"A message '{self.kind}' must come from {sender}.")
        if message.kind != self.kind:
            raise ProtocolError(f"The next message must be '{self.kind}' from {sender}.")
        if set(message.payload) != set(self.entries):
            held = ", ".join(map(repr, self.entries))
            raise ProtocolError(f"Message '{self.kind}' must hold exactly: {held}.")
        for key, entry in self.entries.items():
            if not entry.accepts(message.payload[key]):
                raise ProtocolError(f"Message '{self.kind}' must hold '{key}': {entry}.")
        if self.menu is not None and not self.menu(message.payload):
            raise ProtocolError(f"Message '{self.kind}' must name a member of the public menu.")
        price = self.epsilon(message.payload) if callable(self.epsilon) else self.epsilon
        if message.epsilon != price:
            raise ProtocolError(f"Message '{self.kind}' must state a privacy loss of {price}.")

    def fits(self, message: Message, sender: str) -> bool:
        """Return whether :meth:`check` accepts a message of a sender."""
        try:
            self.check(message, sender)
        except ProtocolError:
            return False
        return True

    @property
    def size(self) -> int:
        """Characters that always suffice for the payload: a public number.

        Raises:
            CapacityError: when an integer could have more than MAX_DIGITS digits.
        """
        for entry in self.entries.values():
            if max(_digits(entry.low), _digits(entry.high)) > MAX_DIGITS:
                raise CapacityError(
                    "domain", f"one whose ranks have at most {MAX_DIGITS} digits in a frame", "a larger one"
                )
        return sum(len(key) + 4 + entry.size for key, entry in self.entries.items())
