"""The machines of a campaign: open them, find the programs of the plan on them, and describe them as hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tacholog.campaign.campaign_file import Process, main_process
from tacholog.campaign.floor import is_floor
from tacholog.campaign.machines import Machine
from tacholog.campaign.machines.local import LocalMachine
from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.machines.remote import RemoteMachine
from tacholog.campaign.plan import PlannedRun
from tacholog.campaign.programs import measured_program
from tacholog.runs.host import pseudonym
from tacholog.runs.manifest import FLOOR, Host

#: The name of this machine among the machines of a run. No host of a campaign can have this name.
HERE = ""
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")


@contextmanager
def open_machines(
    names: Iterable[str], hosts: Mapping[str, HostEntry], tools: Mapping[str, Path], checkout: Path | None = None
) -> Iterator[Mapping[str, Machine]]:
    """Open machines, and close them at the end. Closing a machine ends all processes that were started on it.

    Args:
        names: names of hosts of the campaign, or `HERE`.
        hosts: the hosts of the campaign.
        tools: the paths of programs on this machine. A key is the first word of the commands that start the program.
        checkout: the repository whose revision is part of the environment of this machine.

    Raises:
        TachologError: a machine cannot be reached.
    """
    machines: dict[str, Machine] = {}
    try:
        for name in dict.fromkeys(names):
            entry = hosts.get(name, HostEntry())
            machines[name] = LocalMachine(name, entry, tools, checkout) if entry.ssh is None else RemoteMachine(name, entry)
        yield machines
    finally:
        for machine in machines.values():
            machine.close()


def machine_name(process: Process) -> str:
    """Return the name of the machine of a process."""
    return process.host or HERE


def program_key(process: Process, word: str, hosts: Mapping[str, HostEntry]) -> str:
    """Return the name by which a plan lists a program.

    It is ``HOST:NAME`` if the process runs over ssh or behind a prefix, because the files there may differ from those of this machine.
    """
    entry = hosts.get(machine_name(process), HostEntry())
    return f"{process.host}:{word}" if entry.ssh is not None or entry.prefix else word


class ProgramIdentities(NamedTuple):
    """The SHA-256 and the versions of the measured programs, by their names in the plan (`program_key`)."""

    checksums: dict[str, str]
    versions: dict[str, str]
    system_version: str | None = None


def find_campaign_programs(
    runs: Sequence[PlannedRun],
    hosts: Mapping[str, HostEntry],
    tools: Mapping[str, Path],
    version_command: Sequence[str] | None = None,
    system_version_command: Sequence[str] | None = None,
) -> ProgramIdentities:
    """Find the programs of all processes, each on its machine.

    Args:
        runs: the runs of the plan.
        hosts: the hosts of the campaign.
        tools: the path of each program on this machine, by its name in commands.
        version_command: a command that prints the version of the program that the command starts. If no process of the campaign runs that program
            (for example, a package manager), the output states the version of the main process's program. In this case, the command runs on each
            machine on which a process runs the main process's program.
        system_version_command: the command that prints the version of the system, on the host of the first process.

    Raises:
        TachologError: a program is missing, or a machine cannot be reached.
    """
    checksums: dict[str, str] = {}
    versions: dict[str, str] = {}
    # One process for each host and program is enough: the other processes differ only in their arguments.
    distinct = {(machine_name(process), process.command[0], measured_program(process.command)): process for run in runs for process in run.processes}
    with open_machines((name for name, _, _ in distinct), hosts, tools) as machines:
        for (name, first, measured), process in sorted(distinct.items(), key=lambda item: item[0]):
            machine, key = machines[name], program_key(process, measured, hosts)
            machine.find(first)
            checksum = machine.find(measured).sha256
            if checksum:
                checksums[key] = checksum
            if first == FLOOR:
                versions |= _version(machine, [FLOOR, "--version"], key)
            elif version_command and version_command[0] in (first, measured):
                versions |= _version(machine, version_command, key)
        of_tool = {key: process for key, process in distinct.items() if FLOOR not in key}
        if version_command and of_tool and not any(version_command[0] in (first, measured) for _, first, measured in of_tool):
            main = measured_program(main_process(next(run.processes for run in runs if run.processes and not is_floor(run.processes))).command)
            for (name, _, measured), process in of_tool.items():
                if measured == main:
                    versions |= _version(machines[name], version_command, program_key(process, measured, hosts))
        first_process = next((run.processes[0] for run in runs if run.processes and not is_floor(run.processes)), None)
        if system_version_command and first_process:
            system = _version(machines[machine_name(first_process)], system_version_command, "system")
            return ProgramIdentities(checksums, versions, system.get("system"))
    return ProgramIdentities(checksums, versions)


def _version(machine: Machine, command: Sequence[str], key: str) -> dict[str, str]:
    match = _VERSION.search(machine.ask([machine.find(command[0]).path, *command[1:]]) or "")
    return {key: match[0]} if match else {}


def describe_hosts(hosts: Mapping[str, HostEntry], tools: Mapping[str, Path]) -> tuple[dict[str, Host], dict[str, str]]:
    """Describe the machines of a campaign.

    Returns:
        The machines by their ids, this machine first; and the id of each host, by its name. Hosts with the same boot id are one machine.

    Raises:
        TachologError: a machine cannot be reached.
    """
    described: dict[str, Host] = {}
    ids: dict[str, str] = {}
    id_by_boot: dict[str | None, str] = {}
    with open_machines((HERE, *hosts), hosts, tools) as machines:
        for name, machine in machines.items():
            host_id = id_by_boot.get(machine.boot_id) if machine.boot_id else None
            if host_id is None:
                host = machine.describe()
                host_id = _unused_id(pseudonym(host), described)
                described[host_id] = host
                id_by_boot[machine.boot_id] = host_id
            ids[name] = host_id
    ids.pop(HERE)
    return described, ids


def _unused_id(name: str, described: Mapping[str, Host]) -> str:
    """Return ``name``, with a number appended if another machine already has this id.

    Machines with the same properties have the same ``name``.
    """
    return next(candidate for candidate in (name, *(f"{name}-{number}" for number in range(2, len(described) + 2))) if candidate not in described)
