"""Read one log of a run as columns, with the values that the manifest adds to the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from tacholog.evidence import open_evidence
from tacholog.formats.account import Account
from tacholog.runs import logs
from tacholog.runs.conditions import Contradiction, contradictions, first_contradictions, stated_conditions, with_stated_side
from tacholog.runs.logs import LogHead, ReadingLimits
from tacholog.runs.manifest import LogFile, Manifest
from tacholog.runs.problems import CONTRADICTED, Row, problem
from tacholog.schema.conditions import Basis, Conditions, StatedConditions
from tacholog.schema.records import Histogram, Record
from tacholog.store.columns import NOT_STATED, ColumnBuilder, Columns, Shape, ShapeInLog
from tacholog.store.distributions import packed_bins

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


class LogEntry(msgspec.Struct):
    """A log as its manifest lists it, with the result of reading it."""

    entry: LogFile
    head: LogHead
    columns: Columns
    histograms: list[HistogramHead] = []


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
    """Read a log as `tacholog.runs.logs.read_log` does. If the log cannot be read, the result has no numbers."""
    builder = _LogColumns(manifest, entry)
    head = logs.read_log(stream, manifest, entry, builder, limits, progress)
    return LogEntry(entry, head, _no_columns()) if head.is_lost else LogEntry(entry, head, builder.columns, builder.histograms)


def lost_log(entry: LogFile, kind: str, reason: str) -> LogEntry:
    """Return a log that could not be opened."""
    return LogEntry(entry, logs.lost_head(entry, kind, reason), _no_columns())


def _no_columns() -> Columns:
    return Columns([], [], *ColumnBuilder().finish()[2:])


class _LogColumns(ColumnBuilder):
    """A builder of the columns of one log. The attribute ``columns`` has the result, and exists only after `complete` was called."""

    columns: Columns

    def __init__(self, manifest: Manifest, entry: LogFile) -> None:
        super().__init__()
        self.histograms: list[HistogramHead] = []
        self._entry, self._manifest_conditions = entry, stated_conditions(manifest)
        self._bins: list[list[Integers]] = []  # for each distribution, the bins of its histograms

    def add_histogram(self, histogram: Histogram) -> None:
        """Store a histogram. It belongs to the previous record. Several histograms of one record are the parts of one distribution."""
        import numpy as np

        line = self.last_line_read
        bins = np.asarray(histogram.bins, dtype=np.int64).reshape(-1, 3)
        if self.histograms and self.histograms[-1].line == line:
            self._bins[-1].append(bins)
            return
        payload_bytes = self._manifest_conditions.payload_bytes if histogram.payload_bytes is None else histogram.payload_bytes
        self.histograms.append(HistogramHead(line, payload_bytes, histogram.basis, b""))
        self._bins.append([bins])

    def complete(self, head: LogHead, account: Account) -> None:
        """Complete the columns from the manifest. Report and mark each contradiction between the manifest and the log."""
        shapes, names, record_words, number_words = self.finish()
        columns = Columns([], names, record_words, number_words)
        if self._manifest_conditions != StatedConditions():
            head.problems += self._complete_from_manifest(shapes, columns, account)
        columns.shapes = [_completed(shape, self._entry, account, self._manifest_conditions) for shape in shapes]
        if head.sha256 != self._entry.sha256:
            columns.add_marks(slice(None), ("altered",))
        self._pack_bins()
        self.columns = columns

    def _pack_bins(self) -> None:
        import numpy as np

        for histogram, parts in zip(self.histograms, self._bins, strict=True):
            histogram.packed = packed_bins(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _complete_from_manifest(self, shapes: list[ShapeInLog], columns: Columns, account: Account) -> Iterator[Row]:
        """Add the message size to the records of a log if only the manifest states the size.

        Also mark the numbers that contradict the manifest, and yield a problem for each contradiction.
        """
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
                    conflicts.append((int(records.line[here.argmax()]), contradicted))
                    columns.add_marks(here[record_of], ("contradicted",))
            if measured and self._manifest_conditions.payload_bytes is not None:
                here = of_shape & (records.payload_bytes == NOT_STATED)
                records.payload_bytes[here] = self._manifest_conditions.payload_bytes
                columns.add_marks(here[record_of], ("size_from_manifest",))
        for line, contradiction in first_contradictions(conflicts):
            yield problem("", self._entry.file, line, CONTRADICTED, "", str(contradiction))


def _completed(shape: ShapeInLog, entry: LogFile, account: Account, manifest: StatedConditions) -> Shape:
    record = with_stated_side(Record(test=shape.test, payload_bytes=None, numbers=(), side=shape.side, participant=shape.participant), entry)
    complete = shape.conditions.over(account.conditions(shape.run).over(manifest))
    conditions = Conditions(**{name: value for name in Conditions.__struct_fields__ if (value := getattr(complete, name)) is not None})
    return Shape(shape.scope, shape.test, record.side, record.participant, conditions)
