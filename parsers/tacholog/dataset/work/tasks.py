"""The unit of work: one log with its manifest. It is the same wherever it is done, and gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from tacholog.dataset.logs import Limits, lost_log, open_named, read_log
from tacholog.dataset.work.entries import LogEntry, ReadLogs, read_here
from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import Manifest
from tacholog.runs.problems import UNREADABLE

if TYPE_CHECKING:
    from tacholog.dataset.columns import Integers

#: Is told the place of a log in its chunk, and how many more bytes of its text are read now.
Heard = Callable[[int, int], object]


class LogTask(msgspec.Struct, frozen=True, array_like=True):
    """A log to read.

    Attributes:
        manifest: the manifest of its run, as JSON.
        place: the place of the log in the manifest.
        content: its bytes; ``None`` if it is too large to be handed on, and is opened where it is read.
        folder: where it is.
        named_by_user: whether the user typed its name; otherwise its name must not lead out of the folder.
        limits: how much of it is read.
        size_bytes: its size.
    """

    manifest: bytes
    place: int
    content: bytes | None
    folder: str
    named_by_user: bool = False
    limits: Limits | None = None
    size_bytes: int = 0


class Promise(Protocol):
    """Logs that are being read."""

    def result(self) -> list[ReadLogs]:
        """Wait for what was read of them: packs, whose logs one after the other are these."""


class Readers(Protocol):
    """Something that reads logs."""

    @property
    def processes(self) -> int:
        """In how many other processes it reads at a time; 0: in this one."""

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        """Begin to read these logs."""

    def close(self) -> None:
        """Read no more."""


def do(task: LogTask, heard: Callable[[int], object], new_column: Callable[[int], Integers] | None = None) -> LogEntry:
    """Read a log, and return its entry.

    Args:
        task: the log.
        heard: is told how many more bytes of its text are read now.
        new_column: makes its columns if it is large: see `ColumnBuilder`.
    """
    manifest = msgspec.json.decode(task.manifest, type=Manifest)
    entry = manifest.logs[task.place]
    try:
        with io.BytesIO(task.content) if task.content is not None else open_named(Path(task.folder), entry.file, task.named_by_user) as stream:
            return read_log(stream, manifest, entry, task.limits, heard, new_column)
    except (UnreadableInput, OSError) as error:
        return lost_log(entry, UNREADABLE, str(error))


def lost(task: LogTask, reason: str) -> LogEntry:
    """Return the entry of a log that could not be read."""
    return lost_log(msgspec.json.decode(task.manifest, type=Manifest).logs[task.place], UNREADABLE, reason)


class InThisProcess:
    """Reads logs in this process, one after the other."""

    processes = 0

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Future[list[ReadLogs]]:
        """Read these logs now."""
        done: Future[list[ReadLogs]] = Future()
        done.set_result([read_here([do(task, lambda count, place=place: heard(place, count)) for place, task in enumerate(tasks)])])  # type: ignore[misc]
        return done

    def close(self) -> None:
        """Do nothing: there is nothing to end."""
