"""Campaign files and plans: read a campaign, and list all its runs in the order in which they will be done."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import FileName, in_words, read_evidence_toml, read_toml
from tacholog.schema.conditions import StatedConditions

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
Value = str | int | float | bool
Values = dict[str, Value | list[Value]]


class _Toml(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A table of a TOML file. An unknown key is an error."""


class Block(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """Runs that share a command.

    Each combination of the lists in ``vary`` is one variant. ``shuffle`` names options that are lists;
    each run gets such a list in a new random order.
    """

    name: str
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    vary: dict[str, list[Value]] = {}
    options: Values = {}
    conditions: dict[str, Value] = {}
    shuffle: tuple[str, ...] = ()
    expected_s: float | None = None
    deadline_s: float | None = None


class Campaign(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """A campaign file. ``version_command`` prints the version of the tool; the first version number in its output is used."""

    system: str
    tool: str
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    runs: Annotated[tuple[Block, ...], msgspec.Meta(min_length=1)]
    log: FileName = "perftest.log"
    format: str | None = None
    version_command: tuple[str, ...] | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()


class PlannedRun(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a plan: one process, one folder."""

    folder: str
    repetition: int
    order_index: int
    command: tuple[str, ...]
    conditions: StatedConditions
    options: Values
    expected_s: float
    deadline_s: float


class Plan(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """``plan.toml``: all runs of a campaign in their order. ``programs`` maps the name of each program in the commands to its SHA-256."""

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
    release: str | None = None
    notes: tuple[str, ...] = ()
    runs: tuple[PlannedRun, ...]


def read_campaign(path: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        UnreadableInput: the file is missing, is not TOML, or is not a campaign; the message names file and key.
    """
    return read_toml(path, Campaign)


def read_plan(path: Path) -> Plan:
    """Read the ``plan.toml`` of a campaign that was started.

    Raises:
        UnreadableInput: the file is missing or is not a plan; the message names file and key.
    """
    plan = read_evidence_toml(path, Plan)
    for name in (plan.log, *(run.folder for run in plan.runs)):
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise UnreadableInput(f"{path}: {name!r} is outside the folder of the campaign")
    return plan


def schedule_runs(campaign: Campaign, seed: int, cpus: tuple[str, str]) -> tuple[PlannedRun, ...]:
    """Return all runs of a campaign, in the order in which they will be done.

    Each repetition is a round over all variants, in a new random order. So a slow drift of the machine affects all variants alike.

    Args:
        campaign: what to run.
        seed: seed of the random order; the same seed gives the same plan.
        cpus: the CPU lists for the threads of the publisher and of the subscriber.

    Raises:
        UnreadableInput: a placeholder has no value, or two variants have the same name.
    """
    random_order = random.Random(seed)  # noqa: S311 - an order, not a secret
    variants = [(block, dict(zip(block.vary, values, strict=True))) for block in campaign.runs for values in itertools.product(*block.vary.values())]
    runs: list[PlannedRun] = []
    for repetition in range(1, campaign.repetitions + 1):
        for block, varied in random_order.sample(variants, len(variants)):
            options = _shuffled({**block.options, **varied}, block.shuffle, random_order)
            known: Values = {"cpu_pub": cpus[0], "cpu_sub": cpus[1], **options}
            runs.append(_planned(block, (_folder(block, known, repetition), repetition, len(runs) + 1), options, known))
    duplicates = [folder for folder, count in Counter(run.folder for run in runs).items() if count > 1]
    if duplicates:
        raise UnreadableInput(
            f"two runs are called {duplicates[0]}: put what varies into the name of the block, as in name = 'latency-{{transport}}'"
        )
    return tuple(runs)


def _shuffled(options: Values, names: tuple[str, ...], random_order: random.Random) -> Values:
    """Return the options; the lists of these names are in a new random order."""
    for name in names:
        values = options.get(name)
        if not isinstance(values, list):
            raise UnreadableInput(f"shuffle: the options have no list called {name!r}")
        options = options | {name: random_order.sample(values, len(values))}
    return options


def _folder(block: Block, known: Values, repetition: int) -> str:
    folder = _fill(block.name, known)
    if not re.fullmatch(r"[\w.,:+@=-]+", folder) or folder.startswith("."):
        raise UnreadableInput(
            f"name = {folder!r}: the name of a run becomes a folder: use letters, digits and . , : + @ = _ - only, and no dot first"
        )
    return f"{folder}/{repetition:02d}"


def _planned(block: Block, place: tuple[str, int, int], options: Values, known: Values) -> PlannedRun:
    folder, repetition, order_index = place
    expected_s, worst_s = _seconds(options)
    try:
        conditions = msgspec.convert({name: _filled(value, known) for name, value in block.conditions.items()}, StatedConditions)
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"block {block.name!r}, conditions: {in_words(error, StatedConditions)}") from error
    return PlannedRun(
        folder=folder,
        repetition=repetition,
        order_index=order_index,
        command=tuple(_fill(word, known) for word in block.command),
        conditions=conditions,
        options=options,
        expected_s=block.expected_s or expected_s,
        deadline_s=block.deadline_s or 2 * worst_s + 30,
    )


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
    return value if isinstance(value, int | float) else otherwise


def _filled(value: Value, known: Values) -> Value | list[Value]:
    """Return a condition with its placeholders replaced. If the condition is only one placeholder, the type of its value is kept."""
    placeholder = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if placeholder and placeholder[1] in known:
        return known[placeholder[1]]
    return _fill(value, known) if isinstance(value, str) else value


def _fill(text: str, known: Values) -> str:
    def replacement(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        if name not in known:
            raise UnreadableInput(f"{text!r}: {{{name}}} has no value; the known names are {', '.join(sorted(known))}")
        value = known[name]
        return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)

    return _PLACEHOLDER.sub(replacement, text)
