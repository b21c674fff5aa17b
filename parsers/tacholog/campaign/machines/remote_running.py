"""One process on a host that is reached over ssh: whether it is ready or has ended, how to stop it, and how its output gets here."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tacholog.campaign.machines.machine import GRACE_S, Ended, Job, Ready
from tacholog.campaign.machines.remote_resources import resources_from
from tacholog.campaign.machines.ssh import Connection, Lost, whole_number
from tacholog.errors import TachologError

_END_TIMEOUT_S = 15.0  # after SIGKILL, for a process that the kernel cannot end at once
_BLOCK_BYTES = 2**18
_LARGEST_LOG_BYTES = 2**32
_SIGNAL_BASE = 128  # A shell reports the end by a signal as the signal's number above this.
_KORN_SIGNAL_BASE = 256
_LAST_SIGNAL = 64


class Check:
    """The result of a short command. ``code`` is ``None`` until it has ended, and if the connection is lost."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.code: int | None = None


class OnHost(Protocol):
    """The host that a process runs on, as far as the process needs it."""

    @property
    def name(self) -> str:
        """Its name in the campaign."""
        ...

    def check(self, argv: Sequence[str]) -> Check:
        """Run a command there that ends at once, and return where its exit code will be."""
        ...

    def listening(self, port: int) -> list[str]:
        """Return a command that succeeds if something listens on the port."""
        ...

    def digest(self, path: str) -> str | None:
        """Return the SHA-256 of a file there; ``None`` if no program there computes it."""
        ...


