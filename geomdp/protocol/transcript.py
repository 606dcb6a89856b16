"""Messages and the transcript: all that one party ever sees of the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from geomdp.core.errors import ProtocolError

#: The two parties, in the order in which they speak first.
PARTIES = ("Alice", "Bob")
#: A trusted third party that sees both samples; its releases cost every party.
CURATOR = "Curator"


@dataclass(frozen=True)
class Message:
    """One released value.

    Attributes:
        sender: "Alice" or "Bob"; "Curator" in the reference protocol with a trusted third party.
        kind: what the payload is, e.g. "noisy histogram".
        payload: JSON values only (integers, lists of integers, text); its size is public.
        epsilon: the privacy loss that this release costs its sender.
    """

    sender: str
    kind: str
    payload: Mapping[str, Any]
    epsilon: Fraction

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object; epsilon is exact text such as "7/10"."""
        return {
            "sender": self.sender,
            "kind": self.kind,
            "payload": dict(self.payload),
            "epsilon": str(self.epsilon),
        }


@dataclass
class Transcript:
    """The public record of one run: its parameters, then every message in order.

    Attributes:
        parameters: public facts fixed before any data is touched (JSON values).
        messages: the messages so far.

    Example:
        >>> t = Transcript({"epsilon": "1"})
        >>> t.append(Message("Alice", "count", {"value": 3}, Fraction(1, 2)))
        >>> (t.spent("Alice"), t.spent("Bob"), t.last("count").payload["value"])
        (Fraction(1, 2), Fraction(0, 1), 3)
    """

    parameters: Mapping[str, Any]
    messages: list[Message] = field(default_factory=list)

    def append(self, message: Message) -> None:
        """Add a message.

        Raises:
            ProtocolError: when the sender is neither a party nor the curator, or the cost is negative.
        """
        if message.sender not in (*PARTIES, CURATOR):
            raise ProtocolError(f"A message must come from Alice, Bob or Curator, not {message.sender!r}.")
        if message.epsilon < 0:
            raise ProtocolError("A message must cost a privacy loss >= 0.")
        self.messages.append(message)

    def spent(self, party: str) -> Fraction:
        """Return the exact sum of the privacy losses of a party's messages, and of the curator's."""
        return sum((m.epsilon for m in self.messages if m.sender in (party, CURATOR)), Fraction(0))

    def last(self, kind: str) -> Message:
        """Return the latest message of a kind.

        Raises:
            ProtocolError: when there is none.
        """
        for message in reversed(self.messages):
            if message.kind == kind:
                return message
        raise ProtocolError(f"The transcript holds no message of kind {kind!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Return the whole record as one JSON object."""
        return {"parameters": dict(self.parameters), "messages": [m.to_dict() for m in self.messages]}
