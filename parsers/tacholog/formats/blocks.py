"""Many records of a log at once, as columns: what a reader hands to the rest of the house where a log has thousands of results.

`Scan.batches` yields a `RecordBlock` for many records and an `Event` for one. Both become the same columns in `tacholog.store`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.formats.kit.bulk import Lines, NumberColumn, RecordColumns
from tacholog.formats.kit.findings import Records
from tacholog.schema.records import Number, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RecordBlock(NamedTuple):
    """Records that are alike but for size, samples and numbers, one on each of some lines.

    Attributes:
        like: one of these records: its scope, test, side, participant, conditions and upper end of the size are those of all. Its size, samples and
            numbers are not used, except for samples if the columns have none.
        columns: sizes, samples and numbers, n of each.
        run: lines among which the records stand.
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

        places = np.arange(run.count) if records.places is None else records.places
        return cls(records.like, records.columns, run, run.number + places)

    def __len__(self) -> int:
        """How many records these are."""
        return len(self.columns.payload_bytes)

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield the records one by one, each with its line."""
        sizes = self.columns.payload_bytes.tolist()
        samples = self.columns.samples.tolist() if self.columns.samples is not None else [self.like.samples] * len(sizes)
        is_placed = any(column.cell is not None for column in self.columns.numbers)
        spans = self.run.spans[self.lines - self.run.number] if is_placed else None
        numbers = zip(*(_numbers(column, spans) for column in self.columns.numbers), strict=True)
        for line, size, count, cells in zip(self.lines.tolist(), sizes, samples, numbers, strict=True):
            yield line, msgspec.structs.replace(self.like, payload_bytes=_stated(size), samples=_stated(count), numbers=cells)


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
