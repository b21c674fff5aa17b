"""The plan of an import: what becomes of each file of a folder. Nothing is written yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.fields import OF_LOG
from tacholog.runs.importing.grouping import ImportedRun, StatedLog, group
from tacholog.runs.importing.rules import Rules, Stated
from tacholog.runs.importing.survey import NOT_LOGS, Problem, SurveyedLog, digest, is_log, list_files, survey
from tacholog.runs.importing.writing import Decided, decide, known_runs
from tacholog.runs.manifest import Manifest
from tacholog.runs.stated import Contradiction as ConditionContradiction
from tacholog.runs.stated import contradictions, stated
from tacholog.schema.conditions import StatedConditions


class LogContradiction(NamedTuple):
    """What path, rule or ``--set`` state of a log, and the log states differently."""

    path: str
    text: str


class ImportPlan(NamedTuple):
    """What becomes of the files of a folder.

    Attributes:
        decided: which runs are new, and which are there already.
        order: how runs were numbered where no path says it, by their folder.
        refused: files that are not imported although they look like logs, and why.
        unmatched: logs that no pattern fits.
        left_alone: files that no pattern fits and that are no logs.
        run_folders: folders with a ``run.toml``, which hold runs already.
        contradictions: where a log states something else.
        unused: the fields of ``--set`` that the paths or rules of all logs state themselves.
    """

    decided: Decided
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
        return [*self.decided.new, *(run for run, _ in self.decided.present)]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left out that may be a log."""
        return not (self.refused or self.unmatched or self.decided.problems)


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
    logs: list[StatedLog] = []
    for path in listed.files:
        if rules.is_ignored(path) or path.endswith(NOT_LOGS):
            continue
        found = rules.stated(path)
        if found is None:
            (unmatched if is_log(root, path) else left_alone).append(path)
        elif isinstance(found, str):
            refused.append(Problem(path, found))
        else:
            _add_log(root, path, found, logs, refused, progress)
    grouped = group(logs)
    decided = decide(grouped.runs, known_runs(data))
    refused += grouped.problems
    used = {name for log in logs for name in log.stated.of_defaults}
    unused = [name for name in rules.defaults if name not in (*used, *OF_LOG)] if logs else []
    found_contradictions = [one for run in (*decided.new, *(run for run, _ in decided.present)) for one in _contradictions(run)]
    return ImportPlan(decided, grouped.order, refused, unmatched, left_alone, listed.run_folders, found_contradictions, unused)


def _add_log(
    root: Path, path: str, found: Stated, logs: list[StatedLog], refused: list[Problem], progress: Callable[[str, int], object] | None
) -> None:
    """Read a log. A rule may say that it holds no results; otherwise a format must fit."""
    try:
        content: SurveyedLog = survey(root, path, found.format, progress) if found.results else digest(root, path)
    except UnreadableInput as error:
        hint = "; to keep it beside the logs with results, give it a rule with results = false" if "no format fits" in str(error) else ""
        refused.append(Problem(path, f"{error}{hint}"))
        return
    logs.append(StatedLog(path, found, content))


def _contradictions(run: ImportedRun) -> Iterator[LogContradiction]:
    """Yield what the logs of a run state differently from its manifest, each once for each log."""
    conditions = stated(run.manifest)
    for log in run.logs:
        texts = [f"path or rules state {found.field} = {found.manifest}, the log states {found.log}" for found in _of_conditions(log, conditions)]
        texts += _of_versions(log.survey, run.manifest)
        yield from (LogContradiction(log.path, text) for text in dict.fromkeys(texts))


def _of_conditions(log: StatedLog, conditions: StatedConditions) -> Iterator[ConditionContradiction]:
    for kind in log.survey.kinds:
        yield from contradictions(kind.record, kind.in_log, conditions)


def _of_versions(log: SurveyedLog, manifest: Manifest) -> Iterator[str]:
    """Yield the versions that differ. ``6.0`` and ``6.0.1`` do not."""
    for name in ("system_version", "tool_version"):
        first, second = getattr(manifest, name), getattr(log.facts, name)
        if first and second and not f"{second}.".startswith(f"{first}.") and not f"{first}.".startswith(f"{second}."):
            yield f"path or rules state {name} = {first}, the log states {second}"
