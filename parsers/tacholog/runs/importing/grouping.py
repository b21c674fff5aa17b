"""Which logs belong to one run, and which runs are repetitions of each other.

Logs with the same fields are one run if each has another role or participant. Where the pattern states no repetition, several logs may have the same
fields and the same role: then each folder is a run, or, if that does not tell them apart, each log. Such runs are repetitions in the order in which
their logs say that they started, else in the order of their paths.

The folder of a run is ``PART/PART/.../NN``: a part for each field that sets runs apart, and the number of the repetition. The same fields always give
the same parts. A short hash is added where different fields give the same parts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tacholog.runs.conditions import contradictions
from tacholog.runs.host import stated_host
from tacholog.runs.importing.fields import CONDITION, LABEL, OF_REPETITION, OPTION, REPETITION, Values, manifest_fields
from tacholog.runs.importing.patterns import START
from tacholog.runs.importing.rules import LogFields
from tacholog.runs.importing.survey import LogSurvey, Problem
from tacholog.runs.manifest import HOSTS_FOLDER, Host, LogFile, Manifest
from tacholog.runs.moments import in_utc
from tacholog.slugs import slug

_SHORT = {"publisher": "pub", "subscriber": "sub"}
_DAY = len("2026-01-31")
_UNCLEAR = "logs with the same fields, so that it is not clear which of them are one run; a field such as {session} or {label.NAME} tells them apart"


class ImportedLog(NamedTuple):
    """A log, what is stated of it, and what it says itself."""

    path: str
    fields: LogFields
    survey: LogSurvey

    @property
    def place(self) -> tuple[str | None, str | None]:
        """What sets the log apart from the others of its run."""
        return self.fields.role, self.fields.participant


class ImportedRun(NamedTuple):
    """A run that is to be written.

    Attributes:
        folder: of all repetitions of the run, relative to the data folder.
        repetition: its number.
        is_counted: whether the number was counted, because no path states it.
        key: all of its fields but the repetition, as a text.
        manifest: its manifest.
        logs: its logs, in the order of those in the manifest.
        hosts: machines that its logs describe.
        overruled: what ``--set`` states and a log of this run states differently, as sentences. The manifest leaves it out.
    """

    folder: str
    repetition: int
    is_counted: bool
    key: str
    manifest: Manifest
    logs: tuple[ImportedLog, ...]
    hosts: dict[str, Host]
    overruled: tuple[str, ...] = ()

    def at(self, repetition: int) -> ImportedRun:
        """Return this run as another repetition."""
        from msgspec.structs import replace

        return self._replace(repetition=repetition, manifest=replace(self.manifest, repetition=repetition))


class Grouping(NamedTuple):
    """The runs of a folder of logs.

    Attributes:
        runs: sorted by folder and repetition.
        problems: logs that belong to no run, and why.
        order: how the runs of each folder were numbered, where no path says it: ``start time`` or ``name``.
    """

    runs: list[ImportedRun]
    problems: list[Problem]
    order: dict[str, str]


def group(logs: Iterable[ImportedLog]) -> Grouping:
    """Make runs of logs."""
    variants: dict[str, list[ImportedLog]] = defaultdict(list)
    for log in sorted(logs, key=lambda log: natural(log.path)):
        variants[_key(log.fields.values, without=OF_REPETITION)].append(log)
    found = Grouping([], [], {})
    for key, members in variants.items():
        _add_variant(key, members, found)
    runs = _apart(found.runs)
    runs.sort(key=lambda run: (natural(run.folder), run.repetition))
    return found._replace(runs=runs)


def _key(values: Values, without: Sequence[str] = ()) -> str:
    return json.dumps({name: value for name, value in sorted(values.items()) if name not in without}, default=str)


def natural(path: str) -> list[tuple[bool, int, str]]:
    """Return a key that sorts ``test-2`` before ``test-10``."""
    parts = re.split(r"([0-9]{1,18})", path)
    return [(bool(place % 2), int(part) if place % 2 else 0, part) for place, part in enumerate(parts)]


def _add_variant(key: str, logs: Sequence[ImportedLog], found: Grouping) -> None:
    """Add the runs of logs that share all fields but the repetition."""
    numbers: dict[Any, list[ImportedLog]] = defaultdict(list)
    for log in logs:
        numbers[log.fields.values.get(REPETITION)].append(log)
    several = _several(logs)
    for number, members in numbers.items():
        parts = _runs_by_start(members) if number is None else [members] if _is_one_run(members) else None
        if parts is None:
            found.problems.extend(_unclear(members))
            continue
        ordered, order = _ordered(parts)
        made = [
            _run(key, part, several, place if number is None else number, is_counted=number is None) for place, part in enumerate(ordered, start=1)
        ]
        found.problems.extend(run for run in made if isinstance(run, Problem))
        whole = [run for run in made if isinstance(run, ImportedRun)]
        found.runs.extend(whole)
        if number is None and len(whole) > 1:
            found.order[whole[0].folder] = order


def _is_one_run(logs: Sequence[ImportedLog]) -> bool:
    return len({log.place for log in logs}) == len(logs)


def _runs_by_start(logs: Sequence[ImportedLog]) -> list[Sequence[ImportedLog]] | None:
    """Return the logs of each run as `_runs_of` does. Logs for which different start times are stated are never of one run."""
    starts: dict[str | None, list[ImportedLog]] = defaultdict(list)
    for log in logs:
        starts[log.fields.values.get(START)].append(log)
    parts = [_runs_of(members) for members in starts.values()]
    return None if None in parts else [run for part in parts for run in part or ()]


def _runs_of(logs: Sequence[ImportedLog]) -> list[Sequence[ImportedLog]] | None:
    """Return the logs of each run, of logs with the same fields; ``None`` if nobody could know which of them belong together."""
    if _is_one_run(logs):
        return [logs]
    folders: dict[str, list[ImportedLog]] = defaultdict(list)
    for log in logs:
        folders[log.path.rpartition("/")[0]].append(log)
    if all(map(_is_one_run, folders.values())):
        return list(folders.values())
    return [[log] for log in logs] if len({log.place for log in logs}) == 1 else None


def _unclear(logs: Sequence[ImportedLog]) -> list[Problem]:
    """Return a problem for each log of which nobody could know to which run it belongs. Logs with the same fields stand beside each other."""
    same: dict[object, list[str]] = defaultdict(list)
    for log in logs:
        same[log.place].append(log.path)
    return [Problem(path, _UNCLEAR) for paths in same.values() for path in paths]


def _several(logs: Sequence[ImportedLog]) -> set[str | None]:
    """Return the roles that have several participants in these runs. Only there the participant must be known."""
    participants: dict[str | None, set[str | None]] = defaultdict(set)
    for log in logs:
        participants[log.fields.role].add(log.fields.participant)
    return {role for role, numbers in participants.items() if len(numbers) > 1}


def _ordered(parts: Sequence[Sequence[ImportedLog]]) -> tuple[Sequence[Sequence[ImportedLog]], str]:
    """Return runs in the order in which they started, if each has a log that says it, else as they are; and what they are ordered by."""
    starts = [min(filter(None, (_moment(_start_of(log)) for log in part)), default=None) for part in parts]
    if len(parts) < 2 or not all(starts):  # noqa: PLR2004 - one run has no order
        return parts, "name"
    places = sorted(range(len(parts)), key=lambda place: (starts[place] or datetime.max.replace(tzinfo=UTC), place))
    return [parts[place] for place in places], "start time"


def _start_of(log: ImportedLog) -> str | None:
    """Return when a log began: as it says, else as is stated of it."""
    return log.survey.facts.start_time or log.fields.values.get(START)


def _moment(text: str | None) -> datetime | None:
    return in_utc(text) if text else None


def _run(key: str, logs: Sequence[ImportedLog], several: set[str | None], number: int, *, is_counted: bool) -> ImportedRun | Problem:
    """Return the run of these logs; a problem if nobody states what was measured."""
    logs = sorted(logs, key=lambda log: (log.fields.side or "", log.fields.participant or "", natural(log.path)))
    of_path = logs[0].fields.of_path
    values, overruled = _without_overruled(logs)
    systems, tools = ([*dict.fromkeys(filter(None, (name(log.survey) for log in logs)))] for name in (_system, _tool))
    if "system" not in values and len(systems) != 1:
        words = f"the logs of this run are of several systems ({', '.join(systems)})" if systems else "no log of this run says what was measured"
        return Problem(logs[0].path, f"{words}, so the system must be stated: --set system=NAME")
    fields = {"system": systems[0] if systems else None, "tool": tools[0] if len(tools) == 1 else None, **manifest_fields(values)}
    hosts = _hosts(logs, values.get("host"))
    fields["host"] = values.get("host") or (next(iter(hosts)) if len(hosts) == 1 else None)
    names = log_names([(log.path, _apart_word(log)) for log in logs])
    entries = tuple(_entry(log, name, several) for log, name in zip(logs, names, strict=True))
    manifest = Manifest(**{**fields, REPETITION: number}, logs=entries)
    folder = variant_folder(values, of_path, manifest.tool or manifest.system)
    return ImportedRun(folder, number, is_counted, key, manifest, tuple(logs), hosts if fields["host"] else {}, overruled)


def _without_overruled(logs: Sequence[ImportedLog]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a run without those that a log of the run knows better, and a sentence on each of these that differs.

    These are the start time, and conditions of ``--set``: it fills what is not stated.
    """
    values, overruled = dict(logs[0].fields.values), []
    if stated_start := min(filter(None, (log.fields.values.get(START) for log in logs)), default=None):
        values[START] = stated_start
        if start := next((log.survey.facts.start_time for log in logs if log.survey.facts.start_time), None):
            del values[START]
            if not start.startswith(stated_start):  # A log that states a time of the stated day agrees.
                day = start[:_DAY]
                overruled.append(f"{START}={stated_start} was left out where logs state {start if stated_start.startswith(day) else day}")
    for name in logs[0].fields.of_defaults:
        stated = manifest_fields({name: values[name]}).get("conditions") if name.startswith(CONDITION) else None
        kinds = [kind for log in logs for kind in log.survey.kinds] if stated else []
        found = next((found for kind in kinds if stated for found in contradictions(kind.record, kind.in_log, stated)), None)
        if found:
            overruled.append(f"--set {found.field}={found.manifest} was left out where logs state {found.log}")
            del values[name]
    return values, tuple(overruled)


