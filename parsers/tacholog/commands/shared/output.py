"""Write the files that the user asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tacholog import terminal
from tacholog.errors import TachologError
from tacholog.folders import locked_file


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open the file that the user asked for, for writing. It appears under its name when it is whole. Missing folders are created.

    Raises:
        TachologError: the file cannot be written, or another process writes it now; the message names it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # /dev/stdout stays what it is.
            with path.open("wb") as stream:
                yield stream
            return
        part = path.with_name(f".{path.name}.part")
        with locked_file(part, "another process writes this file now; wait until it has ended", path) as stream:
            yield stream
            stream.close()  # A full disk may be noticed only then.
            part.replace(path)
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror or error}") from error


@contextmanager
def text_output() -> Iterator[BinaryIO]:
    """Return standard output as a file for data that is text."""
    yield cast("BinaryIO", _Text())


class _Text:
    def write(self, content: bytes) -> int:
        terminal.data(content.decode())
        return len(content)


def write_output(path: Path, content: bytes) -> None:
    """Write the file that the user asked for. Missing folders are created.

    Raises:
        TachologError: the file cannot be written; the message names it.
    """
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Name the file that the user asked for, if it or its folder cannot be written.

    Raises:
        TachologError: as said.
    """
    try:
        yield
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror or error}") from error
