"""The processes of a run, as a campaign file states them: ``[[runs.processes]]`` and ``hosts``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Literal

import msgspec

from tacholog.campaign.machines.machine import HostEntry, Ready
from tacholog.campaign.machines.ssh import check_place
from tacholog.campaign.placeholders import Value, Values, fill
from tacholog.errors import UnreadableInput
from tacholog.runs.clocks import CLOCK_FILE
from tacholog.runs.manifest import FLOOR, RUN_FILE, FileName

#: The log of the run that holds what its processes used. The harness writes it.
RESOURCES_FILE = "resources.log"
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,63}", re.ASCII)
_HOST = re.compile(r"[A-Za-z][\w-]{0,63}", re.ASCII)
_PORTS = range(1, 2**16)


class Process(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One process of the runs of a block: ``[[runs.processes]]``.

    Attributes:
        name: what it is called in messages and in ``run.toml``.
        role: what it does, such as ``sub`` or ``server``.
        command: the program and its arguments.
        host: a name from ``hosts``; this machine without it.
        ready: when the next process may start; at once without it.
        ends: ``itself``, or ``stopped`` by the harness once all others have ended.
        log: the file for its standard output; NAME.log without it.
        results: false if the log holds no results.
        deadline_s: how long it may take, if it ends by itself.
        format: the format of its log, if the content does not show it; that of the campaign without it.
    """

    name: str
    role: str
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    host: str | None = None
    ready: Ready | None = None
    ends: Literal["itself", "stopped"] = "itself"
    log: FileName | None = None
    results: bool = True
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    format: str | None = None

    @property
    def log_file(self) -> str:
        """The file for its standard output."""
        return self.log or f"{self.name}.log"

    @property
    def errors_file(self) -> str:
        """The file for its standard error."""
        return errors_file(self.log_file)


def errors_file(log: str) -> str:
    """Return the file for the standard error of the process that has this log."""
    return f"{PurePath(log).stem}.stderr.txt"


def is_floor(processes: Sequence[Process]) -> bool:
    """Return whether these are the processes of a control that was added to the campaign."""
    return any(process.command[0] == FLOOR for process in processes)


def main_process(processes: Sequence[Process]) -> Process:
    """Return the process whose machine is the host of the run: the first one that ends by itself and has results.

    Without such a process it is the first one that ends by itself.
    """
    ending = [process for process in processes if process.ends == "itself"]
    return next((process for process in ending if process.results), next(iter(ending), processes[0]))


def addresses(hosts: Mapping[str, HostEntry]) -> Values:
    """Return the placeholders that hosts define, with their values."""
    return {f"{name}.address": entry.address for name, entry in hosts.items() if entry.address is not None}


def check_hosts(hosts: Mapping[str, HostEntry]) -> None:
    """Refuse hosts whose names cannot be placeholders and parts of file names, and addresses for ssh that would be options of ssh."""
    for name, entry in hosts.items():
        if not _HOST.fullmatch(name):
            raise UnreadableInput(f"hosts: {name!r} cannot be the name of a host: use a letter, then letters, digits, _ and -")
        if entry.ssh is not None:
            check_place(name, entry.ssh)


def filled(process: Process, known: Mapping[str, Value | list[Value]]) -> Process:
    """Return the process of one run: its placeholders are replaced, and its port is a number."""
    return msgspec.structs.replace(
        process,
        command=tuple(fill(word, known) for word in process.command),
        ready=_filled_ready(process, process.ready, known) if process.ready else None,
    )


def _filled_ready(process: Process, ready: Ready, known: Mapping[str, Value | list[Value]]) -> Ready:
    stated = [name for name in ("output", "port", "seconds") if getattr(ready, name) is not None]
    if len(stated) != 1:
        raise UnreadableInput(
            f"process {process.name!r}: ready needs exactly one of output, port and seconds; it has {' and '.join(stated) or 'none'}"
        )
    port = fill(str(ready.port), known) if ready.port is not None else None
    if port is not None and not (re.fullmatch("[0-9]{1,5}", port) and int(port) in _PORTS):
        raise UnreadableInput(f"process {process.name!r}: ready = {{ port = {port!r} }} is not a number from 1 to {_PORTS[-1]}")
    output = fill(ready.output, known) if ready.output is not None else None
    return msgspec.structs.replace(ready, port=int(port) if port is not None else None, output=output)


def check_processes(processes: Sequence[Process], hosts: Mapping[str, HostEntry]) -> None:
    """Refuse processes that cannot make a run, with one line that says why.

    Args:
        processes: the processes of one run, with placeholders replaced.
        hosts: the hosts of the campaign.
    """
    for process in processes:
        _check_process(process, hosts)
    _check_distinct("are called", [process.name for process in processes])
    _check_distinct("write to", [file for process in processes for file in (process.log_file, process.errors_file)])
    ports = [(process.host, process.ready.port) for process in processes if process.ready and process.ready.port is not None]
    _check_distinct("wait for port", [f"{port} on {host or 'this machine'}" for host, port in ports])
    if all(process.ends == "stopped" for process in processes):
        raise UnreadableInput("no process ends by itself, so nothing would end the run: leave out ends = 'stopped' of the one that measures")
    if not any(process.results for process in processes):
        raise UnreadableInput("no process has a log with results: leave out results = false of the one that measures")


def _check_process(process: Process, hosts: Mapping[str, HostEntry]) -> None:
    if not _NAME.fullmatch(process.name):
        raise UnreadableInput(
            f"process {process.name[:80]!r}: a name needs letters, digits and . _ + - only, 64 at most, because the log is called after it"
        )
    if process.host is not None and process.host not in hosts:
        known = f"the hosts are {', '.join(hosts)}" if hosts else "the campaign has no hosts"
        raise UnreadableInput(f"process {process.name!r}: host = {process.host!r} is unknown; {known}")
    own = (RUN_FILE, RESOURCES_FILE, CLOCK_FILE)
    if process.log_file in own or process.log_file.startswith("."):
        raise UnreadableInput(f"process {process.name!r}: log = {process.log_file!r} is not free: the harness writes {', '.join(own)}")
    if process.deadline_s is not None and process.ends == "stopped":
        raise UnreadableInput(f"process {process.name!r}: deadline_s is for processes that end by themselves; ready has its own deadline_s")


def _check_distinct(what: str, values: Sequence[str]) -> None:
    twice = next((value for value, count in Counter(values).items() if count > 1), None)
    if twice is not None:
        raise UnreadableInput(f"two processes {what} {twice}")
