"""Campaign files and plans: read a campaign, and list all its runs in the order in which they will be done."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.placeholders import Value, Values, fill, fill_value
from tacholog.campaign.processes import Process, addresses, check_hosts, check_processes, filled
from tacholog.errors import UnreadableInput
from tacholog.formats.registry import format_named
from tacholog.runs.disturbance import Limits
from tacholog.runs.labels import CONTROL, label_name
from tacholog.runs.manifest import FileName, LabelName, LabelValue, in_words, read_evidence_toml, read_toml
from tacholog.schema.conditions import StatedConditions

MOST_RUNS = 100_000  # Of a campaign. More are a slip, and the plan alone would take the memory.
LONGEST_S = 1e7  # Of a run: sixteen weeks.
Seconds = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_S)]
_LONGEST_NAME = 200  # Bytes: 255 is what file systems allow, and temporary names are longer.


class _Toml(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A table of a TOML file. An unknown key is an error."""


class Listing(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """What a program lists: ``only_if_listed``. Variants that it does not list are left out.

    Attributes:
        by: the program on this machine that prints the list, and its arguments. A name begins a line. Lines that begin with a blank list nothing.
        name: the name that a variant needs, such as ``{transport}``.
    """

    by: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    name: str


class Block(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """A block of runs: ``[[runs]]``. Its runs share a command, or the commands of several processes.

    Attributes:
        name: the name of each variant, which becomes a folder. It holds a placeholder for each list in ``vary``.
        command: the program and its arguments, if a run is one process. No shell reads it. Without it, that of the campaign.
        arguments: words behind the command.
        processes: the processes of a run, if there are several: ``[[runs.processes]]``.
        labels: words of your own for these runs, added to those of the campaign.
        control: whether these runs are controls: something that no release changes, measured to see whether the host did. They get the label
            ``control = "yes"``.
        vary: lists of values. Each combination of them is one variant. The values are recorded as options.
        options: other values for placeholders. They are recorded, and runs with different options are not put into one row.
        conditions: what the log does not state, such as ``transport``; see conditions.md.
        shuffle: names of options that are lists. Each run gets such a list in a new random order.
        expected_s: how long a run takes, for the time that is left. Without it, it is computed from the options ``duration_s``, ``warmup_s`` and
            ``sizes_bytes``.
        deadline_s: when a run is stopped and has failed. Without it, twice the longest duration by these options, and 30 s.
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
    expected_s: Seconds | None = None
    deadline_s: Seconds | None = None


class Campaign(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """A campaign file: the keys before the first table.

    Attributes:
        system: what is measured, such as a middleware. Pages are made of it.
        tool: what measures it.
        repetitions: how often each variant is run.
        runs: the blocks of runs: ``[[runs]]``.
        log: the file for the output, if a run is one process.
        format: the format of the logs (``tacholog formats``), if their content does not show it. By it, the plan tells which conditions are missing.
        version_command: prints the version of the tool. The first version number in its output is used.
        tool_version: the version of the tool, if no command prints it.
        hosts: the hosts that processes run on, by their names: ``hosts.NAME``.
        labels: words of your own for all runs, such as ``{ kernel = "6.1" }``. They are part of a row's name, and a filter on pages.
        command: of all blocks that have neither a command nor processes.
        options: of all blocks, which may state other values.
        only_if_listed: leaves out the variants that a program does not list, such as transports that a build does not have.
        limits: how much other programs and the host may disturb a run.
        seed: of the random order. Without it, a seed is chosen and recorded.
        notes: sentences that stand on the page of each run.
    """

    system: str
    tool: str
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    runs: Annotated[tuple[Block, ...], msgspec.Meta(min_length=1)]
    log: FileName = "perftest.log"
    format: str | None = None
    version_command: tuple[str, ...] | None = None
    tool_version: str | None = None
    hosts: dict[str, HostEntry] = {}
    labels: dict[LabelName, str] = {}
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    options: Values = {}
    only_if_listed: Listing | None = None
    limits: Limits | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()


class PlannedRun(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a plan, in one folder. It has either a command, or processes, whose placeholders are replaced."""

    folder: str
    repetition: int
    order_index: int
    command: tuple[str, ...] | None = None
    processes: tuple[Process, ...] = ()
    labels: dict[LabelName, str] = {}
    conditions: StatedConditions
    options: Values
    expected_s: float
    deadline_s: float


class Plan(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """``plan.toml``: all runs of a campaign in their order.

    Attributes:
        host: the id of this machine.
        programs: the SHA-256 of each measured program, by its name in the commands. If it is on a machine that is reached over ssh, the name is
            ``HOST:NAME``.
        versions: the version of each program, by the same names, if the runs have processes.
        hosts: the hosts of the campaign, by their names.
        host_ids: the id of each of these hosts, which is the name of its host file.
    """

    campaign: str
    system: str
    tool: str
    log: str
    seed: int
    session: str
    host: str
    format: str | None = None
    tool_version: str | None = None
    programs: dict[str, str] = {}
    versions: dict[str, str] = {}
    hosts: dict[str, HostEntry] = {}
    host_ids: dict[str, str] = {}
    release: str | None = None
    notes: tuple[str, ...] = ()
    limits: Limits | None = None
    runs: tuple[PlannedRun, ...]


def read_campaign(path: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        UnreadableInput: the file is missing, is not TOML, or is not a campaign, or it names a format that does not exist; the message names file and
            key.
    """
    campaign = read_toml(path, Campaign)
    _check_format(f"{path}: format", campaign.format)
    for block in campaign.runs:
        for process in block.processes:
            _check_format(f"{path}: block {block.name!r}, process {process.name!r}: format", process.format)
    with named(path):
        return msgspec.structs.replace(campaign, runs=tuple(_complete(block, campaign) for block in campaign.runs))


def _complete(block: Block, campaign: Campaign) -> Block:
    """Return a block with what the campaign states for all its blocks, and with its arguments behind its command."""
    if block.processes and block.arguments:
        raise UnreadableInput(f"block {block.name!r}: arguments belong to a command; the commands of its processes have their own")
    command = block.command or (None if block.processes else campaign.command)
    return msgspec.structs.replace(
        block, command=(*command, *block.arguments) if command else None, arguments=(), options={**campaign.options, **block.options}
    )


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Put the file of the campaign before errors of its blocks.

    Raises:
        UnreadableInput: as raised inside, after the path.
    """
    try:
        yield
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {error}") from error


def _check_format(place: str, name: str | None) -> None:
    """Refuse a format that does not exist. Otherwise the mistake would show only after the first run."""
    try:
        if name is not None:
            format_named(name)
    except UnreadableInput as error:
        raise UnreadableInput(f"{place}: {error}") from None


def read_plan(path: Path) -> Plan:
    """Read the ``plan.toml`` of a campaign that was started.

    Raises:
        UnreadableInput: the file is missing or is not a plan; the message names file and key.
    """
    plan = read_evidence_toml(path, Plan)
    logs = {process.log_file for run in plan.runs for process in run.processes}
    for name in (plan.log, *logs, *(run.folder for run in plan.runs)):
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise UnreadableInput(f"{path}: {name!r} is outside the folder of the campaign")
    return plan


def schedule_runs(campaign: Campaign, seed: int, cpus: tuple[str, str], listed: Collection[str] | None = None) -> tuple[PlannedRun, ...]:
    """Return all runs of a campaign, in the order in which they will be done.

    Each repetition is a round over all variants, in a new random order. So a slow drift of the machine affects all variants alike.

    Args:
        campaign: what to run.
        seed: seed of the random order; the same seed gives the same plan.
        cpus: the CPU lists for the threads of the publisher and of the subscriber.
        listed: the names that the program of ``only_if_listed`` lists. Variants with another name are left out. ``None``: none is left out.

    Raises:
        UnreadableInput: a placeholder has no value, two variants have the same name, or the processes of a block cannot make a run.
    """
    check_hosts(campaign.hosts)
    random_order = random.Random(seed)  # noqa: S311 - an order, not a secret
    variants = [(block, varied) for block, varied, name in _variants(campaign) if listed is None or name is None or name in listed]
    runs: list[PlannedRun] = []
    for repetition in range(1, campaign.repetitions + 1):
        for block, varied in random_order.sample(variants, len(variants)):
            options = _shuffled({**block.options, **varied}, block.shuffle, random_order)
            known: Values = {"cpu_pub": cpus[0], "cpu_sub": cpus[1], **addresses(campaign.hosts), **options}
            runs.append(_planned(campaign, block, (_folder(block, known, repetition), repetition, len(runs) + 1), options, known))
    duplicates = [folder for folder, count in Counter(run.folder for run in runs).items() if count > 1]
    if duplicates:
        raise UnreadableInput(
            f"two runs are called {duplicates[0]}: put what varies into the name of the block, as in name = 'latency-{{transport}}'"
        )
    _check_lengths(runs)
    return tuple(runs)


def _check_lengths(runs: Iterable[PlannedRun]) -> None:
    """Refuse names that no folder can have, before anything is run. Names of processes have a limit of their own.

    Raises:
        UnreadableInput: the name of a run is too long.
    """
    for run in runs:
        for name in run.folder.split("/"):
            if len(name.encode()) > _LONGEST_NAME:
                raise UnreadableInput(f"the name of a run has more than {_LONGEST_NAME} bytes, so no folder can have it: {name[:60]}...")


def left_out(campaign: Campaign, listed: Collection[str]) -> list[str]:
    """Return the names that variants need and that the program of ``only_if_listed`` does not list, each once."""
    return list(dict.fromkeys(name for _, _, name in _variants(campaign) if name is not None and name not in listed))


def _variants(campaign: Campaign) -> Iterator[tuple[Block, dict[str, Value], str | None]]:
    """Yield each combination of the lists of each block, and the name that it needs in the list of ``only_if_listed``."""
    if campaign.repetitions * sum(math.prod(map(len, block.vary.values())) for block in campaign.runs) > MOST_RUNS:
        raise UnreadableInput(f"repetitions and vary make more than {MOST_RUNS:,} runs")
    for block in campaign.runs:
        for values in itertools.product(*block.vary.values()):
            varied = dict(zip(block.vary, values, strict=True))
            needed = campaign.only_if_listed
            yield block, varied, fill(needed.name, {**block.options, **varied}) if needed else None


def _shuffled(options: Values, names: tuple[str, ...], random_order: random.Random) -> Values:
    """Return the options; the lists of these names are in a new random order."""
    for name in names:
        values = options.get(name)
        if not isinstance(values, list):
            raise UnreadableInput(f"shuffle: the options have no list called {name!r}")
        options = options | {name: random_order.sample(values, len(values))}
    return options


def _folder(block: Block, known: Values, repetition: int) -> str:
    folder = fill(block.name, known)
    if not re.fullmatch(r"[\w.,:+@=-]+", folder) or folder.startswith("."):
        raise UnreadableInput(
            f"name = {folder!r}: the name of a run becomes a folder: use letters, digits and . , : + @ = _ - only, and no dot first"
        )
    return f"{folder}/{repetition:02d}"


def _planned(campaign: Campaign, block: Block, place: tuple[str, int, int], options: Values, known: Values) -> PlannedRun:
    folder, repetition, order_index = place
    expected_s, worst_s = _seconds(options)
    try:
        conditions = msgspec.convert({name: fill_value(value, known) for name, value in block.conditions.items()}, StatedConditions)
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"block {block.name!r}, conditions: {in_words(error, StatedConditions)}") from error
    return PlannedRun(
        folder=folder,
        repetition=repetition,
        order_index=order_index,
        command=tuple(fill(word, known) for word in block.command) if block.command else None,
        processes=_processes(campaign, block, known),
        labels=_labels({**campaign.labels, **block.labels, **({label_name(CONTROL): "yes"} if block.control else {})}, known),
        conditions=conditions,
        options=options,
        expected_s=block.expected_s or expected_s,
        deadline_s=block.deadline_s or 2 * worst_s + 30,
    )


def _processes(campaign: Campaign, block: Block, known: Values) -> tuple[Process, ...]:
    if bool(block.command) == bool(block.processes):
        raise UnreadableInput(f"block {block.name!r}: it needs either a command or [[runs.processes]], and not both")
    try:
        processes = tuple(filled(process, known) for process in block.processes)
        if processes:
            check_processes(processes, campaign.hosts)
    except UnreadableInput as error:
        raise UnreadableInput(f"block {block.name!r}: {error}") from error
    return processes


def _labels(labels: Mapping[str, str], known: Values) -> dict[str, str]:
    try:
        return msgspec.convert({name: fill(text, known) for name, text in labels.items()}, dict[LabelName, LabelValue])
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"labels: {in_words(error, Campaign)}") from error


def _seconds(options: Values) -> tuple[float, float]:
    """Return the expected and the longest duration of a run with these options.

    perftest ends its warm-up after 30 s even if the results are not steady by then.
    """
    sizes = options.get("sizes_bytes")
    count = len(sizes) if isinstance(sizes, list) else 1
    duration_s = _number(options.get("duration_s"), 10)
    warmup_s, longest_warmup_s = (_number(options.get("warmup_s"), otherwise) for otherwise in (5, 30))
    return 0.5 + count * (duration_s + warmup_s), count * (duration_s + longest_warmup_s)


def _number(value: Value | list[Value] | None, otherwise: float) -> float:
    return value if isinstance(value, int | float) and 0 <= value <= LONGEST_S else otherwise
