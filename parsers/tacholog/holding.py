"""Hold a folder or a file, so that no other process works in it at the same time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tacholog.errors import TachologError


@contextmanager
def held(folder: Path, taken: str) -> Iterator[None]:
    """Hold a folder that exists. The kernel lets go of it when the process ends, however it ends.

    Args:
        folder: what is held; a process that does not ask for it is not kept from it.
        taken: what the error says if another process holds it.

    Raises:
        TachologError: another process holds it now.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TachologError(f"{folder}: {taken}") from error
        yield
    finally:
        os.close(lock)


@contextmanager
def held_file(part: Path, taken: str, wanted: Path) -> Iterator[BinaryIO]:
    """Open a file that is being written, empty, and hold it until it has another name. What is left of it in the end is removed.

    Two processes that write under one name would write into one file: the first to end would give the name of a whole file to what the other one is
    still writing. One that was killed has let go of the file, so that the next one begins it again.

    Args:
        part: the file.
        taken: what the error says if another process holds it.
        wanted: the name that the file will have, for that error.

    Raises:
        TachologError: another process holds it now.
    """
    lock = _held_at(part)
    if lock is None:
        raise TachologError(f"{wanted}: {taken}")
    try:
        with os.fdopen(os.dup(lock), "wb") as stream:
            stream.truncate(0)
            yield stream
    finally:
        with suppress(OSError):
            if _is_at(part, lock):
                part.unlink()
        os.close(lock)


def _held_at(part: Path) -> int | None:
    """Return the descriptor of a file that is held now; ``None`` if another process holds it."""
    while True:
        lock = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            pass  # Some network file systems hold nothing.
        if _is_at(part, lock):
            return lock
        os.close(lock)  # Who held it has just given it its name.


def _is_at(part: Path, opened: int) -> bool:
    try:
        return os.path.samestat(os.lstat(part), os.fstat(opened))
    except FileNotFoundError:
        return False