def _system(log: LogSurvey) -> str | None:
    return log.system


def _tool(log: LogSurvey) -> str | None:
    return log.tool


def _hosts(logs: Sequence[ImportedLog], stated: str | None) -> dict[str, Host]:
    """Return the machines that logs describe, under the host that the path states, if it states one."""
    found: dict[str, Host] = {}
    for log in logs:
        described = stated_host(log.survey.facts.environment)
        found |= {stated or name: host for name, host in described.items() if (stated or name) not in found}
    return found


def _apart_word(log: ImportedLog) -> str | None:
    return "".join(filter(None, log.place)) or None


def _entry(log: ImportedLog, name: str, several: set[str | None]) -> LogFile:
    """Return the entry of a log in its manifest. Its participant is stated only where there are several."""
    stated = log.fields
    participant = None
    if stated.participant is not None and stated.role in several:
        word = _SHORT[stated.side] if stated.side else ""
        participant = f"{word}{stated.participant}"
    return LogFile(
        file=name,
        sha256=log.survey.sha256,
        format=stated.format,
        side=stated.side,
        participant=participant,
        results=stated.results,
        path=log.path,
    )


def _apart(runs: Sequence[ImportedRun]) -> list[ImportedRun]:
    """Give variants of different fields different folders."""
    keys: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        keys[run.folder].add(run.key)
    return [run._replace(folder=with_hash(run.folder, run.key)) if len(keys[run.folder]) > 1 else run for run in runs]


