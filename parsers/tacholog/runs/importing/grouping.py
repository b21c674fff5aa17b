"""Group logs into runs, and runs into repetitions of one measurement.

Logs with the same fields are one run if they differ in role or participant. If the pattern states no repetition, several logs may have the same
fields and the same role. These logs belong to different runs. Usually, each folder is a run. If a folder has several such logs, each log is a run.

Runs without a stated repetition are numbered as repetitions, in the order of the start times in their logs. If start times are missing, the order of
the paths counts. Runs are also numbered in this way if their paths state the same repetitions at several start times. If some runs have stated
numbers and others have none, the runs without stated numbers get the next numbers.

The folder of a run is ``PART/PART/.../NN``: a part for each field that distinguishes runs, and the number of the repetition. The same fields always
result in the same parts. If different fields would result in the same parts, a short hash is added.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from tacholog.runs.conditions import contradictions
from tacholog.runs.host import stated_host
from tacholog.runs.importing.fields import CONDITION, LABEL, OF_REPETITION, OPTION, REPETITION, Values, manifest_fields
from tacholog.runs.importing.patterns import START
from tacholog.runs.importing.rules import LogFields
from tacholog.runs.importing.survey import LogSurvey, Problem
from tacholog.runs.manifest import HOSTS_FOLDER, SAME_BUILD_FOLDER, Host, LogFile, Manifest
from tacholog.runs.moments import in_utc
from tacholog.slugs import slug

_SHORT = {"publisher": "pub", "subscriber": "sub"}
_DAY = len("2026-01-31")
#: The note in a manifest whose start time is the modification time of a file.
FILE_TIME_NOTE = "start_time is when the file of the log was last changed: about the end of the run, if nobody copied or edited the file since."
_UNCLEAR = (
    "several logs have the same fields, so it is not clear which of them are one run; "
    "add a field that distinguishes them, such as {session} or {label.NAME}"
)


class ImportedLog(NamedTuple):
    """A log to import: its path, the fields that the user states, and its content.

    ``file_time`` is the modification time of the log's file. It is ``None`` if the log or the user states a start time, or if the user did not ask
    for times of files.
    """

    path: str
    fields: LogFields
    survey: LogSurvey
    file_time: str | None = None

    @property
    def identity(self) -> tuple[str | None, str | None]:
        """Return the role and the participant. They distinguish the log from the other logs of its run."""
        return self.fields.role, self.fields.participant


class ImportedRun(NamedTuple):
    """A run to import.

    Attributes:
        folder: the folder of all repetitions of the run, relative to the data folder.
        repetition: the number of the repetition.
        is_counted: whether Tacholog counted the repetitions itself, because no path states the number.
        key: all fields of the run except the repetition, as one text.
        manifest: its manifest.
        logs: its logs, in the order of the manifest.
        hosts: machines that its logs describe.
        overruled: a sentence for each value of ``--set`` that is not used, because a log of this run states another value.
    """

    folder: str
    repetition: int
    is_counted: bool
    key: str
    manifest: Manifest
    logs: tuple[ImportedLog, ...]
    hosts: dict[str, Host]
    overruled: tuple[str, ...] = ()

    def with_repetition(self, repetition: int) -> ImportedRun:
        """Return this run with another repetition number."""
        return self._replace(repetition=repetition, manifest=msgspec.structs.replace(self.manifest, repetition=repetition))


class Grouping(NamedTuple):
    """The runs of a folder of logs.

    Attributes:
        runs: sorted by folder and repetition.
        problems: logs that belong to no run, with the reason.
        order: the order in which the runs of each folder were numbered. It is ``start time`` or ``name`` if no path states the number, and ``start
            time and repetition`` if the paths state the same repetitions at several start times.
    """

    runs: list[ImportedRun]
    problems: list[Problem]
    order: dict[str, str]


def group(logs: Iterable[ImportedLog]) -> Grouping:
    """Group logs into runs."""
    variants: dict[str, list[ImportedLog]] = defaultdict(list)
    for log in sorted(logs, key=lambda log: natural(log.path)):
        variants[_key(log.fields.values, without=OF_REPETITION)].append(log)
    grouping = Grouping([], [], {})
    for key, members in variants.items():
        _add_variant(key, members, grouping)
    runs = _with_distinct_folders(grouping.runs)
    runs.sort(key=lambda run: (natural(run.folder), run.repetition))
    return grouping._replace(runs=runs)


def _key(values: Values, without: Sequence[str] = ()) -> str:
    return json.dumps({name: value for name, value in sorted(values.items()) if name not in without}, default=str)


def natural(path: str) -> list[tuple[bool, int, str]]:
    """Return a key that sorts ``test-2`` before ``test-10``."""
    parts = re.split(r"([0-9]{1,18})", path)
    return [(bool(index % 2), int(part) if index % 2 else 0, part) for index, part in enumerate(parts)]


def _add_variant(key: str, logs: Sequence[ImportedLog], grouping: Grouping) -> None:
    """Make runs from logs, and add the runs to the grouping. The logs have the same fields, except for the repetition."""
    numbers: dict[Any, list[ImportedLog]] = defaultdict(list)
    for log in logs:
        numbers[log.fields.values.get(REPETITION)].append(log)
    several = _several(logs)
    is_clear = all(number is None or _is_one_run(members) for number, members in numbers.items())
    if not is_clear and (parts := _by_start_and_number(logs)):
        made = [_run(key, part, several, count, is_counted=True) for count, part in enumerate(parts, start=1)]
        _add_runs(made, "start time and repetition", grouping)
        return
    highest = max((number for number in numbers if number is not None), default=0)
    for number, members in numbers.items():
        parts = _runs_by_start(members) if number is None else [members] if _is_one_run(members) else None
        if parts is None:
            grouping.problems.extend(_unclear(members))
            continue
        ordered, order = _ordered(parts)
        first = highest + 1 if number is None else number
        made = [_run(key, part, several, count, is_counted=number is None) for count, part in enumerate(ordered, start=first)]
        _add_runs(made, order if number is None and len(numbers) == 1 else None, grouping)


def _add_runs(made: Sequence[ImportedRun | Problem], order: str | None, grouping: Grouping) -> None:
    grouping.problems.extend(run for run in made if isinstance(run, Problem))
    runs = [run for run in made if isinstance(run, ImportedRun)]
    grouping.runs.extend(runs)
    if order and len(runs) > 1:
        grouping.order[runs[0].folder] = order


def _by_start_and_number(logs: Sequence[ImportedLog]) -> list[Sequence[ImportedLog]] | None:
    """Return the logs of each run. Logs with the same start time and the same repetition are one run.

    Return ``None`` if this rule does not fit all logs.
    """
    parts: dict[tuple[datetime, int], list[ImportedLog]] = defaultdict(list)
    for log in logs:
        start, number = _moment(log.fields.values.get(START)), log.fields.values.get(REPETITION)
        if start is None or number is None:
            return None
        parts[start, number].append(log)
    return [parts[key] for key in sorted(parts)] if all(map(_is_one_run, parts.values())) else None


def _is_one_run(logs: Sequence[ImportedLog]) -> bool:
    return len({log.identity for log in logs}) == len(logs)


def _runs_by_start(logs: Sequence[ImportedLog]) -> list[Sequence[ImportedLog]] | None:
    """Return the logs of each run; ``None`` if `_runs_of` cannot group them. Logs with different stated start times belong to different runs."""
    starts: dict[str | None, list[ImportedLog]] = defaultdict(list)
    for log in logs:
        starts[log.fields.values.get(START)].append(log)
    parts = [_runs_of(members) for members in starts.values()]
    return None if None in parts else [run for part in parts for run in part or ()]


def _runs_of(logs: Sequence[ImportedLog]) -> list[Sequence[ImportedLog]] | None:
    """Return the logs of each run; ``None`` if it is not clear which logs belong together."""
    if _is_one_run(logs):
        return [logs]
    folders: dict[str, list[ImportedLog]] = defaultdict(list)
    for log in logs:
        folders[log.path.rpartition("/")[0]].append(log)
    if all(map(_is_one_run, folders.values())):
        return list(folders.values())
    return [[log] for log in logs] if len({log.identity for log in logs}) == 1 else None


def _unclear(logs: Sequence[ImportedLog]) -> list[Problem]:
    # Logs with the same role and participant become neighbours in the list.
    same: dict[object, list[str]] = defaultdict(list)
    for log in logs:
        same[log.identity].append(log.path)
    return [Problem(path, _UNCLEAR) for paths in same.values() for path in paths]


def _several(logs: Sequence[ImportedLog]) -> set[str | None]:
    """Return the roles with several participants. Only logs with such a role need a participant in the manifest."""
    participants: dict[str | None, set[str | None]] = defaultdict(set)
    for log in logs:
        participants[log.fields.role].add(log.fields.participant)
    return {role for role, numbers in participants.items() if len(numbers) > 1}


def _ordered(parts: Sequence[Sequence[ImportedLog]]) -> tuple[Sequence[Sequence[ImportedLog]], str]:
    """Return the runs in order, and the name of the order. The runs are not sorted if any start time is missing."""
    starts = [min(filter(None, (_moment(_start_of(log)) for log in part)), default=None) for part in parts]
    if len(parts) < 2 or not all(starts):  # noqa: PLR2004 - one run has no order
        return parts, "name"
    order = sorted(range(len(parts)), key=lambda index: (starts[index] or datetime.max.replace(tzinfo=UTC), index))
    return [parts[index] for index in order], "start time"


def _start_of(log: ImportedLog) -> str | None:
    return log.survey.facts.start_time or log.fields.values.get(START) or log.file_time


def _moment(text: str | None) -> datetime | None:
    return in_utc(text) if text else None


def _run(key: str, logs: Sequence[ImportedLog], several: set[str | None], number: int, *, is_counted: bool) -> ImportedRun | Problem:
    """Return the run of these logs.

    Return a problem if the measured system is unknown: the user does not state the system, and the logs do not name exactly one system.
    """
    logs = sorted(logs, key=lambda log: (log.fields.side or "", log.fields.participant or "", natural(log.path)))
    of_path = logs[0].fields.of_path
    values, overruled = _without_overruled(logs)
    systems, tools = ([*dict.fromkeys(filter(None, (name(log.survey) for log in logs)))] for name in (_system, _tool))
    if "system" not in values and len(systems) != 1:
        words = f"the logs of this run name several systems ({', '.join(systems)})" if systems else "no log of this run names the measured system"
        return Problem(logs[0].path, f"{words}, so the system must be stated: --set system=NAME")
    fields = {"system": systems[0] if systems else None, "tool": tools[0] if len(tools) == 1 else None, **manifest_fields(values)}
    hosts = _hosts(logs, values.get("host"))
    fields["host"] = values.get("host") or (next(iter(hosts)) if len(hosts) == 1 else None)
    names = log_names([(log.path, _distinction(log)) for log in logs])
    entries = tuple(_entry(log, name, several) for log, name in zip(logs, names, strict=True))
    if START not in fields and (file_time := _file_time(logs)):
        fields |= {START: file_time, "notes": (FILE_TIME_NOTE,)}
    manifest = Manifest(**{**fields, REPETITION: number}, logs=entries)
    folder = variant_folder(values, of_path, manifest.tool or manifest.system)
    return ImportedRun(folder, number, is_counted, key, manifest, tuple(logs), hosts if fields["host"] else {}, overruled)


def _file_time(logs: Sequence[ImportedLog]) -> str | None:
    """Return the earliest time of the files; ``None`` if the user did not ask for times of files, or if a log states the start time."""
    if any(log.survey.facts.start_time for log in logs):
        return None
    return min(filter(None, (log.file_time for log in logs)), default=None)


def _without_overruled(logs: Sequence[ImportedLog]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields that the user states, and a sentence for each contradiction to the logs. Fields that the logs overrule are left out.

    Logs overrule only the start time and the conditions of ``--set``, because ``--set`` is for values that logs do not state.
    """
    values, overruled = dict(logs[0].fields.values), []
    if stated_start := min(filter(None, (log.fields.values.get(START) for log in logs)), default=None):
        values[START] = stated_start
        if start := next((log.survey.facts.start_time for log in logs if log.survey.facts.start_time), None):
            del values[START]
            if not start.startswith(stated_start):  # If only a day is stated, a time on this day is no contradiction.
                day = start[:_DAY]
                overruled.append(f"{START}={stated_start} is not used for runs whose logs state {start if stated_start.startswith(day) else day}")
    for name in logs[0].fields.of_defaults:
        conditions = manifest_fields({name: values[name]}).get("conditions") if name.startswith(CONDITION) else None
        kinds = [kind for log in logs for kind in log.survey.kinds] if conditions else []
        differences = (difference for kind in kinds if conditions for difference in contradictions(kind.record, kind.in_log, conditions))
        if contradiction := next(differences, None):
            overruled.append(f"--set {contradiction.field}={contradiction.manifest} is not used for runs whose logs state {contradiction.log}")
            del values[name]
    return values, tuple(overruled)


