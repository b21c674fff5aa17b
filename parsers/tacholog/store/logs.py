"""Read one log of a run: its results as columns, its problems, and the values that the manifest adds to the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.formats.account import Account, LineClass
from tacholog.formats.blocks import RecordBlock
from tacholog.formats.kit.lines import Broken
from tacholog.formats.reading import Event, Scan, why_unknown
from tacholog.formats.registry import describe_error
from tacholog.formats.source import LogText
from tacholog.runs.conditions import Contradiction, contradictions, stated_conditions, with_stated_side
from tacholog.runs.manifest import LogFile, Manifest
from tacholog.runs.problems import ALTERED, CONTRADICTED, UNREADABLE, altered_reason, problem
from tacholog.schema.conditions import Basis, Conditions, StatedConditions
from tacholog.schema.records import Facts, Histogram, Record, Status
from tacholog.store.columns import NOT_STATED, ColumnBuilder, Columns, Shape, ShapeInLog
from tacholog.store.distributions import packed_bins
from tacholog.store.frames import Row

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    from tacholog.store.columns import Integers

#: Called while a log is read. Its arguments: the name of the log, and the number of bytes of its text that are read next.
Progress = Callable[[str, int], object]


class HistogramHead(msgspec.Struct, array_like=True):
    """A distribution: the line of its record, the message size, the basis of its latencies, and its compressed bins."""

    line: int
    payload_bytes: int | None
    basis: Basis
    packed: bytes


class LogHead(msgspec.Struct):
    """Everything about a log except its numbers.

    Attributes:
        format: the format in which the log was read.
        size_bytes: the size of the file; ``None`` if it could not be read. The same holds for ``sha256`` and ``text_sha256``.
        text_sha256: the SHA-256 of the text. If the log is compressed, it differs from ``sha256``.
        lines: the number of lines of each class.
        facts: the facts that the log states about its run.
        status: how the run ended, if the log states it; ``reason``: why it ended so.
        problems: the rows of ``problems``, without the column ``run``.
        histograms: the distributions.
        text_bytes: the size of the text. If the log is compressed, the text is larger than the file.
        is_lost: whether the log could not be read. Then a problem states the reason.
    """

    format: str | None
    size_bytes: int | None
    sha256: str | None
    text_sha256: str | None
    lines: dict[LineClass, int]
    facts: Facts
    status: Status | None
    reason: str | None
    problems: list[Row]
    histograms: list[HistogramHead]
    text_bytes: int
    is_lost: bool = False


class LogEntry(msgspec.Struct):
    """A log as its manifest lists it, with the result of reading it."""

    entry: LogFile
    head: LogHead
    columns: Columns


class ReadingLimits(NamedTuple):
    """The largest size of a log. If a log is larger, none of its numbers is used, and a problem reports this."""

    text_bytes: int
    numbers: int

    def refusals(self, text_bytes: int, numbers: int) -> list[str]:
        """Return a reason for each limit that a log exceeds."""
        reasons = []
        if text_bytes > self.text_bytes:
            reasons.append(f"its text is longer than {self.text_bytes / 1e6:g} MB, the limit (log_text_mb), so it was not read")
        if numbers > self.numbers:
            reasons.append(f"it holds more than {self.numbers} numbers, the limit (log_numbers), so it was not read")
        return reasons


def open_named(folder: Path, name: str, named_by_user: bool) -> BinaryIO:
    """Open a log.

    Args:
        folder: the folder of its run.
        name: the name of the log in this folder.
        named_by_user: whether the user typed the name. Otherwise the manifest states the name, and the name must not lead out of the folder.
    """
    return (folder / name).open("rb") if named_by_user else open_evidence(folder, name)


def read_log(
    stream: BinaryIO,
    manifest: Manifest,
    entry: LogFile,
    limits: ReadingLimits | None = None,
    progress: Callable[[int], object] | None = None,
) -> LogEntry:
    """Read a log that a manifest lists. If the log cannot be read, the result has no numbers and one problem.

    Args:
        stream: the opened log.
        manifest: the manifest of the run.
        entry: the log in the manifest.
        limits: the limits for the size of the log.
        progress: called with the number of bytes of text that are read next.
    """
    reader = _Reader(manifest, entry, limits, progress, ColumnBuilder())
    try:
        return reader.read(stream)
    except UnreadableInput as error:
        return lost_log(entry, reader.kind_if_lost, str(error), reader.format, reader.text_bytes)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a stranger's log makes us fail with, it costs this log and no other
        reason = f"Tacholog failed behind line {reader.last_line}: {describe_error(error)}"
        return lost_log(entry, UNREADABLE, reason, reader.format, reader.text_bytes)


def lost_log(entry: LogFile, kind: str, reason: str, log_format: str | None = None, text_bytes: int = 0) -> LogEntry:
    """Return a log that could not be read. If a format fails in the middle of a log, the results before the failure are not used either."""
    facts = Facts(status="failed", reason=f"{entry.file} cannot be read")
    status, why = (facts.status, facts.reason) if entry.results else (None, None)
    problems = [problem("", entry.file, 0, kind, "", reason)]
    head = LogHead(log_format or entry.format, None, None, None, {}, facts, status, why, problems, [], text_bytes, is_lost=True)
    words = ColumnBuilder().finish()
    return LogEntry(entry, head, Columns([], [], *words[2:]))


class _Reader:
    def __init__(
        self, manifest: Manifest, entry: LogFile, limits: ReadingLimits | None, progress: Callable[[int], object] | None, columns: ColumnBuilder
    ) -> None:
        self.format = entry.format
        self.kind_if_lost = UNREADABLE
        self.text_bytes = 0
        self._manifest, self._entry, self._limits, self._progress = manifest, entry, limits, progress
        self._manifest_conditions = stated_conditions(manifest)
        self._columns = columns
        self._problems: list[Row] = []
        self._histograms: list[HistogramHead] = []
        self._bins: list[list[Integers]] = []  # the parts of each distribution

    @property
    def last_line(self) -> int:
        return self._columns.last_line_read

    def read(self, stream: BinaryIO) -> LogEntry:
        """Read the log.

        Raises:
            UnreadableInput: it cannot be read.
        """
        text = LogText(stream, self._before_reading)
        account = self._read_results(text) if self._entry.results else self._read_without_results(text)
        is_altered = account.sha256 != self._entry.sha256
        if is_altered:
            self._add_problem(0, ALTERED, "", altered_reason(account.sha256, self._entry.sha256))
        log = self._entry_of(account)
        if is_altered:
            log.columns.add_marks(slice(None), ("altered",))
        return log

    def _read_results(self, text: LogText) -> Account:
        if self._manifest.status not in (None, "ok"):
            self.kind_if_lost = "failed"  # If a run failed, the file may not be a log. The manifest states the failure.
        scan = Scan(text, self._entry.format)
        self.format = scan.format_name
        for batch in scan.batches():
            if isinstance(batch, RecordBlock):
                self._columns.add_block(batch, len(scan.account.runs))
                self._check_limits()
            else:
                self._take(batch)
        return scan.account

    def _read_without_results(self, text: LogText) -> Account:
        """Read a log that has no results. Its format is detected if possible, so that a page can show its lines.

        No line of this log causes a problem.
        """
        try:
            self.format = Scan(text, self._entry.format).format_name
        except UnreadableInput:
            self.format = None
        account = Account()
        account.lines["chatter"] = sum(1 for _ in text.lines())
        account.size_bytes, account.sha256, account.text_sha256 = text.identity()
        return account

    def _before_reading(self, count: int) -> None:
        """Check the limits and report the progress, before this number of bytes of text is read."""
        self.text_bytes += count
        self._check_limits()
        if self._progress:
            self._progress(count)

    def _check_limits(self) -> None:
        if self._limits and (refusals := self._limits.refusals(self.text_bytes, self._columns.number_count)):
            self.kind_if_lost = UNREADABLE
            raise UnreadableInput(refusals[0])

    def _take(self, event: Event) -> None:
        match event.what:
            case Record() as record:
                self._columns.add(event, record)
                if self._limits:
                    self._check_limits()
            case Histogram() as histogram:
                self._add_histogram(histogram)
            case Broken() as broken:
                self._add_problem(event.line, "broken", event.text, broken.reason)
            case None if event.kind == "unknown":
                self._add_problem(event.line, "unknown", event.text, why_unknown(event.text))
            case _:
                pass

    def _add_histogram(self, histogram: Histogram) -> None:
        """Store a histogram. It belongs to the previous record. Several histograms of one record are the parts of one distribution."""
        import numpy as np

        line = self._columns.last_line_read
        bins = np.asarray(histogram.bins, dtype=np.int64).reshape(-1, 3)
        if self._histograms and self._histograms[-1].line == line:
            self._bins[-1].append(bins)
            return
        payload_bytes = self._manifest_conditions.payload_bytes if histogram.payload_bytes is None else histogram.payload_bytes
        self._histograms.append(HistogramHead(line, payload_bytes, histogram.basis, b""))
        self._bins.append([bins])

    def _add_problem(self, line: int, kind: str, text: str, reason: str) -> None:
        self._problems.append(problem("", self._entry.file, line, kind, text, reason))

    def _entry_of(self, account: Account) -> LogEntry:
        shapes, names, record_words, number_words = self._columns.finish()
        columns = Columns([], names, record_words, number_words)
        if self._manifest_conditions != StatedConditions():
            self._complete_from_manifest(shapes, columns, account)
        columns.shapes = [_completed(shape, self._entry, account, self._manifest_conditions) for shape in shapes]
        self._problems.sort(key=lambda row: row["line"])
        status, reason = (account.status, account.reason) if self._entry.results else (None, None)
        lines = dict(account.lines)
        head = LogHead(
            self.format,
            account.size_bytes,
            account.sha256,
            account.text_sha256,
            lines,
            account.facts,
            status,
            reason,
            self._problems,
            self._histograms,
            self.text_bytes,
        )
        self._pack_bins()
        return LogEntry(self._entry, head, columns)

    def _pack_bins(self) -> None:
        import numpy as np

        for histogram, parts in zip(self._histograms, self._bins, strict=True):
            histogram.packed = packed_bins(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _complete_from_manifest(self, shapes: list[ShapeInLog], columns: Columns, account: Account) -> None:
        """If only the manifest states the message size, add it. Report and mark each contradiction between the manifest and the log."""
        records, record_of = columns.records, columns.numbers.record
        conflicts: list[tuple[int, list[Contradiction]]] = []
        for code, shape in enumerate(shapes):
            in_log = account.conditions(shape.run)
            of_shape = records.shape == code
            measured = shape.scope != "resources"
            by_size = measured and bool(self._manifest_conditions.payload_bytes)
            for size in {*records.payload_bytes[of_shape].tolist()} if by_size else (NOT_STATED,):
                payload_bytes = None if size == NOT_STATED else size
                record = Record(test=shape.test, payload_bytes=payload_bytes, numbers=(), scope=shape.scope, conditions=shape.conditions)
                if contradicted := contradictions(record, in_log, self._manifest_conditions):
                    here = of_shape & (records.payload_bytes == size) if by_size else of_shape
                    conflicts.append((int(here.argmax()), contradicted))
                    columns.add_marks(here[record_of], ("contradicted",))
            if measured and self._manifest_conditions.payload_bytes is not None:
                here = of_shape & (records.payload_bytes == NOT_STATED)
                records.payload_bytes[here] = self._manifest_conditions.payload_bytes
                columns.add_marks(here[record_of], ("size_from_manifest",))
        reported: set[Contradiction] = set()
        for first, contradicted in sorted(conflicts, key=lambda pair: pair[0]):
            for contradiction in contradicted:
                if contradiction not in reported:
                    self._add_problem(int(records.line[first]), CONTRADICTED, "", str(contradiction))
            reported.update(contradicted)


def _completed(shape: ShapeInLog, entry: LogFile, account: Account, manifest: StatedConditions) -> Shape:
    """Return a shape with all its conditions: those of the record, of its run in the log, and of the manifest."""
    record = with_stated_side(Record(test=shape.test, payload_bytes=None, numbers=(), side=shape.side, participant=shape.participant), entry)
    complete = shape.conditions.over(account.conditions(shape.run).over(manifest))
    conditions = Conditions(**{name: value for name in Conditions.__struct_fields__ if (value := getattr(complete, name)) is not None})
    return Shape(shape.scope, shape.test, record.side, record.participant, conditions)
