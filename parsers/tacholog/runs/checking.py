"""Check a folder of runs: read each log, and judge its records one by one. No tables are made, so no package of an extra is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.formats.account import Account
from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Event
from tacholog.formats.registry import format_named
from tacholog.runs.clocks import clocks_of
from tacholog.runs.conditions import Contradiction, contradictions, first_contradictions, stated_conditions, with_stated_size
from tacholog.runs.disturbance import exceeded
from tacholog.runs.listing import RunFolder, check_name, list_runs
from tacholog.runs.logs import LogHead, lost_head, read_log, run_ending
from tacholog.runs.machines import Machines
from tacholog.runs.manifest import RUN_FILE, LogFile, Manifest, read_manifest
from tacholog.runs.problems import (
    CLOCKS,
    COINCIDENCE,
    CONTRADICTED,
    FORGOTTEN,
    UNREADABLE,
    LogIdentity,
    Row,
    complaint,
    copies,
    manifest_problems,
    problem,
    unlisted_files,
)
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.records import SEVERITY, Histogram, Record
from tacholog.schema.tables import TABLES


class CheckedFolder(msgspec.Struct):
    """What was found in a folder of runs.

    Attributes:
        runs: the folders of all runs, also of those whose manifest cannot be read, by the ids of the runs.
        problems: a line of text for each problem.
        read: how many runs, lines and numbers were read.
    """

    runs: dict[str, RunFolder]
    problems: list[str]
    read: dict[str, int]


def check_runs(
    root: Path,
    tell_done: Callable[[int, int], object] = lambda _done, _all: None,
    tell_text: Callable[[str, int], object] = lambda _log, _count: None,
) -> CheckedFolder:
    """Read every run below a folder, and return what is wrong.

    A folder of logs without a manifest is no run, and is not reported.

    Args:
        root: the folder.
        tell_done: called with the number of runs that were read so far, and the number of all runs.
        tell_text: called with the path of a log and the number of bytes of its text that are read next.
    """
    machines = Machines()
    rows: list[Row] = []
    folders = list_runs([root], machines, rows)
    # A host file that cannot be read is already listed, with the reason.
    described = machines.hosts.keys() | {Path(row["log"]).stem for row in rows if row["kind"] == UNREADABLE and not row["run"]}
    result = CheckedFolder(folders, [complaint(row) for row in rows if row["kind"] != FORGOTTEN], {"run": 0, "line": 0, "number": 0})
    identities: list[LogIdentity] = []
    missing: set[str] = set()
    for done, (run, folder) in enumerate(folders.items(), start=1):
        try:
            check_name(run)
            manifest = read_manifest(folder.path / RUN_FILE)
        except UnreadableInput as error:
            result.problems.append(str(error))
            continue
        logs = [_read(run, folder.path, manifest, entry, tell_text) for entry in manifest.logs]
        result.problems += _problems_of_run(run, folder, manifest, logs)
        result.read["run"] += 1
        result.read["line"] += sum(sum(log.head.lines.values()) for log in logs)
        result.read["number"] += sum(log.records.number_count for log in logs)
        if manifest.host is not None and manifest.host not in described:
            missing.add(manifest.host)
        if not manifest.published:
            identities += (log.identity(run, folder.path) for log in logs if log.records.number_count >= COINCIDENCE)
        tell_done(done, len(folders))
    result.problems += map(complaint, copies(identities))
    result.problems += (f"hosts/{host}.toml: missing, although a run names this host" for host in sorted(missing))
    return result


class _CheckedLog(NamedTuple):
    entry: LogFile
    head: LogHead
    records: _Records

    def identity(self, run: str, folder: Path) -> LogIdentity:
        return LogIdentity(run, str(folder), self.entry.file, self.head.sha256 or "", self.head.text_sha256 or "")


class _Records:
    """Judges the records of a log, but not the numbers in them, because these are judged while the log is read (`tacholog.formats.validity`).

    Attributes:
        has_results: whether the log has results, and not only the use of resources.
        one_way_line: the first line with a latency between two clocks, if there is one.
        violations: a sentence for each broken rule, by the name of the rule.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.number_count = 0
        self.last_line_read = 0
        self.has_results = False
        self.one_way_line: int | None = None
        self.violations: dict[str, str] = {}
        self._path, self._manifest_conditions = path, stated_conditions(manifest)
        self._lines: dict[tuple[int, bool, bool, Record], int] = {}  # records with an equal key are judged once; the value is their first line

    def add(self, event: Event, record: Record) -> None:
        self.number_count += len(record.numbers)
        self.last_line_read = event.line
        self._keep(event.run, record, record.payload_bytes, event.line, has_latency=any(number.metric == "latency" for number in record.numbers))

    def add_block(self, block: RecordBlock, run: int) -> None:
        columns, lines = block.columns, block.lines.tolist()
        if not lines:
            return
        self.number_count += len(lines) * len(columns.numbers)
        self.last_line_read = lines[-1]
        has_latency = any(column.metric == "latency" for column in columns.numbers)
        for size, line in dict(zip(reversed(columns.payload_bytes.tolist()), reversed(lines), strict=True)).items():
            self._keep(run, block.like, None if size == -1 else size, line, has_latency=has_latency)  # -1: the log does not state the size

    def add_histogram(self, histogram: Histogram) -> None:
        """Do nothing, because there is no rule for histograms."""

    def complete(self, head: LogHead, account: Account) -> None:
        """Judge all records. This happens at the end, because conditions may be on any line of the log."""
        module = format_named(head.format) if head.format else None
        defined = tuple(getattr(module, "DEFINITIONS", ()))
        conflicts: list[tuple[int, list[Contradiction]]] = []
        for (run, has_latency, _, record), line in self._lines.items():
            in_log = account.conditions(run)
            if self._manifest_conditions != StatedConditions():
                conflicts.append((line, contradictions(record, in_log, self._manifest_conditions)))
            conditions = record.conditions.over(in_log.over(self._manifest_conditions))
            completed = (
                msgspec.structs.asdict(conditions) | msgspec.structs.asdict(with_stated_size(record, self._manifest_conditions)) | {"line": line}
            )
            for name, words in _violated("results", completed):
                self.violations.setdefault(name, f"results: {words}, in {self._path}{f':{line}' if line else ''}")
            if conditions.definition is not None and conditions.definition not in defined:
                words = f"the definition {conditions.definition!r} is none of the format {head.format} ({', '.join(defined) or 'none'})"
                self.violations.setdefault(f"definition {conditions.definition}", f"{self._path}: {words}")
            if has_latency and conditions.basis == "one-way":
                self.one_way_line = line if self.one_way_line is None else min(line, self.one_way_line)
        head.problems += (
            problem("", self._path.name, line, CONTRADICTED, "", str(contradiction)) for line, contradiction in first_contradictions(conflicts)
        )

    def _keep(self, run: int, record: Record, size: int | None, line: int, *, has_latency: bool) -> None:
        self.has_results |= record.scope != "resources"
        if size and self._manifest_conditions.payload_bytes is None:
            size = 1  # Any size is possible, so sizes need no separate check.
        alike = msgspec.structs.replace(record, payload_bytes=size, numbers=(), samples=None, participant=None)
        self._lines.setdefault((run, has_latency, line == 0, alike), line)