def _system(log: LogSurvey) -> str | None:
    return log.system


def _tool(log: LogSurvey) -> str | None:
    return log.tool


def _hosts(logs: Sequence[ImportedLog], host_id: str | None) -> dict[str, Host]:
    hosts: dict[str, Host] = {}
    for log in logs:
        described = stated_host(log.survey.facts.environment)
        hosts |= {host_id or name: host for name, host in described.items() if (host_id or name) not in hosts}
    return hosts


def _distinction(log: ImportedLog) -> str | None:
    return "".join(filter(None, log.identity)) or None


def _entry(log: ImportedLog, name: str, several: set[str | None]) -> LogFile:
    fields = log.fields
    participant = None
    if fields.participant is not None and fields.role in several:
        word = _SHORT[fields.side] if fields.side else ""
        participant = f"{word}{fields.participant}"
    return LogFile(
        file=name,
        sha256=log.survey.sha256,
        format=fields.format,
        side=fields.side,
        participant=participant,
        results=fields.results,
        path=log.path,
    )


def _with_distinct_folders(runs: Sequence[ImportedRun]) -> list[ImportedRun]:
    keys: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        keys[run.folder].add(run.key)
    return [run._replace(folder=with_hash(run.folder, run.key)) if len(keys[run.folder]) > 1 else run for run in runs]


