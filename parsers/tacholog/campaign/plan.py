"""What a campaign says and what follows from it: every run, in its order."""

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
    """A table of a TOML file: a key that is not known is a mistake, and said to be one."""


class Block(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """Runs that share a command: ``vary`` lists multiply, ``shuffle`` names options whose list each run takes in an order of its own."""

    name: str
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    vary: dict[str, list[Value]] = {}
    options: Values = {}
    conditions: dict[str, Value] = {}
    shuffle: tuple[str, ...] = ()
    expected_s: float | None = None
    deadline_s: float | None = None


class Campaign(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """A campaign file. ``version_command`` prints the tool's version; what it prints last on its first line is taken."""

    system: str
    tool: str
    repetitions: Annotated[int, msgspec.Meta(ge=1)]
    runs: Annotated[tuple[Block, ...], msgspec.Meta(min_length=1)]
    log: FileName = "perftest.log"
    format: str | None = None
    version_command: tuple[str, ...] | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()


class Planned(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """One run to be done: one process, one folder."""

    folder: str
    repetition: int
    order_index: int
    command: tuple[str, ...]
    conditions: StatedConditions
    options: Values
    expected_s: float
    deadline_s: float


class Plan(_Toml, frozen=True, kw_only=True, omit_defaults=True):
    """``plan.toml``: all runs of a campaign in their order, and the SHA-256 of each program that they run, by the word that calls it."""

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
    runs: tuple[Planned, ...]


def read_campaign(path: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        UnreadableInput: it is missing, no TOML, or not a campaign; the message names file and key.
    """
    return read_toml(path, Campaign)


def read_plan(path: Path) -> Plan:
    """Read the ``plan.toml`` of a campaign that was begun.

    Raises:
        UnreadableInput: it is missing or not a plan; the message names file and key.
    """
    plan = read_evidence_toml(path, Plan)
    for name in (plan.log, *(run.folder for run in plan.runs)):
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise UnreadableInput(f"{path}: {name!r} is not in the campaign's own folder")
    return plan


def lay_out(campaign: Campaign, seed: int, cpus: tuple[str, str]) -> tuple[Planned, ...]:
    """Lay out all runs of a campaign, in the order in which they are to be done.

    Each repetition is a round over all variants, in an order of its own: what drifts on the machine then meets all of them alike.

    Args:
        campaign: what to run.
        seed: draws the order; the same seed gives the same plan.
        cpus: the CPU lists for the publisher's and the subscriber's threads.

    Raises:
        UnreadableInput: a placeholder has no value, or two variants have the same name.
    """
    draw = random.Random(seed)  # noqa: S311 - an order, not a secret
    variants = [(block, dict(zip(block.vary, chosen, strict=True))) for block in campaign.runs for chosen in itertools.product(*block.vary.values())]
    runs: list[Planned] = []
    for repetition in range(1, campaign.repetitions + 1):
        for block, chosen in draw.sample(variants, len(variants)):
            options = _shuffled({**block.options, **chosen}, block.shuffle, draw)
            known: Values = {"cpu_pub": cpus[0], "cpu_sub": cpus[1], **options}
            runs.append(_planned(block, (_folder(block, known, repetition), repetition, len(runs) + 1), options, known))
    again = [folder for folder, count in Counter(run.folder for run in runs).items() if count > 1]
    if again:
        raise UnreadableInput(f"two runs are called {again[0]}: put what varies into the name of the block, as in name = 'latency-{{transport}}'")
    return tuple(runs)


def _shuffled(options: Values, names: tuple[str, ...], draw: random.Random) -> Values:
    """The options, those of the names in an order newly drawn."""
    for name in names:
        listed = options.get(name)
        if not isinstance(listed, list):
            raise UnreadableInput(f"shuffle: {name!r} is not a list among the options")
        options = options | {name: draw.sample(listed, len(listed))}
    return options


def _folder(block: Block, known: Values, repetition: int) -> str:
    folder = _fill(block.name, known)
    if not re.fullmatch(r"[\w.,:+@=-]+", folder) or folder.startswith("."):
        raise UnreadableInput(f"name = {folder!r}: a run's name is a folder's, of letters, digits and . , : + @ = _ -")
    return f"{folder}/{repetition:02d}"


def _planned(block: Block, place: tuple[str, int, int], options: Values, known: Values) -> Planned:
    folder, repetition, order_index = place
    expected_s, worst_s = _seconds(options)
    try:
        conditions = msgspec.convert({name: _filled(value, known) for name, value in block.conditions.items()}, StatedConditions)
    except msgspec.ValidationError as error:
        raise UnreadableInput(f"block {block.name!r}, conditions: {in_words(error, StatedConditions)}") from error
    return Planned(
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
    """How long a run with these options is expected to take, and at worst: perftest gives up waiting for steadiness after 30 s."""
    sizes = options.get("sizes_bytes")
    count = len(sizes) if isinstance(sizes, list) else 1
    duration_s = _number(options.get("duration_s"), 10)
    warmup_s, longest_warmup_s = (_number(options.get("warmup_s"), otherwise) for otherwise in (5, 30))
    return 0.5 + count * (duration_s + warmup_s), count * (duration_s + longest_warmup_s)


def _number(value: Value | list[Value] | None, otherwise: float) -> float:
    return value if isinstance(value, int | float) else otherwise


def _filled(value: Value, known: Values) -> Value | list[Value]:
    """A condition with its placeholders replaced; one that is nothing but a placeholder keeps the value's type."""
    alone = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if alone and alone[1] in known:
        return known[alone[1]]
    return _fill(value, known) if isinstance(value, str) else value


def _fill(text: str, known: Values) -> str:
    def word(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise UnreadableInput(f"{text!r}: nothing is called {{{found[1]}}}; there are {', '.join(sorted(known))}")
        value = known[found[1]]
        return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)

    return _PLACEHOLDER.sub(word, text)
