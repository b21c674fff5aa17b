"""The conditions that a manifest states, compared with the conditions that the logs of the run state.

The log has priority. If the log does not state a condition, it is taken from the manifest: from its ``[conditions]``, or else from an option in its
``[options]`` that stands for this condition. If log and manifest contradict each other, the value of the log is used. The contradiction is
reported, because one of the two may be wrong. Options that stand for no condition also change the measurement, so they distinguish runs.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from tacholog.runs.manifest import LogFile, Manifest
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import Record

SIZE = "payload_bytes"
FIELDS = StatedConditions.__struct_fields__
#: Options that stand for a condition with another name: from the name of the option to the name of the condition. An option that has the name of a
#: condition always stands for this condition.
CONDITION_OF_OPTION = {
    "touch": "payload_touched",
    "duration_s": "planned_duration_s",
    "warmup_s": "warmup",
    "sizes_bytes": SIZE,
    "size_bytes": SIZE,
}
#: Conditions that may differ between compared runs, such as the duration and the warm-up of a campaign. A comparison names the differences.
SOFT_CONDITIONS = ("waiting", "warmup", "planned_duration_s", "link_bit_per_s")
# An option does not change the measurement if its name has one of these words. Such an option identifies the run, or names its files or endpoints.
_ASIDE = {"seed", "port", "ports", "path", "paths", "file", "files", "folder", "dir", "directory", "output", "log", "logs"}
_ASIDE |= {"repetition", "repetitions", "order", "index", "session", "label", "release"}
_ON = " on"  # for a process NAME on another host than that of the run, the key is "NAME on"
_NEVER_COMPARED = ("definition",)  # a format states the definition; a manifest never does


class Contradiction(msgspec.Struct, frozen=True):
    """A condition that the manifest and the log state differently."""

    field: str
    manifest: object
    log: object

    def __str__(self) -> str:
        """Return a sentence with both values."""
        return f"run.toml says {self.field} = {self.manifest}, the log says {self.log}"


def stated_conditions(manifest: Manifest) -> StatedConditions:
    """Return the conditions that a manifest states.

    A condition comes from ``[conditions]``. If it is missing there, it comes from an option that stands for it.
    """
    from_options: dict[str, Any] = {}
    for name, value in manifest.options.items():
        field = CONDITION_OF_OPTION.get(name, name)
        if field not in FIELDS or isinstance(value, list):
            continue
        try:
            from_options[field] = getattr(msgspec.convert({field: value}, StatedConditions), field)
        except msgspec.ValidationError:
            continue  # the condition cannot have this value, so the option means something else; it still distinguishes the run
    in_conditions = {name: value for name in FIELDS if (value := getattr(manifest.conditions, name)) is not None}
    return StatedConditions(**{**from_options, **in_conditions})


def with_stated_size(record: Record, conditions: StatedConditions) -> Record:
    """Return the record. If the log states no message size, use the size of the manifest, and mark the numbers with ``size_from_manifest``."""
    if record.payload_bytes is not None or conditions.payload_bytes is None or record.scope == "resources":
        return record
    numbers = tuple(msgspec.structs.replace(number, marks=(*number.marks, "size_from_manifest")) for number in record.numbers)
    return msgspec.structs.replace(record, payload_bytes=conditions.payload_bytes, numbers=numbers)


def with_stated_side(record: Record, log: LogFile) -> Record:
    """Return the record. If it lacks the side or the participant, it gets the value that the manifest states for its log.

    Without side and participant, the results of two publishers of one run would count as two values of one result.
    """
    missing = {name: value for name in ("side", "participant") if (value := getattr(log, name)) and getattr(record, name) is None}
    return msgspec.structs.replace(record, **missing) if missing else record


def contradictions(record: Record, log: Conditions, manifest: StatedConditions) -> list[Contradiction]:
    """Return the conditions that the manifest and the log state differently.

    Args:
        record: the record as the log states it.
        log: the conditions that the log states for the record's run.
        manifest: the conditions that the manifest states.
    """
    in_log = msgspec.structs.asdict(record.conditions.over(log)) | {SIZE: None if record.scope == "resources" else record.payload_bytes}
    pairs = ((name, getattr(manifest, name), in_log[name]) for name in FIELDS if name not in _NEVER_COMPARED)
    in_both = ((name, in_manifest, logged) for name, in_manifest, logged in pairs if in_manifest is not None and logged is not None)
    return [Contradiction(name, in_manifest, logged) for name, in_manifest, logged in in_both if not _same(in_manifest, logged)]


def first_contradictions(conflicts: Iterable[tuple[int, Iterable[Contradiction]]]) -> Iterator[tuple[int, Contradiction]]:
    """Yield each contradiction of a log once, with the first line that has it.

    Args:
        conflicts: the contradictions of records, each with the line of its record.
    """
    reported: set[Contradiction] = set()
    for line, contradicted in sorted(conflicts, key=lambda conflict: conflict[0]):
        for contradiction in contradicted:
            if contradiction not in reported:
                yield line, contradiction
                reported.add(contradiction)


def distinguishing_options(manifest: Manifest, measured: Iterable[tuple[int | None, Conditions]]) -> str | None:
    """Return the options that distinguish this run from other runs, as a JSON object. An option is left out if the results state it as a condition.

    The object also contains the host of each process that did not run on the host of the run, because the measurement depends on the hosts of its
    processes.

    Args:
        manifest: the manifest of the run.
        measured: the size and the conditions of every result, except results of scope ``resources``.

    Returns:
        The JSON object. It is ``{}`` if no option is left. If the manifest states neither options nor such hosts, the settings are not known, and the
        result is ``None``.
    """
    results = list(measured)
    differing = {}
    for name, value in sorted(manifest.options.items()):
        if not _changes_what_is_measured(name, value):
            continue
        field = CONDITION_OF_OPTION.get(name, name)
        in_results = {size if field == SIZE else getattr(conditions, field) for size, conditions in results} if field in FIELDS else set()
        wanted = value if isinstance(value, list) else [value]
        # Most values are equal without conversion, so they are compared directly first.
        if in_results and all(result is not None and (result in wanted or any(_same(result, option) for option in wanted)) for result in in_results):
            continue  # the results already state this value as a condition
        differing[name] = sorted(value, key=str) if isinstance(value, list) else value  # The order of the values does not change the measurement.
    hosts = {f"{command.name or command.role}{_ON}": command.host for command in manifest.commands if command.host is not None}
    return json.dumps(differing | hosts, ensure_ascii=False) if manifest.options or hosts else None


def is_of_machine(option: str) -> bool:
    """Whether an entry of `distinguishing_options` is the host of a process, and not an option."""
    return option.endswith(_ON)


def options_words(text: str, title: Callable[[str], tuple[str, str]] = lambda name: (name, "")) -> str:
    """Return the result of `distinguishing_options` as words for a label. ``title`` returns the words for an option and the unit of its value."""
    named = ((*title(name), value) for name, value in json.loads(text).items())
    return ", ".join(f"{words} {', '.join(map(str, value)) if isinstance(value, list) else value}{unit}" for words, unit, value in named)


def split_options(text: str | None, soft: Iterable[str] = SOFT_CONDITIONS) -> tuple[str | None, Mapping[str, str]]:
    """Split the result of `distinguishing_options` into two parts.

    Args:
        text: the options, as JSON.
        soft: conditions that may differ between the compared sides.

    Returns:
        The options that must be equal on both sides, as JSON, and the other options, which stand for a soft condition: a dictionary from names to
        values.
    """
    options: dict[str, Any] = json.loads(text) if text else {}
    may_differ = {name: value for name, value in options.items() if CONDITION_OF_OPTION.get(name, name) in soft}
    must_agree = {name: value for name, value in options.items() if name not in may_differ}
    return json.dumps(must_agree, ensure_ascii=False) if must_agree else None, {name: str(value) for name, value in may_differ.items()}


def _changes_what_is_measured(name: str, value: object) -> bool:
    is_path = isinstance(value, str) and value.startswith(("/", "./", "../", "~/"))
    return not is_path and not _is_aside(name)


@functools.lru_cache(maxsize=1000)  # cached, because the runs of a campaign have the same options
def _is_aside(option: str) -> bool:
    return not _ASIDE.isdisjoint(re.split(r"[^a-z0-9]+", option.lower()))


def _same(first: object, second: object) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return first.casefold() == second.casefold()
    if isinstance(first, int | float) and isinstance(second, int | float) and not isinstance(first, bool) and not isinstance(second, bool):
        return math.isclose(first, second, rel_tol=1e-9)  # floats may differ by rounding errors
    return first == second
