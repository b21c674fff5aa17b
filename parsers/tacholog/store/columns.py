"""The numbers of logs as columns: a few arrays instead of an object for each number.

The arrays of records have one element for each record; the arrays of numbers have one element for each number. Values that many records share are
stored only once: the `Shape` of a record, and the name of a number. `ColumnBuilder` makes the arrays while a log is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.formats.blocks import RecordBlock
from tacholog.formats.reading import Event
from tacholog.schema.conditions import Conditions
from tacholog.schema.marks import mark_bits
from tacholog.schema.records import BOUNDS, Number, Record, Scope, Side, Test

# NumPy and pandas take long to import, and many commands do not need them. So each function that needs them imports them.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Words = Integers

NOT_STATED = -1  # A valid integer in a column is never negative.


class Shape(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """All values of a record except its lines, its sizes, its samples and its numbers. Many records have the same shape.

    ``conditions`` contains the conditions that the log states for the record, those that it states for the run, and those of the manifest.
    """

    scope: Scope
    test: Test
    side: Side | None
    participant: str | None
    conditions: Conditions


class RecordArrays(NamedTuple):
    """Arrays with one element for each record; `NOT_STATED` means unknown. ``shape`` is an index in the list of shapes."""

    line: Integers
    last_line: Integers
    shape: Integers
    payload_bytes: Integers
    payload_bytes_high: Integers
    samples: Integers


class NumberArrays(NamedTuple):
    """Arrays with one element for each number. If a value or a resolution is ``None``, its element is NaN.

    If no separate line is known for a number, its ``value_line`` is `NOT_STATED`.

    Three arrays contain indexes: ``record`` of the arrays of records, ``name`` of the list of names, ``bound`` of `BOUNDS`. Each element of ``marks``
    is a sum of bits of `MARK_BITS`.
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
    """The results of one log, or of several logs.

    Attributes:
        shapes: the shapes. The column ``shape`` of the records contains indexes of this list.
        names: the names. The column ``name`` of the numbers contains indexes of this list.
        record_words: one array of 64-bit integers with the 6 columns of the records. The records are in the order of the results.
        number_words: the same for the 7 columns of the numbers. The numbers of the first record come first. A float is stored as the integer with
            the same bits.
    """

    shapes: list[Shape]
    names: list[Name]
    record_words: Words
    number_words: Words

    @property
    def records(self) -> RecordArrays:
        """The columns of the records."""
        return RecordArrays(*self.record_words)

    @property
    def numbers(self) -> NumberArrays:
        """The columns of the numbers."""
        record, name, value, resolution, *others = self.number_words
        return NumberArrays(record, name, value.view("float64"), resolution.view("float64"), *others)

    @property
    def number_count(self) -> int:
        """How many measured values the columns hold."""
        return len(self.number_words[0])

    def add_marks(self, numbers: NDArray[np.bool_] | Integers | slice, marks: Iterable[str]) -> None:
        """Add these marks to some numbers.

        Args:
            numbers: the numbers to mark: a flag for each number, or indexes, or a slice.
            marks: the names of the marks.
        """
        self.numbers.marks[numbers] |= mark_bits(marks)


RECORD_WIDTH, NUMBER_WIDTH = len(RecordArrays._fields), len(NumberArrays._fields)