class RemoteRunning:
    """A process on a host that is reached over ssh."""

    def __init__(self, machine: OnHost, connection: Connection, job: Job | None, number: str) -> None:
        """Prepare for a process that is about to be started. ``job`` is ``None`` for a command that is not a process of the run."""
        self.number = number
        self._machine, self._connection, self._job = machine, connection, job
        self._pid = ""
        self._begin_ns = time.monotonic_ns()
        self._end_ns: int | None = None
        self._ended: Ended | None = None
        self._has_ended = threading.Event()
        self._stopped_at: float | None = None
        self._is_killed = False
        self._check: Check | None = None
        self._collected: Ended | None = None
        # Readable once the writing end is closed: when the process has ended or is lost.
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC)
        self._lock = threading.Lock()

    @property
    def job(self) -> Job:
        """What was started."""
        if self._job is None:
            raise ValueError("a command that is not a process of the run has no job")
        return self._job

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when the process has ended or is lost."""
        return self._reader

    def has_started(self, pid: str) -> None:
        """Note the number of the process there."""
        self._pid, self._begin_ns = pid, time.monotonic_ns()

    def has_reported(self, code: str) -> None:
        """Note the end, as the shell on the host reports it."""
        by_harness = self._stopped_at is not None
        self._end_ns = time.monotonic_ns()
        self._finish(Ended(exit_status=_exit_status(code), by="harness" if by_harness else "itself"))

    def is_lost(self) -> None:
        """Note that the connection is lost, unless the process has ended before."""
        self._finish(Ended(exit_status=None, by="lost", why=self._connection.reason))

    def _finish(self, ended: Ended) -> None:
        with self._lock:
            if self._ended is None:
                self._ended = ended
                os.close(self._writer)
                self._has_ended.set()

    def poll(self) -> Ended | None:
        """Return how the process ended, or that it is lost; ``None`` while it runs."""
        if self._ended is None and self._stopped_at is not None and time.monotonic() - self._stopped_at > GRACE_S:
            self._kill()
        return self._ended

    def is_ready(self, ready: Ready) -> bool:
        """Whether the process has printed the text, or something listens on the port. The host is asked again once it has answered."""
        check, self._check = self._check, None
        if check is not None and not check.done.is_set():
            self._check = check
            return False
        if check is not None and check.code == 0:
            return True
        if ready.output is not None:
            files = [f"{self.number}.out", f"{self.number}.err"]
            self._check = self._machine.check(["grep", "-q", "-F", "-e", ready.output, *files])
        elif isinstance(ready.port, int):
            self._check = self._machine.check(self._machine.listening(ready.port))
        return False

    def stop(self) -> None:
        """Ask the process to end."""
        if self._ended is None and self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._connection.send("end", self._pid, "TERM")

    def _kill(self) -> None:
        if not self._is_killed:
            self._is_killed = True
            self._connection.send("end", self._pid, "KILL")

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the process has ended or is lost. Return whether it has."""
        return self._has_ended.wait(timeout_s)

    def wait_until_ended(self) -> Ended:
        """Wait for the end of a process that was stopped or has ended.

        Raises:
            TachologError: the connection is lost, or the process does not end.
        """
        if self._stopped_at is not None and not self.wait(GRACE_S):
            self._kill()
        if not self.wait(_END_TIMEOUT_S) or self._ended is None:
            raise TachologError(f"it does not end, not even by SIGKILL, on host {self._machine.name}")
        if self._ended.by == "lost":
            raise Lost(self._connection.reason)
        return self._ended

    def collect(self) -> Ended:
        """Wait for the end, and bring log and errors here.

        Raises:
            TachologError: they could not be brought here whole.
        """
        if self._collected is not None:
            return self._collected
        job = self.job
        for file in (job.log, job.errors):
            (job.folder / file).touch()
        ended = self.wait_until_ended()
        self._bring("out", job.folder / job.log)
        self._bring("err", job.folder / job.errors)
        self._check_room()
        used = self._connection.request("used", self.number, self._pid)
        duration_ns = self._end_ns - self._begin_ns if self._end_ns is not None else None
        self._collected = Ended(exit_status=ended.exit_status, by=ended.by, resources=resources_from(used[1:], duration_ns))
        return self._collected

    def _bring(self, kind: str, target: Path) -> None:
        """Copy a file of the process here, and check that it is whole."""
        name = f"{self.number}.{kind}"
        total = self._size(name, _LARGEST_LOG_BYTES)
        digest = hashlib.sha256()
        with target.open("wb") as file:
            for block in range(-(-total // _BLOCK_BYTES)):
                part = self._connection.chunk(name, block, _BLOCK_BYTES, min(_BLOCK_BYTES, total - block * _BLOCK_BYTES))
                digest.update(part)
                file.write(part)
        there = self._machine.digest(name) if total else None
        if there is not None and there != digest.hexdigest():
            raise TachologError(f"{target.name} was changed on host {self._machine.name} while it was copied: its SHA-256 differs")

    def output(self, kind: str, limit_bytes: int) -> bytes:
        """Return what the process printed.

        Raises:
            TachologError: it is more than ``limit_bytes``.
        """
        name = f"{self.number}.{kind}"
        total = self._size(name, limit_bytes)
        blocks = range(-(-total // _BLOCK_BYTES))
        return b"".join(self._connection.chunk(name, block, _BLOCK_BYTES, min(_BLOCK_BYTES, total - block * _BLOCK_BYTES)) for block in blocks)

    def _size(self, name: str, limit_bytes: int) -> int:
        answer = self._connection.request("size", name)
        size_bytes = whole_number(answer[1]) if len(answer) == 2 else None  # noqa: PLR2004 - the word and the number
        if size_bytes is None:
            raise TachologError(f"host {self._machine.name}: a file in its temporary folder is gone")
        if size_bytes > limit_bytes:
            raise TachologError(
                f"host {self._machine.name}: the output is {size_bytes / 1e9:.1f} GB, and at most {limit_bytes / 1e9:.1f} GB are copied"
            )
        return size_bytes

    def _check_room(self) -> None:
        """Refuse a log that may be cut off because the disk was full: many programs do not notice."""
        check = self._machine.check(["dd", "if=/dev/zero", "of=room", "bs=65536", "count=1"])
        check.done.wait()
        self._connection.send("rm", "-f", "room")
        if check.code is None:
            raise Lost(self._connection.reason)
        if check.code != 0:
            raise TachologError(f"host {self._machine.name}: the disk of its temporary folder is full, so the log may be cut off")

    def release(self) -> None:
        """Close what belongs to the process on this machine."""
        self.is_lost()
        with self._lock:
            if self._reader >= 0:
                os.close(self._reader)
                self._reader = -1


def _exit_status(code: str) -> int | None:
    """Return an exit status as manifests have it. A shell cannot tell the exit code 137 from the end by signal 9; the latter is far more usual."""
    number = whole_number(code)
    if number is None:
        return None
    for base in (_KORN_SIGNAL_BASE, _SIGNAL_BASE):
        if base < number <= base + _LAST_SIGNAL:
            return base - number
    return number
