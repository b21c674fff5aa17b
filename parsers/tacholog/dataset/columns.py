"""The numbers of logs as columns: a few arrays instead of an object for each number.

A record has a place in the arrays of records, and each of its numbers has a place in the arrays of numbers. What many records share is kept once: the
`Shape` of a record and the name of a number. A log with a million numbers takes some 60 MB so, and objects would take 600.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

import msgspec

from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Event
from tacholog.schema.conditions import Conditions
from tacholog.schema.marks import MARKS
from tacholog.schema.records import Bound, Number, Record, Scope, Side, Test

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

BOUNDS: tuple[Bound, ...] = get_args(Bound)
_BOUND_CODES: Mapping[str, int] = {bound: code for code, bound in enumerate(BOUNDS)}
MARK_NAMES = tuple(sorted(MARKS))
#: The bit of each mark. The marks of a number are one integer, in which a sorted list of names is in the order of the bits.
MARK_BITS: Mapping[str, int] = {name: 1 << place for place, name in enumerate(MARK_NAMES)}
NOT_STATED = -1  # in columns of integers, of which none can be negative
_NAN = float("nan")
_SORTED_RECORDS = 1 << 12  # at least, at a time
_HELD_NUMBERS = 50_000  # So many stay objects until they become arrays.


class Shape(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What many records share: everything but the place, the size and the numbers.

    ``conditions`` are complete: those of the record, of its run in the log, and of the manifest.
    """

    scope: Scope
    test: Test
    side: Side | None
    participant: str | None
    conditions: Conditions


class RecordArrays(NamedTuple):
    """One value for each record; `NOT_STATED` where there is none. ``shape`` is a place in the list of shapes."""

    line: Integers
    last_line: Integers
    shape: Integers
    payload_bytes: Integers
    payload_bytes_high: Integers
    samples: Integers


class NumberArrays(NamedTuple):
    """One value for each number; NaN where a value or a resolution is ``None``, `NOT_STATED` where a number has no line of its own.

    ``record`` is a place in the columns of records, ``name`` one in the list of names, ``bound`` one in `BOUNDS`, ``marks`` bits of `MARK_BITS`.
    """

    record: Integers
    name: Integers
    value: Floats
    resolution: Floats
    bound: Integers
    value_line: Integers
    marks: Integers


#: The metric and the statistic of a number.
Name = tuple[str, str]


class Columns(msgspec.Struct):
    """The results of one log, or of many.

    Every column has eight bytes a value, so all columns of the records are one array, and those of the numbers another. Arrays of many small logs
    are joined and saved at once: a dozen arrays for each log would take longer than to read it.

    Attributes:
        shapes: what the column ``shape`` of the records refers to.
        names: what the column ``name`` of the numbers refers to.
        record_words: the columns of the records, shape (6, records), in the order of the results.
        number_words: the columns of the numbers, shape (7, numbers), those of one record after those of the one before it. The bits of a float stand
            for it.
    """

    shapes: list[Shape]
    names: list[Name]
    record_words: Integers
    number_words: Integers

    @property
    def records(self) -> RecordArrays:
        """The columns of the records. A change of a column changes it here."""
        return RecordArrays(*self.record_words)

    @property
    def numbers(self) -> NumberArrays:
        """The columns of the numbers. A change of a column changes it here."""
        record, name, value, resolution, *others = self.number_words
        return NumberArrays(record, name, value.view("float64"), resolution.view("float64"), *others)


RECORD_WIDTH, NUMBER_WIDTH = len(RecordArrays._fields), len(NumberArrays._fields)


class ShapeInLog(NamedTuple):
    """The shape of records as their log states it. ``run`` is the number of their run in the log, whose conditions hold for them too."""

    scope: Scope
    test: Test
    side: Side | None
    participant: str | None
    conditions: Conditions
    run: int


