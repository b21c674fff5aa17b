"""What logs give, as the cache keeps it and as workers send it: a head for each log, and the columns of all of them.

Many small logs come in one pack. Their columns are joined, narrowed and compressed together, because each of these steps takes about as long for one
small log as for a hundred. Those of a large log, which is a pack by itself, are packed and unpacked piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tacholog.dataset.cache import CompressionErrors, Unpacking, packed_pieces
from tacholog.dataset.columns import (
    BOUNDS,
    MARK_NAMES,
    NUMBER_WIDTH,
    RECORD_WIDTH,
    SMALL_NUMBERS,
    Columns,
    Name,
    NumberArrays,
    RecordArrays,
    Shape,
    joined_words,
)
from tacholog.dataset.distributions import Distribution, NoDistribution
from tacholog.errors import TachologError
from tacholog.formats.reading import LineClass
from tacholog.schema.conditions import Basis
from tacholog.schema.records import Facts, Status

if TYPE_CHECKING:
    import numpy as np
    from _typeshed import ReadableBuffer
    from numpy.typing import NDArray

    from tacholog.dataset.columns import Integers

_WORD_BYTES = 8
_ONE_VALUE = 0  # as the width of a column: all rows have the same value, which stands there once, in eight bytes
_PIECE_VALUES = 1 << 16  # of a column, at a time
_WIDTHS = frozenset((_ONE_VALUE, 1, 2, 4, _WORD_BYTES))
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
    """A distribution: the line of its record, the size of a message, what the latencies span, and its packed bins."""

    line: int
    payload_bytes: int | None
    basis: Basis
    packed: bytes


class LogHead(msgspec.Struct, array_like=True):
    """Everything about a log but its numbers.

    Attributes:
        format: the format that it was read in.
        size_bytes: its size; ``None`` if it could not be read, as ``sha256`` and ``text_sha256``.
        text_sha256: that of its text, which is another one if the log is compressed.
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
    text_sha256: str | None
    lines: dict[LineClass, int]
    facts: Facts
    status: Status | None
    reason: str | None
    problems: list[LogProblem]
    histograms: list[HistogramHead]
    text_bytes: int
    is_lost: bool = False


class LogEntry(msgspec.Struct):
    """What one log gives."""

    head: LogHead
    columns: Columns


class _PackHead(msgspec.Struct, array_like=True):
    """What stands before the columns of a pack. What it says of each log stands in lists of the same length, so that a log is found by its place."""

    heads: list[msgspec.Raw]  # Only those of the logs that are wanted are decoded.
    shapes: list[msgspec.Raw]  # Many logs have the same ones. Each is decoded once.
    names: list[Name]
    meanings: list[tuple[list[int], list[int]]]  # What the codes of a log mean: the places of its shapes and names. Similar logs share them.
    meaning: list[int]
    records: list[int]
    numbers: list[int]
    widths: bytes  # How many bytes a value of each column takes.


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_PackHead).decode
_decode_head = msgspec.msgpack.Decoder(LogHead).decode
_decode_shape = msgspec.msgpack.Decoder(Shape).decode
_SHAPES: dict[bytes, Shape] = {}
_MOST_SHAPES = 10_000
_COLUMNS = RECORD_WIDTH + NUMBER_WIDTH
_OTHER_SIZE = "its columns are not of the size that it says"


