"""The numbers of logs as columns: a few arrays instead of an object for each number.

A record has a place in the arrays of records, and each of its numbers has a place in the arrays of numbers. What many records share is kept once: the
`Shape` of a record and the name of a number. A log with a million numbers takes some 40 MB so, and objects would take 600.
`tacholog.store.column_builder` makes columns of what a reader finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.schema.conditions import Conditions
from tacholog.schema.marks import mark_bits
from tacholog.schema.records import Scope, Side, Test

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    #: Columns of eight bytes a value: an array of shape (columns, n).
    Words = Integers

NOT_STATED = -1  # in columns of integers, of which none can be negative


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

    Attributes:
        shapes: what the column ``shape`` of the records refers to.
        names: what the column ``name`` of the numbers refers to.
        record_words: the 6 columns of the records, in the order of the results.
        number_words: the 7 columns of the numbers, those of one record after those of the one before it. The bits of a float stand for it.
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
        """How many numbers there are."""
        return len(self.number_words[0])

    def add_marks(self, numbers: NDArray[np.bool_] | Integers | slice, marks: Iterable[str]) -> None:
        """Add these marks to some numbers.

        Args:
            numbers: whether it is to be marked, for each number; or the places of those; or a slice of all.
            marks: their names.
        """
        self.numbers.marks[numbers] |= mark_bits(marks)


RECORD_WIDTH, NUMBER_WIDTH = len(RecordArrays._fields), len(NumberArrays._fields)


def joined_words(parts: Sequence[Words], width: int) -> Words:
    """Return the columns of several parts, each of so many columns, as those of one. A single part is not copied."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.zeros((width, 0), dtype=np.int64)
