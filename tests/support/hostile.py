"""A counterpart that sends what it likes: messages at the ends of their schemas, and altered frames."""

from __future__ import annotations

import json

from geomdp.core.errors import ProtocolError
from geomdp.protocol.channel import Channel
from geomdp.protocol.schema import Integer
from geomdp.protocol.script import Turn
from geomdp.protocol.transcript import Message, Transcript

#: Entry i of a hostile list.
MODES = {
    "all high": lambda entry, i: entry.high,
    "all low": lambda entry, i: entry.low,
    "alternating": lambda entry, i: (entry.low, entry.high)[i % 2],
}


def hostile(turn: Turn, mode) -> Message:
    """Return the message at one end of a turn's schema."""
    schema, payload = turn.schema, {}
    for key, entry in schema.entries.items():
        whole = isinstance(entry, Integer)
        payload[key] = mode(entry, 0) if whole else [mode(entry, i) for i in range(entry.length)]
    price = schema.epsilon(payload) if callable(schema.epsilon) else schema.epsilon
    return Message(turn.sender, schema.kind, payload, price)


def edited(frame: bytes, edit) -> bytes:
    """Return a frame whose content has been changed, at its old size."""
    told = json.loads(frame)
    text = edit(told)
    text = json.dumps(told) if text is None else text
    return text.encode()[: len(frame)].ljust(len(frame))


def confront(tester, victim, sample, sampler, mode, edit=None, at=0):
    """Run a party's session against a counterpart that knows the script and has no records.

    The counterpart continues the chain honestly and sends hostile messages; its message number `at` is
    altered by `edit`.

    Returns:
        (frames, refusal): all frames that the victim sent, and the text of its refusal, "" if there is none.
    """
    transcript = Transcript(tester.opening())
    channel = Channel({"Alice": "Bob", "Bob": "Alice"}[victim], transcript.parameters)
    script, frames, told = tester.script(transcript), [], 0
    session = tester.attend(victim, sample, sampler)
    try:
        frames.append(next(session))
        channel.meet(frames[0])
        wanted, turn = next(session), next(script)
        assert wanted is None
        answer = channel.hello()
        while True:
            wanted = next(session) if answer is None else session.send(answer)
            if wanted is None:
                message = hostile(turn, mode)
                answer = channel.seal(message, turn.schema)
                answer = edited(answer, edit) if edit is not None and told == at else answer
                told += 1
            else:
                frames.append(wanted)
                message, answer = channel.open(wanted, turn.schema), None
            transcript.append(message)
            turn = _next(script, message)
    except StopIteration:
        return tuple(frames), ""
    except ProtocolError as error:
        return tuple(frames), str(error)


def _next(script, message):
    try:
        return script.send(message)
    except StopIteration:
        return None
