"""From the records that a reader finds, one by one or in blocks, to columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from tacholog.formats.blocks import RecordBlock
from tacholog.formats.kit.bulk import NumberColumn
from tacholog.formats.reading import Event
from tacholog.schema.conditions import Conditions
from tacholog.schema.marks import mark_bits
from tacholog.schema.records import BOUNDS, Number, Record, Scope, Side, Test
from tacholog.store.columns import NOT_STATED, NUMBER_WIDTH, RECORD_WIDTH, SMALL_NUMBERS, Name, NumberArrays, one_value

if TYPE_CHECKING:
    from tacholog.store.columns import Floats, Integers, Words

    #: A part of a column: one value for all its rows, one for each row, or one or more for each name, whose rows come in turn.
    _Piece = int | Integers | list[int] | list[int | Integers]

_BOUND_CODES: Mapping[str, int] = {bound: code for code, bound in enumerate(BOUNDS)}
_RECORD = NumberArrays._fields.index("record")
_NAN = float("nan")
_SORTED_RECORDS = 1 << 12  # at least, at a time
_HELD_NUMBERS = 50_000  # So many stay objects until they become arrays.


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

    def finish(self) -> tuple[list[ShapeInLog], list[Name], Words, Words]:
        """Return the shapes as the log states them, the names, and the words of all records and numbers, in the order of their lines."""
        import numpy as np

        self._flush()
        parts, self._parts = self._parts, []
        firsts = list(accumulate([part.records for part in parts], initial=0))[:-1]
        make = None if self.number_count < SMALL_NUMBERS else _new_column
        records = _words(RECORD_WIDTH, lambda place: [part.record_column(place) for part in parts], [(part.records,) for part in parts], make)
        numbers = _words(
            NUMBER_WIDTH,
            lambda place: [part.number_column(place, first) for part, first in zip(parts, firsts, strict=True)],
            [part.shape_of_numbers for part in parts],
            make,
        )
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
        self._parts.append(_Held(list(records), list(words)))


class _Held(NamedTuple):
    """Records that came one by one, as words. The first of them is called 0."""

    record_words: list[Integers]
    number_words: list[Integers]

    @property
    def records(self) -> int:
        return len(self.record_words[0])

    @property
    def shape_of_numbers(self) -> tuple[int, ...]:
        return (len(self.number_words[0]),)

    def record_column(self, place: int) -> _Piece:
        """Return one of the columns of the records."""
        return self.record_words[place]

    def number_column(self, place: int, first: int) -> _Piece:
        """Return one of the columns of the numbers, where the first of these records has this place in the log."""
        return self.number_words[place] + first if place == _RECORD else self.number_words[place]


class _Block(NamedTuple):
    """What a block says, until the log is read. It becomes a piece of the columns of the log.

    Most columns of a block have one value. With one for each row they took four times the memory, and the system clears each page of it before it is
    used: that took as long as to find the numbers.
    """

    record_columns: list[_Piece]
    number_columns: list[_Piece]  # without the first, which is that of their records
    shape_of_numbers: tuple[int, int]

    @property
    def records(self) -> int:
        return self.shape_of_numbers[0]

    def record_column(self, place: int) -> _Piece:
        """Return one of the columns of the records."""
        return self.record_columns[place]

    def number_column(self, place: int, first: int) -> _Piece:
        """Return one of the columns of the numbers, where the first of these records has this place in the log."""
        import numpy as np

        return np.arange(first, first + self.records)[:, None] if place == _RECORD else self.number_columns[place - 1]


def _block_part(block: RecordBlock, shape: int, names: list[int]) -> _Block:
    """Return what is kept of a block: not the numbers of its lines as they were read, which have columns that are no results."""
    import numpy as np

    like, columns = block.like, block.columns
    values = np.empty((len(block), len(names)))
    for place, number in enumerate(columns.numbers):
        values[:, place] = number.values
    high, samples = (NOT_STATED if stated is None else stated for stated in (like.payload_bytes_high, like.samples))
    return _Block(
        [
            block.lines,
            block.lines if block.last_lines is None else block.last_lines,
            shape,
            columns.payload_bytes,
            high,
            samples if columns.samples is None else columns.samples,
        ],
        [
            _of_names(names),
            values.view(np.int64),
            _of_names([_resolution(number.resolutions) for number in columns.numbers]),
            _of_names([_bound(number) for number in columns.numbers]),
            NOT_STATED,
            _of_names([mark_bits(number.marks) for number in columns.numbers]),
        ],
        values.shape,
    )


def _resolution(resolutions: Floats) -> int | Integers:
    words = resolutions.view("int64")
    return int(words[0]) if words.strides == (0,) else words


def _bound(number: NumberColumn) -> int | Integers:
    import numpy as np

    code = _BOUND_CODES[number.bound]
    return np.where(number.below, _BOUND_CODES["<"], code) if number.below.any() else code


def _of_names(pieces: list[int] | list[int | Integers]) -> _Piece:
    """Return a piece of a column whose rows have one of these names in turn: one value, if all of them have the same."""
    first = pieces[0] if pieces else 0
    return first if isinstance(first, int) and all(isinstance(piece, int) and piece == first for piece in pieces) else pieces


def _new_column(count: int) -> Integers:
    import numpy as np

    return np.empty(count, dtype=np.int64)


def _words(width: int, pieces_of: Callable[[int], list[_Piece]], shapes: Sequence[tuple[int, ...]], make: Callable[[int], Integers] | None) -> Words:
    """Put columns together.

    Args:
        width: how many columns there are.
        pieces_of: returns the pieces of one of them, one for each part.
        shapes: of each part: how many rows it has, or how many records and how many numbers each of them has.
        make: makes a column of so many values; ``None``: they are to be one array.
    """
    import numpy as np

    ends = list(accumulate(map(math.prod, shapes), initial=0))
    if make:
        return [_column(pieces_of(place), shapes, ends, make) for place in range(width)]
    words = np.empty((width, ends[-1]), dtype=np.int64)
    for place, column in enumerate(words):
        _fill(column, pieces_of(place), shapes, ends)
    return words


def _column(pieces: Sequence[_Piece], shapes: Sequence[tuple[int, ...]], ends: Sequence[int], make: Callable[[int], Integers]) -> Integers:
    """Put one column together, which is not empty."""
    if isinstance(first := pieces[0], int) and all(isinstance(piece, int) and piece == first for piece in pieces):
        return one_value(first, ends[-1])
    column = make(ends[-1])
    _fill(column, pieces, shapes, ends)
    return column


def _fill(column: Integers, pieces: Sequence[_Piece], shapes: Sequence[tuple[int, ...]], ends: Sequence[int]) -> None:
    """Write pieces one behind the other."""
    for piece, shape, (start, end) in zip(pieces, shapes, pairwise(ends), strict=True):
        rows = column[start:end].reshape(shape)
        if isinstance(piece, list):
            for place, of_name in enumerate(piece):
                rows[:, place] = of_name
        else:
            rows[...] = piece


def _sort_by_lines(records: Words, numbers: Words) -> None:
    """Sort the records by their first lines. Those on one line stay in the order in which they were found.

    Records are sorted as few at a time as can be: mostly those of one chunk of the log. A sorted copy of all of them is as large as they are.
    """
    import numpy as np

    lines, counts = records[0], np.bincount(numbers[0], minlength=len(records[0]))
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
            for column in _varying(records):
                column[start:stop] = column[order]
            numbers[0][first:last] = np.repeat(np.arange(start, stop), many)
            for column in _varying(numbers[1:]):
                column[first:last] = column[places]


def _varying(columns: Words) -> list[Integers]:
    return [column for column in columns if column.flags.writeable]
