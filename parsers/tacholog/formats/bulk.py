"""Reading many result lines at once: what makes a log of two million lines a matter of seconds.

Where a log holds a run of lines of a shape that its format names (`tacholog.formats.kit.Bulk`), `RunCutter` cuts the run out whole, and its numbers
become arrays (`RecordBlock`) without an object for each line. The format reads the first and the last line of a run like any other line: the first
gives the record that the others are like; the last leaves the format in the state that it would have after reading all of them. A line that is in
any doubt ends its run and is read like any other line, so that nothing is judged here that the format would judge differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tacholog.formats.blocks import RecordBlock
from tacholog.formats.kit.bulk import Bulk, RecordColumns
from tacholog.formats.kit.lines import Line
from tacholog.formats.kit.numbers import VALUE_LIMIT
from tacholog.schema.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RUN_LINES = 64  # In a shorter run, starting the arrays costs more than they save.
_BLANKED = bytes.maketrans(bytes(range(256)), bytes(code if chr(code) in "0123456789." else 0x20 for code in range(256)))


class LineRun:
    """A run of lines of one shape, of which the first is line ``number`` of its log."""

    def __init__(self, number: int, text: bytes, bulk: Bulk) -> None:
        """Take the lines, ends included."""
        self.bulk = bulk
        self.number = number
        self._lines = text.splitlines(keepends=True)

    def __len__(self) -> int:
        """How many lines these are."""
        return len(self._lines)

    def line(self, place: int) -> Line:
        """One of the lines; the first is at place 0."""
        return Line(self.number + place, self._lines[place].rstrip(b"\r\n").decode("ascii"))

    def cells(self, place: int) -> NDArray[np.float64]:
        """The numbers in the lines from ``place`` on, a row a line."""
        import numpy as np

        text = b"".join(self._lines[place:]).translate(_BLANKED).decode("ascii")
        return np.fromstring(text, dtype=np.float64, sep=" ").reshape(len(self) - place, -1)


class RunCutter:
    """Cuts the whole lines of a chunk into runs of these shapes and what is between them."""

    def __init__(self, bulks: Sequence[Bulk], least: int) -> None:
        """Look for runs of at least ``least`` lines."""
        self._bulks = bulks
        # Not possessive (`}+`): before Python 3.11.4 that forgets where the last whole line ended if the next one begins alike.
        shapes = b"|".join(rb"((?:%b\r?\n){%d,})" % (bulk.line, least) for bulk in bulks)
        self._pattern = re.compile(b"(?m:^)(?:" + shapes + b")") if bulks else None

    def cut(self, lines: bytes) -> Iterator[tuple[bytes, Bulk | None]]:
        """Yield each run with its shape, and each stretch between runs with ``None``; every piece ends with a line's end."""
        end = 0
        for found in self._pattern.finditer(lines) if self._pattern else ():
            if found.start() > end:
                yield lines[end : found.start()], None
            end = found.end()
            yield found[0], self._bulks[(found.lastindex or 1) - 1]
        if end < len(lines):
            yield lines[end:], None


def rows_of(run: LineRun, place: int, like: Record) -> RecordBlock | None:
    """The records of the lines behind ``place``, up to the first that is in doubt but without the last before it; ``None`` if there are none.

    ``like`` is the record of the line at ``place``, as the format read it.

    Raises:
        TypeError: the columns are not of one length, or not of the types that `RecordColumns` says.
    """
    import numpy as np

    columns = run.bulk.read(run.cells(place), like)
    if columns is None:
        return None
    columns = columns._replace(valid=columns.valid & _possible(columns, len(run) - place))
    if [(n.metric, n.statistic, n.marks) for n in columns.numbers] != [(n.metric, n.statistic, n.marks) for n in like.numbers]:
        return None
    end = _first_false(columns.valid[1:])  # of those behind the first; the last before the doubt is the format's
    if end <= 1:
        return None
    lines = np.arange(run.number + place + 1, run.number + place + end)
    return RecordBlock(like, lines, _part(columns, slice(1, end)), lambda number: run.line(number - run.number).text)


def _possible(columns: RecordColumns, count: int) -> NDArray[np.bool_]:
    """Where the numbers are such as a record can have; the others are read one by one, and judged there."""
    import numpy as np

    kinds = [(columns.valid, "b"), (columns.payload_bytes, "i"), *(() if columns.samples is None else ((columns.samples, "i"),))]
    kinds += [pair for column in columns.numbers for pair in zip((column.values, column.resolutions, column.below), "ffb", strict=True)]
    if any(array.shape != (count,) or array.dtype.kind != kind for array, kind in kinds):
        raise TypeError(f"the columns of a BULK are not each of {count} rows and of the type that tacholog.formats.kit.bulk.Columns says")
    possible = columns.payload_bytes > 0
    if columns.samples is not None:
        possible &= columns.samples >= 0
    for column in columns.numbers:
        possible &= (column.values >= 0) & (column.values <= VALUE_LIMIT) & ~(column.resolutions <= 0)
    return np.asarray(possible)


def _first_false(valid: NDArray[np.bool_]) -> int:
    return len(valid) if valid.all() else int(valid.argmin())


def _part(columns: RecordColumns, rows: slice) -> RecordColumns:
    return RecordColumns(
        columns.valid[rows],
        columns.payload_bytes[rows],
        columns.samples[rows] if columns.samples is not None else None,
        tuple(c._replace(values=c.values[rows], resolutions=c.resolutions[rows], below=c.below[rows]) for c in columns.numbers),
    )
