"""The plan of a campaign: all runs, in the order in which they will be done."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tacholog.campaign.campaign_file import (
    LONGEST_S,
    MOST_RUNS,
    Campaign,
    Process,
    RunBlock,
    SustainedRate,
    Value,
    Values,
    addresses,
    check_hosts,
    check_processes,
    fill,
    fill_process,
    fill_value,
)
from tacholog.campaign.machines.machine import HostEntry
from tacholog.errors import UnreadableInput
from tacholog.runs.disturbance import Limits
from tacholog.runs.labels import CONTROL, label_name
from tacholog.runs.manifest import LabelName, LabelValue, in_words, read_evidence_toml
from tacholog.schema.conditions import StatedConditions

_LONGEST_NAME = 200  # in bytes; file systems allow 255 bytes, and a temporary name is longer than the final name


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One run of a plan, in one folder. It has either a command or processes. All placeholders have been replaced."""

    folder: str
    repetition: int
    order_index: int
    command: tuple[str, ...] | None = None
    processes: tuple[Process, ...] = ()
    labels: dict[LabelName, str] = {}
    conditions: StatedConditions
    options: Values
    sustained: SustainedRate | None = None
    expected_s: float
    deadline_s: float

    @property
    def variant(self) -> str:
        """Return the name of the variant to which the run belongs."""
        return self.folder.rpartition("/")[0]


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``plan.toml``: all runs of a campaign in their order.

    Attributes:
        host: the id of this machine.
        programs: the SHA-256 of each measured program, by its name in the commands. The name is ``HOST:NAME`` if the program is on another host, or
            runs behind a prefix (see `tacholog.campaign.hosts.program_key`).
        versions: the version of each program, by the names that ``programs`` uses. Versions are given only if the runs have processes.
        system_version: the version of the system. It is absent if the version of the tool is also the version of the system.
        hosts: the hosts of the campaign, by their names.
        host_ids: the id of each host, by the name of the host. The id is also the name of the host file.
        shares_release: whether other campaigns of this tool were started together with this campaign, under the same release. Each campaign then has
            a separate subfolder in the folder of the release.
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
    system_version: str | None = None
    programs: dict[str, str] = {}
    versions: dict[str, str] = {}
    hosts: dict[str, HostEntry] = {}
    host_ids: dict[str, str] = {}
    release: str | None = None
    shares_release: bool = False
    notes: tuple[str, ...] = ()
    limits: Limits | None = None
    runs: tuple[PlannedRun, ...]


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

    Each repetition is a round over all variants, in a new random order. So a slow drift of the machine affects all variants equally.

    Args:
        campaign: the campaign to run.
        seed: the seed of the random order; the same seed gives the same plan.
        cpus: the CPU lists for the threads of the publisher and of the subscriber.
        listed: the names that the program of ``only_if_listed`` prints. A variant is left out if its name is not one of these names. ``None``: no
            variant is left out.

    Raises:
        UnreadableInput: a placeholder has no value, two variants have the same name, or the processes of a block cannot make a run.
    """
    check_hosts(campaign.hosts)
    random_order = random.Random(seed)  # noqa: S311 - an order, not a secret
    variants = [(block, varied) for block, varied, name in _variants(campaign) if listed is None or name is None or name in listed]
    runs: list[PlannedRun] = []
    for repetition in range(1, campaign.repetitions + 1):
        # The variants are in random order, but searches come first, because other runs need their results.
        for block, varied in sorted(random_order.sample(variants, len(variants)), key=lambda variant: variant[0].sustained is not None):
            if repetition > (block.repetitions or campaign.repetitions):
                continue
            options = _shuffled({**block.options, **varied}, block.shuffle, random_order)
            values: Values = {"cpu_pub": cpus[0], "cpu_sub": cpus[1], **addresses(campaign.hosts), **options}
            runs.append(_planned(campaign, block, (_folder(block, values, repetition), repetition, len(runs) + 1), options, values))
    duplicates = [folder for folder, count in Counter(run.folder for run in runs).items() if count > 1]
    if duplicates:
        raise UnreadableInput(
            f"two runs are called {duplicates[0]}: put what varies into the name of the block, as in name = 'latency-{{transport}}'"
        )
    _check_folder_names(runs)
    folders = {run.folder for run in runs}
    for run in runs:
        if run.sustained and f"{run.sustained.run}/01" not in folders:
            raise UnreadableInput(f"{run.folder}: sustained: there is no variant {run.sustained.run!r} that searches the rate")
    return tuple(runs)


def _check_folder_names(runs: Iterable[PlannedRun]) -> None:
    for run in runs:
        for name in run.folder.split("/"):
            if len(name.encode()) > _LONGEST_NAME:
                raise UnreadableInput(f"the name of a run has more than {_LONGEST_NAME} bytes, so no folder can have it: {name[:60]}...")


def left_out(campaign: Campaign, listed: Collection[str]) -> list[str]:
    """Return the names that variants need, but that the program of ``only_if_listed`` does not list. Each name occurs once."""
    return list(dict.fromkeys(name for _, _, name in _variants(campaign) if name is not None and name not in listed))


def _variants(campaign: Campaign) -> Iterator[tuple[RunBlock, dict[str, Value], str | None]]:
    """Yield each variant: its block, its values of ``vary``, and the name that ``only_if_listed`` looks for. ``None``: it looks for no name."""
    if campaign.repetitions * sum(math.prod(map(len, block.vary.values())) for block in campaign.runs) > MOST_RUNS:
        raise UnreadableInput(f"the repetitions and the values of vary make more than {MOST_RUNS:,} runs")
    for block in campaign.runs:
        for values in itertools.product(*block.vary.values()):
            varied = dict(zip(block.vary, values, strict=True))
            needed = campaign.only_if_listed
            yield block, varied, fill(needed.name, {**block.options, **varied}) if needed else None


def _shuffled(options: Values, names: tuple[str, ...], random_order: random.Random) -> Values:
    for name in names:
        values = options.get(name)
        if not isinstance(values, list):
            raise UnreadableInput(f"shuffle: the options have no list called {name!r}")
        options = options | {name: random_order.sample(values, len(values))}
    return options


def _folder(block: RunBlock, values: Values, repetition: int) -> str:
    folder = fill(block.name, values)
    if not re.fullmatch(r"[\w.,:+@=-]+", folder) or folder.startswith("."):
        raise UnreadableInput(
            f"name = {folder!r}: the name of a run becomes a folder: use letters, digits and . , : + @ = _ - only, and no dot first"
        )
    return f"{folder}/{repetition:02d}"


def _planned(campaign: Campaign, block: RunBlock, position: tuple[str, int, int], options: Values, values: Values) -> PlannedRun:
    folder, repetition, order_index = position
    expected_s, worst_s = _expected_and_longest_s(options)
    try:
        conditions = msgspec.convert({name: fill_value(value, values) for name, value in block.conditions.items()}, StatedConditions)
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"block {block.name!r}, conditions: {in_words(error, StatedConditions)}") from error
    return PlannedRun(
        folder=folder,
        repetition=repetition,
        order_index=order_index,
        command=tuple(fill(word, values) for word in block.command) if block.command else None,
        processes=_processes(campaign, block, values),
        labels=_labels({**campaign.labels, **block.labels, **({label_name(CONTROL): "yes"} if block.control else {})}, values),
        conditions=conditions,
        options=options,
        sustained=msgspec.structs.replace(block.sustained, run=fill(block.sustained.run, values)) if block.sustained else None,
        expected_s=block.expected_s or expected_s,
        deadline_s=block.deadline_s or 2 * worst_s + 30,
    )


def _processes(campaign: Campaign, block: RunBlock, values: Values) -> tuple[Process, ...]:
    if bool(block.command) == bool(block.processes):
        raise UnreadableInput(f"block {block.name!r}: it needs either a command or [[runs.processes]], and not both")
    try:
        processes = tuple(fill_process(process, values) for process in block.processes)
        if processes:
            check_processes(processes, campaign.hosts)
    except UnreadableInput as error:
        raise UnreadableInput(f"block {block.name!r}: {error}") from error
    return processes


def _labels(labels: Mapping[str, str], values: Values) -> dict[str, str]:
    try:
        return msgspec.convert({name: fill(text, values) for name, text in labels.items()}, dict[LabelName, LabelValue])
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"labels: {in_words(error, Campaign)}") from error


def _expected_and_longest_s(options: Values) -> tuple[float, float]:
    sizes = options.get("sizes_bytes")
    count = len(sizes) if isinstance(sizes, list) else 1
    duration_s = _number(options.get("duration_s"), 10)
    # perftest ends its warm-up after 30 s, even if the results are not steady.
    warmup_s, longest_warmup_s = (_number(options.get("warmup_s"), otherwise) for otherwise in (5, 30))
    return 0.5 + count * (duration_s + warmup_s), count * (duration_s + longest_warmup_s)


def _number(value: Value | list[Value] | None, otherwise: float) -> float:
    return value if isinstance(value, int | float) and 0 <= value <= LONGEST_S else otherwise