class _Encoded:
    """Entries as a pack, which is not compressed yet: the same for the same logs, whoever read them."""

    def __init__(self, entries: Sequence[LogEntry]) -> None:
        shapes: dict[bytes, int] = {}
        names: dict[Name, int] = {}
        meanings: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        meaning: list[int] = []
        for entry in entries:
            of_shapes = tuple([shapes.setdefault(_encode(shape), len(shapes)) for shape in entry.columns.shapes])
            of_names = tuple([names.setdefault(name, len(names)) for name in entry.columns.names])
            meaning.append(meanings.setdefault((of_shapes, of_names), len(meanings)))
        records = joined_words([entry.columns.record_words for entry in entries], RECORD_WIDTH)
        numbers = joined_words([entry.columns.number_words for entry in entries], NUMBER_WIDTH)
        self._columns: list[Integers] = [*records, *numbers]
        self._widths = [_least_width(column) for column in self._columns]
        self.head = _encode(
            _PackHead(
                heads=[msgspec.Raw(_encode(entry.head)) for entry in entries],
                shapes=[msgspec.Raw(shape) for shape in shapes],
                names=list(names),
                meanings=[(list(of_shapes), list(of_names)) for of_shapes, of_names in meanings],
                meaning=meaning,
                records=[len(entry.columns.record_words[0]) for entry in entries],
                numbers=[entry.columns.number_count for entry in entries],
                widths=bytes(self._widths),
            )
        )

    def pieces(self) -> Iterator[ReadableBuffer]:
        """Yield its bytes piece by piece."""
        yield len(self.head).to_bytes(_WORD_BYTES, "little")
        yield self.head
        for column, width in zip(self._columns, self._widths, strict=True):
            values = column[:1] if width == _ONE_VALUE else column
            for start in range(0, len(values), _PIECE_VALUES):
                yield values[start : start + _PIECE_VALUES].astype(f"<i{width or _WORD_BYTES}", copy=False).data

    def packed(self) -> bytes:
        """Return it compressed."""
        columns = sum(_column_bytes(width, len(column)) for column, width in zip(self._columns, self._widths, strict=True))
        return packed_pieces(self.pieces(), _WORD_BYTES + len(self.head) + columns)


def encoded(entries: Sequence[LogEntry]) -> bytes:
    """Return entries as a pack, compressed: the same for the same logs, whoever read them."""
    return _Encoded(entries).packed()


def _column_bytes(width: int, count: int) -> int:
    return _WORD_BYTES * min(count, 1) if width == _ONE_VALUE else width * count


def _least_width(column: Integers) -> int:
    """Return with how few bytes a value a column can be kept. Most are the same in all rows, or count up to a small number."""
    if not len(column):
        return _ONE_VALUE
    low, high = (int(column[0]),) * 2 if column.strides == (0,) else (int(column.min()), int(column.max()))
    return _ONE_VALUE if low == high else next(width for width in (1, 2, 4, 8) if -1 << 8 * width - 1 <= low and high < 1 << 8 * width - 1)


