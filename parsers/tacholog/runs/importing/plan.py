"""The plan of an import: what becomes of each file of a folder. Nothing is written yet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.conditions import Contradiction as ConditionContradiction
from tacholog.runs.conditions import contradictions, stated_conditions
from tacholog.runs.importing.fields import OF_LOG
from tacholog.runs.importing.grouping import ImportedLog, ImportedRun, by_variant, group, repetition_folder, with_hash
from tacholog.runs.importing.rules import LogFields, Rules
from tacholog.runs.importing.survey import NOT_LOGS, LogSurvey, Problem, digest, is_log, list_files, survey
from tacholog.runs.manifest import RUN_FILE, Manifest, folders_below, read_manifest
from tacholog.schema.conditions import StatedConditions

# What a run's fields do not decide: these may differ in a run that was imported before.
_OF_LOGS = ("logs", "host", "notes", "start_time", "status", "reason", "environment", "commands", "order_index", "seed", "repetition")


class ExistingRuns(NamedTuple):
    """The runs that a data folder holds already.

    Attributes:
        manifests: by the folder of each run; ``None`` if its ``run.toml`` cannot be read.
        variants: the folders of runs, by the folder that holds them.
        by_content: the folders of runs, by the SHA-256 of their logs.
    """

    manifests: dict[str, Manifest | None]
    variants: dict[str, list[str]]
    by_content: dict[tuple[str, ...], list[str]]


class Decisions(NamedTuple):
    """What is to be done with the runs of a folder of logs.

    Attributes:
        new: runs to write; their folders and repetitions are final.
        present: runs that the data folder holds already, and the folder of each.
        relabelled: those of them whose fields are not what was asked for now, and the names of these fields.
        problems: runs that are not written, because their folder holds other logs.
    """

    new: list[ImportedRun]
    present: list[tuple[ImportedRun, str]]
    relabelled: list[tuple[str, tuple[str, ...]]]
    problems: list[Problem]


def known_runs(data: Path | None) -> ExistingRuns:
    """Read the manifests of a data folder; none if there is no such folder."""
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


def decide(runs: Iterable[ImportedRun], known: ExistingRuns) -> Decisions:
    """Decide which runs are new. Counted repetitions get the numbers that follow those of runs that are there already."""
    final: list[ImportedRun] = []
    for folder, members in by_variant(runs).items():
        # A folder of the same name may hold runs of other fields, imported from elsewhere.
        own = folder if _is_ours(folder, members, known) else with_hash(folder, members[0].key)
        final += [run._replace(folder=own) for run in _numbered(own, members, known)]
    decisions = Decisions([], [], [], [])
    planned = {run_folder(run) for run in final}
    seen: dict[tuple[str, ...], ImportedRun] = {}
    for run in final:
        first = seen.setdefault(_texts(run), run) if _has_results(run) else run
        if first is not run:
            what = "bytes" if _content(first.manifest) == _content(run.manifest) else "text"
            reason = f"it holds the same {what} as {first.logs[0].path}, so its numbers would count twice"
            decisions.problems.append(Problem(run.logs[0].path, reason))
        else:
            _decide_run(run, known, planned, decisions)
    return decisions


def _has_results(run: ImportedRun) -> bool:
    return any(log.survey.kinds for log in run.logs)


def run_folder(run: ImportedRun) -> str:
    """Return the folder of a run, relative to the data folder."""
    return f"{run.folder}/{repetition_folder(run.repetition)}"


def _is_ours(folder: str, members: Sequence[ImportedRun], known: ExistingRuns) -> bool:
    """Return whether a folder is free for these runs: it holds none, one of theirs, or runs with their fields."""
    present = [known.manifests[run] for run in known.variants.get(folder, ())]
    contents = {_content(run.manifest) for run in members}
    ours = _fields(members[0].manifest)
    return not present or any(_content(manifest) in contents or (manifest and _fields(manifest) == ours) for manifest in present)


def _fields(manifest: Manifest) -> dict[str, Any]:
    """Return what sets runs apart: the fields of a manifest that its logs do not decide."""
    return {name: value for name, value in msgspec.to_builtins(manifest).items() if name not in _OF_LOGS}


def _numbered(folder: str, members: Sequence[ImportedRun], known: ExistingRuns) -> Iterator[ImportedRun]:
    """Yield runs with their final numbers. A counted run that is there already keeps its number; new ones get the next numbers."""
    if not members[0].is_counted:
        yield from members
        return
    present = known.variants.get(folder, [])
    waiting: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for place in sorted(present, reverse=True):
        waiting[_content(known.manifests[place])].append(place)
    numbers = [int(name) for place in present if (name := place.rpartition("/")[2]).isdecimal()]
    following = max(numbers, default=0)
    for run in members:
        if same := waiting.get(_content(run.manifest)):
            name = same.pop().rpartition("/")[2]
            yield run.at(int(name) if name.isdecimal() else run.repetition)
        else:
            following += 1
            yield run.at(following)


def _decide_run(run: ImportedRun, known: ExistingRuns, planned: set[str], decisions: Decisions) -> None:
    place, content = run_folder(run), _content(run.manifest)
    if place in known.manifests:
        manifest = known.manifests[place]
        if manifest is None or _content(manifest) != content:
            decisions.problems.extend(_changed(run, place, manifest))
            return
        _add_present(run, place, manifest, decisions)
        return
    # Logs without results, such as those of runs that never began, are often the same.
    elsewhere = next((other for other in known.by_content.get(content, ()) if other not in planned), None) if _has_results(run) else None
    if elsewhere:
        _add_present(run, elsewhere, known.manifests[elsewhere], decisions)
    else:
        decisions.new.append(run)


def _add_present(run: ImportedRun, place: str, manifest: Manifest | None, decisions: Decisions) -> None:
    decisions.present.append((_completed(run, manifest), place))
    asked, present = _fields(run.manifest), _fields(manifest) if manifest else {}
    names = tuple(name for name in sorted({*asked, *present}) if asked.get(name) != present.get(name))
    if names:
        decisions.relabelled.append((place, tuple(word for name in names for word in _differing(name, asked.get(name), present.get(name)))))


def _completed(run: ImportedRun, manifest: Manifest | None) -> ImportedRun:
    """Return a run with the start time and the machine that somebody has written into its ``run.toml`` since, if nothing else states them."""
    since = {name: value for name in ("start_time", "host") if (value := getattr(manifest, name, None)) and not getattr(run.manifest, name)}
    return run._replace(manifest=msgspec.structs.replace(run.manifest, **since))


def _differing(name: str, asked: object, present: object) -> Iterator[str]:
    """Yield the names of fields with other values, those inside tables by their full names."""
    if not isinstance(asked, dict | None) or not isinstance(present, dict | None):
        yield name
        return
    first, second = asked or {}, present or {}
    yield from (f"{name}.{inner}" for inner in sorted({*first, *second}) if first.get(inner) != second.get(inner))


def _changed(run: ImportedRun, place: str, manifest: Manifest | None) -> Iterator[Problem]:
    """Yield a problem for each log that a run has now and did not have when it was imported."""
    if manifest is None:
        yield Problem(run.logs[0].path, f"{place}/{RUN_FILE} is there already, and cannot be read; nothing was changed")
        return
    before = Counter(log.sha256 for log in manifest.logs)
    names = {log.path: log.file for log in manifest.logs if log.path}
    for log in run.logs:
        if not before[log.survey.sha256]:
            what = "the log has changed since" if log.path in names else "that run was imported without this log"
            yield Problem(log.path, f"{place} is there already, and {what}; to import it anew, remove {place} first")
    if all(before[log.survey.sha256] for log in run.logs):
        yield Problem(run.logs[0].path, f"{place} is there already, with more logs")


class LogContradiction(NamedTuple):
    """What path, rule or ``--set`` state of a log, and the log states differently."""

    path: str
    text: str


class ImportPlan(NamedTuple):
    """What becomes of the files of a folder.

    Attributes:
        decisions: which runs are new, and which are there already.
        order: how runs were numbered where no path says it, by their folder.
        refused: files that are not imported although they look like logs, and why.
        unmatched: logs that no pattern fits.
        left_alone: files that no pattern fits and that are no logs.
        run_folders: folders with a ``run.toml``, which hold runs already.
        contradictions: where a log states something else.
        unused: the fields of ``--set`` that the paths or rules of all logs state themselves.
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
        """All runs of the folder that are, or will be, in the data folder."""
        return [*self.decisions.new, *(run for run, _ in self.decisions.present)]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left out that may be a log."""
        return not (self.refused or self.unmatched or self.decisions.problems)


def plan_import(root: Path, data: Path | None, rules: Rules, progress: Callable[[str, int], object] | None = None) -> ImportPlan:
    """Read the logs of a folder, and decide what becomes of each.

    Args:
        root: the folder with the logs. It is only read.
        data: the data folder; it need not exist. ``None``: show only what would be imported into an empty one.
        rules: what the user states.
        progress: is told the path of a log, and how many more bytes of its text are read now.
    """
    listed = list_files(root, data)
    refused = [problem for problem in listed.problems if not rules.is_ignored(problem.path)]
    unmatched: list[str] = []
    left_alone: list[str] = []
    logs: list[ImportedLog] = []
    for path in listed.files:
        if rules.is_ignored(path) or path.endswith(NOT_LOGS):
            continue
        found = rules.of_log(path)
        if found is None:
            (unmatched if is_log(root, path) else left_alone).append(path)
        elif isinstance(found, str):
            refused.append(Problem(path, found))
        else:
            _add_log(root, path, found, logs, refused, progress)
    grouped = group(logs)
    decisions = decide(grouped.runs, known_runs(data))
    refused += grouped.problems
    used = {name for log in logs for name in log.fields.of_defaults}
    unused = [name for name in rules.defaults if name not in (*used, *OF_LOG)] if logs else []
    found_contradictions = [one for run in (*decisions.new, *(run for run, _ in decisions.present)) for one in _contradictions(run)]
    return ImportPlan(decisions, grouped.order, refused, unmatched, left_alone, listed.run_folders, found_contradictions, unused)


def _add_log(
    root: Path, path: str, found: LogFields, logs: list[ImportedLog], refused: list[Problem], progress: Callable[[str, int], object] | None
) -> None:
    """Read a log. A rule may say that it holds no results; otherwise a format must fit."""
    try:
        content: LogSurvey = survey(root, path, found.format, progress) if found.results else digest(root, path)
    except UnreadableInput as error:
        hint = "; to keep it beside the logs with results, give it a rule with results = false" if "no format fits" in str(error) else ""
        refused.append(Problem(path, f"{error}{hint}"))
        return
    logs.append(ImportedLog(path, found, content))


def _contradictions(run: ImportedRun) -> Iterator[LogContradiction]:
    """Yield what the logs of a run state differently from its manifest, each once for each log."""
    conditions = stated_conditions(run.manifest)
    for log in run.logs:
        texts = [f"path or rules state {found.field} = {found.manifest}, the log states {found.log}" for found in _of_conditions(log, conditions)]
        texts += _of_versions(log.survey, run.manifest)
        yield from (LogContradiction(log.path, text) for text in dict.fromkeys(texts))


def _of_conditions(log: ImportedLog, conditions: StatedConditions) -> Iterator[ConditionContradiction]:
    for kind in log.survey.kinds:
        yield from contradictions(kind.record, kind.in_log, conditions)


def _of_versions(log: LogSurvey, manifest: Manifest) -> Iterator[str]:
    """Yield the versions that differ. ``6.0`` and ``6.0.1`` do not."""
    for name in ("system_version", "tool_version"):
        first, second = getattr(manifest, name), getattr(log.facts, name)
        if first and second and not f"{second}.".startswith(f"{first}.") and not f"{first}.".startswith(f"{second}."):
            yield f"path or rules state {name} = {first}, the log states {second}"