class ColumnBuilder:
    """Makes columns of records that come one by one or in blocks."""

    def __init__(self) -> None:
        """Start without records."""
        self.number_count = 0
        self.last_line_read = 0  # the first line of the latest record
        self._shapes: dict[ShapeInLog, int] = {}
        self._names: dict[Name, int] = {}
        self._held_records: list[tuple[int, ...]] = []
        self._held_counts: list[int] = []
        self._held_numbers: list[Number] = []
        self._parts: list[_Held | _Block] = []

    def add(self, event: Event, record: Record) -> None:
        """Add one record."""
        high, samples, size = record.payload_bytes_high, record.samples, record.payload_bytes
        self._held_records.append(
            (
                event.line,
                event.last_line,
                self._shape_of(record, event.run),
                NOT_STATED if size is None else size,
                NOT_STATED if high is None else high,
                NOT_STATED if samples is None else samples,
            )
        )
        self._held_counts.append(len(record.numbers))
        self._held_numbers.extend(record.numbers)
        self.number_count += len(record.numbers)
        self.last_line_read = event.line
        if len(self._held_numbers) >= _HELD_NUMBERS:
            self._flush()

    def add_block(self, block: RecordBlock, run: int) -> None:
        """Add the records of a block, which are in this run of the log."""
        if not len(block):
            return
        self._flush()
        columns = block.columns
        names = [self._name_of((number.metric, number.statistic)) for number in columns.numbers]
        self._parts.append(_block_part(block, self._shape_of(block.like, run), names))
        self.number_count += len(block) * len(names)
        self.last_line_read = int(block.lines[-1])

    def finish(self) -> tuple[list[ShapeInLog], list[Name], Integers, Integers]:
        """Return the shapes as the log states them, the names, and the words of all records and numbers, in the order of their lines."""
        import numpy as np

        self._flush()
        records = np.empty((RECORD_WIDTH, sum(part.records for part in self._parts)), dtype=np.int64)
        numbers = np.empty((NUMBER_WIDTH, sum(part.numbers for part in self._parts)), dtype=np.int64)
        first, start = 0, 0
        for part in self._parts:
            end, stop = first + part.records, start + part.numbers
            part.write(records[:, first:end], numbers[:, start:stop])
            numbers[0, start:stop] += first
            first, start = end, stop
        self._parts = []
        if (np.diff(records[0]) < 0).any():
            _sort_by_lines(records, numbers)
        return list(self._shapes), list(self._names), records, numbers

    def _shape_of(self, record: Record, run: int) -> int:
        shape = ShapeInLog(record.scope, record.test, record.side, record.participant, record.conditions, run)
        return self._shapes.setdefault(shape, len(self._shapes))

    def _name_of(self, name: Name) -> int:
        return self._names.setdefault(name, len(self._names))

    def _flush(self) -> None:
        """Make arrays of the records that are held as objects."""
        import numpy as np

        if not self._held_records:
            return
        held = self._held_numbers
        words = np.empty((NUMBER_WIDTH, len(held)), dtype=np.int64)
        record, name, value, resolution, bound, value_line, marks = words
        record[:] = np.repeat(np.arange(len(self._held_records)), self._held_counts)
        name[:] = [self._name_of((number.metric, number.statistic)) for number in held]
        value.view(np.float64)[:] = [_NAN if number.value is None else number.value for number in held]
        resolution.view(np.float64)[:] = [_NAN if number.resolution is None else number.resolution for number in held]
        bound[:] = [_BOUND_CODES[number.bound] for number in held]
        value_line[:] = [number.line or NOT_STATED for number in held]
        marks[:] = [mark_bits(number.marks) if number.marks else 0 for number in held]
        records = np.array(self._held_records, dtype=np.int64).T
        self._held_records, self._held_counts, self._held_numbers = [], [], []
        self._parts.append(_Held(records, words))


class _Held(NamedTuple):
    """Records that came one by one, as words. The first of them is called 0."""

    record_words: Integers
    number_words: Integers

    @property
    def records(self) -> int:
        return len(self.record_words[0])

    @property
    def numbers(self) -> int:
        return len(self.number_words[0])

    def write(self, records: Integers, numbers: Integers) -> None:
        """Write the words to their place among those of the log."""
        records[:], numbers[:] = self.record_words, self.number_words