class EntryPack:
    """What many logs gave, of which each is taken out by its place."""

    def __init__(self, head: bytes, columns: Unpacking | Sequence[Integers] | None = None, own: Sequence[LogEntry] | None = None) -> None:
        """Decode a pack.

        Args:
            head: what stands before its columns.
            columns: its columns, or the bytes of which they are read; ``None`` if the entries that it was made of are here.
            own: those entries.

        Raises:
            DamagedEntry: it is none, or its columns contradict each other.
        """
        try:
            self._found = found = _decode(head)
            self._meanings = [
                ([_shape(found.shapes[code]) for code in shapes], [found.names[code] for code in names]) for shapes, names in found.meanings
            ]
        except (msgspec.DecodeError, ValueError, IndexError) as error:
            raise DamagedEntry(str(error)) from error
        self._own = own
        if columns is not None:
            self._read_columns(columns)

    def __len__(self) -> int:
        """Return how many logs it has."""
        return len(self._found.heads)

    def entry(self, place: int, *, is_last: bool = False) -> LogEntry:
        """Return what the log at this place gave. Its columns can be changed, and keep nothing else in memory.

        Args:
            place: the place of the log.
            is_last: whether nobody will ask for it again. Then it need not be copied.

        Raises:
            DamagedEntry: its head is none.
        """
        head, (shapes, names) = self._head(place), self._meanings[self._found.meaning[place]]
        if self._own is not None:
            columns = self._own[place].columns
            return LogEntry(head, Columns(shapes, names, columns.record_words, columns.number_words))
        if self._joined is None:
            records, numbers = (self._records, self._numbers) if is_last else (_copied(self._records), _copied(self._numbers))
            return LogEntry(head, Columns(shapes, names, records, numbers))
        (first_record, last_record), (first_number, last_number) = self._ends[place]
        of_records, of_numbers = self._joined
        return LogEntry(head, Columns(shapes, names, of_records[:, first_record:last_record].copy(), of_numbers[:, first_number:last_number].copy()))

    def _head(self, place: int) -> LogHead:
        try:
            return _decode_head(self._found.heads[place])
        except (msgspec.DecodeError, ValueError) as error:
            raise DamagedEntry(str(error)) from error

    def _read_columns(self, columns: Unpacking | Sequence[Integers]) -> None:
        """Take the columns of all logs out of their bytes, unless they are there."""
        import numpy as np

        found = self._found
        counts = (found.records, found.numbers)
        if any(len(of_logs) != len(self) or min(of_logs, default=0) < 0 for of_logs in (*counts, found.meaning)):
            raise DamagedEntry("its logs are not as many as it says")
        if len(found.widths) != _COLUMNS or not _WIDTHS.issuperset(found.widths) or max(found.meaning, default=-1) >= len(self._meanings):
            raise DamagedEntry("its columns are none")
        records, numbers = (sum(of_logs) for of_logs in counts)
        read = _read(columns, found.widths, records, numbers) if isinstance(columns, Unpacking) else columns
        if [len(column) for column in read] != [records] * RECORD_WIDTH + [numbers] * NUMBER_WIDTH:
            raise DamagedEntry(_OTHER_SIZE)
        self._records, self._numbers = [*read[:RECORD_WIDTH]], [*read[RECORD_WIDTH:]]
        is_large = len(self) == 1 and numbers >= SMALL_NUMBERS
        self._joined = None if is_large else (np.stack(self._records), np.stack(self._numbers))
        self._ends = list(zip(*(pairwise(accumulate(of_logs, initial=0)) for of_logs in counts), strict=True))

    def check_codes(self) -> None:
        """Check that each code in the columns has a meaning. What the cache returns needs no such check: it is what was put into it.

        Raises:
            DamagedEntry: one has none.
        """
        import numpy as np

        found = self._found
        if any(code < 0 for meant in found.meanings for codes in meant for code in codes):
            raise DamagedEntry("its codes mean what is not there")
        of_shapes, of_names = (np.array([len(meant[side]) for meant in self._meanings], dtype=np.int64)[found.meaning] for side in (0, 1))
        limits = [(self._records[_SHAPE], of_shapes, found.records)]
        numbers_of = (np.array(found.records, dtype=np.int64), of_names, np.full(len(self), len(BOUNDS)), np.full(len(self), 1 << len(MARK_NAMES)))
        limits += [(self._numbers[column], limit, found.numbers) for column, limit in zip(_CODES, numbers_of, strict=True)]
        if not all(_are_below(codes, limit, counts) for codes, limit, counts in limits):
            raise DamagedEntry("its columns refer to what is not there")

    def check_distributions(self) -> None:
        """Check that each distribution can be unpacked, as `check_codes` does for codes.

        Raises:
            DamagedEntry: one cannot, or a head is none.
        """
        for place in range(len(self)):
            for histogram in self._head(place).histograms:
                try:
                    Distribution(histogram.packed).array()
                except NoDistribution as error:
                    raise DamagedEntry(str(error)) from error


class ReadLogs(NamedTuple):
    """What was read of several logs.

    Attributes:
        content: a pack, as it is kept.
        own: the same decoded, where it was read in this process.
        columns: its columns, where another process that read one large log shares them; else none.
    """

    content: bytes
    own: EntryPack | None = None
    columns: Sequence[Integers] = ()

    def pack(self) -> EntryPack:
        """Return the pack.

        Raises:
            DamagedEntry: another process sent bytes that are none.
        """
        return self.own or checked(self.content, self.columns)