def by_variant(runs: Iterable[ImportedRun]) -> Mapping[str, list[ImportedRun]]:
    """Return the runs of each variant. The key is the folder of the variant."""
    variants: dict[str, list[ImportedRun]] = defaultdict(list)
    for run in runs:
        variants[run.folder].append(run)
    return variants


# These fields become parts of the folder's name, even if no path states them. Any other field becomes a part only if a path states it. Host and
# session are private, so they are not listed here: the folder's name is also an address on a site.
_ALWAYS = ("release", "campaign", "system", "system_version")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@-]+")
_RESERVED = (HOSTS_FOLDER, SAME_BUILD_FOLDER)  # In a data folder, folders with these names have another meaning.
_LONGEST = 60


def variant_folder(values: Values, of_path: Sequence[str], tool: str) -> str:
    """Return the folder of all repetitions of a run.

    Args:
        values: the run's fields.
        of_path: the fields that the path states, in the order of the path.
        tool: the name of the tool; it is the name of the folder if a run has no field.
    """
    first = [name for name in _ALWAYS if name in values and name not in of_path]
    last = [name for name in values if name.startswith(LABEL) and name not in of_path]
    names = [name for name in (*first, *of_path, *last) if name not in OF_REPETITION]
    return "/".join(_part(name, str(values[name])) for name in names) or slug(tool)


