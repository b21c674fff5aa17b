"""Hold a folder, so that no other process works in it at the same time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
