"""Processes on this machine, with or without a prefix before each command.

Each process is started by a small program (`tacholog.campaign.machines.launcher`), which waits for it, ends it, and reports its resources.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tacholog.campaign.machines.machine import (
    GRACE_S,
    SOCKET_FILES,
    EndCause,
    HostEntry,
    Job,
    ProcessEnd,
    Program,
    ReadyCondition,
    Resources,
    StartError,
)
from tacholog.campaign.programs import find_program, sha256
from tacholog.errors import TachologError
from tacholog.runs import host
from tacholog.runs.host import Moment
from tacholog.runs.manifest import Host

_LAUNCHER = Path(__file__).with_name("launcher.py")
# These limits only stop programs that hang. A slow program must not reach them: with 20 busy processes, the launcher needed 20 seconds to start (a
# virtual machine with 2 CPUs, 2026-11-28).
_ASK_TIMEOUT_S = 120.0
_START_TIMEOUT_S = 300.0
_END_TIMEOUT_S = GRACE_S + 60.0  # the launcher waits for GRACE_S, and then ends the children
_FLOOR_SLACK_BYTES = 256 * 1024  # the kernel counts pages in batches on each processor, so its counts are inexact
_LISTENING = {"0A", "07"}  # the states of a listening TCP socket, and of an unconnected UDP socket
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# These prefixes let a daemon run the process. Then the kernel counts only the resources of the daemon's client, not of the process.
_HAND_OVER = {"crictl", "docker", "incus", "kubectl", "lxc", "machinectl", "nerdctl", "podman", "systemd-run"}
_READ_BYTES = 64 * 1024
_FIND = 'command -v -- "$1"'  # a shell behind the prefix runs this, because the prefix may lead into another mount namespace


class LocalMachine:
    """This machine."""

    def __init__(self, name: str, entry: HostEntry, tools: Mapping[str, Path], checkout: Path | None = None) -> None:
        """See `tacholog.campaign.hosts.open_machines`.

        Raises:
            TachologError: the prefix cannot be run, or leads to another machine.
        """
        self._name = name
        self._prefix = entry.prefix
        self._tools = tools
        self._checkout = checkout
        self._running: list[LocalProcess] = []
        if self._prefix:
            self._check_prefix()

    def _check_prefix(self) -> None:
        """Refuse a prefix that leads to another machine, because the run would be recorded with the description and the clock of this machine."""
        boot_id = self.ask(["cat", _BOOT_ID])
        words = " ".join(self._prefix)
        if boot_id is None:
            raise TachologError(f"hosts.{self._name}: its prefix cannot be run: {words}")
        if self.boot_id is not None and boot_id.strip() != self.boot_id:
            raise TachologError(f"hosts.{self._name}: its prefix leads to another machine ({words}); use ssh = ... for another machine")

    @property
    def name(self) -> str:
        """Return the name of this machine in the campaign; an empty text if it has no name there."""
        return self._name

    @property
    def boot_id(self) -> str | None:
        """The boot id of the kernel. Two machines with the same id are one machine with one clock."""
        with contextlib.suppress(OSError):
            return Path(_BOOT_ID).read_text().strip() or None
        return None

    def find(self, word: str) -> Program:
        """Return the program with this name, from ``tools`` or from the PATH.

        Raises:
            TachologError: there is no such program.
        """
        if not self._prefix:
            path = find_program(word, self._tools)
            return Program(str(path), sha256(path))
        path_there = str(self._tools[word]) if word in self._tools else (self.ask(["sh", "-c", _FIND, "sh", word]) or "").strip()
        if not path_there.startswith("/") or self.ask(["test", "-x", path_there]) is None:
            raise TachologError(f"{word}: no such program behind the prefix of {self._name}: {' '.join(self._prefix)}")
        checksum = (self.ask(["sha256sum", path_there]) or "").split()
        return Program(path_there, checksum[0].lstrip("\\") if checksum else None)

    def ask(self, argv: Sequence[str]) -> str | None:
        """Run a short command, and return its output; ``None`` if it cannot be run, fails, or takes too long."""
        command = [*self._prefix, *argv]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_ASK_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    def describe(self) -> Host:
        """Return the description of this machine for a host file."""
        return host.this_host()

    def environment(self) -> Mapping[str, str]:
        """Return the properties that may change between two runs, such as the governor."""
        return host.environment(checkout=self._checkout)

    def moment(self) -> Moment:
        """Return the properties that change from second to second, such as the load, and the processor times so far."""
        return host.moment()

    def is_listening(self, port: int) -> bool:
        """Whether any process listens on this port, TCP or UDP, in the network namespace of the prefix.

        This does not connect to the port, because some servers accept only one connection.
        """
        if self._prefix:
            # One command reads all files, because this method is called repeatedly until the process is ready.
            text = self.ask(["cat", *SOCKET_FILES]) or self.ask(["cat", *(name for name in SOCKET_FILES if not name.endswith("6"))]) or ""
        else:
            text = "".join(Path(name).read_text() for name in SOCKET_FILES if Path(name).exists())
        return any(_listens(line, port) for line in text.splitlines())

    def start(self, job: Job) -> LocalProcess:
        """Start a process.

        Raises:
            StartError: the process was not started.
        """
        argv = (*self._prefix, job.program, *job.argv[1:]) if self._prefix else job.argv
        try:
            program = str(find_program(self._prefix[0], {})) if self._prefix else job.program
        except TachologError as error:
            raise StartError(str(error)) from error
        running = LocalProcess(self, job, program, argv)
        self._running.append(running)
        running.wait_for_start()
        return running

    def close(self) -> None:
        """End all processes that were started here."""
        for running in self._running:
            running.stop()
        for running in self._running:
            running.release()


def _listens(line: str, port: int) -> bool:
    fields = line.split()
    if len(fields) < 4 or fields[3] not in _LISTENING:  # noqa: PLR2004 - number, local address, remote address, state
        return False
    return fields[1].rpartition(":")[2] == f"{port:04X}"


class LocalProcess:
    """A started process on this machine."""

    def __init__(self, machine: LocalMachine, job: Job, program: str, argv: Sequence[str]) -> None:
        """Start the launcher, which starts the process."""
        self.job = job
        self._machine = machine
        self._asked_to_end = False
        self._is_handed_over = argv is not job.argv and Path(argv[0]).name in _HAND_OVER
        self._is_closed = False
        self._text = b""
        self._outputs = (_OutputFile(job.folder / job.log), _OutputFile(job.folder / job.errors))
        self._reports, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(writer, True)
        try:
            with (job.folder / job.log).open("wb") as out, (job.folder / job.errors).open("wb") as errors:
                self._launcher = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_LAUNCHER), str(writer), str(GRACE_S), program, *argv],
                    cwd=job.folder,
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=errors,
                    env=os.environ | {"LC_ALL": "C"},  # some tools print numbers in the locale of the user
                    pass_fds=(writer,),
                    start_new_session=True,  # Ctrl-C in a terminal reaches only the harness; it then ends the processes in order
                )
        finally:
            os.close(writer)

    def wait_for_start(self) -> None:
        """Wait until the program is executed.

        Raises:
            StartError: the program cannot be executed.
        """
        give_up = time.monotonic() + _START_TIMEOUT_S
        while self._last_complete_report()[:1] not in (["running"], ["failed"], ["ended"]) and not self._is_closed:
            self._read_reports(max(0.0, give_up - time.monotonic()))
            if time.monotonic() > give_up:
                self.release()
                raise StartError("the launcher of the process does not answer")
        words = self._last_complete_report()
        if words[:1] == ["failed"]:
            self.release()
            raise StartError(os.strerror(int(words[1])))

    def _read_reports(self, timeout_s: float) -> None:
        if self._is_closed or not select.select([self._reports], [], [], timeout_s)[0]:
            return
        part = os.read(self._reports, _READ_BYTES)
        self._text += part
        self._is_closed = not part

    def _last_complete_report(self) -> list[str]:
        return (self._text.decode("ascii", "replace").rpartition("\n")[0].splitlines() or [""])[-1].split()

    def fileno(self) -> int:
        """Return a file descriptor for ``select``. It becomes readable when the launcher writes a report or ends."""
        return self._reports

    def poll(self) -> ProcessEnd | None:
        """Return how the process ended; ``None`` while it runs."""
        self._read_reports(0)
        words = self._last_complete_report()
        if words[:1] == ["ended"] or self._is_closed:
            return _end_in_report(words, by="harness" if self._asked_to_end else "itself")
        return None

    def is_ready(self, ready: ReadyCondition) -> bool:
        """Whether the process has printed the text, or a process listens on the port. The caller checks ``seconds`` and the deadline."""
        if ready.output is not None:
            return any(output.has(ready.output.encode()) for output in self._outputs)
        return isinstance(ready.port, int) and self._machine.is_listening(ready.port)

    def stop(self) -> None:
        """Stop the process: SIGTERM to its group now, SIGKILL to the process and its children after `GRACE_S`. A second call has no effect.

        The launcher sends these signals when its standard input closes.
        """
        self._asked_to_end = self._asked_to_end or self.poll() is None
        if self._launcher.stdin:
            self._launcher.stdin.close()

    def collect(self) -> ProcessEnd:
        """Wait for the end of the process, and return how it ended. Call this after `stop`, or when the process has ended."""
        give_up = time.monotonic() + _END_TIMEOUT_S
        while (ended := self.poll()) is None and time.monotonic() < give_up:
            self._read_reports(max(0.0, give_up - time.monotonic()))
        self.release()
        ended = ended or ProcessEnd(exit_status=None, by="lost")
        if ended.by == "lost":
            self._kill_group()
        return msgspec.structs.replace(ended, resources=None) if self._is_handed_over else ended

    def _kill_group(self) -> None:
        """Kill the children of a process whose launcher was killed. The kernel has already killed the process itself."""
        words = self._text.decode("ascii", "replace").partition("\n")[0].split()
        if words[:1] == ["started"]:
            with contextlib.suppress(OSError):
                os.killpg(int(words[1]), signal.SIGKILL)

    def release(self) -> None:
        """Wait for the launcher and close its pipes. If the launcher does not end, it is killed, and the kernel then kills the process."""
        self.stop()
        try:
            self._launcher.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._launcher.kill()
            self._launcher.wait()
        if self._reports >= 0:
            os.close(self._reports)
            self._reports, self._is_closed = -1, True


def _end_in_report(words: Sequence[str], by: EndCause) -> ProcessEnd:
    if words[:1] != ["ended"]:
        return ProcessEnd(exit_status=None, by="lost")
    status = words[1]
    duration_ns, user_ns, system_ns, peak_kib, floor_kib, voluntary, involuntary, left = map(int, words[2:])
    resources = Resources(
        duration_ns=duration_ns,
        user_cpu_ns=user_ns,
        system_cpu_ns=system_ns,
        max_rss_bytes=peak_kib * 1024,
        max_rss_is_bound=peak_kib * 1024 <= floor_kib * 1024 + _FLOOR_SLACK_BYTES,
        voluntary=voluntary,
        involuntary=involuntary,
    )
    return ProcessEnd(exit_status=None if status == "-" else int(status), by=by, resources=resources, left=left)


class _OutputFile:
    """A file that a process writes. `has` reads only the part that is new since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._tail = b""

    def has(self, text: bytes) -> bool:
        """Whether the text was written since the last call. The text also counts if only its beginning was there at the last call."""
        with self._path.open("rb") as file:
            file.seek(self._position)
            new = file.read()
        self._position += len(new)
        is_there = text in self._tail + new
        self._tail = (self._tail + new)[-len(text) :]
        return is_there
