"""Two parties that know each other through frames only."""

from __future__ import annotations

from geomdp.core.errors import ProtocolError


def exchange(alice, bob, tamper=None):
    """Run two sessions against each other; return their results and all frames as (sender, bytes).

    Args:
        alice, bob: sessions, as returned by a tester's `attend`.
        tamper: (number of the frame, sender, bytes) -> the bytes that arrive.
    """
    sessions, frames = {"Alice": alice, "Bob": bob}, []
    waiting, results = {"Alice": [], "Bob": []}, {}
    wanted = {name: next(session) for name, session in sessions.items()}
    while wanted:
        moved = False
        for name in list(wanted):
            other = "Bob" if name == "Alice" else "Alice"
            frame = wanted[name]
            if frame is None and not waiting[name]:
                continue
            moved = True
            try:
                if frame is None:
                    wanted[name] = sessions[name].send(waiting[name].pop(0))
                else:
                    frames.append((name, frame))
                    sent = tamper(len(frames) - 1, name, frame) if tamper else frame
                    waiting[other].append(sent)
                    wanted[name] = next(sessions[name])
            except StopIteration as end:
                results[name] = end.value
                del wanted[name]
        assert moved, "both parties wait"
    return results, frames


def refusal(session, frames):
    """Feed a session frames; return (the refusal's text, the frames that it sent before)."""
    sent, feed = [], iter(frames)
    try:
        wanted = next(session)
        while True:
            if wanted is None:
                wanted = session.send(next(feed))
            else:
                sent.append(wanted)
                wanted = next(session)
    except ProtocolError as error:
        return str(error), sent
    except StopIteration:
        return "", sent