def with_hash(folder: str, key: str) -> str:
    """Return a folder name with a hash, for a variant whose plain name is already used by another variant."""
    return f"{folder}-{short_hash(key)}"


def short_hash(text: str) -> str:
    """Return six hexadecimal digits of the hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def repetition_folder(number: int) -> str:
    """Return the name of the folder of one repetition."""
    return f"{number:02d}"


def _part(name: str, value: str) -> str:
    # Sessions and options are private. The folder's name only has a hash of their values, because the name becomes an address on a site.
    if name == "session" or name.startswith(OPTION):
        return f"{name.partition('.')[0]}-{short_hash(f'{name}={value}')}"
    # Without the name of the field, a number could be mistaken for the number of a repetition.
    if re.fullmatch(r"[0-9.]+|true|false", value, re.IGNORECASE):
        return f"{name.rpartition('.')[2]}-{value}"
    plain = _UNSAFE.sub("-", value).strip("-._")[:_LONGEST]
    return plain if plain == value and value not in _RESERVED else f"{plain}-{short_hash(value)}".lstrip("-")


def log_names(logs: Sequence[tuple[str, str | None]]) -> list[str]:
    """Return the names of the logs of a run within the folder of the run.

    Usually, a log keeps its name. If several logs have the same name, because they are from different folders, each of these names gets a prefix.

    Args:
        logs: for each log, its path and a word for the prefix, such as ``pub0``.
    """
    names = [path.rpartition("/")[2] for path, _ in logs]
    for attempt in range(2):
        count = Counter(names)
        names = [
            name if count[name] == 1 else f"{distinction or 'log'}-{name}" if attempt == 0 else f"{short_hash(path)}-{name}"
            for name, (path, distinction) in zip(names, logs, strict=True)
        ]
    return names
