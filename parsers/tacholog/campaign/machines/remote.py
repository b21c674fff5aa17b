"""Hosts that are reached over ssh, and the processes on them.

A run has one connection to each host (`tacholog.campaign.machines.ssh`). The output of a process goes into files in a temporary folder on its host.
The files are copied to this machine after the end of the process, so that the copy does not disturb the measurement.

The shell on the host measures the resources of a process:

- Processor time: the shell's ``times`` for the process and its descendants, after its end. Most shells count in steps of 10 ms.
- Peak memory and context switches: the counters of the kernel (``VmHWM``, ``voluntary_ctxt_switches``), read after one second, then every
  `tacholog.campaign.machines.ssh.PERIOD_S` seconds, and directly before the harness stops a process. Later usage is not counted, so these values
  are lower bounds. A process that ends by itself within its first second has no such values.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import select
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from tacholog.campaign.machines.machine import GRACE_S, SOCKET_FILES, HostEntry, Job, ProcessEnd, Program, ReadyCondition, Resources, StartError
from tacholog.campaign.machines.remote_facts import FACTS, HostFacts, facts_from
from tacholog.campaign.machines.ssh import Connection, ConnectionLost, whole_number
from tacholog.errors import TachologError
from tacholog.runs.host import Moment
from tacholog.runs.manifest import Host
from tacholog.visible import drawn_in_line

_TICK_NS = 10_000_000  # the resolution of the processor time in dash and busybox; bash has a finer one, but all hosts use this value
_SECONDS = re.compile(r"([0-9]{1,9})m([0-9]{1,9}(?:[.,][0-9]{1,9})?)s")
_COUNTER = re.compile(r"/proc/(\d+)/task/(\d+)/status:(\w+):")
_END_TIMEOUT_S = 15.0  # the wait after SIGKILL, for a process that the kernel cannot end immediately
_BLOCK_BYTES = 2**18
_LARGEST_LOG_BYTES = 2**32
_SIGNAL_BASE = 128  # if signal N ended a process, a shell reports the exit code 128 + N
_KORN_SIGNAL_BASE = 256
_LAST_SIGNAL = 64
_ASK_TIMEOUT_S = 20.0
_DIGEST_TIMEOUT_S = 600.0  # a log may have several gigabytes
_LARGEST_ANSWER_BYTES = 2**23
_FIND = """
case $1 in
  */*) test -f "$1" && test -x "$1" && printf '%s\\n' "$1" ;;
  *)
    IFS=:
    for folder in $PATH; do
      if test -f "$folder/$1" && test -x "$folder/$1"; then printf '%s\\n' "$folder/$1"; break; fi
    done ;;
esac
"""
_DIGEST = """
if command -v sha256sum >/dev/null; then sha256sum
elif command -v shasum >/dev/null; then shasum -a 256
elif command -v openssl >/dev/null; then openssl dgst -sha256
fi <"$1"
"""


def resources_from(words: Sequence[str], duration_ns: int | None) -> Resources:
    """Return the resources of a process, from the text that the shell on its host reports.

    ``words`` contains the lines of ``/proc``, then the word ``times``, then the output of ``times``.
    """
    split = words.index("times") if "times" in words else len(words)
    peak_kib: dict[str, int] = {}
    switches: dict[tuple[str, str], int] = {}
    for counter, value in itertools.pairwise(words[:split]):
        match = _COUNTER.fullmatch(counter)
        number = whole_number(value)
        if match is None or number is None:
            continue
        if match[3] == "VmHWM":
            peak_kib[match[1]] = number
        else:
            switches[match[3], match[2]] = number
    times = [match for match in map(_SECONDS.fullmatch, words[split + 1 :][:4]) if match]
    seconds = [int(match[1]) * 60 + float(match[2].replace(",", ".")) for match in times]
    children = seconds[2:] if len(seconds) == 4 else []  # noqa: PLR2004 - user and system time of the shell, then of its children
    voluntary = [value for (kind, _), value in switches.items() if kind == "voluntary_ctxt_switches"]
    involuntary = [value for (kind, _), value in switches.items() if kind == "nonvoluntary_ctxt_switches"]
    return Resources(
        duration_ns=duration_ns,
        user_cpu_ns=round(children[0] * 1e9) if children else None,
        system_cpu_ns=round(children[1] * 1e9) if children else None,
        max_rss_bytes=max(peak_kib.values()) * 1024 if peak_kib else None,
        voluntary=sum(voluntary) if voluntary else None,
        involuntary=sum(involuntary) if involuntary else None,
        cpu_resolution_ns=_TICK_NS,
    )


#: The exit code of a short command on a host; ``None`` if the connection is lost, or if the host reports no number.
Check = Future[int | None]


class RemoteProcess:
    """A process on a host that is reached over ssh."""

    def __init__(self, machine: RemoteMachine, connection: Connection, job: Job | None, number: str) -> None:
        """Create the process without starting it. ``job`` is ``None`` for a short command that is not part of the run."""
        self.number = number
        self._machine, self._connection, self._job = machine, connection, job
        self._pid = ""
        self._begin_ns = time.monotonic_ns()
        self._end_ns: int | None = None
        self._ended: ProcessEnd | None = None
        self._stopped_at: float | None = None
        self._is_killed = False
        self._check: Check | None = None
        self._collected: ProcessEnd | None = None
        # The writer is closed when the process has ended or is lost. Then the reader becomes readable.
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC)
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when the process has ended or is lost."""
        return self._reader

    def note_start(self, pid: str) -> None:
        """Note the process id on the host."""
        self._pid, self._begin_ns = pid, time.monotonic_ns()

    def note_end(self, code: str) -> None:
        """Note the end of the process, as the shell on the host reports it."""
        self._end_ns = time.monotonic_ns()
        self._finish(ProcessEnd(exit_status=_exit_status(code), by="itself" if self._stopped_at is None else "harness"))

    def note_loss(self) -> None:
        """Note that the connection is lost, unless the process has ended before."""
        self._finish(ProcessEnd(exit_status=None, by="lost", why=self._connection.reason))

    def _finish(self, ended: ProcessEnd) -> None:
        with self._lock:
            if self._ended is None:
                self._ended = ended
                os.close(self._writer)

    def poll(self) -> ProcessEnd | None:
        """Return how the process ended or was lost; ``None`` while it runs."""
        if self._ended is None and self._stopped_at is not None and time.monotonic() - self._stopped_at > GRACE_S:
            self._kill()
        return self._ended

    def is_ready(self, ready: ReadyCondition) -> bool:
        """Whether the process has printed the text, or whether a process listens on the port.

        The host is asked again only after it has answered the previous question. Until then, the result is false.
        """
        if self._check is not None and not self._check.done():
            return False
        if self._check is not None and self._check.result() == 0:
            self._check = None
            return True
        if ready.output is not None:
            files = [f"{self.number}.out", f"{self.number}.err"]
            self._check = self._machine.check(["grep", "-q", "-F", "-e", ready.output, *files])
        elif isinstance(ready.port, int):
            self._check = self._machine.check(self._machine.listening(ready.port))
        return False

    def stop(self) -> None:
        """Send SIGTERM to the process, if it still runs."""
        if self._ended is None and self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._connection.send("end", self._pid, "TERM")

    def _kill(self) -> None:
        if not self._is_killed:
            self._is_killed = True
            self._connection.send("end", self._pid, "KILL")

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the process has ended or is lost. Return false after a timeout."""
        return bool(select.select([self], [], [], timeout_s)[0])

    def wait_until_ended(self) -> ProcessEnd:
        """Wait for the end of a process, and return how it ended. A stopped process is killed after `GRACE_S`.

        Raises:
            TachologError: the connection is lost, or the process does not end.
        """
        if self._stopped_at is not None and not self.wait(GRACE_S):
            self._kill()
        if not self.wait(_END_TIMEOUT_S) or self._ended is None:
            raise TachologError(f"it did not end on host {self._machine.name}, even after SIGKILL")
        if self._ended.by == "lost":
            raise ConnectionLost(self._connection.reason)
        return self._ended

    def collect(self) -> ProcessEnd:
        """Wait for the end of the process, copy its log and errors to this machine, and return the end.

        Raises:
            TachologError: log or errors could not be copied completely.
        """
        job = self._job
        if self._collected is not None or job is None:
            return self._collected or self.wait_until_ended()
        for file in (job.log, job.errors):
            (job.folder / file).touch()
        ended = self.wait_until_ended()
        self._copy_and_check("out", job.folder / job.log)
        self._copy_and_check("err", job.folder / job.errors)
        self._check_room()
        answer = self._connection.request("used", self.number, self._pid)
        duration_ns = self._end_ns - self._begin_ns if self._end_ns is not None else None
        self._collected = ProcessEnd(exit_status=ended.exit_status, by=ended.by, resources=resources_from(answer[1:], duration_ns))
        return self._collected

    def _copy_and_check(self, kind: str, target: Path) -> None:
        name = f"{self.number}.{kind}"
        total = self._size(name, _LARGEST_LOG_BYTES)
        digest = hashlib.sha256()
        with target.open("wb") as file:
            for block in self._blocks(name, total):
                digest.update(block)
                file.write(block)
        remote_digest = self._machine.digest(name) if total else None
        if remote_digest is not None and remote_digest != digest.hexdigest():
            raise TachologError(f"{target.name} was changed on host {self._machine.name} while it was copied: its SHA-256 differs")

    def output(self, kind: str, limit_bytes: int) -> bytes:
        """Return the output of the process.

        Raises:
            TachologError: the output has more than ``limit_bytes``.
        """
        name = f"{self.number}.{kind}"
        return b"".join(self._blocks(name, self._size(name, limit_bytes)))

    def _blocks(self, name: str, total_bytes: int) -> Iterator[bytes]:
        for number in range(-(-total_bytes // _BLOCK_BYTES)):
            yield self._connection.chunk(name, number, _BLOCK_BYTES, min(_BLOCK_BYTES, total_bytes - number * _BLOCK_BYTES))

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
        """Raise an error if the disk is full, because many programs do not notice this, and the log may be cut off."""
        code = self._machine.exit_code(["dd", "if=/dev/zero", "of=room", "bs=65536", "count=1"])
        self._connection.send("rm", "-f", "room")
        if code != 0:
            raise TachologError(f"host {self._machine.name}: the disk of its temporary folder is full, so the log may be cut off")

    def release(self) -> None:
        """Close the file descriptors of the process."""
        self.note_loss()
        with self._lock:
            if self._reader >= 0:
                os.close(self._reader)
                self._reader = -1


def _exit_status(code: str) -> int | None:
    """Return the exit status for the manifest. A shell reports signal 9 as exit code 137, or as 265. Then the status is -9."""
    number = whole_number(code)
    if number is None:
        return None
    for base in (_KORN_SIGNAL_BASE, _SIGNAL_BASE):
        if base < number <= base + _LAST_SIGNAL:
            return base - number
    return number


class RemoteMachine:
    """A host that is reached over ssh."""

    def __init__(self, name: str, entry: HostEntry) -> None:
        """Connect.

        Args:
            name: the name of the host in the campaign.
            entry: the destination and the prefix.

        Raises:
            TachologError: there is no connection; the message quotes ssh.
        """
        self._name = name
        self._prefix = entry.prefix
        self._running: dict[str, RemoteProcess] = {}
        self._checks: dict[str, Check] = {}
        self._next_number = 0
        self._is_lost = False
        self._connection = Connection(name, entry.ssh or "", self._take_event)
        try:
            self._facts: HostFacts | None = self._read_facts("all")
        except BaseException:
            self._connection.close()
            raise

    @property
    def name(self) -> str:
        """Return the name of the host in the campaign."""
        return self._name

    @property
    def boot_id(self) -> str | None:
        """The boot id of the kernel."""
        return self._facts.boot_id if self._facts else None

    def find(self, word: str) -> Program:
        """Return the program with this name on the PATH of the host, or with this path."""
        path = (self.ask(["sh", "-c", _FIND, "sh", word]) or "").strip("\n")
        if not path.startswith("/"):
            raise TachologError(f"{word}: no such program on host {self._name}; install it there, or put it on the PATH that ssh commands have there")
        return Program(path, self.digest(path, self._prefix))

    def digest(self, path: str, prefix: Sequence[str] = ()) -> str | None:
        """Return the SHA-256 of a file on the host; ``None`` if the host has no program that can compute it."""
        try:
            code, text = self._run([*prefix, "sh", "-c", _DIGEST, "sh", path], _DIGEST_TIMEOUT_S)
        except StartError:
            return None
        match = re.search(rb"\b[0-9a-f]{64}\b", text)
        return match[0].decode() if match and code == 0 else None

    def ask(self, argv: Sequence[str]) -> str | None:
        """Run a short command on the host, and return its output; ``None`` if it fails."""
        code, text = self._run([*self._prefix, *argv], _ASK_TIMEOUT_S)
        return text.decode("utf-8", "replace") if code == 0 else None

    def describe(self) -> Host:
        """Return the description of the host for a host file."""
        return self._read_facts("all").describe()

    def environment(self) -> Mapping[str, str]:
        """Return the properties that may change between two runs."""
        return self._read_facts("all").environment()

    def moment(self) -> Moment:
        """Return the properties that change from second to second. If the connection is lost, return no property."""
        try:
            return self._read_facts("moment").moment()
        except TachologError:  # the connection is lost or the disk is full; the run fails with a message
            return Moment({}, None)

    def is_listening(self, port: int) -> bool:
        """Whether any process on the host listens on this port, in the network namespace of the prefix."""
        return self.exit_code(self.listening(port)) == 0

    def listening(self, port: int) -> list[str]:
        """Return a shell command that succeeds if a socket listens on the port.

        The socket is a listening TCP socket (state 0A) or an unconnected UDP socket (state 07).
        """
        line = f"^ *[0-9]+: [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ (0A|07) "
        return [*self._prefix, "grep", "-s", "-q", "-E", line, *SOCKET_FILES]

    def check(self, argv: Sequence[str]) -> Check:
        """Start a short command on the host, and return the future of its exit code."""
        self._checks[number := self._new_number()] = check = Check()
        self._connection.send("check", number, *argv)
        if self._is_lost:
            self._note_check(number, None)
        return check

    def _note_check(self, number: str, code: int | None) -> None:
        check = self._checks.pop(number, None)
        if check is not None:
            check.set_result(code)

    def exit_code(self, argv: Sequence[str]) -> int:
        """Run a short command on the host, and return its exit code.

        Raises:
            ConnectionLost: the connection broke.
        """
        code = self.check(argv).result()
        if code is None:
            raise ConnectionLost(self._connection.reason)
        return code

    def start(self, job: Job) -> RemoteProcess:
        """Start a process.

        Raises:
            StartError: the process was not started.
        """
        try:
            return self._start(job, [*self._prefix, job.program, *job.argv[1:]])
        except ConnectionLost as error:
            raise StartError(str(error)) from error

    def _start(self, job: Job | None, argv: Sequence[str]) -> RemoteProcess:
        number = self._new_number()
        running = self._running[number] = RemoteProcess(self, self._connection, job, number)
        answer = self._connection.request("start", number, *argv)
        if answer[:1] != ["started"]:
            del self._running[number]
            raise StartError(f"host {self._name}: {drawn_in_line(' '.join(answer[2:]))}")
        self._connection.beat_soon()
        return running

    def _run(self, argv: Sequence[str], timeout_s: float) -> tuple[int | None, bytes]:
        """Return the exit code and the output of a command that is not a process of the run. The code is ``None`` after a timeout."""
        running = self._start(None, argv)
        if not running.wait(timeout_s):
            running.stop()
        try:
            ended = running.wait_until_ended()
            text = running.output("out", _LARGEST_ANSWER_BYTES)
        finally:
            running.release()
            del self._running[running.number]
        return (ended.exit_status if ended.by == "itself" else None), text

    def _read_facts(self, which: str) -> HostFacts:
        code, text = self._run(["sh", "-c", FACTS, "sh", which], _ASK_TIMEOUT_S)
        if code != 0:
            raise TachologError(f"host {self._name}: its properties could not be read")
        return facts_from(text.decode("utf-8", "replace"))

    def _new_number(self) -> str:
        self._next_number += 1
        return str(self._next_number)

    def _take_event(self, words: list[str]) -> None:
        """Note an event: the start or the end of a process, the result of a check, or the loss of the connection.

        The thread of the connection calls this method.
        """
        match words:
            case ["started", number, pid] if number in self._running:
                self._running[number].note_start(pid)
            case ["ended", number, code] if number in self._running:
                self._running[number].note_end(code)
            case ["checked", number, code]:
                self._note_check(number, whole_number(code))
            case ["lost"]:
                self._is_lost = True
                for running in list(self._running.values()):
                    running.note_loss()
                for number in list(self._checks):
                    self._note_check(number, None)
            case _:
                pass

    def close(self) -> None:
        """End all processes that were started here, and close the connection."""
        self._connection.close()
        for running in self._running.values():
            running.release()
