"""Several processes that read logs. One that hangs or dies is replaced, and only the log that it was reading is lost."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import msgspec

import tacholog
from tacholog.dataset.work.entries import ReadLogs, encoded
from tacholog.dataset.work.shared_columns import borrowed
from tacholog.dataset.work.tasks import Heard, InThisProcess, LogTask, Promise, lost
from tacholog.dataset.work.worker import NUMBER_BYTES, Answer, send

PATIENCE_S = 300.0  # Without a word. The slowest format says something each few seconds, and the machine may be busy.
_ATTEMPTS = 2  # The first time, something else may have taken the memory.
_PIECE_BYTES = 1 << 20


class Pool:
    """Processes that read logs, each with a thread that waits for it."""

    def __init__(self, count: int, patience_s: float = PATIENCE_S, warned: Callable[[str], object] = lambda _text: None) -> None:
        """Start up to so many processes, each when it is first needed.

        Args:
            count: how many.
            patience_s: for how long a process may say nothing. After that it is taken for hung, and killed.
            warned: is told, once, if the system starts no process. Then logs are read in this one.
        """
        self.processes = count
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="tacholog-reader")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._started: set[_Process] = set()
        self._patience_s = patience_s
        self._warned = warned
        self._has_warned = False
        self._is_closed = False

    def submit(self, tasks: Sequence[LogTask], heard: Heard) -> Promise:
        """Read these logs in one of the processes."""
        try:
            return self._threads.submit(self._read, tasks, heard)
        except RuntimeError as error:
            if self._is_closed:
                raise
            self._warn(error)  # No thread could be started to wait for a process.
            return InThisProcess().submit(tasks, heard)

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

    def _read(self, tasks: Sequence[LogTask], heard: Heard) -> list[ReadLogs]:
        """Read these logs. If the process ends, another one reads those again that were before the one that it was reading, and the rest."""
        found: list[ReadLogs] = []
        waiting: list[range | ReadLogs] = [range(len(tasks))] if tasks else []  # the next ones last
        attempts: Counter[int] = Counter()
        while waiting:
            places = waiting.pop()
            if isinstance(places, ReadLogs):
                found.append(places)
                continue
            try:
                found.append(self._read_part(tasks, places, heard))
            except _NotStarted as error:  # No log is to blame for that.
                if self._is_closed:
                    raise
                self._warn(error)
                found += self._read_here(tasks, places, heard)
            except (_Died, OSError) as error:
                if self._is_closed:
                    raise
                ended_at = places[self._replace(len(places))]
                attempts[ended_at] += 1
                is_lost = attempts[ended_at] >= _ATTEMPTS or isinstance(error, _Hung)
                one = ReadLogs(encoded([lost(tasks[ended_at], str(error))])) if is_lost else range(ended_at, ended_at + 1)
                waiting += [part for part in (range(ended_at + 1, places.stop), one, range(places.start, ended_at)) if part]
        return found

    def _read_part(self, tasks: Sequence[LogTask], places: range, heard: Heard) -> ReadLogs:
        """Read the logs at these places in the process of this thread.

        Raises:
            _NotStarted: there is none, and the system starts none.
            _Died: it ended, or said nothing for too long.
        """
        part = [tasks[place] for place in places]
        return self._process().read(part, lambda place, count: heard(places[place], count))

    def _read_here(self, tasks: Sequence[LogTask], places: range, heard: Heard) -> list[ReadLogs]:
        """Read the logs at these places in this process."""
        return InThisProcess().submit([tasks[place] for place in places], lambda place, count: heard(places[place], count)).result()

    def _warn(self, error: Exception) -> None:
        with self._lock:
            has_warned, self._has_warned = self._has_warned, True
        if not has_warned:
            self._warned(f"the system starts no further process ({error}): some logs are read in this one, where a log that hangs stops everything")

    def _process(self) -> _Process:
        """Return the process of this thread.

        Raises:
            _NotStarted: the system starts none.
        """
        process: _Process | None = getattr(self._own, "process", None)
        if process is None:
            try:
                process = self._own.process = _Process(self._patience_s)
            except OSError as error:
                raise _NotStarted(error.strerror) from error
            with self._lock:
                self._started.add(process)
        return process

    def _replace(self, count: int) -> int:
        """End the process of this thread; the next logs start another one. Return at which of so many logs it was."""
        process: _Process = self._own.process
        process.end()
        place = process.place()
        process.close()
        with self._lock:
            self._started.discard(process)
        self._own.process = None
        return min(place, count - 1)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Answer).decode


def _ending(status: int) -> str:
    """Return how a process ended, in words."""
    try:
        return f"status {status}" if status >= 0 else signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class _NotStarted(Exception):
    """The system starts no process, or no thread."""


class _Died(Exception):
    """The process ended while it read a log."""


class _Hung(_Died):
    """The process said nothing for too long."""


def _shared_file() -> IO[bytes]:
    """Return a file of a few bytes that two processes can have in memory: on Linux it is nowhere else, so that no disk can be full."""
    file = os.fdopen(os.memfd_create("tacholog-place"), "w+b") if sys.platform == "linux" else tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(bytes(NUMBER_BYTES))
    file.flush()
    return file


class _Process:
    """One process that reads logs."""

    def __init__(self, patience_s: float) -> None:
        here = str(Path(tacholog.__file__).parent.parent)
        path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        with _shared_file() as shared:
            self._place = mmap.mmap(shared.fileno(), NUMBER_BYTES)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tacholog.dataset.work.worker", str(shared.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[shared.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for the command, which ends its workers.
            )
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018 - asked for above
        self._requests, self._answers = self._process.stdin, self._process.stdout.fileno()
        self._patience_s = patience_s
        self._rest = bytearray()

    def read(self, tasks: Sequence[LogTask], heard: Heard) -> ReadLogs:
        """Return what these logs give.

        Raises:
            _NotStarted: the system starts no thread to send them with.
            _Died: the process ended, or said nothing for too long.
        """
        self._place[:] = bytes(NUMBER_BYTES)
        # Requests go out while answers come in: a large request and a large answer would fill both pipes.
        writer = threading.Thread(target=self._ask, args=(_encode(list(tasks)),), daemon=True)
        try:
            writer.start()
        except RuntimeError as error:
            raise _NotStarted(error) from error
        while (answer := _decode(self._message())).pack is None:
            if answer.heard_bytes:
                heard(answer.place, answer.heard_bytes)
        writer.join()
        return ReadLogs(answer.pack, columns=borrowed(self.id, answer.columns))

    def place(self) -> int:
        """Return which log of the latest request it was reading."""
        return int.from_bytes(self._place[:], "little")

    def _ask(self, request: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # It ended. Its answers, which end too, say so.
            send(self._requests, request)

    def _message(self) -> bytes:
        """Wait for the next message.

        Raises:
            _Died: the process ended, or said nothing for too long.
        """
        length = int.from_bytes(self._bytes(NUMBER_BYTES), "little")
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
        """Close the pipes of a process that has ended, and what it shared."""
        self._place.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