class _Block(NamedTuple):
    """What a block says, until the log is read. It becomes words at their place among those of the log.

    Most columns of a block have one value. As words at once they took four times the memory, and the system clears each page of it before it is used:
    that took as long as to find the numbers.
    """

    lines: Integers
    last_lines: Integers
    shape: int
    payload_bytes: Integers
    payload_bytes_high: int
    samples: Integers | int
    names: list[int]
    values: Floats
    resolutions: list[Floats]
    bounds: list[int]
    below: list[tuple[int, NDArray[np.bool_]]]  # places in the lists above, and where the bound is another one
    marks: list[int]

    @property
    def records(self) -> int:
        return len(self.lines)

    @property
    def numbers(self) -> int:
        return self.values.size

    def write(self, records: Integers, numbers: Integers) -> None:
        """Write the words to their place among those of the log."""
        import numpy as np

        of_records = RecordArrays(*records)
        of_records.line[:], of_records.last_line[:], of_records.shape[:] = self.lines, self.last_lines, self.shape
        of_records.payload_bytes[:], of_records.payload_bytes_high[:] = self.payload_bytes, self.payload_bytes_high
        of_records.samples[:] = self.samples
        record, name, value, resolution, bound, value_line, marks = (column.reshape(self.values.shape) for column in numbers)
        record[:] = np.arange(len(self.lines))[:, None]
        name[:], bound[:], value_line[:], marks[:] = self.names, self.bounds, NOT_STATED, self.marks
        value.view(np.float64)[:] = self.values
        resolutions = resolution.view(np.float64)
        for place, column in enumerate(self.resolutions):
            resolutions[:, place] = column
        for place, below in self.below:
            bound[below, place] = _BOUND_CODES["<"]


def _block_part(block: RecordBlock, shape: int, names: list[int]) -> _Block:
    """Return what is kept of a block: not the numbers of its lines as they were read, which have columns that are no results."""
    import numpy as np

    like, columns = block.like, block.columns
    values = np.empty((len(block), len(names)))
    for place, number in enumerate(columns.numbers):
        values[:, place] = number.values
    like_samples = NOT_STATED if like.samples is None else like.samples
    return _Block(
        lines=block.lines,
        last_lines=block.lines if block.last_lines is None else block.last_lines,
        shape=shape,
        payload_bytes=columns.payload_bytes,
        payload_bytes_high=NOT_STATED if like.payload_bytes_high is None else like.payload_bytes_high,
        samples=like_samples if columns.samples is None else columns.samples,
        names=names,
        values=values,
        resolutions=[number.resolutions for number in columns.numbers],
        bounds=[_BOUND_CODES[number.bound] for number in columns.numbers],
        below=[(place, number.below) for place, number in enumerate(columns.numbers) if number.below.any()],
        marks=[mark_bits(number.marks) for number in columns.numbers],
    )


def mark_bits(marks: Iterable[str]) -> int:
    """Return marks as bits."""
    bits = 0
    for mark in marks:
        bits |= MARK_BITS[mark]
    return bits


def marks_of(bits: int) -> tuple[str, ...]:
    """Return the names of marks, sorted."""
    return tuple(name for place, name in enumerate(MARK_NAMES) if bits >> place & 1)


def joined_words(parts: Sequence[Integers], width: int) -> Integers:
    """Return the columns of several parts, each of shape (width, n), as those of one."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.zeros((width, 0), dtype=np.int64)


def _sort_by_lines(records: Integers, numbers: Integers) -> None:
    """Sort the records by their first lines. Those on one line stay in the order in which they were found.

    Records are sorted as few at a time as can be: mostly those of one chunk of the log. A sorted copy of all of them is as large as they are.
    """
    import numpy as np

    lines, counts = records[0], np.bincount(numbers[0], minlength=records.shape[1])
    ends = np.cumsum(counts)
    # No line before such a place is behind a line after it.
    apart = np.flatnonzero(np.maximum.accumulate(lines)[:-1] <= np.minimum.accumulate(lines[::-1])[::-1][1:]) + 1
    stop = 0
    while (start := stop) < len(lines):
        next_apart = int(np.searchsorted(apart, start + _SORTED_RECORDS))
        stop = int(apart[next_apart]) if next_apart < len(apart) else len(lines)
        if (np.diff(lines[start:stop]) < 0).any():
            order = np.argsort(lines[start:stop], kind="stable") + start
            first, last = int(ends[start] - counts[start]), int(ends[stop - 1])
            many = counts[order]
            begins = ends[order] - many  # of the numbers of each record, where they are now
            places = np.repeat(begins - (np.cumsum(many) - many), many) + np.arange(last - first)
            records[:, start:stop] = records[:, order]
            numbers[0, first:last] = np.repeat(np.arange(start, stop), many)
            for column in numbers[1:]:
                column[first:last] = column[places]
