"""Read runs, write their numbers as a part, and return everything else that was read from their logs.

This module has the steps that need all logs of a run: how the run ended, the conditions that its logs share, its quality marks, and its clocks. A run
on several machines has a ``clock.log``, in which the clocks report their errors (`tacholog.runs.clocks`). If these reports limit the difference
between the clocks, this limit is stored with each one-way latency. Otherwise no one-way latency is shown, because the difference between the clocks
may be larger than the latency.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.clocks import Clocks, clocks_of
from tacholog.runs.conditions import distinguishing_options
from tacholog.runs.disturbance import exceeded
from tacholog.runs.host import stated_host
from tacholog.runs.labels import labels_text
from tacholog.runs.logs import ReadingLimits, run_ending
from tacholog.runs.manifest import Host, Manifest
from tacholog.runs.moments import is_moment
from tacholog.runs.problems import CLOCKS, UNREADABLE, manifest_problems, problem
from tacholog.schema.conditions import Conditions, StatedConditions
from tacholog.schema.records import BOUNDS, Facts, Status, number_in
from tacholog.store.columns import NOT_STATED, NUMBER_WIDTH, RECORD_WIDTH, Columns, Name, NumberArrays, RecordArrays, Shape, joined_words
from tacholog.store.frames import Row
from tacholog.store.logs import LogEntry, lost_log, open_named, read_log
from tacholog.store.parts import write_part

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacholog.store.columns import Words
    from tacholog.store.quality import RunContext

_CLOCK_ERROR = ("clock_error", "max")
_LARGE_CLOCK_ERROR = 0.1  # Above this share of a latency, the error of the clocks is large.
# The format of logs about used resources. These logs state no conditions, so their records get the conditions that all results of the run share.
_RESOURCES = "resources"
#: A function that reports progress while a run is read. It is called with the index of the run, the name of the log, and the number of bytes of text
#: that are read next.
RunProgress = Callable[[int, str, int], object]


class RunTask(msgspec.Struct, frozen=True):
    """A run to read.

    Attributes:
        manifest: the manifest, as JSON.
        folder: the folder of the run.
        named_by_user: whether the user typed the names of the logs. If not, no name may lead out of the folder.
        limits: the limits for the size of each log.
        processors: the number of processors of the machine, if it is known.
        lost: the logs that must not be read. The key is the index of the log in the manifest, the value is the reason.
        contents: the content of the files of the run, if another machine reads the run and cannot open the files.
    """

    manifest: bytes
    folder: str
    named_by_user: bool = False
    limits: ReadingLimits | None = None
    processors: float | None = None
    lost: dict[int, str] = {}
    contents: dict[str, bytes] | None = None

    def open(self, name: str) -> BinaryIO:
        """Open a file of the run.

        Raises:
            UnreadableInput: there is no such file, or it must not be opened.
            OSError: the system cannot open it.
        """
        if self.contents is None:
            return open_named(Path(self.folder), name, self.named_by_user)
        if name not in self.contents:
            raise UnreadableInput("no such file")
        return io.BytesIO(self.contents[name])


class RunRecord(msgspec.Struct):
    """Everything that was read from the logs of a run, except the numbers.

    Attributes:
        number: the number of the run in its part.
        run: the row of ``runs``, without the columns ``run``, ``root`` and ``manifest``.
        logs: the rows of ``logs``, without the column ``run``.
        problems: the rows of ``problems``, without the column ``run``.
        histograms: the log, the line, the size, the basis of the latencies, and the packed bins of each distribution.
        sizes: for each log: the size of its text in bytes, and how many numbers it has.
        machines: the machines that the logs state, if the run has no manifest.
        is_lost: whether one of the logs could not be read.
    """

    number: int
    run: Row
    logs: list[Row]
    problems: list[Row]
    histograms: list[tuple[str, int, int | None, str, bytes]]
    sizes: list[tuple[int, int]]
    machines: dict[str, Host] = {}
    is_lost: bool = False


def read_runs(
    tasks: Sequence[RunTask], folder: Path, progress: RunProgress = lambda _index, _log, _count: None
) -> tuple[str | None, list[RunRecord]]:
    """Read runs and write their numbers as a part.

    Returns:
        The name of the part, and a record of each run. The name is ``None`` if the part could not be written, and an empty text if the runs have no
        numbers.
    """
    assembly = _Assembly()
    records = [assembly.add(task, lambda log, count, index=index: progress(index, log, count)) for index, task in enumerate(tasks)]  # type: ignore[misc]
    try:
        return assembly.write(folder), records
    except OSError:
        return None, records


class _Assembly:
    def __init__(self) -> None:
        self._shapes: dict[Shape, int] = {}
        self._names: dict[Name, int] = {}
        self._record_parts: list[Words] = []
        self._number_parts: list[Words] = []
        self._record_count = 0
        self._logs: list[tuple[int, str]] = []  # For each log: the number of its run, and its name.
        self._contexts: list[RunContext] = []  # For each log: the facts that the quality rules need.
        self._runs = 0

    def add(self, task: RunTask, progress: Callable[[str, int], object]) -> RunRecord:
        manifest = msgspec.json.decode(task.manifest, type=Manifest)
        logs = [_read(task, manifest, index, progress) for index in range(len(manifest.logs))]
        sizes = [(log.head.text_bytes, log.columns.number_count) for log in logs]
        problems = [row for log in logs for row in log.head.problems]
        clocks = clocks_of(manifest, task.open)
        has_results = any(shape.scope != "resources" for log in logs for shape in log.columns.shapes)
        ending = run_ending(manifest, [log.head for log in logs], has_results=has_results)
        of_results = [log for log in logs if log.head.format != _RESOURCES]
        options = distinguishing_options(manifest, _sizes_and_conditions(logs) if manifest.options else ())
        for log in logs:
            if log.head.format == _RESOURCES:
                shared = _shared_conditions({shape.conditions for other in of_results for shape in other.columns.shapes})
                log.columns.shapes = _under(shared, log.columns.shapes)
            elif (line := apply_clocks(clocks, log.columns)) is not None:
                problems.append(problem("", log.entry.file, line, CLOCKS, "", clocks.refusal or ""))
            self._add_columns(log.entry.file, log.columns)
            self._contexts.append(_run_context(log.head.facts, manifest, task.processors, failed=ending[0] == "failed"))
        problems += manifest_problems(manifest)
        self._runs += 1
        facts = [log.head.facts for log in logs]
        return RunRecord(
            number=self._runs - 1,
            run=run_row(manifest, facts, ending, options),
            logs=[log_row(log) for log in logs],
            problems=problems,
            histograms=[histogram for log in logs for histogram in _histograms(log, clocks)],
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

        from tacholog.store.quality import judge

        records = joined_words(self._record_parts, RECORD_WIDTH)
        numbers = joined_words(self._number_parts, NUMBER_WIDTH)
        counts = [len(part[0]) for part in self._record_parts]
        self._record_parts, self._number_parts = [], []  # The joined arrays contain all values, so the parts are released.
        columns = Columns(list(self._shapes), list(self._names), records, numbers)
        if not columns.number_count:
            return ""
        log_of = np.arange(len(counts)).repeat(counts)
        run_of = np.array([number for number, _ in self._logs], dtype=np.int64)[log_of]
        judge(columns, self._contexts, log_of, run_of)
        return write_part(folder, columns, self._logs, log_of)

    def _add_columns(self, log: str, columns: Columns) -> None:
        """Add the columns of a log to the columns of all logs.

        The indexes in the columns are changed, so that they refer to the lists of all logs.
        """
        import numpy as np

        records, numbers = columns.record_words, columns.number_words
        shapes = [self._shapes.setdefault(shape, len(self._shapes)) for shape in columns.shapes]
        names = [self._names.setdefault(name, len(self._names)) for name in columns.names]
        records[_SHAPE] = np.array(shapes, dtype=np.int64)[records[_SHAPE]]
        numbers[_NAME] = np.array(names, dtype=np.int64)[numbers[_NAME]]
        numbers[_RECORD] += self._record_count
        self._record_count += records.shape[1]
        self._record_parts.append(records)
        self._number_parts.append(numbers)
        self._logs.append((self._runs, log))


_SHAPE = RecordArrays._fields.index("shape")
_RECORD, _NAME = (NumberArrays._fields.index(name) for name in ("record", "name"))


def _read(task: RunTask, manifest: Manifest, index: int, progress: Callable[[str, int], object]) -> LogEntry:
    entry = manifest.logs[index]
    if index in task.lost:
        return lost_log(entry, UNREADABLE, task.lost[index])
    try:
        with task.open(entry.file) as stream:
            return read_log(stream, manifest, entry, task.limits, lambda count: progress(entry.file, count))
    except UnreadableInput as error:
        return lost_log(entry, UNREADABLE, str(error))
    except OSError as error:
        return lost_log(entry, UNREADABLE, f"cannot be read: {error.strerror}")


def _histograms(log: LogEntry, clocks: Clocks) -> Iterator[tuple[str, int, int | None, str, bytes]]:
    for histogram in log.histograms:
        if histogram.basis != "one-way" or clocks.refusal is None:
            yield log.entry.file, histogram.line, histogram.payload_bytes, histogram.basis, histogram.packed


def _shared_conditions(several: Collection[Conditions]) -> Conditions:
    names = [name for name in Conditions.__struct_fields__ if name not in ("basis", "definition")]
    values: Mapping[str, set[Any]] = {name: {getattr(conditions, name) for conditions in several} for name in names}
    return StatedConditions(**{name: next(iter(different)) for name, different in values.items() if len(different) == 1})


def _under(conditions: Conditions, shapes: Iterable[Shape]) -> list[Shape]:
    return [msgspec.structs.replace(shape, conditions=conditions.over(shape.conditions)) for shape in shapes]


def _sizes_and_conditions(entries: Iterable[LogEntry]) -> set[tuple[int | None, Conditions]]:
    settings: set[tuple[int | None, Conditions]] = set()
    for entry in entries:
        records, shapes = entry.columns.records, entry.columns.shapes
        pairs = set(zip(records.shape.tolist(), records.payload_bytes.tolist(), strict=True))
        settings |= {(None if size == NOT_STATED else size, shapes[code].conditions) for code, size in pairs if shapes[code].scope != "resources"}
    return settings


def _run_context(facts: Facts, manifest: Manifest, processors: float | None, *, failed: bool) -> RunContext:
    """Return the facts about a run that the rules for quality marks need.

    The log may state the load and the number of processors. Otherwise, the load is from the manifest, and the number is from the host file.
    """
    from tacholog.store.quality import RunContext

    load, processors_in_log = facts.environment_number("load_start_load1"), facts.environment_number("host_cpus_online")
    return RunContext(
        failed=failed,
        clock_overhead_ns=facts.environment_number("clock_overhead_ns"),
        clock_resolution_ns=facts.environment_number("clock_resolution_ns"),
        messages_per_latency_sample=facts.environment_number("messages_per_latency_sample"),
        load=number_in(manifest.environment, "load1_before") if load is None else load,
        other_load=number_in(manifest.environment, "other_load_before"),
        processors=processors if processors_in_log is None else processors_in_log,
        is_disturbed=any(exceeded(manifest.environment, manifest.limits)),
        took_other_way=facts.environment.get("way_agrees") == "no",
    )


def run_row(manifest: Manifest, facts: Sequence[Facts], ending: tuple[Status | None, str | None], options: str | None) -> Row:
    """Return the row of a run. If the manifest does not state a value, it is taken from the first log that states it.

    The system in a log has priority over the system in the manifest: one campaign of perftest may measure many systems, and each log names the
    library that was measured.
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
    """Return the row of a log, without the column ``run``."""
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


