"""Campaign files. A file contains hosts (``hosts.NAME``) and blocks of runs (``[[runs]]``). A block may contain processes (``[[runs.processes]]``).

A placeholder such as ``{transport}`` is replaced by an option of the run, and ``{b.address}`` by the address of a host.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Annotated, Literal

import msgspec

from tacholog.campaign.machines.machine import HostEntry, ReadyCondition
from tacholog.campaign.machines.ssh import check_destination
from tacholog.errors import UnreadableInput
from tacholog.formats.registry import format_named
from tacholog.runs.clocks import CLOCK_FILE
from tacholog.runs.disturbance import Limits
from tacholog.runs.manifest import RUN_FILE, FileName, LabelName, read_toml
from tacholog.runs.questions import Question

_PLACEHOLDER = re.compile(r"\{(\w+|[\w-]+\.address)\}")
Value = str | int | float | bool
Values = dict[str, Value | list[Value]]
#: The log of the resources that the processes of a run used. The harness writes it.
RESOURCES_FILE = "resources.log"
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,63}", re.ASCII)
_HOST = re.compile(r"[A-Za-z][\w-]{0,63}", re.ASCII)
_PORTS = range(1, 2**16)
MOST_RUNS = 100_000  # the largest number of runs of a campaign; more runs are a mistake, and their plan would not fit into memory
LONGEST_S = 1e7  # the longest duration of a run: sixteen weeks
Seconds = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_S)]


def fill(text: str, values: Mapping[str, Value | list[Value]]) -> str:
    """Return the text with its placeholders replaced. The values of a list are joined by commas.

    Raises:
        UnreadableInput: a placeholder has no value.
    """

    def replacement(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        if name not in values:
            raise UnreadableInput(f"{text!r}: {{{name}}} has no value; the known names are {', '.join(sorted(values))}")
        value = values[name]
        return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)

    return _PLACEHOLDER.sub(replacement, text)


def fill_value(value: Value, values: Mapping[str, Value | list[Value]]) -> Value | list[Value]:
    """Return a value with its placeholders replaced. If the whole value is one placeholder, the result has the type of the replacement."""
    placeholder = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if placeholder and placeholder[1] in values:
        return values[placeholder[1]]
    return fill(value, values) if isinstance(value, str) else value


class Process(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One process of the runs of a block: ``[[runs.processes]]``.

    Attributes:
        name: the name of the process in messages and in ``run.toml``.
        role: the role of the process, such as ``sub`` or ``server``.
        command: the program and its arguments.
        host: a name from ``hosts``. Default: this machine.
        ready: when the next process may start. Default: immediately.
        ends: how the process ends. ``itself`` means that the process ends by itself. ``stopped`` means that the harness stops the process once
            all other processes have ended.
        log: the file for the standard output of the process. Default: NAME.log.
        results: false if the log contains no results.
        deadline_s: the longest duration of the process, if the process ends by itself.
        format: the format of the log, if the format cannot be detected. Default: the format of the campaign.
    """

    name: str
    role: str
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    host: str | None = None
    ready: ReadyCondition | None = None
    ends: Literal["itself", "stopped"] = "itself"
    log: FileName | None = None
    results: bool = True
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    format: str | None = None

    @property
    def log_file(self) -> str:
        """Return the name of the file for the standard output of the process."""
        return self.log or f"{self.name}.log"

    @property
    def errors_file(self) -> str:
        """Return the name of the file for the standard error of the process."""
        return errors_file(self.log_file)


def errors_file(log: str) -> str:
    """Return the file for the standard error of the process with this log."""
    return f"{PurePath(log).stem}.stderr.txt"


def main_process(processes: Sequence[Process]) -> Process:
    """Return the main process of a run. The machine of the main process counts as the host of the run.

    The main process is the first process that ends by itself and has results. If there is no such process, the first process that ends
    by itself is the main process.
    """
    ending = [process for process in processes if process.ends == "itself"]
    return next((process for process in ending if process.results), next(iter(ending), processes[0]))


def addresses(hosts: Mapping[str, HostEntry]) -> Values:
    """Return the placeholders that hosts define, with their values."""
    return {f"{name}.address": entry.address for name, entry in hosts.items() if entry.address is not None}


def check_hosts(hosts: Mapping[str, HostEntry]) -> None:
    """Refuse hosts with an unsuitable name or destination.

    The name is used in placeholders and file names. The destination is an argument of ssh, and must not look like an option.
    """
    for name, entry in hosts.items():
        if not _HOST.fullmatch(name):
            raise UnreadableInput(f"hosts: {name!r} cannot be the name of a host: use a letter, then letters, digits, _ and -")
        if entry.ssh is not None:
            check_destination(name, entry.ssh)


