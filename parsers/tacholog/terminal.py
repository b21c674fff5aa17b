"""All output to the terminal, and the signals that come from it.

Hidden and control characters are made visible, so that the terminal never executes them.

Almost every message quotes names, reasons or log lines of strangers. So while a command runs, everything on standard output and standard error is
made safe, including messages of click, Sphinx and Python. Our own control sequences (colours, progress bars) are written by `styled` and `direct`.
Output for programs (CSV, JSON) is changed only if it goes to a terminal, by `data`.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType
from typing import Any, TextIO, cast

import click

from tacholog.visible import drawn, drawn_in_line

_IN, _OUT, _ERR = 0, 1, 2  # the descriptors of the standard streams
_COLUMNS = 80  # the width of a terminal that does not state its width


class _SafeStream:
    """A text stream that makes hidden characters visible."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # if a character cannot be encoded, its number is written

    @property
    def encoding(self) -> str:
        """The encoding of the stream; but UTF-8 if the encoding is ASCII, because click would not use this object for a stream in ASCII."""
        encoding = self.stream.encoding or "utf-8"
        return "utf-8" if encoding.lower() in ("ascii", "us-ascii", "ansi_x3.4-1968", "646") else encoding

    def write(self, text: str) -> int:
        status("")
        self.stream.write(drawn(text))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self.stream, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Make hidden characters visible on standard output and standard error while the block runs.

    If the caller closed a stream (``>&-``), it cannot be read or written, as in other programs. No error is reported, because nobody could see it.
    """
    _take_closed()
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = sys.stdin or _stream(_IN, "r")
    out, err = sys.stdout or _stream(_OUT, "w"), sys.stderr or _stream(_ERR, "w")
    sys.stdout, sys.stderr = (cast("TextIO", _SafeStream(direct(stream))) for stream in (out, err))
    try:
        yield
    finally:
        status("")
        sys.stdin, sys.stdout, sys.stderr = before


def _stream(number: int, mode: str) -> TextIO:
    return cast("TextIO", open(number, mode, closefd=False))


def _take_closed() -> None:
    """Open the null device under the numbers of closed standard streams.

    Otherwise the next opened file would get such a number, and a library would print into this file.
    """
    for number, mode in ((_IN, os.O_WRONLY), (_OUT, os.O_RDONLY), (_ERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # The new descriptor gets the lowest free number.


def leave_if_closed() -> None:
    """Drop all further output to a closed terminal. Writing to it would raise an error that nobody can see."""
    import termios  # not on Windows, which has no such signal

    for number in (_OUT, _ERR):
        try:
            termios.tcgetattr(number)
        except termios.error as problem:
            if problem.args[0] == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def direct(stream: TextIO) -> TextIO:
    """Return the stream behind a guarded stream, for our own control sequences. The caller must make other text safe."""
    return cast("_SafeStream", stream).stream if isinstance(stream, _SafeStream) else stream


def line(text: str, *, err: bool = False) -> None:
    """Print a message of one line. A line end in a name is made visible, because it could start a false message."""
    click.echo(drawn_in_line(text), err=err)


def remark(text: str, *, err: bool = True) -> None:
    """Print a line that is neither a result nor an error, unless the user wants only results and errors."""
    if verbosity() != Verbosity.QUIET:
        line(text, err=err)


class Verbosity(Enum):
    """How much a command prints: only results and errors; also remarks and progress; or also which logs are read."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


_verbosity = [Verbosity.NORMAL]


def verbosity() -> Verbosity:
    """Return how much the command must print."""
    return _verbosity[0]


def set_verbosity(wanted: Verbosity) -> None:
    """Set how much this command prints."""
    _verbosity[0] = wanted


_status = [""]  # the text that is now on the last line of the terminal


def status(text: str) -> None:
    """Show the current activity on the last line of the terminal. The next output replaces this line, and an empty text removes the line.

    Without a terminal, nothing is printed.
    """
    if text == _status[0] or (text and not shows_status()):
        return
    _status[0] = text
    stream = direct(sys.stderr)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    except OSError:
        columns = _COLUMNS
    stream.write(f"\r\x1b[K{drawn_in_line(text)[: columns - 1]}")
    stream.flush()


def shows_status() -> bool:
    """Return whether `status` shows anything: standard error is a terminal that can replace a line, and the user wants progress."""
    return verbosity() != Verbosity.QUIET and direct(sys.stderr).isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, **styles: Any) -> None:  # noqa: ANN401 - as click has them
    """Print a line, in bold, dim or a colour if it goes to a terminal."""
    status("")
    stream = direct(sys.stdout)
    has_colours = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    click.secho(drawn_in_line(text), file=stream, color=has_colours, **styles)


def data(text: str) -> None:
    """Print output for other programs: unchanged and in UTF-8, unless it goes to a terminal."""
    if sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    status("")
    stream = direct(sys.stdout)
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()


_HANGUP = getattr(signal, "SIGHUP", None)  # Windows does not have it.
_ENDS = tuple(number for number in (signal.SIGINT, signal.SIGTERM, _HANGUP) if number is not None)
_USUAL = (signal.SIG_DFL, signal.default_int_handler)
_SHELL = 128  # A shell's exit code is this number plus the number of a signal: 130 is Ctrl-C, 143 SIGTERM, 129 SIGHUP (the terminal was closed).
_received: list[int] = []


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let the signals of `_ENDS` raise KeyboardInterrupt while the block runs. The exit code is that of the first received signal.

    By default, each of them except Ctrl-C ends Python immediately. A signal that the caller ignores, as in the background of a shell or under nohup,
    stays ignored.
    """
    before = {number: signal.getsignal(number) for number in _ENDS} if _is_main() else {}
    caught = [number for number, handler in before.items() if handler in _USUAL]
    _received.clear()
    for number in caught:
        signal.signal(number, _interrupt)
    try:
        yield
    except (SystemExit, KeyboardInterrupt):
        if _received:
            sys.exit(_SHELL + _received[0])
        raise
    finally:
        for number in caught:
            signal.signal(number, before[number])


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()  # Python allows signal handlers only in the main thread.


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as Python calls it
    _received.append(number)
    if number == _HANGUP:
        leave_if_closed()
    raise KeyboardInterrupt