def by_variant(runs: Iterable[ImportedRun]) -> Mapping[str, list[ImportedRun]]:
    """Return the runs of each folder."""
    found: dict[str, list[ImportedRun]] = defaultdict(list)
    for run in runs:
        found[run.folder].append(run)
    return found


# Fields that are part of the name even if no path states them. All others are if a path states them. Host and session are not: a name of a folder
# becomes an address on a site, and these two are private there.
_ALWAYS = ("release", "campaign", "system", "system_version")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@-]+")
_RESERVED = (HOSTS_FOLDER, "same-build")  # Folders of this name hold something else.
_LONGEST = 60


def variant_folder(values: Values, of_path: Sequence[str], tool: str) -> str:
    """Return the folder of all repetitions of a run.

    Args:
        values: the run's fields.
        of_path: the fields that the path states, in their order.
        tool: the name of the tool, for runs without any field.
    """
    first = [name for name in _ALWAYS if name in values and name not in of_path]
    last = [name for name in values if name.startswith(LABEL) and name not in of_path]
    names = [name for name in (*first, *of_path, *last) if name not in OF_REPETITION]
    return "/".join(_part(name, str(values[name])) for name in names) or slug(tool)


def with_hash(folder: str, key: str) -> str:
    """Return the folder of a variant whose plain name belongs to another one."""
    return f"{folder}-{short_hash(key)}"


def short_hash(text: str) -> str:
    """Return six hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def repetition_folder(number: int) -> str:
    """Return the name of the folder of one repetition."""
    return f"{number:02d}"


def _part(name: str, value: str) -> str:
    """Return the part of a folder's name that stands for a field. Values that cannot be shown as they are get a short hash.

    A number alone says nothing, and could be the number of a repetition, so the name of its field stands before it. Sessions and options are private
    on a site, where the name of a folder becomes an address.
    """
    if name == "session" or name.startswith(OPTION):
        return f"{name.partition('.')[0]}-{short_hash(f'{name}={value}')}"
    if re.fullmatch(r"[0-9.]+|true|false", value, re.IGNORECASE):
        return f"{name.rpartition('.')[2]}-{value}"
    plain = _UNSAFE.sub("-", value).strip("-._")[:_LONGEST]
    return plain if plain == value and value not in _RESERVED else f"{plain}-{short_hash(value)}".lstrip("-")


def log_names(logs: Sequence[tuple[str, str | None]]) -> list[str]:
    """Return the names of the logs of a run, in the run's folder.

    A log keeps its name. Logs of the same name, from different folders, get what sets them apart as a prefix.

    Args:
        logs: the path of each log, and what sets it apart, such as ``pub0``.
    """
    names = [path.rpartition("/")[2] for path, _ in logs]
    for way in range(2):
        count = Counter(names)
        names = [
            name if count[name] == 1 else f"{apart or 'log'}-{name}" if way == 0 else f"{short_hash(path)}-{name}"
            for name, (path, apart) in zip(names, logs, strict=True)
        ]
    return names