def fill_process(process: Process, values: Mapping[str, Value | list[Value]]) -> Process:
    """Return the process with its placeholders replaced, and its port as a number."""
    return msgspec.structs.replace(
        process,
        command=tuple(fill(word, values) for word in process.command),
        ready=_fill_ready(process, process.ready, values) if process.ready else None,
    )


def _fill_ready(process: Process, ready: ReadyCondition, values: Mapping[str, Value | list[Value]]) -> ReadyCondition:
    keys = [name for name in ("output", "port", "seconds") if getattr(ready, name) is not None]
    if len(keys) != 1:
        raise UnreadableInput(
            f"process {process.name!r}: the key 'ready' needs exactly one of 'output', 'port' and 'seconds'; it has {' and '.join(keys) or 'none'}"
        )
    port = fill(str(ready.port), values) if ready.port is not None else None
    if port is not None and not (re.fullmatch("[0-9]{1,5}", port) and int(port) in _PORTS):
        raise UnreadableInput(f"process {process.name!r}: ready = {{ port = {port!r} }} is not a number from 1 to {_PORTS[-1]}")
    output = fill(ready.output, values) if ready.output is not None else None
    return msgspec.structs.replace(ready, port=int(port) if port is not None else None, output=output)


def check_processes(processes: Sequence[Process], hosts: Mapping[str, HostEntry]) -> None:
    """Refuse processes that cannot form a run.

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
        raise UnreadableInput("every process has ends = 'stopped', so the run would never end; remove it from the process that measures")
    if not any(process.results for process in processes):
        raise UnreadableInput("every process has results = false, so the run would have no results; remove it from the process that measures")


def _check_process(process: Process, hosts: Mapping[str, HostEntry]) -> None:
    if not _NAME.fullmatch(process.name):
        raise UnreadableInput(
            f"process {process.name[:80]!r}: a name may have at most 64 characters, only letters, digits and . _ + -, because it names the log"
        )
    if process.host is not None and process.host not in hosts:
        hint = f"the hosts are {', '.join(hosts)}" if hosts else "the campaign has no hosts"
        raise UnreadableInput(f"process {process.name!r}: host = {process.host!r} is unknown; {hint}")
    reserved = (RUN_FILE, RESOURCES_FILE, CLOCK_FILE)
    if process.log_file in reserved or process.log_file.startswith("."):
        raise UnreadableInput(f"process {process.name!r}: log = {process.log_file!r} is reserved: the harness writes {', '.join(reserved)}")
    if process.deadline_s is not None and process.ends == "stopped":
        raise UnreadableInput(
            f"process {process.name!r}: the key 'deadline_s' is for processes that end by themselves; the key 'ready' has a 'deadline_s' of its own"
        )


def _check_distinct(what: str, values: Sequence[str]) -> None:
    twice = next((value for value, count in Counter(values).items() if count > 1), None)
    if twice is not None:
        raise UnreadableInput(f"two processes {what} {twice}")


class _Toml(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A table of a TOML file. An unknown key is an error."""


