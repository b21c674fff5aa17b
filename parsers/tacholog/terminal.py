"""The one way to the terminal: what hides in text is drawn, never obeyed.

Names, reasons and lines of logs were written by strangers, and stand in almost every message. So it is not each message that is made safe: standard
output and standard error are, for as long as a command runs, and messages of click, of Sphinx and of Python itself go the same way. What is ours to
command (colours, a bar of progress) goes past that, by `styled` and `direct`. What programs read (CSV, JSON) is drawn only on a terminal, by `data`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import click

from tacholog.visible import drawn, drawn_in_line


class _Drawn:
    """A stream of text that draws what hides in it; all else is the stream's own business."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal of few letters shows the others by their numbers

    @property
    def encoding(self) -> str:
        """Not ASCII, whatever the stream says: click would write past us then."""
        own = self.stream.encoding or "utf-8"
        return "utf-8" if own.lower() in ("ascii", "us-ascii", "ansi_x3.4-1968", "646") else own

    def write(self, text: str) -> int:
        """Write the text, drawn."""
        self.stream.write(drawn(text))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write each of the lines, drawn."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self.stream, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Draw all that is written to standard output and standard error meanwhile."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _Drawn(direct(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def direct(stream: TextIO) -> TextIO:
    """Return the stream behind a guarded one, for our own commands to the terminal: text from outside must have been drawn before."""
    return cast("_Drawn", stream).stream if isinstance(stream, _Drawn) else stream


def line(text: str, *, err: bool = False) -> None:
    """Print a message of one line: a line's end in a name does not begin another, which could say anything."""
    click.echo(drawn_in_line(text), err=err)


def styled(text: str, **styles: Any) -> None:  # noqa: ANN401 - as click has them
    """Print a line in bold, dim or a colour, if a terminal reads it."""
    stream = direct(sys.stdout)
    click.secho(drawn_in_line(text), file=stream, color=stream.isatty(), **styles)


def data(text: str) -> None:
    """Print what other programs read: as it is and in UTF-8, unless a terminal reads it."""
    if sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    stream = direct(sys.stdout)
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()