def apply_clocks(clocks: Clocks, columns: Columns) -> int | None:
    """Add the error of the clocks to each one-way latency of a log. Remove the latencies if the clocks may differ too much.

    Returns:
        The line of the first latency that was removed; ``None`` if no latency was removed.
    """
    if (clocks.error_ns is None and clocks.refusal is None) or not columns.number_count:
        return None
    records, numbers = columns.records, columns.numbers
    one_way = _flags(shape.conditions.basis == "one-way" for shape in columns.shapes)[records.shape]
    latency = _flags(metric == "latency" for metric, _ in columns.names)[numbers.name] & one_way[numbers.record]
    if not latency.any():
        return None
    if clocks.refusal is not None:
        for name in ("value", "resolution"):
            getattr(numbers, name)[latency] = float("nan")
        numbers.bound[latency] = BOUNDS.index("=")
        columns.add_marks(latency, ("two_clocks",))
        return int(records.line[numbers.record[latency.argmax()]])
    _add_clock_error(clocks.error_ns or 0.0, columns, latency)
    return None


def _add_clock_error(error_ns: float, columns: Columns, latency: NDArray[np.bool_]) -> None:
    import numpy as np

    numbers = columns.numbers
    # A standard deviation does not depend on the offset between the clocks, so it is not marked.
    spread = _flags(statistic == "std" for _, statistic in columns.names)[numbers.name]
    is_large = error_ns > _LARGE_CLOCK_ERROR * np.abs(numbers.value)
    columns.add_marks(latency & ~spread & is_large, ("clock_error",))
    if _CLOCK_ERROR not in columns.names:
        columns.names = [*columns.names, _CLOCK_ERROR]
    of_records = np.unique(numbers.record[latency])
    ends = np.searchsorted(numbers.record, of_records, side="right")
    added = np.full((NUMBER_WIDTH, len(of_records)), NOT_STATED)
    columns.number_words = np.insert(columns.number_words, ends, added, axis=1)
    numbers = columns.numbers
    positions = ends + np.arange(len(ends))
    numbers.record[positions], numbers.name[positions] = of_records, columns.names.index(_CLOCK_ERROR)
    numbers.value[positions], numbers.resolution[positions] = error_ns, np.nan
    numbers.bound[positions], numbers.marks[positions] = BOUNDS.index("="), 0


def _flags(values: Iterable[bool]) -> NDArray[np.bool_]:
    import numpy as np

    return np.fromiter(values, dtype=bool)
