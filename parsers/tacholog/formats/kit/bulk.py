"""Read many result lines together, as arrays. This is optional, for tools that print hundreds of thousands of lines.

A format lists the shapes of such lines in its constant ``BULK``. The results are the same as those of reading line by line: a doubtful line is read
alone, by ``parse``.

The numbers of these lines are read as floats, one column at a time. A number of up to 15 digits is read as a whole number below 2**53, and divided by
a power of ten. A float represents both exactly, and the division rounds only once. So the result is the float that is nearest to the printed number,
as if the number was read alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tacholog.formats.kit.lines import Line
from tacholog.formats.kit.numbers import VALUE_LIMIT
from tacholog.schema.records import Bound, Record

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_KEPT = b"0123456789."
_ROUNDED_WELL_BELOW = 2.0**38
_WORTH_AN_ARRAY = 1 << 14  # in characters


class NumberColumn(NamedTuple):
    """One number of many records. It has the fields of `Number`, as arrays with one value for each record.

    A value or a resolution of NaN means ``None``.
    """

    metric: str
    statistic: str
    values: NDArray[np.float64]
    resolutions: NDArray[np.float64]
    below: NDArray[np.bool_]  #: for each number: whether it is an upper bound ("<")
    marks: tuple[str, ...] = ()  #: the marks that each of these numbers has
    bound: Bound = "="  #: the bound of each number for which ``below`` is false
    cell: int | None = None  #: the index of the number among the numbers of its line; ``None``: it was computed, or its position is unknown


class RecordColumns(NamedTuple):
    """The records of many lines, as columns of equal length. If ``valid`` is false for a line, its values are ignored, and the line is read alone.

    Each line has one element in each column. In ``payload_bytes`` and ``samples``, the value -1 means "not stated".
    """

    valid: NDArray[np.bool_]
    payload_bytes: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    numbers: tuple[NumberColumn, ...]

    def rows(self, rows: slice | NDArray[np.int64]) -> RecordColumns:
        """Return a part of the records."""
        return RecordColumns(
            self.valid[rows],
            self.payload_bytes[rows],
            None if self.samples is None else self.samples[rows],
            tuple(c._replace(values=c.values[rows], resolutions=c.resolutions[rows], below=c.below[rows]) for c in self.numbers),
        )

    def check(self, count: int) -> None:
        """Check lengths and types.

        Raises:
            TypeError: the columns do not have this length, or not the types that this class declares.
        """
        kinds = [(self.valid, "b"), (self.payload_bytes, "i"), *(() if self.samples is None else ((self.samples, "i"),))]
        kinds += [pair for column in self.numbers for pair in zip((column.values, column.resolutions, column.below), "ffb", strict=True)]
        if any(array.shape != (count,) or array.dtype.kind != kind for array, kind in kinds):
            raise TypeError(f"each column must have {count} rows and the type that tacholog.formats.kit.RecordColumns declares")

    def possible(self) -> NDArray[np.bool_]:
        """Return which records are valid and have possible sizes and numbers."""
        import numpy as np

        possible = self.valid & (self.payload_bytes != 0) & (self.payload_bytes >= -1)
        if self.samples is not None:
            possible &= self.samples >= -1
        for column in self.numbers:
            is_known = (column.values >= 0) & (column.values <= VALUE_LIMIT)
            possible &= is_known | np.isnan(column.values) if column.marks else is_known  # A mark must state why a value is unknown.
            if (column.resolutions <= 0).any():
                possible &= ~(column.resolutions <= 0)
        return np.asarray(possible)


class Bulk(NamedTuple):
    r"""A shape of lines. A log may have thousands of consecutive lines of this shape: a sequence.

    ``line`` is a pattern that matches one line of this shape, without the end of the line. All lines of the shape are ASCII and contain equally many
    numbers. No number has a sign or more than 15 digits. The pattern must not backtrack: end each repetition with ``+``, as in ``[0-9]{1,15}+``.

    If the shape has a function ``read``, each line of a sequence is one record. All these records have the conditions of the first record. ``parse``
    reads the first and the last line as usual, and ``read`` reads the lines between these two. The arguments of ``read`` are the numbers (an array
    with a row for each line) and the record of the first line. ``read`` returns the columns, or ``None`` if these lines must be read one by one.

    If the shape has no function ``read``, ``parse`` gets the sequence as `Lines`. `read_in_bulk` helps to read such lines.

    ``letters`` are replaced by digits, such as ``{"G": "3"}`` where a line has "5.84 GBytes": the unit becomes an additional number of the line.
    ``rule`` is the `LineRule` to which the shape belongs, in place of ``read``.
    """

    line: bytes
    read: Callable[[NDArray[np.float64], Record], RecordColumns | None] | None = None
    letters: tuple[tuple[str, str], ...] = ()
    rule: Any = None

    @property
    def is_alone(self) -> bool:
        """Whether each line of a sequence is a record. If not, ``parse`` gets the whole sequence."""
        return self.read is not None or self.rule is not None


class Lines:
    """Consecutive lines of one shape. The first is line ``number`` of the log; ``count`` is the number of lines."""

    def __init__(self, number: int, text: bytes, bulk: Bulk) -> None:
        self._run = _RunText(text, bulk)
        self._first = number
        self._start, self._stop = 0, self._run.count

    @property
    def number(self) -> int:
        """The number of the first line."""
        return self._first + self._start

    @property
    def count(self) -> int:
        """The number of lines."""
        return self._stop - self._start

    @property
    def bulk(self) -> Bulk:
        """The shape of the lines."""
        return self._run.bulk

    @property
    def cells(self) -> NDArray[np.float64]:
        """The numbers in the lines: one row for each line."""
        return self._run.cells[self._start : self._stop]

    @property
    def spans(self) -> NDArray[np.int64]:
        """The positions of the numbers: one row for each line, with the start and the end of each number on its line."""
        return self._run.spans()[self._start : self._stop]

    def line(self, index: int) -> Line:
        """Return one of the lines; the first has index 0, the last -1."""
        position = (self._start if index >= 0 else self._stop) + index
        return Line(self._first + position, self._run.text_of(position))

    def part(self, start: int, stop: int | None = None) -> Lines:
        """Return the lines from one index up to another. As in a slice, ``stop`` may count from the end."""
        part = object.__new__(Lines)
        part._run, part._first = self._run, self._first
        part._start = self._start + start
        part._stop = self._stop if stop is None else stop + (self._start if stop >= 0 else self._stop)
        return part


def lines_in(piece: Line | Lines) -> Iterator[Line]:
    """Yield the single lines of an object that ``parse`` got: a `Line`, or each line of `Lines`."""
    if isinstance(piece, Lines):
        yield from (piece.line(index) for index in range(piece.count))
    else:
        yield piece


class _RunText:
    def __init__(self, text: bytes, bulk: Bulk) -> None:
        self.text, self.bulk = text, bulk
        self.count = _line_count(text)
        self._cells: NDArray[np.float64] | None = None
        self._ends: NDArray[np.int64] | None = None

    @property
    def cells(self) -> NDArray[np.float64]:
        if self._cells is None:
            self._cells = numbers_of(self.text.translate(_table_that_keeps_numbers(self.bulk.letters)), self.count)
        return self._cells

    def spans(self) -> NDArray[np.int64]:
        import numpy as np

        characters = np.frombuffer(b" " + self.text.translate(_table_that_keeps_numbers(self.bulk.letters)), dtype=np.uint8)
        inside = characters != ord(" ")
        edges = np.flatnonzero(inside[1:] != inside[:-1]).reshape(self.count, -1, 2)
        begins = np.flatnonzero(np.frombuffer(b"\n" + self.text[:-1], dtype=np.uint8) == ord("\n"))
        return edges - begins[:, None, None]

    def text_of(self, index: int) -> str:
        start, end = self._bounds_of(index)
        return self.text[start:end].removesuffix(b"\r").decode("ascii")

    def _bounds_of(self, index: int) -> tuple[int, int]:
        # The first and the last line are needed most often, so they are found without a search for the other lines.
        if index == 0:
            return 0, self.text.index(b"\n")
        if index == self.count - 1:
            return self.text.rindex(b"\n", 0, -1) + 1, len(self.text) - 1
        if self._ends is None:
            import numpy as np

            self._ends = np.flatnonzero(np.frombuffer(self.text, dtype=np.uint8) == ord("\n"))
        return int(self._ends[index - 1]) + 1, int(self._ends[index])


def _line_count(text: bytes) -> int:
    if len(text) < _WORTH_AN_ARRAY:
        return text.count(b"\n")
    import numpy as np  # For many lines, NumPy counts faster than ``bytes.count``.

    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")))


@functools.lru_cache(maxsize=64)
def _table_that_keeps_numbers(letters: tuple[tuple[str, str], ...]) -> bytes:
    table = bytearray(code if code in _KEPT else ord(" ") for code in range(256))
    for letter, digit in letters:
        table[ord(letter)] = ord(digit)
    return bytes(table)


def counted_column(metric: str, counts: NDArray[np.float64]) -> NumberColumn:
    """Make a column of exact counts. `counted` makes a single count."""
    return exact_column(metric, "total", counts)


def exact_column(metric: str, statistic: str, values: NDArray[np.float64], marks: tuple[str, ...] = ()) -> NumberColumn:
    """Make a column of numbers that were not rounded."""
    import numpy as np

    return NumberColumn(metric, statistic, values, _repeated(np.nan, len(values)), np.broadcast_to(np.False_, len(values)), marks)


def printed_column(metric: str, statistic: str, values: NDArray[np.float64], resolution: float | NDArray[np.float64]) -> NumberColumn:
    """Make a column of numbers that were rounded to ``resolution``. `printed` makes a single number."""
    import numpy as np

    below = values == 0
    resolutions = resolution if isinstance(resolution, np.ndarray) else _repeated(resolution, len(values))
    return NumberColumn(metric, statistic, np.where(below, resolution, values) if below.any() else values, resolutions, below)


def _repeated(value: float, count: int) -> NDArray[np.float64]:
    """Return a read-only array, which stores the repeated value only once."""
    import numpy as np

    return np.broadcast_to(np.float64(value), count)


def rounded(values: NDArray[np.float64], places: int = 3) -> NDArray[np.float64]:
    """Round to ``places`` decimals, as ``round`` does. NumPy alone rounds large numbers wrongly: it first multiplies them by a power of ten."""
    import numpy as np

    result = np.round(values, places)
    large = np.flatnonzero(values >= _ROUNDED_WELL_BELOW)
    if len(large):
        exact = values[large]
        has_decimals = exact != np.floor(exact)  # Most large numbers are whole numbers, and need no rounding.
        exact[has_decimals] = [round(value, places) for value in exact[has_decimals].tolist()]
        result[large] = exact
    return result


def first_false(valid: NDArray[np.bool_]) -> int:
    """Return the index of the first false value; the length if all are true."""
    return len(valid) if valid.all() else int(valid.argmin())


_BLANK, _DOT = b" ."
_WORDS = (2, 4, 8)  # Sizes in bytes of machine words that can hold the characters of a number.
_LONG = _WORDS[-1]
_MOST_DIGITS = 15
_WORTH_COLUMNS = 500  # In rows. For fewer rows, reading number by number is faster.
# These blanks are put before the text, because a machine word that ends with the first number may be longer than this number.
_MARGIN = b" " * 2 * _LONG


def numbers_of(text: bytes, rows: int, least_rows: int = _WORTH_COLUMNS) -> NDArray[np.float64]:
    """Return the numbers in a text of digits, dots and blanks, as an array with this number of rows.

    If there are at least ``least_rows`` rows, the numbers are read column by column. This is faster, and has the same result.

    Raises:
        ValueError: the numbers cannot be divided into this number of rows of equal length.
    """
    import numpy as np

    numbers = _by_columns(_MARGIN + text + b" ", rows) if rows >= least_rows else None
    # This way is slower for many numbers, but it can read every number.
    return np.fromstring(text.decode("ascii"), dtype=np.float64, sep=" ").reshape(rows, -1) if numbers is None else numbers


def _by_columns(text: bytes, rows: int) -> NDArray[np.float64] | None:
    """Return the numbers; ``None`` if the numbers of a column differ in their number of decimals, or a number has too many digits."""
    import numpy as np

    characters = np.frombuffer(text, dtype=np.uint8)
    inside = characters != _BLANK
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    if not rows or not len(edges) or len(edges) % (2 * rows):
        return None
    bounds = edges.reshape(rows, -1, 2)
    numbers = np.empty(bounds.shape[1::-1]).T  # Each column is contiguous, because the caller also reads column by column.
    dots = 0
    before = np.concatenate([[0], bounds[:-1, -1, 1]])  # the end of the previous number
    for column in range(bounds.shape[1]):
        starts, ends = np.ascontiguousarray(bounds[:, column, 0]), np.ascontiguousarray(bounds[:, column, 1])
        _, dot, fraction = text[starts[0] : ends[0]].partition(b".")
        lengths, decimals = ends - starts, len(fraction)
        longest, shortest = int(lengths.max()), int(lengths.min())
        if longest - len(dot) > _MOST_DIGITS or shortest - len(dot) < max(1, decimals):
            return None
        if dot:
            if not (characters[ends - (decimals + 1)] == _DOT).all():
                return None
            dots += rows
        numbers[:, column] = _whole_numbers(text, ends, lengths, longest, decimals if dot else None, int((ends - before).min()))
        if dot:
            numbers[:, column] /= 10.0**decimals
        before = ends
    return (
        numbers if np.count_nonzero(characters == _DOT) == dots else None
    )  # Another number of dots: a number has two dots, or a column has dots although its first number has none.


def _whole_numbers(text: bytes, ends: Integers, lengths: Integers, longest: int, decimals: int | None, blank: int) -> Integers:
    """Return the whole numbers (of at most 15 digits) that end before these offsets of a text. A dot inside a number is skipped.

    Args:
        text: the text.
        ends: the offset after the last character of each number.
        lengths: the number of characters of each number.
        longest: the largest of these lengths.
        decimals: the number of digits after the dot; ``None`` if there is no dot.
        blank: how many characters before the end of each number are safe to read: they are digits of the number, or blanks in front of the number.
    """
    import numpy as np

    numbers: Integers
    if longest <= _LONG:
        size = next(size for size in _WORDS if longest <= size)
        return _in_words(text, ends, None if blank >= size else lengths, size, decimals)
    if decimals is None:
        low, high = np.minimum(lengths, _LONG), np.maximum(lengths - _LONG, 0)
        numbers = _in_words(text, ends, low, _LONG) + _in_words(text, ends - _LONG, high, _LONG) * 10**_LONG
        return numbers
    integer_digits = lengths - (decimals + 1)
    fraction = _whole_numbers(text, ends, np.full(len(ends), decimals), decimals, None, decimals)
    numbers = _whole_numbers(text, ends - (decimals + 1), integer_digits, int(integer_digits.max()), None, 0) * 10**decimals + fraction
    return numbers


def _in_words(text: bytes, ends: Integers, lengths: Integers | None, size: int, decimals: int | None = None) -> Integers:
    """Return the whole numbers that end before these offsets.

    Each number must fit into a machine word of ``size`` characters. If ``lengths`` is ``None``, all other characters of the word are blanks.

    The digits of a word are combined in steps: first pairs of digits, then groups of four, then all eight digits.
    Source: Lemire, "Quickly parsing eight digits" (2018).
    """
    import numpy as np

    kind: Any = np.dtype(f"<u{size}")

    def constant(value: int) -> Any:  # noqa: ANN401 - an integer of that kind
        return kind.type(value >> 8 * (_LONG - size))

    beginning = np.ndarray((len(text) - size + 1,), dtype=kind, buffer=text, strides=(1,))  # the machine word that begins at each character
    word: Any = beginning[ends - size]
    if lengths is not None:
        before = (8 * (size - lengths)).astype(kind)  # How many of the lowest bits belong to characters before the number.
        word >>= before
        word <<= before
    word &= constant(0x0F0F0F0F_0F0F0F0F)  # Blanks become 0.
    if decimals is not None:  # The digits before the dot are moved by one character, which overwrites the dot.
        behind = kind.type((1 << 8 * size) - (1 << 8 * (size - decimals)))
        word = (word & behind) | ((word << kind.type(8)) & ~behind)
    for bits, factor, mask in ((8, 10, 0x00FF00FF_00FF00FF), (16, 100, 0x0000FFFF_0000FFFF), (32, 10_000, 0x00000000_FFFFFFFF)):
        if bits < 8 * size:
            word = (word * kind.type(factor) + (word >> kind.type(bits))) & constant(mask)
    numbers: Integers = word.astype(np.int64)
    return numbers
