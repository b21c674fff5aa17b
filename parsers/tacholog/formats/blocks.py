"""Many records of a log at once, as columns: what a reader hands to the rest of the house where a log has thousands of results.

`Scan.batches` yields a `RecordBlock` for many records and an `Event` for one. Both become the same columns in `tacholog.store`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.formats.kit.bulk import NumberColumn, RecordColumns
from tacholog.schema.records import Number, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RecordBlock(NamedTuple):
    """Records that are alike but for size, samples and numbers.

    Attributes:
        like: one of these records: its scope, test, side, participant, conditions and upper end of the size are those of all. Its size, samples and
            numbers are not used, except for samples if the columns have none.
        lines: the first line of each record, shape (n,).
        columns: sizes, samples and numbers, n of each.
        text_of: returns the text of a line of the block, by its number.
        last_lines: the last line of each record, shape (n,); ``None``: each record has one line.
        spans: returns where the numbers stand on the lines, shape (n, numbers of a line, 2); ``None``: that is not known.
    """

    like: Record
    lines: NDArray[np.int64]
    columns: RecordColumns
    text_of: Callable[[int], str]
    last_lines: NDArray[np.int64] | None = None
    spans: Callable[[], NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        """How many records these are."""
        return len(self.columns.payload_bytes)

    def records(self) -> Iterator[tuple[int, int, Record]]:
        """Yield the records one by one, each with its first and last line."""
        sizes = self.columns.payload_bytes.tolist()
        samples = self.columns.samples.tolist() if self.columns.samples is not None else [self.like.samples] * len(sizes)
        spans = self.spans() if self.spans and any(column.cell is not None for column in self.columns.numbers) else None
        numbers = zip(*(_numbers(column, spans) for column in self.columns.numbers), strict=True)
        lines = self.lines.tolist()
        last_lines = self.last_lines.tolist() if self.last_lines is not None else lines
        for line, last_line, size, count, cells in zip(lines, last_lines, sizes, samples, numbers, strict=True):
            yield line, last_line, msgspec.structs.replace(self.like, payload_bytes=_stated(size), samples=_stated(count), numbers=cells)


def _numbers(column: NumberColumn, spans: NDArray[np.int64] | None) -> Iterator[Number]:
    cells = zip(column.values.tolist(), column.resolutions.tolist(), column.below.tolist(), strict=True)
    places = repeat((None, None)) if spans is None or column.cell is None else spans[:, column.cell].tolist()
    for (value, resolution, below), (start, end) in zip(cells, places, strict=False):
        yield Number(
            metric=column.metric,
            statistic=column.statistic,
            value=_known(value),
            resolution=_known(resolution),
            bound="<" if below else column.bound,
            marks=column.marks,
            value_start=start,
            value_end=end,
        )


def _stated(count: int | None) -> int | None:
    return None if count == -1 else count


def _known(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - NaN is what does not equal itself
