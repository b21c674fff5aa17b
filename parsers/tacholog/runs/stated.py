"""What a manifest states of its run, set beside what the run's logs say.

The log goes first. What it leaves open, the manifest fills: its ``[conditions]``, then those of its ``[options]`` that mean a condition. Where both
speak and do not agree, nobody can know which is right: the log's word is kept, and the contradiction is said. Options that mean no condition set
runs apart all the same: whoever sets them changes what is measured.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tacholog.runs.manifest import Manifest
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import Record

SIZE = "payload_bytes"
FIELDS = StatedConditions.__struct_fields__
#: Names under which campaigns know a condition. An option that is called as a condition means it, too.
MEANT = {
    "touch": "payload_touched",
    "duration_s": "planned_duration_s",
    "warmup_s": "warmup",
    "sizes_bytes": SIZE,
    "size_bytes": SIZE,
}
#: Conditions that an option may set without setting its run apart, such as how long and with which warm-up a campaign measures. A comparison names
#: them where they differ.
SOFT_CONDITIONS = ("waiting", "warmup", "planned_duration_s", "link_bit_per_s")
# Options that do not change what is measured: which run it is, and where its files and endpoints are.
_ASIDE = {"seed", "port", "ports", "path", "paths", "file", "files", "folder", "dir", "directory", "output", "log", "logs"}
_ASIDE |= {"repetition", "repetitions", "order", "index", "session", "label", "release"}
_NEVER_HELD = ("definition",)  # a format's own word, which no manifest can know better


class Contradiction(msgspec.Struct, frozen=True):
    """A condition of which the manifest says one thing and the log another."""

    field: str
    manifest: object
    log: object

    def __str__(self) -> str:
        """Say it in words."""
        return f"run.toml says {self.field} = {self.manifest}, the log says {self.log}"


def stated(manifest: Manifest) -> StatedConditions:
    """Return the conditions that a manifest states: those of ``[conditions]``, completed by the options that mean one."""
    found: dict[str, Any] = {}
    for name, value in manifest.options.items():
        field = MEANT.get(name, name)
        if field not in FIELDS or isinstance(value, list):
            continue
        try:
            found[field] = getattr(msgspec.convert({field: value}, StatedConditions), field)
        except msgspec.ValidationError:
            continue  # The option means something else, or says it in other words: it still sets its run apart.
    known = {name: value for name in FIELDS if (value := getattr(manifest.conditions, name)) is not None}
    return StatedConditions(**{**found, **known})


def sized(record: Record, conditions: StatedConditions) -> Record:
    """Return the record with the size that the manifest states, where its log prints none; its numbers then carry a mark."""
    if record.payload_bytes is not None or conditions.payload_bytes is None or record.scope == "resources":
        return record
    numbers = tuple(msgspec.structs.replace(number, marks=(*number.marks, "size_from_manifest")) for number in record.numbers)
    return msgspec.structs.replace(record, payload_bytes=conditions.payload_bytes, numbers=numbers)


def contradictions(record: Record, log: Conditions, manifest: StatedConditions) -> list[Contradiction]:
    """Say in what the manifest and the log contradict each other.

    Args:
        record: as the log prints it.
        log: what the log says of the record's run.
        manifest: what the manifest states.
    """
    said = msgspec.structs.asdict(record.conditions.over(log)) | {SIZE: None if record.scope == "resources" else record.payload_bytes}
    held = ((name, getattr(manifest, name), said[name]) for name in FIELDS if name not in _NEVER_HELD)
    return [Contradiction(name, one, other) for name, one, other in held if one is not None and other is not None and not _same(one, other)]


def options_apart(manifest: Manifest, records: Iterable[tuple[Record, Conditions]]) -> str | None:
    """Return the options that set this run apart from others and that no condition tells, as JSON.

    ``{}`` says that conditions tell them all, ``None`` that the manifest has no options: nobody knows what was set.

    Args:
        manifest: of the run.
        records: every record with its conditions, as they stand in the results.
    """
    finished = [(record, conditions) for record, conditions in records if record.scope != "resources"]
    apart = {}
    for name, value in sorted(manifest.options.items()):
        if not _changes_what_is_measured(name, value):
            continue
        field = MEANT.get(name, name)
        told = {_told(record, conditions, field) for record, conditions in finished} if field in FIELDS else set()
        wanted = value if isinstance(value, list) else [value]
        if told and all(one is not None and any(_same(one, other) for other in wanted) for one in told):
            continue  # The conditions say it already.
        apart[name] = sorted(value, key=str) if isinstance(value, list) else value  # an order is none of what is measured
    return json.dumps(apart, ensure_ascii=False) if manifest.options else None


def _told(record: Record, conditions: Conditions, field: str) -> object:
    return record.payload_bytes if field == SIZE else getattr(conditions, field)


def options_words(text: str) -> str:
    """Return options that `options_apart` found as they read in a label."""
    return ", ".join(f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in json.loads(text).items())


def split_options(text: str | None, soft: Iterable[str] = SOFT_CONDITIONS) -> tuple[str | None, Mapping[str, str]]:
    """Return the options in which sides must not differ, as JSON, and those that mean one of the ``soft`` conditions, in words."""
    known: dict[str, Any] = json.loads(text) if text else {}
    mild = {name: value for name, value in known.items() if MEANT.get(name, name) in soft}
    hard = {name: value for name, value in known.items() if name not in mild}
    return json.dumps(hard, ensure_ascii=False) if hard else None, {name: str(value) for name, value in mild.items()}


def _changes_what_is_measured(name: str, value: object) -> bool:
    is_path = isinstance(value, str) and value.startswith(("/", "./", "../", "~/"))
    return not is_path and not _ASIDE.intersection(re.split(r"[^a-z0-9]+", name.lower()))


def _same(one: object, other: object) -> bool:
    """Whether two values say the same: text in any case of letters, numbers to the last digit that a float can hold."""
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold() == other.casefold()
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
