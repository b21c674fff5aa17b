"""Write the output files that the user requested."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tacholog.errors import TachologError
from tacholog.folders import locked_file


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing. It appears under its name only when it is complete.

    Missing folders are created. A link stays, and its target is written.

    Raises:
        TachologError: the file cannot be written, or another process is writing it; the message names the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # /dev/stdout and similar files are not replaced: the output is written to their target.
        if path.exists() and (not path.is_file() or path.is_symlink()):
            with path.open("wb") as stream:
                yield stream
            return
        part = path.with_name(f".{path.name}.part")
        with locked_file(part, "another process is writing this file; wait until it has finished", path) as stream:
            yield stream
            stream.close()  # the system may report a full disk only when the file is closed
            part.replace(path)
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror or error}") from error


def write_output(path: Path, content: bytes) -> None:
    """Write a file. Missing folders are created.

    Raises:
        TachologError: the file cannot be written; the message names it.
    """
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn an `OSError` into a message that names the file.

    Raises:
        TachologError: the file or its folder cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror or error}") from error
