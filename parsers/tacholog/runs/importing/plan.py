"""The plan of an import: what the import does with each file of a folder, and which runs are new. This module writes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.conditions import Contradiction, contradictions, stated_conditions
from tacholog.runs.importing.fields import OF_LOG
from tacholog.runs.importing.grouping import FILE_TIME_NOTE, ImportedLog, ImportedRun, by_variant, group, repetition_folder, with_hash
from tacholog.runs.importing.patterns import START
from tacholog.runs.importing.rules import LogFields, Rules
from tacholog.runs.importing.survey import NOT_LOGS, LogSurvey, Problem, digest, is_log, list_files, survey
from tacholog.runs.manifest import RUN_FILE, Manifest, folders_below, read_manifest
from tacholog.schema.conditions import StatedConditions

_RUNS_OF_A_TIME = 2  # If more runs than this have the same file time, on average, the files were probably copied.

# Fields of a manifest that do not identify a run. They may differ between two imports of the same run.
_OF_LOGS = ("logs", "host", "notes", "start_time", "status", "reason", "environment", "commands", "order_index", "seed", "repetition")


class ExistingRuns(NamedTuple):
    """The runs that were in a data folder before the import.

    Attributes:
        manifests: the manifest of each run, by the folder of the run; ``None`` if a ``run.toml`` cannot be read.
        variants: the folders of runs, by their parent folder.
        by_content: the folders of runs, by the SHA-256 of their logs.
    """

    manifests: dict[str, Manifest | None]
    variants: dict[str, list[str]]
    by_content: dict[tuple[str, ...], list[str]]


class Decisions(NamedTuple):
    """The decision on each run of an import.

    Attributes:
        new: the runs to write. Their folders and the numbers of their repetitions will not change any more.
        present: runs that are already in the data folder, each with its folder.
        relabelled: present runs whose fields in this import differ from their fields in the data folder. Each comes with the names of these fields.
        problems: runs that are not written. For example, the folder of such a run already has logs with a different content.
    """

    new: list[ImportedRun]
    present: list[tuple[ImportedRun, str]]
    relabelled: list[tuple[str, tuple[str, ...]]]
    problems: list[Problem]


def existing_runs(data: Path | None) -> ExistingRuns:
    """Read the manifests of a data folder. If the folder does not exist, the result is empty."""
    manifests: dict[str, Manifest | None] = {}
    variants: dict[str, list[str]] = defaultdict(list)
    contents: dict[tuple[str, ...], list[str]] = defaultdict(list)
    if data is None or not data.is_dir():
        return ExistingRuns(manifests, variants, contents)
    for folder, files in folders_below(data):
        if RUN_FILE not in files:
            continue
        run = folder.relative_to(data).as_posix()
        variants[run.rpartition("/")[0]].append(run)
        try:
            manifests[run] = read_manifest(folder / RUN_FILE)
        except UnreadableInput:
            manifests[run] = None
            continue
        contents[_content(manifests[run])].append(run)
    return ExistingRuns(manifests, variants, contents)


def _content(manifest: Manifest | None) -> tuple[str, ...]:
    return tuple(sorted(log.sha256 for log in manifest.logs)) if manifest else ()


def _texts(run: ImportedRun) -> tuple[str, ...]:
    return tuple(sorted(log.survey.text_sha256 for log in run.logs))


def decide(runs: Iterable[ImportedRun], existing: ExistingRuns) -> Decisions:
    """Decide which runs are new.

    A stated repetition is kept. If no repetition is stated for a run, the run gets the next number after the numbers of the existing runs.
    """
    final: list[ImportedRun] = []
    for folder, members in by_variant(runs).items():
        # A folder of this name may already have runs of an earlier import whose fields differ from the fields of these runs.
        own_folder = folder if _is_ours(folder, members, existing) else with_hash(folder, members[0].key)
        final += [run._replace(folder=own_folder) for run in _numbered(own_folder, members, existing)]
    decisions = Decisions([], [], [], [])
    planned = {run_folder(run) for run in final}
    first_with: dict[tuple[str, ...], ImportedRun] = {}
    for run in final:
        first = first_with.setdefault(_texts(run), run) if _has_results(run) else run
        if first is not run:
            what = "bytes" if _content(first.manifest) == _content(run.manifest) else "text"
            reason = f"the same {what} as {first.logs[0].path}, so that all numbers would count twice"
            decisions.problems.append(Problem(run.logs[0].path, reason))
        else:
            _decide_run(run, existing, planned, decisions)
    return decisions


def _has_results(run: ImportedRun) -> bool:
    return any(log.survey.kinds for log in run.logs)


def run_folder(run: ImportedRun) -> str:
    """Return the folder of a run, relative to the data folder."""
    return f"{run.folder}/{repetition_folder(run.repetition)}"


def _is_ours(folder: str, members: Sequence[ImportedRun], existing: ExistingRuns) -> bool:
    """Whether the folder contains no run, one of these runs, or a run with the same fields."""
    present = [existing.manifests[run] for run in existing.variants.get(folder, ())]
    contents = {_content(run.manifest) for run in members}
    ours = _identifying_fields(members[0].manifest)
    return not present or any(_content(manifest) in contents or (manifest and _identifying_fields(manifest) == ours) for manifest in present)


def _identifying_fields(manifest: Manifest) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(manifest).items() if name not in _OF_LOGS}


def _numbered(folder: str, members: Sequence[ImportedRun], existing: ExistingRuns) -> Iterator[ImportedRun]:
    """Yield the runs with their final numbers.

    A number in a path does not change. A run that is already in the data folder keeps the number from there. Any other run gets a number after all
    existing and stated numbers.
    """
    present = existing.variants.get(folder, [])
    waiting: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for existing_folder in sorted(present, reverse=True):
        waiting[_content(existing.manifests[existing_folder])].append(existing_folder)
    numbers = [int(name) for existing_folder in present if (name := existing_folder.rpartition("/")[2]).isdecimal()]
    following = max([*numbers, *(run.repetition for run in members if not run.is_counted)], default=0)
    for run in members:
        if not run.is_counted:
            yield run
        elif same := waiting.get(_content(run.manifest)):
            name = same.pop().rpartition("/")[2]
            yield run.with_repetition(int(name) if name.isdecimal() else run.repetition)
        else:
            following += 1
            yield run.with_repetition(following)


def _decide_run(run: ImportedRun, existing: ExistingRuns, planned: set[str], decisions: Decisions) -> None:
    folder, content = run_folder(run), _content(run.manifest)
    if folder in existing.manifests:
        manifest = existing.manifests[folder]
        if manifest is None or _content(manifest) != content:
            decisions.problems.extend(_changes_since_import(run, folder, manifest))
            return
        _add_present(run, folder, manifest, decisions)
        return
    # Logs without results are often equal, for example if several runs failed to start.
    other_folder = next((other for other in existing.by_content.get(content, ()) if other not in planned), None) if _has_results(run) else None
    if other_folder:
        _add_present(run, other_folder, existing.manifests[other_folder], decisions)
    else:
        decisions.new.append(run)


def _add_present(run: ImportedRun, folder: str, manifest: Manifest | None, decisions: Decisions) -> None:
    decisions.present.append((_completed(run, manifest), folder))
    asked, present = _identifying_fields(run.manifest), _identifying_fields(manifest) if manifest else {}
    names = tuple(name for name in sorted({*asked, *present}) if asked.get(name) != present.get(name))
    if names:
        decisions.relabelled.append((folder, tuple(word for name in names for word in _differing_fields(name, asked.get(name), present.get(name)))))


def _completed(run: ImportedRun, manifest: Manifest | None) -> ImportedRun:
    """Return the run. A missing start time or host is taken from the existing ``run.toml``, because somebody may have added it there."""
    since = {name: value for name in ("start_time", "host") if (value := getattr(manifest, name, None)) and not getattr(run.manifest, name)}
    return run._replace(manifest=msgspec.structs.replace(run.manifest, **since))


def _differing_fields(name: str, asked: object, present: object) -> Iterator[str]:
    if not isinstance(asked, dict | None) or not isinstance(present, dict | None):
        yield name
        return
    first, second = asked or {}, present or {}
    yield from (f"{name}.{inner}" for inner in sorted({*first, *second}) if first.get(inner) != second.get(inner))


def _changes_since_import(run: ImportedRun, folder: str, manifest: Manifest | None) -> Iterator[Problem]:
    if manifest is None:
        yield Problem(run.logs[0].path, f"{folder}/{RUN_FILE} is already there, and cannot be read; nothing was changed")
        return
    before = Counter(log.sha256 for log in manifest.logs)
    names = {log.path: log.file for log in manifest.logs if log.path}
    if not any(before[log.survey.sha256] or log.path in names for log in run.logs):
        which = f"repetition {run.repetition} of {', '.join(names) or 'logs from another folder'}"
        yield Problem(run.logs[0].path, f"{folder} is already there, and is {which}; state another repetition for one of the two, or a label")
        return
    for log in run.logs:
        if not before[log.survey.sha256]:
            what = "the log has changed since" if log.path in names else "that run was imported without this log"
            yield Problem(log.path, f"{folder} is already there, and {what}; to import it again, remove {folder} first")
    if all(before[log.survey.sha256] for log in run.logs):
        yield Problem(run.logs[0].path, f"{folder} is already there, with more logs")


class LogContradiction(NamedTuple):
    """A contradiction: a log states another value than its path, its rule or ``--set``."""

    path: str
    text: str


class ImportPlan(NamedTuple):
    """What the import does with each file of a folder.

    Attributes:
        decisions: which runs are new, and which are already present.
        order: the order in which the runs of a folder were numbered, by folder. It contains only folders whose runs have no number in their paths.
        refused: files that are not imported although they look like logs, with the reason.
        unmatched: logs whose paths no pattern matches.
        left_alone: other files whose paths no pattern matches.
        run_folders: folders with a ``run.toml``, which are already runs.
        contradictions: differences between logs and stated fields.
        unused: the fields of ``--set`` that are not used, because the paths or rules of all logs state them.
    """

    decisions: Decisions
    order: dict[str, str]
    refused: list[Problem]
    unmatched: list[str]
    left_alone: list[str]
    run_folders: list[str]
    contradictions: list[LogContradiction]
    unused: list[str]

    @property
    def runs(self) -> list[ImportedRun]:
        """Return the runs that will be in the data folder after the import: the new runs, and those that are already there."""
        return [*self.decisions.new, *(run for run, _ in self.decisions.present)]

    @property
    def is_complete(self) -> bool:
        """Whether every file that may be a log is imported."""
        return not (self.refused or self.unmatched or self.decisions.problems)


def plan_import(
    root: Path, data: Path | None, rules: Rules, progress: Callable[[str, int], object] | None = None, *, times_from_files: bool = False
) -> ImportPlan:
    """Read the logs of a folder, and decide what the import does with each log.

    Args:
        root: the folder with the logs. It is only read.
        data: the data folder; it need not exist. ``None``: plan the import into an empty folder.
        rules: the user's patterns and fields.
        progress: a function that is called with the path of a log and the number of bytes just read.
        times_from_files: whether the modification time of a log is used as the start time of its run, if no start time is stated.

    Raises:
        UnreadableInput: most runs have the same start time from their files.
    """
    listed = list_files(root, data)
    refused = [problem for problem in listed.problems if not rules.is_ignored(problem.path)]
    if rules.facts:
        rules.facts.read(path for path in listed.files if rules.matches(path))
    unmatched: list[str] = []
    left_alone: list[str] = []
    logs: list[ImportedLog] = []
    for path in listed.files:
        if rules.is_ignored(path) or path.endswith(NOT_LOGS) or (rules.facts and rules.facts.are_in(path)):
            continue
        fields = rules.of_log(path)
        if fields is None:
            (unmatched if is_log(root, path) else left_alone).append(path)
        elif isinstance(fields, str):
            refused.append(Problem(path, fields))
        else:
            _add_log(root, path, fields, logs, refused, progress)
    grouped = group([log._replace(file_time=_file_time(root, log)) for log in logs] if times_from_files else logs)
    _check_file_times(grouped.runs)
    decisions = decide(grouped.runs, existing_runs(data))
    refused += grouped.problems
    used = {name for log in logs for name in log.fields.of_defaults}
    unused = [name for name in rules.defaults if name not in (*used, *OF_LOG)] if logs else []
    all_runs = (*decisions.new, *(run for run, _ in decisions.present))
    log_contradictions = [contradiction for run in all_runs for contradiction in _contradictions(run)]
    return ImportPlan(decisions, grouped.order, refused, unmatched, left_alone, listed.run_folders, log_contradictions, unused)


def _add_log(
    root: Path, path: str, fields: LogFields, logs: list[ImportedLog], refused: list[Problem], progress: Callable[[str, int], object] | None
) -> None:
    try:
        content: LogSurvey = survey(root, path, fields.format, progress) if fields.results else digest(root, path)
    except UnreadableInput as error:
        hint = "; to keep it beside the logs with results, give it a rule with results = false" if "no format fits" in str(error) else ""
        refused.append(Problem(path, f"{error}{hint}"))
        return
    logs.append(ImportedLog(path, fields, content))


def _file_time(root: Path, log: ImportedLog) -> str | None:
    if START in log.fields.values:
        return None
    return f"{datetime.fromtimestamp((root / log.path).lstat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _check_file_times(runs: Sequence[ImportedRun]) -> None:
    times = [run.manifest.start_time for run in runs if FILE_TIME_NOTE in run.manifest.notes]
    if len(times) > _RUNS_OF_A_TIME * len(set(times)):
        raise UnreadableInput(
            f"--times-from-files: the files of {len(times)} runs have only {len(set(times))} different dates. They were probably copied or unpacked, "
            "so their dates are not the times of the runs. Copy the files with their dates (cp -p, rsync -t), or use {start_time} in --map"
        )


def _contradictions(run: ImportedRun) -> Iterator[LogContradiction]:
    conditions = stated_conditions(run.manifest)
    for log in run.logs:
        differences = _of_conditions(log, conditions)
        texts = [
            f"the path or a rule states {difference.field} = {difference.manifest}, the log states {difference.log}" for difference in differences
        ]
        texts += _of_versions(log.survey, run.manifest)
        yield from (LogContradiction(log.path, text) for text in dict.fromkeys(texts))


def _of_conditions(log: ImportedLog, conditions: StatedConditions) -> Iterator[Contradiction]:
    for kind in log.survey.kinds:
        yield from contradictions(kind.record, kind.in_log, conditions)


def _of_versions(log: LogSurvey, manifest: Manifest) -> Iterator[str]:
    for name in ("system_version", "tool_version"):
        first, second = getattr(manifest, name), getattr(log.facts, name)
        # Versions such as 6.0 and 6.0.1 count as equal, because one of them is only more exact.
        if first and second and not f"{second}.".startswith(f"{first}.") and not f"{first}.".startswith(f"{second}."):
            yield f"the path or a rule states {name} = {first}, the log states {second}"