def read_here(entries: Sequence[LogEntry]) -> ReadLogs:
    """Return what this process read: just what another process would have sent, but its numbers need not be read from their bytes again."""
    found = _Encoded(entries)
    return ReadLogs(found.packed(), EntryPack(found.head, own=entries))


def large_columns(entries: Sequence[LogEntry]) -> list[Integers]:
    """Return the columns of these entries, if they are of one large log; else none."""
    if len(entries) != 1 or entries[0].columns.number_count < SMALL_NUMBERS:
        return []
    return [*entries[0].columns.record_words, *entries[0].columns.number_words]


def decoded(content: bytes, shared: Sequence[Integers] = ()) -> EntryPack:
    """Return the pack that `encoded` made these bytes of.

    Args:
        content: the bytes.
        shared: its columns, where they are in memory already; else none.

    Raises:
        DamagedEntry: they are none, or its columns contradict each other.
    """
    try:
        columns = Unpacking(content)
        head = columns.take(int.from_bytes(columns.take(_WORD_BYTES), "little"))
        return EntryPack(bytes(head), shared or columns)
    except (*CompressionErrors, OverflowError) as error:
        raise DamagedEntry(str(error)) from error


def checked(content: bytes, shared: Sequence[Integers] = ()) -> EntryPack:
    """Return the pack that another process sent.

    Args:
        content: its bytes.
        shared: its columns, where they are in memory already; else none.

    Raises:
        DamagedEntry: the bytes are none, its columns contradict each other, or refer to what is not there.
    """
    found = decoded(content, shared)
    found.check_codes()
    found.check_distributions()
    return found


def _read(columns: Unpacking, widths: bytes, records: int, numbers: int) -> list[Integers]:
    """Read the columns of so many records and numbers. One with the same value in all rows has it in memory once.

    Raises:
        DamagedEntry: there are fewer or more values.
    """
    import numpy as np

    found: list[Integers] = []
    for place, width in enumerate(widths):
        count = records if place < RECORD_WIDTH else numbers
        if width == _ONE_VALUE:
            found.append(np.broadcast_to(_values(columns, _WORD_BYTES, min(count, 1)), count))
            continue
        column = np.empty(count, dtype=np.int64)
        for start in range(0, count, _PIECE_VALUES):
            piece = column[start : start + _PIECE_VALUES]
            piece[:] = _values(columns, width, len(piece))
        found.append(column)
    if columns.take(1):
        raise DamagedEntry(_OTHER_SIZE)
    return found


def _values(columns: Unpacking, width: int, count: int) -> NDArray[np.signedinteger[Any]]:
    """Read some values of a column, which have this width.

    Raises:
        DamagedEntry: there are fewer.
    """
    import numpy as np

    taken = columns.take(width * count)
    if len(taken) != width * count:
        raise DamagedEntry(_OTHER_SIZE)
    return np.frombuffer(taken, dtype=f"<i{width}")


def _copied(columns: Iterable[Integers]) -> list[Integers]:
    return [column.copy() if column.flags.writeable else column for column in columns]


def _are_below(codes: Integers, limits: Integers, counts: Sequence[int]) -> bool:
    """Return whether all codes are below the limit of their log, and none is negative. Each log has so many of them."""
    if not len(codes):
        return True
    if (limits == limits[0]).all():
        return bool(codes.min() >= 0 and codes.max() < limits[0])
    return not ((codes < 0) | (codes >= limits.repeat(counts))).any()


def _shape(raw: msgspec.Raw) -> Shape:
    content = bytes(raw)
    known = _SHAPES.get(content)
    if known is None:
        known = _decode_shape(content)
        if len(_SHAPES) < _MOST_SHAPES:
            _SHAPES[content] = known
    return known
