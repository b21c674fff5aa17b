"""A process that reads logs for another one: requests on standard input, answers on standard output.

A log can make a reader hang, or take all memory. In a process of its own it costs nothing else.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import IO

import msgspec

from tacholog.dataset.work.entries import encoded
from tacholog.dataset.work.tasks import LogTask, do
from tacholog.garbage import keep_freed, rare_collections

LENGTH_BYTES = 8
_LONG_LOG_BYTES = 1 << 18  # Of a shorter log, only its entry is sent: to say that it was begun takes longer than some of them.


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What the process says of a log: that it begins with it, that it reads on, or the entry."""

    place: int
    heard_bytes: int = 0
    entry: bytes | None = None


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message with its length."""
    stream.write(len(message).to_bytes(LENGTH_BYTES, "little") + message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read a message; ``None`` at the end."""
    length = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(length, "little")) if len(length) == LENGTH_BYTES else None


def main() -> None:
    """Read logs until there are no more requests."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Code of a format may print.
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[LogTask]).decode

    def say(answer: Answer) -> None:
        send(answers, encode(answer))

    def hear(place: int, task: LogTask, count: int) -> None:
        if task.size_bytes >= _LONG_LOG_BYTES:
            say(Answer(place, count))

    while (request := receive(sys.stdin.buffer)) is not None:
        for place, task in enumerate(decode(request)):
            say(Answer(place, entry=encoded(do(task, functools.partial(hear, place, task)))))


if __name__ == "__main__":
    keep_freed()
    with rare_collections():
        main()
