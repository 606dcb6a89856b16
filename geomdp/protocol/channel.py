"""Frames between two parties that do not share a process: fixed sizes, a hash chain, and no second chance.

Each frame is canonical JSON, padded to a length that the public schema fixes, so that neither the size nor
the form of a frame depends on private data. A frame states its index and the digest of all frames before it;
a frame that is replayed, late, early, altered or from another run does not continue the chain. The first
frames are both parties' hellos with the public parameters of the run, the domain's fingerprint among them.

The channel protects the accounts and the records of its owner, not the verdict: a counterpart may lie about
its own data within the schemas, and change the outcome. It is no encryption either; run it over TLS.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

from geomdp.core.errors import ArgumentError, ProtocolError, describe
from geomdp.protocol.schema import Schema
from geomdp.protocol.transcript import PARTIES, Message

PROTOCOL = "geomdp/1"
#: Length of a hello.
HELLO_SIZE = 16384
#: Room for all of a frame but its payload: index, digest, kind, privacy loss.
ENVELOPE = 1024


class Channel:
    """One end of a two-party run: turns messages into frames and back.

    Any refusal closes the channel for good: what follows a broken frame is refused as well.

    Args:
        name: the owner, "Alice" or "Bob".
        parameters: the public parameters of the run; both ends must state the same.

    Raises:
        ArgumentError: unless ``name`` is 'Alice' or 'Bob'.

    Example:
        >>> from geomdp.protocol.schema import Integer
        >>> alice, bob = Channel("Alice", {"epsilon": "1"}), Channel("Bob", {"epsilon": "1"})
        >>> alice.meet(bob.hello()), bob.meet(alice.hello())
        (None, None)
        >>> schema = Schema("count", {"value": Integer(0, 99)}, Fraction(1))
        >>> frame = alice.seal(Message("Alice", "count", {"value": 7}, Fraction(1)), schema)
        >>> bob.open(frame, schema).payload["value"]
        7
        >>> bob.digest == alice.digest
        True
    """

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        if name not in PARTIES:
            raise ArgumentError("name", "'Alice' or 'Bob'", describe(name))
        self.name = name
        self.other = PARTIES[1 - PARTIES.index(name)]
        self.parameters = dict(parameters)
        self.index = 0
        self.digest = ""
        self._closed = ""

    def hello(self) -> bytes:
        """Return the first frame: protocol, name and parameters."""
        return self._padded(
            {"protocol": PROTOCOL, "party": self.name, "parameters": self.parameters}, HELLO_SIZE
        )

    def meet(self, frame: bytes) -> None:
        """Read the counterpart's hello.

        Raises:
            ProtocolError: on another protocol, the wrong party, or parameters that differ between the two
                ends, such as another domain, epsilon or number of records; the message names them.
        """
        self._check_open()
        if self.digest:
            self._refuse("A hello must come once, before all messages.")
        told = self._parse(frame, HELLO_SIZE, ("protocol", "party", "parameters"))
        if told["protocol"] != PROTOCOL:
            self._refuse(f"Both parties must speak {PROTOCOL}.")
        if told["party"] != self.other:
            self._refuse(f"The counterpart must be {self.other}.")
        mine, theirs = _canonical(self.parameters), told["parameters"]
        if not isinstance(theirs, dict):
            self._refuse("A hello must hold the public parameters.")
        if _canonical(theirs) != mine:
            listed = [repr(k) for k in sorted(self.parameters) if _differ(k, self.parameters, theirs)]
            shown = ", ".join(listed) or "ones that this party does not know"
            self._refuse(f"Both parties must plan the same run; the parameters that differ: {shown}.")
        self.digest = _digest("", mine.encode())

    def seal(self, message: Message, schema: Schema) -> bytes:
        """Return the frame of an own message and continue the chain.

        Raises:
            ProtocolError: when the message does not fit the schema, or the channel is closed.
        """
        self._check_open(met=True)
        schema.check(message, self.name)
        envelope = {"index": self.index, "previous": self.digest, "message": message.to_dict()}
        frame = self._padded(envelope, schema.size + ENVELOPE)
        self._continue(frame)
        return frame

    def open(self, frame: bytes, schema: Schema) -> Message:
        """Return the counterpart's message from a frame and continue the chain.

        Raises:
            ProtocolError: when the frame is malformed, out of order or from another run, or its message does
                not fit the schema; the channel is closed then.
        """
        self._check_open(met=True)
        told = self._parse(frame, schema.size + ENVELOPE, ("index", "previous", "message"))
        if type(told["index"]) is not int or told["index"] != self.index:
            self._refuse(f"The next frame must have the index {self.index}: one was replayed, lost or late.")
        if told["previous"] != self.digest:
            self._refuse("A frame must continue the frames before it: the two transcripts differ.")
        message = self._message(told["message"])
        try:
            schema.check(message, self.other)
        except ProtocolError as error:
            self._refuse(str(error))
        self._continue(frame)
        return message

    def close(self) -> None:
        """Refuse all frames from now on: the run is over."""
        self._closed = self._closed or "The run is over."

    def _message(self, told: object) -> Message:
        if not isinstance(told, dict) or set(told) != {"sender", "kind", "payload", "epsilon"}:
            self._refuse("A frame must hold a message: sender, kind, payload and epsilon.")
        sender, kind, payload, epsilon = (told[k] for k in ("sender", "kind", "payload", "epsilon"))
        if not (isinstance(sender, str) and isinstance(kind, str) and isinstance(payload, dict)):
            self._refuse("A message's sender and kind must be text, its payload an object.")
        return Message(sender, kind, payload, self._loss(epsilon))

    def _loss(self, text: object) -> Fraction:
        if not isinstance(text, str) or len(text) > 200 or not set(text) <= set("0123456789/"):
            self._refuse("A message must state its privacy loss as a fraction.")
        try:
            value = Fraction(text)
        except (ValueError, ZeroDivisionError):
            self._refuse("A message must state its privacy loss as a fraction.")
        if str(value) != text:
            self._refuse("A message must state its privacy loss in lowest terms.")
        return value

    def _parse(self, frame: object, size: int, keys: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(frame, (bytes, bytearray)) or len(frame) != size:
            self._refuse(f"The next frame must have exactly {size} bytes.")
        try:
            told = json.loads(
                bytes(frame).decode("utf-8"),
                object_pairs_hook=_object,
                parse_float=_no_number,
                parse_constant=_no_number,
            )
        except (ValueError, RecursionError):  # decoding errors are ValueErrors, too
            self._refuse("A frame must be JSON in UTF-8 with integers only and no repeated key.")
        if not isinstance(told, dict) or set(told) != set(keys):
            self._refuse("A frame must be a JSON object that holds " + ", ".join(keys) + ".")
        return told

    def _padded(self, content: Mapping[str, Any], size: int) -> bytes:
        text = _canonical(content).encode()
        if len(text) > size:
            raise ProtocolError(f"A frame of {size} bytes cannot hold the message.")
        return text + b" " * (size - len(text))

    def _continue(self, frame: bytes) -> None:
        self.digest = _digest(self.digest, bytes(frame))
        self.index += 1

    def _check_open(self, *, met: bool = False) -> None:
        if self._closed:
            raise ProtocolError(f"The channel is closed: {self._closed}")
        if met and not self.digest:
            raise ProtocolError("Both parties must say hello before the first message.")

    def _refuse(self, text: str) -> NoReturn:
        self._closed = text
        raise ProtocolError(text) from None


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _digest(previous: str, frame: bytes) -> str:
    return hashlib.sha256(previous.encode() + b"\n" + frame).hexdigest()


def _differ(key: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    return key not in theirs or _canonical({"": mine[key]}) != _canonical({"": theirs[key]})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("repeated key")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)
