"""What logs give, as the cache keeps it and as workers send it: a head for each log, and the columns of all of them.

Many small logs come in one pack. Their columns are joined, narrowed and compressed together, because each of these steps takes about as long for one
small log as for a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tacholog.dataset.cache import CompressionErrors, packed, unpacked
from tacholog.dataset.columns import BOUNDS, MARK_NAMES, NUMBER_WIDTH, RECORD_WIDTH, Columns, Name, NumberArrays, RecordArrays, Shape, joined_words
from tacholog.dataset.distributions import Distribution, NoDistribution
from tacholog.errors import TachologError
from tacholog.formats.reading import LineClass
from tacholog.schema.conditions import Basis
from tacholog.schema.records import Facts, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacholog.dataset.columns import Integers

_WORD_BYTES = 8
_WIDTHS = frozenset((1, 2, 4, _WORD_BYTES))
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
    """What one log gives."""

    head: LogHead
    columns: Columns


class _Encoded(msgspec.Struct, array_like=True):
    """A pack as bytes. What is said of each log stands in lists of the same length, so that a log is found by its place."""

    heads: list[msgspec.Raw]  # Only those of the logs that are wanted are decoded.
    shapes: list[msgspec.Raw]  # Many logs have the same ones. Each is decoded once.
    names: list[Name]
    meanings: list[tuple[list[int], list[int]]]  # What the codes of a log mean: the places of its shapes and names. Similar logs share them.
    meaning: list[int]
    records: list[int]
    numbers: list[int]
    widths: bytes  # How many bytes a value of each column takes.
    words: memoryview  # A part of the pack's bytes: they would be in memory twice.


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Encoded).decode
_decode_head = msgspec.msgpack.Decoder(LogHead).decode
_decode_shape = msgspec.msgpack.Decoder(Shape).decode
_SHAPES: dict[bytes, Shape] = {}
_MOST_SHAPES = 10_000
_COLUMNS = RECORD_WIDTH + NUMBER_WIDTH


def encoded(entries: Sequence[LogEntry]) -> bytes:
    """Return entries as a pack, which is not compressed yet: the same for the same logs, whoever read them."""
    import numpy as np

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
    columns: list[Integers] = [*records, *numbers]
    kinds = [_narrowest(column) for column in columns]
    words = _joined(columns, kinds)
    return _encode(
        _Encoded(
            heads=[msgspec.Raw(_encode(entry.head)) for entry in entries],
            shapes=[msgspec.Raw(shape) for shape in shapes],
            names=list(names),
            meanings=[(list(of_shapes), list(of_names)) for of_shapes, of_names in meanings],
            meaning=meaning,
            records=[entry.columns.record_words.shape[1] for entry in entries],
            numbers=[entry.columns.number_words.shape[1] for entry in entries],
            widths=bytes(np.dtype(kind).itemsize for kind in kinds),
            words=memoryview(words.data),
        )
    )


def _narrowest(column: Integers) -> str:
    """Return the type with the fewest bytes a value that holds a column. Most columns are the same in all rows, or count up to a small number."""
    import numpy as np

    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    return next(kind for kind in ("<i1", "<i2", "<i4", "<i8") if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def _joined(columns: Sequence[Integers], kinds: Sequence[str]) -> NDArray[np.uint8]:
    """Return the bytes of columns, each in the type of this name. None becomes an array of its own: these took as much memory again."""
    import numpy as np

    ends = list(accumulate(len(column) * np.dtype(kind).itemsize for column, kind in zip(columns, kinds, strict=True)))
    words = np.empty(ends[-1], dtype=np.uint8)
    for column, kind, start, end in zip(columns, kinds, [0, *ends], ends, strict=False):
        words[start:end].view(kind)[:] = column
    return words


class EntryPack:
    """What many logs gave, of which each is taken out by its place."""

    def __init__(self, content: bytes, own: Sequence[LogEntry] | None = None) -> None:
        """Decode a pack.

        Args:
            content: as `encoded` returned it.
            own: the entries that it was made of, if they are here: then their numbers need not be read from bytes.

        Raises:
            DamagedEntry: the bytes are none, or its columns contradict each other.
        """
        try:
            self._found = found = _decode(content)
            self._meanings = [
                ([_shape(found.shapes[code]) for code in shapes], [found.names[code] for code in names]) for shapes, names in found.meanings
            ]
        except (msgspec.DecodeError, ValueError, IndexError) as error:
            raise DamagedEntry(str(error)) from error
        self._own = own
        if own is None:
            self._read_columns()

    def __len__(self) -> int:
        """Return how many logs it has."""
        return len(self._found.heads)

    def entry(self, place: int) -> LogEntry:
        """Return what the log at this place gave. Its columns are copies: they can be changed, and keep nothing else in memory.

        Raises:
            DamagedEntry: its head is none.
        """
        found = self._found
        try:
            head = _decode_head(found.heads[place])
        except (msgspec.DecodeError, ValueError) as error:
            raise DamagedEntry(str(error)) from error
        shapes, names = self._meanings[found.meaning[place]]
        if self._own is not None:
            own = self._own[place]
            return LogEntry(head, Columns(shapes, names, own.columns.record_words, own.columns.number_words))
        (first_record, last_record), (first_number, last_number) = self._ends[place]
        records = self._records[:, first_record:last_record].copy()
        numbers = self._numbers[:, first_number:last_number].copy()
        return LogEntry(head, Columns(shapes, names, records, numbers))

    def _read_columns(self) -> None:
        """Take the columns of all logs out of the bytes."""
        import numpy as np

        found = self._found
        counts = (found.records, found.numbers)
        if any(len(of_logs) != len(self) or min(of_logs, default=0) < 0 for of_logs in (*counts, found.meaning)):
            raise DamagedEntry("its logs are not as many as it says")
        if len(found.widths) != _COLUMNS or not _WIDTHS.issuperset(found.widths) or max(found.meaning, default=-1) >= len(self._meanings):
            raise DamagedEntry("its columns are none")
        records, numbers = (sum(of_logs) for of_logs in counts)
        end = records * sum(found.widths[:RECORD_WIDTH]) + numbers * sum(found.widths[RECORD_WIDTH:])
        if len(found.words) != end:
            raise DamagedEntry("its columns are not of the size that it says")
        self._records = np.empty((RECORD_WIDTH, records), dtype=np.int64)
        self._numbers = np.empty((NUMBER_WIDTH, numbers), dtype=np.int64)
        start = 0
        for column, width in zip((*self._records, *self._numbers), found.widths, strict=True):
            stop = start + width * len(column)
            column[:] = np.frombuffer(found.words[start:stop], dtype=f"<i{width}")
            start = stop
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
        limits: list[tuple[Integers, Integers]] = [(self._records[_SHAPE], of_shapes.repeat(found.records))]
        numbers_of = (np.array(found.records, dtype=np.int64), of_names, np.full(len(self), len(BOUNDS)), np.full(len(self), 1 << len(MARK_NAMES)))
        limits += [(self._numbers[column], limit.repeat(found.numbers)) for column, limit in zip(_CODES, numbers_of, strict=True)]
        if any(((codes < 0) | (codes >= limit)).any() for codes, limit in limits):
            raise DamagedEntry("its columns refer to what is not there")

    def check_distributions(self) -> None:
        """Check that each distribution can be unpacked, as `check_codes` does for codes.

        Raises:
            DamagedEntry: one cannot, or a head is none.
        """
        for place in range(len(self)):
            for histogram in self.entry(place).head.histograms:
                try:
                    Distribution(histogram.packed).array()
                except NoDistribution as error:
                    raise DamagedEntry(str(error)) from error


class ReadLogs(NamedTuple):
    """What was read of several logs: a pack as it is kept, and the same decoded where it was read in this process."""

    content: bytes
    own: EntryPack | None = None

    def pack(self) -> EntryPack:
        """Return the pack.

        Raises:
            DamagedEntry: another process sent bytes that are none.
        """
        return self.own or checked(self.content)


def read_here(entries: Sequence[LogEntry]) -> ReadLogs:
    """Return what this process read: just what another process would have sent, but its numbers need not be read from their bytes again."""
    content = encoded(entries)
    return ReadLogs(packed(content), EntryPack(content, entries))


def decoded(content: bytes) -> EntryPack:
    """Return the pack that these bytes are, which the cache returned.

    Raises:
        DamagedEntry: they are none, or its columns contradict each other.
    """
    return EntryPack(content)


def checked(content: bytes) -> EntryPack:
    """Return the pack that another process sent, still compressed.

    Raises:
        DamagedEntry: the bytes are none, its columns contradict each other, or refer to what is not there.
    """
    try:
        found = EntryPack(unpacked(content))
    except CompressionErrors as error:
        raise DamagedEntry(str(error)) from error
    found.check_codes()
    found.check_distributions()
    return found


def _shape(raw: msgspec.Raw) -> Shape:
    content = bytes(raw)
    known = _SHAPES.get(content)
    if known is None:
        known = _decode_shape(content)
        if len(_SHAPES) < _MOST_SHAPES:
            _SHAPES[content] = known
    return known