class NameList(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """The table ``only_if_listed``: a program that prints a list of names. A variant is left out if its name is not in the list.

    Attributes:
        by: the program on this machine that prints the list, and its arguments. The first word of each line is a name. Lines that begin with a blank
            contain no name, but may explain why a name is missing.
        name: the name that a variant needs, such as ``{transport}``.
    """

    by: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    name: str


class SustainedRate(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """The table ``sustained``: a rate that another run of the same campaign must find.

    The rate replaces ``%rate%`` in the command. It is recorded as ``rate_per_s``.

    Attributes:
        run: the name of the variant that searches (``perftest --test sustain``), such as ``sustain-{transport}``.
        share: the share of the found rate that these runs use. The found rate is that of the first repetition of ``run``. The used rate is rounded
            down to two digits, and is the same for all repetitions.
    """

    run: str
    share: Annotated[float, msgspec.Meta(gt=0, le=1)]


class RunBlock(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """A block of runs: ``[[runs]]``. All runs of a block have the same command, or the same commands of several processes.

    Attributes:
        name: the name of each variant, which becomes a folder. It contains a placeholder for each list in ``vary``.
        command: the program and its arguments, if a run is one process. No shell interprets it. Default: the command of the campaign.
        arguments: words that are appended to the command.
        processes: the processes of a run, if a run has several: ``[[runs.processes]]``.
        labels: labels of these runs, added to those of the campaign.
        control: whether these runs are controls: no release changes them, so they show whether the host changed. They get the label
            ``control = "yes"``.
        vary: lists of values. Each combination of values is one variant. The values are recorded as options.
        options: further values for placeholders. They are recorded, and runs with different options are in different rows.
        conditions: conditions that the log does not state, such as ``transport``; see conditions.md.
        shuffle: names of options that are lists. Each run gets the list in a new random order.
        repetitions: the number of runs of each variant, if it is smaller than that of the campaign.
        sustained: the rate, as a share of the rate that each variant sustained in a search.
        expected_s: the duration of a run, to estimate the remaining time. By default, it is computed from the options ``duration_s``, ``warmup_s``
            and ``sizes_bytes``.
        deadline_s: the time after which a run is stopped and has failed. Default: twice the longest duration by these options, plus 30 s.
    """

    name: str
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    arguments: tuple[str, ...] = ()
    processes: tuple[Process, ...] = ()
    labels: dict[LabelName, str] = {}
    control: bool = False
    vary: dict[str, list[Value]] = {}
    options: Values = {}
    conditions: dict[str, Value] = {}
    shuffle: tuple[str, ...] = ()
    repetitions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    sustained: SustainedRate | None = None
    expected_s: Seconds | None = None
    deadline_s: Seconds | None = None


class Campaign(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """A campaign file: the keys before the first table.

    Attributes:
        system: the measured system, such as a middleware. It has its own pages.
        tool: the tool that measures the system.
        repetitions: the number of runs of each variant.
        runs: the blocks of runs: ``[[runs]]``.
        log: the file for the output, if a run is one process.
        format: the format of the logs (``tacholog formats``), if it cannot be detected. The plan then states which conditions are missing.
        version_command: the command that prints the version of the tool. The first version number in its output is used.
        tool_version: the version of the tool, if no command prints it.
        system_version_command: the command that prints the version of the system, if it is not the version of the tool, such as that of a broker. It
            runs on the host of the first process.
        hosts: the hosts of the processes, by their names: ``hosts.NAME``.
        labels: labels of all runs, such as ``{ kernel = "6.1" }``. They are part of the name of a row, and a filter on pages.
        command: the command of all blocks that have neither a command nor processes.
        options: options of all blocks. A block may state different values.
        only_if_listed: leaves out the variants that a program does not list, such as transports that a build does not contain.
        limits: how much other programs and the host may disturb a run.
        seed: the seed of the random order. By default, a seed is chosen and recorded.
        notes: sentences for the page of each run.
        questions: the questions that the campaign answers: ``[[questions]]``, as in ``site.toml``. A site of its folder starts with the answers.
    """

    system: str
    tool: str
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    runs: Annotated[tuple[RunBlock, ...], msgspec.Meta(min_length=1)]
    log: FileName = "perftest.log"
    format: str | None = None
    version_command: tuple[str, ...] | None = None
    tool_version: str | None = None
    system_version_command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    hosts: dict[str, HostEntry] = {}
    labels: dict[LabelName, str] = {}
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    options: Values = {}
    only_if_listed: NameList | None = None
    limits: Limits | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()


def read_campaign(path: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        UnreadableInput: the file is missing, not TOML or not a campaign, or it names an unknown format; the message names file and key.
    """
    campaign = read_toml(path, Campaign)
    _check_format(f"{path}: format", campaign.format)
    for block in campaign.runs:
        for process in block.processes:
            _check_format(f"{path}: block {block.name!r}, process {process.name!r}: format", process.format)
    with path_in_errors(path):
        return msgspec.structs.replace(campaign, runs=tuple(_with_values_of_campaign(block, campaign) for block in campaign.runs))


def _with_values_of_campaign(block: RunBlock, campaign: Campaign) -> RunBlock:
    if block.processes and block.arguments:
        raise UnreadableInput(
            f"block {block.name!r}: with 'processes', the key 'arguments' is not allowed; add the arguments to the commands of the processes"
        )
    command = block.command or (None if block.processes else campaign.command)
    return msgspec.structs.replace(
        block, command=(*command, *block.arguments) if command else None, arguments=(), options={**campaign.options, **block.options}
    )


@contextmanager
def path_in_errors(path: Path) -> Iterator[None]:
    """Add the path of the campaign file to the message of each `UnreadableInput` error inside the ``with`` block.

    Raises:
        UnreadableInput: the error, with the path.
    """
    try:
        yield
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from error


def _check_format(key: str, name: str | None) -> None:
    try:
        if name is not None:
            format_named(name)
    except UnreadableInput as error:
        raise UnreadableInput(f"{key}: {error}") from None
