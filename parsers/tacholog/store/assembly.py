"""From the logs of some runs to a part: what holds for a whole run, quality marks, and what the index keeps of each run."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.conditions import distinguishing_options
from tacholog.runs.disturbance import exceeded
from tacholog.runs.host import stated_host
from tacholog.runs.labels import labels_text
from tacholog.runs.manifest import RUN_FILE, Host, Manifest
from tacholog.runs.moments import is_moment
from tacholog.runs.problems import UNREADABLE, problem
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import SEVERITY, Facts, Status, number_in
from tacholog.store.clocks import Clocks, clocks_of
from tacholog.store.columns import NOT_STATED, NUMBER_WIDTH, RECORD_WIDTH, Columns, Name, NumberArrays, RecordArrays, Shape, joined_words
from tacholog.store.frames import Row
from tacholog.store.logs import Limits, LogEntry, lost_log, open_named, read_log
from tacholog.store.parts import write_part
from tacholog.store.quality import RunContext, judge

if TYPE_CHECKING:
    from tacholog.store.columns import Integers, Words

_RESOURCES = "resources"  # The format of the log of what processes used. It states no conditions, and holds under those of the results.
#: Is told the place of a run among those to read, the name of its log that is read, and how many more bytes of its text are read now.
Heard = Callable[[int, str, int], object]


class RunTask(msgspec.Struct, frozen=True):
    """A run to read.

    Attributes:
        manifest: its manifest, as JSON.
        folder: where it is.
        named_by_user: whether the user typed the names of its logs; otherwise none must lead out of the folder.
        limits: how much of each log is read.
        processors: how many its machine has, if the machine is described.
        lost: why some of its logs cannot be read, by their places in the manifest.
        contents: its files, where the reader cannot open them: on another machine.
    """

    manifest: bytes
    folder: str
    named_by_user: bool = False
    limits: Limits | None = None
    processors: float | None = None
    lost: dict[int, str] = {}
    contents: dict[str, bytes] | None = None

    def open(self, name: str) -> BinaryIO:
        """Open a file of the run.

        Raises:
            UnreadableInput: it cannot be opened.
            OSError: likewise.
        """
        if self.contents is None:
            return open_named(Path(self.folder), name, self.named_by_user)
        if name not in self.contents:
            raise UnreadableInput("no such file")
        return io.BytesIO(self.contents[name])


class RunRecord(msgspec.Struct):
    """What the logs of a run gave but its numbers.

    Attributes:
        number: that of the run in its part.
        run: its row of ``runs`` without its place and its manifest.
        logs: their rows of ``logs`` without the run, and so of ``problems``.
        histograms: the log, the line, the size, what the latencies span, and the packed bins of each distribution.
        sizes: of each log, how many bytes of text and how many numbers it has.
        machines: those that its logs state, where the run has no manifest.
        is_lost: whether one of its logs could not be read.
    """

    number: int
    run: Row
    logs: list[Row]
    problems: list[Row]
    histograms: list[tuple[str, int, int | None, str, bytes]]
    sizes: list[tuple[int, int]]
    machines: dict[str, Host] = {}
    is_lost: bool = False


def read_runs(tasks: Sequence[RunTask], folder: Path, heard: Heard = lambda _place, _log, _count: None) -> tuple[str | None, list[RunRecord]]:
    """Read runs and write their numbers as a part.

    Returns:
        The name of the part, ``None`` if it could not be written, empty if there are no numbers; and what else they gave.
    """
    assembly = _Assembly()
    records = [assembly.add(task, lambda log, count, place=place: heard(place, log, count)) for place, task in enumerate(tasks)]  # type: ignore[misc]
    try:
        return assembly.write(folder), records
    except OSError:
        return None, records


class _Assembly:
    """Collects the numbers of runs."""

    def __init__(self) -> None:
        self._shapes: dict[Shape, int] = {}
        self._names: dict[Name, int] = {}
        self._record_parts: list[Words] = []
        self._number_parts: list[Words] = []
        # What the codes of shapes and names mean here, and where that begins for each log.
        self._shape_codes: list[int] = []
        self._name_codes: list[int] = []
        self._starts: list[tuple[int, int]] = []
        self._logs: list[tuple[int, str]] = []  # The number of the run and the name of each log.
        self._contexts: list[RunContext] = []  # of each log
        self._runs = 0

    def add(self, task: RunTask, heard: Callable[[str, int], object]) -> RunRecord:
        """Read a run."""
        manifest = msgspec.json.decode(task.manifest, type=Manifest)
        logs = [_read(task, manifest, place, heard) for place in range(len(manifest.logs))]
        sizes = [(log.head.text_bytes, log.columns.number_count) for log in logs]
        problems = [row for log in logs for row in log.head.problems]
        clocks = clocks_of(manifest, task.open)
        ending = run_ending(manifest, logs, has_results=any(shape.scope != "resources" for log in logs for shape in log.columns.shapes))
        of_results = [log for log in logs if log.head.format != _RESOURCES]
        options = distinguishing_options(manifest, _measured(logs) if manifest.options else ())
        for log in logs:
            if log.head.format == _RESOURCES:
                shared = _shared({shape.conditions for other in of_results for shape in other.columns.shapes})
                log.columns.shapes = _under(shared, log.columns.shapes)
            elif (line := clocks.apply(log.columns)) is not None:
                problems.append(clocks.problem("", log.entry.file, line))
            self._add_columns(log.entry.file, log.columns)
            self._contexts.append(_context(log.head.facts, manifest, task.processors, failed=ending[0] == "failed"))
        if manifest.start_time is not None and not is_moment(manifest.start_time):
            reason = f'start_time = {manifest.start_time!r} is no time as in "2026-01-31T12:00:00Z", and was not used'
            problems.append(problem("", RUN_FILE, 0, "manifest", "", reason))
        self._runs += 1
        facts = [log.head.facts for log in logs]
        return RunRecord(
            number=self._runs - 1,
            run=run_row(manifest, facts, ending, options),
            logs=[log_row(log) for log in logs],
            problems=problems,
            histograms=[found for log in logs for found in _histograms(log, clocks)],
            sizes=sizes,
            machines=stated_host(facts[0].environment) if task.named_by_user else {},
            is_lost=any(log.head.is_lost for log in logs),
        )

    def write(self, folder: Path) -> str:
        """Write the numbers of all runs, with quality marks, and return the name of the part.

        Raises:
            OSError: it cannot be written.
        """
        import numpy as np

        records = joined_words(self._record_parts, RECORD_WIDTH)
        numbers = joined_words(self._number_parts, NUMBER_WIDTH)
        counts, number_counts = (np.array([len(part[0]) for part in parts], dtype=np.int64) for parts in (self._record_parts, self._number_parts))
        self._record_parts, self._number_parts = [], []  # The joined ones are copies.
        of_shapes, of_names = zip(*self._starts, strict=True) if self._starts else ((), ())
        records[_SHAPE] = _in_all(self._shape_codes, records[_SHAPE], of_shapes, counts)
        numbers[_NAME] = _in_all(self._name_codes, numbers[_NAME], of_names, number_counts)
        if len(counts) > 1:
            numbers[_RECORD] += (np.cumsum(counts) - counts).repeat(number_counts)
        columns = Columns(list(self._shapes), list(self._names), records, numbers)
        if not columns.number_count:
            return ""
        log_of = np.arange(len(counts)).repeat(counts)
        run_of = np.array([number for number, _ in self._logs], dtype=np.int64)[log_of]
        judge(columns, self._contexts, log_of, run_of)
        return write_part(folder, columns, self._logs, log_of)

    def _add_columns(self, log: str, columns: Columns) -> None:
        self._record_parts.append(columns.record_words)
        self._number_parts.append(columns.number_words)
        self._logs.append((self._runs, log))
        self._starts.append((len(self._shape_codes), len(self._name_codes)))
        self._shape_codes += [self._shapes.setdefault(shape, len(self._shapes)) for shape in columns.shapes]
        self._name_codes += [self._names.setdefault(name, len(self._names)) for name in columns.names]


_SHAPE = RecordArrays._fields.index("shape")
_RECORD, _NAME = (NumberArrays._fields.index(name) for name in ("record", "name"))


def _read(task: RunTask, manifest: Manifest, place: int, heard: Callable[[str, int], object]) -> LogEntry:
    """Return what a log gives."""
    entry = manifest.logs[place]
    if place in task.lost:
        return lost_log(entry, UNREADABLE, task.lost[place])
    try:
        with task.open(entry.file) as stream:
            return read_log(stream, manifest, entry, task.limits, lambda count: heard(entry.file, count))
    except UnreadableInput as error:
        return lost_log(entry, UNREADABLE, str(error))
    except OSError as error:
        return lost_log(entry, UNREADABLE, f"cannot be read: {error.strerror}")


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
        return codes  # There is one log.
    in_all: Integers = np.array(meanings, dtype=np.int64)[codes + np.array(starts, dtype=np.int64).repeat(counts)]
    return in_all


def _histograms(log: LogEntry, clocks: Clocks) -> Iterator[tuple[str, int, int | None, str, bytes]]:
    for histogram in log.head.histograms:
        if histogram.basis != "one-way" or clocks.refusal is None:
            yield log.entry.file, histogram.line, histogram.payload_bytes, histogram.basis, histogram.packed


def _shared(found: Collection[Conditions]) -> Conditions:
    """Return the conditions that all results of a run have in common, without those that only say what a latency is."""
    names = [name for name in Conditions.__struct_fields__ if name not in ("basis", "definition")]
    values: Mapping[str, set[Any]] = {name: {getattr(conditions, name) for conditions in found} for name in names}
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


def _context(facts: Facts, manifest: Manifest, processors: float | None, *, failed: bool) -> RunContext:
    """Return what the quality rules need to know: the load and the processors as the log states them, else as manifest and host file do."""
    load, stated = facts.environment_number("load_start_load1"), facts.environment_number("host_cpus_online")
    return RunContext(
        failed=failed,
        clock_overhead_ns=facts.environment_number("clock_overhead_ns"),
        messages_per_latency_sample=facts.environment_number("messages_per_latency_sample"),
        load=number_in(manifest.environment, "load1_before") if load is None else load,
        other_load=number_in(manifest.environment, "other_load_before"),
        processors=processors if stated is None else stated,
        is_disturbed=any(exceeded(manifest.environment, manifest.limits)),
        took_other_way=facts.environment.get("way_agrees") == "no",
    )


def run_ending(manifest: Manifest, logs: Sequence[LogEntry], *, has_results: bool) -> tuple[Status | None, str | None]:
    """Return how a run ended and why: the worst ending that its manifest or one of its logs states; ``None`` if none of them states any.

    A log without results does not make a run empty whose other logs have some: often only one side prints them.
    """
    in_logs = [(log.head.status, log.head.reason) for log in logs] or [("empty", "the run has no log")]
    if has_results:
        in_logs = [ending for ending in in_logs if ending[0] != "empty"]
    endings = [(manifest.status, manifest.reason), *in_logs]
    return max((ending for ending in endings if ending[0]), key=lambda ending: SEVERITY[ending[0]], default=(None, None))


def run_row(manifest: Manifest, facts: Sequence[Facts], ending: tuple[Status | None, str | None], options: str | None) -> Row:
    """Return a run's row without its place and its manifest. What the manifest leaves open, the first log fills that states it.

    A log that names what it measured, as that of perftest names the library of a middleware, knows it better than the campaign, which measures many.
    """
    measured = next((f for f in facts if f.system), None)
    stated_version = next((f.system_version for f in facts if f.system_version), None)
    return {
        "system": measured.system if measured else manifest.system,
        "system_version": measured.system_version if measured else manifest.system_version or stated_version,
        "tool": manifest.tool,
        "tool_version": manifest.tool_version or next((f.tool_version for f in facts if f.tool_version), None),
        "release": manifest.release,
        "host": manifest.host,
        "published": manifest.published,
        "status": ending[0],
        "reason": ending[1],
        "start_time": next((when for when in (manifest.start_time, *(f.start_time for f in facts)) if when and is_moment(when)), None),
        "order_index": manifest.order_index,
        "session": manifest.session,
        "repetition": manifest.repetition,
        "campaign": manifest.campaign,
        "options": options,
        "labels": labels_text(manifest.labels),
        "build": next((f.build for f in facts if f.build), None),
    }


def log_row(log: LogEntry) -> Row:
    """Return a log's row without its run."""
    head = log.head
    return {
        "log": log.entry.file,
        "sha256": head.sha256,
        "text_sha256": head.text_sha256,
        "bytes": head.size_bytes,
        "format": head.format,
        "side": log.entry.side,
        "lines": None if head.is_lost else sum(head.lines.values()),
        "records": head.lines.get("record", 0),
        "chatter": head.lines.get("chatter", 0),
        "broken": head.lines.get("broken", 0),
        "unknown": head.lines.get("unknown", 0),
        "status": head.status,
    }
