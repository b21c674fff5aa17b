"""Many result lines at once: what makes a log of two million lines a matter of seconds.

A format may name the shapes of line that its tool prints by the hundred thousand (`Bulk`, in its constant ``BULK``). Where a log holds a run of such
lines, `Runs` cuts it out whole, and its numbers become arrays (`Rows`) without an object a line. The first line of a run and the last are read by
the format like any other: the first gives the record that the others are like, the last leaves the format's state as if all had been read. A line
that is in any doubt ends its run and is read like any other too, so that nothing is judged here that the format would judge otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.formats.kit.lines import Line
from tacholog.formats.sound import LARGEST
from tacholog.schema.records import Number, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RUN_LINES = 64  # In a shorter run, starting the arrays costs more than they save.
_BLANKED = bytes.maketrans(bytes(range(256)), bytes(code if chr(code) in "0123456789." else 0x20 for code in range(256)))


class Column(NamedTuple):
    """One number of many records: the fields of `tacholog.schema.records.Number`, each an array with a value a row. A resolution of NaN: none."""

    metric: str
    statistic: str
    values: NDArray[np.float64]
    resolutions: NDArray[np.float64]
    below: NDArray[np.bool_]  #: where the bound is "<"


class Columns(NamedTuple):
    """What the lines of a run say. Rows where ``valid`` is false are not told from here."""

    valid: NDArray[np.bool_]
    payload_bytes: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    numbers: tuple[Column, ...]


class Bulk(NamedTuple):
    """A shape of result line of which a log has thousands in a row.

    ``line`` matches one without its end: ASCII, with the same count of numbers each time, none of more than 15 digits, none with a sign. In a run
    of them each line is one record like that of the run's first line, whose conditions it shares. ``read`` takes the numbers, a row a line, and the
    first line's record; ``None`` means that these lines are to be read one by one.
    """

    line: bytes
    read: Callable[[NDArray[np.float64], Record], Columns | None]


class Run:
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


class Rows(NamedTuple):
    """Records on consecutive lines of a run, from ``place`` on: all like ``like`` but for size, samples and numbers."""

    run: Run
    place: int
    like: Record
    columns: Columns

    def __len__(self) -> int:
        """How many records these are."""
        return len(self.columns.payload_bytes)

    def records(self) -> Iterator[tuple[Line, Record]]:
        """The records, one by one, each with its line."""
        sizes = self.columns.payload_bytes.tolist()
        samples = self.columns.samples.tolist() if self.columns.samples is not None else [self.like.samples] * len(sizes)
        numbers = zip(*(_numbers(column) for column in self.columns.numbers), strict=True)
        for place, (size, count, cells) in enumerate(zip(sizes, samples, numbers, strict=True), start=self.place):
            yield self.run.line(place), msgspec.structs.replace(self.like, payload_bytes=size, samples=count, numbers=cells)


def _numbers(column: Column) -> Iterator[Number]:
    for value, resolution, below in zip(column.values.tolist(), column.resolutions.tolist(), column.below.tolist(), strict=True):
        known = resolution if resolution == resolution else None  # noqa: PLR0124 - NaN is what does not equal itself
        yield Number(metric=column.metric, statistic=column.statistic, value=value, resolution=known, bound="<" if below else "=")


class Runs:
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


def rows_of(run: Run, place: int, like: Record) -> Rows | None:
    """The records of the lines behind ``place``, up to the first that is in doubt but without the last before it; ``None`` if there are none.

    ``like`` is the record of the line at ``place``, as the format read it.

    Raises:
        TypeError: the columns are not of one length, or not of the types that `Columns` says.
    """
    columns = run.bulk.read(run.cells(place), like)
    if columns is None:
        return None
    columns = columns._replace(valid=columns.valid & _possible(columns, len(run) - place))
    if [(n.metric, n.statistic, ()) for n in columns.numbers] != [(n.metric, n.statistic, n.marks) for n in like.numbers]:
        return None
    end = _first_false(columns.valid[1:])  # of those behind the first; the last before the doubt is the format's
    return Rows(run, place + 1, like, _part(columns, slice(1, end))) if end > 1 else None


def _possible(columns: Columns, count: int) -> NDArray[np.bool_]:
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
        possible &= (column.values >= 0) & (column.values <= LARGEST) & ~(column.resolutions <= 0)
    return np.asarray(possible)


def _first_false(valid: NDArray[np.bool_]) -> int:
    return len(valid) if valid.all() else int(valid.argmin())


def _part(columns: Columns, rows: slice) -> Columns:
    return Columns(
        columns.valid[rows],
        columns.payload_bytes[rows],
        columns.samples[rows] if columns.samples is not None else None,
        tuple(Column(c.metric, c.statistic, c.values[rows], c.resolutions[rows], c.below[rows]) for c in columns.numbers),
    )
