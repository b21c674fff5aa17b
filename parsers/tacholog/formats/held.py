"""Records that wait until all is known of their run, in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO

import msgspec

from tacholog.formats.reading import Event
from tacholog.schema.records import Record


class HeldRecords:
    """Holds the records of a log until all facts of their runs are known. Beyond a limit they wait in a file."""

    def __init__(self, in_memory: int = 20_000) -> None:
        """Hold up to so many in memory."""
        self._in_memory = in_memory
        self._events: list[Event] = []
        self._file: IO[bytes] | None = None

    def add(self, event: Event) -> None:
        """Hold the event of a record, without its text and its further lines."""
        self._events.append(event)
        if len(self._events) >= self._in_memory:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it is forgotten, and has no name
            rows = msgspec.msgpack.encode([(event.line, event.last_line, event.run, event.what) for event in self._events])
            self._file.write(len(rows).to_bytes(8, "little") + rows)
            self._events.clear()

    def __iter__(self) -> Iterator[Event]:
        """The events in their order, once."""
        if self._file:
            decoder = msgspec.msgpack.Decoder(list[tuple[int, int, int, Record]])
            with self._file as rows:
                rows.seek(0)
                while size := rows.read(8):
                    for line, last_line, run, record in decoder.decode(rows.read(int.from_bytes(size, "little"))):
                        yield Event(line, last_line, (), "", "record", record, run)
        yield from self._events
