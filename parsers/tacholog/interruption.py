"""Ctrl-C, SIGTERM and a closed terminal end a command in the same way: it removes what is half-written, and its exit code says which it was."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tacholog import terminal

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_USUAL = (signal.SIG_DFL, signal.default_int_handler)
_SHELL = 128  # Shells add it to the number of a signal: 130 is Ctrl-C, 143 is SIGTERM, 129 is SIGHUP, of a terminal that was closed.
_received: list[int] = []


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let these signals raise KeyboardInterrupt while the block runs, and turn its exit code into that of the first of them.

    By default, all but Ctrl-C end Python at once. A signal that the caller ignores, as in the background of a shell or under nohup, stays ignored.
    """
    before = {number: signal.getsignal(number) for number in _ENDS} if _is_main() else {}
    taken = [number for number, handler in before.items() if handler in _USUAL]
    _received.clear()
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    except (SystemExit, KeyboardInterrupt):
        if _received:
            sys.exit(_SHELL + _received[0])
        raise
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()  # Python sets handlers only there.


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as Python calls it
    _received.append(number)
    if number == signal.SIGHUP:
        terminal.leave_if_closed()
    raise KeyboardInterrupt
