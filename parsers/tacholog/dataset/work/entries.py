"""What one log gives, as the cache keeps it and as workers send it: a head and the columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.dataset.columns import BOUNDS, MARK_NAMES, NUMBER_WIDTH, RECORD_WIDTH, Columns, Name, NumberArrays, RecordArrays, Shape
from tacholog.errors import TachologError
from tacholog.formats.reading import LineClass
from tacholog.schema.conditions import Basis
from tacholog.schema.records import Facts, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacholog.dataset.columns import Integers

_BIN_WIDTH = 3
_WORD_BYTES = 8
_WIDTHS = frozenset((1, 2, 4, _WORD_BYTES))
_MANY_NUMBERS = 1 << 12  # Of fewer, it takes longer to find out how small they are than to keep them.
_CODES = [NumberArrays._fields.index(name) for name in ("record", "name", "bound", "marks")]
_SHAPE = RecordArrays._fields.index("shape")


class DamagedEntry(TachologError):
    """The bytes are no entry of this version."""


class LogProblem(msgspec.Struct, frozen=True, array_like=True):
    """A problem of a log: a row of the table ``problems`` without its place."""

    line: int
    kind: str
    text: str
    reason: str


class HistogramHead(msgspec.Struct, array_like=True):
    """A distribution without its bins, of which it has ``bins``."""

    line: int
    payload_bytes: int | None
    basis: Basis
    bins: int


class LogHead(msgspec.Struct, array_like=True):
    """Everything about a log but its numbers.

    Attributes:
        format: the format that it was read in.
        size_bytes: its size; ``None`` if it could not be read, as ``sha256``.
        lines: how many lines of each class it has.
        facts: what it says of its run.
        status: how the run ended, as far as the log says; ``reason``: why.
        problems: what is wrong with it.
        histograms: its distributions.
        text_bytes: the size of its text, which is longer than the log if that is compressed.
        is_lost: whether it could not be read. Then its problem says why.
    """

    format: str | None
    size_bytes: int | None
    sha256: str | None
    lines: dict[LineClass, int]
    facts: Facts
    status: Status | None
    reason: str | None
    problems: list[LogProblem]
    histograms: list[HistogramHead]
    text_bytes: int
    is_lost: bool = False


class LogEntry(msgspec.Struct):
    """What one log gives: ``bins`` are those of all histograms, one after the other, shape (n, 3): lower end, upper end, count."""

    head: LogHead
    columns: Columns
    bins: Integers


class _Encoded(msgspec.Struct, array_like=True):
    head: LogHead
    shapes: list[msgspec.Raw]  # Many logs have the same ones. Each is decoded once.
    names: list[Name]
    records: int
    numbers: int
    bins: int
    widths: bytes  # How many bytes a value of each column takes; nothing: eight in all of them.
    words: memoryview  # A part of the entry's bytes: they would be in memory twice.


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Encoded).decode
_decode_shape = msgspec.msgpack.Decoder(Shape).decode
_SHAPES: dict[bytes, Shape] = {}
_MOST_SHAPES = 10_000


def encoded(entry: LogEntry) -> bytes:
    """Return an entry as bytes: the same for the same log, whoever read it."""
    import numpy as np

    columns = entry.columns
    parts: list[Integers] = [*columns.record_words, *columns.number_words]
    kinds = ["<i8"] * len(parts)
    widths = b""
    if columns.number_words.shape[1] >= _MANY_NUMBERS:
        kinds = [_narrowest(column) for column in parts]
        widths = bytes(np.dtype(kind).itemsize for kind in kinds)
    words = _joined([*parts, entry.bins.reshape(-1)], [*kinds, "<i8"])
    shapes = [msgspec.Raw(_encode(shape)) for shape in columns.shapes]
    counts = columns.record_words.shape[1], columns.number_words.shape[1], len(entry.bins)
    return _encode(_Encoded(entry.head, shapes, columns.names, *counts, widths, memoryview(words.data)))


def _narrowest(column: Integers) -> str:
    """Return the type with the fewest bytes a value that holds a column. Most columns are the same in all rows, or count up to a small number."""
    import numpy as np

    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    return next(kind for kind in ("<i1", "<i2", "<i4", "<i8") if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def _joined(columns: Sequence[Integers], kinds: Sequence[str]) -> NDArray[np.uint8]:
    """Return the bytes of columns, each in the type of this name. None becomes an array of its own: these took as much memory again."""
    import numpy as np

    ends = list(itertools.accumulate(len(column) * np.dtype(kind).itemsize for column, kind in zip(columns, kinds, strict=True)))
    words = np.empty(ends[-1], dtype=np.uint8)
    for column, kind, start, end in zip(columns, kinds, [0, *ends], ends, strict=False):
        words[start:end].view(kind)[:] = column
    return words


class ReadLog(NamedTuple):
    """What was read of a log: its entry as bytes, and the entry itself where it was read in this process."""

    content: bytes
    own: LogEntry | None = None

    def entry(self) -> LogEntry:
        """Return the entry.

        Raises:
            DamagedEntry: another process sent bytes that are none.
        """
        return self.own or checked(self.content)


def read_here(entry: LogEntry) -> ReadLog:
    """Return what this process read: just what another process would have sent, but its numbers need not be read from their bytes again."""
    content = encoded(entry)
    found, columns = _decode(content), entry.columns
    shapes = [_shape(raw) for raw in found.shapes]
    return ReadLog(content, LogEntry(found.head, Columns(shapes, found.names, columns.record_words, columns.number_words), entry.bins))


def decoded(content: bytes) -> LogEntry:
    """Return the entry that these bytes are.

    Raises:
        DamagedEntry: they are none, or its columns contradict each other.
    """
    import numpy as np

    try:
        found = _decode(content)
        shapes = [_shape(raw) for raw in found.shapes]
    except (msgspec.DecodeError, ValueError) as error:
        raise DamagedEntry(str(error)) from error
    widths = found.widths or _WORD_BYTES.to_bytes() * (RECORD_WIDTH + NUMBER_WIDTH)
    if min(found.records, found.numbers, found.bins) < 0 or len(widths) != RECORD_WIDTH + NUMBER_WIDTH or not _WIDTHS.issuperset(widths):
        raise DamagedEntry("its columns are none")
    end = found.records * sum(widths[:RECORD_WIDTH]) + found.numbers * sum(widths[RECORD_WIDTH:])
    if len(found.words) != end + _WORD_BYTES * _BIN_WIDTH * found.bins:
        raise DamagedEntry("its columns are not of the size that it says")
    records, numbers = _widened(found, widths) if found.widths else _as_they_are(found, end)
    # Another copy: a dataset keeps the distributions, and as a part of the same array they would keep all columns of the log with them.
    bins = np.frombuffer(found.words[end:], dtype="<i8").astype(np.int64).reshape(found.bins, _BIN_WIDTH)
    entry = LogEntry(found.head, Columns(shapes, found.names, records, numbers), bins)
    if sum(histogram.bins for histogram in found.head.histograms) != found.bins:
        raise DamagedEntry("its distributions are not of the size that it says")
    return entry


def _as_they_are(found: _Encoded, end: int) -> tuple[Integers, Integers]:
    """Return the columns of the records and those of the numbers, all of which have eight bytes a value."""
    import numpy as np

    columns = np.frombuffer(found.words[:end], dtype="<i8").astype(np.int64)  # A copy, which can be changed.
    of_records = RECORD_WIDTH * found.records
    return columns[:of_records].reshape(RECORD_WIDTH, found.records), columns[of_records:].reshape(NUMBER_WIDTH, found.numbers)


def _widened(found: _Encoded, widths: bytes) -> tuple[Integers, Integers]:
    """Return the columns of the records and those of the numbers, which have fewer bytes a value."""
    import numpy as np

    records = np.empty((RECORD_WIDTH, found.records), dtype=np.int64)
    numbers = np.empty((NUMBER_WIDTH, found.numbers), dtype=np.int64)
    start = 0
    for column, width in zip((*records, *numbers), widths, strict=True):
        end = start + width * len(column)
        column[:] = np.frombuffer(found.words[start:end], dtype=f"<i{width}")
        start = end
    return records, numbers


def checked(content: bytes) -> LogEntry:
    """Return the entry that another process sent. What the cache returns needs no such check: it is what was put into it.

    Raises:
        DamagedEntry: the bytes are none, its columns contradict each other, or refer to what is not there.
    """
    entry = decoded(content)
    if not _refers_to_what_is_there(entry.columns):
        raise DamagedEntry("its columns refer to what is not there")
    return entry


def _refers_to_what_is_there(columns: Columns) -> bool:
    """Return whether each code in the columns has a meaning."""
    records, numbers = columns.record_words, columns.number_words
    known = (
        (records, {_SHAPE: len(columns.shapes)}),
        (numbers, dict(zip(_CODES, (records.shape[1], len(columns.names), len(BOUNDS), 1 << len(MARK_NAMES)), strict=True))),
    )
    for words, limits in known:
        if not words.shape[1]:
            continue
        lowest, highest = words.min(axis=1).tolist(), words.max(axis=1).tolist()
        if not all(lowest[column] >= 0 and highest[column] < limit for column, limit in limits.items()):
            return False
    return True


def _shape(raw: msgspec.Raw) -> Shape:
    content = bytes(raw)
    known = _SHAPES.get(content)
    if known is None:
        known = _decode_shape(content)
        if len(_SHAPES) < _MOST_SHAPES:
            _SHAPES[content] = known
    return known
