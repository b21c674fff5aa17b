"""Hosts that are reached over ssh, as places where processes run.

A run has one connection to each host (`tacholog.campaign.machines.ssh`). The output of a process goes into files in a temporary folder on its host,
and is brought here after the end, when nothing is measured any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tacholog.campaign.machines.machine import CannotStart, HostEntry, Job, Program
from tacholog.campaign.machines.remote_facts import FACTS, HostFacts, facts_from
from tacholog.campaign.machines.remote_running import Check, RemoteRunning
from tacholog.campaign.machines.ssh import Connection, Lost, whole_number
from tacholog.errors import TachologError
from tacholog.runs.host import Moment
from tacholog.runs.manifest import Host
from tacholog.visible import drawn_in_line

_ASK_TIMEOUT_S = 20.0
_DIGEST_TIMEOUT_S = 600.0  # a log may have gigabytes
_LARGEST_ANSWER_BYTES = 2**23
_SOCKETS = tuple(f"/proc/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6"))
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


class RemoteMachine:
    """A host that is reached over ssh."""

    def __init__(self, name: str, entry: HostEntry) -> None:
        """Connect.

        Args:
            name: the host's name in the campaign.
            entry: how it is reached.

        Raises:
            TachologError: there is no connection; the message quotes ssh.
        """
        self._name = name
        self._prefix = entry.prefix
        self._running: dict[str, RemoteRunning] = {}
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
        """Its name in the campaign."""
        return self._name

    @property
    def boot_id(self) -> str | None:
        """The kernel's id of the boot."""
        return self._facts.boot_id if self._facts else None

    def find(self, word: str) -> Program:
        """Return the program of this name on the PATH there, or with this path."""
        path = (self.ask(["sh", "-c", _FIND, "sh", word]) or "").strip("\n")
        if not path.startswith("/"):
            raise TachologError(f"{word}: no such program on host {self._name}; install it there, or put it on the PATH that ssh commands have there")
        return Program(path, self.digest(path, self._prefix))

    def digest(self, path: str, prefix: Sequence[str] = ()) -> str | None:
        """Return the SHA-256 of a file there; ``None`` if no program there computes it."""
        try:
            code, text = self._run([*prefix, "sh", "-c", _DIGEST, "sh", path], _DIGEST_TIMEOUT_S)
        except CannotStart:
            return None
        found = re.search(rb"\b[0-9a-f]{64}\b", text)
        return found[0].decode() if found and code == 0 else None

    def ask(self, argv: Sequence[str]) -> str | None:
        """Run a short command there, and return what it prints."""
        code, text = self._run([*self._prefix, *argv], _ASK_TIMEOUT_S)
        return text.decode("utf-8", "replace") if code == 0 else None

    def describe(self) -> Host:
        """Return the host as a host file describes it."""
        return self._read_facts("all").describe()

    def environment(self) -> Mapping[str, str]:
        """Return what may change between two runs."""
        return self._read_facts("all").environment()

    def moment(self) -> Moment:
        """Return what changes from second to second; nothing if the connection is lost."""
        try:
            return self._read_facts("moment").moment()
        except TachologError:  # lost, or its disk is full: the run says so
            return Moment({}, None)

    def is_listening(self, port: int) -> bool:
        """Whether any process there listens on this port, in the network namespace where the prefix leads."""
        check = self.check(self.listening(port))
        check.done.wait()
        if check.code is None:
            raise Lost(self._connection.reason)
        return check.code == 0

    def listening(self, port: int) -> list[str]:
        """Return a command that succeeds if a TCP socket listens on the port (0A), or if an unconnected UDP socket has it (07)."""
        line = f"^ *[0-9]+: [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ (0A|07) "
        return [*self._prefix, "grep", "-s", "-q", "-E", line, *_SOCKETS]

    def check(self, argv: Sequence[str]) -> Check:
        """Run a command there that ends at once, and return where its exit code will be."""
        check = Check()
        self._checks[number := self._new_number()] = check
        self._connection.send("check", number, *argv)
        if self._is_lost:
            check.done.set()
        return check

    def start(self, job: Job) -> RemoteRunning:
        """Start a process.

        Raises:
            CannotStart: it was not started.
        """
        try:
            return self._start(job, [*self._prefix, job.program, *job.argv[1:]])
        except Lost as error:
            raise CannotStart(str(error)) from error

    def _start(self, job: Job | None, argv: Sequence[str]) -> RemoteRunning:
        number = self._new_number()
        running = self._running[number] = RemoteRunning(self, self._connection, job, number)
        answer = self._connection.request("start", number, *argv)
        if answer[:1] != ["started"]:
            del self._running[number]
            raise CannotStart(f"host {self._name}: {drawn_in_line(' '.join(answer[2:]))}")
        self._connection.beat_soon()
        return running

    def _run(self, argv: Sequence[str], timeout_s: float) -> tuple[int | None, bytes]:
        """Run a command that is not a process of the run. Return its exit code and what it printed; ``None`` if it took too long."""
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
        """Take what the host reports without being asked. This runs in the thread of the connection."""
        match words:
            case ["started", number, pid] if number in self._running:
                self._running[number].has_started(pid)
            case ["ended", number, code] if number in self._running:
                self._running[number].has_reported(code)
            case ["checked", number, code] if number in self._checks:
                check = self._checks.pop(number)
                check.code = whole_number(code)
                check.done.set()
            case ["lost"]:
                self._is_lost = True
                for running in list(self._running.values()):
                    running.is_lost()
                for check in list(self._checks.values()):
                    check.done.set()
            case _:
                pass

    def close(self) -> None:
        """End what is left of all processes that were started here, and close the connection."""
        self._connection.close()
        for running in self._running.values():
            running.release()
