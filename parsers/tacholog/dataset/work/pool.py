"""Several processes that read logs. One that hangs or dies is replaced, and only the log that it was reading is lost."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

import tacholog
from tacholog.dataset.work.entries import ReadLog
from tacholog.dataset.work.tasks import Heard, LogTask, Promise, lost
from tacholog.dataset.work.worker import LENGTH_BYTES, Answer, send

PATIENCE_S = 300.0  # Without a word. The slowest format says something each few seconds, and the machine may be busy.
_ATTEMPTS = 2  # The first time, something else may have taken the memory.
_PIECE_BYTES = 1 << 20


class Pool:
    """Processes that read logs, each with a thread that waits for it."""

    def __init__(self, count: int, patience_s: float = PATIENCE_S) -> None:
        """Start up to so many processes, each when it is first needed.

        Args:
            count: how many.
            patience_s: for how long a process may say nothing. After that it is taken for hung, and killed.
        """
        self.processes = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="tacholog-reader")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._started: set[_Process] = set()
        self._patience_s = patience_s
        self._is_closed = False

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        """Read these logs in one of the processes."""
        return self._threads.submit(self._read, tasks, heard)

    def started(self) -> list[int]:
        """Return the ids of the processes that were started."""
        with self._lock:
            return [process.id for process in self._started]

    def close(self) -> None:
        """End all processes."""
        self._is_closed = True
        with self._lock:
            ended = [*self._started]
        for process in ended:
            process.end()
        self._threads.shutdown(cancel_futures=True)  # Only then no thread waits at a pipe.
        for process in ended:
            process.close()
        self._started.clear()

    def _read(self, tasks: Sequence[LogTask], heard: Heard) -> list[ReadLog]:
        entries: list[ReadLog] = []
        attempts = 0
        while len(entries) < len(tasks):
            first = len(entries)
            try:
                for entry in self._process().read(tasks[first:], lambda place, count, first=first: heard(first + place, count)):  # type: ignore[misc]
                    entries.append(ReadLog(entry))
                    attempts = 0
            except (_Died, OSError) as error:
                if self._is_closed:
                    raise
                self._replace()
                attempts += 1
                if attempts >= _ATTEMPTS or isinstance(error, _Hung):
                    entries.append(ReadLog(lost(tasks[len(entries)], str(error))))
                    attempts = 0
        return entries

    def _process(self) -> _Process:
        """Return the process of this thread."""
        process: _Process | None = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = _Process(self._patience_s)
            with self._lock:
                self._started.add(process)
        return process

    def _replace(self) -> None:
        """End the process of this thread; the next log starts another one."""
        process: _Process | None = getattr(self._own, "process", None)
        if process is not None:
            process.end()
            process.close()
            with self._lock:
                self._started.discard(process)
            self._own.process = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Answer).decode


def _ending(status: int) -> str:
    """Return how a process ended, in words."""
    try:
        return f"status {status}" if status >= 0 else signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class _Died(Exception):
    """The process ended while it read a log."""


class _Hung(_Died):
    """The process said nothing for too long."""


class _Process:
    """One process that reads logs."""

    def __init__(self, patience_s: float) -> None:
        here = str(Path(tacholog.__file__).parent.parent)
        path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tacholog.dataset.work.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the command, which ends its workers.
        )
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018 - asked for above
        self._requests, self._answers = self._process.stdin, self._process.stdout.fileno()
        self._patience_s = patience_s
        self._rest = bytearray()

    def read(self, tasks: Sequence[LogTask], heard: Heard) -> Iterator[bytes]:
        """Yield the entry of each log, as soon as it is read."""
        # Requests go out while answers come in: a large request and a large answer would fill both pipes.
        writer = threading.Thread(target=self._ask, args=(_encode(list(tasks)),), daemon=True)
        writer.start()
        done = 0
        while done < len(tasks):
            answer = _decode(self._message())
            if answer.entry is None:
                heard(answer.place, answer.heard_bytes)
            else:
                done += 1
                yield answer.entry
        writer.join()

    def _ask(self, request: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # It ended. Its answers, which end too, say so.
            send(self._requests, request)

    def _message(self) -> bytes:
        """Wait for the next message.

        Raises:
            _Died: the process ended, or said nothing for too long.
        """
        length = int.from_bytes(self._bytes(LENGTH_BYTES), "little")
        return self._bytes(length)

    def _bytes(self, count: int) -> bytes:
        while len(self._rest) < count:
            if not select.select([self._answers], [], [], self._patience_s)[0]:
                raise _Hung(f"reading it took too long: nothing happened for {self._patience_s:g} s")
            piece = os.read(self._answers, _PIECE_BYTES)
            if not piece:
                raise _Died(f"the process that read it ended ({_ending(self._process.wait())})")
            self._rest += piece
        found = bytes(self._rest[:count])
        del self._rest[:count]
        return found

    @property
    def id(self) -> int:
        """The id of the process."""
        return self._process.pid

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a process that has ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