def _read(run: str, folder: Path, manifest: Manifest, entry: LogFile, tell_text: Callable[[str, int], object]) -> _CheckedLog:
    path = Path(run) / entry.file
    records = _Records(path, manifest)
    try:
        with open_evidence(folder, entry.file) as stream:
            head = read_log(stream, manifest, entry, records, progress=lambda count: tell_text(str(path), count))
    except UnreadableInput as error:
        head = lost_head(entry, UNREADABLE, str(error))
    return _CheckedLog(entry, head, _Records(path, manifest) if head.is_lost else records)


def _problems_of_run(run: str, folder: RunFolder, manifest: Manifest, logs: Sequence[_CheckedLog]) -> Iterator[str]:
    rows = [row for log in logs for row in log.head.problems]
    clocks = clocks_of(manifest, partial(open_evidence, folder.path))
    if clocks.refusal is not None:
        one_way = ((log.entry.file, log.records.one_way_line) for log in logs)
        rows += (problem("", file, line, CLOCKS, "", clocks.refusal) for file, line in one_way if line is not None)
    rows += manifest_problems(manifest)
    yield from (complaint({**row, "run": run}) for row in rows)
    yield from map(complaint, unlisted_files(run, folder.path, folder.names, manifest))
    status, reason = run_ending(manifest, [log.head for log in logs], has_results=any(log.records.has_results for log in logs))
    if SEVERITY[status] > SEVERITY[None]:
        in_logs = [log.entry.file for log in logs if log.head.status == status and status != manifest.status]
        yield f"{Path(run, *in_logs[:1])}: {status}: {reason}"
    yield from (f"{run}: above the limits of its campaign: {limit}" for limit in exceeded(manifest.environment, manifest.limits))
    yield from (f"runs: {words}, in {Path(run) / RUN_FILE}" for _, words in _violated("runs", msgspec.structs.asdict(manifest)))
    for log in logs:
        yield from log.records.violations.values()
    yield from _same_text(run, logs)


def _violated(table: str, values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the name of each column whose value is too small, and a sentence about the value.

    No other rule needs a check, because the code that makes records and manifests enforces all other rules.
    """
    for name, column in TABLES[table].items():
        value = values.get(name)
        if not isinstance(value, int | float):
            continue
        if column.at_least is not None and value < column.at_least:
            yield name, f"{name} {value!r} is less than {column.at_least}"
        if column.above is not None and value <= column.above:
            yield name, f"{name} {value!r} is not more than {column.above:g}"


def _same_text(run: str, logs: Sequence[_CheckedLog]) -> Iterator[str]:
    """Yield a sentence about logs with the same text, because the same numbers would be counted several times."""
    digests: dict[str, dict[str, str]] = {}
    for log in logs:
        if log.head.size_bytes and log.head.text_sha256:
            digests.setdefault(log.head.text_sha256, {})[log.entry.file] = log.head.sha256 or ""
    for files in digests.values():
        if len(files) > 1:
            yield f"{run}: {' and '.join(sorted(files))} hold the same {'bytes' if len({*files.values()}) == 1 else 'text'}"