def joined_words(parts: Sequence[Words], width: int) -> Words:
    """Return the columns of several parts as one array. A single part is not copied."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.zeros((width, 0), dtype=np.int64)


_BOUND_CODES: Mapping[str, int] = {bound: code for code, bound in enumerate(BOUNDS)}
_RECORD = NumberArrays._fields.index("record")
_NAN = float("nan")
_HELD_NUMBERS = 50_000  # The builder collects this number of numbers as objects, then converts them to arrays.


class ShapeInLog(NamedTuple):
    """The shape of records as their log states it. ``run`` is the index of a run in the log. The conditions of this run apply to the records too."""

    scope: Scope
    test: Test
    side: Side | None
    participant: str | None
    conditions: Conditions
    run: int


class ColumnBuilder:
    """Makes the columns of records. The records are added one by one, or in blocks."""

    def __init__(self) -> None:
        self.number_count = 0
        self.last_line_read = 0  # the first line of the latest record
        self._shapes: dict[ShapeInLog, int] = {}
        self._names: dict[Name, int] = {}
        self._held_records: list[tuple[int, ...]] = []
        self._held_counts: list[int] = []
        self._held_numbers: list[Number] = []
        self._record_count = 0  # the number of records in the arrays
        self._record_parts: list[Words] = []
        self._number_parts: list[Words] = []

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
        """Add the records of a block. All records of a block belong to one run of the log."""
        import numpy as np

        if not len(block):
            return
        self._flush()
        like, columns = block.like, block.columns
        records = np.empty((RECORD_WIDTH, len(block)), dtype=np.int64)
        line, last_line, shape, size, high, samples = records
        line[:], last_line[:] = block.lines, block.lines
        shape[:], size[:] = self._shape_of(like, run), columns.payload_bytes
        high[:] = NOT_STATED if like.payload_bytes_high is None else like.payload_bytes_high
        samples[:] = columns.samples if columns.samples is not None else NOT_STATED if like.samples is None else like.samples
        words = np.empty((NUMBER_WIDTH, len(block), len(columns.numbers)), dtype=np.int64)
        record, name, value, resolution, bound, value_line, marks = words
        record[:] = np.arange(len(block))[:, None]
        value_line[:] = NOT_STATED
        for index, number in enumerate(columns.numbers):
            name[:, index] = self._name_of((number.metric, number.statistic))
            value.view(np.float64)[:, index] = number.values
            resolution.view(np.float64)[:, index] = number.resolutions
            bound[:, index] = np.where(number.below, _BOUND_CODES["<"], _BOUND_CODES[number.bound])
            marks[:, index] = mark_bits(number.marks)
        self._add(records, words.reshape(NUMBER_WIDTH, -1))
        self.number_count += len(block) * len(columns.numbers)
        self.last_line_read = int(block.lines[-1])

    def finish(self) -> tuple[list[ShapeInLog], list[Name], Words, Words]:
        """Return the shapes as the log states them, the names, and the arrays of all records and numbers, in the order of their lines."""
        import numpy as np

        self._flush()
        records, numbers = joined_words(self._record_parts, RECORD_WIDTH), joined_words(self._number_parts, NUMBER_WIDTH)
        self._record_parts, self._number_parts = [], []
        if (np.diff(records[0]) < 0).any():
            records, numbers = _sorted_by_lines(records, numbers)
        return list(self._shapes), list(self._names), records, numbers

    def _shape_of(self, record: Record, run: int) -> int:
        shape = ShapeInLog(record.scope, record.test, record.side, record.participant, record.conditions, run)
        return self._shapes.setdefault(shape, len(self._shapes))

    def _name_of(self, name: Name) -> int:
        return self._names.setdefault(name, len(self._names))

    def _add(self, records: Words, numbers: Words) -> None:
        """Add arrays of records and of their numbers. The first record of the arrays has index 0."""
        numbers[_RECORD] += self._record_count
        self._record_count += records.shape[1]
        self._record_parts.append(records)
        self._number_parts.append(numbers)

    def _flush(self) -> None:
        import numpy as np

        if not self._held_records:
            return
        numbers = self._held_numbers
        words = np.empty((NUMBER_WIDTH, len(numbers)), dtype=np.int64)
        record, name, value, resolution, bound, value_line, marks = words
        record[:] = np.repeat(np.arange(len(self._held_records)), self._held_counts)
        name[:] = [self._name_of((number.metric, number.statistic)) for number in numbers]
        value.view(np.float64)[:] = [_NAN if number.value is None else number.value for number in numbers]
        resolution.view(np.float64)[:] = [_NAN if number.resolution is None else number.resolution for number in numbers]
        bound[:] = [_BOUND_CODES[number.bound] for number in numbers]
        value_line[:] = [number.line or NOT_STATED for number in numbers]
        marks[:] = [mark_bits(number.marks) if number.marks else 0 for number in numbers]
        self._add(np.array(self._held_records, dtype=np.int64).T, words)
        self._held_records, self._held_counts, self._held_numbers = [], [], []


def _sorted_by_lines(records: Words, numbers: Words) -> tuple[Words, Words]:
    import numpy as np

    # A stable sort: several records on one line keep their order.
    order = np.argsort(records[0], kind="stable")
    position: NDArray[np.int64] = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    numbers[_RECORD] = position[numbers[_RECORD]]
    return records[:, order], numbers[:, np.argsort(numbers[_RECORD], kind="stable")]
