"""Machines and the processes on them: what a run needs from a place where a process runs.

`tacholog.campaign.machines.local.LocalMachine` is this machine, also behind words before each command (``prefix``);
`tacholog.campaign.machines.remote.RemoteMachine` is one that is reached over ssh. A run opens its machines, starts its processes on them in order,
waits, and collects their logs. It then closes the machines, so that a lost connection costs one run and not the campaign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Protocol

import msgspec

from tacholog.errors import TachologError
from tacholog.runs.host import Moment
from tacholog.runs.manifest import Host

EndCause = Literal["itself", "harness", "lost"]
GRACE_S = 2.0  # between asking a process to end and killing it


class HostEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A host of a campaign: ``hosts.NAME = {...}``.

    Attributes:
        ssh: what ssh connects to, ``user@host`` or a name from the user's ssh configuration. Without it, the host is this machine.
        prefix: words before each command, such as ``["ip", "netns", "exec", "b"]``.
        address: fills the placeholder ``{NAME.address}``.
    """

    ssh: str | None = None
    prefix: tuple[str, ...] = ()
    address: str | None = None


class ReadyCondition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """When the next process may start. Exactly one of ``output``, ``port`` and ``seconds`` is stated.

    Attributes:
        output: text that the process prints.
        port: the process listens on this port, TCP or UDP.
        seconds: so long after its start.
        deadline_s: how long to wait for output or port; then the run has failed.
    """

    output: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    port: int | str | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] = 10.0


class Program(msgspec.Struct, frozen=True):
    """A program on a machine: its path there, and the SHA-256 of its file."""

    path: str
    sha256: str | None = None


class Resources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a process and its children used, as the kernel counted it. ``None``: not known.

    Attributes:
        duration_ns: from its start to its end.
        max_rss_is_bound: whether the true peak may be lower than ``max_rss_bytes``, because the kernel counted what started the process too.
        cpu_resolution_ns: in which steps a shell counted the processor time. Its memory and its switches are then those of the last look before the
            end: the true values may be higher. ``None`` if the kernel told all of it.
    """

    duration_ns: int | None = None
    user_cpu_ns: int | None = None
    system_cpu_ns: int | None = None
    max_rss_bytes: int | None = None
    max_rss_is_bound: bool = False
    voluntary: int | None = None
    involuntary: int | None = None
    cpu_resolution_ns: int | None = None


class ProcessEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended.

    Attributes:
        exit_status: 0 to 255; below zero the number of the signal that ended it; ``None`` if nobody knows.
        by: ``itself``; ``harness``, if the harness asked it to end; ``lost``, if the connection to it broke or its launcher was killed.
        resources: what it used; ``None`` if the kernel did not tell us.
        left: how many processes that it started could not be ended, such as those of another user.
        why: of a lost process, what happened to the connection, in words.
    """

    exit_status: int | None
    by: EndCause = "itself"
    resources: Resources | None = None
    left: int = 0
    why: str | None = None


class StartError(TachologError):
    """A process was not started; the message says why."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A process that is to be started.

    Attributes:
        name: its name in the campaign.
        argv: its command, without the prefix of the machine.
        program: the path of ``argv[0]`` on the machine.
        folder: the folder of the run, on the machine that runs the harness.
        log: the file in that folder for its standard output.
        errors: the file in that folder for its standard error.
    """

    name: str
    argv: tuple[str, ...]
    program: str
    folder: Path
    log: str
    errors: str


class RunningProcess(Protocol):
    """A process that was started. No method but `collect` blocks."""

    @property
    def job(self) -> Job:
        """What was started."""
        ...

    def fileno(self) -> int:
        """Return a file descriptor for ``select``. It becomes readable when there is news, at the latest when the process has ended."""
        ...

    def poll(self) -> ProcessEnd | None:
        """Return how the process ended, or that it is lost; ``None`` while it runs."""
        ...

    def is_ready(self, ready: ReadyCondition) -> bool:
        """Whether it has printed the text or listens on the port. ``seconds`` are counted by the caller."""
        ...

    def stop(self) -> None:
        """Ask the process to end: SIGTERM to its group now, SIGKILL after `GRACE_S` to all that it started. Doing it twice changes nothing."""
        ...

    def collect(self) -> ProcessEnd:
        """Wait for the end, and bring log and errors whole into the folder of the run. It is called after `stop` or when the process has ended.

        Raises:
            TachologError: the log could not be brought here whole.
        """
        ...


class Machine(Protocol):
    """A place where processes run."""

    @property
    def name(self) -> str:
        """Its name in the campaign; empty for this machine without a name."""
        ...

    @property
    def boot_id(self) -> str | None:
        """The kernel's id of the boot. Two places with the same id are one machine with one clock."""
        ...

    def find(self, word: str) -> Program:
        """Return the program of this name.

        Raises:
            TachologError: there is no such program there.
        """
        ...

    def ask(self, argv: Sequence[str]) -> str | None:
        """Run a short command there, and return what it prints; ``None`` if it cannot be run, or takes longer than 20 s."""
        ...

    def describe(self) -> Host:
        """Return the machine as a host file describes it."""
        ...

    def environment(self) -> Mapping[str, str]:
        """Return what may change between two runs, such as the governor."""
        ...

    def moment(self) -> Moment:
        """Return what changes from second to second, such as the load, and what the processors have done so far."""
        ...

    def is_listening(self, port: int) -> bool:
        """Whether any process there listens on this port, TCP or UDP. Nothing connects to it, because some servers take only one connection."""
        ...

    def start(self, job: Job) -> RunningProcess:
        """Start a process.

        Raises:
            StartError: it was not started.
        """
        ...

    def close(self) -> None:
        """End what is left of all processes that were started here, and close connections."""
        ...
