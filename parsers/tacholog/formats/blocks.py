"""Read many records of a log together, as columns, so that a log of two million lines is read in seconds.

A format declares shapes of lines (`tacholog.formats.kit.Bulk`). `RunCutter` finds sequences of consecutive lines that have one of these shapes
(`tacholog.formats.kit.Lines`). The numbers of a sequence become arrays, without an object for each line.

Some formats have a rule or a function for such lines. Then ``parse`` reads only the first and the last line of the sequence, like any other lines.
The rule or the function makes the records of the lines between them. These records are like the record of the first line. After the last line, the
format is in the same state as if it had read all lines. In all other formats, ``parse`` reads the sequence itself.

If a line is doubtful, the sequence ends before this line, and ``parse`` reads the line. So the records are the same as without this module.

`Scan.batches` yields a `RecordBlock` for many records and an `Event` for a single record. Blocks and single records become the same columns in
`tacholog.store`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.formats.kit.bulk import Bulk, Lines, NumberColumn, RecordColumns, first_false
from tacholog.formats.kit.findings import Records
from tacholog.schema.records import Number, Record

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray


class RecordBlock(NamedTuple):
    """Records that differ only in size, samples and numbers. Each record is on its own line.

    Attributes:
        like: one of these records. All records have its scope, test, side, participant, conditions and upper end of the size. The size and the
            numbers of ``like`` are not used. The samples of ``like`` are used only if ``columns`` has no samples.
        columns: the sizes, samples and numbers of n records.
        run: the lines that contain the records.
        lines: the line of each record, shape (n,).
    """

    like: Record
    columns: RecordColumns
    run: Lines
    lines: NDArray[np.int64]

    @classmethod
    def on(cls, run: Lines, records: Records) -> RecordBlock:
        """Return the records that were found on these lines."""
        import numpy as np

        indices = np.arange(run.count) if records.places is None else records.places
        return cls(records.like, records.columns, run, run.number + indices)

    def __len__(self) -> int:
        return len(self.columns.payload_bytes)

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield the records one by one, each with its line."""
        sizes = self.columns.payload_bytes.tolist()
        samples = self.columns.samples.tolist() if self.columns.samples is not None else [self.like.samples] * len(sizes)
        is_placed = any(column.cell is not None for column in self.columns.numbers)
        spans = self.run.spans[self.lines - self.run.number] if is_placed else None
        numbers = zip(*(_numbers(column, spans) for column in self.columns.numbers), strict=True)
        for line, size, count, cells in zip(self.lines.tolist(), sizes, samples, numbers, strict=True):
            yield line, msgspec.structs.replace(self.like, payload_bytes=_count_or_none(size), samples=_count_or_none(count), numbers=cells)


def _numbers(column: NumberColumn, spans: NDArray[np.int64] | None) -> Iterator[Number]:
    cells = zip(column.values.tolist(), column.resolutions.tolist(), column.below.tolist(), strict=True)
    positions = repeat((None, None)) if spans is None or column.cell is None else spans[:, column.cell].tolist()
    for (value, resolution, below), (start, end) in zip(cells, positions, strict=False):
        yield Number(
            metric=column.metric,
            statistic=column.statistic,
            value=_value_or_none(value),
            resolution=_value_or_none(resolution),
            bound="<" if below else column.bound,
            marks=column.marks,
            value_start=start,
            value_end=end,
        )


def _count_or_none(count: int | None) -> int | None:
    return None if count == -1 else count


def _value_or_none(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - NaN is what does not equal itself


RUN_LINES = 24  # For fewer lines, making the arrays takes longer than the arrays save.
_LOOKED_AT = 1 << 14  # In bytes. Lines are first counted only in this part, because it usually contains enough lines.
_LEAST_LINES = 3  # Shorter sequences have only a first and a last line, which ``parse`` reads.


class RunCutter:
    """Finds sequences of lines with one of several shapes in the complete lines of a chunk."""

    def __init__(self, bulks: Sequence[Bulk], least: int) -> None:
        self._bulks = bulks
        self._least = least
        shapes = b"|".join(rb"((?:%b\r?+\n)++)" % bulk.line for bulk in bulks)
        self._pattern = re.compile(rb"\n(?:" + shapes + b")") if bulks else None

    def cut(self, lines: bytes) -> Iterator[tuple[bytes, Bulk | None]]:
        """Yield each sequence of lines of one shape, with this shape. Yield the lines between two sequences with ``None``.

        ``lines`` begins with the line feed before the first line. Searching for a line feed is faster than trying "^" at each character.
        """
        begin, end = 1, 0
        while self._pattern and (match := self._pattern.search(lines, end)):
            # Before Python 3.11.4, the end of a match is wrong if the next line begins like a line of this shape.
            run = match[0][1 : match[0].rfind(b"\n") + 1]
            end = match.start() + len(run)  # the line feed before the next line
            if run.count(b"\n", 0, _LOOKED_AT) < self._least and run.count(b"\n") < self._least:
                continue
            if match.start() >= begin:
                yield lines[begin : match.start() + 1], None
            begin = end + 1
            yield run, self._bulks[(match.lastindex or 1) - 1]
        if begin < len(lines):
            yield lines[begin:], None


def rows_of(run: Lines, like: Record) -> RecordBlock | None:
    """Return the records of the lines between the first and the last line; ``None`` if there are no such lines.

    ``like`` is the record of the first line, as the format read it. If a line cannot be read with certainty, the line before it is used as the last
    line.

    Raises:
        TypeError: the columns do not have the same length, or the types that `RecordColumns` declares.
    """
    if run.count < _LEAST_LINES:
        return None
    columns = run.bulk.rule.columns(run, like) if run.bulk.rule else run.bulk.read(run.cells, like) if run.bulk.read else None
    if columns is None:
        return None
    columns.check(run.count)
    if [(n.metric, n.statistic, n.marks) for n in columns.numbers] != [(n.metric, n.statistic, n.marks) for n in like.numbers]:
        return None
    end = first_false(columns.possible()[1:])  # the index of the last line before a doubtful line; ``parse`` reads this last line
    return RecordBlock.on(run.part(1, end), Records(like, columns.rows(slice(1, end)))) if end > 1 else None
