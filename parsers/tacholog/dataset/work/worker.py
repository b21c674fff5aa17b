"""A process that reads logs for another one: requests on standard input, answers on standard output.

A log can make a reader hang, or take all memory. In a process of its own it costs nothing else. So that the other one knows at which log that
happened, the place of the log that is being read stands in memory that both share: a message for each log would take longer than to read a small one.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from typing import IO

import msgspec

from tacholog.dataset.work.entries import LogEntry, encoded, large_columns
from tacholog.dataset.work.shared_columns import Lender, SharedColumn
from tacholog.dataset.work.tasks import LogTask, do
from tacholog.garbage import collect_rarely, keep_freed

NUMBER_BYTES = 8
_LONG_LOG_BYTES = 1 << 18  # How far a shorter log is read is not said.
_SILENCE_S = 1.0  # Many short logs may take long together.


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What the process says: that it still reads, how much more of a log it reads, or what all logs of the request gave.

    Attributes:
        place: which log of the request it reads.
        heard_bytes: how many more bytes of its text.
        pack: what all logs gave; ``None`` if that is not known yet.
        columns: where the columns of the pack are in memory too, if it is of one large log. They stay there until the next request.
    """

    place: int = 0
    heard_bytes: int = 0
    pack: bytes | None = None
    columns: list[SharedColumn] = []


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message with its length."""
    stream.write(len(message).to_bytes(NUMBER_BYTES, "little") + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read a message; ``None`` at the end."""
    length = stream.read(NUMBER_BYTES)
    return stream.read(int.from_bytes(length, "little")) if len(length) == NUMBER_BYTES else None


class _Speaker:
    """Tells the other process how far this one is."""

    def __init__(self, answers: IO[bytes], place: mmap.mmap) -> None:
        self._answers, self._place = answers, place
        self._encode = msgspec.msgpack.Encoder().encode
        self._said_s = 0.0

    def say(self, answer: Answer) -> None:
        """Send an answer."""
        send(self._answers, self._encode(answer))
        self._said_s = time.monotonic()

    def begin(self, place: int) -> None:
        """Note that the log at this place is being read now."""
        self._place[:] = place.to_bytes(NUMBER_BYTES, "little")
        if time.monotonic() - self._said_s > _SILENCE_S:
            self.say(Answer(place))

    def read(self, place: int, task: LogTask, lender: Lender | None) -> LogEntry:
        """Read a log. If it is large, its columns are lent."""
        self.begin(place)
        is_long = task.size_bytes >= _LONG_LOG_BYTES
        return do(task, lambda count: self.say(Answer(place, count)) if is_long else None, lender.column if lender else None)


def main() -> None:
    """Read logs until there are no more requests. The argument is the descriptor of the memory in which the place of the log stands."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Code of a format may print.
    decode = msgspec.msgpack.Decoder(list[LogTask]).decode
    speaker = _Speaker(answers, mmap.mmap(int(sys.argv[1]), NUMBER_BYTES))
    lender = Lender()
    while (request := receive(sys.stdin.buffer)) is not None:
        lender.take_back()
        tasks = decode(request)
        entries = [speaker.read(place, task, lender if len(tasks) == 1 else None) for place, task in enumerate(tasks)]
        speaker.say(Answer(pack=encoded(entries), columns=lender.lent(large_columns(entries))))


if __name__ == "__main__":
    keep_freed()
    collect_rarely()
    main()
