"""From what single logs give to the tables of a dataset: what holds for a whole run, and what holds across runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from tacholog.dataset.columns import NOT_STATED, NUMBER_WIDTH, RECORD_WIDTH, Columns, Name, NumberArrays, RecordArrays, Shape, joined_words
from tacholog.dataset.distributions import Distribution
from tacholog.dataset.frames import Dataset, Part, Row, dataset, frame, results_frame, results_frames
from tacholog.dataset.marking.across import mark_growing, mark_republished
from tacholog.dataset.marking.clocks import Clocks, clocks_of
from tacholog.dataset.marking.quality import RunContext, judge
from tacholog.dataset.rows import ReadLog, log_row, run_ending, run_row
from tacholog.dataset.work.entries import LogEntry
from tacholog.runs.disturbance import exceeded
from tacholog.runs.manifest import RUN_FILE, Host, Manifest
from tacholog.runs.moments import is_moment
from tacholog.runs.problems import problem
from tacholog.runs.stated import options_apart
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import Facts, number_in
from tacholog.schema.tables import TABLES

if TYPE_CHECKING:
    from tacholog.dataset.columns import Integers, Words

_RESOURCES = "resources"  # The format of the log of what processes used. It states no conditions, and holds under those of the results.


class FoundRun(NamedTuple):
    """A run with its logs, all of them read.

    Attributes:
        run: its id.
        folder: where it is.
        manifest: its manifest.
        manifest_json: the same as JSON.
        entries: what each log of the manifest gives, in its order.
        open_log: opens a file of the run.
        host: its machine, if that is described.
    """

    run: str
    folder: Path
    manifest: Manifest
    manifest_json: bytes
    entries: Sequence[LogEntry]
    open_log: Callable[[str], BinaryIO]
    host: Host | None = None


class Assembly:
    """Collects runs, and makes a dataset of them."""

    def __init__(self) -> None:
        """Start without runs."""
        self.rows: dict[str, list[Row]] = {name: [] for name in TABLES if name != "results"}
        self._shapes: dict[Shape, int] = {}
        self._names: dict[Name, int] = {}
        self._record_parts: list[Words] = []
        self._number_parts: list[Words] = []
        # What the codes of logs mean here, where it begins for each log, and for lists of shapes and names that were met before. Those are held, or
        # others would get their ids.
        self._shape_codes: list[int] = []
        self._name_codes: list[int] = []
        self._starts: list[tuple[int, int]] = []
        self._known: dict[tuple[int, int], tuple[int, int]] = {}
        self._held: list[tuple[list[Shape], list[Name]]] = []
        self._places: list[tuple[str, str]] = []  # the run and the name of each log
        self._run_numbers: list[int] = []  # of each log
        self._counts: list[int] = []  # how many records each log has
        self._contexts: list[RunContext] = []  # of each log
        self._releases: list[tuple[str, str] | None] = []  # of each run
        self.number_count = 0

    def add(self, found: FoundRun) -> None:
        """Add a run with its logs. Their entries become part of the dataset, and are changed."""
        run, manifest = found.run, found.manifest
        logs = [ReadLog(entry, read.head) for entry, read in zip(manifest.logs, found.entries, strict=True)]
        for log in logs:
            self.rows["logs"].append(log_row(run, log))
            self.rows["problems"].extend(problem(run, log.entry.file, each.line, each.kind, each.text, each.reason) for each in log.head.problems)
        clocks = clocks_of(manifest, found.open_log)
        status, reason = run_ending(
            manifest, logs, has_results=any(shape.scope != "resources" for read in found.entries for shape in read.columns.shapes)
        )
        of_results = [read for read in found.entries if read.head.format != _RESOURCES]
        options = options_apart(manifest, _measured(found.entries) if manifest.options else ())
        for log, read in zip(logs, found.entries, strict=True):
            if read.head.format == _RESOURCES:
                read.columns.shapes = _under(
                    _shared({shape.conditions for other in of_results for shape in other.columns.shapes}), read.columns.shapes
                )
            elif (line := clocks.apply(read.columns)) is not None:
                self.rows["problems"].append(clocks.problem(run, log.entry.file, line))
            self._add_columns(run, log.entry.file, read.columns)
            self._contexts.append(_context(log.head.facts, manifest, found.host, failed=status == "failed"))
            self._add_histograms(run, log.entry.file, read, clocks)
        row = run_row(run, found.folder, manifest, found.manifest_json, [log.head.facts for log in logs], (status, reason), options)
        self._releases.append((row["system"], manifest.release) if manifest.published and manifest.release else None)
        self.rows["runs"].append(row)
        if manifest.start_time is not None and not is_moment(manifest.start_time):
            reason = f'start_time = {manifest.start_time!r} is no time as in "2026-01-31T12:00:00Z", and was not used'
            self.rows["problems"].append(problem(run, RUN_FILE, 0, "manifest", "", reason))

    def finish(self, hosts: dict[str, Host]) -> Dataset:
        """Return all runs as a dataset, with quality marks."""
        columns, log_of = self._judged()
        return dataset(self.rows, results_frame(columns, self._places, log_of), hosts)

    def finish_part(self, hosts: dict[str, Host]) -> Part:
        """Return all runs as a part of a dataset, with quality marks."""
        columns, log_of = self._judged()
        return Part(dataset(self.rows, frame("results", ()), hosts), results_frames(columns, self._places, log_of))

    def _judged(self) -> tuple[Columns, Integers]:
        """Return the results of all logs with their marks, and for each record the place of its log."""
        import numpy as np

        records = joined_words(self._record_parts, RECORD_WIDTH)
        numbers = joined_words(self._number_parts, NUMBER_WIDTH)
        counts, number_counts = (np.array(of_logs, dtype=np.int64) for of_logs in (self._counts, [len(part[0]) for part in self._number_parts]))
        self._record_parts, self._number_parts = [], []  # The joined ones are copies.
        # Their codes get the meanings that they have here. For all logs together, that takes a fifth of the time.
        of_shapes, of_names = zip(*self._starts, strict=True) if self._starts else ((), ())
        records[_SHAPE] = _in_all(self._shape_codes, records[_SHAPE], of_shapes, counts)
        numbers[_NAME] = _in_all(self._name_codes, numbers[_NAME], of_names, number_counts)
        if len(counts) > 1:
            numbers[_RECORD] += (np.cumsum(counts) - counts).repeat(number_counts)
        columns = Columns(list(self._shapes), list(self._names), records, numbers)
        log_of = np.arange(len(counts)).repeat(counts)
        run_of = np.array(self._run_numbers, dtype=np.int64)[log_of]
        judge(columns, self._contexts, log_of, run_of)
        mark_growing(columns, run_of)
        mark_republished(columns, self._releases, run_of)
        return columns, log_of

    def _add_columns(self, run: str, log: str, columns: Columns) -> None:
        """Add the results of a log."""
        self._record_parts.append(columns.record_words)
        self._number_parts.append(columns.number_words)
        self.number_count += columns.number_count
        self._places.append((run, log))
        self._run_numbers.append(len(self._releases))
        self._counts.append(len(columns.record_words[0]))
        self._starts.append(self._start_of(columns))

    def _start_of(self, columns: Columns) -> tuple[int, int]:
        """Return where the lists of what codes mean here begin for the shapes and the names of a log. Logs of one pack share their lists."""
        lists = (id(columns.shapes), id(columns.names))
        known = self._known.get(lists)
        if known is None:
            known = len(self._shape_codes), len(self._name_codes)
            self._shape_codes += [self._shapes.setdefault(shape, len(self._shapes)) for shape in columns.shapes]
            self._name_codes += [self._names.setdefault(name, len(self._names)) for name in columns.names]
            self._known[lists] = known
            self._held.append((columns.shapes, columns.names))
        return known

    def _add_histograms(self, run: str, log: str, read: LogEntry, clocks: Clocks) -> None:
        for histogram in read.head.histograms:
            if histogram.basis == "one-way" and clocks.refusal is not None:
                continue
            place = {"run": run, "log": log, "line": histogram.line}
            bins = Distribution(histogram.packed)
            self.rows["histograms"].append({**place, "payload_bytes": histogram.payload_bytes, "basis": histogram.basis, "bins": bins})


_SHAPE = RecordArrays._fields.index("shape")
_RECORD, _NAME = (NumberArrays._fields.index(name) for name in ("record", "name"))


def _in_all(meanings: Sequence[int], codes: Integers, starts: Sequence[int], counts: Integers) -> Integers:
    """Return what codes of logs mean for all logs together.

    Args:
        meanings: what the codes mean, where they are counted from the start for their log.
        codes: those of each log, one log after the other.
        starts: that of each log.
        counts: how many codes each log has.
    """
    import numpy as np

    if not any(starts) and list(meanings) == list(range(len(meanings))):
        return codes  # There is one log, or all logs count as the first.
    in_all: Integers = np.array(meanings, dtype=np.int64)[codes + np.array(starts, dtype=np.int64).repeat(counts)]
    return in_all


def _shared(found: Collection[Conditions]) -> Conditions:
    """Return the conditions that all results of a run have in common, without those that only say what a latency is."""
    names = [name for name in Conditions.__struct_fields__ if name not in ("basis", "definition")]
    values = {name: {getattr(conditions, name) for conditions in found} for name in names}
    return StatedConditions(**{name: next(iter(known)) for name, known in values.items() if len(known) == 1})


def _under(conditions: Conditions, shapes: Iterable[Shape]) -> list[Shape]:
    return [msgspec.structs.replace(shape, conditions=conditions.over(shape.conditions)) for shape in shapes]


def _measured(entries: Iterable[LogEntry]) -> set[tuple[int | None, Conditions]]:
    """Return the sizes and conditions of the results of a run."""
    found: set[tuple[int | None, Conditions]] = set()
    for entry in entries:
        records, shapes = entry.columns.records, entry.columns.shapes
        pairs = set(zip(records.shape.tolist(), records.payload_bytes.tolist(), strict=True))
        found |= {(None if size == NOT_STATED else size, shapes[code].conditions) for code, size in pairs if shapes[code].scope != "resources"}
    return found


def _context(facts: Facts, manifest: Manifest, host: Host | None, *, failed: bool) -> RunContext:
    """Return what the quality rules need to know: the load and the processors as the log states them, else as manifest and host file do."""
    load, processors = facts.environment_number("load_start_load1"), facts.environment_number("host_cpus_online")
    if load is None:
        load = number_in(manifest.environment, "load1_before")
    if processors is None and host is not None:
        processors = number_in(host.cpu, "threads")
    return RunContext(
        failed=failed,
        clock_overhead_ns=facts.environment_number("clock_overhead_ns"),
        messages_per_latency_sample=facts.environment_number("messages_per_latency_sample"),
        load=load,
        other_load=number_in(manifest.environment, "other_load_before"),
        processors=processors,
        is_disturbed=any(exceeded(manifest.environment, manifest.limits)),
        took_other_way=facts.environment.get("way_agrees") == "no",
    )
