"""The values that a run and its machines exchange: hosts and processes of a campaign, programs, and how a process ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tacholog.errors import TachologError

EndCause = Literal["itself", "harness", "lost"]
GRACE_S = 2.0  # the time between SIGTERM and SIGKILL
SOCKET_FILES = tuple(f"/proc/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6"))


class HostEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A host of a campaign: ``hosts.NAME = {...}``.

    Attributes:
        ssh: the destination for ssh: ``user@host`` or a name from the user's ssh configuration. Default: the host is this machine.
        prefix: words before each command, such as ``["ip", "netns", "exec", "b"]``.
        address: the value of the placeholder ``{NAME.address}``.
    """

    ssh: str | None = None
    prefix: tuple[str, ...] = ()
    address: str | None = None


class ReadyCondition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a process counts as ready, so that the next process is started. Exactly one of ``output``, ``port`` and ``seconds`` is stated.

    Attributes:
        output: the process has printed this text.
        port: the process listens on this port, TCP or UDP.
        seconds: this time has passed since the start of the process.
        deadline_s: the longest time to wait for the output or the port; after this time, the run has failed.
    """

    output: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    port: int | str | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] = 10.0


class Program(msgspec.Struct, frozen=True):
    """A program on a machine: its path, and the SHA-256 of its file."""

    path: str
    sha256: str | None = None


class Resources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The resources that a process and its children used, as the kernel counted them. ``None`` means unknown.

    Attributes:
        duration_ns: the time from the start to the end of the process.
        max_rss_is_bound: whether the true peak may be lower than ``max_rss_bytes``, because the kernel also counted the program that started it.
        cpu_resolution_ns: the resolution of the processor time, if a shell measured it. In this case, peak memory and context switches were read
            before the process ended, so their true values may be higher. ``None`` if the kernel reported all values after the end of the process.
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
        exit_status: 0 to 255, or the negative number of the signal that ended the process; ``None`` if it is unknown.
        by: ``itself``; ``harness`` if the harness stopped the process; ``lost`` if the connection to it broke or its launcher was killed.
        resources: the resources that it used; ``None`` if they are unknown.
        left: the number of its child processes that could not be ended, such as processes of another user.
        why: the reason why a process was lost, as text.
    """

    exit_status: int | None
    by: EndCause = "itself"
    resources: Resources | None = None
    left: int = 0
    why: str | None = None


class StartError(TachologError):
    """A process was not started; the message states the reason."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A process to start.

    Attributes:
        name: its name in the campaign.
        argv: its command, without the prefix of the machine.
        program: the path of ``argv[0]`` on the machine.
        folder: the folder of the run, on the machine that runs the harness.
        log: the file in this folder for the standard output.
        errors: the file in this folder for the standard error.
    """

    name: str
    argv: tuple[str, ...]
    program: str
    folder: Path
    log: str
    errors: str
