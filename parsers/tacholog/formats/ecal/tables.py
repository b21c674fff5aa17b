"""The latency tables of eCAL's documentation: tables of Markdown, and grid tables of reStructuredText.

Source: README.md and doc/rst/advanced/performance.rst of eCAL 5.3.5 to 6.2, see tacholog.formats.ecal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tacholog.formats.ecal.blocks import KILOBYTE
from tacholog.formats.kit import MICROSECOND, Broken, Cell, Conditions, DataPath, Facts, Finding, Line, Record, printed

_BORDER = re.compile(r"\+(?:-+\+)+")
_HEAD_END = re.compile(r"\+(?:=+\+)+")
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")
_HEADER = re.compile(r"\| *Payload Size(?: \(kB\))? *\|.*\|")
_SIZE = re.compile(r"([0-9]{1,9})(?: (kB|MB))?")
_VALUE = re.compile(r"[0-9]{1,9}")
_UNIT = re.compile(r"\((?:[\u00b5\u03bc]|u)s\)")
_LAYER = re.compile(r"(?:(?:eCAL|[Ii]ceoryx) ?)?(?:(?:SHM|UDP|TCP)(?: ZC)?)?")
_IN_MICROSECONDS = re.compile(r"latency in [\u00b5\u03bc]s\b")
_SAMPLES = re.compile(r"\(([0-9]{1,12}) samples(?: 1kB - ([0-9]{1,9})kB / ([0-9]{1,12}) samples > ([0-9]{1,9}) kB)?, zero drops\)")
_RUNS = re.compile(r"\bruns = ([0-9]{1,12}), message buffer = ([0-9]{1,6})\)")
_HEAD_LINES = 8
_SIZE_UNITS = {"kB": KILOBYTE, "MB": KILOBYTE * KILOBYTE}


class DocumentedColumn(NamedTuple):
    """The meaning of a column, from its heading."""

    platform: str
    transport: str | None
    data_path: DataPath | None
    has_unit: bool


class DocumentedTables:
    """A reader of the tables in eCAL's documentation.

    It gets a text line by line, and remembers the position within the current table and the headings of the columns.
    """

    def __init__(self) -> None:
        self._borders: list[int] = []  # The positions of the bars of a grid; empty for a pipe table.
        self._grid_head: list[Line] = []
        self._heads: list[list[str]] = []
        self._columns: list[DocumentedColumn] = []
        self._trouble: str | None = None  # The reason why no row of the table can be a record.
        self._unit_in_prose = False
        self._samples: tuple[int, int | None, int] | None = None  # The result of the function `_samples`.

    def take(self, line: Line) -> Iterator[Finding]:
        """Read a line of a table, or a line about the tables that follow."""
        text = line.text.rstrip()
        if not text.startswith(("|", "+")):
            yield from self._prose(line)
        elif self._heads and text.startswith(("|", "+")):
            yield from self._row(line, text)
        elif self._grid_head or _BORDER.fullmatch(text):
            yield from self._head(line, text)
        elif _HEADER.fullmatch(text):
            self._borders, self._heads, self._columns = [], [[cell] for cell in _cells(text)], []
            yield Finding(line, None)

    def end(self) -> None:
        """End the table at a blank line."""
        if self._columns:
            self._unit_in_prose, self._samples = False, None
        self._heads, self._columns, self._grid_head = [], [], []

    def _prose(self, line: Line) -> Iterator[Finding]:
        runs, samples, unit = (pattern.search(line.text) for pattern in (_RUNS, _SAMPLES, _IN_MICROSECONDS))
        if samples:
            self._samples = _samples(samples)
        if unit:
            self._unit_in_prose = True
        if runs or samples or unit:
            yield Finding(line, Facts(environment={"ecal_runs": runs[1], "ecal_buffers": runs[2]} if runs else {}))

    def _head(self, line: Line, text: str) -> Iterator[Finding]:
        """Yield the head of a grid as one finding without a result, at the line of equals signs that ends the head; otherwise nothing.

        Until this line, the lines of the head are collected. A grid is from eCAL only if its first heading is "Payload Size". The head of another
        grid yields nothing.
        """
        head = [*self._grid_head, line]
        if _BORDER.fullmatch(text):
            self._grid_head = [line]
        elif _HEAD_END.fullmatch(text) and _crossings(text) == _crossings(head[0].text):
            self._grid_head = []
            if self._open_grid([row.text for row in head[1:-1]], _crossings(text)):
                yield Finding(head[0], None, tuple(head[1:]))
        else:
            self._grid_head = head if text.startswith("|") and len(head) < _HEAD_LINES else []

    def _open_grid(self, texts: Sequence[str], borders: list[int]) -> bool:
        rows = [_cells(text.rstrip(), borders) for text in texts]
        if not rows or not all(rows) or rows[0][0] not in {"Payload Size", "Payload Size (kB)"}:
            return False
        self._borders, self._columns = borders, []
        self._heads = [[words for words in column if words] for column in zip(*rows, strict=True)]
        return True

    def _row(self, line: Line, text: str) -> Iterator[Finding]:
        cells = _cells(text, self._borders)
        if self._is_rule(text, cells):
            yield Finding(line, None)
        elif len(cells) != len(self._heads):
            yield Finding(line, Broken("a row that does not fit the table's columns"))
        elif not self._columns and not self._borders and cells[0] in {"", "Layer"}:
            for head, cell in zip(self._heads, cells, strict=True):
                head.append(cell)
            yield Finding(line, None)
        else:
            yield from self._results(line, cells)

    def _is_rule(self, text: str, cells: Sequence[str]) -> bool:
        if self._borders:
            return _BORDER.fullmatch(text) is not None and _crossings(text) == self._borders
        return _RULE.fullmatch(text) is not None and len(cells) == len(self._heads)

    def _results(self, line: Line, cells: Sequence[Cell]) -> Iterator[Finding]:
        if not self._columns:
            self._columns = _columns(self._heads[1:])
            self._trouble = self._unsaid()
        payload_bytes = _size_bytes(cells[0], in_kilobytes="(kB)" in self._heads[0][0])
        if self._trouble or not payload_bytes or not all(_VALUE.fullmatch(cell) for cell in cells[1:]):
            yield Finding(line, Broken(self._trouble or "a row with a cell that is cut short or garbled"))
            return
        for column, cell in zip(self._columns, cells[1:], strict=True):
            yield Finding(line, self._record(payload_bytes, column, cell))

    def _unsaid(self) -> str | None:
        if len({column[:3] for column in self._columns}) < len(self._columns):
            return "two columns of the table have the same heading"
        if not all(_LAYER.fullmatch(column.transport or "") for column in self._columns):
            return "the table's heading is garbled"
        if not self._unit_in_prose and not all(column.has_unit for column in self._columns):
            return "neither the table's heading nor the text before it states the unit"
        return None

    def _samples_at(self, payload_bytes: int) -> int | None:
        if self._samples is None:
            return None
        samples, limit_bytes, above = self._samples
        return samples if limit_bytes is None or payload_bytes <= limit_bytes else above

    def _record(self, payload_bytes: int, column: DocumentedColumn, cell: Cell) -> Record:
        return Record(
            test="latency",
            payload_bytes=payload_bytes,
            numbers=(printed("latency", "mean", int(cell) * MICROSECOND, MICROSECOND, cell=cell),),
            samples=self._samples_at(payload_bytes),
            participant=column.platform,
            conditions=Conditions(transport=column.transport, data_path=column.data_path, basis="one-way", definition="ecal-published"),
        )


def _samples(match: re.Match[str]) -> tuple[int, int | None, int] | None:
    """Return the number of samples up to a size, this size, and the number of samples above this size.

    The size is ``None`` if one number applies to all sizes. ``None`` is returned if the text contradicts itself.
    """
    if match[2] is None:
        return int(match[1]), None, 0
    return (int(match[1]), int(match[2]) * KILOBYTE, int(match[3])) if match[2] == match[4] else None


def _columns(heads: Sequence[Sequence[str]]) -> list[DocumentedColumn]:
    layers = [" ".join(words for line in head[1:] if (words := _UNIT.sub("", line).strip())) for head in heads]
    some_zero_copy = any(layer.endswith(" ZC") for layer in layers)
    # If some columns are for zero copy, all other columns are for copies.
    otherwise: DataPath | None = "copy" if some_zero_copy else None
    return [
        DocumentedColumn(
            platform=_UNIT.sub("", head[0]).strip(),
            transport=layer.removesuffix(" ZC") or None,
            data_path="zero-copy" if layer.endswith(" ZC") else otherwise,
            has_unit=any(_UNIT.search(words) for words in head),
        )
        for head, layer in zip(heads, layers, strict=True)
    ]


def _size_bytes(cell: str, *, in_kilobytes: bool) -> int | None:
    size = _SIZE.fullmatch(cell)
    unit = (size[2] or ("kB" if in_kilobytes else None)) if size else None
    return int(size[1]) * _SIZE_UNITS[unit] if size and unit else None


def _crossings(text: str) -> list[int]:
    return [column for column, sign in enumerate(text) if sign == "+"]


def _cells(text: str, borders: Sequence[int] = ()) -> list[Cell]:
    """Return the cells of a row; empty if the row does not end with a bar, or the bars are not at the borders of the grid."""
    bars = borders or [column for column, sign in enumerate(text) if sign == "|"]
    if not bars or bars[0] > 0 or len(text) != bars[-1] + 1 or any(text[column] != "|" for column in bars):
        return []
    pieces = [(start + 1, text[start + 1 : end], text[start + 1 : end].strip().removeprefix("|").strip()) for start, end in pairwise(bars)]
    return [Cell(words, start + piece.find(words)) for start, piece, words in pieces]
