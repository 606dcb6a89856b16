"""Scripts: the public order of a protocol's turns, played by both parties at once or by each on its own.

A script is a generator. It yields turns, receives each turn's message, and returns what the transcript says.
Between the turns it computes on public values only, so both parties run the same script and agree on whose
turn it is and on what the next message must look like. Records are touched in a turn's `act` alone, by the
party whose turn it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from geomdp.core.errors import ProtocolError
from geomdp.protocol.channel import Channel
from geomdp.protocol.party import Party
from geomdp.protocol.schema import Schema
from geomdp.protocol.transcript import Message, Transcript

Result = TypeVar("Result")


@dataclass(frozen=True)
class Turn:
    """One message to come.

    Attributes:
        sender: whose turn it is.
        schema: what the message must look like; public.
        act: lets the sender's party append the message to the transcript.

    Example:
        >>> from fractions import Fraction
        >>> from geomdp.protocol.schema import Integer, Schema
        >>> from geomdp.protocol.transcript import Message
        >>> schema = Schema("count", {"value": Integer(-9, 9)}, Fraction(1))
        >>> turn = Turn("Alice", schema, lambda party: party.count())
        >>> turn.schema.fits(Message("Alice", "count", {"value": 9}, Fraction(1)), turn.sender)
        True
    """

    sender: str
    schema: Schema
    act: Callable[[Any], object]


#: Turns out, messages in, a result at the end.
Script = Generator[Turn, Message, Result]
#: Frames to send, or None where one is awaited; awaited frames in; a result at the end.
Session = Generator[bytes | None, bytes | None, Result]


def play(script: Script[Result], parties: Mapping[str, Party], transcript: Transcript) -> Result:
    """Play both parties in one process.

    Raises:
        ProtocolError: when a party's message does not fit its schema.
    """
    message: Message | None = None
    while True:
        try:
            turn = next(script) if message is None else script.send(message)
        except StopIteration as end:
            result: Result = end.value
            return result
        message = _own(turn, parties[turn.sender], transcript)
        turn.schema.check(message, turn.sender)


def attend(script: Script[Result], party: Party, transcript: Transcript, channel: Channel) -> Session[Result]:
    """Play one party against foreign frames, without any input or output of its own.

    The session yields a frame that must be sent, or None where the counterpart's next frame must be sent in.
    A foreign message enters the transcript only after the channel and the turn's schema have accepted it.

    Privacy note. What the counterpart sees is the sequence of this party's frames. Their order, number and
    sizes are public functions of the messages before; each payload is a release of the party, charged to its
    budget before its noise is drawn. A refusal is a function of the counterpart's frame and of public
    numbers. So a counterpart that deviates in any way sees a prefix of what the audited party may send, at
    the price that the budget shows.

    Raises:
        ProtocolError: when a foreign frame is refused; the party's budget then holds exactly what was charged
            for its own messages so far, and nothing more is sent.
    """
    yield channel.hello()
    channel.meet(_frame((yield None)))
    message: Message | None = None
    while True:
        try:
            turn = next(script) if message is None else script.send(message)
        except StopIteration as end:
            channel.close()
            result: Result = end.value
            return result
        if turn.sender == party.name:
            message = _own(turn, party, transcript)
            yield channel.seal(message, turn.schema)
        else:
            message = channel.open(_frame((yield None)), turn.schema)
            transcript.append(message)


def drive(session: Session[Result], send: Callable[[bytes], object], receive: Callable[[], bytes]) -> Result:
    """Run a session over a transport, e.g. a socket's or a file's two functions.

    Example:
        >>> def echo():
        ...     frame = yield None
        ...     yield frame
        ...     return len(frame)
        >>> sent = []
        >>> drive(echo(), sent.append, lambda: b"abc"), sent
        (3, [b'abc'])
    """
    try:
        wanted = next(session)
        while True:
            if wanted is None:
                wanted = session.send(receive())
            else:
                send(wanted)
                wanted = next(session)
    except StopIteration as end:
        result: Result = end.value
        return result


def _own(turn: Turn, party: Party, transcript: Transcript) -> Message:
    before = len(transcript.messages)
    turn.act(party)
    if len(transcript.messages) != before + 1:
        raise ProtocolError(f"A turn of '{turn.schema.kind}' must append exactly one message.")
    return transcript.messages[-1]


def _frame(frame: bytes | None) -> bytes:
    return b"" if frame is None else frame
