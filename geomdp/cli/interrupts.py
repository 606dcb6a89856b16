"""Ctrl-C: one sentence that says what is left behind, and exit code 130, whenever it comes.

The first Ctrl-C raises KeyboardInterrupt where the program stands. It is remembered as well, since a library
in the middle of its own import may turn it into another error, or drop it where errors cannot be raised (in a
callback or a destructor); a dropped one is sent again. When the command has ended, its result is complete and
there is nothing left to interrupt: from then on Ctrl-C is ignored.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

#: Seconds after which a dropped Ctrl-C is sent again.
AGAIN = 0.05

_pressed: list[bool] = []
_left: list[str] = []


def heard() -> bool:
    """Return True if Ctrl-C was pressed in this command."""
    return bool(_pressed)


def remains(text: str) -> None:
    """Note what a command has left behind, for the sentence about an interruption.

    Example:
        >>> with watched():
        ...     remains("a.json is complete")
        ...     sentence()
        'interrupted; a.json is complete'
    """
    if text not in _left:
        _left.append(text)


def sentence() -> str:
    """Return what an interruption leaves behind, in one sentence."""
    return "interrupted; " + (", and ".join(_left) or "nothing was written")


def say(text: str) -> None:
    """Write to stderr, if there is one: a message that nobody can read is no reason to fail otherwise."""
    with contextlib.suppress(AttributeError, OSError):
        sys.stderr.write(text)


def leave() -> NoReturn:
    """End with the sentence and exit code 130."""
    say(f"geomdp: {sentence()}\n")
    sys.exit(130)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Watch for Ctrl-C during one command; outside the main thread signals cannot be handled."""
    _pressed.clear()
    _left.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    try:
        signal.signal(signal.SIGINT, _press)
        sys.unraisablehook = _again
        atexit.unregister(_ignore)
        atexit.register(_ignore)
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, before)


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _press(number: int, frame: Any) -> None:
    del number, frame
    _pressed.append(True)
    raise KeyboardInterrupt


def _again(unraisable: sys.UnraisableHookArgs) -> None:
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    timer = threading.Timer(AGAIN, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
