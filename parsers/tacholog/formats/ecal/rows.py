"""Blocks of labelled rows in a fixed order, as eCAL's samples print them. Each block becomes one record.

A row is ``label : value``. If a row is missing, garbled or out of order, the whole block is broken: its rows are never added to another block.

The last row of a log may have no line end. Such a row is complete if a unit follows its number (``27 us``, ``2252 MB/s``). Otherwise the
row may be cut. If a cut row only repeats the numbers of other rows (`RowForm.begun`), the block is read without this row. If a cut row has the count
of a sender, or the only latency of a ping-pong, the block is refused.

Source: the layout of eCAL's samples, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tacholog.formats.kit import Broken, Cell, Finding, Line, Number, Record, counted, finding_on, printed

# The most lines from the first to the last row of a block. It is below 4096, because a format must claim each line within 4096 lines.
ROWS_APART = 4000
_UNCOLONED = re.compile(r"(Message average roundtrip time|Packages lost after message) (.*)")
_CLOSED = re.compile(r".* (?:us|[A-Za-z]{1,5}/s)")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-][0-9]+)?")


class BlockValues(dict[str, Cell]):
    """The values of a block, by the keys of their rows."""

    def word(self, key: str, index: int = 0) -> Cell:
        """Return a number as the log prints it. If the value contains several numbers, ``index`` selects one of them."""
        number = [*_NUMBER.finditer(self[key])][index]
        return Cell(number[0], self[key].start + number.start(), self[key].line)

    def integer(self, key: str) -> int:
        """Return the whole number at the start of a value."""
        return int(self.word(key))

    def counted(self, metric: str, key: str) -> Number:
        """Return a `Number` for the count that is the first word of a value."""
        return counted(metric, self.integer(key), cell=self.word(key))

    def printed(
        self, metric: str, statistic: str, key: str, unit: float, *, resolution: float | None = None, decimals: int = 6, marks: tuple[str, ...] = ()
    ) -> Number:
        """Return the number at the start of a value. It was rounded to ``resolution``; by default, to one ``unit``."""
        value = float(round(float(self.word(key)) * unit, decimals))
        return printed(metric, statistic, value, resolution or unit, marks, cell=self.word(key))


class RowForm(NamedTuple):
    """A row of a block.

    Attributes:
        key: the key of its value in `BlockValues`.
        labels: its possible labels; "" if it continues the row above.
        value: the pattern of its value.
        optional: whether the row may be missing.
        begun: the pattern of the first part of a value, if the log ends within the value; ``None`` if the record needs the row.
    """

    key: str
    labels: Sequence[str]
    value: re.Pattern[str]
    optional: bool = False
    begun: re.Pattern[str] | None = None


class BlockForm(NamedTuple):
    """The rows of a block and the functions that read them.

    Attributes:
        rows: the rows in their order.
        read: the function that makes the record of a complete block.
        ruled: the number of rows before the ruler, which is a line of dashes.
        spaced: the number of rows before the empty line.
        short: the function that makes the record of a block that ends at the ruler.
    """

    rows: Sequence[RowForm]
    read: Callable[[BlockValues], Record | Broken]
    ruled: int = 0
    spaced: int = 0
    short: Callable[[BlockValues], Record | Broken] | None = None


class BlockReader:
    """The blocks in the output of one process, and the block that is open."""

    def __init__(self, *blocks: BlockForm) -> None:
        self._blocks = blocks
        self._labels = {label for block in blocks for row in block.rows for label in row.labels}
        self._open: BlockForm | None = None
        self._next_index = 0
        self._lines: list[Line] = []
        self._cells = BlockValues()
        self._is_ruled = False

    def knows(self, text: str) -> bool:
        """Whether the text has one of the labels of these blocks."""
        label, value = _split(text)
        if label not in self._labels or not (label or self._open):
            return False
        return self._open is not None or any(label in row.labels and row.value.fullmatch(value) for block in self._blocks for row in block.rows)

    def take(self, line: Line) -> Iterator[Finding]:
        """Read a line for which `knows` returned true."""
        label, value = _split(line.text)
        if self._lines and line.number - self._lines[0].number > ROWS_APART:
            yield from self.close("the block has no end")
        if (index := self._index_of(label)) is None:
            yield from self.close("a row of this block is missing or out of place")
            index = self._index_of(label)
        if self._open is None or index is None:
            yield Finding(line, Broken("a row outside of its block"))
            return
        self._lines.append(line)
        row = self._open.rows[index]
        if not line.whole and row.begun and row.begun.fullmatch(value) and not row.value.fullmatch(value):
            yield self._done(self._open.read)
            return
        is_cut = not (line.whole or _CLOSED.fullmatch(value))
        if not row.value.fullmatch(value) or is_cut or row.key in self._cells:
            yield from self.close("a row of this block is cut short, garbled or repeated")
            return
        self._cells[row.key] = Cell(value, len(line.text.rstrip()) - len(value), line.number)
        self._next_index = index + 1
        if self._next_index == len(self._open.rows):
            yield self._done(self._open.read)

    def _index_of(self, label: str) -> int | None:
        """Return the index of the row in the open block. If no block is open, open the block that begins with this label."""
        if self._open:
            return _next_row(self._open, self._next_index, label)
        for block in self._blocks:
            if (index := _next_row(block, 0, label)) is not None:
                self._open = block
                return index
        return None

    def ruler(self) -> Iterator[Finding]:
        """Handle a ruler. It ends a short block.

        The block is broken if its form has no ruler after this row, or if the block already had a ruler.
        """
        if self._open and self._open.short and self._next_index == self._open.ruled:
            yield self._done(self._open.short)
        elif self._open and (self._next_index != self._open.ruled or self._is_ruled):
            yield from self.close("the block ends before its last row")
        self._is_ruled = self._open is not None

    def space(self) -> Iterator[Finding]:
        """Handle an empty line. If the form has no empty line at this row, end the open block, and yield a finding that the block is broken."""
        if self._open and self._next_index != self._open.spaced:
            yield from self.close("the block ends before its last row")

    def close(self, reason: str) -> Iterator[Finding]:
        """End the open block before its last row, and yield a finding that the lines of this block are broken."""
        if self._lines:
            yield finding_on(self._lines, Broken(reason))
        self._reset()

    def _done(self, read: Callable[[BlockValues], Record | Broken]) -> Finding:
        finding = finding_on(self._lines, read(self._cells))
        self._reset()
        return finding

    def _reset(self) -> None:
        self._open, self._next_index, self._lines, self._cells, self._is_ruled = None, 0, [], BlockValues(), False


def _split(text: str) -> tuple[str, str]:
    if uncoloned := _UNCOLONED.match(text):
        return uncoloned[1], uncoloned[2].strip()
    label, colon, value = text.partition(":")
    indented = not label.strip() and len(label) < len("Received packages")
    return ("\0", "") if not colon or indented else (label.strip(), value.strip())


def _next_row(block: BlockForm, start: int, label: str) -> int | None:
    for index in range(start, len(block.rows)):
        if label in block.rows[index].labels:
            return index
        if not block.rows[index].optional:
            break
    return None
